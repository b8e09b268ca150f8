package lift

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// prune removes register writes that a later write covers before anything could look, and then the values that no one
// uses. For scalar registers (SCC above all) it looks across forward branches; on a backward one the wave may run out of
// fuel and be looked at. It keeps every Block's Code in order; removed values stay in Func.Values
// until compact.
func prune(f *ir.Func) {
	used := make([]bool, len(f.Values))
	entry := make([][isa.NumSRegs]bool, len(f.Blocks)) // what each block overwrites before it can be seen
	var over overwritten
	for n := len(f.Blocks) - 1; n >= 0; n-- {
		b := f.Blocks[n]
		over.reset()
		over.after(f, b, entry)
		keep := make([]bool, len(b.Code))
		for i := len(b.Code) - 1; i >= 0; i-- {
			v := f.V(b.Code[i])
			keep[i] = !over.dead(f, v)
			if keep[i] {
				over.step(f, v)
			}
		}
		mark(f, b, keep, used)
		entry[n] = over.s
	}
}

// compact renumbers the values that blocks hold, in order, and gives f a table of just these.
func compact(f *ir.Func) {
	n := 0
	for _, b := range f.Blocks {
		n += len(b.Code)
	}
	to := make([]ir.ID, len(f.Values))
	out := make([]ir.Value, 0, n)
	move := func(ids []ir.ID) {
		for i, id := range ids {
			if id != ir.NoID {
				ids[i] = to[id]
			}
		}
	}
	for _, b := range f.Blocks {
		for i, id := range b.Code {
			v := f.Values[id]
			move(v.Args)
			to[id] = ir.ID(len(out))
			b.Code[i] = to[id]
			out = append(out, v)
		}
		if b.Term.Cond != ir.NoID {
			b.Term.Cond = to[b.Term.Cond]
		}
	}
	f.Values = out
}

// after sets the scalar part to what all successors of b overwrite.
func (o *overwritten) after(f *ir.Func, b *ir.Block, entry [][isa.NumSRegs]bool) {
	forward := func(to int) bool {
		return to > b.Index && int32(f.Blocks[to].PC) > int32(b.PC)
	}
	switch t := &b.Term; t.Kind {
	case ir.TermJump:
		if forward(t.Then) {
			o.s = entry[t.Then]
		}
	case ir.TermBranch:
		if forward(t.Then) && forward(t.Else) {
			o.s = entry[t.Then]
			for i, x := range &entry[t.Else] {
				o.s[i] = o.s[i] && x
			}
		}
	}
}

// mark drops what is neither kept for its effect nor used.
func mark(f *ir.Func, b *ir.Block, keep, used []bool) {
	use := func(ids []ir.ID) {
		for _, id := range ids {
			if id != ir.NoID {
				used[id] = true
			}
		}
	}
	if b.Term.Cond != ir.NoID {
		used[b.Term.Cond] = true
	}
	n := len(b.Code)
	for i := len(b.Code) - 1; i >= 0; i-- {
		id := b.Code[i]
		v := f.V(id)
		if !keep[i] || removable(v) && !used[id] {
			continue
		}
		use(v.Args)
		n--
		b.Code[n] = id
	}
	b.Code = append(b.Code[:0], b.Code[n:]...)
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
	s [isa.NumSRegs]bool
	v [512]ir.ID // mask of the later write, or noWrite
}

const noWrite ir.ID = -2

func (o *overwritten) reset() {
	o.s = [isa.NumSRegs]bool{}
	for i := range o.v {
		o.v[i] = noWrite
	}
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
			if !o.s[i] {
				return false
			}
		}
		return true
	case ir.OpVSet:
		later := o.v[v.Imm]
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
			o.s[i] = true
		}
	case ir.OpSGet, ir.OpSGet64, ir.OpMGet:
		lo, n := span(f, v)
		for i := lo; i < lo+n; i++ {
			o.s[i] = false
		}
	case ir.OpVSet:
		m := v.Args[1]
		if mv := f.V(m); mv.Op == ir.OpConst && (mv.Imm == ^uint64(0) || f.Lanes == 32 && mv.Imm == 0xffffffff) {
			m = ir.NoID // covers all lanes
		}
		if o.v[v.Imm] != ir.NoID {
			o.v[v.Imm] = m
		}
	case ir.OpVGet:
		o.v[v.Imm] = noWrite
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
