// Kernels that the tests and benchmarks of engine/jit compile with hipcc --genco and run on both engines.
#include <hip/hip_runtime.h>

extern "C" __global__ void vadd(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void fmachain(float *out, float a, float b, int n) {
    float x[8];
    for (int j = 0; j < 8; j++) x[j] = threadIdx.x + j;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 8; j++) x[j] = x[j] * a + b;
    float s = 0;
    for (int j = 0; j < 8; j++) s += x[j];
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}

// One output for each thread, 16×16 tiles (the kernel of examples/sgemm.hip).
extern "C" __global__ void sgemm16(int m, int n, int k, float alpha, const float *a, const float *b, float beta, float *c) {
    __shared__ float as[16][16];
    __shared__ float bs[16][16];
    const int row = blockIdx.y * 16 + threadIdx.y;
    const int col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < k; t += 16) {
        const int ak = t + threadIdx.x, bk = t + threadIdx.y;
        as[threadIdx.y][threadIdx.x] = row < m && ak < k ? a[size_t(row) * k + ak] : 0.0f;
        bs[threadIdx.y][threadIdx.x] = col < n && bk < k ? b[size_t(bk) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[size_t(row) * n + col] = alpha * sum + beta * c[size_t(row) * n + col];
}

// 4×4 outputs for each thread, 64×64 tiles, 16 steps of k at a time. Sizes are multiples of the tile.
extern "C" __global__ void sgemm64(int n, int k, const float *a, const float *b, float *c) {
    __shared__ float as[16][64];
    __shared__ float bs[16][64];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
    float acc[4][4] = {};
    for (int t = 0; t < k; t += 16) {
        for (int i = 0; i < 4; i++) {
            int e = threadIdx.x + i * 256;
            as[e % 16][e / 16] = a[size_t(row0 + e / 16) * k + t + e % 16];
            bs[e / 64][e % 64] = b[size_t(t + e / 64) * n + col0 + e % 64];
        }
        __syncthreads();
        for (int s = 0; s < 16; s++) {
            float x[4], y[4];
            for (int i = 0; i < 4; i++) x[i] = as[s][ty * 4 + i], y[i] = bs[s][tx * 4 + i];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) acc[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[size_t(row0 + ty * 4 + i) * n + col0 + tx * 4 + j] = acc[i][j];
}

extern "C" __global__ void reduce(const float *in, float *out, int n) {
    __shared__ float s[256];
    float x = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) x += in[i];
    s[threadIdx.x] = x;
    __syncthreads();
    for (int d = 128; d > 0; d >>= 1) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

extern "C" __global__ void histogram(const unsigned *in, unsigned *out, int n) {
    __shared__ unsigned h[256];
    h[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&h[in[i] & 255], 1u);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], h[threadIdx.x]);
}

extern "C" __global__ void nbody(const double *x, const double *y, const double *z, double *ax, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double px = x[i], py = y[i], pz = z[i], s = 0;
    for (int j = 0; j < n; j++) {
        double dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz;
        double d = dx * dx + dy * dy + dz * dz + 1e-9;
        double r = 1.0 / sqrt(d);
        s += dx * r * r * r;
    }
    ax[i] = s;
}

extern "C" __global__ void shuffle(const int *in, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = in[i];
    for (int d = 1; d < 64; d <<= 1) {
        int y = __shfl_up(x, d);
        if ((threadIdx.x & 63) >= d) x += y;
    }
    out[i] = x + __popcll(__ballot(x & 1)) * 1000;
}

extern "C" __global__ void math(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    float r = sinf(x) + cosf(x * 2) + expf(-x * x) + logf(fabsf(x) + 1) + powf(fabsf(x), 1.5f) + x / (x * x + 3) + sqrtf(fabsf(x)) + tanhf(x);
    r += truncf(x * 10) + floorf(x) - ceilf(x * 3) + fminf(x, 0.25f) * fmaxf(x, -0.25f);
    out[i] = r + (float)(int)(x * 1000) + (float)((unsigned)i % 7u) + (float)(i / 3) + (float)((double)x * 1.25);
}

extern "C" __global__ void transpose(const float *in, float *out, int n) {
    int x = blockIdx.x * 16 + threadIdx.x % 16, y = blockIdx.y * 16 + threadIdx.x / 16;
    out[size_t(x) * n + y] = in[size_t(y) * n + x];
}

extern "C" __global__ void wide(const float4 *a, float4 *b, const char3 *c, unsigned char *d, short *e, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 x = a[i];
    b[i] = make_float4(x.w, x.z * 2, x.y + x.x, x.x);
    char3 t = c[i];
    d[i] = t.x + t.y * t.z;
    e[i] = (short)(t.x - t.z);
}

// sgemm64 with 16-byte global loads.
extern "C" __global__ void sgemm64v(int n, int k, const float *a, const float *b, float *c) {
    __shared__ float as[16][64];
    __shared__ float bs[16][64];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
    const int ar = threadIdx.x / 4, ac = threadIdx.x % 4 * 4;
    const float *ap = a + size_t(row0 + ar) * k + ac;
    const float *bp = b + size_t(ty) * n + col0 + tx * 4;
    float acc[4][4] = {};
    for (int t = 0; t < k; t += 16) {
        float4 x = *(const float4 *)ap, y = *(const float4 *)bp;
        ap += 16;
        bp += size_t(16) * n;
        as[ac][ar] = x.x, as[ac + 1][ar] = x.y, as[ac + 2][ar] = x.z, as[ac + 3][ar] = x.w;
        *(float4 *)&bs[ty][tx * 4] = y;
        __syncthreads();
        for (int s = 0; s < 16; s++) {
            float x[4], y[4];
            for (int i = 0; i < 4; i++) x[i] = as[s][ty * 4 + i], y[i] = bs[s][tx * 4 + i];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) acc[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        *(float4 *)&c[size_t(row0 + ty * 4 + i) * n + col0 + tx * 4] = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}

// A tile of 128x128, 8x8 of it in each work-item: elements of four dwords are 32 bytes apart.
extern "C" __global__ __launch_bounds__(256) void sgemm128(int n, int k, const float *a, const float *b, float *c) {
    __shared__ float as[8][128], bs[8][128];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const int row0 = blockIdx.y * 128, col0 = blockIdx.x * 128;
    float acc[8][8] = {};
    for (int t = 0; t < k; t += 8) {
        for (int i = threadIdx.x; i < 8 * 128; i += 256) {
            as[i / 128][i % 128] = a[size_t(row0 + i % 128) * k + t + i / 128];
            bs[i / 128][i % 128] = b[size_t(t + i / 128) * n + col0 + i % 128];
        }
        __syncthreads();
        for (int s = 0; s < 8; s++) {
            float x[8], y[8];
            for (int i = 0; i < 8; i++) x[i] = as[s][ty * 8 + i], y[i] = bs[s][tx * 8 + i];
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 8; j++) acc[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) c[size_t(row0 + ty * 8 + i) * n + col0 + tx * 8 + j] = acc[i][j];
}

// Each lane's rank among those of its wave with the same digit, by a vote for each bit, as radix sorts find it.
extern "C" __global__ void votes(const unsigned *in, unsigned *out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned digit = in[i] & 255;
        unsigned long long same = ~0ull;
        for (int b = 0; b < 8; b++) {
            unsigned bit = digit >> b & 1;
            unsigned long long vote = __ballot(bit);
            same &= bit ? vote : ~vote;
        }
        out[i] = __popcll(same) * 64 + __popcll(same & ((1ull << __lane_id()) - 1));
    }
}

// Loops that step over an array with the whole grid.
extern "C" __global__ void stridehisto(const unsigned char *in, unsigned *out, size_t n, unsigned groups) {
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (size_t i = size_t(blockIdx.x) * 256 + threadIdx.x; i < n; i += size_t(groups) * 256) atomicAdd(&bins[in[i]], 1u);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void stridesum(const float *in, float *out, size_t n, unsigned groups) {
    float sum = 0;
    for (size_t i = size_t(blockIdx.x) * 256 + threadIdx.x; i < n; i += size_t(groups) * 256) sum += in[i];
    __shared__ float sums[256];
    sums[threadIdx.x] = sum;
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = sums[threadIdx.x ^ 1];
}

extern "C" __global__ void strideaxpy(const float *x, float *y, float a, int n, unsigned groups) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += groups * 256) y[i] += a * x[i];
}
