// Package sim is a simulated machine memory and simulated processes for package mm.
//
// Every page, page-table entry, reverse mapping and notifier is modelled as Linux has it (kernel-svm §5), small enough to
// be checked: reference counts, mapcounts, migration entries, copy-on-write after fork, swap, device-private entries. All
// pages are of order 0, and one PTL guards every page table, every folio's counts and the reverse map. Page contents are
// real, so that a lost or doubled page is seen.
//
// Lock order: mmap_lock, folio lock, (the notifier callbacks' locks), PTL. The PTL is never held while a callback runs.
package sim

import (
	"fmt"
	"time"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
)

// Config sets up a Memory.
type Config struct {
	Pages int // system pages; 0 is no limit
	// FailAlloc, if not nil, is asked at each page allocation; true makes it fail with ENOMEM.
	FailAlloc func() bool
}

// Memory is the machine's memory: system pages and device-private ones. It implements mm.Memory.
type Memory struct {
	world sched.World
	cfg   Config

	reclaim sched.RWSem // held shared by allocations, for the lock order only
	atomic  sched.RWSem // held shared by Free callbacks, for the lock order only
	ptl     sched.Mutex
	// Guarded by ptl.
	used   int
	nextID int
	freed  []*folio // device pages whose Free callback is due when ptl is dropped
	spaces []*Space

	migrated sched.WaitQueue // woken when migration entries go away
}

var _ mm.Memory = (*Memory)(nil)

// New makes an empty machine in world w.
func New(w sched.World, cfg Config) *Memory {
	return &Memory{world: w, cfg: cfg, reclaim: w.NewRWSem(mm.FSReclaim), atomic: w.NewRWSem(mm.AtomicContext), ptl: w.NewMutex(mm.PTL), migrated: w.NewWaitQueue("migration entry")}
}

// UsedPages returns how many system pages are in use.
func (m *Memory) UsedPages() int {
	m.ptl.Lock()
	defer m.unlock()
	return m.used
}

// unlock drops the PTL and then tells drivers about device pages that became free: in atomic context, since Linux does so while it holds the
// PTL.
func (m *Memory) unlock() {
	freed := m.freed
	m.freed = nil
	m.ptl.Unlock()
	if freed == nil {
		return
	}
	m.atomic.RLock()
	for _, f := range freed {
		f.pm.free(f)
	}
	m.atomic.RUnlock()
}

type mapping struct {
	space *Space
	page  uint64
}

// folio is one page. ref, maps and rmap are guarded by the PTL.
type folio struct {
	mem  *Memory
	id   int
	lock sched.Mutex
	ref  int
	maps int
	rmap map[mapping]struct{} // entries that map it, and migration entries that stand for it
	data []byte               // system pages
	pm   *pagemap             // device pages
	idx  uint64
	zdd  any
}

func (f *folio) Device() (mm.Pagemap, uint64) {
	if f.pm == nil {
		return nil, 0
	}
	return f.pm, f.idx
}
func (f *folio) ZoneDeviceData() any     { return f.zdd }
func (f *folio) SetZoneDeviceData(d any) { f.zdd = d }
func (f *folio) Data() []byte            { return f.data }
func (f *folio) RefCount() int           { return f.ref }
func (f *folio) MapCount() int           { return f.maps }

func (f *folio) String() string {
	if f.pm != nil {
		return fmt.Sprintf("dev page %d", f.idx)
	}
	return fmt.Sprintf("page %d", f.id)
}

func (m *Memory) newFolio() *folio {
	m.nextID++
	return &folio{mem: m, id: m.nextID, lock: m.world.NewMutex(mm.FolioLock), rmap: map[mapping]struct{}{}}
}

// lockNew locks a page that nobody else uses. A migration that collects pages may have it for a moment, until it sees that the page is another
// now; it waits for nothing meanwhile, so that this lock has no place in the lock order.
func (f *folio) lockNew() {
	for !f.lock.TryLock() {
		f.mem.world.Sleep(time.Microsecond)
	}
}

// AllocFolio returns a zeroed system page, locked, with one reference.
func (m *Memory) AllocFolio() (mm.Folio, error) {
	f, err := m.alloc()
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (m *Memory) alloc() (*folio, error) {
	m.reclaim.RLock()
	m.reclaim.RUnlock() //lint:ignore SA2001 taken for the order alone
	if m.cfg.FailAlloc != nil && m.cfg.FailAlloc() {
		return nil, mm.ENOMEM
	}
	m.ptl.Lock()
	if m.cfg.Pages > 0 && m.used >= m.cfg.Pages {
		m.unlock()
		return nil, mm.ENOMEM
	}
	m.used++
	f := m.newFolio()
	f.ref = 1
	f.data = make([]byte, mm.PageSize)
	m.unlock()
	f.lockNew()
	return f, nil
}

// PutFolio unlocks f and drops the reference that AllocFolio or Init gave.
func (m *Memory) PutFolio(x mm.Folio) {
	f := x.(*folio)
	f.lock.Unlock()
	m.ptl.Lock()
	m.put(f)
	m.unlock()
}

// put drops a reference; the PTL is held.
func (m *Memory) put(f *folio) {
	f.ref--
	switch {
	case f.ref < 0:
		m.world.Fail(fmt.Errorf("mm: reference count of %v below zero", f))
	case f.ref > 0:
		return
	}
	if f.maps != 0 {
		m.world.Fail(fmt.Errorf("mm: %v freed with mapcount %d", f, f.maps))
	}
	if f.pm != nil {
		m.freed = append(m.freed, f)
		return
	}
	m.used--
	f.data = nil
}

// pagemap is a range of device-private pages.
type pagemap struct {
	mem   *Memory
	owner any
	ops   mm.PagemapOps
	pages []*folio
}

// NewPagemap makes pages device pages; they are free until Init.
func (m *Memory) NewPagemap(owner any, pages uint64, ops mm.PagemapOps) mm.Pagemap {
	pm := &pagemap{mem: m, owner: owner, ops: ops, pages: make([]*folio, pages)}
	m.ptl.Lock()
	defer m.unlock()
	for i := range pm.pages {
		f := m.newFolio()
		f.pm, f.idx = pm, uint64(i)
		pm.pages[i] = f
	}
	return pm
}

func (pm *pagemap) Owner() any              { return pm.owner }
func (pm *pagemap) Folio(i uint64) mm.Folio { return pm.pages[i] }

// StalePageError says that a device page was handed out while something still maps or holds it: its block was freed
// and allocated again too early (kernel-svm §4.5).
type StalePageError struct {
	Index     uint64
	Ref, Maps int
}

func (e *StalePageError) Error() string {
	return fmt.Sprintf("mm: device page %d initialised with stale counts: refcount %d, mapcount %d", e.Index, e.Ref, e.Maps)
}

func (pm *pagemap) Init(i uint64, zdd any) mm.Folio {
	f := pm.pages[i]
	pm.mem.ptl.Lock()
	if f.ref != 0 || f.maps != 0 {
		err := &StalePageError{Index: i, Ref: f.ref, Maps: f.maps}
		pm.mem.unlock()
		pm.mem.world.Fail(err)
	}
	f.ref = 1
	f.zdd = zdd
	pm.mem.unlock()
	f.lockNew()
	return f
}

// free runs the driver's callback without the PTL.
func (pm *pagemap) free(f *folio) {
	zdd := f.zdd
	f.zdd = nil
	pm.ops.Free(f.idx, zdd)
}
