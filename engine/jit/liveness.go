package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

//fidelity: approximate lazy-vgprs: a VGPR that the program does not read before it writes it again may hold an older value when a wave is looked at; `pumice run --dump-on-fault` and the interpreter keep all

// A VGPR that nobody reads before it is written again need not be written (Options.Lazy). Compilers leave many: at a barrier
// in a loop over tiles, all the addresses and operands of the arithmetic before it. Who looks at a wave when it has left compiled code may then
// find what such a register held before; a program cannot.
//
// A write is under a mask, which nearly always is EXEC. That another write covers it is known if both are under the EXEC of the same time,
// so there are two sets of registers at a block's entry: those that some later instruction reads, and those that one may read
// before a write under the EXEC that is at the entry. The second holds for writes under it only.
//
// What is proven of blocks holds where one ends. Inside a block, an operation's arguments do not tell which registers its instruction names (a sum with a
// known zero is gone, two halves are the whole that they came from), and a wave that leaves there, at a fault, goes on by instructions. So a write is left out only if
// nothing leaves between it and the end of the block, or the next write.

// vregs is a set of VGPRs.
type vregs [(vgprs + 63) / 64]uint64

func (s *vregs) has(n uint64) bool { return s[n/64]>>(n%64)&1 != 0 }
func (s *vregs) add(n uint64)      { s[n/64] |= 1 << (n % 64) }

// fill adds all registers.
func (s *vregs) fill() {
	for i := range s {
		s[i] = ^uint64(0)
	}
}

// join adds those of t, less those of not, and tells whether s had not all of them.
func (s *vregs) join(t, not *vregs) (more bool) {
	for i := range s {
		x := s[i] | t[i]&^not[i]
		more = more || x != s[i]
		s[i] = x
	}
	return more
}

// liveness is what is known of the registers at a block's entry, and what the block itself does.
type liveness struct {
	read     vregs // read by an instruction from here on
	live     vregs // perhaps read before a write under today's EXEC
	kills    vregs // written under the EXEC of the entry before EXEC changes
	keepExec bool  // the block does not write EXEC
}

// findLiveness fills c.live, by block.
func (c *compiler) findLiveness() {
	f := c.f
	c.live = append(c.live[:0], make([]liveness, len(f.Blocks))...)
	entry := map[uint32]int{}
	for i, b := range f.Blocks[:c.copies.first] { // what is true of a block is true of its copy
		entry[b.PC] = i
	}
	c.next = c.next[:0]
	for i, b := range f.Blocks {
		l := &c.live[i]
		l.keepExec = true
		exec := ir.NoID
		for _, id := range b.Code {
			v := f.V(id)
			switch v.Op {
			case ir.OpVGet:
				l.read.add(v.Imm)
				if !l.kills.has(v.Imm) {
					l.live.add(v.Imm)
				}
			case ir.OpVSet:
				if m := v.Args[1]; l.keepExec && (m == exec && m != ir.NoID || c.fullMask(m)) {
					l.kills.add(v.Imm)
				}
			case ir.OpMGet:
				if v.Imm == isa.SRegEXECLo && l.keepExec {
					exec = id
				}
			case ir.OpMSet, ir.OpSSet, ir.OpSSet64:
				lo, hi := c.regs(v)
				if lo <= isa.SRegEXECLo+1 && hi > isa.SRegEXECLo {
					l.keepExec = false
				}
			}
		}
		next := [2]int{-1, -1}
		switch t := &b.Term; {
		case t.Kind == ir.TermJump:
			next[0] = t.Then
		case t.Kind == ir.TermBranch:
			next = [2]int{t.Then, t.Else}
		case t.Exit == ir.ExitEndPgm && !c.m.allAtEnd:
		default:
			at, ok := entry[t.Next]
			switch t.Exit {
			case ir.ExitBarrier, ir.ExitSleep:
			default:
				ok = false
			}
			if ok {
				next[0] = at
			} else {
				l.read.fill()
				l.live.fill()
			}
		}
		c.next = append(c.next, next)
	}
	for more := true; more; {
		more = false
		for i := len(f.Blocks) - 1; i >= 0; i-- {
			l := &c.live[i]
			for _, n := range c.next[i] {
				if n < 0 {
					continue
				}
				s := &c.live[n]
				live := &s.live
				if !l.keepExec {
					live = &s.read
				}
				more = l.read.join(&s.read, &vregs{}) || more
				more = l.live.join(live, &l.kills) || more
			}
		}
	}
}

// begin makes l ready for the end of the block.
func (l *lastWrites) begin(c *compiler) {
	l.c = c
	l.reset()
	l.leaves = l.leaves[:0]
	if !c.m.Lazy {
		return
	}
	b := &c.live[c.b.Index]
	exec := ir.NoID
	if b.keepExec {
		for _, id := range c.b.Code {
			if v := c.f.V(id); v.Op == ir.OpMGet && v.Imm == isa.SRegEXECLo {
				exec = id
			}
		}
	}
	var read, live vregs
	for _, n := range c.next[c.b.Index] {
		if n >= 0 {
			read.join(&c.live[n].read, &vregs{})
			live.join(&c.live[n].live, &vregs{})
		}
	}
	if c.next[c.b.Index][0] < 0 && (c.b.Term.Exit != ir.ExitEndPgm || c.m.allAtEnd) {
		return
	}
	for n := range uint64(vgprs) {
		switch {
		case !read.has(n):
			l.v[n] = lastWrite{l.turn, anyMask, 0}
		case !live.has(n) && exec != ir.NoID:
			l.v[n] = lastWrite{l.turn, exec, 0}
		}
	}
}
