package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
	"github.com/pumice-gpu/pumice/engine/lane"
)

// matOperand is A or B of a matrix operation, and its table in the frame.
type matOperand struct {
	arg   ir.ID
	kind  ir.Kind
	n, k  int     // rows (of B columns) and elements of one
	entry []int32 // which entry element e of strip q's lanes is, by e*strips+q; of lane 0 of the strip; -1: none
	words int     // registers with elements; a register of indices or scales may follow
	bit   uint8   // its own in the modifiers

	at    int32 // the table
	size  int32 // bytes of an entry
	step  int32 // bytes from a step of k to the next
	row   int32 // bytes from a row to the next
	side  int32 // from an entry to its exponent (matTrunc)
	index int32 // from an entry of a sparse A to its index, in bytes of B's table
	shift []uint8
	perm  x86.Label // where each lane is taken from, if permuted
	moved bool
}

// planOperands lays out the tables, one behind the other from x.tc on, which it moves.
func (x *matrix) planOperands() bool {
	c, m := x.c, x.m
	x.a = matOperand{arg: x.v.Args[0], kind: m.A, n: m.M, k: m.K, bit: 1}
	x.b = matOperand{arg: x.v.Args[1], kind: m.B, n: m.N, k: m.K, bit: 2}
	x.a.words, x.b.words = c.words(x.a.arg), c.words(x.b.arg)
	mb := *m
	mb.A = m.B // whose width the places have
	if m.Sparse {
		x.a.k, x.a.words = m.K/2, x.a.words-1
		elems, index := lane.SparseInputs(m, c.lanes)
		if !x.places(&x.a, elems) {
			return false
		}
		x.a.shift = make([]uint8, len(x.a.entry)/c.strips)
		for i, p := range elems {
			x.a.shift[(int(p.Reg)*32+int(p.Shift))/m.A.Bits()] = index[i].Shift
			if index[i].Lane != p.Lane || index[i].Reg != 0 {
				return false
			}
		}
		for i, p := range elems {
			if x.a.shift[(int(p.Reg)*32+int(p.Shift))/m.A.Bits()] != index[i].Shift {
				return false
			}
		}
	} else if !x.places(&x.a, lane.MatrixInputs(m, m.M, c.lanes)) {
		return false
	}
	if !x.places(&x.b, lane.MatrixInputs(&mb, m.N, c.lanes)) {
		return false
	}
	if m.Scaled {
		x.a.words, x.b.words = x.a.words-1, x.b.words-1
	}
	for _, o := range []*matOperand{&x.a, &x.b} {
		if o.words < 1 {
			return false
		}
		o.size = 4
		switch x.kind {
		case matF64, matExact, matDouble:
			o.size = 8
		}
		o.step = int32(m.Blocks*o.n) * o.size
		o.at, o.row = x.tc, o.size
		bytes := int32(o.k) * o.step
		if x.quad && o == &x.a { // a table for each row, spread over its blocks' lanes
			o.row = bytes
			bytes *= int32(m.M)
		}
		x.tc += bytes
		if x.kind == matTrunc {
			o.side = bytes
			x.tc += bytes
		}
		if o.shift != nil {
			o.index = x.tc - o.at
			x.tc += bytes
		}
		x.tc = (x.tc + 63) &^ 63
	}
	if x.kind == matInt && m.Clamp {
		x.rowSize = 128
	}
	if x.quad && m.CBSZ != 0 {
		for g := range x.groups() {
			if x.sourceBlock(4*g)/4 != x.sourceBlock(4*g+3)/4 {
				return false
			}
		}
	}
	return x.kind != matInt || m.Sparse || x.dwords(&x.a) && x.dwords(&x.b)
}

// sourceBlock is the block that a block takes A from: with CBSZ one of its group.
func (x *matrix) sourceBlock(blk int) int {
	m := x.m
	if src := blk&^(1<<m.CBSZ-1) + int(m.ABID); m.CBSZ != 0 && !m.Sparse && !m.WMMA && src < m.Blocks {
		return src
	}
	return blk
}

// places fills in o.entry; ok is false when lanes of a strip are not rows that follow each other.
func (x *matrix) places(o *matOperand, ps []lane.Place) bool {
	strips, bits := x.c.strips, o.kind.Bits()
	for i, p := range ps {
		k, row, blk := i%o.k, i/o.k%o.n, i/o.k/o.n
		e := (int(p.Reg)*32 + int(p.Shift)) / bits
		at := e*strips + int(p.Lane)/16
		for len(o.entry) < (e+1)*strips {
			o.entry = append(o.entry, -1)
		}
		want := int32(k*x.m.Blocks*o.n + (blk*o.n+row)&^15)
		if int(p.Lane)%16 != (blk*o.n+row)%16 || o.entry[at] >= 0 && o.entry[at] != want {
			return false
		}
		o.entry[at] = want
	}
	// No more than the first of two copies.
	seen := map[int32]bool{}
	for i, t := range o.entry {
		if t >= 0 && seen[t] {
			o.entry[i] = -1
		}
		seen[t] = true
	}
	return true
}

// dwords tells whether the elements of a dword follow each other in k and begin at a multiple.
func (x *matrix) dwords(o *matOperand) bool {
	per := 32 / o.kind.Bits()
	line := x.m.Blocks * o.n
	for i, t := range o.entry {
		e, q := i/x.c.strips, i%x.c.strips
		switch first := o.entry[(e-e%per)*x.c.strips+q]; {
		case first < 0 && t >= 0, first >= 0 && t != first+int32(e%per*line), e%per == 0 && t >= 0 && int(t)/line%per != 0:
			return false
		}
	}
	return true
}

// fillA brings A into its table, or, for blocks of four rows, each row into one of its own: as vectors of all blocks.
func (x *matrix) fillA() {
	o := x.a
	if !x.quad {
		x.fill(&o)
		return
	}
	for row := range x.m.M {
		o.moved = true
		for g := range x.groups() {
			var lanes [64]byte
			for l := range 16 {
				lanes[4*l] = byte(x.sourceBlock(4*g+l/4)%4*4 + row)
			}
			o.perm = x.c.a.Const(lanes[:], 64)
			part := o
			part.entry = make([]int32, len(o.entry))
			for i, t := range o.entry {
				if part.entry[i] = -1; t >= 0 && int(t)/16%x.groups() == g {
					part.entry[i] = t
				}
			}
			x.fill(&part)
		}
		o.at += o.row
	}
}

// spread permutes a word of o.
func (x *matrix) spread(z x86.Vec, o *matOperand) {
	if o.moved {
		a := &x.c.a
		a.E(x86.VMOVDQU32, x86.L512, 31, 0, x86.ML(o.perm, 0), noMod)
		a.E(x86.VPERMD, x86.L512, uint8(z), 31, x86.V(z), noMod)
	}
}

// fetch loads strip q of word i of o into z.
func (x *matrix) fetch(z x86.Vec, o *matOperand, i, q int) {
	x.c.word(z, o.arg, i, q)
	x.spread(z, o)
}

// source is the strip of registers that strip q of an operand is taken from.
func (x *matrix) source(o *matOperand, q int) int {
	if x.quad && o.bit == 1 { // of f64 strips are steps of k
		if x.groups() == 1 {
			return q
		}
		return x.sourceBlock(4*q) / 4
	}
	if m := x.m; o.bit == 2 && !m.Sparse && !m.WMMA && x.kind != matF64 && x.c.lanes == 64 {
		switch b := int(m.BLGP); {
		case b == 1:
			return q & 1
		case b == 2:
			return q&1 | 2
		case b == 3:
			return (q + 1) & 3
		case b >= 4:
			return b & 3
		}
	}
	return q
}

// fill brings an operand into its table.
func (x *matrix) fill(o *matOperand) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	for i, t := range o.entry {
		e, q := i/c.strips, i%c.strips
		if t < 0 {
			continue
		}
		from := x.source(o, q)
		at := o.at + t*o.size
		put := func(z x86.Vec, off int32) { a.E(x86.VMOVDQU32S, L, uint8(z), 0, x86.M(rFrame, at+off), noMod) }
		if o.shift != nil {
			c.word(0, o.arg, o.words, q)
			a.EI(x86.VPSRLDI, L, 0, 0, x86.V(0), o.shift[e], noMod)
			a.E(x86.VPANDD, L, 0, 0, x.k32(3), noMod)
			a.E(x86.VPMULLD, L, 0, 0, x.k32(uint32(x.b.step)), noMod)
			if o.size == 8 {
				a.EI(x86.VEXTRACTI64X4, L, 0, 0, x86.V(1), 1, noMod)
				a.E(x86.VPMOVZXDQ, L, 0, 0, x86.V(0), noMod)
				a.E(x86.VPMOVZXDQ, L, 1, 0, x86.V(1), noMod)
				put(1, o.index+64)
			}
			put(0, o.index)
		}
		switch {
		case x.kind == matF64:
			for h := range 2 {
				x.pair(o.arg, o, 2*e, q, h, 3)
				x.negate(3, o.bit)
				put(3, 64*int32(h))
			}
		case x.kind == matInt:
			x.fillInt(o, e, from, t)
		default:
			x.number(o, e, from)
			if m := x.m; x.kind == matExact && m.WMMA {
				flip := m.Neg
				if int(t)/(m.Blocks*o.n)&1 != 0 {
					flip = m.NegHi
				}
				if flip&o.bit != 0 {
					a.E(x86.VPXORD, L, 1, 1, x.k32(1<<31), noMod)
				}
			}
			switch x.kind {
			case matTrunc:
				x.notFinite(1)
				x.exponents(o)
				put(5, o.side)
				put(1, 0)
			case matExact, matDouble:
				if x.m.Scaled {
					x.scales(o, t)
				}
				a.EI(x86.VEXTRACTI64X4, L, 1, 0, x86.V(2), 1, noMod)
				a.E(x86.VCVTPS2PD, L, 1, 0, x86.V(1), noMod)
				a.E(x86.VCVTPS2PD, L, 2, 0, x86.V(2), noMod)
				if x.m.Scaled {
					a.E(x86.VMULPD, L, 1, 1, x86.V(6), noMod)
					a.E(x86.VMULPD, L, 2, 2, x86.V(7), noMod)
				}
				put(1, 0)
				put(2, 64)
			default:
				put(1, 0)
			}
		}
	}
}

// negate flips the signs of f64 numbers that CDNA3's modifiers say.
func (x *matrix) negate(z x86.Vec, bit uint8) {
	if x.m.Gen >= 3 && !x.m.WMMA && x.m.BLGP&bit != 0 {
		x.c.a.E(x86.VPXORQ, x86.L512, uint8(z), uint8(z), x.k64(1<<63), noMod)
	}
}

// fillInt makes words of the integers, of a dword two at a time; for a sparse operation, and what is multiplied with its A, one.
// Negate modifiers of WMMA say what is signed.
func (x *matrix) fillInt(o *matOperand, e, from int, t int32) {
	a := &x.c.a
	const L = x86.L512
	bits := uint8(o.kind.Bits())
	signed := !x.m.WMMA || x.m.Neg&o.bit != 0
	if x.m.Sparse {
		right := x86.VPSRLDI
		if signed {
			right = x86.VPSRADI
		}
		s := uint8(e) * bits
		x.fetch(0, o, int(s)/32, from)
		a.EI(x86.VPSLLDI, L, 0, 0, x86.V(0), 32-bits-s%32, noMod)
		a.EI(right, L, 0, 0, x86.V(0), 32-bits, noMod)
		if signed { // the upper word of a dword is multiplied too
			a.E(x86.VPANDD, L, 0, 0, x.k32(0xffff), noMod)
		}
		a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, o.at+t*o.size), noMod)
		return
	}
	per := 32 / int(bits)
	if e%per != 0 {
		return
	}
	right := x86.VPSRLWI
	if signed {
		right = x86.VPSRAWI
	}
	line := int32(x.m.Blocks * o.n)
	first := t/line/2*line + t%line
	x.fetch(0, o, e/per, from)
	for i := range per / 2 {
		a.EI(x86.VPSLLWI, L, 0, 1, x86.V(0), 16-bits*uint8(i+1), noMod)
		a.EI(right, L, 0, 1, x86.V(1), 16-bits, noMod)
		a.E(x86.VMOVDQU32S, L, 1, 0, x86.M(rFrame, o.at+(first+int32(i)*line)*o.size), noMod)
	}
}

// narrowFloat is a format of 8, 6 or 4 bits: fields, and what its largest codes are.
type narrowFloat struct {
	exp, man, bias int
	nan            uint32 // code without its sign, or with it if it is the only one; 0: none
	only           bool
	inf            bool // the largest exponent is infinity and NaNs
}

func (x *matrix) narrow(k ir.Kind) narrowFloat {
	ocp := x.v.FP&ir.FPOCP != 0 || x.m.Gen >= 12
	switch {
	case k == ir.FP8 && ocp:
		return narrowFloat{exp: 4, man: 3, bias: 7, nan: 0x7f}
	case k == ir.FP8:
		return narrowFloat{exp: 4, man: 3, bias: 8, nan: 0x80, only: true}
	case k == ir.BF8 && ocp:
		return narrowFloat{exp: 5, man: 2, bias: 15, inf: true}
	case k == ir.BF8:
		return narrowFloat{exp: 5, man: 2, bias: 16, nan: 0x80, only: true}
	case k == ir.FP6:
		return narrowFloat{exp: 2, man: 3, bias: 1}
	case k == ir.BF6:
		return narrowFloat{exp: 3, man: 2, bias: 3}
	}
	return narrowFloat{exp: 2, man: 1, bias: 1}
}

// number makes f32 of element e of strip q in zmm1. Temporaries are zmm0 to zmm5.
func (x *matrix) number(o *matOperand, e, q int) {
	a := &x.c.a
	const L = x86.L512
	bits := o.kind.Bits()
	w, s := e*bits/32, uint8(e*bits%32)
	x.fetch(0, o, w, q)
	switch o.kind {
	case ir.F32:
		a.E(x86.VMOVDQU32, L, 1, 0, x86.V(0), noMod)
		return
	case ir.BF16:
		if s == 0 {
			a.EI(x86.VPSLLDI, L, 0, 1, x86.V(0), 16, noMod)
		} else {
			a.E(x86.VPANDD, L, 1, 0, x.k32(0xffff0000), noMod)
		}
		if x.kind == matFlush { // denormals and zeros become +0
			a.E(x86.VPTESTMD, L, 1, 1, x.k32(0x7f800000), noMod)
			a.E(x86.VMOVDQU32, L, 1, 0, x86.V(1), x86.Zeroed(1))
		}
		return
	case ir.F16:
		if s != 0 {
			a.EI(x86.VPSRLDI, L, 0, 0, x86.V(0), 16, noMod)
		}
		mod := noMod
		if x.kind == matFlush {
			a.E(x86.VPTESTMD, L, 1, 0, x.k32(0x7c00), noMod)
			mod = x86.Zeroed(1)
		}
		a.E(x86.VPMOVDW, L, 0, 0, x86.V(2), noMod)
		a.E(x86.VCVTPH2PS, L, 1, 0, x86.V(2), mod)
		return
	}
	f := x.narrow(o.kind)
	if s != 0 {
		a.EI(x86.VPSRLDI, L, 0, 0, x86.V(0), s, noMod)
	}
	if int(s)+bits > 32 {
		x.fetch(1, o, w+1, q)
		a.EI(x86.VPSLLDI, L, 0, 1, x86.V(1), 32-s, noMod)
		a.E(x86.VPORD, L, 0, 0, x86.V(1), noMod)
	}
	sign := uint32(1) << (f.exp + f.man)
	a.E(x86.VPANDD, L, 2, 0, x.k32(sign-1), noMod)
	a.EI(x86.VPSLLDI, L, 0, 1, x86.V(2), uint8(23-f.man), noMod)
	a.E(x86.VPADDD, L, 1, 1, x.k32(uint32(127-f.bias)<<23), noMod)
	// Denormals are integers.
	a.E(x86.VPTESTNMD, L, 1, 2, x.k32((1<<f.exp-1)<<f.man), noMod)
	a.E(x86.VCVTDQ2PS, L, 3, 0, x86.V(2), noMod)
	a.E(x86.VMULPS, L, 3, 3, x.k32(uint32(127+1-f.bias-f.man)<<23), noMod)
	a.E(x86.VMOVDQU32, L, 1, 0, x86.V(3), x86.Masked(1))
	if f.inf {
		a.EI(x86.VPCMPUD, L, 1, 2, x.k32((1<<f.exp-1)<<f.man), 5, noMod) // not below
		a.E(x86.VPORD, L, 1, 1, x.k32(0x7f800000), x86.Masked(1))
	}
	if f.nan != 0 {
		z := uint8(2)
		if f.only {
			a.E(x86.VPANDD, L, 3, 0, x.k32(2*sign-1), noMod)
			z = 3
		}
		a.EI(x86.VPCMPUD, L, 1, z, x.k32(f.nan), 0, noMod)
		a.E(x86.VPBROADCASTD, L, 1, 0, x86.ML(a.Const32(0x7fc00000), 0), x86.Masked(1))
	}
	a.EI(x86.VPSLLDI, L, 0, 0, x86.V(0), uint8(31-f.exp-f.man), noMod)
	a.E(x86.VPANDD, L, 0, 0, x.k32(1<<31), noMod)
	a.E(x86.VPORD, L, 1, 1, x86.V(0), noMod)
}

// scales puts the scales of entry t, powers of two as f64, into zmm6 and zmm7: of each row and 32 elements of it there is one in the register
// behind the elements. Where a scale is a NaN, the number in zmm1 becomes one.
func (x *matrix) scales(o *matOperand, t int32) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	k, row := int(t)/o.n, int(t)%o.n
	sel := x.m.ScaleA
	if o.bit == 2 {
		sel = x.m.ScaleB
	}
	c.word(0, o.arg, o.words, (row+o.n*(k/32))/16%c.strips)
	a.EI(x86.VPSRLDI, L, 0, 0, x86.V(0), 8*sel, noMod)
	a.E(x86.VPANDD, L, 0, 0, x.k32(0xff), noMod)
	a.EI(x86.VPCMPUD, L, 1, 0, x.k32(0xff), 0, noMod)
	a.E(x86.VPBROADCASTD, L, 1, 0, x86.ML(a.Const32(0x7fc00000), 0), x86.Masked(1))
	a.E(x86.VPADDD, L, 0, 0, x.k32(1023-127), noMod)
	a.EI(x86.VEXTRACTI64X4, L, 0, 0, x86.V(7), 1, noMod)
	a.E(x86.VPMOVZXDQ, L, 6, 0, x86.V(0), noMod)
	a.E(x86.VPMOVZXDQ, L, 7, 0, x86.V(7), noMod)
	a.EI(x86.VPSLLQI, L, 0, 6, x86.V(6), 52, noMod)
	a.EI(x86.VPSLLQI, L, 0, 7, x86.V(7), 52, noMod)
}
