//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// plainEnv answers what a wave asks of the machine around it.
type plainEnv struct{ n uint32 }

func (e *plainEnv) HWReg(_ *wave.Wave, id uint32) uint32 { return id * 0x10001 }
func (e *plainEnv) SetHWReg(*wave.Wave, uint32, uint32)  {}
func (e *plainEnv) Time(uint64) uint64                   { e.n++; return uint64(e.n) }
func (e *plainEnv) Msg(*wave.Wave, uint32, uint32)       {}
func (e *plainEnv) MsgRtn(*wave.Wave, uint32) uint64     { return 7 }

// helperFunc is a function with n operations of each kind that compiled code leaves to the interpreter: three scalar ones, and a matrix one.
func helperFunc(n int, matrix bool) *ir.Func {
	f := &ir.Func{PC: 0x10000, Lanes: 64}
	b := &ir.Block{Insts: 9, Term: ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}}
	f.Blocks = []*ir.Block{b}
	add := func(v ir.Value) ir.ID { return f.Add(b, v) }
	full := add(ir.Value{Op: ir.OpConst, Type: ir.M, Imm: ^uint64(0)})
	var x []ir.ID
	for i := range uint64(8) {
		x = append(x, add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: i}))
	}
	t4 := add(ir.Value{Op: ir.OpTuple, Type: ir.T, N: 4, Args: x[:4]})
	s := add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: 3})
	for range n {
		t := add(ir.Value{Op: ir.OpTime, Type: ir.S64})
		add(ir.Value{Op: ir.OpSSet64, Imm: 40, Args: []ir.ID{t}})
		h := add(ir.Value{Op: ir.OpHWGet, Type: ir.S32, Imm: 4})
		add(ir.Value{Op: ir.OpSSet, Imm: 42, Args: []ir.ID{h}})
		add(ir.Value{Op: ir.OpMsg, Imm: 1, Args: []ir.ID{s}})
		if !matrix {
			continue
		}
		m := &ir.Matrix{M: 16, N: 16, K: 32, Blocks: 1, A: ir.F16, B: ir.F16, C: ir.F32, Gen: 3, Sparse: true}
		a := add(ir.Value{Op: ir.OpTuple, Type: ir.T, N: 2, Args: x[:2]})
		d := add(ir.Value{Op: ir.OpMFMA, Type: ir.T, N: 4, Aux: m, Args: []ir.ID{a, t4, t4, x[5]}})
		e := add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: 2, Args: []ir.ID{d}})
		add(ir.Value{Op: ir.OpVSet, Imm: 9, Args: []ir.ID{e, full}})
	}
	return f
}

// helperRun makes what runs helperFunc(n) once.
func helperRun(tb testing.TB, n int, matrix bool) func() {
	needJIT(tb)
	f := helperFunc(n, matrix)
	if err := ir.Verify(f); err != nil {
		tb.Fatal(err)
	}
	lifter := func(lift.Source, *isa.Target, uint64, uint32, int) (*ir.Func, error) { return f, nil }
	e, err := NewWith(code.New(lifter))
	if err != nil {
		tb.Fatal(err)
	}
	g := newRig(tb, 64, 12)
	k := e.NewWorker()
	tb.Cleanup(func() {
		k.Close()
		g.free()
		e.mem.Close()
	})
	g.fill(1, 64)
	g.w.Env = &plainEnv{}
	return func() {
		g.w.PC, g.w.Fuel = f.PC, 1000
		if x := k.Run(g.w); x != ir.ExitEndPgm {
			tb.Fatalf("exit %d: %s", x, g.w.Illegal)
		}
	}
}

// TestHelperDoesNotAllocate: nothing is allocated where compiled code leaves for the interpreter and goes on.
func TestHelperDoesNotAllocate(t *testing.T) {
	run := helperRun(t, 4, true)
	run()
	if n := testing.AllocsPerRun(10, run); n != 0 {
		t.Errorf("%v allocations in a run of 16 operations of the helper", n)
	}
}

// BenchmarkHelper is what leaving compiled code for one operation costs: ns/exit.
func BenchmarkHelper(b *testing.B) {
	run := helperRun(b, 100, false)
	run()
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/300, "ns/exit")
}
