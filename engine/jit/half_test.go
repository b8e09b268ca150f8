//go:build linux && amd64

package jit

import (
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// TestHalf tries the operations that round twice on f16 numbers that are hard to round: every number for those of one
// argument, and sums close to half-way for fused multiply-adds.
func TestHalf(t *testing.T) {
	needJIT(t)
	r := rand.New(rand.NewPCG(16, 16))
	for _, e := range []ir.FP{ir.FPIEEE, ir.FPIEEE | 1, ir.FPIEEE | 2, ir.FPIEEE | 3} {
		for _, op := range []ir.Op{ir.OpFSqrt, ir.OpFRcp, ir.OpFTrunc, ir.OpFRndne, ir.OpFCanon} {
			checkFloat(t, r, ir.Value{Op: op, Kind: ir.F16, FP: e}, 1, 1024, func(_, n, l int) uint64 { return uint64(n*64 + l) })
		}
		checkFloat(t, r, ir.Value{Op: ir.OpFMA, Kind: ir.F16, FP: e}, 3, 200, func(i, _, _ int) uint64 {
			x := uint64(r.IntN(2)<<15 | r.IntN(31)<<10 | r.IntN(8))
			if i < 2 {
				x |= uint64(r.IntN(2)) << 9
			}
			return x
		})
	}
}
