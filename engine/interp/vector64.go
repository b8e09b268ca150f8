package interp

import (
	"math"

	"github.com/pumice-gpu/pumice/engine/fp"
	"github.com/pumice-gpu/pumice/engine/ir"
)

// loop64 serves operations with a 64-bit result or argument.
func loop64(v *ir.Value, width int) kern64 {
	switch v.Op {
	case ir.OpMulU64:
		return func(d0, d1, a0, _, b0, _, _, _ *lanes, n int) {
			for l := range n {
				l &= 63
				x := uint64(a0[l]) * uint64(b0[l])
				d0[l], d1[l] = uint32(x), uint32(x>>32)
			}
		}
	case ir.OpMulS64:
		return func(d0, d1, a0, _, b0, _, _, _ *lanes, n int) {
			for l := range n {
				l &= 63
				x := int64(int32(a0[l])) * int64(int32(b0[l]))
				d0[l], d1[l] = uint32(x), uint32(x>>32)
			}
		}
	case ir.OpZext64:
		return func(d0, d1, a0, _, _, _, _, _ *lanes, n int) {
			for l := range n {
				l &= 63
				d0[l], d1[l] = a0[l], 0
			}
		}
	case ir.OpSext64:
		return func(d0, d1, a0, _, _, _, _, _ *lanes, n int) {
			for l := range n {
				l &= 63
				x := a0[l]
				d0[l], d1[l] = x, uint32(int32(x)>>31)
			}
		}
	case ir.OpCvt:
		return loopCvt64(v)
	}
	if width != 64 || v.Type != ir.V64 {
		return nil
	}
	if !v.Op.Float() || v.Kind == ir.F64 && plainFP(v) {
		if k := hostLoop64(v); k != nil {
			return k
		}
	}
	switch v.Op {
	case ir.OpAdd:
		return bin64(func(a, b uint64) uint64 { return a + b })
	case ir.OpSub:
		return bin64(func(a, b uint64) uint64 { return a - b })
	case ir.OpAnd:
		return bin64(func(a, b uint64) uint64 { return a & b })
	case ir.OpOr:
		return bin64(func(a, b uint64) uint64 { return a | b })
	case ir.OpXor:
		return bin64(func(a, b uint64) uint64 { return a ^ b })
	case ir.OpShl:
		return shift64(func(a uint64, s uint32) uint64 { return a << (s & 63) })
	case ir.OpLShr:
		return shift64(func(a uint64, s uint32) uint64 { return a >> (s & 63) })
	case ir.OpAShr:
		return shift64(func(a uint64, s uint32) uint64 { return uint64(int64(a) >> (s & 63)) })
	}
	if v.Kind != ir.F64 || !plainFP(v) {
		return nil
	}
	switch v.Op {
	case ir.OpFAdd:
		return kernFAdd64
	case ir.OpFMul:
		return kernFMul64
	case ir.OpFMA:
		return kernFMA64
	}
	return nil
}

func bin64(f func(a, b uint64) uint64) kern64 {
	return func(d0, d1, a0, a1, b0, b1, _, _ *lanes, n int) {
		for l := range n {
			l &= 63
			x := f(uint64(a0[l])|uint64(a1[l])<<32, uint64(b0[l])|uint64(b1[l])<<32)
			d0[l], d1[l] = uint32(x), uint32(x>>32)
		}
	}
}

func shift64(f func(a uint64, s uint32) uint64) kern64 {
	return func(d0, d1, a0, a1, b0, _, _, _ *lanes, n int) {
		for l := range n {
			l &= 63
			x := f(uint64(a0[l])|uint64(a1[l])<<32, b0[l])
			d0[l], d1[l] = uint32(x), uint32(x>>32)
		}
	}
}

func f64(lo, hi uint32) float64 { return math.Float64frombits(uint64(lo) | uint64(hi)<<32) }

func kernFAdd64(d0, d1, a0, a1, b0, b1, _, _ *lanes, n int) {
	for l := range n {
		l &= 63
		r := f64(a0[l], a1[l]) + f64(b0[l], b1[l])
		x := math.Float64bits(r)
		if r != r {
			x = fp.Add(ir.F64, 0, uint64(a0[l])|uint64(a1[l])<<32, uint64(b0[l])|uint64(b1[l])<<32)
		}
		d0[l], d1[l] = uint32(x), uint32(x>>32)
	}
}

func kernFMul64(d0, d1, a0, a1, b0, b1, _, _ *lanes, n int) {
	for l := range n {
		l &= 63
		r := f64(a0[l], a1[l]) * f64(b0[l], b1[l])
		x := math.Float64bits(r)
		if r != r {
			x = fp.Mul(ir.F64, 0, uint64(a0[l])|uint64(a1[l])<<32, uint64(b0[l])|uint64(b1[l])<<32)
		}
		d0[l], d1[l] = uint32(x), uint32(x>>32)
	}
}

func kernFMA64(d0, d1, a0, a1, b0, b1, c0, c1 *lanes, n int) {
	for l := range n {
		l &= 63
		r := math.FMA(f64(a0[l], a1[l]), f64(b0[l], b1[l]), f64(c0[l], c1[l]))
		x := math.Float64bits(r)
		if r != r {
			x = fp.FMA(ir.F64, 0, uint64(a0[l])|uint64(a1[l])<<32, uint64(b0[l])|uint64(b1[l])<<32, uint64(c0[l])|uint64(c1[l])<<32)
		}
		d0[l], d1[l] = uint32(x), uint32(x>>32)
	}
}

func loopCvt64(v *ir.Value) kern64 {
	if !plainFP(v) {
		return nil
	}
	switch {
	case v.From == ir.F32 && v.Kind == ir.F64:
		return func(d0, d1, a0, _, _, _, _, _ *lanes, n int) {
			for l := range n {
				l &= 63
				x := fp.Cvt(ir.F32, ir.F64, 0, uint64(a0[l]))
				d0[l], d1[l] = uint32(x), uint32(x>>32)
			}
		}
	case v.From == ir.I32 && v.Kind == ir.F64:
		return func(d0, d1, a0, _, _, _, _, _ *lanes, n int) {
			for l := range n {
				l &= 63
				x := math.Float64bits(float64(int32(a0[l])))
				d0[l], d1[l] = uint32(x), uint32(x>>32)
			}
		}
	}
	return nil
}
