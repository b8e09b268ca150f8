package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// binaryOps are the lane-wise integer operations that are one instruction, for 32 and 64 bits.
var binaryOps = [256]struct {
	d, q *x86.Inst
	comm bool
}{
	ir.OpAdd:  {x86.VPADDD, x86.VPADDQ, true},
	ir.OpSub:  {x86.VPSUBD, x86.VPSUBQ, false},
	ir.OpMul:  {x86.VPMULLD, x86.VPMULLQ, true},
	ir.OpAnd:  {x86.VPANDD, x86.VPANDQ, true},
	ir.OpOr:   {x86.VPORD, x86.VPORQ, true},
	ir.OpXor:  {x86.VPXORD, x86.VPXORQ, true},
	ir.OpMinU: {x86.VPMINUD, x86.VPMINUQ, true},
	ir.OpMaxU: {x86.VPMAXUD, x86.VPMAXUQ, true},
	ir.OpMinS: {x86.VPMINSD, x86.VPMINSQ, true},
	ir.OpMaxS: {x86.VPMAXSD, x86.VPMAXSQ, true},
}

// shiftOps: by immediate and by vector, for 32 and 64 bits.
var shiftOps = [256]struct{ di, qi, d, q *x86.Inst }{
	ir.OpShl:  {x86.VPSLLDI, x86.VPSLLQI, x86.VPSLLVD, x86.VPSLLVQ},
	ir.OpLShr: {x86.VPSRLDI, x86.VPSRLQI, x86.VPSRLVD, x86.VPSRLVQ},
	ir.OpAShr: {x86.VPSRADI, x86.VPSRAQI, x86.VPSRAVD, x86.VPSRAVQ},
}

// maskOps are the operations of two masks.
var maskOps = [256]*x86.Inst{ir.OpMAnd: x86.KANDW, ir.OpMOr: x86.KORW, ir.OpMXor: x86.KXORW}

// intCmp maps a predicate to the immediate of vpcmp and whether it is unsigned.
var intCmp = [256]struct {
	imm      uint8
	unsigned bool
}{
	ir.EQ: {0, false}, ir.NE: {4, false},
	ir.SLT: {1, false}, ir.SLE: {2, false}, ir.SGT: {6, false}, ir.SGE: {5, false},
	ir.ULT: {1, true}, ir.ULE: {2, true}, ir.UGT: {6, true}, ir.UGE: {5, true},
}

// Index tables of the two-source permutes between register pairs and 64-bit lanes.
var (
	tabPairLo = interleave(0)
	tabPairHi = interleave(8)
	tabLo     = stride2(0)
	tabHi     = stride2(1)
)

func interleave(from uint32) *[16]uint32 {
	var t [16]uint32
	for i := range uint32(8) {
		t[2*i], t[2*i+1] = from+i, 16+from+i
	}
	return &t
}

func stride2(from uint32) *[16]uint32 {
	var t [16]uint32
	for i := range uint32(16) {
		t[i] = 2*i + from
	}
	return &t
}

var noMod = x86.Mod{}

// canVector tells whether vectorOp knows the operation.
func (c *compiler) canVector(v *ir.Value) bool {
	wide := func(i int) bool { t := c.v(v.Args[i]).Type; return t == ir.V64 || t == ir.S64 }
	switch v.Op {
	case ir.OpVGet, ir.OpVSet, ir.OpMToV, ir.OpSext64,
		ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpMinU, ir.OpMaxU, ir.OpMinS, ir.OpMaxS,
		ir.OpNot, ir.OpAbs, ir.OpShl, ir.OpLShr, ir.OpAShr, ir.OpMulU64, ir.OpMulS64, ir.OpSelect, ir.OpICmp,
		ir.OpMAnd, ir.OpMOr, ir.OpMXor, ir.OpMNot, ir.OpMSet, ir.OpFshr:
		return true
	case ir.OpZext, ir.OpSext:
		return v.Type == ir.V32
	case ir.OpMulHiU, ir.OpMulHiS:
		return v.Type == ir.V32
	case ir.OpClz, ir.OpCtz, ir.OpPopcnt, ir.OpBrev:
		return v.Type == ir.V32 && !wide(0)
	case ir.OpCarryAdd, ir.OpBorrow:
		return v.Type == ir.M
	case ir.OpMbcntLo, ir.OpMbcntHi, ir.OpPermB:
		return true
	}
	return c.canFloat(v)
}

// vectorOp emits v for strip-in-flight u.
func (c *compiler) vectorOp(id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	c.mark(id, v.PC)
	size := 4
	if c.vals[id].q {
		size = 8
	}
	switch v.Op {
	case ir.OpVGet:
	case ir.OpVSet:
		c.vset(v, u)
	case ir.OpMSet:
		k := r.kin(v.Args[0], u, false)
		if m := r.whole(-1, v); m != nil {
			r.putWhole(m, k, u)
			return
		}
		a.X(x86.KMOVWS, x86.L128, uint8(k), 0, r.kaddr(rState, offS+int32(v.Imm)*4, u))
	case opToQ:
		lo, hi := r.zin(v.Args[0], 0, u, 4), r.zin(v.Args[0], 1, u, 4)
		d0 := r.dstEarly(id, 0, u)
		a.E(x86.VMOVDQU32, L, uint8(d0), 0, r.table(tabPairLo), noMod)
		a.E(x86.VPERMI2D, L, uint8(d0), uint8(lo), x86.V(hi), noMod)
		d1 := r.dstEarly(id, 1, u)
		a.E(x86.VMOVDQU32, L, uint8(d1), 0, r.table(tabPairHi), noMod)
		a.E(x86.VPERMI2D, L, uint8(d1), uint8(lo), x86.V(hi), noMod)
	case opToP:
		x0, x1 := r.zin(v.Args[0], 0, u, 8), r.zin(v.Args[0], 1, u, 8)
		for i, t := range []*[16]uint32{tabLo, tabHi} {
			d := r.dstEarly(id, i, u)
			a.E(x86.VMOVDQU32, L, uint8(d), 0, r.table(t), noMod)
			a.E(x86.VPERMI2D, L, uint8(d), uint8(x0), x86.V(x1), noMod)
		}
	case ir.OpMToV:
		k := r.kin(v.Args[0], u, false)
		d := r.dst(id, 0, u)
		a.E(x86.VPBROADCASTD, L, uint8(d), 0, x86.ML(a.Const32(1), 0), x86.Zeroed(k))
	case ir.OpSext64:
		x := r.opnd(v.Args[0], 0, u, 4)
		d := r.dst(id, 1, u)
		a.EI(x86.VPSRADI, L, 0, uint8(d), x, 31, noMod)
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpMinU, ir.OpMaxU, ir.OpMinS, ir.OpMaxS:
		if v.Type == ir.V64 && (v.Op == ir.OpAdd || v.Op == ir.OpSub) {
			c.vadd64(id, v, u)
			return
		}
		o := binaryOps[v.Op]
		inst := o.d
		if size == 8 {
			inst = o.q
		}
		c.vbinary(id, v, u, inst, size, o.comm)
	case ir.OpNot:
		for i := range c.vals[id].comps {
			x := r.zin(v.Args[0], i, u, 4)
			d := r.dst(id, i, u)
			a.EI(x86.VPTERNLOGD, L, uint8(d), uint8(x), x86.V(x), 0x55, noMod) // ~third operand
		}
	case ir.OpAbs:
		inst := x86.VPABSD
		if size == 8 {
			inst = x86.VPABSQ
		}
		c.vunary(id, v, u, inst, size)
	case ir.OpShl, ir.OpLShr, ir.OpAShr:
		c.vshift(id, v, u, size)
	case ir.OpZext:
		x := r.zin(v.Args[0], 0, u, 4)
		d := r.dst(id, 0, u)
		a.E(x86.VPANDD, L, uint8(d), uint8(x), x86.ML(a.Const32(uint32(1<<v.Imm-1)), 0).Bcast(), noMod)
	case ir.OpSext:
		x := r.opnd(v.Args[0], 0, u, 4)
		d := r.dst(id, 0, u)
		n := uint8(32 - v.Imm)
		a.EI(x86.VPSLLDI, L, 0, uint8(d), x, n, noMod)
		a.EI(x86.VPSRADI, L, 0, uint8(d), x86.V(d), n, noMod)
	case ir.OpMulU64, ir.OpMulS64:
		inst, mul := x86.VPMOVZXDQ, x86.VPMULUDQ
		if v.Op == ir.OpMulS64 {
			inst, mul = x86.VPMOVSXDQ, x86.VPMULDQ
		}
		// The product takes the low half of each qword, so what all lanes share need not be extended.
		half := func(id ir.ID, i int) x86.Vec {
			if k := r.compOf(id, 0); k >= 0 && c.comps[k].kind == compZ {
				return c.half(id, i, u, inst)
			}
			return r.zin(id, 0, u, 4)
		}
		for i := range 2 {
			x, y := half(v.Args[0], i), half(v.Args[1], i)
			d := r.dstEarly(id, i, u)
			a.E(mul, L, uint8(d), uint8(x), x86.V(y), noMod)
		}
	case ir.OpMulHiU, ir.OpMulHiS:
		mul := x86.VPMULUDQ
		if v.Op == ir.OpMulHiS {
			mul = x86.VPMULDQ
		}
		x, y := r.zin(v.Args[0], 0, u, 4), r.zin(v.Args[1], 0, u, 4)
		t, s := r.tmp(), r.tmp()
		a.EI(x86.VPSRLQI, L, 0, uint8(t), x86.V(x), 32, noMod)
		a.EI(x86.VPSRLQI, L, 0, uint8(s), x86.V(y), 32, noMod)
		a.E(mul, L, uint8(t), uint8(t), x86.V(s), noMod) // odd products, high halves in place
		a.E(mul, L, uint8(s), uint8(x), x86.V(y), noMod)
		a.MovI(x86.RAX, 0xaaaa)
		k := r.ktmp()
		a.X(x86.KMOVWG, x86.L128, uint8(k), 0, x86.R(x86.RAX))
		d := r.dst(id, 0, u)
		a.E(x86.VMOVSHDUP, L, uint8(d), 0, x86.V(s), noMod)
		a.E(x86.VMOVDQU32, L, uint8(d), 0, x86.V(t), x86.Masked(k))
	case ir.OpSelect:
		c.vselect(id, v, u, size)
	case ir.OpICmp:
		c.vicmp(id, v, u)
	case opAddK, opSubK:
		inst := x86.VPADDD
		if v.Op == opSubK {
			inst = x86.VPSUBD
		}
		k := r.kin(v.Args[1], u, false)
		x := r.zin(v.Args[0], 0, u, 4)
		d := r.dstOver(id, 0, u, x)
		if d != x {
			a.E(x86.VMOVDQU32, L, uint8(d), 0, x86.V(x), noMod)
		}
		a.E(inst, L, uint8(d), uint8(d), x86.ML(a.Const32(1), 0).Bcast(), x86.Masked(k))
	case ir.OpMAnd, ir.OpMOr, ir.OpMXor:
		if v.Op == ir.OpMAnd && r.full != ir.NoID && (v.Args[0] == r.full || v.Args[1] == r.full) {
			c.kmove(id, v.Args[0]^v.Args[1]^r.full, u)
			return
		}
		x, y := r.kin(v.Args[0], u, false), r.kin(v.Args[1], u, false)
		inst := maskOps[v.Op]
		d := r.kdst(id, u)
		a.X(inst, x86.L128, uint8(d), uint8(x), x86.KR(y))
	case ir.OpMNot:
		x := r.kin(v.Args[0], u, false)
		d := r.kdst(id, u)
		a.X(x86.KNOTW, x86.L128, uint8(d), 0, x86.KR(x))
	case ir.OpClz:
		// lzcnt gives 32 for 0; the operation gives all ones.
		x := r.zin(v.Args[0], 0, u, 4)
		k := r.ktmp()
		a.E(x86.VPTESTNMD, L, uint8(k), uint8(x), x86.V(x), noMod)
		t := r.tmp()
		a.E(x86.VPLZCNTD, L, uint8(t), 0, x86.V(x), noMod)
		d := r.dst(id, 0, u)
		a.EI(x86.VPTERNLOGD, L, uint8(t), uint8(t), x86.V(t), 0xff, x86.Masked(k))
		a.E(x86.VMOVDQU32, L, uint8(d), 0, x86.V(t), noMod)
	case ir.OpCtz:
		// popcount((x & -x) - 1), all ones for 0.
		x := r.zin(v.Args[0], 0, u, 4)
		k := r.ktmp()
		a.E(x86.VPTESTNMD, L, uint8(k), uint8(x), x86.V(x), noMod)
		t := r.tmp()
		a.E(x86.VPXORD, L, uint8(t), uint8(t), x86.V(t), noMod)
		a.E(x86.VPSUBD, L, uint8(t), uint8(t), x86.V(x), noMod)
		a.E(x86.VPANDD, L, uint8(t), uint8(t), x86.V(x), noMod)
		a.E(x86.VPSUBD, L, uint8(t), uint8(t), x86.ML(a.Const32(1), 0).Bcast(), noMod)
		a.E(x86.VPOPCNTD, L, uint8(t), 0, x86.V(t), noMod)
		a.EI(x86.VPTERNLOGD, L, uint8(t), uint8(t), x86.V(t), 0xff, x86.Masked(k))
		r.release(v, u)
		r.become(id, 0, u, t)
	case ir.OpPopcnt:
		c.vunary(id, v, u, x86.VPOPCNTD, 4)
	case ir.OpBrev:
		x := r.zin(v.Args[0], 0, u, 4)
		t := r.tmp()
		a.EI(x86.VGF2P8AFFINEQB, L, uint8(t), uint8(x), x86.ML(a.Const64(0x8040201008040201), 0).Bcast(), 0, noMod)
		r.release(v, u)
		d := r.dst(id, 0, u)
		a.E(x86.VPSHUFB, L, uint8(d), uint8(t), r.table(tabBswap), noMod)
	case ir.OpFshr:
		// dst ← (hi:lo) >> count; the instruction shifts hi's bits into lo.
		lo := r.zcopy(v.Args[1], 0, u, 4)
		hi := r.zin(v.Args[0], 0, u, 4)
		n := r.opnd(v.Args[2], 0, u, 4)
		a.E(x86.VPSHRDVD, L, uint8(lo), uint8(hi), n, noMod)
		r.release(v, u)
		r.become(id, 0, u, lo)
	case ir.OpPermB:
		c.vpermb(id, v, u)
	case ir.OpCarryAdd, ir.OpBorrow:
		c.vcarry(id, v, u)
	case ir.OpMbcntLo, ir.OpMbcntHi:
		c.vmbcnt(id, v, u)
	case ir.OpLoad:
		c.ldsLoad(id, v, u)
	case ir.OpStore:
		c.ldsStore(id, v, u)
	default:
		c.floatOp(id, v, u)
	}
}

var tabBswap = func() *[16]uint32 {
	var t [16]uint32
	for i := range uint32(16) {
		b := 4 * (i & 3)
		t[i] = b<<24 | (b+1)<<16 | (b+2)<<8 | (b + 3)
	}
	return &t
}()

// vset writes a register's home under a mask. The store is always of the whole strip: a partial one would make the next
// load of the home wait for the cache.
func (c *compiler) vset(v *ir.Value, u int) {
	r, a := &c.r, &c.a
	home := r.vaddr(rState, offV+int32(v.Imm)*int32(c.lanes)*4, u)
	k := r.kin(v.Args[1], u, true)
	z := r.zin(v.Args[0], 0, u, 4)
	if k != 0 {
		t := r.tmp()
		a.E(x86.VMOVDQU32, x86.L512, uint8(t), 0, home, noMod)
		a.E(x86.VMOVDQU32, x86.L512, uint8(t), 0, x86.V(z), x86.Masked(k))
		z = t
	}
	a.E(x86.VMOVDQU32S, x86.L512, uint8(z), 0, home, noMod)
}

func (c *compiler) vunary(id ir.ID, v *ir.Value, u int, inst *x86.Inst, size int) {
	for i := range c.vals[id].comps {
		x := c.r.opnd(v.Args[0], i, u, size)
		d := c.r.dst(id, i, u)
		c.a.E(inst, x86.L512, uint8(d), 0, x, noMod)
	}
}

func (c *compiler) vbinary(id ir.ID, v *ir.Value, u int, inst *x86.Inst, size int, comm bool) {
	r := &c.r
	x, y := v.Args[0], v.Args[1]
	if comm && !isVec(c.v(x).Type) {
		x, y = y, x
	}
	for i := range c.vals[id].comps {
		p := r.zin(x, i, u, size)
		q := r.opnd(y, i, u, size)
		d := r.dst(id, i, u)
		c.a.E(inst, x86.L512, uint8(d), uint8(p), q, noMod)
	}
}

// half widens lanes 8i..8i+7 of a 32-bit value to 64 bits, in a temporary.
func (c *compiler) half(id ir.ID, i, u int, inst *x86.Inst) x86.Vec {
	r, a := &c.r, &c.a
	x := r.zin(id, 0, u, 4)
	t := r.tmp()
	if i == 0 {
		a.E(inst, x86.L512, uint8(t), 0, x86.V(x), noMod)
	} else {
		a.EI(x86.VEXTRACTI64X4, x86.L512, uint8(x), 0, x86.V(t), 1, noMod)
		a.E(inst, x86.L512, uint8(t), 0, x86.V(t), noMod)
	}
	return t
}

// vadd64 adds or subtracts in halves: the carry goes by a mask.
func (c *compiler) vadd64(id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	x0, x1 := r.zin(v.Args[0], 0, u, 4), r.zin(v.Args[0], 1, u, 4)
	y0, y1 := r.opnd(v.Args[1], 0, u, 4), r.opnd(v.Args[1], 1, u, 4)
	lo, hi, k := r.tmp(), r.tmp(), r.ktmp()
	one := x86.ML(a.Const32(1), 0).Bcast()
	if v.Op == ir.OpAdd {
		a.E(x86.VPADDD, L, uint8(lo), uint8(x0), y0, noMod)
		a.E(x86.VPADDD, L, uint8(hi), uint8(x1), y1, noMod)
		a.EI(x86.VPCMPUD, L, uint8(k), uint8(lo), x86.V(x0), 1, noMod)
		a.E(x86.VPADDD, L, uint8(hi), uint8(hi), one, x86.Masked(k))
	} else {
		a.EI(x86.VPCMPUD, L, uint8(k), uint8(x0), y0, 1, noMod)
		a.E(x86.VPSUBD, L, uint8(lo), uint8(x0), y0, noMod)
		a.E(x86.VPSUBD, L, uint8(hi), uint8(x1), y1, noMod)
		a.E(x86.VPSUBD, L, uint8(hi), uint8(hi), one, x86.Masked(k))
	}
	r.become(id, 0, u, lo)
	r.become(id, 1, u, hi)
}

// vshift64 shifts halves by a constant.
func (c *compiler) vshift64(id ir.ID, v *ir.Value, u int, n uint8) {
	r, a := &c.r, &c.a
	const L = x86.L512
	x0, x1 := r.zin(v.Args[0], 0, u, 4), r.zin(v.Args[0], 1, u, 4)
	lo, hi := r.tmp(), r.tmp()
	sh := func(inst *x86.Inst, d, s x86.Vec, n uint8) { a.EI(inst, L, 0, uint8(d), x86.V(s), n, noMod) }
	zero := func(d x86.Vec) { a.E(x86.VPXORD, L, uint8(d), uint8(d), x86.V(d), noMod) }
	right := x86.VPSRLDI
	if v.Op == ir.OpAShr {
		right = x86.VPSRADI
	}
	switch {
	case v.Op == ir.OpShl && n < 32:
		a.EI(x86.VPSHLDD, L, uint8(hi), uint8(x1), x86.V(x0), n, noMod)
		sh(x86.VPSLLDI, lo, x0, n)
	case v.Op == ir.OpShl:
		sh(x86.VPSLLDI, hi, x0, n-32)
		zero(lo)
	case n < 32:
		a.EI(x86.VPSHRDD, L, uint8(lo), uint8(x0), x86.V(x1), n, noMod)
		sh(right, hi, x1, n)
	default:
		sh(right, lo, x1, n-32)
		if v.Op == ir.OpAShr {
			sh(right, hi, x1, 31)
		} else {
			zero(hi)
		}
	}
	r.become(id, 0, u, lo)
	r.become(id, 1, u, hi)
}

func (c *compiler) vshift(id ir.ID, v *ir.Value, u, size int) {
	r, a := &c.r, &c.a
	o := shiftOps[v.Op]
	if n, ok := c.isConst(v.Args[1]); ok {
		if v.Type == ir.V64 {
			c.vshift64(id, v, u, uint8(n)&63)
			return
		}
		x := r.opnd(v.Args[0], 0, u, 4)
		d := r.dst(id, 0, u)
		a.EI(o.di, x86.L512, 0, uint8(d), x, uint8(n)&31, noMod)
		return
	}
	if size == 4 {
		n := r.zin(v.Args[1], 0, u, 4)
		t := r.tmp()
		a.E(x86.VPANDD, x86.L512, uint8(t), uint8(n), x86.ML(a.Const32(31), 0).Bcast(), noMod)
		x := r.zin(v.Args[0], 0, u, 4)
		d := r.dst(id, 0, u)
		a.E(o.d, x86.L512, uint8(d), uint8(x), x86.V(t), noMod)
		return
	}
	for i := range 2 {
		t := c.half(v.Args[1], i, u, x86.VPMOVZXDQ)
		a.E(x86.VPANDQ, x86.L512, uint8(t), uint8(t), x86.ML(a.Const64(63), 0).Bcast(), noMod)
		x := r.zin(v.Args[0], i, u, 8)
		d := r.dstEarly(id, i, u)
		a.E(o.q, x86.L512, uint8(d), uint8(x), x86.V(t), noMod)
	}
}

// byte, 12 zero, above all ones.
func (c *compiler) vpermb(id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	x, y, s := r.zin(v.Args[0], 0, u, 4), r.zin(v.Args[1], 0, u, 4), r.zin(v.Args[2], 0, u, 4)
	// Byte p of lane l within its 16-byte group: index = (sel&3) + 4·lane-in-group; bit 2 chooses a over b.
	ix, t, w := r.tmp(), r.tmp(), r.tmp()
	a.E(x86.VPANDD, L, uint8(ix), uint8(s), x86.ML(a.Const32(0x03030303), 0).Bcast(), noMod)
	a.E(x86.VPORD, L, uint8(ix), uint8(ix), r.table(tabGroup), noMod)
	a.E(x86.VPSHUFB, L, uint8(t), uint8(y), x86.V(ix), noMod)
	a.E(x86.VPSHUFB, L, uint8(w), uint8(x), x86.V(ix), noMod)
	k := r.ktmp()
	k4 := x86.ML(a.Const32(0x04040404), 0)
	bits := r.tmp()
	a.E(x86.VPBROADCASTD, L, uint8(bits), 0, k4, noMod)
	a.E(x86.VPTESTMB, L, uint8(k), uint8(s), x86.V(bits), noMod)
	a.E(x86.VMOVDQU8, L, uint8(t), 0, x86.V(w), x86.Masked(k))
	// sel ≥ 8: signs. 8 and 9 are bits 15 and 31 of b, 10 and 11 those of a.
	a.E(x86.VPANDD, L, uint8(ix), uint8(s), x86.ML(a.Const32(0x01010101), 0).Bcast(), noMod)
	a.E(x86.VPADDB, L, uint8(ix), uint8(ix), x86.V(ix), noMod)
	a.E(x86.VPADDB, L, uint8(ix), uint8(ix), x86.V(r.splatConst(0x01010101, 4)), noMod)
	a.E(x86.VPORD, L, uint8(ix), uint8(ix), r.table(tabGroup), noMod)
	a.E(x86.VPBROADCASTD, L, uint8(bits), 0, x86.ML(a.Const32(0x02020202), 0), noMod)
	a.E(x86.VPTESTMB, L, uint8(k), uint8(s), x86.V(bits), noMod)
	a.E(x86.VPSHUFB, L, uint8(w), uint8(y), x86.V(ix), noMod)
	a.E(x86.VPSHUFB, L, uint8(w), uint8(x), x86.V(ix), x86.Masked(k))
	a.E(x86.VPMOVB2M, L, uint8(k), 0, x86.V(w), noMod)
	a.E(x86.VPMOVM2B, L, uint8(w), 0, x86.KR(k), noMod)
	a.E(x86.VPBROADCASTD, L, uint8(bits), 0, x86.ML(a.Const32(0x07070707), 0), noMod)
	a.EI(x86.VPCMPUB, L, uint8(k), uint8(s), x86.V(bits), 6, noMod)
	a.E(x86.VMOVDQU8, L, uint8(t), 0, x86.V(w), x86.Masked(k))
	a.E(x86.VPBROADCASTD, L, uint8(bits), 0, x86.ML(a.Const32(0x0c0c0c0c), 0), noMod)
	a.EI(x86.VPCMPUB, L, uint8(k), uint8(s), x86.V(bits), 0, noMod)
	a.E(x86.VPXORD, L, uint8(w), uint8(w), x86.V(w), noMod)
	a.E(x86.VMOVDQU8, L, uint8(t), 0, x86.V(w), x86.Masked(k))
	a.EI(x86.VPCMPUB, L, uint8(k), uint8(s), x86.V(bits), 6, noMod)
	a.EI(x86.VPTERNLOGD, L, uint8(w), uint8(w), x86.V(w), 0xff, noMod)
	a.E(x86.VMOVDQU8, L, uint8(t), 0, x86.V(w), x86.Masked(k))
	r.release(v, u)
	r.become(id, 0, u, t)
}

// tabGroup adds 4·lane to byte indexes inside a 16-byte group.
var tabGroup = func() *[16]uint32 {
	var t [16]uint32
	for i := range uint32(16) {
		t[i] = (i & 3) * 0x04040404
	}
	return &t
}()
