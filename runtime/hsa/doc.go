// Package hsa is the HSA runtime: agents, memory pools, signals, AQL queues, executables and copies.
//
// # How the real system works
//
// HSA describes a machine as agents (CPUs and GPUs) with memory pools. A program allocates from a pool and says which
// agents may reach the memory. It makes user-mode queues on an agent, writes AQL packets into the ring and stores to a
// doorbell; no system call is made. Completion is told by signals: 64-bit values in memory that a device decrements and a
// host thread waits for, by spinning or, with an interrupt behind it, by sleeping in the driver. Code objects are loaded into
// an executable, which gives each variable an address and each kernel a handle: the address of its descriptor in
// device memory.
//
// AMD's implementation (ROCr) stands on the thunk for all of this. System memory has a fine-grained pool, in which the devices and
// the CPU see each other's writes while a kernel runs, and a kernarg pool. Each GPU has a coarse-grained pool of its video
// memory, which becomes visible to others at the end of a kernel. Copies run on the SDMA engines.
//
// # This package
//
// Runtime is one open HSA system over one hsakmt driver. Handles are Go pointers here; what other programs see of them, the
// addresses of the amd_signal_t and amd_queue_t records, are fields. Addresses are uint64.
//
// Lock order: Runtime.mu, then Agent.mu, then a leaf: Queue.mu, sdma.mu, signalPool.mu, Executable.mu. No lock is held while
// waiting for a device.
//
// Errors are of type *Error with a Status (hsa_status_t).
package hsa
