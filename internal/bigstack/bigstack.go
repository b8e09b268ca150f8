// Package bigstack gives a goroutine a stack on which handlers of C programs can run.
//
// A C function that calls Go continues on the stack of a goroutine, which begins with a few KiB. A signal for the thread arrives there: the kernel pushes its
// frame (3 KiB and more with AVX-512), and the program's handler, which was not written for it, takes what it likes. Without SA_ONSTACK that ends in other
// memory of the Go heap. So whoever is called from C calls Reserve first. The stack keeps its size, because libpumice is linked with gcshrinkstackoff.
package bigstack

// Size is how much of the stack is free when Reserve has returned.
const Size = 256 << 10
