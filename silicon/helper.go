package silicon

import (
	"sync"
	"time"

	"github.com/pumice-gpu/pumice/engine"
)

// helper lets the goroutine that rang a doorbell run the waves of a very small dispatch itself. Waking a worker costs tens of
// microseconds when cores are busy (an application that waits by spinning, as ROCr does, holds one), far more than such
// a dispatch takes. The ringer gives up as soon as something takes long: a wave that sleeps or runs out of its fuel, many
// work-groups, or a kernel that was slow the last time.
type helper struct {
	mu     sync.Mutex    // held by the ringer that helps; the others leave the work to workers
	engine engine.Worker // guarded by mu

	slow [256]uint64 // entries of kernels not worth it, by hash; guarded by cus.mu
}

const (
	helpGroups = 2                      // most work-groups waiting
	helpTime   = 100 * time.Microsecond // of one ringer
	helpSlow   = 60 * time.Microsecond  // of one turn of a work-group
)

func (h *helper) at(k *dispatch) *uint64 { return &h.slow[(k.Entry>>8)%uint64(len(h.slow))] }

// help ends the ringer's promise (cus.ring) to look for work.
func (c *cus) help() {
	if c.helper.mu.TryLock() {
		c.helpLocked()
		c.helper.mu.Unlock()
	}
	c.ring.Add(-1)
	c.mu.Lock()
	if (len(c.idle) > 0 || c.spin.Load() > 0) && c.more() {
		c.seq.Add(1)
		c.wake()
	}
	c.mu.Unlock()
}

func (c *cus) helpLocked() {
	h := &c.helper
	start := c.dev.sched.Now()
	now := start
	for now-start < helpTime {
		g := c.small()
		if g == nil {
			return
		}
		if h.engine == nil {
			h.engine = c.dev.cfg.Engine.NewWorker()
		}
		o := g.turn(h.engine)
		was := now
		now = c.dev.sched.Now()
		c.mu.Lock()
		if o != groupFinished || now-was > helpSlow {
			*h.at(g.k) = g.k.Entry
		}
		done := c.take(g, o)
		c.mu.Unlock()
		if done != nil {
			done.complete()
		}
		if o != groupFinished {
			return
		}
	}
}

// small returns a work-group to run if there is little to do.
func (c *cus) small() *group {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) != 1 || c.ended {
		return nil
	}
	k := c.list[0]
	s := &k.sched
	if k.total-s.next > helpGroups || len(s.ready) > 0 || *c.helper.at(k) == k.Entry || s.next == k.total {
		return nil
	}
	return c.place(k)
}

func (h *helper) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.engine != nil {
		h.engine.Close()
		h.engine = nil
	}
}
