// What the pitfall programs share. Each runs under the stub with the fake library, and exits 0 when all is well.
#pragma once
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NEED(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s (errno %d, %s)\n", __FILE__, __LINE__, #condition, errno, strerror(errno)); \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

struct version {
    uint32_t major, minor;
};
struct events {
    uint64_t events;
    uint32_t number, all, timeout, result;
};
struct counts {
    uint32_t opens, closes, rings;
};
struct event {
    uint32_t id, pad;
};
#define GET_VERSION _IOR('K', 0x01, struct version)
#define CREATE_QUEUE _IOWR('K', 0x02, uint64_t[12])
#define SET_EVENT _IOWR('K', 0x0a, struct event)
#define WAIT_EVENTS _IOWR('K', 0x0c, struct events)
#define COUNTS _IOR('K', 0x60, struct counts)
#define ECHO _IOW('K', 0x61, uint64_t)

static inline struct counts counts(int fd) {
    struct counts c;
    NEED(ioctl(fd, COUNTS, &c) == 0);
    return c;
}

// library_loaded is whether the Go library is in this process.
static inline bool library_loaded(void) {
    FILE *f = fopen("/proc/self/maps", "r");
    char line[1000];
    bool found = false;
    while (fgets(line, sizeof line, f)) found |= strstr(line, "/libpumice.so") != NULL;
    fclose(f);
    return found;
}

static inline double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline void need_exit(pid_t child, int code) {
    int status;
    NEED(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != code) {
        fprintf(stderr, "child: wait status %#x, want exit %d\n", status, code);
        _exit(1);
    }
}
