// Package aql holds the memory layouts through which a host and an HSA packet processor talk: the 64-byte AQL packets,
// the user-mode queue structure with AMD's private part, and the signal structure.
//
// # How the real system speaks
//
// A user-mode queue is a ring of 64-byte packets in memory that both sides see. A producer reserves a slot by adding to
// write_dispatch_id, fills the packet's body, and publishes it by storing the first 16 bits (the header, whose type
// must not be INVALID) last, with release semantics. It then stores the index of the last packet it wrote to the
// doorbell. The packet processor takes packets in order of index; a packet whose header is still INVALID stops it until the
// doorbell rings again. When a packet has been taken, its header is set back to INVALID and read_dispatch_id moves.
//
// The header's barrier bit keeps a packet from starting before all earlier packets of the queue are complete. The two fence
// scopes say which caches are invalidated before and written back after the packet.
//
// A signal is a 64-byte record whose value is a 64-bit integer. Completing a packet subtracts 1 from the value of its
// completion signal; if the signal has a mailbox, the event id is stored there and an interrupt is raised, which is
// how a blocked waiter learns of it. A doorbell signal has kind -1 and its value field holds the doorbell's address.
//
// Sources: HSA System Architecture 1.2 (packets and signals); the amd_queue_t and amd_signal_t records of ROCr as
// documented by LLVM's AMDGPU usage page and the measured offsets of docs/design (kernel-abi §4, §5.2).
//
// # This package
//
// Structures have the C layout and may be laid over shared memory. Fields that both sides write at the same time are to be
// accessed with sync/atomic; each such field says so. The package imports nothing of the project.
package aql
