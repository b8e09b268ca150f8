package lift

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Buffer addressing. A buffer instruction names a descriptor (V#) of four scalar registers:
//
//	base [47:0]  stride [61:48]  swizzle [63] (gfx11: [63:62])  records [95:64]
//	index stride [118:117]  add lane number to index [119]  bounds rule [125:124] (gfx10+)
//
// and an index and an offset for each lane. The address is base + soffset + a function of index and offset: linear,
// index*stride + offset, or swizzled, where is lanes' elements of es bytes lie side by side:
//
//	((index/is)*stride + (offset/es)*es)*is + (index%is)*es + offset%es
//
// This is how scratch is laid out before gfx940 has it built in. What the descriptor says is known only when the code
// runs, but it is the same for all lanes: so what depends on it alone is scalar arithmetic, shared by all accesses of a
// block, and an access of scratch at a constant offset costs no vector arithmetic at all.
//
// Instructions with an index register (idxen) keep the IR's own BufAddr and BufOK.

// descField is a bit field of descriptor dword w.
func (c *ictx) descField(b *buffer, w int, pos, bits uint32) ir.ID {
	x := c.opx(ir.OpLShr, ir.S32, b.word[w], c.c32(pos))
	if pos+bits == 32 {
		return x
	}
	return c.opx(ir.OpAnd, ir.S32, x, c.c32(1<<bits-1))
}

func (c *ictx) sadd(x, y ir.ID) ir.ID { return c.opx(ir.OpAdd, ir.S32, x, y) }
func (c *ictx) shl(x, n ir.ID) ir.ID  { return c.op2(ir.OpShl, x, n) }

// linear is the layout of a descriptor: what is swizzled and how.
type linear struct {
	swizzled ir.ID // S1
	les, lis ir.ID // log2 of element size and index stride
	stride   ir.ID
	tid      ir.ID // S1: the lane number is added to the index
}

// layout reads a descriptor.
func (c *ictx) layout(b *buffer) linear {
	var l linear
	bit := func(x ir.ID) ir.ID { return c.opx(ir.OpSToB, ir.S1, x) }
	l.stride = c.descField(b, 1, 16, 14)
	l.tid = bit(c.descField(b, 3, 23, 1))
	l.lis = c.sadd(c.descField(b, 3, 21, 2), c.c32(3))
	switch {
	case c.gen >= isa.GFX11:
		s := c.descField(b, 1, 30, 2)
		l.swizzled, l.les = bit(s), c.sadd(s, c.c32(1))
	case c.gen >= isa.GFX10:
		l.swizzled, l.les = bit(c.descField(b, 1, 31, 1)), c.c32(2)
	default:
		l.swizzled, l.les = bit(c.descField(b, 1, 31, 1)), c.c32(2)
		// With the lane number in the index, the data-format field extends the stride.
		more := c.shl(c.descField(b, 3, 15, 4), c.c32(14))
		l.stride = c.opx(ir.OpOr, ir.S32, l.stride, c.opx(ir.OpSelect, ir.S32, l.tid, more, c.c32(0)))
	}
	return l
}

// split divides x by the power of two 1<<n into quotient*(1<<n) and remainder.
func (c *ictx) split(x, n ir.ID) (high, low ir.ID) {
	m := c.opx(ir.OpSub, ir.S32, c.opx(ir.OpShl, ir.S32, c.c32(1), n), c.c32(1))
	if is64(c.typ(x)) {
		m = c.opx(ir.OpZext64, ir.S64, m)
	}
	low = c.op2(ir.OpAnd, x, m)
	return c.op2(ir.OpSub, x, low), low
}

// pick is cond ? x : y for a truth value.
func (c *ictx) pick(cond, x, y ir.ID) ir.ID { return c.opx(ir.OpSelect, c.same(x, y), cond, x, y) }

// lanePart is what the index adds to the address: nothing, or the lane number's place.
func (c *ictx) lanePart(l *linear) (index, part ir.ID) {
	index = c.opx(ir.OpSelect, ir.V32, l.tid, c.opx(ir.OpLaneID, ir.V32), c.c32(0))
	high, low := c.split(index, l.lis)
	// (index/is*stride)*is is index rounded down, times stride.
	sw := c.op2(ir.OpAdd, c.op2(ir.OpMul, high, l.stride), c.shl(low, l.les))
	return index, c.pick(l.swizzled, sw, c.op2(ir.OpMul, index, l.stride))
}

// offsetPart is what the offset adds to the address.
func (c *ictx) offsetPart(l *linear, off ir.ID) ir.ID {
	high, low := c.split(off, l.les)
	return c.pick(l.swizzled, c.op2(ir.OpAdd, c.shl(high, l.lis), low), off)
}

// lanesIf is a truth value as a lane mask.
func (c *ictx) lanesIf(b ir.ID) ir.ID { return c.laneMask(of(b)) }

// upTo is the lanes whose x, unsigned and 32 or 64 bits wide, is at most bound, a signed S64; uniform x gives all or none.
func (c *ictx) upTo(x, bound ir.ID) ir.ID {
	zero := c.c(ir.S64, 0)
	ok := c.pure(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.SGE}, bound, zero)
	if x == ir.NoID {
		return c.lanesIf(ok)
	}
	if !is64(c.typ(x)) {
		bound = c.opx(ir.OpLo, ir.S32, c.opx(ir.OpMinU, ir.S64, bound, c.c(ir.S64, 0xffffffff)))
	}
	m := c.pure(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.ULE}, x, bound)
	return c.opx(ir.OpMAnd, ir.M, m, c.lanesIf(ok))
}

// resolve computes the address of an access of n bytes at k bytes into the instruction's data, without an index register.
func (c *ictx) resolve(a address, k, n int) address {
	b := a.buf
	l := c.layout(b)
	imm := uint64(uint32(c.in.Offset)) + uint64(k)
	z := func(x ir.ID) ir.ID { return c.opx(ir.OpZext64, ir.S64, x) }
	add := func(x, y ir.ID) ir.ID { return c.opx(ir.OpAdd, ir.S64, x, y) }
	base := c.pair(b.word[0], b.word[1])
	base = c.opx(ir.OpAShr, ir.S64, c.opx(ir.OpShl, ir.S64, base, c.c32(16)), c.c32(16))
	so := c.c(ir.S64, 0)
	if b.soffset != ir.NoID {
		so = z(b.soffset)
	}
	base = add(base, so)
	index, lane := c.lanePart(&l)
	// Room is how far a byte offset may reach for all of the access to be below limit.
	room := func(limit ir.ID) ir.ID {
		return c.opx(ir.OpSub, ir.S64, z(limit), c.c(ir.S64, uint64(n)))
	}
	raw := c.opx(ir.OpSub, ir.S64, room(b.word[2]), so)
	// The offset of a lane and the instruction's: swizzled, as scratch is, their sum wraps around, and compilers from gfx9 on write negative offsets of
	// lanes (GCNSubtarget's privateMemoryResourceIsRangeChecked); linear, a sum beyond 32 bits is out of bounds.
	offset, wrapped := b.voffset, ir.NoID
	if b.voffset != ir.NoID && imm != 0 {
		offset = c.op2(ir.OpAdd, b.voffset, c.c32(uint32(imm)))
		wrapped = c.pure(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.ULT}, offset, c.c32(uint32(imm)))
	}
	fits := func(ok ir.ID) ir.ID {
		if wrapped == ir.NoID {
			return ok
		}
		return c.opx(ir.OpMAnd, ir.M, ok, c.opx(ir.OpMOr, ir.M, c.lanesIf(l.swizzled), c.opx(ir.OpMNot, ir.M, wrapped)))
	}
	withinOffset := func(bound ir.ID) ir.ID { // the lanes whose offset is at most bound
		if b.voffset == ir.NoID {
			return c.upTo(ir.NoID, c.opx(ir.OpSub, ir.S64, bound, c.c(ir.S64, imm)))
		}
		return fits(c.upTo(offset, bound))
	}
	var total ir.ID // offset and lane part together, where they must be
	if b.voffset == ir.NoID {
		o := z(c.offsetPart(&l, c.c32(uint32(imm))))
		a.base, a.off = add(base, o), lane
		raw = c.opx(ir.OpSub, ir.S64, raw, o)
		total = lane
	} else {
		o := c.opx(ir.OpZext64, typeOf(isVec(c.typ(offset)), true), offset)
		total = c.op2(ir.OpAdd, c.offsetPart(&l, o), c.opx(ir.OpZext64, ir.V64, lane))
		a.base, a.off = base, total
	}
	a.imm = 0
	var ok ir.ID
	if c.gen < isa.GFX10 {
		// By bytes, and of the offset alone.
		ok = withinOffset(c.opx(ir.OpSub, ir.S64, room(b.word[2]), so))
	} else {
		ok = c.boundsBySelect(b, &l, index, withinOffset(room(l.stride)), fits(c.upTo(total, raw)))
	}
	a.mask = c.opx(ir.OpMAnd, ir.M, a.mask, ok)
	return a
}

// boundsBySelect is gfx10's choice of four rules: index and offset, index, any records, or raw bytes (index and offset when
// swizzled).
func (c *ictx) boundsBySelect(b *buffer, l *linear, index, offsetOK, rawOK ir.ID) ir.ID {
	and := func(x, y ir.ID) ir.ID { return c.opx(ir.OpMAnd, ir.M, x, y) }
	or := func(x, y ir.ID) ir.ID { return c.opx(ir.OpMOr, ir.M, x, y) }
	is := func(x ir.ID, n uint32) ir.ID {
		return c.pure(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.EQ}, x, c.c32(n))
	}
	sel := c.descField(b, 3, 28, 2)
	indexOK := c.pure(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.ULT}, index, b.word[2])
	both := and(indexOK, offsetOK)
	any := c.opx(ir.OpSToB, ir.S1, b.word[2])
	strided := c.opx(ir.OpMAnd, ir.S1, l.swizzled, c.opx(ir.OpSToB, ir.S1, l.stride))
	structured := c.opx(ir.OpMOr, ir.S1, is(sel, 0), c.opx(ir.OpMAnd, ir.S1, is(sel, 3), strided))
	plain := c.opx(ir.OpMAnd, ir.S1, is(sel, 3), c.opx(ir.OpMNot, ir.S1, strided))
	r := and(c.lanesIf(structured), both)
	r = or(r, and(c.lanesIf(is(sel, 1)), indexOK))
	r = or(r, c.lanesIf(c.opx(ir.OpMAnd, ir.S1, is(sel, 2), any)))
	return or(r, and(c.lanesIf(plain), rawOK))
}
