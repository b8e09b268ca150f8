package isa

import "strings"

var srcFields = []fieldID{fSrc0, fSrc1, fSrc2}

// salu encodes SOP1, SOP2, SOPC, SOPK and SOPP.
func (a *asm) salu() {
	op, at := a.op, &a.op.attr
	if op.Fmt == SOPK && len(op.Dst) == 0 && at.imm == immHwreg { // s_setreg: the register comes first
		a.put(fSimm, a.imm(immHwreg))
		if at.src[0].imm == immK {
			a.konst()
		} else {
			a.scalar(fSdst)
		}
		return
	}
	if len(op.Dst) > 0 {
		a.scalar(fSdst)
	}
	fields := []fieldID{fSrc0, fSrc1}
	for i := range op.Src {
		o := &at.src[i]
		switch {
		case o.imm == immK:
			a.konst()
		case op.Fmt == SOPK && o.imm == immNone:
			a.scalar(fSdst)
		case op.Fmt == SOPK || op.Fmt == SOPP:
			a.put(fSimm, a.imm(o.imm))
		case len(fields) == 0:
			a.fail(errOperandTooMany)
		case o.imm == immSendmsg || o.imm == immGPRIdx:
			a.put(fields[0], a.imm(o.imm))
			fields = fields[1:]
		default:
			a.put(fields[0], a.sourceCode(a.arg(), false))
			fields = fields[1:]
		}
	}
}

// half reports whether 16-bit VGPR operands of 32-bit encodings name half registers.
func (a *asm) half(ty DataType) bool { return a.t.Gen >= GFX11 && is16(ty) }

// vgpr32 takes the next operand into an 8-bit VGPR field of a 32-bit encoding.
func (a *asm) vgpr32(id fieldID, ty DataType) {
	r, _, _, hi, ok := vectorReg(a.arg())
	if !ok || hi && !a.half(ty) {
		a.fail(errOperandBad)
	}
	if hi {
		r += 128
	}
	a.put(id, r)
}

// vccArg takes the next operand, which must be VCC: the encoding implies it.
func (a *asm) vccArg() {
	if s := a.arg(); s != "vcc" && s != "vcc_lo" {
		a.fail(errOperandBad)
	}
}

// silentEXEC reports whether the row is a v_cmpx of gfx10 or later, which writes EXEC only: the text has no destination.
func silentEXEC(op *Op, t *Target) bool {
	return op.Fmt == VOPC && op.Flags&FlagWritesEXEC != 0 && t.Gen >= GFX10
}

// valu32 encodes VOP1, VOP2 and VOPC in 32 bits, with an SDWA or DPP word perhaps.
func (a *asm) valu32() {
	op, at := a.op, &a.op.attr
	var second words
	sdwa, dpp := a.form == formSDWA, a.form == formDPP
	a.noLit = sdwa || dpp
	switch {
	case op.Fmt == VOPC:
		if !silentEXEC(op, a.t) {
			if sdwa && a.peek() != "vcc" && a.peek() != "vcc_lo" {
				c, ok := a.d.scalarReg(a.arg())
				if !ok || a.d.sdwa == nil {
					a.fail(errOperandBad)
					return
				}
				a.d.sdwa.f[fSdst].put(&second, c)
				a.d.sdwa.f[fSd].put(&second, 1)
			} else {
				a.vccArg()
			}
		}
	case len(op.Dst) == 0:
	case at.dst[0].file == 's':
		a.scalar(fVdst)
	default:
		a.vgpr32(fVdst, at.dst[0].ty)
	}
	if len(op.Dst) == 2 && at.dst[1].ty == MaskT {
		a.vccArg()
	}
	if sdwa && a.d.sdwa == nil || (sdwa || dpp) && len(op.Src) == 0 {
		a.fail(ErrUnknown)
		return
	}
	dppX := a.dppForm(dpp)
	for i := range op.Src {
		o := &at.src[i]
		switch {
		case o.imm == immK:
			a.konst()
		case o.ty == MaskT && op.Fmt != VOPC:
			a.vccArg()
		case sdwa:
			a.sdwaSource(i, &second)
		case dpp:
			a.dppSource(i, o, dppX, &second)
		case i == 0:
			a.put(fSrc0, a.sourceCode(a.arg(), a.half(o.ty)))
		default:
			a.vgpr32(fVsrc1, o.ty)
		}
	}
	switch {
	case sdwa:
		a.sdwaWord(&second)
	case dpp:
		a.dppWord(dppX, &second)
	}
}

// sdwaSource encodes source i of an SDWA instruction.
func (a *asm) sdwaSource(i int, w *words) {
	m := a.source()
	l := a.d.sdwa
	ids := [2][4]fieldID{{fS0, fNeg0, fAbs0, fSext0}, {fS1, fNeg1, fAbs1, fSext1}}[i&1]
	bit := func(id fieldID, on bool) {
		if on {
			l.f[id].put(w, 1)
		}
	}
	c := a.sourceCode(m.text, false)
	bit(ids[0], c < 256)
	bit(ids[1], m.neg)
	bit(ids[2], m.abs)
	bit(ids[3], m.sext)
	if i == 0 {
		a.put(fSrc0, codeSDWA)
		l.f[fSrc0].put(w, c&255)
	} else {
		a.put(fVsrc1, c&255)
	}
}

func selOf(s string) (uint32, bool) {
	for i, n := range selNames[:7] {
		if n == s {
			return uint32(i), true
		}
	}
	return 0, false
}

// sdwaWord encodes the modifiers of an SDWA instruction.
func (a *asm) sdwaWord(w *words) {
	l := a.d.sdwa
	sel := func(name string, id fieldID) {
		s, ok := a.value(name)
		v := uint32(SelDword)
		if ok {
			if v, ok = selOf(s); !ok {
				a.fail(errModifier)
			}
		}
		l.f[id].put(w, v)
	}
	sel("src0_sel", fSel0)
	if len(a.op.Src) > 1 {
		sel("src1_sel", fSel1)
	}
	if a.op.Fmt != VOPC {
		sel("dst_sel", fDstSel)
		unused, ok := a.value("dst_unused")
		switch {
		case !ok || unused == "UNUSED_PAD":
		case unused == "UNUSED_SEXT":
			l.f[fDstUnused].put(w, UnusedSext)
		case unused == "UNUSED_PRESERVE":
			l.f[fDstUnused].put(w, UnusedPreserve)
		default:
			a.fail(errModifier)
		}
		if a.flag("clamp") {
			l.f[fClamp].put(w, 1)
		}
		l.f[fOmod].put(w, a.omod())
	}
	a.tail = append(a.tail, uint32(w.lo))
}

func (a *asm) omod() uint32 {
	switch {
	case a.flag("mul:2"):
		return 1
	case a.flag("mul:4"):
		return 2
	case a.flag("div:2"):
		return 3
	}
	return 0
}

// dppForm returns the layout of the DPP word that the modifiers ask for.
func (a *asm) dppForm(dpp bool) *layout {
	if !dpp {
		return nil
	}
	for _, m := range a.line.mods {
		if strings.HasPrefix(m, "dpp8:") {
			return a.d.dpp8
		}
	}
	return a.d.dpp16
}

// dppSource encodes source i of a 32-bit DPP instruction.
func (a *asm) dppSource(i int, o *opnd, l *layout, w *words) {
	if l == nil {
		a.fail(ErrUnknown)
		return
	}
	m := a.source()
	r, _, _, hi, ok := vectorReg(m.text)
	if !ok || hi && !a.half(o.ty) {
		a.fail(errOperandBad)
	}
	if hi {
		r += 128
	}
	ids := [2][2]fieldID{{fNeg0, fAbs0}, {fNeg1, fAbs1}}[i&1]
	for j, on := range [2]bool{m.neg, m.abs} {
		if on && l.has(ids[j]) {
			l.f[ids[j]].put(w, 1)
		} else if on {
			a.fail(errModifier)
		}
	}
	if i == 0 {
		l.f[fSrc0].put(w, r)
	} else {
		a.put(fVsrc1, r)
	}
}

// dppWord encodes the modifiers of DPP and puts its code into src0.
func (a *asm) dppWord(l *layout, w *words) {
	if l == nil {
		a.fail(ErrUnknown)
		return
	}
	fi := a.number("fi")
	if l == a.d.dpp8 {
		sel, ok := a.list("dpp8")
		if !ok || len(sel) != 8 {
			a.fail(errModifier)
			return
		}
		var v uint32
		for i, s := range sel {
			v |= uint32(s&7) << (3 * i)
		}
		l.f[fSel].put(w, v)
		a.put(fSrc0, codeDPP8+uint32(fi&1))
	} else {
		c, ok := a.dppCtrl()
		if !ok {
			a.fail(errModifier)
		}
		l.f[fCtrl].put(w, c)
		mask := func(name string, id fieldID) {
			v := uint32(15)
			if s, ok := a.value(name); ok {
				x, ok := parseNumber(s)
				if !ok || x < 0 || x > 15 {
					a.fail(errModifier)
				}
				v = uint32(x)
			}
			l.f[id].put(w, v)
		}
		mask("row_mask", fRow)
		mask("bank_mask", fBank)
		if s, ok := a.value("bound_ctrl"); ok {
			l.f[fBc].put(w, 1)
			if s != "1" && s != "0" { // older assemblers write 0 for the bit set
				a.fail(errModifier)
			}
		}
		if fi != 0 {
			if !l.has(fFi) {
				a.fail(errModifier)
			} else {
				l.f[fFi].put(w, 1)
			}
		}
		a.put(fSrc0, codeDPP16)
	}
	a.tail = append(a.tail, uint32(w.lo))
}

// dppCtrl reads the permutation of DPP16.
func (a *asm) dppCtrl() (uint32, bool) {
	if l, ok := a.list("quad_perm"); ok && len(l) == 4 {
		return uint32(l[0]&3 | l[1]&3<<2 | l[2]&3<<4 | l[3]&3<<6), true
	}
	for _, c := range [...]struct {
		name string
		code uint32
	}{{"row_mirror", 0x140}, {"row_half_mirror", 0x141}, {"wave_shl:1", 0x130}, {"wave_rol:1", 0x134}, {"wave_shr:1", 0x138},
		{"wave_ror:1", 0x13c}, {"row_bcast:15", 0x142}, {"row_bcast:31", 0x143}} {
		if a.flag(c.name) {
			return c.code, true
		}
	}
	for _, c := range [...]struct {
		name string
		code uint32
	}{{"row_shl", 0x100}, {"row_shr", 0x110}, {"row_ror", 0x120}, {"row_share", 0x150}, {"row_newbcast", 0x150}, {"row_xmask", 0x160}} {
		if s, ok := a.value(c.name); ok {
			v, ok := parseNumber(s)
			return c.code + uint32(v&15), ok && v >= 0 && v < 16
		}
	}
	return 0, false
}
