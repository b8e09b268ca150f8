//go:build linux && amd64

package jit

import (
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// TestTinyProducts runs CDNA3's bf16 on numbers whose products are below f32's, with zeros among them: where a group's largest
// exponent is that of a zero.
func TestTinyProducts(t *testing.T) { onEach(t, testTinyProducts) }

func testTinyProducts(t *testing.T) {
	m := ir.Matrix{M: 16, N: 16, K: 16, Blocks: 1, A: ir.BF16, C: ir.F32, Gen: 3}
	for round := range uint64(6) {
		f := matrixFunc(m, 2, 2, 4, false)
		for _, x := range diffEnginesWith(t, round, f, 64, func(g *rig) {
			r := rand.New(rand.NewPCG(round, 5))
			half := func() uint32 {
				if r.IntN(60) < int(round) {
					return uint32(r.IntN(2) << 15)
				}
				return uint32(r.IntN(2)<<15 | (40+r.IntN(26))<<7 | r.IntN(128))
			}
			for n := range g.w.NVGPR {
				v := g.w.VGPR(n)
				for l := range v {
					v[l] = half() | half()<<16
					if n >= 16 {
						v[l] = uint32(r.IntN(2)<<31 | r.IntN(3)<<22 | r.IntN(8)*r.IntN(2))
					}
				}
			}
		}) {
			t.Fatalf("round %d: %s", round, x)
		}
	}
}
