package svmsim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

const (
	base  = 0x10000000
	pages = 14 // for each user; not a multiple of the chunk, so that users share ranges
	rw    = mm.ProtRead | mm.ProtWrite
)

// small makes ranges of 4 pages and 1 page and windows of 16, so that few pages meet all boundaries.
func small(c svmsim.Config) svmsim.Config {
	c.Chunks = []uint64{4 * mm.PageSize, mm.PageSize}
	c.Notifier = 16 * mm.PageSize
	if c.GPUs == 0 {
		c.GPUs = 1
	}
	if c.VRAM == 0 {
		c.VRAM = 16 * mm.PageSize
	}
	return c
}

// everything drives users, memory pressure and a second process at once.
func everything(cfg svmsim.Config, steps int) func(sched.World) {
	return func(w sched.World) {
		m := svmsim.New(w, cfg)
		p, err := m.NewProcess("p")
		if err != nil {
			w.Fail(err)
		}
		other, err := m.NewProcess("other")
		if err != nil {
			w.Fail(err)
		}
		const users = 2
		var log []string
		left := users + 2
		end := w.NewWaitQueue("end")
		work := func(name string, fn func()) {
			w.Go(name, false, func() { fn(); left--; end.Wake() })
		}
		userOn := func(p *svmsim.Process, id int) *user {
			return newUser(w, cfg, p, base+uint64(id*pages)<<mm.PageShift, &log)
		}
		for id := range users {
			u := userOn(p, id)
			work(fmt.Sprint("user", id), func() {
				for range steps {
					u.step()
				}
			})
		}
		o := userOn(other, 0)
		work("other", func() {
			for range steps {
				o.step()
			}
		})
		work("pressure", func() {
			for range steps {
				o.note("pressure")
				switch w.Rand64() % 3 {
				case 0, 1:
					p.Reclaim(base, users*pages<<mm.PageShift, 2)
				case 2:
					other.Reclaim(base, pages<<mm.PageShift, 1)
					p.Fork(fmt.Sprint("child", w.Rand64())).Exit()
				}
			}
		})
		end.Wait(func() bool { return left == 0 }, sched.Forever)
		o.checkAll()
		// A process that is killed loses its memory before its files.
		if w.Rand64()%2 == 0 {
			p.Close()
			other.Kill()
		} else {
			p.Kill()
			other.Close()
		}
		if n := m.Mem.UsedPages(); n != 0 {
			w.Fail(fmt.Errorf("%d system pages left", n))
		}
		for _, g := range m.GPUs {
			free, bos, _ := g.TTM.Usage()
			if free != cfg.VRAM || bos != 0 || g.Mappings() != 0 {
				w.Fail(fmt.Errorf("GPU %d: %#x of %#x bytes free, %d buffers, %d DMA mappings left", g.Index, free, cfg.VRAM, bos, g.Mappings()))
			}
		}
	}
}

// ops is how many operations a property test drives; the nightly target sets PUMICE_SVM_OPS.
func ops(t *testing.T, def int) int {
	if s := os.Getenv("PUMICE_SVM_OPS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if testing.Short() {
		return def / 10
	}
	return def
}

// firstSeed is where a property test begins: at the same seed each time, so that a run that passed passes again, or anywhere in the nightly target.
func firstSeed() uint64 {
	if os.Getenv("PUMICE_SVM_OPS") == "" {
		return 1
	}
	return rand.Uint64() % 1e9
}

// TestNoByteIsLostKFD is the same on the older driver.
func TestNoByteIsLostKFD(t *testing.T) {
	for _, xnack := range []bool{true, false} {
		for _, gpus := range []int{1, 3, -3} {
			t.Run(fmt.Sprintf("xnack=%v/gpus=%d", xnack, gpus), func(t *testing.T) {
				cfg := small(svmsim.Config{Engine: svmsim.KFD, GPUs: max(gpus, -gpus), XNACK: xnack, Policy: svm.EvictFence, SameHive: gpus > 1})
				const steps = 50
				if f := sched.Explore(firstSeed(), max(ops(t, 50_000)/(6*4*steps), 1), sched.SimConfig{}, everything(cfg, steps)); f != nil {
					t.Fatal(f)
				}
			})
		}
	}
}

// anyMachine is a machine by seed, also such as no other test has.
func anyMachine(seed uint64) (cfg svmsim.Config, steps int, fail uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	cfg = small(svmsim.Config{Engine: svmsim.Engine(r.IntN(2)), GPUs: 1 + r.IntN(3), XNACK: r.IntN(2) == 0, SameHive: r.IntN(2) == 0,
		Policy: svm.EvictFence, VRAM: []uint64{8, 16, 64}[r.IntN(3)] * mm.PageSize})
	if cfg.Engine == svmsim.DRM && r.IntN(2) == 0 {
		cfg.Policy = svm.EvictSync
	}
	return cfg, []int{50, 120}[r.IntN(2)], []uint64{0, 0, 300}[r.IntN(3)]
}

// TestAnyMachine runs programs on machines of all sorts; in some, one use in 300 of what can fail does so.
func TestAnyMachine(t *testing.T) {
	first := firstSeed()
	for seed := first; seed < first+uint64(max(ops(t, 4000)/(4*85), 1)); seed++ {
		cfg, steps, fail := anyMachine(seed)
		what := fmt.Sprintf("%+v, %d steps, fail %d", cfg, steps, fail)
		f := sched.Explore(seed, 1, sched.SimConfig{MaxSteps: 8_000_000}, func(w sched.World) {
			cfg := cfg
			if fail > 0 {
				cfg.Fail = func(svmsim.FailPoint) bool { return w.Rand64()%fail == 0 }
			}
			everything(cfg, steps)(w)
		})
		if f != nil {
			t.Fatalf("%s: %v", what, f)
		}
	}
}

// found are programs that once failed: what the nightly runs, which begin anywhere, have met.
var found = []struct {
	seed  uint64
	steps int
	cfg   svmsim.Config
	what  string
}{
	1: {930950001, 50, svmsim.Config{Engine: svmsim.KFD, GPUs: 3, Policy: svm.EvictFence},
		"the model took a prefetch for the end of what an earlier call had failed to carry out (TestFailedCallStaysHalfDone)"},
	2: {642314513, 120, svmsim.Config{Engine: svmsim.KFD, GPUs: 2, Policy: svm.EvictFence, VRAM: 8 * mm.PageSize},
		"restore never ended, as a forked child, which waited for it, kept a page in video memory (TestChildKeepsPage)"},
}

func TestFound(t *testing.T) {
	for i, c := range found[1:] {
		if f := sched.Explore(c.seed, 1, sched.SimConfig{}, everything(small(c.cfg), c.steps)); f != nil {
			t.Errorf("%d, %s: %v", i+1, c.what, f)
		}
	}
}

func TestNoByteIsLost(t *testing.T) {
	for _, xnack := range []bool{true, false} {
		for _, gpus := range []int{1, 3, -3} { // -3 are three that do not reach each other
			for _, policy := range []svm.EvictPolicy{svm.EvictSync, svm.EvictFence} {
				t.Run(fmt.Sprintf("xnack=%v/gpus=%d/policy=%d", xnack, gpus, policy), func(t *testing.T) {
					cfg := small(svmsim.Config{GPUs: max(gpus, -gpus), XNACK: xnack, Policy: policy, SameHive: gpus > 1})
					const steps = 50
					if f := sched.Explore(firstSeed(), max(ops(t, 50_000)/(12*4*steps), 1), sched.SimConfig{}, everything(cfg, steps)); f != nil {
						t.Fatal(f)
					}
				})
			}
		}
	}
}

// TestNothingIsLostWhenThingsFail lets one use in some hundred of everything that can fail do so. Operations may fail then, but what they
// left undone must not be lost, and nothing may remain.
func TestNothingIsLostWhenThingsFail(t *testing.T) {
	for _, engine := range []svmsim.Engine{svmsim.DRM, svmsim.KFD} {
		for _, xnack := range []bool{true, false} {
			for _, policy := range []svm.EvictPolicy{svm.EvictSync, svm.EvictFence} {
				if engine == svmsim.KFD && policy == svm.EvictSync {
					continue
				}
				t.Run(fmt.Sprintf("%s/xnack=%v/policy=%d", engineName[engine], xnack, policy), func(t *testing.T) {
					const steps = 50
					if f := sched.Explore(firstSeed(), max(ops(t, 10_000)/(6*4*steps), 1), sched.SimConfig{}, func(w sched.World) {
						cfg := small(svmsim.Config{Engine: engine, GPUs: 2, XNACK: xnack, Policy: policy, SameHive: true})
						cfg.Fail = func(svmsim.FailPoint) bool { return w.Rand64()%300 == 0 }
						everything(cfg, steps)(w)
					}); f != nil {
						t.Fatal(f)
					}
				})
			}
		}
	}
}
