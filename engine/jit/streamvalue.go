package jit

import (
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Values of a stream: registers, halves of 64 bits, sums, operands of vector operations.

// force makes a lazy value.
func (s *stream) force(x *sval) *sval {
	if x.kind == kLazy {
		y := x.lazy()
		keep := *x
		*x = *y
		x.sum, x.carry, x.high, x.of, x.hi, x.signs, x.truth = keep.sum, keep.carry, keep.high, keep.of, keep.hi, keep.signs, keep.truth
		x.input = keep.input
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
		if n >= isa.SRegTTMP0 && n < isa.SRegM0 && !id && s.stride == nil {
			refuse("ttmp%d", n-isa.SRegTTMP0)
		}
		x := &sval{id: s.put(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: n})}
		if s.whole() && slices.Contains(s.x, int(n)) {
			x.kind, x.by = kAffine, s.konst(ir.S64, 1)
		}
		s.s[n] = half{x, false, n}
		if s.stride != nil {
			s.stride.first[n] = x
		}
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
		return &sval{kind: kAffine, id: s.un(ir.OpLo, ir.S32, x.id), step: x.step, by: x.by, of: x}
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

// end is the value of the unit's last lane of a 64-bit affine value. Those of all others lie between it and the first one's.
func (s *stream) end(x *sval) ir.ID {
	e := x.id
	if x.by != 0 {
		e = s.bin(ir.OpAdd, ir.S64, e, s.groupsEnd(x))
	}
	return s.bin(ir.OpAdd, ir.S64, e, s.konst(ir.S64, uint64(x.step*(s.lanes-1))))
}

// zext extends a 32-bit value whose lanes do not wrap.
func (s *stream) zext(x *sval) *sval {
	switch x = s.force(x); x.kind {
	case kUniform:
		return &sval{id: s.un(ir.OpZext64, ir.S64, x.id), wide: true}
	case kAffine:
		y := &sval{kind: kAffine, id: s.un(ir.OpZext64, ir.S64, x.id), step: x.step, by: x.by, wide: true}
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
		y := &sval{kind: kAffine, id: s.un(ir.OpSext64, ir.S64, x.id), step: x.step, by: x.by, wide: true}
		e := s.end(y)
		s.must(s.cmp(ir.EQ, e, s.un(ir.OpSext64, ir.S64, s.un(ir.OpLo, ir.S32, e))))
		return y
	}
	return nil
}

// halves tells whether lo and hi are the halves of one value.
func halves(lo, hi *sval) bool {
	return lo.of != nil && lo.of == hi.of && !lo.hi && hi.hi || lo.input != 0 && hi.input == lo.input+1
}

// pair makes a 64-bit value of its halves; nil when they are general vectors.
func (s *stream) pair(lo, hi *sval) *sval {
	switch {
	case lo.input != 0 && hi.input == lo.input+1:
		return s.input(lo.input-1, true)
	case halves(lo, hi):
		return lo.of
	}
	if hi.signs == lo && lo.kind != kLazy {
		if x := s.sext(lo); x != nil {
			return x
		}
	}
	if x := s.sumPair(lo, hi); x != nil {
		return x
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
		return &sval{kind: kAffine, id: s.bin(ir.OpPair, ir.S64, lo.id, hi.id), step: lo.step, by: lo.by, wide: true}
	}
	return nil
}

// sumPair is pair for a sum and the sum of the high halves with its carry; nil for others.
func (s *stream) sumPair(lo, hi *sval) *sval {
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
	return nil
}

func (s *stream) add64(x, y *sval) *sval {
	z := &sval{kind: kUniform, id: s.bin(ir.OpAdd, ir.S64, x.id, y.id), wide: true}
	if x.kind == kAffine || y.kind == kAffine {
		z.kind, z.step, z.by = kAffine, x.step+y.step, s.sumBy(x.by, y.by)
	}
	if z.step == 0 && z.by == 0 {
		z.kind = kUniform
	}
	return z
}

// vector is x as an operand of a vector operation.
func (s *stream) vector(x *sval) ir.ID {
	switch x = s.force(x); x.kind {
	case kUniform, kVector, kMask:
		if s.stride != nil {
			s.isVector(x)
		}
		return x.id
	case kAll:
		return s.konst(ir.M, x.bits)
	case kAffine:
		if x.wide {
			refuse("a 64-bit affine value as a vector")
		}
		if x.vec == 0 {
			if s.stride != nil {
				s.isVector(x)
			}
			c := s.c
			first := x.id
			if s.unit != levelWave {
				first = s.moves(x)
			}
			lane := c.add(ir.Value{Op: ir.OpLaneID, Type: ir.V32})
			c.code = append(c.code, lane)
			if x.step != 1 {
				m := c.add(ir.Value{Op: ir.OpMul, Type: ir.V32, Args: []ir.ID{lane, s.konst(ir.S32, uint64(uint32(x.step)))}})
				s.emit(m, classVector)
				lane = m
			}
			x.vec = c.add(ir.Value{Op: ir.OpAdd, Type: ir.V32, Args: []ir.ID{lane, first}})
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
	if cl != classFree && cl != classVector || v.Op == ir.OpFDivFmas { // which may leave
		refuse("%v", v.Op)
	}
	s.emit(id, cl)
	return &sval{kind: kind, id: id, wide: w.Type == ir.V64}
}
