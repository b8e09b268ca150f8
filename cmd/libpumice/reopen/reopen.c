#define _GNU_SOURCE
#include "reopen.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { FLAGS = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE };

static pid_t process_id(void) { return (pid_t)syscall(SYS_getpid); }

// alive is whether an open library was started by this process. It says so itself.
static bool alive(void *library) {
    const pid_t *owner = dlsym(library, "pumice_owner");
    return !owner || *owner == process_id();
}

struct names {
    char prefix[32];
    char found[8][48];
    int n;
};

// Only names are collected here: dlopen would wait for a lock whose holder may wait for this walk.
static int find_copies(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    struct names *s = arg;
    if (strncmp(info->dlpi_name, s->prefix, strlen(s->prefix)) == 0 && strlen(info->dlpi_name) < sizeof s->found[0])
        strcpy(s->found[s->n++], info->dlpi_name);
    return s->n == sizeof s->found / sizeof s->found[0];
}

// existing_copy is the one that another stub of this process has made.
static void *existing_copy(void) {
    struct names s = {.n = 0};
    snprintf(s.prefix, sizeof s.prefix, "/proc/%d/fd/", (int)process_id());
    dl_iterate_phdr(find_copies, &s);
    for (int i = 0; i < s.n; i++) {
        void *library = dlopen(s.found[i], FLAGS | RTLD_NOLOAD);
        if (library && dlsym(library, "pumice_owner") && alive(library)) return library;
    }
    return NULL;
}

// copy_of makes a file in memory with the content of another; a system may forbid to execute one, then it is a file without a name.
static int copy_of(const char *path) {
    int in = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (in < 0 || syscall(SYS_fstat, in, &st) < 0) return -1;
#ifndef MFD_EXEC
    enum { MFD_EXEC = 0x10 };
#endif
    int out = memfd_create("libpumice.so", MFD_CLOEXEC | MFD_EXEC);
    if (out < 0) out = memfd_create("libpumice.so", MFD_CLOEXEC);
    if (out < 0) out = (int)syscall(SYS_openat, AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
    off_t left = st.st_size;
    while (out >= 0 && left > 0) {
        ssize_t n = sendfile(out, in, NULL, (size_t)left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            syscall(SYS_close, out);
            out = -1;
            break;
        }
        left -= n;
    }
    syscall(SYS_close, in);
    return out;
}

void *reopen_library(const char *path, const char **why) {
    void *library = dlopen(path, FLAGS | RTLD_NOLOAD);
    if (!library) {
        library = dlopen(path, FLAGS);
    } else if (!alive(library)) {
        if ((library = existing_copy())) return library;
        int fd = copy_of(path);
        if (fd < 0) {
            *why = "a forked child needs a copy of the library, and cannot make one";
            return NULL;
        }
        // The name has the process in it: dlopen knows libraries by their names, too, and a grandchild's copy may have the same descriptor.
        char name[48];
        snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)process_id(), fd);
        library = dlopen(name, FLAGS);
        syscall(SYS_close, fd);
    }
    if (!library) *why = dlerror();
    return library;
}
