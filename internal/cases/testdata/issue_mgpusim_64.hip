// sarchlab/mgpusim#64: the matrix product that every OpenCL course begins with: tiles of 8, two in local memory, barriers between.
#include "case.h"

namespace mgpusim_64 {

const int tile = 8;

__global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float sa[tile][tile], sb[tile][tile];
    const int ly = threadIdx.y, lx = threadIdx.x, y = blockIdx.y * tile + ly, x = blockIdx.x * tile + lx;
    float sum = 0;
    for (int t = 0; t < n / tile; t++) {
        sa[ly][lx] = a[y * n + t * tile + lx];
        sb[ly][lx] = b[(t * tile + ly) * n + x];
        __syncthreads();
        for (int k = 0; k < tile; k++) sum += sa[ly][k] * sb[k][lx];
        __syncthreads();
    }
    c[y * n + x] = sum;
}

CASE(issue_mgpusim_64) {
    const int n = 64;
    std::vector<float> a(n * n), b(n * n), c(n * n);
    for (int i = 0; i < n * n; i++) a[i] = (float)(i % 11) - 5, b[i] = (float)(i % 13) - 6;
    float *d[3];
    for (auto &p : d) HIP(hipMalloc(&p, n * n * sizeof(float)));
    HIP(hipMemcpy(d[0], a.data(), n * n * sizeof(float), hipMemcpyHostToDevice));
    HIP(hipMemcpy(d[1], b.data(), n * n * sizeof(float), hipMemcpyHostToDevice));
    matmul<<<dim3(n / tile, n / tile), dim3(tile, tile)>>>(d[0], d[1], d[2], n);
    HIP(hipMemcpy(c.data(), d[2], n * n * sizeof(float), hipMemcpyDeviceToHost));
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            float want = 0;
            for (int k = 0; k < n; k++) want += a[y * n + k] * b[k * n + x];
            MUST(c[y * n + x] == want);
        }
    for (auto &p : d) HIP(hipFree(p));
}

}  // namespace mgpusim_64
