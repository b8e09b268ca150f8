package svm

import (
	"errors"

	"github.com/pumice-gpu/pumice/kernel/gpusvm"
	"github.com/pumice-gpu/pumice/kernel/mm"
)

// migrateMode says whether the funnel may move pages.
type migrateMode uint8

const (
	migrateNone      migrateMode = iota // restore: map pages where they are
	migratePreferred                    // move to the preferred location
	migrateToVRAM                       // prefetch to the GPU
	migrateToSystem                     // prefetch to the CPU
)

// mapTries bounds the attempts to get a range's pages into one place.
const mapTries = 3

// mapAttrRanges maps [start, end) as its attributes say, stretch by stretch; svmLock is held.
func (s *SVM) mapAttrRanges(start, end uint64, mode migrateMode, cause string) error {
	for _, g := range s.attrs.cover(start, end) {
		if g.Value.Access == AccessNone {
			continue
		}
		if err := s.mapInterval(g.Start, g.End, g.Value, mode, cause); err != nil {
			return err
		}
	}
	return nil
}

// mapInterval maps [start, end), which has attributes a throughout. EFAULT where the process has nothing mapped.
func (s *SVM) mapInterval(start, end uint64, a Attrs, mode migrateMode, cause string) error {
	for addr := start; addr < end; {
		v, ok := s.vmaIn(addr, start, end)
		if !ok {
			return mm.EFAULT
		}
		lo, hi := max(start, v.Start), min(end, v.End)
		if s.cfg.Mistakes.CrossVMA {
			lo, hi = start, end
		}
		r, ro, err := s.insert(addr, lo, hi, a.Flags&FlagGPURO != 0 || v.Prot&mm.ProtWrite == 0)
		if err != nil {
			return err
		}
		if r.r.Start < start || r.r.End > end {
			v, _ = s.vma(addr)
		}
		if !fits(r, v) && !s.cfg.Mistakes.CrossVMA {
			if _, err := s.dissolve(r, cause); err != nil {
				return err
			}
			continue
		}
		if err := s.mapRange(r, a, mode, ro, cause); err != nil {
			return err
		}
		addr = r.r.End
	}
	return nil
}

// vma returns the VMA that contains addr, as far as a range there can be.
func (s *SVM) vma(addr uint64) (mm.VMA, bool) { return s.vmaIn(addr, 0, ^uint64(0)) }

// vmaIn is vma as far as [start, end).
func (s *SVM) vmaIn(addr, start, end uint64) (mm.VMA, bool) {
	l := s.cfg.Space.MmapLock()
	l.RLock()
	defer l.RUnlock()
	lo, hi := s.g.Around(addr)
	v, ok := s.cfg.Space.FindVMAIn(addr, max(lo, start), min(hi, end))
	return v, ok && v.Start <= addr
}

// wanted are the entries that attributes and rights call for.
func wanted(a Attrs, ro bool) PTEFlags {
	return PTEFlags{Write: !ro && a.Flags&FlagGPURO == 0, Exec: a.Flags&FlagGPUExec != 0,
		Coherent: a.Flags&FlagCoherent != 0, ExtCoherent: a.Flags&FlagExtCoherent != 0}
}

// mapRange is the funnel: everything that maps a range comes here. svmLock is held. EAGAIN: the process changed
// meanwhile; the caller tries again.
func (s *SVM) mapRange(r *svmRange, a Attrs, mode migrateMode, ro bool, cause string) error {
	if r.r.Flags()&gpusvm.FlagUnmapped != 0 {
		return mm.EAGAIN // left over from a munmap: the collector makes room for a new range first
	}
	f := wanted(a, ro)
	for try := 0; ; try++ {
		s.migrate(r, a, mode, cause)
		s.g.NotifierLock.RLock()
		done := r.mapped && !r.stale && r.flags == f && r.p.Valid()
		upgrade := r.mapped && f.Write && r.p.Valid() && !r.p.Writable()
		s.g.NotifierLock.RUnlock()
		if done {
			return nil
		}
		if upgrade {
			s.stopUsing(r, "rights")
		}
		err := r.p.Get(gpusvm.GetOptions{ReadOnly: !f.Write, Owner: s.owner(), Cause: cause})
		if errors.Is(err, mm.EOPNOTSUPP) && try < mapTries {
			if err := s.g.Evict(r.r, cause); err != nil {
				return err
			}
			mode = migrateNone
			continue
		}
		if err != nil {
			return err
		}
		return s.write(r, f, cause)
	}
}

// stopUsing takes r's entries away while the process has not changed: the GPU asks again, or waits until they are back.
func (s *SVM) stopUsing(r *svmRange, cause string) {
	if !s.cfg.XNACK {
		s.beginRestore(cause)
		s.enqueue(r, opRestore, 0, 0)
	}
	s.unmapRanges(r)
}

// owner is who may use device pages where they are.
func (s *SVM) owner() any {
	if s.gpu.Pages == nil {
		return nil
	}
	return s.gpu.Pages.Pages.Owner()
}

// write writes r's page-table entries from its addresses, unless they have just become stale (EAGAIN).
func (s *SVM) write(r *svmRange, f PTEFlags, cause string) error {
	resv := s.vm.Resv()
	resv.Lock()
	defer resv.Unlock()
	s.g.NotifierLock.RLock()
	defer s.g.NotifierLock.RUnlock()
	if !r.p.Valid() {
		return mm.EAGAIN
	}
	if err := s.vm.Update(r.r.Start, r.p.Addrs(), f); err != nil {
		if !r.mapped { // what is not mapped needs no addresses
			r.p.Abandon()
		}
		return err
	}
	// An entry that allowed more, or led elsewhere, may be in a TLB.
	s.vm.FlushTLB()
	r.mapped, r.stale, r.flags = true, false, f
	s.event(EvMap, r.r.Start, r.r.End, cause, nil)
	return nil
}
