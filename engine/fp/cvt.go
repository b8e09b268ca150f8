package fp

import (
	"math"
	"math/bits"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// Cvt converts a from one kind to another: floats round by e, integers truncate, saturate and make NaN 0. FPFlushIn is
// about the source format, FPFlushOut about the result's. Integers narrower than their register are taken by their low bits
// and come back extended to 32 bits by their sign.
func Cvt(from, to ir.Kind, e ir.FP, a uint64) uint64 {
	switch {
	case from.Float() && to.Float():
		return floatToFloat(from, to, e, a)
	case from.Float():
		return floatToInt(from, to, e, a)
	case to.Float():
		return intToFloat(from, to, e, a)
	}
	return intToInt(from, to, a)
}

func floatToFloat(from, to ir.Kind, e ir.FP, a uint64) uint64 {
	if from == ir.F16 && to == ir.F32 && e&ir.FPFlushIn == 0 && !isNaN16(a) {
		return uint64(math.Float32bits(half32(a)))
	}
	if from == ir.F32 && plainHalf(to, e) && a&0x7fffffff <= 0x7f800000 {
		return halfBits32(math.Float32frombits(uint32(a)))
	}
	if from == ir.F64 && to == ir.F32 && plain(e) {
		if r := float32(math.Float64frombits(a)); r == r {
			return uint64(math.Float32bits(r))
		}
	}
	if from == ir.F32 && to == ir.F64 && plain(e) {
		if r := math.Float32frombits(uint32(a)); r == r {
			return math.Float64bits(float64(r))
		}
	}
	f, g := formatOf(from, e), formatOf(to, e)
	a &= f.sign()<<1 - 1
	neg := a&f.sign() != 0
	if f.isNaN(a) {
		if g.kind != ieee || f.kind != ieee {
			if g.kind == ieee {
				return g.nan()&^g.sign() | g.signIf(neg)
			}
			return g.nan()&^g.sign() | g.signIf(neg) | g.nanSign()
		}
		// The top of the payload is kept, and it is made quiet.
		pay := a & f.fmask()
		if f.man > g.man {
			pay >>= f.man - g.man
		} else {
			pay <<= g.man - f.man
		}
		return g.signIf(neg) | g.emask() | g.quiet() | pay
	}
	if f.isInf(a) {
		if g.kind == ieee && (e&ir.FPOvfl == 0 || g.man > 3) {
			return g.inf(neg)
		}
		// Without an infinity: the largest number when overflows saturate, else NaN.
		if e&ir.FPOvfl != 0 {
			return g.maxFinite(neg)
		}
		return g.nan()&^g.sign() | g.signIf(neg) | g.nanSign()
	}
	return g.pack(e, f.unpack(f.in(e, a)))
}

// intRange returns the limits of an integer kind as the magnitudes of its least and greatest value.
func intRange(k ir.Kind) (lo, hi uint64) {
	n := uint(k.Bits())
	if k.Signed() {
		return 1 << (n - 1), 1<<(n-1) - 1
	}
	return 0, 1<<n - 1 // n of 64 gives all ones
}

// cut returns an integer of kind k as its register holds it.
func cut(k ir.Kind, x uint64) uint64 {
	switch k.Bits() {
	case 64:
		return x
	}
	return x & 0xffffffff
}

func floatToInt(from, to ir.Kind, e ir.FP, a uint64) uint64 {
	f := formatOf(from, e)
	a &= f.sign()<<1 - 1
	if f.isNaN(a) {
		return 0
	}
	lo, hi := intRange(to)
	neg := a&f.sign() != 0
	limit := hi
	if neg {
		limit = lo
	}
	var m uint64
	if f.isInf(a) {
		m = limit
	} else if x := f.unpack(f.in(e, a)); !x.zero() && x.e >= 0 {
		if x.e > 63 {
			m = limit
		} else {
			m = min(x.hi>>(63-uint(x.e)), limit)
		}
	}
	if neg {
		m = -m
	}
	return cut(to, m)
}

// intOf returns the value of integer bits as sign and magnitude.
func intOf(k ir.Kind, a uint64) (neg bool, m uint64) {
	s := 64 - uint(k.Bits())
	if k.Signed() {
		v := int64(a<<s) >> s
		if v < 0 {
			return true, uint64(-v)
		}
		return false, uint64(v)
	}
	return false, a << s >> s
}

func intToFloat(from, to ir.Kind, e ir.FP, a uint64) uint64 {
	neg, m := intOf(from, a)
	if m == 0 {
		return 0
	}
	z := bits.LeadingZeros64(m)
	return formatOf(to, e).pack(e, num{neg: neg, e: 63 - z, hi: m << z})
}

func intToInt(from, to ir.Kind, a uint64) uint64 {
	neg, m := intOf(from, a)
	lo, hi := intRange(to)
	if neg {
		return cut(to, -min(m, lo))
	}
	return cut(to, min(m, hi))
}

// CvtRpi is floor(a + 0.5) as a saturated i32, CvtFlr is floor(a).
func CvtRpi(a uint32) uint32 {
	return uint32(floatToInt(ir.F64, ir.I32, 0, math.Float64bits(math.Floor(float64(math.Float32frombits(a))+0.5))))
}

// CvtFlr is floor(a) as a saturated i32.
func CvtFlr(a uint32) uint32 {
	return uint32(floatToInt(ir.F64, ir.I32, 0, math.Float64bits(math.Floor(float64(math.Float32frombits(a))))))
}

// CvtNorm converts to a 16-bit normalised integer: a is limited to [-1, 1] or [0, 1], scaled by 32767 or 65535 and rounded
// to nearest even.
func CvtNorm(from, to ir.Kind, e ir.FP, a uint64) uint64 {
	f := formatOf(from, e)
	if f.isNaN(a) {
		return 0
	}
	x := toFloat64(from, f.in(e, a))
	if to == ir.U16 {
		return uint64(math.RoundToEven(max(0, min(1, x)) * 65535))
	}
	return uint64(uint16(int16(math.RoundToEven(max(-1, min(1, x)) * 32767))))
}

// CvtPkRTZ packs two f32 as f16, rounding toward zero: overflow gives the largest finite number.
func CvtPkRTZ(e ir.FP, a, b uint64) uint64 {
	e |= 3
	return Cvt(ir.F32, ir.F16, e, a) | Cvt(ir.F32, ir.F16, e, b)<<16
}

// CvtSR converts with stochastic rounding: the top bits of rnd are added below the last place kept, then the sum is cut.
func CvtSR(from, to ir.Kind, e ir.FP, a uint64, rnd uint32) uint64 {
	f, g := formatOf(from, e), formatOf(to, e)
	a = f.in(e, a)
	if f.isNaN(a) || f.isInf(a) || f.isZero(a) {
		return floatToFloat(from, to, e, a)
	}
	n := f.unpack(a)
	drop := 63 - g.man
	if n.e < g.emin {
		drop = min(drop+uint(g.emin-n.e), 63)
	}
	// rnd spans the dropped bits: its top bit is worth half of the last place.
	r := uint64(rnd) << 32 >> (64 - drop)
	s, c := bits.Add64(n.hi, r, 0)
	if c != 0 {
		s = s>>1 | 1<<63
		n.e++
	}
	n.hi = s
	e = e&^ir.FPRoundMask | 3
	if n.e > g.emax && e&ir.FPOvfl == 0 {
		e &^= ir.FPRoundMask // overflow is not cut to the largest number
	}
	return g.pack(e, n)
}

// CvtOff4 is v_cvt_off_f32_i4: a signed 4-bit integer in sixteenths.
func CvtOff4(a uint32) uint32 {
	return math.Float32bits(float32(int32(a<<28)>>28) / 16)
}
