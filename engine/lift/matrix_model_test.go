package lift_test

import (
	"math/big"
	"math/rand/v2"
)

// Models of how each generation's matrix unit computes one element of D, written from what is published of them (the MMA-Sim
// project, checked there on cards of CDNA 1, 2 and 3; gfx11's pairs are from a public model of its adder): in exact
// arithmetic, on integers in units of 2^-matrixUnit. What is known of no card is modelled as the engine's tags say:
// matrix-cdna4, wmma, matrix-sparse, matrix-special.

const matrixUnit = 700

// elementFormat is a format of A, B or C: a binary one with a bias, that may lack infinities.
type elementFormat struct {
	exp, man, bias uint
	fnuz, noInf    bool
}

func (f *matrixForm) format(kind string) elementFormat {
	switch kind {
	case "f16":
		return elementFormat{5, 10, 15, false, false}
	case "bf16":
		return elementFormat{8, 7, 127, false, false}
	case "fp8":
		if f.ocp {
			return elementFormat{4, 3, 7, false, true}
		}
		return elementFormat{4, 3, 8, true, true}
	case "bf8":
		if f.ocp {
			return elementFormat{5, 2, 15, false, false}
		}
		return elementFormat{5, 2, 16, true, true}
	}
	return elementFormat{8, 23, 127, false, false} // f32, xf32
}

// matrixNumber is a number taken apart.
type matrixNumber struct {
	neg, nan, inf bool
	v             *big.Int // in units of 2^-matrixUnit
	exp           int      // as the unit sees it: that of a denormal is the least
}

func (f elementFormat) number(x uint64) matrixNumber {
	width := 1 + f.exp + f.man
	n := matrixNumber{neg: x>>(width-1)&1 != 0, v: new(big.Int)}
	e, m := x>>f.man&(1<<f.exp-1), x&(1<<f.man-1)
	top := e == 1<<f.exp-1
	switch {
	case f.fnuz:
		if n.neg && e == 0 && m == 0 {
			n.nan = true
			return n
		}
	case f.noInf:
		if top && m == 1<<f.man-1 {
			n.nan = true
			return n
		}
	case top:
		n.nan, n.inf = m != 0, m == 0
		return n
	}
	if e == 0 {
		e = 1
	} else {
		m |= 1 << f.man
	}
	n.exp = int(e) - int(f.bias)
	n.v.Lsh(n.v.SetUint64(m), uint(n.exp-int(f.man)+matrixUnit))
	if n.neg {
		n.v.Neg(n.v)
	}
	return n
}

// product multiplies; what it has of an infinity or NaN is the group's matter.
func product(a, b matrixNumber) matrixNumber {
	p := matrixNumber{neg: a.neg != b.neg, exp: a.exp + b.exp, v: new(big.Int)}
	zero := func(x matrixNumber) bool { return !x.inf && !x.nan && x.v.Sign() == 0 }
	p.nan = a.nan || b.nan || a.inf && zero(b) || b.inf && zero(a)
	p.inf = !p.nan && (a.inf || b.inf)
	if !p.nan && !p.inf {
		p.v.Rsh(p.v.Mul(a.v, b.v), matrixUnit)
	}
	if p.v.Sign() == 0 && !p.inf {
		p.exp = -126
	}
	return p
}

const f32QuietNaN = 0x7fc00000

// decided is the result when a NaN or an infinity decides it.
func decided(terms []matrixNumber) (uint64, bool) {
	pos, neg := false, false
	for _, t := range terms {
		if t.nan {
			return f32QuietNaN, true
		}
		pos, neg = pos || t.inf && !t.neg, neg || t.inf && t.neg
	}
	switch {
	case pos && neg:
		return f32QuietNaN, true
	case pos:
		return f32fmt.inf(), true
	case neg:
		return f32fmt.inf() | f32fmt.sign(), true
	}
	return 0, false
}

func rounded32(x *big.Int) uint64 {
	if x.Sign() == 0 {
		return 0
	}
	return f32fmt.round(new(big.Rat).SetFrac(x, new(big.Int).Lsh(big.NewInt(1), matrixUnit)), 0)
}

// cut drops what is below 2^e: down, or toward zero.
func cut(x *big.Int, e int, toZero bool) *big.Int {
	n := uint(max(e+matrixUnit, 0))
	y := new(big.Int).Set(x)
	if toZero && x.Sign() < 0 {
		y.Neg(y)
		y.Lsh(y.Rsh(y, n), n)
		return y.Neg(y)
	}
	return y.Lsh(y.Rsh(y, n), n)
}

// exactGroup is one rounding of products and c.
func exactGroup(p []matrixNumber, c matrixNumber) uint64 {
	if r, ok := decided(append(p[:len(p):len(p)], c)); ok {
		return r
	}
	sum := new(big.Int).Set(c.v)
	for _, x := range p {
		sum.Add(sum, x.v)
	}
	return rounded32(sum)
}

// alignedSum cuts products 24 bits below the largest exponent.
func alignedSum(p []matrixNumber) (sum *big.Int, e int) {
	e = -1 << 20
	for _, x := range p {
		e = max(e, x.exp)
	}
	sum = new(big.Int)
	for _, x := range p {
		sum.Add(sum, cut(x.v, e-24, true))
	}
	return sum, e
}

// truncatedGroup is CDNA 3's: see alignedSum; the sum counts 31 and c 24 bits below the larger exponent, both rounded down.
func truncatedGroup(p []matrixNumber, c matrixNumber) uint64 {
	if r, ok := decided(append(p[:len(p):len(p)], c)); ok {
		return r
	}
	sum, e := alignedSum(p)
	e = max(e, c.exp)
	return rounded32(new(big.Int).Add(cut(sum, e-31, false), cut(c.v, e-24, false)))
}

// byteGroup is CDNA 3's of 8-bit floats: even and odd products apart.
func byteGroup(p []matrixNumber, c matrixNumber) uint64 {
	if r, ok := decided(append(p[:len(p):len(p)], c)); ok {
		return r
	}
	var half [2][]matrixNumber
	for i, x := range p {
		half[i&1] = append(half[i&1], x)
	}
	s0, e0 := alignedSum(half[0])
	s1, e1 := alignedSum(half[1])
	e := max(e0, e1)
	sum := new(big.Int).Add(cut(s0, e-24, false), cut(s1, e-24, false))
	e = max(e, c.exp)
	sum = cut(sum, e-31, false)
	if c.exp >= e-25 {
		sum.Add(sum, cut(c.v, e-24, false))
	}
	return rounded32(sum)
}

// flushed is CDNA 2's f32: 24 bits with exponents without end, then what is below the normal numbers is zero.
func flushedStep(x *big.Int) matrixNumber {
	if x.Sign() == 0 {
		return matrixNumber{v: new(big.Int)}
	}
	wide := fmtOf{exp: 12, man: 23}
	r := wide.exact(wide.round(new(big.Rat).SetFrac(x, new(big.Int).Lsh(big.NewInt(1), matrixUnit)), 0))
	n := matrixNumber{neg: x.Sign() < 0, v: new(big.Int)}
	n.v.Quo(n.v.Lsh(r.Num(), matrixUnit), r.Denom())
	abs := new(big.Int).Abs(n.v)
	switch {
	case abs.Cmp(new(big.Int).Lsh(big.NewInt(1), matrixUnit-126)) < 0:
		n.v.SetInt64(0)
	case abs.Cmp(new(big.Int).Lsh(big.NewInt(1), matrixUnit+128)) >= 0:
		n.inf, n.v = true, new(big.Int)
	}
	return n
}

func flushedAdd(a, b matrixNumber) matrixNumber {
	if a.nan || b.nan || a.inf && b.inf && a.neg != b.neg {
		return matrixNumber{nan: true, v: new(big.Int)}
	}
	if a.inf {
		return a
	}
	if b.inf {
		return b
	}
	return flushedStep(new(big.Int).Add(a.v, b.v))
}

func (n matrixNumber) f32() uint64 {
	switch {
	case n.nan:
		return f32QuietNaN
	case n.inf && n.neg:
		return f32fmt.inf() | f32fmt.sign()
	case n.inf:
		return f32fmt.inf()
	}
	return rounded32(n.v)
}

// model is one element of D: the elements of a row of A and of a column of B in order, and C's. skip says that a product is beyond f32, of
// which nothing is published.
func (f *matrixForm) model(a, b []uint64, c uint64) (d uint64, skip bool) {
	switch f.aKind {
	case "iu8", "i8", "iu4":
		s := int64(int32(c))
		w := 64 - kindBits[f.aKind]
		for i := range a {
			s += int64(a[i]<<w) >> w * (int64(b[i]<<w) >> w)
		}
		return uint64(uint32(s)), false
	case "f64", "f32":
		g := f32fmt
		if f.aKind == "f64" {
			g = f64fmt
		}
		for i := range a {
			c = g.fma(a[i], b[i], c, true, 0xf0)
		}
		return c, false
	}
	fa, fb := f.format(f.aKind), f.format(f.bKind)
	f32 := f.format("f32")
	var p []matrixNumber
	limit := new(big.Int).Lsh(big.NewInt(1), matrixUnit+127)
	for i := range a {
		x, y := a[i], b[i]
		if f.aKind == "xf32" {
			x, y = x&^0x1fff, y&^0x1fff
		}
		na, nb := fa.number(x), fb.number(y)
		if f.cpu == "gfx90a" { // denormals are +0
			for _, n := range []*matrixNumber{&na, &nb} {
				if !n.nan && !n.inf && n.exp == 1-int(fa.bias) && new(big.Int).Abs(n.v).BitLen() <= int(matrixUnit)+n.exp {
					n.v, n.neg = new(big.Int), false
				}
			}
		}
		t := product(na, nb)
		skip = skip || f.cpu != "gfx90a" && new(big.Int).Abs(t.v).Cmp(limit) >= 0
		p = append(p, t)
	}
	step := func(n int, group func([]matrixNumber, matrixNumber) uint64) {
		for i := 0; i < len(p); i += n {
			c = group(p[i:min(i+n, len(p))], f32.number(c))
		}
	}
	switch {
	case f.wmma:
		out := fmtOf{}
		switch f.dKind {
		case "f16":
			out = f16fmt
		case "bf16":
			out = fmtOf{exp: 8, man: 7}
		}
		if out.exp != 0 {
			c = convert(out, f32fmt, c, 0xf0)
		}
		step(2, exactGroup)
		if out.exp != 0 {
			c = convert(f32fmt, out, c, 0xf0)
		}
	case f.cpu == "gfx908" && f.aKind == "bf16":
		step(2, exactGroup)
	case f.cpu == "gfx908":
		step(4, exactGroup)
	case f.cpu == "gfx90a":
		acc := f32.number(c)
		if !acc.nan && !acc.inf && acc.exp == -126 && new(big.Int).Abs(acc.v).BitLen() <= matrixUnit-126 {
			acc = matrixNumber{v: new(big.Int)}
		}
		n := 4
		if f.aKind == "bf16" && len(a)*f.m*f.blocks/64 == 2 {
			n = 2
		}
		for i, x := range p {
			if !x.nan && !x.inf {
				p[i] = flushedStep(x.v)
			}
		}
		for i := 0; i < len(p); i += n {
			s := flushedAdd(p[i], p[i+1])
			if n == 4 {
				s = flushedAdd(s, flushedAdd(p[i+2], p[i+3]))
			}
			acc = flushedAdd(acc, s)
		}
		return acc.f32(), false
	case f.aKind == "xf32":
		step(4, truncatedGroup)
	case kindBits[f.aKind] == 8:
		step(16, byteGroup)
	default:
		step(8, truncatedGroup)
	}
	return c, skip
}

// How random elements are chosen.
const (
	nearOne   = iota // exponents that meet
	allFinite        // of the whole range, denormals too
	special          // now and then a NaN or an infinity
	numDraws
)

// draw is a random element of kind, k to a row.
func (f *matrixForm) draw(r *rand.Rand, kind string, how, k int) uint64 {
	x := r.Uint64() & (1<<kindBits[kind] - 1)
	if kindBits[kind] == 64 {
		x = r.Uint64()
	}
	var exp, man, bias uint
	switch kind {
	case "i8", "iu8", "iu4", "i32":
		return x
	case "f64":
		exp, man, bias = 11, 52, 1023
	default:
		g := f.format(kind)
		exp, man, bias = g.exp, g.man, g.bias
	}
	e := uint64(0)
	top := uint64(1)<<exp - 1
	switch spread := min(int(bias)-1, 60); {
	case how == special && r.IntN(3*k) == 0:
		e = top // an infinity or a NaN where there are such
		if r.IntN(2) == 0 {
			x &^= 1<<man - 1
		}
		if kindBits[kind] == 8 && f.format(kind).fnuz {
			return 0x80
		}
	case how == nearOne, how == special:
		e = uint64(int(bias) + r.IntN(7) - 3)
	default:
		if e = uint64(int(bias) + r.IntN(2*spread+1) - spread); r.IntN(8) == 0 {
			e = 0
		}
	}
	return x&^(top<<man) | e<<man
}
