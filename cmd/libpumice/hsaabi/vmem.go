package hsaabi

import "C"

import (
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// Virtual memory management came after ROCr 5.2.3, with ROCm 6.

// physicals are the handles of memory without an address.
var physicals handles[*hsa.Physical]

// accessDesc is hsa_amd_memory_access_desc_t.
type accessDesc struct {
	permissions uint32
	_           uint32
	agent       uint64
}

//export hsa_amd_vmem_address_reserve
func hsa_amd_vmem_address_reserve(out *uintptr, size, hint, flags uint64) int32 {
	return hsa_amd_vmem_address_reserve_align(out, size, hint, 0, flags)
}

//export hsa_amd_vmem_address_reserve_align
func hsa_amd_vmem_address_reserve_align(out *uintptr, size, hint, align, flags uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if out == nil || size == 0 || size%hsa.Granule != 0 || flags != 0 || align&(align-1) != 0 {
		return badArg
	}
	va, err := r.ReserveAddress(hint, size, align)
	if err != nil {
		return code(err)
	}
	return give(out, uintptr(va))
}

//export hsa_amd_vmem_address_free
func hsa_amd_vmem_address_free(va uintptr, size uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	return code(r.FreeAddress(uint64(va), size))
}

//export hsa_amd_vmem_handle_create
func hsa_amd_vmem_handle_create(pool, size uint64, kind int32, flags uint64, out *uint64) int32 {
	if rt() == nil {
		return notInit
	}
	p := pools.get(pool)
	if p == nil {
		return int32(hsa.StatusInvalidMemoryPool)
	}
	if out == nil || flags != 0 || kind < 0 || kind > 1 { // MEMORY_TYPE_NONE, MEMORY_TYPE_PINNED
		return badArg
	}
	h, err := p.CreatePhysical(size)
	if err != nil {
		return code(err)
	}
	return give(out, physicals.of(h))
}

//export hsa_amd_vmem_handle_release
func hsa_amd_vmem_handle_release(handle uint64) int32 {
	if rt() == nil {
		return notInit
	}
	h := physicals.get(handle)
	if h == nil {
		return int32(hsa.StatusInvalidAllocation)
	}
	gone, err := h.Release()
	if gone {
		physicals.drop(handle)
	}
	return code(err)
}

//export hsa_amd_vmem_map
func hsa_amd_vmem_map(va uintptr, size, offset, handle, flags uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	h := physicals.get(handle)
	if h == nil {
		return int32(hsa.StatusInvalidAllocation)
	}
	if va == 0 || size == 0 || offset != 0 || flags != 0 {
		return badArg
	}
	_, err := r.MapPhysical(h, uint64(va), size)
	return code(err)
}

//export hsa_amd_vmem_unmap
func hsa_amd_vmem_unmap(va uintptr, size uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	return code(r.UnmapPhysical(uint64(va), size))
}

//export hsa_amd_vmem_set_access
func hsa_amd_vmem_set_access(va uintptr, size uint64, descs uintptr, n uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if va == 0 || size == 0 || descs == 0 || n == 0 || n > 1<<16 {
		return badArg
	}
	list, good := given((*accessDesc)(ptr(uint64(descs))), n)
	if !good {
		return badArg
	}
	for _, d := range list {
		if agents.get(d.agent) == nil {
			return int32(hsa.StatusInvalidAgent)
		}
	}
	for _, d := range list {
		if err := r.SetAccess(uint64(va), size, agents.get(d.agent), hsa.Access(d.permissions)); err != nil {
			return code(err)
		}
	}
	return ok
}

//export hsa_amd_vmem_get_access
func hsa_amd_vmem_get_access(va uintptr, out *uint32, agent uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	a := agents.get(agent)
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if out == nil {
		return badArg
	}
	x, err := r.GetAccess(uint64(va), a)
	if st := give(out, uint32(x)); st != ok {
		return st
	}
	return code(err)
}

//export hsa_amd_vmem_export_shareable_handle
func hsa_amd_vmem_export_shareable_handle(fd *int32, handle, flags uint64) int32 {
	if rt() == nil {
		return notInit
	}
	h := physicals.get(handle)
	if h == nil {
		return int32(hsa.StatusInvalidAllocation)
	}
	if fd == nil || flags != 0 {
		return badArg
	}
	n, err := h.Export()
	if err != nil {
		return code(err)
	}
	return give(fd, int32(n))
}

//export hsa_amd_vmem_import_shareable_handle
func hsa_amd_vmem_import_shareable_handle(fd int32, out *uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if out == nil {
		return badArg
	}
	h, err := r.ImportPhysical(int(fd))
	if err != nil {
		return code(err)
	}
	return give(out, physicals.of(h))
}

//export hsa_amd_vmem_retain_alloc_handle
func hsa_amd_vmem_retain_alloc_handle(out *uint64, va uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if out == nil || va == 0 {
		return badArg
	}
	h, err := r.PhysicalAt(uint64(va))
	if err != nil {
		return code(err)
	}
	return give(out, physicals.of(h))
}

//export hsa_amd_vmem_get_alloc_properties_from_handle
func hsa_amd_vmem_get_alloc_properties_from_handle(handle uint64, pool *uint64, kind *int32) int32 {
	if rt() == nil {
		return notInit
	}
	h := physicals.get(handle)
	if h == nil {
		return int32(hsa.StatusInvalidAllocation)
	}
	if pool == nil || kind == nil {
		return badArg
	}
	if st := give(pool, pools.of(h.Pool)); st != ok {
		return st
	}
	return give(kind, 1)
}
