//go:build linux && amd64

package jit

import (
	"math/rand/v2"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// cornerFunc is a random loop with a run.
func cornerFunc(seed uint64, crew bool) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 51))
	g := &cornerGen{gen: gen{r: r, f: &ir.Func{PC: 0x10000, Lanes: []int{32, 64, 64}[r.IntN(3)]}, nv: cornerVGPRs}, odd: cornerOdd(seed), reg: cornerReg(seed), crew: crew}
	f := g.f
	b := g.block()
	b.Term = ir.Term{Kind: ir.TermJump, Then: 1}

	b = g.block()
	if g.maybe(4) { // what lies before the run
		g.set(cornerFree, g.one(ir.OpAdd, ir.V32, g.v(cornerFree), g.v(cornerIndex)))
		if x := g.one(ir.OpXor, ir.V32, g.v(cornerSum), g.v(cornerFree)); g.maybe(2) {
			g.add(ir.Value{Op: ir.OpStore, Width: 4, Space: ir.LDS, Args: []ir.ID{ir.NoID, g.v(cornerLDS), g.exec, x}})
		}
	}
	sum := []ir.ID{g.v(cornerSum)}
	out := cornerOut
	move := func(n int) { // an address goes on
		lo, hi := g.halves(g.v(n), g.v(n+1), g.s(cornerStep), ir.NoID)
		g.set(n, lo)
		g.set(n+1, hi)
		g.moved |= 1 << n
	}
	last, seldom := cornerAt+4, 1
	if crew { // which carries what the run moves
		last, seldom = cornerWide, 4
	}
	scalars := func() {
		n := cornerCount + r.IntN(2)
		if g.maybe(3) { // of a carry that there is, or will be
			g.setS(n, g.s(cornerFlags+r.IntN(2*g.flags+2)))
			return
		}
		if g.setS(n, g.one(ir.OpAdd, ir.S32, g.s(n), g.s(cornerNum))); g.maybe(3) {
			n = g.pick(cornerStep, cornerNum, cornerLong+1)
			g.setS(n, g.one(ir.OpAdd, ir.S32, g.s(n), g.k(64)))
		}
	}
	loads := 2 + r.IntN(2)
	target := r.IntN(loads)
	if g.maybe(24) { // more than there are registers for
		x := g.v(cornerIndex)
		for n := range 30 {
			x = g.one(ir.OpAdd, ir.V32, g.one(ir.OpAdd, ir.V32, g.v(g.pick(cornerFlat, cornerIndex+1, cornerBytes+1, cornerQuad)), g.k(4*n+4)), x)
		}
		g.put(x)
	}
	if g.maybe(16) { // more than is kept for a wave
		for n := range 24 {
			g.set(cornerTemp+n, g.one(ir.OpAdd, ir.V32, g.v(g.pick(cornerFlat, cornerIndex+1, cornerBytes+1, cornerQuad)), g.k(4*n+4)))
		}
	}
	quad := g.maybe(6) // the high half of a steady number changes alone
	for i := range loads {
		if g.maybe(2) {
			g.leave()
		}
		if i == target {
			g.target()
		}
		if quad && i == 0 {
			x := g.one(ir.OpAdd, ir.V64, g.one(ir.OpZext64, ir.V64, g.v(cornerIndex+1)), g.s64(cornerLong))
			g.put(g.hi(x))
		}
		if i > 0 && g.maybe(5) {
			scalars()
		}
		if g.odd == oddForm && g.maybe(2) {
			g.strange()
		}
		for _, x := range g.load() {
			if r.IntN(8) > 0 {
				g.set(out, x)
				out++
			}
			sum = append(sum, x)
		}
		if n := cornerAt + 2*r.IntN((last-cornerAt)/2+1); g.maybe(5) && g.moved>>n&1 == 0 {
			move(n)
		}
		if crew && i == 0 {
			for n := cornerAt; n <= last; n += 2 {
				if g.maybe(2) && g.moved>>n&1 == 0 {
					move(n)
				}
			}
		}
	}
	again := g.temp // temporaries that are written once more behind the run
	if g.maybe(2) { // before anything is done with what was loaded
		for n := cornerAt; n <= last; n += 2 {
			if g.maybe(2*seldom) && g.moved>>n&1 == 0 {
				move(n)
			}
		}
		if g.maybe(3) {
			g.leave()
		}
	}
	total := sum[0]
	for _, x := range append(sum[1:], g.later...) {
		total = g.one(ir.OpXor, ir.V32, g.one(ir.OpMul, ir.V32, total, g.k(0x01000193)), x)
	}
	g.set(cornerSum, total)
	for n := range min(again, 12) {
		if g.maybe(4) {
			g.set(cornerTemp+n, g.one(ir.OpXor, ir.V32, total, g.k(n)))
		}
	}
	for n := cornerAt; n <= last; n += 2 {
		if g.maybe(3*seldom) && g.moved>>n&1 == 0 {
			move(n)
		}
	}
	if quad {
		g.setS(cornerLong+1, g.one(ir.OpAdd, ir.S32, g.s(cornerLong+1), g.k(1)))
	}
	switch r.IntN(8) {
	case 0:
		n := g.pick(cornerIndex, cornerBytes, cornerFlat)
		g.set(n, g.one(ir.OpAdd, ir.V32, g.v(n), g.s(cornerNum)))
	case 1: // the high half alone
		g.setS(cornerLong+1, g.one(ir.OpAdd, ir.S32, g.s(cornerLong+1), g.k(1)))
	case 2:
		scalars()
	case 3:
		g.set(cornerWide, g.one(ir.OpAdd, ir.V32, g.v(cornerWide), g.k(g.pick(16, 64, 5))))
	}
	left := g.one(ir.OpSub, ir.S32, g.s(cornerLeft), g.k(1))
	g.setS(cornerLeft, left)
	more := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.NE, Args: []ir.ID{left, g.k(0)}})
	kind := r.IntN(4)
	if crew {
		kind = g.pick(0, 1, 1, 1)
	}
	branch := func(head int) {
		more := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.NE, Args: []ir.ID{g.s(cornerLeft), g.k(0)}})
		g.b.Term = ir.Term{Kind: ir.TermBranch, Cond: more, Then: head, Else: len(f.Blocks)}
	}
	switch kind {
	case 0:
		b.Term = ir.Term{Kind: ir.TermBranch, Cond: more, Then: 1, Else: 2}
	case 1: // another block in the loop
		if b.Term = (ir.Term{Kind: ir.TermJump, Then: 2}); crew {
			b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitBarrier, Next: 2 * 4096, Cond: ir.NoID}
		}
		g.block()
		switch r.IntN(6) {
		case 2: // what the run perhaps carries
			g.set(cornerSum, g.one(ir.OpXor, ir.V32, g.v(cornerSum), g.v(cornerAt+r.IntN(cornerQuad-cornerAt))))
		case 3:
			n := cornerAt + 2*r.IntN(2)
			g.set(n, g.one(ir.OpAdd, ir.V32, g.v(n), g.k(64)))
		case 0:
			g.set(g.pick(cornerFlat, cornerIndex), g.one(ir.OpAdd, ir.V32, g.v(g.pick(cornerFlat, cornerIndex)), g.k(16)))
		case 1:
			g.setS(cornerLong+1, g.one(ir.OpXor, ir.S32, g.s(cornerLong+1), g.k(1)))
		}
		branch(1)
	default: // an if, so that the blocks have copies for full EXEC
		b.Term = ir.Term{Kind: ir.TermJump, Then: 2}
		g.diverge()
		branch(1)
	}
	if g.maybe(2) { // once more into the loop, with other registers
		n := len(f.Blocks)
		b = g.block()
		more := g.s(cornerAgain)
		g.setS(cornerAgain, g.one(ir.OpSub, ir.S32, more, g.k(1)))
		g.setS(cornerLeft, g.k(1+r.IntN(4)))
		for range 1 + r.IntN(3) {
			switch n := r.IntN(cornerTemp); {
			case n < cornerAt:
				g.set(n, g.one(ir.OpAdd, ir.V32, g.v(n), g.k(16*(1+r.IntN(4)))))
			case n == cornerQuad:
				g.set(n, g.one(ir.OpAdd, ir.V32, g.v(n), g.k(256)))
			case n == cornerFree:
				g.setS(cornerNum, g.k(r.IntN(8)))
			case n >= cornerWide:
				g.setS(cornerLong+n-cornerWide, g.k(64*r.IntN(8)))
			case n%2 == 0:
				g.set(n, g.one(ir.OpXor, ir.V32, g.v(n), g.k(64)))
			}
		}
		if kind > 1 && g.maybe(3) { // all lanes, but only a look at EXEC tells
			for n := range f.Lanes / 32 {
				g.setS(isa.SRegEXECLo+n, g.s(cornerSaved+n))
			}
		} else if g.maybe(6) {
			g.add(ir.Value{Op: ir.OpMSet, Imm: isa.SRegEXECLo, Args: []ir.ID{g.c(ir.M, [2]uint64{^uint64(0), 0x00ffff00ffffff7f}[r.IntN(2)])}})
		}
		cond := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.SGT, Args: []ir.ID{more, g.k(0)}})
		b.Term = ir.Term{Kind: ir.TermBranch, Cond: cond, Then: 1, Else: n + 1}
	}
	if b = g.block(); g.maybe(2) { // nobody reads what the run leaves, but it
		for n := cornerTemp; n < cornerLDS; n++ {
			g.set(n, g.one(ir.OpAdd, ir.V32, g.v(cornerSum), g.k(n)))
		}
	}
	b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}
	return f
}

// diverge adds blocks with an if: lanes above s36 are out. What follows is in a block of its own.
func (g *cornerGen) diverge() {
	s := ir.S64
	if g.f.Lanes == 32 {
		s = ir.S32
	}
	get := func(n int) ir.ID {
		if s == ir.S32 {
			return g.s(n)
		}
		return g.s64(n)
	}
	set := func(n int, x ir.ID) {
		op := ir.OpSSet64
		if s == ir.S32 {
			op = ir.OpSSet
		}
		g.add(ir.Value{Op: op, Imm: uint64(n), Args: []ir.ID{x}})
	}
	exec := func() ir.ID {
		if g.maybe(4) {
			return get(isa.SRegEXECLo)
		}
		return g.one(ir.OpMToS, s, g.add(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: isa.SRegEXECLo}))
	}
	b := g.block()
	m := g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.ULT, Args: []ir.ID{g.one(ir.OpLaneID, ir.V32), g.s(cornerMask)}})
	was := exec()
	set(cornerSaved, was)
	set(isa.SRegEXECLo, g.one(ir.OpAnd, s, g.one(ir.OpMToS, s, m), was))
	b.Term = ir.Term{Kind: ir.TermJump, Then: b.Index + 1}
	if g.maybe(2) {
		b.Term = ir.Term{Kind: ir.TermBranch, Cond: g.one(ir.OpMIsZ, ir.S1, g.add(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: isa.SRegEXECLo})), Then: b.Index + 2, Else: b.Index + 1}
	}
	b = g.block()
	g.set(cornerSum, g.one(ir.OpAdd, ir.V32, g.v(cornerSum), g.k(1)))
	if g.maybe(3) {
		g.set(cornerFlat, g.one(ir.OpAdd, ir.V32, g.v(cornerFlat), g.k(4)))
	}
	b.Term = ir.Term{Kind: ir.TermJump, Then: b.Index + 1}
	g.block()
	set(isa.SRegEXECLo, g.one(ir.OpOr, s, exec(), get(cornerSaved)))
}
