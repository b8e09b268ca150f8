// What the programs of public bug reports share. Each issue_*.hip holds one or more CASEs; cases.hip is all of them in one program, which runs the one that
// is named.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct Case {
    const char *name;
    void (*run)();
    Case *next;
    static Case *&first() {
        static Case *f;
        return f;
    }
    Case(const char *n, void (*f)()) : name(n), run(f), next(first()) { first() = this; }
};

// CASE defines a case. It returns when all is right; MUST ends the program when something is not.
#define CASE(name)                           \
    static void name();                      \
    static Case name##_registered(#name, name); \
    static void name()

#define MUST(what)                                                             \
    do {                                                                       \
        if (!(what)) {                                                         \
            std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #what);     \
            std::fflush(stdout);                                               \
            std::_Exit(1);                                                     \
        }                                                                      \
    } while (0)

#define HIP(call)                                                                                               \
    do {                                                                                                        \
        hipError_t status_ = (call);                                                                            \
        if (status_ != hipSuccess) {                                                                            \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorName(status_));                 \
            std::fflush(stdout);                                                                                \
            std::_Exit(1);                                                                                      \
        }                                                                                                       \
    } while (0)

// SAME ends the program unless two numbers are equal, and prints both.
#define SAME(got, want)                                                                                                   \
    do {                                                                                                                  \
        long long got_ = (long long)(got), want_ = (long long)(want);                                                     \
        if (got_ != want_) {                                                                                              \
            std::printf("%s:%d: %s is %lld, must be %lld\n", __FILE__, __LINE__, #got, got_, want_);                      \
            std::fflush(stdout);                                                                                          \
            std::_Exit(1);                                                                                                \
        }                                                                                                                 \
    } while (0)

// wavefront is how many lanes a wave of the current device has when hipcc builds for it without further options.
inline int wavefront() {
    hipDeviceProp_t p;
    HIP(hipGetDeviceProperties(&p, 0));
    return std::strncmp(p.gcnArchName, "gfx9", 4) == 0 ? 64 : 32;
}
