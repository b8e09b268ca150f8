// Package silicon is the chip: what an AMD GPU does between a doorbell write and an interrupt.
//
// # The real chip
//
// A driver meets the chip in few places: video memory; page tables in memory with a base register for each of 16 VMIDs;
// memory queue descriptors (MQDs) that say where a ring is; doorbells; TLB flush requests; and an interrupt ring (IH)
// that the chip writes. The command processor (CP) fetches AQL packets and PM4 from compute queues; SDMA engines fetch
// their own packets; a dispatch is cut into work-groups, and each work-group is placed on one compute unit (CU) when that
// has registers, LDS and wave slots for all its waves. A wave that stops at a barrier or sleeps leaves its SIMD to
// others, so all resident work-groups make progress.
//
// # This package
//
// The driver (package kernel, which alone calls it) sees:
//
//	dev, err := silicon.New(profile, silicon.Config{...})
//	dev.VRAM()                     the memory behind the VRAM aperture: memfd, size, host alias. VRAM addresses are offsets into it
//	dev.Doorbells()                doorbell aperture: memfd, host alias
//	dev.SetVMID(vmid, ctx)         VM_CONTEXTn and SH_MEM registers; nil disables the VMID
//	dev.FlushTLB(vmid)             returns when no wave, CP or SDMA fetch can use an old translation
//	dev.LoadQueue(id, mqd, vmid)   connects a hardware queue to an MQD (layout abi/mqd by generation)
//	dev.UnloadQueue(id, how)       drains, preempts or kills; returns when nothing of the queue runs
//	dev.RingDoorbell(index)        a doorbell write was seen; the value is read from the doorbell aperture
//	dev.SetIHRing(mem)             where interrupt entries (abi/ih) go; Config.Interrupt is called after each batch
//	dev.Clock()                    the 100 MHz reference counter of timestamps
//
// System memory: a PTE with the SYSTEM bit holds a bus address, and bus addresses are host virtual addresses of this
// process (an identity IOMMU). A PTE without it holds a VRAM offset. PTE bits follow the chip's generation (abi/pte).
//
// Queues are state machines (queue.push) that any goroutine may push: the one that rings the doorbell, a worker that has
// ended a dispatch's last wave, the poller that watches memory for queues that wait on it. A push never blocks: if another
// goroutine is pushing the queue, it is told to go round once more. Waves run on a fixed set of worker threads (one for
// each CPU), each with its own engine.Worker; a worker takes a new work-group only when all the groups that it holds have
// given their turn away, so residency grows up to the chip's true limits when work-groups wait for each other, and stays small
// when they do not.
//
// # Order of waves
//
// The chip promises nothing about which wave of a work-group goes first. What it does by habit: waves start in the order of their numbers, all of
// those that wait at a barrier go on within a few cycles of each other, and each soon waits for something, memory most of all, while
// the others take their steps. So a wave that reads the LDS right behind a barrier has read it long before another, which fetches from memory
// what it then writes there, gets to its write. Programs rest on that without knowing it; RCCL's kernels do, whose first wave fetches
// the description of the next collective over the one that the others still look at (examples/worklist.hip has that shape).
//
// A worker that runs one wave after the other cannot keep that habit, for it has no cycles, but it can choose whom it favours. Such a writer is nearly
// always the first wave: "if (threadIdx.x < n)" makes it so. So waves start from the first on, and behind every barrier they go on from the last one, the
// first wave last, whoever completed the barrier, in all engines. Compiled code may choose another order where no wave can tell, that is where no
// memory is both read and written before the next barrier; SGEMM is a tenth faster so (engine/jit, crew.go). To stop each wave at its first
// access to memory, and let the others pass, would be nearer to the chip and cost a change of waves in every phase of every kernel.
//
// fidelity: approximate wave-order: behind a barrier waves run from the last to the first, each to its next wait; the chip runs them side by side
//
// The chip gets time and tasks from Config.Sched, and waits (Parker) with no lock held, so that it can also live in a simulated world
// (TestRealQueue in kernel/svmsim): there Parker.Unpark and Config.Interrupt, which are called with locks held, must leave the rest to a task.
//
// Lock order, outermost first: Device.mu (queue table), queue.mu (one queue's state machine), vm.guard (read: one memory
// access; write: TLB flush), cus.mu (CU occupancy, list of dispatches), leaf locks (IH ring, pools, mem.Space.mu). No
// lock is held while a wave runs or while a goroutine waits for an event, but queue.mu while a packet is carried out.
// Config.Interrupt and hooks are called with queue.mu held at most: they must not call back into the Device's queue functions.
package silicon
