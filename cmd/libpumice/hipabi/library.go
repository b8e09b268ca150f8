package hipabi

import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Libraries, kernels of libraries and modules, and their names.

//export hipKernelGetName
func hipKernelGetName(out **C.char, k uintptr) int32 {
	return call("hipKernelGetName", func(a *hip.API, _ *hip.Thread) hip.Error {
		if out == nil {
			return hip.ErrInvalidValue
		}
		n := a.KernelName(k)
		if n == "" {
			return hip.ErrInvalidValue
		}
		*out = static(n)
		return hip.Success
	}, outOf(&out), k)
}

func kernelName(k uintptr) *C.char {
	if n := api().KernelName(k); n != "" {
		return static(n)
	}
	return nil
}

//export hipKernelNameRef
func hipKernelNameRef(fn uintptr) *C.char { return kernelName(fn) }

//export hipKernelNameRefByPtr
func hipKernelNameRefByPtr(key, s uintptr) *C.char { return kernelName(key) }

//export hipLibraryLoadFromFile
func hipLibraryLoadFromFile(out *uintptr, path *C.char, jit, jitValues uintptr, n uint32, opts, values uintptr, m uint32) int32 {
	return hipModuleLoad(out, path)
}

//export hipLibraryLoadData
func hipLibraryLoadData(out *uintptr, image uintptr, jit, jitValues uintptr, n uint32, opts, values uintptr, m uint32) int32 {
	return hipModuleLoadData(out, image)
}

//export hipLibraryUnload
func hipLibraryUnload(lib uintptr) int32 { return hipModuleUnload(lib) }

//export hipLibraryGetKernel
func hipLibraryGetKernel(out *uintptr, lib uintptr, name *C.char) int32 {
	return hipModuleGetFunction(out, lib, name)
}

//export hipLibraryEnumerateKernels
func hipLibraryEnumerateKernels(out *uintptr, n uint32, lib uintptr) int32 {
	return call("hipLibraryEnumerateKernels", func(a *hip.API, t *hip.Thread) hip.Error {
		if out == nil || n == 0 || n > 1<<20 {
			return hip.ErrInvalidValue
		}
		return a.LibraryKernels(t, lib, unsafe.Slice(out, n))
	}, outs(&out, n), n, lib)
}

//export hipModuleLoadFatBinary
func hipModuleLoadFatBinary(out *uintptr, image uintptr) int32 { return hipModuleLoadData(out, image) }

//export hipKernelGetLibrary
func hipKernelGetLibrary(out *uintptr, k uintptr) int32 {
	return call("hipKernelGetLibrary", func(a *hip.API, _ *hip.Thread) hip.Error { return a.KernelLibrary(out, k) }, handle(&out), k)
}

//export hipKernelGetParamInfo
func hipKernelGetParamInfo(k uintptr, i uint64, off, size *uint64) int32 {
	return call("hipKernelGetParamInfo", func(a *hip.API, t *hip.Thread) hip.Error { return a.KernelParam(t, k, i, off, size) }, k, i, outOf(&off), outOf(&size))
}

//export hipLibraryGetKernelCount
func hipLibraryGetKernelCount(n *uint32, lib uintptr) int32 {
	return call("hipLibraryGetKernelCount", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ModuleKernelCount(n, lib) }, outOf(&n), lib)
}

//export hipModuleGetFunctionCount
func hipModuleGetFunctionCount(n *uint32, m uintptr) int32 {
	return call("hipModuleGetFunctionCount", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ModuleKernelCount(n, m) }, outOf(&n), m)
}

//export hipGetFuncBySymbol
func hipGetFuncBySymbol(out *uintptr, key uintptr) int32 {
	return call("hipGetFuncBySymbol", func(a *hip.API, t *hip.Thread) hip.Error { return a.FunctionBySymbol(t, out, key) }, handle(&out), key)
}
