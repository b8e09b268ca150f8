// Textures: linear memory by tex1Dfetch, arrays of one, two and three dimensions and layers, points and bilinear filters,
// all four address modes, normalised coordinates and normalised bytes, against the host's own arithmetic.
#include "example.h"

#include <functional>
#include <string>

namespace {

// Device code: one thread for each sample point.
__global__ void fetch(hipTextureObject_t t, float4 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<float4>(t, i);
}

template <typename T>
__global__ void sample1(hipTextureObject_t t, const float *x, T *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1D<T>(t, x[i]);
}

template <typename T>
__global__ void sample2(hipTextureObject_t t, const float2 *p, T *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<T>(t, p[i].x, p[i].y);
}

__global__ void sample3(hipTextureObject_t t, const float4 *p, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex3D<float>(t, p[i].x, p[i].y, p[i].z);
}

__global__ void layered(hipTextureObject_t t, const float2 *p, const int *layer, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2DLayered<float>(t, p[i].x, p[i].y, layer[i]);
}

// gfx90a's texture units have no gather. HIP 5.2 counts components from 1, where 0 is the last of them.
__global__ void gather([[maybe_unused]] hipTextureObject_t t, [[maybe_unused]] const float2 *p, [[maybe_unused]] float4 *out,
                       [[maybe_unused]] int n) {
#ifndef __gfx90a__
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2Dgather<float4>(t, p[i].x, p[i].y, 1);
#endif
}

bool canGather() {
    hipDeviceProp_t p;
    CHECK(hipGetDeviceProperties(&p, 0));
    return std::string(p.gcnArchName).rfind("gfx90a", 0) != 0;
}

constexpr int kThreads = 128;

// Where index i of an axis of n texels falls, or -1 where the border is.
int texel(int i, int n, hipTextureAddressMode mode) {
    switch (mode) {
    case hipAddressModeWrap:
        return ((i % n) + n) % n;
    case hipAddressModeMirror:
        i = ((i % (2 * n)) + 2 * n) % (2 * n);
        return i < n ? i : 2 * n - 1 - i;
    case hipAddressModeBorder:
        return i >= 0 && i < n ? i : -1;
    default:
        return std::min(std::max(i, 0), n - 1);
    }
}

// One axis of a linear filter: two texels and the weight of the second, which has 8 fraction bits.
struct Axis {
    int at[2];
    float weight;
};
Axis axis(float coordinate, bool linear) {
    if (!linear) {
        int i = static_cast<int>(std::floor(coordinate));
        return {{i, i}, 0};
    }
    float f = std::nearbyint((coordinate - 0.5f) * 256) / 256;
    int i = static_cast<int>(std::floor(f));
    return {{i, i + 1}, f - i};
}

// filtered is what the texture unit should make of a sample at (x, y, z) in texels.
float filtered(Axis x, Axis y, Axis z, const std::function<float(int, int, int)> &at) {
    double sum = 0;
    for (int k = 0; k < 8; k++) {
        int a = k & 1, b = k >> 1 & 1, c = k >> 2;
        double w = (a ? x.weight : 1 - x.weight) * static_cast<double>(b ? y.weight : 1 - y.weight) * (c ? z.weight : 1 - z.weight);
        if (w != 0) sum += w * at(x.at[a], y.at[b], z.at[c]);
    }
    return static_cast<float>(sum);
}

hipTextureObject_t texture(const hipResourceDesc &resource, hipTextureAddressMode mode, hipTextureFilterMode filter,
                           hipTextureReadMode read = hipReadModeElementType, bool normalized = false) {
    hipTextureDesc d = {};
    for (auto &m : d.addressMode) m = mode;
    d.filterMode = filter;
    d.readMode = read;
    d.normalizedCoords = normalized;
    hipTextureObject_t t = nullptr;
    CHECK(hipCreateTextureObject(&t, &resource, &d, nullptr));
    return t;
}

hipResourceDesc ofArray(hipArray_t a) {
    hipResourceDesc r = {};
    r.resType = hipResourceTypeArray;
    r.res.array.array = a;
    return r;
}

std::vector<float> noise(size_t n, uint64_t seed) {
    Noise g(seed);
    std::vector<float> v(n);
    for (float &x : v) x = g.unit();
    return v;
}

// Points around and outside an image of w by h texels. Coordinates are off the centres and edges by more than the unit's
// rounding, so that nearest texels are certain.
std::vector<float2> points(int w, int h, int n) {
    Noise g(77);
    std::vector<float2> p;
    for (int i = 0; i < n; i++) {
        float x = (static_cast<int>(g.bits() % (3 * w * 16)) - w * 16) / 16.0f + 1 / 64.0f;
        float y = (static_cast<int>(g.bits() % (3 * h * 16)) - h * 16) / 16.0f + 1 / 64.0f;
        p.push_back(float2{x, y});
    }
    return p;
}

bool linearMemory() {
    const int n = 1000;
    std::vector<float> host = noise(4 * n, 1);
    DeviceArray<float> memory(host);
    hipResourceDesc r = {};
    r.resType = hipResourceTypeLinear;
    r.res.linear.devPtr = memory.get();
    r.res.linear.desc = hipCreateChannelDesc<float4>();
    r.res.linear.sizeInBytes = memory.bytes();
    hipTextureObject_t t = texture(r, hipAddressModeClamp, hipFilterModePoint);
    DeviceArray<float4> out(n);
    fetch<<<ceilDiv(n, kThreads), kThreads>>>(t, out.get(), n);
    CHECK_LAUNCH();
    std::vector<float> got;
    for (float4 v : out.download()) got.insert(got.end(), {v.x, v.y, v.z, v.w});
    CHECK(hipDestroyTextureObject(t));
    return matches("tex1Dfetch", got, host);
}

bool oneDimension() {
    const int w = 100, n = 700;
    std::vector<float> host = noise(w, 2);
    hipChannelFormatDesc format = hipCreateChannelDesc<float>();
    hipArray_t array;
    CHECK(hipMallocArray(&array, &format, w, 0, hipArrayDefault));
    CHECK(hipMemcpy2DToArray(array, 0, 0, host.data(), w * sizeof(float), w * sizeof(float), 1, hipMemcpyHostToDevice));
    std::vector<float2> p = points(w, 1, n);
    std::vector<float> x, want;
    for (float2 v : p) {
        x.push_back(v.x);
        Axis a = axis(v.x, true);
        want.push_back(filtered(a, {}, {}, [&](int i, int, int) { return host[texel(i, w, hipAddressModeClamp)]; }));
    }
    DeviceArray<float> where(x), out(n);
    hipTextureObject_t t = texture(ofArray(array), hipAddressModeClamp, hipFilterModeLinear);
    sample1<float><<<ceilDiv(n, kThreads), kThreads>>>(t, where.get(), out.get(), n);
    CHECK_LAUNCH();
    bool ok = matches("tex1D", out.download(), want, 1e-6);
    CHECK(hipDestroyTextureObject(t));
    CHECK(hipFreeArray(array));
    return ok;
}

bool twoDimensions() {
    const int w = 61, h = 37, n = 3000;
    std::vector<float> host = noise(w * h, 3);
    hipChannelFormatDesc format = hipCreateChannelDesc<float>();
    hipArray_t array;
    CHECK(hipMallocArray(&array, &format, w, h, hipArrayDefault));
    CHECK(hipMemcpy2DToArray(array, 0, 0, host.data(), w * sizeof(float), w * sizeof(float), h, hipMemcpyHostToDevice));
    std::vector<float2> p = points(w, h, n);
    bool ok = true;
    for (hipTextureAddressMode mode : {hipAddressModeWrap, hipAddressModeClamp, hipAddressModeMirror, hipAddressModeBorder}) {
        for (hipTextureFilterMode filter : {hipFilterModePoint, hipFilterModeLinear}) {
            // Wrap and mirror exist for normalised coordinates only.
            bool normalized = mode == hipAddressModeWrap || mode == hipAddressModeMirror;
            std::vector<float2> where = p;
            std::vector<float> want;
            for (float2 &v : where) {
                Axis x = axis(v.x, filter == hipFilterModeLinear), y = axis(v.y, filter == hipFilterModeLinear);
                want.push_back(filtered(x, y, {}, [&](int i, int j, int) {
                    i = texel(i, w, mode);
                    j = texel(j, h, mode);
                    return i < 0 || j < 0 ? 0 : host[j * w + i];
                }));
                if (normalized) v = float2{v.x / w, v.y / h};
            }
            DeviceArray<float2> at(where);
            DeviceArray<float> out(n);
            hipTextureObject_t t = texture(ofArray(array), mode, filter, hipReadModeElementType, normalized);
            sample2<float><<<ceilDiv(n, kThreads), kThreads>>>(t, at.get(), out.get(), n);
            CHECK_LAUNCH();
            // Normalising costs a bit of the coordinate, and so, now and then, one step of a weight.
            char name[64];
            std::snprintf(name, sizeof name, "tex2D mode %d filter %d", mode, filter);
            ok = matches(name, out.download(), want, normalized && filter == hipFilterModeLinear ? 1 / 128.0 : 1e-6) && ok;
            CHECK(hipDestroyTextureObject(t));
        }
    }
    // The four texels around a point.
    std::vector<float> want;
    for (float2 v : p) {
        Axis x = axis(v.x, true), y = axis(v.y, true);
        for (auto [a, b] : {std::pair{0, 1}, {1, 1}, {1, 0}, {0, 0}})
            want.push_back(host[texel(y.at[b], h, hipAddressModeClamp) * w + texel(x.at[a], w, hipAddressModeClamp)]);
    }
    DeviceArray<float2> at(p);
    DeviceArray<float4> out(n);
    hipTextureObject_t t = texture(ofArray(array), hipAddressModeClamp, hipFilterModeLinear);
    gather<<<ceilDiv(n, kThreads), kThreads>>>(t, at.get(), out.get(), n);
    CHECK_LAUNCH();
    std::vector<float> got;
    for (float4 v : out.download()) got.insert(got.end(), {v.x, v.y, v.z, v.w});
    if (canGather()) ok = matches("tex2Dgather", got, want) && ok;
    CHECK(hipDestroyTextureObject(t));

    std::vector<float> back(w * h);
    CHECK(hipMemcpy2DFromArray(back.data(), w * sizeof(float), array, 0, 0, w * sizeof(float), h, hipMemcpyDeviceToHost));
    ok = matches("hipMemcpy2DFromArray", back, host) && ok;
    CHECK(hipFreeArray(array));
    return ok;
}

// Bytes read as floats from 0 to 1, with coordinates from 0 to 1, and as what they are.
bool bytes() {
    const int w = 64, h = 32, n = 2000;
    Noise g(4);
    std::vector<uchar4> host(w * h);
    for (uchar4 &v : host) {
        uint32_t b = g.bits();
        v = uchar4(b & 255, b >> 8 & 255, b >> 16 & 255, b >> 24);
    }
    hipChannelFormatDesc format = hipCreateChannelDesc(8, 8, 8, 8, hipChannelFormatKindUnsigned);
    hipArray_t array;
    CHECK(hipMallocArray(&array, &format, w, h, hipArrayDefault));
    CHECK(hipMemcpy2DToArray(array, 0, 0, host.data(), w * sizeof(uchar4), w * sizeof(uchar4), h, hipMemcpyHostToDevice));
    std::vector<float2> p = points(w, h, n);
    std::vector<float> want, wantBytes;
    for (float2 &v : p) {
        Axis x = axis(v.x, true), y = axis(v.y, true), px = axis(v.x, false), py = axis(v.y, false);
        for (int c = 0; c < 4; c++) {
            auto at = [&](int i, int j) {
                uchar4 t = host[texel(j, h, hipAddressModeClamp) * w + texel(i, w, hipAddressModeClamp)];
                return c == 0 ? t.x : c == 1 ? t.y : c == 2 ? t.z : t.w;
            };
            want.push_back(filtered(x, y, {}, [&](int i, int j, int) { return at(i, j) / 255.0f; }));
            wantBytes.push_back(at(px.at[0], py.at[0]));
        }
        v = float2{v.x / w, v.y / h}; // exact: powers of two
    }
    DeviceArray<float2> where(p);
    DeviceArray<float4> out(n);
    hipTextureObject_t t = texture(ofArray(array), hipAddressModeClamp, hipFilterModeLinear, hipReadModeNormalizedFloat, true);
    sample2<float4><<<ceilDiv(n, kThreads), kThreads>>>(t, where.get(), out.get(), n);
    CHECK_LAUNCH();
    std::vector<float> got;
    for (float4 v : out.download()) got.insert(got.end(), {v.x, v.y, v.z, v.w});
    bool ok = matches("normalised uchar4", got, want, 1e-6);
    CHECK(hipDestroyTextureObject(t));

    t = texture(ofArray(array), hipAddressModeClamp, hipFilterModePoint, hipReadModeElementType, true);
    DeviceArray<uchar4> plain(n);
    sample2<uchar4><<<ceilDiv(n, kThreads), kThreads>>>(t, where.get(), plain.get(), n);
    CHECK_LAUNCH();
    got.clear();
    for (uchar4 v : plain.download())
        for (int c : {int(v.x), int(v.y), int(v.z), int(v.w)}) got.push_back(c);
    ok = matches("uchar4", got, wantBytes) && ok;
    CHECK(hipDestroyTextureObject(t));
    CHECK(hipFreeArray(array));
    return ok;
}

// A plain allocation with a pitch, seen as a two-dimensional texture.
bool pitched() {
    const int w = 50, h = 20, n = 1000;
    std::vector<float> host = noise(w * h, 5);
    float *memory;
    size_t pitch;
    CHECK(hipMallocPitch(reinterpret_cast<void **>(&memory), &pitch, w * sizeof(float), h));
    CHECK(hipMemcpy2D(memory, pitch, host.data(), w * sizeof(float), w * sizeof(float), h, hipMemcpyHostToDevice));
    hipResourceDesc r = {};
    r.resType = hipResourceTypePitch2D;
    r.res.pitch2D.devPtr = memory;
    r.res.pitch2D.desc = hipCreateChannelDesc<float>();
    r.res.pitch2D.width = w;
    r.res.pitch2D.height = h;
    r.res.pitch2D.pitchInBytes = pitch;
    std::vector<float2> p = points(w, h, n);
    std::vector<float> want;
    for (float2 v : p)
        want.push_back(filtered(axis(v.x, true), axis(v.y, true), {}, [&](int i, int j, int) {
            return host[texel(j, h, hipAddressModeClamp) * w + texel(i, w, hipAddressModeClamp)];
        }));
    DeviceArray<float2> where(p);
    DeviceArray<float> out(n);
    hipTextureObject_t t = texture(r, hipAddressModeClamp, hipFilterModeLinear);
    sample2<float><<<ceilDiv(n, kThreads), kThreads>>>(t, where.get(), out.get(), n);
    CHECK_LAUNCH();
    bool ok = matches("pitched memory", out.download(), want, 1e-6);
    CHECK(hipDestroyTextureObject(t));
    CHECK(hipFree(memory));
    return ok;
}

// copy3 fills a whole array from packed host memory.
void copy3(hipArray_t array, std::vector<float> &host, int w, int h, int d) {
    hipMemcpy3DParms copy = {};
    copy.srcPtr = make_hipPitchedPtr(host.data(), w * sizeof(float), w, h);
    copy.dstArray = array;
    copy.extent = make_hipExtent(w, h, d);
    copy.kind = hipMemcpyHostToDevice;
    CHECK(hipMemcpy3D(&copy));
}

bool threeDimensions() {
    const int w = 23, h = 17, d = 11, n = 2000;
    std::vector<float> host = noise(w * h * d, 6);
    hipChannelFormatDesc format = hipCreateChannelDesc<float>();
    hipArray_t array;
    CHECK(hipMalloc3DArray(&array, &format, make_hipExtent(w, h, d), hipArrayDefault));
    copy3(array, host, w, h, d);
    std::vector<float2> xy = points(w, h, n), zz = points(d, 1, n);
    std::vector<float4> p;
    std::vector<float> want;
    for (int i = 0; i < n; i++) {
        p.push_back(float4{xy[i].x, xy[i].y, zz[i].x, 0});
        want.push_back(filtered(axis(xy[i].x, true), axis(xy[i].y, true), axis(zz[i].x, true), [&](int x, int y, int z) {
            auto at = [](int i, int n) { return texel(i, n, hipAddressModeClamp); };
            return host[(at(z, d) * h + at(y, h)) * w + at(x, w)];
        }));
    }
    DeviceArray<float4> where(p);
    DeviceArray<float> out(n);
    hipTextureObject_t t = texture(ofArray(array), hipAddressModeClamp, hipFilterModeLinear);
    sample3<<<ceilDiv(n, kThreads), kThreads>>>(t, where.get(), out.get(), n);
    CHECK_LAUNCH();
    bool ok = matches("tex3D", out.download(), want, 1e-6);
    CHECK(hipDestroyTextureObject(t));
    CHECK(hipFreeArray(array));
    return ok;
}

bool layers() {
    const int w = 40, h = 30, d = 5, n = 1000;
    std::vector<float> host = noise(w * h * d, 7);
    hipChannelFormatDesc format = hipCreateChannelDesc<float>();
    hipArray_t array;
    CHECK(hipMalloc3DArray(&array, &format, make_hipExtent(w, h, d), hipArrayLayered));
    copy3(array, host, w, h, d);
    std::vector<float2> p = points(w, h, n);
    std::vector<int> layer;
    std::vector<float> want;
    for (int i = 0; i < n; i++) {
        layer.push_back(i % d);
        want.push_back(filtered(axis(p[i].x, false), axis(p[i].y, false), {}, [&](int x, int y, int) {
            return host[(layer[i] * h + texel(y, h, hipAddressModeClamp)) * w + texel(x, w, hipAddressModeClamp)];
        }));
    }
    DeviceArray<float2> where(p);
    DeviceArray<int> which(layer);
    DeviceArray<float> out(n);
    hipTextureObject_t t = texture(ofArray(array), hipAddressModeClamp, hipFilterModePoint);
    layered<<<ceilDiv(n, kThreads), kThreads>>>(t, where.get(), which.get(), out.get(), n);
    CHECK_LAUNCH();
    bool ok = matches("tex2DLayered", out.download(), want);
    CHECK(hipDestroyTextureObject(t));
    CHECK(hipFreeArray(array));
    return ok;
}

} // namespace

int main() {
    bool ok = true;
    for (auto test : {linearMemory, oneDimension, twoDimensions, bytes, pitched, threeDimensions, layers}) ok = test() && ok;
    return verdict("textures", ok);
}
