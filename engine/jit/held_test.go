//go:build linux && amd64

package jit

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// heldFuncs are kernels that run until the word at s[30:31] is not 0: in a loop, by calls from one function to another and back, and
// round a barrier.
func heldFuncs(kind string) code.Lifter {
	const one, other = 0x10000, 0x20000
	f, g := &ir.Func{PC: one, Lanes: 64}, &ir.Func{PC: other, Lanes: 64}
	block := func(f *ir.Func, pc uint32, t ir.Term) *ir.Block {
		if t.Kind == ir.TermExit {
			t.Cond = ir.NoID
		}
		b := &ir.Block{Index: len(f.Blocks), PC: pc, Insts: 2, Term: t}
		f.Blocks = append(f.Blocks, b)
		return b
	}
	look := func(f *ir.Func, b *ir.Block) {
		at := f.Add(b, ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 30})
		x := f.Add(b, ir.Value{Op: ir.OpSLoad, Type: ir.S32, Width: 4, Space: ir.Const, Args: []ir.ID{at, ir.NoID}})
		zero := f.Add(b, ir.Value{Op: ir.OpConst, Type: ir.S32})
		b.Term.Cond = f.Add(b, ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.EQ, Args: []ir.ID{x, zero}})
	}
	end := ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4}
	switch kind {
	case "loop":
		look(f, block(f, 0, ir.Term{Kind: ir.TermBranch, Then: 0, Else: 1}))
		block(f, 64, end)
	case "calls":
		look(f, block(f, 0, ir.Term{Kind: ir.TermBranch, Then: 1, Else: 2}))
		block(f, 64, ir.Term{Kind: ir.TermExit, Exit: ir.ExitFetch, Next: other - one})
		block(f, 128, end)
		there := int64(one - other)
		block(g, 0, ir.Term{Kind: ir.TermExit, Exit: ir.ExitFetch, Next: uint32(there)})
	case "barriers":
		block(f, 0, ir.Term{Kind: ir.TermExit, Exit: ir.ExitBarrier, Next: 64})
		look(f, block(f, 64, ir.Term{Kind: ir.TermBranch, Then: 0, Else: 2}))
		block(f, 128, end)
	}
	return func(_ lift.Source, _ *isa.Target, pc uint64, _ uint32, _ int) (*ir.Func, error) {
		if pc >= other {
			return g, nil
		}
		return f, nil
	}
}

// TestCollectorIsNotHeldUp collects garbage while a kernel runs that does not end before that is done.
func TestCollectorIsNotHeldUp(t *testing.T) { onEach(t, testCollectorIsNotHeldUp) }

func testCollectorIsNotHeldUp(t *testing.T) {
	for _, kind := range []string{"loop", "calls", "barriers"} {
		j, err := NewWith(code.New(heldFuncs(kind)))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []engine.Engine{j, interp.NewWith(code.New(heldFuncs(kind)))} {
			if kind == "barriers" && e != engine.Engine(j) {
				continue // waves leave the interpreter at each
			}
			a, b := newRig(t, 64, 4), newRig(t, 64, 4)
			defer a.free()
			defer b.free()
			ms := &mem.Space{Translator: a.space}
			ws := []wave.Wave{*a.w, *b.w}
			for i := range ws {
				w := &ws[i]
				w.Space, w.PC, w.Fuel = ms, 0x10000, 1<<62
				w.S[30], w.S[31] = uint32(a.space.va), uint32(a.space.va>>32)
			}
			flag := (*atomic.Uint32)(unsafe.Pointer(&a.space.b[0]))
			k := e.NewWorker()
			defer k.Close()
			if kind == "barriers" { // what a crew enters must be known
				for range 3 {
					if x := k.Run(&ws[0]); x != ir.ExitBarrier {
						t.Fatal(x)
					}
				}
				ws[1].PC = ws[0].PC
			}
			var begun atomic.Bool
			done := make(chan ir.Exit)
			go func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				begun.Store(true)
				if kind == "barriers" {
					h := k.(engine.Holder)
					h.Hold(ms)
					_, x, _, _ := k.(engine.CrewRunner).RunCrew(ws, false)
					h.Release()
					done <- x
					return
				}
				done <- k.Run(&ws[0])
			}()
			for !begun.Load() {
				runtime.Gosched()
			}
			time.Sleep(time.Millisecond) // so that it is most likely in its code; nothing depends on it
			for range 3 {
				runtime.GC()
			}
			select {
			case x := <-done:
				t.Errorf("%s, %s: it ended by %v before it should", e.Name(), kind, x)
			default:
			}
			flag.Store(1)
			if x := <-done; x != ir.ExitEndPgm {
				t.Errorf("%s, %s: %v", e.Name(), kind, x)
			}
		}
	}
}
