// Memory in the order of streams: pools, their attributes, and when memory is used again.
#include "check.h"
#include <string.h>

const size_t MB = 1 << 20;
static hipStream_t s, other;

static unsigned long long get(hipMemPool_t p, hipMemPoolAttr a) {
    unsigned long long v = 0;
    DO(hipMemPoolGetAttribute(p, a, &v));
    return v;
}

static hipMemPool_t make() {
    hipMemPoolProps props = {};
    props.allocType = hipMemAllocationTypePinned;
    props.location.type = hipMemLocationTypeDevice;
    hipMemPool_t p;
    DO(hipMemPoolCreate(&p, &props));
    return p;
}

static void attributes() {
    hipMemPool_t def, cur, p = make();
    DO(hipDeviceGetDefaultMemPool(&def, 0));
    DO(hipDeviceGetMemPool(&cur, 0));
    WANT(def == cur, 1);
    WANT(hipMemPoolDestroy(def), hipErrorInvalidValue);
    DO(hipDeviceSetMemPool(0, p));
    DO(hipDeviceGetMemPool(&cur, 0));
    WANT(cur == p, 1);
    WANT(get(p, hipMemPoolAttrReleaseThreshold), 0);
    int v = -1;
    DO(hipMemPoolGetAttribute(p, hipMemPoolReuseAllowOpportunistic, &v));
    WANT(v, 1);

    unsigned long long keep = 64 * MB;
    DO(hipMemPoolSetAttribute(p, hipMemPoolAttrReleaseThreshold, &keep));
    void *a, *b;
    DO(hipMallocAsync(&a, MB, s));
    DO(hipMallocAsync(&b, MB, s));
    WANT(get(p, hipMemPoolAttrUsedMemCurrent), 2 * MB);
    DO(hipMemsetAsync(a, 1, MB, s));
    DO(hipFreeAsync(a, s));
    DO(hipFreeAsync(b, s));
    WANT(get(p, hipMemPoolAttrUsedMemCurrent), 0);
    WANT(get(p, hipMemPoolAttrUsedMemHigh), 2 * MB);
    DO(hipStreamSynchronize(s));
    WANT(get(p, hipMemPoolAttrReservedMemCurrent), 2 * MB); // below the threshold
    WANT(hipFreeAsync(a, s), hipErrorInvalidValue);         // twice
    void *c;
    DO(hipMallocAsync(&c, MB, s));
    WANT(c == a || c == b, 1);
    DO(hipFreeAsync(c, s));
    DO(hipMemPoolTrimTo(p, MB));
    DO(hipStreamSynchronize(s));
    DO(hipMemPoolTrimTo(p, MB));
    WANT(get(p, hipMemPoolAttrReservedMemCurrent), MB);
    keep = 0;
    DO(hipMemPoolSetAttribute(p, hipMemPoolAttrReleaseThreshold, &keep));
    DO(hipDeviceSynchronize());
    WANT(get(p, hipMemPoolAttrReservedMemCurrent), 0);
    WANT(get(p, hipMemPoolAttrReservedMemHigh), 2 * MB);
    DO(hipMemPoolSetAttribute(p, hipMemPoolAttrReservedMemHigh, &keep));
    WANT(get(p, hipMemPoolAttrReservedMemHigh), 0);

    // What is in use outlives its pool.
    DO(hipMallocFromPoolAsync(&a, MB, p, s));
    DO(hipMemPoolDestroy(p));
    DO(hipDeviceGetMemPool(&cur, 0));
    WANT(cur == def, 1);
    DO(hipMemsetAsync(a, 5, MB, s));
    DO(hipFreeAsync(a, s));
    DO(hipStreamSynchronize(s));
    WANT(hipMallocFromPoolAsync(&a, MB, p, s), hipErrorInvalidValue);
}

__global__ void slow(int *flag, int *p, int v) {
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) __builtin_amdgcn_s_sleep(8);
    p[threadIdx.x] = v;
}
__global__ void fill(int *p, int v) { p[threadIdx.x] = v; }

// order: memory that one stream has freed, but is not past yet, is not given to another that is not ordered behind it.
static void order(int internal) {
    hipMemPool_t p = make();
    unsigned long long keep = 64 * MB;
    DO(hipMemPoolSetAttribute(p, hipMemPoolAttrReleaseThreshold, &keep));
    DO(hipMemPoolSetAttribute(p, hipMemPoolReuseAllowInternalDependencies, &internal));
    int *flag, *a, *b, *same, *out;
    DO(hipHostMalloc(&flag, 4096, 0));
    DO(hipHostMalloc(&out, 4096, 0));
    *flag = 0;
    DO(hipMallocFromPoolAsync((void **)&a, MB, p, s));
    slow<<<1, 64, 0, s>>>(flag, a, 1);
    DO(hipFreeAsync(a, s));
    DO(hipMallocFromPoolAsync((void **)&same, MB, p, s)); // the same stream: at once
    WANT(same == a, 1);
    DO(hipFreeAsync(same, s));
    DO(hipMallocFromPoolAsync((void **)&b, MB, p, other));
    WANT(b == a, internal);
    fill<<<1, 64, 0, other>>>(b, 2);
    DO(hipMemcpyAsync(out, b, 256, hipMemcpyDeviceToHost, other));
    if (!internal) DO(hipStreamSynchronize(other)); // does not wait for the slow kernel
    *flag = 1;
    DO(hipStreamSynchronize(other));
    DO(hipStreamSynchronize(s));
    WANT(out[5], 2);
    DO(hipFreeAsync(b, other));
    DO(hipStreamSynchronize(other));
    DO(hipMallocFromPoolAsync((void **)&a, MB, p, s)); // the other is past it
    DO(hipFree(a));
    DO(hipHostFree(flag));
    DO(hipHostFree(out));
    DO(hipMemPoolDestroy(p));
}

static void bad() {
    hipMemPool_t p = make();
    void *a;
    hipMemPoolProps props = {};
    WANT(hipMemPoolCreate(&p, &props), hipErrorInvalidValue);
    WANT(hipMemPoolCreate(nullptr, &props), hipErrorInvalidValue);
    WANT(hipMallocAsync(nullptr, 64, s), hipErrorInvalidValue);
    DO(hipMallocAsync(&a, 0, s));
    WANT(a == nullptr, 1);
    WANT(hipMallocAsync(&a, 1ull << 50, s), hipErrorOutOfMemory);
    WANT(hipFreeAsync(nullptr, s), hipErrorInvalidValue);
    WANT(hipFreeAsync(&a, s), hipErrorInvalidValue);
    WANT(hipMemPoolTrimTo(nullptr, 0), hipErrorInvalidValue);
    unsigned long long v = 1;
    WANT(hipMemPoolSetAttribute(p, hipMemPoolAttrUsedMemHigh, &v), hipErrorInvalidValue);
    WANT(hipMemPoolSetAttribute(p, hipMemPoolAttrUsedMemCurrent, &v), hipErrorInvalidValue);
    WANT(hipMemPoolGetAttribute(p, (hipMemPoolAttr)99, &v), hipErrorInvalidValue);
    hipMemAccessFlags f;
    hipMemLocation l = {hipMemLocationTypeDevice, 0};
    DO(hipMemPoolGetAccess(&f, p, &l));
    WANT(f, hipMemAccessFlagsProtReadWrite);
    hipMemAccessDesc d = {l, hipMemAccessFlagsProtNone};
    WANT(hipMemPoolSetAccess(p, &d, 1), hipErrorInvalidDevice);
    // Memory that is no pool's may be freed in stream order too.
    DO(hipMalloc(&a, 4096));
    DO(hipMemsetAsync(a, 0, 4096, s));
    DO(hipFreeAsync(a, s));
    WANT(hipFree(a), hipErrorInvalidValue);
    DO(hipMemPoolDestroy(p));
}

int main() {
    DO(hipSetDevice(0));
    DO(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    DO(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    attributes();
    order(0);
    order(1);
    bad();
    return finish();
}
