package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// fmtInfo holds what the rarer float operations need to know of a format, and the instructions for its size.
type fmtInfo struct {
	size                           int
	sign, inf, nan, one            uint64
	man                            uint8 // mantissa bits
	expMask                        uint64
	emin                           int64
	scale, far, tiny, under        int64 // of division, as in package fp
	scaleF, minusScale, eminF      uint64
	big                            uint64 // 2^-emin: larger denominators have a denormal reciprocal
	near, off                      uint64 // see compiler.near
	class, range_, scalef, getmant *x86.Inst
	getexp, cmp, mul, sub, min     *x86.Inst
	and, or, add, isub, srl, icmp  *x86.Inst
	ternlog, mov, splat, test      *x86.Inst
}

var fmt32 = fmtInfo{
	size: 4, sign: 1 << 31, inf: 0x7f800000, nan: 0xffc00000, one: 0x3f800000, man: 23, expMask: 0xff, emin: -126,
	scale: 64, far: 96, tiny: 23, under: -150, scaleF: 0x42800000, minusScale: 0xc2800000, eminF: 0xc2fc0000, big: 0x7e800000,
	near: (127 - 32) << 23, off: 3 << 29,
	class: x86.VFPCLASSPS, range_: x86.VRANGEPS, scalef: x86.VSCALEFPS, getmant: x86.VGETMANTPS, getexp: x86.VGETEXPPS,
	cmp: x86.VCMPPS, mul: x86.VMULPS, sub: x86.VSUBPS, min: x86.VMINPS, and: x86.VPANDD, or: x86.VPORD, add: x86.VPADDD,
	isub: x86.VPSUBD, srl: x86.VPSRLDI, icmp: x86.VPCMPD, ternlog: x86.VPTERNLOGD, mov: x86.VMOVDQU32, splat: x86.VPBROADCASTD, test: x86.VPTESTMD,
}

var fmt64 = fmtInfo{
	size: 8, sign: 1 << 63, inf: 0x7ff0000000000000, nan: 0xfff8000000000000, one: 0x3ff0000000000000, man: 52, expMask: 0x7ff, emin: -1022,
	scale: 128, far: 768, tiny: 53, under: -1075, scaleF: 0x4060000000000000, minusScale: 0xc060000000000000, eminF: 0xc08ff00000000000, big: 0x7fd0000000000000,
	near: (1023 - 256) << 52, off: 3 << 61,
	class: x86.VFPCLASSPD, range_: x86.VRANGEPD, scalef: x86.VSCALEFPD, getmant: x86.VGETMANTPD, getexp: x86.VGETEXPPD,
	cmp: x86.VCMPPD, mul: x86.VMULPD, sub: x86.VSUBPD, min: x86.VMINPD, and: x86.VPANDQ, or: x86.VPORQ, add: x86.VPADDQ,
	isub: x86.VPSUBQ, srl: x86.VPSRLQI, icmp: x86.VPCMPQ, ternlog: x86.VPTERNLOGQ, mov: x86.VMOVDQU64, splat: x86.VPBROADCASTQ, test: x86.VPTESTMQ,
}

func fmtOf(k ir.Kind) *fmtInfo {
	if k == ir.F64 {
		return &fmt64
	}
	return &fmt32
}

// Classes of vfpclass.
const (
	clQNaN    = 0x01
	clPosZero = 0x02
	clNegZero = 0x04
	clPosInf  = 0x08
	clNegInf  = 0x10
	clDenorm  = 0x20
	clNeg     = 0x40 // negative and finite, not zero
	clSNaN    = 0x80
	clZero    = clPosZero | clNegZero
	clInf     = clPosInf | clNegInf
	clNaN     = clQNaN | clSNaN
)

// canFloat2 tells whether floatOp2 knows the operation.
func (c *compiler) canFloat2(v *ir.Value) bool {
	if v.Kind != ir.F32 && v.Kind != ir.F64 || v.FP.Round() != 0 && v.Op != ir.OpFClass && v.Op != ir.OpFMed3 {
		return false
	}
	switch v.Op {
	case ir.OpFLdexp, ir.OpFMant, ir.OpFFract, ir.OpFDivScale, ir.OpFDivScaleVCC, ir.OpFDivFixup, ir.OpFRcpIFlag:
		return true
	case ir.OpFExp:
		return true
	case ir.OpFMed3:
		return v.FP&ir.FPIEEE != 0
	case ir.OpFClass:
		return true
	}
	return false
}

// floatOp2 emits the operations of canFloat2, component by component.
func (c *compiler) floatOp2(id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	f := fmtOf(v.Kind)
	halves := 1
	if f.size == 8 {
		halves = 2
	}
	switch {
	case v.Op == ir.OpFExp && halves == 2:
		c.exponent64(id, v, u, f)
		return
	case v.Op == ir.OpFDivScale || v.Op == ir.OpFDivScaleVCC || v.Op == ir.OpFDivFixup:
		c.divide(id, v, u, f, halves)
		return
	}
	k := func(x uint64) x86.RM { return r.constant(x, f.size) }
	var masks [2]x86.K
	for i := range halves {
		// Temporaries live until the operation ends; 64-bit operations go through here twice, so they are given back.
		before := r.temps()
		in := func(n int) x86.Vec { return r.zin(v.Args[n], i, u, f.size) }
		switch v.Op {
		case ir.OpFLdexp:
			x := in(0)
			t := r.tmp()
			if halves == 1 {
				n := r.zin(v.Args[1], 0, u, 4)
				a.E(x86.VPMINSD, L, uint8(t), uint8(n), r.constant(1<<14, 4), noMod)
				a.E(x86.VPMAXSD, L, uint8(t), uint8(t), r.constant(uint64(uint32(-1<<14&0xffffffff)), 4), noMod)
				a.E(x86.VCVTDQ2PS, L, uint8(t), 0, x86.V(t), noMod)
			} else {
				h := c.half(v.Args[1], i, u, x86.VPMOVSXDQ)
				a.E(x86.VPMINSQ, L, uint8(t), uint8(h), k(1<<14), noMod)
				a.E(x86.VPMAXSQ, L, uint8(t), uint8(t), k(^uint64(1<<14-1)), noMod)
				a.E(x86.VCVTQQ2PD, L, uint8(t), 0, x86.V(t), noMod)
			}
			a.E(f.scalef, L, uint8(t), uint8(x), x86.V(t), noMod)
			r.become(id, i, u, t)
		case ir.OpFRcpIFlag:
			x := r.zcopy(v.Args[0], i, u, f.size)
			c.rcp(x, f)
			r.become(id, i, u, x)
		case ir.OpFMant:
			// Zeros and infinities are themselves; NaN becomes quiet either way.
			x := in(0)
			t, m := r.tmp(), r.ktmp()
			a.EI(f.class, L, uint8(m), 0, x86.V(x), clZero|clInf, noMod)
			a.EI(f.getmant, L, uint8(t), 0, x86.V(x), 2, noMod) // [0.5, 1), sign kept
			a.E(f.mov, L, uint8(t), 0, x86.V(x), x86.Masked(m))
			r.become(id, i, u, t)
		case ir.OpFExp:
			x := in(0)
			t, m := r.tmp(), r.ktmp()
			a.EI(f.class, L, uint8(m), 0, x86.V(x), clZero|clInf|clNaN, noMod)
			a.E(f.getexp, L, uint8(t), 0, x86.V(x), noMod)
			a.E(x86.VCVTPS2DQ, L, uint8(t), 0, x86.V(t), noMod)
			a.E(x86.VPADDD, L, uint8(t), uint8(t), r.constant(1, 4), noMod)
			a.E(x86.VPXORD, L, uint8(t), uint8(t), x86.V(t), x86.Masked(m))
			r.become(id, i, u, t)
		case ir.OpFFract:
			// min(c, x - floor(x)) with the difference second, so that NaN is kept.
			x := in(0)
			t := r.tmp()
			one := r.splatConst(f.one-1, f.size)
			inst := x86.VRNDSCALEPS
			if halves == 2 {
				inst = x86.VRNDSCALEPD
			}
			a.EI(inst, L, uint8(t), 0, x86.V(x), 9, noMod)
			a.E(f.sub, L, uint8(t), uint8(x), x86.V(t), noMod)
			a.E(f.min, L, uint8(t), uint8(one), x86.V(t), noMod)
			r.become(id, i, u, t)
		case ir.OpFMed3:
			x, y, z := in(0), in(1), in(2)
			lo, hi, m, n := r.tmp(), r.tmp(), r.ktmp(), r.ktmp()
			a.EI(f.cmp, L, uint8(m), uint8(x), x86.V(y), 3, noMod)
			a.EI(f.cmp, L, uint8(n), uint8(z), x86.V(z), 3, noMod)
			a.X(x86.KORW, x86.L128, uint8(m), uint8(m), x86.KR(n))
			a.EI(f.range_, L, uint8(lo), uint8(x), x86.V(y), 4, noMod)
			a.EI(f.range_, L, uint8(hi), uint8(x), x86.V(y), 5, noMod)
			a.EI(f.range_, L, uint8(hi), uint8(hi), x86.V(z), 4, noMod)
			a.EI(f.range_, L, uint8(hi), uint8(lo), x86.V(hi), 5, noMod)
			a.EI(f.range_, L, uint8(hi), uint8(lo), x86.V(z), 4, x86.Masked(m)) // with a NaN, the minimum
			r.become(id, i, u, hi)
		case ir.OpFClass:
			x := in(0)
			if _, ok := c.isConst(v.Args[1]); ok {
				masks[i] = c.classMask(x, v, f)
			} else {
				masks[i] = c.classOf(x, v, i, u, f)
			}
			before[1] |= 1 << masks[i]
		}
		r.dropTemps(before)
	}
	if v.Type == ir.M {
		d := r.kdst(id, u)
		if halves == 2 {
			a.X(x86.KUNPCKBW, x86.L128, uint8(d), uint8(masks[1]), x86.KR(masks[0]))
		} else {
			a.X(x86.KMOVW, x86.L128, uint8(d), 0, x86.KR(masks[0]))
		}
	}
}

// exponent64 is the exponents of both halves of an f64 as 32-bit numbers, 0 for what has none.
func (c *compiler) exponent64(id ir.ID, v *ir.Value, u int, f *fmtInfo) {
	r, a := &c.r, &c.a
	const L = x86.L512
	var t [2]x86.Vec
	var none [2]x86.K
	for i := range 2 {
		x := r.zin(v.Args[0], i, u, 8)
		t[i], none[i] = r.tmp(), r.ktmp()
		a.EI(f.class, L, uint8(none[i]), 0, x86.V(x), clZero|clInf|clNaN, noMod)
		a.E(f.getexp, L, uint8(t[i]), 0, x86.V(x), noMod)
		a.E(x86.VCVTPD2DQ, L, uint8(t[i]), 0, x86.V(t[i]), noMod)
	}
	a.EI(x86.VINSERTI64X4, L, uint8(t[0]), uint8(t[0]), x86.V(t[1]), 1, noMod)
	a.E(x86.VPADDD, L, uint8(t[0]), uint8(t[0]), r.constant(1, 4), noMod)
	a.X(x86.KUNPCKBW, x86.L128, uint8(none[0]), uint8(none[1]), x86.KR(none[0]))
	a.E(x86.VPXORD, L, uint8(t[0]), uint8(t[0]), x86.V(t[0]), x86.Masked(none[0]))
	r.release(v, u)
	r.become(id, 0, u, t[0])
}

// temps is the set of temporaries in use.
func (r *region) temps() (s [2]uint32) {
	for i, o := range r.zown {
		if o == ownTemp {
			s[0] |= 1 << i
		}
	}
	for i, o := range r.kown {
		if o == ownTemp {
			s[1] |= 1 << i
		}
	}
	return s
}

// dropTemps gives back the temporaries that are not in keep.
func (r *region) dropTemps(keep [2]uint32) {
	for i, o := range r.zown {
		if o == ownTemp && keep[0]>>i&1 == 0 {
			r.zown[i] = ownFree
			r.zpin &^= 1 << i
		}
	}
	for i, o := range r.kown {
		if o == ownTemp && keep[1]>>i&1 == 0 {
			r.kown[i] = ownFree
			r.kpin &^= 1 << i
		}
	}
}

// rcp replaces x by 1/x; f32 treats denormals as zeros.
func (c *compiler) rcp(x x86.Vec, f *fmtInfo) {
	one := c.r.splatConst(f.one, f.size)
	if f.size == 8 {
		c.a.E(x86.VDIVPD, x86.L512, uint8(x), uint8(one), x86.V(x), noMod)
		return
	}
	c.flush(x)
	c.a.E(x86.VDIVPS, x86.L512, uint8(x), uint8(one), x86.V(x), noMod)
	c.flush(x)
}

// classMask tests x against the classes of v_cmp_class, a constant.
func (c *compiler) classMask(x x86.Vec, v *ir.Value, f *fmtInfo) x86.K {
	r, a := &c.r, &c.a
	const L = x86.L512
	w, _ := c.isConst(v.Args[1])
	var imm uint8
	for bit, cl := range map[uint]uint8{0: clSNaN, 1: clQNaN, 2: clNegInf, 5: clNegZero, 6: clPosZero, 9: clPosInf} {
		if w>>bit&1 != 0 {
			imm |= cl
		}
	}
	d, den, neg, t := r.ktmp(), r.ktmp(), r.ktmp(), r.ktmp()
	a.EI(f.class, L, uint8(d), 0, x86.V(x), imm, noMod)
	if w>>4&1|w>>7&1|w>>3&1|w>>8&1 == 0 {
		return d
	}
	a.EI(f.class, L, uint8(den), 0, x86.V(x), clDenorm, noMod)
	a.EI(f.class, L, uint8(neg), 0, x86.V(x), clNeg, noMod)
	or := func() { a.X(x86.KORW, x86.L128, uint8(d), uint8(d), x86.KR(t)) }
	if w>>3&1 != 0 { // negative normal
		a.X(x86.KANDNW, x86.L128, uint8(t), uint8(den), x86.KR(neg))
		or()
	}
	if w>>4&1 != 0 { // negative denormal
		a.X(x86.KANDW, x86.L128, uint8(t), uint8(den), x86.KR(neg))
		or()
	}
	if w>>7&1 != 0 { // positive denormal
		a.X(x86.KANDNW, x86.L128, uint8(t), uint8(neg), x86.KR(den))
		or()
	}
	if w>>8&1 != 0 { // positive normal: none of the others
		a.EI(f.class, L, uint8(t), 0, x86.V(x), 0xff, noMod)
		a.X(x86.KNOTW, x86.L128, uint8(t), 0, x86.KR(t))
		if f.size == 8 { // eight lanes
			a.XI(x86.KSHIFTLW, x86.L128, uint8(t), 0, x86.KR(t), 8)
			a.XI(x86.KSHIFTRW, x86.L128, uint8(t), 0, x86.KR(t), 8)
		}
		or()
	}
	return d
}

// classOf tests numbers x, half i of them for f64, against classes that are not constant: each lane's number has one class, whose bit is
// looked for.
func (c *compiler) classOf(x x86.Vec, v *ir.Value, i, u int, f *fmtInfo) x86.K {
	r, a := &c.r, &c.a
	const L = x86.L512
	d, k, t := r.ktmp(), r.ktmp(), r.tmp()
	put := func(bit int, m x86.Mod) {
		if f.size == 8 {
			a.E(x86.VPBROADCASTQ, L, uint8(t), 0, x86.ML(a.Const64(1<<bit), 0), m)
			return
		}
		a.E(x86.VPBROADCASTD, L, uint8(t), 0, x86.ML(a.Const32(1<<bit), 0), m)
	}
	put(8, noMod) // positive, if it is none of the others
	for _, cl := range [...]struct {
		imm uint8
		bit int
	}{{clDenorm, 7}, {clNeg, 3}, {clSNaN, 0}, {clQNaN, 1}, {clNegInf, 2}, {clNegZero, 5}, {clPosZero, 6}, {clPosInf, 9}} {
		a.EI(f.class, L, uint8(k), 0, x86.V(x), cl.imm, noMod)
		put(cl.bit, x86.Masked(k))
	}
	a.EI(f.class, L, uint8(k), 0, x86.V(x), clDenorm, noMod)
	a.EI(f.class, L, uint8(d), 0, x86.V(x), clNeg, noMod)
	a.X(x86.KANDW, x86.L128, uint8(k), uint8(k), x86.KR(d))
	put(4, x86.Masked(k))
	if f.size == 8 {
		a.E(x86.VPTESTMQ, L, uint8(d), uint8(t), x86.V(c.half(v.Args[1], i, u, x86.VPMOVSXDQ)), noMod)
	} else {
		a.E(x86.VPTESTMD, L, uint8(d), uint8(t), r.opnd(v.Args[1], 0, u, 4), noMod)
	}
	return d
}

// biased puts the exponent field of x into d.
func (c *compiler) biased(d, x x86.Vec, f *fmtInfo) {
	a := &c.a
	a.EI(f.srl, x86.L512, 0, uint8(d), x86.V(x), f.man, noMod)
	a.E(f.and, x86.L512, uint8(d), uint8(d), c.r.constant(f.expMask, f.size), noMod)
}
