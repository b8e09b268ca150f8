//go:build linux && amd64

package jit

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/lift"
)

// TestSoftFloat compares the operations that a soft form does otherwise with package lane, on numbers whose products and sums are denormal, just
// not, ties, or nothing.
func TestSoftFloat(t *testing.T) {
	softly(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(8, 15))
		near := func(e int) uint64 { // a number of exponent e or so, often with few digits
			e = max(0, min(e+r.IntN(5)-2, 255))
			m := r.Uint64N(1 << 23)
			if r.IntN(2) == 0 {
				m &^= 1<<r.IntN(24) - 1
			}
			return r.Uint64N(2)<<31 | uint64(e)<<23 | m
		}
		var x, y [64]uint64
		numbers := func(i, round, l int) uint64 {
			switch i {
			case 0:
				x[l] = near(r.IntN(256))
				if r.IntN(3) == 0 {
					x[l] = near(0)
				}
				return x[l]
			case 1:
				y[l] = near(127 - int(x[l]>>23&255) + r.IntN(30)) // the product is about the smallest normal number
				if r.IntN(4) == 0 {
					y[l] = near(r.IntN(256))
				}
				return y[l]
			}
			if r.IntN(3) == 0 {
				return near(r.IntN(256))
			}
			return near(int(x[l]>>23&255) + int(y[l]>>23&255) - 127 + r.IntN(60) - 30)
		}
		for range 40 {
			checkFloat(t, r, ir.Value{Op: ir.OpFMA, Kind: ir.F32, FP: ir.FPIEEE}, 3, 60, numbers)
			checkFloat(t, r, ir.Value{Op: ir.OpFMul, Kind: ir.F32, FP: ir.FPIEEE}, 2, 60, numbers)
			if t.Failed() {
				return
			}
		}
		for _, e := range []ir.FP{ir.FPIEEE | ir.FPDX10, 1, 3, ir.FPFlushIn | ir.FPFlushOut, ir.FPFlushOut} {
			oneFloat(t, r, ir.Value{Op: ir.OpFMA, Kind: ir.F32, FP: e}, 3)
			oneFloat(t, r, ir.Value{Op: ir.OpFMul, Kind: ir.F32, FP: e}, 2)
		}
	})
}

// TestSoftPrograms compares soft forms of whole functions with the oracle: loops, which keep their registers, and random ones.
func TestSoftPrograms(t *testing.T) {
	softly(t, func(t *testing.T) {
		for seed := range uint64(60) {
			if !compare(t, seed, loopFunc(seed)) || !compare(t, seed, seedFunc(seed)) {
				return
			}
			streamSeed(t, seed)
		}
	})
}

// TestTrial looks at what the trial of two forms decides.
func TestTrial(t *testing.T) {
	for _, c := range []struct {
		hard, soft int // ns an instruction
		met        int // hard runs that met denormals
		want       bool
	}{{140, 15, 4, true}, {140, 15, 3, true}, {140, 15, 2, false}, {14, 15, 4, false}, {14, 12, 4, false}, {140, 15, 0, false}} {
		var x trial
		for i := range 2 * trialRuns {
			if !x.going() {
				t.Fatalf("the trial is over after %d runs", i)
			}
			n, per := int64(100+i), []int{c.hard, c.soft}[i&1]
			x.note(time.Duration(per)*time.Duration(n), n, i&1 == 0 && i/2 < c.met)
		}
		if x.going() || x.soft != c.want || x.left < trialStay*800 {
			t.Errorf("%+v: %+v", c, x)
		}
	}
}

// TestAssists runs a loop of multiply-adds on denormals: its soft form is made, and takes its turns, without a difference in the results; one on
// normal numbers never has a trial.
func TestAssists(t *testing.T) {
	if needJIT(t); !wide {
		t.Skip("this CPU lacks AVX-512")
	}
	f, err := ir.Parse(`func 0x1000 lanes=64
b0 @0 insts=1:
  %0:m = mget imm=126 @0
  jump b1 @0
b1 @4 insts=6:
  %1:m = mget imm=126 @4
  %2:v32 = vget imm=0 @4
  %3:v32 = vget imm=1 @4
  %4:v32 = vget imm=2 @4
  %5:v32 = fma %2, %3, %4 kind=f32 fp=rne+ieee @4
  %6 = vset %5, %1 imm=0 @4
  %7:s32 = sget imm=0 @4
  %8:s32 = const imm=0xffffffff @4
  %9:s32 = add %7, %8 @4
  %10 = sset %9 imm=0 @4
  %11:s32 = const imm=0 @4
  %12:s1 = icmp %9, %11 pred=ne @4
  branch %12 b1 b2 @4
b2 @8 insts=1:
  exit endpgm @8
`)
	if err != nil {
		t.Fatal(err)
	}
	j, err := NewWith(code.New(func(lift.Source, *isa.Target, uint64, uint32, int) (*ir.Func, error) { return f, nil }))
	if err != nil {
		t.Fatal(err)
	}
	defer j.mem.Close()
	k := j.NewWorker().(*Worker)
	defer k.Close()
	g := newRig(t, 64, 4)
	defer g.free()
	run := func(x uint32) []uint32 {
		g.w.SetEXEC(^uint64(0))
		g.w.PC, g.w.S[0], g.w.Fuel = f.PC, 500, 1<<20
		for l := range 64 {
			g.w.VGPR(0)[l], g.w.VGPR(1)[l], g.w.VGPR(2)[l] = x+uint32(1000*l), 0x3f7fbe77, x>>4
		}
		if e := k.Run(g.w); e != ir.ExitEndPgm {
			t.Fatal(e, g.w.Illegal)
		}
		return slices.Clone(g.w.VGPR(0))
	}
	// Go's own floating point leaves bits too, until compiled code has run.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, err := j.mem.Install([]byte{0xc3})
	if err != nil {
		t.Fatal(err)
	}
	rt.Enter(c.Addr(), nil, nil, 0, rt.MXCSRDefault)
	run(0x3f800000)
	ip := k.recent[(f.PC>>2^f.PC>>8)%uint64(len(k.recent))].ip
	if ip == nil || ip.trying.Load() || k.trials != nil {
		t.Fatal("a trial without denormals")
	}
	want := run(0x10000)
	if !ip.trying.Load() {
		t.Fatal("denormals went unnoticed")
	}
	for ip.soft.Load() == nil {
		runtime.Gosched()
	}
	for i := range 4 * trialRuns {
		if got := run(0x10000); !slices.Equal(got, want) {
			t.Fatalf("run %d: %x, want %x", i, got, want)
		}
	}
	if x := k.trials[ip]; x == nil || x.going() || x.met == 0 {
		t.Errorf("the trial: %+v", x)
	}
}
