// Local arrays indexed by data, from either end: they live in scratch, and compilers make a negative offset of the lane and a positive one of the
// instruction out of `array[size - i]`.   localarray [elements]
#include "example.h"

constexpr int places = 17;

// Sums of numbers by how many zero bits they end with, the most first; then one that walks from both ends.
__host__ __device__ void sums(unsigned first, unsigned step, unsigned *out) {
    double column[places];
    for (int i = 0; i < places; i++) column[i] = 0;
    for (unsigned k = first; k < 1u << (places - 1); k += step) {
        const int zeros = int(log2f(float(k & -k)));
        column[places - 1 - zeros] += 2.0 * k;
    }
    double both = 0;
    for (int i = 0; i < places; i++) both += column[i] * 3 - column[places - 1 - i] * (i & 1);
    for (int i = 0; i < places; i++) out[i] = unsigned(column[i]);
    out[places] = unsigned(int(both));
}

__global__ void run(unsigned *out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned mine[places + 1];
    sums(i + 1, n, mine);
    for (int k = 0; k <= places; k++) out[size_t(i) * (places + 1) + k] = mine[k];
}

int main(int argc, char **argv) {
    const size_t n = sizeArg(argc, argv, 1, 500);
    std::vector<unsigned> want(n * (places + 1));
    for (size_t i = 0; i < n; i++) sums(unsigned(i + 1), unsigned(n), &want[i * (places + 1)]);
    DeviceArray<unsigned> out(want.size());
    run<<<ceilDiv(n, 64), 64>>>(out.get(), unsigned(n));
    CHECK_LAUNCH();
    return verdict("localarray", matches("out", out.download(), want));
}
