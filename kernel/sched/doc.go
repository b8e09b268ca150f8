// Package sched is the one place where kernel and silicon get tasks, locks, waiting, time and randomness.
//
// In Linux a driver is a set of concurrent activities: ioctls on application threads, work items on workqueue threads,
// interrupt handlers, notifier callbacks in whoever changes an address space. What goes wrong between them depends on
// who runs when, on a real machine by chance. Here all of them go through a World:
//
//   - Live is goroutines, sync and the monotonic clock.
//   - Sim runs one task at a time. At every lock, wait, wake and Yield a seed picks who runs next; time is virtual and
//     moves only when everybody waits. The same seed gives the same run. Sim finds dead-locks, violations of the lock
//     order (every lock has a Class with a rank), tasks that never end, and a failing schedule can be replayed and
//     shrunk (Explore).
//
// Code above cannot tell which World it is in. It must not use go statements, sync, time or math/rand itself.
//
// The vocabulary is Linux's: Mutex, RWSem, WaitQueue, Workqueue with Work and delayed work (a Work queued while it runs
// runs again; queued twice before it runs, it runs once), Timer.
//
// # Lock order
//
// Ranks of Classes, outermost lowest; Live checks nothing, Sim all. Two locks of one rank are never held together, but of a Class that nests. Inside all of them are
// those of the chip (package silicon), which no World sees.
//
//	70      kfd_driver               kernel/kfd         which process the driver serves
//	80      kfd_process              kernel/kfd         buffers, queues, apertures of a process
//	85      kfd_svm                  kernel/kfd         attributes as KFD's interface has them
//	100     svm_lock                 kernel/amdgpu/svm  ranges of one GPU's shared virtual memory
//	200     svm attr_tree.lock       kernel/amdgpu/svm  its attributes
//	250     process_info.lock        kernel/kfd/svm     the older driver's calls and restores, one at a time
//	300     mmap_lock                kernel/mm          mappings of the process
//	400     dma_resv                 kernel/fence       placement and fences of a buffer
//	500     folio lock               kernel/mm          a page that is being moved
//	510     svms.lock                kernel/kfd/svm     the list of pranges
//	520     prange.migrate_mutex     kernel/kfd/svm     migration or mapping of a prange
//	530     page directory           kernel/kfd/svm     the reservation of a page table
//	550     fs_reclaim               kernel/mm          (held by page allocation)
//	600     gpusvm notifier_lock     kernel/gpusvm      what notifiers change
//	600     prange.lock              kernel/kfd/svm     likewise, of a prange
//	650     dma_fence signalling     kernel/fence       (held by who must signal a fence)
//	650     drm_file                 kernel/drm         handles and address space of an open render node
//	690     atomic context           kernel/mm          (held by who may not sleep)
//	690     kfd_dqm                  kernel/kfd         queues on the hardware
//	690     kfd_exports              kernel/kfd         exported buffers
//	700     svm work_lock            kernel/amdgpu/svm  lists of the workers
//	710     amdgpu_vm                kernel/amdgpu      page tables
//	710     svm_bo.list_lock         kernel/kfd/svm     pranges of a buffer
//	720     svms.deferred_list_lock  kernel/kfd/svm     what notifiers leave to the worker
//	800     amdgpu_vram              kernel/amdgpu      allocation of video memory
//	810     amdgpu_sysmem            kernel/amdgpu      allocation of GTT
//	820     amdgpu_slots             kernel/amdgpu      VMIDs, doorbells, queue slots
//	840     amdgpu_ih                kernel/amdgpu      the interrupt ring
//	850     kfd_events               kernel/kfd         events and their waiters
//	850     ttm lru lock             kernel/ttm         order of eviction
//	860     kfd_smi                  kernel/kfd         clients of the event stream
//	870     amdgpu_ih_soft           kernel/amdgpu      interrupts for the task
//	900     ptl                      kernel/mm          entries of the process's page table
//	950     dma_fence                kernel/fence       a fence's state
//	950     mm/host staging          kernel/mm/host     addresses of the staging area
//	1048576 workqueue                kernel/sched       pending work
package sched
