//go:build linux && amd64

package jit

import (
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// divergeFunc is a random function with a loop in which EXEC is written: by an if, whose lanes are all in most turns, with an else or without, by a
// write of something else, and by lanes that leave the loop. Operations are under EXEC for the most part.
func divergeFunc(seed uint64) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 43))
	g := &gen{r: r, f: &ir.Func{PC: 0x10000, Lanes: []int{32, 64, 64}[r.IntN(3)]}, nv: 12, float: r.IntN(2) == 0, extra: r.IntN(2) == 0}
	f := g.f
	const saved, counter, bound = 22, 24, 26
	const head, yes, no, join, tail, end = 1, 2, 3, 4, 5, 6
	for i := range end + 1 {
		f.Blocks = append(f.Blocks, &ir.Block{Index: i, PC: uint32(i * 1024), Insts: 1 + r.IntN(20)})
	}
	s := ir.S64
	if f.Lanes == 32 {
		s = ir.S32
	}
	one := func(op ir.Op, t ir.Type, args ...ir.ID) ir.ID { return g.add(ir.Value{Op: op, Type: t, Args: args}) }
	getS := func(n uint64) ir.ID {
		if s == ir.S32 {
			return g.add(ir.Value{Op: ir.OpSGet, Type: s, Imm: n})
		}
		return g.add(ir.Value{Op: ir.OpSGet64, Type: s, Imm: n})
	}
	setS := func(n uint64, x ir.ID) {
		if s == ir.S32 {
			g.add(ir.Value{Op: ir.OpSSet, Imm: n, Args: []ir.ID{x}})
		} else {
			g.add(ir.Value{Op: ir.OpSSet64, Imm: n, Args: []ir.ID{x}})
		}
	}
	exec := func() ir.ID { return g.add(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: isa.SRegEXECLo}) }
	execS := func() ir.ID {
		if r.IntN(2) == 0 {
			return getS(isa.SRegEXECLo)
		}
		return one(ir.OpMToS, s, exec())
	}
	begin := func(i int) { g.b, g.by = f.Blocks[i], map[ir.Type][]ir.ID{} }
	work := func(most int) {
		for range r.IntN(most) {
			if r.IntN(3) == 0 {
				g.add(ir.Value{Op: ir.OpVSet, Imm: uint64(r.IntN(g.nv)), Args: []ir.ID{g.vec32(), exec()}})
				continue
			}
			if r.IntN(4) == 0 {
				exec()
			}
			g.step()
		}
	}
	jump := func(to int) { g.b.Term = ir.Term{Kind: ir.TermJump, Then: to} }
	branch := func(cond ir.ID, a, b int) { g.b.Term = ir.Term{Kind: ir.TermBranch, Cond: cond, Then: a, Else: b} }
	// mask is what an if gives: all lanes for the most part.
	mask := func() ir.ID {
		lane := one(ir.OpLaneID, ir.V32)
		x := g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: counter})
		k := g.c(ir.S32, uint64([]int{64, 64, 200, 60, 33, 17, 5, 0}[r.IntN(8)]))
		if r.IntN(2) == 0 {
			k = one(ir.OpAdd, ir.S32, k, x)
		}
		return g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.ULT, Args: []ir.ID{lane, k}})
	}
	empty := func() ir.ID { return one(ir.OpMIsZ, ir.S1, exec()) }

	begin(0)
	work(8)
	g.add(ir.Value{Op: ir.OpSSet, Imm: counter, Args: []ir.ID{g.c(ir.S32, uint64(1+r.IntN(6)))}})
	jump([]int{head, head, head, join}[r.IntN(4)])

	begin(head)
	work(12)
	was := execS()
	now := one(ir.OpAnd, s, one(ir.OpMToS, s, mask()), was)
	if r.IntN(2) == 0 {
		now = one(ir.OpAnd, s, was, one(ir.OpMToS, s, one(ir.OpMAnd, ir.M, mask(), exec())))
	}
	setS(saved, was)
	switch r.IntN(6) {
	case 0:
		g.add(ir.Value{Op: ir.OpMSet, Imm: isa.SRegEXECLo, Args: []ir.ID{one(ir.OpSToM, ir.M, now)}})
	default:
		setS(isa.SRegEXECLo, now)
	}
	work(4)
	if r.IntN(2) == 0 {
		branch(empty(), no, yes)
	} else {
		branch(g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.NE, Args: []ir.ID{now, g.c(s, 0)}}), yes, no)
	}

	begin(yes)
	work(16)
	jump(no)

	begin(no)
	if r.IntN(2) == 0 { // an else
		setS(isa.SRegEXECLo, one(ir.OpXor, s, execS(), getS(saved)))
		work(8)
	}
	work(6)
	jump(join)

	begin(join)
	switch r.IntN(8) {
	case 0: // lanes that are out stay so
	case 1:
		setS(isa.SRegEXECLo, one(ir.OpMToS, s, g.pick(ir.M)))
	case 2:
		setS(isa.SRegEXECLo, g.c(s, ^uint64(0)))
	case 3:
		g.add(ir.Value{Op: ir.OpSSet, Imm: isa.SRegEXECLo + uint64(r.IntN(2)), Args: []ir.ID{g.c(ir.S32, uint64(^uint32(0)))}})
	default:
		setS(isa.SRegEXECLo, one(ir.OpOr, s, execS(), getS(saved)))
	}
	work(16)
	if r.IntN(8) == 0 { // which only comes back by the start
		g.b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}
	} else {
		jump(tail)
	}

	begin(tail)
	work(6)
	n := one(ir.OpSub, ir.S32, g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: counter}), g.c(ir.S32, 1))
	g.add(ir.Value{Op: ir.OpSSet, Imm: counter, Args: []ir.ID{n}})
	branch(g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.SGT, Args: []ir.ID{n, g.c(ir.S32, 0)}}), []int{head, head, join}[r.IntN(3)], end)

	begin(end)
	work(6)
	g.b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}
	return f
}

func TestFullExec(t *testing.T) { onEach(t, testFullExec) }

func testFullExec(t *testing.T) {
	diffSeeds(t, fewer(600), divergeFunc, func(seed uint64) bool { return seed%4 != 0 })
}

// TestFullExecCopies sees that the copies are there, are IR, and are what runs.
func TestFullExecCopies(t *testing.T) {
	n := 0
	for seed := range uint64(50) {
		f := divergeFunc(seed)
		p, err := Compile(f)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Func.Blocks) == len(f.Blocks) {
			continue
		}
		n++
		if err := ir.Verify(p.Func); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(p.Entry) != len(f.Blocks) {
			t.Errorf("seed %d: %d entries for %d blocks", seed, len(p.Entry), len(f.Blocks))
		}
	}
	if n < 30 {
		t.Errorf("%d functions of 50 have copies", n)
	}
}
