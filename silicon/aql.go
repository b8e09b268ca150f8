package silicon

import (
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/abi/mqd"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// aqlQueue fetches AQL packets.
//
// A packet is taken when its index is not above the doorbell and its header is not INVALID; it is retired, in order, when
// it is complete: its header becomes INVALID again and read_dispatch_id moves. The slot is kept until then because a kernel
// reads its own dispatch packet. A packet with the barrier bit is taken when all before it are complete.
type aqlQueue struct {
	shaderState
	q       *queue
	ring    uint64 // VA
	n       uint64 // packets
	wptr    uint64 // VA of write_dispatch_id
	record  uint64 // VA of the amd_queue_t
	next    uint64 // index of the packet to take
	retired uint64 // read_dispatch_id
	limit   uint64 // one past the highest index that the doorbell named
	flight  []*packet
	free    []*packet // retired, to be used again
	polling bool

	taking     aql.Packet                   // the packet that is taken
	descriptor [codeobj.DescriptorSize]byte // of its kernel
	scratch    bool                         // a scratch request is out
}

// shaderState is what the waves of a compute queue depend on.
type shaderState struct {
	cuMask atomic.Pointer[[8]uint32] // COMPUTE_STATIC_THREAD_MGMT: CUs that may be used, by shader engine
	slots  scratchSlots
}

// packet is a packet that was taken and is not retired.
type packet struct {
	signal     uint64
	start, end uint64
	done       atomic.Bool // complete but for its signal
	signalled  bool
}

const never = ^uint64(0)

func newAQL(q *queue, c *mqd.Compute) (*aqlQueue, error) {
	a := &aqlQueue{q: q}
	// The read pointer's address leads to the record: its field says how far into the record it is.
	off, err := q.vm.load32(c.RptrAddr + aql.ReadDispatchIDFieldBaseOffset - aql.ReadDispatchIDOffset)
	if err != nil {
		return nil, err
	}
	if off == 0 || off > aql.QueueSize {
		off = aql.ReadDispatchIDOffset // not filled yet: the driver's own queues
	}
	a.record = c.RptrAddr - uint64(off)
	if a.next, err = q.vm.load64(c.RptrAddr); err != nil {
		return nil, err
	}
	a.retired = a.next
	if a.next == 0 && atomic.LoadUint64(q.bell) == 0 {
		atomic.StoreUint64(q.bell, never)
	}
	return a, a.load(c)
}

func (a *aqlQueue) reload() error {
	c, err := mqd.DecodeCompute(a.q.dev.mqdGen, unsafe.Slice((*uint32)(a.q.mqd), mqd.ComputeWords))
	if err != nil {
		return err
	}
	return a.load(&c)
}

// load takes the ring from the MQD, which the driver may have changed while the queue was off, and looks at write_dispatch_id:
// doorbells that rang meanwhile were lost.
func (a *aqlQueue) load(c *mqd.Compute) error {
	a.ring, a.n, a.wptr, a.q.rptr = c.RingBase, uint64(c.RingBytes)/aql.PacketSize, c.WptrAddr, c.RptrAddr
	a.cuMask.Store(&c.CUMask)
	w, err := a.q.vm.load64(a.wptr)
	if err != nil {
		return err
	}
	if w > a.limit && w-a.next <= a.n {
		a.limit = w
	}
	return nil
}

func (a *aqlQueue) position() uint64 { return a.next }
func (a *aqlQueue) waits() bool      { return a.polling }
func (a *aqlQueue) busy() bool       { return len(a.flight) > 0 }

func (a *aqlQueue) save() {
	w := unsafe.Slice((*uint32)(a.q.mqd), mqd.ComputeWords)
	mqd.StorePointers(w, uint32(a.retired%a.n*16), a.limit*16)
}

func (a *aqlQueue) step(bool) (more bool, err error) {
	q := a.q
	a.polling = false
	if bell := atomic.LoadUint64(q.bell); bell != never && bell+1 > a.limit {
		a.limit = bell + 1
	}
	for {
		if err := a.retire(); err != nil {
			return false, err
		}
		if q.stopped || a.next >= a.limit || a.next-a.retired >= a.n {
			return false, nil
		}
		p := &a.taking
		slot := a.ring + a.next%a.n*aql.PacketSize
		invalid := false
		err := q.vm.use(slot, aql.PacketSize, mem.Read, func(b []byte) {
			h := atomic.LoadUint32((*uint32)(unsafe.Pointer(&b[0])))
			if invalid = aql.Header(h).Type() == aql.Invalid; !invalid {
				copy(p[:], b)
			}
		})
		if err != nil || invalid {
			return false, err
		}
		h := p.Header()
		if h.Barrier() && len(a.flight) > 0 {
			return false, nil
		}
		var x *packet
		if n := len(a.free); n > 0 {
			x, a.free = a.free[n-1], a.free[:n-1]
			*x = packet{}
		} else {
			x = new(packet)
		}
		x.start = q.dev.Clock()
		taken := false
		switch h.Type() {
		case aql.KernelDispatch:
			taken, err = a.dispatch((*aql.DispatchPacket)(unsafe.Pointer(p)), slot, x)
		case aql.BarrierAnd, aql.BarrierOr:
			taken, err = a.barrier(aql.As[aql.BarrierPacket](p), x)
		case aql.VendorSpecific:
			taken, err = a.vendor(p, x)
		default:
			err = refuse(aql.ErrPacketFormat, "packet %d: header %#04x has type %d, which no packet has on this queue", a.next, uint16(h), h.Type())
		}
		if err != nil {
			return false, err
		}
		if !taken {
			a.polling = true
			return false, nil
		}
		a.flight = append(a.flight, x)
		a.next++
	}
}

// retire signals complete packets and frees their slots in order.
func (a *aqlQueue) retire() error {
	for _, x := range a.flight {
		if x.done.Load() && !x.signalled {
			if err := a.q.signal(x.signal, x.start, x.end); err != nil {
				return err
			}
			x.signalled = true
		}
	}
	n := 0
	for n < len(a.flight) && a.flight[n].signalled {
		n++
	}
	if n == 0 {
		return nil
	}
	for range n {
		slot := a.ring + a.retired%a.n*aql.PacketSize
		err := a.q.vm.use(slot, 2, mem.Write, func(b []byte) { *(*uint16)(unsafe.Pointer(&b[0])) = uint16(aql.Invalid) })
		if err != nil {
			return err
		}
		a.retired++
	}
	a.free = append(a.free, a.flight[:n]...)
	a.flight = a.flight[:copy(a.flight, a.flight[n:])]
	return a.q.vm.store64(a.q.rptr, a.retired)
}

// barrier is BARRIER_AND and BARRIER_OR: taken when its dependencies allow, and then complete.
func (a *aqlQueue) barrier(p aql.BarrierPacket, x *packet) (bool, error) {
	named, zero := 0, 0
	for _, s := range p.DepSignal {
		if s == 0 {
			continue
		}
		named++
		v, err := a.q.vm.load64(uint64(s) + aql.SignalValueOffset)
		if err != nil {
			return false, err
		}
		if v == 0 {
			zero++
		}
	}
	if p.Header.Type() == aql.BarrierAnd && zero < named || p.Header.Type() == aql.BarrierOr && named > 0 && zero == 0 {
		return false, nil
	}
	x.complete(a.q.dev, p.CompletionSignal)
	return true, nil
}

func (x *packet) complete(d *Device, s aql.SignalHandle) { x.completeAt(d.Clock(), s) }

func (x *packet) completeAt(end uint64, s aql.SignalHandle) {
	x.signal, x.end = uint64(s), end
	x.done.Store(true)
}

// vendor is AMD's vendor-specific packets.
func (a *aqlQueue) vendor(p *aql.Packet, x *packet) (bool, error) {
	switch f := aql.AMDFormat(p[2]); f {
	case aql.AMDPM4IB:
		ib := aql.As[aql.PM4IBPacket](p)
		m := pm4Machine{q: a.q}
		wait, err := m.run(ib.IBJump[:])
		if err != nil || wait {
			return false, err
		}
		x.complete(a.q.dev, ib.CompletionSignal)
	case aql.AMDBarrierValue:
		b := aql.As[aql.BarrierValuePacket](p)
		if b.Signal != 0 {
			v, err := a.q.vm.load64(uint64(b.Signal) + aql.SignalValueOffset)
			if err != nil {
				return false, err
			}
			if !aql.Condition(b.Cond).Holds(int64(v)&b.Mask, b.Value) {
				return false, nil
			}
		}
		x.complete(a.q.dev, b.CompletionSignal)
	default:
		return false, refuse(aql.ErrInvalidVendor, "packet %d: vendor packet of format %d; known are 1 (PM4 IB) and 2 (barrier value)", a.next, f)
	}
	return true, nil
}

// inactive stores code in the queue's queue_inactive_signal and tells its event.
func (a *aqlQueue) inactive(code uint64) error {
	v := a.q.vm
	s, err := v.load64(a.record + aql.QueueInactiveSignalOffset)
	if err != nil {
		return err
	}
	if s == 0 {
		return refuse(aql.ErrPacketFormat, "the queue has no inactive signal")
	}
	if err := v.store64(s+aql.SignalValueOffset, code); err != nil {
		return err
	}
	a.q.dev.poller.changed()
	mailbox, err := v.load64(s + aql.SignalEventMailboxOffset)
	if err != nil {
		return err
	}
	event, err := v.load32(s + aql.SignalEventIDOffset)
	if err != nil {
		return err
	}
	return a.q.mailbox(mailbox, event)
}

// scratchState is the scratch part of the queue record.
type scratchState struct {
	tmpring  uint32
	srd      [4]uint32
	location uint64
	bytes    uint64
}

func (a *aqlQueue) scratchState() (s scratchState, err error) {
	var b [scratchFields]byte
	if err = a.q.vm.read(a.record+aql.ComputeTmpringSizeOffset, b[:]); err != nil {
		return
	}
	u32 := func(o int) uint32 { return *(*uint32)(unsafe.Pointer(&b[o-aql.ComputeTmpringSizeOffset])) }
	s.tmpring = u32(aql.ComputeTmpringSizeOffset)
	for i := range s.srd {
		s.srd[i] = u32(aql.ScratchResourceDescriptorOffset + 4*i)
	}
	s.location = uint64(u32(aql.ScratchBackingLocationOffset)) | uint64(u32(aql.ScratchBackingLocationOffset+4))<<32
	s.bytes = uint64(u32(aql.ScratchBackingByteSizeOffset)) | uint64(u32(aql.ScratchBackingByteSizeOffset+4))<<32
	return
}

// scratchFields is the length of the scratch fields in the queue record.
const scratchFields = aql.ScratchWave64LaneByteSizeOffset - aql.ComputeTmpringSizeOffset

// needScratch makes sure that the queue has scratch for waves of bytes each; ready is false while the runtime is asked for it.
func (a *aqlQueue) needScratch(bytes uint64, lanes int) (s scratchState, ready bool, err error) {
	if a.scratch {
		sig, err := a.q.vm.load64(a.record + aql.QueueInactiveSignalOffset)
		if err != nil {
			return s, false, err
		}
		v, err := a.q.vm.load64(sig + aql.SignalValueOffset)
		if err != nil || v != 0 {
			return s, false, err
		}
		a.scratch = false
	}
	if s, err = a.scratchState(); err != nil {
		return s, false, err
	}
	if wave := a.q.dev.scratchWaveBytes(s.tmpring); wave >= bytes && s.tmpring&0xfff != 0 && s.bytes >= wave {
		return s, true, nil
	}
	if len(a.flight) > 0 {
		return s, false, nil // running waves use the old scratch
	}
	code := aql.ErrScratch
	if lanes == 32 {
		code |= aql.ErrWave32
	}
	a.scratch = true
	if err := a.inactive(uint64(code)); err != nil {
		a.scratch = false
		return s, false, refuse(aql.ErrScratch, "packet %d needs %d bytes of scratch for each wave, and the queue has no signal to ask for it", a.next, bytes)
	}
	return s, false, nil
}

// scratchWaveBytes is the WAVESIZE of COMPUTE_TMPRING_SIZE in bytes.
func (d *Device) scratchWaveBytes(tmpring uint32) uint64 {
	if d.profile.GfxTargetVersion >= 120000 {
		return uint64(tmpring>>12&0x3ffff) * 256
	}
	if d.profile.GfxTargetVersion >= 110000 {
		return uint64(tmpring>>12&0x7fff) * 256
	}
	return uint64(tmpring>>12&0x1fff) * 1024
}
