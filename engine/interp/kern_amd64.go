package interp

import (
	"golang.org/x/sys/cpu"

	"github.com/pumice-gpu/pumice/engine/fp"
	"github.com/pumice-gpu/pumice/engine/ir"
)

// On CPUs with AVX2 and FMA the commonest loops run eight lanes at a time. Host arithmetic in its default state is the
// plain environment, but for which NaN comes out: eight lanes with a NaN among their results are done in Go.

//go:noescape
func avxAdd(d, a, b, c *lanes, n int)

//go:noescape
func avxSub(d, a, b, c *lanes, n int)

//go:noescape
func avxMul(d, a, b, c *lanes, n int)

//go:noescape
func avxAnd(d, a, b, c *lanes, n int)

//go:noescape
func avxOr(d, a, b, c *lanes, n int)

//go:noescape
func avxXor(d, a, b, c *lanes, n int)

//go:noescape
func avxMinU(d, a, b, c *lanes, n int)

//go:noescape
func avxMaxU(d, a, b, c *lanes, n int)

//go:noescape
func avxMinS(d, a, b, c *lanes, n int)

//go:noescape
func avxMaxS(d, a, b, c *lanes, n int)

//go:noescape
func avxShl(d, a, b, c *lanes, n int)

//go:noescape
func avxLShr(d, a, b, c *lanes, n int)

//go:noescape
func avxAShr(d, a, b, c *lanes, n int)

//go:noescape
func avxFAdd(d, a, b *lanes, from, n int) int

//go:noescape
func avxFSub(d, a, b *lanes, from, n int) int

//go:noescape
func avxFMul(d, a, b *lanes, from, n int) int

//go:noescape
func avxFMA(d, a, b, c *lanes, from, n int) int

//go:noescape
func avxAdd64(d0, d1, a0, a1, b0, b1, c0, c1 *lanes, n int)

//go:noescape
func avxSub64(d0, d1, a0, a1, b0, b1, c0, c1 *lanes, n int)

//go:noescape
func avxFAdd64(d0, d1, a0, a1, b0, b1 *lanes, from, n int) int

//go:noescape
func avxFMul64(d0, d1, a0, a1, b0, b1 *lanes, from, n int) int

//go:noescape
func avxFMA64(d0, d1, a0, a1, b0, b1, c0, c1 *lanes, from, n int) int

//go:noescape
func avxSplat(d *lanes, x uint32)

//go:noescape
func avxSelect(d, a, b *lanes, mask uint64, n int)

//go:noescape
func avxEQ(a, b *lanes, n int) uint64

//go:noescape
func avxSGT(a, b *lanes, n int) uint64

//go:noescape
func avxSLT(a, b *lanes, n int) uint64

//go:noescape
func avxUGE(a, b *lanes, n int) uint64

//go:noescape
func avxULE(a, b *lanes, n int) uint64

//go:noescape
func avxFLT(a, b *lanes, n int) uint64

//go:noescape
func avxFEQ(a, b *lanes, n int) uint64

//go:noescape
func avxFLE(a, b *lanes, n int) uint64

//go:noescape
func avxFU(a, b *lanes, n int) uint64

//go:noescape
func avxStride(a *lanes, step uint32, n int) bool

var haveAVX = cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasBMI2

var avxLoops = map[ir.Op]kern32{ir.OpAdd: avxAdd, ir.OpSub: avxSub, ir.OpMul: avxMul, ir.OpAnd: avxAnd, ir.OpOr: avxOr, ir.OpXor: avxXor,
	ir.OpMinU: avxMinU, ir.OpMaxU: avxMaxU, ir.OpMinS: avxMinS, ir.OpMaxS: avxMaxS, ir.OpShl: avxShl, ir.OpLShr: avxLShr, ir.OpAShr: avxAShr}

// hostLoop returns the host's own loop for v, or nil.
func hostLoop(v *ir.Value) kern32 {
	if !haveAVX {
		return nil
	}
	if k := avxLoops[v.Op]; k != nil {
		return k
	}
	if v.Kind != ir.F32 || !plainFP(v) {
		return nil
	}
	switch v.Op {
	case ir.OpFAdd:
		return floatLoop(avxFAdd, fp.Add)
	case ir.OpFSub:
		return floatLoop(avxFSub, fp.Sub)
	case ir.OpFMul:
		return floatLoop(avxFMul, fp.Mul)
	case ir.OpFMA:
		return hostFMA
	}
	return nil
}

// hostLoop64 returns the host's own loop for v on 64-bit registers, or nil.
func hostLoop64(v *ir.Value) kern64 {
	if !haveAVX {
		return nil
	}
	switch v.Op {
	case ir.OpAdd:
		return avxAdd64
	case ir.OpSub:
		return avxSub64
	case ir.OpFAdd:
		return floatLoop64(avxFAdd64, fp.Add)
	case ir.OpFMul:
		return floatLoop64(avxFMul64, fp.Mul)
	case ir.OpFMA:
		return func(d0, d1, a0, a1, b0, b1, c0, c1 *lanes, n int) {
			for l := avxFMA64(d0, d1, a0, a1, b0, b1, c0, c1, 0, n); l < n; {
				for range 8 {
					x := fp.FMA(ir.F64, 0, join(a0, a1, l), join(b0, b1, l), join(c0, c1, l))
					d0[l], d1[l] = uint32(x), uint32(x>>32)
					l++
				}
				if l < n {
					l = avxFMA64(d0, d1, a0, a1, b0, b1, c0, c1, l, n)
				}
			}
		}
	}
	return nil
}

// rule is the arithmetic that says which NaN comes out.
type rule = func(k ir.Kind, e ir.FP, a, b uint64) uint64

// join is lane l of a 64-bit value.
func join(lo, hi *lanes, l int) uint64 { return uint64(lo[l]) | uint64(hi[l])<<32 }

func floatLoop64(fast func(d0, d1, a0, a1, b0, b1 *lanes, from, n int) int, r rule) kern64 {
	return func(d0, d1, a0, a1, b0, b1, _, _ *lanes, n int) {
		for l := fast(d0, d1, a0, a1, b0, b1, 0, n); l < n; {
			for range 8 {
				x := r(ir.F64, 0, join(a0, a1, l), join(b0, b1, l))
				d0[l], d1[l] = uint32(x), uint32(x>>32)
				l++
			}
			if l < n {
				l = fast(d0, d1, a0, a1, b0, b1, l, n)
			}
		}
	}
}

func floatLoop(fast func(d, a, b *lanes, from, n int) int, r rule) kern32 {
	return func(d, a, b, c *lanes, n int) {
		for l := fast(d, a, b, 0, n); l < n; {
			for range 8 {
				d[l] = uint32(r(ir.F32, 0, uint64(a[l]), uint64(b[l])))
				l++
			}
			if l < n {
				l = fast(d, a, b, l, n)
			}
		}
	}
}

func hostFMA(d, a, b, c *lanes, n int) {
	for l := avxFMA(d, a, b, c, 0, n); l < n; {
		for range 8 {
			d[l] = uint32(fp.FMA(ir.F32, 0, uint64(a[l]), uint64(b[l]), uint64(c[l])))
			l++
		}
		if l < n {
			l = avxFMA(d, a, b, c, l, n)
		}
	}
}

// hostICmp and hostFCmp return comparison loops; not says that the result is to be inverted.
func hostICmp(p ir.Pred) (k func(a, b *lanes, n int) uint64, not bool) {
	if !haveAVX {
		return nil, false
	}
	switch p {
	case ir.EQ:
		return avxEQ, false
	case ir.NE:
		return avxEQ, true
	case ir.ULT:
		return avxUGE, true
	case ir.ULE:
		return avxULE, false
	case ir.UGT:
		return avxULE, true
	case ir.UGE:
		return avxUGE, false
	case ir.SLT:
		return avxSLT, false
	case ir.SLE:
		return avxSGT, true
	case ir.SGT:
		return avxSGT, false
	case ir.SGE:
		return avxSLT, true
	}
	return nil, false
}

func hostFCmp(p ir.Pred) (k func(a, b *lanes, n int) uint64, not bool) {
	if !haveAVX {
		return nil, false
	}
	swap := func(f func(a, b *lanes, n int) uint64) func(a, b *lanes, n int) uint64 {
		return func(a, b *lanes, n int) uint64 { return f(b, a, n) }
	}
	switch p {
	case ir.FLT:
		return avxFLT, false
	case ir.FEQ:
		return avxFEQ, false
	case ir.FLE:
		return avxFLE, false
	case ir.FGT:
		return swap(avxFLT), false
	case ir.FGE:
		return swap(avxFLE), false
	case ir.FO:
		return avxFU, true
	case ir.FU:
		return avxFU, false
	case ir.FNGE:
		return swap(avxFLE), true
	case ir.FNGT:
		return swap(avxFLT), true
	case ir.FNLE:
		return avxFLE, true
	case ir.FNEQ:
		return avxFEQ, true
	case ir.FNLT:
		return avxFLT, true
	}
	return nil, false
}
