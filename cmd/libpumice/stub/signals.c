// Go unblocks SIGPROF and SIGCHLD in all its threads, whose stacks are too small for a handler. So a handler of either gets SA_ONSTACK: Go's threads have an
// alternate stack, and in a thread that has none the flag changes nothing.
#include "stub.h"

static bool unblocked(int sig) { return sig == SIGPROF || sig == SIGCHLD; }

EXPORT int sigaction(int sig, const struct sigaction *act, struct sigaction *old) {
    struct sigaction with;
    if (unblocked(sig) && act && act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN) {
        with = *act;
        with.sa_flags |= SA_ONSTACK;
        act = &with;
    }
    return REAL(sigaction)(sig, act, old);
}

EXPORT sighandler_t signal(int sig, sighandler_t handler) {
    if (!unblocked(sig)) return REAL(signal)(sig, handler);
    struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    return sigaction(sig, &act, &old) < 0 ? SIG_ERR : old.sa_handler;
}
