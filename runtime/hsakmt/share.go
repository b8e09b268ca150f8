package hsakmt

import (
	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/kfd"
)

// SharedHandle names memory in other processes: the driver's handle, the size in pages, the GPU and where the memory is.
type SharedHandle [8]uint32

// sharedMagic marks handles that this package has made.
const sharedMagic = 0x53524853

// Share makes a handle of an allocation for other processes. It is valid as long as the memory is there.
func (k *KFD) Share(m *Mem) (h SharedHandle, err error) {
	const op = "share"
	if m.userptr || m.physical != nil || m.Handle == 0 {
		return h, fail(op, InvalidParameter)
	}
	g := k.gpuOf(m.Node)
	if g == nil {
		g = k.gpus[0]
	}
	a := kfd.IPCExportHandleArgs{Handle: m.Handle, GPUID: g.node.GPUID}
	if err := ioctl(k, kfd.IocIPCExportHandle, &a); err != nil {
		return h, err
	}
	copy(h[:], a.ShareHandle[:])
	h[4], h[5], h[6], h[7] = uint32(m.Size/PageSize), g.node.GPUID, uint32(m.Node)<<1, sharedMagic
	if m.Host != 0 {
		h[6] |= 1
	}
	return h, nil
}

// OpenShared maps memory of another process; no GPU reaches it before Map. Free ends it, the memory stays the other's.
func (k *KFD) OpenShared(h SharedHandle) (*Mem, error) {
	const op = "open_shared"
	size := uint64(h[4]) * PageSize
	if h[7] != sharedMagic || size == 0 {
		return nil, fail(op, InvalidHandle)
	}
	g := k.gpuByID(h[5])
	if g == nil {
		if len(k.gpus) == 0 {
			return nil, fail(op, NotSupported)
		}
		g = k.gpus[0]
	}
	align := uint64(PageSize)
	if size >= hugeSize {
		align = hugeSize
	}
	m := &Mem{Size: size, Node: int(h[6] >> 1), mapped: map[int]bool{}}
	if m.Node >= len(k.topo.Nodes) {
		m.Node = g.node.ID
	}
	var err error
	if m.VA, m.reserved, m.resLen, err = reserve(size, align); err != nil {
		return nil, fromErrno(op, err)
	}
	a := kfd.IPCImportHandleArgs{VAAddr: m.VA, GPUID: g.node.GPUID}
	copy(a.ShareHandle[:], h[:4])
	if err := ioctl(k, kfd.IocIPCImportHandle, &a); err != nil {
		unreserve(m.reserved, m.resLen)
		return nil, err
	}
	m.Handle = a.Handle
	if h[6]&1 != 0 {
		if err := g.render.Mmap(m.VA, size, unix.PROT_READ|unix.PROT_WRITE, a.MmapOffset); err != nil {
			_ = k.release(m)
			return nil, fromErrno(op, err)
		}
		m.Host = m.VA
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(m.VA), uintptr(size), unix.MADV_DONTFORK)
	}
	k.mem.add(m)
	return m, nil
}
