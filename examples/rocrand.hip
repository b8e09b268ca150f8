// AMD's prebuilt random number library against independent implementations of its generators on the host: XORWOW,
// MRG32K3A, Philox 4x32-10, MTGP32 (with the parameter table of the library's header) and Sobol, from the papers that
// define them, with the seeding and the order of results that rocRAND documents.
//   rocrand [values] [philox|mrg32k3a|xorwow|mtgp32|sobol32]
#include "example.h"

#include <rocrand/rocrand.h>
#include <rocrand/rocrand_mtgp32_11213.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#define CHECK_ROCRAND(call)                                                                          \
    do {                                                                                             \
        rocrand_status status_ = (call);                                                             \
        if (status_ != ROCRAND_STATUS_SUCCESS) {                                                     \
            std::fprintf(stderr, "%s:%d: %s: rocRAND status %d\n", __FILE__, __LINE__, #call, int(status_)); \
            std::exit(1);                                                                            \
        }                                                                                            \
    } while (0)

using Values = std::vector<unsigned>;

// XORWOW and MRG32K3A give result i to generator i mod 131072, each of which has its own subsequence: XORWOW's are 2^67
// apart, those of MRG32K3A 2^76.
constexpr size_t generators = 131072;

// ---- Philox 4x32-10 (Salmon, Moraes, Dror, Shaw 2011) ----

static std::array<unsigned, 4> philoxBlock(std::array<unsigned, 4> counter, unsigned key0, unsigned key1) {
    for (int round = 0; round < 10; round++) {
        const uint64_t a = uint64_t(0xD2511F53) * counter[0], b = uint64_t(0xCD9E8D57) * counter[2];
        counter = {unsigned(b >> 32) ^ counter[1] ^ key0, unsigned(b), unsigned(a >> 32) ^ counter[3] ^ key1, unsigned(a)};
        key0 += 0x9E3779B9;
        key1 += 0xBB67AE85;
    }
    return counter;
}

static Values philox(size_t n, uint64_t seed) {
    Values v(n);
    for (size_t i = 0; i < n; i++)
        v[i] = philoxBlock({unsigned(i / 4), unsigned(uint64_t(i / 4) >> 32), 0, 0}, unsigned(seed), unsigned(seed >> 32))[i % 4];
    return v;
}

// ---- XORWOW (Marsaglia 2003): a linear map over GF(2) on 160 bits, and a Weyl sequence ----

using Bits160 = std::array<unsigned, 5>;
struct Matrix160 {
    std::vector<Bits160> column{160};  // the image of each unit vector
    Bits160 operator*(const Bits160 &x) const {
        Bits160 y = {};
        for (int bit = 0; bit < 160; bit++)
            if (x[bit / 32] >> (bit % 32) & 1)
                for (int w = 0; w < 5; w++) y[w] ^= column[bit][w];
        return y;
    }
    Matrix160 squared() const {
        Matrix160 m;
        for (int bit = 0; bit < 160; bit++) m.column[bit] = *this * column[bit];
        return m;
    }
};

static Bits160 xorwowStep(const Bits160 &x) {
    const unsigned t = x[0] ^ (x[0] >> 2);
    return {x[1], x[2], x[3], x[4], x[4] ^ (x[4] << 4) ^ t ^ (t << 1)};
}

static Values xorwow(size_t n, uint64_t seed) {
    Bits160 x = {123456789, 362436069, 521288629, 88675123, 5783321};
    unsigned weyl = 6615241;
    const unsigned t0 = 1228688033u * (unsigned(seed) ^ 0x2c7f967fu);
    const unsigned t1 = 2073658381u * (unsigned(seed >> 32) ^ 0xa03697cbu);
    x[0] += t0;
    x[1] ^= t0;
    x[2] += t1;
    x[3] ^= t1;
    x[4] += t0;
    weyl += t1 + t0;

    Matrix160 jump;  // one step, and then 2^67 of them
    for (int bit = 0; bit < 160; bit++) {
        Bits160 unit = {};
        unit[bit / 32] = 1u << (bit % 32);
        jump.column[bit] = xorwowStep(unit);
    }
    for (int i = 0; i < 67; i++) jump = jump.squared();

    Values v(n);
    for (size_t g = 0; g < std::min(n, generators); g++) {
        Bits160 state = x;
        unsigned d = weyl;  // 2^67 steps leave it as it is
        for (size_t i = g; i < n; i += generators) {
            state = xorwowStep(state);
            d += 362437;
            v[i] = d + state[4];
        }
        x = jump * x;
    }
    return v;
}

// ---- MRG32K3A (L'Ecuyer 1999): two linear recurrences modulo primes ----

constexpr uint64_t m1 = 4294967087, m2 = 4294944443;
struct Matrix3 {
    uint64_t a[3][3];
};

static Matrix3 multiply(const Matrix3 &x, const Matrix3 &y, uint64_t m) {
    Matrix3 z;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            unsigned __int128 sum = 0;
            for (int k = 0; k < 3; k++) sum += static_cast<unsigned __int128>(x.a[i][k]) * y.a[k][j];
            z.a[i][j] = uint64_t(sum % m);
        }
    return z;
}

static std::array<uint64_t, 3> apply(const Matrix3 &x, const std::array<uint64_t, 3> &s, uint64_t m) {
    std::array<uint64_t, 3> r;
    for (int i = 0; i < 3; i++) {
        unsigned __int128 sum = 0;
        for (int k = 0; k < 3; k++) sum += static_cast<unsigned __int128>(x.a[i][k]) * s[k];
        r[i] = uint64_t(sum % m);
    }
    return r;
}

static Values mrg32k3a(size_t n, uint64_t seed) {
    const uint64_t x = unsigned(seed) ^ 0x55555555u, y = unsigned(seed >> 32) ^ 0xAAAAAAAAu;
    auto times = [seed](uint64_t a, uint64_t m) { return uint64_t(static_cast<unsigned __int128>(a) * (seed % m) % m); };
    std::array<uint64_t, 3> g1 = {times(x, m1), times(y, m1), times(x, m1)};
    std::array<uint64_t, 3> g2 = {times(y, m2), times(x, m2), times(y, m2)};
    const Matrix3 step1 = {{{0, 1, 0}, {0, 0, 1}, {m1 - 810728, 1403580, 0}}};
    const Matrix3 step2 = {{{0, 1, 0}, {0, 0, 1}, {m2 - 1370589, 0, 527612}}};
    Matrix3 jump1 = step1, jump2 = step2;
    for (int i = 0; i < 76; i++) {
        jump1 = multiply(jump1, jump1, m1);
        jump2 = multiply(jump2, jump2, m2);
    }
    Values v(n);
    for (size_t g = 0; g < std::min(n, generators); g++) {
        auto s1 = g1, s2 = g2;
        for (size_t i = g; i < n; i += generators) {
            s1 = apply(step1, s1, m1);
            s2 = apply(step2, s2, m2);
            const uint64_t z = s1[2] > s2[2] ? s1[2] - s2[2] : s1[2] + m1 - s2[2];  // in [1, m1]
            v[i] = unsigned(double(z - 1) * 1.000000048661607);                       // stretched to 32 bits
        }
        g1 = apply(jump1, g1, m1);
        g2 = apply(jump2, g2, m2);
    }
    return v;
}

// ---- MTGP32 (Saito, Matsumoto 2013), exponent 11213: 512 generators give 256 results each in turn ----

static Values mtgp32(size_t n, uint64_t seed) {
    constexpr int words = 351, block = 256, blocks = 512;
    Values v(n);
    for (size_t b = 0; b < blocks && b * block < n; b++) {
        const auto &p = mtgp32dc_params_fast_11213[b];
        Values s(words);
        const unsigned hidden = p.tbl[4] ^ (p.tbl[8] << 16);
        unsigned fill = hidden;
        fill += fill >> 16;
        fill += fill >> 8;
        std::fill(s.begin(), s.end(), (fill & 0xff) * 0x01010101u);
        s[0] = unsigned(seed ^ (seed >> 32)) + unsigned(b) + 1;
        s[1] = hidden;
        for (int i = 1; i < words; i++) s[i] ^= 1812433253u * (s[i - 1] ^ (s[i - 1] >> 30)) + unsigned(i);
        for (size_t k = 0;; k++) {  // s grows by a word a result
            const size_t at = (k / block * blocks + b) * block + k % block;
            if (at >= n) break;
            unsigned x = (s[k] & mtgp32dc_params_fast_11213[0].mask) ^ s[k + 1];
            x ^= x << p.sh1;
            const unsigned y = x ^ (s[k + p.pos] >> p.sh2);
            const unsigned r = y ^ p.tbl[y & 15];
            s.push_back(r);
            unsigned t = s[k + p.pos - 1];
            t ^= t >> 16;
            t ^= t >> 8;
            v[at] = r ^ p.tmp_tbl[t & 15];
        }
    }
    return v;
}

// ---- Sobol sequences in Gray code order, direction numbers of Joe and Kuo (new-joe-kuo-6.21201) ----

constexpr int dimensions = 5;

static Values sobol32(size_t n, uint64_t) {
    struct Polynomial {
        unsigned degree, coefficients, m[3];
    };
    const Polynomial polynomials[dimensions] = {{0, 0, {}}, {1, 0, {1}}, {2, 1, {1, 3}}, {3, 1, {1, 3, 1}}, {3, 2, {1, 1, 1}}};
    Values v;
    for (const Polynomial &p : polynomials) {
        unsigned direction[32];
        for (unsigned i = 0; i < 32; i++) {
            if (p.degree == 0) {
                direction[i] = 1u << (31 - i);
            } else if (i < p.degree) {
                direction[i] = p.m[i] << (31 - i);
            } else {
                direction[i] = direction[i - p.degree] ^ (direction[i - p.degree] >> p.degree);
                for (unsigned k = 1; k < p.degree; k++)
                    if (p.coefficients >> (p.degree - 1 - k) & 1) direction[i] ^= direction[i - k];
            }
        }
        for (size_t i = 0; i < n / dimensions; i++) {
            const size_t gray = i ^ (i >> 1);
            unsigned x = 0;
            for (int bit = 0; bit < 32; bit++)
                if (gray >> bit & 1) x ^= direction[bit];
            v.push_back(x);
        }
    }
    return v;
}

struct Generator {
    const char *name;
    rocrand_rng_type type;
    Values (*expected)(size_t n, uint64_t seed);
};

int main(int argc, char **argv) {
    const size_t n = ceilDiv(sizeArg(argc, argv, 1, 20000), 4 * dimensions) * 4 * dimensions;
    const std::string only = argc > 2 ? argv[2] : "";
    const uint64_t seed = 0x123456789abull;  // below 2^47: the library multiplies larger ones modulo 2^64 on the way
    const Generator all[] = {
        {"philox", ROCRAND_RNG_PSEUDO_PHILOX4_32_10, philox},
        {"mrg32k3a", ROCRAND_RNG_PSEUDO_MRG32K3A, mrg32k3a},
        {"xorwow", ROCRAND_RNG_PSEUDO_XORWOW, xorwow},
        {"mtgp32", ROCRAND_RNG_PSEUDO_MTGP32, mtgp32},
        {"sobol32", ROCRAND_RNG_QUASI_SOBOL32, sobol32},
    };

    // The authors' known answer for the zero counter and key.
    const std::array<unsigned, 4> known = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    bool ok = philoxBlock({0, 0, 0, 0}, 0, 0) == known;

    int ran = 0;
    for (const Generator &g : all) {
        if (!only.empty() && only != g.name) continue;
        ran++;
        rocrand_generator generator;
        CHECK_ROCRAND(rocrand_create_generator(&generator, g.type));
        if (g.type == ROCRAND_RNG_QUASI_SOBOL32)
            CHECK_ROCRAND(rocrand_set_quasi_random_generator_dimensions(generator, dimensions));
        else
            CHECK_ROCRAND(rocrand_set_seed(generator, seed));
        DeviceArray<unsigned> d(n);
        CHECK_ROCRAND(rocrand_generate(generator, d.get(), n));
        CHECK(hipDeviceSynchronize());
        ok = matches(g.name, d.download(), g.expected(n, seed)) && ok;
        CHECK_ROCRAND(rocrand_destroy_generator(generator));
    }
    return verdict("rocrand", ok && ran > 0);
}
