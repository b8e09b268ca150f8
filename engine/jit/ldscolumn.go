package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// Stores of dwords to the LDS are done for the whole wave, and those that follow one another at one address (ds_write2_b32, rows of a tile)
// together: where the lanes' addresses lie is found out once. Either each strip's dwords are one behind the other, as a row is stored. Or the strips'
// dwords of one lane are, as when a tile is stored in columns: then a lane's dwords are one store. Else a strip is scattered.
//
// The order of lanes must not be seen: of several lanes with one address the highest wins. Rows are stored in the strips' order. In columns the
// lanes' pieces must lie one above the other, so that none overlap.

// storesOf tells whether store v, the next operation, can go on what the last segment stores.
func (p *planner) storesOf(v *ir.Value) bool {
	c := p.c
	if len(c.segs) == 0 || len(p.scalar)+len(p.vector) > 0 {
		return false
	}
	s := &c.segs[len(c.segs)-1]
	if s.kind != segStores {
		return false
	}
	w := c.v(s.ops[0])
	return w.Args[1] == v.Args[1] && w.Args[2] == v.Args[2]
}

// addStore plans an LDS store of dwords.
func (p *planner) addStore(id ir.ID, v *ir.Value) {
	c := p.c
	if p.storesOf(v) {
		s := &c.segs[len(c.segs)-1]
		s.ops = append(s.ops[:len(s.ops):len(s.ops)], id)
		return
	}
	p.close()
	c.segs = append(c.segs, segment{segStores, c.ids(id)})
}

// ldsStores emits stores of dwords at one address and under one mask.
func (c *compiler) ldsStores(ops []ir.ID) {
	a := &c.a
	first := c.v(ops[0])
	if c.oneForAll(first.Args[1]) {
		for _, id := range ops {
			c.mark(id, c.v(id).PC)
			c.ldsStoreOne(c.v(id))
		}
		return
	}
	c.mark(ops[0], first.PC)
	const lds = x86.RDX
	a.G(x86.MOV, 8, lds, x86.M(rState, offLDS))
	general, columns, done := a.NewLabel(), a.NewLabel(), a.NewLabel()
	whole := c.fullMask(first.Args[2])
	if _, ok := c.isConst(first.Args[2]); !ok && c.v(first.Args[2]).Type == ir.M {
		a.AluI(x86.CMP, c.lanes/8, c.memOf(c.vals[first.Args[2]].comps[0]), -1)
		a.Jcc(x86.NE, general)
		whole = true
	}
	if whole {
		bit := c.kindBits(2, c.vals[first.Args[1]].comps[0])
		inRows, inColumns := a.NewLabel(), a.NewLabel()
		if bit >= 0 {
			c.known(bit, inRows)
			c.known(bit+1, inColumns)
			c.lookRows(ops, columns, general)
			c.learn(bit)
		} else {
			c.lookRows(ops, columns, general)
		}
		a.Bind(inRows)
		c.storeRows(ops)
		a.Jmp(done)
		a.Bind(columns)
		c.lookColumns(general)
		if bit >= 0 {
			c.learn(bit + 1)
		}
		a.Bind(inColumns)
		c.storeColumns(ops)
		a.Jmp(done)
	}
	a.Bind(general)
	for _, id := range ops {
		c.mark(id, c.v(id).PC)
		c.storeStrips(c.v(id))
	}
	a.Bind(done)
}

// lookRows goes on if each strip's addresses follow one another, else at columns or general. The addresses are in z0 and up then.
func (c *compiler) lookRows(ops []ir.ID, columns, general x86.Label) {
	a := &c.a
	const L = x86.L512
	const most, row = 4, 5
	addr := c.vals[c.v(ops[0]).Args[1]].comps[0]
	last := int32(0)
	for _, id := range ops {
		last = max(last, int32(c.v(id).Imm)+3)
	}
	c.ldsLimit(last)
	a.E(x86.VPBROADCASTDG, L, row, 0, x86.R(x86.RAX), noMod)
	for q := range c.strips {
		a.E(x86.VMOVDQU32, L, uint8(q), 0, c.at(addr, q), noMod)
	}
	a.E(x86.VPMAXUD, L, most, 0, x86.V(1), noMod)
	for q := 2; q < c.strips; q++ {
		a.E(x86.VPMAXUD, L, most, most, x86.V(x86.Vec(q)), noMod)
	}
	a.EI(x86.VPCMPUD, L, 1, most, x86.V(row), 1, noMod)
	a.X(x86.KORTESTW, x86.L128, 1, 0, x86.KR(1))
	a.Jcc(x86.AE, general)
	for q := range c.strips {
		mod := noMod
		if q > 1 {
			mod = x86.Masked(1)
		}
		a.E(x86.VPBROADCASTD, L, row, 0, x86.V(x86.Vec(q)), noMod)
		a.E(x86.VPADDD, L, row, row, c.table(tabStride[4]), noMod)
		a.EI(x86.VPCMPD, L, 1, row, x86.V(x86.Vec(q)), 0, mod)
		switch q {
		case 0:
			a.X(x86.KORTESTW, x86.L128, 1, 0, x86.KR(1))
			a.Jcc(x86.AE, columns)
		case c.strips - 1:
			a.X(x86.KORTESTW, x86.L128, 1, 0, x86.KR(1))
			a.Jcc(x86.AE, general)
		}
	}
}

// storeRows stores where each strip's addresses follow one another.
func (c *compiler) storeRows(ops []ir.ID) {
	a := &c.a
	const L = x86.L512
	addr := c.vals[c.v(ops[0]).Args[1]].comps[0]
	at := [4]x86.Reg{x86.R8, x86.R9, x86.R12, x86.R13}
	for q := range c.strips {
		a.G(x86.MOV, 4, at[q], c.at(addr, q))
	}
	for _, id := range ops {
		v := c.v(id)
		c.mark(id, v.PC)
		for q := range c.strips {
			c.dataStrip(uint8(q), v.Args[3], q)
			a.E(x86.VMOVDQU32S, L, uint8(q), 0, x86.MX(x86.RDX, at[q], 1, int32(v.Imm)), noMod)
		}
	}
}

// lookColumns goes on if the addresses in z0 and up, which are in range, are in each strip the first one's and four bytes on for each strip, and each
// lane's piece of all strips' dwords lies above that of the lane before.
func (c *compiler) lookColumns(general x86.Label) {
	a := &c.a
	const L = x86.L512
	const next = 5
	a.E(x86.VPBROADCASTD, L, next, 0, x86.ML(a.Const32(1<<31-1), 0), noMod)
	a.EI(x86.VALIGND, L, next, next, x86.V(0), 1, noMod)
	a.E(x86.VPSUBD, L, next, next, x86.V(0), noMod)
	a.EI(x86.VPCMPD, L, 1, next, x86.ML(a.Const32(uint32(4*c.strips)), 0).Bcast(), 5, noMod)
	for q := 1; q < c.strips; q++ {
		a.E(x86.VPSUBD, L, next, uint8(q), x86.V(0), noMod)
		a.EI(x86.VPCMPD, L, 1, next, x86.ML(a.Const32(uint32(4*q)), 0).Bcast(), 0, x86.Masked(1))
	}
	a.X(x86.KORTESTW, x86.L128, 1, 0, x86.KR(1))
	a.Jcc(x86.AE, general)
}

// storeColumns stores where a lane's pieces of all strips are one.
func (c *compiler) storeColumns(ops []ir.ID) {
	a := &c.a
	const L = x86.L512
	addrs := c.at(c.vals[c.v(ops[0]).Args[1]].comps[0], 0)
	regs := [4]x86.Reg{x86.R8, x86.R9, x86.R12, x86.R13}
	at := func(lane int, imm uint64) x86.RM {
		r := regs[lane&3]
		a.G(x86.MOV, 4, r, addrs.Add(4*int32(lane)))
		return x86.MX(x86.RDX, r, 1, int32(imm))
	}
	for _, id := range ops {
		v := c.v(id)
		c.mark(id, v.PC)
		for q := range c.strips {
			c.dataStrip(uint8(q), v.Args[3], q)
		}
		if c.strips == 2 {
			a.E(x86.VPUNPCKLDQ, L, 4, 0, x86.V(1), noMod) // lanes 0 1, 4 5, 8 9, 12 13
			a.E(x86.VPUNPCKHDQ, L, 5, 0, x86.V(1), noMod) // lanes 2 3, …
			for l := 0; l < 16; l += 2 {
				z := uint8(4 + l>>1&1)
				if l >= 4 {
					a.EI(x86.VEXTRACTI32X4, L, z, 0, x86.V(x86.Vec(z+2)), uint8(l>>2), noMod)
					z += 2
				}
				a.E(x86.VMOVQS, x86.L128, z, 0, at(l, v.Imm), noMod)
				a.X(x86.VMOVHPSS, x86.L128, z, 0, at(l+1, v.Imm))
			}
			continue
		}
		a.E(x86.VPUNPCKLDQ, L, 4, 0, x86.V(1), noMod)
		a.E(x86.VPUNPCKHDQ, L, 5, 0, x86.V(1), noMod)
		a.E(x86.VPUNPCKLDQ, L, 6, 2, x86.V(3), noMod)
		a.E(x86.VPUNPCKHDQ, L, 7, 2, x86.V(3), noMod)
		a.E(x86.VPUNPCKLQDQ, L, 0, 4, x86.V(6), noMod) // lanes 0 4 8 12
		a.E(x86.VPUNPCKHQDQ, L, 1, 4, x86.V(6), noMod) // lanes 1 5 9 13
		a.E(x86.VPUNPCKLQDQ, L, 2, 5, x86.V(7), noMod)
		a.E(x86.VPUNPCKHQDQ, L, 3, 5, x86.V(7), noMod)
		for l := range 16 {
			m := at(l, v.Imm)
			if l < 4 {
				a.E(x86.VMOVDQU32S, x86.L128, uint8(l), 0, m, noMod)
			} else {
				a.EI(x86.VEXTRACTI32X4, L, uint8(l&3), 0, m, uint8(l>>2), noMod)
			}
		}
	}
}

// dataStrip loads strip q of a dword into z.
func (c *compiler) dataStrip(z uint8, id ir.ID, q int) {
	a := &c.a
	var m x86.RM
	ks := c.vals[id].comps
	x, ok := c.isConst(id)
	if !ok {
		if x, ok = c.compConst(ks[0]); !ok && c.comps[ks[0]].kind == compZ {
			a.E(x86.VMOVDQU32, x86.L512, z, 0, c.at(ks[0], q), noMod)
			return
		}
	}
	if ok {
		m = x86.ML(a.Const32(uint32(x)), 0)
	} else {
		m = c.memOf(ks[0])
	}
	a.E(x86.VPBROADCASTD, x86.L512, z, 0, m, noMod)
}

// storeStrips does one of the stores strip by strip, for any lanes.
func (c *compiler) storeStrips(v *ir.Value) {
	a := &c.a
	const L = x86.L512
	const limit = 6
	c.ldsLimit(3)
	a.E(x86.VPBROADCASTDG, L, limit, 0, x86.R(x86.RAX), noMod)
	a.Alu(x86.XOR, 4, rStrip, x86.R(rStrip))
	a.Alu(x86.XOR, 4, rMask, x86.R(rMask))
	top, scatter, next := a.NewLabel(), a.NewLabel(), a.NewLabel()
	if !c.fullMask(v.Args[2]) {
		c.gmask(x86.RCX, v.Args[2])
	} else {
		a.MovI(x86.RCX, c.full())
	}
	a.Bind(top)
	a.X(x86.KMOVWG, x86.L128, 1, 0, x86.R(x86.RCX))
	c.strip(0, v.Args[1])
	c.strip(1, v.Args[3])
	if v.Imm != 0 {
		a.E(x86.VPADDD, L, 0, 0, x86.ML(a.Const32(uint32(v.Imm)), 0).Bcast(), noMod) // wraps at 32 bits
	}
	a.EI(x86.VPCMPUD, L, 1, 0, x86.V(limit), 1, x86.Masked(1))
	a.E(x86.VPBROADCASTD, L, 2, 0, x86.V(0), noMod)
	a.E(x86.VPADDD, L, 2, 2, c.table(tabStride[4]), noMod)
	a.EI(x86.VPCMPD, L, 2, 2, x86.V(0), 0, x86.Masked(1))
	a.X(x86.KORTESTW, x86.L128, 1, 0, x86.KR(1))
	a.Jcc(x86.E, next) // none
	a.X(x86.KORTESTW, x86.L128, 2, 0, x86.KR(2))
	a.Jcc(x86.AE, scatter)
	a.E(x86.VMOVDS, x86.L128, 0, 0, x86.R(x86.RAX), noMod)
	a.E(x86.VMOVDQU32S, L, 1, 0, x86.MX(x86.RDX, x86.RAX, 1, 0), noMod)
	a.Jmp(next)
	a.Bind(scatter)
	a.E(x86.VPSCATTERDD, L, 1, 0, x86.MV(x86.RDX, 0, 1, 0), x86.Masked(1))
	a.Bind(next)
	a.GI8(x86.SHR, 8, x86.R(x86.RCX), 16)
	a.AluI(x86.ADD, 8, x86.R(rStrip), 64)
	a.AluI(x86.CMP, 4, x86.R(rStrip), int32(64*c.strips))
	a.Jcc(x86.NE, top)
}
