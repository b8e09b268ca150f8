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
	base, off, err := c.scalarAddress()
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
	base, off, err := c.scalarAddress()
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

// sbufloadRule is s_buffer_load: the descriptor gives base and limit; dwords at and beyond the limit read 0. A read
// there is done at the base instead, which any buffer worth reading has, and its value dropped.
func sbufloadRule(c *ictx, args []string) error {
	sb := c.sgprOperand("sbase")
	if sb == nil {
		return errOperand
	}
	r := int(sb.Reg)
	base := c.opx(ir.OpAnd, ir.S64, c.sget64(r), c.c(ir.S64, 0xfffffffffffc))
	off := c.c32(uint32(c.in.Offset))
	if so := c.scalarOffset(); so != nil {
		off = c.opx(ir.OpAdd, ir.S32, c.reg(so, 0, false), off)
	}
	stride := c.opx(ir.OpAnd, ir.S32, c.opx(ir.OpLShr, ir.S32, c.sget(r+1), c.c32(16)), c.c32(0x3fff))
	stride = c.opx(ir.OpMaxU, ir.S32, stride, c.c32(1))
	limit := c.opx(ir.OpMul, ir.S32, c.sget(r+2), stride)
	bytes, n := 4, 0
	sign := false
	if t, ok := memTypes[args[0]]; ok && t.bytes < 4 {
		bytes, sign, n = t.bytes, t.sign, 1
	} else {
		var err error
		if n, err = strconv.Atoi(args[0]); err != nil {
			return err
		}
		off = c.opx(ir.OpAnd, ir.S32, off, c.c32(^uint32(3)))
	}
	for i := range n {
		o := c.opx(ir.OpAdd, ir.S32, off, c.c32(uint32(4*i)))
		end := c.opx(ir.OpAdd, ir.S32, o, c.c32(uint32(bytes)))
		ok := c.pure(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.ULE}, end, limit)
		o = c.opx(ir.OpSelect, ir.S32, ok, o, c.c32(0))
		x := c.raw(ir.Value{Op: ir.OpSLoad, Type: ir.S32, Space: ir.Const, Width: uint8(bytes), Sign: sign}, base, o)
		x = c.opx(ir.OpSelect, ir.S32, ok, x, c.c32(0))
		c.out = append(c.out, write{kind: writeS, reg: int(c.dst[0].Reg) + i, x: x})
	}
	return nil
}
