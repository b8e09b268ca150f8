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
