package hipabi

import "C"

import "github.com/pumice-gpu/pumice/runtime/hip"

//export hipStreamBeginCapture
func hipStreamBeginCapture(s uintptr, mode int32) int32 {
	return call("hipStreamBeginCapture", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamBeginCapture(t, s, mode, 0, nil) }, stream(s), mode)
}

//export hipStreamEndCapture
func hipStreamEndCapture(s uintptr, out *uintptr) int32 {
	return call("hipStreamEndCapture", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamEndCapture(t, s, out) }, stream(s), handle(&out))
}

//export hipStreamIsCapturing
func hipStreamIsCapturing(s uintptr, out *int32) int32 {
	return call("hipStreamIsCapturing", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamIsCapturing(t, s, out) }, stream(s), outOf(&out))
}

//export hipStreamGetCaptureInfo
func hipStreamGetCaptureInfo(s uintptr, status *int32, id *uint64) int32 {
	return call("hipStreamGetCaptureInfo", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.StreamGetCaptureInfo(t, s, status, id, nil, nil, nil)
	}, stream(s), outOf(&status), outOf(&id))
}

//export hipStreamGetCaptureInfo_v2
func hipStreamGetCaptureInfo_v2(s uintptr, status *int32, id *uint64, g, deps *uintptr, n *uint64) int32 {
	return call("hipStreamGetCaptureInfo_v2", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamGetCaptureInfo(t, s, status, id, g, deps, n) }, stream(s), outOf(&status), outOf(&id), outOf(&g), outOf(&deps), outOf(&n))
}

//export hipStreamBeginCapture_spt
func hipStreamBeginCapture_spt(s uintptr, mode int32) int32 {
	return call("hipStreamBeginCapture_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamBeginCapture(t, spt(s), mode, 0, nil) }, stream(s), mode)
}

//export hipStreamEndCapture_spt
func hipStreamEndCapture_spt(s uintptr, out *uintptr) int32 {
	return call("hipStreamEndCapture_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamEndCapture(t, spt(s), out) }, stream(s), handle(&out))
}

//export hipStreamIsCapturing_spt
func hipStreamIsCapturing_spt(s uintptr, out *int32) int32 {
	return call("hipStreamIsCapturing_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamIsCapturing(t, spt(s), out) }, stream(s), outOf(&out))
}

//export hipStreamGetCaptureInfo_spt
func hipStreamGetCaptureInfo_spt(s uintptr, status *int32, id *uint64) int32 {
	return call("hipStreamGetCaptureInfo_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.StreamGetCaptureInfo(t, spt(s), status, id, nil, nil, nil)
	}, stream(s), outOf(&status), outOf(&id))
}

//export hipStreamGetCaptureInfo_v2_spt
func hipStreamGetCaptureInfo_v2_spt(s uintptr, status *int32, id *uint64, g, deps *uintptr, n *uint64) int32 {
	return call("hipStreamGetCaptureInfo_v2_spt", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.StreamGetCaptureInfo(t, spt(s), status, id, g, deps, n)
	}, stream(s), outOf(&status), outOf(&id), outOf(&g), outOf(&deps), outOf(&n))
}

//export hipStreamBeginCaptureToGraph
func hipStreamBeginCaptureToGraph(s, g uintptr, deps *uintptr, data uintptr, n uint64, mode int32) int32 {
	return addNode("hipStreamBeginCaptureToGraph", &deps, n, func(a *hip.API, t *hip.Thread, l []uintptr) hip.Error {
		switch {
		case data != 0:
			return hip.ErrNotSupported
		case g == 0 || (deps == nil) != (n == 0):
			return hip.ErrInvalidValue
		}
		return a.StreamBeginCapture(t, s, mode, g, l)
	}, stream(s), g, ins(&deps, n), data, n, mode)
}

//export hipStreamUpdateCaptureDependencies
func hipStreamUpdateCaptureDependencies(s uintptr, deps *uintptr, n uint64, flags uint32) int32 {
	return addNode("hipStreamUpdateCaptureDependencies", &deps, n, func(a *hip.API, t *hip.Thread, l []uintptr) hip.Error {
		return a.StreamUpdateCaptureDependencies(t, s, l, flags)
	}, stream(s), ins(&deps, n), n, flags)
}

//export hipThreadExchangeStreamCaptureMode
func hipThreadExchangeStreamCaptureMode(mode *int32) int32 {
	return call("hipThreadExchangeStreamCaptureMode", func(a *hip.API, t *hip.Thread) hip.Error { return a.ThreadExchangeCaptureMode(t, mode) }, outOf(&mode))
}
