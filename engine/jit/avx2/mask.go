package avx2

import "github.com/pumice-gpu/pumice/engine/jit/x86"

// kAt is half h of a mask register.
func (lo *Lowering) kAt(k x86.K, h int) x86.RM {
	return lo.at(offMasks + maskBytes*int32(k) + 32*int32(h))
}

// kBits is where a mask register keeps 64 bits.
func (lo *Lowering) kBits(k x86.K) x86.RM { return lo.at(offMasks + maskBytes*int32(k) + maskBits) }

// maskHalf is half h of a mask for elements of size bytes; t is for one of qwords.
func (lo *Lowering) maskHalf(k x86.K, h, size int, t uint8) x86.RM {
	if size == 8 {
		lo.raw(x86.VPMOVSXDQ, t, 0, lo.at(offMasks+maskBytes*int32(k)+16*int32(h)))
		return vr(t)
	}
	return lo.kAt(k, h)
}

// laneBits are the bits of the lanes of a half in a mask of sixteen.
func (lo *Lowering) laneBits(h int) x86.RM {
	var t [8]uint32
	for i := range t {
		t[i] = 1 << (8*h + i)
	}
	return lo.table8(t)
}

// expand makes mask k of the sixteen bits in every word of t, which is overwritten.
func (lo *Lowering) expand(k x86.K, t uint8) {
	for h := 1; h >= 0; h-- {
		d := uint8(t)
		if h == 1 {
			d = t3
		}
		lo.raw(x86.VPAND, d, t, lo.laneBits(h))
		lo.raw(x86.VPCMPEQDV, d, d, lo.laneBits(h))
		lo.raw(x86.VMOVDQUS, d, 0, lo.kAt(k, h))
	}
}

// bits makes the sixteen bits of mask k in r, whose upper bits are zero.
func (lo *Lowering) bits(k x86.K, r x86.Reg) {
	lo.raw(x86.VMOVDQU, t0, 0, lo.kAt(k, 0))
	lo.pack(t0, lo.kAt(k, 1))
	lo.A.Raw(x86.VPMOVMSKB, x86.L128, uint8(r), 0, vr(t0), 0)
}

// pack turns eight dwords in t and eight in m, all ones or zeros, into sixteen bytes in t. t3 is used.
func (lo *Lowering) pack(t uint8, m x86.RM) {
	lo.raw(x86.VPACKSSDW, t, t, m)
	lo.rawI(x86.VPERMQI, t, 0, vr(t), 0xd8)
	lo.rawI(x86.VEXTRACTI128, t, 0, vr(t3), 1)
	lo.xmm(x86.VPACKSSWB, t, t, vr(t3), 0)
}

// kLogic is an operation of two masks.
func kLogic(i *x86.Inst, not bool) func(*op) {
	return func(o *op) {
		for h := range 2 {
			o.raw(x86.VMOVDQU, t0, 0, o.kAt(x86.K(o.vv), h))
			o.raw(i, t0, t0, o.kAt(x86.K(o.m.Num()), h))
			if not {
				o.raw(x86.VPXOR, t0, t0, o.const32(0xffffffff))
			}
			o.raw(x86.VMOVDQUS, t0, 0, o.kAt(x86.K(o.reg), h))
		}
	}
}

// kTest sets ZF when the union is empty and CF when it has all sixteen lanes.
func kTest(o *op) {
	a := o.A
	x, y := x86.K(o.reg), x86.K(o.m.Num())
	for h := range 2 {
		t := uint8(t0 + h)
		o.raw(x86.VMOVDQU, t, 0, o.kAt(x, h))
		if x != y {
			o.raw(x86.VPOR, t, t, o.kAt(y, h))
		}
	}
	o.pack(t0, vr(t1))
	a.Raw(x86.VPMOVMSKB, x86.L128, uint8(tmpG), 0, vr(t0), 0)
	a.GS(x86.TEST, 4, x86.R(tmpG), tmpG)
	// bt leaves ZF alone.
	a.G(x86.LEA, 4, tmpG, x86.M(tmpG, 1))
	a.GI8(x86.BT, 4, x86.R(tmpG), 16)
}

// kShift shifts by eight lanes, or a mask that came from 64 bits by any count.
func kShift(left, wide bool) func(*op) {
	return func(o *op) {
		from, to := x86.K(o.m.Num()), x86.K(o.reg)
		switch {
		case wide && !left:
			o.xmm(x86.VMOVQ, t0, 0, o.kBits(from), 0)
			o.xmm(x86.VPSRLQI, 0, t0, vr(t0), o.imm)
			o.xmm(x86.VMOVQS, t0, 0, o.kBits(to), 0)
			o.raw(x86.VPBROADCASTW, t0, 0, vr(t0))
			o.expand(to, t0)
		case o.imm == 8 && !wide:
			src, dst := 1, 0
			if left {
				src, dst = 0, 1
			}
			o.raw(x86.VMOVDQU, t0, 0, o.kAt(from, src))
			o.raw(x86.VMOVDQUS, t0, 0, o.kAt(to, dst))
			o.raw(x86.VPXOR, t0, t0, vr(t0))
			o.raw(x86.VMOVDQUS, t0, 0, o.kAt(to, src))
		default:
			o.unsupported()
		}
	}
}

func maskHandlers(m map[*x86.Inst]func(*op)) {
	m[x86.KANDW] = kLogic(x86.VPAND, false)
	m[x86.KANDNW] = kLogic(x86.VPANDN, false)
	m[x86.KORW] = kLogic(x86.VPOR, false)
	m[x86.KXORW] = kLogic(x86.VPXOR, false)
	m[x86.KXNORW] = kLogic(x86.VPXOR, true)
	m[x86.KNOTW] = func(o *op) {
		for h := range 2 {
			o.raw(x86.VMOVDQU, t0, 0, o.const32(0xffffffff))
			o.raw(x86.VPXOR, t0, t0, o.kAt(x86.K(o.m.Num()), h))
			o.raw(x86.VMOVDQUS, t0, 0, o.kAt(x86.K(o.reg), h))
		}
	}
	m[x86.KMOVW] = func(o *op) {
		for h := range 2 {
			o.raw(x86.VMOVDQU, t0, 0, o.kAt(x86.K(o.m.Num()), h))
			o.raw(x86.VMOVDQUS, t0, 0, o.kAt(x86.K(o.reg), h))
		}
	}
	m[x86.KUNPCKBW] = func(o *op) { // the low eight lanes of both, those of vv above
		o.raw(x86.VMOVDQU, t0, 0, o.kAt(x86.K(o.m.Num()), 0))
		o.raw(x86.VMOVDQU, t1, 0, o.kAt(x86.K(o.vv), 0))
		o.raw(x86.VMOVDQUS, t0, 0, o.kAt(x86.K(o.reg), 0))
		o.raw(x86.VMOVDQUS, t1, 0, o.kAt(x86.K(o.reg), 1))
	}
	m[x86.KORTESTW] = kTest
	m[x86.KSHIFTRW] = kShift(false, false)
	m[x86.KSHIFTLW] = kShift(true, false)
	m[x86.KSHIFTRQ] = kShift(false, true)
	m[x86.KMOVWL] = func(o *op) {
		o.raw(x86.VPBROADCASTW, t0, 0, o.m)
		o.expand(x86.K(o.reg), t0)
	}
	m[x86.KMOVWG] = func(o *op) {
		o.xmm(x86.VMOVD, t0, 0, o.m, 0)
		o.raw(x86.VPBROADCASTW, t0, 0, vr(t0))
		o.expand(x86.K(o.reg), t0)
	}
	m[x86.KMOVQG] = func(o *op) {
		o.xmm(x86.VMOVQ, t0, 0, o.m, 0)
		o.xmm(x86.VMOVQS, t0, 0, o.kBits(x86.K(o.reg)), 0)
		o.raw(x86.VPBROADCASTW, t0, 0, vr(t0))
		o.expand(x86.K(o.reg), t0)
	}
	m[x86.KMOVWS] = func(o *op) {
		o.bits(x86.K(o.reg), tmpG)
		o.A.GS(x86.MOVS, 2, o.m, tmpG)
	}
	m[x86.KMOVGW] = func(o *op) { o.bits(x86.K(o.m.Num()), x86.Reg(o.reg)) }
}

// compare makes the destination mask of two halves of comparison results (elements of size bytes, all ones or zeros) that f makes in the
// given register, under the instruction's own mask. f must not use t3, nor t0 for the second half.
func (o *op) compare(size int, f func(h int, t uint8)) {
	k := x86.K(o.reg)
	if size == 8 {
		f(0, t0)
		f(1, t1)
		// Four and four qwords to eight dwords; the upper lanes are none.
		o.rawI(x86.VSHUFPS, t0, t0, vr(t1), 0x88)
		o.rawI(x86.VPERMQI, t0, 0, vr(t0), 0xd8)
		if o.mod.K() != 0 {
			o.raw(x86.VPAND, t0, t0, o.kAt(o.mod.K(), 0))
		}
		o.raw(x86.VMOVDQUS, t0, 0, o.kAt(k, 0))
		o.raw(x86.VPXOR, t0, t0, vr(t0))
		o.raw(x86.VMOVDQUS, t0, 0, o.kAt(k, 1))
		return
	}
	for h := range 2 {
		f(h, t0)
		if o.mod.K() != 0 {
			o.raw(x86.VPAND, t0, t0, o.kAt(o.mod.K(), h))
		}
		o.raw(x86.VMOVDQUS, t0, 0, o.kAt(k, h))
	}
}
