package silicon

import "time"

// live is the Sched of a running process.
type live struct{ start time.Time }

// Live returns the Sched of goroutines and the monotonic clock.
func Live() Sched { return &live{start: time.Now()} }

func (l *live) Now() time.Duration       { return time.Since(l.start) }
func (l *live) Go(name string, f func()) { go f() }
func (l *live) NewParker() Parker        { return liveParker(make(chan struct{}, 1)) }

type liveParker chan struct{}

func (p liveParker) Park(d time.Duration) bool {
	if d < 0 {
		<-p
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p:
		return true
	case <-t.C:
		return false
	}
}

func (p liveParker) Unpark() {
	select {
	case p <- struct{}{}:
	default:
	}
}
