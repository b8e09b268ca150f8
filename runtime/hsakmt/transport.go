package hsakmt

import (
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/kfd"
)

// Transport reaches one kernel driver.
type Transport interface {
	// Open opens a device file, kfd.DevicePath or a render node, for reading and writing.
	Open(path string) (File, error)
	// Sysfs returns the tree that holds the topology, with names relative to the root directory:
	// "sys/devices/virtual/kfd/kfd/topology/nodes/0/gpu_id".
	Sysfs() fs.FS
}

// File is an open device file.
type File interface {
	// Ioctl performs a request on arg, which the driver reads and writes. The error is a unix.Errno.
	Ioctl(req kfd.Request, arg []byte) error
	// Mmap maps length bytes at offset over the address range at addr (MAP_SHARED|MAP_FIXED). prot is of unix.PROT_*.
	Mmap(addr, length uint64, prot int, offset uint64) error
	// FD is the descriptor number by which another call, ACQUIRE_VM, refers to this file.
	FD() int
	Close() error
}

// DoorbellNotifier is a File of KFD that wants to be told of doorbell writes: a driver in this process, which would
// otherwise have to watch the page.
type DoorbellNotifier interface {
	// NotifyDoorbell tells that a doorbell was written. offset is what CREATE_QUEUE returned. It does not block on the
	// work that the doorbell starts.
	NotifyDoorbell(offset uint64)
}

// UnmapNotifier is a File of KFD that wants to be told of memory of the process that the runtime unmaps, as Linux tells its drivers.
type UnmapNotifier interface {
	NotifyUnmap(addr, n uint64)
}

// Device is the Transport of the real device files of this machine.
type Device struct{}

// Open implements Transport.
func (Device) Open(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return deviceFile{f}, nil
}

// Sysfs implements Transport.
func (Device) Sysfs() fs.FS { return os.DirFS("/") }

type deviceFile struct{ *os.File }

func (f deviceFile) FD() int { return int(f.File.Fd()) }

func (f deviceFile) Ioctl(req kfd.Request, arg []byte) error {
	var p unsafe.Pointer
	if len(arg) > 0 {
		p = unsafe.Pointer(&arg[0])
	}
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.File.Fd(), uintptr(req), uintptr(p))
		switch errno {
		case 0:
			return nil
		case unix.EINTR, unix.EAGAIN: // a signal; the driver has kept how far it came in the argument
			continue
		}
		return errno
	}
}

func (f deviceFile) Mmap(addr, length uint64, prot int, offset uint64) error {
	return mmapFixed(addr, length, prot, unix.MAP_SHARED, int(f.File.Fd()), offset)
}

func mmapFixed(addr, length uint64, prot, flags, fd int, offset uint64) error {
	_, _, errno := unix.Syscall6(unix.SYS_MMAP, uintptr(addr), uintptr(length), uintptr(prot), uintptr(flags|unix.MAP_FIXED), uintptr(fd), uintptr(offset))
	if errno != 0 {
		return errno
	}
	return nil
}

// hostPointer turns an address outside the Go heap into a pointer.
func hostPointer(a uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }
