//go:build linux && amd64

package jit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/mem"

	"github.com/pumice-gpu/pumice/engine/jit/rt"
)

// randomFunc makes a function of blocks with about size operations each.
func randomFunc(r *rand.Rand, blocks, size int, float, extra bool) *ir.Func {
	g := &gen{r: r, f: &ir.Func{PC: 0x10000, Lanes: []int{32, 64}[r.IntN(2)]}, nv: 12, float: float, extra: extra}
	for i := range blocks {
		b := &ir.Block{Index: i, PC: uint32(i * 1024), Insts: 1 + r.IntN(20)}
		g.f.Blocks = append(g.f.Blocks, b)
	}
	for _, b := range g.f.Blocks {
		g.b, g.by = b, map[ir.Type][]ir.ID{}
		for range size {
			g.step()
		}
		switch {
		case b.Index == blocks-1 || r.IntN(8) == 0:
			b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4}
		case r.IntN(3) == 0:
			b.Term = ir.Term{Kind: ir.TermJump, Then: r.IntN(blocks)}
		default:
			b.Term = ir.Term{Kind: ir.TermBranch, Cond: g.pick(ir.S1), Then: r.IntN(blocks), Else: r.IntN(blocks)}
		}
		if b.Term.Kind == ir.TermExit {
			b.Term.Cond = ir.NoID
		}
	}
	return g.f
}

func compare(t *testing.T, seed uint64, f *ir.Func) bool {
	t.Helper()
	if err := ir.Verify(f); err != nil {
		t.Fatalf("seed %d: bad test: %v", seed, err)
	}
	p, err := CompileWith(f, Options{AVX2: hostAVX2, Soft: testSoft, Quick: seed%5 == 4})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	var cm rt.CodeMemory
	defer cm.Close()
	ip, err := install(&cm, p)
	if err != nil {
		t.Fatal(err)
	}
	a, b := newRig(t, f.Lanes, 12), newRig(t, f.Lanes, 12)
	defer a.free()
	defer b.free()
	a.fill(seed, f.Lanes)
	b.fill(seed, f.Lanes)
	o := &oracle{f: f, w: a.w, lds: a.lds}
	ea := o.run(0)
	tlb := mem.NewTLB()
	testTLB = tlb
	m := &machine{tlb: tlb, slow: noSlow{t}}
	tlb.Enter(b.w.Space)
	eb := m.execute(b.w, ip, 0)
	tlb.Close()
	m.close()
	var diff []string
	d := func(format string, x ...any) {
		if len(diff) < 12 {
			diff = append(diff, fmt.Sprintf(format, x...))
		}
	}
	if ea != eb || a.w.PC != b.w.PC || a.w.Fuel != b.w.Fuel {
		d("exit %d pc %#x fuel %d, want %d %#x %d", eb, b.w.PC, b.w.Fuel, ea, a.w.PC, a.w.Fuel)
	}
	b.compare(a, true, d)
	if len(diff) > 0 {
		t.Errorf("seed %d, %d lanes, %d values:\n  %s", seed, f.Lanes, len(f.Values), strings.Join(diff, "\n  "))
	}
	return len(diff) == 0
}

func TestSeed(t *testing.T) {
	s := os.Getenv("SEED")
	if s == "" {
		t.Skip("set SEED to look at one random program")
	}
	seed, _ := strconv.ParseUint(s, 10, 64)
	f := seedFunc(seed)
	compare(t, seed, f)
	t.Log("\n" + f.String())
}

func seedFunc(seed uint64) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 5))
	blocks := 1 + r.IntN(4)
	size := []int{3, 8, 20, 60, 150}[r.IntN(5)]
	return randomFunc(r, blocks, size, seed%2 == 1, false)
}

func TestRandom(t *testing.T) { onEach(t, testRandom) }

func testRandom(t *testing.T) {
	n := fewer(400)
	if testing.Short() {
		n /= 2
	}
	bad := 0
	for seed := range n {
		if !compare(t, seed, seedFunc(seed)) {
			if bad++; bad > 5 {
				t.Fatal("too many differences")
			}
		}
	}
}
