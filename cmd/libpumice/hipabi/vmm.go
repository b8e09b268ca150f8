package hipabi

import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hip"
)

//export hipMemGetAllocationGranularity
func hipMemGetAllocationGranularity(out *uint64, prop uintptr, option int32) int32 {
	return call("hipMemGetAllocationGranularity", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemGranularity(out, prop, option) }, outOf(&out), inAt[[32]byte](&prop), option)
}

//export hipMemAddressReserve
func hipMemAddressReserve(out *uintptr, size, align uint64, hint uintptr, flags uint64) int32 {
	return call("hipMemAddressReserve", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemAddressReserve(out, size, align, hint, flags) }, handle(&out), size, align, hint, flags)
}

//export hipMemAddressFree
func hipMemAddressFree(p uintptr, size uint64) int32 {
	return call("hipMemAddressFree", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemAddressFree(p, size) }, p, size)
}

//export hipMemCreate
func hipMemCreate(out *uintptr, size uint64, prop uintptr, flags uint64) int32 {
	return call("hipMemCreate", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemCreate(out, size, prop, flags) }, handle(&out), size, inAt[[32]byte](&prop), flags)
}

//export hipMemRelease
func hipMemRelease(h uintptr) int32 {
	return call("hipMemRelease", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemRelease(h) }, h)
}

//export hipMemRetainAllocationHandle
func hipMemRetainAllocationHandle(out *uintptr, p uintptr) int32 {
	return call("hipMemRetainAllocationHandle", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemRetain(out, p) }, handle(&out), p)
}

//export hipMemGetAllocationPropertiesFromHandle
func hipMemGetAllocationPropertiesFromHandle(prop, h uintptr) int32 {
	return call("hipMemGetAllocationPropertiesFromHandle", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemGetProperties(prop, h) }, outAt[[32]byte](&prop), h)
}

//export hipMemMap
func hipMemMap(p uintptr, size, off uint64, h uintptr, flags uint64) int32 {
	return call("hipMemMap", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemMap(p, size, off, h, flags) }, p, size, off, h, flags)
}

//export hipMemUnmap
func hipMemUnmap(p uintptr, size uint64) int32 {
	return call("hipMemUnmap", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemUnmap(p, size) }, p, size)
}

//export hipMemGetAccess
func hipMemGetAccess(out *uint64, location, p uintptr) int32 {
	return call("hipMemGetAccess", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemGetAccess(out, at[hip.Location](location), p) }, outOf(&out), inAt[hip.Location](&location), p)
}

//export hipMemSetAccess
func hipMemSetAccess(p uintptr, size uint64, descs uintptr, n uint64) int32 {
	return call("hipMemSetAccess", func(a *hip.API, _ *hip.Thread) hip.Error {
		if descs == 0 || n == 0 || n > 1<<16 {
			return hip.ErrInvalidValue
		}
		return a.MemSetAccess(p, size, unsafe.Slice(at[hip.AccessDesc](descs), n))
	}, p, size, insAt[hip.AccessDesc](&descs, n), n)
}

//export hipMemExportToShareableHandle
func hipMemExportToShareableHandle(out *int32, h uintptr, kind int32, flags uint64) int32 {
	return call("hipMemExportToShareableHandle", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemExport(out, h, kind, flags) }, outOf(&out), h, kind, flags)
}

//export hipMemImportFromShareableHandle
func hipMemImportFromShareableHandle(out *uintptr, shared uintptr, kind int32) int32 {
	return call("hipMemImportFromShareableHandle", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemImport(t, out, shared, kind) }, handle(&out), shared, kind)
}
