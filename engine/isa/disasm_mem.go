package isa

func (p *printer) ds() {
	in := p.in
	if in.NDst > 0 {
		p.arg(&in.Dst[0])
	}
	for i := range in.Src[:in.NSrc] {
		if in.Src[i].Kind != OperandNone {
			p.arg(&in.Src[i])
		}
	}
	switch {
	case p.a.p&pTwo != 0:
		p.num(" offset0:", int64(in.Offset0))
		p.num(" offset1:", int64(in.Offset1))
	case p.a.p&pSwizzle != 0:
		p.swizzle(uint16(in.Offset))
	default:
		p.num(" offset:", int64(in.Offset))
	}
	p.bit(in.GDS, "gds")
}

// num prints a named number unless it is zero.
func (p *printer) num(name string, v int64) {
	if v != 0 {
		p.str(name)
		p.dec(v)
	}
}

// swizzle prints ds_swizzle_b32's pattern.
func (p *printer) swizzle(v uint16) {
	if v == 0 {
		return
	}
	p.str(" offset:")
	switch {
	case v&0xff00 == 0x8000:
		p.str("swizzle(QUAD_PERM")
		for i := 0; i < 4; i++ {
			p.str(",")
			p.dec(int64(v & 3))
			v >>= 2
		}
		p.str(")")
	case v&0x8000 == 0:
		and, or, xor := v&31, v>>5&31, v>>10&31
		group := 32 - and
		switch {
		case and == 31 && or == 0 && xor&(xor-1) == 0 && xor != 0:
			p.str("swizzle(SWAP,")
			p.dec(int64(xor))
			p.str(")")
		case and == 31 && or == 0 && xor > 0 && xor&(xor+1) == 0:
			p.str("swizzle(REVERSE,")
			p.dec(int64(xor) + 1)
			p.str(")")
		case group > 1 && group&(group-1) == 0 && or < group && xor == 0:
			p.str("swizzle(BROADCAST,")
			p.dec(int64(group))
			p.str(",")
			p.dec(int64(or))
			p.str(")")
		default:
			p.str(`swizzle(BITMASK_PERM,"`)
			zero, one := or^xor, (31&and|or)^xor
			for m := uint16(16); m > 0; m >>= 1 {
				switch {
				case zero&m == one&m && zero&m == 0:
					p.str("0")
				case zero&m == one&m:
					p.str("1")
				case zero&m == 0:
					p.str("p")
				default:
					p.str("i")
				}
			}
			p.str(`")`)
		}
	default:
		p.dec(int64(v))
	}
}

func (p *printer) flat() {
	in := p.in
	if in.NDst > 0 {
		p.arg(&in.Dst[0])
	}
	if in.NSrc > 0 {
		if in.Src[0].Kind != OperandNone {
			p.arg(&in.Src[0])
		} else if in.Fmt == SCRATCH {
			p.word("off")
		}
		if in.Src[1].Kind != OperandNone {
			p.arg(&in.Src[1])
		}
		if in.Fmt != FLAT {
			if in.Src[2].Kind != OperandNone {
				p.arg(&in.Src[2])
			} else {
				p.word("off")
			}
		}
	}
	if in.NSrc > 0 {
		p.num(" offset:", int64(in.Offset))
	}
	p.cpol()
	p.bit(in.LDS && p.a.lds&p.t.bit != 0, "lds")
}

func (p *printer) buffer() {
	in := p.in
	if p.a.p&pBare != 0 {
		p.cpolBare()
		return
	}
	lds := in.LDS
	if lds {
	} else if in.NDst > 0 {
		p.arg(&in.Dst[0])
	} else if in.Src[1].Kind != OperandNone {
		p.arg(&in.Src[1])
	}
	storeLDS := storeLDS(in.Op)
	if in.Src[0].Kind != OperandNone {
		p.arg(&in.Src[0])
	} else if !storeLDS {
		p.word("off")
	}
	p.arg(&in.Src[2])
	p.arg(&in.Src[3])
	if in.Fmt == MTBUF {
		p.bufferFormat()
	}
	p.bit(in.IdxEn, "idxen")
	p.bit(in.OffEn, "offen")
	p.num(" offset:", int64(in.Offset))
	if storeLDS {
		p.str(" lds")
	}
	p.cpol()
	p.bit(in.TFE, "tfe")
	if lds && !storeLDS && p.t.Gen < GFX11 {
		p.str(" lds")
	}
}

// cpolBare prints the cache bits of cache control instructions, which only some generations write.
func (p *printer) cpolBare() {
	if p.t.Gen == GFX940 && p.a.p&pCpol != 0 {
		p.cpol()
	}
}
