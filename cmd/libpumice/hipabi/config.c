// The two calls that a compiler puts around each <<<>>>. They only keep and give back a few words of the thread's state, so they are done
// without a change to Go, which costs ten times as much; hipabi.go has them for threads that are new, for mistakes, and for those who watch calls.
#include "config.h"

#include <stddef.h>

__thread struct pumice_thread *pumice_thread_state;
struct pumice_thread_layout pumice_thread_layout;

extern int32_t pumice_hip_push(pumice_dim3 grid, pumice_dim3 block, uint64_t shared, uintptr_t stream);
extern int32_t pumice_hip_pop(pumice_dim3 *grid, pumice_dim3 *block, uint64_t *shared, uintptr_t *stream);

#define FIELD(type, offset) ((type *)((char *)pumice_thread_state + pumice_thread_layout.offset))

static int fast(void) { return pumice_thread_state && __atomic_load_n(&pumice_thread_layout.on, __ATOMIC_ACQUIRE); }

static int32_t succeed(void) {
    if (pumice_thread_layout.remember) *FIELD(int32_t, last) = 0;
    return 0;
}

int32_t __hipPushCallConfiguration(pumice_dim3 grid, pumice_dim3 block, uint64_t shared, uintptr_t stream) {
    int32_t *depth;
    if (!fast() || (uint32_t) * (depth = FIELD(int32_t, depth)) >= pumice_thread_layout.most) return pumice_hip_push(grid, block, shared, stream);
    FIELD(struct pumice_config, configs)[(*depth)++] = (struct pumice_config){grid, block, shared, stream};
    return succeed();
}

int32_t __hipPopCallConfiguration(pumice_dim3 *grid, pumice_dim3 *block, uint64_t *shared, uintptr_t *stream) {
    int32_t *depth;
    if (!grid || !block || !shared || !stream || !fast() || *(depth = FIELD(int32_t, depth)) <= 0) return pumice_hip_pop(grid, block, shared, stream);
    const struct pumice_config *c = &FIELD(struct pumice_config, configs)[--*depth];
    *grid = c->grid, *block = c->block, *shared = c->shared, *stream = c->stream;
    return succeed();
}
