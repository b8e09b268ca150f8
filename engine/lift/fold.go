package lift

import (
	"math/bits"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// fold returns an existing value equal to val(ids), when the constants or shapes of its arguments give one.
func (e *emitter) fold(val *ir.Value, ids []ir.ID) (ir.ID, bool) {
	switch val.Op {
	case ir.OpConst:
		return ir.NoID, false
	case ir.OpLo, ir.OpHi:
		return e.foldHalf(val, ids)
	case ir.OpPair:
		a, b := e.v(ids[0]), e.v(ids[1])
		if a.Op == ir.OpConst && b.Op == ir.OpConst {
			return e.c(ir.S64, a.Imm&0xffffffff|b.Imm<<32), true
		}
		if a.Op == ir.OpLo && b.Op == ir.OpHi && a.Args[0] == b.Args[0] && e.typ(a.Args[0]) == val.Type {
			return a.Args[0], true
		}
	case ir.OpElem:
		if a := e.v(ids[0]); a.Op == ir.OpTuple {
			return a.Args[val.Imm], true
		}
	case ir.OpSToM:
		a := e.v(ids[0])
		switch a.Op {
		case ir.OpMToS:
			return a.Args[0], true
		case ir.OpConst:
			return e.c(ir.M, a.Imm), true
		}
	case ir.OpMToS:
		a := e.v(ids[0])
		switch a.Op {
		case ir.OpSToM:
			return a.Args[0], true
		case ir.OpConst:
			return e.c(val.Type, a.Imm), true
		}
	case ir.OpSToB:
		a := e.v(ids[0])
		switch a.Op {
		case ir.OpBToS:
			return a.Args[0], true
		case ir.OpConst:
			return e.c(ir.S1, b2u(a.Imm != 0)), true
		}
	case ir.OpBToS:
		if x, ok := e.constant(ids[0]); ok {
			return e.c32(uint32(x)), true
		}
	case ir.OpMIsZ:
		if x, ok := e.constant(ids[0]); ok {
			return e.c(ir.S1, b2u(x == 0)), true
		}
	case ir.OpMAnd, ir.OpMOr, ir.OpMXor, ir.OpMNot:
		return e.foldMask(val, ids)
	case ir.OpCarryAdd, ir.OpBorrow:
		if len(ids) == 3 && ids[2] == ir.NoID && e.isConst(ids[1], 0) || val.Op == ir.OpCarryAdd && ids[2] == ir.NoID && e.isConst(ids[0], 0) {
			return e.c(val.Type, 0), true
		}
	case ir.OpSelect:
		if ids[1] == ids[2] {
			return ids[1], true
		}
		if x, ok := e.constant(ids[0]); ok && (e.typ(ids[0]) == ir.S1 || x == 0 || x == e.full()) {
			if x != 0 {
				return ids[1], true
			}
			return ids[2], true
		}
	case ir.OpReadFirst, ir.OpReadLane:
		if !isVec(e.typ(ids[0])) {
			return ids[0], true
		}
	case ir.OpZext:
		return e.foldZext(val, ids)
	case ir.OpSext:
		if a := e.v(ids[0]); a.Op == ir.OpConst {
			s := 64 - val.Imm
			return e.c(val.Type, uint64(int64(a.Imm<<s)>>s)), true
		}
	case ir.OpZext64:
		if x, ok := e.constant(ids[0]); ok {
			return e.c(ir.S64, x&0xffffffff), true
		}
	case ir.OpSext64:
		if x, ok := e.constant(ids[0]); ok {
			return e.c(ir.S64, uint64(int64(int32(x)))), true
		}
	default:
		return e.foldInt(val, ids)
	}
	return ir.NoID, false
}

// foldHalf is fold for a half of a 64-bit value.
func (e *emitter) foldHalf(val *ir.Value, ids []ir.ID) (ir.ID, bool) {
	a := e.v(ids[0])
	n := 0
	if val.Op == ir.OpHi {
		n = 1
	}
	switch {
	case a.Op == ir.OpPair:
		return a.Args[n], true
	case a.Op == ir.OpConst:
		return e.c32(uint32(a.Imm >> (32 * n))), true
	case a.Op == ir.OpZext64 && n == 1:
		return e.c32(0), true
	case (a.Op == ir.OpZext64 || a.Op == ir.OpSext64) && n == 0:
		return a.Args[0], true
	}
	return ir.NoID, false
}

// foldZext is fold for a zero-extension of what is extended already, or is a constant.
func (e *emitter) foldZext(val *ir.Value, ids []ir.ID) (ir.ID, bool) {
	a := e.v(ids[0])
	if a.Op == ir.OpZext && a.Imm <= val.Imm || a.Op == ir.OpMToV || a.Op == ir.OpBToS {
		return ids[0], true
	}
	if a.Op == ir.OpLShr && !is64(a.Type) {
		if s, ok := e.constant(a.Args[1]); ok && s&31 >= 32-val.Imm {
			return ids[0], true
		}
	}
	if a.Op == ir.OpLoad && a.Type == ir.V32 && !a.Sign && uint64(a.Width)*8 <= val.Imm {
		return ids[0], true
	}
	if floatHalf(a) && val.Imm >= 16 {
		return ids[0], true
	}
	if a.Op == ir.OpConst {
		return e.c(val.Type, a.Imm&(1<<val.Imm-1)), true
	}
	return ir.NoID, false
}

// floatHalf reports whether v is a 16-bit float result, whose high half is zero.
func floatHalf(v *ir.Value) bool {
	return (v.Kind == ir.F16 || v.Kind == ir.BF16) && v.Type == ir.V32 && v.Op >= ir.OpFAdd && v.Op <= ir.OpFMant
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (e *emitter) foldMask(val *ir.Value, ids []ir.ID) (ir.ID, bool) {
	all := e.full()
	if val.Type == ir.S1 {
		all = 1
	}
	x, xc := e.constant(ids[0])
	if val.Op == ir.OpMNot {
		if xc {
			return e.c(val.Type, ^x&all), true
		}
		if a := e.v(ids[0]); a.Op == ir.OpMNot {
			return a.Args[0], true
		}
		return ir.NoID, false
	}
	y, yc := e.constant(ids[1])
	if xc && !yc { // constant to the right
		ids[0], ids[1] = ids[1], ids[0]
		x, xc, y, yc = y, yc, x, xc
	}
	switch {
	case xc && yc:
		switch val.Op {
		case ir.OpMAnd:
			x &= y
		case ir.OpMOr:
			x |= y
		default:
			x ^= y
		}
		return e.c(val.Type, x), true
	case val.Op == ir.OpMAnd && e.within(ids[0], ids[1]):
		return ids[0], true
	case val.Op == ir.OpMAnd && e.within(ids[1], ids[0]):
		return ids[1], true
	case ids[0] == ids[1]:
		if val.Op == ir.OpMXor {
			return e.c(val.Type, 0), true
		}
		return ids[0], true
	case yc && y == 0:
		if val.Op == ir.OpMAnd {
			return ids[1], true
		}
		return ids[0], true
	case yc && y == all:
		switch val.Op {
		case ir.OpMAnd:
			return ids[0], true
		case ir.OpMOr:
			return ids[1], true
		}
		return e.op(ir.OpMNot, val.Type, ids[0]), true
	}
	return ir.NoID, false
}

// within reports whether mask x is known to be a subset of mask y: y, or y and something.
func (e *emitter) within(x, y ir.ID) bool {
	for range 4 {
		v := e.v(x)
		if v.Op != ir.OpMAnd {
			return false
		}
		if v.Args[0] == y || v.Args[1] == y {
			return true
		}
		x = v.Args[0]
	}
	return false
}

// foldInt folds integer operations on uniform constants, and a few identities.
func (e *emitter) foldInt(val *ir.Value, ids []ir.ID) (ir.ID, bool) {
	no := ir.NoID
	if val.Kind != ir.KindNone || val.From != ir.KindNone || len(ids) == 0 || len(ids) > 2 {
		return no, false
	}
	x, xc := e.constant(ids[0])
	if len(ids) == 1 {
		if !xc || val.Type == ir.M {
			return no, false
		}
		r, ok := foldUnary(val.Op, is64(val.Type), x)
		if !ok {
			return no, false
		}
		return e.c(typeOf(false, is64(val.Type)), r), true
	}
	y, yc := e.constant(ids[1])
	switch val.Op {
	case ir.OpAdd, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor:
		if xc && !yc {
			ids[0], ids[1] = ids[1], ids[0]
			x, xc, y, yc = y, yc, x, xc
		}
	}
	wide := is64(val.Type)
	if xc && yc && val.Type != ir.M {
		if val.Op == ir.OpICmp {
			w := is64(e.typ(ids[0]))
			return e.c(ir.S1, b2u(compare(val.Pred, w, x, y))), true
		}
		if r, ok := foldBinary(val.Op, wide, x, y); ok {
			return e.c(typeOf(false, wide), r), true
		}
		return no, false
	}
	all := uint64(0xffffffff)
	if wide {
		all = ^uint64(0)
	}
	if !yc || is64(e.typ(ids[0])) != wide {
		if val.Op == ir.OpICmp && val.Type == ir.S1 && yc && y == 0 && (val.Pred == ir.NE || val.Pred == ir.EQ) {
			return e.foldZeroTest(val.Pred, ids[0])
		}
		return no, false
	}
	switch val.Op {
	case ir.OpAdd, ir.OpSub, ir.OpOr, ir.OpXor:
		if y == 0 {
			return ids[0], true
		}
	case ir.OpShl, ir.OpLShr, ir.OpAShr:
		if w := uint64(31); y&w == 0 && !wide || y&63 == 0 {
			return ids[0], true
		}
	case ir.OpAnd:
		if y == all {
			return ids[0], true
		}
		if y == 0 {
			return ids[1], true
		}
	case ir.OpMul:
		if y == 1 {
			return ids[0], true
		}
		if y == 0 {
			return ids[1], true
		}
	}
	return no, false
}

// foldZeroTest simplifies a comparison of x with zero when x stands for a mask or a truth value.
func (e *emitter) foldZeroTest(p ir.Pred, x ir.ID) (ir.ID, bool) {
	a := e.v(x)
	switch a.Op {
	case ir.OpMToS:
		z := e.op(ir.OpMIsZ, ir.S1, a.Args[0])
		if p == ir.NE {
			z = e.op(ir.OpMNot, ir.S1, z)
		}
		return z, true
	case ir.OpBToS:
		if p == ir.NE {
			return a.Args[0], true
		}
		return e.op(ir.OpMNot, ir.S1, a.Args[0]), true
	}
	return ir.NoID, false
}

func foldUnary(o ir.Op, wide bool, x uint64) (uint64, bool) {
	w := 32
	if wide {
		w = 64
	}
	switch o {
	case ir.OpNot:
		return ^x, true
	case ir.OpPopcnt:
		return uint64(bits.OnesCount64(x)), true
	case ir.OpBrev:
		return bits.Reverse64(x) >> (64 - w), true
	}
	return 0, false
}

func foldBinary(o ir.Op, wide bool, x, y uint64) (uint64, bool) {
	s := func(v uint64) int64 {
		if wide {
			return int64(v)
		}
		return int64(int32(v))
	}
	cnt := y & 31
	if wide {
		cnt = y & 63
	}
	switch o {
	case ir.OpAdd:
		return x + y, true
	case ir.OpSub:
		return x - y, true
	case ir.OpMul:
		return x * y, true
	case ir.OpAnd:
		return x & y, true
	case ir.OpOr:
		return x | y, true
	case ir.OpXor:
		return x ^ y, true
	case ir.OpShl:
		return x << cnt, true
	case ir.OpLShr:
		return x >> cnt, true
	case ir.OpAShr:
		return uint64(s(x) >> cnt), true
	case ir.OpMinU:
		return min(x, y), true
	case ir.OpMaxU:
		return max(x, y), true
	case ir.OpMinS:
		return uint64(min(s(x), s(y))), true
	case ir.OpMaxS:
		return uint64(max(s(x), s(y))), true
	case ir.OpMulHiU:
		if !wide {
			return x * y >> 32, true
		}
	}
	return 0, false
}

func compare(p ir.Pred, wide bool, x, y uint64) bool {
	sx, sy := int64(x), int64(y)
	if !wide {
		sx, sy = int64(int32(x)), int64(int32(y))
	}
	switch p {
	case ir.EQ:
		return x == y
	case ir.NE:
		return x != y
	case ir.ULT:
		return x < y
	case ir.ULE:
		return x <= y
	case ir.UGT:
		return x > y
	case ir.UGE:
		return x >= y
	case ir.SLT:
		return sx < sy
	case ir.SLE:
		return sx <= sy
	case ir.SGT:
		return sx > sy
	case ir.SGE:
		return sx >= sy
	}
	return false
}
