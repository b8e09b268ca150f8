package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
)

// Tools look at what an engine compiles and runs.
type Tools struct {
	// Compiled is called with every compiled function and where its code is; with a listing if Listing says so.
	Compiled func(f *ir.Func, p *Program, addr uintptr)
	Listing  bool
	// Perf names the code for Linux perf.
	Perf *rt.PerfMap
	// Sampler lets another process see what each worker is doing.
	Sampler *Sampler
}
