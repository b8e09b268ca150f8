// Graphs built by hand: nodes of every type, edges, clones, updates, lives of what they hold.
#include "check.h"
#include <string>
#include <string.h>
#include <unistd.h>
#include <vector>

const int N = 1024;
__device__ int symbol[256];
__global__ void axpy(int *y, const int *x, int a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
__global__ void add(int *y, int v) { y[blockIdx.x * blockDim.x + threadIdx.x] += v; }

static int calls;
static void host(void *p) { calls += *(int *)p; }

static int *x, *y, *pinned;
static std::vector<int> in(N), out(N);
static hipStream_t s;

static void launch(hipGraphExec_t e) {
    DO(hipGraphLaunch(e, s));
    DO(hipStreamSynchronize(s));
}

static hipKernelNodeParams kernel(void *f, int blocks, int threads, void **args) {
    hipKernelNodeParams p = {};
    p.func = f;
    p.gridDim = dim3(blocks);
    p.blockDim = dim3(threads);
    p.kernelParams = args;
    return p;
}

static hipMemsetParams fill(void *p, unsigned v) {
    hipMemsetParams m = {};
    m.dst = p;
    m.elementSize = 4;
    m.width = N;
    m.height = 1;
    m.value = v;
    return m;
}

// basic builds copy, fill -> kernel -> host, copy -> empty, and changes it in every way.
static void basic() {
    hipGraph_t g;
    hipGraphNode_t cp, ms, k, hn, back, end, none;
    DO(hipGraphCreate(&g, 0));
    WANT(hipGraphCreate(nullptr, 0), hipErrorInvalidValue);
    WANT(hipGraphCreate(&g, 1), hipErrorInvalidValue);
    DO(hipGraphAddMemcpyNode1D(&cp, g, nullptr, 0, x, in.data(), N * 4, hipMemcpyHostToDevice));
    hipMemsetParams mp = fill(y, 7);
    DO(hipGraphAddMemsetNode(&ms, g, nullptr, 0, &mp));
    hipGraphNode_t deps[] = {cp, ms}, twice[] = {cp, cp};
    int a = 3, n = N;
    void *args[] = {&y, &x, &a, &n};
    hipKernelNodeParams kp = kernel((void *)axpy, 4, 256, args);
    WANT(hipGraphAddKernelNode(&none, g, twice, 2, &kp), hipErrorInvalidValue);
    WANT(hipGraphAddKernelNode(&none, g, nullptr, 1, &kp), hipErrorInvalidValue);
    DO(hipGraphAddKernelNode(&k, g, deps, 2, &kp));
    a = 100; // arguments are copied when the node is made
    int one = 1, two = 2;
    hipHostNodeParams hp = {host, &one};
    DO(hipGraphAddHostNode(&hn, g, &k, 1, &hp));
    DO(hipGraphAddMemcpyNode1D(&back, g, &k, 1, out.data(), y, N * 4, hipMemcpyDeviceToHost));
    DO(hipGraphAddEmptyNode(&end, g, &back, 1));

    size_t count = 0;
    DO(hipGraphGetNodes(g, nullptr, &count));
    WANT(count, 6);
    DO(hipGraphGetRootNodes(g, nullptr, &count));
    WANT(count, 2);
    DO(hipGraphGetEdges(g, nullptr, nullptr, &count));
    WANT(count, 5);
    DO(hipGraphNodeGetDependencies(k, nullptr, &count));
    WANT(count, 2);
    DO(hipGraphNodeGetDependentNodes(k, nullptr, &count));
    WANT(count, 2);
    hipGraphNode_t list[8];
    count = 8;
    DO(hipGraphGetNodes(g, list, &count));
    WANT(count, 6);
    WANT(list[6] == nullptr, 1);
    WANT(list[2] == k, 1);
    hipGraphNodeType type;
    DO(hipGraphNodeGetType(k, &type));
    WANT(type, hipGraphNodeTypeKernel);
    DO(hipGraphNodeGetType(cp, &type));
    WANT(type, hipGraphNodeTypeMemcpy1D);
    DO(hipGraphNodeGetType(end, &type));
    WANT(type, hipGraphNodeTypeEmpty);
    WANT(hipGraphAddDependencies(g, &cp, &k, 1), hipErrorInvalidValue); // is there already
    WANT(hipGraphAddDependencies(g, &k, &k, 1), hipErrorInvalidValue);
    WANT(hipGraphRemoveDependencies(g, &cp, &end, 1), hipErrorInvalidValue);
    DO(hipGraphRemoveDependencies(g, &back, &end, 1));
    DO(hipGraphAddDependencies(g, &back, &end, 1));

    hipGraphExec_t e;
    DO(hipGraphInstantiate(&e, g, nullptr, nullptr, 0));
    for (int i = 0; i < N; i++) in[i] = i;
    for (int r = 0; r < 3; r++) {
        memset(out.data(), 0, N * 4);
        launch(e);
        for (int i = 0; i < N; i++)
            if (out[i] != 7 + 3 * i) {
                WANT(out[i], 7 + 3 * i);
                return;
            }
    }
    WANT(calls, 3);
    for (int i = 0; i < N; i++) in[i] = 1; // pageable memory is read when the graph runs
    launch(e);
    WANT(out[5], 10);

    a = 50;
    DO(hipGraphExecKernelNodeSetParams(e, k, &kp));
    launch(e);
    WANT(out[5], 57);
    hipKernelNodeParams got = {};
    DO(hipGraphKernelNodeGetParams(k, &got));
    WANT(got.func == kp.func, 1);
    WANT(got.gridDim.x, 4);
    WANT(*(int *)got.kernelParams[2], 3);
    WANT(hipGraphKernelNodeGetParams(cp, &got), hipErrorInvalidValue);
    mp.value = 9;
    DO(hipGraphExecMemsetNodeSetParams(e, ms, &mp));
    launch(e);
    WANT(out[5], 59);
    hp.userData = &two;
    calls = 0;
    DO(hipGraphExecHostNodeSetParams(e, hn, &hp));
    launch(e);
    WANT(calls, 2);
    DO(hipGraphExecMemcpyNodeSetParams1D(e, back, pinned, y, N * 4, hipMemcpyDeviceToHost));
    WANT(hipGraphExecMemcpyNodeSetParams1D(e, back, pinned, y, N * 4, hipMemcpyHostToDevice), hipErrorInvalidValue);
    pinned[5] = 0;
    launch(e);
    WANT(pinned[5], 59);
    unsigned on = 7;
    DO(hipGraphNodeSetEnabled(e, k, 0));
    DO(hipGraphNodeGetEnabled(e, k, &on));
    WANT(on, 0);
    launch(e);
    WANT(pinned[5], 9);
    DO(hipGraphNodeSetEnabled(e, k, 1));

    hipGraph_t clone;
    hipGraphNode_t twin, bad;
    hipGraphExecUpdateResult result;
    DO(hipGraphClone(&clone, g));
    DO(hipGraphNodeFindInClone(&twin, k, clone));
    a = 2;
    DO(hipGraphKernelNodeSetParams(twin, &kp));
    DO(hipGraphExecUpdate(e, clone, &bad, &result));
    WANT(result, hipGraphExecUpdateSuccess);
    launch(e);
    WANT(out[5], 9); // the clone copies to out, with the fill of the original
    DO(hipGraphAddEmptyNode(&none, clone, nullptr, 0));
    WANT(hipGraphExecUpdate(e, clone, &bad, &result), hipErrorGraphExecUpdateFailure);
    WANT(result, hipGraphExecUpdateErrorTopologyChanged);
    DO(hipGraphDestroyNode(none));
    DO(hipGraphDestroyNode(twin));
    DO(hipGraphGetEdges(clone, nullptr, nullptr, &count));
    WANT(count, 1);
    DO(hipGraphDestroy(clone));

    DO(hipGraphDestroy(g));
    WANT(hipGraphDestroy(g), hipErrorIllegalState);
    WANT(hipGraphGetNodes(g, nullptr, &count), hipErrorInvalidValue);
    launch(e); // lives on
    DO(hipGraphExecDestroy(e));
    WANT(hipGraphLaunch(e, s), hipErrorInvalidValue);
}

static void circle() {
    hipGraph_t g;
    hipGraphNode_t a, b;
    hipGraphExec_t e;
    DO(hipGraphCreate(&g, 0));
    DO(hipGraphAddEmptyNode(&a, g, nullptr, 0));
    DO(hipGraphAddEmptyNode(&b, g, &a, 1));
    DO(hipGraphAddDependencies(g, &b, &a, 1));
    WANT(hipGraphInstantiate(&e, g, nullptr, nullptr, 0), hipErrorInvalidValue);
    DO(hipGraphDestroy(g));
}

// nested has a graph in a graph, an event, copies to and from a symbol, a fill of rows and a copy of rows.
static void nested() {
    hipGraph_t g, child, inner;
    hipGraphNode_t c, rows, zero, sub, rec, copy, to, from;
    DO(hipGraphCreate(&g, 0));
    DO(hipGraphCreate(&child, 0));
    int five = 5;
    void *args[] = {&y, &five};
    hipKernelNodeParams kp = kernel((void *)add, 4, 256, args);
    DO(hipGraphAddKernelNode(&c, child, nullptr, 0, &kp));
    DO(hipGraphAddKernelNode(&sub, child, &c, 1, &kp));
    hipMemsetParams m = fill(y, 0x01010101), r = {};
    r.dst = y;
    r.elementSize = 1;
    r.width = 64;
    r.height = 16;
    r.pitch = 256;
    DO(hipGraphAddMemsetNode(&zero, g, nullptr, 0, &m));
    DO(hipGraphAddMemsetNode(&rows, g, &zero, 1, &r));
    DO(hipGraphAddChildGraphNode(&sub, g, &rows, 1, child));
    DO(hipGraphDestroy(child)); // the node has a copy
    hipEvent_t ev;
    DO(hipEventCreate(&ev));
    DO(hipGraphAddEventRecordNode(&rec, g, &sub, 1, ev));
    hipMemcpy3DParms p = {};
    p.srcPtr = make_hipPitchedPtr(y, 256, 256, 16);
    p.dstPtr = make_hipPitchedPtr(pinned, 256, 256, 16);
    p.extent = make_hipExtent(256, 16, 1);
    p.kind = hipMemcpyDeviceToHost;
    DO(hipGraphAddMemcpyNode(&copy, g, &rec, 1, &p));
    DO(hipGraphAddMemcpyNodeToSymbol(&to, g, nullptr, 0, HIP_SYMBOL(symbol), in.data(), 1024, 0, hipMemcpyHostToDevice));
    DO(hipGraphAddMemcpyNodeFromSymbol(&from, g, &to, 1, out.data(), HIP_SYMBOL(symbol), 1024, 0, hipMemcpyDeviceToHost));
    WANT(hipGraphAddMemcpyNodeToSymbol(&c, g, nullptr, 0, HIP_SYMBOL(symbol), in.data(), 1024, 4, hipMemcpyHostToDevice), hipErrorInvalidValue);
    hipGraphExec_t e;
    DO(hipGraphInstantiate(&e, g, nullptr, nullptr, 0));
    for (int i = 0; i < N; i++) in[i] = 1000 + i;
    launch(e);
    WANT(pinned[0], 10);
    WANT(pinned[16], 0x0101010b);
    WANT(out[9], 1009);
    WANT(hipEventQuery(ev), hipSuccess);
    DO(hipGraphChildGraphNodeGetGraph(sub, &inner));
    size_t count;
    DO(hipGraphGetNodes(inner, nullptr, &count));
    WANT(count, 2);
    DO(hipGraphDestroy(g));
    DO(hipGraphExecDestroy(e));
    DO(hipEventDestroy(ev));
}

// wide forks into 16 branches of two kernels and joins them, more than there are streams.
static void wide() {
    hipGraph_t g;
    hipGraphNode_t root, join;
    std::vector<hipGraphNode_t> ends;
    DO(hipGraphCreate(&g, 0));
    hipMemsetParams m = fill(y, 0);
    DO(hipGraphAddMemsetNode(&root, g, nullptr, 0, &m));
    for (int i = 0; i < 16; i++) {
        int *part = y + 64 * i;
        void *args[] = {&part, &i};
        hipKernelNodeParams kp = kernel((void *)add, 1, 64, args);
        hipGraphNode_t a, b;
        DO(hipGraphAddKernelNode(&a, g, &root, 1, &kp));
        DO(hipGraphAddKernelNode(&b, g, &a, 1, &kp));
        ends.push_back(b);
    }
    DO(hipGraphAddMemcpyNode1D(&join, g, ends.data(), ends.size(), pinned, y, N * 4, hipMemcpyDeviceToHost));
    hipGraphExec_t e;
    DO(hipGraphInstantiate(&e, g, nullptr, nullptr, 0));
    DO(hipGraphUpload(e, s));
    hipStream_t other;
    DO(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    for (int r = 0; r < 20; r++) {
        memset(pinned, 0xff, N * 4);
        // Launches of one executable graph are in order, whatever the streams.
        DO(hipGraphLaunch(e, other));
        DO(hipGraphLaunch(e, s));
        DO(hipStreamSynchronize(s));
        for (int i = 0; i < N; i++)
            if (pinned[i] != 2 * (i / 64)) {
                WANT(pinned[i], 2 * (i / 64));
                return;
            }
    }
    DO(hipStreamDestroy(other));
    DO(hipGraphExecDestroy(e));
    DO(hipGraphDestroy(g));
}

static int destroyed;
static void destroy(void *p) { destroyed += *(int *)p; }

static void objects() {
    int v = 1;
    hipUserObject_t o;
    hipGraph_t g;
    hipGraphExec_t e;
    DO(hipGraphCreate(&g, 0));
    WANT(hipUserObjectCreate(&o, &v, destroy, 0, 1), hipErrorInvalidValue);
    DO(hipUserObjectCreate(&o, &v, destroy, 2, 1));
    DO(hipGraphRetainUserObject(g, o, 1, 1)); // one of the program's two
    DO(hipUserObjectRelease(o, 1));
    DO(hipGraphInstantiate(&e, g, nullptr, nullptr, 0));
    WANT(destroyed, 0);
    DO(hipGraphDestroy(g));
    WANT(destroyed, 0);
    DO(hipGraphExecDestroy(e));
    WANT(destroyed, 1);
    WANT(hipUserObjectRelease(o, 1), hipSuccess); // gone: nothing happens, as in AMD's runtime
    WANT(hipUserObjectRelease((hipUserObject_t)&v, 1), hipErrorInvalidValue);
    WANT(destroyed, 1);
}

static void memory() {
    hipGraph_t g;
    hipGraphNode_t alloc, set, copy, release;
    DO(hipGraphCreate(&g, 0));
    MemAllocParams p = {};
    p.props.allocType = hipMemAllocationTypePinned;
    p.props.location.type = hipMemLocationTypeDevice;
    p.bytes = N * 4;
    DO(hipGraphAddMemAllocNode(&alloc, g, nullptr, 0, &p));
    hipMemsetParams m = fill(p.ptr, 77);
    DO(hipGraphAddMemsetNode(&set, g, &alloc, 1, &m));
    DO(hipGraphAddMemcpyNode1D(&copy, g, &set, 1, pinned, p.ptr, N * 4, hipMemcpyDeviceToHost));
    DO(hipGraphAddMemFreeNode(&release, g, &copy, 1, p.ptr));
    WANT(hipGraphAddMemFreeNode(&release, g, &copy, 1, p.ptr), hipErrorInvalidValue); // twice
    WANT(hipGraphDestroyNode(alloc), hipErrorNotSupported);
    hipGraph_t none;
    WANT(hipGraphClone(&none, g), hipErrorNotSupported);
    hipGraphExec_t e, second;
    DO(hipGraphInstantiate(&e, g, nullptr, nullptr, 0));
    WANT(hipGraphInstantiate(&second, g, nullptr, nullptr, 0), hipErrorNotSupported);
    for (int r = 0; r < 3; r++) {
        pinned[3] = 0;
        launch(e);
        WANT(pinned[3], 77);
    }
    DO(hipGraphExecDestroy(e));
    DO(hipGraphDestroy(g));

    // Without a free node the memory is the program's after the launch.
    DO(hipGraphCreate(&g, 0));
    DO(hipGraphAddMemAllocNode(&alloc, g, nullptr, 0, &p));
    m.dst = p.ptr;
    DO(hipGraphAddMemsetNode(&set, g, &alloc, 1, &m));
    DO(hipGraphInstantiate(&e, g, nullptr, nullptr, 0));
    launch(e);
    WANT(hipGraphLaunch(e, s), hipErrorInvalidValue); // not freed yet
    int v = 0;
    DO(hipMemcpy(&v, p.ptr, 4, hipMemcpyDeviceToHost));
    WANT(v, 77);
    DO(hipFreeAsync(p.ptr, s));
    launch(e);
    DO(hipFree(p.ptr));
    DO(hipGraphExecDestroy(e));
    DO(hipGraphDestroy(g));
}

static void dot() {
    hipGraph_t g;
    hipGraphNode_t a, b;
    DO(hipGraphCreate(&g, 0));
    DO(hipGraphAddEmptyNode(&a, g, nullptr, 0));
    int one = 1;
    void *args[] = {&y, &one};
    hipKernelNodeParams kp = kernel((void *)add, 1, 64, args);
    DO(hipGraphAddKernelNode(&b, g, &a, 1, &kp));
    char path[] = "/tmp/pumice-dot-XXXXXX", text[4096] = {};
    close(mkstemp(path));
    DO(hipGraphDebugDotPrint(g, path, 1));
    FILE *f = fopen(path, "r");
    WANT(f && fread(text, 1, sizeof text - 1, f) > 0, 1);
    WANT(strstr(text, "digraph") && strstr(text, "->") && strstr(text, "add"), 1);
    unlink(path);
    DO(hipGraphDestroy(g));
}

int main() {
    DO(hipMalloc(&x, N * 4));
    DO(hipMalloc(&y, N * 4));
    DO(hipHostMalloc(&pinned, N * 4, 0));
    DO(hipStreamCreate(&s));
    basic();
    circle();
    nested();
    wide();
    objects();
    memory();
    dot();
    return finish();
}
