package svm

import (
	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
)

// invalidate is the notifier's callback: the process's pages in inv are about to change.
func (w *watch) invalidate(inv *mm.Invalidation, setSeq func()) bool {
	p := w.p
	if inv.Blockable {
		p.lock.Lock()
	} else if !p.lock.TryLock() {
		return false
	}
	setSeq()
	if !w.retired {
		p.s.handle(p, inv)
	}
	heirs := w.heirs
	p.lock.Unlock()
	for _, q := range heirs {
		q.lock.Lock()
		q.s.handle(q, inv)
		q.lock.Unlock()
	}
	return true
}

// clip is the part of p that inv concerns; p.lock is held.
func (p *prange) clip(inv *mm.Invalidation) (start, end uint64, ok bool) {
	start, end = max(p.start, inv.Start), min(p.end, inv.End)
	return start, end, start < end
}

// handle does what an invalidation asks for on p and its children; p.lock is held.
func (s *SVM) handle(p *prange, inv *mm.Invalidation) {
	switch inv.Event {
	case mm.EventRelease:
		if start, end, ok := p.clip(inv); ok {
			s.zap(p, start, end)
		}
	case mm.EventUnmap:
		s.unmapFromCPU(p, inv)
	default:
		s.evict(p, inv)
	}
}

// evict: pages change, addresses stay. With XNACK the entries go, and the GPU asks again. Without, the queues stop and the restore worker maps
// the range anew; its entries stay until then, nobody uses them. If the queues could not be stopped, the entries go here too.
func (s *SVM) evict(p *prange, inv *mm.Invalidation) {
	if s.cfg.XNACK && p.attrs.Flags&kfd.SVMFlagGPUAlwaysMapped == 0 {
		for _, q := range append([]*prange{p}, p.children...) {
			if start, end, ok := q.clip(inv); ok {
				s.zap(q, start, end)
			}
		}
		return
	}
	any := false
	for i, q := range append([]*prange{p}, p.children...) {
		if i > 0 && q.op == opUnmapRange {
			continue
		}
		if _, _, ok := q.clip(inv); ok && q.mapped {
			q.invalid.Add(1)
			any = true
		}
	}
	if any {
		s.countEviction(inv.Event.String())
	}
	if s.running.Load() && !s.cfg.Mistakes.IgnoreQuiesceError {
		for _, q := range append([]*prange{p}, p.children...) {
			if start, end, ok := q.clip(inv); ok {
				s.zap(q, start, end)
			}
		}
	}
}

// countEviction counts an eviction; the first stops the queues.
func (s *SVM) countEviction(cause string) {
	if s.evicted.Add(1) == 1 {
		err := s.cfg.Queues.Quiesce()
		s.running.Store(err != nil)
		for i := range s.cfg.GPUs {
			s.event(i, svm.EvQuiesce, 0, 0, cause, err)
		}
	}
	s.restore.QueueDelayed(restoreDelay)
}

// unmapFromCPU: addresses are gone. Entries go now; the rest is the deferred worker's, who waits for faults on what is gone.
func (s *SVM) unmapFromCPU(p *prange, inv *mm.Invalidation) {
	start, end, ok := p.clip(inv)
	var gone []*prange
	for _, q := range p.children {
		if lo, hi, ok := q.clip(inv); ok {
			s.zap(q, lo, hi)
			gone = append(gone, q)
		}
	}
	if !ok && len(gone) == 0 {
		return
	}
	s.drain.Add(1)
	p.queuesLose(inv)
	for _, q := range gone {
		if q.op != opUnmapRange {
			s.cut(p, q, inv)
		}
	}
	op := opUpdateNotifier
	if ok {
		s.zap(p, start, end)
		if start == p.start && end == p.end {
			op = opUnmapRange
		} else {
			s.cut(p, p, inv)
		}
	}
	s.later(p, op)
}

// cut splits q, which is p or a child of it, into what inv takes away and what stays: the pieces become children of p. p.lock is held.
func (s *SVM) cut(p, q *prange, inv *mm.Invalidation) {
	start, end, _ := q.clip(inv)
	if q != p && start == q.start && end == q.end {
		q.op = opUnmapRange
		return
	}
	add := func(c *prange, op listOp) {
		c.op = op
		p.children = append(p.children, c)
	}
	switch {
	case start > q.start && end < q.end:
		rest := q.split(start)
		add(rest.split(end), opAddRange)
		add(rest, opUnmapRange)
	case start > q.start:
		add(q.split(start), opUnmapRange)
	default:
		// q is what stays, the new one what goes.
		tail := q.split(end)
		q.swap(tail)
		add(tail, opUnmapRange)
	}
}

// swap exchanges what p and q are, after a split: p becomes the rear piece. Both locks are held, or nobody else knows q.
func (p *prange) swap(q *prange) {
	p.start, q.start = q.start, p.start
	p.end, q.end = q.end, p.end
	p.dma, q.dma = q.dma, p.dma
	p.offset, q.offset = q.offset, p.offset
	p.vramPages, q.vramPages = q.vramPages, p.vramPages
}
