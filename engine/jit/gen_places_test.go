//go:build linux && amd64

package jit

import (
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// Addresses of accesses of edgeGen, by space.

// place makes the address operands of accesses of w bytes in space.
func (g *edgeGen) place(space ir.Space, w int) edgePlace {
	p := edgePlace{space: space, w: w, base: func() ir.ID { return ir.NoID }}
	switch space {
	case ir.LDS:
		g.placeLDS(&p)
	case ir.Scratch:
		g.placeScratch(&p)
	default:
		g.placeGlobal(&p)
	}
	return p
}

// vreg is the next address register, or two.
func (g *edgeGen) vreg(n int) int {
	at := g.regs
	g.regs += n
	return at
}

// byTurns is a in every other iteration, else b.
func (g *edgeGen) byTurns(t ir.Type, a, b uint64) ir.ID {
	turn := g.one(ir.OpAnd, ir.S32, g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: 20}), g.k(1))
	even := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.EQ, Args: []ir.ID{turn, g.k(0)}})
	return g.one(ir.OpSelect, t, even, g.c(t, a), g.c(t, b))
}

// step lets what is in register n, a quadword if wide, go on by one of some steps.
func (g *edgeGen) step(n int, wide bool, steps ...int64) {
	d := steps[g.r.IntN(len(steps))]
	if d == 0 {
		return
	}
	every := g.r.IntN(2) == 0 // else back again
	g.steps = append(g.steps, func(exec ir.ID) {
		by := g.c(ir.S64, uint64(d))
		if !every {
			by = g.byTurns(ir.S64, uint64(d), uint64(-d))
		}
		if !wide {
			g.set(n, g.one(ir.OpAdd, ir.V32, g.get(n), g.one(ir.OpLo, ir.S32, by)), exec)
			return
		}
		x := g.one(ir.OpAdd, ir.V64, g.pair(n), by)
		lo, hi := g.one(ir.OpLo, ir.V32, x), g.one(ir.OpHi, ir.V32, x)
		g.set(n, lo, exec)
		g.set(n+1, hi, exec)
	})
}

// stepScalar is step for scalar registers.
func (g *edgeGen) stepScalar(n int, steps ...int64) {
	d := steps[g.r.IntN(len(steps))]
	if d == 0 {
		return
	}
	every := g.r.IntN(2) == 0
	g.steps = append(g.steps, func(ir.ID) {
		by := g.c(ir.S64, uint64(d))
		if !every {
			by = g.byTurns(ir.S64, uint64(d), uint64(-d))
		}
		x := g.one(ir.OpAdd, ir.S64, g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: uint64(n)}), by)
		g.add(ir.Value{Op: ir.OpSSet64, Imm: uint64(n), Args: []ir.ID{x}})
	})
}

func (g *edgeGen) pair(n int) ir.ID { return g.one(ir.OpPair, ir.V64, g.get(n), g.get(n+1)) }

// sbase puts x into scalar registers, and returns what reads it.
func (g *edgeGen) sbase(x uint64, steps ...int64) func() ir.ID {
	n := 40 + 2*g.bases
	g.bases++
	g.add(ir.Value{Op: ir.OpSSet64, Imm: uint64(n), Args: []ir.ID{g.c(ir.S64, x)}})
	g.stepScalar(n, steps...)
	return func() ir.ID { return g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: uint64(n)}) }
}

// edgeSteps are by how much addresses of accesses of w bytes go on: most often a little, and the way that is wanted, if one is.
func edgeSteps(w, extent int, way int64) []int64 {
	steps := []int64{0, 4, 4, 4, -4, 8, 16, 60, 1, int64(w), int64(w), int64(-w), int64(-w), -16, int64(w / 2), int64(extent), 64, 4096, -4096, 1 << 32, 1 << 32, -1 << 32}
	for i, d := range steps {
		if way != 0 && d > -4096 && d < 4096 {
			steps[i] = max(d, -d) * way
		}
	}
	return steps
}

func (g *edgeGen) placeGlobal(p *edgePlace) {
	r := g.r
	x, extent := g.lanes(p.w)
	at, way := g.target(extent, p.w)
	switch r.IntN(8) {
	case 0:
	case 1, 2, 3:
		at &^= uint64(min(p.w&-p.w, 4) - 1)
	default:
		at &^= uint64(p.w&-p.w - 1)
	}
	steps := edgeSteps(p.w, extent, way)
	if r.IntN(4) == 0 { // a gather or rows that fit, and then not any more, by a part of an element or a few
		x, extent = g.lanesOf(p.w, []int{3, 9}[r.IntN(2)])
		at, _ = g.targetOf(extent, p.w, 0)
		steps = []int64{1, int64(max(p.w/2, 1)), int64(min(p.w-1, 4)), int64(max(p.w-4, 3)), 4, 4, 8, 20}
	}
	if p.space == ir.Flat && r.IntN(3) > 0 { // an aperture, or some lanes in it
		size := g.lds
		in := uint64(sharedBase)
		if r.IntN(3) == 0 {
			in, size = privateBase, 256
		}
		n := g.vreg(2)
		a := g.one(ir.OpAdd, ir.V64, g.one(ir.OpZext64, ir.V64, x), g.c(ir.S64, in+uint64(uint32(size-r.IntN(extent+9)&^3))))
		if r.IntN(3) == 0 {
			a = g.one(ir.OpSelect, ir.V64, g.c(ir.M, r.Uint64()), a, g.one(ir.OpAdd, ir.V64, g.one(ir.OpZext64, ir.V64, x), g.c(ir.S64, at)))
		}
		g.set(n, g.one(ir.OpLo, ir.V32, a), g.all())
		g.set(n+1, g.one(ir.OpHi, ir.V32, a), g.all())
		g.step(n, true, 0, 4, -4, 64)
		p.off = func() ir.ID { return g.pair(n) }
		return
	}
	form := r.IntN(8)
	if p.space == ir.Flat {
		form = 0
	}
	switch form {
	case 0, 1, 2: // an address in two registers
		n := g.vreg(2)
		a := g.one(ir.OpAdd, ir.V64, g.one(ir.OpZext64, ir.V64, x), g.c(ir.S64, at))
		if r.IntN(4) == 0 { // some lanes are 4 GiB from the others
			d := uint64(1 << 32)
			if at >= g.s.va[1] {
				d = -d
			}
			a = g.one(ir.OpAdd, ir.V64, a, g.one(ir.OpSelect, ir.V64, g.c(ir.M, r.Uint64()), g.c(ir.S64, d), g.c(ir.S64, 0)))
		}
		g.set(n, g.one(ir.OpLo, ir.V32, a), g.all())
		g.set(n+1, g.one(ir.OpHi, ir.V32, a), g.all())
		g.step(n, true, steps...)
		p.off = func() ir.ID { return g.pair(n) }
	case 3: // both
		n := g.vreg(2)
		d := []uint64{0, 4096, 1 << 32, uint64(r.Uint32()), 1<<64 - 4096, 1<<32 - 64}[r.IntN(6)]
		a := g.one(ir.OpAdd, ir.V64, g.one(ir.OpZext64, ir.V64, x), g.c(ir.S64, d))
		g.set(n, g.one(ir.OpLo, ir.V32, a), g.all())
		g.set(n+1, g.one(ir.OpHi, ir.V32, a), g.all())
		p.base, p.off = g.sbase(at-d, steps...), func() ir.ID { return g.pair(n) }
	case 7: // the same offset for all lanes, or none
		n := g.sbase(uint64(r.Uint32N(4096)), 0, 4, 64)
		p.base = g.sbase(at, steps...)
		switch r.IntN(4) {
		case 0:
			p.off = func() ir.ID { return ir.NoID }
		case 1:
			p.off = func() ir.ID { return g.one(ir.OpLo, ir.S32, n()) }
		case 2:
			c := g.r.Uint32N(256)
			p.off = func() ir.ID { return g.one(ir.OpSplat, ir.V32, g.c(ir.S32, uint64(c))) }
		default:
			p.off = func() ir.ID { return g.one(ir.OpSplat, ir.V64, n()) }
		}
	default: // an offset of 32 bits
		n := g.vreg(1)
		d := []uint32{0, 0, 0, 4096, r.Uint32(), -uint32(extent), -uint32(r.IntN(extent + 1)), -uint32(extent) - 4*r.Uint32N(400), 1<<31 - uint32(r.IntN(extent+1))}[r.IntN(9)]
		if r.IntN(4) > 0 {
			d &^= 15
		}
		over := r.IntN(8) == 0
		if over { // offsets go below 0, and where they are added to goes 4 GiB down: what does not wrap stays about where it was
			d, steps = 4*r.Uint32N(8), []int64{-1 << 32}
			if p.w >= 4 && r.IntN(2) == 0 { // in rows
				lane := g.lane()
				x = g.one(ir.OpMul, ir.V32, g.one(ir.OpAnd, ir.V32, lane, g.k(15)), g.k(4))
				x = g.one(ir.OpAdd, ir.V32, x, g.one(ir.OpMul, ir.V32, g.one(ir.OpLShr, ir.V32, lane, g.k(4)), g.k([]int{68, 128, 0, 64}[r.IntN(4)])))
			}
		}
		g.set(n, g.one(ir.OpAdd, ir.V32, x, g.k(int(d))), g.all())
		if over {
			g.step(n, false, -4, -8, -16)
		} else {
			g.step(n, false, 0, 4, -4, 64, int64(p.w))
		}
		p.signed = r.IntN(4) == 0
		b := at - uint64(d)
		if p.signed {
			b = at - uint64(int64(int32(d)))
		}
		p.base = g.sbase(b, steps...)
		zext := !p.signed && r.IntN(4) == 0
		p.off = func() ir.ID {
			if zext {
				return g.one(ir.OpZext64, ir.V64, g.get(n))
			}
			return g.get(n)
		}
	}
}

// placeLDS is about the end of the LDS, or about 0.
func (g *edgeGen) placeLDS(p *edgePlace) {
	r := g.r
	if r.IntN(8) == 0 { // one address for all
		n := g.sbase(uint64(uint32(g.lds-4*r.IntN(12)-r.IntN(4)&r.IntN(4))), 0, 4, -4, 1, 64)
		p.off = func() ir.ID { return g.one(ir.OpLo, ir.S32, n()) }
		if r.IntN(2) == 0 {
			p.off = func() ir.ID { return g.one(ir.OpSplat, ir.V32, g.one(ir.OpLo, ir.S32, n())) }
		}
		return
	}
	x, extent := g.lanes(p.w)
	switch r.IntN(6) {
	case 0, 1:
		x, extent = g.tile(p.w)
	case 2:
		x, extent = g.one(ir.OpMul, ir.V32, g.lane(), g.k(p.w)), p.w*g.f.Lanes
	}
	for range 1 + r.IntN(4) {
		p.imms = append(p.imms, 4*r.IntN(1+g.lds/4)&^(4<<r.IntN(5)-1))
	}
	if r.IntN(2) == 0 {
		extent += slices.Max(p.imms)
	}
	at := 0
	switch r.IntN(8) {
	case 0, 1:
		at = g.lds - extent
	case 2, 3:
		at = g.lds - extent + []int{1, 2, 4, 4, 8, p.w - 4, p.w}[r.IntN(7)]
	case 4, 5:
		at = g.lds - r.IntN(extent+1)
	case 6:
		at = -r.IntN(extent + 65)
	default:
		at = r.IntN(g.lds + 1)
	}
	if p.w >= 4 && r.IntN(8) > 0 {
		at &^= 3
	}
	n := g.vreg(1)
	g.set(n, g.one(ir.OpAdd, ir.V32, x, g.k(at)), g.all())
	g.step(n, false, 0, 4, 4, -4, 8, 64, int64(p.w), 1)
	p.off = func() ir.ID { return g.get(n) }
}

// tile is lanes in rows or columns, as those of a wave lie that reads a tile, or writes one.
func (g *edgeGen) tile(w int) (x ir.ID, extent int) {
	r, k, strips := g.r, g.k, g.f.Lanes/16
	step, up := 4, 64
	switch r.IntN(6) {
	case 0: // the same for all strips
		step, up = []int{w, w, 2 * w, 12, 20}[r.IntN(5)], 0
	case 1: // one place for a strip
		step, up = 0, []int{0, 4, 16, 64}[r.IntN(4)]
	case 2: // rows of dwords
		step, up = 4, []int{0, 64, 68, 128}[r.IntN(4)]
	default: // columns, some of which overlap
		step, up = []int{4 * strips, 4 * strips, 4*strips - 4, 4*strips - 2, 4, 64, 68, -4 * strips, 8, 12, 16}[r.IntN(11)], 4
		if r.IntN(6) == 0 {
			up = []int{0, 8, 2}[r.IntN(3)]
		}
	}
	x = g.one(ir.OpMul, ir.V32, g.one(ir.OpAnd, ir.V32, g.lane(), k(15)), k(step))
	x = g.one(ir.OpAdd, ir.V32, x, g.one(ir.OpMul, ir.V32, g.one(ir.OpLShr, ir.V32, g.lane(), k(4)), k(up)))
	extent = 15*step + (strips-1)*up + w
	if step < 0 {
		x, extent = g.one(ir.OpAdd, ir.V32, x, k(-15*step)), extent-30*step
	}
	if r.IntN(8) == 0 { // two lanes are the other way round, or one is at the other's place
		n := r.IntN(g.f.Lanes &^ 1)
		m := uint64(3) << (n &^ 1)
		if r.IntN(2) == 0 {
			m = 1 << n
		}
		x = g.one(ir.OpSelect, ir.V32, g.c(ir.M, m), g.one(ir.OpXor, ir.V32, x, k(step)), x)
	}
	return x, extent
}

// placeScratch is in the lanes' private memory, which lies about an end.
func (g *edgeGen) placeScratch(p *edgePlace) {
	r := g.r
	x := g.one(ir.OpAnd, ir.V32, g.one(ir.OpMul, ir.V32, g.lane(), g.k(int(r.Uint32()|1))), g.k([]int{0, 12, 28, 31, 60}[r.IntN(5)]))
	at := r.IntN(48)
	if r.IntN(3) > 0 {
		at &^= 3
	}
	n := g.vreg(1)
	g.set(n, g.one(ir.OpAdd, ir.V32, x, g.k(at)), g.all())
	g.step(n, false, 0, 4, 1)
	p.off = func() ir.ID { return g.get(n) }
	if r.IntN(3) == 0 {
		b := g.sbase(uint64(4*r.IntN(8)), 0, 4)
		p.base = func() ir.ID { return g.one(ir.OpLo, ir.S32, b()) }
		if r.IntN(3) == 0 {
			p.off = func() ir.ID { return ir.NoID }
		}
	}
}
