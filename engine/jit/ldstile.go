package jit

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// A kernel that works on tiles in the LDS reads them in a region with many loads of few addresses: a column at an address that the sixteen
// lanes of a strip share, a row at addresses that are the same for every strip, or dwords one behind the other. Such a region has a version for each
// likely kind of its addresses, chosen by one look at all strips' addresses before it begins. In such a version loads are no operations: what
// uses them reads the LDS, by broadcast or as it is; or the frame, where elements of several dwords are put that must be taken apart,
// once for all strips. The usual form, which asks at each load, stands behind.

// tileKind is how the addresses of loads lie, in all strips of the wave.
type tileKind uint8

const (
	tileOne  tileKind = iota // a strip's lanes share one
	tileRow                  // a strip's lanes have consecutive dwords
	tileSame                 // all strips have those of the first
)

// tile is what the loads with one address value have in common.
type tile struct {
	comp   int32 // the address
	kind   tileKind
	dwords bool    // they load one dword each
	extent int32   // they end within this many bytes of the address
	reg    x86.Reg // host address of lane 0 of the strip; for tileSame of the first one
}

// tileRegs hold the addresses.
var tileRegs = [...]x86.Reg{x86.R15, x86.R14}

// farPlace is where a loaded value is read, if it is not in a register: the same place whatever the strip's number.
type farPlace struct {
	is  bool
	one bool // one dword that stands for all lanes
	at  x86.RM
}

// findTiles gives the addresses of the region's loads, or nil if it is not to have versions.
func (c *compiler) findTiles(ops []ir.ID, full ir.ID) []tile {
	if c.m.Quick || c.m.AVX2 || c.chooseU(ops) != 1 {
		return nil
	}
	var ts []tile
	loads, keep := 0, 0
	for _, id := range ops {
		v := c.v(id)
		if v.Op != ir.OpLoad { // here stores are in no region (planner.addStore)
			continue
		}
		ks := c.vals[v.Args[1]].comps
		if v.Args[2] != full && !c.fullMask(v.Args[2]) || len(ks) != 1 {
			return nil
		}
		m := &c.comps[ks[0]]
		if m.kind != compZ || m.home < 0 && m.def >= c.seg {
			return nil
		}
		i := 0
		for i < len(ts) && ts[i].comp != ks[0] {
			i++
		}
		if i == len(ts) {
			if i == len(tileRegs) {
				return nil
			}
			ts = append(ts, tile{comp: ks[0], dwords: true, reg: tileRegs[i]})
		}
		x := &ts[i]
		x.extent = max(x.extent, int32(v.Imm)+int32(v.Width))
		x.dwords = x.dwords && v.Width == 4
		loads++
		keep += 16 * int(v.Width)
	}
	if loads < 4 || keep > 2*keepMost {
		return nil
	}
	return ts
}

// tileVersions emits, before the usual form of a region, its versions for the kinds of its addresses, each of which goes on at done.
func (c *compiler) tileVersions(ops []ir.ID, full ir.ID, done x86.Label) {
	ts := c.findTiles(ops, full)
	if ts == nil {
		return
	}
	a := &c.a
	other := func(x *tile) tileKind {
		if x.dwords {
			return tileRow
		}
		return tileSame
	}
	var versions [][2]tileKind
	if len(ts) == 1 {
		versions = [][2]tileKind{{other(&ts[0])}, {tileOne}}
	} else {
		versions = [][2]tileKind{{tileOne, other(&ts[1])}, {other(&ts[0]), tileOne}}
	}
	regs := [2][2]x86.Reg{{x86.R8, x86.R9}, {x86.R12, x86.R13}}
	usual := a.NewLabel()
	labels := []x86.Label{a.NewLabel(), a.NewLabel()}
	var addrs []int32
	for i := range ts {
		addrs = append(addrs, ts[i].comp)
	}
	bit := c.kindBits(len(versions), addrs...)
	if bit >= 0 {
		for n := range versions {
			c.known(bit+n, labels[n])
		}
	}
	for i := range ts {
		c.tileLook(&ts[i], regs[i])
	}
	for n, kinds := range versions {
		a.MovI(x86.RAX, 0xffff)
		for i := range ts {
			a.Alu(x86.AND, 4, x86.RAX, x86.R(regs[i][b2i(kinds[i] != tileOne)]))
		}
		a.AluI(x86.CMP, 4, x86.R(x86.RAX), 0xffff)
		if bit < 0 {
			a.Jcc(x86.E, labels[n])
			continue
		}
		other := a.NewLabel()
		a.Jcc(x86.NE, other)
		c.learn(bit + n)
		a.Jmp(labels[n])
		a.Bind(other)
	}
	a.Jmp(usual)
	for n, kinds := range versions {
		a.Bind(labels[n])
		for i := range ts {
			ts[i].kind = kinds[i]
		}
		c.region(ops, full, ts)
		c.p.tiled++
		a.Jmp(done)
		c.restoreComps()
	}
	a.Bind(usual)
}

// tileLook finds out how x's addresses lie: regs become 0xffff if strips have one each, and if they have dwords one behind the other, or the same
// as the first. Neither is if some lane's loads end outside of the LDS. It uses RAX and RCX.
func (c *compiler) tileLook(x *tile, regs [2]x86.Reg) {
	a := &c.a
	const L = x86.L512
	const most, one, limit = 4, 5, 6
	c.ldsLimit(x.extent - 1)
	a.E(x86.VPBROADCASTDG, L, limit, 0, x86.R(x86.RAX), noMod)
	for q := range uint8(c.strips) {
		a.E(x86.VMOVDQU32, L, q, 0, c.at(x.comp, int(q)), noMod)
	}
	a.E(x86.VPMAXUD, L, most, 0, x86.V(1), noMod)
	for q := 2; q < c.strips; q++ {
		a.E(x86.VPMAXUD, L, most, most, x86.V(x86.Vec(q)), noMod)
	}
	a.EI(x86.VPCMPUD, L, 1, most, x86.V(limit), 1, noMod)
	a.X(x86.KMOVW, x86.L128, 2, 0, x86.KR(1))
	for q := range uint8(c.strips) {
		a.E(x86.VPBROADCASTD, L, one, 0, x86.V(x86.Vec(q)), noMod)
		a.EI(x86.VPCMPD, L, 1, one, x86.V(x86.Vec(q)), 0, x86.Masked(1))
		if x.dwords {
			a.E(x86.VPADDD, L, one, one, c.table(tabStride[4]), noMod)
			a.EI(x86.VPCMPD, L, 2, one, x86.V(x86.Vec(q)), 0, x86.Masked(2))
		} else if q > 0 {
			a.EI(x86.VPCMPD, L, 2, 0, x86.V(x86.Vec(q)), 0, x86.Masked(2))
		}
	}
	a.X(x86.KMOVGW, x86.L128, uint8(regs[0]), 0, x86.KR(1))
	a.X(x86.KMOVGW, x86.L128, uint8(regs[1]), 0, x86.KR(2))
}

// tileNumber is the last number of a version, see frameTile.
var tileNumber atomic.Uint32

// keptAddr is where the addresses of what is kept before the frame are.
const keptAddr = -64

// startTiles prepares the strips' loop: elements that all strips have are taken apart.
//
// What they have all waves of a work-group often have, that come here one after the other: so it is kept before the frame, with
// the addresses, until the LDS is written or code is left, and the next wave with the same addresses finds it there. Code of other
// functions that is reached meanwhile keeps to that, too.
func (r *region) startTiles() {
	c, a := r.c, &r.c.a
	r.kept = nil
	i := slices.IndexFunc(r.tiles, func(x tile) bool { return x.kind == tileSame })
	if i < 0 {
		return
	}
	x := &r.tiles[i] // no version has two
	size := int32(0)
	for _, id := range r.ops {
		if v := c.v(id); v.Op == ir.OpLoad && c.vals[v.Args[1]].comps[0] == x.comp {
			size += 16 * int32(v.Width)
		}
	}
	r.kept = map[ir.ID]int32{}
	a.E(x86.VMOVDQU32, x86.L512, tileAddr, 0, c.at(x.comp, 0), noMod)
	if size > keptRoom+keptAddr {
		at := c.frameLines(size)
		for n := 1; n <= 4; n++ {
			at = r.keepLoads(x, n, at)
		}
		return
	}
	number := int32(tileNumber.Add(1))
	fill, have := a.NewLabel(), a.NewLabel()
	a.AluI(x86.CMP, 4, x86.M(rFrame, frameTile), number)
	a.Jcc(x86.NE, fill)
	a.EI(x86.VPCMPD, x86.L512, 1, tileAddr, x86.M(rFrame, keptAddr), 0, noMod)
	a.X(x86.KORTESTW, x86.L128, 1, 0, x86.KR(1))
	a.Jcc(x86.B, have)
	a.Bind(fill)
	at := int32(-keptRoom)
	for n := 1; n <= 4; n++ {
		at = r.keepLoads(x, n, at)
	}
	a.E(x86.VMOVDQU32S, x86.L512, tileAddr, 0, x86.M(rFrame, keptAddr), noMod)
	a.MovMI(4, x86.M(rFrame, frameTile), number)
	a.Bind(have)
}

// forgetKept emits, before operations that write the LDS, that nothing of it is kept any more.
func (c *compiler) forgetKept(ops []ir.ID) {
	for _, id := range ops {
		v := c.v(id)
		if (v.Op == ir.OpStore || v.Op == ir.OpAtomic) && (v.Space == ir.LDS || v.Space == ir.Flat) {
			c.a.MovMI(4, x86.M(rFrame, frameTile), 0)
			return
		}
	}
}

// tileAddr holds the addresses of the first strip while loads are kept.
const tileAddr = 9

// keepLoads loads what x's loads of n dwords give, and puts it into the frame from at on; it gives the end. It is a loop, since straight
// code that runs once costs more to fetch than it does to run. Nothing else is in registers yet.
func (r *region) keepLoads(x *tile, n int, at int32) int32 {
	c, a := r.c, &r.c.a
	const L = x86.L512
	const count, dst, table, lds = x86.RCX, x86.R8, x86.R9, x86.RDX
	var imms []byte
	end := at
	for _, id := range r.ops {
		v := c.v(id)
		if v.Op == ir.OpLoad && int(v.Width) == 4*n && c.vals[v.Args[1]].comps[0] == x.comp {
			r.kept[id] = end
			imms = binary.LittleEndian.AppendUint32(imms, uint32(v.Imm))
			end += 64 * int32(n)
		}
	}
	if len(imms) == 0 {
		return end
	}
	d := []x86.Vec{0, 1, 2, 3}[:n]
	const addr, t = tileAddr, 4
	loop := func(load func()) {
		top := a.NewLabel()
		a.Alu(x86.XOR, 4, count, x86.R(count))
		a.G(x86.LEA, 8, dst, x86.M(rFrame, at))
		a.Bind(top)
		a.G(x86.MOV, 4, x86.RAX, x86.MX(table, count, 4, 0))
		load()
		for i, z := range d {
			a.E(x86.VMOVDQU32S, L, uint8(z), 0, x86.M(dst, int32(64*i)), noMod)
		}
		a.AluI(x86.ADD, 8, x86.R(dst), int32(64*n))
		a.AluI(x86.ADD, 4, x86.R(count), 1)
		a.AluI(x86.CMP, 4, x86.R(count), int32(len(imms)/4))
		a.Jcc(x86.NE, top)
	}
	apart, done := a.NewLabel(), a.NewLabel()
	a.LeaL(table, a.Const(imms, 4), 0)
	a.E(x86.VPBROADCASTD, L, t, 0, x86.V(addr), noMod)
	a.E(x86.VPADDD, L, t, t, r.table(tabStride[4*n]), noMod)
	a.EI(x86.VPCMPD, L, 1, t, x86.V(addr), 0, noMod)
	a.X(x86.KORTESTW, x86.L128, 1, 0, x86.KR(1))
	a.Jcc(x86.AE, apart)
	r.tileBase(x)
	loop(func() {
		a.G(x86.LEA, 8, lds, x86.MX(x.reg, x86.RAX, 1, 0))
		r.unzip(d, t, [4]x86.Vec{5, 6, 7, 8}, 1, func(i int) x86.RM { return x86.M(lds, int32(64*i)) })
	})
	a.Bind(done)
	c.tails = append(c.tails, func() {
		a.Bind(apart)
		a.G(x86.MOV, 8, x.reg, x86.M(rState, offLDS))
		if n == 4 {
			a.E(x86.VMOVDQU32S, L, addr, 0, x86.M(rFrame, tmpAddr), noMod)
			loop(func() {
				a.G(x86.LEA, 8, lds, x86.MX(x.reg, x86.RAX, 1, 0))
				c.pick4(lds)
			})
			a.Jmp(done)
			return
		}
		loop(func() {
			a.G(x86.LEA, 8, lds, x86.MX(x.reg, x86.RAX, 1, 0))
			for j, z := range d {
				a.X(x86.KXNORW, x86.L128, 1, 1, x86.KR(1))
				a.E(x86.VPXORD, L, uint8(z), uint8(z), x86.V(z), noMod)
				a.E(x86.VPGATHERDD, L, uint8(z), 0, x86.MV(lds, addr, 1, 4*int32(j)), x86.Masked(1))
			}
		})
		a.Jmp(done)
	})
	return end
}

// pick4 loads the sixteen bytes that each lane has at an address of tmpAddr, from lds on, and takes their dwords apart into z0 to z3. It uses RAX and z4
// to z8.
func (c *compiler) pick4(lds x86.Reg) {
	a := &c.a
	const L = x86.L512
	for l := range 16 {
		// Each quarter of z5 and up is a lane, so that what is taken apart is in order.
		z := uint8(5 + l&3)
		a.G(x86.MOV, 4, x86.RAX, x86.M(rFrame, tmpAddr+4*int32(l)))
		at := x86.MX(lds, x86.RAX, 1, 0)
		if l < 4 {
			a.E(x86.VMOVDQU32, x86.L128, z, 0, at, noMod)
		} else {
			a.EI(x86.VINSERTI32X4, L, z, z, at, uint8(l>>2), noMod)
		}
	}
	a.E(x86.VPUNPCKLDQ, L, 0, 5, x86.V(6), noMod) // per quarter: dwords 0 and 1 of two lanes
	a.E(x86.VPUNPCKHDQ, L, 2, 5, x86.V(6), noMod) // 2 and 3
	a.E(x86.VPUNPCKLDQ, L, 4, 7, x86.V(8), noMod)
	a.E(x86.VPUNPCKHDQ, L, 5, 7, x86.V(8), noMod)
	a.E(x86.VPUNPCKHQDQ, L, 1, 0, x86.V(4), noMod)
	a.E(x86.VPUNPCKLQDQ, L, 0, 0, x86.V(4), noMod)
	a.E(x86.VPUNPCKHQDQ, L, 3, 2, x86.V(5), noMod)
	a.E(x86.VPUNPCKLQDQ, L, 2, 2, x86.V(5), noMod)
}

// tileBases finds the addresses of the strip.
func (r *region) tileBases() {
	for i := range r.tiles {
		if x := &r.tiles[i]; x.kind != tileSame {
			r.tileBase(x)
		}
	}
}

func (r *region) tileBase(x *tile) {
	a := &r.c.a
	a.G(x86.MOV, 4, x.reg, r.zmem(x.comp, 0))
	a.Alu(x86.ADD, 8, x.reg, x86.M(rState, offLDS))
}

// tileLoad makes a load's values readable.
func (r *region) tileLoad(id ir.ID, v *ir.Value, u int) {
	c := r.c
	ks := c.vals[id].comps
	i := 0
	for r.tiles[i].comp != c.vals[v.Args[1]].comps[0] {
		i++
	}
	x := &r.tiles[i]
	for i, k := range ks {
		at := x86.M(x.reg, int32(v.Imm)+4*int32(i))
		if x.kind == tileSame {
			at = x86.M(rFrame, r.kept[id]+64*int32(i))
		}
		r.uses[k].far = farPlace{true, x.kind == tileOne, at}
		if c.comps[k].last > c.seg && int(r.uses[k].adopt) <= r.pos+1 { // it will be stored
			r.load(k, u)
		}
	}
}
