//go:build linux && amd64

package jit

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/interp"
)

// bench is a kernel at a size worth timing; work is what one launch does, in unit.
type bench struct {
	name string
	work float64
	unit string
	prep func(g *gpu) func()
}

var benches = []bench{
	{"vaddL2", 12 * 65536, "GB/s", func(g *gpu) func() {
		const n = 65536
		a, _ := g.alloc(4 * n)
		b, _ := g.alloc(4 * n)
		c, _ := g.alloc(4 * n)
		return func() { g.launch("vadd", [2]int{n / 256, 1}, [2]int{256, 1}, args(a, b, c, n)) }
	}},
	{"vaddDRAM", 12 << 24, "GB/s", func(g *gpu) func() {
		const n = 1 << 24
		a, _ := g.alloc(4 * n)
		b, _ := g.alloc(4 * n)
		c, _ := g.alloc(4 * n)
		return func() { g.launch("vadd", [2]int{n / 256, 1}, [2]int{256, 1}, args(a, b, c, n)) }
	}},
	{"fmachain", 2 * 8 * 20000 * 1024, "GFLOP/s", func(g *gpu) func() {
		c, _ := g.alloc(4 * 1024)
		return func() {
			g.launch("fmachain", [2]int{4, 1}, [2]int{256, 1}, args(c, float32(0.99), float32(0.5), 20000))
		}
	}},
	{"sgemm16", 2 * 256 * 256 * 256, "GFLOP/s", func(g *gpu) func() {
		const n = 256
		a, ab := g.alloc(4 * n * n)
		b, bb := g.alloc(4 * n * n)
		c, cb := g.alloc(4 * n * n)
		fillFloats(ab, 1)
		fillFloats(bb, 2)
		clear(cb)
		return func() {
			g.launch("sgemm16", [2]int{n / 16, n / 16}, [2]int{16, 16}, args(n, n, n, float32(0.5), a, b, float32(2), c))
		}
	}},
	{"sgemm64", 2 * 256 * 256 * 256, "GFLOP/s", func(g *gpu) func() {
		const n = 256
		a, ab := g.alloc(4 * n * n)
		b, bb := g.alloc(4 * n * n)
		c, _ := g.alloc(4 * n * n)
		fillFloats(ab, 1)
		fillFloats(bb, 2)
		return func() { g.launch("sgemm64", [2]int{n / 64, n / 64}, [2]int{256, 1}, args(n, n, a, b, c)) }
	}},
	{"sgemm64v", 2 * 256 * 256 * 256, "GFLOP/s", func(g *gpu) func() {
		const n = 256
		a, ab := g.alloc(4 * n * n)
		b, bb := g.alloc(4 * n * n)
		c, _ := g.alloc(4 * n * n)
		fillFloats(ab, 1)
		fillFloats(bb, 2)
		return func() { g.launch("sgemm64v", [2]int{n / 64, n / 64}, [2]int{256, 1}, args(n, n, a, b, c)) }
	}},
	{"sgemm128", 2 * 256 * 256 * 256, "GFLOP/s", func(g *gpu) func() {
		const n = 256
		a, ab := g.alloc(4 * n * n)
		b, bb := g.alloc(4 * n * n)
		c, _ := g.alloc(4 * n * n)
		fillFloats(ab, 1)
		fillFloats(bb, 2)
		return func() { g.launch("sgemm128", [2]int{n / 128, n / 128}, [2]int{256, 1}, args(n, n, a, b, c)) }
	}},
	{"reduce", 4 << 20, "GB/s", func(g *gpu) func() {
		const n = 1 << 20
		a, ab := g.alloc(4 * n)
		c, _ := g.alloc(4 * 64)
		fillFloats(ab, 1)
		return func() { g.launch("reduce", [2]int{64, 1}, [2]int{256, 1}, args(a, c, n)) }
	}},
	{"histogram", 4 << 20, "GB/s", func(g *gpu) func() {
		const n = 1 << 20
		a, ab := g.alloc(4 * n)
		c, cb := g.alloc(4 * 256)
		fillFloats(ab, 1)
		clear(cb)
		return func() { g.launch("histogram", [2]int{16, 1}, [2]int{256, 1}, args(a, c, n)) }
	}},
	{"stridehisto", 1 << 20, "G/s", func(g *gpu) func() {
		const n = 1 << 20
		a, ab := g.alloc(n)
		c, cb := g.alloc(4 * 256)
		fillFloats(ab, 1)
		x := uint32(1)
		for i := range ab {
			x = x*1664525 + 1013904223
			ab[i] = byte(x >> 24)
		}
		clear(cb)
		return func() { g.launch("stridehisto", [2]int{16, 1}, [2]int{256, 1}, args(a, c, uint64(n), 16)) }
	}},
	{"stridesum", 12 << 24, "GB/s", func(g *gpu) func() {
		const n = 3 << 24
		a, ab := g.alloc(4 * n)
		c, _ := g.alloc(4 * 256 * 64)
		fillFloats(ab, 1)
		return func() { g.launch("stridesum", [2]int{64, 1}, [2]int{256, 1}, args(a, c, uint64(n), 64)) }
	}},
	{"strideaxpy", 12 << 18, "GB/s", func(g *gpu) func() {
		const n = 1 << 18
		x, xb := g.alloc(4 * n)
		y, yb := g.alloc(4 * n)
		fillFloats(xb, 1)
		fillFloats(yb, 1)
		return func() { g.launch("strideaxpy", [2]int{16, 1}, [2]int{256, 1}, args(x, y, float32(0.5), n, 16)) }
	}},
	{"votes", 4 << 18, "GB/s", func(g *gpu) func() {
		const n = 1 << 18
		a, ab := g.alloc(4 * n)
		c, _ := g.alloc(4 * n)
		fillFloats(ab, 1)
		return func() { g.launch("votes", [2]int{16, 1}, [2]int{256, 1}, args(a, c, n)) }
	}},
	{"nbody", 20 * 1024 * 1024, "GFLOP/s", func(g *gpu) func() {
		const n = 1024
		var p [4]uint64
		for i := range p {
			var b []byte
			p[i], b = g.alloc(8 * n)
			for j := range b {
				b[j] = byte(j * 7 % 61)
			}
			for j := 7; j < len(b); j += 8 {
				b[j] = 0x3f
			}
		}
		return func() { g.launch("nbody", [2]int{n / 256, 1}, [2]int{256, 1}, args(p[0], p[1], p[2], p[3], n)) }
	}},
	{"transpose", 8 * 512 * 512, "GB/s", func(g *gpu) func() {
		const n = 512
		a, _ := g.alloc(4 * n * n)
		c, _ := g.alloc(4 * n * n)
		return func() { g.launch("transpose", [2]int{n / 16, n / 16}, [2]int{256, 1}, args(a, c, n)) }
	}},
}

func benchEngine(b *testing.B, target string, make func() engine.Engine) {
	for _, x := range benches {
		b.Run(x.name, func(b *testing.B) {
			g := newGPU(b, target, make(), 256<<20)
			run := x.prep(g)
			run()
			b.ResetTimer()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			best := time.Duration(1 << 62)
			for range b.N {
				t0 := cpuTime()
				run()
				best = min(best, cpuTime()-t0)
			}
			b.ReportMetric(x.work/float64(best.Nanoseconds()), x.unit)
		})
	}
}

// cpuTime is the thread's: other load on the machine does not count.
func cpuTime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}

func BenchmarkJIT(b *testing.B) {
	benchEngine(b, "gfx90a", func() engine.Engine {
		e, err := New()
		if err != nil {
			b.Skip(err)
		}
		return e
	})
}

func BenchmarkInterp(b *testing.B) {
	benchEngine(b, "gfx90a", func() engine.Engine { return interp.New() })
}
