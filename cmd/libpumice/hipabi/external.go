package hipabi

/*
static void call_stream_status(void *f, void *stream, int status, void *data) { ((void (*)(void *, int, void *))f)(stream, status, data); }
*/
import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hip"
)

//export hipImportExternalMemory
func hipImportExternalMemory(out *uintptr, desc uintptr) int32 {
	return call("hipImportExternalMemory", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.ImportExternalMemory(t, out, at[hip.ExternalMemoryDesc](desc))
	}, handle(&out), inAt[hip.ExternalMemoryDesc](&desc))
}

//export hipExternalMemoryGetMappedBuffer
func hipExternalMemoryGetMappedBuffer(out *uintptr, h, desc uintptr) int32 {
	return call("hipExternalMemoryGetMappedBuffer", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.ExternalMappedBuffer(out, h, at[hip.ExternalBufferDesc](desc))
	}, handle(&out), h, inAt[hip.ExternalBufferDesc](&desc))
}

//export hipDestroyExternalMemory
func hipDestroyExternalMemory(h uintptr) int32 {
	return call("hipDestroyExternalMemory", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DestroyExternalMemory(h) }, h)
}

//export hipMemGetHandleForAddressRange
func hipMemGetHandleForAddressRange(out *int32, p uintptr, n uint64, kind int32, flags uint64) int32 {
	return call("hipMemGetHandleForAddressRange", func(a *hip.API, _ *hip.Thread) hip.Error { return a.AddressRangeHandle(out, p, n, kind, flags) }, outOf(&out), p, n, kind, flags)
}

//export hipStreamSetAttribute
func hipStreamSetAttribute(s uintptr, id int32, v uintptr) int32 {
	return call("hipStreamSetAttribute", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamSetAttribute(t, s, id, v) }, stream(s), id, inBytes(&v, hip.StreamAttributeSize))
}

//export hipStreamGetAttribute
func hipStreamGetAttribute(s uintptr, id int32, out uintptr) int32 {
	return call("hipStreamGetAttribute", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamGetAttribute(t, s, id, out) }, stream(s), id, outBytes(&out, hip.StreamAttributeSize))
}

//export hipStreamCopyAttributes
func hipStreamCopyAttributes(dst, src uintptr) int32 {
	return call("hipStreamCopyAttributes", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamCopyAttributes(t, dst, src) }, dst, src)
}

//export hipStreamAddCallback_spt
func hipStreamAddCallback_spt(s uintptr, f, data unsafe.Pointer, flags uint32) int32 {
	return call("hipStreamAddCallback_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		if f == nil || flags != 0 {
			return hip.ErrInvalidValue
		}
		return a.HostFunc(t, spt(s), func() { C.call_stream_status(f, ptr(uint64(s)), 0, data) })
	}, stream(s), f, data, flags)
}
