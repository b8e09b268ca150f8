package kfd

import (
	"encoding/binary"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"golang.org/x/sys/unix"
)

// buffer is a kgd_mem: a buffer object with the address that user space chose for it.
type buffer struct {
	bo     *amdgpu.BO
	home   *pdd
	idr    uint32
	va     uint64
	size   uint64 // as asked; the ring of AllocAQLQueueMem is mapped twice
	flags  uint32
	mapped map[*pdd]bool
	queues int  // queues that need it
	events bool // it is the event page
	ipc    int  // descriptor behind its IPC handle, 0 if it has none
}

// span is the size of the mapping.
func (b *buffer) span() uint64 {
	if b.flags&kfd.AllocAQLQueueMem != 0 {
		return b.bo.Size * 2
	}
	return b.bo.Size
}

// allocMemory is ALLOC_MEMORY_OF_GPU.
func (p *process) allocMemory(a *kfd.AllocMemoryOfGPUArgs) error {
	if a.Size == 0 {
		return unix.EINVAL
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	pd, err := p.pdd(a.GPUID)
	if err != nil {
		return err
	}
	if pd.vm == nil {
		return unix.EINVAL
	}
	dom := a.Flags & kfd.AllocDomainMask
	if dom&(dom-1) != 0 {
		return unix.EINVAL
	}
	if a.VAAddr != 0 && p.ranges.overlaps(a.VAAddr, a.Size) {
		return unix.EADDRINUSE
	}
	b := &buffer{home: pd, va: a.VAAddr, size: a.Size, flags: a.Flags, mapped: map[*pdd]bool{}}
	offset, err := p.backing(b, a)
	if err != nil {
		return err
	}
	if a.VAAddr&(pte.PageSize-1) != 0 || a.VAAddr != 0 && (a.VAAddr < amdgpu.MinVA || b.span() > amdgpu.MaxVA-a.VAAddr || a.VAAddr >= amdgpu.MaxVA) {
		b.bo.Put()
		return unix.EINVAL
	}
	pd.add(b)
	a.Handle = kfd.Handle(pd.node.id, b.idr)
	if dom != kfd.AllocUserptr {
		a.MmapOffset = offset
	}
	return nil
}

// backing gives b the memory that an allocation asks for, and returns the offset to mmap it by. p.mu is held.
func (p *process) backing(b *buffer, a *kfd.AllocMemoryOfGPUArgs) (mmapOffset uint64, err error) {
	pd, dev := b.home, b.home.node.dev
	size := a.Size
	if a.Flags&kfd.AllocAQLQueueMem != 0 {
		size /= 2 // mapped twice
	}
	switch a.Flags & kfd.AllocDomainMask {
	case kfd.AllocVRAM:
		if a.Flags&kfd.AllocPublic != 0 && !dev.Profile.Memory.LargeBAR {
			return 0, unix.EINVAL
		}
		if b.bo, err = dev.NewBO(amdgpu.VRAM, a.Size); err == nil {
			b.bo.RoundVRAM(vramGranule)
		}
	case kfd.AllocGTT:
		b.bo, err = dev.NewBO(amdgpu.GTT, size)
	case kfd.AllocUserptr:
		if p.ranges.overlaps(a.MmapOffset, size) {
			return 0, unix.EADDRINUSE
		}
		b.bo, err = dev.NewUserptr(a.MmapOffset, size, a.Flags&kfd.AllocWritable != 0)
	case kfd.AllocDoorbell:
		if a.Size != kfd.DoorbellSliceSize {
			return 0, unix.EINVAL
		}
		db, err := pd.slice()
		if err != nil {
			return 0, err
		}
		b.bo = dev.NewDoorbellBO(db)
		mmapOffset = kfd.MmapOffset(kfd.MmapDoorbell, pd.node.id, 0)
	case kfd.AllocMMIORemap:
		if a.Size != pte.PageSize {
			return 0, unix.EINVAL
		}
		// The page holds the HDP flush registers: host and device are coherent here, so writes to it may do nothing.
		b.bo, err = dev.NewBO(amdgpu.MMIO, a.Size)
		mmapOffset = kfd.MmapOffset(kfd.MmapMMIO, pd.node.id, 0)
	default:
		return 0, unix.EINVAL
	}
	if err == nil && b.bo.MmapOffset != 0 {
		mmapOffset = b.bo.MmapOffset
	}
	return mmapOffset, err
}

// add gives b a handle; called with p.mu held.
func (pd *pdd) add(b *buffer) {
	for {
		pd.nextIDR++
		if pd.nextIDR != 0 && pd.handles[pd.nextIDR] == nil {
			break
		}
	}
	b.idr = pd.nextIDR
	pd.handles[b.idr] = b
}

// buffer finds a handle; called with p.mu held. EINVAL for an unknown one.
func (p *process) buffer(handle uint64) (*buffer, error) {
	id, idr := kfd.SplitHandle(handle)
	pd, err := p.pdd(id)
	if err != nil {
		return nil, err
	}
	if b := pd.handles[idr]; b != nil {
		return b, nil
	}
	return nil, unix.EINVAL
}

// freeMemory is FREE_MEMORY_OF_GPU.
func (p *process) freeMemory(a *kfd.FreeMemoryOfGPUArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := p.buffer(a.Handle)
	if err != nil {
		return err
	}
	if b.events {
		return unix.EPERM
	}
	if b.queues > 0 || len(b.mapped) > 0 {
		return unix.EBUSY
	}
	delete(b.home.handles, b.idr)
	b.bo.Put()
	if b.ipc != 0 {
		_ = unix.Close(b.ipc)
	}
	p.drv.exports.sweep()
	return nil
}

// gpuIDs reads the array of devices of a map or unmap call.
func (p *process) gpuIDs(a *kfd.MapMemoryArgs) ([]uint32, error) {
	if a.NDevices == 0 || a.NSuccess > a.NDevices {
		return nil, unix.EINVAL
	}
	if a.NDevices > 1<<16 {
		return nil, unix.ENOMEM
	}
	b := make([]byte, 4*a.NDevices)
	if err := p.drv.mem.Read(a.DeviceIDsArrayPtr, b); err != nil {
		return nil, err
	}
	ids := make([]uint32, a.NDevices)
	for i := range ids {
		ids[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return ids, nil
}

// eachGPU does what a map or unmap call asks for, device by device, and counts those that are done: the caller goes on behind them. p.mu is held
// while do runs.
func (p *process) eachGPU(a *kfd.MapMemoryArgs, do func(b *buffer, pd *pdd) error) error {
	ids, err := p.gpuIDs(a)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := p.buffer(a.Handle)
	if err != nil {
		return err
	}
	for _, id := range ids[a.NSuccess:] {
		pd, err := p.pdd(id)
		if err != nil {
			return err
		}
		if err := do(b, pd); err != nil {
			return err
		}
		a.NSuccess++
	}
	return nil
}

// mapMemory is MAP_MEMORY_TO_GPU.
func (p *process) mapMemory(a *kfd.MapMemoryArgs) error {
	return p.eachGPU(a, func(b *buffer, pd *pdd) error {
		if pd.vm == nil {
			return unix.EINVAL
		}
		return p.mapOn(b, pd)
	})
}

// mapOn enters b into the page tables of a device; called with p.mu held.
func (p *process) mapOn(b *buffer, pd *pdd) error {
	if b.mapped[pd] {
		return nil
	}
	if b.va == 0 || pd.vm.Overlaps(b.va, b.span()) {
		return unix.EINVAL
	}
	ext := b.bo.Extents()
	if pd != b.home {
		if b.bo.Domain == amdgpu.VRAM && !b.bo.Dev.Profile.Memory.LargeBAR {
			return unix.EINVAL // no peer access to invisible memory
		}
		ext = b.bo.PeerExtents()
	}
	if b.span() > b.bo.Size {
		ext = append(append([]amdgpu.Extent(nil), ext...), ext...)
	}
	if err := pd.vm.Map(b.va, b.span(), ext, p.pageFlags(b, pd), b); err != nil {
		return err
	}
	b.mapped[pd] = true
	return nil
}

// pageFlags is the coherence table of kernel-svm.md §3.5 for gfx9, and §3.4 above.
func (p *process) pageFlags(b *buffer, pd *pdd) (f amdgpu.PageFlags) {
	f.Flags = pte.Read
	if b.flags&kfd.AllocWritable != 0 {
		f.Flags |= pte.Write
	}
	if b.flags&kfd.AllocExecutable != 0 {
		f.Flags |= pte.Exec
	}
	vram := b.bo.Domain == amdgpu.VRAM
	local := vram && b.home == pd
	uncached := b.flags&kfd.AllocUncached != 0
	coherent := b.flags&(kfd.AllocCoherent|kfd.AllocExtCoherent) != 0
	if !vram {
		f.Flags |= pte.Snooped
	}
	f.MType = MTypeOf(pd.node.dev, local, vram, uncached, coherent, b.flags&kfd.AllocExtCoherent != 0)
	if t := pd.node.dev.Profile.GfxTargetVersion; t >= 90400 && t < 100000 {
		f.Flags |= pte.Snooped
	}
	return f
}

// MTypeOf is the cache policy of a buffer on a device: local is its own VRAM, vram any device's.
func MTypeOf(dev *amdgpu.Device, local, vram, uncached, coherent, ext bool) pte.MType {
	t := dev.Profile.GfxTargetVersion
	switch {
	case t >= 120000:
		if uncached {
			return pte.UC
		}
		return pte.NC
	case t >= 100000:
		if uncached || coherent {
			return pte.UC
		}
		return pte.NC
	case t >= 90400: // 9.4.3 and later
		switch {
		case uncached:
			return pte.UC
		case ext && local:
			return pte.CC
		case ext:
			return pte.UC
		case local:
			return pte.RW
		case !vram && t < 90500:
			return pte.UC
		}
		return pte.NC
	case t == 90008 || t == 90010: // 9.4.1, 9.4.2
		switch {
		case local && uncached:
			return pte.UC
		case local && coherent:
			return pte.CC
		case local:
			return pte.RW
		case uncached || coherent:
			return pte.UC
		}
		return pte.NC
	}
	if uncached || coherent {
		return pte.UC
	}
	return pte.NC
}

// unmapMemory is UNMAP_MEMORY_FROM_GPU.
func (p *process) unmapMemory(a *kfd.MapMemoryArgs) error {
	return p.eachGPU(a, func(b *buffer, pd *pdd) error {
		if b.queues > 0 {
			return unix.EBUSY
		}
		if !b.mapped[pd] {
			return nil
		}
		if err := pd.vm.Unmap(b.va, b.span()); err != nil {
			return err
		}
		delete(b.mapped, pd)
		return nil
	})
}

// at finds the buffer that contains va on a device, with the rest of its size from there; called with p.mu held.
func (pd *pdd) at(va uint64) (*buffer, uint64) {
	start, size, owner, ok := pd.vm.Find(va)
	if b, isBuf := owner.(*buffer); ok && isBuf {
		return b, start + size - va
	}
	return nil, 0
}

// exportDmabuf is EXPORT_DMABUF.
func (p *process) exportDmabuf(a *kfd.ExportDmabufArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := p.buffer(a.Handle)
	if err != nil {
		return err
	}
	if b.bo.Domain != amdgpu.VRAM && b.bo.Domain != amdgpu.GTT {
		return unix.EINVAL
	}
	fd, err := p.drv.exports.export(b.bo)
	if err != nil {
		return err
	}
	if a.Flags&unix.O_CLOEXEC == 0 {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
	}
	a.DmabufFD = uint32(fd)
	return nil
}

// getDmabufInfo is GET_DMABUF_INFO.
func (p *process) getDmabufInfo(a *kfd.GetDmabufInfoArgs) error {
	bo, err := p.drv.exports.find(int(a.DmabufFD))
	if err != nil {
		h, _, err := readShare(int(a.DmabufFD))
		if err != nil {
			return unix.EINVAL
		}
		a.GPUID, a.Size, a.MetadataSize, a.Flags = h.GPU, h.Size, 0, kfd.AllocGTT
		if h.VRAM != 0 {
			a.Flags = kfd.AllocVRAM
		}
		return nil
	}
	defer bo.Put()
	for _, n := range p.drv.nodes {
		if n.dev == bo.Dev {
			a.GPUID = n.id
		}
	}
	a.Size = bo.Size
	a.MetadataSize = 0
	a.Flags = kfd.AllocGTT
	if bo.Domain == amdgpu.VRAM {
		a.Flags = kfd.AllocVRAM
		if bo.Dev.Profile.Memory.LargeBAR {
			a.Flags |= kfd.AllocPublic
		}
	}
	return nil
}

// importDmabuf is IMPORT_DMABUF.
func (p *process) importDmabuf(a *kfd.ImportDmabufArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := p.adopt(a.GPUID, a.VAAddr, int(a.DmabufFD))
	if err != nil {
		return err
	}
	a.Handle = kfd.Handle(b.home.node.id, b.idr)
	return nil
}

// adopt makes a buffer at va of the memory that this or another process has exported as a descriptor. EINVAL where there is nothing, and
// for video memory of another device: only its own may import it. p.mu is held.
func (p *process) adopt(gpuID uint32, va uint64, fd int) (*buffer, error) {
	pd, err := p.bound(gpuID)
	if err != nil {
		return nil, err
	}
	if va&(pte.PageSize-1) != 0 {
		return nil, unix.EINVAL
	}
	bo, err := p.drv.exports.find(fd)
	if err != nil {
		if bo, err = foreign(pd.node.dev, fd); err != nil {
			return nil, err
		}
	}
	if bo.Dev != pd.node.dev && bo.Domain == amdgpu.VRAM {
		bo.Put()
		return nil, unix.EINVAL
	}
	b := &buffer{bo: bo, home: pd, va: va, size: bo.Size, mapped: map[*pdd]bool{}, flags: kfd.AllocWritable | kfd.AllocExecutable}
	pd.add(b)
	return b, nil
}
