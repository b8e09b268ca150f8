//go:build linux && amd64

package jit

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// Registers of affineFunc: indexes v0–v7, addresses v8:9–v14:15, temporaries from v16 on, what is loaded from v32 on, a sum in v60, an address in the LDS in v61. s16–s19 are
// numbers, s20 counts the iterations, s22 is where the wave's part of the LDS begins, s30:31 is the memory's address.
const affineVGPRs = 64

// affineFunc is a random loop of loads whose addresses are worked out as compilers do it. Registers have one number in each strip, numbers that
// go on from lane to lane, in the wave, in rows of 8, 16 or 32, or nearly so: one lane may be off, some wrap, some lie over the end. tame leaves
// that away.
func affineFunc(seed uint64, tame bool) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 41))
	f := &ir.Func{PC: 0x10000, Lanes: []int{32, 64}[r.IntN(2)]}
	g := &gen{r: r, f: f, nv: affineVGPRs, by: map[ir.Type][]ir.ID{}}
	exec, base := ir.NoID, ir.NoID
	block := func() *ir.Block {
		b := &ir.Block{Index: len(f.Blocks), PC: uint32(len(f.Blocks) * 4096), Insts: 1 + r.IntN(9)}
		f.Blocks = append(f.Blocks, b)
		g.b, g.by = b, map[ir.Type][]ir.ID{}
		exec = g.add(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: isa.SRegEXECLo})
		base = g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 30})
		return b
	}
	one := func(op ir.Op, t ir.Type, args ...ir.ID) ir.ID { return g.add(ir.Value{Op: op, Type: t, Args: args}) }
	k := func(x int) ir.ID { return g.c(ir.S32, uint64(uint32(x))) }
	set := func(n int, x ir.ID) { g.add(ir.Value{Op: ir.OpVSet, Imm: uint64(n), Args: []ir.ID{x, exec}}) }
	v := func(n int) ir.ID { return g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(n)}) }
	s := func(n int) ir.ID { return g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: uint64(n)}) }
	odd := func(n int) bool { return !tame && r.IntN(n) == 0 }
	// carry adds 64-bit values in halves.
	carry := func(a, ah, b, bh ir.ID) (lo, hi ir.ID) {
		if r.IntN(2) == 0 {
			a, ah, b, bh = b, bh, a, ah
		}
		lo = one(ir.OpAdd, ir.V32, a, b)
		c := one(ir.OpMAnd, ir.M, one(ir.OpCarryAdd, ir.M, a, b, ir.NoID), exec)
		hi = ah
		if bh != ir.NoID && ah != ir.NoID {
			hi = one(ir.OpAdd, ir.V32, ah, bh)
		} else if bh != ir.NoID {
			hi = bh
		}
		bit := one(ir.OpMToV, ir.V32, c)
		high := hi
		hi = one(ir.OpAdd, ir.V32, high, bit)
		if r.IntN(3) == 0 {
			if ah == ir.NoID || bh == ir.NoID {
				ah, bh = high, k(0)
			}
			c = one(ir.OpMAnd, ir.M, one(ir.OpCarryAdd, ir.M, ah, bh, c), exec)
			g.add(ir.Value{Op: ir.OpMSet, Imm: 0x6a, Args: []ir.ID{c}})
		}
		return
	}
	shape := func(step int) ir.ID {
		lane := one(ir.OpLaneID, ir.V32)
		row := []int{4, 4, 6, 6, 5, 3}[r.IntN(6)]
		if tame {
			row = []int{4, 5, 6}[r.IntN(3)]
		}
		up := []int{0, 0, 4, 64, 256, 1024}[r.IntN(6)]
		x := one(ir.OpMul, ir.V32, one(ir.OpAnd, ir.V32, lane, k(1<<row-1)), k(step))
		y := one(ir.OpMul, ir.V32, one(ir.OpLShr, ir.V32, lane, k(row)), k(up))
		if row == 5 && up == 0 {
			y = one(ir.OpMul, ir.V32, one(ir.OpLShr, ir.V32, lane, k(row)), k(step<<row))
		}
		x = one(ir.OpAdd, ir.V32, x, y)
		if odd(20) {
			x = one(ir.OpAdd, ir.V32, x, one(ir.OpMToV, ir.V32, one(ir.OpICmp, ir.M, lane, k(r.IntN(f.Lanes)))))
		}
		if odd(20) {
			x = one(ir.OpAdd, ir.V32, x, k(-4*r.IntN(70)))
		}
		return x
	}
	block()
	for n := range 8 {
		set(n, shape([]int{0, 0, 1, 1, 4, 4, 2, 16}[n]))
	}
	for n := 8; n < 16; n += 2 {
		at := 4 * r.IntN(2048)
		switch {
		case odd(12):
			at = memSize + 1<<17 - 4*r.IntN(90)
		case odd(12):
			at = -4 * r.IntN(70)
		}
		x := one(ir.OpAdd, ir.V64, one(ir.OpAdd, ir.V64, base, g.c(ir.S64, uint64(int64(at)))), one(ir.OpZext64, ir.V64, shape([]int{0, 4, 4, 16}[n/2-4])))
		set(n, one(ir.OpLo, ir.V32, x))
		set(n+1, one(ir.OpHi, ir.V32, x))
	}
	set(61, one(ir.OpAdd, ir.V32, one(ir.OpShl, ir.V32, one(ir.OpLaneID, ir.V32), k(2)), s(22)))
	f.Blocks[0].Term = ir.Term{Kind: ir.TermJump, Then: 1}

	b := block()
	index := func() ir.ID { // of dwords
		x := v(2 + r.IntN(2))
		if odd(6) {
			x = v(r.IntN(2))
		}
		switch r.IntN(4) {
		case 0:
			x = one(ir.OpOr, ir.V32, s(16+r.IntN(2)), x)
		case 1:
			x = one(ir.OpAdd, ir.V32, x, s(16+r.IntN(3)))
		}
		return x
	}
	sum := []ir.ID{v(60)}
	temp, out := 16, 32
	keep := func(lo, hi ir.ID) ir.ID {
		if r.IntN(4) > 0 {
			set(temp, lo)
			set(temp+1, hi)
			temp = 16 + (temp-14)%8
		}
		if odd(5) { // used behind the loads too
			sum = append(sum, []ir.ID{lo, hi}[r.IntN(2)])
		}
		return one(ir.OpPair, ir.V64, lo, hi)
	}
	for range 2 + r.IntN(4) {
		l := ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: 4, Space: ir.Global, Imm: uint64(4 * r.IntN(64))}
		if odd(6) {
			l.Imm = uint64(uint32(-4 * r.IntN(64)))
		}
		p := 8 + 2*r.IntN(3)
		args := []ir.ID{ir.NoID, ir.NoID, exec}
		switch r.IntN(6) {
		case 0:
			p = 10 + 2*r.IntN(2)
			args[1] = one(ir.OpPair, ir.V64, v(p), v(p+1))
		case 1, 2:
			n := r.IntN(2) // to one number in a strip another that goes on
			if p == 8 || odd(6) {
				n += 4
			}
			args[1] = keep(carry(v(p), v(p+1), v(n), ir.NoID))
		case 3: // (row·number + index)·4 + base
			x := one(ir.OpMulU64, ir.V64, one(ir.OpAdd, ir.V32, v(r.IntN(2)), s(18)), s(19))
			x = one(ir.OpAdd, ir.V64, x, one(ir.OpZext64, ir.V64, index()))
			if r.IntN(3) == 0 {
				g.add(ir.Value{Op: ir.OpMSet, Imm: 0xe, Args: []ir.ID{one(ir.OpMAnd, ir.M, one(ir.OpCarryAdd, ir.M, x, g.c(ir.S64, 5), ir.NoID), exec)}})
			}
			x = one(ir.OpShl, ir.V64, x, k(2))
			args[1] = keep(carry(s(30), s(31), one(ir.OpLo, ir.V32, x), one(ir.OpHi, ir.V32, x)))
		case 4: // by a scalar base
			args[0] = base
			if args[1] = v(4 + r.IntN(2)); r.IntN(2) == 0 {
				args[1] = one(ir.OpShl, ir.V32, index(), k(2))
			}
		default:
			args[1] = one(ir.OpAdd, ir.V64, one(ir.OpZext64, ir.V64, one(ir.OpShl, ir.V32, index(), k(2))), base)
		}
		switch r.IntN(6) {
		case 0:
			l.Type, l.Width = ir.V64, 8
			args[1] = one(ir.OpAdd, ir.V64, one(ir.OpShl, ir.V64, one(ir.OpZext64, ir.V64, index()), k(3)), base)
			args[0] = ir.NoID
		case 1:
			l.Type, l.N, l.Width = ir.T, 4, 16
			args[0], args[1] = base, v(7)
		}
		l.Args = args
		id := g.add(l)
		var parts []ir.ID
		switch l.Type {
		case ir.V32:
			parts = []ir.ID{id}
		case ir.V64:
			parts = []ir.ID{one(ir.OpLo, ir.V32, id), one(ir.OpHi, ir.V32, id)}
		default:
			for i := range l.N {
				parts = append(parts, g.add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: uint64(i), Args: []ir.ID{id}}))
			}
		}
		for _, x := range parts {
			if r.IntN(8) > 0 {
				set(out, x)
				out++
			}
			sum = append(sum, x)
		}
		if odd(10) {
			temp = 8 // an address of the loop is written over
		}
	}
	update := func() {
		for n := 8; n < 16; n += 2 {
			if r.IntN(2) == 0 {
				lo, hi := carry(v(n), v(n+1), s(16), ir.NoID)
				set(n, lo)
				set(n+1, hi)
			}
		}
	}
	soon := r.IntN(2) == 0 // before anything is done with what was loaded
	if soon {
		g.add(ir.Value{Op: ir.OpSSet, Imm: 23, Args: []ir.ID{one(ir.OpAdd, ir.S32, s(23), k(16))}})
		if r.IntN(4) == 0 {
			g.add(ir.Value{Op: ir.OpSSet, Imm: 16, Args: []ir.ID{one(ir.OpAdd, ir.S32, s(16), s(17))}})
		}
		update()
		g.add(ir.Value{Op: ir.OpStore, Width: 4, Space: ir.LDS, Args: []ir.ID{ir.NoID, v(61), exec, sum[len(sum)-1]}})
	}
	total := sum[0]
	for _, x := range sum[1:] {
		total = one(ir.OpXor, ir.V32, one(ir.OpMul, ir.V32, total, k(0x01000193)), x)
	}
	set(60, total)
	if !soon {
		update()
	}
	if r.IntN(3) == 0 {
		set(4, one(ir.OpAdd, ir.V32, v(4), s(17)))
	}
	left := one(ir.OpSub, ir.S32, s(20), k(1))
	g.add(ir.Value{Op: ir.OpSSet, Imm: 20, Args: []ir.ID{left}})
	if r.IntN(2) == 0 {
		g.add(ir.Value{Op: ir.OpSSet, Imm: 16, Args: []ir.ID{one(ir.OpAdd, ir.S32, s(16), k(16))}})
	}
	cond := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.NE, Args: []ir.ID{left, k(0)}})
	b.Term = ir.Term{Kind: ir.TermBranch, Cond: cond, Then: 1, Else: 2}
	if r.IntN(2) == 0 { // by a barrier, with another block in the loop
		b.Term = ir.Term{Kind: ir.TermJump, Then: 2}
		b = block()
		if r.IntN(2) == 0 {
			set(r.IntN(6), shape(r.IntN(2)*4))
		}
		cond = g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.NE, Args: []ir.ID{s(20), k(0)}})
		b.Term = ir.Term{Kind: ir.TermBranch, Cond: cond, Then: 1, Else: 3}
	}
	if r.IntN(2) == 0 { // once more into the loop, with other registers
		n := len(f.Blocks)
		b = block()
		again := s(21)
		g.add(ir.Value{Op: ir.OpSSet, Imm: 21, Args: []ir.ID{k(0)}})
		g.add(ir.Value{Op: ir.OpSSet, Imm: 20, Args: []ir.ID{k(3)}})
		set(r.IntN(4), shape(r.IntN(2)))
		set(4+r.IntN(2), shape(4))
		cond = g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.NE, Args: []ir.ID{again, k(0)}})
		b.Term = ir.Term{Kind: ir.TermBranch, Cond: cond, Then: 1, Else: n + 1}
	}
	if b = block(); r.IntN(2) == 0 { // nobody reads what was loaded, and where from, but the loop
		for n := 16; n < out; n++ {
			set(n, one(ir.OpAdd, ir.V32, v(60), k(n)))
		}
		b.Term = ir.Term{Kind: ir.TermJump, Then: len(f.Blocks)}
		b = block()
	}
	b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}
	return f
}

// affineCrewFunc is affineFunc with a barrier in the loop where that has two blocks.
func affineCrewFunc(seed uint64) *ir.Func {
	f := affineFunc(seed, seed%4 > 0)
	if b := f.Blocks[1]; b.Term.Kind == ir.TermJump {
		b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitBarrier, Next: f.Blocks[2].PC, Cond: ir.NoID}
	}
	return f
}

// affineCrewDiff runs a work-group of affineCrewFunc on both engines and returns what differs.
func affineCrewDiff(t testing.TB, seed uint64) []string {
	f := affineCrewFunc(seed)
	more := 0
	if seed%8 == 3 {
		more = 31 // waves than there are places for
	}
	diff, _, _ := crewDiffBy(t, seed, f, nil, func(t testing.TB, e engine.Engine, seed uint64, f *ir.Func) ([][]byte, string, int) {
		return crewRunWith(t, e, seed, f, affineVGPRs, more, func(i int, w *wave.Wave, space *flat) {
			affineState(seed+uint64(i)<<32, &rig{w: w, space: space})
			if seed%7 == 1 {
				space.scatter()
			}
			w.S[22] = uint32(256 * i)
			if seed%2 > 0 {
				w.S[20] = 1 + w.S[20]*uint32(seed%11)
			}
			if (seed+uint64(i))%13 == 1 {
				w.SetEXEC((seed + uint64(i)) * 0x9e3779b97f4a7c15)
			}
		})
	})
	return diff
}

// TestAffineCrew has waves of a crew go through loops that carry registers.
func TestAffineCrew(t *testing.T) {
	needJIT(t)
	n, first := fewer(200), uint64(0)
	if s, err := strconv.ParseUint(os.Getenv("ENGINE_RUNS"), 10, 64); err == nil {
		n = s
	}
	if s, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		first, n = s, 1
		t.Log("\n" + affineCrewFunc(s).String())
	}
	bad, carried := 0, 0
	for seed := first; seed < first+n; seed++ {
		if diff := affineCrewDiff(t, seed); len(diff) > 0 {
			t.Errorf("seed %d:\n  %s", seed, strings.Join(diff, "\n  "))
			if bad++; bad > 5 {
				t.Fatal("too many differences")
			}
		}
		if p, err := CompileWith(affineCrewFunc(seed), Options{}); err == nil {
			carried += b2i(len(p.carries) > 0)
		}
	}
	t.Logf("%d of %d loops carry", carried, n)
	if wide && n > 1 && carried < int(n)/20 {
		t.Errorf("only %d of %d loops carry registers", carried, n)
	}
}

// affineState is what the registers of affineFunc hold at first.
func affineState(seed uint64, g *rig) {
	r := rand.New(rand.NewPCG(seed, 43))
	g.w.S[16], g.w.S[17] = uint32(64*r.IntN(8)), uint32(16*r.IntN(4))
	if seed%7 == 1 { // over pages, which are scattered
		g.w.S[16] = uint32(2048 * r.IntN(4))
	}
	g.w.S[18], g.w.S[19] = uint32(r.IntN(8)), uint32(16*r.IntN(20))
	g.w.S[20], g.w.S[21] = uint32(1+r.IntN(7)), uint32(r.IntN(2))
	g.w.S[30], g.w.S[31] = uint32(g.space.va), uint32(g.space.va>>32)
	g.w.S[22] = 0
	g.w.Fuel = 10000
	g.w.SetEXEC(^uint64(0))
}

func TestAffine(t *testing.T) { onEach(t, testAffine) }

func testAffine(t *testing.T) {
	n, first := fewer(300), uint64(0)
	if s, err := strconv.ParseUint(os.Getenv("ENGINE_RUNS"), 10, 64); err == nil {
		n = s
	}
	if s, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		first, n = s, 1
		t.Log("\n" + affineFunc(s, s%4 == 0).String())
	}
	bad := 0
	for seed := first; seed < first+n; seed++ {
		if diff := affineDiff(t, seed); len(diff) > 0 {
			t.Errorf("seed %d:\n  %s", seed, strings.Join(diff, "\n  "))
			if bad++; bad > 5 {
				t.Fatal("too many differences")
			}
		}
	}
}

// affineDiff runs affineFunc on both engines and returns what differs.
func affineDiff(t testing.TB, seed uint64) []string {
	f := affineFunc(seed, seed%4 == 0)
	if err := ir.Verify(f); err != nil {
		t.Fatalf("seed %d: bad test: %v", seed, err)
	}
	return diffEnginesWith(t, seed, f, affineVGPRs, func(g *rig) {
		affineState(seed, g)
		if seed%7 == 1 {
			g.space.scatter()
		}
		if seed%9 == 1 {
			g.w.SetEXEC(seed * 0x9e3779b97f4a7c15)
		}
	})
}

// TestAffineTaken sees that runs are found and gone through, in most iterations of most loops whose lanes are in order.
func TestAffineTaken(t *testing.T) {
	if needJIT(t); !wide {
		t.Skip("this CPU lacks AVX-512")
	}
	found, taken, loops := 0, 0, 0
	for seed := uint64(0); seed < 200; seed += 4 {
		f := affineFunc(seed, true)
		p, err := CompileWith(f, Options{})
		if err != nil {
			t.Fatal(err)
		}
		loops++
		if len(p.affines) == 0 {
			continue
		}
		found++
		var cm rt.CodeMemory
		ip, err := install(&cm, p)
		if err != nil {
			t.Fatal(err)
		}
		g := newRig(t, f.Lanes, affineVGPRs)
		g.fill(seed, f.Lanes)
		affineState(seed, g)
		m := &machine{tlb: mem.NewTLB(), slow: noSlow{t}}
		testTLB = m.tlb
		m.tlb.Enter(g.w.Space)
		m.execute(g.w, ip, 0)
		if *(*uint32)(unsafe.Pointer(&m.affine[p.affines[0]+affineTaken])) > 0 {
			taken++
		}
		m.tlb.Close()
		m.close()
		g.free()
		cm.Close()
	}
	t.Logf("%d loops, %d with a run, %d of them gone through", loops, found, taken)
	if found < loops/2 || taken < found/2 {
		t.Errorf("of %d loops %d have a run and %d go through it", loops, found, taken)
	}
}

// TestAffineSampled sees that a sampler's page, which takes the place of the frame's first one, leaves the runs their memory.
func TestAffineSampled(t *testing.T) {
	needJIT(t)
	s, err := NewSampler(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.cells.Close()
	defer s.funcs.Close()
	m := &machine{sampler: s, page: s.page()}
	defer m.close()
	if err := m.needFrame(8192); err != nil {
		t.Fatal(err)
	}
	if p := *(*unsafe.Pointer)(unsafe.Pointer(&m.frame[frameAffine])); p != unsafe.Pointer(&m.affine[0]) {
		t.Errorf("the frame tells of memory at %p, not of that at %p", p, &m.affine[0])
	}
}
