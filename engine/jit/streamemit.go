package jit

import (
	"encoding/binary"
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// maxGroupWaves is the largest number of waves of a work-group.
const maxGroupWaves = 32

// Stream is what a Program that is one needs beside its code.
type Stream struct {
	insts int // guest instructions of a wave
	area  int // frame offset of its parameters
	items []uint64
	x     []int
	spans []span
	group int  // waves of the work-groups that are one unit each, or 0
	whole bool // all work-groups of a batch are one unit
	bytes int  // that a work-group accesses, if whole
}

// Parameters in the frame, from Stream.area.
const (
	streamWave   = 0  // wave of the work-group that is next
	streamWaves  = 4  // of a work-group
	streamGroup  = 8  // work-groups done
	streamGroups = 12 // to do
	streamVA     = 16 // address of the access that left
	streamFar    = 24 // not 0: the dispatch has more data than caches hold
	streamIDs    = 32 // lane 0's work-item ids: for each register, each wave
	streamSize   = streamIDs + 3*4*maxGroupWaves
)

// retBail is the reason of a wave that does not fit: frameOp is 1 + the access whose Range does not know it, those of scalar loads behind the
// others, or 0.
const retBail = 3

// compileStream makes the stream form of f for dispatches whose work-group id is in the registers x. If group is not 0, work-groups have so
// many waves whose work-item ids go on from each other: guards and addresses are then those of a whole work-group; or of all work-groups of
// a batch, if whole is set.
func (c *compiler) compileStream(f *ir.Func, x []int, group int, whole bool, o Options) (p *Program, err error) {
	if f.Lanes != 32 && f.Lanes != 64 {
		return nil, &ErrUnsupported{"lanes"}
	}
	clear(c.foreign)
	c.start(o)
	c.begin(f, noCopies(f))
	c.b = &ir.Block{Term: ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm}}
	s := &stream{c: c, x: x, unit: levelWave, lanes: int64(f.Lanes)}
	if group > 0 {
		s.unit, s.lanes = levelGroup, int64(group*f.Lanes)
	}
	if whole {
		s.unit = levelDispatch
	}
	// Which way uniform branches go is not known: the first way that has a form is taken.
	var decs []bool
	for try := 0; ; try++ {
		if err = s.evaluate(f, decs); err == nil && slices.ContainsFunc(s.access, func(a streamAccess) bool { return a.write }) {
			break
		}
		if decs = s.turn(decs); decs == nil || try == 7 {
			if err == nil {
				err = &ErrUnsupported{"nothing is stored"}
			}
			return nil, err
		}
	}
	// A wave for which a fork goes the other way just ends, if that way has no access: and no fork, for then it is one way of several,
	// and no guard, for nobody looks at that.
	quiet := make([]bool, len(s.forks))
	for i := range quiet {
		other := make([]bool, i+1)
		copy(other, decs)
		other[i] = !other[i]
		if s.evaluate(f, other) == nil && len(s.access) == 0 && len(s.forks) == i+1 && s.guards == s.forks[i].guards {
			quiet[i] = true
		}
	}
	if err = s.evaluate(f, decs); err != nil {
		return nil, err
	}
	for i := range s.forks {
		if quiet[i] {
			c.v(s.forks[i].guard).Imm = 1
		}
	}
	s.prune()
	c.emitStream(s, group)
	c.p.Cold = c.a.Len()
	for i := 0; i < len(c.tails); i++ {
		c.tails[i]()
	}
	code, err := c.a.Finish()
	if err != nil {
		return nil, err
	}
	if len(c.lacking) > 0 {
		return nil, &ErrUnsupported{"an instruction"}
	}
	c.p.Code = append([]byte(nil), code...)
	c.p.Entry, c.p.blocks = []int{0}, []int{0}
	c.p.Frame = int(c.frame)
	return c.p, nil
}

// turn is decs with the last fork of control flow turned that has not been.
func (s *stream) turn(decs []bool) []bool {
	for i := len(s.forks) - 1; i >= 0; i-- {
		if s.forks[i].branch && (i >= len(decs) || !decs[i]) {
			next := make([]bool, i+1)
			copy(next, decs)
			next[i] = true
			return next
		}
	}
	return nil
}

// prune drops operations whose results nobody uses.
func (s *stream) prune() {
	c := s.c
	used := map[ir.ID]bool{}
	keep := func(ids []ir.ID) []ir.ID {
		n := len(ids)
		out := ids[n:]
		for i := n - 1; i >= 0; i-- {
			v := c.v(ids[i])
			root := v.Op == opGuard || v.Op == opHost || v.Op == opKeep || v.Op == ir.OpStore || v.Op == ir.OpVSet || v.Op == ir.OpAtomic || v.Op == ir.OpSLoad
			if !root && !used[ids[i]] {
				continue
			}
			for _, a := range v.Args {
				if a != ir.NoID {
					used[a] = true
				}
			}
			out = append(out, ids[i])
		}
		slices.Reverse(out)
		return out
	}
	c.code = keep(c.code)
	s.vecs = slices.DeleteFunc(s.vecs, func(id ir.ID) bool { return !slices.Contains(c.code, id) })
	for l := levelWave; l >= 0; l-- {
		s.lists[l] = keep(slices.Clone(s.lists[l]))
	}
	// What is read for a high half that nobody asks for may not even be set.
	for n, x := range s.items {
		if !used[x.id] {
			delete(s.items, n)
		}
	}
}

// emitStream emits the loop over the waves.
func (c *compiler) emitStream(s *stream, group int) {
	a := &c.a
	var starts [3]int // segments where the levels begin
	code := c.code
	c.code = nil
	c.segs = c.segs[:0]
	for l, ids := range s.lists {
		starts[l] = len(c.segs)
		var run []ir.ID
		end := func() {
			if run != nil {
				c.segs = append(c.segs, segment{segScalar, run})
				run = nil
			}
		}
		for _, id := range ids {
			c.code = append(c.code, id)
			switch c.v(id).Op {
			case ir.OpElem:
			case opGuard, opHost, opID, opLast, ir.OpSLoad:
				end()
				c.segs = append(c.segs, segment{segWave, []ir.ID{id}})
			default:
				run = append(run, id)
			}
		}
		end()
	}
	c.code = append(c.code, code...)
	c.segs = append(c.segs, segment{segVector, s.vecs})
	c.comps, c.slab = c.comps[:0], c.slab[:0]
	c.frame, c.scaled = c.frameStart(), 0
	c.free, c.freeG = c.free[:0], c.freeG[:0]
	c.layout()
	area := c.frameArea(streamSize)
	st := &Stream{insts: s.insts, area: int(area), x: s.x, group: group, whole: s.whole()}
	for n := range s.items {
		st.items = append(st.items, n)
	}
	slices.Sort(st.items)
	for i, x := range s.access {
		p := c.newSpan(i, x.n, x.write)
		if s.whole() {
			p.more = uint64(x.step * s.lanes)
			st.bytes += int(p.more)
		}
		st.spans = append(st.spans, p)
	}
	c.p.Stream = st
	if s.whole() {
		c.emitBatch(s, st)
		return
	}
	at := func(off int32) x86.RM { return x86.M(rFrame, area+off) }
	turns := int32(1) // waves of one pass through the vector part
	for group > 0 && len(s.moving) == 0 && turns < maxTurns && int32(group)%(2*turns) == 0 && 2*int(turns)*len(s.vecs) <= maxTurnOps {
		turns *= 2
	}
	first, top, next, bail := a.NewLabel(), a.NewLabel(), a.NewLabel(), a.NewLabel()
	for i := range c.segs {
		for l, start := range starts {
			if start == i && l == levelGroup {
				a.Bind(first)
			}
			if start == i && l == levelWave {
				a.Bind(top)
			}
		}
		c.seg = int32(i)
		c.unmark()
		switch g := &c.segs[i]; g.kind {
		case segScalar:
			c.scalarSegment(g.ops)
		case segVector:
			for j := range turns {
				s.ahead = int32(j) * int32(c.lanes)
				c.streamRegion(s, g.ops)
			}
		case segWave:
			c.streamOp(g.ops[0], st, bail, next)
		}
	}
	if group > 0 {
		for i := range s.access {
			if x := &s.access[i]; x.step != 0 {
				a.AluI(x86.ADD, 8, c.memOf(c.vals[x.host].comps[0]), int32(x.step)*int32(c.lanes)*turns)
			}
		}
		c.moveBases(s)
	} else {
		a.Bind(next)
	}
	if group == 0 || turns < int32(group) {
		a.G(x86.MOV, 4, x86.RCX, at(streamWave))
		a.AluI(x86.ADD, 4, x86.R(x86.RCX), turns)
		a.GS(x86.MOVS, 4, at(streamWave), x86.RCX)
		a.Alu(x86.CMP, 4, x86.RCX, at(streamWaves))
		a.Jcc(x86.B, top)
	}
	if group > 0 {
		a.Bind(next)
	}
	a.MovMI(4, at(streamWave), 0)
	for _, n := range s.x {
		a.AluI(x86.ADD, 4, x86.M(rState, offS+4*int32(n)), 1)
	}
	a.G(x86.MOV, 4, x86.RCX, at(streamGroup))
	a.AluI(x86.ADD, 4, x86.R(x86.RCX), 1)
	a.GS(x86.MOVS, 4, at(streamGroup), x86.RCX)
	a.Alu(x86.CMP, 4, x86.RCX, at(streamGroups))
	a.Jcc(x86.B, first)
	a.MovI(x86.RAX, retExit)
	a.Ret()
	a.Bind(bail)
	a.MovMI(4, x86.M(rFrame, frameOp), 0)
	a.MovI(x86.RAX, retBail)
	a.Ret()
}

// streamOp emits one of the operations that only streams have, or a scalar load.
func (c *compiler) streamOp(id ir.ID, st *Stream, bail, next x86.Label) {
	a := &c.a
	v := c.v(id)
	c.mark(id, v.PC)
	at := func(off int32) x86.RM { return x86.M(rFrame, int32(st.area)+off) }
	switch v.Op {
	case opID:
		a.G(x86.MOV, 4, x86.RCX, at(streamWave)) // 0 for a group
		a.G(x86.MOV, 4, x86.RAX, x86.MX(rFrame, x86.RCX, 4, int32(st.area)+streamIDs+int32(v.Imm)*4*maxGroupWaves))
		c.gout(id, 0, x86.RAX)
	case opLast:
		a.G(x86.MOV, 4, x86.RAX, at(streamGroups))
		a.AluI(x86.SUB, 4, x86.R(x86.RAX), 1)
		c.gout(id, 0, x86.RAX)
	case opGuard:
		c.streamGuard(v, bail, next)
	case opHost:
		c.streamHost(id, v, st)
	case ir.OpSLoad:
		c.streamSLoad(id, v, st)
	}
}

// streamGuard leaves the wave when it does not fit.
func (c *compiler) streamGuard(v *ir.Value, bail, next x86.Label) {
	a := &c.a
	test := func(id ir.ID) {
		if x, ok := c.isConst(id); ok {
			a.MovI(x86.RAX, x)
			a.GS(x86.TEST, 4, x86.R(x86.RAX), x86.RAX)
			return
		}
		a.AluI(x86.CMP, 4, c.memOf(c.vals[id].comps[0]), 0)
	}
	test(v.Args[0])
	if v.Args[1] == ir.NoID || v.Imm == 0 {
		a.Jcc(x86.E, bail)
		return
	}
	out := a.NewLabel()
	a.Jcc(x86.E, out)
	c.tails = append(c.tails, func() {
		a.Bind(out)
		test(v.Args[1])
		a.Jcc(x86.NE, bail)
		a.Jmp(next)
	})
}

// streamHost makes an address a host address by the access's Range.
func (c *compiler) streamHost(id ir.ID, v *ir.Value, st *Stream) {
	a := &c.a
	out := a.NewLabel()
	c.gin(x86.R8, v.Args[0])
	a.G(x86.MOV, 8, x86.RDX, x86.M(rState, offTLB))
	p := &st.spans[v.Imm]
	n := immediate(int32(p.n))
	if p.more != 0 {
		n = operand{rm: x86.R(x86.RBX)}
		c.gin(x86.RBX, v.Args[1])
	}
	c.rangeHost(p, n, out)
	c.gout(id, 0, x86.R8)
	c.tails = append(c.tails, func() {
		a.Bind(out)
		c.streamAsk(int32(st.area), int32(v.Imm)+1)
	})
}

// streamSLoad is a scalar load that its Range knows.
func (c *compiler) streamSLoad(id ir.ID, v *ir.Value, st *Stream) {
	a := &c.a
	out := a.NewLabel()
	c.gin(x86.R8, v.Args[0])
	if len(v.Args) > 1 && v.Args[1] != ir.NoID {
		c.gin(x86.RCX, v.Args[1])
		a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.RCX))
	}
	if n := int32(v.Imm); n != 0 {
		a.AluI(x86.ADD, 8, x86.R(x86.R8), n)
	}
	a.AluI(x86.AND, 8, x86.R(x86.R8), -4)
	// A Range of its own, for two pages may have one entry of the TLB: the form, which begins anew when one is not known, would never end.
	p := c.newSpan(len(st.spans), int32(v.Width), false)
	st.spans = append(st.spans, p)
	i := int32(len(st.spans))
	a.G(x86.MOV, 8, x86.RDX, x86.M(rState, offTLB))
	c.rangeHost(&p, immediate(int32(v.Width)), out)
	c.sloadFrom(id, v)
	c.tails = append(c.tails, func() {
		a.Bind(out)
		c.streamAsk(int32(st.area), i)
	})
}

// streamAsk leaves because the address in R8 is not known.
func (c *compiler) streamAsk(area, op int32) {
	a := &c.a
	a.GS(x86.MOVS, 8, x86.M(rFrame, area+streamVA), x86.R8)
	a.MovMI(4, x86.M(rFrame, frameOp), op)
	a.MovI(x86.RAX, retBail)
	a.Ret()
}

// Waves of a work-group follow one another in the code while it is short.
const (
	maxTurns   = 4
	maxTurnOps = 64
)

// streamRegion emits the vector part, all strips side by side.
func (c *compiler) streamRegion(s *stream, ops []ir.ID) {
	r := &c.r
	r.c, r.ops, r.full, r.u, r.loop = c, ops, ir.NoID, c.strips, false
	r.reset()
	c.streamEnv(ops)
	for i, id := range ops {
		r.pos = i
		for u := range r.u {
			c.streamVector(s, id, u)
		}
	}
}

// streamEnv is the floating-point environment of the vector part, of which there can be one.
func (c *compiler) streamEnv(ops []ir.ID) {
	for _, id := range ops {
		env, set, _ := floatEnv(c.v(id))
		if !set {
			continue
		}
		if want := c.envOf(env); c.p.MXCSR != want {
			if c.m.envSet {
				c.a.Fail("two floating-point environments")
			}
			c.p.MXCSR = want
		}
		c.m.envSet = true
	}
}

// streamVector emits strip u of an operation of the vector part.
func (c *compiler) streamVector(s *stream, id ir.ID, u int) {
	r, v := &c.r, c.v(id)
	r.zpin, r.kpin = 0, 0
	if v.Op == ir.OpLoad || v.Op == ir.OpStore {
		c.streamAccess(s, id, v, u)
	} else {
		c.vectorOp(id, v, u)
	}
	r.endOp(id, v, u)
}

// streamAccess is a load or store of strip u.
func (c *compiler) streamAccess(s *stream, id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	x := &s.access[v.Imm]
	base := x.base
	if base == 0 {
		base = x86.R8
	}
	if u == 0 || s.byStrip {
		c.mark(id, v.PC)
		if x.base == 0 {
			c.gin(base, v.Args[0])
		}
	}
	w := int32(v.Width)
	at := (int32(u)*16 + s.ahead) * int32(x.step) // of the strip's first lane
	p := func(n int32) x86.RM { return x86.M(base, at+n) }
	put := x86.VMOVDQU32S
	if s.far {
		put = x86.VMOVNTDQ
		if v.Op == ir.OpLoad {
			c.ahead(x, base, at)
		}
	}
	if v.Op == ir.OpStore {
		d := v.Args[1]
		switch w {
		case 1, 2, 4:
			z := r.zin(d, 0, u, 4)
			a.E([...]*x86.Inst{1: x86.VPMOVDB, 2: x86.VPMOVDW, 4: put}[w], L, uint8(z), 0, p(0), noMod)
		case 8:
			if c.vals[d].q {
				for i := range 2 {
					a.E(put, L, uint8(r.zin(d, i, u, 8)), 0, p(64*int32(i)), noMod)
				}
				return
			}
			lo, hi := r.zin(d, 0, u, 4), r.zin(d, 1, u, 4)
			t := r.tmp()
			for i, tab := range []*[16]uint32{tabPairLo, tabPairHi} {
				a.E(x86.VMOVDQU32, L, uint8(t), 0, r.table(tab), noMod)
				a.E(x86.VPERMI2D, L, uint8(t), uint8(lo), x86.V(hi), noMod)
				a.E(put, L, uint8(t), 0, p(64*int32(i)), noMod)
			}
		case 16:
			t := [3]x86.Vec{r.tmp(), r.tmp(), r.tmp()}
			for h := range 2 { // lanes 0–7, 8–15
				imm := [2]uint8{0x44, 0xee}[h]
				for i := range 2 {
					y0, y1 := r.zin(d, 2*i, u, 4), r.zin(d, 2*i+1, u, 4)
					a.EI(x86.VSHUFI64X2, L, uint8(t[i]), uint8(y0), x86.V(y1), imm, noMod)
				}
				for i := range 2 {
					a.E(x86.VMOVDQU32, L, uint8(t[2]), 0, r.table(tabRows[i]), noMod)
					a.E(x86.VPERMI2D, L, uint8(t[2]), uint8(t[0]), x86.V(t[1]), noMod)
					a.E(put, L, uint8(t[2]), 0, p(int32(128*h+64*i)), noMod)
				}
			}
		}
		return
	}
	switch {
	case c.vals[id].q:
		for i := range 2 {
			d := uint8(r.dstEarly(id, i, u))
			if x.step == 0 {
				a.E(x86.VPBROADCASTQ, L, d, 0, x86.M(base, 0), noMod)
				continue
			}
			a.E(x86.VMOVDQU32, L, d, 0, p(64*int32(i)), noMod)
		}
	case x.step == 0:
		// A quadword is one access of the host.
		n := len(c.vals[id].comps)
		for i := 0; i+1 < n; i += 2 {
			t := r.tmp()
			a.E(x86.VPBROADCASTQ, L, uint8(t), 0, x86.M(base, 4*int32(i)), noMod)
			for j, halves := range []uint8{0xa0, 0xf5} {
				a.EI(x86.VPSHUFD, L, uint8(r.dstEarly(id, i+j, u)), 0, x86.V(t), halves, noMod)
			}
			r.freeTmp(t)
		}
		for i := n &^ 1; i < n; i++ {
			a.E(x86.VPBROADCASTD, L, uint8(r.dstEarly(id, i, u)), 0, x86.M(base, 4*int32(i)), noMod)
		}
	case w == 4 && x.step != 4:
		var b [64]byte
		for l := range 16 {
			binary.LittleEndian.PutUint32(b[4*l:], uint32(int64(l)*x.step))
		}
		t, k := r.tmp(), r.ktmp()
		a.E(x86.VMOVDQU32, L, uint8(t), 0, x86.ML(a.Const(b[:], 64), 0), noMod)
		a.X(x86.KXNORW, x86.L128, uint8(k), uint8(k), x86.KR(k))
		d := r.dstEarly(id, 0, u)
		a.E(x86.VPXORD, L, uint8(d), uint8(d), x86.V(d), noMod)
		a.E(x86.VPGATHERDD, L, uint8(d), 0, x86.MV(base, t, 1, at), x86.Masked(k))
	case w == 4:
		a.E(x86.VMOVDQU32, L, uint8(r.dstEarly(id, 0, u)), 0, p(0), noMod)
	case w < 4:
		a.E(widening[w-1][b2i(v.Sign)], L, uint8(r.dstEarly(id, 0, u)), 0, p(0), noMod)
	case w == 8:
		t := r.tmp()
		a.E(x86.VMOVDQU32, L, uint8(t), 0, p(0), noMod)
		for i, tab := range []*[16]uint32{tabLo, tabHi} {
			d := r.dstEarly(id, i, u)
			a.E(x86.VMOVDQU32, L, uint8(d), 0, r.table(tab), noMod)
			a.E(x86.VPERMI2D, L, uint8(d), uint8(t), p(64), noMod)
		}
	case w == 16:
		t := [2]x86.Vec{r.tmp(), r.tmp()}
		for i := range 2 { // two dwords of each lane at a time
			for h := range 2 {
				y := r.tmp()
				a.E(x86.VMOVDQU32, L, uint8(y), 0, p(int32(128*h)), noMod)
				a.E(x86.VMOVDQU32, L, uint8(t[h]), 0, r.table(tabQuad[i]), noMod)
				a.E(x86.VPERMI2D, L, uint8(t[h]), uint8(y), p(int32(128*h+64)), noMod)
				r.freeTmp(y)
			}
			d0, d1 := r.dstEarly(id, 2*i, u), r.dstEarly(id, 2*i+1, u)
			a.EI(x86.VSHUFI64X2, L, uint8(d0), uint8(t[0]), x86.V(t[1]), 0x44, noMod)
			a.EI(x86.VSHUFI64X2, L, uint8(d1), uint8(t[0]), x86.V(t[1]), 0xee, noMod)
		}
	}
}

// tabRows picks lanes 0–3 and 4–7, four dwords each, from two registers that hold two components of eight lanes each.
var tabRows = func() (t [2]*[16]uint32) {
	for i := range t {
		t[i] = new([16]uint32)
		for n := range uint32(16) {
			t[i][n] = n%4*8 + n/4 + 4*uint32(i)
		}
	}
	return t
}()
