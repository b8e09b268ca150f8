// Which paths are the door's, and the calls that only look at them.
#include "stub.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

// A prefix matches whole path components, or, when it ends in ':', the beginning of one.
static const char *const prefixes[] = {
    "/dev/kfd",
    "/dev/dri",
    "/sys/devices/virtual/kfd",
    "/sys/class/kfd",
    "/sys/class/drm",
    "/sys/dev/char/226:",
    "/sys/module/amdgpu",
    "/proc/modules",
};

static bool has_prefix(const char *path) {
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = strlen(prefixes[i]);
        if (strncmp(path, prefixes[i], n) == 0 && (path[n] == '\0' || path[n] == '/' || prefixes[i][n - 1] == ':'))
            return true;
    }
    return false;
}

// number skips digits; NULL when there are none.
static const char *number(const char *s) {
    const char *start = s;
    while (*s >= '0' && *s <= '9') s++;
    return s > start ? s : NULL;
}

// missing_cpu_cache is whether a path is in a CPU's cache directory that this host lacks, as many virtual machines do. The
// thunk finds no GPU without these directories.
static bool missing_cpu_cache(const char *path) {
    static const char node[] = "/sys/devices/system/node/node", cpu[] = "/sys/devices/system/cpu/", cache[] = "/cache";
    const char *p = path;
    if (strncmp(p, node, sizeof node - 1) == 0) {
        p = number(p + sizeof node - 1);
        if (!p || *p++ != '/') return false;
    } else if (strncmp(p, cpu, sizeof cpu - 1) == 0) {
        p += sizeof cpu - 1;
    } else {
        return false;
    }
    if (strncmp(p, "cpu", 3) != 0 || !(p = number(p + 3)) || strncmp(p, cache, sizeof cache - 1) != 0) return false;
    p += sizeof cache - 1;
    if (*p != '\0' && *p != '/') return false;
    char dir[128];
    size_t n = (size_t)(p - path);
    if (n >= sizeof dir) return false;
    memcpy(dir, path, n);
    dir[n] = '\0';
    int saved = errno;
    bool missing = syscall(SYS_access, dir, F_OK) < 0;
    errno = saved;
    return missing;
}

// normalise copies an absolute path without "//", "." and ".."; false when it is too long.
static bool normalise(const char *path, char buf[PATH_MAX]) {
    size_t n = 0;
    while (*path) {
        while (*path == '/') path++;
        const char *end = strchrnul(path, '/');
        size_t len = (size_t)(end - path);
        if (len == 0) break;
        if (len == 2 && path[0] == '.' && path[1] == '.') {
            while (n > 0 && buf[--n] != '/') {
            }
        } else if (!(len == 1 && path[0] == '.')) {
            if (n + 1 + len >= PATH_MAX) return false;
            buf[n++] = '/';
            memcpy(buf + n, path, len);
            n += len;
        }
        path = end;
    }
    if (n == 0) buf[n++] = '/';
    buf[n] = '\0';
    return true;
}

bool ours(int dirfd, const char *path, char buf[PATH_MAX]) {
    if (!path) return false;
    if (path[0] != '/') {
        // Relative to a directory that the door itself has opened?
        struct vfile dir;
        if (dirfd < 0 || !vfile_of(dirfd, &dir) || dir.node.kind != PUMICE_DIR) return false;
        char joined[PATH_MAX];
        size_t n = strlen(dir.path), m = strlen(path);
        if (n + 1 + m >= PATH_MAX) return false;
        memcpy(joined, dir.path, n);
        joined[n] = '/';
        memcpy(joined + n + 1, path, m + 1);
        return normalise(joined, buf);
    }
    // The cheap look that nearly every path stops at.
    const char *p = path;
    while (p[1] == '/') p++;
    if (strncmp(p, "/dev/", 5) != 0 && strncmp(p, "/sys/", 5) != 0 && strncmp(p, "/proc/", 6) != 0) return false;
    return normalise(path, buf) && (has_prefix(buf) || missing_cpu_cache(buf));
}

void fill_stat(const struct pumice_node *node, struct stat *st) {
    memset(st, 0, sizeof *st);
    static const mode_t types[] = {
        [PUMICE_FILE] = S_IFREG, [PUMICE_DIR] = S_IFDIR, [PUMICE_LINK] = S_IFLNK, [PUMICE_DEVICE] = S_IFCHR};
    st->st_mode = types[node->kind] | (node->mode & 07777);
    st->st_nlink = node->kind == PUMICE_DIR ? 2 : 1;
    st->st_size = (off_t)node->size;
    st->st_blksize = 4096;
    st->st_ino = node->ino;
    st->st_dev = makedev(0, 0x50); // any: no real file system has our inodes
    if (node->kind == PUMICE_DEVICE) st->st_rdev = makedev(node->major, node->minor);
}

// look is stat or lstat of a normalised path.
static int look(const char *path, bool follow, struct pumice_node *node) {
    struct visit v;
    if (!door_enter(&v)) return -1;
    int r = door.stat(path, follow, node);
    door_leave(&v);
    return r < 0 ? fail(r) : 0;
}

static int stat_path(const char *path, bool follow, struct stat *st) {
    struct pumice_node node;
    if (look(path, follow, &node) < 0) return -1;
    fill_stat(&node, st);
    return 0;
}

// On x86-64 struct stat and struct stat64 are one layout.
#define STAT64(st) ((struct stat *)(st))

EXPORT int stat(const char *restrict path, struct stat *restrict st) {
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? stat_path(p, true, st) : REAL(stat)(fleeting(path, p), st);
}

EXPORT int stat64(const char *restrict path, struct stat64 *restrict st) {
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? stat_path(p, true, STAT64(st)) : REAL(stat64)(fleeting(path, p), st);
}

EXPORT int lstat(const char *restrict path, struct stat *restrict st) {
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? stat_path(p, false, st) : REAL(lstat)(fleeting(path, p), st);
}

EXPORT int lstat64(const char *restrict path, struct stat64 *restrict st) {
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? stat_path(p, false, STAT64(st)) : REAL(lstat64)(fleeting(path, p), st);
}

// after_fstat corrects what the kernel says of a descriptor that is a virtual device or directory.
static int after_fstat(int r, struct stat *st) {
    struct vfile f;
    if (r == 0 && vfile_by_inode(st->st_dev, st->st_ino, &f)) fill_stat(&f.node, st);
    return r;
}

EXPORT int fstat(int fd, struct stat *st) { return after_fstat(REAL(fstat)(fd, st), st); }
EXPORT int fstat64(int fd, struct stat64 *st) { return after_fstat(REAL(fstat64)(fd, st), STAT64(st)); }

EXPORT int fstatat(int dirfd, const char *restrict path, struct stat *restrict st, int flags) {
    char p[PATH_MAX];
    if (ours(dirfd, path, p) && *path) return stat_path(p, !(flags & AT_SYMLINK_NOFOLLOW), st);
    return after_fstat(REAL(fstatat)(dirfd, fleeting(path, p), st, flags), st);
}

EXPORT int fstatat64(int dirfd, const char *restrict path, struct stat64 *restrict st, int flags) {
    char p[PATH_MAX];
    if (ours(dirfd, path, p) && *path) return stat_path(p, !(flags & AT_SYMLINK_NOFOLLOW), STAT64(st));
    return after_fstat(REAL(fstatat64)(dirfd, fleeting(path, p), st, flags), STAT64(st));
}

// Programs linked against a glibc before 2.33 call these instead; the first argument is the layout's version, always 1.
extern int __xstat(int, const char *, struct stat *);
extern int __lxstat(int, const char *, struct stat *);
extern int __fxstat(int, int, struct stat *);
extern int __xstat64(int, const char *, struct stat64 *);
extern int __lxstat64(int, const char *, struct stat64 *);
extern int __fxstat64(int, int, struct stat64 *);
EXPORT int __xstat(int version, const char *path, struct stat *st) {
    (void)version;
    return stat(path, st);
}
EXPORT int __lxstat(int version, const char *path, struct stat *st) {
    (void)version;
    return lstat(path, st);
}
EXPORT int __fxstat(int version, int fd, struct stat *st) {
    (void)version;
    return fstat(fd, st);
}
EXPORT int __xstat64(int version, const char *path, struct stat64 *st) {
    (void)version;
    return stat64(path, st);
}
EXPORT int __lxstat64(int version, const char *path, struct stat64 *st) {
    (void)version;
    return lstat64(path, st);
}
EXPORT int __fxstat64(int version, int fd, struct stat64 *st) {
    (void)version;
    return fstat64(fd, st);
}

EXPORT int statx(int dirfd, const char *restrict path, int flags, unsigned mask, struct statx *restrict stx) {
    char p[PATH_MAX];
    struct stat st;
    if (ours(dirfd, path, p) && *path) {
        if (stat_path(p, !(flags & AT_SYMLINK_NOFOLLOW), &st) < 0) return -1;
    } else {
        struct vfile f;
        if (!(path && !*path && (flags & AT_EMPTY_PATH) && vfile_of(dirfd, &f)))
            return REAL(statx)(dirfd, fleeting(path, p), flags, mask, stx);
        fill_stat(&f.node, &st);
    }
    memset(stx, 0, sizeof *stx);
    stx->stx_mask = STATX_BASIC_STATS;
    stx->stx_mode = (uint16_t)st.st_mode;
    stx->stx_nlink = (uint32_t)st.st_nlink;
    stx->stx_ino = st.st_ino;
    stx->stx_size = (uint64_t)st.st_size;
    stx->stx_blksize = 4096;
    stx->stx_rdev_major = major(st.st_rdev);
    stx->stx_rdev_minor = minor(st.st_rdev);
    return 0;
}

static int access_path(const char *path, int mode) {
    struct pumice_node node;
    if (look(path, true, &node) < 0) return -1;
    // Permission bits are the same for everybody here; only "is it writable" differs.
    if ((mode & W_OK) && !(node.mode & 0222)) {
        errno = EACCES;
        return -1;
    }
    if ((mode & X_OK) && !(node.mode & 0111)) {
        errno = EACCES;
        return -1;
    }
    return 0;
}

EXPORT int access(const char *path, int mode) {
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? access_path(p, mode) : REAL(access)(fleeting(path, p), mode);
}

EXPORT int euidaccess(const char *path, int mode) {
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? access_path(p, mode) : REAL(euidaccess)(path, mode);
}

EXPORT int eaccess(const char *path, int mode) { return euidaccess(path, mode); }

EXPORT int faccessat(int dirfd, const char *path, int mode, int flags) {
    char p[PATH_MAX];
    return ours(dirfd, path, p) ? access_path(p, mode) : REAL(faccessat)(dirfd, path, mode, flags);
}

static ssize_t readlink_path(const char *path, char *buf, size_t size) {
    struct visit v;
    if (!door_enter(&v)) return -1;
    int r = door.readlink(path, buf, size);
    door_leave(&v);
    return r < 0 ? fail(r) : r;
}

EXPORT ssize_t readlink(const char *restrict path, char *restrict buf, size_t size) {
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? readlink_path(p, buf, size) : REAL(readlink)(path, buf, size);
}

EXPORT ssize_t readlinkat(int dirfd, const char *restrict path, char *restrict buf, size_t size) {
    char p[PATH_MAX];
    return ours(dirfd, path, p) ? readlink_path(p, buf, size) : REAL(readlinkat)(dirfd, path, buf, size);
}

// realpath_of writes the canonical form of one of our paths to out, which has size bytes, or allocates it.
static char *realpath_of(const char *path, char *out, size_t size) {
    char resolved[PATH_MAX];
    struct visit v;
    if (!door_enter(&v)) return NULL;
    int r = door.realpath(path, resolved, sizeof resolved);
    door_leave(&v);
    if (r < 0) {
        errno = -r;
        return NULL;
    }
    if (!out) return strdup(resolved);
    size_t n = strlen(resolved) + 1;
    if (n > size) abort(); // what __realpath_chk is for
    return memcpy(out, resolved, n);
}

EXPORT char *realpath(const char *restrict path, char *restrict out) {
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? realpath_of(p, out, PATH_MAX) : REAL(realpath)(path, out);
}

extern char *__realpath_chk(const char *path, char *out, size_t size);
EXPORT char *__realpath_chk(const char *path, char *out, size_t size) {
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? realpath_of(p, out, size) : REAL(__realpath_chk)(path, out, size);
}

EXPORT char *canonicalize_file_name(const char *path) { return realpath(path, NULL); }
