// Stores to the doorbell page reach the kernel half, quickly, each time, and cost nothing while there are none.
#include "pitfall.h"

static double cpu_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int by_value(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

static volatile uint64_t echoes[1024];
static volatile uint64_t *page;

static double median_latency(int slot, int times, int gap_us) {
    static uint64_t value = 0;
    double *t = malloc((size_t)times * sizeof *t);
    for (int i = 0; i < times; i++) {
        if (gap_us) usleep((useconds_t)gap_us);
        value++;
        double start = seconds();
        page[slot] = value;
        while (echoes[slot] != value)
            if (seconds() - start > 10) {
                fprintf(stderr, "doorbell %d (gap %d us) was lost\n", i, gap_us);
                _exit(1);
            }
        t[i] = (seconds() - start) * 1e6;
    }
    qsort(t, (size_t)times, sizeof *t, by_value);
    double median = t[times / 2];
    free(t);
    return median;
}

int main(void) {
    int fd = open("/dev/kfd", O_RDWR);
    NEED(fd >= 0);
    page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 1 << 20);
    NEED(page != MAP_FAILED);
    NEED(ioctl(fd, ECHO, echoes) == 0);
    double hot = median_latency(1, 2000, 0);
    double cold = median_latency(1023, 200, 2000);
    printf("median us from store to echo: back to back %.1f, every 2 ms %.1f\n", hot, cold);
    double before = cpu_seconds();
    usleep(500000);
    double idle = (cpu_seconds() - before) / 0.5;
    printf("idle CPU %.2f %%\n", idle * 100);
    NEED(idle < 0.05);

    // A new queue in the place of an old one, whose first doorbell value is the old one's last: the page is protected at
    // some of these moments, and the watch looks at others.
    uint64_t queue[12] = {0};
    for (int i = 0; i < 400; i++) {
        page[1] = 7;
        usleep((useconds_t)(i % 4 * 100));
        NEED(ioctl(fd, CREATE_QUEUE, queue) == 0);
        if (i % 3) usleep(200);
        echoes[1] = 0;
        page[1] = 7;
        double start = seconds();
        while (echoes[1] != 7)
            if (seconds() - start > 10) {
                fprintf(stderr, "the first doorbell of queue %d was lost\n", i);
                _exit(1);
            }
    }

    // A child must not have the page: its stores would ring the parent's queues.
    pid_t child = fork();
    if (child == 0) {
        unsigned char resident[2];
        NEED(mincore((void *)page, 8192, resident) == -1 && errno == ENOMEM);
        _exit(0);
    }
    need_exit(child, 0);
    median_latency(1, 10, 100);

    // Unmapping while it is watched.
    NEED(munmap((void *)page, 8192) == 0);
    page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 1 << 20);
    NEED(page != MAP_FAILED);
    median_latency(5, 10, 3000);
    return 0;
}
