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
	case ir.V64:
		return v.Width == 8
	case ir.T:
		return int(v.Width) == 4*int(v.N) && v.N <= 4
	}
	return false
}

// ldsBounds gives the lanes of mask whose access of v.Width bytes lies in the work-group's LDS; others read 0 and write
// nothing. It uses RAX and RCX.
func (c *compiler) ldsBounds(v *ir.Value, addr x86.Vec, u int) x86.K {
	r, a := &c.r, &c.a
	mask := r.kin(v.Args[2], u, true)
	k := r.ktmp()
	t := r.tmp()
	a.Alu(x86.XOR, 4, x86.RCX, x86.R(x86.RCX))
	a.G(x86.MOV, 8, x86.RAX, x86.M(rState, offLDSLen))
	a.AluI(x86.SUB, 8, x86.R(x86.RAX), int32(v.Imm)+int32(v.Width)-1)
	a.Cmov(x86.B, 8, x86.RAX, x86.R(x86.RCX))
	a.E(x86.VPBROADCASTDG, x86.L512, uint8(t), 0, x86.R(x86.RAX), noMod)
	a.EI(x86.VPCMPUD, x86.L512, uint8(k), uint8(addr), x86.V(t), 1, x86.Masked(mask))
	r.freeTmp(t)
	return k
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
	k := c.ldsBounds(v, addr, u)
	n := len(c.vals[id].comps)
	wide := v.Type == ir.V64
	var d []x86.Vec
	for i := range n {
		d = append(d, r.dstEarly(id, i, u))
	}
	kk, t := r.ktmp(), r.tmp()
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
	for i := range n {
		if wide {
			a.E(x86.VPXORD, L, uint8(d[i]), uint8(d[i]), x86.V(d[i]), noMod)
			ix := addr
			if i == 1 {
				a.EI(x86.VEXTRACTI64X4, L, uint8(addr), 0, x86.V(t), 1, noMod)
				ix = t
				a.XI(x86.KSHIFTRW, x86.L128, uint8(kk), 0, x86.KR(k), 8)
			} else {
				a.X(x86.KMOVB, x86.L128, uint8(kk), 0, x86.KR(k))
			}
			// Indexes are unsigned: only offsets below 2 GiB are in bounds, so sign extension does no harm.
			a.E(x86.VPGATHERDQ, L, uint8(d[i]), 0, x86.MV(lds, ix, 1, imm), x86.Masked(kk))
			continue
		}
		a.E(x86.VPXORD, L, uint8(d[i]), uint8(d[i]), x86.V(d[i]), noMod)
		a.X(x86.KMOVW, x86.L128, uint8(kk), 0, x86.KR(k))
		a.E(x86.VPGATHERDD, L, uint8(d[i]), 0, x86.MV(lds, addr, 1, imm+4*int32(i)), x86.Masked(kk))
	}
	a.Bind(done)
}

// ldsStore stores 4 bytes a lane; of several lanes with one address the highest wins.
func (c *compiler) ldsStore(id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	const lds = x86.RDX
	addr := r.zin(v.Args[1], 0, u, 4)
	k := c.ldsBounds(v, addr, u)
	x := r.zin(v.Args[3], 0, u, 4)
	kk, t := r.ktmp(), r.tmp()
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
	a.X(x86.KMOVW, x86.L128, uint8(kk), 0, x86.KR(k))
	a.E(x86.VPSCATTERDD, L, uint8(x), 0, x86.MV(lds, addr, 1, imm), x86.Masked(kk))
	a.Bind(done)
}
