package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
)

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

// write is an overwriting of architectural registers: lo ≤ n < hi of the scalar or vector file.
type write struct {
	key    int64
	lo, hi uint64
	vec    bool
}

// planner cuts a block into segments.
type planner struct {
	c          *compiler
	scalar     []ir.ID
	vector     []ir.ID
	pending    map[ir.ID]bool // defined in vector
	vset       map[uint64]bool
	mset       map[uint64]bool // scalar registers written in vector
	load       bool            // LDS loads in vector
	store      bool
	writes     []write
	uses       map[int32]int64 // last use of each component
	vgetFree   []ir.ID
	definition map[ir.ID]bool
}

func (c *compiler) plan() {
	b := c.b
	// Dead values first: uses from the end backwards.
	for _, id := range b.Code {
		c.vals[id] = value{}
	}
	c.useTerm(func(id ir.ID) { c.vals[id].uses++ })
	for i := len(b.Code) - 1; i >= 0; i-- {
		id := b.Code[i]
		v := c.v(id)
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
	p := planner{c: c, pending: map[ir.ID]bool{}, vset: map[uint64]bool{}, mset: map[uint64]bool{}}
	for _, id := range b.Code {
		if !c.vals[id].dead {
			p.add(id)
		}
	}
	p.close()
	c.layout(&p)
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

func (p *planner) dependsOnVector(v *ir.Value) bool {
	for _, a := range v.Args {
		if a != ir.NoID && p.pending[a] {
			return true
		}
	}
	lo, hi := p.c.regs(v)
	for n := lo; n < hi; n++ {
		if p.mset[n] {
			return true
		}
	}
	return false
}

func (p *planner) add(id ir.ID) {
	c := p.c
	v := c.v(id)
	cl := c.classify(v)
	if cl == classVector && v.Type == ir.M || v.Op == ir.OpMSet {
		// Mask logic is done where its operands are.
		vec := cl == classVector
		if v.Op == ir.OpMAnd || v.Op == ir.OpMOr || v.Op == ir.OpMXor || v.Op == ir.OpMNot || v.Op == ir.OpMSet {
			vec = false
			for _, a := range v.Args {
				vec = vec || p.pending[a]
			}
		}
		cl = classScalar
		if vec {
			cl = classVector
		}
	}
	switch cl {
	case classFree:
		for _, a := range v.Args {
			if a != ir.NoID && p.pending[a] {
				p.pending[id] = true
			}
		}
	case classScalar:
		if p.dependsOnVector(v) {
			p.close()
		}
		p.scalar = append(p.scalar, id)
	case classVector:
		if v.Op == ir.OpVGet && !p.vset[v.Imm] {
			// Reads the home whenever it is wanted.
			c.vals[id].key = key(len(c.segs), 0)
			p.vgetFree = append(p.vgetFree, id)
			return
		}
		if v.Op == ir.OpLoad { // LDS
			if p.store {
				p.close()
			}
			p.load = true
		}
		if v.Op == ir.OpStore {
			if p.store || p.load {
				p.close()
			}
			p.store = true
		}
		if v.Op == ir.OpVSet {
			p.vset[v.Imm] = true
			if v.Args[0] >= 0 && (c.v(v.Args[0]).Type == ir.V64 || c.v(v.Args[0]).Type == ir.S64) {
				p.vset[v.Imm+1] = true
			}
		}
		if v.Op == ir.OpMSet {
			lo, hi := c.regs(v)
			for n := lo; n < hi; n++ {
				p.mset[n] = true
			}
		}
		p.pending[id] = true
		p.vector = append(p.vector, id)
	case classWave:
		p.close()
		c.segs = append(c.segs, segment{segWave, []ir.ID{id}})
	}
}

// close ends the current pair of scalar run and region.
func (p *planner) close() {
	c := p.c
	if len(p.scalar) > 0 {
		c.segs = append(c.segs, segment{segScalar, p.scalar})
		p.scalar = nil
	}
	if len(p.vector) > 0 {
		c.segs = append(c.segs, segment{segVector, p.vector})
		p.vector = nil
		clear(p.pending)
		clear(p.vset)
		clear(p.mset)
	}
	p.load, p.store = false, false
}

// newComp adds a component of value id.
func (c *compiler) newComp(id ir.ID, kind compKind, wide bool) int32 {
	c.comps = append(c.comps, comp{id: id, kind: kind, wide: wide, slot: -1, home: -1, last: -1})
	return int32(len(c.comps) - 1)
}

// components makes the component list of a value.
func (c *compiler) components(id ir.ID) []int32 {
	v := c.v(id)
	start := len(c.slab)
	add := func(k ...int32) { c.slab = append(c.slab, k...) }
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
	case v.Type == ir.V32:
		add(c.newComp(id, compZ, false))
	case v.Type == ir.V64:
		add(c.newComp(id, compZ, true), c.newComp(id, compZ, true))
	case v.Type == ir.M:
		add(c.newComp(id, compK, false))
	case v.Type == ir.S1 || v.Type == ir.S32:
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

// layout makes components, finds each one's last use, and decides which values are read from their homes.
func (c *compiler) layout(p *planner) {
	if n := 2 * len(c.b.Code) * 4; cap(c.slab) < n {
		c.slab = make([]int32, 0, n) // components hold slices of it
	}
	for _, id := range c.b.Code {
		if !c.vals[id].dead {
			c.vals[id].comps = c.components(id)
		}
	}
	last := make([]int64, len(c.comps))
	use := func(id ir.ID, k int64) {
		for _, m := range c.vals[id].comps {
			last[m] = max(last[m], k)
		}
	}
	var writes []write
	for s := range c.segs {
		for i, id := range c.segs[s].ops {
			v := c.v(id)
			k := key(s, i+1)
			c.vals[id].key = k
			for _, m := range c.vals[id].comps {
				if c.comps[m].id == id {
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
				writes = append(writes, write{k, lo, hi, false})
			case ir.OpVSet:
				writes = append(writes, write{k, v.Imm, v.Imm + 1, true})
			}
		}
	}
	if c.homes == nil {
		c.homes = map[int32][]int32{}
	}
	clear(c.homes)
	end := key(len(c.segs), 1)
	c.useTerm(func(id ir.ID) { use(id, end) })
	for i := range c.comps {
		c.comps[i].last = int32(last[i] >> 32)
	}
	for _, id := range c.b.Code {
		v := c.v(id)
		if c.vals[id].dead || !isGet(v.Op) {
			continue
		}
		m := &c.comps[c.vals[id].comps[0]]
		if v.Op == ir.OpVGet {
			m.home = offV + int32(v.Imm)*int32(c.lanes)*4
			c.homes[m.home] = append(c.homes[m.home], c.vals[id].comps[0])
			continue
		}
		lo, hi := c.regs(v)
		m.home = offS + int32(lo)*4
		for _, w := range writes {
			if !w.vec && w.key > c.vals[id].key && w.key < last[c.vals[id].comps[0]] && w.lo < hi && lo < w.hi {
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
