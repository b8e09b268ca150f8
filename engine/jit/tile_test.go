//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// tileFunc is a random function of loads and stores as tiled kernels have them: a lane's address is the sum of a step in its row, and of one
// from row to row. Strips of the wave have the same addresses or rows of their own, all at one place or elements one after the other; some lie
// over the end.
func tileFunc(seed uint64) *ir.Func {
	g := newBlockGen(seed, 37, 32, 64, 64)
	r, f := g.r, g.f
	one, k := g.one, g.k
	exec := g.exec()
	base := g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 30})
	lane := g.lane()
	data := []ir.ID{g.get(0), g.get(1)}
	address := func(size int) ir.ID {
		row := []int{4, 4, 4, 5, 3, 6}[r.IntN(6)]
		step := []int{0, 4, 4, 8, 12, 16, 16, 256, 4096}[r.IntN(9)]
		up := []int{0, 0, 4, 16, 64, 256, 1024, size / 4}[r.IntN(8)]
		x := one(ir.OpMul, ir.V32, one(ir.OpAnd, ir.V32, lane, k(1<<row-1)), k(step))
		y := one(ir.OpMul, ir.V32, one(ir.OpLShr, ir.V32, lane, k(row)), k(up))
		at := 4 * r.IntN(size/8)
		switch r.IntN(12) {
		case 0:
			at = size - 4*r.IntN(80) // some lanes lie over the end
		case 1:
			at = -4 * r.IntN(80) // or wrap to the start
		case 2:
			at++
		}
		return one(ir.OpAdd, ir.V32, one(ir.OpAdd, ir.V32, x, y), k(at))
	}
	out := 0
	keep := func(x ir.ID) {
		g.set(2+out%10, x, exec)
		out++
		data = append(data, x)
	}
	places := []ir.ID{address(ldsSize), address(ldsSize)}
	for range 3 + r.IntN(5) {
		switch r.IntN(8) {
		default:
			n := 1 + r.IntN(4)
			v := ir.Value{Op: ir.OpLoad, Type: ir.T, N: uint8(n), Width: uint8(4 * n), Space: ir.LDS, Imm: uint64(4 * r.IntN(256)),
				Args: []ir.ID{ir.NoID, places[r.IntN(2)], exec}}
			if n == 1 {
				v.Type, v.N = ir.V32, 0
			}
			id := g.add(v)
			for i := range n {
				x := id
				if n > 1 {
					x = g.add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: uint64(i), Args: []ir.ID{id}})
				}
				keep(one(ir.OpXor, ir.V32, x, data[r.IntN(len(data))]))
			}
		case 0:
			places[r.IntN(2)] = one(ir.OpAdd, ir.V32, places[r.IntN(2)], k(4*r.IntN(600)))
		case 1: // in columns too
			g.add(ir.Value{Op: ir.OpStore, Width: 4, Space: ir.LDS, Imm: uint64(4 * r.IntN(64)), Args: []ir.ID{ir.NoID, address(ldsSize), exec, data[r.IntN(len(data))]}})
		case 2, 3:
			w := []int{1, 2, 4, 4, 4, 8, 8, 12, 16}[r.IntN(9)]
			v := ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: uint8(w), Space: ir.Global, Imm: uint64(4 * r.IntN(64))}
			off := address(memSize)
			switch r.IntN(3) {
			case 0:
				v.Args = []ir.ID{base, off, exec}
			case 1:
				v.Args = []ir.ID{base, one(ir.OpZext64, ir.V64, off), exec}
			default:
				v.Args = []ir.ID{ir.NoID, one(ir.OpAdd, ir.V64, one(ir.OpZext64, ir.V64, off), base), exec}
			}
			if w > 4 {
				v.Type, v.N = ir.T, uint8(w/4)
			}
			id := g.add(v)
			for i := range max(1, w/4) {
				x := id
				if w > 4 {
					x = g.add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: uint64(i), Args: []ir.ID{id}})
				}
				keep(x)
			}
		}
	}
	return f
}

func TestTiles(t *testing.T) { onEach(t, testTiles) }

func testTiles(t *testing.T) {
	diffSeeds(t, fewer(600), tileFunc, func(seed uint64) bool { return seed%4 != 0 })
}
