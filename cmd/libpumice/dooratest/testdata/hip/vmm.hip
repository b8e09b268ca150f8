// Virtual memory management: addresses and memory apart, brought together by mappings.
#include "check.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void fill(int *p, int v) { p[blockIdx.x * blockDim.x + threadIdx.x] = v + threadIdx.x; }
__global__ void copy(int *to, const int *from) { to[threadIdx.x] = from[threadIdx.x]; }

static hipMemAllocationProp prop(int device, hipMemAllocationHandleType handles = hipMemHandleTypeNone) {
    hipMemAllocationProp p = {};
    p.type = hipMemAllocationTypePinned;
    p.location.type = hipMemLocationTypeDevice;
    p.location.id = device;
    p.requestedHandleType = handles;
    return p;
}

// A store to a mapping that may only be read ends the process; memory and readers are unharmed. device is whose memory it is, device 0 the one that looks.
static void readOnly(int device, size_t S) {
    void *at, *view, *out;
    hipMemGenericAllocationHandle_t h;
    hipMemAllocationProp p = prop(device);
    hipMemAccessDesc rw = {{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite}, ro = {{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtRead};
    DO(hipMemCreate(&h, S, &p, 0));
    DO(hipMemAddressReserve(&at, S, 0, nullptr, 0));
    DO(hipMemAddressReserve(&view, S, 0, nullptr, 0));
    DO(hipMemMap(at, S, 0, h, 0));
    DO(hipMemMap(view, S, 0, h, 0));
    DO(hipMemSetAccess(at, S, &rw, 1));
    DO(hipMemSetAccess(view, S, &rw, 1));
    DO(hipMemSetAccess(view, S, &ro, 1));
    DO(hipMalloc(&out, 256));
    int host[64];
    unsigned long long flags = 9;
    DO(hipMemGetAccess(&flags, &ro.location, view));
    WANT(flags, hipMemAccessFlagsProtRead);
    fill<<<1, 64>>>((int *)at, 500);
    copy<<<1, 64>>>((int *)out, (int *)view);
    DO(hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost));
    WANT(host[9], 509);
    DO(hipMemSetAccess(view, S, &rw, 1)); // and back
    fill<<<1, 64>>>((int *)view, 600);
    DO(hipMemSetAccess(view, S, &ro, 1));
    copy<<<1, 64>>>((int *)out, (int *)view);
    DO(hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost));
    WANT(host[9], 609);
    fill<<<1, 64>>>((int *)view, 700);
    hipError_t e = hipDeviceSynchronize();
    printf("a store to read-only memory: %s\n", hipGetErrorName(e));
    exit(5);
}

int main() {
    for (int device = 0; device < 2; device++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (!freopen("/dev/null", "w", stderr)) exit(6);
            readOnly(device, 2 << 20);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        WANT(WIFSIGNALED(status) ? WTERMSIG(status) : 1000 + WEXITSTATUS(status), SIGABRT);
    }
    size_t gran = 0, rec = 0;
    hipMemAllocationProp p = prop(0);
    DO(hipMemGetAllocationGranularity(&gran, &p, hipMemAllocationGranularityMinimum));
    DO(hipMemGetAllocationGranularity(&rec, &p, hipMemAllocationGranularityRecommended));
    WANT(gran >= 4096 && rec >= gran && rec % gran == 0, 1);
    const size_t S = rec;
    hipMemAccessDesc rw = {{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite};

    void *base, *other;
    DO(hipMemAddressReserve(&base, 4 * S, 0, nullptr, 0));
    DO(hipMemAddressReserve(&other, S, 0, nullptr, 0));
    WANT(hipMemAddressReserve(&other, 100, 0, nullptr, 0), hipErrorOutOfMemory);
    WANT(hipMemAddressReserve(nullptr, S, 0, nullptr, 0), hipErrorInvalidValue);
    WANT(hipMemAddressReserve(&other, S, 0, nullptr, 1), hipErrorInvalidValue);
    char *b = (char *)base;

    hipMemGenericAllocationHandle_t a, c, again;
    DO(hipMemCreate(&a, S, &p, 0));
    DO(hipMemCreate(&c, S, &p, 0));
    WANT(hipMemCreate(&again, 1, &p, 0), hipErrorInvalidValue);
    WANT(hipMemCreate(&again, 1ull << 46, &p, 0), hipErrorOutOfMemory);
    hipMemAllocationProp bad = p;
    bad.location.id = 99;
    WANT(hipMemCreate(&again, S, &bad, 0), hipErrorInvalidValue);
    DO(hipMemGetAllocationPropertiesFromHandle(&bad, a));
    WANT(memcmp(&bad, &p, sizeof p), 0);

    // a at two places, c between them.
    DO(hipMemMap(b, S, 0, a, 0));
    DO(hipMemMap(b + S, S, 0, c, 0));
    DO(hipMemMap(b + 2 * S, S, 0, a, 0));
    WANT(hipMemMap(b, S, 0, c, 0), hipErrorInvalidValue);             // taken
    WANT(hipMemMap(b + 3 * S, S, 64, c, 0), hipErrorInvalidValue);    // offset
    WANT(hipMemMap(b + 3 * S, S / 2, 0, c, 0), hipErrorInvalidValue); // not whole
    WANT(hipMemMap(b + 8 * S, S, 0, c, 0), hipErrorInvalidValue);     // not reserved
    unsigned long long flags = 9;
    DO(hipMemGetAccess(&flags, &rw.location, b));
    WANT(flags, hipMemAccessFlagsProtNone);
    DO(hipMemSetAccess(b, 3 * S, &rw, 1));
    WANT(hipMemSetAccess(b, 4 * S, &rw, 1), hipErrorInvalidValue); // the last part is not mapped
    DO(hipMemGetAccess(&flags, &rw.location, b + S));
    WANT(flags, hipMemAccessFlagsProtReadWrite);

    int host[64];
    fill<<<1, 64>>>((int *)b, 100);
    fill<<<1, 64>>>((int *)(b + S), 200);
    DO(hipMemcpy(host, b + 2 * S, sizeof host, hipMemcpyDeviceToHost));
    WANT(host[7], 107); // the other view of a
    DO(hipMemcpy(host, b + S, sizeof host, hipMemcpyDeviceToHost));
    WANT(host[7], 207);
    // One copy over the border of two mappings.
    fill<<<1, 64>>>((int *)(b + S) - 32, 300);
    DO(hipMemcpyAsync(host, b + S - 64, 128, hipMemcpyDeviceToHost, 0));
    DO(hipDeviceSynchronize());
    WANT(host[0], 316);
    WANT(host[31], 347);
    WANT(hipMemcpy(host, b + 3 * S - 64, 128, hipMemcpyDeviceToHost), hipErrorInvalidValue);
    DO(hipMemset(b + S, 0, S));
    DO(hipMemcpy(host, b + 2 * S - 4, 4, hipMemcpyDeviceToHost));
    WANT(host[0], 0);

    // A handle outlives its release while it is mapped, and can be had back.
    DO(hipMemRelease(a));
    DO(hipMemRetainAllocationHandle(&again, b));
    WANT(again == a, 1);
    WANT(hipMemRetainAllocationHandle(&again, b + 3 * S), hipErrorInvalidValue);
    DO(hipMemUnmap(b, S));
    WANT(hipMemUnmap(b, S), hipErrorInvalidValue);
    DO(hipMemUnmap(b + S, 2 * S)); // two mappings
    WANT(hipMemGetAccess(&flags, &rw.location, b), hipErrorInvalidValue);
    DO(hipMemMap(other, S, 0, a, 0));
    DO(hipMemSetAccess(other, S, &rw, 1));
    DO(hipMemcpy(host, other, sizeof host, hipMemcpyDeviceToHost));
    WANT(host[7], 107); // content stays with the memory
    WANT(hipFree(other), hipErrorInvalidValue);
    WANT(hipMemAddressFree(other, S), hipErrorInvalidValue); // mapped
    DO(hipMemUnmap(other, S));
    DO(hipMemRelease(a));
    DO(hipMemRelease(c));
    WANT(hipMemRelease(c), hipErrorInvalidValue);
    DO(hipMemAddressFree(other, S));
    WANT(hipMemAddressFree(base, S), hipErrorInvalidValue); // not the whole

    // A descriptor stands for the memory.
    int fd = -1;
    p = prop(0, hipMemHandleTypePosixFileDescriptor);
    DO(hipMemCreate(&a, S, &p, 0));
    WANT(hipMemExportToShareableHandle(&fd, a, hipMemHandleTypeNone, 0), hipErrorInvalidValue);
    DO(hipMemExportToShareableHandle(&fd, a, hipMemHandleTypePosixFileDescriptor, 0));
    DO(hipMemImportFromShareableHandle(&c, (void *)(size_t)fd, hipMemHandleTypePosixFileDescriptor));
    close(fd);
    WANT(hipMemImportFromShareableHandle(&again, (void *)(size_t)fd, hipMemHandleTypePosixFileDescriptor), hipErrorInvalidValue);
    DO(hipMemMap(b, S, 0, a, 0));
    DO(hipMemMap(b + S, S, 0, c, 0));
    DO(hipMemRelease(a));
    DO(hipMemRelease(c));
    DO(hipMemSetAccess(b, 2 * S, &rw, 1));
    fill<<<1, 64>>>((int *)b, 7);
    DO(hipMemcpy(host, b + S, sizeof host, hipMemcpyDeviceToHost)); // no CPU mapping here
    WANT(host[5], 12);
    DO(hipMemUnmap(b, 2 * S));

    int devices;
    DO(hipGetDeviceCount(&devices));
    if (devices > 1) {
        // Memory of device 1 that both reach.
        hipMemAccessDesc both[] = {rw, {{hipMemLocationTypeDevice, 1}, hipMemAccessFlagsProtReadWrite}};
        p = prop(1);
        DO(hipMemCreate(&a, S, &p, 0));
        DO(hipMemMap(b, S, 0, a, 0));
        DO(hipMemSetAccess(b, S, both, 2));
        fill<<<1, 64>>>((int *)b, 40); // on device 0
        DO(hipDeviceSynchronize());
        DO(hipSetDevice(1));
        copy<<<1, 64>>>((int *)(b + 4096), (int *)b);
        DO(hipMemcpy(host, b + 4096, sizeof host, hipMemcpyDeviceToHost));
        WANT(host[2], 42);
        DO(hipMemUnmap(b, S));
        DO(hipMemRelease(a));
        DO(hipSetDevice(0));
    }
    DO(hipMemAddressFree(base, 4 * S));
    return finish();
}
