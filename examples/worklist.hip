// A work-group that takes one description of work after the other from a list: the first wave copies the next into LDS. It does so behind the same barrier
// as all waves look there whether the one that they have done was the last: nothing but time keeps the copy, which waits for memory, behind
// the looks. RCCL's kernels work so. A GPU that lets one wave run far ahead behind a barrier loses waves here.   worklist [descriptions]
#include "example.h"

struct alignas(16) Work {
    unsigned next, last, value, place;
    unsigned more[60]; // 256 bytes in all
};

constexpr unsigned items = 256;

__global__ void doAll(const Work *list, unsigned *out) {
    __shared__ Work work;
    const auto fetch = [&](unsigned i) {
        if (threadIdx.x < sizeof(Work) / sizeof(uint4))
            reinterpret_cast<uint4 *>(&work)[threadIdx.x] = reinterpret_cast<const uint4 *>(list + i)[threadIdx.x];
    };
    fetch(0);
    for (;;) {
        __syncthreads();
        out[work.place * items + threadIdx.x] += work.value + work.more[threadIdx.x % 60];
        const unsigned next = work.next;
        if (work.value % 2) __syncthreads(); // as between two steps of one work: the number of barriers is now even, now odd
        __syncthreads();
        if (work.last) break;
        fetch(next);
    }
}

int main(int argc, char **argv) {
    const size_t n = sizeArg(argc, argv, 1, 9);
    std::vector<Work> list(n);
    std::vector<unsigned> want(n * items);
    Noise noise(21);
    for (size_t i = 0; i < n; i++) {
        Work &w = list[i];
        w.next = unsigned(i + 1), w.last = i + 1 == n, w.value = noise.bits(), w.place = unsigned((i * 7) % n);
        for (unsigned &m : w.more) m = noise.bits();
        for (unsigned t = 0; t < items; t++) want[w.place * items + t] += w.value + w.more[t % 60];
    }
    DeviceArray<Work> dlist(list);
    DeviceArray<unsigned> out(std::vector<unsigned>(want.size()));
    doAll<<<1, items>>>(dlist.get(), out.get());
    CHECK_LAUNCH();
    return verdict("worklist", matches("out", out.download(), want));
}
