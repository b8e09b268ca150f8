package kfd

import (
	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/drm"
	"github.com/pumice-gpu/pumice/kernel/fence"
	kfdsvm "github.com/pumice-gpu/pumice/kernel/kfd/svm"
	"github.com/pumice-gpu/pumice/kernel/mm/host"
)

// svmOld is the older driver of shared virtual memory, kfd_svm, at work on the process's memory: one list of ranges for all GPUs. Config.OldSVM chooses it.
type svmOld struct {
	p     *process
	space *host.Space
	svm   *kfdsvm.SVM
}

func newSVMOld(p *process, space *host.Space) (*svmOld, error) {
	w := p.drv.world
	cfg := kfdsvm.Config{World: w, Space: space, Queues: p, Start: amdgpu.MinVA, Size: amdgpu.MaxVA - amdgpu.MinVA, XNACK: p.xnack, Granularity: defaultGranularity}
	for _, n := range p.drv.nodes {
		pd := p.pdds[n.index-1]
		mem := n.newMemory(p.drv, space)
		// All GPUs with visible memory reach each other's pages in place.
		d := kfdsvm.NewDevice(w, space, mem, p.drv, n.dev.SVMSize, svm.EvictFence)
		cfg.GPUs = append(cfg.GPUs, kfdsvm.GPU{ID: n.id, Device: d, VM: svmVM{pd, &fence.Resv{Mutex: w.NewMutex(kfdsvm.PageDirectory)}}})
	}
	cfg.Event = func(gpu int, e svm.Event) { p.drv.nodes[gpu].tellSVM(p.drv, e) }
	s, err := kfdsvm.New(cfg)
	if err != nil {
		return nil, err
	}
	space.OnUnmap = p.ranges.forget
	return &svmOld{p, space, s}, nil
}

func (o *svmOld) sync() { o.space.Sync() }

func (o *svmOld) close() {
	o.svm.Close()
	_ = o.space.Close()
}

func (o *svmOld) unmapped(uint64, uint64) bool { return true }

func (o *svmOld) drm(pd *pdd) drm.SVM {
	return drmSVM{oldView{kfdsvm.View{S: o.svm, GPU: pd.node.index - 1}, o.p}}
}

// oldView adds what KFD's interface has no operation for.
type oldView struct {
	kfdsvm.View
	p *process
}

// ResetAttrs sets every attribute to its default.
func (v oldView) ResetAttrs(start, size uint64) error {
	access := svm.AccessNone
	if v.p.xnack {
		access = svm.AccessAllowMigrate
	}
	list := []svm.Attr{{Type: svm.AttrPreferredLoc, Value: svm.LocUndefined}, {Type: svm.AttrGranularity, Value: defaultGranularity},
		{Type: svm.AttrHostAccess, Value: 1}, {Type: svm.AttrCoherent, Value: 1}}
	for _, t := range []svm.AttrType{svm.AttrExtCoherent, svm.AttrHiveLocal, svm.AttrGPURO, svm.AttrGPUExec, svm.AttrGPUReadMostly} {
		list = append(list, svm.Attr{Type: t})
	}
	return v.SetAttrs(start, size, append(list, svm.Attr{Type: svm.AttrAccess, Value: access}))
}

func (o *svmOld) gone(start, end uint64) { o.space.Gone(start, end) }

func (o *svmOld) protected(start, end uint64, _ []svmPiece) { o.space.Protected(start, end) }

func (o *svmOld) set(start, end uint64, attrs []kfd.SVMAttribute, _ []svmPiece) error {
	return errno(o.svm.SetAttrs(start, end-start, attrs))
}

// newGPU is called with p.mu held.
func (o *svmOld) newGPU(pd *pdd, now []svmPiece) error {
	for _, x := range now {
		a := x.now
		list := []kfd.SVMAttribute{{Type: kfd.SVMAttrPreferredLoc, Value: a.Preferred}, {Type: kfd.SVMAttrGranularity, Value: uint32(a.Granularity)},
			{Type: kfd.SVMAttrSetFlags, Value: a.Flags}, {Type: kfd.SVMAttrClrFlags, Value: ^a.Flags}}
		t := uint32(kfd.SVMAttrNoAccess)
		switch {
		case a.Access&pd.bit() != 0:
			t = kfd.SVMAttrAccess
		case a.InPlace&pd.bit() != 0:
			t = kfd.SVMAttrAccessInPlace
		}
		_ = o.svm.SetAttrs(x.start, x.end-x.start, append(list, kfd.SVMAttribute{Type: t, Value: pd.node.id}))
	}
	return nil
}

func (o *svmOld) fault(pd *pdd, va uint64, write bool, _ svmAttrs, _ bool, _, _ uint64) error {
	return o.svm.HandleFault(pd.node.index-1, va, write)
}
