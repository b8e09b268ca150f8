package avx2

import "github.com/pumice-gpu/pumice/engine/jit/x86"

func permuteHandlers(m map[*x86.Inst]func(*op)) {
	m[x86.VPERMI2D] = permute2
	m[x86.VPERMD] = permute1
	m[x86.VSHUFI32X4] = shufflePieces
	m[x86.VSHUFI64X2] = shufflePieces
	m[x86.VEXTRACTI64X4] = func(o *op) {
		x := o.load(o.reg, int(o.imm&1), t0)
		if o.m.IsMem() {
			o.raw(x86.VMOVDQUS, x, 0, o.m)
			return
		}
		o.done(o.m.Num(), 0, x)
		o.zero(o.m.Num(), 1)
	}
	m[x86.VINSERTI64X4] = func(o *op) {
		if o.mod.K() != 0 {
			o.unsupported()
			return
		}
		at := int(o.imm & 1)
		y := o.m
		if !y.IsMem() {
			y = o.half(y.Num(), 0)
		}
		o.raw(x86.VMOVDQU, t0, 0, y) // it may be the destination
		if o.reg != o.vv {
			o.done(o.reg, 1-at, o.load(o.vv, 1-at, t1))
		}
		o.done(o.reg, at, t0)
	}
	m[x86.VPMOVDW] = narrow(false)
	m[x86.VPMOVDB] = narrow(true)
	for _, i := range []*x86.Inst{x86.VPMOVZXWD, x86.VPMOVSXWD, x86.VPMOVZXDQ, x86.VPMOVSXDQ} {
		m[i] = widen(i, 16)
	}
	for _, i := range []*x86.Inst{x86.VPMOVZXBD, x86.VPMOVSXBD} {
		m[i] = widen(i, 8)
	}
}

// piece is half h of the r/m operand as it was before anything is written: in memory or a register.
func (o *op) sources(h int) x86.RM {
	if o.m.IsMem() {
		return o.m.Add(32 * int32(h))
	}
	return o.half(o.m.Num(), h)
}

// pick makes, in t, the dwords that the index in ix names in a table of two halves: bit 3 chooses between them. u and t3 are used.
func (o *op) pick(t, ix, u uint8, lo, hi x86.RM) {
	o.raw(x86.VPERMD, t, ix, lo)
	o.raw(x86.VPERMD, u, ix, hi)
	o.rawI(x86.VPSLLDI, 0, t3, vr(ix), 28)
	o.rawI(x86.VBLENDVPS, t, t, vr(u), t3<<4)
}

// permute2 takes dwords of two registers by an index in the destination: bits 2:0 the dword, bit 3 the half, bit 4 the second source.
func permute2(o *op) {
	if o.m.HasBcast() || o.l != x86.L512 {
		o.unsupported()
		return
	}
	// The first half waits in memory, because the sources may be the destination.
	for h := range 2 {
		ix := o.load(o.reg, h, t1)
		o.pick(t0, ix, t2, o.half(o.vv, 0), o.half(o.vv, 1))
		o.raw(x86.VMOVDQUS, t0, 0, o.at(offTmp))
		o.pick(t0, ix, t2, o.sources(0), o.sources(1))
		o.rawI(x86.VPSLLDI, 0, t3, vr(ix), 27)
		o.raw(x86.VMOVDQU, t2, 0, o.at(offTmp))
		o.rawI(x86.VBLENDVPS, t0, t2, vr(t0), t3<<4)
		if h == 0 && (o.vv == o.reg || !o.m.IsMem() && o.m.Num() == o.reg) {
			o.raw(x86.VMOVDQUS, t0, 0, o.at(offTmp+32))
			continue
		}
		o.write(h, 4, t0)
	}
	if o.vv == o.reg || !o.m.IsMem() && o.m.Num() == o.reg {
		o.raw(x86.VMOVDQU, t0, 0, o.at(offTmp+32))
		o.write(0, 4, t0)
	}
}

// permute1 takes dwords of one register by the index in vvvv.
func permute1(o *op) {
	if o.m.HasBcast() || o.l != x86.L512 {
		o.unsupported()
		return
	}
	for h := range 2 {
		ix := o.load(o.vv, h, t1)
		o.pick(t0, ix, t2, o.sources(0), o.sources(1))
		if h == 0 {
			o.raw(x86.VMOVDQUS, t0, 0, o.at(offTmp))
			continue
		}
		o.write(1, 4, t0)
	}
	o.raw(x86.VMOVDQU, t0, 0, o.at(offTmp))
	o.write(0, 4, t0)
}

// shufflePieces takes two 128-bit pieces of each source.
func shufflePieces(o *op) {
	if o.m.HasBcast() || o.mod.K() != 0 || o.l != x86.L512 {
		o.unsupported()
		return
	}
	sel := func(n uint8) uint8 { return o.imm>>n&3 | o.imm>>(n+2)&3<<4 }
	x := o.load(o.vv, 0, t1)
	o.rawI(x86.VPERM2I128, t0, x, o.half(o.vv, 1), sel(0))
	y := uint8(t1)
	if s := o.sources(0); s.IsMem() {
		o.raw(x86.VMOVDQU, t1, 0, s)
	} else {
		y = s.Num()
	}
	d := uint8(t2)
	o.rawI(x86.VPERM2I128, d, y, o.sources(1), sel(4))
	o.done(o.reg, 0, t0)
	o.done(o.reg, 1, d)
}

// narrow keeps the low word, or byte, of each dword.
func narrow(bytes bool) func(*op) {
	return func(o *op) {
		keep := uint32(0xffff)
		if bytes {
			keep = 0xff
		}
		for h := range 2 {
			o.raw(x86.VPAND, uint8(t0+h), o.load(o.reg, h, uint8(t0+h)), o.const32(keep))
		}
		o.raw(x86.VPACKUSDW, t0, t0, vr(t1))
		o.rawI(x86.VPERMQI, t0, 0, vr(t0), 0xd8)
		l, n := x86.L256, int32(16)
		if bytes {
			o.rawI(x86.VEXTRACTI128, t0, 0, vr(t1), 1)
			o.xmm(x86.VPACKUSWB, t0, t0, vr(t1), 0)
			l, n = x86.L128, 16
		}
		if !o.m.IsMem() {
			if o.mod.K() != 0 {
				o.unsupported()
				return
			}
			if bytes { // the upper half of the ymm register is zero after an instruction of 128 bits
				o.xmm(x86.VMOVDQU, t0, 0, vr(t0), 0)
			}
			o.done(o.m.Num(), 0, t0)
			o.zero(o.m.Num(), 1)
			return
		}
		if o.mod.K() == 0 {
			o.A.Raw(x86.VMOVDQUS, l, t0, 0, o.m, 0)
			return
		}
		// Memory outside the mask must not be written: lane by lane.
		o.A.Raw(x86.VMOVDQUS, l, t0, 0, o.at(offTmp), 0)
		a := o.A
		size := int32(2)
		if bytes {
			size = 1
		}
		for l := range n {
			skip := a.NewLabel()
			a.AluI(x86.CMP, 4, o.kAt(o.mod.K(), 0).Add(4*l), 0)
			a.Jcc(x86.E, skip)
			if bytes {
				a.G(x86.MOVZX8, 4, tmpG, o.at(offTmp+l))
			} else {
				a.G(x86.MOVZX16, 4, tmpG, o.at(offTmp+2*l))
			}
			a.GS(x86.MOVS, int(size), o.m.Add(size*l), tmpG)
			a.Bind(skip)
		}
	}
}

// widen makes elements longer; half h of the destination comes from n bytes of the source at n·h.
func widen(inst *x86.Inst, n int32) func(*op) {
	size := 4
	if inst == x86.VPMOVZXDQ || inst == x86.VPMOVSXDQ {
		size = 8
	}
	return func(o *op) {
		if o.m.IsMem() && o.mod.K() != 0 {
			o.widenMasked(inst, n)
			return
		}
		// The upper half first: the lower one may be the source.
		for h := o.halves() - 1; h >= 0; h-- {
			d := uint8(t0)
			if o.mod.K() == 0 {
				d = o.into(o.reg, h, t0)
			}
			o.raw(inst, d, 0, o.part(h, n))
			o.write(h, size, d)
		}
		o.clearUpper()
	}
}

// part is the piece of n bytes of the source that half h is made of; t2 is used.
func (o *op) part(h int, n int32) x86.RM {
	s := o.sources(0)
	if h == 0 {
		return s
	}
	if s.IsMem() {
		return s.Add(n)
	}
	if n == 16 {
		o.rawI(x86.VEXTRACTI128, s.Num(), 0, vr(t2), 1)
	} else {
		o.xmm(x86.VPSHUFD, t2, 0, s, 0x0e)
	}
	return vr(t2)
}

// widenMasked loads only the elements of the mask's lanes.
func (o *op) widenMasked(inst *x86.Inst, n int32) {
	a := o.A
	size := n / 8 // of a source element: the destination's are dwords
	if inst == x86.VPMOVZXDQ || inst == x86.VPMOVSXDQ || o.l != x86.L512 {
		o.unsupported()
		return
	}
	o.raw(x86.VPXOR, t0, t0, vr(t0))
	o.raw(x86.VMOVDQUS, t0, 0, o.at(offTmp))
	for l := range int32(16) {
		skip := a.NewLabel()
		a.AluI(x86.CMP, 4, o.kAt(o.mod.K(), 0).Add(4*l), 0)
		a.Jcc(x86.E, skip)
		if size == 1 {
			a.G(x86.MOVZX8, 4, tmpG, o.m.Add(l))
		} else {
			a.G(x86.MOVZX16, 4, tmpG, o.m.Add(2*l))
		}
		a.GS(x86.MOVS, int(size), o.at(offTmp+size*l), tmpG)
		a.Bind(skip)
	}
	for h := range 2 {
		o.raw(inst, t0, 0, o.at(offTmp+n*int32(h)))
		o.write(h, 4, t0)
	}
}
