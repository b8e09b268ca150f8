package jit

import (
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// The symbolic evaluation of a run. Values are made when something asks for them: an address, a register that the run leaves behind, a value that is used later.

// aval is a lane-wise value.
type aval struct {
	wide bool
	node int       // or -1 as long as it is not made
	of   *aval     // it is the low half of this one,
	hi   bool      // or the high one
	sum  *[2]ir.ID // or the sum of these
	load *aload    // or what a load gives: dword part
	part int
}

// awide is the sum of two 64-bit values that the code adds in halves.
type awide struct{ x, y, sum int }

// amask is a lane mask: all lanes, or the carry of x + y + in.
type amask struct {
	full bool
	args [3]ir.ID
	wide bool
}

// evaluate evaluates the run; the error says why it cannot.
func (u *affine) evaluate() (err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case refusal:
			err = &ErrUnsupported{string(x)}
		default:
			panic(x)
		}
	}()
	c := u.c
	u.inside, u.before, u.set, u.left = map[ir.ID]bool{}, map[ir.ID]bool{}, map[ir.ID]ir.ID{}, map[uint64]ir.ID{}
	u.vals, u.masks, u.sums, u.wides, u.same = map[ir.ID]*aval{}, map[ir.ID]*amask{}, map[[2]ir.ID]*aval{}, map[[4]ir.ID]*awide{}, map[anode]int{}
	u.full = ir.NoID
	u.scalars = map[ir.ID]bool{}
	for i, g := range c.segs[:u.last+1] {
		for _, id := range g.ops {
			if i < u.first {
				u.before[id] = true
			} else {
				u.inside[id] = true
			}
			if i > u.first && g.kind == segScalar {
				u.scalars[id] = true
			}
		}
	}
	vset, mset := map[uint64]ir.ID{}, map[uint64]ir.ID{}
	var vorder, morder []uint64
	var loads []ir.ID
	for _, id := range c.b.Code {
		v := c.f.V(id)
		switch {
		case v.Op == ir.OpVGet:
			if x, ok := vset[v.Imm]; ok {
				u.set[id] = c.f.V(x).Args[0]
			}
		case !u.inside[id] || u.scalars[id]:
		case v.Op == ir.OpVSet:
			u.mask(v.Args[1])
			if _, ok := vset[v.Imm]; !ok {
				vorder = append(vorder, v.Imm)
			}
			vset[v.Imm], u.left[v.Imm] = id, v.Args[0]
		case v.Op == ir.OpMSet:
			lo, _ := c.regs(v)
			if _, ok := mset[lo]; !ok {
				morder = append(morder, lo)
			}
			mset[lo] = id
		case v.Op == ir.OpLoad && v.Space == ir.Global:
			u.mask(v.Args[2])
			loads = append(loads, id)
		}
	}
	for i, lo := range morder {
		for _, other := range morder[:i] {
			if max(lo, other)-min(lo, other) < uint64(c.lanes/32) {
				refuse("masks that overlap")
			}
		}
	}
	u.loads = make([]aload, 0, len(loads))
	for _, id := range loads {
		u.load(id)
	}
	vorder = slices.DeleteFunc(vorder, func(n uint64) bool { return u.moot(vset[n]) })
	for _, n := range vorder { // a high half tells what the low one is a half of
		u.val(c.f.V(vset[n]).Args[0])
	}
	for _, n := range vorder {
		u.write(u.val(c.f.V(vset[n]).Args[0]), x86.M(rState, c.homeOf(n)))
	}
	for _, lo := range morder {
		u.flag(c.f.V(mset[lo]).Args[0], x86.M(rState, offS+4*int32(lo)))
	}
	u.later(false)
	for i, x := range u.bounds() {
		if x > 1<<26 {
			refuse("a large step of node %d", i)
		}
	}
	for i := range u.loads {
		if u.bound(u.loads[i].node) == 0 {
			refuse("one address for all lanes")
		}
	}
	u.carry()
	return nil
}

// mask notes that a write or a load has this mask, which must be EXEC.
func (u *affine) mask(id ir.ID) {
	c := u.c
	if c.fullMask(id) || id == u.full {
		return
	}
	if v := c.f.V(id); v.Op != ir.OpMGet || v.Imm != isa.SRegEXECLo || u.full != ir.NoID || u.inside[id] || len(c.vals[id].comps) == 0 {
		refuse("a mask that is not EXEC")
	}
	u.full = id
}

// ext is a 32-bit value that is extended: no lane of it wraps.
func (u *affine) ext(x *aval) int {
	n := u.node(x)
	u.guard(guardMono, n, 0, 0)
	return n
}

// node makes the node of a value.
func (u *affine) node(x *aval) int {
	if x.node >= 0 {
		return x.node
	}
	switch {
	case x.load != nil:
		refuse("arithmetic on what was loaded")
	case x.of != nil && x.hi:
		n := u.node(x.of)
		u.guard(guardHigh, n, 0, 0)
		x.node = u.shift(anShr, n, 32)
	case x.of != nil:
		x.node = u.low(u.node(x.of))
	case x.sum != nil:
		x.node = u.low(u.bin(anAdd, u.node(u.val(x.sum[0])), u.node(u.val(x.sum[1]))))
	}
	return x.node
}

func (u *affine) of(id ir.ID) int { return u.node(u.val(id)) }

// val is the value of id.
func (u *affine) val(id ir.ID) *aval {
	if x := u.vals[id]; x != nil {
		return x
	}
	if int(id) >= u.c.n {
		refuse("a value of the compiler's own")
	}
	x := u.made(id)
	u.vals[id] = x
	return x
}

func (u *affine) made(id ir.ID) *aval {
	c := u.c
	v := c.f.V(id)
	wide := v.Type == ir.V64 || v.Type == ir.S64
	is := func(n int) *aval { return &aval{node: n, wide: wide} }
	if k, ok := c.isConst(id); ok {
		if !wide {
			k &= low32
		}
		return is(u.num(k))
	}
	switch {
	case v.Op == ir.OpSplat:
		return u.val(v.Args[0])
	case v.Type == ir.S32 || v.Type == ir.S64:
		return is(u.uniform(id, wide))
	case v.Op == ir.OpVGet:
		if x, ok := u.set[id]; ok {
			return u.val(x)
		}
		return is(u.leaf(id))
	case u.before[id]:
		if v.Type != ir.V32 {
			refuse("a value of 64 bits from before")
		}
		return is(u.leaf(id))
	}
	arg := func(i int) int { return u.of(v.Args[i]) }
	// equal is the operation on values that are the same in all lanes of a strip.
	equal := func(op anodeOp) *aval {
		a, b := arg(0), arg(1)
		u.zero(a)
		u.zero(b)
		return is(u.bin(op, a, b))
	}
	trim := func(n int) int {
		if wide {
			return n
		}
		return u.low(n)
	}
	switch v.Op {
	case ir.OpAdd:
		if wide {
			return is(u.bin(anAdd, arg(0), arg(1)))
		}
		return u.add(v)
	case ir.OpSub:
		a, b := arg(0), arg(1)
		u.zero(b)
		return is(trim(u.bin(anSub, a, b)))
	case ir.OpMul, ir.OpMulU64:
		if v.Op == ir.OpMul && wide {
			refuse("a product of 64 bits")
		}
		a, b := arg(0), arg(1)
		if _, ok := u.constant(a); ok {
			a, b = b, a
		}
		if k, ok := u.constant(b); !ok || k >= 1<<20 {
			u.zero(a)
			u.zero(b)
		} else if wide {
			u.guard(guardMono, a, 0, 0)
		}
		return is(trim(u.bin(anMul, a, b)))
	case ir.OpShl, ir.OpLShr:
		k, ok := c.isConst(v.Args[1])
		if !ok {
			refuse("a shift by a variable")
		}
		k &= 31
		if wide {
			k, _ = c.isConst(v.Args[1])
			k &= 63
		}
		a := arg(0)
		if v.Op == ir.OpShl {
			return is(trim(u.shift(anShl, a, k)))
		}
		u.zero(a)
		return is(u.shift(anShr, a, k))
	case ir.OpOr:
		a, b := arg(0), arg(1)
		if u.bound(a) > 0 && u.bound(b) > 0 {
			u.zero(b)
		}
		if u.bound(a) == 0 {
			a, b = b, a
		}
		if u.bound(a) > 0 {
			// Its bits are below the other's: the sum.
			u.guard(guardMono, a, 0, 0)
			u.guard(guardDisjoint, a, b, 0)
		}
		return is(u.bin(anOr, a, b))
	case ir.OpAnd:
		return equal(anAnd)
	case ir.OpXor:
		return equal(anXor)
	case ir.OpZext64:
		return is(u.ext(u.val(v.Args[0])))
	case ir.OpPair:
		return u.pair(u.val(v.Args[0]), u.val(v.Args[1]))
	case ir.OpLo, ir.OpHi:
		x := u.val(v.Args[0])
		if x.load != nil {
			return &aval{node: -1, load: x.load, part: b2i(v.Op == ir.OpHi)}
		}
		return &aval{node: -1, of: x, hi: v.Op == ir.OpHi}
	case ir.OpElem:
		if x := u.val(v.Args[0]); x.load != nil {
			return &aval{node: -1, load: x.load, part: int(v.Imm)}
		}
	case ir.OpLoad:
		for i := range u.loads {
			if u.loads[i].id == id {
				return &aval{node: -1, load: &u.loads[i]}
			}
		}
	}
	refuse("%v", v.Op)
	return nil
}

// uniform is the node of a scalar value, which lies in memory when the run begins.
func (u *affine) uniform(id ir.ID, wide bool) int {
	c := u.c
	ks := c.vals[id].comps
	if len(ks) != 1 || c.comps[ks[0]].kind != compG {
		refuse("a scalar that is nowhere")
	}
	m := &c.comps[ks[0]]
	if m.of < 0 && (m.home < 0 && !u.before[id] || m.shr != 0) || int(m.last) < u.first {
		refuse("a scalar that is nowhere")
	}
	if m.of >= 0 {
		if p := &c.comps[m.of]; p.home < 0 && !u.before[p.id] {
			refuse("a scalar that is nowhere")
		}
		id = c.comps[m.of].id
	}
	if u.scalars[id] {
		// What the run writes itself is not there when it begins.
		lo, hi := c.regs(c.v(id))
		for x := range u.scalars {
			v := c.v(x)
			if l, h := c.regs(v); !isGet(v.Op) && l < hi && lo < h && c.vals[x].key < c.vals[id].key {
				refuse("a scalar that the run writes")
			}
		}
	}
	op := anU32
	if wide {
		op = anU64
	}
	return u.put(anode{op: op, rm: c.memOf(ks[0])})
}

// leaf is the node of 32 bits of each lane that are in memory when the run begins.
func (u *affine) leaf(id ir.ID) int {
	c := u.c
	ks := c.vals[id].comps
	if len(ks) != 1 || c.comps[ks[0]].kind != compZ || c.comps[ks[0]].wide {
		refuse("a vector that is nowhere")
	}
	m := &c.comps[ks[0]]
	switch {
	case int(m.last) < u.first:
	case m.home >= 0:
		return u.input(x86.M(rState, m.home))
	case m.slot >= 0 && int(m.def) < u.first:
		return u.input(x86.M(rFrame, m.slot))
	}
	refuse("a vector that is nowhere")
	return 0
}

// carryOf is the carry that a 32-bit value is the bit of in each lane, or nil.
func (u *affine) carryOf(id ir.ID) *amask {
	if v := u.c.f.V(id); v.Op == ir.OpMToV {
		if m := u.lanes(v.Args[0]); !m.full {
			return m
		}
	}
	return nil
}

// add evaluates a 32-bit addition.
func (u *affine) add(v *ir.Value) *aval {
	x, y := v.Args[0], v.Args[1]
	k := u.carryOf(y)
	if k == nil {
		if k = u.carryOf(x); k != nil {
			x = y
		}
	}
	if k == nil {
		z := &aval{node: -1, sum: &[2]ir.ID{x, y}}
		if _, ok := u.sums[*z.sum]; !ok {
			u.sums[*z.sum] = z
		}
		return z
	}
	// The high half of a sum, with the carry of the low one.
	if k.wide || k.args[2] != ir.NoID {
		refuse("a carry of 64 bits")
	}
	high := [2]ir.ID{x, ir.NoID}
	if xv := u.val(x); xv.sum != nil && xv.node < 0 {
		high = *xv.sum
	}
	w := u.wide(k.args[0], k.args[1], high[0], high[1])
	s := &aval{node: w.sum, wide: true}
	if lo := u.sums[[2]ir.ID{k.args[0], k.args[1]}]; lo != nil && lo.of == nil {
		lo.of, lo.sum = s, nil
	}
	return &aval{node: -1, of: s, hi: true}
}

// wide is the sum of 64-bit values in halves: a + b of the low ones, c + d of the high ones; d may be absent. In which order the halves come does not matter to the sum.
func (u *affine) wide(a, b, c, d ir.ID) *awide {
	key := [4]ir.ID{a, b, c, d}
	if w := u.wides[key]; w != nil {
		return w
	}
	lo := [2]*aval{u.val(a), u.val(b)}
	hi := [2]*aval{u.val(c), {node: u.num(0)}}
	if d != ir.NoID {
		hi[1] = u.val(d)
	}
	halves := func(x, y *aval) bool { return x.of != nil && x.of == y.of && !x.hi && y.hi }
	adjacent := func(x, y *aval) bool {
		if x.node < 0 || y.node < 0 {
			return false
		}
		m, n := &u.nodes[x.node], &u.nodes[y.node]
		k, ok := u.constant(x.node)
		z, zok := u.constant(y.node)
		return m.op == anU32 && n.op == anU32 && n.rm == m.rm.Add(4) || ok && zok && z == 0 && k <= low32
	}
	fits := func(x, y *aval) bool { return halves(x, y) || adjacent(x, y) }
	if !fits(lo[0], hi[0]) && !fits(lo[1], hi[1]) && (fits(lo[0], hi[1]) || fits(lo[1], hi[0])) {
		hi[0], hi[1] = hi[1], hi[0]
	}
	w := &awide{x: u.node(u.pair(lo[0], hi[0])), y: u.node(u.pair(lo[1], hi[1]))}
	w.sum = u.bin(anAdd, w.x, w.y)
	u.wides[key] = w
	return w
}

// pair makes a 64-bit value of its halves.
func (u *affine) pair(lo, hi *aval) *aval {
	if lo.of != nil && lo.of == hi.of && !lo.hi && hi.hi {
		return lo.of
	}
	a, b := u.node(lo), u.node(hi)
	m, n := u.nodes[a], u.nodes[b]
	if m.op == anU32 && n.op == anU32 && n.rm == m.rm.Add(4) {
		return &aval{node: u.put(anode{op: anU64, rm: m.rm}), wide: true}
	}
	u.guard(guardMono, a, 0, 0)
	u.zero(b)
	if m.op == anIn && n.op == anIn {
		return &aval{node: u.put(anode{op: anInPair, a: m.a, b: n.a}), wide: true}
	}
	return &aval{node: u.bin(anOr, a, u.shift(anShl, b, 32)), wide: true}
}

// lanes is a lane mask.
func (u *affine) lanes(id ir.ID) *amask {
	if m := u.masks[id]; m != nil {
		return m
	}
	c := u.c
	m := &amask{}
	switch v := c.f.V(id); {
	case c.fullMask(id) || id == u.full:
		m.full = true
	case v.Op == ir.OpMGet && v.Imm == isa.SRegEXECLo && !u.inside[id]:
		u.mask(id)
		m.full = true
	case v.Op == ir.OpMAnd:
		m = u.lanes(v.Args[0])
		if m.full {
			m = u.lanes(v.Args[1])
		} else if !u.lanes(v.Args[1]).full {
			refuse("logic on masks")
		}
	case v.Op == ir.OpCarryAdd && v.Type == ir.M:
		m.args = [3]ir.ID{v.Args[0], v.Args[1], ir.NoID}
		if len(v.Args) > 2 {
			m.args[2] = v.Args[2]
		}
		t := func(id ir.ID) bool { x := c.f.V(id).Type; return x == ir.V64 || x == ir.S64 }
		m.wide = t(m.args[0]) || t(m.args[1])
	default:
		refuse("a mask by %v", v.Op)
	}
	u.masks[id] = m
	return m
}

// flag has a lane mask written to rm.
func (u *affine) flag(id ir.ID, rm x86.RM) {
	m := u.lanes(id)
	if m.full {
		refuse("EXEC in another register") // nothing asks for it
	}
	var f aflag
	switch {
	case m.args[2] != ir.NoID:
		// Of the high halves, with that of the low ones.
		in := u.lanes(m.args[2])
		if in.full || in.wide || m.wide || in.args[2] != ir.NoID {
			refuse("a carry of 64 bits")
		}
		w := u.wide(in.args[0], in.args[1], m.args[0], m.args[1])
		f = aflag{x: w.x, sum: w.sum, wide: true}
		u.guard(guardMono, w.x, 0, 0)
		u.guard(guardMono, w.y, 0, 0)
	case m.wide:
		x, y := u.of(m.args[0]), u.of(m.args[1])
		u.guard(guardMono, x, 0, 0)
		u.guard(guardMono, y, 0, 0)
		f = aflag{x: x, sum: u.bin(anAdd, x, y), wide: true}
	default:
		x, y := u.ext(u.val(m.args[0])), u.ext(u.val(m.args[1]))
		f = aflag{x: x, sum: u.bin(anAdd, x, y)}
	}
	f.rm = rm
	u.guard(guardCarry, f.sum, 0, len(u.flags))
	u.flags = append(u.flags, f)
}

// load evaluates the address of a load.
func (u *affine) load(id ir.ID) {
	c := u.c
	v := c.f.V(id)
	off := u.val(v.Args[1])
	n := 0
	if off.wide {
		n = u.node(off)
	} else {
		n = u.ext(off)
	}
	if b := v.Args[0]; b != ir.NoID {
		if c.f.V(b).Type != ir.S64 {
			refuse("a base")
		}
		n = u.bin(anAdd, n, u.of(b))
	}
	n = u.bin(anAdd, n, u.num(uint64(int64(int32(v.Imm)))))
	if u.bound(n) == 0 {
		refuse("one address for all lanes")
	}
	u.guard(guardStep, n, 0, 15*int(v.Width))
	u.loads = append(u.loads, aload{id: id, node: n, to: make([][]adst, v.Width/4)})
}

// write has a value written to rm.
func (u *affine) write(x *aval, rm x86.RM) {
	if x.load != nil {
		x.load.to[x.part] = append(x.load.to[x.part], adst{rm})
		return
	}
	if x.node < 0 && x.of != nil {
		// A half is written from the whole value.
		n := u.node(x.of)
		if x.hi {
			u.guard(guardHigh, n, 0, 0)
		}
	} else {
		u.node(x)
	}
	u.writes = append(u.writes, awrite{x, rm})
}
