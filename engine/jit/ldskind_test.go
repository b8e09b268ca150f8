//go:build linux && amd64

package jit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
)

// kindFunc is a random loop whose waves write a part of the LDS, in rows, in columns or otherwise, and read tiles of it at addresses that
// come from before the loop, where it is gone into once more with others. Sometimes it writes them itself. Between the parts there are barriers, if it is
// for several waves.
func kindFunc(seed uint64, barriers bool) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 61))
	f := &ir.Func{PC: 0x10000, Lanes: []int{32, 64}[r.IntN(2)]}
	for i := range 6 {
		f.Blocks = append(f.Blocks, &ir.Block{Index: i, PC: uint32(i * 1024), Insts: 1 + r.IntN(8)})
	}
	g := &gen{r: r, f: f, nv: 12}
	start := func(i int) { g.b, g.by = f.Blocks[i], map[ir.Type][]ir.ID{} }
	one, k, get, exec, lane := g.one, g.k, g.get, g.exec, g.lane
	sget := func(n int) ir.ID { return g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: uint64(n)}) }
	sset := func(n int, x ir.ID) { g.add(ir.Value{Op: ir.OpSSet, Imm: uint64(n), Args: []ir.ID{x}}) }
	end := func(then int) {
		g.b.Term = ir.Term{Kind: ir.TermJump, Cond: ir.NoID, Then: then}
		if barriers {
			g.b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitBarrier, Next: uint32(1024 * then), Cond: ir.NoID}
		}
	}
	// at is (lane%16)·step + (lane/16)·up + base.
	at := func(step, up int, base ir.ID) ir.ID {
		x := one(ir.OpMul, ir.V32, one(ir.OpAnd, ir.V32, lane(), k(15)), k(step))
		y := one(ir.OpMul, ir.V32, one(ir.OpLShr, ir.V32, lane(), k(4)), k(up))
		x = one(ir.OpAdd, ir.V32, one(ir.OpAdd, ir.V32, x, y), base)
		if r.IntN(6) == 0 {
			x = one(ir.OpXor, ir.V32, x, k(4*(1+r.IntN(2))))
		}
		return x
	}
	w := []int{4, 8, 12, 16, 16}[r.IntN(5)]
	storeAt := func() { // a wave has 1024 bytes
		s := [][2]int{{4, 64}, {4, 64}, {16, 4}, {16, 4}, {32, 4}, {8, 4}, {4, 0}}[r.IntN(7)]
		g.set(0, at(s[0], s[1], one(ir.OpShl, ir.S32, sget(21), k(2))), exec())
	}
	tileAt := func(n int) {
		s := [][2]int{{w, 0}, {w, 0}, {0, 16}, {0, 16}, {4, 64}, {w, 16 * w}, {12, 4}}[r.IntN(7)]
		g.set(n, at(s[0], s[1], k(4*r.IntN(100))), exec())
	}
	start(0)
	storeAt()
	tileAt(1)
	tileAt(2)
	f.Blocks[0].Term = ir.Term{Kind: ir.TermJump, Cond: ir.NoID, Then: 1}

	start(1)
	addr, m := get(0), exec()
	for i := range 1 + r.IntN(4) {
		g.add(ir.Value{Op: ir.OpStore, Width: 4, Space: ir.LDS, Imm: uint64([]int{0, 0, 16, 256, 64}[r.IntN(5)]), Args: []ir.ID{ir.NoID, addr, m, get(3 + i)}})
	}
	end(2)

	start(2)
	m = exec()
	addrs := []ir.ID{get(1), get(2)}[:1+r.IntN(2)]
	for i := range 4 + r.IntN(4) {
		a := addrs[i%len(addrs)]
		id := g.add(ir.Value{Op: ir.OpLoad, Type: ir.T, N: uint8(w / 4), Width: uint8(w), Space: ir.LDS, Imm: uint64(4 * r.IntN(100)), Args: []ir.ID{ir.NoID, a, m}})
		for j := range w / 4 {
			x := g.add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: uint64(j), Args: []ir.ID{id}})
			n := 3 + (i+j)%8
			g.set(n, one(ir.OpAdd, ir.V32, one(ir.OpMul, ir.V32, get(n), k(0x01000193)), x), m)
		}
	}
	end(3)

	start(3)
	if r.IntN(4) == 0 {
		n, m := r.IntN(3), exec()
		if r.IntN(2) == 0 {
			m = one(ir.OpMAnd, ir.M, m, g.c(ir.M, r.Uint64()))
		}
		g.set(n, one(ir.OpAdd, ir.V32, get(n), k(4)), m)
	}
	left := one(ir.OpSub, ir.S32, sget(20), k(1))
	sset(20, left)
	more := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.SGT, Args: []ir.ID{left, k(0)}})
	f.Blocks[3].Term = ir.Term{Kind: ir.TermBranch, Cond: more, Then: 1, Else: 4}

	start(4)
	again := one(ir.OpAnd, ir.S32, sget(25), k(1))
	sset(25, k(0))
	sset(20, k(3))
	switch r.IntN(3) {
	case 0:
		storeAt()
	case 1:
		tileAt(1)
	default:
		tileAt(2)
		storeAt()
	}
	more = g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.NE, Args: []ir.ID{again, k(0)}})
	f.Blocks[4].Term = ir.Term{Kind: ir.TermBranch, Cond: more, Then: 1, Else: 5}
	start(5)
	f.Blocks[5].Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}
	return f
}

func kindCrewDiff(t testing.TB, seed uint64) []string {
	diff, _, _ := crewDiffOf(t, seed, kindFunc(seed, true), nil)
	return diff
}

// kindDiff runs a wave of kindFunc on both engines, little by little, and between the pieces somebody changes its addresses.
func kindDiff(t testing.TB, seed uint64) []string {
	f := kindFunc(seed, false)
	if err := ir.Verify(f); err != nil {
		t.Fatalf("seed %d: bad test: %v", seed, err)
	}
	lifter := func(lift.Source, *isa.Target, uint64, uint32, int) (*ir.Func, error) { return f, nil }
	run := func(e engine.Engine) (*rig, string) {
		g := newRig(t, f.Lanes, 12)
		g.fill(seed, f.Lanes)
		r := rand.New(rand.NewPCG(seed, 62))
		if r.IntN(8) > 0 {
			g.w.SetEXEC(^uint64(0))
		}
		g.w.PC = f.PC
		g.w.S[20], g.w.S[21], g.w.S[25] = uint32(1+r.IntN(30)), uint32(4*r.IntN(100)), r.Uint32()
		k := e.NewWorker()
		defer k.Close()
		exits := ""
		for range 100 {
			g.w.Fuel = int64(10 + r.IntN(200))
			x := k.Run(g.w)
			if x != ir.ExitFuel {
				exits += x.String()
				break
			}
			if r.IntN(2) == 0 {
				v := g.w.VGPR(r.IntN(3))
				step, up := 4*uint32(r.IntN(5)), 4*uint32(r.IntN(20))
				for l := range v {
					v[l] = uint32(l)%16*step + uint32(l)/16*up
				}
			}
		}
		return g, exits
	}
	j, err := NewWith(code.New(lifter))
	if err != nil {
		t.Fatal(err)
	}
	defer j.mem.Close()
	want, wantExits := run(interp.NewWith(code.New(lifter)))
	defer want.free()
	got, gotExits := run(j)
	defer got.free()
	var diff []string
	if gotExits != wantExits {
		diff = append(diff, "exits "+gotExits+" want "+wantExits)
	}
	for n := range 12 {
		for l := range f.Lanes {
			if a, b := got.w.VGPR(n)[l], want.w.VGPR(n)[l]; a != b {
				diff = append(diff, fmt.Sprintf("v%d", n))
				break
			}
		}
	}
	if at := firstDiff(want.lds, got.lds); at >= 0 {
		diff = append(diff, "the LDS")
	}
	return diff
}

// TestKinds runs loops whose tiles are looked at once.
func TestKinds(t *testing.T) { onEach(t, testKinds) }

func testKinds(t *testing.T) {
	needJIT(t)
	kept := 0
	for seed := range fewer(300) {
		for _, d := range []struct {
			name string
			diff func(testing.TB, uint64) []string
		}{{"crew", kindCrewDiff}, {"one wave", kindDiff}} {
			if diff := d.diff(t, seed); len(diff) > 0 {
				t.Fatalf("seed %d, %s: %s", seed, d.name, strings.Join(diff, "\n  "))
			}
		}
		p, err := CompileWith(kindFunc(seed, true), Options{AVX2: hostAVX2})
		if err != nil {
			t.Fatal(err)
		}
		kept += b2i(p.kinds)
	}
	if kept == 0 && !hostAVX2 {
		t.Error("no loop keeps what it finds")
	}
}
