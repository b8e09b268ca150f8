// Open devices: recognising them, ioctl, mmap, close.
#include "stub.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// The table of open virtual devices and directories, in this process or inherited by a fork. Readers take no lock: close
// and fstat may be called in a signal handler that has interrupted a writer of the same thread. Writers hold files_mutex
// with signals blocked, and leave version odd while they change a slot.
enum { MAX_FILES = 1024 };
static struct slot {
    unsigned version;
    bool used;
    struct vfile file;
} files[MAX_FILES];
static size_t files_end;  // all slots above are unused
static size_t files_open; // to skip it all while it is 0
static pthread_mutex_t files_mutex = PTHREAD_MUTEX_INITIALIZER;

// The children of a multi-threaded process must not find the mutex taken.
static void before_fork(void) { pthread_mutex_lock(&files_mutex); }
static void after_fork(void) { pthread_mutex_unlock(&files_mutex); }
__attribute__((constructor)) static void constructor(void) { pthread_atfork(before_fork, after_fork, after_fork); }

static void lock_files(sigset_t *mask) {
    block_asynchronous(mask);
    pthread_mutex_lock(&files_mutex);
}

static void unlock_files(sigset_t *mask) {
    pthread_mutex_unlock(&files_mutex);
    pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static void change_slot(struct slot *s, const struct vfile *f) {
    __atomic_add_fetch(&s->version, 1, __ATOMIC_ACQ_REL);
    s->used = f != NULL;
    if (f) s->file = *f;
    __atomic_add_fetch(&s->version, 1, __ATOMIC_RELEASE);
}

// read_slot copies a slot's file, if it is this inode's, as it was at one moment.
static bool read_slot(struct slot *s, dev_t dev, ino_t ino, struct vfile *out) {
    for (;;) {
        unsigned version = __atomic_load_n(&s->version, __ATOMIC_ACQUIRE);
        if (version & 1) {
            // The writer may be this very thread, below a fault handler: what is being changed is not open yet or no more.
            return false;
        }
        bool match = s->used && s->file.ino == ino && s->file.dev == dev;
        if (match) *out = s->file;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&s->version, __ATOMIC_RELAXED) == version) return match;
    }
}

int raw_fstat(int fd, struct stat *st) { return (int)syscall(SYS_fstat, fd, st); }

int vfile_add(int fd, const struct pumice_opened *opened, const char *path) {
    struct stat st;
    struct vfile f = {.node = opened->node, .handle = opened->handle, .opener = getpid()};
    size_t n = strlen(path);
    if (n >= sizeof f.path) return -ENAMETOOLONG;
    memcpy(f.path, path, n + 1);
    if (raw_fstat(fd, &st) < 0) return -errno;
    f.dev = st.st_dev;
    f.ino = st.st_ino;
    sigset_t mask;
    lock_files(&mask);
    size_t i = 0;
    while (i < files_end && files[i].used) i++;
    if (i < MAX_FILES) {
        change_slot(&files[i], &f);
        if (i == files_end) __atomic_store_n(&files_end, i + 1, __ATOMIC_RELEASE);
        __atomic_add_fetch(&files_open, 1, __ATOMIC_RELEASE);
    }
    unlock_files(&mask);
    return i < MAX_FILES ? 0 : -EMFILE;
}

bool vfile_by_inode(dev_t dev, ino_t ino, struct vfile *out) {
    if (__atomic_load_n(&files_open, __ATOMIC_ACQUIRE) == 0) return false;
    size_t end = __atomic_load_n(&files_end, __ATOMIC_ACQUIRE);
    for (size_t i = 0; i < end; i++)
        if (read_slot(&files[i], dev, ino, out)) return true;
    return false;
}

bool vfile_of(int fd, struct vfile *out) {
    if (fd < 0 || __atomic_load_n(&files_open, __ATOMIC_ACQUIRE) == 0) return false;
    struct stat st;
    int saved = errno;
    bool found = raw_fstat(fd, &st) == 0 && vfile_by_inode(st.st_dev, st.st_ino, out);
    errno = saved;
    return found;
}

// opened_here is whether the door knows the file's handle.
static bool opened_here(const struct vfile *f) { return door_usable() && f->opener == getpid(); }

// still_open is whether this process has another descriptor of the file. The kernel is asked, not a count of our own: dup,
// fcntl and descriptors received over a socket all make one.
static bool still_open(const struct vfile *f) {
    DIR *d = REAL(opendir)("/proc/self/fd");
    if (!d) return true; // rather leak than close what is in use
    bool found = false;
    struct dirent *e;
    while (!found && (e = REAL(readdir)(d))) {
        struct stat st;
        char *end;
        long fd = strtol(e->d_name, &end, 10);
        found = *end == '\0' && end != e->d_name && raw_fstat((int)fd, &st) == 0 && st.st_ino == f->ino &&
                st.st_dev == f->dev;
    }
    REAL(closedir)(d);
    return found;
}

// forget takes a file out of the table; false when another thread has.
static bool forget(const struct vfile *f) {
    bool mine = false;
    sigset_t mask;
    lock_files(&mask);
    for (size_t i = 0; i < files_end; i++)
        if (files[i].used && files[i].file.ino == f->ino && files[i].file.dev == f->dev) {
            change_slot(&files[i], NULL);
            __atomic_sub_fetch(&files_open, 1, __ATOMIC_RELEASE);
            mine = true;
        }
    while (files_end > 0 && !files[files_end - 1].used) __atomic_store_n(&files_end, files_end - 1, __ATOMIC_RELEASE);
    unlock_files(&mask);
    return mine;
}

EXPORT int close(int fd) {
    struct vfile f;
    if (!vfile_of(fd, &f)) return REAL(close)(fd);
    int r = REAL(close)(fd);
    // A vfork child closes its own descriptors, but the table that it sees is its parent's.
    if (r < 0 || !own_memory() || still_open(&f) || !forget(&f) || f.node.kind != PUMICE_DEVICE || !opened_here(&f)) return r;
    struct visit v;
    if (!door_enter(&v)) return 0;
    door.close(f.handle);
    door_leave(&v);
    return 0;
}

// await waits for an ioctl that the library has taken over, with the program's own signals let through: a handler runs as
// it would in a wait inside the kernel, and the wait goes on (the thunk repeats on EINTR in any case).
static int await(struct pumice_wait *w) {
    while (!__atomic_load_n(&w->done, __ATOMIC_ACQUIRE)) syscall(SYS_futex, &w->done, FUTEX_WAIT_PRIVATE, 0, NULL);
    return w->result;
}

static int device_ioctl(const struct vfile *f, unsigned long request, void *arg) {
    if (!opened_here(f)) {
        // The KFD refuses everybody but the process that opened it.
        errno = (request >> 8 & 0xff) == 'K' ? EBADF : ENODEV;
        return -1;
    }
    // On the heap: a handler that jumps out of await must not leave the library a dead stack to write to.
    struct pumice_wait *w = calloc(1, sizeof *w);
    if (!w) return fail(-ENOMEM);
    struct visit v;
    if (!door_enter(&v)) {
        free(w);
        return -1;
    }
    int r = door.ioctl(f->handle, (uint32_t)request, arg, w);
    door_leave(&v);
    if (r == PUMICE_PENDING) r = await(w);
    free(w);
    return r < 0 ? fail(r) : r;
}

EXPORT int ioctl(int fd, unsigned long request, ...) {
    va_list args;
    va_start(args, request);
    void *arg = va_arg(args, void *);
    va_end(args);
    struct vfile f;
    unsigned type = request >> 8 & 0xff;
    if ((type == 'K' || type == 'd') && vfile_of(fd, &f) && f.node.kind == PUMICE_DEVICE)
        return device_ioctl(&f, request, arg);
    return REAL(ioctl)(fd, request, arg);
}

// map_segments puts the pieces of a device mapping in place, over a reservation that decides the address.
static void *map_segments(void *address, size_t length, int prot, int flags, const struct pumice_segment *s, int n) {
    int fixed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE);
    char *base = REAL(mmap)(address, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    if (base == MAP_FAILED) return MAP_FAILED;
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        if (s[i].length > length - at) {
            errno = EINVAL;
            goto failed;
        }
        char *p = REAL(mmap)(base + at, s[i].length, prot, MAP_SHARED | MAP_FIXED | (flags & MAP_POPULATE), s[i].fd,
                             (off_t)s[i].offset);
        if (p == MAP_FAILED) goto failed;
        if (s[i].flags & PUMICE_SEGMENT_DOORBELL && madvise(p, s[i].length, MADV_DONTFORK) < 0) goto failed;
        at += s[i].length;
    }
    if (at == length) return base;
    errno = EINVAL;
failed:;
    int saved = errno;
    munmap(base, length);
    errno = saved;
    return MAP_FAILED;
}

static void *device_mmap(const struct vfile *f, void *address, size_t length, int prot, int flags, off_t offset) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    // The KFD's offsets have their type in the top bits, so a "negative" one is no error.
    if (length == 0 || length > SIZE_MAX - page) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    length = (length + page - 1) / page * page;
    struct visit v;
    if (!opened_here(f) || !door_enter(&v)) {
        errno = ENODEV;
        return MAP_FAILED;
    }
    void *result = MAP_FAILED;
    struct pumice_segment few[16], *segments = few;
    int max = sizeof few / sizeof *few;
    int n = door.mmap(f->handle, (uint64_t)offset, length, prot, segments, (size_t)max);
    while (n > max) {
        if (segments != few) free(segments);
        max = n;
        segments = malloc((size_t)max * sizeof *segments);
        n = segments ? door.mmap(f->handle, (uint64_t)offset, length, prot, segments, (size_t)max) : -ENOMEM;
    }
    if (n < 0) {
        errno = -n;
    } else {
        result = map_segments(address, length, prot, flags, segments, n);
        if (result != MAP_FAILED && n > 0 && segments[0].flags & PUMICE_SEGMENT_DOORBELL) {
            int r = door.mapped(f->handle, (uint64_t)offset, length, result);
            if (r < 0) {
                munmap(result, length);
                errno = -r;
                result = MAP_FAILED;
            }
        }
    }
    if (segments != few) free(segments);
    door_leave(&v);
    return result;
}

EXPORT void *mmap(void *address, size_t length, int prot, int flags, int fd, off_t offset) {
    struct vfile f;
    if (fd >= 0 && !(flags & MAP_ANONYMOUS) && vfile_of(fd, &f) && f.node.kind == PUMICE_DEVICE)
        return device_mmap(&f, address, length, prot, flags, offset);
    return system_mmap(address, length, prot, flags, fd, offset);
}

EXPORT void *mmap64(void *address, size_t length, int prot, int flags, int fd, off_t offset) {
    return mmap(address, length, prot, flags, fd, offset);
}
