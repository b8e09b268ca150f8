//go:build linux && amd64

package jit

import (
	"bytes"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// streamSpace is a flat space whose pages have rights, and which is contiguous in pieces only.
type streamSpace struct {
	flat
	rights []mem.Access // by page
	piece  uint64       // bytes
	free   bool         // the oracle looks: everything may be accessed, and
	broken bool         // it did something that the rights do not allow
}

func (s *streamSpace) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	p, n, rights, f := s.flat.Translate(va, a)
	if f != nil || s.free {
		s.broken = s.broken || f != nil || a&^s.rights[(va-s.va)>>mem.PageShift] != 0
		return p, n, rights, f
	}
	rights = s.rights[(va-s.va)>>mem.PageShift]
	if a&^rights != 0 {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent}
	}
	page := (va - s.va) >> mem.PageShift
	n = mem.PageSize - va&(mem.PageSize-1)
	for page++; n < s.piece && int(page) < len(s.b)>>mem.PageShift && s.rights[page] == rights; page++ {
		n += mem.PageSize
	}
	return p, n, rights, nil
}

const (
	streamX    = 8       // register of the work-group id
	streamBase = 1 << 14 // where the data is in memory
)

// streamFunc makes a random kernel of the kind that has a stream form: indexes from work-group and work-item ids, checks against a
// bound, loads, arithmetic, stores. Most often work-groups of the given number of waves go on from each other. s10 is to hold n.
func streamFunc(r *rand.Rand, waves int) (f *ir.Func, n uint64) {
	f = &ir.Func{PC: 0x20000 + uint64(r.IntN(64))<<8, Lanes: []int{32, 64}[r.IntN(2)]}
	g := &gen{r: r, f: f, nv: 12}
	for i := range 3 {
		f.Blocks = append(f.Blocks, &ir.Block{Index: i, PC: uint32(i * 1024), Insts: 1 + r.IntN(20)})
	}
	g.b, g.by = f.Blocks[0], map[ir.Type][]ir.ID{}
	val := func(op ir.Op, t ir.Type, args ...ir.ID) ir.ID { return g.add(ir.Value{Op: op, Type: t, Args: args}) }
	imm := func(op ir.Op, t ir.Type, x uint64, args ...ir.ID) ir.ID {
		return g.add(ir.Value{Op: op, Type: t, Imm: x, Args: args})
	}
	exec := imm(ir.OpMGet, ir.M, isa.SRegEXECLo)
	v0 := imm(ir.OpVGet, ir.V32, 0)
	switch r.IntN(6) {
	case 0:
		v0 = val(ir.OpAnd, ir.V32, v0, g.c(ir.S32, 1023))
	case 1:
		v0 = imm(ir.OpZext, ir.V32, 10, v0)
	}
	x := imm(ir.OpSGet, ir.S32, streamX)
	n = uint64(32 << r.IntN(4))
	if r.IntN(8) > 0 {
		n = uint64(waves * f.Lanes)
	}
	size := g.c(ir.S32, n)
	if r.IntN(2) == 0 {
		size = imm(ir.OpSGet, ir.S32, 10)
	}
	if r.IntN(3) == 0 { // the last work-group may be smaller
		size = val(ir.OpMinU, ir.S32, val(ir.OpSub, ir.S32, g.c(ir.S32, n*uint64(2+r.IntN(6))), val(ir.OpMul, ir.S32, x, size)), size)
	}
	part := val(ir.OpMul, ir.S32, x, size)
	var i32, i64 ir.ID = ir.NoID, ir.NoID
	switch r.IntN(6) {
	case 5: // as by v_mad_u64_u32, with a high half that nobody asks for
		high := []ir.ID{v0, imm(ir.OpVGet, ir.V32, 7)}[r.IntN(2)]
		i32 = val(ir.OpLo, ir.V32, val(ir.OpAdd, ir.V64, val(ir.OpMulU64, ir.S64, x, size), val(ir.OpPair, ir.V64, v0, high)))
	case 0:
		i64 = val(ir.OpAdd, ir.V64, val(ir.OpMulU64, ir.S64, x, size), val(ir.OpPair, ir.V64, v0, g.c(ir.V32, 0)))
		i32 = val(ir.OpLo, ir.V32, i64)
	case 1:
		shift := uint64(10)
		if r.IntN(2) == 0 {
			shift = uint64(bits.Len64(n - 1))
		}
		i32 = val(ir.OpOr, ir.V32, val(ir.OpShl, ir.S32, x, g.c(ir.S32, shift)), v0)
	case 2:
		i32 = val(ir.OpSub, ir.V32, v0, val(ir.OpSub, ir.S32, g.c(ir.S32, 0), part))
	default:
		i32 = val(ir.OpAdd, ir.V32, part, v0)
	}
	if r.IntN(3) == 0 { // some lanes may be below zero
		i32, i64 = val(ir.OpSub, ir.V32, i32, g.c(ir.S32, uint64(r.IntN(200)))), ir.NoID
	}
	if i64 == ir.NoID {
		switch r.IntN(3) {
		case 0:
			i64 = val(ir.OpPair, ir.V64, i32, val(ir.OpAShr, ir.V32, i32, g.c(ir.S32, 31)))
		case 1:
			i64 = val(ir.OpSext64, ir.V64, i32)
		default:
			i64 = val(ir.OpZext64, ir.V64, i32)
		}
	}
	g.b.Term = ir.Term{Kind: ir.TermJump, Then: 1}
	if r.IntN(2) == 0 { // if (i < n)
		p := preds[r.IntN(len(preds))]
		bound := imm(ir.OpSGet, ir.S32, 9)
		var m ir.ID
		switch r.IntN(4) {
		case 0:
			m = g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: p, Args: []ir.ID{bound, i32}})
		case 1:
			m = g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: p, Args: []ir.ID{i64, val(ir.OpZext64, ir.S64, bound)}})
		case 2:
			m = g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: p, Args: []ir.ID{g.c(ir.V32, 2), x}})
		default:
			m = g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: p, Args: []ir.ID{i32, bound}})
		}
		m = val(ir.OpMAnd, ir.M, m, exec)
		if r.IntN(3) == 0 { // and another one, the same in all lanes
			y := g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: preds[r.IntN(len(preds))], Args: []ir.ID{g.c(ir.V32, uint64(r.IntN(8))), x}})
			y = val(ir.OpMAnd, ir.M, y, exec)
			t := ir.S64
			if f.Lanes == 32 {
				t = ir.S32
			}
			switch op := r.IntN(3); r.IntN(2) {
			case 0:
				m = val([]ir.Op{ir.OpMAnd, ir.OpMOr, ir.OpMXor}[op], ir.M, m, y)
			default:
				m = val(ir.OpSToM, ir.M, val([]ir.Op{ir.OpAnd, ir.OpOr, ir.OpXor}[op], t, val(ir.OpMToS, t, m), val(ir.OpMToS, t, y)))
			}
		}
		none := val(ir.OpMIsZ, ir.S1, m)
		imm(ir.OpMSet, ir.Void, isa.SRegEXECLo, m)
		g.b.Term = ir.Term{Kind: ir.TermBranch, Cond: none, Then: 2, Else: 1}
	}
	g.add(ir.Value{Op: ir.OpVSet, Imm: 4, Args: []ir.ID{i32, exec}})
	g.add(ir.Value{Op: ir.OpVSet, Imm: 5, Args: []ir.ID{val(ir.OpLo, ir.V32, i64), exec}})
	g.add(ir.Value{Op: ir.OpVSet, Imm: 6, Args: []ir.ID{val(ir.OpHi, ir.V32, i64), exec}})

	g.b, g.by = f.Blocks[1], map[ir.Type][]ir.ID{}
	exec = imm(ir.OpMGet, ir.M, isa.SRegEXECLo)
	i32 = imm(ir.OpVGet, ir.V32, 4)
	i64 = val(ir.OpPair, ir.V64, imm(ir.OpVGet, ir.V32, 5), imm(ir.OpVGet, ir.V32, 6))
	base := imm(ir.OpSGet64, ir.S64, 30)
	var data, wide []ir.ID
	datum := func() ir.ID {
		if len(data) == 0 || r.IntN(8) == 0 {
			return []ir.ID{i32, g.c(ir.V32, g.bits()), imm(ir.OpSGet, ir.S32, 9)}[r.IntN(3)]
		}
		return data[r.IntN(len(data))]
	}
	address := func(v *ir.Value, w int) {
		shift := 0
		for 1<<shift < w {
			shift++
		}
		at := base
		if r.IntN(40) == 0 { // with the work-group's part in it
			at = val(ir.OpAdd, ir.S64, at, val(ir.OpMulU64, ir.S64, imm(ir.OpSGet, ir.S32, streamX), g.c(ir.S32, uint64(waves*f.Lanes*w))))
		}
		off := uint32(4 * r.IntN(600))
		if r.IntN(3) == 0 {
			off = uint32(r.IntN(9000))
		}
		v.Args = []ir.ID{ir.NoID, ir.NoID, exec}
		n := g.c(ir.S32, uint64(shift))
		if v.Op == ir.OpLoad && r.IntN(12) == 0 {
			n = g.c(ir.S32, uint64(2+r.IntN(2))) // further apart, or overlapping
		}
		if r.IntN(2) == 0 {
			v.Imm = uint64(off)
		} else {
			at = val(ir.OpAdd, ir.S64, at, g.c(ir.S64, uint64(off)))
		}
		switch r.IntN(4) {
		case 0:
			v.Args[0], v.Args[1] = at, val(ir.OpShl, ir.V32, i32, n)
			if r.IntN(2) == 0 {
				v.Imm |= ir.OffSigned
			}
		case 1:
			v.Args[1] = val(ir.OpAdd, ir.V64, at, val(ir.OpShl, ir.V64, i64, n))
		case 2:
			v.Args[0], v.Args[1] = at, val(ir.OpShl, ir.V64, i64, n)
		default:
			// As compilers add: halves with a carry between them.
			y := val(ir.OpShl, ir.V64, i64, n)
			bl, bh := val(ir.OpLo, ir.S32, at), val(ir.OpHi, ir.S32, at)
			yl, yh := val(ir.OpLo, ir.V32, y), val(ir.OpHi, ir.V32, y)
			lo := val(ir.OpAdd, ir.V32, bl, yl)
			k := g.add(ir.Value{Op: ir.OpCarryAdd, Type: ir.M, Args: []ir.ID{bl, yl, ir.NoID}})
			k = val(ir.OpMAnd, ir.M, k, exec)
			hi := val(ir.OpAdd, ir.V32, val(ir.OpAdd, ir.V32, bh, yh), val(ir.OpMToV, ir.V32, k))
			v.Args[1] = val(ir.OpPair, ir.V64, lo, hi)
		}
		if r.IntN(10) == 0 && v.Op == ir.OpLoad {
			v.Args = []ir.ID{at, g.c(ir.V32, 64), exec} // one address for all
		}
	}
	width := func() int { return []int{1, 2, 4, 4, 4, 8, 16}[r.IntN(7)] }
	store := func() {
		v := ir.Value{Op: ir.OpStore}
		w := width()
		v.Width = uint8(w)
		address(&v, w)
		var d ir.ID
		switch w {
		case 8:
			d = val(ir.OpPair, ir.V64, datum(), datum())
			if f.V(f.V(d).Args[0]).Type == ir.S32 || f.V(f.V(d).Args[1]).Type == ir.S32 {
				d = val(ir.OpZext64, ir.V64, val(ir.OpAdd, ir.V32, datum(), i32))
			}
			if len(wide) > 0 && r.IntN(2) == 0 {
				d = wide[r.IntN(len(wide))]
			}
		case 16:
			var t []ir.ID
			for range 4 {
				x := datum()
				if f.V(x).Type != ir.V32 {
					x = val(ir.OpSplat, ir.V32, x)
				}
				t = append(t, x)
			}
			d = g.add(ir.Value{Op: ir.OpTuple, Type: ir.T, N: 4, Args: t})
		default:
			if d = datum(); f.V(d).Type != ir.V32 {
				d = val(ir.OpSplat, ir.V32, d)
			}
		}
		v.Args = append(v.Args, d)
		g.add(v)
	}
	for range 2 + r.IntN(8) {
		switch r.IntN(7) {
		case 0, 1, 2:
			w := width()
			v := ir.Value{Op: ir.OpLoad, Type: ir.V32, Width: uint8(w), Sign: w < 4 && r.IntN(2) == 0}
			address(&v, w)
			switch w {
			case 8:
				v.Type = ir.V64
				id := g.add(v)
				data = append(data, val(ir.OpLo, ir.V32, id), val(ir.OpHi, ir.V32, id))
				if r.IntN(2) == 0 {
					y := val(ir.OpMul, ir.V64, id, id)
					data = append(data, val(ir.OpHi, ir.V32, y))
					wide = append(wide, id, y)
				}
			case 16:
				v.Type, v.N = ir.T, 4
				id := g.add(v)
				for i := range 4 {
					data = append(data, imm(ir.OpElem, ir.V32, uint64(i), id))
				}
			default:
				data = append(data, g.add(v))
			}
		case 3:
			a, b := datum(), datum()
			if f.V(a).Type != ir.V32 && f.V(b).Type != ir.V32 {
				a = val(ir.OpSplat, ir.V32, a)
			}
			m := g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: preds[r.IntN(len(preds))], Args: []ir.ID{a, b}})
			x := val(ir.OpSelect, ir.V32, m, datum(), datum())
			data = append(data, x)
		case 4:
			store()
		default:
			a, b := datum(), datum()
			if f.V(a).Type != ir.V32 && f.V(b).Type != ir.V32 {
				a = val(ir.OpSplat, ir.V32, a)
			}
			data = append(data, val(intOps[r.IntN(len(intOps))], ir.V32, a, b))
		}
	}
	store()
	g.b.Term = ir.Term{Kind: ir.TermJump, Then: 2}
	f.Blocks[2].Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}
	f.Blocks[0].Term.Cond = max(f.Blocks[0].Term.Cond, ir.NoID)
	return f, n
}

// streamSeed runs the function of a seed in batches, what they leave by the oracle, and everything by the oracle; it returns the waves
// that ran in batches, and all.
func streamSeed(t testing.TB, seed uint64) (batched, all int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 77))
	groups, waves := 1+r.IntN(5), 1+r.IntN(4)
	unit, whole := 0, false
	switch r.IntN(4) {
	case 0:
		unit = waves
	case 1, 2:
		unit, whole = waves, true
	}
	f, size := streamFunc(r, waves)
	if err := ir.Verify(f); err != nil {
		t.Fatalf("seed %d: bad test: %v", seed, err)
	}
	c := new(compiler)
	if seed%3 == 0 { // it has compiled something else before
		if _, err := c.compileWith(engineFunc(seed), Options{AVX2: hostAVX2, Lazy: seed%2 == 0}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	p, err := c.compileStream(f, []int{streamX}, unit, whole, Options{AVX2: hostAVX2, Soft: testSoft})
	if err != nil {
		if os.Getenv("STREAM_SEED") != "" {
			t.Log(err)
		}
		return 0, groups * waves
	}
	var cm rt.CodeMemory
	defer cm.Close()
	ip, err := install(&cm, p)
	if err != nil {
		t.Fatal(err)
	}
	const memory = 1 << 17
	sides := make([]*rig, 2)
	for i := range sides {
		g := newRig(t, f.Lanes, 12)
		defer g.free()
		g.fill(seed, f.Lanes)
		sides[i] = g
	}
	a, b := sides[0], sides[1]
	b.space.b, a.space.b = b.space.b[:memory], a.space.b[:memory]
	sp := &streamSpace{flat: *b.space, piece: uint64(4096 << r.IntN(4)), rights: make([]mem.Access, len(b.space.b)/mem.PageSize+1)}
	for i := range sp.rights {
		sp.rights[i] = mem.Read | mem.Write
		if r.IntN(12) == 0 {
			sp.rights[i] = []mem.Access{0, mem.Read, mem.Write}[r.IntN(3)]
		}
	}
	ms := &mem.Space{Translator: sp, SharedBase: sharedBase, PrivateBase: privateBase}
	a.w.Space, b.w.Space = ms, ms
	bound := uint32(r.IntN(groups*waves*f.Lanes + 100))
	first := uint32(r.IntN(3))
	if r.IntN(8) == 0 {
		first = 1<<22 - 2 // products of 32 bits wrap
	}
	firsts := make([]uint32, waves)
	for w := range firsts {
		firsts[w] = uint32(w * f.Lanes)
	}
	launch := func(g *rig, n int) {
		clear(g.w.S[:])
		g.w.SetEXEC(^uint64(0) >> (64 - f.Lanes))
		g.w.S[streamX] = first + uint32(n/waves)
		g.w.S[9], g.w.S[10] = bound, uint32(size)
		g.w.S[30], g.w.S[31] = uint32(g.space.va+streamBase), uint32(g.space.va>>32)
		for l := range f.Lanes {
			g.w.VGPR(0)[l] = firsts[n%waves] + uint32(l)
		}
		g.w.PC, g.w.Fuel = f.PC, 1<<20
	}
	oracleWave := func(g *rig, n int) {
		launch(g, n)
		sp.free, sp.b = true, g.space.b
		(&oracle{f: f, w: g.w, lds: g.lds}).run(0)
		sp.free, sp.b = false, b.space.b
	}
	tlb := mem.NewTLB()
	defer tlb.Close()
	m := &machine{tlb: tlb}
	defer m.close()
	tlb.Enter(ms)
	all = groups * waves
	ref := 0
	for at := 0; at < all; {
		done := 0
		if at%waves == 0 {
			launch(b, at)
			left := (all - at) / waves
			if r.IntN(3) == 0 { // what is known of the addresses is not enough for the next batch
				left = 1 + r.IntN(left)
			}
			total := uint64(r.IntN(2)) << 40 // stores may go around caches
			done = m.stream(&engine.Batch{W: b.w, Groups: left, Total: total, Waves: waves, X: []int{streamX}, Items: []engine.ItemSeries{{First: firsts, Step: 1}}}, ip, left)
			if r.IntN(4) == 0 {
				tlb.Leave()
				ms.Flush()
				tlb.Enter(ms)
			}
		}
		at += done
		batched += done
		for ; ref < at; ref++ {
			sp.broken = false
			oracleWave(a, ref)
			if sp.broken && ref >= at-done {
				t.Errorf("seed %d: wave %d has to fault", seed, ref)
			}
		}
		if !bytes.Equal(a.space.b, b.space.b) {
			i := 0
			for a.space.b[i] == b.space.b[i] {
				i++
			}
			t.Errorf("seed %d: memory differs at %#x after %d waves (%d in this batch): %#x, want %#x", seed, i, at, done, b.space.b[i], a.space.b[i])
			if testing.Verbose() {
				t.Log(fmt.Sprint(f))
			}
			return batched, all
		}
		if at < all && (done == 0 || at%waves != 0) {
			oracleWave(b, at)
			at++
		}
	}
	return batched, all
}

// TestStreamSeed runs one seed: STREAM_SEED.
func TestStreamSeed(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("STREAM_SEED"), 0, 64)
	if err != nil {
		t.Skip("no STREAM_SEED")
	}
	onEach(t, func(t *testing.T) { t.Log(streamSeed(t, seed)) })
}

// TestStreams compares batches of random kernels with the oracle: edges of the grid, pages that cannot be read or written, accesses that
// cross pages, loads and stores that overlap.
func TestStreams(t *testing.T) { onEach(t, testStreams) }

func testStreams(t *testing.T) {
	batched, all := 0, 0
	for seed := range fewer(300) {
		b, n := streamSeed(t, seed)
		batched += b
		all += n
		if t.Failed() {
			return
		}
	}
	t.Logf("%d of %d waves in batches", batched, all)
	if batched < all/4 {
		t.Errorf("only %d of %d waves ran in batches", batched, all)
	}
}
