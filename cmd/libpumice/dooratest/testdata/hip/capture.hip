// Stream capture: what becomes a node, forks and joins, and what is forbidden.
#include "check.h"
#include <string.h>
#include <thread>
#include <vector>

const int N = 1024;
__device__ int symbol[64];
__global__ void add(int *y, int v) { y[blockIdx.x * blockDim.x + threadIdx.x] += v; }

static int *x, *y, *pinned;
static hipStream_t s, fork1, fork2, apart;
static hipEvent_t ev, ev2;

static hipStreamCaptureStatus status(hipStream_t st) {
    hipStreamCaptureStatus c;
    DO(hipStreamIsCapturing(st, &c));
    return c;
}

static int calls;
static void host(void *p) { calls += *(int *)p; }

static void run(hipGraph_t g, int times) {
    hipGraphExec_t e;
    DO(hipGraphInstantiate(&e, g, nullptr, nullptr, 0));
    for (int i = 0; i < times; i++) DO(hipGraphLaunch(e, s));
    DO(hipStreamSynchronize(s));
    DO(hipGraphExecDestroy(e));
}

// everything captures each kind of call, with two branches.
static void everything() {
    calls = 0;
    std::vector<int> in(N, 5), out(N, 0);
    int one = 1;
    hipGraph_t g;
    unsigned long long id = 0, id2 = 0;
    DO(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
    WANT(status(s), hipStreamCaptureStatusActive);
    WANT(status(fork1), hipStreamCaptureStatusNone);
    DO(hipMemcpyAsync(x, in.data(), N * 4, hipMemcpyHostToDevice, s));
    DO(hipMemsetAsync(y, 0, N * 4, s));
    DO(hipMemsetD32Async((hipDeviceptr_t)y, 3, N, s));
    DO(hipEventRecord(ev, s));
    DO(hipStreamWaitEvent(fork1, ev, 0));
    DO(hipStreamWaitEvent(fork2, ev, 0));
    WANT(status(fork1), hipStreamCaptureStatusActive);
    hipStreamCaptureStatus st;
    DO(hipStreamGetCaptureInfo(s, &st, &id));
    DO(hipStreamGetCaptureInfo(fork1, &st, &id2));
    WANT(id == id2 && id != 0, 1);
    add<<<2, 256, 0, fork1>>>(y, 10);
    add<<<2, 256, 0, fork2>>>(y + 512, 20);
    DO(hipMemcpyToSymbolAsync(HIP_SYMBOL(symbol), in.data(), 256, 0, hipMemcpyHostToDevice, fork2));
    DO(hipEventRecord(ev, fork1));
    DO(hipStreamWaitEvent(s, ev, 0));
    DO(hipEventRecord(ev2, fork2));
    DO(hipStreamWaitEvent(s, ev2, 0));
    DO(hipMemcpyFromSymbolAsync(pinned + N, HIP_SYMBOL(symbol), 256, 0, hipMemcpyDeviceToHost, s));
    DO(hipMemcpy2DAsync(out.data(), 128, y, 128, 64, N * 4 / 128, hipMemcpyDeviceToHost, s)); // half of each row
    DO(hipMemcpyAsync(pinned, y, N * 4, hipMemcpyDeviceToHost, s));
    DO(hipLaunchHostFunc(s, host, &one));
    void *p;
    DO(hipMallocAsync(&p, 4096, s));
    DO(hipMemsetAsync(p, 0x11, 4096, s));
    DO(hipMemcpyAsync(pinned + N + 64, p, 4, hipMemcpyDeviceToHost, s));
    DO(hipFreeAsync(p, s));

    const hipGraphNode_t *deps;
    size_t count;
    hipGraph_t under;
    DO(hipStreamGetCaptureInfo_v2(s, &st, &id2, &under, &deps, &count));
    WANT(count, 1);
    size_t nodes = 0;
    DO(hipGraphGetNodes(under, nullptr, &nodes));
    WANT(nodes, 14);
    DO(hipStreamEndCapture(s, &g));
    WANT(g == under, 1);
    WANT(status(s), hipStreamCaptureStatusNone);
    WANT(status(fork1), hipStreamCaptureStatusNone);
    WANT(calls, 0); // nothing has run

    run(g, 3);
    WANT(pinned[0], 13);
    WANT(pinned[600], 23);
    WANT(pinned[N + 3], 5);
    WANT(out[3], 13);
    WANT(out[16], 0);
    WANT(calls, 3);
    WANT(pinned[N + 64], 0x11111111);
    DO(hipGraphDestroy(g));
}

// nested: launching a graph in a capture makes a node of it.
static void nested() {
    hipGraph_t g, outer;
    hipGraphExec_t e;
    DO(hipStreamBeginCapture(s, hipStreamCaptureModeThreadLocal));
    add<<<4, 256, 0, s>>>(y, 1);
    add<<<4, 256, 0, s>>>(y, 1);
    DO(hipStreamEndCapture(s, &g));
    DO(hipGraphInstantiate(&e, g, nullptr, nullptr, 0));
    DO(hipStreamBeginCapture(s, hipStreamCaptureModeRelaxed));
    DO(hipMemsetAsync(y, 0, N * 4, s));
    DO(hipGraphLaunch(e, s));
    DO(hipGraphLaunch(e, s));
    DO(hipMemcpyAsync(pinned, y, 4, hipMemcpyDeviceToHost, s));
    DO(hipStreamEndCapture(s, &outer));
    DO(hipGraphExecDestroy(e));
    DO(hipGraphDestroy(g));
    run(outer, 1);
    WANT(pinned[0], 4);
    DO(hipGraphDestroy(outer));
}

// dependencies changes what the next node depends on.
static void dependencies() {
    hipGraph_t g, under;
    hipStreamCaptureStatus st;
    const hipGraphNode_t *deps;
    size_t count;
    DO(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
    DO(hipMemsetAsync(y, 0, N * 4, s));
    DO(hipStreamGetCaptureInfo_v2(s, &st, nullptr, &under, &deps, &count));
    hipGraphNode_t first = deps[0], extra, none = nullptr;
    DO(hipGraphAddEmptyNode(&extra, under, nullptr, 0)); // by hand: need not be joined
    add<<<4, 256, 0, s>>>(y, 1);
    DO(hipStreamUpdateCaptureDependencies(s, &first, 1, hipStreamSetCaptureDependencies));
    add<<<4, 256, 0, s>>>(x, 1);
    DO(hipStreamUpdateCaptureDependencies(s, &extra, 1, hipStreamAddCaptureDependencies));
    WANT(hipStreamUpdateCaptureDependencies(s, &none, 1, hipStreamAddCaptureDependencies), hipErrorInvalidValue);
    DO(hipStreamGetCaptureInfo_v2(s, &st, nullptr, nullptr, &deps, &count));
    WANT(count, 2);
    DO(hipStreamEndCapture(s, &g));
    DO(hipGraphNodeGetDependentNodes(first, nullptr, &count));
    WANT(count, 2);
    DO(hipGraphDestroy(g));
    WANT(hipStreamUpdateCaptureDependencies(s, nullptr, 0, 0), hipErrorIllegalState);
}

// ends ends a capture, which gives a graph or an error.
static void ends(int want) {
    hipGraph_t g = (hipGraph_t)1;
    WANT(hipStreamEndCapture(s, &g), want);
    WANT(g != nullptr, want == hipSuccess);
    if (g) DO(hipGraphDestroy(g));
    WANT(status(s), hipStreamCaptureStatusNone);
}

// FORBIDDEN begins a capture, makes a call that fails, and ends the capture.
#define FORBIDDEN(call, error, end)                     \
    DO(hipStreamBeginCapture(s, mode));                 \
    WANT(call, error);                                  \
    ends(end)

static void forbidden(hipStreamCaptureMode mode) {
    bool relaxed = mode == hipStreamCaptureModeRelaxed;
    int unsafe = relaxed ? hipSuccess : hipErrorStreamCaptureUnsupported, after = relaxed ? hipSuccess : hipErrorStreamCaptureInvalidated;
    const int invalid = hipErrorStreamCaptureInvalidated;
    void *p = nullptr;
    FORBIDDEN(hipMalloc(&p, 64), unsafe, after);
    FORBIDDEN(hipHostMalloc(&p, 64, 0), unsafe, after);
    FORBIDDEN(hipMemcpy(y, pinned, 64, hipMemcpyHostToDevice), hipErrorStreamCaptureImplicit, invalid);
    FORBIDDEN(hipMemset(y, 0, 64), hipErrorStreamCaptureImplicit, invalid);
    FORBIDDEN(hipStreamSynchronize(s), hipErrorStreamCaptureUnsupported, invalid);
    FORBIDDEN(hipStreamQuery(s), hipErrorStreamCaptureUnsupported, invalid);
    FORBIDDEN(hipDeviceSynchronize(), hipErrorStreamCaptureUnsupported, invalid);
    FORBIDDEN((DO(hipEventRecord(ev, s)), hipEventQuery(ev)), hipErrorCapturedEvent, invalid);
    FORBIDDEN((DO(hipEventRecord(ev, s)), hipEventSynchronize(ev)), hipErrorCapturedEvent, invalid);
    DO(hipEventRecord(ev2, apart));
    FORBIDDEN(hipStreamWaitEvent(s, ev2, 0), hipErrorStreamCaptureIsolation, invalid);
    FORBIDDEN((DO(hipEventRecord(ev, s)), DO(hipStreamWaitEvent(fork1, ev, 0)), hipMemsetAsync(y, 0, 64, fork1)), hipSuccess, hipErrorStreamCaptureUnjoined);
    WANT(status(fork1), hipStreamCaptureStatusNone);
    FORBIDDEN(hipMemsetAsync(y, 0, 64, apart), hipSuccess, hipSuccess); // not captured, just done
    FORBIDDEN((DO(hipStreamQuery(nullptr)), hipEventQuery(ev2)), hipSuccess, hipSuccess);
    FORBIDDEN(hipMemsetAsync(nullptr, 0, 64, s), hipErrorInvalidValue, hipSuccess);

    hipGraph_t g;
    DO(hipStreamBeginCapture(s, mode));
    DO(hipStreamBeginCapture(fork1, mode));
    WANT(hipStreamBeginCapture(s, mode), hipErrorIllegalState);
    DO(hipEventRecord(ev, fork1));
    WANT(hipStreamWaitEvent(s, ev, 0), hipErrorStreamCaptureMerge);
    WANT(hipMemsetAsync(y, 0, 64, s), invalid);
    WANT(hipStreamEndCapture(fork1, &g), invalid);
    ends(invalid);

    DO(hipStreamBeginCapture(s, mode));
    DO(hipEventRecord(ev, s));
    DO(hipStreamWaitEvent(fork1, ev, 0));
    WANT(hipStreamEndCapture(fork1, &g), hipErrorStreamCaptureUnmatched);
    int other = -1;
    std::thread([&] { other = hipStreamEndCapture(s, &g); }).join();
    WANT(other, relaxed ? hipSuccess : hipErrorStreamCaptureWrongThread);
    if (relaxed) DO(hipGraphDestroy(g));
    else ends(hipSuccess);

    // Another thread's call counts only against a global capture.
    DO(hipStreamBeginCapture(s, mode));
    std::thread([&] {
        other = hipMalloc(&p, 64);
        if (other == hipSuccess) (void)hipHostMalloc(&p, 64, 0);
    }).join();
    bool global = mode == hipStreamCaptureModeGlobal;
    WANT(other, global ? hipErrorStreamCaptureUnsupported : hipSuccess);
    ends(global ? invalid : hipSuccess);
    // Nor if it says that it knows what it does.
    DO(hipStreamBeginCapture(s, mode));
    std::thread([&] {
        hipStreamCaptureMode m = hipStreamCaptureModeRelaxed;
        DO(hipThreadExchangeStreamCaptureMode(&m));
        WANT(m, hipStreamCaptureModeGlobal);
        WANT(hipMalloc(&p, 64), hipSuccess);
    }).join();
    ends(hipSuccess);

    hipStream_t gone;
    DO(hipStreamCreate(&gone));
    DO(hipStreamBeginCapture(gone, mode));
    DO(hipStreamDestroy(gone));
    DO(hipDeviceSynchronize()); // no capture is left
}

int main() {
    DO(hipMalloc(&x, N * 4));
    DO(hipMalloc(&y, N * 4));
    DO(hipHostMalloc(&pinned, N * 8, 0));
    DO(hipStreamCreate(&s));
    DO(hipStreamCreate(&fork1));
    DO(hipStreamCreate(&fork2));
    DO(hipStreamCreateWithFlags(&apart, hipStreamNonBlocking));
    DO(hipEventCreate(&ev));
    DO(hipEventCreate(&ev2));
    hipGraph_t g;
    WANT(hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal), hipErrorStreamCaptureUnsupported);
    WANT(hipStreamBeginCapture(s, (hipStreamCaptureMode)3), hipErrorInvalidValue);
    WANT(hipStreamEndCapture(s, &g), hipErrorIllegalState);
    WANT(hipStreamIsCapturing(s, nullptr), hipErrorInvalidValue);
    everything();
    nested();
    dependencies();
    for (int m = 0; m < 3; m++) forbidden((hipStreamCaptureMode)m);
    everything();
    DO(hipDeviceSynchronize());
    return finish();
}
