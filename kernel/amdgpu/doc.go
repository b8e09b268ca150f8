// Package amdgpu drives one chip: video memory, system memory that the chip can reach, page tables, queue slots,
// doorbells and interrupts.
//
// # How Linux does it
//
// The amdgpu driver owns the hardware; amdkfd is a client of it. Buffer objects (BOs) live in a domain: VRAM (blocks of
// the buddy allocator) or GTT (system pages that the chip reaches through the IOMMU). An address space (VM) is a tree of page
// tables in VRAM; mapping a BO writes entries for each of its blocks, with FRAGMENT set as large as alignment allows
// and whole 2 MiB runs as one directory entry. After entries were cleared, or tables given back, the TLBs of the VMID are flushed
// before memory is reused. Of the 16 VMIDs, 8 to 15 belong to compute. The chip writes interrupts into a ring; a handler reads
// them and hands them to whoever they concern, by PASID.
//
// # How this package does it
//
//   - Device brings a Chip up, allocates VRAM, hands out VMIDs, queue slots and doorbell pages, and runs the interrupt task.
//   - BO is a buffer: VRAM blocks, pages of one sparse memfd (GTT), or a range of the process's own memory (userptr).
//     Freed memory is punched out of its memfd, so that every buffer starts as zero and the host gets its pages back.
//   - VM holds page tables and the list of its mappings.
//
// Bus addresses are host virtual addresses: a PTE with SYSTEM holds the address at which this process sees the page.
//
// Lock order, outermost first: VM.mu, Device.vramMu, SystemMemory.mu, Device.slotMu. All are leafs for callers: no function of this
// package calls back with one held. Device.ihMu is held while the fast interrupt handler runs, which may take leaf locks of its owner;
// Device.softMu is inside it. The slow handler is called from the interrupt task with none held.
//
// fidelity: approximate userptr: pages are faulted in and mapped once; a later munmap by the application is not noticed by the
// page tables until the SVM substrate watches the address space
package amdgpu
