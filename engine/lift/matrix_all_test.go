package lift_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/fp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// TestMatrixForms runs every matrix instruction of every target: on small integers, where all orders and roundings agree, and compares
// with a plain product; and on random elements, and compares with the generation's model (matrix_model_test.go). Where a register's bits belong is written as AMD's matrix instruction calculator prints it ("register to
// matrix element mapping"; ROCm/amd_matrix_instruction_calculator, 2025), which is the other way round than the engine has it.
func TestMatrixForms(t *testing.T) {
	for _, c := range []struct {
		cpu   string
		lanes int
	}{{"gfx908", 64}, {"gfx90a", 64}, {"gfx942", 64}, {"gfx950", 64}, {"gfx1100", 32}, {"gfx1100", 64}, {"gfx1201", 32}, {"gfx1201", 64}} {
		tg := isa.TargetByName(c.cpu)
		n := 0
		for _, op := range isa.Ops() {
			if op.On(tg) && op.Flags&isa.FlagMFMA != 0 && !strings.Contains(op.Name, "accvgpr") {
				n++
				if strings.HasSuffix(op.Name, "_f8f6f4") { // TestMatrixFormats
					continue
				}
				t.Run(fmt.Sprintf("%s/wave%d/%s", c.cpu, c.lanes, op.Name), func(t *testing.T) {
					f := newMatrixForm(t, op, c.cpu, c.lanes)
					f.run(-1)
					for how := range numDraws {
						newMatrixForm(t, op, c.cpu, c.lanes).run(how)
					}
					if kindBits[f.dKind] == 16 && !f.gen12 { // in the upper halves of the registers
						f := newMatrixForm(t, op, c.cpu, c.lanes)
						f.high, f.mods = 1, f.mods+" op_sel:[0,0,1]"
						f.run(-1)
					}
				})
			}
		}
		if n < 6 {
			t.Errorf("%s: only %d matrix instructions", c.cpu, n)
		}
	}
}

type matrixForm struct {
	*testing.T
	cpu, name       string
	lanes           int
	m, n, k, blocks int
	aKind, bKind    string
	dKind           string
	wmma, sparse    bool
	gen12, ocp      bool
	aRegs, bRegs    int
	dRegs           int
	mods            string
	high            int // 1: C and D are in the upper halves
}

var formRE = regexp.MustCompile(`^v_(mfma|smfmac|wmma|swmmac)_(f32|f64|f16|bf16|i32)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_?(xf32|f16|bf16|f32|f64|i8|iu8|iu4|fp8|bf8)(?:_(fp8|bf8))?$`)

var kindBits = map[string]int{"xf32": 32, "f32": 32, "f64": 64, "f16": 16, "bf16": 16, "i8": 8, "iu8": 8, "iu4": 4, "fp8": 8, "bf8": 8, "i32": 32}

func newMatrixForm(t *testing.T, op *isa.Op, cpu string, lanes int) *matrixForm {
	p := formRE.FindStringSubmatch(op.Name)
	if p == nil {
		t.Fatalf("what is %s?", op.Name)
	}
	num := func(s string) int { v, _ := strconv.Atoi(s); return v }
	f := &matrixForm{T: t, cpu: cpu, name: op.Spelling(isa.TargetByName(cpu)), lanes: lanes, m: num(p[3]), n: num(p[4]), k: num(p[5]),
		dKind: p[2], aKind: p[7], bKind: p[7], wmma: strings.Contains(p[1], "wm"), sparse: p[1] == "smfmac" || p[1] == "swmmac",
		gen12: strings.HasPrefix(cpu, "gfx12"), ocp: cpu == "gfx950" || strings.HasPrefix(cpu, "gfx12")}
	if p[8] != "" {
		f.bKind = p[8]
	}
	// The table's widths are wave32's.
	f.aRegs, f.bRegs, f.dRegs = int(op.Src[0].N), int(op.Src[1].N), int(op.Dst[0].N)
	if f.wmma && lanes == 64 {
		f.dRegs /= 2
		if f.gen12 {
			f.aRegs, f.bRegs = max(1, f.aRegs/2), max(1, f.bRegs/2)
		}
	}
	f.blocks = 1
	if !f.wmma {
		f.blocks = f.dRegs * 32 / kindBits[f.dKind] * lanes / (f.m * f.n)
	}
	if strings.HasPrefix(f.aKind, "iu") {
		f.mods = " neg_lo:[1,1,0]" // signed
	}
	return f
}

// input returns which element of A (or B, with n rows) element e of a lane is; for a sparse A, e counts as if it were dense.
func (f *matrixForm) input(lane, e, n, regs int, isA bool) (blk, row, k int, ok bool) {
	bits := kindBits[f.aKind]
	switch {
	case f.wmma && !f.gen12:
		return 0, lane % 16, e, true
	case f.wmma:
		g := lane / 16
		dense := regs // registers if all of the row were there
		if f.sparse && isA {
			dense *= 2
		}
		if f.lanes == 64 && f.k/2*bits/32 <= 1 || f.lanes == 64 && f.sparse && isA && f.k/2*bits/32 == 2 {
			return 0, lane % 16, f.k/2*(g%2) + e, g < 2 // the upper lanes are ignored
		}
		if f.lanes == 64 { // the upper half of wave32's registers
			e += g / 2 * dense * 32 / bits
			g %= 2
		}
		run := f.k / 2
		if bits == 16 {
			run = 4
			if f.sparse {
				run = 8
			}
		}
		return 0, lane % 16, e/run*2*run + run*g + e%run, true
	}
	per := n * f.k * f.blocks / 64
	g := lane / n
	return g % f.blocks, lane % n, g/f.blocks*per + e, true
}

// output returns which element of D register r (of 64 bits for f64, half h of it for 16 bits) of a lane is.
func (f *matrixForm) output(lane, r, h int) (blk, i, j int) {
	switch {
	case f.wmma && !f.gen12:
		return 0, f.lanes/16*r + lane/16, lane % 16
	case f.wmma:
		if kindBits[f.dKind] == 16 {
			r = 2*r + h
		}
		return 0, 8*(lane/16%2) + 4*(lane/32) + r, lane % 16
	case f.dKind == "f64" && f.m == 4:
		return lane / 4 % 4, lane / 16, lane % 4
	case f.dKind == "f64":
		return 0, 4*r + lane/16, lane % 16
	case f.m == 4:
		return lane / 4, r, lane % 4
	}
	g := 64 / f.n
	quads := f.m / (4 * g) // of a block, in a lane
	q := r / 4
	return q / quads, 4*g*(q%quads) + 4*(lane/f.n) + r%4, lane % f.n
}

// same compares elements of D: NaNs are alike, and so are zeros where a sum is not a chain of fused steps.
func (f *matrixForm) same(x, y uint64) bool {
	g, ok := map[string]fmtOf{"f16": f16fmt, "bf16": {exp: 8, man: 7}, "f32": f32fmt, "f64": f64fmt}[f.dKind]
	chain := f.aKind == "f32" || f.aKind == "f64"
	return x == y || ok && (g.isNaN(x) && g.isNaN(y) || !chain && g.isZero(x) && g.isZero(y))
}

func (f *matrixForm) encode(kind string, v int) uint64 {
	x := math.Float64bits(float64(v))
	switch kind {
	case "f32", "xf32":
		return uint64(math.Float32bits(float32(v)))
	case "f64":
		return x
	case "f16":
		return fp.Cvt(ir.F64, ir.F16, 0, x)
	case "bf16":
		return uint64(math.Float32bits(float32(v)) >> 16)
	case "fp8", "bf8":
		k, e := ir.FP8, ir.FP(0)
		if kind == "bf8" {
			k = ir.BF8
		}
		if f.ocp {
			e = ir.FPOCP
		}
		return fp.Cvt(ir.F64, k, e, x)
	}
	return uint64(v) & (1<<kindBits[kind] - 1)
}

func (f *matrixForm) decode(bits uint64) float64 {
	switch f.dKind {
	case "f32":
		return float64(math.Float32frombits(uint32(bits)))
	case "f64":
		return math.Float64frombits(bits)
	case "f16":
		return math.Float64frombits(fp.Cvt(ir.F16, ir.F64, 0, bits&0xffff))
	case "bf16":
		return float64(math.Float32frombits(uint32(bits) << 16))
	}
	return float64(int32(bits))
}

// run computes one D: of small integers when how is -1, else of random elements.
func (f *matrixForm) run(how int) {
	rnd := rand.New(rand.NewPCG(uint64(len(f.name)), uint64(f.lanes)))
	value := func() int {
		if f.cpu == "gfx1100" { // whose adder is exact for one sign only
			return rnd.IntN(3)
		}
		return rnd.IntN(5) - 2
	}
	table := func(rows, k int, kind string) (ints [][][]int, bits [][][]uint64) {
		for range f.blocks {
			t, u := make([][]int, rows), make([][]uint64, rows)
			for r := range t {
				t[r], u[r] = make([]int, k), make([]uint64, k)
				for i := range t[r] {
					if how >= 0 {
						u[r][i] = f.draw(rnd, kind, how, f.k)
						continue
					}
					t[r][i] = value()
					u[r][i] = f.encode(kind, t[r][i])
				}
			}
			ints, bits = append(ints, t), append(bits, u)
		}
		return ints, bits
	}
	a, aBits := table(f.m, f.k, f.aKind)
	b, bBits := table(f.n, f.k, f.bKind)
	c, cBits := table(f.m, f.n, f.dKind)
	pos := make([][]int, f.m) // sparse: which of each four k the two elements of A are
	for i := range pos {
		for range f.k / 4 {
			x := rnd.Perm(4)
			pos[i] = append(pos[i], x[0], x[1])
		}
	}
	m := newMachine(f.T, f.cpu, f.lanes)
	put := func(reg, lane, bit, width int, v uint64) {
		if width == 64 {
			m.w.VGPR(reg)[lane], m.w.VGPR(reg + 1)[lane] = uint32(v), uint32(v>>32)
			return
		}
		m.w.VGPR(reg + bit/32)[lane] |= uint32(v) << (bit % 32)
	}
	const vA, vB, vIndex, vC, vD = 0, 32, 64, 96, 160
	bits := kindBits[f.aKind]
	set := 0
	perA := f.aRegs * 32 / bits
	if f.sparse && 2*perA < 32 {
		set = 1
		f.mods += " abid:1"
		if f.wmma {
			f.mods = strings.Replace(f.mods, " abid:1", "", 1)
			f.mods = " index_key:1" + f.mods
		}
	}
	for l := range f.lanes {
		for e := range perA {
			if !f.sparse {
				if blk, i, k, ok := f.input(l, e, f.m, f.aRegs, true); ok && k < f.k {
					put(vA, l, e*bits, bits, aBits[blk][i][k])
				}
				continue
			}
			// Two of four: element e is one of the dense 2*(e&^1)...
			_, i, k0, ok := f.input(l, e/2*4, f.m, f.aRegs, true)
			if !ok {
				continue
			}
			p := pos[i][k0/4*2+e%2]
			put(vA, l, e*bits, bits, aBits[0][i][k0+p])
			put(vIndex, l, 2*perA*set+2*e, 2, uint64(p))
		}
		for e := range f.bRegs * 32 / bits {
			if blk, j, k, ok := f.input(l, e, f.n, f.bRegs, false); ok && k < f.k {
				put(vB, l, e*bits, bits, bBits[blk][j][k])
			}
		}
	}
	width := kindBits[f.dKind]
	halves := 1
	if width == 16 && f.gen12 {
		halves = 2
	}
	regs := f.dRegs
	if width == 64 {
		regs /= 2
	}
	base := vC
	if f.sparse {
		base = vD
	}
	acc := 0
	if f.cpu == "gfx908" {
		acc = 256 - vC // its C and D are AccVGPRs
		base = vC
	}
	each := func(do func(reg, l, h, blk, i, j int)) {
		for l := range f.lanes {
			for r := range regs {
				for h := range halves {
					blk, i, j := f.output(l, r, h)
					reg := r
					if width == 64 {
						reg *= 2
					}
					do(reg, l, h, blk, i, j)
				}
			}
		}
	}
	each(func(reg, l, h, blk, i, j int) { put(base+acc+reg, l, 16*(h+f.high), width, cBits[blk][i][j]) })
	v := func(file string, base, n int) string {
		if n == 1 {
			return fmt.Sprintf("%s%d", file, base)
		}
		return fmt.Sprintf("%s[%d:%d]", file, base, base+n-1)
	}
	file, vc, vd := "v", vC, vD
	if acc != 0 {
		file, vc, vd = "a", 0, 64
	}
	third := v(file, vc, f.dRegs)
	if f.sparse {
		third = v("v", vIndex, 1)
	}
	text := fmt.Sprintf("%s %s, %s, %s, %s%s", f.name, v(file, vd, f.dRegs), v("v", vA, f.aRegs), v("v", vB, f.bRegs), third, f.mods)
	tg := isa.TargetByName(f.cpu).Wave(f.lanes)
	code, err := isa.Assemble(tg, text)
	if err != nil {
		f.Fatal(err)
	}
	end, _ := isa.Assemble(tg, "s_endpgm")
	code = append(code, end...)
	if len(code)%4 != 0 || binary.LittleEndian.Uint32(code) == 0 {
		f.Fatal("no code")
	}
	m.w.SetEXEC(0) // EXEC is ignored
	if exit := m.run(code); exit != ir.ExitEndPgm {
		f.Fatalf("%s: exit %v %s", text, exit, m.w.Illegal)
	}
	dst := vD
	if acc != 0 {
		dst = 256 + vd
	}
	each(func(reg, l, h, blk, i, j int) {
		x := uint64(m.w.VGPR(dst + reg)[l]) >> (16 * (h + f.high))
		if width == 64 {
			x |= uint64(m.w.VGPR(dst + reg + 1)[l]) << 32
		}
		if how >= 0 {
			if rnd.IntN(f.m*f.n*f.blocks) >= 64 { // a sample
				return
			}
			ra, rb := aBits[blk][i], bBits[blk][j]
			if f.sparse {
				ra, rb = nil, nil
				for e, p := range pos[i] {
					ra, rb = append(ra, aBits[0][i][e/2*4+p]), append(rb, bBits[0][j][e/2*4+p])
				}
			}
			want, skip := f.model(ra, rb, cBits[blk][i][j])
			if x &= 1<<width - 1; !skip && !f.same(x, want) {
				f.Fatalf("%s, draw %d: D[%d][%d] of block %d is %#x, want %#x: %#x . %#x + %#x", text, how, i, j, blk, x, want, ra, rb, cBits[blk][i][j])
			}
			return
		}
		want := c[blk][i][j]
		for k := range f.k {
			if x := a[blk][i][k]; !f.sparse {
				want += x * b[blk][j][k]
			} else if g := k / 4 * 2; pos[i][g] == k%4 || pos[i][g+1] == k%4 {
				want += x * b[blk][j][k]
			}
		}
		if got := f.decode(x); got != float64(want) {
			f.Fatalf("%s: D[%d][%d] of block %d is %v, want %d", text, i, j, blk, got, want)
		}
	})
}
