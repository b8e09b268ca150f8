package isa

import "strings"

// planner makes the plans of one row.
type planner struct {
	d  *decoder
	t  *Target
	l  *layout
	op *Op
	p  plan // what all have in common
}

// plans makes the plans for the words of a row in family f. There is always one, of planNone perhaps.
func (d *decoder) plans(t *Target, l *layout, f Format, e *entry) *plan {
	b := planner{d: d, t: t, l: l, op: e.op}
	b.p = plan{op: e.op, fmt: f, size: l.size, mask: e.mbz.lo}
	for _, k := range [...]*pick{&b.p.dst, &b.p.dst1, &b.p.src0, &b.p.src1, &b.p.src2, &b.p.src3} {
		k.from = d.tables.get(d, t, operandClass{})
	}
	if p := b.family(f); p != nil {
		return p
	}
	return &plan{}
}

func (b *planner) family(f Format) *plan {
	if b.l.size > 8 || split(b.l.f[fOp]) {
		return nil
	}
	switch f {
	case SOP1, SOP2, SOPC:
		return b.salu()
	case SOPK, SOPP:
		return b.immediate()
	case VOP1, VOP2, VOPC:
		return b.valu32()
	case VOP3, VOP3P:
		return b.valu64(f)
	case SMEM:
		return b.smem()
	case DS:
		return b.ds()
	case FLAT, GLOBAL, SCRATCH:
		return b.flat(f)
	case MUBUF:
		return b.buffer()
	}
	return nil
}

// split says whether a field is in two pieces.
func split(f field) bool { return f.width2 != 0 }

// at makes an operand of a field.
func (b *planner) at(id fieldID, from operandFile, ty DataType, n uint8) pick {
	f := &b.l.f[id]
	if f.width == 0 {
		return pick{from: b.d.tables.get(b.d, b.t, operandClass{})}
	}
	return pick{from: b.d.tables.get(b.d, b.t, operandClass{from: from, ty: ty, n: n}), ty: ty, shift: f.shift, mask: 1<<f.width - 1}
}

// implied makes an operand that no field names.
func (b *planner) implied(mask uint16) pick {
	return pick{from: b.d.tables.get(b.d, b.t, operandClass{from: fromImplied}), ty: MaskT, base: mask}
}

// source is the place of source i.
func (p *plan) source(i int) *pick { return [4]*pick{&p.src0, &p.src1, &p.src2, &p.src3}[i] }

// second sets what only some rows have.
func (p *plan) second(dst pick) { p.dst1, p.more = dst, true }

// bits makes a field of modifiers.
func (b *planner) bits(id fieldID, mask uint8) bitfield {
	f := &b.l.f[id]
	if f.width == 0 {
		return bitfield{}
	}
	return bitfield{f.shift, mask & (1<<f.width - 1)}
}

// must adds to p's words the condition that a field has a value.
func (b *planner) must(p *plan, id fieldID, value uint64) {
	if f := &b.l.f[id]; f.width != 0 {
		p.mask |= f.mask().lo
		p.value |= value << f.shift
	}
}

// zero adds the condition that fields are 0.
func (b *planner) zero(p *plan, ids ...fieldID) {
	for _, id := range ids {
		b.must(p, id, 0)
	}
}

func (b *planner) salu() *plan {
	p, a := b.p, &b.op.attr
	p.kind = planOperands
	if len(b.op.Dst) > 0 {
		p.dst, p.ndst = b.at(fSdst, fromScalar, a.dst[0].ty, a.dst[0].n), 1
	}
	if len(b.op.Src) > 2 {
		return nil
	}
	for i := range b.op.Src {
		o := &a.src[i]
		id := [2]fieldID{fSrc0, fSrc1}[i]
		switch o.imm {
		case immNone:
			*p.source(i) = b.at(id, fromSource, o.ty, o.n)
		case immSendmsg, immGPRIdx:
			*p.source(i) = b.at(id, fromNumber, B32, 0)
		default:
			return nil
		}
		p.nsrc++
	}
	return &p
}

// immediate plans SOPP and SOPK.
func (b *planner) immediate() *plan {
	p, a := b.p, &b.op.attr
	p.kind = planOperands
	if len(b.op.Src) > 3 {
		return nil
	}
	if b.l.fmt == SOPK && len(b.op.Dst) > 0 {
		p.dst, p.ndst = b.at(fSdst, fromScalar, a.dst[0].ty, a.dst[0].n), 1
	}
	for i := range b.op.Src {
		o := &a.src[i]
		k := o.imm
		switch {
		case b.l.fmt == SOPP:
			k = a.imm
		case k == immNone:
			*p.source(i) = b.at(fSdst, fromScalar, o.ty, o.n)
			p.nsrc++
			continue
		case k == immK || p.kind == planImm:
			return nil
		}
		f := &b.l.f[fSimm]
		p.kind, p.imm, p.offset, p.offsetBits = planImm, uint8(i), f.shift, f.width
		p.signed = a.imm == immLabel || a.imm == immS16
		ty := U16
		if p.signed && (b.l.fmt == SOPP || k == immLabel || k == immS16) {
			ty = I16
		}
		*p.source(i) = pick{from: b.d.tables.get(b.d, b.t, operandClass{from: fromImm, ty: ty}), ty: ty}
		p.nsrc++
		if b.l.fmt == SOPP {
			break
		}
	}
	return &p
}

// valuDst plans the destinations of vector instructions.
func (b *planner) valuDst(p *plan, half operandFile) {
	op, a := b.op, &b.op.attr
	if op.Fmt == VOPC {
		p.dst, p.ndst = b.implied(impliedVCC), 1
		if op.Flags&FlagWritesEXEC != 0 && b.d.gen >= GFX10 {
			p.dst = b.implied(impliedEXEC)
		}
		return
	}
	if len(op.Dst) == 0 {
		return
	}
	o := &a.dst[0]
	from := half
	switch o.file {
	case 's':
		from = fromScalar
	case 'a':
		from = fromAcc
	}
	p.dst, p.ndst = b.at(fVdst, from, o.ty, o.n), 1
	if len(op.Dst) == 2 {
		p.ndst = 2
		if a.dst[1].ty == MaskT {
			p.second(b.implied(impliedVCC))
		}
	}
}

// ordinary says whether a vector row follows the rules that plans know. (v_mfma_ld_scale_b32 is half of a longer instruction.)
func (b *planner) ordinary() bool {
	op, a := b.op, &b.op.attr
	if op.Name == "v_mfma_ld_scale_b32" || op.Flags&FlagMFMA != 0 || a.p&(pBitop3|pFIBC|pCbsz) != 0 || op.Fmt == VOP1 && len(op.Dst) == 2 || len(op.Src) > 3 || interp(op) {
		return false
	}
	for i := range op.Src {
		if o := &a.src[i]; o.imm != immNone || o.n > 4 || o.file != 0 && o.file != 'a' {
			return false
		}
	}
	return true
}

func (b *planner) valu32() *plan {
	p, op, a := b.p, b.op, &b.op.attr
	if !b.ordinary() {
		return nil
	}
	p.kind = planOperands
	b.valuDst(&p, fromVGPRHalf)
	for i := range op.Src {
		o := &a.src[i]
		switch {
		case i == 0:
			p.src0 = b.at(fSrc0, fromHalf, o.ty, o.n)
			if o.file == 'a' {
				p.src0 = b.at(fSrc0, fromAccSource, o.ty, o.n)
			}
		case o.ty == MaskT:
			*p.source(i) = b.implied(impliedVCC)
		default:
			*p.source(i) = b.at(fVsrc1, fromVGPRHalf, o.ty, o.n)
		}
		p.nsrc++
	}
	return &p
}

func (b *planner) valu64(f Format) *plan {
	p, op, a := b.p, b.op, &b.op.attr
	if f == VOP3P && b.l.has(fAcc) && len(op.Dst) == 1 && (a.dst[0].file == 'a' || op.Name == "v_accvgpr_read_b32") {
		return b.accMove()
	}
	if !b.ordinary() || f == VOP3P && (strings.HasPrefix(op.Name, "v_dot4_f32_") || b.l.f[fOpSelHi].width != 2) {
		return nil
	}
	p.kind = planModifiers
	b.valuDst(&p, fromVGPR)
	threeB := op.Fmt != VOPC && len(op.Dst) == 2 && a.dst[1].ty == MaskT
	switch {
	case op.Fmt == VOPC && p.dst.base == impliedVCC:
		p.dst = b.at(fVdst, fromScalar, MaskT, 2)
	case threeB:
		p.second(b.at(fSdst, fromScalar, MaskT, 2))
	}
	n := valuSources(op)
	p.nsrc = uint8(n)
	for i := range n {
		o := &a.src[i]
		from := fromInline
		switch {
		case o.ty == MaskT && f == VOP3:
			from = fromMask
		case b.d.lit64:
			from = fromSource
		}
		*p.source(i) = b.at([3]fieldID{fSrc0, fSrc1, fSrc2}[i], from, o.ty, o.n)
	}
	p.clamp = bitfield{}
	if a.p&pClamp != 0 {
		p.clamp = b.bits(fClamp, 1)
	}
	if f == VOP3P {
		p.neg, p.negHi = b.bits(fNeg, 7), b.bits(fNegHi, 7)
		if a.mods[0] == modFP {
			p.abs, p.negHi = p.negHi, bitfield{}
		}
		p.opSel = b.bits(fOpSel, 255)
		p.opSelHi = b.bits(fOpSelHi, 3)
		p.opSelHi2 = bitfield{b.l.f[fOpSelHi].shift2, 1}
		return &p
	}
	mods := uint8(0)
	for i := range a.mods {
		if a.mods[i] == modFP {
			mods |= 1 << i
		}
	}
	p.neg = b.bits(fNeg, mods)
	if !threeB {
		p.abs = b.bits(fAbs, mods)
	}
	if a.p&pOmod != 0 {
		p.omod = b.bits(fOmod, 3)
	}
	p.opSel = b.bits(fOpSel, b.d.halves(op, threeB))
	return &p
}

// accMove plans the moves between VGPRs and AccVGPRs.
func (b *planner) accMove() *plan {
	p, a := b.p, &b.op.attr
	if len(b.op.Src) != 1 || b.op.Flags&FlagMFMA != 0 {
		return nil
	}
	p.kind, p.ndst, p.nsrc = planOperands, 1, 1
	to, from := fromVGPR, fromAccSource
	if a.dst[0].file == 'a' {
		to, from = fromAcc, fromInline
	}
	p.dst = b.at(fVdst, to, a.dst[0].ty, a.dst[0].n)
	p.src0 = b.at(fSrc0, from, a.src[0].ty, a.src[0].n)
	return &p
}

// smem plans scalar loads at a constant offset.
func (b *planner) smem() *plan {
	p, op, a := b.p, b.op, &b.op.attr
	if len(op.Dst) != 1 || a.p&pOff == 0 || a.p&pSdata != 0 || len(op.Src) == 0 {
		return nil
	}
	p.kind, p.ndst, p.nsrc = planMemory, 1, 2
	p.dst = b.at(fSdata, fromScalar, a.dst[0].ty, a.dst[0].n)
	p.src0 = b.at(fSbase, fromPairs, a.src[0].ty, a.src[0].n)
	b.zero(&p, fSoe, fGlc, fDlc, fScope, fTh)
	b.must(&p, fImm, 1)
	if b.d.gen > GFX940 {
		b.must(&p, fSoffset, b.null())
	}
	p.offset, p.offsetBits, p.signed = b.l.f[fOffset].shift, 21, true
	if b.d.gen == GFX12 {
		p.offsetBits = 24
	}
	p.access.OffEn = true
	return &p
}

// null is the scalar code of the null register.
func (b *planner) null() uint64 {
	for i, r := range b.d.sreg {
		if r == SRegNull {
			return uint64(i)
		}
	}
	return 0
}

func (b *planner) ds() *plan {
	p, op, a := b.p, b.op, &b.op.attr
	if gws(op) || len(op.Dst) > 1 || a.p&pGDSOnly != 0 {
		return nil
	}
	b.zero(&p, fGds, fAcc)
	p.kind = planMemory
	f := &b.l.f[fOffset0]
	p.offset, p.offsetBits = f.shift, 16
	if a.p&pTwo != 0 {
		p.kind = planPair
	}
	if len(op.Dst) > 0 {
		p.dst, p.ndst = b.at(fVdst, fromVGPR, a.dst[0].ty, a.dst[0].n), 1
	}
	pos := 1
	for i := range op.Src {
		o := &a.src[i]
		if op.Src[i].Name == "addr" {
			p.src0 = b.at(fAddr, fromVGPR, B32, 1)
			p.nsrc = max(p.nsrc, 1)
			continue
		}
		*p.source(pos) = b.at([3]fieldID{fAddr, fData0, fData1}[pos], fromVGPR, o.ty, o.n)
		pos++
		p.nsrc = uint8(pos)
	}
	return &p
}

// flat plans loads and stores of the FLAT families.
func (b *planner) flat(f Format) *plan {
	p, op, a := b.p, b.op, &b.op.attr
	if op.Flags&FlagAtomic != 0 || a.p&(pLDSOnly|pNoAddr|pAddTID|pNoRet|pRetOnly|pAtomicRet) != 0 || len(op.Dst) > 1 {
		return nil
	}
	b.zero(&p, fLds, fAcc)
	b.policy(&p)
	p.nsrc = 3
	off := &b.l.f[fOffset]
	p.offset, p.offsetBits, p.signed = off.shift, off.width, f != FLAT
	if len(op.Dst) > 0 {
		p.dst, p.ndst = b.at(fVdst, fromVGPR, a.dst[0].ty, a.dst[0].n), 1
	}
	if o := &a.src[0]; o.ty != TypeNone {
		p.src1 = b.at(fData, fromVGPR, o.ty, o.n)
	}
	null := b.null()
	if b.d.gen <= GFX940 {
		null = 0x7f
	}
	switch f {
	case FLAT:
		if b.d.gen <= GFX940 {
			null = 0
		}
		b.zero(&p, fSve)
		b.must(&p, fSaddr, null)
		p.src0 = b.at(fAddr, fromVGPR, B64, 2)
		return &p
	case GLOBAL:
		b.zero(&p, fSve)
		vector, scalar := p, p
		b.must(&vector, fSaddr, null)
		vector.src0 = b.at(fAddr, fromVGPR, B64, 2)
		scalar.src0, scalar.src2 = b.at(fAddr, fromVGPR, B32, 1), b.at(fSaddr, fromScalar, B64, 2)
		scalar.access.SAddr = true
		vector.next = &scalar
		return &vector
	}
	vector, scalar := p, p // SCRATCH
	b.must(&vector, fSaddr, null)
	b.must(&vector, fSve, 1)
	vector.src0, vector.access.SVE = b.at(fAddr, fromVGPR, B32, 1), true
	neither := plan{mask: p.mask, value: p.value}
	b.must(&neither, fSaddr, 0x7f)
	if b.d.gen > GFX10 {
		neither.mask &^= b.l.f[fSaddr].mask().lo
		neither.value &^= b.l.f[fSaddr].mask().lo
		b.must(&neither, fSaddr, null)
	}
	b.zero(&scalar, fSve)
	scalar.src2, scalar.access.SAddr = b.at(fSaddr, fromScalar, B32, 1), true
	vector.next, neither.next = &neither, &scalar
	return &vector
}

// policy makes p one that reads cache policy bits.
func (b *planner) policy(p *plan) {
	p.kind = planPolicy
	p.glc, p.slc, p.dlc = b.bits(fGlc, 1), b.bits(fSlc, 1), b.bits(fDlc, 1)
	if b.d.is90a {
		p.scc = b.bits(fScc, 1)
	}
	p.nt = b.d.is940
}

// buffer plans untyped loads and stores with an offset in a register or none.
func (b *planner) buffer() *plan {
	p, op, a := b.p, b.op, &b.op.attr
	if op.Flags&FlagAtomic != 0 || a.p&(pLDSOnly|pNoRet) != 0 || len(op.Dst) > 1 || b.d.gen == GFX12 {
		return nil
	}
	if a.p&pBare != 0 { // cache control
		p.kind = planOperands
		b.zero(&p, fGlc, fSlc, fDlc, fScc)
		return &p
	}
	b.zero(&p, fLds, fTfe, fAcc, fIdxen)
	b.policy(&p)
	p.nsrc = 4
	p.offset, p.offsetBits = b.l.f[fOffset].shift, b.l.f[fOffset].width
	if len(op.Dst) > 0 {
		p.dst, p.ndst = b.at(fVdata, fromVGPR, a.dst[0].ty, a.dst[0].n), 1
	}
	if a.src[0].ty != TypeNone {
		n := a.src[0].n
		if len(op.Dst) > 0 {
			n = a.dst[0].n
		}
		p.src1 = b.at(fVdata, fromVGPR, a.src[0].ty, n)
	}
	p.src2 = b.at(fSrsrc, fromQuads, B128, 4)
	p.src3, p.more = b.at(fSoffset, fromSOffset, B32, 1), true
	none, reg := p, p
	b.zero(&none, fOffen)
	b.must(&reg, fOffen, 1)
	reg.src0, reg.access.OffEn = b.at(fVaddr, fromVGPR, B32, 1), true
	none.next = &reg
	return &none
}
