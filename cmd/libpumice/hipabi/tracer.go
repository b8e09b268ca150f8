package hipabi

/*
#include <stdint.h>
#include <stdlib.h>

// What a tracer is called with: hip_api_data_t (correlation id, phase, a union of the arguments, a pointer) and behind it its own. The size of the union is
// that of the release's largest member.
enum { TRACE_5 = 840, TRACE_6 = 1520, TRACE_MOST = TRACE_6 + 64 };
struct trace_end {
    uint64_t enter, data;
    void (*begin)(uint32_t, void *);
    void (*end)(uint32_t, void *);
};
struct trace { uint64_t words[TRACE_MOST / 8]; };

static struct trace_end *trace_tail(struct trace *t, int face) {
    return (struct trace_end *)((char *)t + (face <= 5 ? TRACE_5 : TRACE_6));
}
// trace_begin asks the tracer whether it wants to hear of a call, and tells it of its begin.
static struct trace *trace_begin(void *f, uint32_t id, int face) {
    enum { HIP_API = 3 };
    struct trace *t = calloc(1, sizeof *t);
    if (!t) return t;
    if (((int (*)(uint32_t, uint32_t, void *))f)(HIP_API, id, t)) {
        free(t);
        return NULL;
    }
    if (trace_tail(t, face)->begin) trace_tail(t, face)->begin(id, t);
    return t;
}
static void trace_end(uint32_t id, int face, struct trace *t) {
    if (trace_tail(t, face)->end) trace_tail(t, face)->end(id, t);
    free(t);
}
*/
import "C"

import (
	"runtime/debug"
	"unsafe"

	"github.com/pumice-gpu/pumice/cmd/libpumice/caller"
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// The interface of roctracer since release 5.3, and names for it.
//
// fidelity: approximate hipRegisterTracerCallback: calls of the API are reported without their arguments; commands of the device are not, pumice prof sees them
//
// fidelity: refused hipInitActivityCallback, hipEnableActivityCallback, hipRegisterApiCallback: the interface of roctracer up to release 5.2; pumice prof sees the same

//export hipRegisterTracerCallback
func hipRegisterTracerCallback(f unsafe.Pointer) {
	a := api()
	watched(a, f != nil)
	if f == nil {
		a.SetTracer(nil)
		return
	}
	face := C.int(a.Face)
	a.SetTracer(func(id uint32) func() {
		t := C.trace_begin(f, C.uint32_t(id), face)
		if t == nil {
			return nil
		}
		return func() { C.trace_end(C.uint32_t(id), face, t) }
	})
}

//export hipApiName
func hipApiName(id uint32) *C.char { return static(api().APIName(id)) }

//export hipGetCmdName
func hipGetCmdName(kind uint32) *C.char { return static(hip.CommandName(kind)) }

// What debuggers ask to tell builds of the runtime apart.

//export amd_dbgapi_get_build_name
func amd_dbgapi_get_build_name() *C.char { return static("pumice") }

//export amd_dbgapi_get_git_hash
func amd_dbgapi_get_git_hash() *C.char {
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				return static(s.Value)
			}
		}
	}
	return static("unknown")
}

//export amd_dbgapi_get_build_id
func amd_dbgapi_get_build_id() uint64 { return 0 }

// The headers of the runtime, compiled before: there are none inside, and hiprtc does without.
//
//export __hipGetPCH
func __hipGetPCH(out *uintptr, size *uint32) {
	caller.Put(out, 0)
	caller.Put(size, 0)
}
