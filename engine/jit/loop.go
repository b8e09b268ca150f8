package jit

import (
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// A block that jumps to itself, that does no memory access but LDS loads, and whose scalar values do not depend on its vector
// ones, goes through the same iterations for each strip. So the strips need not take turns: the loop runs to its end for one strip,
// whose registers stay in zmm all the while, then for the next, from the scalar state it began with. It is the same as
// taking turns, because nothing that a strip does can be seen by another one. This form is for full EXEC; the usual one of
// the block stands behind it for other masks.
type loop struct {
	mask    ir.ID       // EXEC, the mask of the writes
	saved   []uint64    // scalar registers that the scalar run writes, to be restored for the next strip
	carried []loopReg   // read and written
	kept    []loopReg   // only read
	shared  []loopReg   // uniform, the same in all iterations
	writes  []loopWrite // what registers hold in the end
	u       int         // strips side by side
}

type loopReg struct {
	n    uint64    // VGPR
	comp int32     // of its value at the start of an iteration
	z    [maxU]int // zmm for each strip in flight
	val  ir.ID     // of its value at the end; NoID of a kept one
}

type loopWrite struct {
	n       uint64
	val     ir.ID
	carried bool
	z       [maxU]int
}

// loopSpare is how many zmm registers a loop leaves for temporaries and operands.
func (c *compiler) loopSpare() int {
	if c.m.Soft {
		return 10
	}
	return 4
}

// findLoop tells whether the planned block can run strip after strip, and how.
func (c *compiler) findLoop() *loop {
	b := c.b
	t := &b.Term
	if t.Kind != ir.TermBranch || (t.Then == b.Index) == (t.Else == b.Index) || len(c.segs) == 0 || len(c.segs) > 2 {
		return nil
	}
	if _, ok := c.isConst(t.Cond); ok {
		return nil
	}
	vec := &c.segs[len(c.segs)-1]
	if vec.kind != segVector || len(c.segs) == 2 && c.segs[0].kind != segScalar {
		return nil
	}
	if env, set := c.regionEnv(vec.ops); set && c.envOf(env) != c.p.MXCSR {
		return nil
	}
	l := &loop{mask: ir.NoID}
	masks := map[uint64]bool{} // scalar registers that the vector part writes
	last := map[uint64]ir.ID{}
	for _, id := range vec.ops {
		v := c.v(id)
		switch v.Op {
		case ir.OpStore, ir.OpVGet:
			return nil
		case ir.OpMSet:
			lo, hi := c.regs(v)
			for n := lo; n < hi; n++ {
				masks[n] = true
			}
		case ir.OpVSet:
			last[v.Imm] = v.Args[0]
			if c.fullMask(v.Args[1]) {
				continue
			}
			if m := c.v(v.Args[1]); m.Op != ir.OpMGet || l.mask != ir.NoID && l.mask != v.Args[1] {
				return nil
			}
			l.mask = v.Args[1]
		}
	}
	if len(last) == 0 || l.mask == ir.NoID {
		return nil
	}
	km := &c.comps[c.vals[l.mask].comps[0]]
	if km.home < 0 {
		return nil
	}
	written := map[uint64]bool{}
	if len(c.segs) == 2 {
		for _, id := range c.segs[0].ops {
			v := c.v(id)
			switch v.Op {
			case ir.OpSSet, ir.OpSSet64, ir.OpMSet:
				lo, hi := c.regs(v)
				for n := lo; n < hi; n++ {
					written[n] = true
				}
			}
		}
	}
	reads := map[uint64]int{}
	for _, id := range b.Code {
		v := c.v(id)
		if c.vals[id].dead || !isGet(v.Op) {
			continue
		}
		if v.Op == ir.OpVGet {
			reads[v.Imm]++
			continue
		}
		lo, hi := c.regs(v)
		for n := lo; n < hi; n++ {
			if masks[n] {
				return nil // a vector result decides about the next iteration
			}
			if id == l.mask && written[n] {
				return nil
			}
		}
	}
	for n := range written {
		l.saved = append(l.saved, n)
	}
	slices.Sort(l.saved)
	for _, id := range b.Code {
		v := c.v(id)
		if c.vals[id].dead || v.Op != ir.OpVGet {
			continue
		}
		r := loopReg{n: v.Imm, comp: c.vals[id].comps[0], val: ir.NoID}
		if val, ok := last[v.Imm]; ok {
			if reads[v.Imm] > 1 {
				return nil
			}
			r.val = val
			l.carried = append(l.carried, r)
		} else if reads[v.Imm] == 1 {
			l.kept = append(l.kept, r)
		}
	}
	p := c.pressure(vec.ops, l)
	if len(l.carried) == 0 || p+c.loopSpare() > 32 {
		return nil
	}
	l.u = 1
	for 2*l.u <= c.strips && 2*l.u*p+c.loopSpare() <= 32 {
		l.u *= 2
	}
	l.kept = l.kept[:min(len(l.kept), (32-c.loopSpare())/l.u-p)]
	taken := 0
	take := func() int {
		taken++
		if c.m.AVX2 { // the first ones are the registers there
			return taken - 1
		}
		return 32 - taken
	}
	for _, rs := range [][]loopReg{l.carried, l.kept} {
		for i := range rs {
			for u := range l.u {
				rs[i].z[u] = take()
			}
		}
	}
	// What is left goes to uniform operands.
	for _, id := range vec.ops {
		for _, arg := range c.v(id).Args {
			if arg == ir.NoID || taken+c.loopSpare() >= 32 {
				continue
			}
			if g := c.v(arg); g.Op != ir.OpSGet || written[g.Imm] || c.comps[c.vals[arg].comps[0]].home < 0 {
				continue
			}
			k := c.vals[arg].comps[0]
			if !slices.ContainsFunc(l.shared, func(x loopReg) bool { return x.comp == k }) {
				l.shared = append(l.shared, loopReg{comp: k, z: [maxU]int{take()}, val: arg})
			}
		}
	}
	for n, val := range last {
		w := loopWrite{n: n, val: val}
		for _, r := range l.carried {
			if r.n == n {
				w.carried, w.z = true, r.z
			}
		}
		l.writes = append(l.writes, w)
	}
	slices.SortFunc(l.writes, func(a, b loopWrite) int { return int(a.n) - int(b.n) })
	return l
}

// pressure is how many vector components of the loop's body are alive at once, without what is only read.
func (c *compiler) pressure(ops []ir.ID, l *loop) int {
	last := map[int32]int{}
	for i, id := range ops {
		v := c.v(id)
		for _, a := range v.Args {
			if a == ir.NoID {
				continue
			}
			for _, k := range c.vals[a].comps {
				last[k] = i
				if v.Op == ir.OpVSet {
					last[k] = len(ops)
				}
			}
		}
	}
	live := len(l.carried)
	most := live
	ends := map[int]int{}
	for _, x := range l.carried {
		ends[last[x.comp]]++
	}
	for i, id := range ops {
		live -= ends[i]
		for _, k := range c.vals[id].comps {
			if m := &c.comps[k]; m.id == id && m.kind == compZ && m.home < 0 {
				if e, ok := last[k]; ok {
					live++
					ends[e]++
				}
			}
		}
		most = max(most, live)
	}
	return most
}

// homeOf is the home of VGPR n.
func (c *compiler) homeOf(n uint64) int32 { return offV + int32(n)*int32(c.lanes)*4 }

// emitLoop emits the block for full EXEC, strip after strip; other masks go on behind it.
func (c *compiler) emitLoop(l *loop) {
	a, b, r := &c.a, c.b, &c.r
	type place struct{ home, def int32 }
	before := make([]place, len(c.comps))
	for i := range c.comps {
		before[i] = place{c.comps[i].home, c.comps[i].def}
	}
	defer func() {
		for i := range before {
			c.comps[i].home, c.comps[i].def = before[i].home, before[i].def
		}
	}()
	general, strip, top, out, spent := a.NewLabel(), a.NewLabel(), a.NewLabel(), a.NewLabel(), a.NewLabel()
	a.AluI(x86.CMP, c.lanes/8, c.memOf(c.vals[l.mask].comps[0]), -1)
	a.Jcc(x86.NE, general)
	// What each strip starts from: fuel, the strip, scalar registers.
	area := c.frameArea(16 + 4*int32(len(l.saved)))
	a.G(x86.MOV, 8, x86.RAX, x86.M(rState, offFuel))
	a.GS(x86.MOVS, 8, x86.M(rFrame, area), x86.RAX)
	for i, n := range l.saved {
		a.G(x86.MOV, 4, x86.RAX, x86.M(rState, offS+4*int32(n)))
		a.GS(x86.MOVS, 4, x86.M(rFrame, area+16+4*int32(i)), x86.RAX)
	}
	a.Alu(x86.XOR, 4, rStrip, x86.R(rStrip))
	a.Bind(strip)
	a.GS(x86.MOVS, 8, x86.M(rFrame, area+8), rStrip)
	vec := int32(len(c.segs) - 1)
	c.seg = vec
	var ops []ir.ID
	for _, id := range c.sinkLoads(c.segs[vec].ops) {
		if c.v(id).Op != ir.OpVSet {
			ops = append(ops, id)
		}
	}
	r.c, r.ops, r.full, r.tiles, r.u, r.loop, r.keep, r.pos = c, ops, l.mask, nil, l.u, true, false, -1
	r.reset()
	end := int32(len(ops))
	use := func(k int32) { r.useAtEnd(k, end) }
	for _, w := range l.writes {
		for _, k := range c.vals[w.val].comps {
			use(k)
		}
	}
	for _, x := range l.carried {
		r.preload(x)
		c.comps[x.comp].home, c.comps[x.comp].def = -1, vec
	}
	for _, x := range l.kept {
		r.preload(x)
		use(x.comp)
	}
	for _, x := range l.shared {
		a.E(x86.VPBROADCASTD, x86.L512, uint8(x.z[0]), 0, r.uniform(x.val), noMod)
		r.zown[x.z[0]], r.copies[x.comp*maxU].z = x.comp*maxU, int8(x.z[0])
		use(x.comp)
	}
	r.findClasses()
	a.Bind(top)
	c.unmark()
	if vec > 0 {
		c.seg = 0
		c.scalarSegment(c.segs[0].ops)
		c.seg = vec
		a.G(x86.MOV, 8, rStrip, x86.M(rFrame, area+8))
	}
	a.G(x86.MOV, 4, rMask, x86.R(rStrip))
	a.GI8(x86.SHR, 4, x86.R(rMask), 5)
	for i, id := range ops {
		r.pos = i
		v := c.v(id)
		for u := range r.u {
			r.zpin, r.kpin = 0, 0
			c.vectorOp(id, v, u)
			r.endOp(id, v, u)
		}
	}
	r.pos = int(end)
	r.settle(l)
	c.spend(b.Insts)
	t := &b.Term
	a.AluI(x86.CMP, 4, c.memOf(c.vals[t.Cond].comps[0]), 0)
	leave := x86.E
	other := t.Else
	if t.Else == b.Index {
		leave, other = x86.NE, t.Then
	}
	a.Jcc(leave, out)
	a.AluI(x86.CMP, 8, x86.M(rState, offFuel), 0)
	a.Jcc(x86.GE, top)
	again := a.NewLabel()
	for i, x := range []x86.Label{spent, out} {
		a.Bind(x)
		r.storeBack(l)
		a.AluI(x86.ADD, 8, x86.R(rStrip), int32(64*l.u))
		a.AluI(x86.CMP, 4, x86.R(rStrip), int32(64*c.strips))
		a.Jcc(x86.NE, again)
		if i == 0 {
			c.setPC(b.PC)
			c.ret(retFuel)
		} else {
			c.enterLoops()
			c.jump(other)
		}
	}
	a.Bind(again)
	a.G(x86.MOV, 8, x86.RAX, x86.M(rFrame, area))
	a.GS(x86.MOVS, 8, x86.M(rState, offFuel), x86.RAX)
	for i, n := range l.saved {
		a.G(x86.MOV, 4, x86.RAX, x86.M(rFrame, area+16+4*int32(i)))
		a.GS(x86.MOVS, 4, x86.M(rState, offS+4*int32(n)), x86.RAX)
	}
	a.Jmp(strip)
	a.Bind(general)
}

// frameArea is n bytes of frame for the rest of the block.
func (c *compiler) frameArea(n int32) int32 {
	c.frame = (c.frame + 15) &^ 15
	c.frame += n
	return c.frame - n
}

// preload puts a register that lives over iterations into its place.
func (r *region) preload(x loopReg) {
	r.touched = append(r.touched, x.comp)
	for u := range r.u {
		r.c.a.E(x86.VMOVDQU32, x86.L512, uint8(x.z[u]), 0, r.vaddr(rState, r.c.homeOf(x.n), u), noMod)
		o := x.comp*maxU + int32(u)
		r.zown[x.z[u]], r.copies[o].z = o, int8(x.z[u])
	}
}

// loopMove is one of the moves that an iteration ends with.
type loopMove struct {
	to  int
	reg int    // from a register, or -1:
	mem x86.RM // from memory; broadcast if all is set
	all bool
}

// settle moves what lives over iterations to where the next one expects it.
func (r *region) settle(l *loop) {
	c := r.c
	places := map[int]int32{} // the value that is already in place, or -1
	for u := range r.u {
		for _, x := range l.carried {
			places[x.z[u]] = -1
		}
		for _, x := range l.kept {
			places[x.z[u]] = x.comp*maxU + int32(u)
		}
	}
	for _, x := range l.shared {
		places[x.z[0]] = x.comp * maxU
	}
	// Other results that lie in these places have to give way.
	for _, w := range l.writes {
		k := r.compOf(w.val, 0)
		if w.carried || k < 0 || c.comps[k].kind != compZ {
			continue
		}
		for u := range r.u {
			o := k*maxU + int32(u)
			if z := int(r.copies[o].z); z >= 0 {
				if keep, ok := places[z]; ok && keep != o {
					r.spillZ(z)
				}
			}
		}
	}
	var moves []loopMove
	add := func(to int, val ir.ID, k int32, u int) {
		m := loopMove{to: to, reg: -1}
		if k >= 0 && c.comps[k].kind == compZ {
			if _, ok := c.compConst(k); !ok {
				if z := r.copies[k*maxU+int32(u)].z; z >= 0 {
					m.reg = int(z)
				} else {
					m.mem = r.zmem(k, u)
				}
				if m.reg != to {
					moves = append(moves, m)
				}
				return
			}
		}
		m.mem, m.all = r.uniform(val), true
		moves = append(moves, m)
	}
	for u := range r.u {
		for _, x := range l.carried {
			add(x.z[u], x.val, r.compOf(x.val, 0), u)
		}
		for _, x := range l.kept {
			add(x.z[u], ir.NoID, x.comp, u)
		}
	}
	for _, x := range l.shared {
		if z := r.copies[x.comp*maxU].z; int(z) != x.z[0] {
			moves = append(moves, loopMove{to: x.z[0], reg: -1, mem: r.uniform(x.val), all: true})
		}
	}
	r.parallel(moves)
}

// parallel emits moves that all read before any of them writes.
func (r *region) parallel(moves []loopMove) {
	a := &r.c.a
	const L = x86.L512
	tmp := int32(0)
	for len(moves) > 0 {
		i := slices.IndexFunc(moves, func(m loopMove) bool {
			return !slices.ContainsFunc(moves, func(n loopMove) bool { return n.reg == m.to && n.to != m.to })
		})
		if i < 0 {
			// A cycle: one of them goes by memory.
			if tmp == frameBases-frameTmp {
				a.Fail("too many cycles at the end of a loop")
				return
			}
			m := &moves[0]
			m.mem = x86.M(rFrame, frameTmp+tmp)
			a.E(x86.VMOVDQU32S, L, uint8(m.reg), 0, m.mem, noMod)
			m.reg = -1
			tmp += 64
			continue
		}
		m := moves[i]
		switch {
		case m.all:
			a.E(x86.VPBROADCASTD, L, uint8(m.to), 0, m.mem, noMod)
		case m.reg >= 0:
			a.E(x86.VMOVDQU32, L, uint8(m.to), 0, x86.V(x86.Vec(m.reg)), noMod)
		default:
			a.E(x86.VMOVDQU32, L, uint8(m.to), 0, m.mem, noMod)
		}
		moves = slices.Delete(moves, i, i+1)
	}
}

// uniform is where a 32-bit uniform value or constant can be broadcast from.
func (r *region) uniform(id ir.ID) x86.RM {
	c := r.c
	k := r.compOf(id, 0)
	if k >= 0 {
		if x, ok := c.compConst(k); ok {
			return x86.ML(c.a.Const32(uint32(x)), 0)
		}
		return c.memOf(k)
	}
	return x86.ML(c.a.Const32(uint32(c.constHalf(id, 0, 4))), 0)
}

// storeBack writes the registers of the strips to their homes, at the end of their loop.
func (r *region) storeBack(l *loop) {
	c, a := r.c, &r.c.a
	const L = x86.L512
	type late struct {
		w loopWrite
		u int
	}
	var rest []late
	for u := range r.u {
		for _, w := range l.writes {
			z := w.z[u]
			if !w.carried {
				k := r.compOf(w.val, 0)
				if k < 0 || c.comps[k].kind != compZ || r.copies[k*maxU+int32(u)].z < 0 {
					rest = append(rest, late{w, u})
					continue
				}
				z = int(r.copies[k*maxU+int32(u)].z)
			}
			a.E(x86.VMOVDQU32S, L, uint8(z), 0, r.vaddr(rState, c.homeOf(w.n), u), noMod)
		}
	}
	for _, x := range rest {
		k := r.compOf(x.w.val, 0)
		vec := false
		if k >= 0 && c.comps[k].kind == compZ {
			_, isConst := c.compConst(k)
			vec = !isConst
		}
		if vec {
			a.E(x86.VMOVDQU32, L, 0, 0, r.zmem(k, x.u), noMod)
		} else {
			a.E(x86.VPBROADCASTD, L, 0, 0, r.uniform(x.w.val), noMod)
		}
		a.E(x86.VMOVDQU32S, L, 0, 0, r.vaddr(rState, c.homeOf(x.w.n), x.u), noMod)
	}
}
