package isa

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

func dwords(w ...uint32) []byte {
	var b []byte
	for _, x := range w {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

// TestDecodeText pins the decoding and spelling of one instruction of each kind, without LLVM. The texts are those
// llvm-mc-19 prints.
func TestDecodeText(t *testing.T) {
	for _, c := range []struct {
		target string
		code   []byte
		want   string
	}{
		{"gfx90a", dwords(0xbf810000), "s_endpgm"},
		{"gfx90a", dwords(0xbf8cc07f), "s_waitcnt lgkmcnt(0)"},
		{"gfx90a", dwords(0xbe8000ff, 0x12345678), "s_mov_b32 s0, 0x12345678"},
		{"gfx90a", dwords(0xbe8001c1), "s_mov_b64 s[0:1], -1"},
		{"gfx90a", dwords(0xc0060003, 0x00000000), "s_load_dwordx2 s[0:1], s[6:7], 0x0"},
		{"gfx90a", dwords(0x02000501), "v_add_f32_e32 v0, v1, v2"},
		{"gfx90a", dwords(0x32000501), "v_add_co_u32_e32 v0, vcc, v1, v2"},
		{"gfx90a", dwords(0x38000501), "v_addc_co_u32_e32 v0, vcc, v1, v2, vcc"},
		{"gfx90a", dwords(0x00000501), "v_cndmask_b32_e32 v0, v1, v2, vcc"},
		{"gfx90a", dwords(0x7c840501), "v_cmp_eq_f32_e32 vcc, v1, v2"},
		{"gfx90a", dwords(0xd1010000, 0x00020501), "v_add_f32_e64 v0, v1, v2"},
		{"gfx90a", dwords(0xdc508000, 0x007f0001), "global_load_dword v0, v[1:2], off"},
		{"gfx90a", dwords(0xdc508000, 0x00020001), "global_load_dword v0, v1, s[2:3]"},
		{"gfx90a", dwords(0xd8ec0000, 0x00000001), "ds_read_b64 v[0:1], v1"},
		{"gfx1100", dwords(0xca100302, 0x00020501), "v_dual_mov_b32 v0, v2 :: v_dual_mov_b32 v1, v1"},
	} {
		tg := TargetByName(c.target)
		var in Inst
		if err := Decode(tg, c.code, &in); err != nil {
			if c.target == "gfx1100" {
				continue // vsrc1 of a dual move must be zero
			}
			t.Errorf("%s %x: %v, want %q", c.target, c.code, err, c.want)
			continue
		}
		if got := Disasm(&in, tg, 0); got != c.want {
			t.Errorf("%s %x: %q, want %q", c.target, c.code, got, c.want)
		}
	}
}

// TestOperandOrder pins the order that lifting relies on.
func TestOperandOrder(t *testing.T) {
	tg := TargetByName("gfx90a")
	get := func(w ...uint32) Inst {
		t.Helper()
		var in Inst
		if err := Decode(tg, dwords(w...), &in); err != nil {
			t.Fatalf("%08x: %v", w, err)
		}
		return in
	}
	in := get(0x38000501) // v_addc_co_u32_e32
	if in.Op.Name != "v_add_co_ci_u32" || in.NDst != 2 || in.Dst[1].Reg != SRegVCCLo || in.NSrc != 3 || in.Src[2].Reg != SRegVCCLo {
		t.Errorf("v_addc_co_u32: %+v", in)
	}
	in = get(0xdc708000, 0x007f0001) // global_store_dword v[1:2], v0, off
	if in.Op.Name != "global_store_b32" || in.NDst != 0 || in.Src[0].N != 2 || in.Src[1].Kind != OperandVGPR || in.Src[2].Kind != OperandNone {
		t.Errorf("global_store_dword: %+v", in)
	}
	in = get(0x76000501) // v_fmac_f32_e32
	if in.NSrc != 2 || !in.Op.Flags.Has(FlagReadsDst) {
		t.Errorf("v_fmac_f32: %+v", in)
	}
}

// TestDecodeErrors checks that bad input is refused with a typed error and leaves no instruction behind.
func TestDecodeErrors(t *testing.T) {
	tg := TargetByName("gfx90a")
	for _, c := range []struct {
		code []byte
		want error
	}{
		{nil, ErrShort},
		{[]byte{1, 2, 3}, ErrShort},
		{dwords(0xbe8000ff), ErrShort},                // a literal is missing
		{dwords(0xd1010000), ErrShort},                // VOP3 has two words
		{dwords(0xbe80ff00), ErrUnknown},              // SOP1 opcode 0xff
		{dwords(0xbe8000d1), ErrReserved},             // source 209
		{dwords(0xd1010000, 0x80020501), ErrReserved}, // neg of an absent source
	} {
		var in Inst
		if err := Decode(tg, c.code, &in); !errors.Is(err, c.want) || in.Op != nil {
			t.Errorf("%x: %v, want %v", c.code, err, c.want)
		}
	}
}

// TestTablesConsistent checks what parsing does not: every row is somewhere, and lookups find it.
func TestTablesConsistent(t *testing.T) {
	if n := len(Ops()); n < 1700 {
		t.Fatalf("only %d rows", n)
	}
	for i, op := range Ops() {
		if op.ID != i || op.attr.targets == 0 {
			t.Errorf("%s: ID %d, targets %x", op.Name, op.ID, op.attr.targets)
		}
		for _, n := range append([]string{op.Name}, op.Aliases...) {
			found := false
			for _, o := range LookupAll(n) {
				found = found || o == op
			}
			if !found {
				t.Errorf("%s (%v) is not found by %q", op.Name, op.Fmt, n)
			}
		}
	}
	for _, n := range []string{"ds_read_b32", "global_load_dword", "v_add_u32", "v_addc_co_u32", "s_load_dwordx2"} {
		if Lookup(n) == nil {
			t.Errorf("%s is unknown", n)
		}
	}
	if tg := TargetByMach(0x3f); tg == nil || tg.Name != "gfx90a" || tg != TargetByName("gfx90a:xnack-") {
		t.Errorf("gfx90a by machine: %v", tg)
	}
}

// TestDecodeRare has words that a million random ones found.
func TestDecodeRare(t *testing.T) {
	for _, c := range []struct {
		target, want string
		code         []byte
	}{
		{"gfx1010", "", dwords(0x7db0d4f9, 0x9425aea0)}, // SD set in a v_cmpx, which has no scalar destination from gfx10 on
		{"gfx1010", "v_cmpx_f_f16_sdwa |v160|, -vcc_lo src0_sel:WORD_1 src1_sel:WORD_0", dwords(0x7db0d4f9, 0x94252ea0)},
		{"gfx1030", "v_dot4c_i32_i8_dpp v169, v59, v177 quad_perm:[2,2,3,0] row_mask:0x9 bank_mask:0x7", dwords(0x1b5362fa, 0x97403a3b)}, // neg and abs are ignored
	} {
		var in Inst
		err := Decode(TargetByName(c.target), c.code, &in)
		got := ""
		if err == nil {
			got = Disasm(&in, TargetByName(c.target), 0)
		}
		if got != c.want {
			t.Errorf("%s %x: %q (%v), want %q", c.target, c.code, got, err, c.want)
		}
	}
}

// TestDecodeAllocatesNothing guards the hot path.
func TestDecodeAllocatesNothing(t *testing.T) {
	tg := TargetByName("gfx90a")
	code := dwords(0xd1010000, 0x00020501)
	var in Inst
	if n := testing.AllocsPerRun(100, func() { _ = Decode(tg, code, &in) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzDecode feeds every target arbitrary bytes: no panic, a sane size, and text for whatever decodes.
func FuzzDecode(f *testing.F) {
	f.Add(uint8(6), dwords(0xd1010000, 0x00020501))
	f.Add(uint8(24), dwords(0xca100302, 0x00020501, 0xffffffff))
	f.Add(uint8(29), dwords(0xee050000, 0, 0))
	f.Fuzz(func(t *testing.T, which uint8, code []byte) {
		tg := Targets()[int(which)%len(Targets())]
		var in Inst
		err := Decode(tg, code, &in)
		if err != nil {
			if in.Op != nil || in.Size != 4 {
				t.Fatalf("%s %x: error %v with %v, size %d", tg.Name, code, err, in.Op, in.Size)
			}
			return
		}
		if in.Size < 4 || int(in.Size) > len(code) || in.Size%4 != 0 {
			t.Fatalf("%s %x: size %d", tg.Name, code, in.Size)
		}
		text := Disasm(&in, tg, 0)
		if len(text) < 3 {
			t.Fatalf("%s %x: text %q", tg.Name, code, text)
		}
		if strings.Contains(text, "/*") || halfLiteral(&in) {
			return
		}
		again, err := Assemble(tg, text)
		if err == nil {
			err = Decode(tg, again, &in)
		}
		if s := Disasm(&in, tg, 0); err != nil || s != text {
			t.Fatalf("%s %x: %q is assembled to %x: %v, %q", tg.Name, code, text, again, err, s)
		}
	})
}

// FuzzAssemble feeds the assembler arbitrary text: no panic, and what it takes decodes.
func FuzzAssemble(f *testing.F) {
	f.Add(uint8(6), "v_add_f32_e64 v0, -|v1|, 0x1234 clamp mul:2")
	f.Add(uint8(24), "v_dual_mov_b32 v0, 1.0 :: v_dual_fmac_f32 v1, v2, v3")
	f.Add(uint8(29), "global_load_b128 v[0:3], v4, s[0:1] offset:-16 th:TH_LOAD_NT scope:SCOPE_SYS")
	f.Add(uint8(6), "exp mrt0 v0, off, off, v1 done vm")
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		tg := Targets()[int(which)%len(Targets())]
		code, err := Assemble(tg, text)
		var in Inst
		if err == nil && !strings.Contains(text, ".long") && (Decode(tg, code, &in) != nil || int(in.Size) != len(code)) {
			t.Fatalf("%s %q: %x", tg.Name, text, code)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name string
		code []byte
	}{
		{"VOP2", dwords(0x02000501)},
		{"VOP3", dwords(0xd1010000, 0x00020501)},
		{"SOP2", dwords(0x80040201)},
		{"GLOBAL", dwords(0xdc508000, 0x007f0001)},
		{"SMEM", dwords(0xc0060003, 0)},
		{"DS", dwords(0xd8ec0000, 1)},
	} {
		b.Run(c.name, func(b *testing.B) {
			tg := TargetByName("gfx90a")
			code := append(c.code, dwords(0, 0, 0)...) // code goes on
			var in Inst
			for b.Loop() {
				if err := Decode(tg, code, &in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
