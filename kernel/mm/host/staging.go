package host

import (
	"fmt"
	"unsafe"

	"github.com/pumice-gpu/pumice/kernel/buddy"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"golang.org/x/sys/unix"
)

var stagingClass = &sched.Class{Name: "mm/host staging", Rank: 950}

const (
	chunkBytes = 2 << 20
	chunkPages = chunkBytes >> mm.PageShift
	chunks     = 64 // of the arena
)

// staging is memory through which pages travel. The out arena is registered with userfaultfd, because UFFDIO_MOVE wants that of its
// destination; the pages of the process are moved into an empty run of it. When they have been copied to the device they are not given
// up but kept as stock: the next pages that come home are filled into them and moved into the process, so physical pages
// go round and are not allocated and zeroed again each time. A run all of whose pages have left is empty again. When there is no stock,
// UFFDIO_COPY makes the pages and fills them from the device's memory.
type staging struct {
	u    *uffd
	out  uint64 // address of the out arena
	wait sched.WaitQueue

	mu    sched.Mutex
	space *buddy.Allocator // of the out arena; guarded by mu
	stock []uint64         // filled pages of the out arena, free to use; guarded by mu
	owner [chunks * chunkPages]*outBlock
}

// outBlock is a run of the out arena that one migration uses at a time.
type outBlock struct {
	addr    uint64
	pages   int
	blocks  []buddy.Block
	held    int // pages that are in stock or in use as home pages; guarded by mu
	stocked int // of those, in stock; guarded by mu
}

func newStaging(w sched.World, u *uffd) (*staging, error) {
	s := &staging{u: u, wait: w.NewWaitQueue("staging"), mu: w.NewMutex(stagingClass), space: buddy.New(chunks * chunkBytes)}
	var err error
	if s.out, err = reserve(chunks * chunkBytes); err != nil {
		return nil, err
	}
	if e := u.register(s.out, s.out+chunks*chunkBytes, true); e != 0 {
		return nil, fmt.Errorf("mm/host: register staging area: %w", e)
	}
	return s, nil
}

// reserve maps n bytes of private memory at a 2 MiB boundary.
func reserve(n uint64) (uint64, error) {
	b, err := unix.Mmap(-1, 0, int(n+chunkBytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return 0, fmt.Errorf("mm/host: staging area: %w", err)
	}
	a := uint64(uintptr(unsafe.Pointer(&b[0])))
	return (a + chunkBytes - 1) &^ (chunkBytes - 1), nil
}

func (s *staging) contains(a uint64) bool { return a >= s.out && a < s.out+chunks*chunkBytes }

// inside reports whether a VMA has a part of the arena.
func (s *staging) inside(start, end uint64) bool {
	return start < s.out+chunks*chunkBytes && s.out < end
}

// takeOut returns an empty run of n pages, at most chunkPages, waiting for one if need be.
func (s *staging) takeOut(n int) (b *outBlock) {
	s.wait.Wait(func() bool {
		for {
			s.mu.Lock()
			bl, err := s.space.Alloc(uint64(n)<<mm.PageShift, 0, true)
			if err == nil {
				b = &outBlock{addr: s.out + bl[0].Off, pages: n, blocks: bl}
				first := bl[0].Off >> mm.PageShift
				for i := range uint64(n) {
					s.owner[first+i] = b
				}
				s.mu.Unlock()
				return true
			}
			v := s.victim()
			s.mu.Unlock()
			if v == nil {
				return false
			}
			s.clean(v)
		}
	}, sched.Forever)
	return b
}

// victim takes a run out of the stock all of whose pages are there; mu is held.
func (s *staging) victim() *outBlock {
	for _, p := range s.stock {
		b := s.owner[(p-s.out)>>mm.PageShift]
		if b.stocked != b.held {
			continue
		}
		keep := s.stock[:0]
		for _, q := range s.stock {
			if q < b.addr || q >= b.addr+uint64(b.pages)<<mm.PageShift {
				keep = append(keep, q)
			}
		}
		s.stock = keep
		return b
	}
	return nil
}

// clean empties a run and gives it back. It is unregistered meanwhile, or emptying it would send a message.
func (s *staging) clean(b *outBlock) {
	end := b.addr + uint64(b.pages)<<mm.PageShift
	s.u.unregister(b.addr, end)
	discard(b.addr, end-b.addr)
	_ = s.u.register(b.addr, end, true)
	s.mu.Lock()
	s.space.Free(b.blocks)
	s.mu.Unlock()
	s.wait.Wake()
}

// maxStock is how many pages are kept.
const maxStock = chunks / 2 * chunkPages

// giveOut ends the use of a run; has tells which pages hold memory.
func (s *staging) giveOut(b *outBlock, has []bool) {
	s.mu.Lock()
	if len(s.stock)+len(has) > maxStock {
		s.mu.Unlock()
		s.clean(b)
		return
	}
	for i := len(has) - 1; i >= 0; i-- {
		if has[i] {
			s.stock = append(s.stock, b.addr+uint64(i)<<mm.PageShift)
			b.held++
			b.stocked++
		}
	}
	if b.held == 0 {
		s.space.Free(b.blocks)
	}
	s.mu.Unlock()
	s.wait.Wake()
}

// takeIn returns a page to fill, 0 when there is none.
func (s *staging) takeIn() (p uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.stock); n > 0 {
		p, s.stock = s.stock[n-1], s.stock[:n-1]
		s.owner[(p-s.out)>>mm.PageShift].stocked--
	}
	return p
}

// giveIn ends the use of pages that takeIn gave; gone: their memory has moved away. In ascending order, so that takeIn will return them so.
func (s *staging) giveIn(pages []uint64, gone bool) {
	s.mu.Lock()
	for i := len(pages) - 1; i >= 0; i-- {
		p := pages[i]
		b := s.owner[(p-s.out)>>mm.PageShift]
		if !gone {
			s.stock = append(s.stock, p)
			b.stocked++
			continue
		}
		if b.held--; b.held == 0 {
			s.space.Free(b.blocks)
		}
	}
	s.mu.Unlock()
	s.wait.Wake()
}

// empty frees the memory of one page whose content was copied instead of moved.
func (s *staging) empty(p uint64) {
	s.u.unregister(p, p+mm.PageSize)
	discard(p, mm.PageSize)
	_ = s.u.register(p, p+mm.PageSize, true)
}

func discard(a, n uint64) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(a), uintptr(n), unix.MADV_DONTNEED)
}

// memory is n bytes at a, which must not be managed memory.
func memory(a, n uint64) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&a))), n)
}
