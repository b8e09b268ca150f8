package amdgpu

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/pte"
)

// tables gives page-table memory out, page by page.
type tables interface {
	// allocTable returns a zeroed page: its VRAM address and where the host sees it.
	allocTable() (addr uint64, host unsafe.Pointer, err error)
	freeTable(addr uint64)
}

type table struct {
	addr  uint64
	ent   *[pte.TableEntries]uint64
	sub   []*table // directories only
	level pte.Level
	live  int // entries that map something or point to a table
}

func (v *VM) newTable(l pte.Level) (*table, error) {
	addr, host, err := v.mem.allocTable()
	if err != nil {
		return nil, err
	}
	t := &table{addr: addr, ent: (*[pte.TableEntries]uint64)(host), level: l}
	if l != pte.PTB {
		t.sub = make([]*table, pte.TableEntries)
	} else {
		for i := range t.ent {
			t.ent[i] = v.gen.Empty()
		}
	}
	return t, nil
}

func (t *table) store(i uint64, raw uint64) { atomic.StoreUint64(&t.ent[i], raw) }

// enter writes e over [va, va+n); replaced tells that something was there.
func (v *VM) enter(va, n uint64, e pte.Entry) (replaced bool, err error) {
	for n > 0 {
		if (va|e.Addr)&(pte.HugeSize-1) == 0 && n >= pte.HugeSize {
			h := e
			h.Flags |= pte.IsPTE
			h.Frag = fragment(va, e.Addr, n)
			// All entries of a fragment carry its size.
			for range uint64(1) << (h.Frag - pte.LevelBits) {
				dir, err := v.directory(va)
				if err != nil {
					return replaced, err
				}
				i := pte.PDB0.Index(va)
				replaced = v.dropChild(dir, i) || dir.ent[i] != 0 || replaced
				v.put(dir, i, v.gen.EncodePTE(h))
				va, n, e.Addr = va+pte.HugeSize, n-pte.HugeSize, e.Addr+pte.HugeSize
				h.Addr = e.Addr
			}
			continue
		}
		t, err := v.descend(va)
		if err != nil {
			return replaced, err
		}
		// As far as this table goes, or up to where a huge entry can start.
		run := min(n, pte.HugeSize-va&(pte.HugeSize-1))
		for run > 0 {
			p := e
			p.Frag = min(fragment(va, e.Addr, run), pte.LevelBits)
			pages := uint64(1) << p.Frag
			for i := range pages {
				at := pte.PTB.Index(va) + i
				p.Addr = e.Addr + i<<pte.PageShift
				replaced = t.ent[at] != v.gen.Empty() || replaced
				v.put(t, at, v.gen.EncodePTE(p))
			}
			b := pages << pte.PageShift
			va, n, run, e.Addr = va+b, n-b, run-b, e.Addr+b
		}
	}
	return replaced, nil
}

// fragment is the log2 of the pages of the largest naturally aligned run that starts at va and addr and is at most n bytes long.
func fragment(va, addr, n uint64) uint8 {
	f := bits.Len64(n>>pte.PageShift) - 1
	if low := (va | addr) >> pte.PageShift; low != 0 {
		f = min(f, bits.TrailingZeros64(low))
	}
	return uint8(min(f, 31))
}

// empty is what a table of level l has where nothing is mapped.
func (v *VM) empty(l pte.Level) uint64 {
	if l == pte.PTB {
		return v.gen.Empty()
	}
	return 0
}

// put stores an entry and keeps count.
func (v *VM) put(t *table, i, raw uint64) {
	was, is := t.ent[i] != v.empty(t.level), raw != v.empty(t.level)
	if was && !is {
		t.live--
	} else if !was && is {
		t.live++
	}
	t.store(i, raw)
}

// directory returns the PDB0 table of va, made if need be.
func (v *VM) directory(va uint64) (*table, error) {
	t := v.root
	for t.level != pte.PDB0 {
		i := t.level.Index(va)
		if t.sub[i] == nil {
			c, err := v.newTable(t.level + 1)
			if err != nil {
				return nil, err
			}
			t.sub[i] = c
			v.put(t, i, v.gen.EncodePDE(pte.Entry{Addr: c.addr, Flags: pte.Valid}))
		}
		t = t.sub[i]
	}
	return t, nil
}

// descend returns the PTB of va, made if need be; a huge entry in its place is split.
func (v *VM) descend(va uint64) (*table, error) {
	dir, err := v.directory(va)
	if err != nil {
		return nil, err
	}
	i := pte.PDB0.Index(va)
	if dir.sub[i] != nil {
		return dir.sub[i], nil
	}
	c, err := v.newTable(pte.PTB)
	if err != nil {
		return nil, err
	}
	if raw := dir.ent[i]; raw != 0 {
		e := v.gen.DecodePTE(raw)
		e.Flags &^= pte.IsPTE
		e.Frag = 0 // a part of it is about to change
		for j := range c.ent {
			v.put(c, uint64(j), v.gen.EncodePTE(e))
			e.Addr += pte.PageSize
		}
	}
	dir.sub[i] = c
	v.put(dir, i, v.gen.EncodePDE(pte.Entry{Addr: c.addr, Flags: pte.Valid}))
	return c, nil
}

// dropChild removes the subtree under entry i and reports whether there was one. Its pages are freed at the next flush.
func (v *VM) dropChild(t *table, i uint64) bool {
	c := t.sub[i]
	if c == nil {
		return false
	}
	t.sub[i] = nil
	v.put(t, i, 0)
	v.discard(c)
	return true
}

func (v *VM) discard(t *table) {
	for _, c := range t.sub {
		if c != nil {
			v.discard(c)
		}
	}
	v.limbo = append(v.limbo, t.addr)
}

// clear empties [va, end) below t, which covers it. Tables that become empty are dropped, but the root.
func (v *VM) clear(t *table, va, end uint64) error {
	span := uint64(1) << t.level.Shift()
	for va < end {
		i := t.level.Index(va)
		base := va &^ (span - 1)
		next := min(base+span, end)
		switch {
		case t.level == pte.PTB:
			v.put(t, i, v.gen.Empty())
		case va == base && next == base+span:
			if !v.dropChild(t, i) {
				v.put(t, i, 0)
			}
		case t.sub[i] != nil:
			if err := v.clear(t.sub[i], va, next); err != nil {
				return err
			}
			if t.sub[i].live == 0 {
				v.dropChild(t, i)
			}
		case t.ent[i] != 0:
			// A huge entry of which only a part goes.
			if _, err := v.descend(va); err != nil {
				return err
			}
			continue
		}
		va = next
	}
	return nil
}

// breakFragments makes sure that no fragment crosses va or end: an entry that is about to change must not be promised
// by its neighbours.
func (v *VM) breakFragments(va, end uint64) {
	v.breakAt(va)
	v.breakAt(end)
}

func (v *VM) breakAt(at uint64) {
	t, raw := v.leaf(at)
	if t == nil {
		return
	}
	e := v.gen.DecodePTE(raw)
	shift := uint(e.Frag) + pte.PageShift
	if e.Frag == 0 || at&(1<<shift-1) == 0 {
		return
	}
	start := at &^ (1<<shift - 1)
	for a := start; a < start+1<<shift; {
		t, raw := v.leaf(a)
		if t == nil {
			a += pte.PageSize
			continue
		}
		e := v.gen.DecodePTE(raw)
		e.Frag = uint8(t.level.Shift() - pte.PageShift)
		t.store(t.level.Index(a), v.gen.EncodePTE(e))
		a += 1 << t.level.Shift()
	}
}

// leaf finds the entry that maps va: nil when none does.
func (v *VM) leaf(va uint64) (*table, uint64) {
	if va >= MaxVA*2 {
		return nil, 0
	}
	t := v.root
	for {
		i := t.level.Index(va)
		raw := t.ent[i]
		if t.level == pte.PTB || t.level == pte.PDB0 && t.sub[i] == nil {
			if raw == v.empty(t.level) {
				return nil, 0
			}
			return t, raw
		}
		if t.sub[i] == nil {
			return nil, 0
		}
		t = t.sub[i]
	}
}

// Lookup returns the entry of the page at va, its address moved to that page; ok is false where nothing is mapped.
func (v *VM) Lookup(va uint64) (e pte.Entry, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	t, raw := v.leaf(va)
	if t == nil {
		return e, false
	}
	e = v.gen.DecodePTE(raw)
	e.Addr += va & (1<<t.level.Shift() - 1) &^ (pte.PageSize - 1)
	return e, e.Is(pte.Valid)
}
