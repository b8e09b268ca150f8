package silicon

import (
	"runtime"
	"sync/atomic"
)

// worker is one thread that runs waves.
type worker struct {
	cus   *cus
	index int
	park  Parker
}

// Spinning before sleep, in looks at cus.seq: about 20 µs.
const spinLooks = 4000

func (w *worker) loop() {
	c := w.cus
	defer c.live.Done()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e := c.dev.cfg.Engine.NewWorker()
	defer e.Close()
	var g *group
	var o outcome
	for {
		seq := c.seq.Load()
		n, done := c.next(g, o)
		g = nil
		if done != nil {
			done.complete()
			if n == nil {
				continue // completing may have brought new work
			}
		}
		if n != nil {
			g = n
			o = g.turn(e)
			continue
		}
		if !w.wait(seq) {
			return
		}
	}
}

// wait sleeps until there may be work since seq; it reports false at the end of the device.
func (w *worker) wait(seq uint64) bool {
	c := w.cus
	// A worker that is alone has one CPU, which the goroutine that would bring work needs.
	if c.spin.Add(1) == 1 && len(c.workers) > 1 {
		for i := 0; i < spinLooks && c.seq.Load() == seq; i++ {
			pause()
		}
	}
	c.spin.Add(-1)
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return false
	}
	if c.seq.Load() != seq {
		c.mu.Unlock()
		return true
	}
	c.idle = append(c.idle, w)
	c.mu.Unlock()
	w.park.Park(-1)
	return true
}

var pauses atomic.Uint32

// pause takes a few nanoseconds.
//
//go:noinline
func pause() {
	for range 4 {
		pauses.Load()
	}
}
