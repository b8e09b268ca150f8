// Calls HSA with bad input, by the table of badhsa.def; see badinput.h.
#define _GNU_SOURCE
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "badinput.h"

static hsa_agent_t gpu, cpu;
static hsa_amd_memory_pool_t pool;

static hsa_status_t each_agent(hsa_agent_t a, void *data) {
    hsa_device_type_t t;
    (void)data;
    if (hsa_agent_get_info(a, HSA_AGENT_INFO_DEVICE, &t) == HSA_STATUS_SUCCESS) {
        if (t == HSA_DEVICE_TYPE_GPU && !gpu.handle) gpu = a;
        if (t == HSA_DEVICE_TYPE_CPU && !cpu.handle) cpu = a;
    }
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t each_isa(hsa_isa_t i, void *data) {
    (void)i, (void)data;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t each_pool(hsa_amd_memory_pool_t p, void *data) {
    hsa_amd_segment_t s;
    (void)data;
    if (!pool.handle && hsa_amd_memory_pool_get_info(p, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &s) == HSA_STATUS_SUCCESS && s == HSA_AMD_SEGMENT_GLOBAL) pool = p;
    return HSA_STATUS_SUCCESS;
}

static hsa_region_t region;
static hsa_status_t each_region(hsa_region_t r, void *data) {
    (void)data;
    if (!region.handle) region = r;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t each_cache(hsa_cache_t c, void *data) {
    (void)c, (void)data;
    return HSA_STATUS_SUCCESS;
}

static void on_free(void *p, void *data) { (void)p, (void)data; }

static void need(hsa_status_t s, const char *what) {
    if (s == HSA_STATUS_SUCCESS) return;
    printf("%s: %#x\n", what, s);
    exit(1);
}
#define NEED(call) need(call, #call)

int main(int argc, char **argv) {
    int from = argc > 1 ? atoi(argv[1]) : 0, row = 0;
    const hsa_agent_t no_agent = {0};
    const hsa_isa_t no_isa = {0};
    const hsa_amd_memory_pool_t no_pool = {0};
    uint16_t u16 = 0;
    uint64_t u64 = 0;
    char text[64];
    const char *words = NULL;
    hsa_ven_amd_loader_1_00_pfn_t table;
    void *p = NULL, *mem = NULL, *freed = NULL;
    char *heap = aligned_alloc(4096, 65536);
    memset(heap, 0, 65536);
    uint32_t mask[4] = {~0u, ~0u, ~0u, ~0u};
    hsa_signal_t signal = {0}, signal2 = {0};
    hsa_queue_t *queue = NULL, *queue2 = NULL;
    hsa_amd_pointer_info_t info = {.size = sizeof info};
    hsa_code_object_reader_t reader = {0}, rubbish = {0};
    hsa_executable_t exe = {0};
    hsa_executable_symbol_t symbol = {0};
    hsa_code_object_t object = {0};
    hsa_isa_t isa = {0};
    hsa_amd_ipc_memory_t ipc;
    (void)u16, (void)u64, (void)text, (void)words, (void)table, (void)p, (void)signal2, (void)queue2, (void)info, (void)reader, (void)symbol, (void)ipc, (void)object, (void)isa;
    if (from > 4) NEED(hsa_init());

#define SETUP                                                                                                           \
    NEED(hsa_iterate_agents(each_agent, NULL));                                                                         \
    NEED(hsa_agent_iterate_regions(gpu, each_region, NULL));                                                            \
    NEED(hsa_amd_agent_iterate_memory_pools(gpu, each_pool, NULL));                                                     \
    NEED(hsa_amd_memory_pool_allocate(pool, 4096, 0, &mem));                                                            \
    NEED(hsa_amd_memory_pool_allocate(pool, 1 << 24, 0, &freed));                                                       \
    NEED(hsa_amd_memory_pool_free(freed));                                                                              \
    (void)hold(freed, 1 << 24);                                                                                         \
    NEED(hsa_signal_create(1, 0, NULL, &signal));                                                                       \
    NEED(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue));                  \
    NEED(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &exe));             \
    NEED(hsa_code_object_reader_create_from_memory(heap, 4096, &rubbish));
#include "badhsa.def"
    printf("END\t%d\n", row);
    return 0;
}
