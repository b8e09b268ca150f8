package hipabi

import "C"

import (
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// Modules, functions and occupancy.

//export hipFuncSetCacheConfig
func hipFuncSetCacheConfig(key uintptr, c int32) int32 {
	return call("hipFuncSetCacheConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetConfig(t, c) }, key, c)
}

//export hipFuncSetSharedMemConfig
func hipFuncSetSharedMemConfig(key uintptr, c int32) int32 {
	return call("hipFuncSetSharedMemConfig", func(a *hip.API, t *hip.Thread) hip.Error { return a.SetConfig(t, c) }, key, c)
}

//export hipModuleLoadData
func hipModuleLoadData(out *uintptr, image uintptr) int32 {
	return call("hipModuleLoadData", func(a *hip.API, t *hip.Thread) hip.Error { return a.ModuleLoadData(t, out, image) }, handle(&out), image)
}

//export hipModuleUnload
func hipModuleUnload(m uintptr) int32 {
	return call("hipModuleUnload", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ModuleUnload(m) }, m)
}

//export hipFuncGetAttributes
func hipFuncGetAttributes(out uintptr, key uintptr) int32 {
	return call("hipFuncGetAttributes", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.FuncGetAttributes(t, at[hip.FuncAttributes](out), key)
	}, outAt[hip.FuncAttributes](&out), key)
}

//export hipFuncGetAttribute
func hipFuncGetAttribute(out *int32, attr int32, fn uintptr) int32 {
	return call("hipFuncGetAttribute", func(a *hip.API, t *hip.Thread) hip.Error { return a.FuncGetAttribute(t, out, attr, fn) }, outOf(&out), attr, fn)
}

//export hipFuncSetAttribute
func hipFuncSetAttribute(key uintptr, attr, v int32) int32 {
	return call("hipFuncSetAttribute", func(a *hip.API, t *hip.Thread) hip.Error { return a.FuncSetAttribute(t, key, attr, v) }, key, attr, v)
}

//export hipOccupancyMaxActiveBlocksPerMultiprocessor
func hipOccupancyMaxActiveBlocksPerMultiprocessor(out *int32, fn uintptr, block int32, dyn uint64) int32 {
	return call("hipOccupancyMaxActiveBlocksPerMultiprocessor", func(a *hip.API, t *hip.Thread) hip.Error { return a.Occupancy(t, out, fn, false, block, dyn) }, outOf(&out), fn, block, dyn)
}

// occupancyFlags are those of occupancy: default, and one about caching that changes nothing.
const occupancyFlags = 1

//export hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
func hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out *int32, fn uintptr, block int32, dyn uint64, flags uint32) int32 {
	return call("hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", func(a *hip.API, t *hip.Thread) hip.Error {
		if flags > occupancyFlags {
			return hip.ErrInvalidValue
		}
		return a.Occupancy(t, out, fn, false, block, dyn)
	}, outOf(&out), fn, block, dyn, flags)
}

//export hipOccupancyMaxPotentialBlockSize
func hipOccupancyMaxPotentialBlockSize(grid, block *int32, fn uintptr, dyn uint64, limit int32) int32 {
	return call("hipOccupancyMaxPotentialBlockSize", func(a *hip.API, t *hip.Thread) hip.Error { return a.BestBlock(t, grid, block, fn, false, dyn, limit) }, outOf(&grid), outOf(&block), fn, dyn, limit)
}

//export hipModuleOccupancyMaxActiveBlocksPerMultiprocessor
func hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(out *int32, fn uintptr, block int32, dyn uint64) int32 {
	return call("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", func(a *hip.API, t *hip.Thread) hip.Error { return a.Occupancy(t, out, fn, true, block, dyn) }, outOf(&out), fn, block, dyn)
}

//export hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
func hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out *int32, fn uintptr, block int32, dyn uint64, flags uint32) int32 {
	return call("hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", func(a *hip.API, t *hip.Thread) hip.Error {
		if flags > occupancyFlags {
			return hip.ErrInvalidValue
		}
		return a.Occupancy(t, out, fn, true, block, dyn)
	}, outOf(&out), fn, block, dyn, flags)
}

//export hipModuleOccupancyMaxPotentialBlockSize
func hipModuleOccupancyMaxPotentialBlockSize(grid, block *int32, fn uintptr, dyn uint64, limit int32) int32 {
	return call("hipModuleOccupancyMaxPotentialBlockSize", func(a *hip.API, t *hip.Thread) hip.Error { return a.BestBlock(t, grid, block, fn, true, dyn, limit) }, outOf(&grid), outOf(&block), fn, dyn, limit)
}

//export hipModuleOccupancyMaxPotentialBlockSizeWithFlags
func hipModuleOccupancyMaxPotentialBlockSizeWithFlags(grid, block *int32, fn uintptr, dyn uint64, limit int32, flags uint32) int32 {
	return call("hipModuleOccupancyMaxPotentialBlockSizeWithFlags", func(a *hip.API, t *hip.Thread) hip.Error { return a.BestBlock(t, grid, block, fn, true, dyn, limit) }, outOf(&grid), outOf(&block), fn, dyn, limit, flags)
}

//export hipOccupancyAvailableDynamicSMemPerBlock
func hipOccupancyAvailableDynamicSMemPerBlock(out *uint64, key uintptr, blocks, size int32) int32 {
	return call("hipOccupancyAvailableDynamicSMemPerBlock", func(a *hip.API, t *hip.Thread) hip.Error { return a.AvailableShared(t, out, key, blocks, size) }, outOf(&out), key, blocks, size)
}

//export hipModuleLoad
func hipModuleLoad(out *uintptr, path *C.char) int32 {
	return call("hipModuleLoad", func(a *hip.API, t *hip.Thread) hip.Error {
		if path == nil {
			return hip.ErrInvalidValue
		}
		return a.ModuleLoad(t, out, C.GoString(path))
	}, handle(&out), text(&path))
}

//export hipModuleLoadDataEx
func hipModuleLoadDataEx(out *uintptr, image uintptr, n uint32, opts, vals uintptr) int32 {
	return hipModuleLoadData(out, image)
}

//export hipModuleGetFunction
func hipModuleGetFunction(out *uintptr, m uintptr, name *C.char) int32 {
	return call("hipModuleGetFunction", func(a *hip.API, t *hip.Thread) hip.Error {
		if name == nil {
			return hip.ErrInvalidValue
		}
		return a.ModuleGetFunction(t, out, m, C.GoString(name))
	}, handle(&out), m, text(&name))
}

//export hipModuleGetGlobal
func hipModuleGetGlobal(out *uintptr, size *uint64, m uintptr, name *C.char) int32 {
	return call("hipModuleGetGlobal", func(a *hip.API, t *hip.Thread) hip.Error {
		if name == nil {
			return hip.ErrInvalidValue
		}
		return a.ModuleGetGlobal(out, size, m, C.GoString(name))
	}, handle(&out), outOf(&size), m, text(&name))
}
