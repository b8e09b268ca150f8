// A device is recognised through dup, fcntl and fork, is closed with its last descriptor, and its number is then free for
// other files.
#include "pitfall.h"
#include <sys/socket.h>

int main(void) {
    struct version v;
    int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    NEED(fd >= 0 && ioctl(fd, GET_VERSION, &v) == 0 && v.major == 1 && v.minor == 14);
    struct stat st;
    NEED(fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && major(st.st_rdev) == 510);
    NEED(fcntl(fd, F_GETFD) == FD_CLOEXEC && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR);
    NEED(ioctl(fd, 0x4b7f, &v) == -1 && errno == ENOTTY);
    NEED(ioctl(fd, GET_VERSION, (void *)8) == -1 && errno == EFAULT);

    int other = open("/dev/kfd", O_RDWR);
    NEED(fcntl(other, F_GETFD) == 0 && counts(fd).opens == 2);
    int copies[] = {dup(fd), fcntl(fd, F_DUPFD_CLOEXEC, 100), dup2(fd, 200)};
    for (int i = 0; i < 3; i++) NEED(copies[i] >= 0 && ioctl(copies[i], GET_VERSION, &v) == 0);
    NEED(close(fd) == 0 && close(copies[0]) == 0 && counts(other).closes == 0);
    NEED(close(copies[1]) == 0 && counts(other).closes == 0 && counts(copies[2]).closes == 0);
    NEED(dup2(0, 200) == 200); // closes the last one without telling us; a stale entry must do no harm
    NEED(ioctl(200, GET_VERSION, &v) == -1);

    fd = open("/dev/kfd", O_RDWR);
    uint32_t closes = counts(other).closes;
    NEED(close(fd) == 0 && counts(other).closes == closes + 1);
    NEED(close(fd) == -1 && errno == EBADF && counts(other).closes == closes + 1);
    fd = open("/dev/null", O_RDWR);
    NEED(ioctl(fd, GET_VERSION, &v) == -1 && errno == ENOTTY);
    NEED(fstat(fd, &st) == 0 && major(st.st_rdev) == 1);

    // More opens and closes than the stub has slots.
    for (int i = 0; i < 3000; i++) {
        int f = open("/dev/dri/renderD128", O_RDWR);
        NEED(f >= 0 && close(f) == 0);
    }
    NEED(close(other) == 0);
    return 0;
}
