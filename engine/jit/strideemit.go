package jit

import (
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// The frame of a form: whether a turn has been done, then what goes on from turn to turn.
const (
	strideDone      = 0
	strideLeftTurns = 4 // until the wave gives way to another one
	strideVars      = 8 // the first offset that is a value's
)

// maxStrideRest is how often a block's form is not tried, at most, after it has led to nothing: each time twice as often, from once on.
const maxStrideRest = 31

// emitStride emits the second form of the current block, if it has one; the usual one is to stand behind it.
func (c *compiler) emitStride() {
	if c.m.Quick || c.m.AVX2 || !c.stridesOver(c.b) {
		return
	}
	s := c.findStride(c.b)
	if s != nil {
		s.prune()
		if !c.layoutStride(s) {
			s = nil
		}
	}
	if s != nil {
		c.strideCode(s)
		c.p.strides++
	}
	// The usual form begins from the Func's values, and has another piece of the frame.
	c.original()
	c.code, c.zero, c.gets = c.code[:0], ir.NoID, c.gets[:0]
	c.vals = c.vals[:c.n]
	c.comps, c.slab, c.segs = c.comps[:0], c.slab[:0], c.segs[:0]
	c.free, c.freeG = c.free[:0], c.freeG[:0]
}

// layoutStride cuts the operations into segments: those before the loop, the scalar ones of a turn, the vector part. It tells whether all have a form.
func (c *compiler) layoutStride(s *stream) bool {
	code := c.code
	c.code, c.segs = nil, c.segs[:0]
	for _, l := range []int{levelDispatch, levelWave} {
		s.starts = append(s.starts, len(c.segs))
		var run []ir.ID
		end := func() {
			if run != nil {
				c.segs = append(c.segs, segment{segScalar, run})
				run = nil
			}
		}
		var keeps []ir.ID
		for _, id := range s.lists[l] {
			c.code = append(c.code, id)
			switch c.v(id).Op {
			case ir.OpElem:
			case opKeep:
				keeps = append(keeps, id)
			case opGuard, opHost, opInput:
				end()
				c.segs = append(c.segs, segment{segWave, []ir.ID{id}})
			default:
				run = append(run, id)
			}
		}
		end()
		for _, id := range keeps { // behind all guards
			c.segs = append(c.segs, segment{segWave, []ir.ID{id}})
		}
	}
	c.code = append(c.code, code...)
	c.gets = slices.DeleteFunc(c.gets, func(id ir.ID) bool { return !slices.Contains(code, id) })
	s.starts = append(s.starts, len(c.segs))
	var run []ir.ID
	for _, id := range s.vecs {
		if c.v(id).Op != ir.OpAtomic {
			run = append(run, id)
			continue
		}
		if run != nil {
			c.segs = append(c.segs, segment{segVector, run})
			run = nil
		}
		c.segs = append(c.segs, segment{segWave, []ir.ID{id}})
	}
	if run != nil {
		c.segs = append(c.segs, segment{segVector, run})
	}
	c.comps, c.slab = c.comps[:0], c.slab[:0]
	c.free, c.freeG = c.free[:0], c.freeG[:0]
	c.layout()
	for _, id := range s.vecs {
		if v := c.v(id); v.Op == ir.OpAtomic && !c.canLDSUpdate(id, v) {
			return false
		}
	}
	return true
}

// strideCode emits the form.
func (c *compiler) strideCode(s *stream) {
	a, st := &c.a, s.stride
	skip := c.frameArea(16)
	st.frame = c.frameArea((st.keeps + 15) &^ 15)
	usual, try, top, bail, none := a.NewLabel(), a.NewLabel(), a.NewLabel(), a.NewLabel(), a.NewLabel()
	c.unmark()
	a.AluI(x86.CMP, c.lanes/8, x86.M(rState, offS+4*isa.SRegEXECLo), -1)
	a.Jcc(x86.NE, usual)
	a.G(x86.MOV, 4, x86.RAX, x86.M(rFrame, skip))
	a.AluI(x86.SUB, 4, x86.R(x86.RAX), 1)
	a.AluI(x86.CMP, 4, x86.R(x86.RAX), maxStrideRest)
	a.Jcc(x86.AE, try) // it may be any number
	a.GS(x86.MOVS, 4, x86.M(rFrame, skip), x86.RAX)
	a.Jmp(usual)
	a.Bind(try)
	a.MovMI(4, x86.M(rFrame, st.frame+strideDone), 0)
	a.MovMI(4, x86.M(rFrame, st.frame+strideLeftTurns), strideTurn)
	c.strideInputs(s, none)
	for i := range c.segs {
		c.seg = int32(i)
		c.unmark()
		if i == s.starts[1] {
			a.Bind(top)
		}
		g := &c.segs[i]
		switch g.kind {
		case segScalar:
			c.scalarSegment(g.ops)
		case segVector:
			c.strideRegion(s, g.ops)
		case segWave:
			c.strideOp(s, g.ops[0], bail)
		}
	}
	c.unmark()
	a.MovMI(4, x86.M(rFrame, st.frame+strideDone), 1)
	c.spend(st.b.Insts)
	a.AluI(x86.CMP, 8, x86.M(rState, offFuel), 0)
	if c.orderless() {
		spent := a.NewLabel()
		a.Jcc(x86.L, spent)
		c.strideYield(st, top)
		a.Bind(spent)
	} else {
		a.Jcc(x86.GE, top)
	}
	c.strideLeave(st)
	c.setPC(st.b.PC)
	c.ret(retFuel)
	a.Bind(bail)
	a.AluI(x86.CMP, 4, x86.M(rFrame, st.frame+strideDone), 0)
	a.Jcc(x86.E, none)
	a.MovMI(4, x86.M(rFrame, skip+4), 0)
	c.strideLeave(st)
	a.Jmp(usual)
	a.Bind(none)
	a.G(x86.MOV, 4, x86.RAX, x86.M(rFrame, skip+4))
	a.G(x86.LEA, 4, x86.RAX, x86.MX(x86.RAX, x86.RAX, 1, 1))
	a.AluI(x86.AND, 4, x86.R(x86.RAX), maxStrideRest)
	a.GS(x86.MOVS, 4, x86.M(rFrame, skip), x86.RAX)
	a.GS(x86.MOVS, 4, x86.M(rFrame, skip+4), x86.RAX)
	a.Bind(usual)
	c.unmark()
}

// strideInputs looks at the registers of the inputs, and takes lane 0.
func (c *compiler) strideInputs(s *stream, none x86.Label) {
	const L = x86.L512
	const bad, t0, t1 = 1, 0, 1
	a, st := &c.a, s.stride
	used := func(v *strideVar) bool {
		for _, l := range s.lists {
			if slices.Contains(l, v.x.id) {
				return true
			}
		}
		return false
	}
	first := true
	for _, v := range st.inputs {
		if !used(v) {
			continue
		}
		lo, hi := c.homeOf(v.n), c.homeOf(v.n+1)
		for u := range int32(c.strips) {
			if u == 0 {
				a.E(x86.VPBROADCASTD, L, t0, 0, x86.M(rState, lo), noMod)
				if v.x.step != 0 {
					a.E(x86.VPADDD, L, t0, t0, c.table(laneTimes(uint32(v.x.step))), noMod)
				}
			} else if v.x.step != 0 {
				a.E(x86.VPADDD, L, t0, t0, x86.ML(a.Const32(uint32(16*v.x.step)), 0).Bcast(), noMod)
			}
			into := uint8(bad)
			if !first {
				into = 2
			}
			a.EI(x86.VPCMPD, L, into, t0, x86.M(rState, lo+64*u), 4, noMod)
			if !first {
				a.X(x86.KORW, x86.L128, bad, bad, x86.KR(2))
			}
			first = false
			if v.wide {
				if u == 0 {
					a.E(x86.VPBROADCASTD, L, t1, 0, x86.M(rState, hi), noMod)
				}
				a.EI(x86.VPCMPD, L, 2, t1, x86.M(rState, hi+64*u), 4, noMod)
				a.X(x86.KORW, x86.L128, bad, bad, x86.KR(2))
			}
		}
		a.G(x86.MOV, 4, x86.RAX, x86.M(rState, lo))
		a.GS(x86.MOVS, 4, x86.M(rFrame, st.frame+v.at), x86.RAX)
		if v.wide {
			a.AluI(x86.ADD, 4, x86.R(x86.RAX), int32(v.x.step)*int32(c.lanes-1))
			a.Jcc(x86.B, none) // some lane has another high half
			a.G(x86.MOV, 4, x86.RAX, x86.M(rState, hi))
			a.GS(x86.MOVS, 4, x86.M(rFrame, st.frame+v.at+4), x86.RAX)
		}
	}
	if !first {
		a.X(x86.KORTESTW, x86.L128, bad, 0, x86.KR(bad))
		a.Jcc(x86.NE, none)
	}
}

// strideOp emits one of the operations that only streams have, or an LDS atomic.
func (c *compiler) strideOp(s *stream, id ir.ID, bail x86.Label) {
	a, st := &c.a, s.stride
	v := c.v(id)
	c.mark(id, v.PC)
	switch v.Op {
	case opInput:
		a.G(x86.MOV, c.widthOf(id), x86.RAX, x86.M(rFrame, st.frame+st.inputs[v.Imm].at))
		c.gout(id, 0, x86.RAX)
	case opKeep:
		c.gin(x86.RAX, v.Args[0])
		to := x86.M(rFrame, st.frame+int32(v.Imm))
		if v.Imm >= strideState {
			to = x86.M(rState, int32(v.Imm-strideState))
		}
		a.GS(x86.MOVS, c.widthOf(v.Args[0]), to, x86.RAX)
	case opGuard:
		c.streamGuard(v, bail, bail)
	case opHost:
		x := &s.access[v.Imm]
		c.gin(x86.R8, v.Args[0])
		a.G(x86.MOV, 8, x86.RDX, x86.M(rState, offTLB))
		p := c.newSpan(int(v.PC>>2), x.n, x.write) // the Range that the usual form fills
		c.rangeHost(&p, immediate(x.n), bail)
		if !x.write && x.step != 0 {
			c.strideAhead(x.n, st)
		}
		c.gout(id, 0, x86.R8)
	case ir.OpAtomic:
		c.forgetKept([]ir.ID{id})
		c.ldsUpdate(id, v)
	}
}

// strideRegion emits a piece of the vector part.
func (c *compiler) strideRegion(s *stream, ops []ir.ID) {
	r := &c.r
	r.c, r.ops, r.full, r.tiles, r.u, r.loop, r.keep = c, ops, ir.NoID, nil, c.strips, false, false
	r.reset()
	r.findAdopted()
	for i, id := range ops {
		r.pos = i
		v := c.v(id)
		r.prepare(id, v)
		for u := range r.u {
			c.streamVector(s, id, u)
		}
		if v.Op == ir.OpVSet {
			r.adopted(v)
		}
	}
}

// strideLeave writes the registers that the form has kept in another way.
func (c *compiler) strideLeave(st *stride) {
	const L = x86.L512
	a := &c.a
	for _, l := range st.left {
		at := st.frame + l.at
		lo, hi := c.homeOf(l.n), c.homeOf(l.n+1)
		if l.high {
			hi = lo
		}
		a.E(x86.VPBROADCASTD, L, 0, 0, x86.M(rFrame, at), noMod)
		if l.wide {
			a.E(x86.VMOVDQU32, L, 2, 0, x86.V(0), noMod)
			a.E(x86.VPBROADCASTD, L, 3, 0, x86.M(rFrame, at+4), noMod)
		}
		for u := range int32(c.strips) {
			if l.step != 0 {
				if u == 0 {
					a.E(x86.VPADDD, L, 0, 0, c.table(laneTimes(uint32(l.step))), noMod)
				} else {
					a.E(x86.VPADDD, L, 0, 0, x86.ML(a.Const32(uint32(16*l.step)), 0).Bcast(), noMod)
				}
			}
			if !l.high {
				a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rState, lo+64*u), noMod)
			}
			if l.wide {
				a.E(x86.VMOVDQU32, L, 1, 0, x86.V(3), noMod)
				a.EI(x86.VPCMPUD, L, 1, 0, x86.V(2), 1, noMod) // it has wrapped
				a.E(x86.VPADDD, L, 1, 1, x86.ML(a.Const32(1), 0).Bcast(), x86.Masked(1))
				a.E(x86.VMOVDQU32S, L, 1, 0, x86.M(rState, hi+64*u), noMod)
			}
		}
	}
}
