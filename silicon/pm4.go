package silicon

import (
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/abi/mqd"
	"github.com/pumice-gpu/pumice/abi/pm4"
	"github.com/pumice-gpu/pumice/abi/sdma"
)

// pm4Machine carries out PM4 packets of one buffer. Registers that SET_SH_REG wrote live in regs (nil: the queue has none).
type pm4Machine struct {
	q    *queue
	regs *[pm4.ShRegEnd - pm4.ShRegBase]uint32
	// drain reports whether everything dispatched before has ended; nil means yes.
	drain func() bool
	// launch starts a DISPATCH_DIRECT; nil refuses it.
	launch func(dim [3]uint32, initiator uint32) (wait bool, err error)
	depth  int
	// ring: buffers go to frames, where packets that wait can be taken up again; otherwise they are carried out at once.
	ring   bool
	frames []frame
}

// frame is an indirect buffer under way.
type frame struct {
	w  []uint32
	at int
}

// next carries out the next packet of the innermost indirect buffer. Before, it removes those that have come to their end; done says that
// there was none other.
func (m *pm4Machine) next() (done, wait bool, err error) {
	for n := len(m.frames); n > 0 && m.frames[n-1].at == len(m.frames[n-1].w); n-- {
		m.frames = m.frames[:n-1]
	}
	if len(m.frames) == 0 {
		return true, false, nil
	}
	i := len(m.frames) - 1
	f := m.frames[i]
	n, wait, err := m.packet(f.w[f.at:])
	if !wait && err == nil {
		m.frames[i].at += n
	}
	return false, wait, err
}

// run carries out a buffer of packets that cannot be interrupted: wait means that a packet waits, and nothing before it that must not be
// repeated was done.
func (m *pm4Machine) run(w []uint32) (wait bool, err error) {
	for at := 0; at < len(w); {
		n, wait, err := m.packet(w[at:])
		if err != nil || wait {
			return wait, err
		}
		at += n
	}
	return false, nil
}

// packet carries out the first packet of w and returns its length.
func (m *pm4Machine) packet(w []uint32) (n int, wait bool, err error) {
	h := pm4.Header(w[0])
	n = h.Dwords()
	if h.Type() == 2 {
		return 1, false, nil
	}
	if h.Type() != 3 {
		return 0, false, refuse(aql.ErrPacketFormat, "PM4 packet %#08x: type %d is not for user queues", w[0], h.Type())
	}
	if n > len(w) {
		return 0, false, refuse(aql.ErrPacketFormat, "PM4 %s of %d dwords, the buffer has %d", h.Op(), n, len(w))
	}
	b := w[1:n]
	if len(b) < pm4.MinBody(h.Op()) {
		return 0, false, refuse(aql.ErrPacketFormat, "PM4 %s with a body of %d dwords, needs %d", h.Op(), len(b), pm4.MinBody(h.Op()))
	}
	v, d := m.q.vm, m.q.dev
	switch h.Op() {
	case pm4.OpNop, pm4.OpPFPSyncME, pm4.OpClearState:
	case pm4.OpIndirectBuffer:
		wait, err = m.indirect(pm4.ReadIndirectBuffer(b))
	case pm4.OpAcquireMem:
		if pm4.ReadAcquireMem(b).InstructionCache() && d.cfg.Engine != nil {
			if s := v.ctx.Load(); s != nil {
				d.cfg.Engine.InvalidateCode(s.space)
			}
		}
	case pm4.OpReleaseMem:
		if !m.drained() {
			return n, true, nil
		}
		err = m.release(pm4.ReadReleaseMem(b))
	case pm4.OpEventWrite:
		// Events are flushes of pipeline stages: all mean "wait until what was dispatched has ended".
		wait = !m.drained()
	case pm4.OpWriteData:
		err = m.writeData(pm4.ReadWriteData(b))
	case pm4.OpWaitRegMem:
		p := pm4.ReadWaitRegMem(b)
		if f := sdma.Compare(p.Func); f != sdma.Always {
			if !p.Memory {
				//fidelity: refused pm4-wait-reg: WAIT_REG_MEM on a register: user queues poll memory; registers are the kernel driver's
				return 0, false, refuse(aql.ErrPacketFormat, "PM4 WAIT_REG_MEM on register %#x: registers cannot be polled", p.Addr)
			}
			x, e := v.load32(p.Addr &^ 3)
			wait, err = !f.Holds(uint64(x&p.Mask), uint64(p.Ref)), e
		}
	case pm4.OpCopyData:
		err = m.copyData(pm4.ReadCopyData(b))
	case pm4.OpAtomicMem:
		a := pm4.ReadAtomicMem(b)
		wait, err = v.atomic(sdma.AtomicOp(a.Op), a.Addr, a.Src, a.Cmp, a.Loop)
		d.poller.changed()
	case pm4.OpSetShReg:
		at := int(b[0] & 0xffff)
		if m.regs == nil || at+len(b)-1 > len(m.regs) {
			return 0, false, refuse(aql.ErrPacketFormat, "PM4 SET_SH_REG of %d registers at %#x", len(b)-1, pm4.ShRegBase+at)
		}
		copy(m.regs[at:], b[1:])
	case pm4.OpDispatchDirect:
		if m.launch == nil {
			return 0, false, refuse(aql.ErrPacketFormat, "PM4 DISPATCH_DIRECT in an AQL queue")
		}
		wait, err = m.launch([3]uint32{b[0], b[1], b[2]}, b[3])
	default:
		return 0, false, refuse(aql.ErrPacketFormat, "PM4 packet %#08x: operation %#x (%s) is not implemented", w[0], uint8(h.Op()), h.Op())
	}
	return n, wait, err
}

func (m *pm4Machine) drained() bool { return m.drain == nil || m.drain() }

func (m *pm4Machine) indirect(ib pm4.IndirectBuffer) (wait bool, err error) {
	if m.depth+len(m.frames) >= 4 {
		return false, refuse(aql.ErrPacketFormat, "PM4 INDIRECT_BUFFER nested %d deep", m.depth+len(m.frames)+1)
	}
	w := make([]uint32, ib.Dwords)
	if err := m.q.vm.read(ib.Addr, bytesOf(w)); err != nil {
		return false, err
	}
	if m.ring {
		m.frames = append(m.frames, frame{w: w})
		return false, nil
	}
	m.depth++
	defer func() { m.depth-- }()
	return m.run(w)
}

func (m *pm4Machine) release(r pm4.ReleaseMem) (err error) {
	v, d := m.q.vm, m.q.dev
	switch r.DataSel {
	case pm4.DataNone:
	case pm4.Data32:
		err = v.store32(r.Addr&^3, uint32(r.Data))
	case pm4.Data64:
		err = v.store64(r.Addr&^7, r.Data)
	case pm4.DataClock:
		err = v.store64(r.Addr&^7, d.Clock())
	default:
		return refuse(aql.ErrPacketFormat, "PM4 RELEASE_MEM with data select %d", r.DataSel)
	}
	d.poller.changed()
	if err == nil && (r.IntSel == 1 || r.IntSel == 2) {
		if s := v.ctx.Load(); s != nil {
			d.interrupt(ih.EndOfPipe(uint8(v.id), uint16(s.PASID), r.ContextID))
		}
	}
	return err
}

func (m *pm4Machine) writeData(x pm4.WriteData) error {
	if x.Dst != pm4.SelMemory && x.Dst != pm4.SelL2 && x.Dst != pm4.SelMemAsync {
		return refuse(aql.ErrPacketFormat, "PM4 WRITE_DATA to destination %d", x.Dst)
	}
	defer m.q.dev.poller.changed()
	if !x.Same {
		return m.q.vm.write(x.Addr&^3, bytesOf(x.Data))
	}
	for _, w := range x.Data {
		if err := m.q.vm.store32(x.Addr&^3, w); err != nil {
			return err
		}
	}
	return nil
}

func (m *pm4Machine) copyData(c pm4.CopyData) (err error) {
	v := m.q.vm
	var x uint64
	switch c.Src {
	case pm4.SelMemory, pm4.SelL2:
		if c.Wide {
			x, err = v.load64(c.SrcAddr &^ 7)
		} else {
			var y uint32
			y, err = v.load32(c.SrcAddr &^ 3)
			x = uint64(y)
		}
	case pm4.SelImm:
		x = c.SrcAddr
	case pm4.SelClock:
		x = m.q.dev.Clock()
	default:
		return refuse(aql.ErrPacketFormat, "PM4 COPY_DATA from source %d", c.Src)
	}
	if err != nil {
		return err
	}
	if c.Dst != pm4.SelMemory && c.Dst != pm4.SelL2 && c.Dst != pm4.SelMemAsync {
		return refuse(aql.ErrPacketFormat, "PM4 COPY_DATA to destination %d", c.Dst)
	}
	defer m.q.dev.poller.changed()
	if c.Wide {
		return v.store64(c.DstAddr&^7, x)
	}
	return v.store32(c.DstAddr&^3, uint32(x))
}

// pm4Queue fetches PM4 from a ring. Its pointers count dwords; the doorbell's value is the write pointer.
//
// As on the chip, whose prefetch parser runs ahead of its micro engine, the read pointer says what has been fetched, not what has been
// carried out.
type pm4Queue struct {
	shaderState
	q       *queue
	fetched []uint32 // and not carried out
	ring    uint64
	words   uint64
	wptrVA  uint64
	rptr    uint64
	wptr    uint64
	polling bool
	m       pm4Machine
	regs    [pm4.ShRegEnd - pm4.ShRegBase]uint32
}

func newPM4(q *queue, c *mqd.Compute) (runner, error) {
	p := &pm4Queue{q: q, rptr: c.Wptr}
	q.silence()
	p.load(c)
	// The MQD's rptr is a position in the ring; its wptr, which never wraps, says in which round.
	if back := (c.Wptr - uint64(c.Rptr)) % p.words; back <= c.Wptr {
		p.rptr = c.Wptr - back
	}
	p.wptr = p.rptr
	p.m = pm4Machine{q: q, regs: &p.regs, drain: func() bool { return len(q.pending) == 0 }, launch: p.launch, ring: true}
	p.load(c)
	return p, nil
}

func (p *pm4Queue) reload() error {
	c, err := mqd.DecodeCompute(p.q.dev.mqdGen, unsafe.Slice((*uint32)(p.q.mqd), mqd.ComputeWords))
	if err == nil {
		p.load(&c)
	}
	return err
}

func (p *pm4Queue) load(c *mqd.Compute) {
	p.ring, p.words, p.wptrVA, p.q.rptr = c.RingBase, uint64(c.RingBytes)/4, c.WptrAddr, c.RptrAddr
	p.cuMask.Store(&c.CUMask)
	if p.wptrVA != 0 {
		if w, err := p.q.vm.load64(p.wptrVA); err == nil && w > p.wptr && w-p.rptr <= p.words {
			p.wptr = w
		}
	}
}

func (p *pm4Queue) waits() bool      { return p.polling }
func (p *pm4Queue) busy() bool       { return len(p.q.pending) > 0 }
func (p *pm4Queue) position() uint64 { return (p.rptr - uint64(len(p.fetched))) * 4 }

func (p *pm4Queue) save() {
	w := unsafe.Slice((*uint32)(p.q.mqd), mqd.ComputeWords)
	mqd.StorePointers(w, uint32(p.rptr%p.words), p.rptr)
}

func (p *pm4Queue) step(bool) (more bool, err error) {
	p.polling = false
	if bell := atomic.LoadUint64(p.q.bell); bell > p.wptr && !p.q.stopped {
		if bell-p.rptr > p.words {
			return false, refuse(aql.ErrPacketFormat, "PM4 write pointer %#x: the ring of %#x dwords is read at %#x", bell, p.words, p.rptr)
		}
		p.wptr = bell
	}
	if n := p.wptr - p.rptr; p.rptr < p.wptr && !p.q.stopped {
		w := make([]uint32, n)
		if err := p.fetch(w); err != nil {
			return false, err
		}
		p.fetched = append(p.fetched, w...)
		p.rptr = p.wptr
		if err := p.q.vm.store32(p.q.rptr, uint32(p.rptr%p.words)); err != nil {
			return false, err
		}
	}
	for !p.q.stopped {
		done, wait, err := p.m.next()
		if done {
			if len(p.fetched) == 0 {
				return false, nil
			}
			var n int
			if n, wait, err = p.m.packet(p.fetched); err == nil && !wait {
				p.fetched = p.fetched[n:]
			}
		}
		if err != nil {
			return false, err
		}
		if wait {
			p.polling = true
			return false, nil
		}
	}
	return false, nil
}

// fetch reads from the read pointer on.
func (p *pm4Queue) fetch(w []uint32) error {
	for at := p.rptr; len(w) > 0; {
		off := at % p.words
		n := min(uint64(len(w)), p.words-off)
		if err := p.q.vm.read(p.ring+off*4, bytesOf(w[:n])); err != nil {
			return err
		}
		w, at = w[n:], at+n
	}
	return nil
}
