package hipabi

// #include "values.h"
import "C"

import (
	"github.com/pumice-gpu/pumice/cmd/libpumice/caller"
	"github.com/pumice-gpu/pumice/runtime/clr"
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Launches.

func d3(d C.pumice_dim3) clr.Dim3 { return clr.Dim3{X: uint32(d.x), Y: uint32(d.y), Z: uint32(d.z)} }

//export pumice_hip_push
func pumice_hip_push(grid, block C.pumice_dim3, shared uint64, s uintptr) int32 {
	return call("__hipPushCallConfiguration", func(a *hip.API, t *hip.Thread) hip.Error { return a.PushConfig(t, d3(grid), d3(block), shared, s) }, box(d3(grid)), box(d3(block)), shared, stream(s))
}

//export pumice_hip_pop
func pumice_hip_pop(grid, block *C.pumice_dim3, shared *uint64, s *uintptr) int32 {
	return call("__hipPopCallConfiguration", func(a *hip.API, t *hip.Thread) hip.Error {
		if grid == nil || block == nil || shared == nil || s == nil {
			return hip.ErrInvalidValue
		}
		c, e := a.PopConfig(t)
		if e == hip.Success {
			*grid = C.pumice_dim3{C.uint32_t(c.Grid.X), C.uint32_t(c.Grid.Y), C.uint32_t(c.Grid.Z)}
			*block = C.pumice_dim3{C.uint32_t(c.Block.X), C.uint32_t(c.Block.Y), C.uint32_t(c.Block.Z)}
			*shared, *s = c.Shared, c.Stream
		}
		return e
	}, outOf(&grid), outOf(&block), outOf(&shared), outOf(&s))
}

func launchKey(name string, key uintptr, l *hip.Launch, args ...any) int32 {
	return call(name, func(a *hip.API, t *hip.Thread) hip.Error { return a.LaunchKey(t, key, l) }, args...)
}

func box(d clr.Dim3) [3]uint64 { return [3]uint64{uint64(d.X), uint64(d.Y), uint64(d.Z)} }

//export hipLaunchKernel
func hipLaunchKernel(key uintptr, grid, block C.pumice_dim3, args uintptr, shared uint64, s uintptr) int32 {
	return launchKey("hipLaunchKernel", key, &hip.Launch{Grid: d3(grid), Block: d3(block), Args: args, Shared: uint32(shared), Stream: s}, key, box(d3(grid)), box(d3(block)), args, shared, stream(s))
}

//export hipLaunchKernel_spt
func hipLaunchKernel_spt(key uintptr, grid, block C.pumice_dim3, args uintptr, shared uint64, s uintptr) int32 {
	return launchKey("hipLaunchKernel", key, &hip.Launch{Grid: d3(grid), Block: d3(block), Args: args, Shared: uint32(shared), Stream: spt(s)}, key, box(d3(grid)), box(d3(block)), args, shared, stream(s))
}

//export hipExtLaunchKernel
func hipExtLaunchKernel(key uintptr, grid, block C.pumice_dim3, args uintptr, shared uint64, s, start, stop uintptr, flags int32) int32 {
	return launchKey("hipExtLaunchKernel", key, &hip.Launch{Grid: d3(grid), Block: d3(block), Args: args, Shared: uint32(shared), Stream: s, Start: start, Stop: stop, AnyOrder: flags&1 != 0}, key, box(d3(grid)), box(d3(block)), args, shared, stream(s), event(start), event(stop), flags)
}

//export hipLaunchCooperativeKernel
func hipLaunchCooperativeKernel(key uintptr, grid, block C.pumice_dim3, args uintptr, shared uint32, s uintptr) int32 {
	return launchKey("hipLaunchCooperativeKernel", key, &hip.Launch{Grid: d3(grid), Block: d3(block), Args: args, Shared: shared, Stream: s, Cooperative: true}, key, box(d3(grid)), box(d3(block)), args, shared, stream(s))
}

//export hipLaunchCooperativeKernel_spt
func hipLaunchCooperativeKernel_spt(key uintptr, grid, block C.pumice_dim3, args uintptr, shared uint32, s uintptr) int32 {
	return launchKey("hipLaunchCooperativeKernel", key, &hip.Launch{Grid: d3(grid), Block: d3(block), Args: args, Shared: shared, Stream: spt(s), Cooperative: true}, key, box(d3(grid)), box(d3(block)), args, shared, stream(s))
}

//export hipModuleLaunchKernel
func hipModuleLaunchKernel(fn uintptr, gx, gy, gz, bx, by, bz, shared uint32, s, args, extra uintptr) int32 {
	return call("hipModuleLaunchKernel", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.LaunchFunction(t, fn, &hip.Launch{Grid: clr.Dim3{X: gx, Y: gy, Z: gz}, Block: clr.Dim3{X: bx, Y: by, Z: bz}, Args: args, Extra: extra, Shared: shared, Stream: s})
	}, fn, gx, gy, gz, bx, by, bz, shared, stream(s), args, extra)
}

//export hipModuleLaunchCooperativeKernel
func hipModuleLaunchCooperativeKernel(fn uintptr, gx, gy, gz, bx, by, bz, shared uint32, s, args uintptr) int32 {
	return call("hipModuleLaunchCooperativeKernel", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.LaunchFunction(t, fn, &hip.Launch{Grid: clr.Dim3{X: gx, Y: gy, Z: gz}, Block: clr.Dim3{X: bx, Y: by, Z: bz}, Args: args, Shared: shared, Stream: s, Cooperative: true})
	}, fn, gx, gy, gz, bx, by, bz, shared, stream(s), args)
}

//export hipExtModuleLaunchKernel
func hipExtModuleLaunchKernel(fn uintptr, gx, gy, gz, bx, by, bz uint32, shared uint64, s, args, extra, start, stop uintptr, flags uint32) int32 {
	return call("hipExtModuleLaunchKernel", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.LaunchFunction(t, fn, &hip.Launch{Grid: clr.Dim3{X: gx, Y: gy, Z: gz}, Items: true, Block: clr.Dim3{X: bx, Y: by, Z: bz}, Args: args, Extra: extra, Shared: uint32(shared), Stream: s, Start: start, Stop: stop, AnyOrder: flags&1 != 0})
	}, fn, gx, gy, gz, bx, by, bz, shared, stream(s), args, extra, event(start), event(stop), flags)
}

//export hipHccModuleLaunchKernel
func hipHccModuleLaunchKernel(fn uintptr, gx, gy, gz, bx, by, bz uint32, shared uint64, s, args, extra, start, stop uintptr) int32 {
	return hipExtModuleLaunchKernel(fn, gx, gy, gz, bx, by, bz, shared, s, args, extra, start, stop, 0)
}

// launchConfig is hipLaunchConfig_t.
type launchConfig struct {
	grid, block clr.Dim3
	shared      uint64
	stream      uintptr
	attrs       uintptr
	count       uint32
}

// drvLaunchConfig is HIP_LAUNCH_CONFIG.
type drvLaunchConfig struct {
	grid, block clr.Dim3
	shared      uint32
	stream      uintptr
	attrs       uintptr
	count       uint32
}

// cooperative reads launch attributes, of which each has 72 bytes: the id, and at 8 the value.
func cooperative(attrs uintptr, n uint32) (bool, hip.Error) {
	const size, isCooperative, priority = 72, 2, 8
	if n > 0 && attrs == 0 || n > 1<<10 {
		return false, hip.ErrInvalidValue
	}
	yes := false
	for i := range uintptr(n) {
		p := attrs + size*i
		id, ok1 := caller.Get(at[uint32](p))
		value, ok2 := caller.Get(at[int32](p + 8))
		if !ok1 || !ok2 {
			return false, hip.ErrInvalidValue
		}
		switch id {
		case isCooperative:
			yes = value != 0
		case 0, 1, priority: // nothing, access window, priority: hints
		default:
			return false, hip.ErrNotSupported
		}
	}
	return yes, hip.Success
}

//export hipLaunchKernelExC
func hipLaunchKernelExC(config, key, args uintptr) int32 {
	return call("hipLaunchKernelExC", func(a *hip.API, t *hip.Thread) hip.Error {
		c := at[launchConfig](config)
		if c == nil {
			return hip.ErrInvalidConfiguration
		}
		co, e := cooperative(c.attrs, c.count)
		if e != hip.Success {
			return e
		}
		return a.LaunchKey(t, key, &hip.Launch{Grid: c.grid, Block: c.block, Args: args, Shared: uint32(c.shared), Stream: c.stream, Cooperative: co})
	}, inAt[launchConfig](&config), key, args)
}

//export hipDrvLaunchKernelEx
func hipDrvLaunchKernelEx(config, fn, args, extra uintptr) int32 {
	return call("hipDrvLaunchKernelEx", func(a *hip.API, t *hip.Thread) hip.Error {
		c := at[drvLaunchConfig](config)
		if c == nil {
			return hip.ErrInvalidConfiguration
		}
		co, e := cooperative(c.attrs, c.count)
		if e != hip.Success {
			return e
		}
		return a.LaunchFunction(t, fn, &hip.Launch{Grid: c.grid, Block: c.block, Args: args, Extra: extra, Shared: c.shared, Stream: c.stream, Cooperative: co})
	}, inAt[drvLaunchConfig](&config), fn, args, extra)
}

//export hipConfigureCall
func hipConfigureCall(grid, block C.pumice_dim3, shared uint64, s uintptr) int32 {
	return call("hipConfigureCall", func(a *hip.API, t *hip.Thread) hip.Error { return a.PushConfig(t, d3(grid), d3(block), shared, s) }, box(d3(grid)), box(d3(block)), shared, stream(s))
}

//export hipSetupArgument
func hipSetupArgument(p uintptr, n, off uint64) int32 {
	return call("hipSetupArgument", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetupArgument(t, p, n, off) }, p, n, off)
}

//export hipLaunchByPtr
func hipLaunchByPtr(key uintptr) int32 {
	return call("hipLaunchByPtr", func(a *hip.API, t *hip.Thread) hip.Error { return a.LaunchByPtr(t, key) }, key)
}
