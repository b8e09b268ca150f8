package jit

import (
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// Scalar operations of a stream, its guards and forks.

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
	case s.stride != nil:
		l = s.stride.level(&v)
	case v.Op == opID || v.Op == opGuard || v.Op == opHost:
		l = uint8(s.unit)
	case v.Op == ir.OpSGet && slices.Contains(s.x, int(v.Imm)) && !s.whole():
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
	if s.held[x] {
		return
	}
	s.held[x] = true
	s.guards++
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
	s.guards++
	s.forks = append(s.forks, fork{guard: g, branch: branch, guards: s.guards})
	if all == one {
		s.known[all] = want
		s.known[s.un(ir.OpMNot, ir.S1, all)] = !want
	}
	return want
}
