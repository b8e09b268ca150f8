package silicon

import (
	"errors"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/abi/mqd"
	"github.com/pumice-gpu/pumice/abi/sdma"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// How much an SDMA queue moves before it lets go of its lock, and before a doorbell's ringer hands it to the queue's own task.
const (
	sdmaSlice  = 16 << 20
	sdmaInline = 64 << 10
)

// sdmaQueue fetches SDMA packets. Pointers are in bytes and never wrap.
type sdmaQueue struct {
	q       *queue
	ring    uint64 // VA
	bytes   uint64
	wptrVA  uint64
	rptr    uint64
	wptr    uint64
	polling bool
	done    uint64 // bytes of the current packet that are already copied, if it was cut short
	budget  int64
	buf     []uint32
	depth   int
}

func newSDMA(q *queue, s *mqd.SDMA) runner {
	e := &sdmaQueue{q: q, rptr: s.Rptr, wptr: s.Rptr}
	q.silence()
	e.load(s)
	return e
}

func (e *sdmaQueue) reload() error {
	s, err := mqd.DecodeSDMA(e.q.dev.mqdGen, unsafe.Slice((*uint32)(e.q.mqd), mqd.SDMAWords))
	if err == nil {
		e.load(&s)
	}
	return err
}

func (e *sdmaQueue) load(s *mqd.SDMA) {
	e.ring, e.bytes, e.wptrVA, e.q.rptr = s.RingBase, uint64(s.RingBytes), s.WptrAddr, s.RptrAddr
	// A doorbell that rang while the queue was off the chip was lost; the write pointer in memory was not.
	if e.wptrVA != 0 {
		if w, err := e.q.vm.load64(e.wptrVA); err == nil && w > e.wptr && w-e.rptr <= e.bytes {
			e.wptr = w
		}
	}
}

func (e *sdmaQueue) waits() bool      { return e.polling }
func (e *sdmaQueue) busy() bool       { return false }
func (e *sdmaQueue) position() uint64 { return e.rptr }

func (e *sdmaQueue) save() {
	w := unsafe.Slice((*uint32)(e.q.mqd), mqd.SDMAWords)
	mqd.StoreSDMAPointers(e.q.dev.mqdGen, w, e.rptr, e.wptr)
}

func (e *sdmaQueue) step(inline bool) (more bool, err error) {
	e.polling = false
	if bell := atomic.LoadUint64(e.q.bell); bell > e.wptr && !e.q.stopped {
		if bell-e.rptr > e.bytes || bell&3 != 0 {
			return false, refuse(aql.ErrPacketFormat, "SDMA write pointer %#x: the ring of %#x bytes is read at %#x", bell, e.bytes, e.rptr)
		}
		e.wptr = bell
	}
	e.budget = sdmaSlice
	if inline {
		e.budget = sdmaInline
	}
	for e.rptr < e.wptr && !e.q.stopped {
		n, err := e.packet(e.fetchRing, (e.wptr-e.rptr)/4)
		if errors.Is(err, errBudget) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if n == 0 {
			e.polling = true
			return false, nil
		}
		e.done = 0
		e.rptr += n * 4
		if err := e.q.vm.store64(e.q.rptr, e.rptr); err != nil {
			return false, err
		}
	}
	return false, nil
}

// errBudget cuts a packet short; it goes on at e.done.
var errBudget = errors.New("silicon: SDMA slice used up")

// fetchRing reads n dwords from dword offset at of the current packet.
func (e *sdmaQueue) fetchRing(at uint64, w []uint32) error {
	b := bytesOf(w)
	for pos := e.rptr + at*4; len(b) > 0; {
		off := pos % e.bytes
		n := min(uint64(len(b)), e.bytes-off)
		if err := e.q.vm.read(e.ring+off, b[:n]); err != nil {
			return err
		}
		b, pos = b[n:], pos+n
	}
	return nil
}

func bytesOf(w []uint32) []byte {
	if len(w) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&w[0])), len(w)*4)
}

// packet carries out the packet that fetch reads, of which avail dwords are there. It returns its length, 0 when it has to wait.
func (e *sdmaQueue) packet(fetch func(at uint64, w []uint32) error, avail uint64) (uint64, error) {
	var head [16]uint32
	if err := fetch(0, head[:min(avail, 4)]); err != nil {
		return 0, err
	}
	h := sdma.Header(head[0])
	n, ok := sdma.Dwords(h, head[3])
	if !ok {
		//fidelity: refused sdma-packets: tiled copies, SEM, SRBM_WRITE, PRE_EXE, PTEPDE, DATA_FILL_MULTI: ROCm's runtimes send none
		return 0, refuse(aql.ErrPacketFormat, "SDMA packet %#08x: operation %d (%s) sub-operation %d is not implemented", uint32(h), h.Op(), h.Op(), h.SubOp())
	}
	if uint64(n) > avail {
		return 0, refuse(aql.ErrPacketFormat, "SDMA %s of %d dwords, the ring has %d", h.Op(), n, avail)
	}
	w := head[:min(n, len(head))]
	switch h.Op() {
	case sdma.OpNop:
		return uint64(n), nil
	case sdma.OpWrite:
		if cap(e.buf) < n {
			e.buf = make([]uint32, n)
		}
		w = e.buf[:n]
	}
	if err := fetch(0, w); err != nil {
		return 0, err
	}
	skip, wait, err := e.execute(h, w)
	if err != nil || wait {
		return 0, err
	}
	if uint64(n)+uint64(skip) > avail {
		return 0, refuse(aql.ErrPacketFormat, "SDMA COND_EXE skips %d dwords, the ring has %d", skip, avail-uint64(n))
	}
	return uint64(n) + uint64(skip), nil
}

// execute carries out one packet; skip is the dwords behind it that a COND_EXE leaves out.
func (e *sdmaQueue) execute(h sdma.Header, w []uint32) (skip uint32, wait bool, err error) {
	v, d := e.q.vm, e.q.dev
	switch h.Op() {
	case sdma.OpCopy:
		if h.SubOp() == sdma.CopyLinearSubWin {
			return 0, false, e.rect(sdma.ReadCopyRect(w))
		}
		c := sdma.ReadCopy(w)
		begin := d.Clock()
		if err := e.copy(c.Dst, c.Src, uint64(c.Bytes)); err != nil {
			return 0, false, err
		}
		if c.Dst2 != 0 {
			if _, err := v.copy(c.Dst2, c.Src, uint64(c.Bytes)); err != nil {
				return 0, false, err
			}
		}
		e.observe(c.Dst, c.Src, uint64(c.Bytes), begin)
	case sdma.OpConstFill:
		f := sdma.ReadFill(w)
		if f.Size == 3 {
			return 0, false, refuse(aql.ErrPacketFormat, "SDMA CONST_FILL with reserved fill size 3")
		}
		begin := d.Clock()
		if err := v.fill(f.Dst, uint64(f.Bytes), f.Data, 1<<f.Size); err != nil {
			return 0, false, err
		}
		e.budget -= int64(f.Bytes)
		e.observe(f.Dst, 0, uint64(f.Bytes), begin)
	case sdma.OpWrite:
		err = v.write(sdma.ReadWrite(w)&^3, bytesOf(w[4:]))
		d.poller.changed()
	case sdma.OpFence:
		dst, data := sdma.ReadFence(w)
		err = v.store32(dst&^3, data)
		d.poller.changed()
	case sdma.OpTrap:
		if s := v.ctx.Load(); s != nil {
			d.interrupt(ih.SDMATrap(e.q.id.Engine, uint8(v.id), uint16(s.PASID), sdma.ReadTrap(w)))
		}
	case sdma.OpPollRegMem:
		return e.poll(sdma.ReadPoll(w))
	case sdma.OpAtomic:
		a := sdma.ReadAtomic(w)
		wait, err = v.atomic(a.Op, a.Addr, a.Src, a.Cmp, a.Loop)
		d.poller.changed()
		return 0, wait, err
	case sdma.OpTimestamp:
		switch h.SubOp() {
		case sdma.TimestampSet:
			// Setting the engine's local counter would make stamps of different engines differ.
			//fidelity: refused sdma-timestamp-set: the local counter cannot be set
			return 0, false, refuse(aql.ErrPacketFormat, "SDMA TIMESTAMP: the local counter cannot be set")
		default:
			err = v.store64(sdma.ReadTimestamp(w)&^7, d.Clock())
		}
	case sdma.OpCondExe:
		a, ref, n := sdma.ReadCondExe(w)
		x, err := v.load32(a &^ 3)
		if err == nil && x != ref {
			skip = n
		}
		return skip, false, err
	case sdma.OpIndirect:
		return 0, false, e.indirect(sdma.ReadIndirect(w))
	case sdma.OpGCR:
		// Caches are coherent with memory here.
	}
	return 0, false, err
}

// poll is POLL_REGMEM. Waiting on a register is refused but where the answer does not depend on its value.
//
// fidelity: approximate sdma-poll-retries: a limited retry count waits for ever
func (e *sdmaQueue) poll(p sdma.Poll) (uint32, bool, error) {
	if p.Func == sdma.Always {
		return 0, false, nil
	}
	if p.HDPFlush {
		return 0, false, nil // the flush is done when it is asked for
	}
	if !p.Memory {
		//fidelity: refused sdma-poll-reg: POLL_REGMEM on a register other than an HDP flush
		return 0, false, refuse(aql.ErrPacketFormat, "SDMA POLL_REGMEM on register %#x: registers cannot be polled", p.Addr)
	}
	x, err := e.q.vm.load32(p.Addr &^ 3)
	return 0, !p.Func.Holds(uint64(x&p.Mask), uint64(p.Ref)), err
}

// indirect runs a buffer. A wait inside it is not possible without keeping its position.
//
// fidelity: refused sdma-ib-wait: a packet of an indirect buffer that would have to wait stops the queue
func (e *sdmaQueue) indirect(a uint64, n uint32) error {
	if e.depth > 0 {
		return refuse(aql.ErrPacketFormat, "SDMA INDIRECT inside an indirect buffer")
	}
	e.depth++
	defer func() { e.depth-- }()
	budget := e.budget
	e.budget = 1 << 62 // a buffer is one packet: it is not cut
	defer func() { e.budget = budget }()
	for at := uint64(0); at < uint64(n); {
		start := a&^3 + at*4
		k, err := e.packet(func(o uint64, w []uint32) error { return e.q.vm.read(start+o*4, bytesOf(w)) }, uint64(n)-at)
		if err != nil {
			return err
		}
		if k == 0 {
			return refuse(aql.ErrPacketFormat, "SDMA packet at dword %d of an indirect buffer would wait", at)
		}
		at += k
	}
	return nil
}

// copy moves bytes within the budget of the step.
func (e *sdmaQueue) copy(dst, src, n uint64) error {
	for e.done < n {
		if e.budget <= 0 {
			return errBudget
		}
		m := min(n-e.done, 1<<20)
		done, err := e.q.vm.copy(dst+e.done, src+e.done, m)
		e.done += done // also before a fault: what was copied stays so, or pages that come and go would hold the copy up for ever
		e.budget -= int64(done)
		if err != nil {
			return err
		}
	}
	return nil
}

// rect is a sub-window copy, row by row.
func (e *sdmaQueue) rect(c sdma.CopyRect) error {
	if c.ElementLog2 > 4 {
		return refuse(aql.ErrPacketFormat, "SDMA sub-window copy of 2^%d-byte elements", c.ElementLog2)
	}
	begin := e.q.dev.Clock()
	at := func(w *sdma.Window, y, z uint32) uint64 {
		return w.Addr + (uint64(w.Z+z)*uint64(w.Slice)+uint64(w.Y+y)*uint64(w.Pitch)+uint64(w.X))<<c.ElementLog2
	}
	row := uint64(c.X) << c.ElementLog2
	for z := range c.Z {
		for y := range c.Y {
			if _, err := e.q.vm.copy(at(&c.Dst, y, z), at(&c.Src, y, z), row); err != nil {
				return err
			}
			e.budget -= int64(row)
		}
	}
	e.observe(at(&c.Dst, 0, 0), at(&c.Src, 0, 0), row*uint64(c.Y)*uint64(c.Z), begin)
	return nil
}

func (e *sdmaQueue) observe(dst, src, n, begin uint64) {
	if h := e.q.dev.cfg.Hooks.SDMA; h != nil {
		h(&SDMAInfo{Queue: e.q.id, VMID: e.q.vm.id, Dst: dst, Src: src, Bytes: n, Begin: begin, End: e.q.dev.Clock()})
	}
}

// copy moves n bytes from src to dst, forward; the ranges may overlap within one host-contiguous piece only. It returns how many it moved before
// an error.
func (v *vm) copy(dst, src, n uint64) (done uint64, err error) {
	v.guard.RLock()
	defer v.guard.RUnlock()
	defer caught(debug.SetPanicOnFault(true), dst, mem.Write, &err)
	for n > 0 {
		from, have, _, f := v.Translate(src, mem.Read)
		if f == nil {
			to, room, _, g := v.Translate(dst, mem.Write)
			if f = g; f == nil {
				m := min(n, have, room)
				copy(unsafe.Slice((*byte)(to), m), unsafe.Slice((*byte)(from), m))
				src, dst, n, done = src+m, dst+m, n-m, done+m
				continue
			}
		}
		f.Lane = -1
		return done, f
	}
	return done, nil
}

// fill stores a pattern of size bytes (1, 2 or 4) over n bytes; the pattern starts anew at va.
func (v *vm) fill(va, n uint64, data uint32, size int) error {
	var p [4]byte
	for i := range p {
		p[i] = byte(data >> (8 * (i % size)))
	}
	at := 0
	return v.use(va, n, mem.Write, func(b []byte) {
		k := min(len(b), 4)
		for i := range k {
			b[i] = p[(at+i)&3]
		}
		for k < len(b) {
			k += copy(b[k:], b[:k])
		}
		at += len(b)
	})
}

// atomic does one operation of the L2's atomic unit; wait is true when a looping compare-and-swap has not succeeded.
func (v *vm) atomic(op sdma.AtomicOp, va, src, cmp uint64, loop bool) (wait bool, err error) {
	base, wide, ok := op.Split()
	if !ok {
		return false, refuse(aql.ErrPacketFormat, "atomic operation %d is not implemented", op)
	}
	done := true
	if wide {
		err = v.word(va, 8, mem.Read|mem.Write, func(p unsafe.Pointer) {
			for {
				old := atomic.LoadUint64((*uint64)(p))
				done = old == cmp
				if atomic.CompareAndSwapUint64((*uint64)(p), old, op.Apply(old, src, cmp)) {
					return
				}
			}
		})
	} else {
		err = v.word(va, 4, mem.Read|mem.Write, func(p unsafe.Pointer) {
			for {
				old := atomic.LoadUint32((*uint32)(p))
				done = old == uint32(cmp)
				if atomic.CompareAndSwapUint32((*uint32)(p), old, uint32(op.Apply(uint64(old), src, cmp))) {
					return
				}
			}
		})
	}
	return loop && base == sdma.AtomicCmpSwap32 && !done, err
}
