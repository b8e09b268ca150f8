package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// canAtomic tells whether atomic knows the operation.
func (c *compiler) canAtomic(v *ir.Value) bool {
	if v.Width != 4 && v.Width != 8 {
		return false
	}
	if v.Space == ir.LDS {
		if v.Args[0] != ir.NoID || v.Args[1] == ir.NoID || v.Imm&ir.OffSigned != 0 || c.v(v.Args[1]).Type != ir.V32 && c.v(v.Args[1]).Type != ir.S32 {
			return false
		}
	} else if !c.canLaneAddr(v) {
		return false
	}
	for i, id := range v.Args[3:] {
		if id == ir.NoID {
			if i == 0 || needsB(v.Atomic) {
				return false
			}
			continue
		}
		want := [2]ir.Type{ir.V32, ir.S32}
		if v.Width == 8 {
			want = [2]ir.Type{ir.V64, ir.S64}
		}
		if t := c.v(id).Type; t != want[0] && t != want[1] {
			return false
		}
	}
	switch v.Atomic {
	case ir.AtomicFAdd:
		return (v.Kind == ir.F32 && v.Width == 4 || v.Kind == ir.F64 && v.Width == 8) && plainFP(v.FP)
	case ir.AtomicFMin, ir.AtomicFMax:
		return (v.Kind == ir.F32 && v.Width == 4 || v.Kind == ir.F64 && v.Width == 8) && plainFP(v.FP) && v.FP&ir.FPIEEE != 0
	case ir.AtomicPkFAdd:
		return false
	case ir.AtomicCmpSwap:
		return !v.Kind.Float()
	case ir.AtomicSubClamp, ir.AtomicCSub, ir.AtomicCondSub, ir.AtomicWrap, ir.AtomicMskOr:
		return true
	}
	return v.Atomic <= ir.AtomicDec
}

func needsB(op ir.AtomicOp) bool {
	return op == ir.AtomicCmpSwap || op == ir.AtomicMskOr || op == ir.AtomicWrap
}

// locked are the read-modify-write instructions for atomics whose old value nobody wants.
var locked = map[ir.AtomicOp]x86.Alu{
	ir.AtomicAdd: x86.ADD, ir.AtomicSub: x86.SUB, ir.AtomicAnd: x86.AND, ir.AtomicOr: x86.OR, ir.AtomicXor: x86.XOR,
}

// atomic does an atomic lane by lane. All waves of a work-group run on one thread, so nothing locks its LDS.
func (c *compiler) atomic(id ir.ID, v *ir.Value) {
	a := &c.a
	size := int(v.Width)
	if c.canLDSUpdate(id, v) {
		c.ldsUpdate(id, v)
		return
	}
	if v.Space == ir.LDS {
		c.clearOut(id)
		c.gmask(x86.R14, v.Args[2])
		a.G(x86.MOV, 8, x86.RDX, x86.M(rState, offLDS))
		a.G(x86.MOV, 8, x86.R13, x86.M(rState, offLDSLen))
		a.AluI(x86.SUB, 8, x86.R(x86.R13), int32(size))
		c.eachLane(func() {
			skip := a.NewLabel()
			c.lane32(x86.R8, v.Args[1], 0)
			if n := int32(v.Imm); n != 0 {
				a.AluI(x86.ADD, 4, x86.R(x86.R8), n)
			}
			a.Alu(x86.CMP, 8, x86.R8, x86.R(x86.R13))
			a.Jcc(x86.G, skip) // both are below 2^63, the bound may be negative
			a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.RDX))
			c.update(id, v, size, false)
			a.Bind(skip)
		})
		return
	}
	slow, done := c.coldHelper(id)
	table := c.laneTable(1)
	c.hostTable(v, table, int32(size), 1, mem.Read|mem.Write, true, slow)
	c.clearOut(id)
	c.gmask(x86.R14, v.Args[2])
	c.eachLane(func() {
		skip := a.NewLabel()
		a.G(x86.MOV, 8, x86.R8, x86.MX(rFrame, x86.RCX, 8, table))
		if v.Space == ir.Flat {
			a.GS(x86.TEST, 8, x86.R(x86.R8), x86.R8)
			a.Jcc(x86.E, skip)
		}
		c.update(id, v, size, true)
		a.Bind(skip)
	})
	a.Bind(done)
}

// update does v on the memory at R8 for lane RCX: R12 is the operand, RAX the old value, RBX the new one; R9 and R15 are
// temporaries.
func (c *compiler) update(id ir.ID, v *ir.Value, size int, lock bool) {
	a := &c.a
	p := x86.M(x86.R8, 0)
	operand := func(r x86.Reg, arg ir.ID) {
		if size == 8 {
			c.lane64(r, x86.R9, arg)
		} else {
			c.lane32(r, arg, 0)
		}
	}
	if v.Atomic == ir.AtomicFAdd || v.Atomic == ir.AtomicFMin || v.Atomic == ir.AtomicFMax {
		operand(x86.R12, v.Args[3])
		mov := x86.VMOVD
		if size == 8 {
			mov = x86.VMOVQ
		}
		a.E(mov, x86.L128, 1, 0, x86.R(x86.R12), noMod)
	} else {
		operand(x86.R12, v.Args[3])
	}
	want := len(c.vals[id].comps) > 0
	out := func(r x86.Reg) {
		if !want {
			return
		}
		c.outLane(id, 0, r)
		if size == 8 {
			a.GI8(x86.SHR, 8, x86.R(r), 32)
			c.outLane(id, 1, r)
		}
	}
	if op, ok := locked[v.Atomic]; ok && !want {
		if lock {
			a.Lock()
		}
		a.AluS(op, size, p, x86.R12)
		return
	}
	if lock {
		switch v.Atomic {
		case ir.AtomicSwap:
			a.GS(x86.XCHG, size, p, x86.R12)
			out(x86.R12)
			return
		case ir.AtomicSub, ir.AtomicAdd:
			if v.Atomic == ir.AtomicSub {
				a.G1(x86.NEG, size, x86.R(x86.R12))
			}
			a.Lock()
			a.GS(x86.XADD, size, p, x86.R12)
			out(x86.R12)
			return
		case ir.AtomicCmpSwap:
			operand(x86.RAX, v.Args[4])
			a.Lock()
			a.GS(x86.CMPXCHG, size, p, x86.R12)
			out(x86.RAX)
			return
		}
	}
	if needsB(v.Atomic) {
		operand(x86.R15, v.Args[4])
	}
	a.G(x86.MOV, size, x86.RAX, p)
	again := a.NewLabel()
	a.Bind(again)
	c.combine(v, size)
	if lock {
		a.Lock()
		a.GS(x86.CMPXCHG, size, p, x86.RBX)
		a.Jcc(x86.NE, again)
	} else {
		a.GS(x86.MOVS, size, p, x86.RBX)
	}
	out(x86.RAX)
}

// combine makes RBX what v leaves in memory from the old value in RAX, the operand in R12 and the second one in R15. R9 is
// a temporary; RAX and the operands are kept.
func (c *compiler) combine(v *ir.Value, size int) {
	a := &c.a
	const old, x, y, b = x86.RAX, x86.R12, x86.RBX, x86.R15
	mov := func(r x86.Reg) { a.G(x86.MOV, size, y, x86.R(r)) }
	switch v.Atomic {
	case ir.AtomicSwap:
		mov(x)
	case ir.AtomicCmpSwap:
		mov(old)
		a.Alu(x86.CMP, size, old, x86.R(b))
		a.Cmov(x86.E, size, y, x86.R(x))
	case ir.AtomicAdd, ir.AtomicSub, ir.AtomicAnd, ir.AtomicOr, ir.AtomicXor:
		mov(old)
		a.Alu(locked[v.Atomic], size, y, x86.R(x))
	case ir.AtomicRSub:
		mov(x)
		a.Alu(x86.SUB, size, y, x86.R(old))
	case ir.AtomicSMin, ir.AtomicUMin, ir.AtomicSMax, ir.AtomicUMax:
		mov(old)
		a.Alu(x86.CMP, size, x, x86.R(old))
		a.Cmov([...]x86.CC{ir.AtomicSMin: x86.L, ir.AtomicUMin: x86.B, ir.AtomicSMax: x86.G, ir.AtomicUMax: x86.A}[v.Atomic], size, y, x86.R(x))
	case ir.AtomicInc:
		a.Alu(x86.XOR, 4, x86.R9, x86.R(x86.R9))
		a.G(x86.LEA, 8, y, x86.M(old, 1))
		a.Alu(x86.CMP, size, old, x86.R(x))
		a.Cmov(x86.AE, size, y, x86.R(x86.R9))
	case ir.AtomicDec:
		a.G(x86.LEA, 8, y, x86.M(old, -1))
		a.Alu(x86.CMP, size, old, x86.R(x))
		a.Cmov(x86.A, size, y, x86.R(x))
		a.GS(x86.TEST, size, x86.R(old), old)
		a.Cmov(x86.E, size, y, x86.R(x))
	case ir.AtomicCSub, ir.AtomicCondSub:
		mov(old)
		a.Alu(x86.SUB, size, y, x86.R(x))
		a.Cmov(x86.B, size, y, x86.R(old))
	case ir.AtomicSubClamp:
		a.Alu(x86.XOR, 4, x86.R9, x86.R(x86.R9))
		mov(old)
		a.Alu(x86.SUB, size, y, x86.R(x))
		a.Cmov(x86.B, size, y, x86.R(x86.R9))
	case ir.AtomicMskOr:
		a.GV(x86.ANDN, size, y, x, x86.R(old))
		a.Alu(x86.OR, size, y, x86.R(b))
	case ir.AtomicWrap:
		mov(old)
		a.Alu(x86.ADD, size, y, x86.R(b))
		a.G(x86.MOV, size, x86.R9, x86.R(old))
		a.Alu(x86.SUB, size, x86.R9, x86.R(x))
		a.Cmov(x86.AE, size, y, x86.R(x86.R9))
	case ir.AtomicFAdd, ir.AtomicFMin, ir.AtomicFMax: // the operand is in xmm1
		in, out, add, rng := x86.VMOVD, x86.VMOVDS, x86.VADDSS, x86.VRANGEPS
		if size == 8 {
			in, out, add, rng = x86.VMOVQ, x86.VMOVQS, x86.VADDSD, x86.VRANGEPD
		}
		a.E(in, x86.L128, 0, 0, x86.R(old), noMod)
		switch v.Atomic {
		case ir.AtomicFAdd:
			a.E(add, x86.L128, 0, 0, x86.V(1), noMod)
		case ir.AtomicFMin:
			a.EI(rng, x86.L128, 0, 0, x86.V(1), 4, noMod)
		default:
			a.EI(rng, x86.L128, 0, 0, x86.V(1), 5, noMod)
		}
		a.E(out, x86.L128, 0, 0, x86.R(y), noMod)
	}
}
