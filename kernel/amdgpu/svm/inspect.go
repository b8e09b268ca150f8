package svm

import (
	"github.com/pumice-gpu/pumice/kernel/gpusvm"
	"github.com/pumice-gpu/pumice/kernel/segment"
)

// RangeState is what Inspect tells of an svm range.
type RangeState struct {
	Start, End uint64
	Mapped     bool // page-table entries exist
	Flags      PTEFlags
	Unmapped   bool   // some of its addresses were unmapped by the process: the collector is to take it apart
	Queue      string // "", "gc", "restore" or "processing"
}

// State is what Inspect tells of an SVM.
type State struct {
	Attrs   []segment.Seg[Attrs]
	Ranges  []RangeState
	Evicted int64 // invalidations since the queues were stopped; 0: they run (XNACK off)
	Idle    bool  // no worker has anything to do
}

var queueNames = [...]string{"", "gc", "restore", "processing"}

// Inspect shows the attribute layer and the mapping layer. It takes no lock: for the running task of a simulated World,
// between two steps.
func (s *SVM) Inspect() State {
	st := State{Evicted: s.evicted.Load(), Idle: s.idle()}
	for a := range s.attrs.set.All(0, ^uint64(0)) {
		st.Attrs = append(st.Attrs, a)
	}
	for _, g := range s.g.Ranges(0, ^uint64(0)) {
		r := of(g)
		st.Ranges = append(st.Ranges, RangeState{g.Start, g.End, r.mapped, r.flags, g.Flags()&gpusvm.FlagUnmapped != 0, queueNames[r.state]})
		if r.state != notQueued {
			st.Idle = false
		}
	}
	return st
}
