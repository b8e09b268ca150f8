package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
)

// sinkLoads moves LDS loads down to their first use: compilers load far ahead to hide latency that is not there, and the
// registers are better used otherwise. A region has no LDS stores next to loads.
func (c *compiler) sinkLoads(ops []ir.ID) []ir.ID {
	first := map[int32]int{} // component of a load: its first use
	loads := 0
	for _, id := range ops {
		if c.v(id).Op == ir.OpLoad {
			loads++
			for _, k := range c.vals[id].comps {
				first[k] = -1
			}
		}
	}
	if loads < 2 {
		return ops
	}
	for i, id := range ops {
		for _, a := range c.v(id).Args {
			if a == ir.NoID {
				continue
			}
			for _, k := range c.vals[a].comps {
				if p, ok := first[k]; ok && p < 0 {
					first[k] = i
				}
			}
		}
	}
	before := map[ir.ID][]ir.ID{} // loads to emit before an operation
	moved := map[ir.ID]bool{}
	for i, id := range ops {
		if c.v(id).Op != ir.OpLoad {
			continue
		}
		at := len(ops)
		for _, k := range c.vals[id].comps {
			if p := first[k]; p >= 0 {
				at = min(at, p)
			}
		}
		if at < len(ops) && at > i+1 {
			before[ops[at]] = append(before[ops[at]], id)
			moved[id] = true
		}
	}
	out := make([]ir.ID, 0, len(ops))
	var put func(id ir.ID)
	put = func(id ir.ID) {
		for _, l := range before[id] {
			put(l)
		}
		out = append(out, id)
	}
	for _, id := range ops {
		if !moved[id] {
			put(id)
		}
	}
	return out
}

// chooseU picks how many strips run side by side. A short region has all of them, without a loop; in a long one registers
// are scarce.
func (c *compiler) chooseU(ops []ir.ID) int {
	n := 0
	for _, id := range ops {
		if c.v(id).Op != ir.OpVGet {
			n++
		}
	}
	if n <= 3 {
		return c.strips
	}
	return 1
}
