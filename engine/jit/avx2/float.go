package avx2

import "github.com/pumice-gpu/pumice/engine/jit/x86"

func floatHandlers(m map[*x86.Inst]func(*op)) {
	m[x86.VRNDSCALEPS] = roundTo(x86.VROUNDPS, 4)
	m[x86.VRNDSCALEPD] = roundTo(x86.VROUNDPD, 8)
	m[x86.VRANGEPS] = minimum(4)
	m[x86.VRANGEPD] = minimum(8)
	m[x86.VFPCLASSPS] = classes(4)
	m[x86.VFPCLASSPD] = classes(8)
}

// roundTo rounds to whole numbers; the immediate is the same when no fraction bits are kept.
func roundTo(inst *x86.Inst, size int) func(*op) {
	return func(o *op) {
		if o.imm>>4 != 0 {
			o.unsupported()
			return
		}
		for h := range o.halves() {
			o.rawI(inst, t0, 0, o.src(h, size, t2), o.imm)
			o.write(h, size, t0)
		}
		o.clearUpper()
	}
}

// format holds the instructions and bits of a floating-point format.
type format struct {
	min, max, cmp, gt *x86.Inst
	sign, inf, quiet  uint64
}

var formats = map[int]format{
	4: {x86.VMINPS, x86.VMAXPS, x86.VCMPPSV, x86.VPCMPGTDV, 1 << 31, 0x7f800000, 1 << 22},
	8: {x86.VMINPD, x86.VMAXPD, x86.VCMPPDV, x86.VPCMPGTQV, 1 << 63, 0x7ff << 52, 1 << 51},
}

// minimum is vrange with immediates 4 and 5: the smaller or larger of two numbers, where -0 is below +0; the other of a quiet NaN and a number;
// a signalling NaN made quiet, the first one's first.
func minimum(size int) func(*op) {
	return func(o *op) {
		if o.imm != 4 && o.imm != 5 {
			o.unsupported()
			return
		}
		f := formats[size]
		for h := range o.halves() {
			// Both sources go to memory, because four temporaries are few; as their own minima, for which denormals are zeros when MXCSR says
			// so and NaNs are as they were.
			x := o.load(o.vv, h, t1)
			o.raw(f.min, t0, x, vr(x))
			o.raw(x86.VMOVDQUS, t0, 0, o.at(offTmp))
			y := o.src(h, size, t2)
			if y.IsMem() {
				o.raw(x86.VMOVDQU, t2, 0, y)
				y = vr(t2)
			}
			o.raw(f.min, t0, y.Num(), y)
			o.raw(x86.VMOVDQUS, t0, 0, o.at(offTmp+32))
			// min(x, y) and min(y, x) differ for zeros of two signs: their union is the negative one, and their intersection the positive.
			inst, both := f.min, x86.VPOR
			if o.imm == 5 {
				inst, both = f.max, x86.VPAND
			}
			o.raw(inst, t0, x, y)
			o.raw(inst, t3, y.Num(), vr(x))
			o.raw(both, t0, t0, vr(t3))
			// The NaNs: y is one, then x is one, then y is a signalling one, then x is; the last that applies counts.
			o.rawI(f.cmp, t3, y.Num(), y, 3)
			o.rawI(x86.VPBLENDVB, t0, t0, o.at(offTmp), t3<<4)
			o.raw(x86.VMOVDQU, t1, 0, o.at(offTmp))
			o.rawI(f.cmp, t3, t1, vr(t1), 3)
			o.rawI(x86.VPBLENDVB, t0, t0, o.at(offTmp+32), t3<<4)
			// x NaN and y NaN, both quiet: x's.
			o.raw(x86.VMOVDQU, t1, 0, o.at(offTmp+32))
			o.rawI(f.cmp, t1, t1, vr(t1), 3)
			o.raw(x86.VPAND, t3, t3, vr(t1))
			o.rawI(x86.VPBLENDVB, t0, t0, o.at(offTmp), t3<<4)
			for _, at := range []int32{offTmp + 32, offTmp} {
				o.signalling(size, at)
				o.raw(x86.VMOVDQU, t1, 0, o.at(at))
				o.raw(x86.VPOR, t1, t1, o.splat(size, f.quiet))
				o.rawI(x86.VPBLENDVB, t0, t0, vr(t1), t3<<4)
			}
			o.refill(size)
			o.write(h, size, t0)
		}
		o.clearUpper()
	}
}

// signalling makes, in t3, a mask of the signalling NaNs of the frame's memory: above infinity and not quiet. t1 is used.
func (o *op) signalling(size int, at int32) {
	f := formats[size]
	o.raw(x86.VMOVDQU, t3, 0, o.at(at))
	o.raw(x86.VPAND, t3, t3, o.splat(size, f.sign-1))
	o.raw(x86.VMOVDQU, t1, 0, o.splat(size, f.inf|f.quiet))
	o.raw(f.gt, t1, t1, vr(t3)) // below the quiet ones
	o.raw(f.gt, t3, t3, o.splat(size, f.inf))
	o.raw(x86.VPAND, t3, t3, vr(t1))
}

// classes is vfpclass: bit 0 quiet NaN, 1 +0, 2 -0, 3 +inf, 4 -inf, 5 denormal, 6 negative and finite, 7 signalling NaN. Denormals count
// as zeros when MXCSR says so; that is not known here, so the comparisons that look at it are the processor's own.
func classes(size int) func(*op) {
	f := formats[size]
	return func(o *op) {
		if o.l != x86.L512 {
			o.unsupported()
			return
		}
		o.compare(size, func(h int, t uint8) {
			x := o.src(h, size, t2)
			o.raw(x86.VMOVDQU, t3, 0, x)
			o.raw(x86.VMOVDQUS, t3, 0, o.at(offTmp+64)) // the number
			o.raw(x86.VPXOR, t3, t3, vr(t3))
			o.raw(x86.VMOVDQUS, t3, 0, o.at(offTmp+96)) // the classes found so far
			add := func() {
				o.raw(x86.VPOR, t3, t3, o.at(offTmp+96))
				o.raw(x86.VMOVDQUS, t3, 0, o.at(offTmp+96))
			}
			num := func() { o.raw(x86.VMOVDQU, t3, 0, o.at(offTmp+64)) }
			is := func(bits uint64) { // exactly these bits
				num()
				o.raw(equal[size], t3, t3, o.splat(size, bits))
				add()
			}
			abs := func() {
				num()
				o.raw(x86.VPAND, t3, t3, o.splat(size, f.sign-1))
			}
			nan := func(quiet bool) {
				abs()
				if quiet {
					o.raw(f.gt, t3, t3, o.splat(size, f.inf|f.quiet-1))
				} else {
					o.raw(x86.VMOVDQU, t, 0, o.splat(size, f.inf|f.quiet))
					o.raw(f.gt, t, t, vr(t3))
					o.raw(f.gt, t3, t3, o.splat(size, f.inf))
					o.raw(x86.VPAND, t3, t3, vr(t))
				}
				add()
			}
			// zero compares equal to zero: denormals too when they count as zeros.
			zero := func(sign uint64) {
				num()
				o.raw(x86.VPAND, t3, t3, o.splat(size, f.sign))
				o.raw(equal[size], t3, t3, o.splat(size, sign))
				o.raw(x86.VMOVDQU, t, 0, o.at(offTmp+64))
				o.rawI(f.cmp, t, t, o.splat(size, 0), 0)
				o.raw(x86.VPAND, t3, t3, vr(t))
				add()
			}
			if o.imm&0x01 != 0 {
				nan(true)
			}
			if o.imm&0x02 != 0 {
				zero(0)
			}
			if o.imm&0x04 != 0 {
				zero(f.sign)
			}
			if o.imm&0x08 != 0 {
				is(f.inf)
			}
			if o.imm&0x10 != 0 {
				is(f.inf | f.sign)
			}
			if o.imm&0x20 != 0 { // a denormal that is not equal to zero
				abs()
				o.raw(x86.VMOVDQU, t, 0, o.splat(size, f.inf&-f.inf)) // the smallest normal one
				o.raw(f.gt, t3, t, vr(t3))
				o.raw(x86.VMOVDQU, t, 0, o.at(offTmp+64))
				o.rawI(f.cmp, t, t, o.splat(size, 0), 4)
				o.raw(x86.VPAND, t3, t3, vr(t))
				add()
			}
			if o.imm&0x40 != 0 { // between -inf and -0
				o.raw(x86.VMOVDQU, t, 0, o.at(offTmp+64))
				o.rawI(f.cmp, t3, t, o.splat(size, 0), 0x11)
				o.rawI(f.cmp, t, t, o.splat(size, f.inf|f.sign), 0x1e)
				o.raw(x86.VPAND, t3, t3, vr(t))
				add()
			}
			if o.imm&0x80 != 0 {
				nan(false)
			}
			o.raw(x86.VMOVDQU, t, 0, o.at(offTmp+96))
		})
	}
}
