package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// Fixed registers.
const (
	rState = x86.RDI
	rFrame = x86.RSI
	rMask  = x86.R10 // strip·2 inside a region
	rStrip = x86.R11 // strip·64 inside a region
)

const noReg = int8(-1)

// owner values of a register that holds no component.
const (
	ownFree = int32(-1)
	ownTemp = int32(-2)
	ownHeld = int32(-3) // for the whole region
)

// maxU is the largest number of strips in flight.
const maxU = 4

// region allocates registers inside one vector region. A component's copy for strip-in-flight u is named comp*maxU+u.
type region struct {
	c       *compiler
	u       int // strips in flight
	loop    bool
	pos     int
	ops     []ir.ID
	uses    []usage // by component
	nodes   []useNode
	dying   []int32    // components that the region does not use again
	dies    []listSpan // by position in ops: those of dying whose last use it is
	copies  []compCopy // by component·maxU + strip in flight
	touched []int32    // components with anything in uses or copies
	zown    [32]int32
	kown    [8]int32
	zpin    uint32
	kpin    uint8
	full    ir.ID // mask that is known to be all ones in this version of the region, or NoID
	classes []ldsClass
	keep    bool  // the strips are gone through once, one after the other: what LDS loads give for the first one may be kept
	keeping int32 // bytes of frame for that
	wholes  []wholeMask
	nears   []near
	tiles   []tile          // of the LDS loads, in a version of the region for their kinds
	kept    map[ir.ID]int32 // where loads with addresses of tileSame are in the frame
}

// usage is where a region uses a component.
type usage struct {
	first int32 // use in nodes that is not passed
	adopt int32 // position of the write that gives it a register's home, plus one; or 0
	held  bool  // it is used behind the last operation
	far   farPlace
}

// compCopy is where a component is in one strip in flight.
type compCopy struct {
	z, k   int8 // register, or noReg
	stored bool // it is in its slot
}

var (
	nowhere     = compCopy{z: noReg, k: noReg}
	nowhereEach = [maxU]compCopy{nowhere, nowhere, nowhere, nowhere}
)

// vectorSegment emits a region, looped over the strips. When many writes hang on one mask, there are two versions: for
// all lanes active and for any mask.
func (c *compiler) vectorSegment(ops []ir.ID) {
	a := &c.a
	m := ir.NoID
	if !c.m.Quick {
		m = c.commonMask(ops)
	}
	if m == ir.NoID {
		if m = c.constMask(ops); m == ir.NoID {
			c.region(ops, ir.NoID, nil)
			return
		}
		c.saveComps()
		done := a.NewLabel()
		c.tileVersions(ops, m, done)
		c.region(ops, m, nil)
		a.Bind(done)
		return
	}
	c.saveComps()
	any, done := a.NewLabel(), a.NewLabel()
	a.AluI(x86.CMP, c.lanes/8, c.memOf(c.vals[m].comps[0]), -1)
	a.Jcc(x86.NE, any)
	c.tileVersions(ops, m, done)
	c.region(ops, m, nil)
	a.Jmp(done)
	a.Bind(any)
	c.restoreComps()
	c.region(ops, ir.NoID, nil)
	a.Bind(done)
}

// constMask is the mask of a region's loads if it is known to be full, as that of all its operations is then.
func (c *compiler) constMask(ops []ir.ID) ir.ID {
	if c.m.Quick {
		return ir.NoID
	}
	for _, id := range ops {
		if v := c.v(id); v.Op == ir.OpLoad && c.fullMask(v.Args[2]) { // LDS
			return v.Args[2]
		}
	}
	return ir.NoID
}

// saveComps remembers what emitting a region changes of the components, and restoreComps undoes it, for another version of the region.
func (c *compiler) saveComps() {
	before := c.savedComps[:0]
	for i := range c.comps {
		before = append(before, savedComp{c.comps[i].home, c.comps[i].def})
	}
	c.savedComps = before
}

func (c *compiler) restoreComps() {
	for i, x := range c.savedComps {
		c.comps[i].home, c.comps[i].def = x.home, x.def
	}
}

// savedComp is what emitting a region changes of a component.
type savedComp struct{ home, def int32 }

// commonMask is the mask that most register writes of a region use, when it is worth a version of its own.
func (c *compiler) commonMask(ops []ir.ID) ir.ID {
	best, n := ir.NoID, 0
	// A region has few masks.
	type counted struct {
		m ir.ID
		n int
	}
	var room [8]counted
	count := room[:0]
	for _, id := range ops {
		v := c.v(id)
		m, weight := ir.NoID, 1
		switch v.Op {
		case ir.OpVSet:
			m = v.Args[1]
		case ir.OpStore: // LDS
			m, weight = v.Args[2], 3
		case ir.OpLoad: // of a tile
			m = v.Args[2]
		default:
			continue
		}
		if _, ok := c.isConst(m); ok || c.comps[c.vals[m].comps[0]].def >= c.seg {
			continue
		}
		i := 0
		for i < len(count) && count[i].m != m {
			i++
		}
		if i == len(count) {
			count = append(count, counted{m, 0})
		}
		if count[i].n += weight; count[i].n > n {
			best, n = m, count[i].n
		}
	}
	if n < 3 {
		return ir.NoID
	}
	return best
}

// region emits one version of a region: for any mask, for full with all lanes active, or moreover for loads of the kinds of tiles.
func (c *compiler) region(ops []ir.ID, full ir.ID, tiles []tile) {
	r, a := &c.r, &c.a
	if !c.m.Quick {
		ops = c.sinkLoads(ops)
	}
	r.c, r.ops, r.full, r.tiles = c, ops, full, tiles
	r.u = c.chooseU(ops)
	r.loop = r.u < c.strips
	r.keep = r.loop && r.u == 1 && full != ir.NoID && c.strips > 2
	r.begin()
	defer c.enterEnv(ops)()
	c.unmark()
	r.findBound()
	if !r.loop {
		r.body()
		return
	}
	a.Alu(x86.XOR, 4, rStrip, x86.R(rStrip))
	a.Alu(x86.XOR, 4, rMask, x86.R(rMask))
	r.startTiles()
	top := a.NewLabel()
	a.Bind(top)
	r.tileBases()
	r.body()
	a.AluI(x86.ADD, 8, x86.R(rStrip), int32(64*r.u))
	a.AluI(x86.ADD, 8, x86.R(rMask), int32(2*r.u))
	a.AluI(x86.CMP, 4, x86.R(rStrip), int32(64*c.strips))
	a.Jcc(x86.NE, top)
	for i := range r.wholes {
		r.storeWhole(&r.wholes[i])
	}
}

// begin makes the region's state what it is before its first operation.
func (r *region) begin() {
	r.reset()
	if len(r.tiles) == 0 {
		r.findClasses()
	}
	r.findAdopted()
	r.findWholes()
}

// body emits the operations for the strips in flight.
func (r *region) body() {
	c := r.c
	for i, id := range r.ops {
		r.pos = i
		v := c.v(id)
		r.prepare(id, v)
		for u := range r.u {
			r.zpin, r.kpin = 0, 0
			c.vectorOp(id, v, u)
			r.endOp(id, v, u)
		}
		if v.Op == ir.OpVSet {
			r.adopted(v)
		}
	}
}

func (r *region) reset() {
	r.wholes, r.nears = r.wholes[:0], r.nears[:0]
	// Only what the last region touched is not as it is to begin with.
	for _, k := range r.touched {
		r.uses[k] = usage{}
		*(*[maxU]compCopy)(r.copies[k*maxU:]) = nowhereEach
	}
	r.touched = r.touched[:0]
	for n := len(r.c.comps); len(r.uses) < n; {
		r.uses = append(r.uses, usage{})
		r.copies = append(r.copies, nowhere, nowhere, nowhere, nowhere)
	}
	for i := range r.zown {
		r.zown[i] = ownFree
	}
	for i := range r.kown {
		r.kown[i] = ownFree
	}
	r.nodes, r.dying = append(r.nodes[:0], useNode{pos: notUsed}), r.dying[:0]
	if cap(r.dies) < len(r.ops) {
		r.dies = make([]listSpan, len(r.ops), 2*len(r.ops))
	}
	r.dies = r.dies[:len(r.ops)]
	for i := len(r.ops) - 1; i >= 0; i-- {
		id := r.ops[i]
		lo := len(r.dying)
		for _, arg := range r.c.v(id).Args {
			if arg == ir.NoID {
				continue
			}
			for _, k := range r.c.vals[arg].comps {
				u := &r.uses[k]
				switch {
				case u.first == 0:
					r.touched = append(r.touched, k)
					r.dying = append(r.dying, k)
				case int(r.nodes[u.first].pos) == i:
					continue
				}
				r.nodes = append(r.nodes, useNode{int32(i), u.first})
				u.first = int32(len(r.nodes) - 1)
			}
		}
		r.dies[i] = listSpan{int32(lo), int32(len(r.dying))}
		r.touched = append(r.touched, r.c.vals[id].comps...)
	}
}

// useAtEnd notes that k is used at pos, behind the last operation.
func (r *region) useAtEnd(k, pos int32) {
	u := &r.uses[k]
	if u.held {
		return
	}
	u.held = true
	r.nodes = append(r.nodes, useNode{pos: pos})
	n := int32(len(r.nodes) - 1)
	if u.first == 0 {
		r.touched = append(r.touched, k)
		u.first = n
		return
	}
	last := u.first
	for r.nodes[last].next != 0 {
		last = r.nodes[last].next
	}
	r.nodes[last].next = n
}

// next is the position of k's next use after the current operation, or a far one.
func (r *region) next(k int32) int { return nextUse(r.nodes, &r.uses[k].first, r.pos) }

func (r *region) usedLater(k int32) bool { return r.next(k) < notUsed }

// inMem tells whether copy u of k can be read from memory.
func (r *region) inMem(k int32, u int) bool {
	m := &r.c.comps[k]
	return m.home >= 0 || m.def < r.c.seg || r.uses[k].far.is || r.copies[int(k)*maxU+u].stored
}

// vaddr is 64 bytes of a vector for strip u at base+off.
func (r *region) vaddr(base x86.Reg, off int32, u int) x86.RM {
	if r.loop {
		return x86.MX(base, rStrip, 1, off+int32(64*u))
	}
	return x86.M(base, off+int32(64*u))
}

// kaddr is 16 bits of a mask for strip u at base+off.
func (r *region) kaddr(base x86.Reg, off int32, u int) x86.RM {
	if r.loop {
		return x86.MX(base, rMask, 1, off+int32(2*u))
	}
	return x86.M(base, off+int32(2*u))
}

// zmem is where copy u of component k is in memory.
func (r *region) zmem(k int32, u int) x86.RM {
	if f := &r.uses[k].far; f.is {
		return f.at
	}
	m := &r.c.comps[k]
	if m.home >= 0 {
		return r.vaddr(rState, m.home, u)
	}
	return r.vaddr(rFrame, r.c.slot(k), u)
}

func (r *region) kmem(k int32, u int) x86.RM {
	m := &r.c.comps[k]
	if m.home >= 0 {
		return r.kaddr(rState, m.home, u)
	}
	return r.kaddr(rFrame, r.c.slot(k), u)
}

// findAdopted finds the values made here that are written to a register whose home can then stand for them, because
// nobody looks at the lanes that the write leaves out: they need no slot.
func (r *region) findAdopted() {
	c := r.c
	for i, id := range r.ops {
		v := c.v(id)
		if v.Op != ir.OpVSet {
			continue
		}
		ks := c.vals[v.Args[0]].comps
		if len(ks) == 0 {
			continue
		}
		m := &c.comps[ks[0]]
		if r.uses[ks[0]].adopt != 0 || m.kind != compZ || m.wide || m.home >= 0 || m.def != c.seg && !c.loaded(m) || m.shr != 0 {
			continue
		}
		if _, ok := c.compConst(ks[0]); ok {
			continue
		}
		if s := c.vals[m.id].scope; c.fullMask(v.Args[1]) || s == v.Args[1] {
			r.uses[ks[0]].adopt = int32(i) + 1
		}
	}
}

// loaded tells whether a component is what a load of global memory gave: its write makes the register's home as good as its slot.
func (c *compiler) loaded(m *comp) bool {
	v := c.v(m.id)
	return v.Op == ir.OpLoad && v.Space == ir.Global && m.def < c.seg
}

// adopted gives a value its home after the write v at the current position.
func (r *region) adopted(v *ir.Value) {
	c := r.c
	ks := c.vals[v.Args[0]].comps
	if len(ks) == 0 {
		return
	}
	if int(r.uses[ks[0]].adopt) != r.pos+1 {
		return
	}
	home := offV + int32(v.Imm)*int32(c.lanes)*4
	c.comps[ks[0]].home = home
	c.addHome(v.Imm, ks[0])
}
