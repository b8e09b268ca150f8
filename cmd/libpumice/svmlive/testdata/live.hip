// Shared virtual memory under a real program: more than video memory holds, threads and waves on the same pages, and what a process may do to its address
// space while a GPU uses it. One check for each argument. Prints OK, or what went wrong.
//
// register: with XNACK off a GPU reaches only what it was told of. So memory that HIP did not allocate is registered by HSA's SVM attributes.
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <hip/hip_runtime.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define DO(x)                                                                                                                                \
    do {                                                                                                                                     \
        int e_ = (int)(x);                                                                                                                   \
        if (e_ != 0) {                                                                                                                       \
            printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #x, e_);                                                                           \
            fflush(stdout);                                                                                                                  \
            _exit(1);                                                                                                                        \
        }                                                                                                                                    \
    } while (0)
#define NEED(x) DO(!(x))

static bool xnack() { return getenv("HSA_XNACK") && getenv("HSA_XNACK")[0] == '1'; }

static size_t number(char **argv, int i, size_t otherwise) { return argv[i] ? strtoull(argv[i], nullptr, 0) : otherwise; }

static hsa_agent_t gpu;
static hsa_status_t find_gpu(hsa_agent_t a, void *) {
    hsa_device_type_t t;
    if (hsa_agent_get_info(a, HSA_AGENT_INFO_DEVICE, &t) == HSA_STATUS_SUCCESS && t == HSA_DEVICE_TYPE_GPU && gpu.handle == 0) gpu = a;
    return HSA_STATUS_SUCCESS;
}

static void reg(void *p, size_t n) {
    if (gpu.handle == 0) {
        DO(hsa_init());
        DO(hsa_iterate_agents(find_gpu, nullptr));
    }
    hsa_amd_svm_attribute_pair_t a[] = {{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, gpu.handle}};
    DO(hsa_amd_svm_attributes_set(p, n, a, 1));
}

static void prefetch(void *p, size_t n) {
    hsa_signal_t s;
    DO(hsa_signal_create(1, 0, nullptr, &s));
    DO(hsa_amd_svm_prefetch_async(p, n, gpu, 0, nullptr, s));
    hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    DO(hsa_signal_destroy(s));
}

static char *pages(size_t n) {
    char *p = (char *)mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(p != MAP_FAILED);
    return p;
}

// mixed is what element i has after `rounds` additions.
__host__ __device__ static unsigned mixed(size_t i, unsigned rounds) { return (unsigned)(i * 2654435761u) + rounds * 7u; }

__global__ void step(unsigned *p, size_t n) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] += 7;
}
__global__ void touch(unsigned *p, size_t n, size_t stride) {
    size_t i = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) * stride;
    if (i < n) p[i] += 7;
}
__global__ void add_all(unsigned *p, size_t n, int times) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (int k = 0; k < times; k++) atomicAdd_system(&p[i % n], 1u);
}
__global__ void set(unsigned *p, unsigned v) { *p = v; }
__global__ void sum(const unsigned *p, size_t n, unsigned *out) {
    unsigned s = 0;
    for (size_t i = 0; i < n; i++) s += p[i];
    *out = s;
}

static void run_step(unsigned *p, size_t n) {
    step<<<64, 256>>>(p, n);
    DO(hipDeviceSynchronize());
}

// More managed memory than video memory: every byte right, whoever touches it. MiB, GPU passes.
static int oversubscribe(char **argv) {
    // AMD's runtime takes no single allocation that is larger than what a device has.
    size_t n = number(argv, 2, 128), rounds = number(argv, 3, 2);
    const size_t piece = 8 << 20, m = piece / sizeof(unsigned);
    std::vector<unsigned *> all(n * (1 << 20) / piece);
    for (auto &p : all) {
        DO(hipMallocManaged((void **)&p, piece));
        for (size_t i = 0; i < m; i++) p[i] = mixed(i, 0);
    }
    for (size_t k = 0; k < all.size() / 4; k++) DO(hipMemPrefetchAsync(all[k], piece, 0, 0));
    for (unsigned r = 1; r <= rounds; r++) {
        for (auto p : all) step<<<64, 256>>>(p, m);
        DO(hipDeviceSynchronize());
        // One page of 64 comes home before the next pass.
        for (auto p : all)
            for (size_t i = 0; i < m; i += 64 * 1024) NEED(p[i] == mixed(i, r));
    }
    for (auto p : all) {
        for (size_t i = 0; i < m; i++)
            if (p[i] != mixed(i, rounds)) {
                printf("element %zu is %#x and not %#x\n", i, p[i], mixed(i, rounds));
                return 1;
            }
        DO(hipFree(p));
    }
    return 0;
}

// Threads and waves add to the same words at the same time, while pages go to and fro. With XNACK on, in VRAM too: an atomic of either side must not be lost in
// a migration.
static int threads(char **argv) {
    size_t n = 64 << 10, cpus = number(argv, 2, 4), times = 50;
    unsigned *p;
    DO(hipMallocManaged((void **)&p, n * sizeof *p));
    memset(p, 0, n * sizeof *p);
    std::vector<std::thread> all;
    std::atomic<bool> go{false};
    for (size_t t = 0; t < cpus; t++)
        all.emplace_back([&, t] {
            while (!go) std::this_thread::yield();
            for (size_t k = 0; k < 4; k++)
                for (size_t i = 0; i < n; i += 16) __atomic_fetch_add(&p[(i + t * 4096) % n], 1, __ATOMIC_RELAXED);
        });
    go = true;
    for (int r = 0; r < 4; r++) add_all<<<(unsigned)(n / 256), 256>>>(p, n, (int)times);
    DO(hipDeviceSynchronize());
    for (auto &t : all) t.join();
    for (size_t i = 0; i < n; i++) {
        unsigned want = (unsigned)(4 * times + (i % 16 == 0 ? 4 * cpus : 0));
        if (p[i] != want) {
            printf("word %zu is %u and not %u\n", i, p[i], want);
            return 1;
        }
    }
    return 0;
}

// munmap in the middle, MAP_FIXED over it, and what is left.
static int unmap(char **) {
    size_t n = 4 << 20, words = n / 4;
    char *p = pages(n);
    unsigned *w = (unsigned *)p;
    for (size_t i = 0; i < words; i++) w[i] = mixed(i, 0);
    reg(p, n);
    prefetch(p, n);
    run_step(w, words);
    // The hole is anybody's from now on.
    NEED(munmap(p + (1 << 20), 1 << 20) == 0);
    run_step(w, (1 << 20) / 4);
    run_step(w + (2 << 20) / 4, (2 << 20) / 4);
    // Over memory that is in use.
    char *q = (char *)mmap(p + (3 << 20), 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    NEED(q == p + (3 << 20));
    reg(q, 1 << 20);
    run_step((unsigned *)q, 1 << 18);
    for (size_t i = 0; i < words; i++) {
        size_t mb = i >> 18;
        if (mb == 1) continue;
        unsigned want = mb == 3 ? 7 : mixed(i, 2); // nothing of the old came back
        if (w[i] != want) {
            printf("word %zu is %#x and not %#x\n", i, w[i], want);
            return 1;
        }
    }
    return 0;
}

// madvise: DONTNEED gives zeroes to both sides; FREE gives zeroes or what was there; HUGEPAGE changes nothing that can be seen.
static int advise(char **) {
    size_t n = 4 << 20, words = n / 4;
    char *p = pages(n + (2 << 20));
    p = (char *)(((uintptr_t)p + (2 << 20) - 1) & ~(uintptr_t)((2 << 20) - 1));
    unsigned *w = (unsigned *)p;
    madvise(p, n, MADV_HUGEPAGE);
    for (size_t i = 0; i < words; i++) w[i] = mixed(i, 0);
    reg(p, n);
    prefetch(p, n);
    run_step(w, words);
    NEED(madvise(p, 1 << 20, MADV_DONTNEED) == 0);
    run_step(w, words);
    for (size_t i = 0; i < words; i++) {
        unsigned want = i < (1 << 18) ? 7 : mixed(i, 2);
        if (w[i] != want) {
            printf("DONTNEED: word %zu is %#x and not %#x\n", i, w[i], want);
            return 1;
        }
    }
    prefetch(p, n);
    NEED(madvise(p, 1 << 20, MADV_FREE) == 0);
    for (size_t i = 0; i < (1 << 18); i++) NEED(w[i] == 0 || w[i] == 7);
    for (size_t i = 0; i < words; i++) w[i] = mixed(i, 0);
    run_step(w, words);
    for (size_t i = 0; i < words; i++) NEED(w[i] == mixed(i, 1));
    return 0;
}

// mremap: the content goes along, wherever it is.
static int remap(char **) {
    size_t n = 4 << 20, words = n / 4;
    unsigned *w = (unsigned *)pages(n);
    for (size_t i = 0; i < words; i++) w[i] = mixed(i, 0);
    reg(w, n);
    prefetch(w, n);
    run_step(w, words);
    char *to = pages(2 * n);
    unsigned *v = (unsigned *)mremap(w, n, 2 * n, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    NEED((char *)v == to);
    reg(v, 2 * n);
    run_step(v, 2 * words);
    for (size_t i = 0; i < 2 * words; i++) NEED(v[i] == (i < words ? mixed(i, 2) : 7));
    // Shrunk and grown in place.
    NEED(mremap(v, 2 * n, n, 0) == v);
    run_step(v, words);
    for (size_t i = 0; i < words; i++) NEED(v[i] == mixed(i, 3));
    return 0;
}

// mprotect: reading goes on; a write of the GPU to what has become read-only ends its queue, as the real driver has it. In a child, whose end the parent looks at.
static int protect(char **argv) {
    size_t n = 1 << 20, words = n / 4;
    bool write = argv[2] && !strcmp(argv[2], "write"), early = argv[3] && !strcmp(argv[3], "early");
    unsigned *w = (unsigned *)pages(n), *out = (unsigned *)pages(4096);
    for (size_t i = 0; i < words; i++) w[i] = 1;
    *out = 0;
    if (early) NEED(mprotect(w, n, PROT_READ) == 0);
    reg(out, 4096);
    reg(w, n);
    if (!early) {
        prefetch(w, n);
        run_step(w, words);
        NEED(mprotect(w, n, PROT_READ) == 0);
    }
    unsigned each = early ? 1 : 8;
    if (write && !early) run_step(w, words); // before anything else could take the mapping away
    sum<<<1, 1>>>(w, words, out);
    DO(hipDeviceSynchronize());
    NEED(*out == words * each && w[5] == each);
    if (write) {
        run_step(w, words);
        for (size_t i = 0; i < words; i++)
            if (w[i] != each) {
                printf("the GPU has written to read-only memory\n");
                return 1;
            }
        printf("the write was not noticed\n");
        return 1;
    }
    NEED(mprotect(w, n, PROT_READ | PROT_WRITE) == 0);
    w[5]++;
    run_step(w, words);
    NEED(w[5] == each + 8 && w[6] == each + 7);
    NEED(mprotect(w, n, PROT_NONE) == 0 && mprotect(w, n, PROT_READ | PROT_WRITE) == 0);
    run_step(w, words);
    NEED(w[6] == each + 14);
    return 0;
}

// Memory that nobody allocated for a GPU: the stack, the data of the program, malloc's, pinned memory.
static unsigned data[4096] = {1}, bss[4096];
static int anywhere(char **) {
    unsigned stack[4096], *heap = (unsigned *)malloc(sizeof stack), *pinned = (unsigned *)malloc(1 << 20);
    const size_t n = 4096;
    for (unsigned *p : {stack, heap, bss, data, pinned})
        for (size_t i = 0; i < n; i++) p[i] = mixed(i, 0);
    std::vector<unsigned *> all{pinned};
    unsigned *device;
    DO(hipHostRegister(pinned, 1 << 20, 0));
    DO(hipHostGetDevicePointer((void **)&device, pinned, 0));
    run_step(device, n);
    if (xnack()) {
        for (unsigned *p : {stack, heap, bss, data}) {
            run_step(p, n);
            all.push_back(p);
        }
    } else {
        for (unsigned *p : {stack, heap, bss, data}) {
            uintptr_t from = (uintptr_t)p & ~(uintptr_t)4095, to = ((uintptr_t)(p + n) + 4095) & ~(uintptr_t)4095;
            reg((void *)from, to - from);
            run_step(p, n);
            all.push_back(p);
        }
    }
    for (unsigned *p : all)
        for (size_t i = 0; i < n; i++)
            if (p[i] != mixed(i, 1)) {
                printf("%s: word %zu is %#x\n", p == stack ? "stack" : p == heap ? "heap" : p == bss ? "bss" : p == data ? "data" : "pinned", i, p[i]);
                return 1;
            }
    DO(hipHostUnregister(pinned));
    return 0;
}

// DRM_AMDGPU_GEM_SVM, on the render node that AMD's runtime has opened. (Pumice's own opens none that a process could find.)
struct gem_svm {
    uint64_t start, size;
    uint32_t operation, count;
    uint64_t attrs;
};
enum { SET, GET, RESET };
enum { PREFERRED, PREFETCH, ACCESS, GRANULARITY, HOST_ACCESS, COHERENT, EXT_COHERENT, HIVE_LOCAL, GPU_RO, GPU_EXEC, READ_MOSTLY };

static int render_node() {
    for (int fd = 3; fd < 1024; fd++) {
        struct stat st;
        if (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && major(st.st_rdev) == 226 && minor(st.st_rdev) >= 128) return fd;
    }
    return -1;
}

static int node;
// gem returns 0 or the errno.
static int gem(uint32_t operation, void *p, size_t n, std::vector<uint32_t> &a) {
    gem_svm g = {(uint64_t)p, n, operation, (uint32_t)(a.size() / 2), (uint64_t)a.data()};
    return ioctl(node, _IOWR('d', 0x40 + 0x1a, gem_svm), &g) == 0 ? 0 : errno;
}

static int gem_svm_check(char **) {
    size_t n = 4 << 20, words = n / 4;
    unsigned *p, *w = (unsigned *)pages(n);
    DO(hipMalloc((void **)&p, n)); // opens the node
    NEED((node = render_node()) >= 0);
    for (size_t i = 0; i < words; i++) w[i] = mixed(i, 0);
    std::vector<uint32_t> get{ACCESS, 9, COHERENT, 9, PREFERRED, 9, PREFETCH, 9};
    NEED(gem(GET, w, n, get) == 0 && get[1] == (xnack() ? 2u : 0u) && get[3] == 1 && get[5] == 0xffffffff && get[7] == 0xffffffff);
    std::vector<uint32_t> set{ACCESS, 2, PREFERRED, 1, PREFETCH, 1};
    NEED(gem(SET, w, n, set) == 0);
    run_step(w, words);
    std::vector<uint32_t> half{COHERENT, 0};
    NEED(gem(SET, w, n / 2, half) == 0);
    run_step(w, words);
    get = {ACCESS, 9, COHERENT, 9, PREFERRED, 9, PREFETCH, 9};
    NEED(gem(GET, w, n, get) == 0 && get[1] == 2 && get[3] == 0 && get[5] != 0 && get[5] != 0xffffffff && get[7] != 0);
    get = {COHERENT, 9};
    NEED(gem(GET, w + words / 2, n / 2, get) == 0 && get[1] == 1);
    std::vector<uint32_t> home{PREFETCH, 0};
    NEED(gem(SET, w, n, home) == 0);
    run_step(w, words);
    for (size_t i = 0; i < words; i++) NEED(w[i] == mixed(i, 3));
    std::vector<uint32_t> none;
    NEED(gem(RESET, w, n, none) == 0);
    get = {ACCESS, 9, COHERENT, 9};
    NEED(gem(GET, w, n, get) == 0 && get[1] == (xnack() ? 2u : 0u) && get[3] == 1);
    // What is refused.
    std::vector<uint32_t> bad{99, 0}, three{ACCESS, 3}, two{COHERENT, 2}, many(2 * 65, 0);
    NEED(gem(SET, w, n, none) == EINVAL && gem(SET, w, n, bad) == EINVAL && gem(SET, w, n, three) == EINVAL && gem(SET, w, n, two) == EINVAL);
    NEED(gem(SET, w, n, many) == EINVAL && gem(3, w, n, set) == EINVAL && gem(SET, (char *)w + 1, n, set) == EINVAL && gem(SET, w, 0, set) == EINVAL);
    NEED(gem(SET, (void *)(2 << 20), 4096, set) == EFAULT);
    NEED(gem(SET, p, n, set) != 0); // a buffer stands there
    DO(hipFree(p));
    return 0;
}

static sigjmp_buf out_of_it;
static volatile sig_atomic_t faults;
static void on_segv(int) {
    faults = faults + 1;
    siglongjmp(out_of_it, 1);
}

// A program that handles SIGSEGV itself: touches of managed memory are none of its business, its own faults are.
static int signals(char **) {
    size_t n = 4 << 20, words = n / 4;
    struct sigaction sa = {};
    sa.sa_handler = on_segv;
    sigaction(SIGSEGV, &sa, nullptr);
    sigaction(SIGBUS, &sa, nullptr);
    unsigned *p;
    DO(hipMallocManaged((void **)&p, n));
    for (size_t i = 0; i < words; i++) p[i] = mixed(i, 0);
    for (volatile unsigned r = 1; r <= 3; r++) {
        run_step(p, words);
        for (size_t i = 0; i < words; i += 512) NEED(p[i] == mixed(i, r));
        NEED(faults == (int)r - 1);
        if (!sigsetjmp(out_of_it, 1)) {
            *(volatile int *)16 = 1;
            return 2;
        }
    }
    return faults == 3 ? 0 : 3;
}

static int ended(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child) return 99;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

extern char **environ;

// Children while managed memory is in VRAM. They see its content of the moment of the fork; what they do changes nothing here.
static int children(char **) {
    size_t n = 4 << 20, words = n / 4;
    unsigned *p;
    DO(hipMallocManaged((void **)&p, n));
    for (size_t i = 0; i < words; i++) p[i] = mixed(i, 0);
    run_step(p, words);
    NEED(system("exit 5") == 5 << 8);
    char *args[] = {(char *)"true", nullptr};
    pid_t child;
    DO(posix_spawnp(&child, "true", nullptr, nullptr, args, environ));
    NEED(ended(child) == 0);
    run_step(p, words);
    child = vfork();
    if (child == 0) {
        execlp("true", "true", (char *)nullptr);
        _exit(9);
    }
    NEED(ended(child) == 0);
    for (int i = 0; i < 3; i++) {
        run_step(p, words);
        child = fork();
        if (child == 0) {
            for (size_t k = 0; k < words; k++)
                if (p[k] != mixed(k, 3 + (unsigned)i)) _exit(7);
            memset(p, 0xee, n);
            _exit(0);
        }
        if (i & 1) run_step(p, 0); // while the child runs
        NEED(ended(child) == 0);
    }
    run_step(p, words);
    for (size_t i = 0; i < words; i++) NEED(p[i] == mixed(i, 6));
    // The pages that were shared with the children migrate again.
    DO(hipMemPrefetchAsync(p, n, 0, 0));
    run_step(p, words);
    for (size_t i = 0; i < words; i++) NEED(p[i] == mixed(i, 7));
    return 0;
}

// A child that is forked before the first use has a GPU of its own, as has its parent; one that is forked after it too, by Pumice's runtime.
static int use_gpu() {
    unsigned *p, v = 0;
    DO(hipMalloc((void **)&p, 4096));
    set<<<1, 1>>>(p, 4711);
    DO(hipMemcpy(&v, p, 4, hipMemcpyDeviceToHost));
    DO(hipFree(p));
    return v == 4711 ? 0 : 1;
}
static int fork_first(char **) {
    pid_t child = fork();
    if (child == 0) _exit(use_gpu());
    int mine = use_gpu();
    return ended(child) | mine;
}
static int fork_later(char **argv) {
    if (use_gpu()) return 1;
    pid_t child = fork();
    if (child == 0) {
        if (argv[2] && !strcmp(argv[2], "only")) exit(0); // with handlers of the end
        if (argv[2] && !strcmp(argv[2], "only_exit")) _exit(0);
        _exit(use_gpu());
    }
    int theirs = ended(child);
    return use_gpu() ? 1 : theirs;
}

// Results and parameters of calls lie in managed memory that has gone to the GPU, while the garbage collector of Pumice's runtime runs all the time: its threads must not
// stop at a page that they themselves have to bring home. Rounds.
__global__ void three(unsigned *p, unsigned a, unsigned long b, unsigned c) { *p = a + (unsigned)b + c; }
static int results(char **argv) {
    struct room {
        void *p;
        size_t a, b;
        int i;
        unsigned u;
        hipStream_t stream;
        hipEvent_t event;
        hipGraph_t graph;
        hipGraphNode_t node, nodes[4];
        hipMemPool_t pool;
        hipMemcpy3DParms copy;
        hipDeviceProp_t props;
        hipPointerAttribute_t attributes;
        hipFuncAttributes function;
        hipIpcMemHandle_t ipc;
        hipTextureDesc texture;
        hipResourceDesc resource;
        hipTextureObject_t object;
        hipHostNodeParams host;
        float ms;
        char name[64];
        void *args[4];
        unsigned x, y;
        unsigned long z;
        size_t count;
        char end[1];
    };
    room *r, here;
    unsigned *device;
    size_t n = (sizeof *r + 4095) & ~(size_t)4095, rounds = number(argv, 2, 4);
    DO(hipMallocManaged((void **)&r, n));
    DO(hipMalloc((void **)&device, 4096));
    hipEvent_t first, last;
    DO(hipEventCreate(&first));
    DO(hipEventCreate(&last));
    DO(hipEventRecord(first, 0));
    DO(hipEventRecord(last, 0));
    DO(hipDeviceSynchronize());
    // These make garbage, so that there is something to collect.
    std::atomic<bool> stop{false};
    std::vector<std::thread> makers;
    for (int k = 0; k < 2; k++)
        makers.emplace_back([&] {
            while (!stop) {
                hipGraph_t g;
                hipGraphNode_t node;
                DO(hipGraphCreate(&g, 0));
                for (int i = 0; i < 50; i++) DO(hipGraphAddEmptyNode(&node, g, nullptr, 0));
                DO(hipGraphDestroy(g));
            }
        });
    auto away = [&] {
        DO(hipMemPrefetchAsync(r, n, 0, 0));
        DO(hipStreamSynchronize(0));
    };
#define AWAY(x)                                                                                                                              \
    do {                                                                                                                                     \
        away();                                                                                                                              \
        DO(x);                                                                                                                               \
    } while (0)
    for (size_t i = 0; i < rounds; i++) {
        memset(r, 0, sizeof *r);
        AWAY(hipGetDevice(&r->i));
        AWAY(hipGetDeviceCount(&r->i));
        NEED(r->i == 1);
        AWAY(hipMalloc(&r->p, 4096));
        DO(hipFree(r->p));
        AWAY(hipHostMalloc(&r->p, 4096, 0));
        DO(hipHostFree(r->p));
        AWAY(hipMallocManaged(&r->p, 4096));
        DO(hipFree(r->p));
        AWAY(hipMallocPitch(&r->p, &r->a, 100, 4));
        NEED(r->a >= 100);
        DO(hipFree(r->p));
        AWAY(hipMemGetInfo(&r->a, &r->b));
        NEED(r->b == 64 << 20);
        AWAY(hipMemGetAddressRange((hipDeviceptr_t *)&r->p, &r->a, device));
        NEED(r->p == device && r->a >= 4096);
        AWAY(hipPointerGetAttributes(&r->attributes, device));
        NEED(r->attributes.devicePointer == device);
        AWAY(hipGetDeviceProperties(&r->props, 0));
        NEED(r->props.warpSize == 64);
        AWAY(hipChooseDevice(&r->i, &r->props));
        AWAY(hipDeviceGetAttribute(&r->i, hipDeviceAttributeWarpSize, 0));
        NEED(r->i == 64);
        AWAY(hipDeviceGetName(r->name, sizeof r->name, 0));
        NEED(r->name[0]);
        AWAY(hipDeviceGetPCIBusId(r->name, sizeof r->name, 0));
        AWAY(hipDeviceGetByPCIBusId(&r->i, r->name));
        NEED(r->i == 0);
        AWAY(hipStreamCreate(&r->stream));
        AWAY(hipStreamGetFlags(r->stream, &r->u));
        AWAY(hipStreamGetPriority(r->stream, &r->i));
        DO(hipStreamDestroy(r->stream));
        AWAY(hipEventCreate(&r->event));
        DO(hipEventDestroy(r->event));
        r->ms = -1;
        AWAY(hipEventElapsedTime(&r->ms, first, last));
        NEED(r->ms >= 0);
        AWAY(hipFuncGetAttributes(&r->function, (void *)three));
        NEED(r->function.maxThreadsPerBlock > 0);
        AWAY(hipOccupancyMaxActiveBlocksPerMultiprocessor(&r->i, (void *)three, 64, 0));
        NEED(r->i > 0);
        AWAY(hipDeviceGetDefaultMemPool(&r->pool, 0));
        here.pool = r->pool;
        AWAY(hipMemPoolGetAttribute(here.pool, hipMemPoolAttrReservedMemCurrent, &r->a));
        AWAY(hipMemPoolSetAttribute(here.pool, hipMemPoolAttrReleaseThreshold, &r->a));
        AWAY(hipIpcGetMemHandle(&r->ipc, device));
        AWAY(hipGraphCreate(&r->graph, 0));
        here.graph = r->graph;
        for (int k = 0; k < 3; k++) AWAY(hipGraphAddEmptyNode(&r->nodes[k], here.graph, k ? &r->nodes[k - 1] : nullptr, k ? 1 : 0));
        r->count = 4;
        AWAY(hipGraphGetNodes(here.graph, r->nodes, &r->count));
        NEED(r->count == 3);
        r->host = {[](void *) {}, nullptr};
        AWAY(hipGraphAddHostNode(&r->node, here.graph, nullptr, 0, &r->host));
        DO(hipGraphDestroy(here.graph));
        memset(&r->copy, 0, sizeof r->copy);
        r->copy.srcPtr = make_hipPitchedPtr(device, 64, 64, 1);
        r->copy.dstPtr = make_hipPitchedPtr(device + 512, 64, 64, 1);
        r->copy.extent = make_hipExtent(64, 1, 1);
        r->copy.kind = hipMemcpyDeviceToDevice;
        AWAY(hipMemcpy3D(&r->copy));
        memset(&r->resource, 0, sizeof r->resource);
        memset(&r->texture, 0, sizeof r->texture);
        r->resource.resType = hipResourceTypeLinear;
        r->resource.res.linear = {device, hipCreateChannelDesc<float>(), 4096};
        AWAY(hipCreateTextureObject(&r->object, &r->resource, &r->texture, nullptr));
        AWAY(hipGetTextureObjectResourceDesc(&r->resource, (hipTextureObject_t)(here.object = r->object)));
        DO(hipDestroyTextureObject(here.object));
        r->p = device, r->x = 40, r->z = 1, r->y = 1;
        r->args[0] = &r->p, r->args[1] = &r->x, r->args[2] = &r->z, r->args[3] = &r->y;
        AWAY(hipLaunchKernel((void *)three, dim3(1), dim3(1), r->args, 0, 0));
        away();
        DO(hipMemcpy(&here.u, device, 4, hipMemcpyDeviceToHost));
        NEED(here.u == 42);
    }
    stop = true;
    for (auto &m : makers) m.join();
    return 0;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*f)(char **);
    } all[] = {{"oversubscribe", oversubscribe}, {"threads", threads}, {"unmap", unmap},         {"advise", advise},         {"remap", remap},          {"protect", protect},
               {"anywhere", anywhere},           {"signals", signals}, {"children", children}, {"fork_first", fork_first}, {"fork_later", fork_later},
               {"gem", gem_svm_check}, {"results", results}};
    for (auto &x : all)
        if (argc > 1 && !strcmp(argv[1], x.name)) {
            int r = x.f(argv);
            if (r)
                printf("%s: %d\n", x.name, r);
            else
                puts("OK");
            return r;
        }
    puts("no such check");
    return 1;
}
