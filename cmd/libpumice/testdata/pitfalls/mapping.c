// A device mapping is made of the pieces that the kernel half names, at the address that the program wants.
#include "pitfall.h"

int main(void) {
    int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    NEED(fd >= 0);
    char *a = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    NEED(a != MAP_FAILED);
    char *all = mmap(NULL, 128 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    NEED(all != MAP_FAILED);
    strcpy(a, "first");
    strcpy(a + 4096, "second");
    NEED(strcmp(all + 125 * 4096, "first") == 0 && strcmp(all + 127 * 4096, "second") == 0);

    char *hole = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *at = mmap(hole + 65536, 8000, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
    NEED(at == hole + 65536 && strcmp(at, "first") == 0);
    NEED(mmap(hole, 8192, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0) == MAP_FAILED && errno == EEXIST);
    NEED(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL);
    NEED(mmap(NULL, 0, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL);
    NEED(munmap(a, 8192) == 0 && munmap(all, 128 * 4096) == 0);
    return 0;
}
