// Children forked after the GPU was used: what they inherited gives clean errors, what they open is their own, and so on for their children; the parent goes on. A
// vfork child, which shares the parent's memory, must not disturb it, neither by closing descriptors nor by opening the GPU.
#include "pitfall.h"

static void *churn(void *arg) {
    struct version v;
    for (int i = 0; i < 300; i++) NEED(ioctl(*(int *)arg, GET_VERSION, &v) == 0);
    return NULL;
}

// anew uses the GPU as a new process does, and has its child do so.
static void anew(int fd, int depth) {
    struct version v;
    int own = open("/dev/kfd", O_RDWR);
    NEED(own >= 0 && ioctl(own, GET_VERSION, &v) == 0 && counts(own).opens == 1);
    NEED(ioctl(fd, GET_VERSION, &v) == -1 && errno == EBADF);
    if (depth > 0) {
        pid_t child = fork();
        if (child == 0) {
            anew(own, depth - 1);
            exit(8);
        }
        need_exit(child, 8);
    }
    NEED(ioctl(own, GET_VERSION, &v) == 0 && counts(own).closes == 0);
    NEED(close(fd) == 0 && counts(own).closes == 0 && close(own) == 0);
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
            NEED(mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == ENODEV);
            if (i < 3) {
                NEED(access("/sys/class/kfd", F_OK) == 0);
                anew(fd, i);
            } else {
                NEED(close(fd) == 0);
            }
            int null = open("/dev/null", O_RDONLY);
            NEED(null >= 0 && close(null) == 0);
            // What it runs is a new process and may use the GPU.
            if (i == 0) NEED(system("test \"$(cat /sys/class/kfd/kfd/topology/generation_id)\" = 7") == 0);
            exit(7); // with atexit handlers
        }
        need_exit(child, 7);
        child = vfork();
        if (child == 0) {
            int own = open("/dev/kfd", O_RDWR);
            close(fd);
            _exit(own == -1 && errno == ENODEV ? 3 : 4);
        }
        need_exit(child, 3);
    }
    NEED(pthread_join(thread, NULL) == 0);
    NEED(ioctl(fd, GET_VERSION, &v) == 0 && counts(fd).closes == 0);
    return 0;
}
