package jit

import (
	"encoding/binary"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// TLB entry layout (package mem).
const (
	tlbEntry = int32(unsafe.Sizeof(mem.Entry{}))
	tlbR     = int32(unsafe.Offsetof(mem.Entry{}.R))
	tlbW     = int32(unsafe.Offsetof(mem.Entry{}.W))
	tlbDelta = int32(unsafe.Offsetof(mem.Entry{}.Delta))
)

// Scratch of a global access in the frame: 16 addresses, then 4 components of 16 dwords.
const (
	tmpAddr = frameTmp
	tmpData = frameTmp + 128
)

// probe looks page (in rp) up for an access whose field is at off; it jumps to miss or leaves the delta in rd. rtlb
// holds the table. RAX and RBX are used.
func (c *compiler) probe(rp, rd, rtlb x86.Reg, off int32, miss x86.Label) {
	a := &c.a
	a.G(x86.MOV, 4, x86.RAX, x86.R(rp))
	a.AluI(x86.AND, 4, x86.R(x86.RAX), mem.TLBSize-1)
	a.GI8(x86.SHL, 4, x86.R(x86.RAX), 5)
	a.G(x86.LEA, 8, x86.RBX, x86.M(rp, 1))
	a.Alu(x86.CMP, 8, x86.RBX, x86.MX(rtlb, x86.RAX, 1, off))
	a.Jcc(x86.NE, miss)
	a.G(x86.MOV, 8, rd, x86.MX(rtlb, x86.RAX, 1, tlbDelta))
}

var _ [32 - tlbEntry]byte // probe shifts by 5
var _ [tlbEntry - 32]byte

// sload is a scalar load: one address, up to 64 bytes, in one page; anything else is the helper's.
func (c *compiler) sload(id ir.ID, v *ir.Value) {
	if t := c.v(v.Args[0]).Type; t != ir.S64 || v.Width%4 != 0 || v.Space == ir.LDS || v.Space == ir.Scratch {
		c.helper(id)
		return
	}
	a := &c.a
	slow, done := c.coldHelper(id)
	c.gin(x86.R8, v.Args[0])
	if len(v.Args) > 1 && v.Args[1] != ir.NoID {
		c.gin(x86.RCX, v.Args[1])
		a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.RCX))
	}
	if n := int32(v.Imm); n != 0 {
		a.AluI(x86.ADD, 8, x86.R(x86.R8), n)
	}
	a.AluI(x86.AND, 8, x86.R(x86.R8), -4)
	a.G(x86.MOV, 4, x86.RCX, x86.R(x86.R8))
	a.AluI(x86.AND, 4, x86.R(x86.RCX), mem.PageSize-1)
	a.AluI(x86.CMP, 4, x86.R(x86.RCX), mem.PageSize-int32(v.Width))
	a.Jcc(x86.A, slow)
	a.G(x86.MOV, 8, x86.RCX, x86.R(x86.R8))
	a.GI8(x86.SHR, 8, x86.R(x86.RCX), mem.PageShift)
	a.G(x86.MOV, 8, x86.RDX, x86.M(rState, offTLB))
	c.probe(x86.RCX, x86.R9, x86.RDX, tlbR, slow)
	a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.R9))
	off := int32(0)
	for i, k := range c.vals[id].comps {
		size := c.gsize(k)
		a.G(x86.MOV, size, x86.RAX, x86.M(x86.R8, off))
		if int32(v.Width)-off < int32(size) {
			size = int(int32(v.Width) - off)
		}
		c.gout(id, i, x86.RAX)
		off += int32(size)
	}
	a.Bind(done)
}

// canGlobal tells whether global knows the access.
func (c *compiler) canGlobal(v *ir.Value) bool {
	off := v.Args[1]
	if off == ir.NoID || len(c.vals[off].comps) == 0 || !isVec(c.v(off).Type) {
		return false
	}
	for _, k := range c.vals[off].comps {
		if c.comps[k].kind != compZ {
			return false
		}
	}
	if b := v.Args[0]; b != ir.NoID && c.v(b).Type != ir.S64 {
		return false
	}
	n := 0
	if v.Op == ir.OpStore {
		for _, k := range c.vals[v.Args[3]].comps {
			if c.comps[k].kind != compZ {
				return false
			}
			n++
		}
		if n == 0 {
			return false
		}
		if c.v(v.Args[3]).Type == ir.V64 {
			return v.Width == 8
		}
	} else {
		if v.Type == ir.V64 {
			return v.Width == 8
		}
		n = v.Regs()
	}
	switch v.Width {
	case 1, 2:
		return n == 1
	case 4, 8, 12, 16:
		return n == int(v.Width)/4
	}
	return false
}

// global emits a load or store of global memory, strip by strip. Lanes at consecutive addresses inside mapped pages are
// one vector access; others go one by one; what the TLB does not know, or crosses pages, is left to the helper, which
// does the whole operation.
func (c *compiler) global(id ir.ID, v *ir.Value) {
	a := &c.a
	const L = x86.L512
	slow, done := c.coldHelper(id)
	w := int32(v.Width)
	store := v.Op == ir.OpStore
	field := tlbR
	if store {
		field = tlbW
	}
	at := func(k int32) x86.RM { // strip of a component between segments
		m := &c.comps[k]
		if m.home >= 0 {
			return x86.MX(rState, rStrip, 1, m.home)
		}
		return x86.MX(rFrame, rStrip, 1, c.slot(k))
	}
	offs := c.vals[v.Args[1]].comps
	wideOff := len(offs) == 2
	// base + imm in R15, TLB in RDX
	if v.Args[0] != ir.NoID {
		c.gin(x86.R15, v.Args[0])
		if n := int32(v.Imm); n != 0 {
			a.AluI(x86.ADD, 8, x86.R(x86.R15), n)
		}
	} else {
		a.MovI(x86.R15, uint64(int64(int32(v.Imm))))
	}
	a.G(x86.MOV, 8, x86.RDX, x86.M(rState, offTLB))
	a.Alu(x86.XOR, 4, rStrip, x86.R(rStrip))
	a.Alu(x86.XOR, 4, rMask, x86.R(rMask))
	top, next, single := a.NewLabel(), a.NewLabel(), a.NewLabel()
	a.Bind(top)
	// mask in k1
	if m := v.Args[2]; c.fullMask(m) {
		a.X(x86.KXNORW, x86.L128, 1, 1, x86.KR(1))
	} else if x, ok := c.isConst(m); ok {
		a.LeaL(x86.RAX, a.Const64(x), 0)
		a.X(x86.KMOVWL, x86.L128, 1, 0, x86.MX(x86.RAX, rMask, 1, 0))
	} else {
		mm := c.memOf(c.vals[m].comps[0])
		a.G(x86.LEA, 8, x86.RAX, mm)
		a.X(x86.KMOVWL, x86.L128, 1, 0, x86.MX(x86.RAX, rMask, 1, 0))
	}
	a.X(x86.KMOVGW, x86.L128, uint8(x86.R14), 0, x86.KR(1))
	a.GS(x86.TEST, 4, x86.R(x86.R14), x86.R14)
	empty := next
	if !store {
		empty = a.NewLabel()
	}
	a.Jcc(x86.E, empty)
	a.G(x86.TZCNT, 4, x86.RCX, x86.R(x86.R14)) // first active lane
	// R8 = offset that lane 0 of the strip has if lanes are consecutive
	if wideOff {
		a.E(x86.VMOVDQU32, L, 0, 0, at(offs[0]), noMod)
		a.E(x86.VMOVDQU32, L, 1, 0, at(offs[1]), noMod)
		a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, tmpAddr), noMod)
		a.E(x86.VMOVDQU32S, L, 1, 0, x86.M(rFrame, tmpAddr+64), noMod)
		a.G(x86.MOV, 8, x86.R8, x86.MX(rFrame, x86.RCX, 8, tmpAddr))
		a.IMulI(4, x86.RAX, x86.R(x86.RCX), w)
		a.Alu(x86.SUB, 8, x86.R8, x86.R(x86.RAX))
		a.E(x86.VPBROADCASTQG, L, 2, 0, x86.R(x86.R8), noMod)
		a.E(x86.VPADDQ, L, 3, 2, c.table64(0, uint64(w)), noMod)
		a.E(x86.VPADDQ, L, 4, 2, c.table64(8*uint64(w), uint64(w)), noMod)
		a.XI(x86.KSHIFTRW, x86.L128, 2, 0, x86.KR(1), 8)
		a.EI(x86.VPCMPQ, L, 3, 3, x86.V(0), 0, x86.Masked(1))
		a.EI(x86.VPCMPQ, L, 4, 4, x86.V(1), 0, x86.Masked(2))
		a.X(x86.KUNPCKBW, x86.L128, 3, 4, x86.KR(3))
	} else {
		a.E(x86.VMOVDQU32, L, 0, 0, at(offs[0]), noMod)
		a.E(x86.VPSUBD, L, 1, 0, c.r.tableIn(c, laneTimes(uint32(w))), noMod)
		a.E(x86.VPCOMPRESSD, L, 1, 0, x86.V(2), x86.Zeroed(1))
		a.E(x86.VMOVDS, x86.L128, 2, 0, x86.R(x86.R8), noMod)
		a.E(x86.VPBROADCASTD, L, 2, 0, x86.V(2), noMod)
		a.EI(x86.VPCMPD, L, 3, 2, x86.V(1), 0, x86.Masked(1))
	}
	a.X(x86.KXORW, x86.L128, 3, 3, x86.KR(1))
	a.X(x86.KORTESTW, x86.L128, 3, 0, x86.KR(3))
	a.Jcc(x86.NE, single)
	if !wideOff {
		// No wrap of the 32-bit offset inside the strip.
		if v.Imm&ir.OffSigned != 0 {
			a.AluI(x86.CMP, 4, x86.R(x86.R8), 0x7fffffff-16*w)
			a.Jcc(x86.G, single)
			a.G(x86.MOVSXD, 8, x86.R8, x86.R(x86.R8))
		} else {
			a.AluI(x86.CMP, 4, x86.R(x86.R8), -1-16*w)
			a.Jcc(x86.A, single)
		}
	}
	if !c.canContiguous(v) {
		a.Jmp(single)
	} else {
		a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.R15))
		// pages of the first and the last active lane
		a.G(x86.LZCNT, 4, x86.RAX, x86.R(x86.R14))
		a.MovI(x86.R13, 31)
		a.Alu(x86.SUB, 4, x86.R13, x86.R(x86.RAX))
		a.IMulI(4, x86.R12, x86.R(x86.RCX), w)
		a.IMulI(4, x86.R13, x86.R(x86.R13), w)
		a.Alu(x86.ADD, 8, x86.R12, x86.R(x86.R8))
		a.G(x86.LEA, 8, x86.R13, x86.MX(x86.R8, x86.R13, 1, w-1))
		a.GI8(x86.SHR, 8, x86.R(x86.R12), mem.PageShift)
		a.GI8(x86.SHR, 8, x86.R(x86.R13), mem.PageShift)
		c.probe(x86.R12, x86.R9, x86.RDX, field, slow)
		same := a.NewLabel()
		a.Alu(x86.CMP, 8, x86.R12, x86.R(x86.R13))
		a.Jcc(x86.E, same)
		c.probe(x86.R13, x86.RCX, x86.RDX, field, slow)
		a.Alu(x86.CMP, 8, x86.RCX, x86.R(x86.R9))
		a.Jcc(x86.NE, slow)
		a.Bind(same)
		a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.R9))
		if store {
			c.contiguousStore(v, at)
		} else {
			c.contiguousLoad(id, v, at)
		}
		a.Jmp(next)
	}
	a.Bind(single)
	c.oneByOne(id, v, at, offs, field, slow)
	if !store {
		a.Jmp(next)
		a.Bind(empty)
		a.E(x86.VPXORD, L, 0, 0, x86.V(0), noMod)
		for _, k := range c.vals[id].comps {
			a.E(x86.VMOVDQU32S, L, 0, 0, at(k), noMod)
		}
	}
	a.Bind(next)
	a.AluI(x86.ADD, 8, x86.R(rStrip), 64)
	a.AluI(x86.ADD, 8, x86.R(rMask), 2)
	a.AluI(x86.CMP, 4, x86.R(rStrip), int32(64*c.strips))
	a.Jcc(x86.NE, top)
	a.Bind(done)
}

func (r *region) tableIn(c *compiler, t *[16]uint32) x86.RM { r.c = c; return r.table(t) }

// table64 is eight qwords from, from+step, …
func (c *compiler) table64(from, step uint64) x86.RM {
	var b [64]byte
	for i := range uint64(8) {
		binary.LittleEndian.PutUint64(b[8*i:], from+i*step)
	}
	return x86.ML(c.a.Const(b[:], 64), 0)
}

// canContiguous tells whether there is a vector form for consecutive lanes.
func (c *compiler) canContiguous(v *ir.Value) bool { return v.Width != 12 }

// Tables of the 4×4 transposition of b128 accesses: dwords j and j+1 of four lanes in each source.
var tabQuad = [2]*[16]uint32{quad(0), quad(2)}

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

// contiguousLoad loads a strip whose lane 0 would be at R8, lanes in k1.
func (c *compiler) contiguousLoad(id ir.ID, v *ir.Value, at func(int32) x86.RM) {
	a := &c.a
	const L = x86.L512
	ks := c.vals[id].comps
	p := func(off int32) x86.RM { return x86.M(x86.R8, off) }
	switch {
	case v.Width <= 2:
		inst := map[[2]bool]*x86.Inst{{false, false}: x86.VPMOVZXBD, {false, true}: x86.VPMOVSXBD, {true, false}: x86.VPMOVZXWD,
			{true, true}: x86.VPMOVSXWD}[[2]bool{v.Width == 2, v.Sign}]
		a.E(inst, L, 0, 0, p(0), x86.Zeroed(1))
		a.E(x86.VMOVDQU32S, L, 0, 0, at(ks[0]), noMod)
	case v.Width == 4:
		a.E(x86.VMOVDQU32, L, 0, 0, p(0), x86.Zeroed(1))
		a.E(x86.VMOVDQU32S, L, 0, 0, at(ks[0]), noMod)
	case v.Width == 8:
		a.XI(x86.KSHIFTRW, x86.L128, 2, 0, x86.KR(1), 8)
		a.E(x86.VMOVDQU64, L, 0, 0, p(0), x86.Zeroed(1))
		a.E(x86.VMOVDQU64, L, 1, 0, p(64), x86.Zeroed(2))
		if v.Type == ir.V64 {
			a.E(x86.VMOVDQU32S, L, 0, 0, at(ks[0]), noMod)
			a.E(x86.VMOVDQU32S, L, 1, 0, at(ks[1]), noMod)
			return
		}
		for i, t := range []*[16]uint32{tabLo, tabHi} {
			a.E(x86.VMOVDQU32, L, 2, 0, c.r.tableIn(c, t), noMod)
			a.E(x86.VPERMI2D, L, 2, 0, x86.V(1), noMod)
			a.E(x86.VMOVDQU32S, L, 2, 0, at(ks[i]), noMod)
		}
	default: // 16
		c.quadMasks()
		for i := range uint8(4) {
			a.E(x86.VMOVDQU32, L, i, 0, p(64*int32(i)), x86.Zeroed(x86.K(4+i)))
		}
		for i, t := range tabQuad {
			a.E(x86.VMOVDQU32, L, 4, 0, c.r.tableIn(c, t), noMod)
			a.E(x86.VMOVDQU32, L, 5, 0, x86.V(4), noMod)
			a.E(x86.VPERMI2D, L, 4, 0, x86.V(1), noMod)
			a.E(x86.VPERMI2D, L, 5, 2, x86.V(3), noMod)
			a.EI(x86.VSHUFI64X2, L, 6, 4, x86.V(5), 0x44, noMod)
			a.EI(x86.VSHUFI64X2, L, 7, 4, x86.V(5), 0xee, noMod)
			a.E(x86.VMOVDQU32S, L, 6, 0, at(ks[2*i]), noMod)
			a.E(x86.VMOVDQU32S, L, 7, 0, at(ks[2*i+1]), noMod)
		}
	}
}

// contiguousStore stores a strip whose lane 0 would be at R8, lanes in k1.
func (c *compiler) contiguousStore(v *ir.Value, at func(int32) x86.RM) {
	a := &c.a
	const L = x86.L512
	ks := c.vals[v.Args[3]].comps
	p := func(off int32) x86.RM { return x86.M(x86.R8, off) }
	ld := func(z uint8, k int32) { a.E(x86.VMOVDQU32, L, z, 0, at(k), noMod) }
	switch {
	case v.Width <= 4:
		ld(0, ks[0])
		inst := map[uint8]*x86.Inst{1: x86.VPMOVDB, 2: x86.VPMOVDW, 4: x86.VMOVDQU32S}[v.Width]
		a.E(inst, L, 0, 0, p(0), x86.Masked(1))
	case v.Width == 8:
		a.XI(x86.KSHIFTRW, x86.L128, 2, 0, x86.KR(1), 8)
		ld(0, ks[0])
		ld(1, ks[1])
		if c.v(v.Args[3]).Type != ir.V64 {
			a.E(x86.VMOVDQU32, L, 2, 0, c.r.tableIn(c, tabPairLo), noMod)
			a.E(x86.VPERMI2D, L, 2, 0, x86.V(1), noMod)
			a.E(x86.VMOVDQU32, L, 3, 0, c.r.tableIn(c, tabPairHi), noMod)
			a.E(x86.VPERMI2D, L, 3, 0, x86.V(1), noMod)
			a.E(x86.VMOVDQU64S, L, 2, 0, p(0), x86.Masked(1))
			a.E(x86.VMOVDQU64S, L, 3, 0, p(64), x86.Masked(2))
			return
		}
		a.E(x86.VMOVDQU64S, L, 0, 0, p(0), x86.Masked(1))
		a.E(x86.VMOVDQU64S, L, 1, 0, p(64), x86.Masked(2))
	default: // 16
		c.quadMasks()
		for i := range uint8(4) {
			ld(i, ks[i])
		}
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
		for i := range uint8(4) {
			a.E(x86.VMOVDQU32S, L, i, 0, p(64*int32(i)), x86.Masked(x86.K(4+i)))
		}
	}
}

// oneByOne does the lanes of R14 in ascending order through the scratch area.
func (c *compiler) oneByOne(id ir.ID, v *ir.Value, at func(int32) x86.RM, offs []int32, field int32, slow x86.Label) {
	a := &c.a
	const L = x86.L512
	w := int32(v.Width)
	store := v.Op == ir.OpStore
	// addresses
	if len(offs) == 1 {
		inst := x86.VPMOVZXDQ
		if v.Imm&ir.OffSigned != 0 {
			inst = x86.VPMOVSXDQ
		}
		a.E(x86.VMOVDQU32, L, 1, 0, at(offs[0]), noMod)
		a.E(inst, L, 0, 0, x86.V(1), noMod)
		a.EI(x86.VEXTRACTI64X4, L, 1, 0, x86.V(1), 1, noMod)
		a.E(inst, L, 1, 0, x86.V(1), noMod)
		a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, tmpAddr), noMod)
		a.E(x86.VMOVDQU32S, L, 1, 0, x86.M(rFrame, tmpAddr+64), noMod)
	}
	var ks []int32
	if store {
		ks = c.vals[v.Args[3]].comps
		for i, k := range ks {
			a.E(x86.VMOVDQU32, L, 0, 0, at(k), noMod)
			a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, tmpData+64*int32(i)), noMod)
		}
	} else {
		ks = c.vals[id].comps
	}
	wide := len(ks) == 2 && c.comps[ks[0]].wide
	loop := a.NewLabel()
	a.Bind(loop)
	a.G(x86.TZCNT, 4, x86.RCX, x86.R(x86.R14))
	a.G(x86.MOV, 8, x86.R8, x86.MX(rFrame, x86.RCX, 8, tmpAddr))
	a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.R15))
	if w > 1 {
		a.G(x86.MOV, 4, x86.RAX, x86.R(x86.R8))
		a.AluI(x86.AND, 4, x86.R(x86.RAX), mem.PageSize-1)
		a.AluI(x86.CMP, 4, x86.R(x86.RAX), mem.PageSize-w)
		a.Jcc(x86.A, slow)
	}
	a.G(x86.MOV, 8, x86.R12, x86.R(x86.R8))
	a.GI8(x86.SHR, 8, x86.R(x86.R12), mem.PageShift)
	c.probe(x86.R12, x86.R9, x86.RDX, field, slow)
	a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.R9))
	for i := range ks {
		tmp := x86.MX(rFrame, x86.RCX, 4, tmpData+64*int32(i))
		p := x86.M(x86.R8, 4*int32(i))
		size := 4
		if wide {
			// both components are one array of 16 qwords
			tmp, size = x86.MX(rFrame, x86.RCX, 8, tmpData), 8
			if i == 1 {
				continue
			}
		}
		switch {
		case w < 4 && store:
			a.G(x86.MOV, 4, x86.RAX, tmp)
			a.GS(x86.MOVS, int(w), p, x86.RAX)
		case w < 4:
			inst := map[[2]bool]*x86.GInst{{false, false}: x86.MOVZX8, {false, true}: x86.MOVSX8, {true, false}: x86.MOVZX16,
				{true, true}: x86.MOVSX16}[[2]bool{w == 2, v.Sign}]
			a.G(inst, 4, x86.RAX, p)
			a.GS(x86.MOVS, 4, tmp, x86.RAX)
		case store:
			a.G(x86.MOV, size, x86.RAX, tmp)
			a.GS(x86.MOVS, size, p, x86.RAX)
		default:
			a.G(x86.MOV, size, x86.RAX, p)
			a.GS(x86.MOVS, size, tmp, x86.RAX)
		}
	}
	a.GV(x86.BLSR, 4, 0, x86.R14, x86.R(x86.R14))
	a.Jcc(x86.NE, loop)
	if store {
		return
	}
	for i, k := range ks {
		tmp := x86.M(rFrame, tmpData+64*int32(i))
		if wide {
			if i == 0 {
				a.E(x86.VMOVDQU64, L, 0, 0, tmp, x86.Zeroed(1))
			} else {
				a.XI(x86.KSHIFTRW, x86.L128, 2, 0, x86.KR(1), 8)
				a.E(x86.VMOVDQU64, L, 0, 0, tmp, x86.Zeroed(2))
			}
		} else {
			a.E(x86.VMOVDQU32, L, 0, 0, tmp, x86.Zeroed(1))
		}
		a.E(x86.VMOVDQU32S, L, 0, 0, at(k), noMod)
	}
}
