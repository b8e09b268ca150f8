package svmsim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// BenchmarkSetAttrs gives every other page of a mapping attributes of its own, far and near in turn, and then all of it one: 2n ranges of
// attributes are made and gone through. The time for each range must not grow with their number but by its logarithm.
func BenchmarkSetAttrs(b *testing.B) {
	for _, engine := range []svmsim.Engine{svmsim.DRM, svmsim.KFD} {
		for _, n := range []int{1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", map[svmsim.Engine]string{svmsim.DRM: "drm", svmsim.KFD: "kfd"}[engine], n), func(b *testing.B) {
				for b.Loop() {
					d := setAttrs(b, engine, n)
					b.ReportMetric(float64(d.Nanoseconds())/float64(n), "ns/range")
				}
			})
		}
	}
}

func setAttrs(b *testing.B, engine svmsim.Engine, n int) (took time.Duration) {
	s := sched.NewSim(sched.SimConfig{Seed: 1, MaxSteps: 1 << 30})
	err := s.Run(func() {
		m := svmsim.New(s, svmsim.Config{Engine: engine, GPUs: 1, VRAM: 64 << mm.PageShift, XNACK: true, Policy: svm.EvictFence})
		p, err := m.NewProcess("p")
		if err != nil {
			s.Fail(err)
		}
		size := uint64(2*n) << mm.PageShift
		if err := p.Mmap(base, size, rw, mm.Anon); err != nil {
			s.Fail(err)
		}
		set := func(at, size uint64, v uint32) {
			if err := p.On[0].SVM.SetAttrs(at, size, []svm.Attr{{Type: svm.AttrPreferredLoc, Value: v}}); err != nil {
				s.Fail(err)
			}
		}
		start := time.Now()
		for i := range n {
			at := i / 2
			if i%2 == 1 {
				at = n - 1 - i/2
			}
			set(base+uint64(2*at)<<mm.PageShift, mm.PageSize, uint32(i%2))
		}
		set(base, size, 0)
		took = time.Since(start)
		if engine == svmsim.DRM {
			p.Close()
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	return took
}
