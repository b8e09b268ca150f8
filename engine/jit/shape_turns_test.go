//go:build linux && amd64

package jit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"

	"github.com/pumice-gpu/pumice/engine/jit/rt"
)

// Work-groups whose waves can tell in which order they have their turns: they take numbers, and write what others have read. The order is that
// of package silicon: from the first wave on, and behind the first barrier from the last.

// turnsFunc is a loop of phases with barriers between them. s20 counts, s21 is the wave's number.
func turnsFunc(seed uint64, calls turnsCalls) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 141))
	f := &ir.Func{PC: 0x10000, Lanes: []int{32, 64}[r.IntN(2)]}
	g := &gen{r: r, f: f, nv: 12}
	long := r.IntN(4) == 0 // of so many instructions that a crew's slice of fuel is over
	start := func() *ir.Block {
		b := &ir.Block{Index: len(f.Blocks), PC: uint32(len(f.Blocks) * 1024), Insts: 1 + r.IntN(8)}
		if long {
			b.Insts += 300
		}
		f.Blocks = append(f.Blocks, b)
		g.b, g.by = b, map[ir.Type][]ir.ID{}
		return b
	}
	one, k := g.one, g.k
	sget := func(n int) ir.ID { return g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: uint64(n)}) }
	memory := func() ir.ID { return g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 30}) }
	mask := func() ir.ID {
		switch r.IntN(3) {
		case 0:
			return g.c(ir.M, 1<<r.IntN(f.Lanes))
		case 1:
			return g.exec()
		}
		return g.c(ir.M, ^uint64(0))
	}
	common := func() ir.ID { // what all waves share
		x := one(ir.OpAnd, ir.V32, g.lane(), k([]int{0, 1, 63}[r.IntN(3)]))
		return one(ir.OpAdd, ir.V32, one(ir.OpShl, ir.V32, x, k(2)), k(4*r.IntN(8)))
	}
	page := r.IntN(2) == 0 // of memory each wave has its own
	own := func() ir.ID {  // and what they do not
		x := one(ir.OpShl, ir.V32, g.lane(), k(2))
		return one(ir.OpAdd, ir.V32, one(ir.OpAdd, ir.V32, x, one(ir.OpShl, ir.S32, sget(21), k(8))), k(1024))
	}
	keep := func(x, m ir.ID) {
		n := r.IntN(12)
		g.set(n, one([]ir.Op{ir.OpXor, ir.OpAdd}[r.IntN(2)], ir.V32, one(ir.OpMul, ir.V32, g.get(n), k(0x01000193)), x), m)
	}
	access := func(op ir.Op, space ir.Space, at, m ir.ID, data ...ir.ID) ir.ID {
		v := ir.Value{Op: op, Width: 4, Space: space, Args: append([]ir.ID{ir.NoID, at, m}, data...)}
		if space == ir.Global {
			v.Args[0] = memory()
		}
		if op != ir.OpStore {
			v.Type = ir.V32
		}
		if op == ir.OpAtomic {
			v.Atomic, v.Order = []ir.AtomicOp{ir.AtomicAdd, ir.AtomicSwap, ir.AtomicInc, ir.AtomicXor}[r.IntN(4)], ir.OrderReturn
		}
		return g.add(v)
	}
	body := func() {
		for range 1 + r.IntN(3) {
			space, m := []ir.Space{ir.LDS, ir.LDS, ir.Global}[r.IntN(3)], mask()
			switch r.IntN(7) {
			case 0: // a number
				keep(access(ir.OpAtomic, space, common(), m, g.get(r.IntN(12)), ir.NoID), m)
			case 1: // read and written
				at := common()
				x := access(ir.OpLoad, space, at, m)
				access(ir.OpStore, space, at, m, one(ir.OpAdd, ir.V32, x, g.get(r.IntN(12))))
				keep(x, m)
			case 2: // read
				keep(access(ir.OpLoad, ir.LDS, common(), m), m)
			case 3, 4: // two waves that write one place would race
				at := own()
				if page && space == ir.Global {
					at = one(ir.OpAdd, ir.V32, at, one(ir.OpShl, ir.S32, sget(21), k(12)))
				}
				access(ir.OpStore, space, at, m, g.get(r.IntN(12)))
			case 5: // of another wave
				keep(access(ir.OpLoad, ir.LDS, one(ir.OpXor, ir.V32, own(), k(256)), m), m)
			default:
				keep(g.lane(), m)
			}
		}
	}
	barrier := func(b *ir.Block, to int) {
		b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitBarrier, Next: uint32(1024 * to), Cond: ir.NoID}
	}
	for range 1 + r.IntN(4) {
		b := start()
		body()
		switch r.IntN(4) {
		case 0: // waves come to one barrier or another
			n := len(f.Blocks)
			some := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: preds[r.IntN(len(preds))], Args: []ir.ID{sget(21), k(r.IntN(4))}})
			b.Term = ir.Term{Kind: ir.TermBranch, Cond: some, Then: n, Else: n + 1}
			for range 2 {
				b = start()
				body()
				barrier(b, n+2)
			}
		case 1: // no barrier
			b.Term = ir.Term{Kind: ir.TermJump, Then: len(f.Blocks), Cond: ir.NoID}
		default:
			barrier(b, len(f.Blocks))
		}
	}
	b := start()
	left := one(ir.OpSub, ir.S32, sget(20), k(1))
	g.add(ir.Value{Op: ir.OpSSet, Imm: 20, Args: []ir.ID{left}})
	more := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.SGT, Args: []ir.ID{left, k(0)}})
	b.Term = ir.Term{Kind: ir.TermBranch, Cond: more, Then: 0, Else: len(f.Blocks)}
	if calls == callsEach {
		b.Term.Then = len(f.Blocks) + 1
	}
	b = start()
	body()
	b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: b.PC + 4, Cond: ir.NoID}
	switch calls {
	case callsLast:
		if r.IntN(2) == 0 { // a page that the wave has not seen
			at := one(ir.OpAdd, ir.V32, one(ir.OpShl, ir.V32, g.lane(), k(2)), one(ir.OpShl, ir.S32, sget(21), k(12)))
			access(ir.OpStore, ir.Global, one(ir.OpAdd, ir.V32, at, k(memSize/2)), g.exec(), g.get(r.IntN(12)))
		}
		b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitFetch, Next: turnsCall, Cond: ir.NoID}
	case callsEach:
		b = start()
		b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitFetch, Next: turnsCall, Cond: ir.NoID}
	}
	return f
}

// turnsCalls says when turnsFunc calls another function.
type turnsCalls uint8

const (
	callsNone turnsCalls = iota
	callsEach            // at the end of each iteration; it returns
	callsLast            // at the end; it does not
)

// turnsCall is how far behind the function is what it calls.
const turnsCall = 0x10000

// turnsCallee is what f calls: a barrier, and stores to the wave's own page of memory before and behind it.
func turnsCallee(seed uint64, f *ir.Func, calls turnsCalls) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 143))
	c := &ir.Func{PC: f.PC + turnsCall, Lanes: f.Lanes}
	g := &gen{r: r, f: c, nv: 12}
	n := 2 + r.IntN(2)
	for i := range n {
		b := &ir.Block{Index: i, PC: uint32(1024 * i), Insts: 2}
		c.Blocks = append(c.Blocks, b)
		g.b, g.by = b, map[ir.Type][]ir.ID{}
		if r.IntN(3) > 0 {
			at := g.one(ir.OpShl, ir.V32, g.lane(), g.k(2))
			at = g.one(ir.OpAdd, ir.V32, at, g.one(ir.OpShl, ir.S32, g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: 21}), g.k(12)))
			base := g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 30})
			g.add(ir.Value{Op: ir.OpStore, Width: 4, Space: ir.Global, Imm: 3200, Args: []ir.ID{base, at, g.exec(), g.get(r.IntN(12))}})
		}
		b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitBarrier, Next: uint32(1024 * (i + 1)), Cond: ir.NoID}
		switch {
		case i == n-1 && calls == callsLast:
			b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: b.PC + 4, Cond: ir.NoID}
		case i == n-1:
			b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitIndirect, Cond: g.add(ir.Value{Op: ir.OpConst, Type: ir.S64, Imm: f.PC})}
		}
	}
	return c
}

// turnsRun runs work-groups of f as package silicon does, one after the other.
func turnsRun(t testing.TB, e engine.Engine, seed uint64, f *ir.Func) (seen [][]byte, exits string, together int) {
	r := rand.New(rand.NewPCG(seed, 142))
	n := 2 + r.IntN(7)
	lds, err := rt.Memory(ldsSize)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Free(lds)
	space := &flat{va: 0x7000_0000_0000, b: make([]byte, memSize)}
	if r.IntN(2) == 0 {
		space.scatter()
	}
	ms := &mem.Space{Translator: space}
	ws := make([]wave.Wave, n)
	rounds := uint32(1 + r.IntN(12))
	uneven := r.IntN(3) == 0
	for i := range ws {
		st, err := rt.Memory(wave.StateSize(f.Lanes, 12, 0))
		if err != nil {
			t.Fatal(err)
		}
		defer rt.Free(st)
		w := &ws[i]
		w.Bind(unsafe.Pointer(&st[0]), f.Lanes, 12, 0)
		w.Space = ms
		w.LDS, w.LDSLen = uint64(uintptr(unsafe.Pointer(&lds[0]))), ldsSize
		w.S[21] = uint32(i)
		w.S[30], w.S[31] = uint32(space.va), uint32(space.va>>32)
		for v := range 12 {
			for l := range f.Lanes {
				w.VGPR(v)[l] = r.Uint32()
			}
		}
		seen = append(seen, st)
	}
	seen = append(seen, lds, space.b)
	k := e.NewWorker()
	defer k.Close()
	for range 1 + r.IntN(3) {
		for i := range ws {
			ws[i].PC, ws[i].S[20] = f.PC, rounds
			ws[i].SetEXEC(^uint64(0))
			if uneven {
				ws[i].S[20] = 1 + r.Uint32N(rounds)
			}
		}
		left, n := turnsGroup(k, ms, ws)
		exits, together = exits+left, together+n
		ms.Flush()
	}
	for i := range seen {
		seen[i] = bytes.Clone(seen[i])
		if i < n { // what is not architectural state
			clear(seen[i][offPC+8 : offV])
		}
	}
	return seen, exits, together
}

// turnsGroup runs a work-group to its end.
func turnsGroup(k engine.Worker, ms *mem.Space, ws []wave.Wave) (exits string, together int) {
	n := len(ws)
	waiting, over := make([]bool, n), make([]bool, n)
	held, live, down, passed := 0, n, false, false
	did := func(i int, x ir.Exit) {
		switch x {
		case ir.ExitBarrier:
			waiting[i] = true
			held++
		case ir.ExitEndPgm:
			over[i] = true
			live--
		default:
			exits += fmt.Sprintf("wave %d: %v %v; ", i, x, ws[i].Fault)
			over[i] = true
			live--
		}
		if held > 0 && held == live {
			clear(waiting)
			held, passed = 0, true
		}
	}
	const fuel = 1 << 30
	for turn := 0; live > 0; turn++ {
		if turn > 10_000 {
			exits += "no end; "
			break
		}
		passed = false
		if c, ok := k.(engine.CrewRunner); ok && live == n && held == 0 {
			for i := range ws {
				ws[i].Fuel = fuel
			}
			k.(engine.Holder).Hold(ms)
			i, x, arrived, went := c.RunCrew(ws, down)
			k.(engine.Holder).Release()
			if i >= 0 {
				together++
				down = down || went
				for j := range ws {
					if arrived>>j&1 != 0 {
						did(j, ir.ExitBarrier)
					}
				}
				did(i, x)
			}
		}
		for i := range ws {
			if passed {
				break
			}
			if down {
				i = n - 1 - i
			}
			if !waiting[i] && !over[i] {
				ws[i].Fuel = fuel
				did(i, k.Run(&ws[i]))
			}
		}
		down = down || passed
	}
	return exits, together
}

func turnsDiff(t testing.TB, seed uint64) []string {
	needJIT(t)
	calls := []turnsCalls{callsNone, callsNone, callsEach, callsLast}[seed/4%4]
	f := turnsFunc(seed, calls)
	var callee *ir.Func
	if calls != callsNone {
		if callee = turnsCallee(seed, f, calls); ir.Verify(callee) != nil {
			t.Fatalf("seed %d: bad test: %v", seed, ir.Verify(callee))
		}
	}
	diff, _, _ := crewDiffBy(t, seed, f, callee, turnsRun)
	return diff
}
