package silicon

import (
	"bytes"
	"math/rand"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/abi/mqd"
	"github.com/pumice-gpu/pumice/abi/pm4"
	"github.com/pumice-gpu/pumice/abi/sdma"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// ringQueue is an SDMA or PM4 queue of a test.
type ringQueue struct {
	r     *rig
	id    QueueID
	ring  []byte
	rptr  *uint64
	wptr  uint64 // bytes
	bell  *uint64
	dword uint32
	mqd   []uint32
	unit  uint64 // bytes of a doorbell unit
}

func (r *rig) ringQueue(class QueueClass, slot int) *ringQueue {
	q := &ringQueue{r: r, id: QueueID{Class: class, Slot: slot}, dword: uint32(0x800 + 2*slot), unit: 1}
	ringVA, ring := r.alloc(4096)
	ptrVA, ptr := r.alloc(64)
	q.ring, q.rptr = ring, (*uint64)(unsafe.Pointer(&ptr[0]))
	q.bell = (*uint64)(unsafe.Add(r.d.doorbells.base, q.dword*4))
	_, m := r.alloc(4096)
	q.mqd = unsafe.Slice((*uint32)(unsafe.Pointer(&m[0])), 1024)
	var err error
	if class == SDMA {
		err = (&mqd.SDMA{RingBase: ringVA, RingBytes: 4096, RptrAddr: ptrVA, WptrAddr: ptrVA + 8, DoorbellDword: q.dword, VMID: rigVMID, Active: true}).Encode(r.d.mqdGen, q.mqd)
	} else {
		q.unit = 4
		err = (&mqd.Compute{RingBase: ringVA, RingBytes: 4096, RptrAddr: ptrVA, WptrAddr: ptrVA + 8, DoorbellDword: q.dword, VMID: rigVMID, Active: true,
			CUMask: r.cuMask}).Encode(r.d.mqdGen, q.mqd)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.d.LoadQueue(q.id, unsafe.Pointer(&q.mqd[0]), rigVMID); err != nil {
		r.t.Fatal(err)
	}
	return q
}

// submit writes packets and rings.
func (q *ringQueue) submit(w []uint32) {
	for _, b := range bytesOf(w) {
		q.ring[q.wptr%4096] = b
		q.wptr++
	}
	atomic.StoreUint64(q.bell, q.wptr/q.unit)
	q.r.d.RingDoorbell(q.dword)
}

func (q *ringQueue) wait() {
	q.r.t.Helper()
	want := q.wptr
	if q.unit == 4 {
		want = q.wptr / 4 % 1024
	}
	q.r.until(func() bool { return atomic.LoadUint64(q.rptr) == want }, "ring")
}

func TestSDMA(t *testing.T) {
	for _, p := range []string{"mi210", "rx6900xt", "rx7900xtx", "rx9070xt"} {
		r := newRig(t, p, 1)
		q := r.ringQueue(SDMA, 0)
		const n = 3<<20 + 123
		srcVA, src := r.alloc(n)
		dstVA, dst := r.alloc(n + 100)
		rand.New(rand.NewSource(1)).Read(src)
		fenceVA, fence := r.alloc(64)
		word := func(o int) *uint64 { return (*uint64)(unsafe.Pointer(&fence[o])) }
		*word(8) = 5
		var w []uint32
		w = sdma.AppendHDPFlush(w)
		w = sdma.AppendGCR(w, 0)
		w = sdma.AppendNop(w, 5)
		w = sdma.Copy{Src: srcVA + 1, Dst: dstVA + 3, Bytes: n - 1}.Append(w)
		w = sdma.Atomic{Op: sdma.AtomicAdd64, Addr: fenceVA + 8, Src: ^uint64(0)}.Append(w)
		w = sdma.AppendFence(w, fenceVA, 0xfeed)
		w = sdma.AppendTimestamp(w, fenceVA+16)
		w = sdma.AppendWrite(w, fenceVA+24, []uint32{7, 8})
		w = sdma.AppendTrap(w, 99)
		q.submit(w)
		q.wait()
		if !bytes.Equal(dst[3:n+2], src[1:n]) {
			t.Fatal("the copy differs")
		}
		if *word(0) != 0xfeed || *word(8) != 4 || *word(16) == 0 || *word(24) != 8<<32|7 {
			t.Errorf("%#x", fence[:32])
		}
		if e := <-r.irqs; e.Source != ih.SourceSDMATrap || e.Data[0] != 99 || e.PASID != 42 {
			t.Errorf("%+v", e)
		}
		// Fill by dwords and bytes.
		w = sdma.Fill{Dst: dstVA, Data: 0x04030201, Size: 2, Bytes: 4096 + 8}.Append(nil)
		w = sdma.Fill{Dst: dstVA + 4097, Data: 0xaa, Size: 0, Bytes: 3}.Append(w)
		q.submit(w)
		q.wait()
		for i := range 4104 {
			want := byte(i&3 + 1)
			if i >= 4097 && i < 4100 {
				want = 0xaa
			}
			if dst[i] != want {
				t.Fatalf("fill: byte %d is %#x", i, dst[i])
			}
		}
		// Sub-window: 5 x 4 x 2 dwords out of pitch 16, slice 256 into pitch 7, slice 50.
		w = sdma.CopyRect{ElementLog2: 2, Src: sdma.Window{Addr: srcVA, X: 2, Y: 3, Z: 1, Pitch: 16, Slice: 256},
			Dst: sdma.Window{Addr: dstVA, X: 1, Pitch: 7, Slice: 50}, X: 5, Y: 4, Z: 2}.Append(nil)
		q.submit(w)
		q.wait()
		for z := range 2 {
			for y := range 4 {
				s, d := 4*((1+z)*256+(3+y)*16+2), 4*(z*50+y*7+1)
				if !bytes.Equal(dst[d:d+20], src[s:s+20]) {
					t.Fatalf("row %d of slice %d differs", y, z)
				}
			}
		}
		// Poll, conditional execution, indirect buffer.
		*word(32), *word(40) = 0, 0
		ibVA, ib := r.alloc(4096)
		copy(ib, bytesOf(sdma.AppendFence(sdma.AppendNop(nil, 2), fenceVA+44, 3)))
		w = sdma.Poll{Addr: fenceVA + 32, Ref: 3, Mask: 0xff, Func: sdma.GreaterEqual, Memory: true, Retries: 0xfff}.Append(nil)
		w = sdma.AppendCondExe(w, fenceVA+32, 1, 4)
		w = sdma.AppendFence(w, fenceVA+40, 1) // left out
		w = sdma.AppendCondExe(w, fenceVA+32, 0x105, 6)
		w = sdma.AppendIndirect(w, ibVA, 6)
		q.submit(w)
		time.Sleep(3 * time.Millisecond)
		if atomic.LoadUint64(q.rptr) == q.wptr {
			t.Fatal("the poll passed")
		}
		atomic.StoreUint64(word(32), 0x105)
		q.wait()
		if *word(40) != 3<<32 {
			t.Errorf("%#x", *word(40))
		}
		// Many wraps of the ring.
		for i := range 500 {
			w = sdma.AppendFence(sdma.AppendNop(nil, i%7+1), fenceVA, uint32(i))
			q.submit(w)
			q.wait()
			if uint32(*word(0)) != uint32(i) {
				t.Fatal(i, *word(0))
			}
		}
	}
}

func TestSDMABadPackets(t *testing.T) {
	for name, w := range map[string][]uint32{
		"operation":   {200, 0, 0, 0, 0, 0, 0, 0},
		"tiled copy":  {1 | 1<<8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"short":       {1, 0, 0},
		"fill size 3": {11 | 3<<30, 0, 0, 0, 0},
		"atomic":      {10 | 3<<25, 0, 0x7000, 0, 0, 0, 0, 0},
		"wild source": sdma.Copy{Src: 0x66660000, Dst: 0x66660000, Bytes: 4}.Append(nil),
		"unaligned":   sdma.Atomic{Op: sdma.AtomicAdd64, Addr: 0x70000004}.Append(nil),
		"register":    sdma.Poll{Addr: 0x100, Func: sdma.Equal}.Append(nil),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "mi210", 1)
			q := r.ringQueue(SDMA, 0)
			q.submit(w)
			f := <-r.qfault
			if f.Text == "" || f.Queue != q.id {
				t.Errorf("%+v", f)
			}
			if e := <-r.irqs; e.Source != ih.SourceCPBadOpcode && e.Source != ih.SourceVMFault {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestPM4(t *testing.T) {
	r := newRig(t, "mi210", 1)
	q := r.ringQueue(Compute, 3)
	va, mem := r.alloc(4096)
	word := func(o int) *uint64 { return (*uint64)(unsafe.Pointer(&mem[o])) }
	ibVA, ib := r.alloc(4096)
	inner := pm4.WriteData{Dst: pm4.SelL2, Addr: va, Data: []uint32{1, 2, 3}}.Append(nil)
	copy(ib, bytesOf(inner))
	w := []uint32{0xffff1000, 0x80000000}
	w = pm4.IndirectBuffer{Addr: ibVA, Dwords: uint32(len(inner))}.Append(w)
	w = pm4.CopyData{Src: pm4.SelMemory, Dst: pm4.SelMemAsync, Wide: true, SrcAddr: va, DstAddr: va + 16}.Append(w)
	w = pm4.AtomicMem{Op: 47, Addr: va + 16, Src: 5}.Append(w)
	w = pm4.WaitRegMem{Func: 3, Memory: true, Addr: va + 24, Ref: 9, Mask: 0xf}.Append(w)
	w = pm4.AcquireMem{CoherCntl: 1 << 29}.Append(w, false)
	w = pm4.ReleaseMem{Addr: va + 32, DataSel: pm4.Data64, Data: 0x1234567890, IntSel: 2, ContextID: 55}.Append(w)
	q.submit(w)
	time.Sleep(2 * time.Millisecond)
	if *word(32) != 0 {
		t.Fatal("WAIT_REG_MEM passed")
	}
	q.wait() // the packets are fetched all the same
	atomic.StoreUint64(word(24), 0x19)
	r.until(func() bool { return atomic.LoadUint64(word(32)) != 0 }, "RELEASE_MEM")
	if *word(0) != 2<<32|1 || *word(8) != 3 || *word(16) != 2<<32|6 || *word(32) != 0x1234567890 || r.e.inval.Load() != 1 {
		t.Errorf("% x", mem[:40])
	}
	if e := <-r.irqs; e.Source != ih.SourceCPEndOfPipe || e.Data[0] != 55 {
		t.Errorf("%+v", e)
	}
	q.submit([]uint32{0xc0001f00, 0})
	if f := <-r.qfault; f.Text == "" {
		t.Errorf("%+v", f)
	}
}

// TestOldDoorbell: a queue does not hear what its doorbell said to the queue that had it before.
func TestOldDoorbell(t *testing.T) {
	for class, nops := range map[QueueClass][]uint32{Compute: {0xffff1000, 0x80000000}, SDMA: {0, 0}} {
		r := newRig(t, "mi210", 1)
		q := r.ringQueue(class, 3)
		q.submit(nops)
		q.wait()
		if err := r.d.UnloadQueue(q.id, Drain); err != nil {
			t.Fatal(err)
		}
		if atomic.LoadUint64(q.bell) == 0 {
			t.Fatal("the doorbell has no value")
		}
		next := r.ringQueue(class, 3)
		time.Sleep(time.Millisecond)
		if n := atomic.LoadUint64(next.rptr); n != 0 {
			t.Errorf("class %d: the new queue has read up to %d", class, n)
		}
	}
}

// TestPM4Dispatch launches from registers, out of an indirect buffer whose later packets wait for the waves: it must not start anew.
func TestPM4Dispatch(t *testing.T) {
	r := newRig(t, "mi210", 1)
	q := r.ringQueue(Compute, 3)
	va, mem := r.alloc(4096)
	word := func(o int) *uint64 { return (*uint64)(unsafe.Pointer(&mem[o])) }
	release := make(chan bool)
	var groups, wrong atomic.Int64
	code := r.kernel(desc(64), func(w *wave.Wave) ir.Exit {
		if w.S[0] != 11 || w.S[1] != 12 || w.S[2] != 13 || w.S[3] != w.S[isa.SRegTTMP0+8] || w.Lanes != 64 {
			wrong.Add(1)
		}
		groups.Add(1)
		<-release
		return ir.ExitEndPgm
	}) + 256
	d := desc(64)
	d.RSRC2 = 3<<1 | 1<<7
	set := func(w []uint32, reg int, v ...uint32) []uint32 {
		return append(append(w, uint32(pm4.Type3(pm4.OpSetShReg, len(v)+1)), uint32(reg-pm4.ShRegBase)), v...)
	}
	ib := set(nil, pm4.ComputeStartX, 0, 0, 0, 64, 1, 1)
	ib = set(ib, pm4.ComputePgmLo, uint32(code>>8), uint32(code>>40))
	ib = set(ib, pm4.ComputePgmRsrc1, d.RSRC1, d.RSRC2)
	ib = set(ib, pm4.ComputeUserData0, 11, 12, 13)
	ib = append(ib, uint32(pm4.Type3(pm4.OpDispatchDirect, 4)), 3, 1, 1, pm4.DispatchShaderEnable)
	ib = pm4.ReleaseMem{Addr: va, DataSel: pm4.Data64, Data: 7}.Append(ib)
	ib = pm4.WaitRegMem{Func: 3, Memory: true, Addr: va, Ref: 7, Mask: 0xff}.Append(ib)
	ibVA, b := r.alloc(4096)
	copy(b, bytesOf(ib))
	w := pm4.IndirectBuffer{Addr: ibVA, Dwords: uint32(len(ib))}.Append(nil)
	w = pm4.ReleaseMem{Addr: va + 8, DataSel: pm4.Data64, Data: 8}.Append(w)
	q.submit(w)
	q.wait()
	close(release)
	r.until(func() bool { return atomic.LoadUint64(word(8)) == 8 }, "the second RELEASE_MEM")
	if groups.Load() != 3 || wrong.Load() != 0 || *word(0) != 7 {
		t.Errorf("%d work-groups, %d with wrong registers; %d", groups.Load(), wrong.Load(), *word(0))
	}
	q.submit(append(set(nil, pm4.ComputeStartX, 1), uint32(pm4.Type3(pm4.OpDispatchDirect, 4)), 3, 1, 1, pm4.DispatchShaderEnable))
	if f := <-r.qfault; f.Text == "" {
		t.Errorf("%+v", f)
	}
}

// The vendor packet of ROCr that invalidates instruction caches after it has loaded code.
func TestVendorPM4(t *testing.T) {
	r := newRig(t, "mi210", 1)
	q := r.queue(0)
	ibVA, ib := r.alloc(4096)
	copy(ib, bytesOf([]uint32{0xc0055800, 0x28840000, 0xffffffff, 0xff, 0, 0, 4}))
	sva, s := r.signal(1, 0)
	p := aql.PM4IBPacket{Format: aql.AMDPM4IB, DWCountRemain: 10, CompletionSignal: aql.SignalHandle(sva)}
	copy(p.IBJump[:], pm4.IndirectBuffer{Addr: ibVA, Dwords: 7}.Append(nil))
	q.put(aql.Raw(p))
	q.ring()
	r.wait(s)
	if r.e.inval.Load() != 1 {
		t.Error("no invalidation")
	}
}

// FuzzAQL: no packet crashes or hangs the chip; a queue after it still works.
func FuzzAQL(f *testing.F) {
	good := aql.Raw(dispatchPacket(0x7000_0000_0040, [3]uint32{1, 1, 1}, [3]uint32{1, 1, 1}, 0))
	f.Add(good[:], uint8(0))
	f.Add(bytes.Repeat([]byte{0xff}, 64), uint8(1))
	r := newRig(f, "mi210", 1)
	for len(r.irqs) > 0 {
		<-r.irqs
	}
	k := r.kernel(desc(64), func(w *wave.Wave) ir.Exit { return ir.ExitEndPgm })
	scratch, _ := r.alloc(4096)
	f.Fuzz(func(t *testing.T, b []byte, patch uint8) {
		if len(b) < 64 {
			return
		}
		var p aql.Packet
		copy(p[:], b)
		x := (*aql.DispatchPacket)(unsafe.Pointer(&p))
		// Let some packets reach deeper: a kernel that exists, small grids, signals in memory.
		if patch&1 != 0 {
			x.KernelObject = k
		}
		if patch&2 != 0 {
			x.CompletionSignal = aql.SignalHandle(scratch)
		}
		x.GridSizeX &= 0xfff
		x.GridSizeY &= 7
		x.GridSizeZ &= 7
		r.t = t
		r.fuzzOne(p)
		for len(r.qfault) > 0 {
			<-r.qfault
		}
		for len(r.faults) > 0 {
			<-r.faults
		}
	})
}

func (r *rig) fuzzOne(p aql.Packet) {
	va, next := r.va, r.next
	q := r.queue(1)
	q.put(p)
	q.ring()
	time.Sleep(50 * time.Microsecond)
	_ = r.d.UnloadQueue(q.id, Kill)
	r.unitsAreFree()
	atomic.StoreUint64(q.bell, 0)
	r.va, r.next = va, next // the same memory again
}
