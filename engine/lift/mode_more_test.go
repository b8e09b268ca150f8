package lift_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// median is v_med3: the minimum when there is a NaN, else the middle one.
func (f fmtOf) median(a, b, c uint64, mode uint32) uint64 {
	if f.isNaN(a) || f.isNaN(b) || f.isNaN(c) {
		return f.least(f.least(a, b, false, mode), c, false, mode)
	}
	lo, hi := f.least(a, b, false, mode), f.least(a, b, true, mode)
	return f.least(lo, f.least(hi, c, false, mode), true, mode)
}

// compares is v_cmp_<pred>, on operands that flush by MODE.
func (f fmtOf) compares(pred string, a, b uint64, mode uint32) bool {
	a, b = f.flushIn(a, mode), f.flushIn(b, mode)
	nan := f.isNaN(a) || f.isNaN(b)
	c := 0
	if !nan {
		value := func(x uint64) int64 { // as sign and magnitude, both zeros 0
			if x&f.sign() != 0 {
				return -int64(x &^ f.sign())
			}
			return int64(x)
		}
		if x, y := value(a), value(b); x < y {
			c = -1
		} else if x > y {
			c = 1
		}
	}
	is := map[string]bool{"f": false, "lt": !nan && c < 0, "eq": !nan && c == 0, "le": !nan && c <= 0, "gt": !nan && c > 0, "lg": !nan && c != 0,
		"ge": !nan && c >= 0, "o": !nan}
	if v, ok := is[pred]; ok {
		return v
	}
	not := map[string]string{"u": "o", "nge": "ge", "nlg": "lg", "ngt": "gt", "nle": "le", "neq": "eq", "nlt": "lt", "tru": "f"}
	return !is[not[pred]]
}

// class is v_cmp_class: whether x is of a class that mask names. MODE does not change it.
func (f fmtOf) class(x, mask uint64) bool {
	bit := 0
	neg := x&f.sign() != 0
	switch {
	case f.isNaN(x):
		bit = int(x >> (f.man - 1) & 1)
		return mask>>bit&1 != 0
	case f.isInf(x):
		bit = 9
	case f.isZero(x):
		bit = 6
	case f.isDen(x):
		bit = 7
	default:
		bit = 8
	}
	if neg {
		bit = 11 - bit
	}
	return mask>>bit&1 != 0
}

// TestModeComparisons runs comparisons, classes and medians under MODE's denormal and IEEE bits against models written from the manuals.
func TestModeComparisons(t *testing.T) {
	r := rand.New(rand.NewSource(19))
	n := 0
	for _, cpu := range []string{"gfx900", "gfx1030", "gfx1100", "gfx1200"} {
		tg := isa.TargetByName(cpu)
		lanes := 64
		if tg.Wave32 {
			lanes = 32
		}
		tg = tg.Wave(lanes)
		m := newMachine(t, cpu, lanes)
		end, _ := isa.Assemble(tg, "s_endpgm")
		for _, f := range []fmtOf{f16fmt, f32fmt, f64fmt} {
			reg := func(i int) string {
				if f.man == 52 {
					return fmt.Sprintf("v[%d:%d]", i, i+1)
				}
				return fmt.Sprintf("v%d", i)
			}
			type form struct {
				asm string
				f   func(a, b, c uint64, mode uint32) uint64
			}
			mask := "s[10:11]"
			if lanes == 32 {
				mask = "s10"
			}
			var forms []form
			for _, p := range strings.Fields("f lt eq le gt lg ge o u nge nlg ngt nle neq nlt tru") {
				if cpu == "gfx1200" && (p == "f" || p == "tru") {
					continue
				}
				name := p
				if p == "tru" && cpu == "gfx1100" {
					name = "t"
				}
				forms = append(forms, form{fmt.Sprintf("v_cmp_%s_%s %s, %s, %s", name, f.name, mask, reg(2), reg(4)), func(a, b, _ uint64, mode uint32) uint64 {
					if f.compares(p, a, b, mode) {
						return 1
					}
					return 0
				}})
			}
			forms = append(forms, form{fmt.Sprintf("v_cmp_class_%s %s, %s, v6", f.name, mask, reg(2)), func(a, _, c uint64, _ uint32) uint64 {
				if f.class(a, c) {
					return 1
				}
				return 0
			}})
			if f.man != 52 {
				med := "v_med3_"
				if cpu == "gfx1200" {
					med = "v_med3_num_"
				}
				forms = append(forms, form{med + f.name + " v0, v2, v4, v6", func(a, b, c uint64, mode uint32) uint64 { return f.median(a, b, c, mode) }})
			}
			for _, x := range forms {
				code, err := isa.Assemble(tg, x.asm)
				if err != nil {
					t.Errorf("%s: %s: %v", cpu, x.asm, err)
					continue
				}
				code = append(code, end...)
				for k := range uint32(8) {
					if testing.Short() && k%3 != 0 {
						continue
					}
					mode := k&3<<4 | k&3<<6 | k>>2<<9 | 1<<8 | uint32(r.Intn(16)) // denormals, IEEE; rounding does not matter
					if cpu == "gfx1200" {
						mode |= 1 << 9 // there is no such bit: minima are IEEE's
					}
					var in [3][64]uint64
					for l := range lanes {
						for i := range in {
							in[i][l] = f.input(r)
						}
						if r.Intn(4) == 0 {
							in[1][l] = in[0][l] ^ f.sign()&-uint64(r.Intn(2))
						}
						if strings.Contains(x.asm, "_class_") {
							in[2][l] = 1 << r.Intn(10)
						}
						for i := range in {
							m.w.VGPR(2 + 2*i)[l], m.w.VGPR(3 + 2*i)[l] = uint32(in[i][l]), uint32(in[i][l]>>32)
						}
					}
					m.w.S[isa.SRegMODE] = mode
					clear(m.w.VGPR(0))
					if exit := m.run(code); exit != ir.ExitEndPgm {
						t.Fatalf("%s: %s: exit %v %s", cpu, x.asm, exit, m.w.Illegal)
					}
					for l := range lanes {
						n++
						want := x.f(in[0][l], in[1][l], in[2][l], mode)
						got := uint64(m.w.VGPR(0)[l]) & f.mask()
						if strings.HasPrefix(x.asm, "v_cmp") {
							got = (uint64(m.w.S[10]) | uint64(m.w.S[11])<<32) >> l & 1
						} else if f.isNaN(got) && f.isNaN(want) {
							continue
						}
						if got != want {
							t.Fatalf("%s: %s of %#x %#x %#x, mode %#x: %#x, want %#x", cpu, x.asm, in[0][l], in[1][l], in[2][l], mode, got, want)
						}
					}
				}
			}
		}
	}
	t.Logf("%d vectors", n)
}

// TestPackedReferences runs packed arithmetic of halves and of pairs of f32, with op_sel, negation of each half, and clamp, in all rounding and
// denormal modes.
func TestPackedReferences(t *testing.T) {
	r := rand.New(rand.NewSource(23))
	n := 0
	for _, cpu := range []string{"gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200"} {
		tg := isa.TargetByName(cpu)
		lanes := 64
		if tg.Wave32 {
			lanes = 32
		}
		tg = tg.Wave(lanes)
		m := newMachine(t, cpu, lanes)
		end, _ := isa.Assemble(tg, "s_endpgm")
		ops := []string{"add_f16", "mul_f16", "fma_f16", "min_f16", "max_f16"}
		if cpu == "gfx90a" || cpu == "gfx942" {
			ops = append(ops, "add_f32", "mul_f32", "fma_f32")
		}
		if cpu == "gfx1200" {
			ops[3], ops[4] = "min_num_f16", "max_num_f16"
		}
		for _, op := range ops {
			f := f16fmt
			if strings.HasSuffix(op, "f32") {
				f = f32fmt
			}
			kind := strings.Split(op, "_")[0]
			args := 2
			if kind == "fma" {
				args = 3
			}
			for mode := range uint32(256) {
				if testing.Short() && mode%37 != 0 || mode%3 != uint32(len(op)+len(cpu))%3 {
					continue
				}
				bits := func() (l [3]int) {
					for i := range args {
						l[i] = r.Intn(2)
					}
					return l
				}
				list := func(b [3]int) string {
					return strings.ReplaceAll(strings.Trim(fmt.Sprint(b[:args]), "[]"), " ", ",")
				}
				sel, selHi, negLo, negHi := bits(), bits(), bits(), bits()
				clamp := r.Intn(4) == 0
				var asm string
				if f.name == "f32" {
					asm = fmt.Sprintf("v_pk_%s v[0:1], v[2:3], v[4:5]", op)
					if args == 3 {
						asm += ", v[6:7]"
					}
				} else {
					asm = fmt.Sprintf("v_pk_%s v0, v2, v4", op)
					if args == 3 {
						asm += ", v6"
					}
				}
				asm += fmt.Sprintf(" op_sel:[%s] op_sel_hi:[%s] neg_lo:[%s] neg_hi:[%s]", list(sel), list(selHi), list(negLo), list(negHi))
				if clamp {
					asm += " clamp"
				}
				code, err := isa.Assemble(tg, asm)
				if err != nil {
					t.Fatalf("%s: %s: %v", cpu, asm, err)
				}
				var in [3][2][64]uint64
				for i := range in {
					for l := range lanes {
						a, b := f.input(r), f.input(r)
						in[i][0][l], in[i][1][l] = a, b
						if f.name == "f32" {
							m.w.VGPR(2 + 2*i)[l], m.w.VGPR(3 + 2*i)[l] = uint32(a), uint32(b)
						} else {
							m.w.VGPR(2 + 2*i)[l] = uint32(a | b<<16)
						}
					}
				}
				full := mode | 3<<8
				m.w.S[isa.SRegMODE] = full
				if x := m.run(append(code, end...)); x != ir.ExitEndPgm {
					t.Fatalf("%s: %s: %v %s", cpu, asm, x, m.w.Illegal)
				}
				for l := range lanes {
					for half := range 2 {
						n++
						var s [3]uint64
						for i := range args {
							from, neg := sel[i], negLo[i]
							if half == 1 {
								from, neg = selHi[i], negHi[i]
							}
							s[i] = in[i][from][l]
							if neg != 0 {
								s[i] ^= f.sign()
							}
						}
						var want uint64
						switch kind {
						case "add":
							want = f.fma(s[0], f.one(), s[1], true, full)
						case "mul":
							want = f.fma(s[0], s[1], 0, false, full)
						case "fma":
							want = f.fma(s[0], s[1], s[2], true, full)
						default:
							want = f.least(s[0], s[1], kind == "max", full)
						}
						if clamp {
							switch {
							case f.isNaN(want), want&f.sign() != 0:
								want = 0
							case want > f.one():
								want = f.one()
							}
						}
						got := uint64(m.w.VGPR(0)[l]) >> (16 * half) & 0xffff
						if f.name == "f32" {
							got = uint64(m.w.VGPR(half)[l])
						}
						if got != want && !(f.isNaN(got) && f.isNaN(want)) {
							t.Fatalf("%s: %s half %d of %#x %#x %#x, mode %#x: %#x, want %#x", cpu, asm, half, s[0], s[1], s[2], full, got, want)
						}
					}
				}
			}
		}
	}
	t.Logf("%d vectors", n)
}
