package lift_test

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// dppSource is the lane that lane l of n takes its first operand from, -1 when there is none; the lanes come in rows of 16 (Vega and
// RDNA manuals, "DPP").
func dppSource(ctrl string, k int, quad [4]int, l, n int) int {
	row, in := l&^15, l&15
	within := func(i int) int {
		if i < 0 || i > 15 {
			return -1
		}
		return row + i
	}
	switch ctrl {
	case "quad_perm":
		return l&^3 + quad[l&3]
	case "row_shl":
		return within(in + k)
	case "row_shr":
		return within(in - k)
	case "row_ror":
		return row + (in-k+16)%16
	case "row_mirror":
		return row + 15 - in
	case "row_half_mirror":
		return row + in&8 + 7 - in&7
	case "wave_shl":
		if l+1 == n {
			return -1
		}
		return l + 1
	case "wave_shr":
		return l - 1
	case "wave_rol":
		return (l + 1) % n
	case "wave_ror":
		return (l + n - 1) % n
	case "row_bcast:15":
		return row - 1
	case "row_bcast:31":
		if l < 32 {
			return -1
		}
		return 31
	case "row_newbcast", "row_share":
		return row + k
	case "row_xmask":
		return row + in ^ k
	}
	panic(ctrl)
}

// TestDPPReferences runs every DPP16 control with random masks, EXEC, bound_ctrl and fi.
func TestDPPReferences(t *testing.T) {
	r := rand.New(rand.NewSource(37))
	n := 0
	common := []string{"quad_perm", "row_shl", "row_shr", "row_ror", "row_mirror", "row_half_mirror"}
	for _, c := range []struct {
		cpu   string
		lanes int
		more  []string
	}{
		{"gfx900", 64, []string{"wave_shl", "wave_shr", "wave_rol", "wave_ror", "row_bcast:15", "row_bcast:31"}},
		{"gfx90a", 64, []string{"wave_shl", "row_bcast:15", "row_bcast:31", "row_newbcast"}},
		{"gfx1030", 32, []string{"row_share", "row_xmask"}}, {"gfx1100", 64, []string{"row_share", "row_xmask"}}, {"gfx1200", 32, []string{"row_share", "row_xmask"}},
	} {
		tg := isa.TargetByName(c.cpu).Wave(c.lanes)
		m := newMachine(t, c.cpu, c.lanes)
		end, _ := isa.Assemble(tg, "s_endpgm")
		for _, ctrl := range append(append([]string(nil), common...), c.more...) {
			for range 12 {
				k := 1 + r.Intn(15)
				quad := [4]int{r.Intn(4), r.Intn(4), r.Intn(4), r.Intn(4)}
				text := ctrl
				switch ctrl {
				case "quad_perm":
					text = fmt.Sprintf("quad_perm:[%d,%d,%d,%d]", quad[0], quad[1], quad[2], quad[3])
				case "row_shl", "row_shr", "row_ror", "row_newbcast", "row_share", "row_xmask":
					text = fmt.Sprintf("%s:%d", ctrl, k)
				case "wave_shl", "wave_shr", "wave_rol", "wave_ror":
					text = ctrl + ":1"
				}
				rows, banks := 15, 15
				if r.Intn(2) == 0 {
					rows, banks = r.Intn(16), r.Intn(16)
				}
				text += fmt.Sprintf(" row_mask:%#x bank_mask:%#x", rows, banks)
				bound, fi := r.Intn(2) == 0, c.cpu[3] == '1' && r.Intn(2) == 0
				if bound {
					text += " bound_ctrl:1"
				}
				if fi {
					text += " fi:1"
				}
				move := r.Intn(2) == 0
				asm := "v_mov_b32_dpp v0, v1 " + text
				if !move {
					asm = "v_xor_b32_dpp v0, v1, v2 " + text
				}
				code, err := isa.Assemble(tg, asm)
				if err != nil {
					t.Fatalf("%s: %s: %v", c.cpu, asm, err)
				}
				exec := r.Uint64()
				if r.Intn(3) == 0 {
					exec = ^uint64(0)
				}
				exec &= ^uint64(0) >> (64 - c.lanes)
				var a, b, old [64]uint32
				for l := range c.lanes {
					a[l], b[l], old[l] = r.Uint32(), r.Uint32(), r.Uint32()
					m.w.VGPR(0)[l], m.w.VGPR(1)[l], m.w.VGPR(2)[l] = old[l], a[l], b[l]
				}
				m.w.SetEXEC(exec)
				if x := m.run(append(code, end...)); x != ir.ExitEndPgm {
					t.Fatalf("%s: %s: %v %s", c.cpu, asm, x, m.w.Illegal)
				}
				for l := range c.lanes {
					n++
					want := old[l]
					from := dppSource(ctrl, k, quad, l, c.lanes)
					if from >= 0 && exec>>from&1 == 0 && !fi {
						from = -1
					}
					if exec>>l&1 != 0 && rows>>(l/16&3)&1 != 0 && banks>>(l/4&3)&1 != 0 && (from >= 0 || bound) {
						want = 0
						if from >= 0 {
							want = a[from]
						}
						if !move {
							want ^= b[l]
						}
					}
					if got := m.w.VGPR(0)[l]; got != want {
						t.Fatalf("%s: %s: lane %d of EXEC %#x is %#x, want %#x", c.cpu, asm, l, exec, got, want)
					}
				}
			}
		}
	}
	t.Logf("%d lanes", n)
}
