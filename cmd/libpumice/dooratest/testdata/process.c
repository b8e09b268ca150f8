// What a process may do around HIP: signals, forks, exec, libraries that come and go, threads that end, and its own end. One check for each argument. Prints OK, or
// what went wrong.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

// The functions are looked up, not linked with, so that the library can come late and go.
static void *library;
static int (*hipGetDeviceCount)(int *);
static int (*hipMalloc)(void **, size_t);
static int (*hipFree)(void *);
static int (*hipMemcpy)(void *, const void *, size_t, int);
static int (*hipMemcpyAsync_spt)(void *, const void *, size_t, int, void *);
static int (*hipStreamSynchronize_spt)(void *);
static int (*hipMallocManaged)(void **, size_t, unsigned);
static int (*hipMemset)(void *, int, size_t);
static int (*hipDeviceSynchronize)(void);
static int (*hipStreamCreate)(void **);
static int (*hipStreamDestroy)(void *);

static int fail(const char *what, int got) {
    printf("%s: %d\n", what, got);
    return 1;
}

static int load(void) {
    library = dlopen("libamdhip64.so.5", RTLD_NOW);
    if (!library) {
        puts(dlerror());
        return 1;
    }
    struct {
        const char *name;
        void **into;
    } all[] = {{"hipGetDeviceCount", (void **)&hipGetDeviceCount},
               {"hipMalloc", (void **)&hipMalloc},
               {"hipFree", (void **)&hipFree},
               {"hipMemcpy", (void **)&hipMemcpy},
               {"hipMemcpyAsync_spt", (void **)&hipMemcpyAsync_spt},
               {"hipStreamSynchronize_spt", (void **)&hipStreamSynchronize_spt},
               {"hipMallocManaged", (void **)&hipMallocManaged},
               {"hipMemset", (void **)&hipMemset},
               {"hipDeviceSynchronize", (void **)&hipDeviceSynchronize},
               {"hipStreamCreate", (void **)&hipStreamCreate},
               {"hipStreamDestroy", (void **)&hipStreamDestroy}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!(*all[i].into = dlsym(library, all[i].name))) return fail(all[i].name, 0);
    return 0;
}

static int use(void) {
    int n = -1, x = 12345, y = 0;
    void *p = NULL;
    if (hipGetDeviceCount(&n) || n < 1) return fail("devices", n);
    if (hipMalloc(&p, 4)) return fail("malloc", 0);
    if (hipMemcpy(p, &x, 4, 1) || hipMemcpy(&y, p, 4, 2)) return fail("memcpy", 0);
    if (hipFree(p)) return fail("free", 0);
    return y == x ? 0 : fail("content", y);
}

static int wait_child(pid_t pid) {
    int status;
    if (waitpid(pid, &status, 0) != pid) return 97;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

// A handler of faults that the program installs when HIP is there already, without an alternate stack, and that jumps out.
static sigjmp_buf out;
static volatile sig_atomic_t faults;
static void recover(int s) {
    (void)s;
    faults++;
    siglongjmp(out, 1);
}

static int late_segv(void) {
    if (load() || use()) return 1;
    struct sigaction sa = {.sa_handler = recover}, now;
    sigaction(SIGSEGV, &sa, NULL);
    for (volatile int i = 0; i < 20; i++) {
        if (!sigsetjmp(out, 1)) {
            *(volatile int *)8 = 1;
            return fail("no fault", i);
        }
        if (use()) return 1;
    }
    sigaction(SIGSEGV, NULL, &now);
    if (now.sa_handler != recover) return fail("the handler is another", 0);
    if (now.sa_flags & SA_ONSTACK) return fail("the program did not ask for SA_ONSTACK", now.sa_flags);
    return faults == 20 ? 0 : fail("faults", faults);
}

// A fault that the program does not handle ends it as the kernel does, and so does one that is sent.
static int wait_signal(pid_t pid) {
    int status;
    if (waitpid(pid, &status, 0) != pid) return -1;
    return WIFSIGNALED(status) ? WTERMSIG(status) : -2;
}

static int own_fault(void) {
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(30);
            if (load() || use()) _exit(1);
            if (i == 0) *(volatile int *)8 = 1;
            if (i == 1) raise(SIGSEGV);
            if (i == 2) kill(getpid(), SIGBUS), pause();
            _exit(2);
        }
        int got = wait_signal(pid);
        if (got != (i == 2 ? SIGBUS : SIGSEGV)) return fail("ended by", got);
    }
    return 0;
}

// Signals that arrive at any time, with handlers that need much stack.
static volatile sig_atomic_t ticks;
static void greedy(int s) {
    volatile char stack[96 << 10];
    for (size_t i = 0; i < sizeof stack; i += 512) stack[i] = (char)(s + i);
    ticks += stack[512] == (char)(s + 512);
}

static void modest(int s) {
    volatile char stack[8 << 10];
    for (size_t i = 0; i < sizeof stack; i += 512) stack[i] = (char)(s + i);
    ticks += stack[512] == (char)(s + 512);
}

static int greedy_handler(int sig, int early) {
    // SIGPROF and SIGCHLD also come to the threads of the library, where there is less room.
    struct sigaction sa = {.sa_handler = sig == SIGPROF || sig == SIGCHLD ? modest : greedy, .sa_flags = SA_RESTART}, now;
    if (early) sigaction(sig, &sa, NULL);
    if (load() || use()) return 1;
    if (!early) sigaction(sig, &sa, NULL);
    struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig};
    timer_t t;
    struct itimerspec every = {{0, 500000}, {0, 500000}};
    if (timer_create(CLOCK_MONOTONIC, &ev, &t) || timer_settime(t, 0, &every, NULL)) return fail("timer", 0);
    for (int i = 0; i < 400; i++)
        if (use()) return 1;
    timer_delete(t);
    sigaction(sig, NULL, &now);
    if (now.sa_handler != sa.sa_handler) return fail("the handler is another", 0);
    return ticks > 0 ? 0 : fail("ticks", ticks);
}

static int late_alarm(void) { return greedy_handler(SIGALRM, 0); }
static int early_alarm(void) { return greedy_handler(SIGALRM, 1); }
static int early_urgent(void) { return greedy_handler(SIGURG, 1); }
static int late_urgent(void) { return greedy_handler(SIGURG, 0); }
static int early_child(void) { return greedy_handler(SIGCHLD, 1); }
static int late_child(void) { return greedy_handler(SIGCHLD, 0); }
static int early_profile(void) { return greedy_handler(SIGPROF, 1); }
static int late_profile(void) { return greedy_handler(SIGPROF, 0); }

// Managed memory that the device wrote last, seen by a child; and a child's child.
static int fork_managed(void) {
    if (load() || use()) return 1;
    unsigned char *p;
    const size_t n = 1 << 20;
    if (hipMallocManaged((void **)&p, n, 1)) return fail("managed", 0);
    memset(p, 1, n);
    if (hipMemset(p, 0x5a, n) || hipDeviceSynchronize()) return fail("memset", 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (size_t i = 0; i < n; i++)
            if (p[i] != 0x5a) _exit(50);
        pid = fork();
        if (pid == 0) _exit(p[n - 1] == 0x5a ? 0 : 51);
        _exit(wait_child(pid));
    }
    int child = wait_child(pid);
    if (child) return fail("child", child);
    for (size_t i = 0; i < n; i++)
        if (p[i] != 0x5a) return fail("content after the fork", p[i]);
    return hipFree(p) ? fail("free", 0) : use();
}

// The page below has other attributes than the rest of the stack, so that the stack is several mappings, when the first call comes.
static int split_stack(void) {
    volatile char deep[64 << 10];
    deep[0] = deep[sizeof deep / 2] = 1;
    uintptr_t page = ((uintptr_t)__builtin_frame_address(0) - sizeof deep) & ~(uintptr_t)4095;
    if (load() || madvise((void *)(page - 8192), 4096, MADV_DONTDUMP)) return fail("madvise", 0);
    return use();
}

static char *self;

static int exec_after(void) {
    if (load() || use()) return 1;
    execl(self, self, "dl", NULL);
    return fail("exec", 0);
}

static int spawn(void) {
    if (load() || use()) return 1;
    pid_t pid;
    char *argv[] = {self, "dl", NULL};
    extern char **environ;
    if (posix_spawn(&pid, self, NULL, NULL, argv, environ)) return fail("spawn", 0);
    int child = wait_child(pid);
    if (child) return fail("child", child);
    if (system("true")) return fail("system", 0);
    return use();
}

// The library is opened and closed as plug-ins do.
static int dl(void) {
    for (int i = 0; i < 3; i++) {
        if (load() || use()) return 1;
        if (dlclose(library)) return fail("dlclose", i);
    }
    return load() || use();
}

// HIP is used at exit: by a handler that was registered before the library came, and by a destructor.
static int ending;
static void at_exit(void) {
    if (ending && use()) _exit(9);
}
__attribute__((destructor)) static void destructor(void) {
    if (ending && use()) _exit(9);
}

static int at_the_end(void) {
    atexit(at_exit);
    if (load() || use()) return 1;
    ending = 1;
    return 0;
}

static int count(const char *dir) {
    int n = 0;
    DIR *d = opendir(dir);
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

static void *short_lived(void *arg) {
    (void)arg;
    static __thread int x;
    void *p;
    if (hipMalloc(&p, 4) || hipMemcpyAsync_spt(p, &x, 4, 1, NULL) || hipStreamSynchronize_spt(NULL) || hipFree(p)) return "thread";
    return NULL;
}

// Threads with streams of their own end. Nothing of them may stay.
static int threads_end(void) {
    if (load() || use()) return 1;
    int tasks = 0, fds = 0;
    for (int i = 0; i < 200; i++) {
        pthread_t t;
        void *bad;
        if (pthread_create(&t, NULL, short_lived, NULL) || pthread_join(t, &bad)) return fail("thread", i);
        if (bad) return fail(bad, i);
        if (i == 40) tasks = count("/proc/self/task"), fds = count("/proc/self/fd");
    }
    if (count("/proc/self/task") > tasks + 8) return fail("threads stay", count("/proc/self/task") - tasks);
    if (count("/proc/self/fd") > fds + 8) return fail("descriptors stay", count("/proc/self/fd") - fds);
    return use();
}

static void *forever(void *arg) {
    for (;;) (void)use();
    return arg;
}

// The process ends while other threads are in HIP.
static int exit_busy(void) {
    if (load() || use()) return 1;
    for (int i = 0; i < 4; i++) {
        pthread_t t;
        pthread_create(&t, NULL, forever, NULL);
    }
    usleep(20000);
    return 0;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*f)(void);
    } all[] = {{"late_segv", late_segv},
               {"own_fault", own_fault},
               {"late_alarm", late_alarm},
               {"early_alarm", early_alarm},
               {"early_urgent", early_urgent},
               {"late_urgent", late_urgent},
               {"early_child", early_child},
               {"late_child", late_child},
               {"early_profile", early_profile},
               {"late_profile", late_profile},
               {"fork_managed", fork_managed},
               {"split_stack", split_stack},
               {"exec_after", exec_after},
               {"spawn", spawn},
               {"dl", dl},
               {"at_the_end", at_the_end},
               {"threads_end", threads_end},
               {"exit_busy", exit_busy}};
    self = argv[0];
    for (size_t i = 0; argc == 2 && i < sizeof all / sizeof *all; i++)
        if (!strcmp(argv[1], all[i].name)) {
            int r = all[i].f();
            if (!r) puts("OK");
            fflush(stdout);
            return r;
        }
    return fail("no such check", argc);
}
