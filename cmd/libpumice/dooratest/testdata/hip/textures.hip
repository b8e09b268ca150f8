// Texture references of the program, array copies of every kind, the driver's array functions, what objects say of themselves, and bad input.
#include "check.h"
#include <vector>

#pragma clang diagnostic ignored "-Wdeprecated-declarations"

texture<float, hipTextureType1D, hipReadModeElementType> linear;
texture<float, hipTextureType2D, hipReadModeElementType> image;
texture<unsigned char, hipTextureType2D, hipReadModeNormalizedFloat> bytes;

__global__ void fetch(float *out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex1Dfetch(linear, i);
}
__global__ void sample(float *out, int w) {
    int i = threadIdx.x;
    out[i] = tex2D(image, i % w + 0.5f, i / w + 0.5f);
}
__global__ void normalised(float *out, int w) {
    int i = threadIdx.x;
    out[i] = tex2D(bytes, i % w + 0.5f, i / w + 0.5f);
}

static const int w = 8, h = 8, n = w * h;

static void references() {
    std::vector<float> host(n);
    for (int i = 0; i < n; i++) host[i] = i * 3;
    float *mem, *out;
    DO(hipMalloc((void **)&mem, n * 4));
    DO(hipMallocManaged((void **)&out, n * 4));
    DO(hipMemcpy(mem, host.data(), n * 4, hipMemcpyHostToDevice));
    size_t offset = 1;
    DO(hipBindTexture(&offset, &linear, mem, &linear.channelDesc, n * 4));
    WANT(offset, 0);
    fetch<<<1, n>>>(out, n);
    DO(hipDeviceSynchronize());
    for (int i = 0; i < n; i++) WANT(out[i], i * 3);
    DO(hipUnbindTexture(&linear));

    hipArray_t a;
    DO(hipMallocArray(&a, &image.channelDesc, w, h));
    DO(hipMemcpyToArray(a, 0, 0, host.data(), n * 4, hipMemcpyHostToDevice));
    DO(hipBindTextureToArray(&image, a, &image.channelDesc));
    sample<<<1, n>>>(out, w);
    DO(hipDeviceSynchronize());
    for (int i = 0; i < n; i++) WANT(out[i], i * 3);
    // Bound anew, to the same memory by its pitch.
    size_t pitch = 256;
    float *wide;
    DO(hipMalloc((void **)&wide, pitch * h));
    DO(hipMemcpy2D(wide, pitch, host.data(), w * 4, w * 4, h, hipMemcpyHostToDevice));
    host[9] = 7;
    DO(hipMemcpy2D(wide, pitch, host.data(), w * 4, w * 4, h, hipMemcpyHostToDevice));
    DO(hipBindTexture2D(&offset, &image, wide, &image.channelDesc, w, h, pitch));
    sample<<<1, n>>>(out, w);
    DO(hipDeviceSynchronize());
    WANT(out[9], 7);
    WANT(out[10], 30);
    const textureReference *ref;
    DO(hipGetTextureReference(&ref, &image));
    WANT(ref == &image, 1);
    DO(hipUnbindTexture(&image));

    hipArray_t b;
    hipChannelFormatDesc format = hipCreateChannelDesc(8, 0, 0, 0, hipChannelFormatKindUnsigned);
    DO(hipMallocArray(&b, &format, w, h));
    std::vector<unsigned char> small(n);
    for (int i = 0; i < n; i++) small[i] = i * 4;
    DO(hipMemcpyToArray(b, 0, 0, small.data(), n, hipMemcpyHostToDevice));
    DO(hipBindTextureToArray(&bytes, b, &format));
    normalised<<<1, n>>>(out, w);
    DO(hipDeviceSynchronize());
    for (int i = 0; i < n; i++) WANT(out[i] * 255 + 0.5f, i * 4);
    DO(hipUnbindTexture(&bytes));
    DO(hipFreeArray(a));
    DO(hipFreeArray(b));
}

static void copies() {
    std::vector<float> host(n), back(n);
    for (int i = 0; i < n; i++) host[i] = i;
    HIP_ARRAY_DESCRIPTOR d = {};
    d.Width = w, d.Height = h, d.Format = HIP_AD_FORMAT_FLOAT, d.NumChannels = 1;
    hipArray_t a, b;
    DO(hipArrayCreate(&a, &d));
    DO(hipArrayCreate(&b, &d));
    hipChannelFormatDesc f;
    DO(hipGetChannelDesc(&f, a));
    WANT(f.x, 32);
    WANT(f.y, 0);
    WANT(f.f, hipChannelFormatKindFloat);
    WANT(a->width, w);
    WANT(a->height, h);

    // A box of 4 by 3 texels, in and out.
    DO(hipMemcpy2DToArray(a, 2 * 4, 1, host.data(), w * 4, 4 * 4, 3, hipMemcpyHostToDevice));
    DO(hipMemcpy2DFromArray(back.data(), w * 4, a, 2 * 4, 1, 4 * 4, 3, hipMemcpyDeviceToHost));
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 4; x++) WANT(back[y * w + x], y * w + x);
    // One row as bytes.
    DO(hipMemcpyHtoA(b, 4, host.data(), 16));
    DO(hipMemcpyAtoH(back.data(), b, 4, 16));
    WANT(back[3], 3);
    // The rest of a row and the rows behind it.
    DO(hipMemcpyToArray(b, 4 * 4, 2, host.data(), 20 * 4, hipMemcpyHostToDevice));
    DO(hipMemcpyFromArray(back.data(), b, 4 * 4, 2, 20 * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < 20; i++) WANT(back[i], i);

    hip_Memcpy2D p = {};
    p.srcMemoryType = hipMemoryTypeHost, p.srcHost = host.data(), p.srcPitch = w * 4;
    p.dstMemoryType = hipMemoryTypeArray, p.dstArray = a;
    p.WidthInBytes = w * 4, p.Height = h;
    DO(hipMemcpyParam2D(&p));
    hipMemcpy3DParms q = {};
    q.srcArray = a, q.dstArray = b, q.extent = make_hipExtent(w, h, 1), q.kind = hipMemcpyDeviceToDevice;
    DO(hipMemcpy3D(&q));
    HIP_MEMCPY3D r = {};
    r.srcMemoryType = hipMemoryTypeArray, r.srcArray = b, r.srcXInBytes = 8, r.srcY = 1;
    r.dstMemoryType = hipMemoryTypeHost, r.dstHost = back.data(), r.dstPitch = 16, r.dstHeight = 2;
    r.WidthInBytes = 16, r.Height = 2, r.Depth = 1;
    DO(hipDrvMemcpy3D(&r));
    WANT(back[0], w + 2);
    WANT(back[4], 2 * w + 2);

    WANT(hipMemcpy2DToArray(a, 0, 0, host.data(), w * 4, w * 4 + 4, 1, hipMemcpyHostToDevice), hipErrorInvalidValue);
    WANT(hipMemcpy2DToArray(a, 0, 0, host.data(), 8, 12, 1, hipMemcpyHostToDevice), hipErrorInvalidValue);
    WANT(hipMemcpy2DToArray(a, 4, 0, host.data(), w * 4, w * 4, 1, hipMemcpyHostToDevice), hipErrorInvalidValue);
    WANT(hipMemcpy2DToArray(a, 0, h, host.data(), w * 4, 4, 1, hipMemcpyHostToDevice), hipErrorInvalidValue);
    WANT(hipMemcpy2DToArray(nullptr, 0, 0, host.data(), w * 4, 4, 1, hipMemcpyHostToDevice), hipErrorInvalidHandle);
    DO(hipArrayDestroy(a));
    DO(hipArrayDestroy(b));
    WANT(hipArrayDestroy(b), hipErrorContextIsDestroyed);
    WANT(hipFreeArray(nullptr), hipErrorInvalidValue);
}

static void objects() {
    hipChannelFormatDesc f = hipCreateChannelDesc<float>();
    hipArray_t a;
    DO(hipMallocArray(&a, &f, w, h));
    hipResourceDesc r = {}, got = {};
    r.resType = hipResourceTypeArray;
    r.res.array.array = a;
    hipTextureDesc d = {}, gotD = {};
    d.addressMode[0] = hipAddressModeBorder;
    d.filterMode = hipFilterModeLinear;
    hipTextureObject_t t;
    DO(hipCreateTextureObject(&t, &r, &d, nullptr));
    DO(hipGetTextureObjectResourceDesc(&got, t));
    WANT(got.res.array.array == a, 1);
    DO(hipGetTextureObjectTextureDesc(&gotD, t));
    WANT(gotD.addressMode[0], hipAddressModeBorder);
    WANT(gotD.filterMode, hipFilterModeLinear);
    WANT(hipGetTextureObjectResourceDesc(nullptr, t), hipErrorInvalidValue);
    DO(hipDestroyTextureObject(t));
    DO(hipDestroyTextureObject(nullptr));

    WANT(hipCreateTextureObject(nullptr, &r, &d, nullptr), hipErrorInvalidValue);
    WANT(hipCreateTextureObject(&t, nullptr, &d, nullptr), hipErrorInvalidValue);
    WANT(hipCreateTextureObject(&t, &r, nullptr, nullptr), hipErrorInvalidValue);
    r.res.array.array = nullptr;
    WANT(hipCreateTextureObject(&t, &r, &d, nullptr), hipErrorInvalidValue);
    r.resType = hipResourceTypeLinear;
    WANT(hipCreateTextureObject(&t, &r, &d, nullptr), hipErrorInvalidValue);
    char *memory;
    DO(hipMalloc((void **)&memory, 4096));
    r.res.linear.devPtr = memory + 64; // images begin at multiples of 256 bytes
    r.res.linear.desc = f;
    r.res.linear.sizeInBytes = 1024;
    WANT(hipCreateTextureObject(&t, &r, &d, nullptr), hipErrorInvalidValue);
    r.res.linear.devPtr = memory + 256;
    DO(hipCreateTextureObject(&t, &r, &d, nullptr));
    DO(hipDestroyTextureObject(t));
    r.resType = hipResourceTypeArray;
    r.res.array.array = nullptr;
    hipSurfaceObject_t s;
    WANT(hipCreateSurfaceObject(&s, &r), hipErrorInvalidValue);
    r.res.array.array = a;
    DO(hipCreateSurfaceObject(&s, &r));
    DO(hipDestroySurfaceObject(s));

    hipArray_t none;
    hipChannelFormatDesc three = {32, 32, 32, 0, hipChannelFormatKindFloat}, odd = {12, 0, 0, 0, hipChannelFormatKindSigned};
    WANT(hipMallocArray(nullptr, &f, w, h), hipErrorInvalidValue);
    WANT(hipMallocArray(&none, nullptr, w, h), hipErrorInvalidValue);
    WANT(hipMallocArray(&none, &f, 0, h), hipErrorInvalidValue);
    WANT(hipMallocArray(&none, &three, w, h), hipErrorInvalidValue);
    WANT(hipMallocArray(&none, &odd, w, h), hipErrorInvalidValue);
    WANT(hipMallocArray(&none, &f, 20000, h), hipErrorInvalidValue);
    hipMipmappedArray_t mip;
    WANT(hipMallocMipmappedArray(&mip, &f, make_hipExtent(w, h, 0), 2), hipErrorNotSupported);
    int images = 0;
    DO(hipDeviceGetAttribute(&images, hipDeviceAttributeImageSupport, 0));
    WANT(images, 1);
    DO(hipFreeArray(a));
}

int main() {
    references();
    copies();
    objects();
    return finish();
}
