// libpumice-stub.so is what `pumice run` preloads into a program and so into all its children: shells, compilers, anything.
// It stands between the program and a few dozen libc functions, and lets every call through that is not about an AMD GPU.
//
// Rules:
//   - It does nothing when loaded. The Go library, which holds the kernel half and the virtual GPU, is opened when a
//     program first touches one of its paths.
//   - A child forked after that cannot use the Go that it finds (its threads are gone). When it touches one of the paths itself it opens a
//     copy (../reopen), as if it had been started anew; descriptors that it inherited give EBADF, as the KFD answers a process that did not open it.
//   - A vfork child, or one of a bare clone, shares this memory or has not told us: it gets ENODEV. So the process id is asked.
//   - Go code runs with asynchronous signals blocked, and its threads have them blocked for good: a handler that the program
//     installed without SA_ONSTACK must never start on a goroutine's stack.
//   - close, fstat, open and the like may be called in signal handlers, so what they always do takes no lock.
//   - No lock of the stub is held while it calls the program or Go, but the one that guards opening the library.
#include "stub.h"

#include "../reopen/reopen.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct door door;

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static pid_t process;    // this one, as long as nothing but fork has made it another
static pid_t owner;      // the process that has opened the library; 0 before; written under loading
static bool load_failed; // under loading

static pid_t process_id(void) { return (pid_t)syscall(SYS_getpid); }

static void say(const char *what, const char *detail) {
    char line[1024];
    int n = snprintf(line, sizeof line, "pumice: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
    if (n >= (int)sizeof line) n = sizeof line - 1;
    if (write(STDERR_FILENO, line, (size_t)n) < 0) return;
}

// A fork in one thread while another opens the library would leave the child a half-open one.
static void before_fork(void) { pthread_mutex_lock(&loading); }
static void after_fork(void) { pthread_mutex_unlock(&loading); }
static void after_fork_child(void) {
    process = process_id();
    owner = 0;
    load_failed = false;
    pthread_mutex_unlock(&loading);
}

__attribute__((constructor)) static void constructor(void) {
    process = process_id();
    pthread_atfork(before_fork, after_fork, after_fork_child);
}

void *real(const char *name) {
    void *f = dlsym(RTLD_NEXT, name);
    if (!f) {
        // Only an older or newer libc lacks one; its callers cannot exist in that process.
        say("libc has no function", name);
        abort();
    }
    return f;
}

void block_asynchronous(sigset_t *old) {
    sigset_t set;
    sigfillset(&set);
    // Faults must reach whoever handles them.
    static const int keep[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    for (size_t i = 0; i < sizeof keep / sizeof *keep; i++) sigdelset(&set, keep[i]);
    pthread_sigmask(SIG_BLOCK, &set, old);
}

// Go's start adds SA_ONSTACK to every handler that is installed, and gives a thread that calls Go an alternate stack of
// 32 KiB. The program did not write its handlers for that; and as asynchronous signals never arrive in Go code, Go does not
// need it. So the flags are put back. Not for SIGPROF and SIGCHLD: Go unblocks them in all its threads.
static void note_handlers(struct sigaction before[NSIG]) {
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &before[i]) < 0) before[i].sa_handler = SIG_DFL;
}

static void restore_handlers(const struct sigaction before[NSIG]) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    for (int i = 1; i < NSIG; i++) {
        struct sigaction now;
        if (i != SIGPROF && i != SIGCHLD && sigismember(&blocked, i) == 1 && !(before[i].sa_flags & SA_ONSTACK) && before[i].sa_handler != SIG_DFL &&
            before[i].sa_handler != SIG_IGN && sigaction(i, NULL, &now) == 0 && now.sa_handler == before[i].sa_handler &&
            now.sa_flags & SA_ONSTACK)
            sigaction(i, &before[i], NULL);
    }
}

static const char *library_path(char buf[PATH_MAX]) {
    const char *set = secure_getenv("PUMICE_LIBRARY");
    if (set && *set) return set;
    // Beside the stub.
    Dl_info info;
    if (!dladdr((void *)library_path, &info) || !info.dli_fname) return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    size_t n = slash ? (size_t)(slash - info.dli_fname) + 1 : 0;
    if (n + sizeof "libpumice.so" > PATH_MAX) return NULL;
    memcpy(buf, info.dli_fname, n);
    memcpy(buf + n, "libpumice.so", sizeof "libpumice.so");
    return buf;
}

// open_library is called with `loading` held and signals blocked, so that every thread that Go starts inherits the mask.
static bool open_library(void) {
    struct sigaction before[NSIG];
    note_handlers(before);
    char buf[PATH_MAX];
    const char *path = library_path(buf);
    const char *why = "it is not beside the stub";
    void *library = path ? reopen_library(path, &why) : NULL;
    if (!library) {
        say("cannot open the library", why);
        return false;
    }
    struct {
        const char *name;
        void **into;
    } names[] = {
        {"pumice_start", (void **)&door.start},       {"pumice_stat", (void **)&door.stat},
        {"pumice_open", (void **)&door.open},         {"pumice_readlink", (void **)&door.readlink},
        {"pumice_realpath", (void **)&door.realpath}, {"pumice_ioctl", (void **)&door.ioctl},
        {"pumice_mmap", (void **)&door.mmap},         {"pumice_mapped", (void **)&door.mapped},
        {"pumice_close", (void **)&door.close},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *names[i].into = dlsym(library, names[i].name);
        if (!*names[i].into) {
            say("the library lacks a function", names[i].name);
            return false;
        }
    }
    int status = door.start(PUMICE_ABI_VERSION); // says itself what is wrong
    restore_handlers(before);
    return status == 0;
}

bool own_memory(void) { return process == process_id(); }

bool door_usable(void) { return __atomic_load_n(&owner, __ATOMIC_ACQUIRE) == process_id(); }

bool door_enter(struct visit *v) {
    pid_t self = process_id();
    pid_t opened = __atomic_load_n(&owner, __ATOMIC_ACQUIRE);
    if (process != self || (opened != 0 && opened != self)) {
        errno = ENODEV;
        return false;
    }
    block_asynchronous(&v->mask);
    if (opened == self) return true;

    pthread_mutex_lock(&loading);
    opened = owner;
    if (opened == 0 && !load_failed) {
        int saved = errno;
        if (open_library()) {
            __atomic_store_n(&owner, self, __ATOMIC_RELEASE);
            opened = self;
        } else {
            load_failed = true;
        }
        errno = saved;
    }
    pthread_mutex_unlock(&loading);
    if (opened == self) return true;
    pthread_sigmask(SIG_SETMASK, &v->mask, NULL);
    errno = ENODEV;
    return false;
}

void door_leave(struct visit *v) {
    int saved = errno;
    pthread_sigmask(SIG_SETMASK, &v->mask, NULL);
    errno = saved;
}
