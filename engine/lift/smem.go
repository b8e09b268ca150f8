package lift

import (
	"fmt"
	"strconv"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// scalarAddress is the address of an SMEM instruction.
func (c *ictx) scalarAddress() (base, off ir.ID, err error) {
	sb := c.sgprOperand("sbase")
	if sb == nil {
		return 0, 0, errOperand
	}
	off = ir.NoID
	if so := c.scalarOffset(); so != nil {
		off = c.reg(so, 0, false)
	}
	return c.reg64(sb, false), off, nil
}

// scalarOffset is the offset register of an SMEM instruction, or nil.
func (c *ictx) scalarOffset() *isa.Operand {
	if len(c.src) < 2 || c.src[1].Kind != isa.OperandSGPR || c.src[1].Reg == isa.SRegNull {
		return nil
	}
	return &c.src[1]
}

// scalarType is the IR type of n dwords.
func scalarType(n int) (ir.Type, uint8) {
	switch n {
	case 1:
		return ir.S32, 0
	case 2:
		return ir.S64, 0
	}
	return ir.TS, uint8(n)
}

func sloadRule(c *ictx, args []string) error {
	where := c.scalarAddress
	if len(args) > 1 {
		where = c.scratchAddress
	}
	base, off, err := where()
	if err != nil {
		return err
	}
	v := ir.Value{Op: ir.OpSLoad, Space: ir.Const, Imm: uint64(uint32(c.in.Offset)), Order: c.order()}
	n := 1
	if t, ok := memTypes[args[0]]; ok && t.bytes < 4 {
		v.Width, v.Sign, v.Type = uint8(t.bytes), t.sign, ir.S32
	} else {
		if n, err = strconv.Atoi(args[0]); err != nil {
			return err
		}
		v.Width = uint8(4 * n)
		v.Type, v.N = scalarType(n)
	}
	c.setScalars(c.raw(v, base, off), n)
	return nil
}

// setScalars queues the write of x, n dwords, to the scalar destination.
func (c *ictx) setScalars(x ir.ID, n int) {
	if len(c.dst) == 0 || c.dst[0].Kind != isa.OperandSGPR {
		c.fail(errOperand)
		return
	}
	r := int(c.dst[0].Reg)
	switch n {
	case 1:
		c.out = append(c.out, write{kind: writeS, reg: r, x: x})
	case 2:
		c.out = append(c.out, write{kind: writeS64, reg: r, x: x})
	default:
		for i := range n {
			c.out = append(c.out, write{kind: writeS, reg: r + i, x: c.opi(ir.OpElem, ir.S32, uint64(i), x)})
		}
	}
}

// scalarData gathers n dwords from the scalar data operand.
func (c *ictx) scalarData(k, n int) (ir.ID, error) {
	if len(c.src) < 3 || c.src[2].Kind != isa.OperandSGPR {
		return 0, errOperand
	}
	o := &c.src[2]
	r := int(o.Reg) + k
	switch n {
	case 1:
		return c.sget(r), nil
	case 2:
		return c.sget64(r), nil
	}
	ids := make([]ir.ID, n)
	for i := range ids {
		ids[i] = c.sget(r + i)
	}
	return c.pure(ir.Value{Op: ir.OpTuple, Type: ir.TS, N: uint8(n)}, ids...), nil
}

func sstoreRule(c *ictx, args []string) error {
	where := c.scalarAddress
	if len(args) > 1 {
		where = c.scratchAddress
	}
	base, off, err := where()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	x, err := c.scalarData(0, n)
	if err != nil {
		return err
	}
	c.raw(ir.Value{Op: ir.OpSStore, Space: ir.Const, Width: uint8(4 * n), Imm: uint64(uint32(c.in.Offset)), Order: c.order()}, base, off, x)
	return nil
}

func satomicRule(c *ictx, args []string) error {
	base, off, err := c.scalarAddress()
	if err != nil {
		return err
	}
	k, ok := atomicOps[args[0]]
	t, ok2 := memTypes[args[1]]
	if !ok || !ok2 {
		return fmt.Errorf("no atomic %v", args)
	}
	n := t.dwords()
	x, err := c.scalarData(0, n)
	if err != nil {
		return err
	}
	ids := []ir.ID{base, off, x}
	if k.op == ir.AtomicCmpSwap {
		y, err := c.scalarData(n, n)
		if err != nil {
			return err
		}
		ids = append(ids, y)
	}
	v := ir.Value{Op: ir.OpSAtomic, Atomic: k.op, Space: ir.Const, Width: uint8(t.bytes), Imm: uint64(uint32(c.in.Offset)), Order: c.order()}
	if c.in.GLC {
		v.Type, _ = scalarType(n)
		v.Order |= ir.OrderReturn
	}
	old := c.raw(v, ids...)
	if c.in.GLC {
		c.setScalars(old, n)
	}
	return nil
}

// scalarBuffer is the addressing of an s_buffer_*: the descriptor's base, the offset of the first byte, and the limit that no byte
// may lie at or beyond (Vega ISA manual, "Scalar Memory Reads": a stride counts for the limit only).
func (c *ictx) scalarBuffer(aligned bool) (base, off, limit ir.ID, err error) {
	sb := c.sgprOperand("sbase")
	if sb == nil {
		return 0, 0, 0, errOperand
	}
	r := int(sb.Reg)
	base = c.opx(ir.OpAnd, ir.S64, c.sget64(r), c.c(ir.S64, 0xfffffffffffc))
	off = c.c32(uint32(c.in.Offset))
	if so := c.scalarOffset(); so != nil {
		off = c.opx(ir.OpAdd, ir.S32, c.reg(so, 0, false), off)
	}
	if aligned {
		off = c.opx(ir.OpAnd, ir.S32, off, c.c32(^uint32(3)))
	}
	stride := c.opx(ir.OpAnd, ir.S32, c.opx(ir.OpLShr, ir.S32, c.sget(r+1), c.c32(16)), c.c32(0x3fff))
	stride = c.opx(ir.OpMaxU, ir.S32, stride, c.c32(1))
	return base, off, c.opx(ir.OpMul, ir.S32, c.sget(r+2), stride), nil
}

// inLimit says whether n bytes at off end at limit or before; off goes round at 2^32.
func (c *ictx) inLimit(off ir.ID, n uint32, limit ir.ID) ir.ID {
	end := c.opx(ir.OpAdd, ir.S32, off, c.c32(n))
	ok := c.pure(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.ULE}, end, limit)
	return c.opx(ir.OpMAnd, ir.S1, ok, c.pure(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.ULT}, off, end))
}

// sbufloadRule is s_buffer_load: dwords at and beyond the limit read 0. A read there is done at the base instead, which any
// buffer worth reading has, and its value dropped.
func sbufloadRule(c *ictx, args []string) error {
	bytes, n := 4, 0
	sign := false
	if t, ok := memTypes[args[0]]; ok && t.bytes < 4 {
		bytes, sign, n = t.bytes, t.sign, 1
	} else {
		var err error
		if n, err = strconv.Atoi(args[0]); err != nil {
			return err
		}
	}
	base, off, limit, err := c.scalarBuffer(bytes == 4)
	if err != nil {
		return err
	}
	for i := range n {
		o := c.opx(ir.OpAdd, ir.S32, off, c.c32(uint32(4*i)))
		ok := c.inLimit(o, uint32(bytes), limit)
		o = c.opx(ir.OpSelect, ir.S32, ok, o, c.c32(0))
		x := c.raw(ir.Value{Op: ir.OpSLoad, Type: ir.S32, Space: ir.Const, Width: uint8(bytes), Sign: sign}, base, o)
		x = c.opx(ir.OpSelect, ir.S32, ok, x, c.c32(0))
		c.out = append(c.out, write{kind: writeS, reg: int(c.dst[0].Reg) + i, x: x})
	}
	return nil
}

// oneLane is the mask of lane 0, or of none when ok is false: a scalar access that may not be made is a masked one.
func (c *ictx) oneLane(ok ir.ID) ir.ID {
	t := c.maskScalar()
	return c.opx(ir.OpSToM, ir.M, c.opx(ir.OpSelect, t, ok, c.c(t, 1), c.c(t, 0)))
}

// at64 is base plus an unsigned offset.
func (c *ictx) at64(base, off ir.ID) ir.ID {
	return c.opx(ir.OpAdd, ir.S64, base, c.opx(ir.OpZext64, ir.S64, off))
}

// sbufstoreRule is s_buffer_store: each dword that is in range is written.
func sbufstoreRule(c *ictx, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	base, off, limit, err := c.scalarBuffer(true)
	if err != nil {
		return err
	}
	for i := range n {
		x, err := c.scalarData(i, 1)
		if err != nil {
			return err
		}
		o := c.opx(ir.OpAdd, ir.S32, off, c.c32(uint32(4*i)))
		c.raw(ir.Value{Op: ir.OpStore, Space: ir.Global, Width: 4, Order: c.order()}, c.at64(base, o), ir.NoID,
			c.oneLane(c.inLimit(o, 4, limit)), c.perLane(x))
	}
	return nil
}

// sbufatomicRule is s_buffer_atomic: done when all of it is in range, else nothing happens and the old value is 0.
func sbufatomicRule(c *ictx, args []string) error {
	k, ok := atomicOps[args[0]]
	t, ok2 := memTypes[args[1]]
	if !ok || !ok2 {
		return fmt.Errorf("no atomic %v", args)
	}
	base, off, limit, err := c.scalarBuffer(true)
	if err != nil {
		return err
	}
	n := t.dwords()
	x, err := c.scalarData(0, n)
	if err != nil {
		return err
	}
	ids := []ir.ID{c.at64(base, off), ir.NoID, c.oneLane(c.inLimit(off, uint32(t.bytes), limit)), c.perLane(x)}
	if k.op == ir.AtomicCmpSwap {
		y, err := c.scalarData(n, n)
		if err != nil {
			return err
		}
		ids = append(ids, c.perLane(y))
	}
	v := ir.Value{Op: ir.OpAtomic, Atomic: k.op, Space: ir.Global, Width: uint8(t.bytes), Order: c.order() &^ ir.OrderReturn}
	if !c.in.GLC {
		c.raw(v, ids...)
		return nil
	}
	v.Order |= ir.OrderReturn
	v.Type = ir.V32
	if n == 2 {
		v.Type = ir.V64
	}
	for i, d := range c.dwords(c.raw(v, ids...)) {
		c.out = append(c.out, write{kind: writeS, reg: int(c.dst[0].Reg) + i, x: c.opx(ir.OpReadLane, ir.S32, d, c.c32(0))})
	}
	return nil
}

// scratchAddress is the address of an s_scratch_*: an offset register counts units of 64 bytes, as the scratch wave offset does
// (CDNA manuals, "S_SCRATCH_LOAD_DWORD").
func (c *ictx) scratchAddress() (base, off ir.ID, err error) {
	base, off, err = c.scalarAddress()
	if err == nil && off != ir.NoID {
		base = c.opx(ir.OpAdd, ir.S64, base, c.opx(ir.OpShl, ir.S64, c.opx(ir.OpZext64, ir.S64, off), c.c32(6)))
		off = ir.NoID
	}
	return base, off, err
}
