package hipabi

import "C"

import (
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Events.

//export hipEventCreate
func hipEventCreate(out *uintptr) int32 {
	return call("hipEventCreate", func(a *hip.API, t *hip.Thread) hip.Error { return a.EventCreate(t, out, 0) }, newEvent(&out))
}

//export hipEventCreateWithFlags
func hipEventCreateWithFlags(out *uintptr, flags uint32) int32 {
	return call("hipEventCreateWithFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.EventCreate(t, out, flags) }, newEvent(&out), flags)
}

//export hipEventDestroy
func hipEventDestroy(e uintptr) int32 {
	return call("hipEventDestroy", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EventDestroy(e) }, event(e))
}

//export hipEventRecord
func hipEventRecord(e, s uintptr) int32 {
	return call("hipEventRecord", func(a *hip.API, t *hip.Thread) hip.Error { return a.EventRecord(t, e, s) }, event(e), stream(s))
}

//export hipEventRecord_spt
func hipEventRecord_spt(e, s uintptr) int32 {
	return call("hipEventRecord_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.EventRecord(t, e, spt(s)) }, event(e), stream(s))
}

//export hipEventSynchronize
func hipEventSynchronize(e uintptr) int32 {
	return call("hipEventSynchronize", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EventSynchronize(e) }, event(e))
}

//export hipEventQuery
func hipEventQuery(e uintptr) int32 {
	return call("hipEventQuery", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EventQuery(e) }, event(e))
}

//export hipEventElapsedTime
func hipEventElapsedTime(out *float32, start, stop uintptr) int32 {
	return call("hipEventElapsedTime", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EventElapsed(out, start, stop) }, outOf(&out), event(start), event(stop))
}

//export hipEventRecordWithFlags
func hipEventRecordWithFlags(ev, s uintptr, flags uint32) int32 {
	return call("hipEventRecordWithFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.EventRecordWithFlags(t, ev, s, flags) }, event(ev), stream(s), flags)
}
