// C = A*B^T of bf16 matrices into f32 by MFMA: a wave has a 64x64 tile of C as four of 32x32. Both operands lie with k
// running fastest, so that a lane's four elements are one load.
#pragma once

typedef short bf16x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));

__global__ __launch_bounds__(64) void gemmBF16(int n, const unsigned short *a, const unsigned short *b, float *c) {
#if defined(__gfx90a__)
    const int lane = threadIdx.x, r = lane % 32, g = lane / 32, row = blockIdx.y * 64, col = blockIdx.x * 64;
    f32x16 sum[2][2] = {};
    for (int k = 0; k < n; k += 8) {
        bf16x4 x[2], y[2];
        for (int i = 0; i < 2; i++) {
            x[i] = *reinterpret_cast<const bf16x4 *>(a + size_t(row + 32 * i + r) * n + k + 4 * g);
            y[i] = *reinterpret_cast<const bf16x4 *>(b + size_t(col + 32 * i + r) * n + k + 4 * g);
        }
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) sum[i][j] = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x[i], y[j], sum[i][j], 0, 0, 0);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int e = 0; e < 16; e++) c[size_t(row + 32 * i + 8 * (e / 4) + 4 * g + e % 4) * n + col + 32 * j + r] = sum[i][j][e];
#endif
}

static void matrixBF16(int n) {
    hipDeviceProp_t prop;
    CHECK(hipGetDeviceProperties(&prop, 0));
    if (std::strncmp(prop.gcnArchName, "gfx90a", 6)) return;
    std::vector<unsigned short> ha(size_t(n) * n), hb(ha.size());
    for (size_t i = 0; i < ha.size(); i++) { // small integers, halved: exact
        ha[i] = (std::vector<unsigned short>{0x3f80, 0x4000, 0xbf80, 0x3f00})[i * 7 % 13 % 4];
        hb[i] = (std::vector<unsigned short>{0x3f80, 0xc000, 0x4040, 0x3f00})[i * 5 % 11 % 4];
    }
    DeviceArray<unsigned short> a(ha), b(hb);
    DeviceArray<float> c(ha.size());
    double s = best([&] { gemmBF16<<<dim3(n / 64, n / 64), 64>>>(n, a.get(), b.get(), c.get()); sync(); });
    std::vector<float> got = c.download();
    auto value = [](unsigned short x) { unsigned u = unsigned(x) << 16; float f; std::memcpy(&f, &u, 4); return f; };
    for (int i = 0; i < n; i += 37)
        for (int j = 0; j < n; j += 41) {
            float want = 0;
            for (int k = 0; k < n; k++) want += value(ha[size_t(i) * n + k]) * value(hb[size_t(j) * n + k]);
            if (got[size_t(i) * n + j] != want) {
                std::fprintf(stderr, "bench: bf16 product (%d,%d) is %g, not %g\n", i, j, got[size_t(i) * n + j], want);
                std::exit(1);
            }
        }
    report("gemm_bf16", 2.0 * n * n * n / s / 1e9, "GFLOP/s");
}
