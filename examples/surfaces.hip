// Surfaces: kernels read and write the texels of arrays through surface objects; what they wrote is then read as a texture
// and copied back.
#include "example.h"

namespace {

// Offsets along x are in bytes.
__global__ void shade(hipSurfaceObject_t s, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) surf2Dwrite(float4{float(x), float(y), float(x * y), 1}, s, x * int(sizeof(float4)), y);
}

// HIP 5.2's surface functions take every component through a float, so whole numbers need a format of floats.
__global__ void flip(hipSurfaceObject_t in, hipSurfaceObject_t out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float2 c;
    surf2Dread(&c, in, x * int(sizeof(float2)), y);
    surf2Dwrite(float2{c.y, -c.x}, out, (w - 1 - x) * int(sizeof(float2)), y);
}

__global__ void fill3(hipSurfaceObject_t s, int w, int h, int d) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    for (int z = 0; z < d; z++) {
        surf3Dwrite(float(x + 100 * y + 10000 * z), s, x * int(sizeof(float)), y, z);
        float v;
        surf3Dread(&v, s, x * int(sizeof(float)), y, z);
        surf3Dwrite(v + 0.5f, s, x * int(sizeof(float)), y, z);
    }
}

__global__ void fetch(hipTextureObject_t t, float4 *out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) out[y * w + x] = tex2D<float4>(t, x + 0.5f, y + 0.5f);
}

__global__ void outside(hipSurfaceObject_t s, int w, int h, float4 *out) {
    // Nothing is written outside, and 0 is read from there.
    int i = int(threadIdx.x) - 2;
    surf2Dwrite(float4{-1, -1, -1, -1}, s, -16 * (i + 3), i);
    surf2Dwrite(float4{-1, -1, -1, -1}, s, 0, h + i + 2);
    float4 v;
    surf2Dread(&v, s, (w + i + 2) * int(sizeof(float4)), 0);
    out[threadIdx.x] = v;
}

hipSurfaceObject_t surface(hipArray_t a) {
    hipResourceDesc r = {};
    r.resType = hipResourceTypeArray;
    r.res.array.array = a;
    hipSurfaceObject_t s = nullptr;
    CHECK(hipCreateSurfaceObject(&s, &r));
    return s;
}

hipArray_t array(int w, int h, hipChannelFormatDesc format) {
    hipArray_t a;
    CHECK(hipMallocArray(&a, &format, w, h, hipArrayDefault));
    return a;
}

dim3 blocks(int w, int h) { return dim3(ceilDiv(w, 16), ceilDiv(h, 8)); }
const dim3 kBlock(16, 8);

bool floats() {
    const int w = 75, h = 44;
    hipArray_t a = array(w, h, hipCreateChannelDesc<float4>());
    hipSurfaceObject_t s = surface(a);
    shade<<<blocks(w, h), kBlock>>>(s, w, h);
    CHECK_LAUNCH();
    DeviceArray<float4> read(5);
    outside<<<1, 5>>>(s, w, h, read.get());
    CHECK_LAUNCH();
    std::vector<float> want;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) want.insert(want.end(), {float(x), float(y), float(x * y), 1});
    std::vector<float> got(want.size());
    CHECK(hipMemcpy2DFromArray(got.data(), w * 16, a, 0, 0, w * 16, h, hipMemcpyDeviceToHost));
    bool ok = matches("surf2Dwrite", got, want);

    hipResourceDesc r = {};
    r.resType = hipResourceTypeArray;
    r.res.array.array = a;
    hipTextureDesc d = {};
    hipTextureObject_t t;
    CHECK(hipCreateTextureObject(&t, &r, &d, nullptr));
    DeviceArray<float4> out(w * h);
    fetch<<<blocks(w, h), kBlock>>>(t, out.get(), w, h);
    CHECK_LAUNCH();
    got.clear();
    for (float4 v : out.download()) got.insert(got.end(), {v.x, v.y, v.z, v.w});
    ok = matches("written, then sampled", got, want) && ok;
    got.clear();
    for (float4 v : read.download()) got.insert(got.end(), {v.x, v.y, v.z});
    ok = matches("read outside", got, std::vector<float>(15, 0)) && ok;
    CHECK(hipDestroyTextureObject(t));
    CHECK(hipDestroySurfaceObject(s));
    CHECK(hipFreeArray(a));
    return ok;
}

bool flipped() {
    const int w = 130, h = 70;
    Noise g(9);
    std::vector<float> host(2 * w * h);
    for (float &v : host) v = g.unit();
    hipArray_t in = array(w, h, hipCreateChannelDesc<float2>()), out = array(w, h, hipCreateChannelDesc<float2>());
    CHECK(hipMemcpy2DToArray(in, 0, 0, host.data(), w * 8, w * 8, h, hipMemcpyHostToDevice));
    hipSurfaceObject_t si = surface(in), so = surface(out);
    flip<<<blocks(w, h), kBlock>>>(si, so, w, h);
    CHECK_LAUNCH();
    std::vector<float> got(2 * w * h), want;
    CHECK(hipMemcpy2DFromArray(got.data(), w * 8, out, 0, 0, w * 8, h, hipMemcpyDeviceToHost));
    for (int y = 0; y < h; y++)
        for (int x = w - 1; x >= 0; x--) want.insert(want.end(), {host[2 * (y * w + x) + 1], -host[2 * (y * w + x)]});
    bool ok = matches("surf2Dread", got, want);
    CHECK(hipDestroySurfaceObject(si));
    CHECK(hipDestroySurfaceObject(so));
    CHECK(hipFreeArray(in));
    CHECK(hipFreeArray(out));
    return ok;
}

bool threeDimensions() {
    const int w = 20, h = 9, d = 7;
    hipChannelFormatDesc format = hipCreateChannelDesc<float>();
    hipArray_t a;
    CHECK(hipMalloc3DArray(&a, &format, make_hipExtent(w, h, d), hipArrayDefault));
    hipSurfaceObject_t s = surface(a);
    fill3<<<blocks(w, h), kBlock>>>(s, w, h, d);
    CHECK_LAUNCH();
    std::vector<float> got(w * h * d), want;
    hipMemcpy3DParms copy = {};
    copy.srcArray = a;
    copy.dstPtr = make_hipPitchedPtr(got.data(), w * sizeof(float), w, h);
    copy.extent = make_hipExtent(w, h, d);
    copy.kind = hipMemcpyDeviceToHost;
    CHECK(hipMemcpy3D(&copy));
    for (int z = 0; z < d; z++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) want.push_back(x + 100 * y + 10000 * z + 0.5f);
    bool ok = matches("surf3D", got, want);
    CHECK(hipDestroySurfaceObject(s));
    CHECK(hipFreeArray(a));
    return ok;
}

} // namespace

int main() {
    bool ok = floats();
    ok = flipped() && ok;
    ok = threeDimensions() && ok;
    return verdict("surfaces", ok);
}
