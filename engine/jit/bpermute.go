package jit

import (
	"encoding/binary"

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

// permConst moves lanes by a constant table of sources: for each strip one permute of each strip that it takes lanes from.
func (c *compiler) permConst(id ir.ID, v *ir.Value) {
	base, off, ok := c.vectorArg(v.Args[0])
	t, isTab := v.Aux.(*[64]int8)
	if !ok || !isTab {
		c.helper(id)
		return
	}
	a := &c.a
	const L = x86.L512
	d := c.slot(c.vals[id].comps[0])
	for q := range c.strips {
		var ix [64]byte
		var from [maxU]uint64 // lanes by the strip of their source
		for l := range 16 {
			if s := int(t[16*q+l]); s >= 0 && s < c.lanes {
				binary.LittleEndian.PutUint32(ix[4*l:], uint32(s%16))
				from[s/16] |= 1 << l
			}
		}
		any := false
		for s, lanes := range from {
			if lanes == 0 {
				continue
			}
			m := x86.Masked(1)
			if !any {
				m = x86.Zeroed(1)
				a.E(x86.VMOVDQU32, L, 1, 0, x86.ML(a.Const(ix[:], 64), 0), noMod)
			}
			if any = true; lanes == 1<<16-1 {
				m = noMod
			} else {
				a.MovI(x86.RAX, lanes)
				a.X(x86.KMOVWG, x86.L128, 1, 0, x86.R(x86.RAX))
			}
			a.E(x86.VPERMD, L, 0, 1, x86.M(base, off+int32(64*s)), m)
		}
		if !any {
			a.E(x86.VPXORD, L, 0, 0, x86.V(0), noMod)
		}
		a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, d+int32(64*q)), noMod)
	}
}
