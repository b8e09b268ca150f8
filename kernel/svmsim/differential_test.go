package svmsim_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// TestEnginesAgree runs the same operations on both drivers: contents, rights and answers about attributes are the same. Where a page is at a
// moment is each driver's own affair, and so is what remains of attributes after munmap (KFD forgets them, DRM keeps them until they are
// reset): the test sets them anew.
func TestEnginesAgree(t *testing.T) {
	seeds := max(ops(t, 4000)/400, 1)
	for _, xnack := range []bool{true, false} {
		first := firstSeed()
		for seed := first; seed < first+uint64(seeds); seed++ {
			var logs [2][]string
			for e, engine := range []svmsim.Engine{svmsim.DRM, svmsim.KFD} {
				cfg := small(svmsim.Config{Engine: engine, XNACK: xnack, Policy: svm.EvictFence})
				s := sched.NewSim(sched.SimConfig{Seed: seed})
				if err := s.Run(func() { logs[e] = story(s, cfg, seed) }); err != nil {
					t.Fatalf("seed %d xnack %v engine %d: %v", seed, xnack, engine, err)
				}
			}
			for i := range logs[0] {
				if logs[0][i] != logs[1][i] {
					t.Fatalf("seed %d xnack %v, operation %d: drm %s, kfd %s", seed, xnack, i, logs[0][i], logs[1][i])
				}
			}
		}
	}
}

// story does 200 operations, by a seed of its own, and says how each went.
func story(w sched.World, cfg svmsim.Config, seed uint64) (log []string) {
	r := rand.New(rand.NewPCG(seed, 1))
	m := svmsim.New(w, cfg)
	p, err := m.NewProcess("p")
	if err != nil {
		w.Fail(err)
	}
	c := p.On[0]
	const n = pages
	all := []svm.Attr{{Type: svm.AttrAccess, Value: svm.AccessAllowMigrate}, {Type: svm.AttrPreferredLoc, Value: svm.LocUndefined}, {Type: svm.AttrCoherent, Value: 1},
		{Type: svm.AttrGPURO, Value: 0}, {Type: svm.AttrGranularity, Value: 2}}
	say := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
	failed := func(what string, err error) {
		if err != nil {
			what += " fails"
		}
		say("%s", what)
	}
	if err := p.Mmap(base, n<<mm.PageShift, rw, mm.Anon); err != nil {
		w.Fail(err)
	}
	failed("register", c.SVM.SetAttrs(base, n<<mm.PageShift, all))
	for range 200 {
		i := r.IntN(n)
		page := base + uint64(i)<<mm.PageShift
		size := uint64(1+r.IntN(min(6, n-i))) << mm.PageShift
		v := r.Uint64()
		switch r.IntN(12) {
		case 0:
			failed(fmt.Sprintf("CPU store %#x", page), p.Store64(page, v))
		case 1, 2:
			got, err := p.Load64(page)
			failed(fmt.Sprintf("CPU load %#x: %#x", page, got), err)
		case 3, 4:
			err := c.Access(page, true, func(b []byte) { binary.LittleEndian.PutUint64(b, v) })
			failed(fmt.Sprintf("GPU store %#x", page), err)
		case 5, 6:
			var got uint64
			err := c.Access(page, false, func(b []byte) { got = binary.LittleEndian.Uint64(b) })
			failed(fmt.Sprintf("GPU load %#x: %#x", page, got), err)
		case 7:
			failed("prefetch", c.SVM.SetAttrs(page, size, []svm.Attr{{Type: svm.AttrPrefetchLoc, Value: uint32(r.IntN(2))}}))
		case 8:
			failed("attributes", c.SVM.SetAttrs(page, size, []svm.Attr{{Type: svm.AttrPreferredLoc, Value: uint32(r.IntN(2))}, {Type: svm.AttrGPURO, Value: uint32(r.IntN(2))},
				{Type: svm.AttrAccess, Value: uint32(r.IntN(3))}}))
		case 9:
			failed("munmap", p.Munmap(page, size))
			failed("GPU load of nothing", c.Access(page, false, func([]byte) {}))
			failed("mmap", p.Mmap(page, size, rw, mm.Anon))
			failed("register", c.SVM.SetAttrs(page, size, all))
		case 10:
			prot := []mm.Prot{rw, mm.ProtRead}[r.IntN(2)]
			failed("mprotect", p.Mprotect(page, size, prot))
			failed("register", c.SVM.SetAttrs(page, size, all))
		case 11:
			failed("madvise", p.DontNeed(page, size))
		}
		a, err := c.SVM.GetAttrs(page, size)
		a.Prefetch = 0
		failed(a.String(), err)
		if err := p.Check(); err != nil {
			w.Fail(err)
		}
	}
	p.Close()
	return log
}
