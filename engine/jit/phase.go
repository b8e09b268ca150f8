package jit

import "github.com/pumice-gpu/pumice/engine/ir"

// A phase is what a wave does from one barrier to the next. Waves of a work-group can tell in which order they go through it only by
// memory that is both read and written in it. Where there is no such memory the order is the compiler's to choose.

// touch says what code does to memory that a work-group's waves share.
type touch uint8

const (
	readsLDS touch = 1 << iota
	writesLDS
	readsMemory // also the GDS
	writesMemory

	touchesAll = readsLDS | writesLDS | readsMemory | writesMemory
)

// both tells whether t has what is read and what is written, of the LDS or of memory.
func (t touch) both(lds, memory bool) bool {
	const l, m = readsLDS | writesLDS, readsMemory | writesMemory
	return lds && t&l == l || memory && t&m == m
}

// touchOf is what v does.
func touchOf(v *ir.Value) touch {
	if !v.Op.Memory() {
		return 0
	}
	in := touchesAll
	switch v.Space {
	case ir.LDS:
		in = readsLDS | writesLDS
	case ir.Global, ir.Const, ir.GDS:
		in = readsMemory | writesMemory
	case ir.Scratch:
		return 0 // a lane's own
	}
	switch v.Op {
	case ir.OpLoad, ir.OpSLoad:
		return in & (readsLDS | readsMemory)
	case ir.OpStore, ir.OpSStore:
		return in & (writesLDS | writesMemory)
	}
	return in
}

// ordered tells whether the order of waves can show in the code from block at to the next barrier, or to the end. Memory beside the LDS counts
// where one way through the code both reads and writes it: a wave that writes only, as those do that leave a loop and store what
// they have computed, is behind no other's reads on hardware either.
func ordered(f *ir.Func, at int) bool {
	done := map[int]touch{}
	all, ok := reach(f, []int{at}, done)
	if !ok || all.both(true, false) {
		return true
	}
	if !all.both(false, true) {
		return false
	}
	for i, t := range done {
		if t &= readsMemory | writesMemory; t == 0 {
			continue
		}
		if on, _ := reach(f, follow(&f.Blocks[i].Term), map[int]touch{}); (t | on).both(false, true) {
			return true
		}
	}
	return false
}

// reach is what the blocks from todo on to the next barrier do; it notes each. It is not ok where control goes on in other code, or waits.
func reach(f *ir.Func, todo []int, done map[int]touch) (all touch, ok bool) {
	for len(todo) > 0 {
		b := f.Blocks[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		if _, ok := done[b.Index]; ok {
			continue
		}
		t := touch(0)
		for _, id := range b.Code {
			t |= touchOf(f.V(id))
		}
		done[b.Index] = t
		all |= t
		if e := &b.Term; e.Kind == ir.TermExit && e.Exit != ir.ExitBarrier && e.Exit != ir.ExitEndPgm || len(done) > phaseBlocks {
			return touchesAll, false
		}
		todo = append(todo, follow(&b.Term)...)
	}
	return all, true
}

// phaseBlocks bounds what is looked at.
const phaseBlocks = 64

// follow are the blocks that control goes on to.
func follow(t *ir.Term) []int {
	switch t.Kind {
	case ir.TermJump:
		return []int{t.Then}
	case ir.TermBranch:
		return []int{t.Then, t.Else}
	}
	return nil
}
