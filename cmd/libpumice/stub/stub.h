// Inside the stub. See load.c for what it is and its rules.
#ifndef PUMICE_STUB_H
#define PUMICE_STUB_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "../abi.h"

#define EXPORT __attribute__((visibility("default")))

// The library's functions, valid once door_enter has returned true.
struct door {
    pumice_start_fn *start;
    pumice_stat_fn *stat;
    pumice_open_fn *open;
    pumice_readlink_fn *readlink;
    pumice_realpath_fn *realpath;
    pumice_ioctl_fn *ioctl;
    pumice_mmap_fn *mmap;
    pumice_mapped_fn *mapped;
    pumice_close_fn *close;
};
extern struct door door;

// A stretch of code in which the Go library may be called.
struct visit {
    sigset_t mask; // the thread's own
};

// door_enter opens the library on first use and blocks this thread's asynchronous signals; door_leave puts them back.
// It fails, with errno set, in a vfork child, and when the library cannot be opened.
bool door_enter(struct visit *v);
void door_leave(struct visit *v);

// door_usable is whether door_enter could only succeed: the library is open, and this is the process that opened it.
bool door_usable(void);

// own_memory is whether this process's memory is its own: false in a vfork child, and in one that a bare clone has made.
bool own_memory(void);

// block_asynchronous blocks all signals but those of faults and those that Go's runtime uses itself.
void block_asynchronous(sigset_t *old);

// real finds the next definition of a libc function that the stub interposes.
void *real(const char *name);
#define REAL(name)                                                                                                     \
    ({                                                                                                                 \
        static __typeof__(&name) found_;                                                                               \
        __typeof__(&name) f_ = __atomic_load_n(&found_, __ATOMIC_RELAXED);                                             \
        if (!f_) {                                                                                                     \
            f_ = (__typeof__(&name))real(#name);                                                                       \
            __atomic_store_n(&found_, f_, __ATOMIC_RELAXED);                                                           \
        }                                                                                                              \
        f_;                                                                                                            \
    })

// ours is whether a path (relative to the directory dirfd, or AT_FDCWD) is one that the door answers; if so buf holds it
// normalised. It never opens the library.
bool ours(int dirfd, const char *path, char buf[PATH_MAX]);

// fleeting turns a path of files that must not outlive the process into one in memory (in buf), and returns any other as it
// is.
const char *fleeting(const char *path, char buf[PATH_MAX]);

// fail sets errno from a negative errno value and returns -1.
static inline int fail(int negative) {
    errno = -negative;
    return -1;
}

// door_open is open(2) of one of our paths.
int door_open(const char *path, int flags);

// An open device or directory, recognised by the inode of its descriptor, which dup, fcntl, fork and descriptor passing
// all keep.
struct vfile {
    dev_t dev;
    ino_t ino;
    struct pumice_node node;
    uint64_t handle;
    pid_t opener;   // a forked child inherits the descriptor, but not what the handle means
    char path[232]; // longer than any path of ours
};

// vfile_add registers a descriptor; vfile_of finds what a descriptor is, and returns false for any other descriptor.
int vfile_add(int fd, const struct pumice_opened *opened, const char *path);
bool vfile_of(int fd, struct vfile *out);
bool vfile_by_inode(dev_t dev, ino_t ino, struct vfile *out);

// system_mmap is mmap of anything but a device.
void *system_mmap(void *address, size_t length, int prot, int flags, int fd, off_t offset);

// fill_stat makes what stat(2) returns for a node.
void fill_stat(const struct pumice_node *node, struct stat *st);

// raw_fstat is fstat(2) of the kernel itself.
int raw_fstat(int fd, struct stat *st);

#endif
