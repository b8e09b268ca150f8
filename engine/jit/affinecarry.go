package jit

import (
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// A loop over tiles moves its addresses on by one number for all lanes. A pair of registers that nothing in the loop reads or writes but the run, which adds
// to it, is carried: as long as the wave stays in the loop its corners are in the wave's place, and the registers' homes hold old values. What has been
// found of its lanes when the wave came into the loop stays true, since all lanes move alike, and what cannot, that the high
// half is one in each strip, is a guard in each iteration.
//
// The homes are written again (settled) before anybody can look at them: when a run's usual form is taken, on the ways out of the loop, and before Go
// goes on with whatever the code has returned for. So a wave that owns no place has its registers in their homes. A place is not taken from
// another wave.

// acarried is a carried pair.
type acarried struct {
	node, next int    // its corners, and what they become
	lo, hi     uint64 // VGPRs
	flat       bool   // one number in each strip
}

// affineCarry is what a spot carries.
type affineCarry struct {
	pairs []acarried
	kept  []int // the numbers of their nodes in the wave's place
}

// mayCarry tells whether the loop is such as waves of a crew go through, and not left for other code but by Go. Blocks with copies are not
// for it: the ways between them are many.
func (s *affineSpot) mayCarry(c *compiler) bool {
	if len(c.f.Blocks) > c.copies.first {
		return false
	}
	crew := false
	for _, b := range c.f.Blocks[s.from : s.to+1] {
		if t := &b.Term; t.Kind == ir.TermExit {
			switch t.Exit {
			case ir.ExitIndirect, ir.ExitMode, ir.ExitFetch:
				return false
			case ir.ExitBarrier:
				crew = true
			}
		}
	}
	return crew
}

// carry finds the pairs that the run carries.
func (u *affine) carry() {
	c, s := u.c, u.spot
	if !s.mayCarry(c) {
		return
	}
	used := make([]int, len(u.inputs)) // by how many pairs
	for _, n := range u.nodes {
		if n.op == anInPair {
			used[n.a]++
			used[n.b]++
		}
	}
	for i, n := range u.nodes {
		if n.op != anInPair || used[n.a] != 1 || used[n.b] != 1 || n.a == n.b || len(u.carried) == affineNodes/2 {
			continue
		}
		lo, lok := u.register(n.a)
		hi, hok := u.register(n.b)
		if !lok || !hok || !u.alone(n.a) || !u.alone(n.b) || !u.private(lo) || !u.private(hi) {
			continue
		}
		// Both are written, as halves of the sum of the pair and a number.
		var at [2]int
		next, ok := -1, 0
		for k, w := range u.writes {
			for h, r := range [2]uint64{lo, hi} {
				if w.rm == x86.M(rState, c.homeOf(r)) && w.val.node < 0 && w.val.of != nil && w.val.hi == (h == 1) && (next < 0 || w.val.of.node == next) {
					next = w.val.of.node
					at[h] = k
					ok |= 1 << h
				}
			}
		}
		if ok != 3 || next < 0 {
			continue
		}
		m := &u.nodes[next]
		if other := m.a + m.b - i; m.op != anAdd || m.a != i && m.b != i || !u.number(other) {
			continue
		}
		u.carried = append(u.carried, acarried{node: i, next: next, lo: lo, hi: hi, flat: u.inputs[n.a].zero})
		slices.Sort(at[:])
		u.writes = slices.Delete(u.writes, at[1], at[1]+1)
		u.writes = slices.Delete(u.writes, at[0], at[0]+1)
	}
}

// number tells whether a node is one number for all lanes.
func (u *affine) number(i int) bool {
	switch u.nodes[i].op {
	case anConst, anU32, anU64:
		return true
	}
	return false
}

// register is the VGPR that input k is read from.
func (u *affine) register(k int) (n uint64, ok bool) {
	for n := range u.spot.v {
		if u.inputs[k].rm == x86.M(rState, u.c.homeOf(uint64(n))) {
			return uint64(n), true
		}
	}
	return 0, false
}

// alone tells whether input k is only part of a pair.
func (u *affine) alone(k int) bool {
	self := -1
	for i, n := range u.nodes {
		if n.op == anIn && n.a == k {
			self = i
		}
	}
	if self < 0 {
		return true
	}
	for _, n := range u.nodes {
		switch n.op {
		case anShl, anShr:
			if n.a == self {
				return false
			}
		case anAdd, anSub, anMul, anAnd, anOr, anXor:
			if n.a == self || n.b == self {
				return false
			}
		}
	}
	for _, x := range u.loads {
		if x.node == self {
			return false
		}
	}
	for _, x := range u.writes {
		if x.val.node == self || x.val.node < 0 && x.val.of != nil && x.val.of.node == self {
			return false
		}
	}
	for _, x := range u.flags {
		if x.x == self || x.sum == self {
			return false
		}
	}
	for _, g := range u.guards {
		if g.x == self && g.kind != guardMono || g.kind == guardDisjoint && g.y == self {
			return false
		}
	}
	return true
}

// private tells whether only the run touches register n in the loop.
func (u *affine) private(n uint64) bool {
	c := u.c
	var gets []ir.ID
	for _, b := range c.f.Blocks[u.spot.from : u.spot.to+1] {
		for _, id := range b.Code {
			v := c.f.V(id)
			if v.Op != ir.OpVGet && v.Op != ir.OpVSet || v.Imm != n {
				continue
			}
			switch {
			case b != c.b:
				return false
			case v.Op == ir.OpVGet:
				if !c.vals[id].dead {
					gets = append(gets, id)
				}
			case !u.inside[id]:
				return false
			default:
				for _, k := range c.vals[v.Args[0]].comps { // it would be read from its home
					if int(c.comps[k].last) > u.last {
						return false
					}
				}
			}
		}
	}
	for _, id := range gets {
		for _, k := range c.vals[id].comps {
			if int(c.comps[k].last) > u.last {
				return false
			}
			for i := range c.segs[:u.first] {
				for _, op := range c.segs[i].ops {
					for _, a := range c.v(op).Args {
						if a != ir.NoID && slices.Contains(c.vals[a].comps, k) {
							return false
						}
					}
				}
			}
		}
	}
	return true
}

// settlePlace emits the writing of the homes of the wave whose state is at RDI from the place at R12.
func (c *compiler) settlePlace(x *affineCarry) {
	for i, p := range x.pairs {
		at := x86.M(x86.R12, int32(64*x.kept[i]))
		step := -1
		if p.flat {
			step = 0
		}
		c.spread(at, step, x86.M(rState, c.homeOf(p.lo)))
		c.spread(at.Add(4), 0, x86.M(rState, c.homeOf(p.hi)))
	}
}

// settle emits that the homes are written if the wave owns its place, which it does not then.
func (c *compiler) settle(s *affineSpot) {
	a := &c.a
	not := a.NewLabel()
	a.G(x86.MOV, 8, rArea, x86.M(rFrame, frameAffine))
	owner := c.affineOwner(s)
	a.Alu(x86.CMP, 8, rState, owner)
	a.Jcc(x86.NE, not)
	a.MovMI(8, owner, 0)
	c.affinePlaceOf(s)
	c.settlePlace(s.carry)
	a.Bind(not)
}

// affinePlaceOf makes R12 the place whose number is in RAX.
func (c *compiler) affinePlaceOf(s *affineSpot) {
	a := &c.a
	a.IMulI(4, x86.R12, x86.R(x86.RAX), affinePlace)
	a.G(x86.LEA, 8, x86.R12, x86.MX(rArea, x86.R12, 1, s.area+affineKept))
}

// edge is where the current block goes on at block to. A way out of a loop with something carried leads over its settling.
func (c *compiler) edge(to int) x86.Label {
	var out []*affineSpot
	for i := range c.spots {
		s := &c.spots[i]
		in := func(b int) bool { return s.from <= b && b <= s.to }
		if in(c.b.Index) && !in(to) && s.mayCarry(c) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return c.labels[to]
	}
	a := &c.a
	l := a.NewLabel()
	c.tails = append(c.tails, func() {
		a.Bind(l)
		for _, s := range out {
			if s.carry != nil {
				c.settle(s)
			}
		}
		a.Jmp(c.labels[to])
	})
	return l
}

// emitSettling emits what Go calls to have all homes written.
func (c *compiler) emitSettling() {
	a := &c.a
	for i := range c.spots {
		s := &c.spots[i]
		if s.carry == nil {
			continue
		}
		if len(c.p.carries) == 0 {
			c.p.settling = a.Len()
			a.G(x86.MOV, 8, rArea, x86.M(rFrame, frameAffine))
		}
		c.p.carries = append(c.p.carries, s.area)
		top, next := a.NewLabel(), a.NewLabel()
		a.Alu(x86.XOR, 4, x86.RBX, x86.R(x86.RBX))
		a.Bind(top)
		owner := x86.MX(rArea, x86.RBX, 8, s.area+affineOwners)
		a.G(x86.MOV, 8, rState, owner)
		a.GS(x86.TEST, 8, x86.R(rState), rState)
		a.Jcc(x86.E, next)
		a.MovMI(8, owner, 0)
		a.G(x86.MOV, 4, x86.RAX, x86.R(x86.RBX))
		c.affinePlaceOf(s)
		c.settlePlace(s.carry)
		a.Bind(next)
		a.AluI(x86.ADD, 4, x86.R(x86.RBX), 1)
		a.AluI(x86.CMP, 4, x86.R(x86.RBX), affinePlaces)
		a.Jcc(x86.NE, top)
		a.MovMI(4, x86.M(rArea, s.area+affineCarries), 0)
	}
	if len(c.p.carries) > 0 {
		a.MovI(x86.RAX, 0)
		a.Ret()
	}
}
