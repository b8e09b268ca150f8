// Package silicon is the chip: what an AMD GPU does between a doorbell write and an interrupt.
//
// A driver meets the chip in few places, and only these are here: video memory, page tables in memory with a base
// register for each VMID, memory queue descriptors (MQDs) that say where a ring is, doorbells, TLB flush requests, and
// an interrupt ring (IH) that the chip writes. The command processor (CP) fetches AQL packets and PM4; SDMA engines
// fetch their own packets; compute units run wavefronts through package engine.
//
// The contract with the driver (package kernel, which alone calls it):
//
//	dev, err := silicon.New(profile, silicon.Config{...})  one chip; Config carries sched.Scheduler, engine.Engine factory, IRQ func
//	dev.VRAM()                     the memory behind the VRAM aperture: memfd, size, host alias. VRAM addresses are offsets into it
//	dev.SetVMID(vmid, pageDirectoryBase, apertures...)     VM_CONTEXTn registers, SH_MEM_BASES; 0 disables
//	dev.FlushTLB(vmid)             returns when no wave, CP or SDMA fetch can use an old translation
//	dev.LoadQueue(q QueueID, mqd host address, vmid)       connects a hardware queue to an MQD (layout abi/mqd by generation)
//	dev.UnloadQueue(q, how)        drains or preempts; returns when nothing of the queue runs
//	dev.RingDoorbell(index)        a doorbell write was seen; the value is read from the doorbell page
//	dev.Doorbells()                memfd-backed doorbell pages (host alias)
//	IH                             entries of abi/ih layout written to a ring in memory, then Config.IRQ() called
//
// System memory: a PTE with the SYSTEM bit holds a bus address, and bus addresses are host virtual addresses of this
// process (an identity IOMMU). A PTE without it holds a VRAM offset. PTE bits follow the chip's generation (abi/pte).
package silicon
