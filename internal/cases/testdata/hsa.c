// Cases that call HSA, or the driver itself: `hsa NAME` runs one.
#include <errno.h>
#include <fcntl.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define MUST(what)                                                         \
    do {                                                                   \
        if (!(what)) {                                                     \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #what);      \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

#define HSA(call)                                                               \
    do {                                                                        \
        hsa_status_t status_ = (call);                                          \
        if (status_ != HSA_STATUS_SUCCESS) {                                    \
            printf("%s:%d: %s: %#x\n", __FILE__, __LINE__, #call, status_);     \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

static hsa_status_t first_gpu(hsa_agent_t a, void *out) {
    hsa_device_type_t t;
    HSA(hsa_agent_get_info(a, HSA_AGENT_INFO_DEVICE, &t));
    if (t != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
    *(hsa_agent_t *)out = a;
    return HSA_STATUS_INFO_BREAK;
}

static hsa_agent_t gpu(void) {
    hsa_agent_t a = {0};
    HSA(hsa_init());
    MUST(hsa_iterate_agents(first_gpu, &a) == HSA_STATUS_INFO_BREAK);
    return a;
}

// ROCm/rocm-systems#5071, pull request #8564: forty barrier packets, each waiting for the signal of the one before, while a thread waits for any of the signals.
// More signals than hsa_amd_signal_wait_any keeps room for on its stack made AMD's write past its end.
enum { CHAIN = 40 };
static hsa_signal_t chain[CHAIN + 1];

static void *wait_any(void *arg) {
    hsa_signal_t *left = malloc(sizeof chain);
    hsa_signal_condition_t *conds = malloc(sizeof *conds * (CHAIN + 1));
    hsa_signal_value_t *zeros = calloc(CHAIN + 1, sizeof *zeros), got = -1;
    uint32_t n = CHAIN + 1;
    (void)arg;
    memcpy(left, chain, sizeof chain);
    for (uint32_t i = 0; i < n; i++) conds[i] = HSA_SIGNAL_CONDITION_EQ;
    while (n > 0) {
        uint32_t i = hsa_amd_signal_wait_any(n, left, conds, zeros, UINT64_MAX, HSA_WAIT_STATE_BLOCKED, &got);
        MUST(i < n && got == 0);
        left[i] = left[--n];
    }
    free(left);
    free(conds);
    free(zeros);
    return NULL;
}

static void issue_rocm_systems_5071(void) {
    hsa_agent_t a = gpu();
    hsa_queue_t *q;
    HSA(hsa_queue_create(a, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &q));
    for (int round = 0; round < 3; round++) {
        char *guards[64];
        for (int i = 0; i < 64; i++) memset(guards[i] = malloc(24 + i * 8), 0x5a, 24 + i * 8);
        for (int i = 0; i <= CHAIN; i++) HSA(hsa_signal_create(1, 0, NULL, &chain[i]));
        pthread_t t;
        MUST(pthread_create(&t, NULL, wait_any, NULL) == 0);
        for (int i = 0; i < CHAIN; i++) {
            uint64_t at = hsa_queue_add_write_index_relaxed(q, 1);
            hsa_barrier_and_packet_t *p = (hsa_barrier_and_packet_t *)q->base_address + at % q->size;
            memset((char *)p + 4, 0, sizeof *p - 4);
            p->dep_signal[i % 5] = chain[i];
            p->completion_signal = chain[i + 1];
            uint16_t header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE | HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_ACQUIRE_FENCE_SCOPE |
                              HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_RELEASE_FENCE_SCOPE;
            __atomic_store_n((uint16_t *)p, header, __ATOMIC_RELEASE);
            hsa_signal_store_screlease(q->doorbell_signal, at);
        }
        MUST(hsa_signal_load_scacquire(chain[CHAIN]) == 1);
        hsa_signal_store_screlease(chain[0], 0);
        MUST(pthread_join(t, NULL) == 0);
        for (int i = 0; i <= CHAIN; i++) {
            MUST(hsa_signal_load_scacquire(chain[i]) == 0);
            HSA(hsa_signal_destroy(chain[i]));
        }
        for (int i = 0; i < 64; i++) {
            for (int j = 0; j < 24 + i * 8; j++) MUST(guards[i][j] == 0x5a);
            free(guards[i]);
        }
    }
    HSA(hsa_queue_destroy(q));
    HSA(hsa_shut_down());
}

// ROCm/rocm-systems#8812: a command that /dev/kfd does not know.
static void issue_rocm_systems_8812(void) {
    int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    MUST(fd >= 0);
    char arg[256] = {0};
    errno = 0;
    MUST(ioctl(fd, 0x4b7f, arg) == -1);
    MUST(errno == ENOTTY);
    errno = 0;
    MUST(ioctl(fd, 0x4b7f, NULL) == -1);
    MUST(errno == ENOTTY);
}

// warpfront/hipfire#569: HSA's loader takes code objects, and no bundles: neither a compressed one (MODULE), nor a plain one (BUNDLE).
static void issue_hipfire_569(void) {
    hsa_agent_t a = gpu();
    const char *names[] = {"MODULE", "BUNDLE"};
    for (int i = 0; i < 2; i++) {
        FILE *f = fopen(getenv(names[i]), "rb");
        MUST(f);
        char *image = malloc(64 << 20);
        size_t n = fread(image, 1, 64 << 20, f);
        fclose(f);
        hsa_code_object_reader_t reader = {0};
        hsa_executable_t exe;
        HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &exe));
        hsa_status_t s = hsa_code_object_reader_create_from_memory(image, n, &reader);
        if (s == HSA_STATUS_SUCCESS) s = hsa_executable_load_agent_code_object(exe, a, reader, NULL, NULL);
        MUST(s == HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
        HSA(hsa_executable_destroy(exe));
        free(image);
    }
    HSA(hsa_shut_down());
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"issue_rocm_systems_5071", issue_rocm_systems_5071}, {"issue_rocm_systems_8812", issue_rocm_systems_8812}, {"issue_hipfire_569", issue_hipfire_569}};
    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof *all; i++)
        if (!strcmp(argv[1], all[i].name)) {
            all[i].run();
            printf("right: %s\n", argv[1]);
            return 0;
        }
    return 2;
}
