package hsa

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/runtime/hsakmt"
)

// Signal is a signal whose value the host and devices change.
type Signal struct {
	rec     *aql.Signal // in memory that all agents reach
	addr    uint64      // of rec: hsa_signal_t.handle
	event   *hsakmt.Event
	waiters atomic.Int32
	rt      *Runtime
	shared  *hsakmt.Mem   // memory of its own, for other processes; nil for a record of a slab
	gen     atomic.Uint64 // counts destructions, so that a waiter on a recycled record ends
}

// Forever is a wait without end.
const Forever = hsakmt.Infinite

const signalSlab = 64 << 10

// signalPool recycles records and their events.
type signalPool struct {
	mu    sync.Mutex
	slabs []*hsakmt.Mem // guarded by mu
	free  []uint64      // free records; guarded by mu
	spare []*Signal     // destroyed signals with their event; guarded by mu
	noEvt bool          // the driver has no more events; guarded by mu
	table map[uint64]*Signal
}

func (r *Runtime) newRecord() (uint64, error) {
	p := &r.signals
	if len(p.free) == 0 {
		m, err := r.systemAlloc(signalSlab, hsakmt.Uncached)
		if err != nil {
			return 0, err
		}
		r.kfd.KeepReadable(m)
		p.slabs = append(p.slabs, m)
		for a := m.VA + m.Size; a > m.VA; {
			a -= aql.SignalSize
			p.free = append(p.free, a)
		}
	}
	a := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return a, nil
}

// NewSignal makes a signal with an initial value. It has an interrupt behind it, unless those are switched off or the driver's are used up:
// then waiting is polling.
func (r *Runtime) NewSignal(initial int64) (*Signal, error) {
	const op = "signal_create"
	p := &r.signals
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.spare); n > 0 {
		s := p.spare[n-1]
		p.spare = p.spare[:n-1]
		s.init(initial)
		p.table[s.addr] = s
		return s, nil
	}
	a, err := r.newRecord()
	if err != nil {
		return nil, wrap(op, err)
	}
	s := &Signal{rt: r, addr: a, rec: (*aql.Signal)(hostPointer(a))}
	if r.opts.Interrupts && !p.noEvt {
		s.event, err = r.kfd.CreateEvent(kfd.EventSignal, true)
		if err != nil {
			p.noEvt, s.event = true, nil
		}
	}
	s.init(initial)
	p.table[a] = s
	return s, nil
}

func (s *Signal) init(v int64) {
	*s.rec = aql.Signal{Kind: aql.SignalUser}
	if s.event != nil {
		s.rec.EventMailboxPtr, s.rec.EventID = s.event.Mailbox, s.event.ID
	}
	atomic.StoreInt64(&s.rec.Value, v)
}

// Destroy ends a signal; a waiter returns with the value it sees. No device may still write to it: the record is used again.
func (s *Signal) Destroy() {
	p := &s.rt.signals
	p.mu.Lock()
	if p.table[s.addr] != s {
		p.mu.Unlock()
		return
	}
	delete(p.table, s.addr)
	s.gen.Add(1)
	if s.shared != nil {
		// The page stays readable for whoever still looks at it.
		s.rt.kfd.KeepReadable(s.shared)
		p.mu.Unlock()
		return
	}
	p.spare = append(p.spare, s)
	p.mu.Unlock()
	s.wake()
}

// SignalAt returns the signal with a handle, nil if there is none.
func (r *Runtime) SignalAt(h aql.SignalHandle) *Signal {
	p := &r.signals
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.table[uint64(h)]
}

// Handle returns what packets and hsa_signal_t carry.
func (s *Signal) Handle() aql.SignalHandle { return aql.SignalHandle(s.addr) }

// ValueAddr returns the address of the value.
func (s *Signal) ValueAddr() uint64 { return s.addr + aql.SignalValueOffset }

// Load reads the value with acquire order.
func (s *Signal) Load() int64 { return atomic.LoadInt64(&s.rec.Value) }

// Store sets the value with release order and wakes waiters.
func (s *Signal) Store(v int64) {
	atomic.StoreInt64(&s.rec.Value, v)
	s.wake()
}

// Add adds to the value, and wakes waiters; it returns the new value.
func (s *Signal) Add(d int64) int64 {
	v := atomic.AddInt64(&s.rec.Value, d)
	s.wake()
	return v
}

// Exchange sets the value and returns the old one.
func (s *Signal) Exchange(v int64) int64 {
	o := atomic.SwapInt64(&s.rec.Value, v)
	s.wake()
	return o
}

// CompareAndSwap sets the value to v if it is old, and returns what it was.
func (s *Signal) CompareAndSwap(old, v int64) int64 {
	for {
		cur := atomic.LoadInt64(&s.rec.Value)
		if cur != old {
			return cur
		}
		if atomic.CompareAndSwapInt64(&s.rec.Value, old, v) {
			s.wake()
			return old
		}
	}
}

// And, Or and Xor change bits of the value.
func (s *Signal) And(m int64) { atomic.AndInt64(&s.rec.Value, m); s.wake() }

// Or sets bits of the value.
func (s *Signal) Or(m int64) { atomic.OrInt64(&s.rec.Value, m); s.wake() }

// Xor flips bits of the value.
func (s *Signal) Xor(m int64) {
	for {
		v := atomic.LoadInt64(&s.rec.Value)
		if atomic.CompareAndSwapInt64(&s.rec.Value, v, v^m) {
			break
		}
	}
	s.wake()
}

// Times returns start and end of the operation that completed the signal, in ticks of its agent's counter.
func (s *Signal) Times() (start, end uint64) {
	return atomic.LoadUint64(&s.rec.StartTS), atomic.LoadUint64(&s.rec.EndTS)
}

func (s *Signal) wake() {
	if s.waiters.Load() != 0 && s.event != nil {
		_ = s.rt.kfd.SetEvent(s.event)
	}
}

// spinFor is how long a wait polls before it sleeps: about as long as a short kernel and the way through the driver take. Longer
// would take a CPU from the software GPU.
const spinFor = 20 * time.Microsecond

// Wait waits until "value cond compare" holds, and returns the value that it saw; at the timeout, or when the signal is destroyed, it returns
// the value as it is, which does not fulfil the condition.
func (s *Signal) Wait(cond aql.Condition, compare int64, timeout time.Duration) int64 {
	if v := s.Load(); cond.Holds(v, compare) || timeout == 0 {
		return v
	}
	start := time.Now()
	for time.Since(start) < min(spinFor, timeout) {
		for i := 0; i < 32; i++ {
			if v := s.Load(); cond.Holds(v, compare) {
				return v
			}
		}
		runtime.Gosched()
	}
	gen := s.gen.Load()
	s.waiters.Add(1)
	defer s.waiters.Add(-1)
	// Close waits for those who are inside before the memory goes.
	s.rt.inside.Add(1)
	defer s.rt.inside.Add(-1)
	ages := []uint64{1}
	pause := 20 * time.Microsecond
	v := compare
	for {
		if s.rt.closed.Load() {
			return v
		}
		v = s.Load()
		if cond.Holds(v, compare) || s.gen.Load() != gen {
			return v
		}
		left := Forever
		if timeout != Forever {
			if left = timeout - time.Since(start); left <= 0 {
				return v
			}
		}
		if s.event == nil {
			time.Sleep(min(pause, left))
			pause = min(2*pause, time.Millisecond)
			continue
		}
		if _, err := s.rt.kfd.WaitEvents([]*hsakmt.Event{s.event}, ages, false, left); err != nil && hsakmt.StatusOf(err) != hsakmt.WaitTimeout {
			time.Sleep(min(pause, left)) // the driver cannot wait: poll
		}
	}
}

// WaitAny waits until one of several conditions holds and returns its index and value; -1 at the timeout.
func WaitAny(ss []*Signal, conds []aql.Condition, compares []int64, timeout time.Duration) (int, int64) {
	check := func() (int, int64) {
		for i, s := range ss {
			if v := s.Load(); conds[i].Holds(v, compares[i]) {
				return i, v
			}
		}
		return -1, 0
	}
	if i, v := check(); i >= 0 || len(ss) == 0 || timeout == 0 {
		return i, v
	}
	start := time.Now()
	rt := ss[0].rt
	rt.inside.Add(1)
	defer rt.inside.Add(-1)
	var es []*hsakmt.Event
	polled := false
	for _, s := range ss {
		s.waiters.Add(1)
		defer s.waiters.Add(-1)
		if s.event == nil {
			polled = true
		} else {
			es = append(es, s.event)
		}
	}
	ages := make([]uint64, len(es))
	for i := range ages {
		ages[i] = 1
	}
	for {
		if rt.closed.Load() {
			return -1, 0
		}
		if i, v := check(); i >= 0 {
			return i, v
		}
		left := Forever
		if timeout != Forever {
			if left = timeout - time.Since(start); left <= 0 {
				return -1, 0
			}
		}
		if polled {
			time.Sleep(min(50*time.Microsecond, left))
			continue
		}
		if _, err := rt.kfd.WaitEvents(es, ages, false, left); err != nil && hsakmt.StatusOf(err) != hsakmt.WaitTimeout {
			time.Sleep(min(50*time.Microsecond, left))
		}
	}
}

// OnSignal calls f with the value each time the condition holds, on a goroutine of its own, until f returns false.
func (s *Signal) OnSignal(cond aql.Condition, compare int64, f func(v int64) bool) {
	gen := s.gen.Load()
	go func() {
		for {
			v := s.Wait(cond, compare, Forever)
			if s.gen.Load() != gen || s.rt.closed.Load() {
				return
			}
			if cond.Holds(v, compare) && !f(v) {
				return
			}
		}
	}()
}

var _ [aql.SignalSize - unsafe.Sizeof(aql.Signal{})]byte
