//go:build linux && amd64

package jit

import (
	"fmt"
)

// scalars are loads of numbers, and what becomes of them; into s[16:23] and data.
func (b *batchKernel) scalars() {
	g := b.guest
	n := 1 << g.r.IntN(4)
	reg := fmt.Sprintf("s[16:%d]", 15+n)
	if n == 1 {
		reg = "s16"
	}
	at := fmt.Sprintf("%#x", 4*g.r.IntN(500))
	if g.one(4) {
		at = "s15"
	}
	g.do("s_load_dword%s %s, %s, %s", []string{1: " ", 2: "x2", 4: "x4", 8: "x8"}[n], reg, g.pick("s[4:5]", "s[6:7]"), at)
	g.do("v_add_u32 v%d, s%d, v%d", vLoaded, 16+g.r.IntN(n), vLoaded)
	if g.one(2) {
		g.do("s_add_u32 s16, s16, s14")
		g.do("s_addc_u32 s17, s15, 0")
		g.do("v_xor_b32 v%d, s17, v%d", vLoaded, vLoaded)
	}
}

// address puts the address of an element of 1<<shift bytes into v8, as an offset from base, or into v[8:9]; it is the operands of the access. A store's elements
// do not meet.
func (b *batchKernel) address(shift int, base string, store bool) string {
	g := b.guest
	if shift -= b.up; shift < 0 || !store && g.one(10) {
		shift = []int{2, 2, 3, 4, 5, 6, 1}[g.r.IntN(7)]
	}
	lo := map[string]string{"s[0:1]": "s0", "s[2:3]": "s2"}[base]
	hi := map[string]string{"s[0:1]": "s1", "s[2:3]": "s3"}[base]
	index := "v[4:5]"
	switch g.r.IntN(8) {
	case 0:
		g.do("v_mov_b32 v5, 0")
	case 1:
		g.do("v_ashrrev_i32 v5, 31, v4")
	case 2:
		g.do("v_mov_b32 v10, v4")
		g.do("v_ashrrev_i32 v11, 31, v10")
		index = "v[10:11]"
	case 3:
		g.do("v_mov_b32 v5, 0")
		if g.t.Name == "gfx942" && shift <= 4 {
			g.do("v_lshl_add_u64 v[8:9], v[4:5], %d, %s", shift, base)
			return "v[8:9], OFF"
		}
	default: // 32 bits
		if shift == 0 && g.one(2) {
			return "v4, " + base
		}
		g.do("v_lshlrev_b32 v8, %d, v4", shift)
		if !g.one(4) {
			return "v8, " + base
		}
		// The base is added to the offset.
		g.do("v_add_co_u32 v8, VCC, %s, v8", lo)
		g.do("v_mov_b32 v9, %s", hi)
		g.do("v_addc_co_u32 v9, VCC, 0, v9, VCC")
		return "v[8:9], OFF"
	}
	g.do("v_lshlrev_b64 v[8:9], %d, %s", shift, index)
	if g.one(2) {
		g.do("v_mov_b32 v12, %s", hi)
		g.do("v_add_co_u32 v8, VCC, %s, v8", lo)
		g.do("v_addc_co_u32 v9, VCC, v12, v9, VCC")
	} else {
		g.do("v_add_co_u32 v8, M24, v8, %s", lo)
		g.do("v_mov_b32 v12, %s", hi)
		g.do("v_addc_co_u32 v9, M24, v12, v9, M24")
	}
	return "v[8:9], OFF"
}

// access is an access of n dwords, or of less, to register at.
func (b *batchKernel) access(kind, name string, reg, operands string, store bool) {
	g := b.guest
	off := 4 * g.r.IntN(64)
	if g.one(3) {
		off = g.r.IntN(2000)
	}
	if g.one(3) {
		off = 0
	}
	flat := len(operands) > 3 && operands[len(operands)-3:] == "OFF" && g.one(30)
	if flat {
		operands = operands[:len(operands)-5]
	} else if operands[len(operands)-1] == 'F' {
		operands = operands[:len(operands)-3] + "off"
	}
	space := "global"
	if flat {
		space, off = "flat", 0
	}
	text := fmt.Sprintf("%s_%s_%s %s, %s", space, kind, name, reg, operands)
	if store {
		addr, rest := operands, ""
		if !flat {
			i := len("v[8:9]")
			if operands[1] != '[' {
				i = len("v8")
			}
			addr, rest = operands[:i], operands[i:]
		}
		text = fmt.Sprintf("%s_%s_%s %s, %s%s", space, kind, name, addr, reg, rest)
	}
	if off > 0 {
		text += fmt.Sprintf(" offset:%d", off)
	}
	g.do("%s", text)
}

// load loads to register at; it is how many it fills.
func (b *batchKernel) load(at int) int {
	g := b.guest
	shift := max(b.up, []int{0, 1, 2, 2, 2, 3, 4}[g.r.IntN(7)])
	n := max(1, 1<<shift>>2)
	name := []string{0: g.pick("ubyte", "sbyte"), 1: g.pick("ushort", "sshort"), 2: "dword", 3: "dwordx2", 4: "dwordx4"}[shift]
	var ops string
	if shift > 1 && g.one(8) { // one address for all lanes
		g.do("v_mov_b32 v8, %s", g.pick("s13", "64", "0"))
		ops = "v8, s[0:1]"
	} else {
		ops = b.address(shift, g.pick("s[0:1]", "s[0:1]", "s[0:1]", "s[2:3]"), false)
	}
	b.access("load", name, vs(at, n), ops, false)
	return n
}

// store stores data.
func (b *batchKernel) store() {
	g := b.guest
	shift := max(b.up, []int{0, 1, 2, 2, 2, 3, 4}[g.r.IntN(7)])
	n := max(1, 1<<shift>>2)
	name := []string{"byte", "short", "dword", "dwordx2", "dwordx4"}[shift]
	reg := vs(vData+4*g.r.IntN(4), n)
	if g.one(6) && n < 4 {
		reg = vs(vLoaded, n)
	}
	if g.one(8) && n == 1 {
		reg = g.pick("v4", "v0")
	}
	b.access("store", name, reg, b.address(shift, g.pick("s[2:3]", "s[2:3]", "s[2:3]", "s[0:1]"), true), true)
}

// work is what else kernels do with ids and masks.
func (b *batchKernel) work() {
	g := b.guest
	d, a := g.v(vData, 16), g.v(vData, 16)
	switch g.r.IntN(12) {
	case 0: // a mask that lanes differ in
		g.do("v_cmp_%s_u32 M24, %s, %s", g.pick("lt", "ne"), a, g.v(vData, 16))
		g.do("v_cmp_%s_i32 VCC, %s, %s", g.pick("lt", "eq"), a, d)
		g.do("s_%s_B M24, M24, VCC", g.pick("and", "or", "xor", "andn2", "orn2"))
		g.do("v_cndmask_b32 %s, %s, %s, M24", d, d, a)
	case 1, 2: // and one that they do not
		x := b.other()
		g.do("v_cmp_%s_%s M24, %s, %s", g.pick("lt", "ne", "gt", "eq"), g.pick("u32", "i32"), g.pick("s12", "s13", "s14", "64"), x)
		g.do("v_cndmask_b32 %s, %s, %s, M24", d, d, a)
	case 3:
		x := g.pick("v0", "v4", "v1", a)
		if g.one(3) {
			x = b.other()
		}
		g.do("v_readfirstlane_b32 s17, %s", x)
		g.do("v_add_u32 %s, s17, %s", d, d)
	case 4:
		g.do("v_cmp_%s_u32 VCC, %s, %s", g.pick("lt", "ne"), g.pick("s14", a, "v4"), g.v(vData, 16))
		g.do("v_addc_co_u32 %s, VCC, 0, %s, VCC", d, a)
	case 5: // a flag, looked at later
		g.do("s_cmp_%s_u32 s8, %s", g.pick("lt", "gt", "eq"), g.pick("s14", "2"))
		b.cut()
		g.do("s_cselect_b32 s17, %s, s15", g.pick("s14", "1"))
		g.do("v_add_u32 %s, s17, %s", d, d)
	case 6: // halves of a number, looked at elsewhere
		g.do("s_load_dwordx2 s[18:19], s[4:5], %#x", 4*g.r.IntN(500))
		b.cut()
		g.do("v_add_u32 %s, s%d, %s", d, 18+g.r.IntN(2), d)
	case 7:
		g.do("s_add_u32 s16, s0, s8")
		g.do("s_addc_u32 s17, s1, 0")
		g.do("v_xor_b32 %s, s17, %s", d, d)
	case 8:
		g.do("s_and_B M24, EXEC, %s", g.pick("VCC", "EXEC"))
		b.cut()
		g.do("v_cndmask_b32 %s, %s, %s, M24", d, d, a)
	case 9:
		e := vData + 2*g.r.IntN(8)
		g.do("v_mad_i64_i32 v[%d:%d], M26, %s, %s, v[%d:%d]", e, e+1, a, d, e, e+1)
	default:
		x := b.other()
		g.do("%s %s, %s, %s", g.pick("v_add_u32", "v_xor_b32", "v_add_u32"), d, x, a)
	}
}

// cut begins another block, now and then one that comes only sometimes.
func (b *batchKernel) cut() {
	g := b.guest
	l := g.label()
	switch g.r.IntN(5) {
	case 0:
		g.do("s_bitcmp1_b32 s13, %d", g.r.IntN(4)) // not of the flag before
		g.branch("s_cbranch_scc1", l)
		g.do("v_add_u32 v%d, 1, v%d", vData, vData)
	case 1:
		g.branch("s_cbranch_scc0", l)
		g.do("v_add_u32 v%d, 2, v%d", vData, vData)
	default:
		g.branch("s_branch", l)
	}
	g.bind(l)
}
