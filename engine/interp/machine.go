package interp

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// machine is the state of one worker.
type machine struct {
	base [4]unsafe.Pointer // by the top bits of a ref: frame, wave, constants
	n    int               // lanes
	full uint64
	w    *wave.Wave
	tlb  *mem.TLB
	lds  []byte

	ldsBase uintptr
	allHost bool // of the last translate: all lanes have a host address

	shared, private uint64 // aperture bases, 2^32-aligned; zero when there is none

	matrix [3][]uint64 // elements of A, B and D

	exit  ir.Exit
	fault mem.Fault
	text  string

	frame  []uint32
	consts []uint32      // of the running program; keeps it reachable
	host   [64]uintptr   // not in the Go heap
	quad   [2][64]uint64 // what loadQuads has read
	va     [64]uint64
	kind   [64]uint8
}

func (m *machine) p(r ref) unsafe.Pointer     { return unsafe.Add(m.base[r>>30], r&offMask) }
func (m *machine) lanes(r ref) *lanes         { return (*lanes)(m.p(r)) }
func (m *machine) s32(r ref) uint32           { return *(*uint32)(m.p(r)) }
func (m *machine) s64(r ref) uint64           { return *(*uint64)(m.p(r)) }
func (m *machine) set64(r ref, x uint64)      { *(*uint64)(m.p(r)) = x }
func (m *machine) temp(i int) *lanes          { return (*lanes)(unsafe.Add(m.base[0], i*laneBytes)) }
func (m *machine) temps(i int) unsafe.Pointer { return unsafe.Add(m.base[0], i*laneBytes) }

// mask returns a lane mask operand.
func (m *machine) mask(r ref) uint64 {
	if r == noRef {
		return m.full
	}
	return m.s64(r) & m.full
}

// optional returns the lanes of r, or nil.
func (m *machine) optional(r ref) *lanes {
	if r == noRef {
		return nil
	}
	return m.lanes(r)
}

// arg reads a uniform argument of width in.w.
func (m *machine) arg(r ref, w uint8) uint64 {
	switch w {
	case arg32:
		return uint64(m.s32(r))
	case arg64:
		return m.s64(r)
	}
	return 0
}

// enter points m at program p.
func (m *machine) enter(p *program) {
	m.n, m.full = p.lanes, p.full
	if need := p.frame/4 + 64; len(m.frame) < need {
		m.frame = alignedWords(need + need/2)
		m.base[0] = unsafe.Pointer(&m.frame[0])
	}
	m.consts = p.consts
	m.base[2] = unsafe.Pointer(&p.consts[0])
}

// execute runs p from block b until it leaves. The wave's PC and Arg are set for the exit.
func (m *machine) execute(p *program, bi int) ir.Exit {
	w := m.w
	m.enter(p)
	for {
		b := &p.blocks[bi]
		for i := range b.code {
			in := &b.code[i]
			if !in.run(m, in) {
				w.PC = p.f.PC + uint64(int64(int32(in.pc)))
				return m.exit
			}
		}
		w.Fuel -= b.insts
		t := b.term
		e := 0
		switch t.Kind {
		case ir.TermJump:
			bi = t.Then
		case ir.TermBranch:
			bi = t.Then
			if m.s64(b.cond)&1 == 0 {
				bi, e = t.Else, 1
			}
		default:
			return m.leave(p, b)
		}
		if b.back[e] {
			if m.tlb.Stale() {
				m.tlb.Sync()
			}
			if w.Fuel < 0 {
				w.PC = p.blocks[bi].pc
				return ir.ExitFuel
			}
		}
	}
}

// leave is a TermExit.
func (m *machine) leave(p *program, b *block) ir.Exit {
	w, t := m.w, b.term
	w.PC = p.f.PC + uint64(int64(int32(t.Next)))
	w.Arg = t.Imm
	switch t.Exit {
	case ir.ExitIndirect:
		w.PC = m.s64(b.cond) &^ 3
		w.Arg = w.PC
	case ir.ExitTrap:
		w.PC = p.f.PC + uint64(int64(int32(t.PC)))
	case ir.ExitIllegal:
		w.PC = p.f.PC + uint64(int64(int32(t.PC)))
		w.Illegal = t.Msg
	}
	return t.Exit
}

// stop ends the run at in with a memory fault.
func (m *machine) stop(f *mem.Fault, lane int) bool {
	m.exit, m.fault = ir.ExitFault, *f
	m.fault.Lane = lane
	return false
}

func runIllegal(m *machine, in *inst) bool {
	m.exit = ir.ExitIllegal
	m.text = "interp: " + in.v.Op.String() + " is not implemented"
	if s, ok := in.v.Aux.(string); ok {
		m.text = s
	}
	return false
}

func runNothing(*machine, *inst) bool { return true }

// Copies.

func runCopyS(m *machine, in *inst) bool {
	m.set64(in.d[0], m.s64(in.a[0]))
	return true
}

func runCopyS32(m *machine, in *inst) bool {
	m.set64(in.d[0], uint64(m.s32(in.a[0])))
	return true
}

func runSSet32(m *machine, in *inst) bool {
	*(*uint32)(m.p(in.d[0])) = m.s32(in.a[0])
	return true
}

func runSSet64(m *machine, in *inst) bool {
	m.set64(in.d[0], m.s64(in.a[0]))
	return true
}

func runPairS(m *machine, in *inst) bool {
	m.set64(in.d[0], uint64(m.s32(in.a[0]))|uint64(m.s32(in.b[0]))<<32)
	return true
}

func runSToM(m *machine, in *inst) bool {
	if in.imm == 1 {
		m.set64(in.d[0], uint64(m.s32(in.a[0]))&m.full)
	} else {
		m.set64(in.d[0], m.s64(in.a[0])&m.full)
	}
	return true
}

func runCopyV(m *machine, in *inst) bool {
	d, a := m.lanes(in.d[0]), m.lanes(in.a[0])
	if in.mask != noRef {
		if k := m.mask(in.mask); k != m.full {
			blend(d, a, k, m.n)
			return true
		}
	}
	if m.n == 64 {
		*d = *a
	} else {
		*(*[32]uint32)(unsafe.Pointer(d)) = *(*[32]uint32)(unsafe.Pointer(a))
	}
	return true
}

func runSplat(m *machine, in *inst) bool {
	w := m.s32(in.a[0])
	if haveAVX {
		avxSplat(m.lanes(in.d[0]), w)
		return true
	}
	x := uint64(w) | uint64(w)<<32
	d := (*[32]uint64)(m.p(in.d[0]))
	for i := 0; i < 32; i += 4 {
		d[i], d[i+1], d[i+2], d[i+3] = x, x, x, x
	}
	return true
}

func runTuple(m *machine, in *inst) bool {
	for i, a := range in.x.a {
		*m.lanes(in.x.regs[i]) = *m.lanes(a)
	}
	return true
}

// blend copies the lanes of mask.
func blend(d, s *lanes, mask uint64, n int) {
	if haveAVX {
		avxSelect(d, s, d, mask, n)
		return
	}
	if bits.OnesCount64(mask) <= 24 {
		for ; mask != 0; mask &= mask - 1 {
			l := bits.TrailingZeros64(mask) & 63
			d[l] = s[l]
		}
		return
	}
	dd, ss := d[:n], s[:n]
	for l := range dd {
		x := dd[l]
		if mask&1 != 0 {
			x = ss[l]
		}
		dd[l] = x
		mask >>= 1
	}
}

// State.

func runHWGet(m *machine, in *inst) bool {
	if m.w.Env == nil {
		return m.noEnv(in)
	}
	m.set64(in.d[0], uint64(m.w.Env.HWReg(m.w, uint32(in.imm))))
	return true
}

func runHWSet(m *machine, in *inst) bool {
	if m.w.Env == nil {
		return m.noEnv(in)
	}
	m.w.Env.SetHWReg(m.w, uint32(in.imm), m.s32(in.a[0]))
	return true
}

func runTime(m *machine, in *inst) bool {
	if m.w.Env == nil {
		return m.noEnv(in)
	}
	m.set64(in.d[0], m.w.Env.Time(in.imm))
	return true
}

func runMsg(m *machine, in *inst) bool {
	if m.w.Env == nil {
		return m.noEnv(in)
	}
	m.w.Env.Msg(m.w, uint32(in.imm), m.s32(in.a[0]))
	return true
}

func runMsgRtn(m *machine, in *inst) bool {
	if m.w.Env == nil {
		return m.noEnv(in)
	}
	x := m.w.Env.MsgRtn(m.w, uint32(in.imm))
	if in.v.Type == ir.S32 {
		x &= 0xffffffff
	}
	m.set64(in.d[0], x)
	return true
}

func (m *machine) noEnv(in *inst) bool {
	m.exit = ir.ExitIllegal
	m.text = fmt.Sprintf("%s: the wave has no environment", in.v.Op)
	return false
}

// Masks and truth values; in.imm has the bits that exist.

func runMAnd(m *machine, in *inst) bool {
	m.set64(in.d[0], m.s64(in.a[0])&m.s64(in.b[0]))
	return true
}

func runMOr(m *machine, in *inst) bool {
	m.set64(in.d[0], (m.s64(in.a[0])|m.s64(in.b[0]))&in.imm)
	return true
}

func runMXor(m *machine, in *inst) bool {
	m.set64(in.d[0], (m.s64(in.a[0])^m.s64(in.b[0]))&in.imm)
	return true
}

func runMNot(m *machine, in *inst) bool {
	m.set64(in.d[0], ^m.s64(in.a[0])&in.imm)
	return true
}

func runMIsZ(m *machine, in *inst) bool {
	m.set64(in.d[0], b2u(m.s64(in.a[0])&in.imm == 0))
	return true
}

func runMFull(m *machine, in *inst) bool {
	m.set64(in.d[0], b2u(m.s64(in.a[0])&in.imm == in.imm))
	return true
}

func b2u(b bool) uint64 {
	var x uint64
	if b {
		x = 1
	}
	return x
}

// runUniform runs a lane function once.
func runUniform(m *machine, in *inst) bool {
	x := in.fn(m.arg(in.a[0], in.w[0]), m.arg(in.b[0], in.w[1]), m.arg(in.c[0], in.w[2]), m.arg(in.e[0], in.w[3]))
	if in.res == arg32 {
		x &= 0xffffffff
	} else if in.v.Type == ir.S1 {
		x &= 1
	}
	m.set64(in.d[0], x)
	return true
}

// laneArg reads one lane of an argument.
func (m *machine) laneArg(r *[2]ref, w uint8, l int) uint64 {
	switch w {
	case argV32:
		return uint64(m.lanes(r[0])[l])
	case argV64:
		return uint64(m.lanes(r[0])[l]) | uint64(m.lanes(r[1])[l])<<32
	case argM:
		return m.s64(r[0]) >> uint(l) & 1
	case arg64:
		return m.s64(r[0])
	}
	return 0
}

// runLanes runs a lane function in every lane that is wanted.
func runLanes(m *machine, in *inst) bool {
	k := m.mask(in.mask)
	d0 := m.lanes(in.d[0])
	var d1 *lanes
	if in.res == argV64 {
		d1 = m.lanes(in.d[1])
	}
	for mm := k; mm != 0; mm &= mm - 1 {
		l := bits.TrailingZeros64(mm) & 63
		x := in.fn(m.laneArg(&in.a, in.w[0], l), m.laneArg(&in.b, in.w[1], l), m.laneArg(&in.c, in.w[2], l), m.laneArg(&in.e, in.w[3], l))
		d0[l] = uint32(x)
		if d1 != nil {
			d1[l] = uint32(x >> 32)
		}
	}
	return true
}

// runFn is runLanes for per-lane arguments only; results are written as lanes are done, arguments of a lane read first.
func runFn(m *machine, in *inst) bool {
	k := m.mask(in.mask)
	a0, b0, c0, e0 := &zeroLanes, &zeroLanes, &zeroLanes, &zeroLanes
	a1, b1, c1, e1 := a0, a0, a0, a0
	side := func(r *[2]ref, w uint8, lo, hi **lanes) {
		if w != argNone {
			*lo = m.lanes(r[0])
			if w == argV64 {
				*hi = m.lanes(r[1])
			}
		}
	}
	side(&in.a, in.w[0], &a0, &a1)
	side(&in.b, in.w[1], &b0, &b1)
	side(&in.c, in.w[2], &c0, &c1)
	side(&in.e, in.w[3], &e0, &e1)
	d0 := m.lanes(in.d[0])
	wide := in.res == argV64
	d1 := d0
	if wide {
		d1 = m.lanes(in.d[1])
	}
	fn := in.fn
	for l := range m.n {
		l &= 63
		if k>>uint(l)&1 == 0 {
			continue
		}
		x := fn(uint64(a0[l])|uint64(a1[l])<<32, uint64(b0[l])|uint64(b1[l])<<32, uint64(c0[l])|uint64(c1[l])<<32, uint64(e0[l])|uint64(e1[l])<<32)
		d0[l] = uint32(x)
		if wide {
			d1[l] = uint32(x >> 32)
		}
	}
	return true
}

// zeroLanes stands for absent arguments; nothing writes it.
var zeroLanes lanes

// runLanesM collects one bit from each lane.
func runLanesM(m *machine, in *inst) bool {
	var r uint64
	for l := range m.n {
		x := in.fn(m.laneArg(&in.a, in.w[0], l), m.laneArg(&in.b, in.w[1], l), m.laneArg(&in.c, in.w[2], l), m.laneArg(&in.e, in.w[3], l))
		r |= x & 1 << uint(l)
	}
	m.set64(in.d[0], r)
	return true
}

// runV32 runs a fast loop with 32-bit arguments and result.
func runV32(m *machine, in *inst) bool {
	a, b, c := m.optional(in.a[0]), m.optional(in.b[0]), m.optional(in.c[0])
	d := m.lanes(in.d[0])
	if in.mask != noRef {
		if k := m.mask(in.mask); k != m.full {
			if k != 0 {
				t := m.temp(0)
				in.k32(t, a, b, c, m.n)
				blend(d, t, k, m.n)
			}
			return true
		}
	}
	in.k32(d, a, b, c, m.n)
	return true
}

// runV64 runs a fast loop with a 64-bit result or arguments; missing halves are any valid memory.
func runV64(m *machine, in *inst) bool {
	a0, a1, b0, b1, c0, c1 := m.optional(in.a[0]), m.optional(in.a[1]), m.optional(in.b[0]), m.optional(in.b[1]), m.optional(in.c[0]), m.optional(in.c[1])
	d0, d1 := m.lanes(in.d[0]), m.optional(in.d[1])
	if in.mask != noRef {
		if k := m.mask(in.mask); k != m.full {
			if k != 0 {
				t0, t1 := m.temp(0), m.temp(1)
				in.k64(t0, t1, a0, a1, b0, b1, c0, c1, m.n)
				m.blendTo(in, k, t0, t1)
			}
			return true
		}
	}
	in.k64(d0, d1, a0, a1, b0, b1, c0, c1, m.n)
	return true
}

// blendTo copies results from t0, t1 to in's registers.
func (m *machine) blendTo(in *inst, k uint64, t0, t1 *lanes) {
	blend(m.lanes(in.d[0]), t0, k, m.n)
	if in.d[1] != noRef {
		blend(m.lanes(in.d[1]), t1, k, m.n)
	}
}

func runMask32(m *machine, in *inst) bool {
	x := in.km(m.lanes(in.a[0]), m.lanes(in.b[0]), m.n)
	m.set64(in.d[0], (x^-in.imm)&m.full)
	return true
}

// runSelect picks by a mask.
func runSelect(m *machine, in *inst) bool {
	k := m.s64(in.a[0])
	b, c := m.lanes(in.b[0])[:m.n], m.lanes(in.c[0])[:m.n]
	t := m.lanes(in.d[0])
	w := m.mask(in.mask)
	if w != m.full {
		t = m.temp(0)
	}
	if haveAVX {
		avxSelect(t, m.lanes(in.b[0]), m.lanes(in.c[0]), k, m.n)
	} else {
		d := t[:m.n]
		for l := range d {
			x := c[l]
			if k&1 != 0 {
				x = b[l]
			}
			d[l] = x
			k >>= 1
		}
	}
	if w != m.full {
		blend(m.lanes(in.d[0]), t, w, m.n)
	}
	return true
}

// runCarry is carry-out of a 32-bit addition or, with imm 1, borrow of a subtraction.
func runCarry(m *machine, in *inst) bool {
	a, b := m.lanes(in.a[0])[:m.n], m.lanes(in.b[0])[:m.n]
	var ci, r uint64
	if in.c[0] != noRef {
		ci = m.s64(in.c[0])
	}
	if in.imm == 0 {
		for l := range a {
			s := uint64(a[l]) + uint64(b[l]) + ci&1
			r |= s >> 32 << uint(l)
			ci >>= 1
		}
	} else {
		for l := range a {
			s := uint64(a[l]) - uint64(b[l]) - ci&1
			r |= s >> 63 << uint(l)
			ci >>= 1
		}
	}
	m.set64(in.d[0], r)
	return true
}
