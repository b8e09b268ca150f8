package svm

import (
	"errors"
	"time"

	"github.com/pumice-gpu/pumice/kernel/fence"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/pagemap"
	"github.com/pumice-gpu/pumice/kernel/ttm"
)

// faultTimeslice is how long a page that a GPU fault brought to VRAM stays there whatever the CPU does.
const faultTimeslice = 5 * time.Millisecond

// migrateTries bounds how often a migration that met busy pages is repeated.
const migrateTries = 3

// bo is a VRAM buffer that backs pages of a process (amdgpu_svm_bo).
type bo struct {
	gpu        *GPU
	b          *ttm.BO
	dm         *pagemap.Devmem
	idx        []uint64 // VRAM pages; fixed for the BO's life
	fence      *fence.Fence
	space      mm.Space
	s          *SVM
	start, end uint64 // of the range it was made for
}

// migrate moves r's pages where mode and attributes want them. That it does not work out is no error: the pages are
// mapped where they are. svmLock is held.
func (s *SVM) migrate(r *svmRange, a Attrs, mode migrateMode, cause string) {
	if mode == migrateToSystem {
		if err := s.g.Evict(r.r, cause); err != nil {
			s.event(EvMigrateToRAM, r.r.Start, r.r.End, cause, err)
		}
		return
	}
	toVRAM := mode == migrateToVRAM || mode == migratePreferred && a.Preferred != LocSysmem && a.Preferred != LocUndefined
	if !toVRAM || a.Access == AccessInPlace && mode != migrateToVRAM || s.gpu.Pages == nil || !r.migratable() {
		return
	}
	s.g.NotifierLock.RLock()
	there := r.p.InDevmem(s.gpu.Pages) && r.p.Valid()
	s.g.NotifierLock.RUnlock()
	if there {
		return
	}
	var err error
	for range migrateTries {
		if err = s.populate(r); !errors.Is(err, mm.EBUSY) {
			break
		}
		// Some pages are held or in another device's memory: bring them home, then move all.
		if s.g.Evict(r.r, cause) != nil {
			break
		}
	}
	s.event(EvMigrateToVRAM, r.r.Start, r.r.End, cause, err)
	// The notifier has taken the entries away when the migration began, so that no wave wrote to a page that was being
	// copied. What may have been mapped since (partly moved pages) goes too.
	s.unmapRanges(r)
}

// populate allocates a BO of r's size and moves the pages in (populate_mm).
func (s *SVM) populate(r *svmRange) error {
	b, err := s.newBO(r.r.Start, r.r.End)
	if err != nil {
		return err
	}
	if !s.cfg.Space.Get() {
		b.dm.Ops.Release(b.dm)
		return mm.EFAULT
	}
	defer s.cfg.Space.Put()
	if s.cfg.Mistakes.IgnoreOwnMigration {
		s.inPopulate.Add(1)
		defer s.inPopulate.Add(-1)
	}
	l := s.cfg.Space.MmapLock()
	l.RLock()
	defer l.RUnlock()
	return s.gpu.Pages.MigrateToDevmem(b.dm, s.cfg.Space, r.r.Start, r.r.End, pagemap.Options{Timeslice: faultTimeslice, AllowOwn: true})
}

func (s *SVM) newBO(start, end uint64) (*bo, error) {
	size := end - start
	b := &bo{gpu: s.gpu, space: s.cfg.Space, s: s, start: start, end: end}
	if s.gpu.policy == EvictFence {
		work := s.gpu.evict.NewWork(b.evictForFence)
		b.fence = s.gpu.fences.New("svm bo eviction", func() { work.Queue() })
	}
	t, err := s.gpu.TTM.NewBO(size, true, b)
	if err != nil {
		return nil, err
	}
	b.b = t
	b.idx = t.Pages()
	b.dm = s.gpu.Pages.NewDevmem(s.cfg.Space, int(size>>mm.PageShift), b)
	b.dm.Data = b
	if b.fence != nil {
		t.Resv.Lock()
		t.Resv.Add(b.fence, fence.Bookkeep)
		t.Resv.Unlock()
	}
	return b, nil
}

// evictForFence is the worker behind the eviction fence: the pages go home, then the fence says so.
func (b *bo) evictForFence() {
	if b.s.cfg.Mistakes.EvictFenceContract {
		b.gpu.fences.BeginSignalling()
		defer b.gpu.fences.EndSignalling()
	}
	for b.gpu.Pages.EvictToRAM(b.dm) != nil {
		b.gpu.world.Sleep(time.Millisecond)
	}
	b.s.event(EvEvict, b.start, b.end, "TTM eviction", nil)
	b.fence.Signal()
}

// The methods below are ttm.Ops.

func (b *bo) EvictFlags(*ttm.BO) []ttm.Domain {
	if b.gpu.policy == EvictSync {
		return []ttm.Domain{ttm.System}
	}
	return nil // discardable
}

func (b *bo) Move(*ttm.BO, ttm.Domain) error {
	err := b.gpu.Pages.EvictToRAM(b.dm)
	b.s.event(EvEvict, b.start, b.end, "TTM eviction", err)
	return err
}

// WentHome makes bo a pagemap.Observer.
func (b *bo) WentHome(_ *pagemap.Devmem, start, end uint64, cause string, err error) {
	b.s.event(EvMigrateToRAM, start, end, cause, err)
}

func (b *bo) Valuable(*ttm.BO) bool {
	// A BO that is being filled has no pages yet; taking its memory away would be noticed too late.
	return b.dm != nil && !b.s.cfg.Mistakes.RefuseSelfEviction
}

// The methods below are pagemap.DevmemOps.

func (b *bo) PopulatePFN(*pagemap.Devmem) ([]uint64, error) { return b.idx, nil }

func (b *bo) CopyToDevmem(_ *pagemap.Devmem, src []mm.Folio, dst []uint64) error {
	if m, ok := b.gpu.Mem.(BulkMemory); ok {
		return m.CopyPagesToVRAM(dst, src)
	}
	for i := range src {
		if err := b.gpu.Mem.CopyToVRAM(dst[i], src[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *bo) CopyToRAM(_ *pagemap.Devmem, src []uint64, dst []mm.Folio) error {
	if m, ok := b.gpu.Mem.(BulkMemory); ok {
		return m.CopyPagesToRAM(dst, src)
	}
	for i := range dst {
		if dst[i] == nil {
			continue
		}
		if err := b.gpu.Mem.CopyToRAM(dst[i], src[i]); err != nil {
			return err
		}
	}
	return nil
}

// Release is called when the last page is free. It gives the VRAM back.
func (b *bo) Release(*pagemap.Devmem) {
	if b.s.cfg.Mistakes.ReleaseInAtomic { // as amdgpu_bo_unref does with the last reference
		b.b.Resv.Lock()
		defer b.b.Resv.Unlock()
	}
	b.b.Free()
	if b.fence != nil {
		b.fence.Signal()
	}
}
