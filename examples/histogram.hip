// 256-bin histogram: atomics in LDS within a block, then atomics in global memory.   histogram [bytes]
#include "example.h"

constexpr int bins = 256;

__global__ void histogram(const unsigned char *data, size_t n, unsigned *counts) {
    __shared__ unsigned local[bins];
    for (int b = threadIdx.x; b < bins; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
        atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += blockDim.x)
        if (local[b] != 0) atomicAdd(&counts[b], local[b]);
}

int main(int argc, char **argv) {
    const size_t n = sizeArg(argc, argv, 1, 150000);
    Noise noise(6);
    std::vector<unsigned char> data(n);
    std::vector<unsigned> want(bins);
    for (unsigned char &v : data) {
        v = static_cast<unsigned char>((noise.bits() >> 24) & (noise.bits() >> 24));  // skewed on purpose
        want[v]++;
    }
    DeviceArray<unsigned char> ddata(data);
    DeviceArray<unsigned> dcounts(bins);
    CHECK(hipMemset(dcounts.get(), 0, dcounts.bytes()));
    histogram<<<16, 128>>>(ddata.get(), n, dcounts.get());
    CHECK_LAUNCH();
    return verdict("histogram", matches("counts", dcounts.download(), want));
}
