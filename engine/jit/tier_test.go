//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
)

// TestLarge runs a large function before and after it is compiled.
func TestLarge(t *testing.T) {
	f := loopFunc(3)
	f.Blocks[0].Insts = largeFunc
	lifter := func(lift.Source, *isa.Target, uint64, uint32, int) (*ir.Func, error) { return f, nil }
	j, err := NewWith(code.New(lifter))
	if err != nil {
		t.Skip(err)
	}
	defer j.mem.Close()
	i := interp.NewWith(code.New(lifter))
	var rigs [3]*rig
	var exits [3]ir.Exit
	kj, ki := j.NewWorker(), i.NewWorker()
	defer kj.Close()
	defer ki.Close()
	for n := range rigs {
		g := newRig(t, f.Lanes, 12)
		defer g.free()
		g.fill(3, f.Lanes)
		g.w.SetEXEC(^uint64(0))
		g.w.Fuel, g.w.PC = 2*largeFunc, f.PC
		switch n {
		case 0:
			exits[n] = ki.Run(g.w)
		case 1:
			exits[n] = kj.Run(g.w)
			c, _, err := j.cache.Lookup(g.w.Space, g.w.Target, f.PC, g.w.S[isa.SRegMODE], f.Lanes)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := c.Attachment(code.SlotJIT, j.build).(*installed); !ok {
				t.Fatal("it did not compile")
			}
		case 2:
			g.w.Space = rigs[1].w.Space // whose code is compiled
			exits[n] = kj.Run(g.w)
		}
		rigs[n] = g
	}
	if n := j.Stats().FuncsCompiled; n != 1 {
		t.Errorf("%d functions compiled, want 1", n)
	}
	for n := 1; n < len(rigs); n++ {
		a, b := rigs[0].w, rigs[n].w
		if exits[n] != exits[0] || a.PC != b.PC || a.Fuel != b.Fuel || a.S != b.S {
			t.Errorf("run %d: exit %s at %#x, fuel %d; want %s at %#x, %d", n, exits[n], b.PC, b.Fuel, exits[0], a.PC, a.Fuel)
		}
		for v := range a.NVGPR {
			for l, x := range a.VGPR(v) {
				if y := b.VGPR(v)[l]; x != y {
					t.Fatalf("run %d: v%d lane %d = %#x, want %#x", n, v, l, y, x)
				}
			}
		}
	}
}
