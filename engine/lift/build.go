package lift

import (
	"math/bits"
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// numbering finds equal pure values of the current block. It is a hash table that forgets: a value that finds no room
// in its probe window takes the first place, and entries of earlier blocks are stale by their stamp. It holds names only, to be small.
type numbering struct {
	e     [1 << vnBits]numbered
	stamp uint32
}

type numbered struct {
	hash, stamp uint32
	id          ir.ID
}

const vnBits = 10

// hashOf is a hash of the pure operation v(ids).
func hashOf(v *ir.Value, ids []ir.ID) uint32 {
	h := uint64(v.Op) | uint64(v.Type)<<8 | uint64(v.N)<<16 | uint64(v.Kind)<<24 | uint64(v.From)<<32 | uint64(v.FP)<<40 | uint64(v.Pred)<<48
	h = (h ^ v.Imm) * 0x9e3779b97f4a7c15
	for _, id := range ids {
		h = (h>>32 ^ h ^ uint64(uint32(id))) * 0xbf58476d1ce4e5b9
	}
	return uint32(h >> 32)
}

// equal says whether v, which has its arguments, is the pure operation w(ids).
func equal(v, w *ir.Value, ids []ir.ID) bool {
	return v.Op == w.Op && v.Type == w.Type && v.Imm == w.Imm && v.N == w.N && v.Kind == w.Kind && v.From == w.From && v.FP == w.FP && v.Pred == w.Pred &&
		slices.Equal(v.Args, ids)
}

// find returns the value equal to v(ids), whose hash is h, or the place for it.
func (n *numbering) find(f *ir.Func, v *ir.Value, ids []ir.ID, h uint32) (ir.ID, *numbered) {
	for i := range uint32(4) {
		e := &n.e[(h+i)&(1<<vnBits-1)]
		if e.stamp != n.stamp {
			return ir.NoID, e
		}
		if e.hash == h && equal(&f.Values[e.id], v, ids) {
			return e.id, e
		}
	}
	return ir.NoID, &n.e[h&(1<<vnBits-1)]
}

// emitter appends values to a block, folding constants and sharing equal pure values.
type emitter struct {
	f     *ir.Func
	b     *ir.Block
	lanes int
	pc    uint32 // offset of the guest instruction being lifted
	vn    *numbering
	slab  []ir.ID // backing store of argument lists
}

// full is the lane mask of all lanes.
func (e *emitter) full() uint64 {
	if e.lanes == 64 {
		return ^uint64(0)
	}
	return 1<<e.lanes - 1
}

// maskScalar is the scalar type that holds a lane mask.
func (e *emitter) maskScalar() ir.Type {
	if e.lanes == 64 {
		return ir.S64
	}
	return ir.S32
}

func (e *emitter) v(id ir.ID) *ir.Value        { return &e.f.Values[id] }
func (e *emitter) typ(id ir.ID) ir.Type        { return e.f.Values[id].Type }
func (e *emitter) isOp(id ir.ID, o ir.Op) bool { return id >= 0 && e.f.Values[id].Op == o }

// args copies ids to the slab.
func (e *emitter) args(ids []ir.ID) []ir.ID {
	if len(ids) == 0 {
		return nil
	}
	if len(e.slab)+len(ids) > cap(e.slab) {
		e.slab = make([]ir.ID, 0, max(1024, 2*cap(e.slab)))
	}
	n := len(e.slab)
	e.slab = append(e.slab, ids...)
	return e.slab[n:len(e.slab):len(e.slab)]
}

// raw appends val with the given arguments, unconditionally.
func (e *emitter) raw(val ir.Value, ids ...ir.ID) ir.ID {
	return e.add(&val, ids)
}

// add is raw without a copy.
func (e *emitter) add(val *ir.Value, ids []ir.ID) ir.ID {
	n := len(e.f.Values)
	if n == cap(e.f.Values) {
		e.f.Values = slices.Grow(e.f.Values, max(n, 256))
	}
	e.f.Values = e.f.Values[:n+1]
	id := ir.ID(n)
	// Field by field: the processor waits when it reads as a whole what was just written in pieces.
	v := &e.f.Values[n]
	v.Op, v.Type, v.N, v.Kind, v.From, v.FP, v.Pred = val.Op, val.Type, val.N, val.Kind, val.From, val.FP, val.Pred
	v.Space, v.Width, v.Sign, v.Atomic, v.Order = val.Space, val.Width, val.Sign, val.Atomic, val.Order
	v.PC, v.Args, v.Imm = e.pc, e.args(ids), val.Imm
	if v.Aux != nil || val.Aux != nil {
		v.Aux = val.Aux
	}
	e.b.Code = append(e.b.Code, id)
	return id
}

// pure appends val unless an equal one exists in the block, or it folds.
func (e *emitter) pure(val ir.Value, ids ...ir.ID) ir.ID { return e.shared(&val, ids) }

// shared is pure without a copy.
func (e *emitter) shared(val *ir.Value, ids []ir.ID) ir.ID {
	if id, ok := e.fold(val, ids); ok {
		return id
	}
	if val.Aux != nil || len(ids) > 4 {
		return e.add(val, ids)
	}
	h := hashOf(val, ids)
	id, place := e.vn.find(e.f, val, ids, h)
	if id == ir.NoID {
		id = e.add(val, ids)
		*place = numbered{h, e.vn.stamp, id}
	}
	return id
}

// op emits a pure operation of type t.
func (e *emitter) op(o ir.Op, t ir.Type, ids ...ir.ID) ir.ID {
	return e.pure(ir.Value{Op: o, Type: t}, ids...)
}

// opi is op with an immediate.
func (e *emitter) opi(o ir.Op, t ir.Type, imm uint64, ids ...ir.ID) ir.ID {
	return e.pure(ir.Value{Op: o, Type: t, Imm: imm}, ids...)
}

// c makes a constant.
func (e *emitter) c(t ir.Type, x uint64) ir.ID {
	switch t {
	case ir.S1:
		x &= 1
	case ir.S32, ir.V32:
		x &= 0xffffffff
	case ir.M:
		x &= e.full()
	}
	return e.opi(ir.OpConst, t, x)
}

func (e *emitter) c32(x uint32) ir.ID { return e.c(ir.S32, uint64(x)) }

// perLane is x as a per-lane value, for operations that do not take uniform operands.
func (e *emitter) perLane(x ir.ID) ir.ID {
	switch e.typ(x) {
	case ir.S32:
		return e.op(ir.OpSplat, ir.V32, x)
	case ir.S64:
		return e.op(ir.OpSplat, ir.V64, x)
	}
	return x
}

// constant returns the bits of a uniform constant.
func (e *emitter) constant(id ir.ID) (uint64, bool) {
	if id < 0 {
		return 0, false
	}
	v := &e.f.Values[id]
	return v.Imm, v.Op == ir.OpConst
}

func (e *emitter) isConst(id ir.ID, x uint64) bool {
	c, ok := e.constant(id)
	return ok && c == x
}

func isVec(t ir.Type) bool { return t == ir.V32 || t == ir.V64 }
func is64(t ir.Type) bool  { return t == ir.S64 || t == ir.V64 }

// same is the integer type that holds x op y: 64 bits wide when either is, a vector when either is.
func (e *emitter) same(ids ...ir.ID) ir.Type {
	v, w := false, false
	for _, id := range ids {
		t := e.typ(id)
		v = v || isVec(t)
		w = w || is64(t)
	}
	return typeOf(v, w)
}

func typeOf(vec, wide bool) ir.Type {
	switch {
	case vec && wide:
		return ir.V64
	case vec:
		return ir.V32
	case wide:
		return ir.S64
	}
	return ir.S32
}

// fold returns an existing value equal to val(ids), when the constants or shapes of its arguments give one.
func (e *emitter) fold(val *ir.Value, ids []ir.ID) (ir.ID, bool) {
	switch val.Op {
	case ir.OpConst:
		return ir.NoID, false
	case ir.OpLo, ir.OpHi:
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
