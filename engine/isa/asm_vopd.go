package isa

import (
	"errors"
	"strings"
)

// assembleDual encodes a VOPD pair.
func assembleDual(t *Target, x, y string) ([]byte, error) {
	d := t.decoder()
	if d == nil || d.lay[VOPD] == nil || t.maskN == 2 {
		return nil, ErrUnknown
	}
	a := asm{t: t, d: d, l: d.lay[VOPD]}
	pre := field{shift: a.l.preShift, width: a.l.preWidth}
	pre.put(&a.w, a.l.preValue)
	var dst [2]uint32
	for i, s := range [2]string{x, y} {
		name, rest, _ := strings.Cut(s, " ")
		name, ok := strings.CutPrefix(name, "v_dual_")
		tab := d.vopdX[:]
		src0, vsrc1, opField := fSrc0, fVsrc1, fOp
		if i == 1 {
			tab, src0, vsrc1, opField = d.vopdY[:], fSrc0Y, fVsrc1Y, fOpY
		}
		var op *Op
		for code, o := range tab {
			if o != nil && o.Spelling(t) == "v_"+name {
				op = o
				a.put(opField, uint32(code))
				break
			}
		}
		if !ok || op == nil {
			return nil, errors.New("not half of a dual instruction: " + s)
		}
		a.line, a.next, a.used = splitLine(rest), 0, 0
		r, _, _, half, ok := vectorReg(a.arg())
		if !ok || half {
			return nil, errOperandBad
		}
		dst[i] = r
		for j := range op.Src {
			o := &op.attr.src[j]
			switch {
			case o.ty == MaskT:
				if c := a.peek(); c == "vcc" || c == "vcc_lo" {
					a.arg()
				}
			case o.imm == immK:
				a.konst()
			case j == 0:
				a.put(src0, a.sourceCode(a.arg(), false))
			default:
				a.vector(vsrc1)
			}
		}
		if a.err == nil && (a.next < len(a.line.args) || len(a.line.mods) > 0) {
			return nil, errOperandTooMany
		}
	}
	if dst[0]&1 == dst[1]&1 {
		return nil, errors.New("both destinations are odd or both are even")
	}
	a.put(fVdst, dst[0])
	a.put(fVdstY, dst[1]>>1)
	a.line, a.next, a.used = asmLine{}, 0, 0
	return a.finish()
}
