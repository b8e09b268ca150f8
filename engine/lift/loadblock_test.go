package lift_test

import (
	"encoding/binary"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// TestLoadTranspose compares global_load_tr_* with what others have measured on a gfx1201.
//
// 16-bit elements, each distinct, lane L at element 8*L of a row-major 16x16 matrix B: lane L got B[L/8*4+j/2][L%8+8*(j%2)].
// 8-bit elements, lane L at byte 8*L: lane L got, in slot s, the byte (L&7) + (L>>3&1)*32 + (L>>4)*128 + (s&3)*8 + (s>>2)*64.
// Also 8-bit: a matrix stored with 16 bytes a row, lane L at row L/8*4 + L%4, column 8 when L&4 is set: lane L got column L%16 of
// rows L/16*8 and on, which is the fragment of a WMMA.
func TestLoadTranspose(t *testing.T) {
	tg := isa.TargetByName("gfx1201").Wave(32)
	assemble := func(text string) []byte {
		code, err := isa.Assemble(tg, text)
		if err != nil {
			t.Fatal(err)
		}
		end, _ := isa.Assemble(tg, "s_endpgm")
		return append(code, end...)
	}
	run := func(text string, address func(lane int) uint64) *machine {
		m := newMachine(t, "gfx1201", 32)
		for i := range 256 {
			binary.LittleEndian.PutUint16(m.a.b[dataAt+2*i:], uint16(i*257+3))
		}
		if text[len("global_load_tr_b")] == '6' {
			for i := range 256 {
				m.a.b[dataAt+i] = byte(i)
			}
		}
		for l := range 32 {
			va := m.a.base + dataAt + address(l)
			m.w.VGPR(8)[l], m.w.VGPR(9)[l] = uint32(va), uint32(va>>32)
		}
		if x := m.run(assemble(text)); x != ir.ExitEndPgm {
			t.Fatalf("%s: %v %s", text, x, m.w.Illegal)
		}
		return m
	}
	m := run("global_load_tr_b128 v[0:3], v[8:9], off", func(l int) uint64 { return uint64(l) * 16 })
	for l := range 32 {
		for j := range 8 {
			want := uint16(((l/8*4+j/2)*16+l%8+8*(j%2))*257 + 3)
			if got := uint16(m.w.VGPR(j / 2)[l] >> (16 * (j % 2))); got != want {
				t.Errorf("b128: lane %d element %d is %#x, want %#x", l, j, got, want)
			}
		}
	}
	m = run("global_load_tr_b64 v[0:1], v[8:9], off", func(l int) uint64 { return uint64(l) * 8 })
	for l := range 32 {
		for s := range 8 {
			want := byte(l&7 + l>>3&1*32 + l>>4*128 + s&3*8 + s>>2*64)
			if got := byte(m.w.VGPR(s / 4)[l] >> (8 * (s % 4))); got != want {
				t.Errorf("b64: lane %d slot %d is %#x, want %#x", l, s, got, want)
			}
		}
	}
	m = run("global_load_tr_b64 v[0:1], v[8:9], off", func(l int) uint64 { return uint64(l/8*4+l%4)*16 + uint64(l&4)*2 })
	for l := range 32 {
		for j := range 8 {
			want := byte((l/16*8+j)*16 + l%16)
			if got := byte(m.w.VGPR(j / 4)[l] >> (8 * (j % 4))); got != want {
				t.Errorf("b64 fragment: lane %d element %d is %#x, want %#x", l, j, got, want)
			}
		}
	}
	m = newMachine(t, "gfx1200", 64)
	tg = isa.TargetByName("gfx1200").Wave(64)
	if x := m.run(assemble("global_load_tr_b128 v[0:1], v[8:9], off")); x != ir.ExitIllegal {
		t.Errorf("wave64: %v", x)
	}
}
