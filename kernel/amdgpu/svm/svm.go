package svm

import (
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pumice-gpu/pumice/kernel/fence"
	"github.com/pumice-gpu/pumice/kernel/gpusvm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/pagemap"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/ttm"
)

// PTEFlags are the properties of a mapping that a page-table entry has; the VM's codec makes the bits of its generation.
type PTEFlags struct {
	Write bool
	Exec  bool
	// MTYPE is chosen from these and from where the page is (kernel-svm §3.6).
	Coherent    bool
	ExtCoherent bool
}

// VM is a GPU page table of the process.
type VM interface {
	// Resv is the root page directory's reservation: held over Update.
	Resv() *fence.Resv
	// Update maps pages from start (bytes) on. It allocates tables and may fail with ENOMEM; EBUSY while evicted.
	Update(start uint64, pages []pagemap.Addr, f PTEFlags) error
	// Clear removes what is mapped in [start, end). It never allocates and may be called from a notifier.
	Clear(start, end uint64)
	// FlushTLB returns when no old translation can be used.
	FlushTLB()
	// Overlaps reports whether a buffer is mapped in [start, end).
	Overlaps(start, end uint64) bool
}

// Queues are the user queues of the process.
type Queues interface {
	// Quiesce stops them: no wave runs when it returns nil. On an error (ETIME: the scheduler does not answer) waves may go on. Counted,
	// also when it fails: each needs a Resume.
	Quiesce() error
	Resume()
}

// Memory is a GPU's video memory as SVM uses it.
type Memory interface {
	pagemap.Ops
	pagemap.Device
	// Copy moves a page's content between system memory and VRAM page vram; a nil folio zeroes VRAM.
	CopyToVRAM(vram uint64, from mm.Folio) error
	CopyToRAM(to mm.Folio, vram uint64) error
}

// BulkMemory is a Memory that copies many pages in one go. Nil pages are holes: zeroes to VRAM, nothing to RAM.
type BulkMemory interface {
	CopyPagesToVRAM(vram []uint64, from []mm.Folio) error
	CopyPagesToRAM(to []mm.Folio, vram []uint64) error
}

// EvictPolicy is how VRAM is taken away from SVM buffers (kernel-svm §4.5).
type EvictPolicy uint8

const (
	// EvictSync moves the pages home inside the memory manager's move (the merged design).
	EvictSync EvictPolicy = iota
	// EvictFence has a fence whose signal a worker prepares by moving the pages home.
	EvictFence
	// EvictNone throws the buffer away under its pages: the stale map-count bug.
	EvictNone
)

// GPU is one device with its VRAM, shared by all processes.
type GPU struct {
	world  sched.World
	Mem    Memory
	Pages  *pagemap.Pagemap
	TTM    *ttm.Manager
	fences *fence.Context
	policy EvictPolicy
	evict  *sched.Workqueue
}

// NewGPU makes a device with vram bytes of memory. owner names the hive: members use each other's pages in place.
func NewGPU(w sched.World, m mm.Memory, mem Memory, owner any, vram uint64, p EvictPolicy) *GPU {
	return &GPU{world: w, Mem: mem, Pages: pagemap.New(w, m, owner, vram>>mm.PageShift, mem), TTM: ttm.New(w, vram),
		fences: fence.NewContext(w), policy: p, evict: sched.NewWorkqueue(w, "svm evict", false)}
}

// Mistakes turns known bugs back on (kernel-svm §17); all false is right.
type Mistakes struct {
	SkipTLBFlush         bool // notifier clears PTEs but not TLBs (#10)
	RestoreDropsRequeued bool // a range invalidated while it is being restored is forgotten (#33)
	ResumeUnlocked       bool // queues resume in the middle of a realignment
	ResumeEarly          bool // queues resume although new evictions came
	CrossVMA             bool // ranges mapped past the end of their VMA (#5)
	IgnoreReadOnly       bool // VMA rights not looked at
	RemoveMapped         bool // range removed before its pages are unmapped (#13)
	RealignLeavesCounter bool // an early error in realign leaves the eviction counter raised (#30)
	ExitUnderLock        bool // close waits for the workers holding the lock they want (#2)
	LoseAccessNoop       bool // access taken away is not taken away (#32)
	EvictFenceContract   bool // policy EvictFence runs its worker as a signalling section (#17)
	HeadOfLine           bool // restore gives up on the rest after a range that fails (#18)
	IgnoreOwnMigration   bool // the notifier lets pages move under entries when the driver itself moves them (in_populate)
	EvictLeaksSpace      bool // see gpusvm.Mistakes (#11)
	MapErrorLeaks        bool // see gpusvm.Mistakes (#6)
	PutsUnset            bool // see pagemap.Pagemap; for all processes of the GPU (#29)
	ReuseBusyPages       bool // see pagemap.Pagemap: video memory is used again before its pages are free (#1)
	RefuseSelfEviction   bool // a process cannot evict its own buffers (#9)
	ReleaseInAtomic      bool // a buffer's last page takes a lock that sleeps where none may be taken (#4)
	UseAfterPut          bool // see pagemap.Pagemap (#14)
	UnmapAfterCleanup    bool // see pagemap.Pagemap (#15)
	IgnoreQuiesceError   bool // queues that could not be stopped are taken for stopped (#19)
	FaultBringsOnePage   bool // see pagemap.Pagemap (#23)
	RetryIsFatal         bool // a GPU fault that is to be tried again poisons the entry (#24)
	UpdateErrorLeaks     bool // what was to be mapped is not given back when the page table cannot be written (#26)
	NoMMUser             bool // workers and faults register notifiers without a user of the process (#3)
}

// Config sets up an SVM.
type Config struct {
	World       sched.World
	Space       mm.Space
	GPU         *GPU
	VM          VM
	Queues      Queues
	Start, Size uint64 // managed part of the address space
	XNACK       bool
	Granularity uint32 // default, log2 pages
	Chunks      []uint64
	// NotifierSize defaults to 512 MiB.
	NotifierSize uint64
	// Event, if not nil, is told what happens, for SMI and timelines.
	Event    func(Event)
	Mistakes Mistakes
}

// EventKind names an Event.
type EventKind uint8

const (
	EvMigrateToVRAM EventKind = iota
	EvMigrateToRAM
	EvFault
	EvMap
	EvUnmap
	EvQuiesce
	EvResume
	EvRestore
	EvCollect
	EvEvict
)

var eventNames = [...]string{"migrate to VRAM", "migrate to RAM", "GPU fault", "map", "unmap", "quiesce", "resume", "restore", "collect", "evict"}

func (k EventKind) String() string { return eventNames[k] }

// Event is something that happened to [Start, End), and why.
type Event struct {
	Kind       EventKind
	Start, End uint64
	Cause      string
	Err        error
}

// SVM is one process on one GPU.
type SVM struct {
	cfg   Config
	world sched.World
	gpu   *GPU
	vm    VM

	svmLock sched.RWSem
	attrs   attrTree
	g       *gpusvm.SVM

	work    sched.Mutex
	gc      workList
	restore workList
	// evicted counts ranges invalidated since queues were stopped; zero means that they run. Raised under NotifierLock.
	evicted    atomic.Int64
	running    atomic.Bool // queues that were to be stopped could not be
	exiting    atomic.Bool
	inPopulate atomic.Int32 // our own migrations under way: their MIGRATE notification is not for us
}

var (
	svmClass  = &sched.Class{Name: "svm_lock", Rank: 100}
	workClass = &sched.Class{Name: "svm work_lock", Rank: 700}
)

var errAddrInUse error = syscall.EADDRINUSE

// restoreDelay is how long restores wait for more invalidations to come.
const restoreDelay = time.Millisecond

// New makes an SVM. EINVAL when the configuration is not usable.
func New(cfg Config) (*SVM, error) {
	if cfg.NotifierSize == 0 {
		cfg.NotifierSize = 512 << 20
	}
	if cfg.Chunks == nil {
		cfg.Chunks = []uint64{2 << 20, 64 << 10, 4 << 10}
	}
	w := cfg.World
	s := &SVM{cfg: cfg, world: w, gpu: cfg.GPU, vm: cfg.VM, svmLock: w.NewRWSem(svmClass), work: w.NewMutex(workClass)}
	access := AccessNone
	if cfg.XNACK {
		access = AccessAllowMigrate
	}
	s.attrs.mu = w.NewMutex(attrClass)
	s.attrs.defaults = Attrs{Preferred: LocUndefined, Prefetch: LocUndefined, Access: access,
		Flags: FlagHostAccess | FlagCoherent, Granularity: cfg.Granularity}
	var err error
	s.g, err = gpusvm.New(gpusvm.Config{Name: "amdgpu", Space: cfg.Space, Start: cfg.Start, Size: cfg.Size, NotifierSize: cfg.NotifierSize,
		Chunks: cfg.Chunks, DriverLock: s.svmLock, Ops: gpusvm.Ops{Invalidate: s.invalidate, RangeInit: s.initRange},
		Mistakes: gpusvm.Mistakes{EvictLeaksSpace: cfg.Mistakes.EvictLeaksSpace, MapErrorLeaks: cfg.Mistakes.MapErrorLeaks,
			NoMMUser: cfg.Mistakes.NoMMUser, KeepsAddresses: cfg.Mistakes.UpdateErrorLeaks}})
	if err != nil {
		return nil, err
	}
	if m := &cfg.Mistakes; cfg.GPU.Pages != nil && *m != (Mistakes{}) {
		cfg.GPU.Pages.Mistakes = pagemap.Mistakes{PutsUnset: m.PutsUnset, ReusesBusy: m.ReuseBusyPages, UseAfterPut: m.UseAfterPut,
			UnmapAfterCleanup: m.UnmapAfterCleanup, FaultBringsOnePage: m.FaultBringsOnePage}
	}
	gcq := sched.NewWorkqueue(w, "svm gc", false)
	rq := sched.NewWorkqueue(w, "svm restore", true)
	s.gc.w = gcq.NewWork(s.runGC)
	s.restore.w = rq.NewWork(s.runRestore)
	return s, nil
}

// Close ends SVM for the process: no handler or worker runs when it returns, and nothing is mapped. Queues that were
// stopped for it run again.
func (s *SVM) Close() {
	s.exiting.Store(true)
	if s.cfg.Mistakes.ExitUnderLock {
		s.svmLock.Lock()
		s.restore.w.Cancel()
		s.gc.w.Cancel()
	} else {
		s.restore.w.Cancel()
		s.gc.w.Cancel()
		s.svmLock.Lock()
	}
	s.work.Lock()
	var left []*svmRange
	for _, l := range []*workList{&s.gc, &s.restore} {
		left = append(left, l.list...)
		l.list = nil
	}
	s.work.Unlock()
	var all []*svmRange
	for _, r := range s.g.Ranges(0, ^uint64(0)) {
		all = append(all, of(r))
	}
	s.unmapRanges(all...)
	s.g.Fini()
	s.svmLock.Unlock()
	for _, r := range left {
		r.r.Put()
	}
	if s.evicted.Swap(0) != 0 {
		s.resume("exit")
	}
}

func (s *SVM) event(k EventKind, start, end uint64, cause string, err error) {
	if s.cfg.Event != nil {
		s.cfg.Event(Event{k, start, end, cause, err})
	}
}
