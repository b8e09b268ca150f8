package lift_test

import (
	"math/big"
	"math/rand"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// flushIn is what a unit that flushes denormal operands makes of x.
func (f fmtOf) flushIn(x uint64, mode uint32) uint64 {
	if mode>>f.denBits&1 == 0 && f.isDen(x) {
		return x & f.sign()
	}
	return x
}

func (f fmtOf) quietNaN() uint64 { return f.inf() | 1<<(f.man-1) }

// rounded is v rounded to f under MODE; neg is the sign of a zero.
func (f fmtOf) rounded(v *big.Rat, neg bool, mode uint32) uint64 {
	if v.Sign() == 0 {
		if neg {
			return f.sign()
		}
		return 0
	}
	return f.flush(f.round(v, mode>>f.roundBits&3), mode>>f.denBits&3)
}

// convert is a conversion between formats: operands flush as their format's MODE field says, results round and flush by theirs.
// FP16_OVFL (bit 23) makes overflows to f16 the largest number.
func convert(from, to fmtOf, x uint64, mode uint32) uint64 {
	x = from.flushIn(x, mode)
	neg := x&from.sign() != 0
	sign := uint64(0)
	if neg {
		sign = to.sign()
	}
	switch {
	case from.isNaN(x):
		return to.quietNaN()
	case from.isInf(x):
		return to.inf() | sign
	}
	y := to.rounded(from.exact(x), neg, mode)
	if to.name == "f16" && mode>>23&1 != 0 && to.isInf(y) {
		y--
	}
	return y
}

// integer is a conversion to an integer: toward zero whatever MODE says, with the limits for what does not fit and 0 for NaN.
func (f fmtOf) integer(x uint64, lo, hi int64, mode uint32) uint64 {
	x = f.flushIn(x, mode)
	limit := lo
	if x&f.sign() == 0 {
		limit = hi
	}
	switch {
	case f.isNaN(x):
		return 0
	case f.isInf(x):
		return uint64(limit) & 0xffffffff
	}
	v := f.exact(x)
	q := new(big.Int).Quo(v.Num(), v.Denom()) // toward zero
	switch {
	case q.Cmp(big.NewInt(lo)) < 0 || q.Cmp(big.NewInt(hi)) > 0:
		return uint64(limit) & 0xffffffff
	}
	return uint64(q.Int64()) & 0xffffffff
}

// integral rounds to an integral number: how is floor, ceil, trunc or rndne, which MODE does not change.
func (f fmtOf) integral(x uint64, how string, mode uint32) uint64 {
	x = f.flushIn(x, mode)
	if f.isNaN(x) || f.isInf(x) || f.isZero(x) {
		return x
	}
	neg := x&f.sign() != 0
	v := f.exact(x)
	q, r := new(big.Int).QuoRem(v.Num(), v.Denom(), new(big.Int))
	switch c := new(big.Int).Lsh(new(big.Int).Abs(r), 1).Cmp(v.Denom()); {
	case r.Sign() == 0:
	case how == "floor" && neg, how == "rndne" && neg && (c > 0 || c == 0 && q.Bit(0) == 1):
		q.Sub(q, big.NewInt(1))
	case how == "ceil" && !neg, how == "rndne" && !neg && (c > 0 || c == 0 && q.Bit(0) == 1):
		q.Add(q, big.NewInt(1))
	}
	return f.rounded(new(big.Rat).SetInt(q), neg, mode)
}

// least is v_min (or v_max): a signalling NaN wins under IEEE (MODE bit 9), else the operand that is no NaN; -0 is below +0.
func (f fmtOf) least(a, b uint64, most bool, mode uint32) uint64 {
	signalling := func(x uint64) bool { return f.isNaN(x) && x>>(f.man-1)&1 == 0 }
	a, b = f.flushIn(a, mode), f.flushIn(b, mode)
	switch {
	case mode>>9&1 != 0 && (signalling(a) || signalling(b)):
		return f.quietNaN()
	case f.isNaN(a):
		return f.flush(b, mode>>f.denBits&3)
	case f.isNaN(b):
		return f.flush(a, mode>>f.denBits&3)
	}
	order := func(x uint64) int64 { // as signed integers, -0 just below +0
		if x&f.sign() != 0 {
			return -int64(x&^f.sign()) - 1
		}
		return int64(x)
	}
	if (order(a) < order(b)) == most {
		a = b
	}
	return f.flush(a, mode>>f.denBits&3)
}

// TestModeReferences runs conversions, roundings to integers, minima, maxima and ldexp under MODE's rounding, denormal, IEEE and FP16_OVFL
// bits against models in exact arithmetic.
func TestModeReferences(t *testing.T) {
	type form struct {
		asm      string
		in, out  fmtOf
		integers bool // the second operand is a small integer
		f        func(a, b uint64, mode uint32) uint64
	}
	i32 := fmtOf{name: "i32"}
	var forms []form
	for _, c := range [][2]fmtOf{{f32fmt, f16fmt}, {f16fmt, f32fmt}, {f64fmt, f32fmt}, {f32fmt, f64fmt}} {
		forms = append(forms, form{"v_cvt_" + c[1].name + "_" + c[0].name + " D, A", c[0], c[1], false,
			func(a, _ uint64, mode uint32) uint64 { return convert(c[0], c[1], a, mode) }})
	}
	for _, f := range []fmtOf{f16fmt, f32fmt, f64fmt} {
		for _, how := range []string{"floor", "ceil", "trunc", "rndne"} {
			forms = append(forms, form{"v_" + how + "_" + f.name + " D, A", f, f, false,
				func(a, _ uint64, mode uint32) uint64 { return f.integral(a, how, mode) }})
		}
		for _, most := range []bool{false, true} {
			name := map[bool]string{false: "v_min_", true: "v_max_"}[most]
			forms = append(forms, form{name + f.name + " D, A, B", f, f, false,
				func(a, b uint64, mode uint32) uint64 { return f.least(a, b, most, mode) }})
		}
		forms = append(forms, form{"v_ldexp_" + f.name + " D, A, B", f, f, true, func(a, b uint64, mode uint32) uint64 {
			a = f.flushIn(a, mode)
			if f.isNaN(a) || f.isInf(a) || f.isZero(a) {
				return a
			}
			v := f.exact(a)
			scale(v, int(int32(b)))
			x := f.rounded(v, a&f.sign() != 0, mode)
			if f.name == "f16" && mode>>23&1 != 0 && f.isInf(x) {
				x--
			}
			return x
		}})
		if f.name != "f16" {
			forms = append(forms, form{"v_cvt_i32_" + f.name + " D, A", f, i32, false,
				func(a, _ uint64, mode uint32) uint64 { return f.integer(a, -1<<31, 1<<31-1, mode) }},
				form{"v_cvt_u32_" + f.name + " D, A", f, i32, false,
					func(a, _ uint64, mode uint32) uint64 { return f.integer(a, 0, 1<<32-1, mode) }})
		}
	}
	r := rand.New(rand.NewSource(17))
	m := newMachine(t, "gfx90a", 64)
	tg := isa.TargetByName("gfx90a")
	end, _ := isa.Assemble(tg, "s_endpgm")
	n := 0
	for k, x := range forms {
		asm := x.asm
		for _, o := range []struct {
			letter string
			reg    string
			pair   string
			wide   bool
		}{{"D", "v0", "v[0:1]", x.out.man == 52}, {" A", " v2", " v[2:3]", x.in.man == 52}, {" B", " v4", " v[4:5]", x.in.man == 52 && !x.integers}} {
			reg := o.reg
			if o.wide {
				reg = o.pair
			}
			asm = replaceLast(asm, o.letter, reg)
		}
		code, err := isa.Assemble(tg, asm)
		if err != nil {
			t.Errorf("%s: %v", asm, err)
			continue
		}
		code = append(code, end...)
		for low := range uint32(256) {
			if testing.Short() && low%37 != 0 || low>>1&1 == uint32(k)&1 { // every form meets half of the modes
				continue
			}
			mode := low | 1<<8 | uint32(r.Intn(2))<<9 | uint32(r.Intn(2))<<23
			var a, b [64]uint64
			for l := range 64 {
				a[l], b[l] = x.in.input(r), x.in.input(r)
				if x.integers {
					b[l] = uint64(uint32(r.Intn(160) - 80))
				}
				m.w.VGPR(2)[l], m.w.VGPR(3)[l] = uint32(a[l]), uint32(a[l]>>32)
				m.w.VGPR(4)[l], m.w.VGPR(5)[l] = uint32(b[l]), uint32(b[l]>>32)
			}
			m.w.S[isa.SRegMODE] = mode
			if exit := m.run(code); exit != ir.ExitEndPgm {
				t.Fatalf("%s: exit %v %s", asm, exit, m.w.Illegal)
			}
			for l := range 64 {
				n++
				want := x.f(a[l], b[l], mode)
				got := uint64(m.w.VGPR(0)[l])
				if x.out.man == 52 {
					got |= uint64(m.w.VGPR(1)[l]) << 32
				}
				if x.out.exp != 0 && x.out.isNaN(got) && x.out.isNaN(want) {
					continue
				}
				if got != want {
					t.Fatalf("%s of %#x %#x, mode %#x: %#x, want %#x", asm, a[l], b[l], mode, got, want)
				}
			}
		}
	}
	t.Logf("%d vectors of %d instructions", n, len(forms))
}

// replaceLast replaces the last place in s where old stands, if it does.
func replaceLast(s, old, by string) string {
	for i := len(s) - len(old); i >= 0; i-- {
		if s[i:i+len(old)] == old {
			return s[:i] + by + s[i+len(old):]
		}
	}
	return s
}
