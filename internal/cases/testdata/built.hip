// A code object that no compiler made (abi/codeobj.Builder), which every runtime must be able to load.
#include "case.h"

namespace built {

CASE(built_saxpy) {
    std::FILE *f = std::fopen(std::getenv("SAXPY"), "rb");
    MUST(f);
    std::vector<char> image(1 << 16);
    MUST(std::fread(image.data(), 1, image.size(), f) > 0);
    std::fclose(f);
    hipModule_t module;
    hipFunction_t saxpy;
    HIP(hipModuleLoadData(&module, image.data()));
    HIP(hipModuleGetFunction(&saxpy, module, "saxpy"));
    unsigned n = 300;
    float *x, *y, a = 3;
    HIP(hipHostMalloc(&x, n * sizeof *x));
    HIP(hipHostMalloc(&y, n * sizeof *y));
    for (unsigned i = 0; i < n; i++) x[i] = i, y[i] = 7;
    void *args[] = {&x, &y, &a, &n};
    HIP(hipModuleLaunchKernel(saxpy, 2, 1, 1, 256, 1, 1, 0, nullptr, args, nullptr));
    HIP(hipDeviceSynchronize());
    for (unsigned i = 0; i < n; i++) SAME(y[i], 3 * i + 7);
    HIP(hipModuleUnload(module));
    HIP(hipHostFree(x));
    HIP(hipHostFree(y));
}

}  // namespace built
