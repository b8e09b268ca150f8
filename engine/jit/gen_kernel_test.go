//go:build linux && amd64

package jit

import "fmt"

// guestKernel is a random kernel: now and then straight, so that it has a stream form, else phases in a loop and behind it.
func guestKernel(seed uint64) *guest {
	g := newGuest(seed)
	if g.one(5) {
		g.stream()
		return g
	}
	g.begin()
	for range g.r.IntN(3) {
		g.phase()
	}
	if !g.one(6) {
		g.do("s_mov_b32 s9, %d", 1+g.r.IntN(6))
		top := g.label()
		g.bind(top)
		for range 1 + g.r.IntN(4) {
			g.phase()
		}
		g.carry()
		g.do("s_sub_u32 s9, s9, 1")
		g.do("s_cmp_lg_u32 s9, 0")
		g.branch("s_cbranch_scc1", top)
	}
	for range g.r.IntN(3) {
		g.phase()
	}
	g.end()
	return g
}

// begin works out what the phases start from: lane, column and row of the work-item, and addresses.
func (g *guest) begin() {
	g.do("v_mbcnt_lo_u32_b32 v1, -1, 0")
	if g.lanes == 64 {
		g.do("v_mbcnt_hi_u32_b32 v1, -1, v1")
	}
	row := []int{4, 4, 4, 3, 5, 6}[g.r.IntN(6)]
	g.do("v_and_b32 v2, %d, v0", 1<<row-1)
	g.do("v_lshrrev_b32 v3, %d, v0", row)
	g.outAddress()
	g.inAddress(vPair)
	g.inAddress(vPair + 2)
	for n := vData; n < vData+16; n++ {
		switch g.r.IntN(3) {
		case 0:
			g.do("v_mov_b32 v%d, %#x", n, uint32(g.bits()))
		case 1:
			g.do("v_mul_lo_u32 v%d, v0, s%d", n, 10+g.r.IntN(6))
		default:
			g.do("v_add_u32 v%d, %d, v1", n, g.r.IntN(65))
		}
	}
	g.ldsAddress()
}

// number is x as an operand of instructions that take no literal.
func (g *guest) number(x uint32) string {
	if x <= 64 {
		return fmt.Sprint(x)
	}
	g.do("s_mov_b32 s22, %#x", x)
	return "s22"
}

func (g *guest) bits() uint64 { return (&gen{r: g.r}).bits() }

// outAddress makes the address of the work-item's output.
func (g *guest) outAddress() {
	g.do("s_mul_i32 s16, s8, %d", g.waves*g.lanes*guestItem)
	g.do("s_add_u32 s16, s2, s16")
	g.do("s_addc_u32 s17, s3, 0")
	g.do("v_lshlrev_b32 v8, %d, v0", 7)
	g.do("v_mov_b32 v9, s17")
	g.do("v_add_co_u32 v%d, VCC, s16, v8", vOut)
	g.do("v_addc_co_u32 v%d, VCC, 0, v9, VCC", vOut+1)
}

// inAddress makes an address of the input in two dimensions, as compilers do: (row·stride + column)·size + base.
func (g *guest) inAddress(pair int) {
	shift, stride := 2+g.r.IntN(3), []string{"s10", "s10", "64", "16"}[g.r.IntN(4)]
	col := g.pick("v2", "v2", "v2", "v0", "v1")
	switch g.r.IntN(4) {
	case 0:
		g.do("v_mov_b32 v12, %s", col)
		g.do("v_mov_b32 v13, 0")
		g.do("v_mad_u64_u32 v[8:9], M28, v3, %s, v[12:13]", stride)
	case 1:
		g.do("v_mul_lo_u32 v8, v3, %s", stride)
		g.do("v_add_u32 v8, v8, %s", col)
		g.do("v_ashrrev_i32 v9, 31, v8")
	case 2:
		g.do("v_lshl_add_u32 v8, v3, 6, %s", col)
		g.do("v_mov_b32 v9, 0")
	default:
		g.do("v_mul_lo_u32 v8, v3, %s", stride)
		g.do("v_or_b32 v8, v8, %s", col)
		g.do("v_mov_b32 v9, 0")
	}
	if g.one(12) { // one lane is somewhere else
		g.do("v_cmp_eq_u32 VCC, %d, v1", g.r.IntN(g.lanes))
		g.do("v_addc_co_u32 v8, VCC, 0, v8, VCC")
	}
	g.do("v_lshlrev_b64 v[8:9], %d, v[8:9]", shift)
	base := 4 * g.r.IntN(64)
	if g.one(3) {
		g.do("v_add_co_u32 v8, VCC, %d, v8", base)
		g.do("v_addc_co_u32 v9, VCC, 0, v9, VCC")
	}
	g.do("v_mov_b32 v10, s1")
	g.do("v_add_co_u32 v%d, VCC, s0, v8", pair)
	g.do("v_addc_co_u32 v%d, VCC, v10, v9, VCC", pair+1)
}

// carry moves the addresses on, for the next iteration.
func (g *guest) carry() {
	for pair := vPair; pair < vPair+4; pair += 2 {
		if g.one(3) {
			continue
		}
		step := g.pick("s11", "64", "s11", "s12")
		g.do("v_add_co_u32 v%d, VCC, %s, v%d", pair, step, pair)
		g.do("v_addc_co_u32 v%d, VCC, 0, v%d, VCC", pair+1, pair+1)
	}
	if g.one(2) {
		g.do("s_add_u32 s13, s13, %d", 4*g.r.IntN(9))
	}
}

// phase adds something that kernels do.
func (g *guest) phase() {
	switch g.r.IntN(14) {
	case 0, 1, 2:
		g.loads()
	case 3, 4, 5:
		g.tile()
	case 6:
		g.gather()
	case 7:
		g.scatter()
	case 8:
		g.mode()
	case 9:
		g.call()
	case 10:
		g.when(func() {
			for range 1 + g.r.IntN(3) {
				[]func(){g.loads, g.gather, g.scatter, g.lanesCross, g.arithmetic, g.scalar, g.call}[g.r.IntN(7)]()
			}
		})
	case 11:
		g.scalar()
	case 12:
		g.lanesCross()
	default:
		g.atomic()
	}
	if g.one(2) {
		g.arithmetic()
	}
}

// loads are several loads of the input: by the addresses that are carried on, or by ones that are worked out anew.
func (g *guest) loads() {
	at := vLoaded
	for range 1 + g.r.IntN(4) {
		n := []int{1, 1, 1, 2, 4}[g.r.IntN(5)]
		if at+n > vLoaded+16 {
			break
		}
		name := []string{1: "dword", 2: "dwordx2", 4: "dwordx4"}[n]
		off := 4 * (g.r.IntN(256))
		switch g.r.IntN(7) {
		case 6: // bits that may meet
			g.do("v_or_b32 v8, %s, v2", g.pick("s10", "s13", "s12"))
			g.do("v_lshlrev_b32 v8, %d, v8", []int{0, 2, 3, 0, 4}[n])
			g.do("global_load_%s %s, v8, s[0:1] offset:%d", name, vs(at, n), off)
		case 0, 1, 2:
			pair := vPair + 2*g.r.IntN(2)
			if n == 1 && g.one(6) {
				name = g.pick("ubyte", "sbyte", "ushort", "sshort")
			}
			g.do("global_load_%s %s, %s, off offset:%d", name, vs(at, n), vs(pair, 2), off)
		case 3:
			g.do("v_lshl_add_u32 v8, v3, %d, v2", 4+g.r.IntN(3))
			if g.one(2) {
				g.do("v_add_u32 v8, s13, v8")
			}
			g.do("v_lshlrev_b32 v8, %d, v8", []int{0, 2, 3, 0, 4}[n])
			g.do("global_load_%s %s, v8, s[0:1] offset:%d", name, vs(at, n), off)
		case 4: // one address for each sixteen lanes, or for all
			g.do("v_mul_lo_u32 v8, v3, %s", g.pick("s12", "0", "s10"))
			g.do("v_lshlrev_b32 v8, 2, v8")
			g.do("global_load_%s %s, v8, s[0:1] offset:%d", name, vs(at, n), off)
		default:
			g.do("v_add_co_u32 v8, VCC, s14, v%d", vPair)
			g.do("v_addc_co_u32 v9, VCC, 0, v%d, VCC", vPair+1)
			g.do("%s_load_%s %s, v[8:9]%s", g.pick("global", "flat"), name, vs(at, n), "")
			if last := &g.funcs[0][len(g.funcs[0])-1]; last.text[0] == 'g' {
				last.text += ", off"
			}
		}
		at += n
	}
	g.use(at)
}

// use lets data become of what was loaded, to register end.
func (g *guest) use(end int) {
	for n := vLoaded; n < end; n++ {
		d := g.v(vData, 16)
		switch g.r.IntN(4) {
		case 0:
			g.do("v_fma_f32 %s, v%d, %s, %s", d, n, g.v(vLoaded, end-vLoaded), d)
		case 1:
			g.do("v_add_u32 %s, v%d, %s", d, n, d)
		case 2:
			g.do("v_mad_u32_u24 %s, v%d, %s, %s", d, n, g.v(vData, 16), d)
		default:
			g.do("v_xor_b32 %s, v%d, %s", d, n, d)
		}
	}
}

// ldsAddress makes the addresses that tiles are written and read at: rows or columns of the work-group's, no two work-items at one place.
func (g *guest) ldsAddress() {
	items := g.waves * g.lanes
	switch g.r.IntN(4) {
	case 0:
		g.do("v_lshlrev_b32 v%d, 2, v0", vWrite)
	case 1:
		g.wide = true
		g.do("v_lshlrev_b32 v%d, 4, v0", vWrite)
	default: // columns
		g.do("v_and_b32 v8, 15, v0")
		g.do("v_mul_lo_u32 v8, v8, %s", g.number(uint32(items/4+16*g.r.IntN(3))))
		g.do("v_lshrrev_b32 v9, 4, v0")
		g.do("v_lshlrev_b32 v9, 2, v9")
		g.do("v_add_u32 v%d, v8, v9", vWrite)
	}
	if g.one(6) {
		g.do("v_xor_b32 v%d, 16, v%d", vWrite, vWrite)
	}
	g.readAddress()
}

func (g *guest) readAddress() {
	switch g.r.IntN(6) {
	case 0, 1: // one for each sixteen lanes
		g.do("v_lshrrev_b32 v8, 4, v%d", g.r.IntN(2))
		g.do("v_mul_lo_u32 v%d, v8, %s", vRead, g.number(uint32(16*g.r.IntN(9))))
	case 2, 3: // the same in every sixteen
		g.do("v_and_b32 v8, 15, v0")
		g.do("v_lshlrev_b32 v%d, %d, v8", vRead, 2+g.r.IntN(3))
	case 4:
		g.do("v_lshlrev_b32 v%d, %d, v0", vRead, 2+g.r.IntN(3))
	default:
		g.do("v_mul_lo_u32 v8, v0, %s", g.number(uint32(4*(1+2*g.r.IntN(30)))))
		g.do("v_and_b32 v%d, 0x7fc, v8", vRead)
	}
	if g.one(10) { // some are over the end
		g.do("v_add_u32 v%d, %d, v%d", vRead, guestLDS-2048, vRead)
	}
}

// tile is a tile that the work-group writes to the LDS, and reads behind a barrier.
func (g *guest) tile() {
	for range 1 + g.r.IntN(4) {
		n := 1
		if g.wide {
			n = []int{1, 2, 4}[g.r.IntN(3)]
		}
		switch g.r.IntN(6) {
		case 0:
			if g.wide {
				g.do("ds_write2_b32 v%d, %s, %s offset0:%d offset1:%d", vWrite, g.v(vData, 16), g.v(vLoaded, 16), g.r.IntN(4), g.r.IntN(4))
				break
			}
			fallthrough
		case 1:
			g.do("ds_write2st64_b32 v%d, %s, %s offset0:%d offset1:16", vWrite, g.v(vData, 16), g.v(vData, 16), 0)
		default:
			g.do("ds_write_b%d v%d, %s offset:%d", 32*n, vWrite, vs(vData+4*g.r.IntN(4), n), 4096*g.r.IntN(2))
		}
	}
	if g.one(4) {
		g.arithmetic()
	}
	g.do("s_barrier")
	if g.one(4) {
		g.readAddress()
	}
	n := []int{1, 1, 4, 4, 2, 3}[g.r.IntN(6)]
	for range 1 + g.r.IntN(3) {
		at := vLoaded
		for at+n <= vLoaded+[]int{4, 8, 16, 16}[g.r.IntN(4)] {
			switch {
			case n == 2 && g.one(2):
				a := g.r.IntN(200)
				g.do("ds_read2_b32 v[%d:%d], v%d offset0:%d offset1:%d", at, at+1, vRead, a, a+1+g.r.IntN(50))
			default:
				g.do("ds_read_b%d %s, v%d offset:%d", 32*n, vs(at, n), vRead, 16*g.r.IntN(40))
			}
			at += n
		}
		g.use(max(at, vLoaded+1))
	}
	g.do("s_barrier")
}

// gather loads from an address for each lane.
func (g *guest) gather() {
	g.do("v_mul_lo_u32 v8, %s, %s", g.pick("v0", "v16", "v32"), g.number(g.r.Uint32()|1))
	g.do("v_and_b32 v8, 0x7ffc, v8")
	if g.one(5) {
		g.do("v_or_b32 v8, %d, v8", 1+g.r.IntN(3)) // not aligned
	}
	n := 1 + g.r.IntN(4)
	name := []string{1: g.pick("dword", "ubyte", "sbyte", "ushort", "sshort"), 2: "dwordx2", 3: "dwordx3", 4: "dwordx4"}[n]
	if g.one(2) {
		g.do("global_load_%s %s, v8, s[0:1] offset:%d", name, vs(vLoaded, n), 4*g.r.IntN(500))
	} else {
		g.do("v_mov_b32 v10, s1")
		g.do("v_add_co_u32 v8, VCC, s0, v8")
		g.do("v_addc_co_u32 v9, VCC, 0, v10, VCC")
		g.do("global_load_%s %s, v[8:9], off offset:%d", name, vs(vLoaded, n), 4*g.r.IntN(500))
	}
	g.use(vLoaded + n)
}

// scatter stores to the work-item's output, and loads from it again.
func (g *guest) scatter() {
	n := 1 + g.r.IntN(4)
	name := []string{1: g.pick("dword", "dword", "byte", "short"), 2: "dwordx2", 3: "dwordx3", 4: "dwordx4"}[n]
	off := 4 * g.r.IntN(13)
	if name == "byte" && g.one(2) {
		off++
	}
	first := g.pick(fmt.Sprint(vData), fmt.Sprint(vLoaded))
	at := vData + 4*g.r.IntN(4)
	if first == fmt.Sprint(vLoaded) {
		at = vLoaded + 4*g.r.IntN(4)
	}
	switch g.r.IntN(3) {
	case 0:
		g.do("global_store_%s %s, %s, off offset:%d", name, vs(vOut, 2), vs(at, n), off)
	case 1:
		g.do("v_lshlrev_b32 v8, 7, v0")
		g.do("s_mul_i32 s16, s8, %d", g.waves*g.lanes*guestItem)
		g.do("s_add_u32 s16, s2, s16")
		g.do("s_addc_u32 s17, s3, 0")
		g.do("global_store_%s v8, %s, s[16:17] offset:%d", name, vs(at, n), off)
	default: // the item of another lane of sixteen
		g.do("v_xor_b32 v8, %d, v0", g.r.IntN(16))
		g.do("v_lshlrev_b32 v8, 7, v8")
		g.do("s_mul_i32 s16, s8, %d", g.waves*g.lanes*guestItem)
		g.do("v_add_u32 v8, s16, v8")
		g.do("global_store_%s v8, %s, s[2:3] offset:%d", name, vs(at, n), off)
	}
	if g.one(2) {
		g.do("global_load_dwordx4 v[%d:%d], %s, off offset:%d", vLoaded, vLoaded+3, vs(vOut, 2), 4*g.r.IntN(13))
		g.use(vLoaded + 4)
	}
}

// mode changes MODE alone: rounding and denormals.
func (g *guest) mode() {
	g.do("s_setreg_imm32_b32 hwreg(HW_REG_MODE, %d, %d), %#x", []int{0, 4, 0}[g.r.IntN(3)], 4, g.r.IntN(16))
}

// call calls one of the other functions, which are made when they are first called.
func (g *guest) call() {
	n := 1 + g.r.IntN(guestFuncs-1)
	for len(g.funcs) <= n {
		kernel := g.funcs
		g.funcs = [][]guestLine{nil}
		for range 1 + g.r.IntN(3) {
			[]func(){g.loads, g.gather, g.scatter, g.arithmetic, g.scalar, g.lanesCross, g.mode}[g.r.IntN(7)]()
		}
		g.do("s_setpc_b64 s[34:35]")
		g.funcs = append(kernel, g.funcs[0])
	}
	g.do("s_mov_b32 s30, LOW%d", n)
	g.do("s_mov_b32 s31, HIGH%d", n)
	g.do("s_swappc_b64 s[34:35], s[30:31]")
}

// when does something in some lanes.
func (g *guest) when(do func()) {
	a, b := g.pick("v1", "v1", "v2", "v3", "v0"), g.r.IntN(64)
	g.do("v_cmp_%s_u32 VCC, %d, %s", g.pick("gt", "lt", "eq", "ne", "ge"), b, a)
	g.do("s_and_saveexec_B M24, VCC")
	out := g.label()
	skip := g.one(2)
	if skip {
		g.branch("s_cbranch_execz", out)
	}
	do()
	g.bind(out)
	if g.one(2) {
		g.do("s_or_B EXEC, EXEC, M24")
	} else {
		g.do("s_mov_B EXEC, M24")
	}
}

// scalar is arithmetic on scalars, and loads of them.
func (g *guest) scalar() {
	if g.one(2) {
		n := 1 << g.r.IntN(3)
		reg := fmt.Sprintf("s[16:%d]", 15+n)
		if n == 1 {
			reg = "s16"
		}
		g.do("s_load_dword%s %s, s[0:1], %#x", []string{1: " ", 2: "x2", 4: "x4"}[n], reg, 4*g.r.IntN(900))
	}
	for range 1 + g.r.IntN(4) {
		d, a, b := 16+g.r.IntN(8), g.scalarArg(), g.scalarArg()
		g.do("%s s%d, %s, %s", g.pick("s_add_u32", "s_sub_u32", "s_addc_u32", "s_and_b32", "s_xor_b32", "s_lshl_b32", "s_ashr_i32", "s_mul_i32", "s_min_i32", "s_bfe_u32", "s_cselect_b32"), d, a, b)
		if g.one(3) {
			g.do("s_cmp_%s_u32 s%d, %s", g.pick("eq", "lg", "gt", "le"), 16+g.r.IntN(8), g.scalarArg())
		}
	}
	g.do("v_add_u32 %s, s%d, %s", g.v(vData, 16), 16+g.r.IntN(8), g.v(vData, 16))
}

func (g *guest) scalarArg() string {
	if g.one(4) {
		return fmt.Sprint(g.r.IntN(65))
	}
	return fmt.Sprintf("s%d", 8+g.r.IntN(16))
}

// lanesCross moves values between lanes.
func (g *guest) lanesCross() {
	d, a := g.v(vData, 16), g.v(vData, 16)
	switch g.r.IntN(5) {
	case 0:
		g.do("v_readlane_b32 s16, %s, %d", a, g.r.IntN(g.lanes))
		g.do("v_xor_b32 %s, s16, %s", d, d)
	case 1:
		g.do("v_readfirstlane_b32 s17, %s", a)
		g.do("v_writelane_b32 %s, s17, %d", d, g.r.IntN(g.lanes))
	case 2:
		g.do("v_lshlrev_b32 v8, 2, %s", g.pick("v0", "v1", a))
		g.do("ds_bpermute_b32 v32, v8, %s", a)
		g.do("v_add_u32 %s, v32, %s", d, d)
	case 3:
		g.do("v_mov_b32_dpp %s, %s quad_perm:[%d,%d,%d,%d] row_mask:0xf bank_mask:0xf", d, a, g.r.IntN(4), g.r.IntN(4), g.r.IntN(4), g.r.IntN(4))
	default:
		g.do("v_mov_b32_dpp %s, %s row_shr:%d row_mask:0x%x bank_mask:0xf", d, a, 1+g.r.IntN(15), 1+g.r.IntN(15))
	}
}

// atomic adds to what others add to, too.
func (g *guest) atomic() {
	if g.one(2) {
		g.adds = true
		g.do("v_and_b32 v8, %d, v0", 4*g.r.IntN(64))
		g.do("ds_add_u32 v8, %s offset:%d", g.v(vData, 16), guestLDS+3072)
		return
	}
	g.do("v_and_b32 v8, %d, v0", 4*g.r.IntN(64))
	g.do("global_atomic_add v8, %s, s[36:37]", g.v(vData, 16))
}

// guestALU are operations on 32 bits with two and three operands, the first of which may be a scalar.
var guestALU = [][]string{
	{"v_add_u32", "v_sub_u32", "v_and_b32", "v_or_b32", "v_xor_b32", "v_lshlrev_b32", "v_lshrrev_b32", "v_ashrrev_i32", "v_min_u32", "v_max_i32", "v_mul_lo_u32", "v_mul_hi_u32",
		"v_add_f32", "v_sub_f32", "v_mul_f32", "v_max_f32", "v_min_f32", "v_mul_u32_u24"},
	{"v_add3_u32", "v_lshl_add_u32", "v_and_or_b32", "v_bfe_u32", "v_perm_b32", "v_alignbit_b32", "v_mad_u32_u24", "v_fma_f32", "v_med3_f32", "v_max3_f32", "v_xad_u32"},
}

// arithmetic works on data.
func (g *guest) arithmetic() {
	for range 1 + g.r.IntN(8) {
		d, a, b := g.v(vData, 16), g.v(vData, 16), g.v(vData, 16)
		first := a
		switch g.r.IntN(5) {
		case 0:
			first = fmt.Sprint(g.r.IntN(65))
		case 1:
			first = fmt.Sprintf("s%d", 8+g.r.IntN(16))
		}
		switch g.r.IntN(9) {
		case 0, 1, 2:
			g.do("%s %s, %s, %s", g.pick(guestALU[0]...), d, first, b)
		case 3, 4:
			g.do("%s %s, %s, %s, %s", g.pick(guestALU[1]...), d, first, b, g.v(vData, 16))
		case 5:
			g.do("v_cmp_%s VCC, %s, %s", g.pick("gt_u32", "lt_i32", "ne_u32", "lt_f32", "nge_f32"), first, b)
			g.do("v_cndmask_b32 %s, %s, %s, VCC", d, a, b)
		case 6:
			e := vData + 2*g.r.IntN(8)
			g.do("v_add_co_u32 v%d, VCC, %s, v%d", e, a, e)
			g.do("v_addc_co_u32 v%d, VCC, %s, v%d, VCC", e+1, b, e+1)
		case 7:
			g.do("%s %s, %s", g.pick("v_cvt_f32_u32", "v_cvt_u32_f32", "v_cvt_f32_i32", "v_bfrev_b32", "v_ffbh_u32", "v_not_b32", "v_mov_b32", "v_floor_f32", "v_fract_f32", "v_cvt_f16_f32"), d, a)
		default:
			e := vData + 2*g.r.IntN(8)
			g.do("v_mad_u64_u32 v[%d:%d], M26, %s, %s, v[%d:%d]", e, e+1, a, b, e, e+1)
		}
	}
}

// end stores the data, and now and then what was loaded with it.
func (g *guest) end() {
	if g.one(3) {
		for n := range 16 {
			g.do("v_xor_b32 v%d, v%d, v%d", vData+n, vLoaded+n, vData+n)
		}
	}
	for n := 0; n < 16; n += 4 {
		g.do("global_store_dwordx4 %s, %s, off offset:%d", vs(vOut, 2), vs(vData+n, 4), 64+4*n)
	}
	g.do("s_endpgm")
}

// stream is a kernel that runs straight to its end: loads at the work-item's index, arithmetic, stores, behind a look at a bound.
func (g *guest) stream() {
	g.batch = true
	items := g.waves * g.lanes
	if g.one(2) {
		g.do("s_mul_i32 s16, s8, %d", items)
		g.do("v_add_u32 v2, s16, v0")
	} else {
		g.do("s_mov_b32 s16, %d", items)
		g.do("v_mad_u64_u32 v[2:3], M28, s8, s16, v[0:1]")
	}
	out := g.label()
	if !g.one(3) {
		g.do("v_cmp_gt_u32 VCC, s15, v2")
		g.do("s_and_saveexec_B M24, VCC")
		g.branch("s_cbranch_execz", out)
	}
	shift := 2 + g.r.IntN(3)
	n := []int{2: 1, 3: 2, 4: 4}[shift]
	name := []string{1: "dword", 2: "dwordx2", 4: "dwordx4"}[n]
	at := vLoaded
	for range 1 + g.r.IntN(3) {
		if g.one(2) {
			g.do("v_lshlrev_b32 v8, %d, v2", shift)
			g.do("global_load_%s %s, v8, s[0:1] offset:%d", name, vs(at, n), 4*g.r.IntN(500))
		} else {
			g.do("v_mov_b32 v3, 0")
			g.do("v_lshlrev_b64 v[8:9], %d, v[2:3]", shift)
			g.do("v_mov_b32 v10, s1")
			g.do("v_add_co_u32 v8, VCC, s0, v8")
			g.do("v_addc_co_u32 v9, VCC, v10, v9, VCC")
			g.do("global_load_%s %s, v[8:9], off offset:%d", name, vs(at, n), 4*g.r.IntN(500))
		}
		at += n
	}
	for x := vData; x < vData+16; x++ {
		g.do("v_add_u32 v%d, %d, v%d", x, g.r.IntN(65), vLoaded+x%(at-vLoaded))
	}
	g.use(at)
	if g.one(2) {
		g.arithmetic()
	}
	g.do("v_lshlrev_b32 v8, %d, v2", shift)
	for range 1 + g.r.IntN(3) {
		g.do("global_store_%s v8, %s, s[2:3]", name, vs(vData+4*g.r.IntN(4), n))
	}
	g.bind(out)
	g.do("s_endpgm")
}
