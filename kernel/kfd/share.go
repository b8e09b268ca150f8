package kfd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/sched"
)

// Sharing memory. In the real system a buffer is shared by a DMA-BUF descriptor, which keeps it alive wherever it is passed to, or by a handle of 16 bytes that any
// process may open (IPC_EXPORT_HANDLE and IPC_IMPORT_HANDLE of AMD's out-of-tree driver). There is one driver for all processes.
//
// Here each process has a driver and devices of its own. A descriptor is a memfd that says where the memory is: process, descriptor and pieces of the file that
// the exporting device keeps its memory in. Another process opens that file through /proc and maps the pieces; its devices see memory on the bus. While it does, it
// holds a lock on the descriptor's file, and the exporter keeps the memory. An IPC handle names process and descriptor.
//
// fidelity: approximate EXPORT_DMABUF, IPC_EXPORT_HANDLE: another process must import while the exporter lives and has the memory, as a user that may look into its /proc

// exports are the descriptors that were given out, known by their inode.
type exports struct {
	mu   sched.Mutex
	list map[uint64]export // by inode; guarded by mu
	gpu  func(*amdgpu.Device) uint32
}

type export struct {
	bo   *amdgpu.BO
	ours int // our own descriptor of the same file
}

var exportClass = &sched.Class{Name: "kfd_exports", Rank: 690}

func (e *exports) init(w sched.World) { e.mu, e.list = w.NewMutex(exportClass), map[uint64]export{} }

// shareMagic begins a descriptor's content.
var shareMagic = [16]byte{'p', 'u', 'm', 'i', 'c', 'e', ' ', 'd', 'm', 'a', 'b', 'u', 'f', ' ', '1', '\n'}

// shareHeader is the content of a descriptor; Pieces pairs of offset and length follow.
type shareHeader struct {
	Magic  [16]byte
	PID    uint32
	FD     uint32 // of the file with the memory, in that process
	Inode  uint64 // of that file
	Size   uint64
	GPU    uint32 // gpu_id
	VRAM   uint32
	Pieces uint32
	Flags  uint32 // of the exporter's user space, which its importer's asks for (IPC only)
}

// maxPieces bounds what another process's descriptor may make us do.
const maxPieces = 1 << 16

func inode(fd int) (uint64, bool) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, false
	}
	return st.Ino, true
}

// export makes a descriptor for a buffer.
func (e *exports) export(bo *amdgpu.BO) (int, error) {
	fd, err := unix.MemfdCreate("pumice-dmabuf", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, unix.EMFILE
	}
	ours, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	ino, ok := inode(fd)
	if err != nil || !ok || unix.Ftruncate(fd, int64(bo.Size)) != nil {
		_ = unix.Close(fd)
		return -1, unix.EMFILE
	}
	if err := e.describe(fd, bo); err != nil {
		_, _ = unix.Close(fd), unix.Close(ours)
		return -1, err
	}
	e.sweep()
	e.mu.Lock()
	e.list[ino] = export{bo.Get(), ours}
	e.mu.Unlock()
	return fd, nil
}

// describe writes a descriptor's content.
func (e *exports) describe(fd int, bo *amdgpu.BO) error {
	pieces, err := bo.Segments(0, bo.Size)
	if err != nil || len(pieces) == 0 || len(pieces) > maxPieces {
		return unix.EINVAL
	}
	h := shareHeader{Magic: shareMagic, PID: uint32(os.Getpid()), FD: uint32(pieces[0].FD), Size: bo.Size, Pieces: uint32(len(pieces)), GPU: e.gpu(bo.Dev)}
	if bo.Domain == amdgpu.VRAM {
		h.VRAM = 1
	}
	h.Inode, _ = inode(pieces[0].FD)
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, &h)
	for _, p := range pieces {
		_ = binary.Write(&b, binary.LittleEndian, [2]uint64{p.Off, p.Len})
	}
	if _, err := unix.Pwrite(fd, b.Bytes(), 0); err != nil {
		return unix.EMFILE
	}
	return nil
}

// find returns the buffer behind a descriptor, with a reference. EINVAL for others' descriptors.
func (e *exports) find(fd int) (*amdgpu.BO, error) {
	ino, ok := inode(fd)
	if !ok {
		return nil, unix.EBADF
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if x, ok := e.list[ino]; ok {
		return x.bo.Get(), nil
	}
	return nil, unix.EINVAL
}

// readShare reads a descriptor of another process.
func readShare(fd int) (h shareHeader, pieces []amdgpu.Segment, err error) {
	b := make([]byte, binary.Size(&h))
	if n, err := unix.Pread(fd, b, 0); err != nil || n != len(b) {
		return h, nil, unix.EINVAL
	}
	_ = binary.Read(bytes.NewReader(b), binary.LittleEndian, &h)
	if h.Magic != shareMagic || h.Pieces == 0 || h.Pieces > maxPieces {
		return h, nil, unix.EINVAL
	}
	list := make([][2]uint64, h.Pieces)
	b2 := make([]byte, 16*len(list))
	if n, err := unix.Pread(fd, b2, int64(len(b))); err != nil || n != len(b2) {
		return h, nil, unix.EINVAL
	}
	_ = binary.Read(bytes.NewReader(b2), binary.LittleEndian, list)
	for _, p := range list {
		pieces = append(pieces, amdgpu.Segment{Off: p[0], Len: p[1]})
	}
	return h, pieces, nil
}

// foreign makes a buffer of the memory that another process's descriptor stands for, on a device. It opens the descriptor's file anew for its lock.
func foreign(dev *amdgpu.Device, fd int) (*amdgpu.BO, error) {
	if _, _, err := readShare(fd); err != nil {
		return nil, unix.EINVAL
	}
	lock, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, unix.EINVAL
	}
	bad := func(err error, fds ...int) (*amdgpu.BO, error) {
		for _, fd := range append(fds, lock) {
			_ = unix.Close(fd)
		}
		return nil, err
	}
	if err := unix.Flock(lock, unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return bad(unix.EINVAL) // it is being dropped
	}
	h, pieces, err := readShare(lock)
	if err != nil {
		return bad(err)
	}
	file, err := unix.Open(fmt.Sprintf("/proc/%d/fd/%d", h.PID, h.FD), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return bad(unix.EINVAL)
	}
	if ino, _ := inode(file); ino != h.Inode {
		return bad(unix.EINVAL, file)
	}
	for i := range pieces {
		pieces[i].FD = file
	}
	bo, err := dev.NewForeign(pieces, func() { _, _ = unix.Close(file), unix.Close(lock) })
	if err != nil {
		return bad(err, file)
	}
	return bo, nil
}

// sweep drops exports of which only our own descriptor is left, and no lock of another process.
func (e *exports) sweep() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.list) == 0 {
		return
	}
	count := map[uint64]int{}
	for _, fd := range openFDs() {
		if ino, ok := inode(fd); ok {
			if _, ok := e.list[ino]; ok {
				count[ino]++
			}
		}
	}
	for ino, n := range count {
		if n != 1 {
			continue
		}
		x := e.list[ino]
		if unix.Flock(x.ours, unix.LOCK_EX|unix.LOCK_NB) != nil {
			continue
		}
		// Whoever still has the descriptor must not find memory that is another's by now.
		_ = unix.Ftruncate(x.ours, 0)
		x.bo.Put()
		_ = unix.Close(x.ours)
		delete(e.list, ino)
	}
}

// drop forgets all exports.
func (e *exports) drop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for ino, x := range e.list {
		x.bo.Put()
		_ = unix.Close(x.ours)
		delete(e.list, ino)
	}
}

// openFDs lists the process's descriptors.
func openFDs() (out []int) {
	dir, err := unix.Open("/proc/self/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(dir) }()
	buf := make([]byte, 8192)
	for {
		n, err := unix.ReadDirent(dir, buf)
		if err != nil || n <= 0 {
			return out
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, s := range names {
			if fd, err := strconv.Atoi(strings.TrimSpace(s)); err == nil && fd != dir {
				out = append(out, fd)
			}
		}
	}
}

// ipcExport is IPC_EXPORT_HANDLE. The handle is process, descriptor and the descriptor's inode, and lives as long as the memory.
func (p *process) ipcExport(a *kfd.IPCExportHandleArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := p.buffer(a.Handle)
	if err != nil {
		return err
	}
	if b.bo.Domain != amdgpu.VRAM && b.bo.Domain != amdgpu.GTT {
		return unix.EINVAL
	}
	if b.ipc == 0 {
		fd, err := p.drv.exports.export(b.bo)
		if err != nil {
			return err
		}
		b.ipc = fd
	}
	flags := binary.LittleEndian.AppendUint32(nil, a.Flags)
	if _, err := unix.Pwrite(b.ipc, flags, int64(unsafe.Offsetof(shareHeader{}.Flags))); err != nil {
		return unix.EIO
	}
	ino, _ := inode(b.ipc)
	a.ShareHandle = [4]uint32{uint32(os.Getpid()), uint32(b.ipc), uint32(ino), uint32(ino >> 32)}
	return nil
}

// ipcImport is IPC_IMPORT_HANDLE. EINVAL for a handle of nothing.
func (p *process) ipcImport(a *kfd.IPCImportHandleArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/fd/%d", a.ShareHandle[0], a.ShareHandle[1]), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return unix.EINVAL
	}
	defer func() { _ = unix.Close(fd) }()
	if ino, _ := inode(fd); ino != uint64(a.ShareHandle[2])|uint64(a.ShareHandle[3])<<32 {
		return unix.EINVAL
	}
	h, _, err := readShare(fd)
	if err != nil {
		return err
	}
	b, err := p.adopt(a.GPUID, a.VAAddr, fd)
	if err != nil {
		return err
	}
	a.Flags = h.Flags
	a.Handle, a.MmapOffset = kfd.Handle(b.home.node.id, b.idr), b.bo.MmapOffset
	return nil
}
