package gpusvm

import (
	"fmt"
	"sort"
	"sync/atomic"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/segment"
)

// NotifierLockClass is the class of SVM.NotifierLock: it is taken in the reclaim path, below folio locks.
var NotifierLockClass = &sched.Class{Name: "gpusvm notifier_lock", Rank: 600}

// Ops are the driver's callbacks.
type Ops struct {
	// Invalidate is called before inv happens, with NotifierLock held for writing. w is the window it concerns.
	Invalidate func(w *Window, inv *mm.Invalidation)
	// RangeInit gives a new range its Driver part and Pages, before anybody can find it. May be nil.
	RangeInit func(r *Range)
	// RangeFree is called when the last reference of a range is dropped; its Pages must be unmapped by then, or be
	// freed here. May be nil.
	RangeFree func(r *Range)
}

// Config describes an SVM.
type Config struct {
	Name         string
	Space        mm.Space
	Start, Size  uint64      // the part of the address space it manages, bytes
	NotifierSize uint64      // window size: a power of two
	Chunks       []uint64    // range sizes, strictly descending powers of two, the last one PageSize
	DriverLock   sched.RWSem // held for writing by the driver around all calls but Invalidate
	Ops          Ops
	Mistakes     Mistakes
}

// Mistakes turns known bugs back on, for tests that must find them (kernel-svm §17); all false is right.
type Mistakes struct {
	EvictLeaksSpace bool // Evict keeps its user of the process when a page cannot come home (#11)
	MapErrorLeaks   bool // Get keeps what it had mapped when a later page fails (#6)
	NoMMUser        bool // FindOrInsert registers notifiers without a user of the process (#3)
	KeepsAddresses  bool // Abandon forgets addresses without giving them up (#26)
}

// SVM is one process's ranges for one driver instance.
type SVM struct {
	cfg          Config
	world        sched.World
	NotifierLock sched.RWSem

	windows []*Window // by start; guarded by DriverLock
}

// Window is a notifier and the ranges inside its aligned stretch of addresses.
type Window struct {
	svm        *SVM
	Start, End uint64
	notifier   mm.Notifier

	// Guarded by DriverLock for changes and by NotifierLock for readers in callbacks (changes hold both).
	ranges segment.Set[*Range]
}

// Range flags are one word, published in one store under NotifierLock, readable without it.
const (
	FlagMigrateDevmem uint32 = 1 << iota // its pages may move to device memory
	FlagUnmapped                         // some or all of the CPU mapping is gone: to be removed
	FlagPartialUnmap                     // only some of it is
)

// Range is a naturally aligned piece of address space that a GPU has used.
type Range struct {
	svm        *SVM
	window     *Window
	Start, End uint64
	Driver     any      // the driver's own part
	Pages      []*Pages // one for each device
	flags      atomic.Uint32
	refs       atomic.Int32
	removed    bool // guarded by DriverLock
}

// New makes an SVM. EINVAL when the configuration is not usable.
func New(cfg Config) (*SVM, error) {
	if cfg.Space == nil || cfg.Ops.Invalidate == nil || len(cfg.Chunks) == 0 || cfg.Chunks[len(cfg.Chunks)-1] != mm.PageSize ||
		!pow2(cfg.NotifierSize) || cfg.NotifierSize < cfg.Chunks[0] {
		return nil, mm.EINVAL
	}
	for i, c := range cfg.Chunks {
		if !pow2(c) || i > 0 && c >= cfg.Chunks[i-1] {
			return nil, mm.EINVAL
		}
	}
	w := cfg.Space.World()
	return &SVM{cfg: cfg, world: w, NotifierLock: w.NewRWSem(NotifierLockClass)}, nil
}

func pow2(x uint64) bool { return x != 0 && x&(x-1) == 0 }

// Fini removes every range and notifier. The driver has unmapped all Pages.
func (g *SVM) Fini() {
	g.cfg.DriverLock.AssertHeld()
	for len(g.windows) > 0 {
		w := g.windows[0]
		for r, ok := w.ranges.Next(0); ok; r, ok = w.ranges.Next(0) {
			g.Remove(r.Value)
		}
	}
}

// Windows calls fn for each window that overlaps [start, end), in order.
func (g *SVM) Windows(start, end uint64, fn func(*Window)) {
	i := sort.Search(len(g.windows), func(i int) bool { return g.windows[i].End > start })
	j := i + sort.Search(len(g.windows)-i, func(j int) bool { return g.windows[i+j].Start >= end })
	for _, w := range append([]*Window(nil), g.windows[i:j]...) {
		fn(w)
	}
}

// Ranges returns the ranges of the window that overlap [start, end), in order. The caller holds DriverLock, or
// NotifierLock in a callback.
func (w *Window) Ranges(start, end uint64) []*Range {
	var out []*Range
	for x := range w.ranges.All(start, end) {
		out = append(out, x.Value)
	}
	return out
}

// Ranges returns all ranges that overlap [start, end), in order; DriverLock is held.
func (g *SVM) Ranges(start, end uint64) []*Range {
	var out []*Range
	g.Windows(start, end, func(w *Window) { out = append(out, w.Ranges(start, end)...) })
	return out
}

// Find returns the range that contains addr, or nil; DriverLock is held.
func (g *SVM) Find(addr uint64) *Range {
	if rs := g.Ranges(addr, addr+1); rs != nil {
		return rs[0]
	}
	return nil
}

// window returns the window of addr, or nil.
func (g *SVM) window(addr uint64) *Window {
	i := sort.Search(len(g.windows), func(i int) bool { return g.windows[i].End > addr })
	if i < len(g.windows) && g.windows[i].Start <= addr {
		return g.windows[i]
	}
	return nil
}

func (g *SVM) newWindow(addr uint64) (*Window, error) {
	w := &Window{svm: g, Start: addr &^ (g.cfg.NotifierSize - 1)}
	w.End = w.Start + g.cfg.NotifierSize
	n, err := g.cfg.Space.NewNotifier(w.Start, w.End, w.invalidate)
	if err != nil {
		return nil, err
	}
	w.notifier = n
	i := sort.Search(len(g.windows), func(i int) bool { return g.windows[i].Start > w.Start })
	g.windows = append(g.windows, nil)
	copy(g.windows[i+1:], g.windows[i:])
	g.windows[i] = w
	return w, nil
}

// dropIfEmpty unregisters a window without ranges.
func (g *SVM) dropIfEmpty(w *Window) {
	if w.ranges.Len() > 0 {
		return
	}
	for i, x := range g.windows {
		if x == w {
			g.windows = append(g.windows[:i], g.windows[i+1:]...)
			w.notifier.Remove()
			return
		}
	}
}

// invalidate is the notifier's callback.
func (w *Window) invalidate(inv *mm.Invalidation, setSeq func()) bool {
	if !inv.Blockable {
		return false
	}
	l := w.svm.NotifierLock
	l.Lock()
	defer l.Unlock()
	setSeq()
	w.svm.cfg.Ops.Invalidate(w, inv)
	return true
}

// InsertOptions say what FindOrInsert may make.
type InsertOptions struct {
	// Start and End bound the new range, for example to an attribute range or a reserved part of the GPU's addresses.
	Start, End     uint64
	ReadOnly       bool   // a VMA without write permission is enough
	DevmemPossible bool   // the driver can migrate
	CheckPages     uint64 // chunks up to this size are used only where all CPU pages are present
}

// FindOrInsert returns the range that contains addr, or makes the largest that fits into the VMA, the bounds, the window
// and between its neighbours. DriverLock is held.
//
// Errors: EINVAL addr outside of the SVM or nothing fits; EFAULT the process is gone; ENOENT no VMA; EPERM the VMA is not
// writable and ReadOnly was not set; ENOMEM.
func (g *SVM) FindOrInsert(addr uint64, o InsertOptions) (*Range, error) {
	g.cfg.DriverLock.AssertHeld()
	if addr < g.cfg.Start || addr-g.cfg.Start >= g.cfg.Size {
		return nil, mm.EINVAL
	}
	s := g.cfg.Space
	if !g.cfg.Mistakes.NoMMUser {
		if !s.Get() {
			return nil, mm.EFAULT
		}
		defer s.Put()
	}
	w := g.window(addr)
	if w == nil {
		var err error
		if w, err = g.newWindow(addr); err != nil {
			return nil, err
		}
	}
	r, err := g.insert(w, addr, o)
	if err != nil {
		g.dropIfEmpty(w)
	}
	return r, err
}

func (g *SVM) insert(w *Window, addr uint64, o InsertOptions) (*Range, error) {
	s := g.cfg.Space
	s.MmapLock().RLock()
	defer s.MmapLock().RUnlock()
	from, to := g.Around(addr)
	from, to = max(from, w.Start, o.Start), min(to, w.End, o.End)
	v, ok := s.FindVMAIn(addr, from, to)
	switch {
	case !ok || v.Start > addr:
		return nil, mm.ENOENT
	case v.Prot&mm.ProtWrite == 0 && !o.ReadOnly, v.Prot == 0:
		return nil, mm.EPERM
	}
	if rs := w.Ranges(addr, addr+1); rs != nil {
		return rs[0], nil
	}
	lo, hi := max(v.Start, from), min(v.End, to)
	for _, size := range g.cfg.Chunks {
		start := addr &^ (size - 1)
		end := start + size
		if start < lo || end > hi || size > mm.PageSize && len(w.Ranges(start, end)) > 0 {
			continue
		}
		if size > mm.PageSize && size <= o.CheckPages && !g.populated(start, size) {
			continue
		}
		r := &Range{svm: g, window: w, Start: start, End: end}
		r.refs.Store(1)
		if o.DevmemPossible && v.Anonymous() {
			r.flags.Store(FlagMigrateDevmem)
		}
		if g.cfg.Ops.RangeInit != nil {
			g.cfg.Ops.RangeInit(r)
		}
		g.NotifierLock.Lock()
		w.ranges.Insert(start, end, r)
		g.NotifierLock.Unlock()
		return r, nil
	}
	return nil, mm.EINVAL
}

// Around is where a range that contains addr can be: within the largest chunk.
func (g *SVM) Around(addr uint64) (lo, hi uint64) {
	size := g.cfg.Chunks[0]
	return addr &^ (size - 1), addr&^(size-1) + size
}

// populated reports whether every page of the chunk has a CPU page.
func (g *SVM) populated(start, size uint64) bool {
	pfns, err := g.cfg.Space.Fault(&mm.FaultRequest{Start: start, Pages: int(size >> mm.PageShift)})
	if err != nil {
		return false
	}
	for _, p := range pfns {
		if p.Folio == nil {
			return false
		}
	}
	return true
}

// Remove takes r out and drops the tree's reference. The driver has unmapped its Pages; that is checked, because a DMA
// mapping that lives on after its range is gone is never invalidated again.
func (g *SVM) Remove(r *Range) {
	g.cfg.DriverLock.AssertHeld()
	if r.removed {
		g.world.Fail(fmt.Errorf("gpusvm: %v removed twice", r))
	}
	g.NotifierLock.Lock()
	for _, p := range r.Pages {
		if p.Mapped() {
			g.NotifierLock.Unlock()
			g.world.Fail(fmt.Errorf("gpusvm: %v removed while its pages are mapped", r))
		}
	}
	r.removed = true
	w := r.window
	w.ranges.Remove(r.Start)
	g.NotifierLock.Unlock()
	r.Put()
	g.dropIfEmpty(w)
}

// Get takes a reference.
func (r *Range) Get() *Range {
	r.refs.Add(1)
	return r
}

// Put drops one.
func (r *Range) Put() {
	switch n := r.refs.Add(-1); {
	case n < 0:
		r.svm.world.Fail(fmt.Errorf("gpusvm: reference count of %v below zero", r))
	case n == 0 && r.svm.cfg.Ops.RangeFree != nil:
		r.svm.cfg.Ops.RangeFree(r)
	}
}

func (r *Range) String() string { return fmt.Sprintf("range [%#x, %#x)", r.Start, r.End) }

// NumPages is the range's length in pages.
func (r *Range) NumPages() int { return int((r.End - r.Start) >> mm.PageShift) }

// Flags returns the current flags.
func (r *Range) Flags() uint32 { return r.flags.Load() }

// Removed reports whether the range has left the tree; DriverLock is held.
func (r *Range) Removed() bool { return r.removed }

// SetUnmapped records that inv has taken away some or all of the range's CPU mapping; NotifierLock is held for writing.
func (r *Range) SetUnmapped(inv *mm.Invalidation) {
	r.svm.NotifierLock.AssertHeld()
	f := r.flags.Load() | FlagUnmapped
	if inv.Start > r.Start || inv.End < r.End {
		f |= FlagPartialUnmap
	}
	r.flags.Store(f)
	for _, p := range r.Pages {
		p.flags.Store(p.flags.Load() | pagesUnmapped)
	}
}
