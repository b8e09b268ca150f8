// Package svm is the older of the two shared-virtual-memory drivers of amdgpu, kfd_svm.c, behind AMDKFD_IOC_SVM.
//
// # How it differs from the one on drm_gpusvm (kernel/amdgpu/svm)
//
// One range does everything. A prange is a registered range of addresses with its attributes, its interval notifier, the bus addresses of
// its pages for every GPU, and its video memory. All GPUs of the process share it; which of them may access it, and where it is preferred,
// are attributes of the range. There are no fixed sizes: a range is as long as what was registered, and a call that concerns a part of
// one splits it: the old prange is replaced by copies, and nothing is published until all of them exist.
//
// A notifier may not change the list of ranges (that needs the mmap lock for writing, which whoever unmaps holds). When a part of a prange
// is unmapped, the notifier cuts the prange itself and hangs the pieces on it as children; a worker, the deferred list, later removes what
// is gone, gives the others notifiers of their own and puts them in the list. Whoever finds children on a prange comes back later.
//
// Migration is page by page: pages that cannot move stay, and a prange may have pages in both places. With XNACK off an invalidation
// stops all queues of the process; one worker maps every invalid prange again, and the queues run when the counter of evictions has not moved
// meanwhile.
//
// Video memory that is wanted by others is taken away through a fence: to wait for it starts a worker that moves the pages home.
//
// # What is not as in the kernel
//
//   - Linux allocates video memory with the mmap lock held for reading, and waits there for the eviction worker, which wants the same lock:
//     with a writer in between both wait for ever. Here it is allocated first, without locks.
//   - The mmap lock is held for writing through SetAttrs; Linux downgrades it.
//   - A copy of a prange inherits that it is invalid, and notifications on their way to the original reach the copies.
//   - Access that is taken away is taken away at once; changed flags are not left in the page tables of other GPUs.
//   - Ranges that can never be mapped again do not keep the queues of a process stopped.
//   - If queues cannot be stopped, the entries of what changes are taken away: Linux goes on as if they had been, until the GPU is reset.
//   - Files are not charged against the limit of pinned memory (Limit).
//
// Each of those, and more, is a Mistake that can be switched on; docs/svm.md lists which upstream bugs they are.
//
// A prange may hold memory of user queues (HoldQueueBuffer): if the program unmaps it, the queue leaves the hardware before the pages go.
//
// # Locks, outermost first
//
// process_info.lock, mmap lock, folio locks (try only), svms.lock, prange.migrate_mutex, page directories, fs_reclaim, prange.lock (taken by
// notifiers), svm_bo.list_lock, deferred_list_lock. A CPU fault, which has its page's folio lock, only tries svms.lock: who has that may need the
// page, and polls for it. The worker behind a fence takes mmap lock (reading) and migrate_mutex. Behaviour: kernel-svm
// §9 (kfd_svm.c, kfd_migrate.c).
package svm
