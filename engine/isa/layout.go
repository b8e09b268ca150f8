package isa

import (
	"fmt"
	"strconv"
	"strings"
)

// fieldID names a bit field of an encoding. The same name means the same thing in every family.
type fieldID uint8

const (
	fOp fieldID = iota
	fOpY
	fSrc0
	fSrc1
	fSrc2
	fSrc3
	fVsrc1
	fVdst
	fSdst
	fSimm
	fAbs
	fNeg
	fNegHi
	fOpSel
	fOpSelHi
	fClamp
	fOmod
	fCbsz
	fAbid
	fBlgp
	fAcc
	fAccCD
	fSbase
	fSdata
	fSoe
	fImm
	fOffset
	fOffset0
	fOffset1
	fSoffset
	fGlc
	fSlc
	fDlc
	fScc
	fScope
	fTh
	fGds
	fAddr
	fData
	fData0
	fData1
	fLds
	fSve
	fSeg
	fSaddr
	fOffen
	fIdxen
	fVaddr
	fVdata
	fSrsrc
	fTfe
	fFormat
	fNsa
	fDim
	fDmask
	fUnorm
	fDa
	fR128
	fLwe
	fA16
	fD16
	fSsamp
	fRsrc
	fSamp
	fVaddr0
	fVaddr1
	fVaddr2
	fVaddr3
	fVaddr4
	fEn
	fTgt
	fCompr
	fDone
	fVm
	fRow
	fAttr
	fChan
	fVsrc
	fWaitExp
	fWaitVA
	fWaitVM
	fSrc0Y
	fVsrc1Y
	fVdstY
	fDstSel
	fDstUnused
	fSd
	fSel0
	fSel1
	fSext0
	fSext1
	fNeg0
	fNeg1
	fAbs0
	fAbs1
	fS0
	fS1
	fCtrl
	fFi
	fBc
	fBank
	fSel
	numFields
)

var fieldNames = map[string]fieldID{
	"op": fOp, "opy": fOpY, "src0": fSrc0, "src1": fSrc1, "src2": fSrc2, "src3": fSrc3, "vsrc1": fVsrc1,
	"vdst": fVdst, "sdst": fSdst, "simm": fSimm, "abs": fAbs, "neg": fNeg, "neghi": fNegHi, "opsel": fOpSel,
	"opselhi": fOpSelHi, "clamp": fClamp, "omod": fOmod, "cbsz": fCbsz, "abid": fAbid, "blgp": fBlgp, "acc": fAcc,
	"acccd": fAccCD, "sbase": fSbase, "sdata": fSdata, "soe": fSoe, "imm": fImm, "offset": fOffset,
	"offset0": fOffset0, "offset1": fOffset1, "soffset": fSoffset, "glc": fGlc, "slc": fSlc, "dlc": fDlc,
	"scc": fScc, "scope": fScope, "th": fTh, "gds": fGds, "addr": fAddr, "data": fData, "data0": fData0,
	"data1": fData1, "lds": fLds, "sve": fSve, "seg": fSeg, "saddr": fSaddr, "offen": fOffen, "idxen": fIdxen,
	"vaddr": fVaddr, "vdata": fVdata, "srsrc": fSrsrc, "tfe": fTfe, "format": fFormat, "nsa": fNsa, "dim": fDim,
	"dmask": fDmask, "unorm": fUnorm, "da": fDa, "r128": fR128, "lwe": fLwe, "a16": fA16, "d16": fD16,
	"ssamp": fSsamp, "rsrc": fRsrc, "samp": fSamp, "vaddr0": fVaddr0, "vaddr1": fVaddr1, "vaddr2": fVaddr2,
	"vaddr3": fVaddr3, "vaddr4": fVaddr4, "en": fEn, "tgt": fTgt, "compr": fCompr, "done": fDone, "vm": fVm,
	"row": fRow, "attr": fAttr, "chan": fChan, "vsrc": fVsrc, "waitexp": fWaitExp, "waitva": fWaitVA,
	"waitvm": fWaitVM, "src0y": fSrc0Y, "vsrc1y": fVsrc1Y, "vdsty": fVdstY, "dstsel": fDstSel,
	"dstunused": fDstUnused, "sd": fSd, "sel0": fSel0, "sel1": fSel1, "sext0": fSext0, "sext1": fSext1,
	"neg0": fNeg0, "neg1": fNeg1, "abs0": fAbs0, "abs1": fAbs1, "s0": fS0, "s1": fS1, "ctrl": fCtrl, "fi": fFi,
	"bc": fBc, "bank": fBank, "sel": fSel,
}

// field is where a bit field lies: one piece, or two whose second supplies the high bits.
type field struct {
	shift  uint8 // from bit 0 of the encoding; pieces do not cross bit 64
	width  uint8 // 0: the encoding has no such field
	shift2 uint8
	width2 uint8
	free   bool // ignored by hardware when an instruction does not use it
}

// words holds an encoding's first three words: lo has the first two.
type words struct{ lo, hi uint64 }

func (w words) bits(shift, width uint8) uint32 {
	if shift >= 64 {
		return uint32(w.hi>>(shift-64)) & (1<<width - 1)
	}
	return uint32(w.lo>>shift) & (1<<width - 1)
}

func (f *field) get(w *words) uint32 {
	var v uint32
	if f.shift < 64 {
		v = uint32(w.lo>>f.shift) & (1<<f.width - 1)
	} else {
		v = uint32(w.hi>>(f.shift-64)) & (1<<f.width - 1)
	}
	if f.width2 != 0 {
		v |= w.bits(f.shift2, f.width2) << f.width
	}
	return v
}

func (w *words) setBits(shift, width uint8, v uint32) {
	m := uint64(1)<<width - 1
	if shift >= 64 {
		w.hi = w.hi&^(m<<(shift-64)) | uint64(v)&m<<(shift-64)
		return
	}
	w.lo = w.lo&^(m<<shift) | uint64(v)&m<<shift
}

func (f *field) put(w *words, v uint32) {
	w.setBits(f.shift, f.width, v)
	if f.width2 != 0 {
		w.setBits(f.shift2, f.width2, v>>f.width)
	}
}

// mask returns the bits the field occupies.
func (f *field) mask() (m words) {
	if f.width != 0 {
		m.setBits(f.shift, f.width, ^uint32(0))
	}
	if f.width2 != 0 {
		m.setBits(f.shift2, f.width2, ^uint32(0))
	}
	return m
}

// layout is one line of tab/formats.isa for one generation.
type layout struct {
	fmt       Format
	size      uint8
	preShift  uint8
	preWidth  uint8
	preValue  uint32
	f         [numFields]field
	any       words // bits that never matter
	opW       uint8 // total width of the opcode
	name      string
	secondary bool // an SDWA or DPP word

	// For plans: the bits of the encoding's words, the opcode (split ones have none), and the family by fSeg.
	keep     uint64
	opShift  uint8
	segShift uint8
	segMask  uint8
	planned  bool
	opMask   uint16
	families [4]Format
}

func (l *layout) has(id fieldID) bool { return l.f[id].width != 0 }

var formatNames = map[string]Format{
	"SOP2": SOP2, "SOPK": SOPK, "SOP1": SOP1, "SOPC": SOPC, "SOPP": SOPP, "SMEM": SMEM, "VOP2": VOP2, "VOP1": VOP1,
	"VOPC": VOPC, "VOP3": VOP3, "VOP3P": VOP3P, "VOPD": VOPD, "DS": DS, "FLAT": FLAT, "GLOBAL": GLOBAL,
	"SCRATCH": SCRATCH, "MUBUF": MUBUF, "MTBUF": MTBUF, "MIMG": MIMG, "EXP": EXP, "VINTRP": VINTRP,
	"LDSDIR": LDSDIR, "VINTERP": VINTERP, "VIMAGE": VIMAGE, "VSAMPLE": VSAMPLE,
}

// String returns the family's name as the ISA manuals write it.
func (f Format) String() string {
	for n, v := range formatNames {
		if v == f {
			return n
		}
	}
	return "INVALID"
}

var genNames = map[string]Gen{"9": GFX9, "94": GFX940, "10": GFX10, "11": GFX11, "12": GFX12}

// parseBits reads "hi:lo".
func parseBits(s string) (shift, width uint8, err error) {
	h, l, ok := strings.Cut(s, ":")
	hi, err1 := strconv.Atoi(h)
	lo, err2 := strconv.Atoi(l)
	if !ok || err1 != nil || err2 != nil || hi < lo || hi > 95 || hi-lo > 31 {
		return 0, 0, fmt.Errorf("bad bit range %q", s)
	}
	return uint8(lo), uint8(hi - lo + 1), nil
}

// parseFormats reads tab/formats.isa: layouts by generation, in the order of the file.
func parseFormats(text string) (out [NumGens][]*layout, err error) {
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		w := strings.Fields(line)
		if len(w) == 0 {
			continue
		}
		l, gens, err := parseFormat(w)
		if err != nil {
			return out, fmt.Errorf("formats.isa:%d: %w", n+1, err)
		}
		for _, g := range gens {
			out[g] = append(out[g], l)
		}
	}
	return out, nil
}

func parseFormat(w []string) (*layout, []Gen, error) {
	if len(w) < 5 {
		return nil, nil, fmt.Errorf("short line")
	}
	var gens []Gen
	for _, s := range strings.Split(w[0], ",") {
		g, ok := genNames[s]
		if !ok {
			return nil, nil, fmt.Errorf("unknown generation %q", s)
		}
		gens = append(gens, g)
	}
	l := &layout{name: w[1]}
	l.fmt = formatNames[w[1]]
	l.secondary = w[2] == "-"
	if !l.secondary {
		r, v, _ := strings.Cut(w[2], "=")
		var err error
		if l.preShift, l.preWidth, err = parseBits(r); err != nil {
			return nil, nil, err
		}
		x, err := strconv.ParseUint(v, 16, 32)
		if err != nil {
			return nil, nil, err
		}
		l.preValue = uint32(x)
	}
	size, err := strconv.Atoi(w[3])
	if err != nil {
		return nil, nil, err
	}
	l.size = uint8(size)
	for _, s := range w[4:] {
		name, r, _ := strings.Cut(s, "=")
		if name == "any" {
			for _, p := range strings.Split(r, ",") {
				a, b, _ := strings.Cut(p, ":")
				if x, _ := strconv.Atoi(a); b != "" {
					if y, _ := strconv.Atoi(b); x < y { // written low:high
						p = b + ":" + a
					}
				}
				sh, wd, err := parseBits(p)
				if err != nil {
					return nil, nil, err
				}
				l.any.setBits(sh, wd, ^uint32(0))
			}
			continue
		}
		free := strings.HasSuffix(name, "?")
		id, ok := fieldNames[strings.TrimSuffix(name, "?")]
		if !ok {
			return nil, nil, fmt.Errorf("unknown field %q", name)
		}
		f := &l.f[id]
		f.free = free
		lo, hi, two := strings.Cut(r, "+")
		if f.shift, f.width, err = parseBits(lo); err != nil {
			return nil, nil, err
		}
		if two {
			if f.shift2, f.width2, err = parseBits(hi); err != nil {
				return nil, nil, err
			}
		}
	}
	l.opW = l.f[fOp].width + l.f[fOp].width2
	l.prepare()
	return l, gens, nil
}

// prepare fills in what plans need.
func (l *layout) prepare() {
	l.keep = ^uint64(0)
	if l.size == 4 {
		l.keep = 1<<32 - 1
	}
	op, seg := &l.f[fOp], &l.f[fSeg]
	l.planned = l.size <= 8 && op.width2 == 0 && l.fmt != VOPD
	l.opShift, l.opMask = op.shift, 1<<op.width-1
	l.families = [4]Format{l.fmt, l.fmt, l.fmt, l.fmt}
	if seg.width != 0 {
		l.segShift, l.segMask = seg.shift, 3
		l.families = [4]Format{FLAT, SCRATCH, GLOBAL, FormatInvalid}
	}
}
