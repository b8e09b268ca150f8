//go:build linux && amd64

package jit

import (
	"bytes"
	"slices"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// inTurn is an engine whose waves change between compiled code and the interpreter at each exit, and leave often, also at memory that is not
// there yet: what compiled code has not written, the interpreter must not miss.
type inTurn struct {
	*Engine
	gate  *gate
	first int // turn to begin with
}

func (e inTurn) NewWorker() engine.Worker {
	return &inTurnWorker{e.Engine.NewWorker(), interp.New().NewWorker(), e.gate, e.first}
}

type inTurnWorker struct {
	jit, interp engine.Worker
	gate        *gate
	n           int
}

func (k *inTurnWorker) Run(w *wave.Wave) ir.Exit {
	w.Fuel = int64(1 + k.n%7*200)
	k.gate.Translator, w.Space.Translator = flatOf(w.Space), k.gate
	defer func() { w.Space.Translator = k.gate.Translator }()
	run := k.jit.Run
	if k.n++; k.n%2 == 0 {
		run = k.interp.Run
	}
	x := run(w)
	if x == ir.ExitFault && w.Fault.Kind == mem.FaultNotPresent && !k.gate.open[w.Fault.VA>>mem.PageShift] {
		k.gate.open[w.Fault.VA>>mem.PageShift] = true
		k.gate.faults++
		return ir.ExitFuel
	}
	return x
}

func (k *inTurnWorker) Close() {
	k.jit.Close()
	k.interp.Close()
}

func flatOf(s *mem.Space) *flat { return s.Translator.(*flat) }

// gate lets through what is on pages that are open; code always is.
type gate struct {
	mem.Translator
	open   map[uint64]bool
	faults int
}

func (g *gate) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	if va >= codeVA+16*mem.PageSize && !g.open[va>>mem.PageShift] {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent}
	}
	p, n, r, f := g.Translator.Translate(va, a)
	return p, min(n, mem.PageSize-va%mem.PageSize), r, f
}

// Real kernels give the same with registers left out, in compiled code alone and in turn with the interpreter.
func TestLazyKernels(t *testing.T) { onEach(t, testLazyKernels) }

func testLazyKernels(t *testing.T) {
	needJIT(t)
	g := &gate{}
	for _, target := range []string{"gfx90a", "gfx1030"} {
		for _, j := range jobs {
			g.open = map[uint64]bool{}
			t.Run(target+"/"+j.name, func(t *testing.T) {
				e, err := New()
				if err != nil {
					t.Fatal(err)
				}
				e.SetLazy(true)
				want := j.run(newGPU(t, target, interp.New(), 4<<20))
				for name, e := range map[string]engine.Engine{"alone": e, "in turn": inTurn{e, g, 0}, "in turn, the interpreter first": inTurn{e, g, 1}, "in turn, later": inTurn{e, g, 4}} {
					g.open = map[uint64]bool{}
					if got := j.run(newGPU(t, target, e, 4<<20)); !bytes.Equal(got, want) {
						t.Errorf("%s: byte %d differs", name, firstDiff(want, got))
					}
				}
			})
		}
	}
	if g.faults < 100 {
		t.Errorf("memory was missing %d times only", g.faults)
	}
}

// A register that the loop writes before it reads it, and nobody reads behind, is not written; one that is read by the next block is, and so is
// one of which the second write leaves lanes out.
func TestLivenessOfLoop(t *testing.T) {
	f, err := ir.Parse(`func 0x1000 lanes=64
b0 @0 insts=1:
  %0:m = mget imm=126 @0
  jump b1 @0
b1 @4 insts=6:
  %1:m = mget imm=126 @4
  %2:v32 = vget imm=0 @4
  %3 = vset %2, %1 imm=1 @4
  %4:v32 = vget imm=1 @8
  %5:m = mget imm=106 @8
  %6 = vset %4, %5 imm=3 @8
  %7:v32 = vget imm=3 @12
  %8 = vset %7, %1 imm=4 @12
  %9:s32 = sget imm=0 @16
  %10:s32 = const imm=0 @16
  %11:s1 = icmp %9, %10 pred=ne @16
  branch %11 b1 b2 @16
b2 @20 insts=1:
  %12:v32 = vget imm=2 @20
  %13:m = mget imm=106 @20
  %14 = mset %13 imm=126 @20
  jump b3 @20
b3 @24 insts=2:
  %15:m = mget imm=126 @24
  %16 = vset %12, %15 imm=5 @24
  %17:v32 = vget imm=5 @28
  %18 = vset %17, %15 imm=4 @28
  exit endpgm @32
`)
	if err != nil {
		t.Fatal(err)
	}
	var c compiler
	c.m.Lazy = true
	c.begin(f, noCopies(f))
	want := []struct {
		block      int
		read, live []uint64
	}{
		{0, []uint64{0, 1, 2, 3, 5}, []uint64{0, 2, 3, 5}},
		{1, []uint64{0, 1, 2, 3, 5}, []uint64{0, 2, 3, 5}},
		{2, []uint64{2, 5}, []uint64{2, 5}}, // EXEC may hold more lanes in block 3
		{3, []uint64{5}, nil},
	}
	for _, w := range want {
		l := &c.live[w.block]
		for n := range uint64(6) {
			if got, want := l.read.has(n), slices.Contains(w.read, n); got != want {
				t.Errorf("block %d: v%d read: %v", w.block, n, got)
			}
			if got, want := l.live.has(n), slices.Contains(w.live, n); got != want {
				t.Errorf("block %d: v%d live: %v", w.block, n, got)
			}
		}
	}
}
