//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/pumice-gpu/pumice/engine/isa"
)

// instsSeen counts instructions of the programs, by target, name and encoding, when it is not nil.
type instsSeen struct {
	sync.Mutex
	n map[string]int
}

func (s *instsSeen) add(target, name, form string) {
	if s == nil {
		return
	}
	s.Lock()
	s.n[target+" "+name]++
	if form != "" {
		s.n[target+" "+name+"_"+form]++
	}
	s.Unlock()
}

// instProgram is the program of a seed: dozens of random instructions of one target, with looks at SCC and VCC, changes of MODE and EXEC,
// branches forward, and perhaps a loop.
func instProgram(seed uint64, seen *instsSeen) *straight {
	r := rand.New(rand.NewPCG(seed, 207))
	k := instTargets[r.IntN(len(instTargets))]
	tg := isa.TargetByName(k.name).Wave(k.lanes)
	p := &straight{target: tg, lanes: k.lanes, nvgpr: instVGPRs}
	if tg.UnifiedAcc || k.name == "gfx908" {
		p.nacc = instAcc
	}
	rows := instRows()[k.name]
	g := &instGen{r: r, t: tg, lanes: k.lanes}
	emit := func(code []byte) {
		var in isa.Inst
		_ = isa.Decode(tg, append(code[:len(code):len(code)], make([]byte, 20)...), &in)
		p.text = append(p.text, fmt.Sprintf("%#x: %s", len(p.code), isa.Disasm(&in, tg, uint64(len(p.code)))))
		p.code = append(p.code, code...)
	}
	asm := func(format string, x ...any) {
		code, err := isa.Assemble(tg, fmt.Sprintf(format, x...))
		if err != nil {
			panic(fmt.Sprintf("%s: %s: %v", k.name, fmt.Sprintf(format, x...), err))
		}
		emit(code)
	}
	b, exec, vcc, mask, reg := "b64", "exec", "vcc", fmt.Sprintf("s[%d:%d]", instMask, instMask+1), func(n int) string { return fmt.Sprintf("s[%d:%d]", n&^1, n|1) }
	if k.lanes == 32 {
		b, exec, vcc, mask, reg = "b32", "exec_lo", "vcc_lo", fmt.Sprint("s", instMask), func(n int) string { return fmt.Sprint("s", n) }
	}
	result := func() int { return instInputs + r.IntN(instVGPRs-instInputs) }
	one := func(n int) bool { return r.IntN(n) == 0 }
	type branch struct{ at, left int }
	var forward []branch
	land := func(x branch) { binary.LittleEndian.PutUint16(p.code[x.at:], uint16((len(p.code)-x.at-4)/4)) }
	landAll := func() {
		for _, x := range forward {
			land(x)
		}
		forward = nil
	}
	loop := -1
	sameRow := one(4) // many of one instruction
	first := rows[r.IntN(len(rows))]
	modes := 0
	restore := 0 // EXEC, after so many instructions
	for n := 20 + r.IntN(30); n > 0; n-- {
		if restore > 0 {
			if restore--; restore == 0 {
				asm("s_mov_%s %s, %s", b, exec, mask)
			}
		}
		for i := 0; i < len(forward); i++ {
			if forward[i].left--; forward[i].left <= 0 {
				land(forward[i])
				forward = append(forward[:i], forward[i+1:]...)
				i--
			}
		}
		switch x := r.IntN(60); {
		case x == 0:
			switch {
			case k.lanes == 32 && one(2): // and EXEC_HI, which wave32 does not use
				asm("s_mov_b64 exec, -%d", 1+r.IntN(2))
			case one(2):
				asm("s_mov_%s %s, 0", b, exec)
			default:
				asm("s_mov_%s %s, %s", b, exec, reg(r.IntN(instInputs)))
			}
			restore = 1 + r.IntN(10)
		case x == 1 && modes < 2:
			modes++
			switch {
			case tg.Gen >= isa.GFX10 && one(3):
				asm("s_round_mode %#x", r.IntN(16))
			case tg.Gen >= isa.GFX10 && one(2):
				asm("s_denorm_mode %d", r.IntN(16))
			case one(4):
				asm("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), %#x", r.IntN(2))
			default:
				asm("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, %d), %#x", []int{4, 8, 10}[r.IntN(3)], r.IntN(1024))
			}
		case x == 2:
			asm("s_getreg_b32 s%d, hwreg(HW_REG_MODE, 0, 32)", result())
		case x == 3:
			op := []string{"s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_vccnz", "s_cbranch_execz", "s_cbranch_execnz"}[r.IntN(6)]
			forward = append(forward, branch{len(p.code), 1 + r.IntN(6)})
			asm("%s 0", op)
		case x == 4 && loop == -1:
			landAll() // not into the loop
			if one(2) {
				asm("s_mov_%s %s, -1", b, exec)
			}
			asm("s_movk_i32 s%d, %d", instMask+2, 1+r.IntN(3))
			loop = len(p.code)
		case x == 5:
			index := r.IntN(instVGPRs)
			if one(3) { // the same for all
				index = result()
				asm("v_mov_b32_e32 v%d, s%d", index, r.IntN(instInputs))
			}
			switch r.IntN(4) {
			case 0:
				asm("ds_permute_b32 v%d, v%d, v%d offset:%d", result(), index, r.IntN(instVGPRs), r.IntN(3)*4)
			case 1, 2:
				asm("ds_bpermute_b32 v%d, v%d, v%d offset:%d", result(), index, r.IntN(instVGPRs), r.IntN(3)*4)
			default:
				asm("ds_swizzle_b32 v%d, v%d offset:%#x", result(), r.IntN(instVGPRs), []int{r.IntN(1 << 15), 0x8000 | r.IntN(256), r.IntN(1 << 16)}[r.IntN(3)])
			}
		case x == 6 && tg.Gen >= isa.GFX11 && k.lanes == 32, x >= 7 && x < 12 && tg.Gen >= isa.GFX11 && k.lanes == 32:
			if code := g.pair(); code != nil {
				seen.add(k.name, "v_dual_"+g.in.Op.Name, "")
				seen.add(k.name, "v_dual_"+g.in.Y.Name, "")
				emit(code)
			}
		default:
			op := rows[r.IntN(len(rows))]
			if sameRow && one(2) {
				op = first
			}
			code, form := g.inst(op)
			if code == nil {
				break
			}
			in := &g.in
			seen.add(k.name, op.Name, form)
			writesEXEC := op.Flags&isa.FlagWritesEXEC != 0
			writesVCC := op.Flags&isa.FlagWritesVCC != 0
			for i := range in.Dst[:in.NDst] {
				if o := &in.Dst[i]; o.Kind == isa.OperandSGPR {
					writesEXEC = writesEXEC || o.Reg == isa.SRegEXECLo || o.Reg == isa.SRegEXECHi
					writesVCC = writesVCC || o.Reg == isa.SRegVCCLo
				}
			}
			emit(code)
			switch {
			case writesEXEC:
				if restore = r.IntN(10); restore < 4 {
					restore = 0
					asm("s_mov_%s %s, %s", b, exec, mask)
				}
			case op.Flags&isa.FlagWritesSCC != 0 && one(2):
				asm("s_cselect_b32 s%d, s%d, s%d", result(), r.IntN(instInputs), r.IntN(instInputs))
			case writesVCC && one(2):
				asm("s_mov_%s %s, %s", b, reg(result()), vcc)
			}
		}
		if loop >= 0 && (one(12) || n == 1) {
			landAll()
			sub := "s_sub_u32"
			if tg.Gen >= isa.GFX12 {
				sub = "s_sub_co_u32"
			}
			asm("%s s%d, s%d, 1", sub, instMask+2, instMask+2)
			asm("s_cmp_lg_u32 s%d, 0", instMask+2)
			at := len(p.code)
			asm("s_cbranch_scc1 0")
			binary.LittleEndian.PutUint16(p.code[at:], uint16((loop-at-4)/4))
			loop = -1
			if one(2) {
				loop = -2 // no more
			}
		}
	}
	landAll()
	asm("s_endpgm")
	fillSeed, mode := r.Uint64(), randomMode(r)
	p.fill = func(g *rig) { fillInsts(g, fillSeed, mode) }
	return p
}

// fillInsts fills the registers, each with numbers of its area.
func fillInsts(g *rig, seed uint64, mode uint32) {
	r := rand.New(rand.NewPCG(seed, 79))
	w := g.w
	for i := range isa.SRegVCCHi + 1 {
		w.S[i] = edge32(r, instArea(i%instInputs))
		if i < instInputs && instArea(i) == areaF64 && i&1 == 0 {
			w.S[i] = []uint32{0, 1, ^uint32(0), 1 << 31, r.Uint32(), 1 << 29, 1<<29 - 1}[r.IntN(7)]
		}
	}
	on := func() uint32 {
		if r.IntN(2) == 0 {
			return ^uint32(0)
		}
		return r.Uint32() | r.Uint32() | r.Uint32()
	}
	w.S[instMask], w.S[instMask+1] = on(), on()
	w.S[isa.SRegM0] = edge32(r, areaInt)
	w.S[isa.SRegSCC] = r.Uint32N(2)
	w.S[isa.SRegMODE] = mode
	w.SetEXEC(uint64(on()) | uint64(on())<<32)
	if w.Lanes == 32 {
		w.SetEXEC(w.EXEC() & (1<<32 - 1))
	}
	ties := r.IntN(4) == 0
	for n := range w.NVGPR {
		v := w.VGPR(n)
		area := instArea(n % instInputs)
		for l := range v {
			if v[l] = edge32(r, area); area == areaF32 && ties {
				// Of few bits and far apart: sums half-way between two numbers, but for a bit far below.
				v[l] = v[l]&(1<<31) | uint32(127-[]int{0, 0, -1, 12, 23, 24, 25, 48}[r.IntN(8)])<<23 | []uint32{0, 1, 1<<23 - 1, 1<<23 - 2, 1 << 22}[r.IntN(5)]
			}
			if area == areaF64 && n&1 == 0 {
				v[l] = []uint32{0, 1, ^uint32(0), 1 << 31, r.Uint32(), 1 << 29, 1<<29 - 1}[r.IntN(7)]
			}
		}
		if l := r.IntN(len(v)); r.IntN(3) == 0 { // some are the same in all lanes but one
			for i := range v {
				if i != l {
					v[i] = v[(l+1)%len(v)]
				}
			}
		}
	}
	for n := range w.NAcc {
		v := w.VGPR(256 + n)
		for l := range v {
			v[l] = edge32(r, areaF32)
		}
	}
	for i := range g.lds {
		g.lds[i] = byte(r.Uint32())
	}
}

// instsDiff runs the instructions of a seed on both engines.
func instsDiff(t testing.TB, seed uint64) []string { return instProgram(seed, nil).diff(t, seed) }

// TestInstructionForms makes instructions of every row of every target, all of which have valid IR, and logs which rows were never made.
func TestInstructionForms(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	bad := map[string]int{}
	for _, k := range instTargets {
		g := &instGen{r: rand.New(rand.NewPCG(1, 211)), t: isa.TargetByName(k.name).Wave(k.lanes), lanes: k.lanes}
		var never []string
		rows := instRows()[k.name]
		for i, op := range rows {
			if i > 0 && rows[i-1] == op {
				continue
			}
			made := 0
			for range rounds {
				if code, _ := g.inst(op); code != nil {
					made++
				}
			}
			if made == 0 {
				never = append(never, op.Name)
			}
		}
		t.Logf("%s, %d lanes: %d rows, never made: %s", k.name, k.lanes, len(rows), strings.Join(never, " "))
		if len(never) > len(rows)/20 {
			t.Errorf("%s: %d of %d rows cannot be made", k.name, len(never), len(rows))
		}
		for _, x := range g.bad {
			if name, _, _ := strings.Cut(x, " "); bad[name] == 0 {
				t.Errorf("%s: %s", k.name, x)
				bad[name]++
			}
		}
	}
}

// foundInsts are programs that once made a difference: target, MODE, text. Registers hold what fillInsts puts there.
var foundInsts = []struct {
	target string
	lanes  int
	mode   uint32
	text   string
}{
	// 1: reciprocals were flushed where they are denormal by vfpclass, which under DAZ knows no denormals: with denormals in flushed and out not
	{"gfx90a", 64, 0x3e0, "v_add_f32_e32 v48, v0, v1; v_rcp_f32_e32 v49, v2; v_rcp_iflag_f32_e32 v50, v3; v_rcp_f32_e32 v51, v4; v_exp_f32_e32 v52, v5"},
	// 2: in the copy of a loop for full EXEC, a write of 64 bits that left EXEC full was left out, and so its high half, which wave32 does not use
	{"gfx1030", 32, 0x3f0, "s_movk_i32 s38, 3; s_mov_b64 s[50:51], -2; s_not_b64 exec, -2.0; v_mov_b32_e32 v48, v1; s_sub_u32 s38, s38, 1; s_cmp_lg_u32 s38, 0; s_cbranch_scc1 65531; s_mov_b32 exec_lo, s36"},
}

// TestFoundInstructions runs programs that once made a difference on numbers of all kinds.
func TestFoundInstructions(t *testing.T) { onEach(t, testFoundInstructions) }

func testFoundInstructions(t *testing.T) {
	for n, x := range foundInsts {
		tg := isa.TargetByName(x.target).Wave(x.lanes)
		p := &straight{target: tg, lanes: x.lanes, nvgpr: instVGPRs}
		for _, line := range strings.Split(x.text+"; s_endpgm", "; ") {
			b, err := isa.Assemble(tg, line)
			if err != nil {
				t.Fatal(err)
			}
			p.code, p.text = append(p.code, b...), append(p.text, line)
		}
		for seed := range uint64(8) {
			p.fill = func(g *rig) { fillInsts(g, seed, x.mode) }
			if diff := p.diff(t, seed); len(diff) > 0 {
				t.Errorf("%d: seed %d:\n  %s", n+1, seed, strings.Join(diff, "\n  "))
				break
			}
		}
	}
}
