package isa

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// true16Walk makes words for every opcode of the vector ALU that has halves, n of each, without op_sel bits that mean nothing.
func true16Walk(tg *Target, n int, rnd *rand.Rand) (insts []Inst, code [][]byte) {
	for _, r := range walk(tg, n, rnd) {
		var in Inst
		for range 2 {
			var b []byte
			for _, w := range r {
				b = binary.LittleEndian.AppendUint32(b, w)
			}
			if Decode(tg, b, &in) != nil || in.DPP != NoDPP {
				in.Op = nil
				break
			}
			if in.Fmt != VOP3 || !in.Op.hasHalves() {
				continue
			}
			bits := in.Op.opSelBits()
			for i := range in.Src[:in.NSrc] {
				if in.Src[i].Kind != OperandVGPR { // LLVM 21 does not always write these
					bits &^= 1 << i
				}
			}
			r[0] &^= uint32(15&^bits) << 11
		}
		switch {
		case in.Op == nil, in.Op.attr.p&pHalf2 != 0 && in.Src[2].Kind != OperandVGPR, // (LLVM 21 spells constants there as 16-bit ones)
			in.Op.Name == "v_ldexp_f16" && (in.Neg|in.Abs)&2 != 0,                                        // LLVM 21 gives its exponent no sign,
			strings.HasPrefix(in.Op.Name, "v_cvt_pk_f32_") && (in.Clamp || in.Omod != 0 || in.OpSel > 1): // and these no other modifiers
			continue
		}
		plain, err := Assemble(tg, Disasm(&in, tg, 0)) // without bits that nobody looks at
		if err != nil || Decode(tg, plain, &in) != nil {
			continue // TestAssembleRoundTrip fails unless it has no spelling
		}
		switch in.Fmt {
		case VOP1, VOP2, VOPC:
			for i := range in.Src[:in.NSrc] {
				if in.Src[i].Hi && in.Src[i].Kind == OperandVGPR || in.Dst[0].Hi {
					insts, code = append(insts, in), append(code, plain)
					break
				}
			}
		case VOP3:
			if in.OpSel != 0 && (in.Op.hasHalves() || in.Op.attr.p&pOpSel != 0 && !strings.Contains(in.Op.Name, "permlane")) {
				insts, code = append(insts, in), append(code, plain)
			}
		}
	}
	return insts, code
}

// sameHalves assembles what LLVM 21 calls an instruction, with its halves (v1.l, v1.h), and compares with the instruction.
func sameHalves(t *testing.T, tg *Target, in *Inst, code []byte, text string) {
	t.Helper()
	back, err := Assemble(tg, text)
	var b Inst
	if err == nil {
		err = Decode(tg, back, &b)
	}
	if ours := Disasm(in, tg, 0); err != nil || Disasm(&b, tg, 0) != ours {
		t.Errorf("%s: %x is %q, which assembles to %x (%v); ours is %q", tg.Name, code, text, back, err, ours)
	}
}

// TestTrue16AgainstLLVM compares what we take for halves of registers with LLVM 21, the first that knows them in every instruction.
func TestTrue16AgainstLLVM(t *testing.T) {
	if mc(true) == nil {
		t.Skip("no LLVM 21 here (scripts/llvm-newer): TestTrue16 has a part of this")
	}
	record := os.Getenv("PUMICE_ISA_RECORD") // a file for one of each mnemonic: testdata/true16.txt
	var lines []string
	for i, name := range []string{"gfx1100", "gfx1151", "gfx1200", "gfx1201"} {
		tg := TargetByName(name)
		insts, code := true16Walk(tg, 16, rand.New(rand.NewPCG(uint64(i), 31)))
		n := 0
		seen := map[string]bool{}
		for k, a := range (oracle{name, "+real-true16", true}).ask(t, code) {
			in := &insts[k]
			if strings.Contains(a.text, "/*") || fault(tg, in, Disasm(in, tg, 0), a) != "" && !strings.Contains(a.text, ".") {
				continue
			}
			if n++; !a.exact {
				t.Errorf("%s: %x: LLVM %q, ours %q", name, code[k], a.text, Disasm(in, tg, 0))
				continue
			}
			sameHalves(t, tg, in, code[k], a.text)
			if key := in.Fmt.String() + in.Op.Name; record != "" && !seen[key] && (name == "gfx1100" || name == "gfx1200") {
				seen[key] = true
				lines = append(lines, name+" "+hex.EncodeToString(code[k])+" "+a.text)
			}
		}
		t.Logf("%s: %d instructions", name, n)
	}
	if record != "" {
		if err := os.WriteFile(record, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTrue16 does the same with recorded encodings, one of each instruction.
func TestTrue16(t *testing.T) {
	b, err := os.ReadFile("testdata/true16.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		w := strings.SplitN(line, " ", 3)
		tg := TargetByName(w[0])
		if strings.HasPrefix(line, "#") || len(w) < 3 || tg == nil {
			continue
		}
		code, err := hex.DecodeString(w[1])
		if err != nil {
			t.Fatal(err)
		}
		n++
		var in Inst
		if err := Decode(tg, code, &in); err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		sameHalves(t, tg, &in, code, w[2])
		if back, err := Assemble(tg, Disasm(&in, tg, 0)); err != nil || !bytes.Equal(back, code) {
			t.Errorf("%s: %q assembles to %x (%v)", line, Disasm(&in, tg, 0), back, err)
		}
	}
	if n < 300 {
		t.Errorf("only %d lines", n)
	}
}
