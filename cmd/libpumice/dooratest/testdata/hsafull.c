// What HSA has beside queues and pools: ISAs, caches, regions, executables and old code objects, shared virtual memory, soft queues, groups of signals, callbacks. The same on AMD's library;
// where the two differ by design, or AMD's has a bug, the program is told so by its argument "amd".
#define _GNU_SOURCE
#include "hsacheck.h"
#include <fcntl.h>
#include <hsa/hsa_ext_amd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static hsa_status_t first_isa(hsa_isa_t i, void *data) {
    *(hsa_isa_t *)data = i;
    return HSA_STATUS_INFO_BREAK;
}
static hsa_status_t first_wave(hsa_wavefront_t w, void *data) {
    *(hsa_wavefront_t *)data = w;
    return HSA_STATUS_SUCCESS;
}
static void isas(void) {
    hsa_isa_t isa = {0}, other = {0};
    char name[64], wanted[] = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";
    uint32_t n = 0;
    WANT(hsa_agent_iterate_isas(gpu, first_isa, &isa), HSA_STATUS_INFO_BREAK);
    DO(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &n));
    WANT(n, sizeof wanted);
    DO(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name));
    WANT(strcmp(name, wanted), 0);
    DO(hsa_isa_from_name(wanted, &other));
    bool yes = false;
    DO(hsa_isa_compatible(other, isa, &yes));
    WANT(yes, 1);
    DO(hsa_isa_from_name("amdgcn-amd-amdhsa--gfx1030", &other));
    DO(hsa_isa_compatible(other, isa, &yes));
    WANT(yes, 0);
    WANT(hsa_isa_from_name("amdgcn-amd-amdhsa--gfx000", &other), HSA_STATUS_ERROR_INVALID_ISA_NAME);
    hsa_wavefront_t w = {0};
    DO(hsa_isa_iterate_wavefronts(isa, first_wave, &w));
    DO(hsa_wavefront_get_info(w, HSA_WAVEFRONT_INFO_SIZE, &n));
    WANT(n, 64);
    uint16_t mask = 9;
    DO(hsa_isa_get_exception_policies(isa, HSA_PROFILE_BASE, &mask));
    WANT(mask, 0);
    hsa_round_method_t round;
    DO(hsa_isa_get_round_method(isa, HSA_FP_TYPE_32, HSA_FLUSH_MODE_FTZ, &round));
    WANT(round, HSA_ROUND_METHOD_SINGLE);
}

static int amd; // the library is AMD's, of ROCm 5.2.3

static hsa_status_t each_cache(hsa_cache_t c, void *data) {
    uint8_t level = 0;
    uint32_t size = 0, n = 0;
    DO(hsa_cache_get_info(c, HSA_CACHE_INFO_LEVEL, &level));
    DO(hsa_cache_get_info(c, HSA_CACHE_INFO_SIZE, &size));
    DO(hsa_cache_get_info(c, HSA_CACHE_INFO_NAME_LENGTH, &n));
    char *name = calloc(1, n + 1);
    DO(hsa_cache_get_info(c, HSA_CACHE_INFO_NAME, name));
    WANT(level >= 1 && level <= 4 && size > 0, 1);
    char end[4] = {'L', '0' + level, 0};
    if (!amd) WANT(strstr(name, end) != NULL, 1); // which stores a pointer
    free(name);
    (*(int *)data)++;
    return HSA_STATUS_SUCCESS;
}
static void caches(void) {
    int n = 0;
    DO(hsa_agent_iterate_caches(gpu, each_cache, &n));
    WANT(n, 157); // a vector cache for each of 104 units, a scalar one for each pair, one of level 2
    n = 0;
    DO(hsa_agent_iterate_caches(cpu, each_cache, &n));
    if (access("/sys/devices/system/cpu/cpu0/cache/index0/size", R_OK) == 0) WANT(n >= 2, 1);
    uint32_t sizes[4];
    DO(hsa_agent_get_info(cpu, HSA_AGENT_INFO_CACHE_SIZE, sizes));
    if (n) WANT(sizes[0] != 0, 1);
}

static hsa_region_t fine, kernarg, own;
static hsa_status_t each_region(hsa_region_t r, void *data) {
    hsa_region_segment_t s;
    uint32_t f = 0;
    bool host = false;
    (void)data;
    DO(hsa_region_get_info(r, HSA_REGION_INFO_SEGMENT, &s));
    if (s != HSA_REGION_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
    DO(hsa_region_get_info(r, HSA_REGION_INFO_GLOBAL_FLAGS, &f));
    DO(hsa_region_get_info(r, (hsa_region_info_t)HSA_AMD_REGION_INFO_HOST_ACCESSIBLE, &host));
    if (f & HSA_REGION_GLOBAL_FLAG_KERNARG) kernarg = r;
    if (f & HSA_REGION_GLOBAL_FLAG_FINE_GRAINED && !(f & HSA_REGION_GLOBAL_FLAG_KERNARG) && host && !fine.handle) fine = r;
    if (f & HSA_REGION_GLOBAL_FLAG_COARSE_GRAINED && !own.handle) own = r;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t count_symbol(hsa_executable_t e, hsa_agent_t a, hsa_executable_symbol_t s, void *data) {
    (void)e, (void)a;
    hsa_symbol_kind_t k;
    DO(hsa_executable_symbol_get_info(s, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &k));
    if (k == HSA_SYMBOL_KIND_KERNEL) *(hsa_executable_symbol_t *)data = s;
    return HSA_STATUS_SUCCESS;
}

// saxpy runs the kernel of saxpy.hip.
static hsa_executable_symbol_t kernel;
static void saxpy(float a, const float *x, float *y, int n) {
    uint64_t object;
    uint32_t group, private_, size;
    DO(hsa_executable_symbol_get_info(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
    DO(hsa_executable_symbol_get_info(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &group));
    DO(hsa_executable_symbol_get_info(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &private_));
    DO(hsa_executable_symbol_get_info(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &size));
    struct {
        const float *x;
        float *y;
        float a;
        int n;
    } *args;
    DO(hsa_memory_allocate(kernarg, size + 64, (void **)&args));
    memset(args, 0, size);
    args->y = y, args->x = x, args->a = a, args->n = n;
    hsa_queue_t *q;
    hsa_signal_t done;
    DO(hsa_signal_create(1, 0, NULL, &done));
    DO(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &q));
    hsa_kernel_dispatch_packet_t *p = (hsa_kernel_dispatch_packet_t *)q->base_address;
    p->setup = 1;
    p->workgroup_size_x = 256, p->workgroup_size_y = p->workgroup_size_z = 1;
    p->grid_size_x = (uint32_t)(n + 255) / 256 * 256, p->grid_size_y = p->grid_size_z = 1;
    p->private_segment_size = private_, p->group_segment_size = group;
    p->kernel_object = object, p->kernarg_address = args, p->completion_signal = done;
    uint16_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH | HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_ACQUIRE_FENCE_SCOPE | HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_RELEASE_FENCE_SCOPE;
    __atomic_store_n(&p->header, header, __ATOMIC_RELEASE);
    hsa_queue_store_write_index_screlease(q, 1);
    hsa_signal_store_screlease(q->doorbell_signal, 0);
    WANT(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED), 0);
    DO(hsa_queue_destroy(q));
    DO(hsa_signal_destroy(done));
    DO(hsa_memory_free(args));
}

static hsa_status_t serial_alloc(size_t n, hsa_callback_data_t data, void **out) {
    *out = malloc(n);
    (void)data;
    return HSA_STATUS_SUCCESS;
}
static hsa_status_t count_code_symbol(hsa_code_object_t o, hsa_code_symbol_t s, void *data) {
    hsa_symbol_kind_t k;
    (void)o;
    DO(hsa_code_symbol_get_info(s, HSA_CODE_SYMBOL_INFO_TYPE, &k));
    if (k == HSA_SYMBOL_KIND_KERNEL) (*(int *)data)++;
    return HSA_STATUS_SUCCESS;
}
static void executables(const char *path) {
    hsa_code_object_reader_t reader;
    hsa_executable_t exe;
    hsa_executable_state_t state;
    uint32_t result = 9;
    int fd = open(path, O_RDONLY);
    WANT(hsa_code_object_reader_create_from_file(-1, &reader), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    DO(hsa_code_object_reader_create_from_file(fd, &reader));
    DO(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &exe));
    DO(hsa_executable_load_agent_code_object(exe, gpu, reader, NULL, NULL));
    DO(hsa_executable_get_info(exe, HSA_EXECUTABLE_INFO_STATE, &state));
    WANT(state, HSA_EXECUTABLE_STATE_UNFROZEN);
    DO(hsa_executable_freeze(exe, NULL));
    DO(hsa_executable_get_info(exe, HSA_EXECUTABLE_INFO_STATE, &state));
    WANT(state, HSA_EXECUTABLE_STATE_FROZEN);
    DO(hsa_executable_validate(exe, &result));
    WANT(result, 0);
    DO(hsa_executable_iterate_agent_symbols(exe, gpu, count_symbol, &kernel));
    WANT(kernel.handle != 0, 1);
    char name[64] = "";
    DO(hsa_executable_symbol_get_info(kernel, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name));
    hsa_executable_symbol_t again;
    DO(hsa_executable_get_symbol_by_name(exe, name, &gpu, &again));
    WANT(again.handle == kernel.handle, 1);

    // The older form.
    struct stat st;
    fstat(fd, &st);
    void *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0), *copy = NULL;
    hsa_code_object_t object;
    DO(hsa_code_object_deserialize(file, (size_t)st.st_size, NULL, &object));
    size_t n = 0;
    if (!amd) { // AMD's has no code of this age any more
        DO(hsa_code_object_serialize(object, serial_alloc, (hsa_callback_data_t){0}, NULL, &copy, &n));
        WANT(n, st.st_size);
        WANT(memcmp(copy, file, n), 0);
        int kernels = 0;
        DO(hsa_code_object_iterate_symbols(object, count_code_symbol, &kernels));
        WANT(kernels, 1);
    }
    hsa_executable_t exe2;
    DO(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &exe2));
    DO(hsa_executable_load_code_object(exe2, gpu, object, NULL));
    DO(hsa_executable_freeze(exe2, NULL));
    DO(hsa_executable_destroy(exe2));
    DO(hsa_code_object_destroy(object));
    DO(hsa_code_object_reader_destroy(reader));
    close(fd);
}

static void svm(void) {
    bool has = false;
    DO(hsa_system_get_info((hsa_system_info_t)HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED, &has));
    WANT(has, 1);
    const size_t S = 4 << 20;
    char *m = mmap(NULL, 2 * S, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    m = (char *)(((size_t)m + S - 1) & ~(S - 1));
    float *x = (float *)m, *y = (float *)(m + S / 2);
    const int n = 4096;
    for (int i = 0; i < n; i++) x[i] = (float)i, y[i] = 1;
    hsa_amd_svm_attribute_pair_t set[] = {
        {HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED},
        {HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, gpu.handle},
        {HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, gpu.handle},
        {HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY, 9},
    };
    DO(hsa_amd_svm_attributes_set(m, S, set, 4));
    hsa_amd_svm_attribute_pair_t get[] = {
        {HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, 77}, {HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, gpu.handle}, {HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, 0}, {HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 77},
        {HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION, 0}, {HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY, 0},
    };
    DO(hsa_amd_svm_attributes_get(m, S, get, 6));
    WANT(get[0].value, HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED);
    WANT(get[1].attribute, HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE);
    WANT(get[2].value, gpu.handle);
    WANT(get[3].value, 0);
    WANT(get[5].value, 9);
    saxpy(2, x, y, n);
    WANT(y[100], 201);
    // There and back, behind a signal.
    hsa_signal_t before, after;
    DO(hsa_signal_create(1, 0, NULL, &before));
    DO(hsa_signal_create(1, 0, NULL, &after));
    DO(hsa_amd_svm_prefetch_async(m, S, gpu, 1, &before, after));
    WANT(hsa_signal_load_scacquire(after), 1);
    hsa_signal_store_screlease(before, 0);
    WANT(hsa_signal_wait_scacquire(after, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED), 0);
    get[4] = (hsa_amd_svm_attribute_pair_t){HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION, 0};
    DO(hsa_amd_svm_attributes_get(m, S, &get[4], 1));
    WANT(get[4].value, gpu.handle);
    saxpy(2, x, y, n);
    WANT(y[100], 401);
    WANT(y[n - 1], 4 * (n - 1) + 1);
    set[1].attribute = HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS;
    DO(hsa_amd_svm_attributes_set(m, S, set + 1, 1));
    get[1] = (hsa_amd_svm_attribute_pair_t){HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, gpu.handle};
    DO(hsa_amd_svm_attributes_get(m, S, get + 1, 1));
    WANT(get[1].attribute, HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS);
    hsa_amd_svm_attribute_pair_t bad[] = {{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, 12345}, {999, 0}};
    if (!amd) WANT(hsa_amd_svm_attributes_set(m, S, bad, 1), HSA_STATUS_ERROR_INVALID_AGENT); // looks into the handle
    WANT(hsa_amd_svm_attributes_set(m, S, bad + 1, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    DO(hsa_signal_destroy(before));
    DO(hsa_signal_destroy(after));
}

static void queues(void) {
    hsa_queue_t *q;
    uint32_t mask[4], want[4] = {0x30, 0, 0, 0};
    DO(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &q));
    const char *limit = getenv("HSA_CU_MASK"); // 0:4-7
    DO(hsa_amd_queue_cu_get_mask(q, 128, mask));
    WANT(mask[0], limit ? 0xf0 : ~0u);
    WANT(mask[3], limit ? 0 : 0xff); // 104 units
    WANT(hsa_amd_queue_cu_set_mask(q, 128, want), HSA_STATUS_SUCCESS);
    DO(hsa_amd_queue_cu_get_mask(q, 128, mask));
    WANT(memcmp(mask, want, sizeof mask), 0);
    want[0] = 0x3c;
    WANT(hsa_amd_queue_cu_set_mask(q, 128, want), limit ? HSA_STATUS_CU_MASK_REDUCED : HSA_STATUS_SUCCESS);
    DO(hsa_amd_queue_cu_get_mask(q, 128, mask));
    WANT(mask[0], limit ? 0x30 : 0x3c);
    DO(hsa_queue_destroy(q));

    // A queue of the program's own.
    hsa_signal_t bell;
    DO(hsa_signal_create(-1, 0, NULL, &bell));
    DO(hsa_soft_queue_create(fine, 16, HSA_QUEUE_TYPE_SINGLE, HSA_QUEUE_FEATURE_AGENT_DISPATCH, bell, &q));
    WANT(q->size, 16);
    WANT(q->features, HSA_QUEUE_FEATURE_AGENT_DISPATCH);
    WANT(q->doorbell_signal.handle, bell.handle);
    WANT(((uint16_t *)q->base_address)[0] & 0xff, HSA_PACKET_TYPE_INVALID);
    WANT(hsa_queue_add_write_index_scacq_screl(q, 3), 0);
    WANT(hsa_queue_cas_write_index_scacq_screl(q, 3, 5), 3);
    WANT(hsa_queue_load_write_index_relaxed(q), 5);
    hsa_queue_store_read_index_screlease(q, 4);
    WANT(hsa_queue_load_read_index_scacquire(q), 4);
    DO(hsa_queue_destroy(q));

    if (!amd) { // "not implemented" there
        hsa_signal_t s[2] = {bell, {0}}, hit = {0};
        hsa_signal_group_t g;
        hsa_signal_condition_t conds[2] = {HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_LT};
        hsa_signal_value_t values[2] = {77, 5}, v = 0;
        DO(hsa_signal_create(9, 0, NULL, &s[1]));
        DO(hsa_signal_group_create(2, s, 0, NULL, &g));
        hsa_signal_store_relaxed(s[1], 3);
        DO(hsa_signal_group_wait_any_scacquire(g, conds, values, HSA_WAIT_STATE_BLOCKED, &hit, &v));
        WANT(hit.handle, s[1].handle);
        WANT(v, 3);
        DO(hsa_signal_group_destroy(g));
        WANT(hsa_signal_group_destroy(g), HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP);
        DO(hsa_signal_destroy(s[1]));
    }
    DO(hsa_signal_destroy(bell));
}

static void *gone;
static void freed(void *p, void *data) {
    gone = p;
    (*(int *)data)++;
}
static volatile uint64_t fault_at;
static hsa_status_t on_event(const hsa_amd_event_t *e, void *data) {
    if (e->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT && e->memory_fault.agent.handle == gpu.handle && e->memory_fault.fault_reason_mask & HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT)
        fault_at = e->memory_fault.virtual_address;
    *(volatile int *)data = 1;
    return HSA_STATUS_SUCCESS;
}
static void callbacks(void) {
    void *m;
    int n = 0;
    DO(hsa_memory_allocate(fine, 8192, &m));
    DO(hsa_amd_register_deallocation_callback(m, freed, &n));
    DO(hsa_amd_register_deallocation_callback((char *)m + 64, freed, &n));
    DO(hsa_amd_deregister_deallocation_callback((char *)m + 64, freed));
    WANT(hsa_amd_deregister_deallocation_callback((char *)m + 64, freed), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    DO(hsa_memory_free(m));
    WANT(n, 1);
    WANT((size_t)gone, (size_t)m);
    WANT(hsa_amd_register_deallocation_callback(m, freed, &n), HSA_STATUS_ERROR_INVALID_ALLOCATION);

    // A fault that the program takes for itself does not end it.
    static volatile int told;
    DO(hsa_amd_register_system_event_handler(on_event, (void *)&told));
    hsa_queue_t *q;
    DO(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &q));
    uint64_t object;
    uint32_t *args;
    DO(hsa_executable_symbol_get_info(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
    DO(hsa_memory_allocate(kernarg, 4096, (void **)&args));
    memset(args, 0, 4096);
    ((uint64_t *)args)[0] = ((uint64_t *)args)[1] = 0xdead000; // x and y
    args[5] = 64;                                              // n
    hsa_kernel_dispatch_packet_t *p = (hsa_kernel_dispatch_packet_t *)q->base_address;
    p->setup = 1;
    p->workgroup_size_x = p->grid_size_x = 64;
    p->workgroup_size_y = p->workgroup_size_z = p->grid_size_y = p->grid_size_z = 1;
    p->kernel_object = object, p->kernarg_address = args;
    __atomic_store_n(&p->header, HSA_PACKET_TYPE_KERNEL_DISPATCH, __ATOMIC_RELEASE);
    hsa_queue_store_write_index_screlease(q, 1);
    hsa_signal_store_screlease(q->doorbell_signal, 0);
    while (!told) usleep(100);
    WANT(fault_at, 0xdead000);
}

int main(int argc, char **argv) {
    amd = argc > 2;
    DO(hsa_init());
    DO(hsa_iterate_agents(each_agent, NULL));
    isas();
    caches();
    DO(hsa_agent_iterate_regions(gpu, each_region, NULL));
    WANT(own.handle != 0, 1);
    WANT(fine.handle == 0, 0);
    WANT(kernarg.handle == 0, 0);
    executables(argv[1]);
    svm();
    queues();
    const char *name = NULL;
    DO(hsa_extension_get_name(HSA_EXTENSION_IMAGES, &name));
    WANT(strcmp(name, "HSA_EXTENSION_IMAGES"), 0);
    hsa_amd_coherency_type_t type = 9;
    DO(hsa_amd_coherency_get_type(gpu, &type));
    WANT(type, HSA_AMD_COHERENCY_TYPE_NONCOHERENT);
    callbacks();
    puts(wrong ? "FAILED" : "OK");
    fflush(stdout);
    _exit(wrong != 0); // a queue is dead
}
