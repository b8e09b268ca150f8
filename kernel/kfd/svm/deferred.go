package svm

import (
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/sched"
)

// later puts p on the deferred list, or changes what is to be done with it; removal stays.
func (s *SVM) later(p *prange, op listOp) {
	s.listLock.Lock()
	if p.queued {
		if p.op != opUnmapRange {
			p.op = op
		}
		s.listLock.Unlock()
		return
	}
	if !s.cfg.Mistakes.NoMMUser && !s.space.Get() { // the process is gone, and so will be the list
		s.listLock.Unlock()
		return
	}
	p.queued, p.op = true, op
	s.list = append(s.list, p)
	s.listLock.Unlock()
	s.deferred.Queue()
}

// runDeferred does what notifiers could not: it takes the pieces of cut pranges apart.
func (s *SVM) runDeferred() {
	l := s.space.MmapLock()
	for {
		s.listLock.Lock()
		n := len(s.list)
		s.listLock.Unlock()
		if n == 0 {
			return
		}
		l.Lock()
		// Asked with the mmap lock held, or a munmap could come in between.
		if s.drain.Load() > 0 {
			l.Unlock()
			s.drainFaults()
			continue
		}
		s.listLock.Lock()
		if len(s.list) == 0 {
			s.listLock.Unlock()
			l.Unlock()
			return
		}
		p := s.list[0]
		s.working.Store(true)
		s.list = s.list[1:]
		op := p.op
		p.queued, p.op = false, opNone
		s.listLock.Unlock()
		s.mu.Lock()
		p.migrate.Lock()
		s.settle(p, op)
		p.migrate.Unlock()
		s.mu.Unlock()
		l.Unlock()
		if !s.cfg.Mistakes.NoMMUser {
			s.space.Put()
		}
		s.working.Store(false)
	}
}

// settle makes the pieces of p pranges of their own; the mmap lock, mu and p.migrate are held.
func (s *SVM) settle(p *prange, op listOp) {
	w := p.watch
	p.lock.Lock()
	children := p.children
	p.lock.Unlock()
	// The parent's entry is as long as it was.
	s.removeObject(p)
	for _, c := range append([]*prange{p}, children...) {
		if c == p && op == opUnmapRange || c != p && c.op == opUnmapRange {
			s.event(0, svm.EvCollect, c.start, c.end, "munmap", nil)
		}
	}
	for _, c := range children {
		if c.op == opAddRange {
			s.enter(c)
			if c.register() != nil { // the process has exited
				continue
			}
		}
	}
	p.lock.Lock()
	w.heirs = append(w.heirs, children...)
	p.children = nil
	p.lock.Unlock()
	for _, c := range children {
		if c.op == opUnmapRange {
			s.unlink(c)
		}
		c.op = opNone
	}
	if op == opUnmapRange {
		s.unlink(p)
		return
	}
	s.enter(p)
	if p.register() == nil {
		w.n.Remove()
	}
}

// drainFaults waits for the GPU faults under way: they may be about addresses that are gone.
func (s *SVM) drainFaults() {
	n := s.drain.Load()
	s.idle.Wait(func() bool { return s.faults.Load() == 0 }, sched.Forever)
	s.drain.Add(-n)
}

// flushAndLock takes the mmap lock for writing when there is nothing on the deferred list.
func (s *SVM) flushAndLock() {
	l := s.space.MmapLock()
	for {
		s.deferred.Flush()
		l.Lock()
		s.listLock.Lock()
		n := len(s.list)
		s.listLock.Unlock()
		if n == 0 {
			return
		}
		l.Unlock()
	}
}
