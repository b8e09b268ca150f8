// Atomics of every kind on device memory and on host memory, by many work-items at once: integer add, subtract, minimum,
// maximum, and, or, xor, exchange, compare-and-swap (as a lock-free float sum), 64-bit, float and double add.
//   atomics [work-items]
#include "example.h"

struct Cells {
    unsigned add, subtract, minimum, maximum, bitAnd, bitOr, bitXor, increment, swaps;
    float casSum, floatSum;
    double doubleSum;
    unsigned long long wide;
};

__global__ void hammer(Cells *c, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&c->add, i);
    atomicSub(&c->subtract, 1u);
    atomicMin(&c->minimum, i ^ 0x155u);
    atomicMax(&c->maximum, i ^ 0x155u);
    atomicAnd(&c->bitAnd, ~(1u << (i % 31)));
    atomicOr(&c->bitOr, 1u << (i % 31));
    atomicXor(&c->bitXor, i);
    atomicInc(&c->increment, 99u);
    atomicExch(&c->swaps, i);
    atomicAdd(&c->floatSum, 0.5f);
    atomicAdd(&c->doubleSum, 0.25);
    atomicAdd(&c->wide, 0x100000001ull);
    unsigned *bits = reinterpret_cast<unsigned *>(&c->casSum);
    unsigned old = *bits, seen;
    while ((seen = atomicCAS(bits, old, __float_as_uint(__uint_as_float(old) + 1.0f))) != old) old = seen;
}

static Cells initial(unsigned n) {
    Cells c = {};
    c.subtract = n;
    c.minimum = 0xffffffff;
    c.bitAnd = 0xffffffff;
    return c;
}

static bool check(const char *where, const Cells &c, unsigned n) {
    unsigned sum = 0, parity = 0, minimum = 0xffffffff, maximum = 0, mask = 0;
    for (unsigned i = 0; i < n; i++) {
        sum += i;
        parity ^= i;
        minimum = std::min(minimum, i ^ 0x155u);
        maximum = std::max(maximum, i ^ 0x155u);
        mask |= 1u << (i % 31);
    }
    bool ok = true;
    auto expect = [&](const char *what, double got, double want) {
        if (got != want) {
            std::printf("%s: %s = %.17g, want %.17g\n", where, what, got, want);
            ok = false;
        }
    };
    expect("add", c.add, sum);
    expect("sub", c.subtract, 0);
    expect("min", c.minimum, minimum);
    expect("max", c.maximum, maximum);
    expect("and", c.bitAnd, ~mask);
    expect("or", c.bitOr, mask);
    expect("xor", c.bitXor, parity);
    expect("inc", c.increment, n % 100);
    expect("exchange is below n", c.swaps < n, 1);
    expect("float add", c.floatSum, n * 0.5);
    expect("double add", c.doubleSum, n * 0.25);
    expect("compare-and-swap sum", c.casSum, n);
    expect("64-bit add, low", double(c.wide & 0xffffffff), n);
    expect("64-bit add, high", double(c.wide >> 32), n);
    return ok;
}

int main(int argc, char **argv) {
    const unsigned n = unsigned(sizeArg(argc, argv, 1, 1000));
    DeviceArray<Cells> d(std::vector<Cells>{initial(n)});
    hammer<<<ceilDiv(n, 128), 128>>>(d.get(), n);
    CHECK_LAUNCH();
    bool ok = check("device memory", d.download()[0], n);

    Cells *host = nullptr;
    CHECK(hipHostMalloc(reinterpret_cast<void **>(&host), sizeof(Cells), hipHostMallocDefault));
    *host = initial(n);
    hammer<<<ceilDiv(n, 128), 128>>>(host, n);
    CHECK_LAUNCH();
    CHECK(hipDeviceSynchronize());
    ok = check("host memory", *host, n) && ok;
    CHECK(hipHostFree(host));
    return verdict("atomics", ok);
}
