// What a process does to its address space. The kernel tells a driver before memory's rights change or memory goes, and lets the call return when the driver has
// done its part. A process is told of less: of mprotect nothing, and munmap, madvise and mremap return while the message is on its way; a kernel that the
// program launches next would still use the old pages. So the library, once it is open, hears of these calls here and does its part before they return.
// Calls within libc itself (free, the end of a thread) do not come here.
#include "stub.h"

#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// The library of this process puts its function here; what is an enum pumice_memory.
EXPORT void (*pumice_on_memory)(int what, uint64_t address, uint64_t length);

static void after_fork_child(void) { pumice_on_memory = NULL; }
__attribute__((constructor)) static void constructor(void) { pthread_atfork(NULL, NULL, after_fork_child); }

// on_own_stack is whether this thread runs on the stack it was made with. A signal handler may have interrupted Go, and so run on a goroutine's stack: it
// must not enter Go again. A thread's descriptor lies at the top of its stack, but the first one's.
static bool on_own_stack(void) {
    extern void *__libc_stack_end;
    enum { ENOUGH = 64 << 20 };
    char here;
    uintptr_t at = (uintptr_t)&here;
    return (uintptr_t)__libc_stack_end - at < ENOUGH || (uintptr_t)pthread_self() - at < ENOUGH;
}

static void tell(int what, const void *address, size_t length) {
    void (*f)(int, uint64_t, uint64_t) = __atomic_load_n(&pumice_on_memory, __ATOMIC_ACQUIRE);
    if (!f || !own_memory() || !on_own_stack()) return;
    struct visit v;
    int saved = errno;
    block_asynchronous(&v.mask);
    f(what, (uintptr_t)address, length);
    door_leave(&v);
    errno = saved;
}

EXPORT int mprotect(void *address, size_t length, int prot) {
    int r = (int)syscall(SYS_mprotect, address, length, prot);
    if (r == 0) tell(PUMICE_RIGHTS, address, length);
    return r;
}

EXPORT int pkey_mprotect(void *address, size_t length, int prot, int key) {
    int r = (int)syscall(SYS_pkey_mprotect, address, length, prot, key);
    if (r == 0) tell(PUMICE_RIGHTS, address, length);
    return r;
}

EXPORT int munmap(void *address, size_t length) {
    tell(PUMICE_GOING, address, length);
    int r = (int)syscall(SYS_munmap, address, length);
    if (r == 0) tell(PUMICE_GONE, address, length);
    return r;
}

EXPORT int madvise(void *address, size_t length, int advice) {
    int r = (int)syscall(SYS_madvise, address, length, advice);
    if (r == 0 && (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE)) tell(PUMICE_GONE, address, length);
    return r;
}

EXPORT void *mremap(void *address, size_t length, size_t new_length, int flags, ...) {
    va_list args;
    va_start(args, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(args, void *) : NULL;
    va_end(args);
    // Whether the rest moves is not known yet; of a move userfaultfd tells.
    if (new_length < length) tell(PUMICE_GOING, (char *)address + new_length, length - new_length);
    if (flags & MREMAP_FIXED) tell(PUMICE_GOING, to, new_length);
    void *r = (void *)syscall(SYS_mremap, address, length, new_length, flags, to);
    if (r != MAP_FAILED) tell(PUMICE_GONE, address, length);
    if (r != MAP_FAILED && flags & MREMAP_FIXED) tell(PUMICE_GONE, to, new_length);
    return r;
}

void *system_mmap(void *address, size_t length, int prot, int flags, int fd, off_t offset) {
    // Not REAL(mmap): an allocator may call this before dlsym can work.
    bool over = flags & MAP_FIXED;
    if (over) tell(PUMICE_GOING, address, length);
    void *r = (void *)syscall(SYS_mmap, address, length, prot, flags, fd, offset);
    if (over && r != MAP_FAILED) tell(PUMICE_GONE, address, length);
    return r;
}
