package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// canHalf tells whether halfOp knows the operation, on f16.
func (c *compiler) canHalf(v *ir.Value) bool {
	if v.Kind != ir.F16 {
		return false
	}
	switch v.Op {
	case ir.OpFMA, ir.OpFSqrt, ir.OpFRcp:
		return true
	case ir.OpFMin, ir.OpFMax:
		return v.FP&ir.FPIEEE != 0
	case ir.OpFTrunc, ir.OpFCeil, ir.OpFFloor, ir.OpFRndne, ir.OpFCanon:
		return true
	}
	return false
}

// oddFMA makes x*y+z of eight f64 lanes, rounded to odd: what is inexact gets an odd last bit, and so can be rounded again
// to fewer bits as if it were the first time. The product must be exact. The result is in z; x and y are spoilt. A sum of
// opposite numbers is -0 when down.
func (c *compiler) oddFMA(x, y, z x86.Vec, down bool) {
	r, a := &c.r, &c.a
	const L = x86.L512
	s, k := r.tmp(), r.ktmp()
	a.E(x86.VMOVDQU64, L, uint8(s), 0, x86.V(z), noMod)
	a.E(x86.VFMADD231PD, L, uint8(s), uint8(x), x86.V(y), noMod)
	if down {
		t := r.tmp()
		a.E(x86.VMOVDQU64, L, uint8(t), 0, x86.V(z), noMod)
		a.E(x86.VFMADD231PD, L, uint8(t), uint8(x), x86.V(y), x86.Rounded(x86.RoundDown))
		a.EI(x86.VCMPPD, L, uint8(k), uint8(s), c.f64(0), 0, noMod)
		a.E(x86.VMOVDQU64, L, uint8(s), 0, x86.V(t), x86.Masked(k))
	}
	a.E(x86.VMULPD, L, uint8(x), uint8(x), x86.V(y), noMod) // p
	a.E(x86.VSUBPD, L, uint8(y), uint8(s), x86.V(x), noMod) // s - p
	a.E(x86.VSUBPD, L, uint8(z), uint8(z), x86.V(y), noMod) // z's error
	a.E(x86.VSUBPD, L, uint8(y), uint8(s), x86.V(y), noMod)
	a.E(x86.VSUBPD, L, uint8(x), uint8(x), x86.V(y), noMod) // p's error
	a.E(x86.VADDPD, L, uint8(z), uint8(z), x86.V(x), noMod) // what the sum lacks
	a.EI(x86.VCMPPD, L, uint8(k), uint8(z), c.f64(0), 0x0c, noMod)
	a.E(x86.VPTESTNMQ, L, uint8(k), uint8(s), x86.ML(a.Const64(1), 0).Bcast(), x86.Masked(k))
	// One step towards the exact sum.
	a.E(x86.VPXORQ, L, uint8(z), uint8(z), x86.V(s), noMod)
	a.EI(x86.VPSRAQI, L, 0, uint8(z), x86.V(z), 63, noMod)
	a.E(x86.VPORQ, L, uint8(z), uint8(z), x86.ML(a.Const64(1), 0).Bcast(), noMod)
	a.E(x86.VPADDQ, L, uint8(s), uint8(s), x86.V(z), x86.Masked(k))
	a.E(x86.VMOVDQU64, L, uint8(z), 0, x86.V(s), noMod)
}

// oddF32 rounds eight f64 lanes of x to f32, to odd, in the low half of x.
func (c *compiler) oddF32(x x86.Vec) {
	r, a := &c.r, &c.a
	const L = x86.L512
	t, b, k := r.tmp(), r.tmp(), r.ktmp()
	a.E(x86.VCVTPD2PS, L, uint8(t), 0, x86.V(x), x86.Rounded(x86.RoundZero))
	a.E(x86.VCVTPS2PD, L, uint8(b), 0, x86.V(t), noMod)
	a.EI(x86.VCMPPD, L, uint8(k), uint8(b), x86.V(x), 0x0c, noMod)
	a.E(x86.VPORD, x86.L256, uint8(t), uint8(t), x86.ML(a.Const32(1), 0).Bcast(), x86.Masked(k))
	a.E(x86.VMOVDQU64, L, uint8(x), 0, x86.V(t), noMod)
}

// halfOp emits an operation of canHalf.
func (c *compiler) halfOp(id ir.ID, v *ir.Value, u int, mod x86.Mod) {
	r, a := &c.r, &c.a
	const L = x86.L512
	switch v.Op {
	case ir.OpFMA: // rounded once, by way of f64 and f32 rounded to odd
		var half [3]x86.Vec
		for n := range half {
			half[n] = c.fromHalf(v.Args[n], u)
		}
		var d [2]x86.Vec
		for i := range d {
			d[i] = r.tmp()
			before := r.temps()
			var w [2]x86.Vec
			for n, x := range half {
				t := d[i]
				if n < 2 {
					w[n] = r.tmp()
					t = w[n]
				}
				if i == 1 {
					a.EI(x86.VEXTRACTI64X4, L, uint8(x), 0, x86.V(t), 1, noMod)
					x = t
				}
				a.E(x86.VCVTPS2PD, L, uint8(t), 0, x86.V(x), noMod)
			}
			c.oddFMA(w[0], w[1], d[i], v.FP.Round() == 2)
			c.oddF32(d[i])
			r.dropTemps(before)
		}
		a.EI(x86.VINSERTI64X4, L, uint8(d[0]), uint8(d[0]), x86.V(d[1]), 1, noMod)
		c.toHalf(id, v, d[0], u)
	case ir.OpFSqrt, ir.OpFRcp: // to nearest whatever MODE says; f32 is wide enough to be rounded again
		x := c.fromHalf(v.Args[0], u)
		if v.Op == ir.OpFSqrt {
			a.E(x86.VSQRTPS, L, uint8(x), 0, x86.V(x), noMod)
		} else {
			one := r.splatConst(0x3f800000, 4)
			a.E(x86.VDIVPS, L, uint8(x), uint8(one), x86.V(x), noMod)
		}
		a.EI(x86.VCVTPS2PH, L, uint8(x), 0, x86.V(x), 0, noMod)
		a.E(x86.VPMOVZXWD, L, uint8(x), 0, x86.V(x), noMod)
		r.become(id, 0, u, x)
	case ir.OpFMin, ir.OpFMax:
		x, y := c.fromHalf(v.Args[0], u), c.fromHalf(v.Args[1], u)
		imm := uint8(4)
		if v.Op == ir.OpFMax {
			imm = 5
		}
		a.EI(x86.VRANGEPS, L, uint8(x), uint8(x), x86.V(y), imm, noMod)
		a.EI(x86.VCVTPS2PH, L, uint8(x), 0, x86.V(x), 0, noMod)
		a.E(x86.VPMOVZXWD, L, uint8(x), 0, x86.V(x), noMod)
		// Conversion made signalling NaNs quiet, but they win: the first argument's over the second's.
		for n := 1; n >= 0; n-- {
			k := r.ktmp()
			s := r.zin(v.Args[n], 0, u, 4)
			a.E(x86.VPANDD, L, uint8(y), uint8(s), x86.ML(a.Const32(0x7fff), 0).Bcast(), noMod)
			a.E(x86.VPSUBD, L, uint8(y), uint8(y), x86.ML(a.Const32(0x7c01), 0).Bcast(), noMod)
			a.EI(x86.VPCMPUD, L, uint8(k), uint8(y), x86.ML(a.Const32(0x1ff), 0).Bcast(), 1, noMod)
			a.E(x86.VPANDD, L, uint8(y), uint8(s), x86.ML(a.Const32(0xffff), 0).Bcast(), noMod)
			a.E(x86.VPORD, L, uint8(x), uint8(y), x86.ML(a.Const32(0x200), 0).Bcast(), x86.Masked(k))
		}
		r.become(id, 0, u, x)
	default: // exact in f32
		x := c.fromHalf(v.Args[0], u)
		if imm := roundImm[v.Op]; imm != 0 {
			a.EI(x86.VRNDSCALEPS, L, uint8(x), 0, x86.V(x), imm, noMod)
		}
		a.EI(x86.VCVTPS2PH, L, uint8(x), 0, x86.V(x), 0, noMod)
		a.E(x86.VPMOVZXWD, L, uint8(x), 0, x86.V(x), noMod)
		r.become(id, 0, u, x)
	}
}
