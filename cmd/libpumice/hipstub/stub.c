// libamdhip64.so: what a HIP program is linked with. It holds no runtime, only the exported names (trampolines, see the generated file) and the
// registration of fat binaries, which runs before main in every program and library. The Go library behind it is opened at the first real call.
//
// Rules:
//   - Registration starts nothing: it makes lists, which the library gets when it is opened.
//   - A child forked before the library is opened can open it itself. A child forked after that has lost Go's threads: every call
//     answers hipErrorNotInitialized.
//   - The library is opened with asynchronous signals blocked, so that Go's threads have them blocked for good: a handler that the program
//     installed without SA_ONSTACK must not run on one.
#define _GNU_SOURCE
#include "stub.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_INITIALIZED = 3, NOT_SUPPORTED = 801 };

struct record {
    struct record *next;
    enum { FUNCTION, VARIABLE, MANAGED } kind;
    void *key, *init;
    const char *name;
    size_t size;
    unsigned align;
};

// One registered fat binary; its address is the handle that the program's constructors pass on.
struct binary {
    struct binary *next;
    void *wrapper;
    uintptr_t handle; // the library's; 0 before it is open
    struct record *first, **last;
    int gone;
};

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER; // guards all that follows, and opening
static struct binary *binaries, **last_binary = &binaries;
static void *library;
static int failed, orphan;
static unsigned char told[4096];

static uintptr_t (*register_fat_binary)(void *);
static void (*register_function)(uintptr_t, void *, const char *);
static void (*register_var)(uintptr_t, void *, const char *, uint64_t);
static void (*register_managed)(uintptr_t, void *, void *, const char *, uint64_t, uint32_t);
static void (*unregister)(uintptr_t);

static void say(const char *what, const char *detail) {
    char line[1024];
    int n = snprintf(line, sizeof line, "pumice: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
    if (n >= (int)sizeof line) n = sizeof line - 1;
    if (write(STDERR_FILENO, line, (size_t)n) < 0) return;
}

static void replay_record(struct binary *b, struct record *r) {
    switch (r->kind) {
    case FUNCTION: register_function(b->handle, r->key, r->name); break;
    case VARIABLE: register_var(b->handle, r->key, r->name, r->size); break;
    case MANAGED: register_managed(b->handle, r->key, r->init, r->name, r->size, r->align); break;
    }
}

static void replay(struct binary *b) {
    b->handle = register_fat_binary(b->wrapper);
    for (struct record *r = b->first; r; r = r->next) replay_record(b, r);
}

static void before_fork(void) { pthread_mutex_lock(&mu); }
static void after_fork_parent(void) { pthread_mutex_unlock(&mu); }
static void after_fork_child(void) {
    if (library) {
        orphan = 1;
        for (size_t i = 0; i < pumice_hip_count; i++) pumice_hip_table[i] = pumice_hip_lazy_entry(i);
    }
    pthread_mutex_unlock(&mu);
}

__attribute__((constructor(101))) static void constructor(void) {
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

// library_path looks beside this file, and one folder up.
static int library_path(char *path, size_t n) {
    const char *env = getenv("PUMICE_LIBRARY");
    if (env) return snprintf(path, n, "%s", env) < (int)n;
    Dl_info info;
    if (!dladdr((void *)library_path, &info) || !info.dli_fname) return 0;
    char dir[4096];
    if (!realpath(info.dli_fname, dir)) return 0;
    char *slash = strrchr(dir, '/');
    if (!slash) return 0;
    *slash = 0;
    static const char *const where[] = {"", "/.."};
    for (size_t i = 0; i < 2; i++)
        if (snprintf(path, n, "%s%s/libpumice.so", dir, where[i]) < (int)n && access(path, R_OK) == 0) return 1;
    return 0;
}

static void *need(const char *name) {
    void *f = dlsym(library, name);
    if (!f) {
        say("libpumice.so has no function", name);
        failed = 1;
    }
    return f;
}

// open_library is called with mu held.
static void open_library(void) {
    char path[4200];
    if (!library_path(path, sizeof path)) {
        say("libpumice.so is not beside libamdhip64.so", NULL);
        failed = 1;
        return;
    }
    sigset_t set, old;
    sigfillset(&set);
    static const int keep[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGURG, SIGPROF};
    for (size_t i = 0; i < sizeof keep / sizeof *keep; i++) sigdelset(&set, keep[i]);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!h) {
        say("cannot open the library", dlerror());
        failed = 1;
    } else {
        library = h;
        void (*face)(int) = (void (*)(int))need("pumice_hip_face");
        register_fat_binary = (uintptr_t(*)(void *))need("pumice_hip_register_fat_binary");
        register_function = (void (*)(uintptr_t, void *, const char *))need("pumice_hip_register_function");
        register_var = (void (*)(uintptr_t, void *, const char *, uint64_t))need("pumice_hip_register_var");
        register_managed = (void (*)(uintptr_t, void *, void *, const char *, uint64_t, uint32_t))need("pumice_hip_register_managed");
        unregister = (void (*)(uintptr_t))need("pumice_hip_unregister");
        if (!failed) {
            face(PUMICE_HIP_FACE);
            for (struct binary *b = binaries; b; b = b->next)
                if (!b->gone) replay(b);
        }
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static int not_supported(void) { return NOT_SUPPORTED; }
static int not_initialized(void) { return NOT_INITIALIZED; }
static const char *no_text(void) { return "hipErrorNotInitialized"; }

// A few functions return text, not a code.
static int returns_text(const char *name) {
    static const char *const all[] = {"hipGetErrorString", "hipGetErrorName", "hiprtcGetErrorString", "hipApiName", "hipGetCmdName", "hipKernelNameRef",
                                      "hipKernelNameRefByPtr", "amd_dbgapi_get_build_name", "amd_dbgapi_get_git_hash"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(name, all[i])) return 1;
    return 0;
}
static const char *not_there(void) { return "hipErrorNotSupported"; }

// pumice_hip_resolve is called by a trampoline that has no target yet, with all argument registers saved. It returns where to go.
void *pumice_hip_resolve(size_t i) {
    void *f = returns_text(pumice_hip_names[i]) ? (void *)no_text : (void *)not_initialized;
    pthread_mutex_lock(&mu);
    if (!orphan) {
        if (!library && !failed) open_library();
        if (library && !failed) {
            f = dlsym(library, pumice_hip_targets[i]);
            if (f) {
                __atomic_store_n(&pumice_hip_table[i], f, __ATOMIC_RELEASE);
            } else {
                if (!told[i]) say("not implemented, answered with hipErrorNotSupported", pumice_hip_names[i]);
                told[i] = 1;
                f = returns_text(pumice_hip_names[i]) ? (void *)not_there : (void *)not_supported;
            }
        }
    }
    pthread_mutex_unlock(&mu);
    return f;
}

// Registration.

EXPORT void *__hipRegisterFatBinary(void *wrapper) {
    struct binary *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->wrapper = wrapper;
    b->last = &b->first;
    pthread_mutex_lock(&mu);
    *last_binary = b;
    last_binary = &b->next;
    if (library && !failed && !orphan) replay(b);
    pthread_mutex_unlock(&mu);
    return b;
}

static void add(struct binary *b, struct record r) {
    if (!b) return;
    struct record *p = malloc(sizeof *p);
    if (!p) return;
    *p = r;
    p->next = NULL;
    pthread_mutex_lock(&mu);
    *b->last = p;
    b->last = &p->next;
    if (library && !failed && !orphan && b->handle) replay_record(b, p);
    pthread_mutex_unlock(&mu);
}

EXPORT void __hipRegisterFunction(void *b, void *key, char *device, const char *name, unsigned limit, void *tid, void *bid, void *bd, void *gd, int *ws) {
    (void)device, (void)limit, (void)tid, (void)bid, (void)bd, (void)gd, (void)ws;
    add(b, (struct record){.kind = FUNCTION, .key = key, .name = name});
}

EXPORT void __hipRegisterVar(void *b, void *host, char *host_name, char *name, int ext, size_t size, int constant, int global) {
    (void)host_name, (void)ext, (void)constant, (void)global;
    add(b, (struct record){.kind = VARIABLE, .key = host, .name = name, .size = size});
}

// The program may use a managed variable before it calls HIP, so it gets its memory here; the library later makes the very same pages managed memory.
EXPORT void __hipRegisterManagedVar(void *b, void **pointer, void *init, const char *name, size_t size, unsigned align) {
    size_t n = (size + 4095) & ~(size_t)4095;
    void *p = mmap(NULL, n ? n : 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) {
        if (init) memcpy(p, init, size);
        *pointer = p;
    }
    add(b, (struct record){.kind = MANAGED, .key = pointer, .init = init, .name = name, .size = size, .align = align});
}

EXPORT void __hipRegisterTexture(void *b, void *var, char *host_name, char *name, int type, int norm, int ext) {
    (void)b, (void)var, (void)host_name, (void)name, (void)type, (void)norm, (void)ext; // textures are refused when they are used
}

EXPORT void __hipRegisterSurface(void *b, void *var, char *host_name, char *name, int type, int ext) {
    (void)b, (void)var, (void)host_name, (void)name, (void)type, (void)ext;
}

EXPORT void __hipUnregisterFatBinary(void *h) {
    struct binary *b = h;
    if (!b) return;
    pthread_mutex_lock(&mu);
    b->gone = 1;
    uintptr_t handle = library && !failed && !orphan ? b->handle : 0;
    pthread_mutex_unlock(&mu);
    if (handle) unregister(handle);
}

// Half precision helpers that host code compiled for HIP may refer to.

EXPORT float __gnu_h2f_ieee(unsigned short h) {
    _Float16 f;
    memcpy(&f, &h, 2);
    return (float)f;
}

EXPORT unsigned short __gnu_f2h_ieee(float x) {
    _Float16 f = (_Float16)x;
    unsigned short h;
    memcpy(&h, &f, 2);
    return h;
}
