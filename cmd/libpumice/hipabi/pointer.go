package hipabi

import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hip"
)

//export hipPointerGetAttribute
func hipPointerGetAttribute(out uintptr, attr int32, p uintptr) int32 {
	return call("hipPointerGetAttribute", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PointerGetAttribute(out, attr, p) }, out, attr, p)
}

//export hipPointerSetAttribute
func hipPointerSetAttribute(v uintptr, attr int32, p uintptr) int32 {
	return call("hipPointerSetAttribute", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PointerSetAttribute(v, attr, p) }, v, attr, p)
}

//export hipDrvPointerGetAttributes
func hipDrvPointerGetAttributes(n uint32, attrs *int32, out *uintptr, p uintptr) int32 {
	return call("hipDrvPointerGetAttributes", func(a *hip.API, _ *hip.Thread) hip.Error {
		if attrs == nil || out == nil || n > 1<<10 {
			return hip.ErrInvalidValue
		}
		return a.PointerGetAttributesDrv(unsafe.Slice(attrs, n), unsafe.Slice(out, n), p)
	}, n, ins(&attrs, n), ins(&out, n), p)
}
