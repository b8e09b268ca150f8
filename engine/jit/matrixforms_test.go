//go:build linux && amd64

package jit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
)

// matrixForm is a matrix instruction of a target.
type matrixForm struct {
	cpu    string
	lanes  int
	op     *isa.Op
	format int // f8f6f4: of A and, times 8, of B
}

func (m matrixForm) String() string {
	s := fmt.Sprintf("%s/wave%d/%s", m.cpu, m.lanes, m.op.Name)
	if strings.HasSuffix(m.op.Name, "f8f6f4") {
		s += fmt.Sprintf("/%d,%d", m.format%8, m.format/8)
	}
	return s
}

// matrixForms are all matrix instructions of all targets; of f8f6f4's pairs of formats, the equal ones and a few.
func matrixForms() (out []matrixForm) {
	for _, c := range []struct {
		cpu   string
		lanes int
	}{{"gfx908", 64}, {"gfx90a", 64}, {"gfx942", 64}, {"gfx950", 64}, {"gfx1100", 32}, {"gfx1100", 64}, {"gfx1201", 32}, {"gfx1201", 64}} {
		tg := isa.TargetByName(c.cpu)
		for _, op := range isa.Ops() {
			if !op.On(tg) || op.Flags&isa.FlagMFMA == 0 || strings.Contains(op.Name, "accvgpr") {
				continue
			}
			formats := []int{0}
			if strings.HasSuffix(op.Name, "f8f6f4") {
				formats = []int{0, 9, 18, 27, 36, 32, 26}
			}
			for _, f := range formats {
				out = append(out, matrixForm{c.cpu, c.lanes, op, f})
			}
		}
	}
	return out
}

// Registers of the operands.
const (
	regA, regB, regC, regD = 0, 32, 64, 96
	regIndex, regScale     = 128, 129
	regAcc                 = 256
)

// registers is how many vector registers it needs: CDNA1 has accumulation registers behind.
func (m matrixForm) registers() int {
	if m.cpu == "gfx908" {
		return regAcc + 64
	}
	return regScale + 3
}

// text is the instruction, with modifiers that r chooses; without them when r is nil.
func (m matrixForm) text(r *rand.Rand) []string {
	tg := isa.TargetByName(m.cpu)
	a, b, d := int(m.op.Src[0].N), int(m.op.Src[1].N), int(m.op.Dst[0].N)
	name := m.op.Name
	wmma := strings.HasPrefix(name, "v_wmma") || strings.HasPrefix(name, "v_swmmac")
	sparse := strings.HasPrefix(name, "v_smfmac") || strings.HasPrefix(name, "v_swmmac")
	if wmma && m.lanes == 64 {
		d /= 2
		if strings.HasPrefix(m.cpu, "gfx12") {
			a, b = max(1, a/2), max(1, b/2)
		}
	}
	mods := ""
	if strings.HasSuffix(name, "f8f6f4") {
		n := [...]int{8, 8, 6, 6, 4}
		a, b = n[m.format%8], n[m.format/8]
		mods = fmt.Sprintf(" cbsz:%d blgp:%d", m.format%8, m.format/8)
	}
	v := func(file string, base, n int) string {
		if n == 1 {
			return fmt.Sprintf("%s%d", file, base)
		}
		return fmt.Sprintf("%s[%d:%d]", file, base, base+n-1)
	}
	file, rc, rd := "v", regC, regD
	if m.cpu == "gfx908" {
		file, rc, rd = "a", 0, 32
	}
	if r == nil { // a chain
		rc = rd
	}
	third := v(file, rc, d)
	if sparse {
		third = v("v", regIndex, 1)
	}
	s := fmt.Sprintf("%s %s, %s, %s, %s", m.op.Spelling(tg), v(file, rd, d), v("v", regA, a), v("v", regB, b), third)
	if strings.HasPrefix(name, "v_mfma_scale") {
		sel := ""
		if r != nil {
			sel = fmt.Sprintf(" op_sel:[%d,%d,0] op_sel_hi:[%d,%d,0]", r.IntN(2), r.IntN(2), r.IntN(2), r.IntN(2))
		}
		return []string{s + fmt.Sprintf(", v%d, v%d", regScale, regScale+1) + sel + mods}
	}
	if r == nil {
		return []string{s + mods}
	}
	out := []string{s + mods}
	bits := func() string { return fmt.Sprintf("[%d,%d,%d]", r.IntN(2), r.IntN(2), r.IntN(2)) }
	two := func() string { return fmt.Sprintf("[%d,%d,0]", r.IntN(2), r.IntN(2)) }
	try := func(t string) {
		if _, err := isa.Assemble(tg.Wave(m.lanes), t); err == nil {
			out = append(out, t)
		}
	}
	if wmma {
		try(s + " neg_lo:" + bits() + " neg_hi:" + bits())
		try(s + " neg_lo:" + two() + " neg_hi:" + two())
		try(s + " neg_lo:" + two())
		try(s + " neg_lo:" + two() + " clamp")
		try(s + " neg_lo:[0,0,1] neg_hi:[0,0,1]")
		try(s + " op_sel:[0,0,1]")
		try(s + " index_key:1")
		try(s + fmt.Sprintf(" index_key:%d", 2+r.IntN(2)))
	} else {
		try(s + fmt.Sprintf(" cbsz:%d abid:%d blgp:%d", r.IntN(4), r.IntN(4), r.IntN(8)))
		try(s + fmt.Sprintf(" blgp:%d", 1+r.IntN(7)))
		try(s + " neg:" + bits())
		try(s + fmt.Sprintf(" cbsz:%d abid:%d", r.IntN(2), r.IntN(4)))
	}
	return out
}

// lifted is the Func of an instruction and s_endpgm.
func (m matrixForm) lifted(t testing.TB, text string) *ir.Func {
	tg := isa.TargetByName(m.cpu).Wave(m.lanes)
	b, err := isa.Assemble(tg, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	end, _ := isa.Assemble(tg, "s_endpgm")
	f, err := lift.Func(textSource{&flat{va: 0x1000, b: append(b, end...)}}, tg, 0x1000, 0x3f0, m.lanes)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

func matrixOf(f *ir.Func) *ir.Matrix {
	for i := range f.Values {
		if f.Values[i].Op == ir.OpMFMA {
			return f.Values[i].Aux.(*ir.Matrix)
		}
	}
	return nil
}

// How elements are drawn.
const (
	drawNearOne = iota // exponents that meet
	drawFinite         // of the whole range, denormals too
	drawFewBits        // far apart, of few bits: ties, cancellation
	drawSpecial        // now and then a NaN or an infinity
	drawTiny           // at the lower end of the range
	drawZeros          // tiny ones among zeros
	drawBits           // any
	numDraws
)

var drawFormats = map[ir.Kind]struct{ exp, man, bias int }{ir.F64: {11, 52, 1023}, ir.F32: {8, 23, 127}, ir.BF16: {8, 7, 127}, ir.F16: {5, 10, 15},
	ir.FP8: {4, 3, 7}, ir.BF8: {5, 2, 15}, ir.FP6: {2, 3, 1}, ir.BF6: {3, 2, 3}, ir.FP4: {2, 1, 1}}

// draw is a random element of kind k.
func draw(r *rand.Rand, k ir.Kind, how int) uint64 {
	f, ok := drawFormats[k]
	if x := r.Uint64(); how == drawBits {
		return x
	} else if !ok {
		if k == ir.I32 && how != drawFinite { // where sums overflow
			return uint64(1<<31 - r.IntN(1<<18) + r.IntN(1<<17))
		}
		return x
	}
	if how == drawZeros && r.IntN(3) > 0 {
		return r.Uint64N(2) << (f.exp + f.man)
	}
	if how == drawSpecial && r.IntN(150) == 0 {
		return []uint64{0, 1 << (f.exp + f.man), (1<<f.exp - 1) << f.man, (1<<(f.exp+1) - 1) << f.man, 1<<(f.exp+f.man) - 1, r.Uint64()}[r.IntN(6)]
	}
	e, man := 0, r.Uint64()&(1<<f.man-1)
	top := 1<<f.exp - 1 // above the largest
	if k.Bits() < 8 {
		top++
	}
	switch how {
	case drawNearOne:
		e = f.bias - 4 + r.IntN(8)
	case drawTiny, drawZeros:
		e = r.IntN(max(top/4, 2))
	case drawFewBits:
		e = f.bias - 20 + r.IntN(40)
		man &= 3
		if r.IntN(2) == 0 {
			man <<= max(f.man-2, 0)
		}
	default:
		e = r.IntN(top)
	}
	return uint64(r.IntN(2))<<(f.exp+f.man) | uint64(max(min(e, top-1), 0))<<f.man | man&(1<<f.man-1)
}

// putElements fills n registers with elements of kind k.
func putElements(g *rig, r *rand.Rand, reg, n int, k ir.Kind, how int) {
	bits := k.Bits()
	for l := range g.w.VGPR(reg) {
		for at := 0; at < 32*n; at += bits {
			x := draw(r, k, how)
			for i := 0; i < bits; i += 32 {
				if bits < 64 {
					x &= 1<<bits - 1
				}
				v := g.w.VGPR(reg + at/32)
				s := at % 32
				if i > 0 {
					v = g.w.VGPR(reg + at/32 + 1)
				}
				v[l] = v[l]&^uint32((1<<min(bits, 32)-1)<<s) | uint32(x>>i<<s)
				if s+bits > 32 && bits < 32 && at/32+1 < n {
					v := g.w.VGPR(reg + at/32 + 1)
					v[l] = uint32(x >> (32 - s))
				}
			}
		}
	}
}

// fillForm fills the operands of the operation m.
func fillForm(g *rig, m *ir.Matrix, seed uint64, how int) {
	r := rand.New(rand.NewPCG(seed, 77))
	put := func(reg, n int, k ir.Kind) { putElements(g, r, reg, n, k, how) }
	put(regA, 32, m.A)
	put(regB, 32, m.B)
	put(regC, 32, m.C)
	put(regD, 32, m.C)
	if g.w.NVGPR > regAcc {
		put(regAcc, 64, m.C)
	}
	for _, reg := range []int{regScale, regScale + 1} {
		for l := range g.w.VGPR(reg) {
			x := r.Uint32()
			if how != drawBits {
				x = (127-8)*0x01010101 + x&0x0f0f0f0f
			}
			g.w.VGPR(reg)[l] = x
		}
	}
	for l := range g.w.VGPR(regIndex) {
		x := r.Uint32()
		if how == drawNearOne { // two different ones in each pair
			x = []uint32{0x4e4e4e4e, 0x93939393, 0xe4e4e4e4, 0xc9c9c9c9}[r.IntN(4)]
		}
		g.w.VGPR(regIndex)[l] = x
	}
	g.w.S[isa.SRegEXECLo] = r.Uint32() // ignored
}

// TestMatrixForms runs every matrix instruction of every target, with modifiers, on all kinds of numbers by both engines, and checks that
// they are compiled. MATRIX_ROUNDS makes more of it than a sample, MATRIX_SEED other numbers, MATRIX_FORM chooses forms.
func TestMatrixForms(t *testing.T) { onEach(t, testMatrixForms) }

func testMatrixForms(t *testing.T) {
	rounds, seed := 0, uint64(1)
	fmt.Sscan(os.Getenv("MATRIX_ROUNDS"), &rounds)
	fmt.Sscan(os.Getenv("MATRIX_SEED"), &seed)
	for n, m := range matrixForms() {
		if !strings.Contains(m.String(), os.Getenv("MATRIX_FORM")) {
			continue
		}
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		texts := m.text(r)
		if rounds == 0 { // as it is, and with one set of modifiers
			if n := len(texts); n > 2 {
				texts = append(texts[:1], texts[1+r.IntN(n-1)])
			}
			if hostAVX2 && wide {
				texts = texts[len(texts)-1:]
			}
		}
		for round := range max(rounds, 1) {
			for i, text := range texts {
				f := m.lifted(t, text)
				x := matrixOf(f)
				p, err := CompileWith(f, Options{AVX2: hostAVX2})
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range p.slots {
					if h != nil && h.always && !(x.N == 4 && x.CBSZ != 0) { // whose groups may be of blocks in several strips
						t.Errorf("%s: %s: left to the helper", m, text)
					}
				}
				for how := range numDraws {
					if rounds == 0 && how != (n+3*i)%numDraws || rounds > 0 && i > 0 && how != (round+i)%numDraws {
						continue
					}
					s := r.Uint64()
					for _, d := range diffEnginesWith(t, s, f, m.registers(), func(g *rig) { fillForm(g, x, s, how) }) {
						t.Errorf("%s: %s, draw %d: %s", m, text, how, d)
					}
				}
			}
			texts = m.text(r)
		}
	}
}

// TestMatrixTable prints, when MATRIX_TABLE is set, for every matrix instruction whether compiled code does it, and how long it takes in each engine.
func TestMatrixTable(t *testing.T) {
	if os.Getenv("MATRIX_TABLE") == "" {
		t.Skip("MATRIX_TABLE is not set")
	}
	needJIT(t)
	const many = 64
	for _, m := range matrixForms() {
		if !strings.Contains(m.String(), os.Getenv("MATRIX_FORM")) {
			continue
		}
		text := m.text(nil)[0]
		var ns [3]float64
		var how [3]string
		for i := range ns {
			n := many
			if i == 0 {
				n = 4
			}
			tg := isa.TargetByName(m.cpu).Wave(m.lanes)
			one, err := isa.Assemble(tg, text)
			if err != nil {
				t.Fatal(err)
			}
			end, _ := isa.Assemble(tg, "s_endpgm")
			var b []byte
			for range n {
				b = append(b, one...)
			}
			f, err := lift.Func(textSource{&flat{va: 0x1000, b: append(b, end...)}}, tg, 0x1000, 0x3f0, m.lanes)
			if err != nil {
				t.Fatal(err)
			}
			lifter := func(lift.Source, *isa.Target, uint64, uint32, int) (*ir.Func, error) { return f, nil }
			var e engine.Engine = interp.NewWith(code.New(lifter))
			func() {
				defer func(was bool) { hostAVX2 = was }(hostAVX2)
				if hostAVX2 = i == 2; i > 0 {
					j, err := NewWith(code.New(lifter))
					if err != nil {
						t.Fatal(err)
					}
					defer j.mem.Close()
					e = j
					p, err := CompileWith(f, Options{AVX2: hostAVX2})
					if err != nil {
						t.Fatal(err)
					}
					how[i] = "native"
					if p.helpers > 0 {
						how[i] = "helper"
					}
				}
				g := newRig(t, m.lanes, m.registers())
				defer g.free()
				g.fill(1, m.lanes)
				fillForm(g, matrixOf(f), 1, drawNearOne)
				k := e.NewWorker()
				defer k.Close()
				best := math.Inf(1)
				for range 5 {
					g.w.PC, g.w.Fuel = f.PC, 1000
					t0 := time.Now()
					k.Run(g.w)
					best = min(best, float64(time.Since(t0).Nanoseconds())/float64(n))
				}
				ns[i] = best
			}()
		}
		fmt.Printf("%-62s %s %s %9.0f %9.0f %9.0f\n", m, how[1], how[2], ns[0], ns[1], ns[2])
	}
}
