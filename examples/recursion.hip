// Recursion on the device: each lane has its own stack in scratch and its own depth.   recursion [elements]
#include "example.h"

// Ackermann's function for m <= 2, and a tree walk with an array in each frame.
__host__ __device__ __attribute__((noinline)) unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__host__ __device__ __attribute__((noinline)) unsigned walk(unsigned node, int depth) {
    unsigned child[4];
    for (unsigned c = 0; c < 4; c++) child[c] = node * 4 + c + 1;
    if (depth == 0) return child[node & 3];
    return walk(child[node & 3], depth - 1) + walk(child[(node >> 2) & 3], depth - 1) * 31 + child[3];
}

__global__ void recurse(unsigned *out, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) out[i] = ackermann(i % 3, i % 5) * 1000003u + walk(unsigned(i), int(i % 4));
}

int main(int argc, char **argv) {
    const size_t n = sizeArg(argc, argv, 1, 1000);
    std::vector<unsigned> want(n);
    for (size_t i = 0; i < n; i++) want[i] = ackermann(i % 3, i % 5) * 1000003u + walk(unsigned(i), int(i % 4));
    DeviceArray<unsigned> dout(n);
    recurse<<<ceilDiv(n, 64), 64>>>(dout.get(), n);
    CHECK_LAUNCH();
    return verdict("recursion", matches("out", dout.download(), want));
}
