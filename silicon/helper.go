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

	slow [256]slowKernel // by hash of the entry; guarded by cus.mu
}

// slowKernel counts how often in a row a kernel took long. The first time it is compiled, and a busy machine makes any look slow, so
// one that was given up is tried again now and then.
type slowKernel struct {
	entry   uint64
	strikes uint8
	skipped uint8

	// Of the last whole dispatch.
	groups  uint64 // 0: none, or it took longer than helpSlow
	batches bool   // all ran in batches
}

// whole notes a dispatch that is complete.
func (s *slowKernel) whole(k *dispatch, took time.Duration) {
	if s.entry != k.Entry {
		*s = slowKernel{entry: k.Entry}
	}
	s.groups, s.batches = 0, k.batch.runs() && k.batch.misses.Load() == 0
	if took < helpSlow {
		s.groups = k.total
	}
}

// brief reports whether all of k will likely be over soon.
func (s *slowKernel) brief(k *dispatch) bool { return s.entry == k.Entry && k.total <= s.groups }

const (
	slowStrikes = 3
	slowRetry   = 32
)

// skip reports whether k is to be left to the workers.
func (s *slowKernel) skip(k *dispatch) bool {
	if s.entry != k.Entry || s.strikes < slowStrikes {
		return false
	}
	if s.skipped++; s.skipped == slowRetry {
		s.skipped, s.strikes = 0, slowStrikes-1
	}
	return true
}

func (s *slowKernel) ran(k *dispatch, slow bool) {
	if s.entry != k.Entry {
		*s = slowKernel{entry: k.Entry}
	}
	if !slow {
		s.strikes, s.skipped = 0, 0
	}
	if slow && s.strikes < slowStrikes {
		s.strikes++
	}
}

const (
	helpGroups = 2                      // most work-groups waiting
	helpTime   = 100 * time.Microsecond // of one ringer
	helpSlow   = 60 * time.Microsecond  // of one turn of a work-group
)

func (h *helper) at(k *dispatch) *slowKernel { return &h.slow[(k.Entry>>8)%uint64(len(h.slow))] }

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
		h.at(g.k).ran(g.k, o != groupFinished || now-was > helpSlow)
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
	// Where there is one CPU only, nobody can run work-groups beside the ringer.
	if s.left(k) > helpGroups && (len(c.workers) > 1 || !c.helper.at(k).brief(k)) {
		return nil
	}
	if len(s.ready) > 0 || s.left(k) == 0 || c.helper.at(k).skip(k) {
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
