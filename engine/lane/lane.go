// Package lane says what each pure IR operation computes in one lane, or for uniform values once.
//
// It is the plain statement of the operations' meaning: a function from argument bits to result bits, with Kind, FP, Imm
// and predicate already resolved. Engines take it for operations they have no faster way for, and test the fast ways
// against it. Operations that look across lanes, at memory or at registers are not here.
package lane

import (
	"math/bits"

	"github.com/pumice-gpu/pumice/engine/fp"
	"github.com/pumice-gpu/pumice/engine/ir"
)

// Fn computes one lane. Arguments of 32 bits come zero-extended; truth values and mask bits are 0 or 1. Result bits
// above the result's width are unspecified.
type Fn func(a, b, c, d uint64) uint64

// Func returns the function of v, whose first numeric argument is width (32 or 64) bits wide; nil when v is not an
// operation on single lanes. A carry-in that is absent must be passed as 0.
func Func(v *ir.Value, width int) Fn {
	if int(v.Op) < len(table) && table[v.Op] != nil {
		return table[v.Op](v, width)
	}
	return nil
}

type builder func(v *ir.Value, width int) Fn

// table has one line for each operation. int2 and friends narrow to the width, so that lines need not.
var table = [ir.NumOps]builder{
	ir.OpSplat:  int1(func(a uint64, _ uint) uint64 { return a }),
	ir.OpPair:   plain(func(a, b, _, _ uint64) uint64 { return a&m32 | b<<32 }),
	ir.OpLo:     plain(func(a, _, _, _ uint64) uint64 { return a & m32 }),
	ir.OpHi:     plain(func(a, _, _, _ uint64) uint64 { return a >> 32 }),
	ir.OpZext:   imm1(func(a uint64, n uint, _ uint) uint64 { return a & (1<<n - 1) }),
	ir.OpSext:   imm1(func(a uint64, n uint, _ uint) uint64 { return uint64(sext(a, n)) }),
	ir.OpBToS:   plain(func(a, _, _, _ uint64) uint64 { return a & 1 }),
	ir.OpMToV:   plain(func(a, _, _, _ uint64) uint64 { return a & 1 }),
	ir.OpSToB:   int1(func(a uint64, _ uint) uint64 { return b2u(a != 0) }),
	ir.OpZext64: plain(func(a, _, _, _ uint64) uint64 { return a & m32 }),
	ir.OpSext64: plain(func(a, _, _, _ uint64) uint64 { return uint64(int64(int32(a))) }),

	ir.OpAdd:    int2(func(a, b uint64, _ uint) uint64 { return a + b }),
	ir.OpSub:    int2(func(a, b uint64, _ uint) uint64 { return a - b }),
	ir.OpMul:    int2(func(a, b uint64, _ uint) uint64 { return a * b }),
	ir.OpMulHiU: int2(mulHiU),
	ir.OpMulHiS: int2(mulHiS),
	ir.OpMulU64: plain(func(a, b, _, _ uint64) uint64 { return (a & m32) * (b & m32) }),
	ir.OpMulS64: plain(func(a, b, _, _ uint64) uint64 { return uint64(int64(int32(a)) * int64(int32(b))) }),
	ir.OpAnd:    int2(func(a, b uint64, _ uint) uint64 { return a & b }),
	ir.OpOr:     int2(func(a, b uint64, _ uint) uint64 { return a | b }),
	ir.OpXor:    int2(func(a, b uint64, _ uint) uint64 { return a ^ b }),
	ir.OpNot:    int1(func(a uint64, _ uint) uint64 { return ^a }),
	ir.OpShl:    int2(func(a, b uint64, w uint) uint64 { return a << (b & uint64(w-1)) }),
	ir.OpLShr:   int2(func(a, b uint64, w uint) uint64 { return a >> (b & uint64(w-1)) }),
	ir.OpAShr:   int2(func(a, b uint64, w uint) uint64 { return uint64(sext(a, w) >> (b & uint64(w-1))) }),
	ir.OpMinU:   int2(func(a, b uint64, _ uint) uint64 { return min(a, b) }),
	ir.OpMaxU:   int2(func(a, b uint64, _ uint) uint64 { return max(a, b) }),
	ir.OpMinS:   int2(func(a, b uint64, w uint) uint64 { return uint64(min(sext(a, w), sext(b, w))) }),
	ir.OpMaxS:   int2(func(a, b uint64, w uint) uint64 { return uint64(max(sext(a, w), sext(b, w))) }),
	ir.OpAbs: int1(func(a uint64, w uint) uint64 {
		if s := sext(a, w); s < 0 {
			return uint64(-s)
		}
		return a
	}),
	ir.OpClz: int1(func(a uint64, w uint) uint64 {
		if a == 0 {
			return ^uint64(0)
		}
		return uint64(bits.LeadingZeros64(a)) - uint64(64-w)
	}),
	ir.OpCtz: int1(func(a uint64, _ uint) uint64 {
		if a == 0 {
			return ^uint64(0)
		}
		return uint64(bits.TrailingZeros64(a))
	}),
	ir.OpPopcnt: int1(func(a uint64, _ uint) uint64 { return uint64(bits.OnesCount64(a)) }),
	ir.OpBrev:   int1(func(a uint64, w uint) uint64 { return bits.Reverse64(a) >> (64 - w) }),
	ir.OpFshr:   plain(func(a, b, c, _ uint64) uint64 { return (a<<32 | b&m32) >> (c & 31) & m32 }),
	ir.OpPermB:  plain(permB),

	ir.OpCarryAdd: carry(func(a, b, c uint64, w uint) bool {
		s, o := bits.Add64(a, b, c&1)
		return o != 0 || w == 32 && s>>32 != 0
	}),
	ir.OpBorrow: carry(func(a, b, c uint64, _ uint) bool { return a < b || a == b && c&1 != 0 }),
	ir.OpOvfAdd: carry(func(a, b, _ uint64, w uint) bool { s := a + b; return (a^s)&(b^s)>>(w-1)&1 != 0 }),
	ir.OpOvfSub: carry(func(a, b, _ uint64, w uint) bool { return (a^b)&(a^(a-b))>>(w-1)&1 != 0 }),

	ir.OpAddSatU: sat(func(a, b uint64, n uint) uint64 {
		s, c := bits.Add64(a, b, 0)
		if c != 0 || n < 64 && s>>n != 0 {
			return ^uint64(0)
		}
		return s
	}),
	ir.OpSubSatU: sat(func(a, b uint64, _ uint) uint64 { return a - min(a, b) }),
	ir.OpAddSatS: sat(func(a, b uint64, n uint) uint64 { return satS(sext(a, n)+sext(b, n), sext(a, n), sext(b, n), n) }),
	ir.OpSubSatS: sat(func(a, b uint64, n uint) uint64 { return satS(sext(a, n)-sext(b, n), sext(a, n), ^sext(b, n), n) }),
	ir.OpICmp:    icmp,
	ir.OpSelect: plain(func(a, b, c, _ uint64) uint64 {
		if a&1 != 0 {
			return b
		}
		return c
	}),
	ir.OpSad: sad,
	ir.OpDot: dot,

	ir.OpMAnd: plain(func(a, b, _, _ uint64) uint64 { return a & b }),
	ir.OpMOr:  plain(func(a, b, _, _ uint64) uint64 { return a | b }),
	ir.OpMXor: plain(func(a, b, _, _ uint64) uint64 { return a ^ b }),

	ir.OpFAdd:       float2(fp.Add),
	ir.OpFSub:       float2(fp.Sub),
	ir.OpFMul:       float2(fp.Mul),
	ir.OpFMulLegacy: float2(fp.MulLegacy),
	ir.OpFMA:        float3(fp.FMA),
	ir.OpFMALegacy:  float3(fp.FMALegacy),
	ir.OpFMad:       float3(fp.Mad),
	ir.OpFMin:       float2(fp.Min),
	ir.OpFMax:       float2(fp.Max),
	ir.OpFMinP:      float2(fp.MinP),
	ir.OpFMaxP:      float2(fp.MaxP),
	ir.OpFMed3:      float3(fp.Med3),
	ir.OpFNeg:       float1(func(k ir.Kind, _ ir.FP, a uint64) uint64 { return fp.Neg(k, a) }),
	ir.OpFAbs:       float1(func(k ir.Kind, _ ir.FP, a uint64) uint64 { return fp.Abs(k, a) }),
	ir.OpFClamp:     float1(fp.Clamp),
	ir.OpFCanon:     float1(fp.Canon),
	ir.OpFOmod: func(v *ir.Value, _ int) Fn {
		n, k, e, mod := narrow(v.Kind), v.Kind, v.FP, v.Imm
		return func(a, _, _, _ uint64) uint64 { return fp.Omod(k, e, a&n, mod) }
	},
	ir.OpFRcp:      float1(fp.Rcp),
	ir.OpFRcpIFlag: float1(fp.Rcp),
	ir.OpFRsq:      float1(fp.Rsq),
	ir.OpFSqrt:     float1(fp.Sqrt),
	ir.OpFExp2:     float1(fp.Exp2),
	ir.OpFLog2:     float1(fp.Log2),
	ir.OpFSin:      float1(fp.Sin),
	ir.OpFCos:      float1(fp.Cos),
	ir.OpFFract:    float1(fp.Fract),
	ir.OpFTrunc:    float1(fp.Trunc),
	ir.OpFCeil:     float1(fp.Ceil),
	ir.OpFFloor:    float1(fp.Floor),
	ir.OpFRndne:    float1(fp.Rndne),
	ir.OpFLdexp:    ldexp,
	ir.OpFMant:     float1(fp.Mant),
	ir.OpFExp:      float1(func(k ir.Kind, e ir.FP, a uint64) uint64 { return uint64(uint32(fp.Exp(k, e, a))) }),
	ir.OpFClass: func(v *ir.Value, _ int) Fn {
		n, k := narrow(v.Kind), v.Kind
		return func(a, b, _, _ uint64) uint64 { return b2u(fp.Class(k, a&n, uint32(b))) }
	},
	ir.OpFCmp: func(v *ir.Value, _ int) Fn {
		n, k, e, p := narrow(v.Kind), v.Kind, v.FP, v.Pred
		return func(a, b, _, _ uint64) uint64 { return b2u(fp.Cmp(k, e, p, a&n, b&n)) }
	},
	ir.OpFDivScale: float3(func(k ir.Kind, e ir.FP, a, b, c uint64) uint64 {
		r, _ := fp.DivScale(k, e, a, b, c)
		return r
	}),
	ir.OpFDivScaleVCC: float3(func(k ir.Kind, e ir.FP, a, b, c uint64) uint64 {
		_, vcc := fp.DivScale(k, e, a, b, c)
		return b2u(vcc)
	}),
	ir.OpFDivFmas: func(v *ir.Value, _ int) Fn {
		n, k, e := narrow(v.Kind), v.Kind, v.FP
		return func(a, b, c, d uint64) uint64 { return fp.DivFmas(k, e, a&n, b&n, c&n, d&1 != 0) }
	},
	ir.OpFDivFixup:  float3(fp.DivFixup),
	ir.OpFTrigPreop: plain(func(a, b, _, _ uint64) uint64 { return fp.TrigPreop(a, uint32(b)) }),
	ir.OpFCubeID:    cube(fp.CubeID),
	ir.OpFCubeSC:    cube(fp.CubeSC),
	ir.OpFCubeTC:    cube(fp.CubeTC),
	ir.OpFCubeMA:    cube(fp.CubeMA),

	ir.OpCvt: func(v *ir.Value, _ int) Fn {
		from, to, e := v.From, v.Kind, v.FP
		return func(a, _, _, _ uint64) uint64 { return fp.Cvt(from, to, e, a) }
	},
	ir.OpCvtRpi: plain(func(a, _, _, _ uint64) uint64 { return uint64(fp.CvtRpi(uint32(a))) }),
	ir.OpCvtFlr: plain(func(a, _, _, _ uint64) uint64 { return uint64(fp.CvtFlr(uint32(a))) }),
	ir.OpCvtNorm: func(v *ir.Value, _ int) Fn {
		n, from, to, e := narrow(v.From), v.From, v.Kind, v.FP
		return func(a, _, _, _ uint64) uint64 { return fp.CvtNorm(from, to, e, a&n) }
	},
	ir.OpCvtPkRTZ: func(v *ir.Value, _ int) Fn {
		e := v.FP
		return func(a, b, _, _ uint64) uint64 { return fp.CvtPkRTZ(e, a&m32, b&m32) }
	},
	ir.OpCvtSR: func(v *ir.Value, _ int) Fn {
		n, from, to, e := narrow(v.From), v.From, v.Kind, v.FP
		return func(a, b, _, _ uint64) uint64 { return fp.CvtSR(from, to, e, a&n, uint32(b)) }
	},
	ir.OpCvtOff4: plain(func(a, _, _, _ uint64) uint64 { return uint64(fp.CvtOff4(uint32(a))) }),
}
