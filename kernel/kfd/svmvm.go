package kfd

import (
	"fmt"
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

// svmVM is a GPU's page table as the engines of shared virtual memory see it: it implements svm.VM. Before the process has acquired the GPU's address space
// nothing is mapped there.
type svmVM struct {
	pd   *pdd
	resv *fence.Resv
}

// Resv is the page directory's reservation.
func (g svmVM) Resv() *fence.Resv { return g.resv }

// Update writes entries for pages from start on: runs of contiguous pages of the same kind at a time.
func (g svmVM) Update(start uint64, pages []pagemap.Addr, f svm.PTEFlags) error {
	if g.pd.vm == nil {
		return nil
	}
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
func (g svmVM) Clear(start, end uint64) {
	if g.pd.vm != nil {
		g.pd.vm.Clear(start, end-start)
	}
}

// FlushTLB returns when no old translation can be used.
func (g svmVM) FlushTLB() {
	if g.pd.vm != nil {
		g.pd.vm.Flush()
	}
}

// Overlaps reports whether a buffer is mapped there.
func (g svmVM) Overlaps(start, end uint64) bool {
	return g.pd.vm != nil && g.pd.vm.Overlaps(start, end-start)
}

// tellSVM turns what SVM does into SMI messages.
func (n *node) tellSVM(d *Driver, e svm.Event) {
	if d.OnSVM != nil {
		d.OnSVM(n.id, e)
	}
	head := fmt.Sprintf("%d -%d", clock(unix.CLOCK_BOOTTIME), d.cfg.PID)
	pages := (e.End - e.Start) >> mm.PageShift
	migrate := func(from, to uint32) {
		t := kfd.MigrateTriggerPageFaultGPU // also for what only Pumice's driver does: realignment
		switch e.Cause {
		case "prefetch", "ioctl":
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
	d     *Driver
	node  *node
	space *host.Space
}

// newMemory makes a GPU's part of video memory for pages of a process. Pages are moved to it rather than copied: video memory is memory of the process.
func (n *node) newMemory(d *Driver, space *host.Space) *gpuMemory {
	m := &gpuMemory{d, n, space}
	// If this fails they are copied.
	_ = space.Attach(m.page(0), n.dev.SVMSize)
	return m
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
	return m.space.CopyOut(m.pages(vram[:len(from)]), from)
}

// CopyPagesToRAM fills staging pages.
func (m *gpuMemory) CopyPagesToRAM(to []mm.Folio, vram []uint64) error {
	return m.space.CopyIn(to, m.pages(vram[:len(to)]))
}

// CopyToVRAM and CopyToRAM copy one page.
func (m *gpuMemory) CopyToVRAM(vram uint64, from mm.Folio) error {
	return m.CopyPagesToVRAM([]uint64{vram}, []mm.Folio{from})
}
func (m *gpuMemory) CopyToRAM(to mm.Folio, vram uint64) error {
	return m.CopyPagesToRAM([]mm.Folio{to}, []uint64{vram})
}
