package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// Memory operations that go lane by lane: atomics, flat and scratch accesses, and global ones with operands that are the
// same in all lanes. They have two passes. The first finds each active lane's host address and puts it into a table; it
// changes nothing, so what the TLB does not know, or what must fault, is left to the helper as a whole. The second does
// the accesses in lane order.
//
// Registers of the first pass: R14 lanes left, RCX the lane, R8 its address, R15 base + immediate, RDX the TLB, R13 and R9
// the last page and its delta; RAX, RBX and R12 are temporaries. The second pass has R14, RCX, R8 likewise.

// laneTable is the table's place in the frame: 64 addresses for each dword of an access.
func (c *compiler) laneTable(dwords int) int32 {
	at := (c.frame + 63) &^ 63
	c.frameMax = max(c.frameMax, at+int32(512*dwords))
	return at
}

// lane32 puts dword i of value id, in lane RCX, into r.
func (c *compiler) lane32(r x86.Reg, id ir.ID, i int) {
	if x, ok := c.isConst(id); ok {
		c.a.MovI(r, uint64(uint32(x>>(32*i))))
		return
	}
	ks := c.vals[id].comps
	if len(ks) == 1 && i == 1 {
		c.a.G(x86.MOV, 4, r, c.memOf(ks[0]).Add(4))
		return
	}
	k := ks[i]
	if x, ok := c.compConst(k); ok {
		c.a.MovI(r, uint64(uint32(x)))
		return
	}
	m := &c.comps[k]
	switch {
	case m.arg > 0:
		c.a.G(x86.MOV, 4, r, x86.MX(c.argument(m.arg), x86.RCX, 4, 0))
	case m.kind != compZ:
		c.a.G(x86.MOV, 4, r, c.memOf(k))
	case m.home >= 0:
		c.a.G(x86.MOV, 4, r, x86.MX(rState, x86.RCX, 4, m.home))
	default:
		c.a.G(x86.MOV, 4, r, x86.MX(rFrame, x86.RCX, 4, c.slot(k)))
	}
}

// lane64 is lane32 for 64 bits; t is a temporary.
func (c *compiler) lane64(r, t x86.Reg, id ir.ID) {
	if x, ok := c.isConst(id); ok {
		c.a.MovI(r, x)
		return
	}
	ks := c.vals[id].comps
	if len(ks) == 1 {
		c.a.G(x86.MOV, 8, r, c.memOf(ks[0]))
		return
	}
	c.lane32(r, id, 0)
	if x, ok := c.compConst(ks[1]); ok && uint32(x) == 0 {
		return
	}
	c.lane32(t, id, 1)
	c.a.GI8(x86.SHL, 8, x86.R(t), 32)
	c.a.Alu(x86.OR, 8, r, x86.R(t))
}

// lanePair loads dwords i and i+1 of the value in lane RCX into r; t is lost.
func (c *compiler) lanePair(r, t x86.Reg, id ir.ID, i int) {
	if i == 0 {
		c.lane64(r, t, id)
		return
	}
	c.lane32(r, id, i)
	c.lane32(t, id, i+1)
	c.a.GI8(x86.SHL, 8, x86.R(t), 32)
	c.a.Alu(x86.OR, 8, r, x86.R(t))
}

// outLane stores r as dword i of the result in lane RCX.
func (c *compiler) outLane(id ir.ID, i int, r x86.Reg) {
	k := c.vals[id].comps[i]
	if m := &c.comps[k]; m.arg > 0 {
		c.a.GS(x86.MOVS, 4, x86.MX(c.argument(m.arg), x86.RCX, 4, 0), r)
		return
	}
	c.a.GS(x86.MOVS, 4, x86.MX(rFrame, x86.RCX, 4, c.slot(k)), r)
}

// clearOut zeroes the result in all lanes.
func (c *compiler) clearOut(id ir.ID) {
	a := &c.a
	ks := c.vals[id].comps
	if len(ks) == 0 {
		return
	}
	a.E(x86.VPXORD, x86.L512, 0, 0, x86.V(0), noMod)
	x := access{c: c}
	for _, k := range ks {
		for q := range c.strips {
			x.fixed = q + 1
			a.E(x86.VMOVDQU32S, x86.L512, 0, 0, x.at(k), noMod)
		}
	}
}

// gmask loads the lane mask id into r.
func (c *compiler) gmask(r x86.Reg, id ir.ID) {
	if x, ok := c.isConst(id); ok {
		c.a.MovI(r, x&c.full())
		return
	}
	c.a.G(x86.MOV, c.lanes/8, r, c.memOf(c.vals[id].comps[0]))
}

// eachLane runs body for the lanes of R14, ascending, in RCX.
func (c *compiler) eachLane(body func()) {
	a := &c.a
	loop, done := a.NewLabel(), a.NewLabel()
	a.GS(x86.TEST, 8, x86.R(x86.R14), x86.R14)
	a.Jcc(x86.E, done)
	a.Bind(loop)
	a.G(x86.TZCNT, 8, x86.RCX, x86.R(x86.R14))
	body()
	a.GV(x86.BLSR, 8, 0, x86.R14, x86.R(x86.R14))
	a.Jcc(x86.NE, loop)
	a.Bind(done)
}

// canLaneAddr tells whether hostTable knows the address of v.
func (c *compiler) canLaneAddr(v *ir.Value) bool {
	if b := v.Args[0]; b != ir.NoID && c.v(b).Type != ir.S64 && c.v(b).Type != ir.S32 {
		return false
	}
	return v.Space == ir.Global || v.Space == ir.Flat || v.Space == ir.Scratch
}

// laneBase puts the uniform part of the address into R15.
func (c *compiler) laneBase(v *ir.Value) {
	a := &c.a
	imm := int32(v.Imm)
	if v.Args[0] == ir.NoID {
		a.MovI(x86.R15, uint64(int64(imm)))
		return
	}
	c.gin(x86.R15, v.Args[0])
	if imm != 0 {
		a.AluI(x86.ADD, 8, x86.R(x86.R15), imm)
	}
}

// laneVA puts the address of lane RCX into R8; RAX is a temporary.
func (c *compiler) laneVA(v *ir.Value) {
	a := &c.a
	off := v.Args[1]
	switch {
	case off == ir.NoID:
		a.G(x86.MOV, 8, x86.R8, x86.R(x86.R15))
		return
	case c.v(off).Type == ir.V64 || c.v(off).Type == ir.S64:
		c.lane64(x86.R8, x86.RAX, off)
	default:
		c.lane32(x86.R8, off, 0)
		if v.Imm&ir.OffSigned != 0 {
			a.G(x86.MOVSXD, 8, x86.R8, x86.R(x86.R8))
		}
	}
	a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.R15))
}

// hostTable fills the table at table for pieces of piece bytes (the dwords of an access, or all of it) with the host
// addresses of the active lanes; 0 for what is out of range of the LDS. whole asks for natural alignment. Anything that
// needs the helper goes to slow.
func (c *compiler) hostTable(v *ir.Value, table int32, piece, pieces int32, acc mem.Access, whole bool, slow x86.Label) {
	a := &c.a
	c.laneBase(v)
	c.gmask(x86.R14, v.Args[2])
	a.G(x86.MOV, 8, x86.RDX, x86.M(rState, offTLB))
	a.MovI(x86.R13, ^uint64(0))
	c.eachLane(func() {
		c.laneVA(v)
		next := a.NewLabel()
		entry := func(i int32) x86.RM { return x86.MX(rFrame, x86.RCX, 8, table+512*i) }
		private := a.NewLabel()
		switch v.Space {
		case ir.Scratch:
			a.G(x86.MOV, 4, x86.R8, x86.R(x86.R8))
		case ir.Flat:
			global := a.NewLabel()
			a.G(x86.MOV, 8, x86.RAX, x86.R(x86.R8))
			a.GI8(x86.SHR, 8, x86.R(x86.RAX), 32)
			a.Jcc(x86.E, global)
			a.Alu(x86.CMP, 8, x86.RAX, x86.M(rFrame, framePrivate))
			a.Jcc(x86.E, private)
			a.Alu(x86.CMP, 8, x86.RAX, x86.M(rFrame, frameShared))
			a.Jcc(x86.NE, global)
			// LDS: each piece is in range or not.
			a.G(x86.MOV, 4, x86.R8, x86.R(x86.R8))
			for i := range pieces {
				a.Alu(x86.XOR, 4, x86.RBX, x86.R(x86.RBX))
				a.G(x86.MOV, 8, x86.RAX, x86.M(rState, offLDS))
				a.G(x86.LEA, 8, x86.RAX, x86.MX(x86.RAX, x86.R8, 1, piece*i))
				a.G(x86.LEA, 8, x86.R12, x86.M(x86.R8, piece*(i+1)))
				a.Alu(x86.CMP, 8, x86.R12, x86.M(rState, offLDSLen))
				a.Cmov(x86.A, 8, x86.RAX, x86.R(x86.RBX))
				a.GS(x86.MOVS, 8, entry(i), x86.RAX)
			}
			a.Jmp(next)
			a.Bind(global)
		}
		if v.Space != ir.Scratch {
			if whole {
				a.TestI(4, x86.R(x86.R8), piece-1)
				a.Jcc(x86.NE, slow)
			}
			for i := range pieces {
				if i > 0 {
					a.AluI(x86.ADD, 8, x86.R(x86.R8), piece)
				}
				c.lanePage(x86.R8, acc, piece, !whole && piece > 1, slow)
				a.G(x86.LEA, 8, x86.RAX, x86.MX(x86.R8, x86.R9, 1, 0))
				a.GS(x86.MOVS, 8, entry(i), x86.RAX)
			}
		}
		if v.Space != ir.Global {
			if v.Space == ir.Flat {
				a.Jmp(next)
				a.Bind(private)
				a.G(x86.MOV, 4, x86.R8, x86.R(x86.R8))
			}
			// Private memory: dwords of the lanes are interleaved (ir.Scratch). A piece lies inside a dword.
			switch {
			case piece == 4:
				a.TestI(4, x86.R(x86.R8), 3)
				a.Jcc(x86.NE, slow)
			case piece == 2:
				a.G(x86.MOV, 4, x86.RAX, x86.R(x86.R8))
				a.AluI(x86.AND, 4, x86.R(x86.RAX), 3)
				a.AluI(x86.CMP, 4, x86.R(x86.RAX), 3)
				a.Jcc(x86.E, slow)
			case piece > 4: // atomics of 64 bits fault
				a.Jmp(slow)
			}
			if piece <= 4 {
				a.G(x86.MOV, 4, x86.R12, x86.R(x86.R8))
				a.AluI(x86.AND, 4, x86.R(x86.R12), 3)
				a.AluI(x86.AND, 8, x86.R(x86.R8), -4)
				a.IMulI(8, x86.R8, x86.R(x86.R8), int32(c.lanes))
				a.G(x86.LEA, 8, x86.R8, x86.MX(x86.R8, x86.RCX, 4, 0))
				a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.R12))
				a.Alu(x86.ADD, 8, x86.R8, x86.M(rState, offS+4*isa.SRegFlatScratchLo))
				for i := range pieces {
					if i > 0 {
						a.AluI(x86.ADD, 8, x86.R(x86.R8), 4*int32(c.lanes))
					}
					c.lanePage(x86.R8, acc, piece, false, slow)
					a.G(x86.LEA, 8, x86.RAX, x86.MX(x86.R8, x86.R9, 1, 0))
					a.GS(x86.MOVS, 8, entry(i), x86.RAX)
				}
			}
		}
		a.Bind(next)
	})
}

// lanePage makes R9 the delta of the page of va. It uses RAX and RBX. An access of n bytes that may cross pages is looked
// at.
func (c *compiler) lanePage(va x86.Reg, acc mem.Access, n int32, cross bool, slow x86.Label) {
	a := &c.a
	known := a.NewLabel()
	if cross {
		a.G(x86.MOV, 4, x86.RAX, x86.R(va))
		a.AluI(x86.AND, 4, x86.R(x86.RAX), mem.PageSize-1)
		a.AluI(x86.CMP, 4, x86.R(x86.RAX), mem.PageSize-n)
		a.Jcc(x86.A, slow)
	}
	a.G(x86.MOV, 8, x86.RAX, x86.R(va))
	a.GI8(x86.SHR, 8, x86.R(x86.RAX), mem.PageShift)
	a.Alu(x86.CMP, 8, x86.RAX, x86.R(x86.R13))
	a.Jcc(x86.E, known)
	a.G(x86.MOV, 8, x86.R13, x86.R(x86.RAX))
	field := tlbR
	if acc&mem.Write != 0 {
		field = tlbW
	}
	c.probe(x86.R13, x86.R9, x86.RDX, field, slow)
	if acc == mem.Read|mem.Write {
		a.Alu(x86.CMP, 8, x86.RBX, x86.MX(x86.RDX, x86.RAX, 1, tlbR))
		a.Jcc(x86.NE, slow)
	}
	a.Bind(known)
}

// canLaneAccess tells whether laneAccess knows the load or store.
func (c *compiler) canLaneAccess(v *ir.Value) bool {
	n := v.Regs()
	if v.Op == ir.OpStore {
		switch t := c.v(v.Args[3]); t.Type {
		case ir.V64, ir.S64:
			n = 2
		case ir.T:
			n = int(t.N)
		case ir.V32, ir.S32:
			n = 1
		default:
			return false
		}
	}
	switch v.Width {
	case 1, 2:
		return n == 1 && c.canLaneAddr(v)
	case 4, 8, 12, 16:
		return n == int(v.Width)/4 && c.canLaneAddr(v)
	}
	return false
}

// laneAccess is a load or store lane by lane.
func (c *compiler) laneAccess(id ir.ID, v *ir.Value) {
	if c.canShare(id, v) {
		c.share(id, v, true)
		return
	}
	slow, done := c.coldHelper(id)
	if c.canFlatLDS(id, v) {
		c.flatLDS(id, v, done)
	}
	c.laneAccessAt(id, v, slow, done)
}

// laneAccessAt is a load or store lane by lane that leaves to the helper at slow, and ends at done.
func (c *compiler) laneAccessAt(id ir.ID, v *ir.Value, slow, done x86.Label) {
	a := &c.a
	piece, pieces := int32(4), int32(v.Width)/4
	if v.Width < 4 {
		piece, pieces = int32(v.Width), 1
	}
	table := c.laneTable(int(pieces))
	acc := mem.Read
	if v.Op == ir.OpStore {
		acc = mem.Write
	}
	c.hostTable(v, table, piece, pieces, acc, false, slow)
	c.gmask(x86.R14, v.Args[2])
	load := v.Op == ir.OpLoad
	if load {
		c.clearOut(id)
	}
	c.eachLane(func() {
		c.lanePieces(pieces, func(i int32, after x86.Label) { c.laneQuad(id, v, table, i, after) }, func(i int32) {
			skip := a.NewLabel()
			a.G(x86.MOV, 8, x86.R8, x86.MX(rFrame, x86.RCX, 8, table+512*i))
			if v.Space == ir.Flat {
				a.GS(x86.TEST, 8, x86.R(x86.R8), x86.R8)
				a.Jcc(x86.E, skip)
			}
			if load {
				a.G(narrowLoad(v), 4, x86.RAX, x86.M(x86.R8, 0))
				c.outLane(id, int(i), x86.RAX)
			} else {
				c.lane32(x86.RAX, v.Args[3], int(i))
				a.GS(x86.MOVS, int(piece), x86.M(x86.R8, 0), x86.RAX)
			}
			a.Bind(skip)
		})
	})
	a.Bind(done)
}

// lanePieces moves the pieces of an access, two at a time where there are two: pair goes to after when it has moved both, else each is moved by one.
func (c *compiler) lanePieces(pieces int32, pair func(i int32, after x86.Label), one func(i int32)) {
	for i := int32(0); i < pieces; i += 2 {
		after := c.a.NewLabel()
		if i+1 < pieces {
			pair(i, after)
		}
		for j := i; j < min(i+2, pieces); j++ {
			one(j)
		}
		c.a.Bind(after)
	}
}

// laneQuad moves the eight bytes of pieces i and i+1 of lane RCX and goes to next, when both of the table's entries are side by side in host memory; else
// it falls through. A lane's aligned quadword is one access of the host: programs hand a flag and a value to each other in one.
func (c *compiler) laneQuad(id ir.ID, v *ir.Value, table, i int32, next x86.Label) {
	a := &c.a
	apart := a.NewLabel()
	a.G(x86.MOV, 8, x86.R8, x86.MX(rFrame, x86.RCX, 8, table+512*i))
	a.G(x86.LEA, 8, x86.RAX, x86.M(x86.R8, 4))
	a.Alu(x86.CMP, 8, x86.RAX, x86.MX(rFrame, x86.RCX, 8, table+512*i+512))
	a.Jcc(x86.NE, apart)
	if v.Op == ir.OpLoad {
		a.G(x86.MOV, 8, x86.RAX, x86.M(x86.R8, 0))
		c.outLane(id, int(i), x86.RAX)
		a.GI8(x86.SHR, 8, x86.R(x86.RAX), 32)
		c.outLane(id, int(i)+1, x86.RAX)
	} else {
		c.lanePair(x86.RAX, x86.RBX, v.Args[3], int(i))
		a.GS(x86.MOVS, 8, x86.M(x86.R8, 0), x86.RAX)
	}
	a.Jmp(next)
	a.Bind(apart)
}

// narrowLoad is the instruction that loads one element of v into 32 bits.
func narrowLoad(v *ir.Value) *x86.GInst {
	switch {
	case v.Width >= 4:
		return x86.MOV
	case v.Width == 2 && v.Sign:
		return x86.MOVSX16
	case v.Width == 2:
		return x86.MOVZX16
	case v.Sign:
		return x86.MOVSX8
	}
	return x86.MOVZX8
}

// laneOp does id when it is one of the operations that go lane by lane; ok is false for others.
func (c *compiler) laneOp(id ir.ID, v *ir.Value) (ok bool) {
	switch v.Op {
	case ir.OpAtomic:
		if ok = c.canAtomic(v); ok {
			c.atomic(id, v)
		}
	case ir.OpLoad, ir.OpStore:
		if v.Space == ir.Global && c.canGlobal(v) {
			return false
		}
		if ok = c.canLDSUniform(v); ok {
			c.ldsUniform(id, v)
			return ok
		}
		if ok = c.canLaneAccess(v); ok {
			c.laneAccess(id, v)
		}
	}
	return ok
}

// canLDSUniform tells whether v loads from one LDS address, the same in all lanes.
func (c *compiler) canLDSUniform(v *ir.Value) bool {
	if v.Space != ir.LDS || v.Op != ir.OpLoad || v.Args[0] != ir.NoID || v.Args[1] == ir.NoID || v.Imm&ir.OffSigned != 0 || v.Width%4 != 0 ||
		v.Width > 16 || v.Regs() != int(v.Width)/4 {
		return false
	}
	if t := c.v(v.Args[1]).Type; t != ir.V32 && t != ir.S32 {
		return false
	}
	if _, ok := c.isConst(v.Args[1]); ok {
		return true
	}
	ks := c.vals[v.Args[1]].comps
	if len(ks) != 1 {
		return false
	}
	_, ok := c.compConst(ks[0])
	return ok || c.comps[ks[0]].kind != compZ
}

// ldsUniform loads once and gives it to the active lanes; what is out of range is 0.
func (c *compiler) ldsUniform(id ir.ID, v *ir.Value) {
	a := &c.a
	const L = x86.L512
	c.lane32(x86.R8, v.Args[1], 0)
	a.AluI(x86.ADD, 4, x86.R(x86.R8), int32(v.Imm)) // wraps at 32 bits
	a.G(x86.MOV, 8, x86.RDX, x86.M(rState, offLDS))
	c.gmask(x86.R14, v.Args[2])
	for i, k := range c.vals[id].comps {
		none := a.NewLabel()
		a.Alu(x86.XOR, 4, x86.RAX, x86.R(x86.RAX))
		a.G(x86.LEA, 8, x86.RCX, x86.M(x86.R8, 4*int32(i)+4))
		a.Alu(x86.CMP, 8, x86.RCX, x86.M(rState, offLDSLen))
		a.Jcc(x86.A, none)
		a.G(x86.MOV, 4, x86.RAX, x86.MX(x86.RDX, x86.R8, 1, 4*int32(i)))
		a.Bind(none)
		for q := range c.strips {
			a.X(x86.KMOVQG, x86.L128, 1, 0, x86.R(x86.R14))
			if q > 0 {
				a.XI(x86.KSHIFTRQ, x86.L128, 1, 0, x86.KR(1), uint8(16*q))
			}
			a.E(x86.VPBROADCASTDG, L, 0, 0, x86.R(x86.RAX), x86.Zeroed(1))
			a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, c.slot(k)+int32(64*q)), noMod)
		}
	}
}
