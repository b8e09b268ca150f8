package svm

import (
	"math/bits"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/mm"
)

// Attrs are the attributes of a range as AMDKFD_IOC_SVM has them. GPU sets are bit masks.
type Attrs struct {
	Preferred, Prefetch uint32 // gpu_id, SVMLocationSysmem or SVMLocationUndefined
	Flags               uint32
	Granularity         uint8  // log2 of the pages that move together
	Access              uint64 // GPUs that access it, after a migration if need be
	InPlace             uint64 // GPUs that access it where it is
}

// GPUs tells by its gpu_id a GPU's bit in the sets of Attrs, 0 for an unknown one.
type GPUs func(id uint32) uint64

// pteFlags are those that page-table entries depend on.
const pteFlags = kfd.SVMFlagCoherent | kfd.SVMFlagGPURO | kfd.SVMFlagGPUExec | kfd.SVMFlagExtCoherent

// maxGranularity is the largest log2 of pages an application may ask for.
const maxGranularity = 0x3f

// Defaults are the attributes of what was never registered. access are the GPUs that may fault it in: all with XNACK, none without.
func Defaults(granularity uint8, access uint64) Attrs {
	return Attrs{Preferred: kfd.SVMLocationUndefined, Prefetch: kfd.SVMLocationUndefined, Flags: kfd.SVMFlagHostAccess | kfd.SVMFlagCoherent,
		Granularity: granularity, Access: access}
}

func (s *SVM) defaults() Attrs {
	if s.cfg.XNACK {
		return Defaults(s.cfg.Granularity, s.all)
	}
	return Defaults(s.cfg.Granularity, 0)
}

// CheckRequest refuses what no range can have (svm_range_check_attr): EINVAL.
func CheckRequest(list []kfd.SVMAttribute, gpus GPUs) error {
	if len(list) == 0 {
		return mm.EINVAL
	}
	for _, x := range list {
		known := gpus(x.Value) != 0
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

// With returns a as a request that CheckRequest has let pass makes it.
func (a Attrs) With(list []kfd.SVMAttribute, gpus GPUs) Attrs {
	for _, x := range list {
		switch x.Type {
		case kfd.SVMAttrPreferredLoc:
			a.Preferred = x.Value
		case kfd.SVMAttrPrefetchLoc:
			a.Prefetch = x.Value
		case kfd.SVMAttrAccess, kfd.SVMAttrAccessInPlace, kfd.SVMAttrNoAccess:
			bit := gpus(x.Value)
			a.Access, a.InPlace = a.Access&^bit, a.InPlace&^bit
			if x.Type == kfd.SVMAttrAccess {
				a.Access |= bit
			} else if x.Type == kfd.SVMAttrAccessInPlace {
				a.InPlace |= bit
			}
		case kfd.SVMAttrSetFlags:
			a.Flags |= x.Value
		case kfd.SVMAttrClrFlags:
			a.Flags &^= x.Value
		case kfd.SVMAttrGranularity:
			a.Granularity = uint8(min(x.Value, maxGranularity))
		}
	}
	return a
}

// updates reports whether mappings must follow a request, also when it changes nothing.
func (s *SVM) updates(list []kfd.SVMAttribute) bool {
	for _, x := range list {
		switch x.Type {
		case kfd.SVMAttrAccess, kfd.SVMAttrAccessInPlace, kfd.SVMAttrNoAccess:
			if !s.cfg.XNACK {
				return true
			}
		case kfd.SVMAttrSetFlags, kfd.SVMAttrClrFlags:
			return true
		}
	}
	return false
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

// CheckQuery refuses what cannot be asked for: EINVAL.
func CheckQuery(list []kfd.SVMAttribute, gpus GPUs) error {
	for _, x := range list {
		switch x.Type {
		case kfd.SVMAttrPreferredLoc, kfd.SVMAttrPrefetchLoc, kfd.SVMAttrSetFlags, kfd.SVMAttrClrFlags, kfd.SVMAttrGranularity:
		case kfd.SVMAttrAccess:
			if gpus(x.Value) == 0 {
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
	any   bool
	sum   Attrs  // Flags: those that all have
	clear uint32 // flags that none has
}

// Empty reports whether nothing was added.
func (f *Fold) Empty() bool { return !f.any }

// Add takes a range in.
func (f *Fold) Add(a Attrs) {
	s := &f.sum
	if !f.any {
		*f = Fold{true, a, ^a.Flags}
		return
	}
	if a.Preferred != s.Preferred {
		s.Preferred = kfd.SVMLocationUndefined
	}
	if a.Prefetch != s.Prefetch {
		s.Prefetch = kfd.SVMLocationUndefined
	}
	s.Flags, f.clear = s.Flags&a.Flags, f.clear&^a.Flags
	s.Granularity = min(s.Granularity, a.Granularity)
	s.Access, s.InPlace = s.Access&a.Access, s.InPlace&a.InPlace
}

// Answer fills a query that CheckQuery has let pass: locations that differ are undefined, flags are those set (or, for CLR_FLAGS, clear) everywhere,
// granularity is the least, and the type of an access attribute becomes the access that the GPU has everywhere.
func (f *Fold) Answer(list []kfd.SVMAttribute, gpus GPUs) {
	for i := range list {
		x := &list[i]
		switch x.Type {
		case kfd.SVMAttrPreferredLoc:
			x.Value = f.sum.Preferred
		case kfd.SVMAttrPrefetchLoc:
			x.Value = f.sum.Prefetch
		case kfd.SVMAttrSetFlags:
			x.Value = f.sum.Flags
		case kfd.SVMAttrClrFlags:
			x.Value = f.clear
		case kfd.SVMAttrGranularity:
			x.Value = uint32(f.sum.Granularity)
		case kfd.SVMAttrAccess:
			switch b := gpus(x.Value); {
			case f.sum.Access&b != 0:
			case f.sum.InPlace&b != 0:
				x.Type = kfd.SVMAttrAccessInPlace
			default:
				x.Type = kfd.SVMAttrNoAccess
			}
		}
	}
}

// GetAttrs answers a query for [start, start+size), see Fold.Answer: of what is registered there, or, if nothing is, of the defaults.
func (s *SVM) GetAttrs(start, size uint64, list []kfd.SVMAttribute) error {
	if err := CheckQuery(list, s.bit); err != nil {
		return err
	}
	s.flushAndLock()
	defer s.space.MmapLock().Unlock()
	if err := s.checkRange(start, size); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var f Fold
	for g := range s.objects.All(start, start+size) {
		f.Add(g.Value.attrs)
	}
	if f.Empty() {
		f.Add(s.defaults())
	}
	f.Answer(list, s.bit)
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
func (a *Attrs) window(addr, lo, hi uint64) (start, end uint64) {
	shift := min(uint(a.Granularity), 63-mm.PageShift) + mm.PageShift
	start = addr >> shift << shift
	end = start + 1<<shift
	if end < start || bits.Len64(end) > 63 {
		end = hi
	}
	return max(start, lo), min(end, hi)
}
