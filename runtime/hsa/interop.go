package hsa

import "sync"

// Memory that comes from elsewhere as a DMA-BUF, at an address of its own: what HSA calls interop.

// interops are the mappings that MapInterop made.
type interops struct {
	mu sync.Mutex
	of map[uint64]*Physical // by address; guarded by mu
}

// MapInterop maps all of the memory that a DMA-BUF stands for, for the agents. The descriptor stays the caller's.
func (r *Runtime) MapInterop(fd int, agents ...*Agent) (*Memory, error) {
	h, err := r.ImportPhysical(fd)
	if err != nil {
		return nil, err
	}
	va, err := r.ReserveAddress(0, h.Size, 0)
	if err != nil {
		_, _ = h.Release()
		return nil, err
	}
	m, err := r.MapPhysical(h, va, h.Size)
	if err == nil {
		for _, a := range agents {
			if err = r.SetAccess(va, h.Size, a, AccessReadWrite); err != nil {
				_ = r.UnmapPhysical(va, h.Size)
				break
			}
		}
	}
	if err != nil {
		_ = r.FreeAddress(va, h.Size)
		_, _ = h.Release()
		return nil, err
	}
	r.interops.mu.Lock()
	defer r.interops.mu.Unlock()
	if r.interops.of == nil {
		r.interops.of = map[uint64]*Physical{}
	}
	r.interops.of[va] = h
	return m, nil
}

// UnmapInterop ends a mapping of MapInterop, by its address.
func (r *Runtime) UnmapInterop(va uint64) error {
	const op = "interop_unmap_buffer"
	r.interops.mu.Lock()
	h := r.interops.of[va]
	delete(r.interops.of, va)
	r.interops.mu.Unlock()
	if h == nil {
		return fail(op, StatusInvalidArgument, "%#x is no interop buffer", va)
	}
	if err := r.UnmapPhysical(va, h.Size); err != nil {
		return err
	}
	if err := r.FreeAddress(va, h.Size); err != nil {
		return err
	}
	_, err := h.Release()
	return err
}
