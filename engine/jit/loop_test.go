//go:build linux && amd64

package jit

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// loopFunc makes a function with a block that counts s21 down, and changes registers by lane-wise operations, LDS loads and
// scalar values meanwhile. Sometimes the block has what keeps it from running strip after strip.
func loopFunc(seed uint64) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 11))
	f := &ir.Func{PC: 0x10000, Lanes: []int{32, 64}[r.IntN(2)]}
	for i := range 3 {
		f.Blocks = append(f.Blocks, &ir.Block{Index: i, PC: uint32(i * 1024), Insts: 1 + r.IntN(8)})
	}
	g := &gen{r: r, f: f, nv: 12}
	enter := func(i int) { g.b, g.by = f.Blocks[i], map[ir.Type][]ir.ID{} }
	set := func(n int, v ir.ID) { g.add(ir.Value{Op: ir.OpSSet, Imm: uint64(n), Args: []ir.ID{v}}) }
	enter(0)
	set(21, g.c(ir.S32, uint64(r.IntN(12))))
	f.Blocks[0].Term = ir.Term{Kind: ir.TermJump, Then: 1, Cond: ir.NoID}
	enter(1)
	m := g.add(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: isa.SRegEXECLo})
	n := g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: 21})
	regs := r.Perm(12)[:1+r.IntN(12)]
	var vals []ir.ID
	for _, x := range regs {
		vals = append(vals, g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(x)}))
	}
	any := func() ir.ID {
		if r.IntN(5) == 0 {
			return g.pick(ir.S32)
		}
		return vals[r.IntN(len(vals))]
	}
	for range 1 + r.IntN(40) {
		a, b := vals[r.IntN(len(vals))], any()
		switch r.IntN(9) {
		case 0:
			vals = append(vals, g.add(ir.Value{Op: ir.OpFMA, Type: ir.V32, Kind: ir.F32, Args: []ir.ID{a, b, any()}}))
		case 1:
			k := g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: preds[r.IntN(len(preds))], Args: []ir.ID{a, b}})
			vals = append(vals, g.add(ir.Value{Op: ir.OpSelect, Type: ir.V32, Args: []ir.ID{k, a, any()}}))
			if r.IntN(4) == 0 {
				g.add(ir.Value{Op: ir.OpMSet, Imm: uint64(10 + 2*r.IntN(2)), Args: []ir.ID{k}})
			}
		case 2:
			s := g.add(ir.Value{Op: ir.OpAdd, Type: ir.V32, Args: []ir.ID{a, b}})
			k := g.add(ir.Value{Op: ir.OpCarryAdd, Type: ir.M, Args: []ir.ID{a, b, ir.NoID}})
			if r.IntN(2) == 0 {
				k = g.add(ir.Value{Op: ir.OpMAnd, Type: ir.M, Args: []ir.ID{k, m}})
			}
			v := g.add(ir.Value{Op: ir.OpMToV, Type: ir.V32, Args: []ir.ID{k}})
			vals = append(vals, s, g.add(ir.Value{Op: []ir.Op{ir.OpAdd, ir.OpSub}[r.IntN(2)], Type: ir.V32, Args: []ir.ID{a, v}}))
		case 3:
			x := g.add(ir.Value{Op: ir.OpAnd, Type: ir.V32, Args: []ir.ID{a, g.c(ir.S32, ldsSize/2-4)}})
			vals = append(vals, g.add(ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: 4, Space: ir.LDS, Imm: uint64(4 * r.IntN(9)), Args: []ir.ID{ir.NoID, x, m}}))
		case 4: // a scalar, from the last iteration's
			x := uint64(r.IntN(6))
			s := g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: x})
			s = g.add(ir.Value{Op: ir.OpAdd, Type: ir.S32, Args: []ir.ID{s, g.pick(ir.S32)}})
			set(int(x), s)
		case 5: // 64 bits
			p := g.add(ir.Value{Op: ir.OpPair, Type: ir.V64, Args: []ir.ID{a, vals[r.IntN(len(vals))]}})
			q := g.add(ir.Value{Op: []ir.Op{ir.OpAdd, ir.OpMul, ir.OpMaxS}[r.IntN(3)], Type: ir.V64, Args: []ir.ID{p, p}})
			vals = append(vals, g.add(ir.Value{Op: ir.OpHi, Type: ir.V32, Args: []ir.ID{q}}))
		default:
			vals = append(vals, g.add(ir.Value{Op: intOps[r.IntN(len(intOps))], Type: ir.V32, Args: []ir.ID{a, b}}))
		}
	}
	for _, x := range r.Perm(12)[:1+r.IntN(10)] {
		g.add(ir.Value{Op: ir.OpVSet, Imm: uint64(x), Args: []ir.ID{any(), m}})
	}
	if r.IntN(12) == 0 { // a scalar that depends on lanes
		x := g.add(ir.Value{Op: ir.OpReadLane, Type: ir.S32, Args: []ir.ID{vals[0], g.c(ir.S32, 1)}})
		set(3, x)
	}
	if r.IntN(12) == 0 {
		set(isa.SRegEXECLo, g.pick(ir.S32))
	}
	n = g.add(ir.Value{Op: ir.OpSub, Type: ir.S32, Args: []ir.ID{n, g.c(ir.S32, 1)}})
	set(21, n)
	more := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.SGT, Args: []ir.ID{n, g.c(ir.S32, 0)}})
	f.Blocks[1].Term = ir.Term{Kind: ir.TermBranch, Cond: more, Then: 1, Else: 2}
	if r.IntN(2) == 0 {
		done := g.add(ir.Value{Op: ir.OpMNot, Type: ir.S1, Args: []ir.ID{more}})
		f.Blocks[1].Term = ir.Term{Kind: ir.TermBranch, Cond: done, Then: 2, Else: 1}
	}
	f.Blocks[2].Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}
	return f
}

func TestLoop(t *testing.T) { onEach(t, testLoop) }

func testLoop(t *testing.T) {
	first, n := uint64(0), fewer(400)
	if s, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		first, n = s, 1
		t.Log("\n" + loopFunc(s).String())
	}
	bad, loops := 0, 0
	for seed := first; seed < first+n; seed++ {
		f := loopFunc(seed)
		if p, err := CompileWith(f, Options{AVX2: hostAVX2, Soft: testSoft}); err == nil {
			loops += p.loops
		}
		if !compare(t, seed, f) {
			if bad++; bad > 5 {
				t.Fatal("too many differences")
			}
		}
	}
	if n > 1 && loops < int(n)/3 {
		t.Errorf("only %d of %d loops ran strip after strip", loops, n)
	}
}
