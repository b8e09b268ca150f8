#ifndef PUMICE_HIPABI_CONFIG_H
#define PUMICE_HIPABI_CONFIG_H

#include "values.h"

// A launch as <<<>>> configures it: hip.LaunchConfig.
struct pumice_config {
    pumice_dim3 grid, block;
    uint64_t shared;
    uintptr_t stream;
};

// The state of a thread: hip.Thread, and behind it what only C looks at. It is in the heap: a library that is opened late gets little
// thread-local storage.
extern __thread struct pumice_thread *pumice_thread_state;

// Where config.c finds what it needs of a hip.Thread, in bytes from its start.
struct pumice_thread_layout {
    uint32_t last, depth, configs, most;
    int32_t remember; // a call that succeeds sets last
    int32_t on;       // calls of these functions need no Go: nobody logs or traces them
};
extern struct pumice_thread_layout pumice_thread_layout;

#endif
