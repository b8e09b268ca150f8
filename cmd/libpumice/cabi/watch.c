#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// A write to a write-protected page blocks the writer until it is unprotected, so the order is: a write is seen (as a
// changed value, or as a fault) -> the page is writable -> spin a while -> protect -> look at all doorbells again, because a
// write may have come just before -> block. The page is never protected again right after it was unprotected: the writer
// that was woken must get to its store first, else the two may chase each other for ever.
//
// This thread never calls Go between a fault and the unprotect: the writer waits only for C.

struct region {
    struct region *next;
    uint64_t cookie;
    char *application;
    size_t length;
    uint64_t offset;
    const volatile uint64_t *alias; // the same memory, never protected
    uint64_t *last;                 // values seen; only the watching thread's, once it is in the list
    bool gone;                      // the application has unmapped it; only the watching thread looks
};

static struct region *_Atomic regions; // grows at the head only
static unsigned _Atomic generation;    // counts queues made
static int uffd = -1;
static int kick = -1; // an eventfd: a region was added
static unsigned spin_ns;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int open_userfaultfd(void) {
    // A full one needs privilege; for user-mode stores the restricted one does.
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    if (fd < 0) fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return -1;
    struct uffdio_api api = {.api = UFFD_API,
                             .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP
#ifdef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
                                         | UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#else
                                         | 1 << 12
#endif
    };
    if (ioctl(fd, UFFDIO_API, &api) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

enum watch_how watch_open(unsigned spin_us) {
    spin_ns = spin_us * 1000;
    kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    uffd = open_userfaultfd();
    return uffd >= 0 ? WATCH_USERFAULTFD : WATCH_POLLING;
}

int watch_add(void *address, size_t length, int fd, uint64_t offset, uint64_t cookie) {
    struct region *r = calloc(1, sizeof *r);
    uint64_t *last = malloc(length);
    void *alias = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, (off_t)offset);
    int error = ENOMEM;
    if (!r || !last || alias == MAP_FAILED) goto failed;
    madvise(alias, length, MADV_DONTFORK);
    *r = (struct region){
        .cookie = cookie, .application = address, .length = length, .offset = offset, .alias = alias, .last = last};
    memset(last, 0xff, length);
    if (uffd >= 0) {
        struct uffdio_register reg = {.range = {(uintptr_t)address, length}, .mode = UFFDIO_REGISTER_MODE_WP};
        if (ioctl(uffd, UFFDIO_REGISTER, &reg) < 0) {
            error = errno;
            goto failed;
        }
    }
    struct region *head = regions;
    do r->next = head;
    while (!__atomic_compare_exchange_n(&regions, &head, r, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    uint64_t one = 1;
    if (write(kick, &one, sizeof one) < 0) return 0; // it is awake already
    return 0;
failed:
    if (alias != MAP_FAILED) munmap(alias, length);
    free(last);
    free(r);
    return -error;
}

// A new queue's doorbell begins as all ones, which the kernel half stores past the protection. If this thread misses that,
// and the first value written is the last one of an earlier queue in the same place, nothing has changed for it. So after
// each new queue all doorbells are taken for all ones, and the others' owners hear of a doorbell too many.
void watch_queue_created(void) { __atomic_add_fetch(&generation, 1, __ATOMIC_SEQ_CST); }

// protect sets or lifts the write protection of all regions.
static void protect(bool on) {
    for (struct region *r = regions; r; r = r->next) {
        if (r->gone) continue;
        struct uffdio_writeprotect wp = {.range = {(uintptr_t)r->application, r->length},
                                         .mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0};
        while (ioctl(uffd, UFFDIO_WRITEPROTECT, &wp) < 0) {
            if (errno == EAGAIN) continue; // the address space is changing
            r->gone = true;                // unmapped: nobody can write there
            break;
        }
    }
}

// changed collects doorbells with new values.
static int changed(struct watch_ring *rings, int max) {
    static unsigned seen;
    unsigned now = __atomic_load_n(&generation, __ATOMIC_SEQ_CST);
    if (now != seen) {
        seen = now;
        for (struct region *r = regions; r; r = r->next) memset(r->last, 0xff, r->length);
    }
    int n = 0;
    for (struct region *r = regions; r; r = r->next) {
        size_t slots = r->length / sizeof(uint64_t);
        for (size_t base = 0; base < slots; base += 8) {
            uint64_t different = 0;
            for (size_t i = base; i < base + 8; i++) different |= r->alias[i] ^ r->last[i];
            if (!different) continue;
            for (size_t i = base; i < base + 8 && n < max; i++) {
                uint64_t value = r->alias[i];
                if (value == r->last[i]) continue;
                r->last[i] = value;
                rings[n++] = (struct watch_ring){r->cookie, r->offset + i * sizeof(uint64_t)};
            }
        }
    }
    return n;
}

static void drain(void) {
    uint64_t count;
    while (read(kick, &count, sizeof count) > 0) {
    }
    if (uffd < 0) return;
    struct uffd_msg messages[16];
    while (read(uffd, messages, sizeof messages) > 0) {
    }
}

int watch_wait(struct watch_ring *rings, int max) {
    static uint64_t active;   // when something last happened
    static bool armed;        // pages are protected
    static uint64_t sleep_ns; // of polling
    for (;;) {
        int n = changed(rings, max);
        if (n > 0) {
            active = now_ns();
            sleep_ns = 0;
            if (armed) {
                armed = false;
                protect(false);
                drain();
            }
            return n;
        }
        if (!armed && now_ns() - active < spin_ns) {
            __builtin_ia32_pause();
            continue;
        }
        if (uffd < 0) {
            sleep_ns = sleep_ns ? sleep_ns * 2 : 20000;
            if (sleep_ns > 1000000) sleep_ns = 1000000;
            struct timespec t = {.tv_nsec = (long)sleep_ns};
            nanosleep(&t, NULL);
            continue;
        }
        if (!armed) {
            armed = true;
            protect(true);
            continue; // and look again
        }
        struct pollfd fds[2] = {{.fd = uffd, .events = POLLIN}, {.fd = kick, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0) continue;
        drain();
        armed = false;
        protect(false);
        active = now_ns(); // the writer gets spin_ns to do its store
    }
}
