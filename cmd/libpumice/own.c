// The library's own calls about memory, Go's runtime among the callers, go straight to the kernel: they bind here, because the library is linked with
// -Bsymbolic. Through the stub they would come back into Go (see stub/memory.c) while Go is in the middle of something.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *mmap(void *address, size_t length, int prot, int flags, int fd, off_t offset) {
    return (void *)syscall(SYS_mmap, address, length, prot, flags, fd, offset);
}
int munmap(void *address, size_t length) { return (int)syscall(SYS_munmap, address, length); }
int madvise(void *address, size_t length, int advice) { return (int)syscall(SYS_madvise, address, length, advice); }
int mprotect(void *address, size_t length, int prot) { return (int)syscall(SYS_mprotect, address, length, prot); }
