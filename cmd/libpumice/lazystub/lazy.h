// A library of door A: exported names whose trampolines (see gen.awk) look their targets up in libpumice.so, which is opened at the first call. Each of
// ../hipstub, ../hiprtcstub and ../hsastub is lazy.c, its own stub.c, and the trampolines of its table of names.
//
// Rules:
//   - Loading the library starts nothing. What the program registers before its first call is kept in lists by stub.c.
//   - A child of fork begins anew: it opens libpumice.so, or a copy when its parent had opened it (../reopen), and what was registered before is registered there.
//     A child that has not told us that it is one (vfork, clone) gets what lazy_not_initialized says.
//   - libpumice.so is opened with asynchronous signals blocked, so that Go's threads have them blocked for good: a handler that the program
//     installed without SA_ONSTACK must not run on one.
//   - Once open it stays: Go's threads cannot be ended, so neither library is ever unmapped (see the nodelete flag of the Makefiles).
#ifndef PUMICE_LAZY_H
#define PUMICE_LAZY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

// What gen.awk makes.
extern void *lazy_table[];               // where each trampoline jumps to
extern const char *const lazy_names[];   // exported name
extern const char *const lazy_targets[]; // name in libpumice.so
extern const size_t lazy_count;
void *lazy_entry(size_t i); // the entry that resolves trampoline i

// What stub.c gives. The functions return one that takes any arguments and answers them.
extern const char lazy_self[];                   // the library's name, for messages
extern const char lazy_missing_answer[];         // what a function that is not implemented returns, for messages
void *lazy_missing(const char *name);            // for a function that libpumice.so does not have
void *lazy_not_initialized(const char *name);    // for any function, in a child that cannot use Go, or where libpumice.so cannot be opened
void lazy_opened(void);                          // called once in a process, under the lock, when libpumice.so is open

// lazy_lock holds off opening, other registrations and forks.
void lazy_lock(void);
void lazy_unlock(void);

// lazy_usable is whether libpumice.so is open and can be called; under the lock.
bool lazy_usable(void);

// lazy_need finds a function that libpumice.so must have; without it the library counts as not openable. For lazy_opened.
void *lazy_need(const char *name);

#endif
