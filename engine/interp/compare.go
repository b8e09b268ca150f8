package interp

import (
	"math"

	"github.com/pumice-gpu/pumice/engine/ir"
)

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
