package hipabi

import "C"

import (
	"unsafe"

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

//export hipMemcpy3DPeer
func hipMemcpy3DPeer(p uintptr) int32 {
	return call("hipMemcpy3DPeer", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy3DPeer(t, at[hip.Memcpy3DPeerParms](p), 0, false)
	}, inAt[hip.Memcpy3DPeerParms](&p))
}

//export hipMemcpy3DPeerAsync
func hipMemcpy3DPeerAsync(p, s uintptr) int32 {
	return call("hipMemcpy3DPeerAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy3DPeer(t, at[hip.Memcpy3DPeerParms](p), s, true)
	}, inAt[hip.Memcpy3DPeerParms](&p), stream(s))
}

//export hipMemcpyBatchAsync
func hipMemcpyBatchAsync(dsts, srcs *uintptr, sizes *uint64, n uint64, attrs uintptr, indices *uint64, count uint64, failed *uint64, s uintptr) int32 {
	return call("hipMemcpyBatchAsync", func(a *hip.API, t *hip.Thread) hip.Error {
		if dsts == nil || srcs == nil || sizes == nil || n == 0 || n > 1<<28 {
			return hip.ErrInvalidValue
		}
		for i := range n {
			if e := a.Memcpy(t, unsafe.Slice(dsts, n)[i], unsafe.Slice(srcs, n)[i], unsafe.Slice(sizes, n)[i], hip.Default, s, true); e != hip.Success {
				if failed != nil {
					*failed = i
				}
				return e
			}
		}
		return hip.Success
	}, ins(&dsts, n), ins(&srcs, n), ins(&sizes, n), n, attrs, ins(&indices, count), count, outOf(&failed), stream(s))
}

//export hipMemcpy2DAsync_spt
func hipMemcpy2DAsync_spt(dst uintptr, dp uint64, src uintptr, sp, width, height uint64, k int32, s uintptr) int32 {
	return call("hipMemcpy2DAsync_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy2D(t, dst, dp, src, sp, width, height, hip.Kind(k), spt(s), true)
	}, dst, dp, src, sp, width, height, hip.Kind(k), stream(s))
}

//export hipMemcpy3DAsync_spt
func hipMemcpy3DAsync_spt(p, s uintptr) int32 {
	return call("hipMemcpy3DAsync_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memcpy3D(t, at[hip.Memcpy3DParms](p), spt(s), true)
	}, inAt[hip.Memcpy3DParms](&p), stream(s))
}

//export hipMemcpyToSymbolAsync_spt
func hipMemcpyToSymbolAsync_spt(sym, src uintptr, n, off uint64, k int32, s uintptr) int32 {
	return call("hipMemcpyToSymbolAsync_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyToSymbol(t, sym, src, n, off, hip.Kind(k), spt(s), true)
	}, sym, src, n, off, hip.Kind(k), stream(s))
}

//export hipMemcpyFromSymbolAsync_spt
func hipMemcpyFromSymbolAsync_spt(dst, sym uintptr, n, off uint64, k int32, s uintptr) int32 {
	return call("hipMemcpyFromSymbolAsync_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyFromSymbol(t, dst, sym, n, off, hip.Kind(k), spt(s), true)
	}, dst, sym, n, off, hip.Kind(k), stream(s))
}

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
