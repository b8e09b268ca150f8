package svm

import (
	"errors"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
)

// runRestore maps every invalid prange again and lets the queues run if nothing was evicted meanwhile.
func (s *SVM) runRestore() {
	if s.exiting.Load() || s.evicted.Load() == 0 {
		return
	}
	if !s.space.Get() {
		return // Close lets the queues run
	}
	defer s.space.Put()
	s.info.Lock()
	defer s.info.Unlock()
	s.flushAndLock()
	defer s.space.MmapLock().Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.evicted.Load()
	again := false
	for g := range s.objects.All(0, ^uint64(0)) {
		p := g.Value
		invalid := p.invalid.Load()
		if invalid == 0 {
			continue
		}
		p.migrate.Lock()
		err := s.restoreRange(p)
		p.migrate.Unlock()
		s.event(0, svm.EvRestore, p.start, p.end, "", err)
		if err != nil || !p.invalid.CompareAndSwap(invalid, 0) {
			again = true
			if s.cfg.Mistakes.HeadOfLine {
				break
			}
		}
	}
	done := !again && s.evicted.CompareAndSwap(n, 0)
	if s.cfg.Mistakes.ResumeEarly && !done {
		done = s.evicted.Swap(0) > 0
	}
	if done {
		s.resume("restored")
		return
	}
	s.restore.QueueDelayed(restoreDelay)
}

// restoreRange maps p where its pages are, mapping by mapping of the process. What cannot be mapped any more, because it may not be accessed,
// has its entries taken away: the queues need not wait for it.
func (s *SVM) restoreRange(p *prange) error {
	if s.cfg.Mistakes.HeadOfLine {
		return s.validateAndMap(p, p.start, p.end, allGPUs, "restore")
	}
	for at := p.start; at < p.end; {
		to := p.end
		if v, ok := s.space.FindVMA(at); ok && v.Start <= at {
			to = min(to, v.End)
		} else if ok {
			to = min(to, v.Start)
		}
		if s.cfg.Mistakes.CrossVMA {
			to = p.end
		}
		err := s.validateAndMap(p, at, to, allGPUs, "restore")
		switch {
		case (errors.Is(err, mm.EFAULT) || errors.Is(err, mm.EPERM)) && s.cfg.Mistakes.UnmapWrongUnits:
			// The start in bytes is compared with the prange's last page number, and is never the smaller one.
		case errors.Is(err, mm.EFAULT), errors.Is(err, mm.EPERM):
			p.lock.Lock()
			s.zap(p, at, to)
			p.lock.Unlock()
		case err != nil:
			return err
		}
		at = to
	}
	return nil
}
