// Kernels of TestRealGWS: waves that meet across work-groups.
#define KERNEL extern "C" __attribute__((global))
typedef unsigned int u32;
#define X __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()

KERNEL void init(u32 value, u32 rid) { __builtin_amdgcn_ds_gws_init(value, rid); }

// Each round every group writes its number and reads its neighbour's.
KERNEL void rounds(u32 *cell, u32 *out, u32 groups, u32 n, u32 rid) {
  u32 bad = 0;
  for (u32 r = 0; r < n; r++) {
    if (X == 0) __hip_atomic_store(cell + GROUP, r * 1000 + GROUP, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    for (u32 half = 0; half < 2; half++) {
      __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
      __builtin_amdgcn_s_barrier();
      if (X == 0) __builtin_amdgcn_ds_gws_barrier(groups - 1, rid);
      __builtin_amdgcn_s_barrier();
      u32 next = (GROUP + 1) % groups;
      if (half == 0 && __hip_atomic_load(cell + next, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != r * 1000 + next) bad++;
    }
  }
  out[GROUP * 128 + X] = bad;
}

// Group 0 lets the others go: one by one, some at once, then all that are left.
KERNEL void semaphore(u32 *count, u32 *out, u32 groups, u32 rid) {
  if (X >= __builtin_amdgcn_wavefrontsize()) return;
  if (GROUP != 0) {
    if (X == 0) __hip_atomic_fetch_add(count, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __builtin_amdgcn_ds_gws_sema_p(rid);
    if (X == 0) __hip_atomic_fetch_add(count + 1, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    return;
  }
  __builtin_amdgcn_ds_gws_sema_v(rid);
  __builtin_amdgcn_ds_gws_sema_br(2, rid);
  while (__hip_atomic_load(count + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < 3) __builtin_amdgcn_s_sleep(1);
  while (__hip_atomic_load(count, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < groups - 1) __builtin_amdgcn_s_sleep(1);
  out[0] = __hip_atomic_load(count + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  // One that has counted itself may not wait yet, and a release reaches those only that do.
  while (__hip_atomic_load(count + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < groups - 1) {
    __builtin_amdgcn_ds_gws_sema_release_all(rid);
    __builtin_amdgcn_s_sleep(1);
  }
}
