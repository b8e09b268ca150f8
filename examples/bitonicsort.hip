// Bitonic sort of a power of two of keys: short distances in LDS, long ones with one launch a step.
//   bitonicsort [log2 of the number of keys]
#include "example.h"

#include <algorithm>

constexpr unsigned block = 256;

__device__ inline void exchange(unsigned &a, unsigned &b, bool ascending) {
    if ((a > b) == ascending) {
        const unsigned t = a;
        a = b;
        b = t;
    }
}

// step compares keys that lie `distance` apart; runs of `length` keys alternate in direction.
__global__ void step(unsigned *keys, unsigned length, unsigned distance) {
    const unsigned i = blockIdx.x * block + threadIdx.x;
    const unsigned partner = i ^ distance;
    if (partner > i) exchange(keys[i], keys[partner], (i & length) == 0);
}

// stepsInLDS does all remaining distances, from block/2 down to 1, of a run length.
__global__ void stepsInLDS(unsigned *keys, unsigned length, unsigned distance) {
    __shared__ unsigned lds[block];
    const unsigned i = blockIdx.x * block + threadIdx.x;
    lds[threadIdx.x] = keys[i];
    __syncthreads();
    for (; distance > 0; distance /= 2) {
        const unsigned partner = threadIdx.x ^ distance;
        if (partner > threadIdx.x) exchange(lds[threadIdx.x], lds[partner], (i & length) == 0);
        __syncthreads();
    }
    keys[i] = lds[threadIdx.x];
}

int main(int argc, char **argv) {
    const unsigned n = 1u << std::max<size_t>(8, std::min<size_t>(28, sizeArg(argc, argv, 1, 13)));
    Noise noise(9);
    std::vector<unsigned> keys(n);
    for (unsigned &k : keys) k = noise.bits();
    DeviceArray<unsigned> dkeys(keys);
    for (unsigned length = 2; length <= n; length *= 2) {
        unsigned distance = length / 2;
        for (; distance >= block; distance /= 2) {
            step<<<n / block, block>>>(dkeys.get(), length, distance);
            CHECK_LAUNCH();
        }
        stepsInLDS<<<n / block, block>>>(dkeys.get(), length, distance);
        CHECK_LAUNCH();
    }
    std::sort(keys.begin(), keys.end());
    return verdict("bitonicsort", matches("keys", dkeys.download(), keys));
}
