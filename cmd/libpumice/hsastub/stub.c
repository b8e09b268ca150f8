// libhsa-runtime64.so.1: what an HSA program, AMD's HIP runtime among them, is linked with. It holds no runtime, only the exported names (trampolines, see
// ../hipstub); the Go library behind it is opened at the first call. The rules are those of ../hipstub/stub.c.
#define _GNU_SOURCE
#include "../hipstub/stub.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HSA_ERROR = 0x1000, HSA_NOT_INITIALIZED = 0x100b };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER; // guards all that follows, and opening
static void *library;
static int failed, orphan;
static unsigned char told[4096];

static void say(const char *what, const char *detail) {
    char line[1024];
    int n = snprintf(line, sizeof line, "pumice: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
    if (n >= (int)sizeof line) n = sizeof line - 1;
    if (write(STDERR_FILENO, line, (size_t)n) < 0) return;
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

// open_library is called with mu held.
static void open_library(void) {
    char path[4200];
    if (!library_path(path, sizeof path)) {
        say("libpumice.so is not beside libhsa-runtime64.so", NULL);
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
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static int not_supported(void) { return HSA_ERROR; }
static int not_initialized(void) { return HSA_NOT_INITIALIZED; }

// pumice_hip_resolve is called by a trampoline that has no target yet, with all argument registers saved. It returns where to go.
void *pumice_hip_resolve(size_t i) {
    void *f = (void *)not_initialized;
    pthread_mutex_lock(&mu);
    if (!orphan) {
        if (!library && !failed) open_library();
        if (library && !failed) {
            f = dlsym(library, pumice_hip_targets[i]);
            if (f) {
                __atomic_store_n(&pumice_hip_table[i], f, __ATOMIC_RELEASE);
            } else {
                if (!told[i]) say("not implemented, answered with HSA_STATUS_ERROR", pumice_hip_names[i]);
                told[i] = 1;
                f = (void *)not_supported;
            }
        }
    }
    pthread_mutex_unlock(&mu);
    return f;
}
