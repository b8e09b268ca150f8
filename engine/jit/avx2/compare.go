package avx2

import "github.com/pumice-gpu/pumice/engine/jit/x86"

// equal and greater are the comparisons there are, by the size of elements.
var (
	equal   = map[int]*x86.Inst{1: x86.VPCMPEQBV, 4: x86.VPCMPEQDV, 8: x86.VPCMPEQQV}
	greater = map[int]*x86.Inst{1: x86.VPCMPGTBV, 4: x86.VPCMPGTDV, 8: x86.VPCMPGTQV}
	signBit = map[int]uint64{1: 0x8080808080808080, 4: 1<<31 | 1<<63, 8: 1 << 63}
)

func compareHandlers(m map[*x86.Inst]func(*op)) {
	m[x86.VPCMPD] = intCompare(4, false)
	m[x86.VPCMPUD] = intCompare(4, true)
	m[x86.VPCMPQ] = intCompare(8, false)
	m[x86.VPCMPUQ] = intCompare(8, true)
	m[x86.VPCMPUB] = intCompare(1, true)
	m[x86.VPCMPB] = intCompare(1, false)
	m[x86.VPCMPEQD] = func(o *op) { intCompare(4, false)(o) } // its immediate is 0: equal
	m[x86.VPCMPGTD] = func(o *op) { o.imm = 6; intCompare(4, false)(o) }
	m[x86.VPTESTMD] = test(4, true)
	m[x86.VPTESTNMD] = test(4, false)
	m[x86.VPTESTMQ] = test(8, true)
	m[x86.VPTESTNMQ] = test(8, false)
	m[x86.VPTESTMB] = test(1, true)
	m[x86.VCMPPS] = floatCompare(4)
	m[x86.VCMPPD] = floatCompare(8)
	m[x86.VPMOVB2M] = func(o *op) { // the signs of bytes
		for h := range 2 {
			o.raw(x86.VPXOR, t0, t0, vr(t0))
			o.raw(x86.VPCMPGTBV, t0, t0, o.half(o.m.Num(), h))
			o.raw(x86.VMOVDQUS, t0, 0, o.kAt(x86.K(o.reg), h))
		}
	}
	m[x86.VPMOVM2B] = func(o *op) {
		for h := range 2 {
			d := o.into(o.reg, h, t0)
			o.raw(x86.VMOVDQU, d, 0, o.kAt(x86.K(o.m.Num()), h))
			o.done(o.reg, h, d)
		}
	}
}

// not inverts t.
func (o *op) not(t uint8) { o.raw(x86.VPXOR, t, t, o.const32(0xffffffff)) }

// intCompare: 0 equal, 1 less, 2 less or equal, 4 not equal, 5 not less, 6 not less or equal.
func intCompare(size int, unsigned bool) func(*op) {
	return func(o *op) {
		if o.l != x86.L512 {
			o.unsupported()
			return
		}
		o.compare(size, func(h int, t uint8) {
			x := o.load(o.vv, h, t)
			if o.imm&3 == 0 {
				o.raw(equal[size], t, x, o.src(h, size, t2))
			} else {
				y := o.src(h, size, t2)
				// less: y > x; less or equal: not x > y
				if unsigned {
					bias := o.const64(signBit[size])
					o.raw(x86.VPXOR, t, x, bias)
					x = t
					if y.IsMem() {
						o.raw(x86.VMOVDQU, t3, 0, y)
						y = vr(t3)
					}
					o.raw(x86.VPXOR, t3, y.Num(), bias)
					y = vr(t3)
				}
				if o.imm&3 == 1 {
					if y.IsMem() {
						o.raw(x86.VMOVDQU, t3, 0, y)
						y = vr(t3)
					}
					o.raw(greater[size], t, y.Num(), vr(x))
				} else {
					o.raw(greater[size], t, x, y)
					o.not(t)
				}
			}
			if o.imm&4 != 0 {
				o.not(t)
			}
		})
	}
}

// test is whether x&y has a bit (any), or none.
func test(size int, any bool) func(*op) {
	return func(o *op) {
		if o.l != x86.L512 {
			o.unsupported()
			return
		}
		o.compare(size, func(h int, t uint8) {
			x := o.load(o.vv, h, t)
			o.raw(x86.VPAND, t, x, o.src(h, size, t2))
			o.raw(x86.VPXOR, t3, t3, vr(t3))
			o.raw(equal[size], t, t, vr(t3))
			if any {
				o.not(t)
			}
		})
	}
}

func floatCompare(size int) func(*op) {
	inst := x86.VCMPPSV
	if size == 8 {
		inst = x86.VCMPPDV
	}
	return func(o *op) {
		if o.l != x86.L512 {
			o.unsupported()
			return
		}
		o.compare(size, func(h int, t uint8) {
			x := o.load(o.vv, h, t)
			o.rawI(inst, t, x, o.src(h, size, t2), o.imm)
		})
	}
}
