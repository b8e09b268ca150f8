//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// TestMasksInOrder writes masks of a region to register pairs that overlap; of each register the last write stands. (Seed 77000015463 of
// the nightly run.) Many masks, more than there are general registers to put them together in, are written too.
func TestMasksInOrder(t *testing.T) {
	onEach(t, func(t *testing.T) {
		for _, lanes := range []int{32, 64} {
			for _, at := range [][]uint64{{1, 2}, {2, 1}, {2, 2}, {4, 6, 8, 10, 12, 14, 16, 18, 20}, {4, 6, 8, 10, 12, 14, 16, 18, 17}} {
				f := &ir.Func{PC: 0x10000, Lanes: lanes}
				b := &ir.Block{Insts: 9, Term: ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}}
				f.Blocks = []*ir.Block{b}
				add := func(v ir.Value) ir.ID { return f.Add(b, v) }
				for i, n := range at {
					x := add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(i)})
					y := add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(i + 1)})
					m := add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.ULT, Args: []ir.ID{x, y}})
					add(ir.Value{Op: ir.OpMSet, Imm: n, Args: []ir.ID{m}})
				}
				for seed := range uint64(4) {
					if diff := diffEngines(t, seed, f); len(diff) > 0 {
						t.Errorf("%d lanes, masks to %v: %v", lanes, at, diff)
					}
				}
			}
		}
	})
}
