// libamdhip64.so: what a HIP program is linked with. It holds no runtime, only the exported names and the registration of fat binaries, which runs
// before main in every program and library: it makes lists, which libpumice.so gets when it is opened. ../lazystub/lazy.h has the rules.
#include "../lazystub/lazy.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { NOT_INITIALIZED = 3, NOT_SUPPORTED = 801 };

const char lazy_self[] = "libamdhip64.so", lazy_missing_answer[] = "hipErrorNotSupported";

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

static struct binary *binaries, **last_binary = &binaries; // under the lock, as is all that hangs on it

static uintptr_t (*register_fat_binary)(void *);
static void (*register_function)(uintptr_t, void *, const char *);
static void (*register_var)(uintptr_t, void *, const char *, uint64_t);
static void (*register_managed)(uintptr_t, void *, void *, const char *, uint64_t, uint32_t);
static void (*unregister)(uintptr_t);

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

void lazy_opened(void) {
    void (*face)(int) = (void (*)(int))lazy_need("pumice_hip_face");
    register_fat_binary = (uintptr_t(*)(void *))lazy_need("pumice_hip_register_fat_binary");
    register_function = (void (*)(uintptr_t, void *, const char *))lazy_need("pumice_hip_register_function");
    register_var = (void (*)(uintptr_t, void *, const char *, uint64_t))lazy_need("pumice_hip_register_var");
    register_managed = (void (*)(uintptr_t, void *, void *, const char *, uint64_t, uint32_t))lazy_need("pumice_hip_register_managed");
    unregister = (void (*)(uintptr_t))lazy_need("pumice_hip_unregister");
    if (!lazy_usable()) return;
    face(PUMICE_HIP_FACE);
    for (struct binary *b = binaries; b; b = b->next)
        if (!b->gone) replay(b);
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

void *lazy_missing(const char *name) { return returns_text(name) ? (void *)not_there : (void *)not_supported; }
void *lazy_not_initialized(const char *name) { return returns_text(name) ? (void *)no_text : (void *)not_initialized; }

// Registration.

EXPORT void *__hipRegisterFatBinary(void *wrapper) {
    struct binary *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->wrapper = wrapper;
    b->last = &b->first;
    lazy_lock();
    *last_binary = b;
    last_binary = &b->next;
    if (lazy_usable()) replay(b);
    lazy_unlock();
    return b;
}

static void add(struct binary *b, struct record r) {
    if (!b) return;
    struct record *p = malloc(sizeof *p);
    if (!p) return;
    *p = r;
    p->next = NULL;
    lazy_lock();
    *b->last = p;
    b->last = &p->next;
    if (lazy_usable() && b->handle) replay_record(b, p);
    lazy_unlock();
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
    // A texture reference is a variable, on the host and on the device; binding copies the one to the other.
    (void)host_name, (void)type, (void)norm, (void)ext;
    add(b, (struct record){.kind = VARIABLE, .key = var, .name = name});
}

EXPORT void __hipRegisterSurface(void *b, void *var, char *host_name, char *name, int type, int ext) {
    (void)b, (void)var, (void)host_name, (void)name, (void)type, (void)ext;
}

EXPORT void __hipUnregisterFatBinary(void *h) {
    struct binary *b = h;
    if (!b) return;
    lazy_lock();
    b->gone = 1;
    uintptr_t handle = lazy_usable() ? b->handle : 0;
    lazy_unlock();
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
