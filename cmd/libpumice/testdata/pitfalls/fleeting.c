// What AMD's libraries would leave behind when killed: comgr's temporary directories, the thunk's shared memory and
// semaphore. Here they are seen by this process and nobody else.
#include "pitfall.h"
#include <linux/mount.h>
#include <semaphore.h>
#include <sys/syscall.h>

int main(void) {
    char line[100];
    bool may_mount = syscall(SYS_fsopen, "tmpfs", 0) >= 0;
    if (may_mount) {
        NEED(mkdir("/tmp/comgr-abc123", 0700) == 0 && mkdir("/tmp/comgr-abc123/input", 0700) == 0);
        NEED(mkdir("/tmp/comgr-abc123", 0700) == -1 && errno == EEXIST);
        FILE *f = fopen("/tmp/comgr-abc123/input/source", "w");
        NEED(f && fputs("text", f) >= 0 && fclose(f) == 0);
        NEED(rename("/tmp/comgr-abc123/input/source", "/tmp/comgr-abc123/other") == 0);
        int fd = open("/tmp/comgr-abc123/other", O_RDONLY);
        NEED(fd >= 0 && read(fd, line, sizeof line) == 4 && close(fd) == 0);
        struct stat st;
        NEED(stat("/tmp/comgr-abc123/input", &st) == 0 && S_ISDIR(st.st_mode));
        NEED(system("test -e /tmp/comgr-abc123") != 0);
        DIR *d = opendir("/tmp/comgr-abc123");
        int names = 0;
        NEED(d);
        while (readdir(d)) names++;
        NEED(names == 4 && closedir(d) == 0); // . .. input other
        NEED(unlink("/tmp/comgr-abc123/other") == 0 && rmdir("/tmp/comgr-abc123/input") == 0);
        NEED(rmdir("/tmp/comgr-abc123") == 0 && access("/tmp/comgr-abc123", F_OK) == -1);
    }
    // Other names are left alone.
    NEED(mkdir("/tmp/comgr-abc", 0700) == 0 && system("test -d /tmp/comgr-abc") == 0 && rmdir("/tmp/comgr-abc") == 0);

    NEED(shm_open("/hsakmt_shared_mem", O_RDWR, 0600) == -1 && errno == ENOENT);
    int memory = shm_open("/hsakmt_shared_mem", O_CREAT | O_RDWR, 0600);
    NEED(memory >= 0 && ftruncate(memory, 4096) == 0);
    int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    NEED(shared != MAP_FAILED);
    *shared = 7;
    int again = shm_open("hsakmt_shared_mem", O_RDWR, 0600);
    NEED(again >= 0 && pread(again, line, 4, 0) == 4 && line[0] == 7);
    NEED(sem_open("/hsakmt_semaphore", 0) == SEM_FAILED && errno == ENOENT);
    sem_t *s = sem_open("/hsakmt_semaphore", O_CREAT, 0600, 1);
    NEED(s != SEM_FAILED && sem_wait(s) == 0 && sem_trywait(s) == -1 && sem_post(s) == 0 && sem_close(s) == 0);
    NEED(system("test -e /dev/shm/hsakmt_shared_mem -o -e /dev/shm/sem.hsakmt_semaphore") != 0);

    sem_t *mine = sem_open("/pumice_pitfall", O_CREAT | O_EXCL, 0600, 1);
    NEED(mine != SEM_FAILED && sem_unlink("/pumice_pitfall") == 0 && sem_close(mine) == 0);
    return 0;
}
