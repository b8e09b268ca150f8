package lift_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// modal is an instruction in one MODE, and LLVM's words for both: constrained intrinsics with a rounding mode, or functions that treat
// denormals in a way of their own.
type modal struct {
	asm, types, ir string
	attr           string // of the function
	mode           uint32 // MODE[7:0]
}

var modals = func() (l []modal) {
	rounds := []string{"tonearest", "upward", "downward", "towardzero"}
	denormals := []string{"preserve-sign,preserve-sign", "preserve-sign,ieee", "ieee,preserve-sign", "ieee,ieee"} // output,input: MODE's 0 to 3
	for _, f := range []struct{ t, ty, s string }{{"h", "half", "f16"}, {"f", "float", "f32"}, {"d", "double", "f64"}} {
		for n, round := range rounds {
			strict := func(op, args, ty string) string {
				return fmt.Sprintf("%%r = call %s @llvm.experimental.constrained.%s(%s, metadata !\"round.%s\", metadata !\"fpexcept.ignore\") strictfp", ty, op, args, round)
			}
			mode := uint32(n|n<<2) | 0xf0
			two := f.ty + " %a, " + f.ty + " %b"
			for _, op := range []string{"add", "mul", "sub"} {
				if op != "sub" || f.t != "d" {
					l = append(l, modal{"v_" + op + "_" + f.s + " D, A, B", f.t + f.t + f.t, strict("f"+op+"."+f.s, two, f.ty), "strictfp", mode})
				}
			}
			l = append(l, modal{"v_fma_" + f.s + " D, A, B, C", f.t + f.t + f.t + f.t, strict("fma."+f.s, two+", "+f.ty+" %c", f.ty), "strictfp", mode})
			if f.t == "f" {
				l = append(l, modal{"v_cvt_f16_f32 D, A", "fh", strict("fptrunc.f16.f32", "float %a", "half"), "strictfp", mode},
					modal{"v_cvt_f32_f64 D, A", "df", strict("fptrunc.f32.f64", "double %a", "float"), "strictfp", mode})
			}
		}
		for n, den := range denormals {
			attr := fmt.Sprintf("\"denormal-fp-math\"=\"%s\"", den)
			mode := uint32(n<<4 | n<<6)
			l = append(l, modal{"v_add_" + f.s + " D, A, B", f.t + f.t + f.t, "%r = fadd " + f.ty + " %a, %b", attr, mode},
				modal{"v_mul_" + f.s + " D, A, B", f.t + f.t + f.t, "%r = fmul " + f.ty + " %a, %b", attr, mode},
				modal{"v_cmp_lt_" + f.s + " M, A, B", f.t + f.t + "m", "%x = fcmp olt " + f.ty + " %a, %b\n%r = zext i1 %x to i32", attr, mode},
				modal{"v_cmp_neq_" + f.s + " M, A, B", f.t + f.t + "m", "%x = fcmp une " + f.ty + " %a, %b\n%r = zext i1 %x to i32", attr, mode})
		}
	}
	return l
}()

// TestLLVMFoldingModes has LLVM judge arithmetic in all rounding modes, and with denormal operands and results flushed.
func TestLLVMFoldingModes(t *testing.T) {
	needOpt(t)
	const lanes = 64
	rnd := rand.New(rand.NewPCG(7, 8))
	formats := map[byte]fmtOf{'h': f16fmt, 'f': f32fmt, 'd': f64fmt}
	value := func(f fmtOf) uint64 {
		x := rnd.Uint64() & f.mask()
		switch rnd.IntN(5) {
		case 0: // denormal, or the least normal numbers
			x &^= f.inf() &^ (uint64(rnd.IntN(2)) << f.man)
		case 1, 2: // near 1
			x = x&^f.inf() | (f.one()+uint64(rnd.IntN(8)-4)<<f.man)&f.inf()
		case 3: // products of two of these are denormal
			x = x&^f.inf() | uint64(f.bias()/2+rnd.IntN(4))<<f.man
		}
		return x
	}
	in := make([][3][lanes]uint64, len(modals))
	var text bytes.Buffer
	text.WriteString("target triple = \"amdgcn-amd-amdhsa\"\n")
	calls := map[string]string{}
	for k, m := range modals {
		nargs := len(m.types) - 1
		for l := range lanes {
			fmt.Fprintf(&text, "define %s @f%d() %s {\n", foldTypes[m.types[nargs]].bits, k*lanes+l, m.attr)
			for i := range nargs {
				f, y := formats[m.types[i]], foldTypes[m.types[i]]
				x := value(f)
				in[k][i][l] = x
				fmt.Fprintf(&text, "%%%c = bitcast %s %d to %s\n", "abc"[i], y.bits, x, y.float)
			}
			text.WriteString(m.ir + "\n")
			if r := foldTypes[m.types[nargs]]; r.float != "" {
				fmt.Fprintf(&text, "%%out = bitcast %s %%r to %s\nret %s %%out\n}\n", r.float, r.bits, r.bits)
			} else {
				fmt.Fprintf(&text, "ret %s %%r\n}\n", r.bits)
			}
		}
	}
	folded := foldedByLLVM(t, &text, calls)
	m := newMachine(t, "gfx90a", lanes)
	tg := isa.TargetByName("gfx90a")
	end, _ := isa.Assemble(tg, "s_endpgm")
	compared := 0
	for k, x := range modals {
		nargs := len(x.types) - 1
		asm := strings.Replace(x.asm, "M,", "s[10:11],", 1)
		reg := func(ty byte, n int) string {
			if foldTypes[ty].width == 64 {
				return fmt.Sprintf("v[%d:%d]", n, n+1)
			}
			return fmt.Sprintf("v%d", n)
		}
		asm = strings.Replace(asm, "D,", reg(x.types[nargs], 8)+",", 1)
		for i := range nargs {
			asm = strings.Replace(asm, string("ABC"[i]), reg(x.types[i], 2+2*i), 1)
			for l := range lanes {
				m.w.VGPR(2 + 2*i)[l], m.w.VGPR(3 + 2*i)[l] = uint32(in[k][i][l]), uint32(in[k][i][l]>>32)
			}
		}
		code, err := isa.Assemble(tg, asm)
		if err != nil {
			t.Fatalf("%s: %v", asm, err)
		}
		m.w.S[isa.SRegMODE] = x.mode | 3<<8
		if e := m.run(append(code, end...)); e != ir.ExitEndPgm {
			t.Fatalf("%s: %v %s", asm, e, m.w.Illegal)
		}
		bad := 0
		for l := range lanes {
			want, ok := folded[k*lanes+l]
			if !ok {
				continue
			}
			compared++
			got := uint64(m.w.VGPR(8)[l]) | uint64(m.w.VGPR(9)[l])<<32
			if x.types[nargs] == 'm' {
				got = (uint64(m.w.S[10]) | uint64(m.w.S[11])<<32) >> l & 1
			}
			mask := ^uint64(0) >> (64 - foldTypes[x.types[nargs]].width)
			got, want = got&mask, want&mask
			if f, ok := formats[x.types[nargs]]; got == want || ok && f.isNaN(got) && f.isNaN(want) {
				continue
			}
			if bad++; bad <= 2 {
				t.Errorf("%s, MODE %#x: %#x %#x %#x: %#x, LLVM folds to %#x", asm, x.mode, in[k][0][l], in[k][1][l], in[k][2][l], got, want)
			}
		}
	}
	if n := len(modals) * lanes; compared < n*9/10 {
		t.Errorf("LLVM folded only %d of %d", compared, n)
	}
	t.Logf("%d vectors of %d forms", compared, len(modals))
}
