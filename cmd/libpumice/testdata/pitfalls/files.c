// Every way to look at the virtual files.
#include "pitfall.h"
#include <sys/syscall.h>

#define TOPOLOGY "/sys/devices/virtual/kfd/kfd/topology"

static int not_dot(const struct dirent *e) { return e->d_name[0] != '.'; }

int main(void) {
    char line[100];
    FILE *f = fopen("/sys/class/kfd/kfd/topology/generation_id", "r");
    NEED(f && fgets(line, sizeof line, f) && strcmp(line, "7\n") == 0);
    NEED(fclose(f) == 0);
    int fd = open("/sys//class/kfd/./kfd/topology/nodes/../generation_id", O_RDONLY | O_CLOEXEC);
    NEED(fd >= 0 && read(fd, line, sizeof line) == 2 && read(fd, line, sizeof line) == 0);
    NEED(fcntl(fd, F_GETFD) == FD_CLOEXEC);
    NEED(lseek(fd, 0, SEEK_SET) == 0 && read(fd, line, 1) == 1 && line[0] == '7');
    NEED(write(fd, "x", 1) == -1 && close(fd) == 0);
    NEED(open(TOPOLOGY "/generation_id", O_WRONLY) == -1 && errno == EACCES);
    NEED(open(TOPOLOGY "/absent", O_RDONLY) == -1 && errno == ENOENT);
    NEED(open(TOPOLOGY "/generation_id/x", O_RDONLY) == -1 && errno == ENOTDIR);
    NEED(open(TOPOLOGY "/generation_id", O_RDONLY | O_DIRECTORY) == -1 && errno == ENOTDIR);
    NEED(fopen("/dev/dri/card128", "r") == NULL && errno == ENOENT);

    struct stat st;
    NEED(stat(TOPOLOGY, &st) == 0 && S_ISDIR(st.st_mode));
    NEED(stat("/sys/class/kfd/kfd", &st) == 0 && S_ISDIR(st.st_mode));
    NEED(lstat("/sys/class/kfd/kfd", &st) == 0 && S_ISLNK(st.st_mode));
    NEED(stat("/sys/dev/char/226:128/device/drm", &st) == 0 && S_ISDIR(st.st_mode));
    NEED(stat("/dev/dri/renderD128", &st) == 0 && S_ISCHR(st.st_mode) && major(st.st_rdev) == 226);
    NEED(access("/dev/dri/renderD128", R_OK | W_OK) == 0 && access("/dev/dri/card128", F_OK) == -1);
    NEED(access(TOPOLOGY "/generation_id", W_OK) == -1 && errno == EACCES);
    ssize_t n = readlink("/sys/class/kfd/kfd", line, sizeof line);
    NEED(n > 0 && strncmp(line, "../../devices/virtual/kfd/kfd", (size_t)n) == 0);
    char *real = realpath("/sys/class/kfd/kfd/topology/nodes", NULL);
    NEED(real && strcmp(real, TOPOLOGY "/nodes") == 0);
    free(real);

    int names = 0;
    DIR *d = opendir(TOPOLOGY "/nodes");
    NEED(d);
    for (struct dirent *e; (e = readdir(d));) {
        NEED(e->d_type == DT_DIR);
        names++;
    }
    NEED(names == 4); // . .. 0 1
    rewinddir(d);
    NEED(readdir(d) && strcmp(readdir(d)->d_name, "..") == 0);
    int relative = openat(dirfd(d), "1/gpu_id", O_RDONLY);
    NEED(relative >= 0 && read(relative, line, sizeof line) == 2 && line[0] == '2' && close(relative) == 0);
    NEED(fstatat(dirfd(d), "0", &st, 0) == 0 && S_ISDIR(st.st_mode));
    NEED(closedir(d) == 0);
    struct dirent **list;
    NEED(scandir(TOPOLOGY "/nodes", &list, not_dot, alphasort) == 2);
    NEED(strcmp(list[0]->d_name, "0") == 0 && strcmp(list[1]->d_name, "1") == 0);
    NEED(opendir(TOPOLOGY "/generation_id") == NULL && errno == ENOTDIR);

    // Other programs see the same: the preload is inherited and each has a library of its own.
    NEED(system("test \"$(cat /sys/class/kfd/kfd/topology/generation_id)\" = 7") == 0);
    NEED(system("ls -l /dev/dri | grep -q 226.*128.*renderD128") == 0);
    return 0;
}
