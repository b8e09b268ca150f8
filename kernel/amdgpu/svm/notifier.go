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
	flush := false
	for _, g := range w.Ranges(inv.Start, inv.End) {
		r := of(g)
		if s.cfg.XNACK {
			flush = s.invalidateOn(r, inv) || flush
		} else {
			flush = s.invalidateOff(r, inv) || flush
		}
	}
	if flush && !s.cfg.Mistakes.SkipTLBFlush {
		s.vm.FlushTLB()
	}
}

// release takes the entries of a process that exits away.
func (s *SVM) release(w *gpusvm.Window, inv *mm.Invalidation) {
	for _, g := range w.Ranges(inv.Start, inv.End) {
		s.zap(of(g))
		of(g).p.Unmap(true)
	}
	s.vm.FlushTLB()
}

// invalidateOn: with XNACK the entries go, and the GPU asks again.
func (s *SVM) invalidateOn(r *svmRange, inv *mm.Invalidation) (flush bool) {
	flush = r.mapped
	s.zap(r)
	r.p.Unmap(true)
	if inv.Event == mm.EventUnmap {
		r.r.SetUnmapped(inv)
		s.enqueue(r, opUnmap, inv.Start, inv.End)
	}
	return flush
}

// invalidateOff: without XNACK a missing entry is fatal, so queues stop until the range is mapped again. Entries of a
// range that is only changing stay: nobody uses them meanwhile.
func (s *SVM) invalidateOff(r *svmRange, inv *mm.Invalidation) (flush bool) {
	wasMapped := r.mapped
	if inv.Event == mm.EventUnmap {
		if wasMapped && (inv.Start > r.r.Start || inv.End < r.r.End) {
			s.beginRestore("munmap")
		}
		s.zap(r)
		r.p.Unmap(true)
		r.r.SetUnmapped(inv)
		s.enqueue(r, opUnmap, inv.Start, inv.End)
		return wasMapped
	}
	if wasMapped || r.p.Mapped() {
		s.beginRestore(inv.Event.String())
		s.enqueue(r, opRestore, 0, 0)
	}
	r.p.Unmap(true)
	return false
}

// beginRestore counts an eviction; the first stops the queues.
func (s *SVM) beginRestore(cause string) {
	if s.evicted.Add(1) == 1 {
		s.cfg.Queues.Quiesce()
		s.event(EvQuiesce, 0, 0, cause, nil)
	}
	s.restore.w.QueueDelayed(restoreDelay)
}
