package hipabi

// #include "values.h"
import "C"

import (
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Fills.

func memset3D(name string, p C.pumice_pitched, v int32, x C.pumice_extent, s uintptr, async bool, args ...any) int32 {
	return call(name, func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memset2D(t, uintptr(p.p), uint64(p.pitch), byte(v), uint64(x.w), uint64(x.h), uint64(x.d), uint64(p.ys), s, async)
	}, args...)
}

//export hipMemset3D
func hipMemset3D(p C.pumice_pitched, v int32, x C.pumice_extent) int32 {
	return memset3D("hipMemset3D", p, v, x, 0, false, pitched(uintptr(p.p)), v, [3]uint64{uint64(x.w), uint64(x.h), uint64(x.d)})
}

//export hipMemset3DAsync
func hipMemset3DAsync(p C.pumice_pitched, v int32, x C.pumice_extent, s uintptr) int32 {
	return memset3D("hipMemset3DAsync", p, v, x, s, true, pitched(uintptr(p.p)), v, [3]uint64{uint64(x.w), uint64(x.h), uint64(x.d)}, stream(s))
}

//export hipMemset3D_spt
func hipMemset3D_spt(p C.pumice_pitched, v int32, x C.pumice_extent) int32 {
	return memset3D("hipMemset3D_spt", p, v, x, hip.StreamPerThread, false, pitched(uintptr(p.p)), v, [3]uint64{uint64(x.w), uint64(x.h), uint64(x.d)})
}

//export hipMemset3DAsync_spt
func hipMemset3DAsync_spt(p C.pumice_pitched, v int32, x C.pumice_extent, s uintptr) int32 {
	return memset3D("hipMemset3DAsync_spt", p, v, x, spt(s), true, pitched(uintptr(p.p)), v, [3]uint64{uint64(x.w), uint64(x.h), uint64(x.d)}, stream(s))
}

//export hipMemset2DAsync_spt
func hipMemset2DAsync_spt(dst uintptr, pitch uint64, v int32, width, height uint64, s uintptr) int32 {
	return call("hipMemset2DAsync_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memset2D(t, dst, pitch, byte(v), width, height, 1, 0, spt(s), true)
	}, dst, pitch, v, width, height, stream(s))
}

//export hipMemsetAsync_spt
func hipMemsetAsync_spt(dst uintptr, v int32, n uint64, s uintptr) int32 {
	return call("hipMemsetAsync_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v)&0xff, 1, n, spt(s), true) }, dst, v, n, stream(s))
}

//export hipMemset
func hipMemset(dst uintptr, v int32, n uint64) int32 {
	return call("hipMemset", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v)&0xff, 1, n, 0, false) }, dst, v, n)
}

//export hipMemset_spt
func hipMemset_spt(dst uintptr, v int32, n uint64) int32 {
	return call("hipMemset_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memset(t, dst, uint32(v)&0xff, 1, n, hip.StreamPerThread, false)
	}, dst, v, n)
}

//export hipMemsetAsync
func hipMemsetAsync(dst uintptr, v int32, n uint64, s uintptr) int32 {
	return call("hipMemsetAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v)&0xff, 1, n, s, true) }, dst, v, n, stream(s))
}

//export hipMemsetD8
func hipMemsetD8(dst uintptr, v uint8, n uint64) int32 {
	return call("hipMemsetD8", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v), 1, n, 0, false) }, dst, v, n)
}

//export hipMemsetD8Async
func hipMemsetD8Async(dst uintptr, v uint8, n uint64, s uintptr) int32 {
	return call("hipMemsetD8Async", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v), 1, n, s, true) }, dst, v, n, stream(s))
}

//export hipMemsetD16
func hipMemsetD16(dst uintptr, v uint16, n uint64) int32 {
	return call("hipMemsetD16", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v), 2, n, 0, false) }, dst, v, n)
}

//export hipMemsetD16Async
func hipMemsetD16Async(dst uintptr, v uint16, n uint64, s uintptr) int32 {
	return call("hipMemsetD16Async", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v), 2, n, s, true) }, dst, v, n, stream(s))
}

//export hipMemsetD32
func hipMemsetD32(dst uintptr, v int32, n uint64) int32 {
	return call("hipMemsetD32", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v), 4, n, 0, false) }, dst, v, n)
}

//export hipMemsetD32Async
func hipMemsetD32Async(dst uintptr, v int32, n uint64, s uintptr) int32 {
	return call("hipMemsetD32Async", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memset(t, dst, uint32(v), 4, n, s, true) }, dst, v, n, stream(s))
}

//export hipMemset2D
func hipMemset2D(dst uintptr, pitch uint64, v int32, width, height uint64) int32 {
	return call("hipMemset2D", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memset2D(t, dst, pitch, byte(v), width, height, 1, 0, 0, false)
	}, dst, pitch, v, width, height)
}

//export hipMemset2D_spt
func hipMemset2D_spt(dst uintptr, pitch uint64, v int32, width, height uint64) int32 {
	return call("hipMemset2D_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memset2D(t, dst, pitch, byte(v), width, height, 1, 0, hip.StreamPerThread, false)
	}, dst, pitch, v, width, height)
}

//export hipMemset2DAsync
func hipMemset2DAsync(dst uintptr, pitch uint64, v int32, width, height uint64, s uintptr) int32 {
	return call("hipMemset2DAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memset2D(t, dst, pitch, byte(v), width, height, 1, 0, s, true)
	}, dst, pitch, v, width, height, stream(s))
}

//export hipMemsetD2D8
func hipMemsetD2D8(dst uintptr, pitch uint64, v uint8, width, height uint64) int32 {
	return call("hipMemsetD2D8", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemsetRows(t, dst, pitch, uint32(v), 1, width, height, 0, false)
	}, dst, pitch, v, width, height)
}

//export hipMemsetD2D8Async
func hipMemsetD2D8Async(dst uintptr, pitch uint64, v uint8, width, height uint64, s uintptr) int32 {
	return call("hipMemsetD2D8Async", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemsetRows(t, dst, pitch, uint32(v), 1, width, height, s, true)
	}, dst, pitch, v, width, height, stream(s))
}

//export hipMemsetD2D16
func hipMemsetD2D16(dst uintptr, pitch uint64, v uint16, width, height uint64) int32 {
	return call("hipMemsetD2D16", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemsetRows(t, dst, pitch, uint32(v), 2, width, height, 0, false)
	}, dst, pitch, v, width, height)
}

//export hipMemsetD2D16Async
func hipMemsetD2D16Async(dst uintptr, pitch uint64, v uint16, width, height uint64, s uintptr) int32 {
	return call("hipMemsetD2D16Async", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemsetRows(t, dst, pitch, uint32(v), 2, width, height, s, true)
	}, dst, pitch, v, width, height, stream(s))
}

//export hipMemsetD2D32
func hipMemsetD2D32(dst uintptr, pitch uint64, v uint32, width, height uint64) int32 {
	return call("hipMemsetD2D32", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemsetRows(t, dst, pitch, uint32(v), 4, width, height, 0, false)
	}, dst, pitch, v, width, height)
}

//export hipMemsetD2D32Async
func hipMemsetD2D32Async(dst uintptr, pitch uint64, v uint32, width, height uint64, s uintptr) int32 {
	return call("hipMemsetD2D32Async", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemsetRows(t, dst, pitch, uint32(v), 4, width, height, s, true)
	}, dst, pitch, v, width, height, stream(s))
}
