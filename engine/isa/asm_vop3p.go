package isa

// vop3p encodes packed math, dot products and matrix instructions.
func (a *asm) vop3p() {
	op, at := a.op, &a.op.attr
	mai := a.l.has(fAcc) && (at.p&pCbsz != 0 || op.Flags&FlagMFMA != 0 || at.dst[0].file == 'a' || op.Name == "v_accvgpr_read_b32")
	if mai {
		a.mai()
		return
	}
	a.vop3Dst()
	n := valuSources(op)
	mix := at.mods[0] == modFP
	neg, abs, ok := a.sources64(mix)
	if !ok {
		return
	}
	if op.Flags&FlagMFMA != 0 {
		n = 3
	}
	all := uint32(1)<<n - 1
	sel, bits := a.listBits("op_sel")
	if bits != 0 && bits != n {
		a.fail(errModifier)
	}
	if k := a.number("index_key"); k != 0 {
		sel |= uint32(k)
	}
	a.put(fOpSel, sel)
	hi, bits := a.listBits("op_sel_hi")
	switch {
	case bits != 0 && bits != n:
		a.fail(errModifier)
	case bits == 0 && !mix:
		hi = all
	}
	a.put(fOpSelHi, hi|7&^all) // the bits of sources that are not there are set, as LLVM does
	lo, bits := a.listBits("neg_lo")
	if bits != 0 && bits != n {
		a.fail(errModifier)
	}
	nhi, bits := a.listBits("neg_hi")
	if bits != 0 && bits != n {
		a.fail(errModifier)
	}
	a.put(fNeg, neg|lo)
	a.put(fNegHi, abs|nhi)
	if a.flag("clamp") {
		a.put(fClamp, 1)
	}
}

// mai encodes CDNA's matrix instructions and the moves of its accumulation registers.
func (a *asm) mai() {
	op := a.op
	write, read := op.attr.dst[0].file == 'a', op.Name == "v_accvgpr_read_b32"
	cd := a.vector(fVdst)
	var acc uint32
	for i, id := range srcFields[:min(valuSources(op), 3)] {
		s := a.arg()
		r, _, isAcc, half, ok := vectorReg(s)
		if ok && !half {
			r += 256
		} else {
			r = a.sourceCode(s, false)
		}
		if isAcc && i < 2 {
			acc |= 1 << i
		}
		a.put(id, r)
	}
	switch {
	case write, read:
		acc, cd = 3, false // in these two the bits mean nothing, and LLVM sets them
	}
	if op.attr.p&pF8F6F4 != 0 && op.attr.p&pOpSel != 0 {
		a.scales()
	}
	a.put(fAcc, acc)
	if a.d.is90a && cd {
		a.put(fAccCD, 1)
	}
	if write || read {
		a.put(fAbid, 8)
		return
	}
	if v := a.number("cbsz"); v != 0 {
		a.put(fCbsz, uint32(v))
	}
	if v := a.number("abid"); v != 0 {
		a.put(fAbid, uint32(v))
	}
	if v, n := a.listBits("neg"); n != 0 {
		a.put(fBlgp, v)
	} else if v := a.number("blgp"); v != 0 {
		a.put(fBlgp, uint32(v))
	}
}

// scales encodes the first half of a v_mfma_scale, from the operands that come last.
func (a *asm) scales() {
	var w words
	pre := field{shift: a.l.preShift, width: a.l.preWidth}
	pre.put(&w, a.l.preValue)
	a.l.f[fOp].put(&w, opLoadScale)
	for _, id := range srcFields[:2] {
		a.l.f[id].put(&w, a.sourceCode(a.arg(), false))
	}
	sel, _ := a.listBits("op_sel")
	a.l.f[fOpSel].put(&w, sel)
	hi, n := a.listBits("op_sel_hi")
	if n == 0 {
		hi = 3
	}
	a.l.f[fOpSelHi].put(&w, hi)
	a.head = append(a.head, uint32(w.lo), uint32(w.lo>>32))
	a.put(fAbid, 1)
}
