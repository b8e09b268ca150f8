// Package pagemap moves pages between system memory and a device's own memory, the part that Linux calls drm_pagemap.
//
// A device page is a page of the machine that only the device can reach; while it holds the content of a process's page,
// the process's page-table entry is a device-private one. A device allocation (Devmem, a buffer object in VRAM) provides
// the pages. Each page in use refers to the allocation by a zone-device-data record (ZDD); when the last page is free the
// record goes, the allocation is told (Detached, Ops.Release), and only then may its memory be used for something else.
//
// Pages move by three ways: MigrateToDevmem (by the driver, on a range of a process), migrateToRAM (a CPU fault on one of
// the pages), EvictToRAM (the memory manager wants the VRAM back). The first two go by virtual address under mmap_lock;
// the third goes by page, with folio locks and reverse mapping only, so that it may run under a buffer's reservation lock.
//
// Locks: none of its own. MigrateToDevmem is called with mmap_lock held for reading; EvictToRAM without it.
// Behaviour: kernel-svm §7 (drm_pagemap.c).
package pagemap

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
)

// Proto says what a DMA address means to the device that maps it.
type Proto uint8

const (
	System Proto = iota // bus address of system memory
	VRAM                // the device's own memory
	Peer                // another device's memory over the fabric
)

// Addr is one page's address as a device sees it.
type Addr struct {
	Addr  uint64
	Proto Proto
}

// Device is who maps pages: system pages through its IOMMU, device pages through their Pagemap.
type Device interface {
	// MapPage makes a system page reachable (dma_map_page).
	MapPage(f mm.Folio, write bool) (Addr, error)
	UnmapPage(a Addr)
}

// Ops are what a driver with device memory provides for its Pagemap.
type Ops interface {
	// DeviceMap returns how dev reaches a page of this pagemap; an error when it cannot.
	DeviceMap(dev Device, index uint64) (Addr, error)
	DeviceUnmap(dev Device, a Addr)
}

// Pagemap is one device's memory as pages (drm_pagemap).
type Pagemap struct {
	Pages mm.Pagemap
	Ops   Ops
	// Copier, if not nil, is the device whose engine copies: system pages are mapped for it while it does. Nil is an engine that needs no
	// bus addresses.
	Copier   Device
	Mistakes Mistakes
	world    sched.World
	mem      mm.Memory
}

// Mistakes turns known bugs back on, for tests that must find them (kernel-svm §17); all false is right.
type Mistakes struct {
	PutsUnset          bool // after a failed allocation on the way home, pages that were never allocated are put too (#29)
	ReusesBusy         bool // EvictToRAM does not wait until the pages are free (#1)
	UseAfterPut        bool // after a failed allocation the pages that were had are put, and used all the same (#14)
	UnmapAfterCleanup  bool // after a failed copy the pages are forgotten first, so that none is unmapped (#15)
	FaultBringsOnePage bool // a CPU fault brings its page only, and each page its own fault (#23)
}

// New makes a Pagemap of pages device pages. owner identifies the driver instances that may use each other's pages.
func New(w sched.World, m mm.Memory, owner any, pages uint64, ops Ops) *Pagemap {
	p := &Pagemap{Ops: ops, world: w, mem: m}
	p.Pages = m.NewPagemap(owner, pages, mm.PagemapOps{
		MigrateToRAM: p.migrateToRAM,
		Free:         func(_ uint64, data any) { data.(*ZDD).put() },
	})
	return p
}

// Of returns the Pagemap that f's page belongs to, nil for system pages.
func Of(f mm.Folio) *Pagemap {
	if z, ok := f.ZoneDeviceData().(*ZDD); ok {
		return z.pagemap
	}
	return nil
}

// DevmemOps are what a driver does for one allocation.
type DevmemOps interface {
	// PopulatePFN returns the device page index of each page of the allocation, Devmem.Pages of them.
	PopulatePFN(d *Devmem) ([]uint64, error)
	// CopyToDevmem fills device pages from system pages; a nil source is a hole and means zeroes.
	CopyToDevmem(d *Devmem, src []mm.Folio, dst []uint64) error
	// CopyToRAM fills system pages from device pages; entries with a nil destination are skipped.
	CopyToRAM(d *Devmem, src []uint64, dst []mm.Folio) error
	// Release gives the allocation's memory back: no page of it is in use. It must not block.
	Release(d *Devmem)
}

// Observer is a DevmemOps that wants to know when pages go home on somebody's request: those between start and end, and why (mm.CPUFault,
// or the Cause of a FaultRequest). Called with mmap_lock held for reading,
// before threads that wait for the pages go on.
type Observer interface {
	WentHome(d *Devmem, start, end uint64, cause string, err error)
}

// Devmem is one allocation of device memory that backs pages of a process (drm_pagemap_devmem).
type Devmem struct {
	Ops   DevmemOps
	Pages int
	Space mm.Space // whose pages it holds (forked children may share them)
	Data  any      // the driver's

	pagemap    *Pagemap
	timeslice  atomic.Int64 // World time in ns before which CPU faults do not take pages away
	isDetached atomic.Bool
	detached   sched.WaitQueue
}

// NewDevmem makes the record of an allocation of p's memory.
func (p *Pagemap) NewDevmem(s mm.Space, pages int, ops DevmemOps) *Devmem {
	return &Devmem{Ops: ops, Pages: pages, Space: s, pagemap: p, detached: p.world.NewWaitQueue("devmem detached")}
}

// Detached reports whether no page of d is in use any more (or ever was, after a failed migration).
func (d *Devmem) Detached() bool { return d.isDetached.Load() }

// ZDD is the zone-device-data of device pages: one reference for each page in use, one for a migration under way.
type ZDD struct {
	refs    atomic.Int32
	devmem  *Devmem
	pagemap *Pagemap
}

func (z *ZDD) get() *ZDD {
	z.refs.Add(1)
	return z
}

func (z *ZDD) put() {
	switch n := z.refs.Add(-1); {
	case n < 0:
		z.pagemap.world.Fail(errors.New("pagemap: zone-device-data reference count below zero"))
	case n == 0:
		z.devmem.isDetached.Store(true)
		z.devmem.detached.Wake()
		z.devmem.Ops.Release(z.devmem)
	}
}

// Options of a migration to device memory.
type Options struct {
	Timeslice time.Duration // for how long CPU faults leave the pages where they are
	// AllowOwn: pages that already are in this pagemap are no error; when all are, there is nothing to do.
	AllowOwn bool
}

// MigrateToDevmem moves the pages of [start, end) of s into d. All move or none does: EBUSY says that some page could not
// be had (pages that moved in a race stay moved; the driver maps what it finds). It takes over the caller's reference of
// d: d is released when the last of its pages is free, at once when none moved.
//
// Errors: ENOENT no VMA, EINVAL the range leaves the VMA, EBUSY not anonymous or pages not available, ENOMEM.
func (p *Pagemap) MigrateToDevmem(d *Devmem, s mm.Space, start, end uint64, o Options) error {
	z := &ZDD{devmem: d, pagemap: p}
	defer z.get().put()
	v, ok := s.FindVMAIn(start, start, end)
	switch {
	case !ok || v.Start > start:
		return mm.ENOENT
	case end > v.End || start >= end || int((end-start)>>mm.PageShift) > d.Pages:
		return mm.EINVAL
	case !v.Anonymous():
		return mm.EBUSY
	}
	g, err := s.MigrateSetup(&mm.MigrateRequest{Start: start, End: end, Select: mm.SelectSystem, Owner: p.Pages.Owner()})
	if err != nil {
		return err
	}
	defer g.Finalize()
	src := g.Src()
	n, can := len(src), 0
	for i := range src {
		if src[i].Migrate {
			can++
		}
	}
	if can < n {
		own := 0
		if o.AllowOwn && can == 0 {
			own = p.countOwn(s, start, n)
		}
		cancel(src)
		if own == n {
			return nil
		}
		return mm.EBUSY
	}
	idx, err := d.Ops.PopulatePFN(d)
	if err != nil {
		cancel(src)
		return err
	}
	from := make([]mm.Folio, n)
	for i := range src {
		from[i] = src[i].Folio
		g.SetDst(i, p.Pages.Init(idx[i], z.get()))
	}
	p.world.Yield("copy to device memory")
	if err := p.copying(from, func() error { return d.Ops.CopyToDevmem(d, from, idx[:n]) }); err != nil {
		cancel(src)
		return err
	}
	d.timeslice.Store(int64(p.world.Now() + o.Timeslice))
	g.Pages()
	for i := range src {
		if !src[i].Migrate {
			return mm.EBUSY // somebody took a page meanwhile
		}
	}
	return nil
}

// copying maps system pages for the copy engine, if it needs that, while copy runs. Nil pages are holes.
func (p *Pagemap) copying(pages []mm.Folio, copy func() error) (err error) {
	if p.Copier == nil {
		return copy()
	}
	var mapped []Addr
	defer func() {
		if err != nil && p.Mistakes.UnmapAfterCleanup {
			mapped = nil
		}
		for _, a := range mapped {
			p.Copier.UnmapPage(a)
		}
	}()
	for _, f := range pages {
		if f == nil || Of(f) != nil {
			continue
		}
		a, err := p.Copier.MapPage(f, true)
		if err != nil {
			return mm.EFAULT
		}
		mapped = append(mapped, a)
	}
	return copy()
}

// countOwn counts the pages of the range that are in this pagemap already.
func (p *Pagemap) countOwn(s mm.Space, start uint64, n int) int {
	pfns, err := s.Fault(&mm.FaultRequest{Start: start, Pages: n, Owner: p.Pages.Owner()})
	if err != nil {
		return 0
	}
	own := 0
	for _, x := range pfns {
		if x.Folio != nil && Of(x.Folio) == p {
			own++
		}
	}
	return own
}

// cancel makes every page stay where it is.
func cancel(src []mm.PFN) {
	for i := range src {
		src[i].Migrate = false
	}
}

// migrateToRAM serves a CPU fault at addr: all pages of the same allocation in the allocation-sized window around it
// come home. Nil without a change makes the CPU run the instruction again.
func (p *Pagemap) migrateToRAM(s mm.Space, addr uint64, page mm.Folio, cause string) error {
	z := page.ZoneDeviceData().(*ZDD)
	d := z.devmem
	if int64(p.world.Now()) < d.timeslice.Load() {
		return nil
	}
	v, ok := s.FindVMA(addr)
	if !ok || v.Start > addr {
		return mm.EFAULT
	}
	size := uint64(d.Pages) << mm.PageShift
	if p.Mistakes.FaultBringsOnePage {
		size = mm.PageSize
	}
	start := addr / size * size
	end := min(start+size, v.End)
	start = max(start, v.Start)
	g, err := s.MigrateSetup(&mm.MigrateRequest{Start: start, End: end, Select: mm.SelectDevicePrivate, Owner: p.Pages.Owner(), FaultPage: page})
	if err != nil {
		return err
	}
	for i, src := range g.Src() {
		if src.Folio != nil && src.Folio.ZoneDeviceData() != any(z) {
			g.Src()[i].Migrate = false
		}
	}
	return p.home(d, g, func(err error) {
		if o, ok := d.Ops.(Observer); ok {
			if lo, hi := extent(g.Src()); lo < hi || err != nil {
				o.WentHome(d, start+uint64(lo)<<mm.PageShift, start+uint64(hi)<<mm.PageShift, cause, err)
			}
		}
	})
}

// extent is from the first to after the last page that moved.
func extent(src []mm.PFN) (lo, hi int) {
	lo = len(src)
	for i := range src {
		if src[i].Migrate && src[i].Folio != nil {
			lo, hi = min(lo, i), i+1
		}
	}
	return min(lo, hi), hi
}

// home copies what g has collected to new system pages and ends g. ENOMEM leaves the pages that got none. tell is called when
// it is known what moves and no thread goes on yet.
func (p *Pagemap) home(d *Devmem, g mm.Migration, tell func(error)) (err error) {
	defer g.Finalize()
	defer func() { tell(err) }()
	src := g.Src()
	idx := make([]uint64, len(src))
	to := make([]mm.Folio, len(src))
	var failed error
	any := false
	for i := range src {
		if !src[i].Migrate || src[i].Folio == nil {
			continue
		}
		f, err := p.mem.AllocFolio()
		if err != nil && p.Mistakes.PutsUnset {
			cancel(src)
			for _, f := range to[i:] {
				p.mem.PutFolio(f)
			}
			return err
		}
		if err != nil {
			if p.Mistakes.UseAfterPut {
				for _, f := range to[:i] {
					if f != nil {
						p.mem.PutFolio(f)
					}
				}
			}
			src[i].Migrate = false
			failed = err
			continue
		}
		_, idx[i] = src[i].Folio.Device()
		to[i] = f
		g.SetDst(i, f)
		any = true
	}
	if !any {
		return failed
	}
	p.world.Yield("copy to system memory")
	if err := p.copying(to, func() error { return d.Ops.CopyToRAM(d, idx, to) }); err != nil {
		cancel(src)
		return err
	}
	g.Pages()
	return failed
}

// evictTries is how often EvictToRAM looks again at pages that were busy.
const evictTries = 3

// EvictToRAM brings every page of d home, whoever maps it. It takes no mmap_lock and may be called with d's reservation
// held. EBUSY says that pages are still in use after a few tries.
func (p *Pagemap) EvictToRAM(d *Devmem) error {
	for try := range evictTries {
		if d.Detached() {
			return nil
		}
		idx, err := d.Ops.PopulatePFN(d)
		if err != nil {
			return err
		}
		var pages []mm.Folio
		for _, i := range idx {
			f := p.Pages.Folio(i)
			if z, ok := f.ZoneDeviceData().(*ZDD); ok && z.devmem == d {
				pages = append(pages, f)
			}
		}
		if err := p.home(d, p.mem.MigrateDevice(pages), func(error) {}); err != nil {
			return fmt.Errorf("pagemap: evict: %w", err)
		}
		if p.Mistakes.ReusesBusy {
			return nil
		}
		// Pages whose last reference is dropped by another task become free a moment later.
		if d.detached.Wait(d.Detached, time.Duration(try+1)*time.Millisecond) {
			return nil
		}
	}
	return mm.EBUSY
}
