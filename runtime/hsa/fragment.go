package hsa

import (
	"sort"
	"sync"

	"github.com/pumice-gpu/pumice/runtime/hsakmt"
)

// ROCr carves allocations of video memory below 2 MiB out of blocks of that size, by the best fit, in whole pages. What lies behind a buffer is then
// mapped: a program that reads or writes past one meets other memory or none of anybody's, and goes on. Pumice gives each allocation an address of its own, where such
// a program ends with a memory fault that names it. Options.Fragments asks for ROCr's way, for programs that have the fault and must run.

// fragmentBlock is the size of a block in bytes.
const fragmentBlock = 2 << 20

// fragments are the blocks of a pool.
type fragments struct {
	mu     sync.Mutex
	blocks []*block // guarded by mu
}

// block is an allocation that others are parts of.
type block struct {
	whole *Memory
	pool  *Pool
	parts []*Memory // by address; guarded by the mutex of fragments
}

func wholePages(n uint64) uint64 { return (n + hsakmt.PageSize - 1) &^ (hsakmt.PageSize - 1) }

// fit finds the smallest gap of at least n bytes: its offset and size.
func (b *block) fit(n uint64) (at, size uint64, ok bool) {
	try := func(from, to uint64) {
		if gap := to - from; gap >= n && (!ok || gap < size) {
			at, size, ok = from, gap, true
		}
	}
	from := uint64(0)
	for _, p := range b.parts {
		try(from, p.Addr-b.whole.Addr)
		from = p.Addr - b.whole.Addr + wholePages(p.Size)
	}
	try(from, fragmentBlock)
	return
}

// fragment takes part of a block.
func (p *Pool) fragment(size uint64, opts AllocOption) (*Memory, error) {
	f := &p.fragments
	f.mu.Lock()
	defer f.mu.Unlock()
	n := wholePages(size)
	var best *block
	var at, least uint64
	for _, b := range f.blocks {
		if o, gap, ok := b.fit(n); ok && (best == nil || gap < least) {
			best, at, least = b, o, gap
		}
	}
	if best == nil {
		m, err := p.allocate(fragmentBlock, fragmentBlock, opts)
		if err != nil {
			return nil, err
		}
		best, at = &block{whole: m, pool: p}, 0
		m.block = best
		f.blocks = append(f.blocks, best)
	}
	w := best.whole
	m := &Memory{Addr: w.Addr + at, Size: size, Pool: p, mem: w.mem, block: best}
	if w.Host != 0 {
		m.Host = w.Host + at
	}
	i := sort.Search(len(best.parts), func(i int) bool { return best.parts[i].Addr > m.Addr })
	best.parts = append(best.parts, nil)
	copy(best.parts[i+1:], best.parts[i:])
	best.parts[i] = m
	return m, nil
}

// free gives a part back. The last block stays, empty, for the next allocation.
func (b *block) free(m *Memory) error {
	f := &b.pool.fragments
	f.mu.Lock()
	defer f.mu.Unlock()
	i := sort.Search(len(b.parts), func(i int) bool { return b.parts[i].Addr >= m.Addr })
	if i == len(b.parts) || b.parts[i] != m {
		return fail("memory_pool_free", StatusInvalidAllocation, "%#x is free", m.Addr)
	}
	b.parts = append(b.parts[:i], b.parts[i+1:]...)
	if len(b.parts) > 0 || len(f.blocks) == 1 {
		return nil
	}
	for i, x := range f.blocks {
		if x == b {
			f.blocks = append(f.blocks[:i], f.blocks[i+1:]...)
			break
		}
	}
	return wrap("memory_pool_free", b.pool.Agent.rt.kfd.Free(b.whole.mem))
}

// find returns the part that contains an address, of an agent or of the host; nil if it is in none.
func (b *block) find(addr uint64) *Memory {
	f := &b.pool.fragments
	f.mu.Lock()
	defer f.mu.Unlock()
	off := addr - b.whole.Addr
	if off >= fragmentBlock {
		off = addr - b.whole.Host
	}
	i := sort.Search(len(b.parts), func(i int) bool { return b.parts[i].Addr-b.whole.Addr > off }) - 1
	if i < 0 || off-(b.parts[i].Addr-b.whole.Addr) >= b.parts[i].Size {
		return nil
	}
	return b.parts[i]
}

// Offset is where the memory begins in the allocation of the driver that it is part of, in bytes.
func (m *Memory) Offset() uint64 {
	if m.block == nil {
		return 0
	}
	return m.Addr - m.block.whole.Addr
}

// Handles for other processes name the driver's allocation; which part of it is meant stands in bits of a word that the thunk uses twelve of: offset and size in
// pages, and that there is one.
const (
	shareWord   = 6
	shareThunk  = 1<<12 - 1
	shareOffset = 12 // 9 bits
	sharePages  = 21 // 10 bits
	sharePart   = 1 << 31
)

// partOf writes the part into a handle.
func (m *Memory) partOf(h *SharedHandle) {
	if m.block != nil {
		h[shareWord] |= sharePart | uint32(m.Offset()/hsakmt.PageSize)<<shareOffset | uint32(wholePages(m.Size)/hsakmt.PageSize)<<sharePages
	}
}

// takePart reads the part from a handle, and leaves what the thunk made.
func takePart(h *SharedHandle) (offset, size uint64) {
	w := h[shareWord]
	if w&sharePart == 0 {
		return 0, 0
	}
	h[shareWord] = w & shareThunk
	return uint64(w>>shareOffset&(1<<9-1)) * hsakmt.PageSize, uint64(w>>sharePages&(1<<10-1)) * hsakmt.PageSize
}
