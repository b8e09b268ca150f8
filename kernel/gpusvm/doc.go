// Package gpusvm keeps a GPU's view of a process's addresses in step with the process: what Linux calls drm_gpusvm.
//
// The address space is covered, where the GPU uses it, by Ranges: naturally aligned chunks of a few fixed sizes, never
// split and never grown. Ranges in one aligned window share an interval notifier. The package has two halves that are
// kept apart, because one process may be used by several devices:
//
//   - the MM half: SVM, Window (notifier) and Range know addresses, VMAs and notifier sequence numbers;
//   - the device half: Pages is one device's DMA addresses of a range. A driver hangs one or more of them on a Range.
//
// A driver's fault handler finds or inserts the range, asks for its pages (Pages.Get), and writes page-table entries
// under NotifierLock held for reading, after a last look at Pages.Valid. Its Invalidate callback runs under NotifierLock
// held for writing, before the process's pages change, and takes the entries away again. Between the two nothing is
// stale.
//
// Locks, outermost first: the driver's SVM lock (DriverLock, asserted here), mmap_lock, the driver's page-table
// reservation, folio locks, NotifierLock. A driver unmaps a range's Pages before it removes the range.
//
// Behaviour: kernel-svm §6 (drm_gpusvm.c in its split form).
package gpusvm
