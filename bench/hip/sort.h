// An LSD radix sort of 32-bit keys, four passes of 8 bits, each of three kernels: digits are counted by tile, the counts
// are scanned, and keys are scattered stably. A wave ranks its keys by voting: of the lanes with the same digit, each has
// as many before it as there are such lanes below.
#pragma once

static const int sortThreads = 256, sortItems = 16, sortTile = sortThreads * sortItems, digits = 256;

__global__ __launch_bounds__(256) void sortCount(const unsigned *in, unsigned *counts, int shift, int tiles) {
    __shared__ unsigned bins[digits];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = 0; i < sortItems; i++) atomicAdd(&bins[in[blockIdx.x * sortTile + i * sortThreads + threadIdx.x] >> shift & (digits - 1)], 1u);
    __syncthreads();
    counts[threadIdx.x * tiles + blockIdx.x] = bins[threadIdx.x];
}

// sortScan makes each count the sum of those before it; one group.
__global__ __launch_bounds__(256) void sortScan(unsigned *counts, int n) {
    __shared__ unsigned sums[sortThreads];
    const int each = n / sortThreads, at = threadIdx.x * each;
    unsigned total = 0;
    for (int i = 0; i < each; i++) total += counts[at + i];
    sums[threadIdx.x] = total;
    __syncthreads();
    for (int d = 1; d < sortThreads; d *= 2) {
        unsigned x = threadIdx.x >= unsigned(d) ? sums[threadIdx.x - d] : 0;
        __syncthreads();
        sums[threadIdx.x] += x;
        __syncthreads();
    }
    unsigned before = sums[threadIdx.x] - total;
    for (int i = 0; i < each; i++) {
        unsigned x = counts[at + i];
        counts[at + i] = before;
        before += x;
    }
}

__global__ __launch_bounds__(256) void sortScatter(const unsigned *in, unsigned *out, const unsigned *offsets, int shift, int tiles) {
    __shared__ volatile unsigned counts[8][digits]; // by wave; 4 or 8 of them
    const int wave = threadIdx.x / warpSize, lane = threadIdx.x % warpSize, waves = sortThreads / warpSize;
    for (int w = 0; w < waves; w++) counts[w][threadIdx.x] = 0;
    __syncthreads();
    const unsigned long long below = (1ull << lane) - 1;
    unsigned keys[sortItems], ranks[sortItems];
    const unsigned *tile = in + blockIdx.x * sortTile + wave * warpSize * sortItems + lane;
#pragma unroll
    for (int i = 0; i < sortItems; i++) {
        keys[i] = tile[i * warpSize];
        const unsigned d = keys[i] >> shift & (digits - 1);
        unsigned long long same = ~0ull;
        for (int bit = 0; bit < 8; bit++) {
            const bool one = d >> bit & 1;
            const unsigned long long v = __ballot(one);
            same &= one ? v : ~v;
        }
        if (warpSize == 32) same &= 0xffffffffull;
        const unsigned before = counts[wave][d];
        ranks[i] = before + __popcll(same & below);
        if ((same & below) == 0) counts[wave][d] = before + __popcll(same);
    }
    __syncthreads();
    // Digit threadIdx.x: where each wave's keys begin.
    unsigned at = offsets[threadIdx.x * tiles + blockIdx.x];
    for (int w = 0; w < waves; w++) {
        unsigned x = counts[w][threadIdx.x];
        counts[w][threadIdx.x] = at;
        at += x;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < sortItems; i++) out[counts[wave][keys[i] >> shift & (digits - 1)] + ranks[i]] = keys[i];
}

static void radixSort(size_t n) {
    std::vector<unsigned> h(n);
    Noise noise(7);
    for (auto &v : h) v = noise.bits();
    const int tiles = int(n / sortTile);
    DeviceArray<unsigned> start(h), a(n), b(n), counts(size_t(tiles) * digits);
    double s = best([&] {
        const unsigned *from = start.get();
        unsigned *to = a.get(), *other = b.get();
        for (int shift = 0; shift < 32; shift += 8) {
            sortCount<<<tiles, sortThreads>>>(from, counts.get(), shift, tiles);
            sortScan<<<1, sortThreads>>>(counts.get(), tiles * digits);
            sortScatter<<<tiles, sortThreads>>>(from, to, counts.get(), shift, tiles);
            from = to;
            std::swap(to, other);
        }
        sync();
    });
    std::sort(h.begin(), h.end());
    if (b.download() != h) {
        std::fprintf(stderr, "bench: the radix sort is wrong\n");
        std::exit(1);
    }
    report("radix_sort", n / s / 1e6, "M/s");
}
