package svm

import (
	"errors"
	"time"

	"github.com/pumice-gpu/pumice/kernel/mm"
)

// maxAttrs bounds the attributes of one request.
const maxAttrs = 64

// checkRange validates a request's addresses: EINVAL unaligned, empty or wrapping; EFAULT a hole between VMAs;
// EOPNOTSUPP device mappings; EADDRINUSE a buffer is mapped there.
func (s *SVM) checkRange(start, size uint64) error {
	end := start + size
	if start == 0 || size == 0 || (start|size)&(mm.PageSize-1) != 0 || end < start || start < s.cfg.Start || end > s.cfg.Start+s.cfg.Size {
		return mm.EINVAL
	}
	l := s.cfg.Space.MmapLock()
	l.RLock()
	defer l.RUnlock()
	for a := start; a < end; {
		v, ok := s.cfg.Space.FindVMAIn(a, a, end)
		if !ok || v.Start > a {
			return mm.EFAULT
		}
		if v.Kind == mm.IO {
			return mm.EOPNOTSUPP
		}
		a = v.End
	}
	if s.vm.Overlaps(start, end) {
		return errAddrInUse
	}
	return nil
}

// SetAttrs gives [start, start+size) the attributes of the request and does what the change asks for.
func (s *SVM) SetAttrs(start, size uint64, attrs []Attr) error {
	if len(attrs) == 0 || len(attrs) > maxAttrs {
		return mm.EINVAL
	}
	for _, x := range attrs {
		if err := x.Check(); err != nil {
			return err
		}
	}
	if err := s.checkRange(start, size); err != nil {
		return err
	}
	for tries := 1; ; tries++ {
		err := s.setOnce(start, start+size, attrs)
		if !errors.Is(err, mm.EAGAIN) && !errors.Is(err, mm.EBUSY) {
			return errno(err)
		}
		// The process changed under us. Let the workers catch up and do all of it again: it is idempotent.
		s.gc.w.Flush()
		s.world.Sleep(time.Duration(min(tries, 20)) * 10 * time.Microsecond)
		if s.exiting.Load() {
			return mm.EFAULT
		}
	}
}

// setOnce goes through the stretches of [start, end).
func (s *SVM) setOnce(start, end uint64, attrs []Attr) error {
	var again error
	for at := start; at < end; {
		s.attrs.mu.Lock()
		prev, to := s.attrs.defaults, end
		if g, ok := s.attrs.set.Next(at); ok {
			if g.Start <= at {
				prev, to = g.Value, min(end, g.End)
			} else {
				to = min(end, g.Start)
			}
		}
		next := prev.with(attrs)
		s.attrs.assign(at, to, next)
		s.attrs.mu.Unlock()
		if t := classify(prev, next, attrs, s.cfg.XNACK); t != 0 {
			s.svmLock.Lock()
			err := s.apply(at, to, next, t)
			s.svmLock.Unlock()
			switch {
			case errors.Is(err, mm.EAGAIN), errors.Is(err, mm.EBUSY):
				again = err
			case err != nil:
				return err
			}
		}
		at = to
	}
	return again
}

// apply does what a change of attributes on [start, end) asks for; svmLock is held.
func (s *SVM) apply(start, end uint64, a Attrs, t trigger) error {
	if a.Access == AccessNone {
		if t&trigAccessLose != 0 && !s.cfg.Mistakes.LoseAccessNoop {
			return s.loseAccess(start, end)
		}
		return nil
	}
	mode, cause := migratePreferred, "ioctl"
	if t&trigPrefetch != 0 {
		mode, cause = migrateToVRAM, "prefetch"
		if a.Prefetch == LocSysmem {
			mode = migrateToSystem
		}
	}
	if s.cfg.XNACK {
		if t&trigPTEFlag != 0 {
			if err := s.invalidateInterval(start, end); err != nil {
				return err
			}
		}
		if t&trigPrefetch == 0 {
			return nil
		}
		if mode == migrateToSystem {
			for _, g := range s.g.Ranges(start, end) {
				s.migrate(of(g), a, mode, "prefetch")
			}
			return nil
		}
		return s.mapAttrRanges(start, end, mode, "prefetch")
	}
	kick, err := s.realignBoundary(start, end)
	if err == nil {
		err = s.mapAttrRanges(start, end, mode, cause)
	}
	if kick {
		s.restore.w.ModDelayed(0)
	}
	return err
}

// loseAccess takes the GPU's access to [start, end) away. With XNACK off the parts outside that shared a range with it are
// mapped again before queues run.
func (s *SVM) loseAccess(start, end uint64) error {
	if !s.cfg.XNACK {
		kick, err := s.realignBoundary(start, end)
		if kick {
			defer s.restore.w.ModDelayed(0)
		}
		if err != nil {
			return err
		}
	}
	return s.invalidateInterval(start, end)
}

// GetAttrs answers for [start, start+size).
func (s *SVM) GetAttrs(start, size uint64) (Attrs, error) {
	if err := s.checkRange(start, size); err != nil {
		return Attrs{}, err
	}
	return s.attrs.fold(start, start+size), nil
}

// ResetAttrs gives [start, start+size) the defaults again.
func (s *SVM) ResetAttrs(start, size uint64) error {
	if err := s.checkRange(start, size); err != nil {
		return err
	}
	s.attrs.reset(start, start+size)
	s.svmLock.Lock()
	defer s.svmLock.Unlock()
	return errno(s.loseAccess(start, start+size))
}

// errno is what an ioctl may return: a page that could not be brought home is a bad address, as hmm_range_fault has it.
func errno(err error) error {
	if errors.Is(err, mm.ErrSIGBUS) {
		return mm.EFAULT
	}
	return err
}
