// LDS whose size is chosen at launch: the same kernel reverses segments of several lengths.   dynamiclds [segments]
#include "example.h"

extern __shared__ int scratchpad[];

__global__ void reverseSegments(const int *in, int *out, int length) {
    const size_t base = size_t(blockIdx.x) * length;
    for (int i = threadIdx.x; i < length; i += blockDim.x) scratchpad[i] = in[base + i];
    __syncthreads();
    for (int i = threadIdx.x; i < length; i += blockDim.x) out[base + i] = scratchpad[length - 1 - i];
}

int main(int argc, char **argv) {
    const size_t segments = sizeArg(argc, argv, 1, 4);
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    Noise noise(11);
    bool ok = true;
    for (size_t bytes : {size_t(4), size_t(1000), size_t(4096), size_t(20004), properties.sharedMemPerBlock}) {
        const int length = int(bytes / sizeof(int));
        std::vector<int> in(segments * length), want(in.size());
        for (int &v : in) v = int(noise.bits());
        for (size_t s = 0; s < segments; s++)
            for (int i = 0; i < length; i++) want[s * length + i] = in[s * length + length - 1 - i];
        DeviceArray<int> din(in), dout(in.size());
        reverseSegments<<<segments, 128, bytes>>>(din.get(), dout.get(), length);
        CHECK_LAUNCH();
        ok = matches("out", dout.download(), want) && ok;
    }
    return verdict("dynamiclds", ok);
}
