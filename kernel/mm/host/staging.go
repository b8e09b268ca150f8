package host

import (
	"fmt"
	"unsafe"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"golang.org/x/sys/unix"
)

var stagingClass = &sched.Class{Name: "mm/host staging", Rank: 950}

const (
	chunkBytes = 2 << 20
	chunkPages = chunkBytes >> mm.PageShift
	chunks     = 64 // of each arena
)

// staging is memory through which pages travel. The out arena is registered with userfaultfd, because UFFDIO_MOVE wants that of its
// destination, and its free chunks are empty. The in arena is plain memory: its pages are filled by a copy and then moved into the
// process, which leaves them empty again.
type staging struct {
	u    *uffd
	out  uint64 // address of the out arena
	in   uint64
	wait sched.WaitQueue

	mu      sched.Mutex
	freeOut []uint64 // chunks; guarded by mu
	freeIn  []uint64 // pages; guarded by mu
}

func newStaging(w sched.World, u *uffd) (*staging, error) {
	s := &staging{u: u, wait: w.NewWaitQueue("staging"), mu: w.NewMutex(stagingClass)}
	var err error
	if s.out, err = reserve(chunks * chunkBytes); err != nil {
		return nil, err
	}
	if s.in, err = reserve(chunks * chunkBytes); err != nil {
		return nil, err
	}
	if e := u.register(s.out, s.out+chunks*chunkBytes, true); e != 0 {
		return nil, fmt.Errorf("mm/host: register staging area: %w", e)
	}
	for i := uint64(chunks); i > 0; i-- {
		s.freeOut = append(s.freeOut, s.out+(i-1)*chunkBytes)
	}
	for i := uint64(chunks * chunkPages); i > 0; i-- {
		s.freeIn = append(s.freeIn, s.in+(i-1)<<mm.PageShift)
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

// inside reports whether a VMA has a part of either arena.
func (s *staging) inside(start, end uint64) bool {
	const n = chunks * chunkBytes
	return start < s.out+n && s.out < end || start < s.in+n && s.in < end
}

// takeOut returns an empty chunk, waiting for one if need be.
func (s *staging) takeOut() (c uint64) {
	s.wait.Wait(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if n := len(s.freeOut); n > 0 {
			c, s.freeOut = s.freeOut[n-1], s.freeOut[:n-1]
		}
		return c != 0
	}, sched.Forever)
	return c
}

// giveOut empties the first n bytes of a chunk and gives it back. It is unregistered meanwhile, or emptying it would send a message.
func (s *staging) giveOut(c, n uint64) {
	if n > 0 {
		s.u.unregister(c, c+chunkBytes)
		discard(c, n)
		_ = s.u.register(c, c+chunkBytes, true)
	}
	s.mu.Lock()
	s.freeOut = append(s.freeOut, c)
	s.mu.Unlock()
	s.wait.Wake()
}

// takeIn returns a page to fill, 0 when there is none.
func (s *staging) takeIn() (p uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.freeIn); n > 0 {
		p, s.freeIn = s.freeIn[n-1], s.freeIn[:n-1]
	}
	return p
}

// giveIn gives pages back, in the order in which takeIn will return them last first.
func (s *staging) giveIn(pages []uint64) {
	s.mu.Lock()
	for i := len(pages) - 1; i >= 0; i-- {
		s.freeIn = append(s.freeIn, pages[i])
	}
	s.mu.Unlock()
}

func discard(a, n uint64) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(a), uintptr(n), unix.MADV_DONTNEED)
}

// memory is n bytes at a, which must not be managed memory.
func memory(a, n uint64) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&a))), n)
}
