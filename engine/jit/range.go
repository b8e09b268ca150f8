package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// span is an access that looks at a Range: a piece of address space that is contiguous in host memory, which may be much more than a page.
type span struct {
	index int // of the Range
	n     uint64
	more  uint64 // bytes for each work-group but the first, in streams whose unit is all of them
	acc   mem.Access
}

// operand is a number that is constant or in a register or memory.
type operand struct {
	imm bool
	n   int32
	rm  x86.RM
}

func immediate(n int32) operand { return operand{imm: true, n: n} }

// newSpan makes the span of access i of the function.
func (c *compiler) newSpan(i int, n int32, write bool) span {
	acc := mem.Read
	if write {
		acc = mem.Write
	}
	return span{index: int((c.f.PC>>8 + uint64(i)) % mem.NumRanges), n: uint64(n), acc: acc}
}

// rangeHost makes the address in R8 a host address when the Range of s has all n bytes of the access; else it goes to out. RDX holds the TLB; RAX
// and RCX are temporaries.
func (c *compiler) rangeHost(s *span, n operand, out x86.Label) {
	a := &c.a
	r := int32(mem.RangesOffset + s.index*mem.RangeSize)
	size := r + mem.RangeR
	if s.acc == mem.Write {
		size = r + mem.RangeW
	}
	a.G(x86.MOV, 8, x86.RAX, x86.R(x86.R8))
	a.Alu(x86.SUB, 8, x86.RAX, x86.M(x86.RDX, r+mem.RangeBase))
	a.G(x86.MOV, 8, x86.RCX, x86.M(x86.RDX, size))
	a.Alu(x86.CMP, 8, x86.RAX, x86.R(x86.RCX))
	a.Jcc(x86.AE, out)
	if n.imm {
		a.AluI(x86.ADD, 8, x86.R(x86.RAX), n.n)
	} else {
		a.Alu(x86.ADD, 8, x86.RAX, n.rm)
	}
	a.Alu(x86.CMP, 8, x86.RAX, x86.R(x86.RCX))
	a.Jcc(x86.A, out)
	a.Alu(x86.ADD, 8, x86.R8, x86.M(x86.RDX, r+mem.RangeDelta))
}

// byRange is the fast way of an access of n bytes at address R8 to its host address; when its Range does not know it, the code goes on
// with R8 as it was.
func (x *access) byRange(n int32, there x86.Label) {
	c, a := x.c, &x.c.a
	s := &c.p.slots[x.id].span
	*s = c.newSpan(int(x.v.PC>>2), n, x.store)
	out := a.NewLabel()
	c.rangeHost(s, immediate(n), out)
	switch {
	case x.store || c.m.Quick:
	case c.inLoop():
		x.prefetch(n)
	case c.inCrewLoop():
		x.step()
		for i := int32(0); i < n; i += 64 {
			a.G1(x86.PREFETCHT0, 4, x86.MX(x86.R8, x86.RBX, 1, i))
		}
	}
	a.Jmp(there)
	a.Bind(out)
}

// inLoop tells whether the block goes backward.
func (c *compiler) inLoop() bool {
	t := &c.b.Term
	return t.Then != t.Else && (c.backward(t.Then) || c.backward(t.Else)) && len(c.f.Blocks) > 1
}

// prefetchFar is how many iterations ahead a loop's loads are asked for.
const prefetchFar = 8

// prefetch asks for what a loop will load from host address R8 on: the waves of a grid-stride loop step over pages, where the machine's own
// prefetchers do not see far. It has no effect but on time. A step that the last iteration did not make is not followed.
func (x *access) prefetch(n int32) {
	a := &x.c.a
	done := x.farStep()
	for i := int32(0); i < n; i += 64 {
		a.G1(x86.PREFETCHT0, 4, x86.MX(x86.R8, x86.RAX, prefetchFar, i))
	}
	a.Bind(done)
}

// farStep leaves in RAX how far host address R8 is from that of the last iteration, if it is one step again and a large one; else it goes to done.
func (x *access) farStep() (done x86.Label) {
	c, a := x.c, &x.c.a
	at := c.frameArea(16)
	done = a.NewLabel()
	a.G(x86.MOV, 8, x86.RAX, x86.R(x86.R8))
	a.Alu(x86.SUB, 8, x86.RAX, x86.M(rFrame, at))
	a.GS(x86.MOVS, 8, x86.M(rFrame, at), x86.R8)
	a.Alu(x86.CMP, 8, x86.RAX, x86.M(rFrame, at+8))
	a.GS(x86.MOVS, 8, x86.M(rFrame, at+8), x86.RAX)
	a.Jcc(x86.NE, done)
	a.G(x86.LEA, 8, x86.RCX, x86.M(x86.RAX, mem.PageSize/2))
	a.AluI(x86.CMP, 8, x86.R(x86.RCX), mem.PageSize)
	a.Jcc(x86.B, done)
	return done
}

// inCrewLoop tells whether the block is in a loop with a barrier.
func (c *compiler) inCrewLoop() bool {
	at, blocks := c.copies.guest[c.b.Index], c.f.Blocks[:c.copies.first]
	if c.m.Quick {
		return false
	}
	for j, b := range blocks[at:] {
		t, to := &b.Term, at+1
		switch t.Kind {
		case ir.TermBranch:
			to = min(t.Then, t.Else)
		case ir.TermJump:
			to = t.Then
		}
		if to > at {
			continue
		}
		for _, x := range blocks[to : at+j+1] {
			if t := &x.Term; t.Kind == ir.TermExit && t.Exit == ir.ExitBarrier {
				return true
			}
		}
	}
	return false
}

// step leaves in RBX how far host address R8 is from where the wave did this access last. In a loop with a barrier the wave will do
// it again that much further, when all others have had their turn; what a tile has to load is asked for then.
func (x *access) step() {
	c, a := x.c, &x.c.a
	at := c.frameArea(8 * maxCrew)
	a.G(x86.MOV, 4, x86.RBX, x86.M(rState, offSpare(crewIndex)))
	last := x86.MX(rFrame, x86.RBX, 8, at)
	a.G(x86.MOV, 8, x86.RAX, x86.R(x86.R8))
	a.Alu(x86.SUB, 8, x86.RAX, last)
	a.GS(x86.MOVS, 8, last, x86.R8)
	a.G(x86.MOV, 8, x86.RBX, x86.R(x86.RAX))
}
