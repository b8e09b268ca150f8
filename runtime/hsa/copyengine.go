package hsa

// ROCr 6 lets a program pick the copy engine: HIP keeps copies of different streams apart that way. Engines are numbered from 0, those for links between GPUs last.

// CopyEngines returns how many copy engines the agent has, those for links between GPUs included.
func (a *Agent) CopyEngines() int {
	return int(a.Node.Props["num_sdma_engines"] + a.Node.Props["num_sdma_xgmi_engines"])
}

// CopyAsyncOn is CopyAsync by a queue of its own on one engine. A driver older than queues on named engines (1.17 of the interface) picks the engine itself.
func (a *Agent) CopyAsyncOn(engine int, dst, src, size uint64, deps []*Signal, done *Signal) error {
	if engine < 0 || engine >= a.CopyEngines() {
		return fail("memory_async_copy_on_engine", StatusInvalidArgument, "%s has no copy engine %d", a.Name, engine)
	}
	key := sdmaByEngine + engine
	if major, minor := a.rt.kfd.Version(); major == 1 && minor < sdmaByEngineMinor {
		key = direction(engine == sdmaOut)
	}
	return a.copyAsync(dst, src, size, key, deps, done)
}

// sdmaByEngineMinor is the version of the driver's interface that has kfd.QueueTypeSDMAByEngID.
const sdmaByEngineMinor = 17

// CopyEngineIdle reports whether all that was given to an engine's queue is done.
func (a *Agent) CopyEngineIdle(engine int) bool {
	a.mu.Lock()
	s := a.sdma[sdmaByEngine+engine]
	a.mu.Unlock()
	if s == nil {
		return true
	}
	return s.idle()
}
