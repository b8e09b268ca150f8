package hipabi

import "C"

import (
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Textures, surfaces, and texture references.

//export hipCreateTextureObject
func hipCreateTextureObject(out *uintptr, r, d, v uintptr) int32 {
	return call("hipCreateTextureObject", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.CreateTextureObject(t, out, at[hip.ResourceDesc](r), at[hip.TextureDesc](d), at[hip.ResourceViewDesc](v))
	}, handle(&out), inAt[hip.ResourceDesc](&r), inAt[hip.TextureDesc](&d), inAt[hip.ResourceViewDesc](&v))
}

//export hipDestroyTextureObject
func hipDestroyTextureObject(h uintptr) int32 {
	return call("hipDestroyTextureObject", func(a *hip.API, t *hip.Thread) hip.Error { return a.DestroyTextureObject(h) }, h)
}

//export hipGetTextureObjectResourceDesc
func hipGetTextureObjectResourceDesc(out, h uintptr) int32 {
	return call("hipGetTextureObjectResourceDesc", func(a *hip.API, t *hip.Thread) hip.Error { return a.TextureResourceDesc(at[hip.ResourceDesc](out), h) }, outAt[hip.ResourceDesc](&out), h)
}

//export hipGetTextureObjectTextureDesc
func hipGetTextureObjectTextureDesc(out, h uintptr) int32 {
	return call("hipGetTextureObjectTextureDesc", func(a *hip.API, t *hip.Thread) hip.Error { return a.TextureTextureDesc(at[hip.TextureDesc](out), h) }, outAt[hip.TextureDesc](&out), h)
}

//export hipGetTextureObjectResourceViewDesc
func hipGetTextureObjectResourceViewDesc(out, h uintptr) int32 {
	return call("hipGetTextureObjectResourceViewDesc", func(a *hip.API, t *hip.Thread) hip.Error { return a.TextureViewDesc(at[hip.ResourceViewDesc](out), h) }, outAt[hip.ResourceViewDesc](&out), h)
}

//export hipCreateSurfaceObject
func hipCreateSurfaceObject(out *uintptr, r uintptr) int32 {
	return call("hipCreateSurfaceObject", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.CreateSurfaceObject(t, out, at[hip.ResourceDesc](r))
	}, handle(&out), inAt[hip.ResourceDesc](&r))
}

//export hipDestroySurfaceObject
func hipDestroySurfaceObject(h uintptr) int32 {
	return call("hipDestroySurfaceObject", func(a *hip.API, t *hip.Thread) hip.Error { return a.DestroySurfaceObject(h) }, h)
}

//export hipDeviceGetTexture1DLinearMaxWidth
func hipDeviceGetTexture1DLinearMaxWidth(out *uint64, d uintptr, device int32) int32 {
	return call("hipDeviceGetTexture1DLinearMaxWidth", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Texture1DLinearMaxWidth(out, at[hip.ChannelFormatDesc](d), device)
	}, outOf(&out), inAt[hip.ChannelFormatDesc](&d), device)
}

//export hipTexObjectCreate
func hipTexObjectCreate(out *uintptr, r, d, v uintptr) int32 {
	return call("hipTexObjectCreate", func(a *hip.API, t *hip.Thread) hip.Error { return a.TexObjectCreate(t, out, r, d, v) }, handle(&out), inBytes(&r, hip.DrvResourceSize), inBytes(&d, hip.DrvTextureSize), inAt[hip.ResourceViewDesc](&v))
}

//export hipTexObjectDestroy
func hipTexObjectDestroy(h uintptr) int32 {
	return call("hipTexObjectDestroy", func(a *hip.API, t *hip.Thread) hip.Error { return a.DestroyTextureObject(h) }, h)
}

//export hipTexObjectGetResourceDesc
func hipTexObjectGetResourceDesc(out, h uintptr) int32 {
	return call("hipTexObjectGetResourceDesc", func(a *hip.API, t *hip.Thread) hip.Error { return a.TexObjectResourceDesc(out, h) }, outBytes(&out, hip.DrvResourceSize), h)
}

//export hipTexObjectGetTextureDesc
func hipTexObjectGetTextureDesc(out, h uintptr) int32 {
	return call("hipTexObjectGetTextureDesc", func(a *hip.API, t *hip.Thread) hip.Error { return a.TexObjectTextureDesc(out, h) }, outBytes(&out, hip.DrvTextureSize), h)
}

//export hipTexObjectGetResourceViewDesc
func hipTexObjectGetResourceViewDesc(out, h uintptr) int32 {
	return call("hipTexObjectGetResourceViewDesc", func(a *hip.API, t *hip.Thread) hip.Error { return a.TextureViewDesc(at[hip.ResourceViewDesc](out), h) }, outAt[hip.ResourceViewDesc](&out), h)
}

//export hipBindTexture
func hipBindTexture(offset *uint64, ref, p, d uintptr, n uint64) int32 {
	return call("hipBindTexture", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.BindTexture(t, offset, ref, p, at[hip.ChannelFormatDesc](d), n)
	}, outOf(&offset), ref, p, inAt[hip.ChannelFormatDesc](&d), n)
}

//export hipBindTexture2D
func hipBindTexture2D(offset *uint64, ref, p, d uintptr, w, h, pitch uint64) int32 {
	return call("hipBindTexture2D", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.BindTexture2D(t, offset, ref, p, at[hip.ChannelFormatDesc](d), w, h, pitch)
	}, outOf(&offset), ref, p, inAt[hip.ChannelFormatDesc](&d), w, h, pitch)
}

//export hipBindTextureToArray
func hipBindTextureToArray(ref, array, d uintptr) int32 {
	return call("hipBindTextureToArray", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.BindTextureToArray(t, ref, array, at[hip.ChannelFormatDesc](d))
	}, ref, array, inAt[hip.ChannelFormatDesc](&d))
}

//export hipUnbindTexture
func hipUnbindTexture(ref uintptr) int32 {
	return call("hipUnbindTexture", func(a *hip.API, t *hip.Thread) hip.Error { return a.UnbindTexture(ref) }, ref)
}

//export hipGetTextureAlignmentOffset
func hipGetTextureAlignmentOffset(out *uint64, ref uintptr) int32 {
	return call("hipGetTextureAlignmentOffset", func(a *hip.API, t *hip.Thread) hip.Error { return a.TextureAlignmentOffset(out, ref) }, outOf(&out), ref)
}

//export hipGetTextureReference
func hipGetTextureReference(out *uintptr, sym uintptr) int32 {
	return call("hipGetTextureReference", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetTextureReference(out, sym) }, handle(&out), sym)
}

//export hipModuleGetTexRef
func hipModuleGetTexRef(out *uintptr, m uintptr, name *C.char) int32 {
	return call("hipModuleGetTexRef", func(a *hip.API, t *hip.Thread) hip.Error { return a.ModuleGetTexRef(out, m, C.GoString(name)) }, handle(&out), m, text(&name))
}

//export hipTexRefSetArray
func hipTexRefSetArray(ref, array uintptr, flags uint32) int32 {
	return call("hipTexRefSetArray", func(a *hip.API, t *hip.Thread) hip.Error { return a.TexRefSetArray(t, ref, array, flags) }, ref, array, flags)
}

//export hipTexRefSetAddress
func hipTexRefSetAddress(offset *uint64, ref, p uintptr, n uint64) int32 {
	return call("hipTexRefSetAddress", func(a *hip.API, t *hip.Thread) hip.Error { return a.TexRefSetAddress(t, offset, ref, p, n) }, outOf(&offset), ref, p, n)
}

//export hipTexRefSetAddress2D
func hipTexRefSetAddress2D(ref, d, p uintptr, pitch uint64) int32 {
	return call("hipTexRefSetAddress2D", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.TexRefSetAddress2D(t, ref, at[hip.ArrayDescriptor](d), p, pitch)
	}, ref, inAt[hip.ArrayDescriptor](&d), p, pitch)
}

//export hipTexRefSetAddressMode
func hipTexRefSetAddressMode(ref uintptr, dim int32, mode uint32) int32 {
	return call("hipTexRefSetAddressMode", func(a *hip.API, t *hip.Thread) hip.Error { return a.TexRefSetAddressMode(ref, dim, mode) }, ref, dim, mode)
}

//export hipTexRefSetFilterMode
func hipTexRefSetFilterMode(ref uintptr, mode uint32) int32 {
	return call("hipTexRefSetFilterMode", func(a *hip.API, t *hip.Thread) hip.Error { return a.TexRefSetFilterMode(ref, mode) }, ref, mode)
}

//export hipTexRefSetFlags
func hipTexRefSetFlags(ref uintptr, flags uint32) int32 {
	return call("hipTexRefSetFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.TexRefSetFlags(ref, flags) }, ref, flags)
}

//export hipTexRefSetFormat
func hipTexRefSetFormat(ref uintptr, format uint32, n int32) int32 {
	return call("hipTexRefSetFormat", func(a *hip.API, t *hip.Thread) hip.Error { return a.TexRefSetFormat(ref, format, n) }, ref, format, n)
}

//export hipTexRefGetAddress
func hipTexRefGetAddress(out *uintptr, ref uintptr) int32 {
	return call("hipTexRefGetAddress", func(a *hip.API, t *hip.Thread) hip.Error { return a.TexRefGetAddress(out, ref, false) }, handle(&out), ref)
}

//export hipTexRefGetArray
func hipTexRefGetArray(out *uintptr, ref uintptr) int32 {
	return call("hipTexRefGetArray", func(a *hip.API, t *hip.Thread) hip.Error { return a.TexRefGetAddress(out, ref, true) }, handle(&out), ref)
}

//export hipTexRefGetAddressMode
func hipTexRefGetAddressMode(out *uint32, ref uintptr, dim int32) int32 {
	return call("hipTexRefGetAddressMode", func(a *hip.API, t *hip.Thread) hip.Error { return a.TexRefGetAddressMode(out, ref, dim) }, outOf(&out), ref, dim)
}

//export hipTexRefGetFilterMode
func hipTexRefGetFilterMode(out *uint32, ref uintptr) int32 {
	return call("hipTexRefGetFilterMode", func(a *hip.API, t *hip.Thread) hip.Error { return a.TexRefGetFilterMode(out, ref) }, outOf(&out), ref)
}

//export hipTexRefGetFlags
func hipTexRefGetFlags(out *uint32, ref uintptr) int32 {
	return call("hipTexRefGetFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.TexRefGetFlags(out, ref) }, outOf(&out), ref)
}

//export hipTexRefGetFormat
func hipTexRefGetFormat(format *uint32, n *int32, ref uintptr) int32 {
	return call("hipTexRefGetFormat", func(a *hip.API, t *hip.Thread) hip.Error { return a.TexRefGetFormat(format, n, ref) }, outOf(&format), outOf(&n), ref)
}
