package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// An f32 multiplication or fused multiply-add with a denormal factor, or whose result is denormal, costs the host an assist of its
// microcode: more than a hundred cycles, where additions, conversions, comparisons have none. GPUs have no such cost, so code may live on
// denormals. The soft form of a function (Options.Soft) does these two operations in f64, where no f32 number and no product of two is
// denormal. It takes some thirty times as long as the instruction does on normal numbers, a tenth of what the assists take, and gives the
// same bits; Worker.pick chooses.
//
// A product of two f32 is exact in f64, so the conversion of the result is the only rounding. A sum is not: it is rounded to odd, that is
// towards zero with the last bit set when something was lost, after which the conversion rounds as if from the exact sum (53 bits are two
// more than twice 24).

// soft tells whether v is one of the operations that a soft form does otherwise.
func (c *compiler) soft(v *ir.Value) bool {
	return c.m.Soft && !c.m.AVX2 && v.Kind == ir.F32 && plainFP(v.FP) && v.FP.Round() == 0
}

// widened gives halves of f32 operands as f64. Those of a uniform one are the same.
type widened struct {
	x    x86.Vec
	same bool
	f64  x86.Vec
}

func (r *region) widen(id ir.ID, i, u int) *widened {
	k := r.compOf(id, i)
	return &widened{x: r.zin(id, i, u, 4), same: k < 0 || r.c.comps[k].kind != compZ, f64: r.tmp()}
}

// half converts half h.
func (r *region) half(w *widened, h int) x86.Vec {
	a := &r.c.a
	const L = x86.L512
	switch {
	case h == 0:
		a.E(x86.VCVTPS2PD, L, uint8(w.f64), 0, x86.V(w.x), noMod)
	case !w.same:
		a.EI(x86.VEXTRACTI64X4, L, uint8(w.x), 0, x86.V(w.f64), 1, noMod)
		a.E(x86.VCVTPS2PD, L, uint8(w.f64), 0, x86.V(w.f64), noMod)
	}
	return w.f64
}

// softFloat emits component i of a multiplication or fused multiply-add.
func (r *region) softFloat(id ir.ID, v *ir.Value, i, u int) {
	a := &r.c.a
	const L = x86.L512
	x, y := r.widen(v.Args[0], i, u), r.widen(v.Args[1], i, u)
	var z *widened
	var high x86.Vec
	if v.Op == ir.OpFMA {
		z, high = r.widen(v.Args[2], i, u), r.tmp()
	}
	out, t := r.tmp(), r.tmp()
	for h := range 2 {
		p, q := r.half(x, h), r.half(y, h)
		if z == nil {
			a.E(x86.VMULPD, L, uint8(t), uint8(p), x86.V(q), noMod)
		} else {
			s := r.half(z, h)
			a.E(x86.VMOVDQU32, L, uint8(t), 0, x86.V(s), noMod)
			a.E(x86.VMOVDQU32, L, uint8(high), 0, x86.V(s), noMod)
			a.E(x86.VFMADD231PD, L, uint8(t), uint8(p), x86.V(q), x86.Rounded(x86.RoundDown))
			a.E(x86.VFMADD231PD, L, uint8(high), uint8(p), x86.V(q), x86.Rounded(x86.RoundUp))
			// Of two numbers of one sign the nearer one to zero has the smaller bits, and so has +0, which is the sum of x and -x.
			k := r.ktmp()
			a.EI(x86.VCMPPD, L, uint8(k), uint8(t), x86.V(high), 4, noMod)
			a.E(x86.VPMINUQ, L, uint8(t), uint8(t), x86.V(high), noMod)
			a.E(x86.VPORQ, L, uint8(t), uint8(t), r.constant(1, 8), x86.Masked(k))
		}
		if h == 0 {
			a.E(x86.VCVTPD2PS, L, uint8(out), 0, x86.V(t), noMod)
			continue
		}
		a.E(x86.VCVTPD2PS, L, uint8(t), 0, x86.V(t), noMod)
		a.EI(x86.VINSERTI64X4, L, uint8(out), uint8(out), x86.V(t), 1, noMod)
	}
	r.become(id, i, u, out)
}
