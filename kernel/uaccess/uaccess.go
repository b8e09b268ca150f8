// Package uaccess copies between the driver and user memory.
//
// # How Linux does it
//
// An ioctl's argument is an address that user space chose. copy_from_user and copy_to_user touch it with a fix-up for
// the page fault: a bad address gives EFAULT, never a crash, and a page that is not there yet is brought in first.
//
// # How this package does it
//
// Driver and application share one process, so a plain load would reach the memory, but a bad address would be a SIGSEGV
// that the application may own, and a page that userfaultfd serves must not be touched by a goroutine (it would stop
// the garbage collector and with it perhaps the handler). Process therefore asks the kernel to copy, with
// process_vm_readv and process_vm_writev on the own process: their faults are EFAULT, and while they wait the goroutine is in
// a system call. Where a container forbids these calls, the copy goes through a pipe.
//
// Memory is an interface so that tests, and the simulated address space of kernel/mm/sim, can stand in.
package uaccess

import (
	"encoding/binary"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Memory is an address space that an argument may point into. The only error is unix.EFAULT; a failed call may have copied a
// part. Implementations are safe for concurrent use.
type Memory interface {
	// Read copies len(b) bytes from addr.
	Read(addr uint64, b []byte) error
	// Write copies b to addr.
	Write(addr uint64, b []byte) error
}

// ReadUint32s reads n 32-bit words at addr.
func ReadUint32s(m Memory, addr uint64, n int) ([]uint32, error) {
	b := make([]byte, 4*n)
	if err := m.Read(addr, b); err != nil {
		return nil, err
	}
	w := make([]uint32, n)
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return w, nil
}

// Process is the memory of this process.
type Process struct{}

// maxUser is one past the highest user address of x86-64.
const maxUser = 1 << 47

// Read implements Memory.
func (Process) Read(addr uint64, b []byte) error { return transfer(addr, b, false) }

// Write implements Memory.
func (Process) Write(addr uint64, b []byte) error { return transfer(addr, b, true) }

// self is this process. A child of fork has a Go runtime of its own.
var self = unix.Getpid()

func transfer(addr uint64, b []byte, write bool) error {
	if len(b) == 0 {
		return nil
	}
	if addr == 0 || addr >= maxUser || uint64(len(b)) > maxUser-addr {
		return unix.EFAULT
	}
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}
	var n int
	var err error
	for {
		if write {
			n, err = unix.ProcessVMWritev(self, local, remote, 0)
		} else {
			n, err = unix.ProcessVMReadv(self, local, remote, 0)
		}
		if err != unix.EINTR {
			break
		}
	}
	if err == unix.ENOSYS || err == unix.EPERM || err == unix.EACCES {
		return viaPipe(addr, b, write)
	}
	if err != nil || n != len(b) {
		return unix.EFAULT
	}
	return nil
}

var pipes = sync.Pool{New: func() any {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return (*[2]int)(nil)
	}
	return &p
}}

// viaPipe copies through a pipe: read(2) and write(2) on the user address give EFAULT where it is bad.
func viaPipe(addr uint64, b []byte, write bool) error {
	p, _ := pipes.Get().(*[2]int)
	if p == nil {
		return unix.EFAULT
	}
	for len(b) > 0 {
		n := min(len(b), 4096)
		in, out := uintptr(unsafe.Pointer(&b[0])), uintptr(addr)
		if !write {
			in, out = out, in
		}
		w, _, errno := unix.Syscall(unix.SYS_WRITE, uintptr(p[1]), in, uintptr(n))
		if errno != 0 || int(w) != n {
			drop(p)
			return unix.EFAULT
		}
		r, _, errno := unix.Syscall(unix.SYS_READ, uintptr(p[0]), out, uintptr(n))
		if errno != 0 || int(r) != n {
			drop(p)
			return unix.EFAULT
		}
		b, addr = b[n:], addr+uint64(n)
	}
	pipes.Put(p)
	return nil
}

// drop closes a pipe that may still hold bytes.
func drop(p *[2]int) {
	_ = unix.Close(p[0])
	_ = unix.Close(p[1])
}

// Buffer is a Memory made of a byte slice that stands at Base: for tests.
type Buffer struct {
	Base uint64

	mu    sync.Mutex
	Bytes []byte // guarded by mu during calls
}

func (f *Buffer) at(addr uint64, n int) ([]byte, error) {
	off := addr - f.Base
	if addr < f.Base || off > uint64(len(f.Bytes)) || uint64(n) > uint64(len(f.Bytes))-off {
		return nil, unix.EFAULT
	}
	return f.Bytes[off : off+uint64(n)], nil
}

// Read implements Memory.
func (f *Buffer) Read(addr uint64, b []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.at(addr, len(b))
	copy(b, s)
	return err
}

// Write implements Memory.
func (f *Buffer) Write(addr uint64, b []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.at(addr, len(b))
	copy(s, b)
	return err
}
