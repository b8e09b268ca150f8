package fp

import (
	"math"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// plain reports whether e is the environment of host arithmetic: nearest even, denormals kept.
func plain(e ir.FP) bool { return e&(ir.FPRoundMask|ir.FPFlushIn|ir.FPFlushOut) == 0 }

// nan1, nan2 and nan3 return the quiet form of the first NaN argument.
func (f *format) nan1(a uint64) (uint64, bool) {
	if f.isNaN(a) {
		return a | f.quiet(), true
	}
	return 0, false
}

func (f *format) nan2(a, b uint64) (uint64, bool) {
	if n, ok := f.nan1(a); ok {
		return n, ok
	}
	return f.nan1(b)
}

func (f *format) nan3(a, b, c uint64) (uint64, bool) {
	if n, ok := f.nan2(a, b); ok {
		return n, ok
	}
	return f.nan1(c)
}

// Add returns a+b.
func Add(k ir.Kind, e ir.FP, a, b uint64) uint64 {
	if plain(e) {
		switch k {
		case ir.F32:
			if r := math.Float32frombits(uint32(a)) + math.Float32frombits(uint32(b)); r == r {
				return uint64(math.Float32bits(r))
			}
		case ir.F64:
			if r := math.Float64frombits(a) + math.Float64frombits(b); r == r {
				return math.Float64bits(r)
			}
		case ir.F16:
			if !isNaN16(a) && !isNaN16(b) && e&ir.FPOvfl == 0 {
				if r := half32(a) + half32(b); r == r {
					return halfBits32(r)
				}
			}
		}
	}
	f := formatOf(k, e)
	if n, ok := f.nan2(a, b); ok {
		return n
	}
	if f.isInf(a) {
		if f.isInf(b) && a != b {
			return f.nan()
		}
		return a
	}
	if f.isInf(b) {
		return b
	}
	return f.pack(e, add(f.unpack(f.in(e, a)), f.unpack(f.in(e, b)), e))
}

// Sub returns a-b.
func Sub(k ir.Kind, e ir.FP, a, b uint64) uint64 {
	f := formatOf(k, e)
	if f.isNaN(b) { // its sign stays
		if n, ok := f.nan2(a, b); ok {
			return n
		}
	}
	return Add(k, e, a, b^f.sign())
}

// Mul returns a*b.
func Mul(k ir.Kind, e ir.FP, a, b uint64) uint64 {
	if plain(e) {
		switch k {
		case ir.F32:
			if r := math.Float32frombits(uint32(a)) * math.Float32frombits(uint32(b)); r == r {
				return uint64(math.Float32bits(r))
			}
		case ir.F64:
			if r := math.Float64frombits(a) * math.Float64frombits(b); r == r {
				return math.Float64bits(r)
			}
		case ir.F16:
			if !isNaN16(a) && !isNaN16(b) && e&ir.FPOvfl == 0 {
				if r := half32(a) * half32(b); r == r {
					return halfBits32(r)
				}
			}
		}
	}
	f := formatOf(k, e)
	if n, ok := f.nan2(a, b); ok {
		return n
	}
	a, b = f.in(e, a), f.in(e, b)
	neg := (a^b)&f.sign() != 0
	if f.isInf(a) || f.isInf(b) {
		if f.isZero(a) || f.isZero(b) {
			return f.nan()
		}
		return f.inf(neg)
	}
	x, y := f.unpack(a), f.unpack(b)
	if x.zero() || y.zero() {
		return f.signIf(neg)
	}
	return f.pack(e, mul(x, y))
}

// MulLegacy is Mul, but zero times anything is +0.
func MulLegacy(k ir.Kind, e ir.FP, a, b uint64) uint64 {
	f := formatOf(k, e)
	if f.isZero(f.in(e, a)) || f.isZero(f.in(e, b)) {
		return 0
	}
	return Mul(k, e, a, b)
}

// FMA returns a*b+c, rounded once.
func FMA(k ir.Kind, e ir.FP, a, b, c uint64) uint64 {
	if plain(e) {
		switch k {
		case ir.F32:
			if r, ok := FastFMA32(uint32(a), uint32(b), uint32(c)); ok {
				return uint64(r)
			}
		case ir.F64:
			if r := math.FMA(math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c)); r == r {
				return math.Float64bits(r)
			}
		case ir.F16:
			if !isNaN16(a) && !isNaN16(b) && !isNaN16(c) {
				if r, ok := fma16(a, b, c); ok && e&ir.FPOvfl == 0 {
					return r
				}
			}
		}
	}
	f := formatOf(k, e)
	n, special, r := f.fma(e, a, b, c)
	if special {
		return r
	}
	return f.pack(e, n)
}

// fma returns the exact a*b+c (up to a tail that rounding cannot see), or the special result r.
func (f *format) fma(e ir.FP, a, b, c uint64) (n num, special bool, r uint64) {
	if n, ok := f.nan3(a, b, c); ok {
		return num{}, true, n
	}
	a, b, c = f.in(e, a), f.in(e, b), f.in(e, c)
	neg := (a^b)&f.sign() != 0
	if f.isInf(a) || f.isInf(b) {
		if f.isZero(a) || f.isZero(b) || f.isInf(c) && (c&f.sign() != 0) != neg {
			return num{}, true, f.nan()
		}
		return num{}, true, f.inf(neg)
	}
	if f.isInf(c) {
		return num{}, true, c
	}
	x, y := f.unpack(a), f.unpack(b)
	p := num{neg: neg}
	if !x.zero() && !y.zero() {
		p = mul(x, y)
	}
	return add(p, f.unpack(c), e), false, 0
}

// FastFMA32 is FMA of f32 in the plain environment; ok is false when the slow way must decide (NaN, denormal results,
// and sums that lie half-way between two floats once rounded to float64).
func FastFMA32(a, b, c uint32) (r uint32, ok bool) {
	// The product of two 24-bit significands is exact in float64. The sum is rounded twice, which is the same as once unless
	// the first rounding ends half-way.
	p := float64(math.Float32frombits(a)) * float64(math.Float32frombits(b))
	s := p + float64(math.Float32frombits(c))
	u := math.Float64bits(s)
	ex := u >> 52 & 0x7ff
	if u&0x1fffffff == 0x10000000 || ex-897 > 0x7ff-897-1 && u<<1 != 0 {
		return 0, false
	}
	return math.Float32bits(float32(s)), true
}

// FMALegacy is FMA, but zero times anything is +0.
func FMALegacy(k ir.Kind, e ir.FP, a, b, c uint64) uint64 {
	f := formatOf(k, e)
	if f.isZero(f.in(e, a)) || f.isZero(f.in(e, b)) {
		return Add(k, e, 0, c)
	}
	return FMA(k, e, a, b, c)
}

// Mad is a*b+c with two roundings; it flushes denormals whatever MODE says (v_mad_f32, v_mac_f32 of gfx9 and gfx10).
func Mad(k ir.Kind, e ir.FP, a, b, c uint64) uint64 {
	if k == ir.F32 {
		e |= ir.FPFlushIn | ir.FPFlushOut
	}
	return Add(k, e, Mul(k, e, a, b), c)
}

// Canon flushes and quiets: what v_max x, x does.
func Canon(k ir.Kind, e ir.FP, a uint64) uint64 {
	f := formatOf(k, e)
	if n, ok := f.nan1(a); ok {
		return n
	}
	if e&(ir.FPFlushIn|ir.FPFlushOut) != 0 && f.isDenorm(a) {
		return a & f.sign()
	}
	return a
}

// flushed applies both sides of e's denormal mode to a result that is one of the inputs.
func (f *format) flushed(e ir.FP, a uint64) uint64 {
	if e&(ir.FPFlushIn|ir.FPFlushOut) != 0 && f.isDenorm(a) {
		return a & f.sign()
	}
	return a
}

// Neg flips the sign, of NaNs too.
func Neg(k ir.Kind, a uint64) uint64 { return a ^ formatOf(k, 0).sign() }

// Abs clears the sign, of NaNs too.
func Abs(k ir.Kind, a uint64) uint64 { return a &^ formatOf(k, 0).sign() }

// Clamp limits a to [0, 1]; NaN gives 0 under DX10_CLAMP, else itself. -0 becomes +0.
func Clamp(k ir.Kind, e ir.FP, a uint64) uint64 {
	f := formatOf(k, e)
	if f.isNaN(a) {
		if e&ir.FPDX10 != 0 {
			return 0
		}
		return a | f.quiet()
	}
	if a&f.sign() != 0 {
		return 0
	}
	return min(f.flushed(e, a), f.one())
}

func (f *format) one() uint64 { return uint64(f.bias) << f.man }

// Omod is the output modifier: 1 doubles, 2 quadruples, 3 halves. It flushes denormal results and turns -0 into +0.
func Omod(k ir.Kind, e ir.FP, a uint64, mod uint64) uint64 {
	f := formatOf(k, e)
	if n, ok := f.nan1(a); ok {
		return n
	}
	if f.isInf(a) {
		return a
	}
	n := f.unpack(a)
	if n.zero() {
		return 0
	}
	n.e += [4]int{0, 1, 2, -1}[mod&3]
	r := f.pack(e|ir.FPFlushOut, n)
	if r == f.sign() {
		return 0
	}
	return r
}

// order maps a number to an integer of the same order; -0 comes before +0.
func (f *format) order(a uint64) int64 {
	m := int64(a &^ f.sign())
	if a&f.sign() != 0 {
		return -m - 1
	}
	return m
}

// Min is v_min: a NaN loses against a number, except that in IEEE mode a signalling NaN wins, quiet.
func Min(k ir.Kind, e ir.FP, a, b uint64) uint64 { return minMax(k, e, a, b, false) }

// Max is v_max.
func Max(k ir.Kind, e ir.FP, a, b uint64) uint64 { return minMax(k, e, a, b, true) }

func minMax(k ir.Kind, e ir.FP, a, b uint64, larger bool) uint64 {
	f := formatOf(k, e)
	if an, bn := f.isNaN(a), f.isNaN(b); an || bn {
		if e&ir.FPIEEE != 0 {
			if f.isSNaN(a) {
				return a | f.quiet()
			}
			if f.isSNaN(b) {
				return b | f.quiet()
			}
		}
		switch {
		case !bn:
			return f.flushed(e, b)
		case !an:
			return f.flushed(e, a)
		}
		return a | f.quiet()
	}
	a, b = f.flushed(e, a), f.flushed(e, b)
	if (f.order(a) > f.order(b)) == larger {
		return a
	}
	return b
}

// MinP is v_minimum: NaN propagates.
func MinP(k ir.Kind, e ir.FP, a, b uint64) uint64 {
	if n, ok := formatOf(k, e).nan2(a, b); ok {
		return n
	}
	return minMax(k, e, a, b, false)
}

// MaxP is v_maximum.
func MaxP(k ir.Kind, e ir.FP, a, b uint64) uint64 {
	if n, ok := formatOf(k, e).nan2(a, b); ok {
		return n
	}
	return minMax(k, e, a, b, true)
}

// Med3 is the middle of three; with a NaN, their minimum.
func Med3(k ir.Kind, e ir.FP, a, b, c uint64) uint64 {
	f := formatOf(k, e)
	if f.isNaN(a) || f.isNaN(b) || f.isNaN(c) {
		return Min(k, e, Min(k, e, a, b), c)
	}
	lo, hi := minMax(k, e, a, b, false), minMax(k, e, a, b, true)
	return minMax(k, e, lo, minMax(k, e, hi, c, false), true)
}

// Cmp compares by a float predicate. Denormal inputs are flushed by e.
func Cmp(k ir.Kind, e ir.FP, p ir.Pred, a, b uint64) bool {
	f := formatOf(k, e)
	nan := f.isNaN(a) || f.isNaN(b)
	a, b = f.in(e, a), f.in(e, b)
	var lt, eq bool
	if !nan {
		eq = a == b || f.isZero(a) && f.isZero(b)
		lt = !eq && f.order(a) < f.order(b)
	}
	gt := !nan && !lt && !eq
	switch p {
	case ir.FLT:
		return lt
	case ir.FEQ:
		return eq
	case ir.FLE:
		return lt || eq
	case ir.FGT:
		return gt
	case ir.FLG:
		return lt || gt
	case ir.FGE:
		return gt || eq
	case ir.FO:
		return !nan
	case ir.FU:
		return nan
	case ir.FNGE:
		return !(gt || eq)
	case ir.FNLG:
		return !(lt || gt)
	case ir.FNGT:
		return !gt
	case ir.FNLE:
		return !(lt || eq)
	case ir.FNEQ:
		return !eq
	case ir.FNLT:
		return !lt
	case ir.FTrue:
		return true
	}
	return false
}

// Class tests a against the ten classes of v_cmp_class: bit 0 signalling NaN, quiet NaN, -inf, -normal, -denormal, -0,
// +0, +denormal, +normal, 9 +inf.
func Class(k ir.Kind, a uint64, mask uint32) bool {
	f := formatOf(k, 0)
	var bit uint
	switch {
	case f.isSNaN(a):
		bit = 0
	case f.isNaN(a):
		bit = 1
	case f.isInf(a):
		bit = 2
	case f.isDenorm(a):
		bit = 4
	case f.isZero(a):
		bit = 5
	default:
		bit = 3
	}
	if bit >= 2 && a&f.sign() == 0 {
		bit = 11 - bit
	}
	return mask>>bit&1 != 0
}

// Ldexp returns a * 2^n.
func Ldexp(k ir.Kind, e ir.FP, a uint64, n int32) uint64 {
	f := formatOf(k, e)
	if r, ok := f.nan1(a); ok {
		return r
	}
	a = f.in(e, a)
	x := f.unpack(a)
	if f.isInf(a) || x.zero() {
		return a
	}
	x.e += int(max(min(n, 1<<14), -1<<14))
	return f.pack(e, x)
}

// Mant is frexp_mant: a scaled to [0.5, 1); infinities and NaNs are themselves.
func Mant(k ir.Kind, e ir.FP, a uint64) uint64 {
	f := formatOf(k, e)
	if r, ok := f.nan1(a); ok {
		return r
	}
	a = f.in(e, a)
	x := f.unpack(a)
	if f.isInf(a) || x.zero() {
		return a
	}
	x.e = -1
	return f.pack(e, x)
}

// Exp is frexp_exp: the n of a = mant * 2^n; 0 for zero, infinities and NaNs.
func Exp(k ir.Kind, e ir.FP, a uint64) int32 {
	f := formatOf(k, e)
	if f.isNaN(a) || f.isInf(a) {
		return 0
	}
	x := f.unpack(f.in(e, a))
	if x.zero() {
		return 0
	}
	return int32(x.e + 1)
}
