package host

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"golang.org/x/sys/unix"
)

// pagemapT is a device's memory as pages.
type pagemapT struct {
	s      *Space
	owner  any
	pages  uint64
	ops    mm.PagemapOps
	folios map[uint64]*[chunkPages]devFolio // by index / chunkPages; guarded by ptl
}

// devFolio is a device-private page. Guarded by Space.ptl.
type devFolio struct {
	pm     *pagemapT
	index  uint64
	zdd    any
	ref    int
	locked bool
	va     uint64 // where it is mapped, 0: nowhere
}

func (f *devFolio) Device() (mm.Pagemap, uint64) { return f.pm, f.index }
func (f *devFolio) ZoneDeviceData() any          { return f.zdd }
func (f *devFolio) SetZoneDeviceData(d any)      { f.zdd = d }
func (f *devFolio) Data() []byte                 { return nil }
func (f *devFolio) RefCount() int                { return f.ref }
func (f *devFolio) MapCount() int {
	if f.va != 0 {
		return 1
	}
	return 0
}

// freed is a page whose last reference is gone: its driver is told without the PTL.
type freed struct {
	f   *devFolio
	zdd any
}

func (x freed) free() { x.f.pm.ops.Free(x.f.index, x.zdd) }

// dropTo gives a reference up and, if it was the last, appends the page to out; the PTL is held.
func (f *devFolio) dropTo(out []freed) []freed {
	f.ref--
	if f.ref > 0 {
		return out
	}
	if f.ref < 0 {
		f.pm.s.world.Fail(fmt.Errorf("mm/host: device page %d freed twice", f.index))
	}
	out = append(out, freed{f, f.zdd})
	f.zdd, f.va = nil, 0
	return out
}

// drop gives a reference up; the PTL is held. What it returns is to be called without it.
func (f *devFolio) drop() func() {
	if out := f.dropTo(nil); len(out) > 0 {
		return out[0].free
	}
	return func() {}
}

// NewPagemap makes device-private pages.
func (s *Space) NewPagemap(owner any, pages uint64, ops mm.PagemapOps) mm.Pagemap {
	return &pagemapT{s: s, owner: owner, pages: pages, ops: ops, folios: map[uint64]*[chunkPages]devFolio{}}
}

func (p *pagemapT) Owner() any { return p.owner }

// Folio returns a device page.
func (p *pagemapT) Folio(i uint64) mm.Folio {
	p.s.ptl.Lock()
	defer p.s.ptl.Unlock()
	return p.folio(i)
}

func (p *pagemapT) folio(i uint64) *devFolio {
	c := p.folios[i/chunkPages]
	if c == nil {
		c = new([chunkPages]devFolio)
		for j := range c {
			c[j].pm, c[j].index = p, i/chunkPages*chunkPages+uint64(j)
		}
		p.folios[i/chunkPages] = c
	}
	return &c[i%chunkPages]
}

// Init takes a free page into use.
func (p *pagemapT) Init(i uint64, zdd any) mm.Folio {
	p.s.ptl.Lock()
	defer p.s.ptl.Unlock()
	f := p.folio(i)
	if f.ref != 0 || f.va != 0 {
		p.s.world.Fail(fmt.Errorf("mm/host: device page %d handed out while it is in use", i))
	}
	f.ref, f.zdd, f.locked = 1, zdd, true
	return f
}

// migration is one operation between setup and finalize.
type migration struct {
	s     *Space
	va    []uint64
	src   []mm.PFN
	dst   []mm.Folio
	fault *devFolio
	outs  []*outBlock // runs of the out arena that hold the pages; page i is page i%512 of outs[i/512]
	taken []bool      // entry i says that the page migrates
	has   []bool      // the staging page of i holds memory
}

func (g *migration) Src() []mm.PFN            { return g.src }
func (g *migration) SetDst(i int, f mm.Folio) { g.dst[i] = f }
func (g *migration) Pages()                   {} // nobody can take a page away meanwhile: it is absent and its entry ours

func (s *Space) newMigration(n int) *migration {
	return &migration{s: s, va: make([]uint64, n), src: make([]mm.PFN, n), dst: make([]mm.Folio, n), taken: make([]bool, n)}
}

// stageAt is where page i is, or would be, in the out arena.
func (g *migration) stageAt(i int) uint64 {
	return g.outs[i/chunkPages].addr + uint64(i%chunkPages)<<mm.PageShift
}

// MigrateSetup collects the pages of a range and takes them out of the process.
func (s *Space) MigrateSetup(r *mm.MigrateRequest) (mm.Migration, error) {
	s.mmap.AssertRHeld()
	v, ok := s.FindVMAIn(r.Start, r.Start, r.End)
	switch {
	case !ok || v.Start > r.Start:
		return nil, mm.ENOENT
	case r.Start >= r.End || r.End > v.End || (r.Start|r.End)&(mm.PageSize-1) != 0 || !v.Anonymous():
		return nil, mm.EINVAL
	}
	g := s.newMigration(int((r.End - r.Start) >> mm.PageShift))
	for i := range g.va {
		g.va[i] = r.Start + uint64(i)<<mm.PageShift
	}
	if r.FaultPage != nil {
		g.fault = r.FaultPage.(*devFolio)
	}
	system := r.Select&mm.SelectSystem != 0
	if system {
		if v.Prot&(mm.ProtRead|mm.ProtWrite|mm.ProtExec) != mm.ProtRead|mm.ProtWrite {
			return nil, mm.EBUSY // UFFDIO_MOVE wants the staging area's rights
		}
		if err := s.watch(r.Start, r.End, true); err != nil {
			return nil, err
		}
	}
	end := s.notifiers.Invalidate(&mm.Invalidation{Start: r.Start, End: r.End, Event: mm.EventMigrate, Owner: r.Owner, Blockable: true})
	defer end()
	s.ptl.Lock()
	for i, a := range g.va {
		e := s.get(a)
		switch {
		case e.mig != nil:
		case e.dev != nil:
			if r.Select&mm.SelectDevicePrivate != 0 && e.dev.pm.owner == r.Owner {
				g.take(i, e.dev)
			}
		case system:
			g.taken[i] = true
			s.set(a, entry{mig: g})
		}
	}
	s.ptl.Unlock()
	if system {
		g.moveOut()
	}
	return g, nil
}

// take collects a device page unless somebody holds it; the PTL is held.
func (g *migration) take(i int, f *devFolio) {
	if f != g.fault {
		if f.locked {
			return
		}
		f.locked = true
	}
	g.src[i] = mm.PFN{Folio: f, Migrate: true, Writable: true}
	g.taken[i] = true
	g.s.set(f.va, entry{dev: f, mig: g})
}

// MigrateDevice collects device pages by number.
func (s *Space) MigrateDevice(pages []mm.Folio) mm.Migration {
	g := s.newMigration(len(pages))
	var lo, hi uint64
	s.ptl.Lock()
	for i, x := range pages {
		f := x.(*devFolio)
		if f.ref == 0 || f.va == 0 || s.get(f.va).mig != nil {
			continue
		}
		g.take(i, f)
		if !g.taken[i] {
			continue
		}
		g.va[i] = f.va
		if lo == 0 || f.va < lo {
			lo = f.va
		}
		hi = max(hi, f.va+mm.PageSize)
	}
	s.ptl.Unlock()
	if hi > lo {
		// The pages of one buffer stand close together: one notification for all of them.
		s.notifiers.Invalidate(&mm.Invalidation{Start: lo, End: hi, Event: mm.EventClear, Blockable: true})()
	}
	return g
}

// moveOut moves the collected system pages to the staging area. Those that cannot be moved stay.
func (g *migration) moveOut() {
	s := g.s
	g.has = make([]bool, len(g.va))
	for lo := 0; lo < len(g.va); lo += chunkPages {
		g.outs = append(g.outs, s.stage.takeOut(min(chunkPages, len(g.va)-lo)))
	}
	for i := 0; i < len(g.va); {
		if !g.taken[i] {
			i++
			continue
		}
		j := i
		for j < len(g.va) && g.taken[j] && j/chunkPages == i/chunkPages {
			j++
		}
		g.moveRun(i, j)
		i = j
	}
	for c := range g.outs {
		lo := c * chunkPages
		hi := min(lo+chunkPages, len(g.va))
		has := s.resident(g.outs[c].addr, hi-lo)
		folios := make([]sysFolio, hi-lo)
		for i := lo; i < hi; i++ {
			if !g.taken[i] {
				continue
			}
			g.src[i] = mm.PFN{Migrate: true, Writable: true}
			g.has[i] = has[i-lo]
			if has[i-lo] {
				folios[i-lo].stage = g.stageAt(i)
				g.src[i].Folio = &folios[i-lo]
			}
		}
	}
}

// moveRun moves pages i to j, which lie in one chunk.
func (g *migration) moveRun(i, j int) {
	for tries, waits := 0, 0; i < j; {
		n, e := g.s.u.move(g.stageAt(i), g.va[i], uint64(j-i)<<mm.PageShift)
		i += int(n >> mm.PageShift)
		switch {
		case e == 0:
			return
		case n > 0:
			tries = 0
		case waits < maxWaits && g.s.changing(e):
			waits++
		case tries < 3:
			tries++
			if e == unix.EBUSY { // shared with a child: make it ours
				_ = g.s.populate1(g.va[i])
			}
		default:
			g.release(i)
			i++
			tries = 0
		}
	}
}

// populate1 breaks copy-on-write on one page. The page's entry says that it migrates, but it is still there.
func (s *Space) populate1(a uint64) error {
	if _, _, e := unix.Syscall(unix.SYS_MADVISE, uintptr(a), mm.PageSize, unix.MADV_POPULATE_WRITE); e != 0 {
		return e
	}
	return nil
}

// release lets a page that was not moved go.
func (g *migration) release(i int) {
	g.s.ptl.Lock()
	g.s.set(g.va[i], entry{})
	g.s.ptl.Unlock()
	g.taken[i] = false
	g.src[i] = mm.PFN{}
	g.s.u.wake(g.va[i], g.va[i]+mm.PageSize)
}

// resident tells which of n pages at a hold something, in memory or in swap.
func (s *Space) resident(a uint64, n int) []bool {
	buf := make([]byte, 8*n)
	out := make([]bool, n)
	if m, err := unix.Pread(s.pagemapFD, buf, int64(a>>mm.PageShift)*8); err != nil || m != len(buf) {
		// Without knowledge every page counts: an empty one reads as zeroes, which is what it is.
		for i := range out {
			out[i] = true
		}
		return out
	}
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(buf[8*i:])>>62 != 0
	}
	return out
}

// Finalize puts every page at its destination, or back.
func (g *migration) Finalize() {
	s := g.s
	home := make([]int, 0, len(g.va)) // device pages that have come to a staging page
	back := make([]int, 0, 8)         // system pages that did not go
	s.ptl.Lock()
	for i := range g.va {
		if !g.taken[i] {
			continue
		}
		moved := g.src[i].Migrate && g.dst[i] != nil
		f, fromDevice := g.src[i].Folio.(*devFolio)
		switch {
		case fromDevice && moved:
			home = append(home, i)
		case fromDevice:
			s.set(g.va[i], entry{dev: f})
			if f != g.fault {
				f.locked = false
			}
		case moved:
			d := g.dst[i].(*devFolio)
			d.va, d.locked = g.va[i], false // its reference is the mapping's now
			s.set(g.va[i], entry{dev: d})
			g.dst[i] = nil
		default:
			back = append(back, i)
		}
	}
	s.ptl.Unlock()

	for i := range g.has {
		if x, _ := g.src[i].Folio.(*sysFolio); x != nil && x.now != nil {
			g.has[i] = false
		}
	}
	g.putBack(back)
	g.putHome(home)

	frees := make([]freed, 0, len(home))
	s.ptl.Lock()
	for _, i := range back {
		s.set(g.va[i], entry{})
	}
	for _, i := range home {
		f := g.src[i].Folio.(*devFolio)
		s.set(g.va[i], entry{})
		f.va = 0
		if f != g.fault {
			f.locked = false
		}
		frees = f.dropTo(frees)
	}
	s.ptl.Unlock()
	for _, x := range frees {
		x.free()
	}
	s.migrated.Wake()
	g.wake()
	g.cleanUp()
}

// wake makes threads look again that touched a page while it migrated.
func (g *migration) wake() {
	for i := 0; i < len(g.va); {
		j := i + 1
		for j < len(g.va) && g.va[j] == g.va[j-1]+mm.PageSize {
			j++
		}
		if g.va[i] != 0 {
			g.s.u.wake(g.va[i], g.va[j-1]+mm.PageSize)
		}
		i = j
	}
}

// cleanUp gives staging memory and unused destinations back.
func (g *migration) cleanUp() {
	for c, out := range g.outs {
		lo := c * chunkPages
		hi := min(lo+chunkPages, len(g.va))
		g.s.stage.giveOut(out, g.has[lo:hi])
	}
	var in, gone []uint64
	for i, f := range g.dst {
		switch x := f.(type) {
		case *sysFolio:
			if x.stage == 0 {
				break
			}
			if x.home && g.taken[i] && g.src[i].Migrate {
				gone = append(gone, x.stage)
			} else if x.home {
				in = append(in, x.stage)
			}
			x.home = false
		case *devFolio:
			g.s.PutFolio(x)
		}
	}
	slices.Sort(in)
	slices.Sort(gone)
	if len(in) > 0 {
		g.s.stage.giveIn(in, false)
	}
	if len(gone) > 0 {
		g.s.stage.giveIn(gone, true)
	}
}

// putBack returns system pages from the out arena to the process.
func (g *migration) putBack(pages []int) {
	for k := 0; k < len(pages); {
		i := pages[k]
		f, _ := g.src[i].Folio.(*sysFolio)
		if f == nil { // a hole stays one
			k++
			continue
		}
		if f.now != nil { // it was on a device already
			g.s.bring(g.va[i], f.now, mm.PageSize)
			k++
			continue
		}
		j := k + 1
		for j < len(pages) && pages[j] == pages[j-1]+1 && g.stays(pages[j]) && pages[j]/chunkPages == i/chunkPages {
			j++
		}
		g.s.place(g.va[i], g.stageAt(i), uint64(j-k)<<mm.PageShift)
		for ; k < j; k++ {
			g.has[pages[k]] = false
		}
	}
}

// stays reports whether page i is a staging page still.
func (g *migration) stays(i int) bool {
	f, _ := g.src[i].Folio.(*sysFolio)
	return f != nil && f.now == nil
}

// putHome puts filled pages into the process, as many at a time as lie together.
func (g *migration) putHome(pages []int) {
	for k := 0; k < len(pages); {
		at, first := g.va[pages[k]], g.dst[pages[k]].(*sysFolio)
		n := uint64(mm.PageSize)
		for k++; k < len(pages); k++ {
			x := g.dst[pages[k]].(*sysFolio)
			if g.va[pages[k]] != at+n || (x.stage == 0) != (first.stage == 0) ||
				x.stage != 0 && x.stage != first.stage+n || x.stage == 0 && x.src != unsafe.Add(first.src, n) {
				break
			}
			n += mm.PageSize
		}
		switch {
		case first.stage != 0:
			g.s.place(at, first.stage, n)
		case g.s.devices.contains(addressOf(first.src)):
			g.s.bring(at, first.src, n)
		default:
			g.s.make(at, first.src, n)
		}
	}
}

// changing reports that a call on the descriptor failed only because another thread's munmap, mremap or fork is under way, and waits a moment. The
// kernel refuses all calls, wherever they go, until the reader has read that thread's message, however long this takes; to give a page up
// then would lose its content.
func (s *Space) changing(e unix.Errno) bool {
	if e != unix.EAGAIN && e != unix.EINTR {
		return false
	}
	s.world.Sleep(changeDelay)
	return true
}

const (
	changeDelay = 5 * time.Microsecond
	maxWaits    = 10000 // of a page that may as well stay
)

// make has the kernel make n bytes of pages with the content of src. Pages whose VMA is gone are dropped.
func (s *Space) make(to uint64, src unsafe.Pointer, n uint64) {
	for n > 0 {
		d, e := s.u.copy(to, src, n)
		to, src, n = to+d, unsafe.Add(src, d), n-d
		if n > 0 && d == 0 && !s.changing(e) {
			to, src, n = to+mm.PageSize, unsafe.Add(src, mm.PageSize), n-mm.PageSize
		}
	}
}

// place moves n bytes of staging pages to where they belong in the process. Pages whose VMA is gone are dropped; where rights do
// not match, they are copied.
func (s *Space) place(to, from, n uint64) {
	for n > 0 {
		d, e := s.u.move(to, from, n)
		if e == 0 {
			return
		}
		to, from, n = to+d, from+d, n-d
		if d > 0 || s.changing(e) {
			continue
		}
		s.make(to, unsafe.Pointer(&memory(from, mm.PageSize)[0]), mm.PageSize)
		s.stage.empty(from)
		to, from, n = to+mm.PageSize, from+mm.PageSize, n-mm.PageSize
	}
}
