package svmsim

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	kfdsvm "github.com/pumice-gpu/pumice/kernel/kfd/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
)

// A user queue is memory of the process: a ring of packets, and a page with the write index (the CPU's) and the read index (the GPU's).
// To the GPU goes one thing more, the doorbell: a store to a register, for which no kernel is entered. It says "look at the write index". While a
// queue is off the hardware, because its process is quiesced, a doorbell is lost; that does no harm, because the command processor looks at
// the write index when the queue comes back (wptr polling).
//
// The way back is the event: the GPU writes a slot of the process's event page and raises an interrupt; the interrupt handler finds the event and
// wakes who waits for it. Here the kernel is in between, and may be asleep at any point.

// PacketSize is the size of a packet in the ring: as AQL's.
const PacketSize = 64

// ringPackets is how many a ring of one page holds.
const ringPackets = mm.PageSize / PacketSize

// Words of a packet, and of the page of indices.
const (
	packetValid = 0 // header: not 0 when the packet may be processed; the processor makes it 0
	packetAddr  = 8
	packetValue = 16
	packetEvent = 24 // id of the event that says that it is done; 0: none

	writeIndex = 0
	readIndex  = 8
)

// Queue is a user queue on one GPU: its ring is the page at Ring, its indices are in the page after it.
type Queue struct {
	Ring uint64
	// Err is why the queue is dead: a fault of its command processor or of a wave, or that its memory went away. Nil while it lives.
	Err error
	// Observe, if not nil, is told what the queue does.
	Observe func(what string)

	p     *Process
	c     *Context
	wake  sched.WaitQueue
	rung  bool // a doorbell that the command processor has not looked at
	seen  int  // Resumes of the process's queues that it has noticed
	ended bool
}

var errRingGone = errors.New("svmsim: the queue's memory was unmapped")

// NewQueue makes a queue for p on GPU gpu, and its command processor. ring are two pages of the process. With the driver of amdkfd they are
// held: the queue is taken off the hardware for good before they go away (kfd_queue_acquire_buffers). EINVAL, EFAULT, EPERM when the
// pages cannot be used.
func (p *Process) NewQueue(gpu int, ring uint64) (*Queue, error) {
	q := &Queue{Ring: ring, p: p, c: p.On[gpu], wake: p.m.World.NewWaitQueue("doorbell of " + p.Name), seen: p.queues.resumes}
	if v, ok := q.c.SVM.(kfdsvm.View); !ok {
		if err := q.c.SVM.SetAttrs(ring, 2*mm.PageSize, []svm.Attr{{Type: svm.AttrAccess, Value: svm.AccessInPlace}}); err != nil {
			return nil, err
		}
	} else {
		// As the thunk does.
		list := []kfd.SVMAttribute{{Type: kfd.SVMAttrAccessInPlace, Value: v.ID()}, {Type: kfd.SVMAttrSetFlags, Value: kfd.SVMFlagGPUAlwaysMapped}}
		if err := v.S.SetAttrs(ring, 2*mm.PageSize, list); err != nil {
			return nil, err
		}
		if err := v.S.HoldQueueBuffer(gpu, ring, 2*mm.PageSize, func() { q.die(errRingGone) }); err != nil {
			return nil, err
		}
	}
	p.all = append(p.all, q)
	p.m.World.Go("cp", true, q.process)
	return q, nil
}

// Close destroys the queue. Its memory may go then.
func (q *Queue) Close() {
	if q.ended {
		return
	}
	q.ended = true
	if v, ok := q.c.SVM.(kfdsvm.View); ok {
		v.S.ReleaseQueueBuffer(q.Ring, 2*mm.PageSize)
	}
	q.wake.Wake()
}

func (q *Queue) die(err error) {
	if q.Err == nil {
		q.Err = err
		q.observe("queue is evicted for good: " + err.Error())
	}
}

func (q *Queue) observe(what string) {
	if q.Observe != nil {
		q.Observe(what)
	}
}

// Submit writes a packet: a wave that stores v at addr and then signals the event (0: none). Nobody looks at it before Doorbell.
// EAGAIN when the ring is full.
func (q *Queue) Submit(addr, v uint64, event int) error {
	w, err := q.p.Load64(q.Ring + mm.PageSize + writeIndex)
	if err != nil {
		return err
	}
	r, err := q.p.Load64(q.Ring + mm.PageSize + readIndex)
	if err != nil {
		return err
	}
	if w-r >= ringPackets {
		return mm.EAGAIN
	}
	at := q.Ring + w%ringPackets*PacketSize
	for _, x := range []struct{ off, v uint64 }{{packetAddr, addr}, {packetValue, v}, {packetEvent, uint64(event)}, {packetValid, 1}} {
		if err := q.p.Store64(at+x.off, x.v); err != nil {
			return err
		}
	}
	return q.p.Store64(q.Ring+mm.PageSize+writeIndex, w+1)
}

// Doorbell is the store to the queue's doorbell. It is lost while the queue is off the hardware.
func (q *Queue) Doorbell() {
	if q.c.Stopped() {
		q.observe("doorbell is lost: the queue is off the hardware")
		return
	}
	q.rung = true
	q.observe("doorbell")
	q.wake.Wake()
}

// process is the command processor, as far as this queue goes.
func (q *Queue) process() {
	for {
		q.wake.Wait(func() bool { return q.ended || !q.c.Stopped() && (q.rung || q.seen != q.p.queues.resumes) }, sched.Forever)
		if q.ended {
			return
		}
		q.rung, q.seen = false, q.p.queues.resumes
		for q.Err == nil && !q.ended {
			more, err := q.next()
			if err != nil {
				q.die(err)
			}
			if !more {
				break
			}
		}
	}
}

// word reads or, if write is set, writes 8 bytes as the command processor does: by the GPU's page table.
func (q *Queue) word(addr uint64, write bool, v uint64) (uint64, error) {
	if q.Err != nil {
		return 0, q.Err
	}
	off := addr & (mm.PageSize - 1)
	err := q.c.Access(addr, write, func(b []byte) {
		if write {
			binary.LittleEndian.PutUint64(b[off:], v)
		}
		v = binary.LittleEndian.Uint64(b[off:])
	})
	return v, err
}

// next processes one packet; false when there is none.
func (q *Queue) next() (bool, error) {
	w, err := q.word(q.Ring+mm.PageSize+writeIndex, false, 0)
	if err != nil {
		return false, err
	}
	r, err := q.word(q.Ring+mm.PageSize+readIndex, false, 0)
	if err != nil || r == w {
		return false, err
	}
	at := q.Ring + r%ringPackets*PacketSize
	var packet [4]uint64
	for i := range packet {
		if packet[i], err = q.word(at+uint64(8*i), false, 0); err != nil {
			return false, err
		}
	}
	if packet[packetValid/8] == 0 {
		return false, nil // the doorbell was rung too early; the next one comes when it is written
	}
	q.observe("wave starts")
	if _, err = q.word(packet[packetAddr/8], true, packet[packetValue/8]); err != nil {
		return false, err
	}
	if _, err = q.word(at+packetValid, true, 0); err != nil {
		return false, err
	}
	if _, err = q.word(q.Ring+mm.PageSize+readIndex, true, r+1); err != nil {
		return false, err
	}
	q.observe("wave ends")
	if id := int(packet[packetEvent/8]); id > 0 {
		q.p.interrupt(id)
	}
	return true, nil
}

// Event is something to wait for (KFD_EVENT_TYPE_SIGNAL, auto-reset): id n is slot n of the process's event page.
type Event struct {
	ID int
	// Observe, if not nil, is told what happens to it.
	Observe func(what string)
	p       *Process
	slot    bool // what the GPU writes
	age     int  // interrupts that found the slot written
	taken   int
	wait    sched.WaitQueue
}

// NewEvent makes an event.
func (p *Process) NewEvent() *Event {
	e := &Event{ID: len(p.events) + 1, p: p, wait: p.m.World.NewWaitQueue("event of " + p.Name)}
	p.events = append(p.events, e)
	return e
}

// interruptDelay is how long an interrupt takes from the ring to the handler.
const interruptDelay = 2 * time.Microsecond

// interrupt is the GPU's side: the slot is written, then the interrupt raised. The handler runs in a task of its own, and looks at all slots: an
// interrupt says little more than that there is something.
func (p *Process) interrupt(id int) {
	if id <= len(p.events) {
		p.events[id-1].slot = true
	}
	p.m.World.AfterFunc("interrupt", interruptDelay, func() {
		for _, e := range p.events {
			if !e.slot {
				continue
			}
			e.slot = false
			e.age++
			if e.Observe != nil {
				e.Observe("interrupt: event is signalled")
			}
			e.wait.Wake()
		}
	})
}

// Wait waits until the event was signalled since the last Wait: one signal lets one waiter go. ETIME after timeout.
func (e *Event) Wait(timeout time.Duration) error {
	if !e.wait.Wait(func() bool { return e.age > e.taken }, timeout) {
		return mm.ETIME
	}
	e.taken = e.age
	return nil
}

var _ svm.Queues = (*queues)(nil)
