package hipabi

/*
#include <stdlib.h>
*/
import "C"

import (
	"sync"
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/clr"
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Linking at run time: hiprtcLink*, and hipLink* since HIP 6.4, which are the same but for their errors. States are numbers of a table.

var links struct {
	mu   sync.Mutex
	m    map[uintptr]*link // guarded by mu
	next uintptr           // guarded by mu
}

// link is a state and the memory in which its result was given to the program.
type link struct {
	*hip.RTCLink
	out unsafe.Pointer
}

func linkOf(h uintptr) *link {
	links.mu.Lock()
	defer links.mu.Unlock()
	return links.m[h]
}

func newLink(n uint32, options *int32, values *uintptr) (uintptr, hip.RTCError) {
	const most = 1 << 16
	if n > 0 && (options == nil || values == nil) || n > most {
		return 0, hip.RTCInvalidInput
	}
	var os []int32
	var vs []uintptr
	if n > 0 {
		os, vs = unsafe.Slice(options, n), unsafe.Slice(values, n)
	}
	l, e := hip.NewRTCLink(os, vs)
	if e != hip.RTCSuccess {
		return 0, e
	}
	links.mu.Lock()
	defer links.mu.Unlock()
	if links.m == nil {
		links.m, links.next = map[uintptr]*link{}, 0x20000
	}
	links.next += 16
	links.m[links.next] = &link{RTCLink: l}
	return links.next, e
}

// complete links for the calling thread's device.
func (l *link) complete(out *unsafe.Pointer, n *uint64) hip.RTCError {
	var d *clr.Device
	api() // for the current device's target
	if ds := theAPI.Devices(); int(thread().Device) < len(ds) {
		d = ds[thread().Device]
	}
	e := l.Complete(d)
	if e != hip.RTCSuccess {
		return e
	}
	free(l.out)
	l.out = C.CBytes(l.Code)
	*out, *n = l.out, uint64(len(l.Code))
	return e
}

func destroyLink(h uintptr) bool {
	links.mu.Lock()
	defer links.mu.Unlock()
	l := links.m[h]
	if l == nil {
		return false
	}
	free(l.out)
	delete(links.m, h)
	return true
}

//export hiprtcLinkCreate
func hiprtcLinkCreate(n uint32, options *int32, values, out *uintptr) int32 {
	return rtcCall(func() hip.RTCError {
		if out == nil {
			return hip.RTCInvalidInput
		}
		h, e := newLink(n, options, values)
		if e == hip.RTCSuccess {
			*out = h
		}
		return e
	}, ins(&options, n), ins(&values, n), outOf(&out))
}

//export hiprtcLinkAddFile
func hiprtcLinkAddFile(h uintptr, kind int32, path *C.char, n uint32, options *int32, values *uintptr) int32 {
	return rtcCall(func() hip.RTCError {
		l := linkOf(h)
		if l == nil || path == nil {
			return hip.RTCInvalidInput
		}
		return l.AddFile(hip.InputType(kind), C.GoString(path))
	}, text(&path))
}

//export hiprtcLinkAddData
func hiprtcLinkAddData(h uintptr, kind int32, image *byte, size uint64, name *C.char, n uint32, options *int32, values *uintptr) int32 {
	return rtcCall(func() hip.RTCError {
		l := linkOf(h)
		if l == nil || image == nil || size == 0 {
			return hip.RTCInvalidInput
		}
		return l.Add(hip.InputType(kind), unsafe.Slice(image, size))
	}, ins(&image, size))
}

//export hiprtcLinkComplete
func hiprtcLinkComplete(h uintptr, out *unsafe.Pointer, n *uint64) int32 {
	return rtcCall(func() hip.RTCError {
		l := linkOf(h)
		if l == nil || out == nil || n == nil {
			return hip.RTCInvalidInput
		}
		return l.complete(out, n)
	}, outOf(&out), outOf(&n))
}

//export hiprtcLinkDestroy
func hiprtcLinkDestroy(h uintptr) int32 {
	if !destroyLink(h) {
		return int32(hip.RTCInvalidInput)
	}
	return 0
}

// linkError is the error of hipLink* for a hiprtcResult: what is no argument's fault is the configuration's.
func linkError(e hip.RTCError) hip.Error {
	switch e {
	case hip.RTCSuccess:
		return hip.Success
	case hip.RTCInvalidInput:
		return hip.ErrInvalidValue
	}
	return hip.ErrInvalidConfiguration
}

// Of the options CUDA's are an error here.
//
//export hipLinkCreate
func hipLinkCreate(n uint32, options *int32, values, out *uintptr) int32 {
	return call("hipLinkCreate", func(*hip.API, *hip.Thread) hip.Error {
		const firstOfAMD = 10000
		if out == nil || n > 0 && (options == nil || values == nil) {
			return hip.ErrInvalidValue
		}
		for i := range n {
			if o := unsafe.Slice(options, n)[i]; o < firstOfAMD {
				return hip.ErrInvalidValue
			}
		}
		h, e := newLink(n, options, values)
		if e == hip.RTCSuccess {
			*out = h
		}
		return linkError(e)
	}, n, ins(&options, n), ins(&values, n), handle(&out))
}

//export hipLinkAddFile
func hipLinkAddFile(h uintptr, kind int32, path *C.char, n uint32, options *int32, values *uintptr) int32 {
	return call("hipLinkAddFile", func(*hip.API, *hip.Thread) hip.Error {
		l := linkOf(h)
		switch {
		case h == 0:
			return hip.ErrInvalidHandle
		case l == nil, path == nil:
			return hip.ErrInvalidValue
		}
		return linkError(l.AddFile(hip.InputType(kind), C.GoString(path)))
	}, h, kind, text(&path), n)
}

//export hipLinkAddData
func hipLinkAddData(h uintptr, kind int32, image *byte, size uint64, name *C.char, n uint32, options *int32, values *uintptr) int32 {
	return call("hipLinkAddData", func(*hip.API, *hip.Thread) hip.Error {
		l := linkOf(h)
		switch {
		case image == nil, size == 0:
			return hip.ErrInvalidImage
		case l == nil:
			return hip.ErrInvalidHandle
		}
		return linkError(l.Add(hip.InputType(kind), unsafe.Slice(image, size)))
	}, h, kind, ins(&image, size), size)
}

//export hipLinkComplete
func hipLinkComplete(h uintptr, out *unsafe.Pointer, n *uint64) int32 {
	return call("hipLinkComplete", func(*hip.API, *hip.Thread) hip.Error {
		l := linkOf(h)
		if l == nil || out == nil || n == nil {
			return hip.ErrInvalidValue
		}
		return linkError(l.complete(out, n))
	}, h, outOf(&out), outOf(&n))
}

//export hipLinkDestroy
func hipLinkDestroy(h uintptr) int32 {
	return call("hipLinkDestroy", func(*hip.API, *hip.Thread) hip.Error {
		if !destroyLink(h) {
			return hip.ErrInvalidValue
		}
		return hip.Success
	}, h)
}

//export hiprtcGetBitcodeSize
func hiprtcGetBitcodeSize(h uintptr, out *uint64) int32 {
	return rtcCall(func() hip.RTCError {
		if out == nil {
			return hip.RTCInvalidInput
		}
		p := rtcProgram(h)
		if p == nil || p.Bitcode == nil {
			return hip.RTCInvalidProgram
		}
		*out = uint64(len(p.Bitcode))
		return hip.RTCSuccess
	}, outOf(&out))
}

//export hiprtcGetBitcode
func hiprtcGetBitcode(h uintptr, out *byte) int32 {
	p := rtcProgram(h)
	size := 0
	if p != nil {
		size = len(p.Bitcode)
	}
	return rtcCall(func() hip.RTCError {
		if out == nil {
			return hip.RTCInvalidInput
		}
		if p == nil || p.Bitcode == nil {
			return hip.RTCInvalidProgram
		}
		copy(unsafe.Slice(out, size), p.Bitcode)
		return hip.RTCSuccess
	}, outs(&out, uint64(size)))
}

func free(p unsafe.Pointer) { C.free(p) }
