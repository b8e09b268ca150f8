package fp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// CDNA1's groups are exact sums with one rounding: the model adds in math/big.
func TestExactGroups(t *testing.T) {
	for _, k := range []ir.Kind{ir.F16, ir.BF16} {
		f := formatOf(k, 0)
		v := &vectors{f, rand.New(rand.NewPCG(21, uint64(k)))}
		cv := &vectors{&fmtF32, v.r}
		n := 4
		if k == ir.BF16 {
			n = 2
		}
		dot := MatrixDot(&ir.Matrix{M: 32, N: 32, K: n, Blocks: 1, A: k, B: k, C: ir.F32, Gen: 1}, 0)
		for range 20_000 {
			a, b := make([]uint64, n), make([]uint64, n)
			c := cv.one()
			bad := fmtF32.isNaN(c) || fmtF32.isInf(c)
			sum := new(big.Float).SetPrec(4000)
			for i := range a {
				a[i], b[i] = v.one(), v.one()
				if i > 0 && v.r.IntN(4) == 0 { // cancel
					a[i], b[i] = a[i-1]^f.sign(), b[i-1]
				}
				if bad = bad || f.isNaN(a[i]) || f.isNaN(b[i]) || f.isInf(a[i]) || f.isInf(b[i]); !bad {
					sum.Add(sum, new(big.Float).SetPrec(4000).Mul(exact(f, a[i]), exact(f, b[i])))
				}
			}
			if bad {
				continue
			}
			sum.Add(sum, exact(&fmtF32, c))
			want := uint64(0)
			if sum.Sign() != 0 {
				want = roundModel(&fmtF32, 0, sum)
			}
			if got := dot(a, b, c); got&^(1<<31) != want&^(1<<31) || want&^(1<<31) != 0 && got != want {
				t.Fatalf("%s %x . %x + %x = %#x, want %#x", k, a, b, c, got, want)
			}
		}
	}
}

// truncModel is CDNA3's group sum in math/big, from the published description: products cut at 24 bits below the largest
// exponent, the sum rounded down at 31 and c at 24 bits below the larger one.
func truncModel(f *format, a, b []uint64, c uint64) uint64 {
	type fe struct {
		x *big.Float
		e int
	}
	expOf := func(f *format, b uint64) int { return max(int(b&f.emask()>>f.man), 1) - f.bias }
	cut := func(x *big.Float, unit int, mode big.RoundingMode) *big.Float {
		y := new(big.Float).SetPrec(4000).SetMantExp(x, -unit)
		n, acc := y.Int(nil)
		if mode == big.ToNegativeInf && acc == big.Above {
			n.Sub(n, big.NewInt(1))
		}
		return new(big.Float).SetPrec(4000).SetMantExp(new(big.Float).SetPrec(4000).SetInt(n), unit)
	}
	var p []fe
	em := math.MinInt
	for i := range a {
		x := fe{new(big.Float).SetPrec(4000).Mul(exact(f, a[i]), exact(f, b[i])), expOf(f, a[i]) + expOf(f, b[i])}
		if x.x.Sign() == 0 {
			x.e = -126
		}
		em = max(em, x.e)
		p = append(p, x)
	}
	sum := new(big.Float).SetPrec(4000)
	for _, x := range p {
		sum.Add(sum, cut(x.x, em-24, big.ToZero))
	}
	ec := expOf(&fmtF32, c)
	e := max(em, ec)
	sum = cut(sum, e-31, big.ToNegativeInf)
	sum.Add(sum, cut(exact(&fmtF32, c), e-24, big.ToNegativeInf))
	if sum.Sign() == 0 {
		return 0
	}
	return roundModel(&fmtF32, 0, sum)
}

func TestTruncatedGroups(t *testing.T) {
	for _, k := range []ir.Kind{ir.F16, ir.BF16} {
		f := formatOf(k, 0)
		v := &vectors{f, rand.New(rand.NewPCG(22, uint64(k)))}
		cv := &vectors{&fmtF32, v.r}
		dot := MatrixDot(&ir.Matrix{M: 16, N: 16, K: 16, Blocks: 1, A: k, B: k, C: ir.F32, Gen: 3}, 0)
	next:
		for range 20_000 {
			a, b := make([]uint64, 16), make([]uint64, 16)
			c := cv.one()
			for i := range a {
				a[i], b[i] = v.one(), v.one()
				if f.isNaN(a[i]) || f.isNaN(b[i]) || f.isInf(a[i]) || f.isInf(b[i]) || fmtF32.isNaN(c) || fmtF32.isInf(c) {
					continue next
				}
				if exact(f, a[i]).MantExp(nil)+exact(f, b[i]).MantExp(nil) > 126 {
					continue next // overflow has its own rule
				}
			}
			want := truncModel(f, a[:8], b[:8], c)
			if fmtF32.isInf(want) {
				continue
			}
			want = truncModel(f, a[8:], b[8:], want)
			if got := dot(a, b, c); got != want {
				t.Fatalf("%s %x . %x + %x = %#x, want %#x", k, a, b, c, got, want)
			}
		}
	}
}

func TestMatrixCases(t *testing.T) {
	h := func(x ...float64) []uint64 {
		var l []uint64
		for _, v := range x {
			l = append(l, Cvt(ir.F64, ir.F16, 0, math.Float64bits(v)))
		}
		return l
	}
	f32 := func(x float32) uint64 { return uint64(math.Float32bits(x)) }
	f16 := func(gen uint8) *ir.Matrix {
		return &ir.Matrix{M: 16, N: 16, K: 4, Blocks: 1, A: ir.F16, B: ir.F16, C: ir.F32, Gen: gen}
	}
	tiny := []uint64{1, 0, 0, 0} // the smallest f16 denormal
	for _, c := range []struct {
		name string
		m    *ir.Matrix
		a, b []uint64
		c    uint64
		want uint64
	}{
		{"cdna1 keeps denormals", f16(1), tiny, h(1, 0, 0, 0), 0, f32(0x1p-24)},
		{"cdna2 flushes denormals", f16(2), tiny, h(1, 0, 0, 0), 0, 0},
		{"cdna3 keeps denormals", f16(3), tiny, h(1, 0, 0, 0), 0, f32(0x1p-24)},
		{"cdna1 is exact", f16(1), h(32768, -32768, 0x1p-14, 0), h(1024, 1024, 1, 0), 0, f32(0x1p-14)},
		{"cdna3 cuts", f16(3), h(32768, -32768, 0x1p-14, 0), h(1024, 1024, 1, 0), 0, 0},
		{"cdna2 adds pairs", f16(2), h(32768, 1, -32768, 1), h(1024, 1, 1024, 1), 0, f32(0)},
		{"inf times zero", f16(3), []uint64{0x7c00, 0, 0, 0}, h(0, 0, 0, 0), 0, 0xffc00000},
		{"inf", f16(1), []uint64{0x7c00, 0, 0, 0}, h(-1, 0, 0, 0), 0, 0xff800000},
		{"i8", &ir.Matrix{A: ir.I8, B: ir.I8, C: ir.I32, K: 2}, []uint64{0x80, 0x7f}, []uint64{0x80, 1}, 5, 128*128 + 127 + 5},
		{"iu8 unsigned clamp", &ir.Matrix{A: ir.I8, B: ir.I8, C: ir.I32, WMMA: true, Clamp: true, Gen: 11}, []uint64{0xff}, []uint64{0xff}, 0x7fffffff, 0x7fffffff},
		{"xf32 cuts inputs", &ir.Matrix{A: ir.F32, B: ir.F32, C: ir.F32, XF32: true, Gen: 3}, []uint64{0x3f801fff}, []uint64{0x3f800000}, 0, 0x3f800000},
		{"f32 chain", &ir.Matrix{A: ir.F32, B: ir.F32, C: ir.F32, Gen: 3}, []uint64{f32(1 + 0x1p-23), f32(-1)}, []uint64{f32(1 + 0x1p-23), f32(1 + 0x1p-22)}, 0, 0},
		{"wmma f16 out", &ir.Matrix{A: ir.F16, B: ir.F16, C: ir.F16, WMMA: true, Gen: 11}, h(2, 3), h(4, 5), h(1)[0], h(24)[0]},
		{"wmma neg c", &ir.Matrix{A: ir.F16, B: ir.F16, C: ir.F32, WMMA: true, Gen: 12, Neg: 4}, h(2, 3), h(4, 5), f32(1), f32(22)},
	} {
		if got := MatrixDot(c.m, 0)(c.a, c.b, c.c); got != c.want {
			t.Errorf("%s = %#x, want %#x", c.name, got, c.want)
		}
	}
}
