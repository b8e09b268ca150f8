// ROCm/hip#1982, #1790, #3289, #1245: fills and copies of boxes in pitched memory. Where the pitch is not the width, only the box may change.
#include "case.h"

namespace hip_1982 {

const int N = 4, sentinel = 133;

__global__ void number(int *p, size_t pitch, int n) {
    const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    ((int *)((char *)p + (z * n + y) * pitch))[x] = (z * n + y) * n + x;
}

// cube is a 4x4x4 array of numbered integers on the device.
hipPitchedPtr cube() {
    hipPitchedPtr d;
    HIP(hipMalloc3D(&d, make_hipExtent(N * sizeof(int), N, N)));
    number<<<1, dim3(N, N, N)>>>((int *)d.ptr, d.pitch, N);
    HIP(hipDeviceSynchronize());
    return d;
}

int at(int x, int y, int z) { return (z * N + y) * N + x; }

// box calls f for each element with whether it lies in a box.
template <typename F>
void box(int x0, int y0, int z0, int w, int h, int d, F f) {
    for (int z = 0; z < N; z++)
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++) f(x, y, z, x >= x0 && x < x0 + w && y >= y0 && y < y0 + h && z >= z0 && z < z0 + d);
}

// A fill of 3 columns, 3 rows and 4 slices.
CASE(issue_hip_1982) {
    hipPitchedPtr d = cube();
    HIP(hipMemset3D(make_hipPitchedPtr(d.ptr, d.pitch, N, N), 0, make_hipExtent(3 * sizeof(int), 3, 4)));
    std::vector<int> h(N * N * N, sentinel);
    HIP(hipMemcpy2D(h.data(), N * sizeof(int), d.ptr, d.pitch, N * sizeof(int), N * N, hipMemcpyDeviceToHost));
    box(0, 0, 0, 3, 3, 4, [&](int x, int y, int z, bool in) { SAME(h[at(x, y, z)], in ? 0 : at(x, y, z)); });
    // The same in two dimensions.
    HIP(hipMemset2D(d.ptr, d.pitch, 0xff, 2 * sizeof(int), 3));
    HIP(hipMemcpy2D(h.data(), N * sizeof(int), d.ptr, d.pitch, N * sizeof(int), N, hipMemcpyDeviceToHost));
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++) SAME(h[y * N + x], x < 2 && y < 3 ? -1 : x < 3 && y < 3 ? 0 : at(x, y, 0));
    HIP(hipFree(d.ptr));
}

// The last column of 3 rows and slices, offset by moving the pointers, to an unpitched array full of sentinels.
CASE(issue_hip_1790) {
    hipPitchedPtr d = cube();
    int *h;
    HIP(hipHostMalloc(&h, N * N * N * sizeof(int)));
    for (int i = 0; i < N * N * N; i++) h[i] = sentinel;
    hipMemcpy3DParms p = {};
    p.srcPtr = make_hipPitchedPtr((char *)d.ptr + 3 * sizeof(int), d.pitch, N, N);
    p.dstPtr = make_hipPitchedPtr(h + 3, N * sizeof(int), N, N);
    p.extent = make_hipExtent(sizeof(int), 3, 3);
    p.kind = hipMemcpyDeviceToHost;
    HIP(hipMemcpy3D(&p));
    box(3, 0, 0, 1, 3, 3, [&](int x, int y, int z, bool in) { SAME(h[at(x, y, z)], in ? at(x, y, z) : sentinel); });
    HIP(hipHostFree(h));
    HIP(hipFree(d.ptr));
}

// Positions instead of moved pointers. Those of pitched memory count bytes in x, rows in y and slices in z; each may be 0 without the others.
CASE(issue_hip_3289) {
    hipPitchedPtr d = cube(), e = cube();
    for (int which = 0; which < 8; which++) {
        const int x0 = which & 1, y0 = which >> 1 & 1, z0 = which >> 2;
        HIP(hipMemset3D(e, 0x55, make_hipExtent(N * sizeof(int), N, N)));
        hipMemcpy3DParms p = {};
        p.srcPtr = d;
        p.srcPos = make_hipPos(x0 * sizeof(int), y0, z0);
        p.dstPtr = e;
        p.dstPos = make_hipPos((2 - x0) * sizeof(int), 2 - y0, 2 - z0);
        p.extent = make_hipExtent(2 * sizeof(int), 2, 2);
        p.kind = hipMemcpyDeviceToDevice;
        HIP(hipMemcpy3D(&p));
        std::vector<int> h(N * N * N, sentinel);
        HIP(hipMemcpy2D(h.data(), N * sizeof(int), e.ptr, e.pitch, N * sizeof(int), N * N, hipMemcpyDeviceToHost));
        const int dx = 2 - 2 * x0, dy = 2 - 2 * y0, dz = 2 - 2 * z0;
        box(2 - x0, 2 - y0, 2 - z0, 2, 2, 2, [&](int x, int y, int z, bool in) { SAME(h[at(x, y, z)], in ? at(x - dx, y - dy, z - dz) : 0x55555555); });
    }
    HIP(hipFree(d.ptr));
    HIP(hipFree(e.ptr));
}

// Rows of 5 floats between two pitched arrays on the device.
CASE(issue_hip_1245) {
    const int rows = 3, cols = 5;
    float in[rows][cols], out[rows][cols] = {};
    for (int i = 0; i < rows * cols; i++) in[i / cols][i % cols] = 1.5f + i;
    float *a, *b;
    size_t pa, pb;
    HIP(hipMallocPitch((void **)&a, &pa, cols * sizeof(float), rows));
    HIP(hipMallocPitch((void **)&b, &pb, 99 * sizeof(float), rows));
    MUST(pa != pb);
    HIP(hipMemcpy2D(a, pa, in, sizeof in[0], sizeof in[0], rows, hipMemcpyHostToDevice));
    HIP(hipMemcpy2D(b, pb, a, pa, sizeof in[0], rows, hipMemcpyDeviceToDevice));
    HIP(hipMemcpy2D(out, sizeof out[0], b, pb, sizeof in[0], rows, hipMemcpyDeviceToHost));
    MUST(std::memcmp(in, out, sizeof in) == 0);
    HIP(hipFree(a));
    HIP(hipFree(b));
}

}  // namespace hip_1982
