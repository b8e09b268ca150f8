// Inclusive prefix sum of any length: each block scans its part in LDS, the block totals are scanned in the same way
// (recursively), and a last kernel adds each block's offset.   scan [elements]
#include "example.h"

constexpr unsigned block = 256;

__global__ void scanBlocks(const unsigned *in, unsigned *out, unsigned *totals, size_t n) {
    __shared__ unsigned lds[2][block];  // two halves, read from one and write to the other
    const size_t i = size_t(blockIdx.x) * block + threadIdx.x;
    int side = 0;
    lds[0][threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned distance = 1; distance < block; distance *= 2) {
        unsigned v = lds[side][threadIdx.x];
        if (threadIdx.x >= distance) v += lds[side][threadIdx.x - distance];
        lds[1 - side][threadIdx.x] = v;
        side = 1 - side;
        __syncthreads();
    }
    if (i < n) out[i] = lds[side][threadIdx.x];
    if (threadIdx.x == block - 1) totals[blockIdx.x] = lds[side][threadIdx.x];
}

__global__ void addOffsets(unsigned *out, const unsigned *scannedTotals, size_t n) {
    const size_t i = size_t(blockIdx.x) * block + threadIdx.x;
    if (blockIdx.x > 0 && i < n) out[i] += scannedTotals[blockIdx.x - 1];
}

static void inclusiveScan(const unsigned *in, unsigned *out, size_t n) {
    const size_t blocks = ceilDiv(n, block);
    DeviceArray<unsigned> totals(blocks);
    scanBlocks<<<blocks, block>>>(in, out, totals.get(), n);
    CHECK_LAUNCH();
    if (blocks > 1) {
        DeviceArray<unsigned> scanned(blocks);
        inclusiveScan(totals.get(), scanned.get(), blocks);
        addOffsets<<<blocks, block>>>(out, scanned.get(), n);
        CHECK_LAUNCH();
        CHECK(hipDeviceSynchronize());  // before the totals are freed
    }
}

int main(int argc, char **argv) {
    const size_t n = sizeArg(argc, argv, 1, 70001);
    Noise noise(5);
    std::vector<unsigned> in(n), want(n);
    unsigned running = 0;
    for (size_t i = 0; i < n; i++) {
        in[i] = noise.bits() >> 8;
        want[i] = running += in[i];
    }
    DeviceArray<unsigned> din(in), dout(n);
    inclusiveScan(din.get(), dout.get(), n);
    return verdict("scan", matches("out", dout.download(), want));
}
