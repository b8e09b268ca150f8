// The Mandelbrot set in fixed point, so that the CPU's result is the same to the last bit whatever the compilers fuse:
// a loop that each lane leaves at its own time.   mandelbrot [width] [height] [iterations]
#include "example.h"

constexpr int fraction = 24;  // Q7.24

__host__ __device__ inline int multiply(int a, int b) { return int((static_cast<long long>(a) * b) >> fraction); }

__host__ __device__ inline int escapeTime(int cx, int cy, int limit) {
    int x = 0, y = 0, i = 0;
    while (i < limit) {
        const int xx = multiply(x, x), yy = multiply(y, y);
        if (xx + yy > (4 << fraction)) break;
        y = 2 * multiply(x, y) + cy;
        x = xx - yy + cx;
        i++;
    }
    return i;
}

__host__ __device__ inline int escapeTimeAt(int px, int py, int width, int height, int limit) {
    const int cx = int((static_cast<long long>(px) * (3 << fraction)) / width) - (2 << fraction);
    const int cy = int((static_cast<long long>(py) * (2 << fraction)) / height) - (1 << fraction);
    return escapeTime(cx, cy, limit);
}

__global__ void mandelbrot(int *out, int width, int height, int limit) {
    const int px = blockIdx.x * blockDim.x + threadIdx.x;
    const int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px < width && py < height) out[py * width + px] = escapeTimeAt(px, py, width, height, limit);
}

int main(int argc, char **argv) {
    const int width = int(sizeArg(argc, argv, 1, 120));
    const int height = int(sizeArg(argc, argv, 2, 80));
    const int limit = int(sizeArg(argc, argv, 3, 100));
    std::vector<int> want(size_t(width) * height);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) want[size_t(y) * width + x] = escapeTimeAt(x, y, width, height, limit);
    DeviceArray<int> dout(want.size());
    mandelbrot<<<dim3(ceilDiv(width, 16), ceilDiv(height, 16)), dim3(16, 16)>>>(dout.get(), width, height, limit);
    CHECK_LAUNCH();
    return verdict("mandelbrot", matches("out", dout.download(), want));
}
