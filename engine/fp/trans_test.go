package fp

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// TestTranscendental compares with package math: nearly always the nearest f32, never farther than the next one.
func TestTranscendental(t *testing.T) {
	turns := func(f func(float64) float64) func(float64) float64 {
		return func(x float64) float64 { return f(2 * math.Pi * (x - math.RoundToEven(x))) }
	}
	for _, c := range []struct {
		name string
		op   func(ir.Kind, ir.FP, uint64) uint64
		ref  func(float64) float64
		lo   float64
		hi   float64
	}{
		{"exp2", Exp2, math.Exp2, -126, 128}, {"log2", Log2, math.Log2, 0x1p-126, 1e30}, {"log2 near 1", Log2, math.Log2, 0.9, 1.1},
		{"sin", Sin, turns(math.Sin), -4, 4}, {"cos", Cos, turns(math.Cos), -4, 4},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		off := 0
		const n = 200_000
		for range n {
			x := float32(c.lo + (c.hi-c.lo)*r.Float64())
			got := math.Float32frombits(uint32(c.op(ir.F32, 0, uint64(math.Float32bits(x)))))
			want := c.ref(float64(x))
			if c.name[0] != 'e' && math.Abs(want) < 1e-5 { // package math's own error shows
				continue
			}
			if near := float32(want); got != near {
				if off++; math.Nextafter32(near, got) != got {
					t.Fatalf("%s(%g) = %g, want %g", c.name, x, got, want)
				}
			}
		}
		if off > n/10_000 {
			t.Errorf("%s: %d of %d are not the nearest number", c.name, off, n)
		}
	}
}
