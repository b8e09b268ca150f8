// The driver API of later HIP: copies and memory operations as graph nodes, arrays as plain memory, external memory, attributes of streams. By the library of HIP 7.
#include "check.h"
#include <string.h>
#include <unistd.h>

extern "C" {
struct Drv3D { // HIP_MEMCPY3D
    size_t sx, sy, sz, slod;
    unsigned stype;
    const void *shost;
    void *sdev;
    hipArray *sarr;
    size_t spitch, sheight, dx, dy, dz, dlod;
    unsigned dtype;
    void *dhost, *ddev;
    hipArray *darr;
    size_t dpitch, dheight, w, h, d;
};
union MemOp {
    struct {
        int op;
        void *address;
        uint64_t value;
        unsigned flags;
        void *alias;
    } m;
    uint64_t pad[6];
};
struct BatchParams {
    void *ctx;
    unsigned count;
    MemOp *ops;
    unsigned flags;
};
struct ExtDesc {
    int type;
    union {
        int fd;
        struct {
            void *handle;
            const void *name;
        } win32;
    } handle;
    unsigned long long size;
    unsigned flags, reserved[16];
};
struct ExtBuffer {
    unsigned long long offset, size;
    unsigned flags, reserved[16];
};
hipError_t hipDrvGraphAddMemcpyNode(hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, const Drv3D *, void *);
hipError_t hipDrvGraphMemcpyNodeGetParams(hipGraphNode_t, Drv3D *);
hipError_t hipDrvGraphMemcpyNodeSetParams(hipGraphNode_t, const Drv3D *);
hipError_t hipDrvGraphExecMemcpyNodeSetParams(hipGraphExec_t, hipGraphNode_t, const Drv3D *, void *);
hipError_t hipGraphAddBatchMemOpNode(hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, const BatchParams *);
hipError_t hipGraphBatchMemOpNodeGetParams(hipGraphNode_t, BatchParams *);
hipError_t hipGraphBatchMemOpNodeSetParams(hipGraphNode_t, BatchParams *);
hipError_t hipGraphExecBatchMemOpNodeSetParams(hipGraphExec_t, hipGraphNode_t, const BatchParams *);
hipError_t hipMemcpyAtoA(hipArray *, size_t, hipArray *, size_t, size_t);
hipError_t hipMemcpyAtoD(void *, hipArray *, size_t, size_t);
hipError_t hipMemcpyDtoA(hipArray *, size_t, void *, size_t);
hipError_t hipMemcpyAtoHAsync(void *, hipArray *, size_t, size_t, hipStream_t);
hipError_t hipMemcpyHtoAAsync(hipArray *, size_t, const void *, size_t, hipStream_t);
hipError_t hipStreamSetAttribute(hipStream_t, int, const void *);
hipError_t hipStreamGetAttribute(hipStream_t, int, void *);
hipError_t hipStreamCopyAttributes(hipStream_t, hipStream_t);
hipError_t hipMemGetHandleForAddressRange(void *, void *, size_t, int, unsigned long long);
hipError_t hipTexRefSetMaxAnisotropy(textureReference *, unsigned);
hipError_t hipTexRefGetMaxAnisotropy(int *, const textureReference *);
hipError_t hipTexRefSetMipmapLevelClamp(textureReference *, float, float);
hipError_t hipTexRefGetMipmapLevelClamp(float *, float *, const textureReference *);
}
#define EXT(call) ((hipError_t(*)(void *, const void *))call)

__global__ void add(int *p, int v) { p[blockIdx.x * blockDim.x + threadIdx.x] += v; }

const int W = 16, H = 8;
static hipStream_t s;

static void launch(hipGraph_t g, hipGraphExec_t e) {
    (void)g;
    DO(hipGraphLaunch(e, s));
    DO(hipStreamSynchronize(s));
}

// A box from the host to an array, by one kind of node, and back by another.
static void copies(hipArray *arr) {
    int in[H][W], out[H][W];
    for (int i = 0; i < W * H; i++) in[0][i] = i, out[0][i] = -1;
    hipGraph_t g;
    hipGraphExec_t e;
    hipGraphNode_t to, from;
    DO(hipGraphCreate(&g, 0));
    const unsigned host = 1, array = 10;
    Drv3D p = {}, q = {};
    p.stype = host, p.shost = in, p.spitch = W * 4, p.sheight = H;
    p.dtype = array, p.darr = arr, p.w = W * 4, p.h = H, p.d = 1;
    DO(hipDrvGraphAddMemcpyNode(&to, g, nullptr, 0, &p, nullptr));
    hipMemcpy3DParms b = {};
    b.srcArray = arr;
    b.dstPtr = {out, W * 4, W, H};
    b.extent = {W, H, 1};
    b.kind = hipMemcpyDeviceToHost;
    DO(hipGraphAddMemcpyNode(&from, g, &to, 1, &b));
    DO(hipGraphInstantiate(&e, g, nullptr, nullptr, 0));
    launch(g, e);
    WANT(memcmp(in, out, sizeof in), 0);
    DO(hipDrvGraphMemcpyNodeGetParams(to, &q));
    WANT(q.darr == arr && q.w == W * 4 && q.shost == in, 1);
    WANT(hipDrvGraphMemcpyNodeGetParams(from, &q), hipErrorInvalidValue); // not of this kind
    // Only the second half of each row, to the first half.
    p.sx = W * 2, p.w = W * 2;
    DO(hipDrvGraphExecMemcpyNodeSetParams(e, to, &p, nullptr));
    launch(g, e);
    WANT(out[3][0], in[3][W / 2]);
    WANT(out[3][W - 1], in[3][W - 1]);
    p.w = W * 8;
    WANT(hipDrvGraphMemcpyNodeSetParams(to, &p), hipErrorInvalidPitchValue);
    p.spitch = W * 16;
    WANT(hipDrvGraphMemcpyNodeSetParams(to, &p), hipErrorInvalidValue); // wider than the array
    WANT(hipDrvGraphAddMemcpyNode(&to, g, nullptr, 0, nullptr, nullptr), hipErrorInvalidValue);
    DO(hipGraphExecDestroy(e));
    DO(hipGraphDestroy(g));
}

static void arrays(hipArray *a, hipArray *b) {
    int in[W], out[W];
    int *dev;
    for (int i = 0; i < W; i++) in[i] = 100 + i, out[i] = -1;
    DO(hipMalloc(&dev, sizeof in));
    DO(hipMemcpyHtoAAsync(a, 0, in, sizeof in, s));
    DO(hipStreamSynchronize(s));
    DO(hipMemcpyAtoA(b, 8, a, 0, sizeof in - 8));
    DO(hipMemcpyAtoD(dev, b, 8, sizeof in - 8));
    add<<<1, W>>>(dev, 5);
    DO(hipMemcpyDtoA(a, 4, dev, 8));
    DO(hipMemcpyAtoHAsync(out, a, 0, sizeof out, s));
    DO(hipStreamSynchronize(s));
    WANT(out[0], 100);
    WANT(out[1], 105);
    WANT(out[2], 106);
    WANT(out[3], 103);
    WANT(hipMemcpyHtoAAsync(a, 0, in, 100 * W, s), hipErrorInvalidValue);
    WANT(hipMemcpyAtoD(nullptr, a, 0, 4), hipErrorInvalidValue);
    DO(hipFree(dev));
}

static void memOps() {
    uint64_t *word;
    DO(hipHostMalloc((void **)&word, 64, 0));
    memset(word, 0, 64);
    MemOp ops[3] = {};
    ops[0].m.op = 5, ops[0].m.address = word, ops[0].m.value = 77ull << 32; // write 64
    ops[1].m.op = 1, ops[1].m.address = word + 1, ops[1].m.value = 3;         // wait 32, at least
    ops[2].m.op = 2, ops[2].m.address = word + 2, ops[2].m.value = 9;         // write 32
    BatchParams p = {nullptr, 3, ops, 0}, q = {};
    hipGraph_t g;
    hipGraphExec_t e;
    hipGraphNode_t n;
    hipGraphNodeType type;
    DO(hipGraphCreate(&g, 0));
    DO(hipGraphAddBatchMemOpNode(&n, g, nullptr, 0, &p));
    DO(hipGraphNodeGetType(n, &type));
    WANT(type, 14);
    DO(hipGraphInstantiate(&e, g, nullptr, nullptr, 0));
    DO(hipGraphLaunch(e, s));
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != 77ull << 32) usleep(50);
    WANT(__atomic_load_n(word + 2, __ATOMIC_ACQUIRE), 0);
    __atomic_store_n((uint32_t *)(word + 1), 4, __ATOMIC_RELEASE);
    DO(hipStreamSynchronize(s));
    WANT(word[2], 9);
    DO(hipGraphBatchMemOpNodeGetParams(n, &q));
    WANT(q.count, 3);
    WANT(q.ops[2].m.value, 9);
    ops[2].m.value = 10;
    DO(hipGraphExecBatchMemOpNodeSetParams(e, n, &p));
    launch(g, e);
    WANT(word[2], 10);
    DO(hipGraphBatchMemOpNodeGetParams(n, &q));
    WANT(q.ops[2].m.value, 9); // the graph's own is what it was
    ops[1].m.op = 99;
    WANT(hipGraphBatchMemOpNodeSetParams(n, &p), hipErrorInvalidValue);
    DO(hipGraphExecDestroy(e));
    DO(hipGraphDestroy(g));
    DO(hipHostFree(word));
}

static void external() {
    int *dev, fd = -1;
    const size_t S = 4 << 20;
    int host[64];
    DO(hipMalloc(&dev, S));
    DO(hipMemset(dev, 0, S));
    WANT(hipMemGetHandleForAddressRange(&fd, dev, S, 9, 0), hipErrorInvalidValue);
    WANT(hipMemGetHandleForAddressRange(&fd, dev, S * 2, 1, 0), hipErrorInvalidValue);
    DO(hipMemGetHandleForAddressRange(&fd, dev, S, 1, 0));
    ExtDesc d = {};
    d.type = 1, d.handle.fd = fd, d.size = S;
    hipExternalMemory_t m;
    int *map = nullptr, *map2 = nullptr;
    DO(EXT(hipImportExternalMemory)(&m, &d));
    ExtBuffer b = {4096, S - 4096, 0, {}}, whole = {0, S, 0, {}}, bad = {4096, S, 0, {}};
    hipError_t (*mapped)(void *, hipExternalMemory_t, const void *) = (hipError_t(*)(void *, hipExternalMemory_t, const void *))hipExternalMemoryGetMappedBuffer;
    DO(mapped(&map, m, &b));
    DO(mapped(&map2, m, &whole));
    WANT(mapped(&map2, m, &bad), hipErrorInvalidValue);
    add<<<1, 64>>>(map, 3);
    add<<<1, 64>>>(map2 + 1024, 4); // the same place
    DO(hipMemcpy(host, dev + 1024, sizeof host, hipMemcpyDeviceToHost));
    WANT(host[63], 7);
    DO(hipDestroyExternalMemory(m));
    WANT(hipDestroyExternalMemory(m), hipErrorInvalidValue);
    d.handle.fd = 0;
    WANT(EXT(hipImportExternalMemory)(&m, &d), hipErrorInvalidValue); // no memory
    d.type = 2;
    WANT(EXT(hipImportExternalMemory)(&m, &d), hipErrorNotSupported); // Windows'
    add<<<1, 64>>>(dev + 1024, 1);
    DO(hipMemcpy(host, dev + 1024, sizeof host, hipMemcpyDeviceToHost));
    WANT(host[0], 8);
    DO(hipFree(dev));
}

static void attributes() {
    hipStream_t t, high;
    int v[16] = {}, w[16] = {};
    DO(hipStreamCreate(&t));
    DO(hipStreamCreateWithPriority(&high, 0, -1));
    DO(hipStreamGetAttribute(t, 3, w));
    WANT(w[0], 1);
    v[0] = 4;
    DO(hipStreamSetAttribute(t, 3, v));
    DO(hipStreamCopyAttributes(high, t));
    DO(hipStreamGetAttribute(high, 3, w));
    WANT(w[0], 4);
    DO(hipStreamGetAttribute(high, 8, w));
    WANT(w[0], -1);
    v[0] = 9;
    WANT(hipStreamSetAttribute(t, 3, v), hipErrorInvalidValue);
    WANT(hipStreamSetAttribute(t, 77, v), hipErrorInvalidValue);
    textureReference ref = {};
    int n = 0;
    float lo, hi;
    DO(hipTexRefSetMaxAnisotropy(&ref, 4));
    DO(hipTexRefGetMaxAnisotropy(&n, &ref));
    WANT(n, 4);
    DO(hipTexRefSetMipmapLevelClamp(&ref, 1, 2));
    DO(hipTexRefGetMipmapLevelClamp(&lo, &hi, &ref));
    WANT(lo == 1 && hi == 2, 1);
    DO(hipStreamDestroy(t));
    DO(hipStreamDestroy(high));
}

int main() {
    DO(hipStreamCreate(&s));
    hipChannelFormatDesc c = {32, 0, 0, 0, hipChannelFormatKindSigned};
    hipArray *a, *b;
    DO(hipMallocArray(&a, &c, W, H, 0));
    DO(hipMallocArray(&b, &c, W, H, 0));
    copies(a);
    arrays(a, b);
    memOps();
    external();
    attributes();
    DO(hipFreeArray(a));
    DO(hipFreeArray(b));
    return finish();
}
