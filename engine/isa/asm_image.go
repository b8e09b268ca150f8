package isa

import "strings"

// image encodes image instructions: "image_load v[0:3], [v4, v5], s[0:7] dmask:0xf dim:SQ_RSRC_IMG_2D".
func (a *asm) image(f Format) {
	p := a.op.attr.p
	if a.vector(fVdata) { // an AccVGPR, on gfx90a: its bit is where others have TFE
		if !a.d.is90a {
			a.fail(errOperandBad)
		}
		a.put(fTfe, 1)
	}
	a.imageAddress(f)
	c, ok := a.d.scalarReg(a.arg())
	if !ok {
		a.fail(errOperandBad)
	}
	if f == MIMG {
		a.put(fSrsrc, c>>2)
	} else {
		a.put(fRsrc, c)
	}
	if p&pSampler != 0 {
		c, ok := a.d.scalarReg(a.arg())
		if !ok {
			a.fail(errOperandBad)
		}
		if f == MIMG {
			a.put(fSsamp, c>>2)
		} else {
			a.put(fSamp, c)
		}
	}
	if p&pBVH != 0 { // these are fixed, and not spelled
		a.put(fDmask, 15)
		a.put(fR128, 1)
		if f == MIMG {
			a.put(fUnorm, 1)
		}
	} else {
		a.put(fDmask, uint32(a.number("dmask")))
		if s, ok := a.value("dim"); ok {
			a.put(fDim, a.dim(s))
		}
		a.cpol(f)
	}
	a16 := fA16
	if a.t.Gen <= GFX940 {
		a16 = fR128
	}
	for _, x := range [...]struct {
		name string
		id   fieldID
	}{{"unorm", fUnorm}, {"r128", fR128}, {"a16", a16}, {"tfe", fTfe}, {"lwe", fLwe}, {"da", fDa}, {"d16", fD16}} {
		if p&pBVH != 0 && x.name != "a16" {
			continue
		}
		if a.flag(x.name) {
			a.put(x.id, 1)
		}
	}
}

// dim returns the number of an image shape.
func (a *asm) dim(s string) uint32 {
	name := strings.TrimPrefix(s, "SQ_RSRC_IMG_")
	for i := range dims {
		if dims[i].name == name {
			return uint32(i)
		}
	}
	a.fail(errModifier)
	return 0
}

// imageAddress encodes the address: registers in a row, or a list of them.
func (a *asm) imageAddress(f Format) {
	s := a.arg()
	list := []string{s}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		list = nil
		for _, w := range strings.Split(strings.TrimSuffix(inner, "]"), ",") {
			list = append(list, strings.TrimSpace(w))
		}
	}
	var regs []uint32
	for _, w := range list {
		r, _, acc, half, ok := vectorReg(w)
		if !ok || acc || half {
			a.fail(errOperandBad)
		}
		regs = append(regs, r)
	}
	if f != MIMG {
		fields := []fieldID{fVaddr0, fVaddr1, fVaddr2, fVaddr3, fVaddr4}
		if len(regs) > len(fields) {
			a.fail(errOperandTooMany)
			return
		}
		for i, r := range regs {
			a.put(fields[i], r)
		}
		return
	}
	a.put(fVaddr, regs[0])
	words := (len(regs) + 2) / 4
	if words == 0 {
		return
	}
	a.put(fNsa, uint32(words))
	more := make([]uint32, words)
	for i, r := range regs[1:] {
		more[i/4] |= r << (8 * (i % 4))
	}
	a.tail = append(a.tail, more...)
}
