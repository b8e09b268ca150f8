package hsa

import (
	"github.com/pumice-gpu/pumice/abi/kfd"
)

// SVMAttr is hsa_amd_svm_attribute_t.
type SVMAttr uint32

// Attributes of shared virtual memory.
const (
	SVMGlobalFlag        SVMAttr = 0 // 0 fine grained, 1 coarse grained
	SVMReadOnly          SVMAttr = 1
	SVMHiveLocal         SVMAttr = 2
	SVMGranularity       SVMAttr = 3 // log2 of pages
	SVMPreferredLocation SVMAttr = 4 // an agent, nil for none
	SVMPrefetchLocation  SVMAttr = 5 // to get only
	SVMReadMostly        SVMAttr = 6
	SVMGPUExec           SVMAttr = 7
	SVMAccessible        SVMAttr = 0x200 // by an agent; its pages may move there
	SVMAccessibleInPlace SVMAttr = 0x201 // by an agent, where the pages are
	SVMNoAccess          SVMAttr = 0x202
	SVMAccessQuery       SVMAttr = 0x203 // to get only: the answer is one of the three above
)

// SVMAttribute is one attribute of a range. Agent is for those that name one.
type SVMAttribute struct {
	Attr  SVMAttr
	Value uint64
	Agent *Agent
}

// AllocateSVM takes fresh memory of the process for sharing with agents. The runtime must not touch it.
func (r *Runtime) AllocateSVM(size uint64) (*Memory, error) {
	const op = "svm_allocate"
	km, err := r.kfd.AllocSVM(size)
	if err != nil {
		return nil, wrap(op, err)
	}
	m := &Memory{Addr: km.VA, Host: km.Host, Size: size, Pool: r.cpu.Pool(PoolFineGrained), mem: km}
	r.kfd.SetUserData(km, m)
	return m, nil
}

// AdoptSVM is AllocateSVM for memory that the process has already.
func (r *Runtime) AdoptSVM(addr, size uint64) (*Memory, error) {
	km, err := r.kfd.AdoptSVM(addr, (size+Granule-1)&^(Granule-1))
	if err != nil {
		return nil, wrap("svm_adopt", err)
	}
	m := &Memory{Addr: addr, Host: addr, Size: size, Pool: r.cpu.Pool(PoolFineGrained), mem: km}
	r.kfd.SetUserData(km, m)
	return m, nil
}

// SVMSupported reports whether memory can be shared with all GPUs by attributes.
func (r *Runtime) SVMSupported() bool { return r.kfd.SVMSupported() }

// pages is the range of whole pages around a range.
func pages(addr, size uint64) (start, length uint64) {
	start = addr &^ (Granule - 1)
	return start, (addr+size+Granule-1)&^(Granule-1) - start
}

// svmFlags are the attributes that the driver keeps as bits.
var svmFlags = map[SVMAttr]uint32{SVMReadOnly: kfd.SVMFlagGPURO, SVMHiveLocal: kfd.SVMFlagHiveLocal, SVMReadMostly: kfd.SVMFlagGPUReadMostly, SVMGPUExec: kfd.SVMFlagGPUExec}

func svmLocation(a *Agent) uint32 {
	switch {
	case a == nil:
		return kfd.SVMLocationUndefined
	case !a.IsGPU():
		return kfd.SVMLocationSysmem
	}
	return a.Node.GPUID
}

// SVMSet sets attributes of the pages around a range.
func (r *Runtime) SVMSet(addr, size uint64, attrs []SVMAttribute) error {
	const op = "svm_attributes_set"
	if addr == 0 || size == 0 || addr+size < addr {
		return fail(op, StatusInvalidArgument)
	}
	var out []kfd.SVMAttribute
	add := func(t, v uint32) { out = append(out, kfd.SVMAttribute{Type: t, Value: v}) }
	var set, clr uint32
	flag := func(f uint32, on bool) {
		if on {
			set, clr = set|f, clr&^f
		} else {
			set, clr = set&^f, clr|f
		}
	}
	for _, x := range attrs {
		switch x.Attr {
		case SVMGlobalFlag:
			if x.Value > 1 {
				return fail(op, StatusInvalidArgument, "global flag %d", x.Value)
			}
			flag(kfd.SVMFlagCoherent, x.Value == 0)
		case SVMReadOnly, SVMHiveLocal, SVMReadMostly, SVMGPUExec:
			flag(svmFlags[x.Attr], x.Value != 0)
		case SVMGranularity:
			add(kfd.SVMAttrGranularity, uint32(min(x.Value, 63)))
		case SVMPreferredLocation:
			add(kfd.SVMAttrPreferredLoc, svmLocation(x.Agent))
		case SVMAccessible, SVMAccessibleInPlace, SVMNoAccess:
			switch {
			case x.Agent == nil:
				return fail(op, StatusInvalidAgent)
			case !x.Agent.IsGPU():
				flag(kfd.SVMFlagHostAccess, x.Attr != SVMNoAccess)
			default:
				add(map[SVMAttr]uint32{SVMAccessible: kfd.SVMAttrAccess, SVMAccessibleInPlace: kfd.SVMAttrAccessInPlace, SVMNoAccess: kfd.SVMAttrNoAccess}[x.Attr], x.Agent.Node.GPUID)
			}
		default:
			return fail(op, StatusInvalidArgument, "attribute %d", x.Attr)
		}
	}
	if set != 0 {
		add(kfd.SVMAttrSetFlags, set)
	}
	if clr != 0 {
		add(kfd.SVMAttrClrFlags, clr)
	}
	if len(out) == 0 {
		return nil
	}
	start, n := pages(addr, size)
	return wrap(op, r.kfd.SVM(kfd.SVMOpSetAttr, start, n, out))
}

// SVMGet fills in the attributes that are asked for, of the pages around a range. Where the pages differ, a location is nil and a flag is what all of them have; of the global flag,
// 2 says that they differ.
func (r *Runtime) SVMGet(addr, size uint64, attrs []SVMAttribute) error {
	const op = "svm_attributes_get"
	if addr == 0 || size == 0 || addr+size < addr {
		return fail(op, StatusInvalidArgument)
	}
	ask := []kfd.SVMAttribute{{Type: kfd.SVMAttrSetFlags}, {Type: kfd.SVMAttrClrFlags}, {Type: kfd.SVMAttrPreferredLoc}, {Type: kfd.SVMAttrPrefetchLoc}, {Type: kfd.SVMAttrGranularity}}
	at := map[int]int{}
	for i, x := range attrs {
		if x.Attr == SVMAccessQuery && x.Agent != nil && x.Agent.IsGPU() {
			at[i] = len(ask)
			ask = append(ask, kfd.SVMAttribute{Type: kfd.SVMAttrAccess, Value: x.Agent.Node.GPUID})
		}
	}
	start, n := pages(addr, size)
	if err := r.kfd.SVM(kfd.SVMOpGetAttr, start, n, ask); err != nil {
		return wrap(op, err)
	}
	set, clr := ask[0].Value, ask[1].Value
	agentOf := func(v uint32) *Agent {
		if v == kfd.SVMLocationSysmem {
			return r.cpu
		}
		for _, a := range r.gpus {
			if a.Node.GPUID == v {
				return a
			}
		}
		return nil
	}
	for i := range attrs {
		x := &attrs[i]
		switch x.Attr {
		case SVMGlobalFlag:
			switch {
			case set&kfd.SVMFlagCoherent != 0:
				x.Value = 0
			case clr&kfd.SVMFlagCoherent != 0:
				x.Value = 1
			default:
				x.Value = 2
			}
		case SVMReadOnly, SVMHiveLocal, SVMReadMostly, SVMGPUExec:
			x.Value = 0
			if set&svmFlags[x.Attr] != 0 {
				x.Value = 1
			}
		case SVMGranularity:
			x.Value = uint64(ask[4].Value)
		case SVMPreferredLocation:
			x.Agent = agentOf(ask[2].Value)
		case SVMPrefetchLocation:
			x.Agent = agentOf(ask[3].Value)
		case SVMAccessQuery:
			j, ok := at[i]
			switch {
			case !ok && x.Agent == nil:
				return fail(op, StatusInvalidAgent)
			case !ok && set&kfd.SVMFlagHostAccess != 0:
				x.Attr = SVMAccessible
			case !ok:
				x.Attr = SVMNoAccess
			case ask[j].Type == kfd.SVMAttrAccess:
				x.Attr = SVMAccessible
			case ask[j].Type == kfd.SVMAttrAccessInPlace:
				x.Attr = SVMAccessibleInPlace
			default:
				x.Attr = SVMNoAccess
			}
		default:
			return fail(op, StatusInvalidArgument, "attribute %d", x.Attr)
		}
	}
	return nil
}

// SVMPrefetch moves the pages around a range to an agent, and returns when they are there.
func (r *Runtime) SVMPrefetch(addr, size uint64, to *Agent) error {
	const op = "svm_prefetch"
	if addr == 0 || size == 0 || to == nil {
		return fail(op, StatusInvalidArgument)
	}
	start, n := pages(addr, size)
	return wrap(op, r.kfd.SVM(kfd.SVMOpSetAttr, start, n, []kfd.SVMAttribute{{Type: kfd.SVMAttrPrefetchLoc, Value: svmLocation(to)}}))
}
