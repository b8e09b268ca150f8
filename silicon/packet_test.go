package silicon

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/wave"
)

func TestBarrierPackets(t *testing.T) {
	r := newRig(t, "mi210", 2)
	q := r.queue(0)
	deps := make([]*aql.Signal, 3)
	var handles [5]aql.SignalHandle
	for i := range deps {
		var va uint64
		va, deps[i] = r.signal(1, 0)
		handles[i] = aql.SignalHandle(va)
	}
	sva, s := r.signal(1, 0)
	q.put(aql.Raw(aql.BarrierPacket{Header: aql.MakeHeader(aql.BarrierAnd, false, 0, 0), DepSignal: handles, CompletionSignal: aql.SignalHandle(sva)}))
	q.ring()
	time.Sleep(5 * time.Millisecond)
	atomic.StoreInt64(&deps[0].Value, 0)
	atomic.StoreInt64(&deps[2].Value, 0)
	time.Sleep(5 * time.Millisecond)
	if atomic.LoadInt64(&s.Value) != 1 {
		t.Fatal("BARRIER_AND passed with a signal at 1")
	}
	atomic.StoreInt64(&deps[1].Value, 0)
	r.wait(s)

	for _, d := range deps {
		d.Value = 3
	}
	sva, s = r.signal(1, 0)
	q.put(aql.Raw(aql.BarrierPacket{Header: aql.MakeHeader(aql.BarrierOr, false, 0, 0), DepSignal: handles, CompletionSignal: aql.SignalHandle(sva)}))
	q.ring()
	time.Sleep(2 * time.Millisecond)
	if atomic.LoadInt64(&s.Value) != 1 {
		t.Fatal("BARRIER_OR passed")
	}
	atomic.StoreInt64(&deps[1].Value, 0)
	r.wait(s)

	sva, s = r.signal(1, 0)
	q.put(aql.Raw(aql.BarrierValuePacket{Format: aql.AMDBarrierValue, Signal: handles[0], Value: 2, Mask: 0xff, Cond: uint32(aql.CondLT), CompletionSignal: aql.SignalHandle(sva)}))
	q.ring()
	time.Sleep(2 * time.Millisecond)
	if atomic.LoadInt64(&s.Value) != 1 {
		t.Fatal("barrier-value passed")
	}
	atomic.StoreInt64(&deps[0].Value, 0x101)
	r.wait(s)
}

// The barrier bit keeps a packet back until all before it are complete; without it they overlap.
func TestBarrierBit(t *testing.T) {
	r := newRig(t, "mi210", 2)
	q := r.queue(0)
	var open atomic.Bool
	var second atomic.Int64
	first := r.kernel(desc(64), func(w *wave.Wave) ir.Exit {
		if !open.Load() {
			return ir.ExitSleep
		}
		return ir.ExitEndPgm
	})
	other := r.kernel(desc(64), func(w *wave.Wave) ir.Exit { second.Add(1); return ir.ExitEndPgm })
	one := [3]uint32{1, 1, 1}
	q.put(aql.Raw(dispatchPacket(first, one, one, 0)))
	p := dispatchPacket(other, one, one, 0)
	p.Header = aql.MakeHeader(aql.KernelDispatch, false, 0, 0)
	q.put(aql.Raw(p))
	sva, s := r.signal(1, 0)
	q.put(aql.Raw(dispatchPacket(other, one, one, sva)))
	q.ring()
	r.until(func() bool { return second.Load() == 1 }, "the packet without barrier bit")
	time.Sleep(5 * time.Millisecond)
	if second.Load() != 1 || atomic.LoadUint64(&q.record.ReadDispatchID) != 0 {
		t.Fatal("the barrier bit did not hold, or a slot was freed early")
	}
	open.Store(true)
	r.wait(s)
	r.until(func() bool { return atomic.LoadUint64(&q.record.ReadDispatchID) == 3 }, "read_dispatch_id")
}

func TestBadPackets(t *testing.T) {
	one := [3]uint32{1, 1, 1}
	for name, c := range map[string]struct {
		change func(r *rig, p *aql.DispatchPacket)
		code   aql.QueueError
	}{
		"no dimensions": {func(r *rig, p *aql.DispatchPacket) { p.Setup = 0 }, aql.ErrInvalidDim},
		"grid 0":        {func(r *rig, p *aql.DispatchPacket) { p.GridSizeY = 0 }, aql.ErrInvalidDim},
		"group 0":       {func(r *rig, p *aql.DispatchPacket) { p.WorkgroupSizeZ = 0 }, aql.ErrInvalidDim},
		"group large":   {func(r *rig, p *aql.DispatchPacket) { p.WorkgroupSizeX, p.WorkgroupSizeY = 1024, 2 }, aql.ErrGroupTooLarge},
		"LDS large":     {func(r *rig, p *aql.DispatchPacket) { p.GroupSegmentSize = 65537 }, aql.ErrInvalidGroupMem},
		"no kernel":     {func(r *rig, p *aql.DispatchPacket) { p.KernelObject = 0 }, aql.ErrInvalidCode},
		"wild kernel":   {func(r *rig, p *aql.DispatchPacket) { p.KernelObject = 0xdead00000040 }, aql.ErrInvalidCode},
		"odd kernel":    {func(r *rig, p *aql.DispatchPacket) { p.KernelObject++ }, aql.ErrInvalidCode},
		"type":          {func(r *rig, p *aql.DispatchPacket) { p.Header = 0x1177 }, aql.ErrPacketFormat},
		"agent":         {func(r *rig, p *aql.DispatchPacket) { p.Header = aql.MakeHeader(aql.AgentDispatch, false, 0, 0) }, aql.ErrPacketFormat},
		"vendor":        {func(r *rig, p *aql.DispatchPacket) { p.Header, p.Setup = 0, 9 }, aql.ErrInvalidVendor},
		"registers": {func(r *rig, p *aql.DispatchPacket) {
			d := desc(64)
			d.RSRC1 |= 63
			p.KernelObject = r.kernel(d, nil)
			p.WorkgroupSizeX, p.GridSizeX = 1024, 1024
		}, aql.ErrOutOfRegisters},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "mi210", 1)
			q := r.queue(0)
			k := r.kernel(desc(64), func(w *wave.Wave) ir.Exit { return ir.ExitEndPgm })
			p := dispatchPacket(k, one, one, 0)
			c.change(r, &p)
			q.put(aql.Raw(p))
			q.ring()
			r.until(func() bool { return atomic.LoadInt64(&q.inactive.Value) != 0 }, "inactive signal")
			if got := aql.QueueError(q.inactive.Value); got != c.code {
				t.Errorf("code %#x, want %#x", got, c.code)
			}
			if e := <-r.irqs; e.Source != ih.SourceCPEndOfPipe || e.Data[0] != 77 {
				t.Errorf("interrupt %+v", e)
			}
			if f := <-r.qfault; f.Code != uint64(c.code) || f.Text == "" {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestManyPacketsFromManyThreads(t *testing.T) {
	r := newRig(t, "mi210", 2)
	q := r.queue(0)
	var ran atomic.Int64
	k := r.kernel(desc(64), func(w *wave.Wave) ir.Exit { ran.Add(1); return ir.ExitEndPgm })
	const threads, each = 4, 500
	sva, s := r.signal(threads*each, 0)
	var wg sync.WaitGroup
	for range threads {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range each {
				i := atomic.AddUint64(&q.record.WriteDispatchID, 1) - 1
				for i-atomic.LoadUint64(&q.record.ReadDispatchID) >= q.n {
					runtime.Gosched()
				}
				p := aql.Raw(dispatchPacket(k, [3]uint32{64, 1, 1}, [3]uint32{64, 1, 1}, sva))
				slot := q.slots[i%q.n*64:]
				copy(slot[4:64], p[4:])
				atomic.StoreUint32((*uint32)(unsafe.Pointer(&slot[0])), *(*uint32)(unsafe.Pointer(&p[0])))
				atomic.StoreUint64(q.bell, i)
				r.d.RingDoorbell(q.dword)
			}
		}()
	}
	wg.Wait()
	r.wait(s)
	if ran.Load() != threads*each || s.Value != 0 {
		t.Errorf("%d waves, signal %d", ran.Load(), s.Value)
	}
}
