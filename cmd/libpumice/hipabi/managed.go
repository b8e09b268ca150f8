package hipabi

// #include "values.h"
import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hip"
)

//export hipMemRangeGetAttribute
func hipMemRangeGetAttribute(data uintptr, n uint64, attr int32, p uintptr, size uint64) int32 {
	return call("hipMemRangeGetAttribute", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.MemRangeGetAttributes([]hip.RangeQuery{{Data: data, Size: n, Attr: attr}}, p, size)
	}, data, n, attr, p, size)
}

//export hipMemRangeGetAttributes
func hipMemRangeGetAttributes(data *uintptr, sizes *uint64, attrs *int32, n uint64, p uintptr, size uint64) int32 {
	return call("hipMemRangeGetAttributes", func(a *hip.API, _ *hip.Thread) hip.Error {
		if data == nil || sizes == nil || attrs == nil || n == 0 || n > 1<<10 {
			return hip.ErrInvalidValue
		}
		var list []hip.RangeQuery
		for i := range n {
			list = append(list, hip.RangeQuery{Data: unsafe.Slice(data, n)[i], Size: unsafe.Slice(sizes, n)[i], Attr: unsafe.Slice(attrs, n)[i]})
		}
		return a.MemRangeGetAttributes(list, p, size)
	}, ins(&data, n), ins(&sizes, n), ins(&attrs, n), n, p, size)
}

// locationDevice is the number of a hipMemLocation: a device, or the host.
func locationDevice(l C.pumice_location) int32 {
	const isDevice = 1
	if l.kind == isDevice {
		return int32(l.id)
	}
	return -1
}

//export hipMemAdvise_v2
func hipMemAdvise_v2(p uintptr, n uint64, advice int32, l C.pumice_location) int32 {
	return call("hipMemAdvise_v2", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemAdvise(t, p, n, advice, locationDevice(l)) }, p, n, advice, locationDevice(l))
}

//export hipMemPrefetchAsync_v2
func hipMemPrefetchAsync_v2(p uintptr, n uint64, l C.pumice_location, flags uint32, s uintptr) int32 {
	return call("hipMemPrefetchAsync_v2", func(a *hip.API, t *hip.Thread) hip.Error {
		if flags != 0 {
			return hip.ErrInvalidValue
		}
		return a.MemPrefetch(t, p, n, locationDevice(l), s)
	}, p, n, locationDevice(l), flags, stream(s))
}
