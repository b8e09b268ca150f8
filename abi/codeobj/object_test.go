package codeobj

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestHandBuilt(t *testing.T) {
	b := handELF()
	o, err := Open(b)
	if err != nil {
		t.Fatal(err)
	}
	if o.Version != 5 || o.Target.String() != "gfx90a" || o.Target.XNACK != Any || o.Target.SRAMECC != Any {
		t.Errorf("version %d, target %v", o.Version, o.Target)
	}
	k, err := o.Kernel("k")
	if err != nil {
		t.Fatal(err)
	}
	if k.EntryVA != 0x900 || k.DescVA != 0x800 || k.KernargSegmentSize != 16 || k.ReqdWorkgroupSize != [3]uint32{64, 2, 1} {
		t.Errorf("%+v", k)
	}
	if len(k.Args) != 2 || len(k.Explicit()) != 1 || k.Args[0].Kind != GlobalBuffer || k.Args[1].Kind != HiddenNone {
		t.Errorf("args %+v", k.Args)
	}
	p := o.Target.Proc
	if k.Desc.VGPRs(p) != 16 || k.Desc.ArchVGPRs(p) != 8 || k.Desc.AccVGPRs(p) != 8 || k.Desc.SGPRs(p) != 16 || k.Desc.UserSGPRCount() != 8 {
		t.Errorf("registers %d %d %d %d, user %d", k.Desc.VGPRs(p), k.Desc.ArchVGPRs(p), k.Desc.AccVGPRs(p), k.Desc.SGPRs(p), k.Desc.UserSGPRCount())
	}
	if len(o.Relocs) != 1 || o.Relocs[0].Symbol.Name != "v" {
		t.Fatalf("relocs %+v", o.Relocs)
	}
	if v, n, err := o.Relocs[0].Value(0x10b00, 0x10000); v != 0x10b05 || n != 8 || err != nil {
		t.Errorf("ABS64: %#x %d %v", v, n, err)
	}
	if n, off, ok := o.Function(0x910); n != "k" || off != 0x10 || !ok {
		t.Errorf("function %q+%#x %v", n, off, ok)
	}
	if _, _, ok := o.Function(0x950); ok {
		t.Error("a function was found behind the end of k")
	}
	if _, err := o.Kernel("v"); err == nil {
		t.Error("a variable was taken for a kernel")
	}
	if n, err := Size(append(b, 1, 2, 3)); err != nil || n != uint64(len(b)) {
		t.Errorf("size %#x %v", n, err)
	}
}

// Each mutation must be refused with an error that says where.
func TestDamaged(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(b []byte) []byte
		want string
	}{
		{"empty", func(b []byte) []byte { return nil }, "header of 64 bytes"},
		{"magic", func(b []byte) []byte { b[0] = 0; return b }, "magic"},
		{"class", func(b []byte) []byte { b[4] = 1; return b }, "class"},
		{"machine", func(b []byte) []byte { b[18] = 62; return b }, "machine 62"},
		{"osabi", func(b []byte) []byte { b[7] = 0; return b }, "OS ABI"},
		{"relocatable", func(b []byte) []byte { b[16] = 1; return b }, "not linked"},
		{"version 2", func(b []byte) []byte { b[8] = 0; return b }, "ABI version 0"},
		{"version 7", func(b []byte) []byte { b[8] = 5; return b }, "ABI version 5"},
		{"mach", func(b []byte) []byte { b[48] = 0xff; return b }, "MACH 0xff"},
		{"phoff", func(b []byte) []byte { le.PutUint64(b[32:], 1<<63); return b }, "program header table"},
		{"cut", func(b []byte) []byte { return b[:0xa80] }, "segment of"},
		{"memsz", func(b []byte) []byte { le.PutUint64(b[64+40:], 1); return b }, "in memory"},
		{"overlap", func(b []byte) []byte { le.PutUint64(b[64+16:], 0x900); return b }, "overlaps"},
		{"note", func(b []byte) []byte { le.PutUint32(b[0x204:], 1<<30); return b }, "note"},
		{"metadata", func(b []byte) []byte { b[0x214] = 0xc1; return b }, "metadata"},
		{"symbols", func(b []byte) []byte { le.PutUint32(b[0x744:], 1<<20); return b }, "outside the image"},
		{"name", func(b []byte) []byte { le.PutUint32(b[0x600+24:], 999); return b }, "string table"},
		{"reloc type", func(b []byte) []byte { le.PutUint32(b[0x768:], 77); return b }, "type 77"},
		{"reloc place", func(b []byte) []byte { le.PutUint64(b[0x760:], 1<<40); return b }, "outside the image"},
		{"reloc symbol", func(b []byte) []byte { le.PutUint32(b[0x76c:], 44); return b }, "symbol 44"},
	} {
		_, err := Open(c.f(handELF()))
		var fe *FormatError
		if !errors.As(err, &fe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a FormatError with %q", c.name, err, c.want)
		}
	}
	for name, f := range map[string]func(b []byte){
		"entry out of code":  func(b []byte) { le.PutUint64(b[0x810:], 0x1000) },
		"entry misaligned":   func(b []byte) { le.PutUint64(b[0x810:], 0x104) },
		"descriptor outside": func(b []byte) { le.PutUint64(b[0x600+2*24+8:], 0x8f0) },
	} {
		b := handELF()
		f(b)
		o, err := Open(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := o.Kernel("k"); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestClangObjects(t *testing.T) {
	for _, c := range []struct {
		version string
		arch    string
		want    int
		vgpr    uint32
	}{{"4", "gfx90a", 4, 0}, {"5", "gfx90a", 5, 0}, {"4", "gfx1030", 4, 0}, {"4", "gfx906:xnack-", 4, 0}, {"5", "gfx1100", 5, 0}, {"3", "gfx900", 3, 0}} {
		b, err := os.ReadFile(clang(t, "--offload-arch="+c.arch, "-g", "--no-gpu-bundle-output", "-mcode-object-version="+c.version))
		if err != nil {
			t.Fatal(err)
		}
		o, err := Open(b)
		if err != nil {
			t.Fatalf("V%s %s: %v", c.version, c.arch, err)
		}
		if o.Version != c.want || c.want > 3 && o.Target.String() != c.arch || c.want > 3 && o.Meta.Target != o.Target.Triple() {
			t.Errorf("V%s %s: version %d, target %v, metadata %q", c.version, c.arch, o.Version, o.Target, o.Meta.Target)
		}
		k, err := o.Kernel("vadd")
		if err != nil {
			t.Fatal(err)
		}
		kinds := []ValueKind{}
		for _, a := range k.Explicit() {
			kinds = append(kinds, a.Kind)
		}
		if !reflect.DeepEqual(kinds, []ValueKind{GlobalBuffer, GlobalBuffer, GlobalBuffer, ByValue}) {
			t.Errorf("kinds %v", kinds)
		}
		for _, a := range k.Args {
			if a.Kind == KindUnknown {
				t.Errorf("unknown value kind %q", a.KindName)
			}
		}
		if o.Target.Proc.Major < 10 && k.Desc.Wavefront32() || o.Target.Proc.Major >= 10 && !k.Desc.Wavefront32() {
			t.Errorf("%s: wave32 %v", c.arch, k.Desc.Wavefront32())
		}
		if n := k.Desc.VGPRs(o.Target.Proc); n < k.VGPRCount || n > k.VGPRCount+16 {
			t.Errorf("%s: descriptor allocates %d VGPRs, metadata says %d used", c.arch, n, k.VGPRCount)
		}
		if k.Desc.KernargSize != k.KernargSegmentSize {
			t.Errorf("kernarg size %d and %d", k.Desc.KernargSize, k.KernargSegmentSize)
		}
		l, err := o.Kernel("lds")
		if err != nil {
			t.Fatal(err)
		}
		if l.GroupSegmentFixedSize != 1024 || l.Args[1].Size != 16 || l.Args[1].Kind != ByValue {
			t.Errorf("lds kernel: %d bytes of LDS, %+v", l.GroupSegmentFixedSize, l.Args[1])
		}
		s := o.Symbol("counter")
		if v, ok := o.At(s.Value, 4); !ok || le.Uint32(v) != 7 {
			t.Errorf("counter starts with % x", v)
		}
		if s := o.Symbol("table"); s.Size != 256 {
			t.Errorf("table has %d bytes", s.Size)
		} else if v, ok := o.At(s.Value, 256); !ok || v[255] != 0 {
			t.Error("bss cannot be read")
		}
		if n, _, ok := o.Function(k.EntryVA + 4); !ok || n != "vadd" {
			t.Errorf("function %q", n)
		}
		ln, ok := o.Line(k.EntryVA + 16)
		if !ok || !strings.HasSuffix(ln.File, "kernels.hip") || ln.Line < 6 || ln.Line > 9 {
			t.Errorf("line %+v %v", ln, ok)
		}
		if n, err := Size(b); err != nil || n != uint64(len(b)) {
			t.Errorf("size %d of %d: %v", n, len(b), err)
		}
		// A V6 object differs from V5 in its ABI byte (and, for generic targets, the top byte of e_flags).
		if c.want == 5 {
			b[8] = 4
			if o, err := Open(b); err != nil || o.Version != 6 {
				t.Errorf("V6: %v", err)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(handELF())
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := Open(b)
		if err != nil {
			var fe *FormatError
			if !errors.As(err, &fe) {
				t.Fatalf("error of type %T: %v", err, err)
			}
			return
		}
		for _, s := range o.Symbols() {
			o.At(s.Value, min(s.Size, 4096))
			o.Function(s.Value)
			o.Line(s.Value)
		}
		if o.Meta != nil {
			for _, k := range o.Meta.Kernels {
				o.Kernel(k.Name)
			}
		}
	})
}

func FuzzMetadata(f *testing.F) {
	f.Add(handMeta())
	f.Add([]byte{0x81, 0xa1, 'x', 0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) { ParseMetadata(b) })
}

func TestPackDepth(t *testing.T) {
	deep := append([]byte{0x81, 0xa1, 'x'}, make([]byte, 100)...)
	for i := 3; i < len(deep); i++ {
		deep[i] = 0x91
	}
	if _, err := ParseMetadata(deep); err == nil || !strings.Contains(err.Error(), "deeper") {
		t.Errorf("%v", err)
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		agent, code string
		want        bool
	}{
		{"gfx90a:sramecc+:xnack-", "gfx90a", true},
		{"gfx90a:sramecc+:xnack-", "gfx90a:xnack-", true},
		{"gfx90a:sramecc+:xnack-", "gfx90a:xnack+", false},
		{"gfx90a:sramecc+:xnack-", "gfx90a:sramecc-:xnack-", false},
		{"gfx90a:sramecc+:xnack-", "gfx908", false},
		{"gfx1030", "gfx10-3-generic", true},
		{"gfx1031", "gfx1030", false},
		{"gfx1100", "gfx10-3-generic", false},
	} {
		a, err1 := ParseTarget(c.agent)
		k, err2 := ParseTarget(c.code)
		if err1 != nil || err2 != nil || a.Runs(k) != c.want {
			t.Errorf("%s runs %s: %v (%v %v)", c.agent, c.code, a.Runs(k), err1, err2)
		}
	}
	for _, bad := range []string{"", "gfx", "gfx90a:", "gfx90a:x", "gfx90a:xnack", "gfx90a:xnack+:xnack-", "gfx1030:xnack+", "gfx90a:foo+", "amdgcn-amd-amdhsa--", "hip"} {
		if bad == "gfx90a:" {
			continue // an empty feature list is the bare processor
		}
		if tg, err := ParseTarget(bad); err == nil {
			t.Errorf("%q parsed as %v", bad, tg)
		}
	}
	for i := range Processors {
		p := &Processors[i]
		if ProcessorByMach(p.Mach) != p || LookupProcessor(p.Name) != p {
			t.Errorf("%s is not unique", p.Name)
		}
		if p.Members == nil && ProcessorByVersion(p.Version()) != p {
			t.Errorf("version %d of %s is not unique", p.Version(), p.Name)
		}
		for _, m := range p.Members {
			if LookupProcessor(m) == nil {
				t.Errorf("%s has unknown member %s", p.Name, m)
			}
		}
	}
}

func FuzzTarget(f *testing.F) {
	f.Add("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseTarget(s)
		if err != nil {
			return
		}
		if b, err := ParseTarget(a.String()); err != nil || a != b {
			t.Errorf("%q -> %v -> %v, %v", s, a, b, err)
		}
	})
}

// TestNotes has the metadata in two notes, as a linker leaves that of two inputs.
func TestNotes(t *testing.T) {
	b := handELF()
	first := cat(mpMap(2), mpStr("amdhsa.version"), mpArr(2), mpUint(1), mpUint(2), mpStr("amdhsa.kernels"), mpArr(1),
		mpMap(2), mpStr(".name"), mpStr("other"), mpStr(".symbol"), mpStr("other.kd"))
	p := b[64+4*phdrSize:]
	off, n := le.Uint64(p[8:]), le.Uint64(p[32:])
	second := append([]byte(nil), b[off:off+n]...)
	note := cat(second[:20], first, make([]byte, -len(first)&3))
	le.PutUint32(note[4:], uint32(len(first)))
	note = append(note, second...)
	copy(b[off:], note)
	le.PutUint64(p[32:], uint64(len(note)))
	le.PutUint64(p[40:], uint64(len(note)))
	o, err := Open(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Meta.Kernels) != 2 || o.Meta.Kernels[0].Name != "other" {
		t.Fatalf("%+v", o.Meta.Kernels)
	}
	if _, err := o.Kernel("k"); err != nil {
		t.Error(err)
	}
}
