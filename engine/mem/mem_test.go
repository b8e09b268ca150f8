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

// pieces is a space of pages with rights and places in host memory of their own.
type pieces struct {
	host   []byte
	place  []int // page in host memory
	rights []mem.Access
}

func (p *pieces) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	n := va >> mem.PageShift
	if n >= uint64(len(p.place)) || a&^p.rights[n] != 0 {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent}
	}
	in := va & (mem.PageSize - 1)
	return unsafe.Pointer(&p.host[uint64(p.place[n])<<mem.PageShift+in]), mem.PageSize - in, p.rights[n], nil
}

func TestSpan(t *testing.T) {
	const rw = mem.Read | mem.Write
	p := &pieces{host: make([]byte, 8*mem.PageSize), place: []int{0, 1, 2, 5, 6, 7}, rights: []mem.Access{rw, rw, mem.Read, rw, rw, 0}}
	s := &mem.Space{Translator: p}
	k := mem.NewTLB()
	k.Enter(s)
	defer k.Close()
	for _, c := range []struct {
		va, n   uint64
		a       mem.Access
		ok      bool
		base, r uint64
		w       uint64
	}{
		{100, 50, mem.Read, true, 0, mem.PageSize, mem.PageSize},
		{mem.PageSize - 8, 16, mem.Write, true, 0, 2 * mem.PageSize, 2 * mem.PageSize},
		{2*mem.PageSize - 8, 16, mem.Read, false, 0, 2 * mem.PageSize, 2 * mem.PageSize},             // other rights
		{2 * mem.PageSize, 16, mem.Write, false, 0, 2 * mem.PageSize, 2 * mem.PageSize},              // none to write
		{2 * mem.PageSize, 16, mem.Read, true, 2 * mem.PageSize, mem.PageSize, 0},                    //
		{3*mem.PageSize - 8, 16, mem.Read, false, 2 * mem.PageSize, mem.PageSize, 0},                 // elsewhere in host memory
		{4 * mem.PageSize, 16, mem.Read, true, 4 * mem.PageSize, mem.PageSize, mem.PageSize},         //
		{3 * mem.PageSize, 16, mem.Read, true, 3 * mem.PageSize, 2 * mem.PageSize, 2 * mem.PageSize}, // goes on with the last
		{5*mem.PageSize - 8, 16, mem.Read, false, 3 * mem.PageSize, 2 * mem.PageSize, 2 * mem.PageSize},
	} {
		if ok := k.Span(7, c.va, c.n, c.a); ok != c.ok {
			t.Errorf("%#x+%d %v: %v", c.va, c.n, c.a, ok)
		}
		x := k.Ranges[7]
		if x.Base != c.base || x.R != c.r || x.W != c.w {
			t.Errorf("after %#x+%d %v: %+v", c.va, c.n, c.a, x)
		}
		if place := uint64(uintptr(unsafe.Pointer(&p.host[p.place[c.base>>mem.PageShift]<<mem.PageShift]))); x.Base+x.Delta != place {
			t.Errorf("after %#x+%d %v: host address %#x, want %#x", c.va, c.n, c.a, x.Base+x.Delta, place)
		}
	}
	k.Leave()
	s.Flush()
	k.Enter(s)
	if k.Ranges[7] != (mem.Range{}) {
		t.Error("a range outlived a flush")
	}
}
