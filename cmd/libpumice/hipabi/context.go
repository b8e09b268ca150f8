package hipabi

import "C"

import (
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Contexts of the deprecated driver API.

//export hipCtxCreate
func hipCtxCreate(out *uintptr, flags uint32, d int32) int32 {
	return call("hipCtxCreate", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxCreate(t, out, flags, d) }, handle(&out), flags, d)
}

//export hipCtxDestroy
func hipCtxDestroy(c uintptr) int32 {
	return call("hipCtxDestroy", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxDestroy(t, c) }, c)
}

//export hipCtxGetCurrent
func hipCtxGetCurrent(out *uintptr) int32 {
	return call("hipCtxGetCurrent", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxGetCurrent(t, out) }, handle(&out))
}

//export hipCtxSetCurrent
func hipCtxSetCurrent(c uintptr) int32 {
	return call("hipCtxSetCurrent", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxSetCurrent(t, c) }, c)
}

//export hipCtxPushCurrent
func hipCtxPushCurrent(c uintptr) int32 {
	return call("hipCtxPushCurrent", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxPush(t, c) }, c)
}

//export hipCtxPopCurrent
func hipCtxPopCurrent(out *uintptr) int32 {
	return call("hipCtxPopCurrent", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxPop(t, out) }, handle(&out))
}

//export hipCtxGetDevice
func hipCtxGetDevice(out *int32) int32 {
	return call("hipCtxGetDevice", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetDevice(t, out) }, outOf(&out))
}

//export hipCtxGetFlags
func hipCtxGetFlags(out *uint32) int32 {
	return call("hipCtxGetFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetDeviceFlags(t, out) }, outOf(&out))
}

//export hipCtxGetApiVersion
func hipCtxGetApiVersion(c uintptr, out *int32) int32 {
	return call("hipCtxGetApiVersion", func(a *hip.API, _ *hip.Thread) hip.Error { return a.CtxAPIVersion(c, out) }, c, outOf(&out))
}

//export hipCtxGetCacheConfig
func hipCtxGetCacheConfig(out *int32) int32 {
	return call("hipCtxGetCacheConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetConfig(t, out, hip.CachePreferNone) }, outOf(&out))
}

//export hipCtxSetCacheConfig
func hipCtxSetCacheConfig(c int32) int32 {
	return call("hipCtxSetCacheConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetConfig(t, c) }, c)
}

//export hipCtxGetSharedMemConfig
func hipCtxGetSharedMemConfig(out *int32) int32 {
	return call("hipCtxGetSharedMemConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetConfig(t, out, hip.SharedMemBankOf4) }, outOf(&out))
}

//export hipCtxSetSharedMemConfig
func hipCtxSetSharedMemConfig(c int32) int32 {
	return call("hipCtxSetSharedMemConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetConfig(t, c) }, c)
}

//export hipDevicePrimaryCtxRetain
func hipDevicePrimaryCtxRetain(out *uintptr, d int32) int32 {
	return call("hipDevicePrimaryCtxRetain", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PrimaryRetain(out, d) }, handle(&out), d)
}

//export hipDevicePrimaryCtxRelease
func hipDevicePrimaryCtxRelease(d int32) int32 {
	return call("hipDevicePrimaryCtxRelease", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PrimaryRelease(d) }, d)
}

//export hipDevicePrimaryCtxReset
func hipDevicePrimaryCtxReset(d int32) int32 {
	return call("hipDevicePrimaryCtxReset", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PrimaryRelease(d) }, d)
}

//export hipDevicePrimaryCtxGetState
func hipDevicePrimaryCtxGetState(d int32, flags *uint32, active *int32) int32 {
	return call("hipDevicePrimaryCtxGetState", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PrimaryState(d, flags, active) }, d, outOf(&flags), outOf(&active))
}

//export hipDevicePrimaryCtxSetFlags
func hipDevicePrimaryCtxSetFlags(d int32, flags uint32) int32 {
	return call("hipDevicePrimaryCtxSetFlags", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PrimarySetFlags(d, flags) }, d, flags)
}

//export hipCtxEnablePeerAccess
func hipCtxEnablePeerAccess(ctx uintptr, flags uint32) int32 {
	return call("hipCtxEnablePeerAccess", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxEnablePeer(t, ctx, flags) }, ctx, flags)
}

//export hipCtxDisablePeerAccess
func hipCtxDisablePeerAccess(ctx uintptr) int32 {
	return call("hipCtxDisablePeerAccess", func(a *hip.API, t *hip.Thread) hip.Error { return a.CtxDisablePeer(t, ctx) }, ctx)
}
