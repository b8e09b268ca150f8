package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Scalar segments of a run.

// affineScalar is a scalar segment of the run: it is done when all else has been.
type affineScalar struct {
	seg    int
	before []savedComp // of the components
}

// affineScalars looks whether scalar segments of a run can be done behind the rest of it.
type affineScalars struct {
	c           *compiler
	made        map[ir.ID]bool // by its vector segments and loads
	read, wrote [isa.NumSRegs + 2]bool
	masks       [isa.NumSRegs + 2]bool // that vector segments write
}

// scalar takes a scalar segment: nothing of it leaves, or comes from the vector segments.
func (x *affineScalars) scalar(ops []ir.ID) bool {
	c := x.c
	for _, id := range ops {
		if id >= ir.ID(c.n) {
			return false
		}
		v := c.v(id)
		for _, a := range v.Args {
			if a != ir.NoID && (x.made[a] || isVec(c.v(a).Type)) {
				return false
			}
		}
		set := v.Op == ir.OpSSet || v.Op == ir.OpSSet64 || v.Op == ir.OpMSet
		if !set && !isGet(v.Op) && !v.Op.Pure() {
			return false
		}
		lo, hi := c.regs(v)
		for n := lo; n < hi; n++ {
			if x.masks[n] || set && (n == isa.SRegEXECLo || n == isa.SRegEXECLo+1) {
				return false
			}
			if set {
				x.wrote[n] = true
			} else {
				x.read[n] = true
			}
		}
	}
	return true
}

// vector takes a vector segment.
func (x *affineScalars) vector(ops []ir.ID) bool {
	for _, id := range ops {
		x.made[id] = true
		if v := x.c.v(id); v.Op == ir.OpMSet {
			lo, hi := x.c.regs(v)
			for n := lo; n < hi; n++ {
				if x.read[n] || x.wrote[n] {
					return false
				}
				x.masks[n] = true
			}
		}
	}
	return true
}

// compsNow is what emitting changes of the components.
func (c *compiler) compsNow() []savedComp {
	all := make([]savedComp, len(c.comps))
	for i, m := range c.comps {
		all[i] = savedComp{m.home, m.def}
	}
	return all
}

// scalarAgain emits a scalar segment once more.
func (c *compiler) scalarAgain(x affineScalar) {
	set := func(all []savedComp) {
		for i, m := range all {
			c.comps[i].home, c.comps[i].def = m.home, m.def
		}
	}
	seg, now := c.seg, c.compsNow()
	c.seg = int32(x.seg)
	set(x.before)
	c.scalarSegment(c.segs[x.seg].ops)
	set(now)
	c.seg = seg
}
