package svmsim_test

import (
	"errors"
	"testing"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	kfdsvm "github.com/pumice-gpu/pumice/kernel/kfd/svm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// mistakes are upstream bugs that the drivers can be told to make again, with the machine in which they show under random operations. Those that
// need a particular moment have a scenario each: tools/svm/scenarios/bug-*.svm and kfd-bug-*.svm.
var mistakes = []struct {
	name   string
	bug    string // number in kernel-svm §17, or the invariant of §16 that breaks
	engine svmsim.Engine
	gpus   int // 0 is one
	xnack  bool
	policy svm.EvictPolicy
	drm    svm.Mistakes
	kfd    kfdsvm.Mistakes
	hang   bool // it shows as a wave that faults for ever, or queues that never run again
}{
	{name: "no TLB flush after invalidation", bug: "#10", xnack: true, drm: svm.Mistakes{SkipTLBFlush: true}},
	{name: "range removed while mapped", bug: "#13", xnack: true, drm: svm.Mistakes{RemoveMapped: true}},
	{name: "policy none: stale map count", bug: "#16", xnack: true, policy: svm.EvictNone},
	{name: "eviction fence worker allocates", bug: "#17", xnack: true, policy: svm.EvictFence, drm: svm.Mistakes{EvictFenceContract: true}},
	{name: "access taken away stays", bug: "#32", xnack: true, drm: svm.Mistakes{LoseAccessNoop: true}},
	{name: "restore forgets a requeued range", bug: "#33", drm: svm.Mistakes{RestoreDropsRequeued: true}},
	{name: "fault that must be tried again is final", bug: "#24", xnack: true, drm: svm.Mistakes{RetryIsFatal: true}},
	{name: "buffer released where none may sleep", bug: "#4", xnack: true, drm: svm.Mistakes{ReleaseInAtomic: true}},
	{name: "queues resume early", bug: "A29", drm: svm.Mistakes{ResumeEarly: true}},
	{name: "rights of mappings not looked at", bug: "A12", xnack: true, drm: svm.Mistakes{IgnoreReadOnly: true}, hang: true},

	{name: "mapped as one across mappings", bug: "#5", engine: svmsim.KFD, kfd: kfdsvm.Mistakes{CrossVMA: true}},
	{name: "what lost its rights stays mapped", bug: "#8", engine: svmsim.KFD, kfd: kfdsvm.Mistakes{UnmapWrongUnits: true}},
	{name: "changed flags reach one GPU only", bug: "A12", engine: svmsim.KFD, gpus: 2, xnack: true, kfd: kfdsvm.Mistakes{StaleFlags: true}},
	{name: "a part that is mapped counts as not mapped", bug: "A11", engine: svmsim.KFD, xnack: true, kfd: kfdsvm.Mistakes{MappedAtEnd: true}},
	{name: "no TLB flush after invalidation", bug: "#10", engine: svmsim.KFD, xnack: true, kfd: kfdsvm.Mistakes{SkipTLBFlush: true}},
	{name: "policy none: stale map count", bug: "#16", engine: svmsim.KFD, xnack: true, policy: svm.EvictNone},
	{name: "eviction fence worker allocates", bug: "#17", engine: svmsim.KFD, xnack: true, kfd: kfdsvm.Mistakes{EvictFenceContract: true}},
	{name: "pages in video memory are a count", bug: "#22", engine: svmsim.KFD, xnack: true, kfd: kfdsvm.Mistakes{CountsVRAMPages: true}},
	{name: "fault that must be tried again is final", bug: "#24", engine: svmsim.KFD, xnack: true, kfd: kfdsvm.Mistakes{RetryIsFatal: true}},
	{name: "video memory allocated with locks held", bug: "#25", engine: svmsim.KFD, xnack: true, kfd: kfdsvm.Mistakes{AllocUnderLocks: true}},
	{name: "access taken away stays", bug: "#32", engine: svmsim.KFD, xnack: true, kfd: kfdsvm.Mistakes{LoseAccessNoop: true}},
	{name: "buffer released where none may sleep", bug: "#4", engine: svmsim.KFD, xnack: true, kfd: kfdsvm.Mistakes{ReleaseInAtomic: true}},
	{name: "copy of an invalid range is valid", bug: "A29", engine: svmsim.KFD, kfd: kfdsvm.Mistakes{SplitForgetsInvalid: true}},
	{name: "queues resume early", bug: "A29", engine: svmsim.KFD, kfd: kfdsvm.Mistakes{ResumeEarly: true}},
	{name: "rights of mappings not looked at", bug: "A12", engine: svmsim.KFD, xnack: true, kfd: kfdsvm.Mistakes{IgnoreReadOnly: true}},
	{name: "a page that the driver faults on stays", bug: "Q1", engine: svmsim.KFD, kfd: kfdsvm.Mistakes{SkipsOwnFault: true}, hang: true},
}

func TestMistakesAreFound(t *testing.T) {
	const seeds = 300
	for _, m := range mistakes {
		t.Run(engineName[m.engine]+"/"+m.bug+" "+m.name, func(t *testing.T) {
			cfg := small(svmsim.Config{Engine: m.engine, GPUs: m.gpus, XNACK: m.xnack, SameHive: true, Policy: m.policy, Mistakes: m.drm, Bugs: m.kfd})
			if m.engine == svmsim.KFD && m.policy == svm.EvictSync {
				cfg.Policy = svm.EvictFence // it has no other
			}
			f := sched.Explore(1, seeds, sched.SimConfig{MaxSteps: 200000}, everything(cfg, 50))
			if f == nil {
				t.Fatalf("%d seeds do not show it", seeds)
			}
			if errors.Is(f, sched.ErrSteps) != m.hang {
				t.Fatalf("seed %d: %v, which does not say what is wrong", f.Seed, f)
			}
			t.Logf("seed %d: %.160s", f.Seed, f.Error())
		})
	}
}
