package hip

import "github.com/pumice-gpu/pumice/runtime/clr"

// AvailableShared returns how much dynamic shared memory a block may have so that a number of blocks still fits on a multiprocessor.
func (a *API) AvailableShared(t *Thread, out *uint64, key uintptr, blocks, size int32) Error {
	if out == nil || blocks <= 0 || size <= 0 {
		return ErrInvalidValue
	}
	k, e := a.kernelByKey(t, key)
	if e != Success {
		return e
	}
	per := a.unitsPerMultiprocessor(k)
	units := (uint32(blocks) + per - 1) / per
	if k.Occupancy(uint32(size), 0) < units {
		*out = 0
		return Success
	}
	each := k.Device().Agent.LDSSize / units
	*out = uint64(each - min(each, k.GroupSegmentFixedSize))
	return Success
}

// Occupancy returns how many blocks of a size a multiprocessor holds; mod says that fn is of a module.
func (a *API) Occupancy(t *Thread, out *int32, fn uintptr, mod bool, block int32, dynamic uint64) Error {
	if out == nil {
		return ErrInvalidValue
	}
	k, e := a.kernelAny(t, fn, mod)
	if e != Success {
		return e
	}
	if block <= 0 || dynamic > 1<<31 {
		return ErrInvalidValue
	}
	*out = int32(k.Occupancy(uint32(block), uint32(dynamic)) * a.unitsPerMultiprocessor(k))
	return Success
}

// unitsPerMultiprocessor is 2 on RDNA, where a multiprocessor is a work-group processor.
func (a *API) unitsPerMultiprocessor(k *clr.Kernel) uint32 {
	if k.Device().Agent.Target.Proc.Major >= 10 {
		return 2
	}
	return 1
}

func (a *API) kernelAny(t *Thread, fn uintptr, mod bool) (*clr.Kernel, Error) {
	if mod {
		return a.kernelOf(t, fn)
	}
	return a.kernelByKey(t, fn)
}

// BestBlock returns the block size with the highest occupancy and the grid that fills the device.
func (a *API) BestBlock(t *Thread, grid, block *int32, fn uintptr, mod bool, dynamic uint64, limit int32) Error {
	if grid == nil || block == nil || limit < 0 {
		return ErrInvalidValue
	}
	k, e := a.kernelAny(t, fn, mod)
	if e != Success {
		return e
	}
	b, g := k.BestBlock(func(uint32) uint32 { return uint32(dynamic) }, uint32(limit))
	*grid, *block = int32(g), int32(b)
	return Success
}
