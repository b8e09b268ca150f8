//go:build linux && amd64

package jit

import (
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// TestScaledDivision has v_div_fmas among other operations of a region, for lanes that are to be scaled and others, in a loop over strips and in one
// whose registers stay in the host's.
func TestScaledDivision(t *testing.T) {
	onEach(t, func(t *testing.T) {
		bad := 0
		for seed := range fewer(200) {
			if f := scaledFunc(seed); !compare(t, seed, f) {
				if bad++; bad > 3 {
					t.Fatal("too many differences")
				}
			}
		}
	})
}

// scaledFunc divides several numbers at once, f32 or f64, by turns near 1 and far from it.
func scaledFunc(seed uint64) *ir.Func {
	f := divisionFunc(seed)
	b := f.Blocks[0]
	r := rand.New(rand.NewPCG(seed, 77))
	g := &gen{r: r, f: f, b: b, nv: 12, by: map[ir.Type][]ir.ID{}}
	kind, t := ir.F32, ir.V32
	var last ir.ID
	for id := range f.Values {
		if v := &f.Values[id]; v.Op == ir.OpFDivScale || v.Op == ir.OpFDivFixup || v.Op == ir.OpFDivScaleVCC {
			kind, last = v.Kind, ir.ID(id)
			if kind == ir.F64 {
				t = ir.V64
			}
		}
	}
	a := f.Values[last].Args
	mask := g.add(ir.Value{Op: ir.OpFDivScaleVCC, Type: ir.M, Kind: kind, FP: ir.FPIEEE, Args: []ir.ID{a[2], a[1], a[2]}})
	switch r.IntN(4) {
	case 0:
		mask = g.add(ir.Value{Op: ir.OpMNot, Type: ir.M, Args: []ir.ID{mask}})
	case 1:
		mask = g.add(ir.Value{Op: ir.OpConst, Type: ir.M, Imm: r.Uint64() >> (64 - f.Lanes)})
	}
	out := uint64(6)
	for range 1 + r.IntN(3) {
		v := ir.Value{Op: ir.OpFDivFmas, Type: t, Kind: kind, FP: ir.FPIEEE, Args: []ir.ID{a[r.IntN(3)], a[r.IntN(3)], a[r.IntN(3)], mask}}
		x := g.add(v)
		if r.IntN(2) == 0 {
			x = g.add(ir.Value{Op: ir.OpFAdd, Type: t, Kind: kind, FP: ir.FPIEEE, Args: []ir.ID{x, a[1]}})
		}
		parts := []ir.ID{x}
		if t == ir.V64 {
			parts = []ir.ID{g.add(ir.Value{Op: ir.OpLo, Type: ir.V32, Args: []ir.ID{x}}), g.add(ir.Value{Op: ir.OpHi, Type: ir.V32, Args: []ir.ID{x}})}
		}
		for _, p := range parts {
			g.add(ir.Value{Op: ir.OpVSet, Imm: out % 12, Args: []ir.ID{p, g.c(ir.M, ^uint64(0))}})
			out++
		}
	}
	return f
}
