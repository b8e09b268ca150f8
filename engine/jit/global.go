package jit

import (
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
	a.G(x86.MOV, 8, x86.RAX, x86.R(rp))
	a.GI8(x86.SHR, 8, x86.R(x86.RAX), 12) // mem.Index
	a.Alu(x86.XOR, 4, x86.RAX, x86.R(rp))
	a.AluI(x86.AND, 4, x86.R(x86.RAX), mem.TLBSize-1)
	a.GI8(x86.SHL, 4, x86.R(x86.RAX), 5)
	a.G(x86.LEA, 8, x86.RBX, x86.M(rp, 1))
	a.Alu(x86.CMP, 8, x86.RBX, x86.MX(rtlb, x86.RAX, 1, off))
	a.Jcc(x86.NE, miss)
	a.G(x86.MOV, 8, rd, x86.MX(rtlb, x86.RAX, 1, tlbDelta))
}

var _ [32 - tlbEntry]byte // probe shifts by 5
var _ [tlbEntry - 32]byte
var _ [mem.TLBSize - 1<<12]byte // and folds at 12
var _ [1<<12 - mem.TLBSize]byte

// sload is a scalar load: one address, up to 64 bytes, in one page; anything else is the helper's.
func (c *compiler) sload(id ir.ID, v *ir.Value) {
	if t := c.v(v.Args[0]).Type; t != ir.S64 || int(v.Width) != 4*v.Regs() || v.Space == ir.LDS || v.Space == ir.Scratch {
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
	c.sloadAt(id, v, slow)
	a.Bind(done)
}

// sloadAt is the scalar load at address R8; what is not in one known page goes to slow.
func (c *compiler) sloadAt(id ir.ID, v *ir.Value, slow x86.Label) {
	a := &c.a
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
	c.sloadFrom(id, v)
}

// sloadFrom is the scalar load at host address R8.
func (c *compiler) sloadFrom(id ir.ID, v *ir.Value) {
	a := &c.a
	off := int32(0)
	for i, k := range c.vals[id].comps {
		size := c.gsize(k)
		a.G(x86.MOV, size, x86.RAX, x86.M(x86.R8, off))
		c.gout(id, i, x86.RAX)
		off += int32(size)
	}
}

// canGlobal tells whether global knows the access.
func (c *compiler) canGlobal(v *ir.Value) bool {
	off := v.Args[1]
	if off == ir.NoID || !isVec(c.v(off).Type) {
		return false
	}
	ks := c.vals[off].comps
	if len(ks) == 0 || c.comps[ks[0]].kind != compZ || len(ks) == 2 && c.comps[ks[1]].kind != compZ && !c.zeroHigh(ks) {
		return false
	}
	if b := v.Args[0]; b != ir.NoID && c.v(b).Type != ir.S64 {
		return false
	}
	n := v.Regs()
	if v.Op == ir.OpStore {
		n = len(c.vals[v.Args[3]].comps)
		for _, k := range c.vals[v.Args[3]].comps {
			if c.comps[k].kind != compZ {
				return false
			}
		}
	}
	switch v.Width {
	case 1, 2:
		return n == 1
	case 4, 8, 12, 16:
		return n == int(v.Width)/4
	}
	return false
}

// zeroHigh tells whether a 64-bit offset in halves has a high half that is zero.
func (c *compiler) zeroHigh(ks []int32) bool {
	if len(ks) != 2 {
		return false
	}
	x, ok := c.compConst(ks[1])
	return ok && uint32(x) == 0
}

// access is one global memory operation being emitted.
type access struct {
	c      *compiler
	id     ir.ID
	v      *ir.Value
	w      int32
	store  bool
	field  int32 // of the TLB entry
	offs   []int32
	pair   bool // 64-bit offset in halves
	sign   bool // 32-bit offset is signed
	slow   x86.Label
	all    bool   // all lanes are known to be active; else:
	masks  x86.RM // those of the strip that R10 says
	fixed  int    // 1 + the strip being emitted, or 0: R11 says
	win    int32  // its window, an offset from RDX
	shared bool   // it is a routine's (shared.go)
}

// access makes an access of a global load or store, which leaves to the helper at slow.
func (c *compiler) access(id ir.ID, v *ir.Value, slow x86.Label) *access {
	x := &access{c: c, id: id, v: v, w: int32(v.Width), store: v.Op == ir.OpStore, field: tlbR, offs: c.vals[v.Args[1]].comps, slow: slow}
	if x.store {
		x.field = tlbW
	}
	x.pair = len(x.offs) == 2 && !c.zeroHigh(x.offs)
	x.sign = len(x.offs) == 1 && v.Imm&ir.OffSigned != 0
	x.all = c.fullMask(v.Args[2])
	return x
}

// at is the current strip of a component between segments.
func (x *access) at(k int32) x86.RM {
	m := &x.c.comps[k]
	base, off := rFrame, m.home
	switch {
	case m.arg > 0:
		base, off = x.c.argument(m.arg), 0
	case m.home >= 0:
		base = rState
	default:
		off = x.c.slot(k)
	}
	if x.fixed > 0 {
		return x86.M(base, off+int32(64*(x.fixed-1)))
	}
	return x86.MX(base, rStrip, 1, off)
}

// data are the components that are loaded or stored.
func (x *access) data() []int32 {
	if x.store {
		return x.c.vals[x.v.Args[3]].comps
	}
	return x.c.vals[x.id].comps
}

// global emits a load or store of global memory. Lanes at consecutive addresses inside mapped pages are one vector access of the whole wave, or of
// a strip; others go one by one; what the TLB does not know, or crosses pages, is left to the helper, which does the whole
// operation.
func (c *compiler) global(id ir.ID, v *ir.Value) {
	if c.canShare(id, v) {
		c.share(id, v, false)
		return
	}
	slow, done := c.coldHelper(id)
	again := c.a.NewLabel()
	c.a.Bind(again)
	c.p.slots[id].again = again
	x := c.access(id, v, slow)
	if x.windowed() {
		c.p.slots[id].window = c.window(x.store)
		x.win = mem.WindowsOffset + int32(c.p.slots[id].window)*mem.WindowSize
	}
	x.emit(done)
}

// emit emits the access, which ends at done.
func (x *access) emit(done x86.Label) {
	strips := x.c.a.NewLabel()
	x.begin()
	if x.wave(strips, done) {
		x.c.a.Bind(strips)
		x.byStrip()
	}
	x.c.a.Bind(done)
}

// begin sets the access's registers: R15 base + immediate, RDX the TLB, R13 the page that R9 is the delta of (none at first), R12 where the
// masks are. R14 will be the strip's lanes; RBP is not ours.
func (x *access) begin() {
	c, a := x.c, &x.c.a
	c.laneBase(x.v)
	a.G(x86.MOV, 8, x86.RDX, x86.M(rState, offTLB))
	a.MovI(x86.R13, ^uint64(0))
	if x.all {
		return
	}
	if y, ok := c.isConst(x.v.Args[2]); ok {
		a.LeaL(x86.R12, a.Const64(y), 0)
	} else {
		a.G(x86.LEA, 8, x86.R12, c.memOf(c.vals[x.v.Args[2]].comps[0]))
	}
	x.masks = x86.MX(x86.R12, rMask, 1, 0)
}

// wave emits the ways that do the access for the whole wave; they go to done. What they leave over goes on at strips, if anything does.
func (x *access) wave(strips, done x86.Label) (over bool) {
	c, a := x.c, &x.c.a
	some, rows := a.NewLabel(), x.canRows()
	if whole := c.canContiguous(x.v); whole || rows {
		if !x.all {
			a.AluI(x86.CMP, c.lanes/8, x86.M(x86.R12, 0), -1)
			a.Jcc(x86.NE, some)
		}
		inRows := a.NewLabel()
		apart := some
		if x.w == 4 {
			apart = inRows
		}
		if rows {
			x.lookRows(inRows)
		}
		if whole {
			x.whole(apart)
			a.Jmp(done)
		} else {
			a.Jmp(some)
		}
		a.Bind(inRows)
		x.fixed = 0
		if rows {
			x.rows(strips, done)
		}
	}
	a.Bind(some)
	if !x.store {
		return true
	}
	x.scatter(func(q int) {
		if x.all {
			a.X(x86.KXNORW, x86.L128, 1, 1, x86.KR(1))
		} else {
			a.X(x86.KMOVWL, x86.L128, 1, 0, x86.M(x86.R12, int32(2*q)))
		}
	}, strips, done)
	return x.w != 4 && x.windowed()
}

// byStrip goes through the strips.
func (x *access) byStrip() {
	c, a := x.c, &x.c.a
	const L = x86.L512
	top, next, partial, single, apart, empty := a.NewLabel(), a.NewLabel(), a.NewLabel(), a.NewLabel(), a.NewLabel(), a.NewLabel()
	a.Alu(x86.XOR, 4, rStrip, x86.R(rStrip))
	a.Alu(x86.XOR, 4, rMask, x86.R(rMask))
	a.Bind(top)
	// The form for some lanes does for all, but for accesses of 16 bytes, which have another; the first tier does with that.
	either := c.m.Quick && !x.all && x.w < 16
	if x.all {
		a.MovI(x86.R14, 0xffff)
	} else {
		a.G(x86.MOVZX16, 4, x86.R14, x.masks)
		if !either {
			a.AluI(x86.CMP, 4, x86.R(x86.R14), 0xffff)
			a.Jcc(x86.NE, partial)
		}
	}
	if !either {
		if c.canContiguous(x.v) {
			x.allLanes(apart)
			a.Jmp(next)
		} else {
			a.Jmp(apart)
		}
	}
	if !x.all {
		a.Bind(partial)
		a.GS(x86.TEST, 4, x86.R(x86.R14), x86.R14)
		a.Jcc(x86.E, empty)
		a.X(x86.KMOVWG, x86.L128, 1, 0, x86.R(x86.R14))
		if c.canContiguous(x.v) {
			x.someLanes(single)
			a.Jmp(next)
		} else {
			a.Jmp(single)
		}
	}
	a.Bind(apart)
	if x.w == 16 {
		x.groups(next)
	}
	a.X(x86.KXNORW, x86.L128, 1, 1, x86.KR(1))
	a.Bind(single)
	if !x.store && x.windowed() {
		x.gather(next)
	}
	x.oneByOne()
	if x.all {
		a.Bind(partial)
		a.Bind(empty)
	} else {
		a.Jmp(next)
		a.Bind(empty)
		if !x.store {
			a.E(x86.VPXORD, L, 0, 0, x86.V(0), noMod)
			for _, k := range x.data() {
				a.E(x86.VMOVDQU32S, L, 0, 0, x.at(k), noMod)
			}
		}
	}
	a.Bind(next)
	a.AluI(x86.ADD, 8, x86.R(rStrip), 64)
	a.AluI(x86.ADD, 8, x86.R(rMask), 2)
	a.AluI(x86.CMP, 4, x86.R(rStrip), int32(64*c.strips))
	a.Jcc(x86.NE, top)
}

// allLanes moves all lanes of the strip when they follow lane 0; else it goes to apart.
func (x *access) allLanes(apart x86.Label) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	a.E(x86.VMOVDQU32, L, 0, 0, x.at(x.offs[0]), noMod)
	a.E(x86.VPSUBD, L, 1, 0, c.table(laneTimes(uint32(x.w))), noMod)
	a.EI(x86.VPCMPD, L, 1, 1, x.at(x.offs[0]).Bcast(), 0, noMod)
	if x.pair {
		a.E(x86.VMOVDQU32, L, 1, 0, x.at(x.offs[1]), noMod)
		a.EI(x86.VPCMPD, L, 1, 1, x.at(x.offs[1]).Bcast(), 0, x86.Masked(1))
	}
	a.X(x86.KORTESTW, x86.L128, 1, 0, x86.KR(1))
	a.Jcc(x86.AE, apart)
	x.first(x86.R8, x86.RAX, x.slow)
	a.G(x86.LEA, 8, x86.RCX, x86.M(x86.R8, 16*x.w-1))
	a.G(x86.MOV, 8, x86.RAX, x86.R(x86.R8))
	x.pages()
	x.move(true)
}

// someLanes moves the lanes of k1 and R14 when they lie where those after one and the same lane 0 would; else it goes to single.
func (x *access) someLanes(single x86.Label) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	// The offset that lane 0 would have, from the first active lane.
	a.E(x86.VMOVDQU32, L, 0, 0, x.at(x.offs[0]), noMod)
	a.E(x86.VPSUBD, L, 1, 0, c.table(laneTimes(uint32(x.w))), noMod)
	a.E(x86.VPCOMPRESSD, L, 1, 0, x86.V(2), x86.Zeroed(1))
	a.E(x86.VMOVDS, x86.L128, 2, 0, x86.R(x86.R8), noMod)
	a.E(x86.VPBROADCASTD, L, 2, 0, x86.V(2), noMod)
	a.EI(x86.VPCMPD, L, 2, 2, x86.V(1), 0, x86.Masked(1))
	if x.pair {
		a.E(x86.VMOVDQU32, L, 0, 0, x.at(x.offs[1]), noMod)
		a.E(x86.VPCOMPRESSD, L, 0, 0, x86.V(1), x86.Zeroed(1))
		a.E(x86.VMOVDS, x86.L128, 1, 0, x86.R(x86.RAX), noMod)
		a.E(x86.VPBROADCASTD, L, 1, 0, x86.V(1), noMod)
		a.EI(x86.VPCMPD, L, 2, 0, x86.V(1), 0, x86.Masked(2))
	}
	a.X(x86.KXORW, x86.L128, 2, 2, x86.KR(1))
	a.X(x86.KORTESTW, x86.L128, 2, 0, x86.KR(2))
	a.Jcc(x86.NE, single)
	x.wrap(single, 16)
	if x.pair {
		a.GI8(x86.SHL, 8, x86.R(x86.RAX), 32)
		a.Alu(x86.OR, 8, x86.R8, x86.R(x86.RAX))
	}
	a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.R15))
	// first and last byte of the active lanes
	a.G(x86.TZCNT, 4, x86.RAX, x86.R(x86.R14))
	a.G(x86.BSR, 4, x86.RCX, x86.R(x86.R14))
	a.IMulI(4, x86.RAX, x86.R(x86.RAX), x.w)
	a.IMulI(4, x86.RCX, x86.R(x86.RCX), x.w)
	a.Alu(x86.ADD, 8, x86.RAX, x86.R(x86.R8))
	a.G(x86.LEA, 8, x86.RCX, x86.MX(x86.R8, x86.RCX, 1, x.w-1))
	x.pages()
	x.move(false)
}

// first puts the address of the strip's lane 0 into d; the offset of a 32-bit one must not wrap inside the strip, or it goes to out.
func (x *access) first(d, t x86.Reg, out x86.Label) {
	a := &x.c.a
	a.G(x86.MOV, 4, d, x.at(x.offs[0]))
	if x.pair {
		// A carry out of the low half inside the strip shows as a high half that differs.
		a.G(x86.MOV, 4, t, x.at(x.offs[1]))
		x.wrap(out, 16)
		a.GI8(x86.SHL, 8, x86.R(t), 32)
		a.Alu(x86.OR, 8, d, x86.R(t))
	} else {
		x.wrap(out, 16)
	}
	a.Alu(x86.ADD, 8, d, x86.R(x86.R15))
}

// whole does an access of all lanes of the wave at consecutive addresses; otherwise it goes to no.
func (x *access) whole(no x86.Label) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	lanes := int32(c.lanes)
	x.fixed = 1
	a.E(x86.VPBROADCASTD, L, 0, 0, x.at(x.offs[0]), noMod)
	a.E(x86.VPADDD, L, 0, 0, c.table(laneTimes(uint32(x.w))), noMod)
	if x.pair {
		a.E(x86.VPBROADCASTD, L, 1, 0, x.at(x.offs[1]), noMod)
	}
	m := noMod
	for q := range c.strips {
		x.fixed = q + 1
		if q > 0 {
			a.E(x86.VPADDD, L, 0, 0, x86.ML(a.Const32(uint32(16*x.w)), 0).Bcast(), noMod)
		}
		a.EI(x86.VPCMPD, L, 1, 0, x.at(x.offs[0]), 0, m)
		m = x86.Masked(1)
		if x.pair {
			a.EI(x86.VPCMPD, L, 1, 1, x.at(x.offs[1]), 0, m)
		}
	}
	a.X(x86.KORTESTW, x86.L128, 1, 0, x86.KR(1))
	a.Jcc(x86.AE, no)
	x.fixed = 1
	a.G(x86.MOV, 4, x86.R8, x.at(x.offs[0]))
	if x.pair {
		a.G(x86.MOV, 4, x86.RAX, x.at(x.offs[1]))
	}
	x.wrap(no, lanes)
	if x.pair {
		a.GI8(x86.SHL, 8, x86.R(x86.RAX), 32)
		a.Alu(x86.OR, 8, x86.R8, x86.R(x86.RAX))
	}
	a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.R15))
	there := a.NewLabel()
	if !x.shared {
		x.byRange(lanes*x.w, there)
	}
	a.G(x86.LEA, 8, x86.RCX, x86.M(x86.R8, lanes*x.w-1))
	a.G(x86.MOV, 8, x86.RAX, x86.R(x86.R8))
	x.pages()
	a.Bind(there)
	if x.w <= 4 {
		for q := range c.strips {
			x.fixed = q + 1
			x.move(true)
		}
		x.fixed = 0
		return
	}
	x.fixed = 0
	top := a.NewLabel()
	a.Alu(x86.XOR, 4, rStrip, x86.R(rStrip))
	a.Bind(top)
	x.move(true)
	a.AluI(x86.ADD, 8, x86.R(x86.R8), 16*x.w)
	a.AluI(x86.ADD, 8, x86.R(rStrip), 64)
	a.AluI(x86.CMP, 4, x86.R(rStrip), int32(64*c.strips))
	a.Jcc(x86.NE, top)
}

// wrap leaves for out when the 32-bit offset in R8 is so near its end that one of the next lanes' may have wrapped; else it
// is extended to 64 bits.
func (x *access) wrap(out x86.Label, lanes int32) {
	a := &x.c.a
	if x.sign {
		a.AluI(x86.CMP, 4, x86.R(x86.R8), 0x7fffffff-lanes*x.w)
		a.Jcc(x86.G, out)
		a.G(x86.MOVSXD, 8, x86.R8, x86.R(x86.R8))
		return
	}
	a.AluI(x86.CMP, 4, x86.R(x86.R8), -1-lanes*x.w)
	a.Jcc(x86.A, out)
}

// pages translates the access from address RAX to RCX (inclusive), with lane 0 at R8: R8 becomes a host address.
func (x *access) pages() {
	c, a := x.c, &x.c.a
	known, same := a.NewLabel(), a.NewLabel()
	a.GI8(x86.SHR, 8, x86.R(x86.RAX), mem.PageShift)
	a.GI8(x86.SHR, 8, x86.R(x86.RCX), mem.PageShift)
	a.Alu(x86.CMP, 8, x86.RAX, x86.R(x86.R13))
	a.Jcc(x86.E, known)
	a.G(x86.MOV, 8, x86.R13, x86.R(x86.RAX))
	c.probe(x86.R13, x86.R9, x86.RDX, x.field, x.slow)
	a.Bind(known)
	a.Alu(x86.CMP, 8, x86.RCX, x86.R(x86.R13))
	a.Jcc(x86.E, same)
	// The next page must follow in host memory too; it is the one to remember.
	a.G(x86.MOV, 8, x86.R13, x86.R(x86.RCX))
	c.probe(x86.R13, x86.RCX, x86.RDX, x.field, x.slow)
	a.Alu(x86.CMP, 8, x86.RCX, x86.R(x86.R9))
	a.Jcc(x86.NE, x.slow)
	a.Bind(same)
	a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.R9))
}

// table is a 64-byte constant.
func (c *compiler) table(t *[16]uint32) x86.RM { c.r.c = c; return c.r.table(t) }

// Tables of the 4×4 transposition of b128 accesses: dwords j and j+1 of four lanes in each source.
var tabQuad = [2]*[16]uint32{quad(0), quad(2)}

// groups does an access of 16 bytes by all lanes when each four lanes are contiguous, as in a tile whose rows are 64
