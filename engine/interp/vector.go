package interp

import (
	"math"
	"math/bits"

	"github.com/pumice-gpu/pumice/engine/fp"
	"github.com/pumice-gpu/pumice/engine/ir"
)

// The fast loops. Each does what package lane says for its operation; TestFastLoops holds them to it.

type (
	kern32 = func(d, a, b, c *lanes, n int)
	kern64 = func(d0, d1, a0, a1, b0, b1, c0, c1 *lanes, n int)
)

// fast gives in a fast loop where there is one.
func fast(in *inst, v *ir.Value, width int) {
	if in.res == argM {
		fastMask(in, v, width)
		return
	}
	for i, w := range in.w { // loops take per-lane arguments only
		if w == argM || w == arg32 || w == arg64 {
			if v.Op == ir.OpSelect && i == 0 && w == argM && width == 32 {
				in.run = runSelect
			}
			return
		}
	}
	if width == 32 && in.res == argV32 {
		k := hostLoop(v)
		if k == nil {
			k = loop32(v)
		}
		if k == nil {
			in.run = runFn
			return
		}
		in.run, in.k32 = runV32, k
		return
	}
	if k := loop64(v, width); k != nil {
		in.run, in.k64 = runV64, k
		return
	}
	// No loop of its own: one around the lane function, without asking in every lane what the arguments are.
	in.run = runFn
}

func fastMask(in *inst, v *ir.Value, width int) {
	if width != 32 || in.w[0] != argV32 || in.w[1] != argV32 {
		return
	}
	switch v.Op {
	case ir.OpICmp:
		if k, not := hostICmp(v.Pred); k != nil {
			in.maskLoop(k, not)
		} else if k := icmp32[min(v.Pred, ir.FTrue)]; k != nil {
			in.maskLoop(k, false)
		}
	case ir.OpFCmp:
		if v.Kind == ir.F32 && v.FP&ir.FPFlushIn == 0 {
			if k, not := hostFCmp(v.Pred); k != nil {
				in.maskLoop(k, not)
			} else if k := fcmp32(v.Pred); k != nil {
				in.maskLoop(k, false)
			}
		}
	case ir.OpCarryAdd, ir.OpBorrow:
		if in.w[2] == argNone || in.w[2] == argM {
			in.run, in.imm = runCarry, 0
			if v.Op == ir.OpBorrow {
				in.imm = 1
			}
		}
	}
}

func (in *inst) maskLoop(k func(a, b *lanes, n int) uint64, not bool) {
	in.run, in.km, in.imm = runMask32, k, b2u(not)
}

// plainFP reports whether v works in host arithmetic.
func plainFP(v *ir.Value) bool {
	return v.FP&(ir.FPRoundMask|ir.FPFlushIn|ir.FPFlushOut) == 0
}

func loop32(v *ir.Value) kern32 {
	switch v.Op {
	case ir.OpAdd:
		return kernAdd
	case ir.OpSub:
		return kernSub
	case ir.OpMul:
		return kernMul
	case ir.OpMulHiU:
		return kernMulHiU
	case ir.OpAnd:
		return kernAnd
	case ir.OpOr:
		return kernOr
	case ir.OpXor:
		return kernXor
	case ir.OpNot:
		return kernNot
	case ir.OpShl:
		return kernShl
	case ir.OpLShr:
		return kernLShr
	case ir.OpAShr:
		return kernAShr
	case ir.OpMinU:
		return kernMinU
	case ir.OpMaxU:
		return kernMaxU
	case ir.OpMinS:
		return kernMinS
	case ir.OpMaxS:
		return kernMaxS
	case ir.OpZext:
		if v.Imm < 32 {
			return func(d, a, _, _ *lanes, n int) {
				m := uint32(1)<<v.Imm - 1
				dd, aa := d[:n], a[:n]
				for l := range dd {
					dd[l] = aa[l] & m
				}
			}
		}
	case ir.OpSext:
		if v.Imm > 0 && v.Imm <= 32 {
			return func(d, a, _, _ *lanes, n int) {
				s := 32 - v.Imm
				dd, aa := d[:n], a[:n]
				for l := range dd {
					dd[l] = uint32(int32(aa[l]<<(s&31)) >> (s & 31))
				}
			}
		}
	case ir.OpFshr:
		return kernFshr
	case ir.OpFNeg:
		if v.Kind == ir.F32 {
			return kernFNeg
		}
	case ir.OpFAbs:
		if v.Kind == ir.F32 {
			return kernFAbs
		}
	case ir.OpCvt:
		return loopCvt(v)
	}
	if v.Kind != ir.F32 || !plainFP(v) {
		return nil
	}
	switch v.Op {
	case ir.OpFAdd:
		return kernFAdd
	case ir.OpFSub:
		return kernFSub
	case ir.OpFMul:
		return kernFMul
	case ir.OpFMA:
		return kernFMA
	case ir.OpFMin, ir.OpFMax:
		if v.Op == ir.OpFMin {
			return func(d, a, b, _ *lanes, n int) { kernFMin(d, a, b, v.FP, n) }
		}
		return func(d, a, b, _ *lanes, n int) { kernFMax(d, a, b, v.FP, n) }
	}
	return nil
}

func loopCvt(v *ir.Value) kern32 {
	if !plainFP(v) {
		return nil
	}
	switch {
	case v.From == ir.I32 && v.Kind == ir.F32:
		return func(d, a, _, _ *lanes, n int) {
			dd, aa := d[:n], a[:n]
			for l := range dd {
				dd[l] = math.Float32bits(float32(int32(aa[l])))
			}
		}
	case v.From == ir.U32 && v.Kind == ir.F32:
		return func(d, a, _, _ *lanes, n int) {
			dd, aa := d[:n], a[:n]
			for l := range dd {
				dd[l] = math.Float32bits(float32(int64(aa[l])))
			}
		}
	case v.From == ir.F32 && v.Kind == ir.I32:
		return func(d, a, _, _ *lanes, n int) {
			dd, aa := d[:n], a[:n]
			for l := range dd {
				x := math.Float32frombits(aa[l])
				if x > -2147483000 && x < 2147483000 {
					dd[l] = uint32(int32(x))
				} else {
					dd[l] = uint32(fp.Cvt(ir.F32, ir.I32, 0, uint64(aa[l])))
				}
			}
		}
	case v.From == ir.F32 && v.Kind == ir.U32:
		return func(d, a, _, _ *lanes, n int) {
			dd, aa := d[:n], a[:n]
			for l := range dd {
				x := math.Float32frombits(aa[l])
				if x >= 0 && x < 4294967000 {
					dd[l] = uint32(int64(x))
				} else {
					dd[l] = uint32(fp.Cvt(ir.F32, ir.U32, 0, uint64(aa[l])))
				}
			}
		}
	}
	return nil
}

func kernLaneID(d, _, _, _ *lanes, n int) {
	for l := range n {
		d[l&63] = uint32(l)
	}
}

func kernMbcntLo(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		m := uint32(1)<<uint(l) - 1 // all ones from lane 32 on
		dd[l] = uint32(bits.OnesCount32(aa[l]&m)) + bb[l]
	}
}

func kernMbcntHi(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		m := uint32(0)
		if l > 32 {
			m = uint32(1)<<uint(l-32) - 1
		}
		dd[l] = uint32(bits.OnesCount32(aa[l]&m)) + bb[l]
	}
}

func kernAdd(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		dd[l] = aa[l] + bb[l]
	}
}

func kernSub(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		dd[l] = aa[l] - bb[l]
	}
}

func kernMul(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		dd[l] = aa[l] * bb[l]
	}
}

func kernMulHiU(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		dd[l] = uint32(uint64(aa[l]) * uint64(bb[l]) >> 32)
	}
}

func kernAnd(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		dd[l] = aa[l] & bb[l]
	}
}

func kernOr(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		dd[l] = aa[l] | bb[l]
	}
}

func kernXor(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		dd[l] = aa[l] ^ bb[l]
	}
}

func kernNot(d, a, _, _ *lanes, n int) {
	dd, aa := d[:n], a[:n]
	for l := range dd {
		dd[l] = ^aa[l]
	}
}

func kernShl(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		dd[l] = aa[l] << (bb[l] & 31)
	}
}

func kernLShr(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		dd[l] = aa[l] >> (bb[l] & 31)
	}
}

func kernAShr(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		dd[l] = uint32(int32(aa[l]) >> (bb[l] & 31))
	}
}

func kernMinU(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		dd[l] = min(aa[l], bb[l])
	}
}

func kernMaxU(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		dd[l] = max(aa[l], bb[l])
	}
}

func kernMinS(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		dd[l] = uint32(min(int32(aa[l]), int32(bb[l])))
	}
}

func kernMaxS(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		dd[l] = uint32(max(int32(aa[l]), int32(bb[l])))
	}
}

func kernFshr(d, a, b, c *lanes, n int) {
	dd, aa, bb, cc := d[:n], a[:n], b[:n], c[:n]
	for l := range dd {
		dd[l] = uint32((uint64(aa[l])<<32 | uint64(bb[l])) >> (cc[l] & 31))
	}
}

func kernFNeg(d, a, _, _ *lanes, n int) {
	dd, aa := d[:n], a[:n]
	for l := range dd {
		dd[l] = aa[l] ^ 1<<31
	}
}

func kernFAbs(d, a, _, _ *lanes, n int) {
	dd, aa := d[:n], a[:n]
	for l := range dd {
		dd[l] = aa[l] &^ (1 << 31)
	}
}

// In host arithmetic a NaN result is made again by the rules.

func kernFAdd(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		r := math.Float32frombits(aa[l]) + math.Float32frombits(bb[l])
		u := math.Float32bits(r)
		if r != r {
			u = uint32(fp.Add(ir.F32, 0, uint64(aa[l]), uint64(bb[l])))
		}
		dd[l] = u
	}
}

func kernFSub(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		r := math.Float32frombits(aa[l]) - math.Float32frombits(bb[l])
		u := math.Float32bits(r)
		if r != r {
			u = uint32(fp.Sub(ir.F32, 0, uint64(aa[l]), uint64(bb[l])))
		}
		dd[l] = u
	}
}

func kernFMul(d, a, b, _ *lanes, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		r := math.Float32frombits(aa[l]) * math.Float32frombits(bb[l])
		u := math.Float32bits(r)
		if r != r {
			u = uint32(fp.Mul(ir.F32, 0, uint64(aa[l]), uint64(bb[l])))
		}
		dd[l] = u
	}
}

// kernFMA is fp.FastFMA32 inlined.
func kernFMA(d, a, b, c *lanes, n int) {
	dd, aa, bb, cc := d[:n], a[:n], b[:n], c[:n]
	for l := range dd {
		x := float64(math.Float32frombits(aa[l]))
		y := float64(math.Float32frombits(bb[l]))
		s := x*y + float64(math.Float32frombits(cc[l]))
		u := math.Float64bits(s)
		r := math.Float32bits(float32(s))
		// Half-way patterns, and exponents whose result is denormal, infinite or NaN; exact zeros are fine.
		if u&0x1fffffff == 0x10000000 || u>>52&0x7ff-897 > 0x7ff-897-1 && u<<1 != 0 {
			r = uint32(fp.FMA(ir.F32, 0, uint64(aa[l]), uint64(bb[l]), uint64(cc[l])))
		}
		dd[l] = r
	}
}

// f32 ordering for finite and infinite numbers of either sign, by comparing floats; equal numbers (zeros) and NaNs go
// the slow way.
func kernFMin(d, a, b *lanes, e ir.FP, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		x, y := math.Float32frombits(aa[l]), math.Float32frombits(bb[l])
		switch {
		case x < y:
			dd[l] = aa[l]
		case y < x:
			dd[l] = bb[l]
		default:
			dd[l] = uint32(fp.Min(ir.F32, e, uint64(aa[l]), uint64(bb[l])))
		}
	}
}

func kernFMax(d, a, b *lanes, e ir.FP, n int) {
	dd, aa, bb := d[:n], a[:n], b[:n]
	for l := range dd {
		x, y := math.Float32frombits(aa[l]), math.Float32frombits(bb[l])
		switch {
		case x > y:
			dd[l] = aa[l]
		case y > x:
			dd[l] = bb[l]
		default:
			dd[l] = uint32(fp.Max(ir.F32, e, uint64(aa[l]), uint64(bb[l])))
		}
	}
}

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

// Comparisons to a mask.

var icmp32 = [...]func(a, b *lanes, n int) uint64{
	ir.EQ:    cmp32(func(a, b uint32) bool { return a == b }),
	ir.NE:    cmp32(func(a, b uint32) bool { return a != b }),
	ir.ULT:   kernULT,
	ir.ULE:   cmp32(func(a, b uint32) bool { return a <= b }),
	ir.UGT:   func(a, b *lanes, n int) uint64 { return kernULT(b, a, n) },
	ir.UGE:   cmp32(func(a, b uint32) bool { return a >= b }),
	ir.SLT:   kernSLT,
	ir.SLE:   cmp32(func(a, b uint32) bool { return int32(a) <= int32(b) }),
	ir.SGT:   func(a, b *lanes, n int) uint64 { return kernSLT(b, a, n) },
	ir.SGE:   cmp32(func(a, b uint32) bool { return int32(a) >= int32(b) }),
	ir.FTrue: nil,
}

func cmp32(f func(a, b uint32) bool) func(a, b *lanes, n int) uint64 {
	return func(a, b *lanes, n int) uint64 {
		var r uint64
		for l := range n {
			r |= b2u(f(a[l&63], b[l&63])) << uint(l&63)
		}
		return r
	}
}

func kernULT(a, b *lanes, n int) uint64 {
	var r uint64
	aa, bb := a[:n], b[:n]
	for l := range aa {
		r |= (uint64(aa[l]) - uint64(bb[l])) >> 63 << uint(l&63)
	}
	return r
}

func kernSLT(a, b *lanes, n int) uint64 {
	var r uint64
	aa, bb := a[:n], b[:n]
	for l := range aa {
		r |= uint64(int64(int32(aa[l]))-int64(int32(bb[l]))) >> 63 << uint(l&63)
	}
	return r
}

func fcmp32(p ir.Pred) func(a, b *lanes, n int) uint64 {
	f := func(g func(x, y float32) bool) func(a, b *lanes, n int) uint64 {
		return cmp32(func(a, b uint32) bool { return g(math.Float32frombits(a), math.Float32frombits(b)) })
	}
	switch p {
	case ir.FLT:
		return f(func(x, y float32) bool { return x < y })
	case ir.FEQ:
		return f(func(x, y float32) bool { return x == y })
	case ir.FLE:
		return f(func(x, y float32) bool { return x <= y })
	case ir.FGT:
		return f(func(x, y float32) bool { return x > y })
	case ir.FLG:
		return f(func(x, y float32) bool { return x < y || x > y })
	case ir.FGE:
		return f(func(x, y float32) bool { return x >= y })
	case ir.FO:
		return f(func(x, y float32) bool { return x == x && y == y })
	case ir.FU:
		return f(func(x, y float32) bool { return x != x || y != y })
	case ir.FNGE:
		return f(func(x, y float32) bool { return !(x >= y) })
	case ir.FNLG:
		return f(func(x, y float32) bool { return !(x < y || x > y) })
	case ir.FNGT:
		return f(func(x, y float32) bool { return !(x > y) })
	case ir.FNLE:
		return f(func(x, y float32) bool { return !(x <= y) })
	case ir.FNEQ:
		return f(func(x, y float32) bool { return x != y })
	case ir.FNLT:
		return f(func(x, y float32) bool { return !(x < y) })
	}
	return nil
}

// fastUniform gives common uniform operations their own code.
func fastUniform(in *inst, v *ir.Value) {
	w32 := in.w[0] == arg32 && in.w[1] == arg32 && in.res == arg32
	w64 := in.w[0] == arg64 && in.w[1] == arg64 && in.res == arg64
	switch {
	case v.Op == ir.OpAdd && w32:
		in.run = func(m *machine, in *inst) bool {
			m.set64(in.d[0], uint64(m.s32(in.a[0])+m.s32(in.b[0])))
			return true
		}
	case v.Op == ir.OpAnd && w32:
		in.run = func(m *machine, in *inst) bool {
			m.set64(in.d[0], uint64(m.s32(in.a[0])&m.s32(in.b[0])))
			return true
		}
	case v.Op == ir.OpAdd && w64:
		in.run = func(m *machine, in *inst) bool {
			m.set64(in.d[0], m.s64(in.a[0])+m.s64(in.b[0]))
			return true
		}
	case v.Op == ir.OpAnd && w64:
		in.run = func(m *machine, in *inst) bool {
			m.set64(in.d[0], m.s64(in.a[0])&m.s64(in.b[0]))
			return true
		}
	case v.Op == ir.OpOr && w64:
		in.run = func(m *machine, in *inst) bool {
			m.set64(in.d[0], m.s64(in.a[0])|m.s64(in.b[0]))
			return true
		}
	}
}
