package hipabi

import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hip"
)

//export hipMallocAsync
func hipMallocAsync(out *uintptr, size uint64, s uintptr) int32 {
	return call("hipMallocAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.MallocAsync(t, out, size, 0, s) }, handle(&out), size, stream(s))
}

//export hipMallocFromPoolAsync
func hipMallocFromPoolAsync(out *uintptr, size uint64, pool, s uintptr) int32 {
	return call("hipMallocFromPoolAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		if pool == 0 {
			return hip.ErrInvalidValue
		}
		return a.MallocAsync(t, out, size, pool, s)
	}, handle(&out), size, pool, stream(s))
}

//export hipFreeAsync
func hipFreeAsync(p, s uintptr) int32 {
	return call("hipFreeAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.FreeAsync(t, p, s) }, p, stream(s))
}

//export hipDeviceGetDefaultMemPool
func hipDeviceGetDefaultMemPool(out *uintptr, d int32) int32 {
	return call("hipDeviceGetDefaultMemPool", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGetPool(out, d, true) }, handle(&out), d)
}

//export hipDeviceGetMemPool
func hipDeviceGetMemPool(out *uintptr, d int32) int32 {
	return call("hipDeviceGetMemPool", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGetPool(out, d, false) }, handle(&out), d)
}

//export hipDeviceSetMemPool
func hipDeviceSetMemPool(d int32, pool uintptr) int32 {
	return call("hipDeviceSetMemPool", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceSetPool(d, pool) }, d, pool)
}

//export hipMemPoolCreate
func hipMemPoolCreate(out *uintptr, props uintptr) int32 {
	return call("hipMemPoolCreate", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PoolCreate(out, at[hip.PoolProps](props)) }, handle(&out), inAt[hip.PoolProps](&props))
}

//export hipMemPoolDestroy
func hipMemPoolDestroy(pool uintptr) int32 {
	return call("hipMemPoolDestroy", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PoolDestroy(pool) }, pool)
}

//export hipMemPoolTrimTo
func hipMemPoolTrimTo(pool uintptr, keep uint64) int32 {
	return call("hipMemPoolTrimTo", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PoolTrim(pool, keep) }, pool, keep)
}

//export hipMemPoolSetAttribute
func hipMemPoolSetAttribute(pool uintptr, attr int32, v uintptr) int32 {
	return call("hipMemPoolSetAttribute", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PoolSetAttribute(pool, attr, v) }, pool, attr, v)
}

//export hipMemPoolGetAttribute
func hipMemPoolGetAttribute(pool uintptr, attr int32, v uintptr) int32 {
	return call("hipMemPoolGetAttribute", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PoolGetAttribute(pool, attr, v) }, pool, attr, v)
}

//export hipMemPoolGetAccess
func hipMemPoolGetAccess(out *int32, pool, location uintptr) int32 {
	return call("hipMemPoolGetAccess", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.PoolGetAccess(out, pool, at[hip.Location](location))
	}, outOf(&out), pool, inAt[hip.Location](&location))
}

//export hipMemPoolSetAccess
func hipMemPoolSetAccess(pool, descs uintptr, n uint64) int32 {
	return call("hipMemPoolSetAccess", func(a *hip.API, _ *hip.Thread) hip.Error {
		if descs == 0 {
			return hip.ErrInvalidValue
		}
		if n > uint64(len(a.Devices())) {
			return hip.ErrInvalidDevice
		}
		return a.PoolSetAccess(pool, unsafe.Slice(at[hip.AccessDesc](descs), n))
	}, pool, insAt[hip.AccessDesc](&descs, n), n)
}

//export hipMemPoolExportToShareableHandle
func hipMemPoolExportToShareableHandle(out, pool uintptr, kind int32, flags uint32) int32 {
	return call("hipMemPoolExportToShareableHandle", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PoolExport(out, pool, kind, flags) }, outAt[int32](&out), pool, kind, flags)
}

//export hipMemPoolImportFromShareableHandle
func hipMemPoolImportFromShareableHandle(out *uintptr, shared uintptr, kind int32, flags uint32) int32 {
	return call("hipMemPoolImportFromShareableHandle", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PoolImport(out, shared, kind, flags) }, handle(&out), shared, kind, flags)
}

//export hipMemPoolExportPointer
func hipMemPoolExportPointer(data, p uintptr) int32 {
	return call("hipMemPoolExportPointer", func(a *hip.API, _ *hip.Thread) hip.Error { return a.PoolExportPointer(data, p) }, outAt[[64]byte](&data), p)
}

//export hipMemPoolImportPointer
func hipMemPoolImportPointer(out *uintptr, pool, data uintptr) int32 {
	return call("hipMemPoolImportPointer", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.PoolImportPointer(out, pool, hip.IpcMemHandle(ptr(uint64(data))))
	}, handle(&out), pool, inAt[[64]byte](&data))
}

//export hipMemSetMemPool
func hipMemSetMemPool(location uintptr, kind int32, pool uintptr) int32 {
	return call("hipMemSetMemPool", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.LocationSetPool(at[hip.Location](location), kind, pool)
	}, inAt[hip.Location](&location), kind, pool)
}

//export hipMemGetMemPool
func hipMemGetMemPool(out *uintptr, location uintptr, kind int32) int32 {
	return call("hipMemGetMemPool", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.LocationGetPool(out, at[hip.Location](location), kind)
	}, handle(&out), inAt[hip.Location](&location), kind)
}
