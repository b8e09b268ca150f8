package lift_test

import (
	"encoding/binary"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// TestTrue16 runs 16-bit instructions in the 64-bit form with op_sel. LLVM 19 has no spelling for the halves of these; LLVM 21's code for
// gfx1100 (rocRAND 6.4) has them everywhere.
func TestTrue16(t *testing.T) {
	const (
		v1, v2 = 0x40003c00, 0x40003800 // halves 1.0 and 2.0, 0.5 and 2.0
		d      = 0x11112222             // what the destination holds before
	)
	for _, c := range []struct {
		asm  string
		code [2]uint32
		want uint32
	}{
		{"v_and_b16 v4.h, v1.l, v2.h", [2]uint32{0xd7625004, 0x00020501}, 0x00002222},
		{"v_or_b16 v4.h, v1.l, v2.h", [2]uint32{0xd7635004, 0x00020501}, 0x7c002222},
		{"v_cndmask_b16 v4.h, v1.l, v2.h, s0", [2]uint32{0xd65d5004, 0x00020501}, 0x40002222},
		{"v_cndmask_b16 v4.l, v1.h, v2.l, s0", [2]uint32{0xd65d0804, 0x00020501}, 0x11113800},
		{"v_lshlrev_b16 v4.l, 1, v2.h", [2]uint32{0xd7381004, 0x00020481}, 0x11118000},
		{"v_add_f16 v4.h, v1.h, v2.l", [2]uint32{0xd5324804, 0x00020501}, 0x41002222},
		{"v_cvt_f32_f16 v4, v2.h", [2]uint32{0xd58b0804, 0x00000102}, 0x40000000},
	} {
		for _, cpu := range []string{"gfx1100", "gfx1200"} {
			m := newMachine(t, cpu, 32)
			m.w.SetEXEC(1)
			m.w.S[0] = 1
			m.w.VGPR(1)[0], m.w.VGPR(2)[0], m.w.VGPR(4)[0] = v1, v2, d
			var code []byte
			for _, w := range []uint32{c.code[0], c.code[1], 0xbfb00000} { // s_endpgm
				code = binary.LittleEndian.AppendUint32(code, w)
			}
			if x := m.run(code); x != ir.ExitEndPgm {
				t.Fatalf("%s: %v %s", c.asm, x, m.w.Illegal)
			}
			if got := m.w.VGPR(4)[0]; got != c.want {
				t.Errorf("%s: %s: %#08x, want %#08x", cpu, c.asm, got, c.want)
			}
		}
	}
}
