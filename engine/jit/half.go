package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// canHalf tells whether halfOp knows the operation, on f16.
func (c *compiler) canHalf(v *ir.Value) bool {
	if v.Kind != ir.F16 {
		return false
	}
	switch v.Op {
	case ir.OpFMA:
		return rt.CPU.FP16
	case ir.OpFSqrt, ir.OpFRcp:
		return rt.CPU.FP16
	case ir.OpFMin, ir.OpFMax:
		return v.FP&ir.FPIEEE != 0
	case ir.OpFTrunc, ir.OpFCeil, ir.OpFFloor, ir.OpFRndne, ir.OpFCanon:
		return true
	}
	return false
}

// words is an f16 value as sixteen words, in a temporary.
func (r *region) words(id ir.ID, u int) x86.Vec {
	x := r.zin(id, 0, u, 4)
	t := r.tmp()
	r.c.a.E(x86.VPMOVDW, x86.L512, uint8(x), 0, x86.V(t), noMod)
	return t
}

// halfOp emits an operation of canHalf.
func (c *compiler) halfOp(id ir.ID, v *ir.Value, u int, mod x86.Mod) {
	r, a := &c.r, &c.a
	const L = x86.L512
	switch v.Op {
	case ir.OpFMA: // in f32 or f64 the sum would be rounded twice
		x, y, z := r.words(v.Args[0], u), r.words(v.Args[1], u), r.words(v.Args[2], u)
		a.E(x86.VFMADD231PH, L, uint8(z), uint8(x), x86.V(y), mod)
		a.E(x86.VPMOVZXWD, L, uint8(z), 0, x86.V(z), noMod)
		r.become(id, 0, u, z)
	case ir.OpFSqrt, ir.OpFRcp: // to nearest whatever MODE says
		x := r.words(v.Args[0], u)
		if v.Op == ir.OpFSqrt {
			a.E(x86.VSQRTPH, L, uint8(x), 0, x86.V(x), noMod)
		} else {
			one := r.splatConst(0x3c003c00, 4)
			a.E(x86.VDIVPH, L, uint8(x), uint8(one), x86.V(x), noMod)
		}
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
		if imm, ok := map[ir.Op]uint8{ir.OpFRndne: 8, ir.OpFFloor: 9, ir.OpFCeil: 10, ir.OpFTrunc: 11}[v.Op]; ok {
			a.EI(x86.VRNDSCALEPS, L, uint8(x), 0, x86.V(x), imm, noMod)
		}
		a.EI(x86.VCVTPS2PH, L, uint8(x), 0, x86.V(x), 0, noMod)
		a.E(x86.VPMOVZXWD, L, uint8(x), 0, x86.V(x), noMod)
		r.become(id, 0, u, x)
	}
}
