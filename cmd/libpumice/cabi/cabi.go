// Package cabi is the C face of a doorc.Door: the functions of ../abi.h, called by the stub. It is the only place where
// door C meets C.
//
// Serve says what stands behind the door; a main package sets it before anything can call.
package cabi

// #include "../abi.h"
// #include "watch.h"
import "C"

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/internal/doorc"
)

// Serve makes the Door when a program first touches one of its paths. An error is printed, and the paths then give ENODEV.
var Serve func() (*doorc.Door, error)

var door *doorc.Door // set once, by pumice_start, before any other call

//export pumice_start
func pumice_start(version C.uint32_t) C.int {
	if version != C.PUMICE_ABI_VERSION {
		return complain(fmt.Errorf("the stub and the library are of different versions (%d and %d)", version, C.PUMICE_ABI_VERSION))
	}
	d, err := Serve()
	if err != nil {
		return complain(err)
	}
	door = d
	return 0
}

func complain(err error) C.int {
	fmt.Fprintf(os.Stderr, "pumice: %v\n", err)
	return -C.int(unix.ENODEV)
}

func errno(err error) C.int { return -C.int(doorc.Errno(err)) }

func putNode(to *C.struct_pumice_node, n *doorc.Node) {
	*to = C.struct_pumice_node{
		kind:  C.uint32_t(n.Kind),
		mode:  C.uint32_t(n.Mode.Perm()),
		ino:   C.uint64_t(n.Ino),
		major: C.uint32_t(n.Major),
		minor: C.uint32_t(n.Minor),
	}
	switch n.Kind {
	case doorc.File:
		to.size = 4096 // as sysfs says of every attribute
	case doorc.Link:
		to.size = C.uint64_t(len(n.Target))
	}
}

//export pumice_stat
func pumice_stat(path *C.char, follow C.int, node *C.struct_pumice_node) C.int {
	n, err := door.Stat(C.GoString(path), follow != 0)
	if err != nil {
		return errno(err)
	}
	putNode(node, n)
	return 0
}

//export pumice_open
func pumice_open(path *C.char, flags C.int, opened *C.struct_pumice_opened) C.int {
	o, err := door.Open(C.GoString(path), int(flags))
	if err != nil {
		return errno(err)
	}
	putNode(&opened.node, o.Node)
	opened.fd = C.int32_t(o.FD)
	opened.handle = C.uint64_t(o.Handle)
	return 0
}

//export pumice_readlink
func pumice_readlink(path *C.char, buf *C.char, size C.size_t) C.int {
	target, err := door.Readlink(C.GoString(path))
	if err != nil {
		return errno(err)
	}
	return C.int(copy(unsafe.Slice((*byte)(unsafe.Pointer(buf)), size), target))
}

//export pumice_realpath
func pumice_realpath(path *C.char, buf *C.char, size C.size_t) C.int {
	p, err := door.Realpath(C.GoString(path))
	if err != nil {
		return errno(err)
	}
	if len(p)+1 > int(size) {
		return -C.int(unix.ENAMETOOLONG)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(buf)), size), p+"\x00")
	return 0
}

//export pumice_ioctl
func pumice_ioctl(handle C.uint64_t, request C.uint32_t, arg unsafe.Pointer, wait *C.struct_pumice_wait) C.int {
	e, pending := door.Ioctl(uint64(handle), uint32(request), uintptr(arg), func(e unix.Errno) {
		wait.result = -C.int32_t(e)
		done := (*int32)(unsafe.Pointer(&wait.done))
		atomic.StoreInt32(done, 1)
		// The waiter may have seen it and freed the wait by now; then this wakes nobody.
		const futexWakePrivate = 1 | 128
		_, _, _ = unix.RawSyscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(done)), futexWakePrivate, 1)
	})
	if pending {
		return C.PUMICE_PENDING
	}
	if r := kfd.Request(request); e == 0 && r.Type() == kfd.Type && r.Nr() == kfd.NrCreateQueue {
		C.watch_queue_created()
	}
	return -C.int(e)
}

//export pumice_mmap
func pumice_mmap(handle, offset, length C.uint64_t, prot C.int, segments *C.struct_pumice_segment, max C.size_t) C.int {
	s, err := door.Mmap(uint64(handle), uint64(offset), uint64(length))
	if err != nil {
		return errno(err)
	}
	if len(s) > int(max) {
		return C.int(len(s))
	}
	out := unsafe.Slice(segments, max)
	for i := range s {
		out[i] = C.struct_pumice_segment{fd: C.int32_t(s[i].FD), offset: C.uint64_t(s[i].Offset), length: C.uint64_t(s[i].Length)}
		if s[i].Ring != nil {
			out[i].flags = C.PUMICE_SEGMENT_DOORBELL
		}
	}
	return C.int(len(s))
}

//export pumice_mapped
func pumice_mapped(handle, offset, length C.uint64_t, address unsafe.Pointer) C.int {
	segments, err := door.Mmap(uint64(handle), uint64(offset), uint64(length))
	if err != nil {
		return errno(err)
	}
	for _, s := range segments {
		if s.Ring != nil {
			if e := watch(address, s); e != 0 {
				return e
			}
		}
		address = unsafe.Add(address, s.Length)
	}
	return 0
}

//export pumice_close
func pumice_close(handle C.uint64_t) C.int {
	if err := door.Close(uint64(handle)); err != nil {
		return errno(err)
	}
	return 0
}

// doorbells are the functions to call for the pages that are watched; a region's cookie is its index.
var doorbells struct {
	start sync.Once
	mu    sync.Mutex
	rings []func(offset uint64) // guarded by mu
}

// spinMicroseconds is how long the watch looks on after a doorbell: long enough that a program which launches and waits in
// turn never pays for a page fault, short enough to burn nothing when it does something else.
const spinMicroseconds = 50

func watch(address unsafe.Pointer, s doorc.Segment) C.int {
	doorbells.start.Do(func() {
		if C.watch_open(spinMicroseconds) == C.WATCH_POLLING && os.Getenv("PUMICE_QUIET") == "" {
			fmt.Fprintln(os.Stderr, "pumice: no userfaultfd here: doorbells are polled, which costs latency and some CPU time")
		}
		go attend()
	})
	doorbells.mu.Lock()
	cookie := len(doorbells.rings)
	doorbells.rings = append(doorbells.rings, s.Ring)
	doorbells.mu.Unlock()
	return C.watch_add(address, C.size_t(s.Length), C.int(s.FD), C.uint64_t(s.Offset), C.uint64_t(cookie))
}

// attend passes doorbells on, for as long as the process lives.
func attend() {
	var rings [64]C.struct_watch_ring
	for {
		n := int(C.watch_wait(&rings[0], C.int(len(rings))))
		doorbells.mu.Lock()
		ring := doorbells.rings
		doorbells.mu.Unlock()
		for _, r := range rings[:n] {
			ring[r.cookie](uint64(r.offset))
		}
	}
}
