package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// The waves of a work-group load neighbouring pieces of memory in each turn of such a loop, and each turn is on another page. A wave that goes through the
// whole array by itself finds in no turn what the one before it has brought in: pages' translations are no longer there when the next wave comes to them.
// So a wave in a crew gives way to the next one every strideTurn turns, where the order of waves cannot show.

// strideTurn is for how many turns a wave goes on when there are others: long against coming into the form, short against the first TLB.
const strideTurn = 32

// orderless tells whether the order in which waves go through the phases that the current block is in cannot show. Additions to the LDS without
// a result may come in any order.
func (c *compiler) orderless() bool {
	if len(c.f.Blocks) > phaseBlocks {
		return false
	}
	for i := range c.f.Blocks {
		done := map[int]touch{}
		all, ok := reach(c.f, []int{i}, done)
		if _, here := done[c.b.Index]; !here {
			continue
		}
		switch {
		case !ok || all.both(false, true):
			return false
		case all.both(true, false):
			for n := range done {
				for _, id := range c.f.Blocks[n].Code {
					if v := c.f.V(id); touchOf(v)&(readsLDS|writesLDS) != 0 && !adds(v) {
						return false
					}
				}
			}
		}
	}
	return true
}

// adds tells whether v adds to the LDS, whatever was there.
func adds(v *ir.Value) bool {
	return v.Op == ir.OpAtomic && v.Space == ir.LDS && v.Type == ir.Void && v.Width == 4 && (v.Atomic == ir.AtomicAdd || v.Atomic == ir.AtomicSub)
}

// strideYield gives way to the crew's next wave that is not at the barrier, or goes to on.
func (c *compiler) strideYield(st *stride, on x86.Label) {
	c.p.barriers++
	c.p.yields++
	a := &c.a
	a.AluI(x86.SUB, 4, x86.M(rFrame, st.frame+strideLeftTurns), 1)
	a.Jcc(x86.G, on)
	a.MovMI(4, x86.M(rFrame, st.frame+strideLeftTurns), strideTurn)
	a.G(x86.MOV, 4, x86.RCX, x86.M(rFrame, frameWay))
	a.G(x86.MOV, 8, x86.RDX, x86.MX(rState, x86.RCX, 1, offSpare(crewNext)))
	a.GS(x86.TEST, 8, x86.R(x86.RDX), x86.RDX)
	a.Jcc(x86.E, on)
	c.crewOther(&on)
	c.strideLeave(st)
	c.setPC(st.b.PC)
	c.crewResumeAt(c.labels[c.b.Index])
	c.crewSwitch(x86.R(x86.RDX))
}

// strideAhead asks for what a load will want prefetchFar turns later; R8 is its host address. The first turn after the form was entered cannot tell
// how far a turn goes, and takes what was so before: it has no effect but on time.
func (c *compiler) strideAhead(n int32, st *stride) {
	a := &c.a
	at := c.frameArea(16)
	last, step := x86.M(rFrame, at), x86.M(rFrame, at+8)
	first, done := a.NewLabel(), a.NewLabel()
	a.G(x86.MOV, 8, x86.RAX, x86.R(x86.R8))
	a.Alu(x86.SUB, 8, x86.RAX, last)
	a.GS(x86.MOVS, 8, last, x86.R8)
	a.AluI(x86.CMP, 4, x86.M(rFrame, st.frame+strideDone), 0)
	a.Jcc(x86.E, first)
	a.GS(x86.MOVS, 8, step, x86.RAX)
	a.Bind(first)
	a.G(x86.MOV, 8, x86.RAX, step)
	a.G(x86.LEA, 8, x86.RCX, x86.M(x86.RAX, mem.PageSize/2))
	a.AluI(x86.CMP, 8, x86.R(x86.RCX), mem.PageSize)
	a.Jcc(x86.B, done)
	for i := int32(0); i < n; i += 64 {
		a.G1(x86.PREFETCHT0, 4, x86.MX(x86.R8, x86.RAX, prefetchFar, i))
	}
	a.Bind(done)
}
