package hipabi

import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hip"
)

func launchMulti(name string, list uintptr, n int32, flags uint32, cooperative bool) int32 {
	return call(name, func(a *hip.API, t *hip.Thread) hip.Error {
		if list == 0 || n <= 0 || n > 1<<10 {
			return hip.ErrInvalidValue
		}
		return a.LaunchMulti(t, unsafe.Slice(at[hip.LaunchParams](list), n), flags, cooperative)
	}, insAt[hip.LaunchParams](&list, n), n, flags)
}

//export hipLaunchCooperativeKernelMultiDevice
func hipLaunchCooperativeKernelMultiDevice(list uintptr, n int32, flags uint32) int32 {
	return launchMulti("hipLaunchCooperativeKernelMultiDevice", list, n, flags, true)
}

//export hipExtLaunchMultiKernelMultiDevice
func hipExtLaunchMultiKernelMultiDevice(list uintptr, n int32, flags uint32) int32 {
	return launchMulti("hipExtLaunchMultiKernelMultiDevice", list, n, flags, false)
}

// functionParams is hipFunctionLaunchParams.
type functionParams struct {
	fn                 uintptr
	gx, gy, gz         uint32
	bx, by, bz, shared uint32
	stream             uintptr
	args               uintptr
}

//export hipModuleLaunchCooperativeKernelMultiDevice
func hipModuleLaunchCooperativeKernelMultiDevice(list uintptr, n uint32, flags uint32) int32 {
	return call("hipModuleLaunchCooperativeKernelMultiDevice", func(a *hip.API, t *hip.Thread) hip.Error {
		if list == 0 || n == 0 || n > 1<<10 {
			return hip.ErrInvalidValue
		}
		var l []hip.LaunchParams
		for _, p := range unsafe.Slice(at[functionParams](list), n) {
			l = append(l, hip.LaunchParams{Func: p.fn, Args: p.args, Shared: uint64(p.shared), Stream: p.stream})
			x := &l[len(l)-1]
			x.Grid.X, x.Grid.Y, x.Grid.Z = p.gx, p.gy, p.gz
			x.Block.X, x.Block.Y, x.Block.Z = p.bx, p.by, p.bz
		}
		return a.LaunchMulti(t, l, flags, true)
	}, insAt[functionParams](&list, n), n, flags)
}
