package isa

// suffix prints the encoding suffix of a vector ALU instruction.
func (p *printer) suffix() {
	in := p.in
	native := in.Op.Fmt == VOP3 || in.Op.Fmt == VOP3P
	switch {
	case len(in.Op.Dst) == 0 && len(in.Op.Src) == 0: // v_nop and its like have no suffix
	case (in.Fmt == VOP3 || in.Fmt == VOP3P) && in.DPP != NoDPP:
		p.str("_e64_dpp")
	case in.Fmt == VOP3 && (!native || interp(in.Op) && p.a.p&pHigh == 0 && len(in.Op.Src) < 4 && in.Op.Name[len(in.Op.Name)-3:] == "f32"):
		p.str("_e64")
	case in.Fmt == VOP3 || in.Fmt == VOP3P:
	case in.SDWA:
		p.str("_sdwa")
	case in.DPP != NoDPP && in.Op.Fmt == VOPC: // gfx11+ spells these without a suffix
	case in.DPP != NoDPP:
		p.str("_dpp")
	case in.Op.Name == "v_pk_fmac_f16" && p.t.Gen >= GFX10:
	case p.a.p&(pNo64|pE32) != pNo64:
		p.str("_e32")
	}
}

// valu prints VOP1, VOP2, VOPC, VOP3 and VOP3P in all their encodings.
func (p *printer) valu() {
	in := p.in
	p.suffix()
	n := in.NDst
	if in.Dst[0].Reg == SRegEXECLo && silentEXEC(in.Op, p.t) {
		n = 0
	}
	if p.a.dst[1].file == 'w' {
		n = 1
	}
	for i := range in.Dst[:n] {
		p.arg(&in.Dst[i])
	}
	if p.a.imm == immAttr || p.a.imm == immSlot {
		p.interp64()
		return
	}
	for i := range in.Src[:in.NSrc] {
		p.sep()
		p.source(i)
	}
	if in.SDWA {
		p.sdwa()
		return
	}
	for i := range in.YSrc[:in.NY] { // the scales of a v_mfma_scale
		p.arg(&in.YSrc[i])
	}
	switch in.Fmt {
	case VOP3:
		p.mods64()
	case VOP3P:
		p.mods3p()
	}
	switch in.DPP {
	case DPP16:
		p.dpp16()
	case DPP8:
		p.dpp8()
	}
}

// source prints a source with its neg, abs and sext.
func (p *printer) source(i int) {
	in := p.in
	o := &in.Src[i]
	if i < 2 && in.SDWA && in.SrcSext>>i&1 != 0 {
		p.str("sext(")
		p.operand(o)
		p.str(")")
		return
	}
	if in.Fmt == VOP3P && p.a.mods[0] != modFP {
		p.operand(o)
		return
	}
	neg, abs := in.Neg>>i&1 != 0, in.Abs>>i&1 != 0
	paren := neg && !abs && (o.Kind == OperandConst || o.Kind == OperandLiteral)
	switch {
	case paren:
		p.str("neg(")
	case neg:
		p.str("-")
	}
	if abs {
		p.str("|")
	}
	p.operand(o)
	if abs {
		p.str("|")
	}
	if paren {
		p.str(")")
	}
}

// mods64 prints what follows the operands of a VOP3.
func (p *printer) mods64() {
	in := p.in
	if in.Bitop3 != 0 {
		if p.str(" bitop3:"); in.Bitop3 <= 10 {
			p.dec(int64(in.Bitop3))
		} else {
			p.hex(uint64(in.Bitop3))
		}
	}
	if p.a.p&pOpSel != 0 || in.halved() {
		n := valuSources(in.Op)
		if p.a.mods[2] != modNone { // accumulators count, though they are not spelled
			n = 3
		}
		v := uint32(in.OpSel)
		switch {
		case in.Op.Name == "v_permlane16_b32" || in.Op.Name == "v_permlanex16_b32" ||
			in.Op.Name == "v_permlane16_var_b32" || in.Op.Name == "v_permlanex16_var_b32":
			if v&3 != 0 {
				p.listBits(" op_sel:[", v, 2)
			}
		case v != 0:
			p.str(" op_sel:[")
			for i := 0; i < n; i++ {
				if i > 0 {
					p.b = append(p.b, ',')
				}
				p.dec(int64(v >> i & 1))
			}
			if !silentEXEC(in.Op, p.t) {
				p.b = append(p.b, ',')
				p.dec(int64(v >> 3 & 1))
			}
			p.str("]")
		}
	}
	p.bit(in.Clamp, "clamp")
	p.omod()
	if p.a.p&pFIBC != 0 {
		p.bit(in.BoundCtrl, "bound_ctrl:1")
		p.bit(in.FI, "fi:1")
	}
	if p.a.p&pByteSel != 0 {
		n := in.OpSel
		if valuSources(in.Op) > 1 {
			n >>= 2
		} else {
			n = n&1<<1 | n>>1&1
		}
		if n != 0 {
			p.str(" byte_sel:")
			p.dec(int64(n))
		}
	}
}

func (p *printer) omod() {
	switch p.in.Omod {
	case 1:
		p.str(" mul:2")
	case 2:
		p.str(" mul:4")
	case 3:
		p.str(" div:2")
	}
}

// mods3p prints what follows the operands of a VOP3P.
func (p *printer) mods3p() {
	in := p.in
	if p.a.p&pCbsz != 0 || p.a.p&pBlgp != 0 {
		if in.NY > 0 {
			if in.OpSel != 0 {
				p.listBits(" op_sel:[", uint32(in.OpSel), 3)
			}
			if in.OpSelHi != 7 {
				p.listBits(" op_sel_hi:[", uint32(in.OpSelHi), 3)
			}
		}
		p.maiMods()
		return
	}
	n := valuSources(in.Op)
	wmma := in.Op.Flags&FlagMFMA != 0
	if wmma {
		n = 3
	}
	if in.IndexKey != 0 {
		p.str(" index_key:")
		p.dec(int64(in.IndexKey))
	}
	all := uint8(1)<<n - 1
	mix := p.a.mods[0] == modFP
	if p.a.p&pOpSel != 0 && in.OpSel&all != 0 {
		p.listBits(" op_sel:[", uint32(in.OpSel), n)
	}
	if p.a.p&pOpSelHi != 0 && (!mix && in.OpSelHi&all != all || mix && in.OpSelHi&all != 0) {
		p.listBits(" op_sel_hi:[", uint32(in.OpSelHi), n)
	}
	if p.a.p&pNegLo != 0 && in.Neg&all != 0 {
		p.listBits(" neg_lo:[", uint32(in.Neg), n)
	}
	if p.a.p&pNegHi != 0 && in.NegHi&all != 0 {
		p.listBits(" neg_hi:[", uint32(in.NegHi), n)
	}
	p.bit(in.Clamp, "clamp")
}

func (p *printer) maiMods() {
	in := p.in
	if in.CBSZ != 0 {
		p.str(" cbsz:")
		p.dec(int64(in.CBSZ))
	}
	if in.ABID != 0 {
		p.str(" abid:")
		p.dec(int64(in.ABID))
	}
	if in.BLGP != 0 && p.a.p&pBlgp != 0 {
		if p.t.Gen == GFX940 && in.Op.attr.src[2].ty == F64 {
			p.listBits(" neg:[", uint32(in.BLGP), 3)
			return
		}
		p.str(" blgp:")
		p.dec(int64(in.BLGP))
	}
}

var selNames = [...]string{"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "?"}

func (p *printer) sdwa() {
	in := p.in
	if in.Op.Fmt != VOPC {
		p.bit(in.Clamp, "clamp")
		p.omod()
		if len(in.Op.Src) > 0 {
			p.str(" dst_sel:")
			p.str(selNames[in.DstSel])
			p.str(" dst_unused:")
			p.str([...]string{"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?"}[in.DstUnused])
		}
	}
	p.str(" src0_sel:")
	p.str(selNames[in.SrcSel[0]])
	if len(in.Op.Src) > 1 {
		p.str(" src1_sel:")
		p.str(selNames[in.SrcSel[1]])
	}
}

func (p *printer) dpp16() {
	in := p.in
	c := in.DPPCtrl
	num := func(s string) {
		p.str(s)
		p.dec(int64(c & 15))
	}
	p.str(" ")
	switch {
	case c <= 0xff:
		p.str("quad_perm:[")
		for i := 0; i < 4; i++ {
			if i > 0 {
				p.str(",")
			}
			p.dec(int64(c >> (2 * i) & 3))
		}
		p.str("]")
	case c <= 0x10f:
		num("row_shl:")
	case c <= 0x11f:
		num("row_shr:")
	case c <= 0x12f:
		num("row_ror:")
	case c == 0x130:
		p.str("wave_shl:1")
	case c == 0x134:
		p.str("wave_rol:1")
	case c == 0x138:
		p.str("wave_shr:1")
	case c == 0x13c:
		p.str("wave_ror:1")
	case c == 0x140:
		p.str("row_mirror")
	case c == 0x141:
		p.str("row_half_mirror")
	case c == 0x142:
		p.str("row_bcast:15")
	case c == 0x143:
		p.str("row_bcast:31")
	case c <= 0x15f:
		if p.t.Gen >= GFX10 {
			num("row_share:")
		} else {
			num("row_newbcast:")
		}
	default:
		num("row_xmask:")
	}
	p.str(" row_mask:")
	p.hex(uint64(in.RowMask))
	p.str(" bank_mask:")
	p.hex(uint64(in.BankMask))
	p.bit(in.BoundCtrl, "bound_ctrl:1")
	p.bit(in.FI, "fi:1")
}

func (p *printer) dpp8() {
	p.str(" dpp8:[")
	for i := 0; i < 8; i++ {
		if i > 0 {
			p.str(",")
		}
		p.dec(int64(p.in.DPP8Sel >> (3 * i) & 7))
	}
	p.str("]")
	p.bit(p.in.FI, "fi:1")
}

// interp64 prints the operands of the VOP3 interpolation instructions.
func (p *printer) interp64() {
	in := p.in
	for i := range in.Src[:in.NSrc] {
		switch k := p.a.src[i].imm; k {
		case immNone:
		case immSlot:
			p.imm(&in.Src[i], k)
		}
	}
	first := true
	attr := func() {
		for i := range in.Src[:in.NSrc] {
			switch p.a.src[i].imm {
			case immAttr:
				p.sep()
				p.str("attr")
				p.dec(int64(in.Src[i].Value))
			case immChan:
				p.str(".")
				p.b = append(p.b, "xyzw"[in.Src[i].Value&3])
			}
		}
	}
	k := 0
	for i := range in.Src[:in.NSrc] {
		if p.a.src[i].imm != immNone {
			continue
		}
		p.sep()
		j := k
		neg, abs := in.Neg>>j&1 != 0, in.Abs>>j&1 != 0
		if neg {
			p.str("-")
		}
		if abs {
			p.str("|")
		}
		p.operand(&in.Src[i])
		if abs {
			p.str("|")
		}
		k++
		if first {
			attr()
			first = false
		}
	}
	if first {
		attr()
	}
	p.bit(in.Hi16, "high")
	p.bit(in.Clamp, "clamp")
	p.omod()
}
