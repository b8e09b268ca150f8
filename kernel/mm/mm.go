// Package mm is what a driver sees of a process's address space.
//
// In Linux a process's memory is a list of VMAs and a page table; a page is a folio with a reference count, a count of
// page-table entries that map it (mapcount) and a reverse map from it to them (rmap). A driver that wants a GPU to use
// the same addresses mirrors the page table: it asks for the pages of a range (hmm_range_fault) and registers an interval
// notifier, which is called before any entry in the range is removed or loses rights. Between the two the notifier's
// sequence number tells whether what was read is still true. Pages may also move to device memory (migrate_vma): the
// CPU's entry becomes a device-private one, and a CPU access to it calls the driver to bring the page back.
//
// Locks, outermost first: mmap_lock (Space), a driver's locks, folio locks, the interval notifiers' own locks, PTL.
// The rules are those of kernel-svm §5. mm/sim implements them for a simulated address space.
package mm

import (
	"errors"
	"syscall"

	"github.com/pumice-gpu/pumice/kernel/sched"
)

// Lock classes of the substrate, with room between them for a driver's own. See kernel-svm §2.2.
var (
	MmapLock  = &sched.Class{Name: "mmap_lock", Rank: 300}
	FolioLock = &sched.Class{Name: "folio lock", Rank: 500, Nests: true}
	PTL       = &sched.Class{Name: "ptl", Rank: 900}
	// FSReclaim is taken (shared) by every page allocation: what may be held while memory is reclaimed ranks lower, what
	// reclaim takes ranks higher.
	FSReclaim = &sched.Class{Name: "fs_reclaim", Rank: 550, Nests: true}
	// AtomicContext divides locks that sleep (lower ranks) from spin locks. Who may not sleep holds it, shared.
	AtomicContext = &sched.Class{Name: "atomic context", Rank: 690, Nests: true}
)

// Page geometry.
const (
	PageShift = 12
	PageSize  = 1 << PageShift
)

// Errors are Linux's errno values.
var (
	EAGAIN     error = syscall.EAGAIN
	EBUSY      error = syscall.EBUSY
	EFAULT     error = syscall.EFAULT
	EINVAL     error = syscall.EINVAL
	ENOENT     error = syscall.ENOENT
	ENOMEM     error = syscall.ENOMEM
	EOPNOTSUPP error = syscall.EOPNOTSUPP
	EPERM      error = syscall.EPERM
	ETIME      error = syscall.ETIME
	// ErrSIGSEGV is a CPU access that the process may not do, ErrSIGBUS one that could not be served.
	ErrSIGSEGV = errors.New("mm: SIGSEGV")
	ErrSIGBUS  = errors.New("mm: SIGBUS")
)

// Prot is a VMA's rights.
type Prot uint8

const (
	ProtRead Prot = 1 << iota
	ProtWrite
	ProtExec
)

// Kind is what backs a VMA.
type Kind uint8

const (
	Anon Kind = iota
	Heap
	Stack
	File    // private or shared file mapping: not migratable
	IO      // VM_IO, VM_PFNMAP, VM_MIXEDMAP
	HugeTLB //
)

// VMA is one mapping, [Start, End) in bytes. A snapshot: valid under mmap_lock.
type VMA struct {
	Start, End uint64
	Prot       Prot
	Kind       Kind
	Shared     bool
}

// Anonymous reports whether its pages can migrate to a device (vma_is_anonymous).
func (v *VMA) Anonymous() bool { return v.Kind <= Stack }

// Event is why a range is invalidated (MMU_NOTIFY_*).
type Event uint8

const (
	EventUnmap Event = iota
	EventClear
	EventProtectionVMA
	EventProtectionPage
	EventRelease
	EventMigrate
)

var eventNames = [...]string{"UNMAP", "CLEAR", "PROTECTION_VMA", "PROTECTION_PAGE", "RELEASE", "MIGRATE"}

func (e Event) String() string { return eventNames[e] }

// Invalidation describes one change that is about to happen to [Start, End).
type Invalidation struct {
	Start, End uint64
	Event      Event
	Owner      any  // EventMigrate: the device-private owner who migrates
	Blockable  bool // false in the OOM reaper: the callback must not sleep
}

// Notifier is an interval notifier (mmu_interval_notifier).
type Notifier interface {
	// ReadBegin waits until no invalidation is under way and returns the sequence number.
	ReadBegin() uint64
	// ReadRetry reports whether an invalidation began since seq was returned.
	ReadRetry(seq uint64) bool
	// Remove unregisters it; no callback runs after it returns.
	Remove()
}

// InvalidateFunc is a notifier's callback, called before the change. It must set the new sequence by calling setSeq
// under the lock that its readers hold when they call ReadRetry. False refuses a non-blockable invalidation.
type InvalidateFunc func(inv *Invalidation, setSeq func()) bool

// PFN names a page as migrate and fault see it.
type PFN struct {
	Folio    Folio // nil: nothing there (a hole, which an anonymous VMA fills with zeroes)
	Writable bool
	// Migrate: the page takes part. Cleared entries stay where they are.
	Migrate bool
}

// Folio is one page of memory. (All folios are of order 0.)
type Folio interface {
	// Device returns the pagemap and index for device-private pages, nil otherwise.
	Device() (pm Pagemap, index uint64)
	// ZoneDeviceData is the driver's pointer, on device pages.
	ZoneDeviceData() any
	SetZoneDeviceData(any)
	// Data is the page's content: PageSize bytes of system memory; nil for device pages, which only the device reaches.
	Data() []byte
	RefCount() int
	MapCount() int
}

// Pagemap is a range of device-private pages (dev_pagemap).
type Pagemap interface {
	Owner() any
	Folio(index uint64) Folio
	// Init takes a free page into use: reference count one, locked (zone_device_page_init). It fails the World when the
	// page is not free: its block was handed out twice.
	Init(index uint64, zdd any) Folio
}

// PagemapOps are the driver's callbacks.
type PagemapOps struct {
	// MigrateToRAM serves a CPU fault on a device-private page; the page's folio is locked, mmap_lock is held for reading.
	// cause is CPUFault, or the Cause of a FaultRequest that does not want the page where it is.
	MigrateToRAM func(s Space, addr uint64, page Folio, cause string) error
	// Free tells that the last reference to a page is gone; data is its ZoneDeviceData. It may be called wherever a page-table entry is
	// zapped, in atomic context: it must not sleep, and takes no locks but spin locks (those ranked above AtomicContext).
	Free func(index uint64, data any)
}

// CPUFault is the cause of a page's way home when the CPU touched it.
const CPUFault = "CPU fault"

// FaultRequest is hmm_range_fault's argument. Page i is at Start + i*PageSize.
type FaultRequest struct {
	Notifier Notifier
	Seq      uint64
	Start    uint64
	Pages    int
	Fault    bool // REQ_FAULT: bring missing pages in
	Write    bool // REQ_WRITE: they must be writable
	Owner    any  // device-private pages of this owner are returned; others are migrated to RAM
	// Home asks for no more than that device pages come home: what is absent stays so.
	Home bool
	// Cause is why; it reaches the driver that has those pages.
	Cause string
}

// Select says which pages MigrateSetup collects.
type Select uint8

const (
	SelectSystem Select = 1 << iota
	SelectDevicePrivate
)

// Migration is one migrate_vma or migrate_device operation between setup and finalize.
type Migration interface {
	Src() []PFN
	// SetDst gives the destination of page i, locked and with one reference that the Migration takes over; nil keeps it.
	SetDst(i int, f Folio)
	// Pages moves the mappings (migrate_vma_pages); entries whose Src Migrate bit is cleared by it stay.
	Pages()
	// Finalize restores entries to destination or source, unlocks and drops the pages.
	Finalize()
}

// MigrateRequest is migrate_vma_setup's argument.
type MigrateRequest struct {
	Start, End uint64
	Select     Select
	Owner      any   // of the device-private pages to select, and of the notification
	FaultPage  Folio // already locked by the CPU fault that asks
}

// Space is a process's address space (mm_struct).
type Space interface {
	World() sched.World
	MmapLock() sched.RWSem
	// FindVMA returns the first VMA that ends above addr. mmap_lock is held.
	FindVMA(addr uint64) (VMA, bool)
	// FindVMAIn is FindVMA for a caller to whom [lo, hi) matters, which addr is in: outside of it the VMA may be longer than it says. It can
	// be cheaper.
	FindVMAIn(addr, lo, hi uint64) (VMA, bool)
	// Get takes a user of the space, false when it has exited (mmget_not_zero).
	Get() bool
	Put()
	// NewNotifier registers a notifier on [start, end).
	NewNotifier(start, end uint64, fn InvalidateFunc) (Notifier, error)
	// Fault is hmm_range_fault: EBUSY when the notifier's sequence moved, EFAULT without a VMA, EPERM without the right.
	// mmap_lock is held for reading.
	Fault(r *FaultRequest) ([]PFN, error)
	// MigrateSetup collects, locks and unmaps the pages of a range; mmap_lock is held for reading.
	MigrateSetup(r *MigrateRequest) (Migration, error)
	// AllocFolio returns a new system page, locked, reference count one, zeroed.
	AllocFolio() (Folio, error)
	// PutFolio drops a reference and unlocks a page that was not used after all.
	PutFolio(f Folio)
}

// Memory is all pages of a machine: what is not tied to one Space.
type Memory interface {
	NewPagemap(owner any, pages uint64, ops PagemapOps) Pagemap
	// MigrateDevice is migrate_device_pfns: eviction by page, with no address space and no mmap_lock.
	MigrateDevice(pages []Folio) Migration
	AllocFolio() (Folio, error)
	PutFolio(f Folio)
}
