package isa

// ds decodes LDS and GDS instructions. Src is [addr, data0, data1].
func (s *state) ds(out *Inst) error {
	op := out.Op
	a := &op.attr
	out.GDS = s.flag(fGds)
	if a.p&pGDSOnly != 0 && !out.GDS {
		return ErrReserved
	}
	out.Acc = s.d.is90a && s.flag(fAcc)
	if a.p&pTwo != 0 {
		out.Offset0, out.Offset1 = uint8(s.get(fOffset0)), uint8(s.get(fOffset1))
	} else {
		out.Offset = int32(s.get(fOffset0) | s.get(fOffset1)<<8)
	}
	if len(op.Dst) > 0 {
		o := &a.dst[0]
		out.NDst = 1
		if !vgpr(s.get(fVdst), o.ty, o.n, out.Acc, &out.Dst[0]) {
			return ErrReserved
		}
		if len(op.Dst) == 2 { // ds_bvh_stack_rtn writes its address back
			out.NDst = 2
			vgpr(s.get(fAddr), B32, 1, false, &out.Dst[1])
		}
	}
	pos, fields := 1, [3]fieldID{fAddr, fData0, fData1}
	if gws(op) {
		fields[1] = fAddr
	}
	for i := range op.Src {
		o := &a.src[i]
		if op.Src[i].Name == "addr" {
			vgpr(s.get(fAddr), B32, 1, false, &out.Src[0])
			out.NSrc = max(out.NSrc, 1)
			continue
		}
		if !vgpr(s.get(fields[pos]), o.ty, o.n, out.Acc, &out.Src[pos]) {
			return ErrReserved
		}
		pos++
		out.NSrc = uint8(pos)
	}
	return nil
}

// flat decodes FLAT, GLOBAL and SCRATCH. Src is [vaddr, vdata, saddr].
func (s *state) flat(out *Inst) error {
	op := out.Op
	a := &op.attr
	s.cpol(out)
	out.Acc = s.d.is90a && s.flag(fAcc)
	off := s.get(fOffset)
	out.Offset = int32(off)
	if f := &s.l.f[fOffset]; out.Fmt != FLAT || s.d.gen == GFX12 {
		sh := 32 - f.width
		out.Offset = int32(off<<sh) >> sh
	}
	ret := s.returns(out)
	if a.p&pNoRet != 0 && ret || a.p&pRetOnly != 0 && !ret {
		return ErrReserved
	}
	if s.flag(fLds) {
		if a.lds&s.t.bit == 0 {
			return ErrReserved
		}
		out.LDS = true
	}
	if a.p&pLDSOnly != 0 {
		out.LDS = true
	}
	if out.LDS && s.flag(fAcc) {
		return ErrReserved
	}
	atomic := op.Flags&FlagAtomic != 0
	if a.p&pNoAddr != 0 {
		if s.d.sreg[s.get(fSaddr)] != SRegNull {
			return ErrReserved
		}
		return nil
	}
	out.NSrc = 3
	if !s.flatAddr(out) {
		return ErrReserved
	}
	if len(op.Dst) > 0 && !out.LDS && (!atomic || ret || a.p&pAtomicRet != 0) {
		o := &a.dst[0]
		out.NDst = 1
		if !vgpr(s.get(fVdst), o.ty, o.n, out.Acc, &out.Dst[0]) {
			return ErrReserved
		}
	}
	if o := &a.src[0]; o.ty != TypeNone {
		if !vgpr(s.get(fData), o.ty, o.n, out.Acc, &out.Src[1]) {
			return ErrReserved
		}
	}
	return nil
}

// returns says whether an atomic returns the old value, and normalizes GLC for gfx12.
func (s *state) returns(out *Inst) bool {
	if s.d.gen == GFX12 {
		if out.Op.Flags&FlagAtomic != 0 {
			out.GLC = out.CPol>>2&1 != 0
			return out.GLC
		}
		return false
	}
	return out.GLC && out.Op.Flags&FlagAtomic != 0
}

// flatAddr decodes the address operands.
func (s *state) flatAddr(out *Inst) bool {
	a := &out.Op.attr
	sa := s.get(fSaddr)
	addr := s.get(fAddr)
	null := s.d.sreg[sa] == SRegNull
	if s.d.gen <= GFX940 {
		null = sa == 0x7f
	}
	switch out.Fmt {
	case FLAT:
		if s.d.gen <= GFX940 {
			null = sa == 0
		}
		return null && vgpr(addr, B64, 2, false, &out.Src[0]) && !s.flag(fSve)
	case GLOBAL:
		if s.flag(fSve) {
			return false
		}
		if null && a.p&pAddTID != 0 {
			return true
		}
		if null {
			return vgpr(addr, B64, 2, false, &out.Src[0])
		}
		out.SAddr = true
		if a.p&pAddTID == 0 {
			vgpr(addr, B32, 1, false, &out.Src[0])
		}
		return s.sdst(sa, B64, 2, &out.Src[2])
	}
	// SCRATCH: one VGPR, one SGPR, both or none
	useV, useS := false, false
	if s.l.has(fSve) {
		useV, useS = s.flag(fSve), !null
	} else if s.d.gen == GFX10 {
		useV, useS = null, !null && sa != 0x7f
		if sa == 0x7f && !s.d.t.scratchST() {
			return false
		}
	} else {
		useV, useS = null, !null
	}
	out.SVE, out.SAddr = useV, useS
	if useV {
		vgpr(addr, B32, 1, false, &out.Src[0])
	}
	if useS {
		return s.sdst(sa, B32, 1, &out.Src[2])
	}
	return true
}

// scratchST says whether scratch accesses may have no address register (gfx10.3).
func (t *Target) scratchST() bool { return t.Gen != GFX10 || t.Minor >= 3 }

// buffer decodes untyped and typed buffer accesses. Src is [vaddr, vdata, srsrc, soffset].
func (s *state) buffer(out *Inst) error {
	op := out.Op
	a := &op.attr
	if a.p&pBare != 0 {
		s.cpol(out)
		out.SLC, out.NT = false, false
		return nil
	}
	s.cpol(out)
	out.OffEn, out.IdxEn = s.flag(fOffen), s.flag(fIdxen)
	off := s.get(fOffset)
	out.Offset = int32(off)
	if s.d.gen == GFX12 {
		out.Offset = int32(off<<8) >> 8
	}
	out.MTFmt = uint8(s.get(fFormat))
	if out.Fmt == MUBUF {
		out.MTFmt = 0
	}
	if s.d.is90a {
		out.Acc = s.flag(fAcc)
	} else {
		out.TFE = s.flag(fTfe)
	}
	if s.flag(fLds) {
		if a.lds&s.t.bit == 0 && a.p&pLDSOnly == 0 {
			return ErrReserved
		}
		out.LDS = true
	} else if a.p&pLDSOnly != 0 {
		if !s.l.has(fLds) {
			out.LDS = true
		} else {
			return ErrReserved
		}
	}
	if out.LDS && (out.Acc || out.TFE || storeLDS(op) && (out.OffEn || out.IdxEn)) {
		return ErrReserved
	}
	atomic := op.Flags&FlagAtomic != 0
	ret := s.returns(out)
	if a.p&pNoRet != 0 && ret || out.TFE && out.Fmt == MTBUF || atomic && (out.TFE || out.DLC && s.d.gen == GFX10) {
		return ErrReserved
	}
	out.NSrc = 4
	n := uint8(0)
	if out.OffEn {
		n++
	}
	if out.IdxEn {
		n++
	}
	if n > 0 && !vgpr(s.get(fVaddr), B32, n, false, &out.Src[0]) {
		return ErrReserved
	}
	vd := s.get(fVdata)
	o := a.dst[0]
	if len(op.Dst) == 0 {
		o = a.src[0]
	}
	if out.TFE {
		o.n++
	}
	if len(op.Dst) > 0 && !out.LDS && (!atomic || ret) {
		out.NDst = 1
		if !vgpr(vd, o.ty, o.n, out.Acc, &out.Dst[0]) {
			return ErrReserved
		}
	}
	if a.src[0].ty != TypeNone && !out.LDS {
		if !vgpr(vd, a.src[0].ty, o.n, out.Acc, &out.Src[1]) {
			return ErrReserved
		}
	}
	rs := uint32(0)
	if s.l.has(fRsrc) {
		rs = s.get(fRsrc)
	} else {
		rs = s.get(fSrsrc) << 2
	}
	if s.d.gen == GFX12 {
		rs = s.get(fSrsrc)
	}
	if rs > 127 || !s.sdst(rs, B128, 4, &out.Src[2]) {
		return ErrReserved
	}
	c := s.get(fSoffset)
	if c == 255 || c == 254 || !s.src(c, B32, 1, &out.Src[3]) {
		return ErrReserved
	}
	return nil
}

// storeLDS says whether the row is buffer_store_lds_dword, which has no VGPR address.
func storeLDS(op *Op) bool { return op.attr.p&pLDSOnly != 0 && op.Name == "buffer_store_lds_dword" }
