package avx2

import "github.com/pumice-gpu/pumice/engine/jit/x86"

// handlers say how each instruction is lowered.
var handlers = func() map[*x86.Inst]func(*op) {
	m := map[*x86.Inst]func(*op){}
	maskHandlers(m)
	laneHandlers(m)
	moveHandlers(m)
	permuteHandlers(m)
	compareHandlers(m)
	convertHandlers(m)
	floatHandlers(m)
	integerHandlers(m)
	scaleHandlers(m)
	return m
}()

// same are instructions of two sources that are one instruction for each half, by the size of elements; of some, under another name.
var same = map[int][][2]*x86.Inst{
	4: {
		{x86.VPADDD}, {x86.VPSUBD}, {x86.VPMULLD}, {x86.VPMINSD}, {x86.VPMAXSD}, {x86.VPMINUD}, {x86.VPMAXUD}, {x86.VPANDD, x86.VPAND},
		{x86.VPANDND, x86.VPANDN}, {x86.VPORD, x86.VPOR}, {x86.VPXORD, x86.VPXOR}, {x86.VPSLLVD}, {x86.VPSRLVD}, {x86.VPSRAVD},
		{x86.VPUNPCKLDQ}, {x86.VPUNPCKHDQ},
		{x86.VADDPS}, {x86.VSUBPS}, {x86.VMULPS}, {x86.VDIVPS}, {x86.VMINPS}, {x86.VMAXPS},
	},
	8: {
		{x86.VPADDQ}, {x86.VPSUBQ}, {x86.VPMULUDQ}, {x86.VPMULDQ}, {x86.VPANDQ, x86.VPAND}, {x86.VPANDNQ, x86.VPANDN}, {x86.VPORQ, x86.VPOR},
		{x86.VPXORQ, x86.VPXOR}, {x86.VPSLLVQ}, {x86.VPSRLVQ}, {x86.VPUNPCKLQDQ}, {x86.VPUNPCKHQDQ},
		{x86.VADDPD}, {x86.VSUBPD}, {x86.VMULPD}, {x86.VDIVPD}, {x86.VMINPD}, {x86.VMAXPD},
	},
	1: {{x86.VPADDB}, {x86.VPSUBB}, {x86.VPSHUFB}},
	2: {{x86.VPADDW}, {x86.VPSUBW}, {x86.VPMADDWD}, {x86.VPMULLW}, {x86.VPUNPCKLWD}, {x86.VPUNPCKHWD}, {x86.VPUNPCKLBW}, {x86.VPUNPCKHBW}},
}

// sameOne are those of one source, with or without an immediate.
var sameOne = map[int][]*x86.Inst{
	4: {x86.VPABSD, x86.VPSHUFD, x86.VMOVSHDUP, x86.VMOVSLDUP, x86.VSQRTPS, x86.VCVTDQ2PS, x86.VCVTPS2DQ, x86.VCVTTPS2DQ},
	8: {x86.VSQRTPD},
}

// shifts by an immediate, whose destination is in vvvv.
var shifts = map[int][]*x86.Inst{
	2: {x86.VPSLLWI, x86.VPSRLWI, x86.VPSRAWI},
	4: {x86.VPSLLDI, x86.VPSRLDI, x86.VPSRADI},
	8: {x86.VPSLLQI, x86.VPSRLQI},
}

// fused multiply-adds read their destination.
var fused = map[int][]*x86.Inst{
	4: {x86.VFMADD132PS, x86.VFMADD213PS, x86.VFMADD231PS, x86.VFMSUB213PS, x86.VFMSUB231PS, x86.VFNMADD213PS, x86.VFNMADD231PS, x86.VFNMSUB213PS},
	8: {x86.VFMADD132PD, x86.VFMADD213PD, x86.VFMADD231PD, x86.VFMSUB213PD, x86.VFMSUB231PD, x86.VFNMADD213PD, x86.VFNMADD231PD, x86.VFNMSUB213PD},
}

// scalars work on one element; the rest of the destination comes from vvvv.
var scalars = []*x86.Inst{x86.VADDSS, x86.VADDSD, x86.VSUBSS, x86.VSUBSD, x86.VMULSS, x86.VMULSD, x86.VDIVSS, x86.VDIVSD}

func laneHandlers(m map[*x86.Inst]func(*op)) {
	for size, list := range same {
		for _, i := range list {
			inst := i[1]
			if inst == nil {
				inst = i[0]
			}
			m[i[0]] = two(inst, size)
		}
	}
	for size, list := range sameOne {
		for _, i := range list {
			m[i] = one(i, size)
		}
	}
	for size, list := range shifts {
		for _, i := range list {
			m[i] = shift(i, size)
		}
	}
	for size, list := range fused {
		for _, i := range list {
			m[i] = fma(i, size)
		}
	}
	for _, i := range scalars {
		m[i] = func(o *op) {
			x := o.load(o.vv, 0, t1)
			d := o.into(o.reg, 0, t0)
			y := o.m
			if !y.IsMem() {
				y = o.half(y.Num(), 0)
			}
			o.xmm(o.i, d, x, y, 0)
			o.done(o.reg, 0, d)
			o.clearUpper()
		}
	}
}

// maskSize is the size of elements that masks of an instruction go by; masks of bytes and words exist for a few instructions only.
func (o *op) maskable(size int) bool { return o.mod.K() == 0 || size >= 4 }

func two(inst *x86.Inst, size int) func(*op) {
	return func(o *op) {
		if !o.maskable(size) && !(size == 1 && inst == x86.VPSHUFB) {
			o.unsupported()
			return
		}
		for h := range o.halves() {
			x := o.load(o.vv, h, t1)
			y := o.src(h, size, t2)
			d := uint8(t0)
			if o.mod.K() == 0 {
				d = o.into(o.reg, h, t0)
			}
			o.raw(inst, d, x, y)
			o.write(h, size, d)
		}
		o.clearUpper()
	}
}

func one(inst *x86.Inst, size int) func(*op) {
	return func(o *op) {
		for h := range o.halves() {
			y := o.src(h, size, t2)
			d := uint8(t0)
			if o.mod.K() == 0 {
				d = o.into(o.reg, h, t0)
			}
			o.rawI(inst, d, 0, y, o.imm)
			o.write(h, size, d)
		}
		o.clearUpper()
	}
}

func shift(inst *x86.Inst, size int) func(*op) {
	return func(o *op) {
		if !o.maskable(size) {
			o.unsupported()
			return
		}
		o.reg = o.vv
		for h := range o.halves() {
			x := o.srcReg(h, size, t2)
			d := uint8(t0)
			if o.mod.K() == 0 {
				d = o.into(o.reg, h, t0)
			}
			o.rawI(inst, 0, d, vr(x), o.imm)
			o.write(h, size, d)
		}
		o.clearUpper()
	}
}

func fma(inst *x86.Inst, size int) func(*op) {
	return func(o *op) {
		for h := range o.halves() {
			x := o.load(o.vv, h, t1)
			y := o.src(h, size, t2)
			if o.mod.K() == 0 && o.reg < Regs {
				o.raw(inst, o.into(o.reg, h, t0), x, y)
				continue
			}
			o.copyTo(o.reg, h, t0)
			o.raw(inst, t0, x, y)
			o.write(h, size, t0)
		}
		o.clearUpper()
	}
}
