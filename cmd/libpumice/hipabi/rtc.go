package hipabi

import "C"

import (
	"sync"
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/clr"
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// hiprtc. Handles are numbers of a table.

var rtc struct {
	mu   sync.Mutex
	m    map[uintptr]*hip.RTCProgram // guarded by mu
	next uintptr                     // guarded by mu
}

func rtcProgram(h uintptr) *hip.RTCProgram {
	rtc.mu.Lock()
	defer rtc.mu.Unlock()
	return rtc.m[h]
}

func texts(n int32, p **C.char) (out []string) {
	if p == nil || n <= 0 {
		return nil
	}
	for _, s := range unsafe.Slice(p, n) {
		out = append(out, C.GoString(s))
	}
	return
}

//export hiprtcCreateProgram
func hiprtcCreateProgram(out *uintptr, src, name *C.char, n int32, headers, names **C.char) int32 {
	if out == nil || src == nil || n < 0 || n > 0 && (headers == nil || names == nil) {
		return int32(hip.RTCInvalidInput)
	}
	title := "default_program"
	if name != nil && C.GoString(name) != "" {
		title = C.GoString(name)
	}
	h := map[string]string{}
	hs, ns := texts(n, headers), texts(n, names)
	for i := range hs {
		h[ns[i]] = hs[i]
	}
	rtc.mu.Lock()
	defer rtc.mu.Unlock()
	if rtc.m == nil {
		rtc.m, rtc.next = map[uintptr]*hip.RTCProgram{}, 0x10000
	}
	rtc.next += 16
	rtc.m[rtc.next] = hip.NewRTCProgram(C.GoString(src), title, h)
	*out = rtc.next
	return 0
}

//export hiprtcDestroyProgram
func hiprtcDestroyProgram(p *uintptr) int32 {
	if p == nil {
		return int32(hip.RTCInvalidInput)
	}
	rtc.mu.Lock()
	defer rtc.mu.Unlock()
	if rtc.m[*p] == nil {
		return int32(hip.RTCInvalidProgram)
	}
	delete(rtc.m, *p)
	*p = 0
	return 0
}

//export hiprtcAddNameExpression
func hiprtcAddNameExpression(h uintptr, e *C.char) int32 {
	p := rtcProgram(h)
	if p == nil {
		return int32(hip.RTCInvalidProgram)
	}
	if e == nil {
		return int32(hip.RTCInvalidInput)
	}
	return int32(p.AddName(C.GoString(e)))
}

//export hiprtcCompileProgram
func hiprtcCompileProgram(h uintptr, n int32, options **C.char) int32 {
	p := rtcProgram(h)
	if p == nil {
		return int32(hip.RTCInvalidProgram)
	}
	var d *clr.Device
	api() // for the current device's target
	if ds := theAPI.Devices(); int(thread().Device) < len(ds) {
		d = ds[thread().Device]
	}
	return int32(p.Compile(d, texts(n, options)))
}

//export hiprtcGetProgramLogSize
func hiprtcGetProgramLogSize(h uintptr, out *uint64) int32 {
	p := rtcProgram(h)
	if p == nil || out == nil {
		return int32(hip.RTCInvalidInput)
	}
	*out = uint64(len(p.Log) + 1)
	return 0
}

//export hiprtcGetProgramLog
func hiprtcGetProgramLog(h uintptr, out unsafe.Pointer) int32 {
	p := rtcProgram(h)
	if p == nil || out == nil {
		return int32(hip.RTCInvalidInput)
	}
	b := unsafe.Slice((*byte)(out), len(p.Log)+1)
	copy(b, p.Log)
	b[len(p.Log)] = 0
	return 0
}

//export hiprtcGetCodeSize
func hiprtcGetCodeSize(h uintptr, out *uint64) int32 {
	p := rtcProgram(h)
	if p == nil || out == nil {
		return int32(hip.RTCInvalidInput)
	}
	*out = uint64(len(p.Code))
	return 0
}

//export hiprtcGetCode
func hiprtcGetCode(h uintptr, out unsafe.Pointer) int32 {
	p := rtcProgram(h)
	if p == nil || out == nil {
		return int32(hip.RTCInvalidInput)
	}
	copy(unsafe.Slice((*byte)(out), len(p.Code)), p.Code)
	return 0
}

//export hiprtcGetLoweredName
func hiprtcGetLoweredName(h uintptr, e *C.char, out **C.char) int32 {
	p := rtcProgram(h)
	if p == nil || e == nil || out == nil {
		return int32(hip.RTCInvalidInput)
	}
	s, r := p.Lowered(C.GoString(e))
	if r == hip.RTCSuccess {
		*out = static(s)
	}
	return int32(r)
}

//export hiprtcGetErrorString
func hiprtcGetErrorString(r int32) *C.char { return static(hip.RTCError(r).Name()) }

//export hiprtcVersion
func hiprtcVersion(major, minor *int32) int32 {
	if major == nil || minor == nil {
		return int32(hip.RTCInvalidInput)
	}
	*major, *minor = 9, 0
	return 0
}
