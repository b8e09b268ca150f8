package lift

import (
	"fmt"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// permute is what a DPP encoding does to source 0 and to the result.
type permute struct {
	lane  [64]int8 // source lane of each lane, -1 where there is none
	valid ir.ID    // M: the source lane exists and may be read
	zero  bool     // bound_ctrl: an invalid source reads 0 (else its lane is not written)
	all   bool     // every lane's source is valid
}

// dppPattern fills in the source lanes of a DPP16 control.
func dppPattern(ctrl uint16, lanes int, gfx9 bool, lane *[64]int8) error {
	row := func(f func(i int) int) {
		for l := range lanes {
			if s := f(l & 15); s >= 0 && s < 16 {
				lane[l] = int8(l&^15 | s)
			} else {
				lane[l] = -1
			}
		}
	}
	wave := func(f func(l int) int) {
		for l := range lanes {
			if s := f(l); s >= 0 && s < lanes {
				lane[l] = int8(s)
			} else {
				lane[l] = -1
			}
		}
	}
	n := int(ctrl & 15)
	switch {
	case ctrl <= 0xff:
		wave(func(l int) int { return l&^3 | int(ctrl)>>(2*(l&3))&3 })
	case ctrl >= 0x101 && ctrl <= 0x10f: // row_shl
		row(func(i int) int { return i + n })
	case ctrl >= 0x111 && ctrl <= 0x11f: // row_shr
		row(func(i int) int { return i - n })
	case ctrl >= 0x121 && ctrl <= 0x12f: // row_ror
		row(func(i int) int { return (i - n) & 15 })
	case ctrl == 0x130 && gfx9: // wave_shl:1
		wave(func(l int) int { return l + 1 })
	case ctrl == 0x134 && gfx9: // wave_rol:1
		wave(func(l int) int { return (l + 1) & (lanes - 1) })
	case ctrl == 0x138 && gfx9: // wave_shr:1
		wave(func(l int) int { return l - 1 })
	case ctrl == 0x13c && gfx9: // wave_ror:1
		wave(func(l int) int { return (l - 1) & (lanes - 1) })
	case ctrl == 0x140: // row_mirror
		row(func(i int) int { return 15 - i })
	case ctrl == 0x141: // row_half_mirror
		row(func(i int) int { return i ^ 7 })
	case ctrl == 0x142 && gfx9: // row_bcast:15, lane 15 of each row to the next row
		wave(func(l int) int { return l&^15 - 1 })
	case ctrl == 0x143 && gfx9: // row_bcast:31, lane 31 to rows 2 and 3
		wave(func(l int) int { return l&^31 - 1 })
	case ctrl >= 0x150 && ctrl <= 0x15f: // row_newbcast (gfx90a), row_share (gfx10)
		row(func(int) int { return n })
	case ctrl >= 0x160 && ctrl <= 0x16f && !gfx9: // row_xmask
		row(func(i int) int { return i ^ n })
	default:
		return fmt.Errorf("reserved DPP control %#x", ctrl)
	}
	return nil
}

// setDPP prepares c for the instruction's DPP encoding: the permute of source 0 and the lanes that are written.
func (c *ictx) setDPP() error {
	in := c.in
	if in.DPP == isa.NoDPP {
		return nil
	}
	p := &permute{}
	for i := range p.lane {
		p.lane[i] = -1
	}
	write := c.full()
	if in.DPP == isa.DPP8 {
		for l := range c.lanes {
			p.lane[l] = int8(l&^7 | int(in.DPP8Sel>>(3*(l&7))&7))
		}
		p.zero = true // an inactive source reads 0, or its value with FI
	} else {
		if err := dppPattern(in.DPPCtrl, c.lanes, c.gen <= isa.GFX940, &p.lane); err != nil {
			return err
		}
		p.zero = in.BoundCtrl
		for l := range c.lanes {
			if in.RowMask>>(l/16)&1 == 0 || in.BankMask>>(l/4&3)&1 == 0 {
				write &^= 1 << l
			}
		}
	}
	static := uint64(0)
	for l := range c.lanes {
		if p.lane[l] >= 0 {
			static |= 1 << l
		}
	}
	exec := c.exec()
	if in.FI || c.isConst(exec, c.full()) {
		p.valid = c.c(ir.M, static)
		p.all = static == c.full()
	} else {
		lanes := p.lane
		p.valid = c.raw(ir.Value{Op: ir.OpMPerm, Type: ir.M, Aux: &lanes}, exec)
	}
	c.mask = c.opx(ir.OpMAnd, ir.M, c.mask, c.c(ir.M, write))
	if !p.zero {
		c.mask = c.opx(ir.OpMAnd, ir.M, c.mask, p.valid)
	}
	c.dpp = p
	return nil
}

// permuted is x seen through the DPP permute.
func (c *ictx) permuted(x ir.ID) ir.ID {
	if !isVec(c.typ(x)) && !c.isOp(x, ir.OpConst) {
		// A uniform value: the permute cannot tell, but for lanes whose source is invalid.
		if !c.dpp.zero || c.dpp.all {
			return x
		}
		return c.opx(ir.OpSelect, ir.V32, c.dpp.valid, x, c.c32(0))
	}
	lanes := c.dpp.lane
	x = c.raw(ir.Value{Op: ir.OpPermConst, Type: ir.V32, Aux: &lanes}, x)
	if c.dpp.zero && !c.dpp.all && !c.isOp(c.dpp.valid, ir.OpConst) {
		x = c.opx(ir.OpSelect, ir.V32, c.dpp.valid, x, c.c32(0))
	}
	return x
}
