//go:build linux && amd64

package jit

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Registers of strideFunc: what a random loop is set up with.
const (
	strideIndex  = 1  // v1, v2: the index; or v1 alone
	stridePtr    = 3  // v3, v4: an address
	strideSum    = 7  // v7: a sum
	strideSame   = 8  // v8: the same in all lanes
	strideInc    = 10 // v10, v11: what the index is stepped by, in lanes
	strideBound  = 8  // s8, s9
	strideStep   = 10 // s10, s11
	strideBytes  = 12 // s12, s13: of the address
	strideMask   = 4  // s4, s5: the lanes that are done
	strideTurns  = 20 // s20: turns left, in loops that count
	strideMargin = 1 << 14
)

// strideFunc makes a random loop that steps over an array, with an index or an address in each lane, as compilers write them, and the width of its accesses.
func strideFunc(seed uint64) (f *ir.Func, width int) {
	g := newBlockGen(seed, 53, 32, 64)
	r, f := g.r, g.f
	f.PC = 0x20000 + uint64(r.IntN(64))<<8
	f.Blocks = nil
	for i := range 3 {
		f.Blocks = append(f.Blocks, &ir.Block{Index: i, PC: uint32(i * 2048), Insts: 1 + r.IntN(20)})
	}
	f.Blocks[0].Term = ir.Term{Kind: ir.TermJump, Then: 1, Cond: ir.NoID}
	f.Blocks[2].Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}
	g.b, g.by = f.Blocks[1], map[ir.Type][]ir.ID{}
	one := g.one
	exec := g.exec()
	sget := func(n int) ir.ID { return g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: uint64(n)}) }
	sget64 := func(n int) ir.ID { return g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: uint64(n)}) }
	carry := func(x, y, in ir.ID) ir.ID {
		return one(ir.OpMAnd, ir.M, g.add(ir.Value{Op: ir.OpCarryAdd, Type: ir.M, Args: []ir.ID{x, y, in}}), exec)
	}
	// add64 is a sum of two numbers in halves, the way compilers write it; carries are left in masks now and then.
	add64 := func(xl, xh, yl, yh ir.ID) (lo, hi ir.ID) {
		lo = one(ir.OpAdd, ir.V32, xl, yl)
		k := carry(xl, yl, ir.NoID)
		if r.IntN(16) == 0 {
			g.add(ir.Value{Op: ir.OpMSet, Imm: 18, Args: []ir.ID{k}})
		}
		hi = one(ir.OpAdd, ir.V32, one(ir.OpAdd, ir.V32, xh, yh), one(ir.OpMToV, ir.V32, k))
		if r.IntN(3) == 0 {
			g.add(ir.Value{Op: ir.OpMSet, Imm: 14, Args: []ir.ID{carry(xh, yh, k)}})
		}
		return lo, hi
	}
	regs := map[int]ir.ID{}
	get := func(n int) ir.ID {
		if _, ok := regs[n]; !ok {
			regs[n] = g.get(n)
		}
		return regs[n]
	}
	set := func(n int, x ir.ID) {
		g.set(n, x, exec)
		regs[n] = x
	}
	width = []int{1, 1, 2, 4, 4, 4, 8, 16}[r.IntN(8)]
	shift := map[int]int{1: 0, 2: 1, 4: 2, 8: 3, 16: 4}[width]
	narrow := r.IntN(3) == 0 // the index is of 32 bits
	var lo, hi ir.ID         // of the address
	index := func() (lo, hi ir.ID) {
		if !narrow {
			return get(strideIndex), get(strideIndex + 1)
		}
		i := get(strideIndex)
		switch r.IntN(3) {
		case 0:
			return i, one(ir.OpAShr, ir.V32, i, g.c(ir.S32, 31))
		case 1:
			x := one(ir.OpSext64, ir.V64, i)
			return one(ir.OpLo, ir.V32, x), one(ir.OpHi, ir.V32, x)
		}
		return i, g.c(ir.V32, 0)
	}
	step := func() {
		switch {
		case narrow:
			set(strideIndex, one(ir.OpAdd, ir.V32, get(strideIndex), sget(strideStep)))
		case r.IntN(3) == 0:
			l, h := add64(get(strideIndex), get(strideIndex+1), get(strideInc), get(strideInc+1))
			set(strideIndex, l)
			set(strideIndex+1, h)
		default:
			l, h := add64(get(strideIndex), get(strideIndex+1), sget(strideStep), sget(strideStep+1))
			set(strideIndex, l)
			set(strideIndex+1, h)
		}
	}
	early := r.IntN(3) == 0
	if early {
		step()
	}
	own := r.IntN(2) == 0 // the address is a register
	offset := r.IntN(3) == 0
	address := func(v *ir.Value) {
		v.Args = []ir.ID{ir.NoID, ir.NoID, exec}
		v.Imm = uint64(r.IntN(3) * 16)
		switch {
		case own:
			v.Args[1] = one(ir.OpPair, ir.V64, get(stridePtr), get(stridePtr+1))
		case offset:
			v.Args[0], v.Args[1] = sget64(30), one(ir.OpShl, ir.V32, get(strideIndex), g.c(ir.S32, uint64(shift)))
		default:
			if lo == 0 {
				l, h := index()
				x := one(ir.OpShl, ir.V64, one(ir.OpPair, ir.V64, l, h), g.c(ir.S32, uint64(shift)))
				lo, hi = add64(sget(30), sget(31), one(ir.OpLo, ir.V32, x), one(ir.OpHi, ir.V32, x))
				set(5, lo)
				set(6, hi)
			}
			v.Args[1] = one(ir.OpPair, ir.V64, lo, hi)
		}
	}
	var data []ir.ID
	datum := func() ir.ID { return data[r.IntN(len(data))] }
	load := func() {
		v := ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: uint8(width), Sign: width < 4 && r.IntN(2) == 0}
		address(&v)
		switch width {
		case 8:
			v.Type = ir.V64
			id := g.add(v)
			data = append(data, one(ir.OpLo, ir.V32, id), one(ir.OpHi, ir.V32, id))
		case 16:
			v.Type, v.N = ir.T, 4
			id := g.add(v)
			for i := range uint64(4) {
				data = append(data, g.add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: i, Args: []ir.ID{id}}))
			}
		default:
			data = append(data, g.add(v))
		}
	}
	load()
	if r.IntN(3) == 0 {
		load()
	}
	if r.IntN(2) == 0 {
		set(5+r.IntN(2), datum())
	}
	for range r.IntN(5) {
		switch r.IntN(9) {
		case 0, 1:
			set(strideSum, g.add(ir.Value{Op: ir.OpFAdd, Type: ir.V32, Kind: ir.F32, Args: []ir.ID{get(strideSum), datum()}}))
		case 2:
			set(strideSum, one(intOps[r.IntN(len(intOps))], ir.V32, get(strideSum), datum()))
		case 3:
			data = append(data, one(intOps[r.IntN(len(intOps))], ir.V32, datum(), get([]int{strideSame, 9, strideIndex}[r.IntN(3)])))
		case 4:
			set(9, datum())
		case 5: // the loop's lanes differ
			if r.IntN(4) == 0 {
				m := g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.ULT, Args: []ir.ID{datum(), get(strideSame)}})
				data = append(data, one(ir.OpSelect, ir.V32, m, datum(), get(strideSum)))
			}
		default:
			v := ir.Value{Op: ir.OpAtomic, Space: ir.LDS, Width: 4, Atomic: []ir.AtomicOp{ir.AtomicAdd, ir.AtomicAdd, ir.AtomicSub, ir.AtomicOr, ir.AtomicXor}[r.IntN(5)]}
			at := one(ir.OpShl, ir.V32, one(ir.OpAnd, ir.V32, datum(), g.c(ir.S32, []uint64{31, 255, 4095}[r.IntN(3)])), g.c(ir.S32, 2))
			x := []ir.ID{g.c(ir.V32, 1), get(strideSame), datum(), get(9)}[r.IntN(4)]
			v.Args = []ir.ID{ir.NoID, at, exec, x}
			v.Imm = uint64(r.IntN(2) * 64)
			g.add(v)
		}
	}
	if r.IntN(4) == 0 {
		v := ir.Value{Op: ir.OpStore, Width: uint8(width)}
		address(&v)
		switch width {
		case 8:
			v.Args = append(v.Args, one(ir.OpPair, ir.V64, datum(), datum()))
		case 16:
			v.Args = append(v.Args, g.add(ir.Value{Op: ir.OpTuple, Type: ir.T, N: 4, Args: []ir.ID{datum(), datum(), datum(), datum()}}))
		default:
			v.Args = append(v.Args, datum())
		}
		g.add(v)
	}
	if own && r.IntN(12) > 0 {
		l, h := add64(get(stridePtr), get(stridePtr+1), sget(strideBytes), sget(strideBytes+1))
		set(stridePtr, l)
		set(stridePtr+1, h)
	}
	if !early {
		step()
	}
	if r.IntN(4) == 0 { // a mask that only the lanes' numbers make
		x := g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: preds[r.IntN(len(preds))], Args: []ir.ID{get(strideIndex), sget(strideBound)}})
		g.add(ir.Value{Op: ir.OpMSet, Imm: 16, Args: []ir.ID{one(ir.OpMAnd, ir.M, x, exec)}})
	}
	t := ir.S64
	setS, sgetM := ir.OpSSet64, sget64
	if f.Lanes == 32 {
		t, setS, sgetM = ir.S32, ir.OpSSet, sget
	}
	if r.IntN(4) == 0 { // it counts
		n := one(ir.OpSub, ir.S32, sget(strideTurns), g.c(ir.S32, 1))
		g.add(ir.Value{Op: ir.OpSSet, Imm: strideTurns, Args: []ir.ID{n}})
		x := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.NE, Args: []ir.ID{n, g.c(ir.S32, 0)}})
		g.add(ir.Value{Op: ir.OpSSet, Imm: isa.SRegSCC, Args: []ir.ID{one(ir.OpBToS, ir.S32, x)}})
		g.b.Term = ir.Term{Kind: ir.TermBranch, Cond: x, Then: 1, Else: 2}
		return f, width
	}
	var out ir.ID
	p := []ir.Pred{ir.ULE, ir.ULE, ir.ULT, ir.SLE, ir.SLT, ir.EQ}[r.IntN(6)]
	if narrow {
		out = g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: p, Args: []ir.ID{sget(strideBound), get(strideIndex)}})
	} else {
		out = g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: p, Args: []ir.ID{sget64(strideBound), one(ir.OpPair, ir.V64, get(strideIndex), get(strideIndex+1))}})
	}
	out = one(ir.OpMAnd, ir.M, out, exec)
	g.add(ir.Value{Op: ir.OpMSet, Imm: isa.SRegVCCLo, Args: []ir.ID{out}})
	done := one(ir.OpOr, t, one(ir.OpMToS, t, out), sgetM(strideMask))
	g.add(ir.Value{Op: setS, Imm: strideMask, Args: []ir.ID{done}})
	left := one(ir.OpAnd, t, one(ir.OpMToS, t, exec), one(ir.OpNot, t, done))
	g.add(ir.Value{Op: setS, Imm: isa.SRegEXECLo, Args: []ir.ID{left}})
	x := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.NE, Args: []ir.ID{left, g.c(t, 0)}})
	g.add(ir.Value{Op: ir.OpSSet, Imm: isa.SRegSCC, Args: []ir.ID{one(ir.OpBToS, ir.S32, x)}})
	g.b.Term = ir.Term{Kind: ir.TermBranch, Cond: one(ir.OpMIsZ, ir.S1, one(ir.OpSToM, ir.M, left)), Then: 2, Else: 1}
	return f, width
}

// strideSetUp gives the registers values with which most loops go on for some turns.
func strideSetUp(seed uint64, f *ir.Func, width int) func(*rig) {
	return func(g *rig) {
		r := newBlockGen(seed, 54, f.Lanes).r
		if r.IntN(10) > 0 {
			g.w.SetEXEC(^uint64(0) >> (64 - f.Lanes))
		}
		start, step := uint32(r.IntN(100)), uint32(f.Lanes*(1+r.IntN(4)))
		n := uint32(r.IntN(40 * f.Lanes))
		at, high := g.space.va+uint64(r.IntN(strideMargin)), uint32(0)
		if r.IntN(12) == 0 { // the end of the memory
			at = g.space.va + uint64(len(g.space.b)) - uint64(r.IntN(1<<12)) - uint64(f.Lanes*width)
		}
		if r.IntN(12) == 0 { // the index comes to 2^32
			start, high = -uint32(r.IntN(8*f.Lanes)), uint32(r.IntN(2))
			n += start
		}
		g.w.S[30], g.w.S[31] = uint32(at), uint32(at>>32)
		g.w.S[strideBound], g.w.S[strideBound+1] = n, high
		g.w.S[strideStep], g.w.S[strideStep+1] = step, 0
		g.w.S[strideBytes], g.w.S[strideBytes+1] = step*uint32(width), 0
		g.w.S[strideMask], g.w.S[strideMask+1] = 0, 0
		g.w.S[strideTurns] = uint32(1 + r.IntN(30))
		if r.IntN(16) == 0 {
			g.w.S[strideMask] = 4
		}
		at -= uint64(start) * uint64(b2i(r.IntN(2) == 0))
		apart := uint64(width)
		if r.IntN(12) == 0 {
			apart *= 2
		}
		for l := range f.Lanes {
			p := at + uint64(l)*apart
			g.w.VGPR(strideIndex)[l], g.w.VGPR(strideIndex + 1)[l] = start+uint32(l), high
			g.w.VGPR(stridePtr)[l], g.w.VGPR(stridePtr + 1)[l] = uint32(p), uint32(p>>32)
			g.w.VGPR(strideSame)[l] = g.w.VGPR(strideSame)[0]
			g.w.VGPR(strideInc)[l], g.w.VGPR(strideInc + 1)[l] = step, 0
		}
		if r.IntN(16) == 0 { // one lane is another way
			g.w.VGPR([]int{strideIndex, stridePtr, strideSame, strideInc}[r.IntN(4)])[r.IntN(f.Lanes)]++
		}
		g.w.Fuel = int64(40 << r.IntN(7))
	}
}

// strideDiff compares the engines on a random loop; form tells whether it has the form.
func strideDiff(t testing.TB, seed uint64) (f *ir.Func, form bool, diff []string) {
	f, width := strideFunc(seed)
	if err := ir.Verify(f); err != nil {
		t.Fatalf("seed %d: bad test: %v", seed, err)
	}
	p, err := CompileWith(f, Options{AVX2: hostAVX2})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return f, p.strides > 0, diffEnginesWith(t, seed, f, 12, strideSetUp(seed, f, width))
}

// TestStrideSeed runs one seed: STRIDE_SEED.
func TestStrideSeed(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("STRIDE_SEED"), 0, 64)
	if err != nil {
		t.Skip("no STRIDE_SEED")
	}
	f, form, diff := strideDiff(t, seed)
	t.Logf("form: %v\n%s", form, f)
	for _, x := range diff {
		t.Error(x)
	}
}

// foundStrides are seeds of loops that once made a difference, beyond the ones that every run tries.
var foundStrides = []uint64{
	5554365,                               // an address stood in a register's home when a run of affine addresses began, which wrote that register; the store behind the run had lost it
	20024001917, 20028004017, 20036000040, // the same
}

// TestStrides compares random loops over arrays on both engines; STRIDE_RUNS says how many.
func TestStrides(t *testing.T) { onEach(t, testStrides) }

func testStrides(t *testing.T) {
	n := fewer(400)
	if s, err := strconv.ParseUint(os.Getenv("STRIDE_RUNS"), 10, 64); err == nil {
		n = s
	}
	forms, bad := uint64(0), 0
	for i := range n + uint64(len(foundStrides)) {
		seed := i
		if i >= n {
			seed = foundStrides[i-n]
		}
		f, form, diff := strideDiff(t, seed)
		if form {
			forms++
		}
		if len(diff) > 0 {
			t.Errorf("seed %d, %d lanes, form %v:\n  %s", seed, f.Lanes, form, strings.Join(diff, "\n  "))
			if bad++; bad > 3 {
				t.Fatal("too many differences")
			}
		}
	}
	t.Logf("%d of %d have the form", forms, n)
	if !hostAVX2 && forms < n/4 {
		t.Errorf("only %d of %d have the form", forms, n)
	}
}
