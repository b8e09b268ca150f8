package isa

import "strings"

// wmmaWidth returns the registers of an operand of a WMMA or SWMMAC: the tables give wave32's. In wave64 twice the
// lanes hold the same matrix: C and D take half, and from gfx12 on A and B too (gfx11 keeps two copies of them).
func (s *state) wmmaWidth(op *Op, operand int, n uint8) uint8 {
	if s.t.maskN == 1 || op.Flags&FlagMFMA == 0 || s.d.gen < GFX11 {
		return n
	}
	sparse := strings.HasPrefix(op.Name, "v_swmmac")
	switch {
	case operand < 0, operand == 2 && !sparse: // D, C
		return n / 2
	case operand < 2 && s.d.gen >= GFX12:
		return max(n/2, 1)
	}
	return n
}

// wmmaModifiers checks that a WMMA or SWMMAC has modifiers only where it takes them, and reads the sparse index key.
func (s *state) wmmaModifiers(out *Inst) bool {
	name := out.Op.Name
	p := out.Op.attr.p
	sparse := strings.HasPrefix(name, "v_swmmac")
	if s.d.gen == GFX11 {
		if p&pOpSel == 0 {
			out.OpSelHi = 7
			return out.OpSel == 0
		}
		return true
	}
	neg, hi := uint8(7), uint8(7) // the sources that take them
	switch {
	case strings.Contains(name, "_iu"):
		neg, hi = 3, 0
	case strings.Contains(name, "_fp8") || strings.Contains(name, "_bf8"):
		neg, hi = 4, 4
		if sparse {
			neg, hi = 0, 0
		}
	case sparse:
		neg, hi = 3, 3
	}
	keys := uint8(0)
	if sparse {
		keys = 1
		if s.t.maskN == 2 && !strings.HasSuffix(name, "_iu4") {
			keys = 3
		}
		if s.t.maskN == 1 && name == "v_swmmac_i32_16x16x64_iu4" {
			keys = 0
		}
	}
	out.IndexKey = out.OpSel & keys
	ok := out.OpSel&^keys == 0 && out.OpSelHi == 7 && out.Neg&^neg == 0 && out.NegHi&^hi == 0
	out.OpSel = 0
	return ok
}
