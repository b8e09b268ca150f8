// ROCm/HIP-CPU#29: shuffles of blocks that are larger than a wave. A lane whose partner is past the end of its wave keeps its own value.
#include "case.h"

namespace hip_cpu_29 {

__global__ void shift16(const int *in, int *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __shfl_down(in[i], 16);
}

CASE(issue_hip_cpu_29) {
    const int n = 1024, wave = wavefront();
    int *in, *out;
    HIP(hipMallocManaged(&in, n * sizeof *in));
    HIP(hipMallocManaged(&out, n * sizeof *out));
    for (int i = 0; i < n; i++) in[i] = i * 3 + 1, out[i] = -1;
    shift16<<<n / 256, 256>>>(in, out);
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < n; i++) SAME(out[i], i % wave + 16 < wave ? in[i + 16] : in[i]);
    HIP(hipFree(in));
    HIP(hipFree(out));
}

}  // namespace hip_cpu_29
