// Functions of HIP 6 and 7 that are small: tracers, the log, copies of boxes in one call, pools by location; and what is refused, with its errors.
#include "check.h"

#include <string.h>
#include <unistd.h>

#include <vector>

struct Operand {
    unsigned type;
    union {
        struct { void *ptr; size_t row, rows; int place, id; } p;
        struct { hipArray *array; size_t x, y, z; } a;
    };
};
struct Box {
    Operand src, dst;
    hipExtent extent;
    unsigned order, flags;
};
struct Place { int type, id; };

extern "C" {
hipError_t hipMemcpy3DBatchAsync(size_t, Box *, size_t *, unsigned long long, hipStream_t);
hipError_t hipMemSetMemPool(Place *, int, hipMemPool_t);
hipError_t hipMemGetMemPool(hipMemPool_t *, Place *, int);
hipError_t hipExtSetLoggingParams(size_t, size_t, size_t);
hipError_t hipExtEnableLogging(void);
hipError_t hipExtDisableLogging(void);
void hipRegisterTracerCallback(int (*)(unsigned, unsigned, void *));
const char *hipGetCmdName(unsigned);
}

// A tracer as roctracer is one; the size of the arguments is of release 6.4's header.
struct Trace {
    uint64_t correlation;
    uint32_t phase;
    char args[1496];
    uint64_t *phase_data;
    uint64_t entered, data;
    void (*begin)(uint32_t, Trace *), (*end)(uint32_t, Trace *);
};
static std::vector<std::pair<unsigned, bool>> seen;
static uint64_t correlated;
static void begin(uint32_t id, Trace *t) { seen.push_back({id, false}), WANT(t->correlation, correlated); }
static void end(uint32_t id, Trace *t) { seen.push_back({id, true}), WANT(t->correlation, correlated); }
static int tracer(unsigned domain, unsigned id, void *data) {
    WANT(domain, 3);
    if (!strcmp(hipApiName(id), "hipFree")) return 1; // not that one
    Trace *t = (Trace *)data;
    t->correlation = ++correlated;
    t->begin = begin, t->end = end;
    return 0;
}

static void traces() {
    void *p = nullptr;
    hipRegisterTracerCallback(tracer);
    DO(hipMalloc(&p, 64));
    DO(hipFree(p));
    DO(hipDeviceSynchronize());
    hipRegisterTracerCallback(nullptr);
    DO(hipDeviceSynchronize());
    WANT(seen.size(), 4);
    if (seen.size() == 4) {
        WANT(strcmp(hipApiName(seen[0].first), "hipMalloc"), 0);
        WANT(seen[1].first == seen[0].first && seen[1].second, 1);
        WANT(strcmp(hipApiName(seen[2].first), "hipDeviceSynchronize"), 0);
    }
    WANT(strcmp(hipApiName(0), "unknown"), 0);
    WANT(strcmp(hipApiName(~0u), "unknown"), 0);
    WANT(strcmp(hipApiName(6), "hipChooseDeviceR0000"), 0);
    WANT(strcmp(hipGetCmdName(0x11f0), "KernelExecution"), 0);
}

static void boxes() {
    enum { W = 20, H = 6, D = 3 };
    std::vector<int> from(W * H * D), to(W * H * D, -1);
    for (size_t i = 0; i < from.size(); i++) from[i] = (int)i;
    int *p;
    DO(hipMalloc((void **)&p, from.size() * 4));
    hipArray *a;
    hipChannelFormatDesc d = {32, 0, 0, 0, hipChannelFormatKindSigned};
    DO(hipMalloc3DArray(&a, &d, hipExtent{W, H, D}, 0));
    Box b[3] = {};
    b[0].src.type = b[0].dst.type = 1;
    b[0].src.p.ptr = from.data(), b[0].dst.p.ptr = p;
    b[0].extent = {W * 4, H, D}; // bytes
    b[1].src.type = 1, b[1].dst.type = 2;
    b[1].src.p.ptr = p, b[1].dst.a.array = a;
    b[1].extent = {W, H, D}; // elements
    b[2].src.type = 2, b[2].dst.type = 1;
    b[2].src.a.array = a, b[2].src.a.x = 5, b[2].src.a.y = 1, b[2].src.a.z = 1;
    b[2].dst.p.ptr = to.data(), b[2].dst.p.row = W, b[2].dst.p.rows = H;
    b[2].extent = {W - 5, H - 1, D - 1};
    for (Box &x : b) x.order = 1;
    size_t failed = 0;
    DO(hipMemcpy3DBatchAsync(3, b, &failed, 0, nullptr));
    DO(hipDeviceSynchronize());
    WANT(failed, -1);
    for (int z = 0; z < D; z++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                WANT(to[(z * H + y) * W + x], x < W - 5 && y < H - 1 && z < D - 1 ? from[((z + 1) * H + y + 1) * W + x + 5] : -1);
    b[1].order = 9;
    WANT(hipMemcpy3DBatchAsync(3, b, &failed, 0, nullptr), hipErrorInvalidValue);
    WANT(failed, 1);
    WANT(hipMemcpy3DBatchAsync(0, b, &failed, 0, nullptr), hipErrorInvalidValue);
    DO(hipDeviceSynchronize());
    DO(hipFreeArray(a));
    DO(hipFree(p));
}

static void pools() {
    Place here = {1, 0}, nowhere = {1, 99}, host = {2, 0};
    hipMemPool_t def, mine, got = nullptr;
    DO(hipDeviceGetDefaultMemPool(&def, 0));
    DO(hipMemGetMemPool(&got, &here, 1));
    WANT(got == def, 1);
    hipMemPoolProps props = {};
    props.allocType = hipMemAllocationTypePinned;
    props.location = {hipMemLocationTypeDevice, 0};
    DO(hipMemPoolCreate(&mine, &props));
    DO(hipMemSetMemPool(&here, 1, mine));
    DO(hipDeviceGetMemPool(&got, 0));
    WANT(got == mine, 1);
    WANT(hipMemSetMemPool(nullptr, 1, mine), hipErrorInvalidValue);
    WANT(hipMemSetMemPool(&nowhere, 1, mine) != hipSuccess, 1);
    WANT(hipMemGetMemPool(&got, &host, 1), hipErrorInvalidValue);
    WANT(hipMemGetMemPool(nullptr, &here, 1), hipErrorInvalidValue);
    DO(hipMemSetMemPool(&here, 1, def));
    DO(hipMemPoolDestroy(mine));
}

static void refused() {
    hipMipmappedArray *m = nullptr;
    hipArray_t level;
    hipChannelFormatDesc d = {32, 0, 0, 0, hipChannelFormatKindSigned};
    WANT(hipMallocMipmappedArray(&m, &d, hipExtent{64, 64, 0}, 4, 0), hipErrorNotSupported);
    WANT(hipMallocMipmappedArray(nullptr, &d, hipExtent{64, 64, 0}, 4, 0), hipErrorInvalidValue);
    WANT(hipGetMipmappedArrayLevel(&level, nullptr, 0), hipErrorInvalidHandle);
    WANT(hipFreeMipmappedArray(nullptr), hipErrorInvalidValue);
    hipExternalSemaphore_t s;
    hipExternalSemaphoreHandleDesc e = {};
    WANT(hipImportExternalSemaphore(&s, &e), hipErrorInvalidValue);
    e.type = hipExternalSemaphoreHandleTypeOpaqueFd, e.handle.fd = 1;
    WANT(hipImportExternalSemaphore(&s, &e), hipErrorNotSupported);
}

// Only what is called while the log is on is in it.
static void logs() {
    FILE *f = tmpfile();
    int was = dup(2);
    dup2(fileno(f), 2);
    DO(hipExtSetLoggingParams(3, 0, 1));
    DO(hipDeviceSynchronize());
    DO(hipExtEnableLogging());
    DO(hipSetDevice(0));
    DO(hipExtDisableLogging());
    DO(hipDeviceSynchronize());
    dup2(was, 2);
    rewind(f);
    char text[4096] = "";
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    WANT(strstr(text, "hipSetDevice: Returned hipSuccess") != nullptr, 1);
    WANT(strstr(text, "hipDeviceSynchronize") == nullptr, 1);
}

int main() {
    traces();
    boxes();
    pools();
    refused();
    logs();
    return finish();
}
