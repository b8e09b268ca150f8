package hipabi

/*
#cgo CFLAGS: -D_GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
typedef struct { int32_t kind, id; } pumice_place;
typedef struct { uint32_t x, y, z; } pumice_size3;

// A function of this library by its name: whoever asked for it calls it without the stub.
static void *pumice_function(const char *name) {
    Dl_info info;
    static void *self;
    if (!self && dladdr((void *)pumice_function, &info)) self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    return self ? dlsym(self, name) : 0;
}
*/
import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/cmd/libpumice/caller"
	"github.com/pumice-gpu/pumice/runtime/clr"
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Functions that came with HIP 6 and 7.

// procAddress finds a function by name and fills in the answer: 0 found, 1 not found, 2 the version has it not yet.
func procAddress(name string, symbol *C.char, symbolOut *unsafe.Pointer, perThread bool, status *int32) int32 {
	return call(name, func(a *hip.API, _ *hip.Thread) hip.Error {
		out := symbolOut
		if symbol == nil || out == nil {
			return hip.ErrInvalidValue
		}
		n := C.GoString(symbol)
		f := unsafe.Pointer(nil)
		try := func(n string) {
			if f == nil && (len(n) > 3 && (n[:3] == "hip" || n[:5] == "__hip")) {
				c := C.CString(n)
				f = C.pumice_function(c)
				C.free(unsafe.Pointer(c))
			}
		}
		if a.Face >= 6 {
			// The header renames these two.
			if n == "hipGetDeviceProperties" || n == "hipChooseDevice" {
				n += "R0600"
			}
		}
		if perThread {
			try(n + "_spt")
		}
		try(n)
		*out = f
		if status != nil {
			*status = 0
			if f == nil {
				*status = 1
			}
		}
		if f == nil {
			return hip.ErrInvalidValue
		}
		return hip.Success
	}, text(&symbol), outOf(&symbolOut), outOf(&status))
}

const perThreadFlag = 2

//export hipGetProcAddress
func hipGetProcAddress(symbol *C.char, out *unsafe.Pointer, version int32, flags uint64, status *int32) int32 {
	return procAddress("hipGetProcAddress", symbol, out, flags == perThreadFlag, status)
}

//export hipGetProcAddress_spt
func hipGetProcAddress_spt(symbol *C.char, out *unsafe.Pointer, version int32, flags uint64, status *int32) int32 {
	return procAddress("hipGetProcAddress_spt", symbol, out, flags != 1, status)
}

//export hipGetDriverEntryPoint
func hipGetDriverEntryPoint(symbol *C.char, out *unsafe.Pointer, flags uint64, status *int32) int32 {
	return procAddress("hipGetDriverEntryPoint", symbol, out, flags == perThreadFlag, status)
}

//export hipGetDriverEntryPoint_spt
func hipGetDriverEntryPoint_spt(symbol *C.char, out *unsafe.Pointer, flags uint64, status *int32) int32 {
	return procAddress("hipGetDriverEntryPoint_spt", symbol, out, flags != 1, status)
}

// launchConfig is hipLaunchConfig_t.
type launchConfig struct {
	grid, block clr.Dim3
	shared      uint64
	stream      uintptr
	attrs       uintptr
	count       uint32
}

// drvLaunchConfig is HIP_LAUNCH_CONFIG.
type drvLaunchConfig struct {
	grid, block clr.Dim3
	shared      uint32
	stream      uintptr
	attrs       uintptr
	count       uint32
}

// cooperative reads launch attributes, of which each has 72 bytes: the id, and at 8 the value.
func cooperative(attrs uintptr, n uint32) (bool, hip.Error) {
	const size, isCooperative, priority = 72, 2, 8
	if n > 0 && attrs == 0 || n > 1<<10 {
		return false, hip.ErrInvalidValue
	}
	yes := false
	for i := range uintptr(n) {
		p := attrs + size*i
		id, ok1 := caller.Get(at[uint32](p))
		value, ok2 := caller.Get(at[int32](p + 8))
		if !ok1 || !ok2 {
			return false, hip.ErrInvalidValue
		}
		switch id {
		case isCooperative:
			yes = value != 0
		case 0, 1, priority: // nothing, access window, priority: hints
		default:
			return false, hip.ErrNotSupported
		}
	}
	return yes, hip.Success
}

//export hipLaunchKernelExC
func hipLaunchKernelExC(config, key, args uintptr) int32 {
	return call("hipLaunchKernelExC", func(a *hip.API, t *hip.Thread) hip.Error {
		c := at[launchConfig](config)
		if c == nil {
			return hip.ErrInvalidConfiguration
		}
		co, e := cooperative(c.attrs, c.count)
		if e != hip.Success {
			return e
		}
		return a.LaunchKey(t, key, &hip.Launch{Grid: c.grid, Block: c.block, Args: args, Shared: uint32(c.shared), Stream: c.stream, Cooperative: co})
	}, inAt[launchConfig](&config), key, args)
}

//export hipDrvLaunchKernelEx
func hipDrvLaunchKernelEx(config, fn, args, extra uintptr) int32 {
	return call("hipDrvLaunchKernelEx", func(a *hip.API, t *hip.Thread) hip.Error {
		c := at[drvLaunchConfig](config)
		if c == nil {
			return hip.ErrInvalidConfiguration
		}
		co, e := cooperative(c.attrs, c.count)
		if e != hip.Success {
			return e
		}
		return a.LaunchFunction(t, fn, &hip.Launch{Grid: c.grid, Block: c.block, Args: args, Extra: extra, Shared: c.shared, Stream: c.stream, Cooperative: co})
	}, inAt[drvLaunchConfig](&config), fn, args, extra)
}

// placeDevice is the number of a hipMemLocation: a device, or the host.
func placeDevice(l C.pumice_place) int32 {
	const isDevice = 1
	if l.kind == isDevice {
		return int32(l.id)
	}
	return -1
}

//export hipMemAdvise_v2
func hipMemAdvise_v2(p uintptr, n uint64, advice int32, l C.pumice_place) int32 {
	return call("hipMemAdvise_v2", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemAdvise(t, p, n, advice, placeDevice(l)) }, p, n, advice, placeDevice(l))
}

//export hipMemPrefetchAsync_v2
func hipMemPrefetchAsync_v2(p uintptr, n uint64, l C.pumice_place, flags uint32, s uintptr) int32 {
	return call("hipMemPrefetchAsync_v2", func(a *hip.API, t *hip.Thread) hip.Error {
		if flags != 0 {
			return hip.ErrInvalidValue
		}
		return a.MemPrefetch(t, p, n, placeDevice(l), s)
	}, p, n, placeDevice(l), flags, stream(s))
}

//export hipEventRecordWithFlags
func hipEventRecordWithFlags(ev, s uintptr, flags uint32) int32 {
	return call("hipEventRecordWithFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.EventRecordWithFlags(t, ev, s, flags) }, event(ev), stream(s), flags)
}

//export hipKernelGetName
func hipKernelGetName(out **C.char, k uintptr) int32 {
	return call("hipKernelGetName", func(a *hip.API, _ *hip.Thread) hip.Error {
		if out == nil {
			return hip.ErrInvalidValue
		}
		n := a.KernelName(k)
		if n == "" {
			return hip.ErrInvalidValue
		}
		*out = static(n)
		return hip.Success
	}, outOf(&out), k)
}

func kernelName(k uintptr) *C.char {
	if n := api().KernelName(k); n != "" {
		return static(n)
	}
	return nil
}

//export hipKernelNameRef
func hipKernelNameRef(fn uintptr) *C.char { return kernelName(fn) }

//export hipKernelNameRefByPtr
func hipKernelNameRefByPtr(key, s uintptr) *C.char { return kernelName(key) }

//export hipLibraryLoadFromFile
func hipLibraryLoadFromFile(out *uintptr, path *C.char, jit, jitValues uintptr, n uint32, opts, values uintptr, m uint32) int32 {
	return hipModuleLoad(out, path)
}

//export hipLibraryLoadData
func hipLibraryLoadData(out *uintptr, image uintptr, jit, jitValues uintptr, n uint32, opts, values uintptr, m uint32) int32 {
	return hipModuleLoadData(out, image)
}

//export hipLibraryUnload
func hipLibraryUnload(lib uintptr) int32 { return hipModuleUnload(lib) }

//export hipLibraryGetKernel
func hipLibraryGetKernel(out *uintptr, lib uintptr, name *C.char) int32 {
	return hipModuleGetFunction(out, lib, name)
}

//export hipLibraryEnumerateKernels
func hipLibraryEnumerateKernels(out *uintptr, n uint32, lib uintptr) int32 {
	return call("hipLibraryEnumerateKernels", func(a *hip.API, t *hip.Thread) hip.Error {
		if out == nil || n == 0 || n > 1<<20 {
			return hip.ErrInvalidValue
		}
		return a.LibraryKernels(t, lib, unsafe.Slice(out, n))
	}, outs(&out, n), n, lib)
}

//export hipModuleLoadFatBinary
func hipModuleLoadFatBinary(out *uintptr, image uintptr) int32 { return hipModuleLoadData(out, image) }

//export hipKernelGetLibrary
func hipKernelGetLibrary(out *uintptr, k uintptr) int32 {
	return call("hipKernelGetLibrary", func(a *hip.API, _ *hip.Thread) hip.Error { return a.KernelLibrary(out, k) }, handle(&out), k)
}

//export hipKernelGetParamInfo
func hipKernelGetParamInfo(k uintptr, i uint64, off, size *uint64) int32 {
	return call("hipKernelGetParamInfo", func(a *hip.API, t *hip.Thread) hip.Error { return a.KernelParam(t, k, i, off, size) }, k, i, outOf(&off), outOf(&size))
}

//export hipLibraryGetKernelCount
func hipLibraryGetKernelCount(n *uint32, lib uintptr) int32 {
	return call("hipLibraryGetKernelCount", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ModuleKernelCount(n, lib) }, outOf(&n), lib)
}

//export hipModuleGetFunctionCount
func hipModuleGetFunctionCount(n *uint32, m uintptr) int32 {
	return call("hipModuleGetFunctionCount", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ModuleKernelCount(n, m) }, outOf(&n), m)
}

//export hipGetFuncBySymbol
func hipGetFuncBySymbol(out *uintptr, key uintptr) int32 {
	return call("hipGetFuncBySymbol", func(a *hip.API, t *hip.Thread) hip.Error { return a.FunctionBySymbol(t, out, key) }, handle(&out), key)
}

//export hipStreamGetId
func hipStreamGetId(s uintptr, out *uint64) int32 {
	return call("hipStreamGetId", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamID(t, s, out) }, stream(s), outOf(&out))
}

//export hipMemsetD2D8
func hipMemsetD2D8(dst uintptr, pitch uint64, v uint8, width, height uint64) int32 {
	return call("hipMemsetD2D8", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemsetRows(t, dst, pitch, uint32(v), 1, width, height, 0, false)
	}, dst, pitch, v, width, height)
}

//export hipMemsetD2D8Async
func hipMemsetD2D8Async(dst uintptr, pitch uint64, v uint8, width, height uint64, s uintptr) int32 {
	return call("hipMemsetD2D8Async", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemsetRows(t, dst, pitch, uint32(v), 1, width, height, s, true)
	}, dst, pitch, v, width, height, stream(s))
}

//export hipMemsetD2D16
func hipMemsetD2D16(dst uintptr, pitch uint64, v uint16, width, height uint64) int32 {
	return call("hipMemsetD2D16", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemsetRows(t, dst, pitch, uint32(v), 2, width, height, 0, false)
	}, dst, pitch, v, width, height)
}

//export hipMemsetD2D16Async
func hipMemsetD2D16Async(dst uintptr, pitch uint64, v uint16, width, height uint64, s uintptr) int32 {
	return call("hipMemsetD2D16Async", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemsetRows(t, dst, pitch, uint32(v), 2, width, height, s, true)
	}, dst, pitch, v, width, height, stream(s))
}

//export hipMemsetD2D32
func hipMemsetD2D32(dst uintptr, pitch uint64, v uint32, width, height uint64) int32 {
	return call("hipMemsetD2D32", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemsetRows(t, dst, pitch, uint32(v), 4, width, height, 0, false)
	}, dst, pitch, v, width, height)
}

//export hipMemsetD2D32Async
func hipMemsetD2D32Async(dst uintptr, pitch uint64, v uint32, width, height uint64, s uintptr) int32 {
	return call("hipMemsetD2D32Async", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemsetRows(t, dst, pitch, uint32(v), 4, width, height, s, true)
	}, dst, pitch, v, width, height, stream(s))
}

//export hipMemcpy3DPeer
func hipMemcpy3DPeer(p uintptr) int32 {
	return call("hipMemcpy3DPeer", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy3DPeer(t, at[hip.Memcpy3DPeerParms](p), 0, false)
	}, inAt[hip.Memcpy3DPeerParms](&p))
}

//export hipMemcpy3DPeerAsync
func hipMemcpy3DPeerAsync(p, s uintptr) int32 {
	return call("hipMemcpy3DPeerAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy3DPeer(t, at[hip.Memcpy3DPeerParms](p), s, true)
	}, inAt[hip.Memcpy3DPeerParms](&p), stream(s))
}

//export hipOccupancyAvailableDynamicSMemPerBlock
func hipOccupancyAvailableDynamicSMemPerBlock(out *uint64, key uintptr, blocks, size int32) int32 {
	return call("hipOccupancyAvailableDynamicSMemPerBlock", func(a *hip.API, t *hip.Thread) hip.Error { return a.AvailableShared(t, out, key, blocks, size) }, outOf(&out), key, blocks, size)
}

//export hipCtxEnablePeerAccess
func hipCtxEnablePeerAccess(ctx uintptr, flags uint32) int32 {
	return call("hipCtxEnablePeerAccess", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxEnablePeer(t, ctx, flags) }, ctx, flags)
}

//export hipCtxDisablePeerAccess
func hipCtxDisablePeerAccess(ctx uintptr) int32 {
	return call("hipCtxDisablePeerAccess", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxDisablePeer(t, ctx) }, ctx)
}

//export hipMemcpyBatchAsync
func hipMemcpyBatchAsync(dsts, srcs *uintptr, sizes *uint64, n uint64, attrs uintptr, indices *uint64, count uint64, failed *uint64, s uintptr) int32 {
	return call("hipMemcpyBatchAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		if dsts == nil || srcs == nil || sizes == nil || n == 0 || n > 1<<28 {
			return hip.ErrInvalidValue
		}
		for i := range n {
			if e := a.Memcpy(t, unsafe.Slice(dsts, n)[i], unsafe.Slice(srcs, n)[i], unsafe.Slice(sizes, n)[i], hip.Default, s, true); e != hip.Success {
				if failed != nil {
					*failed = i
				}
				return e
			}
		}
		return hip.Success
	}, ins(&dsts, n), ins(&srcs, n), ins(&sizes, n), n, attrs, ins(&indices, count), count, outOf(&failed), stream(s))
}

//export hipConfigureCall
func hipConfigureCall(grid, block C.pumice_size3, shared uint64, s uintptr) int32 {
	return call("hipConfigureCall", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.PushConfig(t, clr.Dim3{X: uint32(grid.x), Y: uint32(grid.y), Z: uint32(grid.z)}, clr.Dim3{X: uint32(block.x), Y: uint32(block.y), Z: uint32(block.z)}, shared, s)
	}, [3]uint64{uint64(grid.x), uint64(grid.y), uint64(grid.z)}, [3]uint64{uint64(block.x), uint64(block.y), uint64(block.z)}, shared, stream(s))
}

//export hipSetupArgument
func hipSetupArgument(p uintptr, n, off uint64) int32 {
	return call("hipSetupArgument", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetupArgument(t, p, n, off) }, p, n, off)
}

//export hipLaunchByPtr
func hipLaunchByPtr(key uintptr) int32 {
	return call("hipLaunchByPtr", func(a *hip.API, t *hip.Thread) hip.Error { return a.LaunchByPtr(t, key) }, key)
}
