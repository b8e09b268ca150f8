//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// TestFirstMask writes a half of a product under the block's first value, and whole behind it. The half is of the compiler's own
// conversion, whose lanes all matter: it took that mask for its scope, and the register of the masked write for the product (seed
// 89279485211826 of TestNightly).
func TestFirstMask(t *testing.T) {
	onEach(t, func(t *testing.T) {
		f := &ir.Func{PC: 0x10000, Lanes: 64}
		b := &ir.Block{Insts: 4, Term: ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}}
		f.Blocks = []*ir.Block{b}
		g := &gen{f: f, b: b, nv: 12, by: map[ir.Type][]ir.ID{}}
		some := g.add(ir.Value{Op: ir.OpConst, Type: ir.M, Imm: 0x964c2dcd482850dc})
		if some != 0 {
			t.Fatal("the mask is not the first value")
		}
		x := g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: 2})
		p := g.add(ir.Value{Op: ir.OpMulU64, Type: ir.V64, Args: []ir.ID{x, g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: 3})}})
		lo := g.add(ir.Value{Op: ir.OpLo, Type: ir.V32, Args: []ir.ID{p}})
		g.add(ir.Value{Op: ir.OpVSet, Imm: 6, Args: []ir.ID{lo, some}})
		first := g.add(ir.Value{Op: ir.OpReadFirst, Type: ir.S32, Args: []ir.ID{x, some}}) // a new region
		g.add(ir.Value{Op: ir.OpSSet, Imm: 7, Args: []ir.ID{first}})
		g.add(ir.Value{Op: ir.OpVSet, Imm: 4, Args: []ir.ID{lo, g.c(ir.M, ^uint64(0))}})
		compare(t, 1, f)
	})
}
