package hsakmt

import (
	"sync"
	"unsafe"
)

// pin is a buffer whose address may be written into an ioctl argument as a number. Go does not move heap objects, but it
// does not see the number either: the pool keeps the buffer reachable until free.
type pin struct {
	b    []byte
	addr uint64
}

var pins struct {
	mu sync.Mutex
	m  map[uint64]*pin // guarded by mu
}

// pinned returns a zeroed buffer of n bytes, 8-byte aligned. The caller frees it after the call.
func pinned(n int) *pin {
	w := make([]uint64, (n+7)/8+1)
	p := &pin{b: unsafe.Slice((*byte)(unsafe.Pointer(&w[0])), n), addr: uint64(uintptr(unsafe.Pointer(&w[0])))}
	pins.mu.Lock()
	if pins.m == nil {
		pins.m = map[uint64]*pin{}
	}
	pins.m[p.addr] = p
	pins.mu.Unlock()
	return p
}

func (p *pin) free() {
	pins.mu.Lock()
	delete(pins.m, p.addr)
	pins.mu.Unlock()
}

// pinWords returns a pinned copy of 32-bit words.
func pinWords(w []uint32) *pin {
	p := pinned(4 * len(w))
	for i, v := range w {
		*(*uint32)(unsafe.Pointer(&p.b[4*i])) = v
	}
	return p
}
