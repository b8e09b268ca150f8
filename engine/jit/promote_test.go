//go:build linux && amd64

package jit

import (
	"runtime"
	"testing"

	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
)

// TestPromotion runs a function that is compiled quickly until its better form has taken over, in pieces, next to the
// interpreter.
func TestPromotion(t *testing.T) {
	onEach(t, func(t *testing.T) {
		f := loopFunc(3)
		f.Blocks[0].Insts, f.Blocks[1].Insts = quickFunc, 7
		lifter := func(lift.Source, *isa.Target, uint64, uint32, int) (*ir.Func, error) { return f, nil }
		j, err := NewWith(code.New(lifter))
		if err != nil {
			t.Fatal(err)
		}
		i := interp.NewWith(code.New(lifter))
		kj, ki := j.NewWorker().(*Worker), i.NewWorker()
		defer kj.Close()
		defer ki.Close()
		a, b := newRig(t, f.Lanes, 12), newRig(t, f.Lanes, 12)
		defer a.free()
		defer b.free()
		for _, g := range []*rig{a, b} {
			g.fill(3, f.Lanes)
			g.w.SetEXEC(^uint64(0))
			g.w.PC = f.PC
		}
		better := 0
		for n := 0; better < 5; n++ {
			if n > 0 {
				// Around the loop for ever: its counter goes on.
				a.w.S[21], b.w.S[21] = 1<<30, 1<<30
			}
			a.w.Fuel, b.w.Fuel = 7000, 7000
			x, y := ki.Run(a.w), kj.Run(b.w)
			if x != y || a.w.PC != b.w.PC || a.w.Fuel != b.w.Fuel || a.w.S != b.w.S {
				t.Fatalf("piece %d: exit %s at %#x, fuel %d; want %s at %#x, %d", n, y, b.w.PC, b.w.Fuel, x, a.w.PC, a.w.Fuel)
			}
			for v := range a.w.NVGPR {
				for l, x := range a.w.VGPR(v) {
					if y := b.w.VGPR(v)[l]; x != y {
						t.Fatalf("piece %d: v%d lane %d = %#x, want %#x", n, v, l, y, x)
					}
				}
			}
			if x != ir.ExitFuel {
				a.w.PC, b.w.PC = f.PC, f.PC
			}
			if j.promoted.Load() > 0 {
				better++
			} else if n > 20 {
				runtime.Gosched() // it is being compiled
			}
		}
		c, _, err := j.cache.Lookup(b.w.Space, b.w.Target, f.PC, b.w.S[isa.SRegMODE], f.Lanes)
		if err != nil {
			t.Fatal(err)
		}
		first := c.Attachment(code.SlotJIT, j.build).(*installed)
		second := first.better.Load()
		if !first.quick || first.loops != 0 || second.quick || second.loops != 1 {
			t.Errorf("quick %v with %d loops, then quick %v with %d", first.quick, first.loops, second.quick, second.loops)
		}
		if found := kj.recent[(f.PC+1024>>2^(f.PC+1024)>>8)%uint64(len(kj.recent))]; found.ip != nil && found.ip != second {
			t.Error("the worker still runs the quick code")
		}
	})
}
