package fp

import (
	"math"
	"math/bits"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// f32Trans is what the transcendental unit makes of MODE in f32: denormals are zero on both sides.
const f32Trans = ir.FPFlushIn | ir.FPFlushOut

func transMode(k ir.Kind, e ir.FP) ir.FP {
	e &^= ir.FPRoundMask
	if k == ir.F32 {
		e |= f32Trans
	}
	return e
}

// toFloat64 converts f16, bf16 or f32 bits exactly.
func toFloat64(k ir.Kind, a uint64) float64 {
	switch k {
	case ir.F64:
		return math.Float64frombits(a)
	case ir.F32:
		return float64(math.Float32frombits(uint32(a)))
	case ir.BF16:
		return float64(math.Float32frombits(uint32(a) << 16))
	}
	return float64(half32(a))
}

// fromFloat64 rounds x to k.
func fromFloat64(k ir.Kind, e ir.FP, x float64) uint64 {
	f := formatOf(k, e)
	if k == ir.F32 && x == x {
		if r, ok := plain32(x); ok && e.Round() == 0 {
			return r
		}
	}
	b := math.Float64bits(x)
	switch {
	case x != x:
		return f.nan()
	case math.IsInf(x, 0):
		return f.inf(x < 0)
	}
	return f.pack(e, fmtF64.unpack(b))
}

// Rcp returns 1/a, correctly rounded to nearest.
func Rcp(k ir.Kind, e ir.FP, a uint64) uint64 {
	f := formatOf(k, e)
	if n, ok := f.nan1(a); ok {
		return n
	}
	e = transMode(k, e)
	a = f.in(e, a)
	if k == ir.F64 {
		return f.flushed(e, math.Float64bits(1/math.Float64frombits(a)))
	}
	// The quotient of two p-bit numbers rounded to 2p+2 bits or more first rounds to the same p bits.
	return fromFloat64(k, e, 1/toFloat64(k, a))
}

// Sqrt returns the square root of a, correctly rounded to nearest.
func Sqrt(k ir.Kind, e ir.FP, a uint64) uint64 {
	f := formatOf(k, e)
	if n, ok := f.nan1(a); ok {
		return n
	}
	e = transMode(k, e)
	a = f.in(e, a)
	if f.isZero(a) {
		return a
	}
	if k == ir.F64 {
		if a&f.sign() != 0 {
			return f.nan()
		}
		return math.Float64bits(math.Sqrt(math.Float64frombits(a)))
	}
	return fromFloat64(k, e, math.Sqrt(toFloat64(k, a)))
}

// Rsq returns 1/sqrt(a) to nearest: correctly rounded, but that in f64 a value within 2^-50 units of half-way between two
// numbers may go to the other one.
func Rsq(k ir.Kind, e ir.FP, a uint64) uint64 {
	f := formatOf(k, e)
	if n, ok := f.nan1(a); ok {
		return n
	}
	e = transMode(k, e)
	a = f.in(e, a)
	switch {
	case f.isZero(a):
		return f.inf(a&f.sign() != 0)
	case a&f.sign() != 0:
		return f.nan()
	case f.isInf(a):
		return 0
	case k == ir.F64:
		return f.flushed(e, math.Float64bits(rsq64(math.Float64frombits(a))))
	}
	x := f.unpack(a)
	// a = m * 2^(2h) with m in [1, 4), so 1/sqrt(a) = 1/sqrt(m) * 2^-h, and 1/sqrt(m) is in (1/2, 1].
	h := x.e >> 1
	m := math.Ldexp(float64(x.hi>>11)/(1<<52), x.e&1)
	y := 1 / math.Sqrt(m)
	// y is within 2 ulp. Write y = q/2^(p+1) with q of p+1 bits, one bit more than the result has, and correct q to
	// floor(2^(p+1)/sqrt(m)): q is right when q*q*m <= 4^(p+1) < (q+1)*(q+1)*m. No half-way case exists.
	p := f.man + 1
	q := uint64(math.Ldexp(y, int(p+1)))
	mi := x.hi >> 11 << uint(x.e&1) // m * 2^52
	for !squareTimesLE(q, mi, 2*(p+1)+52) {
		q--
	}
	for squareTimesLE(q+1, mi, 2*(p+1)+52) {
		q++
	}
	n := num{hi: q << (62 - p), e: -h}
	if m != 1 { // 1/sqrt(m) is irrational or has more bits, unless m is 1
		n.lo = 1
	}
	n.norm()
	return f.pack(e, n)
}

// rsq64 corrects 1/sqrt(x) by its residual. Compiled code does the same.
func rsq64(x float64) float64 {
	y := 1 / math.Sqrt(x)
	h := x * y
	l := math.FMA(x, y, -h)
	r := math.FMA(-l, y, math.FMA(-h, y, 1))
	return math.FMA(r*0.5, y, y)
}

// squareTimesLE reports whether q*q*m <= 2^s, for q of up to 55 and m of up to 54 bits.
func squareTimesLE(q, m uint64, s uint) bool {
	h, l := bits.Mul64(q, q)
	// 192-bit product w2:w1:w0.
	a1, w0 := bits.Mul64(l, m)
	b1, b0 := bits.Mul64(h, m)
	w1, c := bits.Add64(a1, b0, 0)
	w2 := b1 + c
	var n uint // bit length
	switch {
	case w2 != 0:
		n = 128 + uint(bits.Len64(w2))
	case w1 != 0:
		n = 64 + uint(bits.Len64(w1))
	default:
		n = uint(bits.Len64(w0))
	}
	if n != s+1 {
		return n <= s
	}
	// Of the numbers with s+1 bits only 2^s itself is allowed.
	switch {
	case w2 != 0:
		return w2&(w2-1) == 0 && w1|w0 == 0
	case w1 != 0:
		return w1&(w1-1) == 0 && w0 == 0
	}
	return w0&(w0-1) == 0
}

// The functions below are computed in float64 by a fixed sequence of operations, every one rounded once, and then rounded
// to the format: compiled code does the same sequence on vectors and gets the same bits. Their error before the last
// rounding is below 2^-45 of the value, so f32 results are the nearest number but for about one in a million, where they
// are the next one. (The chip is only promised to be within one unit in the last place.)

// Coefficients of the power series: of 2^r on |r| <= 1/2, of the logarithm by odd powers of (m-1)/(m+1) without its first
// factor, of sine and cosine by even powers, highest first.
var (
	Exp2Series = series(12, 0, 1, func(n int) float64 { return math.Pow(math.Ln2, float64(n)) / factorial(n) })
	Log2Series = series(9, 0, 1, func(n int) float64 { return 2 / math.Ln2 / float64(2*n+1) })
	SinSeries  = series(7, 1, 2, func(n int) float64 { return alternate(n/2) / factorial(n) })
	CosSeries  = series(8, 0, 2, func(n int) float64 { return alternate(n/2) / factorial(n) })
)

// series lists f(first + i*step) for i from top down to 0.
func series(top, first, step int, f func(n int) float64) []float64 {
	var l []float64
	for i := top; i >= 0; i-- {
		l = append(l, f(first+i*step))
	}
	return l
}

func factorial(n int) float64 {
	x := 1.0
	for i := 2; i <= n; i++ {
		x *= float64(i)
	}
	return x
}

func alternate(n int) float64 { return float64(1 - n&1*2) }

// horner evaluates a polynomial with fused steps.
func horner(l []float64, x float64) float64 {
	s := l[0]
	for _, c := range l[1:] {
		s = math.FMA(s, x, c)
	}
	return s
}

// Exp2 returns 2^a.
func Exp2(k ir.Kind, e ir.FP, a uint64) uint64 {
	f := formatOf(k, e)
	if n, ok := f.nan1(a); ok {
		return n
	}
	e = transMode(k, e)
	x := max(-Exp2Limit, min(Exp2Limit, toFloat64(k, f.in(e, a))))
	n := math.RoundToEven(x)
	return fromFloat64(k, e, math.Ldexp(horner(Exp2Series, x-n), int(n)))
}

// Exp2Limit is where arguments of Exp2 are cut off: powers beyond are 0 or infinite in every format.
const Exp2Limit = 2048.0

// Log2Split is the largest mantissa in [1, 2) that is not halved for the logarithm.
const Log2Split = 1.4142135623730951

// Log2 returns the base-2 logarithm of a: -inf for zeros, NaN for negative numbers.
func Log2(k ir.Kind, e ir.FP, a uint64) uint64 {
	f := formatOf(k, e)
	if n, ok := f.nan1(a); ok {
		return n
	}
	e = transMode(k, e)
	a = f.in(e, a)
	switch {
	case f.isZero(a):
		return f.inf(true)
	case a&f.sign() != 0:
		return f.nan()
	case f.isInf(a):
		return a
	}
	m, ex := math.Frexp(toFloat64(k, a))
	m, ex = 2*m, ex-1
	if m > Log2Split {
		m, ex = m/2, ex+1
	}
	t := (m - 1) / (m + 1)
	return fromFloat64(k, e, math.FMA(t, horner(Log2Series, t*t), float64(ex)))
}

// Sin returns the sine of a turns.
func Sin(k ir.Kind, e ir.FP, a uint64) uint64 { return turn(k, e, a, 0) }

// Cos returns the cosine of a turns.
func Cos(k ir.Kind, e ir.FP, a uint64) uint64 { return turn(k, e, a, 1) }

// turn is sin(2*pi*(a + quarter/4)), reduced exactly to an eighth of a turn so that zeros and ones come out exact.
func turn(k ir.Kind, e ir.FP, a uint64, quarter int) uint64 {
	f := formatOf(k, e)
	if n, ok := f.nan1(a); ok {
		return n
	}
	if f.isInf(a) {
		return f.nan()
	}
	e = transMode(k, e)
	a = f.in(e, a)
	x := toFloat64(k, a)
	q := math.RoundToEven(4 * x) // quarters; exact, a float times four
	r := x - q/4                 // in [-1/8, 1/8], exact
	z := 2 * math.Pi * r
	n := int(q-4*math.Floor(q/4)) + quarter
	s := 0.0
	switch {
	case n&1 != 0:
		s = horner(CosSeries, z*z)
	case r != 0:
		s = z * horner(SinSeries, z*z)
	case quarter == 0:
		return fromFloat64(k, e, math.Copysign(0, x)) // cos has no negative zero
	}
	if n&2 != 0 && s != 0 {
		s = -s
	}
	return fromFloat64(k, e, s)
}

// roundTo is how an integral-value operation rounds.
type roundTo uint8

const (
	toTrunc roundTo = iota
	toCeil
	toFloor
	toEven
)

// Trunc, Ceil, Floor and Rndne round to an integral value; the sign of zero is kept.
func Trunc(k ir.Kind, e ir.FP, a uint64) uint64 { return integral(k, e, a, toTrunc) }
func Ceil(k ir.Kind, e ir.FP, a uint64) uint64  { return integral(k, e, a, toCeil) }
func Floor(k ir.Kind, e ir.FP, a uint64) uint64 { return integral(k, e, a, toFloor) }
func Rndne(k ir.Kind, e ir.FP, a uint64) uint64 { return integral(k, e, a, toEven) }

func integral(k ir.Kind, e ir.FP, a uint64, to roundTo) uint64 {
	f := formatOf(k, e)
	if n, ok := f.nan1(a); ok {
		return n
	}
	a = f.in(e, a)
	ex := int(a&f.emask()>>f.man) - f.bias
	s := a & f.sign()
	mag := a &^ f.sign()
	if ex >= int(f.man) || mag == 0 {
		return a
	}
	if ex < 0 { // magnitude below 1
		up := false
		switch to {
		case toCeil:
			up = s == 0
		case toFloor:
			up = s != 0
		case toEven:
			up = ex == -1 && mag&f.fmask() != 0
		}
		if up {
			return s | f.one()
		}
		return s
	}
	drop := f.man - uint(ex)
	low := mag & (1<<drop - 1)
	q := mag >> drop // the exponent field above is even or odd as it likes: the unit bit is q's last for ex > 0
	odd := q&1 != 0
	if ex == 0 {
		odd = true // the hidden one
	}
	up := false
	half := uint64(1) << (drop - 1)
	switch to {
	case toCeil:
		up = s == 0 && low != 0
	case toFloor:
		up = s != 0 && low != 0
	case toEven:
		up = low > half || low == half && odd
	}
	if up {
		q++
	}
	return s | q<<drop
}

// Fract returns a - floor(a), below 1.
func Fract(k ir.Kind, e ir.FP, a uint64) uint64 {
	f := formatOf(k, e)
	if n, ok := f.nan1(a); ok {
		return n
	}
	if f.isInf(a) {
		return f.nan()
	}
	e &^= ir.FPRoundMask
	r := Sub(k, e, a, Floor(k, e, a))
	return min(r, f.one()-1) // never negative: the integer order is the order
}
