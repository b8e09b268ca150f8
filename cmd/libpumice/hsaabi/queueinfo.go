package hsaabi

/*
static void call_function(void *f, void *arg) { ((void (*)(void *))f)(arg); }
*/
import "C"

import (
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

//export hsa_amd_queue_get_info
func hsa_amd_queue_get_info(p uintptr, attr int32, out uintptr) int32 {
	if rt() == nil {
		return notInit
	}
	q := queue(p)
	if q == nil {
		return int32(hsa.StatusInvalidQueue)
	}
	if out == 0 {
		return badArg
	}
	switch attr {
	case 0:
		return put(out, agents.of(q.Agent))
	case 1: // the doorbell's address
		return put(out, uint64(record(uint64((*aql.HSAQueue)(ptr(q.Addr())).DoorbellSignal)).Value))
	}
	return badArg
}

// Scratch is not reclaimed from running queues here, so there is no limit to set.
//
//export hsa_amd_agent_set_async_scratch_limit
func hsa_amd_agent_set_async_scratch_limit(agent, threshold uint64) int32 {
	if rt() == nil {
		return notInit
	}
	if a := agents.get(agent); a == nil || !a.IsGPU() {
		return int32(hsa.StatusInvalidAgent)
	}
	return badArg
}

// The function runs on a thread of the runtime.
//
//export hsa_amd_async_function
func hsa_amd_async_function(f, arg unsafe.Pointer) int32 {
	if rt() == nil {
		return notInit
	}
	if f == nil {
		return badArg
	}
	go C.call_function(f, arg)
	return ok
}

// The runtime submits no kernels of its own that a log could tell of: copies are by the engines.
//
//export hsa_amd_enable_logging
func hsa_amd_enable_logging(flags, file uintptr) int32 {
	if rt() == nil {
		return notInit
	}
	if flags == 0 {
		return badArg
	}
	return ok
}

// hsa_amd_signal_wait_all waits until every condition has held; a null or invalid signal counts as one whose condition holds, with the value 0.
//
//export hsa_amd_signal_wait_all
func hsa_amd_signal_wait_all(n uint32, list *uint64, conds *int32, values *int64, timeout uint64, hint int32, out *int64) uint32 {
	const timedOut = ^uint32(0)
	if rt() == nil || n > 0 && (list == nil || conds == nil || values == nil) {
		return timedOut
	}
	handles, good1 := given(list, n)
	cs, good2 := conditions(conds, n)
	wants, good3 := given(values, n)
	if !good1 || !good2 || !good3 {
		return timedOut
	}
	limit, start := timeoutOf(timeout), time.Now()
	for i := range n {
		v := int64(0)
		if s := signal(handles[i]); s != nil {
			left := limit
			if limit != hsa.Forever {
				left = max(limit-time.Since(start), 0)
			}
			c, want := cs[i], wants[i]
			if v = s.Wait(c, want, left); !c.Holds(v, want) {
				return timedOut
			}
		}
		if out != nil {
			put(uintptr(unsafe.Pointer(out))+8*uintptr(i), v)
		}
	}
	return 0
}
