package svmsim_test

import (
	"errors"
	"testing"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// mistakes are upstream bugs that the driver can be told to make again, with the machine in which they show under random
// operations. Those that need a particular moment have a scenario each: tools/svm/scenarios/bug-*.svm.
var mistakes = []struct {
	name string
	bug  string // number in kernel-svm §17, or what it is
	on   func(c *svmsim.Config)
	hang bool // it shows as a wave that faults for ever
}{
	{"policy none: stale map count", "#16", func(c *svmsim.Config) { c.Policy = svm.EvictNone; c.XNACK = true }, false},
	{"eviction fence worker allocates", "#17", func(c *svmsim.Config) {
		c.Policy = svm.EvictFence
		c.XNACK = true
		c.Mistakes.EvictFenceContract = true
	}, false},
	{"no TLB flush after invalidation", "#10", func(c *svmsim.Config) { c.XNACK = true; c.Mistakes.SkipTLBFlush = true }, false},
	{"restore forgets a requeued range", "#33", func(c *svmsim.Config) { c.Mistakes.RestoreDropsRequeued = true }, false},
	{"queues resume early", "A29", func(c *svmsim.Config) { c.Mistakes.ResumeEarly = true }, false},
	{"VMA rights not looked at", "A12", func(c *svmsim.Config) { c.XNACK = true; c.Mistakes.IgnoreReadOnly = true }, true},
	{"range removed while mapped", "#13", func(c *svmsim.Config) { c.XNACK = true; c.Mistakes.RemoveMapped = true }, false},
	{"access taken away stays", "#32", func(c *svmsim.Config) { c.XNACK = true; c.Mistakes.LoseAccessNoop = true }, false},
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
			if errors.Is(f, sched.ErrSteps) != m.hang {
				t.Fatalf("seed %d: %v, which does not say what is wrong", f.Seed, f)
			}
			s := f.Error()
			t.Logf("seed %d: %.160s", f.Seed, s)
		})
	}
}

// bugs are mistakes of the older driver.
var bugs = []struct {
	name string
	on   func(c *svmsim.Config)
	hang bool
}{
	{"policy none: stale map count", func(c *svmsim.Config) { c.XNACK, c.Policy = true, svm.EvictNone }, false},
	{"SkipTLBFlush", func(c *svmsim.Config) { c.XNACK, c.Bugs.SkipTLBFlush = true, true }, false},
	{"EvictFenceContract", func(c *svmsim.Config) { c.XNACK, c.Bugs.EvictFenceContract = true, true }, false},
	{"AllocUnderLocks", func(c *svmsim.Config) { c.XNACK, c.Bugs.AllocUnderLocks = true, true }, false},
	{"LoseAccessNoop", func(c *svmsim.Config) { c.XNACK, c.Bugs.LoseAccessNoop = true, true }, false},
	{"SplitForgetsInvalid", func(c *svmsim.Config) { c.Bugs.SplitForgetsInvalid = true }, false},
	{"ResumeEarly", func(c *svmsim.Config) { c.Bugs.ResumeEarly = true }, false},
	{"IgnoreReadOnly", func(c *svmsim.Config) { c.XNACK, c.Bugs.IgnoreReadOnly = true, true }, false},
	{"SkipsOwnFault", func(c *svmsim.Config) { c.Bugs.SkipsOwnFault = true }, true},
	{"MappedAtEnd", func(c *svmsim.Config) { c.XNACK, c.VRAM, c.Bugs.MappedAtEnd = true, 64<<mm.PageShift, true }, false},
	{"CrossVMA", func(c *svmsim.Config) { c.Bugs.CrossVMA = true }, false},
}

func TestBugsOfKFDAreFound(t *testing.T) {
	for _, m := range bugs {
		t.Run(m.name, func(t *testing.T) {
			cfg := small(svmsim.Config{Engine: svmsim.KFD, Policy: svm.EvictFence})
			m.on(&cfg)
			f := sched.Explore(1, 300, sched.SimConfig{MaxSteps: 200000}, everything(cfg, 50))
			if f == nil {
				t.Fatalf("300 seeds do not show the bug")
			}
			if errors.Is(f, sched.ErrSteps) != m.hang {
				t.Fatalf("seed %d: %v, which does not say what is wrong", f.Seed, f)
			}
			t.Logf("seed %d: %.160s", f.Seed, f.Error())
		})
	}
}
