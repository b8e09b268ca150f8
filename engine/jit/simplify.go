package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// simplify replaces operations of the block by cheaper ones of the compiler's own: the carry of an addition whose sum is
// there is a comparison, and the addition of a mask's bits is a masked one. carries says that the block has carries.
func (c *compiler) simplify(carries bool) {
	for _, id := range c.b.Code {
		for _, a := range c.v(id).Args {
			if a != ir.NoID {
				c.vals[a].uses++
			}
		}
	}
	defer func() {
		for _, id := range c.b.Code {
			c.vals[id].uses = 0
		}
	}()
	for _, id := range c.b.Code {
		v := c.v(id)
		switch v.Op {
		case ir.OpAdd, ir.OpSub:
			if v.Type != ir.V32 {
				continue
			}
			x, y := v.Args[0], v.Args[1]
			if v.Op == ir.OpAdd {
				if carries {
					c.vals[id].sooner, c.vals[x].sum = c.vals[x].sum, id
				}
				if c.v(x).Op == ir.OpMToV && c.vals[x].uses == 1 {
					x, y = y, x
				}
			}
			if c.v(y).Op != ir.OpMToV || c.vals[y].uses != 1 || x == y || !isVec(c.v(x).Type) && v.Op == ir.OpSub {
				continue
			}
			m := c.v(y).Args[0]
			if c.v(m).Type != ir.M {
				continue
			}
			op := opAddK
			if v.Op == ir.OpSub {
				op = opSubK
			}
			c.over[id] = c.newValue(ir.Value{Op: op, Type: ir.V32, Args: c.ids(x, m), PC: v.PC})
		case ir.OpCarryAdd:
			if v.Type != ir.M || len(v.Args) > 2 && v.Args[2] != ir.NoID {
				continue
			}
			x, y := v.Args[0], v.Args[1]
			s := c.vals[x].sum
			for s != 0 && c.f.Values[s].Args[1] != y {
				s = c.vals[s].sooner
			}
			if s == 0 || c.v(s).Op != ir.OpAdd {
				continue
			}
			if !isVec(c.v(x).Type) {
				x = y
			}
			c.over[id] = c.newValue(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.ULT, Args: c.ids(s, x), PC: v.PC})
		}
	}
}

// foldOffset makes a constant that is added to an LDS address part of the access's offset. Both sums wrap at 32 bits. So accesses for which
// the offset had no room have the same address as others.
func (c *compiler) foldOffset(id ir.ID, v *ir.Value) {
	if v.Args[0] != ir.NoID || v.Args[1] == ir.NoID || v.Imm&ir.OffSigned != 0 {
		return
	}
	imm, x := uint32(v.Imm), v.Args[1]
	for c.v(x).Op == ir.OpAdd && c.v(x).Type == ir.V32 {
		y, k := c.v(x).Args[0], c.v(x).Args[1]
		n, ok := c.isConst(k)
		if !ok {
			y, k = k, y
			n, ok = c.isConst(k)
		}
		if !ok || c.v(y).Type != ir.V32 {
			break
		}
		x, imm = y, imm+uint32(n)
	}
	if x == v.Args[1] || int32(imm) < 0 {
		return
	}
	w := c.newValue(*v)
	w.Args, w.Imm = c.ids(v.Args...), uint64(imm)
	w.Args[1] = x
	c.over[id] = w
}

// lastWrites remembers, on the way from the end of a block to its start, which registers are written again before anybody
// can see them.
type lastWrites struct {
	c *compiler
	// Entries of an earlier turn say nothing.
	turn   uint32
	v      [vgprs]lastWrite
	s      [isa.NumSRegs + 2]uint32 // scalar registers
	leaves []int32                  // places of the operations so far at which code may leave
	at     int32                    // place of the operation asked about
}

// lastWrite is a write of a VGPR: its mask, and how many operations behind it may leave.
type lastWrite struct {
	turn   uint32
	mask   ir.ID
	leaves int
}

// anyMask is the mask of a write that covers all others.
const anyMask = ir.ID(-3)

func (l *lastWrites) covers(mask, other ir.ID) bool {
	return mask == other || mask == anyMask || mask >= 0 && l.c.fullMask(mask)
}

func (l *lastWrites) reset() {
	if l.turn++; l.turn == 0 { // after 4 billion blocks
		*l = lastWrites{c: l.c, turn: 1}
	}
}

// dead tells whether id is a write that nobody sees.
func (l *lastWrites) dead(id ir.ID, v *ir.Value) bool {
	switch {
	case v.Op == ir.OpVSet:
		w := &l.v[v.Imm]
		if w.turn == l.turn && l.covers(w.mask, v.Args[1]) {
			if w.leaves == len(l.leaves) {
				return true
			}
			l.c.vals[id].moot = l.leaves[w.leaves] + 1
			return false
		}
		*w = lastWrite{l.turn, v.Args[1], len(l.leaves)}
	case v.Op == ir.OpVGet:
		l.v[v.Imm].turn = 0
	case v.Op == ir.OpSSet || v.Op == ir.OpSSet64 || v.Op == ir.OpMSet:
		lo, hi := l.c.regs(v)
		all := true
		for n := lo; n < hi; n++ {
			all = all && l.s[n] == l.turn
			l.s[n] = l.turn
		}
		return all
	case isGet(v.Op):
		lo, hi := l.c.regs(v)
		for n := lo; n < hi; n++ {
			l.s[n] = 0
		}
	case v.Op.Pure() || v.Op >= ir.NumOps:
	case v.Op.Memory() && v.Space == ir.LDS && l.c.classify(v) == classVector:
	default:
		// It may leave: all registers are looked at.
		if !l.c.m.Lazy {
			l.reset()
			break
		}
		l.leaves = append(l.leaves, l.at)
		clear(l.s[:])
	}
	return false
}

// Scope of a value that is not used, and of one whose inactive lanes matter.
const (
	scopeNone = ir.NoID
	scopeAll  = ir.ID(-2)
)

// findScopes finds for each value of the block the mask under which alone it is used: what its other lanes hold does not
// matter.
func (c *compiler) findScopes() {
	start := scopeNone
	if c.m.Quick {
		start = scopeAll
	}
	for _, id := range c.b.Code {
		c.vals[id].scope = start
	}
	if c.m.Quick {
		return
	}
	c.useTerm(func(id ir.ID) { c.vals[id].scope = scopeAll })
	for i := len(c.b.Code) - 1; i >= 0; i-- {
		id := c.b.Code[i]
		if c.vals[id].dead {
			continue
		}
		v := c.v(id)
		for n, a := range v.Args {
			if a == ir.NoID {
				continue
			}
			s := scopeAll
			switch {
			case v.Op == ir.OpVSet && n == 0:
				s = v.Args[1]
			case v.Op == ir.OpLoad && n == 1 || v.Op == ir.OpStore && (n == 1 || n == 3):
				s = v.Args[2]
			case v.Op == ir.OpMAnd && c.v(v.Args[1-n]).Op == ir.OpMGet:
				s = v.Args[1-n]
			case (v.Op.Pure() && !v.Op.Cross() || v.Op >= ir.NumOps) && (isVec(v.Type) || v.Type == ir.M):
				s = c.vals[id].scope
			}
			switch x := &c.vals[a].scope; *x {
			case scopeNone, s:
				*x = s
			default:
				*x = scopeAll
			}
		}
	}
}
