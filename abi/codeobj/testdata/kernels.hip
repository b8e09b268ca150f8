#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
__device__ int counter = 7;
__device__ float table[64];
extern "C" __global__ void vadd(const float *a, const float *b, float *c, unsigned n) {
  unsigned i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
  if (i < n) c[i] = a[i] + b[i] + table[i & 63];
}
struct S { int a; double b; };
extern "C" __global__ void lds(int *p, S s) {
  __shared__ int t[256];
  t[__builtin_amdgcn_workitem_id_x()] = *p + s.a;
  __builtin_amdgcn_s_barrier();
  *p = t[__builtin_amdgcn_workitem_id_x() ^ 1] + counter;
}
