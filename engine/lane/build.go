package lane

import (
	"math"
	"math/bits"

	"github.com/pumice-gpu/pumice/engine/fp"
	"github.com/pumice-gpu/pumice/engine/ir"
)

const m32 = 1<<32 - 1

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// sext takes the low n bits of a as a signed number.
func sext(a uint64, n uint) int64 {
	if n == 0 {
		return 0
	}
	if n >= 64 {
		return int64(a)
	}
	return int64(a<<(64-n)) >> (64 - n)
}

// widthMask has the low w bits set.
func widthMask(w int) uint64 {
	if w == 64 {
		return ^uint64(0)
	}
	return 1<<uint(w) - 1
}

// narrow masks a float argument to its kind: only the low half of the register counts for f16 and bf16.
func narrow(k ir.Kind) uint64 {
	if n := k.Bits(); n != 0 {
		return widthMask(n)
	}
	return m32
}

func plain(f Fn) builder { return func(*ir.Value, int) Fn { return f } }

func int1(f func(a uint64, w uint) uint64) builder {
	return func(_ *ir.Value, width int) Fn {
		m, w := widthMask(width), uint(width)
		return func(a, _, _, _ uint64) uint64 { return f(a&m, w) }
	}
}

// int2 narrows the first argument; a second one of another width (shift counts) has no bits to lose.
func int2(f func(a, b uint64, w uint) uint64) builder {
	return func(_ *ir.Value, width int) Fn {
		m, w := widthMask(width), uint(width)
		return func(a, b, _, _ uint64) uint64 { return f(a&m, b&m, w) }
	}
}

func imm1(f func(a uint64, n, w uint) uint64) builder {
	return func(v *ir.Value, width int) Fn {
		m, n, w := widthMask(width), uint(min(v.Imm, 64)), uint(width)
		return func(a, _, _, _ uint64) uint64 { return f(a&m, n, w) }
	}
}

func carry(f func(a, b, c uint64, w uint) bool) builder {
	return func(_ *ir.Value, width int) Fn {
		m, w := widthMask(width), uint(width)
		return func(a, b, c, _ uint64) uint64 { return b2u(f(a&m, b&m, c, w)) }
	}
}

// sat builds a saturating operation on the low bits that Kind names (none: the whole register); the result is narrowed
// to them.
func sat(f func(a, b uint64, n uint) uint64) builder {
	return func(v *ir.Value, w int) Fn {
		n := uint(w)
		if k := v.Kind.Bits(); k != 0 && k < w {
			n = uint(k)
		}
		m := widthMask(int(n))
		return func(a, b, _, _ uint64) uint64 { return f(a&m, b&m, n) & m }
	}
}

// satS limits the sum s of a and b to n signed bits.
func satS(s, a, b int64, n uint) uint64 {
	lo, hi := int64(-1)<<(n-1), int64(1)<<(n-1)-1
	if n == 64 {
		lo, hi = math.MinInt64, math.MaxInt64
		if (a^s)&(b^s) < 0 {
			if a < 0 {
				return uint64(lo)
			}
			return uint64(hi)
		}
		return uint64(s)
	}
	return uint64(max(lo, min(hi, s)))
}

func mulHiU(a, b uint64, w uint) uint64 {
	if w == 32 {
		return a * b >> 32
	}
	h, _ := bits.Mul64(a, b)
	return h
}

func mulHiS(a, b uint64, w uint) uint64 {
	if w == 32 {
		return uint64(int64(int32(a)) * int64(int32(b)) >> 32)
	}
	h, _ := bits.Mul64(a, b)
	if int64(a) < 0 {
		h -= b
	}
	if int64(b) < 0 {
		h -= a
	}
	return h
}

// permB picks a byte of a:b for each selector byte: 0-7 a byte (b's are 0-3), 8-11 the sign of the bytes 1, 3, 5, 7, 12
// zero, above that all ones.
func permB(a, b, sel, _ uint64) uint64 {
	x := a<<32 | b&m32
	var r uint64
	for i := uint(0); i < 32; i += 8 {
		var v uint64
		switch s := sel >> i & 0xff; {
		case s < 8:
			v = x >> (8 * s) & 0xff
		case s < 12:
			v = -(x >> (16*(s-8) + 15) & 1) & 0xff
		case s > 12:
			v = 0xff
		}
		r |= v << i
	}
	return r
}

func icmp(v *ir.Value, w int) Fn {
	m, n := widthMask(w), uint(w)
	u := func(f func(a, b uint64) bool) Fn {
		return func(a, b, _, _ uint64) uint64 { return b2u(f(a&m, b&m)) }
	}
	s := func(f func(a, b int64) bool) Fn {
		return func(a, b, _, _ uint64) uint64 { return b2u(f(sext(a, n), sext(b, n))) }
	}
	switch v.Pred {
	case ir.EQ:
		return u(func(a, b uint64) bool { return a == b })
	case ir.NE:
		return u(func(a, b uint64) bool { return a != b })
	case ir.ULT:
		return u(func(a, b uint64) bool { return a < b })
	case ir.ULE:
		return u(func(a, b uint64) bool { return a <= b })
	case ir.UGT:
		return u(func(a, b uint64) bool { return a > b })
	case ir.UGE:
		return u(func(a, b uint64) bool { return a >= b })
	case ir.SLT:
		return s(func(a, b int64) bool { return a < b })
	case ir.SLE:
		return s(func(a, b int64) bool { return a <= b })
	case ir.SGT:
		return s(func(a, b int64) bool { return a > b })
	case ir.SGE:
		return s(func(a, b int64) bool { return a >= b })
	case ir.FTrue:
		return u(func(a, b uint64) bool { return true })
	case ir.FFalse:
		return u(func(a, b uint64) bool { return false })
	}
	return nil
}

// sad adds the absolute differences of a's and b's elements to c, modulo 2^32.
func sad(v *ir.Value, _ int) Fn {
	n := uint(v.Kind.Bits())
	if n == 0 || n > 32 {
		return nil
	}
	m := widthMask(int(n))
	return func(a, b, c, _ uint64) uint64 {
		for i := uint(0); i < 32; i += n {
			x, y := a>>i&m, b>>i&m
			c += max(x, y) - min(x, y)
		}
		return c
	}
}

// dot adds the products of a's and b's elements to c.
func dot(v *ir.Value, _ int) Fn {
	ka, kb, e, clamp := v.From, v.Kind, v.FP, v.Imm&1 != 0
	n := uint(ka.Bits())
	if n == 0 || n > 16 || uint(kb.Bits()) != n {
		return nil
	}
	m := widthMask(int(n))
	if ka.Float() {
		if ka != kb {
			return nil
		}
		//fidelity: approximate v_dot2_f32_f16: sequential fused steps; gfx11's adder complements without the carry
		return func(a, b, c, _ uint64) uint64 {
			for i := uint(0); i < 32; i += n {
				x, y := fp.Cvt(ka, ir.F32, 0, a>>i&m), fp.Cvt(kb, ir.F32, 0, b>>i&m)
				c = fp.FMA(ir.F32, e, x, y, c)
			}
			if clamp {
				c = fp.Clamp(ir.F32, e, c)
			}
			return c
		}
	}
	val := func(k ir.Kind, x uint64) int64 {
		if k.Signed() {
			return sext(x, n)
		}
		return int64(x)
	}
	signed := ka.Signed() || kb.Signed()
	return func(a, b, c, _ uint64) uint64 {
		s := int64(c & m32)
		if signed {
			s = int64(int32(c))
		}
		for i := uint(0); i < 32; i += n {
			s += val(ka, a>>i&m) * val(kb, b>>i&m)
		}
		if clamp {
			if signed {
				s = max(math.MinInt32, min(math.MaxInt32, s))
			} else {
				s = min(m32, s)
			}
		}
		return uint64(uint32(s))
	}
}

func float1(f func(k ir.Kind, e ir.FP, a uint64) uint64) builder {
	return func(v *ir.Value, _ int) Fn {
		n, k, e := narrow(v.Kind), v.Kind, v.FP
		return func(a, _, _, _ uint64) uint64 { return f(k, e, a&n) }
	}
}

func float2(f func(k ir.Kind, e ir.FP, a, b uint64) uint64) builder {
	return func(v *ir.Value, _ int) Fn {
		n, k, e := narrow(v.Kind), v.Kind, v.FP
		return func(a, b, _, _ uint64) uint64 { return f(k, e, a&n, b&n) }
	}
}

func float3(f func(k ir.Kind, e ir.FP, a, b, c uint64) uint64) builder {
	return func(v *ir.Value, _ int) Fn {
		n, k, e := narrow(v.Kind), v.Kind, v.FP
		return func(a, b, c, _ uint64) uint64 { return f(k, e, a&n, b&n, c&n) }
	}
}

// ldexp takes the exponent as a signed 32-bit number; for f16 only its low half counts.
func ldexp(v *ir.Value, _ int) Fn {
	n, k, e := narrow(v.Kind), v.Kind, v.FP
	if k == ir.F16 {
		return func(a, b, _, _ uint64) uint64 { return fp.Ldexp(k, e, a&n, int32(int16(b))) }
	}
	return func(a, b, _, _ uint64) uint64 { return fp.Ldexp(k, e, a&n, int32(b)) }
}

func cube(f func(x, y, z float32) float32) builder {
	return plain(func(a, b, c, _ uint64) uint64 {
		return uint64(math.Float32bits(f(math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b)), math.Float32frombits(uint32(c)))))
	})
}
