package svmsim_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// words is how many 8-byte words of a page are used.
const words = 4

// pageModel is what a page must be: content, rights and attributes. It knows nothing of ranges.
type pageModel struct {
	word  [words]uint64
	prot  mm.Prot
	attrs []svm.Attrs // by GPU
	// listed says that the driver is sure to have attributes of the page's own: nobody has mapped it anew since they were set.
	listed bool
	// sure says, by GPU and with XNACK off, that the page was registered since its mapping last changed: it is mapped. If not, nobody has
	// promised anything.
	sure []bool
	// failed says, by GPU, that a call for the page returned an error: attributes are set, but perhaps not carried out, until a call that maps
	// succeeds.
	failed []bool
}

// user is a thread that works on its own pages, from CPU and GPUs in turn, and knows what each must be. Other users' pages lie in the same
// ranges.
type user struct {
	w        sched.World
	cfg      svmsim.Config
	p        *svmsim.Process
	on       []*svmsim.Context
	start    uint64
	page     [pages]pageModel
	defaults []svm.Attrs
	forks    int
	log      *[]string // the last operations of all users, for messages
}

func newUser(w sched.World, cfg svmsim.Config, p *svmsim.Process, start uint64, log *[]string) *user {
	u := &user{w: w, cfg: cfg, p: p, on: p.On, start: start, log: log}
	if err := p.Mmap(start, pages<<mm.PageShift, rw, mm.Anon); err != nil {
		w.Fail(err)
	}
	for _, c := range u.on {
		a, err := c.SVM.GetAttrs(start, mm.PageSize)
		if err != nil {
			w.Fail(err)
		}
		u.defaults = append(u.defaults, a)
	}
	for i := range u.page {
		u.page[i] = pageModel{prot: rw, attrs: append([]svm.Attrs(nil), u.defaults...), sure: make([]bool, len(u.on)), failed: make([]bool, len(u.on))}
	}
	u.register(0, pages)
	if u.rnd(2) == 0 { // video memory is soon full
		u.set(u.rnd(len(u.on)), 0, pages, svm.Attr{Type: svm.AttrPreferredLoc, Value: 1})
	}
	return u
}

func (u *user) rnd(n int) int { return int(u.w.Rand64() % uint64(n)) }

func (u *user) addr(i int) uint64 { return u.start + uint64(i)<<mm.PageShift }

func (u *user) fail(what string, addr uint64, err error) {
	look := u.p.Look(addr)
	u.w.Fail(fmt.Errorf("%s at %#x: %w (CPU: %+v)\nlast operations:\n%s", what, addr, err, look, strings.Join(*u.log, "\n")))
}

// note remembers an operation.
func (u *user) note(format string, args ...any) {
	const most = 40
	*u.log = append(*u.log, fmt.Sprintf("%s %#x: ", u.p.Name, u.start)+fmt.Sprintf(format, args...))
	*u.log = (*u.log)[max(len(*u.log)-most, 0):]
}

// set gives n pages from i on attributes on a GPU.
func (u *user) set(gpu, i, n int, list ...svm.Attr) {
	u.note("set %#x, %d pages: %v on GPU %d", u.addr(i), n, list, gpu)
	err := u.on[gpu].SVM.SetAttrs(u.addr(i), uint64(n)<<mm.PageShift, list)
	accessible := true
	for k := i; k < i+n; k++ {
		accessible = accessible && u.page[k].prot != 0
	}
	// The older driver also says when a neighbour, which it had to split, cannot be mapped; what the call is about is done then.
	done := err == nil || !u.faulty() && accessible && u.cfg.Engine == svmsim.KFD && u.someInaccessible()
	if !done && !u.faulty() && (accessible || !errors.Is(err, mm.EFAULT) && !errors.Is(err, mm.EPERM)) {
		u.fail("set attributes", u.addr(i), err)
	}
	was := u.page
	for k := range was {
		was[k].attrs = append([]svm.Attrs(nil), was[k].attrs...)
	}
	for k := i; k < i+n; k++ {
		m := &u.page[k]
		m.listed = done
		for g := range u.on {
			if g == gpu || u.cfg.Engine == svmsim.KFD { // whose attributes are those of all GPUs
				m.failed[g] = !done || m.failed[g] && !maps(list)
			}
		}
		for _, x := range list {
			for g := range u.on {
				// The older driver has one set of attributes for all GPUs, but for access.
				if g != gpu && (u.cfg.Engine == svmsim.DRM || x.Type == svm.AttrAccess) {
					continue
				}
				a := &m.attrs[g]
				if x.Type <= svm.AttrPrefetchLoc && x.Value == 1 {
					x.Value += uint32(gpu) // which GPU's memory: the older driver knows several
				}
				switch x.Type {
				case svm.AttrPreferredLoc:
					a.Preferred = x.Value
				case svm.AttrPrefetchLoc:
					a.Prefetch = x.Value
				case svm.AttrAccess:
					a.Access = x.Value
					m.sure[g] = done
				case svm.AttrGranularity:
					a.Granularity = x.Value
				default:
					bit := uint32(1) << (x.Type - svm.AttrHostAccess)
					a.Flags &^= bit
					if x.Value != 0 {
						a.Flags |= bit
					}
				}
			}
		}
	}
	if err != nil && (u.cfg.Engine == svmsim.DRM || u.faulty()) {
		// Stretches are done in order; those after the one that fails keep what they had.
		for k := i; k < i+n; k++ {
			for g := range u.on {
				u.page[k].sure[g] = u.page[k].sure[g] && g != gpu && u.cfg.Engine == svmsim.DRM
			}
		}
		for k := i; k < i+n; k++ {
			got, e := u.on[gpu].SVM.GetAttrs(u.addr(k), mm.PageSize)
			// What the call wants, what was there before, or what a hole has that could not be filled.
			ok := false
			for _, c := range [][]svm.Attrs{u.page[k].attrs, was[k].attrs, u.defaults} {
				if ok = e == nil && got == seen(c[gpu]); ok {
					u.page[k].attrs = append([]svm.Attrs(nil), c...)
					break
				}
			}
			if !ok {
				u.fail("attributes after an error", u.addr(k), fmt.Errorf("are %v (%v), were %v", got, e, was[k].attrs[gpu]))
			}
		}
	}
}

// maps says whether a call with these attributes brings page tables up to date. The others only move pages, or say where they belong.
func maps(list []svm.Attr) bool {
	for _, x := range list {
		if x.Type == svm.AttrAccess || x.Type >= svm.AttrHostAccess {
			return true
		}
	}
	return false
}

// seen are attributes as the driver tells them: video memory, not whose.
func seen(a svm.Attrs) svm.Attrs {
	for _, l := range []*uint32{&a.Preferred, &a.Prefetch} {
		if *l != svm.LocUndefined {
			*l = min(*l, 1)
		}
	}
	return a
}

// faulty says that any operation may fail, for lack of something.
func (u *user) faulty() bool { return u.cfg.Fail != nil }

// someInaccessible says whether some mapping of the process has no rights.
func (u *user) someInaccessible() bool {
	for _, v := range u.p.VMAs() {
		if v.Prot == 0 {
			return true
		}
	}
	return false
}

// register makes pages accessible again; a new mapping is not, with XNACK off.
func (u *user) register(i, n int) {
	for g := range u.on {
		u.set(g, i, n, svm.Attr{Type: svm.AttrAccess, Value: svm.AccessAllowMigrate})
	}
}

// changed says that the mapping of pages is another: with XNACK off they must be registered again.
func (u *user) changed(i, n int) {
	for k := i; k < i+n; k++ {
		clear(u.page[k].sure)
	}
}

// remapped says that what was mapped at pages is gone. The older driver forgets their attributes.
func (u *user) remapped(i, n int) {
	u.changed(i, n)
	if u.cfg.Engine == svmsim.KFD {
		for k := i; k < i+n; k++ {
			copy(u.page[k].attrs, u.defaults)
			u.page[k].listed = false
		}
	}
}

// may says whether a GPU's access to a page succeeds; known is false when nobody has promised either.
func (u *user) may(gpu, i int, write bool) (ok, known bool) {
	m := &u.page[i]
	a := m.attrs[gpu]
	switch {
	case m.prot&mm.ProtRead == 0, write && m.prot&mm.ProtWrite == 0:
		return false, true
	case m.failed[gpu]:
		return false, false
	case a.Access == svm.AccessNone, write && a.Flags&svm.FlagGPURO != 0:
		return false, true
	case !u.cfg.XNACK && !m.sure[gpu]:
		return false, false
	}
	return true, true
}

// gpu is an access of a GPU.
func (u *user) gpu(i int, write bool) {
	g, k, v := u.rnd(len(u.on)), u.rnd(words), u.w.Rand64()
	addr := u.addr(i) + uint64(8*k)
	u.note("GPU %d %#x, write %v", g, addr, write)
	err := u.on[g].Access(addr, write, func(b []byte) {
		if write {
			binary.LittleEndian.PutUint64(b[8*k:], v)
		} else {
			v = binary.LittleEndian.Uint64(b[8*k:])
		}
	})
	ok, known := u.may(g, i, write)
	what := fmt.Sprintf("access of GPU %d (write %v)", g, write)
	switch {
	case known && ok && err != nil && !u.faulty():
		u.fail(what, addr, err)
	case known && !ok && err == nil:
		u.fail(what, addr, fmt.Errorf("succeeds; rights %d, attributes %v", u.page[i].prot, u.page[i].attrs[g]))
	case err != nil:
	case write:
		u.page[i].word[k] = v
	case v != u.page[i].word[k]:
		u.fail(what, addr, fmt.Errorf("holds %#x, want %#x", v, u.page[i].word[k]))
	}
}

// cpu is an access of the CPU.
func (u *user) cpu(i int, write bool) {
	k, v := u.rnd(words), u.w.Rand64()
	addr := u.addr(i) + uint64(8*k)
	u.note("CPU %#x, write %v", addr, write)
	m := &u.page[i]
	var err error
	what, ok := "CPU load", m.prot&mm.ProtRead != 0
	if write {
		what, ok = "CPU store", m.prot&mm.ProtWrite != 0
		err = u.p.Store64(addr, v)
	} else {
		v, err = u.p.Load64(addr)
	}
	switch {
	case ok != (err == nil) && !(ok && u.faulty()):
		u.fail(what, addr, fmt.Errorf("gives %v; rights %d", err, m.prot))
	case err != nil:
	case write:
		m.word[k] = v
	case v != m.word[k]:
		u.fail(what, addr, fmt.Errorf("holds %#x, want %#x", v, m.word[k]))
	}
}

// fork makes a child that has what the parent had, and writes where the parent does not see it.
func (u *user) fork() {
	u.forks++
	was := u.page
	c := u.p.Fork(fmt.Sprintf("%s at %#x, child %d", u.p.Name, u.start, u.forks))
	for range 3 {
		i, k := u.rnd(pages), u.rnd(words)
		addr := u.addr(i) + uint64(8*k)
		v, err := c.Load64(addr)
		switch readable := was[i].prot&mm.ProtRead != 0; {
		case readable != (err == nil) && !(readable && u.faulty()):
			u.fail("load of a child", addr, fmt.Errorf("gives %v; rights %d", err, was[i].prot))
		case err == nil && v != was[i].word[k]:
			u.fail("load of a child", addr, fmt.Errorf("holds %#x, want %#x", v, was[i].word[k]))
		}
		if was[i].prot&mm.ProtWrite != 0 {
			if err := c.Store64(addr, u.w.Rand64()); err != nil && !u.faulty() {
				u.fail("store of a child", addr, err)
			}
			u.cpuSees(i, k)
		}
		u.gpu(i, u.rnd(2) == 0)
		was[i].word = wordsOf(c, u.addr(i), was[i])
	}
	c.Exit()
}

// wordsOf reads a page of a child, where it may.
func wordsOf(c interface{ Load64(uint64) (uint64, error) }, addr uint64, m pageModel) [words]uint64 {
	for k := range m.word {
		if v, err := c.Load64(addr + uint64(8*k)); err == nil {
			m.word[k] = v
		}
	}
	return m.word
}

// cpuSees compares a word of the parent.
func (u *user) cpuSees(i, k int) {
	addr := u.addr(i) + uint64(8*k)
	if v, err := u.p.Load64(addr); err != nil && !u.faulty() || err == nil && v != u.page[i].word[k] {
		u.fail("after a store of a child", addr, fmt.Errorf("holds %#x (%v), want %#x", v, err, u.page[i].word[k]))
	}
}

// attrs compares what the driver says of n pages with the model.
func (u *user) attrs(i, n int) {
	g := u.rnd(len(u.on))
	got, err := u.on[g].SVM.GetAttrs(u.addr(i), uint64(n)<<mm.PageShift)
	if err != nil {
		u.fail("get attributes", u.addr(i), err)
	}
	for k := i; k < i+n && u.cfg.Engine == svmsim.KFD; k++ {
		if !u.page[k].listed {
			return // the older driver answers for what it has in the list, which a fault may have entered
		}
	}
	if u.faulty() && u.cfg.Engine == svmsim.KFD {
		got.Preferred, got.Prefetch = 0, 0 // a call that fails in the middle leaves another GPU's memory, perhaps
	}
	want := u.page[i].attrs[g]
	for k := i + 1; k < i+n; k++ {
		a := u.page[k].attrs[g]
		if a.Preferred != want.Preferred {
			want.Preferred = svm.LocUndefined
		}
		if a.Prefetch != want.Prefetch {
			want.Prefetch = svm.LocUndefined
		}
		if a.Access != want.Access {
			want.Access = svm.AccessNone
		}
		want.Flags &= a.Flags
		want.Granularity = min(want.Granularity, a.Granularity)
	}
	want = seen(want)
	if u.faulty() && u.cfg.Engine == svmsim.KFD {
		want.Preferred, want.Prefetch = 0, 0
	}
	if got != want {
		u.fail("get attributes", u.addr(i), fmt.Errorf("of %d pages: %v, prefetch %d, want %v, prefetch %d", n, got, got.Prefetch, want, want.Prefetch))
	}
}

func (u *user) checkAll() {
	for i := range u.page {
		for k := range words {
			if u.page[i].prot&mm.ProtRead != 0 {
				u.cpuSees(i, k)
			}
		}
	}
}

// zero makes pages empty.
func (u *user) zero(i, n int) {
	for k := i; k < i+n; k++ {
		u.page[k].word = [words]uint64{}
	}
}

// opNames are those of step's operations from 13 on.
var opNames = [...]string{"munmap", "mprotect", "mprotect", "madvise", "mremap", "fork", "attributes of", "attributes of", "reset"}

// step does one operation on some of the pages.
func (u *user) step() {
	i := u.rnd(pages)
	n := 1 + u.rnd(min(6, pages-i))
	addr, size := u.addr(i), uint64(n)<<mm.PageShift
	gpu := u.rnd(len(u.on))
	var err error
	what := ""
	op := u.rnd(22)
	if op >= 13 {
		u.note("%s %#x, %d pages", opNames[op-13], addr, n)
	}
	switch op {
	case 0, 1:
		u.cpu(i, true)
	case 2, 3:
		u.cpu(i, false)
	case 4, 5, 6:
		u.gpu(i, true)
	case 7, 8:
		u.gpu(i, false)
	case 9:
		u.set(gpu, i, n, svm.Attr{Type: svm.AttrPrefetchLoc, Value: uint32(u.rnd(2))})
	case 10:
		u.set(gpu, i, n, svm.Attr{Type: svm.AttrPreferredLoc, Value: []uint32{0, 1, svm.LocUndefined}[u.rnd(3)]},
			svm.Attr{Type: svm.AttrGranularity, Value: uint32(u.rnd(4))})
	case 11:
		t := []svm.AttrType{svm.AttrCoherent, svm.AttrExtCoherent, svm.AttrGPURO, svm.AttrGPUExec, svm.AttrGPUReadMostly, svm.AttrHiveLocal, svm.AttrHostAccess}[u.rnd(7)]
		u.set(gpu, i, n, svm.Attr{Type: t, Value: uint32(u.rnd(2))})
		u.gpu(i, true)
	case 12:
		u.set(gpu, i, n, svm.Attr{Type: svm.AttrAccess, Value: uint32(u.rnd(3))})
	case 13:
		what = "munmap, mmap"
		kind := []mm.Kind{mm.Anon, mm.Anon, mm.Heap, mm.File}[u.rnd(4)]
		if kind == mm.Heap && u.cfg.Engine == svmsim.DRM {
			kind = mm.Anon // after a reset, a fault makes attributes of its own for a heap
		}
		if err = u.p.Munmap(addr, size); err == nil {
			if e := u.on[gpu].Access(addr, false, func([]byte) {}); e == nil {
				u.fail("GPU load of an unmapped page", addr, errors.New("succeeds"))
			}
			err = u.p.Mmap(addr, size, rw, kind)
		}
		for k := i; k < i+n; k++ {
			u.page[k].prot = rw
		}
		u.zero(i, n)
		u.remapped(i, n)
		if kind != mm.Heap && u.rnd(3) == 0 { // by the defaults: with XNACK a GPU may access it all the same
			u.gpu(i, u.rnd(2) == 0)
		} else {
			u.register(i, n)
		}
	case 14, 15:
		what = "mprotect"
		prot := []mm.Prot{0, mm.ProtRead, rw, rw}[u.rnd(4)]
		err = u.p.Mprotect(addr, size, prot)
		for k := i; k < i+n; k++ {
			u.page[k].prot = prot
		}
		u.changed(i, n)
		u.gpu(i, u.rnd(2) == 0)
		if prot != 0 && u.rnd(3) > 0 {
			u.register(i, n)
		}
	case 16:
		what, err = "madvise", u.p.DontNeed(addr, size)
		u.zero(i, n)
	case 17:
		j := u.rnd(pages - n + 1)
		if j < i+n && i < j+n {
			break
		}
		what, err = "mremap", u.p.Mremap(addr, size, u.addr(j))
		if err == nil {
			err = u.p.Mmap(addr, size, rw, mm.Anon)
		}
		for k := range n {
			from, to := &u.page[i+k], &u.page[j+k]
			to.word, to.prot = from.word, from.prot
			from.word, from.prot = [words]uint64{}, rw
		}
		u.remapped(i, n)
		u.remapped(j, n)
		u.register(i, n)
		u.register(j, n)
	case 18:
		u.fork()
	case 19, 20:
		u.attrs(i, n)
	case 21:
		if u.cfg.Engine == svmsim.DRM {
			what, err = "reset attributes", u.on[gpu].SVM.ResetAttrs(addr, size)
			for k := i; k < i+n; k++ {
				u.page[k].attrs[gpu] = u.defaults[gpu]
				u.page[k].sure[gpu], u.page[k].failed[gpu] = false, err != nil
			}
		}
	}
	if err != nil && !(op == 21 && u.faulty()) {
		u.fail(what, addr, err)
	}
	if err := u.p.Check(); err != nil {
		u.fail("after "+what, addr, err)
	}
}
