//go:build linux && amd64

package jit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// TestDump looks for guest code, IR and host code of one function in their columns.
func TestDump(t *testing.T) { onEach(t, testDump) }

func testDump(t *testing.T) {
	f := &ir.Func{PC: 0x1000, Lanes: 64, Target: "gfx90a"}
	b := &ir.Block{Insts: 2, Term: ir.Term{Kind: ir.TermExit, Cond: ir.NoID, Exit: ir.ExitEndPgm, PC: 4}}
	f.Blocks = []*ir.Block{b}
	x := f.Add(b, ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: 1})
	s := f.Add(b, ir.Value{Op: ir.OpFAdd, Type: ir.V32, Kind: ir.F32, Args: []ir.ID{x, x}})
	m := f.Add(b, ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: 126})
	f.Add(b, ir.Value{Op: ir.OpVSet, Imm: 0, Args: []ir.ID{s, m}})
	o := HostOptions()
	o.Listing, o.Sample = true, true
	p, err := CompileWith(f, o)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := WriteDump(&out, p, 0x7000, func(pc uint64) string { return fmt.Sprintf("guest-%x", pc) }); err != nil {
		t.Fatal(err)
	}
	vec := "zmm"
	if o.AVX2 {
		vec = "ymm"
	}
	for _, want := range []string{"block 0, guest 0x1000", "1000  guest-1000", "%1:v32 = fadd %0, %0 kind=f32", "vaddps " + vec, "exit endpgm", "1004  guest-1004",
		"cold code", "mov dword ptr [rsi + 32], 0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if last := p.Listing[len(p.Listing)-1]; last.At >= len(p.Code) {
		t.Errorf("last line is at %#x of %#x bytes", last.At, len(p.Code))
	}
}
