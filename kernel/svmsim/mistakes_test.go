package svmsim_test

import (
	"testing"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// mistakes are upstream bugs that the driver can be told to make again, with the machine in which they show.
var mistakes = []struct {
	name string
	bug  string // number in kernel-svm §17, or what it is
	on   func(c *svmsim.Config)
}{
	{"policy none: stale map count", "#16", func(c *svmsim.Config) { c.Policy = svm.EvictNone; c.XNACK = true }},
	{"eviction fence worker allocates", "#17", func(c *svmsim.Config) {
		c.Policy = svm.EvictFence
		c.XNACK = true
		c.Mistakes.EvictFenceContract = true
	}},
	{"no TLB flush after invalidation", "#10", func(c *svmsim.Config) { c.XNACK = true; c.Mistakes.SkipTLBFlush = true }},
	{"restore forgets a requeued range", "#33", func(c *svmsim.Config) { c.Mistakes.RestoreDropsRequeued = true }},
	{"queues resume early", "A29", func(c *svmsim.Config) { c.Mistakes.ResumeEarly = true }},
	{"queues resume during realignment", "A29", func(c *svmsim.Config) { c.GPUs = 3; c.SameHive = true; c.Mistakes.ResumeUnlocked = true }},
	{"VMA rights not looked at", "A12", func(c *svmsim.Config) { c.XNACK = true; c.Mistakes.IgnoreReadOnly = true }},
	{"range removed while mapped", "#13", func(c *svmsim.Config) { c.XNACK = true; c.Mistakes.RemoveMapped = true }},
	{"access taken away stays", "#32", func(c *svmsim.Config) { c.XNACK = true; c.Mistakes.LoseAccessNoop = true }},
}

func TestMistakesAreFound(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			cfg := small(svmsim.Config{})
			m.on(&cfg)
			f := sched.Explore(1, 300, sched.SimConfig{MaxSteps: 200000}, everything(cfg, 50))
			if f == nil {
				t.Fatalf("300 seeds do not show the bug")
			}
			s := f.Error()
			t.Logf("seed %d: %.160s", f.Seed, s)
		})
	}
}
