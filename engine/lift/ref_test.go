package lift_test

import (
	"fmt"
	"math/bits"
	"math/rand"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// ref is an integer instruction and what the ISA manuals say of it, written again in plain Go. Sources are v2, v4, v6 (or
// s2, s4, s6 for scalar ones), the result v0 (s0); 64-bit operands are pairs. In asm, D A B C stand for the operands,
// DD AA BB CC for pairs.
type ref struct {
	asm string
	f   func(a, b, c uint64) uint64
	scc func(a, b uint64) bool // scalar: SCC, nil when it must not change
}

func s32(x uint64) int64            { return int64(int32(x)) }
func u32(x uint64) uint64           { return uint64(uint32(x)) }
func s16(x uint64) int64            { return int64(int16(x)) }
func u16(x uint64) uint64           { return uint64(uint16(x)) }
func s24(x uint64) int64            { return int64(int32(x<<8)) >> 8 }
func u24(x uint64) uint64           { return x & 0xffffff }
func clampS(x, lo, hi int64) uint64 { return uint64(max(lo, min(hi, x))) }

func bytesOf(x uint64) (b [4]int) {
	for i := range b {
		b[i] = int(x >> (8 * i) & 255)
	}
	return b
}

func med3(a, b, c int64) int64 { return max(min(a, b), min(max(a, b), c)) }

func nibble(x uint64, i int) int64 { return int64(x<<(60-4*i)) >> 60 }

var vectorRefs = []ref{
	{asm: "v_add_u32 D, A, B", f: func(a, b, _ uint64) uint64 { return a + b }},
	{asm: "v_sub_u32 D, A, B", f: func(a, b, _ uint64) uint64 { return a - b }},
	{asm: "v_subrev_u32 D, A, B", f: func(a, b, _ uint64) uint64 { return b - a }},
	{asm: "v_add_u32 D, A, B clamp", f: func(a, b, _ uint64) uint64 { return min(u32(a)+u32(b), 0xffffffff) }},
	{asm: "v_sub_u32 D, A, B clamp", f: func(a, b, _ uint64) uint64 { return clampS(int64(u32(a))-int64(u32(b)), 0, 1<<32-1) }},
	{asm: "v_add_i32 D, A, B clamp", f: func(a, b, _ uint64) uint64 { return clampS(s32(a)+s32(b), -1<<31, 1<<31-1) }},
	{asm: "v_sub_i32 D, A, B clamp", f: func(a, b, _ uint64) uint64 { return clampS(s32(a)-s32(b), -1<<31, 1<<31-1) }},
	{asm: "v_mul_lo_u32 D, A, B", f: func(a, b, _ uint64) uint64 { return a * b }},
	{asm: "v_mul_hi_u32 D, A, B", f: func(a, b, _ uint64) uint64 { return u32(a) * u32(b) >> 32 }},
	{asm: "v_mul_hi_i32 D, A, B", f: func(a, b, _ uint64) uint64 { return uint64(s32(a) * s32(b) >> 32) }},
	{asm: "v_mul_i32_i24 D, A, B", f: func(a, b, _ uint64) uint64 { return uint64(s24(a) * s24(b)) }},
	{asm: "v_mul_hi_i32_i24 D, A, B", f: func(a, b, _ uint64) uint64 { return uint64(s24(a) * s24(b) >> 32) }},
	{asm: "v_mul_u32_u24 D, A, B", f: func(a, b, _ uint64) uint64 { return u24(a) * u24(b) }},
	{asm: "v_mul_hi_u32_u24 D, A, B", f: func(a, b, _ uint64) uint64 { return u24(a) * u24(b) >> 32 }},
	{asm: "v_mad_i32_i24 D, A, B, C", f: func(a, b, c uint64) uint64 { return uint64(s24(a)*s24(b)) + c }},
	{asm: "v_mad_u32_u24 D, A, B, C", f: func(a, b, c uint64) uint64 { return u24(a)*u24(b) + c }},
	{asm: "v_mad_u32_u24 D, A, B, C clamp", f: func(a, b, c uint64) uint64 { return min(u24(a)*u24(b)+u32(c), 0xffffffff) }},
	{asm: "v_mad_i32_i24 D, A, B, C clamp", f: func(a, b, c uint64) uint64 { return clampS(s24(a)*s24(b)+s32(c), -1<<31, 1<<31-1) }},
	{asm: "v_mad_u32_u16 D, A, B, C", f: func(a, b, c uint64) uint64 { return u16(a)*u16(b) + c }},
	{asm: "v_mad_i32_i16 D, A, B, C", f: func(a, b, c uint64) uint64 { return uint64(s16(a)*s16(b)) + c }},
	{asm: "v_min_i32 D, A, B", f: func(a, b, _ uint64) uint64 { return uint64(min(s32(a), s32(b))) }},
	{asm: "v_max_i32 D, A, B", f: func(a, b, _ uint64) uint64 { return uint64(max(s32(a), s32(b))) }},
	{asm: "v_min_u32 D, A, B", f: func(a, b, _ uint64) uint64 { return min(u32(a), u32(b)) }},
	{asm: "v_max_u32 D, A, B", f: func(a, b, _ uint64) uint64 { return max(u32(a), u32(b)) }},
	{asm: "v_min3_i32 D, A, B, C", f: func(a, b, c uint64) uint64 { return uint64(min(s32(a), s32(b), s32(c))) }},
	{asm: "v_max3_u32 D, A, B, C", f: func(a, b, c uint64) uint64 { return max(u32(a), u32(b), u32(c)) }},
	{asm: "v_med3_i32 D, A, B, C", f: func(a, b, c uint64) uint64 { return uint64(med3(s32(a), s32(b), s32(c))) }},
	{asm: "v_med3_u32 D, A, B, C", f: func(a, b, c uint64) uint64 { return uint64(med3(int64(u32(a)), int64(u32(b)), int64(u32(c)))) }},
	{asm: "v_lshlrev_b32 D, A, B", f: func(a, b, _ uint64) uint64 { return b << (a & 31) }},
	{asm: "v_lshrrev_b32 D, A, B", f: func(a, b, _ uint64) uint64 { return u32(b) >> (a & 31) }},
	{asm: "v_ashrrev_i32 D, A, B", f: func(a, b, _ uint64) uint64 { return uint64(s32(b) >> (a & 31)) }},
	{asm: "v_lshlrev_b64 DD, A, BB", f: func(a, b, _ uint64) uint64 { return b << (a & 63) }},
	{asm: "v_lshrrev_b64 DD, A, BB", f: func(a, b, _ uint64) uint64 { return b >> (a & 63) }},
	{asm: "v_ashrrev_i64 DD, A, BB", f: func(a, b, _ uint64) uint64 { return uint64(int64(b) >> (a & 63)) }},
	{asm: "v_and_b32 D, A, B", f: func(a, b, _ uint64) uint64 { return a & b }},
	{asm: "v_or_b32 D, A, B", f: func(a, b, _ uint64) uint64 { return a | b }},
	{asm: "v_xor_b32 D, A, B", f: func(a, b, _ uint64) uint64 { return a ^ b }},
	{asm: "v_xnor_b32 D, A, B", f: func(a, b, _ uint64) uint64 { return ^(a ^ b) }},
	{asm: "v_not_b32 D, A", f: func(a, _, _ uint64) uint64 { return ^a }},
	{asm: "v_bfrev_b32 D, A", f: func(a, _, _ uint64) uint64 { return uint64(bits.Reverse32(uint32(a))) }},
	{asm: "v_ffbh_u32 D, A", f: func(a, _, _ uint64) uint64 {
		if u32(a) == 0 {
			return 0xffffffff
		}
		return uint64(bits.LeadingZeros32(uint32(a)))
	}},
	{asm: "v_ffbl_b32 D, A", f: func(a, _, _ uint64) uint64 {
		if u32(a) == 0 {
			return 0xffffffff
		}
		return uint64(bits.TrailingZeros32(uint32(a)))
	}},
	{asm: "v_ffbh_i32 D, A", f: func(a, _, _ uint64) uint64 {
		for i := 1; i < 32; i++ {
			if a>>(31-i)&1 != a>>31&1 {
				return uint64(i)
			}
		}
		return 0xffffffff
	}},
	{asm: "v_bcnt_u32_b32 D, A, B", f: func(a, b, _ uint64) uint64 { return uint64(bits.OnesCount32(uint32(a))) + b }},
	{asm: "v_bfe_u32 D, A, B, C", f: func(a, b, c uint64) uint64 { return u32(a) >> (b & 31) & (1<<(c&31) - 1) }},
	{asm: "v_bfe_i32 D, A, B, C", f: func(a, b, c uint64) uint64 {
		n := c & 31
		x := uint64(s32(a)>>(b&31)) & (1<<n - 1)
		if n > 0 && x>>(n-1)&1 != 0 {
			x |= ^uint64(0) << n
		}
		return x
	}},
	{asm: "v_bfi_b32 D, A, B, C", f: func(a, b, c uint64) uint64 { return a&b | ^a&c }},
	{asm: "v_bfm_b32 D, A, B", f: func(a, b, _ uint64) uint64 { return (1<<(a&31) - 1) << (b & 31) }},
	{asm: "v_alignbit_b32 D, A, B, C", f: func(a, b, c uint64) uint64 { return (u32(a)<<32 | u32(b)) >> (c & 31) }},
	{asm: "v_alignbyte_b32 D, A, B, C", f: func(a, b, c uint64) uint64 { return (u32(a)<<32 | u32(b)) >> (8 * (c & 3)) }},
	{asm: "v_perm_b32 D, A, B, C", f: func(a, b, c uint64) uint64 {
		in := u32(a)<<32 | u32(b)
		var out uint64
		for i := range 4 {
			var x uint64
			switch s := c >> (8 * i) & 255; {
			case s >= 13:
				x = 255
			case s == 12:
			case s >= 8: // the sign of byte 1, 3, 5, 7
				if in>>(16*(s-8)+15)&1 != 0 {
					x = 255
				}
			default:
				x = in >> (8 * s) & 255
			}
			out |= x << (8 * i)
		}
		return out
	}},
	{asm: "v_xad_u32 D, A, B, C", f: func(a, b, c uint64) uint64 { return (a ^ b) + c }},
	{asm: "v_lshl_add_u32 D, A, B, C", f: func(a, b, c uint64) uint64 { return a<<(b&31) + c }},
	{asm: "v_add_lshl_u32 D, A, B, C", f: func(a, b, c uint64) uint64 { return (a + b) << (c & 31) }},
	{asm: "v_add3_u32 D, A, B, C", f: func(a, b, c uint64) uint64 { return a + b + c }},
	{asm: "v_lshl_or_b32 D, A, B, C", f: func(a, b, c uint64) uint64 { return a<<(b&31) | c }},
	{asm: "v_and_or_b32 D, A, B, C", f: func(a, b, c uint64) uint64 { return a&b | c }},
	{asm: "v_or3_b32 D, A, B, C", f: func(a, b, c uint64) uint64 { return a | b | c }},
	{asm: "v_lerp_u8 D, A, B, C", f: func(a, b, c uint64) uint64 {
		x, y, z := bytesOf(a), bytesOf(b), bytesOf(c)
		var r uint64
		for i := range 4 {
			r |= uint64((x[i]+y[i]+z[i]&1)>>1) << (8 * i)
		}
		return r
	}},
	{asm: "v_sad_u8 D, A, B, C", f: func(a, b, c uint64) uint64 { return sad(a, b, false) + c }},
	{asm: "v_sad_hi_u8 D, A, B, C", f: func(a, b, c uint64) uint64 { return sad(a, b, false)<<16 + c }},
	{asm: "v_msad_u8 D, A, B, C", f: func(a, b, c uint64) uint64 { return sad(a, b, true) + c }},
	{asm: "v_sad_u16 D, A, B, C", f: func(a, b, c uint64) uint64 {
		d := func(x, y uint64) uint64 { return max(x, y) - min(x, y) }
		return d(u16(a), u16(b)) + d(u16(a>>16), u16(b>>16)) + c
	}},
	{asm: "v_sad_u32 D, A, B, C", f: func(a, b, c uint64) uint64 { return max(u32(a), u32(b)) - min(u32(a), u32(b)) + c }},
	{asm: "v_qsad_pk_u16_u8 DD, AA, B, CC", f: func(a, b, c uint64) uint64 {
		var r uint64
		for i := range 4 {
			r |= u16(sad(a>>(8*i), b, false)+c>>(16*i)) << (16 * i)
		}
		return r
	}},
	{asm: "v_mqsad_pk_u16_u8 DD, AA, B, CC", f: func(a, b, c uint64) uint64 {
		var r uint64
		for i := range 4 {
			r |= u16(sad(a>>(8*i), b, true)+c>>(16*i)) << (16 * i)
		}
		return r
	}},
	{asm: "v_mad_u64_u32 DD, s[8:9], A, B, CC", f: func(a, b, c uint64) uint64 { return u32(a)*u32(b) + c }},
	{asm: "v_mad_i64_i32 DD, s[8:9], A, B, CC", f: func(a, b, c uint64) uint64 { return uint64(s32(a)*s32(b)) + c }},
	{asm: "v_cvt_pk_u16_u32 D, A, B", f: func(a, b, _ uint64) uint64 { return min(u32(a), 0xffff) | min(u32(b), 0xffff)<<16 }},
	{asm: "v_cvt_pk_i16_i32 D, A, B", f: func(a, b, _ uint64) uint64 {
		return u16(clampS(s32(a), -32768, 32767)) | u16(clampS(s32(b), -32768, 32767))<<16
	}},
	{asm: "v_sat_pk_u8_i16 D, A", f: func(a, _, _ uint64) uint64 { return clampS(s16(a), 0, 255) | clampS(s16(a>>16), 0, 255)<<8 }},
	// 16 bits: the other half is zero on gfx9, except for mad.
	{asm: "v_add_u16 D, A, B", f: func(a, b, _ uint64) uint64 { return u16(a + b) }},
	{asm: "v_sub_u16 D, A, B", f: func(a, b, _ uint64) uint64 { return u16(a - b) }},
	{asm: "v_mul_lo_u16 D, A, B", f: func(a, b, _ uint64) uint64 { return u16(a * b) }},
	{asm: "v_lshlrev_b16 D, A, B", f: func(a, b, _ uint64) uint64 { return u16(b << (a & 15)) }},
	{asm: "v_lshrrev_b16 D, A, B", f: func(a, b, _ uint64) uint64 { return u16(b) >> (a & 15) }},
	{asm: "v_ashrrev_i16 D, A, B", f: func(a, b, _ uint64) uint64 { return u16(uint64(s16(b) >> (a & 15))) }},
	{asm: "v_min_i16 D, A, B", f: func(a, b, _ uint64) uint64 { return u16(uint64(min(s16(a), s16(b)))) }},
	{asm: "v_max_u16 D, A, B", f: func(a, b, _ uint64) uint64 { return max(u16(a), u16(b)) }},
	{asm: "v_mad_legacy_u16 D, A, B, C", f: func(a, b, c uint64) uint64 { return u16(a*b + c) }},
	{asm: "v_mad_legacy_i16 D, A, B, C", f: func(a, b, c uint64) uint64 { return u16(a*b + c) }},
	{asm: "v_add_i16 D, A, B clamp", f: func(a, b, _ uint64) uint64 { return u16(clampS(s16(a)+s16(b), -32768, 32767)) }},
	{asm: "v_sub_u16 D, A, B clamp", f: func(a, b, _ uint64) uint64 { return clampS(int64(u16(a))-int64(u16(b)), 0, 65535) }},
	// Packed.
	{asm: "v_pk_mad_i16 D, A, B, C", f: halves(func(a, b, c int64) int64 { return a*b + c })},
	{asm: "v_pk_mad_u16 D, A, B, C clamp", f: halvesU(func(a, b, c int64) int64 { return min(a*b+c, 65535) })},
	{asm: "v_pk_mad_i16 D, A, B, C clamp", f: halves(func(a, b, c int64) int64 { return max(-32768, min(a*b+c, 32767)) })},
	{asm: "v_pk_add_u16 D, A, B", f: halvesU(func(a, b, _ int64) int64 { return a + b })},
	{asm: "v_pk_sub_i16 D, A, B clamp", f: halves(func(a, b, _ int64) int64 { return max(-32768, min(a-b, 32767)) })},
	{asm: "v_pk_max_i16 D, A, B", f: halves(func(a, b, _ int64) int64 { return max(a, b) })},
	{asm: "v_pk_min_u16 D, A, B", f: halvesU(func(a, b, _ int64) int64 { return min(a, b) })},
	{asm: "v_pk_lshlrev_b16 D, A, B", f: halvesU(func(a, b, _ int64) int64 { return b << (a & 15) })},
	{asm: "v_pk_lshrrev_b16 D, A, B", f: halvesU(func(a, b, _ int64) int64 { return b >> (a & 15) })},
	{asm: "v_pk_ashrrev_i16 D, A, B", f: halves(func(a, b, _ int64) int64 { return b >> (a & 15) })},
	{asm: "v_pk_mul_lo_u16 D, A, B", f: halvesU(func(a, b, _ int64) int64 { return a * b })},
	// Dot products.
	{asm: "v_dot4_i32_i8 D, A, B, C", f: func(a, b, c uint64) uint64 {
		for i := range 4 {
			c += uint64(int64(int8(a>>(8*i))) * int64(int8(b>>(8*i))))
		}
		return c
	}},
	{asm: "v_dot4_u32_u8 D, A, B, C clamp", f: func(a, b, c uint64) uint64 {
		x, y := bytesOf(a), bytesOf(b)
		c = u32(c)
		for i := range 4 {
			c += uint64(x[i] * y[i])
		}
		return min(c, 0xffffffff)
	}},
	{asm: "v_dot4_i32_i8 D, A, B, C clamp", f: func(a, b, c uint64) uint64 {
		s := s32(c)
		for i := range 4 {
			s += int64(int8(a>>(8*i))) * int64(int8(b>>(8*i)))
		}
		return clampS(s, -1<<31, 1<<31-1)
	}},
	{asm: "v_dot8_i32_i4 D, A, B, C", f: func(a, b, c uint64) uint64 {
		for i := range 8 {
			c += uint64(nibble(a, i) * nibble(b, i))
		}
		return c
	}},
	{asm: "v_dot8_u32_u4 D, A, B, C", f: func(a, b, c uint64) uint64 {
		for i := range 8 {
			c += (a >> (4 * i) & 15) * (b >> (4 * i) & 15)
		}
		return c
	}},
	{asm: "v_dot2_i32_i16 D, A, B, C", f: func(a, b, c uint64) uint64 { return uint64(s16(a)*s16(b)+s16(a>>16)*s16(b>>16)) + c }},
	{asm: "v_dot2_u32_u16 D, A, B, C", f: func(a, b, c uint64) uint64 { return u16(a)*u16(b) + u16(a>>16)*u16(b>>16) + c }},
}

// sad is the sum of absolute byte differences; masked skips bytes of b that are 0.
func sad(a, b uint64, masked bool) (r uint64) {
	x, y := bytesOf(a), bytesOf(b)
	for i := range 4 {
		if !masked || y[i] != 0 {
			r += uint64(max(x[i], y[i]) - min(x[i], y[i]))
		}
	}
	return r
}

func halves(f func(a, b, c int64) int64) func(a, b, c uint64) uint64 {
	return func(a, b, c uint64) uint64 {
		return u16(uint64(f(s16(a), s16(b), s16(c)))) | u16(uint64(f(s16(a>>16), s16(b>>16), s16(c>>16))))<<16
	}
}

func halvesU(f func(a, b, c int64) int64) func(a, b, c uint64) uint64 {
	u := func(x uint64) int64 { return int64(u16(x)) }
	return func(a, b, c uint64) uint64 {
		return u16(uint64(f(u(a), u(b), u(c)))) | u16(uint64(f(u(a>>16), u(b>>16), u(c>>16))))<<16
	}
}

func notZero(f func(a, b, c uint64) uint64, mask uint64) func(a, b uint64) bool {
	return func(a, b uint64) bool { return f(a, b, 0)&mask != 0 }
}

// logic32 is a scalar instruction whose SCC says that the result is not zero.
func logic(asm string, mask uint64, f func(a, b, c uint64) uint64) ref {
	return ref{asm: asm, f: f, scc: notZero(f, mask)}
}

const m32, m64 = 0xffffffff, ^uint64(0)

var scalarRefs = []ref{
	{asm: "s_add_u32 D, A, B", f: func(a, b, _ uint64) uint64 { return a + b }, scc: func(a, b uint64) bool { return u32(a)+u32(b) > m32 }},
	{asm: "s_sub_u32 D, A, B", f: func(a, b, _ uint64) uint64 { return a - b }, scc: func(a, b uint64) bool { return u32(a) < u32(b) }},
	{asm: "s_add_i32 D, A, B", f: func(a, b, _ uint64) uint64 { return a + b }, scc: func(a, b uint64) bool { x := s32(a) + s32(b); return x != int64(int32(x)) }},
	{asm: "s_sub_i32 D, A, B", f: func(a, b, _ uint64) uint64 { return a - b }, scc: func(a, b uint64) bool { x := s32(a) - s32(b); return x != int64(int32(x)) }},
	{asm: "s_mul_i32 D, A, B", f: func(a, b, _ uint64) uint64 { return a * b }},
	{asm: "s_mul_hi_u32 D, A, B", f: func(a, b, _ uint64) uint64 { return u32(a) * u32(b) >> 32 }},
	{asm: "s_mul_hi_i32 D, A, B", f: func(a, b, _ uint64) uint64 { return uint64(s32(a) * s32(b) >> 32) }},
	{asm: "s_min_i32 D, A, B", f: func(a, b, _ uint64) uint64 { return uint64(min(s32(a), s32(b))) }, scc: func(a, b uint64) bool { return s32(a) < s32(b) }},
	{asm: "s_max_u32 D, A, B", f: func(a, b, _ uint64) uint64 { return max(u32(a), u32(b)) }, scc: func(a, b uint64) bool { return u32(a) > u32(b) }},
	logic("s_and_b32 D, A, B", m32, func(a, b, _ uint64) uint64 { return a & b }),
	logic("s_and_b64 DD, AA, BB", m64, func(a, b, _ uint64) uint64 { return a & b }),
	logic("s_or_b64 DD, AA, BB", m64, func(a, b, _ uint64) uint64 { return a | b }),
	logic("s_xor_b32 D, A, B", m32, func(a, b, _ uint64) uint64 { return a ^ b }),
	logic("s_andn2_b64 DD, AA, BB", m64, func(a, b, _ uint64) uint64 { return a &^ b }),
	logic("s_orn2_b32 D, A, B", m32, func(a, b, _ uint64) uint64 { return a | ^b }),
	logic("s_nand_b64 DD, AA, BB", m64, func(a, b, _ uint64) uint64 { return ^(a & b) }),
	logic("s_nor_b32 D, A, B", m32, func(a, b, _ uint64) uint64 { return ^(a | b) }),
	logic("s_xnor_b64 DD, AA, BB", m64, func(a, b, _ uint64) uint64 { return ^(a ^ b) }),
	logic("s_not_b64 DD, AA", m64, func(a, _, _ uint64) uint64 { return ^a }),
	logic("s_lshl_b32 D, A, B", m32, func(a, b, _ uint64) uint64 { return a << (b & 31) }),
	logic("s_lshl_b64 DD, AA, B", m64, func(a, b, _ uint64) uint64 { return a << (b & 63) }),
	logic("s_lshr_b64 DD, AA, B", m64, func(a, b, _ uint64) uint64 { return a >> (b & 63) }),
	logic("s_ashr_i32 D, A, B", m32, func(a, b, _ uint64) uint64 { return uint64(s32(a) >> (b & 31)) }),
	logic("s_ashr_i64 DD, AA, B", m64, func(a, b, _ uint64) uint64 { return uint64(int64(a) >> (b & 63)) }),
	logic("s_absdiff_i32 D, A, B", m32, func(a, b, _ uint64) uint64 {
		x := int32(uint32(a) - uint32(b))
		return uint64(max(x, -x))
	}),
	logic("s_abs_i32 D, A", m32, func(a, _, _ uint64) uint64 { x := int32(a); return uint64(max(x, -x)) }),
	logic("s_bcnt1_i32_b64 D, AA", m32, func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) }),
	logic("s_bfe_u32 D, A, B", m32, func(a, b, _ uint64) uint64 { return u32(a) >> (b & 31) & (1<<(b>>16&0x7f) - 1) }),
	logic("s_bfe_u64 DD, AA, B", m64, func(a, b, _ uint64) uint64 {
		if w := b >> 16 & 0x7f; w < 64 {
			return a >> (b & 63) & (1<<w - 1)
		}
		return a >> (b & 63)
	}),
	logic("s_wqm_b32 D, A", m32, func(a, _, _ uint64) uint64 {
		var r uint64
		for i := 0; i < 32; i += 4 {
			if a>>i&15 != 0 {
				r |= 15 << i
			}
		}
		return r
	}),
	logic("s_quadmask_b64 DD, AA", m64, func(a, _, _ uint64) uint64 {
		var r uint64
		for i := range 16 {
			if a>>(4*i)&15 != 0 {
				r |= 1 << i
			}
		}
		return r
	}),
	{asm: "s_lshl3_add_u32 D, A, B", f: func(a, b, _ uint64) uint64 { return a<<3 + b }, scc: func(a, b uint64) bool { return u32(a)<<3+u32(b) > m32 }},
	{asm: "s_bfm_b64 DD, A, B", f: func(a, b, _ uint64) uint64 { return (1<<(a&63) - 1) << (b & 63) }},
	{asm: "s_brev_b64 DD, AA", f: func(a, _, _ uint64) uint64 { return bits.Reverse64(a) }},
	{asm: "s_pack_lh_b32_b16 D, A, B", f: func(a, b, _ uint64) uint64 { return u16(a) | b&0xffff0000 }},
	{asm: "s_sext_i32_i8 D, A", f: func(a, _, _ uint64) uint64 { return uint64(int64(int8(a))) }},
	{asm: "s_bitset0_b32 D, A", f: func(a, _, _ uint64) uint64 { return 0x5a5a5a5a &^ (1 << (a & 31)) }},
	{asm: "s_bitreplicate_b64_b32 DD, A", f: func(a, _, _ uint64) uint64 {
		var r uint64
		for i := range 32 {
			r |= a >> i & 1 * 3 << (2 * i)
		}
		return r
	}},
	{asm: "s_ff1_i32_b64 D, AA", f: func(a, _, _ uint64) uint64 {
		if a == 0 {
			return m32
		}
		return uint64(bits.TrailingZeros64(a))
	}},
	{asm: "s_flbit_i32_b64 D, AA", f: func(a, _, _ uint64) uint64 {
		if a == 0 {
			return m32
		}
		return uint64(bits.LeadingZeros64(a))
	}},
}

var edges = []uint64{0, 1, 2, 3, 5, 31, 32, 33, 63, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffff, 0x800000, 0xffffff,
	0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, ^uint64(0),
	0x00010001, 0x7fff8000, 0x80007fff, 0xffff0000, 0x00080004, 0x00400020, 0x01020304, 0x0c0d0b0a, 0x00ff00ff, 0x55aa55aa55aa55aa}

func input(r *rand.Rand) uint64 {
	if r.Intn(2) == 0 {
		x := edges[r.Intn(len(edges))]
		if r.Intn(2) == 0 {
			x |= x << 32
		}
		return x
	}
	return r.Uint64() >> (r.Intn(4) * 16)
}

// expandAsm puts registers of a file into a template.
func expandAsm(asm, file string) string {
	name, ops, _ := strings.Cut(asm, " ")
	for _, o := range []struct {
		c string
		n int
	}{{"D", 0}, {"A", 2}, {"B", 4}, {"C", 6}} {
		ops = strings.ReplaceAll(ops, o.c+o.c, fmt.Sprintf("%s[%d:%d]", file, o.n, o.n+1))
		ops = strings.ReplaceAll(ops, o.c, fmt.Sprintf("%s%d", file, o.n))
	}
	return name + " " + ops
}

// TestIntegerReferences runs every integer instruction on edge values and random ones against its model.
func TestIntegerReferences(t *testing.T) {
	rounds := 160
	if testing.Short() {
		rounds = 4
	}
	var vs []*vector
	all := append(append([]ref{}, vectorRefs...), scalarRefs...)
	for i := range all {
		file := "v"
		if strings.HasPrefix(all[i].asm, "s_") {
			file = "s"
		}
		vs = append(vs, &vector{pos: all[i].asm, cpu: "gfx90a", lanes: 64, asm: expandAsm(all[i].asm, file)})
	}
	assembleAll(t, vs)
	m := newMachine(t, "gfx90a", 64)
	n := 0
	for i, ref := range all {
		r := rand.New(rand.NewSource(int64(i)))
		wide := strings.Contains(strings.SplitN(ref.asm, ",", 2)[0], "DD")
		for range rounds {
			if strings.HasPrefix(ref.asm, "s_") {
				for range 8 {
					n++
					checkScalar(t, m, vs[i].code, ref, wide, input(r), input(r))
				}
				continue
			}
			n += 64
			checkVector(t, m, vs[i].code, ref, wide, r)
			if t.Failed() {
				break
			}
		}
	}
	t.Logf("%d vectors for %d instructions", n, len(all))
}

func checkVector(t *testing.T, m *machine, code []byte, ref ref, wide bool, r *rand.Rand) {
	t.Helper()
	var in [3][64]uint64
	for k := range in {
		for l := range 64 {
			x := input(r)
			in[k][l] = x
			m.w.VGPR(2 + 2*k)[l], m.w.VGPR(3 + 2*k)[l] = uint32(x), uint32(x>>32)
		}
	}
	exec := r.Uint64()
	m.w.SetEXEC(exec)
	for l := range 64 {
		m.w.VGPR(0)[l], m.w.VGPR(1)[l] = 0xdeadbeef, 0xdeadbeef
	}
	if exit := m.run(code); exit != ir.ExitEndPgm {
		t.Errorf("%s: exit %v %s", ref.asm, exit, m.w.Illegal)
		return
	}
	for l := range 64 {
		got := uint64(m.w.VGPR(0)[l]) | uint64(m.w.VGPR(1)[l])<<32
		want := uint64(0xdeadbeefdeadbeef)
		if exec>>l&1 != 0 {
			x := ref.f(in[0][l], in[1][l], in[2][l])
			if wide {
				want = x
			} else {
				want = want&^m32 | u32(x)
			}
		}
		if got != want {
			t.Errorf("%s of %#x %#x %#x: %#x, want %#x", ref.asm, in[0][l], in[1][l], in[2][l], got, want)
			return
		}
	}
}

func checkScalar(t *testing.T, m *machine, code []byte, ref ref, wide bool, a, b uint64) {
	t.Helper()
	s := &m.w.S
	for k, x := range []uint64{0x5a5a5a5a5a5a5a5a, a, b} {
		s[2*k], s[2*k+1] = uint32(x), uint32(x>>32)
	}
	before := uint32(a & 1)
	s[isa.SRegSCC] = before
	if exit := m.run(code); exit != ir.ExitEndPgm {
		t.Errorf("%s: exit %v %s", ref.asm, exit, m.w.Illegal)
		return
	}
	got, want := uint64(s[0])|uint64(s[1])<<32, ref.f(a, b, 0)
	if !wide {
		want = u32(want) | 0x5a5a5a5a<<32
	}
	if got != want {
		t.Errorf("%s of %#x %#x: %#x, want %#x", ref.asm, a, b, got, want)
	}
	scc := before
	if ref.scc != nil {
		scc = 0
		if ref.scc(a, b) {
			scc = 1
		}
	}
	if s[isa.SRegSCC] != scc {
		t.Errorf("%s of %#x %#x: SCC %d, want %d", ref.asm, a, b, s[isa.SRegSCC], scc)
	}
}
