package svm

import "github.com/pumice-gpu/pumice/kernel/mm"

// realignBoundary makes start and end boundaries of svm ranges, which cannot be split: a range that crosses one is
// dissolved. kick says that queues are stopped for it and a restore should run at once (XNACK off). svmLock is held.
func (s *SVM) realignBoundary(start, end uint64) (kick bool, err error) {
	for _, at := range []uint64{start, end - 1} {
		g := s.g.Find(at)
		if g == nil || g.Start >= start && g.End <= end {
			continue
		}
		k, err := s.dissolve(of(g), "realign")
		kick = kick || k
		if err != nil {
			if s.cfg.Mistakes.RealignLeavesCounter {
				return false, err
			}
			return kick, err
		}
	}
	return kick, nil
}

// dissolve takes a range away whose boundaries fit no more, to attributes or to VMAs. What is in VRAM goes home first.
// With XNACK off, empty ranges that fit are made in its place and left to the restore worker; stopped says that queues
// were stopped for that. svmLock is held.
func (s *SVM) dissolve(r *svmRange, cause string) (stopped bool, err error) {
	if !s.cfg.XNACK {
		s.g.NotifierLock.RLock()
		stopped = r.mapped
		s.g.NotifierLock.RUnlock()
		if stopped && s.cfg.Mistakes.RealignLeavesCounter {
			s.countEviction(cause) // whoever called us arms the worker, if there is no error
		} else if stopped {
			s.beginRestore(cause)
		}
		s.suppressRestore(r)
	}
	if err := s.g.Evict(r.r, cause); err != nil {
		if !s.cfg.XNACK && !s.cfg.Mistakes.RealignLeavesCounter {
			s.allowRestore(r)
		}
		return stopped, err
	}
	s.removeRange(r)
	if !s.cfg.XNACK {
		s.placeholders(r.r.Start, r.r.End)
	}
	return stopped, nil
}

// fits reports whether r lies inside VMA v: a range that was made inside one VMA may cross two after mprotect or a new
// mmap.
func fits(r *svmRange, v mm.VMA) bool { return r.r.Start >= v.Start && r.r.End <= v.End }

// placeholders makes empty ranges over [start, end), by attributes and VMAs, for the restore worker to map.
func (s *SVM) placeholders(start, end uint64) {
	s.survivors(start, end, func(lo, hi uint64, a Attrs) {
		for addr := lo; addr < hi; {
			r, _, err := s.insert(addr, lo, hi, false)
			if err != nil {
				addr += mm.PageSize
				continue
			}
			s.enqueue(r, opRestore, 0, 0)
			s.beginRestore("realign")
			addr = r.r.End
		}
	})
}

// survivors calls fn for each accessible stretch of [start, end) that a VMA backs, cut at VMA bounds.
func (s *SVM) survivors(start, end uint64, fn func(lo, hi uint64, a Attrs)) {
	for _, g := range s.attrs.cover(start, end) {
		if g.Value.Access == AccessNone {
			continue
		}
		for addr := g.Start; addr < g.End; {
			v, ok := s.nextVMA(addr)
			if !ok || v.Start >= g.End {
				break
			}
			lo, hi := max(addr, v.Start), min(g.End, v.End)
			fn(lo, hi, g.Value)
			addr = hi
		}
	}
}

// nextVMA returns the first VMA that ends above addr.
func (s *SVM) nextVMA(addr uint64) (mm.VMA, bool) {
	l := s.cfg.Space.MmapLock()
	l.RLock()
	defer l.RUnlock()
	return s.cfg.Space.FindVMA(addr)
}

// invalidateInterval takes what is mapped in [start, end) away, whole ranges of it, so that the GPU asks again (XNACK on)
// or may not access it any more. Ranges that cross a bound go home and are removed. svmLock is held.
func (s *SVM) invalidateInterval(start, end uint64) error {
	var inside []*svmRange
	for _, g := range s.g.Ranges(start, end) {
		r := of(g)
		if g.Start < start || g.End > end {
			if err := s.g.Evict(g, "attribute boundary"); err != nil {
				return err
			}
			s.removeRange(r)
			continue
		}
		inside = append(inside, r)
	}
	s.unmapRanges(inside...)
	return nil
}
