#ifndef PUMICE_HIPABI_VALUES_H
#define PUMICE_HIPABI_VALUES_H

// What HIP's functions take and return by value.

#include <stddef.h>
#include <stdint.h>

typedef struct { uint32_t x, y, z; } pumice_dim3;
typedef struct { size_t w, h, d; } pumice_extent;
typedef struct { void *p; size_t pitch, xs, ys; } pumice_pitched;
typedef struct { int x, y, z, w; unsigned f; } pumice_channel;
typedef struct { int32_t kind, id; } pumice_location;
typedef struct { char b[64]; } pumice_ipc;

#endif
