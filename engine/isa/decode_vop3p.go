package isa

import (
	"encoding/binary"
	"strings"
)

// vop3p decodes packed math, dot products and matrix instructions.
func (s *state) vop3p(out *Inst) error {
	op := out.Op
	a := &op.attr
	if s.l.has(fAcc) && (a.p&pCbsz != 0 || op.Flags&FlagMFMA != 0 || a.dst[0].file == 'a' || op.Name == "v_accvgpr_read_b32") {
		return s.mai(out)
	}
	if !s.vop3Dst(out) {
		return ErrReserved
	}
	if err := s.sources64(out); err != nil {
		return err
	}
	out.Neg, out.NegHi = uint8(s.get(fNeg)), uint8(s.get(fNegHi))
	out.OpSel, out.OpSelHi = uint8(s.get(fOpSel)), uint8(s.get(fOpSelHi))
	out.Clamp = a.p&pClamp != 0 && s.flag(fClamp)
	if op.Flags&FlagMFMA != 0 {
		if !s.wmmaModifiers(out) {
			return ErrReserved
		}
	} else if strings.HasPrefix(op.Name, "v_dot4_f32_") && ((out.Neg|out.NegHi)&3 != 0 || out.OpSel != 0 || out.OpSelHi != 7) {
		return ErrReserved // only the accumulator has modifiers
	}
	if a.mods[0] == modFP { // the mix instructions: neg_hi holds abs
		out.Abs, out.NegHi = out.NegHi, 0
	}
	return nil
}

// mai decodes CDNA matrix instructions and the accumulation register moves.
func (s *state) mai(out *Inst) error {
	op := out.Op
	a := &op.attr
	cd := s.flag(fAccCD)
	acc := s.get(fAcc)
	if !s.d.is90a {
		cd = true // a separate file: C and D are always in it
	}
	write, read := a.dst[0].file == 'a', op.Name == "v_accvgpr_read_b32"
	if write || read {
		cd = write
	}
	o := &a.dst[0]
	out.NDst = 1
	if !vgpr(s.get(fVdst), o.ty, o.n, cd, &out.Dst[0]) {
		return ErrReserved
	}
	n := valuSources(op)
	out.NSrc = uint8(n)
	srcs := [3]fieldID{fSrc0, fSrc1, fSrc2}
	out.CBSZ, out.BLGP = uint8(s.get(fCbsz)), uint8(s.get(fBlgp))
	for i := 0; i < n; i++ {
		o := a.src[i]
		if a.p&pF8F6F4 != 0 && i < 2 {
			if o.n = f8f6f4Width([2]uint8{out.CBSZ, out.BLGP}[i]); o.n == 0 {
				return ErrReserved
			}
		}
		code := s.get(srcs[i])
		inAcc := i < 2 && acc>>i&1 != 0 || i == 2 && cd && op.Flags&FlagReadsDst == 0
		switch {
		case write:
			inAcc = false
		case read:
			inAcc = true
		}
		switch {
		case code >= 256:
			if !vgpr(code-256, o.ty, o.n, inAcc, &out.Src[i]) {
				return ErrReserved
			}
		case (i == 2 || write) && code != 255:
			if !s.src(code, o.ty, o.n, &out.Src[i]) || i == 2 && out.Src[i].Kind != OperandConst {
				return ErrReserved
			}
		default:
			return ErrReserved
		}
	}
	if write || read {
		out.CBSZ, out.BLGP = 0, 0
	} else {
		out.ABID = uint8(s.get(fAbid))
	}
	return nil
}

// f8f6f4Width returns the registers of a matrix operand of 32 elements by its format (0 FP8, 1 BF8, 2 FP6, 3 BF6, 4 FP4), 0 for one that
// does not exist.
func f8f6f4Width(format uint8) uint8 {
	return [8]uint8{8, 8, 6, 6, 4}[format&7]
}

// The instruction that loads the scales of A and B is the first half of a v_mfma_scale, which the tables hold under the second half's
// opcode plus scaledMFMA.
const (
	opLoadScale = 0x2c
	scaledMFMA  = 0x80
)

// scaled decodes a v_mfma_scale when the words at the cursor are its first half, and says whether they are.
func (s *state) scaled(out *Inst) bool {
	if s.d.lookup(VOP3P, opLoadScale) == nil || len(s.code) < 16 {
		return false
	}
	first := *s
	second := words{lo: binary.LittleEndian.Uint64(s.code[8:])}
	if s.d.one[uint32(second.lo)>>22] != s.l {
		return false
	}
	s.w = second
	e := s.d.lookup(VOP3P, s.get(fOp)|scaledMFMA)
	if e == nil || second.lo&e.mbz.lo != 0 || s.get(fAbid) != 1 {
		*s = first
		return false
	}
	in := Inst{Op: e.op, Fmt: VOP3P}
	ok := s.mai(&in) == nil
	s.w = first.w
	for i, id := range [2]fieldID{fSrc0, fSrc1} {
		ok = ok && s.get(id) != 255 && s.src(s.get(id), B32, 1, &in.YSrc[i])
	}
	if !ok {
		*s = first
		return false
	}
	in.ABID, in.NY = 0, 2
	in.OpSel, in.OpSelHi = uint8(s.get(fOpSel)), uint8(s.get(fOpSelHi))
	*out = in
	s.size = 16
	return true
}
