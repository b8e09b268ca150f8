package svm

import (
	"github.com/pumice-gpu/pumice/kernel/gpusvm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
)

// queueState is where a range stands with respect to the workers.
type queueState uint8

const (
	notQueued queueState = iota
	inGC
	inRestore
	processing
)

// Pending work of a range.
const (
	opUnmap uint8 = 1 << iota
	opRestore
)

// svmRange is the driver's part of a gpusvm range.
type svmRange struct {
	r *gpusvm.Range
	p *gpusvm.Pages

	// Guarded by NotifierLock.
	mapped bool // page-table entries exist
	stale  bool // they are from before an invalidation: queues are stopped until they are written anew (XNACK off)
	flags  PTEFlags

	// Guarded by SVM.work. The range holds a reference while it is queued.
	state    queueState
	pending  uint8
	from, to uint64 // bytes that pending UNMAP concerns; from >= to: none
	suppress bool   // being realigned: RESTORE is not wanted
}

// of returns the driver's part of r.
func of(r *gpusvm.Range) *svmRange { return r.Driver.(*svmRange) }

// initRange is gpusvm's RangeInit.
func (s *SVM) initRange(g *gpusvm.Range) {
	g.Driver = &svmRange{r: g, p: g.NewPages(s.gpu.Mem)}
}

// workList is the queue of one worker.
type workList struct {
	w    *sched.Work
	list []*svmRange // guarded by SVM.work
}

func (l *workList) remove(r *svmRange) {
	for i, x := range l.list {
		if x == r {
			l.list = append(l.list[:i], l.list[i+1:]...)
			return
		}
	}
}

// enqueue asks for op on r; [start, end) widens the window of an UNMAP.
func (s *SVM) enqueue(r *svmRange, op uint8, start, end uint64) {
	s.work.Lock()
	defer s.work.Unlock()
	if op&opRestore != 0 && r.suppress {
		op &^= opRestore
	}
	if op == 0 {
		return
	}
	if op&opUnmap != 0 {
		if r.from >= r.to {
			r.from, r.to = start, end
		} else {
			r.from, r.to = min(r.from, start), max(r.to, end)
		}
	}
	r.pending |= op
	if r.state == processing { // whoever processes it puts it back
		return
	}
	if r.state == notQueued {
		r.r.Get()
	}
	s.place(r)
}

// place moves r to the list that its pending work belongs to: UNMAP goes first. work is held.
func (s *SVM) place(r *svmRange) {
	toGC := r.pending&opUnmap != 0
	switch {
	case toGC && r.state != inGC:
		s.restore.remove(r)
		r.state = inGC
		s.gc.list = append(s.gc.list, r)
	case !toGC && r.state != inRestore && r.state != inGC:
		r.state = inRestore
		s.restore.list = append(s.restore.list, r)
	}
	if toGC {
		s.gc.w.Queue()
	} else {
		s.restore.w.QueueDelayed(restoreDelay)
	}
}

// job is what a worker takes from a list.
type job struct {
	r        *svmRange
	op       uint8
	from, to uint64
}

// dequeue takes the head of l; the range is processing until putBack.
func (s *SVM) dequeue(l *workList) (job, bool) {
	s.work.Lock()
	defer s.work.Unlock()
	if len(l.list) == 0 {
		return job{}, false
	}
	r := l.list[0]
	l.list = l.list[1:]
	j := job{r, r.pending, r.from, r.to}
	r.state, r.pending, r.from, r.to = processing, 0, 0, 0
	return j, true
}

// putBack ends the processing of a range: work that came meanwhile queues it again, else its reference goes.
func (s *SVM) putBack(r *svmRange) {
	s.work.Lock()
	if s.cfg.Mistakes.RestoreDropsRequeued {
		r.pending &= opUnmap
	}
	if r.suppress {
		r.pending &^= opRestore
	}
	r.state = notQueued
	if r.pending != 0 {
		s.place(r)
		s.work.Unlock()
		return
	}
	s.work.Unlock()
	r.r.Put()
}

// suppressRestore keeps r off the restore list while it is realigned.
func (s *SVM) suppressRestore(r *svmRange) {
	s.work.Lock()
	r.suppress = true
	r.pending &^= opRestore
	drop := r.state == inRestore
	if drop {
		s.restore.remove(r)
		r.state = notQueued
	}
	s.work.Unlock()
	if drop {
		r.r.Put()
	}
}

// suppressed reports whether r is being realigned.
func (s *SVM) suppressed(r *svmRange) bool {
	s.work.Lock()
	defer s.work.Unlock()
	return r.suppress
}

// allowRestore undoes suppressRestore and asks for a restore.
func (s *SVM) allowRestore(r *svmRange) {
	s.work.Lock()
	r.suppress = false
	s.work.Unlock()
	s.enqueue(r, opRestore, 0, 0)
}

// idle reports whether both lists are empty; work is held.
func (s *SVM) idle() bool { return len(s.gc.list) == 0 && len(s.restore.list) == 0 }

// insert finds or makes the range of addr inside [start, end). readOnly says that the VMA allows no more.
func (s *SVM) insert(addr, start, end uint64, ro bool) (r *svmRange, readOnly bool, err error) {
	o := gpusvm.InsertOptions{Start: start, End: end, DevmemPossible: s.gpu.Pages != nil, ReadOnly: ro || s.cfg.Mistakes.IgnoreReadOnly}
	g, err := s.g.FindOrInsert(addr, o)
	if err == mm.EPERM && !o.ReadOnly {
		o.ReadOnly, readOnly = true, true
		g, err = s.g.FindOrInsert(addr, o)
	}
	if err != nil {
		return nil, false, err
	}
	return of(g), readOnly || ro, nil
}

// unmapRanges takes entries and addresses of ranges away. svmLock is held.
func (s *SVM) unmapRanges(rs ...*svmRange) {
	s.g.NotifierLock.RLock()
	defer s.g.NotifierLock.RUnlock()
	s.zap(rs, true)
	for _, r := range rs {
		r.p.UnmapLocked()
	}
}

// zap clears the ranges' page-table entries and, once, what TLBs have of them; NotifierLock is held. It goes before the
// addresses are given up: a wave must not reach a bus address that is nobody's, not for a moment.
func (s *SVM) zap(rs []*svmRange, flush bool) {
	any := false
	for _, r := range rs {
		if r.mapped {
			s.vm.Clear(r.r.Start, r.r.End)
			r.mapped, r.stale, any = false, false, true
			s.event(EvUnmap, r.r.Start, r.r.End, "", nil)
		}
	}
	if any && flush {
		s.vm.FlushTLB()
	}
}

// removeRange ends r: what it maps, then the range itself. svmLock is held.
func (s *SVM) removeRange(r *svmRange) {
	if r.r.Removed() {
		return
	}
	if !s.cfg.Mistakes.RemoveMapped {
		s.unmapRanges(r)
	}
	s.g.Remove(r.r)
}
