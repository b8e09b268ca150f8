// Kernels of TestRealCode; no headers, so that only clang is needed.
#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define LDS __attribute__((shared))
typedef unsigned int u32;
typedef unsigned long long u64;

DEVICE static u32 item() { return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x(); }

KERNEL void vadd(const float *a, const float *b, float *out, u32 n) {
  u32 i = item();
  if (i < n) out[i] = a[i] + b[i];
}

// Sum of each work-group by a tree in LDS.
KERNEL void reduce(const u32 *in, u32 *out) {
  LDS u32 s[256];
  u32 t = __builtin_amdgcn_workitem_id_x();
  s[t] = in[item()];
  for (u32 d = 128; d > 0; d >>= 1) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    if (t < d) s[t] += s[t + d];
  }
  if (t == 0) out[__builtin_amdgcn_workgroup_id_x()] = s[0];
}

// An array in scratch with an index that the compiler cannot know.
KERNEL void scratch(const u32 *in, u32 *out) {
  u32 a[32];
  u32 i = item();
  for (u32 k = 0; k < 32; k++) a[in[k] & 31] = k * i;
  out[i] = a[in[i & 31] & 31] + a[i & 31];
}

// All work-groups count up and wait for the last one.
KERNEL void grid_barrier(u32 *count, u32 *out, u32 groups) {
  if (__builtin_amdgcn_workitem_id_x() == 0) {
    __hip_atomic_fetch_add(count, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    while (__hip_atomic_load(count, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < groups)
      __builtin_amdgcn_s_sleep(1);
  }
  __builtin_amdgcn_s_barrier();
  out[item()] = *count;
}

// Three dimensions with partial groups, and the dispatch packet.
KERNEL void dims(u32 *out, u32 nx, u32 ny) {
  u32 x = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
  u32 y = __builtin_amdgcn_workgroup_id_y() * __builtin_amdgcn_workgroup_size_y() + __builtin_amdgcn_workitem_id_y();
  u32 z = __builtin_amdgcn_workgroup_id_z() * __builtin_amdgcn_workgroup_size_z() + __builtin_amdgcn_workitem_id_z();
  out[(z * ny + y) * nx + x] = x | y << 10 | z << 20;
}

KERNEL void wild(u32 *p) {
  if (item() == 300) p[1ull << 38] = 7;
}

KERNEL void trap() { __builtin_trap(); }
