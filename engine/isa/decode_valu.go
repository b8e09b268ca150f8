package isa

import "encoding/binary"

// src0 codes that say a second word replaces src0.
const (
	codeDPP8   = 233
	codeDPP8FI = 234
	codeSDWA   = 249
	codeDPP16  = 250
)

// is16 reports whether the type is a 16-bit one: such VGPR operands of gfx11+ 32-bit encodings address half registers.
func is16(ty DataType) bool {
	switch ty {
	case B16, U16, I16, F16, BF16, U8:
		return true
	}
	return false
}

// half rewrites a VGPR operand of a 32-bit encoding as gfx11+ means it: numbers from 128 are high halves.
func (s *state) half(o *Operand) {
	if s.d.gen >= GFX11 && o.Kind == OperandVGPR && is16(o.Type) && o.Reg >= 128 {
		o.Reg -= 128
		o.Hi = true
	}
}

// valuDst decodes the destinations of VOP1, VOP2 and VOPC in any encoding; vdst is the field's value.
func (s *state) valuDst(out *Inst, vdst uint32) bool {
	op := out.Op
	a := &op.attr
	if op.Fmt == VOPC {
		out.NDst = 1
		out.Dst[0] = Operand{Kind: OperandSGPR, Type: MaskT, Reg: SRegVCCLo, N: s.t.maskN}
		if op.Flags&FlagWritesEXEC != 0 && s.d.gen >= GFX10 {
			out.Dst[0].Reg = SRegEXECLo
		}
		return true
	}
	if len(op.Dst) == 0 {
		return true
	}
	o := &a.dst[0]
	out.NDst = 1
	switch o.file {
	case 's':
		if !s.sdst(vdst, o.ty, o.n, &out.Dst[0]) {
			return false
		}
	default:
		if !vgpr(vdst, o.ty, s.wmmaWidth(op, -1, o.n), o.file == 'a', &out.Dst[0]) {
			return false
		}
	}
	if len(op.Dst) == 2 {
		out.NDst = 2
		if a.dst[1].ty == MaskT {
			out.Dst[1] = s.vcc()
		}
	}
	return true
}

func (s *state) vcc() Operand {
	return Operand{Kind: OperandSGPR, Type: MaskT, Reg: SRegVCCLo, N: s.t.maskN}
}

// valu32 decodes VOP1, VOP2 and VOPC in their 32-bit form, with an SDWA or DPP word perhaps.
func (s *state) valu32(out *Inst) error {
	op := out.Op
	a := &op.attr
	if !s.valuDst(out, s.get(fVdst)) {
		return ErrReserved
	}
	s.half(&out.Dst[0])
	if len(op.Src) == 0 {
		return nil
	}
	c0 := s.get(fSrc0)
	switch c0 {
	case codeSDWA:
		if s.d.sdwa != nil {
			return s.sdwaWord(out)
		}
	case codeDPP16, codeDPP8, codeDPP8FI:
		if c0 == codeDPP16 || s.d.dpp8 != nil {
			if a.noDPP&s.t.bit != 0 || op.Fmt == VOPC && s.d.gen < GFX11 {
				return ErrReserved
			}
			if err := s.dppWord(out, c0); err != nil {
				return err
			}
			s.half(&out.Src[0])
			return s.valu32Rest(out)
		}
	}
	o := &a.src[0]
	if o.file == 'a' {
		if c0 < 256 || !vgpr(c0-256, o.ty, o.n, true, &out.Src[0]) {
			return ErrReserved
		}
	} else if !s.src(c0, o.ty, o.n, &out.Src[0]) {
		return s.srcErr()
	}
	s.half(&out.Src[0])
	return s.valu32Rest(out)
}

// valu32Rest decodes what follows src0: vsrc1, a K constant, VCC.
func (s *state) valu32Rest(out *Inst) error {
	op := out.Op
	a := &op.attr
	n := len(op.Src)
	out.NSrc = uint8(n)
	for i := 1; i < n; i++ {
		o := &a.src[i]
		switch {
		case o.imm == immK:
			if !s.literal() {
				return ErrShort
			}
			out.Src[i] = s.konst(o.ty)
		case o.ty == MaskT:
			out.Src[i] = s.vcc()
		default:
			if !vgpr(s.get(fVsrc1), o.ty, o.n, false, &out.Src[i]) {
				return ErrReserved
			}
			s.half(&out.Src[i])
		}
	}
	if op.Fmt == VOP1 && len(op.Dst) == 2 { // v_swap: the second result goes to src0's register
		if out.Src[0].Kind != OperandVGPR && a.p&pFIBC != 0 {
			return ErrReserved
		}
		out.Dst[1] = out.Src[0]
	}
	return nil
}

// next reads the dword after what has been consumed.
func (s *state) next() (uint32, bool) {
	if len(s.code) < s.size+4 {
		return 0, false
	}
	v := binary.LittleEndian.Uint32(s.code[s.size:])
	s.size += 4
	return v, true
}

// sdwaWord decodes the second word of an SDWA instruction and all its sources.
func (s *state) sdwaWord(out *Inst) error {
	op := out.Op
	a := &op.attr
	if a.noSDWA&s.t.bit != 0 {
		return ErrReserved
	}
	v, ok := s.next()
	if !ok {
		return ErrShort
	}
	w := words{lo: uint64(v)}
	l := s.d.sdwa
	get := func(id fieldID) uint32 { return l.f[id].get(&w) }
	out.SDWA = true
	src := func(i int, code, scalar uint32) bool {
		o := &a.src[i]
		if scalar == 0 {
			return vgpr(code, o.ty, 1, false, &out.Src[i])
		}
		if code == 255 {
			return false
		}
		return s.src(code, o.ty, 1, &out.Src[i])
	}
	mods := func(i int, neg, abs, sext uint32) bool {
		if a.mods[i] == modFP && !(i == 1 && a.p&pSInt1 != 0) {
			out.Neg |= uint8(neg << i)
			out.Abs |= uint8(abs << i)
			return sext == 0
		}
		out.SrcSext |= uint8(sext << i)
		return neg|abs == 0
	}
	out.SrcSel = [2]uint8{uint8(get(fSel0)), uint8(get(fSel1))}
	if !src(0, get(fSrc0), get(fS0)) || !mods(0, get(fNeg0), get(fAbs0), get(fSext0)) || out.SrcSel[0] > SelDword {
		return ErrReserved
	}
	out.NSrc = uint8(len(op.Src))
	if len(op.Src) > 1 {
		if !src(1, s.get(fVsrc1), get(fS1)) || !mods(1, get(fNeg1), get(fAbs1), get(fSext1)) || out.SrcSel[1] > SelDword {
			return ErrReserved
		}
		if len(op.Src) > 2 {
			out.Src[2] = s.vcc()
		}
	} else {
		if v>>24&0xbf != 0 { // no second source: its selects must be zero
			return ErrReserved
		}
		out.SrcSel[1] = 0
	}
	if op.Fmt == VOPC {
		if s.d.gen >= GFX10 && op.Flags&FlagWritesEXEC != 0 {
			if get(fSd) != 0 {
				return ErrReserved
			}
			return nil
		}
		if get(fSd) != 0 {
			if !s.sdst(get(fSdst), MaskT, 2, &out.Dst[0]) {
				return ErrReserved
			}
		}
		return nil
	}
	out.DstSel, out.DstUnused = uint8(get(fDstSel)), uint8(get(fDstUnused))
	out.Clamp, out.Omod = get(fClamp) != 0, uint8(get(fOmod))
	if out.DstSel > SelDword || out.DstUnused > UnusedPreserve {
		return ErrReserved
	}
	if out.Omod != 0 && !sdwaOmod(op) {
		return ErrReserved
	}
	return nil
}

func sdwaOmod(op *Op) bool {
	p := op.attr.p
	return p&pOmod != 0 && p&pSNoOmod == 0 || p&pSOmod != 0
}

// dppWord decodes a DPP word: modifiers and the true src0.
func (s *state) dppWord(out *Inst, code uint32) error {
	op := out.Op
	a := &op.attr
	v, ok := s.next()
	if !ok {
		return ErrShort
	}
	w := words{lo: uint64(v)}
	o := &a.src[0]
	if code != codeDPP16 {
		out.DPP = DPP8
		out.FI = code == codeDPP8FI
		out.DPP8Sel = s.d.dpp8.f[fSel].get(&w)
		if !vgpr(s.d.dpp8.f[fSrc0].get(&w), o.ty, o.n, false, &out.Src[0]) {
			return ErrReserved
		}
		return nil
	}
	l := s.d.dpp16
	get := func(id fieldID) uint32 { return l.f[id].get(&w) }
	out.DPP = DPP16
	out.DPPCtrl = uint16(get(fCtrl))
	out.BankMask, out.RowMask = uint8(get(fBank)), uint8(get(fRow))
	out.BoundCtrl = get(fBc) != 0
	out.FI = get(fFi) != 0 && s.d.gen >= GFX10
	if !vgpr(get(fSrc0), o.ty, o.n, false, &out.Src[0]) || !s.d.dppCtrl(out.DPPCtrl, o.n) {
		return ErrReserved
	}
	neg := uint8(get(fNeg0) | get(fNeg1)<<1)
	abs := uint8(get(fAbs0) | get(fAbs1)<<1)
	if out.Fmt == VOP3 || out.Fmt == VOP3P { // these have their own modifier bits; the word's are ignored
		return nil
	}
	for i := 0; i < 2; i++ {
		switch {
		case a.mods[i] == modNone && (neg|abs)>>i&1 != 0:
			return ErrReserved
		case a.mods[i] == modBits || i == 1 && a.p&pSInt1 != 0:
			neg &^= 1 << i
			abs &^= 1 << i
		}
	}
	out.Neg, out.Abs = neg, abs
	return nil
}

// dppCtrl reports whether the generation has a DPP16 control; n is the width of src0.
func (d *decoder) dppCtrl(c uint16, n uint8) bool {
	if n == 2 && d.is90a {
		return c >= 0x150 && c <= 0x15f
	}
	switch {
	case c <= 0xff, c >= 0x101 && c <= 0x10f, c >= 0x111 && c <= 0x11f, c >= 0x121 && c <= 0x12f,
		c == 0x140, c == 0x141:
		return true
	case c == 0x130, c == 0x134, c == 0x138, c == 0x13c, c == 0x142, c == 0x143:
		return d.gen <= GFX940
	case c >= 0x150 && c <= 0x15f:
		return d.gen >= GFX10 || d.is90a
	case c >= 0x160 && c <= 0x16f:
		return d.gen >= GFX10
	}
	return false
}

// vop3 decodes the 64-bit vector encoding: native rows and promoted VOP1, VOP2 and VOPC.
func (s *state) vop3(out *Inst) error {
	op := out.Op
	a := &op.attr
	if op.Fmt == VOP3 && (a.imm == immAttr || a.imm == immSlot) {
		return s.interp64(out)
	}
	if !s.vop3Dst(out) {
		return ErrReserved
	}
	if err := s.sources64(out); err != nil {
		return err
	}
	if out.DPP != NoDPP && s.hasLit {
		return ErrReserved
	}
	if op.Fmt == VOP1 && len(op.Dst) == 2 {
		out.Dst[1] = out.Src[0]
	}
	neg, abs := uint8(s.get(fNeg)), uint8(s.get(fAbs))
	for i := uint8(0); i < 3; i++ {
		if a.mods[i] == modFP {
			out.Neg |= neg & (1 << i)
			out.Abs |= abs & (1 << i)
		}
	}
	threeB := op.Fmt != VOPC && len(op.Dst) == 2 && a.dst[1].ty == MaskT
	if threeB {
		out.Abs = 0
	}
	if a.p&pBitop3 != 0 {
		out.Bitop3 = uint8(s.get(fOmod)<<6) | abs<<3 | neg
	}
	if a.p&pFIBC != 0 {
		if out.Src[0].Kind != OperandVGPR {
			return ErrReserved
		}
		bits := s.get(fOpSel)
		out.FI, out.BoundCtrl = bits&1 != 0, bits&2 != 0
	}
	out.Clamp = a.p&pClamp != 0 && s.flag(fClamp)
	if a.p&pOmod != 0 {
		out.Omod = uint8(s.get(fOmod))
	}
	out.OpSel = uint8(s.get(fOpSel)) & s.d.halves(op, threeB)
	return nil
}

// sources64 decodes the sources of VOP3 and VOP3P.
func (s *state) sources64(out *Inst) error {
	op := out.Op
	n := valuSources(op)
	out.NSrc = uint8(n)
	matrix := op.Flags&FlagMFMA != 0
	for i := range n {
		o, src := &op.attr.src[i], &out.Src[i]
		code := s.get([3]fieldID{fSrc0, fSrc1, fSrc2}[i])
		switch {
		case i == 0 && (code == codeDPP16 || s.d.gen >= GFX11 && (code == codeDPP8 || code == codeDPP8FI)):
			if !s.hasDPP64(op) {
				return ErrReserved
			}
			// the word comes after the two of the encoding, and after a literal there is none
			if err := s.dppWord(out, code); err != nil {
				return err
			}
		case code == 255 && !s.d.lit64:
			return ErrReserved
		case o.ty == MaskT:
			if code >= 256 || code == 254 || !s.src(code, MaskT, s.t.maskN, src) {
				return ErrReserved
			}
		case !s.src(code, o.ty, s.wmmaWidth(op, i, o.n), src):
			return s.srcErr()
		case matrix && src.Kind != OperandVGPR && !(i == 2 && src.Kind == OperandConst): // C may be a constant
			return ErrReserved
		case o.n > 4 && src.Kind != OperandVGPR && !matrix:
			return ErrReserved
		}
	}
	return nil
}

// halves are the bits of a VOP3 row's op_sel that choose halves of operands or bytes.
func (d *decoder) halves(op *Op, threeB bool) uint8 {
	p := op.attr.p
	switch {
	case threeB:
		return 0
	case p&(pOpSel|pByteSel) != 0:
		if p&pDot != 0 || op.Name == "v_dot2_f16_f16" || op.Name == "v_dot2_bf16_bf16" {
			return 12 // only src2 and the destination are halves
		}
		return 15
	case d.gen >= GFX11 && op.hasHalves():
		return op.opSelBits()
	}
	return 0
}

// hasHalves says whether the VOP3 form of a row has op_sel bits on gfx11 and later that its line does not declare: true16 gives every
// 16-bit operand a half, though LLVM 19 reads and spells the bits of a few only. Later compilers use them all.
func (op *Op) hasHalves() bool {
	a := &op.attr
	if a.p&(pOpSel|pByteSel|pFIBC|pBitop3) != 0 || op.Fmt != VOPC && len(op.Dst) == 2 && a.dst[1].ty == MaskT {
		return false
	}
	for i := range op.Src {
		if is16(a.src[i].ty) {
			return true
		}
	}
	return a.p&pHalf2 != 0 || len(op.Dst) > 0 && is16(a.dst[0].ty)
}

// opSelBits are the bits of op_sel that a VOP3 has: one for each operand that is neither a mask nor a scalar result.
func (op *Op) opSelBits() uint8 {
	b := uint8(1)<<valuSources(op) - 1
	for i := range op.Src {
		if op.attr.src[i].ty == MaskT {
			b &^= 1 << i
		}
	}
	if op.Fmt != VOPC && op.attr.dst[0].file != 's' {
		b |= 8
	}
	return b
}

// halved reports whether op_sel says something that only true16 has.
func (in *Inst) halved() bool { return in.Fmt == VOP3 && in.OpSel != 0 && in.Op.hasHalves() }

func (s *state) hasDPP64(op *Op) bool {
	if s.d.gen < GFX11 {
		return false
	}
	if op.Fmt == VOP3 || op.Fmt == VOP3P {
		return op.attr.dpp64&s.t.bit != 0
	}
	return op.attr.noDPP64&s.t.bit == 0
}

func (s *state) vop3Dst(out *Inst) bool {
	op := out.Op
	a := &op.attr
	v := s.get(fVdst)
	if op.Fmt == VOPC {
		if !s.valuDst(out, v) {
			return false
		}
		if out.Dst[0].Reg == SRegEXECLo {
			return true
		}
		return v < 128 && s.sdst(v, MaskT, 2, &out.Dst[0])
	}
	if !s.valuDst(out, v) {
		return false
	}
	if len(op.Dst) == 2 && a.dst[1].ty == MaskT {
		return s.sdst(s.get(fSdst), MaskT, 2, &out.Dst[1])
	}
	return true
}

// interp64 decodes the interpolation instructions that are VOP3 on gfx9 and gfx10: attribute and channel take src0's
// place, and the VGPR sources are src1 and src2.
func (s *state) interp64(out *Inst) error {
	op := out.Op
	a := &op.attr
	if !s.vop3Dst(out) {
		return ErrReserved
	}
	c0 := s.get(fSrc0)
	k := 1
	for i := range op.Src {
		o := &a.src[i]
		out.NSrc++
		switch o.imm {
		case immAttr:
			out.Src[i] = Operand{Kind: OperandImm, Type: U8, Value: uint64(c0 & 63)}
		case immChan:
			out.Src[i] = Operand{Kind: OperandImm, Type: U8, Value: uint64(c0 >> 6 & 3)}
		case immSlot:
			v := s.get(fSrc1)
			out.Src[i] = Operand{Kind: OperandImm, Type: U8, Value: uint64(v)}
			k = 2
		default:
			id := fSrc1
			if k == 2 {
				id = fSrc2
			}
			k++
			if code := s.get(id); code == 255 && !s.d.lit64 || !s.src(code, o.ty, o.n, &out.Src[i]) {
				return ErrReserved
			}
		}
	}
	out.Hi16 = c0>>8&1 != 0
	out.Neg = uint8(s.get(fNeg)) >> 1
	out.Abs = uint8(s.get(fAbs)) >> 1
	out.Clamp = s.flag(fClamp)
	out.Omod = uint8(s.get(fOmod))
	return nil
}
