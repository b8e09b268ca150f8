package jit

import (
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// A loop of one block that steps over an array with the whole grid, `for (i = id; i < n; i += threads)`, changes EXEC from lane
// to lane where it ends, and its index and address are 64-bit numbers of each lane. But until some lane has done its last turn, what the
// lanes have is lane 0's and equal steps from lane to lane. So the block has a second form for full EXEC, which evaluates a turn as streams do
// (stream.go): indexes, addresses and comparisons are scalars; a load is one access of the whole wave at one address; only general values are in
// zmm. A turn begins with its guards: that no lane wraps, that every comparison holds in all lanes, that nothing changes EXEC, that accesses lie
// in their Ranges. When one does not hold, nothing of the turn has been done, and the block's usual form does it. What has no form: scalar loads,
// lane crossing, the LDS but for atomics without a result, masks that lanes differ in and that are left behind.
//
// The registers that the turn reads first and that are of such a kind are the form's inputs. They are looked at lane by lane when the form is
// entered; then lane 0's value goes on in the frame from turn to turn, and the registers are written when the form is left. Which registers
// these are, and their steps, is guessed by what is done to them: where a guess leads to nothing, evaluation begins anew with another one.
type stride struct {
	b       *ir.Block
	general [vgprs]bool // is a vector, whatever is done to it
	steps   map[strideInput]int64
	inputs  []*strideVar
	vset    [vgprs]bool // the block writes
	sset    [isa.NumSRegs + 2]bool
	vgets   map[uint64]*sval // general registers that are read
	first   map[uint64]*sval // what scalar registers hold at first
	sets    map[uint64]ir.ID // the last write of a VGPR that is in the vector part
	left    []strideLeft
	frame   int32 // where it is
	keeps   int32 // bytes of the frame for what goes on from turn to turn
}

// strideInput is a VGPR, or two that are one number.
type strideInput struct {
	n    uint64
	wide bool
}

// strideVar is an input of the form.
type strideVar struct {
	strideInput
	x  *sval
	at int32 // of lane 0's value in the form's frame
}

// strideLeft is what VGPR n, and n+1 of a wide value, is left with: the value at at, and step more in each lane.
type strideLeft struct {
	strideInput
	step int64
	at   int32
	high bool // of a wide value: n is left with the high half
}

// strideAgain begins the evaluation anew, with another guess.
type strideAgain struct{}

// maxStrideTries bounds the guesses.
const maxStrideTries = 24

// strideState and above are places in the state for opKeep; below, in the form's frame.
const strideState = 1 << 32

// findStride evaluates block b; nil when it has no such form.
func (c *compiler) findStride(b *ir.Block) *stream {
	s := &stream{c: c, unit: levelWave, lanes: int64(c.lanes)}
	st := &stride{b: b, steps: map[strideInput]int64{}}
	s.stride = st
	st.guess(c)
	var decs []bool
	for range maxStrideTries {
		again, err := s.evaluateTurn(decs)
		switch {
		case again:
			decs = nil
		case err == nil:
			if len(s.access) == 0 {
				return nil
			}
			return s
		default:
			// The other way of the last fork that has not been taken.
			i := len(s.forks) - 1
			for i >= 0 && i < len(decs) && decs[i] {
				i--
			}
			if i < 0 {
				return nil
			}
			next := make([]bool, i+1)
			copy(next, decs)
			next[i] = true
			decs = next
		}
	}
	return nil
}

// stridesOver tells whether b jumps to itself, loads, and has nothing that rules the form out.
func (c *compiler) stridesOver(b *ir.Block) bool {
	t := &b.Term
	if t.Kind != ir.TermBranch || c.again(t.Then) == c.again(t.Else) || len(b.Code) > maxStream {
		return false
	}
	if c.copies.of[b.Index] >= 0 { // EXEC is not full there
		return false
	}
	loads := false
	for _, id := range b.Code {
		v := c.f.V(id)
		if c.isForeign(id) {
			return false
		}
		switch {
		case v.Op == ir.OpLoad && v.Space == ir.Global:
			loads = true
		case v.Op == ir.OpStore && v.Space == ir.Global:
		case v.Op == ir.OpAtomic && v.Space == ir.LDS && v.Width == 4:
		case v.Op.Memory(), v.Op.Cross():
			return false
		case v.Op.Float() && c.m.Soft:
			return false
		}
		if env, sensitive, ok := floatEnv(v); !ok || sensitive && c.envOf(env) != c.p.MXCSR {
			return false
		}
	}
	return loads
}

// again tells whether block to is the current one once more, or what that is a copy of.
func (c *compiler) again(to int) bool { return c.copies.guest[to] == c.copies.guest[c.b.Index] }

// indexOps are what one does to indexes and addresses.
var indexOps = [256]bool{ir.OpAdd: true, ir.OpSub: true, ir.OpCarryAdd: true, ir.OpPair: true, ir.OpLo: true, ir.OpHi: true, ir.OpShl: true, ir.OpLShr: true,
	ir.OpAShr: true, ir.OpAnd: true, ir.OpOr: true, ir.OpICmp: true, ir.OpMul: true, ir.OpMulU64: true, ir.OpMulS64: true, ir.OpZext64: true, ir.OpSext64: true,
	ir.OpZext: true, ir.OpVSet: true, ir.OpVGet: true, ir.OpSplat: true}

// guess finds what the block writes, and which of the registers that it reads are vectors: those that something else is done to, and that do not get
// something like an index.
func (st *stride) guess(c *compiler) {
	gets, last := map[ir.ID]uint64{}, map[uint64]ir.ID{}
	for _, id := range st.b.Code {
		v := c.f.V(id)
		switch v.Op {
		case ir.OpVGet:
			gets[id] = v.Imm
		case ir.OpVSet:
			st.vset[v.Imm] = true
			last[v.Imm] = v.Args[0]
		case ir.OpSSet, ir.OpSSet64, ir.OpMSet:
			lo, hi := c.regs(v)
			for n := lo; n < hi; n++ {
				st.sset[n] = true
			}
		}
	}
	for _, id := range st.b.Code {
		v := c.f.V(id)
		if indexOps[v.Op] {
			continue
		}
		for i, a := range v.Args {
			n, ok := gets[a]
			switch {
			case !ok, v.Op == ir.OpLoad, v.Op == ir.OpStore && i == 1, v.Op == ir.OpAtomic && i == 3 && !st.vset[n]:
			case st.vset[n] && indexOps[c.f.V(last[n]).Op]:
			default:
				st.general[n] = true
			}
		}
	}
}

// evaluateTurn runs one turn of the block symbolically.
func (s *stream) evaluateTurn(decs []bool) (again bool, err error) {
	c, st := s.c, s.stride
	s.begin(decs)
	st.inputs, st.left, st.keeps = nil, nil, strideVars
	st.vgets, st.first, st.sets = map[uint64]*sval{}, map[uint64]*sval{}, map[uint64]ir.ID{}
	c.gets = c.gets[:0]
	defer func() {
		switch x := recover().(type) {
		case nil:
		case refusal:
			err = &ErrUnsupported{string(x)}
		case strideAgain:
			again = true
		default:
			panic(x)
		}
	}()
	full := &sval{kind: kAll, bits: c.full(), wide: c.lanes == 64}
	s.setS(isa.SRegEXECLo, uint64(c.lanes/32), full)
	for _, id := range st.b.Code {
		v := c.f.V(id)
		s.pc = v.PC
		if x := s.eval(id, v); x != nil {
			s.env[id] = x
		}
	}
	t := &st.b.Term
	stay := s.force(s.use(t.Cond))
	switch {
	case stay.kind == kAll:
		if stay.bits != 0 != c.again(t.Then) {
			refuse("no loop")
		}
	case stay.kind != kUniform:
		refuse("a branch on lanes")
	case c.again(t.Then):
		s.must(stay.id)
	default:
		s.must(s.un(ir.OpMNot, ir.S1, stay.id))
	}
	for i := range c.lanes / 32 {
		h := s.s[isa.SRegEXECLo+uint64(i)]
		if h.x.kind != kAll || h.x.bits != c.full() {
			refuse("EXEC changes")
		}
	}
	s.closeTurn()
	return false, nil
}

// input is VGPR n, or n and n+1, as lane 0's value and a step.
func (s *stream) input(n uint64, wide bool) *sval {
	st := s.stride
	k := strideInput{n, wide}
	for _, v := range st.inputs {
		if v.strideInput == k {
			return v.x
		}
	}
	step, ok := st.steps[k]
	if !ok && st.changes(k) {
		step = 1
		for _, v := range st.inputs { // half of another one
			if v.wide && v.n == n {
				step = v.x.step
			} else if v.wide && v.n+1 == n {
				step = 0
			}
		}
	}
	t := ir.S32
	if wide {
		t = ir.S64
	}
	v := &strideVar{strideInput: k, at: st.keeps, x: &sval{kind: kAffine, step: step, wide: wide}}
	st.keeps += 8
	if step == 0 {
		v.x.kind = kUniform
	}
	st.inputs = append(st.inputs, v)
	v.x.id = s.put(ir.Value{Op: opInput, Type: t, Imm: uint64(len(st.inputs) - 1)})
	return v.x
}

// vget is VGPR n as the turn finds it.
func (s *stream) vget(id ir.ID, n uint64) *sval {
	st := s.stride
	if x := st.vgets[n]; x != nil {
		return x
	}
	var x *sval
	if st.general[n] {
		x = &sval{kind: kVector, id: id}
		s.c.code = append(s.c.code, id)
		s.c.gets = append(s.c.gets, id)
	} else {
		x = &sval{kind: kLazy, input: n + 1, lazy: func() *sval {
			y := *s.input(n, false)
			return &y
		}}
	}
	st.vgets[n] = x
	return x
}

// noCarry takes the carry of a sum of two 64-bit numbers for none: of high halves x and y, with the carry low of the low ones. Nil where
// they are no halves of numbers.
func (s *stream) noCarry(low *[3]*sval, x, y *sval) *sval {
	if low[2] != nil {
		return nil
	}
	x0, y0 := low[0], low[1]
	if !halves(x0, x) && (halves(x0, y) || halves(y0, x)) {
		x, y = y, x
	}
	a, b := s.pair(x0, x), s.pair(y0, y)
	if a == nil || b == nil || !a.wide || !b.wide || a.step < 0 || b.step < 0 {
		return nil
	}
	z := s.add64(a, b)
	for _, v := range [...]*sval{a, b, z} { // no lane wraps
		if v.step != 0 {
			s.must(s.cmp(ir.UGE, s.end(v), v.id))
		}
	}
	s.must(s.cmp(ir.UGE, z.id, a.id))
	s.must(s.cmp(ir.UGE, s.end(z), s.end(a)))
	return &sval{kind: kAll, wide: s.c.lanes == 64}
}

// isVector begins anew with the input that x is as a vector, if it does not change.
func (s *stream) isVector(x *sval) {
	if v := s.c.v(x.id); x.kind != kVector && v.Op == opInput {
		if k := s.stride.inputs[v.Imm].strideInput; !s.stride.changes(k) {
			s.stride.general[k.n] = true
			panic(strideAgain{})
		}
	}
}

// inputsOf are the inputs that value id is made of.
func (s *stream) inputsOf(id ir.ID) (l []*strideVar) {
	seen := map[ir.ID]bool{}
	var walk func(id ir.ID)
	walk = func(id ir.ID) {
		if id == ir.NoID || seen[id] {
			return
		}
		seen[id] = true
		v := s.c.v(id)
		if v.Op == opInput {
			l = append(l, s.stride.inputs[v.Imm])
			return
		}
		for _, a := range v.Args {
			walk(a)
		}
	}
	walk(id)
	return l
}

// wantStep begins anew with a step of an input that makes addr's step want, if one may.
func (s *stream) wantStep(addr *sval, want int64) {
	st := s.stride
	if addr.step == want {
		return
	}
	var with, without []*strideVar
	for _, v := range s.inputsOf(addr.id) {
		if v.x.step != 0 {
			with = append(with, v)
		} else {
			without = append(without, v)
		}
	}
	l, step := with, int64(0)
	switch {
	case len(with) == 1:
		if k := addr.step / with[0].x.step; k > 0 && want%k == 0 {
			step = want / k
		}
	case len(with) == 0 && len(without) > 0:
		l, step = without, want
	}
	if step == 0 {
		return
	}
	for _, v := range l {
		if _, tried := st.steps[v.strideInput]; !tried {
			st.steps[v.strideInput] = step
			panic(strideAgain{})
		}
	}
}

// setV notes a write of VGPR n; that of a general value is made at once.
func (s *stream) setV(v *ir.Value, x *sval) {
	c, st := s.c, s.stride
	if c.v(v.Args[0]).Type == ir.V64 || c.v(v.Args[0]).Type == ir.S64 {
		refuse("a write of two registers")
	}
	s.v[v.Imm] = x
	if x.kind == kVector {
		id := c.add(ir.Value{Op: ir.OpVSet, Imm: v.Imm, Args: []ir.ID{x.id, s.konst(ir.M, c.full())}, PC: v.PC})
		s.emit(id, classVector)
		if old, ok := st.sets[v.Imm]; ok {
			s.drop(old)
		}
		st.sets[v.Imm] = id
	} else if old, ok := st.sets[v.Imm]; ok {
		s.drop(old)
		delete(st.sets, v.Imm)
	}
}

// drop takes an operation out of the vector part.
func (s *stream) drop(id ir.ID) {
	is := func(x ir.ID) bool { return x == id }
	s.vecs = slices.DeleteFunc(s.vecs, is)
	s.c.code = slices.DeleteFunc(s.c.code, is)
}

// ldsUpdate is an LDS atomic that ldsatomic.go does.
func (s *stream) ldsUpdate(id ir.ID, v *ir.Value) *sval {
	c := s.c
	m := s.force(s.use(v.Args[2]))
	if v.Type != ir.Void || m.kind != kAll || m.bits != c.full() || v.Args[0] != ir.NoID || v.Args[1] == ir.NoID {
		refuse("an atomic")
	}
	addr := s.force(s.use(v.Args[1]))
	if addr.kind != kVector {
		refuse("an atomic at one address")
	}
	w := *v
	w.Args = slices.Clone(v.Args)
	w.Args[1], w.Args[2] = addr.id, s.konst(ir.M, c.full())
	if x := s.force(s.use(v.Args[3])); x.kind == kUniform {
		w.Args[3] = x.id
	} else {
		w.Args[3] = s.vector(x)
	}
	c.over[id] = &w
	s.emit(id, classWave)
	return nil
}

// level is the level of a scalar operation by itself: what the loop does not change is done before it.
func (st *stride) level(v *ir.Value) uint8 {
	turn := false
	switch v.Op {
	case opInput:
		turn = st.changes(st.inputs[v.Imm].strideInput)
	case opHost, opKeep:
		turn = true
	case ir.OpSGet:
		turn = st.sset[v.Imm]
	}
	if turn {
		return levelWave
	}
	return levelDispatch
}

// changes tells whether the block writes an input.
func (st *stride) changes(k strideInput) bool { return st.vset[k.n] || k.wide && st.vset[k.n+1] }

// A loop's masks in scalar registers are those of lanes that are done, or that still run. As long as the form holds, the first are empty and the second full.

// emptyMask takes a scalar for a mask without lanes.
func (s *stream) emptyMask(x *sval) {
	if x.kind != kUniform || s.c.v(x.id).Type == ir.S1 {
		refuse("a mask from a scalar")
	}
	t := s.c.v(x.id).Type
	s.must(s.cmp(ir.EQ, x.id, s.konst(t, 0)))
	*x = sval{kind: kAll, wide: s.c.lanes == 64}
}

// fullMask takes a scalar for a mask with all lanes.
func (s *stream) fullMask(x *sval) {
	if x.kind != kUniform || s.c.v(x.id).Type == ir.S1 {
		return
	}
	s.must(s.cmp(ir.EQ, x.id, s.konst(s.c.v(x.id).Type, s.c.full())))
	*x = sval{kind: kAll, bits: s.c.full(), wide: s.c.lanes == 64}
}
