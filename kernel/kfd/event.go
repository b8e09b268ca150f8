package kfd

import (
	"math/bits"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"golang.org/x/sys/unix"
)

// eventState is a process's events. Guarded by process.evMu.
type eventState struct {
	events map[uint32]*event
	page   []uint64   // slots of the event page, mapped into the process; nil before there is one
	pageBO *amdgpu.BO // the driver's own, when user space did not bring one
	limit  uint32     // slots in use: all, or as many as an old user space has mapped
	next   uint32     // where the search for a free slot starts
	other  uint32     // next id of events without a slot
	closed bool
	free   [kfd.SignalEventLimit / 64]uint64 // bit set: free
}

// event is a kfd_event.
type event struct {
	id        uint32
	kind      uint32
	autoReset bool
	signaled  bool
	age       uint64 // counts signals, from 1
	mem       kfd.MemoryExceptionData
	hw        kfd.HWExceptionData
	waiters   []*waiter
}

// waiter is one event of one WAIT_EVENTS call.
type waiter struct {
	ev       *event
	wait     *waitCall
	ready    bool
	consumed bool // it took the signal of an auto-reset event
	gone     bool // the event was destroyed
	check    bool // compare ages
	lastAge  uint64
	// Exception data as they were when the event fired.
	mem kfd.MemoryExceptionData
	hw  kfd.HWExceptionData
}

// waitCall is one WAIT_EVENTS call.
type waitCall struct {
	p     *process
	args  *kfd.WaitEventsArgs
	queue sched.WaitQueue
	ws    []waiter
	raw   []byte // the array of kfd_event_data
}

// data is the kfd_event_data of an event.
func (c *waitCall) data(i int) *kfd.EventData {
	return (*kfd.EventData)(unsafe.Pointer(&c.raw[i*kfd.SizeofEventData]))
}

func (s *eventState) init() {
	s.events = map[uint32]*event{}
	s.limit, s.next, s.other = kfd.SignalEventLimit, 1, kfd.SignalEventLimit
	for i := range s.free {
		s.free[i] = ^uint64(0)
	}
	s.free[0] &^= 1 // id 0 means "no event"
}

// close wakes all waiters: the process ends. The caller frees the buffer that is returned.
func (s *eventState) close() (page *amdgpu.BO) {
	s.closed = true
	for _, e := range s.events {
		e.destroy()
	}
	s.events = map[uint32]*event{}
	page, s.pageBO, s.page = s.pageBO, nil, nil
	return page
}

// slot takes the next free slot at or after the last one given; 0 when there is none.
func (s *eventState) slot() uint32 {
	for i := range uint32(len(s.free) + 1) {
		w := (s.next/64 + i) % uint32(len(s.free))
		m := s.free[w]
		if i == 0 {
			m &^= 1<<(s.next%64) - 1
		}
		if m == 0 {
			continue
		}
		id := w*64 + uint32(bits.TrailingZeros64(m))
		if id >= s.limit {
			continue
		}
		s.free[w] &^= 1 << (id % 64)
		s.next = (id + 1) % kfd.SignalEventLimit
		return id
	}
	return 0
}

// setPage makes a buffer of user space the event page.
func (p *process) setPage(handle uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := p.buffer(handle)
	if err != nil {
		return unix.EINVAL
	}
	host, n := b.bo.Host(0)
	if b.bo.Domain != amdgpu.GTT || n < kfd.EventPageSize {
		return unix.EINVAL
	}
	p.evMu.Lock()
	defer p.evMu.Unlock()
	if p.ev.page != nil {
		return unix.EBUSY
	}
	p.ev.usePage(host, kfd.SignalEventLimit)
	b.events = true
	return nil
}

// ownPage makes an event page when user space has brought none before its first signal event.
func (p *process) ownPage() error {
	p.evMu.Lock()
	there := p.ev.page != nil
	p.evMu.Unlock()
	if there {
		return nil
	}
	bo, err := p.pdds[0].node.dev.NewBO(amdgpu.GTT, kfd.EventPageSize)
	if err != nil {
		return unix.ENOMEM
	}
	host, _ := bo.Host(0)
	p.evMu.Lock()
	if p.ev.page == nil && !p.ev.closed {
		p.ev.usePage(host, kfd.SignalEventLimit)
		p.ev.pageBO, bo = bo, nil
	}
	p.evMu.Unlock()
	if bo != nil {
		bo.Put() // another call was faster
	}
	return nil
}

func (s *eventState) usePage(host unsafe.Pointer, slots int) {
	s.page = unsafe.Slice((*uint64)(host), slots)
	for i := range s.page {
		atomic.StoreUint64(&s.page[i], kfd.UnsignaledSlot)
	}
}

// mmapEvents maps the driver's own event page: only user space of an APU, or one that brought none, asks.
func (p *process) mmapEvents(n uint64) ([]amdgpu.Segment, error) {
	p.evMu.Lock()
	defer p.evMu.Unlock()
	if p.ev.pageBO == nil || n == 0 || n > kfd.EventPageSize {
		return nil, unix.EINVAL
	}
	if n/8 < kfd.SignalEventLimit {
		p.ev.limit = min(p.ev.limit, uint32(n/8))
	}
	return p.ev.pageBO.Segments(0, n)
}

// createEvent is CREATE_EVENT.
func (p *process) createEvent(a *kfd.CreateEventArgs) error {
	if a.EventPageOffset != 0 && a.EventPageOffset>>62 != uint64(kfd.MmapEvents) {
		// A buffer handle: only the first call brings one.
		if err := p.setPage(a.EventPageOffset); err != nil {
			return err
		}
	}
	if a.EventType == kfd.EventSignal || a.EventType == kfd.EventDebug {
		if err := p.ownPage(); err != nil {
			return err
		}
	}
	p.evMu.Lock()
	defer p.evMu.Unlock()
	s := &p.ev
	if s.closed {
		return unix.EBADF
	}
	e := &event{kind: a.EventType, autoReset: a.AutoReset != 0, age: 1}
	switch a.EventType {
	case kfd.EventSignal, kfd.EventDebug:
		if e.id = s.slot(); e.id == 0 {
			return unix.ENOSPC
		}
		a.EventSlotIndex = e.id
		a.EventPageOffset = uint64(kfd.MmapEvents) << 62
		atomic.StoreUint64(&s.page[e.id], kfd.UnsignaledSlot)
	default:
		if a.EventType > kfd.EventMemory {
			return unix.EINVAL
		}
		for s.events[s.other] != nil {
			s.other++
		}
		e.id = s.other
		s.other++
		if s.other == 0 {
			s.other = kfd.SignalEventLimit
		}
		a.EventPageOffset = 0
	}
	s.events[e.id] = e
	a.EventID, a.EventTriggerData = e.id, e.id
	return nil
}

// destroy wakes the waiters with failure.
func (e *event) destroy() {
	for _, w := range e.waiters {
		w.gone, w.ev = true, nil
		w.wait.queue.Wake()
	}
	e.waiters = nil
}

// destroyEvent is DESTROY_EVENT.
func (p *process) destroyEvent(a *kfd.EventIDArgs) error {
	p.evMu.Lock()
	defer p.evMu.Unlock()
	e := p.ev.events[a.EventID]
	if e == nil {
		return unix.EINVAL
	}
	e.destroy()
	if e.kind == kfd.EventSignal || e.kind == kfd.EventDebug {
		atomic.StoreUint64(&p.ev.page[e.id], kfd.UnsignaledSlot)
		p.ev.free[e.id/64] |= 1 << (e.id % 64)
	}
	delete(p.ev.events, e.id)
	return nil
}

// signal is set_event: called with evMu held.
func (e *event) signal() {
	e.age++
	if e.age == 0 {
		e.age = 2 // 0 means that ages are not compared
	}
	// An auto-reset event that somebody waits for is used up by that.
	e.signaled = !e.autoReset || len(e.waiters) == 0
	for _, w := range e.waiters {
		w.fire(e)
	}
}

func (w *waiter) fire(e *event) {
	w.ready, w.mem, w.hw, w.lastAge = true, e.mem, e.hw, e.age
	w.wait.queue.Wake()
}

// setEvent is SET_EVENT.
func (p *process) setEvent(a *kfd.EventIDArgs) error {
	p.evMu.Lock()
	defer p.evMu.Unlock()
	e := p.ev.events[a.EventID]
	if e == nil || e.kind != kfd.EventSignal {
		return unix.EINVAL
	}
	e.signal()
	return nil
}

// resetEvent is RESET_EVENT.
func (p *process) resetEvent(a *kfd.EventIDArgs) error {
	p.evMu.Lock()
	defer p.evMu.Unlock()
	e := p.ev.events[a.EventID]
	if e == nil || e.kind != kfd.EventSignal {
		return unix.EINVAL
	}
	e.signaled = false
	return nil
}

// maxWaitEvents bounds the array of one call, so that a wild number is ENOMEM and not an allocation of gigabytes.
const maxWaitEvents = 1 << 16

// beginWait is WAIT_EVENTS up to where the caller sleeps: from now on an event that is set wakes it.
func (p *process) beginWait(a *kfd.WaitEventsArgs) (*waitCall, error) {
	a.WaitResult = kfd.WaitResultFail
	n := int(a.NumEvents)
	if n > maxWaitEvents {
		return nil, unix.ENOMEM
	}
	call := &waitCall{p: p, args: a, queue: p.drv.world.NewWaitQueue("kfd event"), ws: make([]waiter, n), raw: make([]byte, n*kfd.SizeofEventData)}
	if n > 0 {
		if err := p.drv.mem.Read(a.EventsPtr, call.raw); err != nil {
			return nil, err
		}
	}
	ws := call.ws
	p.evMu.Lock()
	defer p.evMu.Unlock()
	if p.ev.closed {
		return nil, unix.EBADF
	}
	for i := range ws {
		d := call.data(i)
		e := p.ev.events[d.EventID]
		if e == nil {
			for j := range ws[:i] {
				ws[j].leave()
			}
			return nil, unix.EINVAL
		}
		w := &ws[i]
		w.ev, w.wait = e, call
		if e.kind == kfd.EventSignal {
			w.lastAge = d.SignalAge()
			w.check = w.lastAge != 0
		}
		if e.signaled {
			w.ready = true
			w.mem, w.hw = e.mem, e.hw
			if e.autoReset {
				e.signaled, w.consumed = false, true
			}
			if w.check {
				w.lastAge = e.age
			}
		} else if w.check && w.lastAge != e.age {
			w.ready, w.lastAge = true, e.age
		}
		e.waiters = append(e.waiters, w)
	}
	return call, nil
}

// over reports whether the call need not sleep any longer.
func (c *waitCall) over() bool {
	c.p.evMu.Lock()
	defer c.p.evMu.Unlock()
	return waitOver(c.ws, c.args.WaitForAll != 0)
}

// sleep returns when the call is over, or its time.
func (c *waitCall) sleep() {
	timeout := sched.Forever
	if t := c.args.Timeout; t < 0xfffffffe {
		timeout = time.Duration(t) * time.Millisecond
	}
	c.queue.Wait(c.over, timeout)
}

// endWait is the rest of WAIT_EVENTS.
func (p *process) endWait(c *waitCall) error {
	ws, a := c.ws, c.args
	p.evMu.Lock()
	failed := false
	for i := range ws {
		failed = failed || ws[i].gone
	}
	complete := !failed && waitOver(ws, a.WaitForAll != 0)
	for i := range ws {
		w := &ws[i]
		if w.consumed && !complete && w.ev != nil {
			w.ev.signaled = true // give back what this call took
		}
		if w.ready && w.ev != nil {
			switch w.ev.kind {
			case kfd.EventMemory:
				c.data(i).Memory = w.mem
			case kfd.EventHWException:
				c.data(i).SetHW(w.hw)
			case kfd.EventSignal:
				if w.check {
					c.data(i).SetSignalAge(w.lastAge)
				}
			}
		}
		w.leave()
	}
	p.evMu.Unlock()
	switch {
	case failed:
		return unix.EIO
	case !complete:
		a.WaitResult = kfd.WaitResultTimeout
		return nil
	}
	if len(ws) > 0 {
		if err := p.drv.mem.Write(a.EventsPtr, c.raw); err != nil {
			return err
		}
	}
	a.WaitResult = kfd.WaitResultComplete
	return nil
}

// waitEvents is WAIT_EVENTS for a caller that may sleep.
func (p *process) waitEvents(a *kfd.WaitEventsArgs) error {
	c, err := p.beginWait(a)
	if err != nil {
		return err
	}
	if a.Timeout != 0 {
		c.sleep()
	}
	return p.endWait(c)
}

// waitOver reports whether a call need not sleep any longer: its condition holds, or one of its events is gone.
func waitOver(ws []waiter, all bool) bool {
	n := 0
	for i := range ws {
		if ws[i].gone {
			return true
		}
		if ws[i].ready {
			n++
		}
	}
	if all {
		return n == len(ws)
	}
	return n > 0 || len(ws) == 0
}

// leave takes w off its event; called with evMu held.
func (w *waiter) leave() {
	if w.ev == nil {
		return
	}
	for i, x := range w.ev.waiters {
		if x == w {
			w.ev.waiters = append(w.ev.waiters[:i], w.ev.waiters[i+1:]...)
			break
		}
	}
	w.ev = nil
}

// signaledSlots finds the events that an interrupt means: the one whose id ends in the low bits of partial, if its slot
// was written, else every one whose slot was (kfd_signal_event_interrupt). Each slot is reset and its event set.
func (p *process) eventInterrupt(partial uint32, valid uint) {
	p.evMu.Lock()
	defer p.evMu.Unlock()
	s := &p.ev
	if s.page == nil {
		return
	}
	hit := func(id uint32) bool {
		e := s.events[id]
		if e == nil || e.kind != kfd.EventSignal && e.kind != kfd.EventDebug || atomic.LoadUint64(&s.page[id]) == kfd.UnsignaledSlot {
			return false
		}
		atomic.StoreUint64(&s.page[id], kfd.UnsignaledSlot)
		e.signal()
		return true
	}
	if partial != 0 && valid > 0 {
		found := false
		step := uint64(1) << valid
		for id := uint64(partial) & (step - 1); id < kfd.SignalEventLimit; id += step {
			found = hit(uint32(id)) || found
		}
		if found {
			return
		}
	}
	for id := range uint32(kfd.SignalEventLimit) {
		hit(id)
	}
}

// memoryException sets all memory events of the process and reports whether there was one.
func (p *process) memoryException(m kfd.MemoryExceptionData) (told bool) {
	p.evMu.Lock()
	defer p.evMu.Unlock()
	for _, e := range p.ev.sorted() {
		if e.kind == kfd.EventMemory {
			e.mem = m
			e.signal()
			told = true
		}
	}
	return told
}

// sorted returns the events that have no slot, by id.
func (s *eventState) sorted() (out []*event) {
	for id := uint32(kfd.SignalEventLimit); id < s.other; id++ {
		if e := s.events[id]; e != nil {
			out = append(out, e)
		}
	}
	return out
}
