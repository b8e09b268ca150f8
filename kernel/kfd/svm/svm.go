package svm

import (
	"sync/atomic"
	"time"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/segment"
)

// GPU is one of the process's GPUs.
type GPU struct {
	ID     uint32 // KFD's gpu_id, as attributes name it
	Device *Device
	VM     svm.VM
}

// Mistakes turns known bugs on (kernel-svm §17); all false is right.
type Mistakes struct {
	SkipTLBFlush        bool // a notifier clears entries but not what TLBs have of them (#10)
	ExitUnderLock       bool // close waits for the restore worker with a lock held that it wants (#2)
	CrossVMA            bool // mapped as one, although it lies in several mappings (#5)
	RefuseSelfEviction  bool // a process cannot evict its own buffers (#9)
	EvictFenceContract  bool // the eviction worker runs as a signalling section (#17)
	HeadOfLine          bool // restore gives up at the first range that fails (#18)
	ReuseBusyPages      bool // a page of a buffer is filled anew although its last use has not ended (#1)
	LoseAccessNoop      bool // access taken away is not taken away (#32)
	MappedAtEnd         bool // a range counts as mapped only when all of its mappings are
	SkipsOwnFault       bool // a page that the driver itself faults on is left where it is
	StaleFlags          bool // changed flags reach only the GPU that has the pages
	SplitForgetsInvalid bool // a copy of an invalid range is valid
	ResumeEarly         bool // queues run although new evictions came
	IgnoreReadOnly      bool // rights of mappings are not looked at
	AllocUnderLocks     bool // video memory is allocated with the mmap lock held (#25)
	FreesQueueBuffers   bool // a queue's memory may be unmapped under it (#21)
	NoMMUser            bool // the deferred list holds no user of the process (#3)
	ReleaseInAtomic     bool // the last page of a buffer takes locks that sleep where none may be taken (#4)
	UnmapWrongUnits     bool // what lost its rights is unmapped by bytes taken for page numbers: it is not (#8)
	IgnoreQuiesceError  bool // queues that could not be stopped are taken for stopped (#19)
	ChargeFiles         bool // pages of files count against the limit of pinned memory (#20)
	CountsVRAMPages     bool // a prange's pages in video memory are a count, which splits divide by what is mapped (#22)
	FaultBringsOnePage  bool // a CPU fault brings its page only, and each page its own fault (#23)
	RetryIsFatal        bool // a GPU fault that is to be tried again poisons the entry (#24)
	UpdateErrorLeaks    bool // bus addresses are not given back when the page table cannot be written (#26)
}

// Config sets up an SVM.
type Config struct {
	World       sched.World
	Space       mm.Space
	GPUs        []GPU // at most 64
	Queues      svm.Queues
	Start, Size uint64 // managed addresses
	XNACK       bool
	Granularity uint8  // default, log2 pages
	MaxRange    uint64 // bytes of the longest prange; 0: by the smallest video memory
	Limit       *Limit // of memory that is mapped for good, which is all that is registered with XNACK off; nil is none
	// Event, if not nil, is told what happens; the first argument is the GPU's index.
	Event    func(gpu int, e svm.Event)
	Mistakes Mistakes
}

// SVM is the list of ranges of one process (svms).
type SVM struct {
	cfg   Config
	world sched.World
	space mm.Space
	all   uint64 // bits of all GPUs

	info sched.Mutex // process_info.lock
	mu   sched.Mutex // svms.lock
	// objects are the pranges. An entry's bounds are those of the prange when it was entered; a prange that a notifier has cut is shorter
	// until the deferred worker has come by. Guarded by mu; changed with the mmap lock held for writing.
	objects segment.Set[*prange]

	listLock sched.Mutex // deferred_list_lock
	list     []*prange   // guarded by listLock
	deferred *sched.Work
	working  atomic.Bool // the deferred worker is at an entry that it has taken from the list

	restore *sched.Work
	evicted atomic.Int64 // invalidations since the queues were stopped; 0: they run
	drain   atomic.Int64 // unmaps whose faults under way are to be waited for
	faults  atomic.Int64 // under way
	idle    sched.WaitQueue
	exiting atomic.Bool
	running atomic.Bool // queues that were to be stopped could not be
}

var (
	infoClass    = &sched.Class{Name: "process_info.lock", Rank: 250}
	svmsClass    = &sched.Class{Name: "svms.lock", Rank: 510}
	migrateClass = &sched.Class{Name: "prange.migrate_mutex", Rank: 520, Nests: true}
	// PageDirectory is the class that a VM's reservation has to have.
	PageDirectory = &sched.Class{Name: "page directory", Rank: 530, Nests: true}
	prangeClass   = &sched.Class{Name: "prange.lock", Rank: 600, Nests: true}
	boClass       = &sched.Class{Name: "svm_bo.list_lock", Rank: 710}
	listClass     = &sched.Class{Name: "svms.deferred_list_lock", Rank: 720}
)

// restoreDelay is how long restores wait for more evictions to come.
const restoreDelay = time.Millisecond

// Bounds of the length of a prange: a 32th of the smallest video memory, but not less than 2 MiB or more than 1 GiB.
const (
	minMaxRange = 2 << 20
	maxMaxRange = 1 << 30
)

// New makes an SVM. EINVAL when the configuration is not usable.
func New(cfg Config) (*SVM, error) {
	if cfg.Space == nil || len(cfg.GPUs) == 0 || len(cfg.GPUs) > 64 {
		return nil, mm.EINVAL
	}
	if cfg.MaxRange == 0 {
		cfg.MaxRange = maxMaxRange
		for _, g := range cfg.GPUs {
			cfg.MaxRange = min(cfg.MaxRange, max(g.Device.size/32, minMaxRange)&^(minMaxRange-1))
		}
	}
	w := cfg.World
	s := &SVM{cfg: cfg, world: w, space: cfg.Space, all: 1<<len(cfg.GPUs) - 1, info: w.NewMutex(infoClass), mu: w.NewMutex(svmsClass),
		listLock: w.NewMutex(listClass), idle: w.NewWaitQueue("gpu faults")}
	s.deferred = sched.NewWorkqueue(w, "svm deferred", true).NewWork(s.runDeferred)
	s.restore = sched.NewWorkqueue(w, "svm restore", true).NewWork(s.runRestore)
	return s, nil
}

// Close ends SVM for the process: no worker runs when it returns, and nothing is mapped. Queues that were stopped for it run again.
func (s *SVM) Close() {
	s.exiting.Store(true)
	if s.cfg.Mistakes.ExitUnderLock {
		s.info.Lock()
		s.restore.Cancel()
		s.info.Unlock()
	}
	s.restore.Cancel()
	s.flushAndLock() // mmap lock is held
	s.mu.Lock()
	for g, ok := s.objects.Next(0); ok; g, ok = s.objects.Next(0) { // children were settled by the deferred worker
		p := g.Value
		p.lock.Lock()
		s.zap(p, p.start, p.end)
		p.lock.Unlock()
		s.unlink(p)
	}
	s.mu.Unlock()
	s.space.MmapLock().Unlock()
	if s.evicted.Swap(0) != 0 {
		s.resume("exit")
	}
}

func (s *SVM) event(gpu int, k svm.EventKind, start, end uint64, cause string, err error) {
	if s.cfg.Event != nil {
		s.cfg.Event(gpu, svm.Event{Kind: k, Start: start, End: end, Cause: cause, Err: err})
	}
}

// gpu returns the index of the GPU with an id, -1 for none.
func (s *SVM) gpu(id uint32) int {
	for i, g := range s.cfg.GPUs {
		if g.ID == id {
			return i
		}
	}
	return -1
}

// bit is the bit of the GPU with an id in sets, 0 for none.
func (s *SVM) bit(id uint32) uint64 {
	if i := s.gpu(id); i >= 0 {
		return 1 << i
	}
	return 0
}

// each calls fn for each GPU of a set.
func (s *SVM) each(set uint64, fn func(i int, g *GPU)) {
	for i := range s.cfg.GPUs {
		if set>>i&1 != 0 {
			fn(i, &s.cfg.GPUs[i])
		}
	}
}

// resume lets the queues run.
func (s *SVM) resume(cause string) {
	for i := range s.cfg.GPUs {
		s.event(i, svm.EvResume, 0, 0, cause, nil)
	}
	s.running.Store(false)
	s.cfg.Queues.Resume()
}

// loc names the place of pages in attributes: sysmem or the GPU.
func (s *SVM) loc(d *Device) uint32 {
	for _, g := range s.cfg.GPUs {
		if g.Device == d {
			return g.ID
		}
	}
	return kfd.SVMLocationSysmem
}
