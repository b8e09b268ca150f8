package hip

import (
	"slices"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Special stream handles.
const (
	StreamLegacy    uintptr = 1
	StreamPerThread uintptr = 2
)

// stream is a hipStream_t.
type stream struct {
	q     *clr.HostQueue
	flags uint32
	attrs map[int32]streamAttr // what was set; guarded by API.mu

	cap  *capture // that the stream is in; guarded by API.graphMu
	deps []*node  // of the next node that is captured; guarded by API.graphMu
}

// Flags.
const (
	streamNonBlocking  = 1
	eventDisableTiming = 2
	eventInterprocess  = 4
)

// queue returns the stream of a handle, for the thread.
func (a *API) queue(t *Thread, s uintptr) (*clr.HostQueue, Error) {
	switch s {
	case 0, StreamLegacy:
		d, e := a.device(t)
		if e != Success {
			return nil, e
		}
		return d.NullQueue(), Success
	case StreamPerThread:
		return a.perThread(t)
	}
	x := a.streams.get(s)
	if x == nil {
		if len(a.devices()) == 0 {
			return nil, a.noDevice()
		}
		if a.Face <= 6 {
			return nil, ErrContextIsDestroyed
		}
		return nil, ErrInvalidHandle
	}
	return x.q, Success
}

// perThread returns the per-thread default stream, which is made on first use for the thread's current device.
func (a *API) perThread(t *Thread) (*clr.HostQueue, Error) {
	d, e := a.device(t)
	if e != Success {
		return nil, e
	}
	if t.Device >= maxThreadStreams {
		return nil, ErrNotSupported
	}
	own := &t.Streams[t.Device]
	if x := a.streams.get(*own); x != nil {
		return x.q, Success
	}
	q, err := d.NewQueue(0, 0, nil)
	if err != nil {
		return nil, a.fromErr(err)
	}
	*own = a.streams.add(&stream{q: q})
	q.Handle = uint64(*own)
	return q, Success
}

// ThreadEnd is to be called when a thread of the program ends: its per-thread default streams go when their work is done.
func (a *API) ThreadEnd(t *Thread) {
	for i, h := range t.Streams {
		if x := a.streams.remove(h); x != nil {
			a.forgetStream(x)
			_ = x.q.Destroy()
		}
		t.Streams[i] = 0
	}
}

// StreamCreate makes a stream; mask restricts it to compute units. A mask without any unit is none.
func (a *API) StreamCreate(t *Thread, out *uintptr, flags uint32, priority int32, mask []uint32) Error {
	if out == nil || flags&^uint32(streamNonBlocking) != 0 {
		return ErrInvalidValue
	}
	d, e := a.device(t)
	if e != Success {
		return e
	}
	var f clr.QueueFlags
	if flags&streamNonBlocking != 0 {
		f = clr.NonBlocking
	}
	if !slices.ContainsFunc(mask, func(w uint32) bool { return w != 0 }) {
		mask = nil
	}
	q, err := d.NewQueue(f, int(min(max(priority, -1), 1)), mask)
	if err != nil {
		return a.fromErr(err)
	}
	*out = a.streams.add(&stream{q: q, flags: flags})
	q.Handle = uint64(*out)
	return Success
}

// StreamDestroy ends a stream when its work is done.
func (a *API) StreamDestroy(t *Thread, s uintptr) Error {
	if s == 0 || s == StreamLegacy || s == StreamPerThread {
		return ErrInvalidHandle
	}
	x := a.streams.remove(s)
	if x == nil {
		return ErrContextIsDestroyed
	}
	a.forgetStream(x)
	return a.fromErr(x.q.Destroy())
}

// StreamSynchronize waits for a stream, and for what the null stream's rule puts before it.
func (a *API) StreamSynchronize(t *Thread, s uintptr) Error {
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	if e := a.refuseWait(t, s); e != Success {
		return e
	}
	defer a.trimPools()
	return a.fromErr(q.Settle())
}

// StreamQuery reports whether a stream is idle: hipErrorNotReady if not.
func (a *API) StreamQuery(t *Thread, s uintptr) Error {
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	if e := a.refuseWait(t, s); e != Success {
		return e
	}
	idle, err := q.Idle()
	switch {
	case err != nil:
		return a.fromErr(err)
	case !idle:
		return ErrNotReady
	}
	return Success
}

// StreamWaitEvent makes later work of a stream wait for an event.
func (a *API) StreamWaitEvent(t *Thread, s, ev uintptr, flags uint32) Error {
	if flags != 0 {
		return ErrInvalidValue
	}
	if ev == 0 {
		return ErrInvalidHandle
	}
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	x := a.events.get(ev)
	if x == nil {
		return ErrInvalidHandle
	}
	if a.capturing() {
		if done, e := a.captureWait(t, s, x); done {
			return e
		}
	}
	if x.ipc != nil {
		_, err := q.Host(func() error { x.ipc.wait(); return nil })
		return a.fromErr(err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ev != nil {
		q.WaitFor(x.ev)
	}
	return Success
}

// StreamGetFlags returns the flags of a stream.
func (a *API) StreamGetFlags(t *Thread, s uintptr, out *uint32) Error {
	if out == nil || s == 0 { // the null stream by that name has none to give
		return ErrInvalidValue
	}
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	*out = 0
	if q.Flags()&clr.NonBlocking != 0 {
		*out = streamNonBlocking
	}
	return Success
}

// StreamGetPriority returns the priority of a stream.
func (a *API) StreamGetPriority(t *Thread, s uintptr, out *int32) Error {
	if out == nil {
		return ErrInvalidValue
	}
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	*out = int32(q.Priority)
	return Success
}

// StreamGetDevice returns the device of a stream.
func (a *API) StreamGetDevice(t *Thread, s uintptr, out *int32) Error {
	if out == nil {
		return ErrInvalidValue
	}
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	*out = int32(q.Device().Index)
	return Success
}

// StreamDeviceID is hipGetStreamDeviceId: -1 for a bad handle.
func (a *API) StreamDeviceID(t *Thread, s uintptr) int32 {
	q, e := a.queue(t, s)
	if e != Success {
		return -1
	}
	return int32(q.Device().Index)
}

// StreamGetCUMask writes the mask of a stream, all ones where none was set.
func (a *API) StreamGetCUMask(t *Thread, s uintptr, out []uint32) Error {
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	if len(out) == 0 {
		return ErrInvalidValue
	}
	clear(out)
	if q.CUMask != nil {
		copy(out, q.CUMask)
		return Success
	}
	for i := uint32(0); i < q.Device().Agent.ComputeUnits && i/32 < uint32(len(out)); i++ {
		out[i/32] |= 1 << (i % 32)
	}
	return Success
}

// HostFunc runs f in stream order on another thread.
func (a *API) HostFunc(t *Thread, s uintptr, f func()) Error {
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	if a.capturing() {
		if done, e := a.captured(t, s, func() (nodeOp, Error) { return nil, ErrStreamCaptureUnsupported }); done {
			return e
		}
	}
	_, err := q.Host(func() error { f(); return nil })
	return a.fromErr(err)
}

// LaunchHostFunc runs a function of the program in stream order on another thread, or makes a node of it.
func (a *API) LaunchHostFunc(t *Thread, s, fn, data uintptr) Error {
	if fn == 0 {
		return ErrInvalidValue
	}
	if a.capturing() {
		if done, e := a.captured(t, s, func() (nodeOp, Error) { return &hostOp{HostNodeParams{fn, data}}, Success }); done {
			return e
		}
	}
	return a.HostFunc(t, s, func() { CallHost(fn, data) })
}

// StreamID returns a number that no other stream of the process has.
func (a *API) StreamID(t *Thread, s uintptr, out *uint64) Error {
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	if out == nil {
		return ErrInvalidValue
	}
	if q.Null() {
		*out = uint64(q.Device().Index) + 1 // handles begin far above
		return Success
	}
	if s == StreamPerThread {
		s = t.Streams[min(t.Device, maxThreadStreams-1)]
	}
	*out = uint64(s)
	return Success
}
