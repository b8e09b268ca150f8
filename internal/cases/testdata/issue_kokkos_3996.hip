// kokkos/kokkos#3996: atomicSub of ten threads, on memory of the device and of the host.
#include "case.h"

namespace kokkos_3996 {

__global__ void down(int *p) { atomicSub(p, 1); }

CASE(issue_kokkos_3996) {
    int *device, *host, n = 10;
    HIP(hipMalloc(&device, sizeof *device));
    HIP(hipHostMalloc(&host, sizeof *host));
    HIP(hipMemcpy(device, &n, sizeof n, hipMemcpyHostToDevice));
    *host = n;
    down<<<1, 10>>>(device);
    down<<<1, 10>>>(host);
    down<<<5, 2>>>(host);
    HIP(hipDeviceSynchronize());
    HIP(hipMemcpy(&n, device, sizeof n, hipMemcpyDeviceToHost));
    SAME(n, 0);
    SAME(*(volatile int *)host, -10);
    HIP(hipFree(device));
    HIP(hipHostFree(host));
}

}  // namespace kokkos_3996
