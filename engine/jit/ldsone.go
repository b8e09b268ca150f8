package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// canLDSOne tells whether ldsStoreOne knows the store: whole dwords at an address that all lanes share.
func (c *compiler) canLDSOne(v *ir.Value) bool {
	if v.Args[0] != ir.NoID || v.Args[1] == ir.NoID || v.Imm&ir.OffSigned != 0 || int32(v.Imm) < 0 || v.Width%4 != 0 || v.Width == 0 {
		return false
	}
	return !isVec(c.v(v.Args[1]).Type) || c.oneForAll(v.Args[1])
}

// oneForAll tells whether a value of one dword is the same in all lanes.
func (c *compiler) oneForAll(id ir.ID) bool {
	if _, ok := c.isConst(id); ok {
		return true
	}
	ks := c.vals[id].comps
	if len(ks) != 1 {
		return false
	}
	_, ok := c.compConst(ks[0])
	return ok || c.comps[ks[0]].kind != compZ
}

// ldsStoreOne stores to one address: of the active lanes, the last has its way. Dwords that are not in the LDS are left out.
func (c *compiler) ldsStoreOne(v *ir.Value) {
	a := &c.a
	const lane, lds, at, size = x86.RCX, x86.RDX, x86.R8, x86.R15
	done := a.NewLabel()
	c.gmask(lane, v.Args[2])
	a.GS(x86.TEST, 8, x86.R(lane), lane)
	a.Jcc(x86.E, done)
	a.G(x86.BSR, 8, lane, x86.R(lane))
	a.G(x86.MOV, 8, lds, x86.M(rState, offLDS))
	a.G(x86.MOV, 8, size, x86.M(rState, offLDSLen))
	c.laneDword(at, v.Args[1], 0, lane)
	if n := int32(v.Imm); n != 0 {
		a.AluI(x86.ADD, 4, x86.R(at), n) // wraps at 32 bits
	}
	for j := range int(v.Width) / 4 {
		skip := a.NewLabel()
		a.G(x86.LEA, 8, x86.RAX, x86.M(at, 4*int32(j)+4))
		a.Alu(x86.CMP, 8, x86.RAX, x86.R(size))
		a.Jcc(x86.A, skip)
		c.laneDword(x86.RAX, v.Args[3], j, lane)
		a.GS(x86.MOVS, 4, x86.MX(lds, at, 1, 4*int32(j)), x86.RAX)
		a.Bind(skip)
	}
	a.Bind(done)
}

// laneDword loads dword j of a value for the lane in register lane.
func (c *compiler) laneDword(r x86.Reg, id ir.ID, j int, lane x86.Reg) {
	a := &c.a
	if x, ok := c.isConst(id); ok {
		a.MovI(r, uint64(uint32(x>>(32*(j&1)))))
		return
	}
	ks := c.vals[id].comps
	k := ks[min(j, len(ks)-1)]
	m := &c.comps[k]
	switch x, ok := c.compConst(k); {
	case ok:
		a.MovI(r, uint64(uint32(x)))
	case m.kind == compZ && m.home >= 0:
		a.G(x86.MOV, 4, r, x86.MX(rState, lane, 4, m.home))
	case m.kind == compZ:
		a.G(x86.MOV, 4, r, x86.MX(rFrame, lane, 4, c.slot(k)))
	case j > 0 && len(ks) == 1: // a uniform quadword
		a.G(x86.MOV, 4, r, c.memOf(k).Add(4))
	default:
		a.G(x86.MOV, 4, r, c.memOf(k))
	}
}

// stripDword loads the current strip of dword j of a value into z.
func (c *compiler) stripDword(z x86.Vec, id ir.ID, j int) {
	a := &c.a
	splat := func(x uint64) {
		a.E(x86.VPBROADCASTD, x86.L512, uint8(z), 0, x86.ML(a.Const32(uint32(x)), 0), noMod)
	}
	if x, ok := c.isConst(id); ok {
		splat(x >> (32 * (j & 1)))
		return
	}
	ks := c.vals[id].comps
	k := ks[min(j, len(ks)-1)]
	m := &c.comps[k]
	switch x, ok := c.compConst(k); {
	case ok:
		splat(x)
	case m.kind == compZ:
		x := access{c: c}
		a.E(x86.VMOVDQU32, x86.L512, uint8(z), 0, x.at(k), noMod)
	case j > 0 && len(ks) == 1:
		a.E(x86.VPBROADCASTD, x86.L512, uint8(z), 0, c.memOf(k).Add(4), noMod)
	default:
		a.E(x86.VPBROADCASTD, x86.L512, uint8(z), 0, c.memOf(k), noMod)
	}
}
