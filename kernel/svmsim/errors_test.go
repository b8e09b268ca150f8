package svmsim_test

import (
	"errors"
	"testing"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	kfdsvm "github.com/pumice-gpu/pumice/kernel/kfd/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// run has a process with eight pages at base and a hole after them, then a device mapping.
func run(t *testing.T, cfg svmsim.Config, fn func(p *svmsim.Process)) {
	t.Helper()
	s := sched.NewSim(sched.SimConfig{Seed: 1})
	if err := s.Run(func() {
		p, err := svmsim.New(s, small(cfg)).NewProcess("p")
		if err != nil {
			s.Fail(err)
		}
		if err := errors.Join(p.Mmap(base, 8*mm.PageSize, rw, mm.Anon), p.Mmap(base+16*mm.PageSize, mm.PageSize, rw, mm.IO)); err != nil {
			s.Fail(err)
		}
		fn(p)
		p.Close()
	}); err != nil {
		t.Error(err)
	}
}

// TestAttributeErrors asks for what cannot be: each error is the documented one, and nothing has changed.
func TestAttributeErrors(t *testing.T) {
	ok := []svm.Attr{{Type: svm.AttrPreferredLoc, Value: 1}}
	for _, c := range []struct {
		what        string
		start, size uint64
		list        []svm.Attr
		drm, kfd    error
	}{
		{"address 0", 0, mm.PageSize, ok, mm.EINVAL, mm.EINVAL},
		{"no size", base, 0, ok, mm.EINVAL, mm.EINVAL},
		{"unaligned", base + 8, mm.PageSize, ok, mm.EINVAL, mm.EINVAL},
		{"size unaligned", base, 8, ok, mm.EINVAL, mm.EINVAL},
		{"wraps", ^uint64(0) - mm.PageSize + 1, 2 * mm.PageSize, ok, mm.EINVAL, mm.EINVAL},
		{"a hole", base + 7*mm.PageSize, 2 * mm.PageSize, ok, mm.EFAULT, mm.EFAULT},
		{"a device mapping", base + 16*mm.PageSize, mm.PageSize, ok, mm.EOPNOTSUPP, mm.EFAULT},
		{"no attributes", base, mm.PageSize, nil, mm.EINVAL, mm.EINVAL},
		{"undefined prefetch", base, mm.PageSize, []svm.Attr{{Type: svm.AttrPrefetchLoc, Value: svm.LocUndefined}}, mm.EINVAL, mm.EINVAL},
	} {
		for engine, want := range map[svmsim.Engine]error{svmsim.DRM: c.drm, svmsim.KFD: c.kfd} {
			run(t, svmsim.Config{Engine: engine, XNACK: true, Policy: svm.EvictFence}, func(p *svmsim.Process) {
				d := p.On[0].SVM
				was, _ := d.GetAttrs(base, 8*mm.PageSize)
				if err := d.SetAttrs(c.start, c.size, c.list); !errors.Is(err, want) {
					t.Errorf("%s, %s: %v, want %v", engineName[engine], c.what, err, want)
				}
				if now, _ := d.GetAttrs(base, 8*mm.PageSize); now != was {
					t.Errorf("%s, %s: attributes have changed to %v", engineName[engine], c.what, now)
				}
				if c.list != nil && c.list[0].Type == svm.AttrPreferredLoc {
					if _, err := d.GetAttrs(c.start, c.size); !errors.Is(err, want) {
						t.Errorf("%s, query of %s: %v, want %v", engineName[engine], c.what, err, want)
					}
				}
			})
		}
	}
	run(t, svmsim.Config{XNACK: true}, func(p *svmsim.Process) {
		d := p.On[0].SVM
		many := make([]svm.Attr, 65)
		for what, list := range map[string][]svm.Attr{"65 attributes": many, "unknown type": {{Type: 99}}, "access 3": {{Type: svm.AttrAccess, Value: 3}},
			"flag 2": {{Type: svm.AttrCoherent, Value: 2}}} {
			if err := d.SetAttrs(base, mm.PageSize, list); !errors.Is(err, mm.EINVAL) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := d.ResetAttrs(base+7*mm.PageSize, 2*mm.PageSize); !errors.Is(err, mm.EFAULT) {
			t.Errorf("reset of a hole: %v", err)
		}
	})
	run(t, svmsim.Config{Engine: svmsim.KFD, XNACK: true, Policy: svm.EvictFence}, func(p *svmsim.Process) {
		s := p.On[0].SVM.(kfdsvm.View).S
		for what, x := range map[string]kfd.SVMAttribute{"unknown type": {Type: 99}, "unknown GPU": {Type: kfd.SVMAttrAccess, Value: 77},
			"unknown place": {Type: kfd.SVMAttrPreferredLoc, Value: 77}} {
			if err := s.SetAttrs(base, mm.PageSize, []kfd.SVMAttribute{x}); !errors.Is(err, mm.EINVAL) {
				t.Errorf("set %s: %v", what, err)
			}
		}
		for what, x := range map[string]kfd.SVMAttribute{"unknown type": {Type: 99}, "access in place": {Type: kfd.SVMAttrAccessInPlace, Value: 1},
			"unknown GPU": {Type: kfd.SVMAttrAccess, Value: 77}} {
			if err := s.GetAttrs(base, mm.PageSize, []kfd.SVMAttribute{x}); !errors.Is(err, mm.EINVAL) {
				t.Errorf("get %s: %v", what, err)
			}
		}
		// A queue lives only in memory that stays mapped.
		for what, start := range map[string]uint64{"a hole": base + 9*mm.PageSize, "unregistered memory": base} {
			if err := s.HoldQueueBuffer(0, start, mm.PageSize, nil); err == nil {
				t.Errorf("a queue in %s", what)
			}
		}
	})
}

// TestFaultErrors lets a GPU touch what it may not.
func TestFaultErrors(t *testing.T) {
	for _, engine := range []svmsim.Engine{svmsim.DRM, svmsim.KFD} {
		for _, xnack := range []bool{true, false} {
			run(t, svmsim.Config{Engine: engine, XNACK: xnack, Policy: svm.EvictFence}, func(p *svmsim.Process) {
				for _, addr := range []uint64{base + 9*mm.PageSize, base + 16*mm.PageSize, 1 << 47} {
					var f *svmsim.GPUFault
					if err := p.On[0].Access(addr, false, func([]byte) {}); !errors.As(err, &f) {
						t.Errorf("%s, xnack %v: access to %#x: %v", engineName[engine], xnack, addr, err)
					}
				}
				err := p.On[0].SVM.HandleFault(base, false)
				if want := map[svmsim.Engine]error{svmsim.DRM: mm.EOPNOTSUPP, svmsim.KFD: mm.EFAULT}[engine]; !xnack && !errors.Is(err, want) {
					t.Errorf("%s: a fault without XNACK: %v, want %v", engineName[engine], err, want)
				} else if xnack && err != nil {
					t.Errorf("%s: %v", engineName[engine], err)
				}
			})
		}
	}
}

// TestFailedCallStaysHalfDone asks for what fails in the middle: of three pages the first may not be accessed, so that none is mapped anew, and the
// last stays writable although the attribute that forbids it is stored. A prefetch that succeeds does not make up for it, as it maps nothing. The
// same call again does, as soon as it can (Linux takes it for done: the attributes are what they are to be, and the range is mapped).
func TestFailedCallStaysHalfDone(t *testing.T) {
	run(t, svmsim.Config{Engine: svmsim.KFD, GPUs: 3, Policy: svm.EvictFence}, func(p *svmsim.Process) {
		const size = 3 * mm.PageSize
		d := p.On[0].SVM
		readOnly := []svm.Attr{{Type: svm.AttrGPURO, Value: 1}}
		store := func() error { return p.On[0].Access(base+2*mm.PageSize, true, func([]byte) {}) }
		do := func(what string, got, want error) {
			if !errors.Is(got, want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		do("access", d.SetAttrs(base, size, []svm.Attr{{Type: svm.AttrAccess, Value: svm.AccessAllowMigrate}}), nil)
		do("mprotect", p.Mprotect(base, mm.PageSize, 0), nil)
		do("store, when the queues run again", store(), nil)
		do("read-only", d.SetAttrs(base, size, readOnly), mm.EFAULT)
		do("store", store(), nil)
		do("prefetch", d.SetAttrs(base, size, []svm.Attr{{Type: svm.AttrPrefetchLoc, Value: 0}}), nil)
		do("store after the prefetch", store(), nil)
		do("mprotect", p.Mprotect(base, mm.PageSize, rw), nil)
		do("read-only again", d.SetAttrs(base, size, readOnly), nil)
		do("store into what is read-only", store(), mm.EFAULT)
	})
}

// TestFlagsReachAllRanges takes the right to write away from two ranges while the process drops a page of the first, so that the call has to look
// again: the second must follow too.
func TestFlagsReachAllRanges(t *testing.T) {
	for _, engine := range []svmsim.Engine{svmsim.DRM, svmsim.KFD} {
		cfg := small(svmsim.Config{Engine: engine, Policy: svm.EvictFence})
		f := sched.Explore(1, 200, sched.SimConfig{}, func(w sched.World) {
			p, err := svmsim.New(w, cfg).NewProcess("p")
			if err != nil {
				w.Fail(err)
			}
			const size = 8 * mm.PageSize
			d := p.On[0].SVM
			err = errors.Join(p.Mmap(base, size, rw, mm.Anon), d.SetAttrs(base, size, []svm.Attr{{Type: svm.AttrAccess, Value: svm.AccessAllowMigrate}}))
			done := w.NewWaitQueue("done")
			dropped := false
			w.Go("other", false, func() {
				_ = p.DontNeed(base, mm.PageSize)
				dropped = true
				done.Wake()
			})
			if err = errors.Join(err, d.SetAttrs(base, size, []svm.Attr{{Type: svm.AttrGPURO, Value: 1}})); err != nil {
				w.Fail(err)
			}
			if p.On[0].Access(base+7*mm.PageSize, true, func([]byte) {}) == nil {
				w.Fail(errors.New("a store into what is read-only succeeds"))
			}
			done.Wait(func() bool { return dropped }, sched.Forever)
			p.Close()
		})
		if f != nil {
			t.Errorf("%s: %v", engineName[engine], f)
		}
	}
}

// TestChildKeepsPage gives a GPU access that does not reach the video memory where a child of a fork, and nobody else, still has pages.
func TestChildKeepsPage(t *testing.T) {
	run(t, svmsim.Config{Engine: svmsim.KFD, GPUs: 2, Policy: svm.EvictFence}, func(p *svmsim.Process) {
		const size = 4 * mm.PageSize
		must := func(what string, err error) {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		access := []svm.Attr{{Type: svm.AttrAccess, Value: svm.AccessAllowMigrate}}
		must("store", p.Store64(base, 7))
		must("access", p.On[0].SVM.SetAttrs(base, size, access))
		must("prefetch", p.On[0].SVM.SetAttrs(base, size, []svm.Attr{{Type: svm.AttrPrefetchLoc, Value: 1}}))
		child := p.Fork("child")
		must("madvise", p.DontNeed(base, size))
		must("access of the other GPU", p.On[1].SVM.SetAttrs(base, size, access))
		must("store of the other GPU", p.On[1].Access(base, true, func(b []byte) { b[0] = 1 }))
		if v, err := p.Load64(base); err != nil || v != 1 {
			t.Errorf("the parent has %d (%v)", v, err)
		}
		if v, err := child.Load64(base); err != nil || v != 7 {
			t.Errorf("the child has %d (%v)", v, err)
		}
		child.Exit()
	})
}
