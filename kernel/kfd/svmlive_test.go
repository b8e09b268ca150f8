package kfd

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/uaccess"
	"golang.org/x/sys/unix"
)

// copier is an SDMA queue of a rig: it copies and says when it is done.
type copier struct {
	r    *rig
	gpu  uint32
	rb   []byte
	pm   []byte
	bell *uint64
	ring func(uint64)
	off  uint64
	w    uint64
	id   uint32 // queue
}

// newCopier makes one on GPU number gpu; base is a free gigabyte of addresses.
func newCopier(r *rig, gpu int, base uint64) *copier {
	_, rb := r.alloc(gpu, base, 1<<20, kfd.AllocGTT)
	_, pm := r.alloc(gpu, base+2<<20, 4096, kfd.AllocGTT)
	q := kfd.CreateQueueArgs{RingBaseAddress: base, RingSize: 1 << 20, ReadPointerAddress: base + 2<<20 + 8, WritePointerAddress: base + 2<<20 + 16,
		GPUID: r.gpus[gpu], QueueType: kfd.QueueTypeSDMA, QueuePercentage: 100, QueuePriority: 7}
	must(r, kfd.IocCreateQueue, &q)
	_, _, low := kfd.SplitMmapOffset(q.DoorbellOffset)
	segs, err := r.kfd.Mmap(q.DoorbellOffset, 8192)
	if err != nil {
		r.t.Fatal(err)
	}
	bell, err := unix.Mmap(segs[0].FD, int64(segs[0].Off), 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		r.t.Fatal(err)
	}
	return &copier{r: r, gpu: r.gpus[gpu], rb: rb, pm: pm, bell: (*uint64)(unsafe.Pointer(&bell[low])), ring: segs[0].Ring, off: segs[0].Off + low, id: q.QueueID}
}

// copy copies n bytes and waits until the queue has done it.
func (c *copier) copy(dst, src, n uint64) {
	c.r.t.Helper()
	put := func(ws ...uint32) {
		for _, x := range ws {
			binary.LittleEndian.PutUint32(c.rb[c.w%uint64(len(c.rb)):], x)
			c.w += 4
		}
	}
	const piece = 0x3fffe0
	for n > 0 {
		m := min(n, piece)
		put(1, uint32(m-1), 0, uint32(src), uint32(src>>32), uint32(dst), uint32(dst>>32))
		src, dst, n = src+m, dst+m, n-m
	}
	binary.LittleEndian.PutUint64(c.pm[16:], c.w)
	atomic.StoreUint64(c.bell, c.w)
	c.ring(c.off)
	for deadline := time.Now().Add(20 * time.Second); atomic.LoadUint64((*uint64)(unsafe.Pointer(&c.pm[8]))) != c.w; time.Sleep(20 * time.Microsecond) {
		if time.Now().After(deadline) {
			c.r.t.Fatalf("GPU %d: the copy is not done: %d of %d", c.gpu, binary.LittleEndian.Uint64(c.pm[8:]), c.w)
		}
	}
}

func liveRig(t testing.TB, xnack bool, gpus ...string) *rig {
	return liveRigOf(t, 256<<20, xnack, gpus...)
}

func liveRigOf(t testing.TB, vram uint64, xnack bool, gpus ...string) *rig {
	r := newRigOf(t, vram, gpus...).acquire()
	if xnack {
		must(r, kfd.IocSetXNACKMode, &kfd.SetXNACKModeArgs{XNACKEnabled: 1})
	}
	if l, ok := r.drv.proc.ranges.use().(*svmLive); !ok || l.space.UserOnly() {
		t.Skip("no userfaultfd for system calls here")
	}
	return r
}

func (r *rig) managed(n int) uint64 {
	addr, _ := anon(r.t, n+2<<20)
	addr = (addr + 2<<20 - 1) &^ (2<<20 - 1)
	for _, g := range r.gpus {
		if _, err := r.svm(kfd.SVMArgs{StartAddr: addr, Size: uint64(n)}, attr(kfd.SVMAttrAccess, g)); err != nil {
			r.t.Fatal(err)
		}
	}
	return addr
}

var cpu uaccess.Process

func fill(t testing.TB, addr uint64, n int, seed uint64) []byte {
	b := make([]byte, n)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for i := 0; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], rnd.Uint64())
	}
	if err := cpu.Write(addr, b); err != nil {
		t.Fatal(err)
	}
	return b
}

func same(t testing.TB, addr uint64, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if err := cpu.Read(addr, got); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("byte %#x of %#x: %#x, want %#x", i, len(want), got[i], want[i])
		}
	}
}

// TestManagedMemory copies between managed buffers: by retry faults with XNACK, by mappings made ahead without.
func TestManagedMemory(t *testing.T) {
	for _, xnack := range []bool{false, true} {
		t.Run(map[bool]string{false: "xnack off", true: "xnack on"}[xnack], func(t *testing.T) {
			r := liveRig(t, xnack, "mi210")
			var toVRAM, faults atomic.Int32
			r.drv.OnSVM = func(_ uint32, e svm.Event) {
				switch e.Kind {
				case svm.EvMigrateToVRAM:
					if e.Err == nil {
						toVRAM.Add(1)
					}
				case svm.EvFault:
					faults.Add(1)
				}
			}
			const n = 6 << 20
			src, dst := r.managed(n), r.managed(n)
			want := fill(t, src, n, 1)
			c := newCopier(r, 0, 0x7e0000000000)
			if !xnack {
				for _, a := range []uint64{src, dst} {
					if _, err := r.svm(kfd.SVMArgs{StartAddr: a, Size: n}, attr(kfd.SVMAttrPrefetchLoc, 2)); err != nil {
						t.Fatal(err)
					}
				}
			}
			c.copy(dst, src, n)
			vm := r.drv.proc.pdds[0].vm
			if e, ok := vm.Lookup(dst); !ok || e.Is(pte.System) {
				t.Errorf("destination is not in VRAM: %v %s", ok, e)
			}
			if toVRAM.Load() == 0 || (faults.Load() > 0) != xnack {
				t.Errorf("%d migrations to VRAM, %d faults", toVRAM.Load(), faults.Load())
			}
			same(t, dst, want) // comes home by CPU touch
			same(t, src, want)
			want = fill(t, src, n, 2)
			c.copy(dst, src, n)
			same(t, dst, want)
			// Free one while the other lives on.
			if _, _, e := unix.Syscall(unix.SYS_MUNMAP, uintptr(src), n, 0); e != 0 {
				t.Fatal(e)
			}
			same(t, dst, want)
		})
	}
}

// TestOversubscription has a working set of twice the VRAM that SVM has.
func TestOversubscription(t *testing.T) {
	r := liveRig(t, true, "mi210")
	var evictions atomic.Int32
	r.drv.OnSVM = func(_ uint32, e svm.Event) {
		if e.Kind == svm.EvEvict && e.Err == nil {
			evictions.Add(1)
		}
	}
	const n, bufs = 12 << 20, 8 // the rig's GPU has 64 MiB for SVM
	var at []uint64
	for range bufs {
		at = append(at, r.managed(n))
	}
	want := fill(t, at[0], n, 3)
	c := newCopier(r, 0, 0x7e0000000000)
	for i := 1; i < bufs; i++ {
		c.copy(at[i], at[i-1], n)
	}
	for i := range at {
		same(t, at[i], want)
	}
	if evictions.Load() == 0 {
		t.Error("nothing was evicted")
	}
}

// TestManyHands has two GPUs copy, and threads read and write, the same managed pages.
func TestManyHands(t *testing.T) {
	r := liveRig(t, true, "mi210", "mi210")
	const n = 1 << 20
	a, b := r.managed(n), r.managed(n)
	want := fill(t, a, n, 4)
	cs := []*copier{newCopier(r, 0, 0x7e0000000000), newCopier(r, 1, 0x7d0000000000)}
	stop := make(chan bool)
	var wg sync.WaitGroup
	for th := range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			buf := make([]byte, 64)
			for i := th; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				time.Sleep(2 * time.Millisecond) // let the GPUs have the pages for a while
				off := uint64(i*7919*64) % n &^ 63
				if err := cpu.Read(a+off, buf); err != nil {
					t.Error(err)
					return
				}
				if string(buf) != string(want[off:off+64]) {
					t.Errorf("at %#x: content differs", off)
					return
				}
			}
		}()
	}
	for i := range 6 {
		c := cs[i%2]
		c.copy(b, a, n)
		if i%3 == 0 {
			same(t, b, want)
		}
	}
	close(stop)
	wg.Wait()
	same(t, b, want)
}
