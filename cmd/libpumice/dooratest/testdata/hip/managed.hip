// Managed memory: one address for host and device, pages that move, advice, prefetches.
#include "check.h"
#include <string.h>
#include <thread>
#include <vector>

const int N = 1 << 20;
__managed__ int shared[256];
__global__ void add(int *p, int v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += v;
}

static int get(void *p, size_t n, hipMemRangeAttribute a) {
    int v = -9;
    DO(hipMemRangeGetAttribute(&v, sizeof v, a, p, n));
    return v;
}

// pingpong lets host and device take turns.
static void pingpong() {
    int *p;
    DO(hipMallocManaged((void **)&p, N * sizeof(int), hipMemAttachGlobal));
    for (int i = 0; i < N; i++) p[i] = i;
    for (int r = 0; r < 4; r++) {
        add<<<N / 256, 256>>>(p, 1, N);
        DO(hipDeviceSynchronize());
        for (int i = 0; i < N; i += 1000) p[i] += 10;
    }
    WANT(p[0], 44);
    WANT(p[1], 5);
    WANT(p[5000], 5044);
    hipPointerAttribute_t at;
    DO(hipPointerGetAttributes(&at, p + 3));
    WANT(at.isManaged, 1);
    WANT(at.devicePointer == p + 3, 1);
    DO(hipFree(p));
    WANT(hipFree(p), hipErrorInvalidValue);
}

static void advice() {
    int *p;
    size_t n = N * sizeof(int);
    DO(hipMallocManaged((void **)&p, n, hipMemAttachGlobal));
    WANT(get(p, n, hipMemRangeAttributeReadMostly), 0);
    WANT(get(p, n, hipMemRangeAttributePreferredLocation), hipInvalidDeviceId);
    WANT(get(p, n, hipMemRangeAttributeLastPrefetchLocation), hipInvalidDeviceId);
    DO(hipMemAdvise(p, n, hipMemAdviseSetReadMostly, 0));
    WANT(get(p, n, hipMemRangeAttributeReadMostly), 1);
    DO(hipMemAdvise(p, n, hipMemAdviseUnsetReadMostly, 0));
    WANT(get(p, n, hipMemRangeAttributeReadMostly), 0);
    DO(hipMemAdvise(p, n, hipMemAdviseSetPreferredLocation, 0));
    WANT(get(p, n, hipMemRangeAttributePreferredLocation), 0);
    DO(hipMemAdvise(p, n / 2, hipMemAdviseSetPreferredLocation, hipCpuDeviceId));
    WANT(get(p, n / 2, hipMemRangeAttributePreferredLocation), hipCpuDeviceId);
    WANT(get(p, n, hipMemRangeAttributePreferredLocation), hipInvalidDeviceId); // the halves differ
    DO(hipMemAdvise(p, n, hipMemAdviseUnsetPreferredLocation, 0));
    WANT(get(p, n, hipMemRangeAttributePreferredLocation), hipInvalidDeviceId);
    DO(hipMemAdvise(p, n, hipMemAdviseSetAccessedBy, 0));
    int who[2] = {7, 7};
    DO(hipMemRangeGetAttribute(who, sizeof who, hipMemRangeAttributeAccessedBy, p, n));
    WANT(who[0], 0);
    WANT(who[1], hipInvalidDeviceId);
    DO(hipMemAdvise(p, n, hipMemAdviseUnsetAccessedBy, 0));
    WANT(get(p, n, hipMemRangeAttributeAccessedBy), hipInvalidDeviceId);
    DO(hipMemAdvise(p, n, hipMemAdviseSetCoarseGrain, 0));
    WANT(get(p, n, hipMemRangeAttributeCoherencyMode), hipMemRangeCoherencyModeCoarseGrain);
    DO(hipMemAdvise(p, n, hipMemAdviseUnsetCoarseGrain, 0));
    WANT(get(p, n, hipMemRangeAttributeCoherencyMode), hipMemRangeCoherencyModeFineGrain);

    memset(p, 0, n);
    DO(hipMemPrefetchAsync(p, n, 0, 0));
    DO(hipDeviceSynchronize());
    WANT(get(p, n, hipMemRangeAttributeLastPrefetchLocation), 0);
    add<<<N / 256, 256>>>(p, 5, N);
    DO(hipMemPrefetchAsync(p, n, hipCpuDeviceId, 0));
    DO(hipDeviceSynchronize());
    WANT(p[77], 5);

    // Several questions at once.
    int a = 0, b = 0;
    void *data[] = {&a, &b};
    size_t sizes[] = {4, 4};
    hipMemRangeAttribute attrs[] = {hipMemRangeAttributeReadMostly, hipMemRangeAttributeLastPrefetchLocation};
    DO(hipMemRangeGetAttributes(data, sizes, attrs, 2, p, n));
    WANT(a, 0);
    WANT(b, hipCpuDeviceId);

    void *d;
    DO(hipMalloc(&d, 4096));
    WANT(hipMemAdvise(nullptr, n, hipMemAdviseSetReadMostly, 0), hipErrorInvalidValue);
    WANT(hipMemAdvise(p, 0, hipMemAdviseSetReadMostly, 0), hipErrorInvalidValue);
    WANT(hipMemAdvise(p, n + 1, hipMemAdviseSetReadMostly, 0), hipErrorInvalidValue);
    WANT(hipMemAdvise(p, n, (hipMemoryAdvise)77, 0), hipErrorInvalidValue);
    WANT(hipMemAdvise(p, n, hipMemAdviseSetPreferredLocation, 99), hipErrorInvalidDevice);
    WANT(hipMemPrefetchAsync(p, n, 99, 0), hipErrorInvalidDevice);
    WANT(hipMemPrefetchAsync(p, n + 1, 0, 0), hipErrorInvalidValue);
    WANT(hipMemRangeGetAttribute(&a, 3, hipMemRangeAttributeReadMostly, p, n), hipErrorInvalidValue);
    DO(hipFree(d));
    DO(hipFree(p));
}

// copies has managed memory as one side and as both, pages here and there.
static void copies() {
    int *p, *q, *d, host[1024];
    DO(hipMallocManaged((void **)&p, N * sizeof(int), hipMemAttachGlobal));
    DO(hipMallocManaged((void **)&q, N * sizeof(int), hipMemAttachGlobal));
    DO(hipMalloc(&d, N * sizeof(int)));
    hipStream_t s;
    DO(hipStreamCreate(&s));
    DO(hipMemset(p, 0, N * sizeof(int)));
    add<<<N / 256, 256>>>(p, 3, N); // p is on the device now, or will be
    DO(hipMemcpy(host, p, sizeof host, hipMemcpyDefault));
    WANT(host[9], 3);
    add<<<N / 256, 256, 0, s>>>(p, 1, N);
    DO(hipMemcpyAsync(q, p, N * sizeof(int), hipMemcpyDefault, s));
    DO(hipMemsetAsync(p, 1, 4096, s));
    DO(hipMemcpyAsync(d, q, N * sizeof(int), hipMemcpyDefault, s));
    add<<<N / 256, 256, 0, s>>>(d, 1, N);
    DO(hipMemcpyAsync(q, d, 4096, hipMemcpyDeviceToHost, s));
    DO(hipStreamSynchronize(s));
    WANT(q[0], 5);
    WANT(q[N - 1], 4);
    WANT(p[0], 0x01010101);
    WANT(p[1024], 4);
    for (int i = 0; i < 1024; i++) host[i] = -i;
    DO(hipMemcpy(p, host, sizeof host, hipMemcpyHostToDevice));
    add<<<4, 256>>>(p, 0, 1024);
    DO(hipDeviceSynchronize());
    WANT(p[9], -9);
    DO(hipStreamDestroy(s));
    DO(hipFree(p));
    DO(hipFree(q));
    DO(hipFree(d));
}

// busy has host threads touch pages while kernels run, in allocations that come and go.
static void busy() {
    std::vector<std::thread> ts;
    for (int t = 0; t < 3; t++)
        ts.emplace_back([t] {
            hipStream_t s;
            DO(hipStreamCreate(&s));
            for (int r = 0; r < 10; r++) {
                int n = 65536 << t, *p;
                DO(hipMallocManaged((void **)&p, n * sizeof(int), hipMemAttachGlobal));
                for (int i = 0; i < n; i++) p[i] = r;
                add<<<n / 256, 256, 0, s>>>(p, t, n);
                DO(hipStreamSynchronize(s));
                long long sum = 0;
                for (int i = 0; i < n; i++) sum += p[i];
                WANT(sum, (long long)n * (r + t));
                DO(hipFree(p));
            }
            DO(hipStreamDestroy(s));
        });
    for (auto &t : ts) t.join();
}

int main() {
    for (int i = 0; i < 256; i++) shared[i] = i;
    add<<<1, 256>>>(shared, 1000, 256);
    DO(hipDeviceSynchronize());
    WANT(shared[7], 1007);
    void *p;
    WANT(hipMallocManaged(&p, 0, hipMemAttachGlobal), hipErrorInvalidValue);
    WANT(hipMallocManaged(&p, 64, 9), hipErrorInvalidValue);
    pingpong();
    advice();
    copies();
    busy();
    return finish();
}
