// The open family.
#include "stub.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int door_open(const char *path, int flags) {
    struct pumice_opened opened;
    struct visit v;
    if (!door_enter(&v)) return -1;
    int r = door.open(path, flags, &opened);
    if (r >= 0 && (opened.node.kind == PUMICE_DEVICE || opened.node.kind == PUMICE_DIR)) {
        r = vfile_add(opened.fd, &opened, path);
        if (r < 0) {
            if (opened.node.kind == PUMICE_DEVICE) door.close(opened.handle);
            REAL(close)(opened.fd);
        }
    }
    door_leave(&v);
    return r < 0 ? fail(r) : opened.fd;
}

// O_CREAT and O_TMPFILE have a third argument.
#define MODE(flags)                                                                                                    \
    ({                                                                                                                 \
        mode_t mode_ = 0;                                                                                              \
        if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) {                                                 \
            va_list args_;                                                                                             \
            va_start(args_, flags);                                                                                    \
            mode_ = va_arg(args_, mode_t);                                                                             \
            va_end(args_);                                                                                             \
        }                                                                                                              \
        mode_;                                                                                                         \
    })

EXPORT int open(const char *path, int flags, ...) {
    mode_t mode = MODE(flags);
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? door_open(p, flags) : REAL(open)(fleeting(path, p), flags, mode);
}

EXPORT int open64(const char *path, int flags, ...) {
    mode_t mode = MODE(flags);
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? door_open(p, flags) : REAL(open64)(fleeting(path, p), flags, mode);
}

EXPORT int openat(int dirfd, const char *path, int flags, ...) {
    mode_t mode = MODE(flags);
    char p[PATH_MAX];
    return ours(dirfd, path, p) ? door_open(p, flags) : REAL(openat)(dirfd, fleeting(path, p), flags, mode);
}

EXPORT int openat64(int dirfd, const char *path, int flags, ...) {
    mode_t mode = MODE(flags);
    char p[PATH_MAX];
    return ours(dirfd, path, p) ? door_open(p, flags) : REAL(openat64)(dirfd, fleeting(path, p), flags, mode);
}

// What a call with _FORTIFY_SOURCE becomes.
extern int __open_2(const char *path, int flags);
extern int __open64_2(const char *path, int flags);
extern int __openat_2(int dirfd, const char *path, int flags);
extern int __openat64_2(int dirfd, const char *path, int flags);
EXPORT int __open_2(const char *path, int flags) {
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? door_open(p, flags) : REAL(__open_2)(fleeting(path, p), flags);
}
EXPORT int __open64_2(const char *path, int flags) {
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? door_open(p, flags) : REAL(__open64_2)(fleeting(path, p), flags);
}
EXPORT int __openat_2(int dirfd, const char *path, int flags) {
    char p[PATH_MAX];
    return ours(dirfd, path, p) ? door_open(p, flags) : REAL(__openat_2)(dirfd, fleeting(path, p), flags);
}
EXPORT int __openat64_2(int dirfd, const char *path, int flags) {
    char p[PATH_MAX];
    return ours(dirfd, path, p) ? door_open(p, flags) : REAL(__openat64_2)(dirfd, fleeting(path, p), flags);
}

static FILE *stream_of(const char *path, const char *mode) {
    int flags = strchr(mode, '+') ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
    if (strchr(mode, 'e')) flags |= O_CLOEXEC;
    int fd = door_open(path, flags);
    if (fd < 0) return NULL;
    FILE *f = fdopen(fd, mode);
    if (!f) {
        int saved = errno;
        close(fd);
        errno = saved;
    }
    return f;
}

EXPORT FILE *fopen(const char *restrict path, const char *restrict mode) {
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? stream_of(p, mode) : REAL(fopen)(fleeting(path, p), mode);
}

EXPORT FILE *fopen64(const char *restrict path, const char *restrict mode) {
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? stream_of(p, mode) : REAL(fopen64)(fleeting(path, p), mode);
}
