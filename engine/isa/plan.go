package isa

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
)

// Decoding has two ways. The general one (decode.go) knows every rule. What it finds for ordinary words of a row is the same each time but
// for a few fields, so the first decoding of a row makes plans for it (plans.go), and from then on words that fit one are decoded by it:
// operands are entries of tables, picked by a field, with no branch that depends on the word. Words that fit no plan, or pick an entry
// marked hard, go the general way. TestPlans compares the two.

// hard says why a plan cannot give an operand.
type hard uint8

const (
	hardLiteral  hard = 1 << iota // its value is the word behind the instruction
	hardReserved                  // reserved, or a code by which another word takes its place
)

// operands are those that the values of a field mean, for one type, width and register file.
type operands [512]Operand

// pick is how a plan finds one operand.
type pick struct {
	from  *operands
	shift uint8
	ty    DataType
	mask  uint16
	base  uint16 // added to the field
}

func (p *pick) get(w uint64) *Operand {
	return &p.from[(uint16(w>>(p.shift&63))&p.mask+p.base)&(uint16(len(p.from))-1)]
}

// bitfield is a field that is copied out, or one that is always 0.
type bitfield struct {
	shift uint8
	mask  uint8
}

func (b bitfield) get(w uint64) uint8 { return uint8(w>>(b.shift&63)) & b.mask }

// plan decodes those words of a row that have value in the bits of mask.
type plan struct {
	mask, value uint64
	op          *Op
	next        *plan // for other words of the row
	kind        planKind
	fmt         Format
	size        uint8 // bytes
	ndst, nsrc  uint8

	dst, src0, src1, src2 pick
	dst1, src3            pick
	more                  bool // the last two are not nothing

	// planModifiers; op_sel_hi is in two pieces
	neg, abs, negHi, opSel, opSelHi, opSelHi2, clamp, omod bitfield

	// planMemory, planImm
	offset, offsetBits uint8 // where the offset or immediate is
	signed             bool
	imm                uint8 // planImm: the source that it is
	access             Access

	glc, slc, dlc, scc bitfield // planPolicy
	nt                 bool     // slc is NT as well
}

type planKind uint8

const (
	planNone      planKind = iota // such words go the general way
	planOperands                  // operands alone
	planModifiers                 // and modifiers
	planMemory                    // and an offset
	planPolicy                    // and an offset and cache policy bits
	planPair                      // and two offsets of 8 bits
	planImm                       // a source is an immediate
)

// run decodes words, if it can. code has at least 12 bytes.
func (p *plan) run(w uint64, code []byte, out *Inst) bool {
	d, a, b, c := p.dst.get(w), p.src0.get(w), p.src1.get(w), p.src2.get(w)
	bad := d.hard | a.hard | b.hard | c.hard
	if out.rare {
		out.Rare, out.rare = Rare{}, false
	}
	out.Dst[0] = *d // one by one: a tuple would go by way of the stack
	out.Dst[0].Type = p.dst.ty
	out.Src[0] = *a
	out.Src[0].Type = p.src0.ty
	out.Src[1] = *b
	out.Src[1].Type = p.src1.ty
	out.Src[2] = *c
	out.Src[2].Type = p.src2.ty
	if p.more {
		e, f := p.dst1.get(w), p.src3.get(w)
		bad |= e.hard | f.hard
		out.Dst[1] = *e
		out.Dst[1].Type = p.dst1.ty
		out.Src[3] = *f
		out.Src[3].Type = p.src3.ty
	} else {
		out.Dst[1] = Operand{}
		out.Src[3] = Operand{}
	}
	size := p.size
	out.Raw = [5]uint32{uint32(w), uint32(w >> 32)}
	if bad != 0 {
		if bad != hardLiteral {
			return false
		}
		v := binary.LittleEndian.Uint32(code[size:])
		for i := range out.Src[:3] {
			out.Src[i].literal(v)
		}
		out.Raw[size>>2] = v
		size += 4
	}
	if out.Op != p.op { // most often the same row comes again later; a pointer costs a barrier's test
		out.Op = p.op
	}
	out.Fmt, out.Size, out.NDst, out.NSrc = p.fmt, size, p.ndst, p.nsrc
	out.Modifiers = Modifiers{}
	out.Access = p.access
	switch p.kind {
	case planOperands:
	case planModifiers:
		out.Neg, out.Abs, out.NegHi = p.neg.get(w), p.abs.get(w), p.negHi.get(w)
		out.OpSel, out.OpSelHi = p.opSel.get(w), p.opSelHi.get(w)|p.opSelHi2.get(w)<<2
		out.Clamp, out.Omod = p.clamp.get(w) != 0, p.omod.get(w)
	case planMemory:
		out.Offset = int32(p.number(w))
	case planPolicy:
		out.Offset = int32(p.number(w))
		out.GLC, out.SLC, out.DLC, out.SCC = p.glc.get(w) != 0, p.slc.get(w) != 0, p.dlc.get(w) != 0, p.scc.get(w) != 0
		out.NT = out.SLC && p.nt
	case planPair:
		out.Offset0, out.Offset1 = uint8(p.number(w)), uint8(p.number(w)>>8)
	case planImm:
		out.Src[p.imm&3].Value = uint64(p.number(w))
	}
	return true
}

// measure is run for Measure.
func (p *plan) measure(w uint64, out *Inst) bool {
	bad := p.dst.get(w).hard | p.src0.get(w).hard | p.src1.get(w).hard | p.src2.get(w).hard
	if p.more {
		bad |= p.dst1.get(w).hard | p.src3.get(w).hard
	}
	size := p.size
	if bad != 0 {
		if bad != hardLiteral {
			return false
		}
		size += 4
	}
	if out.Op != p.op {
		out.Op = p.op
	}
	out.Size = size
	out.Raw[0] = uint32(w)
	return true
}

// number is the offset or immediate.
func (p *plan) number(w uint64) int64 {
	x := w << (64 - p.offsetBits - p.offset&63)
	if p.signed {
		return int64(x) >> (64 - p.offsetBits)
	}
	return int64(x >> (64 - p.offsetBits))
}

// literal completes an operand whose value is a literal word.
func (o *Operand) literal(v uint32) {
	if o.hard == 0 {
		return
	}
	o.hard = 0
	o.Value = uint64(v)
	switch o.Type {
	case F64:
		o.Value <<= 32
	case I64:
		o.Value = uint64(int64(int32(v)))
	}
}

// entry is what a target's opcode slot holds: the row, the bits of its encoding that must be zero, and the plans for words of the row by
// the dwords of a lane mask, once there are any.
type entry struct {
	op    *Op
	mbz   words
	plans [2]atomic.Pointer[plan]
}

// operandTables are made when the first plan needs them.
type operandTables struct {
	mu sync.Mutex
	m  map[operandClass]*operands // protected by mu
}

// operandClass says of what a table is. Types that are alike share a table, so that few of them fill the cache.
type operandClass struct {
	from  operandFile
	ty    DataType
	n     uint8
	maskN uint8 // dwords of a lane mask
}

type operandFile uint8

const (
	fromNothing   operandFile = iota
	fromSource                // nine bits: everything a source can be
	fromInline                // the same but literals
	fromHalf                  // as fromSource, where VGPRs from 128 are high halves
	fromMask                  // a lane mask as a source
	fromScalar                // seven bits
	fromPairs                 // an even scalar, by half its number
	fromQuads                 // every fourth scalar, by a quarter of its number
	fromVGPR                  // eight bits
	fromVGPRHalf              //
	fromAcc                   // eight bits
	fromAccSource             // nine bits, of which only AccVGPRs can be meant
	fromSOffset               // eight bits: a buffer's offset
	fromNumber                // an immediate that is the field itself
	fromImm                   // an immediate, whose value the plan fills in
	fromImplied               // implied lane masks: VCC, EXEC
)

const (
	impliedNone = iota
	impliedVCC
	impliedEXEC
)

// alike returns one type for all those whose constants and registers are the same.
func alike(ty DataType) DataType {
	switch ty {
	case F16, U16, I16:
		return B16
	case F64, U64, I64:
		return B64
	case TypeNone, B16, B64, BF16, V2F16, V2BF16, U8, MaskT:
		return ty
	}
	return B32
}

// get returns the table of a class.
func (t *operandTables) get(d *decoder, tg *Target, c operandClass) *operands {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.ty = alike(c.ty)
	if c.ty != MaskT && c.from != fromImplied {
		c.maskN = 0
	} else {
		c.maskN = tg.maskN
	}
	if x := t.m[c]; x != nil {
		return x
	}
	x := new(operands)
	for code := range uint32(len(x)) {
		if !d.operand(tg, c, code, &x[code]) {
			x[code] = Operand{hard: hardReserved}
		}
	}
	if t.m == nil {
		t.m = map[operandClass]*operands{}
	}
	t.m[c] = x
	return x
}

// operand makes the entry of a table. It is false for a reserved one.
func (d *decoder) operand(tg *Target, c operandClass, code uint32, o *Operand) bool {
	s := state{d: d, t: tg}
	switch c.from {
	case fromNothing:
		return true
	case fromInline, fromSource, fromHalf:
		if code == 255 {
			*o = Operand{Kind: OperandLiteral, Type: c.ty, hard: hardLiteral}
			return c.from != fromInline
		}
		ok := s.src(code, c.ty, c.n, o)
		if c.from == fromHalf {
			s.half(o)
		}
		return ok
	case fromMask:
		return code < 254 && s.src(code, MaskT, tg.maskN, o)
	case fromScalar:
		return code < 128 && s.sdst(code, c.ty, c.n, o)
	case fromPairs:
		return code < 64 && s.sdst(code<<1, c.ty, c.n, o)
	case fromQuads:
		return code < 32 && s.sdst(code<<2, c.ty, c.n, o)
	case fromVGPR, fromVGPRHalf, fromAcc:
		if code > 255 || !vgpr(code, c.ty, c.n, c.from == fromAcc, o) {
			return false
		}
		if c.from == fromVGPRHalf {
			s.half(o)
		}
		return true
	case fromAccSource:
		return code >= 256 && vgpr(code-256, c.ty, c.n, true, o)
	case fromNumber:
		*o = Operand{Kind: OperandImm, Type: c.ty, Value: uint64(code)}
		return true
	case fromSOffset:
		return code < 254 && s.src(code, c.ty, c.n, o)
	case fromImm:
		*o = Operand{Kind: OperandImm, Type: c.ty}
		return true
	case fromImplied:
		switch code {
		case impliedVCC:
			*o = s.vcc()
		case impliedEXEC:
			*o = s.vcc()
			o.Reg = SRegEXECLo
		}
		return true
	}
	return false
}
