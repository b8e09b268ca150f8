package jit

import (
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// What a run makes of registers that its loop does not write is kept for the wave while it stays in the loop: the corners lie at the
// wave's place in its crew, and the place's owner is the state block of the wave that they are of. A wave that comes into the loop from outside it owns
// none; neither does anyone when Go calls the code, since registers may have changed in between. For the same reason no links lead to such a Program:
// only its own jumps and Go come into it.

// affineSpot is a block where a run may be, and the loop around it.
type affineSpot struct {
	block    int
	from, to int   // blocks of the loop
	area     int32 // in the memory that frameAffine tells of
	last     ir.ID // operation behind the last load, after which a new segment begins
	v        [vgprs]bool
	s        [isa.NumSRegs + 2]bool // registers that the loop writes
	carry    *affineCarry           // what its run carries, or nil
}

// The area of a spot: how often its run is not to be tried, how often it has been gone through, whether something is carried, the owners of the places, the places.
const (
	affineTaken   = 8
	affineCarries = 16
	affineOwners  = 64
	affineKept    = affineOwners + 8*affinePlaces // what is cleared before the code runs
	affineArea    = affineKept + affinePlaces*affinePlace
	affinePlaces  = 32 // waves of 32 lanes in the largest work-group
	affineNodes   = 16 // that are kept for a wave
	affinePlace   = 64 * affineNodes

	maxAffineSpots = 8
)

// affineSpots finds the blocks of loops that have loads enough.
func (c *compiler) affineSpots() {
	c.spots = c.spots[:0]
	if c.m.Quick || c.m.AVX2 {
		return
	}
	for _, b := range c.f.Blocks {
		if len(c.spots) == maxAffineSpots {
			return
		}
		n, last := 0, ir.NoID
		for i, id := range b.Code {
			v := c.f.V(id)
			if !affineLoad(v) {
				continue
			}
			n++
			last = id
			// The writes of what it gives belong to it.
			parts := []ir.ID{id}
			for _, id := range b.Code[i+1:] {
				v := c.f.V(id)
				if (v.Op == ir.OpElem || v.Op == ir.OpLo || v.Op == ir.OpHi) && slices.Contains(parts, v.Args[0]) {
					parts = append(parts, id)
				} else if v.Op != ir.OpVSet || !slices.Contains(parts, v.Args[0]) {
					break
				}
				last = id
			}
		}
		if n < 2 {
			continue
		}
		from, to, ok := c.innermost(b.Index)
		if !ok {
			continue
		}
		c.spots = append(c.spots, affineSpot{block: b.Index, from: from, to: to, last: last, area: int32(len(c.spots) * affineArea)})
		s := &c.spots[len(c.spots)-1]
		for _, b := range c.f.Blocks[from : to+1] {
			for _, id := range b.Code {
				switch v := c.f.V(id); v.Op {
				case ir.OpVSet:
					s.v[v.Imm] = true
				case ir.OpSSet, ir.OpSSet64, ir.OpMSet:
					lo, hi := c.regs(v)
					for n := lo; n < hi; n++ {
						s.s[n] = true
					}
				}
			}
		}
	}
}

// innermost is the shortest stretch of blocks around block at that is gone through again and again.
func (c *compiler) innermost(at int) (from, to int, ok bool) {
	for _, b := range c.f.Blocks[at:] {
		t := &b.Term
		for _, h := range [2]int{t.Then, t.Else} {
			if t.Kind == ir.TermExit || t.Kind == ir.TermJump && h != t.Then || h > at || c.copies.guest[h] > c.copies.guest[b.Index] {
				continue
			}
			if !ok || b.Index-h < to-from {
				from, to, ok = h, b.Index, true
			}
		}
	}
	return
}

// affineSpot is the current block's, or nil.
func (c *compiler) affineSpot() *affineSpot {
	for i := range c.spots {
		if c.spots[i].block == c.b.Index {
			return &c.spots[i]
		}
	}
	return nil
}

// enterLoops takes from the wave what is kept of it in loops that the end of the block leads into.
func (c *compiler) enterLoops() {
	a, t := &c.a, &c.b.Term
	var next []int
	switch {
	case t.Kind == ir.TermJump:
		next = []int{t.Then}
	case t.Kind == ir.TermBranch:
		next = []int{t.Then, t.Else}
	case t.Exit == ir.ExitBarrier: // other exits lead to Go
		for i, b := range c.f.Blocks {
			if b.PC == t.Next {
				next = append(next, i)
			}
		}
	}
	for _, n := range next { // the look at EXEC may lead there
		if at := c.copies.of[n]; at >= 0 {
			next = append(next, at)
		}
	}
	c.forgetKinds(next)
	for i := range c.spots {
		s := &c.spots[i]
		in := func(b int) bool { return s.from <= b && b <= s.to }
		if in(c.b.Index) || !slices.ContainsFunc(next, in) {
			continue
		}
		a.G(x86.MOV, 8, rArea, x86.M(rFrame, frameAffine))
		owner, other := c.affineOwner(s), a.NewLabel()
		a.Alu(x86.CMP, 8, rState, owner)
		a.Jcc(x86.NE, other)
		a.MovMI(8, owner, 0)
		a.Bind(other)
	}
}

// affineOwner is the owner of the wave's place, whose number is in RAX then; rArea is to be set.
func (c *compiler) affineOwner(s *affineSpot) x86.RM {
	a := &c.a
	a.G(x86.MOV, 4, x86.RAX, x86.M(rState, offSpare(crewIndex)))
	a.AluI(x86.AND, 4, x86.R(x86.RAX), affinePlaces-1)
	return x86.MX(rArea, x86.RAX, 8, s.area+affineOwners)
}

// steady tells which nodes are the same as long as the wave stays in the loop.
func (u *affine) steady() []bool {
	c, s := u.c, u.spot
	home := func(rm x86.RM) bool {
		for n := range s.v {
			if rm == x86.M(rState, c.homeOf(uint64(n))) {
				return !s.v[n]
			}
		}
		return false
	}
	scalar := func(rm x86.RM, size int) bool {
		for n := range isa.NumSRegs {
			if rm == x86.M(rState, offS+4*int32(n)) {
				return !s.s[n] && (size == 4 || !s.s[n+1])
			}
		}
		return false
	}
	all := make([]bool, len(u.nodes))
	for i, n := range u.nodes {
		switch n.op {
		case anConst:
			all[i] = true
		case anU32:
			all[i] = scalar(n.rm, 4)
		case anU64:
			all[i] = scalar(n.rm, 8)
		case anIn:
			all[i] = home(u.inputs[n.a].rm)
		case anInPair:
			all[i] = home(u.inputs[n.a].rm) && home(u.inputs[n.b].rm)
		case anShl, anShr:
			all[i] = all[n.a]
		default:
			all[i] = all[n.a] && all[n.b]
		}
	}
	for i := range u.loads {
		all[u.loads[i].node] = false // Go looks for it elsewhere
	}
	return all
}
