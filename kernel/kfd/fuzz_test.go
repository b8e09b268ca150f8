package kfd

import (
	"encoding/binary"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"golang.org/x/sys/unix"
)

var fuzzRig struct {
	sync.Mutex
	r *rig
}

// FuzzIoctl throws requests and arguments at the driver. The argument's bytes are the fuzzer's, but that addresses are kept
// away from the test's own memory: what the driver writes through them must not hurt the test itself.
func FuzzIoctl(f *testing.F) {
	for _, c := range kfd.Commands {
		f.Add(uint32(c.Request()), make([]byte, c.Size))
		b := make([]byte, c.Size)
		for i := range b {
			b[i] = byte(i*7 + 1)
		}
		f.Add(uint32(c.Request()), b)
	}
	f.Add(uint32(kfd.SVMRequest(1)), kfd.EncodeSVM(kfd.SVMArgs{StartAddr: 1 << 40, Size: 4096}, attr(0, 2)))
	f.Fuzz(func(t *testing.T, req uint32, b []byte) {
		fuzzRig.Lock()
		defer fuzzRig.Unlock()
		if fuzzRig.r == nil {
			// Lives as long as the fuzzing process: state builds up over inputs.
			fuzzRig.r = newRig(&leak{TB: t}, "mi210", "rx6900xt").acquire()
		}
		r := fuzzRig.r
		buf := make([]byte, 1<<14)
		escape(&buf[0])
		copy(buf, b)
		// Words that could be addresses point into low memory that nobody owns, or at the end of the address space.
		for i := 0; i+8 <= len(buf); i += 8 {
			if v := binary.LittleEndian.Uint64(buf[i:]); v > 1<<20 && v < 1<<47 {
				binary.LittleEndian.PutUint64(buf[i:], v&0xfffff)
			}
		}
		// A wait must end.
		if kfd.Request(req).Nr() == kfd.NrWaitEvents {
			binary.LittleEndian.PutUint32(buf[16:], binary.LittleEndian.Uint32(buf[16:])&1)
		}
		start := time.Now()
		err := r.kfd.Ioctl(req, uintptr(unsafe.Pointer(&buf[0])))
		if d := time.Since(start); d > 5*time.Second {
			t.Fatalf("%s took %v, %v", kfd.Request(req), d, err)
		}
		if err != nil {
			if _, ok := err.(unix.Errno); !ok {
				t.Fatalf("%s: %v is no errno", kfd.Request(req), err)
			}
		}
		switch kfd.Request(req).Nr() {
		case kfd.NrSMIEvents:
			if err == nil && kfd.Request(req).Size() >= 8 {
				_ = unix.Close(int(binary.LittleEndian.Uint32(buf[4:])))
			}
		case kfd.NrExportDmabuf:
			if err == nil && kfd.Request(req).Size() >= 16 {
				_ = unix.Close(int(binary.LittleEndian.Uint32(buf[12:])))
			}
		}
		runtime.KeepAlive(buf)
	})
}

// leak is a TB whose Cleanup is never run.
type leak struct{ testing.TB }

func (*leak) Cleanup(func()) {}
func (*leak) Helper()        {}

// FuzzRender does the same for the render node.
func FuzzRender(f *testing.F) {
	f.Add(uint32(0xc0206440), make([]byte, 32))
	f.Add(uint32(0x40206445), make([]byte, 32))
	f.Add(uint32(0x40286448), make([]byte, 40))
	f.Fuzz(func(t *testing.T, req uint32, b []byte) {
		fuzzRig.Lock()
		defer fuzzRig.Unlock()
		if fuzzRig.r == nil {
			fuzzRig.r = newRig(&leak{TB: t}, "mi210", "rx6900xt").acquire()
		}
		buf := make([]byte, 1<<14)
		escape(&buf[0])
		copy(buf, b)
		for i := 0; i+8 <= len(buf); i += 8 {
			if v := binary.LittleEndian.Uint64(buf[i:]); v > 1<<20 && v < 1<<47 {
				binary.LittleEndian.PutUint64(buf[i:], v&0xfffff)
			}
		}
		req = req&^0xff00 | 'd'<<8
		if err := fuzzRig.r.fds[100].Ioctl(req, uintptr(unsafe.Pointer(&buf[0]))); err != nil {
			if _, ok := err.(unix.Errno); !ok {
				t.Fatalf("%#x: %v is no errno", req, err)
			}
		}
	})
}
