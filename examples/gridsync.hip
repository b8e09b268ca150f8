// A cooperative launch: relaxation of a ring of cells, all steps in one kernel. Between steps the whole grid waits,
// once by grid.sync() and once by a barrier of its own in memory.   gridsync [cells] [steps]
#include "example.h"

#include <hip/hip_cooperative_groups.h>

constexpr int block = 128;

// gfx94x and gfx11 on have no global wave sync; this HIP's device library knows no other grid barrier.
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__GFX11__) || defined(__GFX12__)
constexpr bool hardwareSync = false;
#else
constexpr bool hardwareSync = true;
#endif

struct Barrier {
    unsigned arrived, round;
};

// memorySync returns when every block of the grid has called it.
__device__ void memorySync(Barrier *b, unsigned blocks) {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned round = __hip_atomic_load(&b->round, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        if (__hip_atomic_fetch_add(&b->arrived, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT) == blocks - 1) {
            __hip_atomic_store(&b->arrived, 0u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
            __hip_atomic_fetch_add(&b->round, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
        } else {
            while (__hip_atomic_load(&b->round, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == round)
                __builtin_amdgcn_s_sleep(1);
        }
    }
    __syncthreads();
    __threadfence();
}

__global__ void relax(int *a, int *b, int cells, int steps, Barrier *barrier, bool library) {
    const int stride = gridDim.x * block, first = blockIdx.x * block + threadIdx.x;
    for (int s = 0; s < steps; s++) {
        const int *from = s % 2 ? b : a;
        int *to = s % 2 ? a : b;
        for (int i = first; i < cells; i += stride)
            to[i] = (from[(i + cells - 1) % cells] + 2 * from[i] + from[(i + 1) % cells]) / 4;
        if constexpr (hardwareSync) {
            if (library) {
                cooperative_groups::this_grid().sync();
                continue;
            }
        }
        memorySync(barrier, gridDim.x);
    }
}

int main(int argc, char **argv) {
    int cells = static_cast<int>(sizeArg(argc, argv, 1, 5000)), steps = static_cast<int>(sizeArg(argc, argv, 2, 24));

    std::vector<int> start(cells), want, next(cells);
    Noise noise(3);
    for (int &v : start) v = static_cast<int>(noise.bits() >> 8);
    want = start;
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < cells; i++)
            next[i] = (want[(i + cells - 1) % cells] + 2 * want[i] + want[(i + 1) % cells]) / 4;
        want.swap(next);
    }

    int perUnit = 0;
    hipDeviceProp_t device;
    CHECK(hipGetDeviceProperties(&device, 0));
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&perUnit, relax, block, 0));
    const int most = perUnit * device.multiProcessorCount;
    const int blocks = std::min(most, static_cast<int>(ceilDiv(cells, block)));

    bool ok = true;
    DeviceArray<Barrier> barrier(1);
    for (bool library : {true, false}) {
        DeviceArray<int> a(start), b(cells);
        barrier.upload({Barrier{0, 0}});
        int *pa = a.get(), *pb = b.get();
        Barrier *pbar = barrier.get();
        void *args[] = {&pa, &pb, &cells, &steps, &pbar, &library};
        CHECK(hipLaunchCooperativeKernel(relax, dim3(blocks), dim3(block), args, 0, nullptr));
        CHECK(hipDeviceSynchronize());
        ok = matches(library ? "grid.sync()" : "barrier in memory", (steps % 2 ? b : a).download(), want) && ok;
    }

    // One block more than the device can hold at once could wait for ever: the launch is refused.
    int *none = nullptr;
    Barrier *pbar = barrier.get();
    bool library = true;
    int zero = 0;
    void *args[] = {&none, &none, &zero, &zero, &pbar, &library};
    hipError_t status = hipLaunchCooperativeKernel(relax, dim3(most + 1), dim3(block), args, 0, nullptr);
    if (status != hipErrorCooperativeLaunchTooLarge) {
        std::printf("%d blocks, %d fit: %s\n", most + 1, most, hipGetErrorName(status));
        ok = false;
    }
    (void)hipGetLastError();
    return verdict("gridsync", ok);
}
