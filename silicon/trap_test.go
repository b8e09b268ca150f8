package silicon

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

func TestMemoryFault(t *testing.T) {
	r := newRig(t, "mi210", 2)
	q := r.queue(0)
	k := r.kernel(desc(64), func(w *wave.Wave) ir.Exit {
		if w.S[2] == 3 {
			_, f := access(w, 0x1234567890, mem.Write)
			f.Lane = 17
			w.Fault = *f
			return ir.ExitFault
		}
		return ir.ExitEndPgm
	})
	sva, s := r.signal(1, 0)
	q.put(aql.Raw(dispatchPacket(k, [3]uint32{128 * 8, 1, 1}, [3]uint32{128, 1, 1}, sva)))
	q.ring()
	f := <-r.faults
	if f.Kind != FaultMemory || f.VA != 0x1234567890 || !f.Write || !f.NotPresent || f.WorkgroupID != [3]uint32{3, 0, 0} || f.Lane != 17 ||
		f.WorkItem[0] != uint32(17+64*f.Wave) || f.KernelObject != k || f.PC != k+256 {
		t.Errorf("%+v", f)
	}
	e := <-r.irqs
	if e.Source != ih.SourceVMFault || e.FaultVA() != 0x1234567000 || e.RingID != ih.FaultNotPresent || e.Data[1]&ih.FaultWrite == 0 || e.Data[1]&ih.FaultRetry != 0 {
		t.Errorf("%+v", e)
	}
	time.Sleep(2 * time.Millisecond)
	if s.Value != 1 {
		t.Error("the dispatch completed")
	}
	if err := r.d.UnloadQueue(q.id, Kill); err != nil {
		t.Fatal(err)
	}
	r.unitsAreFree()
}

// With XNACK a wave waits for its page and repeats the access after the flush.
func TestRetryFault(t *testing.T) {
	r := newRig(t, "mi210", 2)
	r.ctx.Retry = true
	if err := r.d.SetVMID(rigVMID, &r.ctx); err != nil {
		t.Fatal(err)
	}
	q := r.queue(0)
	const va = 0x4000_0000_0000
	k := r.kernel(desc(64), func(w *wave.Wave) ir.Exit {
		p, f := access(w, va+uint64(w.S[2])*4096, mem.Write)
		if f != nil {
			w.Fault = *f
			return ir.ExitFault
		}
		atomic.AddUint32((*uint32)(p), 1)
		return ir.ExitEndPgm
	})
	sva, s := r.signal(1, 0)
	q.put(aql.Raw(dispatchPacket(k, [3]uint32{64 * 8, 1, 1}, [3]uint32{64, 1, 1}, sva)))
	q.ring()
	seen := map[uint64]bool{}
	var bytes [8][]byte
	for len(seen) < 8 {
		e := <-r.irqs
		if e.Source != ih.SourceVMFault || e.Data[1]&ih.FaultRetry == 0 {
			t.Fatalf("%+v", e)
		}
		page := e.FaultVA()
		if seen[page] {
			continue
		}
		seen[page] = true
		off := r.vram(4096)
		*r.table(page, pte.PTB) = r.d.pteGen.EncodePTE(pte.Entry{Addr: off, Flags: rwx})
		r.d.FlushTLB(rigVMID)
		bytes[(page-va)/4096] = r.d.vram.b[off : off+4]
	}
	r.wait(s)
	for i, b := range bytes {
		if b[0] != 1 {
			t.Errorf("page %d: %d", i, b[0])
		}
	}
	// The driver's way to say no.
	*r.table(va, pte.PTB) = r.d.pteGen.NoRetry()
	r.d.FlushTLB(rigVMID)
	q.put(aql.Raw(dispatchPacket(k, [3]uint32{64, 1, 1}, [3]uint32{64, 1, 1}, 0)))
	q.ring()
	if f := <-r.faults; f.Kind != FaultMemory || f.VA != va {
		t.Errorf("%+v", f)
	}
}

func TestTrapAnswer(t *testing.T) {
	for id, want := range map[uint64]aql.QueueError{trapAbort: aql.ErrTrap, trapDebug: 0} {
		r := newRig(t, "mi210", 1)
		q := r.queue(0)
		k := r.kernel(desc(64), func(w *wave.Wave) ir.Exit { w.Arg = id; return ir.ExitTrap })
		r.e.progs[k+260] = func(w *wave.Wave) ir.Exit { return ir.ExitEndPgm }
		sva, s := r.signal(1, 0)
		one := [3]uint32{1, 1, 1}
		q.put(aql.Raw(dispatchPacket(k, one, one, sva)))
		q.ring()
		if want == 0 {
			r.wait(s)
			continue
		}
		r.until(func() bool { return atomic.LoadInt64(&q.inactive.Value) == int64(want) }, "inactive signal")
		if f := <-r.faults; f.Kind != FaultTrap || f.TrapID != uint32(id) {
			t.Errorf("%+v", f)
		}
	}
}

func TestTrapHandlerEntry(t *testing.T) {
	r := newRig(t, "mi210", 1)
	tba, _ := r.alloc(4096)
	r.ctx.TBA, r.ctx.TMA = tba, 0x1234500
	if err := r.d.SetVMID(rigVMID, &r.ctx); err != nil {
		t.Fatal(err)
	}
	q := r.queue(0)
	k := r.kernel(desc(64), func(w *wave.Wave) ir.Exit { w.Arg = 2; return ir.ExitTrap })
	got := make(chan []uint32, 1)
	r.e.progs[tba] = func(w *wave.Wave) ir.Exit {
		got <- append(append([]uint32(nil), w.S[isa.SRegTTMP0:isa.SRegTTMP0+16]...), w.S[isa.SRegSTATUS])
		w.Env.Msg(w, msgGetDoorbell, 0)
		if w.S[isa.SRegEXECLo] != q.dword/2&0x3ff {
			t.Errorf("doorbell %#x", w.S[isa.SRegEXECLo])
		}
		w.Env.Msg(w, msgInterrupt, 0x123456)
		// Leave with the halt bit, as ROCr's handler does.
		w.S[isa.SRegSTATUS] = w.S[isa.SRegSTATUS]&^statusPriv | statusHalt
		return ir.ExitIndirect
	}
	one := [3]uint32{1, 1, 1}
	q.put(aql.Raw(dispatchPacket(k, one, one, 0)))
	q.ring()
	s := <-got
	if s[0] != uint32(k+256) || s[1] != uint32((k+256)>>32)|2<<16 || s[14] != 0x1234500 || s[12]&statusPriv != 0 || s[16]&statusPriv == 0 {
		t.Errorf("%#x", s)
	}
	e := <-r.irqs
	if data, enc := e.SQData(); e.Source != ih.SourceSQMessage || data != 0x123456 || enc != ih.SQWave {
		t.Errorf("%+v", e)
	}
	if err := r.d.UnloadQueue(q.id, Kill); err != nil {
		t.Fatal(err)
	}
}
