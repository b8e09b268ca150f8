// The bounds of the main thread's stack.
//
// When a thread of the program calls Go for the first time, Go asks pthread_getattr_np where its stack is. For the main thread glibc takes the mapping in
// /proc/self/maps that has the stack's top, and ends the stack where the mapping below it ends. A program may have split its stack into several mappings, by madvise or
// mprotect of a page in it (AMD's thunk does so to the pages of a userptr): then glibc's answer is a page or two, and Go dies of it. So Go
// gets an answer here that takes adjoining mappings of the same kind for one. Calls of the program itself do not come here.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// whole_stack returns the lowest address that the stack with its top at `top` may grow to, 0 when it is not to be found.
static uintptr_t whole_stack(uintptr_t top) {
    FILE *f = fopen("/proc/self/maps", "re");
    if (!f) return 0;
    char *line = NULL;
    size_t room = 0;
    uintptr_t low = 0, end = 0, limit = 0; // of the run of adjoining mappings, and where what is below it ends
    while (getline(&line, &room, f) > 0) {
        uintptr_t from, to;
        unsigned long inode;
        char rights[5];
        if (sscanf(line, "%lx-%lx %4s %*x %*s %lu", &from, &to, rights, &inode) != 4) continue;
        int stack_like = inode == 0 && rights[3] == 'p';
        if (!stack_like || from != end || low == 0) {
            limit = end;
            low = stack_like ? from : 0;
        }
        end = to;
        if (to >= top) break;
    }
    free(line);
    fclose(f);
    if (low == 0 || low >= top || end < top) return 0;
    struct rlimit r;
    if (getrlimit(RLIMIT_STACK, &r) == 0 && r.rlim_cur != RLIM_INFINITY && r.rlim_cur < top - limit) return top - r.rlim_cur < low ? top - r.rlim_cur : low;
    return limit;
}

// Go's call of it binds here, because the library is linked with -Bsymbolic.
int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr) {
    static int (*next)(pthread_t, pthread_attr_t *);
    if (!next) next = (int (*)(pthread_t, pthread_attr_t *))dlsym(RTLD_NEXT, "pthread_getattr_np");
    if (!next) return ENOSYS;
    int r = next(thread, attr);
    void *address;
    size_t size;
    if (r == 0 && thread == pthread_self() && syscall(SYS_gettid) == getpid() && pthread_attr_getstack(attr, &address, &size) == 0) {
        uintptr_t top = (uintptr_t)address + size, low = whole_stack(top);
        if (low != 0 && low < (uintptr_t)address) pthread_attr_setstack(attr, (void *)low, top - low);
    }
    return r;
}
