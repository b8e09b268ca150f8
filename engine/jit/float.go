package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// The arithmetic rules of package fp (first NaN argument wins and is made quiet, an invalid operation gives the negative
// quiet NaN, flushing looks at the rounded result) are those of x86, so one instruction is one operation as long as its
// operands keep their order. Of fused multiply-adds, the digits of each form are the order in which operands count, for
// NaNs too: the multiplicand first, then the multiplier, then the addend.

// floatCmp maps predicates to vcmp immediates (quiet forms where they exist; exceptions are masked anyway).
var floatCmp = [256]uint8{
	ir.FFalse: 0x0b, ir.FLT: 0x11, ir.FEQ: 0x00, ir.FLE: 0x12, ir.FGT: 0x1e, ir.FLG: 0x0c, ir.FGE: 0x1d, ir.FO: 0x07,
	ir.FU: 0x03, ir.FNGE: 0x19, ir.FNLG: 0x08, ir.FNGT: 0x1a, ir.FNLE: 0x16, ir.FNEQ: 0x04, ir.FNLT: 0x15, ir.FTrue: 0x0f,
}

// roundImm holds the immediates of vrndscale.
var roundImm = [256]uint8{ir.OpFRndne: 8, ir.OpFFloor: 9, ir.OpFCeil: 10, ir.OpFTrunc: 11}

// floatBinary: f32 and f64 instructions.
var floatBinary = [256][2]*x86.Inst{
	ir.OpFAdd: {x86.VADDPS, x86.VADDPD},
	ir.OpFSub: {x86.VSUBPS, x86.VSUBPD},
	ir.OpFMul: {x86.VMULPS, x86.VMULPD},
}

var roundOf = [4]x86.Round{x86.RoundDyn, x86.RoundUp, x86.RoundDown, x86.RoundZero}

// plainFP tells whether e needs nothing but a rounding mode.
func plainFP(e ir.FP) bool { return e&(ir.FPFlushIn|ir.FPFlushOut|ir.FPOvfl) == 0 }

// canFloat tells whether floatOp knows the operation.
func (c *compiler) canFloat(v *ir.Value) bool {
	if v.Op == ir.OpFNeg || v.Op == ir.OpFAbs {
		return v.Kind == ir.F16 || v.Kind == ir.BF16 || v.Kind == ir.F32 || v.Kind == ir.F64
	}
	if c.canTrans(v) {
		return true
	}
	if _, _, ok := floatEnv(v); !ok || !v.Op.Float() || v.FP&ir.FPOvfl != 0 {
		return false
	}
	if c.canHalf(v) {
		return true
	}
	k3264 := v.Kind == ir.F32 || v.Kind == ir.F64
	switch v.Op {
	case ir.OpFAdd, ir.OpFSub, ir.OpFMul, ir.OpFMA, ir.OpFCmp:
		return k3264 || v.Kind == ir.F16 && v.Op != ir.OpFMA
	case ir.OpFMad:
		return k3264
	case ir.OpFMin, ir.OpFMax:
		return k3264 && v.FP&ir.FPIEEE != 0
	case ir.OpFTrunc, ir.OpFCeil, ir.OpFFloor, ir.OpFRndne:
		return k3264
	case ir.OpFRcp:
		return k3264
	case ir.OpFSqrt:
		return k3264
	case ir.OpFClamp:
		return k3264
	case ir.OpFCanon:
		return k3264
	case ir.OpCvt:
		return c.canCvt(v)
	case ir.OpFDivFmas:
		return c.canDivFmas(v)
	}
	return c.canFloat2(v)
}

func (c *compiler) canCvt(v *ir.Value) bool {
	from, to := v.From, v.Kind
	intf := func(k ir.Kind) bool {
		return k == ir.I32 || k == ir.U32 || k == ir.U8 || k == ir.I8 || k == ir.U16 || k == ir.I16
	}
	switch to {
	case ir.F32:
		return intf(from) || from == ir.F64 || from == ir.F16
	case ir.F64:
		return from == ir.I32 || from == ir.U32 || from == ir.F32
	case ir.F16:
		return from == ir.F32
	case ir.I32, ir.U32:
		return from == ir.F32 || from == ir.F64
	}
	return false
}

func (c *compiler) floatOp(id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	size, w := 4, 0
	if v.Kind == ir.F64 {
		size, w = 8, 1
	}
	mod := x86.Rounded(roundOf[v.FP.Round()])
	half := v.Kind == ir.F16 || v.Kind == ir.BF16
	if c.canTrans(v) {
		c.trans(id, v, u)
		return
	}
	if c.canHalf(v) {
		c.halfOp(id, v, u, mod)
		return
	}
	switch v.Op {
	case ir.OpFNeg, ir.OpFAbs:
		inst, bits := x86.VPXORD, uint64(1)<<31
		if v.Op == ir.OpFAbs {
			inst, bits = x86.VPANDD, 1<<31-1
		}
		if size == 8 {
			inst, bits = x86.VPXORQ, 1<<63
			if v.Op == ir.OpFAbs {
				inst, bits = x86.VPANDQ, 1<<63-1
			}
		}
		if half { // the result's high half is zero
			bits = 0x7fff
			if v.Op == ir.OpFNeg {
				x := r.zcopy(v.Args[0], 0, u, 4)
				a.E(x86.VPANDD, L, uint8(x), uint8(x), x86.ML(a.Const32(0xffff), 0).Bcast(), noMod)
				a.E(x86.VPXORD, L, uint8(x), uint8(x), x86.ML(a.Const32(0x8000), 0).Bcast(), noMod)
				r.become(id, 0, u, x)
				return
			}
		}
		if size == 8 && !c.vals[id].q { // in halves: the low one is the argument's
			inst, bits = x86.VPXORD, 1<<31
			if v.Op == ir.OpFAbs {
				inst, bits = x86.VPANDD, 1<<31-1
			}
			x := r.zin(v.Args[0], 1, u, 4)
			d := r.dst(id, 1, u)
			a.E(inst, L, uint8(d), uint8(x), r.constant(bits, 4), noMod)
			return
		}
		for i := range c.vals[id].comps {
			x := r.zin(v.Args[0], i, u, size)
			m := r.constant(bits, size)
			d := r.dst(id, i, u)
			a.E(inst, L, uint8(d), uint8(x), m, noMod)
		}
	case ir.OpFAdd, ir.OpFSub, ir.OpFMul:
		inst := floatBinary[v.Op]
		if v.Op == ir.OpFMul && c.soft(v) {
			for i := range c.vals[id].comps {
				r.softFloat(id, v, i, u)
			}
			return
		}
		if half {
			x, y := c.fromHalf(v.Args[0], u), c.fromHalf(v.Args[1], u)
			a.E(inst[0], L, uint8(x), uint8(x), x86.V(y), mod)
			c.toHalf(id, v, x, u)
			return
		}
		for i := range c.vals[id].comps {
			x := r.zin(v.Args[0], i, u, size)
			y := r.floatSrc(v.Args[1], i, u, size, mod)
			d := r.dst(id, i, u)
			a.E(inst[w], L, uint8(d), uint8(x), y, mod)
		}
	case ir.OpFMad:
		for i := range c.vals[id].comps {
			t := r.tmp()
			x := r.zin(v.Args[0], i, u, size)
			a.E(floatBinary[ir.OpFMul][w], L, uint8(t), uint8(x), r.floatSrc(v.Args[1], i, u, size, mod), mod)
			a.E(floatBinary[ir.OpFAdd][w], L, uint8(t), uint8(t), r.floatSrc(v.Args[2], i, u, size, mod), mod)
			r.become(id, i, u, t)
		}
	case ir.OpFMA:
		for i := range c.vals[id].comps {
			if c.soft(v) {
				r.softFloat(id, v, i, u)
			} else {
				r.fma(id, v, i, u, w, mod)
			}
		}
	case ir.OpFMin, ir.OpFMax:
		inst := [2]*x86.Inst{x86.VRANGEPS, x86.VRANGEPD}[w]
		imm := uint8(4) // minimum, sign of the result as it is
		if v.Op == ir.OpFMax {
			imm = 5
		}
		for i := range c.vals[id].comps {
			x := r.zin(v.Args[0], i, u, size)
			y := r.opnd(v.Args[1], i, u, size)
			d := r.dst(id, i, u)
			a.EI(inst, L, uint8(d), uint8(x), y, imm, noMod)
		}
	case ir.OpFTrunc, ir.OpFCeil, ir.OpFFloor, ir.OpFRndne:
		inst := [2]*x86.Inst{x86.VRNDSCALEPS, x86.VRNDSCALEPD}[w]
		imm := roundImm[v.Op]
		for i := range c.vals[id].comps {
			x := r.opnd(v.Args[0], i, u, size)
			d := r.dst(id, i, u)
			a.EI(inst, L, uint8(d), 0, x, imm, noMod)
		}
	case ir.OpFRcp, ir.OpFSqrt:
		for i := range c.vals[id].comps {
			x := r.zcopy(v.Args[0], i, u, size)
			if size == 4 {
				c.flush(x)
			}
			switch {
			case v.Op == ir.OpFSqrt && size == 4:
				a.E(x86.VSQRTPS, L, uint8(x), 0, x86.V(x), noMod)
			case v.Op == ir.OpFSqrt:
				a.E(x86.VSQRTPD, L, uint8(x), 0, x86.V(x), noMod)
			case size == 4:
				// A NaN is the second operand of the division and is kept.
				one := r.splatConst(0x3f800000, 4)
				a.E(x86.VDIVPS, L, uint8(x), uint8(one), x86.V(x), noMod)
				c.flush(x)
			default:
				one := r.splatConst(0x3ff0000000000000, 8)
				a.E(x86.VDIVPD, L, uint8(x), uint8(one), x86.V(x), noMod)
			}
			r.become(id, i, u, x)
		}
	case ir.OpFClamp:
		c.clamp(id, v, u, size)
	case ir.OpFCanon:
		// x·1 quiets NaNs and changes nothing else.
		inst, one := x86.VMULPS, uint64(0x3f800000)
		if size == 8 {
			inst, one = x86.VMULPD, 0x3ff0000000000000
		}
		for i := range c.vals[id].comps {
			x := r.zin(v.Args[0], i, u, size)
			m := r.constant(one, size)
			d := r.dst(id, i, u)
			a.E(inst, L, uint8(d), uint8(x), m, noMod)
		}
	case ir.OpFCmp:
		c.floatCmp(id, v, u)
	case ir.OpCvt:
		c.cvt(id, v, u, mod)
	case ir.OpFDivFmas:
		c.divFmas(id, v, u)
	default:
		c.floatOp2(id, v, u)
	}
}

// floatSrc is an operand: memory is allowed unless a rounding mode is embedded.
func (r *region) floatSrc(id ir.ID, i, u, size int, mod x86.Mod) x86.RM {
	if mod.Round() != x86.RoundDyn {
		return x86.V(r.zin(id, i, u, size))
	}
	return r.opnd(id, i, u, size)
}

// fma emits a·b+c for one component, over the operand that dies if there is one.
func (r *region) fma(id ir.ID, v *ir.Value, i, u, w int, mod x86.Mod) {
	a := &r.c.a
	const L = x86.L512
	size := 4 << w
	x, y, z := v.Args[0], v.Args[1], v.Args[2]
	emit := func(inst [2]*x86.Inst, dst x86.Vec, vv, rm ir.ID) {
		s := r.zin(vv, i, u, size)
		m := r.floatSrc(rm, i, u, size, mod)
		a.E(inst[w], L, uint8(dst), uint8(s), m, mod)
		r.become(id, i, u, dst)
	}
	if d, ok := r.steal(v, 2, i, u); ok {
		emit([2]*x86.Inst{x86.VFMADD231PS, x86.VFMADD231PD}, d, x, y)
	} else if d, ok := r.steal(v, 0, i, u); ok {
		emit([2]*x86.Inst{x86.VFMADD132PS, x86.VFMADD132PD}, d, z, y)
	} else if d, ok := r.steal(v, 1, i, u); ok {
		emit([2]*x86.Inst{x86.VFMADD213PS, x86.VFMADD213PD}, d, x, z)
	} else {
		emit([2]*x86.Inst{x86.VFMADD231PS, x86.VFMADD231PD}, r.zcopy(z, i, u, size), x, y)
	}
}

// steal takes the register of argument n when the value dies here, is in a register, and is not another argument too.
func (r *region) steal(v *ir.Value, n, i, u int) (x86.Vec, bool) {
	k := r.compOf(v.Args[n], i)
	if k < 0 || r.c.comps[k].kind != compZ || r.usedLater(k) {
		return 0, false
	}
	same := 0
	for _, arg := range v.Args {
		if arg != ir.NoID {
			for _, m := range r.c.vals[arg].comps {
				if m == k {
					same++
				}
			}
		}
	}
	o := k*maxU + int32(u)
	z := r.copies[o].z
	if same != 1 || z < 0 {
		return 0, false
	}
	r.copies[o].z = noReg
	r.zown[z] = ownTemp
	r.zpin |= 1 << z
	return x86.Vec(z), true
}

// flush turns f32 denormals into zeros of their sign. Under DAZ vfpclass takes them for zeros, which stay zeros.
func (c *compiler) flush(x x86.Vec) {
	k := c.r.ktmp()
	c.a.EI(x86.VFPCLASSPS, x86.L512, uint8(k), 0, x86.V(x), clDenorm|clZero, noMod)
	c.a.E(x86.VPANDD, x86.L512, uint8(x), uint8(x), x86.ML(c.a.Const32(1<<31), 0).Bcast(), x86.Masked(k))
}

// clamp limits to [0, 1]: NaN is 0 or stays, -0 becomes +0.
func (c *compiler) clamp(id ir.ID, v *ir.Value, u, size int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	mx, mn, one := x86.VMAXPS, x86.VMINPS, uint64(0x3f800000)
	cmp, mul := x86.VCMPPS, x86.VMULPS
	if size == 8 {
		mx, mn, one = x86.VMAXPD, x86.VMINPD, 0x3ff0000000000000
		cmp, mul = x86.VCMPPD, x86.VMULPD
	}
	for i := range c.vals[id].comps {
		x := r.zin(v.Args[0], i, u, size)
		zero := r.splatConst(0, size)
		t := r.tmp()
		// max(x, +0) gives its second operand for NaN and for equal zeros.
		a.E(mx, L, uint8(t), uint8(x), x86.V(zero), noMod)
		a.E(mn, L, uint8(t), uint8(t), r.constant(one, size), noMod)
		if v.FP&ir.FPDX10 == 0 {
			k := r.ktmp()
			a.EI(cmp, L, uint8(k), uint8(x), x86.V(x), 3, noMod)
			a.E(mul, L, uint8(t), uint8(x), r.constant(one, size), x86.Masked(k))
		}
		r.become(id, i, u, t)
	}
}

// fromHalf is an f16 value as f32, in a temporary.
func (c *compiler) fromHalf(id ir.ID, u int) x86.Vec {
	r, a := &c.r, &c.a
	x := r.zin(id, 0, u, 4)
	t := r.tmp()
	a.E(x86.VPMOVDW, x86.L512, uint8(x), 0, x86.V(t), noMod)
	a.E(x86.VCVTPH2PS, x86.L512, uint8(t), 0, x86.V(t), noMod)
	return t
}

// toHalf rounds x to f16 as the result of v. Rounding twice, to 24 and to 11 bits, is the same as once for one sum,
// difference or product of f16 numbers only if the first is exact or to nearest with at least 2·11+2 bits; directed modes
// compose by themselves.
func (c *compiler) toHalf(id ir.ID, v *ir.Value, x x86.Vec, u int) {
	r, a := &c.r, &c.a
	imm := [4]uint8{0, 2, 1, 3}[v.FP.Round()]
	a.EI(x86.VCVTPS2PH, x86.L512, uint8(x), 0, x86.V(x), imm, noMod)
	a.E(x86.VPMOVZXWD, x86.L512, uint8(x), 0, x86.V(x), noMod)
	r.become(id, 0, u, x)
}

func (c *compiler) floatCmp(id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	imm := floatCmp[v.Pred]
	switch v.Kind {
	case ir.F16:
		x, y := c.fromHalf(v.Args[0], u), c.fromHalf(v.Args[1], u)
		d := r.kdst(id, u)
		a.EI(x86.VCMPPS, L, uint8(d), uint8(x), x86.V(y), imm, noMod)
	case ir.F32:
		x := r.zin(v.Args[0], 0, u, 4)
		y := r.opnd(v.Args[1], 0, u, 4)
		d := r.kdst(id, u)
		a.EI(x86.VCMPPS, L, uint8(d), uint8(x), y, imm, noMod)
	default:
		var k [2]x86.K
		for i := range 2 {
			x := r.zin(v.Args[0], i, u, 8)
			y := r.opnd(v.Args[1], i, u, 8)
			k[i] = r.ktmp()
			a.EI(x86.VCMPPD, L, uint8(k[i]), uint8(x), y, imm, noMod)
		}
		d := r.kdst(id, u)
		a.X(x86.KUNPCKBW, x86.L128, uint8(d), uint8(k[1]), x86.KR(k[0]))
	}
}

// cvt converts between formats.
func (c *compiler) cvt(id ir.ID, v *ir.Value, u int, mod x86.Mod) {
	r, a := &c.r, &c.a
	const L = x86.L512
	x0 := v.Args[0]
	switch {
	case v.Kind == ir.F32 && v.From == ir.F16:
		t := c.fromHalf(x0, u)
		r.become(id, 0, u, t)
	case v.Kind == ir.F16:
		x := r.zcopy(x0, 0, u, 4)
		c.toHalf(id, v, x, u)
	case v.Kind == ir.F32 && v.From == ir.F64:
		d := r.tmp()
		t := r.tmp()
		a.E(x86.VCVTPD2PS, L, uint8(d), 0, x86.V(r.zin(x0, 0, u, 8)), mod)
		a.E(x86.VCVTPD2PS, L, uint8(t), 0, x86.V(r.zin(x0, 1, u, 8)), mod)
		a.EI(x86.VINSERTI64X4, L, uint8(d), uint8(d), x86.V(t), 1, noMod)
		r.become(id, 0, u, d)
	case v.Kind == ir.F32: // integers
		x := r.zcopy(x0, 0, u, 4)
		inst := x86.VCVTDQ2PS
		switch v.From {
		case ir.U32:
			inst = x86.VCVTUDQ2PS
		case ir.U8, ir.U16:
			a.E(x86.VPANDD, L, uint8(x), uint8(x), x86.ML(a.Const32(1<<v.From.Bits()-1), 0).Bcast(), noMod)
		case ir.I8, ir.I16:
			n := uint8(32 - v.From.Bits())
			a.EI(x86.VPSLLDI, L, 0, uint8(x), x86.V(x), n, noMod)
			a.EI(x86.VPSRADI, L, 0, uint8(x), x86.V(x), n, noMod)
		}
		a.E(inst, L, uint8(x), 0, x86.V(x), mod)
		r.become(id, 0, u, x)
	case v.Kind == ir.F64:
		inst := [...]*x86.Inst{ir.I32: x86.VCVTDQ2PD, ir.U32: x86.VCVTUDQ2PD, ir.F32: x86.VCVTPS2PD}[v.From]
		x := r.zin(x0, 0, u, 4)
		d0 := r.dstEarly(id, 0, u)
		a.E(inst, L, uint8(d0), 0, x86.V(x), noMod)
		d1 := r.dstEarly(id, 1, u)
		a.EI(x86.VEXTRACTI64X4, L, uint8(x), 0, x86.V(d1), 1, noMod)
		a.E(inst, L, uint8(d1), 0, x86.V(d1), noMod)
	case v.From == ir.F32 && v.Kind == ir.U32:
		// max(x, +0) makes negatives and NaN zero; what is too large gives all ones.
		x := r.zin(x0, 0, u, 4)
		t := r.splatConst(0, 4)
		a.E(x86.VMAXPS, L, uint8(t), uint8(x), x86.V(t), noMod)
		a.E(x86.VCVTTPS2UDQ, L, uint8(t), 0, x86.V(t), noMod)
		r.become(id, 0, u, t)
	case v.From == ir.F32 && v.Kind == ir.I32:
		x := r.zin(x0, 0, u, 4)
		t := r.tmp()
		k := r.ktmp()
		a.E(x86.VCVTTPS2DQ, L, uint8(t), 0, x86.V(x), noMod)
		a.EI(x86.VCMPPS, L, uint8(k), uint8(x), x86.ML(a.Const32(0x4f000000), 0).Bcast(), 0x1d, noMod)
		a.E(x86.VPBROADCASTD, L, uint8(t), 0, x86.ML(a.Const32(0x7fffffff), 0), x86.Masked(k))
		a.EI(x86.VCMPPS, L, uint8(k), uint8(x), x86.V(x), 3, noMod)
		a.E(x86.VPXORD, L, uint8(t), uint8(t), x86.V(t), x86.Masked(k))
		r.become(id, 0, u, t)
	default: // F64 to I32 or U32
		var t [2]x86.Vec
		for i := range 2 {
			x := r.zin(x0, i, u, 8)
			if v.Kind == ir.U32 {
				t[i] = r.splatConst(0, 8)
				a.E(x86.VMAXPD, L, uint8(t[i]), uint8(x), x86.V(t[i]), noMod)
				a.E(x86.VCVTTPD2UDQ, L, uint8(t[i]), 0, x86.V(t[i]), noMod)
				continue
			}
			t[i] = r.tmp()
			k := r.ktmp()
			a.E(x86.VCVTTPD2DQ, L, uint8(t[i]), 0, x86.V(x), noMod)
			a.EI(x86.VCMPPD, L, uint8(k), uint8(x), x86.ML(a.Const64(0x41dfffffffc00000), 0).Bcast(), 0x1d, noMod)
			a.E(x86.VPBROADCASTD, x86.L256, uint8(t[i]), 0, x86.ML(a.Const32(0x7fffffff), 0), x86.Masked(k))
			a.EI(x86.VCMPPD, L, uint8(k), uint8(x), x86.V(x), 3, noMod)
			a.E(x86.VPXORD, x86.L256, uint8(t[i]), uint8(t[i]), x86.V(t[i]), x86.Masked(k))
		}
		a.EI(x86.VINSERTI64X4, L, uint8(t[0]), uint8(t[0]), x86.V(t[1]), 1, noMod)
		r.become(id, 0, u, t[0])
	}
}
