// Small buffers in common blocks (PUMICE_FRAGMENTS): where they are, what a kernel meets behind one, and that freed parts are used again.
#include "hip/check.h"

#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

__global__ void behind(const int *p, int *out, int n) { out[threadIdx.x] = p[n + threadIdx.x]; }
__global__ void fill(int *p, int v, int n) {
    for (int i = threadIdx.x; i < n; i += 64) p[i] = v;
}

static uint64_t block(const void *p) { return (uint64_t)p >> 21; }

static void shared() {
    int to[2], back[2];
    DO((hipError_t)(pipe(to) || pipe(back)));
    pid_t child = fork();
    if (!child) {
        hipIpcMemHandle_t h;
        int *p, v[3] = {};
        read(to[0], &h, sizeof h);
        DO(hipIpcOpenMemHandle((void **)&p, h, hipIpcMemLazyEnablePeerAccess));
        DO(hipMemcpy(v, p, sizeof v, hipMemcpyDeviceToHost));
        write(back[1], v, sizeof v);
        DO(hipIpcCloseMemHandle(p));
        _exit(0);
    }
    int *a, *b, v[3] = {1, 2, 3}, got[3] = {};
    DO(hipMalloc((void **)&a, 4096));
    DO(hipMalloc((void **)&b, 4096)); // not the first of its block
    DO(hipMemcpy(b, v, sizeof v, hipMemcpyHostToDevice));
    hipIpcMemHandle_t h;
    DO(hipIpcGetMemHandle(&h, b));
    write(to[1], &h, sizeof h);
    read(back[0], got, sizeof got);
    WANT(memcmp(got, v, sizeof v), 0);
    waitpid(child, nullptr, 0);
    DO(hipFree(a));
    DO(hipFree(b));
}

int main(int argc, char **) {
    if (argc == 1) shared();
    int *a, *b, *c, *big, *out;
    DO(hipMalloc((void **)&a, 100));
    DO(hipMalloc((void **)&b, 5000));
    DO(hipMalloc((void **)&c, 300000));
    DO(hipMalloc((void **)&big, 4 << 20));
    DO(hipMalloc((void **)&out, 64 * 4));
    if (argc == 1) {
        WANT(block(a) == block(b) && block(b) == block(c), 1);
        WANT(block(big) != block(a), 1);
        hipDeviceptr_t base;
        size_t size;
        DO(hipMemGetAddressRange(&base, &size, (char *)b + 77));
        WANT(base == b && size == 5000, 1);
        fill<<<1, 64>>>(a, 1, 25);
        fill<<<1, 64>>>(b, 2, 1250);
        fill<<<1, 64>>>(c, 3, 75000);
        std::vector<int> v(75000);
        DO(hipMemcpy(v.data(), c, 300000, hipMemcpyDeviceToHost));
        for (int x : v) WANT(x, 3);
        DO(hipMemcpy(v.data(), b, 5000, hipMemcpyDeviceToHost));
        for (int i = 0; i < 1250; i++) WANT(v[i], 2);
        int *again;
        DO(hipFree(b));
        WANT(hipFree(b), hipErrorInvalidValue);
        DO(hipMalloc((void **)&again, 8192));
        WANT(again == b, 1); // the gap that it left
    }
    behind<<<1, 64>>>(c, out, 1 << 17); // half a megabyte behind c's begin
    DO(hipDeviceSynchronize());
    return finish();
}
