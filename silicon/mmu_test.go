package silicon

import (
	"maps"
	"slices"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/engine/mem"
	"pgregory.net/rapid"
)

// naive is what the page tables should mean: a leaf for each page, by page number.
type naive map[uint64]pte.Entry

// TestWalk compares translations with the model, over random maps of pages, fragments and huge pages in VRAM and system memory.
func TestWalk(t *testing.T) {
	for _, name := range []string{"mi210", "rx6900xt", "rx7900xtx", "rx9070xt"} {
		r := newRig(t, name, 1)
		v := &r.d.vms[rigVMID]
		base := r.next
		rapid.Check(t, func(t *rapid.T) {
			r.next = base
			clear(r.d.vram.b[r.root : r.root+4096])
			clear(r.d.vram.b[base : base+1<<20])
			m := naive{}
			const start = 0x7fff_ffe0_0000 - 64<<21
			for range rapid.IntRange(1, 12).Draw(t, "runs") {
				level := rapid.SampledFrom([]pte.Level{pte.PTB, pte.PTB, pte.PDB0}).Draw(t, "level")
				frag := 0
				if level == pte.PTB {
					frag = rapid.IntRange(0, 4).Draw(t, "frag")
				}
				pages := uint64(1) << frag
				if level == pte.PDB0 {
					pages = 512
				}
				page := (start>>12 + rapid.Uint64Range(0, 64*512-1).Draw(t, "page")) &^ (pages - 1)
				// A driver keeps what FRAGMENT promises: it does not change a part of a run.
				if taken := func() bool {
					for i := range pages {
						if _, ok := m[page+i]; ok {
							return true
						}
					}
					return false
				}(); taken {
					continue
				}
				e := pte.Entry{Flags: pte.Flags(0), Frag: uint8(frag)}
				for i, f := range []pte.Flags{pte.Valid, pte.Read, pte.Write, pte.Exec, pte.System} {
					if rapid.IntRange(0, 4).Draw(t, f.String()) > i/4 {
						e.Flags |= f
					}
				}
				e.Addr = (rapid.Uint64Range(0, r.d.vram.size>>12+10).Draw(t, "addr") &^ (pages - 1)) << 12
				if level == pte.PDB0 {
					e.Flags |= pte.IsPTE
					// Only where no table is: the driver frees it first.
					if old := r.table(page<<12, pte.PDB0); *old&1 != 0 {
						continue
					}
					*r.table(page<<12, pte.PDB0) = r.d.pteGen.EncodePTE(e)
				} else {
					if old := *r.table(page<<12, pte.PDB0); old&1 != 0 && r.d.pteGen.IsLeaf(old) || r.d.pteGen.IsLeaf(old) {
						continue
					}
				}
				for i := range pages {
					x := e
					x.Addr += i << 12
					if level == pte.PTB {
						*r.table((page+i)<<12, pte.PTB) = r.d.pteGen.EncodePTE(x)
					}
					m[page+i] = x
				}
			}
			for range 50 {
				page := start>>12 + rapid.Uint64Range(0, 64*512-1).Draw(t, "probe")
				if len(m) > 0 && rapid.Bool().Draw(t, "known") {
					page = rapid.SampledFrom(slices.Sorted(maps.Keys(m))).Draw(t, "pick")
				}
				va := page<<12 | rapid.Uint64Range(0, 4095).Draw(t, "offset")
				a := rapid.SampledFrom([]mem.Access{mem.Read, mem.Write, mem.Exec, mem.Read | mem.Write}).Draw(t, "access")
				host, n, rights, f := v.Translate(va, a)
				e, ok := m[page]
				var have mem.Access
				if e.Is(pte.Read) {
					have |= mem.Read
				}
				if e.Is(pte.Write) {
					have |= mem.Write
				}
				if e.Is(pte.Exec) {
					have |= mem.Exec
				}
				good := ok && e.Is(pte.Valid) && a&^have == 0 && (e.Is(pte.System) || e.Addr < r.d.vram.size)
				if good != (f == nil) {
					t.Fatalf("%#x %s: %v, page %s", va, a, f, e)
				}
				if f != nil {
					if f.VA != va || f.Access != a || f.Kind == mem.FaultNone {
						t.Fatalf("%+v", f)
					}
					continue
				}
				want := uintptr(e.Addr + va&4095)
				if !e.Is(pte.System) {
					want += uintptr(r.d.vram.base)
				}
				if uintptr(host) != want || rights != have || n < 4096-va&4095 {
					t.Fatalf("%#x: %#x %d %s, want %#x %s", va, host, n, rights, want, have)
				}
				// All n bytes are contiguous with the same rights, as far as the model knows.
				for p := page + 1; p<<12 < va+n && p < page+600; p++ {
					x := m[p]
					if x.Addr != e.Addr+(p-page)<<12 || x.Flags != e.Flags {
						t.Fatalf("%#x: run of %#x bytes reaches over %s", va, n, x)
					}
				}
			}
		})
	}
}

func TestTranslateCorners(t *testing.T) {
	r := newRig(t, "mi210", 1)
	v := &r.d.vms[rigVMID]
	for _, va := range []uint64{1 << 48, 0xdead_0000_0000_0000, 0} {
		if _, _, _, f := v.Translate(va, mem.Read); f == nil {
			t.Errorf("%#x is mapped", va)
		}
	}
	if _, _, _, f := v.Translate(1<<50, mem.Read); f.Kind != mem.FaultAperture {
		t.Error(f)
	}
	// A table outside VRAM.
	*r.table(0x1234_5000_0000, pte.PDB1) = r.d.pteGen.EncodePDE(pte.Entry{Addr: 1 << 45, Flags: pte.Valid})
	if _, _, _, f := v.Translate(0x1234_5000_0000, mem.Read); f == nil || f.Kind != mem.FaultNotPresent {
		t.Error(f)
	}
	// PRT: reads zero, writes vanish.
	*r.table(0x5000_0000, pte.PTB) = r.d.pteGen.EncodePTE(pte.Entry{Flags: pte.PRT})
	if err := v.store64(0x5000_0008, 7); err != nil {
		t.Error(err)
	}
	if x, err := v.load64(0x5000_0008); x != 0 || err != nil {
		t.Error(x, err)
	}
	if _, _, _, f := r.d.vms[3].Translate(0x1000, mem.Read); f == nil {
		t.Error("a VMID that is off translates")
	}
	// System memory that is not there is a fault, not a crash.
	*r.table(0x6000_0000, pte.PTB) = r.d.pteGen.EncodePTE(pte.Entry{Addr: 0x1000, Flags: rwx | pte.System})
	if _, err := v.load64(0x6000_0000); err == nil {
		t.Error("a load from host address 0x1000 worked")
	}
	if err := r.d.SetVMID(16, nil); err == nil {
		t.Error("VMID 16")
	}
}

// The common bits are where every generation has them.
func TestCommonBits(t *testing.T) {
	for _, g := range []pte.Gen{pte.GFX9, pte.GFX10, pte.GFX11, pte.GFX12} {
		for bit, f := range map[uint64]pte.Flags{pteValid: pte.Valid, pteSystem: pte.System, pteExec: pte.Exec, pteRead: pte.Read, pteWrite: pte.Write} {
			if !g.DecodePTE(bit).Is(f) {
				t.Errorf("%s: %s", g, f)
			}
		}
	}
}

func BenchmarkTranslate(b *testing.B) {
	r := newRig(b, "mi210", 1)
	va, _ := r.alloc(4096)
	v := &r.d.vms[rigVMID]
	var p unsafe.Pointer
	for b.Loop() {
		p, _, _, _ = v.Translate(va, mem.Read)
	}
	_ = p
}
