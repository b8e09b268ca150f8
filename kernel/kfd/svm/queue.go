package svm

import (
	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/mm"
)

// hold is memory that a user queue lives in: its ring, its save area.
type hold struct {
	start, end uint64
	gone       func() // takes the queue off the hardware for good; must not sleep
}

// HoldQueueBuffer keeps [start, start+size) for a queue on a GPU (kfd_queue_buffer_svm_get). The memory must be registered throughout, accessible
// by that GPU, mapped there, and to be always mapped: EINVAL, EPERM, EFAULT. A program may unmap it all the same; then gone is called, in a
// notifier, before the pages go.
func (s *SVM) HoldQueueBuffer(gpu int, start, size uint64, gone func()) error {
	end := start + size
	s.flushAndLock()
	defer s.space.MmapLock().Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	var ps []*prange
	for g, ok := range s.objects.Cover(start, end) {
		if !ok {
			return mm.EINVAL
		}
		p := g.Value
		if p.attrs.Flags&kfd.SVMFlagGPUAlwaysMapped == 0 || (p.attrs.Access|p.attrs.InPlace)>>gpu&1 == 0 {
			return mm.EPERM
		}
		p.lock.Lock()
		mapped := p.mapped && p.dma[gpu] != nil
		p.lock.Unlock()
		if !mapped {
			return mm.EFAULT
		}
		ps = append(ps, p)
	}
	for _, p := range ps {
		p.lock.Lock()
		p.queues = append(p.queues[:len(p.queues):len(p.queues)], hold{start, end, gone})
		p.lock.Unlock()
	}
	return nil
}

// ReleaseQueueBuffer ends what HoldQueueBuffer began.
func (s *SVM) ReleaseQueueBuffer(start, size uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for g := range s.objects.All(0, ^uint64(0)) {
		p := g.Value
		p.lock.Lock()
		for _, q := range append([]*prange{p}, p.children...) {
			var keep []hold
			for _, h := range q.queues {
				if h.start != start || h.end != start+size {
					keep = append(keep, h)
				}
			}
			q.queues = keep
		}
		p.lock.Unlock()
	}
}

// queuesLose tells the queues whose memory inv takes away; p.lock is held.
func (p *prange) queuesLose(inv *mm.Invalidation) {
	if p.s.cfg.Mistakes.FreesQueueBuffers {
		return
	}
	for _, h := range p.queues {
		if h.start < inv.End && inv.Start < h.end {
			h.gone()
		}
	}
}
