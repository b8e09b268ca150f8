package jit

import (
	"fmt"
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// A kernel whose waves run straight to their end, with addresses that follow one another from lane to lane, is compiled a second time: as
// a loop over the waves of many work-groups (see doc.go, Streams). The trace of a wave with all lanes active is evaluated symbolically:
// a vector value is uniform, affine (a scalar base plus a constant step for each lane), or it is general and has its registers. What the
// form rests on is checked by scalar guards before the wave does anything that can be seen, so a wave that does not fit is begun anew by
// the usual code.
//
// stream is the symbolic evaluation.
type stream struct {
	c     *compiler
	p     planner // only for the forms of 64-bit values
	env   map[ir.ID]*sval
	s     map[uint64]half // scalar registers
	v     map[uint64]*sval
	pc    uint32         // of the operation being evaluated
	decs  []bool         // by fork: the other way is assumed
	known map[ir.ID]bool // truth values that forks have decided
	x     []int          // scalar registers that are one more in each work-group
	unit  int            // what is done at a time: levelWave, or levelGroup where a work-group's waves go on from each other
	lanes int64          // of a unit
	ahead int32          // lanes of the unit before the wave that is emitted

	lists  [3][]ir.ID // scalar operations, guards and addresses by level
	level  map[ir.ID]uint8
	vecs   []ir.ID // of the vector part, in order
	consts map[constant]ir.ID
	same   map[scalarKey]ir.ID
	items  map[uint64]*sval // work-item id registers that are read
	forks  []fork
	access []streamAccess
	insts  int
}

// Levels: what is the same for all waves of a dispatch, of a work-group, of none.
const (
	levelDispatch = iota
	levelGroup
	levelWave
)

type scalarKey struct {
	op   ir.Op
	t    ir.Type
	p    ir.Pred
	imm  uint64
	args [3]ir.ID
}

type constant struct {
	t ir.Type
	x uint64
}

type fork struct {
	guard  ir.ID
	branch bool // of uniform control flow, not of a lane mask
}

// streamAccess is a memory access of the trace.
type streamAccess struct {
	id    ir.ID // the load or store
	host  ir.ID // its host address
	step  int64 // bytes from lane to lane
	n     int32 // bytes from the first to the last
	write bool
}

type skind uint8

const (
	kUniform skind = iota // id is a scalar
	kAffine               // id is the scalar value of lane 0, step what each lane adds
	kVector               // id is a vector value or a tuple of them
	kMask                 // id is a lane mask
	kAll                  // a mask known to be full, or empty
	kTuple                // elems
	kLazy                 // made when it is asked for
)

// sval is a value of the trace.
type sval struct {
	kind  skind
	wide  bool // 64 bits
	id    ir.ID
	step  int64
	max   uint64 // kAffine of 32 bits: no lane's value is above, when not 0
	bits  uint64 // kAll
	elems []*sval
	lazy  func() *sval
	vec   ir.ID // kAffine as a vector, when it was wanted

	sum   *[2]*sval // what it is the sum of
	carry *[3]*sval // it is the carry of these
	high  *sval     // with sum: it is sum[0] + sum[1] + this carry
	of    *sval     // it is the low half of this 64-bit value, or
	hi    bool      // the high one
	signs *sval     // it is the sign of this value in all bits
}

// half is a scalar register's value: a 32-bit value, or a half of a 64-bit one.
type half struct {
	x  *sval
	hi bool
	n  uint64 // register where x begins
}

// refusal is why a function has no stream form.
type refusal string

func refuse(format string, a ...any) { panic(refusal(fmt.Sprintf(format, a...))) }

// The compiler's own operations of a stream.
const (
	opGuard = ir.NumOps + 8 + iota // (S1 holds, S1 or NoID: another wave may hold it): leaves when it does not
	opHost                         // S64(S64 address): host address of access Imm
	opID                           // S32: lane 0's work-item id register Imm
)

const maxStream = 600 // operations of a trace

// evaluate runs the trace of f from its entry with the given decisions.
func (s *stream) evaluate(f *ir.Func, decs []bool) (err error) {
	c := s.c
	s.env, s.s, s.v = map[ir.ID]*sval{}, map[uint64]half{}, map[uint64]*sval{}
	s.decs, s.forks, s.access, s.vecs, s.insts = decs, nil, nil, nil, 0
	s.known, s.same = map[ir.ID]bool{}, map[scalarKey]ir.ID{}
	s.level, s.consts, s.items = map[ir.ID]uint8{}, map[constant]ir.ID{}, map[uint64]*sval{}
	s.lists = [3][]ir.ID{}
	s.p = planner{c: c, turn: 1}
	c.code, c.zero = c.code[:0], ir.NoID
	c.vals = c.vals[:c.n]
	for i := range c.vals {
		c.vals[i] = value{}
	}
	c.original()
	defer func() {
		switch x := recover().(type) {
		case nil:
		case refusal:
			err = &ErrUnsupported{string(x)}
		default:
			panic(x)
		}
	}()
	full := &sval{kind: kAll, bits: c.full(), wide: c.lanes == 64}
	s.setS(isa.SRegEXECLo, uint64(c.lanes/32), full)
	seen := make([]bool, len(f.Blocks))
	for b, n := f.Blocks[0], 0; ; {
		if seen[b.Index] || len(b.Params) > 0 {
			refuse("a loop")
		}
		seen[b.Index] = true
		s.insts += b.Insts
		for _, id := range b.Code {
			if n++; n > maxStream {
				refuse("too long")
			}
			v := &f.Values[id]
			s.pc = v.PC
			if x := s.eval(id, v); x != nil {
				s.env[id] = x
			}
		}
		t := &b.Term
		to := t.Then
		switch t.Kind {
		case ir.TermBranch:
			if !s.truth(s.use(t.Cond)) {
				to = t.Else
			}
		case ir.TermExit:
			if t.Exit != ir.ExitEndPgm {
				refuse("exit %v", t.Exit)
			}
			return nil
		}
		b = f.Blocks[to]
	}
}

// konst is a scalar constant.
func (s *stream) konst(t ir.Type, x uint64) ir.ID {
	k := constant{t, x}
	id, ok := s.consts[k]
	if !ok {
		id = s.c.add(ir.Value{Op: ir.OpConst, Type: t, Imm: x})
		s.consts[k] = id
	}
	return id
}

func (s *stream) num32(x uint32) *sval { return &sval{id: s.konst(ir.S32, uint64(x))} }

// constOf tells the bits of a uniform constant.
func (s *stream) constOf(x *sval) (uint64, bool) {
	if x.kind != kUniform {
		return 0, false
	}
	return s.c.isConst(x.id)
}

// scalar adds a scalar operation and gives its result; it folds constants where masks and branches come from.
func (s *stream) scalar(v ir.Value) ir.ID {
	c := s.c
	if v.Op == ir.OpNot || v.Op == ir.OpMNot || v.Op == ir.OpSToB || v.Op == ir.OpBToS || v.Op == ir.OpLo || v.Op == ir.OpHi || len(v.Args) == 2 && v.Args[0] != ir.NoID && v.Args[1] != ir.NoID {
		if x, ok := s.fold(&v); ok {
			return s.konst(v.Type, x)
		}
	}
	if !c.canScalar(&v) {
		refuse("%v of uniform values", v.Op)
	}
	// The same again, as compilers write it.
	k := scalarKey{v.Op, v.Type, v.Pred, v.Imm, [3]ir.ID{ir.NoID, ir.NoID, ir.NoID}}
	copy(k.args[:], v.Args)
	id, ok := s.same[k]
	if !ok {
		id = s.put(v)
		s.same[k] = id
	}
	return id
}

// put adds an operation to the list of its level.
func (s *stream) put(v ir.Value) ir.ID {
	l := uint8(levelDispatch)
	switch {
	case v.Op == opID || v.Op == opGuard || v.Op == opHost:
		l = uint8(s.unit)
	case v.Op == ir.OpSGet && slices.Contains(s.x, int(v.Imm)):
		l = levelGroup
	}
	for _, a := range v.Args {
		if a != ir.NoID {
			l = max(l, s.level[a])
		}
	}
	v.PC = s.pc
	id := s.c.add(v)
	s.level[id] = l
	s.lists[l] = append(s.lists[l], id)
	return id
}

// fold works out a scalar operation on constants.
func (s *stream) fold(v *ir.Value) (uint64, bool) {
	x, ok := s.c.isConst(v.Args[0])
	if !ok {
		return 0, false
	}
	x = s.c.trim(v.Args[0], x)
	var y uint64
	if len(v.Args) > 1 {
		if y, ok = s.c.isConst(v.Args[1]); !ok {
			return 0, false
		}
		y = s.c.trim(v.Args[1], y)
	}
	m := ^uint64(0)
	if v.Type == ir.S32 {
		m = 0xffffffff
	}
	bit := func(b bool) (uint64, bool) { return uint64(b2i(b)), true }
	switch v.Op {
	case ir.OpAnd, ir.OpMAnd:
		return x & y, true
	case ir.OpOr, ir.OpMOr:
		return x | y, true
	case ir.OpXor, ir.OpMXor:
		return x ^ y, true
	case ir.OpAdd:
		return (x + y) & m, true
	case ir.OpNot:
		return ^x & m, true
	case ir.OpMNot:
		return x ^ 1, true
	case ir.OpSToB:
		return bit(x != 0)
	case ir.OpBToS:
		return x, true
	case ir.OpLo:
		return x & 0xffffffff, true
	case ir.OpHi:
		return x >> 32, true
	case ir.OpICmp:
		switch v.Pred {
		case ir.EQ:
			return bit(x == y)
		case ir.NE:
			return bit(x != y)
		}
	}
	return 0, false
}

func (s *stream) un(op ir.Op, t ir.Type, x ir.ID) ir.ID {
	return s.scalar(ir.Value{Op: op, Type: t, Args: []ir.ID{x}})
}

func (s *stream) bin(op ir.Op, t ir.Type, x, y ir.ID) ir.ID {
	return s.scalar(ir.Value{Op: op, Type: t, Args: []ir.ID{x, y}})
}

func (s *stream) cmp(p ir.Pred, x, y ir.ID) ir.ID {
	return s.scalar(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: p, Args: []ir.ID{x, y}})
}

// must leaves the wave when the S1 does not hold.
func (s *stream) must(x ir.ID) {
	if k, ok := s.c.isConst(x); ok {
		if k&1 == 0 {
			refuse("a guard never holds")
		}
		return
	}
	s.put(ir.Value{Op: opGuard, Args: []ir.ID{x, ir.NoID}})
}

// decide is a fork: the S1 all holds in every lane; when even one is false, it holds in none. It gives the truth that the trace assumes.
func (s *stream) decide(all, one ir.ID, branch bool) bool {
	if k, ok := s.c.isConst(all); ok && all == one {
		return k&1 != 0
	}
	if k, ok := s.known[all]; ok && all == one {
		return k
	}
	n := len(s.forks)
	want := n >= len(s.decs) || !s.decs[n]
	holds, otherwise := all, one
	if !want {
		holds, otherwise = s.un(ir.OpMNot, ir.S1, one), s.un(ir.OpMNot, ir.S1, all)
	}
	g := s.put(ir.Value{Op: opGuard, Args: []ir.ID{holds, otherwise}})
	s.forks = append(s.forks, fork{guard: g, branch: branch})
	if all == one {
		s.known[all] = want
		s.known[s.un(ir.OpMNot, ir.S1, all)] = !want
	}
	return want
}

// truth is the way of a branch.
func (s *stream) truth(x *sval) bool {
	x = s.force(x)
	switch x.kind {
	case kAll:
		return x.bits != 0
	case kUniform:
		if k, ok := s.c.isConst(x.id); ok {
			return k&1 != 0
		}
		return s.decide(x.id, x.id, true)
	}
	refuse("a branch on lanes")
	return false
}

func (s *stream) use(id ir.ID) *sval {
	x := s.env[id]
	if x == nil {
		if k, ok := s.c.isConst(id); ok {
			v := s.c.v(id)
			if v.Type == ir.M {
				x = &sval{kind: kAll, bits: k & s.c.full(), wide: s.c.lanes == 64}
			} else {
				x = &sval{id: s.konst(scalarType(v.Type), k), wide: scalarType(v.Type) == ir.S64}
			}
			s.env[id] = x
			return x
		}
		refuse("a value from nowhere")
	}
	return x
}

// force makes a lazy value.
func (s *stream) force(x *sval) *sval {
	if x.kind == kLazy {
		y := x.lazy()
		keep := *x
		*x = *y
		x.sum, x.carry, x.high, x.of, x.hi, x.signs = keep.sum, keep.carry, keep.high, keep.of, keep.hi, keep.signs
	}
	return x
}

// scalarType is the type of a uniform value that stands for a vector one.
func scalarType(t ir.Type) ir.Type {
	switch t {
	case ir.V32:
		return ir.S32
	case ir.V64:
		return ir.S64
	case ir.M:
		return ir.S1
	}
	return t
}

// setS gives n scalar registers from lo on a value.
func (s *stream) setS(lo, n uint64, x *sval) {
	for i := range n {
		s.s[lo+i] = half{x, i > 0, lo}
	}
}

// getS is the 32-bit value of a scalar register.
func (s *stream) getS(n uint64) *sval {
	h, ok := s.s[n]
	if !ok {
		// Where ttmp9 is the id's x, ttmp7 has y and z.
		id := slices.Contains(s.x, int(n)) || n == isa.SRegTTMP0+7 && slices.Contains(s.x, isa.SRegTTMP0+9)
		if n >= isa.SRegTTMP0 && n < isa.SRegM0 && !id {
			refuse("ttmp%d", n-isa.SRegTTMP0)
		}
		x := &sval{id: s.put(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: n})}
		s.s[n] = half{x, false, n}
		return x
	}
	x := s.force(h.x)
	switch {
	case x.kind == kAll:
		b := x.bits
		if h.hi {
			b >>= 32
		}
		return s.num32(uint32(b))
	case x.kind == kMask && s.c.lanes == 32:
		return x
	case x.kind == kMask:
		refuse("half a mask")
	case !x.wide:
		return x
	case h.hi:
		return s.hiOf(x)
	}
	return s.loOf(x)
}

// getS64 is the value of a pair of scalar registers.
func (s *stream) getS64(n uint64) *sval {
	h, ok := s.s[n]
	g, ok2 := s.s[n+1]
	if ok && ok2 && h.x == g.x && !h.hi && g.hi {
		if x := s.force(h.x); x.kind == kAll || x.kind == kMask || x.wide {
			return x
		}
	}
	return s.pair(s.getS(n), s.getS(n+1))
}

func (s *stream) loOf(x *sval) *sval {
	switch x = s.force(x); x.kind {
	case kUniform:
		return &sval{id: s.un(ir.OpLo, ir.S32, x.id), of: x}
	case kAffine:
		return &sval{kind: kAffine, id: s.un(ir.OpLo, ir.S32, x.id), step: x.step, of: x}
	}
	return nil
}

func (s *stream) hiOf(x *sval) *sval {
	switch x = s.force(x); x.kind {
	case kUniform:
		return &sval{id: s.un(ir.OpHi, ir.S32, x.id), of: x, hi: true}
	case kAffine:
		return &sval{kind: kLazy, of: x, hi: true, lazy: func() *sval {
			h := s.un(ir.OpHi, ir.S32, x.id)
			s.must(s.cmp(ir.EQ, h, s.un(ir.OpHi, ir.S32, s.end(x))))
			return &sval{id: h}
		}}
	}
	return nil
}

// end is the value of the unit's last lane of a 64-bit affine value.
func (s *stream) end(x *sval) ir.ID {
	return s.bin(ir.OpAdd, ir.S64, x.id, s.konst(ir.S64, uint64(x.step*(s.lanes-1))))
}

// zext extends a 32-bit value whose lanes do not wrap.
func (s *stream) zext(x *sval) *sval {
	switch x = s.force(x); x.kind {
	case kUniform:
		return &sval{id: s.un(ir.OpZext64, ir.S64, x.id), wide: true}
	case kAffine:
		y := &sval{kind: kAffine, id: s.un(ir.OpZext64, ir.S64, x.id), step: x.step, wide: true}
		if x.max == 0 {
			s.must(s.cmp(ir.ULE, s.end(y), s.konst(ir.S64, 0xffffffff)))
		}
		return y
	}
	return nil
}

// sext extends a signed 32-bit value whose lanes do not wrap.
func (s *stream) sext(x *sval) *sval {
	switch x = s.force(x); x.kind {
	case kUniform:
		return &sval{id: s.un(ir.OpSext64, ir.S64, x.id), wide: true}
	case kAffine:
		if x.max != 0 && x.max <= 0x7fffffff {
			return s.zext(x)
		}
		y := &sval{kind: kAffine, id: s.un(ir.OpSext64, ir.S64, x.id), step: x.step, wide: true}
		e := s.end(y)
		s.must(s.cmp(ir.EQ, e, s.un(ir.OpSext64, ir.S64, s.un(ir.OpLo, ir.S32, e))))
		return y
	}
	return nil
}

// halves tells whether lo and hi are the halves of one value.
func halves(lo, hi *sval) bool {
	return lo.of != nil && lo.of == hi.of && !lo.hi && hi.hi
}

// pair makes a 64-bit value of its halves; nil when they are general vectors.
func (s *stream) pair(lo, hi *sval) *sval {
	if halves(lo, hi) {
		return lo.of
	}
	if hi.signs == lo && lo.kind != kLazy {
		if x := s.sext(lo); x != nil {
			return x
		}
	}
	// A sum and its carry.
	if hi.high != nil && hi.high.carry != nil && lo.sum != nil {
		k := hi.high.carry
		x0, y0, x1, y1 := lo.sum[0], lo.sum[1], hi.sum[0], hi.sum[1]
		if k[2] == nil && (k[0] == x0 && k[1] == y0 || k[0] == y0 && k[1] == x0) {
			if !halves(x0, x1) && (halves(x0, y1) || halves(y0, x1)) {
				x1, y1 = y1, x1
			}
			x, y := s.pair(x0, x1), s.pair(y0, y1)
			if x != nil && y != nil {
				return s.add64(x, y)
			}
		}
	}
	lo, hi = s.force(lo), s.force(hi)
	if hi.kind != kUniform {
		return nil
	}
	switch lo.kind {
	case kUniform:
		if k, ok := s.constOf(hi); ok && k == 0 {
			return s.zext(lo)
		}
		return &sval{id: s.bin(ir.OpPair, ir.S64, lo.id, hi.id), wide: true}
	case kAffine:
		x := s.zext(lo)
		if k, ok := s.constOf(hi); ok && k == 0 {
			return x
		}
		return &sval{kind: kAffine, id: s.bin(ir.OpPair, ir.S64, lo.id, hi.id), step: lo.step, wide: true}
	}
	return nil
}

func (s *stream) add64(x, y *sval) *sval {
	z := &sval{kind: kUniform, id: s.bin(ir.OpAdd, ir.S64, x.id, y.id), wide: true}
	if x.kind == kAffine || y.kind == kAffine {
		z.kind, z.step = kAffine, x.step+y.step
	}
	if z.step == 0 {
		z.kind = kUniform
	}
	return z
}

// vector is x as an operand of a vector operation.
func (s *stream) vector(x *sval) ir.ID {
	switch x = s.force(x); x.kind {
	case kUniform, kVector, kMask:
		return x.id
	case kAll:
		return s.konst(ir.M, x.bits)
	case kAffine:
		if x.wide {
			refuse("a 64-bit affine value as a vector")
		}
		if s.unit == levelGroup {
			refuse("another vector in each wave")
		}
		if x.vec == 0 {
			c := s.c
			lane := c.add(ir.Value{Op: ir.OpLaneID, Type: ir.V32})
			c.code = append(c.code, lane)
			if x.step != 1 {
				m := c.add(ir.Value{Op: ir.OpMul, Type: ir.V32, Args: []ir.ID{lane, s.konst(ir.S32, uint64(uint32(x.step)))}})
				s.emit(m, classVector)
				lane = m
			}
			x.vec = c.add(ir.Value{Op: ir.OpAdd, Type: ir.V32, Args: []ir.ID{lane, x.id}})
			s.emit(x.vec, classVector)
		}
		return x.vec
	case kTuple:
		c := s.c
		var a []ir.ID
		for _, e := range x.elems {
			a = append(a, s.vector(e))
		}
		id := c.add(ir.Value{Op: ir.OpTuple, Type: ir.T, N: uint8(len(a)), Args: a})
		s.emit(id, classFree)
		return id
	}
	refuse("no vector")
	return 0
}

// emit appends an operation of the vector part.
func (s *stream) emit(id ir.ID, cl class) {
	s.p.vector = s.vecs
	s.p.forms(id, cl)
	s.vecs = s.p.vector
	s.c.code = append(s.c.code, id)
	if cl != classFree {
		s.vecs = append(s.vecs, id)
	}
}

// general makes v an operation on general vectors.
func (s *stream) general(id ir.ID, v *ir.Value) *sval {
	c := s.c
	w := *v
	w.Args = make([]ir.ID, len(v.Args))
	for i, a := range v.Args {
		w.Args[i] = ir.NoID
		if a != ir.NoID {
			w.Args[i] = s.vector(s.use(a))
		}
	}
	c.over[id] = &w
	kind := kVector
	switch w.Type {
	case ir.M:
		kind = kMask
	case ir.V32, ir.V64, ir.T:
	default:
		refuse("%v of vectors", v.Op)
	}
	cl := c.classify(&w)
	if cl != classFree && cl != classVector {
		refuse("%v", v.Op)
	}
	s.emit(id, cl)
	return &sval{kind: kind, id: id, wide: w.Type == ir.V64}
}
