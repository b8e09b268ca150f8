// Matrix transpose through a tile in LDS, so that both the loads and the stores are coalesced.
//   transpose [width] [height]
#include "example.h"

constexpr int tile = 32;
constexpr int rows = 8;  // a block is tile x rows work-items, each moves tile/rows elements

__global__ void transpose(const float *in, float *out, int width, int height) {
    __shared__ float lds[tile][tile + 1];  // one column of padding keeps a column read off one LDS bank
    int x = blockIdx.x * tile + threadIdx.x;
    int y = blockIdx.y * tile + threadIdx.y;
    for (int j = 0; j < tile; j += rows) {
        if (x < width && y + j < height) lds[threadIdx.y + j][threadIdx.x] = in[size_t(y + j) * width + x];
    }
    __syncthreads();
    x = blockIdx.y * tile + threadIdx.x;
    y = blockIdx.x * tile + threadIdx.y;
    for (int j = 0; j < tile; j += rows) {
        if (x < height && y + j < width) out[size_t(y + j) * height + x] = lds[threadIdx.x][threadIdx.y + j];
    }
}

int main(int argc, char **argv) {
    const int width = int(sizeArg(argc, argv, 1, 317));
    const int height = int(sizeArg(argc, argv, 2, 205));
    Noise noise(3);
    std::vector<float> in(size_t(width) * height), want(in.size());
    for (float &v : in) v = noise.unit();
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) want[size_t(x) * height + y] = in[size_t(y) * width + x];

    DeviceArray<float> din(in), dout(in.size());
    dim3 grid(ceilDiv(width, tile), ceilDiv(height, tile));
    transpose<<<grid, dim3(tile, rows)>>>(din.get(), dout.get(), width, height);
    CHECK_LAUNCH();
    return verdict("transpose", matches("out", dout.download(), want));
}
