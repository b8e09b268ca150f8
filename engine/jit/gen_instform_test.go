//go:build linux && amd64

package jit

import (
	"strings"

	"github.com/pumice-gpu/pumice/engine/isa"
)

// e32 is the 32-bit form, with a second word perhaps.
func (g *instGen) e32(op *isa.Op, form string) {
	code := uint32(op.Code[g.t.Gen])
	s0, s1, d := specN(op.Src, 0), specN(op.Src, 1), specN(op.Dst, 0)
	var src0 uint32
	next := g.literal()
	switch form {
	case "sdwa":
		src0, next = 249, g.sdwaWord(op)
	case "dpp":
		src0, next = 250, g.dppWord(s0.Type, int(s0.N))
	case "dpp8":
		src0, next = 233+g.r.Uint32N(2), g.r.Uint32()&^0xff|g.vsrc(s0.Type, int(s0.N))&^128
	default:
		src0 = g.src9(s0)
		if src0 >= 256 && g.t.Gen >= isa.GFX11 && is16Bits(s0.Type) && g.one(3) {
			src0 |= 128
		}
	}
	vsrc1 := g.vsrc(s1.Type, int(s1.N))
	dst := g.vdst(d.Type, int(d.N))
	if g.t.Gen >= isa.GFX11 && is16Bits(d.Type) && g.one(3) {
		dst |= 128
	}
	if strings.Contains(op.Name, "accvgpr") {
		src0, dst = 256+g.r.Uint32N(instAcc), g.r.Uint32N(instAcc)
	}
	switch op.Fmt {
	case isa.VOP1:
		if len(op.Src) == 0 {
			src0, dst = 0, 0
		}
		g.words[0] = 0x3f<<25 | dst<<17 | code<<9 | src0
	case isa.VOP2:
		g.words[0] = code<<25 | dst<<17 | vsrc1<<9 | src0
		if form == "sdwa" && g.words[1]>>31 == 0 && next>>31 != 0 {
			g.words[0] = g.words[0]&^(0xff<<9) | (g.ssrc(s1.Type, 1)&0xff)<<9
		}
	default:
		g.words[0] = 0x3e<<25 | code<<17 | vsrc1<<9 | src0
	}
	g.words[1] = next
}

// e64 is the 64-bit form.
func (g *instGen) e64(op *isa.Op, dpp bool) {
	code := uint32(op.Code[g.t.Gen])
	switch op.Fmt {
	case isa.VOP1:
		if code += 0x180; g.t.Gen <= isa.GFX940 {
			code -= 0x40
		}
	case isa.VOP2:
		code += 0x100
	}
	prefix := uint32(0x35 << 26)
	if g.t.Gen <= isa.GFX940 {
		prefix = 0x34 << 26
	}
	d := specN(op.Dst, 0)
	w0 := prefix | code<<16
	switch {
	case op.Fmt == isa.VOPC:
		w0 |= g.sdst(2)
		if g.t.Gen >= isa.GFX10 && op.Flags&isa.FlagWritesEXEC != 0 {
			w0 = w0&^0xff | 126
		}
	case d.Name == "sdst":
		w0 |= g.sdst(int(d.N))
	default:
		w0 |= g.vdst(d.Type, int(d.N))
	}
	threeB := op.Fmt != isa.VOPC && len(op.Dst) == 2 && op.Dst[1].Type == isa.MaskT
	if threeB {
		w0 |= g.sdst(2) << 8
	} else {
		w0 |= g.bits(3, 3)<<8 | g.bits(4, 2)<<11
	}
	w0 |= g.bits(1, 4) << 15
	var src [3]uint32
	for i := range src {
		if i < len(op.Src) {
			src[i] = g.src9(op.Src[i])
		}
	}
	if len(op.Src) == 3 && g.one(4) { // one of them twice
		src[g.r.IntN(3)] = src[g.r.IntN(3)]
	}
	if n := len(op.Src); op.Fmt == isa.VOP2 && n == 2 || op.Fmt == isa.VOP1 || op.Fmt == isa.VOPC {
		src[2] = 0
	}
	g.words[2] = g.literal()
	if dpp {
		s0 := specN(op.Src, 0)
		if src[0] = 250; g.one(3) {
			src[0], g.words[2] = 233+g.r.Uint32N(2), g.r.Uint32()&^0xff|g.vsrc(s0.Type, 1)&^128
		} else {
			g.words[2] = g.dppWord(s0.Type, int(s0.N))
		}
	}
	w1 := src[0] | src[1]<<9 | src[2]<<18 | g.bits(2, 4)<<27 | g.bits(3, 2)<<29
	if strings.HasPrefix(op.Name, "v_bitop3") {
		w0 = w0&^(7<<8) | g.r.Uint32N(8)<<8
		w1 = w1&^(0x1f<<27) | g.r.Uint32N(32)<<27
	}
	g.words[0], g.words[1] = w0, w1
}

// packed is VOP3P.
func (g *instGen) packed(op *isa.Op) {
	prefix := uint32(0xcc << 24)
	if g.t.Gen <= isa.GFX940 {
		prefix = 0x1a7 << 23
	}
	d := specN(op.Dst, 0)
	w0 := prefix | uint32(op.Code[g.t.Gen])<<16 | g.vdst(d.Type, int(d.N)) | g.bits(3, 3)<<8 | g.bits(3, 2)<<11 | g.bits(1, 4)<<15
	hi := uint32(7) // op_sel_hi
	if g.one(2) && !g.plain {
		hi = g.r.Uint32N(8)
	}
	w0 |= hi >> 2 << 14
	w1 := hi&3<<27 | g.bits(3, 3)<<29
	for i := range op.Src {
		w1 |= g.src9(op.Src[i]) << (9 * i)
	}
	if strings.Contains(op.Name, "accvgpr") {
		acc := g.r.Uint32N(instAcc)
		w0 = prefix | uint32(op.Code[g.t.Gen])<<16 | 1<<14
		if w1 = 3<<27 | g.src9(op.Src[0]); strings.Contains(op.Name, "write") {
			w0 |= acc
		} else {
			w0, w1 = w0|g.vdst(isa.B32, 1), 3<<27|256|acc
		}
		if g.one(2) {
			w0, w1 = w0&^(1<<14), w1&^(3<<27)
		}
	}
	g.words[0], g.words[1], g.words[2] = w0, w1, g.literal()
}

// scalarWords is one of the SALU's.
func (g *instGen) scalarWords(op *isa.Op) {
	code := uint32(op.Code[g.t.Gen])
	s0, s1, d := specN(op.Src, 0), specN(op.Src, 1), specN(op.Dst, 0)
	dst := uint32(0)
	if len(op.Dst) > 0 {
		dst = g.sdst(int(d.N))
	}
	var a, b uint32
	if len(op.Src) > 0 {
		a = g.ssrc(s0.Type, int(s0.N))
	}
	if len(op.Src) > 1 {
		b = g.ssrc(s1.Type, int(s1.N))
	}
	if a == 255 && b == 255 {
		b = 128
	}
	g.words[1] = g.literal()
	switch op.Fmt {
	case isa.SOP1:
		g.words[0] = 0x17d<<23 | dst<<16 | code<<8 | a
	case isa.SOP2:
		g.words[0] = 2<<30 | code<<23 | dst<<16 | b<<8 | a
	case isa.SOPC:
		g.words[0] = 0x17e<<23 | code<<16 | b<<8 | a
	case isa.SOPK:
		if len(op.Dst) == 0 {
			dst = a & 127
		}
		g.words[0] = 0xb<<28 | code<<23 | dst<<16 | g.r.Uint32N(1<<16)
		if g.one(2) {
			g.words[0] = g.words[0]&^0xffff | []uint32{0, 1, 0xffff, 0x7fff, 0x8000, 0x20}[g.r.IntN(6)]
		}
	}
}

// vopd is a dual-issue pair.
func (g *instGen) vopd() {
	r := g.r
	v := func() uint32 { return g.vsrc(isa.F32, 1) }
	src := func() uint32 {
		if g.one(4) {
			return g.ssrc(isa.F32, 1)
		}
		return 256 + v()
	}
	op, opy := r.Uint32N(13), r.Uint32N(19)
	g.words[0] = 0x32<<26 | op<<22 | opy<<17 | v()<<9 | src()
	if op == 8 {
		g.words[0] &^= 0xff << 9
	}
	g.words[1] = src() | v()<<9 | g.vdst(isa.F32, 1)>>1<<17 | g.vdst(isa.F32, 1)<<24
	if opy == 8 {
		g.words[1] &^= 0xff << 9
	}
	g.words[2] = g.literal()
}
