package isa

import (
	"encoding/binary"
	"errors"
)

// Errors of Decode. They are values, made once: decoding allocates nothing.
var (
	// ErrShort says that the instruction's words do not all lie inside code.
	ErrShort = errors.New("isa: instruction runs past the end of the code")
	// ErrUnknown says that the target has no instruction with these words.
	ErrUnknown = errors.New("isa: no such instruction")
	// ErrReserved says that an operand field or a must-be-zero bit holds a reserved value.
	ErrReserved = errors.New("isa: reserved operand or bits")
)

// state is the cursor of one decoding.
type state struct {
	d      *decoder
	t      *Target
	l      *layout
	w      words
	code   []byte
	size   int // bytes consumed
	lit    uint32
	hasLit bool
}

// Decode decodes the instruction at the start of code into out, for target t. It reads at most 20 bytes and allocates
// nothing. On error out.Op is nil, and out.Size is 4 (a disassembler's step over unknown words).
func Decode(t *Target, code []byte, out *Inst) error {
	if p, w := planOf(t, code); p != nil && p.run(w, code, out) {
		return nil
	}
	return decode(t, code, out)
}

// Measure is Decode for those who ask only what instruction it is and how long: of out it sets Op, Size and the first
// word of Raw, or everything.
func Measure(t *Target, code []byte, out *Inst) error {
	if p, w := planOf(t, code); p != nil && p.measure(w, out) {
		return nil
	}
	return decode(t, code, out)
}

// planOf is the plan for the instruction at the start of code and the words it is for, nil if there is none.
func planOf(t *Target, code []byte) (*plan, uint64) {
	d := t.decoder()
	if d == nil || len(code) < 12 {
		return nil, 0
	}
	w := binary.LittleEndian.Uint64(code)
	l := d.one[uint32(w)>>22]
	if l == nil || !l.planned {
		return nil, 0
	}
	w &= l.keep
	tab := d.tab[l.families[uint8(w>>(l.segShift&63))&l.segMask&3]]
	op := int(uint16(w>>(l.opShift&63)) & l.opMask)
	if op >= len(tab) {
		return nil, 0
	}
	p := tab[op].plans[(t.maskN-1)&1].Load()
	for p != nil && w&p.mask != p.value {
		p = p.next
	}
	if p == nil || p.kind == planNone {
		return nil, 0
	}
	return p, w
}

// decode is Decode without plans.
func decode(t *Target, code []byte, out *Inst) error {
	*out = Inst{}
	out.Size = 4
	d := t.decoder()
	if d == nil {
		return ErrUnknown
	}
	if len(code) < 4 {
		return ErrShort
	}
	var s state
	s.d, s.t, s.code = d, t, code
	s.w.lo = uint64(binary.LittleEndian.Uint32(code))
	l := d.one[uint32(s.w.lo)>>22]
	if l == nil {
		return ErrUnknown
	}
	s.l = l
	s.size = int(l.size)
	if l.size > 4 {
		if len(code) < int(l.size) {
			return ErrShort
		}
		s.w.lo = binary.LittleEndian.Uint64(code)
		if l.size > 8 {
			s.w.hi = uint64(binary.LittleEndian.Uint32(code[8:]))
		}
	}
	if err := s.decode(out); err != nil {
		*out = Inst{Size: 4}
		return err
	}
	out.Size = uint8(s.size)
	switch out.Fmt {
	case VOPD, EXP, VINTERP, LDSDIR, MIMG, VIMAGE, VSAMPLE:
		out.rare = true
	case VOP3P:
		out.rare = out.NY != 0
	}
	for i := 0; i < s.size/4; i++ {
		out.Raw[i] = binary.LittleEndian.Uint32(code[4*i:])
	}
	return nil
}

func (s *state) get(id fieldID) uint32 { return s.l.f[id].get(&s.w) }

func (s *state) flag(id fieldID) bool { return s.l.f[id].width != 0 && s.l.f[id].get(&s.w) != 0 }

func (s *state) decode(out *Inst) error {
	f := s.l.fmt
	opcode := s.get(fOp)
	switch f {
	case VOPD:
		return s.vopd(out)
	case FLAT:
		if s.l.has(fSeg) {
			switch s.get(fSeg) {
			case 1:
				f = SCRATCH
			case 2:
				f = GLOBAL
			case 3:
				return ErrUnknown
			}
		}
	case MUBUF:
		if s.d.gen == GFX12 && opcode >= 0x80 { // typed buffers share the family
			f, opcode = MTBUF, opcode-0x80
		}
	}
	if f == VOP3P && opcode == opLoadScale && s.scaled(out) {
		return nil
	}
	e := s.d.lookup(f, opcode)
	if e == nil {
		return ErrUnknown
	}
	if s.w.lo&e.mbz.lo|s.w.hi&e.mbz.hi != 0 {
		return ErrReserved
	}
	if p := &e.plans[(s.t.maskN-1)&1]; p.Load() == nil {
		p.Store(s.d.plans(s.t, s.l, f, e))
	}
	out.Op, out.Fmt = e.op, f
	switch f {
	case SOP1, SOP2, SOPC, SOPK, SOPP:
		return s.salu(out)
	case VOP1, VOP2, VOPC:
		return s.valu32(out)
	case VOP3:
		return s.vop3(out)
	case VOP3P:
		return s.vop3p(out)
	case SMEM:
		return s.smem(out)
	case DS:
		return s.ds(out)
	case FLAT, GLOBAL, SCRATCH:
		return s.flat(out)
	case MUBUF, MTBUF:
		return s.buffer(out)
	case MIMG:
		return s.mimg(out)
	case VIMAGE, VSAMPLE:
		return s.vimage(out)
	case EXP, VINTRP, VINTERP, LDSDIR:
		return s.graphics(out)
	}
	return ErrUnknown
}

// literal reads the 32-bit literal that follows the instruction, once.
func (s *state) literal() bool {
	if s.hasLit {
		return true
	}
	if len(s.code) < s.size+4 {
		return false
	}
	s.lit = binary.LittleEndian.Uint32(s.code[s.size:])
	s.size += 4
	s.hasLit = true
	return true
}

// salu decodes SOP1, SOP2, SOPC, SOPK and SOPP.
func (s *state) salu(out *Inst) error {
	op := out.Op
	a := &op.attr
	fields := [3]fieldID{fSrc0, fSrc1}
	switch s.l.fmt {
	case SOPP:
		if len(op.Src) > 0 {
			s.simm16(op, &out.Src[0])
			out.NSrc = 1
		}
		return nil
	case SOPK:
		return s.sopk(out)
	}
	if len(op.Dst) > 0 {
		o := &a.dst[0]
		if !s.sdst(s.get(fSdst), o.ty, o.n, &out.Dst[0]) {
			return ErrReserved
		}
		out.NDst = 1
	}
	nf := 0
	for i := range op.Src {
		o := &a.src[i]
		out.NSrc++
		if op.Fmt == SOP2 && o.imm == immK { // s_fmaak, s_fmamk: literal in the middle or at the end
			if !s.literal() {
				return ErrShort
			}
			out.Src[i] = s.konst(o.ty)
			continue
		}
		if nf == 2 { // s_fmac: none
			break
		}
		code := s.get(fields[nf])
		nf++
		switch {
		case o.imm == immSendmsg || o.imm == immGPRIdx:
			out.Src[i] = Operand{Kind: OperandImm, Type: B32, Value: uint64(code)}
		case o.imm == immBarrier:
			if !s.src(code, B32, 1, &out.Src[i]) {
				return ErrReserved
			}
		case !s.src(code, o.ty, o.n, &out.Src[i]):
			return s.srcErr()
		}
	}
	return nil
}

// srcErr tells a missing literal from a reserved operand.
func (s *state) srcErr() error {
	if len(s.code) < s.size+4 && s.wantedLit() {
		return ErrShort
	}
	return ErrReserved
}

func (s *state) wantedLit() bool { return s.lit == ^uint32(0) && !s.hasLit }

func (s *state) simm16(op *Op, o *Operand) {
	v := uint64(s.get(fSimm))
	*o = Operand{Kind: OperandImm, Type: U16, Value: v}
	switch op.attr.imm {
	case immLabel, immS16:
		o.Type = I16
		o.Value = uint64(int64(int16(v)))
	}
}

func (s *state) sopk(out *Inst) error {
	op := out.Op
	a := &op.attr
	if len(op.Dst) > 0 {
		o := &a.dst[0]
		if !s.sdst(s.get(fSdst), o.ty, o.n, &out.Dst[0]) {
			return ErrReserved
		}
		out.NDst = 1
	}
	for i := range op.Src {
		o := &a.src[i]
		out.NSrc++
		switch o.imm {
		case immNone:
			if !s.sdst(s.get(fSdst), o.ty, o.n, &out.Src[i]) {
				return ErrReserved
			}
		case immK:
			if !s.literal() {
				return ErrShort
			}
			out.Src[i] = Operand{Kind: OperandLiteral, Type: B32, Value: uint64(s.lit)}
		default:
			s.simm16(op, &out.Src[i])
			switch o.imm {
			case immLabel, immS16:
			default:
				out.Src[i].Type = U16
			}
		}
	}
	return nil
}

// smem decodes scalar memory. Src is [sbase, soffset], and the data of stores and atomics third.
func (s *state) smem(out *Inst) error {
	op := out.Op
	a := &op.attr
	out.GLC, out.DLC = s.flag(fGlc), s.flag(fDlc)
	s.cpol(out)
	if len(op.Dst) > 0 && !(a.p&pSdata != 0 && !out.GLC) {
		o := &a.dst[0]
		if !s.sdst(s.get(fSdata), o.ty, o.n, &out.Dst[0]) {
			return ErrReserved
		}
		out.NDst = 1
	}
	k := 0
	if a.p&pSdata != 0 {
		o := &a.src[0]
		k = 1
		c := s.get(fSdata)
		if o.imm == imm8 {
			if s.d.gen == GFX12 && c > 31 { // five bits there
				return ErrReserved
			}
			out.Src[2] = Operand{Kind: OperandImm, Type: U8, Value: uint64(c)}
		} else if !s.sdst(c, o.ty, o.n, &out.Src[2]) {
			return ErrReserved
		}
		out.NSrc = 3
	}
	if len(op.Src) == k {
		if a.p&pOff != 0 { // relative to the PC
			return s.smemOffset(out)
		}
		return nil
	}
	o := &a.src[k]
	if !s.sdst(s.get(fSbase)<<1, o.ty, o.n, &out.Src[0]) {
		return ErrReserved
	}
	out.NSrc = max(out.NSrc, 2)
	if a.p&pOff == 0 {
		out.NSrc = 1
		return nil
	}
	return s.smemOffset(out)
}

func (s *state) smemOffset(out *Inst) error {
	off := s.get(fOffset)
	switch s.d.gen {
	case GFX9, GFX940:
		imm, soe := s.flag(fImm), s.flag(fSoe)
		if imm {
			out.Offset = int32(off<<11) >> 11
		}
		switch {
		case soe:
			if !s.sdst(s.get(fSoffset), B32, 1, &out.Src[1]) {
				return ErrReserved
			}
		case !imm:
			if !s.sdst(off&0x7f, B32, 1, &out.Src[1]) {
				return ErrReserved
			}
		}
		out.OffEn = imm // the disassembler prints an offset of 0
		return nil
	case GFX12:
		out.Offset = int32(off<<8) >> 8
	default:
		out.Offset = int32(off<<11) >> 11
	}
	out.OffEn = true
	c := s.get(fSoffset)
	if s.d.sreg[c&127] == SRegNull {
		return nil
	}
	if !s.sdst(c, B32, 1, &out.Src[1]) {
		return ErrReserved
	}
	return nil
}

// cpol gathers the cache policy bits.
func (s *state) cpol(out *Inst) {
	if s.d.gen == GFX12 {
		if s.l.has(fTh) {
			th := s.get(fTh)
			out.CPol = uint8(s.get(fScope) | th<<2)
		}
		return
	}
	out.GLC, out.SLC, out.DLC = s.flag(fGlc), s.flag(fSlc), s.flag(fDlc)
	if s.d.is90a {
		out.SCC = s.flag(fScc)
	}
	if s.d.is940 {
		out.NT = out.SLC
	}
}
