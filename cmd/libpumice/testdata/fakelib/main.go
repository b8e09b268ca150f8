// Command fakelib is libpumice with a fake kernel behind door C, for the tests of the stub.
package main

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/cmd/libpumice/cabi"
	"github.com/pumice-gpu/pumice/internal/doorc"
	"github.com/pumice-gpu/pumice/kernel/uaccess"
)

func init() { cabi.Serve = serve }

func main() {}

func serve() (*doorc.Door, error) {
	t := doorc.NewTree()
	t.AddDevice("/dev/kfd", 510, 0)
	t.AddDevice("/dev/dri/renderD128", 226, 128)
	t.AddText("/sys/devices/virtual/kfd/kfd/topology/generation_id", "7\n")
	t.AddText("/sys/devices/virtual/kfd/kfd/topology/nodes/0/gpu_id", "0\n")
	t.AddText("/sys/devices/virtual/kfd/kfd/topology/nodes/1/gpu_id", "2\n")
	t.AddLink("/sys/class/kfd/kfd", "../../devices/virtual/kfd/kfd")
	t.AddDir("/sys/dev/char/226:128/device/drm")
	memory, err := unix.MemfdCreate("memory", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.Ftruncate(memory, 1<<20); err != nil {
		return nil, err
	}
	doorbells, err := unix.MemfdCreate("doorbells", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.Ftruncate(doorbells, 8192); err != nil {
		return nil, err
	}
	k := &kernel{memory: memory, doorbells: doorbells, set: make(chan struct{}, 100)}
	k.alias, err = unix.Mmap(doorbells, 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return doorc.New(k, t), err
}

type kernel struct {
	memory, doorbells int
	alias             []byte
	set               chan struct{}
	opens, closes     atomic.Uint32
	rings             atomic.Uint32
	mu                sync.Mutex
	address           uint64 // of the array of echoes; guarded by mu
}

func (k *kernel) OpenDevice(string) (doorc.OpenFile, error) {
	k.opens.Add(1)
	return &file{k}, nil
}

type file struct{ *kernel }

// ring copies the doorbell's value to its place in the array that request 0x61 has named.
func (k *kernel) ring(offset uint64) {
	k.rings.Add(1)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.address != 0 {
		_ = uaccess.Process{}.Write(k.address+offset, k.alias[offset:offset+8])
	}
}

func (f *file) Begin(request uint32, arg uintptr) (unix.Errno, func() unix.Errno) {
	if kfd.Request(request).Nr() == kfd.NrWaitEvents {
		return 0, func() unix.Errno { return f.Ioctl(request, arg) }
	}
	return f.Ioctl(request, arg), nil
}

func (f *file) Ioctl(request uint32, arg uintptr) unix.Errno {
	var user uaccess.Process
	write := func(words ...uint32) unix.Errno {
		var b []byte
		for _, w := range words {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
		if user.Write(uint64(arg), b) != nil {
			return unix.EFAULT
		}
		return 0
	}
	switch r := kfd.Request(request); r.Nr() {
	case kfd.NrGetVersion:
		garbage := make([][]byte, 100) // keep the collector busy
		for i := range garbage {
			garbage[i] = make([]byte, 10000)
		}
		return write(1, 14)
	case kfd.NrCreateQueue: // its doorbell is the second
		for i := range f.alias[8:16] {
			f.alias[8+i] = 0xff
		}
		return 0
	case kfd.NrSetEvent:
		f.set <- struct{}{}
		return 0
	case kfd.NrWaitEvents:
		var args kfd.WaitEventsArgs
		if user.Read(uint64(arg), kfd.Bytes(&args)) != nil {
			return unix.EFAULT
		}
		limit := time.After(time.Duration(args.Timeout) * time.Millisecond)
		args.WaitResult = kfd.WaitResultComplete
		select {
		case <-f.set:
		default:
			select {
			case <-f.set:
			case <-limit:
				args.WaitResult = kfd.WaitResultTimeout
			}
		}
		_ = user.Write(uint64(arg), kfd.Bytes(&args))
		return 0
	case 0x60: // what happened so far
		return write(f.opens.Load(), f.closes.Load(), f.rings.Load())
	case 0x61:
		f.mu.Lock()
		f.address = uint64(arg)
		f.mu.Unlock()
		return 0
	}
	return unix.ENOTTY
}

func (f *file) Mmap(offset, length uint64) ([]doorc.Segment, error) {
	switch {
	case offset == 0 && length == 8192: // a page of the end, then one of the start
		return []doorc.Segment{{FD: f.memory, Offset: 8192, Length: 4096}, {FD: f.memory, Offset: 0, Length: 4096}}, nil
	case offset == 0 && length == 128*4096: // more pieces than the stub has room for at first
		var s []doorc.Segment
		for i := uint64(0); i < 128; i++ {
			s = append(s, doorc.Segment{FD: f.memory, Offset: (127 - i) * 4096, Length: 4096})
		}
		return s, nil
	case offset == 1<<20 && length == 8192:
		return []doorc.Segment{{FD: f.doorbells, Length: 8192, Ring: f.ring}}, nil
	}
	return nil, unix.EINVAL
}

func (f *file) Close() { f.closes.Add(1) }
