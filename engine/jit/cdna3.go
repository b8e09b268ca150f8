package jit

import (
	"math"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// CDNA3 adds up to eight products of f16 or bf16 in fixed point (package fp, truncDot), of xf32 four: they are cut to 24 bits below the
// largest exponent of theirs, their sum and the accumulator to 31 and 24 bits below the larger exponent of both, and the whole is rounded
// once. Of 8-bit floats sixteen are added so, the even and the odd ones apart, and the two sums at the larger exponent (fp8Dot).
//
// An exponent is that of the formats' fields: of a product the sum of its factors', though the product may be larger, and of a denormal the
// smallest. Tables of them stand behind the tables of numbers. Products are exact in f32, cut products are integers of 26 bits, and
// what is added to the accumulator is exact in f64. Numbers whose products f32 has no exponents for (bf16, xf32) are in the tables as they
// are with an exponent of 0. Where anything is infinite or a NaN, or may become so, the helper does the operation.

// kBad is the mask register that collects the lanes with something that is not finite.
const kBad = 6

// Exponents of zeros, in the tables: so low that a sum shows it.
const truncZero = -10000

// apart tells whether the tables have numbers without their exponents.
func (x *matrix) apart() bool { return x.m.A == ir.BF16 || x.m.A == ir.F32 }

// notFinite notes which numbers in z are infinities and NaNs.
func (x *matrix) notFinite(z x86.Vec) {
	a := &x.c.a
	a.EI(x86.VFPCLASSPS, x86.L512, 1, 0, x86.V(z), 0x99, noMod)
	a.X(x86.KORW, x86.L128, kBad, kBad, x86.KR(1))
}

// exponents puts the exponents of zmm1, sixteen elements of o, into zmm5, and takes them out of zmm1 if that is apart.
func (x *matrix) exponents(o *matOperand) {
	a := &x.c.a
	const L = x86.L512
	least := -126
	switch {
	case x.m.XF32: // ten fraction bits
		a.E(x86.VPANDD, L, 1, 1, x.k32(^uint32(0x1fff)), noMod)
	case o.kind == ir.F16:
		least = -14
	case !x.apart():
		least = 1 - x.narrow(o.kind).bias
	}
	a.E(x86.VGETEXPPS, L, 5, 0, x86.V(1), noMod)
	a.E(x86.VMAXPS, L, 5, 5, x.f32(float64(least)), noMod)
	a.EI(x86.VFPCLASSPS, L, 1, 0, x86.V(1), 0x06, noMod) // zeros
	a.E(x86.VPBROADCASTD, L, 5, 0, x86.ML(a.Const32(math.Float32bits(truncZero)), 0), x86.Masked(1))
	if x.apart() {
		a.E(x86.VPXORD, L, 2, 5, x.k32(1<<31), noMod)
		a.E(x86.VSCALEFPS, L, 1, 1, x86.V(2), noMod)
	}
}

func (x *matrix) f32(f float64) x86.RM { return x.k32(math.Float32bits(float32(f))) }
func (x *matrix) f64(f float64) x86.RM { return x.k64(math.Float64bits(f)) }

// truncRow is the row at R13 for the sixteen columns of B at R15.
func (x *matrix) truncRow() {
	a := &x.c.a
	const (
		L                     = x86.L512
		acc, sum, exp, least  = 0, 1, 3, 5 // sum and exp: the even products', and the odd ones'
		t, scale, big, ec, cd = 6, 7, 8, 9, 10
		s, u, v, y            = 12, 13, 14, 15 // and s+4 for the other half
		exps                  = 20
		floor                 = 1 | 8
	)
	op := func(i *x86.Inst, d, l, r uint8) { a.E(i, L, d, l, x86.V(x86.Vec(r)), noMod) }
	with := func(i *x86.Inst, d, l uint8, m x86.RM) { a.E(i, L, d, l, m, noMod) }
	with(x86.VMOVDQU32, acc, 0, x86.M(x86.R13, 0))
	for g := 0; g < x.a.k; g += x.group {
		n := min(x.group, x.a.k-g)
		sets := 1
		if x.group == 16 {
			sets = 2
		}
		for set := range sets {
			sum, exp := uint8(sum+set), uint8(exp+set)
			var regs []uint8
			for j := set; j < n; j += sets {
				e := uint8(exps + len(regs))
				b := x.bAt(g+j, 0, x86.RAX)
				with(x86.VMOVDQU32, e, 0, b.Add(x.b.side))
				with(x86.VADDPS, e, e, x.aAt(g+j, 0).Add(x.a.side))
				switch {
				case len(regs) == 0:
					op(x86.VMOVDQU32, exp, 0, e)
					op(x86.VMOVDQU32, least, 0, e)
				default:
					op(x86.VMAXPS, exp, exp, e)
					if x.apart() {
						op(x86.VMINPS, least, least, e)
					}
				}
				regs = append(regs, e)
			}
			// A zero has the exponent -126. In narrow formats no product of numbers has a smaller one.
			if x.apart() {
				a.EI(x86.VCMPPS, L, 1, least, x.f32(truncZero/2), 1, noMod)
				a.E(x86.VMAXPS, L, exp, exp, x.f32(-126), x86.Masked(1))
				a.EI(x86.VCMPPS, L, 1, exp, x.f32(126.5), 13, noMod) // not below: may be infinite
				a.X(x86.KORW, x86.L128, kBad, kBad, x86.KR(1))
				with(x86.VSUBPS, scale, exp, x.f32(24))
			} else {
				with(x86.VMAXPS, exp, exp, x.f32(-126))
				with(x86.VMAXPS, scale, exp, x.f32(-90))
				with(x86.VSUBPS, scale, scale, x.f32(24))
				with(x86.VPXORD, scale, scale, x.k32(1<<31))
				with(x86.VBROADCASTSS, t, 0, x.f32(1).Plain())
				op(x86.VSCALEFPS, scale, t, scale)
			}
			for i, j := 0, set; j < n; i, j = i+1, j+sets {
				with(x86.VMOVDQU32, t, 0, x.bAt(g+j, 0, x86.RAX))
				with(x86.VMULPS, t, t, x.aAt(g+j, 0))
				if x.apart() {
					op(x86.VSUBPS, regs[i], regs[i], scale)
					op(x86.VSCALEFPS, t, t, regs[i])
				} else {
					op(x86.VMULPS, t, t, scale)
				}
				if i == 0 {
					op(x86.VCVTTPS2DQ, sum, 0, t)
					continue
				}
				op(x86.VCVTTPS2DQ, t, 0, t)
				op(x86.VPADDD, sum, sum, t)
			}
		}
		if sets == 2 { // both sums at the larger exponent
			op(x86.VMAXPS, t, exp, exp+1)
			for set := range uint8(2) {
				op(x86.VSUBPS, exp+set, t, exp+set)
				op(x86.VCVTTPS2DQ, exp+set, 0, exp+set)
				op(x86.VPSRAVD, sum+set, sum+set, exp+set)
			}
			op(x86.VPADDD, sum, sum, sum+1)
			op(x86.VMOVDQU32, exp, 0, t)
		}
		// big is the larger exponent, of the group and of the accumulator.
		op(x86.VGETEXPPS, ec, 0, acc)
		with(x86.VMAXPS, ec, ec, x.f32(-126))
		op(x86.VMAXPS, big, ec, exp)
		op(x86.VSUBPS, exp, exp, big)
		with(x86.VADDPS, exp, exp, x.f32(7))
		if sets == 2 { // it is not added when it lies far below
			with(x86.VSUBPS, t, big, x.f32(25))
			a.EI(x86.VCMPPS, L, 1, ec, x86.V(t), 13, noMod)
			a.E(x86.VMOVDQU32, L, acc, 0, x86.V(acc), x86.Zeroed(1))
		}
		for h := range uint8(2) {
			d := s + 4*h
			half := func(to, from uint8) { // of sixteen f32 or dwords
				if h == 1 {
					a.EI(x86.VEXTRACTI64X4, L, from, 0, x86.V(x86.Vec(to)), 1, noMod)
					from = to
				}
				i := x86.VCVTPS2PD
				if to == d {
					i = x86.VCVTDQ2PD
				}
				op(i, to, 0, from)
			}
			half(d, sum)
			half(u, exp)
			half(v, big)
			half(y, acc)
			op(x86.VSCALEFPD, d, d, u)
			a.EI(x86.VRNDSCALEPD, L, d, 0, x86.V(x86.Vec(d)), floor, noMod)
			with(x86.VBROADCASTSD, u, 0, x.f64(24).Plain())
			op(x86.VSUBPD, u, u, v)
			op(x86.VSCALEFPD, y, y, u)
			a.EI(x86.VRNDSCALEPD, L, y, 0, x86.V(y), floor, noMod)
			with(x86.VFMADD231PD, d, y, x.f64(128))
			with(x86.VSUBPD, v, v, x.f64(31))
			op(x86.VSCALEFPD, d, d, v)
			op(x86.VCVTPD2PS, d, 0, d)
		}
		a.EI(x86.VINSERTI64X4, L, acc, s, x86.V(s+4), 1, noMod)
		x.notFinite(acc)
	}
	a.E(x86.VMOVDQU32S, L, acc, 0, x86.M(x86.R13, 0), noMod)
}
