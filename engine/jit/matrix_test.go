//go:build linux && amd64

package jit

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// matrixShapes are instructions that random programs have: of each kind of arithmetic some. B is of A's kind if it has none, and as long if
// its words are not given. A sparse A has its indices behind it, a scaled operand its scales.
var matrixShapes = []struct {
	m              ir.Matrix
	wordsA, wordsC int
	wordsB         int
}{
	{ir.Matrix{M: 32, N: 32, K: 1, Blocks: 2, A: ir.F32, C: ir.F32, Gen: 2}, 1, 32, 0},
	{ir.Matrix{M: 16, N: 16, K: 1, Blocks: 4, A: ir.F32, C: ir.F32, Gen: 1}, 1, 16, 0},
	{ir.Matrix{M: 32, N: 32, K: 2, Blocks: 1, A: ir.F32, C: ir.F32, Gen: 3}, 1, 16, 0},
	{ir.Matrix{M: 16, N: 16, K: 4, Blocks: 1, A: ir.F32, C: ir.F32, Gen: 2}, 1, 4, 0},
	{ir.Matrix{M: 16, N: 16, K: 4, Blocks: 1, A: ir.F64, C: ir.F64, Gen: 2}, 2, 8, 0},
	{ir.Matrix{M: 32, N: 32, K: 8, Blocks: 1, A: ir.F16, C: ir.F32, Gen: 2}, 2, 16, 0},
	{ir.Matrix{M: 16, N: 16, K: 16, Blocks: 1, A: ir.F16, C: ir.F32, Gen: 2}, 2, 4, 0},
	{ir.Matrix{M: 16, N: 16, K: 4, Blocks: 4, A: ir.F16, C: ir.F32, Gen: 2}, 2, 16, 0},
	{ir.Matrix{M: 32, N: 32, K: 4, Blocks: 1, A: ir.BF16, C: ir.F32, Gen: 2}, 1, 16, 0},
	{ir.Matrix{M: 16, N: 16, K: 8, Blocks: 1, A: ir.BF16, C: ir.F32, Gen: 2}, 1, 4, 0},
	{ir.Matrix{M: 32, N: 32, K: 8, Blocks: 1, A: ir.BF16, C: ir.F32, Gen: 2}, 2, 16, 0},
	{ir.Matrix{M: 16, N: 16, K: 16, Blocks: 1, A: ir.BF16, C: ir.F32, Gen: 2}, 2, 4, 0},
	{ir.Matrix{M: 32, N: 32, K: 8, Blocks: 1, A: ir.I8, C: ir.I32, Gen: 2}, 1, 16, 0},
	{ir.Matrix{M: 16, N: 16, K: 16, Blocks: 1, A: ir.I8, C: ir.I32, Gen: 2}, 1, 4, 0},
	{ir.Matrix{M: 32, N: 32, K: 8, Blocks: 1, A: ir.F16, C: ir.F32, Gen: 3}, 2, 16, 0},
	{ir.Matrix{M: 16, N: 16, K: 16, Blocks: 1, A: ir.F16, C: ir.F32, Gen: 3}, 2, 4, 0},
	{ir.Matrix{M: 16, N: 16, K: 4, Blocks: 4, A: ir.F16, C: ir.F32, Gen: 3}, 2, 16, 0},
	{ir.Matrix{M: 32, N: 32, K: 8, Blocks: 1, A: ir.BF16, C: ir.F32, Gen: 3}, 2, 16, 0},
	{ir.Matrix{M: 16, N: 16, K: 16, Blocks: 1, A: ir.BF16, C: ir.F32, Gen: 3}, 2, 4, 0},
	{ir.Matrix{M: 32, N: 32, K: 16, Blocks: 1, A: ir.I8, C: ir.I32, Gen: 3}, 2, 16, 0},
	{ir.Matrix{M: 16, N: 16, K: 32, Blocks: 1, A: ir.I8, C: ir.I32, Gen: 3}, 2, 4, 0},
	{ir.Matrix{M: 32, N: 32, K: 8, Blocks: 1, A: ir.F16, C: ir.F32, Gen: 1}, 2, 16, 0},
	{ir.Matrix{M: 16, N: 16, K: 8, Blocks: 1, A: ir.BF16, C: ir.F32, Gen: 1}, 1, 4, 0},
	{ir.Matrix{M: 16, N: 16, K: 8, Blocks: 1, A: ir.F32, C: ir.F32, XF32: true, Gen: 3}, 2, 4, 0},
	{ir.Matrix{M: 16, N: 16, K: 32, Blocks: 1, A: ir.FP8, B: ir.BF8, C: ir.F32, Gen: 3}, 2, 4, 0},
	{ir.Matrix{M: 32, N: 32, K: 16, Blocks: 1, A: ir.BF8, C: ir.F32, Gen: 3}, 2, 16, 0},
	{ir.Matrix{M: 16, N: 16, K: 32, Blocks: 1, A: ir.F16, C: ir.F32, Sparse: true, Gen: 3}, 3, 4, 4},
	{ir.Matrix{M: 16, N: 16, K: 64, Blocks: 1, A: ir.FP8, C: ir.F32, Sparse: true, Gen: 3}, 3, 4, 4},
	{ir.Matrix{M: 32, N: 32, K: 32, Blocks: 1, A: ir.I8, C: ir.I32, Sparse: true, Gen: 3}, 3, 16, 4},
	{ir.Matrix{M: 16, N: 16, K: 128, Blocks: 1, A: ir.FP8, B: ir.FP4, C: ir.F32, F8F6F4: true, Gen: 3}, 8, 4, 4},
	{ir.Matrix{M: 32, N: 32, K: 64, Blocks: 1, A: ir.FP6, C: ir.F32, F8F6F4: true, Scaled: true, ScaleA: 1, ScaleB: 2, Gen: 3}, 7, 16, 7},
	{ir.Matrix{M: 16, N: 16, K: 16, Blocks: 1, A: ir.F16, C: ir.F16, WMMA: true, Gen: 11, ABID: 1}, 8, 4, 0},
	{ir.Matrix{M: 16, N: 16, K: 16, Blocks: 1, A: ir.BF16, C: ir.BF16, WMMA: true, Gen: 12, Neg: 5}, 2, 2, 0},
	{ir.Matrix{M: 16, N: 16, K: 32, Blocks: 1, A: ir.I4, C: ir.I32, WMMA: true, Gen: 12, Clamp: true, Neg: 1}, 1, 4, 0},
	{ir.Matrix{M: 16, N: 16, K: 32, Blocks: 1, A: ir.BF8, C: ir.F32, WMMA: true, Sparse: true, Gen: 12}, 2, 4, 2},
}

// matrixFunc is one matrix operation on v0 (A), v8 (B) and v16 on (C and D).
func matrixFunc(m ir.Matrix, wordsA, wordsB, wordsC int, constC bool) *ir.Func {
	if m.B == 0 {
		m.B = m.A
	}
	f := &ir.Func{PC: 0x1000, Lanes: 64}
	b := &ir.Block{Insts: 1, Term: ir.Term{Kind: ir.TermExit, Cond: ir.NoID, Exit: ir.ExitEndPgm}}
	f.Blocks = []*ir.Block{b}
	tuple := func(at, n int) ir.ID {
		var l []ir.ID
		for i := range n {
			if at == 16 && constC {
				x := f.Add(b, ir.Value{Op: ir.OpConst, Type: ir.S32, Imm: 0x3f800000 * uint64(i&1)})
				l = append(l, f.Add(b, ir.Value{Op: ir.OpSplat, Type: ir.V32, Args: []ir.ID{x}}))
				continue
			}
			l = append(l, f.Add(b, ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(at + i)}))
		}
		if n == 1 {
			return l[0]
		}
		return f.Add(b, ir.Value{Op: ir.OpTuple, Type: ir.T, N: uint8(n), Args: l})
	}
	d := f.Add(b, ir.Value{Op: ir.OpMFMA, Type: ir.T, N: uint8(wordsC), Kind: m.C, From: m.A, FP: ir.FPIEEE, Aux: &m,
		Args: []ir.ID{tuple(0, wordsA), tuple(8, wordsB), tuple(16, wordsC)}})
	full := f.Add(b, ir.Value{Op: ir.OpConst, Type: ir.M, Imm: ^uint64(0)})
	for i := range wordsC {
		f.Add(b, ir.Value{Op: ir.OpVSet, Imm: uint64(16 + i), Args: []ir.ID{f.Add(b, ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: uint64(i), Args: []ir.ID{d}}), full}})
	}
	return f
}

// TestMatrix runs matrix operations on numbers of every kind by both engines.
func TestMatrix(t *testing.T) { onEach(t, testMatrix) }

func testMatrix(t *testing.T) {
	needJIT(t)
	for _, s := range matrixShapes {
		for round := range 8 {
			f := matrixFunc(s.m, s.wordsA, cmp.Or(s.wordsB, s.wordsA), s.wordsC, round == 7)
			if err := ir.Verify(f); err != nil {
				t.Fatal(err)
			}
			p, err := Compile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range p.slots {
				if h != nil && h.always {
					t.Fatalf("%+v is left to the helper", s.m)
				}
			}
			for _, x := range diffEnginesWith(t, uint64(round), f, 64, func(w *rig) { fillMatrix(w, s.m, round) }) {
				t.Errorf("%+v, round %d: %s", s.m, round, x)
			}
			if t.Failed() {
				return
			}
		}
	}
}

// fillMatrix fills A, B and C with numbers of m's formats: ordinary ones, and in later rounds more and more special ones.
func fillMatrix(g *rig, m ir.Matrix, round int) {
	r := rand.New(rand.NewPCG(uint64(round), 3))
	one := func(k ir.Kind) uint64 {
		if round > 0 && r.IntN(40) < round {
			return r.Uint64()
		}
		if round > 2 && r.IntN(60) < round {
			return []uint64{0x7f807f80, 0x7c007c00, 0x00010001, 0x80008000, 0, 0x00800080, 0x03ff03ff, 0x1f801f80}[r.IntN(8)]
		}
		x := (r.Float64() - 0.5) * math.Pow(2, float64(r.IntN(12)-6))
		switch k {
		case ir.F64:
			return math.Float64bits(x)
		case ir.F32:
			return uint64(math.Float32bits(float32(x)))
		case ir.BF16:
			return uint64(math.Float32bits(float32(x)) >> 16)
		case ir.F16:
			return uint64(r.IntN(2)<<15 | (8+r.IntN(16))<<10 | r.IntN(1024))
		}
		return r.Uint64()
	}
	word := func(k ir.Kind) uint32 {
		switch k.Bits() {
		case 16:
			return uint32(one(k)&0xffff | one(k)<<16)
		case 32:
			return uint32(one(k))
		}
		return r.Uint32()
	}
	for n := range g.w.NVGPR {
		k := m.A
		if n >= 16 {
			k = m.C
		}
		v := g.w.VGPR(n)
		for l := range v {
			if k == ir.F64 {
				if n&1 == 0 {
					x := one(k)
					v[l], g.w.VGPR(n + 1)[l] = uint32(x), uint32(x>>32)
				}
				continue
			}
			v[l] = word(k)
		}
	}
	g.w.S[isa.SRegEXECLo] = r.Uint32() // ignored
}
