package hipabi

import "C"

import (
	"sync"
	"unsafe"

	"github.com/pumice-gpu/pumice/cmd/libpumice/caller"
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

// texts reads n strings; ok is false where there are none such.
func texts(n int32, p **C.char) (out []string, ok bool) {
	if p == nil || n <= 0 {
		return nil, true
	}
	for _, at := range unsafe.Slice(p, n) {
		s, ok := caller.Text(uintptr(unsafe.Pointer(at)))
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

// rtcCall runs one function of hiprtc; see call.
func rtcCall(f func() hip.RTCError, args ...any) int32 {
	t := thread()
	if !far(t, args) {
		return int32(f())
	}
	r := hip.RTCInvalidInput
	if lend(t, args, func() hip.Error { r = f(); return hip.Success }) != hip.Success {
		r = hip.RTCInvalidInput
	}
	return int32(r)
}

//export hiprtcCreateProgram
func hiprtcCreateProgram(out *uintptr, src, name *C.char, n int32, headers, names **C.char) int32 {
	return rtcCall(func() hip.RTCError {
		if out == nil {
			return hip.RTCInvalidProgram
		}
		if src == nil || n < 0 || n > 0 && (headers == nil || names == nil) {
			return hip.RTCInvalidInput
		}
		title := "default_program"
		if name != nil && C.GoString(name) != "" {
			title = C.GoString(name)
		}
		h := map[string]string{}
		hs, ok1 := texts(n, headers)
		ns, ok2 := texts(n, names)
		if !ok1 || !ok2 {
			return hip.RTCInvalidInput
		}
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
		return hip.RTCSuccess
	}, outOf(&out), text(&src), text(&name), ins(&headers, n), ins(&names, n))
}

//export hiprtcDestroyProgram
func hiprtcDestroyProgram(p *uintptr) int32 {
	return rtcCall(func() hip.RTCError {
		if p == nil {
			return hip.RTCInvalidInput
		}
		rtc.mu.Lock()
		defer rtc.mu.Unlock()
		if rtc.m[*p] == nil {
			return hip.RTCInvalidProgram
		}
		delete(rtc.m, *p)
		*p = 0
		return hip.RTCSuccess
	}, outOf(&p))
}

//export hiprtcAddNameExpression
func hiprtcAddNameExpression(h uintptr, e *C.char) int32 {
	return rtcCall(func() hip.RTCError {
		p := rtcProgram(h)
		if p == nil {
			return hip.RTCInvalidProgram
		}
		if e == nil {
			return hip.RTCInvalidInput
		}
		return p.AddName(C.GoString(e))
	}, text(&e))
}

//export hiprtcCompileProgram
func hiprtcCompileProgram(h uintptr, n int32, options **C.char) int32 {
	return rtcCall(func() hip.RTCError {
		p := rtcProgram(h)
		if p == nil {
			return hip.RTCInvalidProgram
		}
		o, ok := texts(n, options)
		if !ok {
			return hip.RTCInvalidInput
		}
		var d *clr.Device
		api() // for the current device's target
		if ds := theAPI.Devices(); int(thread().Device) < len(ds) {
			d = ds[thread().Device]
		}
		return p.Compile(d, o)
	}, ins(&options, n))
}

// rtcResult answers a question about a program: size is how long the answer is, put writes it.
func rtcResult(h uintptr, out *uintptr, size func(p *hip.RTCProgram) int, put func(p *hip.RTCProgram, b []byte)) int32 {
	p := rtcProgram(h)
	if p == nil {
		return int32(hip.RTCInvalidInput)
	}
	n := size(p)
	return rtcCall(func() hip.RTCError {
		if *out == 0 {
			return hip.RTCInvalidInput
		}
		if n > 0 {
			put(p, unsafe.Slice(at[byte](*out), n))
		}
		return hip.RTCSuccess
	}, outBytes(out, uint64(n)))
}

func rtcSize(h uintptr, out *uint64, size func(p *hip.RTCProgram) int) int32 {
	return rtcCall(func() hip.RTCError {
		p := rtcProgram(h)
		if p == nil || out == nil {
			return hip.RTCInvalidInput
		}
		*out = uint64(size(p))
		return hip.RTCSuccess
	}, outOf(&out))
}

func logSize(p *hip.RTCProgram) int  { return len(p.Log) + 1 }
func codeSize(p *hip.RTCProgram) int { return len(p.Code) }

//export hiprtcGetProgramLogSize
func hiprtcGetProgramLogSize(h uintptr, out *uint64) int32 { return rtcSize(h, out, logSize) }

//export hiprtcGetProgramLog
func hiprtcGetProgramLog(h, out uintptr) int32 {
	return rtcResult(h, &out, logSize, func(p *hip.RTCProgram, b []byte) { b[copy(b, p.Log)] = 0 })
}

//export hiprtcGetCodeSize
func hiprtcGetCodeSize(h uintptr, out *uint64) int32 { return rtcSize(h, out, codeSize) }

//export hiprtcGetCode
func hiprtcGetCode(h, out uintptr) int32 {
	return rtcResult(h, &out, codeSize, func(p *hip.RTCProgram, b []byte) { copy(b, p.Code) })
}

//export hiprtcGetLoweredName
func hiprtcGetLoweredName(h uintptr, e *C.char, out **C.char) int32 {
	return rtcCall(func() hip.RTCError {
		p := rtcProgram(h)
		if p == nil || e == nil || out == nil {
			return hip.RTCInvalidInput
		}
		s, r := p.Lowered(C.GoString(e))
		if r == hip.RTCSuccess {
			*out = static(s)
		}
		return r
	}, text(&e), outOf(&out))
}

//export hiprtcGetErrorString
func hiprtcGetErrorString(r int32) *C.char { return static(hip.RTCError(r).Name()) }

//export hiprtcVersion
func hiprtcVersion(major, minor *int32) int32 {
	return rtcCall(func() hip.RTCError {
		if major == nil || minor == nil {
			return hip.RTCInvalidInput
		}
		*major, *minor = 9, 0
		return hip.RTCSuccess
	}, outOf(&major), outOf(&minor))
}
