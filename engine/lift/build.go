package lift

import (
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
