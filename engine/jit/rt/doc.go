// Package rt is what compiled code needs from the machine: executable memory, a way in and out, and the CPU's features.
//
// # Executable memory
//
// A page that is writable and executable at once is an invitation; some systems refuse it. Code memory is one memfd
// mapped twice: once to write, once to run. The two addresses differ, so code must be position independent.
//
// # Way in
//
// Compiled code is a leaf: [Enter] calls it on the goroutine's own stack, it makes no calls, uses no stack beyond its
// return address, and leaves RSP and RBP alone. It may use every other register. It returns by itself, soon: the Go
// runtime cannot preempt code it does not know, so a long slice would hold up the garbage collector. Compiled code
// counts fuel on back-edges and returns; the caller then makes an ordinary Go call, whose prologue is the safe point.
//
// Go code assumes that the upper vector halves are clean (legacy SSE after dirty AVX-512 state is many times slower)
// and that MXCSR has its default value, so Enter ends with VZEROUPPER and restores MXCSR if it changed it.
//
// Register contract at entry: RDI is the first argument, RSI the second, RDX the third. RAX is the result.
package rt
