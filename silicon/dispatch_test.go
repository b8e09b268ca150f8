package silicon

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// desc is a descriptor with kernarg pointer in s[0:1], work-group ids in s2..s4, and work-item ids.
func desc(lanes int) codeobj.Descriptor {
	d := codeobj.Descriptor{RSRC1: 2 | 0xf<<16 | 1<<21 | 1<<23, RSRC2: 2<<1 | 7<<7 | 2<<11, Properties: codeobj.EnableKernargSegmentPtr}
	if lanes == 32 {
		d.Properties |= codeobj.EnableWavefrontSize32
	}
	return d
}

// lanesOf calls f with the work-item id of each active lane.
func lanesOf(w *wave.Wave, f func(x, y, z uint32)) {
	for l := range w.Lanes {
		if w.EXEC()>>l&1 == 0 {
			continue
		}
		if v := w.VGPR(0)[l]; w.Target.PackedTID {
			f(v&1023, v>>10&1023, v>>20&1023)
		} else {
			f(v, w.VGPR(1)[l], w.VGPR(2)[l])
		}
	}
}

func TestDispatchCoversTheGrid(t *testing.T) {
	for _, c := range []struct {
		profile string
		lanes   int
	}{{"mi210", 64}, {"radeonvii", 64}, {"rx6900xt", 32}, {"rx6900xt", 64}} {
		r := newRig(t, c.profile, 2)
		q := r.queue(0)
		grid, wg := [3]uint32{70, 9, 5}, [3]uint32{16, 4, 2}
		n := grid[0] * grid[1] * grid[2]
		outVA, out := r.alloc(uint64(n) * 4)
		count := unsafe.Slice((*uint32)(unsafe.Pointer(&out[0])), n)
		k := r.kernel(desc(c.lanes), func(w *wave.Wave) ir.Exit {
			if got := uint64(w.S[0]) | uint64(w.S[1])<<32; got != outVA {
				t.Errorf("kernarg pointer %#x", got)
			}
			if w.S[isa.SRegMODE] != 0xf0|1<<8|1<<9 {
				t.Errorf("MODE %#x", w.S[isa.SRegMODE])
			}
			lanesOf(w, func(x, y, z uint32) {
				i := (w.S[4]*2+z)*grid[1]*grid[0] + (w.S[3]*4+y)*grid[0] + w.S[2]*16 + x
				if i >= n || x >= 16 || y >= 4 || z >= 2 {
					t.Errorf("item %d %d %d of group %d %d %d", x, y, z, w.S[2], w.S[3], w.S[4])
					return
				}
				atomic.AddUint32(&count[i], 1)
			})
			return ir.ExitEndPgm
		})
		sva, s := r.signal(1, 5)
		p := dispatchPacket(k, grid, wg, sva)
		p.KernargAddress = outVA
		q.put(aql.Raw(p))
		q.ring()
		r.wait(s)
		for i, v := range count {
			if v != 1 {
				t.Fatalf("%s wave%d: item %d ran %d times", c.profile, c.lanes, i, v)
			}
		}
		r.until(func() bool { return atomic.LoadUint64(&q.record.ReadDispatchID) == 1 }, "read_dispatch_id")
		if q.slots[0] != byte(aql.Invalid) {
			t.Error("the header is not INVALID")
		}
		if s.StartTS == 0 || s.EndTS < s.StartTS || s.EndTS > r.d.Clock() {
			t.Errorf("timestamps %d %d, now %d", s.StartTS, s.EndTS, r.d.Clock())
		}
		e := <-r.irqs
		if e.Source != ih.SourceCPEndOfPipe || e.Data[0] != 5 || e.PASID != 42 || e.VMID != rigVMID {
			t.Errorf("interrupt %+v", e)
		}
		if box, _ := r.d.vms[rigVMID].load64(s.EventMailboxPtr); box != 5 {
			t.Errorf("mailbox %d", box)
		}
		if err := r.d.UnloadQueue(q.id, Drain); err != nil {
			t.Error(err)
		}
		if err := r.d.UnloadQueue(q.id, Drain); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
	}
}

func TestBarrierInWorkgroup(t *testing.T) {
	r := newRig(t, "mi210", 2)
	q := r.queue(0)
	var mu sync.Mutex
	phase := map[uint32][2]int{} // work-group: waves that passed phase 0 and 1
	k := r.kernel(desc(64), func(w *wave.Wave) ir.Exit {
		mu.Lock()
		defer mu.Unlock()
		p := phase[w.S[2]]
		if w.S[60] == 0 {
			w.S[60] = 1
			p[0]++
			phase[w.S[2]] = p
			if w.Index == 3 {
				return ir.ExitEndPgm // a wave that ended counts as arrived
			}
			return ir.ExitBarrier
		}
		if p[0] != 4 {
			t.Errorf("group %d: a wave passed the barrier after %d of 4", w.S[2], p[0])
		}
		p[1]++
		phase[w.S[2]] = p
		return ir.ExitEndPgm
	})
	sva, s := r.signal(1, 0)
	q.put(aql.Raw(dispatchPacket(k, [3]uint32{256 * 50, 1, 1}, [3]uint32{256, 1, 1}, sva)))
	q.ring()
	r.wait(s)
	if len(phase) != 50 {
		t.Error(len(phase))
	}
	for g, p := range phase {
		if p != [2]int{4, 3} {
			t.Errorf("group %d: %v", g, p)
		}
	}
}

// All work-groups of a grid that fits the chip wait for the last one.
func TestResidentGroupsMakeProgress(t *testing.T) {
	for _, exit := range []ir.Exit{ir.ExitSleep, ir.ExitFuel} {
		r := newRig(t, "mi210", 2)
		q := r.queue(0)
		const groups = 104 * 8
		var flag atomic.Bool
		k := r.kernel(desc(64), func(w *wave.Wave) ir.Exit {
			if w.S[2] == groups-1 {
				flag.Store(true)
			}
			if !flag.Load() {
				return exit
			}
			return ir.ExitEndPgm
		})
		sva, s := r.signal(1, 0)
		q.put(aql.Raw(dispatchPacket(k, [3]uint32{64 * groups, 1, 1}, [3]uint32{64, 1, 1}, sva)))
		q.ring()
		r.wait(s)
	}
}

// More groups than the chip holds are not resident at once.
func TestOccupancy(t *testing.T) {
	r := newRig(t, "radeonvii", 2)
	q := r.queue(0)
	var resident, most atomic.Int64
	var flag atomic.Bool
	k := r.kernel(desc(64), func(w *wave.Wave) ir.Exit {
		if w.S[60] == 0 {
			w.S[60] = 1
			if n := resident.Add(1); n > most.Load() {
				most.Store(n)
			}
		}
		if !flag.Load() {
			return ir.ExitSleep
		}
		resident.Add(-1)
		return ir.ExitEndPgm
	})
	sva, s := r.signal(1, 0)
	p := dispatchPacket(k, [3]uint32{64 * 1000, 1, 1}, [3]uint32{64, 1, 1}, sva)
	p.GroupSegmentSize = 20 << 10 // three groups a CU
	q.put(aql.Raw(p))
	q.ring()
	r.until(func() bool { return resident.Load() >= 180 }, "180 groups resident")
	time.Sleep(20 * time.Millisecond)
	flag.Store(true)
	r.wait(s)
	if most.Load() != 180 {
		t.Errorf("%d groups of 20 KiB LDS were resident on 60 CUs", most.Load())
	}
	r.unitsAreFree()
}

func TestScratchProtocol(t *testing.T) {
	r := newRig(t, "mi210", 2)
	q := r.queue(0)
	base, _ := r.alloc(32 * 8192)
	var mu sync.Mutex
	inUse := map[uint32]bool{}
	d := desc(64)
	d.RSRC2 = 8<<1 | 1<<7 | 1
	d.Properties = codeobj.EnablePrivateSegmentBuffer | codeobj.EnableKernargSegmentPtr | codeobj.EnableFlatScratchInit
	k := r.kernel(d, func(w *wave.Wave) ir.Exit {
		mu.Lock()
		defer mu.Unlock()
		off := w.S[9] // after 8 user SGPRs and the work-group id
		if w.S[60] == 0 {
			w.S[60] = 1
			if got := uint64(w.S[6]) | uint64(w.S[7])<<32; got != base {
				t.Errorf("flat_scratch_init %#x", got)
			}
			if w.S[0] != 0x1111 || w.S[3] != 0x4444|1<<23|3<<21 {
				t.Errorf("private V# %#x", w.S[:4])
			}
			if off%8192 != 0 || off >= 32*8192 || inUse[off] {
				t.Errorf("wave offset %#x in use: %v", off, inUse[off])
			}
			inUse[off] = true
			return ir.ExitSleep
		}
		delete(inUse, off)
		return ir.ExitEndPgm
	})
	sva, s := r.signal(1, 0)
	p := dispatchPacket(k, [3]uint32{256 * 40, 1, 1}, [3]uint32{256, 1, 1}, sva)
	p.PrivateSegmentSize = 128
	q.put(aql.Raw(p))
	q.ring()
	r.until(func() bool { return atomic.LoadInt64(&q.inactive.Value) == int64(aql.ErrScratch) }, "scratch request")
	if e := <-r.irqs; e.Data[0] != 77 {
		t.Errorf("%+v", e)
	}
	q.record.ScratchResourceDescriptor = [4]uint32{0x1111, 0, 0, 0x4444}
	q.record.ScratchBackingMemoryLocation = base
	q.record.ScratchBackingMemoryByteSize = 32 * 8192
	q.record.ComputeTmpringSize = 32 | 8<<12
	atomic.StoreInt64(&q.inactive.Value, 0)
	r.wait(s)
}

func TestPreempt(t *testing.T) {
	r := newRig(t, "mi210", 2)
	q := r.queue(0)
	var stop, running atomic.Int64
	k := r.kernel(desc(64), func(w *wave.Wave) ir.Exit {
		running.Add(1)
		if stop.Load() == 0 {
			return ir.ExitFuel
		}
		return ir.ExitEndPgm
	})
	sva, s := r.signal(1, 0)
	q.put(aql.Raw(dispatchPacket(k, [3]uint32{64 * 100, 1, 1}, [3]uint32{64, 1, 1}, sva)))
	q.ring()
	r.until(func() bool { return running.Load() > 100 }, "waves")
	for range 20 {
		if err := r.d.UnloadQueue(q.id, Preempt); err != nil {
			t.Fatal(err)
		}
		n := running.Load()
		time.Sleep(time.Millisecond)
		if running.Load() != n {
			t.Fatal("waves run after a preemption")
		}
		if err := r.d.LoadQueue(q.id, unsafe.Pointer(&q.mqd[0]), rigVMID); err != nil {
			t.Fatal(err)
		}
		r.until(func() bool { return running.Load() > n }, "waves after the reload")
	}
	if s.Value != 1 {
		t.Fatal("complete")
	}
	stop.Store(1)
	r.wait(s)
}

// A doorbell that rings while the queue is unloaded is found in write_dispatch_id.
func TestRingWhileUnloaded(t *testing.T) {
	r := newRig(t, "mi210", 1)
	q := r.queue(0)
	k := r.kernel(desc(64), func(w *wave.Wave) ir.Exit { return ir.ExitEndPgm })
	if err := r.d.UnloadQueue(q.id, Preempt); err != nil {
		t.Fatal(err)
	}
	sva, s := r.signal(1, 0)
	one := [3]uint32{1, 1, 1}
	q.put(aql.Raw(dispatchPacket(k, one, one, sva)))
	if err := r.d.LoadQueue(q.id, unsafe.Pointer(&q.mqd[0]), rigVMID); err != nil {
		t.Fatal(err)
	}
	r.wait(s)
}

// Several queues share the chip: one that never ends does not keep the others waiting.
func TestQueuesAreFair(t *testing.T) {
	r := newRig(t, "mi210", 2)
	hog := r.queue(0)
	k := r.kernel(desc(64), func(w *wave.Wave) ir.Exit { return ir.ExitFuel })
	// Fewer work-groups than the chip has room for: as on the chip, waves that never end and fill it leave no place for others.
	hog.put(aql.Raw(dispatchPacket(k, [3]uint32{64 * 1000, 1, 1}, [3]uint32{64, 1, 1}, 0)))
	hog.ring()
	k = r.kernel(desc(64), func(w *wave.Wave) ir.Exit { return ir.ExitEndPgm })
	for i := 1; i < 5; i++ {
		q := r.queue(i)
		sva, s := r.signal(10, 0)
		for range 10 {
			q.put(aql.Raw(dispatchPacket(k, [3]uint32{64 * 10, 1, 1}, [3]uint32{64, 1, 1}, sva)))
		}
		q.ring()
		r.wait(s)
	}
	if err := r.d.UnloadQueue(hog.id, Kill); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkLaunchSync(b *testing.B) {
	r := newRig(b, "mi210", 2)
	q := r.queue(0)
	k := r.kernel(desc(64), func(w *wave.Wave) ir.Exit { return ir.ExitEndPgm })
	sva, s := r.signal(1, 0)
	p := aql.Raw(dispatchPacket(k, [3]uint32{64, 1, 1}, [3]uint32{64, 1, 1}, sva))
	b.ResetTimer()
	for b.Loop() {
		atomic.StoreInt64(&s.Value, 1)
		q.put(p)
		q.ring()
		for atomic.LoadInt64(&s.Value) != 0 {
			runtime.Gosched()
		}
	}
}

// TestCUMask gives a queue two compute units: no more work-groups are resident than they hold, and HW_ID names them alone.
func TestCUMask(t *testing.T) {
	r := newRig(t, "mi210", 2)
	r.cuMask = [8]uint32{2: 1 << 3, 5: 1 << 1}
	q := r.queue(0)
	var mu sync.Mutex
	seen := map[[2]uint32]bool{}
	k := r.kernel(codeobj.Descriptor{}, func(w *wave.Wave) ir.Exit {
		id := w.Env.HWReg(w, hwID)
		mu.Lock()
		seen[[2]uint32{id >> 13 & 7, id >> 8 & 15}] = true
		n := len(seen)
		mu.Unlock()
		if n < 2 {
			return ir.ExitSleep // until the other unit has a wave too
		}
		return ir.ExitEndPgm
	})
	va, s := r.signal(1, 0)
	q.put(aql.Raw(dispatchPacket(k, [3]uint32{64 * 100, 1, 1}, [3]uint32{64, 1, 1}, va)))
	q.ring()
	r.until(func() bool { return atomic.LoadInt64(&s.Value) == 0 }, "the dispatch")
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 2 || !seen[[2]uint32{2, 3}] || !seen[[2]uint32{5, 1}] {
		t.Errorf("engine and CU: %v", seen)
	}
}

// TestVGPRsOfOthers runs dispatches whose waves write registers, between the two kinds of them too: the next ones' are zero.
func TestVGPRsOfOthers(t *testing.T) {
	r := newRig(t, "mi210", 1)
	q := r.queue(0)
	regs := []int{3, 100, 256, 270} // architectural, between, AccVGPRs
	run := func(prog func(w *wave.Wave) ir.Exit) {
		t.Helper()
		k := r.kernel(codeobj.Descriptor{RSRC1: 3, RSRC3: 0}, prog) // 32 registers, AccVGPRs from the fifth on
		va, s := r.signal(1, 0)
		q.put(aql.Raw(dispatchPacket(k, [3]uint32{64 * 8, 1, 1}, [3]uint32{128, 1, 1}, va)))
		q.ring()
		r.wait(s)
	}
	for i := range 4 {
		wild := i%2 == 1
		run(func(w *wave.Wave) ir.Exit {
			if w.NVGPR != 4 || wild && !w.Admit(wave.Registers{Arch: 256, Acc: w.NAcc}) {
				t.Errorf("%d VGPRs, %d AccVGPRs", w.NVGPR, w.NAcc)
			}
			for _, n := range regs {
				if n == 100 && !wild {
					continue
				}
				for l := range w.VGPR(n) {
					w.VGPR(n)[l] = 0x5ec2e7
				}
			}
			return ir.ExitEndPgm
		})
		run(func(w *wave.Wave) ir.Exit {
			for _, n := range regs {
				for l, x := range w.VGPR(n) {
					if x != 0 {
						t.Errorf("v%d lane %d: %#x", n, l, x)
						break
					}
				}
			}
			return ir.ExitEndPgm
		})
	}
}

// Waves begin with the first, and go on behind a barrier with the last.
func TestOrderOfWavesBehindBarriers(t *testing.T) {
	r := newRig(t, "mi210", 1)
	q := r.queue(0)
	var order []int
	seen := map[int]int{}
	k := r.kernel(desc(64), func(w *wave.Wave) ir.Exit {
		order = append(order, w.Index)
		seen[w.Index]++
		switch n := seen[w.Index]; {
		case n == 2 && w.Index == 2: // comes later than the others, so the third barrier completes in the middle of a pass
			return ir.ExitFuel
		case n < 4 || n == 4 && w.Index == 2:
			return ir.ExitBarrier
		}
		return ir.ExitEndPgm
	})
	sva, s := r.signal(1, 5)
	q.put(aql.Raw(dispatchPacket(k, [3]uint32{256, 1, 1}, [3]uint32{256, 1, 1}, sva)))
	q.ring()
	r.wait(s)
	if got, want := fmt.Sprint(order), "[0 1 2 3 3 2 1 0 2 3 2 1 0 3 2 1 0]"; got != want {
		t.Errorf("waves ran in the order %s, want %s", got, want)
	}
}
