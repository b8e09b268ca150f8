// ROCm/rocm-systems#2516 (and #2568, #2667, #6977), ROCm/ROCR-Runtime#285, #287: address space that is reserved once and grows, as PyTorch's allocator does.
#include "case.h"

namespace rocm_systems_2516 {

__global__ void mark(unsigned char *p, size_t n, int v) {
    for (size_t i = threadIdx.x + (size_t)blockIdx.x * blockDim.x; i < n; i += (size_t)blockDim.x * gridDim.x) p[i] = v;
}

hipMemAllocationProp onDevice() {
    hipMemAllocationProp p = {};
    p.type = hipMemAllocationTypePinned;
    p.location.type = hipMemLocationTypeDevice;
    p.location.id = 0;
    return p;
}

hipMemAccessDesc readWrite() {
    hipMemAccessDesc d = {};
    d.location.type = hipMemLocationTypeDevice;
    d.location.id = 0;
    d.flags = hipMemAccessFlagsProtReadWrite;
    return d;
}

struct Pool {
    char *base = nullptr;
    size_t reserved, used = 0, granule;
    std::vector<hipMemGenericAllocationHandle_t> handles;
    std::vector<size_t> sizes;

    explicit Pool(size_t n) {
        const hipMemAllocationProp p = onDevice();
        HIP(hipMemGetAllocationGranularity(&granule, &p, hipMemAllocationGranularityRecommended));
        MUST(granule && (granule & (granule - 1)) == 0);
        reserved = round(n);
        void *at;
        HIP(hipMemAddressReserve(&at, reserved, granule, nullptr, 0));
        base = (char *)at;
    }
    size_t round(size_t n) const { return (n + granule - 1) / granule * granule; }

    // grow maps a new piece behind what is there, and marks it.
    void grow(size_t n) {
        n = round(n);
        MUST(used + n <= reserved);
        hipMemGenericAllocationHandle_t h;
        const hipMemAllocationProp p = onDevice();
        const hipMemAccessDesc d = readWrite();
        HIP(hipMemCreate(&h, n, &p, 0));
        HIP(hipMemMap(base + used, n, 0, h, 0));
        HIP(hipMemSetAccess(base + used, n, &d, 1));
        handles.push_back(h);
        sizes.push_back(n);
        mark<<<8, 256>>>((unsigned char *)base + used, n, (int)handles.size());
        HIP(hipDeviceSynchronize());
        used += n;
    }

    // check looks at both ends of each piece.
    void check() const {
        size_t at = 0;
        for (size_t i = 0; i < sizes.size(); at += sizes[i++]) {
            unsigned char ends[2];
            HIP(hipMemcpy(&ends[0], base + at, 1, hipMemcpyDeviceToHost));
            HIP(hipMemcpy(&ends[1], base + at + sizes[i] - 1, 1, hipMemcpyDeviceToHost));
            SAME(ends[0], i + 1);
            SAME(ends[1], i + 1);
        }
    }

    void release() {
        for (auto h : handles) HIP(hipMemRelease(h));
        HIP(hipMemAddressFree(base, reserved));
    }
};

// Pieces back to back, in one reservation and then in three that grow in turn.
CASE(issue_rocm_systems_2516) {
    const size_t sizes[] = {2379776, 7864320, 6533120};
    Pool one(64 << 20);
    for (size_t n : sizes) {
        one.grow(n);
        one.check();
    }
    Pool three[] = {Pool(64 << 20), Pool(64 << 20), Pool(64 << 20)};
    for (size_t n : sizes)
        for (Pool &p : three) p.grow(n);
    for (Pool &p : three) p.check();
    one.check();
    for (Pool *p : {&one, &three[0], &three[1], &three[2]}) {
        size_t at = 0;
        for (size_t n : p->sizes) {
            HIP(hipMemUnmap(p->base + at, n));
            at += n;
        }
        p->release();
    }
}

// Several pieces, unmapped by one call over all of them. All memory is there again.
CASE(issue_rocr_runtime_285) {
    size_t before = 0, after = 0, total;
    for (int round = 0; round < 3; round++) {
        Pool p(32 << 20);
        for (int i = 0; i < 4; i++) p.grow(p.granule * (i + 1));
        p.check();
        HIP(hipMemUnmap(p.base, p.used));
        p.release();
        HIP(hipMemGetInfo(round ? &after : &before, &total));
    }
    SAME(after, before);
}

}  // namespace rocm_systems_2516
