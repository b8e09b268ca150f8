package jit

import (
	"math"

	"github.com/pumice-gpu/pumice/engine/fp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// Transcendental operations do what package fp does, operation by operation, on vectors of eight float64.

// canTrans tells whether trans knows the operation.
func (c *compiler) canTrans(v *ir.Value) bool {
	switch v.Op {
	case ir.OpFExp2, ir.OpFLog2, ir.OpFSin, ir.OpFCos:
		return v.Kind == ir.F32 && v.FP&ir.FPOvfl == 0
	case ir.OpFRsq:
		return v.Kind == ir.F32 && v.FP&ir.FPOvfl == 0 || v.Kind == ir.F64 && plainFP(v.FP)
	}
	return false
}

// f64 is a float64 constant as an operand.
func (c *compiler) f64(x float64) x86.RM { return x86.ML(c.a.Const64(math.Float64bits(x)), 0).Bcast() }

// horner makes d the polynomial with coefficients l at x.
func (c *compiler) horner(d, x x86.Vec, l []float64) {
	a := &c.a
	a.E(x86.VBROADCASTSD, x86.L512, uint8(d), 0, x86.ML(a.Const64(math.Float64bits(l[0])), 0), noMod)
	for _, k := range l[1:] {
		a.E(x86.VFMADD213PD, x86.L512, uint8(d), uint8(x), c.f64(k), noMod)
	}
}

// trans emits an operation of canTrans.
func (c *compiler) trans(id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	if v.Kind == ir.F64 {
		for i := range 2 {
			before := r.temps()
			d := r.zcopy(v.Args[0], i, u, 8)
			c.rsq(d, true)
			r.become(id, i, u, d)
			r.dropTemps(before)
		}
		return
	}
	x := r.zcopy(v.Args[0], 0, u, 4)
	c.flush(x)
	var half [2]x86.Vec
	for i := range 2 {
		d := r.tmp()
		half[i] = d
		before := r.temps()
		if i == 0 {
			a.E(x86.VCVTPS2PD, L, uint8(d), 0, x86.V(x), noMod)
		} else {
			a.EI(x86.VEXTRACTI64X4, L, uint8(x), 0, x86.V(d), 1, noMod)
			a.E(x86.VCVTPS2PD, L, uint8(d), 0, x86.V(d), noMod)
		}
		switch v.Op {
		case ir.OpFRsq:
			c.rsq(d, false)
		case ir.OpFExp2:
			c.exp2(d)
		case ir.OpFLog2:
			c.log2(d)
		default:
			c.turn(d, v.Op == ir.OpFCos)
		}
		a.E(x86.VCVTPD2PS, L, uint8(d), 0, x86.V(d), noMod)
		r.dropTemps(before)
	}
	a.EI(x86.VINSERTI64X4, L, uint8(half[0]), uint8(half[0]), x86.V(half[1]), 1, noMod)
	c.flush(half[0])
	r.become(id, 0, u, half[0])
}

// rsq is fp.Rsq; for f32 the root's and the quotient's errors do not show in the result (all mantissas were tried).
func (c *compiler) rsq(d x86.Vec, correct bool) {
	r, a := &c.r, &c.a
	const L = x86.L512
	y := r.tmp()
	a.E(x86.VSQRTPD, L, uint8(y), 0, x86.V(d), noMod)
	one := r.splatConst(math.Float64bits(1), 8)
	a.E(x86.VDIVPD, L, uint8(y), uint8(one), x86.V(y), noMod)
	if !correct {
		a.E(x86.VMOVDQU64, L, uint8(d), 0, x86.V(y), noMod)
		return
	}
	h, l, k := r.tmp(), r.tmp(), r.ktmp()
	a.E(x86.VMULPD, L, uint8(h), uint8(d), x86.V(y), noMod)
	a.E(x86.VMOVDQU64, L, uint8(l), 0, x86.V(h), noMod)
	a.E(x86.VFMSUB231PD, L, uint8(l), uint8(d), x86.V(y), noMod)    // x*y - h
	a.E(x86.VFNMADD213PD, L, uint8(h), uint8(y), x86.V(one), noMod) // 1 - h*y
	a.E(x86.VFNMADD231PD, L, uint8(h), uint8(l), x86.V(y), noMod)
	a.E(x86.VMULPD, L, uint8(h), uint8(h), c.f64(0.5), noMod)
	a.EI(x86.VFPCLASSPD, L, uint8(k), 0, x86.V(y), clZero|clInf|clNaN, noMod)
	a.E(x86.VMOVDQU64, L, uint8(d), 0, x86.V(y), noMod)
	a.X(x86.KNOTW, x86.L128, uint8(k), 0, x86.KR(k))
	a.E(x86.VFMADD231PD, L, uint8(d), uint8(h), x86.V(y), x86.Masked(k))
}

// exp2 is fp.Exp2.
func (c *compiler) exp2(d x86.Vec) {
	r, a := &c.r, &c.a
	const L = x86.L512
	n, p, k := r.tmp(), r.tmp(), r.ktmp()
	a.EI(x86.VCMPPD, L, uint8(k), uint8(d), x86.V(d), 3, noMod)
	a.E(x86.VMINPD, L, uint8(n), uint8(d), c.f64(fp.Exp2Limit), noMod)
	a.E(x86.VMAXPD, L, uint8(n), uint8(n), c.f64(-fp.Exp2Limit), noMod)
	a.EI(x86.VRNDSCALEPD, L, uint8(p), 0, x86.V(n), 8, noMod)
	f := r.tmp()
	a.E(x86.VSUBPD, L, uint8(f), uint8(n), x86.V(p), noMod)
	c.horner(n, f, fp.Exp2Series)
	a.E(x86.VSCALEFPD, L, uint8(n), uint8(n), x86.V(p), noMod)
	a.E(x86.VMOVDQU64, L, uint8(n), 0, x86.V(d), x86.Masked(k)) // NaN
	a.E(x86.VMOVDQU64, L, uint8(d), 0, x86.V(n), noMod)
}

// log2 is fp.Log2.
func (c *compiler) log2(d x86.Vec) {
	r, a := &c.r, &c.a
	const L = x86.L512
	e, m, t, k := r.tmp(), r.tmp(), r.tmp(), r.ktmp()
	one := r.splatConst(math.Float64bits(1), 8)
	a.E(x86.VGETEXPPD, L, uint8(e), 0, x86.V(d), noMod)
	a.EI(x86.VGETMANTPD, L, uint8(m), 0, x86.V(d), 0, noMod) // [1, 2)
	a.EI(x86.VCMPPD, L, uint8(k), uint8(m), c.f64(fp.Log2Split), 0x1e, noMod)
	a.E(x86.VMULPD, L, uint8(m), uint8(m), c.f64(0.5), x86.Masked(k))
	a.E(x86.VADDPD, L, uint8(e), uint8(e), x86.V(one), x86.Masked(k))
	a.E(x86.VSUBPD, L, uint8(t), uint8(m), x86.V(one), noMod)
	a.E(x86.VADDPD, L, uint8(m), uint8(m), x86.V(one), noMod)
	a.E(x86.VDIVPD, L, uint8(t), uint8(t), x86.V(m), noMod)
	a.E(x86.VMULPD, L, uint8(m), uint8(t), x86.V(t), noMod)
	p := r.tmp()
	c.horner(p, m, fp.Log2Series)
	a.E(x86.VFMADD213PD, L, uint8(p), uint8(t), x86.V(e), noMod)
	// zeros, negative numbers, +inf and NaN
	a.EI(x86.VFPCLASSPD, L, uint8(k), 0, x86.V(d), clZero, noMod)
	a.E(x86.VBROADCASTSD, L, uint8(p), 0, x86.ML(a.Const64(0xfff0000000000000), 0), x86.Masked(k))
	a.EI(x86.VFPCLASSPD, L, uint8(k), 0, x86.V(d), clNeg|clNegInf, noMod)
	a.E(x86.VBROADCASTSD, L, uint8(p), 0, x86.ML(a.Const64(0xfff8000000000000), 0), x86.Masked(k))
	a.EI(x86.VFPCLASSPD, L, uint8(k), 0, x86.V(d), clPosInf|clNaN, noMod)
	a.E(x86.VMOVDQU64, L, uint8(p), 0, x86.V(d), x86.Masked(k))
	a.E(x86.VMOVDQU64, L, uint8(d), 0, x86.V(p), noMod)
}

// turn is fp.Sin and fp.Cos.
func (c *compiler) turn(d x86.Vec, cos bool) {
	r, a := &c.r, &c.a
	const L = x86.L512
	q, z, s, k, odd, neg := r.tmp(), r.tmp(), r.tmp(), r.ktmp(), r.ktmp(), r.ktmp()
	quarter := c.f64(0.25)
	a.E(x86.VMULPD, L, uint8(q), uint8(d), c.f64(4), noMod)
	a.EI(x86.VRNDSCALEPD, L, uint8(q), 0, x86.V(q), 8, noMod)
	a.E(x86.VMULPD, L, uint8(s), uint8(q), quarter, noMod)
	a.E(x86.VSUBPD, L, uint8(z), uint8(d), x86.V(s), noMod)
	// the quadrant, 0 to 3
	a.EI(x86.VRNDSCALEPD, L, uint8(s), 0, x86.V(s), 9, noMod)
	a.E(x86.VMULPD, L, uint8(s), uint8(s), c.f64(4), noMod)
	a.E(x86.VSUBPD, L, uint8(q), uint8(q), x86.V(s), noMod)
	a.E(x86.VCVTTPD2QQ, L, uint8(q), 0, x86.V(q), noMod)
	if cos {
		a.E(x86.VPADDQ, L, uint8(q), uint8(q), x86.ML(a.Const64(1), 0).Bcast(), noMod)
	}
	a.E(x86.VPTESTMQ, L, uint8(odd), uint8(q), x86.ML(a.Const64(1), 0).Bcast(), noMod)
	a.E(x86.VPTESTMQ, L, uint8(neg), uint8(q), x86.ML(a.Const64(2), 0).Bcast(), noMod)
	a.EI(x86.VCMPPD, L, uint8(k), uint8(z), c.f64(0), 0, noMod) // on a quarter
	a.E(x86.VMULPD, L, uint8(z), uint8(z), c.f64(2*math.Pi), noMod)
	z2, p := r.tmp(), r.tmp()
	a.E(x86.VMULPD, L, uint8(z2), uint8(z), x86.V(z), noMod)
	c.horner(s, z2, fp.SinSeries)
	a.E(x86.VMULPD, L, uint8(s), uint8(z), x86.V(s), noMod)
	c.horner(p, z2, fp.CosSeries)
	a.E(x86.VMOVDQU64, L, uint8(s), 0, x86.V(p), x86.Masked(odd))
	a.E(x86.VPXORQ, L, uint8(s), uint8(s), x86.ML(a.Const64(1<<63), 0).Bcast(), x86.Masked(neg))
	// the sine of a whole number of halves is zero: with x's sign, the cosine without
	a.X(x86.KANDNW, x86.L128, uint8(k), uint8(odd), x86.KR(k))
	if cos {
		a.E(x86.VPXORQ, L, uint8(s), uint8(s), x86.V(s), x86.Masked(k))
	} else {
		a.E(x86.VPANDQ, L, uint8(s), uint8(d), x86.ML(a.Const64(1<<63), 0).Bcast(), x86.Masked(k))
	}
	a.EI(x86.VFPCLASSPD, L, uint8(k), 0, x86.V(d), clInf, noMod)
	a.E(x86.VBROADCASTSD, L, uint8(s), 0, x86.ML(a.Const64(0xfff8000000000000), 0), x86.Masked(k))
	a.EI(x86.VFPCLASSPD, L, uint8(k), 0, x86.V(d), clNaN, noMod)
	a.E(x86.VMOVDQU64, L, uint8(s), 0, x86.V(d), x86.Masked(k))
	a.E(x86.VMOVDQU64, L, uint8(d), 0, x86.V(s), noMod)
}
