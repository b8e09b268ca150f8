package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// scalars allocates general registers in one scalar run. RAX, RCX and RDX are temporaries of single operations.
type scalars struct {
	c     *compiler
	pos   int
	reg   []int8 // by component: its register, or -1
	own   [16]int32
	first []int32 // by component: its next use in nodes
	nodes []useNode
	seen  []int32 // components with anything in reg or first
	pin   uint16
}

var scalarRegs = [...]x86.Reg{x86.RBX, x86.R8, x86.R9, x86.R10, x86.R11, x86.R12, x86.R13, x86.R14, x86.R15}

func (c *compiler) scalarSegment(ops []ir.ID) {
	g := &c.g
	g.c = c
	for _, k := range g.seen {
		g.reg[k], g.first[k] = noReg, 0
	}
	g.seen, g.nodes = g.seen[:0], append(g.nodes[:0], useNode{pos: notUsed})
	for len(g.reg) < len(c.comps) {
		g.reg, g.first = append(g.reg, noReg), append(g.first, 0)
	}
	for i := range g.own {
		g.own[i] = ownFree
	}
	for i := len(ops) - 1; i >= 0; i-- {
		for _, arg := range c.v(ops[i]).Args {
			if arg == ir.NoID {
				continue
			}
			for _, k := range c.vals[arg].comps {
				if g.first[k] == 0 {
					g.seen = append(g.seen, k)
				}
				g.nodes = append(g.nodes, useNode{int32(i), g.first[k]})
				g.first[k] = int32(len(g.nodes) - 1)
			}
		}
	}
	for i, id := range ops {
		g.pos, g.pin = i, 0
		v := c.v(id)
		c.scalarOp(id, v)
		for _, arg := range v.Args {
			if arg != ir.NoID {
				for _, k := range c.vals[arg].comps {
					g.drop(k)
				}
			}
		}
		for _, k := range c.vals[id].comps {
			g.drop(k)
		}
	}
}

// drop frees k's register when the run does not use it again.
func (g *scalars) drop(k int32) {
	if r := g.reg[k]; r >= 0 && g.nextUse(k) == notUsed {
		g.own[r], g.reg[k] = ownFree, noReg
	}
}

func (g *scalars) nextUse(k int32) int { return nextUse(g.nodes, &g.first[k], g.pos) }

func (g *scalars) alloc(k int32) x86.Reg {
	best, far := x86.RAX, -1
	for _, r := range scalarRegs {
		if g.pin>>r&1 != 0 {
			continue
		}
		o := g.own[r]
		if o == ownFree {
			best = r
			break
		}
		if n := g.nextUse(o); n > far {
			best, far = r, n
		}
	}
	if o := g.own[best]; o >= 0 {
		m := &g.c.comps[o]
		if m.home < 0 && m.def == g.c.seg && m.last == g.c.seg { // not in memory yet
			g.c.a.GS(x86.MOVS, 8, x86.M(rFrame, g.c.slot(o)), best)
			m.def-- // from now on it can be read from its slot
		}
		g.reg[o] = noReg
	}
	g.own[best], g.reg[k] = k, int8(best)
	g.seen = append(g.seen, k)
	g.pin |= 1 << best
	return best
}

func (c *compiler) gsize(k int32) int {
	if m := &c.comps[k]; m.wide || m.kind == compK && c.lanes == 64 {
		return 8
	}
	return 4
}

// rm is value id (component i) as an operand; constants go to tmp.
func (g *scalars) rm(id ir.ID, i int, tmp x86.Reg) x86.RM {
	c := g.c
	if x, ok := c.isConst(id); ok {
		c.a.MovI(tmp, c.trim(id, x))
		return x86.R(tmp)
	}
	k := c.vals[id].comps[i]
	if x, ok := c.compConst(k); ok {
		c.a.MovI(tmp, x)
		return x86.R(tmp)
	}
	if r := g.reg[k]; r >= 0 {
		g.pin |= 1 << r
		return x86.R(x86.Reg(r))
	}
	if g.nextUse(k) < notUsed {
		return x86.R(g.load(k))
	}
	return g.c.memOf(k)
}

func (c *compiler) trim(id ir.ID, x uint64) uint64 {
	switch c.v(id).Type {
	case ir.S1:
		return x & 1
	case ir.S32:
		return uint64(uint32(x))
	case ir.M:
		return x & c.full()
	}
	return x
}

func (g *scalars) load(k int32) x86.Reg {
	r := g.alloc(k)
	g.c.a.G(x86.MOV, g.c.gsize(k), r, g.c.memOf(k))
	return r
}

// in is value id in a register that must not be changed; constants go to tmp.
func (g *scalars) in(id ir.ID, i int, tmp x86.Reg) x86.Reg {
	c := g.c
	m := g.rm(id, i, tmp)
	if !m.IsMem() {
		return x86.Reg(m.Num())
	}
	c.a.G(x86.MOV, c.gsize(c.vals[id].comps[i]), tmp, m)
	return tmp
}

// mov copies value id into a given register.
func (g *scalars) mov(to x86.Reg, id ir.ID, size int) {
	c := g.c
	if x, ok := c.isConst(id); ok {
		c.a.MovI(to, c.trim(id, x))
		return
	}
	c.a.G(x86.MOV, size, to, g.rm(id, 0, to))
}

// out makes register r (a temporary) the value of component i of id: it is moved to a register of its own, and to its
// slot when a later segment wants it.
func (g *scalars) out(id ir.ID, i int, r x86.Reg) {
	c := g.c
	k := c.vals[id].comps[i]
	size := c.gsize(k)
	m := &c.comps[k]
	if m.last > c.seg {
		c.a.GS(x86.MOVS, size, x86.M(rFrame, c.slot(k)), r)
	}
	if g.nextUse(k) < notUsed {
		d := g.alloc(k)
		c.a.G(x86.MOV, size, d, x86.R(r))
	}
}

// scalarShifts: by an immediate and by a register.
var scalarShifts = [256]struct {
	imm *x86.GInst
	reg *x86.Inst
}{ir.OpShl: {x86.SHL, x86.SHLX}, ir.OpLShr: {x86.SHR, x86.SHRX}, ir.OpAShr: {x86.SAR, x86.SARX}}

// minMaxCC is when the second argument is taken.
var minMaxCC = [256]x86.CC{ir.OpMinU: x86.A, ir.OpMaxU: x86.B, ir.OpMinS: x86.G, ir.OpMaxS: x86.L}

// scalarAlu are the operations that x86 has in the same form.
var scalarAlu = [256]x86.Alu{ir.OpAdd: x86.ADD, ir.OpSub: x86.SUB, ir.OpAnd: x86.AND, ir.OpOr: x86.OR, ir.OpXor: x86.XOR,
	ir.OpMAnd: x86.AND, ir.OpMOr: x86.OR, ir.OpMXor: x86.XOR}

var predCC = [256]x86.CC{ir.EQ: x86.E, ir.NE: x86.NE, ir.ULT: x86.B, ir.ULE: x86.BE, ir.UGT: x86.A, ir.UGE: x86.AE,
	ir.SLT: x86.L, ir.SLE: x86.LE, ir.SGT: x86.G, ir.SGE: x86.GE}

// canScalar tells whether scalarOp knows the operation.
func (c *compiler) canScalar(v *ir.Value) bool {
	switch v.Op {
	case ir.OpSGet, ir.OpSGet64, ir.OpMGet, ir.OpSSet, ir.OpSSet64, ir.OpMSet,
		ir.OpPair, ir.OpLo, ir.OpHi, ir.OpZext, ir.OpSext, ir.OpMToS, ir.OpSToM, ir.OpBToS, ir.OpSToB, ir.OpZext64, ir.OpSext64,
		ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpMulU64, ir.OpMulS64, ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpNot,
		ir.OpShl, ir.OpLShr, ir.OpAShr, ir.OpMinU, ir.OpMaxU, ir.OpMinS, ir.OpMaxS, ir.OpAbs, ir.OpClz, ir.OpCtz, ir.OpPopcnt,
		ir.OpCarryAdd, ir.OpBorrow, ir.OpOvfAdd, ir.OpOvfSub, ir.OpICmp, ir.OpSelect,
		ir.OpMAnd, ir.OpMOr, ir.OpMXor, ir.OpMNot, ir.OpMIsZ, ir.OpMFull:
		return true
	case ir.OpBrev, ir.OpFshr:
		return true
	case ir.OpMulHiU, ir.OpMulHiS: // no instruction has the high half of 64 bits by 64
		return v.Type == ir.S32
	case ir.OpFNeg, ir.OpFAbs:
		return v.Kind == ir.F32 && v.Type == ir.S32 || v.Kind == ir.F64 && v.Type == ir.S64
	case ir.OpFence:
		return true
	}
	return false
}

func (c *compiler) isWide(id ir.ID) bool {
	t := c.v(id).Type
	return t == ir.S64 || t == ir.M && c.lanes == 64
}

func (c *compiler) widthOf(id ir.ID) int {
	if c.isWide(id) {
		return 8
	}
	return 4
}

// scalarOp emits one uniform operation.
func (c *compiler) scalarOp(id ir.ID, v *ir.Value) {
	g, a := &c.g, &c.a
	c.mark(id, v.PC)
	const t = x86.RAX
	size := c.widthOf(id)
	arg := func(i int) ir.ID { return v.Args[i] }
	switch v.Op {
	case ir.OpFence:
	case ir.OpSGet, ir.OpSGet64, ir.OpMGet:
		// Read where it is used, unless the home is about to be overwritten.
		k := c.vals[id].comps[0]
		if c.comps[k].home >= 0 {
			return
		}
		lo, _ := c.regs(v)
		a.G(x86.MOV, size, t, x86.M(rState, offS+int32(lo)*4))
		g.out(id, 0, t)
	case ir.OpSSet, ir.OpSSet64, ir.OpMSet:
		lo, hi := c.regs(v)
		size = int(hi-lo) * 4
		home := x86.M(rState, offS+int32(lo)*4)
		if x, ok := c.isConst(arg(0)); ok {
			x = c.trim(arg(0), x)
			if size == 4 || x == uint64(int64(int32(x))) {
				a.MovMI(size, home, int32(x))
				return
			}
		}
		a.GS(x86.MOVS, size, home, g.in(arg(0), 0, t))
	case ir.OpPair:
		g.mov(x86.RCX, arg(1), 4)
		g.mov(t, arg(0), 4)
		a.GI8(x86.SHL, 8, x86.R(x86.RCX), 32)
		a.Alu(x86.OR, 8, t, x86.R(x86.RCX))
		g.out(id, 0, t)
	case ir.OpLo:
		g.mov(t, arg(0), 4)
		g.out(id, 0, t)
	case ir.OpHi:
		g.mov(t, arg(0), 8)
		a.GI8(x86.SHR, 8, x86.R(t), 32)
		g.out(id, 0, t)
	case ir.OpZext:
		g.mov(t, arg(0), size)
		if n := v.Imm; n < uint64(size*8) {
			if n < 32 {
				a.AluI(x86.AND, 4, x86.R(t), int32(uint32(1<<n-1)))
			} else {
				a.MovI(x86.RCX, 1<<n-1)
				a.Alu(x86.AND, 8, t, x86.R(x86.RCX))
			}
		}
		g.out(id, 0, t)
	case ir.OpSext:
		g.mov(t, arg(0), size)
		n := uint8(uint64(size*8) - v.Imm)
		a.GI8(x86.SHL, size, x86.R(t), n)
		a.GI8(x86.SAR, size, x86.R(t), n)
		g.out(id, 0, t)
	case ir.OpMToS, ir.OpSToM, ir.OpBToS:
		g.mov(t, arg(0), c.widthOf(arg(0)))
		g.out(id, 0, t)
	case ir.OpSToB, ir.OpMIsZ, ir.OpMFull:
		w := c.widthOf(arg(0))
		x := g.in(arg(0), 0, t)
		cc := x86.NE
		if v.Op == ir.OpMFull {
			if c.v(arg(0)).Type == ir.S1 {
				a.AluI(x86.CMP, 4, x86.R(x), 1)
			} else {
				a.AluI(x86.CMP, w, x86.R(x), -1)
			}
			cc = x86.E
		} else {
			a.GS(x86.TEST, w, x86.R(x), x)
			if v.Op == ir.OpMIsZ {
				cc = x86.E
			}
		}
		g.setcc(id, cc)
	case ir.OpZext64:
		g.mov(t, arg(0), 4)
		g.out(id, 0, t)
	case ir.OpSext64:
		g.mov(t, arg(0), 4)
		a.G(x86.MOVSXD, 8, t, x86.R(t))
		g.out(id, 0, t)
	case ir.OpAdd, ir.OpSub, ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpMAnd, ir.OpMOr, ir.OpMXor:
		g.mov(t, arg(0), size)
		if x, ok := c.isConst(arg(1)); ok && (size == 4 || x == uint64(int64(int32(x)))) {
			a.AluI(scalarAlu[v.Op], size, x86.R(t), int32(c.trim(arg(1), x)))
		} else {
			a.Alu(scalarAlu[v.Op], size, t, g.rm(arg(1), 0, x86.RCX))
		}
		g.out(id, 0, t)
	case ir.OpNot:
		g.mov(t, arg(0), size)
		a.G1(x86.NOT, size, x86.R(t))
		g.out(id, 0, t)
	case ir.OpMNot:
		g.mov(t, arg(0), size)
		if v.Type == ir.S1 {
			a.AluI(x86.XOR, 4, x86.R(t), 1)
		} else {
			a.G1(x86.NOT, size, x86.R(t))
		}
		g.out(id, 0, t)
	case ir.OpMul:
		g.mov(t, arg(0), size)
		a.G(x86.IMUL, size, t, g.rm(arg(1), 0, x86.RCX))
		g.out(id, 0, t)
	case ir.OpMulU64, ir.OpMulHiU, ir.OpMulHiS, ir.OpMulS64:
		c.scalarMul(id, v)
	case ir.OpShl, ir.OpLShr, ir.OpAShr:
		g.mov(t, arg(0), size)
		if n, ok := c.isConst(arg(1)); ok {
			m := scalarShifts[v.Op].imm
			if n &= uint64(size*8 - 1); n != 0 {
				a.GI8(m, size, x86.R(t), uint8(n))
			}
		} else {
			m := scalarShifts[v.Op].reg
			a.GV(m, size, t, g.in(arg(1), 0, x86.RCX), x86.R(t))
		}
		g.out(id, 0, t)
	case ir.OpMinU, ir.OpMaxU, ir.OpMinS, ir.OpMaxS:
		g.mov(t, arg(0), size)
		y := g.in(arg(1), 0, x86.RCX)
		a.Alu(x86.CMP, size, t, x86.R(y))
		a.Cmov(minMaxCC[v.Op], size, t, x86.R(y))
		g.out(id, 0, t)
	case ir.OpAbs:
		g.mov(t, arg(0), size)
		a.G(x86.MOV, size, x86.RCX, x86.R(t))
		a.G1(x86.NEG, size, x86.R(x86.RCX))
		a.Cmov(x86.NS, size, t, x86.R(x86.RCX))
		g.out(id, 0, t)
	case ir.OpClz, ir.OpCtz:
		w := c.widthOf(arg(0))
		m := x86.LZCNT
		if v.Op == ir.OpCtz {
			m = x86.TZCNT
		}
		g.mov(t, arg(0), w)
		a.MovI(x86.RCX, ^uint64(0))
		a.G(m, w, t, x86.R(t))
		a.Cmov(x86.B, 8, t, x86.R(x86.RCX)) // carry: the source was 0
		g.out(id, 0, t)
	case ir.OpPopcnt:
		w := c.widthOf(arg(0))
		g.mov(t, arg(0), w)
		a.G(x86.POPCNT, w, t, x86.R(t))
		g.out(id, 0, t)
	case ir.OpBrev:
		g.mov(t, arg(0), size)
		c.scalarBrev(size)
		g.out(id, 0, t)
	case ir.OpFshr:
		g.mov(x86.RDX, arg(0), 4)
		g.mov(t, arg(1), 4)
		a.GI8(x86.SHL, 8, x86.R(x86.RDX), 32)
		a.Alu(x86.OR, 8, t, x86.R(x86.RDX))
		g.mov(x86.RCX, arg(2), 4)
		a.AluI(x86.AND, 4, x86.R(x86.RCX), 31)
		a.GV(x86.SHRX, 8, t, x86.RCX, x86.R(t))
		a.G(x86.MOV, 4, t, x86.R(t))
		g.out(id, 0, t)
	case ir.OpFNeg, ir.OpFAbs:
		g.mov(t, arg(0), size)
		n := uint8(size*8 - 1)
		if v.Op == ir.OpFNeg {
			a.GI8(x86.BTC, size, x86.R(t), n)
		} else {
			a.GI8(x86.BTR, size, x86.R(t), n)
		}
		g.out(id, 0, t)
	case ir.OpCarryAdd, ir.OpBorrow, ir.OpOvfAdd, ir.OpOvfSub:
		w := c.widthOf(arg(0))
		g.mov(t, arg(0), w)
		y := g.rm(arg(1), 0, x86.RCX)
		op, opc := x86.ADD, x86.ADC
		if v.Op == ir.OpBorrow || v.Op == ir.OpOvfSub {
			op, opc = x86.SUB, x86.SBB
		}
		if len(v.Args) > 2 && arg(2) != ir.NoID {
			g.mov(x86.RDX, arg(2), 4)
			a.GI8(x86.BT, 4, x86.R(x86.RDX), 0) // carry in
			op = opc
		}
		a.Alu(op, w, t, y)
		cc := x86.B
		if v.Op == ir.OpOvfAdd || v.Op == ir.OpOvfSub {
			cc = x86.O
		}
		g.setcc(id, cc)
	case ir.OpICmp:
		w := c.widthOf(arg(0))
		x := g.in(arg(0), 0, t)
		if n, ok := c.isConst(arg(1)); ok && (w == 4 || n == uint64(int64(int32(n)))) {
			a.AluI(x86.CMP, w, x86.R(x), int32(n))
		} else {
			a.Alu(x86.CMP, w, x, g.rm(arg(1), 0, x86.RCX))
		}
		g.setcc(id, predCC[v.Pred])
	case ir.OpSelect:
		g.mov(x86.RDX, arg(0), 4)
		g.mov(t, arg(2), size)
		y := g.in(arg(1), 0, x86.RCX)
		a.GS(x86.TEST, 4, x86.R(x86.RDX), x86.RDX)
		a.Cmov(x86.NE, size, t, x86.R(y))
		g.out(id, 0, t)
	default:
		a.G(x86.LEA, 1, t, x86.R(t)) // records an error
	}
}

func (g *scalars) setcc(id ir.ID, cc x86.CC) {
	a := &g.c.a
	a.Set(cc, x86.R(x86.RAX))
	a.G(x86.MOVZX8, 4, x86.RAX, x86.R(x86.RAX))
	g.out(id, 0, x86.RAX)
}

func (c *compiler) scalarMul(id ir.ID, v *ir.Value) {
	g, a := &c.g, &c.a
	g.mov(x86.RAX, v.Args[0], 4)
	g.mov(x86.RCX, v.Args[1], 4)
	if v.Op == ir.OpMulHiS || v.Op == ir.OpMulS64 {
		a.G(x86.MOVSXD, 8, x86.RAX, x86.R(x86.RAX))
		a.G(x86.MOVSXD, 8, x86.RCX, x86.R(x86.RCX))
	}
	a.G(x86.IMUL, 8, x86.RAX, x86.R(x86.RCX))
	if v.Op == ir.OpMulHiU || v.Op == ir.OpMulHiS {
		a.GI8(x86.SHR, 8, x86.R(x86.RAX), 32)
	}
	g.out(id, 0, x86.RAX)
}

// scalarBrev reverses the bits of RAX: bytes by bswap, then bits in bytes by three swaps.
func (c *compiler) scalarBrev(size int) {
	a := &c.a
	a.Bswap(size, x86.RAX)
	for _, s := range []struct {
		n uint8
		m uint64
	}{{4, 0x0f0f0f0f0f0f0f0f}, {2, 0x3333333333333333}, {1, 0x5555555555555555}} {
		m := s.m
		if size == 4 {
			m &= 0xffffffff
		}
		a.MovI(x86.RDX, m)
		a.G(x86.MOV, size, x86.RCX, x86.R(x86.RAX))
		a.GI8(x86.SHR, size, x86.R(x86.RCX), s.n)
		a.Alu(x86.AND, size, x86.RCX, x86.R(x86.RDX))
		a.Alu(x86.AND, size, x86.RAX, x86.R(x86.RDX))
		a.GI8(x86.SHL, size, x86.R(x86.RAX), s.n)
		a.Alu(x86.OR, size, x86.RAX, x86.R(x86.RCX))
	}
}
