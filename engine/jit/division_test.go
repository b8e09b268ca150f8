//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// divisionFunc has the steps of a division on operands that are near 1 in all lanes, or in most of them, about the border of near, or far
// from it.
func divisionFunc(seed uint64) *ir.Func {
	g := newBlockGen(seed, 51, 32, 64)
	r, f, one := g.r, g.f, g.one
	lane := one(ir.OpLaneID, ir.V32)
	kind, t := ir.F32, ir.V32
	if r.IntN(2) == 0 {
		kind, t = ir.F64, ir.V64
	}
	number := func(reg uint64) ir.ID {
		x := g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: reg})
		sign := one(ir.OpAnd, ir.V32, x, g.c(ir.S32, 0x807fffff))
		from, width := 95+r.IntN(60), 4
		if kind == ir.F64 {
			sign = one(ir.OpAnd, ir.V32, x, g.c(ir.S32, 0x800fffff))
			from, width = 767+r.IntN(500), 12
		}
		switch r.IntN(4) {
		case 0: // about the border
			from -= 8
		case 1: // all lanes far off
			from = 1 + r.IntN(230)
			if kind == ir.F64 {
				from = 1 + r.IntN(2030)
			}
		}
		e := one(ir.OpAdd, ir.V32, one(ir.OpAnd, ir.V32, lane, g.c(ir.S32, uint64(width-1))), g.c(ir.S32, uint64(from)))
		shift := uint64(23)
		if kind == ir.F64 {
			shift = 20
		}
		hi := one(ir.OpOr, ir.V32, sign, one(ir.OpShl, ir.V32, e, g.c(ir.S32, shift)))
		n := hi
		if kind == ir.F64 {
			n = one(ir.OpPair, ir.V64, g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: reg + 1}), hi)
		}
		if r.IntN(3) == 0 { // one lane is something else
			m := one(ir.OpICmp, ir.M, lane, g.c(ir.S32, uint64(r.IntN(f.Lanes))))
			n = one(ir.OpSelect, t, m, g.c(t, g.bits()), n)
		}
		return n
	}
	out := uint64(0)
	keep := func(id ir.ID) {
		if f.V(id).Type == ir.M {
			id = one(ir.OpMToV, ir.V32, id)
		}
		parts := []ir.ID{id}
		if f.V(id).Type == ir.V64 {
			parts = []ir.ID{one(ir.OpLo, ir.V32, id), one(ir.OpHi, ir.V32, id)}
		}
		for _, x := range parts {
			g.add(ir.Value{Op: ir.OpVSet, Imm: out % 12, Args: []ir.ID{x, g.c(ir.M, ^uint64(0))}})
			out++
		}
	}
	num, den, quo := number(0), number(2), number(4)
	fp := ir.FPIEEE
	for range 4 {
		v := ir.Value{Op: ir.OpFDivScale, Type: t, Kind: kind, FP: fp, Args: []ir.ID{den, den, num}}
		switch r.IntN(5) {
		case 0:
			v.Args[0] = num
		case 1:
			v.Args[0] = quo
		case 2:
			v.Op, v.Type = ir.OpFDivScaleVCC, ir.M
		case 3:
			v.Op, v.Args[0] = ir.OpFDivFixup, quo
		}
		keep(g.add(v))
	}
	return f
}

func TestDivision(t *testing.T) { onEach(t, testDivision) }

func testDivision(t *testing.T) {
	bad := 0
	for seed := range fewer(300) {
		if !compare(t, seed, divisionFunc(seed)) {
			if bad++; bad > 5 {
				t.Fatal("too many differences")
			}
		}
	}
}
