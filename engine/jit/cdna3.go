package jit

import (
	"math"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// CDNA3 adds up to eight products of f16 or bf16 in fixed point (package fp, truncDot): they are cut to 24 bits below the largest
// exponent of theirs, their sum and the accumulator to 31 and 24 bits below the larger exponent of both, and the whole is rounded once.
// Products are exact in f64, and so are all sums of what is left of them, so it is f64 arithmetic with scaling by exponents and
// truncation. An exponent is that of the formats' fields: of a product the sum of its factors', though the product may be larger, and
// of a denormal the smallest. Tables of them stand behind the tables of numbers.

// Exponents of zeros and of what is not finite, in the tables: so low that a sum shows it, and any.
const truncZero = -10000

// exponents puts the exponents of the elements z, sixteen f32, into zmm5.
func (x *matrix) exponents(z x86.Vec) {
	a := &x.c.a
	const L = x86.L512
	least := float32(-14)
	if x.m.A == ir.BF16 {
		least = -126
	}
	a.E(x86.VGETEXPPS, L, 5, 0, x86.V(z), noMod)
	a.E(x86.VMAXPS, L, 5, 5, x86.ML(a.Const32(math.Float32bits(least)), 0).Bcast(), noMod)
	a.EI(x86.VFPCLASSPS, L, 1, 0, x86.V(z), 0x06, noMod) // zeros
	a.E(x86.VPBROADCASTD, L, 5, 0, x86.ML(a.Const32(math.Float32bits(truncZero)), 0), x86.Masked(1))
	a.EI(x86.VFPCLASSPS, L, 1, 0, x86.V(z), 0x99, noMod) // NaNs, infinities
	a.E(x86.VPXORD, L, 5, 5, x86.V(5), x86.Masked(1))
}

// truncRow is the row at R13 for the sixteen columns of B at R15.
func (x *matrix) truncRow() {
	a := &x.c.a
	const (
		L                                           = x86.L512
		exp, scale, sum, t, acc, big, over, s, zero = 8, 9, 10, 11, 12, 13, 14, 15, 19
		e16, m16, t16                               = 16, 17, 18 // of all sixteen columns, in f32
		trunc, floor                                = 3 | 8, 1 | 8
	)
	op := func(i *x86.Inst, d, l, r uint8) { a.E(i, L, d, l, x86.V(x86.Vec(r)), noMod) }
	k64 := func(f float64) x86.RM { return x86.ML(a.Const64(math.Float64bits(f)), 0).Bcast() }
	k32 := func(f float32) x86.RM { return x86.ML(a.Const32(math.Float32bits(f)), 0).Bcast() }
	op(x86.VPXORQ, zero, zero, zero)
	for g := 0; g < len(x.a); g += 8 {
		n := min(8, len(x.a)-g)
		for j := range n {
			d := uint8(t16)
			if j == 0 {
				d = e16
			}
			a.E(x86.VMOVDQU32, L, d, 0, x86.M(x86.R15, x.tb+x.eb+4*x.b[g+j]), noMod)
			a.E(x86.VADDPS, L, d, d, x86.M(x86.R12, x.ea+4*x.a[g+j]).Bcast(), noMod)
			if j == 0 {
				op(x86.VMOVDQU32, m16, 0, e16)
				continue
			}
			op(x86.VMAXPS, e16, e16, t16)
			op(x86.VMINPS, m16, m16, t16)
		}
		a.EI(x86.VCMPPS, L, 1, m16, k32(truncZero/2), 1, noMod) // a product is zero
		a.E(x86.VMAXPS, L, e16, e16, k32(-126), x86.Masked(1))
		for h := range int32(2) {
			for j := range n {
				a.E(x86.VCVTPS2PD, L, t, 0, x86.M(x86.R12, 4*x.a[g+j]).Bcast(), noMod)
				a.E(x86.VCVTPS2PD, L, uint8(j), 0, x86.M(x86.R15, x.tb+4*x.b[g+j]+32*h), noMod)
				op(x86.VMULPD, uint8(j), uint8(j), t)
			}
			if h == 0 {
				a.E(x86.VCVTPS2PD, L, exp, 0, x86.V(e16), noMod)
			} else {
				a.EI(x86.VEXTRACTI64X4, L, e16, 0, x86.V(t), 1, noMod)
				a.E(x86.VCVTPS2PD, L, exp, 0, x86.V(t), noMod)
			}
			a.E(x86.VCVTPS2PD, L, acc, 0, x86.M(x86.R13, 32*h), noMod)
			if x.m.A == ir.BF16 {
				x.overflow(n, exp, over, t)
			}
			a.E(x86.VBROADCASTSD, L, scale, 0, k64(24).Plain(), noMod)
			op(x86.VSUBPD, scale, scale, exp)
			op(x86.VMOVDQU64, sum, 0, zero)
			for j := range n {
				op(x86.VSCALEFPD, t, uint8(j), scale)
				a.EI(x86.VRNDSCALEPD, L, t, 0, x86.V(t), trunc, noMod)
				op(x86.VADDPD, sum, sum, t)
			}
			// big is the larger exponent, of the group and of the accumulator.
			a.E(x86.VGETEXPPD, L, big, 0, x86.V(acc), noMod)
			a.E(x86.VMAXPD, L, big, big, k64(-126), noMod)
			op(x86.VMAXPD, big, big, exp)
			op(x86.VSUBPD, t, exp, big)
			a.E(x86.VADDPD, L, t, t, k64(7), noMod)
			op(x86.VSCALEFPD, s, sum, t)
			a.EI(x86.VRNDSCALEPD, L, s, 0, x86.V(s), floor, noMod)
			a.E(x86.VBROADCASTSD, L, t, 0, k64(24).Plain(), noMod)
			op(x86.VSUBPD, t, t, big)
			op(x86.VSCALEFPD, t, acc, t)
			a.EI(x86.VRNDSCALEPD, L, t, 0, x86.V(t), floor, noMod)
			a.E(x86.VFMADD231PD, L, s, t, k64(128), noMod)
			a.E(x86.VSUBPD, L, big, big, k64(31), noMod)
			op(x86.VSCALEFPD, s, s, big)
			if x.m.A == ir.BF16 {
				a.E(x86.VPTESTMQ, L, 1, over, x86.V(over), noMod)
				a.E(x86.VMOVDQU64, L, s, 0, x86.V(over), x86.Masked(1))
			}
			// NaNs and infinities: the accumulator's NaN is the first, any other is made anew.
			op(x86.VADDPD, t, acc, sum)
			a.EI(x86.VFPCLASSPD, L, 1, 0, x86.V(t), 0x99, noMod)
			a.E(x86.VMOVDQU64, L, s, 0, x86.V(t), x86.Masked(1))
			a.EI(x86.VCMPPD, L, 1, t, x86.V(t), 3, x86.Masked(1))
			a.EI(x86.VCMPPD, L, 1, acc, x86.V(acc), 7, x86.Masked(1))
			a.E(x86.VPBROADCASTQ, L, s, 0, x86.ML(a.Const64(0xfff8<<48), 0), x86.Masked(1))
			a.E(x86.VCVTPD2PS, L, s, 0, x86.V(s), noMod)
			a.E(x86.VMOVDQU32S, x86.L256, s, 0, x86.M(x86.R13, 32*h), noMod)
		}
	}
}

// overflow sets over to the infinity of the first of n products that is finite but beyond f32, or 0; t is a temporary.
func (x *matrix) overflow(n int, exp, over, t uint8) {
	a := &x.c.a
	const L = x86.L512
	k := func(b uint64) x86.RM { return x86.ML(a.Const64(b), 0).Bcast() }
	done := a.NewLabel()
	a.E(x86.VPXORQ, L, over, over, x86.V(x86.Vec(over)), noMod)
	a.EI(x86.VCMPPD, L, 1, exp, k(math.Float64bits(126.5)), 13, noMod) // not below: only then can there be one
	a.X(x86.KORTESTW, x86.L128, 1, 0, x86.KR(1))
	a.Jcc(x86.E, done)
	for j := n - 1; j >= 0; j-- {
		a.E(x86.VPANDQ, L, t, uint8(j), k(1<<63-1), noMod)
		a.EI(x86.VCMPPD, L, 1, t, k(math.Float64bits(0x1p128)), 13, noMod)
		a.E(x86.VPANDQ, L, over, uint8(j), k(1<<63), x86.Masked(1))
		a.E(x86.VPORQ, L, over, over, k(0x7ff<<52), x86.Masked(1))
	}
	a.Bind(done)
}
