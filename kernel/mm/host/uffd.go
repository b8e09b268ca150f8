package host

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// userfaultfd's API (include/uapi/linux/userfaultfd.h).
const (
	uffdAPI        = 0xaa
	uffdUserMode   = 1
	ioAPI          = 0xc018aa3f
	ioRegister     = 0xc020aa00
	ioUnregister   = 0x8010aa01
	ioWake         = 0x8010aa02
	ioCopy         = 0xc028aa03
	ioZeropage     = 0xc020aa04
	ioMove         = 0xc028aa05
	ioPoison       = 0xc020aa08
	regMissing     = 1
	regWP          = 2
	moveHoles      = 2 // UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES
	featureRemap   = 1 << 2
	featureRemove  = 1 << 3
	featureUnmap   = 1 << 6
	featurePoison  = 1 << 14
	featureMove    = 1 << 16
	featureWPUnpop = 1 << 13
	featureWP      = 1 << 0
	evPagefault    = 0x12
	evFork         = 0x13
	evRemap        = 0x14
	evRemove       = 0x15
	evUnmap        = 0x16
	msgBytes       = 32
)

// uffd is a userfaultfd descriptor.
type uffd struct {
	fd       int
	features uint64
	userOnly bool // system calls on missing pages fail with EFAULT
}

func openUFFD() (*uffd, error) {
	flags := uintptr(unix.O_CLOEXEC | unix.O_NONBLOCK)
	fd, _, e := unix.Syscall(unix.SYS_USERFAULTFD, flags, 0, 0)
	u := &uffd{}
	if e != 0 {
		if fd, _, e = unix.Syscall(unix.SYS_USERFAULTFD, flags|uffdUserMode, 0, 0); e != 0 {
			return nil, fmt.Errorf("mm/host: userfaultfd: %w", e)
		}
		u.userOnly = true
	}
	u.fd = int(fd)
	u.features = featureWP | featureRemap | featureRemove | featureUnmap | featureMove
	api := struct{ api, features, ioctls uint64 }{uffdAPI, u.features, 0}
	if e := u.ioctl(ioAPI, unsafe.Pointer(&api)); e != 0 {
		_ = unix.Close(u.fd)
		return nil, fmt.Errorf("mm/host: userfaultfd lacks move and events: %w", e)
	}
	return u, nil
}

func (u *uffd) ioctl(req uintptr, p unsafe.Pointer) unix.Errno {
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(u.fd), req, uintptr(p))
	return e
}

// register watches [start, end): its events, and with missing its absent pages.
func (u *uffd) register(start, end uint64, missing bool) unix.Errno {
	a := struct{ start, len, mode, ioctls uint64 }{start, end - start, regWP, 0}
	if missing {
		a.mode |= regMissing
	}
	return u.ioctl(ioRegister, unsafe.Pointer(&a))
}

func (u *uffd) unregister(start, end uint64) {
	a := struct{ start, len uint64 }{start, end - start}
	_ = u.ioctl(ioUnregister, unsafe.Pointer(&a))
}

// wake makes threads that wait for a page of [start, end) look again.
func (u *uffd) wake(start, end uint64) {
	a := struct{ start, len uint64 }{start, end - start}
	_ = u.ioctl(ioWake, unsafe.Pointer(&a))
}

// zero puts zero pages at [start, end) where nothing is, up to the first page that is there. It returns how many bytes.
func (u *uffd) zero(start, end uint64) (uint64, unix.Errno) {
	a := struct {
		start, len, mode uint64
		done             int64
	}{start, end - start, 0, 0}
	e := u.ioctl(ioZeropage, unsafe.Pointer(&a))
	return uint64(max(a.done, 0)), e
}

// move takes pages from src to dst, holes included, and returns how many bytes it did before an error.
func (u *uffd) move(dst, src, n uint64) (uint64, unix.Errno) {
	a := struct {
		dst, src, len, mode uint64
		done                int64
	}{dst, src, n, moveHoles, 0}
	e := u.ioctl(ioMove, unsafe.Pointer(&a))
	if e == 0 {
		return n, 0
	}
	return uint64(max(a.done, 0)), e
}

// copy makes pages at dst and fills them from src; it returns how many bytes it did before an error.
func (u *uffd) copy(dst uint64, src unsafe.Pointer, n uint64) (uint64, unix.Errno) {
	a := struct {
		dst, src, len, mode uint64
		done                int64
	}{dst, uint64(uintptr(src)), n, 0, 0}
	if e := u.ioctl(ioCopy, unsafe.Pointer(&a)); e != 0 {
		return uint64(max(a.done, 0)), e
	}
	return n, 0
}

// poison makes an access to a page raise SIGBUS.
func (u *uffd) poison(page uint64) {
	a := struct {
		start, len, mode uint64
		done             int64
	}{page, 4096, 0, 0}
	_ = u.ioctl(ioPoison, unsafe.Pointer(&a))
}

// message is one uffd_msg.
type message struct {
	event   uint8
	a, b, c uint64 // fault: flags, address; remap: from, to, length; others: start, end
}

// read returns the messages at hand.
func (u *uffd) read(buf []byte) []message {
	n, err := unix.Read(u.fd, buf)
	if err != nil || n < msgBytes {
		return nil
	}
	out := make([]message, 0, n/msgBytes)
	for ; n >= msgBytes; n -= msgBytes {
		b := buf[:msgBytes]
		buf = buf[msgBytes:]
		out = append(out, message{b[0], binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])})
	}
	return out
}
