// 64 MiB of ordinary malloc'ed memory, registered so that the GPU reads and writes it in place; the kernel touches one
// word of each 256 bytes, the host checks those and that the rest is unchanged.   hostregister [mebibytes]
#include "example.h"

constexpr size_t stride = 64;  // in words

__global__ void touch(unsigned *data, size_t words) {
    const size_t step = size_t(gridDim.x) * blockDim.x * stride;
    for (size_t i = (size_t(blockIdx.x) * blockDim.x + threadIdx.x) * stride; i < words; i += step)
        data[i] = data[i] * 2 + 1;
}

int main(int argc, char **argv) {
    const size_t bytes = sizeArg(argc, argv, 1, 64) << 20;
    const size_t words = bytes / sizeof(unsigned);
    unsigned *host = static_cast<unsigned *>(std::malloc(bytes));
    if (!host) return 1;
    for (size_t i = 0; i < words; i++) host[i] = unsigned(i);
    CHECK(hipHostRegister(host, bytes, hipHostRegisterDefault));
    unsigned *device = nullptr;
    CHECK(hipHostGetDevicePointer(reinterpret_cast<void **>(&device), host, 0));
    touch<<<64, 256>>>(device, words);
    CHECK_LAUNCH();
    CHECK(hipDeviceSynchronize());
    bool ok = true;
    for (size_t i = 0; i < words && ok; i++) {
        const unsigned want = i % stride == 0 ? unsigned(i) * 2 + 1 : unsigned(i);
        if (host[i] != want) {
            std::printf("host[%zu] = %u, want %u\n", i, host[i], want);
            ok = false;
        }
    }
    CHECK(hipHostUnregister(host));
    std::free(host);
    return verdict("hostregister", ok);
}
