package isa

import (
	"strconv"
	"strings"
)

// parseNumber reads a decimal or hexadecimal integer, which may be negative.
func parseNumber(s string) (int64, bool) {
	v, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		u, err := strconv.ParseUint(s, 0, 64)
		return int64(u), err == nil
	}
	return v, true
}

// regRange reads "v5", "v[4:7]": the file's letters, the first number and how many.
func regRange(s, file string) (r, n uint32, ok bool) {
	s, ok = strings.CutPrefix(s, file)
	if !ok || s == "" {
		return 0, 0, false
	}
	if s[0] != '[' {
		v, err := strconv.ParseUint(s, 10, 9)
		return uint32(v), 1, err == nil
	}
	lo, hi, ok := strings.Cut(strings.TrimSuffix(s[1:], "]"), ":")
	x, err1 := strconv.ParseUint(lo, 10, 9)
	y, err2 := strconv.ParseUint(hi, 10, 9)
	if !ok || err1 != nil || err2 != nil || y < x {
		return 0, 0, false
	}
	return uint32(x), uint32(y - x + 1), true
}

// vectorReg reads a vector register; half is true for the high one of a 16-bit pair.
func vectorReg(s string) (r, n uint32, acc, half, ok bool) {
	s = strings.TrimSuffix(s, ".l")
	s, half = strings.CutSuffix(s, ".h")
	if r, n, ok = regRange(s, "v"); ok {
		return r, n, false, half, r+n <= 256
	}
	r, n, ok = regRange(s, "a")
	return r, n, true, half, ok && r+n <= 256
}

// specialRegs are the scalar registers that have names of their own, by canonical number.
var specialRegs = map[string]uint16{"vcc": SRegVCCLo, "vcc_lo": SRegVCCLo, "vcc_hi": SRegVCCHi, "m0": SRegM0, "null": SRegNull,
	"exec": SRegEXECLo, "exec_lo": SRegEXECLo, "exec_hi": SRegEXECHi, "flat_scratch": SRegFlatScratchLo,
	"flat_scratch_lo": SRegFlatScratchLo, "flat_scratch_hi": SRegFlatScratchHi, "xnack_mask": SRegXnackMaskLo,
	"xnack_mask_lo": SRegXnackMaskLo, "xnack_mask_hi": SRegXnackMaskHi}

// scalarReg returns the 7-bit code of a scalar register.
func (d *decoder) scalarReg(s string) (code uint32, ok bool) {
	if c, special := specialRegs[s]; special {
		for i, r := range d.sreg {
			if r == c {
				return uint32(i), true
			}
		}
		return 0, false
	}
	if r, n, ok := regRange(s, "ttmp"); ok {
		return SRegTTMP0 + r, r+n <= 16
	}
	r, n, ok := regRange(s, "s")
	return r, ok && n <= 16 && r <= d.maxSGPR // tuples need not fit: decoding drops low bits
}

var specialCodes = map[string]uint32{"src_shared_base": 235, "src_shared_limit": 236, "src_private_base": 237, "src_private_limit": 238,
	"src_pops_exiting_wave_id": 239, "src_vccz": 251, "src_execz": 252, "src_scc": 253, "src_lds_direct": 254}

var floatCodes = map[string]uint32{"0.5": 240, "-0.5": 241, "1.0": 242, "-1.0": 243, "2.0": 244, "-2.0": 245, "4.0": 246, "-4.0": 247,
	"0.15915494": 248, "0.15915494309189532": 248}

// scalar takes the next operand as a scalar register into a field.
func (a *asm) scalar(id fieldID) {
	c, ok := a.d.scalarReg(a.arg())
	if !ok {
		a.fail(errOperandBad)
	}
	a.put(id, c)
}

// sourceCode returns the 9-bit code of a source; a literal goes to the end of the instruction.
func (a *asm) sourceCode(s string, half bool) uint32 {
	if r, _, _, hi, ok := vectorReg(s); ok {
		switch {
		case hi && !half:
			a.fail(errOperandBad)
		case hi:
			r += 128
		}
		return 256 + r
	}
	if c, ok := a.d.scalarReg(s); ok {
		return c
	}
	if c, ok := specialCodes[s]; ok {
		return c
	}
	if c, ok := floatCodes[s]; ok {
		return c
	}
	v, ok := parseNumber(s)
	if !ok {
		a.fail(errOperandBad)
		return 0
	}
	if !strings.HasPrefix(strings.TrimPrefix(s, "-"), "0x") {
		switch {
		case v >= 0 && v <= 64:
			return uint32(128 + v)
		case v < 0 && v >= -16:
			return uint32(192 - v)
		}
	}
	if a.noLit || a.inline || a.isLit && a.lit != uint32(v) {
		if c, ok := inlineOf(uint32(v)); ok {
			return c
		}
	}
	a.literal(v)
	return 255
}

// inlineOf returns the code of the inline constant with these bits, of 16 or 32. Such constants are
// spelled in hexadecimal where the operand is an integer, like literals.
func inlineOf(v uint32) (uint32, bool) {
	for i := range inlineF16 {
		if v == inlineF16[i] || v == inlineF32[i] || v == inlineBF16[i] {
			return 240 + uint32(i), true
		}
	}
	return 208 - v&15, v >= 0xfffffff0
}

// literal sets the 32-bit literal, of which there is one.
func (a *asm) literal(v int64) {
	x := uint32(v)
	switch {
	case v < -1<<31 || v > 1<<32-1:
		a.fail(errOperandBad)
	case a.isLit && a.lit != x:
		// The text of a 16-bit operand has half of it.
		if x == a.lit&0xffff {
			return
		}
		if a.lit != x&0xffff {
			a.fail(errOperandBad)
		}
	}
	a.lit, a.isLit = x, true
}

// constant takes the next operand as a K constant.
func (a *asm) konst() {
	s := a.arg()
	v, ok := parseNumber(s)
	if c, float := floatCodes[s]; float {
		v, ok = int64(inlineF32[c-240]), true
	}
	if !ok {
		a.fail(errOperandBad)
	}
	a.literal(v)
}

// vector takes the next operand as a vector register; acc says that it is an AccVGPR.
func (a *asm) vector(id fieldID) (acc bool) { return a.putVector(id, a.arg()) }

func (a *asm) putVector(id fieldID, s string) (acc bool) {
	r, _, acc, half, ok := vectorReg(s)
	if !ok || half {
		a.fail(errOperandBad)
	}
	a.put(id, r)
	return acc
}

// modified is an operand without its modifiers.
type modified struct {
	text           string
	neg, abs, sext bool
}

// source takes the next operand apart.
func (a *asm) source() (m modified) {
	s := a.arg()
	if x, ok := strings.CutPrefix(s, "sext("); ok {
		m.sext = true
		s = strings.TrimSuffix(x, ")")
	}
	if x, ok := strings.CutPrefix(s, "neg("); ok {
		m.neg = true
		s = strings.TrimSuffix(x, ")")
	}
	if len(s) > 1 && s[0] == '-' && (s[1] < '0' || s[1] > '9') {
		m.neg = true
		s = s[1:]
	}
	if _, known := floatCodes[s]; !known && s[0:min(1, len(s))] == "-" {
		if _, known := floatCodes[s[1:]]; known { // there is no such constant: the sign is a modifier
			m.neg = true
			s = s[1:]
		}
	}
	if len(s) > 1 && s[0] == '|' && s[len(s)-1] == '|' {
		m.abs = true
		s = s[1 : len(s)-1]
	}
	m.text = s
	return m
}
