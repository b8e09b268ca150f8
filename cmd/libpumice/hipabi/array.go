package hipabi

// #include "values.h"
import "C"

import (
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Arrays.

//export hipCreateChannelDesc
func hipCreateChannelDesc(x, y, z, w C.int, f C.uint) C.pumice_channel {
	return C.pumice_channel{x: x, y: y, z: z, w: w, f: f}
}

// flat is a HIP_ARRAY_DESCRIPTOR as one of three dimensions.
func flat(p uintptr) *hip.Array3DDescriptor {
	d := at[hip.ArrayDescriptor](p)
	if d == nil {
		return nil
	}
	return &hip.Array3DDescriptor{Width: d.Width, Height: d.Height, Format: d.Format, NumChannels: d.NumChannels}
}

//export hipMallocArray
func hipMallocArray(out *uintptr, d uintptr, w, h uint64, flags uint32) int32 {
	return call("hipMallocArray", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MallocArray(t, out, at[hip.ChannelFormatDesc](d), w, h, 0, flags)
	}, handle(&out), inAt[hip.ChannelFormatDesc](&d), w, h, flags)
}

//export hipMalloc3DArray
func hipMalloc3DArray(out *uintptr, d uintptr, e C.pumice_extent, flags uint32) int32 {
	return call("hipMalloc3DArray", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MallocArray(t, out, at[hip.ChannelFormatDesc](d), uint64(e.w), uint64(e.h), uint64(e.d), flags)
	}, handle(&out), inAt[hip.ChannelFormatDesc](&d), [3]uint64{uint64(e.w), uint64(e.h), uint64(e.d)}, flags)
}

//export hipArrayCreate
func hipArrayCreate(out *uintptr, d uintptr) int32 {
	return call("hipArrayCreate", func(a *hip.API, t *hip.Thread) hip.Error { return a.ArrayCreate(t, out, flat(d)) }, handle(&out), inAt[hip.ArrayDescriptor](&d))
}

//export hipArray3DCreate
func hipArray3DCreate(out *uintptr, d uintptr) int32 {
	return call("hipArray3DCreate", func(a *hip.API, t *hip.Thread) hip.Error { return a.ArrayCreate(t, out, at[hip.Array3DDescriptor](d)) }, handle(&out), inAt[hip.Array3DDescriptor](&d))
}

//export hipFreeArray
func hipFreeArray(h uintptr) int32 {
	return call("hipFreeArray", func(a *hip.API, t *hip.Thread) hip.Error { return a.FreeArray(h) }, h)
}

//export hipArrayDestroy
func hipArrayDestroy(h uintptr) int32 {
	return call("hipArrayDestroy", func(a *hip.API, t *hip.Thread) hip.Error { return a.FreeArray(h) }, h)
}

//export hipGetChannelDesc
func hipGetChannelDesc(out, h uintptr) int32 {
	return call("hipGetChannelDesc", func(a *hip.API, t *hip.Thread) hip.Error { return a.GetChannelDesc(at[hip.ChannelFormatDesc](out), h) }, outAt[hip.ChannelFormatDesc](&out), h)
}

//export hipArrayGetDescriptor
func hipArrayGetDescriptor(out, h uintptr) int32 {
	return call("hipArrayGetDescriptor", func(a *hip.API, t *hip.Thread) hip.Error { return a.ArrayGetDescriptor(out, h, false) }, outAt[hip.ArrayDescriptor](&out), h)
}

//export hipArray3DGetDescriptor
func hipArray3DGetDescriptor(out, h uintptr) int32 {
	return call("hipArray3DGetDescriptor", func(a *hip.API, t *hip.Thread) hip.Error { return a.ArrayGetDescriptor(out, h, true) }, outAt[hip.Array3DDescriptor](&out), h)
}

//export hipArrayGetInfo
func hipArrayGetInfo(d, e uintptr, flags *uint32, h uintptr) int32 {
	return call("hipArrayGetInfo", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.ArrayGetInfo(at[hip.ChannelFormatDesc](d), at[hip.Extent](e), flags, h)
	}, outAt[hip.ChannelFormatDesc](&d), outAt[hip.Extent](&e), outOf(&flags), h)
}

//export hipMemcpy2DToArray
func hipMemcpy2DToArray(dst uintptr, x, y uint64, src uintptr, sp, w, h uint64, k int32) int32 {
	return call("hipMemcpy2DToArray", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2DToArray(t, dst, x, y, src, sp, w, h, hip.Kind(k), 0, false)
	}, dst, x, y, src, sp, w, h, hip.Kind(k))
}

//export hipMemcpy2DFromArray
func hipMemcpy2DFromArray(dst uintptr, dp uint64, src uintptr, x, y, w, h uint64, k int32) int32 {
	return call("hipMemcpy2DFromArray", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2DFromArray(t, dst, dp, src, x, y, w, h, hip.Kind(k), 0, false)
	}, dst, dp, src, x, y, w, h, hip.Kind(k))
}

//export hipMemcpy2DToArray_spt
func hipMemcpy2DToArray_spt(dst uintptr, x, y uint64, src uintptr, sp, w, h uint64, k int32) int32 {
	return call("hipMemcpy2DToArray_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2DToArray(t, dst, x, y, src, sp, w, h, hip.Kind(k), hip.StreamPerThread, false)
	}, dst, x, y, src, sp, w, h, hip.Kind(k))
}

//export hipMemcpy2DFromArray_spt
func hipMemcpy2DFromArray_spt(dst uintptr, dp uint64, src uintptr, x, y, w, h uint64, k int32) int32 {
	return call("hipMemcpy2DFromArray_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2DFromArray(t, dst, dp, src, x, y, w, h, hip.Kind(k), hip.StreamPerThread, false)
	}, dst, dp, src, x, y, w, h, hip.Kind(k))
}

//export hipMemcpy2DToArrayAsync
func hipMemcpy2DToArrayAsync(dst uintptr, x, y uint64, src uintptr, sp, w, h uint64, k int32, s uintptr) int32 {
	return call("hipMemcpy2DToArrayAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2DToArray(t, dst, x, y, src, sp, w, h, hip.Kind(k), s, true)
	}, dst, x, y, src, sp, w, h, hip.Kind(k), stream(s))
}

//export hipMemcpy2DFromArrayAsync
func hipMemcpy2DFromArrayAsync(dst uintptr, dp uint64, src uintptr, x, y, w, h uint64, k int32, s uintptr) int32 {
	return call("hipMemcpy2DFromArrayAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2DFromArray(t, dst, dp, src, x, y, w, h, hip.Kind(k), s, true)
	}, dst, dp, src, x, y, w, h, hip.Kind(k), stream(s))
}

//export hipMemcpy2DToArrayAsync_spt
func hipMemcpy2DToArrayAsync_spt(dst uintptr, x, y uint64, src uintptr, sp, w, h uint64, k int32, s uintptr) int32 {
	return call("hipMemcpy2DToArrayAsync_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2DToArray(t, dst, x, y, src, sp, w, h, hip.Kind(k), spt(s), true)
	}, dst, x, y, src, sp, w, h, hip.Kind(k), stream(s))
}

//export hipMemcpy2DFromArrayAsync_spt
func hipMemcpy2DFromArrayAsync_spt(dst uintptr, dp uint64, src uintptr, x, y, w, h uint64, k int32, s uintptr) int32 {
	return call("hipMemcpy2DFromArrayAsync_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2DFromArray(t, dst, dp, src, x, y, w, h, hip.Kind(k), spt(s), true)
	}, dst, dp, src, x, y, w, h, hip.Kind(k), stream(s))
}

//export hipMemcpyToArray
func hipMemcpyToArray(dst uintptr, x, y uint64, src uintptr, n uint64, k int32) int32 {
	return call("hipMemcpyToArray", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemcpyToArray(t, dst, x, y, src, n, hip.Kind(k)) }, dst, x, y, src, n, hip.Kind(k))
}

//export hipMemcpyFromArray
func hipMemcpyFromArray(dst, src uintptr, x, y, n uint64, k int32) int32 {
	return call("hipMemcpyFromArray", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemcpyFromArray(t, dst, src, x, y, n, hip.Kind(k)) }, dst, src, x, y, n, hip.Kind(k))
}

//export hipMemcpyFromArray_spt
func hipMemcpyFromArray_spt(dst, src uintptr, x, y, n uint64, k int32) int32 {
	return call("hipMemcpyFromArray_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemcpyFromArray(t, dst, src, x, y, n, hip.Kind(k)) }, dst, src, x, y, n, hip.Kind(k))
}

//export hipMemcpyAtoH
func hipMemcpyAtoH(dst, src uintptr, x, n uint64) int32 {
	return call("hipMemcpyAtoH", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyFromArray(t, dst, src, x, 0, n, hip.DeviceToHost)
	}, dst, src, x, n)
}

//export hipMemcpyHtoA
func hipMemcpyHtoA(dst uintptr, x uint64, src uintptr, n uint64) int32 {
	return call("hipMemcpyHtoA", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyToArray(t, dst, x, 0, src, n, hip.HostToDevice)
	}, dst, x, src, n)
}

//export hipMemcpy2DArrayToArray
func hipMemcpy2DArrayToArray(dst uintptr, dx, dy uint64, src uintptr, sx, sy, w, h uint64, k int32) int32 {
	return call("hipMemcpy2DArrayToArray", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2DArrayToArray(t, dst, dx, dy, src, sx, sy, w, h, hip.Kind(k))
	}, dst, dx, dy, src, sx, sy, w, h, hip.Kind(k))
}

//export hipDrvMemcpy3D
func hipDrvMemcpy3D(p uintptr) int32 {
	return call("hipDrvMemcpy3D", func(a *hip.API, t *hip.Thread) hip.Error { return a.DrvMemcpy3DAt(t, p, 0, false) }, inBytes(&p, hip.DrvMemcpy3DSize(face)))
}

//export hipDrvMemcpy3DAsync
func hipDrvMemcpy3DAsync(p, s uintptr) int32 {
	return call("hipDrvMemcpy3DAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.DrvMemcpy3DAt(t, p, s, true) }, inBytes(&p, hip.DrvMemcpy3DSize(face)), stream(s))
}

//export hipMemcpyAtoHAsync
func hipMemcpyAtoHAsync(dst, src uintptr, x, n uint64, s uintptr) int32 {
	return call("hipMemcpyAtoHAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyArrayLinear(t, src, x, dst, n, false, s, true)
	}, dst, src, x, n, stream(s))
}

//export hipMemcpyHtoAAsync
func hipMemcpyHtoAAsync(dst uintptr, x uint64, src uintptr, n uint64, s uintptr) int32 {
	return call("hipMemcpyHtoAAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyArrayLinear(t, dst, x, src, n, true, s, true)
	}, dst, x, src, n, stream(s))
}

//export hipMemcpyAtoD
func hipMemcpyAtoD(dst, src uintptr, x, n uint64) int32 {
	return call("hipMemcpyAtoD", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyArrayLinear(t, src, x, dst, n, false, 0, false)
	}, dst, src, x, n)
}

//export hipMemcpyDtoA
func hipMemcpyDtoA(dst uintptr, x uint64, src uintptr, n uint64) int32 {
	return call("hipMemcpyDtoA", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyArrayLinear(t, dst, x, src, n, true, 0, false)
	}, dst, x, src, n)
}

//export hipMemcpyAtoA
func hipMemcpyAtoA(dst uintptr, dx uint64, src uintptr, sx, n uint64) int32 {
	return call("hipMemcpyAtoA", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemcpyAtoA(t, dst, dx, src, sx, n) }, dst, dx, src, sx, n)
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
