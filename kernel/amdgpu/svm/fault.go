package svm

import (
	"errors"
	"time"

	"github.com/pumice-gpu/pumice/kernel/mm"
)

// HandleFault serves a GPU access to addr that found no entry (XNACK on). Nil: the wave may run the access again.
//
// Errors: EOPNOTSUPP without XNACK; EFAULT nothing is mapped there; EPERM the attributes or the VMA forbid it. The
// caller turns an error into a fatal fault.
func (s *SVM) HandleFault(addr uint64, write bool) error {
	if !s.cfg.XNACK {
		return mm.EOPNOTSUPP
	}
	if s.exiting.Load() {
		return mm.EFAULT
	}
	addr &^= mm.PageSize - 1
	s.event(EvFault, addr, addr+mm.PageSize, rw(write), nil)
	for tries := 0; ; tries++ {
		err := s.faultOnce(addr, write)
		if !errors.Is(err, mm.EAGAIN) && !errors.Is(err, mm.EBUSY) || s.cfg.Mistakes.RetryIsFatal {
			return err
		}
		if tries > 0 {
			s.world.Sleep(time.Duration(min(tries, 10)) * 10 * time.Microsecond)
		}
		if s.exiting.Load() {
			return mm.EFAULT
		}
	}
}

func rw(write bool) string {
	if write {
		return "write"
	}
	return "read"
}

func (s *SVM) faultOnce(addr uint64, write bool) error {
	s.svmLock.Lock()
	defer s.svmLock.Unlock()
	v, ok := s.vma(addr)
	if !ok || v.Kind == mm.IO {
		return mm.EFAULT
	}
	if v.Prot&mm.ProtRead == 0 || write && v.Prot&mm.ProtWrite == 0 && !s.cfg.Mistakes.IgnoreReadOnly {
		return mm.EPERM
	}
	a, start, end, hole := s.attrs.at(addr)
	if hole {
		var err error
		if v, ok = s.nextVMA(addr); !ok || v.Start > addr { // all of it: attributes do not end where a range must
			return mm.EFAULT
		}
		if a, start, end, err = s.createAttrs(addr, v, start, end); err != nil {
			return err
		}
	}
	if a.Access == AccessNone || write && a.Flags&FlagGPURO != 0 {
		return mm.EPERM
	}
	// Collect what munmap left here first, or its remains are found again and again.
	if r := s.g.Find(addr); r != nil && s.gcPending(of(r)) {
		s.collect(job{r: of(r)})
		s.work.Lock()
		x := of(r)
		x.pending &^= opUnmap
		s.work.Unlock()
	}
	r, ro, err := s.insert(addr, max(start, v.Start), min(end, v.End), a.Flags&FlagGPURO != 0 || v.Prot&mm.ProtWrite == 0)
	if err != nil {
		if errors.Is(err, mm.ENOENT) {
			return mm.EFAULT
		}
		return err
	}
	if !fits(r, v) && !s.cfg.Mistakes.CrossVMA {
		if _, err := s.dissolve(r, "GPU fault"); err != nil {
			return err
		}
		return mm.EAGAIN
	}
	err = s.mapRange(r, a, migratePreferred, ro, "GPU fault")
	if errors.Is(err, mm.EFAULT) { // unmapped meanwhile: find out in the next round
		return mm.EAGAIN
	}
	return err
}

// createAttrs makes attributes for an address that nobody set any for: a granule of the VMA and the hole around it. The
// process's heap and stack stay in system memory.
func (s *SVM) createAttrs(addr uint64, v mm.VMA, start, end uint64) (Attrs, uint64, uint64, error) {
	a := s.attrs.defaults
	if v.Kind == mm.Heap || v.Kind == mm.Stack {
		a.Preferred = LocSysmem
	}
	size := uint64(mm.PageSize) << min(a.Granularity, maxGranularity)
	lo := max(addr&^(size-1), v.Start, start)
	hi := min(addr&^(size-1)+size, v.End, end)
	if s.vm.Overlaps(lo, hi) {
		lo, hi = addr, addr+mm.PageSize
		if s.vm.Overlaps(lo, hi) {
			return a, 0, 0, mm.EFAULT
		}
	}
	s.attrs.mu.Lock()
	defer s.attrs.mu.Unlock()
	if g, ok := s.attrs.set.Next(lo); ok && g.Start < hi { // set meanwhile
		return a, 0, 0, mm.EAGAIN
	}
	s.attrs.set.Insert(lo, hi, a)
	return a, lo, hi, nil
}
