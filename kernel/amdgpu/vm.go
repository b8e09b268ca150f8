package amdgpu

import (
	"fmt"
	"math/bits"
	"sort"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"golang.org/x/sys/unix"
)

var vmClass = &sched.Class{Name: "amdgpu_vm", Rank: 710, Nests: true}

// MaxVA is one past the highest GPU virtual address that user space may map.
const MaxVA = 1 << 47

// MinVA is the lowest one (AMDGPU_VA_RESERVED_BOTTOM).
const MinVA = 64 << 10

// Extent is a run of memory as a page table sees it.
type Extent struct {
	Addr   uint64 // VRAM offset, or bus address
	Len    uint64 // bytes
	System bool
}

// PageFlags is how a mapping is to be entered into the page table: pte.Read, Write, Exec, Snooped, NoAlloc, and a cache
// policy.
type PageFlags struct {
	Flags pte.Flags
	MType pte.MType
}

// tables gives page-table memory out, page by page.
type tables interface {
	// allocTable returns a zeroed page: its VRAM address and where the host sees it.
	allocTable() (addr uint64, host unsafe.Pointer, err error)
	freeTable(addr uint64)
}

// VM is a GPU address space. Safe for concurrent use.
type VM struct {
	gen   pte.Gen
	mem   tables
	flush func(vm *VM) // returns when no translation made before is in use

	mu    sched.Mutex
	root  *table   // guarded by mu
	limbo []uint64 // tables to free after the next flush; guarded by mu
	maps  []mapping
	gone  bool // guarded by mu: Close was called

	vmid atomic.Int32 // 0: none
}

// mapping is one entry of the list of mappings, sorted by VA.
type mapping struct {
	va, size uint64
	owner    any
}

type table struct {
	addr  uint64
	ent   *[pte.TableEntries]uint64
	sub   []*table // directories only
	level pte.Level
	live  int // entries that map something or point to a table
}

// newVM makes an empty address space.
func newVM(w sched.World, gen pte.Gen, mem tables, flush func(*VM)) (*VM, error) {
	v := &VM{gen: gen, mem: mem, flush: flush, mu: w.NewMutex(vmClass)}
	var err error
	v.root, err = v.newTable(pte.PDB2)
	return v, err
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

// Base is the value of the VMID's page directory base register.
func (v *VM) Base() uint64 { return v.gen.EncodePDE(pte.Entry{Addr: v.root.addr, Flags: pte.Valid}) }

// VMID returns the hardware context the VM is bound to, 0 when it has none.
func (v *VM) VMID() uint8 { return uint8(v.vmid.Load()) }

func (t *table) store(i uint64, raw uint64) { atomic.StoreUint64(&t.ent[i], raw) }

// checkRange refuses ranges outside the address space or not page aligned: EINVAL.
func checkRange(va, size uint64) error {
	if size == 0 || (va|size)&(pte.PageSize-1) != 0 || va < MinVA || va >= MaxVA || size > MaxVA-va {
		return unix.EINVAL
	}
	return nil
}

// Map enters [va, va+size) into the page tables: the extents in order, which must be at least size long, page by page
// aligned. What was mapped there is replaced. owner is remembered for Find. Errors: EINVAL, ENOMEM (then nothing of the range is mapped).
func (v *VM) Map(va, size uint64, ext []Extent, f PageFlags, owner any) error {
	if err := checkRange(va, size); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone {
		return unix.EINVAL
	}
	end := va + size
	v.breakFragments(va, end)
	at, replaced := va, false
	for _, e := range ext {
		if at == end {
			break
		}
		n := min(e.Len, end-at)
		if (e.Addr|n)&(pte.PageSize-1) != 0 {
			v.abort(va, at)
			return unix.EINVAL
		}
		fl := f.Flags | pte.Valid
		if e.System {
			fl |= pte.System
		}
		r, err := v.enter(at, n, pte.Entry{Addr: e.Addr, Flags: fl, MType: f.MType})
		replaced = replaced || r
		if err != nil {
			v.abort(va, at+n)
			return err
		}
		at += n
	}
	if at != end {
		v.abort(va, at)
		return unix.EINVAL
	}
	v.forget(va, end)
	v.remember(mapping{va, size, owner})
	if replaced || len(v.limbo) > 0 {
		v.flushLocked()
	}
	return nil
}

// abort takes back what a failed Map has entered.
func (v *VM) abort(va, end uint64) {
	if end > va {
		_ = v.clear(v.root, va, end)
	}
	v.forget(va, end)
	v.flushLocked()
}

// Unmap clears [va, va+size) and returns when no translation of it can be in use.
func (v *VM) Unmap(va, size uint64) error {
	if err := checkRange(va, size); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone {
		return nil
	}
	v.breakFragments(va, va+size)
	if err := v.clear(v.root, va, va+size); err != nil {
		return err
	}
	v.forget(va, va+size)
	v.flushLocked()
	return nil
}

// Enter writes entries for the extents from va on, over what is there, without entering a mapping into the list and without a flush: shared
// virtual memory keeps its own books and flushes when it must.
func (v *VM) Enter(va uint64, ext []Extent, f PageFlags) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone {
		return unix.EINVAL
	}
	var size uint64
	for _, e := range ext {
		size += e.Len
	}
	if err := checkRange(va, size); err != nil {
		return err
	}
	v.breakFragments(va, va+size)
	for _, e := range ext {
		fl := f.Flags | pte.Valid
		if e.System {
			fl |= pte.System
		}
		if _, err := v.enter(va, e.Len, pte.Entry{Addr: e.Addr, Flags: fl, MType: f.MType}); err != nil {
			return err
		}
		va += e.Len
	}
	return nil
}

// Clear empties [va, va+size) without a flush. Where a huge entry would have to be split and there is no memory for a table, all of it
// goes: who uses it asks again.
func (v *VM) Clear(va, size uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone || checkRange(va, size) != nil {
		return
	}
	v.breakFragments(va, va+size)
	if v.clear(v.root, va, va+size) != nil {
		lo, hi := va&^(pte.HugeSize-1), (va+size+pte.HugeSize-1)&^(pte.HugeSize-1)
		_ = v.clear(v.root, lo, hi)
	}
}

// SetPage replaces the leaf of one page (SVM and the fault handler use it). raw entries are the caller's; flush is theirs too.
func (v *VM) SetPage(va uint64, raw uint64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone || checkRange(va&^(pte.PageSize-1), pte.PageSize) != nil {
		return unix.EINVAL
	}
	va &^= pte.PageSize - 1
	v.breakFragments(va, va+pte.PageSize)
	t, err := v.descend(va)
	if err != nil {
		return err
	}
	v.put(t, pte.PTB.Index(va), raw)
	return nil
}

// Flush waits until every cached translation of the VM is gone.
func (v *VM) Flush() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.flushLocked()
}

func (v *VM) flushLocked() {
	if v.flush != nil {
		v.flush(v)
	}
	for _, a := range v.limbo {
		v.mem.freeTable(a)
	}
	v.limbo = v.limbo[:0]
}

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

// find returns the index of the first mapping that ends after va.
func (v *VM) find(va uint64) int {
	return sort.Search(len(v.maps), func(i int) bool { return v.maps[i].va+v.maps[i].size > va })
}

// remember enters m, which overlaps nothing.
func (v *VM) remember(m mapping) {
	i := v.find(m.va)
	v.maps = append(v.maps, mapping{})
	copy(v.maps[i+1:], v.maps[i:])
	v.maps[i] = m
}

// forget cuts [va, end) out of the list of mappings.
func (v *VM) forget(va, end uint64) {
	i := v.find(va)
	for i < len(v.maps) && v.maps[i].va < end {
		m := v.maps[i]
		mend := m.va + m.size
		v.maps = append(v.maps[:i], v.maps[i+1:]...)
		if m.va < va {
			v.remember(mapping{m.va, va - m.va, m.owner})
			i++
		}
		if mend > end {
			v.remember(mapping{end, mend - end, m.owner})
		}
	}
}

// Find returns the mapping that contains va, or ok false.
func (v *VM) Find(va uint64) (start, size uint64, owner any, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := v.find(va); i < len(v.maps) && v.maps[i].va <= va {
		m := v.maps[i]
		return m.va, m.size, m.owner, true
	}
	return 0, 0, nil, false
}

// NextMapping returns the first mapping that ends after va.
func (v *VM) NextMapping(va uint64) (start, size uint64, owner any, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := v.find(va); i < len(v.maps) {
		m := v.maps[i]
		return m.va, m.size, m.owner, true
	}
	return 0, 0, nil, false
}

// Owned returns the mappings (address, size) whose owner is o, in order.
func (v *VM) Owned(o any) (out [][2]uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, m := range v.maps {
		if m.owner == o {
			out = append(out, [2]uint64{m.va, m.size})
		}
	}
	return out
}

// Overlaps reports whether something is mapped in [va, va+size).
func (v *VM) Overlaps(va, size uint64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := v.find(va)
	return i < len(v.maps) && v.maps[i].va < va+size
}

// Neighbours returns the mappings next to va: the one that ends at or before it and the one that starts after it. Sizes are 0
// where there is none.
func (v *VM) Neighbours(va uint64) (below, above [2]uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := v.find(va)
	if i > 0 {
		below = [2]uint64{v.maps[i-1].va, v.maps[i-1].size}
	}
	if i < len(v.maps) {
		above = [2]uint64{v.maps[i].va, v.maps[i].size}
	}
	return below, above
}

// Close frees all tables. Nothing may use the VM's VMID any more.
func (v *VM) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone {
		return
	}
	v.gone = true
	v.maps = nil
	v.discard(v.root)
	v.flushLocked()
}

func (v *VM) String() string { return fmt.Sprintf("vm(root %#x, vmid %d)", v.root.addr, v.VMID()) }
