package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// canLDSUpdate tells whether ldsUpdate knows the operation: an LDS atomic of a dword whose old value nobody wants and that the host
// does in one instruction.
func (c *compiler) canLDSUpdate(id ir.ID, v *ir.Value) bool {
	_, one := locked[v.Atomic]
	if !one || v.Space != ir.LDS || v.Width != 4 || len(c.vals[id].comps) > 0 || v.Args[0] != ir.NoID || v.Args[1] == ir.NoID ||
		v.Imm&ir.OffSigned != 0 || int32(v.Imm) < 0 {
		return false
	}
	return c.inMemory(v.Args[1]) && c.oneDword(v.Args[3])
}

// inMemory tells whether a value has one dword for each lane, in memory between segments.
func (c *compiler) inMemory(id ir.ID) bool {
	ks := c.vals[id].comps
	if c.v(id).Type != ir.V32 || len(ks) != 1 || c.comps[ks[0]].kind != compZ {
		return false
	}
	_, constant := c.compConst(ks[0])
	return !constant
}

// ldsUpdate does such an atomic strip by strip. Lanes may name the same place, and finding that out costs more than doing them one
// after the other: what is saved is the test of each lane's mask and bounds, for they are looked at once for all.
func (c *compiler) ldsUpdate(id ir.ID, v *ir.Value) {
	a := &c.a
	const L = x86.L512
	const lds = x86.RDX
	op := locked[v.Atomic]
	x := access{c: c, id: id, v: v, w: 4, store: true}
	addr := c.vals[v.Args[1]].comps[0]
	each := c.inMemory(v.Args[3]) // operands differ by lane; else there is one, in R12
	a.G(x86.MOV, 8, lds, x86.M(rState, offLDS))
	c.ldsLimit(int32(v.Imm) + 3)
	a.E(x86.VPBROADCASTDG, L, 8, 0, x86.R(x86.RAX), noMod)
	a.G(x86.MOV, 8, x86.R13, x86.M(rState, offLDSLen))
	if !each {
		c.lane32(x86.R12, v.Args[3], 0)
	}
	c.gmask(x86.R14, v.Args[2])
	a.Alu(x86.XOR, 4, rStrip, x86.R(rStrip))
	top, next, single := a.NewLabel(), a.NewLabel(), a.NewLabel()
	a.Bind(top)
	a.X(x86.KMOVWG, x86.L128, 1, 0, x86.R(x86.R14))
	a.E(x86.VMOVDQU32, L, 0, 0, x.at(addr), noMod)
	a.EI(x86.VPCMPUD, L, 2, 0, x86.V(8), 1, x86.Masked(1))
	a.X(x86.KORTESTW, x86.L128, 2, 0, x86.KR(2))
	a.Jcc(x86.AE, single)
	for l := range int32(16) {
		a.G(x86.MOV, 4, x86.RAX, x.at(addr).Add(4*l))
		r := x86.R12
		if each {
			r = x86.RCX
			a.G(x86.MOV, 4, r, x.at(c.vals[v.Args[3]].comps[0]).Add(4*l))
		}
		a.AluS(op, 4, x86.MX(lds, x86.RAX, 1, int32(v.Imm)), r)
	}
	a.Jmp(next)

	a.Bind(single)
	loop, skip := a.NewLabel(), a.NewLabel()
	a.G(x86.MOVZX16, 4, x86.RBX, x86.R(x86.R14))
	a.GS(x86.TEST, 4, x86.R(x86.RBX), x86.RBX)
	a.Jcc(x86.E, next)
	a.Bind(loop)
	a.G(x86.TZCNT, 4, x86.RCX, x86.R(x86.RBX))
	a.G(x86.LEA, 8, x86.RCX, x86.MX(rStrip, x86.RCX, 4, 0)) // bytes to the lane's dword
	a.G(x86.MOV, 4, x86.R8, c.byLane(addr))
	a.AluI(x86.ADD, 4, x86.R(x86.R8), int32(v.Imm)) // wraps at 32 bits
	a.G(x86.LEA, 8, x86.RAX, x86.M(x86.R8, 4))
	a.Alu(x86.CMP, 8, x86.RAX, x86.R(x86.R13))
	a.Jcc(x86.A, skip)
	r := x86.R12
	if each {
		r = x86.RAX
		a.G(x86.MOV, 4, r, c.byLane(c.vals[v.Args[3]].comps[0]))
	}
	a.AluS(op, 4, x86.MX(lds, x86.R8, 1, 0), r)
	a.Bind(skip)
	a.GV(x86.BLSR, 4, 0, x86.RBX, x86.R(x86.RBX))
	a.Jcc(x86.NE, loop)
	a.Bind(next)
	a.GI8(x86.SHR, 8, x86.R(x86.R14), 16)
	a.AluI(x86.ADD, 8, x86.R(rStrip), 64)
	a.AluI(x86.CMP, 4, x86.R(rStrip), int32(64*c.strips))
	a.Jcc(x86.NE, top)
}

// byLane is component k at the byte offset in RCX.
func (c *compiler) byLane(k int32) x86.RM {
	if m := &c.comps[k]; m.home >= 0 {
		return x86.MX(rState, x86.RCX, 1, m.home)
	}
	return x86.MX(rFrame, x86.RCX, 1, c.slot(k))
}
