package lift

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// preserves lists the gfx9 instructions with a 16-bit result that keep the other half of the register although the
// generation's habit is to zero it; they came with gfx9's op_sel encodings (LLVM: zeroesHigh16BitsOfDest).
var preserves = map[string]bool{
	"v_mad_f16": true, "v_mad_u16": true, "v_mad_i16": true, "v_fma_f16": true, "v_div_fixup_f16": true,
	"v_mac_f16": true, "v_madak_f16": true, "v_madmk_f16": true,
	"v_mad_mixlo_f16": true, "v_mad_mixhi_f16": true, "v_fma_mixlo_f16": true, "v_fma_mixhi_f16": true,
	"v_cvt_sr_fp8_f32": true, "v_cvt_sr_bf8_f32": true, "v_cvt_pk_fp8_f32": true, "v_cvt_pk_bf8_f32": true,
	"v_cvt_scalef32_f16_fp8": true, "v_cvt_scalef32_f16_bf8": true, "v_bitop3_b16": true,
}

// assign stores the value of a statement into its place.
func (c *ictx) assign(place string, v val) {
	switch place {
	case "d":
		c.setDst(0, v)
	case "d1":
		c.setDst(1, v)
	case "m":
		c.setCompare(v)
	case "co":
		c.setCarry(v)
	case "scc":
		c.out = append(c.out, write{kind: writeSCC, x: c.truth(v)})
	case "vcc":
		c.writeMask(isa.SRegVCCLo, c.laneMask(v))
	case "exec":
		c.writeMask(isa.SRegEXECLo, c.laneMask(v))
	case "exec64":
		c.out = append(c.out, write{kind: writeS64, reg: isa.SRegEXECLo, x: c.w64(v)})
	case "exec32":
		c.out = append(c.out, write{kind: writeS, reg: isa.SRegEXECLo, x: c.w32(v)})
	case "m0":
		c.out = append(c.out, write{kind: writeS, reg: isa.SRegM0, x: c.w32(v)})
	}
}

// places are the names that assign knows as more than a local.
var places = map[string]bool{"d": true, "d1": true, "m": true, "co": true, "scc": true, "vcc": true, "exec": true,
	"exec64": true, "exec32": true, "m0": true}

func (c *ictx) writeMask(reg int, m ir.ID) {
	c.out = append(c.out, write{kind: writeM, reg: reg, x: m})
}

// setDst stores v into destination i through the result modifiers.
func (c *ictx) setDst(i int, v val) {
	if i >= len(c.dst) || c.dst[i].Kind == isa.OperandNone {
		c.fail(errOperand)
		return
	}
	o := &c.dst[i]
	t := o.Type
	if i == 0 {
		t = c.typeOfDst()
	}
	if t == isa.MaskT {
		c.writeOperandMask(o, c.laneMask(v))
		return
	}
	bits := bitsOf(t)
	x := ir.NoID
	switch {
	case bits == 64 && !c.packed && !c.wide:
		x = c.w64(v)
	case c.wide:
		x = c.saturated(v, kindOf(t))
	default:
		x = c.materialize(v, bits == 64 && !c.packed)
	}
	if i == 0 {
		x = c.floatResult(x, v.k, kindOf(t))
	}
	c.store(o, x, t, i)
}

// floatResult applies omod and clamp of a float result.
func (c *ictx) floatResult(x ir.ID, k, dk ir.Kind) ir.ID {
	if !isFloat(k) {
		k = dk
	}
	if !isFloat(k) || !c.vec {
		return x
	}
	t := typeOf(true, k == ir.F64)
	fp := c.fp(k) &^ ir.FPFlushIn // the value is a result already
	if c.in.Omod != 0 && fp&(ir.FPFlushOut|ir.FPIEEE) == ir.FPFlushOut {
		x = c.pure(ir.Value{Op: ir.OpFOmod, Type: t, Kind: k, FP: fp, Imm: uint64(c.in.Omod)}, x)
	}
	if c.in.Clamp {
		x = c.pure(ir.Value{Op: ir.OpFClamp, Type: t, Kind: k, FP: fp}, x)
	}
	return x
}

// saturated clamps a widely computed integer to the range of kind k.
func (c *ictx) saturated(v val, k ir.Kind) ir.ID {
	x := c.materialize(v, false)
	if k == ir.U16 || k == ir.I16 {
		return c.saturated16(x, k)
	}
	x = c.w64(of(x))
	t := c.typ(x)
	if k == ir.I32 {
		x = c.opx(ir.OpMaxS, t, x, c.c(ir.S64, 0xffffffff80000000))
		x = c.opx(ir.OpMinS, t, x, c.c(ir.S64, 0x7fffffff))
	} else {
		x = c.opx(ir.OpMaxS, t, x, c.c(ir.S64, 0))
		x = c.opx(ir.OpMinS, t, x, c.c(ir.S64, 0xffffffff))
	}
	return c.opx(ir.OpLo, half(t), x)
}

func (c *ictx) saturated16(x ir.ID, k ir.Kind) ir.ID {
	if is64(c.typ(x)) {
		t := c.typ(x)
		lo, hi := uint64(0), uint64(0xffff)
		if k == ir.I16 {
			lo, hi = ^uint64(0x7fff), 0x7fff
		}
		x = c.opx(ir.OpMinS, t, c.opx(ir.OpMaxS, t, x, c.c(ir.S64, lo)), c.c(ir.S64, hi))
		return c.opx(ir.OpLo, half(t), x)
	}
	if k == ir.I16 {
		return c.op2(ir.OpMinS, c.op2(ir.OpMaxS, x, c.c32(0xffff8000)), c.c32(0x7fff))
	}
	return c.op2(ir.OpMinS, c.op2(ir.OpMaxS, x, c.c32(0)), c.c32(0xffff))
}

// store queues the write of x to operand o of type t.
func (c *ictx) store(o *isa.Operand, x ir.ID, t isa.DataType, i int) {
	bits := bitsOf(t)
	switch o.Kind {
	case isa.OperandSGPR:
		if bits == 64 {
			c.out = append(c.out, write{kind: writeS64, reg: int(o.Reg), x: x})
		} else {
			c.out = append(c.out, write{kind: writeS, reg: int(o.Reg), x: x})
		}
	case isa.OperandVGPR, isa.OperandAcc:
		r := vectorReg(o)
		switch {
		case bits == 64:
			c.writeV(r, c.opx(ir.OpLo, half(c.typ(x)), x))
			c.writeV(r+1, c.opx(ir.OpHi, half(c.typ(x)), x))
			return
		case c.in.SDWA && i == 0 && c.op.Fmt != isa.VOPD:
			x = c.merged(r, x, bits)
		case bits == 16:
			x = c.stored16(o, r, x, kindOf(t))
		}
		c.writeV(r, x)
	default:
		c.fail(errOperand)
	}
}

func (c *ictx) writeV(r int, x ir.ID) {
	if r < accBase {
		if idx, ok := c.gprIndex(3); ok {
			c.vsetRel(r, idx, x)
			return
		}
	}
	c.out = append(c.out, write{kind: writeV, reg: r, x: x, mask: c.mask})
}

// stored16 places a 16-bit result in its half of register r and decides about the other half.
func (c *ictx) stored16(o *isa.Operand, r int, x ir.ID, k ir.Kind) ir.ID {
	if !isFloat(k) || !isVec(c.typ(x)) {
		x = c.extend(x, 16, false)
	}
	high := o.Hi || c.in.Fmt == isa.VOP3 && c.in.OpSel&8 != 0
	if !high && c.gen <= isa.GFX940 && !preserves[c.op.Name] {
		return x
	}
	return c.halfOf(r, x, high)
}

// halfOf is register r with x, of 16 bits, in its high or low half.
func (c *ictx) halfOf(r int, x ir.ID, high bool) ir.ID {
	if high {
		return c.op2(ir.OpOr, c.op2(ir.OpAnd, c.vget(r), c.c32(0xffff)), c.op2(ir.OpShl, x, c.c32(16)))
	}
	return c.op2(ir.OpOr, c.op2(ir.OpAnd, c.vget(r), c.c32(0xffff0000)), x)
}

// merged is the SDWA destination select.
func (c *ictx) merged(r int, x ir.ID, bits int) ir.ID {
	var shift, n uint64
	switch sel := c.in.DstSel; sel {
	case isa.SelByte0, isa.SelByte1, isa.SelByte2, isa.SelByte3:
		shift, n = uint64(sel)*8, 8
	case isa.SelWord0, isa.SelWord1:
		shift, n = uint64(sel-isa.SelWord0)*16, 16
	default:
		if bits == 16 {
			return c.extend(x, 16, false)
		}
		return x
	}
	m := uint32(1<<n-1) << shift
	switch c.in.DstUnused {
	case isa.UnusedSext:
		x = c.op2(ir.OpShl, c.extend(x, n, true), c.c32(uint32(shift)))
		return x
	case isa.UnusedPreserve:
		x = c.op2(ir.OpShl, c.extend(x, n, false), c.c32(uint32(shift)))
		return c.op2(ir.OpOr, c.op2(ir.OpAnd, c.vget(r), c.c32(^m)), x)
	}
	return c.op2(ir.OpShl, c.extend(x, n, false), c.c32(uint32(shift)))
}

// writeOperandMask queues the write of a lane mask to an SGPR operand.
func (c *ictx) writeOperandMask(o *isa.Operand, m ir.ID) {
	if o.Kind != isa.OperandSGPR {
		c.fail(errOperand)
		return
	}
	c.writeMask(int(o.Reg), m)
}

// setCompare stores a comparison's result: inactive lanes give 0. v_cmpx also writes EXEC, and from gfx10 on only EXEC.
func (c *ictx) setCompare(v val) {
	m := c.opx(ir.OpMAnd, ir.M, c.laneMask(v), c.mask)
	x := c.nameIs("v_cmpx")
	if !x || c.gen <= isa.GFX940 {
		reg := isa.SRegVCCLo
		if len(c.dst) > 0 && c.dst[0].Kind == isa.OperandSGPR && (!x || c.dst[0].Reg != isa.SRegEXECLo) {
			reg = int(c.dst[0].Reg)
		}
		c.writeMask(reg, m)
	}
	if x {
		c.writeMask(isa.SRegEXECLo, m)
	}
}

// setCarry stores a carry-out mask to the second destination, or VCC.
func (c *ictx) setCarry(v val) {
	m := c.opx(ir.OpMAnd, ir.M, c.laneMask(v), c.mask)
	reg := isa.SRegVCCLo
	if len(c.dst) > 1 && c.dst[1].Kind == isa.OperandSGPR {
		reg = int(c.dst[1].Reg)
	}
	c.writeMask(reg, m)
}

// flush performs the queued writes.
func (c *ictx) flush() {
	for _, w := range c.out {
		switch w.kind {
		case writeS:
			if w.reg == isa.SRegM0 {
				c.gprAny = true
			}
			c.sset(w.reg, w.x)
		case writeS64:
			c.sset64(w.reg, w.x)
		case writeM:
			c.mset(w.reg, w.x)
		case writeSCC:
			c.setSCC(w.x)
		case writeV:
			c.vset(w.reg, w.x, w.mask)
		}
	}
	c.out = c.out[:0]
}

// materialize gives a number a width; other values stay.
func (c *ictx) materialize(v val, wide bool) ir.ID {
	if v.isLit {
		if wide {
			return c.c(ir.S64, v.n)
		}
		return c.c32(uint32(v.n))
	}
	return v.id
}

// w32 is v as 32 bits.
func (c *ictx) w32(v val) ir.ID {
	x := c.materialize(v, false)
	switch c.typ(x) {
	case ir.S64, ir.V64:
		return c.opx(ir.OpLo, half(c.typ(x)), x)
	case ir.S1:
		return c.opx(ir.OpBToS, ir.S32, x)
	case ir.M:
		return c.opx(ir.OpMToV, ir.V32, x)
	}
	return x
}

// w64 is v as 64 bits, zero-extended when it is narrower.
func (c *ictx) w64(v val) ir.ID {
	x := c.materialize(v, true)
	switch c.typ(x) {
	case ir.S64, ir.V64:
		return x
	}
	x = c.w32(of(x))
	return c.opx(ir.OpZext64, typeOf(isVec(c.typ(x)), true), x)
}

// truth is v as a truth value.
func (c *ictx) truth(v val) ir.ID {
	x := c.materialize(v, false)
	switch c.typ(x) {
	case ir.S1:
		return x
	case ir.S32, ir.S64:
		return c.opx(ir.OpSToB, ir.S1, x)
	}
	c.fail(errOperand)
	return c.c(ir.S1, 0)
}

// laneMask is v as a lane mask.
func (c *ictx) laneMask(v val) ir.ID {
	if v.isLit {
		return c.c(ir.M, v.n)
	}
	switch c.typ(v.id) {
	case ir.M:
		return v.id
	case ir.S1:
		t := c.maskScalar()
		return c.opx(ir.OpSToM, ir.M, c.opx(ir.OpSelect, t, v.id, c.c(t, ^uint64(0)), c.c(t, 0)))
	case c.maskScalar():
		return c.toMask(v.id)
	}
	c.fail(errOperand)
	return c.c(ir.M, 0)
}
