package hipabi

/*
#cgo CFLAGS: -D_GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

// A function of this library by its name: whoever asked for it calls it without the stub.
static void *pumice_function(const char *name) {
    Dl_info info;
    static void *self;
    if (!self && dladdr((void *)pumice_function, &info)) self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    return self ? dlsym(self, name) : 0;
}
*/
import "C"

import (
	"strings"
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Functions by name.

// procAddress finds a function by name and fills in the answer: 0 found, 1 not found, 2 the version has it not yet.
func procAddress(name string, symbol *C.char, symbolOut *unsafe.Pointer, perThread bool, status *int32) int32 {
	return call(name, func(a *hip.API, _ *hip.Thread) hip.Error {
		out := symbolOut
		if symbol == nil || out == nil {
			return hip.ErrInvalidValue
		}
		n := C.GoString(symbol)
		f := unsafe.Pointer(nil)
		try := func(n string) {
			if f == nil && (strings.HasPrefix(n, "hip") || strings.HasPrefix(n, "__hip")) {
				c := C.CString(n)
				f = C.pumice_function(c)
				C.free(unsafe.Pointer(c))
			}
		}
		if a.Face >= 6 {
			// The header renames these two.
			if n == "hipGetDeviceProperties" || n == "hipChooseDevice" {
				n += "R0600"
			}
		}
		if perThread {
			try(n + "_spt")
		}
		try(n)
		*out = f
		if status != nil {
			*status = 0
			if f == nil {
				*status = 1
			}
		}
		if f == nil {
			return hip.ErrInvalidValue
		}
		return hip.Success
	}, text(&symbol), outOf(&symbolOut), outOf(&status))
}

const perThreadFlag = 2

//export hipGetProcAddress
func hipGetProcAddress(symbol *C.char, out *unsafe.Pointer, version int32, flags uint64, status *int32) int32 {
	return procAddress("hipGetProcAddress", symbol, out, flags == perThreadFlag, status)
}

//export hipGetProcAddress_spt
func hipGetProcAddress_spt(symbol *C.char, out *unsafe.Pointer, version int32, flags uint64, status *int32) int32 {
	return procAddress("hipGetProcAddress_spt", symbol, out, flags != 1, status)
}

//export hipGetDriverEntryPoint
func hipGetDriverEntryPoint(symbol *C.char, out *unsafe.Pointer, flags uint64, status *int32) int32 {
	return procAddress("hipGetDriverEntryPoint", symbol, out, flags == perThreadFlag, status)
}

//export hipGetDriverEntryPoint_spt
func hipGetDriverEntryPoint_spt(symbol *C.char, out *unsafe.Pointer, flags uint64, status *int32) int32 {
	return procAddress("hipGetDriverEntryPoint_spt", symbol, out, flags != 1, status)
}
