// Package hsaabi is the C face of runtime/hsa: hsa.h and AMD's extensions, under their C names. libhsa-runtime64.so.1, a C stub, looks them up here when a
// program first calls one.
// What it does not have is answered by the stub with HSA_STATUS_ERROR: the finalizer of HSAIL, and moving memory between pools.
//
// Start says what stands behind; a main package sets it before anything can call.
//
// fidelity: refused hsa_ext_program_*: there is no finalizer, as with ROCr
//
// fidelity: refused hsa_amd_memory_migrate, hsa_amd_memory_pool_can_migrate, hsa_executable_load_program_code_object: as with ROCr, which has never done them
//
// Handles are numbers of tables here, but for queues and signals, which programs look into: their handles are the addresses of the amd_queue_t and amd_signal_t records.
package hsaabi

/*
#include <stdbool.h>
#include <stdint.h>

static int call_handle(void *f, uint64_t h, void *data) { return ((int (*)(uint64_t, void *))f)(h, data); }

extern int pumice_loader_query_host_address(void *, void **);
extern int pumice_loader_query_segment_descriptors(void *, unsigned long long *);
extern int pumice_loader_query_executable(void *, unsigned long long *);
static void *loader_function(int i) {
    switch (i) {
    case 0: return pumice_loader_query_host_address;
    case 1: return pumice_loader_query_segment_descriptors;
    case 2: return pumice_loader_query_executable;
    }
    return 0;
}
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/cmd/libpumice/caller"
	"github.com/pumice-gpu/pumice/internal/bigstack"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// Start opens the runtime at the first hsa_init. An error is printed, and hsa_init then fails.
var Start func() (*hsa.Runtime, error)

const (
	ok      = int32(hsa.StatusSuccess)
	badArg  = int32(hsa.StatusInvalidArgument)
	notInit = int32(hsa.StatusNotInitialized)
	failure = int32(hsa.StatusError)
)

var state struct {
	mu   sync.Mutex
	refs int          // guarded by mu
	rt   *hsa.Runtime // guarded by mu; stays after the last shut_down, because queues of other threads may still be looked at
	err  error        // guarded by mu
}

// rt is the open runtime, nil before hsa_init.
func rt() *hsa.Runtime {
	bigstack.Reserve()
	state.mu.Lock()
	defer state.mu.Unlock()
	if state.refs == 0 {
		return nil
	}
	return state.rt
}

//export hsa_init
func hsa_init() int32 {
	bigstack.Reserve()
	state.mu.Lock()
	defer state.mu.Unlock()
	if state.rt == nil && state.err == nil {
		if state.rt, state.err = Start(); state.err != nil {
			fmt.Fprintf(os.Stderr, "pumice: %v\n", state.err)
		}
	}
	if state.err != nil {
		return int32(hsa.StatusOutOfResources)
	}
	state.refs++
	return ok
}

//export hsa_shut_down
func hsa_shut_down() int32 {
	state.mu.Lock()
	defer state.mu.Unlock()
	if state.refs == 0 {
		return notInit
	}
	state.refs--
	return ok
}

func code(err error) int32 { return int32(hsa.StatusOf(err)) }

func ptr(a uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// Memory of the program is reached through package caller, which says why. Bad addresses are bad arguments.

// put stores through the void pointers of the get_info functions.
func put[T any](p uintptr, v T) int32 { return give((*T)(ptr(uint64(p))), v) }

// give stores a result.
func give[T any](p *T, v T) int32 {
	if !caller.Put(p, v) {
		return badArg
	}
	return ok
}

// given copies a list of n values; good is false where there are none.
func given[T any, N uint32 | uint64](p *T, n N) (list []T, good bool) {
	const most = 1 << 20
	if n == 0 {
		return nil, true
	}
	if p == nil || n > most {
		return nil, false
	}
	list = make([]T, n)
	return list, caller.Load(unsafe.Pointer(&list[0]), uintptr(unsafe.Pointer(p)), uintptr(n)*unsafe.Sizeof(list[0]))
}

// text is a string of the program's, "" where there is none.
func text(p *C.char) string {
	s, _ := caller.Text(uintptr(unsafe.Pointer(p)))
	return s
}

func putText(p uintptr, s string, n int) int32 {
	b := make([]byte, n)
	copy(b[:n-1], s)
	return putBytes(p, b)
}

func putBytes(p uintptr, b []byte) int32 {
	if len(b) > 0 && !caller.Store(p, unsafe.Pointer(&b[0]), uintptr(len(b))) {
		return badArg
	}
	return ok
}

// A table of handles.
type handles[T comparable] struct {
	mu   sync.Mutex
	m    map[uint64]T
	back map[T]uint64
	next uint64
}

func (h *handles[T]) of(x T) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k, ok := h.back[x]; ok {
		return k
	}
	if h.m == nil {
		h.m, h.back, h.next = map[uint64]T{}, map[T]uint64{}, 0x100000
	}
	h.next += 64
	h.m[h.next], h.back[x] = x, h.next
	return h.next
}

func (h *handles[T]) get(k uint64) (x T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.m[k]
}

func (h *handles[T]) drop(k uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.back, h.m[k])
	delete(h.m, k)
}

// reader is a code object reader.
type reader struct{ b []byte }

var (
	agents      handles[*hsa.Agent]
	isas        handles[hsa.ISA]
	pools       handles[*hsa.Pool]
	executables handles[*hsa.Executable]
	symbols     handles[*hsa.Symbol]
	loaded      handles[*hsa.LoadedCode]
	readers     handles[*reader]
	queues      sync.Map // address to *hsa.Queue
	doorbells   sync.Map // handle of the doorbell signal to *hsa.Queue
)

var texts sync.Map // static C strings

func static(s string) *C.char {
	if v, ok := texts.Load(s); ok {
		return v.(*C.char)
	}
	v, _ := texts.LoadOrStore(s, C.CString(s))
	return v.(*C.char)
}

//export hsa_status_string
func hsa_status_string(status int32, out **C.char) int32 {
	t, known := hsa.Status(status).Text()
	if !known || out == nil {
		return badArg
	}
	return give(out, static(t))
}

var epoch = time.Now()

// systemTime is HSA's system timestamp: nanoseconds of the clock that the driver calls the system clock.
func systemTime() uint64 {
	r := rt()
	if r != nil {
		if c, err := r.Thunk().ClockCounters(0); err == nil {
			return c.System
		}
	}
	return uint64(time.Since(epoch))
}

const (
	extensionImages = 1
	extensionLoader = 0x201
)

//export hsa_system_get_info
func hsa_system_get_info(attr int32, p uintptr) int32 {
	if rt() == nil {
		return notInit
	}
	if p == 0 {
		return badArg
	}
	switch attr {
	case 0, 1: // version 1.1
		return put(p, uint16(1))
	case 2:
		return put(p, systemTime())
	case 3:
		return put(p, uint64(1_000_000_000))
	case 4:
		return put(p, ^uint64(0))
	case 5:
		return put(p, uint32(0))
	case 6:
		return put(p, uint32(1))
	case 7:
		b := [128]byte{}
		b[extensionLoader/8%128] |= 1 << (extensionLoader % 8)
		return put(p, b)
	case 0x200:
		return put(p, static("pumice"))
	case 0x203: // HSA_AMD_SYSTEM_INFO_MWAITX_ENABLED
		return put(p, false)
	case 0x204, 0x205: // DMA-BUF, virtual memory management
		return put(p, true)
	case 0x206: // HSA_AMD_SYSTEM_INFO_XNACK_ENABLED
		return put(p, rt().XNACK())
	case 0x207: // the version of hsa_ext_amd.h
		return put(p, uint16(1))
	case 0x208:
		return put(p, uint16(11))
	case 0x201: // HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED
		return put(p, rt().SVMSupported())
	case 0x202: // HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT
		return put(p, rt().SVMSupported() && rt().XNACK())
	}
	return badArg
}

//export hsa_system_extension_supported
func hsa_system_extension_supported(ext, major, minor uint16, out *bool) int32 {
	if out == nil {
		return badArg
	}
	return give(out, (ext == extensionLoader || ext == extensionImages) && major == 1 && minor == 0)
}

//export hsa_agent_extension_supported
func hsa_agent_extension_supported(ext uint16, agent uint64, major, minor uint16, out *bool) int32 {
	return hsa_system_extension_supported(ext, major, minor, out)
}

//export hsa_system_get_major_extension_table
func hsa_system_get_major_extension_table(ext, major uint16, n uint64, table uintptr) int32 {
	if table == 0 {
		return badArg
	}
	if ext == extensionImages && major == 1 {
		return imageTable(n, table)
	}
	if ext != extensionLoader || major != 1 {
		return failure
	}
	for i := 0; i < 3 && uint64(i)*8+8 <= n; i++ {
		put(table+uintptr(i)*8, C.loader_function(C.int(i)))
	}
	return ok
}

//export pumice_loader_query_host_address
func pumice_loader_query_host_address(dev unsafe.Pointer, out *unsafe.Pointer) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if out == nil {
		return badArg
	}
	a := uint64(uintptr(dev))
	o, base, found := r.CodeAt(a)
	if !found {
		return badArg
	}
	b, found := o.At(a-base, 1)
	if !found {
		return badArg
	}
	return give(out, unsafe.Pointer(&b[0])) // the object's bytes are the program's own, given to a reader
}

//export pumice_loader_query_segment_descriptors
func pumice_loader_query_segment_descriptors(d unsafe.Pointer, n *uint64) int32 { return failure }

//export pumice_loader_query_executable
func pumice_loader_query_executable(dev unsafe.Pointer, out *uint64) int32 { return failure }

//export hsa_iterate_agents
func hsa_iterate_agents(f, data unsafe.Pointer) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if f == nil {
		return badArg
	}
	for _, a := range r.Agents() {
		if s := C.call_handle(f, C.uint64_t(agents.of(a)), data); s != 0 {
			return int32(s)
		}
	}
	return ok
}

// signal resolves a handle.
func signal(h uint64) *hsa.Signal {
	r := rt()
	if r == nil {
		return nil
	}
	return r.SignalAt(aql.SignalHandle(h))
}
