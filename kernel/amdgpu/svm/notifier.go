package svm

import (
	"github.com/pumice-gpu/pumice/kernel/gpusvm"
	"github.com/pumice-gpu/pumice/kernel/mm"
)

func (r *svmRange) migratable() bool { return r.r.Flags()&gpusvm.FlagMigrateDevmem != 0 }

// invalidate is the notifier: NotifierLock is held for writing, the process's pages are about to change.
func (s *SVM) invalidate(w *gpusvm.Window, inv *mm.Invalidation) {
	if inv.Event == mm.EventRelease || s.exiting.Load() {
		// The process is going away: Close takes everything apart; no page is reused before it has exited.
		if inv.Event == mm.EventRelease {
			s.release(w, inv)
		}
		return
	}
	if inv.Event == mm.EventMigrate && inv.Owner == s.owner() && s.inPopulate.Load() > 0 {
		return // only with Mistakes.IgnoreOwnMigration
	}
	rs := concerned(w, inv)
	if s.cfg.XNACK {
		s.invalidateOn(rs, inv)
		return
	}
	s.invalidateOff(rs, inv)
}

// concerned returns the ranges of w that inv touches.
func concerned(w *gpusvm.Window, inv *mm.Invalidation) []*svmRange {
	var rs []*svmRange
	for _, g := range w.Ranges(inv.Start, inv.End) {
		rs = append(rs, of(g))
	}
	return rs
}

// release takes the entries of a process that exits away.
func (s *SVM) release(w *gpusvm.Window, inv *mm.Invalidation) {
	rs := concerned(w, inv)
	s.zap(rs, true)
	for _, r := range rs {
		r.p.Unmap(true)
	}
}

// invalidateOn: with XNACK the entries go, and the GPU asks again.
func (s *SVM) invalidateOn(rs []*svmRange, inv *mm.Invalidation) {
	s.zap(rs, !s.cfg.Mistakes.SkipTLBFlush)
	for _, r := range rs {
		r.p.Unmap(true)
		if inv.Event == mm.EventUnmap {
			r.r.SetUnmapped(inv)
			s.enqueue(r, opUnmap, inv.Start, inv.End)
		}
	}
}

// invalidateOff: without XNACK a missing entry is fatal, so queues stop until the range is mapped again. Entries of a
// range that is only changing stay: nobody uses them meanwhile. If the queues could not be stopped, they go: waves that run on must not reach
// what is not the process's any more.
func (s *SVM) invalidateOff(rs []*svmRange, inv *mm.Invalidation) {
	if inv.Event == mm.EventUnmap {
		for _, r := range rs {
			if r.mapped && (inv.Start > r.r.Start || inv.End < r.r.End) {
				s.beginRestore("munmap")
			}
		}
		s.zap(rs, !s.cfg.Mistakes.SkipTLBFlush)
		for _, r := range rs {
			r.p.Unmap(true)
			r.r.SetUnmapped(inv)
			s.enqueue(r, opUnmap, inv.Start, inv.End)
		}
		return
	}
	for _, r := range rs {
		if r.mapped || r.p.Mapped() {
			if s.cfg.Mistakes.RealignLeavesCounter && s.suppressed(r) {
				s.countEviction(inv.Event.String()) // realignment arms the worker, if there is no error
			} else {
				s.beginRestore(inv.Event.String())
			}
			s.enqueue(r, opRestore, 0, 0)
		}
		if s.running.Load() && !s.cfg.Mistakes.IgnoreQuiesceError {
			s.zap([]*svmRange{r}, true)
		}
		r.stale = r.mapped
		r.p.Unmap(true)
	}
}

// beginRestore counts an eviction; the first stops the queues.
func (s *SVM) beginRestore(cause string) {
	s.countEviction(cause)
	s.restore.w.QueueDelayed(restoreDelay)
}

func (s *SVM) countEviction(cause string) {
	if s.evicted.Add(1) == 1 {
		err := s.cfg.Queues.Quiesce()
		s.running.Store(err != nil)
		s.event(EvQuiesce, 0, 0, cause, err)
	}
}
