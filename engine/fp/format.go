package fp

import (
	"math/bits"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// format describes a binary interchange format, or one that is like it.
type format struct {
	exp, man uint   // widths in bits
	bias     int    // exponent bias
	emin     int    // exponent of the smallest normal number
	emax     int    // exponent of the largest finite number
	maxMan   uint64 // fraction of the largest finite number
	kind     uint8
}

const (
	ieee  uint8 = iota
	ocpE4       // no infinity, NaN is all ones
	fnuz        // no infinity, no -0, NaN is 0x80
	mx          // neither infinity nor NaN
)

func ieeeFormat(exp, man uint) format {
	b := 1<<(exp-1) - 1
	return format{exp, man, b, 1 - b, b, 1<<man - 1, ieee}
}

var (
	fmtF16  = ieeeFormat(5, 10)
	fmtBF16 = ieeeFormat(8, 7)
	fmtF32  = ieeeFormat(8, 23)
	fmtF64  = ieeeFormat(11, 52)

	fmtE4OCP  = format{4, 3, 7, -6, 8, 6, ocpE4}
	fmtE5OCP  = ieeeFormat(5, 2)
	fmtE4FNUZ = format{4, 3, 8, -7, 7, 7, fnuz}
	fmtE5FNUZ = format{5, 2, 16, -15, 15, 3, fnuz}

	fmtE2M1 = format{2, 1, 1, 0, 2, 1, mx}
	fmtE2M3 = format{2, 3, 1, 0, 2, 7, mx}
	fmtE3M2 = format{3, 2, 3, -2, 4, 3, mx}
)

func formatOf(k ir.Kind, e ir.FP) *format {
	switch k {
	case ir.F16:
		return &fmtF16
	case ir.BF16:
		return &fmtBF16
	case ir.F64:
		return &fmtF64
	case ir.FP8:
		if e&ir.FPOCP != 0 {
			return &fmtE4OCP
		}
		return &fmtE4FNUZ
	case ir.BF8:
		if e&ir.FPOCP != 0 {
			return &fmtE5OCP
		}
		return &fmtE5FNUZ
	case ir.FP4:
		return &fmtE2M1
	case ir.FP6:
		return &fmtE2M3
	case ir.BF6:
		return &fmtE3M2
	}
	return &fmtF32
}

func (f *format) sign() uint64  { return 1 << (f.exp + f.man) }
func (f *format) emask() uint64 { return (1<<f.exp - 1) << f.man }
func (f *format) fmask() uint64 { return 1<<f.man - 1 }
func (f *format) quiet() uint64 { return 1 << (f.man - 1) }

// inf is only meant for ieee formats.
func (f *format) inf(neg bool) uint64 { return f.emask() | f.signIf(neg) }

func (f *format) signIf(neg bool) uint64 {
	if neg && f.kind != fnuz {
		return f.sign()
	}
	return 0
}

// maxFinite is the largest finite number.
func (f *format) maxFinite(neg bool) uint64 {
	b := uint64(f.emax+f.bias)<<f.man | f.maxMan
	if neg {
		b |= f.sign()
	}
	return b
}

// nan is the NaN of an invalid operation; of a format that has none, the largest number.
//
// fidelity: approximate mx-nan: NaN converted to FP4, FP6 or BF6 gives the largest number with its sign; hardware's choice is not published
func (f *format) nan() uint64 {
	switch f.kind {
	case fnuz:
		return f.sign()
	case ocpE4, mx:
		return f.sign() | f.emask() | f.fmask()
	}
	return f.sign() | f.emask() | f.quiet()
}

func (f *format) isNaN(b uint64) bool {
	switch f.kind {
	case fnuz:
		return b == f.sign()
	case ocpE4:
		return b&^f.sign() == f.emask()|f.fmask()
	case mx:
		return false
	}
	return b&^f.sign() > f.emask()
}

func (f *format) isSNaN(b uint64) bool { return f.kind == ieee && f.isNaN(b) && b&f.quiet() == 0 }
func (f *format) isInf(b uint64) bool  { return f.kind == ieee && b&^f.sign() == f.emask() }
func (f *format) isZero(b uint64) bool { return b&^f.sign() == 0 && !f.isNaN(b) }
func (f *format) isDenorm(b uint64) bool {
	return b&f.emask() == 0 && b&f.fmask() != 0
}

// in applies the input side of e to b.
func (f *format) in(e ir.FP, b uint64) uint64 {
	if e&ir.FPFlushIn != 0 && f.isDenorm(b) {
		return b & f.sign()
	}
	return b
}

// num is a finite number other than zero: ±1.xxx * 2^e, with the leading one in bit 63 of hi. A one in the last bit of
// lo may stand for any smaller nonzero tail. hi and lo are zero for zero.
type num struct {
	neg    bool
	e      int
	hi, lo uint64
}

func (n *num) zero() bool { return n.hi|n.lo == 0 }

// unpack takes a finite b apart.
func (f *format) unpack(b uint64) num {
	n := num{neg: b&f.sign() != 0}
	m, e := b&f.fmask(), int(b&f.emask()>>f.man)
	if e == 0 {
		if m == 0 {
			return n
		}
		z := bits.LeadingZeros64(m)
		n.hi = m << z
		n.e = f.emin + (63 - int(f.man)) - z
		return n
	}
	n.e = e - f.bias
	n.hi = (m | 1<<f.man) << (63 - f.man)
	return n
}

// shr shifts the significand right by s, keeping a nonzero tail in the last bit.
func (n *num) shr(s uint) {
	switch {
	case s == 0:
	case s < 64:
		t := n.lo << (64 - s)
		n.lo = n.lo>>s | n.hi<<(64-s)
		n.hi >>= s
		if t != 0 {
			n.lo |= 1
		}
	case s < 128:
		s -= 64
		t := n.lo
		if s > 0 {
			t |= n.hi << (64 - s)
		}
		n.lo = n.hi >> s
		n.hi = 0
		if t != 0 {
			n.lo |= 1
		}
	default:
		n.lo = 1
		n.hi = 0
	}
}

// norm moves the leading one to bit 63 of hi.
func (n *num) norm() {
	if n.hi == 0 {
		if n.lo == 0 {
			return
		}
		n.hi, n.lo = n.lo, 0
		n.e -= 64
	}
	if z := uint(bits.LeadingZeros64(n.hi)); z > 0 {
		n.hi = n.hi<<z | n.lo>>(64-z)
		n.lo <<= z
		n.e -= int(z)
	}
}

func mul(a, b num) num {
	hi, lo := bits.Mul64(a.hi, b.hi)
	n := num{neg: a.neg != b.neg, e: a.e + b.e + 1, hi: hi, lo: lo}
	n.norm()
	return n
}

// add returns a+b. When the sum is exactly zero its sign is that of rounding: negative only towards minus infinity,
// unless both are of one sign.
func add(a, b num, e ir.FP) num {
	switch {
	case a.zero() && b.zero():
		return num{neg: a.neg && b.neg || a.neg != b.neg && e.Round() == 2}
	case a.zero():
		return b
	case b.zero():
		return a
	}
	if a.e < b.e || a.e == b.e && (a.hi < b.hi || a.hi == b.hi && a.lo < b.lo) {
		a, b = b, a
	}
	// One bit of headroom; products have at least 21 zero bits below them, so nothing that matters falls off.
	d := uint(a.e - b.e)
	a.shr(1)
	a.e++
	b.shr(d + 1)
	var c uint64
	if a.neg == b.neg {
		a.lo, c = bits.Add64(a.lo, b.lo, 0)
		a.hi, _ = bits.Add64(a.hi, b.hi, c)
	} else {
		a.lo, c = bits.Sub64(a.lo, b.lo, 0)
		a.hi, _ = bits.Sub64(a.hi, b.hi, c)
		if a.hi|a.lo == 0 {
			return num{neg: e.Round() == 2}
		}
	}
	a.norm()
	return a
}

// round reports whether the magnitude is rounded up, given the bits dropped: half is the highest, rest says whether any
// other is set.
func roundUp(e ir.FP, neg, odd, half, rest bool) bool {
	switch e.Round() {
	case 0:
		return half && (rest || odd)
	case 1:
		return !neg && (half || rest)
	case 2:
		return neg && (half || rest)
	}
	return false
}

// pack rounds n to f under e.
func (f *format) pack(e ir.FP, n num) uint64 {
	if n.zero() {
		return f.signIf(n.neg)
	}
	// Round with unbounded exponent first: it decides tininess.
	drop := 63 - f.man // bits of hi below the fraction
	cut := func(hi, lo uint64, drop uint) (q uint64, half, rest bool) {
		switch {
		case drop < 64:
			return hi >> drop, hi>>(drop-1)&1 != 0, hi&(1<<(drop-1)-1)|lo != 0
		case drop == 64:
			return 0, hi>>63 != 0, hi<<1|lo != 0
		}
		return 0, false, true
	}
	q, half, rest := cut(n.hi, n.lo, drop)
	ex := n.e
	if roundUp(e, n.neg, q&1 != 0, half, rest) {
		if q++; q>>(f.man+1) != 0 {
			q >>= 1
			ex++
		}
	}
	if ex < f.emin {
		if e&ir.FPFlushOut != 0 {
			return f.signIf(n.neg)
		}
		d := drop + uint(min(f.emin-n.e, 128))
		q, half, rest = cut(n.hi, n.lo, d)
		if roundUp(e, n.neg, q&1 != 0, half, rest) {
			q++
		}
		if q == 0 {
			return f.signIf(n.neg)
		}
		b := q // a carry into the exponent field gives the smallest normal number
		if n.neg {
			b |= f.sign()
		}
		return b
	}
	if ex > f.emax || ex == f.emax && q&f.fmask() > f.maxMan {
		return f.overflow(e, n.neg)
	}
	b := uint64(ex+f.bias)<<f.man | q&f.fmask()
	if n.neg {
		b |= f.sign()
	}
	return b
}

// overflow is the result of a number beyond the largest finite one.
func (f *format) overflow(e ir.FP, neg bool) uint64 {
	r := e.Round()
	if r == 3 || r == 1 && neg || r == 2 && !neg || e&ir.FPOvfl != 0 && f.man <= 10 && f.exp <= 5 {
		return f.maxFinite(neg)
	}
	if f.kind != ieee {
		return f.nan()&^f.sign() | f.signIf(neg) | f.nanSign()
	}
	return f.inf(neg)
}

// nanSign is the sign bit that a NaN must have.
func (f *format) nanSign() uint64 {
	if f.kind == fnuz {
		return f.sign()
	}
	return 0
}
