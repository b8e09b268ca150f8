package hsaabi

/*
#include <stdint.h>

typedef struct {
    int32_t type;
    struct { uint64_t agent, address; uint32_t reasons; } fault;
} pumice_hsa_event;

static int call_event(void *f, uint64_t agent, uint64_t address, uint32_t reasons, void *data) {
    pumice_hsa_event e = {0, {agent, address, reasons}};
    return ((int (*)(const pumice_hsa_event *, void *))f)(&e, data);
}
static void call_freed(void *f, void *p, void *data) { ((void (*)(void *, void *))f)(p, data); }
*/
import "C"

import (
	"sync"
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// faultReasons makes a mask of hsa_amd_memory_fault_reason_t.
func faultReasons(f hsa.Fault) (mask uint32) {
	for i, on := range [...]bool{0: f.NotPresent, 1: f.ReadOnly, 2: f.NoExecute, 5: f.Imprecise, 31: f.Reset} {
		if on {
			mask |= 1 << i
		}
	}
	return
}

// The handler of system events decides by its result whether a memory fault ends the process.
//
//export hsa_amd_register_system_event_handler
func hsa_amd_register_system_event_handler(f, data unsafe.Pointer) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if f == nil {
		return badArg
	}
	r.HandleFaults(func(x hsa.Fault) bool {
		return int32(C.call_event(f, C.uint64_t(agents.of(x.Agent)), C.uint64_t(x.Addr), C.uint32_t(faultReasons(x)), data)) == ok
	})
	return ok
}

// freedCallback is told when an allocation goes.
type freedCallback struct {
	p       uintptr
	f, data unsafe.Pointer
}

var freedCallbacks struct {
	mu sync.Mutex
	of map[*hsa.Memory][]freedCallback // guarded by mu
}

// calledBack is the memory at p, for a function that wants to hear of its end.
func calledBack(p uintptr, f unsafe.Pointer) (*hsa.Memory, int32) {
	r := rt()
	if r == nil {
		return nil, notInit
	}
	if p == 0 || f == nil {
		return nil, badArg
	}
	if m := r.Find(uint64(p)); m != nil {
		return m, ok
	}
	return nil, int32(hsa.StatusInvalidAllocation)
}

//export hsa_amd_register_deallocation_callback
func hsa_amd_register_deallocation_callback(p uintptr, f, data unsafe.Pointer) int32 {
	m, st := calledBack(p, f)
	if st != ok {
		return st
	}
	c := &freedCallbacks
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[*hsa.Memory][]freedCallback{}
	}
	c.of[m] = append(c.of[m], freedCallback{p, f, data})
	return ok
}

//export hsa_amd_deregister_deallocation_callback
func hsa_amd_deregister_deallocation_callback(p uintptr, f unsafe.Pointer) int32 {
	m, st := calledBack(p, f)
	if st != ok {
		return st
	}
	c := &freedCallbacks
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, x := range c.of[m] {
		if x.p == p && x.f == f {
			c.of[m] = append(c.of[m][:i:i], c.of[m][i+1:]...)
			return ok
		}
	}
	return badArg
}

// freed tells the callbacks of memory that is gone.
func freed(m *hsa.Memory) {
	userData.Delete(m)
	c := &freedCallbacks
	c.mu.Lock()
	all := c.of[m]
	delete(c.of, m)
	c.mu.Unlock()
	for _, x := range all {
		C.call_freed(x.f, ptr(uint64(x.p)), x.data)
	}
}
