//go:build linux && amd64

package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
)

// rare adds memory operations with every atomic, and flat and private accesses of every width.
func (g *gen) rare() {
	r := g.r
	m := g.pick(ir.M)
	base := g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 30})
	space := []ir.Space{ir.LDS, ir.Global, ir.Flat}[r.IntN(3)]
	atomic := r.IntN(2) == 0
	if !atomic && r.IntN(2) == 0 {
		space = ir.Scratch
	}
	w := []int{1, 2, 4, 8, 12, 16}[r.IntN(6)]
	if atomic {
		w = 4 + 4*r.IntN(2)
	}
	v := ir.Value{Space: space, Width: uint8(w), Sign: r.IntN(2) == 0, Imm: uint64(r.IntN(64) * 4)}
	off := g.address(ldsSize, w)
	if space != ir.LDS || r.IntN(2) == 0 {
		align := uint64(w - 1)
		if w == 12 || w == 16 {
			align = 3
		}
		if r.IntN(8) == 0 {
			align = 0
		}
		off = g.add(ir.Value{Op: ir.OpAnd, Type: ir.V32, Args: []ir.ID{off, g.c(ir.S32, 0xfff&^align)}})
	}
	b := ir.NoID
	switch space {
	case ir.Global:
		b = base
		if r.IntN(3) == 0 { // one address for all
			off = ir.NoID
		}
	case ir.Flat:
		to := func() ir.ID {
			return g.add(ir.Value{Op: ir.OpAdd, Type: ir.V64, Args: []ir.ID{g.add(ir.Value{Op: ir.OpZext64, Type: ir.V64, Args: []ir.ID{off}}),
				[]ir.ID{g.c(ir.S64, sharedBase), g.c(ir.S64, privateBase), base}[r.IntN(3)]}})
		}
		x := to()
		if r.IntN(3) == 0 {
			x = g.add(ir.Value{Op: ir.OpSelect, Type: ir.V64, Args: []ir.ID{g.pick(ir.M), x, to()}})
		}
		off = x
	}
	value := func() ir.ID {
		switch {
		case w <= 4:
			if r.IntN(4) == 0 {
				return g.add(ir.Value{Op: ir.OpSplat, Type: ir.V32, Args: []ir.ID{g.pick(ir.S32)}})
			}
			return g.pick(ir.V32)
		case w == 8 && (atomic || r.IntN(2) == 0):
			return g.pick(ir.V64)
		}
		var args []ir.ID
		for range w / 4 {
			args = append(args, g.pick(ir.V32))
		}
		return g.add(ir.Value{Op: ir.OpTuple, Type: ir.T, N: uint8(w / 4), Args: args})
	}
	if atomic {
		v.Op, v.Atomic = ir.OpAtomic, ir.AtomicOp(r.IntN(int(ir.AtomicWrap)+1))
		t := ir.V32
		if w == 8 {
			t = ir.V64
		}
		switch v.Atomic {
		case ir.AtomicFAdd, ir.AtomicFMin, ir.AtomicFMax:
			v.Kind, v.FP = []ir.Kind{ir.F32, ir.F64}[w/8], ir.FPIEEE
		case ir.AtomicPkFAdd:
			v.Kind, v.FP = ir.F16, ir.FPIEEE
			v.Width, t = 4, ir.V32
			w = 4
		}
		if r.IntN(2) == 0 {
			v.Type, v.Order = t, ir.OrderReturn
		}
		v.Args = []ir.ID{b, off, m, g.pick(t), g.pick(t)}
		g.add(v)
		return
	}
	if r.IntN(2) == 0 {
		v.Op, v.Args = ir.OpStore, []ir.ID{b, off, m, value()}
		g.add(v)
		return
	}
	v.Op, v.Args = ir.OpLoad, []ir.ID{b, off, m}
	switch {
	case w <= 4:
		v.Type = ir.V32
	case w == 8 && r.IntN(2) == 0:
		v.Type = ir.V64
	default:
		v.Type, v.N = ir.T, uint8(w/4)
	}
	id := g.add(v)
	for i := range v.N {
		g.add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: uint64(i), Args: []ir.ID{id}})
	}
}
