package hipabi

// #include "values.h"
import "C"

import (
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Memory: allocation, registration, managed memory, what a pointer is.

//export hipMalloc
func hipMalloc(out *uintptr, size uint64) int32 {
	return call("hipMalloc", func(a *hip.API, t *hip.Thread) hip.Error { return a.Malloc(t, out, size) }, handle(&out), size)
}

//export hipExtMallocWithFlags
func hipExtMallocWithFlags(out *uintptr, size uint64, flags uint32) int32 {
	return call("hipExtMallocWithFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.ExtMalloc(t, out, size, flags) }, handle(&out), size, flags)
}

//export hipFree
func hipFree(p uintptr) int32 {
	return call("hipFree", func(a *hip.API, t *hip.Thread) hip.Error { return a.Free(t, p) }, p)
}

//export hipHostMalloc
func hipHostMalloc(out *uintptr, size uint64, flags uint32) int32 {
	return call("hipHostMalloc", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostMalloc(t, out, size, flags) }, handle(&out), size, flags)
}

//export hipHostAlloc
func hipHostAlloc(out *uintptr, size uint64, flags uint32) int32 {
	return call("hipHostAlloc", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostMalloc(t, out, size, flags) }, handle(&out), size, flags)
}

//export hipMallocHost
func hipMallocHost(out *uintptr, size uint64) int32 {
	return call("hipMallocHost", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostMalloc(t, out, size, 0) }, handle(&out), size)
}

//export hipMemAllocHost
func hipMemAllocHost(out *uintptr, size uint64) int32 {
	return call("hipMemAllocHost", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostMalloc(t, out, size, 0) }, handle(&out), size)
}

//export hipHostFree
func hipHostFree(p uintptr) int32 {
	return call("hipHostFree", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostFree(t, p) }, p)
}

//export hipFreeHost
func hipFreeHost(p uintptr) int32 {
	return call("hipFreeHost", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostFree(t, p) }, p)
}

//export hipHostGetDevicePointer
func hipHostGetDevicePointer(out *uintptr, p uintptr, flags uint32) int32 {
	return call("hipHostGetDevicePointer", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostGetDevicePointer(t, out, p, flags) }, handle(&out), p, flags)
}

//export hipHostGetFlags
func hipHostGetFlags(out *uint32, p uintptr) int32 {
	return call("hipHostGetFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostGetFlags(t, out, p) }, outOf(&out), p)
}

//export hipHostRegister
func hipHostRegister(p uintptr, size uint64, flags uint32) int32 {
	return call("hipHostRegister", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostRegister(t, p, size, flags) }, p, size, flags)
}

//export hipHostUnregister
func hipHostUnregister(p uintptr) int32 {
	return call("hipHostUnregister", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostUnregister(t, p) }, p)
}

//export hipMallocManaged
func hipMallocManaged(out *uintptr, size uint64, flags uint32) int32 {
	return call("hipMallocManaged", func(a *hip.API, t *hip.Thread) hip.Error { return a.MallocManaged(t, out, size, flags) }, handle(&out), size, flags)
}

//export hipMallocPitch
func hipMallocPitch(out *uintptr, pitch *uint64, width, height uint64) int32 {
	return call("hipMallocPitch", func(a *hip.API, t *hip.Thread) hip.Error { return a.MallocPitch(t, out, pitch, width, height, 1) }, handle(&out), outOf(&pitch), width, height)
}

//export hipMemAllocPitch
func hipMemAllocPitch(out *uintptr, pitch *uint64, width, height uint64, elem uint32) int32 {
	return call("hipMemAllocPitch", func(a *hip.API, t *hip.Thread) hip.Error { return a.MallocPitch(t, out, pitch, width, height, 1) }, handle(&out), outOf(&pitch), width, height, elem)
}

//export hipMemGetInfo
func hipMemGetInfo(free, total *uint64) int32 {
	return call("hipMemGetInfo", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemGetInfo(t, free, total) }, outOf(&free), outOf(&total))
}

//export hipMemGetAddressRange
func hipMemGetAddressRange(base *uintptr, size *uint64, p uintptr) int32 {
	return call("hipMemGetAddressRange", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemGetAddressRange(base, size, p) }, outOf(&base), outOf(&size), p)
}

//export hipMemPtrGetInfo
func hipMemPtrGetInfo(p uintptr, size *uint64) int32 {
	return call("hipMemPtrGetInfo", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemPtrGetInfo(p, size) }, p, outOf(&size))
}

//export hipPointerGetAttributes
func hipPointerGetAttributes(out uintptr, p uintptr) int32 {
	return call("hipPointerGetAttributes", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.PointerGetAttributes(at[hip.PointerAttributes](out), p)
	}, outAt[hip.PointerAttributes](&out), p)
}

//export hipMemAdvise
func hipMemAdvise(p uintptr, size uint64, advice, device int32) int32 {
	return call("hipMemAdvise", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemAdvise(t, p, size, advice, device) }, p, size, advice, device)
}

//export hipMemPrefetchAsync
func hipMemPrefetchAsync(p uintptr, size uint64, device int32, s uintptr) int32 {
	return call("hipMemPrefetchAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemPrefetch(t, p, size, device, s) }, p, size, device, stream(s))
}

//export hipMalloc3D
func hipMalloc3D(out uintptr, x C.pumice_extent) int32 {
	return call("hipMalloc3D", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Malloc3D(t, at[hip.PitchedPtr](out), hip.Extent{Width: uint64(x.w), Height: uint64(x.h), Depth: uint64(x.d)})
	}, outAt[hip.PitchedPtr](&out), [3]uint64{uint64(x.w), uint64(x.h), uint64(x.d)})
}
