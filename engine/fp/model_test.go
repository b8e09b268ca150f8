package fp

import (
	"math/big"
	"math/rand/v2"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// The model: exact arithmetic in math/big, one rounding on an integer grid. It shares no code with the package but the
// format tables.

// exact returns the value of finite bits.
func exact(f *format, b uint64) *big.Float {
	m := int64(b & f.fmask())
	e := int(b & f.emask() >> f.man)
	if e == 0 {
		e = 1
	} else {
		m |= 1 << f.man
	}
	x := new(big.Float).SetPrec(4400).SetInt64(m)
	x.SetMantExp(x, e-f.bias-int(f.man))
	if b&f.sign() != 0 {
		x.Neg(x)
	}
	return x
}

var bigModes = [4]big.RoundingMode{big.ToNearestEven, big.ToPositiveInf, big.ToNegativeInf, big.ToZero}

// roundModel rounds x (not zero) to f under e.
func roundModel(f *format, e ir.FP, x *big.Float) uint64 {
	neg := x.Sign() < 0
	s := uint64(0)
	if neg {
		s = f.sign()
	}
	// With unbounded exponent, to see tininess.
	u := new(big.Float).SetPrec(f.man + 1).SetMode(bigModes[e.Round()]).Set(x)
	ex := u.MantExp(nil) - 1
	if ex < f.emin {
		if e&ir.FPFlushOut != 0 {
			return s
		}
		// An integer multiple of the smallest denormal.
		g := new(big.Float).SetPrec(4400).SetMantExp(x, -(f.emin - int(f.man)))
		n, acc := g.Int(nil) // toward zero
		if acc != big.Exact {
			d := new(big.Float).SetPrec(4400).Sub(g, new(big.Float).SetInt(n))
			half := d.Abs(d).Cmp(big.NewFloat(0.5))
			up := false
			switch e.Round() {
			case 0:
				up = half > 0 || half == 0 && n.Bit(0) == 1
			case 1:
				up = !neg
			case 2:
				up = neg
			}
			if up {
				if neg {
					n.Sub(n, big.NewInt(1))
				} else {
					n.Add(n, big.NewInt(1))
				}
			}
		}
		return s | n.Abs(n).Uint64()
	}
	if ex > f.emax {
		r := e.Round()
		if r == 3 || r == 1 && neg || r == 2 && !neg {
			return s | (f.emask() - 1)
		}
		return s | f.emask()
	}
	m, _ := new(big.Float).SetMantExp(u, int(f.man)-ex).Uint64()
	if neg {
		m, _ = new(big.Float).Neg(new(big.Float).SetMantExp(u, int(f.man)-ex)).Uint64()
	}
	return s | uint64(ex+f.bias)<<f.man | m&f.fmask()
}

func flushModel(f *format, e ir.FP, b uint64) uint64 {
	if e&ir.FPFlushIn != 0 && b&f.emask() == 0 {
		return b & f.sign()
	}
	return b
}

// fmaModel is a*b+c for any bits.
func fmaModel(f *format, e ir.FP, a, b, c uint64) uint64 {
	for _, x := range []uint64{a, b, c} {
		if x&^f.sign() > f.emask() {
			return x | f.quiet()
		}
	}
	a, b, c = flushModel(f, e, a), flushModel(f, e, b), flushModel(f, e, c)
	inf := func(x uint64) bool { return x&^f.sign() == f.emask() }
	zero := func(x uint64) bool { return x&^f.sign() == 0 }
	ps := (a ^ b) & f.sign()
	if inf(a) || inf(b) {
		if zero(a) || zero(b) || inf(c) && c&f.sign() != ps {
			return f.sign() | f.emask() | f.quiet()
		}
		return ps | f.emask()
	}
	if inf(c) {
		return c
	}
	p := new(big.Float).SetPrec(4400).Mul(exact(f, a), exact(f, b))
	s := new(big.Float).SetPrec(8800).Add(p, exact(f, c))
	if s.Sign() == 0 {
		pz := zero(a) || zero(b)
		if pz && zero(c) && ps == c&f.sign() {
			return ps
		}
		if e.Round() == 2 {
			return f.sign()
		}
		return 0
	}
	return roundModel(f, e, s)
}

// vectors yields operand bits that meet at edges: specials, neighbours of powers of two, and numbers of like exponents.
type vectors struct {
	f *format
	r *rand.Rand
}

func (v *vectors) one() uint64 {
	f := v.f
	all := f.sign()<<1 - 1
	switch v.r.IntN(10) {
	case 0:
		edge := []uint64{0, 1, 2, f.fmask(), f.fmask() + 1, f.fmask() + 2, f.one(), f.one() + 1, f.one() - 1, f.emask() - 1, f.emask() - 2,
			f.emask(), f.emask() + 1, f.emask() | f.quiet(), f.emask() | f.quiet() | 1, f.one() + f.fmask() + 1, f.quiet()}
		return edge[v.r.IntN(len(edge))] | v.r.Uint64()&f.sign()
	case 1: // denormal or near
		return v.r.Uint64()&(f.fmask()|f.sign()) | uint64(v.r.IntN(3))<<f.man
	case 2: // few significant bits
		return (v.r.Uint64() & (f.emask() | f.sign() | 3<<(f.man-2) | 3)) & all
	case 3, 4, 5: // like exponents
		return v.r.Uint64()&(f.sign()|f.fmask()) | uint64(f.bias-4+v.r.IntN(9))<<f.man
	}
	return v.r.Uint64() & all
}

var floatKinds = []ir.Kind{ir.F16, ir.BF16, ir.F32, ir.F64}

func envs(r *rand.Rand) ir.FP {
	if r.IntN(3) == 0 {
		return 0
	}
	return ir.FP(r.IntN(16))
}

func ldexpModel(f *format, e ir.FP, a uint64, n int) uint64 {
	if f.isNaN(a) {
		return a | f.quiet()
	}
	a = flushModel(f, e, a)
	if f.isInf(a) || f.isZero(a) {
		return a
	}
	x := exact(f, a)
	return roundModel(f, e, x.SetMantExp(x, n))
}
