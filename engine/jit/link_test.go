//go:build linux && amd64

package jit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
)

// linkModes are the values of MODE that linked programs have; what a PC means depends on it.
var linkModes = [2]uint32{0, 0x240}

// linkProgram makes a program of several functions that jump to each other in all ways that leave one: calls by a register or to a known
// address, with bits below the PC's, direct jumps to code that was not lifted with them, and changes of MODE.
func linkProgram(seed uint64) code.Lifter {
	r := rand.New(rand.NewPCG(seed, 31))
	n := 2 + r.IntN(4)
	const apart = 0x10040
	lanes := 0
	var funcs [2][]*ir.Func
	for m := range linkModes {
		for i := range n {
			f := randomFunc(r, 1+r.IntN(3), 1+r.IntN(6), seed%2 == 1, true)
			if lanes == 0 {
				lanes = f.Lanes
			}
			for f.Lanes != lanes {
				f = randomFunc(r, 1+r.IntN(3), 1+r.IntN(6), seed%2 == 1, true)
			}
			f.PC = 0x10000 + apart*uint64(i)
			f.Mode = linkModes[m]
			funcs[m] = append(funcs[m], f)
		}
	}
	for _, fs := range funcs {
		for _, f := range fs {
			for _, b := range f.Blocks {
				if b.Term.Kind == ir.TermBranch && r.IntN(3) > 0 || r.IntN(12) == 0 {
					continue
				}
				to := 0x10000 + apart*uint64(r.IntN(n))
				if r.IntN(4) == 0 {
					to = f.PC + uint64(f.Blocks[r.IntN(len(f.Blocks))].PC)
				}
				s64 := func(x uint64) ir.ID { return f.Add(b, ir.Value{Op: ir.OpConst, Type: ir.S64, Imm: x}) }
				b.Term = ir.Term{Kind: ir.TermExit, Cond: ir.NoID, Next: uint32(to - f.PC)}
				switch r.IntN(5) {
				case 0:
					b.Term.Exit, b.Term.Cond = ir.ExitIndirect, s64(to|r.Uint64N(4))
				case 1, 2: // where the last one of these said, and says now
					f.Add(b, ir.Value{Op: ir.OpSSet64, Imm: 96, Args: []ir.ID{s64(to)}})
					b.Term.Exit, b.Term.Cond = ir.ExitIndirect, f.Add(b, ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 96})
				case 3:
					b.Term.Exit = ir.ExitFetch
				case 4:
					x := f.Add(b, ir.Value{Op: ir.OpConst, Type: ir.S32, Imm: uint64(linkModes[r.IntN(2)])})
					f.Add(b, ir.Value{Op: ir.OpSSet, Imm: isa.SRegMODE, Args: []ir.ID{x}})
					b.Term.Exit, b.Term.Next = ir.ExitMode, uint32(apart*uint64(r.IntN(n))+0x10000-f.PC)
				}
			}
		}
	}
	return func(_ lift.Source, _ *isa.Target, pc uint64, mode uint32, _ int) (*ir.Func, error) {
		for m, fs := range funcs {
			for _, f := range fs {
				if f.PC == pc && linkModes[m] == mode {
					return f, nil
				}
			}
		}
		return nil, &lift.FetchError{PC: pc}
	}
}

// linkDiff runs a program of several functions, in pieces, on both engines and returns what differs.
func linkDiff(t testing.TB, seed uint64) (diff []string, links int) {
	needJIT(t)
	lifter := linkProgram(seed)
	j, err := NewWith(code.New(lifter))
	if err != nil {
		t.Fatal(err)
	}
	defer j.mem.Close()
	j.quick = seed/2%4 == 3
	j.lazy, j.allAtEnd = seed/8%2 == 1, true
	ki, kj := interp.NewWith(code.New(lifter)).NewWorker(), j.NewWorker().(*Worker)
	defer ki.Close()
	defer kj.Close()
	start, err := lifter(nil, nil, 0x10000, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 32))
	d := func(format string, x ...any) {
		if len(diff) < 12 {
			diff = append(diff, fmt.Sprintf(format, x...))
		}
	}
	var first [2]*rig // whose space and memory all waves have
	// The second wave finds the first one's links; the third has fewer registers than the code names.
	for wave, nv := range []int{12, 12, 3} {
		var g [2]*rig
		for i := range g {
			g[i] = newRig(t, start.Lanes, nv)
			defer g[i].free()
			g[i].fill(seed+uint64(wave), start.Lanes)
			w := g[i].w
			w.PC, w.S[isa.SRegMODE] = 0x10000, linkModes[0]
			if wave == 0 {
				first[i] = g[i]
			}
			w.Space = first[i].w.Space
		}
		a, b := g[0].w, g[1].w
		over := false
		for piece := range 20 {
			fuel := 1 + r.Int64N(300)
			a.Fuel, b.Fuel = fuel, fuel
			x, y := ki.Run(a), kj.Run(b)
			if x != y || a.PC != b.PC || a.Fuel != b.Fuel && x != ir.ExitFault || a.Fault != b.Fault {
				d("wave %d piece %d: %v pc %#x fuel %d %v %s, want %v %#x %d %v %s", wave, piece, y, b.PC, b.Fuel, b.Fault, b.Illegal, x, a.PC, a.Fuel, a.Fault, a.Illegal)
			}
			for i := range a.S {
				if a.S[i] != b.S[i] {
					d("wave %d piece %d: s%d = %#x, want %#x", wave, piece, i, b.S[i], a.S[i])
				}
			}
			if over = x == ir.ExitEndPgm; x != ir.ExitFuel || len(diff) > 0 {
				break
			}
		}
		for n := range a.NVGPR {
			if j.lazy && !over {
				break
			}
			x, y := a.VGPR(n), b.VGPR(n)
			for l := range x {
				if x[l] != y[l] {
					d("wave %d: v%d lane %d = %#x, want %#x", wave, n, l, y[l], x[l])
				}
			}
		}
		for name, m := range map[string][2][]byte{"LDS": {g[0].lds, g[1].lds}, "memory": {first[0].space.b, first[1].space.b}} {
			for i := range m[0] {
				if m[0][i] != m[1][i] {
					d("wave %d: %s at %#x = %#x, want %#x", wave, name, i, m[1][i], m[0][i])
					break
				}
			}
		}
		if len(diff) > 0 {
			break
		}
	}
	for _, l := range kj.links {
		if l != nil {
			links += len(l.progs)
		}
	}
	return diff, links
}

// TestLinkRandom compares the engines on programs of several functions.
func TestLinkRandom(t *testing.T) { onEach(t, testLinkRandom) }

func testLinkRandom(t *testing.T) {
	first, n := uint64(0), fewer(80)
	if s, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		first, n = s, 1
	}
	if s, err := strconv.ParseUint(os.Getenv("SEEDS"), 10, 64); err == nil {
		n = s
	}
	links, bad := 0, 0
	for seed := first; seed < first+n && bad < 5; seed++ {
		diff, l := linkDiff(t, seed)
		links += l
		if len(diff) > 0 {
			bad++
			t.Errorf("seed %d:\n  %s", seed, strings.Join(diff, "\n  "))
		}
	}
	if links < int(n)/4 {
		t.Errorf("%d links in %d programs: too few to mean anything", links, n)
	}
}
