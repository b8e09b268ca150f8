package svmsim_test

import (
	"fmt"
	"math/bits"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

var engineName = map[svmsim.Engine]string{svmsim.DRM: "drm", svmsim.KFD: "kfd"}

// BenchmarkSetAttrs gives every other page of a mapping attributes of its own, far and near in turn, and then all of it one: 2n ranges of
// attributes are made and gone through. With XNACK off each is mapped too, by one of n svm ranges. At the end every other page is unmapped,
// and the process ends. The time for each range must not grow with their number but by its logarithm.
func BenchmarkSetAttrs(b *testing.B) {
	for _, engine := range []svmsim.Engine{svmsim.DRM, svmsim.KFD} {
		for _, xnack := range []string{"on", "off"} {
			for _, n := range []int{1_000, 10_000, 100_000} {
				b.Run(fmt.Sprintf("%s/xnack=%s/%d", engineName[engine], xnack, n), func(b *testing.B) {
					for b.Loop() {
						c := setAttrs(b, engine, xnack == "on", n)
						b.ReportMetric(float64(c.time.Nanoseconds())/float64(n), "ns/range")
					}
				})
			}
		}
	}
}

// cost is what setAttrs took.
type cost struct {
	time      time.Duration
	sched     int // steps of the scheduler: locks taken, tasks woken
	notifiers int // nodes of the tree of notifiers that were looked at
}

func setAttrs(t testing.TB, engine svmsim.Engine, xnack bool, n int) (c cost) {
	s := sched.NewSim(sched.SimConfig{Seed: 1, MaxSteps: 1 << 30})
	err := s.Run(func() {
		m := svmsim.New(s, svmsim.Config{Engine: engine, GPUs: 1, VRAM: 64 << mm.PageShift, XNACK: xnack, Policy: svm.EvictFence})
		p, err := m.NewProcess("p")
		if err != nil {
			s.Fail(err)
		}
		size := uint64(2*n) << mm.PageShift
		if err := p.Mmap(base, size, rw, mm.Anon); err != nil {
			s.Fail(err)
		}
		set := func(at, size uint64, v uint32) {
			list := []svm.Attr{{Type: svm.AttrPreferredLoc, Value: v}, {Type: svm.AttrAccess, Value: svm.AccessInPlace}}
			if err := p.On[0].SVM.SetAttrs(at, size, list); err != nil {
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
		if xnack {
			set(base, size, 0)
		}
		for i := range n {
			if err := p.Munmap(base+uint64(2*i)<<mm.PageShift, mm.PageSize); err != nil {
				s.Fail(err)
			}
		}
		p.Close()
		c = cost{time.Since(start), s.Steps(), p.NotifierSteps()}
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSetAttrsCost counts: ten times the ranges take ten times the steps of the scheduler, and of the tree of notifiers only as many more as
// its depth.
func TestSetAttrsCost(t *testing.T) {
	for _, engine := range []svmsim.Engine{svmsim.DRM, svmsim.KFD} {
		for _, xnack := range []bool{true, false} {
			var first float64
			for _, n := range []int{200, 2_000} {
				c := setAttrs(t, engine, xnack, n)
				steps, nodes := float64(c.sched)/float64(n), float64(c.notifiers)/float64(n)
				t.Logf("%s, xnack %v, %d ranges: %.1f scheduler steps and %.1f nodes for each", engineName[engine], xnack, n, steps, nodes)
				if limit := 12 * bits.Len(uint(n)); nodes > float64(limit) {
					t.Errorf("%.1f nodes of the tree of notifiers for each range, more than %d", nodes, limit)
				}
				if first == 0 {
					first = steps
				} else if steps > 1.2*first {
					t.Errorf("%.1f scheduler steps for each range, %.1f when there are fewer", steps, first)
				}
			}
		}
	}
}
