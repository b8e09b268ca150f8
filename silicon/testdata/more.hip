// Kernels of TestRealLanes, TestRealAtomics, TestRealSplitBarrier and TestRealPreload.
#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define LDS __attribute__((shared))
typedef unsigned int u32;
typedef unsigned long long u64;

DEVICE static u32 item() { return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x(); }
DEVICE static u32 lane() { return __builtin_amdgcn_mbcnt_hi(-1, __builtin_amdgcn_mbcnt_lo(-1, 0)); }

// What a lane knows of its wave, and data from other lanes.
KERNEL void lanes(u32 *out) {
  u32 i = item(), l = lane(), *o = out + 6 * i;
  o[0] = __builtin_amdgcn_wavefrontsize();
  o[1] = l;
  o[2] = __builtin_amdgcn_ds_bpermute((l ^ 5) * 4, i);
  o[3] = __builtin_amdgcn_mov_dpp(i, 0xb1, 15, 15, true); // quad_perm 1,0,3,2
  o[4] = __builtin_amdgcn_readfirstlane(i);
  o[5] = __builtin_amdgcn_ds_swizzle(i, 0x041f); // bit mode, xor 1
}

#define ADD(p, v, f) __hip_atomic_fetch_##f(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)

// All items work on the same words.
KERNEL void atomics(u32 *c, u64 *d, float *f, double *g) {
  LDS u32 s[4];
  LDS float sf;
  u32 t = __builtin_amdgcn_workitem_id_x(), i = item();
  if (t < 4) s[t] = 0;
  if (t == 0) sf = 0;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  ADD(&c[0], i, add);
  ADD(&c[1], 3u, sub);
  ADD(&c[2], i ^ 0x55, max);
  ADD(&c[3], i + 17, min);
  ADD(&c[4], 1u << (i & 31), or);
  ADD(&c[5], ~(1u << (i & 15)), and);
  ADD(&c[6], i * 2654435761u, xor);
  ADD(&d[0], (u64)i << 30, add);
  ADD(&d[1], (u64)i << 33, max);
  ADD(f, 1.0f, add);
  ADD(g, 0.5, add);
  u32 old = __hip_atomic_load(&c[7], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  while (!__hip_atomic_compare_exchange_strong(&c[7], &old, old + 2, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {}
  __hip_atomic_fetch_add(&s[t & 3], i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_add(&sf, 2.0f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  if (t < 4) ADD(&c[8 + t], s[t], add);
  if (t == 0) ADD(&f[1], sf, add);
  // The rank of each item: a permutation of 0 to n-1 if each old value is seen once.
  u32 rank = ADD(&c[12], 1u, add);
  c[16 + rank] = i;
}

// Arguments of all sizes, which the compiler may ask for in SGPRs.
KERNEL void preload(u32 a, u32 b, u64 c, u32 *out, u32 d) {
  u32 i = item();
  out[i] = a + b * i + (u32)(c >> 32) + (u32)c + d;
}

#if __GFX12__ || defined(__gfx1201__) || defined(__gfx1200__)
KERNEL void split(const u32 *in, u32 *out, u32 *first, u32 rounds) {
  LDS u32 s[2][256];
  u32 t = __builtin_amdgcn_workitem_id_x(), sum = 0;
  for (u32 r = 0; r < rounds; r++) {
    s[r & 1][t] = in[t] + r;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    bool f = __builtin_amdgcn_s_barrier_signal_isfirst(-1);
    sum = sum * 31 + r;
    if (f && lane() == 0) ADD(first, 1u, add);
    __builtin_amdgcn_s_barrier_wait(-1);
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    sum += s[r & 1][255 - t];
  }
  out[item()] = sum;
}
KERNEL void state(u32 *out) {
  __builtin_amdgcn_s_barrier();
  out[item()] = __builtin_amdgcn_s_get_barrier_state(-1);
}
#endif
