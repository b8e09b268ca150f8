// Directories: a DIR of our own for virtual directories, so the calls that take a DIR are interposed too.
#include "stub.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct vdir {
    struct vdir *next;
    int fd;
    char *records; // see abi.h
    size_t size, position;
    struct dirent entry; // what readdir returned last; struct dirent64 is the same on x86-64
};

// The open ones. A DIR pointer is ours when it is in the list; nobody looks while the list is empty.
static struct vdir *open_dirs;
static pthread_mutex_t dirs_mutex = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void) { pthread_mutex_lock(&dirs_mutex); }
static void after_fork(void) { pthread_mutex_unlock(&dirs_mutex); }
__attribute__((constructor)) static void constructor(void) { pthread_atfork(before_fork, after_fork, after_fork); }

static struct vdir *vdir_of(DIR *d) {
    if (!__atomic_load_n(&open_dirs, __ATOMIC_ACQUIRE)) return NULL;
    pthread_mutex_lock(&dirs_mutex);
    struct vdir *v = open_dirs;
    while (v && (DIR *)v != d) v = v->next;
    pthread_mutex_unlock(&dirs_mutex);
    return v;
}

// opendir_fd takes over a descriptor whose content is a directory's records.
static DIR *opendir_fd(int fd) {
    struct stat st;
    struct vdir *v = calloc(1, sizeof *v);
    if (!v || raw_fstat(fd, &st) < 0 || !(v->records = malloc((size_t)st.st_size + 1))) goto failed;
    v->fd = fd;
    while (v->size < (size_t)st.st_size) {
        ssize_t n = pread(fd, v->records + v->size, (size_t)st.st_size - v->size, (off_t)v->size);
        if (n <= 0) {
            if (n == 0) errno = EIO;
            goto failed;
        }
        v->size += (size_t)n;
    }
    pthread_mutex_lock(&dirs_mutex);
    v->next = open_dirs;
    __atomic_store_n(&open_dirs, v, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&dirs_mutex);
    return (DIR *)v;
failed:
    if (v) free(v->records);
    free(v);
    return NULL;
}

static DIR *opendir_path(const char *path) {
    int fd = door_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return NULL;
    DIR *d = opendir_fd(fd);
    if (!d) {
        int saved = errno;
        close(fd);
        errno = saved;
    }
    return d;
}

EXPORT DIR *opendir(const char *path) {
    char p[PATH_MAX];
    return ours(AT_FDCWD, path, p) ? opendir_path(p) : REAL(opendir)(fleeting(path, p));
}

EXPORT DIR *fdopendir(int fd) {
    struct vfile f;
    return vfile_of(fd, &f) && f.node.kind == PUMICE_DIR ? opendir_fd(fd) : REAL(fdopendir)(fd);
}

static struct dirent *next_entry(struct vdir *v) {
    if (v->position >= v->size) return NULL;
    const char *record = v->records + v->position;
    size_t n = strnlen(record + 1, v->size - v->position - 1);
    static const unsigned char types[] = {
        [PUMICE_FILE] = DT_REG, [PUMICE_DIR] = DT_DIR, [PUMICE_LINK] = DT_LNK, [PUMICE_DEVICE] = DT_CHR};
    struct dirent *e = &v->entry;
    e->d_ino = v->position + 1;
    e->d_type = (unsigned char)*record < sizeof types ? types[(unsigned char)*record] : DT_UNKNOWN;
    if (n >= sizeof e->d_name) n = sizeof e->d_name - 1;
    memcpy(e->d_name, record + 1, n);
    e->d_name[n] = '\0';
    e->d_reclen = sizeof *e;
    v->position += 1 + n + 1;
    e->d_off = (off_t)v->position;
    return e;
}

EXPORT struct dirent *readdir(DIR *d) {
    struct vdir *v = vdir_of(d);
    return v ? next_entry(v) : REAL(readdir)(d);
}

EXPORT struct dirent64 *readdir64(DIR *d) {
    struct vdir *v = vdir_of(d);
    return v ? (struct dirent64 *)next_entry(v) : REAL(readdir64)(d);
}

EXPORT int closedir(DIR *d) {
    struct vdir *v = vdir_of(d);
    if (!v) return REAL(closedir)(d);
    pthread_mutex_lock(&dirs_mutex);
    struct vdir **at = &open_dirs;
    while (*at != v) at = &(*at)->next;
    __atomic_store_n(at, v->next, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&dirs_mutex);
    int r = close(v->fd);
    free(v->records);
    free(v);
    return r;
}

EXPORT void rewinddir(DIR *d) {
    struct vdir *v = vdir_of(d);
    if (v)
        v->position = 0;
    else
        REAL(rewinddir)(d);
}

EXPORT long telldir(DIR *d) {
    struct vdir *v = vdir_of(d);
    return v ? (long)v->position : REAL(telldir)(d);
}

EXPORT void seekdir(DIR *d, long position) {
    struct vdir *v = vdir_of(d);
    if (!v)
        REAL(seekdir)(d, position);
    else if (position >= 0 && (size_t)position <= v->size)
        v->position = (size_t)position;
}

EXPORT int dirfd(DIR *d) {
    struct vdir *v = vdir_of(d);
    return v ? v->fd : REAL(dirfd)(d);
}

// libc's own scandir calls its opendir past us.
EXPORT int scandir(const char *restrict path, struct dirent ***restrict names, int (*select)(const struct dirent *),
                   int (*compare)(const struct dirent **, const struct dirent **)) {
    char p[PATH_MAX];
    if (!ours(AT_FDCWD, path, p)) return REAL(scandir)(path, names, select, compare);
    DIR *d = opendir_path(p);
    if (!d) return -1;
    struct dirent **list = NULL, *e;
    int n = 0, saved = 0;
    while ((e = readdir(d))) {
        if (select && !select(e)) continue;
        struct dirent **longer = realloc(list, (size_t)(n + 1) * sizeof *list);
        struct dirent *copy = malloc(sizeof *copy);
        if (longer) list = longer;
        if (!longer || !copy) {
            free(copy);
            saved = ENOMEM;
            break;
        }
        *copy = *e;
        list[n++] = copy;
    }
    closedir(d);
    if (saved) {
        while (n > 0) free(list[--n]);
        free(list);
        errno = saved;
        return -1;
    }
    if (compare && n > 1) qsort(list, (size_t)n, sizeof *list, (int (*)(const void *, const void *))compare);
    *names = list;
    return n;
}

EXPORT int scandir64(const char *restrict path, struct dirent64 ***restrict names,
                     int (*select)(const struct dirent64 *),
                     int (*compare)(const struct dirent64 **, const struct dirent64 **)) {
    char p[PATH_MAX];
    if (!ours(AT_FDCWD, path, p)) return REAL(scandir64)(path, names, select, compare);
    return scandir(path, (struct dirent ***)names, (int (*)(const struct dirent *))select,
                   (int (*)(const struct dirent **, const struct dirent **))compare);
}
