// The matrix product as it is written for speed, C = A B of square row-major matrices: a work-group of 256 makes a tile of
// 64x64, each work-item 4x4 of it in registers, from tiles of A (transposed) and B in the LDS, in steps of 16 along k.
// n is a multiple of 64.
#pragma once
#include "example.h"

__global__ __launch_bounds__(256) void sgemm64(int n, const float *a, const float *b, float *c) {
    __shared__ float as[16][64], bs[16][64];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const int row = blockIdx.y * 64, col = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int k = 0; k < n; k += 16) {
        for (int i = 0; i < 4; i++) {
            int r = threadIdx.x / 16 + 16 * i, q = threadIdx.x % 16;
            as[q][r] = a[size_t(row + r) * n + k + q];
            int s = threadIdx.x / 64 + 4 * i, t = threadIdx.x % 64;
            bs[s][t] = b[size_t(k + s) * n + col + t];
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 16; kk++) {
            float x[4], y[4];
            for (int i = 0; i < 4; i++) { x[i] = as[kk][ty * 4 + i]; y[i] = bs[kk][tx * 4 + i]; }
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sum[i][j] = __builtin_fmaf(x[i], y[j], sum[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[size_t(row + ty * 4 + i) * n + col + tx * 4 + j] = sum[i][j];
}
