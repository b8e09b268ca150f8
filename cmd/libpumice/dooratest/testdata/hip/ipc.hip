// Two processes share memory by an IPC handle: the child opens what the parent has allocated.
#include "check.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const int N = 4096;
__global__ void add(int *p, int v) { p[blockIdx.x * blockDim.x + threadIdx.x] += v; }

__global__ void linger(int *flag) {
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) __builtin_amdgcn_s_sleep(8);
}

struct Message {
    hipIpcMemHandle_t mem;
    hipIpcEventHandle_t event;
};

static void put(int fd, const void *p, size_t n) {
    if (write(fd, p, n) != (ssize_t)n) exit(3);
}
static void get(int fd, void *p, size_t n) {
    if (read(fd, p, n) != (ssize_t)n) exit(4);
}

static int child(int in, int out) {
    Message m;
    get(in, &m, sizeof m);
    int *p, *again, host[N];
    hipIpcMemHandle_t bad = {};
    WANT(hipIpcOpenMemHandle((void **)&p, bad, hipIpcMemLazyEnablePeerAccess), hipErrorInvalidValue);
    WANT(hipIpcOpenMemHandle(nullptr, m.mem, hipIpcMemLazyEnablePeerAccess), hipErrorInvalidValue);
    DO(hipIpcOpenMemHandle((void **)&p, m.mem, hipIpcMemLazyEnablePeerAccess));
    DO(hipMemcpy(host, p, sizeof host, hipMemcpyDeviceToHost));
    WANT(host[100], 105);
    add<<<N / 256, 256>>>(p, 1000); // by a kernel of this process
    DO(hipDeviceSynchronize());
    int three = 3;
    DO(hipMemcpy(p, &three, sizeof three, hipMemcpyHostToDevice));
    // The parent's event is recorded behind a kernel that is still waiting.
    hipEvent_t ev;
    DO(hipIpcOpenEventHandle(&ev, m.event));
    put(out, "1", 1);
    char c;
    get(in, &c, 1);
    WANT(hipEventQuery(ev), hipErrorNotReady);
    hipStream_t s;
    DO(hipStreamCreate(&s));
    DO(hipStreamWaitEvent(s, ev, 0));
    DO(hipMemsetAsync(p + 1, 0, 4, s));
    WANT(hipStreamQuery(s), hipErrorNotReady);
    put(out, "2", 1); // lets the kernel go on
    DO(hipEventSynchronize(ev));
    DO(hipStreamSynchronize(s));
    WANT(hipEventQuery(ev), hipSuccess);
    DO(hipEventDestroy(ev));
    put(out, "3", 1);
    get(in, &c, 1); // the parent has freed it by now
    DO(hipMemcpy(host, p, sizeof host, hipMemcpyDeviceToHost));
    WANT(host[100], 2105);
    DO(hipIpcCloseMemHandle(p));
    WANT(hipIpcCloseMemHandle(p), hipErrorInvalidHandle);
    WANT(hipIpcOpenMemHandle((void **)&again, m.mem, hipIpcMemLazyEnablePeerAccess) != hipSuccess, 1); // freed
    return finish();
}

int main() {
    int down[2], up[2];
    if (pipe(down) || pipe(up)) return 2;
    pid_t pid = fork(); // before the first call
    if (pid == 0) {
        close(down[1]);
        close(up[0]);
        return child(down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    int *p, host[N];
    char c;
    DO(hipMalloc(&p, N * sizeof(int)));
    for (int i = 0; i < N; i++) host[i] = i;
    DO(hipMemcpy(p, host, sizeof host, hipMemcpyHostToDevice));
    add<<<N / 256, 256>>>(p, 5);
    DO(hipDeviceSynchronize());
    Message m = {};
    WANT(hipIpcGetMemHandle(&m.mem, host), hipErrorInvalidValue);
    WANT(hipIpcGetMemHandle(nullptr, p), hipErrorInvalidValue);
    DO(hipIpcGetMemHandle(&m.mem, p));
    hipEvent_t ev, plain;
    DO(hipEventCreate(&plain));
    WANT(hipIpcGetEventHandle(&m.event, plain) != hipSuccess, 1);
    WANT(hipEventCreateWithFlags(&ev, hipEventInterprocess), hipErrorInvalidValue); // needs no timing
    DO(hipEventCreateWithFlags(&ev, hipEventInterprocess | hipEventDisableTiming));
    DO(hipIpcGetEventHandle(&m.event, ev));
    int *flag;
    DO(hipHostMalloc(&flag, 4096, 0));
    *flag = 0;
    hipStream_t s;
    DO(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    put(down[1], &m, sizeof m);
    get(up[0], &c, 1);
    linger<<<1, 1, 0, s>>>(flag);
    DO(hipEventRecord(ev, s));
    put(down[1], "1", 1);
    get(up[0], &c, 1);
    *flag = 1;
    get(up[0], &c, 1);
    WANT(hipEventQuery(ev), hipSuccess);
    DO(hipMemcpy(host, p, sizeof host, hipMemcpyDeviceToHost));
    WANT(host[100], 1105);
    WANT(host[0], 3);
    WANT(host[1], 0);
    add<<<N / 256, 256>>>(p, 1000);
    DO(hipFree(p));
    put(down[1], "1", 1);
    int status = 0;
    waitpid(pid, &status, 0);
    WANT(status, 0);
    return finish();
}
