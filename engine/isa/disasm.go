package isa

import (
	"strconv"
)

// Disasm spells one decoded instruction as the LLVM assembler of target t writes it ("v_add_f32_e32 v0, v1, v2"),
// without indentation or comment. Branch offsets stay numbers, as llvm-mc prints them; BranchTarget gives addresses.
// An instruction that did not decode (Op nil) is ".long 0x...".
func Disasm(in *Inst, t *Target, pc uint64) string {
	return string(AppendDisasm(nil, in, t))
}

// BranchTarget returns the address a direct branch at pc goes to.
func BranchTarget(in *Inst, pc uint64) (uint64, bool) {
	if in.Op == nil || in.Op.attr.imm != immLabel {
		return 0, false
	}
	for i := range in.Src[:in.NSrc] {
		if o := &in.Src[i]; o.Kind == OperandImm {
			return pc + uint64(in.Size) + o.Value<<2, true
		}
	}
	return 0, false
}

// printer builds the text of one instruction.
type printer struct {
	b    []byte
	in   *Inst
	t    *Target
	a    *attr
	args int // operands printed so far
}

// AppendDisasm appends the text of Disasm to b.
func AppendDisasm(b []byte, in *Inst, t *Target) []byte {
	if in.Op == nil {
		b = append(b, ".long 0x"...)
		return strconv.AppendUint(b, uint64(in.Raw[0]), 16)
	}
	p := printer{b: b, in: in, t: t, a: &in.Op.attr}
	if in.Fmt == VOPD {
		p.vopd()
		return p.b
	}
	p.str(in.Op.Spelling(t))
	switch in.Fmt {
	case SOP1, SOP2, SOPC, SOPK, SOPP:
		p.salu()
	case SMEM:
		p.smem()
	case VOP1, VOP2, VOPC, VOP3, VOP3P:
		p.valu()
	case DS:
		p.ds()
	case FLAT, GLOBAL, SCRATCH:
		p.flat()
	case MUBUF, MTBUF:
		p.buffer()
	case MIMG, VIMAGE, VSAMPLE:
		p.image()
	default:
		p.graphics()
	}
	return p.b
}

func (p *printer) str(s string) { p.b = append(p.b, s...) }
func (p *printer) dec(v int64)  { p.b = strconv.AppendInt(p.b, v, 10) }
func (p *printer) hex(v uint64) { p.b = strconv.AppendUint(append(p.b, "0x"...), v, 16) }
func (p *printer) bit(on bool, s string) {
	if on {
		p.b = append(append(p.b, ' '), s...)
	}
}

// sep separates an operand from what precedes it.
func (p *printer) sep() {
	if p.args == 0 {
		p.b = append(p.b, ' ')
	} else {
		p.b = append(p.b, ", "...)
	}
	p.args++
}

// arg prints one operand with its separator.
func (p *printer) arg(o *Operand) {
	p.sep()
	p.operand(o)
}

func (p *printer) word(s string) {
	p.sep()
	p.str(s)
}

var specialNames = [...]string{SrcSharedBase: "src_shared_base", SrcSharedLimit: "src_shared_limit",
	SrcPrivateBase: "src_private_base", SrcPrivateLimit: "src_private_limit",
	SrcPopsExitingWaveID: "src_pops_exiting_wave_id", SrcVCCZ: "src_vccz", SrcEXECZ: "src_execz", SrcSCC: "src_scc"}

// operand prints a register or a constant.
func (p *printer) operand(o *Operand) {
	switch o.Kind {
	case OperandSGPR:
		p.sgpr(o.Reg, o.N)
	case OperandVGPR:
		p.reg("v", o.Reg, o.N)
		if o.Hi {
			p.str(".h")
		} else if o.Type == B16 && p.in.Fmt == VOP1 && (p.in.Op.Name == "v_mov_b16" || p.in.Op.Name == "v_swap_b16") {
			p.str(".l") // the only ones of which LLVM 19, or a later one, spells both halves always
		}
	case OperandAcc:
		p.reg("a", o.Reg, o.N)
	case OperandConst, OperandLiteral:
		if o.Hi { // a K constant
			p.hex(o.Value)
			return
		}
		p.constant(o)
	case OperandSpecial:
		p.str(specialNames[o.Reg])
	case OperandLDSDirect:
		p.str("src_lds_direct")
	case OperandImm:
		p.int32(uint32(o.Value))
	default:
		p.str("off")
	}
}

// reg prints "v5" or "v[4:7]".
func (p *printer) reg(file string, r uint16, n uint8) {
	p.str(file)
	if n <= 1 {
		p.dec(int64(r))
		return
	}
	p.b = append(p.b, '[')
	p.dec(int64(r))
	p.b = append(p.b, ':')
	p.dec(int64(r) + int64(n) - 1)
	p.b = append(p.b, ']')
}

// sgpr prints a scalar register by its canonical number.
func (p *printer) sgpr(r uint16, n uint8) {
	pair := func(lo uint16, name string) {
		p.str(name)
		if n == 1 {
			if r == lo {
				p.str("_lo")
			} else {
				p.str("_hi")
			}
		}
	}
	switch {
	case r <= 105:
		p.reg("s", r, n)
	case r <= SRegVCCHi:
		pair(SRegVCCLo, "vcc")
	case r < SRegTTMP0+16:
		p.reg("ttmp", r-SRegTTMP0, n)
	case r == SRegM0:
		p.str("m0")
	case r == SRegNull:
		p.str("null")
	case r <= SRegEXECHi:
		pair(SRegEXECLo, "exec")
	case r == SRegSCC:
		p.str("scc")
	case r <= SRegFlatScratchHi:
		pair(SRegFlatScratchLo, "flat_scratch")
	case r <= SRegXnackMaskHi:
		pair(SRegXnackMaskLo, "xnack_mask")
	default:
		p.str("?")
	}
}

// floatName returns the spelling of a floating constant that is an inline one.
func floatName(v uint64, tab []uint32) string {
	names := [...]string{"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494"}
	for i, x := range tab {
		if uint64(x) == v {
			return names[i]
		}
	}
	return ""
}

// int32 prints a 32-bit immediate as LLVM does: small integers and inline floats by value, others in hexadecimal.
func (p *printer) int32(v uint32) {
	if s := int32(v); s >= -16 && s <= 64 {
		p.dec(int64(s))
		return
	}
	if s := floatName(uint64(v), inlineF32[:]); s != "" {
		p.str(s)
		return
	}
	p.hex(uint64(v))
}

// constant prints an inline constant or literal by the rule of its type.
func (p *printer) constant(o *Operand) {
	v := o.Value
	small := func(s int64) bool {
		if s >= -16 && s <= 64 {
			p.dec(s)
			return true
		}
		return false
	}
	named := func(v uint64, tab []uint32) bool {
		s := floatName(v, tab)
		p.str(s)
		return s != ""
	}
	if p.a.p&pConst32 != 0 && o.Type == B16 {
		if o.Kind == OperandLiteral || !small(int64(int16(v))) && !named(v, inlineF16[:]) {
			p.int32(uint32(v))
		}
		return
	}
	switch o.Type {
	case B16, U16, I16:
		s := int64(int32(v))
		if o.Kind == OperandConst {
			s = int64(int16(v))
		}
		if !small(s) && !named(v, inlineF32[:]) {
			p.hex(v & 0xffff)
		}
	case F16:
		if !small(int64(int16(v))) && !named(v&0xffff, inlineF16[:]) {
			p.hex(v & 0xffff)
		}
	case BF16:
		if !small(int64(int16(v))) && !named(v&0xffff, inlineBF16[:]) {
			p.hex(v)
		}
	case V2F16:
		if !small(int64(int32(v))) && !(v < 1<<16 && named(v, inlineF16[:])) {
			p.hex(v)
		}
	case V2BF16:
		if !small(int64(int32(v))) && !(v < 1<<16 && named(v, inlineBF16[:])) {
			p.hex(v)
		}
	case B64, U64, I64, F64:
		p.const64(o)
	case MaskT:
		if p.t.maskN == 2 {
			p.const64(o)
			return
		}
		p.int32(uint32(v))
	default:
		p.int32(uint32(v))
	}
}

func (p *printer) const64(o *Operand) {
	v := o.Value
	if o.Kind == OperandLiteral && o.Type != F64 {
		v = uint64(uint32(v))
	}
	if s := int64(v); s >= -16 && s <= 64 {
		p.dec(s)
		return
	}
	names := [...]string{"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494309189532"}
	for i, x := range inlineF64 {
		if x == v {
			p.str(names[i])
			return
		}
	}
	if o.Type == F64 {
		v >>= 32
	}
	p.hex(v)
}

// salu prints SOP1, SOP2, SOPC, SOPK and SOPP.
func (p *printer) salu() {
	in := p.in
	if in.Fmt == SOPK && len(in.Op.Dst) == 0 && p.a.imm == immHwreg { // s_setreg: the register comes first
		p.imm(&in.Src[1], immHwreg)
		p.arg(&in.Src[0])
		return
	}
	for i := range in.Dst[:in.NDst] {
		p.arg(&in.Dst[i])
	}
	for i := range in.Src[:in.NSrc] {
		if k := p.a.src[i].imm; k != immNone && k != immK && in.Src[i].Kind == OperandImm {
			p.imm(&in.Src[i], k)
			continue
		}
		p.arg(&in.Src[i])
	}
}

// smem prints scalar memory instructions.
func (p *printer) smem() {
	in := p.in
	switch {
	case in.NDst > 0:
		p.arg(&in.Dst[0])
	case p.a.p&pSdata != 0 && !prefetch(in.Op):
		p.smemData()
	}
	if in.NSrc == 0 {
		return
	}
	if in.Src[0].Kind != OperandNone {
		p.arg(&in.Src[0])
	}
	if p.a.p&pOff == 0 {
		return
	}
	if prefetch(in.Op) {
		p.sep()
		p.signedHex(int64(in.Offset))
		if in.Src[1].Kind == OperandNone {
			p.word("null")
		} else {
			p.arg(&in.Src[1])
		}
		p.smemData()
		return
	}
	if in.Src[1].Kind != OperandNone {
		p.arg(&in.Src[1])
		if in.OffEn && (in.Offset != 0 || p.t.Gen <= GFX940 || p.t.Gen == GFX12) {
			p.str(" offset:")
			p.signedHex(int64(in.Offset))
		}
	} else if in.Offset == 0 && (p.t.Gen == GFX10 || p.t.Gen == GFX11) { // LLVM reads no offset at all as a null register
		p.word("null")
	} else {
		p.sep()
		p.signedHex(int64(in.Offset))
	}
	if p.a.p&pNoCpol == 0 {
		p.cpol()
	}
}

func prefetch(op *Op) bool {
	return op.attr.p&pSdata != 0 && op.Flags&(FlagStore|FlagAtomic) == 0 && op.attr.src[0].imm == imm8 && op.Name[2] != 'a'
}

func (p *printer) smemData() {
	if o := &p.in.Src[2]; o.Kind == OperandImm {
		p.sep()
		p.int32(uint32(o.Value))
	} else {
		p.arg(o)
	}
}

func (p *printer) signedHex(v int64) {
	if v < 0 {
		p.str("-")
		v = -v
	}
	p.hex(uint64(v))
}

// cpol prints the cache policy.
func (p *printer) cpol() {
	in := p.in
	switch {
	case p.t.Gen == GFX12:
		p.cpol12()
		return
	case p.t.Gen == GFX940:
		if in.Fmt == SMEM {
			p.bit(in.GLC, "glc")
		} else {
			p.bit(in.GLC, "sc0")
		}
		p.bit(in.SLC, "nt")
		p.bit(in.SCC, "sc1")
		return
	}
	p.bit(in.GLC, "glc")
	p.bit(in.SLC, "slc")
	p.bit(in.DLC, "dlc")
	p.bit(in.SCC, "scc")
}

func (p *printer) cpol12() {
	th, scope := p.in.CPol>>2, p.in.CPol&3
	if th != 0 {
		p.str(" th:")
		op := p.in.Op
		store := op.Flags&FlagStore != 0
		switch {
		case op.Flags&FlagAtomic != 0:
			p.str("TH_ATOMIC_")
			switch {
			case th&4 != 0 && scope >= 2:
				p.str("CASCADE")
				if th&2 != 0 {
					p.str("_NT")
				} else {
					p.str("_RT")
				}
			case th&4 != 0:
				p.hex(uint64(th) << 0)
			case th&2 != 0:
				p.str("NT")
				if th&1 != 0 {
					p.str("_RETURN")
				}
			case th&1 != 0:
				p.str("RETURN")
			}
		case !store && th == 7:
			p.hex(uint64(th))
		default:
			if store {
				p.str("TH_STORE_")
			} else {
				p.str("TH_LOAD_")
			}
			last := "LU"
			if store {
				last = "RT_WB"
			}
			if scope == 3 {
				last = "BYPASS"
			}
			p.str([...]string{"", "NT", "HT", last, "NT_RT", "RT_NT", "NT_HT", "NT_WB"}[th])
		}
	}
	if scope != 0 {
		p.str(" scope:")
		p.str([...]string{"", "SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS"}[scope])
	}
}

// vopd prints both halves of a dual-issue pair.
func (p *printer) vopd() {
	in := p.in
	half := func(op *Op, d *Operand, src []Operand) {
		p.args = 0
		name := op.Spelling(p.t)
		p.str("v_dual_")
		p.str(name[2:])
		p.arg(d)
		for i := range src {
			if op.attr.src[i].ty == MaskT { // cndmask's VCC is not written
				continue
			}
			p.arg(&src[i])
		}
	}
	half(in.Op, &in.Dst[0], in.Src[:in.NSrc])
	p.str(" :: ")
	half(in.Y, &in.YDst, in.YSrc[:in.NY])
}

// listBits prints name, then n bits of v from the lowest, comma separated, and "]".
func (p *printer) listBits(name string, v uint32, n int) {
	p.str(name)
	for i := 0; i < n; i++ {
		if i > 0 {
			p.b = append(p.b, ',')
		}
		p.dec(int64(v >> i & 1))
	}
	p.b = append(p.b, ']')
}
