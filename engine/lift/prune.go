package lift

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// pruner is what prunings use one after the other.
type pruner struct {
	used  []bool
	entry []scalarSet // what each block overwrites before it can be seen
	over  overwritten
	to    []ir.ID
}

// scalarSet is a set of scalar registers.
type scalarSet [(isa.NumSRegs + 63) / 64]uint64

func (s *scalarSet) has(n int) bool { return s[n>>6]>>(n&63)&1 != 0 }
func (s *scalarSet) add(n int)      { s[n>>6] |= 1 << (n & 63) }
func (s *scalarSet) remove(n int)   { s[n>>6] &^= 1 << (n & 63) }

// room returns a slice of n zero values, in s if it is large enough.
func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2)
	}
	s = s[:n]
	clear(s)
	return s
}

// prune removes register writes that a later write covers before anything could look, and then the values that no one
// uses. For scalar registers (SCC above all) it looks across forward branches; on a backward one the wave may run out of
// fuel and be looked at. It keeps every Block's Code in order; removed values stay in Func.Values
// until compact.
func (p *pruner) prune(f *ir.Func) {
	p.used, p.entry = room(p.used, len(f.Values)), room(p.entry, len(f.Blocks))
	for n := len(f.Blocks) - 1; n >= 0; n-- {
		b := f.Blocks[n]
		p.over.reset()
		p.after(f, b)
		p.block(f, b)
		p.entry[n] = p.over.s
	}
}

// block drops what is neither seen for its effect nor used.
func (p *pruner) block(f *ir.Func, b *ir.Block) {
	if b.Term.Cond != ir.NoID {
		p.used[b.Term.Cond] = true
	}
	n := len(b.Code)
	for i := len(b.Code) - 1; i >= 0; i-- {
		id := b.Code[i]
		v := f.V(id)
		if !p.used[id] && removable(v) || p.over.dead(f, v) {
			continue
		}
		p.over.step(f, v)
		for _, a := range v.Args {
			if a != ir.NoID {
				p.used[a] = true
			}
		}
		n--
		b.Code[n] = id
	}
	b.Code = b.Code[n:]
}

// compact renumbers the values that blocks hold, in order, and gives f tables of its own of just these.
func (p *pruner) compact(f *ir.Func) {
	n, args := 0, 0
	for _, b := range f.Blocks {
		n += len(b.Code)
		for _, id := range b.Code {
			args += len(f.Values[id].Args)
		}
	}
	if cap(p.to) < len(f.Values) {
		p.to = make([]ir.ID, len(f.Values)+len(f.Values)/2)
	}
	to := p.to[:len(f.Values)]
	values, codes, ids := make([]ir.Value, n), make([]ir.ID, n), make([]ir.ID, args)
	n = 0
	for _, b := range f.Blocks {
		first := n
		for _, id := range b.Code {
			v := &values[n]
			*v = f.Values[id]
			if k := len(v.Args); k > 0 {
				moved := ids[:k:k]
				ids = ids[k:]
				for i, a := range v.Args {
					if a != ir.NoID {
						a = to[a]
					}
					moved[i] = a
				}
				v.Args = moved
			}
			to[id], codes[n] = ir.ID(n), ir.ID(n)
			n++
		}
		b.Code = codes[first:n:n]
		if b.Term.Cond != ir.NoID {
			b.Term.Cond = to[b.Term.Cond]
		}
	}
	f.Values = values
}

// after sets the scalar part to what all successors of b overwrite.
func (p *pruner) after(f *ir.Func, b *ir.Block) {
	forward := func(to int) bool {
		return to > b.Index && int32(f.Blocks[to].PC) > int32(b.PC)
	}
	switch t := &b.Term; t.Kind {
	case ir.TermJump:
		if forward(t.Then) {
			p.over.s = p.entry[t.Then]
		}
	case ir.TermBranch:
		if forward(t.Then) && forward(t.Else) {
			p.over.s = p.entry[t.Then]
			for i, x := range &p.entry[t.Else] {
				p.over.s[i] &= x
			}
		}
	}
}

// removable reports whether v may go when its result is not used.
func removable(v *ir.Value) bool {
	switch v.Op {
	case ir.OpSGet, ir.OpSGet64, ir.OpVGet, ir.OpMGet, ir.OpTime:
		return true
	case ir.OpMFMA:
		return true
	}
	return v.Op.Pure()
}

// overwritten is the set of registers that are written again, later in the block, before anyone can see them.
type overwritten struct {
	s   scalarSet
	v   [512]laterWrite
	now uint32
}

// laterWrite is the next write of a vector register, if it was seen since the last reset.
type laterWrite struct {
	mask ir.ID // of the write; NoID for all lanes
	when uint32
}

const noWrite ir.ID = -2

func (o *overwritten) reset() {
	o.s = scalarSet{}
	if o.now++; o.now == 0 {
		o.v, o.now = [len(o.v)]laterWrite{}, 1
	}
}

// later is the mask of the next write of vector register n, or noWrite.
func (o *overwritten) later(n uint64) ir.ID {
	if w := &o.v[n]; w.when == o.now {
		return w.mask
	}
	return noWrite
}

// span is the scalar registers that v reads or writes.
func span(f *ir.Func, v *ir.Value) (lo, n int) {
	switch v.Op {
	case ir.OpSGet, ir.OpSSet:
		return int(v.Imm), 1
	case ir.OpSGet64, ir.OpSSet64:
		return int(v.Imm), 2
	case ir.OpMGet, ir.OpMSet:
		return int(v.Imm), f.Lanes / 32
	}
	return 0, 0
}

// dead reports whether v is a write that no one can see.
func (o *overwritten) dead(f *ir.Func, v *ir.Value) bool {
	switch v.Op {
	case ir.OpSSet, ir.OpSSet64, ir.OpMSet:
		lo, n := span(f, v)
		for i := lo; i < lo+n; i++ {
			if !o.s.has(i) {
				return false
			}
		}
		return true
	case ir.OpVSet:
		later := o.later(v.Imm)
		return later == ir.NoID || later != noWrite && later == v.Args[1]
	}
	return false
}

// step moves the set from after v to before it.
func (o *overwritten) step(f *ir.Func, v *ir.Value) {
	switch v.Op {
	case ir.OpSSet, ir.OpSSet64, ir.OpMSet:
		lo, n := span(f, v)
		for i := lo; i < lo+n; i++ {
			o.s.add(i)
		}
	case ir.OpSGet, ir.OpSGet64, ir.OpMGet:
		lo, n := span(f, v)
		for i := lo; i < lo+n; i++ {
			o.s.remove(i)
		}
	case ir.OpVSet:
		m := v.Args[1]
		if mv := f.V(m); mv.Op == ir.OpConst && (mv.Imm == ^uint64(0) || f.Lanes == 32 && mv.Imm == 0xffffffff) {
			m = ir.NoID // covers all lanes
		}
		if o.later(v.Imm) != ir.NoID {
			o.v[v.Imm] = laterWrite{m, o.now}
		}
	case ir.OpVGet:
		o.v[v.Imm].when = 0
	default:
		if !v.Op.Pure() && v.Op != ir.OpTime {
			// May fault or look at the whole state.
			if !harmless(v) {
				o.reset()
			}
		}
	}
}

// harmless reports whether v, though it has an effect, neither faults nor reads registers.
func harmless(v *ir.Value) bool {
	switch v.Op {
	case ir.OpFence, ir.OpHWGet, ir.OpMFMA:
		return true
	case ir.OpLoad, ir.OpStore, ir.OpAtomic:
		return v.Space == ir.LDS
	}
	return false
}
