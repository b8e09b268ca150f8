package avx2

import (
	"math"

	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// Exponents and mantissas. Four temporaries are few for these, so that steps talk by places of the frame's scratch.
const (
	inX       = offTmp       // the number
	outExp    = offTmp + 32  // its exponent, as a floating-point number
	outMant   = offTmp + 64  // its mantissa, at least 1 and below 2, with its sign
	isSpecial = offTmp + 96  // mask of zeros, infinities and NaNs
	inY       = offTmp + 128 // the second operand of scalef
)

func scaleHandlers(m map[*x86.Inst]func(*op)) {
	m[x86.VGETEXPPS] = each(4, getExp)
	m[x86.VGETEXPPD] = each(8, getExp)
	m[x86.VGETMANTPS] = each(4, getMant)
	m[x86.VGETMANTPD] = each(8, getMant)
	m[x86.VSCALEFPS] = each(4, scaleF)
	m[x86.VSCALEFPD] = each(8, scaleF)
}

// parts are what the instructions on exponents and mantissas need to know of a format.
type parts struct {
	format
	mul, add, sub    *x86.Inst
	one, half        uint64
	mantissa         uint8
	up, upExp        uint64 // a power of two that makes denormals normal, and its exponent as a number
	low, high        uint64 // powers that a mantissa is multiplied by first, as exponents: normal both ways
	limLow, limHigh  uint64 // beyond these exponents everything is the same
	bias             int64
	number           func(float64) uint64
	floor, minF, max *x86.Inst
}

var partsOf = map[int]*parts{
	4: {format: formats[4], mul: x86.VMULPS, add: x86.VADDPS, sub: x86.VSUBPS, one: 0x3f800000, half: 0x3f000000, mantissa: 23, bias: 127,
		number: func(f float64) uint64 { return uint64(math.Float32bits(float32(f))) }, floor: x86.VROUNDPS, minF: x86.VMINPS, max: x86.VMAXPS},
	8: {format: formats[8], mul: x86.VMULPD, add: x86.VADDPD, sub: x86.VSUBPD, one: 0x3ff << 52, half: 0x3fe << 52, mantissa: 52, bias: 1023,
		number: math.Float64bits, floor: x86.VROUNDPD, minF: x86.VMINPD, max: x86.VMAXPD},
}

func init() {
	for size, up := range map[int]float64{4: 24, 8: 54} {
		p := partsOf[size]
		first, last := 120.0, 200.0
		if size == 8 {
			first, last = 1000, 1200
		}
		p.up, p.upExp = p.number(math.Ldexp(1, int(up))), p.number(up)
		p.low, p.high, p.limLow, p.limHigh = p.number(-first), p.number(first), p.number(-last), p.number(last)
	}
}

// each does f for each half; f leaves the result in t0.
func each(size int, f func(o *op, size int)) func(*op) {
	return func(o *op) {
		for h := range o.halves() {
			// The operand of the one-operand ones is r/m; of scalef, the number is vvvv.
			y := o.src(h, size, t2)
			if y.IsMem() {
				o.raw(x86.VMOVDQU, t0, 0, y)
				y = vr(t0)
			}
			if o.i == x86.VSCALEFPS || o.i == x86.VSCALEFPD {
				o.raw(x86.VMOVDQUS, y.Num(), 0, o.at(inY))
				y = vr(o.load(o.vv, h, t1))
			}
			o.raw(x86.VMOVDQUS, y.Num(), 0, o.at(inX))
			f(o, size)
			o.write(h, size, t0)
			o.refill(size)
		}
		o.clearUpper()
	}
}

func (o *op) get(t uint8, at int32) { o.raw(x86.VMOVDQU, t, 0, o.at(at)) }
func (o *op) put(t uint8, at int32) { o.raw(x86.VMOVDQUS, t, 0, o.at(at)) }

// pickInto takes y where the mask in t3 is set, in t.
func (o *op) pickInto(t uint8, y x86.RM) { o.rawI(x86.VPBLENDVB, t, t, y, t3<<4) }

// split takes the number of inX apart; all temporaries are used.
func (o *op) split(size int) {
	p := partsOf[size]
	smallest := uint64(1) << p.mantissa
	o.get(t0, inX)
	// Denormals times a power of two are normal, or zero if denormals count as zeros.
	o.raw(x86.VPAND, t1, t0, o.splat(size, p.sign-1))
	o.raw(x86.VMOVDQU, t3, 0, o.splat(size, smallest))
	o.raw(p.gt, t3, t3, vr(t1))
	o.raw(p.mul, t1, t0, o.splat(size, p.up))
	o.pickInto(t0, vr(t1))
	// exponent
	o.raw(x86.VPAND, t1, t0, o.splat(size, p.inf))
	if size == 8 {
		o.rawI(x86.VPSRLQI, 0, t1, vr(t1), p.mantissa)
		o.raw(x86.VPOR, t1, t1, o.const64(math.Float64bits(1<<52)))
		o.raw(p.sub, t1, t1, o.const64(math.Float64bits(1<<52+float64(p.bias))))
	} else {
		o.rawI(x86.VPSRLDI, 0, t1, vr(t1), p.mantissa)
		o.raw(x86.VPSUBD, t1, t1, o.const32(uint32(p.bias)))
		o.raw(x86.VCVTDQ2PS, t1, 0, vr(t1))
	}
	o.raw(x86.VPAND, t3, t3, o.splat(size, p.upExp))
	o.raw(p.sub, t1, t1, vr(t3))
	o.rawI(p.cmp, t3, t1, o.splat(size, 0), 0) // a difference of 0 has a sign when rounding is downwards
	o.raw(x86.VPANDN, t1, t3, vr(t1))
	o.put(t1, outExp)
	// mantissa
	o.raw(x86.VPAND, t0, t0, o.splat(size, p.sign|(smallest-1)))
	o.raw(x86.VPOR, t0, t0, o.splat(size, p.one))
	o.put(t0, outMant)
	// zeros, infinities, NaNs
	o.get(t0, inX)
	o.rawI(p.cmp, t3, t0, o.splat(size, 0), 0)
	o.raw(x86.VPAND, t1, t0, o.splat(size, p.sign-1))
	o.raw(p.gt, t1, t1, o.splat(size, p.inf-1))
	o.raw(x86.VPOR, t3, t3, vr(t1))
	o.put(t3, isSpecial)
}

// getExp: of zeros -inf, of infinities +inf, of NaNs themselves, quiet.
func getExp(o *op, size int) {
	p := partsOf[size]
	o.split(size)
	o.get(t1, inX)
	o.raw(p.mul, t0, t1, o.splat(size, p.one)) // quiet
	o.raw(x86.VPAND, t0, t0, o.splat(size, p.sign-1))
	o.rawI(p.cmp, t3, t1, vr(t1), 3)
	o.raw(p.mul, t1, t1, o.splat(size, p.one))
	o.pickInto(t0, vr(t1))
	o.get(t1, inX)
	o.rawI(p.cmp, t3, t1, o.splat(size, 0), 0)
	o.pickInto(t0, o.splat(size, p.inf|p.sign))
	o.raw(x86.VMOVDQU, t1, 0, vr(t0))
	o.get(t0, outExp)
	o.get(t3, isSpecial)
	o.pickInto(t0, vr(t1))
}

// getMant with the sign kept, at least 1 (immediate 0) or at least a half (2), or without the sign, at least 1 (4); of zeros and infinities 1.
func getMant(o *op, size int) {
	if o.imm != 0 && o.imm != 2 && o.imm != 4 {
		o.unsupported()
		return
	}
	p := partsOf[size]
	o.split(size)
	o.get(t1, inX)
	sign := p.sign
	if o.imm == 4 {
		sign = 0
	}
	o.raw(x86.VPAND, t0, t1, o.splat(size, sign))
	o.raw(x86.VPOR, t0, t0, o.splat(size, p.one))
	o.rawI(p.cmp, t3, t1, vr(t1), 3)
	o.raw(p.mul, t1, t1, o.splat(size, p.one))
	o.pickInto(t0, vr(t1))
	o.raw(x86.VMOVDQU, t1, 0, vr(t0))
	o.get(t0, outMant)
	o.raw(x86.VPAND, t0, t0, o.splat(size, sign|(p.sign-1)))
	if o.imm == 2 {
		o.raw(p.mul, t0, t0, o.splat(size, p.half))
	}
	o.get(t3, isSpecial)
	o.pickInto(t0, vr(t1))
}

// scaleF multiplies by two to the floor of a finite number, with one rounding: the mantissa by a power that leaves it normal, which is exact,
// then by the rest.
func scaleF(o *op, size int) {
	p := partsOf[size]
	o.split(size)
	o.get(t0, inY)
	o.rawI(p.floor, t0, 0, vr(t0), 9)
	o.raw(p.add, t0, t0, o.at(outExp))
	o.raw(p.max, t0, t0, o.splat(size, p.limLow))
	o.raw(p.minF, t0, t0, o.splat(size, p.limHigh))
	o.raw(p.max, t1, t0, o.splat(size, p.low))
	o.raw(p.minF, t1, t1, o.splat(size, p.high))
	o.raw(p.sub, t0, t0, vr(t1))
	o.power(size, t0)
	o.power(size, t1)
	o.raw(p.mul, t1, t1, o.at(outMant))
	o.raw(p.mul, t0, t1, vr(t0))
	o.get(t1, inX)
	o.raw(p.mul, t1, t1, o.splat(size, p.one))
	o.get(t3, isSpecial)
	o.pickInto(t0, vr(t1))
}

// power makes two to the whole number in t, which is one of a normal exponent. t3 is used.
func (o *op) power(size int, t uint8) {
	p := partsOf[size]
	if size == 8 {
		// The low bits of 1.5·2^52 + n are n.
		const magic = 3 << 51
		o.raw(p.add, t, t, o.const64(math.Float64bits(magic+float64(p.bias))))
		o.rawI(x86.VPSLLQI, 0, t, vr(t), p.mantissa)
		return
	}
	o.raw(x86.VCVTPS2DQ, t, 0, vr(t))
	o.raw(x86.VPADDD, t, t, o.const32(uint32(p.bias)))
	o.rawI(x86.VPSLLDI, 0, t, vr(t), p.mantissa)
}
