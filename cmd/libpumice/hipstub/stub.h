// Shared by stub.c and the generated trampolines.
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

extern void *pumice_hip_table[];                 // where each trampoline jumps to
extern const char *const pumice_hip_names[];     // exported name
extern const char *const pumice_hip_targets[];   // name in libpumice.so
extern const size_t pumice_hip_count;
void *pumice_hip_lazy_entry(size_t i); // the entry that resolves trampoline i
