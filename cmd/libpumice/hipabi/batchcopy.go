package hipabi

import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Functions of HIP 7.1 and 7.2: copies of boxes in one call, pools by location, and the log.

//export hipMemcpy3DBatchAsync
func hipMemcpy3DBatchAsync(n uint64, boxes uintptr, failed *uint64, flags uint64, s uintptr) int32 {
	return call("hipMemcpy3DBatchAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		if n == 0 || n > 1<<28 || boxes == 0 {
			return hip.ErrInvalidValue
		}
		i, e := a.Memcpy3DBatch(t, unsafe.Slice(at[hip.CopyBox](boxes), n), flags, s)
		if failed != nil {
			*failed = i
		}
		return e
	}, n, insAt[hip.CopyBox](&boxes, n), outOf(&failed), flags, stream(s))
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

// Sparse arrays are not done in AMD's runtime either.
//
// fidelity: refused hipMemMapArrayAsync, hipSetValidDevices: as in AMD's runtime
//
//export hipMemMapArrayAsync
func hipMemMapArrayAsync(list uintptr, n uint32, s uintptr) int32 {
	return call("hipMemMapArrayAsync", func(*hip.API, *hip.Thread) hip.Error {
		if list == 0 || n == 0 {
			return hip.ErrInvalidValue
		}
		return hip.ErrNotSupported
	}, list, n, stream(s))
}

//export hipSetValidDevices
func hipSetValidDevices(list uintptr, n int32) int32 {
	return call("hipSetValidDevices", func(*hip.API, *hip.Thread) hip.Error { return hip.ErrNotSupported }, list, n)
}

//export hipExtSetLoggingParams
func hipExtSetLoggingParams(level, size, mask uint64) int32 {
	return call("hipExtSetLoggingParams", func(a *hip.API, _ *hip.Thread) hip.Error { return a.LoggingParams(level, mask) }, level, size, mask)
}

//export hipExtEnableLogging
func hipExtEnableLogging() int32 {
	return call("hipExtEnableLogging", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EnableLogging() })
}

//export hipExtDisableLogging
func hipExtDisableLogging() int32 {
	return call("hipExtDisableLogging", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DisableLogging() })
}
