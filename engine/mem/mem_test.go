package mem_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/mem"
)

// flat maps [base, base+len) to a buffer, read-only above roFrom.
type flat struct {
	base   uint64
	buf    []byte
	roFrom uint64
	walks  atomic.Int64
	off    atomic.Bool
}

func (f *flat) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	f.walks.Add(1)
	if f.off.Load() || va < f.base || va >= f.base+uint64(len(f.buf)) {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent}
	}
	rights, end := mem.Read|mem.Write, min(f.base+uint64(len(f.buf)), f.roFrom)
	if va >= f.roFrom {
		rights, end = mem.Read, f.base+uint64(len(f.buf))
	}
	if a&^rights != 0 {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultReadOnly}
	}
	return unsafe.Pointer(&f.buf[va-f.base]), end - va, rights, nil
}

func newSpace(pages int) (*mem.Space, *flat) {
	f := &flat{base: 0x7f0000000000, buf: make([]byte, (pages+1)*mem.PageSize), roFrom: ^uint64(0)}
	// Page-align the host side, as device memory always is.
	skew := -uintptr(unsafe.Pointer(&f.buf[0])) & (mem.PageSize - 1)
	f.buf = f.buf[skew:][:pages*mem.PageSize]
	return &mem.Space{Translator: f}, f
}

func TestLookupCachesAndKeepsRights(t *testing.T) {
	s, f := newSpace(4)
	f.roFrom = f.base + 2*mem.PageSize
	tlb := mem.NewTLB()
	tlb.Enter(s)
	defer tlb.Close()
	f.buf[5] = 42
	for range 3 {
		p, n, fault := tlb.Lookup(f.base+5, mem.Read)
		if fault != nil || *(*byte)(p) != 42 || n != mem.PageSize-5 {
			t.Fatalf("Lookup = %v, %d, %v; want 42's address, %d bytes", p, n, fault, mem.PageSize-5)
		}
	}
	if w := f.walks.Load(); w != 1 {
		t.Errorf("%d walks for three reads of a page, want 1", w)
	}
	ro := f.roFrom + 8
	if _, _, fault := tlb.Lookup(ro, mem.Read); fault != nil {
		t.Fatal(fault)
	}
	if _, _, fault := tlb.Lookup(ro, mem.Write); fault == nil || fault.Kind != mem.FaultReadOnly {
		t.Errorf("write to a read-only page that was read before: %v, want a read-only fault", fault)
	}
	if _, _, fault := tlb.Lookup(f.base-1, mem.Read); fault == nil || fault.Kind != mem.FaultNotPresent {
		t.Errorf("unmapped read: %v, want not present", fault)
	}
}

func TestAliasingPagesEvictEachOther(t *testing.T) {
	s, f := newSpace(mem.TLBSize + 1)
	tlb := mem.NewTLB()
	tlb.Enter(s)
	defer tlb.Close()
	a, b := f.base, f.base+mem.TLBSize*mem.PageSize
	f.buf[0], f.buf[mem.TLBSize*mem.PageSize] = 1, 2
	for range 2 {
		pa, _, _ := tlb.Lookup(a, mem.Read)
		pb, _, _ := tlb.Lookup(b, mem.Read)
		if *(*byte)(pa) != 1 || *(*byte)(pb) != 2 {
			t.Fatal("two pages of one TLB set gave each other's bytes")
		}
	}
}

func TestFlushForgets(t *testing.T) {
	s, f := newSpace(1)
	tlb := mem.NewTLB()
	tlb.Enter(s)
	defer tlb.Close()
	tlb.Lookup(f.base, mem.Read)
	tlb.Leave()
	f.off.Store(true)
	s.Flush()
	tlb.Enter(s)
	if _, _, fault := tlb.Lookup(f.base, mem.Read); fault == nil {
		t.Error("a translation survived a flush")
	}
}

// Flush must not return while a worker can still use an old translation.
func TestFlushWaitsForSafePoint(t *testing.T) {
	s, f := newSpace(1)
	stop := make(chan struct{})
	var unmapped atomic.Bool
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		tlb := mem.NewTLB()
		tlb.Enter(s)
		defer tlb.Close()
		for {
			select {
			case <-stop:
				return
			default:
			}
			// Between two safe points: a translation got before the unmap may be used only while Flush has not returned.
			if _, _, fault := tlb.Lookup(f.base, mem.Read); fault == nil && unmapped.Load() {
				t.Error("translation used after Flush returned")
				return
			}
			if tlb.Stale() {
				tlb.Sync()
			}
		}
	}()
	for range 200 {
		f.off.Store(true)
		s.Flush()
		unmapped.Store(true)
		time.Sleep(10 * time.Microsecond)
		unmapped.Store(false)
		f.off.Store(false)
	}
	close(stop)
	wg.Wait()
}
