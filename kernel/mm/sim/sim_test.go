package sim_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/mm/sim"
	"github.com/pumice-gpu/pumice/kernel/sched"
)

const base = 0x10000000

// device is the smallest driver: pages of its own memory, migration in and out, no GPU.
type device struct {
	w    sched.World
	m    *sim.Memory
	pm   mm.Pagemap
	mem  [][]byte
	free []uint64
}

func newDevice(w sched.World, m *sim.Memory, pages int) *device {
	d := &device{w: w, m: m}
	d.pm = m.NewPagemap(d, uint64(pages), mm.PagemapOps{MigrateToRAM: d.toRAM, Free: func(i uint64, _ any) { d.free = append(d.free, i) }})
	for i := range pages {
		d.mem = append(d.mem, make([]byte, mm.PageSize))
		d.free = append(d.free, uint64(i))
	}
	return d
}

func (d *device) in(s *sim.Space, start uint64, pages int) {
	s.MmapLock().RLock()
	defer s.MmapLock().RUnlock()
	g, err := s.MigrateSetup(&mm.MigrateRequest{Start: start, End: start + uint64(pages)<<mm.PageShift, Select: mm.SelectSystem, Owner: d})
	if err != nil {
		return
	}
	for i, p := range g.Src() {
		if !p.Migrate || len(d.free) == 0 {
			continue
		}
		idx := d.free[len(d.free)-1]
		d.free = d.free[:len(d.free)-1]
		f := d.pm.Init(idx, d)
		clear(d.mem[idx])
		if p.Folio != nil {
			copy(d.mem[idx], p.Folio.Data())
		}
		d.w.Yield("copying to the device")
		g.SetDst(i, f)
	}
	g.Pages()
	g.Finalize()
}

func (d *device) out(g mm.Migration) {
	for i, p := range g.Src() {
		if !p.Migrate {
			continue
		}
		f, err := d.m.AllocFolio()
		if err != nil {
			continue
		}
		_, idx := p.Folio.Device()
		d.w.Yield("copying from the device")
		copy(f.Data(), d.mem[idx])
		g.SetDst(i, f)
	}
	g.Pages()
	g.Finalize()
}

func (d *device) toRAM(s mm.Space, addr uint64, page mm.Folio, _ string) error {
	a := addr &^ (mm.PageSize - 1)
	g, err := s.MigrateSetup(&mm.MigrateRequest{Start: a, End: a + mm.PageSize, Select: mm.SelectDevicePrivate, Owner: d, FaultPage: page})
	if err != nil {
		return err
	}
	d.out(g)
	return nil
}

func (d *device) evict(pages []uint64) {
	var fs []mm.Folio
	for _, i := range pages {
		fs = append(fs, d.pm.Folio(i))
	}
	d.out(d.m.MigrateDevice(fs))
}

// TestContentSurvives drives random operations of several tasks on disjoint pages of one process, and of forked
// children, while a device pulls pages in and pushes them out: every load must give what was stored last.
func TestContentSurvives(t *testing.T) {
	scenario := func(w sched.World) {
		m := sim.New(w, sim.Config{})
		s := m.NewSpace("parent")
		d := newDevice(w, m, 12)
		const tasks, perTask = 3, 8
		all := uint64(tasks * perTask << mm.PageShift)
		if err := s.Mmap(base, all, mm.ProtRead|mm.ProtWrite, mm.Anon); err != nil {
			w.Fail(err)
		}
		left := tasks + 1
		end := w.NewWaitQueue("end")
		w.Go("device", false, func() {
			for range 40 {
				switch w.Rand64() % 3 {
				case 0:
					d.in(s, base+w.Rand64()%(tasks*perTask-4)<<mm.PageShift, 4)
				case 1:
					d.evict([]uint64{w.Rand64() % 12, w.Rand64() % 12})
				case 2:
					s.Reclaim(base, all, 2)
				}
			}
			left--
			end.Wake()
		})
		for id := range tasks {
			w.Go(fmt.Sprint("cpu", id), false, func() {
				model := map[uint64]uint64{}
				mine := base + uint64(id*perTask)<<mm.PageShift
				check := func(s *sim.Space, who string) {
					for a, want := range model {
						if got, err := s.Load64(a); err != nil || got != want {
							w.Fail(fmt.Errorf("%s: [%#x] = %d, %v; want %d (%+v)", who, a, got, err, want, s.Look(a)))
						}
					}
				}
				for range 40 {
					a := mine + w.Rand64()%perTask<<mm.PageShift + w.Rand64()%512*8
					switch w.Rand64() % 8 {
					case 0:
						page := a &^ (mm.PageSize - 1)
						s.DontNeed(page, mm.PageSize)
						for k := range model {
							if k&^(mm.PageSize-1) == page {
								model[k] = 0
							}
						}
					case 1:
						c := s.Fork(fmt.Sprintf("child%d.%d", id, w.Rand64()))
						for k := range model {
							if v, err := c.Load64(k); err != nil || v != model[k] {
								w.Fail(fmt.Errorf("child: [%#x] = %d, %v; want %d", k, v, err, model[k]))
							}
							if err := c.Store64(k, ^model[k]); err != nil {
								w.Fail(err)
							}
							break
						}
						c.Exit()
						check(s, "parent after fork")
					case 2:
						check(s, "cpu")
					default:
						v := w.Rand64()
						if err := s.Store64(a, v); err != nil {
							w.Fail(err)
						}
						model[a] = v
					}
				}
				check(s, "at the end")
				left--
				end.Wake()
			})
		}
		end.Wait(func() bool { return left == 0 }, sched.Forever)
		s.Exit()
		if n := m.UsedPages(); n != 0 {
			w.Fail(fmt.Errorf("%d system pages left after exit", n))
		}
		if len(d.free) != 12 {
			w.Fail(fmt.Errorf("%d of 12 device pages free after exit", len(d.free)))
		}
	}
	if f := sched.Explore(rand.Uint64()%1e9, 60, sched.SimConfig{}, scenario); f != nil {
		t.Fatal(f)
	}
}

func inWorld(t *testing.T, fn func(w sched.World)) {
	t.Helper()
	s := sched.NewSim(sched.SimConfig{Seed: 1})
	if err := s.Run(func() { fn(s) }); err != nil {
		t.Fatal(err)
	}
}

func TestRightsAndHoles(t *testing.T) {
	inWorld(t, func(w sched.World) {
		s := sim.New(w, sim.Config{}).NewSpace("p")
		s.Mmap(base, 4*mm.PageSize, mm.ProtRead|mm.ProtWrite, mm.Anon)
		s.Store64(base, 1)
		s.Mprotect(base, mm.PageSize, mm.ProtRead)
		if err := s.Store64(base, 2); !errors.Is(err, mm.ErrSIGSEGV) {
			t.Errorf("store to a read-only page: %v", err)
		}
		if v, _ := s.Load64(base); v != 1 {
			t.Errorf("read-only page holds %d, want 1", v)
		}
		s.Munmap(base+mm.PageSize, mm.PageSize)
		if _, err := s.Load64(base + mm.PageSize); !errors.Is(err, mm.ErrSIGSEGV) {
			t.Errorf("load from an unmapped page: %v", err)
		}
		if n := len(s.VMAs()); n != 2 {
			t.Errorf("%d VMAs after a hole and a split, want 2", n)
		}
		if err := s.Munmap(base+1, mm.PageSize); !errors.Is(err, mm.EINVAL) {
			t.Errorf("munmap of an unaligned address: %v", err)
		}
	})
}

// A reader between ReadBegin and ReadRetry must see every invalidation of its range, and no other.
func TestNotifierSequence(t *testing.T) {
	inWorld(t, func(w sched.World) {
		s := sim.New(w, sim.Config{}).NewSpace("p")
		s.Mmap(base, 8*mm.PageSize, mm.ProtRead|mm.ProtWrite, mm.Anon)
		var events []mm.Event
		n, err := s.NewNotifier(base, base+2*mm.PageSize, func(inv *mm.Invalidation, setSeq func()) bool {
			setSeq()
			events = append(events, inv.Event)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		seq := n.ReadBegin()
		s.Store64(base, 1)
		s.DontNeed(base+4*mm.PageSize, mm.PageSize)
		if n.ReadRetry(seq) {
			t.Error("retry after a fault and an invalidation elsewhere")
		}
		for _, step := range []struct {
			do   func()
			want mm.Event
		}{
			{func() { s.Mprotect(base, mm.PageSize, mm.ProtRead) }, mm.EventProtectionVMA},
			{func() { s.DontNeed(base, mm.PageSize) }, mm.EventClear},
			{func() { s.Fork("c") }, mm.EventProtectionPage},
			{func() { s.Munmap(base+mm.PageSize, 3*mm.PageSize) }, mm.EventUnmap},
		} {
			seq = n.ReadBegin()
			events = nil
			step.do()
			if !n.ReadRetry(seq) || len(events) != 1 || events[0] != step.want {
				t.Errorf("after %v: retry %v, events %v", step.want, n.ReadRetry(seq), events)
			}
		}
		n.Remove()
		events = nil
		s.Munmap(base, mm.PageSize)
		if events != nil {
			t.Error("callback after Remove")
		}
	})
}

func TestFaultReportsAndBusy(t *testing.T) {
	inWorld(t, func(w sched.World) {
		m := sim.New(w, sim.Config{})
		s := m.NewSpace("p")
		d := newDevice(w, m, 4)
		s.Mmap(base, 4*mm.PageSize, mm.ProtRead|mm.ProtWrite, mm.Anon)
		s.Store64(base, 7)
		d.in(s, base, 1)
		if got := s.Look(base).Where; got != "vram" {
			t.Fatalf("page is in %s after migration, want vram", got)
		}
		s.MmapLock().RLock()
		p, err := s.Fault(&mm.FaultRequest{Start: base, Pages: 2, Fault: true, Write: true, Owner: d})
		if err != nil {
			t.Fatal(err)
		}
		if pm, _ := p[0].Folio.Device(); pm != d.pm || p[1].Folio == nil || !p[1].Writable {
			t.Errorf("own device page and a hole: %+v", p)
		}
		p, err = s.Fault(&mm.FaultRequest{Start: base, Pages: 1, Fault: true})
		if err != nil {
			t.Fatal(err)
		}
		if pm, _ := p[0].Folio.Device(); pm != nil || p[0].Folio.Data()[0] != 7 {
			t.Error("a foreign device page was not brought to RAM with its content")
		}
		if _, err := s.Fault(&mm.FaultRequest{Start: base + 64*mm.PageSize, Pages: 1, Fault: true}); !errors.Is(err, mm.EFAULT) {
			t.Errorf("fault without a VMA: %v", err)
		}
		s.MmapLock().RUnlock()
	})
}

// Handing out a device page that is still mapped is the stale-mapcount bug; it must be named.
func TestStalePageIsNamed(t *testing.T) {
	s := sched.NewSim(sched.SimConfig{Seed: 1})
	err := s.Run(func() {
		m := sim.New(s, sim.Config{})
		p := m.NewSpace("p")
		d := newDevice(s, m, 1)
		p.Mmap(base, mm.PageSize, mm.ProtRead|mm.ProtWrite, mm.Anon)
		d.in(p, base, 1)
		d.pm.Init(0, nil)
	})
	var stale *sim.StalePageError
	if !errors.As(err, &stale) || stale.Maps != 1 || stale.Ref != 1 {
		t.Errorf("%v, want a stale page with refcount 1, mapcount 1", err)
	}
}

func TestTimesliceSpinsTheCPU(t *testing.T) {
	inWorld(t, func(w sched.World) {
		m := sim.New(w, sim.Config{})
		s := m.NewSpace("p")
		d := newDevice(w, m, 1)
		until := 5 * time.Millisecond
		slow := m.NewPagemap("slow", 1, mm.PagemapOps{Free: func(uint64, any) {}, MigrateToRAM: func(sp mm.Space, a uint64, f mm.Folio, _ string) error {
			if w.Now() < until {
				return nil
			}
			g, err := sp.MigrateSetup(&mm.MigrateRequest{Start: a, End: a + mm.PageSize, Select: mm.SelectDevicePrivate, Owner: "slow", FaultPage: f})
			if err == nil {
				d.out(g)
			}
			return err
		}})
		s.Mmap(base, mm.PageSize, mm.ProtRead|mm.ProtWrite, mm.Anon)
		s.MmapLock().RLock()
		g, _ := s.MigrateSetup(&mm.MigrateRequest{Start: base, End: base + mm.PageSize, Select: mm.SelectSystem, Owner: "slow"})
		g.SetDst(0, slow.Init(0, nil))
		g.Pages()
		g.Finalize()
		s.MmapLock().RUnlock()
		if _, err := s.Load64(base); err != nil {
			t.Fatal(err)
		}
		if w.Now() < until {
			t.Errorf("the load was served at %v, before the timeslice ended", w.Now())
		}
	})
}
