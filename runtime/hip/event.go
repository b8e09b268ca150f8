package hip

import (
	"sync"
	"time"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// event is a hipEvent_t.
type event struct {
	flags uint32
	dev   int32

	mu  sync.Mutex
	ev  *clr.Event // of the last record; nil before; guarded by mu
	rec bool       // recorded; guarded by mu

	ipc *ipcEvent     // of an event of several processes
	cap *eventCapture // of the last record, in a capture that is under way; guarded by API.graphMu
}

// set makes the event stand for a point in a stream.
func (x *event) set(m *clr.Event) {
	x.mu.Lock()
	x.ev, x.rec = m, true
	x.mu.Unlock()
}

// EventCreate makes an event.
func (a *API) EventCreate(t *Thread, out *uintptr, flags uint32) Error {
	const blocking, interprocess, toDevice, toSystem, disableFence = 1, 4, 0x40000000, 0x80000000, 0x20000000
	if out == nil || flags&^uint32(blocking|eventDisableTiming|interprocess|toDevice|toSystem|disableFence) != 0 {
		return ErrInvalidValue
	}
	if flags&interprocess != 0 && flags&eventDisableTiming == 0 {
		return ErrInvalidValue
	}
	if flags&(toDevice|toSystem) == toDevice|toSystem {
		return ErrInvalidValue
	}
	if _, e := a.device(t); e != Success {
		return e
	}
	x := &event{flags: flags, dev: t.Device}
	if flags&interprocess != 0 {
		var err error
		if x.ipc, err = newIPC(); err != nil {
			return ErrOperatingSystem
		}
	}
	*out = a.events.add(x)
	return Success
}

// EventDestroy ends an event; work that waits for it still does.
func (a *API) EventDestroy(ev uintptr) Error {
	switch {
	case ev == 0:
		return ErrInvalidHandle
	case a.events.remove(ev) != nil:
		return Success
	case a.Face <= 6:
		return ErrContextIsDestroyed
	}
	return ErrInvalidHandle
}

// EventRecord puts an event behind the work of a stream.
func (a *API) EventRecord(t *Thread, ev, s uintptr) Error {
	x := a.events.get(ev)
	if x == nil {
		return ErrInvalidHandle
	}
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	if a.capturing() {
		if done, e := a.captureRecord(t, x, s); done {
			return e
		}
	}
	if q.Device().Index != int(x.dev) {
		return ErrInvalidHandle
	}
	if x.ipc != nil {
		return a.fromErr(x.ipc.record(q))
	}
	m, err := q.Marker()
	if err != nil {
		return a.fromErr(err)
	}
	x.set(m)
	return Success
}

func (x *event) last() (*clr.Event, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ev, x.rec
}

// EventSynchronize waits for an event; one that was never recorded is done.
func (a *API) EventSynchronize(ev uintptr) Error {
	x := a.events.get(ev)
	if x == nil {
		return ErrInvalidHandle
	}
	if e := a.refuseEvent(x); e != Success {
		return e
	}
	if x.ipc != nil {
		x.ipc.wait()
		return Success
	}
	if e, _ := x.last(); e != nil {
		defer a.trimPools()
		return a.fromErr(e.Wait())
	}
	return Success
}

// EventQuery reports whether an event has been reached.
func (a *API) EventQuery(ev uintptr) Error {
	x := a.events.get(ev)
	if x == nil {
		return ErrInvalidHandle
	}
	if e := a.refuseEvent(x); e != Success {
		return e
	}
	if x.ipc != nil {
		if !x.ipc.reached(x.ipc.page.recorded.Load()) {
			return ErrNotReady
		}
		return Success
	}
	if e, _ := x.last(); e != nil && !e.Done() {
		if err := e.Device().Err(); err != nil {
			return a.fromErr(err)
		}
		return ErrNotReady
	}
	return Success
}

// EventElapsed returns the milliseconds between two events of one device.
func (a *API) EventElapsed(out *float32, start, stop uintptr) Error {
	if out == nil {
		return ErrInvalidValue
	}
	x, y := a.events.get(start), a.events.get(stop)
	if x == nil || y == nil {
		return ErrInvalidHandle
	}
	if (x.flags|y.flags)&eventDisableTiming != 0 {
		return ErrInvalidHandle
	}
	if x.dev != y.dev {
		return ErrInvalidHandle
	}
	e1, r1 := x.last()
	e2, r2 := y.last()
	if !r1 || !r2 {
		return ErrInvalidHandle
	}
	if !e1.Done() || !e2.Done() {
		return ErrNotReady
	}
	_, t1 := e1.Ticks()
	_, t2 := e2.Ticks()
	d := e1.Device().Agent
	if t2 >= t1 {
		*out = float32(d.Duration(t2-t1)) / float32(time.Millisecond)
	} else {
		*out = -float32(d.Duration(t1-t2)) / float32(time.Millisecond)
	}
	return Success
}

// EventRecordWithFlags records an event; with flag 1, external, a record in a capturing stream becomes a node that records the event when the graph runs.
func (a *API) EventRecordWithFlags(t *Thread, ev, s uintptr, flags uint32) Error {
	const external = 1
	if flags&^external != 0 {
		return ErrInvalidValue
	}
	if flags == external && a.capturing() {
		x := a.events.get(ev)
		if x == nil {
			return ErrInvalidHandle
		}
		if done, e := a.captured(t, s, func() (nodeOp, Error) { return &eventRecordOp{ev, x}, Success }); done {
			return e
		}
	}
	return a.EventRecord(t, ev, s)
}
