package isa

import "strings"

// sources64 encodes the sources of a 64-bit encoding, the first in the DPP word if there is one, and returns their modifiers, which are refused
// unless the instruction has them (mods).
func (a *asm) sources64(mods bool) (neg, abs uint32, ok bool) {
	dpp := a.form == formVOP3DPP
	a.noLit = dpp || !a.d.lit64
	l := a.dppForm(dpp)
	var second words
	for i, id := range srcFields[:min(valuSources(a.op), 3)] {
		m := a.source()
		if (m.neg || m.abs) && !mods {
			a.fail(errModifier)
		}
		if m.neg {
			neg |= 1 << i
		}
		if m.abs {
			abs |= 1 << i
		}
		c := a.sourceCode(a.halfOf(m.text, i, a.op.attr.src[i].ty), false)
		if i == 0 && dpp {
			if l == nil || c < 256 {
				a.fail(errOperandBad)
				return 0, 0, false
			}
			l.f[fSrc0].put(&second, c-256)
			continue
		}
		a.put(id, c)
	}
	if dpp {
		a.dppWord(l, &second)
	}
	return neg, abs, true
}

// vop3 encodes the 64-bit vector encoding.
func (a *asm) vop3() {
	op, at := a.op, &a.op.attr
	if op.Fmt == VOP3 && (at.imm == immAttr || at.imm == immSlot) {
		a.interp64()
		return
	}
	a.vop3Dst()
	n := valuSources(op)
	neg, abs, ok := a.sources64(true)
	if !ok {
		return
	}
	threeB := op.Fmt != VOPC && len(op.Dst) == 2 && at.dst[1].ty == MaskT
	a.put(fNeg, neg)
	if abs != 0 || !threeB {
		a.put(fAbs, abs)
	}
	if at.p&pOpSel != 0 && !threeB || a.d.gen >= GFX11 && op.hasHalves() {
		a.opSel64(n)
	}
	if at.p&pBitop3 != 0 {
		v := uint32(a.number("bitop3"))
		a.put(fOmod, v>>6)
		a.put(fAbs, v>>3&7)
		a.put(fNeg, v&7)
	}
	if at.p&pFIBC != 0 {
		a.put(fOpSel, uint32(a.number("fi")&1|a.number("bound_ctrl")&1<<1))
	}
	if a.flag("clamp") {
		a.put(fClamp, 1)
	}
	if o := a.omod(); o != 0 {
		a.put(fOmod, o)
	}
	if v := uint32(a.number("byte_sel")); v != 0 {
		if n > 1 {
			a.put(fOpSel, v<<2)
		} else {
			a.put(fOpSel, v>>1|v&1<<1)
		}
	}
}

// vop3Dst takes the destinations of a VOP3 or VOP3P.
func (a *asm) vop3Dst() {
	op, at := a.op, &a.op.attr
	switch {
	case op.Fmt == VOPC:
		if silentEXEC(op, a.t) {
			a.put(fVdst, SRegEXECLo)
			return
		}
		a.scalar(fVdst)
	case len(op.Dst) == 0:
	case at.dst[0].file == 's':
		a.scalar(fVdst)
	default:
		a.putVector(fVdst, a.halfOf(a.arg(), 3, at.dst[0].ty))
	}
	if len(op.Dst) == 2 && at.dst[1].ty == MaskT {
		a.scalar(fSdst)
	}
}

// halfOf takes the half off a register that op_sel can choose one of (v1.l, v1.h) and remembers it as bit i of op_sel. LLVM writes both
// from version 21 on, and op_sel behind.
func (a *asm) halfOf(s string, i int, ty DataType) string {
	if a.op.Fmt == VOP3P || a.t.Gen < GFX11 || !is16(ty) && a.op.attr.p&(pOpSel|pHalf2) == 0 {
		return s
	}
	if r, ok := strings.CutSuffix(s, ".h"); ok {
		a.high |= 1 << i
		return r
	}
	return strings.TrimSuffix(s, ".l")
}

// opSel64 encodes op_sel of a VOP3: one bit a source, then the destination's.
func (a *asm) opSel64(n int) {
	v, bits := a.listBits("op_sel")
	if bits == 0 {
		if a.high != 0 {
			a.put(fOpSel, a.high)
		}
		return
	}
	if bits == 2 && strings.Contains(a.op.Name, "permlane") {
		a.put(fOpSel, v)
		return
	}
	if a.op.attr.mods[2] != modNone {
		n = 3
	}
	want := n + 1
	if silentEXEC(a.op, a.t) {
		want = n
	}
	if bits != want {
		a.fail(errModifier)
		return
	}
	a.put(fOpSel, v&(1<<n-1)|v>>n<<3|a.high)
}

// interp64 encodes the interpolation instructions that are VOP3.
func (a *asm) interp64() {
	op := a.op
	a.vector(fVdst)
	var c0, neg, abs uint32
	slot := 0
	for i := range op.Src {
		if op.attr.src[i].imm == immSlot {
			a.put(fSrc1, a.imm(immSlot))
			slot = 1
		}
	}
	attr := func() {
		at, ch := a.attribute()
		c0 |= at | ch<<6
	}
	k := slot
	for i := range op.Src {
		if op.attr.src[i].imm != immNone {
			continue
		}
		m := a.source()
		if n, ok := parseNumber(m.text); ok && (n < -16 && n >= -64 || m.text == "-0") { // the sign is a modifier: there are no such constants
			m.text, m.neg = m.text[1:], true
		}
		id := fSrc1
		if k == 1 {
			id = fSrc2
		}
		if m.neg {
			neg |= 2 << k
		}
		if m.abs {
			abs |= 2 << k
		}
		a.put(id, a.sourceCode(m.text, false))
		if k == slot {
			attr()
		}
		k++
	}
	if k == slot {
		attr()
	}
	if a.flag("high") {
		c0 |= 1 << 8
	}
	a.put(fSrc0, c0)
	a.put(fNeg, neg)
	a.put(fAbs, abs)
	if a.flag("clamp") {
		a.put(fClamp, 1)
	}
	if o := a.omod(); o != 0 {
		a.put(fOmod, o)
	}
}

// attribute takes an operand like attr3.y.
func (a *asm) attribute() (attr, ch uint32) {
	s, ok := strings.CutPrefix(a.arg(), "attr")
	n, c, ok2 := strings.Cut(s, ".")
	v, ok3 := parseNumber(n)
	i := strings.Index("xyzw", c)
	if !ok || !ok2 || !ok3 || len(c) != 1 || i < 0 {
		a.fail(errOperandBad)
		return 0, 0
	}
	return uint32(v), uint32(i)
}
