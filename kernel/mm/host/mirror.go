package host

import "github.com/pumice-gpu/pumice/kernel/mm"

// NewNotifier registers fn on [start, end).
func (s *Space) NewNotifier(start, end uint64, fn mm.InvalidateFunc) (mm.Notifier, error) {
	s.ptl.Lock()
	defer s.ptl.Unlock()
	return s.notifiers.Insert(start, end, fn), nil
}

// concerned reports whether anybody mirrors a page of [start, end).
func (s *Space) concerned(start, end uint64) bool {
	if s.closed.Load() {
		return false
	}
	s.ptl.Lock()
	defer s.ptl.Unlock()
	return s.notifiers.Any(start, end)
}
