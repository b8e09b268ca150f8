//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// oneFunc is a random function of what ldsone.go and its neighbours do: LDS stores of all widths where address and data are per lane,
// uniform or constant, bpermute of one lane, and the apertures' register.
func oneFunc(seed uint64) *ir.Func {
	g := newBlockGen(seed, 91, 32, 64)
	r, f, one := g.r, g.f, g.one
	dword := func() ir.ID {
		switch r.IntN(4) {
		case 0:
			return g.c(ir.S32, g.bits())
		case 1:
			return g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: uint64(r.IntN(20))})
		case 2:
			return one(ir.OpSplat, ir.V32, g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: uint64(r.IntN(20))}))
		}
		return g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(r.IntN(12))})
	}
	splat := func(x ir.ID) ir.ID {
		if f.V(x).Type == ir.S32 {
			return one(ir.OpSplat, ir.V32, x)
		}
		return x
	}
	near := func() ir.ID { // often in the LDS, sometimes about its end
		x := one(ir.OpAnd, ir.S32, g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: uint64(r.IntN(20))}), g.c(ir.S32, ldsSize*2-1))
		switch r.IntN(5) {
		case 0:
			return g.c(ir.S32, uint64(r.Uint32N(ldsSize+16)))
		case 1:
			return g.c(ir.S32, uint64(-r.Uint32N(32)))
		case 2:
			return one(ir.OpSplat, ir.V32, x)
		case 3:
			return g.address(ldsSize, 8)
		}
		return x
	}
	for i := range uint64(3 + r.IntN(6)) {
		m := g.add(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: uint64(2 * r.IntN(10))})
		if r.IntN(3) == 0 {
			m = g.c(ir.M, []uint64{0, 1 << 5, ^uint64(0)}[r.IntN(3)])
		}
		full := g.c(ir.M, ^uint64(0))
		switch r.IntN(6) {
		case 0:
			x := one(ir.OpBPermute, ir.V32, g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(r.IntN(12))}), dword(), m)
			g.add(ir.Value{Op: ir.OpVSet, Imm: i % 12, Args: []ir.ID{x, full}})
		case 1:
			x := g.add(ir.Value{Op: ir.OpHWGet, Type: ir.S32, Imm: hwSHMemBases})
			g.add(ir.Value{Op: ir.OpSSet, Imm: 20 + i, Args: []ir.ID{x}})
		default:
			v := ir.Value{Op: ir.OpStore, Space: ir.LDS, Width: []uint8{1, 2, 4, 8, 12, 16, 8}[r.IntN(7)], Imm: uint64(r.IntN(4) * 4)}
			var data ir.ID
			switch {
			case v.Width <= 4:
				data = splat(dword())
			case v.Width == 8 && r.IntN(2) == 0:
				data = []ir.ID{g.c(ir.S64, r.Uint64()), g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 4}), one(ir.OpPair, ir.V64, splat(dword()), splat(dword())),
					one(ir.OpAdd, ir.V64, one(ir.OpZext64, ir.V64, splat(dword())), g.c(ir.S64, 0x123456789))}[r.IntN(4)]
				if f.V(data).Type == ir.S64 {
					data = one(ir.OpSplat, ir.V64, data)
				}
			default:
				var l []ir.ID
				for range v.Width / 4 {
					l = append(l, splat(dword()))
				}
				data = g.add(ir.Value{Op: ir.OpTuple, Type: ir.T, N: v.Width / 4, Args: l})
			}
			v.Args = []ir.ID{ir.NoID, near(), m, data}
			g.add(v)
		}
	}
	return f
}

// TestOneForAll compares what is done once for all lanes with the interpreter; nothing of it is left to the helper.
func TestOneForAll(t *testing.T) {
	onEach(t, func(t *testing.T) {
		for seed := range fewer(400) {
			f := oneFunc(seed)
			if err := ir.Verify(f); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if p, err := CompileWith(f, Options{AVX2: hostAVX2}); err != nil || p.helpers > 0 {
				t.Fatalf("seed %d: %v, %d by the helper\n%s", seed, err, p.helpers, f)
			}
			if diff := diffEnginesWith(t, seed, f, 12, func(g *rig) { g.w.Env = &plainEnv{} }); len(diff) > 0 {
				t.Fatalf("seed %d: %v\n%s", seed, diff, f)
			}
		}
	})
}
