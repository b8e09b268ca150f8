package isa

// sdst decodes a 7-bit scalar register code (a destination, or a source that cannot be a constant) of n dwords. A
// MaskT operand takes the wave's mask width.
func (s *state) sdst(code uint32, ty DataType, n uint8, o *Operand) bool {
	if code > 127 {
		return s.src(code, ty, n, o) && o.Kind == OperandSGPR
	}
	if ty == MaskT {
		n = s.t.maskN
	}
	r, ok := s.d.scalar(code, n)
	*o = Operand{Kind: OperandSGPR, Type: ty, Reg: r, N: n}
	return ok
}

// scalar maps a scalar code to the canonical register number of an n-dword operand. Tuples are aligned as hardware
// aligns them: low bits of the code are dropped.
func (d *decoder) scalar(code uint32, n uint8) (uint16, bool) {
	r := d.sreg[code]
	if n == 1 {
		return r, r != badSReg
	}
	if code >= SRegTTMP0 && code < SRegTTMP0+16 {
		if n == 2 {
			return r &^ 1, true
		}
		r &^= 3
		return r, uint32(r)+uint32(n) <= SRegTTMP0+16
	}
	if code <= d.maxSGPR {
		if n == 2 {
			return r &^ 1, true
		}
		r &^= 3
		return r, uint32(r)+uint32(n) <= 106
	}
	if r == SRegNull && d.gen >= GFX12 {
		return r, true
	}
	if n != 2 || r == badSReg {
		return 0, false
	}
	switch r {
	case SRegFlatScratchLo, SRegXnackMaskLo, SRegVCCLo, SRegNull, SRegEXECLo:
		return r, true
	}
	return 0, false
}

// inline holds the bits of the inline floating-point constants 240..248.
var inlineF32 = [9]uint32{0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983}
var inlineF16 = [9]uint32{0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118}
var inlineBF16 = [9]uint32{0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4080, 0xc080, 0x3e22}
var inlineF64 = [9]uint64{0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000, 0xbff0000000000000,
	0x4000000000000000, 0xc000000000000000, 0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882}

// constBits returns the width in bits that an inline constant of the type has: 16, 32 or 64.
func constBits(ty DataType) uint8 {
	switch ty {
	case B16, U16, I16, F16, BF16:
		return 16
	case B64, U64, I64, F64:
		return 64
	}
	return 32
}

// inlineInt returns the bits of an inline integer.
func inlineInt(v int64, ty DataType) uint64 {
	switch constBits(ty) {
	case 16:
		return uint64(uint16(v))
	case 64:
		return uint64(v)
	}
	return uint64(uint32(v))
}

// inlineFloat returns the bits of inline constant 240+i.
func inlineFloat(i uint32, ty DataType) uint64 {
	switch ty {
	case BF16, V2BF16:
		return uint64(inlineBF16[i])
	case F16, V2F16, B16, U16, I16:
		return uint64(inlineF16[i])
	case B64, U64, I64, F64:
		return inlineF64[i]
	}
	return uint64(inlineF32[i])
}

// src decodes a 9-bit source code: a VGPR, a scalar register, a constant, a special value or a literal.
func (s *state) src(code uint32, ty DataType, n uint8, o *Operand) bool {
	if code >= 256 {
		*o = Operand{Kind: OperandVGPR, Type: ty, Reg: uint16(code - 256), N: n}
		return code-256+uint32(n) <= 256
	}
	if code < 128 {
		return s.sdst(code, ty, n, o)
	}
	switch {
	case code <= 192:
		*o = Operand{Kind: OperandConst, Type: ty, Value: inlineInt(int64(code)-128, ty)}
		return true
	case code <= 208:
		*o = Operand{Kind: OperandConst, Type: ty, Value: inlineInt(192-int64(code), ty)}
		return true
	case code >= 240 && code <= 248:
		*o = Operand{Kind: OperandConst, Type: ty, Value: inlineFloat(code-240, ty)}
		return true
	case code == 255:
		if !s.literal() {
			s.lit = ^uint32(0)
			return false
		}
		v := uint64(s.lit)
		switch ty {
		case F64:
			v <<= 32
		case I64:
			v = uint64(int64(int32(s.lit)))
		}
		*o = Operand{Kind: OperandLiteral, Type: ty, Value: v}
		return true
	}
	if n > 2 {
		return false
	}
	var sp Special
	switch code {
	case 235:
		sp = SrcSharedBase
	case 236:
		sp = SrcSharedLimit
	case 237:
		sp = SrcPrivateBase
	case 238:
		sp = SrcPrivateLimit
	case 239:
		sp = SrcPopsExitingWaveID
	case 251:
		sp = SrcVCCZ
	case 252:
		sp = SrcEXECZ
	case 253:
		sp = SrcSCC
	case 254:
		*o = Operand{Kind: OperandLDSDirect, Type: ty, N: n}
		return n == 1
	default:
		return false
	}
	*o = Operand{Kind: OperandSpecial, Type: ty, Reg: uint16(sp), N: n}
	return true
}

// vgpr makes a vector register operand; false when the tuple leaves the file.
func vgpr(r uint32, ty DataType, n uint8, acc bool, o *Operand) bool {
	k := OperandVGPR
	if acc {
		k = OperandAcc
	}
	*o = Operand{Kind: k, Type: ty, Reg: uint16(r), N: n}
	return r+uint32(n) <= 256
}

// konst makes the operand of a K constant: a literal that is part of the encoding. Spelling it is always hexadecimal,
// which Hi marks.
func (s *state) konst(ty DataType) Operand {
	return Operand{Kind: OperandLiteral, Type: ty, Value: uint64(s.lit), Hi: true}
}
