package fp

import (
	"math"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// f16 in the plain environment goes through float32 and float64: sums and products of two f16 numbers are exact or
// innocently rounded there (24 bits are more than twice 11 plus two), so only the last rounding counts.

// half32 converts f16 bits that are not a NaN to float32.
func half32(a uint64) float32 {
	m := uint32(a&0x7fff) << 13
	s := uint32(a&0x8000) << 16
	switch {
	case m < 0x400<<13: // zero or denormal: an integer in units of 2^-24
		return math.Float32frombits(math.Float32bits(float32(a&0x3ff)*0x1p-24) | s)
	case m >= 0x7c00<<13:
		return math.Float32frombits(m + 224<<23 | s)
	}
	return math.Float32frombits(m + 112<<23 | s)
}

// halfBits32 rounds a float32 that is not a NaN to f16, nearest even.
func halfBits32(x float32) uint64 {
	u := math.Float32bits(x)
	s := u >> 16 & 0x8000
	u &= 0x7fffffff
	switch {
	case u < 113<<23: // below the normal range: adding 1/2 leaves the units of 2^-24 in the low bits, rounded
		return uint64(s | math.Float32bits(math.Float32frombits(u)+0.5) - math.Float32bits(0.5))
	case u >= 0x477ff000: // 65520 and above
		return uint64(s | 0x7c00)
	}
	return uint64(s | (u-112<<23+0xfff+u>>13&1)>>13)
}

// isNaN16 reports whether f16 bits are a NaN.
func isNaN16(a uint64) bool { return a&0x7fff > 0x7c00 }

// fma16 is FMA of f16 in the plain environment; ok is false when the slow way must decide.
func fma16(a, b, c uint64) (uint64, bool) {
	s := float64(half32(a))*float64(half32(b)) + float64(half32(c))
	u := math.Float64bits(s)
	e := int(u >> 52 & 0x7ff)
	if u<<1 == 0 {
		return u >> 48, true
	}
	// The product is exact. The sum may have been rounded, which matters only half-way between two f16 numbers.
	if e < 1009 || e > 1038 || u&(1<<42-1) == 1<<41 {
		return 0, false
	}
	m := u&(1<<63-1) + 1<<41
	return u>>48&0x8000 | min((m-1008<<52)>>42, 0x7c00), true
}

// plain32 rounds a float64 that is not a NaN to f32, flushing denormal results; ok is false near the edge of the normal
// range.
func plain32(x float64) (uint64, bool) {
	r := math.Float32bits(float32(x))
	if m := r &^ (1 << 31); m > 0x00800000 {
		return uint64(r), true
	} else if x == 0 {
		return uint64(r), true
	}
	return 0, false
}

// half reports whether k, e is f16 in the plain environment.
func plainHalf(k ir.Kind, e ir.FP) bool { return k == ir.F16 && plain(e) && e&ir.FPOvfl == 0 }
