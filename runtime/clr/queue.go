package clr

import (
	"sync"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// QueueFlags describe a stream.
type QueueFlags uint32

// Flags.
const (
	// NonBlocking streams are not ordered with the null stream.
	NonBlocking QueueFlags = 1 << iota
)

// HostQueue is a stream: commands that run in order.
type HostQueue struct {
	dev      *Device
	flags    QueueFlags
	null     bool
	Handle   uint64 // the language runtime's for it, for those who look on: hipStream_t, 0 for the null stream
	Priority int    // HIP's: -1 high, 0 normal, 1 low
	CUMask   []uint32

	mu   sync.Mutex
	hw   *hwQueue // guarded by mu; nil before the first command
	own  bool     // hw belongs to this stream alone
	tail tail     // guarded by mu
	gone bool     // guarded by mu

	packet aql.Packet     // of the launch that is made; guarded by mu
	alone  [1]*aql.Packet // likewise

	waiting []*Event // what the next command has to wait for besides the tail; guarded by mu

	work     chan func() // host commands, in order; made on first use
	workOnce sync.Once
}

// tail is the last command of a stream.
type tail struct {
	ev  *Event // its completion, nil for a packet without a signal
	aql bool   // it is a packet of the stream's hardware queue
}

// NewQueue makes a stream.
func (d *Device) NewQueue(f QueueFlags, priority int, cuMask []uint32) (*HostQueue, error) {
	q := &HostQueue{dev: d, flags: f, Priority: priority, CUMask: cuMask}
	d.mu.Lock()
	d.queues[q] = true
	d.mu.Unlock()
	return q, nil
}

// NullQueue returns the device's null stream.
func (d *Device) NullQueue() *HostQueue {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.null == nil {
		d.null = &HostQueue{dev: d, null: true}
	}
	return d.null
}

// Device returns the stream's device.
func (q *HostQueue) Device() *Device { return q.dev }

// Flags returns what the stream was made with.
func (q *HostQueue) Flags() QueueFlags { return q.flags }

// Null reports whether it is the null stream.
func (q *HostQueue) Null() bool { return q.null }

// Destroy ends a stream after its commands have run.
func (q *HostQueue) Destroy() error {
	err := q.Finish()
	q.mu.Lock()
	if q.gone {
		q.mu.Unlock()
		return fail(ErrInvalidHandle, "stream destroyed twice")
	}
	q.gone = true
	hw, own := q.hw, q.own
	q.mu.Unlock()
	d := q.dev
	d.mu.Lock()
	delete(d.queues, q)
	if hw != nil {
		hw.users--
	}
	d.mu.Unlock()
	if own {
		_ = hw.q.Destroy()
		hw.args.free()
	}
	if q.work != nil {
		close(q.work)
	}
	return err
}

// hwLocked returns the hardware queue, and takes one on the first call. q.mu is held.
func (q *HostQueue) hwLocked() (*hwQueue, error) {
	if q.gone {
		return nil, fail(ErrInvalidHandle, "destroyed stream")
	}
	if err := q.dev.Err(); err != nil {
		return nil, err
	}
	if q.hw != nil {
		return q.hw, nil
	}
	var err error
	if q.Priority != 0 || q.CUMask != nil {
		// A queue of its own, because priority and mask are the hardware queue's.
		if q.hw, err = q.dev.newHW(); err != nil {
			return nil, err
		}
		q.own = true
		if q.Priority != 0 {
			p := hsa.PriorityHigh
			if q.Priority > 0 {
				p = hsa.PriorityLow
			}
			if err := q.hw.q.SetPriority(p); err != nil {
				return nil, err
			}
		}
		if q.CUMask != nil {
			if err := q.hw.q.SetCUMask(q.CUMask); err != nil {
				return nil, err
			}
		}
		return q.hw, nil
	}
	q.hw, err = q.dev.acquireHW()
	return q.hw, err
}

// others returns the streams that a command of q is ordered after by the rule of the null stream.
func (q *HostQueue) others() (out []*HostQueue) {
	if q.flags&NonBlocking != 0 {
		return nil
	}
	d := q.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if !q.null {
		if d.null != nil {
			out = append(out, d.null)
		}
		return
	}
	for o := range d.queues {
		if o.flags&NonBlocking == 0 {
			out = append(out, o)
		}
	}
	return
}

// implicit collects what the null stream's rule makes a command wait for. Only streams with pending work count.
func (q *HostQueue) implicit() ([]*Event, error) {
	var evs []*Event
	for _, o := range q.others() {
		e, err := o.Last()
		if err != nil {
			return nil, err
		}
		if e != nil && !e.Done() {
			evs = append(evs, e)
		}
	}
	return evs, nil
}

// Last returns an event for everything that the stream has been given so far; nil if it is idle.
func (q *HostQueue) Last() (*Event, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lastLocked()
}

func (q *HostQueue) lastLocked() (*Event, error) {
	switch {
	case q.tail.ev != nil:
		if q.tail.ev.Done() && len(q.waiting) == 0 {
			if q.tail.ev.err == nil {
				return nil, nil
			}
		}
		if len(q.waiting) == 0 {
			return q.tail.ev, nil
		}
	case !q.tail.aql && len(q.waiting) == 0:
		return nil, nil
	}
	return q.markerLocked()
}

// markerLocked adds a barrier packet with a signal.
func (q *HostQueue) markerLocked() (*Event, error) {
	hw, err := q.hwLocked()
	if err != nil {
		return nil, err
	}
	pkts, e, err := q.waitsLocked(nil)
	if err != nil {
		return nil, err
	}
	if e == nil {
		// Nothing to wait for but the packets in front.
		if e, err = q.dev.newEvent(nil); err != nil {
			return nil, err
		}
		p := barrier(nil, e.sig)
		pkts = append(pkts, &p)
	}
	if _, err := hw.q.Submit(pkts...); err != nil {
		return nil, q.submitError(err)
	}
	q.tail = tail{ev: e, aql: true}
	return e, nil
}

// barrier makes a barrier-AND packet of at most five dependencies.
func barrier(deps []*hsa.Signal, done *hsa.Signal) aql.Packet {
	b := aql.BarrierPacket{Header: aql.MakeHeader(aql.BarrierAnd, true, aql.ScopeSystem, aql.ScopeSystem)}
	for i, d := range deps {
		b.DepSignal[i] = d.Handle()
	}
	if done != nil {
		b.CompletionSignal = done.Handle()
	}
	return aql.Raw(b)
}

// pendingLocked collects what the next command has to wait for besides what its own engine orders: what WaitFor named, extra, and the tail if
// it ran elsewhere. The signals are shared with the device.
func (q *HostQueue) pendingLocked(extra []*Event, tailToo bool) (deps []*Event, sigs []*hsa.Signal) {
	add := func(e *Event) {
		if s := e.share(); s != nil {
			deps, sigs = append(deps, e), append(sigs, s)
		}
	}
	if q.tail.ev != nil && tailToo {
		add(q.tail.ev)
	}
	for _, e := range q.waiting {
		add(e)
	}
	for _, e := range extra {
		add(e)
	}
	q.waiting = nil
	return
}

// waitsLocked makes the barrier packets that a packet of this stream needs in front. If there are any, the last completes an event, which keeps
// the signals that are waited for.
func (q *HostQueue) waitsLocked(extra []*Event) (pkts []*aql.Packet, e *Event, err error) {
	deps, sigs := q.pendingLocked(extra, !q.tail.aql)
	if len(deps) == 0 {
		return nil, nil, nil
	}
	if e, err = q.dev.newEvent(deps); err != nil {
		return nil, nil, err
	}
	for len(sigs) > 0 {
		n := min(len(sigs), 5)
		var done *hsa.Signal
		if n == len(sigs) {
			done = e.sig
		}
		p := barrier(sigs[:n], done)
		pkts = append(pkts, &p)
		sigs = sigs[n:]
	}
	return pkts, e, nil
}

// depsLocked collects what a command on another engine has to wait for.
func (q *HostQueue) depsLocked(extra []*Event) ([]*Event, []*hsa.Signal, error) {
	if q.tail.aql && q.tail.ev == nil {
		if _, err := q.markerLocked(); err != nil {
			return nil, nil, err
		}
	}
	deps, sigs := q.pendingLocked(extra, true)
	return deps, sigs, nil
}

// submitError prefers the reason why the device is lost.
func (q *HostQueue) submitError(err error) error {
	if e := q.dev.Err(); e != nil {
		return e
	}
	return err
}

// Marker adds an event behind everything the stream has been given so far. Its time is when it is reached.
func (q *HostQueue) Marker() (*Event, error) {
	extra, err := q.implicit()
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, extra...)
	return q.markerLocked()
}

// WaitFor makes later commands of the stream wait for an event of any stream.
func (q *HostQueue) WaitFor(e *Event) {
	if e.Done() {
		return
	}
	q.mu.Lock()
	q.waiting = append(q.waiting, e)
	q.mu.Unlock()
}

// Finish waits until everything that the stream has been given so far is done.
func (q *HostQueue) Finish() error {
	e, err := q.Last()
	if err != nil {
		return err
	}
	if e == nil {
		return q.dev.Err()
	}
	return e.Wait()
}

// Settle waits until everything is done that a command given to the stream now would wait for: the stream's own work, and by the rule of the null stream
// that of others.
func (q *HostQueue) Settle() error {
	before, err := q.implicit()
	if err != nil {
		return err
	}
	for _, e := range before {
		if err := e.Wait(); err != nil {
			return err
		}
	}
	return q.Finish()
}

// Idle reports whether a wait by Settle would return at once.
func (q *HostQueue) Idle() (bool, error) {
	before, err := q.implicit()
	if err != nil || len(before) > 0 {
		return false, err
	}
	e, err := q.Last()
	if err != nil {
		return false, err
	}
	return e == nil || e.Done(), q.dev.Err()
}

// Host runs a function on a goroutine after everything the stream has been given, and before everything that follows. f must not
// wait for the stream.
func (q *HostQueue) Host(f func() error) (*Event, error) {
	extra, err := q.implicit()
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, err := q.hwLocked(); err != nil {
		return nil, err
	}
	deps, _, err := q.depsLocked(extra)
	if err != nil {
		return nil, err
	}
	e, err := q.dev.newEvent(nil)
	if err != nil {
		return nil, err
	}
	q.workOnce.Do(func() {
		q.work = make(chan func(), 1024)
		go func() {
			for f := range q.work {
				f()
			}
		}()
	})
	q.tail = tail{ev: e}
	q.work <- func() {
		var err error
		for _, d := range deps {
			if werr := d.Wait(); werr != nil && err == nil {
				err = werr
			}
		}
		if err == nil {
			err = f()
		}
		e.complete(err)
	}
	return e, nil
}
