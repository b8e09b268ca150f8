// CHIP-SPV/chipStar#1103: a kernel on the null stream, then a wait for another stream. A blocking stream comes after the null stream even when it has no work of
// its own; a non-blocking one does not.
#include "case.h"

namespace chipstar_1103 {

__global__ void untilTold(volatile int *go, volatile int *done) {
    while (!*go) __builtin_amdgcn_s_sleep(10);
    *done = 1;
    __threadfence_system();
}

__global__ void look(volatile int *done, int *seen) { *seen = *done; }

CASE(issue_chipstar_1103) {
    hipStream_t blocking, nonBlocking;
    HIP(hipStreamCreate(&blocking));
    HIP(hipStreamCreateWithFlags(&nonBlocking, hipStreamNonBlocking));
    int *flags;
    HIP(hipHostMalloc(&flags, 2 * sizeof *flags, hipHostMallocCoherent));
    int *seen;
    HIP(hipHostMalloc(&seen, sizeof *seen));
    *seen = -1;
    hipEvent_t e;
    HIP(hipEventCreate(&e));
    volatile int *go = flags, *done = flags + 1;

    *go = *done = 0;
    untilTold<<<1, 1>>>(flags, flags + 1);
    HIP(hipStreamSynchronize(nonBlocking));  // would never return if it waited
    HIP(hipStreamQuery(nonBlocking));
    SAME(*done, 0);
    SAME(hipStreamQuery(nullptr), hipErrorNotReady);
    SAME(hipStreamQuery(blocking), hipErrorNotReady);
    *go = 1;
    HIP(hipStreamSynchronize(blocking));
    SAME(*done, 1);

    // Work of the blocking stream itself comes after the null stream's.
    *go = *done = 0;
    untilTold<<<1, 1>>>(flags, flags + 1);
    look<<<1, 1, 0, blocking>>>(flags + 1, seen);
    HIP(hipEventRecord(e, blocking));
    SAME(hipEventQuery(e), hipErrorNotReady);
    *go = 1;
    HIP(hipEventSynchronize(e));
    SAME(*(volatile int *)seen, 1);
    HIP(hipEventDestroy(e));
    HIP(hipStreamDestroy(blocking));
    HIP(hipStreamDestroy(nonBlocking));
    HIP(hipHostFree(seen));
    HIP(hipHostFree(flags));
}

}  // namespace chipstar_1103
