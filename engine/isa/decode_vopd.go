package isa

// vopd decodes a dual-issue pair.
func (s *state) vopd(out *Inst) error {
	x, y := s.d.vopdX[s.get(fOp)], s.d.vopdY[s.get(fOpY)]
	if x == nil || y == nil || s.t.maskN == 2 { // wave64 has no dual issue
		return ErrUnknown
	}
	out.Op, out.Y, out.Fmt = x, y, VOPD
	dx := s.get(fVdst)
	dy := s.get(fVdstY)<<1 | ^dx&1
	if !vgpr(dx, x.attr.dst[0].ty, 1, false, &out.Dst[0]) || !vgpr(dy, y.attr.dst[0].ty, 1, false, &out.YDst) {
		return ErrReserved
	}
	out.NDst = 1
	var yt [4]Operand
	nx, err := s.vopdHalf(x, s.get(fSrc0), s.get(fVsrc1), &out.Src)
	if err != nil {
		return err
	}
	ny, err := s.vopdHalf(y, s.get(fSrc0Y), s.get(fVsrc1Y), &yt)
	if err != nil {
		return err
	}
	out.NSrc, out.NY = nx, ny
	copy(out.YSrc[:], yt[:3])
	return nil
}

func (s *state) vopdHalf(op *Op, c0, v1 uint32, src *[4]Operand) (uint8, error) {
	a := &op.attr
	if len(op.Src) == 1 && v1 != 0 {
		return 0, ErrReserved
	}
	for i := range op.Src {
		o := &a.src[i]
		switch {
		case i == 0:
			if !s.src(c0, o.ty, o.n, &src[i]) {
				return 0, s.srcErr()
			}
		case o.imm == immK:
			if !s.literal() {
				return 0, ErrShort
			}
			src[i] = s.konst(o.ty)
		case o.ty == MaskT:
			src[i] = s.vcc()
		default:
			vgpr(v1, o.ty, o.n, false, &src[i])
		}
	}
	return uint8(len(op.Src)), nil
}
