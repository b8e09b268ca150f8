package jit

import (
	"encoding/binary"

	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// What a run rests on, lane by lane and by corners.

// Tables that pick the first and the last lane of a strip for each of the four dwords of its corners: from zeros and one register, or from two.
var (
	tabCorner = &[16]uint32{16, 0, 31, 0, 16, 0, 31, 0, 16, 0, 31, 0, 16, 0, 31, 0}
	tabPair   = &[16]uint32{0, 16, 15, 31, 0, 16, 15, 31, 0, 16, 15, 31, 0, 16, 15, 31}
)

// input looks at all lanes of an input, and takes its corners.
func (e *affineCode) input(i int) {
	const L = x86.L512
	c, a := e.c, &e.c.a
	n := &e.nodes[i]
	r := uint8(e.alloc(i))
	lo := e.inputs[n.a].rm
	e.look(n.a)
	if n.op == anIn {
		a.E(x86.VMOVDQU32, L, r, 0, c.table(tabCorner), noMod)
		for q := range c.strips {
			a.E(x86.VPERMI2D, L, r, affineZero, lo.Add(int32(64*q)), x86.Masked(x86.K(affineStrip+q)))
		}
		return
	}
	e.look(n.b)
	hi := e.inputs[n.b].rm
	a.E(x86.VMOVDQU32, L, r, 0, c.table(tabPair), noMod)
	for q := range c.strips {
		a.E(x86.VMOVDQU32, L, affineT0, 0, lo.Add(int32(64*q)), noMod)
		a.E(x86.VPERMI2D, L, r, affineT0, hi.Add(int32(64*q)), x86.Masked(x86.K(affineStrip+q)))
	}
}

// Truth tables of VPTERNLOGD.
const (
	orXor = 0xf6 // a | b ^ c
	orAnd = 0xf8 // a | b & c
)

// look checks the lanes of an input.
func (e *affineCode) look(k int) {
	const L = x86.L512
	c, a := e.c, &e.c.a
	in := &e.inputs[k]
	if e.known[in.rm] {
		return
	}
	e.known[in.rm] = true
	if !in.zero {
		a.E(x86.VPBROADCASTD, L, affineT0, 0, in.rm, noMod)
		a.E(x86.VPBROADCASTD, L, affineT1, 0, in.rm.Add(4), noMod)
		a.E(x86.VPSUBD, L, affineT1, affineT1, x86.V(affineT0), noMod)
		a.EI(x86.VPTERNLOGD, L, affineBad, affineT1, x86.ML(a.Const32(^uint32(maxStep)), 0).Bcast(), orAnd, noMod)
		a.E(x86.VPMULLD, L, affineT1, affineT1, c.table(laneTimes(1)), noMod)
	}
	for q := range c.strips {
		s := in.rm.Add(int32(64 * q))
		a.E(x86.VPBROADCASTD, L, affineT0, 0, s, noMod)
		if !in.zero {
			a.E(x86.VPADDD, L, affineT0, affineT0, x86.V(affineT1), noMod)
		}
		a.EI(x86.VPTERNLOGD, L, affineBad, affineT0, s, orXor, noMod)
	}
}

// guard emits a guard.
func (e *affineCode) guard(g aguard) {
	a := &e.c.a
	if e.steps[g.x] == 0 && g.kind != guardStep && g.kind != guardCarry {
		return
	}
	const bad, t0, t1 = affineOff, affineT0, affineT1
	x := e.get(g.x)
	xv := x86.V(x86.Vec(x))
	first := func() { a.EI(x86.VPSHUFD, e.l, t0, 0, xv, 0x44, noMod) }
	switch g.kind {
	case guardMono:
		first()
		a.E(x86.VPMAXUQ, e.l, t0, t0, xv, noMod)
		a.EI(x86.VPTERNLOGD, e.l, bad, t0, xv, orXor, noMod)
	case guardHigh:
		first()
		a.E(x86.VPXORQ, e.l, t0, t0, xv, noMod)
		a.EI(x86.VPTERNLOGQ, e.l, bad, t0, x86.ML(a.Const64(^uint64(low32)), 0).Bcast(), orAnd, noMod)
	case guardDisjoint:
		y := e.get(g.y, int(x))
		a.E(x86.VPADDQ, e.l, t0, y, x86.ML(a.Const64(^uint64(0)), 0).Bcast(), noMod)
		a.E(x86.VPANDNQ, e.l, t0, y, x86.V(t0), noMod)
		a.E(x86.VPMAXUQ, e.l, t1, t0, xv, noMod)
		a.EI(x86.VPTERNLOGD, e.l, bad, t1, x86.V(t0), orXor, noMod)
	case guardStep:
		var b [64]byte
		for q := range 4 {
			binary.LittleEndian.PutUint64(b[16*q+8:], uint64(g.n))
		}
		first()
		a.E(x86.VPSUBQ, e.l, t0, x, x86.V(t0), noMod)
		a.EI(x86.VPTERNLOGD, e.l, bad, t0, x86.ML(a.Const(b[:], 64), 0), orXor, noMod)
	case guardCarry:
		f := &e.flags[g.n]
		if f.wide {
			a.EI(x86.VPCMPUQ, e.l, 5, x, x86.V(x86.Vec(e.get(f.x, int(x)))), 1, noMod) // sum < x
		} else {
			a.EI(x86.VPCMPUQ, e.l, 5, x, x86.ML(a.Const64(low32), 0).Bcast(), 6, noMod) // sum > 2^32-1
		}
		a.X(x86.KMOVBS, x86.L128, 5, 0, x86.M(rFrame, f.k))
	}
}
