package hipabi

import "C"

import (
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Devices, versions, limits, peers and the profiler.

//export hipInit
func hipInit(flags uint32) int32 {
	return call("hipInit", func(a *hip.API, _ *hip.Thread) hip.Error { return a.Init(flags) }, flags)
}

//export hipDriverGetVersion
func hipDriverGetVersion(v *int32) int32 {
	return call("hipDriverGetVersion", func(a *hip.API, _ *hip.Thread) hip.Error { return a.Version(v) }, outOf(&v))
}

//export hipRuntimeGetVersion
func hipRuntimeGetVersion(v *int32) int32 {
	return call("hipRuntimeGetVersion", func(a *hip.API, _ *hip.Thread) hip.Error { return a.Version(v) }, outOf(&v))
}

//export hipGetDeviceCount
func hipGetDeviceCount(n *int32) int32 {
	return call("hipGetDeviceCount", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GetDeviceCount(n) }, outOf(&n))
}

//export hipGetDevice
func hipGetDevice(d *int32) int32 {
	return call("hipGetDevice", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetDevice(t, d) }, outOf(&d))
}

//export hipSetDevice
func hipSetDevice(d int32) int32 {
	return call("hipSetDevice", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetDevice(t, d) }, d)
}

//export hipDeviceGet
func hipDeviceGet(out *int32, d int32) int32 {
	return call("hipDeviceGet", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGet(out, d) }, outOf(&out), d)
}

//export hipDeviceGetName
func hipDeviceGetName(buf uintptr, n, d int32) int32 {
	return call("hipDeviceGetName", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGetName(buf, n, d) }, outBytes(&buf, n), n, d)
}

//export hipDeviceTotalMem
func hipDeviceTotalMem(out *uint64, d int32) int32 {
	return call("hipDeviceTotalMem", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceTotalMem(out, d) }, outOf(&out), d)
}

//export hipDeviceComputeCapability
func hipDeviceComputeCapability(major, minor *int32, d int32) int32 {
	return call("hipDeviceComputeCapability", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceComputeCapability(major, minor, d) }, outOf(&major), outOf(&minor), d)
}

//export hipDeviceGetPCIBusId
func hipDeviceGetPCIBusId(buf uintptr, n, d int32) int32 {
	return call("hipDeviceGetPCIBusId", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGetPCIBusID(buf, n, d) }, outBytes(&buf, n), n, d)
}

//export hipDeviceGetByPCIBusId
func hipDeviceGetByPCIBusId(out *int32, id uintptr) int32 {
	return call("hipDeviceGetByPCIBusId", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGetByPCIBusID(out, id) }, outOf(&out), textAt(&id))
}

//export hipDeviceGetUuid
func hipDeviceGetUuid(out uintptr, d int32) int32 {
	return call("hipDeviceGetUuid", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGetUUID(out, d) }, outAt[[16]byte](&out), d)
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
	return call("hipDeviceGetLimit", func(a *hip.API, t *hip.Thread) hip.Error { return a.DeviceGetLimit(t, out, limit) }, outOf(&out), limit)
}

//export hipDeviceSetLimit
func hipDeviceSetLimit(limit uint32, v uint64) int32 {
	return call("hipDeviceSetLimit", func(a *hip.API, t *hip.Thread) hip.Error { return a.DeviceSetLimit(t, limit, v) }, limit, v)
}

//export hipGetDeviceFlags
func hipGetDeviceFlags(out *uint32) int32 {
	return call("hipGetDeviceFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetDeviceFlags(t, out) }, outOf(&out))
}

//export hipSetDeviceFlags
func hipSetDeviceFlags(f uint32) int32 {
	return call("hipSetDeviceFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetDeviceFlags(t, f) }, f)
}

//export hipDeviceCanAccessPeer
func hipDeviceCanAccessPeer(out *int32, d, peer int32) int32 {
	return call("hipDeviceCanAccessPeer", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceCanAccessPeer(out, d, peer) }, outOf(&out), d, peer)
}

//export hipDeviceEnablePeerAccess
func hipDeviceEnablePeerAccess(peer int32, flags uint32) int32 {
	return call("hipDeviceEnablePeerAccess", func(a *hip.API, t *hip.Thread) hip.Error { return a.DeviceEnablePeerAccess(t, peer, flags) }, peer, flags)
}

//export hipDeviceDisablePeerAccess
func hipDeviceDisablePeerAccess(peer int32) int32 {
	return call("hipDeviceDisablePeerAccess", func(a *hip.API, t *hip.Thread) hip.Error { return a.DeviceDisablePeerAccess(t, peer) }, peer)
}

//export hipDeviceGetP2PAttribute
func hipDeviceGetP2PAttribute(out *int32, attr, src, dst int32) int32 {
	return call("hipDeviceGetP2PAttribute", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGetP2PAttribute(out, attr, src, dst) }, outOf(&out), attr, src, dst)
}

//export hipExtGetLinkTypeAndHopCount
func hipExtGetLinkTypeAndHopCount(d1, d2 int32, link, hops *uint32) int32 {
	return call("hipExtGetLinkTypeAndHopCount", func(a *hip.API, _ *hip.Thread) hip.Error { return a.LinkTypeAndHops(d1, d2, link, hops) }, d1, d2, outOf(&link), outOf(&hops))
}

//export hipDeviceGetStreamPriorityRange
func hipDeviceGetStreamPriorityRange(least, greatest *int32) int32 {
	return call("hipDeviceGetStreamPriorityRange", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamPriorityRange(t, least, greatest) }, outOf(&least), outOf(&greatest))
}

//export hipGetDeviceProperties
func hipGetDeviceProperties(out uintptr, d int32) int32 {
	return call("hipGetDeviceProperties", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GetDeviceProperties(out, d) }, outBytes(&out, hip.PropSize(false)), d)
}

//export hipGetDevicePropertiesR0000
func hipGetDevicePropertiesR0000(out uintptr, d int32) int32 {
	return call("hipGetDevicePropertiesR0000", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GetDeviceProperties(out, d) }, outBytes(&out, hip.PropSize(false)), d)
}

//export hipGetDevicePropertiesR0600
func hipGetDevicePropertiesR0600(out uintptr, d int32) int32 {
	return call("hipGetDevicePropertiesR0600", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GetDevicePropertiesR0600(out, d) }, outBytes(&out, hip.PropSize(true)), d)
}

//export hipChooseDevice
func hipChooseDevice(out *int32, p uintptr) int32 {
	return call("hipChooseDevice", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ChooseDevice(out, p, false) }, outOf(&out), inBytes(&p, hip.PropSize(false)))
}

//export hipChooseDeviceR0000
func hipChooseDeviceR0000(out *int32, p uintptr) int32 {
	return call("hipChooseDeviceR0000", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ChooseDevice(out, p, false) }, outOf(&out), inBytes(&p, hip.PropSize(false)))
}

//export hipChooseDeviceR0600
func hipChooseDeviceR0600(out *int32, p uintptr) int32 {
	return call("hipChooseDeviceR0600", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ChooseDevice(out, p, true) }, outOf(&out), inBytes(&p, hip.PropSize(true)))
}

//export hipDeviceGetAttribute
func hipDeviceGetAttribute(out *int32, attr, d int32) int32 {
	return call("hipDeviceGetAttribute", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGetAttribute(out, attr, d) }, outOf(&out), attr, d)
}

//export hipDeviceGetCacheConfig
func hipDeviceGetCacheConfig(out *int32) int32 {
	return call("hipDeviceGetCacheConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetConfig(t, out, hip.CachePreferNone) }, outOf(&out))
}

//export hipDeviceSetCacheConfig
func hipDeviceSetCacheConfig(c int32) int32 {
	return call("hipDeviceSetCacheConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetConfig(t, c) }, c)
}

//export hipDeviceGetSharedMemConfig
func hipDeviceGetSharedMemConfig(out *int32) int32 {
	return call("hipDeviceGetSharedMemConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetConfig(t, out, hip.SharedMemBankOf4) }, outOf(&out))
}

//export hipDeviceSetSharedMemConfig
func hipDeviceSetSharedMemConfig(c int32) int32 {
	return call("hipDeviceSetSharedMemConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetConfig(t, c) }, c)
}

//export hipDrvMemcpy2DUnaligned
func hipDrvMemcpy2DUnaligned(p uintptr) int32 {
	return call("hipDrvMemcpy2DUnaligned", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyParam2D(t, at[hip.Memcpy2DParms](p), 0, false)
	}, inAt[hip.Memcpy2DParms](&p))
}

//export hipGetSymbolAddress
func hipGetSymbolAddress(out *uintptr, sym uintptr) int32 {
	return call("hipGetSymbolAddress", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetSymbolAddress(t, out, sym) }, handle(&out), sym)
}

//export hipGetSymbolSize
func hipGetSymbolSize(out *uint64, sym uintptr) int32 {
	return call("hipGetSymbolSize", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetSymbolSize(t, out, sym) }, outOf(&out), sym)
}

//export hipProfilerStart
func hipProfilerStart() int32 {
	return call("hipProfilerStart", func(_ *hip.API, _ *hip.Thread) hip.Error { return hip.ErrNotSupported })
}

//export hipProfilerStop
func hipProfilerStop() int32 {
	return call("hipProfilerStop", func(_ *hip.API, _ *hip.Thread) hip.Error { return hip.ErrNotSupported })
}

//export hipSetValidDevices
func hipSetValidDevices(list uintptr, n int32) int32 {
	return call("hipSetValidDevices", func(*hip.API, *hip.Thread) hip.Error { return hip.ErrNotSupported }, list, n)
}
