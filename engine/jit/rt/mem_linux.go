package rt

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CodeMemory hands out executable memory. Safe for concurrent use.
//
// Lock order: mu is a leaf.
type CodeMemory struct {
	mu     sync.Mutex
	arenas []*arena
	free   []Code // returned pieces, first fit
	used   int
	closed bool
}

type arena struct {
	w, x []byte // the same bytes, writable and executable
	off  int
}

// Code is one piece of executable memory.
type Code struct {
	w    []byte
	addr uintptr
}

// Addr is where the code runs.
func (c Code) Addr() uintptr { return c.addr }

// Size is its length in bytes.
func (c Code) Size() int { return len(c.w) }

// Bytes is the writable view, for patching jumps. A patch must be one aligned store if a thread may be running the code.
func (c Code) Bytes() []byte { return c.w }

const arenaSize = 4 << 20

// codeAlign is the alignment of each piece: a cache line, and what constants of 64 bytes need.
const codeAlign = 64

// Install copies code into executable memory.
func (m *CodeMemory) Install(code []byte) (Code, error) {
	n := (len(code) + codeAlign - 1) &^ (codeAlign - 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return Code{}, errors.New("jit: code memory is closed")
	}
	c, err := m.alloc(n)
	if err != nil {
		return Code{}, err
	}
	copy(c.w, code)
	for i := len(code); i < n; i++ {
		c.w[i] = 0xcc
	}
	m.used += n
	return c, nil
}

func (m *CodeMemory) alloc(n int) (Code, error) {
	for i, f := range m.free {
		if len(f.w) < n {
			continue
		}
		if len(f.w) == n {
			m.free = append(m.free[:i], m.free[i+1:]...)
			return f, nil
		}
		m.free[i] = Code{f.w[n:], f.addr + uintptr(n)}
		return Code{f.w[:n:n], f.addr}, nil
	}
	var a *arena
	if k := len(m.arenas); k > 0 && m.arenas[k-1].off+n <= len(m.arenas[k-1].w) {
		a = m.arenas[k-1]
	} else {
		var err error
		if a, err = newArena(max(arenaSize, n)); err != nil {
			return Code{}, err
		}
		m.arenas = append(m.arenas, a)
	}
	c := Code{a.w[a.off : a.off+n : a.off+n], uintptr(unsafe.Pointer(&a.x[a.off]))}
	a.off += n
	return c, nil
}

// Release gives a piece back. No thread may be running it or hold its address.
func (m *CodeMemory) Release(c Code) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= len(c.w)
	m.free = append(m.free, c)
}

// Used is the number of bytes installed.
func (m *CodeMemory) Used() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// Close unmaps everything. No code may be running; who still compiles gets an error.
func (m *CodeMemory) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.arenas {
		_ = unix.Munmap(a.w)
		_ = unix.Munmap(a.x)
	}
	m.arenas, m.free, m.used, m.closed = nil, nil, 0, true
}

func newArena(n int) (*arena, error) {
	n = (n + 4095) &^ 4095
	fd, err := unix.MemfdCreate("pumice-jit", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("jit: code memory: %w", err)
	}
	defer unix.Close(fd) // the mappings keep the memory
	a := &arena{}
	if err = unix.Ftruncate(fd, int64(n)); err == nil {
		if a.w, err = unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
			if a.x, err = unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED); err == nil {
				return a, nil
			}
			_ = unix.Munmap(a.w)
		}
	}
	return nil, fmt.Errorf("jit: code memory: %w", err)
}

// Memory is anonymous memory outside the Go heap, for frames and tables that compiled code addresses.
func Memory(n int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, (n+4095)&^4095, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("jit: memory: %w", err)
	}
	return b, nil
}

// Free returns what Memory gave.
func Free(b []byte) { _ = unix.Munmap(b) }
