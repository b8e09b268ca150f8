package hip

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Sharing with other processes: memory by a handle that names the allocation, events by a page of memory that all of them map.

// ipcMem is hipIpcMemHandle_t.
type ipcMem struct {
	Handle clr.SharedHandle
	Size   uint64
	Offset uint64
	PID    uint64
	_      uint64
}

// ipcLazyPeerAccess is the only flag; the header of HIP 5.2 has it as 0.
const ipcLazyPeerAccess = 1

// IpcGetMemHandle makes a handle of device memory; the address may be inside an allocation.
func (a *API) IpcGetMemHandle(out, p uintptr) Error {
	if out == 0 || p == 0 {
		return ErrInvalidValue
	}
	if len(a.devices()) == 0 {
		return a.noDevice()
	}
	m := a.rt.Find(uint64(p))
	if m == nil || m.Kind != clr.DeviceMemory || m.Mapped || m.Attached {
		return ErrInvalidValue // HIP 5.2 says InvalidDevicePointer, later ones this
	}
	h, err := a.rt.Share(m)
	if err != nil {
		return a.fromErr(err)
	}
	*(*ipcMem)(pointer(out)) = ipcMem{Handle: h, Size: m.Size, Offset: uint64(p) - m.Ptr, PID: uint64(os.Getpid())}
	return Success
}

// IpcOpenMemHandle maps memory of another process for the current device.
func (a *API) IpcOpenMemHandle(t *Thread, out *uintptr, h *ipcMem, flags uint32) Error {
	d, e := a.device(t)
	if e != Success {
		return e
	}
	if out == nil || h == nil || flags&^ipcLazyPeerAccess != 0 {
		return ErrInvalidValue
	}
	if h.PID == uint64(os.Getpid()) {
		return ErrInvalidContext // a process opens what is another's
	}
	if h.Size == 0 || h.Offset >= h.Size {
		return ErrInvalidValue
	}
	m, err := d.Attach(h.Handle, h.Size)
	if err != nil {
		if a.fromErr(err) == ErrOutOfMemory { // logs why
			return ErrOutOfMemory
		}
		return ErrInvalidValue
	}
	*out = uintptr(m.Ptr + h.Offset)
	return Success
}

// IpcCloseMemHandle ends the mapping, after waiting for the devices.
func (a *API) IpcCloseMemHandle(p uintptr) Error {
	if len(a.devices()) == 0 {
		return a.noDevice()
	}
	m := a.rt.Find(uint64(p))
	if p == 0 {
		return ErrInvalidValue
	}
	if m == nil || !m.Attached {
		return ErrInvalidHandle
	}
	return a.fromErr(a.rt.Free(m))
}

// IpcMemHandle reads a handle that C passes by value.
func IpcMemHandle(p unsafe.Pointer) *ipcMem { return (*ipcMem)(p) }

// ipcEvent is the page that an event of several processes lives in. A record takes the next number, and stores it as done when its stream has come so far.
type ipcEvent struct {
	page *ipcPage
	fd   int
	own  bool
}

type ipcPage struct {
	recorded atomic.Uint32
	done     atomic.Uint32 // the latest record that is done; a futex
}

// ipcEventHandle is hipIpcEventHandle_t.
type ipcEventHandle struct {
	Magic uint64
	PID   uint32
	FD    uint32
	Inode uint64
	Dev   uint64 // number of the device
	_     [4]uint64
}

const ipcEventMagic = 0x74766570696d7570

func mapIPC(fd int) (*ipcPage, error) {
	p, err := unix.MmapPtr(fd, 0, nil, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return (*ipcPage)(p), err
}

// newIPC makes the page of an event that was created for several processes.
func newIPC() (*ipcEvent, error) {
	fd, err := unix.MemfdCreate("pumice-event", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.Ftruncate(fd, 4096); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	p, err := mapIPC(fd)
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return &ipcEvent{page: p, fd: fd, own: true}, nil
}

// record puts the event behind a stream's work.
func (x *ipcEvent) record(q *clr.HostQueue) error {
	n := x.page.recorded.Add(1)
	_, err := q.Host(func() error {
		// Records of different streams may end in any order: the event is done when the last one is.
		for {
			old := x.page.done.Load()
			if int32(old-n) >= 0 || x.page.done.CompareAndSwap(old, n) {
				break
			}
		}
		const futexWake = 1
		_, _, _ = unix.Syscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&x.page.done)), futexWake, 1<<30)
		return nil
	})
	return err
}

func (x *ipcEvent) reached(n uint32) bool { return int32(x.page.done.Load()-n) >= 0 }

// wait waits for the latest record.
func (x *ipcEvent) wait() {
	n := x.page.recorded.Load()
	for {
		old := x.page.done.Load()
		if int32(old-n) >= 0 {
			return
		}
		// The wait has an end, because the process that wakes may die.
		const futexWait = 0
		ts := unix.NsecToTimespec(int64(100 * time.Millisecond))
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&x.page.done)), futexWait, uintptr(old), uintptr(unsafe.Pointer(&ts)), 0, 0)
	}
}

// IpcGetEventHandle makes a handle of an event that was created for several processes.
func (a *API) IpcGetEventHandle(out, ev uintptr) Error {
	x := a.events.get(ev)
	if out == 0 {
		return ErrInvalidValue
	}
	if x == nil {
		return ErrInvalidHandle
	}
	if x.ipc == nil || !x.ipc.own {
		return ErrInvalidConfiguration
	}
	var st unix.Stat_t
	if err := unix.Fstat(x.ipc.fd, &st); err != nil {
		return ErrOperatingSystem
	}
	*(*ipcEventHandle)(pointer(out)) = ipcEventHandle{Magic: ipcEventMagic, PID: uint32(os.Getpid()), FD: uint32(x.ipc.fd), Inode: st.Ino, Dev: uint64(x.dev)}
	return Success
}

// IpcOpenEventHandle makes an event of this process that stands for another's.
func (a *API) IpcOpenEventHandle(t *Thread, out *uintptr, h *ipcEventHandle) Error {
	if _, e := a.device(t); e != Success {
		return e
	}
	if out == nil || h == nil || h.Magic != ipcEventMagic {
		return ErrInvalidValue
	}
	if h.PID == uint32(os.Getpid()) {
		return ErrInvalidContext
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/fd/%d", h.PID, h.FD), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return ErrInvalidValue
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Ino != h.Inode || st.Size != 4096 {
		_ = unix.Close(fd)
		return ErrInvalidValue
	}
	p, err := mapIPC(fd)
	if err != nil {
		_ = unix.Close(fd)
		return ErrInvalidValue
	}
	*out = a.events.add(&event{flags: eventDisableTiming | eventInterprocess, dev: t.Device, ipc: &ipcEvent{page: p, fd: fd}})
	return Success
}

// IpcEventHandle reads a handle that C passes by value.
func IpcEventHandle(p unsafe.Pointer) *ipcEventHandle { return (*ipcEventHandle)(p) }
