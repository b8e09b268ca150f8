// Package notify keeps the interval notifiers of one address space: what Linux's mm/mmu_notifier.c does for mmu_interval_notifiers.
//
// Who changes an address space says so before: an invalidation begins, each notifier whose range meets it is called, and may wait
// for its device, set its sequence, and throw out what it mirrors; then the change is made, and the invalidation ends. Who reads
// page-table entries for a device asks for the sequence first (ReadBegin, which waits while an invalidation of the range is
// under way), reads, takes the lock under which the callback sets the sequence, and asks ReadRetry whether what was read still holds.
//
// Linux counts begun and ended invalidations in one number of the whole address space, odd while one is under way, and has
// nodes inserted or removed meanwhile wait in a list. Here the invalidations under way are a list, and the tree changes at once:
// nobody can see the difference, as a notifier inserted during an invalidation of its range is busy until that ends.
//
// All is guarded by the address space's PTL, which is never held while a callback runs or anybody waits.
package notify

import (
	"sync/atomic"

	"github.com/pumice-gpu/pumice/kernel/interval"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
)

// Set is the notifiers of one address space.
type Set struct {
	ptl    sched.Mutex
	idle   sched.WaitQueue // woken when an invalidation ends
	tree   interval.Tree[*notifier]
	active []*mm.Invalidation
}

// New returns an empty set that is guarded by ptl; who waits for invalidations to end waits on idle.
func New(ptl sched.Mutex, idle sched.WaitQueue) *Set { return &Set{ptl: ptl, idle: idle} }

// notifier is an interval notifier.
type notifier struct {
	set        *Set
	start, end uint64
	fn         mm.InvalidateFunc
	seq        atomic.Uint64
	node       *interval.Node[*notifier] // guarded by ptl
	running    int                       // callbacks under way; guarded by ptl
}

// Insert registers fn on [start, end) (mmu_interval_notifier_insert). The PTL is held.
func (s *Set) Insert(start, end uint64, fn mm.InvalidateFunc) mm.Notifier {
	n := &notifier{set: s, start: start, end: end, fn: fn}
	n.seq.Store(1)
	n.node = s.tree.Insert(start, end, n)
	return n
}

// busy reports whether an invalidation of the notifier's range is under way; the PTL is held.
func (n *notifier) busy() bool {
	for _, inv := range n.set.active {
		if inv.Start < n.end && n.start < inv.End {
			return true
		}
	}
	return false
}

func (n *notifier) ReadBegin() (seq uint64) {
	n.set.idle.Wait(func() bool {
		n.set.ptl.Lock()
		defer n.set.ptl.Unlock()
		seq = n.seq.Load()
		return !n.busy()
	}, sched.Forever)
	return seq
}

func (n *notifier) ReadRetry(seq uint64) bool {
	n.set.ptl.Lock()
	defer n.set.ptl.Unlock()
	return n.seq.Load() != seq || n.busy()
}

func (n *notifier) Remove() {
	n.set.ptl.Lock()
	n.set.tree.Remove(n.node)
	n.set.ptl.Unlock()
	n.set.idle.Wait(func() bool {
		n.set.ptl.Lock()
		defer n.set.ptl.Unlock()
		return n.running == 0
	}, sched.Forever)
}

// Invalidate begins an invalidation: it calls the notifiers of inv's range, and returns the function that ends it
// (mmu_notifier_invalidate_range_start and _end). The PTL is not held.
func (s *Set) Invalidate(inv *mm.Invalidation) (end func()) {
	s.ptl.Lock()
	s.active = append(s.active, inv)
	var call []*notifier
	for x := range s.tree.Overlapping(inv.Start, inv.End) {
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

// Any reports whether a notifier's range meets [start, end). The PTL is held.
func (s *Set) Any(start, end uint64) bool {
	for range s.tree.Overlapping(start, end) {
		return true
	}
	return false
}

// Steps returns how many nodes of the tree were looked at so far: what changes of the address space cost, for tests.
func (s *Set) Steps() int { return s.tree.Steps() }
