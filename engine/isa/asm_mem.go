package isa

import "strings"

// smem encodes scalar memory instructions.
func (a *asm) smem() {
	op, at := a.op, &a.op.attr
	pre := prefetch(op)
	k := 0
	switch {
	case at.p&pSdata != 0:
		k = 1
		if !pre {
			a.smemData()
		}
	case len(op.Dst) > 0:
		a.scalar(fSdata)
	}
	if len(op.Src) > k {
		c, ok := a.d.scalarReg(a.arg())
		if !ok {
			a.fail(errOperandBad)
		}
		a.put(fSbase, c>>1)
	}
	if at.p&pOff == 0 {
		a.cpol(SMEM)
		return
	}
	null := a.null()
	soffset := func(s string) {
		if c, ok := a.d.scalarReg(s); ok {
			a.put(fSoffset, c)
		} else {
			a.fail(errOperandBad)
		}
	}
	if pre {
		a.signedOffset(a.arg())
		soffset(a.arg())
		a.smemData()
		return
	}
	s := a.arg()
	off, hasOff := a.value("offset")
	_, isReg := a.d.scalarReg(s)
	old := a.t.Gen <= GFX940
	switch {
	case !isReg && hasOff:
		a.fail(errOperandBad)
	case isReg && old && hasOff:
		a.put(fSoe, 1)
		a.put(fImm, 1)
		soffset(s)
		a.signedOffset(off)
	case isReg && old:
		c, _ := a.d.scalarReg(s)
		a.put(fOffset, c)
	case old:
		a.put(fImm, 1)
		a.signedOffset(s)
	case isReg || s == "null":
		soffset(s)
		if hasOff {
			a.signedOffset(off)
		}
	default:
		a.put(fSoffset, null)
		a.signedOffset(s)
	}
	a.cpol(SMEM)
}

func (a *asm) smemData() {
	if a.op.attr.src[0].imm == imm8 {
		v, ok := parseNumber(a.arg())
		if !ok || v < 0 {
			a.fail(errOperandBad)
		}
		a.put(fSdata, uint32(v))
		return
	}
	a.scalar(fSdata)
}

// null returns the code of the null register, 0 where there is none.
func (a *asm) null() uint32 {
	c, _ := a.d.scalarReg("null")
	if a.t.Gen <= GFX940 {
		return 0
	}
	return c
}

// signedOffset encodes a signed number into the offset.
func (a *asm) signedOffset(s string) {
	v, ok := parseNumber(s)
	f := &a.l.f[fOffset]
	n := f.width + f.width2
	if !ok || n == 0 || v < -1<<(n-1) || v >= 1<<n {
		a.fail(errOperandBad)
		return
	}
	f.put(&a.w, uint32(v)&(1<<n-1))
}

// cpol encodes the cache policy.
func (a *asm) cpol(f Format) {
	on := func(name string, id fieldID) {
		if a.flag(name) {
			a.put(id, 1)
		}
	}
	switch {
	case a.t.Gen == GFX12:
		a.cpol12()
	case a.t.Gen == GFX940:
		if f == SMEM {
			on("glc", fGlc)
		} else {
			on("sc0", fGlc)
		}
		on("nt", fSlc)
		on("sc1", fScc)
	default:
		on("glc", fGlc)
		on("slc", fSlc)
		on("dlc", fDlc)
		on("scc", fScc)
	}
}

func (a *asm) cpol12() {
	if s, ok := a.value("scope"); ok {
		v, ok := map[string]uint32{"SCOPE_CU": 0, "SCOPE_SE": 1, "SCOPE_DEV": 2, "SCOPE_SYS": 3}[s]
		if !ok {
			a.fail(errModifier)
		}
		a.put(fScope, v)
	}
	s, ok := a.value("th")
	if !ok {
		return
	}
	v, ok := temporalHint(s)
	if !ok {
		a.fail(errModifier)
	}
	a.put(fTh, v)
}

// temporalHint reads gfx12's th values.
func temporalHint(s string) (uint32, bool) {
	if v, ok := parseNumber(s); ok {
		return uint32(v), true
	}
	for _, prefix := range [...]string{"TH_LOAD_", "TH_STORE_"} {
		if n, ok := strings.CutPrefix(s, prefix); ok {
			for i, x := range [...]string{"RT", "NT", "HT", "LU", "NT_RT", "RT_NT", "NT_HT", "NT_WB"} {
				if x == n {
					return uint32(i), true
				}
			}
			return 3, n == "RT_WB" || n == "WB" || n == "BYPASS" // (LLVM 21 writes WB)
		}
	}
	n, ok := strings.CutPrefix(s, "TH_ATOMIC_")
	if v, num := parseNumber(n); ok && num {
		return uint32(v), true
	}
	v, known := map[string]uint32{"RT": 0, "RETURN": 1, "RT_RETURN": 1, "NT": 2, "NT_RETURN": 3, "CASCADE_RT": 4, "CASCADE_NT": 6}[n]
	return v, ok && known
}

// ds encodes LDS, GDS and GWS instructions.
func (a *asm) ds() {
	op, at := a.op, &a.op.attr
	acc := false
	if len(op.Dst) > 0 {
		acc = a.vector(fVdst)
	}
	fields := []fieldID{fData0, fData1}
	if gws(op) {
		fields = []fieldID{fAddr}
	}
	// The text has the address first.
	for _, s := range op.Src {
		if s.Name == "addr" {
			a.vector(fAddr)
		}
	}
	for _, s := range op.Src {
		if s.Name == "addr" {
			continue
		}
		if len(fields) == 0 {
			a.fail(errOperandTooMany)
			return
		}
		acc = a.vector(fields[0]) || acc
		fields = fields[1:]
	}
	if acc {
		a.put(fAcc, 1)
	}
	switch {
	case at.p&pTwo != 0:
		a.put(fOffset0, uint32(a.number("offset0")))
		a.put(fOffset1, uint32(a.number("offset1")))
	case at.p&pSwizzle != 0:
		if s, ok := a.value("offset"); ok {
			v, ok := parseSwizzle(s)
			if !ok {
				a.fail(errModifier)
			}
			a.put(fOffset0, v&255)
			a.put(fOffset1, v>>8)
		}
	default:
		v := uint32(a.number("offset"))
		a.put(fOffset0, v&255)
		a.put(fOffset1, v>>8)
	}
	if a.flag("gds") {
		a.put(fGds, 1)
	}
}

// parseSwizzle reads ds_swizzle_b32's pattern.
func parseSwizzle(s string) (uint32, bool) {
	if v, ok := parseNumber(s); ok {
		return uint32(v), v >= 0 && v < 1<<16
	}
	s, ok1 := strings.CutPrefix(s, "swizzle(")
	s, ok2 := strings.CutSuffix(s, ")")
	w := strings.Split(s, ",")
	if !ok1 || !ok2 {
		return 0, false
	}
	var n []uint32
	for _, x := range w[1:] {
		v, _ := parseNumber(strings.TrimSpace(x))
		n = append(n, uint32(v))
	}
	switch {
	case w[0] == "QUAD_PERM" && len(n) == 4:
		return 0x8000 | n[0]&3 | n[1]&3<<2 | n[2]&3<<4 | n[3]&3<<6, true
	case w[0] == "SWAP" && len(n) == 1:
		return 31 | n[0]&31<<10, true
	case w[0] == "REVERSE" && len(n) == 1:
		return 31 | (n[0]-1)&31<<10, true
	case w[0] == "BROADCAST" && len(n) == 2:
		return (32-n[0])&31 | n[1]&31<<5, true
	case w[0] == "BITMASK_PERM" && len(w) == 2:
		pattern := strings.Trim(strings.TrimSpace(w[1]), `"`)
		if len(pattern) != 5 {
			return 0, false
		}
		var and, or, xor uint32
		for i := range 5 {
			m := uint32(16) >> i
			switch pattern[i] {
			case '0':
			case '1':
				or |= m
			case 'p':
				and |= m
			case 'i':
				and |= m
				xor |= m
			default:
				return 0, false
			}
		}
		if group := 32 - and; group > 1 && group&(group-1) == 0 && or < group && xor == 0 { // that is spelled BROADCAST
			or, xor = 0, or
			if xor == 0 { // and 0 is no pattern at all
				or, xor = 1, 1
			}
		}
		return and | or<<5 | xor<<10, true
	}
	return 0, false
}

// flat encodes FLAT, GLOBAL and SCRATCH.
func (a *asm) flat(f Format) {
	op, at := a.op, &a.op.attr
	if a.l.has(fSeg) {
		a.put(fSeg, map[Format]uint32{FLAT: 0, SCRATCH: 1, GLOBAL: 2}[f])
	}
	null := a.null()
	if a.t.Gen <= GFX940 && f != FLAT {
		null = 0x7f
	}
	a.put(fSaddr, null)
	lds := at.lds&a.t.bit != 0 && a.flag("lds")
	if lds {
		a.put(fLds, 1)
	}
	lds = lds || at.p&pLDSOnly != 0
	if at.p&pNoAddr != 0 {
		a.cpol(f)
		return
	}
	// Operands that may be there: a destination of an atomic only with the bit that asks for it.
	atomic := op.Flags&FlagAtomic != 0
	want := 0
	if f != FLAT {
		want++
	}
	hasData := at.src[0].ty != TypeNone
	if hasData {
		want++
	}
	hasAddr := at.p&pAddTID == 0
	if hasAddr {
		want++
	}
	acc, returns := false, false
	if len(op.Dst) > 0 && !lds && (!atomic || len(a.line.args) > want) {
		acc = a.vector(fVdst)
		returns = atomic
	} else if atomic && len(a.line.args) < want && at.p&pAddTID == 0 {
		a.fail(errOperandMissing)
	}
	useV := false
	if hasAddr || a.peek() == "off" && len(a.line.args)-a.next > 1 {
		if s := a.peek(); s == "off" && f == SCRATCH {
			a.arg()
		} else {
			a.vector(fAddr)
			useV = true
		}
	}
	if hasData {
		acc = a.vector(fData) || acc
	}
	useS := false
	if f != FLAT {
		if s := a.arg(); s != "off" {
			c, ok := a.d.scalarReg(s)
			if !ok {
				a.fail(errOperandBad)
			}
			a.put(fSaddr, c)
			useS = true
		}
	}
	if f == SCRATCH {
		if useV && a.l.has(fSve) {
			a.put(fSve, 1)
		}
		if !useV && !useS && a.t.Gen == GFX10 {
			a.put(fSaddr, 0x7f)
		}
	}
	if acc {
		a.put(fAcc, 1)
	}
	if s, ok := a.value("offset"); ok {
		a.signedOffset(s)
	}
	a.cpol(f)
	if returns && a.t.Gen == GFX12 { // the cascading hints do not say it
		a.put(fTh, a.l.f[fTh].get(&a.w)|1)
	}
}

// buffer encodes untyped and typed buffer accesses.
func (a *asm) buffer() {
	op, at := a.op, &a.op.attr
	if at.p&pBare != 0 {
		a.cpol(MUBUF)
		return
	}
	lds := at.lds&a.t.bit != 0 && at.p&pLDSOnly == 0 && a.flag("lds")
	if lds {
		a.put(fLds, 1)
	}
	if at.p&pLDSOnly != 0 {
		lds = true
		if a.l.has(fLds) {
			a.put(fLds, 1)
			a.flag("lds")
		}
	}
	if a.t.Gen == GFX12 || a.l.has(fRsrc) {
		lds = lds || at.p&pLDSOnly != 0
	}
	if !lds && (len(op.Dst) > 0 || at.src[0].ty != TypeNone) && a.vector(fVdata) {
		a.put(fAcc, 1)
	}
	if !storeLDS(op) {
		if a.peek() == "off" {
			a.arg()
		} else {
			a.vector(fVaddr)
		}
	}
	c, ok := a.d.scalarReg(a.arg())
	if !ok {
		a.fail(errOperandBad)
	}
	if a.t.Gen != GFX12 {
		c >>= 2
	}
	a.put(fSrsrc, c)
	a.put(fSoffset, a.sourceCode(a.arg(), false))
	if op.Fmt == MTBUF {
		v, ok := a.bufferFormat()
		if !ok {
			a.fail(errModifier)
		}
		a.put(fFormat, v)
	} else if a.l.has(fFormat) && a.t.Gen == GFX12 {
		a.put(fFormat, 1) // as LLVM writes it
	}
	for _, x := range [...]struct {
		name string
		id   fieldID
	}{{"idxen", fIdxen}, {"offen", fOffen}, {"tfe", fTfe}} {
		if a.flag(x.name) {
			a.put(x.id, 1)
		}
	}
	if s, ok := a.value("offset"); ok {
		a.signedOffset(s)
	}
	a.cpol(MUBUF)
}

// bufferFormat reads the format of a typed buffer.
func (a *asm) bufferFormat() (uint32, bool) {
	s, ok := a.value("format")
	if !ok {
		return 1, true
	}
	if v, ok := parseNumber(s); ok {
		return uint32(v), true
	}
	s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	names := load().names()
	find := func(tab, s string) (uint32, bool) {
		for _, n := range names[tab] {
			if n.name == s && n.targets&a.t.bit != 0 {
				return n.value, true
			}
		}
		return 0, false
	}
	switch {
	case a.t.Gen >= GFX11:
		return find("ufmt11", s)
	case a.t.Gen == GFX10:
		return find("ufmt10", s)
	}
	v := uint32(1)
	for _, part := range strings.Split(s, ",") {
		part = strings.TrimSpace(part)
		if d, ok := find("dfmt", part); ok {
			v = v&^15 | d
		} else if n, ok := find("nfmt", part); ok {
			v |= n << 4
		} else {
			return 0, false
		}
	}
	return v, true
}

// graphics encodes exports, interpolation and LDS parameter loads.
func (a *asm) graphics() {
	op := a.op
	switch op.Fmt {
	case EXP:
		a.export()
	case VINTRP:
		a.vector(fVdst)
		if op.attr.imm == immSlot {
			a.put(fVsrc, a.imm(immSlot))
		} else {
			a.vector(fVsrc)
		}
		at, ch := a.attribute()
		a.put(fAttr, at)
		a.put(fChan, ch)
	case VINTERP:
		a.putVector(fVdst, a.halfOf(a.arg(), 3, F16))
		var neg uint32
		for i, id := range [...]fieldID{fSrc0, fSrc1, fSrc2} {
			m := a.source()
			if m.neg {
				neg |= 1 << i
			}
			a.put(id, a.sourceCode(a.halfOf(m.text, i, F16), false))
		}
		a.put(fNeg, neg)
		if a.flag("clamp") {
			a.put(fClamp, 1)
		}
		v, _ := a.listBits("op_sel")
		a.put(fOpSel, v|a.high)
		a.put(fWaitExp, uint32(a.number("wait_exp")))
	case LDSDIR:
		a.vector(fVdst)
		if len(op.Src) > 0 {
			at, ch := a.attribute()
			a.put(fAttr, at)
			a.put(fChan, ch)
		}
		if a.t.Gen == GFX12 {
			a.put(fWaitVA, uint32(a.number("wait_va_vdst")))
			a.put(fWaitVM, uint32(a.number("wait_vm_vsrc")))
			return
		}
		a.put(fWaitVA, uint32(a.number("wait_vdst")))
	}
}

// export encodes an EXP: "exp mrt0 v0, off, v2, v3 done".
func (a *asm) export() {
	// The target is not followed by a comma, so the first source stands among the modifiers.
	l := &a.line
	if len(l.args) == 0 || len(l.mods) == 0 {
		a.fail(errOperandMissing)
		return
	}
	l.args = append([]string{l.args[0], l.mods[0]}, l.args[1:]...)
	l.mods = l.mods[1:]
	s := a.arg()
	num := func(prefix string, add, most uint32) (uint32, bool) {
		n, ok := strings.CutPrefix(s, prefix)
		v, isNum := parseNumber(n)
		return uint32(v) + add, ok && isNum && v >= 0 && uint32(v) <= most
	}
	var tgt uint32
	ok := true
	switch {
	case s == "mrtz":
		tgt = 8
	case s == "null":
		tgt = 9
	case s == "prim":
		tgt = 20
	default:
		ok = false
		for _, x := range [...]struct {
			prefix    string
			add, most uint32
		}{{"mrt", 0, 7}, {"pos", 12, 4}, {"dual_src_blend", 21, 1}, {"param", 32, 31}, {"invalid_target_", 0, 63}} {
			if v, found := num(x.prefix, x.add, x.most); found {
				tgt, ok = v, true
				break
			}
		}
	}
	if !ok {
		a.fail(errOperandBad)
	}
	a.put(fTgt, tgt)
	compr := a.flag("compr")
	var en uint32
	for i, id := range [...]fieldID{fSrc0, fSrc1, fSrc2, fSrc3} {
		if a.peek() == "off" {
			a.arg()
			continue
		}
		en |= 1 << i
		if compr {
			id = [...]fieldID{fSrc0, fSrc0, fSrc1, fSrc1}[i]
		}
		a.vector(id)
	}
	a.put(fEn, en)
	for _, x := range [...]struct {
		on bool
		id fieldID
	}{{compr, fCompr}, {a.flag("done"), fDone}, {a.flag("vm"), fVm}, {a.flag("row_en"), fRow}} {
		if x.on {
			a.put(x.id, 1)
		}
	}
}
