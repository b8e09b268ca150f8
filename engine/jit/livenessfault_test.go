//go:build linux && amd64

package jit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// Programs of instructions whose accesses find pages missing, again and again: the wave leaves in the middle of a block, and goes on there in the
// interpreter or in compiled code that has left out what nobody reads again (liveness.go). At the end all registers are as they are without.

const faultVGPRs = 12

// faultText is a random program for target, line by line. s[4:5] is the memory's address.
func faultText(seed uint64, target string) []string {
	r := rand.New(rand.NewPCG(seed, 101))
	wide := target[len("gfx")] == '9' // wave64
	var text []string
	add := func(f string, x ...any) { text = append(text, fmt.Sprintf(f, x...)) }
	v := func() int { return r.IntN(faultVGPRs) }
	pair := func() string { n := r.IntN(faultVGPRs - 1); return fmt.Sprintf("v[%d:%d]", n&^1, n&^1+1) }
	exec, b, vcc, nc := "exec_lo", "b32", "vcc_lo", "nc_"
	masks := func(n int) string { return fmt.Sprint("s", 12+n) }
	if wide {
		exec, b, vcc, nc = "exec", "b64", "vcc", ""
		masks = func(n int) string { return fmt.Sprintf("s[%d:%d]", 12+2*n, 13+2*n) }
	}
	add("s_mov_%s %s, %s", b, masks(0), exec)
	add("s_movk_i32 s8, %d", r.IntN(3))
	blocks := 1 + r.IntN(4)
	for i := range blocks {
		add("L%d:", i)
		for range 3 + r.IntN(25) {
			switch r.IntN(24) {
			case 0, 1, 2:
				add("v_add_%su32_e32 v%d, v%d, v%d", nc, v(), v(), v())
			case 3:
				add("v_mov_b32_e32 v%d, v%d", v(), v())
			case 4:
				add("v_mov_b32_e32 v%d, %d", v(), r.IntN(3))
			case 5:
				add("v_and_b32_e32 v%d, %d, v%d", v(), []int{0, 1, -1, 60}[r.IntN(4)], v())
			case 6:
				add("v_and_b32_e32 v%d, v%d, v%d", v(), v(), v())
			case 7:
				add("v_lshlrev_b64 %s, %d, %s", pair(), []int{0, 2, 32, 40}[r.IntN(4)], pair())
			case 8:
				add("v_lshrrev_b64 %s, %d, %s", pair(), []int{0, 2, 32, 40}[r.IntN(4)], pair())
			case 9:
				add("v_fma_f32 v%d, v%d, v%d, v%d", v(), v(), v(), v())
			case 10:
				add("v_mad_u64_u32 %s, %s, v%d, v%d, %s", pair(), vcc, v(), v(), pair())
			case 11:
				add("v_cmp_gt_u32_e32 %s, v%d, v%d", vcc, v(), v())
			case 12:
				add("v_cndmask_b32_e32 v%d, v%d, v%d, %s", v(), v(), v(), vcc)
			case 13:
				add("v_readlane_b32 s9, v%d, %d", v(), r.IntN(32))
			case 14:
				add("v_mov_b32_dpp v%d, v%d row_shr:%d row_mask:0xf bank_mask:0xf", v(), v(), 1+r.IntN(3))
			case 15:
				add("v_add_%su32_sdwa v%d, v%d, v%d dst_sel:WORD_%d dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:DWORD", nc, v(), v(), v(), r.IntN(2))
			case 16: // EXEC
				switch r.IntN(3) {
				case 0:
					add("s_mov_%s %s, %s", b, exec, masks(r.IntN(2)))
				case 1:
					add("s_mov_%s %s, %s", b, exec, vcc)
				default:
					add("s_and_saveexec_%s %s, %s", b, masks(1), vcc)
				}
			case 17:
				add("v_writelane_b32 v%d, s9, %d", v(), r.IntN(32))
			default:
				a := v()
				add("v_and_b32_e32 v%d, 0x7ffc, v%d", a, v())
				switch r.IntN(7) {
				case 0, 1, 2:
					add("global_load_dword v%d, v%d, s[4:5]", v(), a)
				case 3:
					add("global_load_dwordx2 %s, v%d, s[4:5]", pair(), a)
				case 4:
					add("global_load_short_d16_hi v%d, v%d, s[4:5]", v(), a)
				default:
					add("global_store_dword v%d, v%d, s[4:5]", a, v())
				}
				if r.IntN(2) == 0 {
					add("s_waitcnt vmcnt(0)")
				}
			}
		}
		switch r.IntN(4) {
		case 0: // a loop
			add("s_sub_i32 s8, s8, 1")
			add("s_cmp_gt_i32 s8, 0")
			add("s_cbranch_scc1 L%d", r.IntN(i+1))
		case 1:
			add("s_cbranch_vccz L%d", i+1+r.IntN(blocks-i))
		}
	}
	add("L%d:", blocks)
	add("s_endpgm")
	return text
}

// assembleLabels assembles lines with labels, whose branches have one word.
func assembleLabels(t testing.TB, tg *isa.Target, lines []string) []byte {
	var code []byte
	at := map[string]int{}
	type branch struct {
		at    int
		label string
	}
	var branches []branch
	for _, line := range lines {
		var name, label string
		if n := len(line); line[n-1] == ':' {
			at[line[:n-1]] = len(code)
			continue
		}
		if n, _ := fmt.Sscanf(line, "%s %s", &name, &label); n == 2 && label[0] == 'L' {
			branches = append(branches, branch{len(code), label})
			line = name + " 0"
		}
		b, err := isa.Assemble(tg, line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		code = append(code, b...)
	}
	for _, b := range branches {
		*(*uint16)(unsafe.Pointer(&code[b.at])) = uint16((at[b.label] - b.at - 4) / 4)
	}
	return code
}

// comesAndGoes is a space whose pages behind the code are there for a while.
type comesAndGoes struct {
	*flat
	open map[uint64]bool
}

func (m *comesAndGoes) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	if va >= m.va+mem.PageSize*4 && !m.open[va>>mem.PageShift] {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent}
	}
	p, n, r, f := m.flat.Translate(va, a)
	return p, min(n, mem.PageSize-va%mem.PageSize), r, f
}

// faultRun runs code with engines in turn, and tells how it ended and how often pages were missing. With one engine, all memory is there.
func faultRun(t testing.TB, seed uint64, tg *isa.Target, code []byte, engines ...engine.Engine) (g *rig, end string, faults int) {
	lanes := 64
	if tg.Gen != isa.GFX9 {
		lanes = 32
	}
	r := rand.New(rand.NewPCG(seed, 102))
	g = newRig(t, lanes, faultVGPRs)
	g.fill(seed, lanes)
	copy(g.space.b, code)
	w := g.w
	w.Target, w.PC = tg.Wave(lanes), g.space.va
	at := g.space.va + 4*mem.PageSize
	w.S[4], w.S[5] = uint32(at), uint32(at>>32)
	w.S[isa.SRegMODE] = 0x3f0
	m := &comesAndGoes{g.space, map[uint64]bool{}}
	if len(engines) > 1 {
		w.Space.Translator = m
	}
	workers := map[engine.Engine]engine.Worker{}
	close := func() {
		for e, k := range workers {
			k.Close()
			delete(workers, e)
		}
	}
	defer close()
	for range 10000 {
		e := engines[r.IntN(len(engines))]
		if workers[e] == nil {
			workers[e] = e.NewWorker()
		}
		w.Fuel = int64(r.IntN(100))
		if len(engines) == 1 {
			w.Fuel = 1 << 20
		}
		switch x := workers[e].Run(w); {
		case x == ir.ExitFuel:
			if r.IntN(2) == 0 { // who has done something may find pages gone
				close()
				clear(m.open)
			}
		case x == ir.ExitFault && w.Fault.Kind == mem.FaultNotPresent && len(engines) > 1 && !m.open[w.Fault.VA>>mem.PageShift]:
			if faults++; r.IntN(10) == 0 {
				close()
				clear(m.open)
			}
			m.open[w.Fault.VA>>mem.PageShift] = true
		case x == ir.ExitEndPgm:
			return g, x.String(), faults
		default:
			return g, fmt.Sprintf("%v at %#x: %s %+v", x, w.PC-g.space.va, w.Illegal, w.Fault), faults
		}
	}
	return g, "no end", faults
}

// faultDiff is what differs when pages are missing.
func faultDiff(t testing.TB, seed uint64) (diff []string, faults int) {
	needJIT(t)
	target := []string{"gfx90a", "gfx1030"}[seed%2]
	tg := isa.TargetByName(target)
	code := assembleLabels(t, tg, faultText(seed, target))
	j, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer j.mem.Close()
	j.lazy, j.allAtEnd = true, true
	a, end, _ := faultRun(t, seed, tg, code, interp.New())
	defer a.free()
	b, got, faults := faultRun(t, seed, tg, code, j, j, interp.New())
	defer b.free()
	d := func(f string, x ...any) {
		if len(diff) < 8 {
			diff = append(diff, fmt.Sprintf(f, x...))
		}
	}
	if end != got || end != ir.ExitEndPgm.String() {
		d("end: %s, want %s", got, end)
	}
	b.compare(a, true, d)
	return diff, faults
}

// TestLazyAcrossFaults: what compiled code has left out is not missed, wherever it leaves. (TestNightly makes more of these.)
func TestLazyAcrossFaults(t *testing.T) { onEach(t, testLazyAcrossFaults) }

func testLazyAcrossFaults(t *testing.T) {
	all := 0
	for seed := range uint64(120) {
		diff, faults := faultDiff(t, seed)
		all += faults
		if len(diff) > 0 {
			t.Fatalf("seed %d: %s", seed, strings.Join(diff, "; "))
		}
	}
	if all < 1000 {
		t.Errorf("memory was missing %d times only", all)
	}
}
