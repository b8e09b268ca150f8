// Vector addition: one work-item an element.   vectoradd [elements]
#include "example.h"

__global__ void vectorAdd(const float *a, const float *b, float *c, size_t n) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char **argv) {
    const size_t n = sizeArg(argc, argv, 1, 100003);
    Noise noise(1);
    std::vector<float> a(n), b(n), want(n);
    for (size_t i = 0; i < n; i++) {
        a[i] = noise.unit();
        b[i] = noise.unit();
        want[i] = a[i] + b[i];
    }
    DeviceArray<float> da(a), db(b), dc(n);
    vectorAdd<<<ceilDiv(n, 256), 256>>>(da.get(), db.get(), dc.get(), n);
    CHECK_LAUNCH();
    return verdict("vectoradd", matches("c", dc.download(), want));
}
