package hipabi

/*
static void call_stream(void *f, void *stream, int status, void *data) {
    ((void (*)(void *, int, void *))f)(stream, status, data);
}
*/
import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Streams.

//export hipStreamCreate
func hipStreamCreate(out *uintptr) int32 {
	return call("hipStreamCreate", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamCreate(t, out, 0, 0, nil) }, newStream(&out))
}

//export hipStreamCreateWithFlags
func hipStreamCreateWithFlags(out *uintptr, flags uint32) int32 {
	return call("hipStreamCreateWithFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamCreate(t, out, flags, 0, nil) }, newStream(&out), flags)
}

//export hipStreamCreateWithPriority
func hipStreamCreateWithPriority(out *uintptr, flags uint32, p int32) int32 {
	return call("hipStreamCreateWithPriority", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamCreate(t, out, flags, p, nil) }, newStream(&out), flags, p)
}

//export hipStreamDestroy
func hipStreamDestroy(s uintptr) int32 {
	return call("hipStreamDestroy", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamDestroy(t, s) }, stream(s))
}

//export hipStreamSynchronize
func hipStreamSynchronize(s uintptr) int32 {
	return call("hipStreamSynchronize", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamSynchronize(t, s) }, stream(s))
}

//export hipStreamSynchronize_spt
func hipStreamSynchronize_spt(s uintptr) int32 {
	return call("hipStreamSynchronize_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamSynchronize(t, spt(s)) }, stream(s))
}

//export hipStreamQuery
func hipStreamQuery(s uintptr) int32 {
	return call("hipStreamQuery", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamQuery(t, s) }, stream(s))
}

//export hipStreamQuery_spt
func hipStreamQuery_spt(s uintptr) int32 {
	return call("hipStreamQuery_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamQuery(t, spt(s)) }, stream(s))
}

//export hipStreamWaitEvent
func hipStreamWaitEvent(s, e uintptr, flags uint32) int32 {
	return call("hipStreamWaitEvent", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamWaitEvent(t, s, e, flags) }, stream(s), event(e), flags)
}

//export hipStreamWaitEvent_spt
func hipStreamWaitEvent_spt(s, e uintptr, flags uint32) int32 {
	return call("hipStreamWaitEvent_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamWaitEvent(t, spt(s), e, flags) }, stream(s), event(e), flags)
}

//export hipStreamGetFlags
func hipStreamGetFlags(s uintptr, out *uint32) int32 {
	return call("hipStreamGetFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamGetFlags(t, s, out) }, stream(s), outOf(&out))
}

//export hipStreamGetFlags_spt
func hipStreamGetFlags_spt(s uintptr, out *uint32) int32 {
	return call("hipStreamGetFlags_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamGetFlags(t, spt(s), out) }, stream(s), outOf(&out))
}

//export hipStreamGetPriority
func hipStreamGetPriority(s uintptr, out *int32) int32 {
	return call("hipStreamGetPriority", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamGetPriority(t, s, out) }, stream(s), outOf(&out))
}

//export hipStreamGetPriority_spt
func hipStreamGetPriority_spt(s uintptr, out *int32) int32 {
	return call("hipStreamGetPriority_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamGetPriority(t, spt(s), out) }, stream(s), outOf(&out))
}

//export hipStreamGetDevice
func hipStreamGetDevice(s uintptr, out *int32) int32 {
	return call("hipStreamGetDevice", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamGetDevice(t, s, out) }, stream(s), outOf(&out))
}

//export hipStreamAttachMemAsync
func hipStreamAttachMemAsync(s, p uintptr, n uint64, flags uint32) int32 {
	return call("hipStreamAttachMemAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamAttachMem(t, s, p, n, flags) }, stream(s), p, n, flags)
}

//export hipStreamGetId
func hipStreamGetId(s uintptr, out *uint64) int32 {
	return call("hipStreamGetId", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamID(t, s, out) }, stream(s), outOf(&out))
}

//export hipGetStreamDeviceId
func hipGetStreamDeviceId(s uintptr) int32 { return api().StreamDeviceID(thread(), s) }

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
