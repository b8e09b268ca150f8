// Package hsaabi is the C face of runtime/hsa: hsa.h and AMD's extensions, under their C names. libhsa-runtime64.so.1, a C stub, looks them up here when a
// program first calls one. It has what AMD's libamdhip64 (5.2) and rocminfo use, and the obvious rest; what is missing is answered by the stub with HSA_STATUS_ERROR.
//
// Start says what stands behind; a main package sets it before anything can call.
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
	"github.com/pumice-gpu/pumice/abi/codeobj"
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

// Stores through the void pointers of the get_info functions.
func put[T any](p uintptr, v T) int32 {
	*(*T)(ptr(uint64(p))) = v
	return ok
}

func putText(p uintptr, s string, n int) int32 {
	b := unsafe.Slice((*byte)(ptr(uint64(p))), n)
	clear(b)
	copy(b[:n-1], s)
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
	isas        handles[*hsa.Agent] // an ISA is its agent's
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
	*out = static(t)
	return ok
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
	case 0x204, 0x205: // DMA-BUF, virtual memory management
		return put(p, true)
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
	*out = (ext == extensionLoader || ext == extensionImages) && major == 1 && minor == 0
	return ok
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
	*out = unsafe.Pointer(&b[0]) // the object's bytes are the program's own, given to a reader
	return ok
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

//export hsa_agent_iterate_isas
func hsa_agent_iterate_isas(agent uint64, f, data unsafe.Pointer) int32 {
	a := agents.get(agent)
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if f == nil {
		return badArg
	}
	if !a.IsGPU() {
		return ok
	}
	return int32(C.call_handle(f, C.uint64_t(isas.of(a)), data))
}

//export hsa_isa_get_info_alt
func hsa_isa_get_info_alt(isa uint64, attr int32, p uintptr) int32 {
	a := isas.get(isa)
	if a == nil {
		return int32(hsa.StatusInvalidISA)
	}
	name := a.Target.Triple()
	switch attr {
	case 0:
		return put(p, uint32(len(name)+1))
	case 1:
		return putText(p, name, len(name)+1)
	case 2:
		return put(p, uint32(1))
	case 3:
		return put(p, a.WavefrontSize)
	case 5:
		return put(p, [2]bool{false, true})
	case 6:
		return put(p, [2]bool{true, false})
	case 7, 8:
		return put(p, [3]bool{false, false, true})
	case 9:
		return put(p, true)
	case 12:
		n := uint16(a.MaxWorkgroupSize)
		return put(p, [3]uint16{n, n, n})
	case 13:
		return put(p, a.MaxWorkgroupSize)
	case 14:
		return put(p, [3]uint32{1<<32 - 1, 1<<32 - 1, 1<<32 - 1})
	case 16:
		return put(p, uint64(1<<32-1))
	case 17:
		return put(p, uint32(32))
	}
	return badArg
}

//export hsa_code_object_reader_create_from_memory
func hsa_code_object_reader_create_from_memory(p unsafe.Pointer, n uint64, out *uint64) int32 {
	if p == nil || n == 0 || n > 1<<40 || out == nil {
		return badArg
	}
	*out = readers.of(&reader{unsafe.Slice((*byte)(p), n)})
	return ok
}

//export hsa_code_object_reader_destroy
func hsa_code_object_reader_destroy(h uint64) int32 {
	if readers.get(h) == nil {
		return int32(hsa.StatusInvalidCodeObjectReader)
	}
	readers.drop(h)
	return ok
}

//export hsa_executable_create_alt
func hsa_executable_create_alt(profile, rounding int32, options *C.char, out *uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if out == nil {
		return badArg
	}
	*out = executables.of(r.NewExecutable())
	return ok
}

//export hsa_executable_create
func hsa_executable_create(profile, st int32, options *C.char, out *uint64) int32 {
	return hsa_executable_create_alt(profile, 0, options, out)
}

//export hsa_executable_destroy
func hsa_executable_destroy(h uint64) int32 {
	e := executables.get(h)
	if e == nil {
		return int32(hsa.StatusInvalidExecutable)
	}
	executables.drop(h)
	return code(e.Destroy())
}

//export hsa_executable_load_agent_code_object
func hsa_executable_load_agent_code_object(exe, agent, rd uint64, options *C.char, out *uint64) int32 {
	e, a, r := executables.get(exe), agents.get(agent), readers.get(rd)
	switch {
	case e == nil:
		return int32(hsa.StatusInvalidExecutable)
	case a == nil:
		return int32(hsa.StatusInvalidAgent)
	case r == nil:
		return int32(hsa.StatusInvalidCodeObjectReader)
	}
	// A copy: the reader's memory is the program's, which may free it after the load.
	o, err := codeobj.Open(append([]byte(nil), r.b...))
	if err != nil {
		return int32(hsa.StatusInvalidCodeObject)
	}
	c, err := e.Load(a, o)
	if err != nil {
		return code(err)
	}
	if out != nil {
		*out = loaded.of(c)
	}
	return ok
}

//export hsa_executable_agent_global_variable_define
func hsa_executable_agent_global_variable_define(exe, agent uint64, name *C.char, addr uintptr) int32 {
	e, a := executables.get(exe), agents.get(agent)
	if e == nil {
		return int32(hsa.StatusInvalidExecutable)
	}
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if name == nil {
		return badArg
	}
	return code(e.Define(a, C.GoString(name), uint64(addr)))
}

//export hsa_executable_freeze
func hsa_executable_freeze(exe uint64, options *C.char) int32 {
	e := executables.get(exe)
	if e == nil {
		return int32(hsa.StatusInvalidExecutable)
	}
	return code(e.Freeze())
}

//export hsa_executable_get_symbol_by_name
func hsa_executable_get_symbol_by_name(exe uint64, name *C.char, agent *uint64, out *uint64) int32 {
	e := executables.get(exe)
	if e == nil {
		return int32(hsa.StatusInvalidExecutable)
	}
	if name == nil || out == nil {
		return badArg
	}
	var a *hsa.Agent
	if agent != nil {
		a = agents.get(*agent)
	} else if cs := e.Loaded(); len(cs) > 0 {
		a = cs[0].Agent
	}
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	n := C.GoString(name)
	s, err := e.Kernel(a, n)
	if err != nil {
		if s, err = e.Variable(a, n); err != nil {
			return int32(hsa.StatusInvalidSymbolName)
		}
	}
	*out = symbols.of(s)
	return ok
}

//export hsa_executable_iterate_symbols
func hsa_executable_iterate_symbols(exe uint64, f, data unsafe.Pointer) int32 { return failure }

//export hsa_executable_symbol_get_info
func hsa_executable_symbol_get_info(sym uint64, attr int32, p uintptr) int32 {
	s := symbols.get(sym)
	if s == nil {
		return int32(hsa.StatusInvalidExecutableSymbol)
	}
	switch attr {
	case 0:
		return put(p, map[bool]uint32{false: 0, true: 1}[s.Kernel != nil])
	case 1:
		return put(p, uint32(len(s.Name)))
	case 2:
		copy(unsafe.Slice((*byte)(ptr(uint64(p))), len(s.Name)), s.Name)
		return ok
	case 3:
		return put(p, uint32(0))
	case 4:
		return ok
	case 20:
		return put(p, agents.of(s.Agent))
	case 5:
		return put(p, uint32(1))
	case 17:
		return put(p, true)
	}
	if k := s.Kernel; k != nil {
		switch attr {
		case 22:
			return put(p, s.Addr)
		case 11:
			return put(p, k.KernargSegmentSize)
		case 12:
			return put(p, max(k.KernargSegmentAlign, 16))
		case 13:
			return put(p, k.GroupSegmentFixedSize)
		case 14:
			return put(p, k.PrivateSegmentFixedSize)
		case 15:
			return put(p, k.UsesDynamicStack)
		case 18:
			return put(p, uint32(0))
		}
		return badArg
	}
	switch attr {
	case 21:
		return put(p, s.Addr)
	case 6:
		return put(p, uint32(0)) // agent allocation
	case 7:
		return put(p, uint32(0)) // global segment
	case 8:
		return put(p, uint32(4))
	case 9:
		return put(p, uint32(s.Size))
	case 10:
		return put(p, false)
	}
	return badArg
}

// signal resolves a handle.
func signal(h uint64) *hsa.Signal {
	r := rt()
	if r == nil {
		return nil
	}
	return r.SignalAt(aql.SignalHandle(h))
}
