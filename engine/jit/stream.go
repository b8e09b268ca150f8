package jit

import (
	"fmt"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
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
	unit  int            // what is done at a time: levelWave; levelGroup where a work-group's waves go on from each other; or levelDispatch: all work-groups
	lanes int64          // of a unit, or of each work-group of it
	ahead int32          // lanes of the unit before the wave that is emitted

	lists  [3][]ir.ID // scalar operations, guards and addresses by level
	level  map[ir.ID]uint8
	vecs   []ir.ID // of the vector part, in order
	consts map[constant]ir.ID
	same   map[scalarKey]ir.ID
	items  map[uint64]*sval // work-item id registers that are read
	forks  []fork
	guards int // that there are
	access []streamAccess
	moving []movingBase
	held   map[ir.ID]bool // what guards say already
	last   ir.ID          // work-groups of the unit but one, or 0
	insts  int

	starts []int   // segments where the parts of a turn begin
	stride *stride // what is evaluated is a turn of a loop (stride.go)

	byStrip bool // the vector part is emitted strip by strip, and
	far     bool // for data that no cache holds
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
	guards int  // up to it, with its own
}

// streamAccess is a memory access of the trace.
type streamAccess struct {
	id    ir.ID // the load or store
	host  ir.ID // its host address
	step  int64 // bytes from lane to lane
	n     int32 // bytes from the first to the last, of one work-group if the unit is several
	width int32
	base  x86.Reg // register that holds the host address in the vector part, or 0
	write bool
}

// movingBase is a scalar of the vector part that is more for each wave of a unit: lane 0 of an index that is data.
type movingBase struct {
	id   ir.ID // S32
	more int32
}

type skind uint8

const (
	kUniform skind = iota // id is a scalar
	kAffine               // id is the scalar value of lane 0, step what each lane adds, by what each work-group
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
	by    ir.ID  // kAffine: S64, what each work-group of the unit adds, or 0
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
	truth *sval     // it is this truth value as a number
	signs *sval     // it is the sign of this value in all bits
	input uint64    // it is what a turn finds in the VGPR with the number before this one
	low   *sval     // kLazy, of 64 bits: its low half, which does not depend on the high one
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
	opHost                         // S64(S64 address, S64 bytes or NoID): host address of access Imm
	opID                           // S32: lane 0's work-item id register Imm
	opLast                         // S64: work-groups of the batch but one
	opInput                        // S32, S64: lane 0 of input Imm (stride.go)
	opKeep                         // (S32 or S64): stores it at Imm
)

const maxStream = 600 // operations of a trace

// begin makes s ready for an evaluation with the given decisions.
func (s *stream) begin(decs []bool) {
	c := s.c
	s.env, s.s, s.v = map[ir.ID]*sval{}, map[uint64]half{}, map[uint64]*sval{}
	s.decs, s.forks, s.access, s.vecs, s.insts, s.guards = decs, nil, nil, nil, 0, 0
	s.moving = nil
	s.known, s.same, s.held, s.last = map[ir.ID]bool{}, map[scalarKey]ir.ID{}, map[ir.ID]bool{}, 0
	s.level, s.consts, s.items = map[ir.ID]uint8{}, map[constant]ir.ID{}, map[uint64]*sval{}
	s.lists = [3][]ir.ID{}
	s.p = planner{c: c, turn: 1}
	c.code, c.zero, c.gets = c.code[:0], ir.NoID, c.gets[:0]
	c.vals = c.vals[:c.n]
	for i := range c.vals {
		c.vals[i] = value{}
	}
	c.original()
}

// evaluate runs the trace of f from its entry with the given decisions.
func (s *stream) evaluate(f *ir.Func, decs []bool) (err error) {
	c := s.c
	s.begin(decs)
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
		if seen[b.Index] {
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
