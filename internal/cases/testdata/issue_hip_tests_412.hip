// ROCm/hip-tests#412, ROCm/rocm-systems#7450, ROCm/hip#3803: cooperative launches of as many blocks as the device holds, and of more. The first run, all blocks at
// once; the second are refused. Neither may hang.
#include "case.h"

#include <hip/hip_cooperative_groups.h>

namespace hip_tests_412 {

// Every block waits for every other, twice.
__global__ void together(unsigned *arrived, unsigned *bad) {
    cooperative_groups::grid_group g = cooperative_groups::this_grid();
    for (unsigned round = 1; round <= 2; round++) {
        if (threadIdx.x == 0) atomicAdd(arrived, 1);
        g.sync();
        if (__hip_atomic_load(arrived, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != round * gridDim.x) atomicAdd(bad, 1);
        g.sync();
    }
}

CASE(issue_hip_tests_412) {
    hipDeviceProp_t p;
    HIP(hipGetDeviceProperties(&p, 0));
    MUST(p.cooperativeLaunch);
    const int threads = 1024;
    int each = 0;
    HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&each, together, threads, 0));
    MUST(each > 0);
    const int most = each * p.multiProcessorCount;
    unsigned *counts;
    HIP(hipMalloc(&counts, 2 * sizeof *counts));
    unsigned *arrived = counts, *bad = counts + 1;
    void *args[] = {&arrived, &bad};
    const auto key = reinterpret_cast<void *>(together);
    for (int blocks : {1, most}) {
        unsigned h[2] = {};
        HIP(hipMemset(counts, 0, sizeof h));
        HIP(hipLaunchCooperativeKernel(key, dim3(blocks), dim3(threads), args, 0, nullptr));
        HIP(hipDeviceSynchronize());
        HIP(hipMemcpy(h, counts, sizeof h, hipMemcpyDeviceToHost));
        SAME(h[0], 2 * blocks);
        SAME(h[1], 0);
    }
    SAME(hipLaunchCooperativeKernel(key, dim3(most + 1), dim3(threads), args, 0, nullptr), hipErrorCooperativeLaunchTooLarge);
    SAME(hipLaunchCooperativeKernel(key, dim3(1 << 20), dim3(threads), args, 0, nullptr), hipErrorCooperativeLaunchTooLarge);
    SAME(hipGetLastError(), hipErrorCooperativeLaunchTooLarge);
    HIP(hipDeviceSynchronize());
    HIP(hipFree(counts));
}

}  // namespace hip_tests_412
