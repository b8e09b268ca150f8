// What environment variables do; ../environment_test.go sets them. Each case returns when it has seen the effect.
#include "case.h"

namespace environment {

__global__ void store(volatile int *p, int v) { *p = v; }
__global__ void await(volatile int *go, volatile int *done) {
    while (!*go) __builtin_amdgcn_s_sleep(10);
    *done = 1;
    __threadfence_system();
}
__global__ void copy(volatile int *from, int *to) { *to = *from; }

int *shared(int n) {
    int *p;
    HIP(hipHostMalloc(&p, n * sizeof *p, hipHostMallocCoherent));
    for (int i = 0; i < n; i++) p[i] = 0;
    return p;
}

// A launch returns when the kernel has run.
CASE(launch_blocks) {
    volatile int *p = shared(1);
    for (int i = 1; i <= 20; i++) {
        store<<<1, 1>>>(p, i);
        SAME(*p, i);
    }
}

// A launch returns before, and what it waits for comes after.
CASE(launch_returns) {
    int *p = shared(2);
    await<<<1, 1>>>(p, p + 1);
    *(volatile int *)p = 1;
    HIP(hipDeviceSynchronize());
    SAME(p[1], 1);
}

// A launch returns when all that was launched before has run.
CASE(launch_waits_for_the_last) {
    volatile int *p = shared(2);
    for (int i = 1; i <= 20; i++) {
        store<<<1, 1>>>(p, i);
        store<<<1, 1>>>(p + 1, i);
        SAME(*p, i);
    }
}

// An asynchronous copy has been made when the call returns.
CASE(copy_blocks) {
    const size_t n = 4 << 20;
    unsigned char *d, *h;
    HIP(hipMalloc(&d, n));
    HIP(hipHostMalloc(&h, n));
    hipStream_t s;
    HIP(hipStreamCreate(&s));
    for (int i = 1; i <= 5; i++) {
        HIP(hipMemset(d, i, n));
        HIP(hipMemcpyAsync(h, d, n, hipMemcpyDeviceToHost, s));
        SAME(h[n - 1], i);
    }
}

// Streams have queues of their own: one goes on while the other waits.
CASE(streams_apart) {
    int *p = shared(3);
    hipStream_t a, b;
    HIP(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
    HIP(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
    await<<<1, 1, 0, a>>>(p, p + 1);
    copy<<<1, 1, 0, b>>>(p + 1, p + 2);
    HIP(hipStreamSynchronize(b));
    SAME(p[2], 0);
    *(volatile int *)p = 1;
    HIP(hipStreamSynchronize(a));
}

// Streams share one queue: the second kernel comes after the first.
CASE(streams_together) {
    int *p = shared(3);
    hipStream_t a, b;
    HIP(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
    HIP(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
    await<<<1, 1, 0, a>>>(p, p + 1);
    copy<<<1, 1, 0, b>>>(p + 1, p + 2);
    *(volatile int *)p = 1;
    HIP(hipStreamSynchronize(b));
    SAME(p[2], 1);
    HIP(hipStreamSynchronize(a));
}

// Copies of every direction are right.
CASE(copies) {
    const int n = 300000;
    std::vector<int> in(n), out(n);
    for (int i = 0; i < n; i++) in[i] = i * 7;
    int *a, *b;
    HIP(hipMalloc(&a, n * sizeof *a));
    HIP(hipMalloc(&b, n * sizeof *b));
    HIP(hipMemcpy(a, in.data(), n * sizeof *a, hipMemcpyHostToDevice));
    HIP(hipMemcpy(b, a, n * sizeof *a, hipMemcpyDeviceToDevice));
    HIP(hipMemcpy(out.data(), b, n * sizeof *a, hipMemcpyDeviceToHost));
    MUST(in == out);
}

// The devices, by their place on the bus.
CASE(devices) {
    int n = 0;
    hipError_t e = hipGetDeviceCount(&n);
    std::printf("devices:");
    if (e != hipSuccess) std::printf(" %s", hipGetErrorName(e));
    for (int i = 0; i < n; i++) {
        hipDeviceProp_t p;
        HIP(hipGetDeviceProperties(&p, i));
        std::printf(" %d:%s", p.pciBusID, p.gcnArchName);
    }
    std::puts("");
}

}  // namespace environment
