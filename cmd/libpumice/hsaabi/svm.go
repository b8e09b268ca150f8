package hsaabi

import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/cmd/libpumice/caller"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// svmPair is hsa_amd_svm_attribute_pair_t.
type svmPair struct{ attribute, value uint64 }

// svmAttributes reads a list; bad handles of agents give INVALID_AGENT. Only an access query has a handle in a list to get: the other values are where the answers go, and
// hold whatever was there.
func svmAttributes(list unsafe.Pointer, n uint64, get bool) (out []hsa.SVMAttribute, status int32) {
	if list == nil || n == 0 || n > 1<<16 {
		return nil, badArg
	}
	pairs, good := given((*svmPair)(list), n)
	if !good {
		return nil, badArg
	}
	for _, x := range pairs {
		a := hsa.SVMAttribute{Attr: hsa.SVMAttr(x.attribute), Value: x.value}
		if get && a.Attr != hsa.SVMAccessQuery {
			out = append(out, hsa.SVMAttribute{Attr: a.Attr})
			continue
		}
		switch a.Attr {
		case hsa.SVMPreferredLocation, hsa.SVMAccessible, hsa.SVMAccessibleInPlace, hsa.SVMNoAccess, hsa.SVMAccessQuery:
			if a.Agent = agents.get(x.value); a.Agent == nil && (x.value != 0 || a.Attr != hsa.SVMPreferredLocation) {
				return nil, int32(hsa.StatusInvalidAgent)
			}
		}
		out = append(out, a)
	}
	return out, ok
}

//export hsa_amd_svm_attributes_set
func hsa_amd_svm_attributes_set(address uintptr, size uint64, list unsafe.Pointer, n uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	attrs, status := svmAttributes(list, n, false)
	if status != ok {
		return status
	}
	return code(r.SVMSet(uint64(address), size, attrs))
}

//export hsa_amd_svm_attributes_get
func hsa_amd_svm_attributes_get(address uintptr, size uint64, list unsafe.Pointer, n uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	attrs, status := svmAttributes(list, n, true)
	if status != ok {
		return status
	}
	if err := r.SVMGet(uint64(address), size, attrs); err != nil {
		return code(err)
	}
	for i, a := range attrs {
		at := uintptr(list) + uintptr(i)*unsafe.Sizeof(svmPair{})
		x, good := caller.Get((*svmPair)(ptr(uint64(at))))
		if !good {
			return badArg
		}
		switch a.Attr {
		case hsa.SVMPreferredLocation, hsa.SVMPrefetchLocation:
			x.value = 0
			if a.Agent != nil {
				x.value = agents.of(a.Agent)
			}
		case hsa.SVMAccessible, hsa.SVMAccessibleInPlace, hsa.SVMNoAccess: // what a query became
			x.attribute = uint64(a.Attr)
		default:
			x.value = a.Value
		}
		if st := put(at, x); st != ok {
			return st
		}
	}
	return ok
}

//export hsa_amd_svm_prefetch_async
func hsa_amd_svm_prefetch_async(address uintptr, size, agent uint64, n uint32, deps *uint64, completion uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	a := agents.get(agent)
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	ds, good := signalList(n, deps)
	done := signal(completion)
	if address == 0 || size == 0 || !good || done == nil {
		return badArg
	}
	go func() {
		for _, d := range ds {
			d.Wait(0, 0, hsa.Forever)
		}
		// There is nobody to tell of an error, as in ROCr: the pages stay where they are.
		_ = r.SVMPrefetch(uint64(address), size, a)
		done.Add(-1)
	}()
	return ok
}
