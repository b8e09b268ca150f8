// Not an example to copy: a kernel that writes far past its buffer. ROCr is to report a memory fault and abort.
//   outofbounds [bytes past the start]
#include "../example.h"

__global__ void strayStore(unsigned *data, size_t offset) {
    data[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 5) data[offset / sizeof(unsigned)] = 0xbad;  // the faulting line
}

int main(int argc, char **argv) {
    const size_t offset = sizeArg(argc, argv, 1, size_t(1) << 40);
    DeviceArray<unsigned> d(1024);
    strayStore<<<1, 64>>>(d.get(), offset);
    CHECK_LAUNCH();
    const hipError_t status = hipDeviceSynchronize();
    std::printf("hipDeviceSynchronize: %s\n", hipGetErrorName(status));
    return status == hipSuccess ? 0 : 1;
}
