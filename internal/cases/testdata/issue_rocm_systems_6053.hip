// ROCm/rocm-systems#6053: a matrix product whose work-groups wait for each other. The inner dimension is split; the group of each part adds to the tile when the
// one before has set the tile's flag, which is read past the caches (glc) in a loop.
#include "case.h"

namespace rocm_systems_6053 {

const int M = 64, K = 128, tile = 16, parts = 4;

__global__ void product(const float *a, const float *b, float *c, unsigned *flags) {
    __shared__ float sa[tile][tile], sb[tile][tile];
    // The last part has the lowest number of a block, so that it starts first and has to wait.
    const int part = parts - 1 - blockIdx.x, ty = threadIdx.y, tx = threadIdx.x;
    const int row = blockIdx.z * tile + ty, col = blockIdx.y * tile + tx;
    float sum = 0;
    for (int k = part * K / parts; k < (part + 1) * K / parts; k += tile) {
        sa[ty][tx] = a[row * K + k + tx];
        sb[ty][tx] = b[(k + ty) * M + col];
        __syncthreads();
        for (int i = 0; i < tile; i++) sum += sa[ty][i] * sb[i][tx];
        __syncthreads();
    }
    unsigned *flag = flags + blockIdx.z * (M / tile) + blockIdx.y;
    if (tx == 0 && ty == 0)
        while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != (unsigned)part) __builtin_amdgcn_s_sleep(1);
    __syncthreads();
    float before = part ? __hip_atomic_load(c + row * M + col, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) : 0;
    __hip_atomic_store(c + row * M + col, before + sum, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __threadfence();
    __syncthreads();
    if (tx == 0 && ty == 0) __hip_atomic_store(flag, (unsigned)part + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

CASE(issue_rocm_systems_6053) {
    std::vector<float> a(M * K), b(K * M), c(M * M, NAN);
    for (int i = 0; i < M * K; i++) a[i] = (float)(i % 7) - 3, b[i] = (float)(i % 5) - 2;
    float *da, *db, *dc;
    unsigned *flags;
    const size_t tiles = (M / tile) * (M / tile);
    HIP(hipMalloc(&da, a.size() * sizeof(float)));
    HIP(hipMalloc(&db, b.size() * sizeof(float)));
    HIP(hipMalloc(&dc, c.size() * sizeof(float)));
    HIP(hipMalloc(&flags, tiles * sizeof *flags));
    HIP(hipMemcpy(da, a.data(), a.size() * sizeof(float), hipMemcpyHostToDevice));
    HIP(hipMemcpy(db, b.data(), b.size() * sizeof(float), hipMemcpyHostToDevice));
    HIP(hipMemcpy(dc, c.data(), c.size() * sizeof(float), hipMemcpyHostToDevice));
    HIP(hipMemset(flags, 0, tiles * sizeof *flags));
    product<<<dim3(parts, M / tile, M / tile), dim3(tile, tile)>>>(da, db, dc, flags);
    HIP(hipMemcpy(c.data(), dc, c.size() * sizeof(float), hipMemcpyDeviceToHost));
    for (int y = 0; y < M; y++)
        for (int x = 0; x < M; x++) {
            float want = 0;
            for (int k = 0; k < K; k++) want += a[y * K + k] * b[k * M + x];
            MUST(c[y * M + x] == want);
        }
    HIP(hipFree(da));
    HIP(hipFree(db));
    HIP(hipFree(dc));
    HIP(hipFree(flags));
}

}  // namespace rocm_systems_6053
