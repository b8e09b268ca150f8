package svm

import (
	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/segment"
)

// flagOf maps KFD's flags to those of the DRM interface.
var flagOf = map[uint32]uint32{kfd.SVMFlagHostAccess: svm.FlagHostAccess, kfd.SVMFlagCoherent: svm.FlagCoherent, kfd.SVMFlagExtCoherent: svm.FlagExtCoherent,
	kfd.SVMFlagHiveLocal: svm.FlagHiveLocal, kfd.SVMFlagGPURO: svm.FlagGPURO, kfd.SVMFlagGPUExec: svm.FlagGPUExec, kfd.SVMFlagGPUReadMostly: svm.FlagGPUReadMostly}

// seen is a's attributes as one GPU's driver of the DRM kind would have them.
func (s *SVM) seen(a Attrs, gpu int) svm.Attrs {
	loc := func(l uint32) uint32 {
		if l == kfd.SVMLocationSysmem || l == kfd.SVMLocationUndefined {
			return l // the same values
		}
		return 1
	}
	o := svm.Attrs{Preferred: loc(a.Preferred), Prefetch: loc(a.Prefetch), Granularity: uint32(a.Granularity)}
	switch bit := uint64(1) << gpu; {
	case a.Access&bit != 0:
		o.Access = svm.AccessAllowMigrate
	case a.InPlace&bit != 0:
		o.Access = svm.AccessInPlace
	}
	for from, to := range flagOf {
		if a.Flags&from != 0 {
			o.Flags |= to
		}
	}
	return o
}

// Inspect shows what one GPU has of the process, in the terms of the DRM driver. It takes no lock: for the running task of a simulated World,
// between two steps.
func (s *SVM) Inspect(gpu int) svm.State {
	st := svm.State{Evicted: s.evicted.Load(), Idle: len(s.list) == 0 && !s.working.Load() && s.evicted.Load() == 0}
	for g := range s.objects.All(0, ^uint64(0)) {
		p := g.Value
		st.Attrs = append(st.Attrs, segment.Seg[svm.Attrs]{Start: g.Start, End: g.End, Value: s.seen(p.attrs, gpu)})
		for i, q := range append([]*prange{p}, p.children...) {
			r := svm.RangeState{Start: q.start, End: q.end, Mapped: q.mapped && q.dma[gpu] != nil, Flags: q.flags, Unmapped: q.op == opUnmapRange}
			switch {
			case i > 0:
				r.Queue = "child"
			case p.queued:
				r.Queue = "deferred"
			case p.invalid.Load() > 0:
				r.Queue = "restore"
			}
			st.Ranges = append(st.Ranges, r)
		}
	}
	return st
}

// View is what one GPU's user space sees of the process's SVM through an interface like the DRM driver's, for machines that have either.
type View struct {
	S   *SVM
	GPU int
}

// ID is the GPU's, as attributes name it.
func (v View) ID() uint32 { return v.S.cfg.GPUs[v.GPU].ID }

// SetAttrs translates attributes to KFD's.
func (v View) SetAttrs(start, size uint64, list []svm.Attr) error {
	id := v.S.cfg.GPUs[v.GPU].ID
	var out []kfd.SVMAttribute
	for _, x := range list {
		loc := x.Value
		if loc != svm.LocSysmem && loc != svm.LocUndefined {
			loc = id
		}
		switch x.Type {
		case svm.AttrPreferredLoc:
			out = append(out, kfd.SVMAttribute{Type: kfd.SVMAttrPreferredLoc, Value: loc})
		case svm.AttrPrefetchLoc:
			out = append(out, kfd.SVMAttribute{Type: kfd.SVMAttrPrefetchLoc, Value: loc})
		case svm.AttrGranularity:
			out = append(out, kfd.SVMAttribute{Type: kfd.SVMAttrGranularity, Value: x.Value})
		case svm.AttrAccess:
			t := uint32(kfd.SVMAttrNoAccess)
			if x.Value == svm.AccessInPlace {
				t = kfd.SVMAttrAccessInPlace
			} else if x.Value == svm.AccessAllowMigrate {
				t = kfd.SVMAttrAccess
			}
			out = append(out, kfd.SVMAttribute{Type: t, Value: id})
		default:
			t := uint32(kfd.SVMAttrClrFlags)
			if x.Value != 0 {
				t = kfd.SVMAttrSetFlags
			}
			for from, to := range flagOf {
				if to == 1<<(x.Type-svm.AttrHostAccess) {
					out = append(out, kfd.SVMAttribute{Type: t, Value: from})
				}
			}
		}
	}
	return v.S.SetAttrs(start, size, out)
}

// GetAttrs asks for all attributes.
func (v View) GetAttrs(start, size uint64) (svm.Attrs, error) {
	id := v.S.cfg.GPUs[v.GPU].ID
	list := []kfd.SVMAttribute{{Type: kfd.SVMAttrPreferredLoc}, {Type: kfd.SVMAttrPrefetchLoc}, {Type: kfd.SVMAttrAccess, Value: id}, {Type: kfd.SVMAttrSetFlags},
		{Type: kfd.SVMAttrGranularity}}
	if err := v.S.GetAttrs(start, size, list); err != nil {
		return svm.Attrs{}, err
	}
	a := Attrs{Preferred: list[0].Value, Prefetch: list[1].Value, Flags: list[3].Value, Granularity: uint8(list[4].Value)}
	switch list[2].Type {
	case kfd.SVMAttrAccess:
		a.Access = 1 << v.GPU
	case kfd.SVMAttrAccessInPlace:
		a.InPlace = 1 << v.GPU
	}
	return v.S.seen(a, v.GPU), nil
}

// ResetAttrs: KFD's interface has no such operation.
func (v View) ResetAttrs(uint64, uint64) error { return errNoReset }

// HandleFault serves a retry fault of the GPU.
func (v View) HandleFault(addr uint64, write bool) error { return v.S.HandleFault(v.GPU, addr, write) }

// Inspect shows what the GPU has.
func (v View) Inspect() svm.State { return v.S.Inspect(v.GPU) }

// Close ends SVM for the process; once is enough for all GPUs.
func (v View) Close() {
	if !v.S.exiting.Load() {
		v.S.Close()
	}
}
