package kfd

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/kfd"
)

// Two drivers share memory as two processes do: by an IPC handle, and by a descriptor. The memory lives until the last of them is done with it.
func TestShare(t *testing.T) {
	for _, way := range []string{"ipc", "dmabuf"} {
		t.Run(way, func(t *testing.T) {
			a, b := newRig(t, "mi210").acquire(), newRig(t, "mi210").acquire()
			const va, size = 0x7e2000000000, 4 << 20
			handle, mem := a.alloc(0, va, size, kfd.AllocVRAM|kfd.AllocPublic)
			mem[12345] = 77
			const there = 0x7e3000000000
			var imported, offset uint64
			fd := -1
			if way == "ipc" {
				x := kfd.IPCExportHandleArgs{Handle: handle, GPUID: 2, Flags: 0x2001}
				must(a, kfd.IocIPCExportHandle, &x)
				i := kfd.IPCImportHandleArgs{VAAddr: there, GPUID: 2, ShareHandle: x.ShareHandle}
				must(b, kfd.IocIPCImportHandle, &i)
				imported, offset = i.Handle, i.MmapOffset
				if i.Flags != x.Flags {
					t.Errorf("flags %#x", i.Flags)
				}
				i.ShareHandle[2]++
				if err := call(b, kfd.IocIPCImportHandle, &i); err != unix.EINVAL {
					t.Errorf("handle of nothing: %v", err)
				}
			} else {
				x := kfd.ExportDmabufArgs{Handle: handle, Flags: unix.O_CLOEXEC}
				must(a, kfd.IocExportDmabuf, &x)
				fd = int(x.DmabufFD)
				info := kfd.GetDmabufInfoArgs{DmabufFD: x.DmabufFD}
				must(b, kfd.IocGetDmabufInfo, &info)
				if info.Size != size || info.GPUID != 2 || info.Flags != kfd.AllocVRAM {
					t.Errorf("%+v", info)
				}
				i := kfd.ImportDmabufArgs{VAAddr: there, GPUID: 2, DmabufFD: x.DmabufFD}
				must(b, kfd.IocImportDmabuf, &i)
				imported = i.Handle
			}
			b.mapTo(imported, 2)
			pte, ok := b.drv.proc.pdds[0].vm.Lookup(there + 12288)
			if !ok {
				t.Fatal("not mapped")
			}
			// The page that b's device reaches on the bus is a's video memory.
			seen := (*byte)(hostPtr(pte.Addr + 12345 - 12288))
			if *seen != 77 {
				t.Errorf("b sees %d", *seen)
			}
			*seen = 78
			if mem[12345] != 78 {
				t.Errorf("a sees %d", mem[12345])
			}
			if way == "ipc" {
				segs, err := b.fds[100].Mmap(offset, size)
				if err != nil || len(segs) != 1 {
					t.Fatalf("%v %v", segs, err)
				}
				m, err := unix.Mmap(segs[0].FD, int64(segs[0].Off), size, unix.PROT_READ, unix.MAP_SHARED)
				if err != nil || m[12345] != 78 {
					t.Errorf("b's CPU: %v", err)
				}
				_ = unix.Munmap(m)
			}
			// a frees; b still has it.
			free := a.drv.nodes[0].dev.VRAMFree()
			if err := a.unmap(handle, 2); err != nil {
				t.Fatal(err)
			}
			must(a, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: handle})
			if fd >= 0 {
				_ = unix.Close(fd)
			}
			a.drv.exports.sweep()
			if a.drv.nodes[0].dev.VRAMFree() != free || *seen != 78 {
				t.Error("freed while another process has it")
			}
			if err := b.unmap(imported, 2); err != nil {
				t.Fatal(err)
			}
			must(b, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: imported})
			a.drv.exports.sweep()
			if got := a.drv.nodes[0].dev.VRAMFree(); got != free+size {
				t.Errorf("%#x bytes free, want %#x", got, free+size)
			}
		})
	}
}

// What another process says is not trusted.
func TestShareBadDescriptor(t *testing.T) {
	r := newRig(t, "mi210").acquire()
	fd, err := unix.MemfdCreate("bad", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	try := func(name string, h shareHeader, pieces ...[2]uint64) {
		t.Helper()
		b := unsafe.Slice((*byte)(unsafe.Pointer(&h)), unsafe.Sizeof(h))
		_ = unix.Ftruncate(fd, 0)
		_, _ = unix.Pwrite(fd, b, 0)
		for i, p := range pieces {
			_, _ = unix.Pwrite(fd, unsafe.Slice((*byte)(unsafe.Pointer(&p)), 16), int64(len(b)+16*i))
		}
		if err := call(r, kfd.IocImportDmabuf, &kfd.ImportDmabufArgs{VAAddr: 0x7e4000000000, GPUID: 2, DmabufFD: uint32(fd)}); err != unix.EINVAL {
			t.Errorf("%s: %v", name, err)
		}
	}
	ino, _ := inode(fd)
	good := shareHeader{Magic: shareMagic, PID: uint32(unix.Getpid()), FD: uint32(fd), Inode: ino, Size: 4096, Pieces: 1}
	try("empty", shareHeader{})
	h := good
	h.Pieces = 0
	try("no pieces", h)
	h = good
	h.Pieces = 1 << 30
	try("many pieces", h)
	try("pieces missing", good)
	try("unaligned", good, [2]uint64{5, 4096})
	try("no length", good, [2]uint64{0, 0})
	try("too long", good, [2]uint64{0, 1 << 60})
	h = good
	h.Inode++
	try("another file", h, [2]uint64{0, 4096})
	h = good
	h.PID = 1 << 30
	try("no process", h, [2]uint64{0, 4096})
}
