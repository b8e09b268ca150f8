// warpfront/hipfire#569: a compressed bundle with a header of version 3, as newer compilers write it. hipModuleLoadData takes it. The file that MODULE names is
// made by ../cases_test.go of this very program's device code. ./hsa.c has the other half: HSA's loader does not take bundles.
#include "case.h"

namespace hipfire_569 {

__global__ void module_kernel(int *p) { *p += 7; }

CASE(issue_hipfire_569) {
    FILE *f = std::fopen(std::getenv("MODULE"), "rb");
    MUST(f);
    std::vector<char> image(64 << 20);
    image.resize(std::fread(image.data(), 1, image.size(), f));
    std::fclose(f);
    MUST(image.size() > 32 && std::memcmp(image.data(), "CCOB\3\0", 6) == 0);
    hipModule_t m;
    hipFunction_t k;
    HIP(hipModuleLoadData(&m, image.data()));
    image.assign(image.size(), 0);  // the runtime has what it needs
    HIP(hipModuleGetFunction(&k, m, "_ZN11hipfire_56913module_kernelEPi"));
    int *p, n = 35;
    HIP(hipMalloc(&p, sizeof n));
    HIP(hipMemcpy(p, &n, sizeof n, hipMemcpyHostToDevice));
    void *args[] = {&p};
    HIP(hipModuleLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    HIP(hipMemcpy(&n, p, sizeof n, hipMemcpyDeviceToHost));
    SAME(n, 42);
    HIP(hipFree(p));
    HIP(hipModuleUnload(m));
}

}  // namespace hipfire_569
