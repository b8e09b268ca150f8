//go:build linux && amd64

package jit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Random matrix instructions: every one of every target, one to three in a row, registers anywhere (also D over A, B or C, and AccVGPRs), modifiers,
// constants, any MODE, any EXEC, on numbers of all kinds in each operand's own format.

// matrixVGPRs is how many registers the programs have, and as many AccVGPRs.
const matrixVGPRs = 104

// matrixPrograms are the forms that random programs have: f8f6f4 with all pairs of formats.
var matrixPrograms = sync.OnceValue(func() (out []matrixForm) {
	for _, m := range matrixForms() {
		if !strings.HasSuffix(m.op.Name, "f8f6f4") {
			out = append(out, m)
			continue
		}
		if m.format == 0 {
			for a := range 5 {
				for b := range 5 {
					m.format = a + 8*b
					out = append(out, m)
				}
			}
		}
	}
	return out
})

// matrixRegs is where the operands of an instruction are.
type matrixRegs struct {
	a, b, c, d int
	index      int    // of a sparse instruction
	scale      [2]int // of a scaled one
	accAB      bool   // A and B are AccVGPRs
	accCD      bool   // C and D
	same       bool   // C is D
	constant   string // or this
	kinds      *ir.Matrix
	na, nb, nd int
}

// random is the text of the instruction with random registers and modifiers.
func (m matrixForm) random(r *rand.Rand) (string, matrixRegs) {
	tg := isa.TargetByName(m.cpu)
	x := matrixRegs{na: int(m.op.Src[0].N), nb: int(m.op.Src[1].N), nd: int(m.op.Dst[0].N)}
	name := m.op.Name
	wmma := strings.HasPrefix(name, "v_wmma") || strings.HasPrefix(name, "v_swmmac")
	sparse := strings.HasPrefix(name, "v_smfmac") || strings.HasPrefix(name, "v_swmmac")
	if wmma && m.lanes == 64 {
		x.nd /= 2
		if strings.HasPrefix(m.cpu, "gfx12") {
			x.na, x.nb = max(1, x.na/2), max(1, x.nb/2)
		}
	}
	mods := ""
	if strings.HasSuffix(name, "f8f6f4") {
		n := [...]int{8, 8, 6, 6, 4}
		x.na, x.nb = n[m.format%8], n[m.format/8]
		mods = fmt.Sprintf(" cbsz:%d blgp:%d", m.format%8, m.format/8)
	}
	at := func(n int) int { return r.IntN((matrixVGPRs-n)/2+1) * 2 }
	x.a, x.b, x.c, x.d = at(x.na), at(x.nb), at(x.nd), at(x.nd)
	x.index, x.scale = r.IntN(matrixVGPRs), [2]int{r.IntN(matrixVGPRs), r.IntN(matrixVGPRs)}
	x.same = sparse || r.IntN(2) == 0
	if x.same {
		x.c = x.d
	}
	switch {
	case m.cpu == "gfx908":
		x.accAB, x.accCD = r.IntN(2) == 0, true
	case !wmma:
		x.accAB, x.accCD = r.IntN(3) == 0, r.IntN(2) == 0
	}
	v := func(acc bool, base, n int) string {
		file := "v"
		if acc {
			file = "a"
		}
		if n == 1 {
			return fmt.Sprintf("%s%d", file, base)
		}
		return fmt.Sprintf("%s[%d:%d]", file, base, base+n-1)
	}
	third := v(x.accCD, x.c, x.nd)
	switch {
	case sparse:
		third = v(false, x.index, 1)
	case r.IntN(8) == 0:
		x.constant = []string{"0", "1.0", "-4.0", "1", "-16", "64", "0.5"}[r.IntN(7)]
		third = x.constant
	}
	text := func(accA, accB bool, third string) string {
		return fmt.Sprintf("%s %s, %s, %s, %s", m.op.Spelling(tg), v(x.accCD, x.d, x.nd), v(accA, x.a, x.na), v(accB, x.b, x.nb), third)
	}
	assembles := func(s string) bool {
		_, err := isa.Assemble(tg.Wave(m.lanes), s)
		return err == nil
	}
	tail := mods
	if strings.HasPrefix(name, "v_mfma_scale") {
		bit := func() int { return r.IntN(2) }
		tail = fmt.Sprintf(", v%d, v%d op_sel:[%d,%d,0] op_sel_hi:[%d,%d,0]", x.scale[0], x.scale[1], bit(), bit(), bit(), bit()) + mods
	}
	s := text(x.accAB, x.accAB != (r.IntN(8) == 0), third)
	if !assembles(s + tail) {
		x.accAB, x.constant = false, ""
		if !sparse {
			third = v(x.accCD, x.c, x.nd)
		}
		s = text(false, false, third)
	}
	s += tail
	bits := func() string { return fmt.Sprintf("[%d,%d,%d]", r.IntN(2), r.IntN(2), r.IntN(2)) }
	two := func() string { return fmt.Sprintf("[%d,%d,0]", r.IntN(2), r.IntN(2)) }
	var more []string
	if wmma {
		more = []string{" neg_lo:" + bits() + " neg_hi:" + bits(), " neg_lo:" + two() + " neg_hi:" + two(), " neg_lo:" + two(), " neg_lo:" + two() + " clamp", " clamp",
			" neg_lo:[0,0,1] neg_hi:[0,0,1]", " op_sel:[0,0,1]", " index_key:1", fmt.Sprintf(" index_key:%d", r.IntN(4))}
	} else {
		more = []string{fmt.Sprintf(" cbsz:%d abid:%d blgp:%d", r.IntN(8), r.IntN(16), r.IntN(8)), fmt.Sprintf(" blgp:%d", 1+r.IntN(7)), " neg:" + bits(),
			fmt.Sprintf(" cbsz:%d abid:%d", r.IntN(4), r.IntN(16))}
	}
	if r.IntN(3) > 0 {
		for range 4 { // until one is of this instruction
			if t := s + more[r.IntN(len(more))]; assembles(t) {
				return t, x
			}
		}
	}
	return s, x
}

// matrixProgram is the program of a seed.
func matrixProgram(t testing.TB, seed uint64) *straight {
	r := rand.New(rand.NewPCG(seed, 203))
	forms := matrixPrograms()
	m := forms[r.IntN(len(forms))]
	tg := isa.TargetByName(m.cpu).Wave(m.lanes)
	p := &straight{target: tg, lanes: m.lanes, nvgpr: matrixVGPRs}
	if m.lanes == 64 && tg.Gen < isa.GFX10 {
		p.nacc = matrixVGPRs
	}
	add := func(s string) {
		b, err := isa.Assemble(tg, s)
		if err != nil {
			t.Fatalf("seed %d: %s: %s: %v", seed, m, s, err)
		}
		p.text, p.code = append(p.text, s), append(p.code, b...)
	}
	var parts []matrixRegs
	for range 1 + r.IntN(3)*r.IntN(2) {
		if len(parts) > 0 && r.IntN(3) == 0 { // another one of the target
			for n := range forms {
				if x := forms[(n+r.IntN(len(forms)))%len(forms)]; x.cpu == m.cpu && x.lanes == m.lanes {
					m = x
					break
				}
			}
		}
		s, x := m.random(r)
		x.kinds = matrixOf(m.lifted(t, s))
		parts = append(parts, x)
		add(s)
		if r.IntN(6) == 0 {
			add(fmt.Sprintf("s_setreg_imm32_b32 hwreg(HW_REG_MODE, %d, 4), %#x", r.IntN(2)*4, r.IntN(16)))
		}
	}
	add("s_endpgm")
	fillSeed := r.Uint64()
	mode := randomMode(r)
	p.fill = func(g *rig) { fillMatrices(g, parts, fillSeed, mode) }
	return p
}

// fillMatrices fills the operands of matrix instructions, the last one first: what the first one reads is as it is to be.
func fillMatrices(g *rig, parts []matrixRegs, seed uint64, mode uint32) {
	r := rand.New(rand.NewPCG(seed, 77))
	words := &gen{r: r}
	w := g.w
	for i := range isa.SRegVCCLo {
		w.S[i] = uint32(words.bits())
	}
	w.S[isa.SRegMODE] = mode
	w.SetEXEC(r.Uint64())
	base := uint32(r.Uint64())
	for n := range w.NVGPR {
		for l := range w.VGPR(n) {
			base = base*1664525 + 1013904223
			w.VGPR(n)[l] = base
		}
	}
	for n := range w.NAcc {
		for l := range w.VGPR(256 + n) {
			base = base*1664525 + 1013904223
			w.VGPR(256 + n)[l] = base
		}
	}
	common := r.IntN(numDraws)
	for i := len(parts) - 1; i >= 0; i-- {
		x := &parts[i]
		put := func(acc bool, reg, n int, k ir.Kind) {
			how := common
			if r.IntN(4) == 0 {
				how = r.IntN(numDraws)
			}
			if acc {
				reg += 256
			}
			putElements(g, r, reg, n, k, how)
		}
		put(x.accCD, x.d, x.nd, x.kinds.C)
		if x.constant == "" {
			put(x.accCD, x.c, x.nd, x.kinds.C)
		}
		put(x.accAB, x.a, x.na, x.kinds.A)
		put(x.accAB, x.b, x.nb, x.kinds.B)
		if x.kinds.Sparse {
			for l := range w.VGPR(x.index) {
				w.VGPR(x.index)[l] = r.Uint32()
				if common == drawNearOne { // two different ones in each pair
					w.VGPR(x.index)[l] = []uint32{0x4e4e4e4e, 0x93939393, 0xe4e4e4e4, 0xc9c9c9c9}[r.IntN(4)]
				}
			}
		}
		if x.kinds.Scaled {
			for _, reg := range x.scale {
				for l := range w.VGPR(reg) {
					s := r.Uint32()
					switch common {
					case drawBits:
					case drawTiny:
						s = s & 0x1f1f1f1f
					default:
						s = (127-8)*0x01010101 + s&0x0f0f0f0f
					}
					if r.IntN(100) == 0 {
						s |= 0xff << (8 * r.IntN(4))
					}
					w.VGPR(reg)[l] = s
				}
			}
		}
	}
}

// matricesDiff runs the matrix instructions of a seed on both engines.
func matricesDiff(t testing.TB, seed uint64) []string { return matrixProgram(t, seed).diff(t, seed) }
