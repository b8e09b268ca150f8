package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// WMMA adds two exact products to an f32 sum with one rounding, pair after pair (package fp, wmmaDot). Products of f16 and bf16
// are exact in f64, but a sum of three numbers is not: it is made with the errors of its two additions, which are f64 numbers
// too, and rounded to odd, that is toward whichever neighbour ends in a one, so that the rounding to f32 sees whether anything was
// left below (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).

// widenExact makes f32 of the two halves of zmm0, with the sign bits of the operand's negate modifier flipped.
func (x *matrix) widenExact(bit uint8, w, q int, put func(z x86.Vec, e, q int)) {
	a := &x.c.a
	const L = x86.L512
	if x.m.A == ir.BF16 {
		a.EI(x86.VPSLLDI, L, 0, 1, x86.V(0), 16, noMod)
		a.E(x86.VPANDD, L, 2, 0, x86.ML(a.Const32(0xffff0000), 0).Bcast(), noMod)
	} else {
		a.EI(x86.VPSRLDI, L, 0, 4, x86.V(0), 16, noMod)
		for h, z := range []uint8{0, 4} {
			a.E(x86.VPMOVDW, L, z, 0, x86.V(3), noMod)
			a.E(x86.VCVTPH2PS, L, uint8(1+h), 0, x86.V(3), noMod)
		}
	}
	for h, neg := range []uint8{x.m.Neg, x.m.NegHi} {
		if neg&bit != 0 {
			a.E(x86.VPXORD, L, uint8(1+h), uint8(1+h), x86.ML(a.Const32(1<<31), 0).Bcast(), noMod)
		}
		put(x86.Vec(1+h), 2*w+h, q)
	}
}

// modifyC applies the modifiers of C to zmm0: absolute value, then negation.
func (x *matrix) modifyC() {
	a := &x.c.a
	if x.m.NegHi&4 != 0 {
		a.E(x86.VPANDD, x86.L512, 0, 0, x86.ML(a.Const32(1<<31-1), 0).Bcast(), noMod)
	}
	if x.m.Neg&4 != 0 {
		a.E(x86.VPXORD, x86.L512, 0, 0, x86.ML(a.Const32(1<<31), 0).Bcast(), noMod)
	}
}

// wmmaRow is the row at R13 for the sixteen columns of B at R15, eight at a time.
func (x *matrix) wmmaRow() {
	a := &x.c.a
	const (
		L                                                     = x86.L512
		c, p, q, uh, ul, th, tl, v, t0, t1, t2, one, even, c1 = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
	)
	op := func(i *x86.Inst, d, l, r uint8) { a.E(i, L, d, l, x86.V(x86.Vec(r)), noMod) }
	// twoSum is h = l+r and e = its error; it needs t0 and t1.
	twoSum := func(h, e, l, r uint8) {
		op(x86.VADDPD, h, l, r)
		op(x86.VSUBPD, t0, h, l)  // what came of r
		op(x86.VSUBPD, t1, h, t0) // what came of l
		op(x86.VSUBPD, t1, l, t1)
		op(x86.VSUBPD, t0, r, t0)
		op(x86.VADDPD, e, t1, t0)
	}
	// toOdd rounds h+e to odd, where h is the nearest to it.
	toOdd := func(h, e uint8) {
		op(x86.VPXORD, t0, t0, t0)
		a.EI(x86.VCMPPD, L, 1, e, x86.V(x86.Vec(t0)), 4, noMod)          // e is not 0
		a.E(x86.VPTESTNMQ, L, 1, h, x86.V(x86.Vec(even)), x86.Masked(1)) // and h ends in 0
		op(x86.VPXORQ, t0, h, e)
		a.EI(x86.VPSRAQI, L, 0, t0, x86.V(x86.Vec(t0)), 63, noMod)
		op(x86.VPORQ, t0, t0, even) // 1, or -1 when e takes away
		a.E(x86.VPADDQ, L, h, h, x86.V(x86.Vec(t0)), x86.Masked(1))
	}
	a.E(x86.VPBROADCASTQ, L, even, 0, x86.ML(a.Const64(1), 0), noMod)
	for h := range int32(2) {
		a.E(x86.VCVTPS2PD, L, c, 0, x86.M(x86.R13, 32*h), noMod)
		for k := 0; k+1 < len(x.a); k += 2 {
			for i, d := range []uint8{p, q} {
				a.E(x86.VCVTPS2PD, L, t0, 0, x86.M(x86.R12, 4*x.a[k+i]).Bcast(), noMod)
				a.E(x86.VCVTPS2PD, L, d, 0, x86.M(x86.R15, x.tb+4*x.b[k+i]+32*h), noMod)
				op(x86.VMULPD, d, d, t0)
			}
			twoSum(uh, ul, p, q)
			twoSum(th, tl, c, uh)
			op(x86.VMOVDQU64, c1, 0, th) // what there is to say with NaNs and infinities; c's NaN is the first
			twoSum(v, t2, tl, ul)
			toOdd(v, t2)
			twoSum(p, q, th, v)
			toOdd(p, q)
			op(x86.VPXORD, t0, t0, t0)
			op(x86.VADDPD, p, p, t0)                                         // -0 is 0
			a.EI(x86.VFPCLASSPD, L, 2, 0, x86.V(x86.Vec(c1)), 0x99, noMod)   // not finite
			a.E(x86.VMOVDQU64, L, p, 0, x86.V(x86.Vec(c1)), x86.Masked(2))   //
			a.EI(x86.VCMPPD, L, 2, c1, x86.V(x86.Vec(c1)), 3, x86.Masked(2)) // a NaN
			a.EI(x86.VCMPPD, L, 2, c, x86.V(x86.Vec(c)), 7, x86.Masked(2))   // that c was not
			a.E(x86.VPBROADCASTQ, L, p, 0, x86.ML(a.Const64(0xfff8<<48), 0), x86.Masked(2))
			a.E(x86.VCVTPD2PS, L, one, 0, x86.V(x86.Vec(p)), noMod)
			a.E(x86.VCVTPS2PD, L, c, 0, x86.V(x86.Vec(one)), noMod)
		}
		a.E(x86.VCVTPD2PS, L, one, 0, x86.V(x86.Vec(c)), noMod)
		a.E(x86.VMOVDQU32S, x86.L256, one, 0, x86.M(x86.R13, 32*h), noMod)
	}
}
