package lift

import (
	"math/bits"
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// ldsAddress is the address of a DS instruction, off bytes after its address register.
func (c *ictx) ldsAddress(off uint32) address {
	if c.in.GDS && c.gen >= isa.GFX11 && !c.single {
		c.mask, c.single = c.firstLane(c.mask), true
	}
	a := address{space: ir.LDS, base: ir.NoID, off: ir.NoID, imm: int32(off), mask: c.mask}
	if c.in.GDS {
		a.space = ir.GDS
	}
	if o := c.vgprOperand("addr", "vaddr"); o != nil {
		a.off = c.reg(o, 0, false)
	}
	return a
}

// gdsBound is a's place in the global data share for an access of n bytes. M0 names a window of it, its base in bits 31:16 and its size
// in bits 15:0; lanes outside read 0 and write nothing (Vega and RDNA 3 manuals, "Global Data Share"). From gfx11 on only the first active
// lane takes part.
func (c *ictx) gdsBound(a address, n int) address {
	if a.space != ir.GDS {
		return a
	}
	m0 := c.sget(isa.SRegM0)
	off := c.c32(uint32(a.imm))
	if a.off != ir.NoID {
		off = c.op2(ir.OpAdd, a.off, off)
	}
	off = c.perLane(off)
	end := c.op2(ir.OpAdd, off, c.c32(uint32(n)))
	in := c.pure(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.ULE}, end, c.opx(ir.OpAnd, ir.S32, m0, c.c32(0xffff)))
	in = c.opx(ir.OpMAnd, ir.M, in, c.pure(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.ULT}, off, end))
	a.off, a.imm = c.op2(ir.OpAdd, off, c.opx(ir.OpLShr, ir.S32, m0, c.c32(16))), 0
	a.mask = c.opx(ir.OpMAnd, ir.M, a.mask, in)
	return a
}

// firstLane is the first lane of a mask, if there is any.
func (c *ictx) firstLane(mask ir.ID) ir.ID {
	first := c.opx(ir.OpReadFirst, ir.S32, c.opx(ir.OpLaneID, ir.V32), mask)
	return c.opx(ir.OpMAnd, ir.M, mask, c.pure(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.EQ}, c.opx(ir.OpLaneID, ir.V32), first))
}

// ldsOffset is the 16-bit offset of a one-address DS instruction.
func (c *ictx) ldsOffset() uint32 { return uint32(c.in.Offset) & 0xffff }

// two returns the byte offsets of a two-address DS instruction on elements of n bytes.
func (c *ictx) two(n int, args []string) (uint32, uint32) {
	scale := uint32(n)
	if len(args) > 1 && args[1] == "st64" {
		scale *= 64
	}
	return uint32(c.in.Offset0) * scale, uint32(c.in.Offset1) * scale
}

func addLDSRules(r map[string]rule) {
	r["ds_load"] = func(c *ictx, args []string) error {
		t, ok := memTypes[args[0]]
		o := c.need(c.dataOperand(true))
		if !ok {
			return errOperand
		}
		c.loaded(o, t, c.load(c.ldsAddress(c.ldsOffset()), t.bytes, t.sign))
		return nil
	}
	r["ds_load2"] = func(c *ictx, args []string) error {
		t, o := memTypes[args[0]], c.need(c.dataOperand(true))
		k0, k1 := c.two(t.bytes, args)
		x := c.load(c.ldsAddress(k0), t.bytes, false)
		y := c.load(c.ldsAddress(k1), t.bytes, false)
		c.setRegs(o, 0, x)
		c.setRegs(o, len(x), y)
		return nil
	}
	r["ds_store"] = func(c *ictx, args []string) error {
		t, ok := memTypes[args[0]]
		o := c.need(c.dataOperand(false))
		if !ok {
			return errOperand
		}
		d := c.regs(o, 0, t.dwords())
		if t.high {
			d[0] = c.op2(ir.OpLShr, d[0], c.c32(16))
		}
		c.store1(c.ldsAddress(c.ldsOffset()), t.bytes, d)
		return nil
	}
	r["ds_store2"] = func(c *ictx, args []string) error {
		t, o, p := memTypes[args[0]], c.need(c.dataOperand(false)), c.need(c.vgprOperand("data1"))
		k0, k1 := c.two(t.bytes, args)
		x, y := c.regs(o, 0, t.dwords()), c.regs(p, 0, t.dwords())
		c.store1(c.ldsAddress(k0), t.bytes, x)
		c.store1(c.ldsAddress(k1), t.bytes, y)
		return nil
	}
	r["ds_atomic"] = func(c *ictx, args []string) error {
		k, ok := atomicOps[args[0]]
		t, ok2 := memTypes[args[1]]
		o := c.need(c.dataOperand(false))
		if !ok || !ok2 {
			return errOperand
		}
		data, data2 := c.gather(c.regs(o, 0, t.dwords())), ir.NoID
		if p := c.vgprOperand("data1"); p != nil {
			data2 = c.gather(c.regs(p, 0, t.dwords()))
		}
		// ds_cmpst takes (compare, new); gfx11's ds_cmpstore takes (new, compare).
		if k.op == ir.AtomicCmpSwap && slices.Contains(args[2:], "cmpfirst") {
			data, data2 = data2, data
		}
		ret := len(args) > 2 && args[2] == "rtn"
		return c.atomic1(c.ldsAddress(c.ldsOffset()), k.op, k.kind, t, data, data2, ret, c.dataOperand(true))
	}
	r["ds_src2"] = src2Rule
	r["ds_condxchg"] = condxchgRule
	r["bvh_stack"] = bvhStackRule
	r["lds_direct"] = ldsDirectRule
	r["ds_swap2"] = swap2Rule
	r["ds_permute"] = permuteRule
	r["ds_swizzle"] = swizzleRule
	r["ds_addtid"] = addtidRule
	r["ds_append"] = appendRule
}

// swap2Rule is ds_wrxchg2*: two exchanges.
func swap2Rule(c *ictx, args []string) error {
	t, o, p, d := memTypes[args[0]], c.need(c.dataOperand(false)), c.need(c.vgprOperand("data1")), c.need(c.dataOperand(true))
	k0, k1 := c.two(t.bytes, args)
	n := t.dwords()
	swap := func(off uint32, o *isa.Operand) []ir.ID {
		at := c.gdsBound(c.ldsAddress(off), t.bytes)
		v := ir.Value{Op: ir.OpAtomic, Atomic: ir.AtomicSwap, Space: at.space, Width: uint8(t.bytes), Order: ir.OrderReturn,
			Type: typeOf(true, n == 2), Imm: uint64(uint32(at.imm))}
		return c.dwords(c.raw(v, ir.NoID, at.off, at.mask, c.gather(c.regs(o, 0, n))))
	}
	old0, old1 := swap(k0, o), swap(k1, p)
	c.setRegs(d, 0, old0)
	c.setRegs(d, n, old1)
	return nil
}

// permuteRule is ds_permute_b32 and ds_bpermute_b32: each lane sends to, or takes from, the lane that its address names.
func permuteRule(c *ictx, args []string) error {
	o, d, addr := c.need(c.dataOperand(false)), c.need(c.dataOperand(true)), c.need(c.vgprOperand("addr", "vaddr"))
	i := c.op2(ir.OpAdd, c.reg(addr, 0, false), c.c32(c.ldsOffset()))
	i = c.op2(ir.OpLShr, i, c.c32(2))
	if c.gen >= isa.GFX10 && c.lanes == 64 {
		// Two halves of 32 lanes that do not see each other.
		i = c.op2(ir.OpOr, c.op2(ir.OpAnd, i, c.c32(31)), c.opx(ir.OpAnd, ir.V32, c.opx(ir.OpLaneID, ir.V32), c.c32(32)))
	}
	op := ir.OpPermute
	if args[0] == "pull" {
		op = ir.OpBPermute
	}
	c.setRegs(d, 0, []ir.ID{c.opx(op, ir.V32, c.reg(o, 0, false), i, c.exec())})
	return nil
}

// addtidRule is ds_{read,write}_addtid_b32: LDS at M0 + offset + lane*4.
func addtidRule(c *ictx, args []string) error {
	off := c.opx(ir.OpShl, ir.V32, c.opx(ir.OpLaneID, ir.V32), c.c32(2))
	off = c.opx(ir.OpAdd, ir.V32, off, c.opx(ir.OpAnd, ir.S32, c.sget(isa.SRegM0), c.c32(0xffff)))
	a := address{space: ir.LDS, base: ir.NoID, off: off, imm: int32(c.ldsOffset()), mask: c.mask}
	if args[0] == "load" {
		o := c.need(c.dataOperand(true))
		c.setRegs(o, 0, c.load(a, 4, false))
		return nil
	}
	o := c.need(c.dataOperand(false))
	c.store1(a, 4, c.regs(o, 0, 1))
	return nil
}

// appendRule is ds_append and ds_consume: one atomic for the wave adds or subtracts the number of active lanes, and all get the old value.
// The manuals call the base of LDS "M0.base"; LLVM puts a pointer into M0 as it is, so it is M0[15:0] here.
//
// fidelity: approximate isa-ds-append: ds_append and ds_consume on LDS address M0[15:0] + offset, where the RDNA 4 manual has the offset only
func appendRule(c *ictx, args []string) error {
	d := c.need(c.dataOperand(true))
	op := ir.AtomicAdd
	if args[0] == "consume" {
		op = ir.AtomicSub
	}
	exec := c.exec()
	n := c.op2(ir.OpPopcnt, c.opx(ir.OpMToS, c.maskScalar(), exec))
	if is64(c.typ(n)) {
		n = c.opx(ir.OpLo, ir.S32, n)
	}
	at := address{space: ir.LDS, base: ir.NoID, off: ir.NoID, imm: int32(c.ldsOffset())}
	if c.in.GDS {
		at.space = ir.GDS
	} else {
		at.off = c.perLane(c.opx(ir.OpAnd, ir.S32, c.sget(isa.SRegM0), c.c32(0xffff)))
	}
	one := c.firstLane(exec) // does it, if there is any
	at.mask = one
	at = c.gdsBound(at, 4)
	old := c.raw(ir.Value{Op: ir.OpAtomic, Type: ir.V32, Atomic: op, Space: at.space, Width: 4, Order: ir.OrderReturn,
		Imm: uint64(uint32(at.imm))}, ir.NoID, at.off, at.mask, c.perLane(n))
	c.setRegs(d, 0, []ir.ID{c.opx(ir.OpReadFirst, ir.S32, old, exec)})
	return nil
}

// src2Rule is ds_*_src2_*: the second operand is in LDS too, some dwords before or behind the first one. The distance is the upper
// half of the address when bit 15 of the offset is set, otherwise the offset (GCN3 and Vega manuals, "DS_ADD_SRC2_U32").
//
// fidelity: approximate isa-src2: all lanes read their second operand before any lane writes
func src2Rule(c *ictx, args []string) error {
	k, isAtomic := atomicOps[args[0]]
	t, ok := memTypes[args[1]]
	addr := c.vgprOperand("addr", "vaddr")
	if !ok || addr == nil || !isAtomic && args[0] != "write" {
		return errOperand
	}
	a, off := c.reg(addr, 0, false), c.ldsOffset()
	first, second := a, ir.NoID
	if off>>15 != 0 {
		first = c.op2(ir.OpAnd, a, c.c32(0x1ffff))
		second = c.op2(ir.OpAdd, first, c.op2(ir.OpShl, c.op2(ir.OpAShr, a, c.c32(17)), c.c32(2)))
	} else {
		dwords := int32(off<<17) >> 17
		second = c.op2(ir.OpAdd, a, c.c32(uint32(dwords)*4))
	}
	at := func(off ir.ID) address {
		x := address{space: ir.LDS, base: ir.NoID, off: off, mask: c.mask}
		if c.in.GDS {
			x.space = ir.GDS
		}
		return x
	}
	data := c.load(at(second), t.bytes, false)
	if !isAtomic {
		c.store1(at(first), t.bytes, data)
		return nil
	}
	return c.atomic1(at(first), k.op, k.kind, t, c.gather(data), ir.NoID, false, nil)
}

// condxchgRule is ds_condxchg32_rtn_b64: of each half of an aligned quadword, the old value is returned and, when bit 31 of the
// data is set, the other 31 bits of the data are written (RDNA 3 and CDNA 3 manuals).
func condxchgRule(c *ictx, _ []string) error {
	o, d := c.need(c.dataOperand(false)), c.need(c.dataOperand(true))
	a := c.ldsAddress(0)
	a.off = c.op2(ir.OpAnd, c.op2(ir.OpAdd, a.off, c.c32(c.ldsOffset())), c.c32(0xfff8))
	old := c.load(a, 8, false)
	for i := range 2 {
		x := c.reg(o, i, false)
		a.imm = int32(4 * i)
		set := c.pure(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.SLT}, x, c.c32(0))
		at := a
		at.mask = c.opx(ir.OpMAnd, ir.M, a.mask, set)
		c.store1(at, 4, []ir.ID{c.op2(ir.OpAnd, x, c.c32(0x7fffffff))})
	}
	c.setRegs(d, 0, old)
	return nil
}

// ldsDirectRule is lds_direct_load: the value at M0[15:0], of the type in M0[18:16], for all lanes of a quad that has an active one
// (RDNA 3.5 manual, "LDS Direct Load").
func ldsDirectRule(c *ictx, _ []string) error {
	o := c.need(c.dataOperand(true))
	m0 := c.sget(isa.SRegM0)
	t := c.maskScalar()
	quads := c.opx(ir.OpMToS, t, c.exec())
	ones := c.c(t, 0x1111111111111111)
	any := quads
	for i := uint32(1); i < 4; i++ {
		any = c.opx(ir.OpOr, t, any, c.opx(ir.OpLShr, t, quads, c.c32(i)))
	}
	mask := c.opx(ir.OpSToM, ir.M, c.opx(ir.OpMul, t, c.opx(ir.OpAnd, t, any, ones), c.c(t, 15)))
	a := address{space: ir.LDS, base: ir.NoID, off: c.perLane(c.opx(ir.OpAnd, ir.S32, m0, c.c32(0xfffc))), mask: mask}
	x := c.load(a, 4, false)[0]
	kind := c.opx(ir.OpAnd, ir.S32, c.opx(ir.OpLShr, ir.S32, m0, c.c32(16)), c.c32(7))
	y := x
	for n, bits := range []uint64{8, 16, 32, 32, 8, 16} {
		if bits < 32 {
			is := c.pure(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.EQ}, kind, c.c32(uint32(n)))
			y = c.opx(ir.OpSelect, ir.V32, is, c.extend(x, bits, n >= 4), y)
		}
	}
	c.out = append(c.out, write{kind: writeV, reg: int(o.Reg), x: y, mask: mask})
	return nil
}

// swizzleRule is ds_swizzle_b32: a fixed permute inside groups of 32 lanes; lanes that are not active read as 0.
func swizzleRule(c *ictx, _ []string) error {
	o, d := c.need(c.vgprOperand("addr", "vaddr", "data0")), c.need(c.dataOperand(true))
	off := c.ldsOffset()
	var lane [64]int8
	for l := range 64 {
		i, s := l&31, 0
		switch {
		case off >= 0xe000: // FFT: the lane number with its bits reversed, the masked low ones kept
			mask := int(off & 31)
			rev := int(bits.Reverse8(uint8(i)) >> 3)
			s = rev>>bits.OnesCount8(uint8(mask)) | i&mask
		case off >= 0xc000: // rotate
			n, mask := int(off>>5&31), int(off&31)
			if off>>10&1 != 0 {
				n = -n
			}
			s = i&mask | (i+n)&^mask&31
		case off&0x8000 != 0: // quads
			s = i&^3 | int(off>>(2*(i&3))&3)
		default:
			s = (i&int(off&31) | int(off>>5&31)) ^ int(off>>10&31)
		}
		lane[l] = int8(l&^31 | s&31)
	}
	exec := c.exec()
	x := c.raw(ir.Value{Op: ir.OpPermConst, Type: ir.V32, Aux: &lane}, c.reg(o, 0, true))
	if !c.isConst(exec, c.full()) {
		valid := c.raw(ir.Value{Op: ir.OpMPerm, Type: ir.M, Aux: &lane}, exec)
		x = c.opx(ir.OpSelect, ir.V32, valid, x, c.c32(0))
	}
	c.setRegs(d, 0, []ir.ID{x})
	return nil
}
