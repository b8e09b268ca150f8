package lift_test

import (
	"encoding/binary"
	"testing"
)

// TestAddTID has the global accesses whose address is the lane's number.
func TestAddTID(t *testing.T) {
	for _, c := range []struct{ cpu, load, store string }{{"gfx1030", "global_load_dword_addtid", "global_store_dword_addtid"},
		{"gfx1100", "global_load_addtid_b32", "global_store_addtid_b32"}, {"gfx1201", "global_load_addtid_b32", "global_store_addtid_b32"}} {
		m := newMachine(t, c.cpu, 32)
		at := m.a.base + dataAt
		m.w.S[2], m.w.S[3] = uint32(at), uint32(at>>32)
		for l := range 32 {
			binary.LittleEndian.PutUint32(m.a.b[dataAt+8+4*l:], uint32(100+l))
			m.w.VGPR(1)[l] = uint32(200 + l)
		}
		runText(t, m, c.cpu, c.load+" v0, s[2:3] offset:8")
		runText(t, m, c.cpu, c.store+" v1, s[2:3] offset:256")
		for l := range 32 {
			if got := m.w.VGPR(0)[l]; got != uint32(100+l) {
				t.Errorf("%s: lane %d loads %d", c.cpu, l, got)
			}
			if got := binary.LittleEndian.Uint32(m.a.b[dataAt+256+4*l:]); got != uint32(200+l) {
				t.Errorf("%s: lane %d stores %d", c.cpu, l, got)
			}
		}
	}
}

// TestLoadsToLDS has loads that go past the registers: a dword of each lane lies behind that of the lane before it; of three and four
// dwords, which gfx950 has, lanes lie 16 bytes apart.
func TestLoadsToLDS(t *testing.T) {
	for _, c := range []struct {
		cpu, text string
		n         int
	}{{"gfx942", "global_load_lds_dword v[2:3], off offset:16", 1}, {"gfx950", "global_load_lds_dwordx3 v[2:3], off offset:16", 3},
		{"gfx950", "global_load_lds_dwordx4 v[2:3], off offset:16", 4}, {"gfx942", "global_load_lds_ushort v[2:3], off offset:16", 0}} {
		m := newMachine(t, c.cpu, 64)
		m.w.S[124] = 0x100 // M0
		for i := range 1024 {
			binary.LittleEndian.PutUint32(m.a.b[dataAt+4*i:], uint32(i)*0x10001)
		}
		for l := range 64 { // lanes read backwards
			at := m.a.base + dataAt + uint64(63-l)*16
			m.w.VGPR(2)[l], m.w.VGPR(3)[l] = uint32(at), uint32(at>>32)
		}
		runText(t, m, c.cpu, c.text)
		stride := 16
		if c.n < 2 {
			stride = 4
		}
		for l := range 64 {
			for i := range max(c.n, 1) {
				want := uint32((63-l)*4+4+i) * 0x10001
				if c.n == 0 {
					want &= 0xffff
				}
				if got := binary.LittleEndian.Uint32(m.lds[0x100+16+stride*l+4*i:]); got != want {
					t.Fatalf("%s %s: lane %d dword %d is %#x, want %#x", c.cpu, c.text, l, i, got, want)
				}
			}
		}
	}
}
