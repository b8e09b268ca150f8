//go:build linux && amd64

package jit

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// fillWMMA is fillMatrix, and in every third round fills with numbers of few bits and far apart, so that sums are often half-way
// between two numbers but for a bit far below, or cancel.
func fillWMMA(g *rig, m ir.Matrix, round int) {
	fillMatrix(g, m, round%8)
	if round%3 != 0 || m.A == ir.I8 {
		return
	}
	r := rand.New(rand.NewPCG(uint64(round), 4))
	half := func() uint32 {
		if m.A == ir.F16 {
			return uint32(r.IntN(2)<<15 | r.IntN(31)<<10 | r.IntN(3))
		}
		return uint32(r.IntN(2)<<15 | (127+r.IntN(41)-20)<<7 | r.IntN(2))
	}
	for n := range g.w.NVGPR {
		v := g.w.VGPR(n)
		for l := range v {
			if n < 16 {
				v[l] = half() | half()<<16
			} else {
				v[l] = uint32(r.IntN(2)<<31 | (127+r.IntN(41)-20)<<23 | r.IntN(4))
			}
		}
	}
}

// TestWMMA runs RDNA's matrix operations on numbers of every kind, with all modifiers, by both engines.
func TestWMMA(t *testing.T) { onEach(t, testWMMA) }

func testWMMA(t *testing.T) {
	round := 0
	for _, gen := range []uint8{11, 12} {
		for _, k := range []ir.Kind{ir.F16, ir.BF16, ir.I8} {
			for _, lanes := range []int{32, 64} {
				wordsA := 16 * k.Bits() / 32
				if gen == 12 {
					wordsA = wordsA * 16 / lanes
				}
				for neg := range uint8(8) {
					m := ir.Matrix{M: 16, N: 16, K: 16, Blocks: 1, A: k, C: ir.F32, WMMA: true, Gen: gen, Neg: neg, NegHi: 7 &^ neg}
					if neg&1 != 0 {
						m.NegHi = neg
					}
					if k == ir.I8 {
						m.C, m.NegHi, m.Neg = ir.I32, 0, neg&3
					}
					round++
					f := matrixFunc(m, wordsA, wordsA, 8*32/lanes, round%11 == 0)
					f.Lanes = lanes
					for i := range f.Values {
						if v := &f.Values[i]; v.Op == ir.OpConst && v.Type == ir.M {
							v.Imm = 1<<(lanes-1)<<1 - 1
						}
					}
					if err := ir.Verify(f); err != nil {
						t.Fatal(err)
					}
					p, err := Compile(f)
					if err != nil {
						t.Fatal(err)
					}
					name := fmt.Sprintf("gen %d %v wave%d neg %d %d", gen, k, lanes, m.Neg, m.NegHi)
					for _, h := range p.slots {
						if h != nil && h.always {
							t.Errorf("%s is left to the helper", name)
						}
					}
					for _, x := range diffEnginesWith(t, uint64(round), f, 64, func(w *rig) { fillWMMA(w, m, round) }) {
						t.Errorf("%s: %s", name, x)
					}
					if t.Failed() {
						return
					}
				}
			}
		}
	}
}
