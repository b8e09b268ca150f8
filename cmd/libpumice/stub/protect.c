// mprotect: the kernel tells a driver when memory's rights change, but not a process. So that GPUs get the rights of now, the library hears of it here, once it
// is open; that is after the change, and before the program goes on.
#include "stub.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// The library of this process puts its function here.
EXPORT void (*pumice_on_protect)(uint64_t address, uint64_t length);

static void after_fork_child(void) { pumice_on_protect = NULL; }
__attribute__((constructor)) static void constructor(void) { pthread_atfork(NULL, NULL, after_fork_child); }

static int changed(int r, void *address, size_t length) {
    void (*tell)(uint64_t, uint64_t) = __atomic_load_n(&pumice_on_protect, __ATOMIC_ACQUIRE);
    if (r == 0 && tell && own_memory()) {
        struct visit v;
        int saved = errno;
        block_asynchronous(&v.mask);
        tell((uintptr_t)address, length);
        door_leave(&v);
        errno = saved;
    }
    return r;
}

EXPORT int mprotect(void *address, size_t length, int prot) {
    return changed((int)syscall(SYS_mprotect, address, length, prot), address, length);
}

EXPORT int pkey_mprotect(void *address, size_t length, int prot, int key) {
    return changed((int)syscall(SYS_pkey_mprotect, address, length, prot, key), address, length);
}
