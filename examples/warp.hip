// Wave-level operations: the four shuffles at several widths, ballot, any, all, lane numbers. The expected values
// follow from the wave size that the device reports: 64 on gfx9, 32 on gfx10.   warp [work-items]
#include "example.h"

constexpr int block = 256;

struct Row {
    int down, up, exclusiveOr, broadcast, narrow;
    int any, all, rank, size;
    unsigned long long ballot;
    double wide;
};

__global__ void warpOps(Row *out, const int *in) {
    const int i = blockIdx.x * block + threadIdx.x;
    const int v = in[i];
    Row r;
    r.down = __shfl_down(v, 16);
    r.up = __shfl_up(v, 3);
    r.exclusiveOr = __shfl_xor(v, 5);
    r.broadcast = __shfl(v, 7);
    r.narrow = __shfl(v, 2, 8);
    r.any = __any(v % 97 == 0);
    r.all = __all(v >= 0);
    r.ballot = __ballot(v & 1);
    r.rank = __popcll(r.ballot & ((1ull << __lane_id()) - 1));
    r.size = warpSize;
    r.wide = __shfl_xor(v * 0.5, 1);
    out[i] = r;
}

int main(int argc, char **argv) {
    const int n = int(ceilDiv(sizeArg(argc, argv, 1, 2048), block)) * block;
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    const int wave = properties.warpSize;
    Noise noise(10);
    std::vector<int> in(n);
    for (int &v : in) v = int(noise.bits() >> 8);
    DeviceArray<int> din(in);
    DeviceArray<Row> dout(n);
    warpOps<<<n / block, block>>>(dout.get(), din.get());
    CHECK_LAUNCH();
    const std::vector<Row> out = dout.download();

    int bad = 0;
    auto expect = [&](int i, const char *what, double got, double want) {
        if (got != want && bad++ < 10) std::printf("work-item %d: %s = %.17g, want %.17g\n", i, what, got, want);
    };
    for (int i = 0; i < n; i++) {
        const int first = i / wave * wave, lane = i - first;
        const int *w = &in[first];
        unsigned long long ballot = 0;
        int any = 0, all = 1;
        for (int l = 0; l < wave; l++) {
            ballot |= static_cast<unsigned long long>(w[l] & 1) << l;
            any |= w[l] % 97 == 0;
            all &= w[l] >= 0;
        }
        const unsigned long long below = ballot & ((1ull << lane) - 1);
        const Row &r = out[i];
        expect(i, "shfl_down", r.down, lane + 16 < wave ? w[lane + 16] : w[lane]);
        expect(i, "shfl_up", r.up, lane >= 3 ? w[lane - 3] : w[lane]);
        expect(i, "shfl_xor", r.exclusiveOr, w[lane ^ 5]);
        expect(i, "shfl", r.broadcast, w[7]);
        expect(i, "shfl width 8", r.narrow, w[lane / 8 * 8 + 2]);
        expect(i, "any", r.any != 0, any);
        expect(i, "all", r.all != 0, all);
        expect(i, "ballot, low half", double(r.ballot & 0xffffffff), double(ballot & 0xffffffff));
        expect(i, "ballot, high half", double(r.ballot >> 32), double(ballot >> 32));
        expect(i, "rank", r.rank, __builtin_popcountll(below));
        expect(i, "warpSize", r.size, wave);
        expect(i, "shfl_xor double", r.wide, w[lane ^ 1] * 0.5);
    }
    return verdict("warp", bad == 0);
}
