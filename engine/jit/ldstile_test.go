//go:build linux && amd64

package jit

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// tileLoadsFunc is a random function with many loads of one or two addresses, which are often such as a region has a version for: one for
// each sixteen lanes, dwords one behind the other, the same for every sixteen lanes with elements side by side or apart. What is loaded
// goes into registers, sums, and a store behind.
func tileLoadsFunc(seed uint64) *ir.Func {
	g := newBlockGen(seed, 41, 32, 64, 64)
	r, f := g.r, g.f
	one, k := g.one, g.k
	exec := g.exec()
	lane := g.lane()
	set := func(n int, x ir.ID) { g.set(n, x, exec) }
	get := g.get
	store := func(x ir.ID) {
		g.add(ir.Value{Op: ir.OpStore, Width: 4, Space: ir.LDS, Imm: uint64(4 * r.IntN(64)),
			Args: []ir.ID{ir.NoID, one(ir.OpMul, ir.V32, lane, k(4)), exec, x}})
	}
	n := 1 + r.IntN(2)
	widths := make([][]int, n)
	for i := range n {
		widths[i] = [][]int{{4}, {4}, {16}, {16}, {8}, {12}, {16, 8}, {4, 8, 12, 16}}[r.IntN(8)]
		w := widths[i][0]
		row := 4
		step, up := []int{0, w, w, 2 * w, 260}[r.IntN(5)], []int{0, 0, 16, 64, 256}[r.IntN(5)]
		if r.IntN(3) == 0 {
			step = 0
		}
		if step > 0 && r.IntN(2) == 0 {
			up = 0
		}
		if r.IntN(10) == 0 {
			row = 3 + r.IntN(4)
		}
		at := 4 * r.IntN(200)
		switch r.IntN(12) {
		case 0:
			at = ldsSize - 4*r.IntN(300)
		case 1:
			at = -4 * r.IntN(40)
		case 2:
			at++
		}
		x := one(ir.OpMul, ir.V32, one(ir.OpAnd, ir.V32, lane, k(1<<row-1)), k(step))
		y := one(ir.OpMul, ir.V32, one(ir.OpLShr, ir.V32, lane, k(row)), k(up))
		x = one(ir.OpAdd, ir.V32, one(ir.OpAdd, ir.V32, x, y), k(at))
		if r.IntN(12) == 0 { // one lane is somewhere else
			x = one(ir.OpSelect, ir.V32, g.c(ir.M, 1<<r.IntN(f.Lanes)), k(4*r.IntN(900)), x)
		}
		set(i, x)
	}
	store(get(2)) // what follows is a region of its own
	if r.IntN(4) > 0 {
		store(get(3))
	}
	var places []ir.ID
	for i := range n {
		places = append(places, get(i))
	}
	sums := []ir.ID{get(2), get(3), get(4), get(5)}
	data := []ir.ID{get(6), get(7)}
	for range 3 + r.IntN(8) {
		i := r.IntN(n)
		w := widths[i][r.IntN(len(widths[i]))]
		v := ir.Value{Op: ir.OpLoad, Type: ir.T, N: uint8(w / 4), Width: uint8(w), Space: ir.LDS, Imm: uint64(4 * r.IntN(200)), Args: []ir.ID{ir.NoID, places[i], exec}}
		switch {
		case w == 4:
			v.Type, v.N = ir.V32, 0
		case w == 8 && r.IntN(2) == 0:
			v.Type, v.N = ir.V64, 0
		}
		if r.IntN(6) == 0 { // no room in the offset
			v.Args[1] = one(ir.OpAdd, ir.V32, places[i], k(4*r.IntN(600)-400))
		}
		if r.IntN(20) == 0 {
			v.Args[2] = g.c(ir.M, ^uint64(0))
		}
		id := g.add(v)
		for j := range w / 4 {
			x := id
			switch {
			case v.Type == ir.T:
				x = g.add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: uint64(j), Args: []ir.ID{id}})
			case v.Type == ir.V64:
				x = one([]ir.Op{ir.OpLo, ir.OpHi}[j], ir.V32, id)
			}
			data = append(data, x)
			if r.IntN(4) == 0 {
				set(r.IntN(12), x)
			}
		}
		for range r.IntN(5) {
			s := r.IntN(4)
			x, y := data[len(data)-1-r.IntN(min(6, len(data)))], data[r.IntN(len(data))]
			if r.IntN(2) == 0 {
				sums[s] = g.add(ir.Value{Op: ir.OpFMA, Type: ir.V32, Kind: ir.F32, FP: ir.FPIEEE, Args: []ir.ID{x, y, sums[s]}})
			} else {
				sums[s] = one([]ir.Op{ir.OpXor, ir.OpAdd, ir.OpSub, ir.OpMul}[r.IntN(4)], ir.V32, sums[s], x)
			}
		}
		if r.IntN(8) == 0 {
			m := g.add(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.ULT, Args: []ir.ID{sums[0], data[len(data)-1]}})
			sums[1] = one(ir.OpSelect, ir.V32, m, sums[1], sums[2])
			if r.IntN(2) == 0 {
				g.add(ir.Value{Op: ir.OpMSet, Imm: uint64(10 + 2*r.IntN(3)), Args: []ir.ID{one(ir.OpMAnd, ir.M, m, exec)}})
			}
		}
	}
	for i, x := range sums {
		if r.IntN(4) > 0 {
			set([]int{2, 3, 8, 9}[i], x)
		}
	}
	store(data[len(data)-1-r.IntN(len(data))]) // read in another segment
	store(sums[r.IntN(4)])
	return f
}

func TestTileVersions(t *testing.T) { onEach(t, testTileVersions) }

func testTileVersions(t *testing.T) {
	n := fewer(1500)
	diffSeeds(t, n, tileLoadsFunc, func(seed uint64) bool { return seed%8 != 0 })
	with := uint64(0)
	for seed := range n {
		p, err := CompileWith(tileLoadsFunc(seed), Options{AVX2: hostAVX2})
		if err != nil {
			t.Fatal(err)
		}
		with += uint64(b2i(p.tiled > 0))
	}
	if !hostAVX2 && with < n/2 {
		t.Errorf("only %d of %d functions have versions for tiles", with, n)
	}
}

// crewTileFunc is a loop in which each wave of a work-group writes its part of the LDS, and behind a barrier reads a tile at addresses that all
// strips have, and often all waves: what one wave kept serves the next, until the LDS is written again. s20 counts, s21 is the wave's part.
func crewTileFunc(seed uint64) *ir.Func {
	r := rand.New(rand.NewPCG(seed, 45))
	f := &ir.Func{PC: 0x10000, Lanes: []int{32, 64}[r.IntN(2)]}
	for i := range 4 {
		f.Blocks = append(f.Blocks, &ir.Block{Index: i, PC: uint32(i * 1024), Insts: 1 + r.IntN(8)})
	}
	g := &gen{r: r, f: f, nv: 12}
	start := func(i int) { g.b, g.by = f.Blocks[i], map[ir.Type][]ir.ID{} }
	one, k, get, exec, lane := g.one, g.k, g.get, g.exec, g.lane
	part := func() ir.ID { return g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: 21}) }
	write := func(at int) {
		a := one(ir.OpAdd, ir.V32, one(ir.OpMul, ir.V32, lane(), k(4)), part())
		g.add(ir.Value{Op: ir.OpStore, Width: 4, Space: ir.LDS, Imm: uint64(at), Args: []ir.ID{ir.NoID, a, exec(), get(2 + r.IntN(4))}})
	}
	w := []int{8, 12, 16, 16}[r.IntN(4)]
	tile := func() {
		m, at := exec(), get(0)
		for i := range 4 + r.IntN(3) {
			id := g.add(ir.Value{Op: ir.OpLoad, Type: ir.T, N: uint8(w / 4), Width: uint8(w), Space: ir.LDS, Imm: uint64(4 * r.IntN(100)), Args: []ir.ID{ir.NoID, at, m}})
			for j := range w / 4 {
				x := g.add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: uint64(j), Args: []ir.ID{id}})
				n := 2 + (i+j)%8
				g.set(n, one(ir.OpAdd, ir.V32, get(n), x), m)
			}
		}
	}
	start(0)
	x := one(ir.OpMul, ir.V32, one(ir.OpAnd, ir.V32, lane(), k(15)), k([]int{w, w, 32}[r.IntN(3)]))
	if r.IntN(3) == 0 { // waves have addresses of their own
		x = one(ir.OpAdd, ir.V32, x, part())
	}
	g.set(0, x, exec())
	write(0)
	f.Blocks[0].Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitBarrier, Next: 1024, Cond: ir.NoID}
	start(1)
	tile()
	if r.IntN(2) == 0 { // where nobody reads
		write(2048)
		tile()
	}
	f.Blocks[1].Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitBarrier, Next: 2048, Cond: ir.NoID}
	start(2)
	n := one(ir.OpSub, ir.S32, g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: 20}), k(1))
	g.add(ir.Value{Op: ir.OpSSet, Imm: 20, Args: []ir.ID{n}})
	more := g.add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.SGT, Args: []ir.ID{n, k(0)}})
	f.Blocks[2].Term = ir.Term{Kind: ir.TermBranch, Cond: more, Then: 0, Else: 3}
	start(3)
	f.Blocks[3].Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}
	return f
}

// TestCrewTiles runs work-groups whose waves read one tile on both engines.
func TestCrewTiles(t *testing.T) { onEach(t, testCrewTiles) }

func testCrewTiles(t *testing.T) {
	together := 0
	for seed := range fewer(150) {
		f := crewTileFunc(seed)
		if err := ir.Verify(f); err != nil {
			t.Fatalf("seed %d: bad test: %v", seed, err)
		}
		if p, err := CompileWith(f, Options{AVX2: hostAVX2}); err != nil || p.tiled == 0 && !hostAVX2 {
			t.Fatalf("seed %d: no version for tiles (%v)", seed, err)
		}
		diff, n, _ := crewDiffOf(t, seed, f, nil)
		if together += n; len(diff) > 0 {
			t.Fatalf("seed %d: %s\n%s", seed, strings.Join(diff, "\n  "), f)
		}
	}
	if together == 0 {
		t.Error("no waves ran together")
	}
}
