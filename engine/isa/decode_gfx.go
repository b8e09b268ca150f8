package isa

// graphics decodes exports, interpolation and LDS parameter loads.
func (s *state) graphics(out *Inst) error {
	switch out.Fmt {
	case EXP:
		out.Export = Export{Target: uint8(s.get(fTgt)), Enable: uint8(s.get(fEn)), Compressed: s.flag(fCompr),
			Done: s.flag(fDone), ValidMask: s.flag(fVm), RowEnable: s.flag(fRow)}
		out.NSrc = 4
		for i, id := range [...]fieldID{fSrc0, fSrc1, fSrc2, fSrc3} {
			vgpr(s.get(id), B32, 1, false, &out.Src[i])
		}
		return nil
	case VINTRP:
		return s.vintrp(out)
	case VINTERP:
		return s.vinterp(out)
	}
	out.NDst = 1
	vgpr(s.get(fVdst), B32, 1, false, &out.Dst[0])
	if len(out.Op.Src) > 0 {
		out.NSrc = 2
		out.Src[0] = Operand{Kind: OperandImm, Type: U8, Value: uint64(s.get(fAttr))}
		out.Src[1] = Operand{Kind: OperandImm, Type: U8, Value: uint64(s.get(fChan))}
	}
	out.WaitVA, out.WaitVM = uint8(s.get(fWaitVA)), uint8(s.get(fWaitVM))
	return nil
}

func (s *state) vintrp(out *Inst) error {
	out.NDst = 1
	vgpr(s.get(fVdst), F32, 1, false, &out.Dst[0])
	out.NSrc = 3
	if v := s.get(fVsrc); out.Op.attr.imm == immSlot {
		out.Src[0] = Operand{Kind: OperandImm, Type: U8, Value: uint64(v)}
	} else {
		vgpr(v, F32, 1, false, &out.Src[0])
	}
	out.Src[1] = Operand{Kind: OperandImm, Type: U8, Value: uint64(s.get(fAttr))}
	out.Src[2] = Operand{Kind: OperandImm, Type: U8, Value: uint64(s.get(fChan))}
	return nil
}

func (s *state) vinterp(out *Inst) error {
	a := &out.Op.attr
	out.NDst, out.NSrc = 1, 3
	vgpr(s.get(fVdst), a.dst[0].ty, 1, false, &out.Dst[0])
	for i, id := range [...]fieldID{fSrc0, fSrc1, fSrc2} {
		c := s.get(id)
		if c < 256 {
			return ErrReserved
		}
		vgpr(c-256, a.src[i].ty, 1, false, &out.Src[i])
	}
	out.Neg = uint8(s.get(fNeg))
	out.Clamp = s.flag(fClamp)
	if a.p&pOpSel != 0 {
		out.OpSel = uint8(s.get(fOpSel))
	}
	out.WaitExp = uint8(s.get(fWaitExp))
	return nil
}
