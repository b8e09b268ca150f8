package lift

import "github.com/pumice-gpu/pumice/engine/ir"

// Nodes of a BVH that mean something to ds_bvh_stack_rtn_b32.
const (
	invalidNode  = 0xffffffff
	terminalNode = 0xfffffffe
)

// bvhStackRule is ds_bvh_stack_rtn_b32: a lane's short stack of node pointers in LDS, for a traversal of a BVH.
//
// The address register holds the stack's base (bits 31:18, in dwords) and how many entries were pushed (bits 17:0). Entry i of a lane lies
// 128*(i mod size) bytes after its base; OFFSET1[5:4] gives the size, 8 << n (RDNA 3 manual, "DS Stack Ops for Ray Tracing").
// data1 has the up to four children of a box node, the nearest first. Those but the first are pushed, the farthest first; the first is
// returned, or when there is none the top entry, which becomes invalid; of an empty stack the terminal node. After the ray has come
// back to a parent without a stack, data0 is the node it was at: children nearer than it, which have been visited, are left out. The
// manual numbers the children the other way round than programs give them.
//
// fidelity: approximate isa-bvh-stack: the order of children and the empty stack are as in the software form of AMD's gpurt, of which the manual's pseudo-code differs
func bvhStackRule(c *ictx, _ []string) error {
	addr, lv, data := c.vgprOperand("addr"), c.vgprOperand("data0"), c.vgprOperand("data1")
	if addr == nil || lv == nil || data == nil || len(c.dst) != 2 {
		return errOperand
	}
	is := func(x ir.ID, y ir.ID) ir.ID { return c.pure(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.EQ}, x, y) }
	and := func(x, y ir.ID) ir.ID { return c.opx(ir.OpMAnd, ir.M, x, y) }
	or := func(x, y ir.ID) ir.ID { return c.opx(ir.OpMOr, ir.M, x, y) }
	not := func(x ir.ID) ir.ID { return c.opx(ir.OpMNot, ir.M, x) }
	a, last := c.reg(addr, 0, false), c.reg(lv, 0, false)
	base := c.op2(ir.OpShl, c.op2(ir.OpLShr, a, c.c32(18)), c.c32(2))
	n := c.op2(ir.OpAnd, a, c.c32(0x3ffff))
	size := uint32(8) << (c.in.Offset1 >> 4 & 3)
	entry := func(i ir.ID) address {
		off := c.op2(ir.OpAdd, base, c.op2(ir.OpShl, c.op2(ir.OpAnd, i, c.c32(size-1)), c.c32(7)))
		return address{space: ir.LDS, base: ir.NoID, off: off, mask: c.mask}
	}
	child := c.regs(data, 0, 4)
	anew := is(last, c.c32(invalidNode))
	valid := anew
	for _, x := range child {
		valid = or(valid, is(x, last))
	}
	for i := 3; i > 0; i-- {
		valid = and(valid, or(anew, not(is(child[i], last))))
		push := and(valid, not(is(child[i], c.c32(invalidNode))))
		at := entry(n)
		at.mask = and(c.mask, push)
		c.store1(at, 4, child[i:i+1])
		more := and(push, not(is(n, c.c32(0x3ffff))))
		n = c.opx(ir.OpSelect, ir.V32, more, c.op2(ir.OpAdd, n, c.c32(1)), n)
	}
	valid = and(valid, or(anew, not(is(child[0], last))))
	have := and(valid, not(is(child[0], c.c32(invalidNode))))
	empty := is(n, c.c32(0))
	pop := and(c.mask, not(or(have, empty)))
	n = c.opx(ir.OpSelect, ir.V32, pop, c.op2(ir.OpSub, n, c.c32(1)), n)
	at := entry(n)
	at.mask = pop
	top := c.load(at, 4, false)[0]
	c.store1(at, 4, []ir.ID{c.c32(invalidNode)})
	top = c.opx(ir.OpSelect, ir.V32, empty, c.c32(terminalNode), top)
	c.setRegs(&c.dst[0], 0, []ir.ID{c.opx(ir.OpSelect, ir.V32, have, child[0], top)})
	c.setRegs(&c.dst[1], 0, []ir.ID{c.op2(ir.OpOr, c.op2(ir.OpAnd, a, c.c32(0xfffc0000)), n)})
	return nil
}
