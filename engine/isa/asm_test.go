package isa

import (
	"encoding/binary"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
)

// roundTrip assembles the disassembly of words that decode. Two spellings of one instruction (a literal that is also an inline
// constant, bits that nobody looks at) come back as the shorter or the plainer: so the text must come back the same, and words
// that were assembled must come back bit for bit.
func roundTrip(t *testing.T, tg *Target, recs [][4]uint32) {
	t.Helper()
	bad, n := map[string]int{}, 0
	for _, r := range recs {
		var code []byte
		for _, w := range r {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
		var in Inst
		if Decode(tg, code, &in) != nil {
			continue
		}
		n++
		text := Disasm(&in, tg, 0)
		if strings.Contains(text, "/*") { // reserved delays have no spelling
			continue
		}
		if halfLiteral(&in) {
			continue
		}
		fail := func(format string, args ...any) {
			if bad[in.Fmt.String()]++; bad[in.Fmt.String()] <= 3 {
				t.Errorf("%s: %08x: %s: "+format, append([]any{tg.Name, r[:in.Size/4], text}, args...)...)
			}
		}
		got, err := Assemble(tg, text)
		if err != nil {
			fail("%v", err)
			continue
		}
		var back Inst
		if err := Decode(tg, got, &back); err != nil {
			fail("%x does not decode: %v", got, err)
			continue
		}
		if s := Disasm(&back, tg, 0); s != text {
			fail("%08x is %s", back.Raw[:back.Size/4], s)
			continue
		}
		again, err := Assemble(tg, Disasm(&back, tg, 0))
		if err != nil || string(again) != string(got) {
			fail("%x, then %x", got, again)
		}
	}
	var kinds []string
	for k, n := range bad {
		if n > 3 {
			kinds = append(kinds, k)
		}
	}
	sort.Strings(kinds)
	for _, k := range kinds {
		t.Errorf("%s: %d failures of %s", tg.Name, bad[k], k)
	}
	t.Logf("%s: %d instructions", tg.Name, n)
}

// halfLiteral says whether the text of an instruction shows half of its literal, for a 16-bit operand.
func halfLiteral(in *Inst) bool {
	for i := range in.Src[:in.NSrc] {
		if o := &in.Src[i]; o.Kind == OperandLiteral && !o.Hi && is16(o.Type) && o.Value > 0xffff {
			return true
		}
	}
	return false
}

// TestAssembleRoundTrip takes every opcode of every target apart and puts it together again.
func TestAssembleRoundTrip(t *testing.T) {
	for i, name := range testTargets {
		t.Run(name, func(t *testing.T) {
			tg := TargetByName(name)
			rnd := rand.New(rand.NewPCG(uint64(i), 21))
			recs := walk(tg, 1, rnd)
			for range wordsAsked(2000) {
				recs = append(recs, [4]uint32{rnd.Uint32(), rnd.Uint32(), rnd.Uint32(), rnd.Uint32()})
			}
			roundTrip(t, tg, recs)
			if tg.wave64 != nil {
				roundTrip(t, tg.wave64, walk(tg.wave64, 1, rnd))
			}
		})
	}
}
