package jit

import (
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// The code of a run.

const (
	rArea = x86.R13

	affineRegs = 26 // zmm registers for nodes; the others:
	affineT0   = 26
	affineT1   = 27
	affineT2   = 28
	affineOff  = 29 // where a bit is set a guard of corners does not hold (with fewer lanes, writing it clears the rest of it)
	affineZero = 30
	affineBad  = 31 // and where a lane is not as it should be

	affineStrip = 1 // k1 to k4: the dwords of each strip's corners
	affineFirst = 6 // k6: first lanes
)

// affineCode is the state of emitting a run.
type affineCode struct {
	*affine
	l     x86.VL
	owner [affineRegs]int // node, or -1
	reg   []int           // by node, or -1
	slot  []int32         // by node, or 0
	kept  []int           // number in the wave's place of a node that is made when it comes into the loop, or -1
	early []bool          // the nodes that are made then
	entry bool            // these are being emitted
	use   []int           // last node at whose place it is used
	keep  []bool          // it is wanted in its slot
	live  []bool
	steps []uint64
	known map[x86.RM]bool // inputs that have been looked at
	fail  x86.Label
	pos   int
}

// emitAffine emits the run behind its usual form, from which label start comes; it ends behind itself.
func (c *compiler) emitAffine(u *affine, start, usual x86.Label) {
	a := &c.a
	u.inSlots()
	u.later(true)
	n := len(u.nodes)
	e := &affineCode{affine: u, l: x86.L512, reg: make([]int, n), slot: make([]int32, n), kept: make([]int, n), use: make([]int, n), keep: make([]bool, n), live: make([]bool, n),
		steps: u.bounds(), known: map[x86.RM]bool{}, fail: a.NewLabel()}
	if c.lanes == 32 {
		e.l = x86.L256
	}
	for i := range e.reg {
		e.reg[i], e.kept[i] = -1, -1
	}
	for i := range e.owner {
		e.owner[i] = -1
	}
	places := e.needs()
	a.Bind(start)
	first := &u.loads[0]
	c.unmark()
	c.mark(first.id, c.f.V(first.id).PC)
	count := x86.M(rArea, u.spot.area)
	skip := a.NewLabel()
	if len(u.carried) > 0 {
		direct := usual
		usual = a.NewLabel()
		u.spot.carry = &affineCarry{pairs: u.carried}
		for _, x := range u.carried {
			u.spot.carry.kept = append(u.spot.carry.kept, e.kept[x.node])
		}
		c.tails = append(c.tails, func() {
			a.Bind(usual)
			c.settle(u.spot)
			a.Jmp(direct)
		})
	}
	a.G(x86.MOV, 8, rArea, x86.M(rFrame, frameAffine))
	a.AluI(x86.CMP, 4, count, 0)
	a.Jcc(x86.NE, skip)
	if u.full != ir.NoID {
		a.AluI(x86.CMP, c.lanes/8, c.memOf(c.vals[u.full].comps[0]), -1)
		a.Jcc(x86.NE, usual)
	}
	c.tails = append(c.tails, func() {
		a.Bind(skip)
		a.AluI(x86.SUB, 4, count, 1)
		a.Jmp(usual)
		a.Bind(e.fail)
		a.MovMI(4, count, affinePatience)
		a.Jmp(usual)
	})
	a.E(x86.VPXORD, x86.L512, affineBad, affineBad, x86.V(affineBad), noMod)
	a.E(x86.VPXORD, x86.L512, affineOff, affineOff, x86.V(affineOff), noMod)
	a.E(x86.VPXORD, x86.L512, affineZero, affineZero, x86.V(affineZero), noMod)
	for q := range c.strips {
		a.MovI(x86.RAX, 0xf<<(4*q))
		a.X(x86.KMOVWG, x86.L128, uint8(affineStrip+q), 0, x86.R(x86.RAX))
	}
	a.MovI(x86.RAX, 0x55>>(8-2*c.strips))
	a.X(x86.KMOVWG, x86.L128, affineFirst, 0, x86.R(x86.RAX))
	if places > 0 {
		ready := a.NewLabel()
		owner := c.affineOwner(u.spot)
		c.affinePlaceOf(u.spot)
		a.Alu(x86.CMP, 8, rState, owner)
		a.Jcc(x86.E, ready)
		if len(u.carried) > 0 { // another wave's registers are here
			a.AluI(x86.CMP, 8, owner, 0)
			a.Jcc(x86.NE, usual)
		}
		a.MovMI(8, owner, 0)
		e.entry = true
		e.compute()
		e.entry = false
		a.GS(x86.MOVS, 8, c.affineOwner(u.spot), rState)
		a.Bind(ready)
	}
	e.compute()
	for i := range u.flags {
		a.G(x86.MOVZX8, 4, x86.RAX, x86.M(rFrame, u.flags[i].k))
		a.G(x86.MOV, 4, x86.RCX, x86.R(x86.RAX))
		a.GI8(x86.SHR, 4, x86.R(x86.RCX), 1)
		a.Alu(x86.XOR, 4, x86.RCX, x86.R(x86.RAX))
		a.TestI(4, x86.R(x86.RCX), 0x55)
		a.Jcc(x86.NE, e.fail)
	}
	a.G(x86.MOV, 8, x86.RDX, x86.M(rState, offTLB))
	hosts := make([]int32, len(u.loads))
	for i := range u.loads {
		hosts[i] = e.host(&u.loads[i], start, usual)
	}
	for i := range u.loads {
		x := &u.loads[i]
		c.mark(x.id, c.f.V(x.id).PC)
		e.load(x, hosts[i])
	}
	for i := range u.writes {
		e.write(&u.writes[i])
	}
	for i := range u.flags {
		f := &u.flags[i]
		a.G(x86.MOVZX8, 4, x86.RAX, x86.M(rFrame, f.k))
		a.MovI(x86.RCX, 0x55)
		a.GV(x86.PEXT, 4, x86.RAX, x86.RAX, x86.R(x86.RCX))
		a.MovI(x86.RCX, 0x0001_0001_0001_0001)
		a.GV(x86.PDEP, 8, x86.RAX, x86.RAX, x86.R(x86.RCX))
		a.G(x86.MOV, 8, x86.RCX, x86.R(x86.RAX))
		a.GI8(x86.SHL, 8, x86.R(x86.RCX), 16)
		a.Alu(x86.SUB, 8, x86.RCX, x86.R(x86.RAX))
		a.GS(x86.MOVS, c.lanes/8, f.rm, x86.RCX)
	}
	for _, x := range u.carried {
		a.E(x86.VMOVDQU64, e.l, 0, 0, x86.M(rFrame, e.slot[x.next]), noMod)
		a.E(x86.VMOVDQU64S, e.l, 0, 0, e.place(x.node), noMod)
	}
	if len(u.carried) > 0 {
		a.MovMI(4, x86.M(rArea, u.spot.area+affineCarries), 1)
	}
	a.AluI(x86.ADD, 4, x86.M(rArea, u.spot.area+affineTaken), 1)
	c.unmark()
	for _, x := range u.scalar {
		c.scalarAgain(x)
	}
	c.p.affines = append(c.p.affines, u.spot.area)
}

// affinePatience is how often a run is not tried after its guards did not hold.
const affinePatience = 32

// compute emits the nodes and the guards of a part; they hold behind it.
func (e *affineCode) compute() {
	a := &e.c.a
	for i := range e.nodes {
		e.pos = i
		if e.live[i] && !e.leaf(i) && e.early[i] == e.entry {
			e.node(i)
		}
		for _, g := range e.guards {
			if max(g.x, g.y) == i && e.earlyGuard(&g) == e.entry {
				e.guard(g)
			}
		}
		e.release()
	}
	a.E(x86.VPORD, x86.L512, affineT0, affineBad, x86.V(affineOff), noMod)
	a.E(x86.VPTESTMD, x86.L512, 5, affineT0, x86.V(affineT0), noMod)
	a.X(x86.KORTESTW, x86.L128, 5, 0, x86.KR(5))
	a.Jcc(x86.NE, e.fail)
}

// earlyGuard tells whether a guard is of early nodes only.
func (e *affineCode) earlyGuard(g *aguard) bool {
	if g.kind != guardStep && e.carries(g.x) || g.kind == guardDisjoint && e.carries(g.y) {
		return false
	}
	return g.kind != guardCarry && e.early[g.x] && (g.kind != guardDisjoint || e.early[g.y])
}

// needs finds which nodes are made, where they are used last, and which are wanted in memory. It gives how many are kept for a wave.
func (e *affineCode) needs() int {
	e.early = e.steady()
	mark := func(i, at int) {
		e.live[i] = true
		e.use[i] = max(e.use[i], at)
	}
	for i := range e.loads {
		n := e.loads[i].node
		mark(n, n)
		e.keep[n] = true
	}
	for i := range e.writes {
		n := e.whole(e.writes[i].val)
		mark(n, n)
		e.keep[n] = true
	}
	for i := range e.flags {
		f := &e.flags[i]
		f.k = e.c.frameArea(16)
		mark(f.x, max(f.x, f.sum))
		mark(f.sum, max(f.x, f.sum))
	}
	for _, x := range e.carried {
		for _, n := range [2]int{x.node, x.next} {
			mark(n, n)
			e.keep[n] = true
		}
	}
	for _, g := range e.guards {
		at := max(g.x, g.y)
		mark(g.x, at)
		if g.kind == guardDisjoint {
			mark(g.y, at)
		}
	}
	args := func(i int) []int {
		switch n := &e.nodes[i]; n.op {
		case anAdd, anSub, anMul, anAnd, anOr, anXor:
			return []int{n.a, n.b}
		case anShl, anShr:
			return []int{n.a}
		}
		return nil
	}
	for i := len(e.nodes) - 1; i >= 0; i-- {
		if e.live[i] {
			for _, n := range args(i) {
				mark(n, i)
			}
		}
	}
	// Early nodes that later ones want.
	for _, x := range e.carried {
		n := &e.nodes[x.node]
		e.early[x.node] = true
		for i, m := range e.nodes {
			if m.op == anIn && (m.a == n.a || m.a == n.b) {
				e.early[i] = true
			}
		}
	}
	places := 0
	want := func(i int) {
		if e.early[i] && !e.leaf(i) && e.kept[i] < 0 {
			e.kept[i] = places
			places++
		}
	}
	for _, x := range e.carried {
		want(x.node)
	}
	for i := range e.nodes {
		if e.live[i] && !e.early[i] {
			for _, n := range args(i) {
				want(n)
			}
		}
		if e.keep[i] {
			want(i)
		}
	}
	for i := range e.flags {
		want(e.flags[i].x)
		want(e.flags[i].sum)
	}
	for i := range e.guards {
		if g := &e.guards[i]; !e.earlyGuard(g) {
			want(g.x)
			if g.kind == guardDisjoint {
				want(g.y)
			}
		}
	}
	if places > affineNodes && len(e.carried) > 0 { // nothing else is kept
		places = 0
		clear(e.early)
		for i, n := range e.nodes {
			e.kept[i] = -1
			for _, x := range e.carried {
				p := &e.nodes[x.node]
				if e.early[i] = i == x.node || n.op == anIn && (n.a == p.a || n.a == p.b); e.early[i] {
					break
				}
			}
		}
		for _, x := range e.carried {
			want(x.node)
		}
	}
	if places == 0 || places > affineNodes {
		clear(e.early)
		for i := range e.kept {
			e.kept[i] = -1
		}
		return 0
	}
	return places
}

// whole is the node that a value is written from.
func (e *affineCode) whole(x *aval) int {
	if x.node < 0 && x.of != nil {
		return x.of.node
	}
	return x.node
}

// leaf tells whether a node is read from memory wherever it is wanted.
func (e *affineCode) leaf(i int) bool {
	switch e.nodes[i].op {
	case anConst, anU32, anU64:
		return true
	}
	return false
}

// alloc finds a register for node i.
func (e *affineCode) alloc(i int, pinned ...int) int {
	best := -1
	for r, o := range e.owner {
		if o < 0 {
			best = r
			break
		}
		busy := false
		for _, p := range pinned {
			busy = busy || p == r
		}
		if !busy && (best < 0 || e.use[o] > e.use[e.owner[best]]) {
			best = r
		}
	}
	if o := e.owner[best]; o >= 0 {
		e.store(o)
		e.reg[o] = -1
	}
	e.owner[best], e.reg[i] = i, best
	return best
}

// store has node i in its slot.
func (e *affineCode) store(i int) {
	if e.leaf(i) || e.slot[i] != 0 {
		return
	}
	if e.kept[i] >= 0 && !e.entry {
		return
	}
	if e.kept[i] < 0 {
		e.slot[i] = e.area()
	}
	e.c.a.E(x86.VMOVDQU64S, e.l, uint8(e.reg[i]), 0, e.place(i), noMod)
}

// place is where node i is in memory.
func (e *affineCode) place(i int) x86.RM {
	if k := e.kept[i]; k >= 0 {
		return x86.M(x86.R12, int32(64*k))
	}
	return x86.M(rFrame, e.slot[i])
}

// area is room for the corners.
func (e *affineCode) area() int32 {
	c := e.c
	c.frame = (c.frame + 63) &^ 63
	return c.frameArea(64)
}

// get is the register of node i.
func (e *affineCode) get(i int, pinned ...int) uint8 {
	if e.reg[i] >= 0 {
		return uint8(e.reg[i])
	}
	a := &e.c.a
	r := uint8(e.alloc(i, pinned...))
	switch n := &e.nodes[i]; n.op {
	case anConst:
		a.E(x86.VPBROADCASTQ, e.l, r, 0, x86.ML(a.Const64(n.imm), 0), noMod)
	case anU32:
		a.G(x86.MOV, 4, x86.RAX, n.rm)
		a.E(x86.VPBROADCASTQG, e.l, r, 0, x86.R(x86.RAX), noMod)
	case anU64:
		a.E(x86.VPBROADCASTQ, e.l, r, 0, n.rm, noMod)
	default:
		a.E(x86.VMOVDQU64, e.l, r, 0, e.place(i), noMod)
	}
	return r
}

// operand is node i as the last operand of an instruction on quadwords.
func (e *affineCode) operand(i int, pinned ...int) x86.RM {
	if e.reg[i] < 0 {
		switch n := &e.nodes[i]; n.op {
		case anConst:
			return x86.ML(e.c.a.Const64(n.imm), 0).Bcast()
		case anU64:
			return n.rm.Bcast()
		case anU32:
		default:
			return e.place(i)
		}
	}
	return x86.V(x86.Vec(e.get(i, pinned...)))
}

// release frees the registers of nodes that are not used behind this place.
func (e *affineCode) release() {
	for r, o := range e.owner {
		if o >= 0 && e.use[o] <= e.pos {
			if e.keep[o] || e.kept[o] >= 0 {
				e.store(o)
			}
			e.owner[r], e.reg[o] = -1, -1
		}
	}
}

// node emits node i.
func (e *affineCode) node(i int) {
	a := &e.c.a
	n := &e.nodes[i]
	switch n.op {
	case anIn, anInPair:
		e.input(i)
		return
	case anShl, anShr:
		x := e.get(n.a)
		inst := x86.VPSLLQI
		if n.op == anShr {
			inst = x86.VPSRLQI
		}
		a.EI(inst, e.l, 0, uint8(e.alloc(i, int(x))), x86.V(x86.Vec(x)), uint8(n.imm), noMod)
		return
	}
	x := e.get(n.a)
	y := e.operand(n.b, int(x))
	inst := map[anodeOp]*x86.Inst{anAdd: x86.VPADDQ, anSub: x86.VPSUBQ, anMul: x86.VPMULUDQ, anAnd: x86.VPANDQ, anOr: x86.VPORQ, anXor: x86.VPXORQ}[n.op]
	pin := []int{int(x)}
	if !y.IsMem() {
		pin = append(pin, int(y.Num()))
	}
	a.E(inst, e.l, uint8(e.alloc(i, pin...)), x, y, noMod)
}

// write writes a value for all lanes.
func (e *affineCode) write(x *awrite) {
	const L = x86.L512
	c, a := e.c, &e.c.a
	n := e.whole(x.val)
	half := int32(0)
	if x.val.node < 0 && x.val.hi {
		half = 4
	}
	if e.leaf(n) {
		nd := &e.nodes[n]
		if nd.op == anConst {
			a.E(x86.VPBROADCASTD, L, 0, 0, x86.ML(a.Const32(uint32(nd.imm>>(8*half))), 0), noMod)
		} else {
			a.E(x86.VPBROADCASTD, L, 0, 0, nd.rm.Add(half), noMod)
		}
		for q := range c.strips {
			a.E(x86.VMOVDQU32S, L, 0, 0, x.rm.Add(int32(64*q)), noMod)
		}
		return
	}
	at := e.place(n).Add(half)
	step := -1
	if e.steps[n] == 0 || half > 0 {
		step = 0
	}
	for i := range e.loads {
		if e.loads[i].node == n && half == 0 {
			step = int(c.f.V(e.loads[i].id).Width)
		}
	}
	c.spread(at, step, x.rm)
}

// spread writes 32 bits of each lane to rm from corners at at, which are step from lane to lane, or -1: as far as the corners of strip 0 say.
func (c *compiler) spread(at x86.RM, step int, rm x86.RM) {
	const L = x86.L512
	a := &c.a
	switch step {
	case 0:
	case -1:
		const inv15 = 0xeeee_eeef // 15 times it is 1
		a.G(x86.MOV, 4, x86.RAX, at.Add(8))
		a.Alu(x86.SUB, 4, x86.RAX, at)
		a.IMulI(4, x86.RAX, x86.R(x86.RAX), inv15-1<<32)
		a.E(x86.VPBROADCASTDG, L, 1, 0, x86.R(x86.RAX), noMod)
		a.E(x86.VPMULLD, L, 1, 1, c.table(laneTimes(1)), noMod)
	default:
		a.E(x86.VMOVDQU32, L, 1, 0, c.table(laneTimes(uint32(step))), noMod)
	}
	for q := range c.strips {
		if step == 0 {
			a.E(x86.VPBROADCASTD, L, 0, 0, at.Add(int32(16*q)), noMod)
		} else {
			a.E(x86.VPADDD, L, 0, 1, at.Add(int32(16*q)).Bcast(), noMod)
		}
		a.E(x86.VMOVDQU32S, L, 0, 0, rm.Add(int32(64*q)), noMod)
	}
}

// carries tells whether node i is of something carried.
func (u *affine) carries(i int) bool {
	return slices.ContainsFunc(u.carried, func(x acarried) bool { return x.node == i })
}
