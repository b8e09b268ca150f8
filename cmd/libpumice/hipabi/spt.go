package hipabi

// typedef struct { unsigned long w, h, d; } pumice_box;
// typedef struct { void *p; unsigned long pitch, xs, ys; } pumice_rows;
import "C"

import "github.com/pumice-gpu/pumice/runtime/hip"

// Twins of functions for programs whose null stream is the per-thread default stream.

func rows(name string, p C.pumice_rows, v int32, x C.pumice_box, s uintptr, async bool, args ...any) int32 {
	return call(name, func(a *hip.API, t *hip.Thread) hip.Error {
		return a.Memset2D(t, uintptr(p.p), uint64(p.pitch), byte(v), uint64(x.w), uint64(x.h), uint64(x.d), uint64(p.ys), s, async)
	}, args...)
}

//export hipMemset3D_spt
func hipMemset3D_spt(p C.pumice_rows, v int32, x C.pumice_box) int32 {
	return rows("hipMemset3D_spt", p, v, x, hip.StreamPerThread, false, pitched(uintptr(p.p)), v, [3]uint64{uint64(x.w), uint64(x.h), uint64(x.d)})
}

//export hipMemset3DAsync_spt
func hipMemset3DAsync_spt(p C.pumice_rows, v int32, x C.pumice_box, s uintptr) int32 {
	return rows("hipMemset3DAsync_spt", p, v, x, spt(s), true, pitched(uintptr(p.p)), v, [3]uint64{uint64(x.w), uint64(x.h), uint64(x.d)}, stream(s))
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
