package hipabi

import "C"

import "github.com/pumice-gpu/pumice/runtime/hip"

// Mipmapped arrays, colours of borders and external semaphores: what runtime/hip refuses, with the errors that it has for them. Parameters that do not
// matter are left out; those that are passed in registers come first.

//export hipMallocMipmappedArray
func hipMallocMipmappedArray(out, desc uintptr) int32 {
	return call("hipMallocMipmappedArray", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MallocMipmapped(out, desc) }, out, desc)
}

//export hipMipmappedArrayCreate
func hipMipmappedArrayCreate(out, desc uintptr, levels uint32) int32 {
	return call("hipMipmappedArrayCreate", func(*hip.API, *hip.Thread) hip.Error { return hip.ErrNotSupported }, out, desc, levels)
}

//export hipFreeMipmappedArray
func hipFreeMipmappedArray(array uintptr) int32 {
	return call("hipFreeMipmappedArray", func(*hip.API, *hip.Thread) hip.Error { return hip.ErrInvalidValue }, array)
}

//export hipMipmappedArrayDestroy
func hipMipmappedArrayDestroy(array uintptr) int32 {
	return call("hipMipmappedArrayDestroy", func(*hip.API, *hip.Thread) hip.Error { return hip.ErrInvalidValue }, array)
}

//export hipGetMipmappedArrayLevel
func hipGetMipmappedArrayLevel(out, array uintptr, level uint32) int32 {
	return call("hipGetMipmappedArrayLevel", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MipmappedLevel(out, array) }, out, array, level)
}

//export hipMipmappedArrayGetLevel
func hipMipmappedArrayGetLevel(out, array uintptr, level uint32) int32 {
	return call("hipMipmappedArrayGetLevel", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MipmappedLevel(out, array) }, out, array, level)
}

//export hipMipmappedArrayGetMemoryRequirements
func hipMipmappedArrayGetMemoryRequirements(out, array uintptr, device int32) int32 {
	return call("hipMipmappedArrayGetMemoryRequirements", func(*hip.API, *hip.Thread) hip.Error { return hip.ErrNotSupported }, out, array, device)
}

//export hipExternalMemoryGetMappedMipmappedArray
func hipExternalMemoryGetMappedMipmappedArray(out, memory, desc uintptr) int32 {
	return call("hipExternalMemoryGetMappedMipmappedArray", func(a *hip.API, _ *hip.Thread) hip.Error {
		if memory == 0 {
			return hip.ErrInvalidValue
		}
		return a.MallocMipmapped(out, desc)
	}, out, memory, desc)
}

//export hipTexRefSetMipmappedArray
func hipTexRefSetMipmappedArray(ref, array uintptr, flags uint32) int32 {
	return call("hipTexRefSetMipmappedArray", func(a *hip.API, _ *hip.Thread) hip.Error { return a.TexRefSetMipmapped() }, ref, array, flags)
}

//export hipTexRefGetMipMappedArray
func hipTexRefGetMipMappedArray(out, ref uintptr) int32 {
	return call("hipTexRefGetMipMappedArray", func(a *hip.API, _ *hip.Thread) hip.Error { return a.TexRefSetMipmapped() }, out, ref)
}

//export hipBindTextureToMipmappedArray
func hipBindTextureToMipmappedArray(ref, array, desc uintptr) int32 {
	return call("hipBindTextureToMipmappedArray", func(a *hip.API, _ *hip.Thread) hip.Error { return a.TexRefSetMipmapped() }, ref, array, desc)
}

//export hipTexRefSetBorderColor
func hipTexRefSetBorderColor(ref, color uintptr) int32 {
	return call("hipTexRefSetBorderColor", func(a *hip.API, _ *hip.Thread) hip.Error { return a.TexRefBorderColor(color, ref) }, ref, color)
}

//export hipTexRefGetBorderColor
func hipTexRefGetBorderColor(color, ref uintptr) int32 {
	return call("hipTexRefGetBorderColor", func(a *hip.API, _ *hip.Thread) hip.Error { return a.TexRefBorderColor(color, ref) }, color, ref)
}
