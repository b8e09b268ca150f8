package amdgpu

import (
	"fmt"
	"unsafe"

	"github.com/pumice-gpu/pumice/kernel/buddy"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"golang.org/x/sys/unix"
)

var sysClass = &sched.Class{Name: "amdgpu_sysmem", Rank: 810}

// SystemMemory is the host memory that drivers give to GPUs (GTT): one sparse memfd, mapped once. User space maps pieces
// of the same file; GPUs use the bus address, which is the host address of the mapping.
type SystemMemory struct {
	fd    int
	raw   []byte
	base  unsafe.Pointer // 2 MiB aligned
	limit uint64

	mu    sched.Mutex
	space *buddy.Allocator // offsets of the file; guarded by mu
	used  uint64           // guarded by mu
}

// NewSystemMemory returns system memory of at most limit bytes (0: what KFD allows of the machine's RAM).
func NewSystemMemory(w sched.World, limit uint64) (*SystemMemory, error) {
	if limit == 0 {
		var si unix.Sysinfo_t
		if err := unix.Sysinfo(&si); err != nil {
			return nil, fmt.Errorf("amdgpu: sysinfo: %w", err)
		}
		limit = systemLimit(uint64(si.Totalram) * uint64(si.Unit))
	}
	// Every buffer is contiguous in the file, so its offset space is made four times as large: holes are free.
	size := (limit*4 + hugeSize - 1) &^ (hugeSize - 1)
	fd, err := unix.MemfdCreate("pumice-gtt", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("amdgpu: memfd_create: %w", err)
	}
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("amdgpu: system memory of %d bytes: %w", size, err)
	}
	// The mapping must start at a 2 MiB boundary for huge GPU pages: reserve more, then place the file inside.
	raw, err := unix.Mmap(-1, 0, int(size+hugeSize), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("amdgpu: address space for %d bytes of system memory (ulimit -v?): %w", size, err)
	}
	at := (uintptr(unsafe.Pointer(&raw[0])) + hugeSize - 1) &^ (hugeSize - 1)
	base := unsafe.Add(unsafe.Pointer(&raw[0]), at-uintptr(unsafe.Pointer(&raw[0])))
	if _, err := unix.MmapPtr(fd, 0, base, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED|unix.MAP_NORESERVE); err != nil {
		_ = unix.Munmap(raw)
		_ = unix.Close(fd)
		return nil, fmt.Errorf("amdgpu: map system memory: %w", err)
	}
	return &SystemMemory{fd: fd, raw: raw, base: base, limit: limit, mu: w.NewMutex(sysClass), space: buddy.New(size)}, nil
}

const hugeSize = 2 << 20

// systemLimit is how much of ram bytes KFD gives to GPUs: all but 1/64, less 1.5 GiB, or half on a small machine.
func systemLimit(ram uint64) uint64 {
	const reserve = 3 << 29
	m := ram - ram/64
	if m < 2*reserve {
		return m / 2
	}
	return m - reserve
}

// FD is the memfd.
func (s *SystemMemory) FD() int { return s.fd }

// Limit and Used count bytes.
func (s *SystemMemory) Limit() uint64 { return s.limit }
func (s *SystemMemory) Used() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// alloc returns a contiguous zeroed range of the file. ENOMEM when the limit is reached.
func (s *SystemMemory) alloc(size uint64) ([]buddy.Block, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size > s.limit-s.used {
		return nil, unix.ENOMEM
	}
	align := uint64(0)
	if size >= hugeSize {
		align = hugeSize
	}
	b, err := s.space.Alloc(size, align, true)
	if err != nil {
		return nil, unix.ENOMEM
	}
	for _, x := range b {
		s.used += x.Size
	}
	return b, nil
}

func (s *SystemMemory) free(b []buddy.Block) {
	for _, x := range b {
		_ = unix.Fallocate(s.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(x.Off), int64(x.Size))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range b {
		s.used -= x.Size
	}
	s.space.Free(b)
}

// Close gives all of it back. No device may use it any more.
func (s *SystemMemory) Close() {
	_ = unix.Munmap(s.raw)
	_ = unix.Close(s.fd)
	s.raw, s.base = nil, nil
}
