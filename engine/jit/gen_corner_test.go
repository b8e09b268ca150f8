//go:build linux && amd64

package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Loops with a run of affine addresses (affine.go) that also leaves behind what it does not load from: sums, products, halves, carries. Nothing but a guard's
// own test tells whether these are right, while an address must lead to elements side by side. Most registers are as a run wants them, and at most one thing
// of a program is odd, so that a single guard has to see it.

// Registers of cornerFunc.
const (
	cornerFlat  = 0  // v0, v1: one number in each strip
	cornerIndex = 2  // v2, v3: of dwords
	cornerBytes = 4  // v4, v5
	cornerAt    = 6  // v6:7, v8:9: addresses of dwords; v10:11: one in each strip
	cornerWide  = 12 // v12:13: a number
	cornerQuad  = 14 // v14: offsets of elements of 16 bytes
	cornerFree  = 15 // v15: any
	cornerTemp  = 16 // what the run leaves behind
	cornerOut   = 28 // what it loads
	cornerLDS   = 46 // the wave's addresses in the LDS
	cornerSum   = 47
	cornerVGPRs = 48

	cornerStep  = 16 // s16: bytes from one iteration to the next
	cornerOr    = 17 // s17: bits above an index
	cornerNum   = 18 // s18: a small number
	cornerBig   = 19 // s19: one whose sums have carries
	cornerLeft  = 20 // s20: iterations
	cornerAgain = 21 // s21: whether the loop is entered once more
	cornerPart  = 22 // s22: the wave's part of the LDS
	cornerLong  = 24 // s24:25
	cornerCount = 26 // s26 and s27 are counted in the loop
	cornerSaved = 32 // s32:33: EXEC
	cornerMask  = 36 // s36: lanes of an if
	cornerFlags = 40 // s40 to s47
)

// oddity is what is odd in a program.
type oddity int

const (
	oddNothing oddity = iota
	oddWrap           // an input wraps in a strip
	oddLane           // a lane of an input is another's
	oddMeet           // bits of a sum by OR meet
	oddHigh           // a high half changes in a strip
	oddPages          // strips lie across pages that lie apart
	oddExec           // not all lanes are on
	oddEnd            // strips lie across the end of memory
	oddStrips         // strips have other steps
	oddApart          // elements lie apart
	oddUpper          // high halves that differ from lane to lane
	oddForm           // an operation that a run does not know
	oddCarry          // carries that differ in a strip
	oddities
)

// cornerOdd is what is odd in the program of a seed.
func cornerOdd(seed uint64) oddity {
	x := oddity(seed * 0xd6e8feb86659fd93 >> 33 % 20)
	switch {
	case x == oddities:
		return oddExec
	case x == oddities+1:
		return oddHigh
	case x > oddities:
		return oddNothing
	}
	return x
}

// cornerReg is the register of 32 bits that is odd, if one is.
func cornerReg(seed uint64) int {
	if cornerOdd(seed) == oddWrap { // which no load wants
		return cornerFree
	}
	n := []int{cornerIndex, cornerIndex, cornerIndex + 1, cornerBytes, cornerBytes + 1, cornerFree, cornerWide, cornerQuad, cornerAt + 4, cornerAt + 4, cornerAt + 4}[seed*0xd6e8feb86659fd93>>50%11]
	if odd := cornerOdd(seed); n == cornerAt+4 && odd != oddLane && odd != oddStrips {
		return cornerFree
	}
	return n
}

// cornerGen makes a cornerFunc.
type cornerGen struct {
	gen
	reg        int
	odd        oddity
	exec, base ir.ID
	crew       bool
	temp       int
	moved      int // pairs that the loop moves on
	flags      int
	later      []ir.ID // 32-bit values that are used behind the run
}

func (g *cornerGen) one(op ir.Op, t ir.Type, args ...ir.ID) ir.ID {
	return g.add(ir.Value{Op: op, Type: t, Args: args})
}
func (g *cornerGen) k(x int) ir.ID { return g.c(ir.S32, uint64(uint32(x))) }
func (g *cornerGen) v(n int) ir.ID {
	return g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(n)})
}
func (g *cornerGen) s(n int) ir.ID {
	return g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: uint64(n)})
}
func (g *cornerGen) s64(n int) ir.ID {
	return g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: uint64(n)})
}
func (g *cornerGen) set(n int, x ir.ID) {
	g.add(ir.Value{Op: ir.OpVSet, Imm: uint64(n), Args: []ir.ID{x, g.exec}})
}
func (g *cornerGen) setS(n int, x ir.ID) {
	g.add(ir.Value{Op: ir.OpSSet, Imm: uint64(n), Args: []ir.ID{x}})
}
func (g *cornerGen) maybe(n int) bool   { return g.r.IntN(n) == 0 }
func (g *cornerGen) is(x oddity) bool   { return g.odd == x && g.maybe(2) }
func (g *cornerGen) pairOf(n int) ir.ID { return g.one(ir.OpPair, ir.V64, g.v(n), g.v(n+1)) }
func (g *cornerGen) lo(x ir.ID) ir.ID   { return g.one(ir.OpLo, ir.V32, x) }
func (g *cornerGen) hi(x ir.ID) ir.ID   { return g.one(ir.OpHi, ir.V32, x) }
func (g *cornerGen) pick(x ...int) int  { return x[g.r.IntN(len(x))] }
func (g *cornerGen) carry(a, b, c ir.ID) ir.ID {
	m := g.one(ir.OpCarryAdd, ir.M, a, b, c)
	switch g.r.IntN(4) {
	case 0:
		return m
	case 1:
		return g.one(ir.OpMAnd, ir.M, g.exec, m)
	}
	return g.one(ir.OpMAnd, ir.M, m, g.exec)
}

// block begins a block.
func (g *cornerGen) block() *ir.Block {
	b := &ir.Block{Index: len(g.f.Blocks), PC: uint32(len(g.f.Blocks) * 4096), Insts: 1 + g.r.IntN(9)}
	g.f.Blocks = append(g.f.Blocks, b)
	g.b, g.by = b, map[ir.Type][]ir.ID{}
	g.exec = g.add(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: isa.SRegEXECLo})
	g.base = g.s64(30)
	return b
}

// halves adds 64-bit values in halves, as instructions of 32 bits do.
func (g *cornerGen) halves(a, ah, b, bh ir.ID) (lo, hi ir.ID) {
	if g.maybe(2) {
		a, ah, b, bh = b, bh, a, ah
	}
	lo = g.one(ir.OpAdd, ir.V32, a, b)
	c := g.carry(a, b, ir.NoID)
	switch {
	case ah == ir.NoID:
		ah, bh = bh, ir.NoID
	case bh != ir.NoID && g.maybe(2):
		ah, bh = bh, ah
	}
	x := ah
	if bh != ir.NoID {
		x = g.one(ir.OpAdd, ir.V32, ah, bh)
	}
	if bit := g.one(ir.OpMToV, ir.V32, c); g.maybe(3) {
		hi = g.one(ir.OpAdd, ir.V32, bit, x)
	} else {
		hi = g.one(ir.OpAdd, ir.V32, x, bit)
	}
	if g.maybe(4) && g.flags < 4 {
		if bh == ir.NoID {
			bh = g.k(0)
		}
		g.flag(g.carry(ah, bh, c))
	}
	return lo, hi
}

// flag writes a lane mask.
func (g *cornerGen) flag(m ir.ID) {
	n := cornerFlags + 2*g.flags
	if g.maybe(8) { // what was there before
		g.setS(cornerCount, g.s(n))
	}
	g.add(ir.Value{Op: ir.OpMSet, Imm: uint64(n), Args: []ir.ID{m}})
	if g.flags++; g.maybe(8) {
		g.setS(cornerCount+1, g.s(n))
	}
}

// flat is a number that is one in each strip.
func (g *cornerGen) flat(depth int) ir.ID {
	if depth == 0 || g.maybe(3) {
		switch g.r.IntN(16) {
		case 0, 1, 2:
			return g.one(ir.OpSplat, ir.V32, g.s(g.pick(cornerNum, cornerStep)))
		case 3, 4, 5:
			return g.s(g.pick(cornerStep, cornerNum))
		case 6, 7, 8:
			return g.k(g.pick(1, 4, 64))
		case 9: // what makes sums wrap
			return []ir.ID{g.k(g.pick(-1, -16)), g.s(cornerBig), g.v(cornerFlat + 1)}[g.r.IntN(3)]
		}
		return g.v(cornerFlat)
	}
	x := g.v(cornerFlat) // of lanes, whatever the other is
	y := g.flat(depth - 1)
	if g.maybe(2) && g.f.V(y).Type == ir.V32 {
		x, y = y, x
	}
	switch op := []ir.Op{ir.OpAnd, ir.OpXor, ir.OpMul, ir.OpSub, ir.OpAdd, ir.OpOr, ir.OpLShr, ir.OpHi, ir.OpShl}[g.r.IntN(9)]; op {
	case ir.OpLShr, ir.OpShl:
		return g.one(op, ir.V32, x, g.k(g.pick(0, 1, 4, 31, 35)))
	case ir.OpHi:
		return g.hi(g.one(ir.OpMulU64, ir.V64, x, y))
	default:
		return g.one(op, ir.V32, x, y)
	}
}

// narrow is a 32-bit value with steps.
func (g *cornerGen) narrow(depth int) ir.ID {
	if depth == 0 {
		return g.v(g.pick(cornerIndex, cornerIndex+1, cornerBytes, cornerBytes+1, cornerQuad, cornerFree))
	}
	depth--
	switch g.r.IntN(13) {
	case 0, 1, 12:
		return g.one(ir.OpAdd, ir.V32, g.narrow(depth), g.flat(depth))
	case 2:
		return g.one(ir.OpAdd, ir.V32, g.flat(depth), g.narrow(depth))
	case 3:
		return g.one(ir.OpAdd, ir.V32, g.narrow(depth), g.narrow(0))
	case 4:
		if g.maybe(2) {
			return g.one(ir.OpSub, ir.V32, g.narrow(depth), g.k(0))
		}
		return g.one(ir.OpSub, ir.V32, g.narrow(depth), g.flat(depth))
	case 5:
		return g.one(ir.OpMul, ir.V32, g.narrow(depth), g.k(g.pick(0, 1, 3, 12, 1<<10)))
	case 6:
		return g.one(ir.OpShl, ir.V32, g.narrow(depth), g.k(g.pick(0, 1, 2, 5, 32)))
	case 7, 8:
		return g.or()
	case 9:
		return g.hi(g.wide(depth))
	default:
		return g.lo(g.wide(depth))
	}
}

// or is a sum by OR.
func (g *cornerGen) or() ir.ID {
	x := g.v(g.pick(cornerIndex, cornerIndex, cornerIndex+1))
	y := g.s(cornerOr)
	if g.maybe(3) {
		y = g.one(ir.OpAnd, ir.V32, g.v(cornerFlat+g.r.IntN(2)), y)
	}
	if g.is(oddMeet) {
		y = g.k(1 << g.r.IntN(6))
	} else if g.odd != oddMeet && g.maybe(8) {
		x = g.one(ir.OpAnd, ir.V32, g.v(cornerFlat), g.k(15))
	}
	if g.maybe(2) {
		return g.one(ir.OpOr, ir.V32, x, y)
	}
	return g.one(ir.OpOr, ir.V32, y, x)
}

// wide is a 64-bit value.
func (g *cornerGen) wide(depth int) ir.ID {
	one := g.one
	if depth == 0 {
		switch g.r.IntN(5) {
		case 0:
			return g.pairOf(cornerWide)
		case 1:
			return g.pairOf(cornerAt + 2*g.r.IntN(3))
		case 2:
			return one(ir.OpAdd, ir.V64, one(ir.OpZext64, ir.V64, g.v(g.pick(cornerIndex, cornerBytes))), g.s64(cornerLong))
		}
		return one(ir.OpZext64, ir.V64, g.narrow(0))
	}
	depth--
	switch g.r.IntN(13) {
	case 0, 1:
		return one(ir.OpAdd, ir.V64, g.wide(depth), g.s64(cornerLong))
	case 2:
		return one(ir.OpAdd, ir.V64, g.wide(depth), g.wide(0))
	case 3:
		return one(ir.OpShl, ir.V64, g.wide(depth), g.k(g.pick(0, 1, 2, 3, 32)))
	case 4:
		return one(ir.OpMulU64, ir.V64, g.narrow(depth), g.k(g.pick(0, 4, 12, 1<<16)))
	case 5:
		return one(ir.OpMulU64, ir.V64, g.v(cornerFlat+g.r.IntN(2)), g.flat(depth))
	case 6:
		return one(ir.OpPair, ir.V64, g.narrow(depth), g.flat(0))
	case 7:
		x := one(ir.OpMulU64, ir.V64, g.v(cornerFlat), g.flat(0))
		if g.maybe(2) {
			x = g.pairOf(cornerAt + 4)
		}
		return one(ir.OpLShr, ir.V64, x, g.k(g.pick(0, 4, 33)))
	case 8:
		if g.maybe(2) {
			return one(ir.OpSub, ir.V64, g.wide(depth), g.pairOf(cornerAt+4))
		}
		return one(ir.OpSub, ir.V64, g.wide(depth), g.s64(cornerLong))
	case 9:
		return one(ir.OpZext64, ir.V64, g.or())
	case 10:
		return one(ir.OpOr, ir.V64, one(ir.OpZext64, ir.V64, g.v(cornerIndex)), one(ir.OpShl, ir.V64, one(ir.OpZext64, ir.V64, g.flat(0)), g.k(g.pick(12, 32))))
	default:
		lo, hi := g.halves(g.narrow(depth), g.flat(0), g.v(cornerFlat+g.r.IntN(2)), ir.NoID)
		if g.maybe(2) {
			lo, hi = g.halves(g.v(cornerWide), g.v(cornerWide+1), g.s(cornerLong), g.s(cornerLong+1))
		}
		return one(ir.OpPair, ir.V64, lo, hi)
	}
}

// put writes a value to a register of what the run leaves behind.
func (g *cornerGen) put(x ir.ID) {
	g.set(cornerTemp+g.temp%12, x)
	g.temp++
	if g.maybe(4) {
		g.later = append(g.later, x)
	}
}

// target leaves behind what shows the program's oddity.
func (g *cornerGen) target() {
	reg := g.v(g.reg)
	switch g.odd {
	case oddWrap:
		if g.maybe(2) {
			g.flag(g.carry(reg, g.s(cornerBig), ir.NoID))
			return
		}
		fallthrough
	case oddHigh:
		if g.crew && g.maybe(2) { // in some iteration
			x := g.pairOf(cornerWide)
			g.put(g.hi(x))
			lo, hi := g.halves(g.v(cornerWide), g.v(cornerWide+1), g.k(g.pick(16, 64)), ir.NoID)
			g.set(cornerWide, lo)
			g.set(cornerWide+1, hi)
			g.moved |= 1 << cornerWide
			return
		}
		x := g.one(ir.OpAdd, ir.V64, g.one(ir.OpZext64, ir.V64, reg), g.s64(cornerLong))
		if g.maybe(2) {
			g.put(g.lo(x))
		}
		g.put(g.hi(x))
	case oddMeet:
		g.put(g.or())
	case oddLane, oddStrips:
		if g.reg == cornerAt+4 { // which must be one in each strip
			x := g.pairOf(g.reg)
			if g.maybe(2) {
				x = g.one(ir.OpLShr, ir.V64, x, g.k(4))
			} else {
				x = g.one(ir.OpXor, ir.V64, x, g.c(ir.S64, 1<<12))
			}
			g.put(g.lo(x))
			return
		}
		g.put(g.one(ir.OpAdd, ir.V32, reg, g.flat(1)))
	case oddCarry:
		g.flag(g.carry(g.v(cornerIndex), g.s(cornerBig), ir.NoID))
	}
}

// leave writes something that the run leaves behind.
func (g *cornerGen) leave() {
	put := g.put
	switch g.r.IntN(9) {
	case 0, 1, 2:
		put(g.narrow(2))
	case 3, 4:
		x := g.wide(1 + g.r.IntN(2))
		put(g.lo(x))
		put(g.hi(x))
	case 5: // a copy
		put(g.v(g.r.IntN(cornerTemp)))
	case 6:
		put(g.flat(2))
	default:
		if g.flags == 4 {
			return
		}
		switch g.r.IntN(4) {
		case 0:
			g.flag(g.carry(g.narrow(1), g.flat(1), ir.NoID))
		case 1:
			g.flag(g.carry(g.v(cornerIndex+g.r.IntN(2)), g.s(cornerBig), ir.NoID))
		case 2:
			g.flag(g.carry(g.v(cornerIndex), g.v(cornerFlat+g.r.IntN(2)), ir.NoID))
		default:
			g.flag(g.carry(g.wide(1), g.s64(cornerLong), ir.NoID))
		}
	}
}

// strange does what a run does not know.
func (g *cornerGen) strange() {
	one := g.one
	put := func(x ir.ID) { g.set(cornerTemp+g.r.IntN(12), x) }
	index := g.v(cornerIndex)
	switch g.r.IntN(13) {
	case 0:
		put(one(ir.OpShl, ir.V32, index, g.s(cornerNum)))
	case 1:
		put(one(ir.OpAdd, ir.V32, g.v(cornerIndex), one(ir.OpReadLane, ir.S32, index, g.k(3))))
	case 2:
		put(g.lo(one(ir.OpMul, ir.V64, g.wide(1), g.wide(0))))
	case 3:
		put(one(ir.OpMul, ir.V32, g.k(12), index))
	case 4:
		put(one(ir.OpXor, ir.V32, index, g.v(cornerBytes)))
	case 5: // EXEC elsewhere
		g.add(ir.Value{Op: ir.OpMSet, Imm: 48, Args: []ir.ID{g.exec}})
	case 6: // masks that overlap
		m := g.carry(index, g.s(cornerBig), ir.NoID)
		g.add(ir.Value{Op: ir.OpMSet, Imm: 48, Args: []ir.ID{m}})
		g.add(ir.Value{Op: ir.OpMSet, Imm: 49, Args: []ir.ID{g.carry(index, g.v(cornerFlat), ir.NoID)}})
	case 7:
		m := one(ir.OpMAnd, ir.M, g.carry(index, g.s(cornerBig), ir.NoID), g.carry(index, g.v(cornerFlat), ir.NoID))
		if put(one(ir.OpMToV, ir.V32, m)); g.maybe(2) {
			g.add(ir.Value{Op: ir.OpMSet, Imm: 48, Args: []ir.ID{m}})
		}
	case 8: // lanes of another mask
		m := g.add(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: cornerFlags})
		g.add(ir.Value{Op: ir.OpVSet, Imm: cornerTemp, Args: []ir.ID{index, m}})
	case 9:
		g.add(ir.Value{Op: ir.OpMSet, Imm: 48, Args: []ir.ID{one(ir.OpICmp, ir.M, index, g.s(cornerNum))}})
	case 10: // a carry of 64 bits in a sum
		m := g.carry(g.wide(1), g.s64(cornerLong), ir.NoID)
		put(one(ir.OpAdd, ir.V32, g.v(cornerFlat), one(ir.OpMToV, ir.V32, m)))
	case 11:
		put(one(ir.OpShl, ir.V32, g.v(cornerFree), g.k(28)))
	default:
		g.add(ir.Value{Op: ir.OpVSet, Imm: cornerTemp, Args: []ir.ID{index, g.c(ir.M, 0xff00ff)}})
	}
}

// load loads from consecutive elements.
func (g *cornerGen) load() []ir.ID {
	one := g.one
	v := ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: 4, Space: ir.Global, Args: []ir.ID{ir.NoID, ir.NoID, g.exec}}
	if g.maybe(3) {
		v.Args[2] = g.c(ir.M, ^uint64(0))
		if g.odd == oddExec {
			v.Args[2] = g.exec
		}
	}
	if g.maybe(2) {
		v.Imm = uint64(uint32(4 * (g.r.IntN(64) - 32)))
	}
	at := cornerAt + 2*g.r.IntN(2)
	shift := 2
	if g.is(oddApart) {
		shift = g.pick(1, 3)
	}
	switch g.r.IntN(10) {
	case 0, 1:
		if v.Args[1] = g.pairOf(at); g.maybe(3) { // the high halves are the same
			v.Args[1] = g.one(ir.OpPair, ir.V64, g.v(at), g.v(g.pick(cornerAt+1, cornerAt+3)))
		}
	case 2:
		lo, hi := g.halves(g.v(at), g.v(at+1), g.s(cornerStep), ir.NoID)
		v.Args[1] = one(ir.OpPair, ir.V64, lo, hi)
		if g.maybe(2) {
			g.set(cornerTemp+g.temp%12, lo)
			g.set(cornerTemp+(g.temp+1)%12, hi)
			g.temp += 2
		}
	case 3:
		lo, hi := g.halves(g.v(cornerAt+4), g.v(cornerAt+5), g.v(cornerBytes), ir.NoID)
		v.Args[1] = one(ir.OpPair, ir.V64, lo, hi)
	case 4: // by a scalar base
		v.Args[0], v.Args[1] = g.base, g.v(cornerBytes+g.r.IntN(2))
	case 5:
		v.Args[0], v.Args[1] = g.base, one(ir.OpShl, ir.V32, g.or(), g.k(shift))
	case 6:
		x := one(ir.OpMulU64, ir.V64, one(ir.OpAdd, ir.V32, g.v(cornerFlat), g.s(cornerNum)), g.s(cornerNum))
		x = one(ir.OpShl, ir.V64, one(ir.OpAdd, ir.V64, x, one(ir.OpZext64, ir.V64, g.v(cornerIndex))), g.k(shift))
		lo, hi := g.halves(g.s(30), g.s(31), g.lo(x), g.hi(x))
		v.Args[1] = one(ir.OpPair, ir.V64, lo, hi)
	case 7: // 8 bytes
		v.Type, v.Width = ir.V64, 8
		if g.maybe(2) {
			v.Type, v.N = ir.T, 2
		}
		v.Args[1] = one(ir.OpAdd, ir.V64, one(ir.OpShl, ir.V64, one(ir.OpZext64, ir.V64, g.v(cornerIndex+g.r.IntN(2))), g.k(3)), g.base)
	case 8: // 16 bytes
		v.Type, v.N, v.Width = ir.T, 4, 16
		v.Args[0], v.Args[1] = g.base, g.v(cornerQuad)
	default:
		x := one(ir.OpShl, ir.V32, one(ir.OpAdd, ir.V32, g.v(cornerIndex+g.r.IntN(2)), g.s(cornerNum)), g.k(shift))
		v.Args[1] = one(ir.OpAdd, ir.V64, one(ir.OpZext64, ir.V64, x), g.base)
	}
	id := g.add(v)
	switch {
	case v.Type == ir.V32:
		return []ir.ID{id}
	case v.Type == ir.V64:
		return []ir.ID{g.lo(id), g.hi(id)}
	}
	var parts []ir.ID
	for i := range v.N {
		parts = append(parts, g.add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: uint64(i), Args: []ir.ID{id}}))
	}
	return parts
}
