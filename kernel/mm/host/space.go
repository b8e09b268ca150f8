package host

import (
	"errors"
	"sync/atomic"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/mm/notify"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"golang.org/x/sys/unix"
)

// entry is what the process's page table has for a page that is absent from it. The zero value is nothing.
type entry struct {
	dev *devFolio // device-private
	mig *migration
}

// table holds the entries of 2 MiB.
type table struct {
	e [chunkPages]entry
	n int // not zero
}

// Space is the memory of this process. It implements mm.Space and mm.Memory. Safe for concurrent use.
type Space struct {
	world sched.World
	u     *uffd
	maps  *maps
	stage *staging
	mmap  sched.RWSem

	devices areas // memories that pages are moved to

	pagemapFD int
	eventFD   int
	closed    atomic.Bool
	missing   atomic.Bool // some range is registered for missing pages
	reading   atomic.Bool // the reader holds messages that are not among the pending ones yet

	ptl       sched.Mutex
	tables    map[uint64]*table // by address >> 21; guarded by ptl
	notifiers *notify.Set       // of who mirrors pages; guarded by the PTL
	events    []message         // for the worker; guarded by ptl
	current   message           // the worker is at it; guarded by ptl
	pending   int               // events not done with; guarded by ptl
	tokens    []chan struct{}   // of Sync, for the reader; guarded by ptl
	waiting   []chan struct{}   // of Sync, for the worker; guarded by ptl

	migrated sched.WaitQueue // a migration ended
	work     sched.WaitQueue // events came

	// OnUnmap is told of what the process has unmapped or moved away, after notifiers; set before the first use.
	OnUnmap func(start, end uint64)

	// Counters for reports.
	Faults, Zeroes, Events atomic.Uint64
}

// New makes the Space of this process and starts its tasks. An error says why managed memory cannot migrate here.
func New(w sched.World) (*Space, error) {
	u, err := openUFFD()
	if err != nil {
		return nil, err
	}
	ptl := w.NewMutex(mm.PTL)
	s := &Space{world: w, u: u, maps: openMaps(), mmap: w.NewRWSem(mm.MmapLock), ptl: ptl, tables: map[uint64]*table{},
		notifiers: notify.New(ptl, w.NewWaitQueue("invalidation")), migrated: w.NewWaitQueue("migration"), work: w.NewWaitQueue("uffd events")}
	if s.stage, err = newStaging(w, u); err == nil {
		s.pagemapFD, err = unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err == nil {
		s.eventFD, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	}
	if err != nil {
		_ = unix.Close(u.fd)
		return nil, err
	}
	w.Go("uffd reader", true, s.reader)
	w.Go("uffd events", true, s.worker)
	return s, nil
}

// UserOnly reports that system calls on migrated pages fail with EFAULT here.
func (s *Space) UserOnly() bool { return s.u.userOnly }

func (s *Space) World() sched.World     { return s.world }
func (s *Space) MmapLock() sched.RWSem  { return mmapLock{s.mmap, s} }
func (s *Space) Get() bool              { return !s.closed.Load() }
func (s *Space) Put()                   {}
func slot(addr uint64) (uint64, uint64) { return addr >> 21, addr >> mm.PageShift & (chunkPages - 1) }

// get returns the entry of addr; the PTL is held.
func (s *Space) get(addr uint64) entry {
	k, i := slot(addr)
	if t := s.tables[k]; t != nil {
		return t.e[i]
	}
	return entry{}
}

// set changes the entry of addr; the PTL is held.
func (s *Space) set(addr uint64, e entry) {
	k, i := slot(addr)
	t := s.tables[k]
	if t == nil {
		if e == (entry{}) {
			return
		}
		t = &table{}
		s.tables[k] = t
	}
	if t.e[i] != (entry{}) {
		t.n--
	}
	t.e[i] = e
	if e != (entry{}) {
		t.n++
	}
	if t.n == 0 {
		delete(s.tables, k)
	}
}

// mergeSteps bounds how many kernel VMAs FindVMAIn joins to each side.
const mergeSteps = 64

// FindVMA returns the first VMA that ends above addr. Watching a part of a VMA splits it in the kernel; here what differs in nothing else
// is one VMA still. The staging area is not the application's.
func (s *Space) FindVMA(addr uint64) (mm.VMA, bool) { return s.FindVMAIn(addr, 0, ^uint64(0)) }

// FindVMAIn joins pieces as far as [lo, hi): most often the kernel is asked once.
func (s *Space) FindVMAIn(addr, lo, hi uint64) (mm.VMA, bool) {
	v, ok := s.maps.next(addr)
	if !ok {
		return v, false
	}
	if s.stage.inside(v.Start, v.End) || s.devices.overlap(v.Start, v.End) {
		v.Kind = mm.IO
		return v, true
	}
	same := func(w mm.VMA) bool {
		return w.Prot == v.Prot && w.Kind == v.Kind && w.Shared == v.Shared && !s.stage.inside(w.Start, w.End) && !s.devices.overlap(w.Start, w.End)
	}
	if !v.Anonymous() {
		return v, true
	}
	for i := 0; i < mergeSteps && v.End < hi; i++ {
		w, ok := s.maps.next(v.End)
		if !ok || w.Start != v.End || !same(w) {
			break
		}
		v.End = w.End
	}
	for i := 0; i < mergeSteps && v.Start > lo; i++ {
		w, ok := s.maps.next(v.Start - 1)
		if !ok || w.End != v.Start || !same(w) {
			break
		}
		v.Start = w.Start
	}
	return v, true
}

// Gone returns when it is taken in that the process has given [start, end) up: the messages say so, but they are on their way when the process's call returns.
func (s *Space) Gone(start, end uint64) {
	if s.concerned(start, end) {
		s.Sync()
	}
}

// Protected takes in that the process has changed the rights of [start, end), by mprotect, of which userfaultfd does not tell. What a GPU has mapped there it has
// to ask for again, or, with XNACK off, is mapped again with the rights of now.
func (s *Space) Protected(start, end uint64) {
	if !s.concerned(start, end) {
		return
	}
	l := s.MmapLock()
	l.Lock()
	defer l.Unlock()
	s.notifiers.Invalidate(&mm.Invalidation{Start: start, End: end, Event: mm.EventProtectionVMA, Blockable: true})()
}

// watch registers [start, end): for events, or for missing pages too. Never more than a GPU uses: the neighbouring pages of the same VMA
// may be the Go runtime's own, and those must not wait for this package.
func (s *Space) watch(start, end uint64, missing bool) error {
	if missing {
		s.missing.Store(true)
	}
	switch e := s.u.register(start, end, missing); e {
	case 0:
		return nil
	case unix.ENOMEM:
		return mm.ENOMEM
	default:
		return mm.EBUSY // another userfaultfd has it, or it is no kind that can be watched
	}
}

// devicePages lists the addresses that device pages stand at.
func (s *Space) devicePages() (out []uint64) {
	s.ptl.Lock()
	defer s.ptl.Unlock()
	for k, t := range s.tables {
		for i := range t.e {
			if t.e[i].dev != nil {
				out = append(out, k<<21|uint64(i)<<mm.PageShift)
			}
		}
	}
	return out
}

// BringHome moves every device page back: before a fork, and at the end.
func (s *Space) BringHome() error {
	s.mmap.RLock()
	defer s.mmap.RUnlock()
	var failed error
	for _, a := range s.devicePages() {
		if err := s.settleFor(a, a+mm.PageSize, nil, "fork"); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// Close brings everything home and stops watching. Notifiers have been removed.
func (s *Space) Close() error {
	err := s.BringHome()
	s.detach()
	s.closed.Store(true)
	s.poke()
	s.work.Wake()
	return err
}
