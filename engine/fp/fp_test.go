package fp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

func TestArithmeticAgainstBig(t *testing.T) {
	n := 60_000
	if testing.Short() {
		n = 10_000
	}
	for _, k := range floatKinds {
		f := formatOf(k, 0)
		v := &vectors{f, rand.New(rand.NewPCG(1, uint64(k)))}
		bad := 0
		for range n {
			a, b, c, e := v.one(), v.one(), v.one(), envs(v.r)
			check := func(op string, got, want uint64) {
				if got != want {
					if bad++; bad < 10 {
						t.Errorf("%s.%s %s %#x %#x %#x = %#x, want %#x", op, k, e, a, b, c, got, want)
					}
				}
			}
			check("fma", FMA(k, e, a, b, c), fmaModel(f, e, a, b, c))
			mz := uint64(0) // a*b+(-0) with the product's own zero sign
			if p := (a ^ b) & f.sign(); p != 0 {
				mz = f.sign()
			}
			check("mul", Mul(k, e, a, b), fmaModel(f, e, a, b, mz))
			want := fmaModel(f, e, a, f.one(), b)
			check("add", Add(k, e, a, b), want)
			if !f.isNaN(b) {
				check("sub", Sub(k, e, a, b), fmaModel(f, e, a, f.one(), b^f.sign()))
			}
			check("ldexp", Ldexp(k, e, a, int32(c%4000)-2000), ldexpModel(f, e, a, int(c%4000)-2000))
		}
		if bad > 0 {
			t.Errorf("%s: %d wrong of %d", k, bad, n)
		}
	}
}

// Millions of default-mode f32 FMAs, against the host's own through a float64 round-to-odd.
func TestFMA32Fast(t *testing.T) {
	v := &vectors{&fmtF32, rand.New(rand.NewPCG(7, 7))}
	slow := 0
	for range 1_000_000 {
		a, b, c := uint32(v.one()), uint32(v.one()), uint32(v.one())
		r, ok := FastFMA32(a, b, c)
		if !ok {
			slow++
			continue
		}
		f := formatOf(ir.F32, 0)
		n, special, want := f.fma(0, uint64(a), uint64(b), uint64(c))
		if !special {
			want = f.pack(0, n)
		}
		if uint64(r) != want {
			t.Fatalf("fma %#x %#x %#x = %#x, want %#x", a, b, c, r, want)
		}
	}
	if slow > 500_000 {
		t.Errorf("%d of a million went the slow way", slow)
	}
}

func TestRoundingConversionsAgainstBig(t *testing.T) {
	for _, from := range floatKinds {
		f := formatOf(from, 0)
		v := &vectors{f, rand.New(rand.NewPCG(3, uint64(from)))}
		for range 20_000 {
			a, e := v.one(), envs(v.r)
			for _, to := range floatKinds {
				g := formatOf(to, 0)
				got := Cvt(from, to, e, a)
				var want uint64
				switch x := flushModel(f, e, a); {
				case f.isNaN(a):
					if !g.isNaN(got) || g.isSNaN(got) {
						t.Fatalf("cvt %s->%s of NaN %#x = %#x", from, to, a, got)
					}
					continue
				case f.isInf(a):
					want = g.inf(a&f.sign() != 0)
				case f.isZero(x):
					want = g.signIf(x != 0)
				default:
					want = roundModel(g, e, exact(f, x))
				}
				if got != want {
					t.Fatalf("cvt %s->%s %s %#x = %#x, want %#x", from, to, e, a, got, want)
				}
			}
			for _, to := range []ir.Kind{ir.I8, ir.U8, ir.I16, ir.U16, ir.I32, ir.U32, ir.I64, ir.U64} {
				got := Cvt(from, to, e, a)
				lo, hi := big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), uint(to.Bits()))
				if to.Signed() {
					hi.Rsh(hi, 1)
					lo.Neg(hi)
				}
				hi.Sub(hi, big.NewInt(1))
				want := big.NewInt(0)
				switch {
				case f.isNaN(a):
				case f.isInf(a) && a&f.sign() != 0:
					want = lo
				case f.isInf(a):
					want = hi
				default:
					want, _ = exact(f, flushModel(f, e, a)).Int(nil)
					if want.Cmp(lo) < 0 {
						want = lo
					} else if want.Cmp(hi) > 0 {
						want = hi
					}
				}
				mask := new(big.Int).SetUint64(1<<32 - 1)
				if to.Bits() == 64 {
					mask.SetUint64(math.MaxUint64)
				}
				if w := new(big.Int).And(want, mask).Uint64(); got != w {
					t.Fatalf("cvt %s->%s %#x = %#x, want %#x", from, to, a, got, w)
				}
			}
		}
	}
	r := rand.New(rand.NewPCG(4, 4))
	for range 50_000 {
		x, e := r.Uint64()>>r.IntN(64), envs(r)
		for _, to := range floatKinds {
			g := formatOf(to, 0)
			for _, from := range []ir.Kind{ir.I32, ir.U32, ir.I64, ir.U64, ir.I16} {
				n := uint(64 - from.Bits())
				v := new(big.Int)
				if from.Signed() {
					v.SetInt64(int64(x<<n) >> n)
				} else {
					v.SetUint64(x << n >> n)
				}
				want := uint64(0)
				if v.Sign() != 0 {
					want = roundModel(g, e, new(big.Float).SetPrec(100).SetInt(v))
				}
				if got := Cvt(from, to, e, x); got != want {
					t.Fatalf("cvt %s->%s %s of %v = %#x, want %#x", from, to, e, v, got, want)
				}
			}
		}
	}
}

// Every fp8 code converts to f32 and back to itself, and rounding picks a neighbour that is nearest.
func TestFP8(t *testing.T) {
	for _, k := range []ir.Kind{ir.FP8, ir.BF8} {
		for _, e := range []ir.FP{0, ir.FPOCP} {
			vals := map[uint64]float32{}
			for b := range uint64(256) {
				x := Cvt(k, ir.F32, e, b)
				v := math.Float32frombits(uint32(x))
				back := Cvt(ir.F32, k, e, x)
				if v != v {
					if !formatOf(k, e).isNaN(b) || !formatOf(k, e).isNaN(back) {
						t.Errorf("%s %s: %#x -> NaN -> %#x", k, e, b, back)
					}
					continue
				}
				if back != b {
					t.Errorf("%s %s: %#x -> %v -> %#x", k, e, b, v, back)
				}
				vals[b] = v
			}
			r := rand.New(rand.NewPCG(5, 5))
			for range 3000 {
				x := float32(r.NormFloat64()) * float32(math.Ldexp(1, r.IntN(20)-12))
				got := Cvt(ir.F32, k, e|ir.FPOvfl, uint64(math.Float32bits(x)))
				best := math.Inf(1)
				for _, v := range vals {
					best = min(best, math.Abs(float64(v)-float64(x)))
				}
				if d := math.Abs(float64(vals[got]) - float64(x)); d != best {
					t.Fatalf("%s %s: %v -> %#x (%v), a nearer one is at distance %v", k, e, x, got, vals[got], best)
				}
			}
		}
	}
	for _, c := range []struct {
		k    ir.Kind
		e    ir.FP
		b    uint64
		want float32
	}{{ir.FP8, 0, 0x7f, 240}, {ir.FP8, ir.FPOCP, 0x7e, 448}, {ir.BF8, 0, 0x7f, 57344}, {ir.BF8, ir.FPOCP, 0x7b, 57344}, {ir.FP8, 0, 0x40, 1}, {ir.FP8, ir.FPOCP, 0x38, 1}} {
		if got := math.Float32frombits(uint32(Cvt(c.k, ir.F32, c.e, c.b))); got != c.want {
			t.Errorf("%s %s %#x = %v, want %v", c.k, c.e, c.b, got, c.want)
		}
	}
}

func TestCorrectlyRoundedRoots(t *testing.T) {
	for _, k := range []ir.Kind{ir.F16, ir.F32, ir.F64} {
		f := formatOf(k, 0)
		v := &vectors{f, rand.New(rand.NewPCG(9, uint64(k)))}
		for range 40_000 {
			a := v.one() &^ f.sign()
			if f.isNaN(a) || f.isInf(a) || a == 0 || f.isDenorm(a) {
				continue
			}
			x := exact(f, a)
			e := transMode(k, 0)
			one := new(big.Float).SetPrec(400).SetInt64(1)
			root := new(big.Float).SetPrec(400).Sqrt(new(big.Float).SetPrec(400).Set(x))
			for _, c := range []struct {
				name string
				got  uint64
				want *big.Float
			}{
				{"rcp", Rcp(k, 0, a), new(big.Float).SetPrec(400).Quo(one, x)},
				{"sqrt", Sqrt(k, 0, a), root},
				{"rsq", Rsq(k, 0, a), new(big.Float).SetPrec(400).Quo(one, root)},
			} {
				if want := roundModel(f, e, c.want); c.got != want {
					t.Fatalf("%s.%s %#x = %#x, want %#x", c.name, k, a, c.got, want)
				}
			}
		}
	}
}

func TestIntegral(t *testing.T) {
	for _, k := range floatKinds {
		f := formatOf(k, 0)
		v := &vectors{f, rand.New(rand.NewPCG(10, uint64(k)))}
		for range 30_000 {
			a := v.one()
			if f.isNaN(a) {
				continue
			}
			x := toFloat64(k, a)
			for _, c := range []struct {
				name string
				got  uint64
				want float64
			}{{"trunc", Trunc(k, 0, a), math.Trunc(x)}, {"ceil", Ceil(k, 0, a), math.Ceil(x)},
				{"floor", Floor(k, 0, a), math.Floor(x)}, {"rndne", Rndne(k, 0, a), math.RoundToEven(x)}} {
				if got := toFloat64(k, c.got); math.Float64bits(got) != math.Float64bits(c.want) {
					t.Fatalf("%s.%s of %v (%#x) = %v, want %v", c.name, k, x, a, got, c.want)
				}
			}
		}
	}
}

// The compiler's f32 and f64 division sequences give the correctly rounded quotient for all finite operands.
func TestDivisionSequence(t *testing.T) {
	for _, k := range []ir.Kind{ir.F32, ir.F64} {
		f := formatOf(k, 0)
		v := &vectors{f, rand.New(rand.NewPCG(11, uint64(k)))}
		one := f.one()
		fma := func(a, b, c uint64) uint64 { return FMA(k, 0, a, b, c) }
		neg := func(a uint64) uint64 { return Neg(k, a) }
		bad := 0
		for range 100_000 {
			n, d := v.one(), v.one()
			ds, _ := DivScale(k, 0, d, d, n)
			ns, vcc := DivScale(k, 0, n, d, n)
			r := Rcp(k, 0, ds)
			var q, rr uint64
			if k == ir.F32 {
				r = fma(fma(neg(ds), r, one), r, r)
				q = Mul(k, 0, ns, r)
				q = fma(fma(neg(ds), q, ns), r, q)
			} else {
				r = fma(r, fma(neg(ds), r, one), r)
				r = fma(r, fma(neg(ds), r, one), r)
				q = Mul(k, 0, ns, r)
			}
			rr = fma(neg(ds), q, ns)
			got := DivFixup(k, 0, DivFmas(k, 0, rr, r, q, vcc), d, n)
			var want uint64
			if k == ir.F32 {
				want = uint64(math.Float32bits(math.Float32frombits(uint32(n)) / math.Float32frombits(uint32(d))))
			} else {
				want = math.Float64bits(math.Float64frombits(n) / math.Float64frombits(d))
			}
			if got != want && !(f.isNaN(got) && f.isNaN(want)) {
				if bad++; bad < 8 {
					t.Errorf("%s %#x / %#x = %#x, want %#x (ns %#x ds %#x vcc %v)", k, n, d, got, want, ns, ds, vcc)
				}
			}
		}
		if bad > 0 {
			t.Errorf("%s: %d wrong", k, bad)
		}
	}
}

func TestMinMaxRules(t *testing.T) {
	const snan, qnan, qsn, one, mzero = 0x7f800001, 0x7fc00002, 0x7fc00001, 0x3f800000, 0x80000000
	for _, c := range []struct {
		name string
		got  uint64
		want uint64
	}{
		{"min number", Min(ir.F32, 0, qnan, one), one},
		{"min number ieee", Min(ir.F32, ir.FPIEEE, one, qnan), one},
		{"min snan ieee", Min(ir.F32, ir.FPIEEE, one, snan), qsn},
		{"min snan", Min(ir.F32, 0, one, snan), one},
		{"max zeros", Max(ir.F32, 0, mzero, 0), 0},
		{"min zeros", Min(ir.F32, 0, 0, mzero), mzero},
		{"minp", MinP(ir.F32, 0, one, qnan), qnan},
		{"med3", Med3(ir.F32, 0, 0x40400000, one, 0x40000000), 0x40000000},
		{"med3 nan", Med3(ir.F32, 0, 0x40400000, qnan, 0x40000000), 0x40000000},
		{"clamp nan", Clamp(ir.F32, ir.FPDX10, qnan), 0},
		{"clamp nan kept", Clamp(ir.F32, 0, snan), qsn},
		{"clamp -0", Clamp(ir.F32, 0, mzero), 0},
		{"clamp 2", Clamp(ir.F32, 0, 0x40000000), one},
		{"clamp 2 f16", Clamp(ir.F16, 0, 0x4000), 0x3c00},
		{"omod -0", Omod(ir.F32, 0, mzero, 1), 0},
		{"omod *4", Omod(ir.F32, 0, one, 2), 0x40800000},
		{"mul legacy", MulLegacy(ir.F32, 0, 0, 0x7f800000), 0},
		{"mad flushes", Mad(ir.F32, 0, 1, one, 0), 0},
		{"fract -tiny", Fract(ir.F32, 0, 0x80000001), 0x3f7fffff},
		{"rcp denormal f32", Rcp(ir.F32, 0, 1), 0x7f800000},
		{"rsq -1", Rsq(ir.F32, 0, 0xbf800000), 0xffc00000},
		{"log2 0", Log2(ir.F32, 0, 0), 0xff800000},
		{"exp2 3", Exp2(ir.F32, 0, 0x40400000), 0x41000000},
		{"sin 1/4", Sin(ir.F32, 0, 0x3e800000), one},
		{"sin 1/2", Sin(ir.F32, 0, 0x3f000000), 0},
		{"cos 1/4", Cos(ir.F32, 0, 0x3e800000), 0},
		{"cos 1/2", Cos(ir.F32, 0, 0x3f000000), 0xbf800000},
		{"pkrtz", CvtPkRTZ(0, 0x477ff000, 0xc7c35000), 0xfbff7bff},
		{"rpi -0.5", uint64(CvtRpi(0xbf000000)), 0},
		{"rpi 0.5", uint64(CvtRpi(0x3f000000)), 1},
		{"flr -0.5", uint64(CvtFlr(0xbf000000)), 0xffffffff},
		{"norm", CvtNorm(ir.F32, ir.I16, 0, 0xbf800000), 0x8001},
		{"off4", uint64(CvtOff4(8)), 0xbf000000},
		{"f16 ovfl", Cvt(ir.F32, ir.F16, ir.FPOvfl, 0x7f000000), 0x7bff},
		{"f16 ovfl inf", Cvt(ir.F32, ir.F16, ir.FPOvfl, 0x7f800000), 0x7c00},
	} {
		if c.got != c.want {
			t.Errorf("%s = %#x, want %#x", c.name, c.got, c.want)
		}
	}
	for bit, b := range []uint64{0x7f800001, 0x7fc00000, 0xff800000, 0xbf800000, 0x80000001, 0x80000000, 0, 1, 0x3f800000, 0x7f800000} {
		for m := range 10 {
			if got := Class(ir.F32, b, 1<<m); got != (m == bit) {
				t.Errorf("class %#x bit %d = %v", b, m, got)
			}
		}
	}
	if m, x := Mant(ir.F32, 0, 0x41200000), Exp(ir.F32, 0, 0x41200000); m != 0x3f200000 || x != 4 {
		t.Errorf("frexp 10 = %#x, %d", m, x)
	}
}

// TrigPreop segments add up to 2/pi.
func TestTrigPreop(t *testing.T) {
	sum := new(big.Float).SetPrec(300)
	for seg := range uint32(3) {
		sum.Add(sum, big.NewFloat(math.Float64frombits(TrigPreop(math.Float64bits(1), seg))))
	}
	pi, _, _ := big.ParseFloat("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798", 10, 300, 0)
	d := new(big.Float).Sub(new(big.Float).Mul(sum, pi), big.NewFloat(2))
	if d.MantExp(nil) > -155 {
		t.Errorf("2/pi is off by %g", d)
	}
}

func TestStochasticRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	const x = 0x3f88f5c3 // 1.07: between 1 and 1.125 in fp8
	up := 0
	for range 10000 {
		switch got := CvtSR(ir.F32, ir.FP8, ir.FPOCP, x, r.Uint32()); got {
		case 0x39:
			up++
		case 0x38:
		default:
			t.Fatalf("got %#x", got)
		}
	}
	if up < 5400 || up > 5800 { // 0.07/0.125 = 56 %
		t.Errorf("rounded up %d of 10000 times", up)
	}
}

// Every f16 number goes to f32 and back, and every f32 near the range of f16 is rounded as the general way rounds it.
func TestHalfFast(t *testing.T) {
	for a := range uint64(1 << 16) {
		if isNaN16(a) {
			continue
		}
		x := half32(a)
		want := uint64(0)
		if !fmtF16.isInf(a) {
			want = fmtF64.pack(0, fmtF16.unpack(a))
		} else {
			want = fmtF64.inf(a&0x8000 != 0)
		}
		if got := math.Float64bits(float64(x)); got != want {
			t.Fatalf("%#x is %v (%#x), want %#x", a, x, got, want)
		}
		if back := halfBits32(x); back != a {
			t.Fatalf("%#x -> %v -> %#x", a, x, back)
		}
	}
	r := rand.New(rand.NewPCG(31, 31))
	for range 500_000 {
		u := uint32(0x33000000+r.Uint32N(0x14900000)) | r.Uint32()&(1<<31)
		if r.IntN(3) == 0 {
			u = u&^0x1fff | []uint32{0x1000, 0xfff, 0x1001}[r.IntN(3)] // half-way and next to it
		}
		if got, want := halfBits32(math.Float32frombits(u)), fmtF16.pack(0, fmtF32.unpack(uint64(u))); got != want {
			t.Fatalf("%#x to f16 = %#x, want %#x", u, got, want)
		}
	}
	v := &vectors{&fmtF16, r}
	for range 500_000 {
		a, b, c := v.one(), v.one(), v.one()
		if isNaN16(a) || isNaN16(b) || isNaN16(c) {
			continue
		}
		n, special, want := fmtF16.fma(0, a, b, c)
		if !special {
			want = fmtF16.pack(0, n)
		}
		if got, ok := fma16(a, b, c); ok && got != want {
			t.Fatalf("fma %#x %#x %#x = %#x, want %#x", a, b, c, got, want)
		}
	}
}
