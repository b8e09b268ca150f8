//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// columnFunc is a random function of LDS stores of dwords, often several at one address: in rows and in columns, some of whose lanes
// overlap, lie over the end, are not aligned, or are off.
func columnFunc(seed uint64) *ir.Func {
	g := newBlockGen(seed, 43, 32, 64)
	r, f := g.r, g.f
	one, k := g.one, g.k
	exec := g.exec()
	lane := g.lane()
	get := g.get
	for range 1 + r.IntN(5) {
		// A lane of sixteen has step bytes more than the one before, a lane of the next sixteen up bytes more.
		row := 4
		step := []int{4, 4, 8, 12, 16, 16, 20, 32, 64, 256, 260, 0, -16, -256}[r.IntN(14)]
		up := []int{4, 4, 4, 4, 16 * step, 0, 8, 64}[r.IntN(8)]
		at := 4 * r.IntN(200)
		if step < 0 {
			at = -15*step + 4*r.IntN(20)
		}
		switch r.IntN(12) {
		case 0:
			row = 2 + r.IntN(4)
		case 1:
			at = ldsSize - 4*r.IntN(200)
		case 2:
			at = -4 * r.IntN(40)
		case 3:
			at++
		}
		x := one(ir.OpMul, ir.V32, one(ir.OpAnd, ir.V32, lane, k(1<<row-1)), k(step))
		y := one(ir.OpMul, ir.V32, one(ir.OpLShr, ir.V32, lane, k(row)), k(up))
		addr := one(ir.OpAdd, ir.V32, one(ir.OpAdd, ir.V32, x, y), k(at))
		switch r.IntN(12) {
		case 0: // two lanes change places, or have one
			n := uint64(r.IntN(f.Lanes))
			addr = one(ir.OpSelect, ir.V32, g.c(ir.M, 1<<n), k(at+int(n^1)%16*step+int(n)/16*up), addr)
		case 1:
			addr = one(ir.OpXor, ir.V32, addr, k(16))
		case 2:
			addr = g.add(ir.Value{Op: ir.OpSplat, Type: ir.V32, Args: []ir.ID{k(at)}})
		}
		if r.IntN(2) == 0 { // from a register
			g.set(11, addr, g.c(ir.M, ^uint64(0)))
			addr = get(11)
		}
		mask := exec
		switch r.IntN(12) {
		case 0:
			mask = g.c(ir.M, ^uint64(0))
		case 1:
			mask = g.c(ir.M, r.Uint64())
		case 2:
			mask = one(ir.OpMAnd, ir.M, exec, g.c(ir.M, []uint64{0xffff, 0xffff0000, 1, 0xffffffff0000ffff}[r.IntN(4)]))
		}
		for range 1 + r.IntN(3) {
			var data ir.ID
			switch r.IntN(5) {
			case 0:
				data = one(ir.OpXor, ir.V32, get(r.IntN(10)), lane)
			case 1:
				data = g.c(ir.S32, g.bits())
			case 2:
				data = g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: uint64(r.IntN(20))})
			default:
				data = get(r.IntN(10))
			}
			if f.V(data).Type == ir.S32 {
				data = one(ir.OpSplat, ir.V32, data)
			}
			g.add(ir.Value{Op: ir.OpStore, Width: 4, Space: ir.LDS, Imm: uint64(4 * r.IntN(80)), Args: []ir.ID{ir.NoID, addr, mask, data}})
			if r.IntN(6) == 0 {
				g.set(r.IntN(12), one(ir.OpAdd, ir.V32, get(r.IntN(10)), lane), exec)
			}
		}
	}
	return f
}

func TestColumns(t *testing.T) { onEach(t, testColumns) }

func testColumns(t *testing.T) {
	diffSeeds(t, fewer(2000), columnFunc, func(seed uint64) bool { return seed%8 != 0 })
}
