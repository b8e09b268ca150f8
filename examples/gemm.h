// The tiled matrix product that sgemm and dgemm share: C = alpha A B + beta C, row-major, any sizes.
#pragma once
#include "example.h"

constexpr int tile = 16;

template <typename T>
__global__ void gemm(int m, int n, int k, T alpha, const T *a, const T *b, T beta, T *c) {
    __shared__ T as[tile][tile];
    __shared__ T bs[tile][tile];
    const int row = blockIdx.y * tile + threadIdx.y;
    const int col = blockIdx.x * tile + threadIdx.x;
    T sum = 0;
    for (int t = 0; t < k; t += tile) {
        const int ak = t + threadIdx.x, bk = t + threadIdx.y;
        as[threadIdx.y][threadIdx.x] = row < m && ak < k ? a[size_t(row) * k + ak] : T(0);
        bs[threadIdx.y][threadIdx.x] = col < n && bk < k ? b[size_t(bk) * n + col] : T(0);
        __syncthreads();
        for (int i = 0; i < tile; i++) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[size_t(row) * n + col] = alpha * sum + beta * c[size_t(row) * n + col];
}

template <typename T>
int runGemm(const char *name, int argc, char **argv) {
    const int m = int(sizeArg(argc, argv, 1, 100));
    const int n = int(sizeArg(argc, argv, 2, m + 20));
    const int k = int(sizeArg(argc, argv, 3, m - m / 10));
    const T alpha = T(0.5), beta = T(2);
    Noise noise(7);
    std::vector<T> a(size_t(m) * k), b(size_t(k) * n), c(size_t(m) * n), want(c.size());
    for (T &v : a) v = noise.unit();
    for (T &v : b) v = noise.unit();
    for (T &v : c) v = noise.unit();
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++) sum += double(a[size_t(i) * k + l]) * double(b[size_t(l) * n + j]);
            want[size_t(i) * n + j] = T(double(alpha) * sum + double(beta) * double(c[size_t(i) * n + j]));
        }
    DeviceArray<T> da(a), db(b), dc(c);
    gemm<T><<<dim3(ceilDiv(n, tile), ceilDiv(m, tile)), dim3(tile, tile)>>>(m, n, k, alpha, da.get(), db.get(), beta,
                                                                          dc.get());
    CHECK_LAUNCH();
    return verdict(name, matches("c", dc.download(), want, sizeof(T) == 4 ? 1e-5 : 1e-14));
}
