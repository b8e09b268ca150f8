// 16-bit arithmetic in both halves of registers, against the host: clang 21 puts 16-bit values of gfx11 there (true16), and names the
// halves in 32-bit encodings by register numbers from 128 on, in 64-bit ones by op_sel. Part of `make test-newest`.
#include "../example.h"

using u16 = uint16_t;
using i16 = int16_t;
using half = _Float16;

struct In {
  u16 v[8];
};
struct Out {
  u16 v[40];
  float f[4];
  int i[4];
};

__host__ __device__ inline half fromBits(u16 x) {
  half r;
  __builtin_memcpy(&r, &x, 2);
  return r;
}

// bits gives one pattern for all NaNs: their payloads are the processor's.
__host__ __device__ inline u16 bits(half x) {
  u16 r;
  __builtin_memcpy(&r, &x, 2);
  return x == x ? r : 0x7e00;
}

__host__ __device__ void compute(const In &a, Out &o) {
#pragma clang fp contract(off)
  half x[8];
  for (int i = 0; i < 8; i++) x[i] = fromBits(a.v[i]);
  int n = 0;
  for (int i = 0; i < 4; i++) {
    o.v[n++] = bits(x[i] + x[7 - i]);
    o.v[n++] = bits(x[i] * x[i + 4]);
    o.v[n++] = bits(x[i] - x[(i + 3) & 7]);
    o.v[n++] = bits(x[i] < x[i + 4] ? x[i + 1] : x[7 - i]);
    o.v[n++] = u16(a.v[i] & ~a.v[7 - i]) ^ a.v[i + 4];
    o.v[n++] = u16(a.v[i] + a.v[i + 4]) << (a.v[i + 1] & 15);
    o.v[n++] = u16(i16(a.v[i + 4]) >> (a.v[i] & 15));
    o.v[n++] = u16(unsigned(a.v[i]) * a.v[7 - i] + a.v[i + 1]);
    o.v[n++] = i16(a.v[i]) > i16(a.v[i + 4]) ? a.v[i + 2] : a.v[i];
    o.v[n++] = a.v[i] < a.v[i + 4] ? a.v[i + 4] >> 3 : u16(0 - a.v[i]);
    o.f[i] = x[i] == x[i] ? float(x[i]) : 0.0f;
    o.i[i] = int(i16(a.v[i])) * i16(a.v[i + 4]) + a.v[i + 2];
  }
}

__global__ void kernel(const In *in, Out *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) compute(in[i], out[i]);
}

int main() {
  const int n = 1 << 15;
  std::vector<In> in(n);
  std::vector<Out> out(n);
  const u16 edges[] = {0,      0x8000, 1,      0x3ff,  0x400,  0x3c00, 0xbc00, 0x7bff,
                       0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xffff, 0x4000, 0x3555, 0x0200};
  uint64_t s = 88172645463325252ull;
  for (auto &x : in)
    for (auto &v : x.v) {
      s ^= s << 13, s ^= s >> 7, s ^= s << 17;
      v = (s >> 40 & 3) == 0 ? edges[s >> 20 & 15] : u16(s >> 24);
    }
  In *din;
  Out *dout;
  CHECK(hipMalloc(&din, n * sizeof(In)));
  CHECK(hipMalloc(&dout, n * sizeof(Out)));
  CHECK(hipMemcpy(din, in.data(), n * sizeof(In), hipMemcpyHostToDevice));
  kernel<<<n / 256, 256>>>(din, dout, n);
  CHECK_LAUNCH();
  CHECK(hipMemcpy(out.data(), dout, n * sizeof(Out), hipMemcpyDeviceToHost));
  int bad = 0;
  for (int i = 0; i < n; i++) {
    Out want{};
    compute(in[i], want);
    for (int k = 0; k < 40; k++)
      if (want.v[k] != out[i].v[k] && bad++ < 10) printf("element %d, value %d: %04x, want %04x\n", i, k, out[i].v[k], want.v[k]);
    for (int k = 0; k < 4; k++)
      if ((want.f[k] != out[i].f[k] || want.i[k] != out[i].i[k]) && bad++ < 10)
        printf("element %d: %g and %d, want %g and %d\n", i, out[i].f[k], out[i].i[k], want.f[k], want.i[k]);
  }
  printf("%d of %d values wrong\n", bad, n * 48);
  return verdict("halves", bad == 0);
}
