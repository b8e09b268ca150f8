// Package hsakmt is the thunk: the thin layer between the HSA runtime and the compute kernel driver (KFD).
//
// # How the real system works
//
// ROCm's libhsakmt turns a handful of C calls into ioctls on /dev/kfd. It keeps what the driver does not: a snapshot of the topology
// read from sysfs, the process's address-space layout, the table of allocations, and the mapping of doorbells.
//
// Memory has one address for CPU and GPUs. The thunk reserves a range with an inaccessible anonymous mapping, asks the
// driver for a buffer at that address (ALLOC_MEMORY_OF_GPU), maps the buffer over the reservation when the CPU may see it (the
// render node's descriptor and the offset that the driver gave), and asks the driver to write page tables on the GPUs that shall see it
// (MAP_MEMORY_TO_GPU). Memory of the application that gets registered is the exception: it has a CPU address already,
// and gets a second, GPU-only address (a userptr buffer). Device memory that the host may not see stays inaccessible
// to the CPU at its address.
//
// A queue is memory (ring, pointers, EOP buffer, context save area) that CREATE_QUEUE hands to the driver; the answer
// names a doorbell within the process's doorbell page of that device, which is mapped once.
//
// Events live in a page of 4096 64-bit slots that the thunk allocates in GTT and hands over with the first event. A
// device signals by storing to the slot and raising an interrupt; WAIT_EVENTS sleeps in the driver.
//
// # This package
//
// KFD is one open driver. It talks through a Transport, of which there are two: Device, the real device files of this machine, and
// whatever wiring supplies for a kernel in this process (kernel/kfd). Nothing here knows which one it is.
//
// Addresses are uint64: they are not Go memory. Methods are safe for concurrent use.
//
// Lock order: KFD.mu (allocations) before doorbells' mu; both are leaves towards the driver: ioctls are made with neither
// held, except that the creation of the event page and of a doorbell page is made under its own lock, once.
//
// Errors are *Error: a Status of the thunk's ABI, and the driver's errno beneath.
package hsakmt
