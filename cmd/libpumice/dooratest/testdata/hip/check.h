// Checks for the programs of this folder. A program prints PASSED as its last line, or what was wrong.
#pragma once
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>

static int wrong;

// DO ends the program unless the call succeeds.
#define DO(call) done((call), #call, __LINE__)
static inline void done(hipError_t e, const char *call, int line) {
    if (e == hipSuccess) return;
    printf("line %d: %s: %s\n", line, call, hipGetErrorName(e));
    exit(1);
}

// WANT notes a value that is not the expected one.
#define WANT(got, want) compare((long long)(got), (long long)(want), #got, __LINE__)
static inline void compare(long long got, long long want, const char *what, int line) {
    if (got == want) return;
    printf("line %d: %s is %lld, want %lld\n", line, what, got, want);
    wrong++;
}

static int finish() {
    puts(wrong ? "FAILED" : "PASSED");
    return wrong != 0;
}

// Functions that came after HIP 5.2, whose header does not have them.
extern "C" {
typedef struct hipUserObject *hipUserObject_t;
hipError_t hipUserObjectCreate(hipUserObject_t *, void *, hipHostFn_t, unsigned, unsigned);
hipError_t hipUserObjectRelease(hipUserObject_t, unsigned);
hipError_t hipUserObjectRetain(hipUserObject_t, unsigned);
hipError_t hipGraphRetainUserObject(hipGraph_t, hipUserObject_t, unsigned, unsigned);
hipError_t hipGraphReleaseUserObject(hipGraph_t, hipUserObject_t, unsigned);
hipError_t hipGraphDebugDotPrint(hipGraph_t, const char *, unsigned);
hipError_t hipGraphNodeSetEnabled(hipGraphExec_t, hipGraphNode_t, unsigned);
hipError_t hipGraphNodeGetEnabled(hipGraphExec_t, hipGraphNode_t, unsigned *);
hipError_t hipDeviceSetLimit(enum hipLimit_t, size_t);
hipError_t hipGraphUpload(hipGraphExec_t, hipStream_t);
hipError_t hipGraphAddMemAllocNode(hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, struct MemAllocParams *);
hipError_t hipGraphAddMemFreeNode(hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, void *);
}
struct MemAllocParams {
    hipMemPoolProps props;
    const hipMemAccessDesc *access;
    size_t count, bytes;
    void *ptr;
};
