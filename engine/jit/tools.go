package jit

import (
	"fmt"
	"sync/atomic"

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
	// Exits gives the counter of what leaves compiled code for operation id of f; it is asked when f is compiled.
	Exits func(f *ir.Func, id ir.ID) *atomic.Uint64
}

// OpText describes an operation by what decides whether compiled code can do it.
func OpText(f *ir.Func, id ir.ID) string {
	v := f.V(id)
	s := fmt.Sprintf("%s %s", v.Op, v.Type)
	switch {
	case v.Op == ir.OpMFMA:
		m := v.Aux.(*ir.Matrix)
		s += fmt.Sprintf(" %dx%dx%d·%d %v*%v+%v gen%d wmma=%v sparse=%v cbsz=%d blgp=%d neg=%d lanes=%d fp=%#x", m.M, m.N, m.K, m.Blocks, m.A, m.B, m.C, m.Gen, m.WMMA, m.Sparse, m.CBSZ, m.BLGP, m.Neg, f.Lanes, uint32(v.FP))
	case v.Op.Memory():
		s += fmt.Sprintf(" space%d width %d", v.Space, v.Width)
		if v.Op == ir.OpAtomic {
			s += fmt.Sprintf(" atomic%d %v", v.Atomic, v.Kind)
		}
	case v.Op == ir.OpHWGet || v.Op == ir.OpHWSet:
		s += fmt.Sprintf(" %#x", v.Imm)
	case v.Op.Float():
		s += fmt.Sprintf(" %v->%v fp=%#x", v.From, v.Kind, uint32(v.FP))
	}
	if len(v.Args) > 0 {
		s += " of"
		for _, a := range v.Args {
			if a == ir.NoID {
				s += " -"
				continue
			}
			s += " " + f.V(a).Type.String()
			if f.V(a).Op == ir.OpConst {
				s += "c"
			}
		}
	}
	return s
}
