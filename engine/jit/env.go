package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// MODE says for f32, and for f64 and f16 together, whether denormal inputs and results are zeros; MXCSR says it for
// everything. So a region has one environment: operations that want another one begin a new region, and a region whose
// environment is not the Program's switches MXCSR around itself. Tininess is judged after rounding by both machines.

// MXCSR bits: denormal inputs, denormal results are zeros.
const (
	mxcsrDAZ = 1 << 6
	mxcsrFTZ = 1 << 15
)

// floatEnv is what v wants of MXCSR's DAZ and FTZ bits. Operations that work under any setting are not sensitive; ok is
// false for those that no setting does right.
func floatEnv(v *ir.Value) (env uint32, sensitive, ok bool) {
	if !v.Op.Float() || v.Op == ir.OpFNeg || v.Op == ir.OpFAbs || v.Op == ir.OpMFMA || v.Op == ir.OpDot {
		return 0, false, true
	}
	in, out := v.FP&ir.FPFlushIn != 0, v.FP&ir.FPFlushOut != 0
	full := func(k ir.Kind) bool { return k == ir.F32 || k == ir.F64 }
	switch v.Op {
	case ir.OpFExp2, ir.OpFLog2, ir.OpFSin, ir.OpFCos:
		return 0, false, true
	case ir.OpFRsq, ir.OpFRcp, ir.OpFRcpIFlag, ir.OpFSqrt:
		if v.Kind == ir.F32 { // flush by themselves
			return 0, false, true
		}
		out = in || out
	case ir.OpFMant: // the classes of numbers that it asks for depend on DAZ
		return 0, true, !in
	case ir.OpFClass: // knows no MODE
		in, out = false, false
	case ir.OpFMad:
		if v.Kind == ir.F32 {
			in, out = true, true
		}
	case ir.OpFMin, ir.OpFMax, ir.OpFMed3, ir.OpFClamp, ir.OpFCanon: // either flag does
		in = in || out
		out = in
	case ir.OpFDivScale, ir.OpFDivScaleVCC, ir.OpFDivFixup, ir.OpFDivFmas:
		return 0, true, !in && !out
	case ir.OpCvt:
		switch {
		case !v.From.Float():
			return 0, false, true
		case v.From == ir.F16:
			return 0, false, !in
		case !v.Kind.Float():
			return 0, false, true // a denormal is 0 either way
		case v.Kind == ir.F16 && out:
			return 0, false, false
		}
	default:
		if !full(v.Kind) { // f16 by way of f32, where its denormals are normal
			return 0, false, !in && !out
		}
	}
	if v.Op != ir.OpCvt && !full(v.Kind) {
		return 0, false, !in && !out
	}
	if in {
		env |= mxcsrDAZ
	}
	if out {
		env |= mxcsrFTZ
	}
	return env, true, true
}

// regionEnv is the environment of a region's operations; set is false when they do not care.
func (c *compiler) regionEnv(ops []ir.ID) (env uint32, set bool) {
	for _, id := range ops {
		if e, sensitive, _ := floatEnv(c.v(id)); sensitive {
			return e, true
		}
	}
	return 0, false
}

// envOf is MXCSR for an environment.
func (c *compiler) envOf(env uint32) uint32 { return c.p.MXCSR&^(mxcsrDAZ|mxcsrFTZ) | env }

// enterEnv switches MXCSR for a region; the result undoes it.
func (c *compiler) enterEnv(ops []ir.ID) (leave func()) {
	env, set := c.regionEnv(ops)
	if want := c.envOf(env); set && want != c.p.MXCSR {
		c.a.Ldmxcsr(x86.ML(c.a.Const32(want), 0))
		return func() { c.a.Ldmxcsr(x86.ML(c.a.Const32(c.p.MXCSR), 0)) }
	}
	return func() {}
}
