// Not an example to copy: a kernel with a word in it that is no instruction. The program is to end with an error that says
// so, not to hang.   illegal
#include "../example.h"

__global__ void strayWord(unsigned *data) {
    data[threadIdx.x] = 1;
    if (data[threadIdx.x] == 1) asm volatile(".long 0xc0ffee00");  // no encoding begins with these bits on any target
    data[threadIdx.x] = 2;
}

int main() {
    DeviceArray<unsigned> d(64);
    strayWord<<<1, 64>>>(d.get());
    CHECK_LAUNCH();
    const hipError_t status = hipDeviceSynchronize();
    std::printf("hipDeviceSynchronize: %s\n", hipGetErrorName(status));
    return status == hipSuccess ? 0 : 1;
}
