package hsaabi

import "C"

import (
	"math/bits"

	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// Copies on a named engine came after ROCr 5.2.3, with ROCm 5.7. An engine is a bit of hsa_amd_sdma_engine_id_t.

// noH2D reports whether the engine must not be used for anything but copies from the host: that is so of gfx90a's engine 0.
func noH2D(a *hsa.Agent) bool { return a.Target.Proc.Name == "gfx90a" }

//export hsa_amd_memory_async_copy_on_engine
func hsa_amd_memory_async_copy_on_engine(dst uintptr, da uint64, src uintptr, sa, size uint64, n uint32, deps *uint64, done uint64, engine uint32, force bool) int32 {
	if rt() == nil {
		return notInit
	}
	ds, good := signalList(n, deps)
	s := signal(done)
	if dst == 0 || src == 0 || !good || n == 0 && deps != nil {
		return badArg
	}
	d, o := agents.get(da), agents.get(sa)
	if d == nil || o == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if s == nil {
		return int32(hsa.StatusInvalidSignal)
	}
	if bits.OnesCount32(engine) != 1 {
		return badArg
	}
	if size == 0 {
		return ok
	}
	if !d.IsGPU() && !o.IsGPU() {
		return int32(hsa.StatusInvalidAgent)
	}
	a := d
	if o.IsGPU() {
		a = o
	}
	i := bits.TrailingZeros32(engine)
	if noH2D(a) && i == 0 && o.IsGPU() && d != o {
		return badArg
	}
	return code(a.CopyAsyncOn(i, uint64(dst), uint64(src), size, ds, s))
}

// copyPair checks the agents of a copy, and returns the one whose engines copy.
func copyPair(dst, src uint64) (copier *hsa.Agent, fromHost bool, status int32) {
	d, s := agents.get(dst), agents.get(src)
	if d == nil || s == nil || d == s || !d.IsGPU() && !s.IsGPU() {
		return nil, false, int32(hsa.StatusInvalidAgent)
	}
	if s.IsGPU() {
		return s, false, ok
	}
	return d, true, ok
}

//export hsa_amd_memory_copy_engine_status
func hsa_amd_memory_copy_engine_status(dst, src uint64, out *uint32) int32 {
	if rt() == nil {
		return notInit
	}
	a, fromHost, st := copyPair(dst, src)
	if st != ok {
		return st
	}
	if out == nil {
		return badArg
	}
	mask := uint32(0)
	for i := range min(a.CopyEngines(), 32) {
		if a.CopyEngineIdle(i) && (i > 0 || fromHost || !noH2D(a)) {
			mask |= 1 << i
		}
	}
	if st := give(out, mask); st != ok {
		return st
	}
	if mask == 0 {
		return int32(hsa.StatusOutOfResources)
	}
	return ok
}

// The link between GPUs has no preference for an engine.
//
//export hsa_amd_memory_get_preferred_copy_engine
func hsa_amd_memory_get_preferred_copy_engine(dst, src uint64, out *uint32) int32 {
	if rt() == nil {
		return notInit
	}
	if _, _, st := copyPair(dst, src); st != ok {
		return st
	}
	if out == nil {
		return badArg
	}
	return give(out, 0)
}
