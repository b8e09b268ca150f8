package fp

import (
	"math"
	"math/bits"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// Dot adds the dot product of the rows a and b (K elements each) to c.
type Dot func(a, b []uint64, c uint64) uint64

// Prep brings an element's bits to the form that the Dot takes, once for all the products it is in.
type Prep func(x uint64) uint64

// MatrixUnit returns how a matrix unit computes one element of its result: how elements of A and of B are prepared, and
// the sum.
func MatrixUnit(m *ir.Matrix, e ir.FP) (a, b Prep, d Dot) {
	same := func(x uint64) uint64 { return x }
	if m.F8F6F4 {
		wide := func(k ir.Kind) Prep { return func(x uint64) uint64 { return Cvt(k, ir.F64, e&ir.FPOCP, x) } }
		return wide(m.A), wide(m.B), doubleDot
	}
	if m.A == ir.F16 || m.A == ir.BF16 {
		switch m.Gen {
		case 2:
			n := 4
			if m.A == ir.BF16 && m.M*m.K*m.Blocks/64 == 2 {
				n = 2 // the forms without _1k
			}
			p := flushPrep(m.A)
			return p, p, flushDot(n)
		case 3:
			return packTerm(formatOf(m.A, e)), packTerm(formatOf(m.B, e)), truncDot(m, e)
		}
	}
	return same, same, MatrixDot(m, e)
}

// MatrixDot is MatrixUnit's sum on elements' bits. The numerics were measured on cards and
// published with the MMA-Sim project: f32 and f64 are a chain of fused steps in order of k everywhere; narrower floats
// differ by generation.
//
// fidelity: approximate matrix-cdna4: gfx950's f16, bf16 and 8-bit float products are summed as CDNA 3's, in groups of 8 and 16; nobody has published what CDNA 4 does
// fidelity: approximate matrix-special: what NaNs and infinities do inside a group of products is not published
func MatrixDot(m *ir.Matrix, e ir.FP) Dot {
	switch m.A {
	case ir.I8, ir.U8, ir.I4, ir.U4:
		return intDot(m)
	case ir.F64:
		return chain(ir.F64, e&^(ir.FPRoundMask|ir.FPFlushIn|ir.FPFlushOut))
	case ir.F32:
		if m.XF32 {
			return func(a, b []uint64, c uint64) uint64 {
				for i := 0; i < len(a); i += 4 {
					x, y := a[i:min(i+4, len(a))], b[i:min(i+4, len(a))]
					if r, ok := specials(&fmtF32, &fmtF32, x, y, c); ok {
						c = r
					} else {
						c = truncated(xf32Terms(x, y), c)
					}
				}
				return c
			}
		}
		return chain(ir.F32, e&^ir.FPRoundMask)
	case ir.FP8, ir.BF8:
		if m.Gen == 3 {
			return fp8Dot(m, e)
		}
	}
	switch m.Gen {
	case 1:
		n := 4
		if m.A == ir.BF16 {
			n = 2
		}
		return exactDot(m, e, n)
	case 2, 3:
		pa, pb, d := MatrixUnit(m, e)
		return func(a, b []uint64, c uint64) uint64 {
			x, y := make([]uint64, len(a)), make([]uint64, len(a))
			for i := range a {
				x[i], y[i] = pa(a[i]), pb(b[i])
			}
			return d(x, y, c)
		}
	}
	//fidelity: approximate wmma: pairs of exact products are added to the sum with one rounding; gfx11's adder complements without the carry, and of products of more than 11 bits nobody has published what it adds (rocm-systems issue 12056); gfx12's order and width are not published
	return wmmaDot(m, e)
}

func chain(k ir.Kind, e ir.FP) Dot {
	return func(a, b []uint64, c uint64) uint64 {
		for i := range a {
			c = FMA(k, e, a[i], b[i], c)
		}
		return c
	}
}

// intDot is exact, modulo 2^32 or saturated. WMMA's negate bits say which operand is signed.
func intDot(m *ir.Matrix) Dot {
	n := uint(m.A.Bits())
	sa, sb := true, true
	if m.WMMA {
		sa, sb = m.Neg&1 != 0, m.Neg&2 != 0
	}
	val := func(x uint64, signed bool) int64 {
		if signed {
			return int64(x<<(64-n)) >> (64 - n)
		}
		return int64(x << (64 - n) >> (64 - n))
	}
	return func(a, b []uint64, c uint64) uint64 {
		s := int64(int32(c))
		for i := range a {
			s += val(a[i], sa) * val(b[i], sb)
		}
		if m.Clamp {
			s = max(math.MinInt32, min(math.MaxInt32, s))
		}
		return uint64(uint32(s))
	}
}

// term is a product: sig * 2^(exp-46) with the exponents of both factors added, not normalised; bits at 0 when it is zero.
type term struct {
	sig int64 // product of two significands with 23 fraction bits each
	exp int
}

// sigExp takes a finite number apart: a signed significand with 23 fraction bits, below 1 for denormals, and the
// exponent.
func sigExp(f *format, b uint64) (int64, int) {
	m, ex := b&f.fmask(), int(b&f.emask()>>f.man)
	if ex == 0 {
		ex = 1
	} else {
		m |= 1 << f.man
	}
	s := int64(m << (23 - f.man))
	if b&f.sign() != 0 {
		s = -s
	}
	return s, ex - f.bias
}

// specials looks for NaNs and infinities among the products and c. It returns the result if they decide it.
func specials(fa, fb *format, a, b []uint64, c uint64) (uint64, bool) {
	cf := &fmtF32
	pos, neg := false, false
	if cf.isNaN(c) {
		return c | cf.quiet(), true
	}
	if cf.isInf(c) {
		neg, pos = c&cf.sign() != 0, c&cf.sign() == 0
	}
	for i := range a {
		an, bn := fa.isNaN(a[i]), fb.isNaN(b[i])
		ai, bi := fa.isInf(a[i]), fb.isInf(b[i])
		if an || bn || ai && fb.isZero(b[i]) || bi && fa.isZero(a[i]) {
			return cf.nan(), true
		}
		if ai || bi {
			if (a[i]&fa.sign() != 0) != (b[i]&fb.sign() != 0) {
				neg = true
			} else {
				pos = true
			}
		}
	}
	switch {
	case pos && neg:
		return cf.nan(), true
	case pos || neg:
		return cf.inf(neg), true
	}
	return 0, false
}

// packSum rounds s * 2^(e-frac) to f32, nearest even.
func packSum(s int64, e, frac int) uint64 {
	if s == 0 {
		return 0
	}
	n := num{neg: s < 0}
	if s < 0 {
		s = -s
	}
	z := bits.LeadingZeros64(uint64(s))
	n.hi, n.e = uint64(s)<<z, 63-z+e-frac
	return fmtF32.pack(0, n)
}

// shiftFloor is s * 2^n rounded down, shiftTrunc toward zero.
func shiftFloor(s int64, n int) int64 {
	if n >= 0 {
		return s << n
	}
	return s >> min(uint(-n), 63)
}

func shiftTrunc(s int64, n int) int64 {
	if s < 0 {
		return -shiftFloor(-s, n)
	}
	return shiftFloor(s, n)
}

// align24 adds terms at the largest exponent, each cut to 24 fraction bits.
func align24(t []term) (sum int64, e int) {
	e = math.MinInt32
	for _, x := range t {
		if x.sig != 0 {
			e = max(e, x.exp)
		} else {
			e = max(e, -126)
		}
	}
	for _, x := range t {
		if x.sig != 0 {
			sum += shiftTrunc(x.sig, x.exp-e+24-46)
		}
	}
	return sum, e
}

// truncated adds a group to c the CDNA3 way: the group's sum at 31 and c at 24 bits below the larger exponent, both
// rounded down, and one rounding to nearest even.
func truncated(t []term, c uint64) uint64 {
	for _, x := range t { // products beyond f32 are infinite
		if x.sig != 0 && x.exp+bits.Len64(uint64(max(x.sig, -x.sig)))-47 >= 128 {
			c, _ = specials(&fmtF32, &fmtF32, []uint64{uint64(fmtF32.inf(x.sig < 0))}, []uint64{fmtF32.one()}, c)
			return c
		}
	}
	if fmtF32.isNaN(c) || fmtF32.isInf(c) {
		return c
	}
	sum, e := align24(t)
	sc, ec := sigExp(&fmtF32, c)
	big := max(e, ec)
	s := shiftFloor(sum, e-big+31-24) + shiftFloor(sc, ec-big+24-23)<<7
	return packSum(s, big, 31)
}

func xf32Terms(a, b []uint64) []term {
	t := make([]term, len(a))
	for i := range a {
		sa, ea := sigExp(&fmtF32, a[i]&^0x1fff)
		sb, eb := sigExp(&fmtF32, b[i]&^0x1fff)
		t[i] = term{sa * sb, ea + eb}
	}
	return t
}

// A packed term has the significand in its high half, the exponent above bit 16, the bits below; the exponent of a NaN or
// infinity is notFinite.
const notFinite = math.MaxInt16

func packTerm(f *format) Prep {
	return func(x uint64) uint64 {
		x &= 0xffff
		if f.isNaN(x) || f.isInf(x) {
			return notFinite<<16 | x
		}
		s, e := sigExp(f, x)
		return uint64(s)<<32 | uint64(uint16(e))<<16 | x
	}
}

// truncDot is CDNA3's f16 and bf16: groups of up to eight packed products.
func truncDot(m *ir.Matrix, e ir.FP) Dot {
	fa, fb := formatOf(m.A, e), formatOf(m.B, e)
	return func(a, b []uint64, c uint64) uint64 {
		var t [8]term
		for i := 0; i < len(a); i += 8 {
			n := min(8, len(a)-i)
			x, y := a[i:i+n], b[i:i+n]
			special := c&0x7f800000 == 0x7f800000
			for j := range x {
				ea, eb := int(int16(x[j]>>16)), int(int16(y[j]>>16))
				special = special || ea == notFinite || eb == notFinite
				t[j&7] = term{int64(int32(x[j]>>32)) * int64(int32(y[j]>>32)), ea + eb}
			}
			if special {
				var p, q [8]uint64
				for j := range x {
					p[j&7], q[j&7] = x[j]&0xffff, y[j]&0xffff
				}
				if r, ok := specials(fa, fb, p[:n], q[:n], c); ok {
					c = r
					continue
				}
			}
			c = truncated(t[:n], c)
		}
		return c
	}
}

// fp8Dot is CDNA3's fp8 and bf8: groups of sixteen, even and odd products summed apart.
func fp8Dot(m *ir.Matrix, e ir.FP) Dot {
	fa, fb := formatOf(m.A, e), formatOf(m.B, e)
	return func(a, b []uint64, c uint64) uint64 {
		var t [2][8]term
		for i := 0; i < len(a); i += 16 {
			n := min(16, len(a)-i)
			x, y := a[i:i+n], b[i:i+n]
			if r, ok := specials(fa, fb, x, y, c); ok {
				c = r
				continue
			}
			for j := range n {
				sa, ea := sigExp(fa, x[j])
				sb, eb := sigExp(fb, y[j])
				t[j&1][j>>1] = term{sa * sb, ea + eb}
			}
			s0, e0 := align24(t[0][:(n+1)/2])
			s1, e1 := align24(t[1][:n/2])
			em := max(e0, e1)
			sum := shiftFloor(s0, e0-em) + shiftFloor(s1, e1-em)
			sc, ec := sigExp(&fmtF32, c)
			big := max(em, ec)
			s := shiftFloor(sum, em-big+31-24)
			if ec >= big-25 {
				s += shiftFloor(sc, ec-big+24-23) << 7
			}
			c = packSum(s, big, 31)
		}
		return c
	}
}

// exactDot is CDNA1: groups of n exact products and c, one rounding.
func exactDot(m *ir.Matrix, e ir.FP, n int) Dot {
	fa, fb := formatOf(m.A, e), formatOf(m.B, e)
	return func(a, b []uint64, c uint64) uint64 {
		for i := 0; i < len(a); i += n {
			k := min(n, len(a)-i)
			if r, ok := specials(fa, fb, a[i:i+k], b[i:i+k], c); ok {
				c = r
				continue
			}
			c = sumExact(fa, fb, a[i:i+k], b[i:i+k], c)
		}
		return c
	}
}

// sumExact adds finite products to c with one rounding to nearest even. Terms are added from the largest down, so that
// what does not fit in 128 bits is a tail that only the rounding's direction may notice.
func sumExact(fa, fb *format, a, b []uint64, c uint64) uint64 {
	var t [17]num
	k := 0
	for i := range a {
		x, y := fa.unpack(a[i]), fb.unpack(b[i])
		if !x.zero() && !y.zero() {
			t[k] = mul(x, y)
			k++
		}
	}
	if x := fmtF32.unpack(c); !x.zero() {
		t[k] = x
		k++
	}
	// Opposite numbers cancel exactly when the largest are added first, again and again.
	for k > 1 {
		p, q := 0, 1
		for i := range k {
			if larger(&t[i], &t[p]) {
				p = i
			}
		}
		if q == p {
			q = 0
		}
		for i := range k {
			if i != p && larger(&t[i], &t[q]) {
				q = i
			}
		}
		s := add(t[p], t[q], 0)
		if p > q {
			p, q = q, p
		}
		t[q] = t[k-1]
		k--
		if s.zero() {
			t[p] = t[k-1]
			k--
		} else {
			t[p] = s
		}
	}
	if k == 0 {
		return 0
	}
	return fmtF32.pack(0, t[0])
}

func larger(a, b *num) bool {
	return a.e > b.e || a.e == b.e && (a.hi > b.hi || a.hi == b.hi && a.lo > b.lo)
}

func flush32(x float32) float32 {
	if b := math.Float32bits(x); b&0x7f800000 == 0 {
		return math.Float32frombits(b & 0x80000000)
	}
	return x
}

// flushPrep makes f32 bits of an element; denormals become +0.
func flushPrep(k ir.Kind) Prep {
	f := formatOf(k, 0)
	return func(x uint64) uint64 {
		if x&f.emask() == 0 {
			return 0
		}
		return Cvt(k, ir.F32, 0, x)
	}
}

// flushProduct is a*b in f32 with denormals as zeros. A product is a denormal when it is one after rounding to 24 bits, as
// of exponents without end: one just below the smallest normal number that rounds to it is none.
func flushProduct(a, b float32) float32 {
	p := float64(a) * float64(b) // exact
	if math.Abs(p) < 0x1p-126-0x1p-151 {
		return float32(math.Copysign(0, p))
	}
	return float32(p)
}

// flushDot is CDNA2: f32 products and sums, pairwise in groups of n, everything flushed.
func flushDot(n int) Dot {
	return func(a, b []uint64, c uint64) uint64 {
		acc := math.Float32frombits(uint32(c))
		if c&0x7f800000 == 0 {
			acc = 0
		}
		prod := func(i int) float32 {
			return flushProduct(math.Float32frombits(uint32(a[i])), math.Float32frombits(uint32(b[i])))
		}
		for i := 0; i+n <= len(a); i += n {
			s := flush32(prod(i) + prod(i+1))
			if n == 4 {
				s = flush32(s + flush32(prod(i+2)+prod(i+3)))
			}
			acc = flush32(acc + s)
		}
		if acc != acc {
			return fmtF32.nan()
		}
		return uint64(math.Float32bits(acc))
	}
}

// wmmaDot adds pairs of exact products to an f32 sum.
func wmmaDot(m *ir.Matrix, e ir.FP) Dot {
	if m.Gen >= 12 {
		e |= ir.FPOCP
	}
	fa, fb := formatOf(m.A, e), formatOf(m.B, e)
	neg := func(f *format, x uint64, bit uint8, k int) uint64 {
		n := m.Neg
		if k&1 != 0 {
			n = m.NegHi
		}
		if n&bit != 0 {
			return x ^ f.sign()
		}
		return x
	}
	return func(a, b []uint64, c uint64) uint64 {
		if m.C != ir.F32 {
			c = Cvt(m.C, ir.F32, 0, c)
		}
		if m.NegHi&4 != 0 {
			c &^= 1 << 31
		}
		if m.Neg&4 != 0 {
			c ^= 1 << 31
		}
		var x, y [2]uint64
		for i := 0; i+1 < len(a); i += 2 {
			for j := range 2 {
				x[j], y[j] = neg(fa, a[i+j], 1, j), neg(fb, b[i+j], 2, j)
			}
			if r, ok := specials(fa, fb, x[:], y[:], c); ok {
				c = r
				continue
			}
			c = sumExact(fa, fb, x[:], y[:], c)
		}
		if m.C != ir.F32 {
			c = Cvt(ir.F32, m.C, 0, c)
		}
		return c
	}
}

// doubleDot adds products of f64 bits in f64, in order of k, and rounds once. A NaN is C's or made anew.
//
// fidelity: approximate matrix-f8f6f4: products are added in double precision and rounded once to f32; in what order and width CDNA4 adds
// is not published
func doubleDot(a, b []uint64, c uint64) uint64 {
	s := float64(0)
	for i := range a {
		s += math.Float64frombits(a[i]) * math.Float64frombits(b[i])
	}
	switch s += float64(math.Float32frombits(uint32(c))); {
	case fmtF32.isNaN(c):
		return c | fmtF32.quiet()
	case s != s:
		return fmtF32.nan()
	}
	return Cvt(ir.F64, ir.F32, 0, math.Float64bits(s))
}
