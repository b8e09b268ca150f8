package hip

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Memory of other interfaces and processes that comes as a file descriptor: a DMA-BUF, such as hipMemExportToShareableHandle makes. A buffer of it is a mapping like those of virtual memory
// management; it begins at any offset, so the whole memory is mapped behind each. Semaphores of other interfaces are refused.

// ExternalMemoryDesc is hipExternalMemoryHandleDesc.
type ExternalMemoryDesc struct {
	Type  uint32
	_     uint32
	FD    int32
	_     [3]uint32
	Size  uint64
	Flags uint32
}

// ExternalBufferDesc is hipExternalMemoryBufferDesc.
type ExternalBufferDesc struct {
	Offset, Size uint64
	Flags        uint32
}

const externalOpaqueFD = 1

// external is a hipExternalMemory_t.
type external struct {
	h    *clr.Physical
	d    *clr.Device
	size uint64 // what the program says of it

	mu   sync.Mutex
	maps []*clr.Memory // guarded by mu
}

// ImportExternalMemory takes a descriptor in; it is closed when that succeeds, as CUDA documents.
func (a *API) ImportExternalMemory(t *Thread, out *uintptr, desc *ExternalMemoryDesc) Error {
	if out == nil || desc == nil || desc.Size == 0 || desc.Flags > 1 {
		return ErrInvalidValue
	}
	if desc.Type != externalOpaqueFD {
		if desc.Type == 0 || desc.Type > 8 {
			return ErrInvalidValue
		}
		return ErrNotSupported // Windows' and NVIDIA's handles
	}
	d, e := a.device(t)
	if e != Success {
		return e
	}
	h, err := a.rt.HSA.ImportPhysical(int(desc.FD))
	if err != nil || h.Pool.Agent != d.Agent || desc.Size > h.Size {
		if err == nil {
			_, _ = h.Release()
		}
		return ErrInvalidValue
	}
	_ = unix.Close(int(desc.FD))
	*out = a.externals.add(&external{h: h, d: d, size: desc.Size})
	return Success
}

// ExternalMappedBuffer maps a part of external memory.
func (a *API) ExternalMappedBuffer(out *uintptr, h uintptr, desc *ExternalBufferDesc) Error {
	x := a.externals.get(h)
	if out == nil || x == nil || desc == nil || desc.Flags != 0 || desc.Size == 0 || desc.Offset > x.size || desc.Size > x.size-desc.Offset {
		return ErrInvalidValue
	}
	va, err := a.rt.HSA.ReserveAddress(0, x.h.Size, 2<<20)
	if err != nil {
		return a.fromErr(err)
	}
	hm, err := a.rt.HSA.MapPhysical(x.h, va, x.h.Size)
	if err == nil {
		m := x.d.AdoptMapping(hm)
		if err = a.rt.HSA.SetAccess(va, x.h.Size, x.d.Agent, clr.AccessReadWrite); err == nil {
			m.Remap()
			x.mu.Lock()
			x.maps = append(x.maps, m)
			x.mu.Unlock()
			*out = uintptr(va + desc.Offset)
			return Success
		}
		_ = a.rt.DropMapping(m)
	}
	_ = a.rt.HSA.FreeAddress(va, x.h.Size)
	return a.fromErr(err)
}

// DestroyExternalMemory ends the mappings and gives the memory back to whoever else has it.
func (a *API) DestroyExternalMemory(h uintptr) Error {
	x := a.externals.remove(h)
	if x == nil {
		return ErrInvalidValue
	}
	if err := x.d.Synchronize(); err != nil {
		return a.fromErr(err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, m := range x.maps {
		if err := a.rt.DropMapping(m); err != nil {
			return a.fromErr(err)
		}
		_ = a.rt.HSA.FreeAddress(m.Ptr, m.Size)
	}
	_, err := x.h.Release()
	return a.fromErr(err)
}

// AddressRangeHandle makes a DMA-BUF of whole device memory (hipMemGetHandleForAddressRange).
func (a *API) AddressRangeHandle(out *int32, p uintptr, n uint64, kind int32, flags uint64) Error {
	const dmabuf = 1
	m := a.rt.Find(uint64(p))
	if out == nil || n == 0 || kind != dmabuf || flags != 0 || m == nil || m.Ptr != uint64(p) || n > m.Size {
		return ErrInvalidValue
	}
	fd, err := a.rt.ExportDmabuf(m)
	if err != nil {
		return ErrNotSupported
	}
	*out = int32(fd)
	return Success
}

// ImportSemaphore is hipImportExternalSemaphore. kind and fd are of the descriptor.
//
// fidelity: refused hipImportExternalSemaphore and what uses it: as in AMD's runtime on Linux; a semaphore would be a DRM sync object, and the virtual device has none
func (a *API) ImportSemaphore(out uintptr, desc *ExternalMemoryDesc) Error {
	const lastKind = 10 // timeline semaphores of Win32
	if out == 0 || desc == nil || desc.Type == 0 || desc.Type > lastKind || desc.FD == 0 {
		return ErrInvalidValue
	}
	return ErrNotSupported
}

// Semaphores is every function that takes semaphores: none was ever imported, so the handles are wrong.
func (a *API) Semaphores() Error { return ErrInvalidValue }
