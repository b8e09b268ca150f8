package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// How the lanes of a strip are moved, once their addresses are known: as vectors, or lane by lane.

// canContiguous tells whether there is a vector form for consecutive lanes.
func (c *compiler) canContiguous(v *ir.Value) bool { return v.Width != 12 }

func quad(j uint32) *[16]uint32 {
	var t [16]uint32
	for l := range uint32(8) {
		t[l] = l*4 + j
		t[8+l] = l*4 + j + 1
	}
	return &t
}

// quadMasks puts, for accesses of 16 bytes, the dword masks of lanes 4i..4i+3 into k4..k7. R14 holds the lane mask.
func (c *compiler) quadMasks() {
	a := &c.a
	a.MovI(x86.RAX, 0x1111111111111111)
	a.GV(x86.PDEP, 8, x86.RAX, x86.R14, x86.R(x86.RAX))
	a.IMulI(8, x86.RAX, x86.R(x86.RAX), 15)
	a.X(x86.KMOVQG, x86.L128, 4, 0, x86.R(x86.RAX))
	for i := range uint8(3) {
		a.XI(x86.KSHIFTRQ, x86.L128, 5+i, 0, x86.KR(4), 16*(i+1))
	}
}

// move does a contiguous access of lane 0 at host address R8: all lanes, or those of k1 and R14.
func (x *access) move(all bool) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	p := func(off int32) x86.RM { return x86.M(x86.R8, off+16*x.w*int32(max(x.fixed-1, 0))) }
	z, m := noMod, noMod
	if !all {
		z, m = x86.Zeroed(1), x86.Masked(1)
	}
	ks := x.data()
	ld := func(r uint8, k int32) { a.E(x86.VMOVDQU32, L, r, 0, x.at(k), noMod) }
	st := func(r uint8, k int32) { a.E(x86.VMOVDQU32S, L, r, 0, x.at(k), noMod) }
	switch {
	case x.w <= 4 && x.store:
		ld(0, ks[0])
		inst := [...]*x86.Inst{1: x86.VPMOVDB, 2: x86.VPMOVDW, 4: x86.VMOVDQU32S}[x.w]
		a.E(inst, L, 0, 0, p(0), m)
	case x.w <= 4:
		inst := x86.VMOVDQU32
		if x.w < 4 {
			inst = [...][2]*x86.Inst{1: {x86.VPMOVZXBD, x86.VPMOVSXBD}, 2: {x86.VPMOVZXWD, x86.VPMOVSXWD}}[x.w][b2i(x.v.Sign)]
		}
		a.E(inst, L, 0, 0, p(0), z)
		st(0, ks[0])
	case x.w == 8:
		z2, m2 := z, m
		if !all {
			a.XI(x86.KSHIFTRW, x86.L128, 2, 0, x86.KR(1), 8)
			z2, m2 = x86.Zeroed(2), x86.Masked(2)
		}
		if x.store {
			ld(0, ks[0])
			ld(1, ks[1])
			a.E(x86.VMOVDQU32, L, 2, 0, c.table(tabPairLo), noMod)
			a.E(x86.VPERMI2D, L, 2, 0, x86.V(1), noMod)
			a.E(x86.VMOVDQU32, L, 3, 0, c.table(tabPairHi), noMod)
			a.E(x86.VPERMI2D, L, 3, 0, x86.V(1), noMod)
			a.E(x86.VMOVDQU64S, L, 2, 0, p(0), m)
			a.E(x86.VMOVDQU64S, L, 3, 0, p(64), m2)
			return
		}
		a.E(x86.VMOVDQU64, L, 0, 0, p(0), z)
		a.E(x86.VMOVDQU64, L, 1, 0, p(64), z2)
		for i, t := range []*[16]uint32{tabLo, tabHi} {
			a.E(x86.VMOVDQU32, L, 2, 0, c.table(t), noMod)
			a.E(x86.VPERMI2D, L, 2, 0, x86.V(1), noMod)
			st(2, ks[i])
		}
	default: // 16
		var zs, ms [4]x86.Mod
		if !all {
			c.quadMasks()
			for i := range zs {
				zs[i], ms[i] = x86.Zeroed(x86.K(4+i)), x86.Masked(x86.K(4+i))
			}
		}
		if x.store {
			for i := range uint8(4) {
				ld(i, ks[i])
			}
			x.interleave4()
			for i := range uint8(4) {
				a.E(x86.VMOVDQU32S, L, i, 0, p(64*int32(i)), ms[i])
			}
			return
		}
		for i := range uint8(4) {
			a.E(x86.VMOVDQU32, L, i, 0, p(64*int32(i)), zs[i])
		}
		x.deinterleave4(ks)
	}
}

// deinterleave4 takes four vectors of four lanes each, in zmm0–3, apart into the components ks.
func (x *access) deinterleave4(ks []int32) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	for i, t := range tabQuad {
		a.E(x86.VMOVDQU32, L, 4, 0, c.table(t), noMod)
		a.E(x86.VMOVDQU32, L, 5, 0, x86.V(4), noMod)
		a.E(x86.VPERMI2D, L, 4, 0, x86.V(1), noMod)
		a.E(x86.VPERMI2D, L, 5, 2, x86.V(3), noMod)
		a.EI(x86.VSHUFI64X2, L, 6, 4, x86.V(5), 0x44, noMod)
		a.EI(x86.VSHUFI64X2, L, 7, 4, x86.V(5), 0xee, noMod)
		a.E(x86.VMOVDQU32S, L, 6, 0, x.at(ks[2*i]), noMod)
		a.E(x86.VMOVDQU32S, L, 7, 0, x.at(ks[2*i+1]), noMod)
	}
}

// bytes; else it falls through.
func (x *access) groups(next x86.Label) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	no := a.NewLabel()
	a.E(x86.VMOVDQU32, L, 0, 0, x.at(x.offs[0]), noMod)
	a.E(x86.VPSUBD, L, 1, 0, c.table(tabInGroup), noMod)
	a.EI(x86.VPSHUFD, L, 2, 0, x86.V(1), 0, noMod)
	a.EI(x86.VPCMPD, L, 1, 2, x86.V(1), 0, noMod)
	if x.pair {
		a.E(x86.VMOVDQU32, L, 1, 0, x.at(x.offs[1]), noMod)
		a.EI(x86.VPSHUFD, L, 2, 0, x86.V(1), 0, noMod)
		a.EI(x86.VPCMPD, L, 1, 2, x86.V(1), 0, x86.Masked(1))
	}
	a.X(x86.KORTESTW, x86.L128, 1, 0, x86.KR(1))
	a.Jcc(x86.AE, no)
	ks := c.vals[x.id].comps
	if x.store {
		ks = c.vals[x.v.Args[3]].comps
		for i, k := range ks {
			a.E(x86.VMOVDQU32, L, uint8(i), 0, x.at(k), noMod)
		}
		x.interleave4()
	}
	for g := range int32(4) {
		a.G(x86.MOV, 4, x86.R8, x.at(x.offs[0]).Add(16*g))
		if x.pair {
			a.G(x86.MOV, 4, x86.RAX, x.at(x.offs[1]).Add(16*g))
		}
		x.wrap(x.slow, 16)
		if x.pair {
			a.GI8(x86.SHL, 8, x86.R(x86.RAX), 32)
			a.Alu(x86.OR, 8, x86.R8, x86.R(x86.RAX))
		}
		a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.R15))
		a.G(x86.LEA, 8, x86.RCX, x86.M(x86.R8, 63))
		a.G(x86.MOV, 8, x86.RAX, x86.R(x86.R8))
		x.pages()
		if x.store {
			a.E(x86.VMOVDQU32S, L, uint8(g), 0, x86.M(x86.R8, 0), noMod)
		} else {
			a.E(x86.VMOVDQU32, L, uint8(g), 0, x86.M(x86.R8, 0), noMod)
		}
	}
	if !x.store {
		x.deinterleave4(ks)
	}
	a.Jmp(next)
	a.Bind(no)
}

var tabInGroup = func() *[16]uint32 {
	var t [16]uint32
	for i := range uint32(16) {
		t[i] = i & 3 * 16
	}
	return &t
}()

// interleave4 turns four components in zmm0–3 into four vectors of four lanes each, in the same registers.
func (x *access) interleave4() {
	a := &x.c.a
	const L = x86.L512
	a.E(x86.VPUNPCKLDQ, L, 4, 0, x86.V(1), noMod) // per 128 bits: c0l0 c1l0 c0l1 c1l1
	a.E(x86.VPUNPCKHDQ, L, 5, 0, x86.V(1), noMod)
	a.E(x86.VPUNPCKLDQ, L, 6, 2, x86.V(3), noMod)
	a.E(x86.VPUNPCKHDQ, L, 7, 2, x86.V(3), noMod)
	a.E(x86.VPUNPCKLQDQ, L, 0, 4, x86.V(6), noMod) // lanes 0 4 8 12
	a.E(x86.VPUNPCKHQDQ, L, 1, 4, x86.V(6), noMod) // lanes 1 5 9 13
	a.E(x86.VPUNPCKLQDQ, L, 2, 5, x86.V(7), noMod)
	a.E(x86.VPUNPCKHQDQ, L, 3, 5, x86.V(7), noMod)
	a.EI(x86.VSHUFI32X4, L, 4, 0, x86.V(1), 0x44, noMod) // 0 4 1 5
	a.EI(x86.VSHUFI32X4, L, 5, 2, x86.V(3), 0x44, noMod) // 2 6 3 7
	a.EI(x86.VSHUFI32X4, L, 6, 0, x86.V(1), 0xee, noMod) // 8 12 9 13
	a.EI(x86.VSHUFI32X4, L, 7, 2, x86.V(3), 0xee, noMod) // 10 14 11 15
	a.EI(x86.VSHUFI32X4, L, 0, 4, x86.V(5), 0x88, noMod) // 0 1 2 3
	a.EI(x86.VSHUFI32X4, L, 1, 4, x86.V(5), 0xdd, noMod) // 4 5 6 7
	a.EI(x86.VSHUFI32X4, L, 2, 6, x86.V(7), 0x88, noMod)
	a.EI(x86.VSHUFI32X4, L, 3, 6, x86.V(7), 0xdd, noMod)
}

// oneByOne does the lanes of R14 and k1 in ascending order through the scratch area.
func (x *access) oneByOne() {
	c, a := x.c, &x.c.a
	const L = x86.L512
	ks := x.data()
	// 64-bit offsets
	a.E(x86.VMOVDQU32, L, 1, 0, x.at(x.offs[0]), noMod)
	if x.pair {
		a.E(x86.VMOVDQU32, L, 2, 0, x.at(x.offs[1]), noMod)
		for i, t := range []*[16]uint32{tabPairLo, tabPairHi} {
			a.E(x86.VMOVDQU32, L, 0, 0, c.table(t), noMod)
			a.E(x86.VPERMI2D, L, 0, 1, x86.V(2), noMod)
			a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, tmpAddr+64*int32(i)), noMod)
		}
	} else {
		inst := x86.VPMOVZXDQ
		if x.sign {
			inst = x86.VPMOVSXDQ
		}
		a.E(inst, L, 0, 0, x86.V(1), noMod)
		a.EI(x86.VEXTRACTI64X4, L, 1, 0, x86.V(1), 1, noMod)
		a.E(inst, L, 1, 0, x86.V(1), noMod)
		a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, tmpAddr), noMod)
		a.E(x86.VMOVDQU32S, L, 1, 0, x86.M(rFrame, tmpAddr+64), noMod)
	}
	if x.store {
		for i, k := range ks {
			a.E(x86.VMOVDQU32, L, 0, 0, x.at(k), noMod)
			a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, tmpData+64*int32(i)), noMod)
		}
	}
	loop, known := a.NewLabel(), a.NewLabel()
	a.Bind(loop)
	a.G(x86.TZCNT, 4, x86.RCX, x86.R(x86.R14))
	a.G(x86.MOV, 8, x86.R8, x86.MX(rFrame, x86.RCX, 8, tmpAddr))
	a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.R15))
	if x.w > 1 {
		a.G(x86.MOV, 4, x86.RAX, x86.R(x86.R8))
		a.AluI(x86.AND, 4, x86.R(x86.RAX), mem.PageSize-1)
		a.AluI(x86.CMP, 4, x86.R(x86.RAX), mem.PageSize-x.w)
		a.Jcc(x86.A, x.slow)
	}
	a.G(x86.MOV, 8, x86.RAX, x86.R(x86.R8))
	a.GI8(x86.SHR, 8, x86.R(x86.RAX), mem.PageShift)
	a.Alu(x86.CMP, 8, x86.RAX, x86.R(x86.R13))
	a.Jcc(x86.E, known)
	a.G(x86.MOV, 8, x86.R13, x86.R(x86.RAX))
	c.probe(x86.R13, x86.R9, x86.RDX, x.field, x.slow)
	a.Bind(known)
	a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.R9))
	tmp := func(i int) x86.RM { return x86.MX(rFrame, x86.RCX, 4, tmpData+64*int32(i)) }
	for i := range ks {
		p := x86.M(x86.R8, 4*int32(i))
		switch {
		case i%2 == 1:
			// with the one before: a lane's quadword is one access of the host
		case i+1 < len(ks) && x.store:
			a.G(x86.MOV, 4, x86.RAX, tmp(i))
			a.G(x86.MOV, 4, x86.RBX, tmp(i+1))
			a.GI8(x86.SHL, 8, x86.R(x86.RBX), 32)
			a.Alu(x86.OR, 8, x86.RAX, x86.R(x86.RBX))
			a.GS(x86.MOVS, 8, p, x86.RAX)
		case i+1 < len(ks):
			a.G(x86.MOV, 8, x86.RAX, p)
			a.GS(x86.MOVS, 4, tmp(i), x86.RAX)
			a.GI8(x86.SHR, 8, x86.R(x86.RAX), 32)
			a.GS(x86.MOVS, 4, tmp(i+1), x86.RAX)
		case x.store:
			a.G(x86.MOV, 4, x86.RAX, tmp(i))
			a.GS(x86.MOVS, int(min(x.w, 4)), p, x86.RAX)
		case x.w < 4:
			inst := [...][2]*x86.GInst{1: {x86.MOVZX8, x86.MOVSX8}, 2: {x86.MOVZX16, x86.MOVSX16}}[x.w][b2i(x.v.Sign)]
			a.G(inst, 4, x86.RAX, p)
			a.GS(x86.MOVS, 4, tmp(i), x86.RAX)
		default:
			a.G(x86.MOV, 4, x86.RAX, p)
			a.GS(x86.MOVS, 4, tmp(i), x86.RAX)
		}
	}
	a.GV(x86.BLSR, 4, 0, x86.R14, x86.R(x86.R14))
	a.Jcc(x86.NE, loop)
	if x.store {
		return
	}
	for i, k := range ks {
		a.E(x86.VMOVDQU32, L, 0, 0, x86.M(rFrame, tmpData+64*int32(i)), x86.Zeroed(1))
		a.E(x86.VMOVDQU32S, L, 0, 0, x.at(k), noMod)
	}
}
