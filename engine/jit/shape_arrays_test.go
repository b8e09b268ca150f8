//go:build linux && amd64

package jit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// arrayKernel is a random loop over an array in a target's own instructions, as compilers write `for (i = id; i < n; i += threads)`, and what they put into it. A wave
// begins at the loop: its registers are set up by launch. Those are: v0 the lane, v[4:5] the index, v[6:7] an address, v[10:11] what the index goes on by, in lanes; v12
// and v13 the same in all lanes, v16 to v19 sums, v[48:49] where they are stored in the end; s[0:1] the input, s[2:3] the output, s9 turns left, s[10:11] what the index
// goes on by, s[12:13] the bound, s[14:15] bytes, M24 the lanes that are done, M28 another mask.
type arrayKernel struct {
	*guest
	seed    uint64
	shift   int  // of an element's bytes
	narrow  bool // the index has 32 bits
	carries bool // M28 is the carry out of the index's high half, which the next turn looks at
}

func newArrayKernel(seed uint64) *arrayKernel {
	r := rand.New(rand.NewPCG(seed, 79))
	k := batchKinds[r.IntN(len(batchKinds))]
	g := &guest{r: r, t: isa.TargetByName(k.target).Wave(k.lanes), lanes: k.lanes, waves: 1, spell: spelling(k.target, k.lanes), funcs: make([][]guestLine, 1)}
	b := &arrayKernel{guest: g, seed: seed, shift: []int{0, 1, 2, 2, 2, 3, 4}[r.IntN(7)], narrow: r.IntN(3) == 0}
	top := g.label()
	g.bind(top)
	if b.carries = !b.narrow && g.one(4); b.carries {
		g.do("v_cndmask_b32 v17, v17, v16, M28")
	}
	early := g.one(4)
	if early {
		b.step()
	}
	own := g.one(2) // the address is carried on
	at := vLoaded
	for range 1 + g.r.IntN(2) {
		at += b.load(at, own)
	}
	b.use(at)
	for range g.r.IntN(3) {
		b.work(at)
	}
	if g.one(3) {
		b.store(own)
	}
	if own && !g.one(12) {
		b.add(6, g.pick("s[14:15]", "s[14:15]", "s[14:15]", "64", "s[10:11]"))
	}
	if !early {
		b.step()
	}
	b.again(top)
	// What the loop leaves.
	g.do("s_mov_B EXEC, -1")
	for i, n := range []int{16, 4, 8} {
		g.do("global_store_dwordx4 v[48:49], v[%d:%d], off offset:%d", n, n+3, 16*i)
	}
	g.do("s_endpgm")
	return b
}

// add adds a scalar number of 64 bits, or a small one, to the pair from n on.
func (b *arrayKernel) add(n int, x string) {
	g := b.guest
	lo, hi := x, "0"
	if strings.HasPrefix(x, "s[") {
		var l, h int
		fmt.Sscanf(x, "s[%d:%d]", &l, &h)
		lo, hi = fmt.Sprintf("s%d", l), fmt.Sprintf("s%d", h)
	}
	mask := g.pick("VCC", "VCC", "M26")
	out := g.pick("VCC", "VCC", "M28")
	if b.carries {
		out = "M28"
	}
	if hi != "0" && g.one(3) { // the high half is not there
		hi = "0"
	}
	if hi != "0" {
		g.do("v_mov_b32 v9, %s", hi)
		hi = "v9"
	}
	if strings.HasPrefix(x, "v[") {
		lo, hi = "v10", "v11"
	}
	g.do("v_add_co_u32 v%d, %s, %s, v%d", n, mask, lo, n)
	g.do("v_addc_co_u32 v%d, %s, %s, v%d, %s", n+1, out, hi, n+1, mask)
}

// step makes the index the next turn's.
func (b *arrayKernel) step() {
	g := b.guest
	if b.narrow {
		if g.one(8) {
			g.do("v_lshlrev_b32 v4, 1, v4")
			return
		}
		g.do("v_add_u32 v4, %s, v4", g.pick("s10", "s10", "s10", "s10", "v10", "64", "v12", "v0"))
		return
	}
	if g.t.Name == "gfx942" && g.one(2) {
		g.do("v_lshl_add_u64 v[4:5], v[4:5], 0, s[10:11]")
		return
	}
	b.add(4, g.pick("s[10:11]", "s[10:11]", "s[10:11]", "v[10:11]", "64"))
}

// address is the operands of an access of the index's element, or of the address that is carried on.
func (b *arrayKernel) address(base string, own bool) string {
	g := b.guest
	if own {
		return "v[6:7], off"
	}
	lo := map[string]string{"s[0:1]": "s0", "s[2:3]": "s2"}[base]
	hi := map[string]string{"s[0:1]": "s1", "s[2:3]": "s3"}[base]
	if b.narrow && g.one(2) {
		g.do("v_lshlrev_b32 v8, %d, v4", b.shift)
		return "v8, " + base
	}
	if b.narrow {
		switch g.r.IntN(2) {
		case 0:
			g.do("v_mov_b32 v5, 0")
		default:
			g.do("v_ashrrev_i32 v5, 31, v4")
		}
	}
	g.do("v_lshlrev_b64 v[8:9], %d, v[4:5]", b.shift)
	g.do("v_mov_b32 v14, %s", hi)
	g.do("v_add_co_u32 v8, VCC, %s, v8", lo)
	g.do("v_addc_co_u32 v9, VCC, v14, v9, VCC")
	return "v[8:9], off"
}

func (b *arrayKernel) offset() string {
	switch b.r.IntN(3) {
	case 0:
		return fmt.Sprintf(" offset:%d", b.r.IntN(500))
	case 1:
		return fmt.Sprintf(" offset:%d", 16*b.r.IntN(40))
	}
	return ""
}

// load loads an element to register at; it is how many registers it fills.
func (b *arrayKernel) load(at int, own bool) int {
	g := b.guest
	n := max(1, 1<<b.shift>>2)
	name := []string{0: g.pick("ubyte", "sbyte"), 1: g.pick("ushort", "sshort"), 2: "dword", 3: "dwordx2", 4: "dwordx4"}[b.shift]
	if g.one(12) { // one address for all lanes
		g.do("v_mov_b32 v8, 64")
		g.do("global_load_dword v%d, v8, s[0:1]", at)
		return 1
	}
	g.do("global_load_%s %s, %s%s", name, vs(at, n), b.address(g.pick("s[0:1]", "s[0:1]", "s[2:3]"), own), b.offset())
	return n
}

func (b *arrayKernel) store(own bool) {
	g := b.guest
	n := max(1, 1<<b.shift>>2)
	name := []string{"byte", "short", "dword", "dwordx2", "dwordx4"}[b.shift]
	ops := b.address(g.pick("s[0:1]", "s[2:3]", "s[2:3]"), own)
	addr, rest, _ := strings.Cut(ops, ",")
	data := vs(16, n)
	if n < 4 && g.one(3) {
		data = vs(vLoaded, n)
	}
	g.do("global_store_%s %s, %s,%s%s", name, addr, data, rest, b.offset())
}

// use makes sums of what was loaded.
func (b *arrayKernel) use(end int) {
	g := b.guest
	for n := vLoaded; n < end; n++ {
		d := g.v(16, 4)
		g.do("%s %s, v%d, %s", g.pick("v_add_f32", "v_add_f32", "v_max_i32", "v_xor_b32", "v_xor_b32", "v_min_u32", []string{"v_add_u32", "v_max_u32"}[g.r.IntN(2)]), d, n, d)
	}
}

// work is what else a turn does.
func (b *arrayKernel) work(end int) {
	g := b.guest
	d, a := g.v(16, 4), g.v(vLoaded, end-vLoaded)
	switch g.r.IntN(10) {
	case 0:
		g.do("v_mul_lo_u32 v%d, %s, %s", vLoaded, a, g.pick("v12", "s9", "v4"))
	case 1:
		g.do("v_cmp_gt_u32 VCC, %s, v12", a)
		g.do("v_cndmask_b32 %s, %s, %s, VCC", d, d, a)
	case 2:
		g.do("v_cndmask_b32 %s, %s, %s, %s", d, d, a, g.pick("M24", "M28"))
	case 3, 4, 5:
		g.do("v_and_b32 v15, %d, %s", []int{63, 31, 4}[g.r.IntN(3)], a)
		g.do("v_lshlrev_b32 v15, 2, v15")
		g.do("ds_%s v15, %s offset:%d", g.pick("add_u32", "add_u32", "sub_u32", "or_b32", "xor_b32", "max_u32"), g.pick("v12", a, "v13", "v16", "v4"), 64*g.r.IntN(3))
	case 6:
		g.do("v_min_u32 v17, v17, v4")
	case 7:
		g.do("v_mov_b32 v%d, %s", 18+g.r.IntN(2), g.pick("v4", a, "v6"))
	case 8:
		g.do("s_%s_B M28, M28, %s", g.pick("or", "and"), g.pick("M24", "VCC"))
	default:
		g.do("v_cmp_%s_u32 M28, %s, v4", g.pick("lt", "ne", "eq"), g.pick("v12", "s12"))
	}
}

// again goes to top while some lanes have not come to the bound.
func (b *arrayKernel) again(top string) {
	g := b.guest
	if g.one(4) { // it counts
		g.do("s_sub_u32 s9, s9, 1")
		if g.one(2) {
			g.do("s_cmp_%s_u32 s9, 0", g.pick("lg", "gt"))
			g.branch("s_cbranch_scc1", top)
		} else {
			g.do("s_cmp_eq_u32 s9, 0")
			g.branch("s_cbranch_scc0", top)
		}
		return
	}
	to := g.pick("VCC", "VCC", "M28")
	compare := func(p string) {
		if b.narrow {
			g.do("v_cmp_%s_%s %s, s12, v4", p, g.pick("u32", "u32", "i32"), to)
		} else {
			g.do("v_cmp_%s_%s %s, s[12:13], v[4:5]", p, g.pick("u64", "i64"), to)
		}
	}
	switch g.r.IntN(6) {
	case 0:
		compare(g.pick("gt", "gt", "ge", "ne"))
		g.do("s_and_B EXEC, EXEC, %s", to)
		g.branch("s_cbranch_execnz", top)
	case 1:
		compare(g.pick("gt", "gt", "ge", "ne"))
		g.do("s_and_saveexec_B M26, %s", to)
		g.branch("s_cbranch_execnz", top)
	case 2: // as long as one lane has not
		to = "VCC"
		compare(g.pick("gt", "ge", "ne"))
		g.branch("s_cbranch_vccnz", top)
	default:
		compare(g.pick("le", "le", "lt", "eq"))
		g.do("s_or_B M24, %s, M24", to)
		g.do("s_andn2_B EXEC, EXEC, M24")
		g.branch("s_cbranch_execnz", top)
	}
}

// launch sets w up for some turns: numbers come to 2³¹ or 2³² on the way or where the loop begins, lanes are not what they mostly are.
func (b *arrayKernel) launch(seed uint64, w *wave.Wave) {
	r := rand.New(rand.NewPCG(seed, 83))
	for i := range 100 {
		w.S[i] = r.Uint32()
	}
	lanes := uint64(b.lanes)
	size := uint64(1) << b.shift
	w.SetEXEC(^uint64(0) >> (64 - b.lanes))
	if r.IntN(6) == 0 {
		w.SetEXEC(r.Uint64() >> (64 - b.lanes))
	}
	step := lanes * (1 + r.Uint64N(4))
	if r.IntN(12) == 0 {
		step += r.Uint64N(5) - 2
	}
	turns := r.Uint64N(24)
	start := r.Uint64N(100)
	switch r.IntN(6) {
	case 0, 1: // the wrap is somewhere in the loop, or in its first lanes
		start = 1<<(31+r.Uint64N(2)) - step*r.Uint64N(turns+1) - r.Uint64N(2)*r.Uint64N(lanes+2)
	case 2:
		start = 1<<32 - lanes - 1 + r.Uint64N(3)
	case 3:
		start = 1<<32 - r.Uint64N(lanes)
	}
	if !b.narrow && r.IntN(6) == 0 {
		start += (r.Uint64N(4) - 2) << 32
	}
	if !b.narrow && r.IntN(5) == 0 || b.carries && r.IntN(3) == 0 { // it comes to 2⁶⁴ or 2⁶³
		start = r.Uint64N(2)<<63 - step*r.Uint64N(turns+1) - r.Uint64N(2)*r.Uint64N(lanes+2)
	}
	bound := start + step*turns + r.Uint64N(lanes+2) - 1
	if r.IntN(3) == 0 {
		bound = start + step*turns
	}
	if r.IntN(8) == 0 {
		bound &= 1<<32 - 1
	}
	// Mostly memory is what the launch before has accessed: what is known of it is what the loop's form needs in the first turn.
	home := rand.New(rand.NewPCG(b.seed, 97))
	in := uint64(batchBase) + 4*home.Uint64N(1<<34)
	out := uint64(batchBase) + 4*home.Uint64N(1<<34)
	if home.IntN(3) == 0 { // an address comes to a multiple of 2³²
		in &^= 1<<32 - 1
		in -= size * home.Uint64N(20*lanes)
	}
	if r.IntN(4) == 0 {
		in = uint64(batchBase) + 4*r.Uint64N(1<<34)
	}
	in += 4 * r.Uint64N(3)
	switch r.IntN(4) {
	case 0:
		out = in + 4*r.Uint64N(80) - 160
	case 1:
		out = in
	}
	put := func(n int, x uint64) { w.S[n], w.S[n+1] = uint32(x), uint32(x>>32) }
	put(0, in-start*size)
	put(2, out-start*size)
	if r.IntN(4) == 0 {
		put(0, in)
	}
	put(10, step)
	put(12, bound)
	put(14, step*size)
	w.S[9] = uint32(1 + r.IntN(20))
	for _, m := range []int{24, 26, 28} {
		switch put(m, 0); r.IntN(12) {
		case 0:
			put(m, r.Uint64())
		case 1:
			put(m, ^uint64(0))
		case 2:
			put(m, 1<<r.IntN(b.lanes))
		}
	}
	w.S[isa.SRegMODE] = 0xf0
	apart := size
	if r.IntN(10) == 0 {
		apart = []uint64{0, 1, 2 * size, 64}[r.IntN(4)]
	}
	same := r.Uint32()
	wraps := r.IntN(3) == 0 // the index is one of 32 bits that has been extended
	for l := range uint64(b.lanes) {
		set := func(n int, x uint64) { w.VGPR(n)[l], w.VGPR(n + 1)[l] = uint32(x), uint32(x>>32) }
		set(4, start+l)
		if wraps {
			w.VGPR(5)[l] = uint32(start >> 32)
		}
		set(6, in+l*apart)
		set(10, step)
		set(48, batchBase+64*l)
		w.VGPR(0)[l], w.VGPR(12)[l], w.VGPR(13)[l] = uint32(l), same, uint32(l)*3
		for n := 16; n < 20; n++ {
			w.VGPR(n)[l] = r.Uint32()
		}
	}
	if r.IntN(6) == 0 { // one lane is another way
		w.VGPR([]int{4, 5, 6, 7, 10, 11, 12, 4, 5}[r.IntN(9)])[r.IntN(b.lanes)] ^= 1 << r.IntN(32)
	}
}

// arraysDiff runs a loop from several beginnings, and tells what differs.
func arraysDiff(t testing.TB, seed uint64) (diff []string) {
	needJIT(t)
	b := newArrayKernel(seed)
	r := rand.New(rand.NewPCG(seed, 89))
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.mem.Close()
	e.lazy, e.soft = r.IntN(3) > 0, r.IntN(10) == 0
	run := &batchKernel{guest: b.guest, seed: seed}
	want, got := newBatchSide(t, run, nil), newBatchSide(t, run, nil)
	defer want.free()
	defer got.free()
	entry := uint64(0)
	var lds [2][]byte
	for i, s := range []*batchSide{want, got} {
		entry = batchCode + (&guest{r: rand.New(rand.NewPCG(seed, 73)), t: b.t, funcs: b.funcs}).code(batchCode, s.p.once[0].b)[0]
		if lds[i], err = rt.Memory(guestLDS); err != nil {
			t.Fatal(err)
		}
		defer rt.Free(lds[i])
	}
	got.p.told = []int{1, 2, mirrorPages}[r.IntN(3)]
	reference := interp.NewWith(code.New(nil)).NewWorker()
	defer reference.Close()
	k := e.NewWorker()
	defer k.Close()
	for n := range 6 {
		fuel := []int64{1 << 20, 1 << 20, 400, 60}[r.IntN(4)]
		launch := r.Uint64()
		for i, s := range []*batchSide{want, got} {
			clear(s.state)
			w := &s.w
			w.Bind(unsafe.Pointer(&s.state[0]), b.lanes, guestVGPRs, 0)
			w.Space, w.Target, w.PC = s.space, b.t, entry
			w.LDS, w.LDSLen = uint64(uintptr(unsafe.Pointer(&lds[i][0]))), guestLDS
			b.launch(launch, w)
			k, each, most := k, fuel, 1000
			if i == 0 {
				k, each, most = reference, 1<<13, 1
			}
			x := ir.ExitFuel
			for ; x == ir.ExitFuel && most > 0; most-- {
				w.Fuel = each
				x = k.Run(w)
			}
			switch {
			case x == ir.ExitFuel && i == 0: // a loop may have very many turns
				return nil
			case x != ir.ExitEndPgm:
				return append(diff, fmt.Sprintf("%v at %#x: %v %s", x, w.PC, w.Fault.Error(), w.Illegal))
			}
		}
		tell := func(format string, x ...any) {
			if len(diff) < 8 {
				diff = append(diff, fmt.Sprintf("launch %d: ", n)+fmt.Sprintf(format, x...))
			}
		}
		for i, x := range want.w.S {
			if y := got.w.S[i]; x != y {
				tell("s%d = %#x, want %#x", i, y, x)
			}
		}
		for v := 0; v < guestVGPRs && !e.lazy; v++ {
			if i := slicesDiff(want.w.VGPR(v), got.w.VGPR(v)); i >= 0 {
				tell("v%d lane %d = %#x, want %#x", v, i, got.w.VGPR(v)[i], want.w.VGPR(v)[i])
			}
		}
		if i := firstDiff(want.p.host, got.p.host); i >= 0 {
			tell("memory at %#x = %#x, want %#x", i, got.p.host[i&^3:i|3+1], want.p.host[i&^3:i|3+1])
		}
		if i := firstDiff(lds[0], lds[1]); i >= 0 {
			tell("LDS at %#x = %#x, want %#x", i, lds[1][i&^3:i|3+1], lds[0][i&^3:i|3+1])
		}
		if len(diff) > 0 {
			return append(diff, fmt.Sprintf("lazy %v, soft %v, fuel %d", e.lazy, e.soft, fuel))
		}
	}
	return nil
}

// foundArrays are seeds of loops that once made a difference, beyond the ones that every run tries.
var foundArrays []uint64

// TestArrays runs random loops over arrays.
func TestArrays(t *testing.T) { onEach(t, testArrays) }

func testArrays(t *testing.T) {
	seeds := slices.Clone(foundArrays)
	for i := range fewer(150) {
		seeds = append(seeds, i)
	}
	if s, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		seeds = []uint64{s}
		t.Log("\n" + newArrayKernel(s).String())
	}
	for _, seed := range seeds {
		if diff := arraysDiff(t, seed); len(diff) > 0 {
			t.Errorf("seed %d:\n  %s", seed, strings.Join(diff, "\n  "))
		}
	}
}
