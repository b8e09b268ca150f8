package interp

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/fp"
	"github.com/pumice-gpu/pumice/engine/ir"
)

// matrixShape is one instruction: where a lane's elements come from is written out here once more, from the manuals'
// tables, so that it does not lean on matrix.go.
type matrixShape struct {
	name   string
	m      ir.Matrix
	lanes  int
	regsA  int
	regsC  int
	aAt    func(lane, e int) (blk, row, k int) // element e of a lane
	cAt    func(lane, r int) (blk, row, col int)
	elemsA int
	elemsC int
}

func mfma(name string, m, n, k, blocks int, a, c ir.Kind, gen uint8, aAt func(l, e int) (int, int, int), elemsA int, cAt func(l, r int) (int, int, int), elemsC int) matrixShape {
	ca := c.Bits() / 32
	return matrixShape{name: name, m: ir.Matrix{M: m, N: n, K: k, Blocks: blocks, A: a, B: a, C: c, Gen: gen}, lanes: 64,
		regsA: max(1, elemsA*a.Bits()/32), regsC: elemsC * ca, aAt: aAt, cAt: cAt, elemsA: elemsA, elemsC: elemsC}
}

func c32(l, r int) (int, int, int)   { return r / 16, 8*(r%16/4) + 4*(l/32) + r%4, l % 32 }
func c16(l, r int) (int, int, int)   { return 0, 4*(l/16) + r, l % 16 }
func c16x4(l, r int) (int, int, int) { return r / 4, 4*(l/16) + r%4, l % 16 }
func c4(l, r int) (int, int, int)    { return l / 4, r, l % 4 }

var matrixShapes = []matrixShape{
	mfma("32x32x1_2b f32", 32, 32, 1, 2, ir.F32, ir.F32, 1, func(l, e int) (int, int, int) { return l / 32, l % 32, 0 }, 1, c32, 32),
	mfma("16x16x1_4b f32", 16, 16, 1, 4, ir.F32, ir.F32, 1, func(l, e int) (int, int, int) { return l / 16, l % 16, 0 }, 1, c16x4, 16),
	mfma("4x4x1_16b f32", 4, 4, 1, 16, ir.F32, ir.F32, 1, func(l, e int) (int, int, int) { return l / 4, l % 4, 0 }, 1, c4, 4),
	mfma("32x32x2 f32", 32, 32, 2, 1, ir.F32, ir.F32, 1, func(l, e int) (int, int, int) { return 0, l % 32, l / 32 }, 1, c32, 16),
	mfma("16x16x4 f32", 16, 16, 4, 1, ir.F32, ir.F32, 2, func(l, e int) (int, int, int) { return 0, l % 16, l / 16 }, 1, c16, 4),
	mfma("32x32x8 f16", 32, 32, 8, 1, ir.F16, ir.F32, 1, func(l, e int) (int, int, int) { return 0, l % 32, 4*(l/32) + e }, 4, c32, 16),
	mfma("16x16x16 f16", 16, 16, 16, 1, ir.F16, ir.F32, 2, func(l, e int) (int, int, int) { return 0, l % 16, 4*(l/16) + e }, 4, c16, 4),
	mfma("16x16x16 f16 cdna3", 16, 16, 16, 1, ir.F16, ir.F32, 3, func(l, e int) (int, int, int) { return 0, l % 16, 4*(l/16) + e }, 4, c16, 4),
	mfma("4x4x4_16b f16", 4, 4, 4, 16, ir.F16, ir.F32, 2, func(l, e int) (int, int, int) { return l / 4, l % 4, e }, 4, c4, 4),
	mfma("16x16x4_4b bf16", 16, 16, 4, 4, ir.BF16, ir.F32, 3, func(l, e int) (int, int, int) { return l / 16, l % 16, e }, 4, c16x4, 16),
	mfma("32x32x4 bf16", 32, 32, 4, 1, ir.BF16, ir.F32, 2, func(l, e int) (int, int, int) { return 0, l % 32, 2*(l/32) + e }, 2, c32, 16),
	mfma("16x16x16 i8", 16, 16, 16, 1, ir.I8, ir.I32, 2, func(l, e int) (int, int, int) { return 0, l % 16, 4*(l/16) + e }, 4, c16, 4),
	mfma("32x32x16 i8", 32, 32, 16, 1, ir.I8, ir.I32, 3, func(l, e int) (int, int, int) { return 0, l % 32, 8*(l/32) + e }, 8, c32, 16),
	mfma("16x16x32 fp8", 16, 16, 32, 1, ir.FP8, ir.F32, 3, func(l, e int) (int, int, int) { return 0, l % 16, 8*(l/16) + e }, 8, c16, 4),
	mfma("16x16x4 f64", 16, 16, 4, 1, ir.F64, ir.F64, 2, func(l, e int) (int, int, int) { return 0, l % 16, l / 16 }, 1,
		func(l, r int) (int, int, int) { return 0, 4*r + l/16, l % 16 }, 4),
	mfma("4x4x4_4b f64", 4, 4, 4, 4, ir.F64, ir.F64, 2, func(l, e int) (int, int, int) { return l / 4 % 4, l % 4, l / 16 }, 1,
		func(l, r int) (int, int, int) { return l / 4 % 4, l / 16, l % 4 }, 1),
	{name: "16x16x8 xf32", m: ir.Matrix{M: 16, N: 16, K: 8, Blocks: 1, A: ir.F32, B: ir.F32, C: ir.F32, Gen: 3, XF32: true}, lanes: 64, regsA: 2,
		regsC: 4, elemsA: 2, elemsC: 4, aAt: func(l, e int) (int, int, int) { return 0, l % 16, 2*(l/16) + e }, cAt: c16},
	{name: "wmma f32 f16 gfx11", m: ir.Matrix{M: 16, N: 16, K: 16, Blocks: 1, A: ir.F16, B: ir.F16, C: ir.F32, Gen: 11, WMMA: true}, lanes: 32, regsA: 8,
		regsC: 8, elemsA: 16, elemsC: 8, aAt: func(l, e int) (int, int, int) { return 0, l % 16, e },
		cAt: func(l, r int) (int, int, int) { return 0, 2*r + l/16, l % 16 }},
	{name: "wmma i32 iu8 gfx11 wave64", m: ir.Matrix{M: 16, N: 16, K: 16, Blocks: 1, A: ir.I8, B: ir.I8, C: ir.I32, Gen: 11, WMMA: true, Neg: 3}, lanes: 64,
		regsA: 4, regsC: 4, elemsA: 16, elemsC: 4, aAt: func(l, e int) (int, int, int) { return 0, l % 16, e },
		cAt: func(l, r int) (int, int, int) { return 0, 4*r + l/16, l % 16 }},
	{name: "wmma f32 f16 gfx12", m: ir.Matrix{M: 16, N: 16, K: 16, Blocks: 1, A: ir.F16, B: ir.F16, C: ir.F32, Gen: 12, WMMA: true}, lanes: 32, regsA: 4,
		regsC: 8, elemsA: 8, elemsC: 8, aAt: func(l, e int) (int, int, int) { return 0, l % 16, 8*(l/16) + e },
		cAt: func(l, r int) (int, int, int) { return 0, 8*(l/16) + r, l % 16 }},
}

// TestMatrixShapes multiplies small integers, which are exact in every format and order.
func TestMatrixShapes(t *testing.T) {
	for _, s := range matrixShapes {
		t.Run(s.name, func(t *testing.T) { s.test(t, 0, 0) })
	}
	s := matrixShapes[1]
	s.m.CBSZ, s.m.ABID = 1, 1
	t.Run("cbsz 1 abid 1", func(t *testing.T) { s.test(t, 1, 1) })
}

func toBits(k ir.Kind, x int) uint64 {
	if !k.Float() {
		return uint64(x) & (1<<k.Bits() - 1)
	}
	return fp.Cvt(ir.F64, k, 0, math.Float64bits(float64(x)))
}

func (s matrixShape) test(t *testing.T, cbsz, abid int) {
	m := s.m
	tuple := func(base, first, n int, b *strings.Builder) string {
		var l []string
		for i := range n {
			fmt.Fprintf(b, "  %%%d:v32 = vget imm=%d\n", base+i, first+i)
			l = append(l, fmt.Sprintf("%%%d", base+i))
		}
		fmt.Fprintf(b, "  %%%d:t%d = tuple %s\n", base+99, n, strings.Join(l, ", "))
		return fmt.Sprintf("%%%d", base+99)
	}
	var b strings.Builder
	// A in v0.., B in v16.., C and D in v40..: D overwrites C.
	a, bb, c := tuple(100, 0, s.regsA, &b), tuple(200, 16, s.regsA, &b), tuple(300, 40, s.regsC, &b)
	fmt.Fprintf(&b, "  %%1:m = const imm=%#x\n", ^uint64(0)>>(64-uint(s.lanes)))
	f := &ir.Func{}
	v := ir.Value{Op: ir.OpMFMA, Type: ir.T, N: uint8(s.regsC), Kind: m.C, From: m.A, Aux: &m, Args: []ir.ID{0, 0, 0}}
	f.Values = []ir.Value{v}
	blk := &ir.Block{Code: []ir.ID{0}}
	f.Blocks = []*ir.Block{blk}
	line := strings.TrimSpace(strings.Split(f.String(), "\n")[2])
	line = strings.Replace(strings.Replace(line, "%0, %0, %0", a+", "+bb+", "+c, 1), "%0:", "%400:", 1)
	b.WriteString("  " + line + "\n")
	for i := range s.regsC {
		fmt.Fprintf(&b, "  %%%d:v32 = elem %%400 imm=%d\n  %%%d = vset %%%d, %%1 imm=%d\n", 500+2*i, i, 501+2*i, 500+2*i, 40+i)
	}
	r := newRig(t, body(fmt.Sprint(s.lanes), b.String()))
	r.w.SetEXEC(3)
	av := func(blk, i, k int) int { return (blk*5+i*3+k*7)%5 - 2 }
	bv := func(blk, j, k int) int { return (blk*3+j*5+k*2)%7 - 3 }
	cv := func(blk, i, j int) int { return (blk+i*2+j*3)%9 - 4 }
	put := func(reg, lane, e int, k ir.Kind, x int) {
		n := k.Bits()
		bits := toBits(k, x)
		if n == 64 {
			r.v(reg + 2*e)[lane], r.v(reg + 2*e + 1)[lane] = uint32(bits), uint32(bits>>32)
			return
		}
		r.v(reg + e*n/32)[lane] |= uint32(bits) << (e * n % 32)
	}
	for l := range s.lanes {
		for e := range s.elemsA {
			blk, row, k := s.aAt(l, e)
			put(0, l, e, m.A, av(blk, row, k))
			put(16, l, e, m.A, bv(blk, row, k))
		}
		for e := range s.elemsC {
			blk, i, j := s.cAt(l, e)
			put(40, l, e, m.C, cv(blk, i, j))
		}
	}
	r.run(t, ir.ExitEndPgm)
	for l := range s.lanes {
		for e := range s.elemsC {
			blk, i, j := s.cAt(l, e)
			ablk := blk
			if cbsz != 0 {
				ablk = blk&^(1<<cbsz-1) + abid
			}
			want := cv(blk, i, j)
			for k := range m.K {
				want += av(ablk, i, k) * bv(blk, j, k)
			}
			var got uint64
			if m.C == ir.F64 {
				got = uint64(r.v(40 + 2*e)[l]) | uint64(r.v(41 + 2*e)[l])<<32
			} else {
				got = uint64(r.v(40 + e)[l])
			}
			if got != toBits(m.C, want) {
				t.Fatalf("lane %d register %d (block %d row %d column %d) = %#x, want %d", l, e, blk, i, j, got, want)
			}
		}
	}
}

func BenchmarkMFMA(b *testing.B) {
	for _, s := range matrixShapes {
		b.Run(s.name, func(b *testing.B) {
			var t strings.Builder
			for _, o := range []struct{ base, first, n int }{{100, 0, s.regsA}, {200, 16, s.regsA}, {300, 40, s.regsC}} {
				var l []string
				for i := range o.n {
					fmt.Fprintf(&t, "  %%%d:v32 = vget imm=%d\n", o.base+i, o.first+i)
					l = append(l, fmt.Sprintf("%%%d", o.base+i))
				}
				fmt.Fprintf(&t, "  %%%d:t%d = tuple %s\n", o.base+99, o.n, strings.Join(l, ", "))
			}
			f := &ir.Func{Values: []ir.Value{{Op: ir.OpMFMA, Type: ir.T, N: uint8(s.regsC), Kind: s.m.C, From: s.m.A, Aux: &s.m, Args: []ir.ID{0, 0, 0}}}}
			f.Blocks = []*ir.Block{{Code: []ir.ID{0}}}
			line := strings.TrimSpace(strings.Split(f.String(), "\n")[2])
			t.WriteString(strings.Replace(strings.Replace(line, "%0, %0, %0", "%199, %299, %399", 1), "%0:", "%400:", 1) + "\n")
			text := loopOf(t.String())
			if s.lanes == 32 {
				text = strings.Replace(text, "lanes=64", "lanes=32", 1)
			}
			r := newRig(b, text+"#"+strings.Repeat(" ", 10000))
			for i := range 128 {
				for l := range s.lanes {
					r.v(i)[l] = 0x3c003c00 + uint32(l+i)<<4
				}
			}
			r.w.S[9] = 10
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			start, begin := r.w.PC, cpuSeconds()
			for b.Loop() {
				r.w.PC, r.w.Fuel = start, 1<<40
				r.run(b, ir.ExitEndPgm)
			}
			b.ReportMetric(float64(b.N)*10*float64(s.m.M*s.m.N*s.m.K*s.m.Blocks)/(cpuSeconds()-begin)/1e6, "MMAC/s")
		})
	}
}
