//go:build linux && amd64

package jit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
)

// engineFunc is a random function with everything in it.
func engineFunc(seed uint64) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 77))
	blocks := 1 + r.IntN(4)
	size := []int{3, 8, 20, 60, 150}[r.IntN(5)]
	return randomFunc(r, blocks, size, seed%2 == 1, true)
}

// diffEngines runs f on interpreter and JIT and returns what differs.
func diffEngines(t testing.TB, seed uint64, f *ir.Func) []string {
	return diffEnginesWith(t, seed, f, 12, func(*rig) {})
}

// diffEnginesWith is diffEngines with a number of registers, and a function that sets them up.
func diffEnginesWith(t testing.TB, seed uint64, f *ir.Func, nvgpr int, setUp func(*rig)) []string {
	return diffRigs(t, seed, f, nvgpr, (*rig).fill, setUp)
}

// diffRigs is diffEnginesWith with what fills registers and memory first.
func diffRigs(t testing.TB, seed uint64, f *ir.Func, nvgpr int, fill func(g *rig, seed uint64, lanes int), setUp func(*rig)) []string {
	needJIT(t)
	lifter := func(lift.Source, *isa.Target, uint64, uint32, int) (*ir.Func, error) { return f, nil }
	// Whoever goes on with a wave must know the function from its beginning: lifted at another PC, it would begin with its first block all the same.
	caches := [2]*code.Cache{code.New(lifter), code.New(lifter)}
	j, err := NewWith(caches[1])
	if err != nil {
		t.Fatal(err)
	}
	defer j.mem.Close()
	j.quick = seed/2%4 == 3
	j.lazy, j.allAtEnd, j.soft = seed/8%2 == 1, true, seed/128%4 == 3
	pieces := int64(1)
	if seed/32%2 == 1 { // the wave leaves often, and others go on with it
		pieces = 12
	}
	var rigs [2]*rig
	var exits [2]ir.Exit
	for i, e := range []engine.Engine{interp.NewWith(caches[0]), j} {
		g := newRig(t, f.Lanes, nvgpr)
		defer g.free()
		fill(g, seed, f.Lanes)
		setUp(g)
		g.w.PC = f.PC
		g.w.S[isa.SRegFlatScratchLo], g.w.S[isa.SRegFlatScratchHi] = uint32(g.space.va)+4096, uint32(g.space.va>>32)
		k, other := e.NewWorker(), interp.NewWith(caches[i]).NewWorker()
		all := g.w.Fuel
		for left := pieces; left > 0; left-- {
			if g.w.Fuel = all / pieces; left < pieces && !j.lazy && seed/256%2 == 1 { // and EXEC may be any
				g.w.SetEXEC(seed * 0x9e3779b97f4a7c15 >> uint(left))
			}
			run := k.Run
			if seed/64%2 == 1 && left%3 == 1 {
				run = other.Run
			}
			if exits[i] = run(g.w); exits[i] != ir.ExitFuel {
				break
			}
		}
		k.Close()
		other.Close()
		rigs[i] = g
	}
	a, b := rigs[0], rigs[1]
	var diff []string
	d := func(format string, x ...any) {
		if len(diff) < 12 {
			diff = append(diff, fmt.Sprintf(format, x...))
		}
	}
	if j.Failed() > 0 {
		d("did not compile")
	}
	if exits[0] != exits[1] || a.w.PC != b.w.PC || a.w.Fuel != b.w.Fuel && exits[0] != ir.ExitFault {
		d("exit %d pc %#x fuel %d %s, want %d %#x %d %s", exits[1], b.w.PC, b.w.Fuel, b.w.Illegal, exits[0], a.w.PC, a.w.Fuel, a.w.Illegal)
	}
	if a.w.Fault != b.w.Fault {
		d("fault %+v, want %+v", b.w.Fault, a.w.Fault)
	}
	b.compare(a, !j.lazy || exits[0] == ir.ExitEndPgm, d)
	return diff
}

func TestEngineSeed(t *testing.T) {
	s := os.Getenv("ENGINE_SEED")
	if s == "" {
		t.Skip("set ENGINE_SEED to look at one random program")
	}
	seed, _ := strconv.ParseUint(s, 10, 64)
	f := engineFunc(seed)
	t.Log("\n" + f.String())
	for _, x := range diffEngines(t, seed, f) {
		t.Error(x)
	}
}

// foundSeeds are those of programs that once made a difference, beyond the ones that every run tries.
var foundSeeds = []uint64{
	365, // the exit of a division did not say whose code it was, which counts where functions jump into each other
}

// TestEngines runs random programs on both engines. ENGINE_RUNS sets how many.
func TestEngines(t *testing.T) { onEach(t, testEngines) }

func testEngines(t *testing.T) {
	n := fewer(300)
	if testing.Short() {
		n /= 3
	}
	if s, err := strconv.ParseUint(os.Getenv("ENGINE_RUNS"), 10, 64); err == nil {
		n = s
	}
	bad := 0
	for i := range n + uint64(len(foundSeeds)) {
		seed := i - uint64(len(foundSeeds))
		if i < uint64(len(foundSeeds)) {
			seed = foundSeeds[i]
		}
		f := engineFunc(seed)
		if err := ir.Verify(f); err != nil {
			t.Fatalf("seed %d: bad test: %v", seed, err)
		}
		if diff := diffEngines(t, seed, f); len(diff) > 0 {
			t.Errorf("seed %d, %d lanes, %d values:\n  %s", seed, f.Lanes, len(f.Values), strings.Join(diff, "\n  "))
			if bad++; bad > 5 {
				t.Fatal("too many differences")
			}
		}
	}
}

// FuzzEngines looks for programs that the engines run differently.
func FuzzEngines(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		if diff := diffEngines(t, seed, engineFunc(seed)); len(diff) > 0 {
			t.Error(strings.Join(diff, "\n"))
		}
	})
}
