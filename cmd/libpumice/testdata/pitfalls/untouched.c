// A program that does not touch the GPU has no Go runtime in it, nor do its children; files elsewhere work as ever.
#include "pitfall.h"

int main(void) {
    struct stat st;
    NEED(stat("/proc/self/status", &st) == 0 && stat("/sys/class", &st) == 0 && stat("/dev/null", &st) == 0);
    NEED(S_ISCHR(st.st_mode));
    int fd = open("/dev/null", O_RDWR);
    NEED(fd >= 0 && close(fd) == 0);
    NEED(ioctl(0, _IOR('K', 1, struct version), NULL) == -1);
    void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(p != MAP_FAILED);
    DIR *d = opendir("/proc/self/fd");
    NEED(d && readdir(d) && closedir(d) == 0);
    NEED(!library_loaded());
    NEED(system("grep -q /libpumice.so /proc/self/maps && exit 1; ls / | wc -l >/dev/null") == 0);
    return 0;
}
