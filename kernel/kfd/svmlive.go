package kfd

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/fence"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/mm/host"
	"github.com/pumice-gpu/pumice/kernel/pagemap"
	"golang.org/x/sys/unix"
)

// svmLive moves pages: the process's memory under kernel/mm/host, one amdgpu/svm for each GPU above it. KFD's attributes, which name GPUs, are
// translated to those of each GPU's own.
type svmLive struct {
	p     *process
	space *host.Space
	on    []atomic.Pointer[svmGPU] // by node; nil before the GPU's address space is acquired
}

// svmGPU is one GPU's part. It implements svm.VM and, by gpuMemory, svm.Memory.
type svmGPU struct {
	live *svmLive
	pd   *pdd
	svm  *svm.SVM
	resv *fence.Resv
	// prefetch is the call under way, until the first page moves: KFD tells of the call, not of each of our ranges.
	prefetch atomic.Pointer[string]
}

// newSVMEngine makes the engine: migrating if the system lets us.
func (p *process) newSVMEngine() svmEngine {
	if p.drv.cfg.NoMigration {
		return &svmHost{p}
	}
	space, err := host.New(p.drv.world)
	if err != nil {
		if p.drv.cfg.Warn != nil {
			p.drv.cfg.Warn("managed memory stays in the host: " + err.Error())
		}
		return &svmHost{p}
	}
	l := &svmLive{p: p, space: space, on: make([]atomic.Pointer[svmGPU], len(p.pdds))}
	space.OnUnmap = p.ranges.forget
	for i := range p.drv.nodes {
		p.drv.nodes[i].svmGPU(p.drv, space)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, pd := range p.pdds {
		if pd.vm != nil {
			g, err := l.join(pd)
			if err != nil {
				l.close()
				return &svmHost{p}
			}
			l.on[i].Store(g)
		}
	}
	return l
}

// svmGPU makes the device's part of shared virtual memory anew for an address space.
func (n *node) svmGPU(d *Driver, space *host.Space) {
	n.svmMem = &gpuMemory{d: d, node: n}
	// All GPUs with visible memory reach each other's pages in place.
	n.svmDev = svm.NewGPU(d.world, space, n.svmMem, d, n.dev.SVMSize, svm.EvictSync)
}

// join makes the SVM of a GPU; called with p.mu held.
func (l *svmLive) join(pd *pdd) (*svmGPU, error) {
	g := &svmGPU{live: l, pd: pd, resv: fence.NewResv(l.p.drv.world)}
	var err error
	g.svm, err = svm.New(svm.Config{World: l.p.drv.world, Space: l.space, GPU: pd.node.svmDev, VM: g, Queues: l.p, Start: amdgpu.MinVA,
		Size: amdgpu.MaxVA - amdgpu.MinVA, XNACK: l.p.xnack, Granularity: defaultGranularity, Event: g.event})
	return g, err
}

func (l *svmLive) sync() { l.space.Sync() }

func (l *svmLive) close() {
	for i := range l.on {
		if g := l.on[i].Load(); g != nil {
			g.svm.Close()
		}
	}
	_ = l.space.Close()
}

func (l *svmLive) unmapped(uint64, uint64) bool { return false } // userfaultfd tells

func (l *svmLive) gone(start, end uint64) { l.space.Gone(start, end) }

func (l *svmLive) protected(start, end uint64, _ []svmPiece) { l.space.Protected(start, end) }

// newGPU is called with p.mu held.
func (l *svmLive) newGPU(pd *pdd, now []svmPiece) error {
	i := pd.node.index - 1
	g := l.on[i].Load()
	if g == nil {
		var err error
		if g, err = l.join(pd); err != nil {
			return err
		}
		l.on[i].Store(g)
	}
	for _, x := range now {
		if a := translate(pd, x.now, l.p.xnack, false); len(a) > 0 {
			_ = g.svm.SetAttrs(x.start, x.end-x.start, a)
		}
	}
	return nil
}

// set gives each GPU its view of the attributes.
func (l *svmLive) set(_, _ uint64, attrs []kfd.SVMAttribute, pieces []svmPiece) error {
	prefetch := false
	for _, a := range attrs {
		prefetch = prefetch || a.Type == kfd.SVMAttrPrefetchLoc
	}
	for i := range l.on {
		g := l.on[i].Load()
		if g == nil {
			continue
		}
		pd := l.p.pdds[i]
		for _, x := range pieces {
			// A GPU that never had to do with the range need not hear of it.
			if (x.now.access|x.now.inPlace)&pd.bit() == 0 && (x.old.access|x.old.inPlace)&pd.bit() == 0 {
				continue
			}
			end := func(error) {}
			if prefetch {
				end = g.beginPrefetch(x)
			}
			err := g.svm.SetAttrs(x.start, x.end-x.start, translate(pd, x.now, l.p.xnack, prefetch))
			end(err)
			if err != nil {
				return errno(err)
			}
		}
	}
	return nil
}

// beginPrefetch tells SMI clients of a prefetch, if it moves pages; the function that it returns tells of its end.
func (g *svmGPU) beginPrefetch(x svmPiece) (end func(error)) {
	n := g.pd.node
	from, to := uint32(0), n.id
	if x.now.prefetch != n.id {
		from, to = n.id, 0
	}
	at := fmt.Sprintf("-%d @%x(%x) %x->%x", g.live.p.drv.cfg.PID, x.start>>mm.PageShift, (x.end-x.start)>>mm.PageShift, from, to)
	start := fmt.Sprintf("%d %s %x:%x %d\n", clock(unix.CLOCK_BOOTTIME), at, x.now.prefetch, x.now.preferred, kfd.MigrateTriggerPrefetch)
	g.prefetch.Store(&start)
	return func(err error) {
		if g.prefetch.Swap(nil) == nil { // it was told
			n.smi.send(kfd.SMIEventMigrateEnd, fmt.Sprintf("%d %s %d %d\n", clock(unix.CLOCK_BOOTTIME), at, kfd.MigrateTriggerPrefetch, code(err)))
		}
	}
}

// code is an error as SMI messages have it.
func code(err error) int {
	var no unix.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &no):
		return int(no)
	}
	return 1
}

// translate says what KFD's attributes mean for one GPU.
func translate(pd *pdd, a svmAttrs, xnack, prefetch bool) (out []svm.Attr) {
	add := func(t svm.AttrType, v uint32) { out = append(out, svm.Attr{Type: t, Value: v}) }
	const here = 1
	access := svm.AccessNone
	switch {
	case a.access&pd.bit() != 0:
		access = svm.AccessAllowMigrate
	case a.inPlace&pd.bit() != 0:
		access = svm.AccessInPlace
	}
	switch a.preferred {
	case pd.node.id:
		add(svm.AttrPreferredLoc, here)
	case kfd.SVMLocationSysmem:
		add(svm.AttrPreferredLoc, svm.LocSysmem)
	case kfd.SVMLocationUndefined:
		// KFD brings a page that a GPU has faulted to that GPU unless it was asked to leave it.
		if xnack && access == svm.AccessAllowMigrate {
			add(svm.AttrPreferredLoc, here)
		} else {
			add(svm.AttrPreferredLoc, svm.LocUndefined)
		}
	default:
		add(svm.AttrPreferredLoc, svm.LocUndefined)
	}
	if prefetch {
		switch a.prefetch {
		case pd.node.id:
			add(svm.AttrPrefetchLoc, here)
		case kfd.SVMLocationSysmem:
			add(svm.AttrPrefetchLoc, svm.LocSysmem)
		}
	}
	for _, f := range []struct {
		t svm.AttrType
		f uint32
	}{{svm.AttrHostAccess, kfd.SVMFlagHostAccess}, {svm.AttrCoherent, kfd.SVMFlagCoherent}, {svm.AttrExtCoherent, kfd.SVMFlagExtCoherent},
		{svm.AttrHiveLocal, kfd.SVMFlagHiveLocal}, {svm.AttrGPURO, kfd.SVMFlagGPURO}, {svm.AttrGPUExec, kfd.SVMFlagGPUExec},
		{svm.AttrGPUReadMostly, kfd.SVMFlagGPUReadMostly}} {
		v := uint32(0)
		if a.flags&f.f != 0 {
			v = 1
		}
		add(f.t, v)
	}
	add(svm.AttrGranularity, uint32(a.granularity))
	add(svm.AttrAccess, access)
	return out
}

// fault serves a retry fault.
func (l *svmLive) fault(pd *pdd, va uint64, write bool, a svmAttrs, _ bool, _, _ uint64) error {
	g := l.on[pd.node.index-1].Load()
	if g == nil {
		return unix.EFAULT
	}
	return g.svm.HandleFault(va, write)
}

// errno makes sure that what leaves is a unix.Errno.
func errno(err error) error {
	var e unix.Errno
	if err == nil || errors.As(err, &e) && err == error(e) {
		return err
	}
	if errors.As(err, &e) {
		return e
	}
	return unix.EFAULT
}

// The methods below are svm.VM.

// Resv is the page directory's reservation.
func (g *svmGPU) Resv() *fence.Resv { return g.resv }

// Update writes entries for pages from start on: runs of contiguous pages of the same kind at a time.
func (g *svmGPU) Update(start uint64, pages []pagemap.Addr, f svm.PTEFlags) error {
	for i := 0; i < len(pages); {
		j := i + 1
		for j < len(pages) && pages[j].Proto == pages[i].Proto && pages[j].Addr == pages[j-1].Addr+mm.PageSize {
			j++
		}
		local := pages[i].Proto == pagemap.VRAM
		fl := amdgpu.PageFlags{Flags: pte.Read}
		if f.Write {
			fl.Flags |= pte.Write
		}
		if f.Exec {
			fl.Flags |= pte.Exec
		}
		if !local {
			fl.Flags |= pte.Snooped
		}
		fl.MType = MTypeOf(g.pd.node.dev, local, pages[i].Proto != pagemap.System, false, f.Coherent || f.ExtCoherent, f.ExtCoherent)
		e := amdgpu.Extent{Addr: pages[i].Addr, Len: uint64(j-i) << mm.PageShift, System: !local}
		if err := g.pd.vm.Enter(start+uint64(i)<<mm.PageShift, []amdgpu.Extent{e}, fl); err != nil {
			return err
		}
		i = j
	}
	return nil
}

// Clear removes entries.
func (g *svmGPU) Clear(start, end uint64) { g.pd.vm.Clear(start, end-start) }

// FlushTLB returns when no old translation can be used.
func (g *svmGPU) FlushTLB() { g.pd.vm.Flush() }

// Overlaps reports whether a buffer is mapped there.
func (g *svmGPU) Overlaps(start, end uint64) bool { return g.pd.vm.Overlaps(start, end-start) }

// event turns what SVM does into SMI messages.
func (g *svmGPU) event(e svm.Event) {
	n, d := g.pd.node, g.live.p.drv
	if d.OnSVM != nil {
		d.OnSVM(n.id, e)
	}
	if e.Kind != svm.EvMap && e.Kind != svm.EvFault {
		// Pages of a prefetch begin to move: before anything else is told of it.
		if start := g.prefetch.Swap(nil); start != nil {
			n.smi.send(kfd.SMIEventMigrateStart, *start)
		}
	}
	head := fmt.Sprintf("%d -%d", clock(unix.CLOCK_BOOTTIME), d.cfg.PID)
	pages := (e.End - e.Start) >> mm.PageShift
	migrate := func(from, to uint32) {
		t := kfd.MigrateTriggerPageFaultGPU // also for what only Pumice's driver does: realignment
		switch e.Cause {
		case "prefetch":
			return
		case "ioctl":
			t = kfd.MigrateTriggerPrefetch
		case mm.CPUFault:
			t = kfd.MigrateTriggerPageFaultCPU
		case "TTM eviction":
			t = kfd.MigrateTriggerTTMEviction
		}
		n.smi.send(kfd.SMIEventMigrateStart, fmt.Sprintf("%s @%x(%x) %x->%x %x:%x %d\n", head, e.Start>>12, pages, from, to, 0, 0, t))
		n.smi.send(kfd.SMIEventMigrateEnd, fmt.Sprintf("%s @%x(%x) %x->%x %d %d\n", head, e.Start>>12, pages, from, to, t, code(e.Err)))
	}
	switch e.Kind {
	case svm.EvMigrateToVRAM:
		migrate(0, n.id)
	case svm.EvMigrateToRAM, svm.EvEvict:
		migrate(n.id, 0)
	case svm.EvUnmap:
		n.smi.send(kfd.SMIEventUnmapFromGPU, fmt.Sprintf("%s @%x(%x) %x %d\n", head, e.Start>>12, pages, n.id, kfd.UnmapTriggerMMUNotify))
	case svm.EvQuiesce:
		n.smi.send(kfd.SMIEventQueueEviction, fmt.Sprintf("%s %x %d\n", head, n.id, kfd.QueueEvictionTriggerSVM))
	case svm.EvResume:
		n.smi.send(kfd.SMIEventQueueRestore, fmt.Sprintf("%s %x 0\n", head, n.id))
	}
}

// gpuMemory is the part of a device's VRAM that SVM pages live in. It implements svm.Memory and svm.BulkMemory.
type gpuMemory struct {
	d    *Driver
	node *node
}

// MapPage: the bus address of a system page is its address.
func (m *gpuMemory) MapPage(f mm.Folio, _ bool) (pagemap.Addr, error) {
	a, ok := host.BusAddr(f)
	if !ok {
		return pagemap.Addr{}, unix.EFAULT
	}
	return pagemap.Addr{Addr: a, Proto: pagemap.System}, nil
}

// UnmapPage has nothing to take back.
func (m *gpuMemory) UnmapPage(pagemap.Addr) {}

// DeviceMap: own pages by their VRAM offset, a peer's by the address where this process, and so the bus, sees them.
func (m *gpuMemory) DeviceMap(dev pagemap.Device, i uint64) (pagemap.Addr, error) {
	if dev == pagemap.Device(m) {
		return pagemap.Addr{Addr: m.node.dev.SVMBase + i<<mm.PageShift, Proto: pagemap.VRAM}, nil
	}
	if !m.node.dev.Profile.Memory.LargeBAR {
		return pagemap.Addr{}, unix.EOPNOTSUPP
	}
	return pagemap.Addr{Addr: uint64(uintptr(m.page(i))), Proto: pagemap.Peer}, nil
}

// DeviceUnmap has nothing to take back.
func (m *gpuMemory) DeviceUnmap(pagemap.Device, pagemap.Addr) {}

func (m *gpuMemory) page(i uint64) unsafe.Pointer {
	return unsafe.Add(m.node.dev.Chip.VRAM().Base(), m.node.dev.SVMBase+i<<mm.PageShift)
}

func (m *gpuMemory) pages(i []uint64) []unsafe.Pointer {
	out := make([]unsafe.Pointer, len(i))
	for k, x := range i {
		out[k] = m.page(x)
	}
	return out
}

// CopyPagesToVRAM fills VRAM pages.
func (m *gpuMemory) CopyPagesToVRAM(vram []uint64, from []mm.Folio) error {
	return host.CopyOut(m.pages(vram[:len(from)]), from)
}

// CopyPagesToRAM fills staging pages.
func (m *gpuMemory) CopyPagesToRAM(to []mm.Folio, vram []uint64) error {
	return host.CopyIn(to, m.pages(vram[:len(to)]))
}

// CopyToVRAM and CopyToRAM copy one page.
func (m *gpuMemory) CopyToVRAM(vram uint64, from mm.Folio) error {
	return m.CopyPagesToVRAM([]uint64{vram}, []mm.Folio{from})
}
func (m *gpuMemory) CopyToRAM(to mm.Folio, vram uint64) error {
	return m.CopyPagesToRAM([]mm.Folio{to}, []uint64{vram})
}
