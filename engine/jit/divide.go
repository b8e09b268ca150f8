package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// The steps of a division: v_div_scale, its mask, v_div_fixup (package fp says what they do). For most numbers they do nothing. So code first looks
// whether all lanes' are so near 1 that a quotient of two needs no scaling; what they do otherwise is out of its way, behind the blocks. A division's
// steps all have the same denominator and numerator: the first one leaves in the frame what it saw.

// near is a pair of operands that a region has looked at.
type near struct {
	den, num ir.ID
	u        int
	slot     int32 // 4 bytes of frame: a bit for each lane, or for each of eight that stand for two, which is not near 1
}

// lookNear jumps to far unless all lanes of the denominator and numerator (and of the first operand, if it is neither) are normal numbers near 1.
// t and k are temporaries; RAX is one too.
func (c *compiler) lookNear(v *ir.Value, u int, f *fmtInfo, x *[3][2]x86.Vec, halves int, t []x86.Vec, k x86.K, far x86.Label) {
	r, a := &c.r, &c.a
	const L = x86.L512
	den, num := v.Args[1], v.Args[2]
	plain := v.Op == ir.OpFDivFixup || v.Args[0] == den || v.Args[0] == num
	if plain {
		for _, n := range r.nears {
			if n.den == den && n.num == num && n.u == u {
				a.AluI(x86.CMP, 4, x86.M(rFrame, n.slot), 0)
				a.Jcc(x86.NE, far)
				return
			}
		}
	}
	// Less f.near, the bits of a number whose magnitude is from there to four times as many exponents have none of f.off, with either sign; those
	// of others have one.
	var xs []x86.Vec
	for i := range halves {
		xs = append(xs, x[1][i])
		if den != num {
			xs = append(xs, x[2][i])
		}
		if !plain {
			xs = append(xs, x[0][i])
		}
	}
	sub := func(d x86.Vec, n int) { a.E(f.isub, L, uint8(d), uint8(xs[n]), r.constant(f.near, f.size), noMod) }
	sub(t[0], 0)
	for n := 1; n < len(xs); {
		sub(t[1], n)
		if n++; n == len(xs) {
			a.E(f.or, L, uint8(t[0]), uint8(t[0]), x86.V(t[1]), noMod)
			break
		}
		sub(t[2], n)
		n++
		a.EI(f.ternlog, L, uint8(t[0]), uint8(t[1]), x86.V(t[2]), 0xfe, noMod) // or
	}
	a.E(f.test, L, uint8(k), uint8(t[0]), r.constant(f.off, f.size), noMod)
	if !plain {
		a.X(x86.KORTESTW, x86.L128, uint8(k), 0, x86.KR(k))
		a.Jcc(x86.NE, far)
		return
	}
	n := near{den, num, u, c.slot16()}
	r.nears = append(r.nears, n)
	a.X(x86.KMOVGW, x86.L128, uint8(x86.RAX), 0, x86.KR(k))
	a.GS(x86.MOVS, 4, x86.M(rFrame, n.slot), x86.RAX)
	a.GS(x86.TEST, 4, x86.R(x86.RAX), x86.RAX)
	a.Jcc(x86.NE, far)
}

// divide emits a step of a division.
func (c *compiler) divide(id ir.ID, v *ir.Value, u int, f *fmtInfo, halves int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	var x [3][2]x86.Vec
	for i := range halves {
		for n := range x {
			x[n][i] = r.zin(v.Args[n], i, u, f.size)
		}
	}
	// All registers are taken before the code branches.
	var d, s [2]x86.Vec
	var t [5]x86.Vec
	var k [4]x86.K
	for i := range t {
		t[i] = r.tmp()
	}
	for i := range k {
		k[i] = r.ktmp()
	}
	if v.Op != ir.OpFDivScaleVCC {
		for i := range halves {
			d[i] = r.tmp()
		}
	}
	far, done := a.NewLabel(), a.NewLabel()
	var rare func() // what far does
	switch v.Op {
	case ir.OpFDivScale:
		for i := range halves {
			a.E(f.mov, L, uint8(d[i]), 0, x86.V(x[0][i]), noMod)
		}
		rare = func() {
			for i := range halves {
				c.divScale(d[i], x[0][i], x[1][i], x[2][i], f, t, k)
			}
		}
	case ir.OpFDivScaleVCC:
		m := r.kdstEarly(id, u)
		a.X(x86.KXORW, x86.L128, uint8(m), uint8(m), x86.KR(m))
		rare = func() {
			c.divScaleMask(m, x[0][0], x[1][0], x[2][0], f, t, k)
			if halves == 2 {
				c.divScaleMask(k[3], x[0][1], x[1][1], x[2][1], f, t, k)
				a.X(x86.KUNPCKBW, x86.L128, uint8(m), uint8(k[3]), x86.KR(m))
			}
		}
	default:
		// s is the sign of the quotient, d its magnitude with it.
		for i := range halves {
			s[i] = r.tmp()
			a.E(f.mov, L, uint8(s[i]), 0, x86.V(x[2][i]), noMod)
			a.EI(f.ternlog, L, uint8(s[i]), uint8(x[1][i]), r.constant(f.sign, f.size), 0x28, noMod) // (s ^ den) & sign
			a.E(f.mov, L, uint8(d[i]), 0, x86.V(x[0][i]), noMod)
			a.EI(f.ternlog, L, uint8(d[i]), uint8(s[i]), r.constant(f.sign, f.size), 0xdc, noMod) // d without sign, or s
			a.EI(f.cmp, L, uint8(k[i]), uint8(x[0][i]), x86.V(x[0][i]), 3, noMod)
		}
		if halves == 2 {
			a.X(x86.KORW, x86.L128, uint8(k[0]), uint8(k[0]), x86.KR(k[1]))
		}
		a.X(x86.KORTESTW, x86.L128, uint8(k[0]), 0, x86.KR(k[0]))
		a.Jcc(x86.NE, far) // a quotient that is none
		rare = func() {
			for i := range halves {
				c.divFixup(d[i], s[i], x[0][i], x[1][i], x[2][i], f, t, k)
			}
		}
	}
	c.lookNear(v, u, f, &x, halves, t[:], k[0], far)
	a.Bind(done)
	for i := range halves {
		if v.Op != ir.OpFDivScaleVCC {
			r.become(id, i, u, d[i])
		}
	}
	c.tails = append(c.tails, func() {
		was := c.m.cur
		c.m.cur = id
		a.Bind(far)
		rare()
		a.Jmp(done)
		c.m.cur = was
	})
}

// divFixup changes d, the magnitude of quo with the sign s, to what fp.DivFixup is to nearest.
func (c *compiler) divFixup(d, s, quo, den, num x86.Vec, f *fmtInfo, z [5]x86.Vec, k [4]x86.K) {
	a := &c.a
	const L = x86.L512
	con := func(x uint64) x86.RM { return c.r.constant(x, f.size) }
	inf, b, e := z[0], z[1], z[2]
	m, t, dz, nz := k[0], k[1], k[2], k[3]
	a.E(f.or, L, uint8(inf), uint8(s), con(f.inf), noMod)
	a.EI(f.cmp, L, uint8(m), uint8(quo), x86.V(quo), 3, noMod)
	a.E(f.mov, L, uint8(d), 0, x86.V(inf), x86.Masked(m)) // a NaN quotient is an overflow
	// quotients that vanish
	c.biased(b, num, f)
	c.biased(e, den, f)
	a.E(f.isub, L, uint8(b), uint8(b), x86.V(e), noMod)
	a.EI(f.icmp, L, uint8(m), uint8(b), con(uint64(f.under)), 1, noMod)
	a.E(f.mov, L, uint8(d), 0, x86.V(s), x86.Masked(m))
	// zeros and infinities
	a.EI(f.class, L, uint8(dz), 0, x86.V(den), clZero, noMod)
	a.EI(f.class, L, uint8(nz), 0, x86.V(num), clZero, noMod)
	a.EI(f.class, L, uint8(m), 0, x86.V(den), clInf, noMod)
	a.X(x86.KORW, x86.L128, uint8(t), uint8(m), x86.KR(nz))
	a.E(f.mov, L, uint8(d), 0, x86.V(s), x86.Masked(t))
	a.EI(f.class, L, uint8(t), 0, x86.V(num), clInf, noMod)
	a.X(x86.KANDW, x86.L128, uint8(nz), uint8(nz), x86.KR(dz)) // 0/0
	a.X(x86.KANDW, x86.L128, uint8(m), uint8(m), x86.KR(t))    // inf/inf
	a.X(x86.KORW, x86.L128, uint8(t), uint8(t), x86.KR(dz))
	a.E(f.mov, L, uint8(d), 0, x86.V(inf), x86.Masked(t))
	a.X(x86.KORW, x86.L128, uint8(m), uint8(m), x86.KR(nz))
	c.fill(d, f.nan, f, m)
	// NaN arguments, the numerator first
	a.EI(f.class, L, uint8(m), 0, x86.V(den), clNaN, noMod)
	a.E(f.mul, L, uint8(d), uint8(den), con(f.one), x86.Masked(m))
	a.EI(f.class, L, uint8(m), 0, x86.V(num), clNaN, noMod)
	a.E(f.mul, L, uint8(d), uint8(num), con(f.one), x86.Masked(m))
}

// fill puts a number into the lanes of m.
func (c *compiler) fill(d x86.Vec, x uint64, f *fmtInfo, m x86.K) {
	p := x86.ML(c.a.Const32(uint32(x)), 0)
	if f.size == 8 {
		p = x86.ML(c.a.Const64(x), 0)
	}
	c.a.E(f.splat, x86.L512, uint8(d), 0, p, x86.Masked(m))
}

// divParts makes quo the lanes whose quotient is denormal, floor(log2(num/den)) < emin and both finite, inf those whose denominator is an infinity,
// and t and w the exponent fields of numerator and denominator. n is a temporary.
func (c *compiler) divParts(quo, inf, n x86.K, t, w, den, num x86.Vec, f *fmtInfo) {
	a := &c.a
	const L = x86.L512
	con := func(x uint64) x86.RM { return c.r.constant(x, f.size) }
	a.EI(f.getmant, L, uint8(t), 0, x86.V(num), 4, noMod)
	a.EI(f.getmant, L, uint8(w), 0, x86.V(den), 4, noMod)
	a.EI(f.cmp, L, uint8(inf), uint8(t), x86.V(w), 0x11, noMod)
	a.E(f.getexp, L, uint8(t), 0, x86.V(num), noMod)
	a.E(f.getexp, L, uint8(w), 0, x86.V(den), noMod)
	a.E(f.sub, L, uint8(t), uint8(t), x86.V(w), noMod)
	a.E(f.sub, L, uint8(t), uint8(t), con(f.one), x86.Masked(inf))
	a.EI(f.cmp, L, uint8(quo), uint8(t), con(f.eminF), 0x11, noMod)
	a.EI(f.class, L, uint8(inf), 0, x86.V(den), clInf, noMod)
	a.EI(f.class, L, uint8(n), 0, x86.V(num), clInf, noMod)
	a.X(x86.KORW, x86.L128, uint8(n), uint8(n), x86.KR(inf))
	a.X(x86.KANDNW, x86.L128, uint8(quo), uint8(n), x86.KR(quo))
	c.biased(t, num, f)
	c.biased(w, den, f)
}

// divScale changes d, which is s0, to what fp.DivScale gives.
func (c *compiler) divScale(d, s0, den, num x86.Vec, f *fmtInfo, z [5]x86.Vec, k [4]x86.K) {
	a := &c.a
	const L = x86.L512
	con := func(x uint64) x86.RM { return c.r.constant(x, f.size) }
	kop := func(i *x86.Inst, d, x, y x86.K) { a.X(i, x86.L128, uint8(d), uint8(x), x86.KR(y)) }
	put := func(x x86.Vec, m x86.K) { a.E(f.mov, L, uint8(d), 0, x86.V(x), x86.Masked(m)) }
	t, w, up, down, rcp := z[0], z[1], z[2], z[3], z[4]
	m, n, quo := k[0], k[1], k[2]
	c.divParts(quo, m, n, t, w, den, num, f)
	a.E(f.scalef, L, uint8(up), uint8(s0), con(f.scaleF), noMod)
	a.E(f.scalef, L, uint8(down), uint8(s0), con(f.minusScale), noMod)
	a.EI(f.icmp, L, uint8(n), uint8(t), con(uint64(f.tiny)), 2, noMod)
	put(up, n)
	// quotient denormal: the numerator is scaled up
	put(s0, quo)
	a.EI(f.icmp, L, uint8(n), uint8(s0), x86.V(num), 0, x86.Masked(quo))
	put(up, n)
	// reciprocal of the denominator denormal: |den| > 2^-emin and finite
	a.E(f.and, L, uint8(rcp), uint8(den), con(f.sign-1), noMod)
	a.EI(f.icmp, L, uint8(n), uint8(rcp), con(f.big), 6, noMod)
	kop(x86.KANDNW, n, m, n)
	put(down, n)
	kop(x86.KANDW, n, n, quo) // both: only the denominator is scaled
	put(s0, n)
	a.EI(f.icmp, L, uint8(n), uint8(s0), x86.V(den), 0, x86.Masked(n))
	put(down, n)
	a.EI(f.class, L, uint8(n), 0, x86.V(den), clDenorm, noMod)
	put(up, n)
	a.E(f.isub, L, uint8(t), uint8(t), x86.V(w), noMod)
	a.EI(f.icmp, L, uint8(n), uint8(t), con(uint64(f.far)), 5, noMod)
	put(s0, n)
	a.EI(f.icmp, L, uint8(n), uint8(s0), x86.V(den), 0, x86.Masked(n))
	put(up, n)
	// NaN: s0 as it is, quiet when it is one
	a.EI(f.cmp, L, uint8(n), uint8(den), x86.V(num), 3, noMod)
	put(s0, n)
	a.EI(f.class, L, uint8(n), 0, x86.V(s0), clNaN, noMod)
	a.E(f.mul, L, uint8(d), uint8(s0), con(f.one), x86.Masked(n))
	a.EI(f.class, L, uint8(n), 0, x86.V(den), clZero, noMod)
	a.EI(f.class, L, uint8(m), 0, x86.V(num), clZero, noMod)
	kop(x86.KORW, n, n, m)
	c.fill(d, f.nan, f, n)
}

// divScaleMask makes quo the mask of fp.DivScale: zero operands, or no NaN and (far apart, or quotient denormal and denominator not).
func (c *compiler) divScaleMask(quo x86.K, s0, den, num x86.Vec, f *fmtInfo, z [5]x86.Vec, k [4]x86.K) {
	a := &c.a
	const L = x86.L512
	con := func(x uint64) x86.RM { return c.r.constant(x, f.size) }
	kop := func(i *x86.Inst, d, x, y x86.K) { a.X(i, x86.L128, uint8(d), uint8(x), x86.KR(y)) }
	t, w := z[0], z[1]
	m, n := k[0], k[1]
	c.divParts(quo, m, n, t, w, den, num, f)
	a.EI(f.class, L, uint8(n), 0, x86.V(den), clDenorm, noMod)
	kop(x86.KANDNW, quo, n, quo)
	a.E(f.isub, L, uint8(t), uint8(t), x86.V(w), noMod)
	a.EI(f.icmp, L, uint8(n), uint8(t), con(uint64(f.far)), 5, noMod)
	kop(x86.KORW, quo, quo, n)
	a.EI(f.cmp, L, uint8(n), uint8(den), x86.V(num), 3, noMod)
	kop(x86.KANDNW, quo, n, quo)
	a.EI(f.class, L, uint8(n), 0, x86.V(s0), clNaN, noMod)
	kop(x86.KANDNW, quo, n, quo)
	a.EI(f.class, L, uint8(n), 0, x86.V(den), clZero, noMod)
	kop(x86.KORW, quo, quo, n)
	a.EI(f.class, L, uint8(n), 0, x86.V(num), clZero, noMod)
	kop(x86.KORW, quo, quo, n)
}
