package lift

import (
	"fmt"
	"strings"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// memType is the data of one lane's access: its size in bytes, sign extension, and for the 16-bit forms the half of
// the register it fills.
type memType struct {
	bytes int
	sign  bool
	d16   bool // fills or takes one half of the register
	high  bool
}

var memTypes = map[string]memType{
	"u8": {bytes: 1}, "i8": {bytes: 1, sign: true}, "u16": {bytes: 2}, "i16": {bytes: 2, sign: true},
	"b8": {bytes: 1}, "b16": {bytes: 2}, "b32": {bytes: 4}, "b64": {bytes: 8}, "b96": {bytes: 12}, "b128": {bytes: 16},
	"d16_u8": {bytes: 1, d16: true}, "d16_i8": {bytes: 1, sign: true, d16: true}, "d16_b16": {bytes: 2, d16: true},
	"d16_hi_u8": {bytes: 1, d16: true, high: true}, "d16_hi_i8": {bytes: 1, sign: true, d16: true, high: true},
	"d16_hi_b16": {bytes: 2, d16: true, high: true}, "d16_hi_b8": {bytes: 1, d16: true, high: true},
}

func (m memType) dwords() int { return (m.bytes + 3) / 4 }

// address is where a memory instruction goes.
type address struct {
	space ir.Space
	base  ir.ID // uniform, or NoID
	off   ir.ID // per lane, or NoID
	imm   int32
	mask  ir.ID
	buf   *buffer
}

// buffer is the addressing of a MUBUF instruction.
type buffer struct {
	word                     [4]ir.ID // S32
	vindex, voffset, soffset ir.ID
	flags                    uint64
}

// order collects the cache policy bits.
func (c *ictx) order() ir.Order {
	var o ir.Order
	if c.in.GLC {
		o |= ir.OrderGLC
	}
	if c.in.SLC {
		o |= ir.OrderSLC
	}
	if c.in.DLC {
		o |= ir.OrderDLC
	}
	return o
}

// sgprOperand is the operand called one of names when it is a scalar register other than null.
func (c *ictx) sgprOperand(names ...string) *isa.Operand {
	o := c.field(names...)
	if o == nil || o.Kind != isa.OperandSGPR || o.Reg == isa.SRegNull {
		return nil
	}
	return o
}

// vgprOperand is the operand called one of names when it is a vector register.
func (c *ictx) vgprOperand(names ...string) *isa.Operand {
	o := c.field(names...)
	if o == nil || o.Kind != isa.OperandVGPR && o.Kind != isa.OperandAcc {
		return nil
	}
	return o
}

// need is o, or any register when the instruction has no such operand: then it fails.
func (c *ictx) need(o *isa.Operand) *isa.Operand {
	if o == nil {
		c.fail(errOperand)
		return &isa.Operand{Kind: isa.OperandVGPR}
	}
	return o
}

// placed is the rule of a memory instruction at an address.
func placed(f func(c *ictx, a address, args []string) error) rule {
	return func(c *ictx, args []string) error {
		a, err := c.where()
		if err != nil {
			return err
		}
		return f(c, a, args)
	}
}

// where computes the address of a FLAT, GLOBAL, SCRATCH or buffer instruction.
func (c *ictx) where() (address, error) {
	a := address{base: ir.NoID, off: ir.NoID, imm: c.in.Offset, mask: c.mask}
	va, sa := c.vgprOperand("vaddr", "addr"), c.sgprOperand("saddr")
	switch c.op.Fmt {
	case isa.FLAT:
		if va == nil {
			return a, errOperand
		}
		a.space = ir.Flat
		a.off = c.reg64(va, false)
		if sa != nil {
			a.base, a.off = c.reg64(sa, false), c.reg(va, 0, false)
		}
	case isa.GLOBAL:
		a.space = ir.Global
		if strings.HasSuffix(c.op.Name, "_addtid_b32") { // the lane's number is the address register
			a.off = c.opx(ir.OpShl, ir.V32, c.opx(ir.OpLaneID, ir.V32), c.c32(2))
			if sa != nil {
				a.base = c.reg64(sa, false)
			} else {
				a.off = c.opx(ir.OpZext64, ir.V64, a.off)
			}
			return a, nil
		}
		switch {
		case sa != nil:
			a.base = c.reg64(sa, false)
			if va != nil {
				a.off = c.reg(va, 0, false)
			}
		case va != nil:
			a.off = c.reg64(va, false)
		default:
			return a, errOperand
		}
	case isa.SCRATCH:
		a.space = ir.Scratch
		if sa != nil {
			a.base = c.reg(sa, 0, false)
		}
		if va != nil {
			a.off = c.reg(va, 0, false)
		}
	case isa.MUBUF, isa.MTBUF:
		return c.whereBuffer()
	default:
		return a, errOperand
	}
	return a, nil
}

// whereBuffer collects a buffer instruction's address operands; accesses compute the address from them.
func (c *ictx) whereBuffer() (address, error) {
	a := address{space: ir.Global, base: ir.NoID, off: ir.NoID, mask: c.mask}
	rs := c.sgprOperand("srsrc", "rsrc")
	if rs == nil {
		return a, errOperand
	}
	r := int(rs.Reg)
	b := &buffer{vindex: ir.NoID, voffset: ir.NoID, soffset: ir.NoID}
	for i := range b.word {
		b.word[i] = c.sget(r + i)
	}
	if va := c.vgprOperand("vaddr", "addr"); va != nil {
		n := 0
		if c.in.IdxEn {
			b.vindex = c.reg(va, 0, false)
			b.flags |= ir.BufIdxEn
			n = 1
		}
		if c.in.OffEn {
			b.voffset = c.reg(va, n, false)
			b.flags |= ir.BufOffEn
		}
	}
	if so := c.field("soffset"); so != nil && so.Kind != isa.OperandNone {
		b.soffset = c.reg(so, 0, false)
	}
	switch {
	case c.gen >= isa.GFX12:
		b.flags |= ir.BufGFX10 | ir.BufGFX11 | ir.BufGFX12
	case c.gen >= isa.GFX11:
		b.flags |= ir.BufGFX10 | ir.BufGFX11
	case c.gen >= isa.GFX10:
		b.flags |= ir.BufGFX10
	}
	a.buf = b
	return a, nil
}

// piece is the address k bytes further, of an access of n bytes; for a buffer it resolves descriptor and bounds.
func (c *ictx) piece(a address, k, n int) address {
	if a.buf == nil {
		a.imm += int32(k)
		return a
	}
	b := a.buf
	if b.vindex == ir.NoID {
		return c.resolve(a, k, n)
	}
	imm := uint64(uint32(c.in.Offset+int32(k))) | b.flags
	desc := c.pure(ir.Value{Op: ir.OpTuple, Type: ir.TS, N: 4}, b.word[:]...)
	ids := []ir.ID{desc, b.vindex, b.voffset, b.soffset}
	a.off = c.pure(ir.Value{Op: ir.OpBufAddr, Type: ir.V64, Width: uint8(n), Imm: imm}, ids...)
	ok := c.pure(ir.Value{Op: ir.OpBufOK, Type: ir.M, Width: uint8(n), Imm: imm}, ids...)
	a.mask = c.opx(ir.OpMAnd, ir.M, a.mask, ok)
	a.imm = 0
	return a
}

// load reads n bytes at a into dwords.
func (c *ictx) load(a address, n int, sign bool) []ir.ID {
	a = c.gdsBound(a, n)
	v := ir.Value{Op: ir.OpLoad, Type: ir.V32, Space: a.space, Width: uint8(n), Sign: sign, Order: c.order(), Imm: uint64(uint32(a.imm))}
	nd := (n + 3) / 4
	switch nd {
	case 1:
	case 2:
		v.Type = ir.V64
	default:
		v.Type, v.N = ir.T, uint8(nd)
	}
	x := c.raw(v, a.base, a.off, a.mask)
	return c.dwords(x)
}

// dwords splits a per-lane value into its registers.
func (c *ictx) dwords(x ir.ID) []ir.ID {
	v := c.v(x)
	switch v.Type {
	case ir.V64:
		return []ir.ID{c.opx(ir.OpLo, ir.V32, x), c.opx(ir.OpHi, ir.V32, x)}
	case ir.T:
		n := int(v.N)
		out := make([]ir.ID, n)
		for i := range out {
			out[i] = c.opi(ir.OpElem, ir.V32, uint64(i), x)
		}
		return out
	}
	return []ir.ID{x}
}

// gather makes one per-lane value of registers.
func (c *ictx) gather(d []ir.ID) ir.ID {
	switch len(d) {
	case 1:
		return c.perLane(d[0])
	case 2:
		return c.perLane(c.pair(d[0], d[1]))
	}
	return c.pure(ir.Value{Op: ir.OpTuple, Type: ir.T, N: uint8(len(d))}, d...)
}

// regs reads n dwords of operand o from dword k on.
func (c *ictx) regs(o *isa.Operand, k, n int) []ir.ID {
	out := make([]ir.ID, n)
	for i := range out {
		out[i] = c.reg(o, k+i, false)
	}
	return out
}

// setRegs queues writes of dwords to consecutive registers of o.
func (c *ictx) setRegs(o *isa.Operand, k int, d []ir.ID) {
	r := vectorReg(o) + k
	for i, x := range d {
		c.writeV(r+i, x)
	}
}

// dataOperand is the vector register operand that a load fills (dst) or a store takes its data from, nil when there is none.
func (c *ictx) dataOperand(dst bool) *isa.Operand {
	if dst {
		if len(c.dst) > 0 && (c.dst[0].Kind == isa.OperandVGPR || c.dst[0].Kind == isa.OperandAcc) {
			return &c.dst[0]
		}
		return nil
	}
	return c.vgprOperand("vdata", "data", "data0", "vdata0")
}

// store1 writes dwords d, n bytes of them, to a.
func (c *ictx) store1(a address, n int, d []ir.ID) {
	a = c.gdsBound(a, n)
	c.raw(ir.Value{Op: ir.OpStore, Space: a.space, Width: uint8(n), Order: c.order(), Imm: uint64(uint32(a.imm))},
		a.base, a.off, a.mask, c.gather(d))
}

// loaded places the result of a load of type t into operand o.
func (c *ictx) loaded(o *isa.Operand, t memType, d []ir.ID) {
	if !t.d16 {
		c.setRegs(o, 0, d)
		return
	}
	r, x := vectorReg(o), d[0]
	if t.sign {
		x = c.extend(x, 16, false)
	}
	switch {
	case c.t.D16Preserves:
		x = c.halfOf(r, x, t.high)
	case t.high:
		x = c.op2(ir.OpShl, x, c.c32(16))
	}
	c.writeV(r, x)
}

func addMemoryRules(r map[string]rule) {
	r["load"] = placed(func(c *ictx, a address, args []string) error {
		t, ok := memTypes[args[0]]
		if !ok {
			return fmt.Errorf("no memory type %s", args[0])
		}
		if c.in.LDS || len(args) > 1 && args[1] == "lds" {
			c.loadToLDS(a, t)
			return nil
		}
		o := c.need(c.dataOperand(true))
		if c.in.TFE { // one register more says which pages were missing: none
			c.setRegs(o, t.dwords(), []ir.ID{c.c32(0)})
		}
		if a.buf != nil && t.bytes > 4 {
			return c.bufferWide(a, t.bytes, o, nil)
		}
		c.loaded(o, t, c.load(c.piece(a, 0, t.bytes), t.bytes, t.sign))
		return nil
	})
	r["store"] = placed(func(c *ictx, a address, args []string) error {
		t, ok := memTypes[args[0]]
		if !ok {
			return fmt.Errorf("no memory type %s", args[0])
		}
		o := c.need(c.dataOperand(false))
		d := c.regs(o, 0, t.dwords())
		if t.high {
			d[0] = c.op2(ir.OpLShr, d[0], c.c32(16))
		}
		if a.buf != nil && t.bytes > 4 {
			return c.bufferWide(a, t.bytes, nil, d)
		}
		c.store1(c.piece(a, 0, t.bytes), t.bytes, d)
		return nil
	})
	r["atomic"] = placed(func(c *ictx, a address, args []string) error {
		return c.atomic(a, args, c.in.GLC)
	})
	r["store_lds"] = placed(func(c *ictx, a address, _ []string) error { // a dword of LDS to memory
		off := c.directOffset(2)
		x := c.raw(ir.Value{Op: ir.OpLoad, Type: ir.V32, Space: ir.LDS, Width: 4, Imm: uint64(uint32(c.in.Offset))}, ir.NoID, off, c.exec())
		c.store1(c.piece(a, 0, 4), 4, []ir.ID{x})
		return nil
	})
	r["sload"] = sloadRule
	r["sstore"] = sstoreRule
	r["satomic"] = satomicRule
	r["sbufload"] = sbufloadRule
	r["sbufstore"] = sbufstoreRule
	r["sbufatomic"] = sbufatomicRule
}

// loadToLDS is a load whose data goes to LDS at M0 + offset + lane*4 instead of registers.
// Accesses of three and four dwords (gfx950) place lanes 16 bytes apart (CDNA4 manual, "Memory Buffer Load to LDS").
func (c *ictx) loadToLDS(a address, t memType) {
	n, lane := t.dwords(), uint32(2)
	d := make([]ir.ID, n)
	if a.buf != nil || n == 1 {
		for i := range d {
			d[i] = c.load(c.piece(a, 4*i, min(4, t.bytes)), min(4, t.bytes), t.sign)[0]
		}
	} else {
		d = c.load(a, t.bytes, t.sign)
	}
	if n > 1 {
		lane = 4
	}
	c.toLDS(lane, d)
}

// directOffset is where in LDS a lane's data of a buffer access lies, but for the instruction's offset: at M0 + lane << shift.
func (c *ictx) directOffset(shift uint32) ir.ID {
	limit := uint32(0xffff)
	if c.t.Name == "gfx950" { // which has 160 KiB
		limit = 0x3ffff
	}
	base := c.opx(ir.OpAnd, ir.S32, c.sget(isa.SRegM0), c.c32(limit))
	off := c.opx(ir.OpShl, ir.V32, c.opx(ir.OpLaneID, ir.V32), c.c32(shift))
	return c.opx(ir.OpAdd, ir.V32, off, base)
}

// toLDS writes loaded dwords to LDS.
func (c *ictx) toLDS(shift uint32, d []ir.ID) {
	off := c.directOffset(shift)
	c.raw(ir.Value{Op: ir.OpStore, Space: ir.LDS, Width: uint8(4 * len(d)), Imm: uint64(uint32(c.in.Offset))}, ir.NoID, off, c.exec(), c.gather(d))
}

// bufferWide is a buffer access of n bytes, more than a dword, into dst or else of data. It goes dword by dword: each counts alone for the bounds, and in a swizzled
// buffer, which the descriptor tells only when the code runs, they lie apart.
func (c *ictx) bufferWide(a address, n int, dst *isa.Operand, data []ir.ID) error {
	nd := n / 4
	out := make([]ir.ID, nd)
	for i := range nd {
		at := c.piece(a, 4*i, 4)
		if dst != nil {
			out[i] = c.load(at, 4, false)[0]
		} else {
			c.store1(at, 4, data[i:i+1])
		}
	}
	if dst != nil {
		c.setRegs(dst, 0, out)
	}
	return nil
}

// atomicOps maps the names in sem/ to operations and number formats.
var atomicOps = map[string]struct {
	op   ir.AtomicOp
	kind ir.Kind
}{
	"swap": {ir.AtomicSwap, 0}, "cmpswap": {ir.AtomicCmpSwap, 0}, "add": {ir.AtomicAdd, 0}, "sub": {ir.AtomicSub, 0},
	"rsub": {ir.AtomicRSub, 0}, "smin": {ir.AtomicSMin, 0}, "umin": {ir.AtomicUMin, 0}, "smax": {ir.AtomicSMax, 0},
	"umax": {ir.AtomicUMax, 0}, "and": {ir.AtomicAnd, 0}, "or": {ir.AtomicOr, 0}, "xor": {ir.AtomicXor, 0},
	"inc": {ir.AtomicInc, 0}, "dec": {ir.AtomicDec, 0}, "fadd": {ir.AtomicFAdd, ir.F32}, "fmin": {ir.AtomicFMin, ir.F32},
	"fmax": {ir.AtomicFMax, ir.F32}, "pk_add_f16": {ir.AtomicPkFAdd, ir.F16}, "pk_add_bf16": {ir.AtomicPkFAdd, ir.BF16},
	"fcmpswap": {ir.AtomicCmpSwap, ir.F32}, "wrap": {ir.AtomicWrap, 0},
	"mskor": {ir.AtomicMskOr, 0}, "csub": {ir.AtomicCSub, 0}, "cond_sub": {ir.AtomicCondSub, 0}, "sub_clamp": {ir.AtomicSubClamp, 0},
}

// atomic lifts an atomic at a; args are the operation and the width.
func (c *ictx) atomic(a address, args []string, ret bool) error {
	k, ok := atomicOps[args[0]]
	t, ok2 := memTypes[args[1]]
	if !ok || !ok2 {
		return fmt.Errorf("no atomic %v", args)
	}
	o := c.need(c.dataOperand(false))
	n := t.dwords()
	data2 := ir.NoID
	data := c.gather(c.regs(o, 0, n))
	if k.op == ir.AtomicCmpSwap {
		data2 = c.gather(c.regs(o, n, n))
	}
	return c.atomic1(c.piece(a, 0, t.bytes), k.op, k.kind, t, data, data2, ret, c.dataOperand(true))
}

// atomic1 emits one atomic and writes its old value to dst.
func (c *ictx) atomic1(a address, op ir.AtomicOp, kind ir.Kind, t memType, data, data2 ir.ID, ret bool, dst *isa.Operand) error {
	if kind == ir.F32 && t.bytes == 8 {
		kind = ir.F64
	}
	a = c.gdsBound(a, t.bytes)
	v := ir.Value{Op: ir.OpAtomic, Atomic: op, Kind: kind, Space: a.space, Width: uint8(t.bytes), Order: c.order(), Imm: uint64(uint32(a.imm))}
	if isFloat(kind) {
		v.FP = c.fp(kind)
	}
	if ret {
		dst = c.need(dst)
		v.Order |= ir.OrderReturn
		v.Type = ir.V32
		if t.bytes == 8 {
			v.Type = ir.V64
		}
	}
	ids := []ir.ID{a.base, a.off, a.mask, data}
	if data2 != ir.NoID {
		ids = append(ids, data2)
	}
	x := c.raw(v, ids...)
	if ret {
		c.setRegs(dst, 0, c.dwords(x))
	}
	return nil
}
