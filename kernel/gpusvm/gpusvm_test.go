package gpusvm_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pumice-gpu/pumice/kernel/gpusvm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/mm/sim"
	"github.com/pumice-gpu/pumice/kernel/pagemap"
	"github.com/pumice-gpu/pumice/kernel/sched"
)

const (
	base  = 0x40000000
	chunk = 4 * mm.PageSize // largest range
)

var driverLockClass = &sched.Class{Name: "driver svm_lock", Rank: 100}

// gpu is a driver reduced to what gpusvm asks of one: a page table, a lock, VRAM.
type gpu struct {
	w     sched.World
	m     *sim.Memory
	s     *sim.Space
	lock  sched.RWSem
	svm   *gpusvm.SVM
	pm    *pagemap.Pagemap
	vram  [][]byte
	free  []uint64
	live  map[*pagemap.Devmem][]uint64
	pt    map[uint64]pte // GPU page table, by page number
	sys   map[uint64]mm.Folio
	next  uint64
	queue []*gpusvm.Range // to be removed
}

type pte struct {
	addr  pagemap.Addr
	write bool
}

func newGPU(w sched.World, m *sim.Memory, s *sim.Space, vramPages int) *gpu {
	d := &gpu{w: w, m: m, s: s, lock: w.NewRWSem(driverLockClass), live: map[*pagemap.Devmem][]uint64{},
		pt: map[uint64]pte{}, sys: map[uint64]mm.Folio{}}
	d.pm = pagemap.New(w, m, d, uint64(vramPages), d)
	for i := range vramPages {
		d.vram = append(d.vram, make([]byte, mm.PageSize))
		d.free = append(d.free, uint64(i))
	}
	var err error
	d.svm, err = gpusvm.New(gpusvm.Config{Name: "test", Space: s, Start: 0, Size: 1 << 47, NotifierSize: 1 << 16,
		Chunks: []uint64{chunk, mm.PageSize}, DriverLock: d.lock, Ops: gpusvm.Ops{Invalidate: d.invalidate}})
	if err != nil {
		w.Fail(err)
	}
	return d
}

func (d *gpu) MapPage(f mm.Folio, write bool) (pagemap.Addr, error) {
	d.next++
	d.sys[d.next] = f
	return pagemap.Addr{Addr: d.next, Proto: pagemap.System}, nil
}
func (d *gpu) UnmapPage(a pagemap.Addr) { delete(d.sys, a.Addr) }
func (d *gpu) DeviceMap(dev pagemap.Device, i uint64) (pagemap.Addr, error) {
	return pagemap.Addr{Addr: i, Proto: pagemap.VRAM}, nil
}
func (d *gpu) DeviceUnmap(pagemap.Device, pagemap.Addr) {}

func (d *gpu) PopulatePFN(m *pagemap.Devmem) ([]uint64, error) { return d.live[m], nil }
func (d *gpu) CopyToDevmem(m *pagemap.Devmem, src []mm.Folio, dst []uint64) error {
	for i := range src {
		clear(d.vram[dst[i]])
		if src[i] != nil {
			copy(d.vram[dst[i]], src[i].Data())
		}
	}
	return nil
}
func (d *gpu) CopyToRAM(m *pagemap.Devmem, src []uint64, dst []mm.Folio) error {
	for i := range dst {
		if dst[i] != nil {
			copy(dst[i].Data(), d.vram[src[i]])
		}
	}
	return nil
}
func (d *gpu) Release(m *pagemap.Devmem) {
	d.free = append(d.free, d.live[m]...)
	delete(d.live, m)
}

func (d *gpu) invalidate(w *gpusvm.Window, inv *mm.Invalidation) {
	for _, r := range w.Ranges(inv.Start, inv.End) {
		for a := r.Start; a < r.End; a += mm.PageSize {
			delete(d.pt, a>>mm.PageShift)
		}
		for _, p := range r.Pages {
			p.Unmap(true)
		}
		if inv.Event == mm.EventUnmap {
			r.SetUnmapped(inv)
			d.queue = append(d.queue, r.Get())
		}
	}
}

// owner returns the allocation that holds VRAM page i, or nil.
func (d *gpu) owner(i uint64) *pagemap.Devmem {
	for dm, pages := range d.live {
		if slices.Contains(pages, i) {
			return dm
		}
	}
	return nil
}

// collect removes ranges whose mapping is gone.
func (d *gpu) collect() {
	for len(d.queue) > 0 {
		r := d.queue[0]
		d.queue = d.queue[1:]
		if !r.Removed() {
			if r.Flags()&gpusvm.FlagPartialUnmap != 0 {
				d.svm.Evict(r, "test")
			}
			for _, p := range r.Pages {
				p.Unmap(false)
			}
			d.svm.Remove(r)
		}
		r.Put()
	}
}

// fault maps the page of addr for the GPU.
func (d *gpu) fault(addr uint64, migrate bool) error {
	d.lock.Lock()
	defer d.lock.Unlock()
	for {
		d.collect()
		o := gpusvm.InsertOptions{Start: 0, End: 1 << 47, DevmemPossible: true}
		r, err := d.svm.FindOrInsert(addr, o)
		ro := errors.Is(err, mm.EPERM)
		if ro {
			o.ReadOnly = true
			r, err = d.svm.FindOrInsert(addr, o)
		}
		if err != nil {
			return err
		}
		if len(r.Pages) == 0 {
			r.NewPages(d)
		}
		p := r.Pages[0]
		if n := r.NumPages(); migrate && r.Flags()&gpusvm.FlagMigrateDevmem != 0 && len(d.free) >= n && !p.InDevmem(d.pm) {
			dm := d.pm.NewDevmem(d.s, n, d)
			d.live[dm] = append([]uint64(nil), d.free[len(d.free)-n:]...)
			d.free = d.free[:len(d.free)-n]
			d.s.MmapLock().RLock()
			d.pm.MigrateToDevmem(dm, d.s, r.Start, r.End, pagemap.Options{})
			d.s.MmapLock().RUnlock()
		}
		switch err := p.Get(gpusvm.GetOptions{ReadOnly: ro, Owner: d}); {
		case errors.Is(err, mm.EOPNOTSUPP):
			d.svm.Evict(r, "test")
			continue
		case err != nil && r.Flags()&gpusvm.FlagUnmapped != 0:
			continue
		case err != nil:
			return err
		}
		d.svm.NotifierLock.RLock()
		valid := p.Valid()
		if valid {
			for i, a := range p.Addrs() {
				d.pt[r.Start>>mm.PageShift+uint64(i)] = pte{addr: a, write: !ro}
			}
		}
		d.svm.NotifierLock.RUnlock()
		if valid {
			return nil
		}
	}
}

// bytes returns what the GPU reaches at addr, nil when it must fault. No other task runs until the caller's next call
// into the World.
func (d *gpu) bytes(addr uint64, write bool) []byte {
	e, ok := d.pt[addr>>mm.PageShift]
	if !ok || write && !e.write {
		return nil
	}
	if e.addr.Proto == pagemap.VRAM {
		return d.vram[e.addr.Addr]
	}
	return d.sys[e.addr.Addr].Data()
}

func (d *gpu) access(addr uint64, write, migrate bool, fn func(b []byte)) error {
	for {
		if b := d.bytes(addr, write); b != nil {
			fn(b[addr&(mm.PageSize-1)&^7:])
			return nil
		}
		if err := d.fault(addr, migrate); err != nil {
			return err
		}
		if e, ok := d.pt[addr>>mm.PageShift]; ok && write && !e.write {
			return mm.EPERM
		}
	}
}

// scenario: users read and write their pages by CPU and GPU in turn and compare with a model, while other tasks migrate,
// evict, swap, fork, and take ranges apart with munmap.
func scenario(w sched.World) {
	m := sim.New(w, sim.Config{})
	s := m.NewSpace("p")
	d := newGPU(w, m, s, 24)
	const users, pages = 2, 10
	left := users + 1
	end := w.NewWaitQueue("end")
	rnd := func(n int) int { return int(w.Rand64() % uint64(n)) }
	for id := range users {
		// Starts off the chunk grid, so that ranges of both sizes appear.
		mine := uint64(base + id*pages<<mm.PageShift)
		if err := s.Mmap(mine, pages<<mm.PageShift, mm.ProtRead|mm.ProtWrite, mm.Anon); err != nil {
			w.Fail(err)
		}
		w.Go(fmt.Sprint("user", id), false, func() {
			model := map[uint64]uint64{}
			forget := func(page uint64) {
				for k := range model {
					if k&^(mm.PageSize-1) == page {
						model[k] = 0
					}
				}
			}
			for range 60 {
				a := mine + uint64(rnd(pages)<<mm.PageShift+rnd(4)*8)
				page := a &^ uint64(mm.PageSize-1)
				v := w.Rand64()
				var err error
				switch rnd(12) {
				case 0, 1:
					err = s.Store64(a, v)
					model[a] = v
				case 2, 3, 4:
					err = d.access(a, true, rnd(2) == 0, func(b []byte) { binary.LittleEndian.PutUint64(b, v) })
					model[a] = v
				case 5, 6:
					v, err = s.Load64(a)
					if want, ok := model[a]; err == nil && ok && v != want {
						w.Fail(fmt.Errorf("CPU: [%#x] = %d, want %d (%+v)", a, v, want, s.Look(a)))
					}
				case 7, 8:
					err = d.access(a, false, rnd(2) == 0, func(b []byte) { v = binary.LittleEndian.Uint64(b) })
					if want, ok := model[a]; err == nil && ok && v != want {
						w.Fail(fmt.Errorf("GPU: [%#x] = %d, want %d (%+v)", a, v, want, s.Look(a)))
					}
				case 9:
					if err = s.Munmap(page, mm.PageSize); err == nil {
						if err := d.access(a, false, false, func([]byte) {}); !errors.Is(err, mm.ENOENT) {
							w.Fail(fmt.Errorf("GPU reads the unmapped %#x: %v, want ENOENT", a, err))
						}
						err = s.Mmap(page, mm.PageSize, mm.ProtRead|mm.ProtWrite, mm.Anon)
					}
					forget(page)
				case 10:
					if err = s.Mprotect(page, mm.PageSize, mm.ProtRead); err == nil {
						if err := d.access(a, true, false, func([]byte) {}); !errors.Is(err, mm.EPERM) {
							w.Fail(fmt.Errorf("GPU writes the read-only %#x: %v, want EPERM", a, err))
						}
						err = s.Mprotect(page, mm.PageSize, mm.ProtRead|mm.ProtWrite)
					}
				case 11:
					err = s.DontNeed(page, mm.PageSize)
					forget(page)
				}
				if err != nil {
					w.Fail(fmt.Errorf("user%d at %#x: %w", id, a, err))
				}
			}
			left--
			end.Wake()
		})
	}
	w.Go("pressure", false, func() {
		for range 40 {
			switch rnd(3) {
			case 0:
				if dm := d.owner(uint64(rnd(len(d.vram)))); dm != nil {
					if err := d.pm.EvictToRAM(dm); err != nil && !errors.Is(err, mm.EBUSY) {
						w.Fail(err)
					}
				}
			case 1:
				s.Reclaim(base, users*pages<<mm.PageShift, 2)
			case 2:
				s.Fork(fmt.Sprint("child", w.Rand64())).Exit()
			}
		}
		left--
		end.Wake()
	})
	end.Wait(func() bool { return left == 0 }, sched.Forever)
	d.lock.Lock()
	d.collect()
	for _, r := range d.svm.Ranges(0, 1<<47) {
		for _, p := range r.Pages {
			p.Unmap(false)
		}
	}
	d.svm.Fini()
	d.lock.Unlock()
	s.Exit()
	if n := m.UsedPages(); n != 0 || len(d.free) != 24 || len(d.live) != 0 || len(d.sys) != 0 {
		w.Fail(fmt.Errorf("after exit: %d system pages, %d of 24 VRAM pages free, %d allocations, %d DMA mappings",
			n, len(d.free), len(d.live), len(d.sys)))
	}
}

func TestCPUAndGPUAgree(t *testing.T) {
	if f := sched.Explore(rand.Uint64()%1e9, 60, sched.SimConfig{}, scenario); f != nil {
		t.Fatal(f)
	}
}

func TestRangesAreAlignedChunks(t *testing.T) {
	sm := sched.NewSim(sched.SimConfig{})
	err := sm.Run(func() {
		m := sim.New(sm, sim.Config{})
		s := m.NewSpace("p")
		d := newGPU(sm, m, s, 4)
		s.Mmap(base+mm.PageSize, 6*mm.PageSize, mm.ProtRead|mm.ProtWrite, mm.Anon)
		d.lock.Lock()
		defer d.lock.Unlock()
		for _, tt := range []struct {
			page     int
			start, n int // expected range, in pages; n = 0: ENOENT
		}{{0, 0, 0}, {1, 1, 1}, {3, 3, 1}, {5, 5, 1}, {4, 4, 1}, {2, 2, 1}, {7, 0, 0}} {
			r, err := d.svm.FindOrInsert(base+uint64(tt.page)<<mm.PageShift, gpusvm.InsertOptions{End: 1 << 47})
			if tt.n == 0 {
				if !errors.Is(err, mm.ENOENT) {
					t.Errorf("page %d: %v, want ENOENT", tt.page, err)
				}
			} else if err != nil || r.Start != base+uint64(tt.start)<<mm.PageShift || r.NumPages() != tt.n {
				t.Errorf("page %d: %v, %v; want %d pages from %d", tt.page, r, err, tt.n, tt.start)
			}
		}
		s.Mmap(base+8*mm.PageSize, 4*mm.PageSize, mm.ProtRead, mm.Anon)
		if _, err := d.svm.FindOrInsert(base+9*mm.PageSize, gpusvm.InsertOptions{End: 1 << 47}); !errors.Is(err, mm.EPERM) {
			t.Errorf("read-only VMA: %v, want EPERM", err)
		}
		r, err := d.svm.FindOrInsert(base+9*mm.PageSize, gpusvm.InsertOptions{End: 1 << 47, ReadOnly: true})
		if err != nil || r.End-r.Start != chunk {
			t.Errorf("whole chunk in a VMA: %v, %v", r, err)
		}
		if _, err := d.svm.FindOrInsert(1<<48, gpusvm.InsertOptions{}); !errors.Is(err, mm.EINVAL) {
			t.Errorf("address outside: %v, want EINVAL", err)
		}
		d.svm.Fini()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A range that leaves the tree with live DMA mappings is the split series' bug; it must be caught.
func TestUnmapBeforeRemove(t *testing.T) {
	sm := sched.NewSim(sched.SimConfig{})
	err := sm.Run(func() {
		m := sim.New(sm, sim.Config{})
		s := m.NewSpace("p")
		d := newGPU(sm, m, s, 4)
		s.Mmap(base, chunk, mm.ProtRead|mm.ProtWrite, mm.Anon)
		if err := d.fault(base, false); err != nil {
			t.Fatal(err)
		}
		d.lock.Lock()
		d.svm.Remove(d.svm.Find(base))
	})
	if err == nil {
		t.Error("removing a mapped range went unnoticed")
	}
}
