// Package host is the mm substrate of the process that Pumice lives in: its real memory, watched through userfaultfd.
//
// # What Linux gives a driver, and what it gives a process
//
// A driver in the kernel mirrors a page table: notifiers tell it before an entry changes, hmm_range_fault tells it what is
// there, migrate_vma takes pages away and leaves device-private entries, on which a CPU access calls the driver. A process that
// wants the same for itself has userfaultfd: in a registered range, an access to a page that is not there stops the
// thread and sends a message; UFFDIO_MOVE takes a page out of an address, or puts one in, atomically and without a copy;
// and messages tell of munmap, madvise(DONTNEED) and mremap.
//
// # How this package does it
//
// Space implements mm.Space and mm.Memory for this process.
//
//   - A page that went to a device is absent from the process's page table; a table here says which device page it is
//     (a device-private entry). A CPU touch is a missing fault: the driver's MigrateToRAM brings the content home, and the thread is woken.
//   - A page that is migrating is absent too; who touches it waits until the migration ends.
//   - An absent page without an entry has never been touched: it gets zeroes.
//   - Migration to a device moves the pages of a range to the staging area in one call, so that no write can be lost. Video memory is memory of this process
//     too: where it is attached (device.go) the pages are moved on to it, and back, and no byte is copied. Else they are copied from the staging area, and home through
//     pages of it.
//   - Pages that stay in system memory are used at their own address: the bus address of a page is its address.
//
// What a GPU maps is registered for events (write-protect mode without protected pages), what migrates for missing pages too; never more
// than that, because the kernel joins neighbouring anonymous mappings to one VMA, and the neighbour may be the Go runtime's.
//
// Two tasks serve the descriptor. The reader only reads: it answers faults on untouched pages at once, starts a task for
// each fault on a device page, and hands events to an ordered worker. It never waits for a lock that is held over a wait. Sync lets
// a caller be sure that everything that happened to the address space before has been taken in.
//
// No goroutine may touch managed memory by a load or store: it would stop with its P, and with it the garbage collector,
// and perhaps the task that is to serve it. Copies go through the staging area and system calls (package uaccess).
//
// # What it cannot see
//
// fidelity: approximate mm/host munmap: the message comes when the pages are gone already, and madvise(DONTNEED) just before; a kernel that uses memory
// while the application frees it may fault, or see zeroes, where real hardware would wait. When the program's call has returned all is done, if it was made
// through libc under pumice run; else a moment later
// fidelity: approximate mm/host mprotect: noticed when the program calls it through libc under pumice run, right after the change; of a bare system call page tables
// keep the rights that memory had when it was mapped
// fidelity: approximate mm/host fork: the child sees pages in VRAM as zeroes unless BringHome was called before
// fidelity: approximate mm/host copy-on-write: a page shared with a child is made private before it migrates
// fidelity: refused mm/host file mappings: private file pages and shared memory do not migrate
//
// Without userfaultfd (seccomp, old kernel) New fails and the driver keeps managed memory in the host. An unprivileged process
// gets user-mode faults only: a system call on a migrated page fails with EFAULT.
//
// Lock order, outermost first: mmap lock (Space.MmapLock), locks of the driver, folio locks (try only), PTL. Staging.mu is a leaf.
package host
