// ROCm/rocm-systems#7896: eight threads, each with a stream of its own and asynchronous copies of 64 MiB to the device and back. No completion may get lost.
#include "case.h"

#include <thread>

namespace rocm_systems_7896 {

void copies(int which, int rounds) {
    const size_t size = 64 << 20;
    hipStream_t s;
    char *host, *device;
    HIP(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    HIP(hipHostMalloc(&host, size));
    HIP(hipMalloc(&device, size));
    for (int round = 0; round < rounds; round++) {
        // A mark in each MiB is enough to see that the copy was made, and is cheap.
        for (size_t i = 0; i < size; i += 1 << 20) host[i] = (char)(which + round + (i >> 20));
        HIP(hipMemcpyAsync(device, host, size, hipMemcpyHostToDevice, s));
        HIP(hipStreamSynchronize(s));
        for (size_t i = 0; i < size; i += 1 << 20) host[i] = 0;
        HIP(hipMemcpyAsync(host, device, size, hipMemcpyDeviceToHost, s));
        HIP(hipStreamSynchronize(s));
        for (size_t i = 0; i < size; i += 1 << 20) SAME(host[i], (char)(which + round + (i >> 20)));
    }
    HIP(hipFree(device));
    HIP(hipHostFree(host));
    HIP(hipStreamDestroy(s));
}

CASE(issue_rocm_systems_7896) {
    const char *rounds = std::getenv("ROUNDS");
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++) threads.emplace_back(copies, i, rounds ? std::atoi(rounds) : 1);
    for (auto &t : threads) t.join();
    std::puts("DONE");
}

}  // namespace rocm_systems_7896
