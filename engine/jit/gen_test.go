//go:build linux && amd64

package jit

import (
	"math/rand/v2"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// gen makes random functions.
type gen struct {
	r     *rand.Rand
	f     *ir.Func
	b     *ir.Block
	by    map[ir.Type][]ir.ID
	nv    int
	float bool
	extra bool // atomics, scalar loads, faults: what the naive evaluator does not know
}

func (g *gen) add(v ir.Value) ir.ID {
	v.PC = uint32(len(g.b.Code)) * 4
	id := g.f.Add(g.b, v)
	if v.Type != ir.Void {
		g.by[v.Type] = append(g.by[v.Type], id)
	}
	return id
}

func (g *gen) c(t ir.Type, x uint64) ir.ID {
	switch t {
	case ir.S32, ir.V32:
		x = uint64(uint32(x))
	case ir.S1:
		x &= 1
	case ir.M:
		if g.f.Lanes == 32 {
			x = uint64(uint32(x))
		}
	}
	return g.add(ir.Value{Op: ir.OpConst, Type: t, Imm: x})
}

var interesting = []uint64{0, 1, 2, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
	0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7fa00001, 0xffc12345, 1 << 23, 0x7f7fffff, 0x4f000000, 0xcf000000,
	0x3ff0000000000000, 0x7ff0000000000000, 0xfff8000000000000, 0x7ff0000000000001, 0x8000000000000000, 0x41dfffffffc00000, 0x3c00, 0x7c00, 0x7e01, 0x7d01}

func (g *gen) bits() uint64 {
	switch g.r.IntN(4) {
	case 0:
		return interesting[g.r.IntN(len(interesting))]
	case 1:
		x := interesting[g.r.IntN(len(interesting))]
		return x | x<<32
	case 2: // ordinary numbers
		return uint64(0x3f000000+g.r.Uint32N(0x02000000)) | uint64(0x3fe00000+g.r.Uint32N(0x400000))<<32
	}
	return g.r.Uint64()
}

// pick returns a value of one of the types, making a constant if there is none.
func (g *gen) pick(ts ...ir.Type) ir.ID {
	t := ts[g.r.IntN(len(ts))]
	if l := g.by[t]; len(l) > 0 && g.r.IntN(8) != 0 {
		// mostly recent ones
		if g.r.IntN(2) == 0 {
			return l[len(l)-1-g.r.IntN(min(6, len(l)))]
		}
		return l[g.r.IntN(len(l))]
	}
	return g.c(t, g.bits())
}

func (g *gen) vec32() ir.ID { return g.pick(ir.V32, ir.V32, ir.V32, ir.S32) }
func (g *gen) vec64() ir.ID { return g.pick(ir.V64, ir.V64, ir.V64, ir.S64) }

var intOps = []ir.Op{ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpMinU, ir.OpMaxU, ir.OpMinS, ir.OpMaxS}
var preds = []ir.Pred{ir.EQ, ir.NE, ir.ULT, ir.ULE, ir.UGT, ir.UGE, ir.SLT, ir.SLE, ir.SGT, ir.SGE}

// step adds one random operation.
func (g *gen) step() {
	r := g.r
	one := func(op ir.Op, t ir.Type, args ...ir.ID) ir.ID { return g.add(ir.Value{Op: op, Type: t, Args: args}) }
	vt := func(ids ...ir.ID) ir.Type { // result type of arguments of one width
		t := ir.S32
		for _, id := range ids {
			switch x := g.f.V(id).Type; {
			case x == ir.V32 || x == ir.V64:
				return x
			case x == ir.S64:
				t = ir.S64
			}
		}
		return t
	}
	wide := r.IntN(3) == 0
	x := func() ir.ID {
		if wide {
			return g.vec64()
		}
		return g.vec32()
	}
	if r.IntN(4) == 0 { // scalar
		x = func() ir.ID {
			if wide {
				return g.pick(ir.S64)
			}
			return g.pick(ir.S32)
		}
	}
	boolT := func(t ir.Type) ir.Type {
		if t == ir.V32 || t == ir.V64 {
			return ir.M
		}
		return ir.S1
	}
	n32 := func(t ir.Type) ir.ID {
		if t == ir.S32 || t == ir.S64 {
			return g.pick(ir.S32)
		}
		return g.vec32()
	}
	to64 := func(t ir.Type) ir.Type {
		if t == ir.V32 {
			return ir.V64
		}
		return ir.S64
	}
	switch r.IntN(34) {
	case 0, 1, 2:
		a, b := x(), x()
		one(intOps[r.IntN(len(intOps))], vt(a, b), a, b)
	case 3:
		a := x()
		t := vt(a)
		one([]ir.Op{ir.OpShl, ir.OpLShr, ir.OpAShr}[r.IntN(3)], t, a, n32(t))
	case 4:
		a := x()
		one([]ir.Op{ir.OpNot, ir.OpAbs, ir.OpBrev, ir.OpClz, ir.OpCtz, ir.OpPopcnt}[r.IntN(3)], vt(a), a)
	case 5:
		a := n32(ir.V32)
		one([]ir.Op{ir.OpBrev, ir.OpClz, ir.OpCtz, ir.OpPopcnt}[r.IntN(4)], vt(a), a)
	case 6:
		a := x()
		n := uint64(1 + r.IntN(31))
		g.add(ir.Value{Op: []ir.Op{ir.OpZext, ir.OpSext}[r.IntN(2)], Type: vt(a), Imm: n, Args: []ir.ID{a}})
	case 7:
		wide = false
		a, b := x(), x()
		one([]ir.Op{ir.OpPair, ir.OpMulU64, ir.OpMulS64}[r.IntN(3)], to64(vt(a, b)), a, b)
	case 8:
		wide = true
		a := x()
		t := ir.V32
		if vt(a) == ir.S64 {
			t = ir.S32
		}
		one([]ir.Op{ir.OpLo, ir.OpHi}[r.IntN(2)], t, a)
	case 9:
		wide = false
		a := x()
		one([]ir.Op{ir.OpZext64, ir.OpSext64}[r.IntN(2)], to64(vt(a)), a)
	case 10:
		wide = false
		a, b := x(), x()
		one([]ir.Op{ir.OpMulHiU, ir.OpMulHiS}[r.IntN(2)], vt(a, b), a, b)
	case 11:
		wide = false
		a, b, c := x(), x(), x()
		one([]ir.Op{ir.OpFshr, ir.OpPermB}[r.IntN(2)], vt(a, b, c), a, b, c)
	case 12, 13:
		a, b := x(), x()
		g.add(ir.Value{Op: ir.OpICmp, Type: boolT(vt(a, b)), Pred: preds[r.IntN(len(preds))], Args: []ir.ID{a, b}})
	case 14, 15:
		a, b := x(), x()
		t := vt(a, b)
		c := g.pick(boolT(t))
		if boolT(t) == ir.M && r.IntN(8) == 0 {
			c = g.pick(ir.S1)
		}
		one(ir.OpSelect, t, c, a, b)
	case 16:
		a, b := x(), x()
		t := vt(a, b)
		args := []ir.ID{a, b, ir.NoID}
		if r.IntN(2) == 0 {
			args[2] = g.pick(boolT(t))
		}
		g.add(ir.Value{Op: []ir.Op{ir.OpCarryAdd, ir.OpBorrow}[r.IntN(2)], Type: boolT(t), Args: args})
	case 17:
		t := []ir.Type{ir.M, ir.S1}[r.IntN(2)]
		one([]ir.Op{ir.OpMAnd, ir.OpMOr, ir.OpMXor}[r.IntN(3)], t, g.pick(t), g.pick(t))
	case 18:
		t := []ir.Type{ir.M, ir.S1}[r.IntN(2)]
		if r.IntN(2) == 0 {
			one(ir.OpMNot, t, g.pick(t))
		} else {
			one([]ir.Op{ir.OpMIsZ, ir.OpMFull}[r.IntN(2)], ir.S1, g.pick(t))
		}
	case 19:
		switch r.IntN(4) {
		case 0:
			one(ir.OpMToV, ir.V32, g.pick(ir.M))
		case 1:
			one(ir.OpBToS, ir.S32, g.pick(ir.S1))
		case 2:
			one(ir.OpSToB, ir.S1, g.pick(ir.S32, ir.S64))
		default:
			s := ir.S64
			if g.f.Lanes == 32 {
				s = ir.S32
			}
			if r.IntN(2) == 0 {
				one(ir.OpMToS, s, g.pick(ir.M))
			} else {
				one(ir.OpSToM, ir.M, g.pick(s))
			}
		}
	case 20, 21:
		g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(r.IntN(g.nv))})
	case 22, 23:
		m := g.pick(ir.M)
		if r.IntN(2) == 0 {
			m = g.c(ir.M, ^uint64(0))
		} else if r.IntN(2) == 0 {
			m = g.add(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: isa.SRegEXECLo})
		}
		g.add(ir.Value{Op: ir.OpVSet, Imm: uint64(r.IntN(g.nv)), Args: []ir.ID{g.vec32(), m}})
	case 24:
		switch r.IntN(3) {
		case 0:
			g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: uint64(r.IntN(20))})
		case 1:
			g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: uint64(r.IntN(20))})
		default:
			g.add(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: uint64(r.IntN(20))})
		}
	case 25:
		switch r.IntN(3) {
		case 0:
			g.add(ir.Value{Op: ir.OpSSet, Imm: uint64(r.IntN(20)), Args: []ir.ID{g.pick(ir.S32)}})
		case 1:
			g.add(ir.Value{Op: ir.OpSSet64, Imm: uint64(r.IntN(20)), Args: []ir.ID{g.pick(ir.S64)}})
		default:
			g.add(ir.Value{Op: ir.OpMSet, Imm: uint64(r.IntN(20)), Args: []ir.ID{g.pick(ir.M)}})
		}
	case 26:
		switch r.IntN(6) {
		case 0:
			one(ir.OpReadLane, ir.S32, g.pick(ir.V32), g.pick(ir.S32))
		case 1:
			one(ir.OpReadFirst, ir.S32, g.pick(ir.V32), g.pick(ir.M))
		case 2:
			one(ir.OpWriteLane, ir.V32, g.pick(ir.V32), g.pick(ir.S32), g.pick(ir.S32))
		case 3:
			one(ir.OpBPermute, ir.V32, g.pick(ir.V32), g.pick(ir.V32), g.pick(ir.M))
		case 4:
			one(ir.OpPermute, ir.V32, g.pick(ir.V32), g.pick(ir.V32), g.pick(ir.M))
		default:
			t := new([64]int8)
			k := r.IntN(16)
			for l := range t {
				t[l] = int8(l ^ k)
				if r.IntN(10) == 0 {
					t[l] = int8(r.IntN(g.f.Lanes+1) - 1)
				}
			}
			if r.IntN(2) == 0 {
				g.add(ir.Value{Op: ir.OpMPerm, Type: ir.M, Aux: t, Args: []ir.ID{g.pick(ir.M)}})
			} else {
				g.add(ir.Value{Op: ir.OpPermConst, Type: ir.V32, Aux: t, Args: []ir.ID{g.pick(ir.V32)}})
			}
		}
	case 27:
		one([]ir.Op{ir.OpMbcntLo, ir.OpMbcntHi}[r.IntN(2)], ir.V32, g.pick(ir.S32, ir.S32, ir.V32), g.vec32())
	case 28, 29:
		if g.extra && r.IntN(3) == 0 {
			g.more()
		} else {
			g.mem()
		}
	case 30:
		switch r.IntN(3) {
		case 0:
			one(ir.OpLaneID, ir.V32)
		case 1:
			one(ir.OpSplat, ir.V32, g.pick(ir.S32))
		default:
			one(ir.OpSplat, ir.V64, g.pick(ir.S64))
		}
	default:
		if g.float {
			g.fl()
		}
	}
}

// address makes a per-lane byte offset below size, in one of the usual patterns.
func (g *gen) address(size uint32, w int) ir.ID {
	r := g.r
	op := func(o ir.Op, a, b ir.ID) ir.ID { return g.add(ir.Value{Op: o, Type: ir.V32, Args: []ir.ID{a, b}}) }
	lane := g.add(ir.Value{Op: ir.OpLaneID, Type: ir.V32})
	base := g.c(ir.S32, uint64(r.Uint32N(size/2))&^3)
	switch r.IntN(7) {
	case 5: // a constant
		return g.add(ir.Value{Op: ir.OpSplat, Type: ir.V32, Args: []ir.ID{base}})
	case 0:
		return g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(r.IntN(g.nv))}) // often out of bounds
	case 1: // uniform
		return op(ir.OpAnd, op(ir.OpMul, lane, g.c(ir.S32, 0)), base)
	case 2: // row broadcast
		return op(ir.OpAdd, op(ir.OpShl, op(ir.OpLShr, lane, g.c(ir.S32, 4)), g.c(ir.S32, 4)), base)
	case 4: // groups of four lanes
		row := op(ir.OpMul, op(ir.OpLShr, lane, g.c(ir.S32, 2)), g.c(ir.S32, uint64(r.Uint32N(60))*4))
		return op(ir.OpAdd, op(ir.OpAdd, row, base), op(ir.OpMul, op(ir.OpAnd, lane, g.c(ir.S32, 3)), g.c(ir.S32, uint64(w))))
	case 3: // random
		return op(ir.OpAnd, g.vec32(), g.c(ir.S32, uint64(size/2-1)&^3))
	}
	return op(ir.OpAdd, op(ir.OpMul, lane, g.c(ir.S32, uint64(w))), base)
}

func (g *gen) mem() {
	r := g.r
	w := []int{1, 2, 4, 4, 4, 8, 8, 12, 16}[r.IntN(9)]
	m := g.c(ir.M, ^uint64(0))
	if r.IntN(3) == 0 {
		m = g.pick(ir.M)
	}
	v := ir.Value{Width: uint8(w), Sign: r.IntN(2) == 0, Space: ir.LDS, Imm: uint64(r.IntN(64) * 4)}
	if r.IntN(8) == 0 {
		v.Imm = uint64(r.IntN(70000))
	}
	base := ir.NoID
	var off ir.ID
	if r.IntN(2) == 0 {
		off = g.address(ldsSize, w)
		if r.IntN(4) == 0 { // about the end
			v.Imm = uint64(ldsSize - r.IntN(ldsSize/2))
		}
	} else {
		v.Space = ir.Global
		base = g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 30})
		a := g.address(memSize, w)
		off = g.add(ir.Value{Op: ir.OpAnd, Type: ir.V32, Args: []ir.ID{a, g.c(ir.S32, memSize/2-1)}})
		if r.IntN(3) == 0 {
			off = g.add(ir.Value{Op: ir.OpZext64, Type: ir.V64, Args: []ir.ID{off}})
			if r.IntN(2) == 0 {
				off = g.add(ir.Value{Op: ir.OpAdd, Type: ir.V64, Args: []ir.ID{off, base}})
				base = ir.NoID
			}
		} else if len(g.f.Values)%16 == 5 { // offsets that end at 2^32, or wrap there to where nothing is
			end := -uint64(w * (r.IntN(2*g.f.Lanes) + 1))
			off = g.add(ir.Value{Op: ir.OpAdd, Type: ir.V32, Args: []ir.ID{g.c(ir.S32, end), g.add(ir.Value{Op: ir.OpMul, Type: ir.V32, Args: []ir.ID{g.add(ir.Value{Op: ir.OpLaneID, Type: ir.V32}), g.c(ir.S32, uint64(w))}})}})
			base = g.add(ir.Value{Op: ir.OpAdd, Type: ir.S64, Args: []ir.ID{base, g.c(ir.S64, ^uint64(1<<32-8192-1))}})
		}
	}
	if r.IntN(2) == 0 {
		v.Op = ir.OpLoad
		v.Args = []ir.ID{base, off, m}
		switch {
		case w <= 4:
			v.Type = ir.V32
		case w == 8 && r.IntN(2) == 0:
			v.Type = ir.V64
		default:
			v.Type, v.N = ir.T, uint8(w/4)
		}
		id := g.add(v)
		if v.Type == ir.T {
			for i := range v.N {
				g.add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: uint64(i), Args: []ir.ID{id}})
			}
		}
		return
	}
	v.Op = ir.OpStore
	var data ir.ID
	switch {
	case w <= 4:
		data = g.pick(ir.V32)
	case w == 8 && r.IntN(2) == 0:
		data = g.pick(ir.V64)
	default:
		var args []ir.ID
		for range w / 4 {
			args = append(args, g.pick(ir.V32))
		}
		data = g.add(ir.Value{Op: ir.OpTuple, Type: ir.T, N: uint8(w / 4), Args: args})
	}
	v.Args = []ir.ID{base, off, m, data}
	g.add(v)
}

// more adds operations that only the engines know.
func (g *gen) more() {
	r := g.r
	switch r.IntN(12) {
	case 0, 1, 2, 3:
		g.rare()
		return
	case 4, 5, 6:
		g.pure()
		return
	case 7:
		if r.IntN(8) == 0 {
			g.matrix()
		}
		return
	}
	m := g.pick(ir.M)
	base := g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 30})
	switch r.IntN(8) {
	case 6, 7: // flat
		off := g.add(ir.Value{Op: ir.OpAnd, Type: ir.V32, Args: []ir.ID{g.address(ldsSize, 4), g.c(ir.S32, 0x1ffc)}})
		ap := g.c(ir.S64, []uint64{sharedBase, privateBase}[r.IntN(2)])
		if r.IntN(2) == 0 {
			ap = base
		}
		addr := g.add(ir.Value{Op: ir.OpZext64, Type: ir.V64, Args: []ir.ID{off}})
		addr = g.add(ir.Value{Op: ir.OpAdd, Type: ir.V64, Args: []ir.ID{addr, ap}})
		if r.IntN(4) == 0 {
			addr = g.add(ir.Value{Op: ir.OpSelect, Type: ir.V64, Args: []ir.ID{g.pick(ir.M), addr, g.add(ir.Value{Op: ir.OpAdd, Type: ir.V64, Args: []ir.ID{g.add(ir.Value{Op: ir.OpZext64, Type: ir.V64, Args: []ir.ID{off}}), base}})}})
		}
		t := []ir.Type{ir.V32, ir.V64}[r.IntN(2)]
		w := uint8(4)
		if t == ir.V64 {
			w = 8
		}
		if r.IntN(2) == 0 {
			g.add(ir.Value{Op: ir.OpLoad, Type: t, Width: w, Space: ir.Flat, Args: []ir.ID{ir.NoID, addr, m}})
		} else {
			g.add(ir.Value{Op: ir.OpStore, Width: w, Space: ir.Flat, Args: []ir.ID{ir.NoID, addr, m, g.pick(t)}})
		}
	case 0, 1, 2: // atomics
		w := 4 + 4*r.IntN(2)
		v := ir.Value{Op: ir.OpAtomic, Width: uint8(w), Space: ir.LDS, Atomic: ir.AtomicOp(r.IntN(int(ir.AtomicFAdd)))}
		t := ir.V32
		if w == 8 {
			t = ir.V64
		}
		if r.IntN(3) > 0 {
			v.Type, v.Order = t, ir.OrderReturn
		}
		b := ir.NoID
		if r.IntN(2) == 0 {
			v.Space, b = ir.Global, base
		}
		off := g.address(ldsSize, w)
		if v.Space == ir.Global || r.IntN(2) == 0 {
			off = g.add(ir.Value{Op: ir.OpAnd, Type: ir.V32, Args: []ir.ID{off, g.c(ir.S32, uint64(0xffff&^(w-1)))}})
		}
		v.Args = []ir.ID{b, off, m, g.pick(t), g.pick(t)}
		g.add(v)
	case 3: // scalar loads
		v := ir.Value{Op: ir.OpSLoad, Space: ir.Const, Imm: uint64(r.IntN(4096)), Args: []ir.ID{base, ir.NoID}}
		if r.IntN(2) == 0 {
			v.Args[1] = g.add(ir.Value{Op: ir.OpAnd, Type: ir.S32, Args: []ir.ID{g.pick(ir.S32), g.c(ir.S32, 0x7fff)}})
		}
		switch r.IntN(4) {
		case 0:
			v.Type, v.Width = ir.S32, 4
		case 1:
			v.Type, v.Width = ir.S64, 8
		default:
			v.Type, v.N = ir.TS, []uint8{2, 4, 8, 16}[r.IntN(4)]
			v.Width = v.N * 4
		}
		id := g.add(v)
		if v.Type == ir.TS {
			for i := range v.N {
				g.add(ir.Value{Op: ir.OpElem, Type: ir.S32, Imm: uint64(i), Args: []ir.ID{id}})
			}
		}
	case 4: // an address that may be off
		g.add(ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: 4, Space: ir.Global, Args: []ir.ID{base, g.vec32v(), m}})
	default:
		off := g.add(ir.Value{Op: ir.OpAnd, Type: ir.V32, Args: []ir.ID{g.vec32v(), g.c(ir.S32, 0x3ff)}})
		if r.IntN(2) == 0 {
			g.add(ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: uint8(1 << r.IntN(3)), Space: ir.Scratch, Args: []ir.ID{ir.NoID, off, m}})
		} else {
			g.add(ir.Value{Op: ir.OpStore, Width: uint8(1 << r.IntN(3)), Space: ir.Scratch, Args: []ir.ID{ir.NoID, off, m, g.pick(ir.V32)}})
		}
	}
}

func (g *gen) vec32v() ir.ID { return g.pick(ir.V32) }

var floatPreds = []ir.Pred{ir.FFalse, ir.FLT, ir.FEQ, ir.FLE, ir.FGT, ir.FLG, ir.FGE, ir.FO, ir.FU, ir.FNGE, ir.FNLG, ir.FNGT, ir.FNLE, ir.FNEQ, ir.FNLT, ir.FTrue}

func (g *gen) fl() {
	r := g.r
	k := []ir.Kind{ir.F32, ir.F32, ir.F64, ir.F16}[r.IntN(4)]
	t := ir.V32
	x := g.vec32
	if k == ir.F64 {
		t, x = ir.V64, g.vec64
	}
	vecArg := func() ir.ID { return g.pick(t) }
	fp := ir.FPIEEE
	if r.IntN(4) == 0 {
		fp |= ir.FP(r.IntN(4))
	}
	if r.IntN(2) == 0 {
		fp |= ir.FPDX10
	}
	switch r.IntN(8) {
	case 0, 1:
		fp |= ir.FPFlushIn | ir.FPFlushOut
	case 2:
		fp |= []ir.FP{ir.FPFlushIn, ir.FPFlushOut}[r.IntN(2)]
	}
	v := ir.Value{Type: t, Kind: k, FP: fp}
	switch r.IntN(11) {
	case 8:
		v.Op = []ir.Op{ir.OpFLdexp, ir.OpFMant, ir.OpFFract, ir.OpFRcpIFlag, ir.OpFExp, ir.OpFRsq, ir.OpFExp2, ir.OpFLog2, ir.OpFSin, ir.OpFCos}[r.IntN(10)]
		v.Args = []ir.ID{vecArg()}
		if v.Op == ir.OpFLdexp {
			v.Args = append(v.Args, g.vec32())
		}
		if v.Op == ir.OpFExp {
			v.Type = ir.V32
		}
	case 9:
		if k == ir.F16 {
			v.Kind = ir.F32
		}
		v.Op = []ir.Op{ir.OpFDivScale, ir.OpFDivScaleVCC, ir.OpFDivFixup, ir.OpFDivFmas}[r.IntN(4)]
		v.Args = []ir.ID{vecArg(), x(), x()}
		if r.IntN(2) == 0 && v.Op != ir.OpFDivFmas {
			v.Args[0] = v.Args[1+r.IntN(2)]
			if g.f.V(v.Args[0]).Type.Uniform() {
				v.Args[0] = vecArg()
			}
		}
		switch v.Op {
		case ir.OpFDivScaleVCC:
			v.Type = ir.M
		case ir.OpFDivFmas:
			m := g.pick(ir.M)
			if r.IntN(2) == 0 {
				m = g.add(ir.Value{Op: ir.OpMAnd, Type: ir.M, Args: []ir.ID{m, g.c(ir.M, 0)}})
			}
			v.Args = append(v.Args, m)
		}
	case 10:
		if r.IntN(2) == 0 {
			v.Op, v.Type = ir.OpFClass, ir.M
			v.Args = []ir.ID{vecArg(), g.c(ir.S32, uint64(r.IntN(1024)))}
		} else {
			v.Op = ir.OpFMed3
			v.Args = []ir.ID{vecArg(), x(), x()}
		}
	case 0, 1:
		v.Op = []ir.Op{ir.OpFAdd, ir.OpFSub, ir.OpFMul}[r.IntN(3)]
		v.Args = []ir.ID{vecArg(), x()}
	case 2:
		v.Op = []ir.Op{ir.OpFMA, ir.OpFMA, ir.OpFMad}[r.IntN(3)]
		v.Args = []ir.ID{vecArg(), x(), x()}
	case 3:
		v.Op = []ir.Op{ir.OpFMin, ir.OpFMax}[r.IntN(2)]
		v.Args = []ir.ID{vecArg(), x()}
	case 4:
		v.Op = []ir.Op{ir.OpFNeg, ir.OpFAbs, ir.OpFTrunc, ir.OpFCeil, ir.OpFFloor, ir.OpFRndne, ir.OpFRcp, ir.OpFSqrt, ir.OpFClamp, ir.OpFCanon}[r.IntN(10)]
		v.Args = []ir.ID{vecArg()}
	case 5:
		v.Op, v.Type, v.Pred = ir.OpFCmp, ir.M, floatPreds[r.IntN(len(floatPreds))]
		v.Args = []ir.ID{vecArg(), x()}
	default:
		v.Op = ir.OpCvt
		c := []struct {
			from, to ir.Kind
		}{{ir.I32, ir.F32}, {ir.U32, ir.F32}, {ir.U8, ir.F32}, {ir.I16, ir.F32}, {ir.F64, ir.F32}, {ir.F16, ir.F32}, {ir.I32, ir.F64}, {ir.U32, ir.F64},
			{ir.F32, ir.F64}, {ir.F32, ir.F16}, {ir.F32, ir.I32}, {ir.F32, ir.U32}, {ir.F64, ir.I32}, {ir.F64, ir.U32}}[r.IntN(14)]
		v.From, v.Kind, v.Type = c.from, c.to, ir.V32
		if c.to == ir.F64 {
			v.Type = ir.V64
		}
		if c.from == ir.F64 {
			v.Args = []ir.ID{g.pick(ir.V64)}
		} else {
			v.Args = []ir.ID{g.pick(ir.V32)}
		}
	}
	g.add(v)
}

const (
	ldsSize = 4096
	memSize = 64 << 10

	sharedBase  = 1 << 48
	privateBase = 2 << 48
)
