package silicon

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/abi/mqd"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// packetError is a packet that the command processor refuses. It stops the queue.
type packetError struct {
	code aql.QueueError
	text string
}

func (e *packetError) Error() string { return e.text }

func refuse(code aql.QueueError, format string, args ...any) error {
	return &packetError{code, fmt.Sprintf(format, args...)}
}

// runner is the fetcher of one packet language: AQL, PM4 or SDMA. Its methods are called with queue.mu held.
type runner interface {
	// step carries out packets until it must wait or the ring is empty. inline: it runs on a goroutine that should not be held up
	// long; then it may say more and return early.
	step(inline bool) (more bool, err error)
	// waits reports whether the queue waits for memory to change, so that it must be polled.
	waits() bool
	// busy reports whether packets that were taken are not complete.
	busy() bool
	// position is where the fetcher is, for error reports.
	position() uint64
	// save stores the pointers in the MQD.
	save()
	// reload is called when a preempted queue is loaded again.
	reload() error
}

// queue is one hardware queue: a state machine that push moves.
type queue struct {
	dev      *Device
	id       QueueID
	vm       *vm
	mqd      unsafe.Pointer
	doorbell uint32  // dword offset in the aperture
	bell     *uint64 // its value
	rptr     uint64  // VA of the reported read pointer

	pushes   atomic.Int64
	seen     atomic.Uint64 // doorbell value of the last step
	retrying atomic.Bool   // a CP or SDMA access waits for a page

	taskOnce sync.Once
	task     Parker
	taskEnd  atomic.Bool

	mu      sync.Mutex
	run     runner      // guarded by mu
	stopped bool        // guarded by mu
	dead    bool        // stopped by an error; guarded by mu
	polled  bool        // in the poller's list; guarded by mu
	idle    Parker      // of a Drain; guarded by mu
	pending []*dispatch // dispatches that are not complete; guarded by mu
	ids     *itemIDs    // of the last dispatch; guarded by mu
	free    []*dispatch // to be used again; guarded by mu
}

func (d *Device) newQueue(id QueueID, m unsafe.Pointer, vmid uint32) (*queue, error) {
	q := &queue{dev: d, id: id, vm: &d.vms[vmid], mqd: m}
	if id.Class == SDMA {
		s, err := mqd.DecodeSDMA(d.mqdGen, unsafe.Slice((*uint32)(m), mqd.SDMAWords))
		if err != nil {
			return nil, err
		}
		q.doorbell, q.rptr = s.DoorbellDword, s.RptrAddr
		if err := q.setBell(); err != nil {
			return nil, err
		}
		q.run = newSDMA(q, &s)
		return q, nil
	}
	c, err := mqd.DecodeCompute(d.mqdGen, unsafe.Slice((*uint32)(m), mqd.ComputeWords))
	if err != nil {
		return nil, err
	}
	q.doorbell, q.rptr = c.DoorbellDword, c.RptrAddr
	if err := q.setBell(); err != nil {
		return nil, err
	}
	if c.AQL {
		q.run, err = newAQL(q, &c)
	} else {
		q.run, err = newPM4(q, &c)
	}
	return q, err
}

func (q *queue) setBell() error {
	off := uint64(q.doorbell) * 4
	if off&7 != 0 || off+8 > q.dev.doorbells.size {
		return fmt.Errorf("silicon: doorbell at dword %#x", q.doorbell)
	}
	q.bell = (*uint64)(unsafe.Add(q.dev.doorbells.base, off))
	return nil
}

// silence forgets what a queue that had the doorbell before was told by it. Nobody has rung for the new one yet, and what is in the ring
// already is known by its write pointer.
func (q *queue) silence() { atomic.StoreUint64(q.bell, 0) }

// rung reports whether the doorbell changed since the last step.
func (q *queue) rung() bool { return atomic.LoadUint64(q.bell) != q.seen.Load() }

// push moves the queue as far as it goes. inline: see runner.step. When another goroutine pushes already, that one goes round again.
func (q *queue) push(inline bool) {
	if q.pushes.Add(1) != 1 {
		return
	}
	for {
		n := q.pushes.Load()
		more := q.step(inline)
		if more && inline {
			q.pushes.Store(0)
			q.wakeTask()
			return
		}
		if !more && q.pushes.CompareAndSwap(n, 0) {
			return
		}
	}
}

func (q *queue) step(inline bool) (more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dead {
		return false
	}
	q.seen.Store(atomic.LoadUint64(q.bell))
	q.retrying.Store(false)
	more, err := q.run.step(inline)
	if err != nil {
		q.fail(err)
		more = false
	}
	if q.stopped && !q.run.busy() && q.idle != nil {
		q.idle.Unpark()
	}
	if !q.dead && !q.polled && (q.run.waits() || q.retrying.Load()) {
		q.polled = true
		q.dev.poller.add(q)
	}
	return more
}

// wakeTask hands long work (copies) to a task of the queue's own.
func (q *queue) wakeTask() {
	q.taskOnce.Do(func() {
		q.task = q.dev.sched.NewParker()
		q.dev.sched.Go("queue", func() {
			for !q.taskEnd.Load() {
				q.task.Park(-1)
				q.push(false)
			}
		})
	})
	q.task.Unpark()
}

// fail is called with mu held when a packet could not be carried out.
func (q *queue) fail(err error) {
	d := q.dev
	s := q.vm.ctx.Load()
	var pasid uint32
	if s != nil {
		pasid = s.PASID
	}
	f := &QueueFault{Queue: q.id, Doorbell: q.doorbell, VMID: q.vm.id, PASID: pasid, PacketIndex: q.run.position(), Text: err.Error()}
	var fault *mem.Fault
	var bad *packetError
	switch {
	case errors.As(err, &fault):
		if fault.Kind == mem.FaultRetry {
			q.retrying.Store(true)
			d.faultIRQ(q.vm, fault)
			return
		}
		f.Code = uint64(aql.ErrMemoryViolation)
		q.dead = true
		d.faultIRQ(q.vm, fault)
	case errors.As(err, &bad):
		f.Code = uint64(bad.code)
		q.dead = true
		if a, ok := q.run.(*aqlQueue); !ok || a.inactive(uint64(bad.code)) != nil {
			d.interrupt(ih.BadOpcode(uint8(q.vm.id), uint16(pasid), q.doorbell&0x3ff|uint32(bad.code)<<10))
		}
	default:
		q.dead = true
		d.interrupt(ih.BadOpcode(uint8(q.vm.id), uint16(pasid), q.doorbell&0x3ff))
	}
	if h := d.cfg.Hooks.QueueError; h != nil {
		h(f)
	}
}

// faultIRQ sends the interrupt of a failed access.
func (d *Device) faultIRQ(v *vm, f *mem.Fault) {
	s := v.ctx.Load()
	if s == nil {
		return
	}
	notPresent, noRead, noWrite := v.missing(f)
	var ring uint8
	if notPresent {
		ring |= ih.FaultNotPresent
	}
	if noRead {
		ring |= ih.FaultNoRead
	}
	if noWrite {
		ring |= ih.FaultNoWrite
	}
	var access uint32
	if f.Access&mem.Write != 0 {
		access |= ih.FaultWrite
	}
	if f.Access&mem.Exec != 0 {
		access |= ih.FaultExec
	}
	if f.Kind == mem.FaultRetry {
		access |= ih.FaultRetry
	}
	d.interrupt(ih.VMFault(uint8(v.id), uint16(s.PASID), f.VA, ring, access))
}

// start begins fetching after a load.
func (q *queue) start() {
	q.mu.Lock()
	q.stopped = false
	for _, x := range q.pending {
		q.dev.cus.resume(x)
	}
	q.mu.Unlock()
	q.push(true)
}

func (q *queue) reload() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.run.reload()
}

// stop is UnloadQueue's work.
func (q *queue) stop(how Unload) {
	q.mu.Lock()
	q.stopped = true
	if how == Drain && q.run.busy() && !q.dead {
		p := q.dev.sched.NewParker()
		q.idle = p
		for q.run.busy() && !q.dead {
			q.mu.Unlock()
			p.Park(-1)
			q.mu.Lock()
		}
		q.idle = nil
	}
	pending := append([]*dispatch(nil), q.pending...)
	q.mu.Unlock()
	for _, x := range pending {
		q.dev.cus.suspend(x)
	}
	q.mu.Lock()
	q.run.save()
	q.mu.Unlock()
	if how != Preempt {
		q.drop()
	}
}

// drop frees what a stopped queue still holds.
func (q *queue) drop() {
	q.mu.Lock()
	for _, x := range q.pending {
		q.dev.cus.discard(x)
	}
	q.pending = nil
	q.dead = true
	for _, k := range q.free {
		k.dropKept(q.dev)
	}
	q.free = nil
	q.mu.Unlock()
	q.taskEnd.Store(true)
	if q.task != nil {
		q.task.Unpark()
	}
}

// finished is called by the last worker of a dispatch, without locks.
func (q *queue) finished(x *dispatch) {
	q.mu.Lock()
	for i, p := range q.pending {
		if p == x {
			q.pending = append(q.pending[:i], q.pending[i+1:]...)
			break
		}
	}
	q.mu.Unlock()
	q.push(true)
}

// signal completes a signal: timestamps, value minus one, mailbox and interrupt.
func (q *queue) signal(va, start, end uint64) error {
	if va == 0 {
		return nil
	}
	if va&63 != 0 {
		return refuse(aql.ErrPacketFormat, "completion signal %#x is not 64-byte aligned", va)
	}
	v := q.vm
	var err error
	step := func(e error) {
		if err == nil {
			err = e
		}
	}
	// The mailbox is read first: when the value reaches its target the host may free the signal.
	mailbox, e := v.load64(va + aql.SignalEventMailboxOffset)
	step(e)
	event, e := v.load32(va + aql.SignalEventIDOffset)
	step(e)
	if err != nil {
		return err
	}
	step(v.store64(va+aql.SignalStartTSOffset, start))
	step(v.store64(va+aql.SignalEndTSOffset, end))
	step(v.add64(va+aql.SignalValueOffset, ^uint64(0)))
	if err != nil {
		return err
	}
	q.dev.poller.changed()
	return q.mailbox(mailbox, event)
}

// mailbox tells the event of a signal.
func (q *queue) mailbox(mailbox uint64, event uint32) error {
	if mailbox == 0 {
		return nil
	}
	if err := q.vm.store64(mailbox, uint64(event)); err != nil {
		return err
	}
	if s := q.vm.ctx.Load(); s != nil {
		q.dev.interrupt(ih.EndOfPipe(uint8(q.vm.id), uint16(s.PASID), event))
	}
	return nil
}
