package hipabi

import "C"

import "github.com/pumice-gpu/pumice/runtime/hip"

//export hipStreamWriteValue32
func hipStreamWriteValue32(s, p uintptr, v uint32, flags uint32) int32 {
	return call("hipStreamWriteValue32", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamWriteValue(t, s, p, uint64(v), 4) }, stream(s), p, v, flags)
}

//export hipStreamWaitValue32
func hipStreamWaitValue32(s, p uintptr, v uint32, flags uint32, mask uint32) int32 {
	return call("hipStreamWaitValue32", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.StreamWaitValue(t, s, p, uint64(v), flags, uint64(mask), 4)
	}, stream(s), p, v, flags, mask)
}

//export hipStreamWriteValue64
func hipStreamWriteValue64(s, p uintptr, v uint64, flags uint32) int32 {
	return call("hipStreamWriteValue64", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamWriteValue(t, s, p, uint64(v), 8) }, stream(s), p, v, flags)
}

//export hipStreamWaitValue64
func hipStreamWaitValue64(s, p uintptr, v uint64, flags uint32, mask uint64) int32 {
	return call("hipStreamWaitValue64", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.StreamWaitValue(t, s, p, uint64(v), flags, uint64(mask), 8)
	}, stream(s), p, v, flags, mask)
}

//export hipStreamBatchMemOp
func hipStreamBatchMemOp(s uintptr, n uint32, ops uintptr, flags uint32) int32 {
	return call("hipStreamBatchMemOp", func(a *hip.API, t *hip.Thread) hip.Error { return a.StreamBatchMemOp(t, s, n, ops, flags) }, stream(s), n, ops, flags)
}
