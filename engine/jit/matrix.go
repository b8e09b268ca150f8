package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
	"github.com/pumice-gpu/pumice/engine/lane"
)

// A matrix operation is done a row of D at a time: sixteen columns are a vector, B's elements of a step of k are vectors of
// columns, and A's element is broadcast. A and B are first brought into tables in the frame, in the form the arithmetic
// wants: by element of a lane, then lane. C is brought into a table by row, where D replaces it.

// matKind is the arithmetic of a matrix operation, as package fp has it.
type matKind uint8

const (
	matNone  matKind = iota
	matF32           // chains of fused steps
	matF64           //
	matFlush         // CDNA2's f16 and bf16
	matI8            //
	matPairs         // WMMA: pairs of exact products, one rounding
	matTrunc         // CDNA3's f16 and bf16
)

// matrix is one operation being emitted.
type matrix struct {
	c       *compiler
	id      ir.ID
	v       *ir.Value
	m       *ir.Matrix
	kind    matKind
	group   int     // matFlush: products added before the sum
	a, b    []int32 // place in the frame of element k of row 0 (column 0) of block 0
	outs    []int   // row table index of register r (or pair) and strip q: outs[r*strips+q]
	size    int32   // bytes of a table entry: sixteen elements
	at      int32   // tables: A, B, C
	tb, tc  int32
	ea, eb  int32 // matTrunc: from the numbers of A and B to their exponents
	columns int   // strips of columns
}

// matKindOf chooses the arithmetic; matNone leaves the operation to the helper.
func (c *compiler) matKindOf(m *ir.Matrix, e ir.FP) (k matKind, group int) {
	if m.CBSZ != 0 || m.BLGP != 0 || m.N%16 != 0 {
		return matNone, 0
	}
	if m.WMMA && m.A != ir.I8 {
		if m.A == m.B && (m.A == ir.F16 || m.A == ir.BF16) && m.C == ir.F32 {
			return matPairs, 2
		}
		return matNone, 0
	}
	switch {
	case m.A == ir.F32 && m.B == ir.F32 && m.C == ir.F32 && !m.XF32 && e&(ir.FPFlushIn|ir.FPFlushOut) == 0:
		return matF32, 0
	case m.A == ir.F64 && m.B == ir.F64 && m.C == ir.F64:
		return matF64, 0
	case m.A == m.B && m.C == ir.F32 && m.Gen == 2 && (m.A == ir.F16 || m.A == ir.BF16):
		if m.A == ir.BF16 && m.M*m.K*m.Blocks/64 == 2 {
			return matFlush, 2
		}
		if m.K%4 != 0 {
			return matNone, 0
		}
		return matFlush, 4
	case m.A == m.B && m.C == ir.F32 && m.Gen == 3 && (m.A == ir.F16 || m.A == ir.BF16):
		return matTrunc, 8
	case m.A == ir.I8 && m.B == ir.I8 && m.C == ir.I32 && !m.Clamp && (c.cpu.VNNI || c.m.AVX2):
		return matI8, 0
	}
	return matNone, 0
}

// planMatrix finds the layout; ok is false when it is not one of rows and vectors.
func (c *compiler) planMatrix(id ir.ID, v *ir.Value) (x *matrix, ok bool) {
	m, isM := v.Aux.(*ir.Matrix)
	if !isM || lane.MatrixRefused(m, c.lanes) != "" {
		return nil, false
	}
	x = &matrix{c: c, id: id, v: v, m: m, size: 64, columns: m.N / 16}
	if x.kind, x.group = c.matKindOf(m, v.FP); x.kind == matNone {
		return nil, false
	}
	for _, k := range c.vals[id].comps {
		c.slot(k) // the tables lie behind
	}
	bits := m.A.Bits()
	if x.kind == matF64 {
		x.size = 128
	}
	// Table entries: element e of a lane is at e*lanes + lane.
	places := func(n int) (l []int32, elems int, ok bool) {
		ps := lane.MatrixInputs(m, n, c.lanes)
		for k := range m.K {
			p := ps[k]
			e := (int(p.Reg)*32 + int(p.Shift)) / bits
			at := int32(e*c.lanes + int(p.Lane))
			l = append(l, at)
			elems = max(elems, e+1)
			for blk := range m.Blocks {
				for row := range n {
					q := ps[(blk*n+row)*m.K+k]
					if (int(q.Reg)*32+int(q.Shift))/bits != e || int(q.Lane) != int(p.Lane)+row+n*blk {
						return nil, 0, false
					}
				}
			}
		}
		return l, elems, true
	}
	var ea, eb int
	if x.a, ea, ok = places(m.M); !ok {
		return nil, false
	}
	if x.b, eb, ok = places(m.N); !ok {
		return nil, false
	}
	regs := int(v.N)
	x.outs = make([]int, regs*c.strips)
	for i := range x.outs {
		x.outs[i] = -1
	}
	for at, p := range lane.MatrixOutputs(m, c.lanes) {
		blk, row, col := at/m.N/m.M, at/m.N%m.M, at%m.N
		if p.Shift != 0 || int(p.Reg) >= regs || int(p.Lane)%16 != col%16 {
			return nil, false
		}
		o := &x.outs[int(p.Reg)*c.strips+int(p.Lane)/16]
		want := (blk*x.columns+col/16)*m.M + row
		if *o >= 0 && *o != want {
			return nil, false
		}
		*o = want
	}
	// Words each operand has, and the tables.
	per := int32(4 * c.lanes)
	if x.kind == matF64 {
		per *= 2
	}
	ta, tb := int32(ea)*per, int32(eb)*per
	if x.kind == matI8 { // even and odd bytes of a dword are an entry each: half as many as elements
		ta, tb = ta/2, tb/2
	}
	if x.kind == matTrunc {
		x.ea, x.eb = ta, tb
		ta, tb = 2*ta, 2*tb
	}
	x.at = (c.frame + 63) &^ 63
	x.tb = x.at + ta
	x.tc = x.tb + tb
	c.frameMax = max(c.frameMax, x.tc+x.size*int32(m.Blocks*x.columns*m.M))
	return x, true
}

// word loads strip q of word i of argument arg into z.
func (c *compiler) word(z x86.Vec, arg ir.ID, i, q int) {
	a := &c.a
	ks := c.vals[arg].comps
	if x, ok := c.isConst(arg); ok {
		a.E(x86.VPBROADCASTD, x86.L512, uint8(z), 0, x86.ML(a.Const32(uint32(x)), 0), noMod)
		return
	}
	k := ks[i]
	if x, ok := c.compConst(k); ok {
		a.E(x86.VPBROADCASTD, x86.L512, uint8(z), 0, x86.ML(a.Const32(uint32(x)), 0), noMod)
		return
	}
	if c.comps[k].kind != compZ {
		a.E(x86.VPBROADCASTD, x86.L512, uint8(z), 0, c.memOf(k), noMod)
		return
	}
	a.E(x86.VMOVDQU32, x86.L512, uint8(z), 0, c.at(k, q), noMod)
}

// words is how many words an argument has.
func (c *compiler) words(arg ir.ID) int { return max(1, len(c.vals[arg].comps)) }

// operand brings A or B into its table at; bit is its own in the modifiers.
func (x *matrix) operand(arg ir.ID, at int32, bit uint8) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	put := func(z x86.Vec, e, q int) {
		a.E(x86.VMOVDQU32S, L, uint8(z), 0, x86.M(rFrame, at+int32(4*c.lanes*e+64*q)), noMod)
	}
	n := c.words(arg)
	if x.kind == matF64 {
		x.pairs(arg, func(q, h int, z x86.Vec) {
			a.E(x86.VMOVDQU64S, L, uint8(z), 0, x86.M(rFrame, at+int32(128*q+64*h)), noMod)
		})
		return
	}
	for w := range n {
		for q := range c.strips {
			c.word(0, arg, w, q)
			switch x.kind {
			case matF32:
				put(0, w, q)
			case matI8: // words of the bytes 0 and 2, and of 1 and 3
				shift := x86.VPSRAWI
				if x.m.WMMA && x.m.Neg&bit == 0 { // that modifier says whether it is signed
					shift = x86.VPSRLWI
				}
				a.EI(x86.VPSLLWI, L, 0, 1, x86.V(0), 8, noMod)
				a.EI(shift, L, 0, 1, x86.V(1), 8, noMod)
				a.EI(shift, L, 0, 2, x86.V(0), 8, noMod)
				put(1, 2*w, q)
				put(2, 2*w+1, q)
			case matFlush:
				x.widen(w, q, put)
			case matPairs:
				x.widenExact(bit, w, q, put)
			case matTrunc:
				x.widenExact(0, w, q, func(z x86.Vec, e, q int) {
					put(z, e, q)
					x.exponents(z)
					a.E(x86.VMOVDQU32S, L, 5, 0, x86.M(rFrame, at+[]int32{1: x.ea, 2: x.eb}[bit]+int32(4*c.lanes*e+64*q)), noMod)
				})
			}
		}
	}
}

// widen makes f32 of the two halves of zmm0; denormals and zeros become +0.
func (x *matrix) widen(w, q int, put func(z x86.Vec, e, q int)) {
	a := &x.c.a
	const L = x86.L512
	if x.m.A == ir.BF16 {
		a.EI(x86.VPSLLDI, L, 0, 1, x86.V(0), 16, noMod)
		a.E(x86.VPANDD, L, 2, 0, x86.ML(a.Const32(0xffff0000), 0).Bcast(), noMod)
		for h := range x86.Vec(2) {
			a.E(x86.VPTESTMD, L, 1, uint8(1+h), x86.ML(a.Const32(0x7f800000), 0).Bcast(), noMod)
			a.E(x86.VMOVDQU32, L, uint8(1+h), 0, x86.V(1+h), x86.Zeroed(1))
			put(1+h, 2*w+int(h), q)
		}
		return
	}
	a.EI(x86.VPSRLDI, L, 0, 1, x86.V(0), 16, noMod)
	for h := range x86.Vec(2) {
		a.E(x86.VPTESTMD, L, 1, uint8(h), x86.ML(a.Const32(0x7c00), 0).Bcast(), noMod)
		a.E(x86.VPMOVDW, L, uint8(h), 0, x86.V(2), noMod)
		a.E(x86.VCVTPH2PS, L, 2, 0, x86.V(2), x86.Zeroed(1))
		put(2, 2*w+int(h), q)
	}
}

// pairs makes the qwords of argument arg's register pairs, eight at a time: half h of strip q of all pairs.
func (x *matrix) pairs(arg ir.ID, use func(q, h int, z x86.Vec)) {
	for i := 0; i < x.c.words(arg); i += 2 {
		for q := range x.c.strips {
			for h := range 2 {
				x.pair(arg, i, q, h, 3)
				use(i/2*x.c.strips+q, h, 3)
			}
		}
	}
}

func (x *matrix) pair(arg ir.ID, i, q, h int, z x86.Vec) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	if k, ok := c.isConst(arg); ok {
		a.E(x86.VPBROADCASTQ, L, uint8(z), 0, x86.ML(a.Const64(k), 0), noMod)
		return
	}
	c.word(0, arg, i, q)
	c.word(1, arg, i+1, q)
	a.E(x86.VMOVDQU32, L, uint8(z), 0, c.table([]*[16]uint32{tabPairLo, tabPairHi}[h]), noMod)
	a.E(x86.VPERMI2D, L, uint8(z), 0, x86.V(1), noMod)
}

// matrixOp emits a matrix operation; ok is false when the helper must do it.
func (c *compiler) matrixOp(id ir.ID, v *ir.Value) (ok bool) {
	x, ok := c.planMatrix(id, v)
	if !ok {
		return false
	}
	a := &c.a
	const L = x86.L512
	m := x.m
	if x.kind == matFlush {
		a.Ldmxcsr(x86.ML(a.Const32(c.p.MXCSR|mxcsrDAZ|mxcsrFTZ), 0))
	}
	x.operand(v.Args[0], x.at, 1)
	x.operand(v.Args[1], x.tb, 2)
	rows := func(use func(r, q int, at int32)) {
		for i, o := range x.outs {
			if o >= 0 {
				use(i/c.strips, i%c.strips, x.tc+int32(o)*x.size)
			}
		}
	}
	rows(func(r, q int, at int32) {
		if x.kind == matF64 {
			for h := range 2 {
				x.pair(v.Args[2], r, q, h, 3)
				a.E(x86.VMOVDQU64S, L, 3, 0, x86.M(rFrame, at+64*int32(h)), noMod)
			}
			return
		}
		c.word(0, v.Args[2], r, q)
		if x.kind == matFlush { // denormals become +0
			a.E(x86.VPTESTMD, L, 1, 0, x86.ML(a.Const32(0x7f800000), 0).Bcast(), noMod)
			a.E(x86.VMOVDQU32, L, 0, 0, x86.V(0), x86.Zeroed(1))
		}
		if x.kind == matPairs {
			x.modifyC()
		}
		a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, at), noMod)
	})
	// R12 is where row i's elements of A begin, R13 its entry of C and D.
	elem := int32(4)
	if x.kind == matF64 {
		elem = 8
	}
	for blk := range m.Blocks {
		for s := range x.columns {
			x.loadB(int32(blk*m.N+16*s) * elem)
			a.G(x86.LEA, 8, x86.R12, x86.M(rFrame, x.at+int32(blk*m.M)*elem))
			a.G(x86.LEA, 8, x86.R13, x86.M(rFrame, x.tc+int32((blk*x.columns+s)*m.M)*x.size))
			a.G(x86.LEA, 8, x86.R14, x86.M(x86.R12, int32(m.M)*elem))
			top := a.NewLabel()
			a.Bind(top)
			x.row()
			a.AluI(x86.ADD, 8, x86.R(x86.R12), elem)
			a.AluI(x86.ADD, 8, x86.R(x86.R13), x.size)
			a.Alu(x86.CMP, 8, x86.R12, x86.R(x86.R14))
			a.Jcc(x86.NE, top)
		}
	}
	rows(func(r, q int, at int32) {
		ks := c.vals[id].comps
		if x.kind == matF64 {
			a.E(x86.VMOVDQU64, L, 0, 0, x86.M(rFrame, at), noMod)
			for i, t := range []*[16]uint32{tabLo, tabHi} {
				a.E(x86.VMOVDQU32, L, 1, 0, c.table(t), noMod)
				a.E(x86.VPERMI2D, L, 1, 0, x86.M(rFrame, at+64), noMod)
				a.E(x86.VMOVDQU32S, L, 1, 0, x86.M(rFrame, c.slot(ks[r+i])+int32(64*q)), noMod)
			}
			return
		}
		a.E(x86.VMOVDQU32, L, 0, 0, x86.M(rFrame, at), noMod)
		if x.kind == matFlush {
			a.EI(x86.VCMPPS, L, 1, 0, x86.V(0), 3, noMod)
			a.E(x86.VPBROADCASTD, L, 0, 0, x86.ML(a.Const32(0xffc00000), 0), x86.Masked(1))
		}
		a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, c.slot(ks[r])+int32(64*q)), noMod)
	})
	if x.kind == matFlush {
		a.Ldmxcsr(x86.ML(a.Const32(c.p.MXCSR), 0))
	}
	return true
}

// Registers of the row loop: zmm0–7 are temporaries, B's vectors follow while there is room.
const firstB = 8

// steps are the entries of A and B that a row goes through: dwords of byte pairs for I8, elements otherwise.
func (x *matrix) steps() (a, b []int32) {
	if x.kind != matI8 {
		return x.a, x.b
	}
	// Entry 2w is the even bytes of dword w, 2w+1 the odd ones; each holds two elements.
	half := func(l []int32) (d []int32) {
		lanes := int32(x.c.lanes)
		for _, at := range l {
			if e, lane := at/lanes, at%lanes; e%4 == 0 {
				d = append(d, e/4*2*lanes+lane, (e/4*2+1)*lanes+lane)
			}
		}
		return d
	}
	return half(x.a), half(x.b)
}

// bAt is B's vector of step k, half h of it for F64; off is where the columns begin.
func (x *matrix) bMem(k, h int, off int32) x86.RM {
	_, b := x.steps()
	elem := int32(4)
	if x.kind == matF64 {
		elem = 8
	}
	return x86.M(rFrame, x.tb+b[k]*elem+off+64*int32(h))
}

func (x *matrix) halves() int {
	if x.kind == matF64 {
		return 2
	}
	return 1
}

// loadB brings B's vectors of sixteen columns into registers. The rest is read from a copy of the table's address in R15.
func (x *matrix) loadB(off int32) {
	a := &x.c.a
	_, b := x.steps()
	a.G(x86.LEA, 8, x86.R15, x86.M(rFrame, off))
	if x.kind == matPairs || x.kind == matTrunc { // needs the registers
		return
	}
	for k := range b {
		for h := range x.halves() {
			if r := firstB + k*x.halves() + h; r < 32 {
				a.E(x86.VMOVDQU32, x86.L512, uint8(r), 0, x.bMem(k, h, off), noMod)
			}
		}
	}
}

// bRM is B's vector of step k as an operand.
func (x *matrix) bRM(k, h int) x86.RM {
	if r := firstB + k*x.halves() + h; r < 32 {
		return x86.V(x86.Vec(r))
	}
	_, b := x.steps()
	elem := int32(4)
	if x.kind == matF64 {
		elem = 8
	}
	return x86.M(x86.R15, x.tb+b[k]*elem+64*int32(h))
}

// row emits the sum of one row.
func (x *matrix) row() {
	a := &x.c.a
	const L = x86.L512
	as, _ := x.steps()
	d := func(h int) x86.RM { return x86.M(x86.R13, 64*int32(h)) }
	switch x.kind {
	case matF32:
		a.E(x86.VMOVDQU32, L, 0, 0, d(0), noMod)
		for k, at := range as {
			a.E(x86.VPBROADCASTD, L, 1, 0, x86.M(x86.R12, 4*at), noMod)
			a.E(x86.VFMADD231PS, L, 0, 1, x.bRM(k, 0), noMod)
		}
		a.E(x86.VMOVDQU32S, L, 0, 0, d(0), noMod)
	case matF64:
		a.E(x86.VMOVDQU64, L, 0, 0, d(0), noMod)
		a.E(x86.VMOVDQU64, L, 1, 0, d(1), noMod)
		for k, at := range as {
			a.E(x86.VPBROADCASTQ, L, 2, 0, x86.M(x86.R12, 8*at), noMod)
			a.E(x86.VFMADD231PD, L, 0, 2, x.bRM(k, 0), noMod)
			a.E(x86.VFMADD231PD, L, 1, 2, x.bRM(k, 1), noMod)
		}
		a.E(x86.VMOVDQU64S, L, 0, 0, d(0), noMod)
		a.E(x86.VMOVDQU64S, L, 1, 0, d(1), noMod)
	case matI8:
		a.E(x86.VMOVDQU32, L, 0, 0, d(0), noMod)
		for k, at := range as {
			r := x.bRM(k, 0)
			if r.IsMem() {
				a.E(x86.VMOVDQU32, L, 1, 0, r, noMod)
				a.E(x86.VPDPWSSD, L, 0, 1, x86.M(x86.R12, 4*at).Bcast(), noMod)
				continue
			}
			a.E(x86.VPDPWSSD, L, 0, uint8(firstB+k), x86.M(x86.R12, 4*at).Bcast(), noMod)
		}
		a.E(x86.VMOVDQU32S, L, 0, 0, d(0), noMod)
	case matPairs:
		x.wmmaRow()
	case matTrunc:
		x.truncRow()
	case matFlush:
		a.E(x86.VMOVDQU32, L, 0, 0, d(0), noMod)
		// NaNs end as one pattern, so the order of operands does not matter.
		prod := func(z uint8, k int) {
			if r := x.bRM(k, 0); r.IsMem() {
				a.E(x86.VMOVDQU32, L, z, 0, r, noMod)
				a.E(x86.VMULPS, L, z, z, x86.M(x86.R12, 4*as[k]).Bcast(), noMod)
				return
			}
			a.E(x86.VMULPS, L, z, uint8(firstB+k), x86.M(x86.R12, 4*as[k]).Bcast(), noMod)
		}
		for k := 0; k+x.group <= len(as); k += x.group {
			for i := range x.group {
				prod(uint8(1+i), k+i)
			}
			a.E(x86.VADDPS, L, 1, 1, x86.V(2), noMod)
			if x.group == 4 {
				a.E(x86.VADDPS, L, 3, 3, x86.V(4), noMod)
				a.E(x86.VADDPS, L, 1, 1, x86.V(3), noMod)
			}
			a.E(x86.VADDPS, L, 0, 0, x86.V(1), noMod)
		}
		a.E(x86.VMOVDQU32S, L, 0, 0, d(0), noMod)
	}
}
