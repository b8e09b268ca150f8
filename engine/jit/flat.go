package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// canFlatLDS tells whether flatLDS knows the flat access: whole dwords, addresses in a vector of halves. Stores are of one dword, for
// those of several lanes may overlap in part, and then the order of lanes counts.
func (c *compiler) canFlatLDS(id ir.ID, v *ir.Value) bool {
	if v.Space != ir.Flat || v.Width%4 != 0 || v.Args[0] != ir.NoID || v.Args[1] == ir.NoID || c.v(v.Args[1]).Type != ir.V64 || int32(v.Imm) < 0 {
		return false
	}
	ks := c.vals[v.Args[1]].comps
	if len(ks) != 2 || c.comps[ks[0]].kind != compZ || c.comps[ks[1]].kind != compZ {
		return false
	}
	if v.Op == ir.OpStore {
		return v.Width == 4 && c.oneDword(v.Args[3])
	}
	return len(c.vals[id].comps) == int(v.Width)/4
}

// flatLDS does a flat access whose active lanes all name the LDS, as those of a pointer to shared memory do that the program's compiler
// has lost sight of, and goes to done; other accesses fall through, with nothing changed.
func (c *compiler) flatLDS(id ir.ID, v *ir.Value, done x86.Label) {
	a := &c.a
	const L = x86.L512
	const lds = x86.RDX
	general := a.NewLabel()
	imm := int32(v.Imm)
	offs := c.vals[v.Args[1]].comps
	x := access{c: c, id: id, v: v, w: int32(v.Width), store: v.Op == ir.OpStore}
	a.AluI(x86.CMP, 4, x86.M(rFrame, frameShared+4), 0) // no aperture
	a.Jcc(x86.NE, general)
	c.gmask(x86.R14, v.Args[2])
	a.E(x86.VPBROADCASTD, L, 7, 0, x86.M(rFrame, frameShared), noMod)
	if imm != 0 {
		a.E(x86.VPBROADCASTD, L, 8, 0, x86.ML(a.Const32(uint32(imm)), 0), noMod)
	}
	mask := func(q int) {
		if q > 0 {
			a.GI8(x86.SHR, 8, x86.R(x86.RAX), 16)
		} else {
			a.G(x86.MOV, 8, x86.RAX, x86.R(x86.R14))
		}
		a.X(x86.KMOVWG, x86.L128, 1, 0, x86.R(x86.RAX))
	}
	for q := range c.strips {
		x.fixed = q + 1
		mask(q)
		a.EI(x86.VPCMPD, L, 2, 7, x.at(offs[1]), 4, x86.Masked(1)) // other high halves
		if imm != 0 {
			// The sum may carry.
			a.E(x86.VPADDD, L, 0, 8, x.at(offs[0]), noMod)
			a.EI(x86.VPCMPUD, L, 3, 0, x86.V(8), 1, x86.Masked(1))
			a.X(x86.KORTESTW, x86.L128, 2, 0, x86.KR(3))
		} else {
			a.X(x86.KORTESTW, x86.L128, 2, 0, x86.KR(2))
		}
		a.Jcc(x86.NE, general)
	}
	a.G(x86.MOV, 8, lds, x86.M(rState, offLDS))
	pieces := int(v.Width) / 4
	for j := range pieces {
		c.ldsLimit(int32(4*j) + 3)
		a.E(x86.VPBROADCASTDG, L, uint8(9+j), 0, x86.R(x86.RAX), noMod)
	}
	for q := range c.strips {
		x.fixed = q + 1
		mask(q)
		a.E(x86.VMOVDQU32, L, 0, 0, x.at(offs[0]), noMod)
		if imm != 0 {
			a.E(x86.VPADDD, L, 0, 0, x86.V(8), noMod)
		}
		for j := range pieces {
			a.EI(x86.VPCMPUD, L, 2, 0, x86.V(x86.Vec(9+j)), 1, x86.Masked(1))
			if x.store {
				x.load32(1, v.Args[3])
				a.E(x86.VPSCATTERDD, L, 1, 0, x86.MV(lds, 0, 1, 0), x86.Masked(2))
				continue
			}
			a.E(x86.VPXORD, L, 1, 1, x86.V(1), noMod)
			a.E(x86.VPGATHERDD, L, 1, 0, x86.MV(lds, 0, 1, int32(4*j)), x86.Masked(2))
			a.E(x86.VMOVDQU32S, L, 1, 0, x.at(c.vals[id].comps[j]), noMod)
		}
	}
	a.Jmp(done)
	a.Bind(general)
}

// load32 loads the current strip of a value of one dword a lane into z.
func (x *access) load32(z x86.Vec, id ir.ID) {
	c := x.c
	if c.inMemory(id) {
		c.a.E(x86.VMOVDQU32, x86.L512, uint8(z), 0, x.at(c.vals[id].comps[0]), noMod)
		return
	}
	c.strip(z, id)
}
