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
	// Stretches are done in order; those after one that fails keep what they had.
	var again []change
	for at, end := start, start+size; at < end; {
		x := s.assign(at, end, attrs)
		if err := s.apply(x); retriable(err) {
			again = append(again, x)
		} else if err != nil {
			return errno(err)
		}
		at = x.end
	}
	for tries := 1; len(again) > 0; tries++ {
		// The process changed under us. Let the workers catch up and do what is left again: it is idempotent. Most often that is all there
		// was to wait for.
		s.gc.w.Flush()
		if tries > 1 {
			s.world.Sleep(time.Duration(min(tries, 20)) * 10 * time.Microsecond)
		}
		if s.exiting.Load() {
			return mm.EFAULT
		}
		left := again
		again = nil
		for _, x := range left {
			if err := s.apply(x); retriable(err) {
				again = append(again, x)
			} else if err != nil {
				return errno(err)
			}
		}
	}
	return nil
}

// retriable says that the process changed meanwhile.
func retriable(err error) bool { return errors.Is(err, mm.EAGAIN) || errors.Is(err, mm.EBUSY) }

// change is a stretch whose attributes a request has changed, and what that asks for until it is done.
type change struct {
	start, end uint64
	attrs      Attrs
	what       trigger
}

// assign stores the attributes of a request for the first stretch of [start, end) that had the same throughout.
func (s *SVM) assign(start, end uint64, attrs []Attr) change {
	s.attrs.mu.Lock()
	defer s.attrs.mu.Unlock()
	prev := s.attrs.defaults
	if g, ok := s.attrs.set.Next(start); ok {
		if g.Start <= start {
			prev, end = g.Value, min(end, g.End)
		} else {
			end = min(end, g.Start)
		}
	}
	next := prev.with(attrs)
	s.attrs.assign(start, end, next)
	return change{start, end, next, classify(prev, next, attrs, s.cfg.XNACK)}
}

// apply does what a change asks for.
func (s *SVM) apply(x change) error {
	start, end, a, t := x.start, x.end, x.attrs, x.what
	if t == 0 {
		return nil
	}
	s.svmLock.Lock()
	defer s.svmLock.Unlock()
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
