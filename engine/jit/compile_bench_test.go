//go:build linux && amd64

package jit

import (
	"runtime"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/lift"
)

// textSource reads code from a flat memory.
type textSource struct{ f *flat }

func (s textSource) Fetch(pc uint64, dst []byte) int {
	if pc < s.f.va || pc >= s.f.va+uint64(len(s.f.b)) {
		return 0
	}
	return copy(dst, s.f.b[pc-s.f.va:])
}

// BenchmarkCompile gives the guest instructions a second of lifting and of compiling the kernels of testdata.
func BenchmarkCompile(b *testing.B) {
	g := newGPU(b, "gfx90a", interp.NewWith(code.New(nil)), 1<<20)
	target := g.target.Wave(64)
	names := []string{"vadd", "fmachain", "sgemm16", "sgemm64", "sgemm64v", "reduce", "histogram", "nbody", "transpose"}
	var funcs []*ir.Func
	insts := 0
	lift1 := func() {
		funcs, insts = funcs[:0], 0
		for _, n := range names {
			k, err := g.obj.Kernel(n)
			if err != nil {
				b.Fatal(err)
			}
			f, err := lift.Func(textSource{g.space}, target, codeVA+k.EntryVA, 0x3f0, 64)
			if err != nil {
				b.Fatal(err)
			}
			for _, x := range f.Blocks {
				insts += x.Insts
			}
			funcs = append(funcs, f)
		}
	}
	lift1()
	// run reports the best of b.N times, in CPU time.
	run := func(name string, do func()) {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			b.ReportAllocs()
			best := time.Duration(1 << 62)
			for range b.N {
				t0 := cpuTime()
				do()
				best = min(best, cpuTime()-t0)
			}
			b.ReportMetric(float64(insts)/best.Seconds()/1e6, "Minst/s")
		})
	}
	run("lift", lift1)
	run("verify", func() {
		for _, f := range funcs {
			_ = ir.Verify(f)
		}
	})
	for _, o := range []Options{{AVX2: hostAVX2}, {AVX2: hostAVX2, Quick: true}} {
		name := "compile"
		if o.Quick {
			name = "quick"
		}
		run(name, func() {
			for _, f := range funcs {
				if _, err := CompileWith(f, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
