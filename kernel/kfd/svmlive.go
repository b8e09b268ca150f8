package kfd

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/drm"
	"github.com/pumice-gpu/pumice/kernel/fence"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/mm/host"
	"golang.org/x/sys/unix"
)

// svmLive moves pages: the process's memory under kernel/mm/host, one amdgpu/svm for each GPU above it. KFD's attributes, which name GPUs, are
// translated to those of each GPU's own.
type svmLive struct {
	p     *process
	space *host.Space
	on    []atomic.Pointer[svmGPU] // by node; nil before the GPU's address space is acquired
}

// svmGPU is one GPU's part.
type svmGPU struct {
	svmVM
	live *svmLive
	svm  *svm.SVM
	// prefetch is the call under way, until the first page moves: KFD tells of the call, not of each of our ranges.
	prefetch atomic.Pointer[string]
}

// newSVMEngine makes the engine: migrating if the system lets us.
func (p *process) newSVMEngine() svmEngine {
	if p.drv.cfg.NoMigration {
		return &svmHost{p}
	}
	space, err := host.New(p.drv.world)
	if err != nil {
		if p.drv.cfg.Warn != nil {
			p.drv.cfg.Warn("managed memory stays in the host: " + err.Error())
		}
		return &svmHost{p}
	}
	if p.drv.cfg.OldSVM {
		e, err := newSVMOld(p, space)
		if err != nil {
			_ = space.Close()
			return &svmHost{p}
		}
		return e
	}
	l := &svmLive{p: p, space: space, on: make([]atomic.Pointer[svmGPU], len(p.pdds))}
	space.OnUnmap = p.ranges.forget
	for i := range p.drv.nodes {
		p.drv.nodes[i].svmGPU(p.drv, space)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, pd := range p.pdds {
		if pd.vm != nil {
			g, err := l.join(pd)
			if err != nil {
				l.close()
				return &svmHost{p}
			}
			l.on[i].Store(g)
		}
	}
	return l
}

// svmGPU makes the device's part of shared virtual memory anew for an address space.
func (n *node) svmGPU(d *Driver, space *host.Space) {
	n.svmMem = n.newMemory(d, space)
	// All GPUs with visible memory reach each other's pages in place.
	n.svmDev = svm.NewGPU(d.world, space, n.svmMem, d, n.dev.SVMSize, svm.EvictSync)
}

// join makes the SVM of a GPU; called with p.mu held.
func (l *svmLive) join(pd *pdd) (*svmGPU, error) {
	g := &svmGPU{live: l, svmVM: svmVM{pd, fence.NewResv(l.p.drv.world)}}
	var err error
	g.svm, err = svm.New(svm.Config{World: l.p.drv.world, Space: l.space, GPU: pd.node.svmDev, VM: g, Queues: l.p, Start: amdgpu.MinVA,
		Size: amdgpu.MaxVA - amdgpu.MinVA, XNACK: l.p.xnack, Granularity: defaultGranularity, Event: g.event})
	return g, err
}

func (l *svmLive) sync() { l.space.Sync() }

func (l *svmLive) close() {
	for i := range l.on {
		if g := l.on[i].Load(); g != nil {
			g.svm.Close()
		}
	}
	_ = l.space.Close()
}

// unmapped: what a GPU mirrors userfaultfd tells of, but of a range that has attributes only nobody else does.
func (l *svmLive) unmapped(uint64, uint64) bool { return true }

func (l *svmLive) drm(pd *pdd) drm.SVM {
	if g := l.on[pd.node.index-1].Load(); g != nil {
		return drmSVM{g.svm}
	}
	return nil
}

func (l *svmLive) gone(start, end uint64) { l.space.Gone(start, end) }

func (l *svmLive) protected(start, end uint64, _ []svmPiece) { l.space.Protected(start, end) }

// newGPU is called with p.mu held.
func (l *svmLive) newGPU(pd *pdd, now []svmPiece) error {
	i := pd.node.index - 1
	g := l.on[i].Load()
	if g == nil {
		var err error
		if g, err = l.join(pd); err != nil {
			return err
		}
		l.on[i].Store(g)
	}
	for _, x := range now {
		if a := translate(pd, x.now, l.p.xnack, false); len(a) > 0 {
			_ = g.svm.SetAttrs(x.start, x.end-x.start, a)
		}
	}
	return nil
}

// set gives each GPU its view of the attributes.
func (l *svmLive) set(_, _ uint64, attrs []kfd.SVMAttribute, pieces []svmPiece) error {
	prefetch := false
	for _, a := range attrs {
		prefetch = prefetch || a.Type == kfd.SVMAttrPrefetchLoc
	}
	for i := range l.on {
		g := l.on[i].Load()
		if g == nil {
			continue
		}
		pd := l.p.pdds[i]
		for _, x := range pieces {
			// A GPU that never had to do with the range need not hear of it.
			if (x.now.Access|x.now.InPlace)&pd.bit() == 0 && (x.old.Access|x.old.InPlace)&pd.bit() == 0 {
				continue
			}
			end := func(error) {}
			if prefetch {
				end = g.beginPrefetch(x)
			}
			err := g.svm.SetAttrs(x.start, x.end-x.start, translate(pd, x.now, l.p.xnack, prefetch))
			end(err)
			if err != nil {
				return errno(err)
			}
		}
	}
	return nil
}

// beginPrefetch tells SMI clients of a prefetch, if it moves pages; the function that it returns tells of its end.
func (g *svmGPU) beginPrefetch(x svmPiece) (end func(error)) {
	n := g.pd.node
	from, to := uint32(0), n.id
	if x.now.Prefetch != n.id {
		from, to = n.id, 0
	}
	at := fmt.Sprintf("-%d @%x(%x) %x->%x", g.live.p.drv.cfg.PID, x.start>>mm.PageShift, (x.end-x.start)>>mm.PageShift, from, to)
	start := fmt.Sprintf("%d %s %x:%x %d\n", clock(unix.CLOCK_BOOTTIME), at, x.now.Prefetch, x.now.Preferred, kfd.MigrateTriggerPrefetch)
	g.prefetch.Store(&start)
	return func(err error) {
		if g.prefetch.Swap(nil) == nil { // it was told
			n.smi.send(kfd.SMIEventMigrateEnd, fmt.Sprintf("%d %s %d %d\n", clock(unix.CLOCK_BOOTTIME), at, kfd.MigrateTriggerPrefetch, code(err)))
		}
	}
}

// code is an error as SMI messages have it.
func code(err error) int {
	var no unix.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &no):
		return int(no)
	}
	return 1
}

// translate says what KFD's attributes mean for one GPU.
func translate(pd *pdd, a svmAttrs, xnack, prefetch bool) (out []svm.Attr) {
	add := func(t svm.AttrType, v uint32) { out = append(out, svm.Attr{Type: t, Value: v}) }
	const here = 1
	access := svm.AccessNone
	switch {
	case a.Access&pd.bit() != 0:
		access = svm.AccessAllowMigrate
	case a.InPlace&pd.bit() != 0:
		access = svm.AccessInPlace
	}
	switch a.Preferred {
	case pd.node.id:
		add(svm.AttrPreferredLoc, here)
	case kfd.SVMLocationSysmem:
		add(svm.AttrPreferredLoc, svm.LocSysmem)
	case kfd.SVMLocationUndefined:
		// KFD brings a page that a GPU has faulted to that GPU unless it was asked to leave it.
		if xnack && access == svm.AccessAllowMigrate {
			add(svm.AttrPreferredLoc, here)
		} else {
			add(svm.AttrPreferredLoc, svm.LocUndefined)
		}
	default:
		add(svm.AttrPreferredLoc, svm.LocUndefined)
	}
	if prefetch {
		switch a.Prefetch {
		case pd.node.id:
			add(svm.AttrPrefetchLoc, here)
		case kfd.SVMLocationSysmem:
			add(svm.AttrPrefetchLoc, svm.LocSysmem)
		}
	}
	for _, f := range []struct {
		t svm.AttrType
		f uint32
	}{{svm.AttrHostAccess, kfd.SVMFlagHostAccess}, {svm.AttrCoherent, kfd.SVMFlagCoherent}, {svm.AttrExtCoherent, kfd.SVMFlagExtCoherent},
		{svm.AttrHiveLocal, kfd.SVMFlagHiveLocal}, {svm.AttrGPURO, kfd.SVMFlagGPURO}, {svm.AttrGPUExec, kfd.SVMFlagGPUExec},
		{svm.AttrGPUReadMostly, kfd.SVMFlagGPUReadMostly}} {
		v := uint32(0)
		if a.Flags&f.f != 0 {
			v = 1
		}
		add(f.t, v)
	}
	add(svm.AttrGranularity, uint32(a.Granularity))
	add(svm.AttrAccess, access)
	return out
}

// fault serves a retry fault.
func (l *svmLive) fault(pd *pdd, va uint64, write bool, a svmAttrs, _ bool, _, _ uint64) error {
	g := l.on[pd.node.index-1].Load()
	if g == nil {
		return unix.EFAULT
	}
	return g.svm.HandleFault(va, write)
}

// errno makes sure that what leaves is a unix.Errno.
func errno(err error) error {
	var e unix.Errno
	if err == nil || errors.As(err, &e) && err == error(e) {
		return err
	}
	if errors.As(err, &e) {
		return e
	}
	return unix.EFAULT
}

// event tells of what SVM does.
func (g *svmGPU) event(e svm.Event) {
	if e.Kind != svm.EvMap && e.Kind != svm.EvFault {
		// Pages of a prefetch begin to move: before anything else is told of it.
		if start := g.prefetch.Swap(nil); start != nil {
			g.pd.node.smi.send(kfd.SMIEventMigrateStart, *start)
		}
	}
	if (e.Kind != svm.EvMigrateToVRAM && e.Kind != svm.EvMigrateToRAM) || e.Cause != "prefetch" {
		g.pd.node.tellSVM(g.live.p.drv, e)
	} else if d := g.live.p.drv; d.OnSVM != nil {
		d.OnSVM(g.pd.node.id, e) // SMI clients hear of the whole prefetch, see beginPrefetch
	}
}
