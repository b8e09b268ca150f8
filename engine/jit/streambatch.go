package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
)

// All work-groups of a batch as one unit. A value of lane l of work-group g is id + g·by + l·step, with the same by for all: the number of a
// work-group is one more in each, and sums, differences and multiples of such values are such values. Guards look at the first lane of
// the first work-group and at the last of the last. Accesses have to go on from one work-group to the next as they do from lane to
// lane, so the batch is one long row of waves.

// whole tells whether the unit is all work-groups.
func (s *stream) whole() bool { return s.unit == levelDispatch }

// varies tells whether x may be another value in each work-group of the unit; it makes nothing.
func (s *stream) varies(x *sval) bool { return x.kind == kLazy || x.kind == kAffine && x.by != 0 }

// maxBatchGroups bounds the work-groups of a unit, so that with |by| < 2^31 products do not overflow.
const maxBatchGroups = 1 << 20

// lastGroup is the number of work-groups but one.
func (s *stream) lastGroup() ir.ID {
	if s.last == 0 {
		s.last = s.put(ir.Value{Op: opLast, Type: ir.S64})
	}
	return s.last
}

// groupsEnd is what x is more in the last work-group than in the first. What each adds is guarded to be of 32 bits, and where lanes add
// something too to be of their direction, so that the corners of the unit are its first lane and its last.
func (s *stream) groupsEnd(x *sval) ir.ID {
	s.must(s.cmp(ir.ULE, s.bin(ir.OpAdd, ir.S64, x.by, s.konst(ir.S64, 1<<31)), s.konst(ir.S64, 1<<32-1)))
	if x.step < 0 {
		refuse("lanes that go down")
	}
	if x.step > 0 {
		s.must(s.cmp(ir.SGE, x.by, s.konst(ir.S64, 0)))
	}
	return s.bin(ir.OpMul, ir.S64, s.lastGroup(), x.by)
}

func (s *stream) sumBy(x, y ir.ID) ir.ID {
	switch {
	case x == 0:
		return y
	case y == 0:
		return x
	}
	return s.someBy(s.bin(ir.OpAdd, ir.S64, x, y))
}

func (s *stream) negBy(x ir.ID) ir.ID {
	if x == 0 {
		return 0
	}
	if k, ok := s.c.isConst(x); ok {
		return s.konst(ir.S64, -k)
	}
	return s.bin(ir.OpSub, ir.S64, s.konst(ir.S64, 0), x)
}

// mulBy is x times the uniform y; of a 32-bit y as a signed number, where only the low half of the product counts.
func (s *stream) mulBy(x ir.ID, y *sval, low bool) ir.ID {
	if x == 0 {
		return 0
	}
	if k, ok := s.constOf(y); ok && !y.wide {
		if low {
			k = uint64(int32(k))
		}
		if j, ok := s.c.isConst(x); ok {
			return s.someBy(s.konst(ir.S64, j*k))
		}
		return s.bin(ir.OpMul, ir.S64, x, s.konst(ir.S64, k))
	}
	switch {
	case y.wide:
	case low:
		y = s.sext(y)
	default:
		y = s.zext(y)
	}
	return s.bin(ir.OpMul, ir.S64, x, y.id)
}

func (s *stream) shlBy(x ir.ID, n uint64) ir.ID {
	if x == 0 {
		return 0
	}
	if k, ok := s.c.isConst(x); ok {
		return s.konst(ir.S64, k<<n)
	}
	return s.bin(ir.OpShl, ir.S64, x, s.konst(ir.S32, n))
}

// someBy is x, or 0 for a constant that is zero.
func (s *stream) someBy(x ir.ID) ir.ID {
	if k, ok := s.c.isConst(x); ok && k == 0 {
		return 0
	}
	return x
}

// bounded is the smaller or larger of a value of the work-groups and one that all have in common, which is taken to be the result in all: so
// is the size of a work-group found, of which only the last one's is less. Nil for others.
func (s *stream) bounded(op ir.Op, x, y *sval) *sval {
	if y.kind == kAffine {
		x, y = y, x
	}
	if x.step != 0 || y.kind != kUniform {
		return nil
	}
	p, signed := ir.UGE, op == ir.OpMinS || op == ir.OpMaxS
	switch op {
	case ir.OpMinS:
		p = ir.SGE
	case ir.OpMaxU:
		p = ir.ULE
	case ir.OpMaxS:
		p = ir.SLE
	}
	a, b := x, y
	switch {
	case x.wide:
		return nil
	case signed:
		a, b = s.sext(x), s.sext(y)
	default:
		a, b = s.zext(x), s.zext(y)
	}
	s.must(s.cmp(p, a.id, b.id))
	s.must(s.cmp(p, s.end(a), b.id))
	return y
}

// moves is lane 0 of a 32-bit x in the first wave of the unit, a scalar of its own that goes on from wave to wave.
func (s *stream) moves(x *sval) ir.ID {
	if row := uint64(x.step * s.lanes); s.whole() {
		k, ok := s.c.isConst(x.by)
		if x.by == 0 || ok && uint32(k) != uint32(row) {
			refuse("another vector in each work-group")
		} else if !ok {
			s.must(s.cmp(ir.EQ, x.by, s.konst(ir.S64, row)))
		}
	}
	id := s.put(ir.Value{Op: ir.OpAdd, Type: ir.S32, Args: []ir.ID{x.id, s.konst(ir.S32, 0)}})
	s.moving = append(s.moving, movingBase{id, int32(x.step) * int32(s.c.lanes)})
	return id
}

// allBytes is the size of what all work-groups access by a at addr.
func (s *stream) allBytes(addr *sval, a *streamAccess) ir.ID {
	if a.step == 0 {
		if addr.by != 0 {
			refuse("one address for each work-group")
		}
		return s.konst(ir.S64, uint64(a.n))
	}
	row := s.konst(ir.S64, uint64(a.step*s.lanes))
	if addr.by == 0 {
		refuse("one address for all work-groups")
	}
	if k, ok := s.c.isConst(addr.by); ok && k != uint64(a.step*s.lanes) {
		refuse("work-groups that do not go on from each other")
	} else if !ok {
		s.must(s.cmp(ir.EQ, addr.by, row))
	}
	return s.bin(ir.OpAdd, ir.S64, s.bin(ir.OpMul, ir.S64, s.lastGroup(), row), s.konst(ir.S64, uint64(a.n)))
}
