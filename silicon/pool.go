package silicon

import (
	"math/bits"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pool keeps blocks of memory outside the Go heap for wave states and LDS: compiled code holds their addresses, and the
// garbage collector should not look at them. Blocks have power-of-two sizes and are kept for the next work-group.
type pool struct {
	mu     sync.Mutex
	free   [64][]unsafe.Pointer // by log2 of the size; guarded by mu
	chunks [][]byte             // guarded by mu
	rest   []byte               // unused end of the last chunk; guarded by mu
}

const (
	poolMin   = 12 // log2 of the smallest block
	poolChunk = 4 << 20
)

func poolClass(n int) int { return max(poolMin, bits.Len(uint(n-1))) }

// get returns a block of at least n bytes, page aligned; its content is undefined.
func (p *pool) get(n int) (unsafe.Pointer, error) {
	c := poolClass(n)
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.free[c]; len(l) > 0 {
		p.free[c] = l[:len(l)-1]
		return l[len(l)-1], nil
	}
	size := 1 << c
	if len(p.rest) < size {
		b, err := unix.Mmap(-1, 0, max(poolChunk, size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
		if err != nil {
			return nil, err
		}
		p.chunks = append(p.chunks, b)
		p.rest = b
	}
	b := unsafe.Pointer(&p.rest[0])
	p.rest = p.rest[size:]
	return b, nil
}

// put gives back a block that get(n) returned.
func (p *pool) put(b unsafe.Pointer, n int) {
	c := poolClass(n)
	p.mu.Lock()
	p.free[c] = append(p.free[c], b)
	p.mu.Unlock()
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.chunks {
		_ = unix.Munmap(c)
	}
	p.chunks, p.rest, p.free = nil, nil, [64][]unsafe.Pointer{}
}
