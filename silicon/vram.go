package silicon

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Memory is memory of the chip behind one of its PCI apertures: a sparse memfd, mapped once for the chip itself. Others map
// FD as they like. Pages that nobody has written cost nothing.
type Memory struct {
	fd   int
	size uint64
	base unsafe.Pointer
	b    []byte
}

func newMemory(name string, size uint64) (*Memory, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("silicon: memfd_create %s: %w", name, err)
	}
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("silicon: %s of %d bytes: %w", name, size, err)
	}
	b, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("silicon: map %s of %d bytes: %w", name, size, err)
	}
	return &Memory{fd: fd, size: size, base: unsafe.Pointer(&b[0]), b: b}, nil
}

// FD is the memfd; it stays the Device's.
func (m *Memory) FD() int { return m.fd }

// Size in bytes.
func (m *Memory) Size() uint64 { return m.size }

// Base is the host address of the chip's own mapping.
func (m *Memory) Base() unsafe.Pointer { return m.base }

// Bytes is that mapping.
func (m *Memory) Bytes() []byte { return m.b }

// Discard gives the pages of [off, off+n) back: they read as zero afterwards. Both are multiples of 4096.
func (m *Memory) Discard(off, n uint64) error {
	if off+n < off || off+n > m.size {
		return fmt.Errorf("silicon: discard of %#x+%#x in a memory of %#x bytes", off, n, m.size)
	}
	return unix.Fallocate(m.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(off), int64(n))
}

func (m *Memory) close() {
	if m.b != nil {
		_ = unix.Munmap(m.b)
		_ = unix.Close(m.fd)
		m.b, m.base = nil, nil
	}
}

// pointer turns a host address outside the Go heap into a pointer.
func pointer(a uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }
