package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// canLDS tells whether an LDS access can be part of a region.
func (c *compiler) canLDS(v *ir.Value) bool {
	if v.Op == ir.OpAtomic || v.Args[0] != ir.NoID || v.Args[1] == ir.NoID || c.v(v.Args[1]).Type != ir.V32 ||
		v.Imm&ir.OffSigned != 0 || int32(v.Imm) < 0 {
		return false
	}
	if v.Op == ir.OpStore {
		t := c.v(v.Args[3]).Type
		return v.Width == 4 && (t == ir.V32 || t == ir.S32)
	}
	switch v.Type {
	case ir.V32:
		return v.Width == 4
	case ir.V64: // the slow way takes a spare vector
		return v.Width == 8
	case ir.T:
		return int(v.Width) == 4*int(v.N) && v.N <= 4
	}
	return false
}

// ldsBounds gives the mask of an access, and the lanes of it that are surely in the work-group's LDS: the offset does not
// wrap and all bytes are in range. It uses RAX and RCX.
func (c *compiler) ldsBounds(v *ir.Value, addr x86.Vec, u int) (mask, in x86.K) {
	r, a := &c.r, &c.a
	mask = r.kin(v.Args[2], u, true)
	in = r.ktmp()
	t := r.tmp()
	c.ldsLimit(int32(v.Imm) + int32(v.Width) - 1)
	a.E(x86.VPBROADCASTDG, x86.L512, uint8(t), 0, x86.R(x86.RAX), noMod)
	a.EI(x86.VPCMPUD, x86.L512, uint8(in), uint8(addr), x86.V(t), 1, x86.Masked(mask))
	r.freeTmp(t)
	return mask, in
}

var tabStride = map[int]*[16]uint32{4: laneTimes(4), 8: laneTimes(8), 12: laneTimes(12), 16: laneTimes(16)}

func laneTimes(n uint32) *[16]uint32 {
	var t [16]uint32
	for i := range uint32(16) {
		t[i] = i * n
	}
	return &t
}

// ldsLoad loads 4, 8, 12 or 16 bytes a lane: by broadcast when all lanes of the strip have one address, by whole vectors
// when they are contiguous, else by gathers.
func (c *compiler) ldsLoad(id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	const lds = x86.RDX
	addr := r.zin(v.Args[1], 0, u, 4)
	mask, k := c.ldsBounds(v, addr, u)
	n := len(c.vals[id].comps)
	wide := v.Type == ir.V64
	var d []x86.Vec
	for i := range n {
		d = append(d, r.dstEarly(id, i, u))
	}
	kk, t := r.ktmp(), r.tmp()
	var hi x86.Vec // registers are taken before the code branches, so that spills are on every path
	if wide {
		hi = r.tmp()
	}
	imm := int32(v.Imm)
	a.G(x86.MOV, 8, lds, x86.M(rState, offLDS))
	gather, contig, done := a.NewLabel(), a.NewLabel(), a.NewLabel()
	a.X(x86.KORTESTW, x86.L128, uint8(k), 0, x86.KR(k))
	a.Jcc(x86.AE, gather) // some lane is off
	a.E(x86.VPBROADCASTD, L, uint8(t), 0, x86.V(addr), noMod)
	a.E(x86.VMOVDS, x86.L128, uint8(addr), 0, x86.R(x86.RAX), noMod)
	a.E(x86.VPCMPEQD, L, uint8(kk), uint8(t), x86.V(addr), noMod)
	a.X(x86.KORTESTW, x86.L128, uint8(kk), 0, x86.KR(kk))
	a.Jcc(x86.AE, contig)
	for i := range n {
		if wide {
			a.E(x86.VPBROADCASTQ, L, uint8(d[i]), 0, x86.MX(lds, x86.RAX, 1, imm), noMod)
		} else {
			a.E(x86.VPBROADCASTD, L, uint8(d[i]), 0, x86.MX(lds, x86.RAX, 1, imm+4*int32(i)), noMod)
		}
	}
	a.Jmp(done)
	a.Bind(contig)
	if n == 1 || wide {
		a.E(x86.VPADDD, L, uint8(t), uint8(t), r.table(tabStride[int(v.Width)]), noMod)
		a.E(x86.VPCMPEQD, L, uint8(kk), uint8(t), x86.V(addr), noMod)
		a.X(x86.KORTESTW, x86.L128, uint8(kk), 0, x86.KR(kk))
		a.Jcc(x86.AE, gather)
		for i := range n {
			a.E(x86.VMOVDQU32, L, uint8(d[i]), 0, x86.MX(lds, x86.RAX, 1, imm+64*int32(i)), noMod)
		}
		a.Jmp(done)
	}
	a.Bind(gather)
	// The slow way is exact: the address wraps at 32 bits, and an access that is not all in range goes dword by dword.
	a.E(x86.VPADDD, L, uint8(t), uint8(addr), x86.ML(a.Const32(uint32(v.Imm)), 0).Bcast(), noMod)
	dwords := int(v.Width) / 4
	parts := d
	if wide { // two dword vectors, then interleaved
		parts = []x86.Vec{d[0], hi}
	}
	for j := range dwords {
		p := parts[j]
		c.ldsLimit(int32(4*j) + 3)
		a.E(x86.VPBROADCASTDG, L, uint8(p), 0, x86.R(x86.RAX), noMod)
		a.EI(x86.VPCMPUD, L, uint8(kk), uint8(t), x86.V(p), 1, x86.Masked(mask))
		a.E(x86.VPXORD, L, uint8(p), uint8(p), x86.V(p), noMod)
		a.E(x86.VPGATHERDD, L, uint8(p), 0, x86.MV(lds, t, 1, int32(4*j)), x86.Masked(kk))
	}
	if wide {
		a.E(x86.VMOVDQU32, L, uint8(t), 0, r.table(tabPairHi), noMod)
		a.E(x86.VPERMI2D, L, uint8(t), uint8(d[0]), x86.V(hi), noMod)
		a.E(x86.VMOVDQU32, L, uint8(d[1]), 0, r.table(tabPairLo), noMod)
		a.E(x86.VPERMI2D, L, uint8(d[1]), uint8(d[0]), x86.V(hi), noMod)
		a.E(x86.VMOVDQU32, L, uint8(d[0]), 0, x86.V(d[1]), noMod)
		a.E(x86.VMOVDQU32, L, uint8(d[1]), 0, x86.V(t), noMod)
	}
	a.Bind(done)
}

// ldsLimit puts into RAX the number of addresses a at which a+last is still in the LDS: max(0, LDSLen - last).
func (c *compiler) ldsLimit(last int32) {
	a := &c.a
	a.Alu(x86.XOR, 4, x86.RCX, x86.R(x86.RCX))
	a.G(x86.MOV, 8, x86.RAX, x86.M(rState, offLDSLen))
	a.AluI(x86.SUB, 8, x86.R(x86.RAX), last)
	a.Cmov(x86.B, 8, x86.RAX, x86.R(x86.RCX))
}

// ldsStore stores 4 bytes a lane; of several lanes with one address the highest wins.
func (c *compiler) ldsStore(id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	const lds = x86.RDX
	addr := r.zin(v.Args[1], 0, u, 4)
	mask, k := c.ldsBounds(v, addr, u)
	x := r.zin(v.Args[3], 0, u, 4)
	kk, t, lim := r.ktmp(), r.tmp(), r.tmp()
	imm := int32(v.Imm)
	a.G(x86.MOV, 8, lds, x86.M(rState, offLDS))
	scatter, done := a.NewLabel(), a.NewLabel()
	a.X(x86.KORTESTW, x86.L128, uint8(k), 0, x86.KR(k))
	a.Jcc(x86.AE, scatter)
	a.E(x86.VPBROADCASTD, L, uint8(t), 0, x86.V(addr), noMod)
	a.E(x86.VMOVDS, x86.L128, uint8(addr), 0, x86.R(x86.RAX), noMod)
	a.E(x86.VPADDD, L, uint8(t), uint8(t), r.table(tabStride[4]), noMod)
	a.E(x86.VPCMPEQD, L, uint8(kk), uint8(t), x86.V(addr), noMod)
	a.X(x86.KORTESTW, x86.L128, uint8(kk), 0, x86.KR(kk))
	a.Jcc(x86.AE, scatter)
	a.E(x86.VMOVDQU32S, L, uint8(x), 0, x86.MX(lds, x86.RAX, 1, imm), noMod)
	a.Jmp(done)
	a.Bind(scatter)
	a.E(x86.VPADDD, L, uint8(t), uint8(addr), x86.ML(a.Const32(uint32(v.Imm)), 0).Bcast(), noMod)
	c.ldsLimit(3)
	a.E(x86.VPBROADCASTDG, L, uint8(lim), 0, x86.R(x86.RAX), noMod)
	a.EI(x86.VPCMPUD, L, uint8(kk), uint8(t), x86.V(lim), 1, x86.Masked(mask))
	a.E(x86.VPSCATTERDD, L, uint8(x), 0, x86.MV(lds, t, 1, 0), x86.Masked(kk))
	a.Bind(done)
}
