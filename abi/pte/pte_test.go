package pte

import (
	"testing"

	"pgregory.net/rapid"
)

var gens = []Gen{GFX9, GFX10, GFX11, GFX12}

// held is what a generation has a bit for.
func held(g Gen) Flags {
	all := Flags(1<<len(flagNames) - 1)
	switch g {
	case GFX9:
		return all &^ (NoAlloc | BusAtomics | DCC)
	case GFX10, GFX11:
		return all &^ (BusAtomics | DCC)
	}
	return all &^ (NoAlloc | Log | TF)
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom(gens).Draw(t, "gen")
		e := Entry{
			Addr:  rapid.Uint64Range(0, 1<<36-1).Draw(t, "pfn") << PageShift,
			Flags: Flags(rapid.Uint32Range(0, 1<<len(flagNames)-1).Draw(t, "flags")),
			MType: MType(rapid.IntRange(0, 3).Draw(t, "mtype")),
			Frag:  uint8(rapid.IntRange(0, 31).Draw(t, "frag")),
		}
		want := e
		want.Flags &= held(g)
		if g == GFX10 || g == GFX11 || g == GFX9 {
			if got := g.DecodePTE(g.EncodePTE(e)); got != want {
				t.Fatalf("%s: %s became %s", g, e, got)
			}
		} else {
			if want.Flags&(Valid|PRT) != 0 {
				want.Flags |= IsPTE
			}
			if got := g.DecodePTE(g.EncodePTE(e)); got != want {
				t.Fatalf("%s: %s became %s", g, e, got)
			}
		}
		d := e
		d.Addr |= rapid.Uint64Range(0, 63).Draw(t, "table") << 6
		d.Flags &= pdeFlags & held(g)
		d.MType = 0
		if got := g.DecodePDE(g.EncodePDE(d)); got != d {
			t.Fatalf("%s: PDE %s became %s", g, d, got)
		}
	})
}

// Values composed by hand from the bit tables of amdgpu_vm.h.
func TestKnownBits(t *testing.T) {
	for _, c := range []struct {
		g    Gen
		e    Entry
		want uint64
	}{
		{GFX9, Entry{0x1234000, Valid | Read | Write | Exec, UC, 9}, 3<<57 | 0x1234000 | 9<<7 | 0x71},
		{GFX9, Entry{0x200000, Valid | System | Snooped | Read | IsPTE, CC, 0}, 2<<57 | 1<<54 | 0x200000 | 0x27},
		{GFX9, Entry{0, PRT, NC, 0}, 1 << 51},
		{GFX10, Entry{0x5000, Valid | Read, UC, 1}, 3<<48 | 0x5000 | 1<<7 | 0x21},
		{GFX11, Entry{0x5000, Valid | NoAlloc, CC, 0}, 1<<58 | 2<<48 | 0x5000 | 1},
		{GFX12, Entry{0x5000, Valid | System, UC, 0}, 1<<63 | 3<<54 | 0x5000 | 3},
		{GFX12, Entry{0, PRT | Snooped | System, NC, 0}, 1<<63 | 1<<56 | 6},
	} {
		if got := c.g.EncodePTE(c.e); got != c.want {
			t.Errorf("%s %s: %#x, want %#x", c.g, c.e, got, c.want)
		}
	}
	if got := GFX9.EncodePDE(Entry{0x1040, Valid, 0, 9}); got != 9<<59|0x1041 {
		t.Errorf("PDE %#x", got)
	}
	if got := GFX12.EncodePDE(Entry{0x1040, Valid, 0, 9}); got != 9<<58|0x1041 {
		t.Errorf("gfx12 PDE %#x", got)
	}
}

func TestLevels(t *testing.T) {
	for l, want := range map[Level]uint{PTB: 12, PDB0: 21, PDB1: 30, PDB2: 39, PDB3: 48} {
		if l.Shift() != want {
			t.Errorf("%s covers 1<<%d, want 1<<%d", l, l.Shift(), want)
		}
	}
	const va = 0x7f12_3456_7000
	if got := [4]uint64{PDB2.Index(va), PDB1.Index(va), PDB0.Index(va), PTB.Index(va)}; got != [4]uint64{0xfe, 0x48, 0x1a2, 0x167} {
		t.Errorf("%#x", got)
	}
}

func TestNoRetry(t *testing.T) {
	for _, g := range gens {
		if !g.IsNoRetry(g.NoRetry()) || g.IsNoRetry(g.Empty()) || g.IsNoRetry(0) || g.IsNoRetry(g.EncodePTE(Entry{Flags: Valid | Exec | IsPTE | TF})) {
			t.Errorf("%s: no-retry entry is not told from others", g)
		}
		if g.DecodePTE(g.Empty()).Is(Valid) || g.IsLeaf(g.Empty()) {
			t.Errorf("%s: the empty entry maps something", g)
		}
	}
}

func TestGenOf(t *testing.T) {
	for v, want := range map[uint32]Gen{90010: GFX9, 90402: GFX9, 100300: GFX10, 110000: GFX11, 120001: GFX12} {
		if g, ok := GenOf(v); !ok || g != want {
			t.Errorf("%d: %v %v", v, g, ok)
		}
	}
	if _, ok := GenOf(80003); ok {
		t.Error("gfx803 has a layout")
	}
}
