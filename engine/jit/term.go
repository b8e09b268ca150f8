package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// terminator emits the end of a block: fuel, then a jump or an exit.
func (c *compiler) terminator() {
	a, b := &c.a, c.b
	t := &b.Term
	c.mark(ir.NoID, t.PC)
	c.enterLoops()
	switch t.Kind {
	case ir.TermJump:
		c.spend(b.Insts)
		c.jump(t.Then)
	case ir.TermBranch:
		if x, ok := c.isConst(t.Cond); ok {
			c.spend(b.Insts)
			if x&1 != 0 {
				c.jump(t.Then)
			} else {
				c.jump(t.Else)
			}
			return
		}
		c.spend(b.Insts)
		k := c.vals[t.Cond].comps[0]
		a.AluI(x86.CMP, 4, c.memOf(k), 0)
		if !c.backward(t.Then) && c.lookFor(t.Then) < 0 {
			a.Jcc(x86.NE, c.edge(t.Then))
		} else {
			else_ := a.NewLabel()
			a.Jcc(x86.E, else_)
			c.jump(t.Then)
			a.Bind(else_)
		}
		c.jump(t.Else)
	case ir.TermExit:
		switch t.Exit {
		case ir.ExitIndirect, ir.ExitMode, ir.ExitFetch:
			c.leaveFor(t)
			return
		}
		c.spend(b.Insts)
		next := t.Next
		if t.Exit == ir.ExitTrap || t.Exit == ir.ExitIllegal {
			next = t.PC
		}
		c.setPC(next)
		c.storeImm(offArg, t.Imm)
		if t.Exit == ir.ExitBarrier {
			c.crewBarrier(t)
		}
		c.exit(t.Exit)
	}
}

// exit leaves the block for Go.
func (c *compiler) exit(e ir.Exit) {
	c.a.MovMI(4, x86.M(rFrame, frameOp), int32(c.b.Index))
	c.a.MovMI(4, x86.M(rState, offExit), int32(e))
	c.ret(retExit)
}

// destination is the guest PC that t leaves for, if it is known.
func (c *compiler) destination(t *ir.Term) (pc uint64, known bool) {
	if t.Exit != ir.ExitIndirect {
		return c.f.PC + uint64(int64(int32(t.Next))), true
	}
	pc, known = c.isConst(t.Cond)
	return pc &^ 3, known
}

// leaveFor emits a terminator that goes on elsewhere: by a link, or else by Go.
func (c *compiler) leaveFor(t *ir.Term) {
	a, b := &c.a, c.b
	if pc, known := c.destination(t); known {
		a.MovI(x86.RAX, pc)
	} else {
		a.G(x86.MOV, 8, x86.RAX, c.memOf(c.vals[t.Cond].comps[0]))
		a.AluI(x86.AND, 8, x86.R(x86.RAX), -4)
	}
	c.spend(b.Insts)
	out := a.NewLabel()
	c.jumpOut(out)
	arg, index := t.Imm, b.Index
	c.tails = append(c.tails, func() {
		a.Bind(out)
		a.GS(x86.MOVS, 8, x86.M(rState, offPC), x86.RAX)
		if t.Exit != ir.ExitIndirect {
			a.MovI(x86.RAX, arg)
		}
		a.GS(x86.MOVS, 8, x86.M(rState, offArg), x86.RAX)
		a.MovMI(4, x86.M(rFrame, frameOp), int32(index))
		a.MovMI(4, x86.M(rState, offExit), int32(t.Exit))
		c.ret(retExit)
	})
}

// memOf is where a uniform or mask component is between segments.
func (c *compiler) memOf(k int32) x86.RM {
	m := &c.comps[k]
	switch {
	case m.of >= 0:
		return c.memOf(m.of).Add(4)
	case m.home >= 0:
		return x86.M(rState, m.home)
	}
	return x86.M(rFrame, c.slot(k))
}

// spend takes n guest instructions from the fuel.
func (c *compiler) spend(n int) { c.a.AluI(x86.SUB, 8, x86.M(rState, offFuel), int32(max(n, 1))) }

// jump goes to a block of the Func; backward only while there is fuel.
func (c *compiler) jump(to int) {
	a := &c.a
	if c.backward(to) {
		a.AluI(x86.CMP, 8, x86.M(rState, offFuel), 0)
		out := a.NewLabel()
		a.Jcc(x86.L, out)
		pc := c.f.Blocks[to].PC
		c.tails = append(c.tails, func() {
			c.a.Bind(out)
			c.setPC(pc)
			c.ret(retFuel)
		})
	}
	c.look(to)
	a.Jmp(c.edge(to))
}

// setPC stores the guest PC at offset off of the Func.
func (c *compiler) setPC(off uint32) {
	c.storeImm(offPC, c.f.PC+uint64(int64(int32(off))))
}

func (c *compiler) storeImm(at int32, x uint64) {
	if x == uint64(int64(int32(x))) {
		c.a.MovMI(8, x86.M(rState, at), int32(x))
		return
	}
	c.a.MovI(x86.RAX, x)
	c.a.GS(x86.MOVS, 8, x86.M(rState, at), x86.RAX)
}
