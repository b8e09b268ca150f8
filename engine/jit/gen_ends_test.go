//go:build linux && amd64

package jit

import (
	"math/rand/v2"

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
	kind := g.r.IntN(10)
	if w == 16 && g.r.IntN(2) == 0 {
		kind = 5
	}
	return g.lanesOf(w, kind)
}

// lanesOf is lanes of a kind: from 7 on they may be anywhere.
func (g *edgeGen) lanesOf(w, kind int) (x ir.ID, extent int) {
	r, k := g.r, g.k
	lane := g.lane()
	n := g.f.Lanes
	rows := func(row, step, up int) (ir.ID, int) {
		a := g.one(ir.OpMul, ir.V32, g.one(ir.OpAnd, ir.V32, lane, k(1<<row-1)), k(step))
		b := g.one(ir.OpMul, ir.V32, g.one(ir.OpLShr, ir.V32, lane, k(row)), k(up))
		return g.one(ir.OpAdd, ir.V32, a, b), (1<<row-1)*step + (n>>row-1)*up + w
	}
	switch kind {
	case 0, 1, 2: // consecutive
		x, _ = rows(6, w, 0)
		extent = n * w
	case 3, 4: // rows of dwords
		x, extent = rows(4, 4, []int{4, 64, 68, 128, 128, 1024, 4096, 0}[r.IntN(8)])
	case 5: // pieces
		if w == 16 && r.IntN(2) == 0 { // of 64 bytes
			x, extent = rows(2, w, []int{80, 128, 256, 1024, 4096}[r.IntN(5)])
			break
		}
		x, extent = rows([]int{2, 3, 4, 5}[r.IntN(4)], w, []int{w, 16 * w, 64, 256, 0}[r.IntN(5)])
	case 6: // one place
		x, extent = rows(4, 0, []int{0, w, 64}[r.IntN(3)])
	default: // anywhere
		size := 16 << r.IntN(9)
		unit := []int{w, 4, 4, 1}[r.IntN(4)]
		unit = max(1, unit&-unit)
		x = g.one(ir.OpAnd, ir.V32, g.one(ir.OpMul, ir.V32, lane, k(int(r.Uint32()|1))), k((size-1)&^(unit-1)))
		x = g.one(ir.OpSelect, ir.V32, g.c(ir.M, 1<<r.IntN(n)), k((size-1)&^(unit-1)), x) // one is the last
		extent = (size-1)&^(unit-1) + w
	}
	if r.IntN(8) == 0 { // one lane is not where it should be
		d := []int{1, 4, w, -w, 64, 4096, -4096}[r.IntN(7)]
		x = g.one(ir.OpSelect, ir.V32, g.c(ir.M, 1<<r.IntN(n)), g.one(ir.OpAdd, ir.V32, x, k(d)), x)
	}
	return x, extent
}

// target is where the first lane of an access that reaches as far as extent goes, about an end of the memory's; a step the way that it tells leads over it.
func (g *edgeGen) target(extent, w int) (va uint64, way int64) {
	return g.targetOf(extent, w, g.r.IntN(8))
}

// targetOf is target of a kind: 0 fits.
func (g *edgeGen) targetOf(extent, w, kind int) (va uint64, way int64) {
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
	switch kind {
	case 0, 1: // it fits
		at, way = at-extent, 1
	case 2: // all but a byte, or an element
		at += []int{1, 4, w, w - 1}[r.IntN(4)] - extent
	case 3, 4: // some lanes are behind it
		at -= r.IntN(extent + 1)
	case 5:
		at -= w * r.IntN(g.f.Lanes+1)
	case 6: // begins there
		at, way = at+4*max(0, r.IntN(9)-4), -1
	default:
		at = r.IntN(edgePages << mem.PageShift)
	}
	if r.IntN(8) > 0 {
		at &^= 3
	}
	return s.va[z] + uint64(int64(at)), way
}

// imm is an immediate offset.
func (g *edgeGen) imm(p *edgePlace) uint64 {
	r := g.r
	x := 0
	if len(p.imms) > 0 && r.IntN(2) == 0 {
		return uint64(p.imms[r.IntN(len(p.imms))])
	}
	switch r.IntN(8) {
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
func (g *edgeGen) access(p *edgePlace, exec ir.ID) { g.accessOf(p, exec, g.r.IntN(8)) }

// accessOf is access of a kind: 0 atomics, below 5 loads, else stores.
func (g *edgeGen) accessOf(p *edgePlace, exec ir.ID, what int) {
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
	switch {
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
	loads := 4 + r.IntN(5)
	if r.IntN(24) == 0 { // more than may be kept
		loads = 60
	}
	mixed := r.IntN(4) == 0
	for range loads {
		i := r.IntN(n)
		v := ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: uint8(max(at[i].w&^3, 4)), Space: ir.LDS, Imm: imm(at[i]), Args: []ir.ID{ir.NoID, offs[i], exec}}
		if mixed && r.IntN(2) == 0 {
			v.Width = 4
		}
		if v.Width > 4 {
			v.Type, v.N = ir.T, v.Width/4
		}
		ids = append(ids, g.add(v))
	}
	for _, id := range ids {
		g.keep(id, exec)
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
		w := []int{1, 2, 4, 4, 4, 8, 8, 12, 12, 16, 16}[r.IntN(11)]
		places = append(places, g.place(spaces[r.IntN(len(spaces))], w))
	}
	var scalar func() ir.ID
	if spaces[0] == ir.Global {
		at, way := g.target(64, 4)
		scalar = g.sbase(at, edgeSteps(4, 64, way)...)
	}
	b.Term = ir.Term{Kind: ir.TermJump, Then: 1}
	if r.IntN(4) == 0 { // what is loaded from is stored to
		p := &places[r.IntN(len(places))]
		for _, what := range []int{4, 5} {
			b = block()
			g.accessOf(p, g.exec(), what)
			b.Term = ir.Term{Kind: ir.TermJump, Then: len(f.Blocks)}
		}
	}
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
