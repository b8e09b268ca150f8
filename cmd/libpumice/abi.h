// The contract between the C stub and the Go library: what the stub asks once a program has touched the GPU.
//
// Every call runs on the application's own thread with asynchronous signals blocked, so none may wait for long; an ioctl
// that has to wait is answered with PUMICE_PENDING and completed later through its struct pumice_wait. Errors are negative
// errno values. Paths are absolute and normalised (no "//", "." or "..").
#ifndef PUMICE_ABI_H
#define PUMICE_ABI_H

#include <stddef.h>
#include <stdint.h>

// The stub refuses a library of another version: the two are built together, but may be installed apart.
#define PUMICE_ABI_VERSION 1

enum pumice_kind {
    PUMICE_FILE = 1,   // a text file, rendered when it is opened
    PUMICE_DIR = 2,
    PUMICE_LINK = 3,
    PUMICE_DEVICE = 4, // a character device
};

// What stat tells of a virtual path.
struct pumice_node {
    uint32_t kind; // enum pumice_kind
    uint32_t mode; // permission bits
    uint64_t size;
    uint64_t ino;
    uint32_t major, minor; // of a device
};

// An opened virtual path. fd is a new descriptor of this process: for a file its rendered content, for a directory its
// entries (see below), for a device an empty memory file whose inode identifies the opened device.
struct pumice_opened {
    struct pumice_node node;
    int32_t fd;
    uint32_t pad;
    uint64_t handle; // of a device
};

// A directory's descriptor holds one record after the other: a byte with the entry's enum pumice_kind, its name, a NUL.

// One piece of a device mapping: length bytes of fd from offset.
struct pumice_segment {
    int32_t fd;
    uint32_t flags;
    uint64_t offset;
    uint64_t length;
};

// The piece is a doorbell page: its writes are to be watched, and a forked child has no copy.
#define PUMICE_SEGMENT_DOORBELL 1u

// An ioctl's answer when it waits. The stub has allocated the wait; the library sets result, then done to 1, and wakes the
// futex `done`. The stub frees it.
#define PUMICE_PENDING 1
struct pumice_wait {
    int32_t done;
    int32_t result;
};

// What the process has done to its memory, for the function that the library leaves in the stub's variable pumice_on_memory.
enum pumice_memory {
    PUMICE_RIGHTS, // rights were changed
    PUMICE_GOING,  // is about to be unmapped or moved
    PUMICE_GONE,   // was unmapped, moved or emptied
};

// The names that the library exports for the stub.
typedef int pumice_start_fn(uint32_t version);
typedef int pumice_stat_fn(const char *path, int follow, struct pumice_node *node);
typedef int pumice_open_fn(const char *path, int flags, struct pumice_opened *opened);
typedef int pumice_readlink_fn(const char *path, char *buf, size_t size); // bytes written
typedef int pumice_realpath_fn(const char *path, char *buf, size_t size); // with a NUL
typedef int pumice_ioctl_fn(uint64_t handle, uint32_t request, void *arg, struct pumice_wait *wait);
typedef int pumice_mmap_fn(uint64_t handle, uint64_t offset, uint64_t length, int prot, struct pumice_segment *segments,
                           size_t max); // the number of segments, which may be more than max: then none was written
typedef int pumice_mapped_fn(uint64_t handle, uint64_t offset, uint64_t length, void *address);
typedef int pumice_close_fn(uint64_t handle);

#endif
