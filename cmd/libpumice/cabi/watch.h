// The doorbell watch: sees that somebody has written to a doorbell page of this process.
#ifndef PUMICE_WATCH_H
#define PUMICE_WATCH_H

#include <stddef.h>
#include <stdint.h>

// What the watch blocks on when nothing is written.
enum watch_how {
    WATCH_USERFAULTFD = 1, // write protection of the application's page: no CPU time while idle
    WATCH_POLLING = 2,     // a sleep that grows from 20 us to 1 ms
};

// watch_open makes the watch; spin_us is how long to look on after the last write before blocking. Once a process.
enum watch_how watch_open(unsigned spin_us);

// watch_add watches a page range: `address` is the application's mapping of `length` bytes of fd at offset. cookie comes
// back from watch_wait. 0 or a negative errno.
int watch_add(void *address, size_t length, int fd, uint64_t offset, uint64_t cookie);

// watch_queue_created is to be called after a queue was created, before its owner can write to its doorbell.
void watch_queue_created(void);

struct watch_ring {
    uint64_t cookie;
    uint64_t offset; // in the file, of the 8-byte doorbell that has a new value, or may have
};

// watch_wait blocks until doorbells have changed, and returns how many it has written to rings. One thread only.
int watch_wait(struct watch_ring *rings, int max);

#endif
