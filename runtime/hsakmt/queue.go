package hsakmt

import (
	"sync/atomic"

	"github.com/pumice-gpu/pumice/abi/kfd"
)

// Priority is a queue's priority as HSA users know it.
type Priority int

// Priorities.
const (
	PriorityMin    Priority = -3
	PriorityNormal Priority = 0
	PriorityMax    Priority = 3
)

// kfdPriority maps the range of HSA onto the driver's 0 to 15.
var kfdPriority = [...]uint32{0, 3, 5, 7, 9, 11, 15}

func (p Priority) kfd() uint32 {
	return kfdPriority[min(max(p, PriorityMin), PriorityMax)-PriorityMin]
}

// QueueConfig describes a queue to create. Ring and pointers are memory that the caller has allocated and mapped on the GPU.
type QueueConfig struct {
	Type         uint32 // kfd.QueueType*
	Ring         uint64
	RingSize     uint32 // bytes, a power of two
	ReadPointer  uint64 // address of the 64-bit read pointer
	WritePointer uint64
	Priority     Priority
	SDMAEngine   uint32 // for kfd.QueueTypeSDMAByEngID
}

// Queue is a queue of the driver.
type Queue struct {
	ID   uint32
	Node int
	cfg  QueueConfig

	Doorbell       uint64 // CPU address of the doorbell
	doorbellOffset uint64
	notify         func(offset uint64) // nil when nobody in the process wants to know

	eop, cwsr *Mem
}

// CreateQueue creates a queue on a GPU node, with an EOP buffer and a context save area of the sizes that the node asks for.
func (k *KFD) CreateQueue(node int, cfg QueueConfig) (_ *Queue, err error) {
	const op = "CREATE_QUEUE"
	g := k.gpuOf(node)
	if g == nil {
		return nil, fail(op, InvalidNodeUnit)
	}
	q := &Queue{Node: node, cfg: cfg}
	defer func() {
		if err != nil {
			k.freeQueueMemory(q)
		}
	}()
	a := kfd.CreateQueueArgs{
		RingBaseAddress: cfg.Ring, RingSize: cfg.RingSize, WritePointerAddress: cfg.WritePointer, ReadPointerAddress: cfg.ReadPointer,
		GPUID: g.node.GPUID, QueueType: cfg.Type, QueuePercentage: kfd.MaxQueuePercentage, QueuePriority: cfg.Priority.kfd(),
		SDMAEngineID: cfg.SDMAEngine,
	}
	if cfg.Type == kfd.QueueTypeCompute || cfg.Type == kfd.QueueTypeComputeAQL {
		s := g.node.saveArea()
		if s.eop != 0 {
			if q.eop, err = k.allocMapped(node, node, s.eop, Executable|Uncached); err != nil {
				return nil, err
			}
			a.EOPBufferAddress, a.EOPBufferSize = q.eop.VA, s.eop
		}
		if s.cwsr != 0 {
			if q.cwsr, err = k.allocMapped(0, node, s.cwsr+s.debug, HostAccess|Coherent|Executable|Uncached); err != nil {
				return nil, err
			}
			a.CtxSaveRestoreAddress, a.CtxSaveRestoreSize, a.CtlStackSize = q.cwsr.VA, uint32(s.cwsr), uint32(s.ctlStack)
			kfd.Encode(q.cwsr.Bytes(), kfd.ContextSaveAreaHeader{DebugOffset: uint32(s.cwsr), DebugSize: uint32(s.debug)})
		}
	}
	if err = ioctl(k, kfd.IocCreateQueue, &a); err != nil {
		return nil, err
	}
	q.ID, q.doorbellOffset = a.QueueID, a.DoorbellOffset
	if q.Doorbell, err = k.mapDoorbell(g, a.DoorbellOffset); err != nil {
		_ = ioctl(k, kfd.IocDestroyQueue, &kfd.DestroyQueueArgs{QueueID: q.ID})
		return nil, err
	}
	if n, ok := k.file.(DoorbellNotifier); ok {
		q.notify = n.NotifyDoorbell
	}
	return q, nil
}

// mapDoorbell maps the process's doorbell page of a GPU once, and returns the address of the doorbell.
func (k *KFD) mapDoorbell(g *gpu, offset uint64) (uint64, error) {
	g.doorbellMu.Lock()
	defer g.doorbellMu.Unlock()
	if g.doorbells == 0 {
		// The buffer gives the page a GPU address too. The mapping is made from the queue's own offset, because only that one
		// carries the device and the type.
		m, err := k.alloc(g.node.ID, 0, kfd.DoorbellSliceSize, 0, doorbell|Uncached|Coherent, offset&^(kfd.DoorbellSliceSize-1))
		if err != nil {
			return 0, err
		}
		if err := k.Map(m, g.node.ID); err != nil {
			_ = k.Free(m)
			return 0, err
		}
		g.db, g.doorbells = m, m.VA
	}
	return g.doorbells + offset%kfd.DoorbellSliceSize, nil
}

// Ring stores v to the queue's doorbell with release order, and tells a driver in this process.
func (q *Queue) Ring(v uint64) {
	atomic.StoreUint64((*uint64)(hostPointer(q.Doorbell)), v)
	if q.notify != nil {
		q.notify(q.doorbellOffset)
	}
}

// UpdateQueue changes priority and share (percent, 0 takes the queue off the hardware) of a queue.
func (k *KFD) UpdateQueue(q *Queue, p Priority, percent uint32) error {
	return ioctl(k, kfd.IocUpdateQueue, &kfd.UpdateQueueArgs{RingBaseAddress: q.cfg.Ring, RingSize: q.cfg.RingSize, QueueID: q.ID, QueuePercentage: percent, QueuePriority: p.kfd()})
}

// SetCUMask restricts a queue to the compute units whose bits are set; the number of words times 32 is the number of bits.
func (k *KFD) SetCUMask(q *Queue, mask []uint32) error {
	if len(mask) == 0 {
		return fail("SET_CU_MASK", InvalidParameter)
	}
	p := pinWords(mask)
	defer p.free()
	return ioctl(k, kfd.IocSetCUMask, &kfd.SetCUMaskArgs{QueueID: q.ID, NumCUMask: uint32(32 * len(mask)), CUMaskPtr: p.addr})
}

// AllocGWS gives a queue the device's global wave sync entries, all or none.
func (k *KFD) AllocGWS(q *Queue, n uint32) (first uint32, err error) {
	a := kfd.AllocQueueGWSArgs{QueueID: q.ID, NumGWS: n}
	err = ioctl(k, kfd.IocAllocQueueGWS, &a)
	return a.FirstGWS, err
}

// DestroyQueue ends a queue. It returns when nothing of it runs any more.
func (k *KFD) DestroyQueue(q *Queue) error {
	if err := ioctl(k, kfd.IocDestroyQueue, &kfd.DestroyQueueArgs{QueueID: q.ID}); err != nil {
		return err
	}
	k.freeQueueMemory(q)
	return nil
}

func (k *KFD) freeQueueMemory(q *Queue) {
	for _, m := range []**Mem{&q.eop, &q.cwsr} {
		if *m != nil {
			_ = k.Free(*m)
			*m = nil
		}
	}
}

// allocMapped allocates on one node and maps on a GPU.
func (k *KFD) allocMapped(on, gpu int, size uint64, f MemFlags) (*Mem, error) {
	m, err := k.Alloc(on, size, 0, f)
	if err != nil {
		return nil, err
	}
	if err := k.Map(m, gpu); err != nil {
		_ = k.Free(m)
		return nil, err
	}
	return m, nil
}

// saveSizes are the buffers that a compute queue of a node needs, in bytes.
type saveSizes struct{ eop, cwsr, ctlStack, debug uint64 }

// saveArea computes the sizes; newer drivers report them in the topology. The formulas are the driver's (kfd_queue.c): per CU the
// register files, LDS and hardware registers of all its waves; per wave an entry of the control stack.
func (n *Node) saveArea() (s saveSizes) {
	v := n.Props["gfx_target_version"]
	s.eop = PageSize
	if v >= 90400 && v < 100000 {
		s.eop = 0 // gfx940 and later have no EOP buffer
	}
	xcc := max(n.Props["num_xcc"], 1)
	if c, ctl := n.Props["cwsr_size"], n.Props["ctl_stack_size"]; c != 0 {
		s.cwsr, s.ctlStack, s.debug = c, ctl, n.Props["debug_memory_size"]*xcc
		if e, ok := n.Props["eop_buffer_size"]; ok {
			s.eop = e
		}
		s.cwsr = pageUp(s.cwsr * xcc)
		s.debug = pageUp(s.debug)
		return
	}
	if v < 80001 {
		return // no context save before gfx801
	}
	cus := uint64(n.ComputeUnits()) / xcc
	waves := cus * 32
	if v >= 100100 {
		waves = cus * 40
		if se := n.Props["array_count"] / max(n.Props["simd_arrays_per_engine"], 1) / xcc; se != 0 {
			waves = min(waves, se*512)
		}
	}
	vgpr := uint64(0x40000)
	switch v {
	case 90402, 90010, 90008, 90500:
		vgpr = 0x80000
	case 110000, 110001, 120000, 120001:
		vgpr = 0x60000
	}
	entry := uint64(8)
	if v >= 100100 {
		entry = 12
	}
	s.ctlStack = pageUp(waves*entry + 8 + 40)
	if v/10000 == 10 {
		s.ctlStack = min(s.ctlStack, 0x7000)
	}
	wave := pageUp(cus * (vgpr + 0x4000 + 0x10000 + 0x1000))
	s.debug = pageUp((waves*32 + 63) &^ 63 * xcc)
	s.cwsr = pageUp((s.ctlStack + wave) * xcc)
	return
}

func pageUp(n uint64) uint64 { return (n + PageSize - 1) &^ (PageSize - 1) }
