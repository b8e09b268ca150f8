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
	if _, ok := c.isConst(v.Args[1]); ok {
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

// storeBound is the register that holds the limit of a region's LDS store, for the whole region.
const storeBound x86.Vec = 31

// findBound makes the limit of the addresses of the region's LDS store, if it has one: no region has two (planner.add).
func (r *region) findBound() {
	c, a := r.c, &r.c.a
	for _, id := range r.ops {
		if v := c.v(id); v.Op == ir.OpStore {
			r.zown[storeBound] = ownHeld
			c.ldsLimit(int32(v.Imm) + int32(v.Width) - 1)
			a.E(x86.VPBROADCASTDG, x86.L512, uint8(storeBound), 0, x86.R(x86.RAX), noMod)
			return
		}
	}
}

var tabStride = map[int]*[16]uint32{4: laneTimes(4), 8: laneTimes(8), 12: laneTimes(12), 16: laneTimes(16)}

func laneTimes(n uint32) *[16]uint32 {
	var t [16]uint32
	for i := range uint32(16) {
		t[i] = i * n
	}
	return &t
}

// ldsClass is what a region knows of one address value under one mask: how its lanes lie, found out once for each strip
// when the first load uses it, and kept in the frame.
//
// A region that goes from strip to strip takes consecutive elements of more than a dword apart for its first strip, and keeps what
// comes of it: another strip with the same addresses, as the rows of a tile are for all of them, has only to load it.
type ldsClass struct {
	comp, mask int32
	slot       [maxU]int32 // 16 bytes in the frame: host address of lane 0, class
	done       [maxU]bool
	extent     int32 // all loads of the region end within this many bytes of the address
	strides    [17]bool
	first      int32 // 128 bytes in the frame: as slot but for the first strip, with classKept; its addresses from 64 on. Or -1
}

// Classes: 0 general, 1 all lanes at one address, else consecutive lanes with that stride in bytes.
const (
	classGeneral = 0
	classUniform = 1
	classKept    = 64 // with a stride: as the first strip, whose loads are kept
)

// keepMost is how many bytes of frame a region's kept loads may take.
const keepMost = 12 << 10

// findClasses lists the addresses of the region's LDS loads.
func (r *region) findClasses() {
	c := r.c
	r.classes, r.keeping = r.classes[:0], 0
	for _, id := range r.ops {
		v := c.v(id)
		if v.Op != ir.OpLoad {
			continue
		}
		x := r.class(v)
		if x == nil {
			r.classes = append(r.classes, ldsClass{comp: c.vals[v.Args[1]].comps[0], mask: int32(v.Args[2]), first: -1})
			x = &r.classes[len(r.classes)-1]
			for u := range maxU {
				x.slot[u] = c.slot16()
			}
		}
		x.extent = max(x.extent, int32(v.Imm)+int32(v.Width))
		x.strides[c.ldsStride(v)] = true
		if r.keep && v.Width > 4 {
			if x.first < 0 {
				x.first = c.frameLines(128)
			}
			r.keeping += 16 * int32(v.Width)
		}
	}
	if r.keeping > keepMost {
		for i := range r.classes {
			r.classes[i].first = -1
		}
	}
}

// class is the class of a load's address, or nil.
func (r *region) class(v *ir.Value) *ldsClass {
	for i := range r.classes {
		if x := &r.classes[i]; x.comp == r.c.vals[v.Args[1]].comps[0] && x.mask == int32(v.Args[2]) {
			return x
		}
	}
	return nil
}

// frameLines is n bytes of frame, aligned to a cache line, for the rest of the block.
func (c *compiler) frameLines(n int32) int32 {
	at := (c.frame + 63) &^ 63
	c.frame = at + n
	return at
}

// ldsStride is the lane distance that makes a load contiguous.
func (c *compiler) ldsStride(v *ir.Value) int { return int(v.Width) }

// classify emits the finding of x for strip-in-flight u. It uses RAX, RCX, RDX, R8.
func (r *region) classify(x *ldsClass, addr x86.Vec, mask x86.K, u int) {
	a := &r.c.a
	const L = x86.L512
	x.done[u] = true
	k, t, s := r.ktmp(), r.tmp(), r.tmp()
	m := x86.Masked(mask)
	find, bounds, found := a.NewLabel(), a.NewLabel(), a.NewLabel()
	host, cls := x86.M(rFrame, x.slot[u]), x86.M(rFrame, x.slot[u]+8)
	if x.first >= 0 {
		// Not the first strip, and its addresses.
		a.GS(x86.TEST, 4, x86.R(rStrip), rStrip)
		a.Jcc(x86.E, find)
		a.EI(x86.VPCMPD, L, uint8(k), uint8(addr), x86.M(rFrame, x.first+64), 0, m)
		a.G(x86.MOV, 4, x86.RCX, x86.M(rFrame, x.first+8))
		a.G(x86.MOV, 8, x86.RDX, x86.M(rFrame, x.first))
		a.X(x86.KORTESTW, x86.L128, uint8(k), 0, x86.KR(k))
		a.Jcc(x86.AE, find)
		a.GS(x86.TEST, 4, x86.R(x86.RCX), x86.RCX)
		a.Jcc(x86.NE, found)
		a.Bind(find)
	}
	// The address of the last byte decides, since the lanes between lie between.
	a.E(x86.VPBROADCASTD, L, uint8(t), 0, x86.V(addr), noMod)
	a.E(x86.VMOVDS, x86.L128, uint8(addr), 0, x86.R(x86.RDX), noMod)
	try := func(z x86.Vec, class, far int32) {
		a.EI(x86.VPCMPD, L, uint8(k), uint8(z), x86.V(addr), 0, m)
		a.MovI(x86.RCX, uint64(class))
		a.G(x86.LEA, 8, x86.RAX, x86.M(x86.RDX, far+x.extent))
		a.X(x86.KORTESTW, x86.L128, uint8(k), 0, x86.KR(k))
		a.Jcc(x86.B, bounds)
	}
	try(t, classUniform, 0)
	for stride, want := range x.strides {
		if want {
			a.E(x86.VPADDD, L, uint8(s), uint8(t), r.table(tabStride[stride]), noMod)
			try(s, int32(stride), 15*int32(stride))
		}
	}
	a.Alu(x86.XOR, 4, x86.RCX, x86.R(x86.RCX)) // neither, or some lane is off
	a.Bind(bounds)
	a.Alu(x86.XOR, 4, x86.R8, x86.R(x86.R8))
	a.Alu(x86.CMP, 8, x86.RAX, x86.M(rState, offLDSLen))
	a.Cmov(x86.A, 4, x86.RCX, x86.R(x86.R8))
	a.Alu(x86.ADD, 8, x86.RDX, x86.M(rState, offLDS))
	if x.first >= 0 {
		a.GS(x86.TEST, 4, x86.R(rStrip), rStrip)
		a.Jcc(x86.NE, found)
		a.G(x86.LEA, 4, x86.RAX, x86.M(x86.RCX, classKept))
		a.AluI(x86.CMP, 4, x86.R(x86.RCX), classUniform)
		a.Cmov(x86.BE, 4, x86.RAX, x86.R(x86.R8))
		a.GS(x86.MOVS, 4, x86.M(rFrame, x.first+8), x86.RAX)
		a.GS(x86.MOVS, 8, x86.M(rFrame, x.first), x86.RDX)
		a.E(x86.VMOVDQU32S, L, uint8(addr), 0, x86.M(rFrame, x.first+64), noMod)
	}
	a.Bind(found)
	a.GS(x86.MOVS, 8, host, x86.RDX)
	a.GS(x86.MOVS, 4, cls, x86.RCX)
	r.freeTmp(t)
	r.freeTmp(s)
}

// ldsLoad loads 4, 8, 12 or 16 bytes a lane: by broadcast when all lanes of the strip have one address, by whole vectors
// when they are contiguous, else by gathers.
func (c *compiler) ldsLoad(id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	const lds = x86.RDX
	if len(r.tiles) > 0 {
		r.tileLoad(id, v, u)
		return
	}
	addr := r.zin(v.Args[1], 0, u, 4)
	mask := r.kin(v.Args[2], u, true)
	x := r.class(v)
	if !x.done[u] {
		r.classify(x, addr, mask, u)
	}
	n := len(c.vals[id].comps)
	var d []x86.Vec
	for i := range n {
		d = append(d, r.dstEarly(id, i, u))
	}
	// Registers are taken before the code branches, so that spills are on every path.
	kk, t := r.ktmp(), r.tmp()
	var q [4]x86.Vec
	if n == 4 {
		for i := range q {
			q[i] = r.tmp()
		}
	}
	imm := int32(v.Imm)
	cls := x86.M(rFrame, x.slot[u]+8)
	contig, gather, done := a.NewLabel(), a.NewLabel(), a.NewLabel()
	a.G(x86.MOV, 4, x86.RAX, cls)
	a.G(x86.MOV, 8, lds, x86.M(rFrame, x.slot[u]))
	a.AluI(x86.CMP, 4, x86.R(x86.RAX), classUniform)
	a.Jcc(x86.NE, contig)
	for i := range n {
		a.E(x86.VPBROADCASTD, L, uint8(d[i]), 0, x86.M(lds, imm+4*int32(i)), noMod)
	}
	a.Jmp(done)
	a.Bind(contig)
	kept := int32(-1)
	switch {
	case x.first < 0:
	case n == 1:
		a.AluI(x86.AND, 4, x86.R(x86.RAX), classKept-1)
	default:
		kept = c.frameLines(64 * int32(n))
		fresh := a.NewLabel()
		a.AluI(x86.CMP, 4, x86.R(x86.RAX), classKept+int32(c.ldsStride(v)))
		a.Jcc(x86.NE, fresh)
		for i := range n {
			a.E(x86.VMOVDQU32, L, uint8(d[i]), 0, x86.M(rFrame, kept+64*int32(i)), noMod)
		}
		a.Jmp(done)
		a.Bind(fresh)
	}
	a.AluI(x86.CMP, 4, x86.R(x86.RAX), int32(c.ldsStride(v)))
	a.Jcc(x86.NE, gather)
	r.unzip(d, t, q, kk, func(i int) x86.RM { return x86.M(lds, imm+64*int32(i)) })
	if kept >= 0 {
		a.GS(x86.TEST, 4, x86.R(rStrip), rStrip)
		a.Jcc(x86.NE, done)
		for i := range n {
			a.E(x86.VMOVDQU32S, L, uint8(d[i]), 0, x86.M(rFrame, kept+64*int32(i)), noMod)
		}
	}
	a.Bind(done)
	c.tails = append(c.tails, func() {
		// Exact for all: the address wraps at 32 bits, and an access that is not all in range goes dword by dword.
		a.Bind(gather)
		a.G(x86.MOV, 8, lds, x86.M(rState, offLDS))
		a.E(x86.VPADDD, L, uint8(t), uint8(addr), x86.ML(a.Const32(uint32(v.Imm)), 0).Bcast(), noMod)
		for j := range int(v.Width) / 4 {
			p := d[j]
			c.ldsLimit(int32(4*j) + 3)
			a.E(x86.VPBROADCASTDG, L, uint8(p), 0, x86.R(x86.RAX), noMod)
			a.EI(x86.VPCMPUD, L, uint8(kk), uint8(t), x86.V(p), 1, x86.Masked(mask))
			a.E(x86.VPXORD, L, uint8(p), uint8(p), x86.V(p), noMod)
			a.E(x86.VPGATHERDD, L, uint8(p), 0, x86.MV(lds, t, 1, int32(4*j)), x86.Masked(kk))
		}
		a.Jmp(done)
	})
}

// unzip loads consecutive elements of as many dwords as there are in d, and takes them apart; t, q (for four) and k are temporaries. It
// uses RAX.
func (r *region) unzip(d []x86.Vec, t x86.Vec, q [4]x86.Vec, k x86.K, p func(int) x86.RM) {
	a := &r.c.a
	const L = x86.L512
	switch len(d) {
	case 1:
		a.E(x86.VMOVDQU32, L, uint8(d[0]), 0, p(0), noMod)
	case 2:
		a.E(x86.VMOVDQU32, L, uint8(t), 0, p(0), noMod)
		a.E(x86.VMOVDQU32, L, uint8(d[0]), 0, r.table(tabLo), noMod)
		a.E(x86.VMOVDQU32, L, uint8(d[1]), 0, r.table(tabHi), noMod)
		a.E(x86.VPERMI2D, L, uint8(d[0]), uint8(t), p(1), noMod)
		a.E(x86.VPERMI2D, L, uint8(d[1]), uint8(t), p(1), noMod)
	case 3:
		// Dword i of lane l is dword 3l+i of three vectors.
		for i := range 3 {
			a.E(x86.VMOVDQU32, L, uint8(d[i]), 0, r.table(tabThird[i][0]), noMod)
			a.E(x86.VMOVDQU32, L, uint8(t), 0, p(0), noMod)
			a.E(x86.VPERMI2D, L, uint8(d[i]), uint8(t), p(1), noMod)
			a.MovI(x86.RAX, uint64(thirdMask[i]))
			a.X(x86.KMOVWG, x86.L128, uint8(k), 0, x86.R(x86.RAX))
			a.E(x86.VMOVDQU32, L, uint8(t), 0, r.table(tabThird[i][1]), noMod)
			a.E(x86.VPERMD, L, uint8(d[i]), uint8(t), p(2), x86.Masked(k))
		}
	default:
		r.transpose4(d, q, p)
	}
}

// tabThird: for dword i of 12-byte elements, the index into the first two vectors and into the third.
var (
	tabThird  [3][2]*[16]uint32
	thirdMask [3]uint16
)

func init() {
	for i := range tabThird {
		var a, b [16]uint32
		for l := range uint32(16) {
			x := 3*l + uint32(i)
			if x < 32 {
				a[l] = x
			} else {
				b[l] = x - 32
				thirdMask[i] |= 1 << l
			}
		}
		tabThird[i] = [2]*[16]uint32{&a, &b}
	}
}

// transpose4 loads four vectors of four lanes' 16 bytes each, and takes them apart into d; q are temporaries.
func (r *region) transpose4(d []x86.Vec, q [4]x86.Vec, p func(int) x86.RM) {
	a := &r.c.a
	const L = x86.L512
	// In each 128-bit piece of p(i) lies one lane (4i+piece). Pairs of vectors give dwords 0–1 and 2–3 of eight lanes.
	a.E(x86.VMOVDQU32, L, uint8(q[2]), 0, p(0), noMod)
	a.E(x86.VMOVDQU32, L, uint8(q[3]), 0, p(2), noMod)
	for h, tab := range tabQuad {
		a.E(x86.VMOVDQU32, L, uint8(q[0]), 0, r.table(tab), noMod)
		a.E(x86.VMOVDQU32, L, uint8(q[1]), 0, x86.V(q[0]), noMod)
		a.E(x86.VPERMI2D, L, uint8(q[0]), uint8(q[2]), p(1), noMod)
		a.E(x86.VPERMI2D, L, uint8(q[1]), uint8(q[3]), p(3), noMod)
		a.EI(x86.VSHUFI64X2, L, uint8(d[2*h]), uint8(q[0]), x86.V(q[1]), 0x44, noMod)
		a.EI(x86.VSHUFI64X2, L, uint8(d[2*h+1]), uint8(q[0]), x86.V(q[1]), 0xee, noMod)
	}
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
	mask := r.kin(v.Args[2], u, true)
	k := r.ktmp() // the lanes that are surely in the LDS: the offset does not wrap, and all bytes are in range
	a.EI(x86.VPCMPUD, L, uint8(k), uint8(addr), x86.V(storeBound), 1, x86.Masked(mask))
	x := r.zin(v.Args[3], 0, u, 4)
	kk, t, lim := r.ktmp(), r.tmp(), r.tmp()
	imm := int32(v.Imm)
	a.G(x86.MOV, 8, lds, x86.M(rState, offLDS))
	partial, scatter, done := a.NewLabel(), a.NewLabel(), a.NewLabel()
	a.X(x86.KORTESTW, x86.L128, uint8(k), 0, x86.KR(k))
	a.Jcc(x86.AE, partial)
	a.E(x86.VPBROADCASTD, L, uint8(t), 0, x86.V(addr), noMod)
	a.E(x86.VMOVDS, x86.L128, uint8(addr), 0, x86.R(x86.RAX), noMod)
	a.E(x86.VPADDD, L, uint8(t), uint8(t), r.table(tabStride[4]), noMod)
	a.E(x86.VPCMPEQD, L, uint8(kk), uint8(t), x86.V(addr), noMod)
	a.X(x86.KORTESTW, x86.L128, uint8(kk), 0, x86.KR(kk))
	a.Jcc(x86.AE, scatter)
	a.E(x86.VMOVDQU32S, L, uint8(x), 0, x86.MX(lds, x86.RAX, 1, imm), noMod)
	a.Jmp(done)
	a.Bind(scatter)
	a.E(x86.VPSCATTERDD, L, uint8(x), 0, x86.MV(lds, addr, 1, imm), x86.Masked(k))
	a.Bind(done)
	c.tails = append(c.tails, func() {
		// Lanes are off or out of range; the address wraps at 32 bits.
		a.Bind(partial)
		a.E(x86.VPADDD, L, uint8(t), uint8(addr), x86.ML(a.Const32(uint32(v.Imm)), 0).Bcast(), noMod)
		c.ldsLimit(3)
		a.E(x86.VPBROADCASTDG, L, uint8(lim), 0, x86.R(x86.RAX), noMod)
		a.EI(x86.VPCMPUD, L, uint8(kk), uint8(t), x86.V(lim), 1, x86.Masked(mask))
		a.E(x86.VPSCATTERDD, L, uint8(x), 0, x86.MV(lds, t, 1, 0), x86.Masked(kk))
		a.Jmp(done)
	})
}

// canLDSWide tells whether ldsStoreWide knows the store.
func (c *compiler) canLDSWide(v *ir.Value) bool {
	if v.Args[0] != ir.NoID || v.Args[1] == ir.NoID || v.Imm&ir.OffSigned != 0 || int32(v.Imm) < 0 ||
		v.Width != 8 && v.Width != 12 && v.Width != 16 {
		return false
	}
	ks := c.vals[v.Args[1]].comps
	return len(ks) == 1 && c.comps[ks[0]].kind == compZ
}

// ldsStoreWide stores 8, 12 or 16 bytes a lane, as an operation of the whole wave: lanes may overlap in part, and then
// the order of lanes counts, so all that is not contiguous goes lane by lane.
func (c *compiler) ldsStoreWide(id ir.ID, v *ir.Value) {
	a := &c.a
	const L = x86.L512
	x := &access{c: c, id: id, v: v, w: int32(v.Width), store: true, offs: c.vals[v.Args[1]].comps}
	pieces := int(v.Width) / 4
	a.G(x86.MOV, 8, x86.RDX, x86.M(rState, offLDS))
	c.ldsLimit(int32(v.Imm) + x.w - 1)
	a.E(x86.VPBROADCASTDG, L, 8, 0, x86.R(x86.RAX), noMod) // bound for whole accesses
	a.G(x86.MOV, 8, x86.R15, x86.M(rState, offLDSLen))
	a.Alu(x86.XOR, 4, rStrip, x86.R(rStrip))
	a.Alu(x86.XOR, 4, rMask, x86.R(rMask))
	top, next, single, loop := a.NewLabel(), a.NewLabel(), a.NewLabel(), a.NewLabel()
	if y, ok := c.isConst(v.Args[2]); ok {
		a.LeaL(x86.R12, a.Const64(y), 0)
	} else {
		a.G(x86.LEA, 8, x86.R12, c.memOf(c.vals[v.Args[2]].comps[0]))
	}
	a.Bind(top)
	a.X(x86.KMOVWL, x86.L128, 1, 0, x86.MX(x86.R12, rMask, 1, 0))
	a.E(x86.VMOVDQU32, L, 0, 0, x.at(x.offs[0]), noMod)
	for i := range pieces {
		c.stripDword(x86.Vec(i)+1, v.Args[3], i)
	}
	if x.w != 12 {
		a.EI(x86.VPCMPUD, L, 2, 0, x86.V(8), 1, x86.Masked(1))
		a.E(x86.VPSUBD, L, 5, 0, c.table(laneTimes(uint32(x.w))), noMod)
		a.EI(x86.VPCMPD, L, 2, 5, x.at(x.offs[0]).Bcast(), 0, x86.Masked(2))
		a.X(x86.KORTESTW, x86.L128, 2, 0, x86.KR(2))
		a.Jcc(x86.AE, single)
		a.E(x86.VMOVDS, x86.L128, 0, 0, x86.R(x86.R8), noMod)
		p := func(i int) x86.RM { return x86.MX(x86.RDX, x86.R8, 1, int32(v.Imm)+64*int32(i)) }
		if x.w == 8 {
			for i, t := range []*[16]uint32{tabPairLo, tabPairHi} {
				a.E(x86.VMOVDQU32, L, 3, 0, c.table(t), noMod)
				a.E(x86.VPERMI2D, L, 3, 1, x86.V(2), noMod)
				a.E(x86.VMOVDQU32S, L, 3, 0, p(i), noMod)
			}
		} else {
			for i := range uint8(4) {
				a.E(x86.VMOVDQU32, L, i, 0, x86.V(x86.Vec(i+1)), noMod)
			}
			x.interleave4()
			for i := range 4 {
				a.E(x86.VMOVDQU32S, L, uint8(i), 0, p(i), noMod)
			}
		}
		a.Jmp(next)
	}
	a.Bind(single)
	a.X(x86.KMOVGW, x86.L128, uint8(x86.R14), 0, x86.KR(1))
	a.GS(x86.TEST, 4, x86.R(x86.R14), x86.R14)
	a.Jcc(x86.E, next)
	a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, tmpAddr), noMod)
	for i := range pieces {
		a.E(x86.VMOVDQU32S, L, uint8(i)+1, 0, x86.M(rFrame, tmpData+64*int32(i)), noMod)
	}
	a.Bind(loop)
	a.G(x86.TZCNT, 4, x86.RCX, x86.R(x86.R14))
	a.G(x86.MOV, 4, x86.R8, x86.MX(rFrame, x86.RCX, 4, tmpAddr))
	a.AluI(x86.ADD, 4, x86.R(x86.R8), int32(v.Imm))
	for i := range pieces {
		skip := a.NewLabel()
		a.G(x86.LEA, 8, x86.RAX, x86.M(x86.R8, 4*int32(i)+4))
		a.Alu(x86.CMP, 8, x86.RAX, x86.R(x86.R15))
		a.Jcc(x86.A, skip)
		a.G(x86.MOV, 4, x86.RAX, x86.MX(rFrame, x86.RCX, 4, tmpData+64*int32(i)))
		a.GS(x86.MOVS, 4, x86.MX(x86.RDX, x86.R8, 1, 4*int32(i)), x86.RAX)
		a.Bind(skip)
	}
	a.GV(x86.BLSR, 4, 0, x86.R14, x86.R(x86.R14))
	a.Jcc(x86.NE, loop)
	a.Bind(next)
	a.AluI(x86.ADD, 8, x86.R(rStrip), 64)
	a.AluI(x86.ADD, 8, x86.R(rMask), 2)
	a.AluI(x86.CMP, 4, x86.R(rStrip), int32(64*c.strips))
	a.Jcc(x86.NE, top)
}
