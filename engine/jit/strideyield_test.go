//go:build linux && amd64

package jit

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// crewStrideFunc goes four times through a loop over an array of bytes, and then over two barriers between which each wave reads what another one has left
// in the LDS. Waves have s20·8 turns each; where that is not so in the LDS they give way to each other in the loop. Addresses may be out of memory.
func crewStrideFunc(seed uint64) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 57))
	f := &ir.Func{PC: 0x10000, Lanes: []int{32, 64}[r.IntN(2)]}
	for i := range 7 {
		f.Blocks = append(f.Blocks, &ir.Block{Index: i, PC: uint32(i * 1024), Insts: 1 + r.IntN(4)})
	}
	g := &gen{r: r, f: f, nv: 12}
	enter := func(i int) { g.b, g.by = f.Blocks[i], map[ir.Type][]ir.ID{} }
	one := g.one
	sget := func(n uint64) ir.ID { return g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: n}) }
	sset := func(n uint64, x ir.ID) { g.add(ir.Value{Op: ir.OpSSet, Imm: n, Args: []ir.ID{x}}) }
	full := func() ir.ID { return g.c(ir.M, ^uint64(0)) }
	barrier := func(next int) {
		g.b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitBarrier, Next: uint32(next * 1024), Cond: ir.NoID}
	}
	atomics, racy := r.IntN(2) == 0, r.IntN(4) == 0
	const step = 16
	enter(0)
	sset(24, g.c(ir.S32, 4))
	g.b.Term = ir.Term{Kind: ir.TermJump, Then: 1, Cond: ir.NoID}
	enter(1)
	g.set(1, one(ir.OpAdd, ir.V32, g.lane(), one(ir.OpLShr, ir.S32, sget(21), g.c(ir.S32, 2))), full())
	g.set(2, g.c(ir.V32, 0), full())
	sset(8, one(ir.OpMul, ir.S32, sget(20), g.c(ir.S32, 8*step)))
	sset(9, g.c(ir.S32, 0))
	sset(4, g.c(ir.S32, 0))
	sset(5, g.c(ir.S32, 0))
	g.b.Term = ir.Term{Kind: ir.TermJump, Then: 2, Cond: ir.NoID}
	enter(2)
	exec := g.exec()
	lo, hi := g.get(1), g.get(2)
	base := g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 22})
	x := g.add(ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: 1, Args: []ir.ID{base, lo, exec}})
	g.set(7, one(ir.OpAdd, ir.V32, one(ir.OpMul, ir.V32, g.get(7), g.c(ir.S32, 3)), one(ir.OpAdd, ir.V32, x, lo)), exec)
	if atomics {
		at := one(ir.OpShl, ir.V32, one(ir.OpAnd, ir.V32, one(ir.OpXor, ir.V32, x, lo), g.c(ir.S32, 63)), g.c(ir.S32, 2))
		g.add(ir.Value{Op: ir.OpAtomic, Space: ir.LDS, Width: 4, Atomic: ir.AtomicAdd, Imm: 2048, Args: []ir.ID{ir.NoID, at, exec, g.get(8)}})
	}
	by := g.c(ir.S32, step)
	l := one(ir.OpAdd, ir.V32, lo, by)
	k := one(ir.OpMAnd, ir.M, g.add(ir.Value{Op: ir.OpCarryAdd, Type: ir.M, Args: []ir.ID{lo, by, ir.NoID}}), exec)
	h := one(ir.OpAdd, ir.V32, hi, one(ir.OpMToV, ir.V32, k))
	g.set(1, l, exec)
	g.set(2, h, exec)
	bound := g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 8})
	out := one(ir.OpMAnd, ir.M, g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.ULE, Args: []ir.ID{bound, one(ir.OpPair, ir.V64, l, h)}}), exec)
	t, setS, sgetM := ir.S64, ir.OpSSet64, ir.OpSGet64
	if f.Lanes == 32 {
		t, setS, sgetM = ir.S32, ir.OpSSet, ir.OpSGet
	}
	done := one(ir.OpOr, t, one(ir.OpMToS, t, out), g.add(ir.Value{Op: sgetM, Type: t, Imm: 4}))
	g.add(ir.Value{Op: setS, Imm: 4, Args: []ir.ID{done}})
	left := one(ir.OpAnd, t, one(ir.OpMToS, t, exec), one(ir.OpNot, t, done))
	g.add(ir.Value{Op: setS, Imm: isa.SRegEXECLo, Args: []ir.ID{left}})
	g.b.Term = ir.Term{Kind: ir.TermBranch, Cond: one(ir.OpMIsZ, ir.S1, one(ir.OpSToM, ir.M, left)), Then: 3, Else: 2}
	enter(3)
	g.add(ir.Value{Op: ir.OpMSet, Imm: isa.SRegEXECLo, Args: []ir.ID{full()}})
	own := func() ir.ID {
		return one(ir.OpAdd, ir.V32, one(ir.OpShl, ir.V32, g.lane(), g.c(ir.S32, 2)), sget(21))
	}
	if !atomics || racy {
		g.add(ir.Value{Op: ir.OpStore, Width: 4, Space: ir.LDS, Args: []ir.ID{ir.NoID, own(), full(), g.get(7)}})
	}
	barrier(4)
	enter(4)
	y := g.add(ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: 4, Space: ir.LDS, Imm: uint64(r.IntN(2) * 2048), Args: []ir.ID{ir.NoID, one(ir.OpXor, ir.V32, own(), g.c(ir.S32, 256)), full()}})
	g.set(8, y, full())
	barrier(5)
	enter(5)
	n := one(ir.OpSub, ir.S32, sget(24), g.c(ir.S32, 1))
	sset(24, n)
	g.b.Term = ir.Term{Kind: ir.TermBranch, Cond: g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.SGT, Args: []ir.ID{n, g.c(ir.S32, 0)}}), Then: 1, Else: 6}
	enter(6)
	g.b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}
	return f
}

// TestCrewStrides runs waves that give way to each other in a loop.
func TestCrewStrides(t *testing.T) { onEach(t, testCrewStrides) }

func testCrewStrides(t *testing.T) {
	needJIT(t)
	together, yields, bad := 0, 0, 0
	n := int(fewer(120))
	for seed := range uint64(n) {
		f := crewStrideFunc(seed)
		p, err := CompileWith(f, Options{AVX2: hostAVX2})
		if err != nil {
			t.Fatal(err)
		}
		if p.yields > 0 {
			yields++
		}
		diff, c, _ := crewDiffOf(t, seed, f, nil)
		together += c
		if len(diff) > 0 {
			t.Errorf("seed %d: %s", seed, strings.Join(diff, "\n  "))
			if bad++; bad > 5 {
				t.Fatal("too many differences")
			}
		}
	}
	t.Logf("%d of %d programs give way; waves ran together %d times", yields, n, together)
	if !hostAVX2 && (yields < n/2 || together < n) {
		t.Errorf("only %d programs give way, waves ran together %d times", yields, together)
	}
}
