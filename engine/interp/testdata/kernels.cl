#pragma OPENCL EXTENSION cl_khr_fp16 : enable
// Kernels of TestCompiled. They use compiler builtins only, so no device library is needed.
#define TID ((int)__builtin_amdgcn_workitem_id_x())
#define GID ((int)__builtin_amdgcn_workgroup_id_x())
#define barrier(x) do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); } while (0)

kernel void vadd(global float *c, global const float *a, global const float *b, int n) {
  int i = GID * 256 + TID;
  if (i < n) c[i] = a[i] + b[i];
}

kernel void fdiv(global float *c, global const float *a, global const float *b, int n) {
  int i = GID * 256 + TID;
  if (i < n) c[i] = a[i] / b[i];
}

kernel void ddiv(global double *c, global const double *a, global const double *b, int n) {
  int i = GID * 256 + TID;
  if (i < n) c[i] = a[i] / b[i];
}

kernel void idiv(global int *c, global const int *a, global const int *b, int n) {
  int i = GID * 256 + TID;
  if (i < n) c[i] = a[i] / (b[i] | 1) + a[i] % (b[i] | 1) * 7;
}

kernel void ldiv64(global long *c, global const long *a, global const long *b, int n) {
  int i = GID * 256 + TID;
  if (i < n) c[i] = a[i] / (b[i] | 1) ^ a[i] * b[i];
}

kernel void collatz(global int *c, global const int *a, global const int *b, int n) {
  int i = GID * 256 + TID;
  if (i >= n) return;
  unsigned x = (unsigned)a[i] & 0xffff | 1;
  int steps = 0;
  while (x != 1 && steps < 500) {
    x = x & 1 ? 3 * x + 1 : x >> 1;
    steps++;
  }
  c[i] = steps;
}

kernel void reduce(global int *c, global const int *a, global const int *b, int n) {
  local int s[256];
  int i = GID * 256 + TID;
  s[TID] = i < n ? a[i] : 0;
  barrier(1);
  for (int d = 128; d > 0; d >>= 1) {
    if (TID < d) s[TID] += s[TID + d];
    barrier(1);
  }
  if (TID == 0) c[GID] = s[0];
}

kernel void hist(global int *c, global const int *a, global const int *b, int n) {
  local int s[64];
  if (TID < 64) s[TID] = 0;
  barrier(1);
  int i = GID * 256 + TID;
  if (i < n) __atomic_fetch_add(&s[a[i] & 63], 1, __ATOMIC_RELAXED);
  barrier(1);
  if (TID < 64) __atomic_fetch_add(&c[TID], s[TID], __ATOMIC_RELAXED);
}

// One 16x16 tile of c = a * b for n x n matrices, 256 threads; the group id is tile row * (n/16) + tile column.
kernel void sgemm(global float *c, global const float *a, global const float *b, int n) {
  local float as[16][16], bs[16][17];
  int tiles = n / 16, tr = GID / tiles, tc = GID % tiles, r = TID / 16, q = TID % 16;
  float acc = 0;
  for (int k = 0; k < n; k += 16) {
    as[r][q] = a[(tr * 16 + r) * n + k + q];
    bs[r][q] = b[(k + r) * n + tc * 16 + q];
    barrier(1);
    for (int e = 0; e < 16; e++) acc = __builtin_fmaf(as[r][e], bs[e][q], acc);
    barrier(1);
  }
  c[(tr * 16 + r) * n + tc * 16 + q] = acc;
}

// A 64x64 tile, 4x4 for each of 256 threads.
kernel void sgemm4(global float *c, global const float *a, global const float *b, int n) {
  local float as[16][64], bs[16][64];
  int tiles = n / 64, tr = GID / tiles, tc = GID % tiles, ty = TID / 16, tx = TID % 16;
  float acc[4][4] = {};
  for (int k = 0; k < n; k += 16) {
    for (int i = 0; i < 4; i++) {
      int e = TID + i * 256;
      as[e % 16][e / 16] = a[(tr * 64 + e / 16) * n + k + e % 16];
      bs[e / 64][e % 64] = b[(k + e / 64) * n + tc * 64 + e % 64];
    }
    barrier(1);
#pragma unroll
    for (int e = 0; e < 16; e++)
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) acc[i][j] = __builtin_fmaf(as[e][ty * 4 + i], bs[e][tx * 4 + j], acc[i][j]);
    barrier(1);
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) c[(tr * 64 + ty * 4 + i) * n + tc * 64 + tx * 4 + j] = acc[i][j];
}

// Private memory: an array that is indexed dynamically.
kernel void scratch(global int *c, global const int *a, global const int *b, int n) {
  int t[64];
  int i = GID * 256 + TID;
  if (i >= n) return;
  for (int k = 0; k < 64; k++) t[(k * 7 + a[i]) & 63] = k ^ a[i];
  int s = 0;
  for (int k = 0; k < 16; k++) s = s * 31 + t[(b[i] + k * k) & 63];
  c[i] = s;
}

kernel void halves(global int *c, global const int *a, global const int *b, int n) {
  int i = GID * 256 + TID;
  if (i >= n) return;
  half x = (half)(short)(a[i] & 1023), y = (half)(short)(b[i] & 255);
  half r = x * y + x;
  c[i] = (int)__builtin_bit_cast(unsigned short, r) | (int)(__builtin_popcount(a[i]) << 16);
}
