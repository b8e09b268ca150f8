package hipabi

// #include "values.h"
import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Handles are passed by value: 64 bytes.

//export hipIpcGetMemHandle
func hipIpcGetMemHandle(out, p uintptr) int32 {
	return call("hipIpcGetMemHandle", func(a *hip.API, _ *hip.Thread) hip.Error { return a.IpcGetMemHandle(out, p) }, outAt[[64]byte](&out), p)
}

//export hipIpcOpenMemHandle
func hipIpcOpenMemHandle(out *uintptr, h C.pumice_ipc, flags uint32) int32 {
	return call("hipIpcOpenMemHandle", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.IpcOpenMemHandle(t, out, hip.IpcMemHandle(unsafe.Pointer(&h)), flags)
	}, handle(&out), flags)
}

//export hipIpcCloseMemHandle
func hipIpcCloseMemHandle(p uintptr) int32 {
	return call("hipIpcCloseMemHandle", func(a *hip.API, _ *hip.Thread) hip.Error { return a.IpcCloseMemHandle(p) }, p)
}

//export hipIpcGetEventHandle
func hipIpcGetEventHandle(out, ev uintptr) int32 {
	return call("hipIpcGetEventHandle", func(a *hip.API, _ *hip.Thread) hip.Error { return a.IpcGetEventHandle(out, ev) }, outAt[[64]byte](&out), event(ev))
}

//export hipIpcOpenEventHandle
func hipIpcOpenEventHandle(out *uintptr, h C.pumice_ipc) int32 {
	return call("hipIpcOpenEventHandle", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.IpcOpenEventHandle(t, out, hip.IpcEventHandle(unsafe.Pointer(&h)))
	}, newEvent(&out))
}
