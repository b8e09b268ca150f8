package hsaabi

import "C"

import (
	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/runtime/hsa"
	"sync"
)

// signalGroup is a list of signals to wait for together.
type signalGroup struct{ signals []uint64 }

var signalGroups handles[*signalGroup]

//export hsa_signal_group_create
func hsa_signal_group_create(n uint32, list *uint64, consumers uint32, agentList *uint64, out *uint64) int32 {
	if rt() == nil {
		return notInit
	}
	if n == 0 || list == nil || consumers > 0 && agentList == nil || out == nil {
		return badArg
	}
	handles, good := given(list, n)
	if !good {
		return badArg
	}
	g := &signalGroup{handles}
	for _, h := range g.signals {
		if signal(h) == nil {
			return int32(hsa.StatusInvalidSignal)
		}
	}
	return give(out, signalGroups.of(g))
}

//export hsa_signal_group_destroy
func hsa_signal_group_destroy(h uint64) int32 {
	if rt() == nil {
		return notInit
	}
	if signalGroups.get(h) == nil {
		return int32(hsa.StatusInvalidSignalGroup)
	}
	signalGroups.drop(h)
	return ok
}

//export hsa_signal_group_wait_any
func hsa_signal_group_wait_any(h uint64, conds *int32, values *int64, hint int32, which *uint64, value *int64) int32 {
	if rt() == nil {
		return notInit
	}
	g := signalGroups.get(h)
	if g == nil {
		return int32(hsa.StatusInvalidSignalGroup)
	}
	if conds == nil || values == nil || which == nil || value == nil {
		return badArg
	}
	n := len(g.signals)
	ss, good := signalList(uint32(n), &g.signals[0])
	if !good {
		return int32(hsa.StatusInvalidSignal)
	}
	cs, good1 := conditions(conds, uint32(n))
	vs, good2 := given(values, uint32(n))
	if !good1 || !good2 {
		return badArg
	}
	i, v := hsa.WaitAny(ss, cs, vs, hsa.Forever)
	if i < 0 {
		return failure
	}
	if st := give(which, g.signals[i]); st != ok {
		return st
	}
	return give(value, v)
}

// softQueues are the queues of programs that process packets themselves, by address.
var softQueues sync.Map // address to *hsa.SoftQueue

//export hsa_soft_queue_create
func hsa_soft_queue_create(region uint64, size uint32, typ int32, features uint32, doorbell uint64, out *uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	p := pools.get(region)
	switch {
	case out == nil || size == 0 || size&(size-1) != 0 || typ < 0 || typ > 1 || features == 0 || doorbell == 0:
		return badArg
	case p == nil:
		return int32(hsa.StatusInvalidRegion)
	}
	q, err := p.NewSoftQueue(size, aql.QueueType(typ), features, aql.SignalHandle(doorbell))
	if err != nil {
		return code(err)
	}
	softQueues.Store(uintptr(q.Addr()), q)
	return give(out, uintptr(q.Addr()))
}
