package sim

import (
	"fmt"
	"sort"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/mm/notify"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/segment"
)

type pteState uint8

const (
	ptePresent pteState = iota
	pteSwap
	pteMigration
	pteDevice // device-private
)

// pte is one CPU page-table entry; a page without one is a hole.
type pte struct {
	state    pteState
	folio    *folio
	writable bool
	swap     []byte
}

// vma is what a mapping is, beside its bounds.
type vma struct {
	prot mm.Prot
	kind mm.Kind
}

func vmaOf(g segment.Seg[vma]) mm.VMA {
	return mm.VMA{Start: g.Start, End: g.End, Prot: g.Value.prot, Kind: g.Value.kind}
}

// Space is a simulated process. It implements mm.Space.
type Space struct {
	mem  *Memory
	name string

	mmap sched.RWSem
	vmas segment.Set[vma] // guarded by mmap

	// Guarded by mem.ptl.
	users     int
	ptes      map[uint64]*pte
	notifiers *notify.Set
}

var _ mm.Space = (*Space)(nil)

// NewSpace makes an empty process.
func (m *Memory) NewSpace(name string) *Space {
	s := &Space{mem: m, name: name, users: 1, mmap: m.world.NewRWSem(mm.MmapLock), ptes: map[uint64]*pte{},
		notifiers: notify.New(m.ptl, m.world.NewWaitQueue("invalidation of "+name))}
	m.ptl.Lock()
	m.spaces = append(m.spaces, s)
	m.unlock()
	return s
}

func (s *Space) World() sched.World            { return s.mem.world }
func (s *Space) MmapLock() sched.RWSem         { return s.mmap }
func (s *Space) AllocFolio() (mm.Folio, error) { return s.mem.AllocFolio() }
func (s *Space) PutFolio(f mm.Folio)           { s.mem.PutFolio(f) }

func (s *Space) Get() bool {
	s.mem.ptl.Lock()
	defer s.mem.unlock()
	if s.users == 0 {
		return false
	}
	s.users++
	return true
}

// Put drops a user; the last one tears the space down (exit_mmap).
func (s *Space) Put() {
	s.mem.ptl.Lock()
	s.users--
	last := s.users == 0
	s.mem.unlock()
	if last {
		s.teardown()
	}
}

// Exit ends the process: its own user goes away.
func (s *Space) Exit() { s.Put() }

func (s *Space) teardown() {
	s.mmap.Lock()
	defer s.mmap.Unlock()
	end := s.notifiers.Invalidate(&mm.Invalidation{Start: 0, End: ^uint64(0), Event: mm.EventRelease, Blockable: true})
	s.mem.ptl.Lock()
	for page := range s.sortedPages(0, ^uint64(0)) {
		s.zap(page)
	}
	s.vmas.Clear(0, ^uint64(0))
	s.mem.unlock()
	end()
}

// sortedPages yields the pages with entries in [start, end) in order; deterministic where a map is not. It takes a step for each page of the
// range or for each entry of the process, whichever are fewer.
func (s *Space) sortedPages(start, end uint64) func(func(uint64) bool) {
	first, last := start>>mm.PageShift, (end-1)>>mm.PageShift
	var pages []uint64
	if last-first < uint64(len(s.ptes)) {
		for p := first; p <= last; p++ {
			if s.ptes[p] != nil {
				pages = append(pages, p)
			}
		}
	} else {
		for p := range s.ptes {
			if p >= first && p <= last {
				pages = append(pages, p)
			}
		}
		sort.Slice(pages, func(i, j int) bool { return pages[i] < pages[j] })
	}
	return func(yield func(uint64) bool) {
		for _, p := range pages {
			if !yield(p) {
				return
			}
		}
	}
}

// FindVMA returns the first VMA that ends above addr; mmap_lock is held.
func (s *Space) FindVMA(addr uint64) (mm.VMA, bool) {
	s.mmap.AssertRHeld()
	return s.findVMA(addr)
}

// FindVMAIn is no cheaper here.
func (s *Space) FindVMAIn(addr, _, _ uint64) (mm.VMA, bool) { return s.FindVMA(addr) }

func (s *Space) findVMA(addr uint64) (mm.VMA, bool) {
	g, ok := s.vmas.Next(addr)
	return vmaOf(g), ok
}

// vmaAt returns the VMA that contains addr.
func (s *Space) vmaAt(addr uint64) (mm.VMA, bool) {
	v, ok := s.findVMA(addr)
	return v, ok && v.Start <= addr
}

// VMAs returns a copy of the list.
func (s *Space) VMAs() []mm.VMA {
	s.mmap.RLock()
	defer s.mmap.RUnlock()
	return s.listVMAs()
}

func (s *Space) listVMAs() []mm.VMA {
	var out []mm.VMA
	for g := range s.vmas.All(0, ^uint64(0)) {
		out = append(out, vmaOf(g))
	}
	return out
}

// DeadSpaceError says that a notifier was registered on a process that has exited: nobody would ever call it, and nobody take it away. (Linux
// warns in __mmu_interval_notifier_insert.) Who registers one holds a user of the process.
type DeadSpaceError struct {
	Process    string
	Start, End uint64
}

func (e *DeadSpaceError) Error() string {
	return fmt.Sprintf("mm: a notifier for [%#x, %#x) is registered on %s, which has exited", e.Start, e.End, e.Process)
}

func (s *Space) NewNotifier(start, end uint64, fn mm.InvalidateFunc) (mm.Notifier, error) {
	s.mem.ptl.Lock()
	defer s.mem.unlock()
	if s.users == 0 {
		s.mem.unlock()
		s.mem.world.Fail(&DeadSpaceError{s.name, start, end})
		s.mem.ptl.Lock()
		return nil, mm.EFAULT
	}
	return s.notifiers.Insert(start, end, fn), nil
}

// install maps f at page; the PTL is held and the page has no entry.
func (s *Space) install(page uint64, f *folio, writable bool) {
	st := ptePresent
	if f.pm != nil {
		st = pteDevice
	}
	s.ptes[page] = &pte{state: st, folio: f, writable: writable}
	f.ref++
	f.maps++
	f.rmap[mapping{s, page}] = struct{}{}
}

// zap removes the entry of page, if any; the PTL is held.
func (s *Space) zap(page uint64) {
	p := s.ptes[page]
	if p == nil {
		return
	}
	delete(s.ptes, page)
	switch p.state {
	case ptePresent, pteDevice:
		delete(p.folio.rmap, mapping{s, page})
		p.folio.maps--
		s.mem.put(p.folio)
	case pteMigration:
		delete(p.folio.rmap, mapping{s, page})
	}
}
