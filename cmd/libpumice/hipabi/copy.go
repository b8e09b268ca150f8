package hipabi

import "C"

import (
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Copies and fills.

//export hipMemcpy
func hipMemcpy(dst, src uintptr, n uint64, k int32) int32 {
	return call("hipMemcpy", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, hip.Kind(k), 0, false) }, dst, src, n, hip.Kind(k))
}

//export hipMemcpy_spt
func hipMemcpy_spt(dst, src uintptr, n uint64, k int32) int32 {
	return call("hipMemcpy_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy(t, dst, src, n, hip.Kind(k), hip.StreamPerThread, false)
	}, dst, src, n, hip.Kind(k))
}

//export hipMemcpyAsync
func hipMemcpyAsync(dst, src uintptr, n uint64, k int32, s uintptr) int32 {
	return call("hipMemcpyAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, hip.Kind(k), s, true) }, dst, src, n, hip.Kind(k), stream(s))
}

//export hipMemcpyAsync_spt
func hipMemcpyAsync_spt(dst, src uintptr, n uint64, k int32, s uintptr) int32 {
	return call("hipMemcpyAsync_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, hip.Kind(k), spt(s), true) }, dst, src, n, hip.Kind(k), stream(s))
}

//export hipMemcpyWithStream
func hipMemcpyWithStream(dst, src uintptr, n uint64, k int32, s uintptr) int32 {
	return call("hipMemcpyWithStream", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, hip.Kind(k), s, false) }, dst, src, n, hip.Kind(k), stream(s))
}

//export hipMemcpyHtoD
func hipMemcpyHtoD(dst, src uintptr, n uint64) int32 {
	return call("hipMemcpyHtoD", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, 1, 0, false) }, dst, src, n)
}

//export hipMemcpyHtoDAsync
func hipMemcpyHtoDAsync(dst, src uintptr, n uint64, s uintptr) int32 {
	return call("hipMemcpyHtoDAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, 1, s, true) }, dst, src, n, stream(s))
}

//export hipMemcpyDtoH
func hipMemcpyDtoH(dst, src uintptr, n uint64) int32 {
	return call("hipMemcpyDtoH", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, 2, 0, false) }, dst, src, n)
}

//export hipMemcpyDtoHAsync
func hipMemcpyDtoHAsync(dst, src uintptr, n uint64, s uintptr) int32 {
	return call("hipMemcpyDtoHAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, 2, s, true) }, dst, src, n, stream(s))
}

//export hipMemcpyDtoD
func hipMemcpyDtoD(dst, src uintptr, n uint64) int32 {
	return call("hipMemcpyDtoD", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, 3, 0, false) }, dst, src, n)
}

//export hipMemcpyDtoDAsync
func hipMemcpyDtoDAsync(dst, src uintptr, n uint64, s uintptr) int32 {
	return call("hipMemcpyDtoDAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy(t, dst, src, n, 3, s, true) }, dst, src, n, stream(s))
}

//export hipMemcpyPeer
func hipMemcpyPeer(dst uintptr, dd int32, src uintptr, sd int32, n uint64) int32 {
	return call("hipMemcpyPeer", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemcpyPeer(t, dst, dd, src, sd, n, 0, false) }, dst, dd, src, sd, n)
}

//export hipMemcpyPeerAsync
func hipMemcpyPeerAsync(dst uintptr, dd int32, src uintptr, sd int32, n uint64, s uintptr) int32 {
	return call("hipMemcpyPeerAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.MemcpyPeer(t, dst, dd, src, sd, n, s, true) }, dst, dd, src, sd, n, stream(s))
}

//export hipMemcpy2D
func hipMemcpy2D(dst uintptr, dp uint64, src uintptr, sp, width, height uint64, k int32) int32 {
	return call("hipMemcpy2D", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2D(t, dst, dp, src, sp, width, height, hip.Kind(k), 0, false)
	}, dst, dp, src, sp, width, height, hip.Kind(k))
}

//export hipMemcpy2D_spt
func hipMemcpy2D_spt(dst uintptr, dp uint64, src uintptr, sp, width, height uint64, k int32) int32 {
	return call("hipMemcpy2D_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2D(t, dst, dp, src, sp, width, height, hip.Kind(k), hip.StreamPerThread, false)
	}, dst, dp, src, sp, width, height, hip.Kind(k))
}

//export hipMemcpy2DAsync
func hipMemcpy2DAsync(dst uintptr, dp uint64, src uintptr, sp, width, height uint64, k int32, s uintptr) int32 {
	return call("hipMemcpy2DAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2D(t, dst, dp, src, sp, width, height, hip.Kind(k), s, true)
	}, dst, dp, src, sp, width, height, hip.Kind(k), stream(s))
}

//export hipMemcpy3D
func hipMemcpy3D(p uintptr) int32 {
	return call("hipMemcpy3D", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy3D(t, at[hip.Memcpy3DParms](p), 0, false) }, inAt[hip.Memcpy3DParms](&p))
}

//export hipMemcpy3D_spt
func hipMemcpy3D_spt(p uintptr) int32 {
	return call("hipMemcpy3D_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy3D(t, at[hip.Memcpy3DParms](p), hip.StreamPerThread, false)
	}, inAt[hip.Memcpy3DParms](&p))
}

//export hipMemcpy3DAsync
func hipMemcpy3DAsync(p uintptr, s uintptr) int32 {
	return call("hipMemcpy3DAsync", func(a *hip.API, t *hip.Thread) hip.Error { return a.Memcpy3D(t, at[hip.Memcpy3DParms](p), s, true) }, inAt[hip.Memcpy3DParms](&p), stream(s))
}

//export hipMemcpyParam2D
func hipMemcpyParam2D(p uintptr) int32 {
	return call("hipMemcpyParam2D", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyParam2D(t, at[hip.Memcpy2DParms](p), 0, false)
	}, inAt[hip.Memcpy2DParms](&p))
}

//export hipMemcpyParam2DAsync
func hipMemcpyParam2DAsync(p uintptr, s uintptr) int32 {
	return call("hipMemcpyParam2DAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyParam2D(t, at[hip.Memcpy2DParms](p), s, true)
	}, inAt[hip.Memcpy2DParms](&p), stream(s))
}

//export hipMemcpyToSymbol
func hipMemcpyToSymbol(sym, src uintptr, n, off uint64, k int32) int32 {
	return call("hipMemcpyToSymbol", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyToSymbol(t, sym, src, n, off, hip.Kind(k), 0, false)
	}, sym, src, n, off, hip.Kind(k))
}

//export hipMemcpyToSymbol_spt
func hipMemcpyToSymbol_spt(sym, src uintptr, n, off uint64, k int32) int32 {
	return call("hipMemcpyToSymbol_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyToSymbol(t, sym, src, n, off, hip.Kind(k), hip.StreamPerThread, false)
	}, sym, src, n, off, hip.Kind(k))
}

//export hipMemcpyToSymbolAsync
func hipMemcpyToSymbolAsync(sym, src uintptr, n, off uint64, k int32, s uintptr) int32 {
	return call("hipMemcpyToSymbolAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyToSymbol(t, sym, src, n, off, hip.Kind(k), s, true)
	}, sym, src, n, off, hip.Kind(k), stream(s))
}

//export hipMemcpyFromSymbol
func hipMemcpyFromSymbol(dst, sym uintptr, n, off uint64, k int32) int32 {
	return call("hipMemcpyFromSymbol", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyFromSymbol(t, dst, sym, n, off, hip.Kind(k), 0, false)
	}, dst, sym, n, off, hip.Kind(k))
}

//export hipMemcpyFromSymbol_spt
func hipMemcpyFromSymbol_spt(dst, sym uintptr, n, off uint64, k int32) int32 {
	return call("hipMemcpyFromSymbol_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyFromSymbol(t, dst, sym, n, off, hip.Kind(k), hip.StreamPerThread, false)
	}, dst, sym, n, off, hip.Kind(k))
}

//export hipMemcpyFromSymbolAsync
func hipMemcpyFromSymbolAsync(dst, sym uintptr, n, off uint64, k int32, s uintptr) int32 {
	return call("hipMemcpyFromSymbolAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyFromSymbol(t, dst, sym, n, off, hip.Kind(k), s, true)
	}, dst, sym, n, off, hip.Kind(k), stream(s))
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
