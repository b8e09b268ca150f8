package hsa

import (
	"sync/atomic"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/runtime/hsakmt"
)

// SoftQueue is a queue that the program processes itself: a ring and indices, with a doorbell that is a signal of the program's. The fields are those of any AQL queue,
// so that agents write packets to it just the same.
type SoftQueue struct {
	rt   *Runtime
	ring *Memory
	rec  *hsakmt.Mem
}

// lastSoftQueue numbers soft queues, apart from the driver's numbers.
var lastSoftQueue atomic.Uint64

// NewSoftQueue makes a soft queue whose ring is memory of the pool, which the host must reach.
func (p *Pool) NewSoftQueue(size uint32, t aql.QueueType, features uint32, doorbell aql.SignalHandle) (*SoftQueue, error) {
	const op = "soft_queue_create"
	ring, err := p.Allocate(uint64(size)*aql.PacketSize, 0, 0)
	if err != nil {
		return nil, err
	}
	r := p.Agent.rt
	q := &SoftQueue{rt: r, ring: ring}
	if ring.Host == 0 {
		_ = r.Free(ring)
		return nil, fail(op, StatusInvalidArgument, "the host cannot reach the pool")
	}
	if !p.Agent.IsGPU() {
		err = r.AllowAccess(ring, r.gpus...)
	}
	if err == nil {
		q.rec, err = r.systemAlloc(hsakmt.PageSize, hsakmt.Uncached)
	}
	if err != nil {
		_ = r.Free(ring)
		return nil, wrap(op, err)
	}
	for i := range uint64(size) {
		*(*uint32)(hostPointer(ring.Host + i*aql.PacketSize)) = uint32(aql.Invalid)
	}
	*(*aql.Queue)(hostPointer(q.rec.VA)) = aql.Queue{
		HSA:                           aql.HSAQueue{Type: t, Features: features, BaseAddress: ring.Addr, DoorbellSignal: doorbell, Size: size, ID: 1<<32 | lastSoftQueue.Add(1)},
		ReadDispatchIDFieldBaseOffset: aql.ReadDispatchIDOffset, QueueProperties: aql.PropIsPtr64,
	}
	return q, nil
}

// Addr returns the address of the queue's record.
func (q *SoftQueue) Addr() uint64 { return q.rec.VA }

// Destroy frees the queue.
func (q *SoftQueue) Destroy() error {
	err := q.rt.Free(q.ring)
	if e := q.rt.kfd.Free(q.rec); err == nil {
		err = wrap("queue_destroy", e)
	}
	return err
}
