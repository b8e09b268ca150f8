package isa

// graphics prints exports, interpolation and LDS parameter loads.
func (p *printer) graphics() {
	in := p.in
	switch in.Fmt {
	case EXP:
		p.export()
	case VINTRP:
		p.str("_e32")
		p.arg(&in.Dst[0])
		if p.a.imm == immSlot {
			p.imm(&in.Src[0], immSlot)
		} else {
			p.arg(&in.Src[0])
		}
		p.attribute(&in.Src[1], &in.Src[2])
	case VINTERP:
		p.arg(&in.Dst[0])
		for i := range in.Src[:3] {
			p.sep()
			p.source(i)
		}
		p.bit(in.Clamp, "clamp")
		if in.OpSel != 0 {
			p.listBits(" op_sel:[", uint32(in.OpSel), 4)
		}
		p.str(" wait_exp:")
		p.dec(int64(in.WaitExp))
	case LDSDIR:
		p.arg(&in.Dst[0])
		if in.NSrc > 0 {
			p.attribute(&in.Src[0], &in.Src[1])
		}
		if p.t.Gen == GFX12 {
			p.str(" wait_va_vdst:")
			p.dec(int64(in.WaitVA))
			p.str(" wait_vm_vsrc:")
			p.dec(int64(in.WaitVM))
			return
		}
		p.str(" wait_vdst:")
		p.dec(int64(in.WaitVA))
	}
}

// attribute prints "attr3.y".
func (p *printer) attribute(a, c *Operand) {
	p.sep()
	p.str("attr")
	p.dec(int64(a.Value))
	p.str(".")
	p.b = append(p.b, "xyzw"[c.Value&3])
}

func (p *printer) export() {
	in := p.in
	e := &in.Export
	p.str(" ")
	old := p.t.Gen < GFX11
	n := int64(e.Target)
	switch {
	case n <= 7:
		p.str("mrt")
		p.dec(n)
	case n == 8:
		p.str("mrtz")
	case n == 9 && old:
		p.str("null")
	case n >= 12 && n <= 15, n == 16 && p.t.Gen >= GFX10:
		p.str("pos")
		p.dec(n - 12)
	case n == 20 && p.t.Gen >= GFX10:
		p.str("prim")
	case (n == 21 || n == 22) && !old:
		p.str("dual_src_blend")
		p.dec(n - 21)
	case n >= 32 && old:
		p.str("param")
		p.dec(n - 32)
	default:
		p.str("invalid_target_")
		p.dec(n)
	}
	for i := range in.Src[:4] {
		if e.Enable>>i&1 == 0 {
			p.word("off")
			continue
		}
		j := i
		if e.Compressed {
			j = i / 2
		}
		p.arg(&in.Src[j])
	}
	p.bit(e.Done, "done")
	p.bit(e.Compressed, "compr")
	p.bit(e.ValidMask, "vm")
	p.bit(e.RowEnable, "row_en")
}
