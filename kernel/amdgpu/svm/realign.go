package svm

import "github.com/pumice-gpu/pumice/kernel/mm"

// realignBoundary makes start and end boundaries of svm ranges, which cannot be split: a range that crosses one is taken
// away, what is left of it outside of [start, end) gets an empty range and is left to the restore worker (XNACK off).
// kick says that queues are stopped for it and a restore should run at once. svmLock is held.
func (s *SVM) realignBoundary(start, end uint64) (kick bool, err error) {
	var cross []*svmRange
	for _, at := range []uint64{start, end - 1} {
		if g := s.g.Find(at); g != nil && (g.Start < start || g.End > end) {
			if r := of(g); len(cross) == 0 || cross[0] != r {
				cross = append(cross, r)
			}
		}
	}
	if cross == nil {
		return false, nil
	}
	s.g.NotifierLock.RLock()
	for _, r := range cross {
		kick = kick || r.mapped
	}
	s.g.NotifierLock.RUnlock()
	if kick {
		s.beginRestore("realign")
	}
	var rest [][2]uint64
	for _, r := range cross {
		s.suppressRestore(r)
		if err := s.g.Evict(r.r); err != nil {
			s.allowRestore(r)
			if s.cfg.Mistakes.RealignLeavesCounter {
				return false, err
			}
			return kick, err
		}
		s.removeRange(r)
		if r.r.Start < start {
			rest = append(rest, [2]uint64{r.r.Start, start})
		}
		if r.r.End > end {
			rest = append(rest, [2]uint64{end, r.r.End})
		}
	}
	s.vm.FlushTLB()
	for _, x := range rest {
		s.placeholders(x[0], x[1])
	}
	return kick, nil
}

// placeholders makes empty ranges over [start, end), stretch by stretch, for the restore worker to map.
func (s *SVM) placeholders(start, end uint64) {
	for _, g := range s.attrs.cover(start, end) {
		if g.Value.Access == AccessNone {
			continue
		}
		for addr := g.Start; addr < g.End; {
			v, ok := s.nextVMA(addr)
			if !ok || v.Start >= g.End {
				break
			}
			addr = max(addr, v.Start)
			r, _, err := s.insert(addr, max(g.Start, v.Start), min(g.End, v.End), v.Prot&mm.ProtWrite == 0)
			if err != nil {
				addr += mm.PageSize
				continue
			}
			s.enqueue(r, opRestore, 0, 0)
			s.beginRestore("realign")
			addr = r.r.End
		}
	}
}

// invalidateInterval takes what is mapped in [start, end) away, whole ranges of it, so that the GPU asks again (XNACK on)
// or may not access it any more. Ranges that cross a bound go home and are removed. svmLock is held.
func (s *SVM) invalidateInterval(start, end uint64) error {
	for _, g := range s.g.Ranges(start, end) {
		r := of(g)
		if g.Start < start || g.End > end {
			if err := s.g.Evict(g); err != nil {
				return err
			}
			s.removeRange(r)
			continue
		}
		s.unmapRange(r)
	}
	s.vm.FlushTLB()
	return nil
}
