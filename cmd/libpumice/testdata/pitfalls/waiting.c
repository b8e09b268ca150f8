// A thread that waits for events lets the program's signals in, ends when an event is set, at its time-out, or when the
// process is to die.
#include "pitfall.h"

static volatile sig_atomic_t handled;
static void handler(int signal) {
    (void)signal;
    handled = 1;
}

static void *setter(void *arg) {
    usleep(100000);
    kill(getpid(), SIGUSR1);
    usleep(100000);
    struct event e = {0, 0};
    NEED(ioctl(*(int *)arg, SET_EVENT, &e) == 0);
    return NULL;
}

int main(int argc, char **argv) {
    (void)argv;
    int fd = open("/dev/kfd", O_RDWR);
    NEED(fd >= 0);
    struct events e = {.timeout = 60};
    if (argc > 1) {
        e.timeout = 3600000;
        ioctl(fd, WAIT_EVENTS, &e);
        return 1;
    }
    double start = seconds();
    NEED(ioctl(fd, WAIT_EVENTS, &e) == 0 && e.result == 1);
    NEED(seconds() - start > 0.055 && seconds() - start < 5);
    e = (struct events){.timeout = 0};
    NEED(ioctl(fd, WAIT_EVENTS, &e) == 0 && e.result == 1);
    NEED(ioctl(fd, WAIT_EVENTS, (void *)8) == -1 && errno == EFAULT);
    struct event id = {0, 0};
    NEED(ioctl(fd, SET_EVENT, &id) == 0);
    e = (struct events){.timeout = 60000};
    NEED(ioctl(fd, WAIT_EVENTS, &e) == 0 && e.result == 0);

    signal(SIGUSR1, handler);
    pthread_t thread;
    start = seconds();
    NEED(pthread_create(&thread, NULL, setter, &fd) == 0);
    e = (struct events){.timeout = 60000};
    NEED(ioctl(fd, WAIT_EVENTS, &e) == 0 && e.result == 0 && handled);
    NEED(seconds() - start < 10);
    NEED(pthread_join(thread, NULL) == 0);

    // The default action of a signal still kills a process whose only thread waits.
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "waiting", "for ever", NULL);
        _exit(1);
    }
    usleep(500000);
    int status;
    NEED(kill(child, SIGTERM) == 0 && waitpid(child, &status, 0) == child);
    NEED(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    return 0;
}
