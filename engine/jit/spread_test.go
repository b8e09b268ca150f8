//go:build linux && amd64

package jit

import (
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// TestScalarFloats compares floating-point operations on scalar registers with the interpreter, in all rounding modes; few are left to the helper.
func TestScalarFloats(t *testing.T) {
	onEach(t, func(t *testing.T) {
		for seed := range fewer(200) {
			r := rand.New(rand.NewPCG(seed, 17))
			f := &ir.Func{PC: 0x10000, Lanes: []int{32, 64}[r.IntN(2)]}
			b := &ir.Block{Insts: 9, Term: ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}}
			f.Blocks = []*ir.Block{b}
			g := &gen{r: r, f: f, b: b, nv: 12, by: map[ir.Type][]ir.ID{}}
			arg := func() ir.ID {
				if r.IntN(3) == 0 {
					return g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: uint64(r.IntN(20))})
				}
				return g.pick(ir.S32)
			}
			unary := []ir.Op{ir.OpFTrunc, ir.OpFCeil, ir.OpFFloor, ir.OpFRndne, ir.OpFRcp, ir.OpFRsq, ir.OpFSqrt, ir.OpFExp2, ir.OpFLog2}
			binary := []ir.Op{ir.OpFAdd, ir.OpFSub, ir.OpFMul, ir.OpFMin, ir.OpFMax}
			for i := range uint64(4 + r.IntN(12)) {
				v := ir.Value{Type: ir.S32, Kind: []ir.Kind{ir.F32, ir.F32, ir.F16}[r.IntN(3)], FP: ir.FPIEEE | ir.FP(r.IntN(4))}
				switch r.IntN(6) {
				case 0:
					v.Op, v.Args = unary[r.IntN(len(unary))], []ir.ID{arg()}
				case 1, 2:
					v.Op, v.Args = binary[r.IntN(len(binary))], []ir.ID{arg(), arg()}
				case 3:
					v.Op, v.Args = ir.OpFMA, []ir.ID{arg(), arg(), arg()}
				case 4:
					v.Op, v.Type, v.Pred, v.Args = ir.OpFCmp, ir.S1, floatPreds[r.IntN(len(floatPreds))], []ir.ID{arg(), arg()}
				default:
					c := [][2]ir.Kind{{ir.I32, ir.F32}, {ir.U32, ir.F32}, {ir.F32, ir.I32}, {ir.F32, ir.U32}, {ir.F16, ir.F32}, {ir.F32, ir.F16}}[r.IntN(6)]
					v.Op, v.From, v.Kind, v.Args = ir.OpCvt, c[0], c[1], []ir.ID{arg()}
				}
				id := g.add(v)
				if v.Type == ir.S1 {
					id = g.add(ir.Value{Op: ir.OpBToS, Type: ir.S32, Args: []ir.ID{id}})
				}
				g.add(ir.Value{Op: ir.OpSSet, Imm: i % 40, Args: []ir.ID{id}})
			}
			if err := ir.Verify(f); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			p, err := CompileWith(f, Options{AVX2: hostAVX2})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for id, h := range p.slots {
				// f16's transcendental operations have no vector form either.
				if v := f.V(ir.ID(id)); h != nil && h.always && v.Kind != ir.F16 {
					t.Errorf("seed %d: %s is left to the helper", seed, OpText(f, ir.ID(id)))
				}
			}
			if diff := diffEngines(t, seed, f); len(diff) > 0 {
				t.Fatalf("seed %d: %v\n%s", seed, diff, f)
			}
		}
	})
}
