//go:build linux && amd64

package jit

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/interp"
)

// BenchmarkPause stops the world while another thread runs a kernel without end, and gives the middle and the longest time
// that it took: how long each engine holds up the garbage collector. TestCollectorIsNotHeldUp shows that none does for ever.
func BenchmarkPause(b *testing.B) {
	needJIT(b)
	wide, err := New()
	if err != nil {
		b.Fatal(err)
	}
	narrow, err := NewAVX2()
	if err != nil {
		b.Fatal(err)
	}
	type run struct {
		engine string
		engine.Engine
		kernel string
	}
	var runs []run
	for _, name := range []string{"fmachain", "nbody", "sgemm64"} {
		runs = append(runs, run{"jit", wide, name}, run{"avx2", narrow, name}, run{"interp", interp.New(), name})
	}
	for _, x := range runs {
		b.Run(x.engine+"/"+x.kernel, func(b *testing.B) {
			e, name := x.Engine, x.kernel
			g := newGPU(b, "gfx90a", e, 256<<20)
			i := slices.IndexFunc(benches, func(x bench) bool { return x.name == name })
			run := benches[i].prep(g)
			run()
			var stop atomic.Bool
			done := make(chan bool)
			go func() {
				for !stop.Load() {
					run()
				}
				done <- true
			}()
			var m runtime.MemStats
			times := make([]time.Duration, 0, b.N)
			for range b.N {
				t := time.Now()
				runtime.ReadMemStats(&m) // stops the world
				times = append(times, time.Since(t))
			}
			stop.Store(true)
			<-done
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "µs-median")
			b.ReportMetric(float64(times[len(times)*9/10].Microseconds()), "µs-90%")
			b.ReportMetric(float64(times[len(times)-1].Microseconds()), "µs-max")
		})
	}
}
