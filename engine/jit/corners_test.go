//go:build linux && amd64

package jit

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// cornerState is what the registers of cornerFunc hold at first. The wave's part of the LDS is the i-th.
func cornerState(seed uint64, i int, w *wave.Wave, space *flat) {
	r := rand.New(rand.NewPCG(seed, 52+uint64(i)<<8))
	odd := cornerOdd(seed)
	clear(w.S[16:48])
	pick := func(x ...int) uint32 { return uint32(x[r.IntN(len(x))]) }
	w.S[cornerStep] = pick(0, 64, 64, 128, 256, 256, 1024)
	w.S[cornerOr] = pick(0, 1024, 4096, 5<<10)
	w.S[cornerNum] = pick(0, 1, 16, 64, 100)
	w.S[cornerBig] = -(16 * r.Uint32N(6))
	w.S[cornerLeft], w.S[cornerAgain] = uint32(1+r.IntN(6)), uint32(r.IntN(3))
	w.S[cornerPart] = uint32(256 * i)
	w.S[cornerLong] = pick(0, 64, 1<<31, -16*r.IntN(6))
	w.S[cornerLong+1] = pick(0, 1, 0xffffffff)
	w.S[30], w.S[31] = uint32(space.va), uint32(space.va>>32)
	w.S[cornerMask] = pick(64, 64, 64, 200, 17, 0)
	w.Fuel = 10000
	w.SetEXEC(^uint64(0))
	lanes := w.Lanes
	put := func(n int, start, step uint32, up []uint32) {
		for l := range w.VGPR(n) {
			w.VGPR(n)[l] = start + step*uint32(l%16) + up[l/16]
		}
	}
	same := func(x uint32) []uint32 { return []uint32{0, x, 2 * x, 3 * x} }
	any := func() []uint32 {
		return []uint32{pick(0, 64, -16, -64), pick(0, 4, -16, 128), pick(0, 8, -64, -16), pick(0, 1<<31, -16, 16)}
	}
	put(cornerFlat, pick(0, 0, 3, 64), 0, same(pick(0, 1, 4, 16)))
	put(cornerFlat+1, 0, 0, any())
	put(cornerIndex, pick(0, 0, 16, 64, 160), 1, same(16))
	put(cornerIndex+1, 16*r.Uint32N(16), 1, same(pick(16, 0, 64, 32)))
	put(cornerBytes, 4*r.Uint32N(2048), 4, same(64))
	put(cornerBytes+1, 4*r.Uint32N(2048), 4, same(pick(64, 1024, 4, 0)))
	address := func(n int, at uint64, step uint64, up uint64) {
		for l := range lanes {
			x := at + step*uint64(l%16) + up*uint64(l/16)
			w.VGPR(n)[l], w.VGPR(n + 1)[l] = uint32(x), uint32(x>>32)
		}
	}
	at := func() uint64 { return space.va + 4096 + 4*r.Uint64N(4096) }
	address(cornerAt, at(), 4, 64)
	address(cornerAt+2, at(), 4, []uint64{64, 256, 1024, 0}[r.IntN(4)])
	address(cornerAt+4, at(), 0, []uint64{64, 256, 0}[r.IntN(3)])
	put(cornerWide, pick(0, 1<<31, -64, -32), pick(0, 1, 1), same(pick(16, 0, 32)))
	put(cornerWide+1, pick(0, 7, 0xffffffff), 0, same(pick(0, 1)))
	put(cornerQuad, 16*r.Uint32N(256), 16, same(256))
	put(cornerFree, r.Uint32N(1000), pick(2, 3, 12, 255), same(pick(0, 64, 48)))
	put(cornerLDS, w.S[cornerPart], 4, same(64))
	strip := uint32(16 * r.IntN(lanes/16))
	reg := w.VGPR(cornerReg(seed))
	switch odd {
	case oddWrap:
		by := reg[strip+1+r.Uint32N(15)]
		for l := range reg {
			reg[l] -= by
		}
		if w.S[cornerBig] = pick(0xffffffff, 0xfffffff6); r.IntN(2) == 0 {
			w.S[cornerLong] = pick(0xffffffff, 0xfffffff6)
		}
	case oddLane:
		if r.IntN(2) == 0 {
			reg = w.VGPR(r.IntN(cornerTemp))
		}
		reg[r.IntN(lanes)] += pick(1, 4, 64, -1)
	case oddMeet:
		w.S[cornerOr] = 1 << r.IntN(8)
		for l := range w.VGPR(cornerIndex) {
			w.VGPR(cornerIndex)[l] += 1
		}
	case oddHigh:
		w.S[cornerLong] = -reg[strip+1+r.Uint32N(15)]
		put(cornerWide, -(64*(1+r.Uint32N(3)) + r.Uint32N(16)), 1, same(16))
	case oddPages, oddEnd:
		end := uint64(mem.PageSize) * uint64(1+r.IntN(8))
		if odd == oddEnd {
			end = uint64(len(space.b))
		}
		w.S[cornerLeft] += 6
		w.S[cornerStep] = pick(64, 128, 256)
		for n := cornerAt; n < cornerWide; n += 2 {
			address(n, space.va+end-4*r.Uint64N(600), 4*uint64(b2i(n < cornerAt+4)), 64)
		}
		for n := cornerBytes; n < cornerAt; n++ {
			put(n, uint32(end)-4*r.Uint32N(80), 4, same(64))
		}
		put(cornerQuad, uint32(end)-16*r.Uint32N(80)-4*r.Uint32N(4), 16, same(256))
	case oddExec:
		w.SetEXEC(^(uint64(1) << r.IntN(64)))
	case oddStrips:
		if r.IntN(2) == 0 {
			reg = w.VGPR(r.IntN(cornerTemp))
		}
		up := pick(1, 4, 2)
		all := r.IntN(2) == 0
		for l := range reg {
			if all || l/16 == int(strip)/16 {
				reg[l] += uint32(l%16) * up
			}
		}
	case oddUpper:
		n := cornerAt + 1 + 2*r.IntN(4)
		for l := range w.VGPR(n) {
			w.VGPR(n)[l] += uint32(l / int(pick(1, 8, 15)))
		}
	case oddCarry:
		w.S[cornerBig] = -r.Uint32N(80)
		put(cornerFlat+1, -r.Uint32N(80), 0, same(0))
	}
}

// cornerTuned is the seed of how the engines run a program: some do not matter to runs.
func cornerTuned(seed uint64) uint64 {
	x := seed * 0x9e3779b97f4a7c15 >> 20
	x &^= 1<<2 | 1<<7 // never code of the first tier, or soft
	if x>>12%2 > 0 {
		x &^= 1 << 5 // mostly in one piece
	}
	return x
}

// cornerDiff runs cornerFunc on both engines and returns what differs.
func cornerDiff(t testing.TB, seed uint64) []string {
	f := cornerFunc(seed, false)
	if err := ir.Verify(f); err != nil {
		t.Fatalf("seed %d: bad test: %v", seed, err)
	}
	return diffRigs(t, cornerTuned(seed), f, cornerVGPRs, (*rig).fillQuick, func(g *rig) {
		cornerState(seed, 0, g.w, g.space)
		if cornerOdd(seed) == oddPages || seed%8 == 0 {
			g.space.scatter()
		}
	})
}

// cornerCrewDiff runs a work-group of cornerFunc on both engines and returns what differs.
func cornerCrewDiff(t testing.TB, seed uint64) []string {
	more := 0
	if seed%8 == 3 {
		more = 31 // waves than there are places for
	}
	diff, _, _ := crewDiffBy(t, cornerTuned(seed), cornerFunc(seed, true), nil, func(t testing.TB, e engine.Engine, tuned uint64, f *ir.Func) ([][]byte, string, int) {
		return crewRunWith(t, e, tuned, f, cornerVGPRs, more, func(i int, w *wave.Wave, space *flat) {
			cornerState(seed, i, w, space)
			if cornerOdd(seed) == oddPages {
				space.scatter()
			}
			if seed%4 > 0 {
				w.S[cornerLeft] = 1 + w.S[cornerLeft]*uint32(seed%7)
			}
			w.Fuel = 10000
		})
	})
	return diff
}

// TestCorners runs a few more than TestShapes does, and those of foundCorners.
func TestCorners(t *testing.T) {
	onEach(t, func(t *testing.T) {
		for i := range fewer(200) + uint64(len(foundCorners)) {
			seed := i
			if n := uint64(len(foundCorners)); i < n {
				seed = foundCorners[i]
			}
			for name, diff := range map[string][]string{"corners": cornerDiff(t, seed), "cornercrew": cornerCrewDiff(t, seed)} {
				if len(diff) > 0 {
					t.Errorf("seed %d (%s):\n  %s", seed, name, strings.Join(diff, "\n  "))
				}
			}
		}
	})
}

// foundCorners are the seeds of programs that once made a difference.
var foundCorners = []uint64{
	400, 631, 1121, // a run went over stores into the LDS, and left them out
	11590, 13647, 21634, // what a run's register held between two writes was looked for in its home behind the run
}

// runOf compares a loop of two loads; what comes before, between and behind them is made by three functions.
func runOf(t *testing.T, before, between, behind func(g *cornerGen)) {
	g := &cornerGen{gen: gen{r: rand.New(rand.NewPCG(1, 1)), f: &ir.Func{PC: 0x10000, Lanes: 64}, nv: cornerVGPRs}}
	f := g.f
	g.block().Term = ir.Term{Kind: ir.TermJump, Then: 1}
	g.block()
	before(g)
	for n := range 2 {
		if n > 0 {
			between(g)
		}
		x := g.add(ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: 4, Space: ir.Global, Args: []ir.ID{g.base, g.v(cornerBytes + n), g.exec}})
		g.set(cornerOut+n, x)
	}
	behind(g)
	left := g.one(ir.OpSub, ir.S32, g.s(cornerLeft), g.k(1))
	g.setS(cornerLeft, left)
	more := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.NE, Args: []ir.ID{left, g.k(0)}})
	g.b.Term = ir.Term{Kind: ir.TermBranch, Cond: more, Then: 1, Else: 2}
	g.block().Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}
	if err := ir.Verify(f); err != nil {
		t.Fatal(err)
	}
	setUp := func(r *rig) {
		cornerState(0, 0, r.w, r.space)
		for n := range cornerAt {
			for l := range r.w.VGPR(n) {
				r.w.VGPR(n)[l] = uint32([]int{3, l / 16, l, 64 + l, 4 * l, 256 + 4*l}[n])
			}
		}
		r.w.S[cornerLeft] = 3
	}
	for _, x := range diffRigs(t, 0, f, cornerVGPRs, (*rig).fillQuick, setUp) {
		t.Error(x)
	}
}

func nothing(*cornerGen) {}

// TestAffineBehindStores sees that a run does not go over stores into the LDS: they must be done.
func TestAffineBehindStores(t *testing.T) {
	runOf(t, func(g *cornerGen) {
		g.add(ir.Value{Op: ir.OpStore, Width: 4, Space: ir.LDS, Args: []ir.ID{ir.NoID, g.v(cornerLDS), g.exec, g.one(ir.OpXor, ir.V32, g.v(cornerSum), g.s(cornerLeft))}})
	}, nothing, nothing)
}

// TestAffineReadBetween sees what is read between two writes of a register in a run, and used behind it: it is not what the register holds then.
func TestAffineReadBetween(t *testing.T) {
	x := ir.NoID
	runOf(t, nothing, func(g *cornerGen) {
		g.set(cornerIndex, g.one(ir.OpAdd, ir.V32, g.v(cornerIndex), g.k(16)))
		x = g.v(cornerIndex)
		g.set(cornerIndex, g.one(ir.OpAdd, ir.V32, g.v(cornerIndex+1), g.k(1)))
	}, func(g *cornerGen) {
		g.set(cornerSum, g.one(ir.OpXor, ir.V32, g.one(ir.OpMul, ir.V32, g.v(cornerSum), g.v(cornerOut)), x)) // no run does that
	})
}

// TestCornersTaken sees that most loops have a run, and that most of these are gone through.
func TestCornersTaken(t *testing.T) {
	if needJIT(t); !wide {
		t.Skip("this CPU lacks AVX-512")
	}
	found, tame := 0, 0
	for seed := range uint64(300) {
		if cornerOdd(seed) == oddForm {
			continue
		}
		p, err := CompileWith(cornerFunc(seed, false), Options{})
		if err != nil {
			t.Fatal(err)
		}
		tame++
		found += b2i(len(p.affines) > 0)
	}
	t.Logf("%d of %d loops have a run", found, tame)
	if found < tame/2 {
		t.Errorf("only %d of %d loops have a run", found, tame)
	}
}
