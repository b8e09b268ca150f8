// ROCm/HIP-CPU#27: warpSize on the host and in a kernel of one thread were not the same.
#include "case.h"

namespace hip_cpu_27 {

__global__ void tellWarpSize(int *out) { *out = warpSize; }

CASE(issue_hip_cpu_27) {
    hipDeviceProp_t p;
    HIP(hipGetDeviceProperties(&p, 0));
    int *out, got = 0;
    HIP(hipMalloc(&out, sizeof *out));
    tellWarpSize<<<1, 1>>>(out);
    HIP(hipMemcpy(&got, out, sizeof got, hipMemcpyDeviceToHost));
    SAME(got, p.warpSize);
    SAME(got, wavefront());
    HIP(hipFree(out));
}

}  // namespace hip_cpu_27
