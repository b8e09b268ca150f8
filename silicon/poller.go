package silicon

import (
	"sync"
	"time"
)

// poller is the part of the command processor that looks again at memory on which queues wait: signals of barrier packets, the answer
// to a scratch request, POLL_REGMEM. It sleeps for ever when no queue waits, and looks less often the longer nothing happens.
type poller struct {
	dev  *Device
	wake Parker

	mu      sync.Mutex
	waiting []*queue // guarded by mu
	started bool     // guarded by mu
	ended   bool     // guarded by mu
	pushing bool     // the loop is pushing queues, which put themselves back; guarded by mu
}

// Bounds of the polling interval.
const (
	pollMin = 10 * time.Microsecond
	pollMax = 500 * time.Microsecond
	// A wave that waits for a page repeats the access, and its interrupt, this often even when no TLB flush came.
	retryInterval = 5 * time.Millisecond
)

func (p *poller) init(d *Device) { p.dev, p.wake = d, d.sched.NewParker() }

// kick starts looking after waves that wait for pages.
func (p *poller) kick() { p.add(nil) }

func (p *poller) add(q *queue) {
	p.mu.Lock()
	if q != nil {
		p.waiting = append(p.waiting, q)
	}
	start := !p.started && !p.ended
	p.started = p.started || start
	wake := !p.pushing
	p.mu.Unlock()
	if start {
		p.dev.sched.Go("poller", p.loop)
	}
	if wake {
		p.wake.Unpark()
	}
}

// changed says that the chip itself wrote a signal.
func (p *poller) changed() {
	p.mu.Lock()
	n := len(p.waiting)
	p.mu.Unlock()
	if n > 0 {
		p.wake.Unpark()
	}
}

func (p *poller) close() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.wake.Unpark()
}

func (p *poller) loop() {
	interval := pollMin
	var retried time.Duration
	for {
		p.mu.Lock()
		if p.ended {
			p.mu.Unlock()
			return
		}
		list := p.waiting
		p.waiting = nil
		p.pushing = len(list) > 0
		p.mu.Unlock()
		pages := p.dev.cus.parked.Load() > 0
		if len(list) == 0 && !pages {
			p.wake.Park(-1)
			interval = pollMin
			continue
		}
		for _, q := range list {
			q.mu.Lock()
			q.polled = false
			q.mu.Unlock()
			q.push(true)
		}
		p.mu.Lock()
		p.pushing = false
		p.mu.Unlock()
		if p.wake.Park(interval) {
			interval = pollMin
		} else {
			interval = min(2*interval, pollMax)
		}
		if now := p.dev.sched.Now(); pages && now-retried >= retryInterval {
			retried = now
			p.dev.cus.retry(NumVMIDs)
		}
	}
}
