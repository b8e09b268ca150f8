package svm

import (
	"sync/atomic"
	"time"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/fence"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/ttm"
)

// Device is a GPU with its video memory, shared by all processes.
type Device struct {
	Mem   svm.Memory
	Pages mm.Pagemap
	TTM   *ttm.Manager

	world  sched.World
	mem    mm.Memory
	size   uint64
	fences *fence.Context
	evict  *sched.Workqueue
	policy svm.EvictPolicy
}

// NewDevice makes a device with vram bytes of memory. owner names the hive: members use each other's pages in place. KFD knows one way
// of eviction, by fence; EvictNone leaves it out.
func NewDevice(w sched.World, m mm.Memory, mem svm.Memory, owner any, vram uint64, p svm.EvictPolicy) *Device {
	d := &Device{Mem: mem, TTM: ttm.New(w, vram), world: w, mem: m, size: vram, fences: fence.NewContext(w), policy: p,
		evict: sched.NewWorkqueue(w, "svm_bo evict", false)}
	d.Pages = m.NewPagemap(owner, vram>>mm.PageShift, mm.PagemapOps{MigrateToRAM: d.cpuFault, Free: func(_ uint64, data any) { data.(*bo).put() }})
	return d
}

// bo is video memory that backs pranges (svm_range_bo). Each prange has a reference, and each page in use.
type bo struct {
	s     *SVM
	dev   *Device
	b     *ttm.BO
	idx   []uint64 // device page of each page
	fence *fence.Fence
	refs  atomic.Int32
	ready atomic.Bool // it may be evicted
	// evicting: it is being evicted, nothing may be put into it any more.
	evicting atomic.Bool

	mu     sched.Mutex // svm_bo.list_lock
	ranges []*prange   // guarded by mu
}

// newBO allocates video memory for size bytes, evicting others if need be. No lock is held.
func (s *SVM) newBO(d *Device, size uint64) (*bo, error) {
	b := &bo{s: s, dev: d, mu: s.world.NewMutex(boClass)}
	b.refs.Store(1)
	work := d.evict.NewWork(b.evict)
	b.fence = d.fences.New("svm_bo eviction", func() { work.Queue() })
	t, err := d.TTM.NewBO(size, false, b)
	if err != nil {
		return nil, err
	}
	b.b = t
	b.idx = t.Pages()
	if d.policy != svm.EvictNone {
		t.Resv.Lock()
		t.Resv.Add(b.fence, fence.Bookkeep)
		t.Resv.Unlock()
	}
	return b, nil
}

func (b *bo) get() *bo {
	b.refs.Add(1)
	return b
}

// put drops a reference; the last gives the memory back. It may be called from anywhere.
func (b *bo) put() {
	if b.refs.Add(-1) == 0 {
		if b.s.cfg.Mistakes.ReleaseInAtomic { // as amdgpu_bo_unref does with the last reference
			b.b.Resv.Lock()
			defer b.b.Resv.Unlock()
		}
		b.b.Free()
		b.fence.Signal()
	}
}

func (b *bo) addRange(p *prange) {
	b.get()
	b.mu.Lock()
	b.ranges = append(b.ranges, p)
	b.mu.Unlock()
}

func (b *bo) removeRange(p *prange) {
	b.mu.Lock()
	for i, x := range b.ranges {
		if x == p {
			b.ranges = append(b.ranges[:i], b.ranges[i+1:]...)
			break
		}
	}
	b.mu.Unlock()
	b.put()
}

// live reports whether page i holds content.
func (b *bo) live(i uint64) bool {
	if i >= uint64(len(b.idx)) {
		return false
	}
	f := b.dev.Pages.Folio(b.idx[i])
	return f.RefCount() > 0 && f.ZoneDeviceData() == any(b)
}

// EvictFlags makes bo ttm.Ops: its content may be thrown away once its fences have signalled.
func (b *bo) EvictFlags(*ttm.BO) []ttm.Domain { return nil }

// Move is never asked for.
func (b *bo) Move(*ttm.BO, ttm.Domain) error { return mm.EBUSY }

// Valuable: not before it has pages, or taking it away would be noticed too late.
func (b *bo) Valuable(*ttm.BO) bool { return b.ready.Load() && !b.s.cfg.Mistakes.RefuseSelfEviction }

// evict is the worker behind the eviction fence (svm_range_evict_svm_bo_worker): pages go home, then the fence says so.
func (b *bo) evict() {
	s := b.s
	if s.cfg.Mistakes.EvictFenceContract {
		b.dev.fences.BeginSignalling()
		defer b.dev.fences.EndSignalling()
	}
	b.evicting.Store(true)
	for tries := 0; ; tries++ {
		left := b.evictRanges()
		// What no prange has any more is mapped by children of a fork, or held by somebody for a moment.
		b.evictPages()
		if left == 0 && b.liveIn(0, uint64(len(b.idx))) == 0 {
			break
		}
		s.world.Sleep(time.Duration(min(tries+1, 10)) * 100 * time.Microsecond)
	}
	s.event(max(s.gpu(s.loc(b.dev)), 0), svm.EvEvict, 0, 0, "TTM eviction", nil)
	b.fence.Signal()
}

// evictRanges moves the pranges of b home, by address. It returns how many b still has: new ones come by splits.
func (b *bo) evictRanges() (left int) {
	s := b.s
	if !s.space.Get() {
		return 0
	}
	defer s.space.Put()
	b.mu.Lock()
	ranges := append([]*prange(nil), b.ranges...)
	b.mu.Unlock()
	l := s.space.MmapLock()
	l.RLock()
	defer l.RUnlock()
	for _, p := range ranges {
		p.migrate.Lock()
		if p.bo == b {
			_ = s.toRAM(p, p.start, p.end, "TTM eviction")
		}
		p.migrate.Unlock()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.ranges)
}

func (b *bo) liveIn(from, to uint64) (n int) {
	for i := from; i < to; i++ {
		if b.live(i) {
			n++
		}
	}
	return n
}

// evictPages moves pages of b home, whoever maps them.
func (b *bo) evictPages() {
	var pages []mm.Folio
	for i := range b.idx {
		if b.live(uint64(i)) {
			pages = append(pages, b.dev.Pages.Folio(b.idx[i]))
		}
	}
	_, _ = b.dev.home(b.dev.mem.MigrateDevice(pages), nil)
}

// home copies the device pages that g has collected, those of only if it is not nil, to system pages and ends g. It returns how many moved.
func (d *Device) home(g mm.Migration, only *bo) (moved int, err error) {
	defer g.Finalize()
	src := g.Src()
	to := make([]mm.Folio, len(src))
	idx := make([]uint64, len(src))
	for i := range src {
		f := src[i].Folio
		if f == nil || !src[i].Migrate || only != nil && f.ZoneDeviceData() != any(only) {
			src[i].Migrate = false
			continue
		}
		dst, e := d.mem.AllocFolio()
		if e != nil {
			src[i].Migrate, err = false, e
			continue
		}
		_, idx[i] = f.Device()
		to[i] = dst
		g.SetDst(i, dst)
	}
	d.world.Yield("copy to system memory")
	if bulk, ok := d.Mem.(svm.BulkMemory); ok {
		if e := bulk.CopyPagesToRAM(to, idx); e != nil {
			cancel(src)
			return 0, e
		}
	} else {
		for i := range to {
			if to[i] == nil {
				continue
			}
			if e := d.Mem.CopyToRAM(to[i], idx[i]); e != nil {
				src[i].Migrate, err = false, e
			}
		}
	}
	g.Pages()
	for i := range src {
		if src[i].Migrate && to[i] != nil {
			moved++
		}
	}
	return moved, err
}

func cancel(src []mm.PFN) {
	for i := range src {
		src[i].Migrate = false
	}
}

// toRAM moves the pages of [start, end) of p home (svm_migrate_vram_to_ram). Those that cannot move stay. The mmap lock and p.migrate are held.
func (s *SVM) toRAM(p *prange, start, end uint64, cause string) error {
	return s.toRAMIn(s.space, p, start, end, nil, cause)
}

// toRAMIn is toRAM through the address space of a process that may be a child, for a fault on page.
func (s *SVM) toRAMIn(space mm.Space, p *prange, start, end uint64, page mm.Folio, cause string) error {
	b := p.bo
	if b == nil {
		return nil
	}
	gpu := max(s.gpu(s.loc(b.dev)), 0)
	var failed error
	for at := start; at < end; {
		v, ok := space.FindVMAIn(at, at, end)
		if !ok || v.Start >= end {
			break
		}
		lo, hi := max(at, v.Start), min(end, v.End)
		at = hi
		g, err := space.MigrateSetup(&mm.MigrateRequest{Start: lo, End: hi, Select: mm.SelectDevicePrivate, Owner: b.dev.Pages.Owner(), FaultPage: page})
		if err != nil {
			failed = err
			continue
		}
		n, err := b.dev.home(g, b)
		p.moved(-n)
		if n > 0 || err != nil {
			s.event(gpu, svm.EvMigrateToRAM, lo, hi, cause, err)
		}
		if err != nil {
			failed = err
		}
	}
	p.lock.Lock()
	done := p.bo == b && p.inVRAM(p.start, p.end) == 0
	if done {
		p.bo = nil
	}
	p.lock.Unlock()
	if done {
		b.removeRange(p)
	}
	return failed
}

// toVRAM moves the pages of [start, end) of p to p's video memory, which is attached if it has none (svm_migrate_ram_to_vram); those that
// cannot move stay. The mmap lock and p.migrate are held.
func (s *SVM) toVRAM(p *prange, start, end uint64, fresh *bo, cause string) error {
	p.lock.Lock()
	if p.bo == nil {
		p.bo, p.offset = fresh, 0
		fresh.addRange(p)
	}
	b := p.bo
	p.lock.Unlock()
	gpu := max(s.gpu(s.loc(b.dev)), 0)
	moved := 0
	var failed error
	for at := start; at < end; {
		v, ok := s.space.FindVMAIn(at, at, end)
		if !ok || v.Start > at {
			failed = mm.EFAULT
			break
		}
		to := min(end, v.End)
		n, err := s.fill(p, b, at, to)
		moved += n
		if err != nil {
			failed = err
		}
		at = to
	}
	p.moved(moved)
	b.ready.Store(true)
	s.event(gpu, svm.EvMigrateToVRAM, start, end, cause, failed)
	p.lock.Lock()
	empty := p.bo == b && p.inVRAM(p.start, p.end) == 0
	if empty {
		p.bo = nil
	}
	p.lock.Unlock()
	if empty {
		b.removeRange(p)
	}
	if moved > 0 {
		return nil
	}
	return failed
}

// fill moves the system pages of a part of one VMA into b.
func (s *SVM) fill(p *prange, b *bo, start, end uint64) (moved int, err error) {
	g, err := s.space.MigrateSetup(&mm.MigrateRequest{Start: start, End: end, Select: mm.SelectSystem, Owner: b.dev.Pages.Owner()})
	if err != nil {
		return 0, err
	}
	defer g.Finalize()
	src := g.Src()
	var from []mm.Folio
	var dst []uint64
	first := p.offset + (start-p.start)>>mm.PageShift
	for i := range src {
		if !src[i].Migrate {
			continue
		}
		idx := b.idx[first+uint64(i)]
		if f := b.dev.Pages.Folio(idx); !s.cfg.Mistakes.ReuseBusyPages && f.ZoneDeviceData() == any(b) {
			src[i].Migrate = false // a child of a fork has its old content still, or it is just becoming free
			continue
		}
		g.SetDst(i, b.dev.Pages.Init(idx, b.get()))
		from, dst = append(from, src[i].Folio), append(dst, idx)
	}
	s.world.Yield("copy to video memory")
	if err := b.copyIn(dst, from); err != nil {
		cancel(src)
		return 0, err
	}
	g.Pages()
	for i := range src {
		if src[i].Migrate {
			moved++
		}
	}
	if moved == 0 {
		return 0, mm.EBUSY
	}
	return moved, nil
}

func (b *bo) copyIn(dst []uint64, from []mm.Folio) error {
	if bulk, ok := b.dev.Mem.(svm.BulkMemory); ok {
		return bulk.CopyPagesToVRAM(dst, from)
	}
	for i := range dst {
		if err := b.dev.Mem.CopyToVRAM(dst[i], from[i]); err != nil {
			return err
		}
	}
	return nil
}

// cpuFault brings the pages around addr home (svm_migrate_to_ram). The page's folio and space's mmap lock are held. An error is SIGBUS.
func (d *Device) cpuFault(space mm.Space, addr uint64, page mm.Folio, cause string) error {
	b, ok := page.ZoneDeviceData().(*bo)
	if !ok {
		return nil // it has just become free
	}
	s := b.s
	if cause == mapping {
		// It is our own look that does not like the page, one that a fork has made read-only: the locks are held.
		if s.cfg.Mistakes.SkipsOwnFault {
			return nil
		}
		return d.homePage(space, addr, page, b)
	}
	if !s.mu.TryLock() {
		return nil // who has it may be waiting for this very page, which we hold: the CPU tries again
	}
	defer s.mu.Unlock()
	g, ok := s.objects.Find(addr)
	if ok {
		p := g.Value
		p.migrate.Lock()
		defer p.migrate.Unlock()
		if p.bo == b && p.start <= addr && addr < p.end {
			start, end := p.attrs.window(addr, p.start, p.end)
			if s.cfg.Mistakes.FaultBringsOnePage {
				start = addr &^ (mm.PageSize - 1)
				end = start + mm.PageSize
			}
			return s.toRAMIn(space, p, start, end, page, cause)
		}
	}
	// No prange has it: a child of a fork, whose parent has unmapped it, or a piece that waits for the deferred worker.
	return d.homePage(space, addr, page, b)
}

// homePage brings one page home.
func (d *Device) homePage(space mm.Space, addr uint64, page mm.Folio, b *bo) error {
	at := addr &^ (mm.PageSize - 1)
	m, err := space.MigrateSetup(&mm.MigrateRequest{Start: at, End: at + mm.PageSize, Select: mm.SelectDevicePrivate, Owner: d.Pages.Owner(), FaultPage: page})
	if err != nil {
		return err
	}
	_, err = d.home(m, b)
	return err
}
