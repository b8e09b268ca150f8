package lift_test

import (
	"fmt"
	"math/big"
	"math/rand"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// fmtOf is a binary interchange format.
type fmtOf struct {
	name      string
	exp, man  uint
	roundBits uint // position of its rounding field in MODE
	denBits   uint
}

var f16fmt, f32fmt, f64fmt = fmtOf{"f16", 5, 10, 2, 6}, fmtOf{"f32", 8, 23, 0, 4}, fmtOf{"f64", 11, 52, 2, 6}

func (f fmtOf) width() uint          { return 1 + f.exp + f.man }
func (f fmtOf) bias() int            { return 1<<(f.exp-1) - 1 }
func (f fmtOf) inf() uint64          { return (1<<f.exp - 1) << f.man }
func (f fmtOf) sign() uint64         { return 1 << (f.width() - 1) }
func (f fmtOf) mask() uint64         { return f.sign()<<1 - 1 }
func (f fmtOf) isNaN(x uint64) bool  { return x&^f.sign()&f.mask() > f.inf() }
func (f fmtOf) isInf(x uint64) bool  { return x&^f.sign()&f.mask() == f.inf() }
func (f fmtOf) isZero(x uint64) bool { return x&^f.sign()&f.mask() == 0 }
func (f fmtOf) isDen(x uint64) bool {
	m := x &^ f.sign() & f.mask()
	return m != 0 && m < 1<<f.man
}

// exact is the value of a finite number.
func (f fmtOf) exact(x uint64) *big.Rat {
	m, e := x&(1<<f.man-1), int(x>>f.man&(1<<f.exp-1))
	if e > 0 {
		m |= 1 << f.man
	} else {
		e = 1
	}
	r := new(big.Rat).SetInt(new(big.Int).SetUint64(m))
	scale(r, e-f.bias()-int(f.man))
	if x&f.sign() != 0 {
		r.Neg(r)
	}
	return r
}

func scale(r *big.Rat, n int) {
	p := new(big.Int).Lsh(big.NewInt(1), uint(max(n, -n)))
	if n >= 0 {
		r.Mul(r, new(big.Rat).SetInt(p))
	} else {
		r.Quo(r, new(big.Rat).SetInt(p))
	}
}

// round rounds a value that is not zero; mode is MODE's field: even, +inf, -inf, zero.
func (f fmtOf) round(v *big.Rat, mode uint32) uint64 {
	neg := v.Sign() < 0
	a := new(big.Rat).Abs(v)
	// The exponent e with 2^e <= a < 2^(e+1), not below the smallest normal one.
	e := a.Num().BitLen() - a.Denom().BitLen()
	one := big.NewRat(1, 1)
	t := new(big.Rat).Set(a)
	scale(t, -e)
	if t.Cmp(one) < 0 {
		e--
	}
	e = max(e, 1-f.bias())
	t.Set(a)
	scale(t, int(f.man)-e)
	q, rem := new(big.Int).QuoRem(t.Num(), t.Denom(), new(big.Int))
	up := false
	if rem.Sign() != 0 {
		switch mode {
		case 0:
			c := new(big.Int).Lsh(rem, 1).Cmp(t.Denom())
			up = c > 0 || c == 0 && q.Bit(0) == 1
		case 1:
			up = !neg
		case 2:
			up = neg
		}
	}
	if up {
		q.Add(q, big.NewInt(1))
	}
	m := q.Uint64()
	if m >= 1<<(f.man+1) {
		m >>= 1
		e++
	}
	var x uint64
	switch {
	case e > f.bias():
		x = f.inf()
		if mode == 3 || mode == 1 && neg || mode == 2 && !neg {
			x--
		}
	case m < 1<<f.man:
		x = m
	default:
		x = uint64(e+f.bias())<<f.man | m&(1<<f.man-1)
	}
	if neg {
		x |= f.sign()
	}
	return x
}

// fma is a*b+c; mul says that there is no addend, add that there is no product. The result is a NaN as any, when it is one.
func (f fmtOf) fma(a, b, c uint64, hasC bool, mode uint32) uint64 {
	r, den := mode>>f.roundBits&3, mode>>f.denBits&3
	if den&1 == 0 {
		for _, p := range []*uint64{&a, &b, &c} {
			if f.isDen(*p) {
				*p &= f.sign()
			}
		}
	}
	nan := f.inf() | 1<<(f.man-1)
	if f.isNaN(a) || f.isNaN(b) || hasC && f.isNaN(c) {
		return nan
	}
	ps := (a ^ b) & f.sign()
	if f.isInf(a) || f.isInf(b) {
		if f.isZero(a) || f.isZero(b) || hasC && f.isInf(c) && c&f.sign() != ps {
			return nan
		}
		return f.inf() | ps
	}
	if hasC && f.isInf(c) {
		return c
	}
	p := new(big.Rat).Mul(f.exact(a), f.exact(b))
	if !hasC {
		if p.Sign() == 0 {
			return ps
		}
		return f.flush(f.round(p, r), den)
	}
	s := new(big.Rat).Add(p, f.exact(c))
	if s.Sign() == 0 {
		if p.Sign() == 0 && f.isZero(c) && ps == c&f.sign() {
			return ps
		}
		if r == 2 {
			return f.sign()
		}
		return 0
	}
	return f.flush(f.round(s, r), den)
}

func (f fmtOf) flush(x uint64, den uint32) uint64 {
	if den&2 == 0 && f.isDen(x) {
		return x & f.sign()
	}
	return x
}

func (f fmtOf) one() uint64 { return uint64(f.bias()) << f.man }

// floatInput is a value that meets the others' exponents often.
func (f fmtOf) input(r *rand.Rand) uint64 {
	x := r.Uint64() & f.mask()
	switch r.Intn(8) {
	case 0:
		return x & f.sign()
	case 1:
		return x&f.sign() | f.inf()
	case 2:
		return x & (f.sign() | 1<<f.man - 1) // denormal
	case 3:
		return x | f.inf()
	case 4, 5: // near one
		return x&(f.sign()|1<<f.man-1) | uint64(f.bias()-4+r.Intn(9))<<f.man
	case 6: // near the ends of the range
		e := uint64(1 + r.Intn(4))
		if r.Intn(2) == 0 {
			e = 1<<f.exp - 1 - e
		}
		return x&(f.sign()|1<<f.man-1) | e<<f.man
	}
	return x
}

// TestFloatReferences runs add, sub, mul and fma of three formats under every rounding and denormal mode, with source
// modifiers and clamp, against exact rational arithmetic.
func TestFloatReferences(t *testing.T) {
	type form struct {
		op       string
		f        fmtOf
		neg, abs [3]bool
		clamp    bool
	}
	var forms []form
	r := rand.New(rand.NewSource(7))
	var vs []*vector
	for _, f := range []fmtOf{f16fmt, f32fmt, f64fmt} {
		for _, op := range []string{"add", "sub", "mul", "fma", "subrev"} {
			if f.man == 52 && (op == "sub" || op == "subrev") {
				continue
			}
			for n := range 3 {
				x := form{op: op, f: f, clamp: n == 2}
				var src [3]string
				k := 2
				if op == "fma" {
					k = 3
				}
				for i := range k {
					x.neg[i], x.abs[i] = n > 0 && r.Intn(2) == 0, n > 0 && r.Intn(2) == 0
					src[i] = fmt.Sprintf("v%d", 2+2*i)
					if f.man == 52 {
						src[i] = fmt.Sprintf("v[%d:%d]", 2+2*i, 3+2*i)
					}
					if x.abs[i] {
						src[i] = "|" + src[i] + "|"
					}
					if x.neg[i] {
						src[i] = "-" + src[i]
					}
				}
				d := "v0"
				if f.man == 52 {
					d = "v[0:1]"
				}
				asm := fmt.Sprintf("v_%s_%s %s, %s", op, f.name, d, strings.Join(src[:k], ", "))
				if x.clamp {
					asm += " clamp"
				}
				forms = append(forms, x)
				vs = append(vs, &vector{pos: asm, cpu: "gfx90a", lanes: 64, asm: asm})
			}
		}
	}
	assembleAll(t, vs)
	m := newMachine(t, "gfx90a", 64)
	n := 0
	for i, x := range forms {
		for mode := range uint32(256) {
			if testing.Short() && mode%37 != 0 {
				continue
			}
			if mode>>1&1 == uint32(i)&1 { // every form meets half of the modes
				continue
			}
			var in [3][64]uint64
			for k := range in {
				for l := range 64 {
					in[k][l] = x.f.input(r)
					m.w.VGPR(2 + 2*k)[l], m.w.VGPR(3 + 2*k)[l] = uint32(in[k][l]), uint32(in[k][l]>>32)
				}
			}
			m.w.S[isa.SRegMODE] = mode | 3<<8
			clear(m.w.VGPR(0))
			if exit := m.run(vs[i].code); exit != ir.ExitEndPgm {
				t.Fatalf("%s: exit %v %s", vs[i].asm, exit, m.w.Illegal)
			}
			for l := range 64 {
				n++
				var s [3]uint64
				for k := range s {
					s[k] = in[k][l]
					if x.abs[k] {
						s[k] &^= x.f.sign()
					}
					if x.neg[k] {
						s[k] ^= x.f.sign()
					}
				}
				one := x.f.one()
				var want uint64
				switch x.op {
				case "add":
					want = x.f.fma(s[0], one, s[1], true, mode)
				case "sub":
					want = x.f.fma(s[0], one, s[1]^x.f.sign(), true, mode)
				case "subrev":
					want = x.f.fma(s[1], one, s[0]^x.f.sign(), true, mode)
				case "mul":
					want = x.f.fma(s[0], s[1], 0, false, mode)
				default:
					want = x.f.fma(s[0], s[1], s[2], true, mode)
				}
				if x.clamp {
					switch {
					case x.f.isNaN(want), want&x.f.sign() != 0:
						want = 0
					case want > one:
						want = one
					}
				}
				got := uint64(m.w.VGPR(0)[l])
				if x.f.man == 52 {
					got |= uint64(m.w.VGPR(1)[l]) << 32
				}
				if got != want && !(x.f.isNaN(got) && x.f.isNaN(want)) {
					t.Fatalf("%s of %#x %#x %#x, mode %#x: %#x, want %#x", vs[i].asm, in[0][l], in[1][l], in[2][l], mode, got, want)
				}
			}
		}
	}
	t.Logf("%d vectors for %d forms", n, len(forms))
}
