package amdgpu

import (
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// fakeTables gives out pages at made-up VRAM addresses.
type fakeTables struct {
	pages map[uint64]*[pte.TableEntries]uint64
	next  uint64
	limit int
}

func (f *fakeTables) allocTable() (uint64, unsafe.Pointer, error) {
	if f.limit > 0 && len(f.pages) >= f.limit {
		return 0, nil, unix.ENOMEM
	}
	f.next += pte.TableBytes
	p := new([pte.TableEntries]uint64)
	f.pages[f.next] = p
	return f.next, unsafe.Pointer(p), nil
}

func (f *fakeTables) freeTable(addr uint64) {
	if f.pages[addr] == nil {
		panic("table freed twice")
	}
	delete(f.pages, addr)
}

// walk translates as the chip does: from the base register, through memory only.
func (f *fakeTables) walk(t *rapid.T, g pte.Gen, base, va uint64) (e pte.Entry, ok bool) {
	raw := base
	for l := pte.PDB2; ; l++ {
		e := g.DecodePDE(raw)
		if !e.Is(pte.Valid) {
			return e, false
		}
		page := f.pages[e.Addr]
		if page == nil {
			t.Fatalf("a directory points to a freed table at %#x", e.Addr)
		}
		raw = page[l.Index(va)]
		if l == pte.PTB || g.IsLeaf(raw) && l == pte.PDB0 {
			e = g.DecodePTE(raw)
			e.Addr += va & (1<<l.Shift() - 1) &^ 0xfff
			return e, e.Is(pte.Valid)
		}
	}
}

// TestVMAgainstModel maps and unmaps random ranges and compares each page, and each fragment promise, with a plain map.
func TestVMAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom([]pte.Gen{pte.GFX9, pte.GFX10, pte.GFX12}).Draw(t, "gen")
		f := &fakeTables{pages: map[uint64]*[pte.TableEntries]uint64{}}
		flushes := 0
		v, err := newVM(sched.NewLive(), g, f, func(*VM) { flushes++ })
		if err != nil {
			t.Fatal(err)
		}
		base := rapid.SampledFrom([]uint64{1 << 21, 1<<39 - 4<<21, 0x7f0000000000}).Draw(t, "base")
		const window = 4 * 512
		type page struct {
			addr uint64
			sys  bool
			fl   pte.Flags
		}
		model := map[uint64]page{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			start := uint64(rapid.IntRange(0, window-1).Draw(t, "start"))
			if rapid.Bool().Draw(t, "align") {
				start &^= 511
			}
			n := uint64(rapid.IntRange(1, window-int(start)).Draw(t, "pages"))
			va := base + start<<12
			if rapid.IntRange(0, 2).Draw(t, "op") == 0 {
				if err := v.Unmap(va, n<<12); err != nil {
					t.Fatal(err)
				}
				for i := range n {
					delete(model, va+i<<12)
				}
			} else {
				fl := PageFlags{Flags: pte.Read | pte.Flags(rapid.SampledFrom([]pte.Flags{0, pte.Write, pte.Exec}).Draw(t, "rights"))}
				var ext []Extent
				for left := n; left > 0; {
					c := uint64(rapid.IntRange(1, int(left)).Draw(t, "extent"))
					e := Extent{Addr: uint64(rapid.IntRange(0, 1<<20).Draw(t, "addr")) << 12, Len: c << 12, System: rapid.Bool().Draw(t, "sys")}
					if rapid.Bool().Draw(t, "addr align") {
						e.Addr &^= 1<<21 - 1
					}
					ext = append(ext, e)
					left -= c
				}
				if err := v.Map(va, n<<12, ext, fl, nil); err != nil {
					t.Fatal(err)
				}
				at := va
				for _, e := range ext {
					for o := uint64(0); o < e.Len; o += 4096 {
						model[at] = page{e.Addr + o, e.System, fl.Flags}
						at += 4096
					}
				}
			}
			for i := range uint64(window) {
				va := base + i<<12
				e, ok := f.walk(t, g, v.Base(), va)
				m, want := model[va]
				if ok != want {
					t.Fatalf("%#x: mapped %v, want %v", va, ok, want)
				}
				if ok && (e.Addr != m.addr || e.Is(pte.System) != m.sys || e.Flags&(pte.Read|pte.Write|pte.Exec) != m.fl) {
					t.Fatalf("%#x: %s, want %+v", va, e, m)
				}
				if ok && (i%61 == 0 || i == start || i == start-1 || i == start+n) {
					// Every page of the promised run must be there, contiguous, with the same rights.
					first := va &^ (1<<(uint(e.Frag)+12) - 1)
					for a := first; a < first+1<<(uint(e.Frag)+12); a += 4096 {
						n := model[a]
						if n.addr-m.addr != a-va || n.sys != m.sys || n.fl != m.fl {
							t.Fatalf("%#x promises a fragment of 2^%d pages, but %#x is %+v", va, e.Frag, a, n)
						}
					}
				}
				if _, _, _, found := v.Find(va); found != want {
					t.Fatalf("%#x: Find %v, want %v", va, found, want)
				}
			}
		}
		if flushes == 0 && len(f.pages) > 1 {
			t.Log("no flush was needed")
		}
		v.Close()
		if len(f.pages) != 0 {
			t.Fatalf("%d tables leaked", len(f.pages))
		}
	})
}

func TestVMErrors(t *testing.T) {
	f := &fakeTables{pages: map[uint64]*[pte.TableEntries]uint64{}, limit: 3}
	v, err := newVM(sched.NewLive(), pte.GFX9, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	ext := []Extent{{Addr: 0, Len: 1 << 21}}
	for _, c := range []struct {
		va, size uint64
		want     error
	}{{0, 4096, unix.EINVAL}, {1 << 20, 0, unix.EINVAL}, {1<<20 + 1, 4096, unix.EINVAL}, {1 << 20, 100, unix.EINVAL}, {1 << 47, 4096, unix.EINVAL},
		{1<<47 - 4096, 8192, unix.EINVAL}, {^uint64(4095), 4096, unix.EINVAL}, {1 << 30, 4 << 20, unix.EINVAL}, {1 << 30, 4096, unix.ENOMEM}} {
		if err := v.Map(c.va, c.size, ext, PageFlags{}, nil); err != c.want {
			t.Errorf("map %#x+%#x: %v, want %v", c.va, c.size, err, c.want)
		}
		if _, _, _, ok := v.Find(c.va); ok {
			t.Errorf("%#x is mapped after an error", c.va)
		}
	}
	v.Close()
	if len(f.pages) != 0 {
		t.Errorf("%d tables leaked", len(f.pages))
	}
}
