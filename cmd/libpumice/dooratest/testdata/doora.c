// What door A promises to programs, one check for each argument. Prints OK, or what went wrong.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int hipGetDeviceCount(int *);
int hipSetDevice(int);
int hipGetDevice(int *);
int hipMalloc(void **, size_t);
int hipFree(void *);
int hipMemcpy(void *, const void *, size_t, int);
int hipGetLastError(void);
int hipDeviceSynchronize(void);
int hipGLGetDevices(unsigned *, int *, unsigned, int);
const char *hipGetErrorString(int);
const char *hipApiName(unsigned);

static int fail(const char *what, int got) {
    printf("%s: %d\n", what, got);
    return 1;
}

static int mapped(const char *name) {
    char line[4096];
    int found = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, name)) found = 1;
    if (f) fclose(f);
    return found;
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

// wait_child returns the exit code of a child, 99 if it hangs.
static int wait_child(pid_t pid) {
    for (int i = 0; i < 300; i++) {
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid) return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
        usleep(100000);
    }
    kill(pid, SIGKILL);
    return 99;
}

static int idle(void) { return mapped("libpumice.so") ? fail("the library is open without a call", 1) : 0; }

static int fork_before(void) {
    pid_t pid = fork();
    if (pid == 0) _exit(use());
    int child = wait_child(pid);
    return child ? fail("child", child) : use();
}

static int fork_after(void) {
    if (use()) return 1;
    pid_t pid = fork();
    if (pid == 0) {
        // It begins anew, and so does its child.
        if (use()) _exit(1);
        pid = fork();
        if (pid == 0) _exit(use() ? 2 : 0);
        int child = wait_child(pid);
        exit(child ? child : use() ? 3 : 0);
    }
    int child = wait_child(pid);
    return child ? fail("child", child) : use();
}

static void *other(void *arg) {
    int d = -1;
    (void)arg;
    if (hipGetDevice(&d) || d != 0) return "the device is not the thread's own";
    if (hipGetLastError() != 0) return "the last error is not the thread's own";
    return use() ? "use" : NULL;
}

static int threads(void) {
    if (hipSetDevice(1)) return fail("second device", 0);
    if (hipSetDevice(7) != 101) return fail("device 7", 0);
    for (int i = 0; i < 8; i++) {
        pthread_t t;
        void *bad;
        if (pthread_create(&t, NULL, other, NULL) || pthread_join(t, &bad)) return fail("thread", i);
        if (bad) return fail(bad, i);
    }
    int d = -1;
    if (hipGetLastError() != 101) return fail("last error", 0);
    if (hipGetDevice(&d) || d != 1) return fail("device", d);
    return use();
}

static int missing(void) {
    unsigned n;
    int d;
    for (int i = 0; i < 3; i++)
        if (hipGLGetDevices(&n, &d, 1, 1) != 801) return fail("graph", i);
    const char *name = hipApiName(1);
    if (!name || !*name) return fail("text", 0);
    return use();
}

static volatile sig_atomic_t ticks;
static void tick(int s) {
    (void)s;
    ticks++;
}

// An application's own timer signal keeps coming while threads of Go run.
static int timer(void) {
    struct sigaction sa = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &sa, NULL);
    if (use()) return 1;
    ualarm(2000, 2000);
    for (int i = 0; i < 200; i++)
        if (use()) return 1;
    ualarm(0, 0);
    return ticks > 0 ? 0 : fail("ticks", ticks);
}

// The same with the handler installed when Go is there already.
static int timer_late(void) { return use() ? 1 : timer(); }

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*f)(void);
    } all[] = {{"idle", idle}, {"use", use}, {"fork_before", fork_before}, {"fork_after", fork_after}, {"threads", threads}, {"missing", missing}, {"timer", timer}, {"timer_late", timer_late}};
    for (size_t i = 0; argc == 2 && i < sizeof all / sizeof *all; i++)
        if (!strcmp(argv[1], all[i].name)) {
            int r = all[i].f();
            if (!r) puts("OK");
            return r;
        }
    return fail("no such check", argc);
}
