package hsakmt

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/drm"
	"github.com/pumice-gpu/pumice/abi/kfd"
)

// Physical is memory that has no address until it is mapped at one, or at several. It is an allocation that nothing is mapped to, and a descriptor of it; a mapping is
// an import of the descriptor at an address.
type Physical struct {
	Size uint64 // bytes
	Node int

	k   *KFD
	mem *Mem // the allocation; nil for imported memory
	fd  int

	mu   sync.Mutex
	refs int // handles and mappings; guarded by mu
}

// NewPhysical allocates memory without an address on a GPU node, or, on a CPU node, in system memory.
func (k *KFD) NewPhysical(node int, size uint64, flags MemFlags) (*Physical, error) {
	flags &^= doorbell | mmio | OnlyAddress | Scratch
	if flags&HostAccess != 0 {
		flags = flags&^HostAccess | public
	}
	m, err := k.alloc(node, 0, size, 0, flags|noTable, 0)
	if err != nil {
		return nil, err
	}
	fd, err := k.ExportDmabuf(m)
	if err != nil {
		_ = k.release(m)
		return nil, err
	}
	return &Physical{Size: m.Size, Node: node, k: k, mem: m, fd: fd, refs: 1}, nil
}

// ImportPhysical makes a handle of memory that a descriptor stands for; the descriptor stays the caller's. The memory is of a GPU node of this process.
func (k *KFD) ImportPhysical(fd int) (*Physical, error) {
	const op = "vmem_import"
	a := kfd.GetDmabufInfoArgs{DmabufFD: uint32(fd)}
	if err := ioctl(k, kfd.IocGetDmabufInfo, &a); err != nil {
		return nil, err
	}
	g := k.gpuByID(a.GPUID)
	if g == nil {
		return nil, fail(op, InvalidHandle)
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fromErrno(op, err)
	}
	return &Physical{Size: a.Size, Node: g.node.ID, k: k, fd: own, refs: 1}, nil
}

// Retain adds a handle.
func (p *Physical) Retain() {
	p.mu.Lock()
	p.refs++
	p.mu.Unlock()
}

// Release takes a handle or mapping away; with the last one the memory goes, which gone reports.
func (p *Physical) Release() (gone bool, err error) {
	p.mu.Lock()
	p.refs--
	gone = p.refs == 0
	p.mu.Unlock()
	if !gone {
		return false, nil
	}
	_ = unix.Close(p.fd)
	if p.mem == nil {
		return true, nil
	}
	return true, p.k.release(p.mem)
}

// Export returns a new descriptor of the memory, for another process.
func (p *Physical) Export() (int, error) {
	fd, err := unix.FcntlInt(uintptr(p.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, fromErrno("vmem_export", err)
	}
	return fd, nil
}

// ReserveAddress takes a range of addresses for memory to be mapped at: at hint if that is free and not 0, else anywhere.
func (k *KFD) ReserveAddress(hint, size, align uint64) (uint64, error) {
	const op = "vmem_reserve"
	if size == 0 || size%PageSize != 0 || align&(align-1) != 0 || hint%PageSize != 0 {
		return 0, fail(op, InvalidParameter)
	}
	align = max(align, PageSize)
	if hint != 0 && hint%align == 0 {
		const fixedNoReplace = 0x100000
		p, _, errno := unix.Syscall6(unix.SYS_MMAP, uintptr(hint), uintptr(size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE|fixedNoReplace, ^uintptr(0), 0)
		if errno == 0 {
			if uint64(p) == hint {
				return hint, nil
			}
			unreserve(uint64(p), size)
		}
	}
	va, start, length, err := reserve(size, align)
	if err != nil {
		return 0, fromErrno(op, err)
	}
	unreserve(va+size, start+length-va-size) // no guard: the size is the program's
	return va, nil
}

// FreeAddress gives a range back that ReserveAddress has taken, and that nothing is mapped at.
func (k *KFD) FreeAddress(va, size uint64) { unreserve(va, size) }

// MapPhysical maps the first size bytes of memory, from an offset on, at a reserved address. GPUs and CPU do not reach it before Map and MapHost.
func (k *KFD) MapPhysical(p *Physical, va, size uint64) (*Mem, error) {
	const op = "vmem_map"
	if va%PageSize != 0 || size != p.Size {
		return nil, fail(op, InvalidParameter)
	}
	g := k.gpuOf(p.Node)
	if g == nil {
		g = k.gpus[0]
	}
	a := kfd.ImportDmabufArgs{VAAddr: va, GPUID: g.node.GPUID, DmabufFD: uint32(p.fd)}
	if err := ioctl(k, kfd.IocImportDmabuf, &a); err != nil {
		return nil, err
	}
	m := &Mem{VA: va, Size: size, Node: p.Node, Handle: a.Handle, mapped: map[int]bool{}, physical: p}
	p.Retain()
	k.mem.add(m)
	return m, nil
}

// MapHost lets the CPU reach a mapping, where the driver can show it the memory.
func (k *KFD) MapHost(m *Mem) error {
	const op = "vmem_host"
	p := m.physical
	if p == nil || p.mem == nil || m.Host != 0 {
		return nil
	}
	g := k.gpuOf(p.Node)
	if g == nil {
		g = k.gpus[0]
	}
	if err := g.render.Mmap(m.VA, m.Size, unix.PROT_READ|unix.PROT_WRITE, p.mem.mmapOffset); err != nil {
		return fromErrno(op, err)
	}
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(m.VA), uintptr(m.Size), unix.MADV_DONTFORK)
	k.mem.mu.Lock()
	m.Host = m.VA
	k.mem.mu.Unlock()
	return nil
}

// UnmapPhysical ends a mapping; its addresses stay reserved.
func (k *KFD) UnmapPhysical(m *Mem) error {
	const op = "vmem_unmap"
	if m.physical == nil || !k.mem.remove(m) {
		return fail(op, InvalidHandle)
	}
	if err := k.unmapAll(m); err != nil {
		k.mem.add(m)
		return err
	}
	if err := ioctl(k, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: m.Handle}); err != nil {
		k.mem.add(m)
		return err
	}
	if m.Host != 0 {
		if err := mmapFixed(m.VA, m.Size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE, -1, 0); err != nil {
			return fromErrno(op, err)
		}
	}
	_, err := m.physical.Release()
	return err
}

// PhysicalOf returns the memory that a mapping shows, nil for an ordinary allocation.
func (m *Mem) PhysicalOf() *Physical { return m.physical }

// MapReadOnly maps a mapping of physical memory on a GPU node so that the GPU may read and run what is there, but not write. KFD's own maps are always writable; like ROCr this goes through the
// GPU's render node, whose address space is the same.
func (k *KFD) MapReadOnly(m *Mem, node int) error {
	const op = "vmem_map_read_only"
	g := k.gpuOf(node)
	if g == nil || m.physical == nil {
		return fail(op, InvalidParameter)
	}
	k.mem.mu.RLock()
	_, done := m.readOnly[node]
	k.mem.mu.RUnlock()
	if done {
		return nil
	}
	if err := k.Unmap(m, node); err != nil {
		return err
	}
	in := drm.PrimeArgs{FD: int32(m.physical.fd)}
	if err := renderIoctl(g, drm.NrPrimeFDToHandle, kfd.DirRead|kfd.DirWrite, &in); err != nil {
		return fromErrno(op, err)
	}
	va := drm.GEMVAArgs{Handle: in.Handle, Operation: drm.VAOpMap, Flags: drm.VMPageReadable | drm.VMPageExecutable, VAAddress: m.VA, MapSize: m.Size}
	if err := renderIoctl(g, drm.NrAMDGPUGEMVA, kfd.DirWrite, &va); err != nil {
		_ = renderIoctl(g, drm.NrGEMClose, kfd.DirWrite, &drm.GEMCloseArgs{Handle: in.Handle})
		return fromErrno(op, err)
	}
	k.mem.mu.Lock()
	if m.readOnly == nil {
		m.readOnly = map[int]uint32{}
	}
	m.readOnly[node] = in.Handle
	k.mem.mu.Unlock()
	return nil
}

// unmapReadOnly takes back what MapReadOnly did.
func (k *KFD) unmapReadOnly(m *Mem, node int) error {
	const op = "vmem_unmap_read_only"
	k.mem.mu.Lock()
	h, mapped := m.readOnly[node]
	delete(m.readOnly, node)
	k.mem.mu.Unlock()
	if !mapped {
		return nil
	}
	g := k.gpuOf(node)
	va := drm.GEMVAArgs{Handle: h, Operation: drm.VAOpUnmap, VAAddress: m.VA, MapSize: m.Size}
	err := renderIoctl(g, drm.NrAMDGPUGEMVA, kfd.DirWrite, &va)
	if e := renderIoctl(g, drm.NrGEMClose, kfd.DirWrite, &drm.GEMCloseArgs{Handle: h}); err == nil {
		err = e
	}
	if err != nil {
		return fromErrno(op, err)
	}
	return nil
}

// renderIoctl performs a DRM command on a GPU's render node.
func renderIoctl[T drm.Args](g *gpu, nr drm.Nr, dir kfd.Dir, a *T) error {
	b := drm.Bytes(a)
	return g.render.Ioctl(kfd.Request(uint32(dir)<<30|uint32(len(b))<<16|drm.Type<<8|uint32(nr)), b)
}
