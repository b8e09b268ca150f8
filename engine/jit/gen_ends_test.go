//go:build linux && amd64

package jit

import (
	"math/rand/v2"
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// edgeGen makes a program of this kind.
type edgeGen struct {
	*gen
	s     *edges
	lds   int // its size
	regs  int // address registers in use
	bases int // and scalar ones
	out   int
	steps []func(exec ir.ID) // what makes the next iteration's addresses
}

// edgePlace is where an access goes: operands that give the addresses of its lanes.
type edgePlace struct {
	space  ir.Space
	w      int
	signed bool
	imms   []int // in the LDS, the offsets of several accesses to it
	base   func() ir.ID
	off    func() ir.ID
}

func (g *edgeGen) all() ir.ID { return g.c(ir.M, ^uint64(0)) }

// lanes makes each lane's distance from the first one's address, and tells how far the last byte of an access of w bytes may be from that.
func (g *edgeGen) lanes(w int) (x ir.ID, extent int) {
	r, k := g.r, g.k
	lane := g.lane()
	n := g.f.Lanes
	rows := func(row, step, up int) (ir.ID, int) {
		a := g.one(ir.OpMul, ir.V32, g.one(ir.OpAnd, ir.V32, lane, k(1<<row-1)), k(step))
		b := g.one(ir.OpMul, ir.V32, g.one(ir.OpLShr, ir.V32, lane, k(row)), k(up))
		return g.one(ir.OpAdd, ir.V32, a, b), (1<<row-1)*step + (n>>row-1)*up + w
	}
	switch r.IntN(10) {
	case 0, 1, 2: // consecutive
		x, extent = rows(6, w, 0)
		extent = n * w
	case 3, 4: // rows of dwords
		x, extent = rows(4, 4, []int{4, 64, 68, 128, 1024, 0}[r.IntN(6)])
	case 5: // pieces
		x, extent = rows([]int{2, 3, 4, 5}[r.IntN(4)], w, []int{w, 16 * w, 64, 256, 0}[r.IntN(5)])
	case 6: // one place
		x, extent = rows(4, 0, []int{0, w, 64}[r.IntN(3)])
	default: // anywhere
		size := 16 << r.IntN(9)
		unit := []int{w, 4, 4, 1}[r.IntN(4)]
		unit = max(1, unit&-unit)
		x = g.one(ir.OpAnd, ir.V32, g.one(ir.OpMul, ir.V32, lane, k(int(r.Uint32()|1))), k((size-1)&^(unit-1)))
		extent = size - unit + w
	}
	if r.IntN(8) == 0 { // one lane is not where it should be
		d := []int{1, 4, w, -w, 64, 4096, -4096}[r.IntN(7)]
		x = g.one(ir.OpSelect, ir.V32, g.c(ir.M, 1<<r.IntN(n)), g.one(ir.OpAdd, ir.V32, x, k(d)), x)
	}
	return x, extent
}

// target is where the first lane of an access that reaches as far as extent goes, about an end of the memory's.
func (g *edgeGen) target(extent, w int) uint64 {
	r, s := g.r, g.s
	z := r.IntN(2)
	var ends []int
	for p := 1; p < edgePages; p++ {
		if s.at[z][p] != s.at[z][p-1]+1 || s.may[z][p] != s.may[z][p-1] {
			ends = append(ends, p)
		}
	}
	ends = append(ends, 1+r.IntN(edgePages))
	if carry := int((1<<32 - s.va[z]%(1<<32)) >> mem.PageShift); carry < edgePages && r.IntN(2) == 0 {
		ends = append(ends[:0], carry)
	}
	at := ends[r.IntN(len(ends))] << mem.PageShift
	switch r.IntN(8) {
	case 0, 1: // it fits
		at -= extent
	case 2: // all but a byte, or an element
		at += []int{1, 4, w, w - 1}[r.IntN(4)] - extent
	case 3, 4: // some lanes are behind it
		at -= r.IntN(extent + 1)
	case 5:
		at -= w * r.IntN(g.f.Lanes+1)
	case 6: // begins there
		at += 4 * (r.IntN(9) - 4)
	default:
		at = r.IntN(edgePages << mem.PageShift)
	}
	if r.IntN(8) > 0 {
		at &^= 3
	}
	return s.va[z] + uint64(int64(at))
}

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

// edgeSteps are by how much addresses of accesses of w bytes go on: most often a little.
func edgeSteps(w, extent int) []int64 {
	return []int64{0, 4, 4, 4, -4, 8, 16, 60, 1, int64(w), int64(w), int64(-w), int64(-w), -16, int64(w / 2), int64(extent), 64, 4096, -4096, 1 << 32, 1 << 32, -1 << 32}
}

func (g *edgeGen) placeGlobal(p *edgePlace) {
	r := g.r
	x, extent := g.lanes(p.w)
	at := g.target(extent, p.w)
	switch r.IntN(8) {
	case 0:
	case 1, 2, 3:
		at &^= uint64(min(p.w&-p.w, 4) - 1)
	default:
		at &^= uint64(p.w&-p.w - 1)
	}
	steps := edgeSteps(p.w, extent)
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
	if r.IntN(2) == 0 {
		x, extent = g.tile(p.w)
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

// burst adds several loads, or stores, at one address or two.
func (g *edgeGen) burst(places []edgePlace, exec ir.ID) {
	r := g.r
	n := 1 + r.IntN(2)
	var offs []ir.ID
	var at []*edgePlace
	for range n {
		p := &places[r.IntN(len(places))]
		at, offs = append(at, p), append(offs, p.off())
	}
	imm := func(p *edgePlace) uint64 {
		if len(p.imms) > 0 && r.IntN(4) > 0 {
			return uint64(p.imms[r.IntN(len(p.imms))])
		}
		return uint64(4 * r.IntN(16))
	}
	if r.IntN(2) == 0 {
		for range 1 + r.IntN(4) {
			g.add(ir.Value{Op: ir.OpStore, Width: 4, Space: ir.LDS, Imm: imm(at[0]), Args: []ir.ID{ir.NoID, offs[0], exec, g.data(1, false)}})
		}
		return
	}
	var ids []ir.ID
	for range 4 + r.IntN(5) {
		i := r.IntN(n)
		v := ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: uint8(max(at[i].w&^3, 4)), Space: ir.LDS, Imm: imm(at[i]), Args: []ir.ID{ir.NoID, offs[i], exec}}
		if v.Width > 4 {
			v.Type, v.N = ir.T, v.Width/4
		}
		ids = append(ids, g.add(v))
	}
	for _, id := range ids {
		g.keep(id, exec)
	}
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

// imm is an immediate offset.
func (g *edgeGen) imm(p *edgePlace) uint64 {
	r := g.r
	x := 0
	if len(p.imms) > 0 && r.IntN(2) == 0 {
		return uint64(p.imms[r.IntN(len(p.imms))])
	}
	switch r.IntN(6) {
	case 0:
		x = 4 * r.IntN(64)
	case 1:
		x = p.w * r.IntN(64)
	case 2:
		x = r.IntN(8192) - 4096
		if p.space == ir.LDS {
			x = []int{r.IntN(1 << 16), g.lds - 4*r.IntN(16), 1<<16 - 1}[r.IntN(3)]
		}
		if r.IntN(4) > 0 {
			x &^= 3
		}
	}
	if p.space == ir.LDS || p.space == ir.Scratch && x < 0 {
		x = max(x, 0)
	}
	return uint64(uint32(x))
}

// data is a value of n dwords, as one of the types that it may have.
func (g *edgeGen) data(n int, atomic bool) ir.ID {
	r := g.r
	one := func() ir.ID {
		switch r.IntN(8) {
		case 0:
			return g.one(ir.OpSplat, ir.V32, g.c(ir.S32, g.bits()))
		case 1:
			return g.one(ir.OpSplat, ir.V32, g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: 22}))
		}
		return g.get(8 + r.IntN(16))
	}
	switch {
	case n == 1:
		return one()
	case n == 2 && (atomic || r.IntN(2) == 0):
		if r.IntN(8) == 0 {
			return g.one(ir.OpSplat, ir.V64, g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 22}))
		}
		return g.one(ir.OpPair, ir.V64, one(), one())
	}
	var xs []ir.ID
	for range n {
		xs = append(xs, one())
	}
	return g.add(ir.Value{Op: ir.OpTuple, Type: ir.T, N: uint8(n), Args: xs})
}

// keep puts what was loaded into registers.
func (g *edgeGen) keep(id, mask ir.ID) {
	v := *g.f.V(id)
	for i := range max(1, v.Regs()) {
		x := id
		switch v.Type {
		case ir.T:
			x = g.add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: uint64(i), Args: []ir.ID{id}})
		case ir.V64:
			x = g.one([]ir.Op{ir.OpLo, ir.OpHi}[i], ir.V32, id)
		}
		n := 8 + g.out%16
		g.out++
		if g.r.IntN(3) == 0 {
			x = g.one(ir.OpXor, ir.V32, x, g.get(n))
		}
		g.set(n, x, mask)
	}
}

// access adds an access to p.
func (g *edgeGen) access(p *edgePlace, exec ir.ID) {
	r := g.r
	v := ir.Value{Space: p.space, Width: uint8(p.w), Sign: r.IntN(2) == 0, Imm: g.imm(p)}
	if p.signed {
		v.Imm |= ir.OffSigned
	}
	mask := exec
	switch r.IntN(12) {
	case 0:
		mask = g.all()
	case 1:
		mask = g.c(ir.M, r.Uint64())
	case 2:
		mask = g.one(ir.OpMAnd, ir.M, exec, g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.ULT, Args: []ir.ID{g.get(8 + r.IntN(16)), g.get(8 + r.IntN(16))}}))
	}
	v.Args = []ir.ID{p.base(), p.off(), mask}
	n := max(1, p.w/4)
	switch what := r.IntN(8); {
	case what <= b2i(p.space == ir.LDS) && (p.w == 4 || p.w == 8):
		g.atomic(v, n)
	case what < 5:
		v.Op, v.Type = ir.OpLoad, ir.V32
		if n == 2 && r.IntN(2) == 0 {
			v.Type = ir.V64
		} else if n > 1 {
			v.Type, v.N = ir.T, uint8(n)
		}
		g.keep(g.add(v), exec)
	default:
		v.Op, v.Args = ir.OpStore, append(v.Args, g.data(n, false))
		g.add(v)
	}
}

func (g *edgeGen) atomic(v ir.Value, n int) {
	r := g.r
	v.Op, v.Sign, v.Atomic = ir.OpAtomic, false, ir.AtomicOp(r.IntN(int(ir.AtomicWrap)+1))
	if r.IntN(3) == 0 {
		v.Atomic = []ir.AtomicOp{ir.AtomicAdd, ir.AtomicSub, ir.AtomicAnd, ir.AtomicOr, ir.AtomicXor}[r.IntN(5)]
	}
	switch v.Atomic {
	case ir.AtomicFAdd, ir.AtomicFMin, ir.AtomicFMax:
		v.Kind, v.FP = []ir.Kind{1: ir.F32, 2: ir.F64}[n], ir.FPIEEE
	case ir.AtomicPkFAdd:
		v.Atomic = ir.AtomicCmpSwap
	}
	x, y := g.data(n, true), g.data(n, true)
	if v.Atomic == ir.AtomicCmpSwap && r.IntN(2) == 0 { // what is there, most often
		z := v
		z.Op, z.Atomic, z.Type = ir.OpLoad, 0, []ir.Type{1: ir.V32, 2: ir.V64}[n]
		y = g.add(z)
	}
	v.Args = append(v.Args, x, y)
	want := r.IntN(2) == 0
	if want {
		v.Type, v.Order = []ir.Type{1: ir.V32, 2: ir.V64}[n], ir.OrderReturn
	}
	id := g.add(v)
	if want {
		g.keep(id, v.Args[2])
	}
}

// sload adds a scalar load about an end.
func (g *edgeGen) sload(base func() ir.ID) {
	r := g.r
	v := ir.Value{Op: ir.OpSLoad, Space: ir.Const, Imm: uint64(uint32(4 * (r.IntN(64) - 32))), Args: []ir.ID{base(), ir.NoID}}
	if r.IntN(3) == 0 {
		v.Args[1] = g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: 24})
	}
	n := []uint8{1, 2, 4, 8, 16}[r.IntN(5)]
	v.Width = 4 * n
	switch n {
	case 1:
		v.Type = ir.S32
	case 2:
		v.Type = ir.S64
	default:
		v.Type, v.N = ir.TS, n
	}
	id := g.add(v)
	at := uint64(64)
	switch n {
	case 1:
		g.add(ir.Value{Op: ir.OpSSet, Imm: at, Args: []ir.ID{id}})
	case 2:
		g.add(ir.Value{Op: ir.OpSSet64, Imm: at, Args: []ir.ID{id}})
	}
	for i := range uint64(v.N) {
		x := g.add(ir.Value{Op: ir.OpElem, Type: ir.S32, Imm: i, Args: []ir.ID{id}})
		g.add(ir.Value{Op: ir.OpSSet, Imm: at + i, Args: []ir.ID{x}})
	}
}

// edgeFunc is the program of a seed, for memory s and an LDS of lds bytes, with accesses in some of spaces. A loop goes round s20 times; in its blocks are
// accesses, of which the first is the block's first instruction.
func edgeFunc(seed uint64, s *edges, lds int, spaces []ir.Space) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 131))
	f := &ir.Func{PC: 0x10000, Lanes: []int{32, 64}[r.IntN(2)]}
	g := &edgeGen{gen: &gen{r: r, f: f, nv: edgeVGPRs}, s: s, lds: lds}
	block := func() *ir.Block {
		b := &ir.Block{Index: len(f.Blocks), PC: uint32(len(f.Blocks) * 1024), Insts: 1 + r.IntN(9)}
		f.Blocks = append(f.Blocks, b)
		g.b, g.by = b, map[ir.Type][]ir.ID{}
		return b
	}
	b := block()
	var places []edgePlace
	for range 1 + r.IntN(3) {
		w := []int{1, 2, 4, 4, 4, 8, 8, 12, 16, 16}[r.IntN(10)]
		places = append(places, g.place(spaces[r.IntN(len(spaces))], w))
	}
	var scalar func() ir.ID
	if spaces[0] == ir.Global {
		scalar = g.sbase(g.target(64, 4), edgeSteps(4, 64)...)
	}
	b.Term = ir.Term{Kind: ir.TermJump, Then: 1}
	for range 1 + r.IntN(3) {
		b = block()
		if r.IntN(4) == 0 { // EXEC for what comes
			t := []ir.Type{ir.S32, ir.S64}[f.Lanes/64]
			lanes := []uint64{0, ^uint64(0), 1 << r.IntN(f.Lanes), 0xffff, 0xffff0000, r.Uint64()}[r.IntN(6)]
			m := g.c(t, lanes)
			if r.IntN(2) == 0 {
				m = g.byTurns(t, lanes, ^uint64(0))
			}
			g.add(ir.Value{Op: ir.OpMSet, Imm: isa.SRegEXECLo, Args: []ir.ID{g.one(ir.OpSToM, ir.M, m)}})
			b.Term = ir.Term{Kind: ir.TermJump, Then: len(f.Blocks)}
			b = block()
		}
		exec := g.exec()
		for range 1 + max(0, r.IntN(6)-2) {
			if scalar != nil && r.IntN(6) == 0 {
				g.sload(scalar)
				continue
			}
			if spaces[0] == ir.LDS && r.IntN(2) == 0 {
				g.burst(places, exec)
				continue
			}
			p := &places[r.IntN(len(places))]
			g.access(p, exec)
		}
		b.Term = ir.Term{Kind: ir.TermJump, Then: len(f.Blocks)}
	}
	b = block()
	exec := g.exec()
	if r.IntN(2) == 0 {
		exec = g.all()
	}
	for _, step := range g.steps {
		step(exec)
	}
	left := g.one(ir.OpSub, ir.S32, g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: 20}), g.k(1))
	g.add(ir.Value{Op: ir.OpSSet, Imm: 20, Args: []ir.ID{left}})
	more := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.SGT, Args: []ir.ID{left, g.k(0)}})
	b.Term = ir.Term{Kind: ir.TermBranch, Cond: more, Then: 1, Else: len(f.Blocks)}
	b = block()
	b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}
	for _, b := range f.Blocks {
		pc := b.PC
		for _, id := range b.Code {
			v := f.V(id)
			if v.PC = pc; v.Op.Memory() || pc > b.PC {
				pc += 4
			}
		}
	}
	return f
}
