// ROCm/hip#2266, #3794, ROCm/TheRock#7989: printf of eight threads and a wait. ROCm/legacy-rocm-build#5425: widths in a format, and a string of the device.
// ../cases_test.go looks at what is printed.
#include "case.h"

namespace hip_2266 {

__global__ void hello() { printf("hello from thread %d\n", (int)threadIdx.x); }

__global__ void widths(int n) {
    const char *name = "pumice";
    printf("%10s %i\n", name, n);
    printf("[%-8s|%8s|%5d]\n", "left", "right", n);
}

CASE(issue_hip_2266) {
    hello<<<1, 8>>>();
    HIP(hipDeviceSynchronize());
}

CASE(issue_legacy_rocm_build_5425) {
    widths<<<1, 1>>>(42);
    HIP(hipDeviceSynchronize());
    std::printf("%10s %i\n", "pumice", 42);
    std::printf("[%-8s|%8s|%5d]\n", "left", "right", 42);
}

}  // namespace hip_2266
