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

// CheckQuery refuses what cannot be asked for; known tells GPUs by their id.
func CheckQuery(list []kfd.SVMAttribute, known func(id uint32) bool) error {
	for _, x := range list {
		switch x.Type {
		case kfd.SVMAttrPreferredLoc, kfd.SVMAttrPrefetchLoc, kfd.SVMAttrSetFlags, kfd.SVMAttrClrFlags, kfd.SVMAttrGranularity:
		case kfd.SVMAttrAccess:
			if !known(x.Value) {
				return mm.EINVAL
			}
		default:
			return mm.EINVAL
		}
	}
	return nil
}

// Fold is what ranges have in common, for a query (svm_range_get_attr). The zero value is of none.
type Fold struct {
	any                 bool
	preferred, prefetch uint32
	set, clear          uint32 // flags that all have, that none has
	granularity         uint8
	access, inPlace     uint64
}

// Empty reports whether nothing was added.
func (f *Fold) Empty() bool { return !f.any }

// Add takes a range in: its locations and flags, the log2 of its granularity in pages, and the sets of GPUs that access it, migrating it or in place.
func (f *Fold) Add(preferred, prefetch, flags uint32, granularity uint8, access, inPlace uint64) {
	if !f.any {
		*f = Fold{true, preferred, prefetch, flags, ^flags, granularity, access, inPlace}
		return
	}
	if preferred != f.preferred {
		f.preferred = kfd.SVMLocationUndefined
	}
	if prefetch != f.prefetch {
		f.prefetch = kfd.SVMLocationUndefined
	}
	f.set, f.clear = f.set&flags, f.clear&^flags
	f.granularity = min(f.granularity, granularity)
	f.access, f.inPlace = f.access&access, f.inPlace&inPlace
}

// Answer fills a query that CheckQuery has let pass: locations that differ are undefined, flags are those set (or, for CLR_FLAGS, clear) everywhere,
// granularity is the least, and the type of an access attribute becomes the access that the GPU has everywhere. bit is a GPU's place in
// the sets.
func (f *Fold) Answer(list []kfd.SVMAttribute, bit func(id uint32) uint64) {
	for i := range list {
		x := &list[i]
		switch x.Type {
		case kfd.SVMAttrPreferredLoc:
			x.Value = f.preferred
		case kfd.SVMAttrPrefetchLoc:
			x.Value = f.prefetch
		case kfd.SVMAttrSetFlags:
			x.Value = f.set
		case kfd.SVMAttrClrFlags:
			x.Value = f.clear
		case kfd.SVMAttrGranularity:
			x.Value = uint32(f.granularity)
		case kfd.SVMAttrAccess:
			switch b := bit(x.Value); {
			case f.access&b != 0:
			case f.inPlace&b != 0:
				x.Type = kfd.SVMAttrAccessInPlace
			default:
				x.Type = kfd.SVMAttrNoAccess
			}
		}
	}
}

// GetAttrs answers a query for [start, start+size), see Fold.Answer: of what is registered there, or, if nothing is, of the defaults.
func (s *SVM) GetAttrs(start, size uint64, list []kfd.SVMAttribute) error {
	if err := CheckQuery(list, func(id uint32) bool { return s.gpu(id) >= 0 }); err != nil {
		return err
	}
	s.flushAndLock()
	defer s.space.MmapLock().Unlock()
	if err := s.checkRange(start, size); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum Fold
	add := func(a attrs) { sum.Add(a.preferred, a.prefetch, a.flags, a.granularity, a.access, a.inPlace) }
	for g := range s.objects.All(start, start+size) {
		add(g.Value.attrs)
	}
	if sum.Empty() {
		add(s.defaults())
	}
	sum.Answer(list, func(id uint32) uint64 { return 1 << s.gpu(id) })
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
