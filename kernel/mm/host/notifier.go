package host

import (
	"sync/atomic"

	"github.com/pumice-gpu/pumice/kernel/interval"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
)

// notifier is an interval notifier.
type notifier struct {
	s          *Space
	start, end uint64
	fn         mm.InvalidateFunc
	seq        atomic.Uint64
	node       *interval.Node[*notifier] // guarded by ptl
	running    int                       // guarded by ptl
}

// NewNotifier registers fn on [start, end).
func (s *Space) NewNotifier(start, end uint64, fn mm.InvalidateFunc) (mm.Notifier, error) {
	n := &notifier{s: s, start: start, end: end, fn: fn}
	n.seq.Store(1)
	s.ptl.Lock()
	n.node = s.notifiers.Insert(start, end, n)
	s.ptl.Unlock()
	return n, nil
}

// busy reports whether an invalidation of the notifier's range is under way; the PTL is held.
func (n *notifier) busy() bool {
	for _, inv := range n.s.active {
		if inv.Start < n.end && n.start < inv.End {
			return true
		}
	}
	return false
}

func (n *notifier) ReadBegin() (seq uint64) {
	n.s.idle.Wait(func() bool {
		n.s.ptl.Lock()
		defer n.s.ptl.Unlock()
		seq = n.seq.Load()
		return !n.busy()
	}, sched.Forever)
	return seq
}

func (n *notifier) ReadRetry(seq uint64) bool {
	n.s.ptl.Lock()
	defer n.s.ptl.Unlock()
	return n.seq.Load() != seq || n.busy()
}

func (n *notifier) Remove() {
	n.s.ptl.Lock()
	n.s.notifiers.Remove(n.node)
	n.s.ptl.Unlock()
	n.s.idle.Wait(func() bool {
		n.s.ptl.Lock()
		defer n.s.ptl.Unlock()
		return n.running == 0
	}, sched.Forever)
}

// invalidate calls the notifiers of inv's range and returns what ends the invalidation. The PTL is not held.
func (s *Space) invalidate(inv *mm.Invalidation) (end func()) {
	s.ptl.Lock()
	s.active = append(s.active, inv)
	var call []*notifier
	for x := range s.notifiers.Overlapping(inv.Start, inv.End) {
		x.Value.running++
		call = append(call, x.Value)
	}
	s.ptl.Unlock()
	for _, n := range call {
		n.fn(inv, func() { n.seq.Add(1) })
		s.ptl.Lock()
		n.running--
		s.ptl.Unlock()
	}
	return func() {
		s.ptl.Lock()
		for i, x := range s.active {
			if x == inv {
				s.active = append(s.active[:i], s.active[i+1:]...)
				break
			}
		}
		s.ptl.Unlock()
		s.idle.Wake()
	}
}

// concerned reports whether anybody mirrors a page of [start, end).
func (s *Space) concerned(start, end uint64) bool {
	if s.closed.Load() {
		return false
	}
	s.ptl.Lock()
	defer s.ptl.Unlock()
	for range s.notifiers.Overlapping(start, end) {
		return true
	}
	return false
}
