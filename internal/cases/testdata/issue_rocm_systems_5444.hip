// ROCm/rocm-systems#5444: advice about managed memory, and what is read back of it.
#include "case.h"

namespace rocm_systems_5444 {

__global__ void addTen(int *p, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += 10;
}

CASE(issue_rocm_systems_5444) {
    const int n = 1 << 16;
    int *p;
    HIP(hipMallocManaged(&p, n * sizeof *p));
    for (int i = 0; i < n; i++) p[i] = 123;
    HIP(hipMemAdvise(p, n * sizeof *p, hipMemAdviseSetAccessedBy, 0));
    addTen<<<n / 256, 256>>>(p, n);
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < n; i++) SAME(p[i], 133);
    int by[2] = {-5, -5};
    HIP(hipMemRangeGetAttribute(by, sizeof by, hipMemRangeAttributeAccessedBy, p, n * sizeof *p));
    SAME(by[0], 0);
    SAME(by[1], hipInvalidDeviceId);

    HIP(hipMemPrefetchAsync(p, n * sizeof *p, 0, nullptr));
    HIP(hipDeviceSynchronize());
    int last = -5;
    HIP(hipMemRangeGetAttribute(&last, sizeof last, hipMemRangeAttributeLastPrefetchLocation, p, n * sizeof *p));
    SAME(last, 0);
    addTen<<<n / 256, 256>>>(p, n);
    HIP(hipMemPrefetchAsync(p, n * sizeof *p, hipCpuDeviceId, nullptr));
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < n; i++) SAME(p[i], 143);
    HIP(hipMemRangeGetAttribute(&last, sizeof last, hipMemRangeAttributeLastPrefetchLocation, p, n * sizeof *p));
    SAME(last, hipCpuDeviceId);
    HIP(hipFree(p));
}

}  // namespace rocm_systems_5444
