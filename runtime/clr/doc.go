// Package clr is the common language runtime under HIP: devices, programs, kernels, streams of commands, memory objects.
//
// # How the real system works
//
// ROCclr turns HIP calls into commands on host queues. A host queue (a HIP stream) runs its commands in order; it owns no
// hardware queue but borrows one of the few that its device has. A kernel command becomes an AQL dispatch packet with its kernarg
// segment in a ring of fine-grained memory; a copy goes to an SDMA engine or is done by the CPU; a host function runs on a
// thread. Where two commands of a stream run on different engines, signals order them: a barrier packet waits for a copy, a copy
// polls the signal of a kernel. Within one hardware queue the barrier bit of each packet keeps the order.
//
// Kernel arguments are laid out by the code object's metadata. The caller gives the explicit ones; the runtime fills in
// the hidden ones: sizes of grid and group (V5), offsets, buffers for printf and the heap.
//
// # This package
//
// A Command is what a stream has accepted; its Event tells when it is done and when it ran. A stream keeps only the last of its
// commands. A command without a signal of its own (a kernel launch that nobody asked about) costs one packet; when somebody wants to wait
// for it, a barrier packet with a signal is added behind it.
//
// Lock order: Device.mu, HostQueue.mu (the null queue's before another's), hwQueue.mu, then leaves: kernargs, Program.mu. No lock
// is held while waiting for the device, except that a full ring makes Submit wait.
//
// Errors are of this package's kinds (Err...) or wrap those of hsa.
package clr
