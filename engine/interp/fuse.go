package interp

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// forward decides which register reads are read in place.
func (c *compiler) forward() {
	hit := func(ws []write, reg, n, def, last int) bool {
		for _, w := range ws {
			if w.pos > def && w.pos < last && w.reg < reg+n && reg < w.reg+w.n {
				return true
			}
		}
		return false
	}
	for i := range c.roots {
		r := &c.roots[i]
		switch r.kind {
		case rootVGPR:
			if hit(c.vw, r.reg, 1, r.def, r.last) {
				r.kind = rootSlot
				c.vr = append(c.vr, write{r.def, r.reg, 1})
			} else {
				r.ref = c.vgprRef(r.reg)
				c.skip[r.def] = true
			}
		case rootSGPR:
			// A 4-byte view can stand in for an 8-byte one nowhere: masks and truth values are read as 8 bytes.
			v := c.f.V(c.b.Code[r.def])
			wide := v.Op == ir.OpMGet && r.width == 4
			if r.reg == isa.SRegNull || r.reg+r.width/4 > isa.NumSRegs || wide || hit(c.sw, r.reg, r.width/4, r.def, r.last) {
				r.kind = rootSlot
			} else {
				r.ref = sgprRef(r.reg)
				c.skip[r.def] = true
			}
		}
	}
}

// fusible reports whether v's code can put results in registers under a mask.
func (c *compiler) fusible(v *ir.Value) bool {
	switch v.Op {
	case ir.OpLoad, ir.OpAtomic:
		return true
	case ir.OpVGet, ir.OpMFMA, ir.OpTuple, ir.OpPair, ir.OpSplat:
		return v.Op == ir.OpSplat && v.Type == ir.V32
	}
	return v.Op.Pure() && (v.Type == ir.V32 || v.Type == ir.V64)
}

// fuseWrites finds vsets that the operation making their value can do itself. A pure operation either writes all its
// registers that way or none, as it computes only the lanes that are written; loads can do some.
func (c *compiler) fuseWrites() {
	vset := map[int32]int{} // root -> position of the vset that is its only use
	for pos, id := range c.b.Code {
		v := c.f.V(id)
		if v.Op != ir.OpVSet || c.f.V(v.Args[0]).Type != ir.V32 {
			continue
		}
		cp := c.vals[v.Args[0]][0]
		if r := &c.roots[cp.root]; r.kind == rootSlot && r.uses == 1 && r.def >= 0 && r.last == pos {
			vset[cp.root] = pos
		}
	}
	for def, id := range c.b.Code {
		maker := c.f.V(id)
		if c.skip[def] || !c.fusible(maker) {
			continue
		}
		var done []int32
		ok := true
		for _, cp := range c.vals[id] {
			if c.roots[cp.root].uses == 0 {
				continue
			}
			pos, has := vset[cp.root]
			if has && c.fuseOne(def, pos, cp.root, maker) {
				done = append(done, cp.root)
			} else {
				ok = false
			}
		}
		if ok || maker.Op.Memory() {
			continue
		}
		for _, r := range done {
			pos := vset[r]
			delete(c.dest, r)
			c.skip[pos] = false
			c.moveWrite(def, pos, int(c.f.V(c.b.Code[pos]).Imm))
		}
	}
}

// fuseOne makes root, made at def, live in the register that the vset at pos writes.
func (c *compiler) fuseOne(def, pos int, root int32, maker *ir.Value) bool {
	v := c.f.V(c.b.Code[pos])
	mask := c.vals[v.Args[1]][0]
	if c.roots[mask.root].kind != rootConst && c.roots[mask.root].def >= def {
		return false
	}
	for _, cp := range c.vals[c.b.Code[def]] {
		if f, ok := c.dest[cp.root]; ok && (f.mask != mask || f.reg == int(v.Imm)) {
			return false
		}
	}
	if !c.canMove(def, pos, int(v.Imm), maker.Op.Cross()) {
		return false
	}
	c.dest[root] = fused{int(v.Imm), mask}
	c.skip[pos] = true
	c.moveWrite(pos, def, int(v.Imm)) // seen from here on, the write happens where the value is made
	return true
}

func (c *compiler) moveWrite(from, to, reg int) {
	for i := range c.vw {
		if c.vw[i].pos == from && c.vw[i].reg == reg {
			c.vw[i].pos = to
			return
		}
	}
}

// canMove reports whether a write of VGPR reg at position to may happen at from.
func (c *compiler) canMove(from, to, reg int, cross bool) bool {
	// An operation across lanes reads lanes after it has written others, so its own operands count too.
	for i := range c.roots {
		if r := &c.roots[i]; r.kind == rootVGPR && r.reg == reg && r.def < to && (r.last > from || cross && r.last == from) {
			return false
		}
	}
	for _, w := range c.vr {
		if w.reg == reg && w.pos > from && w.pos < to {
			return false
		}
	}
	for _, w := range c.vw {
		if w.reg == reg && w.pos > from && w.pos < to {
			return false
		}
	}
	for p := from + 1; p < to; p++ {
		switch v := c.f.V(c.b.Code[p]); {
		case v.Op.Memory(), v.Op == ir.OpHWGet, v.Op == ir.OpHWSet, v.Op == ir.OpMsg, v.Op == ir.OpMsgRtn:
			return false
		}
	}
	return true
}
