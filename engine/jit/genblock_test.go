//go:build linux && amd64

package jit

import (
	"math/rand/v2"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// newBlockGen begins a random function of one block, of a wave with as many lanes as one of lanes says. Each kind of function has a stream
// of numbers of its own.
func newBlockGen(seed, stream uint64, lanes ...int) *gen {
	r := rand.New(rand.NewPCG(seed, stream))
	f := &ir.Func{PC: 0x10000, Lanes: lanes[r.IntN(len(lanes))]}
	b := &ir.Block{Insts: 9, Term: ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}}
	f.Blocks = []*ir.Block{b}
	return &gen{r: r, f: f, b: b, nv: 12, by: map[ir.Type][]ir.ID{}}
}

// one adds an operation that has arguments only.
func (g *gen) one(op ir.Op, t ir.Type, args ...ir.ID) ir.ID {
	return g.add(ir.Value{Op: op, Type: t, Args: args})
}

// k is x as a scalar.
func (g *gen) k(x int) ir.ID { return g.c(ir.S32, uint64(uint32(x))) }

func (g *gen) lane() ir.ID { return g.add(ir.Value{Op: ir.OpLaneID, Type: ir.V32}) }
func (g *gen) exec() ir.ID {
	return g.add(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: isa.SRegEXECLo})
}

// get reads a VGPR.
func (g *gen) get(n int) ir.ID {
	return g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(n)})
}

// set writes a VGPR in the lanes of mask.
func (g *gen) set(n int, x, mask ir.ID) {
	g.add(ir.Value{Op: ir.OpVSet, Imm: uint64(n), Args: []ir.ID{x, mask}})
}
