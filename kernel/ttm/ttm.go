// Package ttm places buffers in video memory and evicts them when it is full: the part of Linux's TTM that amdgpu's
// shared virtual memory depends on.
//
// A buffer object (BO) has a size, a domain where it is now, and a reservation object that is locked while it moves. VRAM
// is handed out by a buddy allocator. When it is full, buffers are taken from the front of a least-recently-used list (for SVM's, which are
// never validated again after they were filled, that is the order of allocation),
// their reservation is try-locked, and they are asked where they can go (EvictFlags): to system memory, by their Move
// function, or nowhere, which means that their content may be thrown away ("gutting"): then the fences of the reservation
// are waited for, and the blocks are free at once.
//
// Locks, outermost first: BO.Resv, Manager.mu. Move, and whatever it calls, runs with the evicted BO's Resv held and may
// be called with the Resv of the BO that is being placed held too.
//
// Behaviour: kernel-svm §4.1–4.2.
package ttm

import (
	"errors"
	"time"

	"github.com/pumice-gpu/pumice/kernel/buddy"
	"github.com/pumice-gpu/pumice/kernel/fence"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
)

var managerClass = &sched.Class{Name: "ttm lru lock", Rank: 850}

// Domain is where a BO's memory is.
type Domain uint8

const (
	System Domain = iota // nowhere the GPU can reach
	GTT
	VRAM
)

// Ops are what the owner of a BO provides.
type Ops interface {
	// EvictFlags says where the BO may go; none means that its content may be thrown away.
	EvictFlags(b *BO) []Domain
	// Move moves the content out of VRAM; Resv is held. An error keeps the BO where it is.
	Move(b *BO, to Domain) error
	// Valuable vetoes the eviction.
	Valuable(b *BO) bool
}

// BO is a buffer object.
type BO struct {
	Resv *fence.Resv
	Size uint64
	Ops  Ops
	Data any // the owner's

	m *Manager
	// Guarded by m.mu.
	domain Domain
	blocks []buddy.Block
	dead   bool
}

// Manager is one device's video memory.
type Manager struct {
	world sched.World
	mu    sched.Mutex
	// Guarded by mu.
	vram *buddy.Allocator
	lru  []*BO // least recently used first

	// Evictions counts BOs that were moved or gutted to make room.
	evictions int
}

// New makes a manager of size bytes of VRAM.
func New(w sched.World, size uint64) *Manager {
	return &Manager{world: w, mu: w.NewMutex(managerClass), vram: buddy.New(size)}
}

// evictTimeout bounds the wait for the fences of a BO that is to be evicted.
const evictTimeout = 10 * time.Second

// NewBO allocates size bytes of VRAM, evicting others if it must. ENOMEM when that does not help.
func (m *Manager) NewBO(size uint64, contiguous bool, ops Ops) (*BO, error) {
	b := &BO{Resv: fence.NewResv(m.world), Size: size, Ops: ops, m: m, domain: System}
	skipped := map[*BO]bool{}
	for {
		m.mu.Lock()
		blocks, err := m.vram.Alloc(size, mm.PageSize, contiguous)
		if err == nil {
			b.blocks, b.domain = blocks, VRAM
			m.lru = append(m.lru, b)
			m.mu.Unlock()
			return b, nil
		}
		m.mu.Unlock()
		if !errors.Is(err, buddy.ErrNoSpace) {
			return nil, mm.EINVAL
		}
		if !m.evictOne(skipped) {
			return nil, mm.ENOMEM
		}
	}
}

// evictOne makes some room; false when nothing can be evicted. skipped collects BOs that were tried in vain.
func (m *Manager) evictOne(skipped map[*BO]bool) bool {
	m.mu.Lock()
	lru := append([]*BO(nil), m.lru...)
	m.mu.Unlock()
	for _, b := range lru {
		if skipped[b] || !b.Ops.Valuable(b) || !b.Resv.TryLock() {
			continue
		}
		err := b.evict()
		b.Resv.Unlock()
		if err == nil {
			return true
		}
		skipped[b] = true
	}
	return false
}

// evict takes the BO out of VRAM; Resv is held.
func (b *BO) evict() error {
	m := b.m
	m.mu.Lock()
	gone := b.dead || b.domain != VRAM
	m.mu.Unlock()
	if gone {
		return mm.EBUSY
	}
	to := System
	if places := b.Ops.EvictFlags(b); len(places) > 0 {
		to = places[0]
		if err := b.Ops.Move(b, to); err != nil {
			return err
		}
	}
	if !b.Resv.Wait(fence.Bookkeep, evictTimeout) {
		return mm.EBUSY
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.evictions++
	m.release(b)
	b.domain = to
	return nil
}

// release gives b's blocks back; mu is held.
func (m *Manager) release(b *BO) {
	m.vram.Free(b.blocks)
	b.blocks = nil
	for i, x := range m.lru {
		if x == b {
			m.lru = append(m.lru[:i], m.lru[i+1:]...)
			break
		}
	}
}

// Free ends the BO. It does not block and may be called from any context.
func (b *BO) Free() {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	if b.dead {
		return
	}
	b.dead = true
	if b.domain == VRAM {
		b.m.release(b)
	}
}

// Pages returns the VRAM page number of each page of b, nil when it is not in VRAM.
func (b *BO) Pages() []uint64 {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	if b.domain != VRAM || b.dead {
		return nil
	}
	var out []uint64
	for _, bl := range b.blocks {
		for o := uint64(0); o < bl.Size; o += mm.PageSize {
			out = append(out, (bl.Off+o)>>mm.PageShift)
		}
	}
	return out[:b.Size>>mm.PageShift]
}

// Usage returns the bytes of VRAM that are free, how many BOs are in it, and how many evictions there were.
func (m *Manager) Usage() (free uint64, bos, evictions int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.vram.Avail(), len(m.lru), m.evictions
}
