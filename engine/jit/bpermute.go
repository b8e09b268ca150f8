package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// bpermuteTables is bpermute with the data, at base and off, in registers: the host picks from 32 dwords in one instruction, so a wave of 64 lanes takes two for
// sixteen of them. Lanes that are not active are loaded as 0, which is what they give. index is the component with the lanes' numbers.
func (c *compiler) bpermuteTables(id ir.ID, v *ir.Value, base x86.Reg, off int32, index int32) {
	a := &c.a
	const L = x86.L512
	if !c.fullMask(v.Args[2]) {
		c.gmask(x86.RAX, v.Args[2])
	}
	for q := range c.strips {
		m := noMod
		if !c.fullMask(v.Args[2]) {
			m = x86.Zeroed(1)
			a.X(x86.KMOVWG, x86.L128, 1, 0, x86.R(x86.RAX))
			if q+1 < c.strips {
				a.GI8(x86.SHR, 8, x86.R(x86.RAX), 16)
			}
		}
		a.E(x86.VMOVDQU32, L, uint8(q), 0, x86.M(base, off+int32(64*q)), m)
	}
	d := c.slot(c.vals[id].comps[0])
	for q := range c.strips {
		z := uint8(4 + 2*q) // strips do not wait for each other
		a.E(x86.VMOVDQU32, L, z, 0, c.at(index, q), noMod)
		if c.strips == 4 {
			a.E(x86.VMOVDQU32, L, z+1, 0, x86.V(x86.Vec(z)), noMod)
			a.E(x86.VPTESTMD, L, 2, z, x86.ML(a.Const32(32), 0).Bcast(), noMod)
			a.E(x86.VPERMI2D, L, z, 0, x86.V(1), noMod)
			a.E(x86.VPERMI2D, L, z+1, 2, x86.V(3), noMod)
			a.E(x86.VMOVDQU32, L, z, 0, x86.V(x86.Vec(z+1)), x86.Masked(2))
		} else {
			a.E(x86.VPERMI2D, L, z, 0, x86.V(1), noMod)
		}
		a.E(x86.VMOVDQU32S, L, z, 0, x86.M(rFrame, d+int32(64*q)), noMod)
	}
}
