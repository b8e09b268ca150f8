package hsakmt

import (
	"sync"
	"time"

	"github.com/pumice-gpu/pumice/abi/kfd"
)

// events owns the event page.
type events struct {
	mu   sync.Mutex
	page *Mem // guarded by mu until the first event is there
}

// Event is one event of the driver.
type Event struct {
	ID      uint32
	Type    uint32 // kfd.Event*
	Trigger uint32 // what a device writes
	Slot    uint32
	Mailbox uint64 // address of the slot in the event page; 0 for types without one
	Node    int
}

// CreateEvent makes an event of one of the kfd.Event* types. An auto-reset event is consumed by the waiter that it wakes.
func (k *KFD) CreateEvent(typ uint32, autoReset bool) (*Event, error) {
	const op = "CREATE_EVENT"
	k.events.mu.Lock()
	defer k.events.mu.Unlock()
	a := kfd.CreateEventArgs{EventType: typ}
	if autoReset {
		a.AutoReset = 1
	}
	first := k.events.page == nil
	if first {
		// A discrete GPU reaches the page through its page tables, so the page is a GTT buffer of ours, made known once.
		if len(k.gpus) == 0 {
			return nil, fail(op, NotSupported)
		}
		m, err := k.Alloc(0, kfd.EventPageSize, 0, HostAccess|Uncached|Coherent|Executable)
		if err != nil {
			return nil, err
		}
		var nodes []int
		for _, g := range k.gpus {
			nodes = append(nodes, g.node.ID)
		}
		if err := k.Map(m, nodes...); err != nil {
			_ = k.Free(m)
			return nil, err
		}
		k.events.page = m
		a.EventPageOffset = m.Handle
	}
	if err := ioctl(k, kfd.IocCreateEvent, &a); err != nil {
		if first {
			_ = k.Free(k.events.page)
			k.events.page = nil
		}
		return nil, err
	}
	e := &Event{ID: a.EventID, Type: typ, Trigger: a.EventTriggerData, Slot: a.EventSlotIndex}
	if (typ == kfd.EventSignal || typ == kfd.EventDebug) && a.EventPageOffset != 0 {
		e.Mailbox = k.events.page.VA + 8*uint64(a.EventSlotIndex)
	}
	return e, nil
}

// DestroyEvent ends an event; its waiters fail.
func (k *KFD) DestroyEvent(e *Event) error {
	return ioctl(k, kfd.IocDestroyEvent, &kfd.EventIDArgs{EventID: e.ID})
}

// SetEvent signals an event from the CPU.
func (k *KFD) SetEvent(e *Event) error {
	return ioctl(k, kfd.IocSetEvent, &kfd.EventIDArgs{EventID: e.ID})
}

// Infinite is a timeout that never ends.
const Infinite = time.Duration(1<<63 - 1)

// WaitEvents sleeps until one of the events is signalled, or all are. It returns the data of the events as the driver filled it (faults
// of memory events, for instance), in the order given. At the timeout the error is WaitTimeout; when an event is destroyed meanwhile,
// WaitFailure.
//
// ages, if not nil, holds for each event the age that its caller has seen last, from 1 on; only a later signal ends the wait, and the
// ages are brought up to date. Read the age before looking at the condition that the event announces: then no signal between the two
// is lost, however many wait. Age 0 turns this off for an event, and only signal events have ages.
func (k *KFD) WaitEvents(es []*Event, ages []uint64, all bool, timeout time.Duration) ([]kfd.EventData, error) {
	const op = "WAIT_EVENTS"
	if len(es) == 0 {
		return nil, fail(op, InvalidParameter)
	}
	p := pinned(len(es) * kfd.SizeofEventData)
	defer p.free()
	for i, e := range es {
		d := kfd.EventData{EventID: e.ID}
		if e.Type == kfd.EventSignal && ages != nil {
			d.SetSignalAge(ages[i])
		}
		kfd.Encode(p.b[i*kfd.SizeofEventData:], d)
	}
	a := kfd.WaitEventsArgs{EventsPtr: p.addr, NumEvents: uint32(len(es)), Timeout: millis(timeout)}
	if all {
		a.WaitForAll = 1
	}
	if err := ioctl(k, kfd.IocWaitEvents, &a); err != nil {
		return nil, err
	}
	switch a.WaitResult {
	case kfd.WaitResultTimeout:
		return nil, fail(op, WaitTimeout)
	case kfd.WaitResultFail:
		return nil, fail(op, WaitFailure)
	}
	out := make([]kfd.EventData, len(es))
	for i, e := range es {
		out[i] = kfd.Decode[kfd.EventData](p.b[i*kfd.SizeofEventData:])
		if e.Type == kfd.EventSignal && ages != nil {
			ages[i] = out[i].SignalAge()
		}
	}
	return out, nil
}

// millis rounds a timeout up to the driver's unit.
func millis(d time.Duration) uint32 {
	switch {
	case d <= 0:
		return 0
	case d == Infinite:
		return kfd.TimeoutInfinite
	}
	ms := (d + time.Millisecond - 1) / time.Millisecond
	if ms > 0xfffffffd {
		return kfd.TimeoutInfinite - 1
	}
	return uint32(ms)
}
