// Package mem is how running code reaches memory: address spaces, software TLBs and faults.
//
// On the chip every compute unit has a translation cache (UTCL1) in front of the page-table walker; the driver changes
// page tables in memory and then asks for a TLB flush, which is over only when no wave can still use an old entry.
// Here a Space is one GPU virtual address space (one VMID); silicon implements its Translator by walking the page
// tables. A TLB belongs to one worker thread and caches host addresses; Space.Flush bumps a generation and waits until
// every TLB that is in use has passed a safe point (TLB.Sync) or is idle.
//
// Lock order: Space.mu is a leaf. Flush must not be called by a thread whose own TLB is active.
package mem

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Access is what an access does to memory.
type Access uint8

const (
	Read  Access = 1 << iota
	Write        //
	Exec         // instruction fetch
)

func (a Access) String() string {
	switch {
	case a&Exec != 0:
		return "fetch"
	case a&Write != 0:
		return "write"
	}
	return "read"
}

// PageShift is the log2 of the GPU page size in bytes.
const PageShift = 12

// PageSize is the GPU page size in bytes.
const PageSize = 1 << PageShift

// FaultKind says what was wrong with an access.
type FaultKind uint8

const (
	FaultNone       FaultKind = iota
	FaultNotPresent           // no valid PTE
	FaultReadOnly             // write without WRITEABLE
	FaultNoExec               // fetch without EXECUTABLE
	FaultAperture             // outside LDS, scratch or the canonical range
	FaultUnaligned            // atomic not naturally aligned
	FaultRetry                // no valid PTE and the space is in XNACK retry mode: the wave may run the access again
)

var faultText = [...]string{"no fault", "page not present", "read-only page", "page not executable", "address outside every aperture",
	"unaligned atomic", "page not present (retry)"}

func (k FaultKind) String() string { return faultText[k] }

// Fault is one failed access. Its zero value is no fault.
type Fault struct {
	VA     uint64
	Access Access
	Kind   FaultKind
	Lane   int // first faulting lane, -1 for scalar accesses
}

func (f *Fault) Error() string {
	return fmt.Sprintf("%s at %#x: %s", f.Access, f.VA, f.Kind)
}

// Translator maps GPU virtual addresses to host memory. Implementations are safe for concurrent use.
type Translator interface {
	// Translate returns the host address of va, and how many bytes from va on (at least to the end of its 4 KiB page)
	// are host-contiguous with the same rights. Access rights a must all be there. rights says all that the page allows.
	Translate(va uint64, a Access) (host unsafe.Pointer, n uint64, rights Access, f *Fault)
}

// Space is one GPU virtual address space.
type Space struct {
	Translator
	ID uint32 // VMID

	// Aperture bases, the high 32 bits of flat addresses that reach LDS and scratch (SH_MEM_BASES). Immutable after set-up.
	SharedBase  uint64
	PrivateBase uint64

	// GDS is what the address space may use of the chip's global data share (GDS_VMIDn_BASE and _SIZE): nothing in a process of KFD.
	// It is not in the Go heap. Immutable after set-up.
	GDS []byte

	gen atomic.Uint64

	mu   sync.Mutex
	tlbs []*TLB // guarded by mu
}

// Flush makes every translation cached before the call unusable, and returns when no active TLB can still use one.
func (s *Space) Flush() {
	g := s.gen.Add(1)
	s.mu.Lock()
	tlbs := append([]*TLB(nil), s.tlbs...)
	s.mu.Unlock()
	for _, t := range tlbs {
		for i := 0; ; i++ {
			seen := t.seen.Load()
			if seen == idle || seen >= g {
				break
			}
			if i > 64 {
				runtime.Gosched()
			}
		}
	}
}

const idle = ^uint64(0)

// tlbBits is the log2 of the number of TLB entries.
const tlbBits = 12

// TLBSize is the number of entries; see Index.
const TLBSize = 1 << tlbBits

// Index is the entry of a page. Folding the next bits in keeps arrays that lie a power of two apart from evicting each
// other.
func Index(page uint64) uint64 { return (page ^ page>>tlbBits) & (TLBSize - 1) }

// Entry is one cached translation. Compiled code reads it, so its layout is fixed: R and W hold the page number plus
// one when the page may be read or written, Delta is host address minus virtual address.
type Entry struct {
	R, W  uint64
	Delta uint64
	_     uint64
}

// Range is a piece of address space that is contiguous in host memory too, with the same rights everywhere: R and W bytes from Base
// may be read and written. Compiled code reads it; a streaming access has one of its own.
type Range struct {
	Base, R, W uint64
	Delta      uint64 // host address minus virtual address
}

// NumRanges is the number of a TLB's Ranges.
const NumRanges = 64

// Layout of TLB.Ranges for compiled code.
const (
	RangesOffset = int(unsafe.Offsetof(TLB{}.Ranges))
	RangeSize    = int(unsafe.Sizeof(Range{}))
	RangeBase    = int32(unsafe.Offsetof(Range{}.Base))
	RangeR       = int32(unsafe.Offsetof(Range{}.R))
	RangeW       = int32(unsafe.Offsetof(Range{}.W))
	RangeDelta   = int32(unsafe.Offsetof(Range{}.Delta))
)

// TLB is one worker's translation cache for one Space at a time.
type TLB struct {
	Entries [TLBSize]Entry
	Ranges  [NumRanges]Range // filled by Span
	space   *Space
	gen     uint64        // generation the entries belong to
	seen    atomic.Uint64 // generation in use, or idle; read by Flush
	Windows [NumWindows]Window
}

// NewTLB returns an idle TLB.
func NewTLB() *TLB {
	t := &TLB{}
	t.seen.Store(idle)
	return t
}

// Enter makes t active for s: from now on Flush of s waits for t's safe points.
func (t *TLB) Enter(s *Space) {
	if t.space != s {
		if t.space != nil {
			t.space.remove(t)
		}
		t.space = s
		t.clear()
		t.gen = s.gen.Load()
		s.mu.Lock()
		s.tlbs = append(s.tlbs, t)
		s.mu.Unlock()
	}
	// seen must be published before the generation is read again, or a Flush between the two would not wait.
	t.seen.Store(0)
	t.Sync()
}

// Leave makes t idle: it holds no Flush up.
func (t *TLB) Leave() { t.seen.Store(idle) }

// Close detaches t from its space.
func (t *TLB) Close() {
	t.Leave()
	if t.space != nil {
		t.space.remove(t)
		t.space = nil
	}
}

func (s *Space) remove(t *TLB) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, x := range s.tlbs {
		if x == t {
			s.tlbs = append(s.tlbs[:i], s.tlbs[i+1:]...)
			return
		}
	}
}

// Stale reports whether a flush waits for t; engines ask on back-edges and call Sync.
func (t *TLB) Stale() bool { return t.space.gen.Load() != t.gen }

// Sync is a safe point: no host address obtained from t before it may be used after it.
func (t *TLB) Sync() {
	g := t.space.gen.Load()
	if g != t.gen {
		t.clear()
		t.gen = g
	}
	t.seen.Store(g)
}

func (t *TLB) clear() {
	clear(t.Entries[:])
	clear(t.Ranges[:])
	clear(t.Windows[:])
}

// Span makes range i hold the n bytes from va on for access a, and as much as it holds already when that goes on with it. It
// reports false when they are not contiguous, or may not be accessed.
func (t *TLB) Span(i int, va, n uint64, a Access) bool {
	host, m, rights, f := t.space.Translate(va, a)
	if f != nil {
		return false
	}
	r := &t.Ranges[i]
	in := va & (PageSize - 1)
	x := Range{Base: va - in, Delta: uint64(uintptr(host)) - va}
	size := in + m
	ahead := 0
	if old := max(r.R, r.W); old > 0 && r.Delta == x.Delta && (r.R > 0) == (rights&Read != 0) && (r.W > 0) == (rights&Write != 0) {
		switch {
		case va >= r.Base && va <= r.Base+old:
			x.Base, size = r.Base, max(old, va+m-r.Base)
			ahead = spanAhead
		case x.Base < r.Base && va+m >= r.Base:
			size = max(size, r.Base+old-x.Base)
		case t.bridged(r.Base+old, x.Base, x.Delta, rights, a): // rows that lie apart
			x.Base, size = r.Base, va+m-r.Base
			ahead = spanAhead
		case t.bridged(va+m, r.Base, x.Delta, rights, a):
			size = r.Base + old - x.Base
		}
	}
	for k := 0; x.Base+size < va+n || k < ahead; k++ {
		host, m, more, f := t.space.Translate(x.Base+size, a)
		if f != nil || more != rights || uint64(uintptr(host))-(x.Base+size) != x.Delta {
			break
		}
		size += m
	}
	if x.Base+size < va+n {
		return false
	}
	if rights&Read != 0 {
		x.R = size
	}
	if rights&Write != 0 {
		x.W = size
	}
	*r = x
	return true
}

// bridged tells whether what lies between from and to, a gap that is not large, is of the same kind.
func (t *TLB) bridged(from, to, delta uint64, rights, a Access) bool {
	if from >= to || to-from > spanGap {
		return false
	}
	for from < to {
		host, m, more, f := t.space.Translate(from, a)
		if f != nil || more != rights || uint64(uintptr(host))-from != delta {
			return false
		}
		from += m
	}
	return true
}

// spanGap is the largest gap, in bytes, that a range is extended over.
const spanGap = 64 * PageSize

// spanAhead is how many pieces further Span looks when a range has grown.
const spanAhead = 8

// Lookup returns the host address of va for access a (Read, Write, or both) and how many bytes of its page remain.
func (t *TLB) Lookup(va uint64, a Access) (unsafe.Pointer, int, *Fault) {
	page := va >> PageShift
	e := &t.Entries[Index(page)]
	if (a&Read == 0 || e.R == page+1) && (a&Write == 0 || e.W == page+1) {
		return hostPointer(va + e.Delta), PageSize - int(va&(PageSize-1)), nil
	}
	return t.fill(va, a)
}

// ahead is how many pages one miss fills when they follow in host memory too: most accesses go on upward.
const ahead = 16

func (t *TLB) fill(va uint64, a Access) (unsafe.Pointer, int, *Fault) {
	host, n, rights, f := t.space.Translate(va, a)
	if f != nil {
		return nil, 0, f
	}
	in := va & (PageSize - 1)
	page, delta := va>>PageShift, uint64(uintptr(host))-va
	for i := range min((in+n)>>PageShift, ahead) {
		e := &t.Entries[Index(page+i)]
		*e = Entry{Delta: delta}
		if rights&Read != 0 {
			e.R = page + i + 1
		}
		if rights&Write != 0 {
			e.W = page + i + 1
		}
	}
	return host, PageSize - int(in), nil
}

// hostPointer turns an address outside the Go heap into a pointer.
func hostPointer(a uint64) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&a))
}
