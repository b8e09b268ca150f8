// Copies that a bad address makes fail, not crash. process.c, whose handler sees the faults of this library first, sends one in this code to its end.
#ifndef PUMICE_CALLER_COPY_H
#define PUMICE_CALLER_COPY_H

#include <stddef.h>

// Each returns 0, or -1 at a fault; a copy may then be done in part.
int pumice_copy(void *dst, const void *src, size_t n);
int pumice_readable(const void *p, size_t n); // of n bytes, at least 1
int pumice_writable(void *p, size_t n);       // the same; what is there stays
long pumice_length(const char *s, long max); // of a string, max when it has no end before; -1 at a fault

// Where the code lies whose faults pumice_copy_failed answers.
extern const char pumice_copy_begin[], pumice_copy_end[], pumice_copy_failed[];

#endif
