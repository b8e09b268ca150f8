package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// The loop over all waves of a batch whose work-groups are one unit (streambatch.go): scalar operations, guards and addresses come once, the
// rest is the vector part and a step of each pointer.
//
// Short vector parts are emitted strip by strip: that a wave does its operations one after the other, each for all lanes, cannot be seen where
// no lane's store meets another lane's access, which is checked by host address for each pair of accesses. Caches like it: a
// wave's three streams side by side are a quarter faster in memory than four strips of each in turn.
//
// Of such a part there is another form for dispatches that access more than caches hold: loads are asked for ahead, and stores do not bring
// in lines that they overwrite.

// Strip by strip while the operations of one leave the CPU several others to look at, and there are few pairs to check.
const (
	maxStripOps   = 32
	maxStripPairs = 16
)

// farBytes is what a dispatch accesses at least for its stores to go around the caches: what one core may hope to find in the last one later.
const farBytes = 16 << 20

// farAhead is how many bytes ahead such a dispatch's loads are asked for.
const farAhead = 4096

// baseRegs hold host addresses in the vector part.
var baseRegs = [...]x86.Reg{x86.R8, x86.R9, x86.R10, x86.R12, x86.R13, x86.R14, x86.R15}

// emitBatch emits everything behind the entry.
func (c *compiler) emitBatch(s *stream, st *Stream) {
	a := &c.a
	next, bail, done := a.NewLabel(), a.NewLabel(), a.NewLabel()
	at := func(off int32) x86.RM { return x86.M(rFrame, int32(st.area)+off) }
	for i := range c.segs {
		c.seg = int32(i)
		c.unmark()
		switch g := &c.segs[i]; g.kind {
		case segScalar:
			c.scalarSegment(g.ops)
		case segWave:
			c.streamOp(g.ops[0], st, bail, next)
		case segVector:
			c.streamEnv(g.ops)
			c.batchLoops(s, st, g.ops, bail, done)
		}
	}
	a.Bind(done)
	a.Bind(next)
	a.G(x86.MOV, 4, x86.RAX, at(streamGroups))
	for _, n := range s.x {
		a.AluS(x86.ADD, 4, x86.M(rState, offS+4*int32(n)), x86.RAX)
	}
	a.GS(x86.MOVS, 4, at(streamGroup), x86.RAX)
	a.MovI(x86.RAX, retExit)
	a.Ret()
	a.Bind(bail)
	a.MovMI(4, x86.M(rFrame, frameOp), 0)
	a.MovI(x86.RAX, retBail)
	a.Ret()
}

// batchLoops emits the loops over the waves of which one is run.
func (c *compiler) batchLoops(s *stream, st *Stream, ops []ir.ID, bail, done x86.Label) {
	a := &c.a
	for i := range s.access {
		if x := &s.access[i]; len(s.access) <= len(baseRegs) {
			x.base = baseRegs[i]
			c.gin(x.base, c.v(x.id).Args[0])
		}
	}
	turns := int32(1) // waves of one pass
	for len(s.moving) == 0 && turns < maxTurns && int32(st.group)%(2*turns) == 0 && 2*int(turns)*len(ops) <= maxTurnOps {
		turns *= 2
	}
	a.G(x86.MOV, 4, x86.R11, x86.M(rFrame, int32(st.area)+streamGroups))
	if n := int32(st.group) / turns; n > 1 {
		a.IMulI(4, x86.R11, x86.R(x86.R11), n)
	}
	pairs := s.pairs()
	s.byStrip = len(ops) <= maxStripOps && len(pairs) <= maxStripPairs && len(s.access) <= len(baseRegs)
	if s.byStrip {
		for _, p := range pairs {
			c.apart(s, st, p, bail)
		}
		if s.wideStores() {
			near := a.NewLabel()
			a.AluI(x86.CMP, 4, x86.M(rFrame, int32(st.area)+streamFar), 0)
			a.Jcc(x86.E, near)
			c.farStores(s, pairs, near)
			s.far = true
			c.batchLoop(s, ops, turns)
			s.far = false
			a.Sfence()
			a.Jmp(done)
			a.Bind(near)
		}
	}
	c.batchLoop(s, ops, turns)
}

// batchLoop emits a loop over the waves, turns of them in each pass.
func (c *compiler) batchLoop(s *stream, ops []ir.ID, turns int32) {
	a, r := &c.a, &c.r
	top := a.NewLabel()
	a.Bind(top)
	for j := range turns {
		s.ahead = j * int32(c.lanes)
		if !s.byStrip {
			c.streamRegion(s, ops)
			continue
		}
		for u := range c.strips {
			r.c, r.ops, r.full, r.u, r.loop = c, ops, ir.NoID, 1, false
			r.reset()
			for i, id := range ops {
				r.pos = i
				c.streamVector(s, id, u)
			}
		}
	}
	for i := range s.access {
		x := &s.access[i]
		switch n := int32(x.step) * int32(c.lanes) * turns; {
		case x.step == 0:
		case x.base != 0:
			a.AluI(x86.ADD, 8, x86.R(x.base), n)
		default:
			a.AluI(x86.ADD, 8, c.memOf(c.vals[x.host].comps[0]), n)
		}
	}
	c.moveBases(s)
	a.AluI(x86.SUB, 4, x86.R(x86.R11), 1)
	a.Jcc(x86.NE, top)
}

// moveBases makes the moving scalars those of the next wave.
func (c *compiler) moveBases(s *stream) {
	for _, m := range s.moving {
		if comps := c.vals[m.id].comps; len(comps) > 0 {
			c.a.AluI(x86.ADD, 4, c.memOf(comps[0]), m.more)
		}
	}
}

// pairs are the stores, each with every other access: of two stores the first.
func (s *stream) pairs() (l [][2]*streamAccess) {
	for i := range s.access {
		for j := range s.access {
			if x, y := &s.access[i], &s.access[j]; x.write && i != j && (!y.write || i < j) {
				l = append(l, [2]*streamAccess{x, y})
			}
		}
	}
	return l
}

// apart leaves when a lane of the store p[0] may meet another lane of p[1] in the same wave.
func (c *compiler) apart(s *stream, st *Stream, p [2]*streamAccess, bail x86.Label) {
	a := &c.a
	ok := a.NewLabel()
	// Rows of the same step keep their distance: lanes meet each other's counterpart only, or nothing of the wave.
	a.G(x86.MOV, 8, x86.RAX, x86.R(p[1].base))
	a.Alu(x86.SUB, 8, x86.RAX, x86.R(p[0].base))
	size := func(x *streamAccess) int32 { return int32(x.step)*int32(c.lanes-1) + x.width }
	if p[0].step == p[1].step {
		if p[0].width == p[1].width {
			a.Jcc(x86.E, ok)
		}
		a.AluI(x86.CMP, 8, x86.R(x86.RAX), size(p[0]))
		a.Jcc(x86.GE, ok)
		a.AluI(x86.CMP, 8, x86.R(x86.RAX), -size(p[1]))
		a.Jcc(x86.G, bail)
		a.Bind(ok)
		return
	}
	// Others are nowhere near.
	total := func(r x86.Reg, x *streamAccess) {
		a.MovI(r, uint64(x.n))
		if x.step == 0 {
			return
		}
		a.G(x86.MOV, 4, r, x86.M(rFrame, int32(st.area)+streamGroups))
		a.IMulI(8, r, x86.R(r), int32(x.step*s.lanes))
		a.AluI(x86.ADD, 8, x86.R(r), x.n)
	}
	total(x86.RCX, p[0])
	a.Alu(x86.CMP, 8, x86.RAX, x86.R(x86.RCX))
	a.Jcc(x86.GE, ok)
	total(x86.RCX, p[1])
	a.Alu(x86.ADD, 8, x86.RAX, x86.R(x86.RCX))
	a.Jcc(x86.G, bail)
	a.Bind(ok)
}

// wideStores tells whether all stores write whole registers.
func (s *stream) wideStores() bool {
	for i := range s.access {
		if x := &s.access[i]; x.write && x.width < 4 {
			return false
		}
	}
	return true
}

// farStores goes to near when stores cannot or should not go around the caches: one does not begin at a line, or writes what was just read.
func (c *compiler) farStores(s *stream, pairs [][2]*streamAccess, near x86.Label) {
	a := &c.a
	for i := range s.access {
		if x := &s.access[i]; x.write {
			a.TestI(4, x86.R(x.base), 63)
			a.Jcc(x86.NE, near)
		}
	}
	for _, p := range pairs {
		a.Alu(x86.CMP, 8, p[0].base, x86.R(p[1].base))
		a.Jcc(x86.E, near)
	}
}

// ahead asks for the lines of a strip's load that come farAhead bytes later.
func (c *compiler) ahead(x *streamAccess, base x86.Reg, at int32) {
	n := 16 * int32(x.step)
	for i := int32(0); i < n; i += 64 {
		if (at+i)%64 < min(n, 64) {
			c.a.G1(x86.PREFETCHT0, 4, x86.M(base, at+i+farAhead))
		}
	}
}
