// How the Go library behaves in a process that is not Go's own.
//
// Signals. Go's start adds SA_ONSTACK to every handler that is installed, and takes SIGSEGV, SIGBUS, SIGFPE and SIGURG for itself. Then the program's handlers
// would run on the 32 KiB that Go gives a thread, and a program that faults would end with Go's words and exit code 2. So:
//   - Handlers of the program get their flags back. They run wherever the thread is; internal/bigstack makes sure that there is room. The exceptions
//     are SIGPROF and SIGCHLD, which Go unblocks in all its threads: their handlers keep SA_ONSTACK, so that they never run on a small stack of Go's (for
//     one that is installed later stub/signals.c does the same).
//   - SIGURG, by which Go interrupts its own loops, is the program's. Go is told not to (asyncpreemptoff, see the Makefile).
//   - A fault that the program does not handle and that is not in this library ends the process as it would without Go. What happens in the library
//     stays Go's: the silicon turns faults of its accesses into errors. A copy to or from the program's memory that faults fails, see caller.
//   - Go's own threads block asynchronous signals, see the stubs.
//
// Forks. A child has none of Go's threads, so it never calls this Go; what uses the GPU in it opens a copy of the library (reopen). Before the fork, managed memory comes
// home to the CPU.
#define _GNU_SOURCE
#include "process.h"

#include "caller/copy.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>
#include <unistd.h>

static struct sigaction before[NSIG]; // the process's handlers before Go came
static struct sigaction gos[NSIG];    // Go's, of faults
static uintptr_t low, high;           // where this library's code is

// Runs before the constructor that starts Go, which has a later priority.
__attribute__((constructor(101))) static void note_handlers(void) {
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &before[i]) < 0) before[i].sa_handler = SIG_DFL;
}

static int find_code(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size, (void)arg;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || (uintptr_t)find_code - from >= p->p_memsz) continue;
        low = from, high = from + p->p_memsz;
        return 1;
    }
    return 0;
}

// fail_copy goes on at the failing end of a copy in which the fault was.
static int fail_copy(ucontext_t *c) {
#if defined(__x86_64__)
    uintptr_t at = (uintptr_t)c->uc_mcontext.gregs[REG_RIP], begin = (uintptr_t)pumice_copy_begin;
    if (at - begin >= (uintptr_t)pumice_copy_end - begin) return 0;
    c->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)pumice_copy_failed;
    return 1;
#else
    (void)c;
    return 0;
#endif
}

static uintptr_t place(const ucontext_t *c) {
#if defined(__x86_64__)
    return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)c->uc_mcontext.pc;
#else
    (void)c;
    return low;
#endif
}

static void on_fault(int sig, siginfo_t *info, void *context) {
    if (info->si_code > 0 && fail_copy(context)) return;
    if (place(context) - low < high - low) {
        gos[sig].sa_sigaction(sig, info, context);
        return;
    }
    // As if nobody had ever handled it: the instruction faults again, or what was sent is sent again.
    sigaction(sig, &before[sig], NULL);
    if (info->si_code <= 0) raise(sig);
}

void process_settle_signals(void) {
    dl_iterate_phdr(find_code, NULL);
    for (int i = 1; i < NSIG; i++) {
        struct sigaction now;
        if (sigaction(i, NULL, &now) < 0) continue;
        int program = before[i].sa_handler != SIG_DFL && before[i].sa_handler != SIG_IGN;
        if (i == SIGURG) {
            sigaction(i, &before[i], NULL);
        } else if (program && i != SIGPROF && i != SIGCHLD && now.sa_handler == before[i].sa_handler && !(before[i].sa_flags & SA_ONSTACK)) {
            sigaction(i, &before[i], NULL);
        } else if (!program && low && (i == SIGSEGV || i == SIGBUS || i == SIGFPE) && now.sa_handler != before[i].sa_handler) {
            gos[i] = now;
            now.sa_sigaction = on_fault;
            sigaction(i, &now, NULL);
        }
    }
}

// A child of this process that forks in turn has the handler too.
static pid_t owner;

static void before_fork(void) {
    extern void pumice_prepare_fork(void);
    if (getpid() == owner) pumice_prepare_fork();
}

void process_watch_forks(void) {
    owner = getpid();
    pthread_atfork(before_fork, NULL, NULL);
}

// The stub, which every process under pumice run has, tells what is done to memory.
void process_watch_memory(void) {
    extern void pumice_memory(int what, uint64_t address, uint64_t length);
    void (**slot)(int, uint64_t, uint64_t) = (void (**)(int, uint64_t, uint64_t))dlsym(RTLD_DEFAULT, "pumice_on_memory");
    if (slot) __atomic_store_n(slot, pumice_memory, __ATOMIC_RELEASE);
}
