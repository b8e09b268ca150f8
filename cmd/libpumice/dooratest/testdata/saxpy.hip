// The module of badhip.c.
#include <hip/hip_runtime.h>

extern "C" __global__ void saxpy(const float *x, float *y, float a, unsigned n) {
    const unsigned i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
