package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// vgprs is more than there are vector registers, with the AccVGPRs and room for a pair.
const vgprs = 516

// class says where an operation is done.
type class uint8

const (
	classFree   class = iota // no code of its own: constants, tuples
	classScalar              // general registers
	classVector              // in a region, lane by lane
	classWave                // whole wave at once
)

// key orders definitions and uses: segment, then position in it.
func key(seg, pos int) int64 { return int64(seg)<<32 | int64(pos) }

// write is an overwriting of scalar registers lo ≤ n < hi.
type write struct {
	key    int64
	lo, hi uint64
}

// planner cuts a block into segments.
type planner struct {
	c      *compiler
	scalar []ir.ID
	vector []ir.ID
	turn   int32 // value.pending of what is defined in vector; above those of earlier blocks
	vset   [vgprs]int32
	mset   [isa.NumSRegs + 2]int32 // the turn in which vector last writes each VGPR and each scalar register
	load   bool                    // LDS loads in vector
	store  bool
	env    uint32 // floating-point environment of vector, when set
	envSet bool
}

// The compiler's own operations.
const (
	opToQ  = ir.NumOps + iota // halves of a 64-bit vector value to qwords
	opToP                     // qwords to halves
	opAddK                    // (V32, M): plus one in the mask's lanes
	opSubK                    // minus one
)

// needsQ tells whether a region's operation works on qwords: then its 64-bit vector arguments, and a result of 64 bits,
// are in that form; others take and give halves. Where it does not matter, both is true.
func (c *compiler) needsQ(v *ir.Value) (q, both bool) {
	w := v.Type == ir.V64
	for _, a := range v.Args {
		w = w || a != ir.NoID && c.v(a).Type == ir.V64
	}
	if !w {
		switch v.Op {
		case ir.OpMulU64, ir.OpMulS64:
			return true, false
		}
		return false, false
	}
	switch v.Op {
	case ir.OpSelect:
		return false, true
	case ir.OpFNeg, ir.OpFAbs:
		return false, true
	case ir.OpMulU64, ir.OpMulS64, ir.OpMul, ir.OpMinU, ir.OpMaxU, ir.OpMinS, ir.OpMaxS, ir.OpAbs:
		return true, false
	case ir.OpShl, ir.OpLShr, ir.OpAShr:
		_, ok := c.isConst(v.Args[1])
		return !ok, false
	case ir.OpICmp:
		return v.Pred != ir.EQ && v.Pred != ir.NE, false
	}
	return v.Op.Float(), false
}

// forms makes the 64-bit vector arguments of id have the form it wants, and notes that of its result.
func (p *planner) forms(id ir.ID, cl class) *ir.Value {
	c := p.c
	v := c.v(id)
	q, both := false, false
	if cl == classVector {
		if q, both = c.needsQ(v); both {
			q = true
			for i, a := range v.Args {
				if v.Op == ir.OpSelect && i == 0 {
					continue
				}
				if _, ok := c.isConst(a); !ok && c.v(a).Type == ir.V64 {
					q = q && c.vals[a].q
				}
			}
		}
	}
	c.vals[id].q = q && v.Type == ir.V64
	if v.Op == ir.OpZext64 && v.Type == ir.V64 && c.zero == ir.NoID {
		c.zero = c.add(ir.Value{Op: ir.OpConst, Type: ir.V32})
	}
	copied := false
	for i, a := range v.Args {
		if a == ir.NoID || c.v(a).Type != ir.V64 || c.vals[a].q == q {
			continue
		}
		if _, ok := c.isConst(a); ok {
			continue
		}
		x := c.vals[a].conv
		if x == 0 {
			op := opToQ
			if !q {
				op = opToP
			}
			x = c.add(ir.Value{Op: op, Type: ir.V64, Args: c.ids(a), PC: v.PC})
			c.vals[x].q = q
			c.vals[a].conv = x
			c.code = append(c.code, x)
			c.vals[x].pending = p.turn
			p.vector = append(p.vector, x)
		}
		if !copied {
			w := c.newValue(*v)
			w.Args = c.ids(v.Args...)
			v, copied = w, true
			c.replace(id, v)
		}
		v.Args[i] = x
	}
	return v
}

func (c *compiler) plan() {
	b := c.b
	carries, bits := false, false
	for _, id := range b.Code {
		c.vals[id] = value{}
		switch v := c.v(id); v.Op {
		case ir.OpVGet, ir.OpVSet:
			c.p.regs.Use(int(v.Imm))
		case ir.OpCarryAdd:
			carries = true
		case ir.OpMToV:
			bits = true
		case ir.OpLoad, ir.OpStore:
			if v.Space == ir.LDS && !c.m.Quick {
				c.foldOffset(id, v)
			}
		}
	}
	if carries || bits {
		c.simplify(carries)
	}
	// Dead values first: uses from the end backwards.
	c.useTerm(func(id ir.ID) { c.vals[id].uses++ })
	c.writes.begin(c)
	for i := len(b.Code) - 1; i >= 0; i-- {
		id := b.Code[i]
		v := c.v(id)
		c.writes.at = int32(i)
		if c.writes.dead(id, v) {
			c.vals[id].dead = true
			continue
		}
		if c.vals[id].uses == 0 && (v.Op.Pure() || isGet(v.Op) || v.Op == ir.OpLoad && v.Space == ir.LDS) {
			c.vals[id].dead = true
			continue
		}
		for _, a := range v.Args {
			if a != ir.NoID {
				c.vals[a].uses++
			}
		}
	}
	c.findScopes()
	p := &c.pl
	p.c, p.scalar, p.vector = c, p.scalar[:0], p.vector[:0]
	c.gets = c.gets[:0]
	p.turn++ // of the last block's nothing counts
	p.load, p.store, p.env, p.envSet = false, false, 0, false
	cut := ir.NoID
	if s := c.affineSpot(); s != nil {
		cut = s.last
	}
	for _, id := range b.Code {
		if !c.vals[id].dead {
			p.add(id)
		}
		if id == cut {
			p.close()
		}
	}
	p.close()
	c.layout()
}

func isGet(op ir.Op) bool {
	return op == ir.OpSGet || op == ir.OpSGet64 || op == ir.OpVGet || op == ir.OpMGet
}

func (c *compiler) useTerm(use func(ir.ID)) {
	t := &c.b.Term
	if t.Kind == ir.TermBranch || t.Kind == ir.TermExit && t.Exit == ir.ExitIndirect {
		use(t.Cond)
	}
}

// regs gives the scalar registers that a state operation touches.
func (c *compiler) regs(v *ir.Value) (lo, hi uint64) {
	switch v.Op {
	case ir.OpSGet, ir.OpSSet:
		return v.Imm, v.Imm + 1
	case ir.OpSGet64, ir.OpSSet64:
		return v.Imm, v.Imm + 2
	case ir.OpMGet, ir.OpMSet:
		return v.Imm, v.Imm + uint64(c.lanes/32)
	}
	return 0, 0
}

// argTypes tells whether v has arguments that differ from lane to lane, and such of 64 bits.
func (c *compiler) argTypes(v *ir.Value) (vec, wide bool) {
	for _, a := range v.Args {
		if a != ir.NoID {
			switch c.v(a).Type {
			case ir.V64:
				vec, wide = true, true
			case ir.V32, ir.T:
				vec = true
			}
		}
	}
	return vec, wide
}

func (p *planner) dependsOnVector(v *ir.Value) bool {
	for _, a := range v.Args {
		if a != ir.NoID && p.c.vals[a].pending == p.turn {
			return true
		}
	}
	return p.written(v)
}

// written tells whether vector writes a scalar register that v reads or writes.
func (p *planner) written(v *ir.Value) bool {
	lo, hi := p.c.regs(v)
	for n := lo; n < hi; n++ {
		if p.mset[n] == p.turn {
			return true
		}
	}
	return false
}

func (p *planner) add(id ir.ID) {
	c := p.c
	v := c.v(id)
	if spreads[v.Op] {
		p.spread(id)
		v = c.v(id)
	}
	vec, wide := c.argTypes(v)
	cl := c.classWith(v, vec)
	if c.isForeign(id) {
		cl = classWave
	}
	if wide || v.Type == ir.V64 {
		v = p.forms(id, cl)
	}
	c.code = append(c.code, id)
	if isGet(v.Op) {
		c.gets = append(c.gets, id)
	}
	if cl == classVector && v.Type == ir.M || v.Op == ir.OpMSet {
		// Mask logic is done where its operands are.
		vec := cl == classVector
		if v.Op == ir.OpMAnd || v.Op == ir.OpMOr || v.Op == ir.OpMXor || v.Op == ir.OpMNot || v.Op == ir.OpMSet {
			vec = false
			for _, a := range v.Args {
				vec = vec || a != ir.NoID && c.vals[a].pending == p.turn
			}
		}
		cl = classScalar
		if vec && v.Op == ir.OpMSet && p.written(v) {
			p.close() // each register's last write must stand, and a region goes strip by strip
			vec = false
		}
		if vec {
			cl = classVector
		}
	}
	switch cl {
	case classFree:
		for _, a := range v.Args {
			if a != ir.NoID && c.vals[a].pending == p.turn {
				c.vals[id].pending = p.turn
			}
		}
	case classScalar:
		if p.dependsOnVector(v) {
			p.close()
		}
		p.scalar = append(p.scalar, id)
	case classVector:
		if v.Op == ir.OpVGet && p.vset[v.Imm] != p.turn {
			// Reads the home whenever it is wanted.
			c.vals[id].key = key(len(c.segs), 0)
			return
		}
		if env, sensitive, _ := floatEnv(v); sensitive {
			if p.envSet && p.env != env {
				p.close()
			}
			p.env, p.envSet = env, true
		}
		if v.Op == ir.OpLoad { // LDS
			if p.store {
				p.close()
			}
			p.load = true
		}
		if v.Op == ir.OpStore && !c.m.Quick && !c.m.AVX2 && c.v(v.Args[2]).Type == ir.M {
			p.addStore(id, v)
			return
		}
		if v.Op == ir.OpStore {
			if p.store || p.load {
				p.close()
			}
			p.store = true
		}
		if v.Op == ir.OpVSet {
			p.vset[v.Imm] = p.turn
		}
		if v.Op == ir.OpMSet {
			lo, hi := c.regs(v)
			for n := lo; n < hi; n++ {
				p.mset[n] = p.turn
			}
		}
		c.vals[id].pending = p.turn
		p.vector = append(p.vector, id)
	case classWave:
		p.close()
		c.segs = append(c.segs, segment{segWave, c.ids(id)})
	}
}

// close ends the current pair of scalar run and region.
func (p *planner) close() {
	c := p.c
	if len(p.scalar) > 0 {
		c.segs = append(c.segs, segment{segScalar, c.ids(p.scalar...)})
		p.scalar = p.scalar[:0]
	}
	if len(p.vector) > 0 {
		c.segs = append(c.segs, segment{segVector, c.ids(p.vector...)})
		p.vector = p.vector[:0]
		p.turn++
	}
	p.load, p.store, p.envSet = false, false, false
}

// newComp adds a component of value id.
func (c *compiler) newComp(id ir.ID, kind compKind, wide bool) int32 {
	c.comps = append(c.comps, comp{id: id, kind: kind, wide: wide, slot: -1, home: -1, last: -1, of: -1})
	return int32(len(c.comps) - 1)
}

// ofOthers are the operations whose results may have components of other values, or none.
var ofOthers = [256]bool{ir.OpConst: true, ir.OpUndef: true, ir.OpPC: true, ir.OpLaneID: true, ir.OpSplat: true, ir.OpElem: true, ir.OpTuple: true,
	ir.OpPair: true, ir.OpLo: true, ir.OpHi: true, ir.OpZext64: true, ir.OpSext64: true, ir.OpFNeg: true, ir.OpFAbs: true}

// components makes the component list of a value.
func (c *compiler) components(id ir.ID) []int32 {
	v := c.v(id)
	start := len(c.slab)
	if !ofOthers[v.Op] { // most
		one := int32(-1)
		switch v.Type {
		case ir.V32:
			one = c.newComp(id, compZ, false)
		case ir.M:
			one = c.newComp(id, compK, false)
		case ir.S1, ir.S32:
			one = c.newComp(id, compG, false)
		case ir.S64:
			one = c.newComp(id, compG, true)
		case ir.Void:
			return nil
		}
		if one >= 0 {
			c.slab = append(c.slab, one)
			return c.slab[start:len(c.slab):len(c.slab)]
		}
	}
	add := func(k ...int32) { c.slab = append(c.slab, k...) }
	// half is component i of a per-lane value in halves, or of a constant or uniform one that stands for it.
	half := func(a ir.ID, i int) int32 {
		ks := c.vals[a].comps
		if len(ks) == 0 {
			k := c.newComp(a, compG, false)
			c.comps[k].shr = uint8(32 * i)
			return k
		}
		if i == 1 && len(ks) == 1 && c.comps[ks[0]].wide { // of a uniform value that stands for a vector
			k := c.newComp(a, compG, false)
			c.comps[k].of, c.comps[k].shr, c.comps[k].def = ks[0], 32, -1
			return k
		}
		return ks[min(i, len(ks)-1)]
	}
	switch {
	case v.Op == ir.OpConst || v.Op == ir.OpUndef && v.Type != ir.T && v.Type != ir.TS || v.Op == ir.OpPC:
	case v.Op == ir.OpLaneID: // a table in the frame
		k := c.newComp(id, compZ, false)
		c.comps[k].slot, c.comps[k].def = frameLane, -1
		add(k)
	case v.Op == ir.OpSplat:
		add(c.vals[v.Args[0]].comps...)
	case v.Op == ir.OpElem:
		t := c.vals[v.Args[0]].comps
		if int(v.Imm) < len(t) {
			add(t[v.Imm])
		}
	case v.Op == ir.OpTuple:
		for _, a := range v.Args {
			k := c.vals[a].comps
			if len(k) == 0 {
				// A constant element gets a component so that tuples are uniform; it is read as a constant.
				k = []int32{c.newComp(a, compG, false)}
			}
			add(k...)
		}
	case v.Op == ir.OpPair && v.Type == ir.V64:
		add(half(v.Args[0], 0), half(v.Args[1], 0))
	case v.Op == ir.OpLo && v.Type == ir.V32:
		add(half(v.Args[0], 0))
	case v.Op == ir.OpHi && v.Type == ir.V32:
		add(half(v.Args[0], 1))
	case v.Op == ir.OpZext64 && v.Type == ir.V64:
		add(half(v.Args[0], 0), c.newComp(c.zero, compG, false))
	case v.Op == ir.OpSext64 && v.Type == ir.V64:
		add(half(v.Args[0], 0), c.newComp(id, compZ, false))
	case (v.Op == ir.OpFNeg || v.Op == ir.OpFAbs) && v.Type == ir.V64 && !c.vals[id].q:
		add(half(v.Args[0], 0), c.newComp(id, compZ, false))
	case v.Type == ir.V64:
		w := c.vals[id].q
		add(c.newComp(id, compZ, w), c.newComp(id, compZ, w))
	case v.Type == ir.V32:
		add(c.newComp(id, compZ, false))
	case v.Type == ir.S32:
		add(c.newComp(id, compG, false))
	case v.Type == ir.S64:
		add(c.newComp(id, compG, true))
	case v.Type == ir.T:
		for range v.N {
			add(c.newComp(id, compZ, false))
		}
	case v.Type == ir.TS:
		for range v.N {
			add(c.newComp(id, compG, false))
		}
	}
	return c.slab[start:len(c.slab):len(c.slab)]
}

// addHome notes that component k is read from the home of VGPR n.
func (c *compiler) addHome(n uint64, k int32) {
	if len(c.homes[n]) == 0 {
		c.homed = append(c.homed, n)
	}
	c.homes[n] = append(c.homes[n], k)
}

// layout makes components, finds each one's last use, and decides which values are read from their homes.
func (c *compiler) layout() {
	if n := 8 * len(c.code); cap(c.slab) < n {
		c.slab = make([]int32, 0, n) // components hold slices of it
	}
	for _, id := range c.code {
		c.vals[id].comps = c.components(id)
	}
	last := append(c.lastUse[:0], make([]int64, len(c.comps))...)
	c.lastUse = last
	use := func(id ir.ID, k int64) {
		for _, m := range c.vals[id].comps {
			last[m] = max(last[m], k)
		}
	}
	writes := c.layoutWrites[:0]
	for s := range c.segs {
		for i, id := range c.segs[s].ops {
			v := c.v(id)
			k := key(s, i+1)
			c.vals[id].key = k
			for _, m := range c.vals[id].comps {
				if c.comps[m].id == id && c.comps[m].of < 0 {
					c.comps[m].def = int32(s)
				}
			}
			for _, a := range v.Args {
				if a != ir.NoID {
					use(a, k)
				}
			}
			switch v.Op {
			case ir.OpSSet, ir.OpSSet64, ir.OpMSet:
				lo, hi := c.regs(v)
				writes = append(writes, write{k, lo, hi})
			}
		}
	}
	c.layoutWrites = writes
	for _, n := range c.homed {
		c.homes[n] = c.homes[n][:0]
	}
	c.homed = c.homed[:0]
	end := key(len(c.segs), 1)
	c.useTerm(func(id ir.ID) { use(id, end) })
	for i := range c.comps {
		if p := c.comps[i].of; p >= 0 {
			last[p] = max(last[p], last[i])
		}
	}
	for i := range c.comps {
		c.comps[i].last = int32(last[i] >> 32)
	}
	for _, id := range c.gets {
		v := c.v(id)
		m := &c.comps[c.vals[id].comps[0]]
		if v.Op == ir.OpVGet {
			m.home = offV + int32(v.Imm)*int32(c.lanes)*4
			c.addHome(v.Imm, c.vals[id].comps[0])
			continue
		}
		lo, hi := c.regs(v)
		m.home = offS + int32(lo)*4
		until := last[c.vals[id].comps[0]]
		if m.kind == compG {
			// A write of a mask in the region of the last use happens strip by strip, before later strips read.
			until |= 1<<32 - 1
		}
		for _, w := range writes {
			if w.key > c.vals[id].key && w.key < until && w.lo < hi && lo < w.hi {
				m.home = -1
				break
			}
		}
	}
	for len(c.expire) < len(c.segs) {
		c.expire = append(c.expire, nil)
	}
	for i := range c.expire {
		c.expire[i] = c.expire[i][:0]
	}
}
