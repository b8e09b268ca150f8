package kfd

import (
	"time"

	"github.com/pumice-gpu/pumice/abi/ih"
)

// Delay holds interrupts back, for tests of those who wait for completions: on hardware an interrupt comes when the host gets around to it, long after the value in
// memory that it tells of. Only completions are delayed: ends of pipes, SDMA traps and messages of waves.
type Delay struct {
	By      time.Duration // 0 delays nothing
	Percent uint64        // of the interrupts that are delayed, chosen at random
	Count   int64         // how many at most; 0 for no limit
}

// delayed reports whether an entry is for later, and then sees to it.
func (d *Driver) delayed(n *node, e ih.Entry) bool {
	x := &d.cfg.DelayInterrupts
	if x.By == 0 {
		return false
	}
	switch e.Source {
	case ih.SourceCPEndOfPipe, ih.SourceSDMATrap, ih.SourceSQMessage:
	default:
		return false
	}
	if x.Percent < 100 && d.world.Rand64()%100 >= x.Percent || x.Count > 0 && d.delays.Add(1) > x.Count {
		return false
	}
	d.world.AfterFunc("delayed interrupt", x.By, func() { d.deliver(n, e) })
	return true
}
