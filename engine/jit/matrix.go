package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
	"github.com/pumice-gpu/pumice/engine/lane"
)

// A matrix operation is done a row of D at a time: sixteen columns are a vector, B's elements of a step of k are vectors of
// columns, and A's element is broadcast. A and B are first brought into tables in the frame, in the form the arithmetic
// wants (matrixtable.go): by step of k, then block, then row or column. C is brought into a table by row, where D replaces it.
//
// What the arithmetic of a row does not cover (infinities in formats where sums are of integers, a rounding that 53 bits do not decide) is
// found out while it runs, and leaves the whole operation to the helper: D is not written before it is complete.

// matKind is the arithmetic of a matrix operation, as package fp has it.
type matKind uint8

const (
	matNone   matKind = iota
	matF32            // chains of fused steps
	matF64            //
	matFlush          // CDNA2's f16 and bf16
	matInt            //
	matExact          // a group of exact products and the sum, one rounding: pairs in WMMA and CDNA1's bf16, four in its f16
	matTrunc          // CDNA3's f16, bf16, xf32, and 8-bit floats
	matDouble         // f8f6f4
)

// matrix is one operation being emitted.
type matrix struct {
	c       *compiler
	id      ir.ID
	v       *ir.Value
	m       *ir.Matrix
	kind    matKind
	group   int // products added before the sum
	a, b    matOperand
	outs    []matOut
	rowSize int32 // bytes of a row of C or D
	tc      int32 // where their table is
	quad    bool  // blocks of four rows and columns, four of them in a strip

	unsure x86.Label // the helper does it
	watch  bool      // there are ways to unsure
}

// matOut is where a row of a block is in the registers of C and D.
type matOut struct {
	reg, half, strip int
	row              int32 // of the table
}

// matKindOf chooses the arithmetic; matNone leaves the operation to the helper.
func (c *compiler) matKindOf(m *ir.Matrix, e ir.FP) (k matKind, group int) {
	half := func(k ir.Kind) bool { return k == ir.F16 || k == ir.BF16 }
	short := func(k ir.Kind) bool { return k == ir.FP8 || k == ir.BF8 }
	halves, bytes := m.A == m.B && half(m.A), short(m.A) && short(m.B)
	single := m.C == ir.F32
	switch {
	case m.F8F6F4 && single:
		return matDouble, 1
	case (m.A == ir.I8 || m.A == ir.I4) && m.A == m.B && m.C == ir.I32 && (c.cpu.VNNI || c.m.AVX2):
		return matInt, 0
	case m.A == ir.F64 && m.B == ir.F64 && m.C == ir.F64:
		return matF64, 0
	case m.A == ir.F32 && m.B == ir.F32 && single && m.XF32:
		return matTrunc, 4
	case m.A == ir.F32 && m.B == ir.F32 && single && e&(ir.FPFlushIn|ir.FPFlushOut) == 0:
		return matF32, 0
	case m.WMMA && (halves || bytes) && (single || half(m.C)):
		return matExact, 2
	case m.WMMA || !single:
		return matNone, 0
	case m.Gen == 1 && halves && m.A == ir.F16:
		return matExact, 4
	case m.Gen == 1 && halves:
		return matExact, 2
	case m.Gen == 2 && halves && m.A == ir.BF16 && m.M*m.K*m.Blocks/64 == 2:
		return matFlush, 2
	case m.Gen == 2 && halves && m.K%4 == 0:
		return matFlush, 4
	case m.Gen == 3 && halves:
		return matTrunc, 8
	case m.Gen == 3 && bytes:
		return matTrunc, 16
	}
	return matNone, 0
}

// planMatrix finds the layout; ok is false when it is not one of rows and vectors.
func (c *compiler) planMatrix(id ir.ID, v *ir.Value) (x *matrix, ok bool) {
	m, isM := v.Aux.(*ir.Matrix)
	if !isM {
		return nil, false
	}
	if m.Sparse && (m.K%4 != 0 || m.Blocks != 1 || m.WMMA && m.Gen < 12) || !m.Sparse && lane.MatrixRefused(m, c.lanes) != "" {
		return nil, false
	}
	x = &matrix{c: c, id: id, v: v, m: m, rowSize: 64, quad: m.M == 4 && m.N == 4 && m.Blocks%4 == 0 && !m.Sparse && !m.F8F6F4}
	if !x.quad && (m.N%16 != 0 || m.M%16 != 0) {
		return nil, false
	}
	x.kind, x.group = c.matKindOf(m, v.FP)
	switch x.kind {
	case matNone, matF32, matF64, matFlush:
		if x.kind == matNone || m.Sparse {
			return nil, false
		}
	}
	for _, k := range c.vals[id].comps {
		c.slot(k) // the tables lie behind
	}
	if x.kind == matF64 {
		x.rowSize = 128
	}
	x.tc = (c.frame + 63) &^ 63
	if !x.planOperands() || !x.planRows() {
		return nil, false
	}
	c.frameMax = max(c.frameMax, x.tc+x.rowSize*int32(x.groups()*m.M))
	return x, true
}

// groups is how many strips the columns of all blocks are.
func (x *matrix) groups() int { return x.m.Blocks * x.m.N / 16 }

// planRows finds where the rows of C and D are.
func (x *matrix) planRows() bool {
	m := x.m
	seen := map[[3]int]int32{}
	for at, p := range lane.MatrixOutputs(m, x.c.lanes) {
		blk, row, col := at/m.N/m.M, at/m.N%m.M, at%m.N
		o := matOut{int(p.Reg), int(p.Shift) / 16, int(p.Lane) / 16, int32((blk*m.N+col)/16*m.M + row)}
		if p.Shift%16 != 0 || o.reg >= int(x.v.N) || int(p.Lane)%16 != (blk*m.N+col)%16 {
			return false
		}
		key := [3]int{o.reg, o.half, o.strip}
		if was, ok := seen[key]; ok {
			if was != o.row {
				return false
			}
			continue
		}
		seen[key] = o.row
		x.outs = append(x.outs, o)
	}
	return true
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

// pair makes eight qwords of register pair i, those of half h of strip q; o is the operand if it is A or B.
func (x *matrix) pair(arg ir.ID, o *matOperand, i, q, h int, z x86.Vec) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	if k, ok := c.isConst(arg); ok {
		a.E(x86.VPBROADCASTQ, L, uint8(z), 0, x86.ML(a.Const64(k), 0), noMod)
		return
	}
	c.word(0, arg, i, q)
	c.word(1, arg, i+1, q)
	if o != nil {
		x.spread(0, o)
		x.spread(1, o)
	}
	a.E(x86.VMOVDQU32, L, uint8(z), 0, c.table([]*[16]uint32{tabPairLo, tabPairHi}[h]), noMod)
	a.E(x86.VPERMI2D, L, uint8(z), 0, x86.V(1), noMod)
}

// k32 and k64 are constants in all elements.
func (x *matrix) k32(b uint32) x86.RM { return x86.ML(x.c.a.Const32(b), 0).Bcast() }
func (x *matrix) k64(b uint64) x86.RM { return x86.ML(x.c.a.Const64(b), 0).Bcast() }

// matrixOp emits a matrix operation; ok is false when the helper must do it.
func (c *compiler) matrixOp(id ir.ID, v *ir.Value) (ok bool) {
	x, ok := c.planMatrix(id, v)
	if !ok {
		return false
	}
	a := &c.a
	m := x.m
	var done x86.Label
	if x.watch = x.kind == matTrunc || x.kind == matExact && (x.group != 2 || c.m.AVX2); x.watch {
		x.unsure, done = c.coldHelper(id)
	}
	if x.kind == matTrunc {
		a.X(x86.KXORW, x86.L128, kBad, kBad, x86.KR(kBad))
	}
	if x.kind == matFlush {
		a.Ldmxcsr(x86.ML(a.Const32(c.p.MXCSR|mxcsrDAZ|mxcsrFTZ), 0))
	}
	x.fillA()
	x.fill(&x.b)
	for _, o := range x.outs {
		x.loadC(o)
	}
	if x.kind == matTrunc { // what is not finite
		a.X(x86.KORTESTW, x86.L128, kBad, 0, x86.KR(kBad))
		a.Jcc(x86.NE, x.unsure)
	}
	// R12 is where row i's elements of A begin, R13 its row of C and D, R15 where the columns of B begin.
	each := int32(1)
	if x.kind == matDouble {
		each = doubleRows
	}
	for g := range x.groups() {
		first := int32(x.sourceBlock(g*16/m.N)*m.M) * x.a.size
		if x.quad {
			first = int32(16*g) * x.a.size
		}
		a.G(x86.LEA, 8, x86.R15, x86.M(rFrame, x.b.at+int32(16*g)*x.b.size))
		x.keepB()
		a.G(x86.LEA, 8, x86.R12, x86.M(rFrame, x.a.at+first))
		a.G(x86.LEA, 8, x86.R13, x86.M(rFrame, x.tc+int32(g*m.M)*x.rowSize))
		a.G(x86.LEA, 8, x86.R14, x86.M(x86.R12, int32(m.M)*x.a.row))
		top := a.NewLabel()
		a.Bind(top)
		x.row()
		a.AluI(x86.ADD, 8, x86.R(x86.R12), each*x.a.row)
		a.AluI(x86.ADD, 8, x86.R(x86.R13), each*x.rowSize)
		a.Alu(x86.CMP, 8, x86.R12, x86.R(x86.R14))
		a.Jcc(x86.NE, top)
	}
	if x.kind == matTrunc {
		a.X(x86.KORTESTW, x86.L128, kBad, 0, x86.KR(kBad))
		a.Jcc(x86.NE, x.unsure)
	}
	x.storeD()
	if x.kind == matFlush {
		a.Ldmxcsr(x86.ML(a.Const32(c.p.MXCSR), 0))
	}
	if x.watch {
		a.Bind(done)
	}
	return true
}

// loadC brings a row of C into the table.
func (x *matrix) loadC(o matOut) {
	c, a, m := x.c, &x.c.a, x.m
	const L = x86.L512
	at := x.tc + o.row*x.rowSize
	if x.kind == matF64 {
		for h := range 2 {
			x.pair(x.v.Args[2], nil, o.reg, o.strip, h, 3)
			x.negate(3, 4)
			a.E(x86.VMOVDQU64S, L, 3, 0, x86.M(rFrame, at+64*int32(h)), noMod)
		}
		return
	}
	c.word(0, x.v.Args[2], o.reg, o.strip)
	switch {
	case m.C == ir.F16:
		if o.half > 0 {
			a.EI(x86.VPSRLDI, L, 0, 0, x86.V(0), 16, noMod)
		}
		a.E(x86.VPMOVDW, L, 0, 0, x86.V(1), noMod)
		a.E(x86.VCVTPH2PS, L, 0, 0, x86.V(1), noMod)
	case m.C == ir.BF16 && o.half == 0:
		a.EI(x86.VPSLLDI, L, 0, 0, x86.V(0), 16, noMod)
	case m.C == ir.BF16:
		a.E(x86.VPANDD, L, 0, 0, x.k32(0xffff0000), noMod)
	}
	switch x.kind {
	case matFlush: // denormals become +0
		a.E(x86.VPTESTMD, L, 1, 0, x.k32(0x7f800000), noMod)
		a.E(x86.VMOVDQU32, L, 0, 0, x86.V(0), x86.Zeroed(1))
	case matTrunc:
		x.notFinite(0)
	case matExact:
		if m.WMMA { // absolute value, then negation
			if m.NegHi&4 != 0 {
				a.E(x86.VPANDD, L, 0, 0, x.k32(1<<31-1), noMod)
			}
			if m.Neg&4 != 0 {
				a.E(x86.VPXORD, L, 0, 0, x.k32(1<<31), noMod)
			}
		}
	case matInt:
		if m.Clamp { // C is added last
			a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, at+64), noMod)
			return
		}
	}
	a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, at), noMod)
}

// storeD writes the rows to D's slots.
func (x *matrix) storeD() {
	c, a, m := x.c, &x.c.a, x.m
	const L = x86.L512
	ks := c.vals[x.id].comps
	halves := map[[2]int]bool{}
	for _, o := range x.outs {
		at := x.tc + o.row*x.rowSize
		if x.kind == matF64 {
			a.E(x86.VMOVDQU64, L, 0, 0, x86.M(rFrame, at), noMod)
			for i, t := range []*[16]uint32{tabLo, tabHi} {
				a.E(x86.VMOVDQU32, L, 1, 0, c.table(t), noMod)
				a.E(x86.VPERMI2D, L, 1, 0, x86.M(rFrame, at+64), noMod)
				a.E(x86.VMOVDQU32S, L, 1, 0, x86.M(rFrame, c.slot(ks[o.reg+i])+int32(64*o.strip)), noMod)
			}
			continue
		}
		a.E(x86.VMOVDQU32, L, 0, 0, x86.M(rFrame, at), noMod)
		to := x86.M(rFrame, c.slot(ks[o.reg])+int32(64*o.strip))
		if x.kind == matFlush {
			a.EI(x86.VCMPPS, L, 1, 0, x86.V(0), 3, noMod)
			a.E(x86.VPBROADCASTD, L, 0, 0, x86.ML(a.Const32(0xffc00000), 0), x86.Masked(1))
		}
		if m.C.Bits() == 16 {
			x.shorten()
			key := [2]int{o.reg, o.strip}
			if halves[key] {
				a.E(x86.VMOVDQU32, L, 1, 0, to, noMod)
			} else {
				c.word(1, x.v.Args[2], o.reg, o.strip) // what no element fills stays C's
			}
			halves[key] = true
			if o.half == 0 {
				a.E(x86.VPANDD, L, 1, 1, x.k32(0xffff0000), noMod)
			} else {
				a.EI(x86.VPSLLDI, L, 0, 0, x86.V(0), 16, noMod)
				a.E(x86.VPANDD, L, 1, 1, x.k32(0xffff), noMod)
			}
			a.E(x86.VPORD, L, 0, 0, x86.V(1), noMod)
		}
		a.E(x86.VMOVDQU32S, L, 0, 0, to, noMod)
	}
}

// shorten converts zmm0 from f32 to sixteen bits, of C's format, in each dword.
func (x *matrix) shorten() {
	a := &x.c.a
	const L = x86.L512
	if x.m.C == ir.F16 {
		a.EI(x86.VCVTPS2PH, L, 0, 0, x86.V(0), 0, noMod)
		a.E(x86.VPMOVZXWD, L, 0, 0, x86.V(0), noMod)
		return
	}
	a.EI(x86.VCMPPS, L, 1, 0, x86.V(0), 3, noMod)
	a.EI(x86.VPSRLDI, L, 0, 1, x86.V(0), 16, noMod)
	a.E(x86.VPANDD, L, 2, 1, x.k32(1), noMod)
	a.E(x86.VPADDD, L, 2, 2, x.k32(0x7fff), noMod)
	a.E(x86.VPADDD, L, 0, 0, x86.V(2), noMod)
	a.EI(x86.VPSRLDI, L, 0, 0, x86.V(0), 16, noMod)
	a.E(x86.VPORD, L, 0, 1, x.k32(0x40), x86.Masked(1)) // a quiet NaN
}
