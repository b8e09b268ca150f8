// ROCm/legacy-rocm-build#664, ROCm/rocr_debug_agent#2 and a demonstration of rocgdb: a store just past a buffer of 4 KiB, and stores through wild pointers.
// ../cases_test.go looks at what is reported.
#include "case.h"

namespace legacy_rocm_build_664 {

__global__ void past(int *p, int n) {
    if (threadIdx.x == 3) p[n] = 1;  // past the end
}

__global__ void wild(int *p) { p[threadIdx.x] = 1; }  // wild
CASE(issue_legacy_rocm_build_664) {
    int *p;
    HIP(hipMalloc(&p, 4096));
    past<<<1, 64>>>(p, 1024);
    std::printf("%s\n", hipGetErrorName(hipDeviceSynchronize()));
}

CASE(issue_rocr_debug_agent_2) {
    const char *where = std::getenv("WHERE");
    wild<<<1, 64>>>((int *)std::strtoull(where ? where : "0x12345678", nullptr, 0));
    std::printf("%s\n", hipGetErrorName(hipDeviceSynchronize()));
}

}  // namespace legacy_rocm_build_664
