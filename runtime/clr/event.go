package clr

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// Event is the completion of a command. It is made with the command and shared by all who wait for it.
//
// Its signal goes back to the pool as soon as the command has ended, unless a device was told to wait for it: then the
// signal stays until nothing refers to the event, because the device may look at it late.
type Event struct {
	dev     *Device
	sig     *hsa.Signal // above 0 while pending
	cleanup runtime.Cleanup
	done    atomic.Bool

	mu     sync.Mutex
	shared bool   // a device waits for sig; guarded by mu
	err    error  // guarded by mu until done
	start  uint64 // ticks; guarded by mu until done
	end    uint64
}

// holder keeps what a pending command needs: its signal, and the events that a device waits for on its behalf.
type holder struct {
	sig  *hsa.Signal
	deps []*Event
}

// newEvent makes the event of a command that a device will run after deps.
func (d *Device) newEvent(deps []*Event) (*Event, error) {
	s, err := d.rt.HSA.NewSignal(1)
	if err != nil {
		return nil, err
	}
	e := &Event{dev: d, sig: s}
	e.cleanup = runtime.AddCleanup(e, func(h holder) { go h.reclaim() }, holder{s, deps})
	return e, nil
}

// reclaim gives back the signal of an event that nobody holds, when its command has ended.
func (h holder) reclaim() {
	for i := 0; h.sig.Load() > 0 && i < 1000; i++ {
		h.sig.Wait(aql.CondLT, 1, 100*time.Millisecond)
	}
	h.sig.Destroy()
	runtime.KeepAlive(h.deps)
}

// Done reports whether the command has ended.
func (e *Event) Done() bool {
	if e.done.Load() {
		return true
	}
	if e.sig.Load() > 0 {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settleLocked()
	return true
}

// settleLocked reads the result of a command that has ended.
func (e *Event) settleLocked() {
	if e.done.Load() {
		return
	}
	e.start, e.end = e.sig.Times()
	e.done.Store(true)
	if !e.shared {
		e.cleanup.Stop()
		e.sig.Destroy()
	}
}

// share returns the signal for a device to wait for; nil if the command has ended.
func (e *Event) share() *hsa.Signal {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.done.Load() && e.sig.Load() <= 0 {
		e.settleLocked()
	}
	if e.done.Load() {
		return nil
	}
	e.shared = true
	return e.sig
}

// Wait waits for the command. A device that is lost ends the wait with its error.
func (e *Event) Wait() error {
	for !e.Done() {
		e.sig.Wait(aql.CondLT, 1, 20*time.Millisecond)
		if e.Done() {
			break
		}
		if err := e.dev.Err(); err != nil {
			return err
		}
	}
	return e.err
}

// complete ends a command that the CPU did. err is what waiters get.
func (e *Event) complete(err error) {
	e.mu.Lock()
	e.err = err
	e.mu.Unlock()
	e.sig.Store(0)
}

// Ticks returns start and end of the command in ticks of the device's counter; zero while it runs.
func (e *Event) Ticks() (start, end uint64) {
	if !e.Done() {
		return 0, 0
	}
	return e.start, e.end
}

// Device returns the device whose command it is.
func (e *Event) Device() *Device { return e.dev }
