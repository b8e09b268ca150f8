package svmsim_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

const (
	base  = 0x10000000
	pages = 14 // for each user; not a multiple of the chunk, so that users share ranges
	rw    = mm.ProtRead | mm.ProtWrite
)

// small makes ranges of 4 pages and 1 page and windows of 16, so that few pages meet all boundaries.
func small(c svmsim.Config) svmsim.Config {
	c.Chunks = []uint64{4 * mm.PageSize, mm.PageSize}
	c.Notifier = 16 * mm.PageSize
	if c.GPUs == 0 {
		c.GPUs = 1
	}
	if c.VRAM == 0 {
		c.VRAM = 16 * mm.PageSize
	}
	return c
}

// user works on its own pages, from CPU and GPUs in turn, and knows what each word must hold.
type user struct {
	w     sched.World
	p     *svmsim.Process
	on    []*svmsim.Context
	start uint64
	model map[uint64]uint64
	xnack bool
}

func (u *user) rnd(n int) int { return int(u.w.Rand64() % uint64(n)) }

func (u *user) fail(what string, addr uint64, err error) {
	u.w.Fail(fmt.Errorf("%s at %#x: %w (CPU: %+v)", what, addr, err, u.p.Look(addr)))
}

func (u *user) check(who string, addr, got uint64) {
	if want, ok := u.model[addr]; ok && got != want {
		u.fail(who, addr, fmt.Errorf("holds %#x, want %#x", got, want))
	}
}

func (u *user) gpu() *svmsim.Context { return u.on[u.rnd(len(u.on))] }

// register makes the pages accessible again; a new mapping is not, with XNACK off.
func (u *user) register(addr, size uint64, attrs ...svm.Attr) {
	for _, c := range u.on {
		if err := c.SVM.SetAttrs(addr, size, append([]svm.Attr{{Type: svm.AttrAccess, Value: svm.AccessAllowMigrate}}, attrs...)); err != nil {
			u.fail("set attributes", addr, err)
		}
	}
}

func (u *user) step() {
	page := u.start + uint64(u.rnd(pages))<<mm.PageShift
	addr := page + uint64(u.rnd(4)*8)
	off := addr & (mm.PageSize - 1)
	v := u.w.Rand64()
	forget := func() {
		for a := range u.model {
			if a&^(mm.PageSize-1) == page {
				u.model[a] = 0
			}
		}
	}
	var err error
	what := ""
	switch u.rnd(15) {
	case 0, 1:
		what, err = "CPU store", u.p.Store64(addr, v)
		u.model[addr] = v
	case 2, 3:
		what = "CPU load"
		if v, err = u.p.Load64(addr); err == nil {
			u.check(what, addr, v)
		}
	case 4, 5, 6:
		what, err = "GPU store", u.gpu().Access(addr, true, func(b []byte) { binary.LittleEndian.PutUint64(b[off:], v) })
		u.model[addr] = v
	case 7, 8:
		what = "GPU load"
		if err = u.gpu().Access(addr, false, func(b []byte) { v = binary.LittleEndian.Uint64(b[off:]) }); err == nil {
			u.check(what, addr, v)
		}
	case 9:
		what = "prefetch"
		n := uint64(min(1+u.rnd(6), pages-int(page-u.start)>>mm.PageShift)) << mm.PageShift
		loc := uint32(u.rnd(2)) // 0 system, 1 VRAM
		err = u.gpu().SVM.SetAttrs(page, n, []svm.Attr{{Type: svm.AttrPrefetchLoc, Value: loc}})
	case 10:
		what = "preferred location, flags"
		n := uint64(min(1+u.rnd(6), pages-int(page-u.start)>>mm.PageShift)) << mm.PageShift
		err = u.gpu().SVM.SetAttrs(page, n, []svm.Attr{{Type: svm.AttrPreferredLoc, Value: uint32(u.rnd(2))}, {Type: svm.AttrCoherent, Value: uint32(u.rnd(2))}})
	case 11:
		what = "munmap, mmap"
		if err = u.p.Munmap(page, mm.PageSize); err == nil {
			if e := u.gpu().Access(addr, false, func([]byte) {}); e == nil {
				u.fail("GPU load of an unmapped page", addr, errors.New("succeeds"))
			}
			err = u.p.Mmap(page, mm.PageSize, rw, mm.Anon)
		}
		forget()
		u.register(page, mm.PageSize)
	case 12:
		what = "mprotect"
		if err = u.p.Mprotect(page, mm.PageSize, mm.ProtRead); err == nil {
			if e := u.gpu().Access(addr, true, func([]byte) {}); e == nil {
				u.fail("GPU store to a read-only page", addr, errors.New("succeeds"))
			}
			err = u.p.Mprotect(page, mm.PageSize, rw)
			u.register(page, mm.PageSize)
		}
	case 13:
		what, err = "madvise", u.p.DontNeed(page, mm.PageSize)
		forget()
	case 14:
		what = "access off and on"
		c := u.gpu()
		if err = c.SVM.SetAttrs(page, mm.PageSize, []svm.Attr{{Type: svm.AttrAccess, Value: svm.AccessNone}}); err == nil {
			if e := c.Access(addr, false, func([]byte) {}); e == nil {
				u.fail("GPU load without access", addr, errors.New("succeeds"))
			}
			u.register(page, mm.PageSize)
		}
	}
	if err != nil {
		u.fail(what, addr, err)
	}
	if err := u.p.Check(); err != nil {
		u.fail("after "+what, addr, err)
	}
}

// everything drives users, memory pressure and a second process at once.
func everything(cfg svmsim.Config, steps int) func(sched.World) {
	return func(w sched.World) {
		m := svmsim.New(w, cfg)
		p, err := m.NewProcess("p")
		if err != nil {
			w.Fail(err)
		}
		other, err := m.NewProcess("other")
		if err != nil {
			w.Fail(err)
		}
		const users = 2
		left := users + 2
		end := w.NewWaitQueue("end")
		work := func(name string, fn func()) {
			w.Go(name, false, func() { fn(); left--; end.Wake() })
		}
		userOn := func(p *svmsim.Process, id int) *user {
			u := &user{w: w, p: p, on: p.On, start: base + uint64(id*pages)<<mm.PageShift, model: map[uint64]uint64{}, xnack: cfg.XNACK}
			if err := p.Mmap(u.start, pages<<mm.PageShift, rw, mm.Anon); err != nil {
				w.Fail(err)
			}
			u.register(u.start, pages<<mm.PageShift)
			return u
		}
		for id := range users {
			u := userOn(p, id)
			work(fmt.Sprint("user", id), func() {
				for range steps {
					u.step()
				}
			})
		}
		o := userOn(other, 0)
		work("other", func() {
			for range steps {
				o.step()
			}
		})
		work("pressure", func() {
			for range steps {
				switch w.Rand64() % 3 {
				case 0, 1:
					p.Reclaim(base, users*pages<<mm.PageShift, 2)
				case 2:
					p.Fork(fmt.Sprint("child", w.Rand64())).Exit()
				}
			}
		})
		end.Wait(func() bool { return left == 0 }, sched.Forever)
		for _, u := range []*user{o} {
			for a, want := range u.model {
				if got, err := u.p.Load64(a); err != nil || got != want {
					u.fail("at the end", a, fmt.Errorf("holds %#x (%v), want %#x", got, err, want))
				}
			}
		}
		p.Close()
		other.Close()
		if n := m.Mem.UsedPages(); n != 0 {
			w.Fail(fmt.Errorf("%d system pages left", n))
		}
		for _, g := range m.GPUs {
			free, bos, _ := g.TTM.Usage()
			if free != cfg.VRAM || bos != 0 || g.Mappings() != 0 {
				w.Fail(fmt.Errorf("GPU %d: %#x of %#x bytes free, %d buffers, %d DMA mappings left", g.Index, free, cfg.VRAM, bos, g.Mappings()))
			}
		}
	}
}

// ops is how many operations a property test drives; the nightly target sets PUMICE_SVM_OPS.
func ops(t *testing.T, def int) int {
	if s := os.Getenv("PUMICE_SVM_OPS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if testing.Short() {
		return def / 10
	}
	return def
}

// TestNoByteIsLostKFD is the same on the older driver.
func TestNoByteIsLostKFD(t *testing.T) {
	for _, xnack := range []bool{true, false} {
		for _, gpus := range []int{1, 3} {
			t.Run(fmt.Sprintf("xnack=%v/gpus=%d", xnack, gpus), func(t *testing.T) {
				cfg := small(svmsim.Config{Engine: svmsim.KFD, GPUs: gpus, XNACK: xnack, Policy: svm.EvictFence, SameHive: gpus > 1})
				const steps = 50
				if f := sched.Explore(rand.Uint64()%1e9, max(ops(t, 50_000)/(4*4*steps), 1), sched.SimConfig{}, everything(cfg, steps)); f != nil {
					t.Fatal(f)
				}
			})
		}
	}
}

func TestNoByteIsLost(t *testing.T) {
	for _, xnack := range []bool{true, false} {
		for _, gpus := range []int{1, 3} {
			for _, policy := range []svm.EvictPolicy{svm.EvictSync, svm.EvictFence} {
				t.Run(fmt.Sprintf("xnack=%v/gpus=%d/policy=%d", xnack, gpus, policy), func(t *testing.T) {
					cfg := small(svmsim.Config{GPUs: gpus, XNACK: xnack, Policy: policy, SameHive: gpus > 1})
					const steps = 50
					if f := sched.Explore(rand.Uint64()%1e9, max(ops(t, 50_000)/(8*4*steps), 1), sched.SimConfig{}, everything(cfg, steps)); f != nil {
						t.Fatal(f)
					}
				})
			}
		}
	}
}
