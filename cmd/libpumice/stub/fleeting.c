// What AMD's libraries leave in the file system when a program is killed, kept in memory instead so that it goes with the
// process: comgr's directories of temporary files, and the thunk's shared memory and semaphore for performance counters. A
// semaphore left taken would even hang the next program.
#include "stub.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// A memory file system that nothing but this descriptor refers to. 0: not tried; -1: this process may not mount, so the
// files lie where they always did.
static int mount_fd;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// Far from the numbers that programs get and close.
enum { MOUNT_FD_FROM = 700 };

static int make_mount(void) {
    int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
    if (fs < 0) return -1;
    int fd = -1;
    if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
    REAL(close)(fs);
    if (fd < 0) return -1;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, MOUNT_FD_FROM);
    if (high < 0) return fd;
    REAL(close)(fd);
    return high;
}

// comgr_part finds "/comgr-" and six hexadecimal digits as a whole component of an absolute path.
static const char *comgr_part(const char *path) {
    if (!path || path[0] != '/') return NULL;
    for (const char *p = path; (p = strstr(p, "/comgr-")) != NULL; p++) {
        const char *digits = p + sizeof "/comgr-" - 1;
        size_t n = strspn(digits, "0123456789abcdef");
        if (n == 6 && (digits[n] == '\0' || digits[n] == '/')) return p;
    }
    return NULL;
}

const char *fleeting(const char *path, char buf[PATH_MAX]) {
    int fd = __atomic_load_n(&mount_fd, __ATOMIC_ACQUIRE);
    if (fd <= 0) return path;
    const char *part = comgr_part(path);
    if (!part) return path;
    int n = snprintf(buf, PATH_MAX, "/proc/self/fd/%d%s", fd, part);
    return n < PATH_MAX ? buf : path;
}

EXPORT int mkdir(const char *path, mode_t mode) {
    if (__atomic_load_n(&mount_fd, __ATOMIC_ACQUIRE) == 0 && comgr_part(path)) {
        pthread_mutex_lock(&mutex);
        int saved = errno;
        if (mount_fd == 0) __atomic_store_n(&mount_fd, make_mount(), __ATOMIC_RELEASE);
        errno = saved;
        pthread_mutex_unlock(&mutex);
    }
    char p[PATH_MAX];
    return REAL(mkdir)(fleeting(path, p), mode);
}

EXPORT int rmdir(const char *path) {
    char p[PATH_MAX];
    return REAL(rmdir)(fleeting(path, p));
}

EXPORT int unlink(const char *path) {
    char p[PATH_MAX];
    return REAL(unlink)(fleeting(path, p));
}

EXPORT int remove(const char *path) {
    char p[PATH_MAX];
    return REAL(remove)(fleeting(path, p));
}

EXPORT int rename(const char *from, const char *to) {
    char p[PATH_MAX], q[PATH_MAX];
    return REAL(rename)(fleeting(from, p), fleeting(to, q));
}

// The thunk's names; they may be written with a slash in front.
static bool thunk_name(const char *name, const char *thunks) {
    if (!name) return false;
    while (*name == '/') name++;
    return strcmp(name, thunks) == 0;
}

EXPORT int shm_open(const char *name, int flags, mode_t mode) {
    if (!thunk_name(name, "hsakmt_shared_mem")) return REAL(shm_open)(name, flags, mode);
    static int memory = -1; // under mutex
    pthread_mutex_lock(&mutex);
    if (memory < 0 && flags & O_CREAT) {
        int fd = memfd_create("hsakmt_shared_mem", MFD_CLOEXEC);
        memory = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, MOUNT_FD_FROM);
        if (fd >= 0) REAL(close)(fd);
    }
    int fd = -1;
    if (memory >= 0)
        fd = fcntl(memory, F_DUPFD_CLOEXEC, 0);
    else
        errno = ENOENT;
    pthread_mutex_unlock(&mutex);
    return fd;
}

EXPORT int shm_unlink(const char *name) {
    return thunk_name(name, "hsakmt_shared_mem") ? 0 : REAL(shm_unlink)(name);
}

static sem_t semaphore;      // the thunk's
static bool semaphore_made; // under mutex

EXPORT sem_t *sem_open(const char *name, int flags, ...) {
    mode_t mode = 0;
    unsigned value = 0;
    if (flags & O_CREAT) {
        va_list args;
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        value = va_arg(args, unsigned);
        va_end(args);
    }
    if (!thunk_name(name, "hsakmt_semaphore")) return REAL(sem_open)(name, flags, mode, value);
    pthread_mutex_lock(&mutex);
    if (!semaphore_made && flags & O_CREAT) semaphore_made = sem_init(&semaphore, 0, value) == 0;
    bool made = semaphore_made;
    pthread_mutex_unlock(&mutex);
    if (made) return &semaphore;
    errno = ENOENT;
    return SEM_FAILED;
}

EXPORT int sem_close(sem_t *sem) { return sem == &semaphore ? 0 : REAL(sem_close)(sem); }

EXPORT int sem_unlink(const char *name) { return thunk_name(name, "hsakmt_semaphore") ? 0 : REAL(sem_unlink)(name); }
