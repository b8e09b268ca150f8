// Indirect calls on the device through a table, where the lanes of one wave take different targets.
//   functionpointers [elements]
#include "example.h"

__host__ __device__ __attribute__((noinline)) int plus(int a, int b) { return a + b; }
__host__ __device__ __attribute__((noinline)) int minus(int a, int b) { return a - b; }
__host__ __device__ __attribute__((noinline)) int times(int a, int b) { return a * b; }
__host__ __device__ __attribute__((noinline)) int mix(int a, int b) {
    // An array indexed at run time lives in scratch.
    int parts[8];
    for (int i = 0; i < 8; i++) parts[i] = a ^ (b << i);
    return parts[b & 7] + parts[a & 7];
}

using Operation = int (*)(int, int);
__device__ Operation deviceTable[] = {plus, minus, times, mix};
static const Operation hostTable[] = {plus, minus, times, mix};

__global__ void apply(const unsigned char *which, const int *a, const int *b, int *out, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) out[i] = deviceTable[which[i]](a[i], b[i]);
}

int main(int argc, char **argv) {
    const size_t n = sizeArg(argc, argv, 1, 5000);
    Noise noise(13);
    std::vector<unsigned char> which(n);
    std::vector<int> a(n), b(n), want(n);
    for (size_t i = 0; i < n; i++) {
        which[i] = static_cast<unsigned char>(noise.bits() >> 30);
        a[i] = int(noise.bits() >> 20);
        b[i] = int(noise.bits() >> 20);
        want[i] = hostTable[which[i]](a[i], b[i]);
    }
    DeviceArray<unsigned char> dwhich(which);
    DeviceArray<int> da(a), db(b), dout(n);
    apply<<<ceilDiv(n, 128), 128>>>(dwhich.get(), da.get(), db.get(), dout.get(), n);
    CHECK_LAUNCH();
    return verdict("functionpointers", matches("out", dout.download(), want));
}
