//go:build linux && amd64

package jit

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// memFormFunc is a random function of memory operations whose lanes have addresses of their own: LDS atomics, flat accesses of the LDS
// and of both, gathers and scatters; all lanes active or some; ends of the LDS and of the memory are met.
func memFormFunc(seed uint64) *ir.Func {
	g := newBlockGen(seed, 31, 32, 64)
	r, f, one := g.r, g.f, g.one
	for n := range uint64(8) {
		g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: n})
	}
	exec := g.exec()
	base := g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 30})
	mask := func() ir.ID {
		switch r.IntN(4) {
		case 0:
			return exec
		case 1:
			return one(ir.OpICmp, ir.M, g.pick(ir.V32), g.pick(ir.V32))
		}
		return g.c(ir.M, ^uint64(0))
	}
	random := func(size uint32, w int) ir.ID {
		if r.IntN(2) == 0 {
			return g.address(size, w)
		}
		return one(ir.OpAnd, ir.V32, one(ir.OpMul, ir.V32, g.pick(ir.V32), g.c(ir.S32, 0x9e3779b1)), g.c(ir.S32, uint64(size-1)&^uint64(r.IntN(2)*3)))
	}
	out := uint64(0)
	keep := func(v ir.Value) {
		id := g.add(v)
		for i := range max(v.N, 1) {
			x := id
			switch v.Type {
			case ir.T:
				x = g.add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: uint64(i), Args: []ir.ID{id}})
			case ir.V64:
				x = one(ir.OpHi, ir.V32, id)
			}
			g.add(ir.Value{Op: ir.OpVSet, Imm: out % 12, Args: []ir.ID{x, g.c(ir.M, ^uint64(0))}})
			out++
		}
	}
	for range 2 + r.IntN(6) {
		m := mask()
		imm := uint64(0)
		if r.IntN(2) == 0 {
			imm = uint64(r.IntN(1 << r.IntN(13)))
		}
		data := g.pick(ir.V32)
		if r.IntN(3) == 0 {
			data = one(ir.OpSplat, ir.V32, g.pick(ir.S32))
		}
		switch r.IntN(6) {
		case 0, 1: // LDS atomic, result unwanted
			op := []ir.AtomicOp{ir.AtomicAdd, ir.AtomicSub, ir.AtomicAnd, ir.AtomicOr, ir.AtomicXor}[r.IntN(5)]
			g.add(ir.Value{Op: ir.OpAtomic, Width: 4, Space: ir.LDS, Atomic: op, Imm: imm, Args: []ir.ID{ir.NoID, random(ldsSize, 4), m, data, data}})
		case 2, 3: // flat
			p := one(ir.OpPair, ir.V64, random(ldsSize, 4), g.c(ir.V32, sharedBase>>32))
			if r.IntN(2) == 0 {
				p = one(ir.OpAdd, ir.V64, one(ir.OpZext64, ir.V64, random(ldsSize, 4)), g.c(ir.S64, sharedBase))
			}
			if r.IntN(4) == 0 {
				q := one(ir.OpAdd, ir.V64, one(ir.OpZext64, ir.V64, random(memSize, 4)), base)
				p = one(ir.OpSelect, ir.V64, mask(), p, q)
			}
			w := uint8(4 * (1 + r.IntN(4)))
			switch {
			case r.IntN(2) == 0:
				g.add(ir.Value{Op: ir.OpStore, Width: 4, Space: ir.Flat, Imm: imm, Args: []ir.ID{ir.NoID, p, m, data}})
			case w == 4:
				keep(ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: 4, Space: ir.Flat, Imm: imm, Args: []ir.ID{ir.NoID, p, m}})
			default:
				keep(ir.Value{Op: ir.OpLoad, Type: ir.T, N: w / 4, Width: w, Space: ir.Flat, Imm: imm, Args: []ir.ID{ir.NoID, p, m}})
			}
		default: // global
			size := uint32(memSize)
			if r.IntN(8) == 0 {
				size *= 4 // some lanes fault
			}
			v := ir.Value{Width: []uint8{1, 2, 4, 4, 4, 8, 12, 16}[r.IntN(8)], Space: ir.Global, Imm: imm, Sign: r.IntN(2) == 0}
			off, bs := random(size, int(v.Width)), base
			switch r.IntN(3) {
			case 0:
				off = one(ir.OpZext64, ir.V64, off)
			case 1:
				off, bs = one(ir.OpAdd, ir.V64, one(ir.OpZext64, ir.V64, off), base), ir.NoID
			}
			v.Args = []ir.ID{bs, off, m}
			v.Type = ir.V32
			switch {
			case v.Width == 8:
				v.Type = ir.V64
				data = one(ir.OpPair, ir.V64, g.pick(ir.V32), g.pick(ir.V32))
			case v.Width > 8:
				v.Type, v.N = ir.T, v.Width/4
				var xs []ir.ID
				for range v.N {
					xs = append(xs, g.pick(ir.V32))
				}
				data = g.add(ir.Value{Op: ir.OpTuple, Type: ir.T, N: v.N, Args: xs})
			default:
				data = g.pick(ir.V32)
			}
			if r.IntN(2) == 0 {
				v.Op = ir.OpLoad
				keep(v)
			} else {
				v.Op, v.Type, v.N, v.Args = ir.OpStore, ir.Void, 0, append(v.Args, data)
				g.add(v)
			}
		}
	}
	return f
}

func TestMemoryForms(t *testing.T) { onEach(t, testMemoryForms) }

func testMemoryForms(t *testing.T) {
	diffSeeds(t, fewer(500), memFormFunc, func(seed uint64) bool { return seed%2 == 0 })
}

// diffSeeds compares the engines on the functions of n seeds, or of the one in SEED; where full says so all lanes are active, else those
// that the rig picks.
func diffSeeds(t *testing.T, n uint64, function func(seed uint64) *ir.Func, full func(seed uint64) bool) {
	first := uint64(0)
	if s, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		first, n = s, 1
		t.Log("\n" + function(s).String())
	}
	bad := 0
	for seed := first; seed < first+n; seed++ {
		f := function(seed)
		if err := ir.Verify(f); err != nil {
			t.Fatalf("seed %d: bad test: %v", seed, err)
		}
		diff := diffEnginesWith(t, seed, f, 12, func(g *rig) {
			if seed%3 == 0 { // memory in pieces that are not contiguous here
				g.space.scatter()
			}
			if full(seed) {
				g.w.SetEXEC(^uint64(0))
			}
		})
		if len(diff) > 0 {
			t.Errorf("seed %d, %d lanes:\n  %s", seed, f.Lanes, strings.Join(diff, "\n  "))
			if bad++; bad > 5 {
				t.Fatal("too many differences")
			}
		}
	}
}
