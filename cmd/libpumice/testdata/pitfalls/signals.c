// A handler installed without SA_ONSTACK, for a signal that comes all the time, while several threads are in Go code: it
// runs on the program's threads only, and on their own stacks.
#include "pitfall.h"

static volatile sig_atomic_t ticks;
static volatile sig_atomic_t stop;
static __thread char *stack_near;

static void tick(int signal) {
    (void)signal;
    char here;
    ticks++;
    // A Go thread has no stack_near.
    if (!stack_near || labs(stack_near - &here) > 8 << 20) _exit(9);
}

static void mask(int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    NEED(pthread_sigmask(how, &set, NULL) == 0);
}

static void *work(void *arg) {
    stack_near = (char *)__builtin_frame_address(0);
    mask(SIG_UNBLOCK);
    struct version v;
    int fd = *(int *)arg;
    while (!stop) {
        NEED(ioctl(fd, GET_VERSION, &v) == 0);
        struct events e = {.timeout = 1};
        NEED(ioctl(fd, WAIT_EVENTS, &e) == 0);
    }
    return NULL;
}

int main(void) {
    stack_near = (char *)__builtin_frame_address(0);
    struct sigaction action = {.sa_handler = tick};
    NEED(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval timer = {{0, 500}, {0, 500}};
    NEED(setitimer(ITIMER_REAL, &timer, NULL) == 0);
    int fd = open("/dev/kfd", O_RDWR);
    NEED(fd >= 0);
    pthread_t threads[3];
    mask(SIG_BLOCK); // until each has said where its stack is
    for (int i = 0; i < 3; i++) NEED(pthread_create(&threads[i], NULL, work, &fd) == 0);
    mask(SIG_UNBLOCK);
    while (ticks < 2000) {
        // Handlers interrupt these as well.
        int f = open("/dev/kfd", O_RDWR);
        NEED(f >= 0 && close(f) == 0);
        f = open("/dev/null", O_RDWR);
        NEED(f >= 0 && close(f) == 0);
    }
    stop = 1;
    for (int i = 0; i < 3; i++) NEED(pthread_join(threads[i], NULL) == 0);
    return 0;
}
