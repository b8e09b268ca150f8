package host

import (
	"errors"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/kernel/mm"
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
	notifiers []*notifier       // guarded by ptl
	active    []*mm.Invalidation
	events    []message       // for the worker; guarded by ptl
	current   message         // the worker is at it; guarded by ptl
	pending   int             // events not done with; guarded by ptl
	tokens    []chan struct{} // of Sync, for the reader; guarded by ptl
	waiting   []chan struct{} // of Sync, for the worker; guarded by ptl

	idle     sched.WaitQueue // an invalidation or callback ended
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
	s := &Space{world: w, u: u, maps: openMaps(), mmap: w.NewRWSem(mm.MmapLock), ptl: w.NewMutex(mm.PTL), tables: map[uint64]*table{},
		idle: w.NewWaitQueue("invalidation"), migrated: w.NewWaitQueue("migration"), work: w.NewWaitQueue("uffd events")}
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

// mergeSteps bounds how many kernel VMAs FindVMA joins to each side.
const mergeSteps = 64

// FindVMA returns the first VMA that ends above addr. Watching a part of a VMA splits it in the kernel; here what differs in nothing else
// is one VMA still. The staging area is not the application's.
func (s *Space) FindVMA(addr uint64) (mm.VMA, bool) {
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
	for range mergeSteps {
		w, ok := s.maps.next(v.End)
		if !ok || w.Start != v.End || !same(w) {
			break
		}
		v.End = w.End
	}
	for range mergeSteps {
		w, ok := s.maps.next(v.Start - 1)
		if !ok || w.End != v.Start || !same(w) {
			break
		}
		v.Start = w.Start
	}
	return v, true
}

// sysFolio is a page of system memory: of the process at va, or of the staging area (data).
type sysFolio struct {
	va    uint64
	stage uint64         // address in the staging area, 0: in place, or to be made
	home  bool           // AllocFolio gave it
	src   unsafe.Pointer // of a page to be made: its content
	now   unsafe.Pointer // of a staging page whose memory was moved on to a device: where it is
}

func (f *sysFolio) Device() (mm.Pagemap, uint64) { return nil, 0 }
func (f *sysFolio) ZoneDeviceData() any          { return nil }
func (f *sysFolio) SetZoneDeviceData(any)        {}
func (f *sysFolio) RefCount() int                { return 1 }
func (f *sysFolio) MapCount() int                { return 1 }

// Addr is where the page is in the process: its bus address.
func (f *sysFolio) Addr() uint64 { return f.va }

// Data is the content of a staging page. A page in place must not be touched by Go code: nil.
func (f *sysFolio) Data() []byte {
	if f.stage == 0 {
		return nil
	}
	return memory(f.stage, mm.PageSize)
}

// BusAddr returns the bus address of a system page that is in place; ok is false for others.
func BusAddr(f mm.Folio) (addr uint64, ok bool) {
	x, is := f.(*sysFolio)
	if !is || x.stage != 0 || x.home {
		return 0, false
	}
	return x.va, true
}

// AllocFolio returns a page to be filled by CopyIn: one of the stock, or one that the kernel makes when it is put in place. Its content is
// undefined.
func (s *Space) AllocFolio() (mm.Folio, error) {
	return &sysFolio{stage: s.stage.takeIn(), home: true}, nil
}

// PutFolio gives a page back that was not used, or drops a device page's reference.
func (s *Space) PutFolio(f mm.Folio) {
	switch x := f.(type) {
	case *sysFolio:
		if x.home && x.stage != 0 {
			s.stage.giveIn([]uint64{x.stage}, false)
			x.home = false
		}
	case *devFolio:
		s.ptl.Lock()
		x.locked = false
		free := x.drop()
		s.ptl.Unlock()
		free()
	}
}

// notifier is an interval notifier.
type notifier struct {
	s          *Space
	start, end uint64
	fn         mm.InvalidateFunc
	seq        atomic.Uint64
	running    int // guarded by ptl
}

// NewNotifier registers fn on [start, end).
func (s *Space) NewNotifier(start, end uint64, fn mm.InvalidateFunc) (mm.Notifier, error) {
	n := &notifier{s: s, start: start, end: end, fn: fn}
	n.seq.Store(1)
	s.ptl.Lock()
	s.notifiers = append(s.notifiers, n)
	s.ptl.Unlock()
	return n, nil
}

// busy reports whether an invalidation of the notifier's range is under way; the PTL is held.
func (n *notifier) busy() bool {
	for _, inv := range n.s.active {
		if inv.Start < n.end && n.start < inv.End {
			return true
		}
	}
	return false
}

func (n *notifier) ReadBegin() (seq uint64) {
	n.s.idle.Wait(func() bool {
		n.s.ptl.Lock()
		defer n.s.ptl.Unlock()
		seq = n.seq.Load()
		return !n.busy()
	}, sched.Forever)
	return seq
}

func (n *notifier) ReadRetry(seq uint64) bool {
	n.s.ptl.Lock()
	defer n.s.ptl.Unlock()
	return n.seq.Load() != seq || n.busy()
}

func (n *notifier) Remove() {
	n.s.ptl.Lock()
	for i, x := range n.s.notifiers {
		if x == n {
			n.s.notifiers = append(n.s.notifiers[:i], n.s.notifiers[i+1:]...)
			break
		}
	}
	n.s.ptl.Unlock()
	n.s.idle.Wait(func() bool {
		n.s.ptl.Lock()
		defer n.s.ptl.Unlock()
		return n.running == 0
	}, sched.Forever)
}

// invalidate calls the notifiers of inv's range and returns what ends the invalidation. The PTL is not held.
func (s *Space) invalidate(inv *mm.Invalidation) (end func()) {
	s.ptl.Lock()
	s.active = append(s.active, inv)
	var call []*notifier
	for _, n := range s.notifiers {
		if n.start < inv.End && inv.Start < n.end {
			n.running++
			call = append(call, n)
		}
	}
	s.ptl.Unlock()
	for _, n := range call {
		n.fn(inv, func() { n.seq.Add(1) })
		s.ptl.Lock()
		n.running--
		s.ptl.Unlock()
	}
	return func() {
		s.ptl.Lock()
		for i, x := range s.active {
			if x == inv {
				s.active = append(s.active[:i], s.active[i+1:]...)
				break
			}
		}
		s.ptl.Unlock()
		s.idle.Wake()
	}
}

// concerned reports whether anybody mirrors a page of [start, end).
func (s *Space) concerned(start, end uint64) bool {
	if s.closed.Load() {
		return false
	}
	s.ptl.Lock()
	defer s.ptl.Unlock()
	for _, n := range s.notifiers {
		if n.start < end && start < n.end {
			return true
		}
	}
	return false
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
	s.invalidate(&mm.Invalidation{Start: start, End: end, Event: mm.EventProtectionVMA, Blockable: true})()
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

// retryDelay is how long a fault waits before it looks again at a page that its device keeps for now.
const retryDelay = 50 * time.Microsecond

// settle makes every page of [start, end) system memory or a device page of owner, because the CPU touched it. The mmap lock is held
// for reading.
func (s *Space) settle(start, end uint64, owner any) error {
	return s.settleFor(start, end, owner, mm.CPUFault)
}

// settleFor is settle for another cause.
func (s *Space) settleFor(start, end uint64, owner any, cause string) error {
	for a := start; a < end; {
		e := s.unsettled(&a, end, owner)
		switch {
		case e.mig != nil:
			s.waitMigrated(a)
		case e.dev != nil:
			if err := s.deviceFault(a, e.dev, cause); err != nil {
				return err
			}
		}
	}
	return nil
}

// unsettled moves a to the first address below end whose page migrates or is a device page, but not of owner, and returns its entry.
func (s *Space) unsettled(a *uint64, end uint64, owner any) entry {
	s.ptl.Lock()
	defer s.ptl.Unlock()
	for *a < end {
		k, i := slot(*a)
		t := s.tables[k]
		if t == nil {
			*a = (k + 1) << 21
			continue
		}
		for ; i < chunkPages && *a < end; i, *a = i+1, *a+mm.PageSize {
			if e := t.e[i]; e.mig != nil || e.dev != nil && (owner == nil || e.dev.pm.owner != owner) {
				return e
			}
		}
	}
	return entry{}
}

// waitMigrated waits until the page at a does not migrate.
func (s *Space) waitMigrated(a uint64) {
	s.migrated.Wait(func() bool {
		s.ptl.Lock()
		defer s.ptl.Unlock()
		return s.get(a).mig == nil
	}, sched.Forever)
}

// deviceFault asks the driver to bring the device page f at a home. Nil does not say that it came.
func (s *Space) deviceFault(a uint64, f *devFolio, cause string) error {
	s.ptl.Lock()
	mine := s.get(a).dev == f && s.get(a).mig == nil && !f.locked
	if mine {
		f.locked = true
		f.ref++
	}
	s.ptl.Unlock()
	if mine {
		err := f.pm.ops.MigrateToRAM(s, a, f, cause)
		s.ptl.Lock()
		f.locked = false
		free := f.drop()
		s.ptl.Unlock()
		free()
		if err != nil {
			return err
		}
	}
	s.ptl.Lock()
	still := s.get(a).dev == f
	s.ptl.Unlock()
	if still {
		s.world.Sleep(retryDelay)
	}
	return nil
}

// Fault is hmm_range_fault.
func (s *Space) Fault(r *mm.FaultRequest) ([]mm.PFN, error) {
	s.mmap.AssertRHeld()
	end := r.Start + uint64(r.Pages)<<mm.PageShift
	for a := r.Start; a < end; {
		v, ok := s.FindVMA(a)
		switch {
		case !ok || v.Start > a || v.Kind == mm.IO || v.Prot&mm.ProtRead == 0:
			return nil, mm.EFAULT
		case r.Write && v.Prot&mm.ProtWrite == 0:
			return nil, mm.EPERM
		}
		to := min(v.End, end)
		if r.Fault {
			if !r.Home && v.Anonymous() && s.watch(a, to, false) == mm.ENOMEM {
				return nil, mm.ENOMEM
			}
			if err := s.settleFor(a, to, r.Owner, r.Cause); err != nil {
				return nil, err
			}
			if !r.Home {
				if err := s.populate(a, to, r.Write); err != nil {
					return nil, err
				}
			}
		}
		a = to
	}
	there := []bool(nil)
	if !r.Fault || r.Home {
		there = present(r.Start, r.Pages)
	}
	out := make([]mm.PFN, r.Pages)
	folios := make([]sysFolio, r.Pages)
	s.ptl.Lock()
	for i := range out {
		a := r.Start + uint64(i)<<mm.PageShift
		e := s.get(a)
		switch {
		case e.mig != nil, r.Fault && e.dev != nil && (r.Owner == nil || e.dev.pm.owner != r.Owner):
			s.ptl.Unlock()
			return nil, mm.EBUSY
		case e.dev != nil:
			if e.dev.pm.owner == r.Owner {
				out[i] = mm.PFN{Folio: e.dev, Writable: true}
			}
		case there == nil || there[i]:
			folios[i].va = a
			out[i] = mm.PFN{Folio: &folios[i], Writable: r.Write}
		}
	}
	s.ptl.Unlock()
	if r.Notifier != nil && r.Notifier.ReadRetry(r.Seq) {
		return nil, mm.EBUSY
	}
	return out, nil
}

// populate makes the system pages of [start, end) present, writable ones for write.
func (s *Space) populate(start, end uint64, write bool) error {
	const madvPopulateRead, madvPopulateWrite = 22, 23
	advice := uintptr(madvPopulateRead)
	if write {
		advice = madvPopulateWrite
	}
	for a := start; a < end; {
		// A run without entries.
		s.ptl.Lock()
		for a < end && s.get(a) != (entry{}) {
			a += mm.PageSize
		}
		to := a
		for to < end && s.get(to) == (entry{}) {
			to += mm.PageSize
		}
		s.ptl.Unlock()
		if a == to {
			break
		}
		if s.missing.Load() {
			s.zeroAbsent(a, to)
		}
		for {
			_, _, e := unix.Syscall(unix.SYS_MADVISE, uintptr(a), uintptr(to-a), advice)
			if e == unix.EINTR || e == unix.EAGAIN {
				continue
			}
			if e == unix.EINVAL { // a kernel without it: what is mapped will do
				break
			}
			if e == unix.ENOMEM && !mappedAt(a, to) || e == unix.EFAULT {
				return mm.EFAULT
			}
			if e != 0 {
				return mm.ENOMEM
			}
			break
		}
		a = to
	}
	return nil
}

// zeroAbsent fills the absent pages of a range that is watched for missing pages, in a few calls where a touch would take a
// fault for each.
func (s *Space) zeroAbsent(start, end uint64) {
	there := present(start, int((end-start)>>mm.PageShift))
	for i := 0; i < len(there); {
		if there[i] {
			i++
			continue
		}
		j := i
		for j < len(there) && !there[j] {
			j++
		}
		for a, to := start+uint64(i)<<mm.PageShift, start+uint64(j)<<mm.PageShift; a < to; {
			n, e := s.u.zero(a, to)
			a += n
			if e == unix.EEXIST && n == 0 {
				a += mm.PageSize
			} else if e != 0 && n == 0 && !s.changing(e) {
				return // not watched
			}
		}
		i = j
	}
}

// present tells which of n pages are resident.
func present(start uint64, n int) []bool {
	vec := make([]byte, n)
	out := make([]bool, n)
	if n == 0 {
		return out
	}
	if _, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(start), uintptr(n)<<mm.PageShift, uintptr(unsafe.Pointer(&vec[0]))); e != 0 {
		return out
	}
	for i, b := range vec {
		out[i] = b&1 != 0
	}
	return out
}

func mappedAt(start, end uint64) bool {
	vec := make([]byte, (end-start)>>mm.PageShift)
	_, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(start), uintptr(end-start), uintptr(unsafe.Pointer(&vec[0])))
	return e == 0
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
