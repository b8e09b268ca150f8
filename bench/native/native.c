// The same work as bench.hip in C for this machine's CPU, on one core: plain C for the compiler to vectorise, and hand-written
// AVX-512 where a name ends in _avx512. Prints name, value, unit.
#include <immintrin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

// Pointers go through escape, or the compiler sees that nobody looks at results and computes none.
static void *volatile escape;

static void *mem(size_t n) {
    void *p = aligned_alloc(4096, (n + 4095) & ~(size_t)4095);
    if (!p) exit(1);
    memset(p, 0, n);
    escape = p;
    return p;
}

static void report(const char *name, double value, const char *unit) { printf("%s %.6g %s\n", name, value, unit); fflush(stdout); }

// BEST runs the statement for half a second, at least three times, and leaves the shortest time in s.
#define BEST(s, stmt)                                                       \
    do {                                                                    \
        s = 1e30;                                                           \
        double spent_ = 0;                                                  \
        for (int i_ = 0; i_ < 4 || spent_ < 0.5; i_++) {                    \
            double t_ = now();                                              \
            stmt;                                                           \
            t_ = now() - t_;                                                \
            spent_ += t_;                                                   \
            if (i_ > 0 && t_ < s) s = t_;                                   \
            __asm__ volatile("" ::: "memory");                              \
        }                                                                   \
    } while (0)

static __attribute__((noinline)) void vadd(const float *restrict a, const float *restrict b, float *restrict c, size_t n) {
    for (size_t i = 0; i < n; i++) c[i] = a[i] + b[i];
}

static __attribute__((noinline)) void vadd512(const float *a, const float *b, float *c, size_t n) {
    for (size_t i = 0; i < n; i += 64)
        for (int j = 0; j < 64; j += 16) _mm512_store_ps(c + i + j, _mm512_add_ps(_mm512_load_ps(a + i + j), _mm512_load_ps(b + i + j)));
}

static void run_vadd(const char *name, size_t n, int inner) {
    float *a = mem(4 * n), *b = mem(4 * n), *c = mem(4 * n);
    char label[64];
    double s;
    BEST(s, for (int i = 0; i < inner; i++) { vadd(a, b, c, n); __asm__ volatile("" ::: "memory"); });
    report(name, 12.0 * n * inner / s / 1e9, "GB/s");
    BEST(s, for (int i = 0; i < inner; i++) { vadd512(a, b, c, n); __asm__ volatile("" ::: "memory"); });
    snprintf(label, sizeof label, "%s_avx512", name);
    report(label, 12.0 * n * inner / s / 1e9, "GB/s");
    free(a), free(b), free(c);
}

enum { lanes = 32 * 256 };

static float out[lanes];

static __attribute__((noinline)) void fma_c(float a, float b, int n) {
    for (int l = 0; l < lanes; l += 16) {
        float x[8][16];
        for (int j = 0; j < 8; j++)
            for (int k = 0; k < 16; k++) x[j][k] = ((l + k) & 255) * 0.001f + j;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < 8; j++)
                for (int k = 0; k < 16; k++) x[j][k] = fmaf(x[j][k], a, b);
        for (int k = 0; k < 16; k++) {
            float s = 0;
            for (int j = 0; j < 8; j++) s += x[j][k];
            out[l + k] = s;
        }
    }
}

static __attribute__((noinline)) void fma_512(float a, float b, float scale, int n) {
    __m512 va = _mm512_set1_ps(a), vb = _mm512_set1_ps(b);
    for (int l = 0; l < lanes; l += 16) {
        __m512 x[8];
        for (int j = 0; j < 8; j++) x[j] = _mm512_set1_ps((l * 0.001f + j) * scale);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < 8; j++) x[j] = _mm512_fmadd_ps(x[j], va, vb);
        __m512 s = x[0];
        for (int j = 1; j < 8; j++) s = _mm512_add_ps(s, x[j]);
        _mm512_storeu_ps(out + l, s);
    }
}

static __attribute__((noinline)) void sgemm_c(int n, const float *restrict a, const float *restrict b, float *restrict c) {
    for (int ii = 0; ii < n; ii += 64)
        for (int jj = 0; jj < n; jj += 64) {
            float sum[64][64];
            memset(sum, 0, sizeof sum);
            for (int k = 0; k < n; k++)
                for (int i = 0; i < 64; i++) {
                    float x = a[(size_t)(ii + i) * n + k];
                    for (int j = 0; j < 64; j++) sum[i][j] += x * b[(size_t)k * n + jj + j];
                }
            for (int i = 0; i < 64; i++) memcpy(c + (size_t)(ii + i) * n + jj, sum[i], sizeof sum[i]);
        }
}

// sgemm_512 packs panels of B (32 wide) and A (12 high) and keeps a 12x32 block of C in registers.
enum { mr = 12, nr = 32, kc = 256 };

static __attribute__((noinline)) void sgemm_512(int n, const float *a, const float *b, float *c) {
    static float pa[mr * kc] __attribute__((aligned(64))), *pb;
    if (!pb) pb = mem(sizeof(float) * kc * 4096);
    memset(c, 0, sizeof(float) * (size_t)n * n);
    for (int k0 = 0; k0 < n; k0 += kc) {
        int kn = n - k0 < kc ? n - k0 : kc;
        for (int j = 0; j < n; j += nr)
            for (int k = 0; k < kn; k++) memcpy(pb + (size_t)j * kn + k * nr, b + (size_t)(k0 + k) * n + j, nr * sizeof(float));
        for (int i = 0; i < n; i += mr) {
            int m = n - i < mr ? n - i : mr;
            for (int k = 0; k < kn; k++)
                for (int r = 0; r < mr; r++) pa[k * mr + r] = r < m ? a[(size_t)(i + r) * n + k0 + k] : 0;
            for (int j = 0; j < n; j += nr) {
                __m512 s[mr][2];
                for (int r = 0; r < mr; r++) s[r][0] = s[r][1] = _mm512_setzero_ps();
                const float *q = pb + (size_t)j * kn;
                for (int k = 0; k < kn; k++) {
                    __m512 y0 = _mm512_load_ps(q + k * nr), y1 = _mm512_load_ps(q + k * nr + 16);
#pragma clang loop unroll(full)
                    for (int r = 0; r < mr; r++) {
                        __m512 x = _mm512_set1_ps(pa[k * mr + r]);
                        s[r][0] = _mm512_fmadd_ps(x, y0, s[r][0]);
                        s[r][1] = _mm512_fmadd_ps(x, y1, s[r][1]);
                    }
                }
                for (int r = 0; r < m; r++) {
                    float *d = c + (size_t)(i + r) * n + j;
                    _mm512_storeu_ps(d, _mm512_add_ps(_mm512_loadu_ps(d), s[r][0]));
                    _mm512_storeu_ps(d + 16, _mm512_add_ps(_mm512_loadu_ps(d + 16), s[r][1]));
                }
            }
        }
    }
}

static __attribute__((noinline)) float reduce_c(const float *a, size_t n) {
    float s[64] = {0}, t = 0;
    for (size_t i = 0; i < n; i += 64)
        for (int j = 0; j < 64; j++) s[j] += a[i + j];
    for (int j = 0; j < 64; j++) t += s[j];
    return t;
}

static __attribute__((noinline)) void histo_c(const unsigned char *p, unsigned *bins, size_t n) {
    unsigned b[4][256] = {{0}};
    for (size_t i = 0; i < n; i += 4) b[0][p[i]]++, b[1][p[i + 1]]++, b[2][p[i + 2]]++, b[3][p[i + 3]]++;
    for (int i = 0; i < 256; i++) bins[i] += b[0][i] + b[1][i] + b[2][i] + b[3][i];
}

static __attribute__((noinline)) void nbody_c(int n, const double *restrict x, const double *restrict y, const double *restrict z, const double *restrict m, double *restrict fx, double *restrict fy, double *restrict fz) {
    for (int i = 0; i < n; i++) {
        double ax = 0, ay = 0, az = 0;
#pragma clang loop vectorize(enable)
        for (int j = 0; j < n; j++) {
            double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            double d = dx * dx + dy * dy + dz * dz + 1e-3;
            double w = m[j] / (d * sqrt(d));
            ax += dx * w, ay += dy * w, az += dz * w;
        }
        fx[i] = ax, fy[i] = ay, fz[i] = az;
    }
}

static __attribute__((noinline)) float reduce_512(const float *a, size_t n) {
    __m512 s[8];
    for (int j = 0; j < 8; j++) s[j] = _mm512_setzero_ps();
    for (size_t i = 0; i < n; i += 128)
        for (int j = 0; j < 8; j++) s[j] = _mm512_add_ps(s[j], _mm512_load_ps(a + i + 16 * j));
    for (int j = 1; j < 8; j++) s[0] = _mm512_add_ps(s[0], s[j]);
    return _mm512_reduce_add_ps(s[0]);
}

// nbody_512 does two bodies at a time against eight others.
static __attribute__((noinline)) void nbody_512(int n, const double *x, const double *y, const double *z, const double *m, double *fx, double *fy, double *fz) {
    const __m512d soft = _mm512_set1_pd(1e-3);
    for (int i = 0; i < n; i += 2) {
        __m512d a[2][3];
        for (int k = 0; k < 2; k++)
            for (int c = 0; c < 3; c++) a[k][c] = _mm512_setzero_pd();
        for (int j = 0; j < n; j += 8) {
            __m512d xj = _mm512_load_pd(x + j), yj = _mm512_load_pd(y + j), zj = _mm512_load_pd(z + j), mj = _mm512_load_pd(m + j);
            for (int k = 0; k < 2; k++) {
                __m512d dx = _mm512_sub_pd(xj, _mm512_set1_pd(x[i + k])), dy = _mm512_sub_pd(yj, _mm512_set1_pd(y[i + k]));
                __m512d dz = _mm512_sub_pd(zj, _mm512_set1_pd(z[i + k]));
                __m512d d = _mm512_fmadd_pd(dx, dx, _mm512_fmadd_pd(dy, dy, _mm512_fmadd_pd(dz, dz, soft)));
                __m512d w = _mm512_div_pd(mj, _mm512_mul_pd(d, _mm512_sqrt_pd(d)));
                a[k][0] = _mm512_fmadd_pd(dx, w, a[k][0]), a[k][1] = _mm512_fmadd_pd(dy, w, a[k][1]), a[k][2] = _mm512_fmadd_pd(dz, w, a[k][2]);
            }
        }
        for (int k = 0; k < 2; k++) fx[i + k] = _mm512_reduce_add_pd(a[k][0]), fy[i + k] = _mm512_reduce_add_pd(a[k][1]), fz[i + k] = _mm512_reduce_add_pd(a[k][2]);
    }
}

// An LSD radix sort, four passes of 8 bits, the digits of all passes counted in one.
static __attribute__((noinline)) void sort_c(const unsigned *in, unsigned *a, unsigned *b, size_t n) {
    static unsigned at[4][256];
    memset(at, 0, sizeof at);
    for (size_t i = 0; i < n; i++)
        for (int p = 0; p < 4; p++) at[p][in[i] >> 8 * p & 255]++;
    for (int p = 0; p < 4; p++) {
        unsigned sum = 0;
        for (int d = 0; d < 256; d++) {
            unsigned c = at[p][d];
            at[p][d] = sum;
            sum += c;
        }
        unsigned *to = p & 1 ? b : a;
        for (size_t i = 0; i < n; i++) to[at[p][in[i] >> 8 * p & 255]++] = in[i];
        in = to;
    }
}

// sort_512 is the same sixteen keys at a time: conflict detection ranks equal digits.
static __attribute__((noinline)) void sort_512(const unsigned *in, unsigned *a, unsigned *b, size_t n) {
    static unsigned at[4][256];
    memset(at, 0, sizeof at);
    for (size_t i = 0; i < n; i++)
        for (int p = 0; p < 4; p++) at[p][in[i] >> 8 * p & 255]++;
    const __m512i mask = _mm512_set1_epi32(255), one = _mm512_set1_epi32(1);
    for (int p = 0; p < 4; p++) {
        unsigned sum = 0;
        for (int d = 0; d < 256; d++) {
            unsigned c = at[p][d];
            at[p][d] = sum;
            sum += c;
        }
        unsigned *to = p & 1 ? b : a;
        for (size_t i = 0; i < n; i += 16) {
            __m512i key = _mm512_loadu_si512(in + i);
            __m512i d = _mm512_and_si512(_mm512_srlv_epi32(key, _mm512_set1_epi32(8 * p)), mask);
            __m512i pos = _mm512_add_epi32(_mm512_i32gather_epi32(d, at[p], 4), _mm512_popcnt_epi32(_mm512_conflict_epi32(d)));
            _mm512_i32scatter_epi32(to, pos, key, 4);
            _mm512_i32scatter_epi32(at[p], d, _mm512_add_epi32(pos, one), 4); // of equal digits the highest lane's stays
        }
        in = to;
    }
}

static float of_bf16(unsigned short x) {
    unsigned u = (unsigned)x << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

// C = A*B^T of bf16, both with k running fastest.
static __attribute__((noinline)) void bf16_c(int n, const unsigned short *restrict a, const unsigned short *restrict b, float *restrict c) {
#pragma clang fp reassociate(on)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
#pragma clang loop vectorize(enable)
            for (int k = 0; k < n; k++) s += of_bf16(a[(size_t)i * n + k]) * of_bf16(b[(size_t)j * n + k]);
            c[(size_t)i * n + j] = s;
        }
}

// bf16_512 packs pairs of k of 32 columns and keeps an 8x32 block of C in registers, with the dot-product instruction.
__attribute__((target("avx512bf16"))) static __attribute__((noinline)) void bf16_512(int n, const unsigned short *a, const unsigned short *b, float *c) {
    static unsigned *pb;
    if (!pb) pb = mem(4 * 32 * 2048);
    for (int j = 0; j < n; j += 32) {
        for (int k = 0; k < n; k += 2)
            for (int q = 0; q < 32; q++) memcpy(pb + k / 2 * 32 + q, b + (size_t)(j + q) * n + k, 4);
        for (int i = 0; i < n; i += 8) {
            __m512 s[8][2];
            for (int r = 0; r < 8; r++) s[r][0] = s[r][1] = _mm512_setzero_ps();
            for (int k = 0; k < n; k += 2) {
                __m512i y0 = _mm512_load_si512(pb + k / 2 * 32), y1 = _mm512_load_si512(pb + k / 2 * 32 + 16);
#pragma clang loop unroll(full)
                for (int r = 0; r < 8; r++) {
                    int pair;
                    memcpy(&pair, a + (size_t)(i + r) * n + k, 4);
                    __m512i x = _mm512_set1_epi32(pair);
                    s[r][0] = _mm512_dpbf16_ps(s[r][0], (__m512bh)x, (__m512bh)y0);
                    s[r][1] = _mm512_dpbf16_ps(s[r][1], (__m512bh)x, (__m512bh)y1);
                }
            }
            for (int r = 0; r < 8; r++) _mm512_storeu_ps(c + (size_t)(i + r) * n + j, s[r][0]), _mm512_storeu_ps(c + (size_t)(i + r) * n + j + 16, s[r][1]);
        }
    }
}

int main(void) {
    double s;
    escape = out;
    run_vadd("vadd_l2", 64 << 10, 32);
    run_vadd("vadd_dram", 16 << 20, 1);
    const int n = 4096;
    BEST(s, fma_c(0.999f, 0.001f, n));
    report("fma", 2.0 * 8 * n * lanes / s / 1e9, "GFLOP/s");
    BEST(s, fma_512(0.999f, 0.001f, 1, n));
    report("fma_avx512", 2.0 * 8 * n * lanes / s / 1e9, "GFLOP/s");
    BEST(s, fma_512(0.999f, 0.001f * 1e-40f, 1e-40f, n)); // all numbers are denormal
    report("fma_denormal_avx512", 2.0 * 8 * n * lanes / s / 1e9, "GFLOP/s");
    const int g = 512;
    float *a = mem(4 * g * g), *b = mem(4 * g * g), *c = mem(4 * g * g);
    for (int i = 0; i < g * g; i++) a[i] = b[i] = (i * 7919 % 256) / 256.0f;
    BEST(s, sgemm_c(g, a, b, c));
    report("sgemm", 2.0 * g * g * g / s / 1e9, "GFLOP/s");
    BEST(s, sgemm_512(g, a, b, c));
    report("sgemm_avx512", 2.0 * g * g * g / s / 1e9, "GFLOP/s");
    size_t big = 64 << 20;
    float *v = mem(4 * big);
    volatile float keep;
    BEST(s, keep = reduce_c(v, big));
    (void)keep;
    report("reduction", 4.0 * big / s / 1e9, "GB/s");
    BEST(s, keep = reduce_512(v, big));
    report("reduction_avx512", 4.0 * big / s / 1e9, "GB/s");
    static unsigned bins[256];
    escape = bins;
    unsigned char *p = (unsigned char *)v;
    for (size_t i = 0; i < big; i++) p[i] = (unsigned char)(i * 2654435761u >> 24);
    BEST(s, histo_c(p, bins, big));
    report("histogram", big / s / 1e9, "G/s");
    const int bodies = 4096;
    double *q[7];
    for (int i = 0; i < 7; i++) {
        q[i] = mem(8 * bodies);
        for (int j = 0; j < bodies; j++) q[i][j] = (j * (7919 + i) % 1000) / 1000.0;
    }
    BEST(s, nbody_c(bodies, q[0], q[1], q[2], q[3], q[4], q[5], q[6]));
    report("nbody_f64", (double)bodies * bodies / s / 1e6, "M/s");
    BEST(s, nbody_512(bodies, q[0], q[1], q[2], q[3], q[4], q[5], q[6]));
    report("nbody_f64_avx512", (double)bodies * bodies / s / 1e6, "M/s");
    const size_t keys = 8 << 20;
    unsigned *in = mem(4 * keys), *k1 = mem(4 * keys), *k2 = mem(4 * keys);
    for (size_t i = 0; i < keys; i++) in[i] = (unsigned)(i * 6364136223846793005ull >> 29);
    BEST(s, sort_c(in, k1, k2, keys));
    report("radix_sort", keys / s / 1e6, "M/s");
    BEST(s, sort_512(in, k1, k2, keys));
    for (size_t i = 1; i < keys; i++)
        if (k2[i] < k2[i - 1]) return fprintf(stderr, "native: the radix sort is wrong\n"), 1;
    report("radix_sort_avx512", keys / s / 1e6, "M/s");
    unsigned short *ba = mem(2 * g * g), *bb = mem(2 * g * g);
    for (int i = 0; i < g * g; i++) ba[i] = bb[i] = 0x3f00 + (i * 7919 % 256);
    BEST(s, bf16_c(g, ba, bb, c));
    report("gemm_bf16", 2.0 * g * g * g / s / 1e9, "GFLOP/s");
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bf16")) {
        BEST(s, bf16_512(g, ba, bb, c));
        report("gemm_bf16_avx512", 2.0 * g * g * g / s / 1e9, "GFLOP/s");
    }
    return 0;
}
