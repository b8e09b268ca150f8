package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// canLDSNarrow tells whether ldsNarrow knows the access.
func (c *compiler) canLDSNarrow(v *ir.Value) bool {
	if v.Width != 1 && v.Width != 2 || v.Args[0] != ir.NoID || v.Args[1] == ir.NoID || v.Imm&ir.OffSigned != 0 || int32(v.Imm) < 0 {
		return false
	}
	if v.Op == ir.OpStore && !c.oneDword(v.Args[3]) {
		return false
	}
	return c.oneDword(v.Args[1])
}

// oneDword tells whether strip can read the value.
func (c *compiler) oneDword(id ir.ID) bool {
	if t := c.v(id).Type; t != ir.V32 && t != ir.S32 {
		return false
	}
	_, ok := c.isConst(id)
	return ok || len(c.vals[id].comps) == 1
}

// strip loads the current strip of a 32-bit value into z; a uniform value is that of every lane.
func (c *compiler) strip(z x86.Vec, id ir.ID) {
	a := &c.a
	if x, ok := c.isConst(id); ok {
		a.E(x86.VPBROADCASTD, x86.L512, uint8(z), 0, x86.ML(a.Const32(uint32(x)), 0), noMod)
		return
	}
	k := c.vals[id].comps[0]
	if x, ok := c.compConst(k); ok { // half of one
		a.E(x86.VPBROADCASTD, x86.L512, uint8(z), 0, x86.ML(a.Const32(uint32(x)), 0), noMod)
		return
	}
	if m := &c.comps[k]; m.kind != compZ {
		a.E(x86.VPBROADCASTD, x86.L512, uint8(z), 0, c.memOf(k), noMod)
		return
	}
	x := access{c: c}
	a.E(x86.VMOVDQU32, x86.L512, uint8(z), 0, x.at(k), noMod)
}

// ldsNarrow loads or stores 1 or 2 bytes a lane, as an operation of the whole wave: bytes can be neither gathered nor
// scattered, so a strip whose lanes do not follow one another goes lane by lane, in order.
func (c *compiler) ldsNarrow(id ir.ID, v *ir.Value) {
	a := &c.a
	const L = x86.L512
	const lds, size = x86.RDX, x86.R15
	w, store := int32(v.Width), v.Op == ir.OpStore
	x := access{c: c, id: id, v: v, w: w, store: store}
	a.G(x86.MOV, 8, lds, x86.M(rState, offLDS))
	c.ldsLimit(int32(v.Imm) + w - 1)
	a.E(x86.VPBROADCASTDG, L, 8, 0, x86.R(x86.RAX), noMod) // bound of addresses
	a.G(x86.MOV, 8, size, x86.M(rState, offLDSLen))
	a.Alu(x86.XOR, 4, rStrip, x86.R(rStrip))
	a.Alu(x86.XOR, 4, rMask, x86.R(rMask))
	top, next, single, loop, none := a.NewLabel(), a.NewLabel(), a.NewLabel(), a.NewLabel(), a.NewLabel()
	if y, ok := c.isConst(v.Args[2]); ok {
		a.LeaL(x86.R12, a.Const64(y), 0)
	} else {
		a.G(x86.LEA, 8, x86.R12, c.memOf(c.vals[v.Args[2]].comps[0]))
	}
	a.Bind(top)
	a.X(x86.KMOVWL, x86.L128, 1, 0, x86.MX(x86.R12, rMask, 1, 0))
	c.strip(0, v.Args[1])
	if store {
		c.strip(1, v.Args[3])
	}
	a.EI(x86.VPCMPUD, L, 2, 0, x86.V(8), 1, x86.Masked(1))
	a.E(x86.VPSUBD, L, 5, 0, c.table(laneTimes(uint32(w))), noMod)
	a.E(x86.VPBROADCASTD, L, 6, 0, x86.V(0), noMod)
	a.E(x86.VPCMPEQD, L, 2, 5, x86.V(6), x86.Masked(2))
	a.X(x86.KORTESTW, x86.L128, 2, 0, x86.KR(2))
	a.Jcc(x86.AE, single)
	// All lanes are active, in range and consecutive.
	a.E(x86.VMOVDS, x86.L128, 0, 0, x86.R(x86.R8), noMod)
	p := x86.MX(lds, x86.R8, 1, int32(v.Imm))
	if store {
		a.E(narrowing[w-1], L, 1, 0, p, noMod)
	} else {
		a.E(widening[w-1][b2i(v.Sign)], L, 1, 0, p, noMod)
	}
	a.Jmp(next)

	a.Bind(single)
	a.X(x86.KMOVGW, x86.L128, uint8(x86.R14), 0, x86.KR(1))
	if !store {
		a.E(x86.VPXORD, L, 1, 1, x86.V(1), noMod)
	}
	a.GS(x86.TEST, 4, x86.R(x86.R14), x86.R14)
	a.Jcc(x86.E, next)
	a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, tmpAddr), noMod)
	a.E(x86.VMOVDQU32S, L, 1, 0, x86.M(rFrame, tmpData), noMod)
	a.Bind(loop)
	a.G(x86.TZCNT, 4, x86.RCX, x86.R(x86.R14))
	a.G(x86.MOV, 4, x86.R8, x86.MX(rFrame, x86.RCX, 4, tmpAddr))
	a.AluI(x86.ADD, 4, x86.R(x86.R8), int32(v.Imm)) // wraps at 32 bits
	a.G(x86.LEA, 8, x86.RAX, x86.M(x86.R8, w))
	a.Alu(x86.CMP, 8, x86.RAX, x86.R(size))
	a.Jcc(x86.A, none)
	lane, at := x86.MX(rFrame, x86.RCX, 4, tmpData), x86.MX(lds, x86.R8, 1, 0)
	if store {
		a.G(x86.MOV, 4, x86.RAX, lane)
		a.GS(x86.MOVS, int(w), at, x86.RAX)
	} else {
		a.G(extending[w-1][b2i(v.Sign)], 4, x86.RAX, at)
		a.GS(x86.MOVS, 4, lane, x86.RAX)
	}
	a.Bind(none)
	a.GV(x86.BLSR, 4, 0, x86.R14, x86.R(x86.R14))
	a.Jcc(x86.NE, loop)
	if !store {
		a.E(x86.VMOVDQU32, L, 1, 0, x86.M(rFrame, tmpData), noMod)
	}
	a.Bind(next)
	if !store {
		a.E(x86.VMOVDQU32S, L, 1, 0, x.at(c.vals[id].comps[0]), noMod)
	}
	a.AluI(x86.ADD, 8, x86.R(rStrip), 64)
	a.AluI(x86.ADD, 8, x86.R(rMask), 2)
	a.AluI(x86.CMP, 4, x86.R(rStrip), int32(64*c.strips))
	a.Jcc(x86.NE, top)
}

// Instructions for 1 and 2 bytes a lane; of loads, without and with sign.
var (
	narrowing = [2]*x86.Inst{x86.VPMOVDB, x86.VPMOVDW}
	widening  = [2][2]*x86.Inst{{x86.VPMOVZXBD, x86.VPMOVSXBD}, {x86.VPMOVZXWD, x86.VPMOVSXWD}}
	extending = [2][2]*x86.GInst{{x86.MOVZX8, x86.MOVSX8}, {x86.MOVZX16, x86.MOVSX16}}
)

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// mPerm takes bit l of a mask from a constant table of lanes: one look-up of 64 bits, with a table of bytes.
func (c *compiler) mPerm(id ir.ID, v *ir.Value) {
	a := &c.a
	const L = x86.L512
	t, ok := v.Aux.(*[64]int8)
	if !ok || !c.cpu.BITALG {
		c.helper(id)
		return
	}
	var index [64]byte
	valid := uint64(0)
	for l := range c.lanes {
		if s := int(t[l]); s >= 0 && s < c.lanes {
			index[l] = byte(s)
			valid |= 1 << l
		}
	}
	c.gin(x86.RAX, v.Args[0])
	a.E(x86.VPBROADCASTQG, L, 0, 0, x86.R(x86.RAX), noMod)
	a.E(x86.VPSHUFBITQMB, L, 1, 0, x86.ML(a.Const(index[:], 64), 0), noMod)
	a.X(x86.KMOVGQ, x86.L128, uint8(x86.RAX), 0, x86.KR(1))
	a.MovI(x86.RCX, valid)
	a.Alu(x86.AND, 8, x86.RAX, x86.R(x86.RCX))
	c.gout(id, 0, x86.RAX)
}
