package lift

import (
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// sinkCases are code with a barrier, and the instruction (by number) before which the wave stops at it.
var sinkCases = []struct {
	name, cpu, text string
	stop            int
}{
	{"arithmetic and a branch", "gfx90a", `
		s_barrier
		s_waitcnt lgkmcnt(0)
		v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[0:1]
		v_fmac_f32 v6, v2, v4
		v_mul_f32 v7, v6, v0
		v_add_f32 v8, v7, v7
		s_cbranch_scc1 0
		s_endpgm`, 6},
	{"two at a time", "gfx1100", `
		s_barrier
		v_dual_fmac_f32 v0, v1, v2 :: v_dual_fmac_f32 v3, v4, v5
		v_fma_f32 v6, v0, v1, v2
		s_delay_alu 0
		v_dual_mul_f32 v0, v1, v2 :: v_dual_add_f32 v3, v4, v5
		v_sub_f32 v6, v0, v1
		s_endpgm`, 6},
	{"too few", "gfx90a", `
		s_barrier
		v_fmac_f32 v6, v2, v4
		v_mul_f32 v7, v6, v0
		v_add_f32 v8, v7, v7
		s_endpgm`, 1},
	{"a load among them", "gfx90a", `
		s_barrier
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		ds_read_b32 v3, v6
		s_endpgm`, 1},
	{"an operand in the LDS", "gfx90a", `
		s_barrier
		v_mul_f32 v6, src_lds_direct, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		s_endpgm`, 1},
	{"a move of the other half", "gfx1100", `
		s_barrier
		v_dual_fmac_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		s_endpgm`, 1},
	{"a loop behind it", "gfx90a", `
		s_barrier
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		s_cbranch_scc1 -4
		s_endpgm`, 1},
	{"a branch into them", "gfx90a", `
		s_cbranch_scc0 2
		s_barrier
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		s_endpgm`, 3},
	{"a branch to the first", "gfx90a", `
		s_cbranch_scc0 1
		s_barrier
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		s_endpgm`, 2},
	{"one that is none", "gfx90a", `
		s_barrier
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		v_fmac_f32 v6, v2, v4
		.long 0xffffffff`, 1},
}

// A barrier sinks below arithmetic that nothing but control flow follows.
func TestBarrierSinks(t *testing.T) {
	for _, c := range sinkCases {
		lanes := 64
		if c.cpu == "gfx1100" {
			lanes = 32
		}
		lines := strings.Split(strings.TrimSpace(c.text), "\n")
		target := isa.TargetByName(c.cpu)
		code := assembleLines(t, target, lines)
		size := func(n int) uint32 { return uint32(len(assembleLines(t, target, lines[:n]))) }
		f, err := Func(bytesAt{0x1000, code}, target, 0x1000, hipMode, lanes)
		if err != nil {
			t.Fatal(err)
		}
		insts, found := 0, false
		for _, b := range f.Blocks {
			insts += b.Insts
			if b.Term.Kind != ir.TermExit || b.Term.Exit != ir.ExitBarrier {
				continue
			}
			if want := size(c.stop); b.Term.Next != want {
				t.Errorf("%s: the wave stops at %#x, not %#x", c.name, b.Term.Next, want)
			}
			for i, l := range lines {
				if strings.Contains(l, "s_barrier") && b.Term.PC != size(i) {
					t.Errorf("%s: the barrier is at %#x", c.name, b.Term.PC)
				}
			}
			for _, x := range f.Blocks {
				if x.PC == b.Term.Next {
					found = true
				}
			}
		}
		if !found {
			t.Errorf("%s: no block begins where the wave stops", c.name)
		}
		if want := len(lines); insts != want && c.name != "one that is none" {
			t.Errorf("%s: %d instructions, not %d", c.name, insts, want)
		}
	}
}

func assembleLines(t *testing.T, target *isa.Target, lines []string) (code []byte) {
	t.Helper()
	for _, l := range lines {
		b, err := isa.Assemble(target, strings.TrimSpace(l))
		if err != nil {
			t.Fatal(err)
		}
		code = append(code, b...)
	}
	return code
}
