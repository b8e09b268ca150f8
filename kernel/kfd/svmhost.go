package kfd

import (
	"math/bits"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/drm"
	"golang.org/x/sys/unix"
)

// svmHost leaves all memory in the host: a page's GPU entry is its host address. With XNACK off, an access attribute maps its range at
// once, because the hardware cannot wait for a page; with XNACK on a range is mapped when a wave misses it.
//
// fidelity: approximate SVM without userfaultfd: prefetch and preferred locations are remembered and answered, pages do not move
type svmHost struct{ p *process }

// svmOwner marks SVM mappings in a VM's list.
type svmOwner struct{ _ byte }

var svmMapping = &svmOwner{}

func (h *svmHost) sync()  {}
func (h *svmHost) close() {}

func (h *svmHost) newGPU(pd *pdd, now []svmPiece) error {
	if h.p.xnack {
		return nil
	}
	for _, x := range now {
		if (x.now.Access|x.now.InPlace)&pd.bit() != 0 {
			_ = h.enter(pd, x.start, x.end, x.now.Flags)
		}
	}
	return nil
}

// set brings page tables in line with new attributes.
func (h *svmHost) set(_, _ uint64, _ []kfd.SVMAttribute, pieces []svmPiece) error {
	const mappingFlags = kfd.SVMFlagCoherent | kfd.SVMFlagGPURO | kfd.SVMFlagGPUExec | kfd.SVMFlagExtCoherent
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	for _, x := range pieces {
		for _, pd := range h.p.pdds {
			if pd.vm == nil {
				continue
			}
			may := (x.now.Access|x.now.InPlace)&pd.bit() != 0
			_, there := pd.vm.Lookup(x.start)
			switch {
			case !may:
				if there {
					if err := pd.vm.Unmap(x.start, x.end-x.start); err != nil {
						return err
					}
				}
			case h.p.xnack && !there && x.now.Flags&kfd.SVMFlagGPUAlwaysMapped == 0:
				// The next miss brings it.
			default:
				if there && (x.old.Flags^x.now.Flags)&mappingFlags == 0 {
					continue
				}
				if err := h.enter(pd, x.start, x.end, x.now.Flags); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// enter puts host memory into a GPU's page tables.
func (h *svmHost) enter(pd *pdd, start, end uint64, flags uint32) error {
	f := amdgpu.PageFlags{Flags: pte.Read | pte.Write | pte.Snooped}
	write := flags&kfd.SVMFlagGPURO == 0
	if !write {
		f.Flags &^= pte.Write
	}
	if flags&kfd.SVMFlagGPUExec != 0 {
		f.Flags |= pte.Exec
	}
	if err := amdgpu.Populate(start, end-start, write); err != nil {
		// A mapping that the process itself may only read is read-only for the GPU too.
		if !write || amdgpu.Populate(start, end-start, false) != nil {
			return unix.EFAULT
		}
		f.Flags &^= pte.Write
	}
	coherent := flags&(kfd.SVMFlagCoherent|kfd.SVMFlagExtCoherent) != 0
	f.MType = MTypeOf(pd.node.dev, false, false, false, coherent, flags&kfd.SVMFlagExtCoherent != 0)
	return pd.vm.Map(start, end-start, []amdgpu.Extent{{Addr: start, Len: end - start, System: true}}, f, svmMapping)
}

func (h *svmHost) fault(pd *pdd, va uint64, write bool, a svmAttrs, known bool, lo, hi uint64) error {
	if (a.Access|a.InPlace)&pd.bit() == 0 || write && a.Flags&kfd.SVMFlagGPURO != 0 {
		return unix.EPERM
	}
	start, end := va, va+pte.PageSize
	if known {
		size := uint64(pte.PageSize) << min(a.Granularity, 20)
		start, end = max(lo, va&^(size-1)), min(hi, va&^(size-1)+size)
	} else if amdgpu.Mapped(va, pte.PageSize) == nil {
		// Unregistered memory (malloc): as much of a naturally aligned 64 KiB as is there.
		start, end = mappedAround(va, 64<<10)
	}
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	if !pd.foreign(start, end) && h.enter(pd, start, end, a.Flags) == nil {
		return nil
	}
	if pd.foreign(va, va+pte.PageSize) {
		return unix.EFAULT
	}
	return h.enter(pd, va, va+pte.PageSize, a.Flags)
}

// mappedAround returns the largest aligned power-of-two range up to size around va that the process has mapped.
func mappedAround(va, size uint64) (start, end uint64) {
	for n := size; n > pte.PageSize; n = 1 << (bits.Len64(n) - 2) {
		s := va &^ (n - 1)
		if amdgpu.Mapped(s, n) == nil {
			return s, s + n
		}
	}
	return va &^ (pte.PageSize - 1), va&^(pte.PageSize-1) + pte.PageSize
}

func (h *svmHost) protected(start, end uint64, now []svmPiece) {
	h.unmapped(start, end)
	if !h.p.xnack {
		_ = h.set(start, end, nil, now) // what may not be read any more stays unmapped
	}
}

// drm: memory of the host knows no attributes of single GPUs.
func (h *svmHost) drm(*pdd) drm.SVM { return nil }

// gone has nothing to do: GPUs use the process's pages at their own addresses.
func (h *svmHost) gone(uint64, uint64) {}

func (h *svmHost) unmapped(start, end uint64) bool {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	for _, pd := range h.p.pdds {
		if pd.vm == nil {
			continue
		}
		for at := start; at < end; {
			s, size, owner, ok := pd.vm.NextMapping(at)
			if !ok || s >= end {
				break
			}
			if owner == any(svmMapping) {
				from, to := max(s, start), min(s+size, end)
				_ = pd.vm.Unmap(from, to-from)
			}
			at = s + size
		}
	}
	return true
}
