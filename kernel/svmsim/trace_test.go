package svmsim_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	kfdsvm "github.com/pumice-gpu/pumice/kernel/kfd/svm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// TestSameSeedSameTrace runs random operations by one seed fifty times on each driver and by each policy: every lock that is taken, every task that
// is woken, by whom and when, is the same byte for byte. Policy none fails, always in the same way.
func TestSameSeedSameTrace(t *testing.T) {
	for _, engine := range []svmsim.Engine{svmsim.DRM, svmsim.KFD} {
		for _, policy := range []svm.EvictPolicy{svm.EvictSync, svm.EvictFence, svm.EvictNone} {
			if engine == svmsim.KFD && policy == svm.EvictSync {
				continue
			}
			for _, xnack := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/policy=%d/xnack=%v", engineName[engine], policy, xnack), func(t *testing.T) {
					cfg := small(svmsim.Config{Engine: engine, GPUs: 2, XNACK: xnack, Policy: policy, SameHive: true})
					var first string
					for i := range 50 {
						h := sha256.New()
						s := sched.NewSim(sched.SimConfig{Seed: 7, Trace: h})
						err := s.Run(func() { everything(cfg, 4)(s) })
						fmt.Fprintln(h, err)
						if got := fmt.Sprintf("%x after %d steps, %v", h.Sum(nil), s.Steps(), err); first == "" {
							first = got
						} else if got != first {
							t.Fatalf("run %d: %.200s, want %.200s", i+1, got, first)
						}
					}
				})
			}
		}
	}
}

// TestReplayOfAFailure finds a failure by seeds, replays its schedule without the seed's choices, and shrinks it: what is left fails in the same way.
func TestReplayOfAFailure(t *testing.T) {
	for _, engine := range []svmsim.Engine{svmsim.DRM, svmsim.KFD} {
		cfg := small(svmsim.Config{Engine: engine, Policy: svm.EvictFence, Mistakes: svm.Mistakes{RestoreDropsRequeued: true},
			Bugs: kfdsvm.Mistakes{SplitForgetsInvalid: true}})
		run := everything(cfg, 12)
		f := sched.Explore(1, 300, sched.SimConfig{}, run)
		if f == nil {
			t.Fatalf("%s: no failure", engineName[engine])
		}
		// The random numbers of operations come from the seed; who runs from the schedule.
		again := sched.Explore(f.Seed, 1, sched.SimConfig{Replay: f.Schedule}, run)
		if again == nil || again.Err.Error() != f.Err.Error() || again.Steps != f.Steps {
			t.Fatalf("%s: replay gives %v, want %v", engineName[engine], again, f)
		}
		same := func(err error) bool { return fmt.Sprintf("%T", err) == fmt.Sprintf("%T", f.Err) }
		small := sched.Shrink(f, 60, sched.SimConfig{}, run, same)
		if !same(small.Err) || len(small.Schedule) > len(f.Schedule) {
			t.Errorf("%s: shrunk to %d choices, %v", engineName[engine], len(small.Schedule), small.Err)
		}
		t.Logf("%s: seed %d, %d choices, shrunk to %d: %.100s", engineName[engine], f.Seed, len(f.Schedule), len(small.Schedule), small.Err)
	}
}
