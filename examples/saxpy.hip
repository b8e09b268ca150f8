// y = a x + y with a grid-stride loop: few blocks, each work-item does several elements.   saxpy [elements]
#include "example.h"

__global__ void saxpy(size_t n, float a, const float *x, float *y) {
    const size_t stride = size_t(gridDim.x) * blockDim.x;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = a * x[i] + y[i];
}

int main(int argc, char **argv) {
    const size_t n = sizeArg(argc, argv, 1, 200000);
    const float a = 1.5f;
    Noise noise(2);
    std::vector<float> x(n), y(n), want(n);
    for (size_t i = 0; i < n; i++) {
        x[i] = noise.unit();
        y[i] = noise.unit();
        want[i] = a * x[i] + y[i];  // exact in float, so fused and unfused agree
    }
    DeviceArray<float> dx(x), dy(y);
    saxpy<<<64, 256>>>(n, a, dx.get(), dy.get());
    CHECK_LAUNCH();
    return verdict("saxpy", matches("y", dy.download(), want));
}
