package lift

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// mixed fetches source i of a mix instruction: op_sel_hi says whether it is f16 (op_sel: which half) or f32; neg_lo
// negates and neg_hi takes the absolute value.
func (c *ictx) mixed(i int) val {
	if i >= len(c.src) {
		c.fail(errOperand)
		return of(c.c32(0))
	}
	o := &c.src[i]
	x := ir.NoID
	if c.in.OpSelHi>>i&1 == 0 {
		x = c.reg(o, 0, false)
		if o.Kind == isa.OperandConst && o.Type != isa.F32 {
			x = c.inlineF32(o)
		}
	} else {
		x = c.reg(o, 0, false)
		if c.in.OpSel>>i&1 != 0 {
			x = c.op2(ir.OpLShr, x, c.c32(16))
		}
		x = c.pure(ir.Value{Op: ir.OpCvt, Type: ir.V32, Kind: ir.F32, From: ir.F16, FP: c.cvtFP(ir.F16, ir.F32)}, x)
	}
	if (c.in.NegHi|c.in.Abs)>>i&1 != 0 {
		x = c.pure(ir.Value{Op: ir.OpFAbs, Type: ir.V32, Kind: ir.F32}, x)
	}
	if c.in.Neg>>i&1 != 0 {
		x = c.pure(ir.Value{Op: ir.OpFNeg, Type: ir.V32, Kind: ir.F32}, x)
	}
	return val{id: x, k: ir.F32}
}

// inlineF32 is the f32 meaning of an inline constant that was decoded as f16.
func (c *ictx) inlineF32(o *isa.Operand) ir.ID {
	f := map[uint64]uint32{0x3800: 0x3f000000, 0xb800: 0xbf000000, 0x3c00: 0x3f800000, 0xbc00: 0xbf800000,
		0x4000: 0x40000000, 0xc000: 0xc0000000, 0x4400: 0x40800000, 0xc400: 0xc0800000, 0x3118: 0x3e22f983}
	if b, ok := f[o.Value&0xffff]; ok && o.Value>>16 == 0 {
		return c.c32(b)
	}
	return c.c32(uint32(o.Value))
}

func addLaneRules(r map[string]rule) {
	r["writelane"] = func(c *ictx, _ []string) error {
		if len(c.src) < 2 || len(c.dst) == 0 || c.dst[0].Kind != isa.OperandVGPR {
			return errOperand
		}
		for i := range 2 { // neither may differ by lane
			if c.src[i].Kind == isa.OperandVGPR || c.src[i].Kind == isa.OperandLDSDirect {
				return errOperand
			}
		}
		n := int(c.dst[0].Reg)
		l := c.opx(ir.OpAnd, ir.S32, c.reg(&c.src[1], 0, false), c.c32(uint32(c.lanes-1)))
		x := c.opx(ir.OpWriteLane, ir.V32, c.vgetFull(n), c.reg(&c.src[0], 0, false), l)
		c.out = append(c.out, write{kind: writeV, reg: n, x: x, mask: c.c(ir.M, ^uint64(0))})
		return nil
	}
	r["swap"] = func(c *ictx, _ []string) error {
		d, s := &c.dst[0], &c.src[0]
		if d.Kind != isa.OperandVGPR || s.Kind != isa.OperandVGPR {
			return errOperand
		}
		x, y := c.vget(int(d.Reg)), c.vget(int(s.Reg))
		if bitsOf(c.typeOfDst()) == 16 {
			if d.Reg == s.Reg { // its own halves
				if d.Hi != s.Hi {
					c.writeV(int(d.Reg), c.op2(ir.OpOr, c.op2(ir.OpShl, x, c.c32(16)), c.op2(ir.OpLShr, x, c.c32(16))))
				}
				return nil
			}
			halfOf := func(o *isa.Operand, v ir.ID) ir.ID {
				if o.Hi {
					return c.op2(ir.OpLShr, v, c.c32(16))
				}
				return v
			}
			x, y = c.stored16(s, int(s.Reg), halfOf(d, x), ir.I16), c.stored16(d, int(d.Reg), halfOf(s, y), ir.I16)
		}
		c.writeV(int(d.Reg), y)
		c.writeV(int(s.Reg), x)
		return nil
	}
	r["permlane16"] = func(c *ictx, args []string) error {
		// The select is 16 fields of 4 bits over src1 (lanes 0-7) and src2; x16 takes the other row of a pair.
		if len(c.src) < 3 {
			return errOperand
		}
		lo, hi := c.reg(&c.src[1], 0, false), c.reg(&c.src[2], 0, false)
		lane := c.opx(ir.OpLaneID, ir.V32)
		word := c.opx(ir.OpSelect, ir.V32, c.pure(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.EQ}, c.opx(ir.OpAnd, ir.V32, lane, c.c32(8)), c.c32(0)), lo, hi)
		sh := c.opx(ir.OpShl, ir.V32, c.opx(ir.OpAnd, ir.V32, lane, c.c32(7)), c.c32(2))
		sel := c.opx(ir.OpAnd, ir.V32, c.opx(ir.OpLShr, ir.V32, word, sh), c.c32(15))
		row := lane
		if args[0] == "x" {
			row = c.opx(ir.OpXor, ir.V32, lane, c.c32(16))
		}
		return c.permlane(c.opx(ir.OpOr, ir.V32, c.opx(ir.OpAnd, ir.V32, row, c.c32(^uint32(15))), sel))
	}
	r["permlane16_var"] = func(c *ictx, args []string) error {
		if len(c.src) < 2 {
			return errOperand
		}
		sel := c.op2(ir.OpAnd, c.reg(&c.src[1], 0, false), c.c32(15))
		row := c.opx(ir.OpLaneID, ir.V32)
		if args[0] == "x" {
			row = c.opx(ir.OpXor, ir.V32, row, c.c32(16))
		}
		return c.permlane(c.opx(ir.OpOr, ir.V32, c.opx(ir.OpAnd, ir.V32, row, c.c32(^uint32(15))), sel))
	}
	r["permlane64"] = func(c *ictx, _ []string) error {
		if c.lanes == 32 {
			return nil
		}
		var lane [64]int8
		for l := range lane {
			lane[l] = int8(l ^ 32)
		}
		x := c.raw(ir.Value{Op: ir.OpPermConst, Type: ir.V32, Aux: &lane}, c.reg(&c.src[0], 0, true))
		c.writeV(int(c.dst[0].Reg), x)
		return nil
	}
	r["mqsad"] = mqsadRule
	r["pkmov"] = func(c *ictx, _ []string) error {
		// Dword 0 is one of src0's (op_sel bit 0), dword 1 one of src1's (op_sel bit 1).
		var d [2]ir.ID
		for i := range d {
			o, n := &c.src[i], int(c.in.OpSel>>i&1)
			if o.Kind == isa.OperandConst || o.Kind == isa.OperandLiteral {
				n = 0
			}
			d[i] = c.reg(o, n, false)
		}
		c.setRegs(&c.dst[0], 0, d[:])
		return nil
	}
}

// permlane reads source 0 at lane index idx. OpSel bit 0 is FI (fetch inactive lanes), bit 1 BC (an inactive source
// gives 0, else the lane keeps its value).
func (c *ictx) permlane(idx ir.ID) error {
	x := c.reg(&c.src[0], 0, true)
	exec := c.exec()
	all := c.c(ir.M, ^uint64(0))
	mask := c.mask
	switch {
	case c.in.OpSel&1 != 0:
		x = c.opx(ir.OpBPermute, ir.V32, x, idx, all)
	case c.in.OpSel&2 != 0:
		x = c.opx(ir.OpBPermute, ir.V32, x, idx, exec)
	default:
		ok := c.opx(ir.OpBPermute, ir.V32, c.opx(ir.OpMToV, ir.V32, exec), idx, all)
		mask = c.opx(ir.OpMAnd, ir.M, mask, c.pure(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.NE}, ok, c.c32(0)))
		x = c.opx(ir.OpBPermute, ir.V32, x, idx, all)
	}
	c.out = append(c.out, write{kind: writeV, reg: int(c.dst[0].Reg), x: x, mask: mask})
	return nil
}

// mqsadRule is the family of sums of absolute differences of four byte windows: window i of src0's eight bytes, bytes
// i..i+3, against src1's four; masked forms skip reference bytes that are 0. Each sum is added to its part of src2.
func mqsadRule(c *ictx, args []string) error {
	if len(c.src) < 3 || c.in.Clamp {
		return errOperand
	}
	masked, wide := args[0] == "masked", len(args) > 1 && args[1] == "u32"
	s0, ref := c.reg64(&c.src[0], false), c.reg(&c.src[1], 0, false)
	byteOf := func(x ir.ID, i int) ir.ID {
		if is64(c.typ(x)) {
			x = c.opx(ir.OpLShr, c.typ(x), x, c.c32(uint32(8*i)))
			return c.extend(c.opx(ir.OpLo, half(c.typ(x)), x), 8, false)
		}
		return c.extend(c.op2(ir.OpLShr, x, c.c32(uint32(8*i))), 8, false)
	}
	var sum [4]ir.ID
	for w := range 4 {
		acc := c.reg(&c.src[2], w, false)
		if !wide {
			acc = c.reg(&c.src[2], w/2, false)
			if w&1 != 0 {
				acc = c.op2(ir.OpLShr, acc, c.c32(16))
			} else {
				acc = c.extend(acc, 16, false)
			}
		}
		for i := range 4 {
			a, b := byteOf(s0, w+i), byteOf(ref, i)
			d := c.op2(ir.OpAbs, c.op2(ir.OpSub, a, b))
			if masked {
				z := c.pure(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.EQ}, b, c.c32(0))
				d = c.opx(ir.OpSelect, ir.V32, z, c.c32(0), d)
			}
			acc = c.op2(ir.OpAdd, acc, d)
		}
		sum[w] = acc
	}
	if wide {
		c.setRegs(&c.dst[0], 0, sum[:])
		return nil
	}
	pack := func(lo, hi ir.ID) ir.ID {
		return c.op2(ir.OpOr, c.extend(lo, 16, false), c.op2(ir.OpShl, hi, c.c32(16)))
	}
	c.setRegs(&c.dst[0], 0, []ir.ID{pack(sum[0], sum[1]), pack(sum[2], sum[3])})
	return nil
}
