package sched

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Live is the World of a running process.
type Live struct{ start time.Time }

// NewLive returns a World whose time begins now.
func NewLive() *Live { return &Live{start: time.Now()} }

func (l *Live) Go(name string, daemon bool, fn func()) { go fn() }
func (l *Live) Now() time.Duration                     { return time.Since(l.start) }
func (l *Live) Rand64() uint64                         { return rand.Uint64() }
func (l *Live) Yield(string)                           {}
func (l *Live) NewMutex(c *Class) Mutex                { return &liveMutex{world: l, class: c} }
func (l *Live) NewRWSem(c *Class) RWSem                { return &liveRWSem{world: l, class: c} }
func (l *Live) NewWaitQueue(string) WaitQueue          { return &liveWaitQueue{} }
func (l *Live) Fail(err error)                         { panic(err) }

// Sleep is exact to some 50 µs. Go's own sleep, when nothing else runs, ends with its next look at the network, which counts in milliseconds.
func (l *Live) Sleep(d time.Duration) {
	if d >= time.Millisecond {
		time.Sleep(d)
		return
	}
	for t := unix.NsecToTimespec(int64(d)); unix.Nanosleep(&t, &t) == unix.EINTR; {
	}
}

func (l *Live) AfterFunc(name string, d time.Duration, fn func()) Timer {
	return time.AfterFunc(d, fn)
}

type liveMutex struct {
	mu    sync.Mutex
	world *Live
	class *Class
}

func (m *liveMutex) Lock()         { m.mu.Lock() }
func (m *liveMutex) TryLock() bool { return m.mu.TryLock() }
func (m *liveMutex) Unlock()       { m.mu.Unlock() }
func (m *liveMutex) AssertHeld() {
	if m.mu.TryLock() {
		m.mu.Unlock()
		m.world.Fail(fmt.Errorf("sched: %s is not held", m.class.Name))
	}
}

type liveRWSem struct {
	mu    sync.RWMutex
	world *Live
	class *Class
}

func (m *liveRWSem) Lock()          { m.mu.Lock() }
func (m *liveRWSem) TryLock() bool  { return m.mu.TryLock() }
func (m *liveRWSem) Unlock()        { m.mu.Unlock() }
func (m *liveRWSem) RLock()         { m.mu.RLock() }
func (m *liveRWSem) TryRLock() bool { return m.mu.TryRLock() }
func (m *liveRWSem) RUnlock()       { m.mu.RUnlock() }
func (m *liveRWSem) AssertHeld() {
	if m.mu.TryRLock() {
		m.mu.RUnlock()
		m.world.Fail(fmt.Errorf("sched: %s is not held for writing", m.class.Name))
	}
}
func (m *liveRWSem) AssertRHeld() {
	if m.mu.TryLock() {
		m.mu.Unlock()
		m.world.Fail(fmt.Errorf("sched: %s is not held", m.class.Name))
	}
}

// liveWaitQueue hands each generation of waiters one channel; Wake closes it.
type liveWaitQueue struct {
	waiters atomic.Int32 // lets Wake return at once when nobody waits
	mu      sync.Mutex
	ch      chan struct{} // guarded by mu; nil when nobody waits
}

func (q *liveWaitQueue) Wait(cond func() bool, timeout time.Duration) bool {
	if cond() {
		return true
	}
	var expired <-chan time.Time
	if timeout >= 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		expired = t.C
	}
	q.waiters.Add(1)
	defer q.waiters.Add(-1)
	for {
		q.mu.Lock()
		if q.ch == nil {
			q.ch = make(chan struct{})
		}
		ch := q.ch
		q.mu.Unlock()
		// The channel is taken before cond is looked at: a Wake between the two is not lost.
		if cond() {
			return true
		}
		select {
		case <-ch:
		case <-expired:
			return cond()
		}
	}
}

func (q *liveWaitQueue) Wake() {
	if q.waiters.Load() == 0 {
		return
	}
	q.mu.Lock()
	if q.ch != nil {
		close(q.ch)
		q.ch = nil
	}
	q.mu.Unlock()
}
