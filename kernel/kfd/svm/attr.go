package svm

import (
	"math/bits"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/mm"
)

// attrs are the attributes of a prange. GPU sets are bit masks by index.
type attrs struct {
	preferred, prefetch uint32 // gpu_id, SVMLocationSysmem or SVMLocationUndefined
	flags               uint32
	granularity         uint8
	access, inPlace     uint64
}

// pteFlags are those that page-table entries depend on.
const pteFlags = kfd.SVMFlagCoherent | kfd.SVMFlagGPURO | kfd.SVMFlagGPUExec | kfd.SVMFlagExtCoherent

// maxGranularity is the largest log2 of pages an application may ask for.
const maxGranularity = 0x3f

func (s *SVM) defaults() attrs {
	a := attrs{preferred: kfd.SVMLocationUndefined, prefetch: kfd.SVMLocationUndefined, flags: kfd.SVMFlagHostAccess | kfd.SVMFlagCoherent,
		granularity: s.cfg.Granularity}
	if s.cfg.XNACK {
		a.access = s.all
	}
	return a
}

// check refuses what no range can have (svm_range_check_attr).
func (s *SVM) check(list []kfd.SVMAttribute) error {
	if len(list) == 0 {
		return mm.EINVAL
	}
	for _, x := range list {
		known := s.gpu(x.Value) >= 0
		switch x.Type {
		case kfd.SVMAttrPreferredLoc:
			known = known || x.Value == kfd.SVMLocationSysmem || x.Value == kfd.SVMLocationUndefined
		case kfd.SVMAttrPrefetchLoc:
			known = known || x.Value == kfd.SVMLocationSysmem
		case kfd.SVMAttrAccess, kfd.SVMAttrAccessInPlace, kfd.SVMAttrNoAccess:
		case kfd.SVMAttrSetFlags, kfd.SVMAttrClrFlags, kfd.SVMAttrGranularity:
			known = true
		default:
			return mm.EINVAL
		}
		if !known {
			return mm.EINVAL
		}
	}
	return nil
}

// with returns a with attributes set; update says that mappings must follow.
func (s *SVM) with(a attrs, list []kfd.SVMAttribute) (_ attrs, update bool) {
	for _, x := range list {
		switch x.Type {
		case kfd.SVMAttrPreferredLoc:
			a.preferred = x.Value
		case kfd.SVMAttrPrefetchLoc:
			a.prefetch = x.Value
		case kfd.SVMAttrAccess, kfd.SVMAttrAccessInPlace, kfd.SVMAttrNoAccess:
			bit := uint64(1) << s.gpu(x.Value)
			a.access, a.inPlace = a.access&^bit, a.inPlace&^bit
			if x.Type == kfd.SVMAttrAccess {
				a.access |= bit
			} else if x.Type == kfd.SVMAttrAccessInPlace {
				a.inPlace |= bit
			}
			update = update || !s.cfg.XNACK
		case kfd.SVMAttrSetFlags:
			a.flags |= x.Value
			update = true
		case kfd.SVMAttrClrFlags:
			a.flags &^= x.Value
			update = true
		case kfd.SVMAttrGranularity:
			a.granularity = uint8(min(x.Value, maxGranularity))
		}
	}
	return a, update
}

// prefetches reports whether the list asks for a move: it does each time, also when the value is what it was.
func prefetches(list []kfd.SVMAttribute) bool {
	for _, x := range list {
		if x.Type == kfd.SVMAttrPrefetchLoc {
			return true
		}
	}
	return false
}

// GetAttrs fills values in for [start, start+size): locations that differ are undefined, flags are those set (or, for CLR_FLAGS, clear)
// everywhere, granularity is the least, and the type of an access attribute becomes the access that the GPU has everywhere.
func (s *SVM) GetAttrs(start, size uint64, list []kfd.SVMAttribute) error {
	for _, x := range list {
		switch x.Type {
		case kfd.SVMAttrPreferredLoc, kfd.SVMAttrPrefetchLoc, kfd.SVMAttrSetFlags, kfd.SVMAttrClrFlags, kfd.SVMAttrGranularity:
		case kfd.SVMAttrAccess:
			if s.gpu(x.Value) < 0 {
				return mm.EINVAL
			}
		default:
			return mm.EINVAL
		}
	}
	end := start + size
	s.flushAndLock()
	defer s.space.MmapLock().Unlock()
	if err := s.checkRange(start, size); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum attrs
	set, clr := ^uint32(0), ^uint32(0)
	first := true
	for g, ok := range s.objects.Cover(start, end) {
		a := s.defaults()
		if ok {
			a = g.Value.attrs
		}
		if first {
			sum, first = a, false
		}
		if a.preferred != sum.preferred {
			sum.preferred = kfd.SVMLocationUndefined
		}
		if a.prefetch != sum.prefetch {
			sum.prefetch = kfd.SVMLocationUndefined
		}
		sum.access, sum.inPlace = sum.access&a.access, sum.inPlace&a.inPlace
		sum.granularity = min(sum.granularity, a.granularity)
		set, clr = set&a.flags, clr&^a.flags
	}
	for i := range list {
		x := &list[i]
		switch x.Type {
		case kfd.SVMAttrPreferredLoc:
			x.Value = sum.preferred
		case kfd.SVMAttrPrefetchLoc:
			x.Value = sum.prefetch
		case kfd.SVMAttrSetFlags:
			x.Value = set
		case kfd.SVMAttrClrFlags:
			x.Value = clr
		case kfd.SVMAttrGranularity:
			x.Value = uint32(sum.granularity)
		case kfd.SVMAttrAccess:
			switch bit := uint64(1) << s.gpu(x.Value); {
			case sum.access&bit != 0:
			case sum.inPlace&bit != 0:
				x.Type = kfd.SVMAttrAccessInPlace
			default:
				x.Type = kfd.SVMAttrNoAccess
			}
		}
	}
	return nil
}

// checkRange validates a request's addresses; the mmap lock is held. EINVAL unaligned, empty or wrapping; EFAULT a hole between mappings or
// device memory; EADDRINUSE a buffer is mapped there.
func (s *SVM) checkRange(start, size uint64) error {
	end := start + size
	if start == 0 || size == 0 || (start|size)&(mm.PageSize-1) != 0 || end < start || start < s.cfg.Start || end > s.cfg.Start+s.cfg.Size {
		return mm.EINVAL
	}
	for a := start; a < end; {
		v, ok := s.space.FindVMAIn(a, a, end)
		if !ok || v.Start > a || v.Kind == mm.IO {
			return mm.EFAULT
		}
		a = v.End
	}
	for _, g := range s.cfg.GPUs {
		if g.VM.Overlaps(start, end) {
			return errAddrInUse
		}
	}
	return nil
}

// window is the part of [lo, hi) around addr that moves together.
func (a *attrs) window(addr, lo, hi uint64) (start, end uint64) {
	shift := min(uint(a.granularity), 63-mm.PageShift) + mm.PageShift
	start = addr >> shift << shift
	end = start + 1<<shift
	if end < start || bits.Len64(end) > 63 {
		end = hi
	}
	return max(start, lo), min(end, hi)
}
