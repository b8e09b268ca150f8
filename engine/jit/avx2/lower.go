// Package avx2 lets the code generator, which speaks AVX-512, run on CPUs that have AVX2 only: each vector or mask instruction is
// lowered to instructions of 256 bits that do the same.
//
// # Registers
//
// A zmm register is two halves. The first Regs of the 32 live in ymm0 to ymm11; the others live in memory, in the frame that RSI
// points to, and are brought into temporaries (ymm12 to ymm15) as they are used. The code generator's allocator takes low numbers
// first, so that what is used most is in ymm registers.
//
// A mask register is a vector in the frame: all ones in the dwords of its lanes, which a blend or a masked move takes as it is. Sixteen bits of
// memory or of a general register, which EXEC's pieces are, are turned into one by a comparison. Masks of bytes are vectors of bytes; the
// code generator does not mix the two. A mask that comes from 64 bits keeps them behind the vector, for shifts.
//
// RBP is a temporary; flags survive what they survive on AVX-512, but for tests of masks (which set them there too), scatters, compressions,
// and arithmetic with a rounding mode of its own.
//
// # What cannot be done
//
// An instruction that is not lowered is told to Unsupported and nothing is emitted: the code generator then leaves the operation to the
// interpreter.
package avx2

import (
	"encoding/binary"

	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// Regs is how many zmm registers are in ymm registers.
const Regs = 6

// Bytes of the frame that a Lowering needs.
const (
	maskBytes = 96 // vector, then 64 bits
	maskBits  = 64 // offset of the bits
	offMasks  = 0
	offZ      = offMasks + 8*maskBytes
	offTmp    = offZ + 64*32 // scratch: 256 bytes
	offCSR    = offTmp + 256
	FrameSize = offCSR + 64
)

// Temporaries.
const (
	t0 = 12
	t1 = 13
	t2 = 14
	t3 = 15
)

const tmpG = x86.RBP

// Lowering lowers for one assembler. The zero value with its fields set is ready.
type Lowering struct {
	A     *x86.Asm
	Frame x86.Reg // holds the address of the frame
	Off   int32   // where the Lowering's FrameSize bytes begin in it, a multiple of 64
	// Unsupported is told the name of an instruction that is not lowered.
	Unsupported func(name string)
}

// op is one instruction to lower.
type op struct {
	*Lowering
	i       *x86.Inst
	l       x86.VL
	reg, vv uint8
	m       x86.RM
	imm     uint8
	mod     x86.Mod
}

// Lower is the assembler's hook.
func (lo *Lowering) Lower(i *x86.Inst, l x86.VL, reg, vv uint8, m x86.RM, imm uint8, mod x86.Mod) {
	h := handlers[i]
	if h == nil {
		lo.Unsupported(i.Name())
		return
	}
	o := &op{lo, i, l, reg, vv, m, imm, mod}
	if mod.Round() > x86.RoundDyn && mod.Round() < x86.SAE {
		o.rounded(h)
		return
	}
	h(o)
}

// unsupported gives the instruction up.
func (o *op) unsupported() { o.Unsupported(o.i.Name()) }

func (lo *Lowering) raw(i *x86.Inst, reg, vv uint8, m x86.RM) { lo.A.Raw(i, x86.L256, reg, vv, m, 0) }

func (lo *Lowering) rawI(i *x86.Inst, reg, vv uint8, m x86.RM, imm uint8) {
	lo.A.Raw(i, x86.L256, reg, vv, m, imm)
}

func (lo *Lowering) xmm(i *x86.Inst, reg, vv uint8, m x86.RM, imm uint8) {
	lo.A.Raw(i, x86.L128, reg, vv, m, imm)
}

// at is memory of the frame.
func (lo *Lowering) at(off int32) x86.RM { return x86.M(lo.Frame, lo.Off+off) }

// half is half h of zmm register v: a ymm register or memory.
func (lo *Lowering) half(v uint8, h int) x86.RM {
	if v < Regs {
		return x86.V(x86.Vec(2*int(v) + h))
	}
	return lo.at(offZ + 64*int32(v) + 32*int32(h))
}

// load brings half h of v into a ymm register: its own, or t.
func (lo *Lowering) load(v uint8, h int, t uint8) uint8 {
	if v < Regs {
		return 2*v + uint8(h)
	}
	lo.raw(x86.VMOVDQU, t, 0, lo.half(v, h))
	return t
}

// copyTo brings half h of v into t itself.
func (lo *Lowering) copyTo(v uint8, h int, t uint8) { lo.raw(x86.VMOVDQU, t, 0, lo.half(v, h)) }

// into is the ymm register in which half h of v can be made: its own, or t; done stores it.
func (lo *Lowering) into(v uint8, h int, t uint8) uint8 {
	if v < Regs {
		return 2*v + uint8(h)
	}
	return t
}

func (lo *Lowering) done(v uint8, h int, t uint8) {
	if v >= Regs {
		lo.raw(x86.VMOVDQUS, t, 0, lo.half(v, h))
	} else if t != 2*v+uint8(h) {
		lo.raw(x86.VMOVDQU, 2*v+uint8(h), 0, x86.V(x86.Vec(t)))
	}
}

// zero clears half h of v.
func (lo *Lowering) zero(v uint8, h int) {
	t := lo.into(v, h, t3)
	lo.raw(x86.VPXOR, t, t, x86.V(x86.Vec(t)))
	lo.done(v, h, t)
}

// halves is how many halves of a register the instruction works on.
func (o *op) halves() int {
	if o.l == x86.L512 {
		return 2
	}
	return 1
}

// clearUpper does what every instruction shorter than 512 bits does to the rest of its destination.
func (o *op) clearUpper() {
	if o.l != x86.L512 {
		o.zero(o.reg, 1)
	}
}

// src is half h of the r/m operand for an instruction on elements of size bytes; t is for a broadcast.
func (o *op) src(h int, size int, t uint8) x86.RM {
	switch {
	case !o.m.IsMem():
		return o.half(o.m.Num(), h)
	case o.m.HasBcast():
		if h == 0 || t != t2 { // t2 keeps it from the first half
			inst := x86.VPBROADCASTD
			if size == 8 {
				inst = x86.VPBROADCASTQ
			}
			o.raw(inst, t, 0, o.m.Plain())
		}
		return x86.V(x86.Vec(t))
	}
	return o.m.Add(32 * int32(h))
}

// refill makes t2 hold a broadcast operand again, for the second half, where the first one's code took the register.
func (o *op) refill(size int) {
	if o.m.HasBcast() {
		o.src(0, size, t2)
	}
}

// srcReg is src in a register.
func (o *op) srcReg(h int, size int, t uint8) uint8 {
	m := o.src(h, size, t)
	if !m.IsMem() {
		return m.Num()
	}
	o.raw(x86.VMOVDQU, t, 0, m)
	return t
}

// write makes t, the result of half h for elements of size bytes, the destination's, under the instruction's mask. t1 and t3 are used.
func (o *op) write(h int, size int, t uint8) {
	if o.mod.K() == 0 {
		o.done(o.reg, h, t)
		return
	}
	k := o.maskHalf(o.mod.K(), h, size, t3)
	if o.mod.Z() {
		d := o.into(o.reg, h, t0) // t may be the source itself
		o.raw(x86.VPAND, d, t, k)
		o.done(o.reg, h, d)
		return
	}
	// The blend takes its mask in a register.
	if k.IsMem() {
		o.raw(x86.VMOVDQU, t3, 0, k)
	}
	old := o.load(o.reg, h, t1)
	d := o.into(o.reg, h, t0)
	o.rawI(x86.VPBLENDVB, d, old, x86.V(x86.Vec(t)), t3<<4)
	o.done(o.reg, h, d)
}

// rounded does an instruction with a rounding mode of its own.
func (o *op) rounded(h func(*op)) {
	a := o.A
	a.Stmxcsr(o.at(offCSR))
	a.G(x86.MOV, 4, tmpG, o.at(offCSR))
	a.AluI(x86.AND, 4, x86.R(tmpG), ^int32(3<<13))
	// nearest, down, up, zero
	if rc := int32(o.mod.Round() - x86.RoundNearest); rc != 0 {
		a.AluI(x86.OR, 4, x86.R(tmpG), rc<<13)
	}
	a.GS(x86.MOVS, 4, o.at(offCSR+4), tmpG)
	a.Ldmxcsr(o.at(offCSR + 4))
	h(o)
	a.Ldmxcsr(o.at(offCSR))
}

// const32 is a memory operand of eight equal dwords, const64 of four equal qwords.
func (lo *Lowering) const32(x uint32) x86.RM {
	var b [32]byte
	for i := 0; i < len(b); i += 4 {
		binary.LittleEndian.PutUint32(b[i:], x)
	}
	return x86.ML(lo.A.Const(b[:], 32), 0)
}

func (lo *Lowering) const64(x uint64) x86.RM {
	var b [32]byte
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], x)
	}
	return x86.ML(lo.A.Const(b[:], 32), 0)
}

// splat is const32 or const64 by the size of elements.
func (lo *Lowering) splat(size int, x uint64) x86.RM {
	if size == 8 {
		return lo.const64(x)
	}
	return lo.const32(uint32(x))
}

// table8 is a memory operand of eight dwords.
func (lo *Lowering) table8(t [8]uint32) x86.RM {
	var b [32]byte
	for i, x := range t {
		binary.LittleEndian.PutUint32(b[4*i:], x)
	}
	return x86.ML(lo.A.Const(b[:], 32), 0)
}

func vr(t uint8) x86.RM { return x86.V(x86.Vec(t)) }
