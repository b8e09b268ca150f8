// Package hipabi is the C face of runtime/hip: every HIP function that is implemented, under its C name. libamdhip64.so, a C stub, looks them up here
// when a program first calls one.
//
// Start says what stands behind; a main package sets it before anything can call.
//
// A call costs one change from C to Go and one back for the thread's state, which is a thread-local variable of C: threads may come and go without Go
// noticing. Memory of the application is touched by C, not by Go: a page of it may be served by a fault handler, and a goroutine that waits
// for one holds up the garbage collector. What parameters point to is therefore lent where it is not close above the call in the stack, see loan; a bad address gives
// hipErrorInvalidValue. What is written of a call with AMD_LOG_LEVEL comes from the same list of parameters.
//
// What is exported and not here returns hipErrorNotSupported from the stub, which names it once:
//
// fidelity: refused hipGLGetDevices, hipGraphics*: there is no OpenGL beside the virtual device
package hipabi

/*
#cgo CFLAGS: -D_GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

// What Go may touch of a stack, at the head of hip.Thread: up to near_enough above the call, and not past the stack's end. The program's results lie there, and so do
// the parameters of the call itself, so nobody can have sent it to a GPU.
struct head {
    uintptr_t low, high;
};
enum { near_enough = 16384 };

struct state {
    struct head head;
    char rest[2048];
    uintptr_t stack_low, stack_high;
};
static pthread_key_t thread_key;
extern void pumice_hip_thread_end(void *);
static pid_t thread_owner; // a child of fork that ends has none of Go's threads
static void end_thread(void *state) {
    if (getpid() == thread_owner) pumice_hip_thread_end(state);
    free(state);
}
static void make_key(void) {
    thread_owner = getpid();
    pthread_key_create(&thread_key, end_thread);
}
static void find_stack(struct state *s) {
    extern void *__libc_stack_end;
    pthread_attr_t attr;
    void *low;
    size_t size;
    if (gettid() == getpid()) {
        s->stack_high = (uintptr_t)__libc_stack_end;
        s->stack_low = s->stack_high - (1 << 20); // a program that has gone deeper has its results lent
    } else if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        if (pthread_attr_getstack(&attr, &low, &size) == 0) s->stack_low = (uintptr_t)low, s->stack_high = s->stack_low + size;
        pthread_attr_destroy(&attr);
    }
}
static void *pumice_hip_thread(void) {
    struct state *s = (struct state *)pumice_thread_state;
    if (!s) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, make_key);
        s = calloc(1, sizeof *s);
        pumice_thread_state = (struct pumice_thread *)s;
        find_stack(s);
        pthread_setspecific(thread_key, s);
    }
    // This runs on the caller's stack, below the caller.
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), room = s->stack_high - here;
    s->head.low = here;
    s->head.high = here < s->stack_low || here >= s->stack_high ? here : here + (room < near_enough ? room : near_enough);
    return s;
}

static void call_host(void *f, void *data) { ((void (*)(void *))f)(data); }
static void call_service(void *f, uint64_t *out, const uint64_t *in) {
    ((void (*)(uint64_t *, const uint64_t *))f)(out, in);
}
static void pumice_write(int err, const void *b, size_t n) {
    FILE *f = err ? stderr : stdout;
    fwrite(b, 1, n, f);
    fflush(f);
}
static void pumice_move(void *d, void *s, size_t n) { memmove(d, s, n); }
static void pumice_set(void *d, int v, size_t n) { memset(d, v, n); }
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/cmd/libpumice/caller"
	"github.com/pumice-gpu/pumice/internal/bigstack"
	"github.com/pumice-gpu/pumice/runtime/clr"
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Start makes the runtime when a program first calls HIP. An error is printed, and the program then sees no device.
var Start func() (*clr.Runtime, error)

var (
	registry = hip.NewRegistry()
	once     sync.Once
	theAPI   *hip.API
	face     = 5
	_        = [2048]byte{}[unsafe.Sizeof(hip.Thread{})] // the state fits

	// What config.c takes a configuration for is one.
	_ = [1]byte{}[unsafe.Sizeof(hip.LaunchConfig{})-C.sizeof_struct_pumice_config]
	_ = [1]byte{}[unsafe.Offsetof(hip.LaunchConfig{}.Stream)-unsafe.Offsetof(C.struct_pumice_config{}.stream)]
)

// api returns the API, made on first use. Every function that does more than look something up calls it first.
func api() *hip.API {
	bigstack.Reserve()
	once.Do(func() {
		clr.CopyHost = func(dst, src, n uint64) { C.pumice_move(ptr(dst), ptr(src), C.size_t(n)) }
		clr.CopyShared = clr.CopyHost
		clr.CheckHost = func(addr, n uint64, write bool) bool {
			if write {
				return caller.Writable(uintptr(addr), uintptr(n))
			}
			return caller.Readable(uintptr(addr), uintptr(n))
		}
		hip.LoadMemory = func(dst []byte, src uintptr) bool {
			return len(dst) == 0 || caller.Load(unsafe.Pointer(&dst[0]), src, uintptr(len(dst)))
		}
		hip.StoreMemory = func(dst uintptr, src []byte) bool {
			return len(src) == 0 || caller.Store(dst, unsafe.Pointer(&src[0]), uintptr(len(src)))
		}
		clr.SetHost = func(dst uint64, v byte, n uint64) { C.pumice_set(ptr(dst), C.int(v), C.size_t(n)) }
		clr.WriteText = func(stderr bool, b []byte) {
			if len(b) == 0 {
				return
			}
			e := C.int(0)
			if stderr {
				e = 1
			}
			C.pumice_write(e, unsafe.Pointer(&b[0]), C.size_t(len(b)))
		}
		hip.CallHost = func(f, data uintptr) { C.call_host(ptr(uint64(f)), ptr(uint64(data))) }
		clr.CallHost = func(f uint64, out *[2]uint64, in *[7]uint64) {
			C.call_service(ptr(f), (*C.uint64_t)(&out[0]), (*C.uint64_t)(&in[0]))
		}
		rt, err := Start()
		if err != nil {
			fmt.Fprintf(os.Stderr, "pumice: %v\n", err)
		}
		theAPI = hip.New(rt, registry, face)
		var t hip.Thread
		l := &C.pumice_thread_layout
		l.last, l.depth = C.uint32_t(unsafe.Offsetof(t.Last)), C.uint32_t(unsafe.Offsetof(t.Depth))
		l.configs, l.most = C.uint32_t(unsafe.Offsetof(t.Configs)), C.uint32_t(len(t.Configs))
		if theAPI.Face < 7 {
			l.remember = 1
		}
		watched(theAPI, false)
	})
	return theAPI
}

// watched says whether somebody wants to hear of each call; a log does always. Else config.c may do without Go.
func watched(a *hip.API, yes bool) {
	on := int32(1)
	if yes || a.LogsCalls() {
		on = 0
	}
	atomic.StoreInt32((*int32)(unsafe.Pointer(&C.pumice_thread_layout.on)), on)
}

func ptr(a uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// at is a structure of C at an address, nil for 0.
func at[T any](p uintptr) *T { return (*T)(ptr(uint64(p))) }

// pumice_hip_thread_end is called when a thread ends that has called HIP.
//
//export pumice_hip_thread_end
func pumice_hip_thread_end(state unsafe.Pointer) { api().ThreadEnd((*hip.Thread)(state)) }

func thread() *hip.Thread { return (*hip.Thread)(C.pumice_hip_thread()) }

// call runs one function for the calling thread. args are all its parameters: loans for what points to memory that f reads or writes, see loan; the others are for
// the log only.
func call(name string, f func(a *hip.API, t *hip.Thread) hip.Error, args ...any) int32 {
	a, t := api(), thread()
	switch {
	case a.LogsCalls():
		return int32(a.CallLogged(t, name, show(args), func() hip.Error { return lend(t, args, func() hip.Error { return f(a, t) }) }, func() string { return made(args) }))
	case far(t, args):
		return int32(a.Call(t, name, func() hip.Error { return lend(t, args, func() hip.Error { return f(a, t) }) }))
	}
	return int32(a.Call(t, name, func() hip.Error { return f(a, t) }))
}

// pumice_hip_face says what SONAME version the program was linked with.
//
//export pumice_hip_face
func pumice_hip_face(version int32) { face = int(version) }

//export pumice_hip_register_fat_binary
func pumice_hip_register_fat_binary(wrapper uintptr) uintptr {
	return registry.RegisterFatBinary(wrapper)
}

//export pumice_hip_register_function
func pumice_hip_register_function(bin, key uintptr, name *C.char) {
	registry.RegisterFunction(bin, key, C.GoString(name))
}

//export pumice_hip_register_var
func pumice_hip_register_var(bin, host uintptr, name *C.char, size uint64) {
	registry.RegisterVar(bin, host, C.GoString(name), size)
}

//export pumice_hip_register_managed
func pumice_hip_register_managed(bin, slot, init uintptr, name *C.char, size uint64, align uint32) {
	registry.RegisterManagedVar(bin, slot, init, C.GoString(name), size, align)
}

//export pumice_hip_unregister
func pumice_hip_unregister(bin uintptr) { registry.UnregisterFatBinary(bin) }

// cstrings keeps the C strings of hipGetErrorName and its like: they are never freed.
var cstrings sync.Map

func static(s string) *C.char {
	if v, ok := cstrings.Load(s); ok {
		return v.(*C.char)
	}
	v, _ := cstrings.LoadOrStore(s, C.CString(s))
	return v.(*C.char)
}

//export hipGetErrorName
func hipGetErrorName(e int32) *C.char { return static(hip.Error(e).Name()) }

//export hipGetErrorString
func hipGetErrorString(e int32) *C.char { return static(api().ErrorString(hip.Error(e))) }

//export hipDrvGetErrorName
func hipDrvGetErrorName(e int32, out **C.char) int32 {
	if !caller.Put(out, static(hip.Error(e).Name())) {
		return int32(hip.ErrInvalidValue)
	}
	return 0
}

//export hipDrvGetErrorString
func hipDrvGetErrorString(e int32, out **C.char) int32 {
	if !caller.Put(out, static(hip.Error(e).Text())) {
		return int32(hip.ErrInvalidValue)
	}
	return 0
}

//export hipGetLastError
func hipGetLastError() int32 { return int32(api().GetLastError(thread())) }

//export hipExtGetLastError
func hipExtGetLastError() int32 { return int32(api().GetLastError(thread())) }

//export hipPeekAtLastError
func hipPeekAtLastError() int32 { return int32(api().PeekAtLastError(thread())) }

// spt turns the null stream into the per-thread default stream.
func spt(s uintptr) uintptr {
	if s == 0 {
		return hip.StreamPerThread
	}
	return s
}
