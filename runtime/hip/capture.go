package hip

import (
	"slices"
	"unsafe"
)

// Stream capture. While a stream captures, what is given to it becomes nodes of a graph instead of being done. The stream where the capture began is its origin;
// another stream joins when it is made to wait for an event that was recorded in a capturing stream, and must be joined back the same way before the capture ends.
//
// A call that cannot be captured, made while a capture could be meant by it, fails, and makes the capture invalid: nothing can be added any more, and ending it gives
// no graph. The mode of the capture and that of the calling thread say whose calls are meant: of all threads (global), of the thread that began it (thread-local), or
// none (relaxed).

// Capture modes, and states of a stream.
const (
	captureGlobal = iota
	captureThreadLocal
	captureRelaxed
)

const (
	captureNone = iota
	captureActive
	captureInvalidated
)

// capture is one capture sequence. It is guarded by API.graphMu.
type capture struct {
	id      uint64
	mode    int32
	g       *graph
	own     bool // the graph was made by the capture
	origin  *stream
	thread  uint64
	invalid bool
	streams []*stream
	events  []*event
	nodes   map[*node]bool // captured, and not taken out of a stream's dependencies by the program
	shown   []uintptr      // dependencies as StreamGetCaptureInfo shows them
}

// eventCapture is what an event recorded in a capturing stream stands for.
type eventCapture struct {
	c     *capture
	nodes []*node
}

// capturing reports whether any capture is under way. It is what calls outside of captures pay.
func (a *API) capturing() bool { return a.captures.Load() != 0 }

// streamOf returns the stream of a handle; nil for the null stream and for handles of nothing.
func (a *API) streamOf(t *Thread, s uintptr) *stream {
	if s == StreamPerThread {
		if _, e := a.perThread(t); e != Success {
			return nil
		}
		s = t.Streams[min(t.Device, maxThreadStreams-1)]
	}
	if s == 0 || s == StreamLegacy {
		return nil
	}
	return a.streams.get(s)
}

// captured adds an operation to a capture if the stream is in one, and reports whether that is so.
func (a *API) captured(t *Thread, s uintptr, op func() (nodeOp, Error)) (bool, Error) {
	x := a.streamOf(t, s)
	if x == nil {
		return false, Success
	}
	a.graphMu.Lock()
	c := x.cap
	invalid := c != nil && c.invalid
	a.graphMu.Unlock()
	if c == nil {
		return false, Success
	}
	if invalid {
		return true, ErrStreamCaptureInvalidated
	}
	o, e := op()
	if e != Success {
		return true, e
	}
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	if x.cap != c || c.invalid {
		return true, ErrStreamCaptureInvalidated
	}
	n := a.addLocked(c.g, x.deps, o)
	c.nodes[n] = true
	x.deps = []*node{n}
	return true, Success
}

// capturedOr is captured for a call that has a form which waits; that form is refused during every capture.
func (a *API) capturedOr(t *Thread, s uintptr, async bool, op func() (nodeOp, Error)) (bool, Error) {
	if !async {
		e := a.refuseImplicit()
		return e != Success, e
	}
	return a.captured(t, s, op)
}

// opOf keeps a nil pointer from becoming a nodeOp.
func opOf[T nodeOp](op T, e Error) (nodeOp, Error) {
	if e != Success {
		return nil, e
	}
	return op, Success
}

// invalidateLocked makes captures invalid that a test picks, and reports whether there was one.
func (a *API) invalidateLocked(which func(c *capture) bool) (found bool) {
	for c := range a.captureSet {
		if which(c) {
			c.invalid, found = true, true
		}
	}
	return
}

// meant reports whether a call of a thread that cannot be captured counts against a capture.
func (t *Thread) meant(c *capture) bool {
	if c.mode == captureRelaxed || t.CaptureMode == captureRelaxed {
		return false
	}
	return c.thread == t.ID || c.mode == captureGlobal && t.CaptureMode == captureGlobal
}

// refuseUnsafe is for calls that may have side effects on other streams, such as allocating: they are refused while a capture is meant by them.
func (a *API) refuseUnsafe(t *Thread) Error {
	if !a.capturing() {
		return Success
	}
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	if a.invalidateLocked(t.meant) {
		return ErrStreamCaptureUnsupported
	}
	return Success
}

// refuseImplicit is for calls that use the null stream and wait: they are refused during every capture.
func (a *API) refuseImplicit() Error { return a.refuseAll(ErrStreamCaptureImplicit) }

// refuseAll refuses a call during every capture.
func (a *API) refuseAll(with Error) Error {
	if !a.capturing() {
		return Success
	}
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	if a.invalidateLocked(func(*capture) bool { return true }) {
		return with
	}
	return Success
}

// refuseWait is for waiting for a stream, or asking whether it is done: not for one that captures, nor, for another, while a capture is meant.
func (a *API) refuseWait(t *Thread, s uintptr) Error {
	if !a.capturing() {
		return Success
	}
	x := a.streamOf(t, s)
	if x == nil {
		return Success
	}
	a.graphMu.Lock()
	if c := x.cap; c != nil {
		c.invalid = true
		a.graphMu.Unlock()
		return ErrStreamCaptureUnsupported
	}
	a.graphMu.Unlock()
	return a.refuseUnsafe(t)
}

// refuseEvent is for waiting for an event, or asking for it, that was recorded in a capturing stream.
func (a *API) refuseEvent(x *event) Error {
	if !a.capturing() {
		return Success
	}
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	if x.cap != nil {
		x.cap.c.invalid = true
		return ErrCapturedEvent
	}
	return Success
}

// ThreadExchangeCaptureMode swaps the thread's mode with *mode.
func (a *API) ThreadExchangeCaptureMode(t *Thread, mode *int32) Error {
	if mode == nil || *mode < captureGlobal || *mode > captureRelaxed {
		return ErrInvalidValue
	}
	t.CaptureMode, *mode = *mode, t.CaptureMode
	return Success
}

// StreamBeginCapture begins a capture: into a new graph, or, if gh is not 0, into a graph of the program behind deps.
func (a *API) StreamBeginCapture(t *Thread, s uintptr, mode int32, gh uintptr, deps []uintptr) Error {
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	if q.Null() {
		return ErrStreamCaptureUnsupported
	}
	if mode < captureGlobal || mode > captureRelaxed {
		return ErrInvalidValue
	}
	x := a.streamOf(t, s)
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	if x.cap != nil {
		return ErrIllegalState
	}
	a.captureID++
	c := &capture{id: a.captureID, mode: mode, origin: x, thread: a.threadID(t), streams: []*stream{x}, nodes: map[*node]bool{}}
	var from []*node
	if gh != 0 {
		if c.g = a.graphs.get(gh); c.g == nil {
			return ErrInvalidValue
		}
		for _, h := range deps {
			n := a.nodes.get(h)
			if n == nil || n.g != c.g || slices.Contains(from, n) {
				return ErrInvalidValue
			}
			from = append(from, n)
		}
	} else {
		c.g, c.own = a.newGraph(int32(q.Device().Index)), true
	}
	c.g.captures++
	x.cap, x.deps = c, from
	a.captureSet[c] = true
	a.captures.Add(1)
	return Success
}

// threadID numbers threads that capture.
func (a *API) threadID(t *Thread) uint64 {
	if t.ID == 0 {
		t.ID = a.threads.Add(1)
	}
	return t.ID
}

// endLocked takes a capture's streams and events out of it.
func (a *API) endLocked(c *capture) {
	for _, x := range c.streams {
		if x.cap == c {
			x.cap, x.deps = nil, nil
		}
	}
	for _, ev := range c.events {
		if ev.cap != nil && ev.cap.c == c {
			ev.cap = nil
		}
	}
	c.g.captures--
	for _, n := range c.g.nodes {
		n.manual = n.manual && c.g.captures > 0
	}
	delete(a.captureSet, c)
	a.captures.Add(-1)
}

// StreamEndCapture ends a capture, and returns its graph. It must be called for the origin, and, unless the capture is relaxed, by the thread that began it.
func (a *API) StreamEndCapture(t *Thread, s uintptr, out *uintptr) Error {
	if out == nil {
		return ErrInvalidValue
	}
	if s == 0 || s == StreamLegacy {
		*out = 0
		return ErrIllegalState
	}
	if _, e := a.queue(t, s); e != Success {
		return e
	}
	x := a.streamOf(t, s)
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	c := x.cap
	switch {
	case c == nil:
		return ErrIllegalState
	case c.origin != x:
		return ErrStreamCaptureUnmatched
	case c.mode != captureRelaxed && c.thread != t.ID:
		return ErrStreamCaptureWrongThread
	}
	deps := x.deps
	a.endLocked(c)
	e := Success
	if c.invalid {
		e = ErrStreamCaptureInvalidated
	} else {
		for n := range c.nodes {
			if len(n.outs) == 0 && !slices.Contains(deps, n) {
				e = ErrStreamCaptureUnjoined
			}
		}
	}
	*out = 0
	if e != Success {
		if c.own {
			a.dropGraphLocked(c.g)
		}
		return e
	}
	*out = c.g.handle
	return Success
}

// forgetStream ends the capture that a stream is in, because the stream is being destroyed.
func (a *API) forgetStream(x *stream) {
	if !a.capturing() {
		return
	}
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	c := x.cap
	switch {
	case c == nil:
	case c.origin == x:
		a.endLocked(c)
		if c.own {
			a.dropGraphLocked(c.g)
		}
	default:
		c.invalid = true
		x.cap, x.deps = nil, nil
	}
}

// captureRecord records an event in a capture if the stream is in one: the event then stands for the stream's last nodes. It reports whether that is so.
func (a *API) captureRecord(t *Thread, ev *event, s uintptr) (bool, Error) {
	x := a.streamOf(t, s)
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	if x == nil || x.cap == nil {
		ev.cap = nil
		return false, Success
	}
	c := x.cap
	if c.invalid {
		return true, ErrStreamCaptureInvalidated
	}
	ev.cap = &eventCapture{c, slices.Clone(x.deps)}
	c.events = append(c.events, ev)
	return true, Success
}

// captureWait makes a stream wait for an event if one of them is in a capture, and reports whether that is so.
func (a *API) captureWait(t *Thread, s uintptr, ev *event) (bool, Error) {
	x := a.streamOf(t, s)
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	switch {
	case x == nil && ev.cap != nil:
		ev.cap.c.invalid = true
		return true, ErrStreamCaptureImplicit
	case x == nil:
		return false, Success
	case x.cap == nil && ev.cap == nil:
		return false, Success
	case x.cap != nil && x.cap.invalid || ev.cap != nil && ev.cap.c.invalid:
		return true, ErrStreamCaptureInvalidated
	case ev.cap == nil:
		x.cap.invalid = true
		return true, ErrStreamCaptureIsolation
	case x.cap == nil:
		c := ev.cap.c
		x.cap, x.deps = c, slices.Clone(ev.cap.nodes)
		c.streams = append(c.streams, x)
		return true, Success
	case x.cap != ev.cap.c:
		x.cap.invalid, ev.cap.c.invalid = true, true
		return true, ErrStreamCaptureMerge
	}
	for _, n := range ev.cap.nodes {
		if !slices.Contains(x.deps, n) {
			x.deps = append(x.deps, n)
		}
	}
	return true, Success
}

// StreamGetCaptureInfo describes the capture that a stream is in; every result but the state may be nil. deps gets the address of a list of the nodes that the next
// one will depend on, valid until the stream's next call.
func (a *API) StreamGetCaptureInfo(t *Thread, s uintptr, status *int32, id *uint64, g, deps *uintptr, count *uint64) Error {
	if status == nil {
		return ErrInvalidValue
	}
	if _, e := a.queue(t, s); e != Success {
		return e
	}
	*status = captureNone
	x := a.streamOf(t, s)
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	if x == nil {
		// A capture of a stream that is ordered with the null stream makes the question unanswerable.
		if a.captures.Load() != 0 {
			for c := range a.captureSet {
				if c.mode != captureRelaxed && c.origin.flags&streamNonBlocking == 0 {
					return ErrStreamCaptureImplicit
				}
			}
		}
		return Success
	}
	c := x.cap
	if c == nil {
		return Success
	}
	if c.invalid {
		*status = captureInvalidated
		return Success
	}
	*status = captureActive
	if id != nil {
		*id = c.id
	}
	if g != nil {
		*g = c.g.handle
	}
	if count != nil {
		*count = uint64(len(x.deps))
	}
	if deps != nil {
		*deps = 0
		c.shown = make([]uintptr, 0, len(x.deps)+1)
		for _, n := range x.deps {
			c.shown = append(c.shown, n.handle)
		}
		if len(c.shown) > 0 {
			*deps = uintptr(unsafe.Pointer(&c.shown[0])) // heap memory that the capture refers to
		}
	}
	return Success
}

// StreamIsCapturing tells whether a stream captures.
func (a *API) StreamIsCapturing(t *Thread, s uintptr, out *int32) Error {
	return a.StreamGetCaptureInfo(t, s, out, nil, nil, nil, nil)
}

// StreamUpdateCaptureDependencies adds to the nodes that the stream's next node will depend on (flags 0), or replaces them (1).
func (a *API) StreamUpdateCaptureDependencies(t *Thread, s uintptr, deps []uintptr, flags uint32) Error {
	const add, set = 0, 1
	if flags != add && flags != set {
		return ErrInvalidValue
	}
	if _, e := a.queue(t, s); e != Success {
		return e
	}
	x := a.streamOf(t, s)
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	if x == nil || x.cap == nil {
		return ErrIllegalState
	}
	if x.cap.invalid {
		return ErrStreamCaptureInvalidated
	}
	var list []*node
	if flags == add {
		list = slices.Clone(x.deps)
	}
	for _, h := range deps {
		n := a.nodes.get(h)
		if n == nil || n.g != x.cap.g {
			return ErrInvalidValue
		}
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	for _, n := range x.deps {
		if !slices.Contains(list, n) {
			delete(x.cap.nodes, n) // the program knows what it does: not joining it is no mistake
		}
	}
	x.deps = list
	return Success
}
