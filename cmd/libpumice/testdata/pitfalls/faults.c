// The program may own SIGSEGV, with a handler that knows nothing of Go, and a crash is a crash.
#include "pitfall.h"
#include <setjmp.h>

static sigjmp_buf out;
static void handler(int signal) {
    (void)signal;
    siglongjmp(out, 1);
}

int main(int argc, char **argv) {
    (void)argv;
    struct version v;
    int fd = open("/dev/kfd", O_RDWR);
    NEED(fd >= 0);
    if (argc > 1) {
        *(volatile int *)16 = 1; // status 139, no report of Go's
    }
    signal(SIGSEGV, handler);
    for (volatile int i = 0; i < 100; i++) {
        if (sigsetjmp(out, 1) == 0) {
            *(volatile int *)16 = 1;
            return 1;
        }
        NEED(ioctl(fd, GET_VERSION, &v) == 0);
        NEED(ioctl(fd, GET_VERSION, (void *)16) == -1 && errno == EFAULT);
    }
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "faults", "crash", NULL);
        _exit(1);
    }
    int status;
    NEED(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    return 0;
}
