package lift_test

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/pumice-gpu/pumice/engine/fp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/lift"
)

// small encodes a small integer in a number format of a matrix operand.
func small(n int, kind string) (bits uint64, width int) {
	switch kind {
	case "f32":
		return uint64(math.Float32bits(float32(n))), 32
	case "f64":
		return math.Float64bits(float64(n)), 64
	case "f16":
		return fp.Cvt(ir.F64, ir.F16, 0, math.Float64bits(float64(n))), 16
	case "bf16":
		return uint64(math.Float32bits(float32(n)) >> 16), 16
	}
	return uint64(uint8(int8(n))), 8
}

// TestMFMA checks layout and values of one-block matrix shapes on small integers, where every rounding rule agrees. Lane
// l holds row (column) l%M of A (B) and elements k = per*(l/M)+e; D has column l%N, and rows in groups of four that go
// round the lane groups (CDNA manuals, "Matrix Arithmetic Instructions"; for f64 one row each).
func TestMFMA(t *testing.T) {
	for _, c := range []struct {
		cpu, name string
		kind      string
		m, k      int
	}{
		{"gfx90a", "v_mfma_f32_16x16x4f32", "f32", 16, 4}, {"gfx90a", "v_mfma_f32_32x32x2f32", "f32", 32, 2},
		{"gfx90a", "v_mfma_f32_16x16x16f16", "f16", 16, 16}, {"gfx90a", "v_mfma_f32_32x32x8f16", "f16", 32, 8},
		{"gfx908", "v_mfma_f32_16x16x8bf16", "bf16", 16, 8}, {"gfx90a", "v_mfma_f32_16x16x16bf16_1k", "bf16", 16, 16},
		{"gfx90a", "v_mfma_f32_32x32x8bf16_1k", "bf16", 32, 8}, {"gfx908", "v_mfma_i32_16x16x16i8", "i8", 16, 16},
		{"gfx90a", "v_mfma_i32_32x32x8i8", "i8", 32, 8}, {"gfx90a", "v_mfma_f64_16x16x4f64", "f64", 16, 4},
		{"gfx942", "v_mfma_i32_16x16x32_i8", "i8", 16, 32}, {"gfx942", "v_mfma_f32_32x32x8_f16", "f16", 32, 8},
	} {
		t.Run(c.cpu+"/"+c.name, func(t *testing.T) {
			r := rand.New(rand.NewSource(1))
			m := newMachine(t, c.cpu, 64)
			_, width := small(0, c.kind)
			per := c.m * c.k / 64 // elements in a lane
			regs := max(1, per*width/32)
			outs := c.m * c.m / 64
			if c.kind == "f64" {
				outs *= 2
			}
			a, b := make([]int, c.m*c.k), make([]int, c.m*c.k)
			for i := range a {
				a[i], b[i] = r.Intn(9)-4, r.Intn(9)-4
			}
			for l := range 64 {
				for e := range per {
					row, k := l%c.m, per*(l/c.m)+e
					for which, x := range [][]int{a, b} {
						bits, _ := small(x[row*c.k+k], c.kind)
						pos := e * width
						reg := 32*which + pos/32
						m.w.VGPR(reg)[l] |= uint32(bits) << (pos % 32)
						if width == 64 {
							m.w.VGPR(reg + 1)[l] = uint32(bits >> 32)
						}
					}
				}
			}
			vr := func(base, n int) string {
				if n == 1 {
					return fmt.Sprintf("v%d", base)
				}
				return fmt.Sprintf("v[%d:%d]", base, base+n-1)
			}
			file := "v"
			dst, cc := 64, "0"
			if c.cpu == "gfx908" {
				file, dst, cc = "a", 0, fmt.Sprintf("a[64:%d]", 64+outs-1)
			}
			d := fmt.Sprintf("%s[%d:%d]", file, dst, dst+outs-1)
			code := lift.Assemble(t, c.cpu, fmt.Sprintf("%s %s, %s, %s, %s\ns_endpgm\n", c.name, d, vr(0, regs), vr(32, regs), cc))
			m.w.SetEXEC(0) // EXEC is ignored
			if exit := m.run(code); exit != ir.ExitEndPgm {
				t.Fatalf("exit %v %s", exit, m.w.Illegal)
			}
			if file == "a" {
				dst += 256
			}
			for i := range c.m {
				for j := range c.m {
					want := 0
					for k := range c.k {
						want += a[i*c.k+k] * b[j*c.k+k]
					}
					var got float64
					switch c.kind {
					case "f64":
						l, reg := j+16*(i%4), i/4*2
						got = math.Float64frombits(uint64(m.w.VGPR(dst + reg)[l]) | uint64(m.w.VGPR(dst + reg + 1)[l])<<32)
					default:
						groups := 64 / c.m
						l := j + c.m*(i/4%groups)
						reg := i/(4*groups)*4 + i%4
						x := m.w.VGPR(dst + reg)[l]
						got = float64(math.Float32frombits(x))
						if c.kind == "i8" {
							got = float64(int32(x))
						}
					}
					if got != float64(want) {
						t.Fatalf("D[%d][%d] = %v, want %d", i, j, got, want)
					}
				}
			}
		})
	}
}
