// Opening libpumice.so, for every stub that does.
//
// A process that forks after it has opened the library leaves its child a dead one: mapped, with the state of Go's threads, but without the threads. Nothing can
// start it again, and dlopen would only find it once more, because it knows files by their inode. So the child opens a copy, in memory, whose inode is
// another: a library that was never started, with a Go runtime, a kernel and GPUs of its own. That is also what a child of fork has with
// the real driver: a new kfd_process.
#ifndef PUMICE_REOPEN_H
#define PUMICE_REOPEN_H

// reopen_library is dlopen of the library at path, or of a copy when the one that is there belongs to another process. It returns NULL as dlopen does, with
// the words of dlerror in *why.
void *reopen_library(const char *path, const char **why);

#endif
