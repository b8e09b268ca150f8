package jit

import "github.com/pumice-gpu/pumice/engine/ir"

// RDNA3.5 and RDNA4 have floating-point instructions on scalar registers. There are few of them in a program, in divisions by numbers that
// are the same for all lanes for example, so they have no code of their own: one is done by all lanes, and read from the first.

// spreads are the operations that are done so.
var spreads = [256]bool{ir.OpFAdd: true, ir.OpFSub: true, ir.OpFMul: true, ir.OpFMA: true, ir.OpFMin: true, ir.OpFMax: true,
	ir.OpFTrunc: true, ir.OpFCeil: true, ir.OpFFloor: true, ir.OpFRndne: true, ir.OpFRcp: true, ir.OpFRsq: true, ir.OpFSqrt: true,
	ir.OpFExp2: true, ir.OpFLog2: true, ir.OpFCmp: true, ir.OpCvt: true}

// spread makes a uniform floating-point operation one of lanes, if it is one that can be.
func (p *planner) spread(id ir.ID) {
	c := p.c
	v := c.v(id)
	if !spreads[v.Op] || v.Type != ir.S32 && v.Type != ir.S1 || c.isForeign(id) || c.canScalar(v) {
		return
	}
	for _, a := range v.Args {
		if a != ir.NoID && c.v(a).Type != ir.S32 {
			return
		}
	}
	w := *v
	w.Type = ir.V32
	if v.Type == ir.S1 {
		w.Type = ir.M
	}
	if c.classify(&w) != classVector {
		return
	}
	lanes := c.add(w)
	p.add(lanes)
	one := ir.Value{Op: ir.OpMFull, Type: ir.S1, Args: c.ids(lanes), PC: v.PC}
	if v.Type == ir.S32 {
		one = ir.Value{Op: ir.OpReadLane, Type: ir.S32, Args: c.ids(lanes, c.add(ir.Value{Op: ir.OpConst, Type: ir.S32})), PC: v.PC}
	}
	c.replace(id, c.newValue(one))
}
