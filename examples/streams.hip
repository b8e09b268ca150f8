// Several streams, each with asynchronous copies and kernels in order; events across streams; times from events; a host
// callback.   streams [streams] [elements a stream]
#include "example.h"

#include <atomic>

__global__ void multiplyAdd(int *data, size_t n, int factor, int term) {
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
        data[i] = data[i] * factor + term;
}

static std::atomic<int> callbacks;

static void countCallback(hipStream_t, hipError_t status, void *) {
    if (status == hipSuccess) callbacks++;
}

int main(int argc, char **argv) {
    const size_t streams = sizeArg(argc, argv, 1, 4);
    const size_t n = sizeArg(argc, argv, 2, 20000);
    const size_t bytes = n * sizeof(int);
    std::vector<hipStream_t> stream(streams);
    std::vector<hipEvent_t> done(streams);
    std::vector<int *> host(streams), device(streams);
    hipEvent_t start, stop;
    CHECK(hipEventCreate(&start));
    CHECK(hipEventCreate(&stop));
    for (size_t s = 0; s < streams; s++) {
        CHECK(hipStreamCreateWithFlags(&stream[s], hipStreamNonBlocking));
        CHECK(hipEventCreateWithFlags(&done[s], hipEventDisableTiming));
        CHECK(hipHostMalloc(reinterpret_cast<void **>(&host[s]), bytes, hipHostMallocDefault));
        CHECK(hipMalloc(reinterpret_cast<void **>(&device[s]), bytes));
        for (size_t i = 0; i < n; i++) host[s][i] = int(i + s);
    }

    // Stream s waits for stream s-1's kernel, so that the chain of copies into the next one's buffer is ordered by
    // events alone: each buffer ends up as its predecessor's result times 3 plus 1.
    CHECK(hipEventRecord(start, stream[0]));
    for (size_t s = 0; s < streams; s++) {
        CHECK(hipMemcpyAsync(device[s], host[s], bytes, hipMemcpyHostToDevice, stream[s]));
        if (s > 0) {
            CHECK(hipStreamWaitEvent(stream[s], done[s - 1], 0));
            CHECK(hipMemcpyAsync(device[s], device[s - 1], bytes, hipMemcpyDeviceToDevice, stream[s]));
        }
        multiplyAdd<<<8, 256, 0, stream[s]>>>(device[s], n, 3, 1);
        CHECK_LAUNCH();
        CHECK(hipEventRecord(done[s], stream[s]));
        CHECK(hipMemcpyAsync(host[s], device[s], bytes, hipMemcpyDeviceToHost, stream[s]));
        CHECK(hipStreamAddCallback(stream[s], countCallback, nullptr, 0));
    }
    CHECK(hipEventRecord(stop, stream[streams - 1]));
    for (hipStream_t s : stream) CHECK(hipStreamSynchronize(s));

    bool ok = true;
    for (size_t s = 0; s < streams; s++) {
        int power = 1, sum = 0;  // 3^(s+1) x + (3^(s+1) - 1) / 2, modulo 2^32
        for (size_t p = 0; p <= s; p++) {
            sum = sum * 3 + 1;
            power *= 3;
        }
        for (size_t i = 0; i < n && ok; i++) {
            const int want = int(i) * power + sum;
            if (host[s][i] != want) {
                std::printf("stream %zu [%zu] = %d, want %d\n", s, i, host[s][i], want);
                ok = false;
            }
        }
    }
    CHECK(hipEventSynchronize(stop));
    float milliseconds = -1;
    CHECK(hipEventElapsedTime(&milliseconds, start, stop));
    if (!(milliseconds > 0 && milliseconds < 600000)) {
        std::printf("elapsed time %g ms\n", milliseconds);
        ok = false;
    }
    if (hipEventQuery(stop) != hipSuccess || hipStreamQuery(stream[0]) != hipSuccess) {
        std::printf("query after synchronize is not hipSuccess\n");
        ok = false;
    }
    for (size_t s = 0; s < streams; s++) {
        CHECK(hipStreamDestroy(stream[s]));
        CHECK(hipEventDestroy(done[s]));
        CHECK(hipHostFree(host[s]));
        CHECK(hipFree(device[s]));
    }
    CHECK(hipEventDestroy(start));
    CHECK(hipEventDestroy(stop));
    if (callbacks != int(streams)) {
        std::printf("%d callbacks, want %zu\n", callbacks.load(), streams);
        ok = false;
    }
    return verdict("streams", ok);
}
