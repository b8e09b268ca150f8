package jit

import (
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// Loops with an if in them, as one that looks whether a tile's element is inside the matrix, write EXEC in each turn, and nearly always all lanes
// are active nevertheless. Code for any mask merges each register that it writes, ands each comparison, and asks at each memory operation. So the
// blocks of such a loop have copies in which EXEC is known to be full at the entry. Where it is written, what is known from the entry on is
// folded: what EXEC gives back after an if ("s_or_b64 exec, exec, s[0:1]") is full whatever was saved.
//
// A copy is entered from another where EXEC is full without asking; by a look at EXEC from a block that has written it, from outside the loop, and from Go
// (blocks are found by their PC, which finds the first of two, so Program.Entry leads to the look). A copy that has written
// EXEC goes on likewise: in the next copy if it is full, and else in the block that is for any mask. State is exact at the ends of blocks, so copies are
// nothing to anyone else: operations of theirs have numbers of their own in Program.Func.

// What the copies of a function may have in all, and how many blocks a function may have that is looked at.
const (
	fullValues = 6000
	fullBlocks = 256
)

// fullCopies is what the compiler knows of copies.
type fullCopies struct {
	first int         // number of the first one, which is the number of blocks that the Func came with
	of    []int       // by block: its copy, or -1
	guest []int       // by block: itself, or of what it is a copy
	look  []bool      // by block: whether it looks at EXEC before it goes on to a block that has a copy
	entry []x86.Label // by block that has a copy: code that looks at EXEC
}

// noCopies is what there is to know where no block has one.
func noCopies(f *ir.Func) fullCopies {
	n := len(f.Blocks)
	x := fullCopies{first: n, of: slices.Repeat([]int{-1}, n), guest: make([]int, n), look: make([]bool, n), entry: make([]x86.Label, n)}
	for i := range x.guest {
		x.guest[i] = i
	}
	return x
}

// withCopies is f with the copies, or f itself where there are none.
func (c *compiler) withCopies(f *ir.Func) (*ir.Func, fullCopies) {
	x := noCopies(f)
	if c.m.Quick || len(f.Blocks) > fullBlocks {
		return f, x
	}
	blocks, values := divergent(f), 0
	for _, i := range blocks {
		values += len(f.Blocks[i].Code)
	}
	if len(blocks) == 0 || values > fullValues {
		return f, x
	}
	g := *f
	g.Values, g.Blocks = slices.Clone(f.Values), slices.Clone(f.Blocks)
	for n, i := range blocks {
		x.of[i] = x.first + n
	}
	for i, b := range f.Blocks {
		x.look[i] = x.of[i] < 0 || writesExec(f, b)
	}
	for _, i := range blocks {
		k := copier{f: &g, full: fullOf(f), to: map[ir.ID]ir.ID{}}
		b := k.block(f.Blocks[i])
		if b == nil {
			return f, noCopies(f)
		}
		b.Index = len(g.Blocks)
		if !k.unknown {
			for _, to := range []*int{&b.Term.Then, &b.Term.Else} {
				if b.Term.Kind != ir.TermExit && x.of[*to] >= 0 {
					*to = x.of[*to]
				}
			}
		}
		g.Blocks = append(g.Blocks, b)
		x.of, x.guest, x.look = append(x.of, -1), append(x.guest, i), append(x.look, k.unknown)
	}
	return &g, x
}

func fullOf(f *ir.Func) uint64 {
	if f.Lanes == 64 {
		return ^uint64(0)
	}
	return 1<<f.Lanes - 1
}

// scalarsOf are the scalar registers that v writes.
func scalarsOf(f *ir.Func, v *ir.Value) (lo, hi uint64) {
	switch v.Op {
	case ir.OpSSet:
		return v.Imm, v.Imm + 1
	case ir.OpSSet64:
		return v.Imm, v.Imm + 2
	case ir.OpMSet:
		return v.Imm, v.Imm + uint64(f.Lanes/32)
	}
	return 0, 0
}

// setsExec tells whether v writes EXEC, or a part of it.
func setsExec(f *ir.Func, v *ir.Value) bool {
	lo, hi := scalarsOf(f, v)
	return lo < isa.SRegEXECLo+uint64(f.Lanes/32) && hi > isa.SRegEXECLo
}

func writesExec(f *ir.Func, b *ir.Block) bool {
	return slices.ContainsFunc(b.Code, func(id ir.ID) bool { return setsExec(f, f.V(id)) })
}

// divergent are the blocks of the loops that write EXEC.
func divergent(f *ir.Func) (blocks []int) {
	// from[i] are the blocks that control may come to from block i.
	from := make([][]bool, len(f.Blocks))
	entry := map[uint32]int{}
	for i, b := range f.Blocks {
		if _, ok := entry[b.PC]; !ok {
			entry[b.PC] = i
		}
	}
	for i := range f.Blocks {
		from[i] = make([]bool, len(f.Blocks))
		for todo := []int{i}; len(todo) > 0; {
			t := &f.Blocks[todo[len(todo)-1]].Term
			todo = todo[:len(todo)-1]
			next := follow(t)
			if at, ok := entry[t.Next]; ok && t.Kind == ir.TermExit && t.Exit == ir.ExitBarrier {
				next = []int{at}
			}
			for _, n := range next {
				if !from[i][n] {
					from[i][n] = true
					todo = append(todo, n)
				}
			}
		}
	}
	in := make([]bool, len(f.Blocks))
	for i, b := range f.Blocks {
		if !from[i][i] || !writesExec(f, b) {
			continue
		}
		for j := range f.Blocks {
			in[j] = in[j] || from[i][j] && from[j][i]
		}
	}
	for i, is := range in {
		if is {
			blocks = append(blocks, i)
		}
	}
	return blocks
}

// copier copies a block.
type copier struct {
	f       *ir.Func // which gets the copies' values
	full    uint64
	to      map[ir.ID]ir.ID
	unknown bool // EXEC has been written, and may not be full
}

// block is the copy of b, or nil where there is something that it does not know. Its targets are those of b.
func (k *copier) block(b *ir.Block) *ir.Block {
	y := *b
	x := &y
	x.Code = make([]ir.ID, 0, len(b.Code))
	known := true
	at := func(id ir.ID) ir.ID {
		if id == ir.NoID {
			return id
		}
		n, ok := k.to[id]
		known = known && ok
		return n
	}
	for _, id := range b.Code {
		v := k.f.Values[id]
		v.Args = slices.Clone(v.Args)
		for i, a := range v.Args {
			v.Args[i] = at(a)
		}
		if !known {
			return nil
		}
		if same := k.fold(&v); same != ir.NoID {
			k.to[id] = same
			continue
		}
		if setsExec(k.f, &v) {
			if k.allOnes(&v) {
				if lo, hi := scalarsOf(k.f, &v); !k.unknown && hi == lo+uint64(k.f.Lanes/32) {
					continue // it is, and nothing else is written: EXEC_HI where waves have 32 lanes
				}
				k.unknown = false
			} else {
				k.unknown = true
			}
		}
		k.to[id] = k.f.Add(x, v)
	}
	if b.Term.Kind == ir.TermBranch || b.Term.Kind == ir.TermExit && b.Term.Exit == ir.ExitIndirect {
		x.Term.Cond = at(b.Term.Cond)
	}
	if !known {
		return nil
	}
	return x
}

// allOnes tells whether v writes all of EXEC with ones.
func (k *copier) allOnes(v *ir.Value) bool {
	lo, hi := scalarsOf(k.f, v)
	y := k.f.V(v.Args[0])
	return lo == isa.SRegEXECLo && hi >= lo+uint64(k.f.Lanes/32) && y.Op == ir.OpConst && y.Imm&k.full == k.full
}

// fold makes v a constant if what is known of EXEC makes it one, or gives the value that it is the same as.
func (k *copier) fold(v *ir.Value) (same ir.ID) {
	constant := func(x uint64) { *v = ir.Value{Op: ir.OpConst, Type: v.Type, Imm: x, PC: v.PC} }
	num := func(i int) (uint64, bool) {
		y := k.f.V(v.Args[i])
		return y.Imm, y.Op == ir.OpConst
	}
	// ones tells whether argument i has all bits of a mask, where v is of such a width.
	ones := func(i int) bool {
		x, ok := num(i)
		return ok && x&k.full == k.full && (v.Type == ir.M || v.Type == ir.S64 && k.f.Lanes == 64 || v.Type == ir.S32 && k.f.Lanes == 32)
	}
	switch v.Op {
	case ir.OpMGet:
		if v.Imm == isa.SRegEXECLo && !k.unknown {
			constant(k.full)
		}
	case ir.OpMToS, ir.OpSToM:
		if x, ok := num(0); ok {
			constant(x & k.full)
		}
	case ir.OpAnd, ir.OpMAnd:
		for i := range 2 {
			if ones(i) && k.f.V(v.Args[1-i]).Type == v.Type {
				return v.Args[1-i]
			}
		}
	case ir.OpOr, ir.OpMOr:
		if ones(0) || ones(1) {
			constant(k.full)
		}
	case ir.OpMIsZ, ir.OpMFull:
		if x, ok := num(0); ok && k.f.V(v.Args[0]).Type == ir.M {
			constant(uint64(b2i(x&k.full == 0 && v.Op == ir.OpMIsZ || x&k.full == k.full && v.Op == ir.OpMFull)))
		}
	case ir.OpICmp:
		x, ok := num(0)
		y, ok2 := num(1)
		if v.Type == ir.S1 && ok && ok2 && (v.Pred == ir.EQ || v.Pred == ir.NE) {
			constant(uint64(b2i((x == y) == (v.Pred == ir.EQ))))
		}
	case ir.OpBToS:
		if x, ok := num(0); ok {
			constant(x & 1)
		}
	}
	return ir.NoID
}

// backward tells whether block to does not come behind the current one in the guest's code: on the way there fuel is looked at.
func (c *compiler) backward(to int) bool { return c.copies.guest[to] <= c.copies.guest[c.b.Index] }

// lookFor is the copy that the current block may go on to instead of block to, if EXEC is full; or -1.
func (c *compiler) lookFor(to int) int {
	if x := &c.copies; x.look[c.b.Index] {
		return x.of[to]
	}
	return -1
}

// look goes to the copy of block to if there is one to be looked for and EXEC is full.
func (c *compiler) look(to int) {
	if at := c.lookFor(to); at >= 0 {
		c.ifFull(at)
	}
}

// ifFull goes to a block if EXEC is full.
func (c *compiler) ifFull(at int) {
	a := &c.a
	a.AluI(x86.CMP, c.lanes/8, x86.M(rState, offS+4*isa.SRegEXECLo), -1)
	a.Jcc(x86.E, c.labels[at])
}

// entryOf is where code that is outside of the Func's own jumps comes into block i.
func (c *compiler) entryOf(i int) x86.Label {
	if c.copies.of[i] < 0 {
		return c.labels[i]
	}
	return c.copies.entry[i]
}

// emitEntries emits what looks at EXEC for who comes from Go.
func (c *compiler) emitEntries() {
	x := &c.copies
	for i := range x.first {
		if x.of[i] < 0 {
			continue
		}
		c.a.Bind(x.entry[i])
		c.ifFull(x.of[i])
		c.a.Jmp(c.labels[i])
	}
}

// resumes is the block at which a wave goes on behind the barrier that ends the current block, or -1; look says that it has to look at EXEC.
func (c *compiler) resumes(pc uint32) (at int, look bool) {
	x := &c.copies
	for i, b := range c.f.Blocks[:x.first] {
		if b.PC != pc {
			continue
		}
		switch {
		case x.of[i] < 0:
			return i, false
		case c.b.Index >= x.first && !x.look[c.b.Index]:
			return x.of[i], false
		}
		return i, true
	}
	return -1, false
}
