//go:build linux && amd64

package jit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"

	"github.com/pumice-gpu/pumice/engine/jit/rt"
)

// crewFunc is a loop with two barriers in which each wave writes to its own part of the LDS and reads another's. A wave leaves the loop
// when its s20 iterations are over; some stores fault when s22 says so. s21 is the first byte of its part.
func crewFunc(seed uint64) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 13))
	f := &ir.Func{PC: 0x10000, Lanes: []int{32, 64}[r.IntN(2)]}
	for i := range 4 {
		f.Blocks = append(f.Blocks, &ir.Block{Index: i, PC: uint32(i * 1024), Insts: 1 + r.IntN(8)})
	}
	g := &gen{r: r, f: f, nv: 12}
	start := func(i int) {
		g.b, g.by = f.Blocks[i], map[ir.Type][]ir.ID{}
		for n := range uint64(4) {
			g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: n})
		}
	}
	addr := func() ir.ID {
		lane := g.add(ir.Value{Op: ir.OpLaneID, Type: ir.V32})
		x := g.add(ir.Value{Op: ir.OpShl, Type: ir.V32, Args: []ir.ID{lane, g.c(ir.S32, 2)}})
		return g.add(ir.Value{Op: ir.OpAdd, Type: ir.V32, Args: []ir.ID{x, g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: 21})}})
	}
	steps := func() {
		for range 1 + r.IntN(6) {
			x := g.add(ir.Value{Op: intOps[r.IntN(len(intOps))], Type: ir.V32, Args: []ir.ID{g.pick(ir.V32), g.pick(ir.V32)}})
			g.add(ir.Value{Op: ir.OpVSet, Imm: uint64(r.IntN(4)), Args: []ir.ID{x, g.add(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: isa.SRegEXECLo})}})
		}
	}
	full := func() ir.ID { return g.c(ir.M, ^uint64(0)) }
	start(0)
	steps()
	g.add(ir.Value{Op: ir.OpStore, Width: 4, Space: ir.LDS, Args: []ir.ID{ir.NoID, addr(), full(), g.pick(ir.V32)}})
	f.Blocks[0].Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitBarrier, Next: 1024, Cond: ir.NoID}
	start(1)
	next := g.add(ir.Value{Op: ir.OpXor, Type: ir.V32, Args: []ir.ID{addr(), g.c(ir.S32, 256)}})
	x := g.add(ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: 4, Space: ir.LDS, Args: []ir.ID{ir.NoID, next, full()}})
	g.add(ir.Value{Op: ir.OpVSet, Imm: uint64(r.IntN(4)), Args: []ir.ID{x, full()}})
	steps()
	if r.IntN(3) == 0 { // some wave's address is bad
		base := g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 22})
		g.add(ir.Value{Op: ir.OpStore, Width: 4, Space: ir.Global, Args: []ir.ID{base, addr(), full(), g.pick(ir.V32)}})
	}
	f.Blocks[1].Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitBarrier, Next: 2048, Cond: ir.NoID}
	start(2)
	n := g.add(ir.Value{Op: ir.OpSub, Type: ir.S32, Args: []ir.ID{g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: 20}), g.c(ir.S32, 1)}})
	g.add(ir.Value{Op: ir.OpSSet, Imm: 20, Args: []ir.ID{n}})
	more := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.SGT, Args: []ir.ID{n, g.c(ir.S32, 0)}})
	f.Blocks[2].Term = ir.Term{Kind: ir.TermBranch, Cond: more, Then: 0, Else: 3}
	start(3)
	steps()
	f.Blocks[3].Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}
	return f
}

// crewCallee makes crewFunc's loop go round by a call, and returns what is called: it has a barrier too.
func crewCallee(seed uint64, f *ir.Func) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 15))
	g := &ir.Func{PC: f.PC + 0x10000, Lanes: f.Lanes}
	call := &ir.Block{Index: 4, PC: 4096, Insts: 2, Term: ir.Term{Kind: ir.TermExit, Exit: ir.ExitFetch, Next: uint32(g.PC - f.PC), Cond: ir.NoID}}
	f.Blocks = append(f.Blocks, call)
	f.Blocks[2].Term.Then = 4
	for i := range 2 {
		b := &ir.Block{Index: i, PC: uint32(1024 * i), Insts: 2}
		g.Blocks = append(g.Blocks, b)
		// A number in the LDS that all waves add to, which tells their order.
		m := g.Add(b, ir.Value{Op: ir.OpConst, Type: ir.M, Imm: 1})
		splat := func(x uint64) ir.ID {
			return g.Add(b, ir.Value{Op: ir.OpSplat, Type: ir.V32, Args: []ir.ID{g.Add(b, ir.Value{Op: ir.OpConst, Type: ir.S32, Imm: x})}})
		}
		x := g.Add(b, ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(r.IntN(4))})
		g.Add(b, ir.Value{Op: ir.OpAtomic, Width: 4, Space: ir.LDS, Atomic: ir.AtomicAdd, Args: []ir.ID{ir.NoID, splat(2048 + 4*uint64(i)), m, x, ir.NoID}})
		g.Add(b, ir.Value{Op: ir.OpVSet, Imm: uint64(r.IntN(4)), Args: []ir.ID{splat(r.Uint64N(1 << 32)), m}})
	}
	g.Blocks[0].Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitBarrier, Next: 1024, Cond: ir.NoID}
	b := g.Blocks[1]
	back := g.Add(b, ir.Value{Op: ir.OpConst, Type: ir.S64, Imm: f.PC})
	b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitIndirect, Cond: back}
	return g
}

// crewRun runs a work-group of f to its end, or to where nothing can go on, and returns what can be seen of it.
func crewRun(t testing.TB, e engine.Engine, seed uint64, f *ir.Func) (seen [][]byte, exits string, together int) {
	return crewRunWith(t, e, seed, f, 12, 0, func(int, *wave.Wave, *flat) {})
}

// crewRunWith is crewRun with a number of registers, more waves, and a function that sets each up.
func crewRunWith(t testing.TB, e engine.Engine, seed uint64, f *ir.Func, nv, more int, setUp func(int, *wave.Wave, *flat)) (seen [][]byte, exits string, together int) {
	r := rand.New(rand.NewPCG(seed, 14))
	n := 2 + r.IntN(4) + more
	lds, err := rt.Memory(ldsSize)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Free(lds)
	space := &flat{va: 0x7000_0000_0000, b: make([]byte, memSize)}
	ms := &mem.Space{Translator: space}
	ws := make([]wave.Wave, n)
	rounds := 1 + r.IntN(40)
	end := uint32(0) // the waves' memory lies side by side; that of the last ones may be missing
	if r.IntN(5) == 0 {
		end = memSize - 256*uint32(n) + 4*r.Uint32N(80)
	}
	for i := range ws {
		st, err := rt.Memory(wave.StateSize(f.Lanes, nv, 0))
		if err != nil {
			t.Fatal(err)
		}
		defer rt.Free(st)
		w := &ws[i]
		w.Bind(unsafe.Pointer(&st[0]), f.Lanes, nv, 0)
		w.Space, w.PC = ms, f.PC
		w.LDS, w.LDSLen = uint64(uintptr(unsafe.Pointer(&lds[0]))), ldsSize
		w.SetEXEC(^uint64(0))
		w.S[20], w.S[21] = uint32(rounds), uint32(256*i)
		if r.IntN(4) == 0 {
			w.S[20] = uint32(1 + r.IntN(rounds))
		}
		w.S[22], w.S[23] = uint32(space.va), uint32(space.va>>32)
		w.S[22] += end
		for v := range nv {
			for l := range f.Lanes {
				w.VGPR(v)[l] = r.Uint32()
			}
		}
		setUp(i, w, space)
		seen = append(seen, st)
	}
	seen = append(seen, lds, space.b)
	fuel := int64(20 + r.IntN(2000))
	k := e.NewWorker()
	defer k.Close()
	waiting, over := make([]bool, n), make([]bool, n)
	left := make([]ir.Exit, n)
	count := func(of []bool) (c int) {
		for _, x := range of {
			c += b2i(x)
		}
		return c
	}
	did := func(i int, x ir.Exit) {
		switch x {
		case ir.ExitFuel:
		case ir.ExitBarrier:
			waiting[i] = true
		default:
			over[i], left[i] = true, x
		}
	}
	down := r.IntN(2) == 0
	for turn := 0; count(over) < n && turn < 10000; turn++ {
		if c, ok := k.(engine.CrewRunner); ok && count(over)+count(waiting) == 0 {
			for i := range ws {
				ws[i].Fuel = fuel
			}
			h := k.(engine.Holder)
			h.Hold(ms)
			i, x, arrived, passed := c.RunCrew(ws, down)
			down = down || passed
			h.Release()
			if i >= 0 {
				together++
				for j := range ws {
					if arrived>>j&1 != 0 {
						did(j, ir.ExitBarrier)
					}
				}
				did(i, x)
			}
		}
		for i := range ws {
			if !waiting[i] && !over[i] {
				ws[i].Fuel = fuel
				did(i, k.Run(&ws[i]))
			}
		}
		if count(waiting)+count(over) == n {
			clear(waiting)
		}
	}
	for i := range ws {
		exits += fmt.Sprintf("%v %#x %v; ", left[i], ws[i].PC-f.PC, ws[i].Fault)
	}
	for i := range seen {
		seen[i] = bytes.Clone(seen[i])
		if i < n { // what is not architectural state
			clear(seen[i][offPC+8 : offV])
		}
	}
	return seen, exits, together
}

// crewDiff runs a work-group of crewFunc on both engines and returns what differs, how often waves ran together, and whether registers were left out.
func crewDiff(t testing.TB, seed uint64) (diff []string, together int, lazy bool) {
	f := crewFunc(seed)
	var callee *ir.Func
	if seed%3 == 2 {
		callee = crewCallee(seed, f)
		if err := ir.Verify(callee); err != nil {
			t.Fatalf("seed %d: bad test: %v", seed, err)
		}
	}
	return crewDiffOf(t, seed, f, callee)
}

// crewDiffOf is crewDiff for any function that crewRun can run, and one that it calls.
func crewDiffOf(t testing.TB, seed uint64, f, callee *ir.Func) (diff []string, together int, lazy bool) {
	return crewDiffBy(t, seed, f, callee, crewRun)
}

type crewRunner func(t testing.TB, e engine.Engine, seed uint64, f *ir.Func) (seen [][]byte, exits string, together int)

func crewDiffBy(t testing.TB, seed uint64, f, callee *ir.Func, run crewRunner) (diff []string, together int, lazy bool) {
	if err := ir.Verify(f); err != nil {
		t.Fatalf("seed %d: bad test: %v", seed, err)
	}
	lifter := func(_ lift.Source, _ *isa.Target, pc uint64, _ uint32, _ int) (*ir.Func, error) {
		if callee != nil && pc >= callee.PC {
			return callee, nil
		}
		return f, nil
	}
	j, err := NewWith(code.New(lifter))
	if err != nil {
		t.Fatal(err)
	}
	defer j.mem.Close()
	want, wantExits, _ := run(t, interp.NewWith(code.New(lifter)), seed, f)
	j.lazy, j.allAtEnd = seed%2 == 1 && strings.Count(wantExits, ir.ExitEndPgm.String()) == strings.Count(wantExits, ";"), true
	got, gotExits, c := run(t, j, seed, f)
	if gotExits != wantExits {
		diff = append(diff, "exits "+gotExits+"want "+wantExits)
	}
	for i := range want {
		if at := firstDiff(want[i], got[i]); at >= 0 {
			diff = append(diff, fmt.Sprintf("part %d of %d differs at %#x", i, len(want), at))
		}
	}
	return diff, c, j.lazy
}

func TestCrew(t *testing.T) { onEach(t, testCrew) }

func testCrew(t *testing.T) {
	needJIT(t)
	first, n := uint64(0), fewer(100)
	if s, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		first, n = s, 1
		t.Log("\n" + crewFunc(s).String())
	}
	together, lazy, bad := 0, 0, 0
	for seed := first; seed < first+n; seed++ {
		diff, c, l := crewDiff(t, seed)
		together += c
		lazy += b2i(l)
		if len(diff) > 0 {
			t.Errorf("seed %d: %s", seed, strings.Join(diff, "\n  "))
			if bad++; bad > 5 {
				t.Fatal("too many differences")
			}
		}
	}
	if n > 1 && lazy < int(n)/5 {
		t.Errorf("only %d programs were lazy", lazy)
	}
	if n > 1 && together < int(n)/2 {
		t.Errorf("only %d turns ran together", together)
	}
}

func firstDiff(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
