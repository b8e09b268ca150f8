package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// Vector operations that read or make lane masks.

// kmove makes mask id the same as mask from.
func (c *compiler) kmove(id, from ir.ID, u int) {
	r := &c.r
	k := r.kin(from, u, false)
	d := r.kdstOver(id, u, k)
	if d != k {
		c.a.X(x86.KMOVW, x86.L128, uint8(d), 0, x86.KR(k))
	}
}

// halfK is the mask of lanes 8i..8i+7.
func (c *compiler) halfK(k x86.K, i int) x86.K {
	if i == 0 || k == 0 {
		return k
	}
	t := c.r.ktmp()
	c.a.XI(x86.KSHIFTRW, x86.L128, uint8(t), 0, x86.KR(k), 8)
	return t
}

func (c *compiler) vselect(id ir.ID, v *ir.Value, u, size int) {
	r, a := &c.r, &c.a
	k := r.kin(v.Args[0], u, false)
	inst := x86.VPBLENDMD
	if size == 8 {
		inst = x86.VPBLENDMQ
	}
	for i := range c.vals[id].comps {
		no := r.zin(v.Args[2], i, u, size)
		yes := r.opnd(v.Args[1], i, u, size)
		ki := k
		if size == 8 {
			ki = c.halfK(k, i)
		}
		d := r.dst(id, i, u)
		a.E(inst, x86.L512, uint8(d), uint8(no), yes, x86.Masked(ki))
	}
}

func (c *compiler) vicmp(id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	o := intCmp[v.Pred]
	t := c.v(v.Args[0]).Type
	if t64 := t == ir.V64 || t == ir.S64; t64 && (v.Pred == ir.EQ || v.Pred == ir.NE) {
		x0, x1 := r.zin(v.Args[0], 0, u, 4), r.zin(v.Args[0], 1, u, 4)
		y0, y1 := r.opnd(v.Args[1], 0, u, 4), r.opnd(v.Args[1], 1, u, 4)
		d := r.kdstEarly(id, u)
		a.EI(x86.VPCMPD, x86.L512, uint8(d), uint8(x0), y0, 0, noMod)
		a.EI(x86.VPCMPD, x86.L512, uint8(d), uint8(x1), y1, 0, x86.Masked(d))
		if v.Pred == ir.NE {
			a.X(x86.KNOTW, x86.L128, uint8(d), 0, x86.KR(d))
		}
		return
	}
	if t == ir.V32 || t == ir.S32 {
		inst := x86.VPCMPD
		if o.unsigned {
			inst = x86.VPCMPUD
		}
		x := r.zin(v.Args[0], 0, u, 4)
		y := r.opnd(v.Args[1], 0, u, 4)
		d := r.kdst(id, u)
		a.EI(inst, x86.L512, uint8(d), uint8(x), y, o.imm, noMod)
		return
	}
	inst := x86.VPCMPQ
	if o.unsigned {
		inst = x86.VPCMPUQ
	}
	var k [2]x86.K
	for i := range 2 {
		x := r.zin(v.Args[0], i, u, 8)
		y := r.opnd(v.Args[1], i, u, 8)
		k[i] = r.ktmp()
		a.EI(inst, x86.L512, uint8(k[i]), uint8(x), y, o.imm, noMod)
	}
	d := r.kdst(id, u)
	a.X(x86.KUNPCKBW, x86.L128, uint8(d), uint8(k[1]), x86.KR(k[0]))
}

// vpermb is v_perm_b32: each byte of sel picks a byte of the eight in a:b (b is bytes 0–3), 8–11 a sign of a word's top

// vcarry is the carry of x+y+cin or the borrow of x-y-cin, for 32 bits or for both halves of 64.
func (c *compiler) vcarry(id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	halves := 1
	if t := c.v(v.Args[0]).Type; t == ir.V64 || t == ir.S64 {
		halves = 2
	}
	k := x86.K(0)
	if len(v.Args) > 2 && v.Args[2] != ir.NoID {
		k = r.kin(v.Args[2], u, false)
	}
	d, t := r.kdstEarly(id, u), r.ktmp()
	for i := range halves {
		x, y := r.zin(v.Args[0], i, u, 4), r.zin(v.Args[1], i, u, 4)
		lhs, rhs := x, x86.V(y) // borrow: x < y, or x == y with borrow in
		eq := rhs
		if v.Op == ir.OpCarryAdd {
			// x+y wraps, or x+y is all ones with carry in.
			s := r.tmp()
			a.E(x86.VPADDD, L, uint8(s), uint8(x), x86.V(y), noMod)
			lhs, rhs = s, x86.V(x)
			eq = x86.ML(a.Const32(0xffffffff), 0).Bcast()
		}
		if k != 0 {
			a.EI(x86.VPCMPUD, L, uint8(t), uint8(lhs), eq, 0, x86.Masked(k))
		}
		a.EI(x86.VPCMPUD, L, uint8(d), uint8(lhs), rhs, 1, noMod)
		if k != 0 {
			a.X(x86.KORW, x86.L128, uint8(d), uint8(d), x86.KR(t))
		}
		k = d
	}
}

// vmbcnt counts the bits below each lane of a 32-bit mask, one for all or one a lane.
func (c *compiler) vmbcnt(id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	off := int32(frameBelowLo)
	if v.Op == ir.OpMbcntHi {
		off = frameBelowHi
	}
	t := r.tmp()
	a.E(x86.VMOVDQU32, L, uint8(t), 0, r.vaddr(rFrame, off, u), noMod)
	a.E(x86.VPANDD, L, uint8(t), uint8(t), r.opnd(v.Args[0], 0, u, 4), noMod)
	a.E(x86.VPOPCNTD, L, uint8(t), 0, x86.V(t), noMod)
	y := r.opnd(v.Args[1], 0, u, 4)
	d := r.dst(id, 0, u)
	a.E(x86.VPADDD, L, uint8(d), uint8(t), y, noMod)
}
