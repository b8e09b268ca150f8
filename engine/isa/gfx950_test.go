package isa

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// TestGFX950 decodes and assembles recorded encodings of what gfx950 added: Debian 12's LLVM, which judges the other targets, does not
// know it (scripts/llvm-newer fetches one that does).
func TestGFX950(t *testing.T) {
	tg := TargetByName("gfx950")
	b, err := os.ReadFile("testdata/gfx950.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		h, text, _ := strings.Cut(line, " ")
		code, err := hex.DecodeString(h)
		if err != nil {
			t.Fatal(err)
		}
		n++
		var in Inst
		if err := Decode(tg, code, &in); err != nil {
			t.Errorf("%x: %v, want %q", code, err, text)
			continue
		}
		if got := Disasm(&in, tg, 0); got != text || int(in.Size) != len(code) {
			t.Errorf("%x: %q (%d bytes), want %q", code, got, in.Size, text)
		}
		if back, err := Assemble(tg, text); err != nil || !bytes.Equal(back, code) {
			t.Errorf("%q: %x (%v), want %x", text, back, err, code)
		}
	}
	if n < 100 {
		t.Errorf("only %d lines", n)
	}
	var in Inst // what gfx950 no longer has
	for _, text := range []string{"v_mfma_f32_16x16x8_xf32 v[0:3], v[0:1], v[2:3], v[4:7]", "buffer_wbinvl1"} {
		if code, err := Assemble(tg, text); err == nil {
			t.Errorf("%q: %x", text, code)
		}
		if code, err := Assemble(TargetByName("gfx942"), text); err != nil || Decode(tg, code, &in) == nil {
			t.Errorf("%q: %v, %v", text, code, err)
		}
	}
}
