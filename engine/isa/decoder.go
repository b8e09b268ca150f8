package isa

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// decoder is a target's compiled tables.
type decoder struct {
	t       *Target
	gen     Gen
	index   [1024][]*layout // by bits 31:22 of the first word
	one     [1024]*layout   // the only candidate, when there is just one
	tab     [NumFormats][]entry
	vopdX   [16]*Op
	vopdY   [32]*Op
	sdwa    *layout
	dpp16   *layout
	dpp8    *layout
	lay     [NumFormats]*layout
	sreg    [128]uint16 // canonical number of a scalar code, 0xffff where reserved
	maxSGPR uint32
	vop1    uint32 // VOP3 opcode of VOP1 opcode 0
	is90a   bool   // gfx90a and gfx940: acc bits, no TFE
	is940   bool
	lit64   bool // VOP3 may have a literal
	tables  operandTables
}

const badSReg = 0xffff

// lazyDecoder is a decoder that is built when it is first wanted: a process runs code of one target, or of a few.
type lazyDecoder struct {
	once  sync.Once
	d     atomic.Pointer[decoder]
	build func() (*decoder, error)
}

// decoder returns the target's tables.
func (t *Target) decoder() *decoder {
	if t.dec == nil {
		return nil
	}
	if d := t.dec.d.Load(); d != nil {
		return d
	}
	return t.dec.get(t)
}

func (l *lazyDecoder) get(t *Target) *decoder {
	l.once.Do(func() {
		d, err := l.build()
		if err != nil {
			panic("isa: embedded tables: " + t.Name + ": " + err.Error()) // they are part of the program; the tests build all
		}
		l.d.Store(d)
	})
	return l.d.Load()
}

// setDecoder gives the target its tables, to be built from tb, and the target of the other wave size.
func setDecoder(t *Target, layouts func() ([NumGens][]*layout, error), tb *tables) {
	base := *t
	t.dec = &lazyDecoder{build: func() (*decoder, error) {
		l, err := layouts()
		if err != nil {
			return nil, err
		}
		return buildDecoder(&base, l[base.Gen], tb)
	}}
	t.maskN = 2
	if t.Wave32 {
		w64 := *t
		t.maskN = 1
		t.wave64 = &w64
		w64.wave32 = t
	}
}

func buildDecoder(t *Target, layouts []*layout, tb *tables) (*decoder, error) {
	d := &decoder{t: t, gen: t.Gen}
	d.is940 = t.Gen == GFX940
	d.is90a = t.UnifiedAcc
	d.lit64 = t.Gen >= GFX10
	d.vop1 = 0x180
	if t.Gen <= GFX940 {
		d.vop1 = 0x140
	}
	for _, l := range layouts {
		if l.secondary {
			switch l.name {
			case "SDWA":
				d.sdwa = l
			case "DPP16":
				d.dpp16 = l
			case "DPP8":
				d.dpp8 = l
			}
			continue
		}
		d.lay[l.fmt] = l
		if l.fmt == FLAT && l.has(fSeg) {
			d.lay[GLOBAL], d.lay[SCRATCH] = l, l
		}
		for i := range d.index {
			sh, w := l.preShift, l.preWidth
			if sh < 22 {
				return nil, fmt.Errorf("%s: prefix reaches below bit 22", l.name)
			}
			if uint32(i)>>(sh-22)&(1<<w-1) == l.preValue {
				d.index[i] = append(d.index[i], l)
			}
		}
	}
	if d.lay[MUBUF] != nil && t.Gen == GFX12 {
		d.lay[MTBUF] = d.lay[MUBUF]
	}
	for i := range d.index {
		if len(d.index[i]) > 0 {
			d.one[i] = d.index[i][0]
		}
	}
	d.buildSRegs()
	ops, err := tb.ops(t)
	if err != nil {
		return nil, err
	}
	var room [NumFormats]int
	for _, op := range ops {
		room[op.Fmt] = max(room[op.Fmt], int(op.Code[t.Gen])+1)
	}
	for f, n := range room {
		d.tab[f] = make([]entry, 0, n)
	}
	for _, op := range ops {
		code := int(op.Code[t.Gen])
		if err := d.place(op.Fmt, code, op); err != nil {
			return nil, err
		}
		if op.attr.p&pNo64 != 0 {
			continue
		}
		switch op.Fmt {
		case VOPC:
			code += 0
		case VOP2:
			code += 0x100
		case VOP1:
			code += int(d.vop1)
		default:
			continue
		}
		if err := d.place(VOP3, code, op); err != nil {
			return nil, err
		}
	}
	if t.Gen >= GFX11 {
		if err := d.buildVOPD(ops); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// place puts a row into its opcode slot.
func (d *decoder) place(f Format, code int, op *Op) error {
	for len(d.tab[f]) <= code {
		d.tab[f] = append(d.tab[f], entry{})
	}
	e := &d.tab[f][code]
	if e.op != nil {
		return fmt.Errorf("%v opcode %#x: both %s and %s", f, code, e.op.Name, op.Name)
	}
	l := d.lay[f]
	if l == nil {
		return fmt.Errorf("%v: no layout for %s", f, op.Name)
	}
	e.op = op
	e.mbz = d.mustBeZero(f, l, op)
	return nil
}

// lookup returns the row in an opcode slot.
func (d *decoder) lookup(f Format, code uint32) *entry {
	if tab := d.tab[f]; code < uint32(len(tab)) && tab[code].op != nil {
		return &tab[code]
	}
	return nil
}

// buildSRegs fills in the canonical numbers of the scalar codes 0..127.
func (d *decoder) buildSRegs() {
	d.maxSGPR = 105
	if d.gen <= GFX940 {
		d.maxSGPR = 101
	}
	for i := range d.sreg {
		d.sreg[i] = badSReg
		switch c := uint32(i); {
		case c <= d.maxSGPR, c >= SRegVCCLo && c < SRegTTMP0+16, c >= SRegEXECLo:
			d.sreg[i] = uint16(c)
		}
	}
	d.sreg[124], d.sreg[125] = SRegM0, SRegNull
	if d.gen >= GFX11 {
		d.sreg[124], d.sreg[125] = SRegNull, SRegM0
	}
	if d.gen <= GFX940 {
		d.sreg[102], d.sreg[103] = SRegFlatScratchLo, SRegFlatScratchHi
		d.sreg[104], d.sreg[105] = SRegXnackMaskLo, SRegXnackMaskHi
	}
}

// buildVOPD reads tab/vopd.isa; ops are the target's rows.
func (d *decoder) buildVOPD(ops []*Op) error {
	byName := map[string]*Op{}
	for _, op := range ops {
		if op.Fmt == VOP2 || op.Fmt == VOP1 {
			for _, older := range op.Aliases {
				byName[older] = op
			}
		}
	}
	for _, op := range ops { // older spellings never hide a canonical name
		if op.Fmt == VOP2 || op.Fmt == VOP1 {
			byName[op.Name] = op
		}
	}
	var w []string
	for i, line := range lines(readTab("vopd.isa")) {
		if w = fields(w[:0], line); len(w) != 3 {
			return fmt.Errorf("vopd.isa:%d: want name, x, y", i)
		}
		op := byName[w[0]]
		if op == nil {
			continue // other targets have it
		}
		for j, s := range w[1:] {
			if s == "-" {
				continue
			}
			v, err := strconv.ParseUint(s, 16, 8)
			if err != nil || v > 31 || j == 0 && v > 15 {
				return fmt.Errorf("vopd.isa:%d: bad opcode %q", i, s)
			}
			if j == 0 {
				d.vopdX[v] = op
			}
			d.vopdY[v] = op
			if j == 0 && w[2] == "-" {
				d.vopdY[v] = nil
			}
		}
	}
	return nil
}

// mustBeZero returns the bits of an encoding that an instruction leaves unused and that are not free.
func (d *decoder) mustBeZero(f Format, l *layout, op *Op) words {
	a := &op.attr
	all := words{lo: 1<<32 - 1}
	if l.size >= 8 {
		all.lo = ^uint64(0)
	}
	if l.size >= 12 {
		all.hi = 1<<32 - 1
	}
	var used words
	or := func(m words) { used.lo |= m.lo; used.hi |= m.hi }
	or(l.any)
	pre := field{shift: l.preShift, width: l.preWidth}
	or(pre.mask())
	use := func(ids ...fieldID) {
		for _, id := range ids {
			or(l.f[id].mask())
		}
	}
	part := func(id fieldID, bit uint8) { // one bit of a field
		if w := l.f[id]; w.width > bit {
			m := field{shift: w.shift + bit, width: 1}
			or(m.mask())
		}
	}
	use(fOp)
	for id := range l.f {
		if l.f[id].free {
			or(l.f[id].mask())
		}
	}
	nsrc := len(op.Src)
	switch f {
	case SOP1, SOP2, SOPC, SOPK:
		use(fSdst, fSrc0, fSrc1, fSimm)
	case SOPP:
		if nsrc > 0 {
			use(fSimm)
		}
	case VOP1, VOP2, VOPC:
		use(fVsrc1, fSrc0)
		if len(op.Dst) > 0 {
			use(fVdst)
		}
	case VOP3:
		d.usedVOP3(op, l, use, part, &used)
	case VOP3P:
		d.usedVOP3P(op, l, use, part)
	case SMEM:
		use(fSbase, fSdata, fSoe, fImm, fOffset, fSoffset, fGlc, fDlc, fScope, fTh)
		if a.p&pNoCpol != 0 && d.gen == GFX11 {
			used.lo &^= l.f[fGlc].mask().lo | l.f[fDlc].mask().lo
		}
		if nsrc == 0 { // no address: the bits hardware looks at are few
			used = words{lo: ^uint64(0)}
			for _, id := range [...]fieldID{fImm, fDlc, fGlc} {
				if id == fImm || d.gen == GFX11 {
					used.lo &^= l.f[id].mask().lo
				}
			}
		}
	case DS:
		if dsData(op) > 0 || len(op.Dst) > 0 {
			use(fAcc)
		}
		if a.p&(pOff|pTwo|pSwizzle) != 0 {
			use(fOffset0, fOffset1)
		}
		if a.p&pNoGDS == 0 {
			use(fGds)
		}
		n := dsData(op)
		if n < len(op.Src) || n > 0 && gws(op) {
			use(fAddr)
		}
		if n >= 1 && !gws(op) {
			use(fData0)
		}
		if n >= 2 {
			use(fData1)
		}
		if len(op.Dst) > 0 {
			use(fVdst)
		}
	case FLAT, GLOBAL, SCRATCH:
		use(fOffset, fLds, fSve, fSeg, fGlc, fSlc, fDlc, fScc, fScope, fTh, fAddr, fData, fSaddr, fAcc, fVdst)
		if a.p&pNoAddr != 0 {
			used.lo &^= l.f[fSve].mask().lo
		}
	case MUBUF, MTBUF:
		if a.p&pBare != 0 {
			used = words{lo: ^uint64(0), hi: ^uint64(0)}
			for _, id := range [...]fieldID{fTfe, fLds, fIdxen, fOffen, fGlc, fDlc, fScc} {
				if a.p&pCpol != 0 && (id == fGlc || id == fDlc || id == fScc) {
					continue
				}
				used.lo &^= l.f[id].mask().lo
			}
			break
		}
		use(fOffset, fOffen, fIdxen, fGlc, fSlc, fDlc, fLds, fVaddr, fVdata, fSrsrc, fRsrc, fSoffset, fTfe, fScope, fTh,
			fFormat)
		use(fScc)
		if f == MUBUF || d.is90a {
			use(fAcc)
		}
	case MIMG, VIMAGE, VSAMPLE:
		usedImage(d, op, l, use)
	case EXP:
		use(fEn, fTgt, fCompr, fDone, fVm, fRow, fSrc0, fSrc1, fSrc2, fSrc3)
	case VINTRP:
		use(fVdst, fAttr, fChan, fVsrc)
	case VINTERP:
		use(fVdst, fWaitExp, fClamp, fSrc0, fSrc1, fSrc2, fNeg)
		if a.p&pOpSel != 0 {
			use(fOpSel)
		}
	case LDSDIR:
		use(fVdst, fAttr, fChan, fWaitVA, fWaitVM)
	default:
		return words{}
	}
	if a.noSCC&d.t.bit != 0 && d.gen == GFX9 {
		used.lo &^= l.f[fScc].mask().lo
	}
	return words{lo: all.lo &^ used.lo, hi: all.hi &^ used.hi}
}

// gws says whether a DS row is a global wave sync one, whose data is in the address field.
func gws(op *Op) bool { return strings.HasPrefix(op.Name, "ds_gws_") }

// dsData returns how many data operands a DS row has.
func dsData(op *Op) int {
	n := len(op.Src)
	for _, s := range op.Src {
		if s.Name == "addr" {
			n--
		}
	}
	return n
}

// valuSources returns how many of the VOP3 source fields a row uses.
func valuSources(op *Op) int {
	n := 0
	for i := range op.attr.src {
		if op.attr.src[i].ty != TypeNone || op.attr.src[i].imm != immNone {
			n = i + 1
		}
	}
	return n
}

func (d *decoder) usedVOP3(op *Op, l *layout, use func(...fieldID), part func(fieldID, uint8), used *words) {
	a := &op.attr
	if interp(op) {
		usedInterp(op, use, part)
		return
	}
	n := valuSources(op)
	srcs := [3]fieldID{fSrc0, fSrc1, fSrc2}
	for i := 0; i < n && i < 3; i++ {
		use(srcs[i])
	}
	threeB := op.Fmt != VOPC && len(op.Dst) == 2 && a.dst[1].ty == MaskT
	cmpx := op.Fmt == VOPC && op.Flags&FlagWritesEXEC != 0 && d.gen >= GFX10
	if len(op.Dst) > 0 || cmpx {
		use(fVdst)
	}
	for i := uint8(0); i < 3; i++ {
		m := a.mods[i]
		if m == modNone || int(i) >= n {
			continue
		}
		part(fNeg, i)
		if !threeB {
			part(fAbs, i)
		}
	}
	if threeB {
		use(fSdst)
	}
	if a.p&pClamp != 0 {
		use(fClamp)
	}
	if a.p&pOmod != 0 {
		use(fOmod)
	}
	opsel := l.f[fOpSel]
	if a.p&pBitop3 != 0 {
		used.lo &^= opsel.mask().lo
		use(fOmod, fAbs, fNeg)
	}
	if a.p&pFIBC != 0 {
		used.lo &^= opsel.mask().lo
		part(fOpSel, 0)
		part(fOpSel, 1)
		return
	}
	if a.p&(pOpSel|pByteSel) != 0 && !threeB { // the unused bits of a real op_sel must be zero
		m := opsel.mask()
		used.lo &^= m.lo
		if a.p&pByteSel != 0 {
			lo := uint8(2)
			if n == 1 {
				lo = 0
			}
			part(fOpSel, lo)
			part(fOpSel, lo+1)
			return
		}
		for i := 0; i < n && i < 3; i++ {
			part(fOpSel, uint8(i))
		}
		part(fOpSel, 3)
	}
}

// interp says whether the row is one of the interpolation instructions in VOP3 form, whose sources are moved by one.
func interp(op *Op) bool { return op.Fmt == VOP3 && (op.attr.imm == immAttr || op.attr.imm == immSlot) }

func usedInterp(op *Op, use func(...fieldID), part func(fieldID, uint8)) {
	for i := uint8(0); i < 8; i++ {
		part(fSrc0, i)
	}
	if op.attr.p&pHigh != 0 {
		part(fSrc0, 8)
	}
	use(fVdst, fSrc1)
	k := uint8(0)
	for i := range op.Src {
		if op.attr.src[i].imm == immNone {
			if k++; k == 2 {
				use(fSrc2)
			}
			part(fNeg, k)
			part(fAbs, k)
		}
	}
	if op.attr.p&pClamp != 0 {
		use(fClamp)
	}
	if op.attr.p&pOmod != 0 {
		use(fOmod)
	}
}

func (d *decoder) usedVOP3P(op *Op, l *layout, use func(...fieldID), part func(fieldID, uint8)) {
	a := &op.attr
	srcs := [3]fieldID{fSrc0, fSrc1, fSrc2}
	n := valuSources(op)
	for i := 0; i < n && i < 3; i++ {
		use(srcs[i])
	}
	if len(op.Dst) > 0 {
		use(fVdst)
	}
	if op.Flags&FlagMFMA != 0 || a.p&(pCbsz) != 0 {
		if l.has(fCbsz) {
			use(fCbsz, fAccCD, fAcc)
			if a.p&pF8F6F4 == 0 || a.p&pOpSel != 0 {
				use(fAbid)
			}
			if a.p&pBlgp != 0 {
				use(fBlgp)
			}
			return
		}
	}
	if l.has(fAcc) && strings.HasPrefix(op.Name, "v_accvgpr") {
		use(fAcc, fAccCD)
		part(fAbid, 3)
		return
	}
	if n < 3 && op.Flags&FlagMFMA == 0 {
		for i := uint8(0); int(i) < n; i++ {
			if a.p&pNegLo != 0 {
				part(fNeg, i)
				part(fNegHi, i)
			}
			part(fOpSel, i)
		}
		use(fOpSelHi) // its third bit is ignored
	} else {
		use(fNeg, fNegHi, fOpSel, fOpSelHi)
	}
	if a.p&pClamp != 0 {
		use(fClamp)
	}
}
