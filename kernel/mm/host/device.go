package host

import (
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"golang.org/x/sys/unix"
)

// areas are the memories of devices. The list only grows.
type areas struct{ list atomic.Pointer[[]area] }

type area struct{ start, end uint64 }

func (l *areas) all() []area {
	if p := l.list.Load(); p != nil {
		return *p
	}
	return nil
}

func (l *areas) contains(a uint64) bool {
	for _, x := range l.all() {
		if a >= x.start && a < x.end {
			return true
		}
	}
	return false
}

func (l *areas) overlap(start, end uint64) bool {
	for _, x := range l.all() {
		if start < x.end && x.start < end {
			return true
		}
	}
	return false
}

func addressOf(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }

// Attach makes [base, base+n) of the process, which must be somebody's mapping, memory of a device that pages can be moved to instead of copied: private memory, empty
// at first, in place of what was there. To be called before the first page moves.
func (s *Space) Attach(base unsafe.Pointer, n uint64) error {
	a := addressOf(base)
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_FIXED | unix.MAP_NORESERVE
	if _, _, e := unix.Syscall6(unix.SYS_MMAP, uintptr(a), uintptr(n), prot, flags, ^uintptr(0), 0); e != 0 {
		return fmt.Errorf("mm/host: device memory: %w", e)
	}
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(a), uintptr(n), unix.MADV_DONTFORK)
	// For the sake of UFFDIO_MOVE, which wants its destination registered. Absent pages are the kernel's business.
	if e := s.u.register(a, a+n, false); e != 0 {
		return fmt.Errorf("mm/host: register device memory: %w", e)
	}
	s.ptl.Lock()
	defer s.ptl.Unlock()
	list := append(slices.Clone(s.devices.all()), area{a, a + n})
	s.devices.list.Store(&list)
	return nil
}

// detach stops watching the memory of devices.
func (s *Space) detach() {
	for _, x := range s.devices.all() {
		s.u.unregister(x.start, x.end)
	}
}

// fillDevice moves staging pages to a run of device memory. What an earlier user left there goes first.
func (s *Space) fillDevice(dst []unsafe.Pointer, src []mm.Folio) error {
	at, n := addressOf(dst[0]), uint64(len(dst))<<mm.PageShift
	for _, there := range s.resident(at, len(dst)) {
		if there {
			s.emptyDevice(at, n)
			break
		}
	}
	for i := 0; i < len(dst); {
		x, _ := src[i].(*sysFolio)
		if x == nil { // a hole: empty memory is zeroes
			i++
			continue
		}
		j := i + 1
		for ; j < len(dst); j++ {
			if y, _ := src[j].(*sysFolio); y == nil || y.stage != x.stage+uint64(j-i)<<mm.PageShift {
				break
			}
		}
		if err := s.moveToDevice(dst[i:j], src[i:j]); err != nil {
			return err
		}
		i = j
	}
	return nil
}

// moveToDevice moves pages that lie together on both sides. A page that cannot be moved is copied.
func (s *Space) moveToDevice(dst []unsafe.Pointer, src []mm.Folio) error {
	for waits := 0; len(src) > 0; {
		d, e := s.u.move(addressOf(dst[0]), src[0].(*sysFolio).stage, uint64(len(src))<<mm.PageShift)
		k := int(d >> mm.PageShift)
		for i := range k {
			src[i].(*sysFolio).now = dst[i]
		}
		dst, src = dst[k:], src[k:]
		switch {
		case k > 0 || e == 0:
		case waits < maxWaits && s.changing(e):
			waits++
		default:
			if err := transfer(dst[:1], src[:1], false); err != nil {
				return err
			}
			dst, src = dst[1:], src[1:]
		}
	}
	return nil
}

// emptyDevice gives the memory of a run up that nobody uses. It is not watched meanwhile, or a message would be sent.
func (s *Space) emptyDevice(a, n uint64) {
	s.u.unregister(a, a+n)
	discard(a, n)
	_ = s.u.register(a, a+n, false)
}

// bring moves n bytes of pages from a device's memory to the process. Pages whose VMA is gone are dropped; where rights do not match, they are copied.
func (s *Space) bring(to uint64, src unsafe.Pointer, n uint64) {
	for n > 0 {
		d, e := s.u.move(to, addressOf(src), n)
		to, src, n = to+d, unsafe.Add(src, d), n-d
		if n == 0 || d > 0 || s.changing(e) {
			continue
		}
		s.make(to, src, mm.PageSize)
		to, src, n = to+mm.PageSize, unsafe.Add(src, mm.PageSize), n-mm.PageSize
	}
}
