package sim

import (
	"fmt"
	"sort"

	"github.com/pumice-gpu/pumice/kernel/mm"
)

// migration is one migrate_vma or migrate_device operation.
type migration struct {
	mem   *Memory
	space *Space // nil: by page
	start uint64
	src   []mm.PFN
	dst   []mm.Folio
	fault *folio // locked by our caller, who also holds a reference
	done  []bool // hole filled by Pages
}

func (g *migration) Src() []mm.PFN            { return g.src }
func (g *migration) SetDst(i int, f mm.Folio) { g.dst[i] = f }

// MigrateSetup collects, locks and unmaps. A file's pages can stand in the range, but none takes part: only private anonymous memory becomes
// device-private.
func (s *Space) MigrateSetup(r *mm.MigrateRequest) (mm.Migration, error) {
	s.mmap.AssertRHeld()
	v, ok := s.vmaAt(r.Start)
	switch {
	case !ok:
		return nil, mm.ENOENT
	case r.Start >= r.End || r.End > v.End || r.Start&(mm.PageSize-1) != 0 || r.End&(mm.PageSize-1) != 0, v.Kind == mm.IO, v.Kind == mm.HugeTLB:
		return nil, mm.EINVAL
	}
	n := int((r.End - r.Start) >> mm.PageShift)
	g := &migration{mem: s.mem, space: s, start: r.Start, src: make([]mm.PFN, n), dst: make([]mm.Folio, n), done: make([]bool, n)}
	if r.FaultPage != nil {
		g.fault = r.FaultPage.(*folio)
	}
	end := s.notifiers.Invalidate(&mm.Invalidation{Start: r.Start, End: r.End, Event: mm.EventMigrate, Owner: r.Owner, Blockable: true})
	s.mem.ptl.Lock()
	for i := range g.src {
		page := r.Start>>mm.PageShift + uint64(i)
		p := s.ptes[page]
		switch {
		case !v.Anonymous():
			continue
		case p == nil:
			if r.Select&mm.SelectSystem != 0 {
				g.src[i] = mm.PFN{Migrate: true, Writable: v.Prot&mm.ProtWrite != 0}
			}
			continue
		case p.state == ptePresent && r.Select&mm.SelectSystem != 0:
		case p.state == pteDevice && r.Select&mm.SelectDevicePrivate != 0 && p.folio.pm.owner == r.Owner:
		default:
			continue
		}
		f := p.folio
		if f != g.fault && !f.lock.TryLock() {
			continue
		}
		if s.ptes[page] != p || p.folio != f || p.state == pteMigration { // changed while TryLock let others run
			if f != g.fault {
				f.lock.Unlock()
			}
			continue
		}
		f.ref++
		g.src[i] = mm.PFN{Folio: f, Migrate: true, Writable: p.writable}
		if f.maps == 1 {
			s.toMigration(mapping{s, page})
		}
	}
	s.mem.unlock()
	end()
	g.unmap()
	return g, nil
}

// MigrateDevice collects pages by number, for eviction.
func (m *Memory) MigrateDevice(pages []mm.Folio) mm.Migration {
	g := &migration{mem: m, src: make([]mm.PFN, len(pages)), dst: make([]mm.Folio, len(pages)), done: make([]bool, len(pages))}
	for i, x := range pages {
		f := x.(*folio)
		m.ptl.Lock()
		live := f.ref > 0
		if live {
			f.ref++
		}
		m.unlock()
		if !live {
			continue
		}
		if !f.lock.TryLock() {
			m.ptl.Lock()
			m.put(f)
			m.unlock()
			continue
		}
		g.src[i] = mm.PFN{Folio: f, Migrate: true}
	}
	g.unmap()
	return g
}

// toMigration replaces one mapping by a migration entry (part of try_to_migrate); the PTL is held.
func (s *Space) toMigration(k mapping) {
	p := k.space.ptes[k.page]
	p.state = pteMigration
	p.folio.maps--
	s.mem.put(p.folio)
}

// unmap takes away the remaining mappings of every collected page, in every process, and gives up on pages that
// somebody else holds.
func (g *migration) unmap() {
	m := g.mem
	for i := range g.src {
		if g.src[i].Folio == nil {
			continue
		}
		f := g.src[i].Folio.(*folio)
		m.ptl.Lock()
		for _, k := range f.mappings() {
			p := k.space.ptes[k.page]
			if p == nil || p.folio != f || p.state == pteMigration {
				continue
			}
			m.unlock()
			a := k.page << mm.PageShift
			end := k.space.notifiers.Invalidate(&mm.Invalidation{Start: a, End: a + mm.PageSize, Event: mm.EventClear, Blockable: true})
			m.ptl.Lock()
			if p := k.space.ptes[k.page]; p != nil && p.folio == f && (p.state == ptePresent || p.state == pteDevice) {
				k.space.toMigration(k)
			}
			m.unlock()
			end()
			m.ptl.Lock()
		}
		ok := f.maps == 0 && f.ref == g.expected(f)
		m.unlock()
		if !ok {
			g.giveUp(i)
		}
	}
}

// expected is the reference count of a page that nobody but this migration (and the fault that asks for it) holds.
func (g *migration) expected(f *folio) int {
	if f == g.fault {
		return 2
	}
	return 1
}

// mappings returns where f is mapped, in a fixed order; the PTL is held.
func (f *folio) mappings() []mapping {
	var ks []mapping
	for k := range f.rmap {
		ks = append(ks, k)
	}
	sort.Slice(ks, func(i, j int) bool {
		if ks[i].space != ks[j].space {
			return ks[i].space.name < ks[j].space.name
		}
		return ks[i].page < ks[j].page
	})
	return ks
}

// giveUp puts the page at i back and takes it out of the migration.
func (g *migration) giveUp(i int) {
	f := g.src[i].Folio.(*folio)
	g.restore(f, f)
	g.release(f)
	g.src[i] = mm.PFN{}
}

// restore turns migration entries of src into entries of dst (remove_migration_ptes).
func (g *migration) restore(src, dst *folio) {
	m := g.mem
	m.ptl.Lock()
	for _, k := range src.mappings() {
		p := k.space.ptes[k.page]
		if p == nil || p.folio != src || p.state != pteMigration {
			continue
		}
		writable := p.writable
		delete(src.rmap, k)
		delete(k.space.ptes, k.page)
		k.space.install(k.page, dst, writable)
	}
	m.unlock()
	m.migrated.Wake()
}

// release unlocks a source page and drops the migration's reference.
func (g *migration) release(f *folio) {
	if f != g.fault {
		f.lock.Unlock()
	}
	g.mem.ptl.Lock()
	g.mem.put(f)
	g.mem.unlock()
}

// Pages checks that each page can still move, and fills holes.
func (g *migration) Pages() {
	m := g.mem
	for i := range g.src {
		if !g.src[i].Migrate || g.dst[i] == nil {
			continue
		}
		d := g.dst[i].(*folio)
		m.ptl.Lock()
		if g.src[i].Folio == nil {
			page := g.start>>mm.PageShift + uint64(i)
			if g.space.ptes[page] == nil && g.space.users > 0 {
				g.space.install(page, d, g.src[i].Writable)
				g.done[i] = true
			} else {
				g.src[i].Migrate = false
			}
		} else if f := g.src[i].Folio.(*folio); f.maps != 0 || f.ref != g.expected(f) {
			g.src[i].Migrate = false
		}
		m.unlock()
	}
}

// Finalize ends the migration.
func (g *migration) Finalize() {
	for i := range g.src {
		moved := g.src[i].Migrate && g.dst[i] != nil
		if g.src[i].Folio != nil {
			f := g.src[i].Folio.(*folio)
			to := f
			if moved {
				to = g.dst[i].(*folio)
			}
			if to == f && f.ref == 0 {
				g.mem.world.Fail(fmt.Errorf("mm: migration of freed %v", f))
			}
			g.restore(f, to)
			g.release(f)
		}
		if g.dst[i] != nil {
			g.mem.PutFolio(g.dst[i])
		}
	}
}
