// Package svm is amdgpu's shared virtual memory on drm_gpusvm: one address for CPU and GPU, pages that move between them.
//
// # How the driver does it
//
// A program says with attributes how it means to use a stretch of addresses: which GPU may access it, where its pages
// should live, how coherent it must be. Attributes belong to addresses and are kept in an attribute tree; where it has
// a hole, defaults hold. What the GPU really has mapped is a second layer, svm ranges, which follow the process's VMAs and
// the chunk sizes of gpusvm. The two are N:M: an attribute range spans many svm ranges, and a later attribute change may
// fall inside one.
//
// With XNACK on, the GPU can wait for a page: a wave that misses raises a retry fault, the handler finds the attributes,
// moves the page if it is wanted in VRAM, writes the entry, and the wave runs on. When the CPU side changes, the notifier
// just takes entries away. With XNACK off a miss is fatal, so everything accessible is mapped before queues run: by the
// ioctl, and again after each change by the restore worker, with all queues of the process stopped (quiesced) meanwhile.
//
// One funnel maps: GPU fault, attribute change, restore worker and garbage collector all end in mapRange, with a migrate
// mode that says whether pages may move. Ranges whose addresses were unmapped are taken apart by the garbage-collection
// worker. UNMAP goes before RESTORE, always.
//
// # How this package does it
//
// The same, over interfaces: mm.Space is the process, VM the GPU's page table, Queues the process's queues, GPU the video
// memory with its copy engine. It cannot tell whether they are simulated. Mistakes turns upstream bugs back on, for tests
// that must find them.
//
// Lock order, outermost first: svmLock, attrs.mu, mmap_lock, VM reservation, folio locks, gpusvm NotifierLock, workLock,
// ttm, PTL (kernel/sched has the table). Device pages are freed in atomic context: what runs there takes spin locks only, those after workLock.
// attrs.mu is never held while gpusvm is called. The notifier runs under NotifierLock for writing, takes workLock, and stops queues.
//
// Behaviour: kernel-svm §8 (amdgpu_svm V7 with the XNACK-off restore series).
package svm
