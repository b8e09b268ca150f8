package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
)

// Masks of a stream, and the comparisons that make them.

// constMask makes a constant or a truth value that stands for a mask one that is known.
func (s *stream) constMask(x *sval) {
	k, ok := s.constOf(x)
	switch {
	case x.kind != kUniform:
		return
	case s.c.v(x.id).Type == ir.S1:
		k = 0
		if s.decide(x.id, x.id, false) {
			k = s.c.full()
		}
	case !ok:
		return
	}
	*x = sval{kind: kAll, bits: k & s.c.full(), wide: s.c.lanes == 64}
}

// number is a truth value as 0 or 1.
func (s *stream) number(x *sval) *sval {
	if x.kind == kAll {
		return s.num32(uint32(b2i(x.bits != 0)))
	}
	if x.kind != kUniform || s.c.v(x.id).Type != ir.S1 {
		refuse("a number of lanes")
	}
	return &sval{id: s.un(ir.OpBToS, ir.S32, x.id)}
}

// getS1 is the value of one scalar register as a mask of 32 lanes.
func (s *stream) getS1(n uint64) *sval {
	if h, ok := s.s[n]; ok {
		if x := s.force(h.x); x.kind == kAll || x.kind == kMask {
			return x
		}
	}
	return s.getS(n)
}

// mask makes a scalar value a mask.
func (s *stream) mask(x *sval) *sval {
	x = s.force(x)
	if k, ok := s.constOf(x); ok {
		return &sval{kind: kAll, bits: k & s.c.full(), wide: s.c.lanes == 64}
	}
	if x.kind == kAll || x.kind == kMask {
		return x
	}
	if s.stride != nil && x.kind == kUniform && s.c.v(x.id).Type != ir.S1 {
		return &sval{kind: kLazy, lazy: func() *sval { s.emptyMask(x); return x }}
	}
	return &sval{kind: kLazy, lazy: func() *sval { refuse("a mask from a scalar"); return nil }}
}

// maskLogic maps logic on masks and on scalar registers that hold them to that on masks.
var maskLogic = map[ir.Op]ir.Op{
	ir.OpMAnd: ir.OpMAnd, ir.OpMOr: ir.OpMOr, ir.OpMXor: ir.OpMXor, ir.OpMNot: ir.OpMNot,
	ir.OpAnd: ir.OpMAnd, ir.OpOr: ir.OpMOr, ir.OpXor: ir.OpMXor, ir.OpNot: ir.OpMNot,
}

// maskOp evaluates logic on masks and truth values; a uniform one of one bit stands for all lanes. Masks in scalar registers stay what they are.
func (s *stream) maskOp(id ir.ID, v *ir.Value) *sval {
	c := s.c
	var xs []*sval
	for _, a := range v.Args {
		x := s.use(a)
		if x.kind == kLazy && x.carry != nil {
			// A carry is not asked for as long as it can be avoided.
			switch {
			case v.Op == ir.OpMToV:
				return &sval{kind: kLazy, carry: x.carry, lazy: func() *sval {
					if y := s.force(x); y.kind != kAll {
						return &sval{id: s.un(ir.OpBToS, ir.S32, y.id)}
					} else {
						return s.num32(uint32(b2i(y.bits != 0)))
					}
				}}
			case v.Op == ir.OpMAnd:
				for _, b := range v.Args {
					if y := s.use(b); y.kind == kAll && y.bits == c.full() {
						return x
					}
				}
			}
		}
		x = s.force(x)
		if k, ok := s.constOf(x); ok && v.Type != ir.S1 && c.v(x.id).Type != ir.S1 {
			x = &sval{kind: kAll, bits: k & c.full()}
		}
		xs = append(xs, x)
	}
	x := xs[0]
	all := func(b uint64) *sval { return &sval{kind: kAll, bits: b & c.full(), wide: c.lanes == 64} }
	truth := func(b bool) *sval { return &sval{id: s.konst(ir.S1, uint64(b2i(b)))} }
	one := x.kind == kUniform && c.v(x.id).Type == ir.S1
	switch v.Op {
	case ir.OpMToS:
		if one { // of a comparison that is the same in all lanes
			y := *x
			s.constMask(&y)
			return &y
		}
		return x
	case ir.OpSToM:
		return s.mask(x)
	case ir.OpMToV:
		switch {
		case x.carry != nil && x.kind == kUniform || one:
			return &sval{id: s.un(ir.OpBToS, ir.S32, x.id), carry: x.carry}
		case x.kind == kAll && x.bits == 0:
			return s.num32(0)
		case x.kind == kAll && x.bits == c.full():
			return s.num32(1)
		}
		return s.general(id, v)
	case ir.OpMIsZ, ir.OpSToB, ir.OpMFull:
		if one && c.f.V(v.Args[0]).Type == ir.M {
			s.constMask(x)
			one = x.kind == kUniform
		}
		switch {
		case x.kind == kAll && v.Op == ir.OpMIsZ:
			return truth(x.bits == 0)
		case x.kind == kAll && v.Op == ir.OpMFull:
			return truth(x.bits == c.full())
		case x.kind == kAll:
			return truth(x.bits != 0)
		case one && v.Op == ir.OpMIsZ:
			return &sval{id: s.un(ir.OpMNot, ir.S1, x.id)}
		case one:
			return x
		case x.kind == kUniform && v.Op == ir.OpSToB:
			return &sval{id: s.un(ir.OpSToB, ir.S1, x.id)}
		}
		return &sval{kind: kLazy, lazy: func() *sval { refuse("a truth value of lanes"); return nil }}
	}
	if v.Op == ir.OpMNot || v.Op == ir.OpNot {
		switch {
		case x.kind == kAll:
			return all(^x.bits)
		case one:
			return &sval{id: s.un(ir.OpMNot, ir.S1, x.id)}
		}
	} else if len(xs) == 2 {
		y := xs[1]
		if x.kind != kAll {
			x, y = y, x
		}
		if x.kind == kAll && y.kind == kAll {
			switch v.Op {
			case ir.OpMAnd, ir.OpAnd:
				return all(x.bits & y.bits)
			case ir.OpMOr, ir.OpOr:
				return all(x.bits | y.bits)
			case ir.OpMXor, ir.OpXor:
				return all(x.bits ^ y.bits)
			}
		}
		if x.kind == kAll && (x.bits == 0 || x.bits == c.full()) {
			and, or := v.Op == ir.OpMAnd || v.Op == ir.OpAnd, v.Op == ir.OpMOr || v.Op == ir.OpOr
			switch {
			case and && x.bits != 0, or && x.bits == 0:
				return y
			case and, or:
				return x
			}
		}
		truths := x.kind == kUniform && y.kind == kUniform && c.v(x.id).Type == ir.S1 && c.v(y.id).Type == ir.S1
		if op, ok := maskLogic[v.Op]; ok && truths {
			return &sval{id: s.bin(op, ir.S1, x.id, y.id)}
		}
	}
	// Of lanes.
	op, ok := maskLogic[v.Op]
	if !ok {
		refuse("%v of masks", v.Op)
	}
	w := ir.Value{Op: op, Type: ir.M, PC: v.PC}
	for _, x := range xs {
		if x.kind == kUniform && c.v(x.id).Type != ir.S1 {
			refuse("a mask from a scalar")
		}
		w.Args = append(w.Args, s.vector(x))
	}
	c.over[id] = &w
	s.emit(id, classVector)
	return &sval{kind: kMask, id: id, wide: c.lanes == 64}
}

// icmp compares values of which one is affine: all lanes or none; nil for others.
func (s *stream) icmp(v *ir.Value, x, y *sval) *sval {
	x, y = s.force(x), s.force(y)
	p := v.Pred
	if y.kind == kAffine && x.kind == kUniform {
		x, y = y, x
		p = swapped(p)
	}
	if x.kind != kAffine || y.kind != kUniform || x.step < 0 || x.step > 1<<24 {
		return nil
	}
	signed := p >= ir.SLT && p <= ir.SGE
	a, b := x, y
	if !x.wide {
		if signed {
			a, b = s.sext(x), s.sext(y)
		} else {
			a, b = s.zext(x), s.zext(y)
		}
	}
	e := s.end(a)
	if x.by != 0 && (p == ir.EQ || p == ir.NE) {
		s.must(s.cmp(ir.SGE, s.groupsEnd(x), s.konst(ir.S64, 0)))
	}
	if x.wide {
		if signed {
			s.must(s.cmp(ir.SGE, e, a.id))
		} else {
			s.must(s.cmp(ir.UGE, e, a.id))
		}
	}
	full := &sval{kind: kAll, bits: s.c.full(), wide: s.c.lanes == 64}
	none := &sval{kind: kAll, wide: s.c.lanes == 64}
	if p == ir.EQ || p == ir.NE {
		out := s.bin(ir.OpMOr, ir.S1, s.cmp(ir.ULT, b.id, a.id), s.cmp(ir.UGT, b.id, e))
		s.must(out)
		if p == ir.EQ {
			return none
		}
		return full
	}
	p0, p1 := s.cmp(p, a.id, b.id), s.cmp(p, e, b.id)
	if s.decide(s.bin(ir.OpMAnd, ir.S1, p0, p1), s.bin(ir.OpMOr, ir.S1, p0, p1), false) {
		return full
	}
	return none
}

// carryAdd evaluates the carry of an addition; nil for that of general vectors.
func (s *stream) carryAdd(v *ir.Value) *sval {
	x, y := s.use(v.Args[0]), s.use(v.Args[1])
	var in *sval
	if len(v.Args) > 2 && v.Args[2] != ir.NoID {
		in = s.use(v.Args[2])
	}
	if v.Type == ir.S1 && !s.whole() || s.isGeneral(x) || s.isGeneral(y) || in != nil && in.kind == kMask {
		return nil
	}
	r := &sval{kind: kLazy, carry: &[3]*sval{x, y, in}}
	r.lazy = func() *sval {
		if s.stride != nil && in != nil && in.carry != nil {
			if z := s.noCarry(in.carry, x, y); z != nil {
				return z
			}
		}
		a, b := s.zext(x), s.zext(y)
		if a == nil || b == nil {
			refuse("a carry of vectors")
		}
		t := s.add64(a, b)
		if in != nil {
			k := s.force(in)
			switch {
			case k.kind == kAll && k.bits == 0:
			case k.kind == kAll && k.bits == s.c.full():
				t = s.add64(t, &sval{id: s.konst(ir.S64, 1)})
			case k.kind == kUniform && s.c.v(k.id).Type == ir.S1:
				t = s.add64(t, &sval{id: s.un(ir.OpZext64, ir.S64, s.un(ir.OpBToS, ir.S32, k.id))})
			default:
				refuse("a carry into lanes")
			}
		}
		h := s.un(ir.OpHi, ir.S32, t.id)
		if t.kind == kAffine {
			s.must(s.cmp(ir.EQ, h, s.un(ir.OpHi, ir.S32, s.end(t))))
		}
		return &sval{id: s.un(ir.OpSToB, ir.S1, h)}
	}
	return r
}

func swapped(p ir.Pred) ir.Pred {
	switch p {
	case ir.ULT:
		return ir.UGT
	case ir.ULE:
		return ir.UGE
	case ir.UGT:
		return ir.ULT
	case ir.UGE:
		return ir.ULE
	case ir.SLT:
		return ir.SGT
	case ir.SLE:
		return ir.SGE
	case ir.SGT:
		return ir.SLT
	case ir.SGE:
		return ir.SLE
	}
	return p
}
