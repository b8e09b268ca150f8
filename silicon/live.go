package silicon

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// live is the Sched of a running process.
type live struct{ start time.Time }

// Live returns the Sched of goroutines and the monotonic clock.
func Live() Sched { return &live{start: time.Now()} }

func (l *live) Now() time.Duration       { return time.Since(l.start) }
func (l *live) Go(name string, f func()) { go f() }
func (l *live) NewParker() Parker        { return &liveParker{token: make(chan struct{}, 1)} }

// liveParker sleeps on a channel, but on a futex when the limit is short: Go's timers, when nothing else runs, fire at its next look at the network,
// which counts in milliseconds.
type liveParker struct {
	token chan struct{}
	short atomic.Bool   // Park is at, or about to be at, the futex
	word  atomic.Uint32 // what it sleeps on: 0 until Unpark
}

// shortPark is where timers of Go are exact enough.
const shortPark = 2 * time.Millisecond

func (p *liveParker) Park(d time.Duration) bool {
	switch {
	case d < 0:
		<-p.token
		return true
	case d < shortPark:
		return p.parkShort(d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.token:
		return true
	case <-t.C:
		return false
	}
}

// parkShort may end early: by a signal, or a wake-up that was meant for the Park before. Who looks again and again does not mind.
func (p *liveParker) parkShort(d time.Duration) bool {
	p.word.Store(0)
	p.short.Store(true)
	taken := p.take() // one that came before short was seen
	if !taken {
		const futexWaitPrivate = 128
		t := unix.NsecToTimespec(int64(d))
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&p.word)), futexWaitPrivate, 0, uintptr(unsafe.Pointer(&t)), 0, 0)
		taken = p.take()
	}
	p.short.Store(false)
	return taken
}

func (p *liveParker) take() bool {
	select {
	case <-p.token:
		return true
	default:
		return false
	}
}

func (p *liveParker) Unpark() {
	select {
	case p.token <- struct{}{}:
	default:
	}
	if p.short.Load() && p.word.Swap(1) == 0 {
		const futexWakePrivate = 129
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&p.word)), futexWakePrivate, 1, 0, 0, 0)
	}
}
