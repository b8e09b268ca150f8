// Functions by name, and others that came with HIP 6 and 7: linked with libamdhip64.so.7.
#include "check.h"
#include <string.h>

extern "C" {
hipError_t hipGetProcAddress(const char *, void **, int, unsigned long long, int *);
hipError_t hipGetFuncBySymbol(hipFunction_t *, const void *);
hipError_t hipKernelGetName(const char **, hipFunction_t);
hipError_t hipMemsetD2D32(void *, size_t, unsigned, size_t, size_t);
hipError_t hipStreamGetId(hipStream_t, unsigned long long *);
hipError_t hipMemsetAsync_spt(void *, int, size_t, hipStream_t);
}

__global__ void add(int *p, int v) { p[blockIdx.x * blockDim.x + threadIdx.x] += v; }

static void names() {
    hipError_t (*count)(int *) = nullptr;
    int status = -1, n = 0;
    DO(hipGetProcAddress("hipGetDeviceCount", (void **)&count, 50200000, 0, &status));
    WANT(status, 0);
    DO(count(&n));
    WANT(n > 0, 1);
    WANT(hipGetProcAddress("hipNothing", (void **)&count, 50200000, 0, &status), hipErrorInvalidValue);
    WANT(hipGetProcAddress("wild", (void **)&count, 50200000, 0, &status), hipErrorInvalidValue); // shorter than any prefix
    WANT(status, 1);
    hipFunction_t f;
    const char *name = nullptr;
    DO(hipGetFuncBySymbol(&f, (const void *)add));
    DO(hipKernelGetName(&name, f));
    WANT(strstr(name, "add") != nullptr, 1);
    int *p, v = 3, host[64];
    DO(hipMalloc(&p, 4096));
    DO(hipMemsetD2D32(p, 128, 5, 16, 4)); // half of four rows
    void *args[] = {&p, &v};
    DO(hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, nullptr, args, nullptr));
    DO(hipMemcpy(host, p, sizeof host, hipMemcpyDeviceToHost));
    WANT(host[15], 8);
    unsigned long long id1 = 0, id2 = 0;
    hipStream_t s;
    DO(hipStreamCreate(&s));
    DO(hipStreamGetId(s, &id1));
    DO(hipStreamGetId(nullptr, &id2));
    WANT(id1 != id2, 1);
    DO(hipMemsetAsync_spt(p, 0, 64, nullptr));
    DO(hipStreamSynchronize(hipStreamPerThread));
    DO(hipMemcpy(host, p, 4, hipMemcpyDeviceToHost));
    WANT(host[0], 0);
    DO(hipStreamDestroy(s));
    DO(hipFree(p));
}

int main() {
    names();
    return finish();
}
