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

typedef struct { size_t w, h, d; } pumice_extent;
typedef struct { void *p; size_t pitch, xs, ys; } pumice_pitched;

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
static void call_stream(void *f, void *stream, int status, void *data) {
    ((void (*)(void *, int, void *))f)(stream, status, data);
}
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

func d3(d C.pumice_dim3) clr.Dim3 { return clr.Dim3{X: uint32(d.x), Y: uint32(d.y), Z: uint32(d.z)} }

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

//export hipGetStreamDeviceId
func hipGetStreamDeviceId(s uintptr) int32 { return api().StreamDeviceID(thread(), s) }

//export pumice_hip_push
func pumice_hip_push(grid, block C.pumice_dim3, shared uint64, s uintptr) int32 {
	return call("__hipPushCallConfiguration", func(a *hip.API, t *hip.Thread) hip.Error { return a.PushConfig(t, d3(grid), d3(block), shared, s) }, box(d3(grid)), box(d3(block)), shared, stream(s))
}

//export pumice_hip_pop
func pumice_hip_pop(grid, block *C.pumice_dim3, shared *uint64, s *uintptr) int32 {
	return call("__hipPopCallConfiguration", func(a *hip.API, t *hip.Thread) hip.Error {
		if grid == nil || block == nil || shared == nil || s == nil {
			return hip.ErrInvalidValue
		}
		c, e := a.PopConfig(t)
		if e == hip.Success {
			*grid = C.pumice_dim3{C.uint32_t(c.Grid.X), C.uint32_t(c.Grid.Y), C.uint32_t(c.Grid.Z)}
			*block = C.pumice_dim3{C.uint32_t(c.Block.X), C.uint32_t(c.Block.Y), C.uint32_t(c.Block.Z)}
			*shared, *s = c.Shared, c.Stream
		}
		return e
	}, outOf(&grid), outOf(&block), outOf(&shared), outOf(&s))
}

func launchKey(name string, key uintptr, l *hip.Launch, args ...any) int32 {
	return call(name, func(a *hip.API, t *hip.Thread) hip.Error { return a.LaunchKey(t, key, l) }, args...)
}

func box(d clr.Dim3) [3]uint64 { return [3]uint64{uint64(d.X), uint64(d.Y), uint64(d.Z)} }

//export hipLaunchKernel
func hipLaunchKernel(key uintptr, grid, block C.pumice_dim3, args uintptr, shared uint64, s uintptr) int32 {
	return launchKey("hipLaunchKernel", key, &hip.Launch{Grid: d3(grid), Block: d3(block), Args: args, Shared: uint32(shared), Stream: s}, key, box(d3(grid)), box(d3(block)), args, shared, stream(s))
}

//export hipLaunchKernel_spt
func hipLaunchKernel_spt(key uintptr, grid, block C.pumice_dim3, args uintptr, shared uint64, s uintptr) int32 {
	return launchKey("hipLaunchKernel", key, &hip.Launch{Grid: d3(grid), Block: d3(block), Args: args, Shared: uint32(shared), Stream: spt(s)}, key, box(d3(grid)), box(d3(block)), args, shared, stream(s))
}

// spt turns the null stream into the per-thread default stream.
func spt(s uintptr) uintptr {
	if s == 0 {
		return hip.StreamPerThread
	}
	return s
}

//export hipExtLaunchKernel
func hipExtLaunchKernel(key uintptr, grid, block C.pumice_dim3, args uintptr, shared uint64, s, start, stop uintptr, flags int32) int32 {
	return launchKey("hipExtLaunchKernel", key, &hip.Launch{Grid: d3(grid), Block: d3(block), Args: args, Shared: uint32(shared), Stream: s, Start: start, Stop: stop, AnyOrder: flags&1 != 0}, key, box(d3(grid)), box(d3(block)), args, shared, stream(s), event(start), event(stop), flags)
}

//export hipLaunchCooperativeKernel
func hipLaunchCooperativeKernel(key uintptr, grid, block C.pumice_dim3, args uintptr, shared uint32, s uintptr) int32 {
	return launchKey("hipLaunchCooperativeKernel", key, &hip.Launch{Grid: d3(grid), Block: d3(block), Args: args, Shared: shared, Stream: s, Cooperative: true}, key, box(d3(grid)), box(d3(block)), args, shared, stream(s))
}

//export hipLaunchCooperativeKernel_spt
func hipLaunchCooperativeKernel_spt(key uintptr, grid, block C.pumice_dim3, args uintptr, shared uint32, s uintptr) int32 {
	return launchKey("hipLaunchCooperativeKernel", key, &hip.Launch{Grid: d3(grid), Block: d3(block), Args: args, Shared: shared, Stream: spt(s), Cooperative: true}, key, box(d3(grid)), box(d3(block)), args, shared, stream(s))
}

//export hipModuleLaunchKernel
func hipModuleLaunchKernel(fn uintptr, gx, gy, gz, bx, by, bz, shared uint32, s, args, extra uintptr) int32 {
	return call("hipModuleLaunchKernel", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.LaunchFunction(t, fn, &hip.Launch{Grid: clr.Dim3{X: gx, Y: gy, Z: gz}, Block: clr.Dim3{X: bx, Y: by, Z: bz}, Args: args, Extra: extra, Shared: shared, Stream: s})
	}, fn, gx, gy, gz, bx, by, bz, shared, stream(s), args, extra)
}

//export hipModuleLaunchCooperativeKernel
func hipModuleLaunchCooperativeKernel(fn uintptr, gx, gy, gz, bx, by, bz, shared uint32, s, args uintptr) int32 {
	return call("hipModuleLaunchCooperativeKernel", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.LaunchFunction(t, fn, &hip.Launch{Grid: clr.Dim3{X: gx, Y: gy, Z: gz}, Block: clr.Dim3{X: bx, Y: by, Z: bz}, Args: args, Shared: shared, Stream: s, Cooperative: true})
	}, fn, gx, gy, gz, bx, by, bz, shared, stream(s), args)
}

//export hipExtModuleLaunchKernel
func hipExtModuleLaunchKernel(fn uintptr, gx, gy, gz, bx, by, bz uint32, shared uint64, s, args, extra, start, stop uintptr, flags uint32) int32 {
	return call("hipExtModuleLaunchKernel", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.LaunchFunction(t, fn, &hip.Launch{Grid: clr.Dim3{X: gx, Y: gy, Z: gz}, Items: true, Block: clr.Dim3{X: bx, Y: by, Z: bz}, Args: args, Extra: extra, Shared: uint32(shared), Stream: s, Start: start, Stop: stop, AnyOrder: flags&1 != 0})
	}, fn, gx, gy, gz, bx, by, bz, shared, stream(s), args, extra, event(start), event(stop), flags)
}

//export hipHccModuleLaunchKernel
func hipHccModuleLaunchKernel(fn uintptr, gx, gy, gz, bx, by, bz uint32, shared uint64, s, args, extra, start, stop uintptr) int32 {
	return hipExtModuleLaunchKernel(fn, gx, gy, gz, bx, by, bz, shared, s, args, extra, start, stop, 0)
}

//export hipModuleLoad
func hipModuleLoad(out *uintptr, path *C.char) int32 {
	return call("hipModuleLoad", func(a *hip.API, t *hip.Thread) hip.Error {
		if path == nil {
			return hip.ErrInvalidValue
		}
		return a.ModuleLoad(t, out, C.GoString(path))
	}, handle(&out), text(&path))
}

//export hipModuleLoadDataEx
func hipModuleLoadDataEx(out *uintptr, image uintptr, n uint32, opts, vals uintptr) int32 {
	return hipModuleLoadData(out, image)
}

//export hipModuleGetFunction
func hipModuleGetFunction(out *uintptr, m uintptr, name *C.char) int32 {
	return call("hipModuleGetFunction", func(a *hip.API, t *hip.Thread) hip.Error {
		if name == nil {
			return hip.ErrInvalidValue
		}
		return a.ModuleGetFunction(t, out, m, C.GoString(name))
	}, handle(&out), m, text(&name))
}

//export hipModuleGetGlobal
func hipModuleGetGlobal(out *uintptr, size *uint64, m uintptr, name *C.char) int32 {
	return call("hipModuleGetGlobal", func(a *hip.API, t *hip.Thread) hip.Error {
		if name == nil {
			return hip.ErrInvalidValue
		}
		return a.ModuleGetGlobal(out, size, m, C.GoString(name))
	}, handle(&out), outOf(&size), m, text(&name))
}

//export hipStreamAddCallback
func hipStreamAddCallback(s uintptr, f, data unsafe.Pointer, flags uint32) int32 {
	return call("hipStreamAddCallback", func(a *hip.API, t *hip.Thread) hip.Error {
		if f == nil || flags != 0 {
			return hip.ErrInvalidValue
		}
		return a.HostFunc(t, s, func() { C.call_stream(f, ptr(uint64(s)), 0, data) })
	}, stream(s), f, data, flags)
}

//export hipLaunchHostFunc
func hipLaunchHostFunc(s, f, data uintptr) int32 {
	return call("hipLaunchHostFunc", func(a *hip.API, t *hip.Thread) hip.Error { return a.LaunchHostFunc(t, s, f, data) }, stream(s), f, data)
}

//export hipLaunchHostFunc_spt
func hipLaunchHostFunc_spt(s, f, data uintptr) int32 { return hipLaunchHostFunc(spt(s), f, data) }

//export hipMalloc3D
func hipMalloc3D(out uintptr, x C.pumice_extent) int32 {
	return call("hipMalloc3D", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Malloc3D(t, at[hip.PitchedPtr](out), hip.Extent{Width: uint64(x.w), Height: uint64(x.h), Depth: uint64(x.d)})
	}, outAt[hip.PitchedPtr](&out), [3]uint64{uint64(x.w), uint64(x.h), uint64(x.d)})
}

func memset3D(name string, p C.pumice_pitched, v int32, x C.pumice_extent, s uintptr, async bool, args ...any) int32 {
	return call(name, func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memset2D(t, uintptr(p.p), uint64(p.pitch), byte(v), uint64(x.w), uint64(x.h), uint64(x.d), uint64(p.ys), s, async)
	}, args...)
}

//export hipMemset3D
func hipMemset3D(p C.pumice_pitched, v int32, x C.pumice_extent) int32 {
	return memset3D("hipMemset3D", p, v, x, 0, false, pitched(uintptr(p.p)), v, [3]uint64{uint64(x.w), uint64(x.h), uint64(x.d)})
}

//export hipMemset3DAsync
func hipMemset3DAsync(p C.pumice_pitched, v int32, x C.pumice_extent, s uintptr) int32 {
	return memset3D("hipMemset3DAsync", p, v, x, s, true, pitched(uintptr(p.p)), v, [3]uint64{uint64(x.w), uint64(x.h), uint64(x.d)}, stream(s))
}

//export hipExtStreamCreateWithCUMask
func hipExtStreamCreateWithCUMask(out *uintptr, n uint32, mask *uint32) int32 {
	return call("hipExtStreamCreateWithCUMask", func(a *hip.API, t *hip.Thread) hip.Error {
		if n == 0 || mask == nil {
			return hip.ErrInvalidValue
		}
		return a.StreamCreate(t, out, 0, 0, append([]uint32(nil), unsafe.Slice(mask, n)...))
	}, newStream(&out), n, ins(&mask, n))
}

//export hipExtStreamGetCUMask
func hipExtStreamGetCUMask(s uintptr, n uint32, mask *uint32) int32 {
	return call("hipExtStreamGetCUMask", func(a *hip.API, t *hip.Thread) hip.Error {
		if n == 0 || mask == nil {
			return hip.ErrInvalidValue
		}
		return a.StreamGetCUMask(t, s, unsafe.Slice(mask, n))
	}, stream(s), n, outs(&mask, n))
}
