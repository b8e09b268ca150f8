package sim

import (
	"github.com/pumice-gpu/pumice/kernel/mm"
)

func aligned(start, size uint64) bool {
	return size > 0 && start&(mm.PageSize-1) == 0 && size&(mm.PageSize-1) == 0 && start+size > start
}

// Mmap adds a mapping at [start, start+size), replacing what is there (MAP_FIXED).
func (s *Space) Mmap(start, size uint64, prot mm.Prot, kind mm.Kind) error {
	if !aligned(start, size) {
		return mm.EINVAL
	}
	s.mmap.Lock()
	defer s.mmap.Unlock()
	s.unmap(start, start+size)
	s.vmas.Insert(start, start+size, vma{prot, kind})
	return nil
}

// Munmap removes what is mapped in [start, start+size).
func (s *Space) Munmap(start, size uint64) error {
	if !aligned(start, size) {
		return mm.EINVAL
	}
	s.mmap.Lock()
	defer s.mmap.Unlock()
	s.unmap(start, start+size)
	return nil
}

func (s *Space) unmap(start, end uint64) {
	if !s.overlaps(start, end) {
		return
	}
	done := s.notifiers.Invalidate(&mm.Invalidation{Start: start, End: end, Event: mm.EventUnmap, Blockable: true})
	s.mem.ptl.Lock()
	for page := range s.sortedPages(start, end) {
		s.zap(page)
	}
	s.mem.unlock()
	s.vmas.Clear(start, end)
	done()
	s.mem.migrated.Wake()
}

func (s *Space) overlaps(start, end uint64) bool {
	v, ok := s.findVMA(start)
	return ok && v.Start < end
}

// covered reports whether every page of [start, end) is mapped.
func (s *Space) covered(start, end uint64) bool {
	for a := start; a < end; {
		v, ok := s.vmaAt(a)
		if !ok {
			return false
		}
		a = v.End
	}
	return true
}

// Mprotect changes the rights of [start, start+size).
func (s *Space) Mprotect(start, size uint64, prot mm.Prot) error {
	if !aligned(start, size) {
		return mm.EINVAL
	}
	end := start + size
	s.mmap.Lock()
	defer s.mmap.Unlock()
	if !s.covered(start, end) {
		return mm.ENOMEM
	}
	s.vmas.SplitAt(start)
	s.vmas.SplitAt(end)
	done := s.notifiers.Invalidate(&mm.Invalidation{Start: start, End: end, Event: mm.EventProtectionVMA, Blockable: true})
	for a := start; a < end; {
		g, _ := s.vmas.Find(a)
		g.Value.prot = prot
		s.vmas.Set(a, g.Value)
		a = g.End
	}
	if prot&mm.ProtWrite == 0 {
		s.mem.ptl.Lock()
		for page := range s.sortedPages(start, end) {
			s.ptes[page].writable = false
		}
		s.mem.unlock()
	}
	done()
	return nil
}

// Mremap moves what is mapped in [start, start+size) to to, pages and all, replacing what is there (MREMAP_FIXED); the two must not overlap.
func (s *Space) Mremap(start, size, to uint64) error {
	if !aligned(start, size) || !aligned(to, size) || start < to+size && to < start+size {
		return mm.EINVAL
	}
	end := start + size
	s.mmap.Lock()
	defer s.mmap.Unlock()
	if !s.covered(start, end) {
		return mm.EFAULT
	}
	s.unmap(to, to+size)
	done := s.notifiers.Invalidate(&mm.Invalidation{Start: start, End: end, Event: mm.EventUnmap, Blockable: true})
	s.vmas.SplitAt(start)
	s.vmas.SplitAt(end)
	for a := start; a < end; {
		g, _ := s.vmas.Find(a)
		s.vmas.Remove(a)
		s.vmas.Insert(g.Start-start+to, g.End-start+to, g.Value)
		a = g.End
	}
	s.mem.ptl.Lock()
	for page := range s.sortedPages(start, end) {
		p, q := s.ptes[page], page-start>>mm.PageShift+to>>mm.PageShift
		delete(s.ptes, page)
		s.ptes[q] = p
		if p.state != pteSwap {
			delete(p.folio.rmap, mapping{s, page})
			p.folio.rmap[mapping{s, q}] = struct{}{}
		}
	}
	s.mem.unlock()
	done()
	s.mem.migrated.Wake()
	return nil
}

// DontNeed drops the pages of [start, start+size): they read as zero afterwards (madvise MADV_DONTNEED).
func (s *Space) DontNeed(start, size uint64) error {
	if !aligned(start, size) {
		return mm.EINVAL
	}
	s.mmap.RLock()
	defer s.mmap.RUnlock()
	end := start + size
	if !s.covered(start, end) {
		return mm.ENOMEM
	}
	done := s.notifiers.Invalidate(&mm.Invalidation{Start: start, End: end, Event: mm.EventClear, Blockable: true})
	s.mem.ptl.Lock()
	for page := range s.sortedPages(start, end) {
		s.zap(page)
	}
	s.mem.unlock()
	done()
	s.mem.migrated.Wake()
	return nil
}

// Fork makes a child whose private pages are shared with the parent until one of them writes.
func (s *Space) Fork(name string) *Space {
	c := s.mem.NewSpace(name)
	s.mmap.Lock()
	defer s.mmap.Unlock()
	done := s.notifiers.Invalidate(&mm.Invalidation{Start: 0, End: ^uint64(0), Event: mm.EventProtectionPage, Blockable: true})
	s.mem.ptl.Lock()
	for g := range s.vmas.All(0, ^uint64(0)) {
		c.vmas.Insert(g.Start, g.End, g.Value)
	}
	for page := range s.sortedPages(0, ^uint64(0)) {
		p := s.ptes[page]
		p.writable = false
		switch p.state {
		case ptePresent, pteDevice:
			c.install(page, p.folio, false)
		case pteMigration:
			c.ptes[page] = &pte{state: pteMigration, folio: p.folio}
			p.folio.rmap[mapping{c, page}] = struct{}{}
		case pteSwap:
			c.ptes[page] = &pte{state: pteSwap, swap: p.swap}
		}
	}
	s.mem.unlock()
	done()
	return c
}

// Reclaim swaps out up to n system pages of [start, start+size) that nobody else holds, and returns how many.
func (s *Space) Reclaim(start, size uint64, n int) int {
	s.mmap.RLock()
	defer s.mmap.RUnlock()
	s.mem.ptl.Lock()
	var pages []uint64
	for page := range s.sortedPages(start, start+size) {
		if s.ptes[page].state == ptePresent {
			pages = append(pages, page)
		}
	}
	s.mem.unlock()
	out := 0
	for _, page := range pages {
		if out == n {
			break
		}
		a := page << mm.PageShift
		done := s.notifiers.Invalidate(&mm.Invalidation{Start: a, End: a + mm.PageSize, Event: mm.EventClear, Blockable: true})
		s.mem.ptl.Lock()
		if p := s.ptes[page]; p != nil && p.state == ptePresent && p.folio.ref == 1 && p.folio.maps == 1 {
			q := &pte{state: pteSwap, swap: append([]byte(nil), p.folio.data...), writable: p.writable}
			s.zap(page)
			s.ptes[page] = q
			out++
		}
		s.mem.unlock()
		done()
	}
	return out
}

// PageInfo is what Look tells of a page.
type PageInfo struct {
	Where    string // "hole", "ram", "vram", "swap", "moving"
	Index    uint64 // device page, or number of the system page
	Writable bool
	Ref      int
	Maps     int
}

// Look returns the state of the page at addr, for timelines and checkers.
func (s *Space) Look(addr uint64) PageInfo {
	s.mem.ptl.Lock()
	defer s.mem.unlock()
	p := s.ptes[addr>>mm.PageShift]
	if p == nil {
		return PageInfo{Where: "hole"}
	}
	return p.info()
}
