package jit

import (
	"math/bits"
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// eval evaluates one operation of the trace; nil for those without a result.
func (s *stream) eval(id ir.ID, v *ir.Value) *sval {
	c := s.c
	arg := func(i int) *sval { return s.use(v.Args[i]) }
	switch v.Op {
	case ir.OpConst, ir.OpUndef, ir.OpPC:
		return nil // use makes it
	case ir.OpFence:
		return nil
	case ir.OpSplat:
		return arg(0)
	case ir.OpSGet:
		return s.getS(v.Imm)
	case ir.OpSGet64:
		return s.getS64(v.Imm)
	case ir.OpMGet:
		if c.lanes == 32 {
			return s.mask(s.getS1(v.Imm))
		}
		return s.mask(s.getS64(v.Imm))
	case ir.OpSSet, ir.OpSSet64, ir.OpMSet:
		lo, hi := c.regs(v)
		x := arg(0)
		if lo <= isa.SRegEXECLo && isa.SRegEXECLo < hi {
			x = s.force(x)
			if s.stride != nil {
				s.fullMask(x)
			}
			if s.constMask(x); x.kind != kAll {
				refuse("EXEC by lanes")
			}
		}
		if lo == isa.SRegMODE {
			refuse("MODE")
		}
		if x.kind == kLazy {
			s.setS(lo, hi-lo, x)
			return nil
		}
		if x.kind != kUniform && x.kind != kAll && x.kind != kMask && (x.kind != kAffine || x.step != 0) {
			refuse("a vector in a scalar register")
		}
		s.setS(lo, hi-lo, x)
		return nil
	case ir.OpVGet:
		if x := s.v[v.Imm]; x != nil {
			return x
		}
		if s.stride != nil {
			return s.vget(id, v.Imm)
		}
		if v.Imm > 2 {
			// Nothing has been written to it: a wave begins with zero there, or with what another left.
			return s.num32(0)
		}
		x := &sval{kind: kAffine, id: s.put(ir.Value{Op: opID, Type: ir.S32, Imm: v.Imm}), step: 1, max: 1<<30 + 1<<12}
		if v.Imm > 0 {
			x.kind, x.step = kUniform, 0 // of a wave; RunBatch sees that it is of a unit
		}
		s.v[v.Imm], s.items[v.Imm] = x, x
		return x
	case ir.OpVSet:
		m := s.force(arg(1))
		switch {
		case m.kind == kAll && m.bits == c.full():
			if s.stride != nil {
				s.setV(v, arg(0))
				return nil
			}
			s.v[v.Imm] = arg(0)
			return nil
		case m.kind == kAll && m.bits == 0:
			return nil
		}
		refuse("a write of some lanes")
	case ir.OpTuple:
		x := &sval{kind: kTuple}
		for i := range v.Args {
			x.elems = append(x.elems, arg(i))
		}
		return x
	case ir.OpElem:
		x := s.force(arg(0))
		if x.kind == kTuple {
			return x.elems[v.Imm]
		}
		if v.Type == ir.S32 { // of a scalar load
			w := *v
			w.Args = []ir.ID{x.id}
			c.over[id] = &w
			l := s.level[x.id]
			s.level[id] = l
			s.lists[l] = append(s.lists[l], id)
			return &sval{id: id}
		}
		return s.general(id, v)
	case ir.OpLo, ir.OpHi:
		if x := arg(0); x.kind == kLazy && x.low != nil {
			if v.Op == ir.OpLo {
				return x.low
			}
			return &sval{kind: kLazy, lazy: func() *sval {
				y := s.general(id, v)
				y.of, y.hi = x, true
				return y
			}}
		}
		x := s.force(arg(0))
		var y *sval
		if x.kind == kAll {
			b := x.bits
			if v.Op == ir.OpHi {
				b >>= 32
			}
			return s.num32(uint32(b))
		}
		if v.Op == ir.OpLo {
			y = s.loOf(x)
		} else {
			y = s.hiOf(x)
		}
		if y == nil {
			y = s.general(id, v)
			y.of, y.hi = x, v.Op == ir.OpHi
		}
		return y
	case ir.OpPair:
		if x := s.pairWithLow(id, v, arg(0), arg(1)); x != nil {
			return x
		}
	case ir.OpZext64:
		if x := s.zext(arg(0)); x != nil {
			return x
		}
		return s.general(id, v)
	case ir.OpSext64:
		if x := s.sext(arg(0)); x != nil {
			return x
		}
		return s.general(id, v)
	case ir.OpBToS:
		x := arg(0)
		if x.kind == kLazy {
			return &sval{kind: kLazy, carry: x.carry, truth: x, lazy: func() *sval { return s.number(s.force(x)) }}
		}
		if x.kind == kAll || x.kind == kUniform {
			return s.number(x)
		}
	case ir.OpSToB:
		if x := arg(0); x.kind == kLazy && x.truth != nil {
			return x.truth
		}
		return s.maskOp(id, v)
	case ir.OpMToS, ir.OpSToM, ir.OpMToV, ir.OpMAnd, ir.OpMOr, ir.OpMXor, ir.OpMNot, ir.OpMIsZ, ir.OpMFull:
		return s.maskOp(id, v)
	case ir.OpSLoad:
		return s.sload(id, v)
	case ir.OpAtomic:
		if s.stride == nil {
			refuse("%v", v.Op)
		}
		return s.ldsUpdate(id, v)
	case ir.OpLoad, ir.OpStore:
		return s.memory(id, v)
	case ir.OpReadFirst, ir.OpReadLane:
		switch x := s.force(arg(0)); x.kind {
		case kUniform:
			return x
		case kAffine:
			if x.step == 0 {
				return x
			}
			// The waves of a unit have other first lanes.
			if m := s.force(arg(1)); s.unit == levelWave && v.Op == ir.OpReadFirst && m.kind == kAll && m.bits == c.full() {
				return &sval{id: x.id}
			}
		}
		refuse("%v", v.Op)
	case ir.OpICmp:
		x, y := arg(0), arg(1)
		if v.Type == ir.S1 && s.whole() && (s.varies(x) || s.varies(y)) {
			// A flag is set far more often than it is looked at.
			return &sval{kind: kLazy, lazy: func() *sval {
				z := s.icmp(v, x, y)
				if z == nil {
					refuse("a comparison that work-groups differ in")
				}
				return z
			}}
		}
		if x := s.icmp(v, x, y); x != nil {
			return x
		}
	case ir.OpCarryAdd:
		if x := s.carryAdd(v); x != nil {
			return x
		}
	case ir.OpAdd:
		if v.Type == ir.V32 || v.Type == ir.S32 {
			return s.add(id, v, arg(0), arg(1))
		}
		if x := s.addWithLow(id, v, arg(0), arg(1)); x != nil {
			return x
		}
	}
	if v.Op >= ir.NumOps || !v.Op.Pure() || v.Op.Cross() || v.Op.Memory() {
		refuse("%v", v.Op)
	}
	// Logic on masks that are in scalar registers.
	if slices.ContainsFunc(v.Args, func(a ir.ID) bool {
		return a != ir.NoID && (s.use(a).kind == kAll || s.use(a).kind == kMask)
	}) && (v.Type == ir.S64 || v.Type == ir.S32) {
		return s.maskOp(id, v)
	}
	if x := s.affine(v); x != nil {
		return x
	}
	uniform := true
	for _, a := range v.Args {
		uniform = uniform && (a == ir.NoID || s.force(s.use(a)).kind == kUniform || s.use(a).kind == kAll)
	}
	if uniform {
		w := *v
		w.Type, w.Args = scalarType(v.Type), slices.Clone(v.Args)
		if w.Type == ir.S32 || w.Type == ir.S64 || w.Type == ir.S1 {
			for i, a := range w.Args {
				if a == ir.NoID {
					continue
				}
				if x := s.use(a); x.kind == kAll {
					w.Args[i] = s.konst(ir.S1, uint64(b2i(x.bits != 0)))
				} else {
					w.Args[i] = x.id
				}
			}
			if c.canScalar(&w) {
				return &sval{id: s.scalar(w), wide: w.Type == ir.S64}
			}
		}
		if v.Type.Uniform() {
			refuse("%v", v.Op)
		}
	}
	return s.general(id, v)
}

// add evaluates a 32-bit addition.
func (s *stream) add(id ir.ID, v *ir.Value, x, y *sval) *sval {
	if x.carry != nil {
		x, y = y, x
	}
	if y.carry != nil && x.carry == nil {
		// A high half with its carry.
		hi := &sval{kind: kLazy, high: y, sum: x.sum}
		if x.sum == nil || x.high != nil {
			hi.sum = &[2]*sval{x, s.num32(0)}
		}
		hi.lazy = func() *sval { return s.addPlain(id, v, x, y) }
		if s.isGeneral(x) {
			return s.force(hi)
		}
		return hi
	}
	if x.kind == kLazy || y.kind == kLazy {
		return &sval{kind: kLazy, sum: &[2]*sval{x, y}, lazy: func() *sval { return s.addPlain(id, v, x, y) }}
	}
	z := s.addPlain(id, v, x, y)
	z.sum = &[2]*sval{x, y}
	return z
}

// isGeneral tells whether x is a general vector; it makes nothing.
func (s *stream) isGeneral(x *sval) bool { return x.kind == kVector }

func (s *stream) addPlain(id ir.ID, v *ir.Value, x, y *sval) *sval {
	x, y = s.force(x), s.force(y)
	num := func(x *sval) bool { return x.kind == kUniform || x.kind == kAffine }
	if num(x) && num(y) {
		z := &sval{id: s.bin(ir.OpAdd, ir.S32, x.id, y.id), step: x.step + y.step, by: s.sumBy(x.by, y.by)}
		if z.step != 0 || z.by != 0 {
			z.kind = kAffine
		}
		return z
	}
	return s.general(id, v)
}

// affine evaluates operations with affine results; nil when it is none.
func (s *stream) affine(v *ir.Value) *sval {
	t := scalarType(v.Type)
	if len(v.Args) == 0 || v.Args[0] == ir.NoID || t != ir.S32 && t != ir.S64 || t == v.Type && !s.whole() {
		return nil
	}
	x := s.force(s.use(v.Args[0]))
	var y *sval
	if len(v.Args) == 2 {
		y = s.force(s.use(v.Args[1]))
	}
	num := func(x *sval) bool { return x.kind == kUniform || x.kind == kAffine }
	if !num(x) || y != nil && !num(y) || x.kind != kAffine && (y == nil || y.kind != kAffine) {
		return nil
	}
	made := func(id ir.ID, step int64, by ir.ID) *sval {
		z := &sval{kind: kAffine, id: id, step: step, by: by, wide: t == ir.S64}
		if step == 0 && by == 0 {
			z.kind = kUniform
		}
		if step < -1<<30 || step > 1<<30 {
			refuse("a large step")
		}
		return z
	}
	switch v.Op {
	case ir.OpAdd:
		return made(s.bin(ir.OpAdd, t, x.id, y.id), x.step+y.step, s.sumBy(x.by, y.by))
	case ir.OpSub:
		return made(s.bin(ir.OpSub, t, x.id, y.id), x.step-y.step, s.sumBy(x.by, s.negBy(y.by)))
	case ir.OpMul:
		if x.kind != kAffine {
			x, y = y, x
		}
		if k, ok := s.constOf(y); ok && k < 1<<20 {
			z := made(s.bin(ir.OpMul, t, x.id, y.id), x.step*int64(k), s.mulBy(x.by, y, true))
			if x.max*k < 1<<32 {
				z.max = x.max * k
			}
			return z
		}
		if x.step == 0 && y.kind == kUniform {
			return made(s.bin(ir.OpMul, t, x.id, y.id), 0, s.mulBy(x.by, y, true))
		}
	case ir.OpMulU64:
		if x.kind != kAffine {
			x, y = y, x
		}
		if k, ok := s.constOf(y); ok && k < 1<<20 {
			w := s.zext(x)
			return made(s.bin(ir.OpMul, ir.S64, w.id, s.konst(ir.S64, k)), x.step*int64(k), s.mulBy(x.by, y, false))
		}
		if x.step == 0 && y.kind == kUniform {
			w := s.zext(x)
			return made(s.bin(ir.OpMul, ir.S64, w.id, s.zext(y).id), 0, s.mulBy(x.by, y, false))
		}
	case ir.OpShl:
		if k, ok := s.constOf(y); ok && x.kind == kAffine && k < 20 {
			z := made(s.bin(ir.OpShl, t, x.id, s.konst(ir.S32, k)), x.step<<k, s.shlBy(x.by, k))
			if x.max<<k < 1<<32 {
				z.max = x.max << k
			}
			return z
		}
	case ir.OpAShr:
		if k, ok := s.constOf(y); ok && k&31 == 31 && !x.wide && x.kind == kAffine {
			return &sval{kind: kLazy, signs: x, lazy: func() *sval {
				return &sval{id: s.un(ir.OpLo, ir.S32, s.bin(ir.OpAShr, ir.S64, s.signed(x), s.konst(ir.S32, 63)))}
			}}
		}
	case ir.OpLShr:
		if k, ok := s.constOf(y); ok && !x.wide && x.kind == kAffine && k < 32 {
			a := s.zext(x)
			q := s.bin(ir.OpLShr, ir.S64, a.id, s.konst(ir.S32, k))
			s.must(s.cmp(ir.EQ, q, s.bin(ir.OpLShr, ir.S64, s.end(a), s.konst(ir.S32, k))))
			return &sval{id: s.un(ir.OpLo, ir.S32, q)}
		}
	case ir.OpAnd, ir.OpZext:
		if x.wide {
			return nil
		}
		k := uint64(1)<<v.Imm - 1
		if v.Op == ir.OpAnd {
			if x.kind != kAffine {
				x, y = y, x
			}
			var ok bool
			if k, ok = s.constOf(y); !ok || k&(k+1) != 0 {
				return nil
			}
		}
		if x.kind != kAffine || x.step < 0 || k >= 1<<32-1 {
			return nil
		}
		if x.max != 0 && x.max <= k {
			return x
		}
		low := s.bin(ir.OpAnd, ir.S32, x.id, s.konst(ir.S32, k))
		z := &sval{kind: kAffine, id: low, step: x.step, by: x.by, max: k}
		s.must(s.cmp(ir.ULE, s.end(s.zext(z)), s.konst(ir.S64, k)))
		return z
	case ir.OpOr:
		if x.step == 0 {
			x, y = y, x
		}
		if x.wide || x.step <= 0 || x.by != 0 || y.kind != kUniform && y.kind != kAffine || y.step != 0 {
			return nil
		}
		// Disjoint bits: the lanes' are the low ones.
		low := uint64(1023)
		if s.unit != levelWave { // its first lane is that of the first wave
			low = uint64(1)<<bits.Len64(uint64(x.step*(s.lanes-1))) - 1
		}
		s.must(s.cmp(ir.EQ, s.bin(ir.OpAnd, ir.S32, y.id, s.konst(ir.S32, low)), s.konst(ir.S32, 0)))
		if y.by != 0 {
			s.must(s.cmp(ir.EQ, s.bin(ir.OpAnd, ir.S64, y.by, s.konst(ir.S64, low)), s.konst(ir.S64, 0)))
		}
		s.must(s.cmp(ir.ULE, s.end(s.zext(x)), s.konst(ir.S64, low)))
		return made(s.bin(ir.OpOr, ir.S32, x.id, y.id), x.step, y.by)
	case ir.OpMinU, ir.OpMinS, ir.OpMaxU, ir.OpMaxS:
		return s.bounded(v.Op, x, y)
	}
	return nil
}

// signed is lane 0 of a 32-bit affine value, all of whose lanes have one sign, in 64 bits.
func (s *stream) signed(x *sval) ir.ID {
	a := s.sext(x)
	e := s.end(a)
	s.must(s.cmp(ir.SGE, s.bin(ir.OpXor, ir.S64, a.id, e), s.konst(ir.S64, 0)))
	return a.id
}

// sload is a scalar load.
func (s *stream) sload(id ir.ID, v *ir.Value) *sval {
	if len(s.access) > 0 && slices.ContainsFunc(s.access, func(a streamAccess) bool { return a.write }) {
		refuse("a scalar load behind a store")
	}
	if v.Width%4 != 0 || v.Space == ir.LDS || v.Space == ir.Scratch {
		refuse("a scalar load")
	}
	w := *v
	w.Args = slices.Clone(v.Args)
	for i, a := range w.Args {
		if a == ir.NoID {
			continue
		}
		x := s.force(s.use(a))
		if x.kind != kUniform || i == 0 && !x.wide {
			refuse("the address of a scalar load")
		}
		w.Args[i] = x.id
	}
	x := s.put(w)
	return &sval{id: x, wide: v.Type == ir.S64}
}

// memory is a load or store of global memory.
func (s *stream) memory(id ir.ID, v *ir.Value) *sval {
	m := s.force(s.use(v.Args[2]))
	if v.Space != ir.Global || m.kind != kAll || m.bits != 0 && m.bits != s.c.full() {
		refuse("memory of %v", v.Space)
	}
	n := v.Regs()
	if m.bits == 0 {
		if v.Op == ir.OpStore {
			return nil
		}
		x := s.num32(0)
		if v.Type == ir.V64 {
			return &sval{id: s.konst(ir.S64, 0), wide: true}
		}
		if v.Type == ir.T {
			t := &sval{kind: kTuple}
			for range n {
				t.elems = append(t.elems, x)
			}
			return t
		}
		return x
	}
	addr := &sval{id: s.konst(ir.S64, uint64(int64(int32(v.Imm)))), wide: true}
	if b := v.Args[0]; b != ir.NoID {
		x := s.force(s.use(b))
		if !x.wide || x.kind != kUniform && x.kind != kAffine || x.step != 0 {
			refuse("a base")
		}
		addr = s.plus(addr, x)
	}
	if o := v.Args[1]; o != ir.NoID {
		x := s.force(s.use(o))
		if !x.wide {
			if v.Imm&ir.OffSigned != 0 {
				x = s.sext(x)
			} else {
				x = s.zext(x)
			}
		}
		if x == nil || x.kind != kUniform && x.kind != kAffine {
			refuse("addresses of no order")
		}
		addr = s.plus(addr, x)
	}
	if s.stride != nil {
		s.wantStep(addr, int64(v.Width))
	}
	if v.Op == ir.OpLoad {
		if w := int64(v.Width); (addr.step == 4 || addr.step == 8) && w > addr.step && w%addr.step == 0 {
			return s.overlapping(v, addr)
		}
		s.load(id, *v, addr)
		return &sval{kind: kVector, id: id, wide: v.Type == ir.V64}
	}
	x := *v
	x.Args = []ir.ID{ir.NoID, s.vector(s.use(v.Args[3]))}
	s.addAccess(id, x, addr)
	return nil
}

// overlapping is a load whose lanes' bytes overlap, as of neighbours that a compiler fetches together: one load for each step.
func (s *stream) overlapping(v *ir.Value, addr *sval) *sval {
	c := s.c
	var parts []*sval
	for off := int64(0); off < int64(v.Width); off += addr.step {
		w := *v
		w.Width, w.Type, w.N = uint8(addr.step), ir.V32, 0
		if addr.step == 8 {
			w.Type = ir.V64
		}
		id := c.add(w)
		s.load(id, w, s.plus(addr, &sval{id: s.konst(ir.S64, uint64(off)), wide: true}))
		if addr.step == 4 {
			parts = append(parts, &sval{kind: kVector, id: id})
			continue
		}
		for _, op := range []ir.Op{ir.OpLo, ir.OpHi} {
			half := c.add(ir.Value{Op: op, Type: ir.V32, Args: []ir.ID{id}, PC: v.PC})
			s.emit(half, classFree)
			parts = append(parts, &sval{kind: kVector, id: half})
		}
	}
	if v.Type == ir.T {
		return &sval{kind: kTuple, elems: parts}
	}
	id := c.add(ir.Value{Op: ir.OpPair, Type: ir.V64, Args: []ir.ID{parts[0].id, parts[1].id}, PC: v.PC})
	s.emit(id, classFree)
	return &sval{kind: kVector, id: id, wide: true}
}

// load makes id a load of the unit at addr.
func (s *stream) load(id ir.ID, v ir.Value, addr *sval) {
	v.Args = []ir.ID{ir.NoID}
	s.addAccess(id, v, addr)
}

// addAccess makes id the access x, whose first argument is to be the host address.
func (s *stream) addAccess(id ir.ID, x ir.Value, addr *sval) {
	c := s.c
	w := int64(x.Width)
	load := x.Op == ir.OpLoad
	switch {
	case w != 1 && w != 2 && w != 4 && w != 8 && w != 16:
		refuse("%d bytes a lane", w)
	case addr.step == w:
	case load && addr.step == 0 && w >= 4:
	case load && w == 4 && addr.step > 0 && addr.step <= 256:
	default:
		refuse("%d bytes a lane, %d apart", w, addr.step)
	}
	i := len(s.access)
	a := streamAccess{id: id, step: addr.step, n: int32(addr.step*(s.lanes-1) + w), width: int32(w), write: !load}
	h := ir.Value{Op: opHost, Type: ir.S64, Args: []ir.ID{addr.id, ir.NoID}, Imm: uint64(i), PC: x.PC}
	if s.whole() {
		h.Args[1] = s.allBytes(addr, &a)
	}
	a.host = s.put(h)
	s.access = append(s.access, a)
	x.Args[0], x.Imm = a.host, uint64(i)
	c.over[id] = &x
	if w == 8 && (load && x.Type == ir.V64 || !load && c.v(x.Args[1]).Type == ir.V64 && c.vals[x.Args[1]].q) {
		// Qwords lie in memory as arithmetic of 64 bits wants them.
		c.vals[id].q = load
		c.code = append(c.code, id)
		s.vecs = append(s.vecs, id)
		return
	}
	s.emit(id, classWave)
}

// plus adds 64-bit values; constants that are 0 vanish.
func (s *stream) plus(x, y *sval) *sval {
	if k, ok := s.constOf(x); ok && k == 0 {
		return y
	}
	return s.add64(x, y)
}
