// Several devices, stream memory operations, pointer attributes.
#include "check.h"
#include <hip/hip_cooperative_groups.h>
#include <string.h>
#include <thread>

const int N = 1024;
__global__ void add(int *p, int v) { p[blockIdx.x * blockDim.x + threadIdx.x] += v; }

// Each device adds up its part, all of them meet, and then each sees the sums of all.
__global__ void together(int *parts, int *sums, int devices) {
    auto g = cooperative_groups::this_multi_grid();
    if (threadIdx.x == 0) atomicAdd_system(&parts[g.grid_rank()], blockIdx.x + 1);
    g.sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < devices; i++) sum += __hip_atomic_load(&parts[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
        sums[g.grid_rank()] = sum;
    }
}

static void devices(int n) {
    if (n < 2) return;
    int can = 0;
    DO(hipDeviceCanAccessPeer(&can, 0, 1));
    WANT(can, 1);
    int *a, *b;
    DO(hipMalloc(&a, N * sizeof(int)));
    DO(hipMemset(a, 0, N * sizeof(int)));
    DO(hipSetDevice(1));
    DO(hipDeviceEnablePeerAccess(0, 0));
    WANT(hipDeviceEnablePeerAccess(0, 0), hipErrorPeerAccessAlreadyEnabled);
    add<<<N / 256, 256>>>(a, 7); // device 1 on memory of device 0
    DO(hipDeviceSynchronize());
    DO(hipMalloc(&b, N * sizeof(int)));
    DO(hipMemcpyPeer(b, 1, a, 0, N * sizeof(int)));
    int host[N];
    DO(hipMemcpy(host, b, sizeof host, hipMemcpyDeviceToHost));
    WANT(host[N - 1], 7);
    DO(hipDeviceDisablePeerAccess(0));
    WANT(hipDeviceDisablePeerAccess(0), hipErrorPeerAccessNotEnabled);
    DO(hipFree(b));
    DO(hipSetDevice(0));
    DO(hipFree(a));

    int *parts, *sums;
    hipStream_t s[2];
    DO(hipHostMalloc(&parts, 4096, hipHostMallocPortable));
    DO(hipHostMalloc(&sums, 4096, hipHostMallocPortable));
    int two = 2;
    void *args[] = {&parts, &sums, &two};
    hipLaunchParams l[2] = {};
    for (int d = 0; d < 2; d++) {
        DO(hipSetDevice(d));
        DO(hipStreamCreate(&s[d]));
        l[d].func = (void *)together;
        l[d].gridDim = dim3(8);
        l[d].blockDim = dim3(64);
        l[d].args = args;
        l[d].stream = s[d];
    }
    for (int r = 0; r < 3; r++) {
        memset(parts, 0, 4096);
        memset(sums, 0, 4096);
        DO(hipLaunchCooperativeKernelMultiDevice(l, 2, 0));
        DO(hipStreamSynchronize(s[0]));
        DO(hipStreamSynchronize(s[1]));
        WANT(sums[0], 72);
        WANT(sums[1], 72);
    }
    hipLaunchParams bad[2] = {l[0], l[0]};
    WANT(hipLaunchCooperativeKernelMultiDevice(bad, 2, 0), hipErrorInvalidDevice);
    WANT(hipLaunchCooperativeKernelMultiDevice(l, 0, 0), hipErrorInvalidValue);
    WANT(hipLaunchCooperativeKernelMultiDevice(l, 2, 8), hipErrorInvalidValue);
    DO(hipSetDevice(0));
}

static void words() {
    hipStream_t s;
    unsigned *w;
    unsigned long long *q;
    int *p, host = 0;
    DO(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    DO(hipHostMalloc(&w, 4096, 0));
    DO(hipExtMallocWithFlags((void **)&q, 8, hipMallocSignalMemory));
    DO(hipMalloc(&p, 4096));
    *w = 0;
    *q = 0;
    DO(hipMemset(p, 0, 4096));
    DO(hipStreamWaitValue32(s, w, 5, hipStreamWaitValueGte, 0xff));
    add<<<1, 64, 0, s>>>(p, 1);
    DO(hipStreamWriteValue64(s, q, 0x1122334455667788ull, 0));
    DO(hipStreamWriteValue32(s, p + 100, 77, 0)); // device memory
    WANT(hipStreamQuery(s), hipErrorNotReady);
    *(volatile unsigned *)w = 0xf04; // 4 with the mask
    WANT(hipStreamQuery(s), hipErrorNotReady);
    *(volatile unsigned *)w = 6;
    DO(hipStreamSynchronize(s));
    WANT(*q, 0x1122334455667788ull);
    DO(hipMemcpy(&host, p, 4, hipMemcpyDeviceToHost));
    WANT(host, 1);
    DO(hipMemcpy(&host, p + 100, 4, hipMemcpyDeviceToHost));
    WANT(host, 77);
    DO(hipStreamWaitValue64(s, q, 0x1122334455667788ull, hipStreamWaitValueEq, ~0ull));
    DO(hipStreamWaitValue32(s, w, 2, hipStreamWaitValueAnd, ~0u));
    DO(hipStreamWaitValue32(s, w, 1, hipStreamWaitValueNor, ~0u));
    DO(hipStreamSynchronize(s));
    WANT(hipStreamWaitValue32(s, w, 1, 9, ~0u), hipErrorInvalidValue);
    WANT(hipStreamWaitValue32(s, nullptr, 1, 0, ~0u), hipErrorInvalidValue);
    WANT(hipStreamWriteValue32(s, nullptr, 1, 0), hipErrorInvalidValue);
    DO(hipStreamDestroy(s));
    DO(hipHostFree(w));
    DO(hipFree(q));
    WANT(hipFree(q), hipErrorInvalidValue);
    DO(hipFree(p));
}

static void pointers() {
    char *d;
    void *h;
    DO(hipMalloc((void **)&d, 1000));
    DO(hipHostMalloc(&h, 4096, 0));
    void *start = nullptr;
    size_t size = 0;
    int type = -1;
    unsigned char managed[2] = {9, 9}; // a flag is a byte, and what is next to it stays
    DO(hipPointerGetAttribute(&start, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, d + 10));
    WANT(start == d, 1);
    DO(hipPointerGetAttribute(&size, HIP_POINTER_ATTRIBUTE_RANGE_SIZE, d + 10));
    WANT(size, 1000);
    DO(hipPointerGetAttribute(&type, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, d));
    WANT(type, hipMemoryTypeDevice);
    DO(hipPointerGetAttribute(&managed, HIP_POINTER_ATTRIBUTE_IS_MANAGED, d));
    WANT(managed[0], 0);
    WANT(managed[1], 9);
    size = ~(size_t)0 << 32;
    DO(hipPointerGetAttribute(&size, HIP_POINTER_ATTRIBUTE_RANGE_SIZE, d + 10));
    WANT(size, (~(size_t)0 << 32) + 1000); // 32 bits of it
    for (hipPointer_attribute x : {HIP_POINTER_ATTRIBUTE_CONTEXT, HIP_POINTER_ATTRIBUTE_P2P_TOKENS, HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE,
                                   HIP_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, HIP_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE})
        WANT(hipPointerGetAttribute(&start, x, d), hipErrorNotSupported);
    unsigned mode = 9;
    DO(hipMemRangeGetAttribute(&mode, sizeof mode, hipMemRangeAttributeCoherencyMode, d, 1000));
    WANT(mode, hipMemRangeCoherencyModeCoarseGrain);
    DO(hipMemRangeGetAttribute(&mode, sizeof mode, hipMemRangeAttributeCoherencyMode, h, 4096));
    WANT(mode, hipMemRangeCoherencyModeFineGrain);
    hipChannelFormatDesc texel = hipCreateChannelDesc<float>();
    hipArray *array;
    DO(hipMallocArray(&array, &texel, 16, 16, 0));
    DO(hipPointerGetAttribute(&type, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, (hipDeviceptr_t)array));
    WANT(type, hipMemoryTypeArray);
    DO(hipFreeArray(array));
    static char mine[8192];
    DO(hipHostRegister(mine, 4096, 0));
    DO(hipHostRegister(mine, 4096, 0)); // what is registered stays so
    WANT(hipHostRegister(mine, 8192, 0), hipErrorHostMemoryAlreadyRegistered);
    DO(hipHostUnregister(mine));
    WANT(hipHostUnregister(mine), hipErrorHostMemoryNotRegistered);
    int waits = 0;
    DO(hipDeviceGetAttribute(&waits, hipDeviceAttributeCanUseStreamWaitValue, 0));
    WANT(waits, 1);
    DO(hipPointerGetAttribute(&start, HIP_POINTER_ATTRIBUTE_HOST_POINTER, (char *)h + 5));
    WANT(start == (char *)h + 5, 1);
    WANT(hipPointerGetAttribute(&start, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER, &start), hipErrorInvalidValue);
    hipPointer_attribute as[] = {HIP_POINTER_ATTRIBUTE_RANGE_SIZE, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    int ordinal = -1;
    void *out[] = {&size, &ordinal};
    DO(hipDrvPointerGetAttributes(2, as, out, d));
    WANT(ordinal, 0);
    DO(hipFree(d));
    DO(hipHostFree(h));
}

int main() {
    int n;
    DO(hipGetDeviceCount(&n));
    devices(n);
    words();
    pointers();
    return finish();
}
