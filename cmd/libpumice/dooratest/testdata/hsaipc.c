// Memory and a signal of HSA in two processes.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static hsa_agent_t gpu;
static hsa_amd_memory_pool_t pool;

#define DO(call)                                                       \
    do {                                                               \
        int s_ = (call);                                               \
        if (s_ != 0) {                                                 \
            printf("line %d: %s: %#x\n", __LINE__, #call, (unsigned)s_); \
            exit(1);                                                   \
        }                                                              \
    } while (0)

static hsa_status_t find_agent(hsa_agent_t a, void *d) {
    hsa_device_type_t t;
    (void)d;
    hsa_agent_get_info(a, HSA_AGENT_INFO_DEVICE, &t);
    if (t == HSA_DEVICE_TYPE_GPU && !gpu.handle) gpu = a;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t find_pool(hsa_amd_memory_pool_t p, void *d) {
    hsa_amd_segment_t s;
    uint32_t f;
    (void)d;
    hsa_amd_memory_pool_get_info(p, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &s);
    if (s != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
    hsa_amd_memory_pool_get_info(p, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &f);
    if (f & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) pool = p;
    return HSA_STATUS_SUCCESS;
}

struct message {
    hsa_amd_ipc_memory_t mem;
    hsa_amd_ipc_signal_t there, back;
};

static void start(void) {
    DO(hsa_init());
    DO(hsa_iterate_agents(find_agent, NULL));
    DO(hsa_amd_agent_iterate_memory_pools(gpu, find_pool, NULL));
}

int main(void) {
    int fd[2];
    const size_t size = 1 << 20;
    struct message m;
    void *p;
    hsa_signal_t there, back;
    if (pipe(fd)) return 1;
    pid_t child = fork();
    close(fd[child != 0 ? 0 : 1]); // so that neither waits for ever
    start();
    if (child == 0) {
        uint32_t got = 0;
        if (read(fd[0], &m, sizeof m) != sizeof m) return 3;
        DO(hsa_amd_ipc_signal_attach(&m.there, &there));
        DO(hsa_amd_ipc_signal_attach(&m.back, &back));
        DO(hsa_amd_ipc_memory_attach(&m.mem, size, 1, &gpu, &p));
        if (hsa_signal_wait_scacquire(there, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) != 0) return 4;
        DO(hsa_memory_copy(&got, p, 4));
        if (got != 0x11223344) return printf("memory holds %#x\n", got), 5;
        DO(hsa_amd_memory_fill(p, 0x55667788, size / 4));
        hsa_signal_subtract_screlease(back, 1);
        DO(hsa_amd_ipc_memory_detach(p));
        if (hsa_amd_ipc_memory_detach(p) == 0) return 6;
        DO(hsa_shut_down());
        return 0;
    }
    DO(hsa_amd_memory_pool_allocate(pool, size, 0, &p));
    DO(hsa_amd_signal_create(1, 0, NULL, HSA_AMD_SIGNAL_IPC, &there));
    DO(hsa_amd_signal_create(1, 0, NULL, HSA_AMD_SIGNAL_IPC, &back));
    DO(hsa_amd_ipc_memory_create(p, size, &m.mem));
    DO(hsa_amd_ipc_signal_create(there, &m.there));
    DO(hsa_amd_ipc_signal_create(back, &m.back));
    if (write(fd[1], &m, sizeof m) != sizeof m) return 3;
    DO(hsa_amd_memory_fill(p, 0x11223344, size / 4));
    hsa_signal_store_screlease(there, 0);
    if (hsa_signal_wait_scacquire(back, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) != 0) return 4;
    uint32_t got = 0;
    DO(hsa_memory_copy(&got, (char *)p + size - 4, 4));
    int status = 0;
    waitpid(child, &status, 0);
    if (got != 0x55667788 || status != 0) return printf("memory holds %#x, the child ended with %d\n", got, status), 5;
    DO(hsa_amd_memory_pool_free(p));
    DO(hsa_signal_destroy(there));
    DO(hsa_shut_down());
    puts("OK");
    return 0;
}
