// The kernels of bench.hip in OpenCL C, for whatever OpenCL CPU device there is (pocl). Prints name, value, unit.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *source =
    "kernel void vadd(global const float *a, global const float *b, global float *c) { size_t i = get_global_id(0); c[i] = a[i] + b[i]; }\n"
    "kernel void fma_chain(global float *out, float a, float b, int n) {\n"
    "  float x[8];\n"
    "  for (int j = 0; j < 8; j++) x[j] = get_local_id(0) * 0.001f + j;\n"
    "  for (int i = 0; i < n; i++)\n"
    "#pragma unroll\n"
    "    for (int j = 0; j < 8; j++) x[j] = fma(x[j], a, b);\n"
    "  float s = 0;\n"
    "  for (int j = 0; j < 8; j++) s += x[j];\n"
    "  out[get_global_id(0)] = s;\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(256, 1, 1))) void sgemm(int n, global const float *a, global const float *b, global float *c) {\n"
    "  local float as[16][64], bs[16][64];\n"
    "  const int l = get_local_id(0), tx = l % 16, ty = l / 16;\n"
    "  const int row = get_group_id(1) * 64, col = get_group_id(0) * 64;\n"
    "  float sum[4][4];\n"
    "  for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) sum[i][j] = 0;\n"
    "  for (int k = 0; k < n; k += 16) {\n"
    "    for (int i = 0; i < 4; i++) {\n"
    "      int r = l / 16 + 16 * i, q = l % 16;\n"
    "      as[q][r] = a[(size_t)(row + r) * n + k + q];\n"
    "      int s = l / 64 + 4 * i, t = l % 64;\n"
    "      bs[s][t] = b[(size_t)(k + s) * n + col + t];\n"
    "    }\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "#pragma unroll\n"
    "    for (int kk = 0; kk < 16; kk++) {\n"
    "      float x[4], y[4];\n"
    "      for (int i = 0; i < 4; i++) { x[i] = as[kk][ty * 4 + i]; y[i] = bs[kk][tx * 4 + i]; }\n"
    "      for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) sum[i][j] = fma(x[i], y[j], sum[i][j]);\n"
    "    }\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  }\n"
    "  for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) c[(size_t)(row + ty * 4 + i) * n + col + tx * 4 + j] = sum[i][j];\n"
    "}\n"
    "kernel void histogram(global const uchar *in, global uint *out, ulong n) {\n"
    "  local uint bins[256];\n"
    "  bins[get_local_id(0)] = 0;\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&bins[in[i]]);\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  atomic_add(&out[get_local_id(0)], bins[get_local_id(0)]);\n"
    "}\n"
    "kernel void nbody(global const double4 *p, global double4 *f, int n) {\n"
    "  local double4 s[64];\n"
    "  int i = get_global_id(0);\n"
    "  double4 me = p[i];\n"
    "  double x = 0, y = 0, z = 0;\n"
    "  for (int t = 0; t < n; t += 64) {\n"
    "    s[get_local_id(0)] = p[t + get_local_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int j = 0; j < 64; j++) {\n"
    "      double dx = s[j].x - me.x, dy = s[j].y - me.y, dz = s[j].z - me.z;\n"
    "      double d = dx * dx + dy * dy + dz * dz + 1e-3;\n"
    "      double w = s[j].w / (d * sqrt(d));\n"
    "      x += dx * w; y += dy * w; z += dz * w;\n"
    "    }\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  }\n"
    "  f[i] = (double4)(x, y, z, 0);\n"
    "}\n";

static const char *source2 =
    "kernel void sum(global const float *in, global float *part, ulong n) {\n"
    "  local float s[256];\n"
    "  float x = 0;\n"
    "  for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) x += in[i];\n"
    "  s[get_local_id(0)] = x;\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (int d = 128; d > 0; d /= 2) {\n"
    "    if (get_local_id(0) < d) s[get_local_id(0)] += s[get_local_id(0) + d];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  }\n"
    "  if (get_local_id(0) == 0) part[get_group_id(0)] = s[0];\n"
    "}\n"
    // The radix sort for devices without votes: one work-item has a tile, and counts and scatters it in order.
    "kernel void sort_count(global const uint *in, global uint *counts, int shift, int tiles) {\n"
    "  uint bins[256];\n"
    "  const int t = get_global_id(0);\n"
    "  for (int i = 0; i < 256; i++) bins[i] = 0;\n"
    "  for (int i = 0; i < 4096; i++) bins[in[t * 4096 + i] >> shift & 255]++;\n"
    "  for (int i = 0; i < 256; i++) counts[i * tiles + t] = bins[i];\n"
    "}\n"
    "kernel void sort_scan(global uint *counts, int n) {\n"
    "  uint sum = 0;\n"
    "  for (int i = 0; i < n; i++) { uint x = counts[i]; counts[i] = sum; sum += x; }\n"
    "}\n"
    "kernel void sort_scatter(global const uint *in, global uint *out, global const uint *counts, int shift, int tiles) {\n"
    "  uint at[256];\n"
    "  const int t = get_global_id(0);\n"
    "  for (int i = 0; i < 256; i++) at[i] = counts[i * tiles + t];\n"
    "  for (int i = 0; i < 4096; i++) { uint x = in[t * 4096 + i]; out[at[x >> shift & 255]++] = x; }\n"
    "}\n"
    // bf16 as the upper halves of f32.
    "kernel void gemm_bf16(int n, global const ushort *a, global const ushort *b, global float *c) {\n"
    "  const int row = get_global_id(1), col = get_global_id(0);\n"
    "  float s = 0;\n"
    "  for (int k = 0; k < n; k++) s = fma(as_float((uint)a[row * n + k] << 16), as_float((uint)b[col * n + k] << 16), s);\n"
    "  c[row * n + col] = s;\n"
    "}\n";

static cl_context ctx;
static cl_command_queue q;
static cl_program prog;

static void ok(cl_int e, const char *what) {
    if (e != CL_SUCCESS) {
        fprintf(stderr, "ocl: %s: error %d\n", what, e);
        exit(1);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static cl_mem buffer(size_t n, int fill) {
    cl_int e;
    void *h = malloc(n);
    if (fill < 0)
        for (size_t i = 0; i < n / 4; i++) ((float *)h)[i] = (i * 7919 % 256) / 256.0f;
    else
        memset(h, fill, n);
    cl_mem m = clCreateBuffer(ctx, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, n, h, &e);
    ok(e, "clCreateBuffer");
    free(h);
    return m;
}

static cl_kernel kern(const char *name) {
    cl_int e;
    cl_kernel k = clCreateKernel(prog, name, &e);
    ok(e, name);
    return k;
}

static void arg(cl_kernel k, int i, size_t n, const void *p) { ok(clSetKernelArg(k, i, n, p), "clSetKernelArg"); }

// best enqueues the kernel times times and waits, for half a second and at least three rounds.
static double best(cl_kernel k, cl_uint dim, const size_t *global, const size_t *local, int times) {
    double least = 1e30, spent = 0;
    for (int i = 0; i < 4 || spent < 0.5; i++) {
        double t = now();
        for (int j = 0; j < times; j++) ok(clEnqueueNDRangeKernel(q, k, dim, NULL, global, local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
        clFinish(q);
        t = now() - t;
        spent += t;
        if (i > 0 && t < least) least = t;
    }
    return least;
}

static void report(const char *name, double value, const char *unit) { printf("%s %.6g %s\n", name, value, unit); fflush(stdout); }

int main(void) {
    cl_platform_id plat;
    cl_device_id dev;
    cl_int e;
    ok(clGetPlatformIDs(1, &plat, NULL), "clGetPlatformIDs");
    ok(clGetDeviceIDs(plat, CL_DEVICE_TYPE_ALL, 1, &dev, NULL), "clGetDeviceIDs");
    ctx = clCreateContext(NULL, 1, &dev, NULL, NULL, &e);
    ok(e, "clCreateContext");
    q = clCreateCommandQueue(ctx, dev, 0, &e);
    ok(e, "clCreateCommandQueue");
    const char *sources[] = {source, source2};
    prog = clCreateProgramWithSource(ctx, 2, sources, NULL, &e);
    ok(e, "clCreateProgramWithSource");
    ok(clBuildProgram(prog, 1, &dev, "", NULL, NULL), "clBuildProgram");

    size_t local = 256;
    struct { const char *name; size_t n; int times; } v[] = {{"vadd_l2", 64 << 10, 32}, {"vadd_dram", 16 << 20, 1}};
    for (int i = 0; i < 2; i++) {
        cl_kernel k = kern("vadd");
        cl_mem m[3];
        for (int j = 0; j < 3; j++) m[j] = buffer(4 * v[i].n, 1), arg(k, j, sizeof(cl_mem), &m[j]);
        report(v[i].name, 12.0 * v[i].n * v[i].times / best(k, 1, &v[i].n, &local, v[i].times) / 1e9, "GB/s");
        for (int j = 0; j < 3; j++) clReleaseMemObject(m[j]);
    }
    {
        cl_kernel k = kern("fma_chain");
        size_t n = 32 * 256;
        float a = 0.999f, b = 0.001f;
        int steps = 4096;
        cl_mem o = buffer(4 * n, 0);
        arg(k, 0, sizeof o, &o), arg(k, 1, 4, &a), arg(k, 2, 4, &b), arg(k, 3, 4, &steps);
        report("fma", 2.0 * 8 * steps * n / best(k, 1, &n, &local, 1) / 1e9, "GFLOP/s");
    }
    {
        cl_kernel k = kern("sgemm");
        int n = 512;
        cl_mem m[3];
        arg(k, 0, sizeof n, &n);
        for (int j = 0; j < 3; j++) m[j] = buffer((size_t)4 * n * n, -1), arg(k, 1 + j, sizeof(cl_mem), &m[j]);
        size_t global[2] = {n / 64 * 256, n / 64}, l[2] = {256, 1};
        report("sgemm", 2.0 * n * n * n / best(k, 2, global, l, 1) / 1e9, "GFLOP/s");
    }
    {
        cl_kernel k = kern("histogram");
        cl_ulong n = 64 << 20;
        size_t global = 64 * 256;
        cl_mem in = buffer(n, -1), out = buffer(1024, 0);
        arg(k, 0, sizeof in, &in), arg(k, 1, sizeof out, &out), arg(k, 2, sizeof n, &n);
        report("histogram", n / best(k, 1, &global, &local, 1) / 1e9, "G/s");
    }
    {
        cl_kernel k = kern("nbody");
        int n = 4096;
        size_t global = n, l = 64;
        cl_mem p = buffer((size_t)32 * n, 1), f = buffer((size_t)32 * n, 0);
        arg(k, 0, sizeof p, &p), arg(k, 1, sizeof f, &f), arg(k, 2, sizeof n, &n);
        report("nbody_f64", (double)n * n / best(k, 1, &global, &l, 1) / 1e6, "M/s");
    }
    {
        cl_kernel k = kern("sum");
        cl_ulong n = 64 << 20;
        size_t global = 64 * 256;
        cl_mem in = buffer(4 * n, 1), out = buffer(4 * 64, 0);
        arg(k, 0, sizeof in, &in), arg(k, 1, sizeof out, &out), arg(k, 2, sizeof n, &n);
        report("reduction", 4.0 * n / best(k, 1, &global, &local, 1) / 1e9, "GB/s");
        clReleaseMemObject(in);
    }
    {
        cl_kernel count = kern("sort_count"), scan = kern("sort_scan"), scatter = kern("sort_scatter");
        const size_t n = 8 << 20, tiles = n / 4096, one = 1, group = 16;
        int nt = tiles, nc = tiles * 256;
        cl_mem start = buffer(4 * n, -1), a = buffer(4 * n, 0), b = buffer(4 * n, 0), counts = buffer(4 * nc, 0);
        double least = 1e30, spent = 0;
        for (int r = 0; r < 3 || spent < 0.5; r++) {
            double t = now();
            cl_mem from = start, to = a, other = b;
            for (int shift = 0; shift < 32; shift += 8) {
                arg(count, 0, sizeof from, &from), arg(count, 1, sizeof counts, &counts), arg(count, 2, 4, &shift), arg(count, 3, 4, &nt);
                arg(scan, 0, sizeof counts, &counts), arg(scan, 1, 4, &nc);
                arg(scatter, 0, sizeof from, &from), arg(scatter, 1, sizeof to, &to), arg(scatter, 2, sizeof counts, &counts);
                arg(scatter, 3, 4, &shift), arg(scatter, 4, 4, &nt);
                ok(clEnqueueNDRangeKernel(q, count, 1, NULL, &tiles, &group, 0, NULL, NULL), "sort_count");
                ok(clEnqueueNDRangeKernel(q, scan, 1, NULL, &one, &one, 0, NULL, NULL), "sort_scan");
                ok(clEnqueueNDRangeKernel(q, scatter, 1, NULL, &tiles, &group, 0, NULL, NULL), "sort_scatter");
                from = to, to = other, other = from;
            }
            clFinish(q);
            t = now() - t;
            spent += t;
            if (r > 0 && t < least) least = t;
        }
        report("radix_sort", n / least / 1e6, "M/s");
    }
    {
        cl_kernel k = kern("gemm_bf16");
        int n = 512;
        size_t global[2] = {n, n}, l[2] = {64, 1};
        cl_mem a = buffer((size_t)2 * n * n, 0x3f), b = buffer((size_t)2 * n * n, 0x3f), c = buffer((size_t)4 * n * n, 0);
        arg(k, 0, sizeof n, &n), arg(k, 1, sizeof a, &a), arg(k, 2, sizeof b, &b), arg(k, 3, sizeof c, &c);
        report("gemm_bf16", 2.0 * n * n * n / best(k, 2, global, l, 1) / 1e9, "GFLOP/s");
    }
    return 0;
}
