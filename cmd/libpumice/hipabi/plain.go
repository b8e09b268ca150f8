package hipabi

import "C"

import (
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// The functions whose parameters pass through as they are.

//export hipInit
func hipInit(flags uint32) int32 {
	return call("hipInit", func(a *hip.API, _ *hip.Thread) hip.Error { return a.Init(flags) })
}

//export hipDriverGetVersion
func hipDriverGetVersion(v *int32) int32 {
	return call("hipDriverGetVersion", func(a *hip.API, _ *hip.Thread) hip.Error { return a.Version(v) })
}

//export hipRuntimeGetVersion
func hipRuntimeGetVersion(v *int32) int32 {
	return call("hipRuntimeGetVersion", func(a *hip.API, _ *hip.Thread) hip.Error { return a.Version(v) })
}

//export hipGetDeviceCount
func hipGetDeviceCount(n *int32) int32 {
	return call("hipGetDeviceCount", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GetDeviceCount(n) })
}

//export hipGetDevice
func hipGetDevice(d *int32) int32 {
	return call("hipGetDevice", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetDevice(t, d) })
}

//export hipSetDevice
func hipSetDevice(d int32) int32 {
	return call("hipSetDevice", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetDevice(t, d) })
}

//export hipDeviceGet
func hipDeviceGet(out *int32, d int32) int32 {
	return call("hipDeviceGet", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGet(out, d) })
}

//export hipDeviceGetName
func hipDeviceGetName(buf uintptr, n, d int32) int32 {
	return call("hipDeviceGetName", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGetName(buf, n, d) })
}

//export hipDeviceTotalMem
func hipDeviceTotalMem(out *uint64, d int32) int32 {
	return call("hipDeviceTotalMem", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceTotalMem(out, d) })
}

//export hipDeviceComputeCapability
func hipDeviceComputeCapability(major, minor *int32, d int32) int32 {
	return call("hipDeviceComputeCapability", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceComputeCapability(major, minor, d) })
}

//export hipDeviceGetPCIBusId
func hipDeviceGetPCIBusId(buf uintptr, n, d int32) int32 {
	return call("hipDeviceGetPCIBusId", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGetPCIBusID(buf, n, d) })
}

//export hipDeviceGetByPCIBusId
func hipDeviceGetByPCIBusId(out *int32, id uintptr) int32 {
	return call("hipDeviceGetByPCIBusId", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGetByPCIBusID(out, id) })
}

//export hipDeviceGetUuid
func hipDeviceGetUuid(out uintptr, d int32) int32 {
	return call("hipDeviceGetUuid", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGetUUID(out, d) })
}

//export hipDeviceSynchronize
func hipDeviceSynchronize() int32 {
	return call("hipDeviceSynchronize", func(a *hip.API, t *hip.Thread) hip.Error { return a.DeviceSynchronize(t) })
}

//export hipCtxSynchronize
func hipCtxSynchronize() int32 {
	return call("hipCtxSynchronize", func(a *hip.API, t *hip.Thread) hip.Error { return a.DeviceSynchronize(t) })
}

//export hipDeviceReset
func hipDeviceReset() int32 {
	return call("hipDeviceReset", func(a *hip.API, t *hip.Thread) hip.Error { return a.DeviceReset(t) })
}

//export hipDeviceGetLimit
func hipDeviceGetLimit(out *uint64, limit uint32) int32 {
	return call("hipDeviceGetLimit", func(a *hip.API, t *hip.Thread) hip.Error { return a.DeviceGetLimit(t, out, limit) })
}

//export hipDeviceSetLimit
func hipDeviceSetLimit(limit uint32, v uint64) int32 {
	return call("hipDeviceSetLimit", func(a *hip.API, t *hip.Thread) hip.Error { return a.DeviceSetLimit(t, limit, v) })
}

//export hipGetDeviceFlags
func hipGetDeviceFlags(out *uint32) int32 {
	return call("hipGetDeviceFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetDeviceFlags(t, out) })
}

//export hipSetDeviceFlags
func hipSetDeviceFlags(f uint32) int32 {
	return call("hipSetDeviceFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetDeviceFlags(t, f) })
}

//export hipDeviceCanAccessPeer
func hipDeviceCanAccessPeer(out *int32, d, peer int32) int32 {
	return call("hipDeviceCanAccessPeer", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceCanAccessPeer(out, d, peer) })
}

//export hipDeviceEnablePeerAccess
func hipDeviceEnablePeerAccess(peer int32, flags uint32) int32 {
	return call("hipDeviceEnablePeerAccess", func(a *hip.API, t *hip.Thread) hip.Error { return a.DeviceEnablePeerAccess(t, peer, flags) })
}

//export hipDeviceDisablePeerAccess
func hipDeviceDisablePeerAccess(peer int32) int32 {
	return call("hipDeviceDisablePeerAccess", func(a *hip.API, t *hip.Thread) hip.Error { return a.DeviceDisablePeerAccess(t, peer) })
}

//export hipDeviceGetP2PAttribute
func hipDeviceGetP2PAttribute(out *int32, attr, src, dst int32) int32 {
	return call("hipDeviceGetP2PAttribute", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGetP2PAttribute(out, attr, src, dst) })
}

//export hipExtGetLinkTypeAndHopCount
func hipExtGetLinkTypeAndHopCount(d1, d2 int32, link, hops *uint32) int32 {
	return call("hipExtGetLinkTypeAndHopCount", func(a *hip.API, _ *hip.Thread) hip.Error { return a.LinkTypeAndHops(d1, d2, link, hops) })
}

//export hipDeviceGetStreamPriorityRange
func hipDeviceGetStreamPriorityRange(least, greatest *int32) int32 {
	return call("hipDeviceGetStreamPriorityRange", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamPriorityRange(t, least, greatest) })
}

//export hipGetDeviceProperties
func hipGetDeviceProperties(out uintptr, d int32) int32 {
	return call("hipGetDeviceProperties", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GetDeviceProperties(out, d) })
}

//export hipGetDevicePropertiesR0000
func hipGetDevicePropertiesR0000(out uintptr, d int32) int32 {
	return call("hipGetDevicePropertiesR0000", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GetDeviceProperties(out, d) })
}

//export hipGetDevicePropertiesR0600
func hipGetDevicePropertiesR0600(out uintptr, d int32) int32 {
	return call("hipGetDevicePropertiesR0600", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GetDevicePropertiesR0600(out, d) })
}

//export hipChooseDevice
func hipChooseDevice(out *int32, p uintptr) int32 {
	return call("hipChooseDevice", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ChooseDevice(out, p, false) })
}

//export hipChooseDeviceR0000
func hipChooseDeviceR0000(out *int32, p uintptr) int32 {
	return call("hipChooseDeviceR0000", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ChooseDevice(out, p, false) })
}

//export hipChooseDeviceR0600
func hipChooseDeviceR0600(out *int32, p uintptr) int32 {
	return call("hipChooseDeviceR0600", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ChooseDevice(out, p, true) })
}

//export hipDeviceGetAttribute
func hipDeviceGetAttribute(out *int32, attr, d int32) int32 {
	return call("hipDeviceGetAttribute", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGetAttribute(out, attr, d) })
}

//export hipDeviceGetCacheConfig
func hipDeviceGetCacheConfig(out *int32) int32 {
	return call("hipDeviceGetCacheConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetConfig(t, out) })
}

//export hipDeviceSetCacheConfig
func hipDeviceSetCacheConfig(c int32) int32 {
	return call("hipDeviceSetCacheConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetConfig(t, c) })
}

//export hipDeviceGetSharedMemConfig
func hipDeviceGetSharedMemConfig(out *int32) int32 {
	return call("hipDeviceGetSharedMemConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetConfig(t, out) })
}

//export hipDeviceSetSharedMemConfig
func hipDeviceSetSharedMemConfig(c int32) int32 {
	return call("hipDeviceSetSharedMemConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetConfig(t, c) })
}

//export hipFuncSetCacheConfig
func hipFuncSetCacheConfig(key uintptr, c int32) int32 {
	return call("hipFuncSetCacheConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetConfig(t, c) })
}

//export hipFuncSetSharedMemConfig
func hipFuncSetSharedMemConfig(key uintptr, c int32) int32 {
	return call("hipFuncSetSharedMemConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetConfig(t, c) })
}

//export hipMalloc
func hipMalloc(out *uintptr, size uint64) int32 {
	return call("hipMalloc", func(a *hip.API, t *hip.Thread) hip.Error { return a.Malloc(t, out, size) })
}

//export hipExtMallocWithFlags
func hipExtMallocWithFlags(out *uintptr, size uint64, flags uint32) int32 {
	return call("hipExtMallocWithFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.ExtMalloc(t, out, size, flags) })
}

//export hipFree
func hipFree(p uintptr) int32 {
	return call("hipFree", func(a *hip.API, t *hip.Thread) hip.Error { return a.Free(t, p) })
}

//export hipHostMalloc
func hipHostMalloc(out *uintptr, size uint64, flags uint32) int32 {
	return call("hipHostMalloc", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostMalloc(t, out, size, flags) })
}

//export hipHostAlloc
func hipHostAlloc(out *uintptr, size uint64, flags uint32) int32 {
	return call("hipHostAlloc", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostMalloc(t, out, size, flags) })
}

//export hipMallocHost
func hipMallocHost(out *uintptr, size uint64) int32 {
	return call("hipMallocHost", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostMalloc(t, out, size, 0) })
}

//export hipMemAllocHost
func hipMemAllocHost(out *uintptr, size uint64) int32 {
	return call("hipMemAllocHost", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostMalloc(t, out, size, 0) })
}

//export hipHostFree
func hipHostFree(p uintptr) int32 {
	return call("hipHostFree", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostFree(t, p) })
}

//export hipFreeHost
func hipFreeHost(p uintptr) int32 {
	return call("hipFreeHost", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostFree(t, p) })
}

//export hipHostGetDevicePointer
func hipHostGetDevicePointer(out *uintptr, p uintptr, flags uint32) int32 {
	return call("hipHostGetDevicePointer", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostGetDevicePointer(t, out, p, flags) })
}

//export hipHostGetFlags
func hipHostGetFlags(out *uint32, p uintptr) int32 {
	return call("hipHostGetFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostGetFlags(t, out, p) })
}

//export hipHostRegister
func hipHostRegister(p uintptr, size uint64, flags uint32) int32 {
	return call("hipHostRegister", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostRegister(t, p, size, flags) })
}

//export hipHostUnregister
func hipHostUnregister(p uintptr) int32 {
	return call("hipHostUnregister", func(a *hip.API, t *hip.Thread) hip.Error { return a.HostUnregister(t, p) })
}

//export hipMallocManaged
func hipMallocManaged(out *uintptr, size uint64, flags uint32) int32 {
	return call("hipMallocManaged", func(a *hip.API, t *hip.Thread) hip.Error { return a.MallocManaged(t, out, size, flags) })
}

//export hipMallocPitch
func hipMallocPitch(out *uintptr, pitch *uint64, width, height uint64) int32 {
	return call("hipMallocPitch", func(a *hip.API, t *hip.Thread) hip.Error { return a.MallocPitch(t, out, pitch, width, height, 1) })
}

//export hipMemAllocPitch
func hipMemAllocPitch(out *uintptr, pitch *uint64, width, height uint64, elem uint32) int32 {
	return call("hipMemAllocPitch", func(a *hip.API, t *hip.Thread) hip.Error { return a.MallocPitch(t, out, pitch, width, height, 1) })
}

//export hipMemGetInfo
func hipMemGetInfo(free, total *uint64) int32 {
	return call("hipMemGetInfo", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemGetInfo(t, free, total) })
}

//export hipMemGetAddressRange
func hipMemGetAddressRange(base *uintptr, size *uint64, p uintptr) int32 {
	return call("hipMemGetAddressRange", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemGetAddressRange(base, size, p) })
}

//export hipMemPtrGetInfo
func hipMemPtrGetInfo(p uintptr, size *uint64) int32 {
	return call("hipMemPtrGetInfo", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemPtrGetInfo(p, size) })
}

//export hipPointerGetAttributes
func hipPointerGetAttributes(out uintptr, p uintptr) int32 {
	return call("hipPointerGetAttributes", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.PointerGetAttributes(at[hip.PointerAttributes](out), p)
	})
}

//export hipMemAdvise
func hipMemAdvise(p uintptr, size uint64, advice, device int32) int32 {
	return call("hipMemAdvise", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemAdvise(t, p, size, advice, device) })
}

//export hipMemPrefetchAsync
func hipMemPrefetchAsync(p uintptr, size uint64, device int32, s uintptr) int32 {
	return call("hipMemPrefetchAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemPrefetch(t, p, size, device, s) })
}

//export hipMallocAsync
func hipMallocAsync(out *uintptr, size uint64, s uintptr) int32 {
	return call("hipMallocAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.MallocAsync(t, out, size, s) })
}

//export hipFreeAsync
func hipFreeAsync(p, s uintptr) int32 {
	return call("hipFreeAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.FreeAsync(t, p, s) })
}

//export hipMemcpy
func hipMemcpy(dst, src uintptr, n uint64, k int32) int32 {
	return call("hipMemcpy", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, hip.Kind(k), 0, false) })
}

//export hipMemcpy_spt
func hipMemcpy_spt(dst, src uintptr, n uint64, k int32) int32 {
	return call("hipMemcpy_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy(t, dst, src, n, hip.Kind(k), hip.StreamPerThread, false)
	})
}

//export hipMemcpyAsync
func hipMemcpyAsync(dst, src uintptr, n uint64, k int32, s uintptr) int32 {
	return call("hipMemcpyAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, hip.Kind(k), s, true) })
}

//export hipMemcpyAsync_spt
func hipMemcpyAsync_spt(dst, src uintptr, n uint64, k int32, s uintptr) int32 {
	return call("hipMemcpyAsync_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, hip.Kind(k), spt(s), true) })
}

//export hipMemcpyWithStream
func hipMemcpyWithStream(dst, src uintptr, n uint64, k int32, s uintptr) int32 {
	return call("hipMemcpyWithStream", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, hip.Kind(k), s, false) })
}

//export hipMemcpyHtoD
func hipMemcpyHtoD(dst, src uintptr, n uint64) int32 {
	return call("hipMemcpyHtoD", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, 1, 0, false) })
}

//export hipMemcpyHtoDAsync
func hipMemcpyHtoDAsync(dst, src uintptr, n uint64, s uintptr) int32 {
	return call("hipMemcpyHtoDAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, 1, s, true) })
}

//export hipMemcpyDtoH
func hipMemcpyDtoH(dst, src uintptr, n uint64) int32 {
	return call("hipMemcpyDtoH", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, 2, 0, false) })
}

//export hipMemcpyDtoHAsync
func hipMemcpyDtoHAsync(dst, src uintptr, n uint64, s uintptr) int32 {
	return call("hipMemcpyDtoHAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, 2, s, true) })
}

//export hipMemcpyDtoD
func hipMemcpyDtoD(dst, src uintptr, n uint64) int32 {
	return call("hipMemcpyDtoD", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, 3, 0, false) })
}

//export hipMemcpyDtoDAsync
func hipMemcpyDtoDAsync(dst, src uintptr, n uint64, s uintptr) int32 {
	return call("hipMemcpyDtoDAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, 3, s, true) })
}

//export hipMemcpyPeer
func hipMemcpyPeer(dst uintptr, dd int32, src uintptr, sd int32, n uint64) int32 {
	return call("hipMemcpyPeer", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemcpyPeer(t, dst, dd, src, sd, n, 0, false) })
}

//export hipMemcpyPeerAsync
func hipMemcpyPeerAsync(dst uintptr, dd int32, src uintptr, sd int32, n uint64, s uintptr) int32 {
	return call("hipMemcpyPeerAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemcpyPeer(t, dst, dd, src, sd, n, s, true) })
}

//export hipMemcpy2D
func hipMemcpy2D(dst uintptr, dp uint64, src uintptr, sp, width, height uint64, k int32) int32 {
	return call("hipMemcpy2D", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2D(t, dst, dp, src, sp, width, height, hip.Kind(k), 0, false)
	})
}

//export hipMemcpy2D_spt
func hipMemcpy2D_spt(dst uintptr, dp uint64, src uintptr, sp, width, height uint64, k int32) int32 {
	return call("hipMemcpy2D_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2D(t, dst, dp, src, sp, width, height, hip.Kind(k), hip.StreamPerThread, false)
	})
}

//export hipMemcpy2DAsync
func hipMemcpy2DAsync(dst uintptr, dp uint64, src uintptr, sp, width, height uint64, k int32, s uintptr) int32 {
	return call("hipMemcpy2DAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2D(t, dst, dp, src, sp, width, height, hip.Kind(k), s, true)
	})
}

//export hipMemcpy3D
func hipMemcpy3D(p uintptr) int32 {
	return call("hipMemcpy3D", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy3D(t, at[hip.Memcpy3DParms](p), 0, false) })
}

//export hipMemcpy3D_spt
func hipMemcpy3D_spt(p uintptr) int32 {
	return call("hipMemcpy3D_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy3D(t, at[hip.Memcpy3DParms](p), hip.StreamPerThread, false)
	})
}

//export hipMemcpy3DAsync
func hipMemcpy3DAsync(p uintptr, s uintptr) int32 {
	return call("hipMemcpy3DAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy3D(t, at[hip.Memcpy3DParms](p), s, true) })
}

//export hipMemcpyParam2D
func hipMemcpyParam2D(p uintptr) int32 {
	return call("hipMemcpyParam2D", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyParam2D(t, at[hip.Memcpy2DParms](p), 0, false)
	})
}

//export hipDrvMemcpy2DUnaligned
func hipDrvMemcpy2DUnaligned(p uintptr) int32 {
	return call("hipDrvMemcpy2DUnaligned", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyParam2D(t, at[hip.Memcpy2DParms](p), 0, false)
	})
}

//export hipMemcpyParam2DAsync
func hipMemcpyParam2DAsync(p uintptr, s uintptr) int32 {
	return call("hipMemcpyParam2DAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyParam2D(t, at[hip.Memcpy2DParms](p), s, true)
	})
}

//export hipMemcpyToSymbol
func hipMemcpyToSymbol(sym, src uintptr, n, off uint64, k int32) int32 {
	return call("hipMemcpyToSymbol", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyToSymbol(t, sym, src, n, off, hip.Kind(k), 0, false)
	})
}

//export hipMemcpyToSymbol_spt
func hipMemcpyToSymbol_spt(sym, src uintptr, n, off uint64, k int32) int32 {
	return call("hipMemcpyToSymbol_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyToSymbol(t, sym, src, n, off, hip.Kind(k), hip.StreamPerThread, false)
	})
}

//export hipMemcpyToSymbolAsync
func hipMemcpyToSymbolAsync(sym, src uintptr, n, off uint64, k int32, s uintptr) int32 {
	return call("hipMemcpyToSymbolAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyToSymbol(t, sym, src, n, off, hip.Kind(k), s, true)
	})
}

//export hipMemcpyFromSymbol
func hipMemcpyFromSymbol(dst, sym uintptr, n, off uint64, k int32) int32 {
	return call("hipMemcpyFromSymbol", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyFromSymbol(t, dst, sym, n, off, hip.Kind(k), 0, false)
	})
}

//export hipMemcpyFromSymbol_spt
func hipMemcpyFromSymbol_spt(dst, sym uintptr, n, off uint64, k int32) int32 {
	return call("hipMemcpyFromSymbol_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyFromSymbol(t, dst, sym, n, off, hip.Kind(k), hip.StreamPerThread, false)
	})
}

//export hipMemcpyFromSymbolAsync
func hipMemcpyFromSymbolAsync(dst, sym uintptr, n, off uint64, k int32, s uintptr) int32 {
	return call("hipMemcpyFromSymbolAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyFromSymbol(t, dst, sym, n, off, hip.Kind(k), s, true)
	})
}

//export hipGetSymbolAddress
func hipGetSymbolAddress(out *uintptr, sym uintptr) int32 {
	return call("hipGetSymbolAddress", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetSymbolAddress(t, out, sym) })
}

//export hipGetSymbolSize
func hipGetSymbolSize(out *uint64, sym uintptr) int32 {
	return call("hipGetSymbolSize", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetSymbolSize(t, out, sym) })
}

//export hipMemset
func hipMemset(dst uintptr, v int32, n uint64) int32 {
	return call("hipMemset", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v)&0xff, 1, n, 0, false) })
}

//export hipMemset_spt
func hipMemset_spt(dst uintptr, v int32, n uint64) int32 {
	return call("hipMemset_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memset(t, dst, uint32(v)&0xff, 1, n, hip.StreamPerThread, false)
	})
}

//export hipMemsetAsync
func hipMemsetAsync(dst uintptr, v int32, n uint64, s uintptr) int32 {
	return call("hipMemsetAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v)&0xff, 1, n, s, true) })
}

//export hipMemsetD8
func hipMemsetD8(dst uintptr, v uint8, n uint64) int32 {
	return call("hipMemsetD8", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v), 1, n, 0, false) })
}

//export hipMemsetD8Async
func hipMemsetD8Async(dst uintptr, v uint8, n uint64, s uintptr) int32 {
	return call("hipMemsetD8Async", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v), 1, n, s, true) })
}

//export hipMemsetD16
func hipMemsetD16(dst uintptr, v uint16, n uint64) int32 {
	return call("hipMemsetD16", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v), 2, n, 0, false) })
}

//export hipMemsetD16Async
func hipMemsetD16Async(dst uintptr, v uint16, n uint64, s uintptr) int32 {
	return call("hipMemsetD16Async", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v), 2, n, s, true) })
}

//export hipMemsetD32
func hipMemsetD32(dst uintptr, v int32, n uint64) int32 {
	return call("hipMemsetD32", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v), 4, n, 0, false) })
}

//export hipMemsetD32Async
func hipMemsetD32Async(dst uintptr, v int32, n uint64, s uintptr) int32 {
	return call("hipMemsetD32Async", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v), 4, n, s, true) })
}

//export hipMemset2D
func hipMemset2D(dst uintptr, pitch uint64, v int32, width, height uint64) int32 {
	return call("hipMemset2D", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memset2D(t, dst, pitch, byte(v), width, height, 1, 0, 0, false)
	})
}

//export hipMemset2D_spt
func hipMemset2D_spt(dst uintptr, pitch uint64, v int32, width, height uint64) int32 {
	return call("hipMemset2D_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memset2D(t, dst, pitch, byte(v), width, height, 1, 0, hip.StreamPerThread, false)
	})
}

//export hipMemset2DAsync
func hipMemset2DAsync(dst uintptr, pitch uint64, v int32, width, height uint64, s uintptr) int32 {
	return call("hipMemset2DAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memset2D(t, dst, pitch, byte(v), width, height, 1, 0, s, true)
	})
}

//export hipStreamCreate
func hipStreamCreate(out *uintptr) int32 {
	return call("hipStreamCreate", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamCreate(t, out, 0, 0, nil) })
}

//export hipStreamCreateWithFlags
func hipStreamCreateWithFlags(out *uintptr, flags uint32) int32 {
	return call("hipStreamCreateWithFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamCreate(t, out, flags, 0, nil) })
}

//export hipStreamCreateWithPriority
func hipStreamCreateWithPriority(out *uintptr, flags uint32, p int32) int32 {
	return call("hipStreamCreateWithPriority", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamCreate(t, out, flags, p, nil) })
}

//export hipStreamDestroy
func hipStreamDestroy(s uintptr) int32 {
	return call("hipStreamDestroy", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamDestroy(t, s) })
}

//export hipStreamSynchronize
func hipStreamSynchronize(s uintptr) int32 {
	return call("hipStreamSynchronize", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamSynchronize(t, s) })
}

//export hipStreamSynchronize_spt
func hipStreamSynchronize_spt(s uintptr) int32 {
	return call("hipStreamSynchronize_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamSynchronize(t, spt(s)) })
}

//export hipStreamQuery
func hipStreamQuery(s uintptr) int32 {
	return call("hipStreamQuery", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamQuery(t, s) })
}

//export hipStreamQuery_spt
func hipStreamQuery_spt(s uintptr) int32 {
	return call("hipStreamQuery_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamQuery(t, spt(s)) })
}

//export hipStreamWaitEvent
func hipStreamWaitEvent(s, e uintptr, flags uint32) int32 {
	return call("hipStreamWaitEvent", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamWaitEvent(t, s, e, flags) })
}

//export hipStreamWaitEvent_spt
func hipStreamWaitEvent_spt(s, e uintptr, flags uint32) int32 {
	return call("hipStreamWaitEvent_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamWaitEvent(t, spt(s), e, flags) })
}

//export hipStreamGetFlags
func hipStreamGetFlags(s uintptr, out *uint32) int32 {
	return call("hipStreamGetFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamGetFlags(t, s, out) })
}

//export hipStreamGetFlags_spt
func hipStreamGetFlags_spt(s uintptr, out *uint32) int32 {
	return call("hipStreamGetFlags_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamGetFlags(t, spt(s), out) })
}

//export hipStreamGetPriority
func hipStreamGetPriority(s uintptr, out *int32) int32 {
	return call("hipStreamGetPriority", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamGetPriority(t, s, out) })
}

//export hipStreamGetPriority_spt
func hipStreamGetPriority_spt(s uintptr, out *int32) int32 {
	return call("hipStreamGetPriority_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamGetPriority(t, spt(s), out) })
}

//export hipStreamGetDevice
func hipStreamGetDevice(s uintptr, out *int32) int32 {
	return call("hipStreamGetDevice", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamGetDevice(t, s, out) })
}

//export hipStreamIsCapturing
func hipStreamIsCapturing(s uintptr, out *int32) int32 {
	return call("hipStreamIsCapturing", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamIsCapturing(t, s, out) })
}

//export hipStreamIsCapturing_spt
func hipStreamIsCapturing_spt(s uintptr, out *int32) int32 {
	return call("hipStreamIsCapturing_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamIsCapturing(t, spt(s), out) })
}

//export hipStreamGetCaptureInfo
func hipStreamGetCaptureInfo(s uintptr, out *int32, id *uint64) int32 {
	return call("hipStreamGetCaptureInfo", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamIsCapturing(t, s, out) })
}

//export hipStreamAttachMemAsync
func hipStreamAttachMemAsync(s, p uintptr, n uint64, flags uint32) int32 {
	return call("hipStreamAttachMemAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamAttachMem(t, s, p, n, flags) })
}

//export hipEventCreate
func hipEventCreate(out *uintptr) int32 {
	return call("hipEventCreate", func(a *hip.API, t *hip.Thread) hip.Error { return a.EventCreate(t, out, 0) })
}

//export hipEventCreateWithFlags
func hipEventCreateWithFlags(out *uintptr, flags uint32) int32 {
	return call("hipEventCreateWithFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.EventCreate(t, out, flags) })
}

//export hipEventDestroy
func hipEventDestroy(e uintptr) int32 {
	return call("hipEventDestroy", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EventDestroy(e) })
}

//export hipEventRecord
func hipEventRecord(e, s uintptr) int32 {
	return call("hipEventRecord", func(a *hip.API, t *hip.Thread) hip.Error { return a.EventRecord(t, e, s) })
}

//export hipEventRecord_spt
func hipEventRecord_spt(e, s uintptr) int32 {
	return call("hipEventRecord_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.EventRecord(t, e, spt(s)) })
}

//export hipEventSynchronize
func hipEventSynchronize(e uintptr) int32 {
	return call("hipEventSynchronize", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EventSynchronize(e) })
}

//export hipEventQuery
func hipEventQuery(e uintptr) int32 {
	return call("hipEventQuery", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EventQuery(e) })
}

//export hipEventElapsedTime
func hipEventElapsedTime(out *float32, start, stop uintptr) int32 {
	return call("hipEventElapsedTime", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EventElapsed(out, start, stop) })
}

//export hipModuleLoadData
func hipModuleLoadData(out *uintptr, image uintptr) int32 {
	return call("hipModuleLoadData", func(a *hip.API, t *hip.Thread) hip.Error { return a.ModuleLoadData(t, out, image) })
}

//export hipModuleUnload
func hipModuleUnload(m uintptr) int32 {
	return call("hipModuleUnload", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ModuleUnload(m) })
}

//export hipFuncGetAttributes
func hipFuncGetAttributes(out uintptr, key uintptr) int32 {
	return call("hipFuncGetAttributes", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.FuncGetAttributes(t, at[hip.FuncAttributes](out), key)
	})
}

//export hipFuncGetAttribute
func hipFuncGetAttribute(out *int32, attr int32, fn uintptr) int32 {
	return call("hipFuncGetAttribute", func(a *hip.API, t *hip.Thread) hip.Error { return a.FuncGetAttribute(t, out, attr, fn) })
}

//export hipFuncSetAttribute
func hipFuncSetAttribute(key uintptr, attr, v int32) int32 {
	return call("hipFuncSetAttribute", func(a *hip.API, t *hip.Thread) hip.Error { return a.FuncSetAttribute(t, key, attr, v) })
}

//export hipOccupancyMaxActiveBlocksPerMultiprocessor
func hipOccupancyMaxActiveBlocksPerMultiprocessor(out *int32, fn uintptr, block int32, dyn uint64) int32 {
	return call("hipOccupancyMaxActiveBlocksPerMultiprocessor", func(a *hip.API, t *hip.Thread) hip.Error { return a.Occupancy(t, out, fn, false, block, dyn) })
}

//export hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
func hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out *int32, fn uintptr, block int32, dyn uint64, flags uint32) int32 {
	return call("hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.Occupancy(t, out, fn, false, block, dyn) })
}

//export hipOccupancyMaxPotentialBlockSize
func hipOccupancyMaxPotentialBlockSize(grid, block *int32, fn uintptr, dyn uint64, limit int32) int32 {
	return call("hipOccupancyMaxPotentialBlockSize", func(a *hip.API, t *hip.Thread) hip.Error { return a.BestBlock(t, grid, block, fn, false, dyn, limit) })
}

//export hipModuleOccupancyMaxActiveBlocksPerMultiprocessor
func hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(out *int32, fn uintptr, block int32, dyn uint64) int32 {
	return call("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", func(a *hip.API, t *hip.Thread) hip.Error { return a.Occupancy(t, out, fn, true, block, dyn) })
}

//export hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
func hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out *int32, fn uintptr, block int32, dyn uint64, flags uint32) int32 {
	return call("hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.Occupancy(t, out, fn, true, block, dyn) })
}

//export hipModuleOccupancyMaxPotentialBlockSize
func hipModuleOccupancyMaxPotentialBlockSize(grid, block *int32, fn uintptr, dyn uint64, limit int32) int32 {
	return call("hipModuleOccupancyMaxPotentialBlockSize", func(a *hip.API, t *hip.Thread) hip.Error { return a.BestBlock(t, grid, block, fn, true, dyn, limit) })
}

//export hipModuleOccupancyMaxPotentialBlockSizeWithFlags
func hipModuleOccupancyMaxPotentialBlockSizeWithFlags(grid, block *int32, fn uintptr, dyn uint64, limit int32, flags uint32) int32 {
	return call("hipModuleOccupancyMaxPotentialBlockSizeWithFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.BestBlock(t, grid, block, fn, true, dyn, limit) })
}

//export hipCtxCreate
func hipCtxCreate(out *uintptr, flags uint32, d int32) int32 {
	return call("hipCtxCreate", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxCreate(t, out, flags, d) })
}

//export hipCtxDestroy
func hipCtxDestroy(c uintptr) int32 {
	return call("hipCtxDestroy", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxDestroy(t, c) })
}

//export hipCtxGetCurrent
func hipCtxGetCurrent(out *uintptr) int32 {
	return call("hipCtxGetCurrent", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxGetCurrent(t, out) })
}

//export hipCtxSetCurrent
func hipCtxSetCurrent(c uintptr) int32 {
	return call("hipCtxSetCurrent", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxSetCurrent(t, c) })
}

//export hipCtxPushCurrent
func hipCtxPushCurrent(c uintptr) int32 {
	return call("hipCtxPushCurrent", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxPush(t, c) })
}

//export hipCtxPopCurrent
func hipCtxPopCurrent(out *uintptr) int32 {
	return call("hipCtxPopCurrent", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxPop(t, out) })
}

//export hipCtxGetDevice
func hipCtxGetDevice(out *int32) int32 {
	return call("hipCtxGetDevice", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetDevice(t, out) })
}

//export hipCtxGetFlags
func hipCtxGetFlags(out *uint32) int32 {
	return call("hipCtxGetFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetDeviceFlags(t, out) })
}

//export hipCtxGetApiVersion
func hipCtxGetApiVersion(c uintptr, out *int32) int32 {
	return call("hipCtxGetApiVersion", func(a *hip.API, _ *hip.Thread) hip.Error { return a.CtxAPIVersion(c, out) })
}

//export hipCtxGetCacheConfig
func hipCtxGetCacheConfig(out *int32) int32 {
	return call("hipCtxGetCacheConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetConfig(t, out) })
}

//export hipCtxSetCacheConfig
func hipCtxSetCacheConfig(c int32) int32 {
	return call("hipCtxSetCacheConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetConfig(t, c) })
}

//export hipCtxGetSharedMemConfig
func hipCtxGetSharedMemConfig(out *int32) int32 {
	return call("hipCtxGetSharedMemConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetConfig(t, out) })
}

//export hipCtxSetSharedMemConfig
func hipCtxSetSharedMemConfig(c int32) int32 {
	return call("hipCtxSetSharedMemConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetConfig(t, c) })
}

//export hipDevicePrimaryCtxRetain
func hipDevicePrimaryCtxRetain(out *uintptr, d int32) int32 {
	return call("hipDevicePrimaryCtxRetain", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PrimaryRetain(out, d) })
}

//export hipDevicePrimaryCtxRelease
func hipDevicePrimaryCtxRelease(d int32) int32 {
	return call("hipDevicePrimaryCtxRelease", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PrimaryRelease(d) })
}

//export hipDevicePrimaryCtxReset
func hipDevicePrimaryCtxReset(d int32) int32 {
	return call("hipDevicePrimaryCtxReset", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PrimaryRelease(d) })
}

//export hipDevicePrimaryCtxGetState
func hipDevicePrimaryCtxGetState(d int32, flags *uint32, active *int32) int32 {
	return call("hipDevicePrimaryCtxGetState", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PrimaryState(d, flags, active) })
}

//export hipDevicePrimaryCtxSetFlags
func hipDevicePrimaryCtxSetFlags(d int32, flags uint32) int32 {
	return call("hipDevicePrimaryCtxSetFlags", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PrimarySetFlags(d, flags) })
}

//export hipProfilerStart
func hipProfilerStart() int32 {
	return call("hipProfilerStart", func(_ *hip.API, _ *hip.Thread) hip.Error { return hip.ErrNotSupported })
}

//export hipProfilerStop
func hipProfilerStop() int32 {
	return call("hipProfilerStop", func(_ *hip.API, _ *hip.Thread) hip.Error { return hip.ErrNotSupported })
}
