package codeobj

import (
	"bytes"
	"debug/elf"
	"testing"
)

func TestBuilder(t *testing.T) {
	tg, _ := ParseTarget("gfx90a")
	b := Builder{Target: tg, Kernels: []BuiltKernel{
		{Name: "first", Code: []uint32{0xbf810000}, Desc: Descriptor{RSRC1: 0xaf0041, RSRC2: 0x85, Properties: 8}, Group: 64,
			Args: []Arg{{Offset: 0, Size: 8, Kind: GlobalBuffer}, {Offset: 8, Size: 4, Kind: ByValue}, {Offset: 16, Size: 4, Kind: HiddenBlockCountX}}},
		{Name: "second", Code: make([]uint32, 300)},
	}}
	raw := b.Bytes()
	o, err := Open(raw)
	if err != nil {
		t.Fatal(err)
	}
	if o.Version != 5 || o.Target != tg || len(o.Meta.Kernels) != 2 {
		t.Errorf("%d %v", o.Version, o.Target)
	}
	k, err := o.Kernel("first")
	if err != nil {
		t.Fatal(err)
	}
	if k.KernargSegmentSize != 20 || len(k.Explicit()) != 2 || k.Args[2].Kind != HiddenBlockCountX || k.Desc.RSRC1 != 0xaf0041 || k.GroupSegmentFixedSize != 64 {
		t.Errorf("%+v", k)
	}
	if w, ok := o.At(k.EntryVA, 4); !ok || le.Uint32(w) != 0xbf810000 {
		t.Errorf("code % x", w)
	}
	if k2, err := o.Kernel("second"); err != nil || k2.EntryVA <= k.EntryVA {
		t.Error(err)
	}
	if n, off, ok := o.Function(k.EntryVA); n != "first" || off != 0 || !ok {
		t.Errorf("%q", n)
	}
	if n, err := Size(append(raw, 0)); err != nil || n != uint64(len(raw)) {
		t.Errorf("%d of %d, %v", n, len(raw), err)
	}
}

// TestBuilderSections reads a built object as debug/elf does, that is by its section headers.
func TestBuilderSections(t *testing.T) {
	tg, _ := ParseTarget("gfx90a")
	b := Builder{Target: tg, Version: 4, Kernels: []BuiltKernel{{Name: "k", Code: []uint32{0xbf810000}}}}
	raw := b.Bytes()
	if o, err := Open(raw); err != nil || o.Version != 4 {
		t.Fatalf("%v, %+v", err, o)
	}
	f, err := elf.NewFile(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	want := []elf.Symbol{{Name: "k", Section: inText}, {Name: "k.kd", Section: inRodata}}
	for name, read := range map[string]func() ([]elf.Symbol, error){".symtab": f.Symbols, ".dynsym": f.DynamicSymbols} {
		got, err := read()
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %v, %v", name, got, err)
		}
		for i, s := range got {
			if s.Name != want[i].Name || s.Section != want[i].Section || s.Value < f.Sections[s.Section].Addr {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
	if text, err := f.Section(".text").Data(); err != nil || le.Uint32(text) != 0xbf810000 {
		t.Errorf(".text: % x, %v", text[:4], err)
	}
}
