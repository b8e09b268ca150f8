// Sum and maximum of an array: a tree in LDS for each block, then one atomic a block.   reduction [elements]
#include "example.h"

constexpr int block = 256;

__global__ void reduce(const int *in, size_t n, unsigned long long *sum, int *maximum) {
    __shared__ long long sums[block];
    __shared__ int maxima[block];
    long long s = 0;
    int m = INT32_MIN;
    for (size_t i = size_t(blockIdx.x) * block + threadIdx.x; i < n; i += size_t(gridDim.x) * block) {
        s += in[i];
        m = max(m, in[i]);
    }
    sums[threadIdx.x] = s;
    maxima[threadIdx.x] = m;
    __syncthreads();
    for (int half = block / 2; half > 0; half /= 2) {
        if (int(threadIdx.x) < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
            maxima[threadIdx.x] = max(maxima[threadIdx.x], maxima[threadIdx.x + half]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(sum, static_cast<unsigned long long>(sums[0]));
        atomicMax(maximum, maxima[0]);
    }
}

int main(int argc, char **argv) {
    const size_t n = sizeArg(argc, argv, 1, 200001);
    Noise noise(4);
    std::vector<int> in(n);
    unsigned long long wantSum = 0;
    int wantMax = INT32_MIN;
    for (int &v : in) {
        v = static_cast<int>(noise.bits());
        wantSum += static_cast<unsigned long long>(static_cast<long long>(v));
        wantMax = std::max(wantMax, v);
    }
    DeviceArray<int> din(in);
    DeviceArray<unsigned long long> dsum(std::vector<unsigned long long>{0});
    DeviceArray<int> dmax(std::vector<int>{INT32_MIN});
    reduce<<<32, block>>>(din.get(), n, dsum.get(), dmax.get());
    CHECK_LAUNCH();
    const unsigned long long sum = dsum.download()[0];
    const int maximum = dmax.download()[0];
    if (sum != wantSum) std::printf("sum = %lld, want %lld\n", (long long)sum, (long long)wantSum);
    if (maximum != wantMax) std::printf("max = %d, want %d\n", maximum, wantMax);
    return verdict("reduction", sum == wantSum && maximum == wantMax);
}
