// What `make bench` runs on the virtual GPU. Prints one line for each measurement: name, value, unit. Each figure is the
// best of several runs, in which the work is large against launch and synchronisation unless that is what is measured.
//   bench [name ...]      all without arguments
#include "../../examples/gemm.h"
#include "../../examples/sgemm64.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>

using Clock = std::chrono::steady_clock;

static double seconds(const std::function<void()> &fn) {
    auto t = Clock::now();
    fn();
    return std::chrono::duration<double>(Clock::now() - t).count();
}

// best runs fn until budget seconds have passed, at least three times, and gives the shortest.
static double best(const std::function<void()> &fn, double budget = 1.0) {
    fn();
    double least = 1e30, spent = 0;
    for (int i = 0; i < 3 || spent < budget; i++) {
        double s = seconds(fn);
        least = std::min(least, s);
        spent += s;
    }
    return least;
}

static void report(const char *name, double value, const char *unit) { std::printf("%s %.6g %s\n", name, value, unit); std::fflush(stdout); }

static void sync() { CHECK_LAUNCH(); CHECK(hipDeviceSynchronize()); }

__global__ void nothing() {}

static void latency() {
    std::vector<double> us;
    for (int i = 0; i < 2000; i++) us.push_back(1e6 * seconds([] { nothing<<<1, 64>>>(); sync(); }));
    std::sort(us.begin(), us.end());
    report("launch_sync_median", us[us.size() / 2], "us");
    report("launch_sync_p99", us[us.size() * 99 / 100], "us");
    report("launch_async", 1e6 / 500 * best([] { for (int i = 0; i < 500; i++) nothing<<<1, 64>>>(); sync(); }), "us");
}

static void copy() {
    const size_t n = 256 << 20;
    std::vector<char> host(n, 1), to(n, 2);
    char *pinned, *a, *b;
    CHECK(hipHostMalloc(reinterpret_cast<void **>(&pinned), n, 0));
    CHECK(hipMalloc(reinterpret_cast<void **>(&a), n));
    CHECK(hipMalloc(reinterpret_cast<void **>(&b), n));
    std::memset(pinned, 3, n);
    const double gb = n / 1e9;
    report("copy_memcpy", gb / best([&] { std::memcpy(to.data(), host.data(), n); }), "GB/s");
    report("copy_h2d", gb / best([&] { CHECK(hipMemcpy(a, host.data(), n, hipMemcpyHostToDevice)); }), "GB/s");
    report("copy_h2d_pinned", gb / best([&] { CHECK(hipMemcpy(a, pinned, n, hipMemcpyHostToDevice)); }), "GB/s");
    report("copy_d2h", gb / best([&] { CHECK(hipMemcpy(host.data(), a, n, hipMemcpyDeviceToHost)); }), "GB/s");
    report("copy_d2d", gb / best([&] { CHECK(hipMemcpy(b, a, n, hipMemcpyDeviceToDevice)); CHECK(hipDeviceSynchronize()); }), "GB/s");
    CHECK(hipFree(a)); CHECK(hipFree(b)); CHECK(hipHostFree(pinned));
}

__global__ void vadd(const float *a, const float *b, float *c) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i];
}

static void runVadd(const char *name, size_t n, int inner) {
    std::vector<float> h(n, 1.5f);
    DeviceArray<float> a(h), b(h), c(n);
    double s = best([&] { for (int i = 0; i < inner; i++) vadd<<<n / 256, 256>>>(a.get(), b.get(), c.get()); sync(); });
    report(name, 12.0 * n * inner / s / 1e9, "GB/s");
}

__global__ void fmaChain(float *out, float a, float b, float scale, int n) {
    float x[8];
    for (int j = 0; j < 8; j++) x[j] = (threadIdx.x * 0.001f + j) * scale;
    for (int i = 0; i < n; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) x[j] = __builtin_fmaf(x[j], a, b);
    float s = 0;
    for (int j = 0; j < 8; j++) s += x[j];
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}

static void fma(int n) {
    const int blocks = 32, threads = 256;
    DeviceArray<float> out(blocks * threads);
    auto chains = [&](const char *name, float scale) {
        double s = best([&] { fmaChain<<<blocks, threads>>>(out.get(), 0.999f, 0.001f * scale, scale, n); sync(); });
        report(name, 2.0 * 8 * n * blocks * threads / s / 1e9, "GFLOP/s");
    };
    chains("fma", 1.0f);
    chains("fma_denormal", 1e-40f); // all numbers are, and MODE as HIP sets it keeps them
}

static void sgemm(int n) {
    std::vector<float> h(size_t(n) * n);
    Noise noise(3);
    for (float &v : h) v = noise.unit();
    DeviceArray<float> a(h), b(h), c(h.size());
    double s = best([&] { sgemm64<<<dim3(n / 64, n / 64), 256>>>(n, a.get(), b.get(), c.get()); sync(); });
    report("sgemm", 2.0 * n * n * n / s / 1e9, "GFLOP/s");
    s = best([&] { gemm<float><<<dim3(n / tile, n / tile), dim3(tile, tile)>>>(n, n, n, 1.0f, a.get(), b.get(), 0.0f, c.get()); sync(); });
    report("sgemm_example", 2.0 * n * n * n / s / 1e9, "GFLOP/s");
}

__global__ void sum(const float *in, float *out, size_t n) {
    __shared__ float s[256];
    float x = 0;
    for (size_t i = size_t(blockIdx.x) * 256 + threadIdx.x; i < n; i += size_t(gridDim.x) * 256) x += in[i];
    s[threadIdx.x] = x;
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (threadIdx.x < unsigned(d)) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, s[0]);
}

static void reduction(size_t n) {
    DeviceArray<float> in(std::vector<float>(n, 0.5f)), out(1);
    double s = best([&] { sum<<<64, 256>>>(in.get(), out.get(), n); sync(); });
    report("reduction", 4.0 * n / s / 1e9, "GB/s");
}

__global__ void histogram(const unsigned char *in, unsigned *out, size_t n) {
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (size_t i = size_t(blockIdx.x) * 256 + threadIdx.x; i < n; i += size_t(gridDim.x) * 256) atomicAdd(&bins[in[i]], 1u);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

static void histo(size_t n) {
    std::vector<unsigned char> h(n);
    Noise noise(5);
    for (auto &v : h) v = noise.bits() >> 24;
    DeviceArray<unsigned char> in(h);
    DeviceArray<unsigned> out(256);
    double s = best([&] { histogram<<<64, 256>>>(in.get(), out.get(), n); sync(); });
    report("histogram", n / s / 1e9, "G/s");
}

__global__ void nbody(const double4 *p, double4 *f, int n) {
    __shared__ double4 s[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    double4 me = p[i];
    double x = 0, y = 0, z = 0;
    for (int t = 0; t < n; t += 64) {
        s[threadIdx.x] = p[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 64; j++) {
            double dx = s[j].x - me.x, dy = s[j].y - me.y, dz = s[j].z - me.z;
            double d = dx * dx + dy * dy + dz * dz + 1e-3;
            double w = s[j].w / (d * sqrt(d));
            x += dx * w; y += dy * w; z += dz * w;
        }
        __syncthreads();
    }
    f[i] = make_double4(x, y, z, 0);
}

static void bodies(int n) {
    std::vector<double4> h(n);
    Noise noise(9);
    for (auto &v : h) v = make_double4(noise.unit(), noise.unit(), noise.unit(), 1);
    DeviceArray<double4> p(h), f(n);
    double s = best([&] { nbody<<<n / 64, 64>>>(p.get(), f.get(), n); sync(); });
    report("nbody_f64", double(n) * n / s / 1e6, "M/s");
}

#include "bf16.h"
#include "sort.h"

int main(int argc, char **argv) {
    // BENCH_SCALE divides the work of the compute-bound ones, for slow engines.
    const char *e = std::getenv("BENCH_SCALE");
    const int scale = e ? std::max(1, std::atoi(e)) : 1;
    auto wanted = [&](const char *name) {
        if (argc < 2) return true;
        for (int i = 1; i < argc; i++) if (!std::strcmp(argv[i], name)) return true;
        return false;
    };
    if (wanted("latency")) latency();
    if (wanted("copy")) copy();
    if (wanted("vadd")) { runVadd("vadd_l2", 64 << 10, 32); runVadd("vadd_dram", 16 << 20, 1); }
    if (wanted("fma")) fma(4096 / scale);
    if (wanted("sgemm")) sgemm(scale > 1 ? 256 : 512);
    if (wanted("reduction")) reduction((64 << 20) / scale);
    if (wanted("histogram")) histo((64 << 20) / scale);
    if (wanted("nbody")) bodies(scale > 1 ? 1024 : 4096);
    if (wanted("sort")) radixSort(scale > 1 ? 1 << 20 : 8 << 20);
    if (wanted("bf16")) matrixBF16(scale > 1 ? 128 : 512);
    return 0;
}
