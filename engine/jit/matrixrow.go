package jit

import (
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// Registers of the row loop: zmm0–7 are temporaries, B's vectors follow while there is room.
const firstB = 8

// halves is how many vectors sixteen columns are.
func (x *matrix) halves() int {
	if x.kind == matF64 {
		return 2
	}
	return 1
}

// steps are the entries of A and B that a row goes through: for integers, but sparse ones, two elements each.
func (x *matrix) steps() int {
	if x.kind == matInt && !x.m.Sparse {
		return x.a.k / 2
	}
	return x.a.k
}

// keeps tells whether some of B is kept in registers.
func (x *matrix) keeps() bool {
	switch x.kind {
	case matF32, matF64, matFlush, matInt:
		return !x.m.Sparse
	}
	return false
}

// keepB brings vectors of B's columns into registers, as many as there is room for.
func (x *matrix) keepB() {
	if !x.keeps() {
		return
	}
	for k := range x.steps() {
		for h := range x.halves() {
			if r := firstB + k*x.halves() + h; r < 32 {
				x.c.a.E(x86.VMOVDQU32, x86.L512, uint8(r), 0, x86.M(x86.R15, int32(k)*x.b.step+64*int32(h)), noMod)
			}
		}
	}
}

// aAt is A's element of step k, or half h of its vector where rows are spread.
func (x *matrix) aAt(k, h int) x86.RM {
	at := x86.M(x86.R12, int32(k)*x.a.step)
	if x.quad {
		return at.Add(64 * int32(h))
	}
	return at.Bcast()
}

// loadA is aAt in z.
func (x *matrix) loadA(z uint8, k, h int) {
	at := x.aAt(k, h).Plain()
	switch {
	case x.quad:
		x.c.a.E(x86.VMOVDQU32, x86.L512, z, 0, at, noMod)
	case x.a.size == 8:
		x.c.a.E(x86.VPBROADCASTQ, x86.L512, z, 0, at, noMod)
	default:
		x.c.a.E(x86.VPBROADCASTD, x86.L512, z, 0, at, noMod)
	}
}

// bAt is B's vector for step k, as it is or in a register. For a sparse A it begins with a load into r of which k it is.
func (x *matrix) bAt(k, h int, r x86.Reg) x86.RM {
	if x.m.Sparse {
		x.c.a.G(x86.MOV, 4, r, x.aAt(k, 0).Plain().Add(x.a.index))
		return x86.MX(x86.R15, r, 1, int32(k/2*4)*x.b.step+64*int32(h))
	}
	if n := firstB + k*x.halves() + h; n < 32 && x.keeps() {
		return x86.V(x86.Vec(n))
	}
	return x86.M(x86.R15, int32(k)*x.b.step+64*int32(h))
}

// row emits the sum of one row, or of a few.
func (x *matrix) row() {
	a := &x.c.a
	const L = x86.L512
	d := func(h int) x86.RM { return x86.M(x86.R13, 64*int32(h)) }
	switch x.kind {
	case matF32:
		a.E(x86.VMOVDQU32, L, 0, 0, d(0), noMod)
		for k := range x.a.k {
			x.loadA(1, k, 0)
			a.E(x86.VFMADD231PS, L, 0, 1, x.bAt(k, 0, 0), noMod)
		}
		a.E(x86.VMOVDQU32S, L, 0, 0, d(0), noMod)
	case matF64:
		a.E(x86.VMOVDQU64, L, 0, 0, d(0), noMod)
		a.E(x86.VMOVDQU64, L, 1, 0, d(1), noMod)
		for k := range x.a.k {
			x.loadA(2, k, 0)
			a.E(x86.VFMADD231PD, L, 0, 2, x.bAt(k, 0, 0), noMod)
			if x.quad {
				x.loadA(2, k, 1)
			}
			a.E(x86.VFMADD231PD, L, 1, 2, x.bAt(k, 1, 0), noMod)
		}
		a.E(x86.VMOVDQU64S, L, 0, 0, d(0), noMod)
		a.E(x86.VMOVDQU64S, L, 1, 0, d(1), noMod)
	case matInt:
		x.intRow()
	case matExact:
		x.exactRow()
	case matTrunc:
		x.truncRow()
	case matDouble:
		x.doubleRow()
	case matFlush:
		a.E(x86.VMOVDQU32, L, 0, 0, d(0), noMod)
		// NaNs end as one pattern, so the order of operands does not matter.
		prod := func(z uint8, k int) {
			r := x.bAt(k, 0, 0)
			if r.IsMem() {
				a.E(x86.VMOVDQU32, L, z, 0, r, noMod)
				r = x86.V(x86.Vec(z))
			}
			a.E(x86.VMULPS, L, z, r.Num(), x.aAt(k, 0), noMod)
		}
		for k := 0; k+x.group <= x.a.k; k += x.group {
			for i := range x.group {
				prod(uint8(1+i), k+i)
			}
			a.E(x86.VADDPS, L, 1, 1, x86.V(2), noMod)
			if x.group == 4 {
				a.E(x86.VADDPS, L, 3, 3, x86.V(4), noMod)
				a.E(x86.VADDPS, L, 1, 1, x86.V(3), noMod)
			}
			a.E(x86.VADDPS, L, 0, 0, x86.V(1), noMod)
		}
		a.E(x86.VMOVDQU32S, L, 0, 0, d(0), noMod)
	}
}

// intRow adds products of words, in two sums that are added at the end. With saturation the sum of products, which is far from overflow,
// is made first, and C added.
func (x *matrix) intRow() {
	a := &x.c.a
	const L = x86.L512
	a.E(x86.VPXORD, L, 2, 2, x86.V(2), noMod)
	if x.m.Clamp {
		a.E(x86.VPXORD, L, 0, 0, x86.V(0), noMod)
	} else {
		a.E(x86.VMOVDQU32, L, 0, 0, x86.M(x86.R13, 0), noMod)
	}
	for k := range x.steps() {
		r := x.bAt(k, 0, x86.RAX)
		if r.IsMem() {
			a.E(x86.VMOVDQU32, L, 1, 0, r, noMod)
			r = x86.V(1)
		}
		a.E(x86.VPDPWSSD, L, uint8(k&1*2), r.Num(), x.aAt(k, 0), noMod)
	}
	a.E(x86.VPADDD, L, 0, 0, x86.V(2), noMod)
	if x.m.Clamp { // overflow: both have one sign, and the sum the other
		a.E(x86.VMOVDQU32, L, 1, 0, x86.M(x86.R13, 64), noMod)
		a.E(x86.VPADDD, L, 2, 0, x86.V(1), noMod)
		a.E(x86.VPXORD, L, 3, 2, x86.V(1), noMod)
		a.E(x86.VPXORD, L, 0, 2, x86.V(0), noMod)
		a.E(x86.VPANDD, L, 0, 0, x86.V(3), noMod)
		a.E(x86.VPTESTMD, L, 1, 0, x.k32(1<<31), noMod)
		a.EI(x86.VPSRADI, L, 0, 1, x86.V(1), 31, noMod)
		a.E(x86.VPXORD, L, 1, 1, x.k32(1<<31-1), noMod)
		a.E(x86.VMOVDQU32, L, 2, 0, x86.V(1), x86.Masked(1))
		a.E(x86.VMOVDQU32, L, 0, 0, x86.V(2), noMod)
	}
	a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(x86.R13, 0), noMod)
}

// doubleRows is how many rows doubleRow makes.
const doubleRows = 4

// doubleRow adds the products of four rows in f64; each is exact, so that a fused step is the same as two. R8 and RDX go through the
// tables.
func (x *matrix) doubleRow() {
	a := &x.c.a
	const L, unroll = x86.L512, 4
	acc := func(r, h int) uint8 { return uint8(2*r + h) }
	for r := range 2 * doubleRows {
		a.E(x86.VPXORD, L, uint8(r), uint8(r), x86.V(x86.Vec(r)), noMod)
	}
	a.G(x86.MOV, 8, x86.R8, x86.R(x86.R12))
	a.G(x86.MOV, 8, x86.RDX, x86.R(x86.R15))
	a.G(x86.LEA, 8, x86.RCX, x86.M(x86.R12, int32(x.a.k)*x.a.step))
	top := a.NewLabel()
	a.Bind(top)
	for k := range int32(unroll) {
		for h := range int32(2) {
			a.E(x86.VMOVDQU64, L, uint8(16+h), 0, x86.M(x86.RDX, k*x.b.step+64*h), noMod)
		}
		for r := range doubleRows {
			a.E(x86.VPBROADCASTQ, L, 18, 0, x86.M(x86.R8, k*x.a.step+int32(8*r)), noMod)
			for h := range 2 {
				a.E(x86.VFMADD231PD, L, acc(r, h), 18, x86.V(x86.Vec(16+h)), noMod)
			}
		}
	}
	a.AluI(x86.ADD, 8, x86.R(x86.R8), unroll*x.a.step)
	a.AluI(x86.ADD, 8, x86.R(x86.RDX), unroll*x.b.step)
	a.Alu(x86.CMP, 8, x86.R8, x86.R(x86.RCX))
	a.Jcc(x86.NE, top)
	for r := range doubleRows {
		for h := range 2 {
			s := acc(r, h)
			at := x86.M(x86.R13, int32(64*r+32*h))
			a.E(x86.VCVTPS2PD, L, 16, 0, at, noMod)
			a.E(x86.VADDPD, L, s, s, x86.V(16), noMod)
			// A NaN is made anew, unless it was C's.
			a.EI(x86.VCMPPD, L, 1, s, x86.V(x86.Vec(s)), 3, noMod)
			a.E(x86.VPBROADCASTQ, L, s, 0, x86.ML(a.Const64(0xfff8<<48), 0), x86.Masked(1))
			a.EI(x86.VCMPPD, L, 1, 16, x86.V(16), 3, noMod)
			a.E(x86.VMOVDQU64, L, s, 0, x86.V(16), x86.Masked(1))
			a.E(x86.VCVTPD2PS, L, s, 0, x86.V(x86.Vec(s)), noMod)
			a.E(x86.VMOVDQU32S, x86.L256, s, 0, at, noMod)
		}
	}
}
