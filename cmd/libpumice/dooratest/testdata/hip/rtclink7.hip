// Linking at run time: two parts by hiprtc with -fgpu-rdc, one as bitcode, one in an archive of a bundle, become a code object.
#include "check.h"

#include <dlfcn.h>

#include <string>
#include <vector>

typedef int rtc;
static void *lib;
template <typename F> static F *fn(const char *name) { return (F *)dlsym(lib, name); }

extern "C" hipError_t hipLinkCreate(unsigned, int *, void **, void **);
extern "C" hipError_t hipLinkAddData(void *, int, void *, size_t, const char *, unsigned, int *, void **);
extern "C" hipError_t hipLinkAddFile(void *, int, const char *, unsigned, int *, void **);
extern "C" hipError_t hipLinkComplete(void *, void **, size_t *);
extern "C" hipError_t hipLinkDestroy(void *);

static std::string bitcode(const char *source, const char *expression) {
    void *p = nullptr;
    WANT(fn<rtc(void **, const char *, const char *, int, const char **, const char **)>("hiprtcCreateProgram")(&p, source, "part", 0, nullptr, nullptr), 0);
    if (expression) WANT(fn<rtc(void *, const char *)>("hiprtcAddNameExpression")(p, expression), 0);
    const char *options[] = {"-fgpu-rdc", "-O1"};
    WANT(fn<rtc(void *, int, const char **)>("hiprtcCompileProgram")(p, 2, options), 0);
    if (expression) {
        const char *name = nullptr;
        WANT(fn<rtc(void *, const char *, const char **)>("hiprtcGetLoweredName")(p, expression, &name), 0);
        WANT(std::string(name) == "_ZN1n6kernelIiEEvPT_", 1);
    }
    size_t n = 0;
    WANT(fn<rtc(void *, size_t *)>("hiprtcGetBitcodeSize")(p, &n) == 0 && n > 100, 1);
    std::string b(n, 0);
    WANT(fn<rtc(void *, char *)>("hiprtcGetBitcode")(p, &b[0]), 0);
    WANT(fn<rtc(void **)>("hiprtcDestroyProgram")(&p), 0);
    return b;
}

static void put(std::string &s, uint64_t v) { s.append((char *)&v, 8); }

static std::string archive(const std::string &bc) {
    std::string id = "hip-amdgcn-amd-amdhsa--gfx90a", bundle = "__CLANG_OFFLOAD_BUNDLE__";
    put(bundle, 1);
    put(bundle, 4096);
    put(bundle, bc.size());
    put(bundle, id.size());
    bundle += id;
    bundle.resize(4096);
    bundle += bc;
    char header[61];
    snprintf(header, sizeof header, "%-16s%-12d%-6d%-6d%-8d%-10zu`\n", "part.bc/", 0, 0, 0, 644, bundle.size());
    return "!<arch>\n" + std::string(header) + bundle;
}

int main() {
    lib = dlopen("libhiprtc.so.7", RTLD_NOW);
    WANT(lib != nullptr, 1);
    if (!lib) return finish();
    std::string a = bitcode("__device__ int twice(int); namespace n { template <typename T> __global__ void kernel(T *p) { p[threadIdx.x] = twice(threadIdx.x) + 1; } }", "n::kernel<int>");
    std::string b = archive(bitcode("__device__ int twice(int x) { return 2 * x; }", nullptr));
    void *l = nullptr, *image = nullptr;
    size_t n = 0;
    int cuda = 3;
    WANT(hipLinkCreate(0, nullptr, nullptr, nullptr), hipErrorInvalidValue);
    WANT(hipLinkCreate(1, &cuda, &l, &l), hipErrorInvalidValue);
    int opts[] = {10000, 10001};
    const char *isa[] = {"-mllvm", "-inline-threshold=1"};
    void *vals[] = {isa, (void *)2};
    WANT(hipLinkCreate(2, opts, vals, &l), hipSuccess);
    WANT(hipLinkAddData(l, 100, nullptr, 0, "", 0, nullptr, nullptr), hipErrorInvalidImage);
    WANT(hipLinkAddData(l, 1, &a[0], a.size(), "", 0, nullptr, nullptr), hipErrorInvalidValue); // PTX
    WANT(hipLinkAddData(nullptr, 100, &a[0], a.size(), "", 0, nullptr, nullptr), hipErrorInvalidHandle);
    WANT(hipLinkAddFile(l, 100, "/nonexistent", 0, nullptr, nullptr), hipErrorInvalidConfiguration);
    WANT(hipLinkAddData(l, 100, &a[0], a.size(), "a", 0, nullptr, nullptr), hipSuccess);
    WANT(hipLinkComplete(l, &image, &n), hipErrorInvalidConfiguration); // twice is not there
    WANT(hipLinkAddData(l, 102, &b[0], b.size(), "b", 0, nullptr, nullptr), hipSuccess);
    WANT(hipLinkComplete(l, &image, &n) == hipSuccess && n > 0, 1);
    hipModule_t m;
    hipFunction_t f;
    DO(hipModuleLoadData(&m, image));
    DO(hipModuleGetFunction(&f, m, "_ZN1n6kernelIiEEvPT_"));
    int *p, out[64];
    DO(hipMalloc((void **)&p, sizeof out));
    void *args[] = {&p};
    DO(hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, 0, args, nullptr));
    DO(hipMemcpy(out, p, sizeof out, hipMemcpyDefault));
    for (int i = 0; i < 64; i++) WANT(out[i], 2 * i + 1);
    WANT(hipLinkDestroy(l) == hipSuccess && hipLinkDestroy(l) == hipErrorInvalidValue, 1);
    return finish();
}
