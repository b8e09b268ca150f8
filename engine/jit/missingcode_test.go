//go:build linux && amd64

package jit

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// lastPage is a flat space whose page at va is not there yet.
type lastPage struct {
	*flat
	va   uint64
	gone bool
}

func (p *lastPage) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	if p.gone && va >= p.va && va < p.va+mem.PageSize {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent}
	}
	host, n, r, f := p.flat.Translate(va, a)
	return host, min(n, mem.PageSize-va%mem.PageSize), r, f
}

// TestCodeAcrossMissingPage: the end of an instruction lies on a page that is not there. What is before it has run, once; it is a fault of the
// fetch at that page as long as the page is missing, and goes on when it has come.
func TestCodeAcrossMissingPage(t *testing.T) { onEach(t, testCodeAcrossMissingPage) }

func testCodeAcrossMissingPage(t *testing.T) {
	const before, after = "s_add_u32 s0, s0, 1", "s_add_u32 s1, s1, 1\ns_endpgm"
	for _, p := range []struct {
		target, name, lead, text string
		there                    int // bytes of text that are
	}{
		{"gfx90a", "literal", before, "v_mov_b32_e32 v0, 0x12345678", 4},
		{"gfx90a", "two words", before, "v_add3_u32 v0, v1, v2, v3", 4},
		{"gfx90a", "start of a block", before + "\ns_branch 0", "v_add3_u32 v0, v1, v2, v3", 4},
		{"gfx90a", "entry", "", "v_add3_u32 v0, v1, v2, v3", 4},
		{"gfx90a", "whole", before, "v_add3_u32 v0, v1, v2, v3", 0},
		{"gfx1030", "first of three words", before, "v_add3_u32 v0, v1, v2, 0x12345678", 4},
		{"gfx1030", "two of three words", before, "v_add3_u32 v0, v1, v2, 0x12345678", 8},
		{"gfx1030", "entry with two of three words", "", "v_add3_u32 v0, v1, v2, 0x12345678", 8},
	} {
		tg := isa.TargetByName(p.target)
		var code []byte
		lead := 0 // bytes before the instruction
		for line := range strings.Lines(p.lead + "\n" + p.text + "\n" + after) {
			if line = strings.TrimSpace(line); line == p.text {
				lead = len(code)
			}
			b, err := isa.Assemble(tg, line)
			if line != "" && err != nil {
				t.Fatal(err)
			}
			code = append(code, b...)
		}
		j, err := New()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []engine.Engine{interp.New(), j} {
			g := newRig(t, 64, 4)
			page := &lastPage{g.space, g.space.va + 2*mem.PageSize, true}
			at := page.va - uint64(lead+p.there)
			copy(g.space.b[at-g.space.va:], code)
			g.w.Space.Translator, g.w.Target, g.w.PC = page, tg, at
			g.w.SetEXEC(^uint64(0))
			k := e.NewWorker()
			for try := range 3 {
				g.w.Fuel = 1000
				x, f := k.Run(g.w), &g.w.Fault
				if x != ir.ExitFault || f.VA != page.va || f.Access&mem.Exec == 0 || f.Lane != -1 || g.w.PC != at+uint64(lead) {
					t.Errorf("%s, %s: try %d: exit %v at %#x, %+v %s, want a fault of the fetch at %#x", e.Name(), p.name, try, x, g.w.PC, *f, g.w.Illegal, page.va)
				}
			}
			page.gone = false
			g.w.Fuel = 1000
			want := uint32(0x12345678)
			if p.text[len(p.text)-1] == '3' {
				want = 0
			}
			if x := k.Run(g.w); x != ir.ExitEndPgm || g.w.VGPR(0)[5] != want || g.w.S[0] != uint32(min(1, lead)) || g.w.S[1] != 1 {
				t.Errorf("%s, %s: exit %v %s, v0 %#x, s0 %d, s1 %d", e.Name(), p.name, x, g.w.Illegal, g.w.VGPR(0)[5], g.w.S[0], g.w.S[1])
			}
			k.Close()
			g.free()
		}
		j.mem.Close()
	}
}
