// Package fp is the floating-point arithmetic of AMDGPU shaders, bit for bit and independent of the host.
//
// # The real unit
//
// A wave's MODE register chooses the rounding (one field for f32, one for f16 and f64), whether denormal inputs and
// results are flushed to zero (keeping the sign), IEEE mode (minimum and maximum signal on signalling NaNs) and
// DX10_CLAMP (clamping a NaN gives 0). Additions, multiplications and fused multiply-adds round once. Conversions to
// integers truncate, saturate and turn NaN into 0 whatever MODE says. The transcendental unit ignores the rounding field
// and, in f32, treats denormals as zero.
//
// # This package
//
// Every function takes the environment as an ir.FP, and bit patterns in and out. Formats share one core: a number is
// unpacked to sign, exponent and a 128-bit significand, combined exactly, and packed by one rounding (format.go). The
// default environment has native fast paths for f32 and f64.
//
// NaN rule: the first argument that is a NaN is the result, made quiet. An invalid operation (inf-inf, 0*inf, sqrt of a
// negative) gives the negative quiet NaN, as v_div_fixup documents and x86 does. A result is flushed when it is below the
// normal range after rounding with unbounded exponent, like x86's.
//
// fidelity: approximate nan-payload: which NaN of two wins, and the sign of a generated one, are not published
//
// Rcp, Rsq and Sqrt are correctly rounded, which is within the manuals' error bounds and makes the compiler's own
// division and square-root sequences correctly rounded too. Exp2, Log2, Sin and Cos in f32 round a float64 result.
//
// fidelity: approximate transcendentals: the unit's own last-bit errors are not published
package fp
