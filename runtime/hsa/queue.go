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

// Limits of a queue's size in packets.
const (
	MinQueueSize = 64
	MaxQueueSize = 131072
)

// Queue is an AQL queue of a GPU agent.
type Queue struct {
	Agent *Agent
	Size  uint32 // packets

	rt       *Runtime
	rec      *aql.Queue
	addr     uint64 // of rec: the hsa_queue_t of other programs
	recMem   *hsakmt.Mem
	ringMem  *hsakmt.Mem
	ring     uint64
	mask     uint64
	kq       *hsakmt.Queue
	inactive *Signal
	doorbell uint64        // record of the doorbell signal
	scratch  []*hsakmt.Mem // written by the goroutine of the inactive signal only

	mu       sync.Mutex // one producer at a time, so that doorbells are rung in order
	cuMask   []uint32   // nil for all units; guarded by mu
	gone     atomic.Bool
	err      atomic.Uint32 // Status
	onError  func(Status)
	priority hsakmt.Priority
	users    int // of a cooperative queue; guarded by Agent.coopMu
}

// NewQueue creates a queue of size packets, a power of two between MinQueueSize and MaxQueueSize. onError, if not nil, is
// called once if the queue stops with an error.
func (a *Agent) NewQueue(size uint32, onError func(Status)) (_ *Queue, err error) {
	const op = "queue_create"
	if !a.IsGPU() {
		return nil, fail(op, StatusInvalidQueueCreation, "agent %s has no packet processor", a.Name)
	}
	if size < MinQueueSize || size&(size-1) != 0 {
		return nil, fail(op, StatusInvalidArgument, "%d packets", size)
	}
	if size > MaxQueueSize {
		return nil, fail(op, StatusOutOfResources, "%d packets", size)
	}
	r := a.rt
	q := &Queue{Agent: a, Size: size, rt: r, mask: uint64(size - 1), onError: onError}
	defer func() {
		if err != nil {
			q.freeMemory()
		}
	}()
	if q.ringMem, err = r.systemAlloc(uint64(size)*aql.PacketSize, 0); err != nil {
		return nil, wrap(op, err)
	}
	q.ring = q.ringMem.VA
	for i := uint64(0); i < uint64(size); i++ {
		*(*uint32)(hostPointer(q.ring + i*aql.PacketSize)) = uint32(aql.Invalid)
	}
	if q.recMem, err = r.systemAlloc(hsakmt.PageSize, hsakmt.Uncached); err != nil {
		return nil, wrap(op, err)
	}
	q.addr = q.recMem.VA
	q.rec = (*aql.Queue)(hostPointer(q.addr))
	if q.inactive, err = r.NewSignal(0); err != nil {
		return nil, err
	}
	r.signals.mu.Lock()
	q.doorbell, err = r.newRecord()
	r.signals.mu.Unlock()
	if err != nil {
		return nil, wrap(op, err)
	}
	ap, _ := r.kfd.Apertures(a.Node.ID)
	*q.rec = aql.Queue{
		HSA:                        aql.HSAQueue{Features: aql.FeatureKernelDispatch, BaseAddress: q.ring, DoorbellSignal: aql.SignalHandle(q.doorbell), Size: size},
		GroupSegmentApertureBaseHi: uint32(ap.LDSBase >> 32), PrivateSegmentApertureBaseHi: uint32(ap.ScratchBase >> 32),
		MaxCUID: a.ComputeUnits - 1, MaxWaveID: a.MaxWavesPerCU - 1,
		ReadDispatchIDFieldBaseOffset: aql.ReadDispatchIDOffset,
		QueueProperties:               aql.PropIsPtr64 | aql.PropEnableProfiling,
		QueueInactiveSignal:           q.inactive.Handle(),
	}
	q.kq, err = r.kfd.CreateQueue(a.Node.ID, hsakmt.QueueConfig{
		Type: kfd.QueueTypeComputeAQL, Ring: q.ring, RingSize: size * aql.PacketSize,
		ReadPointer: q.addr + aql.ReadDispatchIDOffset, WritePointer: q.addr + aql.WriteDispatchIDOffset,
	})
	if err != nil {
		return nil, wrap(op, err)
	}
	q.rec.HSA.ID = uint64(q.kq.ID)
	*(*aql.Signal)(hostPointer(q.doorbell)) = aql.Signal{Kind: aql.SignalDoorbell, Value: int64(q.kq.Doorbell), QueuePtr: q.addr}
	r.mu.Lock()
	r.queues[q] = true
	r.mu.Unlock()
	q.inactive.OnSignal(aql.CondNE, 0, q.inactiveEvent)
	if a.allowed() != nil {
		if err := q.SetCUMask(nil); err != nil {
			_ = q.Destroy()
			return nil, err
		}
	}
	return q, nil
}

// Addr returns the address of the queue's record: an hsa_queue_t pointer.
func (q *Queue) Addr() uint64 { return q.addr }

// ID returns the driver's number of the queue.
func (q *Queue) ID() uint32 { return q.kq.ID }

// ReadIndex returns the number of packets that the packet processor has taken since the queue was made.
func (q *Queue) ReadIndex() uint64 { return atomic.LoadUint64(&q.rec.ReadDispatchID) }

// Err returns the error with which the queue stopped, nil while it runs.
func (q *Queue) Err() error {
	if s := Status(q.err.Load()); s != 0 {
		return fail("queue", s)
	}
	return nil
}

// Submit writes packets to the ring and rings the doorbell once. It waits for room, and returns the index of the last packet. Submissions of
// several goroutines do not interleave.
func (q *Queue) Submit(pkts ...*aql.Packet) (uint64, error) {
	const op = "submit"
	if len(pkts) == 0 || uint64(len(pkts)) > uint64(q.Size) {
		return 0, fail(op, StatusInvalidArgument, "%d packets in a queue of %d", len(pkts), q.Size)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.gone.Load() {
		return 0, fail(op, StatusInvalidQueue)
	}
	n := uint64(len(pkts))
	first := atomic.AddUint64(&q.rec.WriteDispatchID, n) - n
	for i := 0; first+n-q.ReadIndex() > uint64(q.Size); i++ {
		if s := Status(q.err.Load()); s != 0 {
			return 0, fail(op, s)
		}
		if i < 1000 {
			runtime.Gosched()
		} else {
			time.Sleep(20 * time.Microsecond)
		}
	}
	for i, p := range pkts {
		slot := hostPointer(q.ring + (first+uint64(i))&q.mask*aql.PacketSize)
		copy(unsafe.Slice((*byte)(slot), aql.PacketSize)[4:], p[4:])
		// Header and setup last, with release order: the packet processor may look at any time.
		atomic.StoreUint32((*uint32)(slot), uint32(p[0])|uint32(p[1])<<8|uint32(p[2])<<16|uint32(p[3])<<24)
	}
	q.kq.Ring(first + n - 1)
	return first + n - 1, nil
}

// Ring stores to the doorbell on behalf of a producer that writes packets itself.
func (q *Queue) Ring(index uint64) { q.kq.Ring(index) }

// Priorities that HIP's streams use (HSA_AMD_QUEUE_PRIORITY_LOW, HIGH).
const (
	PriorityLow  = hsakmt.PriorityMin
	PriorityHigh = hsakmt.PriorityMax
)

// SetPriority changes the queue's priority.
func (q *Queue) SetPriority(p hsakmt.Priority) error {
	q.priority = p
	return wrap("queue_set_priority", q.rt.kfd.UpdateQueue(q.kq, p, kfd.MaxQueuePercentage))
}

// AllocGWS gives the queue the global wave sync entries that cooperative kernels need.
func (q *Queue) AllocGWS(n uint32) error {
	_, err := q.rt.kfd.AllocGWS(q.kq, n)
	return wrap("queue_gws", err)
}

// CooperativeQueue returns the agent's queue for cooperative kernels, the one that has the device's global wave sync. The device gives that to one queue of a
// process, so all who ask share it, and each calls Destroy. size and onError are those of the first.
func (a *Agent) CooperativeQueue(size uint32, onError func(Status)) (*Queue, error) {
	if !a.IsGPU() || a.Node.Props["num_gws"] == 0 {
		return nil, fail("queue_create", StatusInvalidQueueCreation, "agent %s has no global wave sync", a.Name)
	}
	a.coopMu.Lock()
	defer a.coopMu.Unlock()
	if a.coop == nil {
		q, err := a.NewQueue(size, onError)
		if err != nil {
			return nil, err
		}
		if err := q.AllocGWS(1); err != nil {
			_ = q.Destroy()
			return nil, err
		}
		a.coop = q
	}
	a.coop.users++
	return a.coop, nil
}

// dropUser reports whether others still use the queue.
func (q *Queue) dropUser() bool {
	q.Agent.coopMu.Lock()
	defer q.Agent.coopMu.Unlock()
	if q.users > 1 {
		q.users--
		return true
	}
	if q.Agent.coop == q {
		q.Agent.coop = nil
	}
	return false
}

// Gone reports whether the queue has been destroyed, by all who use it.
func (q *Queue) Gone() bool { return q.gone.Load() }

// Inactivate takes the queue off the hardware; packets that run are stopped.
func (q *Queue) Inactivate() error {
	return wrap("queue_inactivate", q.rt.kfd.UpdateQueue(q.kq, q.priority, 0))
}

// Destroy ends the queue; what has not run never will.
func (q *Queue) Destroy() error {
	if q.dropUser() {
		return nil
	}
	q.mu.Lock()
	if q.gone.Swap(true) {
		q.mu.Unlock()
		return fail("queue_destroy", StatusInvalidQueue)
	}
	q.mu.Unlock()
	err := q.rt.kfd.DestroyQueue(q.kq)
	q.rt.mu.Lock()
	delete(q.rt.queues, q)
	q.rt.mu.Unlock()
	q.freeMemory()
	return wrap("queue_destroy", err)
}

func (q *Queue) freeMemory() {
	if q.inactive != nil {
		q.inactive.Destroy()
	}
	if q.doorbell != 0 {
		p := &q.rt.signals
		p.mu.Lock()
		p.free = append(p.free, q.doorbell)
		p.mu.Unlock()
	}
	for _, m := range append(q.scratch, q.ringMem, q.recMem) {
		if m != nil {
			_ = q.rt.kfd.Free(m)
		}
	}
}

// setError stops the queue with a status, once.
func (q *Queue) setError(s Status) {
	if q.err.CompareAndSwap(0, uint32(s)) && q.onError != nil {
		q.onError(s)
	}
}

// inactiveEvent answers what the packet processor stored in the inactive signal.
func (q *Queue) inactiveEvent(v int64) bool {
	e := aql.QueueError(v)
	if q.gone.Load() {
		return false
	}
	if e&aql.ErrScratch != 0 {
		if err := q.growScratch(); err != nil {
			q.setError(StatusOutOfResources)
			return false
		}
		q.inactive.Store(0)
		return true
	}
	if e == aql.ErrScratchReclaim {
		q.inactive.Store(0)
		return true
	}
	s := StatusError
	for _, t := range [...]struct {
		bit aql.QueueError
		s   Status
	}{
		{aql.ErrMemoryViolation, StatusMemoryApertureViolation}, {aql.ErrIllegalInstruction, StatusIllegalInstruction},
		{aql.ErrTrap, StatusException}, {aql.ErrInvalidDim, StatusIncompatibleArguments},
		{aql.ErrInvalidGroupMem, StatusInvalidAllocation}, {aql.ErrInvalidCode, StatusInvalidCodeObject},
		{aql.ErrPacketFormat, StatusInvalidPacketFormat}, {aql.ErrInvalidVendor, StatusInvalidPacketFormat},
		{aql.ErrGroupTooLarge, StatusInvalidArgument}, {aql.ErrOutOfRegisters, StatusOutOfRegisters},
	} {
		if e&t.bit != 0 {
			s = t.s
			break
		}
	}
	q.setError(s)
	return false
}
