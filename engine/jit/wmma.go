package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// WMMA adds two exact products to an f32 sum with one rounding, pair after pair (package fp, wmmaDot); CDNA1 does with its bf16, and with
// four products of f16 (exactDot). Products are exact in f64, but their sum is not. It is made twice, with all additions rounded down and
// all rounded up. The exact sum is between the two, so when both round to the same f32 it does too: that is the result. It nearly always
// is, as f64 has 29 bits more. Where they differ, and where there are NaNs, the row is done by a slower way (WMMA), or the operation by the helper.

// exactRow is the row at R13 for the sixteen columns of B at R15, eight at a time.
func (x *matrix) exactRow() {
	a := &x.c.a
	const (
		L                  = x86.L512
		c, up, down, t     = 0, 2, 4, 6 // and one more each: by half
		factor, lo, hi     = 8, 12, 14
		differ, zero, join = 16, 17, 18
	)
	op := func(i *x86.Inst, d, l, r uint8) { a.E(i, L, d, l, x86.V(x86.Vec(r)), noMod) }
	rounded := func(i *x86.Inst, d, l, r uint8, to x86.Round) { a.E(i, L, d, l, x86.V(x86.Vec(r)), x86.Rounded(to)) }
	op(x86.VPXORD, zero, zero, zero)
	op(x86.VPXORD, differ, differ, differ)
	for h := range uint8(2) {
		a.E(x86.VCVTPS2PD, L, c+h, 0, x86.M(x86.R13, 32*int32(h)), noMod)
		op(x86.VADDPD, c+h, c+h, zero) // -0 is 0
	}
	for k := 0; k < x.a.k; k += x.group {
		n := min(x.group, x.a.k-k)
		var b [4]x86.RM
		for i := range n {
			x.loadA(uint8(factor+i), k+i, 0)
			b[i] = x.bAt(k+i, 0, []x86.Reg{x86.RAX, x86.RCX, x86.RDX, x86.R8}[i])
		}
		for h := range uint8(2) {
			at := func(i int) x86.RM { return b[i].Add(64 * int32(h)) }
			for i := range n {
				if x.quad && h > 0 {
					x.loadA(uint8(factor+i), k+i, 1)
				}
			}
			a.E(x86.VMULPD, L, up+h, factor, at(0), noMod)
			op(x86.VMOVDQU64, down+h, 0, up+h)
			for i := 1; i < n; i++ {
				a.E(x86.VMOVDQU64, L, t+h, 0, at(i), noMod)
				rounded(x86.VFMADD231PD, down+h, uint8(factor+i), t+h, x86.RoundDown)
				rounded(x86.VFMADD231PD, up+h, uint8(factor+i), t+h, x86.RoundUp)
			}
			if k > 0 && x.m.A == ir.BF16 { // a sum too small for f32 may have become -0
				op(x86.VADDPD, c+h, c+h, zero)
			}
			rounded(x86.VADDPD, down+h, down+h, c+h, x86.RoundDown)
			rounded(x86.VADDPD, up+h, up+h, c+h, x86.RoundUp)
			op(x86.VADDPD, down+h, down+h, zero)
			op(x86.VCVTPD2PS, lo+h, 0, down+h)
			op(x86.VCVTPD2PS, hi+h, 0, up+h)
			op(x86.VCVTPS2PD, c+h, 0, hi+h)
			a.EI(x86.VPTERNLOGD, L, differ, lo+h, x86.V(x86.Vec(hi+h)), 0xf6, noMod) // or with the difference
		}
	}
	next, slow := a.NewLabel(), x.unsure
	if !x.watch {
		slow = a.NewLabel()
		x.c.tails = append(x.c.tails, func() {
			a.Bind(slow)
			x.pairsRow()
			a.Jmp(next)
		})
	}
	a.EI(x86.VINSERTI64X4, L, join, hi, x86.V(hi+1), 1, noMod)
	a.EI(x86.VCMPPS, L, 1, join, x86.V(join), 3, noMod)
	a.E(x86.VPTESTMD, L, 2, differ, x86.V(differ), noMod)
	a.X(x86.KORTESTW, x86.L128, 1, 0, x86.KR(2))
	a.Jcc(x86.NE, slow)
	a.E(x86.VMOVDQU32S, L, join, 0, x86.M(x86.R13, 0), noMod)
	a.Bind(next)
}

// pairsRow is exactRow for pairs, for any numbers. The sum of three is made with the errors of its two additions, which are f64 numbers too, and rounded
// to odd, that is toward whichever neighbour ends in a one, so that the rounding to f32 sees whether anything was
// left below (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
func (x *matrix) pairsRow() {
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
		for k := 0; k+1 < x.a.k; k += 2 {
			for i, d := range []uint8{p, q} {
				a.E(x86.VMOVDQU64, L, d, 0, x.bAt(k+i, int(h), x86.RAX), noMod)
				a.E(x86.VMULPD, L, d, d, x.aAt(k+i, int(h)), noMod)
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
