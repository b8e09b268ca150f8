package fp

import (
	"math"
	"math/big"
	"sync"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// The compiler divides like this: scale denominator and numerator away from the ends of the range (v_div_scale, which
// also says in VCC whether the quotient will have to be scaled back), Newton steps from v_rcp, a last fused step that
// scales back (v_div_fmas), and the special cases (v_div_fixup).

// divParam holds the constants that differ between f32 and f64.
type divParam struct {
	scale   int // exponent of the scaling
	far     int // exponent distance that asks for scaling
	tiny    int // biased exponent of numerators that are scaled
	under   int // exponent distance below which the quotient vanishes
	expMask int
}

func divParams(k ir.Kind) divParam {
	if k == ir.F64 {
		return divParam{128, 768, 53, -1075, 0x7ff}
	}
	return divParam{64, 96, 23, -150, 0xff}
}

func (f *format) biased(a uint64) int { return int(a & f.emask() >> f.man) }

// DivScale returns s0 (the numerator or the denominator), scaled where the division of num by den needs it, and
// whether v_div_fmas must scale back.
func DivScale(k ir.Kind, e ir.FP, s0, den, nume uint64) (d uint64, vcc bool) {
	f, p := formatOf(k, e), divParams(k)
	if f.isZero(f.in(e, den)) || f.isZero(f.in(e, nume)) {
		return f.nan(), true // hardware sets VCC here, the manuals do not say so
	}
	if n, ok := f.nan3(s0, den, nume); ok {
		if f.isNaN(s0) {
			return n, false
		}
		return s0, false
	}
	up := func() uint64 { return Ldexp(k, e, s0, int32(p.scale)) }
	// The sizes of 1/den and num/den, denormal or not, follow from exponents alone but for the mantissas' order.
	dn, nn := f.unpack(den), f.unpack(nume)
	inv := f.isInf(den)
	rcpDen := !inv && (dn.e > -f.emin || dn.e == -f.emin && dn.hi > 1<<63)
	qe := nn.e - dn.e
	if nn.hi < dn.hi {
		qe--
	}
	quoDen := !inv && !f.isInf(nume) && qe < f.emin
	switch {
	case f.biased(nume)-f.biased(den) >= p.far:
		if s0 == den {
			return up(), true
		}
		return s0, true
	case f.isDenorm(den):
		return up(), false
	case rcpDen && quoDen:
		// The manuals print +scale here, which overflows; only this direction fits v_div_fmas.
		if s0 == den {
			return Ldexp(k, e, s0, int32(-p.scale)), true
		}
		return s0, true
	case rcpDen:
		return Ldexp(k, e, s0, int32(-p.scale)), false
	case quoDen:
		if s0 == nume {
			return up(), true
		}
		return s0, true
	case f.biased(nume) <= p.tiny:
		return up(), false
	}
	return s0, false
}

// DivFmas returns a*b+c; where scale is set, scaled back by the direction that c's size tells. It rounds once.
func DivFmas(k ir.Kind, e ir.FP, a, b, c uint64, scale bool) uint64 {
	if !scale {
		return FMA(k, e, a, b, c)
	}
	f, p := formatOf(k, e), divParams(k)
	n, special, r := f.fma(e, a, b, c)
	if special {
		return r
	}
	if f.biased(c) > f.bias {
		n.e += p.scale
	} else {
		n.e -= p.scale
	}
	return f.pack(e, n)
}

// DivFixup returns the quotient with the special cases of num/den put right.
func DivFixup(k ir.Kind, e ir.FP, quo, den, nume uint64) uint64 {
	f, p := formatOf(k, e), divParams(k)
	if n, ok := f.nan2(nume, den); ok {
		return n
	}
	fd, fn := f.in(e, den), f.in(e, nume)
	s := (den ^ nume) & f.sign()
	neg := s != 0
	switch {
	case f.isZero(fd) && f.isZero(fn), f.isInf(den) && f.isInf(nume):
		return f.nan()
	case f.isZero(fd), f.isInf(nume):
		return f.inf(neg)
	case f.isInf(den), f.isZero(fn):
		return s
	case k != ir.F16 && f.biased(nume)-f.biased(den) < p.under:
		return f.pack(e, num{neg: neg, e: -1 << 14, hi: 1 << 63})
	case f.isNaN(quo):
		return f.inf(neg)
	}
	return quo&^f.sign() | s
}

// twoOverPi holds the first 1201 bits of 2/pi after the point, as an integer.
var twoOverPi = sync.OnceValue(func() *big.Int {
	// Machin: pi/4 = 4*atan(1/5) - atan(1/239), in fixed point with guard bits.
	const frac = 1400
	atanInv := func(x int64) *big.Int {
		term := new(big.Int).Lsh(big.NewInt(1), frac)
		term.Quo(term, big.NewInt(x))
		sum := new(big.Int).Set(term)
		x2 := big.NewInt(x * x)
		for n := int64(3); term.Sign() != 0; n += 2 {
			term.Quo(term, x2)
			t := new(big.Int).Quo(term, big.NewInt(n))
			if n&2 != 0 {
				sum.Sub(sum, t)
			} else {
				sum.Add(sum, t)
			}
		}
		return sum
	}
	pi := new(big.Int).Mul(atanInv(5), big.NewInt(16))
	pi.Sub(pi, new(big.Int).Mul(atanInv(239), big.NewInt(4)))
	r := new(big.Int).Lsh(big.NewInt(1), frac+1201+1)
	return r.Quo(r, pi)
})

// TrigPreop returns 53 bits of 2/pi, at the place that segment seg of the reduction of a needs.
func TrigPreop(a uint64, seg uint32) uint64 {
	ex := fmtF64.biased(a)
	shift := int(seg&31) * 53
	if ex > 1077 {
		shift += ex - 1077
	}
	x := new(big.Int).Lsh(twoOverPi(), uint(shift))
	x.Rsh(x, 1201-53)
	x.And(x, big.NewInt(1<<53-1))
	scale := -53 - shift
	if ex >= 1968 {
		scale += 128
	}
	return math.Float64bits(math.Ldexp(float64(x.Uint64()), scale))
}

// CubeID, CubeSC, CubeTC and CubeMA give face, coordinates and twice the major axis of a cube-map direction.
func CubeID(x, y, z float32) float32 {
	face, _ := cubeFace(x, y, z)
	return float32(face)
}

// cubeFace returns the face, 0 to 5 for +x -x +y -y +z -z, and the major coordinate.
func cubeFace(x, y, z float32) (int, float32) {
	ax, ay, az := abs32(x), abs32(y), abs32(z)
	neg := func(v float32) int {
		if v < 0 {
			return 1
		}
		return 0
	}
	switch {
	case az >= ax && az >= ay:
		return 4 + neg(z), z
	case ay >= ax:
		return 2 + neg(y), y
	}
	return neg(x), x
}

func abs32(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// CubeSC is the horizontal face coordinate.
func CubeSC(x, y, z float32) float32 {
	switch f, _ := cubeFace(x, y, z); f {
	case 0:
		return -z
	case 1:
		return z
	case 5:
		return -x
	}
	return x
}

// CubeTC is the vertical face coordinate.
func CubeTC(x, y, z float32) float32 {
	switch f, _ := cubeFace(x, y, z); f {
	case 2:
		return z
	case 3:
		return -z
	}
	return -y
}

// CubeMA is twice the major coordinate.
func CubeMA(x, y, z float32) float32 {
	_, m := cubeFace(x, y, z)
	return 2 * m
}
