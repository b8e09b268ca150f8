package lift

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// accBase is the register number of AccVGPR 0.
const accBase = 256

// cached is what a block knows about a vector register: its value in the lanes of mask (NoID: in all lanes).
type cached struct {
	val, mask ir.ID
	stamp     int // block it belongs to
}

// state is an emitter that knows architectural registers. Inside a block a register is read once; a write is emitted
// at once and remembered. A scalar register may be known as itself, as half of a pair, or as a lane mask; each view is
// made from another when there is one.
type state struct {
	emitter
	stamp int
	s     [isa.NumSRegs]ir.ID // S32
	s64   [isa.NumSRegs]ir.ID // S64: n, n+1
	m     [isa.NumSRegs]ir.ID // M: n (and n+1)
	scc   ir.ID               // S1
	vreg  *[512]cached
}

// scratch is what liftings use one after the other.
type scratch struct {
	lifter lifter
	code   window
	vn     numbering
	vreg   [512]cached
	last   int // stamp of vreg
	ctx    ictx
	second ictx
	pruner pruner

	values []ir.Value // room to build in
	codes  []ir.ID    // of blocks
	slab   []ir.ID    // of arguments
}

// release drops what the last lifting refers to but its room. (Values keep pointers to arguments until the next.)
func (sc *scratch) release() {
	sc.last, sc.code.src = sc.lifter.stamp, nil
	sc.lifter.f, sc.lifter.b = nil, nil
}

// nothing is what a block knows of the scalar registers at its start.
var nothing = func() (ids [isa.NumSRegs]ir.ID) {
	for i := range ids {
		ids[i] = ir.NoID
	}
	return ids
}()

// enter starts block b with nothing known.
func (st *state) enter(b *ir.Block) {
	st.b = b
	st.stamp++
	st.vn.stamp++
	st.s, st.s64, st.m = nothing, nothing, nothing
	st.scc = ir.NoID
}

// maskRegs is the number of scalar registers in a lane mask.
func (st *state) maskRegs() int { return st.lanes / 32 }

// sget reads scalar register n.
func (st *state) sget(n int) ir.ID {
	switch {
	case n == isa.SRegNull || n >= isa.NumSRegs:
		return st.c32(0)
	case n == isa.SRegSCC:
		return st.op(ir.OpBToS, ir.S32, st.getSCC())
	case st.s[n] != ir.NoID:
		return st.s[n]
	}
	id := ir.NoID
	switch {
	case st.s64[n] != ir.NoID:
		id = st.op(ir.OpLo, ir.S32, st.s64[n])
	case n > 0 && st.s64[n-1] != ir.NoID:
		id = st.op(ir.OpHi, ir.S32, st.s64[n-1])
	case st.m[n] != ir.NoID && st.lanes == 32:
		id = st.op(ir.OpMToS, ir.S32, st.m[n])
	case st.m[n] != ir.NoID:
		id = st.op(ir.OpLo, ir.S32, st.op(ir.OpMToS, ir.S64, st.m[n]))
	case n > 0 && st.m[n-1] != ir.NoID && st.lanes == 64:
		id = st.op(ir.OpHi, ir.S32, st.op(ir.OpMToS, ir.S64, st.m[n-1]))
	default:
		id = st.raw(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: uint64(n)})
	}
	st.s[n] = id
	return id
}

// sget64 reads the pair n, n+1.
func (st *state) sget64(n int) ir.ID {
	switch {
	case n == isa.SRegNull || n+1 >= isa.NumSRegs:
		return st.c(ir.S64, 0)
	case st.s64[n] != ir.NoID:
		return st.s64[n]
	}
	id := ir.NoID
	switch {
	case st.m[n] != ir.NoID && st.lanes == 64:
		id = st.op(ir.OpMToS, ir.S64, st.m[n])
	case st.known(n) || st.known(n+1):
		id = st.op(ir.OpPair, ir.S64, st.sget(n), st.sget(n+1))
	default:
		id = st.raw(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: uint64(n)})
	}
	st.s64[n] = id
	return id
}

// known reports whether a view of scalar register n exists.
func (st *state) known(n int) bool {
	return st.s[n] != ir.NoID || st.s64[n] != ir.NoID || n > 0 && st.s64[n-1] != ir.NoID ||
		st.m[n] != ir.NoID || n > 0 && st.lanes == 64 && st.m[n-1] != ir.NoID
}

// mget reads a lane mask from scalar register n (a pair in wave64).
func (st *state) mget(n int) ir.ID {
	if n == isa.SRegNull {
		return st.c(ir.M, 0)
	}
	if st.m[n] != ir.NoID {
		return st.m[n]
	}
	id := ir.NoID
	switch {
	case st.lanes == 64 && (st.s64[n] != ir.NoID || st.known(n) || st.known(n+1)):
		id = st.toMask(st.sget64(n))
	case st.lanes == 32 && st.known(n):
		id = st.toMask(st.sget(n))
	default:
		id = st.raw(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: uint64(n)})
	}
	st.m[n] = id
	return id
}

// toMask turns a scalar of the lane mask's width into a mask; bitwise logic on values that come from masks becomes
// mask logic.
func (st *state) toMask(x ir.ID) ir.ID {
	if m, ok := st.maskView(x, 4); ok {
		return m
	}
	return st.op(ir.OpSToM, ir.M, x)
}

func (st *state) maskView(x ir.ID, depth int) (ir.ID, bool) {
	v := *st.v(x)
	if v.Type != st.maskScalar() || depth == 0 {
		return ir.NoID, false
	}
	var o ir.Op
	switch v.Op {
	case ir.OpMToS:
		return v.Args[0], true
	case ir.OpConst:
		return st.c(ir.M, v.Imm), true
	case ir.OpAnd:
		o = ir.OpMAnd
	case ir.OpOr:
		o = ir.OpMOr
	case ir.OpXor:
		o = ir.OpMXor
	case ir.OpNot:
		if a, ok := st.maskView(v.Args[0], depth-1); ok {
			return st.op(ir.OpMNot, ir.M, a), true
		}
		return ir.NoID, false
	default:
		return ir.NoID, false
	}
	a, ok := st.maskView(v.Args[0], depth-1)
	if !ok {
		return ir.NoID, false
	}
	b, ok := st.maskView(v.Args[1], depth-1)
	if !ok {
		return ir.NoID, false
	}
	return st.op(o, ir.M, a, b), true
}

// forget drops all views of scalar registers n..n+w-1.
func (st *state) forget(n, w int) {
	for i := n; i < n+w && i < isa.NumSRegs; i++ {
		st.s[i], st.s64[i], st.m[i] = ir.NoID, ir.NoID, ir.NoID
		if i > 0 {
			st.s64[i-1] = ir.NoID
			if st.lanes == 64 {
				st.m[i-1] = ir.NoID
			}
		}
	}
}

// sset writes scalar register n.
func (st *state) sset(n int, x ir.ID) {
	if n == isa.SRegNull || n >= isa.NumSRegs {
		return
	}
	if st.lanes == 32 {
		if m, ok := st.maskView(x, 4); ok && !st.isOp(x, ir.OpConst) {
			st.mset(n, m)
			return
		}
	}
	st.raw(ir.Value{Op: ir.OpSSet, Imm: uint64(n)}, x)
	st.forget(n, 1)
	st.s[n] = x
}

// sset64 writes the pair n, n+1.
func (st *state) sset64(n int, x ir.ID) {
	if n == isa.SRegNull || n+1 >= isa.NumSRegs {
		return
	}
	if st.lanes == 64 {
		if m, ok := st.maskView(x, 4); ok && !st.isOp(x, ir.OpConst) {
			st.mset(n, m)
			st.s64[n] = st.op(ir.OpMToS, ir.S64, m)
			return
		}
	}
	st.raw(ir.Value{Op: ir.OpSSet64, Imm: uint64(n)}, x)
	st.forget(n, 2)
	st.s64[n] = x
}

// mset writes a lane mask.
func (st *state) mset(n int, x ir.ID) {
	if n == isa.SRegNull {
		return
	}
	st.raw(ir.Value{Op: ir.OpMSet, Imm: uint64(n)}, x)
	st.forget(n, st.maskRegs())
	st.m[n] = x
}

// getSCC reads SCC as a truth value.
func (st *state) getSCC() ir.ID {
	if st.scc == ir.NoID {
		st.scc = st.op(ir.OpSToB, ir.S1, st.raw(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: isa.SRegSCC}))
	}
	return st.scc
}

// setSCC writes SCC.
func (st *state) setSCC(x ir.ID) {
	st.raw(ir.Value{Op: ir.OpSSet, Imm: isa.SRegSCC}, st.op(ir.OpBToS, ir.S32, x))
	st.scc = x
}

// exec is EXEC as a mask.
func (st *state) exec() ir.ID { return st.mget(isa.SRegEXECLo) }

// vget reads vector register n for use in the lanes of EXEC only.
func (st *state) vget(n int) ir.ID {
	c := &st.vreg[n]
	if c.stamp == st.stamp && (c.mask == ir.NoID || c.mask == st.exec()) {
		return c.val
	}
	return st.vgetFull(n)
}

// vgetFull reads vector register n in all lanes.
func (st *state) vgetFull(n int) ir.ID {
	c := &st.vreg[n]
	if c.stamp != st.stamp || c.mask != ir.NoID {
		*c = cached{st.raw(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(n)}), ir.NoID, st.stamp}
	}
	return c.val
}

// vset writes x to the lanes of mask of vector register n.
func (st *state) vset(n int, x, mask ir.ID) {
	if st.isConst(mask, 0) {
		return
	}
	st.raw(ir.Value{Op: ir.OpVSet, Imm: uint64(n)}, x, mask)
	if st.isConst(mask, st.full()) {
		mask = ir.NoID
	}
	st.vreg[n] = cached{x, mask, st.stamp}
}
