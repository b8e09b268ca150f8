package jit

import (
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// How the lanes' addresses of a tile lie is looked at before each use (ldstile.go, ldscolumn.go). In a loop that does not write the addresses' registers one look
// is enough: a bit of crewKinds in the wave's header stands for what it found. A wave that comes into the loop from outside it has no bits, nor has any
// that Go calls code for, since registers may have changed in between. For the same reason no links lead to such a Program; so one that calls
// others or changes MODE has no bits.

// kindLoop is a loop whose tiles are looked at once.
type kindLoop struct {
	from, to int // blocks
	v        vregs
}

// maxKinds is how many bits there are.
const maxKinds = 64

// findKindLoops fills c.kindLoops with the loops that use the LDS.
func (c *compiler) findKindLoops() {
	c.kindLoops, c.kinds = c.kindLoops[:0], 0
	if c.m.Quick || c.m.AVX2 {
		return
	}
	for _, b := range c.f.Blocks {
		if e := b.Term.Exit; b.Term.Kind == ir.TermExit && (e == ir.ExitIndirect || e == ir.ExitMode || e == ir.ExitFetch) {
			return
		}
	}
	for _, b := range c.f.Blocks {
		if !slices.ContainsFunc(b.Code, func(id ir.ID) bool {
			v := c.f.V(id)
			return (v.Op == ir.OpLoad || v.Op == ir.OpStore) && v.Space == ir.LDS
		}) {
			continue
		}
		from, to, ok := c.innermost(b.Index)
		if !ok || slices.ContainsFunc(c.kindLoops, func(l kindLoop) bool { return l.from == from && l.to == to }) {
			continue
		}
		l := kindLoop{from: from, to: to}
		for _, b := range c.f.Blocks[from : to+1] {
			for _, id := range b.Code {
				v := c.f.V(id)
				if v.Op != ir.OpVSet {
					continue
				}
				l.v.add(v.Imm)
			}
		}
		c.kindLoops = append(c.kindLoops, l)
	}
}

// kindBits gives the first of n bits of crewKinds for what is found of the addresses ks, or -1 where that does not last.
func (c *compiler) kindBits(n int, ks ...int32) int {
	at := c.b.Index
	var in *kindLoop
	for i := range c.kindLoops {
		if l := &c.kindLoops[i]; l.from <= at && at <= l.to && (in == nil || l.to-l.from < in.to-in.from) {
			in = l
		}
	}
	if in == nil || c.kinds+n > maxKinds {
		return -1
	}
	for _, k := range ks {
		m := &c.comps[k]
		if m.home < offV || m.kind != compZ {
			return -1
		}
		if reg := uint64(m.home-offV) / uint64(4*c.lanes); in.v.has(reg) || m.home != c.homeOf(reg) {
			return -1
		}
	}
	bit := c.kinds
	c.kinds += n
	c.p.kinds = true
	return bit
}

// known emits a jump to to if bit is set, which must not be -1.
func (c *compiler) known(bit int, to x86.Label) {
	c.a.TestI(4, c.kindWord(bit), int32(uint32(1)<<(bit&31)))
	c.a.Jcc(x86.NE, to)
}

// learn emits the setting of bit, if it is not -1.
func (c *compiler) learn(bit int) {
	if bit >= 0 {
		c.a.AluI(x86.OR, 4, c.kindWord(bit), int32(uint32(1)<<(bit&31)))
	}
}

func (c *compiler) kindWord(bit int) x86.RM {
	return x86.M(rState, offSpare(crewKinds)+int32(bit>>5*4))
}

// forgetKinds emits that nothing is known, if the end of the block leads into one of the loops from outside it; next are the blocks to
// which it leads.
func (c *compiler) forgetKinds(next []int) {
	for i := range c.kindLoops {
		l := &c.kindLoops[i]
		in := func(b int) bool { return l.from <= b && b <= l.to }
		if !in(c.b.Index) && slices.ContainsFunc(next, in) {
			c.a.MovMI(8, x86.M(rState, offSpare(crewKinds)), 0)
			return
		}
	}
}
