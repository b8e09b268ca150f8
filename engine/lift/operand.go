package lift

import (
	"strings"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// val is a value of an expression: an IR value, or a number that takes its width from where it is used.
type val struct {
	id    ir.ID
	k     ir.Kind
	isLit bool
	n     uint64
}

func lit(n uint64) val { return val{id: ir.NoID, isLit: true, n: n} }

func of(id ir.ID) val { return val{id: id} }

// write is one pending register write; all of an instruction's writes happen after all its reads.
type write struct {
	kind writeKind
	reg  int
	x    ir.ID
	mask ir.ID
}

type writeKind uint8

const (
	writeS writeKind = iota
	writeS64
	writeM
	writeSCC
	writeV
)

// ictx is the lifting of one instruction.
type ictx struct {
	*lifter
	in     *isa.Inst
	op     *isa.Op
	m      *meaning
	src    []isa.Operand
	dst    []isa.Operand
	vec    bool // a vector instruction: comparisons give masks
	packed bool
	half   int  // of a packed instruction, which half is being computed
	wide   bool // a saturating integer instruction is being computed with 64 bits
	locals [maxLocals]val
	mask   ir.ID // lanes that the result is written to
	single bool  // mask is the first active lane only
	dpp    *permute
	next   uint32 // offset of the following instruction
	out    []write
	err    error

	one     [1]isa.Operand // dst of the second half of a dual instruction
	idRoom  []ir.ID        // for lists of arguments
	valRoom []val
}

// begin makes c ready for the instruction in c.in.
func (c *ictx) begin() {
	c.op, c.next = c.in.Op, c.pc+uint32(c.in.Size)
	c.m, c.vec, c.packed, c.half, c.wide, c.dpp, c.err, c.single = nil, false, false, 0, false, nil, nil, false
	c.out, c.idRoom, c.valRoom = c.out[:0], c.idRoom[:0], c.valRoom[:0]
}

// ids is room for n values until the next instruction, and for one more behind them.
func (c *ictx) ids(n int) []ir.ID {
	m := len(c.idRoom)
	if m+n+1 > cap(c.idRoom) {
		c.idRoom = make([]ir.ID, 0, 64+n)
		m = 0
	}
	c.idRoom = c.idRoom[:m+n+1]
	return c.idRoom[m : m+n : m+n+1]
}

// vals is room for n values of expressions until the next instruction.
func (c *ictx) vals(n int) []val {
	m := len(c.valRoom)
	if m+n > cap(c.valRoom) {
		c.valRoom = make([]val, 0, 32+n)
		m = 0
	}
	c.valRoom = c.valRoom[:m+n]
	return c.valRoom[m : m+n : m+n]
}

// fail records the first reason why the instruction cannot be lifted.
func (c *ictx) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// bitsOf is the width of one element of a data type.
func bitsOf(t isa.DataType) int {
	switch t {
	case isa.B8, isa.U8, isa.I8, isa.FP8, isa.BF8:
		return 8
	case isa.B16, isa.U16, isa.I16, isa.F16, isa.BF16:
		return 16
	case isa.B64, isa.U64, isa.I64, isa.F64, isa.V2F32, isa.V2B32:
		return 64
	case isa.B96:
		return 96
	case isa.B128:
		return 128
	case isa.B256:
		return 256
	case isa.B512:
		return 512
	case isa.B1024:
		return 1024
	}
	return 32
}

// kindOf is the IR number format of a data type.
func kindOf(t isa.DataType) ir.Kind {
	switch t {
	case isa.F16, isa.V2F16:
		return ir.F16
	case isa.BF16, isa.V2BF16:
		return ir.BF16
	case isa.F32, isa.V2F32:
		return ir.F32
	case isa.F64:
		return ir.F64
	case isa.U8:
		return ir.U8
	case isa.I8:
		return ir.I8
	case isa.U16, isa.B16, isa.V2U16, isa.V2B16:
		return ir.U16
	case isa.I16, isa.V2I16:
		return ir.I16
	case isa.I32:
		return ir.I32
	case isa.U32, isa.B32:
		return ir.U32
	case isa.I64:
		return ir.I64
	case isa.U64, isa.B64:
		return ir.U64
	case isa.FP8:
		return ir.FP8
	case isa.BF8:
		return ir.BF8
	}
	return ir.KindNone
}

func isFloat(k ir.Kind) bool { return k == ir.F16 || k == ir.BF16 || k == ir.F32 || k == ir.F64 }

// floatKind is the float format by which neg and abs act on a value of width bits.
func floatKind(k ir.Kind, bits int) ir.Kind {
	switch {
	case isFloat(k):
		return k
	case bits == 16:
		return ir.F16
	case bits == 64:
		return ir.F64
	}
	return ir.F32
}

// typeOfSrc is the data type of source i.
func (c *ictx) typeOfSrc(i int) isa.DataType {
	if i < len(c.src) && c.src[i].Type != isa.TypeNone {
		return c.src[i].Type
	}
	if i < len(c.op.Src) {
		return c.op.Src[i].Type
	}
	return isa.B32
}

// typeOfDst is the data type of destination 0.
func (c *ictx) typeOfDst() isa.DataType {
	if c.m.dst != isa.TypeNone {
		return c.m.dst
	}
	if len(c.dst) > 0 && c.dst[0].Type != isa.TypeNone {
		return c.dst[0].Type
	}
	if len(c.op.Dst) > 0 {
		return c.op.Dst[0].Type
	}
	return isa.B32
}

// nameTypes are the type words of mnemonics.
var nameTypes = map[string]isa.DataType{"f16": isa.F16, "bf16": isa.BF16, "u16": isa.U16, "i16": isa.I16, "b16": isa.B16,
	"f32": isa.F32, "i32": isa.I32, "u32": isa.U32, "b32": isa.B32, "f64": isa.F64, "u64": isa.U64, "i64": isa.I64, "b64": isa.B64}

// packedTypes are those of v_pk_*.
var packedTypes = map[string]isa.DataType{"f16": isa.V2F16, "bf16": isa.V2BF16, "u16": isa.V2U16, "i16": isa.V2I16,
	"b16": isa.V2B16, "f32": isa.V2F32, "b32": isa.V2B32}

// namedDst is the type of a vector instruction's result by its name: the first type word, but for the instructions
// that fill a register with several smaller results.
func namedDst(name string) isa.DataType {
	switch {
	case !strings.HasPrefix(name, "v_"), strings.HasPrefix(name, "v_cmp"), strings.HasPrefix(name, "v_cvt_scalef32_"):
		return isa.TypeNone
	case strings.HasPrefix(name, "v_pk_"):
		return packedTypes[name[strings.LastIndexByte(name, '_')+1:]]
	case strings.HasPrefix(name, "v_cvt_pk_f32_"):
		return isa.B64
	case strings.HasPrefix(name, "v_cvt_pk"), strings.HasPrefix(name, "v_sat_pk"), strings.HasSuffix(name, "mixhi_f16"),
		strings.HasPrefix(name, "v_cvt_sr_"):
		return isa.B32
	case name == "v_sad_u16":
		return isa.U32
	}
	for _, w := range strings.Split(name, "_") {
		if t, ok := nameTypes[w]; ok {
			return t
		}
	}
	return isa.TypeNone
}

// vectorReg is the number of the vector register that operand o names.
func vectorReg(o *isa.Operand) int {
	if o.Kind == isa.OperandAcc {
		return accBase + int(o.Reg)
	}
	return int(o.Reg)
}

// reg reads dword n of operand o; of a vector register all lanes if full, else those of EXEC.
func (c *ictx) reg(o *isa.Operand, n int, full bool) ir.ID {
	switch o.Kind {
	case isa.OperandSGPR:
		return c.sget(int(o.Reg) + n)
	case isa.OperandVGPR, isa.OperandAcc:
		if full {
			return c.vgetFull(vectorReg(o) + n)
		}
		return c.vget(vectorReg(o) + n)
	case isa.OperandConst, isa.OperandLiteral, isa.OperandImm:
		return c.c32(uint32(o.Value >> (32 * n)))
	case isa.OperandSpecial:
		return c.special(isa.Special(o.Reg), n)
	case isa.OperandLDSDirect:
		if !c.vec {
			c.fail(errOperand)
			break
		}
		// LDS at M0[15:0] bytes, the same dword for all lanes.
		return c.raw(ir.Value{Op: ir.OpLoad, Type: ir.V32, Space: ir.LDS, Width: 4},
			ir.NoID, c.op2(ir.OpAnd, c.sget(isa.SRegM0), c.c32(0xffff)), c.exec())
	}
	return c.c32(0)
}

// reg64 reads register operand o as 64 bits.
func (c *ictx) reg64(o *isa.Operand, full bool) ir.ID {
	switch o.Kind {
	case isa.OperandSGPR:
		return c.sget64(int(o.Reg))
	case isa.OperandConst, isa.OperandLiteral, isa.OperandImm:
		return c.c(ir.S64, o.Value)
	}
	return c.pair(c.reg(o, 0, full), c.reg(o, 1, full))
}

// pair makes a 64-bit value.
func (c *ictx) pair(lo, hi ir.ID) ir.ID {
	return c.opx(ir.OpPair, typeOf(isVec(c.typ(lo)) || isVec(c.typ(hi)), true), lo, hi)
}

// opx is emitter.op; op is the table row here.
func (c *ictx) opx(o ir.Op, t ir.Type, ids ...ir.ID) ir.ID { return c.emitter.op(o, t, ids...) }

// op2 emits an integer operation whose type is that of its arguments.
func (c *ictx) op2(o ir.Op, ids ...ir.ID) ir.ID { return c.opx(o, c.same(ids...), ids...) }

// special reads a value of the wave's environment.
func (c *ictx) special(s isa.Special, n int) ir.ID {
	switch s {
	case isa.SrcVCCZ:
		return c.opx(ir.OpBToS, ir.S32, c.opx(ir.OpMIsZ, ir.S1, c.mget(isa.SRegVCCLo)))
	case isa.SrcEXECZ:
		return c.opx(ir.OpBToS, ir.S32, c.opx(ir.OpMIsZ, ir.S1, c.exec()))
	case isa.SrcSCC:
		return c.opx(ir.OpBToS, ir.S32, c.getSCC())
	}
	// An aperture's base and limit as SH_MEM_BASES holds them: bits 63:48 of the private base below those of the shared one.
	if n == 0 {
		if s == isa.SrcSharedLimit || s == isa.SrcPrivateLimit {
			return c.c32(0xffffffff)
		}
		return c.c32(0)
	}
	x := c.raw(ir.Value{Op: ir.OpHWGet, Type: ir.S32, Imm: hwSHMemBases})
	if s == isa.SrcSharedBase || s == isa.SrcSharedLimit {
		return c.opx(ir.OpAnd, ir.S32, x, c.c32(0xffff0000))
	}
	if s == isa.SrcPrivateBase || s == isa.SrcPrivateLimit {
		return c.opx(ir.OpShl, ir.S32, x, c.c32(16))
	}
	return c.c32(0)
}

// source fetches source i with its modifiers.
func (c *ictx) source(i int) val {
	if i >= len(c.src) {
		c.fail(errOperand)
		return val{id: c.c32(0), k: ir.U32}
	}
	t := c.typeOfSrc(i)
	if t == isa.MaskT {
		return of(c.maskOperand(&c.src[i]))
	}
	if c.packed {
		return c.sourceHalf(i, t)
	}
	return c.modified(i, t)
}

// maskOperand reads an operand as a lane mask.
func (c *ictx) maskOperand(o *isa.Operand) ir.ID {
	switch o.Kind {
	case isa.OperandSGPR:
		return c.mget(int(o.Reg))
	case isa.OperandConst, isa.OperandLiteral:
		return c.c(ir.M, o.Value)
	}
	c.fail(errOperand)
	return c.c(ir.M, 0)
}

// modified fetches source i of an instruction that is not packed.
func (c *ictx) modified(i int, t isa.DataType) val {
	o := &c.src[i]
	bits, k := bitsOf(t), kindOf(t)
	perm := i == 0 && c.dpp != nil
	var x ir.ID
	idx, indexed := ir.NoID, false
	if o.Kind == isa.OperandVGPR {
		idx, indexed = c.gprIndex(i)
	}
	switch {
	case indexed:
		x = c.vgetRel(int(o.Reg), idx)
		if bits == 64 {
			x = c.pair(x, c.vgetRel(int(o.Reg)+1, idx))
		}
	case bits == 64:
		x = c.reg64(o, perm)
		if perm {
			x = c.pair(c.permuted(c.opx(ir.OpLo, half(c.typ(x)), x)), c.permuted(c.opx(ir.OpHi, half(c.typ(x)), x)))
		}
	default:
		x = c.reg(o, 0, perm)
		if perm {
			x = c.permuted(x)
		}
	}
	if c.in.SDWA && i < 2 && c.op.Fmt != isa.VOPD {
		x = c.selected(x, c.in.SrcSel[i], c.in.SrcSext>>i&1 != 0, k)
	}
	if bits == 16 {
		x = c.half16(o, x, i, k)
	}
	if bits == 8 {
		x = c.extend(x, 8, k == ir.I8)
	}
	x = c.signed(x, i, k, bits)
	if c.wide {
		x = c.widened(x, k)
	}
	return val{id: x, k: k}
}

// widened extends an operand of a saturating integer instruction to 64 bits, by the sign of the result.
func (c *ictx) widened(x ir.ID, k ir.Kind) ir.ID {
	if isFloat(k) || is64(c.typ(x)) {
		return x
	}
	o := ir.OpZext64
	if k := kindOf(c.typeOfDst()); k == ir.I32 || k == ir.I16 {
		o = ir.OpSext64
	}
	return c.opx(o, typeOf(isVec(c.typ(x)), true), x)
}

func half(t ir.Type) ir.Type {
	if t == ir.V64 {
		return ir.V32
	}
	return ir.S32
}

// half16 brings the 16 bits of source i that the instruction reads to the low half.
func (c *ictx) half16(o *isa.Operand, x ir.ID, i int, k ir.Kind) ir.ID {
	high := o.Kind == isa.OperandVGPR && o.Hi // (a K constant has Hi too)
	if (c.in.Fmt == isa.VOP3 || c.in.Fmt == isa.VOP3P) && c.in.OpSel>>i&1 != 0 && o.Kind != isa.OperandConst {
		high = true
	}
	if high {
		x = c.op2(ir.OpLShr, x, c.c32(16))
	}
	switch {
	case isFloat(k):
		return x
	case k == ir.I16:
		return c.extend(x, 16, true)
	}
	if high {
		return x
	}
	return c.extend(x, 16, false)
}

// extend extends the low n bits of x.
func (c *ictx) extend(x ir.ID, n uint64, sign bool) ir.ID {
	o := ir.OpZext
	if sign {
		o = ir.OpSext
	}
	return c.opi(o, c.typ(x), n, x)
}

// signed applies abs and neg of source i.
func (c *ictx) signed(x ir.ID, i int, k ir.Kind, bits int) ir.ID {
	if c.in.Fmt == isa.VOP3P || c.in.Neg>>i&1 == 0 && c.in.Abs>>i&1 == 0 {
		return x
	}
	fk := floatKind(k, bits)
	t := typeOf(true, bits == 64)
	if !c.vec {
		t = typeOf(false, bits == 64)
	}
	if c.in.Abs>>i&1 != 0 {
		x = c.pure(ir.Value{Op: ir.OpFAbs, Type: t, Kind: fk}, x)
	}
	if c.in.Neg>>i&1 != 0 {
		x = c.pure(ir.Value{Op: ir.OpFNeg, Type: t, Kind: fk}, x)
	}
	return x
}

// selected is the SDWA select of a source.
func (c *ictx) selected(x ir.ID, sel uint8, sext bool, k ir.Kind) ir.ID {
	var shift, n uint64
	switch sel {
	case isa.SelByte0, isa.SelByte1, isa.SelByte2, isa.SelByte3:
		shift, n = uint64(sel)*8, 8
	case isa.SelWord0, isa.SelWord1:
		shift, n = uint64(sel-isa.SelWord0)*16, 16
	default:
		return x
	}
	if sext {
		x = c.op2(ir.OpShl, x, c.c32(uint32(32-n-shift)))
		return c.op2(ir.OpAShr, x, c.c32(uint32(32-n)))
	}
	if shift > 0 {
		x = c.op2(ir.OpLShr, x, c.c32(uint32(shift)))
	}
	return c.extend(x, n, false)
}

// sourceHalf fetches one half of a source of a packed instruction.
func (c *ictx) sourceHalf(i int, t isa.DataType) val {
	o := &c.src[i]
	if t == isa.V2B16 || t == isa.B32 {
		t = c.typeOfDst() // the table leaves the sign to the name
	}
	k := kindOf(t)
	sel, neg := c.in.OpSel, c.in.Neg
	if c.half == 1 {
		sel, neg = c.in.OpSelHi, c.in.NegHi
	}
	if c.op.Fmt != isa.VOP3P { // v_pk_fmac_f16: no selects
		sel, neg = uint8(c.half)*7, 0
	}
	high := int(sel >> i & 1)
	var x ir.ID
	switch t {
	case isa.V2F32, isa.V2B32, isa.F64, isa.B64, isa.U64:
		// Two dwords; a constant or literal is the same for both.
		if o.Kind == isa.OperandConst || o.Kind == isa.OperandLiteral {
			high = 0
		}
		x = c.reg(o, high, false)
	default:
		x = c.reg(o, 0, false)
		if high == 1 {
			x = c.op2(ir.OpLShr, x, c.c32(16))
		}
		switch {
		case k == ir.I16:
			x = c.extend(x, 16, true)
		case high == 0 && !isFloat(k):
			x = c.extend(x, 16, false)
		}
	}
	if neg>>i&1 != 0 && isFloat(k) {
		x = c.pure(ir.Value{Op: ir.OpFNeg, Type: ir.V32, Kind: k}, x)
	}
	if c.wide {
		x = c.widened(x, k)
	}
	return val{id: x, k: k}
}

// old reads the destination as a source.
func (c *ictx) old() val {
	if len(c.dst) == 0 {
		c.fail(errOperand)
		return of(c.c32(0))
	}
	t := c.typeOfDst()
	o := &c.dst[0]
	switch {
	case c.packed && bitsOf(t) == 64:
		return val{id: c.reg(o, c.half, false), k: kindOf(t)}
	case c.packed:
		x := c.reg(o, 0, false)
		if c.half == 1 {
			x = c.op2(ir.OpLShr, x, c.c32(16))
		}
		return val{id: x, k: kindOf(t)}
	case bitsOf(t) == 64:
		return val{id: c.reg64(o, false), k: kindOf(t)}
	}
	x := c.reg(o, 0, false)
	if bitsOf(t) == 16 && (o.Hi || c.in.Fmt == isa.VOP3 && c.in.OpSel&8 != 0) {
		x = c.op2(ir.OpLShr, x, c.c32(16))
	} else if bitsOf(t) == 16 && !isFloat(kindOf(t)) {
		x = c.extend(x, 16, kindOf(t) == ir.I16)
	}
	return val{id: x, k: kindOf(t)}
}

// carryIn is the lane mask that the instruction adds or selects by: the last source when it is a mask, else VCC.
func (c *ictx) carryIn() ir.ID {
	for i := len(c.src) - 1; i >= 0; i-- {
		if c.typeOfSrc(i) == isa.MaskT {
			return c.maskOperand(&c.src[i])
		}
	}
	return c.mget(isa.SRegVCCLo)
}

// field returns the operand whose table name is one of names.
func (c *ictx) field(names ...string) *isa.Operand {
	for i := range c.op.Src {
		for _, n := range names {
			if c.op.Src[i].Name == n && i < len(c.src) && c.src[i].Kind != isa.OperandNone {
				return &c.src[i]
			}
		}
	}
	for i := range c.op.Dst {
		for _, n := range names {
			if c.op.Dst[i].Name == n && i < len(c.dst) && c.dst[i].Kind != isa.OperandNone {
				return &c.dst[i]
			}
		}
	}
	return nil
}

func (c *ictx) nameIs(prefix string) bool { return strings.HasPrefix(c.op.Name, prefix) }
