package lift_test

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// outputModified is omod 1 (double), 2 (quadruple) or 3 (half) of a result: a rounding of its own, denormals flushed, no negative zero. It
// does nothing while denormal results are kept or MODE.IEEE is set (Vega and RDNA manuals, "Output Modifiers").
func (f fmtOf) outputModified(x uint64, omod int, mode uint32) uint64 {
	if omod == 0 || mode>>f.denBits&2 != 0 || mode>>9&1 != 0 || f.isNaN(x) || f.isInf(x) {
		return x
	}
	if f.isZero(x) {
		return 0
	}
	v := f.exact(x)
	scale(v, [4]int{0, 1, 2, -1}[omod])
	y := f.flush(f.round(v, mode>>f.roundBits&3), 0)
	if f.isZero(y) {
		return 0
	}
	return y
}

// TestOutputModifiers runs sums, products and fused operations with omod and clamp in all modes.
func TestOutputModifiers(t *testing.T) {
	r := rand.New(rand.NewSource(29))
	m := newMachine(t, "gfx90a", 64)
	tg := isa.TargetByName("gfx90a")
	end, _ := isa.Assemble(tg, "s_endpgm")
	n := 0
	for _, f := range []fmtOf{f16fmt, f32fmt, f64fmt} {
		for op, name := range []string{"add", "mul", "fma"} {
			for mode := range uint32(256) {
				if testing.Short() && mode%37 != 0 || mode>>2&3 != mode&3 { // one rounding for all formats is enough
					continue
				}
				omod, clamp := 1+r.Intn(3), r.Intn(4) == 0
				full := mode | 1<<8
				if r.Intn(4) == 0 {
					full |= 1 << 9
				}
				reg := func(i int) string {
					if f.man == 52 {
						return fmt.Sprintf("v[%d:%d]", i, i+1)
					}
					return fmt.Sprintf("v%d", i)
				}
				asm := fmt.Sprintf("v_%s_%s %s, %s, %s", name, f.name, reg(0), reg(2), reg(4))
				if op == 2 {
					asm += ", " + reg(6)
				}
				if f.man != 52 {
					asm = fmt.Sprintf("v_%s_%s_e64%s", name, f.name, asm[len("v_add_f32"):])
					if op == 2 {
						asm = fmt.Sprintf("v_%s_%s%s", name, f.name, asm[len("v_add_f32_e64"):])
					}
				}
				if clamp {
					asm += " clamp"
				}
				asm += []string{"", " mul:2", " mul:4", " div:2"}[omod]
				code, err := isa.Assemble(tg, asm)
				if err != nil {
					t.Fatalf("%s: %v", asm, err)
				}
				var in [3][64]uint64
				for i := range in {
					for l := range 64 {
						x := f.input(r)
						in[i][l] = x
						m.w.VGPR(2 + 2*i)[l], m.w.VGPR(3 + 2*i)[l] = uint32(x), uint32(x>>32)
					}
				}
				m.w.S[isa.SRegMODE] = full
				clear(m.w.VGPR(0))
				if x := m.run(append(code, end...)); x != ir.ExitEndPgm {
					t.Fatalf("%s: %v %s", asm, x, m.w.Illegal)
				}
				for l := range 64 {
					n++
					a, b, c := in[0][l], in[1][l], in[2][l]
					var want uint64
					switch op {
					case 0:
						want = f.fma(a, f.one(), b, true, full)
					case 1:
						want = f.fma(a, b, 0, false, full)
					default:
						want = f.fma(a, b, c, true, full)
					}
					want = f.outputModified(want, omod, full)
					if clamp {
						switch {
						case f.isNaN(want), want&f.sign() != 0:
							want = 0
						case want > f.one():
							want = f.one()
						}
					}
					got := uint64(m.w.VGPR(0)[l])
					if f.man == 52 {
						got |= uint64(m.w.VGPR(1)[l]) << 32
					}
					if got != want && !(f.isNaN(got) && f.isNaN(want)) {
						t.Fatalf("%s of %#x %#x %#x, mode %#x: %#x, want %#x", asm, a, b, c, full, got, want)
					}
				}
			}
		}
	}
	t.Logf("%d vectors", n)
}

// TestSubDwordReferences runs SDWA on integer, f32 and f16 additions: every select of both sources, sign extension, neg and abs, and every select
// of the destination with what happens to its other bits.
func TestSubDwordReferences(t *testing.T) {
	r := rand.New(rand.NewSource(31))
	sels := []string{"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"}
	field := func(sel int) (shift, width uint) {
		switch {
		case sel < 4:
			return uint(8 * sel), 8
		case sel < 6:
			return uint(16 * (sel - 4)), 16
		}
		return 0, 32
	}
	n := 0
	for _, cpu := range []string{"gfx900", "gfx90a", "gfx1030"} {
		tg := isa.TargetByName(cpu)
		lanes := 64
		if tg.Wave32 {
			lanes = 32
		}
		tg = tg.Wave(lanes)
		m := newMachine(t, cpu, lanes)
		end, _ := isa.Assemble(tg, "s_endpgm")
		for _, op := range []string{"u32", "f32", "f16"} {
			name := "v_add_" + op + "_sdwa"
			if op == "u32" && cpu == "gfx1030" {
				name = "v_add_nc_u32_sdwa"
			}
			for range 100 {
				var sel [2]int
				var sext, neg, abs [2]bool
				src := [2]string{"v2", "v4"}
				for i := range sel {
					sel[i] = r.Intn(len(sels))
					if op == "u32" {
						if sext[i] = r.Intn(2) == 0; sext[i] {
							src[i] = "sext(" + src[i] + ")"
						}
						continue
					}
					if abs[i] = r.Intn(3) == 0; abs[i] {
						src[i] = "|" + src[i] + "|"
					}
					if neg[i] = r.Intn(3) == 0; neg[i] {
						src[i] = "-" + src[i]
					}
				}
				dst, unused := r.Intn(len(sels)), r.Intn(3)
				asm := fmt.Sprintf("%s v0, %s, %s dst_sel:%s dst_unused:%s src0_sel:%s src1_sel:%s", name, src[0], src[1], sels[dst],
					[]string{"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"}[unused], sels[sel[0]], sels[sel[1]])
				code, err := isa.Assemble(tg, asm)
				if err != nil {
					t.Fatalf("%s: %s: %v", cpu, asm, err)
				}
				var in [2][64]uint64
				var old [64]uint64
				for l := range lanes {
					for i := range in {
						x := uint64(r.Uint32())
						if f := f32fmt; op == "f32" && sel[i] == 6 {
							x = f.input(r)
						} else if op == "f16" && sel[i] >= 4 {
							x = f16fmt.input(r) | f16fmt.input(r)<<16
						}
						in[i][l] = x
						m.w.VGPR(2 + 2*i)[l] = uint32(x)
					}
					old[l] = uint64(r.Uint32())
					m.w.VGPR(0)[l] = uint32(old[l])
				}
				m.w.S[isa.SRegMODE] = 0x3f0
				if x := m.run(append(code, end...)); x != ir.ExitEndPgm {
					t.Fatalf("%s: %s: %v %s", cpu, asm, x, m.w.Illegal)
				}
				f, width := f32fmt, uint(32)
				if op == "f16" {
					f, width = f16fmt, 16
				}
				for l := range lanes {
					n++
					var s [2]uint64
					for i := range s {
						shift, w := field(sel[i])
						x := in[i][l] >> shift & (1<<w - 1)
						if sext[i] && w < 32 {
							x = uint64(int64(x<<(64-w))>>(64-w)) & 0xffffffff
						}
						if op != "u32" {
							x &= 1<<width - 1
							if abs[i] {
								x &^= f.sign()
							}
							if neg[i] {
								x ^= f.sign()
							}
						}
						s[i] = x
					}
					want := (s[0] + s[1]) & 0xffffffff
					if op != "u32" {
						want = f.fma(s[0], f.one(), s[1], true, 0xf0)
					}
					got := uint64(m.w.VGPR(0)[l])
					shift, w := field(dst)
					if op != "u32" && f.isNaN(want) { // which NaN is not said
						continue
					}
					if w == 32 {
						// A 16-bit result in a whole register: zeros above.
					} else {
						low := want & (1<<w - 1)
						switch unused {
						case 0:
							want = low << shift
						case 1:
							want = uint64(int64(low<<(64-w))>>(64-w)) << shift & 0xffffffff
						default:
							want = old[l]&^((1<<w-1)<<shift) | low<<shift
						}
					}
					if got != want {
						t.Fatalf("%s: %s of %#x %#x over %#x: %#x, want %#x", cpu, asm, in[0][l], in[1][l], old[l], got, want)
					}
				}
			}
		}
	}
	t.Logf("%d vectors", n)
}
