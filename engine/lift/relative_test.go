package lift_test

import (
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
)

// TestIndexAfterFault: an index reaches a register that only code before a faulting load names, also when the wave goes on at that load.
func TestIndexAfterFault(t *testing.T) {
	for _, c := range []struct{ cpu, before, after string }{
		{"gfx1030", "", "s_mov_b32 m0, 3\nv_movrels_b32 v1, v2"},
		{"gfx90a", "", "s_set_gpr_idx_on s0, gpr_idx(SRC0)\nv_mov_b32 v1, v2\ns_set_gpr_idx_off"},
		{"gfx90a", "s_set_gpr_idx_on s0, gpr_idx(SRC0)", "v_mov_b32 v1, v2\ns_set_gpr_idx_off"}, // the fault comes in the mode
	} {
		lanes := 64
		if c.cpu == "gfx1030" {
			lanes = 32
		}
		m := newMachine(t, c.cpu, lanes)
		m.w.S[isa.SRegEXECLo], m.w.S[isa.SRegEXECHi] = 1, 0
		m.w.S[0] = 3
		m.w.VGPR(5)[0] = 5
		m.w.VGPR(0)[0] = 8
		m.w.VGPR(1)[0] = 0 // v[0:1]: no memory
		e := m.run(lift.Assemble(t, c.cpu, "v_mov_b32 v5, 0x77\n"+c.before+"\nglobal_load_dword v0, v[0:1], off\ns_waitcnt vmcnt(0)\n"+c.after+"\ns_endpgm\n"))
		if e != ir.ExitFault {
			t.Fatalf("%s: %v, not a fault", c.cpu, e)
		}
		at := m.a.base + dataAt
		m.w.VGPR(0)[0] = uint32(at)
		m.w.VGPR(1)[0] = uint32(at >> 32)
		if e := m.worker.Run(m.w); e != ir.ExitEndPgm {
			t.Fatalf("%s: %v", c.cpu, e)
		}
		if got := m.w.VGPR(1)[0]; got != 0x77 {
			t.Errorf("%s: %q: v1 = %#x, not v5's 0x77", c.cpu, c.after, got)
		}
	}
}
