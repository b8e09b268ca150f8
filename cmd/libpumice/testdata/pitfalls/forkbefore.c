// Children forked before the first use each open the GPU for themselves, and so does the parent.
#include "pitfall.h"

int main(void) {
    struct version v;
    pid_t children[4];
    NEED(!library_loaded());
    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            alarm(20);
            int fd = open("/dev/kfd", O_RDWR);
            NEED(fd >= 0 && library_loaded());
            for (int j = 0; j < 100; j++) NEED(ioctl(fd, GET_VERSION, &v) == 0);
            NEED(counts(fd).opens == 1);
            exit(0);
        }
    }
    int fd = open("/dev/kfd", O_RDWR);
    NEED(fd >= 0 && ioctl(fd, GET_VERSION, &v) == 0);
    for (int i = 0; i < 4; i++) need_exit(children[i], 0);
    return 0;
}
