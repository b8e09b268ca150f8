// What the libraries of door A share; lazy.h has the rules.
#define _GNU_SOURCE
#include "lazy.h"

#include "../reopen/reopen.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER; // guards all that follows, and opening
static void *library;
static bool failed;
static pid_t process; // this one, as long as nothing but fork has made it another
static unsigned char told[4096];

void lazy_lock(void) { pthread_mutex_lock(&mu); }
void lazy_unlock(void) { pthread_mutex_unlock(&mu); }
bool lazy_usable(void) { return library && !failed; }

static void say(const char *what, const char *detail) {
    char line[1024];
    int n = snprintf(line, sizeof line, "pumice: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
    if (n >= (int)sizeof line) n = sizeof line - 1;
    if (write(STDERR_FILENO, line, (size_t)n) < 0) return;
}

static void after_fork_child(void) {
    process = getpid();
    library = NULL;
    failed = false;
    for (size_t i = 0; i < lazy_count; i++) lazy_table[i] = lazy_entry(i);
    lazy_unlock();
}

__attribute__((constructor(101))) static void constructor(void) {
    process = getpid();
    pthread_atfork(lazy_lock, lazy_unlock, after_fork_child);
}

// library_path looks beside this file, and one folder up.
static bool library_path(char *path, size_t n) {
    const char *env = secure_getenv("PUMICE_LIBRARY");
    if (env && *env) return snprintf(path, n, "%s", env) < (int)n;
    Dl_info info;
    if (!dladdr((void *)library_path, &info) || !info.dli_fname) return false;
    char dir[4096];
    if (!realpath(info.dli_fname, dir)) return false;
    char *slash = strrchr(dir, '/');
    if (!slash) return false;
    *slash = 0;
    static const char *const where[] = {"", "/.."};
    for (size_t i = 0; i < 2; i++)
        if (snprintf(path, n, "%s%s/libpumice.so", dir, where[i]) < (int)n && access(path, R_OK) == 0) return true;
    return false;
}

void *lazy_need(const char *name) {
    void *f = dlsym(library, name);
    if (!f) {
        say("libpumice.so has no function", name);
        failed = true;
    }
    return f;
}

// open_library is called with mu held.
static void open_library(void) {
    char path[4200];
    if (!library_path(path, sizeof path)) {
        say("libpumice.so is not beside", lazy_self);
        failed = true;
        return;
    }
    sigset_t set, old;
    sigfillset(&set);
    // Faults must reach whoever handles them.
    static const int keep[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    for (size_t i = 0; i < sizeof keep / sizeof *keep; i++) sigdelset(&set, keep[i]);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    const char *why = NULL;
    library = reopen_library(path, &why);
    if (library) {
        lazy_opened();
    } else {
        say("cannot open the library", why);
        failed = true;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

// lazy_resolve is called by a trampoline that has no target yet, with all argument registers saved. It returns where to go.
void *lazy_resolve(size_t i) {
    void *f = lazy_not_initialized(lazy_names[i]);
    lazy_lock();
    bool ours = process == getpid();
    if (!library && !failed && ours) open_library();
    if (lazy_usable() && ours) {
        f = dlsym(library, lazy_targets[i]);
        if (f) {
            __atomic_store_n(&lazy_table[i], f, __ATOMIC_RELEASE);
        } else {
            if (!told[i]) {
                char answer[96];
                snprintf(answer, sizeof answer, "not implemented, answered with %s", lazy_missing_answer);
                say(answer, lazy_names[i]);
            }
            told[i] = 1;
            f = lazy_missing(lazy_names[i]);
        }
    }
    lazy_unlock();
    return f;
}
