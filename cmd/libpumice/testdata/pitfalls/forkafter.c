// Children forked after the GPU was used: clean errors, no hang, and the parent goes on. A vfork child, which shares the
// parent's memory, must not disturb it by closing descriptors.
#include "pitfall.h"

static void *churn(void *arg) {
    struct version v;
    for (int i = 0; i < 300; i++) NEED(ioctl(*(int *)arg, GET_VERSION, &v) == 0);
    return NULL;
}

int main(void) {
    struct version v;
    int fd = open("/dev/kfd", O_RDWR);
    NEED(fd >= 0 && ioctl(fd, GET_VERSION, &v) == 0);
    pthread_t thread;
    NEED(pthread_create(&thread, NULL, churn, &fd) == 0);
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(10);
            NEED(ioctl(fd, GET_VERSION, &v) == -1 && errno == EBADF);
            NEED(open("/dev/kfd", O_RDWR) == -1 && errno == ENODEV);
            NEED(mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == ENODEV);
            NEED(opendir("/sys/class/kfd") == NULL && errno == ENODEV);
            NEED(close(fd) == 0);
            int null = open("/dev/null", O_RDONLY);
            NEED(null >= 0 && close(null) == 0);
            // What it runs is a new process and may use the GPU.
            if (i == 0) NEED(system("test \"$(cat /sys/class/kfd/kfd/topology/generation_id)\" = 7") == 0);
            exit(7); // with atexit handlers
        }
        need_exit(child, 7);
        child = vfork();
        if (child == 0) {
            close(fd);
            _exit(3);
        }
        need_exit(child, 3);
    }
    NEED(pthread_join(thread, NULL) == 0);
    NEED(ioctl(fd, GET_VERSION, &v) == 0 && counts(fd).closes == 0);
    return 0;
}
