package interp

import (
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// root is a piece of storage behind one or more names: a register of an operation's result, an architectural register
// read in place, or a constant.
type root struct {
	kind  rootKind
	vec   bool
	reg   int // VGPR or SGPR number
	width int // bytes of an SGPR view
	def   int // position of the operation that makes it
	last  int // position of its last use
	uses  int
	ref   ref
	x     uint64 // rootConst
}

type rootKind uint8

const (
	rootSlot rootKind = iota
	rootVGPR
	rootSGPR
	rootConst
)

// comp is one 32-bit register of a value, or a whole uniform value: a root, and an offset into it (the high half of an S64).
type comp struct {
	root int32
	off  uint8
}

// write is a register write.
type write struct {
	pos, reg, n int
}

type compiler struct {
	f     *ir.Func
	p     *program
	b     *ir.Block
	roots []root
	vals  map[ir.ID][]comp
	vw    []write // writes of VGPRs
	sw    []write // of SGPRs
	vr    []write // VGPR reads that copy
	skip  []bool  // positions that emit nothing
	dest  map[int32]fused
	out   *block

	consts map[constKey]ref
	splats map[comp]ref
	dies   map[int][]int32 // roots by position of last use

	freeV, freeS []ref
	topV, topS   int
	maxV, maxS   int
}

// fused says that a root lives in a VGPR written under a mask.
type fused struct {
	reg  int
	mask comp
}

type constKey struct {
	vec bool
	x   uint64
}

// compile makes the program of f. It never fails: what cannot be compiled becomes an instruction that leaves with
// ExitIllegal.
func compile(f *ir.Func) *program {
	p := &program{f: f, lanes: f.Lanes, full: ^uint64(0) >> (64 - uint(f.Lanes))}
	if err := ir.Verify(f); err != nil {
		p.bad = err.Error()
		return p
	}
	c := &compiler{f: f, p: p, consts: map[constKey]ref{}}
	p.blocks = make([]block, len(f.Blocks))
	for i, b := range f.Blocks {
		c.block(b, &p.blocks[i])
	}
	c.finish()
	return p
}

// Scalar slots come first in the frame, and their number is known only at the end, so vector slots are numbered from a
// fixed place: the scalar area is as large as the largest block of a program may need.
const maxScalars = 1 << 14

const vectorBase = scalarBase + maxScalars*8

func (c *compiler) finish() {
	c.p.frame = vectorBase + (c.maxV+1)*laneBytes
	// Vector constants were given offsets in order of appearance.
	c.p.consts = alignedWords(max(1, len(c.consts)) * 64)
	for k, r := range c.consts {
		w := c.p.consts[(r&offMask)/4:]
		if k.vec {
			for l := range 64 {
				w[l] = uint32(k.x)
			}
		} else {
			w[0], w[1] = uint32(k.x), uint32(k.x>>32)
		}
	}
}

func (c *compiler) constant(vec bool, x uint64) ref {
	k := constKey{vec, x}
	r, ok := c.consts[k]
	if !ok {
		r = baseConst | ref(len(c.consts)*laneBytes)
		c.consts[k] = r
	}
	return r
}

func (c *compiler) vgprRef(n int) ref { return baseWave | ref(wave.VGPROffset+n*c.f.Lanes*4) }

func sgprRef(n int) ref { return baseWave | ref(n*4) }

func (c *compiler) needVGPR(n int) { c.p.regs.Use(n) }

// block compiles b into out.
func (c *compiler) block(b *ir.Block, out *block) {
	n := len(b.Code)
	c.b, c.out = b, out
	c.roots, c.vals = c.roots[:0], make(map[ir.ID][]comp, n)
	c.vw, c.sw, c.vr = c.vw[:0], c.sw[:0], c.vr[:0]
	c.skip = make([]bool, n)
	c.dest = map[int32]fused{}
	c.splats = map[comp]ref{}
	c.dies = map[int][]int32{}
	c.freeV, c.freeS, c.topV, c.topS = c.freeV[:0], c.freeS[:0], 0, 0
	out.insts, out.pc, out.term = int64(b.Insts), c.f.PC+uint64(int64(int32(b.PC))), &b.Term

	for pos, id := range b.Code {
		c.scan(pos, id)
	}
	t := &b.Term
	if t.Kind == ir.TermBranch || t.Kind == ir.TermExit && t.Exit == ir.ExitIndirect {
		c.use(t.Cond, n)
	}
	c.forward()
	c.fuseWrites()
	for i := range c.roots {
		if r := &c.roots[i]; r.kind == rootSlot {
			c.dies[r.last] = append(c.dies[r.last], int32(i))
		}
	}
	for pos, id := range b.Code {
		if !c.skip[pos] {
			c.allocate(id)
			c.emit(id)
		}
		c.release(pos)
	}
	out.cond = noRef
	if t.Kind == ir.TermBranch || t.Kind == ir.TermExit && t.Exit == ir.ExitIndirect {
		out.cond = c.ref(c.vals[t.Cond][0])
	}
	out.back = [2]bool{t.Then <= b.Index, t.Else <= b.Index}
}

// newRoot adds a root and returns it as a comp.
func (c *compiler) newRoot(r root) comp {
	r.last = r.def
	c.roots = append(c.roots, r)
	return comp{root: int32(len(c.roots) - 1)}
}

// define gives v new storage made at pos.
func (c *compiler) define(id ir.ID, pos int) {
	v := c.f.V(id)
	var l []comp
	switch v.Type {
	case ir.Void:
		return
	case ir.S1, ir.S32, ir.S64, ir.M:
		l = []comp{c.newRoot(root{def: pos})}
	case ir.V32:
		l = []comp{c.newRoot(root{def: pos, vec: true})}
	case ir.V64:
		l = []comp{c.newRoot(root{def: pos, vec: true}), c.newRoot(root{def: pos, vec: true})}
	case ir.T:
		for range v.N {
			l = append(l, c.newRoot(root{def: pos, vec: true}))
		}
	case ir.TS:
		for range v.N {
			l = append(l, c.newRoot(root{def: pos}))
		}
	}
	c.vals[id] = l
}

func (c *compiler) use(id ir.ID, pos int) {
	if id == ir.NoID {
		return
	}
	for _, cp := range c.vals[id] {
		r := &c.roots[cp.root]
		r.uses++
		r.last = max(r.last, pos)
	}
}

// scan finds storage for value id at pos, and records what it reads and writes.
func (c *compiler) scan(pos int, id ir.ID) {
	v := c.f.V(id)
	alias := func(l ...comp) {
		c.vals[id] = l
		c.skip[pos] = true
	}
	arg := func(i int) []comp { return c.vals[v.Args[i]] }
	t := func(i int) ir.Type { return c.f.V(v.Args[i]).Type }
	switch v.Op {
	case ir.OpConst:
		switch v.Type {
		case ir.V32:
			alias(c.constComp(true, v.Imm))
		case ir.V64:
			alias(c.constComp(true, v.Imm), c.constComp(true, v.Imm>>32))
		case ir.M:
			alias(c.constComp(false, v.Imm&c.p.full))
		case ir.S1:
			alias(c.constComp(false, v.Imm&1))
		case ir.S32:
			alias(c.constComp(false, v.Imm&0xffffffff))
		default:
			alias(c.constComp(false, v.Imm))
		}
		return
	case ir.OpPC:
		alias(c.constComp(false, c.f.PC+uint64(int64(int32(v.Imm)))))
		return
	case ir.OpUndef:
		n := max(1, v.Regs())
		l := make([]comp, 0, n)
		vec := v.Type == ir.V32 || v.Type == ir.V64 || v.Type == ir.T
		if !vec && v.Type != ir.TS {
			n = 1
		}
		for range n {
			l = append(l, c.constComp(vec, 0))
		}
		alias(l...)
		return
	case ir.OpVGet:
		c.needVGPR(int(v.Imm))
		c.vals[id] = []comp{c.newRoot(root{kind: rootVGPR, vec: true, reg: int(v.Imm), def: pos})}
		return
	case ir.OpSGet, ir.OpSGet64, ir.OpMGet:
		n := int(v.Imm)
		width := 8
		if v.Op == ir.OpSGet || v.Op == ir.OpMGet && c.f.Lanes == 32 {
			width = 4
		}
		c.vals[id] = []comp{c.newRoot(root{kind: rootSGPR, reg: n, width: width, def: pos})}
		return
	case ir.OpLo:
		switch t(0) {
		case ir.V64:
			alias(arg(0)[0])
			return
		case ir.S64:
			// A half of a uniform pair is a slot of its own when it is to be read as 8 bytes; readers of S32 read 4.
			alias(comp{arg(0)[0].root, arg(0)[0].off})
			return
		}
	case ir.OpHi:
		switch t(0) {
		case ir.V64:
			alias(arg(0)[1])
			return
		case ir.S64:
			alias(comp{arg(0)[0].root, arg(0)[0].off + 4})
			return
		}
	case ir.OpPair:
		if v.Type == ir.V64 && !t(0).Uniform() && !t(1).Uniform() {
			alias(arg(0)[0], arg(1)[0])
			return
		}
	case ir.OpTuple:
		if v.Type == ir.TS {
			var l []comp
			for i := range v.Args {
				l = append(l, arg(i)[0])
			}
			alias(l...)
			return
		}
		if !slices.ContainsFunc(v.Args, func(a ir.ID) bool { return c.f.V(a).Type.Uniform() }) {
			var l []comp
			for i := range v.Args {
				l = append(l, arg(i)[0])
			}
			alias(l...)
			return
		}
	case ir.OpElem:
		alias(arg(0)[v.Imm])
		return
	case ir.OpBToS:
		alias(arg(0)[0])
		return
	case ir.OpMToS:
		if c.f.Lanes == 64 && v.Type == ir.S64 || c.f.Lanes == 32 && v.Type == ir.S32 {
			alias(arg(0)[0])
			return
		}
	case ir.OpSToM:
		if c.f.Lanes == 64 && t(0) == ir.S64 {
			alias(arg(0)[0])
			return
		}
	case ir.OpVSet:
		c.needVGPR(int(v.Imm))
		c.vw = append(c.vw, write{pos, int(v.Imm), 1})
	case ir.OpSSet:
		c.sw = append(c.sw, write{pos, int(v.Imm), 1})
	case ir.OpSSet64:
		c.sw = append(c.sw, write{pos, int(v.Imm), 2})
	case ir.OpMSet:
		c.sw = append(c.sw, write{pos, int(v.Imm), c.f.Lanes / 32})
	case ir.OpHWSet:
		// The wave's Env may change any special register.
		c.sw = append(c.sw, write{pos, isa.SRegSCC, isa.NumSRegs - isa.SRegSCC})
	}
	for _, a := range v.Args {
		c.use(a, pos)
	}
	c.define(id, pos)
}

func (c *compiler) constComp(vec bool, x uint64) comp {
	if vec {
		x &= 0xffffffff
	}
	return c.newRoot(root{kind: rootConst, vec: vec, def: -1, ref: c.constant(vec, x), x: x})
}

// allocate gives the registers of id their places.
func (c *compiler) allocate(id ir.ID) {
	for _, cp := range c.vals[id] {
		r := &c.roots[cp.root]
		if r.kind != rootSlot || r.ref != 0 {
			continue
		}
		if f, ok := c.dest[cp.root]; ok {
			r.ref = c.vgprRef(f.reg)
			continue
		}
		r.ref = c.slot(r.vec)
	}
}

func (c *compiler) slot(vec bool) ref {
	free, top, most, base, size := &c.freeS, &c.topS, &c.maxS, scalarBase, 8
	if vec {
		free, top, most, base, size = &c.freeV, &c.topV, &c.maxV, vectorBase, laneBytes
	}
	if n := len(*free); n > 0 {
		r := (*free)[n-1]
		*free = (*free)[:n-1]
		return r
	}
	r := baseFrame | ref(base+*top*size)
	*top++
	*most = max(*most, *top)
	return r
}

// release frees the slots of values that are dead after pos.
func (c *compiler) release(pos int) {
	for _, i := range c.dies[pos] {
		r := &c.roots[i]
		if _, ok := c.dest[i]; ok || r.ref == 0 {
			continue
		}
		if r.vec {
			c.freeV = append(c.freeV, r.ref)
		} else {
			c.freeS = append(c.freeS, r.ref)
		}
	}
}

func (c *compiler) ref(cp comp) ref { return c.roots[cp.root].ref + ref(cp.off) }
