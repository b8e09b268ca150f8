// What the examples share: error checks, size arguments, and the verdict line.
#pragma once

#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

// CHECK ends the program with the call, its place and HIP's own words when a HIP call fails.
#define CHECK(call)                                                                                  \
    do {                                                                                             \
        hipError_t status_ = (call);                                                                 \
        if (status_ != hipSuccess) {                                                                 \
            std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call,                  \
                         hipGetErrorName(status_), hipGetErrorString(status_));                      \
            std::exit(1);                                                                            \
        }                                                                                            \
    } while (0)

// CHECK_LAUNCH is for the line after a <<<...>>> launch, which itself returns nothing.
#define CHECK_LAUNCH() CHECK(hipGetLastError())

// sizeArg gives the index-th command line argument as a number, or fallback when it is not there.
inline size_t sizeArg(int argc, char **argv, int index, size_t fallback) {
    if (index >= argc) return fallback;
    char *end = nullptr;
    unsigned long long value = std::strtoull(argv[index], &end, 0);
    if (end == argv[index] || *end != '\0' || value == 0) {
        std::fprintf(stderr, "%s: argument %d, \"%s\", is not a positive number\n", argv[0], index, argv[index]);
        std::exit(2);
    }
    return static_cast<size_t>(value);
}

// verdict prints the one line that says how the example went, and gives main's exit code.
inline int verdict(const char *name, bool ok) {
    std::printf("%s %s\n", ok ? "PASSED" : "FAILED", name);
    return ok ? 0 : 1;
}

// ceilDiv is the number of blocks of size b that cover a items.
inline size_t ceilDiv(size_t a, size_t b) { return (a + b - 1) / b; }

// Noise is a small reproducible generator for input data: the high bits of a 64-bit linear congruential sequence.
class Noise {
  public:
    explicit Noise(uint64_t seed) : state_(seed * 2862933555777941757ull + 3037000493ull) {}
    uint32_t bits() {
        state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<uint32_t>(state_ >> 32);
    }
    // unit is a float in [0, 1) with few significant bits, so that short sums of it are exact.
    float unit() { return static_cast<float>(bits() >> 24) / 256.0f; }

  private:
    uint64_t state_;
};

// matches says whether two arrays agree within tolerance (relative to 1 + |want|), and prints where they first do not.
template <typename T>
bool matches(const char *what, const std::vector<T> &got, const std::vector<T> &want, double tolerance = 0) {
    if (got.size() != want.size()) {
        std::printf("%s: %zu values, want %zu\n", what, got.size(), want.size());
        return false;
    }
    for (size_t i = 0; i < got.size(); i++) {
        double difference = std::fabs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
        // Written so that a NaN counts as a mismatch.
        if (!(difference <= tolerance * (1 + std::fabs(static_cast<double>(want[i]))))) {
            std::printf("%s[%zu] = %.9g, want %.9g\n", what, i, static_cast<double>(got[i]),
                        static_cast<double>(want[i]));
            return false;
        }
    }
    return true;
}

// DeviceArray is a hipMalloc'ed array that is freed with its scope.
template <typename T>
class DeviceArray {
  public:
    explicit DeviceArray(size_t count) : count_(count) { CHECK(hipMalloc(reinterpret_cast<void **>(&data_), bytes())); }
    explicit DeviceArray(const std::vector<T> &host) : DeviceArray(host.size()) { upload(host); }
    ~DeviceArray() { (void)hipFree(data_); }
    DeviceArray(const DeviceArray &) = delete;
    DeviceArray &operator=(const DeviceArray &) = delete;

    T *get() const { return data_; }
    size_t size() const { return count_; }
    size_t bytes() const { return count_ * sizeof(T); }
    void upload(const std::vector<T> &host) { CHECK(hipMemcpy(data_, host.data(), bytes(), hipMemcpyHostToDevice)); }
    std::vector<T> download() const {
        std::vector<T> host(count_);
        CHECK(hipMemcpy(host.data(), data_, bytes(), hipMemcpyDeviceToHost));
        return host;
    }

  private:
    T *data_ = nullptr;
    size_t count_ = 0;
};
