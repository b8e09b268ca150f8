// libhsa-runtime64.so.1: what an HSA program, AMD's HIP runtime among them, is linked with. It holds no runtime, only the exported names.
// ../lazystub/lazy.h has the rules.
#include "../lazystub/lazy.h"

enum { ERROR = 0x1000, NOT_INITIALIZED = 0x100b };

const char lazy_self[] = "libhsa-runtime64.so", lazy_missing_answer[] = "HSA_STATUS_ERROR";

static int error(void) { return ERROR; }
static int not_initialized(void) { return NOT_INITIALIZED; }

void *lazy_missing(const char *name) {
    (void)name;
    return (void *)error;
}

void *lazy_not_initialized(const char *name) {
    (void)name;
    return (void *)not_initialized;
}

void lazy_opened(void) {}
