package lift

import (
	"errors"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Relative register addressing: v_movrel*, s_movrel*, and gfx9's s_set_gpr_idx mode add an index from M0 to a register
// number. The IR has no such operation; the registers that the index can reach, those that the function names, are
// taken one by one. An index that reaches none reads the first of them and writes nothing.
//
//fidelity: refused isa-gpr-index-modifiers: s_set_gpr_idx mode with SDWA, DPP or packed operands
//fidelity: approximate isa-relative-range: a relative index beyond the registers that the function names reads its base

var errIndexMode = errors.New("s_set_gpr_idx mode with SDWA, DPP or packed operands: not implemented")

// modeGPRIdx is MODE.GPR_IDX_EN, up to gfx9: s_set_gpr_idx mode is on (Vega ISA, "MODE register fields").
const modeGPRIdx = 1 << 27

// gprMode tells whether s_set_gpr_idx mode is on where blocks of the function begin.
func (l *lifter) gprMode() bool { return l.mode&modeGPRIdx != 0 && l.gen <= isa.GFX940 }

// lastVGPR is the highest vector register that the function's code names, or code that is known to surround it.
func (l *lifter) lastVGPR() int {
	if l.maxVGPR >= 0 {
		return l.maxVGPR
	}
	l.maxVGPR = 0
	if s, ok := l.code.src.(Surrounded); ok {
		l.maxVGPR = max(0, min(s.VGPRs(l.pc0), accBase)-1)
	}
	see := func(ops []isa.Operand) {
		for i := range ops {
			if o := &ops[i]; o.Kind == isa.OperandVGPR {
				l.maxVGPR = max(l.maxVGPR, int(o.Reg)+max(int(o.N), 1)-1)
			}
		}
	}
	var in isa.Inst
	l.at.insts(func(off, _ uint32, _ bool) {
		if w := l.code.at(l.addr(off)); w != nil && l.decode(w, &in) == nil {
			switch in.Op.Name {
			case "s_setpc_b64", "s_swappc_b64":
				l.calls = true
			}
			see(in.Src[:in.NSrc])
			see(in.Dst[:in.NDst])
			for _, r := range in.Address() {
				l.maxVGPR = max(l.maxVGPR, int(r.Reg)+int(r.N)-1)
			}
		}
	})
	return l.maxVGPR
}

// indexed is one register of a relatively addressed set: base+i, chosen when the index is i.
func (c *ictx) indexed(idx ir.ID, i int) ir.ID {
	return c.pure(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.EQ}, idx, c.c32(uint32(i)))
}

// vgetRel reads vector register base+idx.
func (c *ictx) vgetRel(base int, idx ir.ID) ir.ID {
	x := c.vget(base)
	for r := base + 1; r <= c.lastVGPR(); r++ {
		x = c.opx(ir.OpSelect, ir.V32, c.indexed(idx, r-base), c.vget(r), x)
	}
	return x
}

// vsetRel queues the write of vector register base+idx.
func (c *ictx) vsetRel(base int, idx, x ir.ID) {
	t := c.maskScalar()
	for r := base; r <= c.lastVGPR(); r++ {
		on := c.opx(ir.OpSelect, t, c.indexed(idx, r-base), c.c(t, ^uint64(0)), c.c(t, 0))
		m := c.opx(ir.OpMAnd, ir.M, c.mask, c.opx(ir.OpSToM, ir.M, on))
		c.out = append(c.out, write{kind: writeV, reg: r, x: x, mask: m})
	}
}

// sgetRel reads scalar register base+idx.
func (c *ictx) sgetRel(base int, idx ir.ID) ir.ID {
	x := c.sget(base)
	for r := base + 1; r < isa.SRegVCCLo; r++ {
		x = c.opx(ir.OpSelect, ir.S32, c.indexed(idx, r-base), c.sget(r), x)
	}
	return x
}

// ssetRel queues the write of scalar registers base+idx and on.
func (c *ictx) ssetRel(base int, idx ir.ID, x []ir.ID) {
	for r := base; r < isa.SRegVCCLo; r++ {
		y := c.sget(r)
		for k, v := range x {
			if r-k >= base {
				y = c.opx(ir.OpSelect, ir.S32, c.indexed(idx, r-k-base), v, y)
			}
		}
		c.out = append(c.out, write{kind: writeS, reg: r, x: y})
	}
}

// twoIndices are those of the source and of the destination in M0 (RDNA manuals, "V_MOVRELSD_2_B32").
func (c *ictx) twoIndices(m0 ir.ID) (s, d ir.ID) {
	return c.opx(ir.OpAnd, ir.S32, m0, c.c32(0x3ff)), c.opx(ir.OpAnd, ir.S32, c.opx(ir.OpLShr, ir.S32, m0, c.c32(16)), c.c32(0x3ff))
}

func addRelativeRules(r map[string]rule) {
	r["movrel"] = movrelRule
	r["smovrel"] = smovrelRule
	r["gpridx"] = gprIdxRule
}

// relativeOperands are a relative move's destination and sources; nil when there are not both.
func (c *ictx) relativeOperands() (dst *isa.Operand, src []isa.Operand) {
	s, d := c.in.Src[:c.in.NSrc], c.in.Dst[:c.in.NDst]
	switch { // the table may list a relative destination as a source
	case len(d) > 0:
		dst = &d[0]
	case len(s) > 1:
		dst, s = &s[0], s[1:]
	}
	if len(s) == 0 {
		return nil, nil
	}
	return dst, s
}

// movrelRule is v_movrel*_b32 and v_swaprel_b32.
func movrelRule(c *ictx, args []string) error {
	dst, s := c.relativeOperands()
	if dst == nil || dst.Kind != isa.OperandVGPR {
		return errOperand
	}
	m0 := c.sget(isa.SRegM0)
	si, di := m0, m0
	if args[0] == "sd2" || args[0] == "swap" { // two indices in M0
		si, di = c.twoIndices(m0)
	}
	x := ir.NoID
	switch {
	case args[0] != "d" && s[0].Kind == isa.OperandVGPR:
		x = c.vgetRel(int(s[0].Reg), si)
	case args[0] != "d":
		return errOperand
	default:
		x = c.reg(&s[0], 0, false)
	}
	switch args[0] {
	case "s":
		c.writeV(int(dst.Reg), x)
	case "swap": // the sources' place last: it has the old destination should both be one register
		y := c.vgetRel(int(dst.Reg), di)
		c.vsetRel(int(dst.Reg), di, x)
		c.vsetRel(int(s[0].Reg), si, y)
	default:
		c.vsetRel(int(dst.Reg), di, x)
	}
	return nil
}

// smovrelRule is s_movrel*.
func smovrelRule(c *ictx, args []string) error {
	n := 1
	if args[1] == "b64" {
		n = 2
	}
	dst, s := c.relativeOperands()
	if dst == nil || dst.Kind != isa.OperandSGPR {
		return errOperand
	}
	m0 := c.sget(isa.SRegM0)
	si, di := m0, m0
	if args[0] == "sd2" {
		si, di = c.twoIndices(m0)
	}
	var x []ir.ID
	for k := range n {
		switch {
		case args[0] == "d":
			x = append(x, c.reg(&s[0], k, false))
		case s[0].Kind == isa.OperandSGPR:
			x = append(x, c.sgetRel(int(s[0].Reg)+k, si))
		default:
			return errOperand
		}
	}
	if args[0] != "s" {
		c.ssetRel(int(dst.Reg), di, x)
		return nil
	}
	for k, v := range x {
		c.out = append(c.out, write{kind: writeS, reg: int(dst.Reg) + k, x: v})
	}
	return nil
}

// setM0 queues the write of M0 with the bits of keep as they are, the low eight of x where there is one, and bits.
func (c *ictx) setM0(keep, bits uint32, x ir.ID) {
	m := c.opx(ir.OpAnd, ir.S32, c.sget(isa.SRegM0), c.c32(keep))
	if x != ir.NoID {
		m = c.opx(ir.OpOr, ir.S32, m, c.opx(ir.OpAnd, ir.S32, x, c.c32(0xff)))
	}
	m = c.opx(ir.OpOr, ir.S32, m, c.c32(bits))
	c.out = append(c.out, write{kind: writeS, reg: isa.SRegM0, x: m})
}

// setGPRMode queues the write of MODE.GPR_IDX_EN.
func (c *ictx) setGPRMode(on bool) {
	m := c.opx(ir.OpAnd, ir.S32, c.sget(isa.SRegMODE), c.c32(^uint32(modeGPRIdx)))
	if on {
		m = c.opx(ir.OpOr, ir.S32, m, c.c32(modeGPRIdx))
	}
	c.out = append(c.out, write{kind: writeS, reg: isa.SRegMODE, x: m})
	c.gprOn = on
}

// gprIdxRule is s_set_gpr_idx_*: M0[7:0] is the index, M0[15:12] says for which operands (sources 0, 1, 2, destination). The mode is a bit of MODE; a
// function follows it through a block, and leaves where a block would end in another mode than it began.
func gprIdxRule(c *ictx, args []string) error {
	en, anyOps := c.gprIdx, c.gprAny
	switch args[0] {
	case "on":
		en, anyOps = uint8(c.in.Raw[0]>>8&15), false
		c.setM0(0xffff0f00, uint32(en)<<12, c.reg(&c.src[0], 0, false))
		c.setGPRMode(true)
	case "idx":
		c.setM0(0xffffff00, 0, c.reg(&c.src[0], 0, false))
	case "mode":
		en, anyOps = uint8(c.in.Raw[0]&15), false
		c.setM0(0xffff0fff, uint32(en)<<12, ir.NoID)
	case "off":
		c.setGPRMode(false)
	}
	c.flush() // a write of M0 by anybody else makes its enables unknown
	c.gprIdx, c.gprAny = en, anyOps
	return nil
}

// gprIndex is what s_set_gpr_idx mode adds to the number of an instruction's source i, or of its destination, which is 3; ok is false when that is
// surely nothing.
func (c *ictx) gprIndex(i int) (idx ir.ID, ok bool) {
	if !c.gprOn || !c.vec || !c.gprAny && c.gprIdx>>i&1 == 0 {
		return ir.NoID, false
	}
	m0 := c.sget(isa.SRegM0)
	idx = c.opx(ir.OpAnd, ir.S32, m0, c.c32(0xff))
	if c.gprAny {
		on := c.opx(ir.OpSToB, ir.S1, c.opx(ir.OpAnd, ir.S32, c.opx(ir.OpLShr, ir.S32, m0, c.c32(uint32(12+i))), c.c32(1)))
		idx = c.opx(ir.OpSelect, ir.S32, on, idx, c.c32(0))
	}
	return idx, true
}
