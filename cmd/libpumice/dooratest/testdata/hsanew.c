// What came to HSA after ROCr 5.2.3: copies on a named engine, DMA-BUFs out and in, waiting for all of several signals, and attributes. Declared here, for Debian 12's headers do not.
#include "hsacheck.h"
#include <hsa/hsa_ext_amd.h>
#include <string.h>
#include <unistd.h>

hsa_status_t hsa_amd_memory_async_copy_on_engine(void *, hsa_agent_t, const void *, hsa_agent_t, size_t, uint32_t, const hsa_signal_t *, hsa_signal_t, uint32_t, bool);
hsa_status_t hsa_amd_memory_copy_engine_status(hsa_agent_t, hsa_agent_t, uint32_t *);
hsa_status_t hsa_amd_portable_export_dmabuf(const void *, size_t, int *, uint64_t *);
hsa_status_t hsa_amd_portable_close_dmabuf(int);
hsa_status_t hsa_amd_queue_get_info(hsa_queue_t *, int, void *);
hsa_status_t hsa_amd_async_function(void (*)(void *), void *);
uint32_t hsa_amd_signal_wait_all(uint32_t, hsa_signal_t *, hsa_signal_condition_t *, hsa_signal_value_t *, uint64_t, hsa_wait_state_t, hsa_signal_value_t *);

static hsa_status_t global_pool(hsa_amd_memory_pool_t p, void *data) {
    hsa_amd_segment_t s;
    uint32_t flags = 0;
    DO(hsa_amd_memory_pool_get_info(p, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &s));
    if (s != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
    DO(hsa_amd_memory_pool_get_info(p, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) return HSA_STATUS_SUCCESS;
    *(hsa_amd_memory_pool_t *)data = p;
    return HSA_STATUS_INFO_BREAK;
}

enum { N = 1 << 16 };
static uint32_t *host, *device;

static void copy(void *dst, hsa_agent_t da, const void *src, hsa_agent_t sa, uint32_t engine, hsa_signal_t *deps, uint32_t n) {
    hsa_signal_t done;
    DO(hsa_signal_create(1, 0, NULL, &done));
    DO(hsa_amd_memory_async_copy_on_engine(dst, da, src, sa, N * 4, n, deps, done, engine, false));
    if (n) hsa_signal_store_relaxed(deps[0], 0);
    WANT(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED), 0);
    DO(hsa_signal_destroy(done));
}

static void engines(void) {
    uint32_t mask = 0, n = 0;
    DO(hsa_agent_get_info(gpu, (hsa_agent_info_t)0xA10A, &n)); // engines
    WANT(n, 2);
    DO(hsa_amd_memory_copy_engine_status(gpu, cpu, &mask));
    WANT(mask & 3, 3);
    DO(hsa_amd_memory_copy_engine_status(cpu, gpu, &mask));
    WANT(mask & 3, 2); // gfx90a copies to the host with the second engine
    WANT(hsa_amd_memory_copy_engine_status(gpu, gpu, &mask), HSA_STATUS_ERROR_INVALID_AGENT);
    for (int i = 0; i < N; i++) host[i] = 3 * i;
    hsa_signal_t dep;
    DO(hsa_signal_create(1, 0, NULL, &dep));
    copy(device, gpu, host, cpu, 1, &dep, 1);
    memset(host, 0, N * 4);
    copy(host, cpu, device, gpu, 2, NULL, 0);
    for (int i = 0; i < N; i++)
        if (host[i] != 3u * i) WANT(host[i], 3u * i), i = N;
    WANT(hsa_amd_memory_async_copy_on_engine(device, gpu, host, cpu, 4, 0, NULL, dep, 3, false), HSA_STATUS_ERROR_INVALID_ARGUMENT); // two engines
    WANT(hsa_amd_memory_async_copy_on_engine(device, gpu, host, cpu, 4, 0, NULL, dep, 1 << 30, false), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    WANT(hsa_amd_memory_async_copy_on_engine(NULL, gpu, host, cpu, 4, 0, NULL, dep, 1, false), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    DO(hsa_signal_destroy(dep));
}

static void dmabuf(void) {
    int fd = -1;
    uint64_t off = 9;
    DO(hsa_amd_portable_export_dmabuf(device + 1024, 4096, &fd, &off));
    WANT(off, 4096);
    WANT(hsa_amd_portable_export_dmabuf(device + 1024, N * 4, &fd, &off), HSA_STATUS_ERROR_INVALID_ALLOCATION);
    WANT(hsa_amd_portable_export_dmabuf(host, 4096, &fd, &off), HSA_STATUS_ERROR_INVALID_AGENT);
    size_t size = 0;
    void *again = NULL;
    DO(hsa_amd_interop_map_buffer(1, &gpu, fd, 0, &size, &again, NULL, NULL));
    WANT(size, N * 4);
    WANT(again == device, 0);
    DO(hsa_amd_portable_close_dmabuf(fd));
    WANT(hsa_amd_portable_close_dmabuf(fd), HSA_STATUS_ERROR_RESOURCE_FREE);
    memset(host, 0, N * 4);
    copy(host, cpu, again, gpu, 2, NULL, 0);
    WANT(host[N - 1], 3 * (N - 1)); // the same memory
    DO(hsa_amd_interop_unmap_buffer(again));
    WANT(hsa_amd_interop_map_buffer(1, &gpu, 0, 0, &size, &again, NULL, NULL) != 0, 1); // no DMA-BUF
}

static hsa_signal_t called;
static void function(void *arg) { hsa_signal_store_screlease(called, *(int *)arg); }

static void waiting(void) {
    hsa_signal_t s[3] = {{0}};
    hsa_signal_condition_t c[3] = {HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_GTE};
    hsa_signal_value_t v[3] = {7, 7, 7}, got[3] = {-1, -1, -1};
    DO(hsa_signal_create(7, 0, NULL, &s[0]));
    DO(hsa_signal_create(0, 0, NULL, &s[2]));
    WANT(hsa_amd_signal_wait_all(3, s, c, v, 1000, HSA_WAIT_STATE_BLOCKED, got), (uint32_t)-1);
    int arg = 9;
    called = s[2];
    DO(hsa_amd_async_function(function, &arg));
    WANT(hsa_amd_signal_wait_all(3, s, c, v, UINT64_MAX, HSA_WAIT_STATE_BLOCKED, got), 0);
    WANT(got[0], 7);
    WANT(got[1], 0); // there is no signal
    WANT(got[2], 9);
}

static void queues(void) {
    hsa_queue_t *q;
    DO(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &q));
    hsa_agent_t of = {0};
    DO(hsa_amd_queue_get_info(q, 0, &of));
    WANT(of.handle, gpu.handle);
    uint64_t bell = 0;
    DO(hsa_amd_queue_get_info(q, 1, &bell));
    WANT(bell != 0, 1);
    WANT(hsa_amd_queue_get_info(q, 2, &bell), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    DO(hsa_queue_destroy(q));
}

int main(void) {
    DO(hsa_init());
    DO(hsa_iterate_agents(each_agent, NULL));
    hsa_amd_memory_pool_t hp = {0}, dp = {0};
    WANT(hsa_amd_agent_iterate_memory_pools(cpu, global_pool, &hp), HSA_STATUS_INFO_BREAK);
    WANT(hsa_amd_agent_iterate_memory_pools(gpu, global_pool, &dp), HSA_STATUS_INFO_BREAK);
    DO(hsa_amd_memory_pool_allocate(hp, N * 4, 0, (void **)&host));
    DO(hsa_amd_agents_allow_access(1, &gpu, NULL, host));
    DO(hsa_amd_memory_pool_allocate(dp, N * 4, 0, (void **)&device));
    engines();
    dmabuf();
    waiting();
    queues();
    hsa_agent_t near = {0};
    DO(hsa_agent_get_info(gpu, (hsa_agent_info_t)0xA113, &near));
    WANT(near.handle, cpu.handle);
    struct { uint64_t gpu, cpu, system, hz; } clocks = {0};
    DO(hsa_agent_get_info(gpu, (hsa_agent_info_t)0xA118, &clocks));
    WANT(clocks.hz, 1000000000);
    DO(hsa_amd_memory_pool_free(device));
    DO(hsa_amd_memory_pool_free(host));
    DO(hsa_shut_down());
    puts(wrong ? "FAILED" : "OK");
    return wrong != 0;
}
