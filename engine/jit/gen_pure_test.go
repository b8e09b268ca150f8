//go:build linux && amd64

package jit

import (
	"cmp"
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// pureOp is a line of what pure can make: an operation, the kinds it comes in, and its arguments' widths in order (0 for that of the kind).
type pureOp struct {
	op    ir.Op
	kinds []ir.Kind
	from  []ir.Kind // for conversions
	args  []int
	imm   int     // Imm is below it
	t     ir.Type // of the result when it is not the kind's
}

var (
	floatKinds = []ir.Kind{ir.F16, ir.F32, ir.F64}
	noKind     = []ir.Kind{ir.KindNone}
	arg1       = []int{0}
	arg2       = []int{0, 0}
	arg3       = []int{0, 0, 0}
	pureOps    = []pureOp{
		{op: ir.OpFMulLegacy, kinds: []ir.Kind{ir.F32}, args: arg2}, {op: ir.OpFMALegacy, kinds: []ir.Kind{ir.F32}, args: arg3},
		{op: ir.OpFMinP, kinds: floatKinds, args: arg2}, {op: ir.OpFMaxP, kinds: floatKinds, args: arg2},
		{op: ir.OpFMin, kinds: floatKinds, args: arg2}, {op: ir.OpFMax, kinds: floatKinds, args: arg2}, {op: ir.OpFMed3, kinds: floatKinds, args: arg3},
		{op: ir.OpFAdd, kinds: floatKinds, args: arg2}, {op: ir.OpFSub, kinds: floatKinds, args: arg2}, {op: ir.OpFMul, kinds: floatKinds, args: arg2},
		{op: ir.OpFMA, kinds: floatKinds, args: arg3}, {op: ir.OpFMad, kinds: floatKinds, args: arg3},
		{op: ir.OpFOmod, kinds: floatKinds, args: arg1, imm: 4}, {op: ir.OpFClamp, kinds: floatKinds, args: arg1}, {op: ir.OpFCanon, kinds: floatKinds, args: arg1},
		{op: ir.OpFRcp, kinds: floatKinds, args: arg1}, {op: ir.OpFSqrt, kinds: floatKinds, args: arg1}, {op: ir.OpFRsq, kinds: floatKinds, args: arg1},
		{op: ir.OpFExp2, kinds: floatKinds[:2], args: arg1}, {op: ir.OpFLog2, kinds: floatKinds[:2], args: arg1}, {op: ir.OpFSin, kinds: floatKinds[:2], args: arg1},
		{op: ir.OpFCos, kinds: floatKinds[:2], args: arg1}, {op: ir.OpFFract, kinds: floatKinds, args: arg1}, {op: ir.OpFRndne, kinds: floatKinds, args: arg1},
		{op: ir.OpFMant, kinds: floatKinds, args: arg1}, {op: ir.OpFLdexp, kinds: floatKinds, args: []int{0, 32}},
		{op: ir.OpFDivScale, kinds: floatKinds[1:], args: arg3}, {op: ir.OpFDivFixup, kinds: floatKinds, args: arg3},
		{op: ir.OpFCubeID, kinds: noKind, args: arg3}, {op: ir.OpFCubeSC, kinds: noKind, args: arg3}, {op: ir.OpFCubeTC, kinds: noKind, args: arg3},
		{op: ir.OpFCubeMA, kinds: noKind, args: arg3}, {op: ir.OpFTrigPreop, kinds: []ir.Kind{ir.F64}, args: []int{0, 32}},
		{op: ir.OpCvtRpi, kinds: noKind, args: arg1}, {op: ir.OpCvtFlr, kinds: noKind, args: arg1}, {op: ir.OpCvtOff4, kinds: noKind, args: arg1},
		{op: ir.OpCvtPkRTZ, kinds: noKind, args: arg2}, {op: ir.OpCvtNorm, kinds: []ir.Kind{ir.I16, ir.U16}, from: []ir.Kind{ir.F32, ir.F16}, args: arg1},
		{op: ir.OpCvtSR, kinds: []ir.Kind{ir.FP8, ir.BF8}, from: []ir.Kind{ir.F32}, args: []int{0, 32}},
		{op: ir.OpCvt, kinds: []ir.Kind{ir.F16, ir.F32, ir.F64, ir.BF16, ir.I32, ir.U32, ir.I16, ir.U16}, args: arg1,
			from: []ir.Kind{ir.F16, ir.F32, ir.F64, ir.BF16, ir.I32, ir.U32, ir.U8, ir.I16}},
		{op: ir.OpSad, kinds: []ir.Kind{ir.U8, ir.U16, ir.U32}, args: arg3},
		{op: ir.OpDot, kinds: []ir.Kind{ir.I8, ir.U8, ir.I16, ir.U16, ir.I4, ir.U4, ir.F16, ir.BF16}, args: arg3, imm: 2},
		{op: ir.OpAddSatU, kinds: []ir.Kind{ir.KindNone, ir.U16}, args: arg2}, {op: ir.OpSubSatU, kinds: []ir.Kind{ir.KindNone, ir.U16}, args: arg2},
		{op: ir.OpAddSatS, kinds: []ir.Kind{ir.KindNone, ir.I16}, args: arg2}, {op: ir.OpSubSatS, kinds: []ir.Kind{ir.KindNone, ir.I16}, args: arg2},
		{op: ir.OpOvfAdd, kinds: noKind, args: arg2, t: ir.M}, {op: ir.OpOvfSub, kinds: noKind, args: arg2, t: ir.M},
	}
)

// pure adds an operation of pureOps under any MODE.
func (g *gen) pure() {
	r := g.r
	p := &pureOps[r.IntN(len(pureOps))]
	v := ir.Value{Op: p.op, Kind: p.kinds[r.IntN(len(p.kinds))], FP: ir.FP(r.IntN(64)), Type: ir.V32}
	src := v.Kind
	if p.from != nil {
		v.From = p.from[r.IntN(len(p.from))]
		src = v.From
		if v.From == v.Kind {
			return
		}
	}
	if p.op == ir.OpDot {
		v.From = v.Kind
	}
	if p.imm > 0 {
		v.Imm = uint64(r.IntN(p.imm))
	}
	wide := func(k ir.Kind) bool { return k == ir.F64 || k == ir.I64 || k == ir.U64 }
	if wide(v.Kind) {
		v.Type = ir.V64
	}
	if p.t != ir.Void {
		v.Type = p.t
	}
	vector := r.IntN(len(p.args)) // at least one argument differs by lane
	for i, w := range p.args {
		ts := []ir.Type{ir.V32, ir.V32, ir.S32}
		if w == 0 && wide(src) {
			ts = []ir.Type{ir.V64, ir.V64, ir.S64}
		}
		if i == vector {
			ts = ts[:1]
		}
		v.Args = append(v.Args, g.pick(ts...))
	}
	g.add(v)
}

// matrix adds a matrix operation on whatever the registers hold.
func (g *gen) matrix() {
	if g.f.Lanes != 64 {
		return
	}
	r := g.r
	s := matrixShapes[r.IntN(len(matrixShapes))]
	m := s.m
	if m.B == 0 {
		m.B = m.A
	}
	// Of another generation, but not formats that only one has.
	if r.IntN(4) == 0 && !m.WMMA && m.B == m.A && !m.XF32 && !m.F8F6F4 && !m.Sparse && m.A != ir.FP8 && m.A != ir.BF8 {
		m.Gen = uint8(1 + r.IntN(3))
	}
	if r.IntN(8) == 0 && !m.WMMA && !m.F8F6F4 {
		m.CBSZ, m.ABID, m.BLGP = uint8(r.IntN(4)), uint8(r.IntN(4)), uint8(r.IntN(8))
	}
	tuple := func(n int) ir.ID {
		l := make([]ir.ID, n)
		for i := range l {
			l[i] = g.pick(ir.V32)
		}
		if n == 1 {
			return l[0]
		}
		return g.add(ir.Value{Op: ir.OpTuple, Type: ir.T, N: uint8(n), Args: l})
	}
	d := g.add(ir.Value{Op: ir.OpMFMA, Type: ir.T, N: uint8(s.wordsC), Kind: m.C, From: m.A, FP: ir.FP(r.IntN(64)) &^ ir.FPOvfl, Aux: &m,
		Args: []ir.ID{tuple(s.wordsA), tuple(cmp.Or(s.wordsB, s.wordsA)), tuple(s.wordsC)}})
	for i := range s.wordsC {
		if slices.Contains([]int{0, 1, 2, 5, 7, 15}, i) {
			g.add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: uint64(i), Args: []ir.ID{d}})
		}
	}
}
