//go:build linux && amd64

package jit

import (
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Small functions for what a compiler leaves out or puts elsewhere: writes that another one hides (or does not, as its mask is of another time, or the wave leaves
// between them), registers that are read behind a write, scalars and masks that are written while somebody holds their old value, copies of loops that
// write EXEC in all ways, and loops of one block that run strip after strip.

const livesVGPRs = 8

// livesGen makes livesFunc and stripsFunc.
type livesGen struct {
	gen
	masks []ir.ID // that writes of the block are under
	vals  []ir.ID // recent values of 32 bits in lanes
	fp    ir.FP
}

func (g *livesGen) one(op ir.Op, t ir.Type, args ...ir.ID) ir.ID {
	return g.add(ir.Value{Op: op, Type: t, Args: args})
}
func (g *livesGen) maybe(n int) bool { return g.r.IntN(n) == 0 }
func (g *livesGen) v() ir.ID {
	x := g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(g.r.IntN(g.nv))})
	g.vals = append(g.vals, x)
	return x
}
func (g *livesGen) s(n uint64) ir.ID       { return g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: n}) }
func (g *livesGen) setS(n uint64, x ir.ID) { g.add(ir.Value{Op: ir.OpSSet, Imm: n, Args: []ir.ID{x}}) }
func (g *livesGen) mget(n uint64) ir.ID    { return g.add(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: n}) }
func (g *livesGen) exec() ir.ID            { return g.mget(isa.SRegEXECLo) }

// val is a value of 32 bits in each lane.
func (g *livesGen) val() ir.ID {
	if len(g.vals) > 0 && g.r.IntN(3) > 0 {
		return g.vals[len(g.vals)-1-g.r.IntN(min(5, len(g.vals)))]
	}
	return g.v()
}

// scalarReg is a scalar register that programs write, or a pair of them.
func (g *livesGen) scalarReg() uint64 { return uint64(g.r.IntN(6)) }

// compute makes a value.
func (g *livesGen) compute() {
	x := g.val()
	switch g.r.IntN(9) {
	case 0:
		n := g.scalarReg()
		if g.maybe(2) { // half of a mask
			n = 8 + uint64(g.r.IntN(4))
		}
		x = g.one(ir.OpAdd, ir.V32, x, g.s(n))
	case 1:
		m := g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: preds[g.r.IntN(len(preds))], Args: []ir.ID{x, g.val()}})
		if x = g.one(ir.OpSelect, ir.V32, m, x, g.val()); g.maybe(2) { // they overlap
			g.add(ir.Value{Op: ir.OpMSet, Imm: 8 + uint64(g.r.IntN(3)), Args: []ir.ID{m}})
		}
	case 2:
		x = g.one(ir.OpSelect, ir.V32, g.mget(8+2*uint64(g.r.IntN(2))), x, g.val())
	case 3: // a carry, perhaps of another sum
		y, z := g.val(), g.val()
		sum := g.one(ir.OpAdd, ir.V32, x, y)
		m := g.one(ir.OpCarryAdd, ir.M, x, []ir.ID{y, z}[g.r.IntN(2)], ir.NoID)
		g.vals = append(g.vals, sum)
		x = g.one([]ir.Op{ir.OpAdd, ir.OpSub}[g.r.IntN(2)], ir.V32, z, g.one(ir.OpMToV, ir.V32, m))
	case 4:
		x = g.add(ir.Value{Op: ir.OpFMA, Type: ir.V32, Kind: ir.F32, FP: g.fp, Args: []ir.ID{x, g.val(), g.val()}})
	case 5:
		y := g.one(ir.OpAnd, ir.V32, x, g.c(ir.S32, []uint64{ldsSize/2 - 4, 0xfc}[g.r.IntN(2)]))
		if g.maybe(2) {
			y = g.one(ir.OpAdd, ir.V32, y, g.c(ir.S32, []uint64{16, 64, 1<<32 - 16}[g.r.IntN(3)]))
		}
		x = g.add(ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: 4, Space: ir.LDS, Imm: uint64(4 * g.r.IntN(9)), Args: []ir.ID{ir.NoID, y, g.mask()}})
	default:
		x = g.one(intOps[g.r.IntN(len(intOps))], ir.V32, x, g.val())
	}
	g.vals = append(g.vals, x)
}

// mask is one that writes are under.
func (g *livesGen) mask() ir.ID {
	switch n := g.r.IntN(12); {
	case n == 0:
		return g.c(ir.M, ^uint64(0))
	case n == 1:
		return g.mget(8 + 2*uint64(g.r.IntN(2)))
	case n < 4 || len(g.masks) == 0:
		g.masks = append(g.masks, g.exec())
	}
	return g.masks[len(g.masks)-1-g.r.IntN(min(2, len(g.masks)))]
}

// writeExec writes EXEC, or a part of it.
func (g *livesGen) writeExec() {
	s, wide := ir.S32, g.f.Lanes == 64
	if wide {
		s = ir.S64
	}
	set := func(x ir.ID) {
		op := ir.OpSSet
		if wide {
			op = ir.OpSSet64
		}
		g.add(ir.Value{Op: op, Imm: isa.SRegEXECLo, Args: []ir.ID{x}})
	}
	get := func(n uint64) ir.ID {
		if wide {
			return g.add(ir.Value{Op: ir.OpSGet64, Type: s, Imm: n})
		}
		return g.s(n)
	}
	now := func() ir.ID {
		if g.maybe(2) {
			return get(isa.SRegEXECLo)
		}
		return g.one(ir.OpMToS, s, g.exec())
	}
	const saved = 12
	switch g.r.IntN(11) {
	case 0, 1:
		x := now()
		g.add(ir.Value{Op: map[bool]ir.Op{false: ir.OpSSet, true: ir.OpSSet64}[wide], Imm: saved, Args: []ir.ID{x}})
		set(g.one(ir.OpAnd, s, x, get(8)))
	case 2:
		set(g.one(ir.OpOr, s, now(), get(saved)))
	case 3:
		set(g.one(ir.OpXor, s, now(), get(saved)))
	case 4:
		set(g.c(s, []uint64{^uint64(0), ^uint64(0), 0xffffffff, 0xfffffff0, 1}[g.r.IntN(5)]))
	case 5, 10: // a half
		n := isa.SRegEXECLo + uint64(g.r.IntN(2))
		g.setS(n, g.c(ir.S32, []uint64{0xffffffff, 0xfffffffe, 0xff00ffff}[g.r.IntN(3)]))
	case 6:
		g.add(ir.Value{Op: ir.OpMSet, Imm: isa.SRegEXECLo, Args: []ir.ID{g.mget(8)}})
	case 7:
		g.add(ir.Value{Op: ir.OpMSet, Imm: isa.SRegEXECLo, Args: []ir.ID{g.c(ir.M, ^uint64(0))}})
	case 8:
		set(get(saved))
	default:
		m := g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.ULT, Args: []ir.ID{g.one(ir.OpLaneID, ir.V32), g.c(ir.S32, []uint64{64, 64, 33, 17, 60}[g.r.IntN(5)])}})
		g.add(ir.Value{Op: ir.OpMSet, Imm: isa.SRegEXECLo, Args: []ir.ID{m}})
	}
}

// step adds something.
func (g *livesGen) step() {
	switch g.r.IntN(24) {
	case 22, 23: // masks that overlap, and what was in them before, in one region
		x := g.val()
		n := uint64(8 + g.r.IntN(3))
		masks, first := 1+g.r.IntN(2), len(g.vals)
		if g.maybe(3) { // more than a region holds
			masks = 8
			for range 16 {
				g.vals = append(g.vals, g.one(ir.OpXor, ir.V32, g.val(), g.v()))
			}
		}
		if g.maybe(2) {
			y := g.one(ir.OpAdd, ir.V32, x, g.s(n+uint64(g.r.IntN(2))))
			g.add(ir.Value{Op: ir.OpVSet, Imm: uint64(g.r.IntN(g.nv)), Args: []ir.ID{y, g.mask()}})
		}
		for range masks {
			m := g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: preds[g.r.IntN(len(preds))], Args: []ir.ID{x, g.val()}})
			g.add(ir.Value{Op: ir.OpMSet, Imm: n, Args: []ir.ID{m}})
			n = uint64(8 + g.r.IntN(3))
		}
		if masks == 8 {
			for _, y := range g.vals[first : first+16] {
				x = g.one(ir.OpSub, ir.V32, y, x)
			}
			g.add(ir.Value{Op: ir.OpVSet, Imm: uint64(g.r.IntN(g.nv)), Args: []ir.ID{x, g.mask()}})
		}
	case 20, 21: // a value under two masks, with something between them that cuts the block
		g.compute()
		x := g.vals[len(g.vals)-1]
		g.add(ir.Value{Op: ir.OpVSet, Imm: uint64(g.r.IntN(g.nv)), Args: []ir.ID{x, g.mask()}})
		off := g.one(ir.OpAnd, ir.V32, g.val(), g.c(ir.S32, 0xffc))
		y := g.add(ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: 4, Space: ir.Global, Args: []ir.ID{g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 30}), off, g.mask()}})
		g.add(ir.Value{Op: ir.OpVSet, Imm: uint64(g.r.IntN(g.nv)), Args: []ir.ID{x, g.mask()}})
		g.vals = append(g.vals, y)
	case 0, 1, 2, 3, 4, 5:
		g.add(ir.Value{Op: ir.OpVSet, Imm: uint64(g.r.IntN(g.nv)), Args: []ir.ID{g.val(), g.mask()}})
	case 6:
		g.writeExec()
	case 7: // scalars
		x := g.one([]ir.Op{ir.OpAdd, ir.OpXor}[g.r.IntN(2)], ir.S32, g.s(g.scalarReg()), g.c(ir.S32, uint64(g.r.IntN(9))))
		g.setS(g.scalarReg(), x)
	case 8:
		x := g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: g.scalarReg()})
		g.add(ir.Value{Op: ir.OpSSet64, Imm: g.scalarReg(), Args: []ir.ID{x}})
	case 9: // a mask's halves
		if g.maybe(2) {
			g.setS(8+uint64(g.r.IntN(4)), g.s(g.scalarReg()))
		} else {
			g.setS(g.scalarReg(), g.s(8+uint64(g.r.IntN(4))))
		}
	case 10, 11: // memory, sometimes where nothing is
		off := g.one(ir.OpAnd, ir.V32, g.val(), g.c(ir.S32, 0x3ffc))
		if g.maybe(30) {
			off = g.val()
		}
		v := ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: 4, Space: ir.Global, Args: []ir.ID{g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 30}), off, g.mask()}}
		if g.maybe(2) {
			v.Op, v.Type, v.Args = ir.OpStore, ir.Void, append(v.Args, g.val())
			g.add(v)
			break
		}
		g.vals = append(g.vals, g.add(v))
	case 12: // the LDS
		y := g.one(ir.OpAnd, ir.V32, g.val(), g.c(ir.S32, []uint64{ldsSize - 4, 0xfc}[g.r.IntN(2)]))
		g.add(ir.Value{Op: ir.OpStore, Width: 4, Space: ir.LDS, Args: []ir.ID{ir.NoID, y, g.mask(), g.val()}})
	case 13:
		x := g.one(ir.OpReadLane, ir.S32, g.val(), g.c(ir.S32, uint64(g.r.IntN(32))))
		g.setS(g.scalarReg(), x)
	case 14: // another MODE, and what it changes
		x, y, z := g.val(), g.val(), g.val()
		for range 1 + g.r.IntN(2) {
			g.fp ^= []ir.FP{ir.FPFlushIn | ir.FPFlushOut, ir.FPFlushOut}[g.r.IntN(2)]
			g.vals = append(g.vals, g.add(ir.Value{Op: ir.OpFMA, Type: ir.V32, Kind: ir.F32, FP: g.fp, Args: []ir.ID{x, y, z}}))
		}
	default:
		g.compute()
	}
}

// livesFunc is a random function of a few blocks.
func livesFunc(seed uint64) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 61))
	g := &livesGen{gen: gen{r: r, f: &ir.Func{PC: 0x10000, Lanes: []int{32, 64}[r.IntN(2)]}, nv: livesVGPRs}, fp: ir.FPDX10}
	f := g.f
	blocks := 2 + r.IntN(4)
	for i := range blocks {
		f.Blocks = append(f.Blocks, &ir.Block{Index: i, PC: uint32(i * 4096), Insts: 1 + r.IntN(9)})
	}
	size := 3 + r.IntN(16)
	for _, b := range f.Blocks {
		g.b, g.by, g.masks, g.vals = b, map[ir.Type][]ir.ID{}, nil, nil
		for range 1 + r.IntN(size) {
			g.step()
		}
		next := min(b.Index+1, blocks-1)
		switch {
		case b.Index == blocks-1:
			b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}
		case g.maybe(3):
			b.Term = ir.Term{Kind: ir.TermJump, Then: next}
		default: // back, for some times, or over the next one
			left := g.one(ir.OpSub, ir.S32, g.s(20), g.c(ir.S32, 1))
			g.setS(20, left)
			cond := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.SGT, Args: []ir.ID{left, g.c(ir.S32, 0)}})
			if g.maybe(5) {
				cond = g.one(ir.OpMIsZ, ir.S1, g.exec())
			}
			b.Term = ir.Term{Kind: ir.TermBranch, Cond: cond, Then: r.IntN(b.Index + 1), Else: next}
			if g.maybe(4) {
				b.Term.Then = min(b.Index+2, blocks-1)
			}
		}
	}
	return f
}

// stripsFunc is a random loop of one block which can run strip after strip, but for what is odd in it.
func stripsFunc(seed uint64) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 63))
	g := &livesGen{gen: gen{r: r, f: &ir.Func{PC: 0x10000, Lanes: []int{32, 64, 64}[r.IntN(3)]}, nv: livesVGPRs}, fp: ir.FPDX10}
	f := g.f
	for i := range 3 {
		f.Blocks = append(f.Blocks, &ir.Block{Index: i, PC: uint32(i * 4096), Insts: 1 + r.IntN(9)})
	}
	begin := func(i int) { g.b, g.by, g.masks, g.vals = f.Blocks[i], map[ir.Type][]ir.ID{}, nil, nil }
	begin(0)
	if g.maybe(4) { // the Program's own MODE
		g.fp ^= ir.FPFlushIn | ir.FPFlushOut
		g.add(ir.Value{Op: ir.OpVSet, Args: []ir.ID{g.add(ir.Value{Op: ir.OpFMA, Type: ir.V32, Kind: ir.F32, FP: g.fp, Args: []ir.ID{g.v(), g.v(), g.v()}}), g.exec()}})
	}
	f.Blocks[0].Term = ir.Term{Kind: ir.TermJump, Then: 1}
	begin(1)
	odd := r.IntN(10)
	exec := g.exec()
	left := g.s(20)
	for n := range g.nv {
		if g.maybe(2) {
			g.vals = append(g.vals, g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(n)}))
		}
	}
	if len(g.vals) == 0 {
		g.v()
	}
	start := len(g.vals)
	// Scalars that a later iteration finds changed, others that none changes.
	if r.IntN(3) > 0 {
		n := g.scalarReg()
		x := g.s(n)
		g.setS(n, g.one(ir.OpAdd, ir.S32, x, g.s(g.scalarReg())))
		if g.maybe(2) {
			g.vals = append(g.vals, g.one(ir.OpXor, ir.V32, g.vals[0], x))
		}
	}
	switch odd {
	case 0: // this iteration's lanes are not the next one's
		if g.setS(isa.SRegEXECLo, g.one(ir.OpXor, ir.S32, g.s(isa.SRegEXECLo), g.c(ir.S32, 1<<r.IntN(32)))); r.IntN(4) > 0 {
			exec = g.exec()
		}
	case 1: // under another MODE
		g.fp ^= ir.FPFlushIn | ir.FPFlushOut
	}
	for range 1 + r.IntN(18) {
		x, y := g.vals[r.IntN(len(g.vals))], g.vals[r.IntN(len(g.vals))]
		switch r.IntN(10) {
		case 0:
			x = g.one(ir.OpAdd, ir.V32, x, g.s(g.scalarReg()))
		case 1:
			x = g.add(ir.Value{Op: ir.OpFMA, Type: ir.V32, Kind: ir.F32, FP: g.fp, Args: []ir.ID{x, y, x}})
		case 2:
			m := g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: preds[r.IntN(len(preds))], Args: []ir.ID{x, y}})
			if x = g.one(ir.OpSelect, ir.V32, m, x, g.vals[0]); odd == 2 { // a vector result decides about the next iteration
				g.add(ir.Value{Op: ir.OpMSet, Imm: 2, Args: []ir.ID{m}})
			}
		case 3:
			g.compute()
			continue
		case 4:
			x = g.one(ir.OpHi, ir.V32, g.one(ir.OpMulU64, ir.V64, x, y))
		case 5:
			if odd == 3 { // a register that is written and read again
				n := uint64(r.IntN(g.nv))
				g.add(ir.Value{Op: ir.OpVSet, Imm: n, Args: []ir.ID{x, exec}})
				x = g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: n})
			}
		default:
			x = g.one(intOps[r.IntN(len(intOps))], ir.V32, x, y)
		}
		g.vals = append(g.vals, x)
	}
	for n := range g.nv {
		if g.maybe(2) {
			continue
		}
		x := g.vals[r.IntN(len(g.vals))]
		switch r.IntN(5) {
		case 0, 1: // one of the registers as they were: they change places
			x = g.vals[r.IntN(start)]
		case 2:
			x = g.s(g.scalarReg())
		}
		m := exec
		if g.maybe(12) {
			m = g.c(ir.M, ^uint64(0))
		}
		g.add(ir.Value{Op: ir.OpVSet, Imm: uint64(n), Args: []ir.ID{x, m}})
	}
	left = g.one(ir.OpSub, ir.S32, left, g.c(ir.S32, 1))
	g.setS(20, left)
	more := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.SGT, Args: []ir.ID{left, g.c(ir.S32, 0)}})
	f.Blocks[1].Term = ir.Term{Kind: ir.TermBranch, Cond: more, Then: 1, Else: 2}
	if g.maybe(3) {
		f.Blocks[1].Term = ir.Term{Kind: ir.TermBranch, Cond: g.one(ir.OpMNot, ir.S1, more), Then: 2, Else: 1}
	}
	begin(2)
	if g.maybe(2) {
		g.step()
	}
	f.Blocks[2].Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}
	return f
}

// livesState is what the registers hold at first.
func livesState(seed uint64, g *rig) {
	r := rand.New(rand.NewPCG(seed, 62))
	gg := &gen{r: r}
	for i := range 16 {
		g.w.S[i] = uint32(gg.bits())
	}
	g.w.S[8], g.w.S[9] = ^uint32(0), ^uint32(0)
	g.w.S[12], g.w.S[13] = ^uint32(0), ^uint32(0)
	if r.IntN(2) == 0 {
		g.w.S[8+r.IntN(2)] = uint32(gg.bits())
	}
	g.w.S[20] = uint32(1 + r.IntN(9))
	g.w.S[30], g.w.S[31] = uint32(g.space.va), uint32(g.space.va>>32)
	for n := range g.w.NVGPR {
		v := g.w.VGPR(n)
		for l := range v {
			v[l] = uint32(gg.bits())
		}
	}
	g.w.SetEXEC(^uint64(0))
	if r.IntN(4) == 0 {
		g.w.SetEXEC(gg.bits())
	}
	g.w.Fuel = int64(20 + r.IntN(200))
}

// livesDiff is the difference of functions of livesVGPRs registers.
func livesDiff(of func(seed uint64) *ir.Func, tuned func(seed uint64) uint64) func(testing.TB, uint64) []string {
	return func(t testing.TB, seed uint64) []string {
		f := of(seed)
		if err := ir.Verify(f); err != nil {
			t.Fatalf("seed %d: bad test: %v", seed, err)
		}
		return diffRigs(t, tuned(seed), f, livesVGPRs, (*rig).fillQuick, func(g *rig) { livesState(seed, g) })
	}
}

// livesTuned has three of four programs leave VGPRs out.
func livesTuned(seed uint64) uint64 {
	x := cornerTuned(seed)
	if x>>14%2 > 0 {
		x |= 1 << 3
	}
	if x>>16%8 == 0 { // the first tier
		x |= 3 << 1
	}
	return x
}

// TestStripsFound sees that most loops run strip after strip.
func TestStripsFound(t *testing.T) {
	needJIT(t)
	loops := 0
	for seed := range uint64(200) {
		p, err := CompileWith(stripsFunc(seed), Options{AVX2: hostAVX2})
		if err != nil {
			t.Fatal(err)
		}
		loops += p.loops
	}
	t.Logf("%d of 200", loops)
	if loops < 100 {
		t.Errorf("only %d of 200 loops run strip after strip", loops)
	}
}
