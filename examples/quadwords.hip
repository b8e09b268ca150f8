// Quadwords that some work-groups write while others read them: each is one access, alone or as a half of 16 bytes, so its dwords always belong together.
// One-pass scans hand a flag and a sum to each other so, and RCCL's ranks their data.   quadwords [rounds]
#include "example.h"

using Quad = unsigned long long;
constexpr unsigned lanes = 64;

// Groups of even number write, in each lane another place; those of odd number look for halves that do not belong together.
__global__ void handOver(Quad *places, unsigned stride, unsigned rounds, unsigned *torn) {
    Quad *place = places + size_t(threadIdx.x) * stride;
    if (blockIdx.x % 2 == 0) {
        for (unsigned i = 1; i <= rounds; i++) {
            const Quad half = i * 2654435761u + blockIdx.x;
            const Quad both = half << 32 | unsigned(half);
            if (i % 2)
                atomicExch(place, both);
            else
                __hip_atomic_store(place, both, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        }
        return;
    }
    unsigned bad = 0;
    for (unsigned i = 0; i < rounds; i++) {
        const Quad q = __hip_atomic_load(place, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        bad += unsigned(q) != unsigned(q >> 32);
    }
    if (bad) atomicAdd(torn, bad);
}

using Pair = Quad __attribute__((ext_vector_type(2)));

// The same with two quadwords in one access, which need not belong together.
__global__ void handOverPairs(Quad *places, unsigned stride, unsigned rounds, unsigned *torn) {
    Pair *place = reinterpret_cast<Pair *>(places) + size_t(threadIdx.x) * stride;
    if (blockIdx.x % 2 == 0) {
        for (unsigned i = 1; i <= rounds; i++) {
            const Quad half = i * 2654435761u + blockIdx.x;
            const Quad both = half << 32 | unsigned(half);
            __builtin_nontemporal_store(Pair{both, both + 0x100000001}, place);
            __asm__ volatile("" ::: "memory"); // each time
        }
        return;
    }
    unsigned bad = 0;
    for (unsigned i = 0; i < rounds; i++) {
        const Pair p = __builtin_nontemporal_load(place);
        __asm__ volatile("" ::: "memory");
        bad += unsigned(p.x) != unsigned(p.x >> 32);
        bad += unsigned(p.y) != unsigned(p.y >> 32);
    }
    if (bad) atomicAdd(torn, bad);
}

int main(int argc, char **argv) {
    const unsigned rounds = unsigned(sizeArg(argc, argv, 1, 2000));
    bool ok = true;
    for (unsigned stride : {1u, 2u, 5u, 1000u}) {
        for (auto kernel : {handOver, handOverPairs}) {
            DeviceArray<Quad> places(std::vector<Quad>(2 * size_t(lanes) * stride));
            DeviceArray<unsigned> torn(std::vector<unsigned>(1));
            kernel<<<16, lanes>>>(places.get(), stride, rounds, torn.get());
            CHECK_LAUNCH();
            const unsigned count = torn.download()[0];
            if (count) std::printf("stride %u: %u quadwords of halves that do not belong together\n", stride, count);
            ok = ok && count == 0;
        }
    }
    return verdict("quadwords", ok);
}
