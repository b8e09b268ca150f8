//go:build linux && amd64

package jit

import (
	"math/rand/v2"

	"github.com/pumice-gpu/pumice/engine/isa"
)

// batchKinds are the targets of batchKernel, with the scalar register that counts work-groups.
var batchKinds = []struct {
	target string
	lanes  int
}{{"gfx90a", 64}, {"gfx90a", 64}, {"gfx942", 64}, {"gfx1030", 32}, {"gfx1030", 64}, {"gfx1100", 32}, {"gfx1201", 32}}

// batchKernel is a random kernel of those that run straight to their end, with everything that compilers put into them: numbers from memory, ids in
// one and two dimensions, indexes of 32 and 64 bits that are moved, multiplied, shifted, masked and bounded, comparisons and branches that are the same in all
// lanes or not quite, accesses of all widths, next to each other and apart. Registers are as a guest's, but for s[4:5] and s[6:7], which are memory that is only
// read; s9, the work-group's id in the second dimension; s11, which the index is moved by; s12, a bound; v0 to v2, work-item ids; v[4:5], the index.
type batchKernel struct {
	*guest
	seed   uint64
	x      []int // registers that count work-groups
	size   int   // what the index goes on by from one work-group to the next: not always its work-items
	times  int   // what the index is multiplied by, and
	up     int   // how far it is shifted to the left
	items  int   // work-item id registers that the kernel expects
	out    string
	signed bool   // the last other number may be below zero
	els    string // where waves over a bound go, if not there
}

func newBatchKernel(seed uint64) *batchKernel {
	r := rand.New(rand.NewPCG(seed, 61))
	k := batchKinds[r.IntN(len(batchKinds))]
	g := &guest{r: r, t: isa.TargetByName(k.target).Wave(k.lanes), lanes: k.lanes, waves: []int{1, 2, 4, 4, 3, 8}[r.IntN(6)], spell: spelling(k.target, k.lanes), funcs: make([][]guestLine, 1), batch: true}
	b := &batchKernel{guest: g, seed: seed, x: []int{guestX}, times: 1, items: 1}
	b.size = g.waves * g.lanes
	if g.one(16) {
		b.size = []int{1, g.lanes, b.size / 2, b.size + 1, 1 << 10}[r.IntN(5)]
	}
	b.kernel()
	return b
}

// kernel makes the program.
func (b *batchKernel) kernel() {
	g := b.guest
	switch {
	case g.t.WGIDinTTMP:
		b.x = []int{isa.SRegTTMP0 + 9}
		g.do("s_mov_b32 s8, ttmp9")
	case g.one(2):
		b.x = append(b.x, isa.SRegTTMP0+8)
	}
	b.out = g.label()
	if g.one(2) {
		b.plain()
		return
	}
	if g.one(40) {
		g.mode()
	}
	b.index()
	for range g.r.IntN(3) {
		b.move()
	}
	if !g.one(3) {
		b.bound()
	}
	if g.one(5) {
		b.branch()
	}
	if g.one(8) {
		g.do("%s", []string{isa.GFX9: "buffer_wbinvl1", isa.GFX940: "buffer_inv sc1", isa.GFX10: "buffer_gl0_inv", isa.GFX11: "buffer_gl0_inv", isa.GFX12: "global_inv"}[g.t.Gen])
	}
	// What vectors are: loads first.
	at := vLoaded
	for range 1 + g.r.IntN(3) {
		at += b.load(at)
	}
	if g.one(4) {
		b.scalars()
	}
	for x := vData; x < vData+16; x++ {
		switch g.r.IntN(6) {
		case 0:
			g.do("v_add_u32 v%d, %s, v%d", x, g.pick("s10", "s14", "s15", "s8"), vLoaded+x%(at-vLoaded))
		case 1:
			g.do("v_mov_b32 v%d, v%d", x, vLoaded+x%(at-vLoaded))
		default:
			g.do("v_add_u32 v%d, %d, v%d", x, g.r.IntN(65), vLoaded+x%(at-vLoaded))
		}
	}
	g.use(at)
	for range g.r.IntN(3) {
		b.work()
	}
	if g.one(2) {
		g.arithmetic()
	}
	for range 1 + g.r.IntN(3) {
		b.store()
		if g.one(5) {
			b.load(vLoaded)
			g.use(vLoaded + 1)
		}
	}
	if b.els != "" {
		b.otherwise()
	}
	g.bind(b.out)
	if g.t.Gen >= isa.GFX11 && g.one(3) { // VGPRs are given back
		g.do("s_sendmsg 3")
	}
	g.do("s_endpgm")
}

// plain is a kernel in which one thing is as it seldom is: else what one guard lets through, another one stops.
func (b *batchKernel) plain() {
	g := b.guest
	odd := g.r.IntN(8)
	if odd == 0 {
		b.index()
	} else {
		g.do("s_mul_i32 s16, s8, %d", b.size)
		g.do("v_add_u32 v4, s16, v0")
		if !g.one(4) {
			g.do("v_add_u32 v4, s11, v4")
		}
	}
	clean := odd == 1 && g.one(2) // only loads are elsewhere
	if clean {
		g.do("v_lshlrev_b32 v15, 4, v4")
	}
	switch odd {
	case 1:
		b.move()
	case 2:
		b.bound()
	case 3:
		b.branch()
	}
	at := vLoaded + b.load(vLoaded)
	for x := vData; x < vData+16; x++ {
		g.do("v_mov_b32 v%d, v%d", x, vLoaded+x%(at-vLoaded))
	}
	d := g.v(vData, 4)
	switch odd {
	case 4:
		b.work()
	case 5, 6:
		x := b.other()
		kind := g.pick("u32", "u32", "i32")
		if b.signed {
			kind = "i32"
		}
		g.do("v_cmp_%s_%s M24, %s, %s", g.pick("lt", "ne", "gt", "eq", "gt"), kind, g.pick("s12", "s12", "s13", "s14", "64"), x)
		g.do("v_cndmask_b32 %s, %s, v%d, M24", d, d, vData+5)
	case 7:
		g.do("v_xor_b32 %s, %s, %s", d, b.other(), d)
	}
	if clean {
		g.do("global_store_dwordx4 v15, %s, s[2:3]", vs(vData, 4))
	} else {
		b.access("store", "dwordx4", vs(vData, 4), b.address(4, "s[2:3]", true), true)
	}
	if b.els != "" {
		b.otherwise()
	}
	g.bind(b.out)
	g.do("s_endpgm")
}

// groupSize is the size of a work-group, in a scalar register: of the program, an argument, in memory, or what is left of a number of work-items.
func (b *batchKernel) groupSize() string {
	g := b.guest
	switch g.r.IntN(8) {
	case 0, 1, 2:
		g.do("s_mov_b32 s16, %d", b.size)
	case 3:
		g.do("s_load_dword s16, s[4:5], %#x", argSize)
	case 4: // as in a dispatch packet, which may say something else

		g.do("s_load_dword s16, s[4:5], %#x", argSize+4)
		g.do("%s", g.pick("s_and_b32 s16, s16, 0xffff", "s_lshr_b32 s16, s16, 16", "s_bfe_u32 s16, s16, 0x100000"))
	case 5: // the last work-group may be smaller
		g.do("s_mul_i32 s17, s8, %d", b.size)
		g.do("s_sub_u32 s17, s13, s17")
		g.do("%s s16, s17, %d", g.pick("s_min_u32", "s_min_u32", "s_min_i32", "s_max_i32", "s_max_u32"), b.size)
	case 6: // as compilers ask for it
		g.do("s_mov_b32 s16, %d", b.size)
		g.do("s_cmp_lt_u32 s8, s14")
		g.do("s_cselect_b32 s16, s16, %s", g.pick("s16", "s10"))
	default:
		return "s10"
	}
	return "s16"
}

// index makes the work-item's number in v4, and now and then in v[4:5].
func (b *batchKernel) index() {
	g := b.guest
	id := "v0"
	switch g.r.IntN(6) {
	case 0:
		g.do("v_and_b32 v6, 0x3ff, v0")
		id = "v6"
	case 1:
		g.do("v_bfe_u32 v6, v0, 0, %d", []int{10, 10, 12, 16}[g.r.IntN(4)])
		id = "v6"
	case 2:
		switch g.r.IntN(6) {
		case 0: // lanes go down
			g.do("v_sub_u32 v6, %d, v0", g.r.IntN(65))
			id = "v6"
		case 1, 2, 3, 4:
			g.do("v_add_u32 v6, %s, v0", g.pick("s14", "s13", "s11", "64", "1"))
			id = "v6"
		}
	}
	size := b.groupSize()
	power := 0
	for 1<<power < b.size {
		power++
	}
	switch g.r.IntN(9) {
	case 0:
		g.do("v_mad_u64_u32 v[4:5], M28, s8, %s, v[0:1]", size)
	case 1:
		g.do("v_mov_b32 v6, %s", id)
		g.do("v_mov_b32 v7, 0")
		g.do("v_mad_u64_u32 v[4:5], M28, s8, %s, v[6:7]", size)
	case 2:
		if g.one(2) {
			g.do("s_lshl_b32 s16, s8, %d", power)
		} else {
			g.do("s_mul_i32 s16, s8, %s", size)
		}
		g.do("v_or_b32 v4, s16, %s", id)
	case 3:
		g.do("v_lshl_add_u32 v4, s8, %d, %s", power, id)
	case 4:
		g.do("v_mov_b32 v6, s8")
		g.do("%s v4, v6, %d, %s", g.pick("v_lshl_or_b32", "v_lshl_add_u32"), power, id)
	case 5: // two dimensions
		b.items = 2
		g.do("s_mul_i32 s16, s8, %s", size)
		g.do("v_add_u32 v4, s16, %s", id)
		g.do("s_mul_i32 s17, s9, %d", 1+g.r.IntN(4))
		g.do("v_add_u32 v6, s17, v1")
		if g.one(2) {
			g.do("v_mul_lo_u32 v6, v6, %s", g.pick("s10", "s13", "s14"))
		} else {
			g.do("v_lshlrev_b32 v6, %d, v6", 4+g.r.IntN(5))
		}
		g.do("v_add_u32 v4, v4, v6")
	default:
		g.do("s_mul_i32 s16, s8, %s", size)
		if g.one(3) {
			g.do("s_add_u32 s16, s16, %s", g.pick("s11", "s13", "1", "s11"))
		}
		g.do("v_add_u32 v4, s16, %s", id)
	}
}

// move changes the index.
func (b *batchKernel) move() {
	g := b.guest
	switch g.r.IntN(14) {
	case 12, 13:
		if b.up == 0 {
			b.up = 2
			g.do("v_and_b32 v4, %#x, v4", []uint32{0x3fffffff, 0x7fffffff, 0x7fffffff}[g.r.IntN(3)])
			g.do("%s", g.pick("v_mul_lo_u32 v4, v4, 4", "v_mul_lo_u32 v4, 4, v4", "v_lshlrev_b32 v4, 2, v4"))
		}
	case 0, 1, 2, 3:
		g.do("v_add_u32 v4, s11, v4")
	case 4:
		g.do("v_sub_u32 v4, v4, v1") // the second id, or a register that is zero
	case 5:
		switch {
		case g.one(2) && b.up == 0:
			b.up = 1
			g.do("v_mul_lo_u32 v4, v4, 2")
		case g.one(3):
			b.times = 1 + g.r.IntN(5)
			g.do("v_mul_lo_u32 v4, v4, %s", g.number(uint32(b.times)))
		default:
			g.do("v_mul_u32_u24 v4, %d, v4", 1+g.r.IntN(8)/7)
		}
	case 6:
		g.do("v_and_b32 v4, %#x, v4", []uint32{0xfff, 0xffff, 0xffffff, 0x7fffffff, 0x7fffffff}[g.r.IntN(5)])
	case 7:
		if b.up == 0 {
			b.up = 1 + g.r.IntN(2)
			g.do("v_lshlrev_b32 v4, %d, v4", b.up)
		}
	case 8, 9:
		g.do("v_sub_u32 v4, v4, %s", g.pick("s13", "s14", "1", "32"))
	default:
		g.do("v_add_u32 v4, %s, v4", g.pick("s13", "-1", "1", "64", "s14"))
	}
}

// other makes some number of the work-item, which need not have to do with the index; it is its register.
func (b *batchKernel) other() string {
	g := b.guest
	switch g.r.IntN(22) {
	case 0, 14, 17: // up from lane to lane, down from one work-group to the next
		g.do("s_mul_i32 s18, s8, %s", g.pick("s10", "s14", "64", "1"))
		g.do("v_sub_u32 v6, v0, s18")
		if b.signed = !g.one(3); !b.signed {
			g.do("v_add_u32 v6, s13, v6")
		}
	case 1, 15:
		g.do("s_mul_i32 s18, s8, %s", g.pick("s10", "s10", "s14", "64", "s13"))
		g.do("%s v6, s18, v0", g.pick("v_add_u32", "v_or_b32"))
	case 16, 18: // the high half of an address
		g.do("v_mov_b32 v5, 0")
		g.do("v_lshlrev_b64 v[6:7], %d, v[4:5]", g.r.IntN(5))
		return "v7"
	case 2:
		g.do("v_sub_u32 v6, %s, v4", g.pick("s12", "s13", "64"))
	case 3:
		g.do("v_lshrrev_b32 v6, %d, v4", g.r.IntN(12))
	case 4:
		g.do("v_and_b32 v6, %#x, v4", []uint32{63, 255, 0xfff, 0xffff}[g.r.IntN(4)])
	case 5, 19:
		g.do("v_ashrrev_i32 v6, 31, v4")
	case 6:
		g.do("v_mul_lo_u32 v6, v4, %s", g.pick("3", "s14", "s10", "2"))
	case 7:
		g.do("v_mbcnt_lo_u32_b32 v6, -1, 0")
		if g.lanes == 64 {
			g.do("v_mbcnt_hi_u32_b32 v6, -1, v6")
		}
	case 8:
		g.do("v_%s v6, %s, v4", g.pick("min_u32", "max_u32", "min_i32", "max_i32"), g.pick("s12", "s13", "64"))
	case 9, 20: // a carry alone
		g.do("v_add_co_u32 v6, VCC, %s, %s", g.pick("s11", "s12", "-1", "s13"), g.pick("v4", "v4", "v0"))
		g.do("v_addc_co_u32 v6, VCC, 0, %s, VCC", g.pick("0", "v4", "v1"))
	case 10: // the high half of a product
		g.do("v_mul_hi_u32 v6, v4, %s", g.pick("s10", "s14"))
	case 11: // a number that only work-groups have
		g.do("s_%s_i32 s18, s8, %s", g.pick("mul", "min", "max"), g.pick("s10", "s14", "3"))
		g.do("s_add_u32 s18, s18, s13")
		g.do("v_mov_b32 v6, s18")
	case 12, 21:
		if g.one(2) {
			g.do("v_mov_b32 v5, 0")
		}
		g.do("v_mad_u64_u32 v[6:7], M28, s8, %s, v[4:5]", g.pick("s10", "s14", "64"))
		return g.pick("v6", "v7")
	default:
		return g.pick("v4", "v0", "v1")
	}
	return "v6"
}

// bound ends waves whose index is over a bound, in all lanes or in some.
func (b *batchKernel) bound() {
	g := b.guest
	cmp := func(to string) {
		switch g.r.IntN(6) {
		case 0: // the same in all lanes
			g.do("v_mov_b32 v7, s8")
			g.do("v_cmp_%s_u32 %s, %s, v7", g.pick("gt", "gt", "lt", "ne", "ge"), to, g.pick("s14", "s14", "3", "5"))
		case 1:
			g.do("v_mov_b32 v5, 0")
			g.do("s_mov_b32 s18, s12")
			g.do("s_mov_b32 s19, 0")
			g.do("v_cmp_%s_%s %s, s[18:19], v[4:5]", g.pick("gt", "gt", "ge", "ge", "lt"), g.pick("u64", "i64"), to)
		case 2:
			g.do("v_mov_b32 v7, s12")
			g.do("v_cmp_%s_u32 %s, v4, v7", g.pick("gt", "ne"), to)
		case 3:
			x := b.other()
			g.do("v_cmp_%s_%s %s, %s, %s", g.pick("gt", "ge", "ne", "lt"), g.pick("u32", "u32", "i32"), to, g.pick("s12", "s13", "s14", "64"), x)
		default:
			g.do("v_cmp_%s_%s %s, s12, v4", g.pick("gt", "gt", "gt", "ge", "ge", "ne", "ne", "lt", "eq"), g.pick("u32", "u32", "i32"), to)
		}
	}
	cmp("VCC")
	switch g.r.IntN(16) {
	case 0, 1, 2:
		cmp("M24")
		g.do("s_%s_B VCC, VCC, M24", g.pick("and", "or", "xor", "andn2"))
	case 3:
		g.do("s_not_B VCC, VCC")
	case 4:
		g.do("s_xor_B VCC, VCC, EXEC")
	}
	switch g.r.IntN(5) {
	case 0:
		g.do("s_and_B EXEC, EXEC, VCC")
	case 1:
		g.do("s_and_B VCC, EXEC, VCC")
		g.branch("s_cbranch_vccz", b.out)
		g.do("s_mov_B EXEC, VCC")
		return
	default:
		g.do("s_and_saveexec_B M26, VCC")
	}
	switch g.r.IntN(8) {
	case 0:
	case 1, 2:
		b.els = g.label()
		g.branch("s_cbranch_execz", b.els)
	default:
		g.branch("s_cbranch_execz", b.out)
	}
}

// otherwise is what waves over a bound do, behind an end of the others: another look, and perhaps a store.
func (b *batchKernel) otherwise() {
	g := b.guest
	g.do("s_endpgm")
	g.bind(b.els)
	g.do("s_mov_B EXEC, -1")
	if g.one(4) {
		return
	}
	x := g.pick("v0", "v4")
	if g.one(2) {
		x = b.other()
	}
	g.do("v_cmp_%s_u32 VCC, %s, %s", g.pick("eq", "eq", "eq", "ne", "gt"), g.pick("s13", "s13", "s14", "64"), x)
	g.do("s_and_saveexec_B M26, VCC")
	g.branch("s_cbranch_execz", b.out)
	g.do("v_mov_b32 v%d, 7", vData)
	b.access("store", "dword", vs(vData, 1), b.address(2, "s[2:3]", true), true)
}

// branch ends all waves of some work-groups, or takes them through something more.
func (b *batchKernel) branch() {
	g := b.guest
	switch g.r.IntN(3) {
	case 0:
		g.do("s_cmp_%s_u32 s8, %s", g.pick("lt", "gt", "eq", "lg"), g.pick("s14", "4", "2", "s15"))
	case 1:
		g.do("s_cmp_%s_i32 %s, %d", g.pick("lt", "gt", "eq", "lg"), g.pick("s14", "s13", "s15"), g.r.IntN(64))
	default:
		g.do("s_bitcmp1_b32 %s, %d", g.pick("s14", "s13", "s15"), g.r.IntN(8))
	}
	to := b.out
	if g.one(2) {
		to = g.label()
	}
	g.branch(g.pick("s_cbranch_scc1", "s_cbranch_scc0"), to)
	if to != b.out {
		b.move()
		g.bind(to)
	}
}
