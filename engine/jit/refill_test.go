//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// TestEndOf4GiB accesses the last bytes of memory that ends at a multiple of 4 GiB. Its lanes follow one another, but compiled code does
// not see that there: finding the Range, time and again, did not help, and a kernel hung whose buffer happened to lie so.
func TestEndOf4GiB(t *testing.T) {
	onEach(t, func(t *testing.T) {
		for _, w := range []int{1, 2, 4, 8, 16} {
			for _, store := range []bool{false, true} {
				f := &ir.Func{PC: 0x10000, Lanes: 64}
				b := &ir.Block{Insts: 9, Term: ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}}
				f.Blocks = []*ir.Block{b}
				add := func(v ir.Value) ir.ID { return f.Add(b, v) }
				full := add(ir.Value{Op: ir.OpConst, Type: ir.M, Imm: ^uint64(0)})
				lane := add(ir.Value{Op: ir.OpLaneID, Type: ir.V32})
				width := add(ir.Value{Op: ir.OpConst, Type: ir.S32, Imm: uint64(w)})
				off := add(ir.Value{Op: ir.OpMul, Type: ir.V32, Args: []ir.ID{lane, width}})
				off64 := add(ir.Value{Op: ir.OpZext64, Type: ir.V64, Args: []ir.ID{off}})
				base := add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 30})
				at := add(ir.Value{Op: ir.OpAdd, Type: ir.V64, Args: []ir.ID{off64, base}})
				v := ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: uint8(w), Space: ir.Global, Args: []ir.ID{ir.NoID, at, full}}
				if w > 4 {
					v.Type, v.N = ir.T, uint8(w/4)
				}
				if store {
					x := add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: 3})
					if w > 4 {
						x = add(ir.Value{Op: ir.OpTuple, Type: ir.T, N: v.N, Args: []ir.ID{x, x, x, x}[:v.N]})
					}
					v = ir.Value{Op: ir.OpStore, Width: uint8(w), Space: ir.Global, Args: append(v.Args, x)}
				}
				id := add(v)
				if !store {
					for i := range max(v.N, 1) {
						x := id
						if w > 4 {
							x = add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: uint64(i), Args: []ir.ID{id}})
						}
						add(ir.Value{Op: ir.OpVSet, Imm: uint64(i), Args: []ir.ID{x, full}})
					}
				}
				diff := diffEnginesWith(t, uint64(w), f, 12, func(g *rig) {
					g.space.va = 0x7001_0000_0000 - uint64(len(g.space.b))
					at := 0x7001_0000_0000 - uint64(64*w)
					g.w.S[30], g.w.S[31] = uint32(at), uint32(at>>32)
				})
				if len(diff) > 0 {
					t.Errorf("%d bytes, store %v: %v", w, store, diff)
				}
			}
		}
	})
}
