//go:build linux && amd64

package jit

import (
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"

	"github.com/pumice-gpu/pumice/engine/jit/rt"
)

func TestOrdered(t *testing.T) {
	load := func(s ir.Space) ir.Value { return ir.Value{Op: ir.OpLoad, Space: s} }
	store := func(s ir.Space) ir.Value { return ir.Value{Op: ir.OpStore, Space: s} }
	end := ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm}
	barrier := ir.Term{Kind: ir.TermExit, Exit: ir.ExitBarrier}
	fork := func(a, b int) ir.Term { return ir.Term{Kind: ir.TermBranch, Then: a, Else: b} }
	type block struct {
		code []ir.Value
		term ir.Term
	}
	for _, c := range []struct {
		name   string
		blocks []block
		want   bool
	}{
		{"reads LDS", []block{{[]ir.Value{load(ir.LDS), load(ir.LDS), store(ir.Global)}, barrier}}, false},
		{"from memory to LDS", []block{{[]ir.Value{load(ir.Global), {Op: ir.OpSLoad, Space: ir.Const}, store(ir.LDS)}, barrier}}, false},
		{"reads and writes LDS", []block{{[]ir.Value{load(ir.LDS), store(ir.LDS)}, end}}, true},
		{"behind the next barrier", []block{{[]ir.Value{load(ir.LDS)}, barrier}, {[]ir.Value{store(ir.LDS)}, end}}, false},
		{"atomic", []block{{[]ir.Value{{Op: ir.OpAtomic, Space: ir.LDS}}, end}}, true},
		{"flat", []block{{[]ir.Value{load(ir.Flat), store(ir.LDS)}, end}}, true},
		{"scratch", []block{{[]ir.Value{load(ir.Scratch), store(ir.Scratch)}, end}}, false},
		{"LDS on two ways", []block{{nil, fork(1, 2)}, {[]ir.Value{load(ir.LDS)}, end}, {[]ir.Value{store(ir.LDS)}, end}}, true},
		{"memory on two ways", []block{{nil, fork(1, 2)}, {[]ir.Value{load(ir.Global)}, barrier}, {[]ir.Value{store(ir.Global)}, end}}, false},
		{"memory on one way", []block{{[]ir.Value{load(ir.Global)}, fork(1, 2)}, {nil, barrier}, {[]ir.Value{store(ir.Global)}, end}}, true},
		{"memory round a loop", []block{{nil, fork(1, 2)}, {[]ir.Value{store(ir.Global)}, fork(3, 2)}, {nil, end}, {[]ir.Value{load(ir.Global)}, fork(1, 2)}}, true},
		{"a call", []block{{nil, ir.Term{Kind: ir.TermExit, Exit: ir.ExitIndirect}}}, true},
		{"a wait", []block{{nil, ir.Term{Kind: ir.TermExit, Exit: ir.ExitSleep}}}, true},
	} {
		f := &ir.Func{}
		for i, b := range c.blocks {
			x := &ir.Block{Index: i, Term: b.term}
			for _, v := range b.code {
				x.Code = append(x.Code, ir.ID(len(f.Values)))
				f.Values = append(f.Values, v)
			}
			f.Blocks = append(f.Blocks, x)
		}
		if got := ordered(f, 0); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// Behind a barrier a crew's waves come one after the other from the last on.
func TestCrewOrder(t *testing.T) { onEach(t, testCrewOrder) }

func testCrewOrder(t *testing.T) {
	needJIT(t)
	const waves, phases = 5, 4
	f := &ir.Func{PC: 0x10000, Lanes: 64}
	for i := range phases {
		b := &ir.Block{Index: i, PC: uint32(64 * i), Insts: 2}
		b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitBarrier, Next: uint32(64 * (i + 1)), Cond: ir.NoID}
		f.Blocks = append(f.Blocks, b)
		add := func(v ir.Value) ir.ID { return f.Add(b, v) }
		if i == phases-1 {
			b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: b.PC, Cond: ir.NoID}
			break
		}
		// Lane 0 takes a number.
		m := add(ir.Value{Op: ir.OpConst, Type: ir.M, Imm: 1})
		at := add(ir.Value{Op: ir.OpSplat, Type: ir.V32, Args: []ir.ID{add(ir.Value{Op: ir.OpConst, Type: ir.S32, Imm: uint64(4 * i)})}})
		one := add(ir.Value{Op: ir.OpSplat, Type: ir.V32, Args: []ir.ID{add(ir.Value{Op: ir.OpConst, Type: ir.S32, Imm: 1})}})
		x := add(ir.Value{Op: ir.OpAtomic, Type: ir.V32, Width: 4, Space: ir.LDS, Atomic: ir.AtomicAdd, Args: []ir.ID{ir.NoID, at, m, one, ir.NoID}})
		add(ir.Value{Op: ir.OpVSet, Imm: uint64(i), Args: []ir.ID{x, m}})
	}
	if err := ir.Verify(f); err != nil {
		t.Fatal(err)
	}
	e, err := NewWith(code.New(func(lift.Source, *isa.Target, uint64, uint32, int) (*ir.Func, error) { return f, nil }))
	if err != nil {
		t.Fatal(err)
	}
	lds, err := rt.Memory(ldsSize)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Free(lds)
	ms := &mem.Space{Translator: &flat{va: 0x7000_0000_0000, b: make([]byte, memSize)}}
	ws := make([]wave.Wave, waves)
	for i := range ws {
		st, err := rt.Memory(wave.StateSize(64, 8, 0))
		if err != nil {
			t.Fatal(err)
		}
		defer rt.Free(st)
		w := &ws[i]
		w.Bind(unsafe.Pointer(&st[0]), 64, 8, 0)
		w.Space, w.LDS, w.LDSLen = ms, uint64(uintptr(unsafe.Pointer(&lds[0]))), ldsSize
		w.SetEXEC(^uint64(0))
	}
	k := e.NewWorker()
	defer k.Close()
	start := func(w *wave.Wave) { w.PC, w.Fuel = f.PC, 1000 }
	start(&ws[0])
	for k.Run(&ws[0]) == ir.ExitBarrier { // what a crew enters must be known
	}
	for _, down := range []bool{false, true} {
		clear(lds)
		for i := range ws {
			start(&ws[i])
		}
		h := k.(engine.Holder)
		h.Hold(ms)
		i, x, arrived, passed := k.(engine.CrewRunner).RunCrew(ws, down)
		h.Release()
		// Nothing shows in the last phase: the wave that arrived last goes on.
		if i != 0 || x != ir.ExitEndPgm || arrived != 0 || !passed {
			t.Errorf("down %v: wave %d left by %v, %#x arrived, passed %v", down, i, x, arrived, passed)
		}
		for i := range ws {
			for p := range phases - 1 {
				want := uint32(waves - 1 - i)
				if p == 0 && !down {
					want = uint32(i)
				}
				if got := ws[i].VGPR(p)[0]; got != want {
					t.Errorf("down %v: wave %d had turn %d of phase %d, want %d", down, i, got, p, want)
				}
			}
		}
	}
}
